"""The number of queries needed to detect a difference."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias, TypeVar

import polars as pl

from ... import stats
from ..._catalog.registry import METRICS
from ..._catalog.requests import Request, averaged, refuse_geometric
from ..._results.columns import schema
from ..._results.grid import queries, queries_of
from ..._results.sentences import IN_TEXT, SENTENCES, metric_of, quoted
from ..._statistics.sample import Sample
from ..._statistics.weighted_means import NOISE, by_column, means, over, spreads
from ..._support.floats import Floats, np
from ..._support.option_kinds import Column
from ..._support.option_values import Range
from ..._support.progress import Progress
from ..._table.shared_options import OfDecision
from ..._table.table import Table, refuse_names
from ...errors import InvalidOption, option
from ..call.declaration import verb
from ..measure.paired_values import Design, paired_values
from ..sample.judged import Help
from ..sample.resampling import Resampling
from ..sample.slices import table_of
from .compare import names_of_pairs
from .estimation import Choice, Estimation
from .slice_of_pairs import SliceOfPairs, in_order_of

if TYPE_CHECKING:
    from typing import Unpack

R = TypeVar("R")

Effect: TypeAlias = Annotated[float, Range(above=0)]
Chance: TypeAlias = Annotated[float, Range(above=0, below=1)]

TABLE = {
    **schema("metric baseline run std difference n_queries power"),
    "queries_needed": pl.Int64(),
}

SAVED = schema("variance_saved")
"""The column of an estimator that saves variance."""

ALONE = Resampling(None, "t", 1, 0, progress=False)
"""No intervals."""


def effects_of(difference: Effect | Sequence[Effect]) -> tuple[Effect, ...]:
    """The differences that an option names, one or several."""
    effects = tuple(difference) if isinstance(difference, Iterable) else (difference,)
    if not effects:
        says = " names no difference; write one, as "
        raise InvalidOption(option(difference=[]), says, option(difference=0.01))
    return effects


@verb(gives="whole", among=METRICS, watched=True, by_parts=True)
def power(
    table: Table[Any],
    *metrics: Request,
    difference: Effect | Sequence[Effect],
    power: Chance = 0.8,
    alpha: Chance = 0.05,
    baseline: Column | None = None,
    adjust: Column | None = None,
    **shared: Unpack[OfDecision],
) -> pl.DataFrame:
    """The number of queries needed to detect a difference, from the spread of the runs' differences
    per query.

    Parameters
    ----------
    *metrics
        Texts, functions, values and expressions, as for :meth:`evaluate`.
    difference
        The difference of the means to detect, above 0; or several.
    power
        The required probability of detecting that difference.
    alpha
        The level of the two-sided paired t-test.
    runs, run, baseline, by, weights, missing
        As for :meth:`compare`.
    cluster
        The column of the users, or of other clusters of queries, as for :meth:`compare`: the test
        counts clusters, and ``queries_needed`` takes as many queries in each as are in the table.
    adjust
        The column known before for which :meth:`compare` will adjust differences, with a known mean
        over all queries.

    Returns
    -------
    A frame with the slice's columns, ``metric``, ``baseline``, ``run``, ``std`` (of the differences
    per query) and ``difference`` (Float64), ``n_queries`` (UInt32, in the table), ``power``
    (Float64, with that number of queries) and ``queries_needed`` (Int64; null if all differences
    are equal). With `adjust`, ``std`` is that of the adjusted differences, and ``variance_saved``
    (Float64) the share that adjusting takes from their variance. With `cluster`, ``std`` is that of
    the clusters' differences. With `weights`, and of estimates that weigh queries by their clicks,
    ``std`` is the standard error of the difference times the root of ``n_queries``. Of a LazyFrame
    only the values per query are held in memory. Needs SciPy.

    Raises
    ------
    InvalidOption
        If a difference is not above 0, or a metric has a geometric mean.

    References
    ----------
    J. Cohen (1988), Statistical power analysis for the behavioral sciences, chapter 2.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame({"query_id": [1, 1, 2, 2], "doc_id": list("abab"), "label": [1, 0, 1, 0],
    ...     "old": [1, 2, 2, 1], "new": [2, 1, 1, 2]})                # differences of 1/2 and -1/2
    >>> found = df.rank.power("rr", runs=["old", "new"], difference=0.1)
    >>> found["std"].to_list(), found["queries_needed"].to_list()
    ([0.7071067811865476], [395])
    """
    known = Help(adjust=adjust)
    choice = Choice.of_test("t", "auto", known).checked(cluster=(shared.get("cluster"), None))
    # Any mean of the column does, as only the spread counts.
    estimation = Estimation(choice.estimator, ALONE, {"adjust_mean": 0.0})
    design = Design.of(shared, baseline, known)
    effects = effects_of(difference)
    example = "power('ndcg@10', runs=['bm25', 'ltr'], difference=0.01)"
    calls = refuse_geometric(averaged(metrics, example))
    saves = "variance_saved" in choice.estimator.columns
    dtypes = TABLE | SAVED if saves else TABLE
    refuse_names([*dtypes], design.by, "by")
    values = paired_values(table, calls, design)
    rows: list[tuple[object, ...]] = []
    for part in values.slices:
        of_slice = SliceOfPairs.of(values, part, design.pairs(values.runs))
        where = [ids.item() for ids in values.of_slices(part[:1].tolist())]
        for spread in Spread.of(of_slice, estimation):
            saved = [spread.saved] if saves else []
            rows += [(*where, *spread.row(effect, power, alpha), *saved) for effect in effects]
    figures = table_of(rows, design.by, values.queries.schema, dtypes)
    return in_order_of(calls, figures)


@dataclass(frozen=True)
class Spread:
    """How far the differences of a metric and pair of runs spread.

    Attributes
    ----------
    names
        The metric, the baseline and the run.
    n_queries, n_units
        The numbers of queries and of units (queries, or clusters of them) with a difference.
    std
        The standard error of the mean difference times the root of the number of units; NaN without
        one.
    saved
        The share of the variance that the estimator saves, of which `std` is what is left; None if
        it saves none.
    """

    names: tuple[str, str, str]
    n_queries: int
    n_units: int
    std: float
    saved: float | None

    @classmethod
    def of(cls, part: SliceOfPairs, estimation: Estimation) -> list[Spread]:
        """The spreads of all metrics and pairs of runs."""
        sample = part.sample(estimation.estimator.needs)
        estimate = estimation.of(sample, Progress("", False))
        saved = estimate.more.get("variance_saved", np.zeros(sample.columns))
        std = _unit_spreads(sample) * np.sqrt(1 - saved)
        n_units = (~np.isnan(sample.values)).sum(axis=0)
        n_queries = (~np.isnan(part.changes)).sum(axis=0)
        names = pl.DataFrame(names_of_pairs(part)).rows()
        known = pl.Series(saved).fill_nan(None).to_list()
        counts = (n_queries.tolist(), n_units.tolist())
        columns = zip(names, *counts, std.tolist(), known, strict=True)
        return [cls(*of_column) for of_column in columns]

    def row(self, effect: float, power: float, alpha: float) -> tuple[object, ...]:
        """The figures of `TABLE` for a difference."""
        std = self.std if self.n_units > 1 else None
        figures = (*self.names, std, effect, self.n_queries)
        if not self.std > 0:
            return (*figures, None, None)
        in_deviations = effect / self.std
        chance = stats.power(in_deviations, self.n_units, alpha)
        n_units = stats.queries_needed(in_deviations, power, alpha)
        # There will be as many queries in a cluster as there are now.
        needed = math.ceil(n_units * self.n_queries / self.n_units)
        return (*figures, chance, needed)


def _unit_spreads(sample: Sample) -> Floats:
    """The standard error of each column's mean times the root of its number of units."""
    values = sample.values
    weights = by_column(sample.weights)
    is_known = ~np.isnan(values)
    total = np.where(is_known, weights, 0.0).sum(axis=0)
    deviation = values - means(values, weights)
    weighed = over(deviation * weights * is_known.sum(axis=0), total)
    rounding = NOISE * np.fmax.reduce(np.abs(values), axis=0, initial=0.0)
    exact = np.where(np.abs(weighed) <= rounding, 0.0, weighed)
    return spreads(exact, np.ones(len(exact)))


def power_sentences(rows: Sequence[Mapping[str, Any]], settings: Mapping[str, Any]) -> list[str]:
    """How many queries it takes to detect differences: a sentence for each row, or one on all."""
    chance = f"with a probability of {settings['power']:g}"
    test = f"t-test at level {settings['alpha']:g}"
    if len(rows) <= SENTENCES:
        return [_of_power(row, settings, chance, test) for row in rows]
    known = [row for row in rows if row["queries_needed"] is not None]
    n_unknown = len(rows) - len(known)
    unknown = f"; {n_unknown:,} differences have no spread to go by" if n_unknown else ""
    if not known:
        return [f"No number of queries can be computed{unknown}"]
    numbers = sorted(row["queries_needed"] for row in known)
    least = numbers[0]
    most = numbers[-1]
    needed = f"{least:,} to {queries(most)}" if least < most else queries(most)
    n_enough = sum(row["queries_needed"] <= row["n_queries"] for row in known)
    return [
        f"Detecting these {len(known):,} differences {chance} takes {needed} ({test}); "
        f"{queries_of(rows)} are there, enough for {n_enough:,} of them{unknown}"
    ]


def _of_power(row: Mapping[str, Any], settings: Mapping[str, Any], chance: str, test: str) -> str:
    """How many queries it takes to detect one difference, and how likely those here do."""
    n = row["n_queries"]
    baseline = quoted(row["baseline"], IN_TEXT)
    run = quoted(row["run"], IN_TEXT)
    metric = metric_of(row, settings)
    what = f"a difference of {row['difference']:g} between {baseline} and {run} on {metric}"
    if row["queries_needed"] is None:
        why = "their differences are all equal"
        if n < 2:
            why = f"{queries(n)} {'has' if n == 1 else 'have'} no spread"
        return f"No number of queries can be computed for {what}: {why}"
    needed = queries(row["queries_needed"])
    return (
        f"Detecting {what} {chance} takes {needed} ({test}); the {n:,} here detect it with a "
        f"probability of {row['power']:.2g}"
    )
