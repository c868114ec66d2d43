"""Compare runs on the same queries: paired tests, intervals, effect sizes, and the queries that a difference needs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Annotated, Any, Generic, Literal, TypeAlias, TypeVar

import polars as pl
import polars.selectors as cs

from .. import report, stats
from .._catalog.call import Call
from .._catalog.means import Mean, scaled, unscaled
from .._catalog.registry import METRICS
from .._catalog.requests import Request, averaged
from .._plan.per_query import collect, measure
from .._support.extras import versions
from .._support.floats import Booleans, Floats, Integers, np
from .._support.methods import called_by_users
from .._support.option_kinds import Column, ColumnNames
from .._support.option_values import Range
from .._support.progress import Progress
from .._support.statistical_options import Confidence, Correction, Family, Interval, Resamples, Seed, Test
from .._table.runs import RUN, Runs, TheRuns, names_of
from .._table.setup import Setup, refuse_bounds
from .._table.table import Table, refuse_names
from .._text import displays
from .._text.markup import visible
from .._text.result_table import Digits, Level
from ..errors import InvalidData, InvalidOption, Text, option
from .declaration import verb
from .evaluate import explain
from .resampling import Limits, Resampling, limits, warn_of_t
from .summary import by_query, in_slices, keys, table_of

Lacking: TypeAlias = Literal["error", "drop", "zero"]
Pairs: TypeAlias = Sequence[tuple[int, int]]


@dataclass(frozen=True)
class Design:
    """Which pairs of runs are compared on which queries.

    Attributes
    ----------
    runs
        The runs, named in the table.
    baseline
        The run that the others are compared with; ``None`` for every two runs.
    by, weights
        The columns of the queries' slices and weights.
    missing
        How to treat queries that a run lacks.
    """

    runs: Runs
    baseline: str | None
    by: tuple[str, ...]
    weights: str | None
    missing: Lacking

    def __post_init__(self) -> None:
        self.runs.required()

    @property
    def names(self) -> set[str]:
        """The columns that the design reads."""
        return {*self.runs.columns, *self.by, *([] if self.weights is None else [self.weights])}

    @property
    def settings(self) -> dict[str, object]:
        """The design under the names of the options that set it."""
        own = {name: getattr(self, name) for name in ("baseline", "by", "weights", "missing")}
        return {"runs": self.runs.scores, "run": self.runs.column, **own}

    def pairs(self, runs: Sequence[str]) -> Pairs:
        """The pairs of baseline and run, by their numbers."""
        if self.baseline is None:
            return list(combinations(range(len(runs)), 2))
        if self.baseline not in runs:
            given: list[Text] = [
                option(baseline=self.baseline),
                f" is none of the runs, which are {', '.join(map(visible, runs))}",
            ]
            if self.runs.scores:
                listed = option(runs=[self.baseline, *self.runs.scores])
                given += ["; if it is another column of scores, list it with them: ", listed]
            raise InvalidOption(*given)
        first = runs.index(self.baseline)
        return [(first, other) for other in range(len(runs)) if other != first]


@dataclass(frozen=True)
class PairedValues:
    """The values of all runs on the same queries.

    Attributes
    ----------
    runs
        The names of the runs.
    calls
        The metrics.
    queries
        One row per query: the query, its slices and its weight.
    values
        Runs by queries by metrics; NaN where a metric has no value.
    by
        The columns of the slices.
    """

    query: list[str]
    runs: list[str]
    calls: Sequence[Call]
    queries: pl.DataFrame
    values: Floats
    by: tuple[str, ...] = ()

    @property
    def slices(self) -> list[Integers]:
        """The row numbers of each slice's queries, sorted by query; slices in order of appearance."""
        parts = in_slices(self.queries.with_row_index("#row"), keys(self.by)).values()
        return [part.sort(self.query)["#row"].to_numpy() for part in parts]

    def of_slices(self, rows: Sequence[int]) -> list[pl.Series]:
        """The slices' columns, under their own names, of some queries."""
        return [self.queries[at][rows].alias(name) for name, at in zip(self.by, keys(self.by), strict=True)]

    def rows(self, names: Mapping[str, str], values: Floats) -> pl.DataFrame:
        """One row per query: the query and its slices, each column once, some names, and a column per metric."""
        slices = [pl.col(at).alias(name) for name, at in zip(self.by, keys(self.by), strict=True)]
        return self.queries.select(
            *self.query,
            *(x for x, name in zip(slices, self.by, strict=True) if name not in self.query),
            *(pl.lit(x).alias(name) for name, x in names.items()),
            *(pl.Series(call.text, x).fill_nan(None) for call, x in zip(self.calls, values.T.copy(), strict=True)),
        )

    def long(self) -> pl.DataFrame:
        """One row per run and query."""
        return pl.concat(self.rows({"run": run}, values) for run, values in zip(self.runs, self.values, strict=True))


def two_or_more(names: list[str]) -> list[str]:
    """The names of runs to compare."""
    if len(names) < 2:
        raise InvalidOption(
            f"there is one run to compare, {', '.join(map(repr, names)) or 'and no row'}; give two or more"
        )
    return names


def paired_values(frame: pl.DataFrame, setup: Setup, calls: Sequence[Call], design: Design) -> PairedValues:
    """Every run's values on the same queries; `design.missing` decides about queries that a run lacks."""
    names = [call.text for call in calls]
    design.runs.require(frame, setup)
    query = [*design.runs.queries(setup).roles.query]
    if {*query} <= {*design.by}:
        raise InvalidOption(
            option(by=design.by[0] if len(design.by) == 1 else list(design.by)),
            " tells queries apart; name a column that several queries share",
        )
    refuse_names([*RESERVED, *names], [*query, *design.by], "the query, or by,")
    found = values(frame, setup, design.runs, calls)
    runs = two_or_more(design.runs.named(found))
    queries = collect(by_query(frame, query, design.by, design.weights), frame, setup)
    array = np.empty((len(runs), len(queries), len(calls)))
    there = np.empty((len(runs), len(queries)), dtype=bool)
    for i, run in enumerate(runs):
        of_run = found.filter(pl.col(RUN) == run)
        per_query = queries.select(query).join(of_run, on=query, how="left", nulls_equal=True, maintain_order="left")
        array[i] = per_query.select(pl.col(names).fill_null(np.nan)).to_numpy()
        there[i] = per_query[RUN].is_not_null().to_numpy()
    if not there.all():
        if design.missing == "error":
            raise InvalidData(_lacking(queries, query, runs, there))
        if design.missing == "drop":
            kept = np.flatnonzero(there.all(axis=0))
            queries, array = queries[kept.tolist()], array[:, kept]
        else:
            _refuse_zero(calls)
            array[~there] = 0.0
    return PairedValues(query, runs, calls, queries, array, design.by)


RESERVED = ("metric", "baseline", "run")


def _lacking(queries: pl.DataFrame, query: Sequence[str], runs: Sequence[str], there: Booleans) -> Text:
    """The message and advice for a run that lacks queries."""
    lacking = next(i for i, has in enumerate(there) if not has.all())
    rows = queries.select(query).filter(pl.Series((~there[lacking]).tolist()))
    first = ", ".join(repr(row[0] if len(row) == 1 else row) for row in rows.head(3).rows())
    return (
        f"run {runs[lacking]!r} lacks {len(rows)} of {len(queries)} queries that another run has ({first}"
        f"{' ...' if len(rows) > 3 else ''}); ",
        option(missing="zero"),
        " counts them 0 for it, ",
        option(missing="drop"),
        " leaves them out for all",
    )


def _refuse_zero(calls: Sequence[Call]) -> None:
    for call in calls:
        if not call.higher_is_better or (call.bounds[0] or 0) > 0:
            raise InvalidOption(
                f"{call.text} of a query that a run lacks is not 0; say ",
                option(missing="drop"),
                ", or compare it apart",
            )


def values(frame: pl.DataFrame, setup: Setup, runs: Runs, calls: Sequence[Call]) -> pl.DataFrame:
    """A row per run and query: the run, the query columns, and a column per metric."""
    refuse_bounds(setup)
    return runs.each(frame, setup, lambda of_run: measure(frame, of_run, *calls))


def explained(
    frame: pl.DataFrame, setup: Setup, runs: Runs, run: str, call: Call, carry: Sequence[str] = ()
) -> pl.DataFrame:
    """The contribution of each document in a run; see `explain`."""
    carried, setup = [name for name in carry if name not in runs.key], setup.changed(flat=False)
    rows = runs.each(
        frame, setup, lambda of_run: explain(Table[pl.DataFrame](frame, of_run, carry=carried), call.text), only=run
    )
    return with_own_rank(rows.drop(RUN), rows.columns[-2])


def with_own_rank(rows: pl.DataFrame, rank: str) -> pl.DataFrame:
    """Rename the column `rank` to ``rank``, in place of the table's column of that name."""
    return rows if rank == "rank" else rows.drop("rank").rename({rank: "rank"})


R = TypeVar("R")

R_co = TypeVar("R_co", covariant=True)

TABLE = {
    "metric": pl.String, "baseline": pl.String, "run": pl.String, "baseline_mean": pl.Float64, "mean": pl.Float64,
    "difference": pl.Float64, "ci_low": pl.Float64, "ci_high": pl.Float64, "interval": pl.String,
    "p_value": pl.Float64, "p_adjusted": pl.Float64, "effect_size": pl.Float64, "wins": pl.UInt32,
    "ties": pl.UInt32, "losses": pl.UInt32, "n_queries": pl.UInt32,
}  # fmt: skip


@dataclass(frozen=True)
class Comparison(Generic[R_co]):
    """Runs compared on the same queries.

    Attributes
    ----------
    table
        A row per metric, slice and pair of runs: the slice's columns, ``metric``, ``baseline``, ``run``,
        ``baseline_mean`` and ``mean`` (of the baseline and of the run, over the queries where both have a value),
        ``difference`` (``mean`` less ``baseline_mean``), its interval from ``ci_low`` to ``ci_high`` and the kind of that
        ``interval`` (String, such as ``"bounded"``), ``p_value``, ``p_adjusted``, ``effect_size`` (Cohen's d_z: the mean of the differences over their standard deviation; null
        where they do not spread), all Float64; and ``wins``, ``ties``, ``losses`` (UInt32: on how many queries the run
        is better than the baseline, equal, worse) and ``n_queries`` (UInt32: those where both have a value).
    per_query
        A row per run and query: the query, its slice, ``run``, and a column per metric.
    per_query_delta
        A row per pair of runs and query: the query, its slice, ``baseline``, ``run``, and the difference per metric.
    settings
        How it was computed: the runs, the test, the correction, the resamples, the seed, how many p-values are exact
        (``"enumerated"``), the policies, the versions.
    """

    table: R_co
    per_query: R_co
    per_query_delta: R_co
    settings: Mapping[str, Any]

    def __repr__(self) -> str:
        return displays.comparison(self).text()

    @called_by_users
    def to_markdown(self, *, digits: Digits = 3, alpha: Level = 0.05) -> str:
        """A table in Markdown: a row per run, the best in bold; see :func:`rankframe.report.markdown`."""
        return report.markdown(self, digits=digits, alpha=alpha)

    @called_by_users
    def to_latex(
        self, *, digits: Digits = 3, alpha: Level = 0.05, caption: str | None = None, label: str | None = None
    ) -> str:
        """A table in LaTeX, with the rules of booktabs; see :func:`rankframe.report.latex`."""
        return report.latex(self, digits=digits, alpha=alpha, caption=caption, label=label)

    @called_by_users
    def to_html(self, *, digits: Digits = 3, alpha: Level = 0.05, title: str | None = None) -> str:
        """A table in HTML, by great_tables; see :func:`rankframe.report.html`."""
        return report.html(self, digits=digits, alpha=alpha, title=title)

    def to_dict(self) -> dict[str, Any]:
        """The settings, and the table row by row, as JSON can hold them."""
        return report.dictionary(self)

    def _repr_html_(self) -> str:
        return report.notebook(self)


@dataclass(frozen=True)
class Significance:
    """The test of a difference, and the correction for several tests in a family."""

    test: Test
    correction: Correction | None
    family: Family = "all"

    def adjusted(self, table: pl.DataFrame) -> pl.DataFrame:
        """The table with its p-values corrected, family by family."""
        return adjusted(table, self.correction, [] if self.family == "all" else ["metric"])


def adjusted(table: pl.DataFrame, correction: Correction | None, family: Sequence[str]) -> pl.DataFrame:
    """The table with its p-values corrected; those of a family have the same values in the columns `family`."""
    p = np.full(table.height, np.nan)
    for rows in in_slices(table.with_row_index("#row"), family).values():
        p[rows["#row"].to_numpy()] = stats.adjust(rows["p_value"].fill_null(np.nan).to_numpy(), correction)
    return table.with_columns(pl.Series("p_adjusted", p).fill_nan(None))


@verb(gives="whole", among=METRICS, watched=True)
def compare(
    table: Table[R],
    *metrics: Request,
    runs: TheRuns | None = None,
    run: Column | None = None,
    baseline: Column | None = None,
    test: Test = "permutation",
    correction: Correction | None = "holm",
    family: Family = "all",
    by: ColumnNames | None = None,
    ci: Confidence = 0.95,
    interval: Interval = "auto",
    weights: Column | None = None,
    missing: Lacking = "error",
    resamples: Resamples = 10_000,
    seed: Seed = 0,
    progress: bool = True,
) -> Comparison[R]:
    """Compare two or more runs on the same queries, by paired tests.

    Parameters
    ----------
    *metrics
        Texts and functions, as for :meth:`evaluate`.
    runs
        The columns of the runs' scores, in a table with a row per document; null where a run does not retrieve it. Or a
        table with labels for each run, including the table of `.rank`: ``{"old": df_old, "new": df_new}``. Other
        arguments can only name columns that all tables have.
    run
        The column that names the run of each row, in a table with a row per run and document; instead of `runs`.
    baseline
        The run that the others are compared with; ``None`` compares all pairs.
    test
        The two-sided test of the differences per query. ``"permutation"`` flips their signs: in all ways if at most
        twenty queries differ, else at random, with p = (b + 1) / (resamples + 1), so never 0. ``"t"`` is the paired
        t-test (SciPy), ``"bootstrap"`` resamples the differences minus their mean. ``"tukey"`` is the randomised
        honestly significant difference, whose p-values hold for all pairs of a metric and slice at once.
    correction
        The correction for several comparisons: ``"holm"`` bounds the chance of any false alarm, ``"bh"`` and
        ``"by"`` (Benjamini-Hochberg, -Yekutieli) the share of false alarms among all alarms; ``None`` for no correction.
        Tukey's test corrects by itself.
    family
        The rows of the table that are corrected together: ``"all"`` corrects all metrics and slices together, ``"metric"``
        corrects each metric separately, which bounds the false alarms per metric and not over all metrics.
    by
        The columns whose values slice the queries, as for :meth:`summarize`.
    ci
        The confidence of the interval of each difference.
    interval
        The kind of that interval, as for :meth:`summarize`. The differences of a metric have bounds if the metric has.
    weights
        The column of the queries' weights, as for :meth:`summarize`.
    missing
        With `run`, queries that a run lacks: ``"error"`` refuses them, ``"drop"`` leaves them out for all runs,
        ``"zero"`` counts them as 0. With `runs`, a run retrieves nothing for a query without scores.
    resamples, seed, progress
        As for :meth:`summarize`; all metrics and runs share the same draws.

    Returns
    -------
    A :class:`rankframe.Comparison`, whose ``table``, ``per_query`` and ``per_query_delta`` are frames of the caller's
    kind. A LazyFrame is collected first.

    Raises
    ------
    InvalidOption
        If there are fewer than two runs, or no such baseline.
    InvalidData
        If a run lacks queries and `missing` is ``"error"``.

    References
    ----------
    M. D. Smucker, J. Allan, B. Carterette (2007), A comparison of statistical significance tests for information
    retrieval evaluation, CIKM. B. Carterette (2012), Multiple testing in statistical analysis of systems-based
    information retrieval experiments, ACM TOIS 30.

    Examples
    --------
    The new run is better on all six queries: of the 64 ways to flip signs, two give a sum as far from 0.

    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame({"query_id": [1, 2, 3, 4, 5, 6] * 2, "doc_id": ["a"] * 6 + ["b"] * 6, "label": [1] * 6 + [0] * 6,
    ...     "old": [0] * 6 + [1] * 6, "new": [1] * 6 + [0] * 6})
    >>> table = df.rank.compare("rr", runs=["old", "new"]).table
    >>> float(table["difference"][0]), float(table["p_value"][0]), int(table["wins"][0])
    (0.5, 0.03125, 6)
    """
    design = Design(Runs.of(runs, run), baseline, names_of(by), weights, missing)
    significance = Significance(test, correction, family)
    resampling = Resampling(ci, interval, resamples, seed, progress)
    calls = averaged(metrics, "compare('ndcg@10', runs=['bm25', 'ltr'])")
    found, figures, enumerated = compared(table.rows, table.setup, calls, design, significance.test, resampling)
    if test != "tukey":
        figures = significance.adjusted(figures)
    warn_of_t(figures, resampling)
    delta = pl.concat(
        found.rows({"baseline": found.runs[a], "run": found.runs[b]}, differences(found.values[a], found.values[b]))
        for a, b in design.pairs(found.runs)
    )
    of_test = asdict(significance) | ({"correction": "tukey"} if test == "tukey" else {})
    settings = settings_of(
        table, calls, design.settings, of_test, asdict(resampling), runs=found.runs, enumerated=enumerated
    )
    return Comparison(table.give(figures), table.give(found.long()), table.give(delta), settings)


def settings_of(
    table: Table[Any], calls: Sequence[Call] = (), *options: Mapping[str, object], **others: object
) -> dict[str, object]:
    """The metrics and options of a call, the policies in effect, and the versions of the libraries."""
    found: dict[str, object] = {"metrics": [call.text for call in calls]} if calls else {}
    for given in (*options, others):
        found |= given
    return {**found, "policies": table.setup.followed(table.rows.columns), "versions": versions()}


def compared(
    frame: pl.DataFrame, setup: Setup, calls: Sequence[Call], design: Design, test: Test | None, resampling: Resampling
) -> tuple[PairedValues, pl.DataFrame, int]:
    """The runs' values, a row per metric, slice and pair of runs, and how many p-values are exact."""
    refuse_names([*TABLE], design.by, "by")
    found = paired_values(frame, setup, calls, design)
    pairs, enumerated = design.pairs(found.runs), 0
    tables = [pl.DataFrame([*found.of_slices([]), *pl.DataFrame(schema=TABLE)])]
    with Progress("comparing runs", resampling.progress) as progress:
        for rows in found.slices:
            figures, exact = compared_values(found, rows, pairs, test, resampling, progress)
            tables.append(pl.DataFrame([*found.of_slices(rows[:1].tolist() * figures.height), *figures]))
            enumerated += exact
    by_metric = pl.col("metric").cast(pl.Enum([call.text for call in calls]))
    return found, pl.concat(tables).sort(by_metric, maintain_order=True), enumerated


def differences(a: Floats, b: Floats) -> Floats:
    """The differences b - a; 0 if they differ by rounding errors only."""
    d = b - a
    d[np.abs(d) <= 1e-12 * np.maximum(np.abs(a), np.abs(b))] = 0.0
    return d


def compared_values(
    found: PairedValues, rows: Integers, pairs: Pairs, test: Test | None, resampling: Resampling, progress: Progress
) -> tuple[pl.DataFrame, int]:
    """The figures of a slice, by metric and then pair of runs; and the number of exact p-values."""
    calls, values, weights = found.calls, found.values[:, rows], found.queries["#weight"].to_numpy()[rows]
    of_pairs = [call for call in calls for _ in pairs]
    geometric = np.array([Mean.of(call).is_geometric for call in of_pairs])

    def side(which: int) -> Floats:
        """A column per metric and pair: the values of the pair's first or second run."""
        return np.moveaxis(values[[pair[which] for pair in pairs]], 0, 2).reshape(len(rows), len(of_pairs))

    a, b = side(0), side(1)
    d = differences(a, b)
    a, b = (np.where(np.isnan(d), np.nan, x) for x in (a, b))
    on_scale_a, on_scale_b = (scaled(x, of_pairs) for x in (a, b))
    mean_a, mean_b = (stats.means(x, weights) for x in (on_scale_a, on_scale_b))
    low, high, declared = limits(found.values, calls).repeated(len(pairs))
    least, greatest = low - high, high - low
    tested, spread = d, d  # the differences under test; values whose standard error is that of the reported difference
    if geometric.any():
        with np.errstate(invalid="ignore"):
            defined = np.isfinite(mean_a) & np.isfinite(mean_b)  # a value of 0 has no logarithm
            tested = np.where(geometric, np.where(defined, differences(on_scale_a, on_scale_b), np.nan), d)

            def tangent(b: Floats, a: Floats) -> Floats:
                return np.exp(mean_b) * (b - mean_b + 1) - np.exp(mean_a) * (a - mean_a + 1)

            spread = np.where(geometric, tangent(on_scale_b, on_scale_a), d)
            least = np.where(geometric, tangent(low, high), least)
            greatest = np.where(geometric, tangent(high, low), greatest)
            mean_a, mean_b = unscaled(mean_a, of_pairs), unscaled(mean_b, of_pairs)
    low, high, kinds = resampling.intervals(spread, weights, Limits(least, greatest, declared), progress)
    enumerated, p = 0, np.full(len(of_pairs), np.nan)
    options = resampling.resamples, resampling.seed, progress
    if test == "tukey":
        of_runs = (scaled(values[:, :, [i]], [call])[..., 0].T for i, call in enumerate(calls))
        tables = [stats.tukey(x, weights, *options) for x in of_runs]
        p = np.array([table[pair] for table in tables for pair in pairs])
    elif test is not None:
        p, exact = stats.paired_test(tested, weights, test, *options)
        enumerated = int(exact.sum())
    with np.errstate(divide="ignore", invalid="ignore"):
        effect = stats.means(tested, weights) / stats.spreads(tested, weights)
    better = d * [1 if call.higher_is_better else -1 for call in of_pairs]
    figures = {
        "metric": [call.text for call in of_pairs],
        "baseline": [found.runs[first] for first, _ in pairs] * len(calls),
        "run": [found.runs[second] for _, second in pairs] * len(calls),
        "baseline_mean": mean_a,
        "mean": mean_b,
        "difference": stats.means(spread, weights),
        "ci_low": low,
        "ci_high": high,
        "interval": pl.Series(kinds, dtype=pl.String),
        "p_value": p,
        "p_adjusted": p,
        "effect_size": np.where(np.isfinite(effect), effect, np.nan),
        "wins": (better > 0).sum(axis=0),
        "ties": (better == 0).sum(axis=0),
        "losses": (better < 0).sum(axis=0),
        "n_queries": (~np.isnan(d)).sum(axis=0),
    }
    return pl.DataFrame(figures, schema_overrides=TABLE).with_columns(cs.float().fill_nan(None)), enumerated


Effect: TypeAlias = Annotated[float, Range(above=0)]
Chance: TypeAlias = Annotated[float, Range(above=0, below=1)]

POWER = {
    "metric": pl.String, "baseline": pl.String, "run": pl.String, "std": pl.Float64, "difference": pl.Float64,
    "n_queries": pl.UInt32, "power": pl.Float64, "queries_needed": pl.Int64,
}  # fmt: skip


@verb(gives="whole", among=METRICS)
def power(
    table: Table[R],
    *metrics: Request,
    difference: Effect | Sequence[Effect],
    power: Chance = 0.8,
    alpha: Chance = 0.05,
    runs: TheRuns | None = None,
    run: Column | None = None,
    baseline: Column | None = None,
    by: ColumnNames | None = None,
    missing: Lacking = "error",
) -> R:
    """The number of queries needed to detect a difference, from the spread of the runs' differences per query.

    Parameters
    ----------
    *metrics
        Texts and functions, as for :meth:`evaluate`.
    difference
        The difference of the means to detect, above 0; or several.
    power
        The required probability of detecting that difference.
    alpha
        The level of the two-sided paired t-test.
    runs, run, baseline, by, missing
        As for :meth:`compare`.

    Returns
    -------
    A frame with the slice's columns, ``metric``, ``baseline``, ``run``, ``std`` (of the differences per query) and
    ``difference`` (Float64), ``n_queries`` (UInt32, in the table), ``power`` (Float64, with that number of queries) and
    ``queries_needed`` (Int64; null if all differences are equal). A LazyFrame is collected first.
    Needs SciPy.

    Raises
    ------
    InvalidOption
        If a difference is not above 0, or a metric is summed up by its geometric mean.

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
    design = Design(Runs.of(runs, run), baseline, names_of(by), None, missing)
    effects = tuple(difference) if isinstance(difference, Iterable) else (difference,)
    calls = averaged(metrics, "power('ndcg@10', runs=['bm25', 'ltr'], difference=0.01)")
    refuse_names([*POWER], design.by, "by")
    for call in calls:
        if Mean.of(call).is_geometric:
            raise InvalidOption(f"{call.text} is summed up by its geometric mean; ask for the power of {call.text[3:]}")
    found = paired_values(table.rows, table.setup, calls, design)
    rows = []
    for i, call in enumerate(calls):
        for part in found.slices:
            where = [x.item() for x in found.of_slices(part[:1].tolist())]
            for a, b in design.pairs(found.runs):
                d = differences(found.values[a][part, i], found.values[b][part, i])[:, None]
                (std,) = stats.spreads(d, found.queries["#weight"].to_numpy()[part]).tolist()
                n = int((d == d).sum())
                for effect in effects:
                    there = stats.power(effect / std, n, alpha) if std > 0 else None
                    needed = stats.queries_needed(effect / std, power, alpha) if std > 0 else None
                    names = call.text, found.runs[a], found.runs[b]
                    rows.append((*where, *names, std if n > 1 else None, effect, n, there, needed))
    return table.give(table_of(rows, design.by, found.queries.schema, POWER))
