"""How far the order of runs can be relied on: by one metric, and from one to another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar

from ..._catalog.call import Call
from ..._catalog.means import scaled
from ..._catalog.registry import METRICS
from ..._catalog.requests import Request, averaged
from ..._results.columns import Shows, grid, schema, table_in
from ..._results.grid import Cell, Grid, Record, left_out, queries_of, records
from ..._results.result import MOST_ROWS, Result
from ..._results.sentences import IN_TEXT, Quotes
from ..._statistics.estimators import TESTS
from ..._support.draws import counts, each, words
from ..._support.extras import load
from ..._support.floats import Booleans, Floats, np
from ..._support.progress import Progress
from ..._support.statistical_options import PairedTest, Resamples
from ..._table.shared_options import IntervalsOfRuns, runs_of
from ..._table.table import Table
from ...stats import NOISE
from ..call.declaration import verb
from ..decide.compare import compared_values
from ..decide.estimation import Estimation
from ..decide.power import Chance, Effect, effects_of
from ..decide.slice_of_pairs import directions
from ..measure.paired_values import Design, Pairs, paired_values
from ..sample.resampling import Resampling

if TYPE_CHECKING:
    from typing import Unpack

R = TypeVar("R")

R_co = TypeVar("R_co", covariant=True)

OfPairs: TypeAlias = Literal[PairedTest, "tukey"]

TABLE = schema("metric figure other difference value ci_low ci_high n_pairs n_queries")

SENTENCES = {
    "discriminative_power": "{metric} tells {value} of {n_pairs:,} pairs of runs apart",
    "swap_rate": "{metric} orders {value} of the pairs differently on two halves of the queries",
    "tau": "{metric} and {other} order the runs with a Kendall's tau of {value}",
}
"""The figures, each in a sentence."""

SPLITS = 20
"""The most random halves of each resample of the queries."""

LEAST = 4
"""The fewest queries with figures: a half has two."""


@dataclass(frozen=True, repr=False)
class Reliability(Result[R_co]):
    """How far the order of runs can be relied on.

    Attributes
    ----------
    table
        A row per metric and figure: ``metric``; ``figure``: ``"discriminative_power"``, the share
        of the pairs of runs with a p-value below `alpha`; ``"swap_rate"``, of the pairs whose means
        in one half of the queries differ by at least ``difference`` (Float64; null for other
        figures), the share that the other half puts in the opposite order; ``"tau"``,
        Kendall's tau-b of the orders of the runs by their means of ``metric`` and of the ``other``
        metric (String; null for other figures); ``value`` and its interval from ``ci_low`` to
        ``ci_high`` (Float64); ``n_pairs`` of runs and ``n_queries`` (UInt32).
    settings
        How it was computed.
    """

    table: R_co
    settings: Mapping[str, Any]

    def sentences(self, quotes: Quotes = IN_TEXT) -> list[str]:
        """A sentence for each metric and figure, and for each two metrics."""
        rows = records(self.table)
        if any(row["n_pairs"] == 1 for row in rows):
            return [
                "Two runs cannot tell how far an order of runs can be relied on; give three or more"
            ]
        known = [row for row in rows if not row["difference"] and row["value"] is not None]
        lines = []
        for row in known:
            shown = {**row, "value": _shown(row, ".2f")}
            lines.append(SENTENCES[row["figure"]].format(**shown))
        too_few = "Too few queries to tell how far the order of the runs can be relied on"
        return lines or [f"{too_few}: {queries_of(rows)}"]

    def grids(self, most: int | None = MOST_ROWS) -> list[Grid]:
        """A row per metric and figure."""
        rows = records(self.table)
        test = TESTS[self.settings["test"]]
        note = (
            f"Discriminative power: share with p < {self.settings['alpha']:g} by {test}, over "
            f"{queries_of(rows)}."
        )
        notes = (note, *left_out(self, rows, most))
        cells: dict[str, Shows] = {"figure": _what, "value": _value}
        return [grid(self, rows, ("metric", "figure"), "value", notes, most, cells=cells)]


def _what(row: Record, name: str) -> Cell:
    """A figure, with the least difference or the other metric that it is about."""
    text = row[name].replace("_", " ")
    if row["difference"]:
        text += f", differences from {row['difference']:g} on"
    if row["other"]:
        text += f" with {row['other']}"
    return Cell(text)


def _value(row: Record, name: str) -> Cell:
    """A value and its interval, with three decimals."""
    return Cell(_shown(row, ".3f"), row[name])


def _shown(row: Record, how: str) -> str:
    """A value and its interval, shares with few digits in percent; empty without a value."""
    value = row["value"]
    if value is None:
        return ""
    if how == ".2f" and row["figure"] != "tau":
        how = ".0%"
    return f"{value:{how}} [{row['ci_low']:{how}}, {row['ci_high']:{how}}]"


@verb(gives="whole", among=METRICS, watched=True, by_parts=True)
def reliability(
    table: Table[R],
    *metrics: Request,
    test: OfPairs = "permutation",
    alpha: Chance = 0.05,
    difference: Effect | Sequence[Effect] = (0.01, 0.02, 0.05),
    halves: Resamples = 100,
    **options: Unpack[IntervalsOfRuns],
) -> Reliability[R]:
    """How far the order of runs can be relied on: discriminative power, swap rate and the order by
    other metrics.

    Parameters
    ----------
    *metrics
        Texts and functions, as for :meth:`evaluate`.
    runs, run, missing
        As for :meth:`compare`; every two runs are compared, over the queries where all runs have a
        value of all metrics.
    test
        The test whose p-values count in the discriminative power, as for :meth:`compare`; they are
        not corrected.
    alpha
        The level of the test.
    difference
        For the swap rate: the least difference of two runs' means in the first half of the queries,
        above 0, or several. The rate of all pairs comes first.
    halves
        How many times the queries are split in two halves at random; the intervals take the first
        twenty times.
    ci
        The confidence of the intervals, percentiles over resamples of the queries. In a resample
        the pairs are tested by Student's t, and all copies of a query are in the same half.
    resamples, seed, progress
        As for :meth:`summarize`; also the resamples of the test.

    Returns
    -------
    A :class:`rankframe.results.Reliability`, whose ``table`` is a frame of the caller's kind, with
    nulls if fewer than four queries have values. Of a LazyFrame only the values per query are held
    in memory. Needs SciPy.

    References
    ----------
    T. Sakai (2006), Evaluating evaluation metrics based on the bootstrap, SIGIR (discriminative
    power). E. M. Voorhees, C. Buckley (2002), The effect of topic set size on retrieval experiment
    error, SIGIR (swap rate).

    Examples
    --------
    Run a is better than b on four queries, by 1/2, and both are better than c by as much: no half
    orders them differently.

    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame({"query_id": [q for q in range(4) for _ in "xyz"], "label": [1, 0, 0] * 4,
    ...     "a": [3, 2, 1] * 4, "b": [2, 3, 1] * 4, "c": [1, 2, 3] * 4})
    >>> found = df.rank.collection.reliability(
    ...     "rr", "map", runs=["a", "b", "c"], difference=0.1).table
    >>> found["figure"].to_list()[2:], found["value"].to_list()[2:]
    (['swap_rate', 'swap_rate', 'swap_rate', 'swap_rate', 'tau'], [0.0, 0.0, 0.0, 0.0, 1.0])
    """
    missing = options.get("missing", "error")
    design = Design(runs_of(options), None, (), None, missing)
    calls = averaged(metrics, "reliability('ndcg@10', 'map', runs=['bm25', 'ltr'])", table.setup)
    resampling = Resampling.of(options)
    paired = paired_values(table, calls, design)
    least = (0.0, *effects_of(difference))
    (queries,) = paired.slices
    is_missing = np.isnan(paired.values[:, queries])
    has_all = ~is_missing.any(axis=(0, 2))
    queries = queries[has_all]
    n = len(queries)
    pairs = design.pairs(paired.runs)
    names = _names(calls, least)
    n_figures = len(names)
    value = np.full(n_figures, np.nan)
    ends = np.full((2, n_figures), np.nan)
    if n >= LEAST:
        on_scale = scaled(paired.values[:, queries], calls)
        values = np.moveaxis(on_scale, 0, 1) * directions(calls)
        value, resampled = _values_and_draws(values, pairs, least, alpha, halves, resampling)
        without_interval = replace(resampling, ci=None)
        of_test = Estimation.by(test, without_interval)
        with Progress("comparing runs", resampling.progress) as bar:
            compared = compared_values(paired, queries, pairs, of_test, bar)
        p = compared["p_value"].fill_null(np.nan).to_numpy()
        p = p.reshape(len(calls), -1)
        is_tested = ~np.isnan(p).any(axis=1)
        power = (p < alpha).mean(axis=1)
        value[: len(calls)] = np.where(is_tested, power, np.nan)
        is_known = ~np.isnan(value)
        # Columns without a value have no interval, and must not warn of NaN alone.
        resampled = np.where(is_known, resampled, 0.0)
        ends = np.nanquantile(resampled, resampling.ends, axis=0)
        ends = np.where(is_known, ends, np.nan)
    columns = zip(names, value.tolist(), *ends.tolist(), strict=True)
    rows = [(*name, *of_name, len(pairs), n) for name, *of_name in columns]
    settings = {
        **design.settings,
        "difference": least,
        "interval": resampling.interval,
        "runs": paired.runs,
    }
    figures_of_runs = table_in(rows, TABLE)
    return Reliability(table.give(figures_of_runs), settings)


def _values_and_draws(
    values: Floats,
    pairs: Pairs,
    least: Sequence[float],
    alpha: float,
    halves: int,
    resampling: Resampling,
) -> tuple[Floats, Floats]:
    """The figures of all queries, and a row of them for each resample, by Student's test."""
    n = len(values)
    a, b = np.array(pairs).T
    sizes = np.array(least)
    critical = load("scipy.special", "stats").stdtrit(n - 1, 1 - alpha / 2)
    with Progress("resampling queries", resampling.progress) as bar, np.errstate(all="ignore"):
        draw = partial(words, kind="<u8")
        keys = each(draw, halves, resampling.seed + 1, n, bar)
        is_first = np.stack([np.argsort(key, kind="stable") < n // 2 for key in keys])
        once = np.ones(n)
        figures = _figures(values, once, a, b, is_first, sizes, critical)
        few = is_first[:SPLITS]
        draws = each(counts, resampling.resamples, resampling.seed, n, bar)
        resampled = [_figures(values, w, a, b, few, sizes, critical) for w in draws]
    return figures, np.stack(resampled)


def _names(calls: Sequence[Call], least: Sequence[float]) -> list[tuple[object, ...]]:
    """The metric, the figure, the other metric and the least difference of each figure."""
    names: list[tuple[object, ...]] = []
    names += [(call.text, "discriminative_power", None, None) for call in calls]
    names += [(call.text, "swap_rate", None, size) for call in calls for size in least]
    names += [(one.text, "tau", other.text, None) for one, other in combinations(calls, 2)]
    return names


def _figures(
    x: Floats, w: Floats, a: Any, b: Any, split: Booleans, least: Floats, critical: float
) -> Floats:
    """The figures of weighted queries, in the order of `_names`.

    `x` has queries by runs by metrics, `a` and `b` the runs of each pair, `split` a row per split
    with its first half.
    """
    n = w.sum()
    flat = x.reshape(len(x), -1)
    sums = w @ flat
    sums = sums.reshape(x.shape[1:])
    gain = (sums[a] - sums[b]) / n
    # Student's t of each pair, from the covariance of the runs' values.
    rest = x - sums / n
    products = np.einsum("q,qim,qjm->ijm", w, rest, rest, optimize=True)
    covariance = products / (n - 1)
    variance = covariance[a, a] + covariance[b, b]
    variance = np.maximum(variance - 2 * covariance[a, b], 0.0)
    is_significant = gain**2 * n > critical**2 * variance
    differs = np.abs(gain) > NOISE
    power = (differs & is_significant).mean(axis=0)
    # The means of both halves, by split.
    in_first = split * w
    sums_of_first = in_first @ flat
    sums_of_first = sums_of_first.reshape(len(split), *sums.shape)
    size = in_first.sum(axis=1)[:, None, None]
    one = _gains(sums_of_first / size, a, b)
    sums_of_second = sums - sums_of_first
    other = _gains(sums_of_second / (n - size), a, b)
    is_large = np.abs(one)[..., None] >= least - NOISE
    is_other = one * other < 0
    is_swapped = is_large & is_other[..., None]
    n_large = is_large.sum(axis=(0, 1))
    swap_rate = is_swapped.sum(axis=(0, 1)) / n_large
    # Kendall's tau-b of the orders by two metrics.
    order = np.where(differs, np.sign(gain), 0.0)
    untied = np.abs(order).sum(axis=0)
    n_untied = np.sqrt(np.outer(untied, untied))
    tau = order.T @ order / n_untied
    of_two = np.triu_indices(len(untied), 1)
    return np.concatenate([power, swap_rate.ravel(), tau[of_two]])


def _gains(means: Floats, a: Any, b: Any) -> Floats:
    """The differences of the means of each pair; 0 for rounding errors."""
    gains = means[:, a] - means[:, b]
    return np.where(np.abs(gains) > NOISE, gains, 0.0)
