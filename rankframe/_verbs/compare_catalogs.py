"""Compare runs by metrics of the whole table: exchange users' lists between the runs, and count items again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from functools import partial
from operator import itemgetter
from typing import TypeVar

import polars as pl

from .._catalog.registry import CATALOG_METRICS
from .._catalog.requests import Request
from .._support.draws import each, words
from .._support.floats import Booleans, Floats, np
from .._support.option_kinds import Column, ColumnNames
from .._support.progress import Progress
from .._support.statistical_options import Confidence, Correction, Family, Resamples, Seed
from .._table.runs import RUN, Runs, TheRuns, names_of
from .._table.table import Table, refuse_names
from .._text.displays import catalog_pairs, with_display
from .catalog import catalog_calls, reads_labels
from .compare import Design, Significance, two_or_more
from .declaration import verb
from .item_tables import Unknown, catalog_and_past, lists_of
from .recount import ItemMetrics, Recount, about, resamples_of, users_of
from .resampling import Resampling
from .summary import in_slices, keys, table_of

R = TypeVar("R")

TABLE = {
    "metric": pl.String(), "baseline": pl.String(), "run": pl.String(), "baseline_value": pl.Float64(),
    "value": pl.Float64(), "n_queries": pl.UInt32(), "n_items": pl.Int64(), "p_value": pl.Float64(),
    "difference": pl.Float64(), "ci_low": pl.Float64(), "ci_high": pl.Float64(), "p_adjusted": pl.Float64(),
}  # fmt: skip
"""The columns; a frame prints its first and last ones, so the answer comes last."""

NOISE = 1e-12
"""Differences closer than this count as equal."""


@verb(gives="whole", among=CATALOG_METRICS, labels=reads_labels)
def compare(
    table: Table[R],
    *metrics: Request,
    items: object = None,
    interactions: object = None,
    runs: TheRuns | None = None,
    run: Column | None = None,
    baseline: Column | None = None,
    correction: Correction | None = "holm",
    family: Family = "all",
    by: ColumnNames | None = None,
    ci: Confidence = 0.95,
    unknown_items: Unknown = "error",
    resamples: Resamples = 1_000,
    seed: Seed = 0,
    progress: bool = True,
) -> R:
    """Compare two or more runs by metrics of the whole table, such as coverage, on the same users.

    Parameters
    ----------
    *metrics, items, interactions, unknown_items
        As for :meth:`catalog`.
    runs, run, baseline, correction, family
        As for ``df.rank.compare``.
    by
        The column, or columns, whose values slice the users, as for :meth:`summarize`.
    ci
        The confidence of the interval of each difference; users are resampled, the same ones for all runs.
    resamples
        The number of resamples, and of random exchanges in the permutation test, which exchanges the lists of some
        users between two runs. If there are at most `resamples` ways to exchange them, all ways are tried.
    seed, progress
        As for :meth:`catalog`.

    Returns
    -------
    A frame with the slice's columns, ``metric``, ``baseline``, ``run``, ``baseline_value``, ``value`` (Float64),
    ``n_queries`` (UInt32, the users of all runs; a user whom a run shows nothing has an empty list), ``n_items`` (Int64,
    the items of the catalog; null if it is not known), ``p_value`` (two-sided), ``difference`` (``value`` less
    ``baseline_value``), its interval from ``ci_low`` to ``ci_high``, and ``p_adjusted`` (all Float64). A notebook shows
    it as a table like that of ``df.rank.compare``. A LazyFrame is collected first.

    Raises
    ------
    InvalidOption, InvalidData
        If there are fewer than two runs, or no such baseline; and as for :meth:`catalog`.

    Examples
    --------
    The old run shows all eight users the same item first, the new one shows each user another item: of the 256 ways to
    exchange their lists, only the two that give all lists of one kind to one run differ as much.

    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame({"query_id": [*range(8)] * 2, "doc_id": [0] * 8 + [*range(1, 9)],
    ...     "old": [1] * 8 + [0] * 8, "new": [0] * 8 + [1] * 8})
    >>> found = df.rank.items.compare("coverage@1", items=20, runs=["old", "new"])
    >>> found["baseline_value"].item(), found["value"].item(), found["p_value"].item()       # 1/20, 8/20, 2/256
    (0.05, 0.4, 0.0078125)
    """
    design = Design(Runs.of(runs, run), baseline, names_of(by), None, "zero")
    significance = Significance("permutation", correction, family)
    resampling = Resampling(ci, "percentile", resamples, seed, progress)
    rows, setup = table.rows, table.setup
    calls = catalog_calls(metrics, setup, "items.compare('coverage@10', runs=['bm25', 'ltr'], items=...)")
    refuse_names([*TABLE], design.by, "by")
    measured = ItemMetrics(tuple(calls), catalog_and_past(setup, rows.schema, unknown_items), setup.policies.relevant)
    query = [*design.runs.queries(setup).roles.query]
    found = design.runs.each(rows, setup, lambda of_run: lists_of(rows, of_run, design.by, measured.columns))
    found = measured.known.catalog.within(found)
    names = two_or_more(design.runs.named(found))
    with Progress("comparing runs", resampling.progress) as bar:
        figures = [
            (i, (*where, *row))
            for where, part in in_slices(found, keys(design.by)).items()
            for i, row in _compared(part, query, names, design.pairs(names), measured, resampling, bar)
        ]
    figures.sort(key=itemgetter(0))  # by metric, then by slice, then by pair of runs
    found_table = table_of([row for _, row in figures], design.by, found.schema, TABLE)
    settings = {"by": design.by, "ci": ci, **asdict(significance)}
    return with_display(table.give(significance.adjusted(found_table)), partial(catalog_pairs, settings=settings))


def _compared(
    lists: pl.DataFrame,
    query: Sequence[str],
    runs: Sequence[str],
    pairs: Sequence[tuple[int, int]],
    metrics: ItemMetrics,
    resampling: Resampling,
    progress: Progress,
) -> Iterator[tuple[int, tuple[object, ...]]]:
    """The number of a metric and its row for each pair of runs, in one slice."""
    users = users_of(lists, query)  # of all runs; a user to whom a run shows nothing has an empty list there

    def counted(*names: str) -> Recount:
        """The lists of the runs, for counts with a weight for each user of the first run, then of the next."""
        of_runs = pl.concat(users.select(pl.lit(name).alias(RUN), *query) for name in names)
        return Recount(lists.filter(pl.col(RUN).is_in(names)), [RUN, *query], of_runs, metrics)

    n, each_run = users.height, [counted(run) for run in runs]
    values = np.array([recount.plain() for recount in each_run])
    drawn = [resamples_of(recount, resampling, progress) for recount in each_run]
    for a, b in pairs:
        difference = values[b] - values[a]
        low, high = about(difference, drawn[b] - drawn[a], resampling.ci or 0.0, None)
        p = _p_values(counted(runs[a], runs[b]), difference, n, resampling, progress)
        for i, call in enumerate(metrics.calls):
            tested = (p[i], difference[i], low[i], high[i], p[i])
            yield i, (call.text, runs[a], runs[b], values[a, i], values[b, i], n, metrics.size, *tested)


def _p_values(of_pair: Recount, difference: Floats, n: int, resampling: Resampling, progress: Progress) -> Floats:
    """The share of exchanges of users' lists between two runs that give differences as large as the observed ones.

    All exchanges are tried if there are no more of them than resamples; else random ones, the observed one included.
    """
    least = np.abs(difference) * (1 - NOISE) - NOISE

    def as_large(kept: Floats) -> Booleans:
        """Whether the differences are as large if only some users, whose number is 1, keep their lists."""
        a, b = (of_pair.values(np.concatenate(weights)) for weights in ((kept, 1 - kept), (1 - kept, kept)))
        large: Booleans = np.abs(np.subtract(b, a)) >= least
        return large

    if n < 63 and 2**n <= resampling.resamples:
        p = sum(as_large((number >> np.arange(n) & 1).astype(float)) for number in range(2**n)) / 2**n
    else:
        drawn = each(partial(words, kind="<u1"), resampling.resamples, resampling.seed, n, progress)
        p = (sum(as_large((x & 1).astype(float)) for x in drawn) + 1) / (resampling.resamples + 1)
    return np.where(np.isnan(difference), np.nan, p)
