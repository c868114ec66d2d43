"""Compare runs by metrics of the whole table: exchange users' lists between the runs, and count items again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, TypeVar

import polars as pl

from .._catalog.registry import CATALOG_METRICS
from .._catalog.requests import Request
from .._results.grid import Cell, Grid, estimated, named, numbers, p_cell, percent, queries_of, records
from .._results.result import MOST_ROWS, bundle, with_display
from .._results.sentences import test_of
from .._support.option_kinds import Column, ColumnNames
from .._support.progress import Progress
from .._support.statistical_options import Confidence, Correction, Family, Resamples, Seed
from .._table.runs import RUN, Runs, TheRuns, names_of
from .._table.table import Table, refuse_names
from ..errors import InvalidOption
from .catalog import reads_labels
from .catalog_and_past import Unknown, catalog_and_past
from .compare import Significance
from .declaration import verb
from .item_counts import catalog_calls
from .lists_of_users import lists_of
from .paired_values import Design
from .recount import ItemMetrics, Recount, about, resamples_of, users_of
from .resampling import Resampling
from .summary import keys

if TYPE_CHECKING:
    from .._support.floats import Floats

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
    names = design.runs.named(found)
    if len(names) < 2:
        raise InvalidOption(
            f"there is one run to compare, {', '.join(map(repr, names)) or 'and no row'}; give two or more"
        )
    parts = found.partition_by(keys(design.by), maintain_order=True) if design.by else [found]
    with Progress("comparing runs", resampling.progress) as bar:
        of_slices = [_compared(part, query, names, design, measured, resampling, bar) for part in parts]
    # by metric, then by slice, then by pair of runs
    figures = [row for i in range(len(calls)) for of_slice in of_slices for row in of_slice[i]]
    slices = {name: found.schema[at] for name, at in zip(design.by, keys(design.by), strict=True)}
    found_table = pl.DataFrame(figures, {**slices, **TABLE}, orient="row").with_columns(
        pl.col(pl.Float64).fill_nan(None)
    )
    settings = {"by": design.by, "ci": ci, **asdict(significance)}
    return with_display(table.give(significance.adjusted(found_table)), partial(catalog_pairs, settings=settings))


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


def catalog_pairs(found: Any, settings: Mapping[str, Any]) -> dict[str, str]:
    """Runs compared by catalog metrics, in IPython and Jupyter; empty if the user has changed the columns."""
    names = (*settings["by"], "metric", "run", "baseline")
    values = ("baseline_value", "value")
    if not {*names, *values, "difference", "ci_low", "ci_high", "p_adjusted", "n_queries"} <= {*found.columns}:
        return {}
    rows = records(found)
    body = [
        (*named(row, *names), *numbers(row, *values), estimated(row, "difference"), Cell(p_cell(row)))
        for row in rows[:MOST_ROWS]
    ]
    test = test_of(rows, {**settings, "metrics": {row["metric"] for row in rows}})
    more = [f"The first {MOST_ROWS} of {len(rows):,} rows."] if len(rows) > MOST_ROWS else []
    tested = f"p by {test}, over {queries_of(rows)}. Difference: value less baseline value."
    figures = ("baseline value", "value", f"difference [{percent(settings)} interval]", "p")
    grid = Grid(names, figures, body, (tested, *more))
    return bundle(grid, grid)
