"""Tune methods of fusion by cross-validation, and measure the gain on other queries."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import combinations, product
from math import comb, prod
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

import polars as pl

from ... import fusions, stats  # noqa: F401 - fusions fills the registry
from ..._catalog.call import Call, call_of
from ..._catalog.fusions import fusion_of
from ..._catalog.means import scaled, unscaled
from ..._catalog.requests import Request, averaged
from ..._plan.per_query import measure
from ..._results.columns import grid, schema
from ..._results.compared_runs import pairs_shown
from ..._results.grid import (
    Cell,
    Grid,
    Record,
    interval,
    intervals_of,
    number,
    percent,
    queries_of,
    records,
)
from ..._results.result import MOST_ROWS, Block, Format, R_co, Result
from ..._results.sentences import IN_TEXT, Quotes, headlines
from ..._support.floats import Floats, Integers, np
from ..._support.option_kinds import ReadInside
from ..._support.option_values import Range
from ..._support.progress import Progress
from ..._support.statistical_options import Correction, DifferenceTest, Interval
from ..._table.roles import require_all, require_number
from ..._table.runs import Runs
from ..._table.setup import Setup, refuse_bounds
from ..._table.shared_options import Intervals, OfRuns, runs_of
from ..._table.table import R, Table, refuse_names
from ...errors import InvalidOption, option
from ..call.declaration import verb
from ..decide.compare import Significance, compared_values
from ..decide.estimation import Estimation
from ..measure.paired_values import PairedValues, two_or_more
from ..sample.entries import Entries, entries_of, of_run
from ..sample.resampling import Resampling, limits
from .fitted import ranker_of
from .fuse import needs, scored

if TYPE_CHECKING:
    from typing import Unpack

Search: TypeAlias = Literal["grid", "coordinate"]
Score: TypeAlias = Callable[[Sequence[Call]], Sequence[float]]
"""The mean of each call over the training queries, the higher the better."""

WEIGHTS = "weights"
CHOICES: Mapping[str, Sequence[object]] = {
    "k": (60, 0, 5, 10, 20, 40, 80, 100),
    "gamma": (1, 0, -1, -0.5, 0.5, 1.5, 2),
    "sigma": (0.01, 0, 0.05, 0.1, 0.2, 0.5, 1),
    "phi": (0.8, 0.5, 0.6, 0.7, 0.85, 0.9, 0.95),
    WEIGHTS: (None,),
}
"""The values of an option that are tried if the caller gives none, the default first."""

GRID_RUNS = 3
"""The most runs whose weights are searched by a grid if the caller does not say."""
MOST = 20_000
"""The most settings of a grid."""
SWEEPS = 10
"""The most times that a coordinate search goes through all options."""
GAIN = 1e-12
"""The relative gain, more than rounding, by which a setting must beat another to replace it."""


@dataclass(frozen=True)
class Tuning:
    """The settings of a call of `tune`.

    Attributes
    ----------
    methods
        The texts of the methods; options that a text gives stay as they are.
    options
        The values to try, by option.
    step
        The step of the weights, which add up to 1.
    search
        How settings are searched; ``None``: a grid for up to three runs, else coordinate by
        coordinate.
    folds, seed
        The number of parts of the queries, and the seed of the partition.
    """

    methods: tuple[str, ...]
    options: Mapping[str, Sequence[object]]
    step: float
    search: Search | None
    folds: int
    seed: int

    def __post_init__(self) -> None:
        if abs(1 / self.step - self.n_steps) >= 1e-9:
            raise InvalidOption(option(step=self.step), " does not divide 1 into equal steps")

    @property
    def n_steps(self) -> int:
        """The number of steps from 0 to 1."""
        return round(1 / self.step)

    def searched(self, n_runs: int) -> Search:
        """The search for a number of runs: a grid, or one coordinate at a time."""
        return self.search or ("grid" if n_runs <= GRID_RUNS else "coordinate")


@dataclass(frozen=True)
class Space:
    """The settings of one method.

    Attributes
    ----------
    start
        The method with the options that its text gives.
    choices
        The values to try of each other option, the untuned one first; for weights, full lists.
    tuning, n_runs
        The call of `tune`, and the number of runs.
    """

    start: Call
    choices: Mapping[str, Sequence[object]]
    tuning: Tuning
    n_runs: int

    @property
    def untuned(self) -> Call:
        """The first value of each option, and equal weights, to which tuning is compared."""
        return self._call(self._first_values)

    @property
    def _first_values(self) -> dict[str, object]:
        return {name: values[0] for name, values in self.choices.items()}

    @cached_property
    def grid(self) -> list[Call]:
        """All settings, the untuned one first."""
        every = product(*self.choices.values())
        calls = [self._call(dict(zip(self.choices, values, strict=True))) for values in every]
        return list(dict.fromkeys(calls))

    def best(self, score: Score) -> Call:
        """The setting with the highest mean; of equal ones the first tried."""
        if self.tuning.searched(self.n_runs) == "grid":
            return _best(self.grid, score)
        chosen = self._first_values
        for _ in range(SWEEPS):
            before = chosen
            for name, run in self._coordinates():
                now = chosen[name]
                values = [now, *self._values(name, run, now)]
                options = [{**chosen, name: value} for value in values]
                options_of = {self._call(x): x for x in options}
                chosen = options_of[_best([*options_of], score)]
            if chosen == before:
                break
        return self._call(chosen)

    @property
    def steps_weights(self) -> bool:
        """Whether the weights of the runs are searched by steps."""
        return WEIGHTS in self.choices and WEIGHTS not in self.tuning.options

    @property
    def size(self) -> int:
        """The number of settings in a grid."""
        sizes = {name: len(values) for name, values in self.choices.items()}
        if self.steps_weights:
            further = self.n_runs - 1
            sizes[WEIGHTS] = 1 + comb(self.tuning.n_steps + further, further)
        return prod(sizes.values())

    def with_weights(self, weights: Sequence[object]) -> Space:
        """The settings with these lists of weights."""
        return replace(self, choices={**self.choices, WEIGHTS: weights})

    def _coordinates(self) -> list[tuple[str, int | None]]:
        """The options, and weights run by run."""
        if not self.steps_weights:
            return [(name, None) for name in self.choices]
        weights = [(WEIGHTS, run) for run in range(self.n_runs)]
        return [*weights, *((name, None) for name in self.choices if name != WEIGHTS)]

    def _values(self, name: str, run: int | None, now: object) -> Sequence[object]:
        """The values of an option to try.

        For a run's weight these are lists in which the other weights keep their ratios.
        """
        if run is None:
            return self.choices[name]
        weights = now if isinstance(now, Sequence) else (1.0,) * self.n_runs
        n_steps = self.tuning.n_steps
        return [_with(weights, run, i / n_steps) for i in range(n_steps + 1)]

    def _call(self, options: Mapping[str, object]) -> Call:
        given = {name: x for name, x in options.items() if x is not None}
        arguments = {**self.start.arguments, **given}
        return call_of(self.start.metric, (), arguments)


def _best(calls: Sequence[Call], score: Score) -> Call:
    best = calls[0]
    highest = None
    for call, mean in zip(calls, score(calls), strict=True):
        if highest is None or mean > highest + GAIN * abs(highest):
            best = call
            highest = mean
    return best


def _with(weights: Sequence[float], run: int, weight: float) -> tuple[float, ...]:
    """The weights with a new one for a run; the others keep their ratios, and all add up to 1."""
    rest = sum(weights) - weights[run]
    shares = [x / rest if rest > 0 else 1 / (len(weights) - 1) for x in weights]
    changed = [(1 - weight) * share for share in shares]
    changed[run] = weight
    return tuple(round(x, 6) for x in changed)


def spaces_of(tuning: Tuning, n_runs: int) -> list[Space]:
    """The settings of each method.

    Nothing to choose is refused, and too much for a grid.
    """
    spaces = []
    for text in tuning.methods:
        call = fusion_of(text)
        choices = _choices(call, tuning.options)
        spaces.append(Space(call, choices, tuning, n_runs))
    methods = ", ".join(tuning.methods)
    for name in tuning.options:
        if not any(name in space.choices for space in spaces):
            raise InvalidOption(
                f"none of {methods} takes, or leaves open, the option {name!r} of options"
            )
    sizes = [space.size for space in spaces]
    if sum(sizes) < 2 or 0 in sizes:
        says = (
            f"{methods or 'no method'} leaves nothing to choose; give options={{...}} with the "
            "values to try, several methods, as ['comb_sum', 'comb_mnz'], or several "
            "normalisations, as "
        )
        raise InvalidOption(says, option(normalize=["min_max", "zmuv"]))
    if tuning.searched(n_runs) == "coordinate":
        return spaces
    if sum(sizes) > MOST:
        says = f"the grid has {sum(sizes):,} settings, and at most {MOST:,} are tried; write "
        other = f", or a greater step than {tuning.step:g}"
        raise InvalidOption(says, option(search="coordinate"), other)
    if not any(space.steps_weights for space in spaces):
        return spaces
    simplex = [None, *_simplex(tuning.n_steps, n_runs)]
    return [space.with_weights(simplex) if space.steps_weights else space for space in spaces]


def _choices(call: Call, options: Mapping[str, Sequence[object]]) -> dict[str, Sequence[object]]:
    """The values of each option that the text leaves open."""
    choices: dict[str, Sequence[object]] = {}
    fixed = {name for name, _ in call.options} | call.given
    for name in call.metric.parameters:
        if name in fixed:
            continue
        if name in options:
            choices[name] = [tuple(x) if isinstance(x, list) else x for x in options[name]]
        elif name in CHOICES:
            choices[name] = CHOICES[name]
    return choices


def _simplex(steps: int, n: int) -> list[tuple[float, ...]]:
    """All weights of n runs in steps that add up to 1, the most equal first."""
    # Stars and bars: the numbers of steps between n - 1 bars among all places.
    places = steps + n - 1
    lists = []
    for bars in combinations(range(places), n - 1):
        ends = zip((-1, *bars), (*bars, places), strict=True)
        lists.append([end - start - 1 for start, end in ends])
    lists.sort(key=lambda numbers: sum(number * number for number in numbers))
    return [tuple(number / steps for number in numbers) for numbers in lists]


TUNED = "tuned, out of fold"
IN_SAMPLE = "tuned, in sample"
UNTUNED = "untuned"
FUSED = (TUNED, IN_SAMPLE, UNTUNED)
"""The names of the rankings other than the single runs."""

TABLE = schema("ranking method mean ci_low ci_high interval n_queries")

COLUMNS = ("fold", "method", "ranking", *FUSED)
"""The columns of the results, which no query column may have."""

AT_ONCE = 4_000_000
"""About how many fused scores are held at a time."""


@dataclass(frozen=True, repr=False)
class TunedFusion(Result[R_co]):
    """A method of fusion with the options that are best on the judged queries, and its values on
    other queries.

    Attributes
    ----------
    text
        The method with the options chosen on all queries; its weights are in the order of `runs`.
    runs
        The names of the runs.
    table
        A row per ranking: ``ranking`` (the tuned method out of fold and in sample, the untuned one,
        and each run), ``method`` (its text, null for a run and out of fold), ``mean``, ``ci_low``,
        ``ci_high`` and ``interval``, and ``n_queries``. Out of fold, each query is fused by options
        that were chosen on the other folds.
    comparison
        The tuned method out of fold compared with the untuned one and each run: the columns of
        `Comparison.table`.
    folds
        A row per fold: ``fold``, ``n_queries``, ``method`` (chosen on the others), its mean on
        these others (``train``), and on the fold (``test``).
    per_query
        A row per query: the query, ``fold``, ``method``, and a value for each ranking.
    candidates
        A row per setting that was tried: ``method`` and ``mean`` over all queries, in the order of
        trial.
    settings
        How it was computed.
    """

    text: str
    runs: tuple[str, ...]
    table: R_co
    comparison: R_co
    folds: R_co
    per_query: R_co
    candidates: R_co
    settings: Mapping[str, Any] = field(default_factory=dict)

    def fuse(self, frame: Any, *, runs: Sequence[str] | None = None, run: str | None = None) -> Any:
        """Fuse another table with the same runs by the chosen method; weights are matched by the
        names of the runs.

        Parameters
        ----------
        frame
            A table of Polars or pandas.
        runs, run
            As for `df.rank.fuse`; default: as in tuning.
        """
        if not runs and run is None:
            run = self.settings.get("run")
            runs = self.runs if run is None else None
        ranker = ranker_of(frame)
        method = self.settings["unweighted"]
        return ranker.fuse(method, runs=runs, run=run, weights=self.settings.get("weights"))

    def sentences(self, quotes: Quotes = IN_TEXT) -> list[str]:
        """The chosen method, and its means out of fold and in sample."""
        settings = self.settings
        out_of_fold, in_sample = records(self.table)[:2]
        mean = number(out_of_fold["mean"], 3)
        ends = interval(out_of_fold["ci_low"], out_of_fold["ci_high"], 3)
        mean_in_sample = number(in_sample["mean"], 3)
        n = len(records(self.candidates))
        return [
            f"{self.text}, chosen among {n:,} settings on {queries_of([out_of_fold])}",
            f"{settings['metric']} out of fold {mean}{ends} ({settings['folds']} folds), "
            f"in sample {mean_in_sample}",
        ]

    def grids(self, most: int | None = MOST_ROWS) -> list[Grid]:
        """A row per ranking with its mean."""
        rankings = records(self.table)
        kinds = intervals_of(row["interval"] for row in rankings)
        chosen = [f"Fold {row['fold']}: {row['method']}" for row in records(self.folds)]
        notes = (f"Interval: {kinds}.", *chosen)
        heads = {"mean": f"mean [{percent(self.settings)} interval]"}
        cells = {"method": _of_method, "mean": _mean}
        named = ("ranking", "method")
        return [grid(self, rankings, named, "mean", notes, None, heads=heads, cells=cells)]

    def shown(self, how: Format, most: int | None = MOST_ROWS) -> list[Block]:
        """The comparison with the other rankings comes below."""
        rows = records(self.comparison)
        legend, pairs = pairs_shown(rows, self.settings, how, most)
        lines = [[*headlines(rows, self.settings), *legend]] if how == "text" else []
        return [*super().shown(how, most), *lines, pairs]


class Values:
    """The metric of each query under each setting, computed once."""

    def __init__(
        self,
        read: Callable[..., Entries],
        setup: Setup,
        metric: Call,
        progress: Callable[[int, int], None],
    ) -> None:
        self.read = read
        self.setup = setup
        self.metric = metric
        self.progress = progress
        self.sign = 1 if metric.higher_is_better else -1
        self.known: dict[Call, Floats] = {}
        self._entries: dict[tuple[int | None, bool], Entries] = {}

    def entries(self, depth: int | None, absent: bool) -> Entries:
        """The entries of all runs, as the methods that need the same share them."""
        key = (depth, absent)
        if key not in self._entries:
            self._entries[key] = self.read(depth=depth, absent=absent)
        return self._entries[key]

    def of(self, calls: Sequence[Call]) -> Floats:
        """Queries by settings, NaN where the metric has no value."""
        groups: dict[tuple[int | None, bool], list[Call]] = {}
        for call in dict.fromkeys(calls):
            if call not in self.known:
                need = needs(call, self.setup)
                groups.setdefault(need, []).append(call)
        total = len(self.known) + sum(len(group) for group in groups.values())
        for need, group in groups.items():
            entries = self.entries(*need)
            n_documents = max(1, entries.documents.height)
            at_once = max(1, AT_ONCE // n_documents)
            for start in range(0, len(group), at_once):
                batch = group[start : start + at_once]
                self._measure_all(entries, batch, total)
        return np.column_stack([self.known[call] for call in calls])

    def _measure_all(self, entries: Entries, calls: Sequence[Call], total: int) -> None:
        """Make settings known, which are some of `total`."""
        expected = self.setup.policies.tie_rule.averages
        table = scored(entries, calls, expected=expected)
        for i, call in enumerate(calls):
            of_call = self.setup.changed(score=f"#{i}", ascending=False)
            self.known[call] = self.measured(table, of_call)
            self.progress(len(self.known), total)

    def measured(self, table: pl.DataFrame, setup: Setup) -> Floats:
        """The value of each query, on the scale of its mean.

        Queries come by first appearance in the table.
        """
        per_query = measure(table, setup, self.metric).lazy().collect()
        values = per_query[self.metric.text].fill_null(np.nan)
        return scaled(values.to_numpy()[:, None], [self.metric])[:, 0]

    def mean_of_parts(self, parts: Sequence[tuple[Call, Integers]]) -> float:
        """The mean over queries in parts, each under its own setting, the higher the better."""
        values = np.concatenate([self.of([call])[queries] for call, queries in parts])
        return self.sign * float(np.nan_to_num(_means(values))[0])

    def mean(self, queries: Integers) -> Score:
        """The means of settings over some of the queries, the higher the better."""

        def score(calls: Sequence[Call]) -> Sequence[float]:
            means: Floats = np.nan_to_num(_means(self.of(calls)[queries]))
            return [self.sign * mean for mean in means.tolist()]

        return score


def _means(values: Floats) -> Floats:
    """The mean of each column; NaN without a value."""
    weights = np.ones(len(values))
    return stats.means(values, weights)


def _of_method(row: Record, name: str) -> Cell:
    """A method of fusion; empty for a single run."""
    return Cell(row[name] or "")


def _mean(row: Record, name: str) -> Cell:
    """A mean and its interval, with three decimals."""
    return Cell(f"{number(row[name], 3)}{interval(row['ci_low'], row['ci_high'], 3)}")


class Tuned(OfRuns, Intervals, total=False):
    """Runs to fuse, and intervals."""


@verb(gives="whole", watched=True, usual={"resamples": 10_000})
def tune(
    table: Table[R],
    method: Annotated[str | Sequence[str], ReadInside],
    *,
    metric: Request = "ndcg@10",
    qrels: object = None,
    normalize: str | Sequence[str] | None = None,
    options: Mapping[str, Sequence[object]] | None = None,
    step: Annotated[float, Range(above=0, most=1)] = 0.1,
    search: Search | None = None,
    folds: Annotated[int, Range(least=2)] = 5,
    test: DifferenceTest = "auto",
    correction: Correction | None = "holm",
    interval: Interval = "auto",
    **shared: Unpack[Tuned],
) -> TunedFusion[R]:
    """Choose the weights and options of a method of fusion, and estimate their gain on other
    queries.

    The queries are cut into folds. The queries of each fold are fused with the setting that has the
    best mean on the other folds; the values of these fused rankings are the values *out of fold*.
    The setting to use is the one that is best on all queries, but its mean on these queries is too
    high, the more so the more settings were tried.

    No label of a query influences how it is fused out of fold, unless the metric uses the largest
    label of the table, as err does without `max_label`. All rankings of a query are evaluated with
    the same relevant documents, those of all runs.

    Parameters
    ----------
    method
        The text of a method. Options that the text sets are not changed; other weights, and other
        options such as `k` of rrf, `gamma`, `sigma` and `phi`, are tuned. From a list of methods,
        one is chosen, too: for each fold, by cross-validation among the other folds.
    metric
        A text or function, as for :meth:`evaluate`; the mean over the queries counts.
    runs, run
        As for :meth:`fuse`.
    qrels
        The judgments of runs without labels, a frame as for :meth:`judge`, which is joined with
        each run first; ``None`` if the runs have labels.
    normalize
        The normalisation as for :meth:`fuse`, or several of them to choose from.
    options
        The values to try, by option, in place of the usual ones: ``{"k": [10, 60], "weights":
        [[0.5, 0.5], [0.7, 0.3]]}``. The first one is that of the untuned method. A single value
        fixes the option.
    step
        The step of the weights, which add up to 1: 0.1 gives 66 settings for three runs.
    search
        ``"grid"`` tries all settings; ``"coordinate"`` changes one weight or option at a time to
        its best value, and repeats this until nothing improves. ``None``: a grid for up to three
        runs.
    folds
        How many parts the queries have, from 2 to the number of queries.
    seed
        The seed of the folds and of the resamples. The folds do not depend on the order of the
        rows, or on labels.
    test, correction, ci, interval, resamples, progress
        As for :meth:`compare`, with the tuned method against the untuned one and each run.

    Returns
    -------
    A :class:`rankframe.results.TunedFusion`, whose tables are frames of the caller's kind. A
    LazyFrame is collected first.

    Raises
    ------
    InvalidOption
        If there is nothing to choose, there are more folds than queries, or an option is out of its
        range.
    UnknownMetric, MissingColumn, InvalidData
        As for :meth:`fuse` and :meth:`evaluate`; and, with `qrels`, as for :meth:`judge`.

    Examples
    --------
    Each run is right on one query only, so that weights chosen on one query fail on the other:

    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame({"query_id": [1, 1, 2, 2], "doc_id": ["x", "y", "x", "y"],
    ...     "label": [1, 0, 1, 0], "a": [2, 1, 1, 2], "b": [1, 2, 2, 1]})
    >>> tuned = df.rank.tune("wsum", metric="rr", runs=["a", "b"], folds=2, step=1)
    >>> tuned.text
    'wsum(weights=[0,1])'
    >>> tuned.table["ranking"].to_list()[:3], tuned.table["mean"].to_list()[:3]
    (['tuned, out of fold', 'tuned, in sample', 'untuned'], [0.5, 0.75, 0.5])
    >>> tuned.fuse(df)["score"].to_list()
    [1.0, 2.0, 2.0, 1.0]
    """
    texts: Any = (method,)
    if isinstance(method, Iterable) and not isinstance(method, str):
        texts = tuple(method)
    choices = dict(options or {})
    if normalize is not None:
        choices["normalize"] = [normalize] if isinstance(normalize, str) else list(normalize)
    significance = Significance(test, correction)
    resampling = Resampling.of(shared, interval)
    tuning = Tuning(texts, choices, step, search, folds, resampling.seed)
    setup = table.setup
    chosen_runs = runs_of(shared).required()
    example = "tune('wsum', metric='ndcg@10', runs=['bm25', 'dense'])"
    (measured,) = averaged([metric], example, of_rankings=True)
    refuse_bounds(setup)
    of_queries = chosen_runs.queries(setup)
    query = list(of_queries.roles.query)
    names = _names_of_runs(table, chosen_runs, query)
    spaces = spaces_of(tuning, len(names))
    queries = table.rows.select(query).unique(maintain_order=True)
    if folds > queries.height:
        there = f" are more than the {queries.height} queries of the table"
        raise InvalidOption(option(folds=folds), there)
    read = partial(entries_of, table.rows, setup, chosen_runs, names)
    with Progress("tuning", resampling.progress) as progress:
        values = Values(read, of_queries, measured, progress)
        folded = Folded.of(spaces, values, queries, tuning)
        rankings = folded.rankings(values)
        full = values.entries(setup.policies.depth, False)
        for i, name in enumerate(names):
            scores = of_run(full, i, of_queries)
            rankings[name] = values.measured(*scores)
    paired = _paired(queries, rankings, measured)
    of_pairs = Estimation.by(interval if test == "auto" else test, resampling)
    final = folded.final
    texts_of = {IN_SAMPLE: final.text, UNTUNED: folded.untuned.text}
    tables = {
        "table": _table(paired, measured, texts_of, resampling),
        "comparison": significance.adjusted(_compared(paired, of_pairs)),
        "folds": folded.table(measured),
        "per_query": queries.with_columns(*folded.columns(), *_columns(paired)),
        "candidates": _candidates(values, measured),
    }
    unweighted = tuple(pair for pair in final.options if pair[0] != WEIGHTS)
    weights = final.arguments.get("weights")
    settings = {
        "methods": texts,
        "metric": measured.text,
        "options": choices,
        "search": tuning.searched(len(names)),
        "family": significance.family,
        "by": (),
        "runs": [name for name in paired.runs if name != IN_SAMPLE],
        "unweighted": replace(final, options=unweighted).text,
        "weights": None if weights is None else dict(zip(names, weights, strict=True)),
    }
    given = {name: table.give(frame) for name, frame in tables.items()}
    return TunedFusion(final.text, tuple(names), **given, settings=settings)


def _paired(queries: pl.DataFrame, rankings: Mapping[str, Floats], metric: Call) -> PairedValues:
    """The values of rankings, given on the scale of the metric's mean, on its own scale."""
    values = [unscaled(x[:, None], [metric]) for x in rankings.values()]
    weighted = queries.with_columns(pl.lit(1.0).alias("#weight"))
    return PairedValues(queries.columns, [*rankings], [metric], weighted, np.stack(values))


def _compared(paired: PairedValues, estimation: Estimation) -> pl.DataFrame:
    """The tuned method out of fold compared with the untuned one and each run."""
    (of_all,) = paired.slices
    others = [i for i, name in enumerate(paired.runs) if name not in (TUNED, IN_SAMPLE)]
    pairs = [(i, 0) for i in others]
    with Progress("comparing runs", estimation.resampling.progress) as progress:
        return compared_values(paired, of_all, pairs, estimation, progress)


def _names_of_runs(table: Table[Any], runs: Runs, query: Sequence[str]) -> list[str]:
    """The names of the runs of a table that has all columns, none of them with another's name."""
    label = table.setup.roles.label
    schema_of_rows = table.rows.schema
    required = [(name, "query") for name in query]
    require_all(schema_of_rows, [*required, (label, "label")])
    require_number(schema_of_rows, label, "label")
    names = two_or_more(runs.names(table.rows))
    refuse_names([*COLUMNS, *names], query, "the query")
    refuse_names([*COLUMNS], names, "the list of runs")
    return [*names]


@dataclass(frozen=True)
class Folded:
    """The settings chosen on all queries and without each fold.

    Attributes
    ----------
    fold
        The number of each query's fold, from 0 on.
    chosen
        The setting chosen on the other folds, for each fold.
    of_folds
        The values of queries under these, queries by folds.
    final
        The setting chosen on all queries.
    untuned
        The setting to which tuning is compared.
    """

    fold: Integers
    chosen: Sequence[Call]
    of_folds: Floats
    final: Call
    untuned: Call

    @classmethod
    def of(
        cls, spaces: Sequence[Space], values: Values, queries: pl.DataFrame, tuning: Tuning
    ) -> Folded:
        """The settings that are best on the queries."""
        order = _shuffled(queries, tuning.seed)
        fold = np.empty(len(order), dtype=np.int64)
        places = np.arange(len(order))
        fold[order] = places % tuning.folds
        chosen = []
        for i in range(tuning.folds):
            others = order[fold[order] != i]
            chosen.append(_chosen(spaces, values, others, tuning.folds))
        final = _chosen(spaces, values, order, tuning.folds)
        return cls(fold, chosen, values.of(chosen), final, spaces[0].untuned)

    def rankings(self, values: Values) -> dict[str, Floats]:
        """The values of queries out of fold, in sample and untuned."""
        in_sample, untuned = values.of([self.final, self.untuned]).T
        queries = np.arange(len(self.fold))
        out_of_fold = self.of_folds[queries, self.fold]
        return {TUNED: out_of_fold, IN_SAMPLE: in_sample, UNTUNED: untuned}

    def columns(self) -> list[pl.Series]:
        """The fold of each query, and the method by which it is fused out of fold."""
        methods = [self.chosen[i].text for i in self.fold]
        return [pl.Series("fold", self.fold + 1), pl.Series("method", methods, pl.String)]

    def table(self, metric: Call) -> pl.DataFrame:
        """The method chosen for each fold, and its means on the other folds and on this one."""
        rows = []
        for i, call in enumerate(self.chosen):
            is_in = self.fold == i
            values = self.of_folds[:, [i]]
            means = [_mean_of(values[part], metric) for part in (~is_in, is_in)]
            rows.append((i + 1, int(is_in.sum()), call.text, *means))
        dtypes = {
            "fold": pl.Int64,
            "n_queries": pl.UInt32,
            "method": pl.String,
            "train": pl.Float64,
            "test": pl.Float64,
        }
        folds = pl.DataFrame(rows, dtypes, orient="row")
        return folds.with_columns(pl.col("train", "test").fill_nan(None))


def _mean_of(values: Floats, metric: Call) -> float:
    """The mean of a column on the metric's own scale."""
    mean: float = unscaled(_means(values), [metric]).item()
    return mean


def _columns(paired: PairedValues) -> list[pl.Series]:
    """The values of each ranking."""
    by_name = zip(paired.runs, paired.values, strict=True)
    return [pl.Series(name, values[:, 0]).fill_nan(None) for name, values in by_name]


def _shuffled(queries: pl.DataFrame, seed: int) -> Integers:
    """The numbers of the queries in a random order, the same for any order of the rows."""
    in_order = queries.with_row_index("#row").sort(queries.columns)["#row"]
    numbers = in_order.to_numpy().astype(np.int64)
    keys = np.random.PCG64(seed).random_raw(len(numbers))
    return numbers[np.argsort(keys, kind="stable")]


def _chosen(spaces: Sequence[Space], values: Values, queries: Integers, folds: int) -> Call:
    """The best setting on some queries.

    Of several methods, it is that of the method with the best mean out of fold.
    """
    score = values.mean(queries)
    inner_folds = min(folds, len(queries))
    if len(spaces) == 1 or inner_folds < 2:
        calls = [space.best(score) for space in spaces]
        best_call = int(np.argmax(score(calls)))
        return calls[best_call]
    fold = np.arange(len(queries)) % inner_folds
    means = []
    for space in spaces:
        parts = []
        for i in range(inner_folds):
            others = queries[fold != i]
            best = space.best(values.mean(others))
            parts.append((best, queries[fold == i]))
        means.append(values.mean_of_parts(parts))
    best_space = int(np.argmax(means))
    return spaces[best_space].best(score)


def _table(
    paired: PairedValues, metric: Call, texts: Mapping[str, str], resampling: Resampling
) -> pl.DataFrame:
    """The mean of each ranking, with its interval."""
    (of_all,) = paired.slices
    calls = [metric] * len(paired.runs)
    values = scaled(paired.values[:, of_all, 0].T, calls)
    weights = np.ones(len(of_all))
    within = limits(paired.values, [metric]).repeated(len(calls))
    with Progress("resampling queries", resampling.progress) as progress:
        low, high, kinds = resampling.intervals(values, weights, within, progress)
    means = stats.means(values, weights)
    figures = [unscaled(x, calls).tolist() for x in (means, low, high)]
    n_queries = (~np.isnan(values)).sum(axis=0).tolist()
    methods = map(texts.get, paired.runs)
    rows = zip(paired.runs, methods, *figures, kinds, n_queries, strict=True)
    return pl.DataFrame([*rows], TABLE, orient="row").fill_nan(None)


def _candidates(values: Values, metric: Call) -> pl.DataFrame:
    """All settings that were tried, with their means over all queries."""
    by_call = np.column_stack([*values.known.values()])
    metrics = [metric] * len(values.known)
    means = unscaled(_means(by_call), metrics)
    columns = {"method": [call.text for call in values.known], "mean": means}
    return pl.DataFrame(columns).fill_nan(None)
