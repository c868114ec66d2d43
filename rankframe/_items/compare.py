"""Compare runs by metrics of the whole table: exchange users' lists between the runs, and count items again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import polars as pl

from .._catalog.requests import Request
from .._decisions.compare import Significance
from .._decisions.paired_values import Design
from .._decisions.resampling import Resampling
from .._decisions.runs import RUN
from .._decisions.summary import keys
from .._plan.per_query import Frame, as_given, refuse_names
from .._support.progress import Progress
from .._table.setup import Setup
from .._verbs.declaration import verb
from ..errors import InvalidOption
from .catalog import catalog_calls, reads_labels
from .catalog_and_past import Unknown, catalog_and_past
from .intervals import about, resamples_of
from .lists import lists_of
from .recount import ItemMetrics, Recount, users_of

if TYPE_CHECKING:
    from .._support.floats import Floats

TABLE = {
    "metric": pl.String(),
    "baseline": pl.String(),
    "run": pl.String(),
    "baseline_value": pl.Float64(),
    "value": pl.Float64(),
    "n_queries": pl.UInt32(),
    "n_items": pl.Int64(),
    "p_value": pl.Float64(),
    "difference": pl.Float64(),
    "ci_low": pl.Float64(),
    "ci_high": pl.Float64(),
    "p_adjusted": pl.Float64(),
}
"""The columns; a frame prints its first and last ones, so the answer comes last."""

NOISE = 1e-12
"""Differences closer than this count as equal."""


@verb(gives="table", reads=["design"], labels=reads_labels)
def compare_catalog(
    frame: Frame,
    setup: Setup,
    design: Design,
    significance: Significance,
    resampling: Resampling,
    unknown_items: Unknown,
    *requests: Request,
) -> Frame:
    """Every two runs, or every run and the baseline, by each metric in each slice."""
    calls = catalog_calls(requests, setup, "compare_catalog('coverage@10', runs=['bm25', 'ltr'], items=...)")
    refuse_names([*TABLE], design.by, "by")
    eager = frame.lazy().collect()
    metrics = ItemMetrics(tuple(calls), catalog_and_past(setup, eager.schema, unknown_items), setup.policies.relevant)
    query = [*design.runs.queries(setup).roles.query]
    found = design.runs.each(eager, setup, lambda of_run: lists_of(eager, of_run, design.by, metrics.columns))
    found = metrics.known.catalog.within(found)
    runs = design.runs.named(found)
    if len(runs) < 2:
        raise InvalidOption(
            f"there is one run to compare, {', '.join(map(repr, runs)) or 'and no row'}; give two or more"
        )
    parts = found.partition_by(keys(design.by), maintain_order=True) if design.by else [found]
    with Progress("comparing runs", resampling.progress) as progress:
        of_slices = [_compared(part, query, runs, design, metrics, resampling, progress) for part in parts]
    # by metric, then by slice, then by pair of runs
    rows = [row for i in range(len(calls)) for of_slice in of_slices for row in of_slice[i]]
    slices = {name: found.schema[at] for name, at in zip(design.by, keys(design.by), strict=True)}
    table = pl.DataFrame(rows, {**slices, **TABLE}, orient="row").with_columns(pl.col(pl.Float64).fill_nan(None))
    table = significance.adjusted(table)
    return as_given(frame, table)


@dataclass(frozen=True)
class Lists:
    """The lists of several runs in one slice of the users, and their metrics."""

    lists: pl.DataFrame
    query: Sequence[str]
    metrics: ItemMetrics

    @cached_property
    def users(self) -> pl.DataFrame:
        """The users of all runs; a user to whom a run shows nothing has an empty list there."""
        return users_of(self.lists, self.query)

    def counted(self, *runs: str) -> Recount:
        """The lists of the runs, for counts with a weight for each user of the first run, then of the next."""
        users = pl.concat(self.users.select(pl.lit(run).alias(RUN), *self.query) for run in runs)
        rows = self.lists.filter(pl.col(RUN).is_in(runs))
        return Recount(rows, [RUN, *self.query], users, self.metrics)

    def difference(self, of_pair: Recount, first: Floats) -> Floats:
        """The values of the second run less those of the first, after an exchange of lists.

        `first` is 1 for users who keep their lists, and 0 for users whose lists count for the other run.
        """
        import numpy as np

        a, b = (
            of_pair.values(self.metrics, np.concatenate(weights))
            for weights in ((first, 1 - first), (1 - first, first))
        )
        difference: Floats = np.array(b) - np.array(a)
        return difference


def _compared(
    part: pl.DataFrame,
    query: Sequence[str],
    runs: Sequence[str],
    design: Design,
    metrics: ItemMetrics,
    resampling: Resampling,
    progress: Progress,
) -> list[list[tuple[object, ...]]]:
    """For each metric a row per pair of runs, in one slice."""
    import numpy as np

    of_slice = Lists(part, query, metrics)
    where = part.select(keys(design.by)).row(0) if design.by else ()
    n = of_slice.users.height
    each = [of_slice.counted(run) for run in runs]
    values = np.array([recount.plain(metrics) for recount in each])
    drawn = [
        resamples_of(lambda weights, recount=recount: recount.values(metrics, weights), n, resampling, progress)  # type: ignore[misc]
        for recount in each
    ]
    rows: list[list[tuple[object, ...]]] = [[] for _ in metrics.calls]
    for a, b in design.pairs(runs):
        difference = values[b] - values[a]
        ends = np.full((2, len(difference)), np.nan)
        if n > 1 and resampling.ci is not None:
            ends = np.array(about(difference.tolist(), drawn[b] - drawn[a], resampling.ci, None))
        p = _p_values(of_slice, of_slice.counted(runs[a], runs[b]), difference, n, resampling, progress)
        for i, call in enumerate(metrics.calls):
            of_runs, tested = (
                [float(x[i]) for x in figures] for figures in ((values[a], values[b]), (p, difference, *ends, p))
            )
            rows[i].append((*where, call.text, runs[a], runs[b], *of_runs, n, metrics.size, *tested))
    return rows


def _p_values(
    of_slice: Lists, of_pair: Recount, difference: Floats, n: int, resampling: Resampling, progress: Progress
) -> Floats:
    """The share of exchanges of users' lists between two runs that give differences as large as the observed ones.

    All exchanges are tried if there are no more of them than resamples; else random ones, the observed one included.
    """
    import numpy as np

    from .._support.draws import parts, streams, words

    least = np.abs(difference) * (1 - NOISE) - NOISE
    as_large = np.zeros(len(difference))
    if n < 63 and 2**n <= resampling.resamples:
        for number in range(2**n):
            kept = (number >> np.arange(n) & 1).astype(float)
            as_large += np.abs(of_slice.difference(of_pair, kept)) >= least
        p = as_large / 2**n
    else:
        for stream, size, done in streams(resampling.resamples, resampling.seed):
            for rows in parts(size, n):
                for drawn in words(stream, rows, n, "<u1"):
                    as_large += np.abs(of_slice.difference(of_pair, (drawn & 1).astype(float))) >= least
            progress(done, resampling.resamples)
        p = (as_large + 1) / (resampling.resamples + 1)
    return np.where(np.isnan(difference), np.nan, p)
