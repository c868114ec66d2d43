"""Means by the labels of people and of a model, per run and slice.

A part of a table gives the values of its queries.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from ... import stats
from ..._catalog.call import Call
from ..._plan.per_query import measure
from ..._statistics.estimators import ESTIMATORS
from ..._statistics.sample import Known, Sample
from ..._support.floats import np
from ..._table.setup import Setup
from ...errors import InvalidOption, option
from ..sample.judged import KINDS, PEOPLE, Control, Help, by_people
from ..sample.resampling import limits
from ..sample.slices import in_slices
from .summary import Summary, weigher

ESTIMATOR = ESTIMATORS[KINDS["model_labels"]]
"""The estimator of means by the labels of people and of a model."""

OF_MODEL = "#model "
"""The prefix of a metric's column by the model's labels."""

OF_QUERY = ("people", "known", "by_model", "weight")
"""What a part has of a query and a metric, with a model as judge: whether people judged the query;
the value by their labels, or else the model's; the value by the model's; and the weight."""


class JudgedSummary(Summary):
    """A summary of few queries that people judged and many that a model judged.

    `model_labels` is the column of the model's labels.
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        options = {"interval": (self.resampling.interval, "auto"), "cluster": (self.cluster, None)}
        ESTIMATOR.refuse_others(Help(self.model_labels).given, options)

    @property
    def figures(self) -> Mapping[str, pl.DataType]:
        """The columns of the summary without the slices."""
        inherited = {**super().figures}
        first = {name: inherited.pop(name) for name in ("metric", "n_queries")}
        return {**first, **ESTIMATOR.columns, **inherited}

    def _of_run(self, frame: pl.DataFrame, setup: Setup) -> pl.DataFrame:
        weighing = weigher(self.weights, frame.schema)
        if any(call.labels and call.metric.from_clicks != "same" for call in weighing):
            says = " reads labels, which people and the model give differently; name a column or "
            raise InvalidOption(option(weights=self.weights), says, option(weights="num_ret"))
        model_labels = str(self.model_labels)
        rows = by_people(frame, setup, model_labels, self.calls)
        of_labels = setup.changed(label=model_labels)
        by_model = measure(rows, of_labels, *self.calls)
        of_model = [by_model[call.text].alias(OF_MODEL + call.text) for call in self.calls]
        queries = rows.group_by(setup.roles.query, maintain_order=True)
        of_first_rows = queries.agg(pl.col(PEOPLE).first())
        people = of_first_rows[PEOPLE]
        return super()._of_run(rows, setup).hstack([people, *of_model])

    def _of_queries(self, per_query: pl.DataFrame) -> pl.DataFrame:
        table = self.merge(self._part(per_query))
        if not table.is_empty() or self.slices:
            return table
        # As of any summary, there is a row of no query.
        metrics = [call.text for call in self.calls]
        nothing = pl.DataFrame({"metric": metrics, "n_queries": 0, "n_judged": 0})
        return pl.concat([table, nothing], how="diagonal_relaxed").cast(table.schema)

    def _part(self, per_query: pl.DataFrame) -> pl.DataFrame:
        parts = []
        for call in self.calls:
            metric = pl.lit(call.text).alias("metric")
            names = (PEOPLE, call.text, OF_MODEL + call.text, "#weight")
            named = zip(names, OF_QUERY, strict=True)
            columns = [pl.col(name).alias(of_query) for name, of_query in named]
            parts.append(per_query.select(*self.slices, metric, *columns))
        return pl.concat(parts)

    def _merged(self, parts: pl.DataFrame) -> pl.DataFrame:
        """The figures of parts, merged: one row per slice and metric."""
        by_slice = in_slices(parts, ["metric", *self.slices])
        rows = []
        for call in self.calls:
            for (metric, *where), part in by_slice.items():
                if metric == call.text:
                    figures = self._figures(call, where, part)
                    rows.append((*where, metric, *figures))
        slices = {name: parts.schema[key] for key, name in self.slices.items()}
        table = pl.DataFrame(rows, {**slices, **self.figures}, orient="row")
        floats = [name for name, dtype in self.figures.items() if dtype == pl.Float64]
        return table.with_columns(pl.col(floats).fill_nan(None))

    def _figures(self, call: Call, where: Sequence[object], part: pl.DataFrame) -> list[Any]:
        """The figures of a metric on the queries of a slice, the same for any order of these."""
        rows = part.select(OF_QUERY).sort(OF_QUERY).cast(pl.Float64)
        people, known, by_model, weights = rows.fill_null(math.nan).to_numpy().T
        judged = people > 0
        values = known[:, None]
        other = by_model[:, None]
        control = Control("model_labels", str(self.model_labels), judged, other[None])
        named = zip(self.slices.values(), where, strict=True)
        slice_in_words = "".join(f" of {name} {x}" for name, x in named)
        control.refuse_unfit(call.text, slice_in_words, values, other, weights)
        within = limits(values, [call])
        sample = Sample(values, weights, within, known=Known(other, judged))
        estimate = ESTIMATOR(sample, self.resampling.ci)
        (std,) = stats.spreads(values[judged], weights[judged])
        figures: dict[str, Any] = {"n_queries": len(known), "std": std, "total": None}
        figures["interval"] = ESTIMATOR.name
        for name, dtype in ESTIMATOR.columns.items():
            figure = pl.Series(estimate.more[name])
            figures[name] = figure.cast(dtype).item()
        low, high = call.bounds
        least = -math.inf if low is None else low
        greatest = math.inf if high is None else high
        ends = {"mean": estimate.value, "ci_low": estimate.low, "ci_high": estimate.high}
        for name, end in ends.items():
            within_bounds = np.clip(end, least, greatest)
            figures[name] = float(within_bounds.item())
        return [figures[name] for name in [*self.figures][1:]]
