"""How far the order of runs can be relied on: by one metric with these queries, and from one metric
to another.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar

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
from ..measure.paired_values import Design, paired_values
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
        of the pairs of runs with a p-value below `alpha`; ``"swap_rate"``, the share of pairs that
        one half of the queries orders otherwise than the other half, of those whose means in the
        first half differ by at least ``difference`` (Float64; null for other figures); ``"tau"``,
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
        known = (row for row in rows if not row["difference"] and row["value"] is not None)
        each = [
            SENTENCES[row["figure"]].format(**{**row, "value": _shown(row, ".2f")}) for row in known
        ]
        return each or [
            "Too few queries to tell how far the order of the runs can be relied on: "
            f"{queries_of(rows)}"
        ]

    def grids(self, most: int | None = MOST_ROWS) -> list[Grid]:
        """A row per metric and figure."""
        rows, of = records(self.table), self.settings
        note = (
            f"Discriminative power: share with p < {of['alpha']:g} by {TESTS[of['test']]}, over "
            f"{queries_of(rows)}."
        )
        cells: dict[str, Shows] = {
            "figure": _what,
            "value": lambda row, name: Cell(_shown(row, ".3f"), row[name]),
        }
        return [
            grid(
                self,
                rows,
                ("metric", "figure"),
                "value",
                (note, *left_out(self, rows, most)),
                most,
                cells=cells,
            )
        ]


def _what(row: Record, name: str) -> Cell:
    """A figure, with the least difference or the other metric that it is about."""
    least = f", differences from {row['difference']:g} on" if row["difference"] else ""
    return Cell(
        f"{row[name].replace('_', ' ')}{least}{' with ' + row['other'] if row['other'] else ''}"
    )


def _shown(row: Record, how: str) -> str:
    """A value and its interval, shares in percent if they have few digits; empty without a
    value.
    """
    how = ".0%" if how == ".2f" and row["figure"] != "tau" else how
    value, low, high = (row[name] for name in ("value", "ci_low", "ci_high"))
    return "" if value is None else f"{value:{how}} [{low:{how}}, {high:{how}}]"


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
    >>> found = df.rank.collection.reliability("rr", "map", runs=["a", "b", "c"], difference=0.1).table
    >>> found["figure"].to_list()[2:], found["value"].to_list()[2:]
    (['swap_rate', 'swap_rate', 'swap_rate', 'swap_rate', 'tau'], [0.0, 0.0, 0.0, 0.0, 1.0])
    """
    design = Design(runs_of(options), None, (), None, options.get("missing", "error"))
    calls = averaged(metrics, "reliability('ndcg@10', 'map', runs=['bm25', 'ltr'])", table.setup)
    resampling = Resampling.of(options)
    found = paired_values(table, calls, design)
    least = (0.0, *effects_of(difference))
    (part,) = found.slices
    part = part[~np.isnan(found.values[:, part]).any(axis=(0, 2))]
    x = np.moveaxis(scaled(found.values[:, part], calls), 0, 1) * [
        1.0 if call.higher_is_better else -1.0 for call in calls
    ]
    pairs = design.pairs(found.runs)
    a, b = np.array(pairs).T
    names: list[tuple[object, ...]] = [
        (call.text, "discriminative_power", None, None) for call in calls
    ]
    names += [(call.text, "swap_rate", None, size) for call in calls for size in least]
    names += [(one.text, "tau", other.text, None) for one, other in combinations(calls, 2)]
    value, (low, high) = np.full(len(names), np.nan), np.full((2, len(names)), np.nan)
    if len(x) >= LEAST:
        critical = load("scipy.special", "stats").stdtrit(len(x) - 1, 1 - alpha / 2)
        with Progress("resampling queries", resampling.progress) as bar, np.errstate(all="ignore"):
            keys = each(partial(words, kind="<u8"), halves, resampling.seed + 1, len(x), bar)
            split = np.stack([np.argsort(key, kind="stable") < len(x) // 2 for key in keys])
            value = _figures(x, np.ones(len(x)), a, b, split, np.array(least), critical)
            drawn = each(counts, resampling.resamples, resampling.seed, len(x), bar)
            sampled = np.stack(
                [_figures(x, w, a, b, split[:SPLITS], np.array(least), critical) for w in drawn]
            )
        of_test = Estimation.by(test, replace(resampling, ci=None))
        with Progress("comparing runs", resampling.progress) as bar:
            figures = compared_values(found, part, pairs, of_test, bar)
        p = figures["p_value"].fill_null(np.nan).to_numpy().reshape(len(calls), -1)
        value[: len(calls)] = np.where(np.isnan(p).any(axis=1), np.nan, (p < alpha).mean(axis=1))
        sampled = np.where(np.isnan(value), 0.0, sampled)
        low, high = np.where(
            np.isnan(value), np.nan, np.nanquantile(sampled, resampling.ends, axis=0)
        )
    rows = [
        (*name, *of_name, len(a), len(x))
        for name, *of_name in zip(names, *(y.tolist() for y in (value, low, high)), strict=True)
    ]
    settings = {
        **design.settings,
        "difference": least,
        "interval": resampling.interval,
        "runs": found.runs,
    }
    return Reliability(table.give(table_in(rows, TABLE)), settings)


def _figures(
    x: Floats, w: Floats, a: Any, b: Any, split: Booleans, least: Floats, critical: float
) -> Floats:
    """Discriminative power by metric, swap rate by metric and least difference, tau by pair of
    metrics, of weighted queries.

    `x` has queries by runs by metrics, `a` and `b` the runs of each pair, `split` a row per split
    with its first half.
    """
    n, flat = w.sum(), x.reshape(len(x), -1)
    sums = (w @ flat).reshape(x.shape[1:])
    rest, gain = x - sums / n, (sums[a] - sums[b]) / n
    moments = np.einsum("q,qim,qjm->ijm", w, rest, rest, optimize=True) / (n - 1)
    spread = np.maximum(moments[a, a] + moments[b, b] - 2 * moments[a, b], 0.0)
    power = ((np.abs(gain) > NOISE) & (gain**2 * n > critical**2 * spread)).mean(axis=0)
    own = split * w
    first, size = (own @ flat).reshape(len(split), *sums.shape), own.sum(axis=1)[:, None, None]
    one, other = (y[:, a] - y[:, b] for y in (first / size, (sums - first) / (n - size)))
    one, other, gain = (np.where(np.abs(y) > NOISE, y, 0.0) for y in (one, other, gain))
    large = np.abs(one)[..., None] >= least - NOISE
    swapped = (large & (one * other < 0)[..., None]).sum(axis=(0, 1)) / large.sum(axis=(0, 1))
    order = np.sign(gain)
    untied = np.abs(order).sum(axis=0)
    tau = (order.T @ order / np.sqrt(np.outer(untied, untied)))[np.triu_indices(len(untied), 1)]
    return np.concatenate([power, swapped.ravel(), tau])
