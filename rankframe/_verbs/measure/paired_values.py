"""The values of several runs on the same queries: the input of comparisons, gates and power."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any, TypeAlias

import polars as pl

from ..._catalog.call import CLICKS, Call
from ..._catalog.means import lifted
from ..._catalog.requests import calls_of
from ..._plan.per_query import collect, largest_label, measure, needs_largest_label
from ..._results.markup import visible
from ..._statistics.sample import Limits, Sample
from ..._support.floats import Booleans, Floats, Integers, np
from ..._support.joins import left_joined, rows_with_keys
from ..._table.runs import RUN, Runs, names_of
from ..._table.setup import Roles, Setup, refuse_bounds
from ..._table.shared_options import Lacking, OfDecision, runs_of
from ..._table.table import Table, Whole, in_memory, refuse_names
from ...errors import Advice, InvalidData, InvalidOption, Text, option
from ...stats import NOISE
from ..call.declaration import call_of_verb
from ..sample.entries import entries_of, of_run
from ..sample.judged import NO_HELP, Control, Help
from ..sample.resampling import CLUSTER, numbers_in
from ..sample.slices import by_query, in_slices, keys, names_by_key
from ..sample.unequal_runs import HELD, RunSizes, size_calls, with_facts
from .evaluate import agreement, explain, refuse_values_of_scores
from .summary import weigher

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
    help
        What is known of queries that people did not judge.
    cluster
        The column of clusters of queries that are not independent.
    """

    runs: Runs
    baseline: str | None
    by: tuple[str, ...]
    weights: str | None
    missing: Lacking
    help: Help = NO_HELP
    cluster: str | None = None

    def __post_init__(self) -> None:
        self.runs.required()

    @classmethod
    def of(cls, options: OfDecision, baseline: str | None, known: Help) -> Design:
        """The design that a call names, with what is known of queries without labels of people."""
        return cls(
            runs=runs_of(options),
            baseline=baseline,
            by=names_of(options.get("by")),
            weights=options.get("weights"),
            missing=options.get("missing", "error"),
            help=known,
            cluster=options.get("cluster"),
        )

    @property
    def names(self) -> set[str]:
        """The columns that the design reads."""
        of_query = {name for name in (self.weights, self.cluster) if name is not None}
        return {*self.runs.columns, *self.by, *of_query}

    @property
    def settings(self) -> dict[str, object]:
        """The design under the names of the options that set it."""
        names = ("baseline", "by", "weights", "cluster", "missing")
        options = {name: getattr(self, name) for name in names}
        of_runs: dict[str, object] = {"runs": self.runs.scores, "run": self.runs.column}
        return of_runs | options | self.help.settings

    def weighing(self, frame: pl.DataFrame) -> list[Call]:
        """The metric that is the weight of a query, where no column of the frame has the name."""
        calls = weigher(self.weights, frame.schema)
        if self.help != NO_HELP and any(call.labels for call in calls):
            says = " reads labels, which not every query has; name a column or "
            raise InvalidOption(option(weights=self.weights), says, option(weights="num_ret"))
        return calls

    def marked(
        self, frame: pl.DataFrame, setup: Setup, calls: Sequence[Call]
    ) -> tuple[pl.DataFrame, list[str]]:
        """The frame with columns of what is known of queries without labels; and their names."""
        scores = (*self.runs.scores, setup.roles.score)
        of_first_run = self.runs.queries(setup).changed(score=scores[0])
        return self.help.marked(frame, of_first_run, calls)

    def pairs(self, runs: Sequence[str]) -> Pairs:
        """The pairs of baseline and run, by their numbers."""
        if self.baseline is None:
            return list(combinations(range(len(runs)), 2))
        if self.baseline not in runs:
            self._refuse_baseline(runs)
        first = runs.index(self.baseline)
        return [(first, other) for other in range(len(runs)) if other != first]

    def _refuse_baseline(self, runs: Sequence[str]) -> None:
        """Refuse a baseline that is none of the runs."""
        names = ", ".join(map(visible, runs))
        message: list[Text] = [
            option(baseline=self.baseline),
            f" is none of the runs, which are {names}",
        ]
        if self.runs.scores:
            listed = option(runs=[self.baseline, *self.runs.scores])
            message += ["; if it is another column of scores, list it with them: ", listed]
        raise InvalidOption(*message)


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
        One row per query: the query, its slices, its weight and, if there are clusters, its
        cluster.
    values
        Runs by queries by metrics; NaN where a metric has no value.
    of_pairs
        By pairs of runs, by queries and metrics: the values of measures of two rankings, and NaN
        for other metrics.
    by
        The columns of the slices.
    control
        What is known of all queries, if people judged some of them; the values of the others are
        then those by a model's labels, or NaN.
    sizes
        How much of each run is judged, and how many documents it holds; ``None`` if nobody asked,
        or without rankings.
    """

    query: list[str]
    runs: list[str]
    calls: Sequence[Call]
    queries: pl.DataFrame
    values: Floats
    by: tuple[str, ...] = ()
    control: Control | None = None
    of_pairs: Mapping[tuple[int, int], Floats] = field(default_factory=dict)
    sizes: RunSizes | None = None

    @property
    def settings(self) -> dict[str, object]:
        """What a result records of the runs."""
        if self.sizes is None:
            return {}
        return self.sizes.settings

    def sides(self, pairs: Pairs, rows: Integers) -> tuple[Floats, Floats]:
        """The values of the two runs of each pair: some queries by metrics and pairs; see `sides`.

        The sides of a measure of two rankings are 0 and its value.
        """
        first, second = sides(self.values[:, rows], pairs)
        if not any(call.of_pairs for call in self.calls):
            return first, second
        by_pair = [self.of_pairs[pair][rows] for pair in pairs]
        of_pairs = np.stack(by_pair, axis=2).reshape(first.shape)
        of_one_run = np.isnan(of_pairs)
        return np.where(of_one_run, first, 0.0), np.where(of_one_run, second, of_pairs)

    def sample(self, rows: Integers, values: Floats, limits: Limits | None = None) -> Sample:
        """The sample of values of some queries; its units are the queries, or their clusters."""
        if limits is None:
            unknown = np.full(values.shape[1], np.nan)
            declared = np.zeros(len(unknown), dtype=bool)
            limits = Limits(unknown, unknown, declared)
        weights = self.queries["#weight"].to_numpy()[rows]
        sample = Sample(values, weights, limits)
        if CLUSTER not in self.queries:
            return sample
        clusters = self.queries[CLUSTER][rows.tolist()].rank("dense").to_numpy()
        return sample.of_clusters(clusters.astype(np.int64) - 1)

    @property
    def slices(self) -> list[Integers]:
        """The row numbers of each slice's queries, sorted; slices in order of appearance."""
        numbered = self.queries.with_row_index("#row")
        parts = in_slices(numbered, keys(self.by)).values()
        return [part.sort(self.query)["#row"].to_numpy() for part in parts]

    def of_slices(self, rows: Sequence[int]) -> list[pl.Series]:
        """The slices' columns, under their own names, of some queries."""
        named = names_by_key(self.by).items()
        return [self.queries[key][rows].alias(name) for key, name in named]

    def rows(self, names: Mapping[str, str], values: Floats) -> pl.DataFrame:
        """One row per query: its key and slices, each column once, some names, and the metrics."""
        named = names_by_key(self.by).items()
        slices = [pl.col(key).alias(name) for key, name in named if name not in self.query]
        constants = [pl.lit(x).alias(name) for name, x in names.items()]
        by_metric = zip(self.calls, values.T.copy(), strict=True)
        metrics = [pl.Series(call.text, x).fill_nan(None) for call, x in by_metric]
        return self.queries.select(*self.query, *slices, *constants, *metrics)

    def long(self) -> pl.DataFrame:
        """One row per run and query."""
        by_run = zip(self.runs, self.values, strict=True)
        return pl.concat(self.rows({"run": run}, values) for run, values in by_run)


def two_or_more(names: list[str]) -> list[str]:
    """The names of runs to compare; a single one is refused."""
    if len(names) < 2:
        given = ", ".join(map(repr, names)) or "and no row"
        raise InvalidOption(f"there is one run to compare, {given}; give two or more")
    return names


@dataclass(frozen=True)
class ValuesOfRuns:
    """The values of a part of a table: a row per run and query, with what is known of the query.

    Attributes
    ----------
    design
        The runs, and the columns of the queries.
    calls
        The metrics that are compared.
    measured
        The metrics of each run.
    label
        Another column of labels, under which the runs are measured.
    weighed_by_metric
        Whether the weight of a query is one of the metrics, and no column.
    """

    design: Design
    calls: Sequence[Call]
    measured: Sequence[Call]
    label: str | None = None
    weighed_by_metric: bool = False

    def __call__(self, part: Table[Any]) -> pl.DataFrame:
        design = self.design
        setup = part.setup
        design.runs.require(part.rows, setup)
        rows, facts = design.marked(part.rows, setup, self.calls)
        of_labels = setup
        runs = design.runs
        if self.label is not None:
            of_labels = setup.changed(label=self.label)
        of_runs = values(rows, of_labels, runs, self.measured, part.whole)
        if HELD.text in of_runs.columns:
            of_runs = with_facts(of_runs, rows, setup, runs)
        weights = None if self.weighed_by_metric else design.weights
        query = runs.queries(setup).roles.query
        queries = by_query(rows, query, (*design.by, *facts), weights, design.cluster)
        joined = left_joined(of_runs.lazy(), queries, query)
        return with_places(collect(joined, rows, setup), part, runs)


PLACE = "#place in table"
"""The column of the place of a run's query in an ordered table that comes in parts."""


def with_places(of_runs: pl.DataFrame, part: Table[Any], runs: Runs) -> pl.DataFrame:
    """The values of a part; of an ordered table also where each run has its query first."""
    if part.places is None:
        return of_runs
    query = runs.queries(part.setup).roles.query
    run = [pl.col(name).cast(pl.String).alias(RUN) for name in runs.key]
    rows = part.rows.select(*query, *run, part.places.alias(PLACE))
    key = [*query, RUN] if run else [*query]
    first_place = pl.col(PLACE).min()
    first_places = rows.group_by(key).agg(first_place)
    return left_joined(of_runs, first_places, key)


def in_order(of_runs: pl.DataFrame, table: Table[Any], runs: Runs) -> pl.DataFrame:
    """The values of all parts in the table's order; without one, by run, slice and query."""
    if PLACE in of_runs.columns:
        return of_runs.sort(PLACE, maintain_order=True).drop(PLACE)
    if table.ordered:
        return of_runs
    run = pl.col(RUN)
    if runs.scores:
        run = run.cast(pl.Enum(runs.scores))
    query = runs.queries(table.setup).roles.query
    return of_runs.sort(run, *_facts_in(of_runs), *query)


def _facts_in(of_runs: pl.DataFrame) -> list[str]:
    """The columns of slices, and of what is known of queries, in the values of runs."""
    return [name for name in of_runs.columns if name.startswith("#by")]


def paired_values(
    table: Table[Any], calls: Sequence[Call], design: Design, *, sized: bool = False
) -> PairedValues:
    """Every run's values on the same queries; `design.missing` treats queries that a run lacks.

    With `sized`, the sizes of the runs are counted in the same pass, with a warning if they are far
    apart.
    """
    setup = table.setup
    calls = [call.under(setup) for call in calls]
    query = [*design.runs.queries(setup).roles.query]
    refuse_slices(design, query, calls)
    # A count of documents stands in for the metrics of one ranking if all measure two: it has a
    # value for every query of a run.
    single = [call for call in calls if not call.of_pairs] or calls_of("num_retrieved")
    clicks = _clicks_of_ratios(calls)
    size = size_calls(setup, single) if sized else []
    weighing = design.weighing(table.rows)
    measured = [*single, *clicks, *size, *weighing]
    work = ValuesOfRuns(design, calls, measured, weighed_by_metric=bool(weighing))
    of_runs = in_order(table.by_parts(work), table, design.runs)
    runs = two_or_more(design.runs.named(of_runs))
    queries = _queries_of(of_runs, query, design)
    if weighing:
        queries = queries.with_columns(_weight_by(weighing[0], of_runs, runs, queries[query]))
    queries = queries.with_columns(lifted(pl.col("#weight"), pl.col("#weight").max()))
    if clicks:
        weight = pl.col("#weight")
        n_clicks = _same_clicks(clicks[0], of_runs, runs, queries[query])
        queries = queries.with_columns(weight * n_clicks)
    queries, array = _of_same_queries(queries, query, of_runs, runs, calls, design)
    sizes = RunSizes.of(of_runs, setup, design.runs, single) if size else None
    if sizes is not None:
        sizes.warn()
    paired = PairedValues(query, runs, calls, queries, array, design.by, sizes=sizes)
    facts = _facts_in(of_runs)[len(design.by) :]
    if not facts:
        of_pairs = _of_pairs(table, design, runs, calls, queries[query])
        return replace(paired, of_pairs=of_pairs)
    others = OtherValues(table, design, paired, weighed_by_metric=bool(weighing))
    control = design.help.control(*queries[facts], values=others)
    if control.of == "adjust":
        array[:, ~control.judged] = np.nan
    return replace(paired, control=control)


def _of_same_queries(
    queries: pl.DataFrame,
    query: Sequence[str],
    of_runs: pl.DataFrame,
    runs: Sequence[str],
    calls: Sequence[Call],
    design: Design,
) -> tuple[pl.DataFrame, Floats]:
    """The queries that count, and their values; missing ones are treated as the design says."""
    ids = queries.select(query)
    no_values = [pl.lit(np.nan).alias(call.text) for call in calls if call.of_pairs]
    array, there = _in_arrays(of_runs.with_columns(no_values), runs, calls, ids)
    if not there.all():
        refuse_missing(ids, runs, there, design, calls)
    if design.missing == "drop":
        in_all = np.flatnonzero(there.all(axis=0))
        return queries[in_all.tolist()], array[:, in_all]
    array[~there] = 0.0
    return queries, array


def refuse_slices(design: Design, query: Sequence[str], calls: Sequence[Call]) -> None:
    """Refuse slices of one query each, and names of columns that the result has already."""
    by = design.by
    if {*query} <= {*by}:
        says = " tells queries apart; name a column that several queries share"
        raise InvalidOption(option(by=by[0] if len(by) == 1 else list(by)), says)
    metrics = [call.text for call in calls]
    refuse_names([*RESERVED, *metrics], [*query, *by], "the query, or by,")


def refuse_missing(
    queries: pl.DataFrame,
    runs: Sequence[str],
    there: Booleans,
    design: Design,
    calls: Sequence[Call],
) -> None:
    """Refuse queries that a run lacks, unless the design says how to treat them."""
    refuse_groups(queries, runs, there, design)
    if design.missing == "error":
        raise InvalidData(_lacking(queries, runs, there))
    if design.missing == "zero":
        _refuse_zero(calls)


def _queries_of(of_runs: pl.DataFrame, query: Sequence[str], design: Design) -> pl.DataFrame:
    """One row per query, from the values of runs: its slices, its weight and its cluster."""
    cluster = [] if design.cluster is None else [CLUSTER]
    rows = of_runs.select(*query, *_facts_in(of_runs), "#weight", *cluster)
    return rows.unique(query, keep="first", maintain_order=True)


@dataclass(frozen=True)
class OtherValues:
    """The values of the same queries under other labels, or another metric of the baseline."""

    table: Table[Any]
    design: Design
    paired: PairedValues
    weighed_by_metric: bool

    def __call__(self, *others: Call, label: str | None = None) -> Floats:
        design = self.design
        paired = self.paired
        calls = others or paired.calls
        runs = [design.baseline or paired.runs[0]] if others else paired.runs
        work = ValuesOfRuns(design, paired.calls, calls, label, self.weighed_by_metric)
        of_runs = self.table.by_parts(work)
        queries = paired.queries[paired.query]
        array, there = _in_arrays(of_runs, runs, calls, queries)
        if design.missing != "error":
            array[~there] = 0.0
        return array


def _in_arrays(
    of_runs: pl.DataFrame, runs: Sequence[str], calls: Sequence[Call], queries: pl.DataFrame
) -> tuple[Floats, Booleans]:
    """The values, runs by queries by metrics, NaN for null; and which run has which query."""
    shape = len(runs), len(queries)
    array = np.empty((*shape, len(calls)))
    there = np.empty(shape, dtype=bool)
    for i, run in enumerate(runs):
        of_run = of_runs.filter(pl.col(RUN) == run)
        per_query = left_joined(queries, of_run, queries.columns)
        array[i] = numbers_in(per_query, calls)
        there[i] = per_query[RUN].is_not_null().to_numpy()
    return array, there


def _by_runs(
    call: Call, of_runs: pl.DataFrame, runs: Sequence[str], queries: pl.DataFrame
) -> pl.DataFrame:
    """The values of one metric: a row per query and a column per run."""
    array, _ = _in_arrays(of_runs, runs, [call], queries)
    return pl.DataFrame(array[..., 0].T, runs, orient="row").fill_nan(None)


def sides(values: Floats, pairs: Pairs) -> tuple[Floats, Floats]:
    """The values of the two runs of each pair: a row per query, a column per metric and pair."""
    of_pairs = values[np.transpose(pairs)]  # two sides, pairs, queries, metrics
    n_queries = values.shape[1]
    by_query = of_pairs.transpose(0, 2, 3, 1)
    first, second = by_query.reshape(2, n_queries, len(pairs) * values.shape[2])
    return first, second


def differences(a: Floats, b: Floats) -> Floats:
    """The differences b - a; 0 if they differ by rounding errors only."""
    d = b - a
    size = np.maximum(np.abs(a), np.abs(b))
    d[np.abs(d) <= NOISE * size] = 0.0
    return d


def _clicks_of_ratios(calls: Sequence[Call]) -> Sequence[Call]:
    """The sum of clicks, as the weight of queries of ratios; calls of both kinds are refused."""
    ratios = [call for call in calls if call.weighed == "ratio"]
    if ratios and len(ratios) < len(calls):
        says = (
            f"{ratios[0].text} weighs queries by their clicks, and the other metrics weigh them "
            "alike; compare it in a call of its own, or say "
        )
        raise InvalidOption(says, option(estimate="snips"))
    return CLICKS[1:2] if ratios else ()


def _same_clicks(
    call: Call, of_runs: pl.DataFrame, runs: Sequence[str], queries: pl.DataFrame
) -> pl.Series:
    """The sum of clicks of each query, which all runs share."""
    clicks = _by_runs(call, of_runs, runs, queries)
    most = clicks.max_horizontal()
    least = clicks.min_horizontal()
    if (most - least > 1e-9 * most).any():
        raise InvalidData(
            "runs have different clicks, or propensities, for a query; give each run all clicked "
            "documents, with a null score for one that it does not retrieve"
        )
    return most.fill_null(0.0)


@dataclass(frozen=True)
class ValuesOfPairs:
    """The values of measures of two rankings in a part: a row per query and pair of runs."""

    runs: Runs
    names: Sequence[str]
    pairs: Pairs
    calls: Sequence[Call]

    def __call__(self, part: Table[Any]) -> pl.DataFrame:
        setup = part.setup
        names = self.names
        depth = setup.policies.depth
        entries = entries_of(part.rows, setup, self.runs, names, depth=depth, absent=False)
        of_query = self.runs.queries(setup)
        tables = [of_run(entries, i, of_query) for i in range(len(names))]
        scores = [table["#score"].alias(f"#{i}") for i, (table, _) in enumerate(tables)]
        rows = entries.documents.with_columns(scores)
        by_pair: list[pl.DataFrame] = []
        for first, second in self.pairs:
            _, of_second = tables[second]
            roles = of_second.roles
            # Further roles have no column here.
            known = Roles(roles.query, roles.doc, f"#{second}", roles.label)
            of_pair = in_memory(rows, Setup(known, of_second.policies))
            measures = call_of_verb(agreement, f"#{first}", *self.calls)
            measured = measures.on(of_pair)
            numbers = [pl.lit(first).alias("#first"), pl.lit(second).alias("#second")]
            by_pair.append(measured.with_columns(numbers))
        return pl.concat(by_pair)


def _weight_by(
    call: Call, of_runs: pl.DataFrame, runs: Sequence[str], queries: pl.DataFrame
) -> pl.Series:
    """The weight of each query by a metric, the same for all runs; 0 where it has no value."""
    weights = _by_runs(call, of_runs, runs, queries)
    most = weights.max_horizontal()
    least = weights.min_horizontal()
    if (most > least).any():
        says = " is another number for each run of a query; name a column, or a metric such as "
        raise InvalidOption(option(weights=call.text), says, option(weights="num_rel"))
    return most.fill_null(0.0).alias("#weight")


def _of_pairs(
    table: Table[Any],
    design: Design,
    runs: Sequence[str],
    calls: Sequence[Call],
    queries: pl.DataFrame,
) -> dict[tuple[int, int], Floats]:
    """By pairs of runs: the values of measures of two rankings, and NaN for other metrics."""
    measures = [call for call in calls if call.of_pairs]
    if not measures:
        return {}
    pairs = design.pairs(runs)
    work = ValuesOfPairs(design.runs, runs, pairs, measures)
    of_pairs = table.by_parts(work)
    no_value = pl.lit(None, pl.Float64)
    others = [no_value.alias(call.text) for call in calls if not call.of_pairs]
    by_pair = {}
    for first, second in pairs:
        of_pair = of_pairs.filter(pl.col("#first") == first, pl.col("#second") == second)
        by_query = left_joined(queries, of_pair, queries.columns)
        by_pair[first, second] = numbers_in(by_query.with_columns(others), calls)
    return by_pair


RESERVED = ("metric", "baseline", "run")

FEW_IN_COMMON = 0.1
"""The share of a run's queries that another run has, below which they are groups of queries and no
runs on the same ones."""


def refuse_groups(
    queries: pl.DataFrame, runs: Sequence[str], there: Booleans, design: Design
) -> None:
    """Refuse runs with hardly a query in common, or none with a rule for missing queries."""
    least = FEW_IN_COMMON if design.missing == "error" else 0.0
    has = there.astype(np.int64)
    in_common = has @ has.T  # by pairs of runs
    sizes = in_common.diagonal()
    for first, second in design.pairs(runs):
        common = in_common[first, second]
        smaller = min(sizes[first], sizes[second])
        if smaller and (common == 0 or common < least * smaller):
            raise InvalidData(*_groups(queries, runs, there, (first, second), design.runs))


def _groups(
    queries: pl.DataFrame, runs: Sequence[str], there: Booleans, pair: tuple[int, int], by: Runs
) -> tuple[Text, ...]:
    """The message for two groups of queries, with the verb that compares them."""
    examples = []
    for run, other in (pair, pair[::-1]):
        only_here = pl.Series(there[run] & ~there[other])
        examples.append(f"run {runs[run]!r} has {first_of(queries.filter(only_here))}")
    common = int((there[pair[0]] & there[pair[1]]).sum())
    share = "no query" if common == 0 else f"{common} of {queries.height} queries"
    says = f"two runs have {share} in common ({'; '.join(examples)}); write their ids alike, or "
    groups = "compare groups, as of an A/B test, by "
    return says, groups, Advice("compare_groups", {"by": by.column}, ("...",))


def first_of(queries: pl.DataFrame) -> str:
    """The first few of some queries."""
    keys_shown = [row[0] if len(row) == 1 else row for row in queries.head(3).rows()]
    shown = ", ".join(map(repr, keys_shown))
    return f"{shown} ..." if queries.height > 3 else shown


def _lacking(queries: pl.DataFrame, runs: Sequence[str], there: Booleans) -> Text:
    """The message and advice for a run that lacks queries."""
    lacking = next(i for i, has in enumerate(there) if not has.all())
    rows = queries.filter(pl.Series(~there[lacking]))
    return (
        f"run {runs[lacking]!r} lacks {len(rows)} of {len(queries)} queries that another run "
        f"has ({first_of(rows)}); ",
        option(missing="zero"),
        " counts them 0 for it, ",
        option(missing="drop"),
        " leaves them out for all",
    )


def _refuse_zero(calls: Sequence[Call]) -> None:
    """Refuse to count 0 for a query that a run lacks, where 0 is not a metric's least value."""
    for call in calls:
        least = call.bounds[0]
        beyond = (least or 0) > 0 or (least != 0 and not call.of_ranking)
        if beyond or not call.higher_is_better:
            says = f"{call.text} of a query that a run lacks is not 0; say "
            alone = ", or compare it in a call of its own"
            raise InvalidOption(says, option(missing="drop"), alone)


def values(
    frame: pl.DataFrame, setup: Setup, runs: Runs, calls: Sequence[Call], whole: Whole | None = None
) -> pl.DataFrame:
    """A row per run and query with a column per metric; `whole` has facts of a part's table."""
    refuse_bounds(setup)
    refuse_values_of_scores(runs, calls)
    rows = runs.judged_alike(frame, setup)

    def of_setup(of_run: Setup) -> pl.DataFrame:
        part = Table[pl.DataFrame](rows, of_run, whole)
        return measure(rows, of_run, *calls, largest_label=part.largest_label)

    return runs.each(rows, setup, of_setup)


def explained(
    frame: pl.DataFrame,
    setup: Setup,
    runs: Runs,
    run: str,
    call: Call,
    carry: Sequence[str] = (),
    whole: Whole | None = None,
) -> pl.DataFrame:
    """The contribution of each document in a run; see `explain`."""
    carried = [name for name in carry if name not in runs.key]

    def of_setup(of_run: Setup) -> pl.DataFrame:
        part = Table[pl.DataFrame](frame, of_run, whole, carry=carried)
        return explain(part, call.text)

    rows = runs.each(frame, setup.changed(flat=False), of_setup, only=run)
    rank = rows.columns[-2]
    return with_own_rank(rows.drop(RUN), rank)


def rows_of_queries(
    table: Table[Any], runs: Runs, calls: Sequence[Call], queries: pl.DataFrame
) -> Table[Any]:
    """A table in memory with all rows of some queries; it knows the whole table's largest label."""
    if table.parts is not None:
        return table.parts.of_queries(queries)
    rows = table.rows
    setups = runs.apart(table.setup, ())[0].values()
    needing = [setup for setup in setups if needs_largest_label(setup, rows.schema, calls)]
    labels = {setup.roles.score: largest_label(rows, setup, calls) for setup in needing}
    rows = rows_with_keys(rows, queries)
    return replace(table, rows=rows, whole=Whole(labels))


def with_own_rank(rows: pl.DataFrame, rank: str) -> pl.DataFrame:
    """Rename the column `rank` to ``rank``, in place of the table's column of that name."""
    if rank == "rank":
        return rows
    return rows.drop("rank").rename({rank: "rank"})
