"""Metrics of queries and metrics of the whole table in one summary."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from ..._catalog.requests import EITHER, OfItems, averaged
from ..._table.runs import RUN_OF_TABLE, names_of
from ..._table.setup import Setup
from ..._table.table import R, Table, in_memory
from ...errors import InvalidOption, option
from ..measure.judged_summary import JudgedSummary
from ..measure.summary import Summary, figures_of, summarize as of_queries
from ..sample.declaration import verb, with_options_of
from .catalog import catalog

MOST_RESAMPLES = 1_000
"""The most resamples of users for the interval of a metric of the whole table: each counts all lists again."""


def _in_parts(setup: Setup, whole: Any, *metrics: Any, **options: Any) -> Summary:
    for metric in metrics:
        if isinstance(metric, OfItems):
            says = f"{metric.call.text} looks at the lists of all users, of which each worker has a part; take it from "
            raise InvalidOption(says, "items.catalog, with ", option(ci=None))
    return summary_of(setup, whole, *metrics, **options)


def summary_of(setup: Setup, whole: Mapping[str, float] | None, *metrics: Any, **options: Any) -> Summary:
    """The summary of metrics of queries, by people's labels or also by those of a model."""
    kind = Summary if options["model_labels"] is None else JudgedSummary
    return kind.of(setup, whole, *metrics, **options)


@verb(gives="table", among=EITHER, watched=True, by_parts=True, merges=_in_parts)
@with_options_of(of_queries)
def summarize(table: Table[R], *metrics: Any, **options: Any) -> R:
    of_items = [table.setup.resolve(metric.call)[1] for metric in metrics if isinstance(metric, OfItems)]
    others = [metric for metric in metrics if not isinstance(metric, OfItems)]
    if not of_items:
        summary = summary_of(table.setup, None, *others, **options)
        return table.give(summary.table(table.by_parts(summary.of_part)))
    for name in ("weights", "model_labels"):
        if options[name] is not None:
            says = f"{of_items[0].text} is no mean of queries that could be weighed; ask for it separately, without "
            raise InvalidOption(says, option(**{name: options[name]}))
    rows, runs = table.rows, options["runs"]
    runs.require(rows, table.setup)
    setups, by = runs.apart(table.setup, names_of(options["by"]))
    found = [of_queries(in_memory(rows, table.setup), *others, **options)] if others else []
    own = {name: options[name] for name in ("ci", "seed", "progress")}
    own["resamples"] = min(options["resamples"], MOST_RESAMPLES)
    for run, setup in setups.items():
        values = catalog(in_memory(rows, setup), *of_items, by=by or None, **own)
        values = values.with_columns(mean="value")
        if own["ci"] is not None:
            values = values.with_columns(interval=pl.when(pl.col("ci_low").is_not_null()).then(pl.lit("percentile")))
        if runs.scores:
            values = values.with_columns(pl.lit(run).alias(RUN_OF_TABLE))
        figures = figures_of(table.setup, own["ci"])
        values = values.with_columns(pl.lit(None).alias(name) for name in figures if name not in values.columns)
        slices = [RUN_OF_TABLE] * bool(runs.scores) + [*by]
        found.append(values.select(*slices, *(pl.col(name).cast(dtype) for name, dtype in figures.items())))
    whole = iter(of_items)
    texts = [
        x.text for asked in metrics for x in ([next(whole)] if isinstance(asked, OfItems) else averaged([asked], ""))
    ]
    order = [pl.col("metric").cast(pl.Enum(list(dict.fromkeys(texts))))]
    order = [pl.col(RUN_OF_TABLE).cast(pl.Enum(runs.scores)), *order] if runs.scores else order
    return table.give(pl.concat(found).sort(order, maintain_order=True))
