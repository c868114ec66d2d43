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
from ..._table.runs import RUN, Runs, names_of
from ..._table.setup import Roles, Setup, refuse_bounds
from ..._table.shared_options import Lacking, OfDecision, runs_of
from ..._table.table import Table, Whole, in_memory, refuse_names
from ...errors import Advice, InvalidData, InvalidOption, Text, option
from ...stats import NOISE
from ..call.declaration import call_of_verb
from ..sample.entries import entries_of, of_run
from ..sample.judged import NO_HELP, Control, Help
from ..sample.resampling import CLUSTER
from ..sample.slices import by_query, in_slices, keys
from ..sample.unequal_runs import HELD, RunSizes, size_calls, with_facts
from .evaluate import agreement, explain
from .summary import refuse_values_of_scores, weigher

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
        """The design that a call names, with what is known of the queries in addition to people's
        labels.
        """
        by, missing = names_of(options.get("by")), options.get("missing", "error")
        return cls(
            runs_of(options),
            baseline,
            by,
            options.get("weights"),
            missing,
            known,
            options.get("cluster"),
        )

    @property
    def names(self) -> set[str]:
        """The columns that the design reads."""
        return {
            *self.runs.columns,
            *self.by,
            *(x for x in (self.weights, self.cluster) if x is not None),
        }

    @property
    def settings(self) -> dict[str, object]:
        """The design under the names of the options that set it."""
        own = {
            name: getattr(self, name)
            for name in ("baseline", "by", "weights", "cluster", "missing")
        }
        return {"runs": self.runs.scores, "run": self.runs.column, **own, **self.help.settings}

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
        """The frame with what is known of queries that people did not judge, and the names of its
        columns.
        """
        setup = self.runs.queries(setup)
        return self.help.marked(
            frame, setup.changed(score=(*self.runs.scores, setup.roles.score)[0]), calls
        )

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
        return {} if self.sizes is None else self.sizes.settings

    def sides(self, pairs: Pairs, rows: Integers) -> tuple[Floats, Floats]:
        """The values of the first and of the second run of each pair, some queries by metrics and
        pairs; see `sides`.

        The sides of a measure of two rankings are 0 and its value.
        """
        first, second = sides(self.values[:, rows], pairs)
        if any(call.of_pairs for call in self.calls):
            both = np.stack([self.of_pairs[pair][rows] for pair in pairs], axis=2).reshape(
                first.shape
            )
            first, second = (
                np.where(np.isnan(both), x, y) for x, y in ((first, 0.0), (second, both))
            )
        return first, second

    def sample(self, rows: Integers, values: Floats, limits: Limits | None = None) -> Sample:
        """The sample of values of some queries, by columns: its units are the queries, or their
        clusters.
        """
        unknown = np.full(values.shape[1], np.nan)
        limits = (
            Limits(unknown, unknown, np.zeros(len(unknown), dtype=bool))
            if limits is None
            else limits
        )
        sample = Sample(values, self.queries["#weight"].to_numpy()[rows], limits)
        if CLUSTER not in self.queries:
            return sample
        return sample.of_clusters(
            self.queries[CLUSTER][rows.tolist()].rank("dense").to_numpy().astype(np.int64) - 1
        )

    @property
    def slices(self) -> list[Integers]:
        """The row numbers of each slice's queries, sorted by query; slices in order of
        appearance.
        """
        parts = in_slices(self.queries.with_row_index("#row"), keys(self.by)).values()
        return [part.sort(self.query)["#row"].to_numpy() for part in parts]

    def of_slices(self, rows: Sequence[int]) -> list[pl.Series]:
        """The slices' columns, under their own names, of some queries."""
        return [
            self.queries[at][rows].alias(name)
            for name, at in zip(self.by, keys(self.by), strict=True)
        ]

    def rows(self, names: Mapping[str, str], values: Floats) -> pl.DataFrame:
        """One row per query: the query and its slices, each column once, some names, and a column
        per metric.
        """
        slices = [pl.col(at).alias(name) for name, at in zip(self.by, keys(self.by), strict=True)]
        return self.queries.select(
            *self.query,
            *(x for x, name in zip(slices, self.by, strict=True) if name not in self.query),
            *(pl.lit(x).alias(name) for name, x in names.items()),
            *(
                pl.Series(call.text, x).fill_nan(None)
                for call, x in zip(self.calls, values.T.copy(), strict=True)
            ),
        )

    def long(self) -> pl.DataFrame:
        """One row per run and query."""
        return pl.concat(
            self.rows({"run": run}, values)
            for run, values in zip(self.runs, self.values, strict=True)
        )


def two_or_more(names: list[str]) -> list[str]:
    """The names of runs to compare."""
    if len(names) < 2:
        raise InvalidOption(
            f"there is one run to compare, {', '.join(map(repr, names)) or 'and no row'}; "
            "give two or more"
        )
    return names


@dataclass(frozen=True)
class ValuesOfRuns:
    """The values of a part of a table: a row per run and query, with its slices, its weight and
    what is known of it.

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
        design, setup = self.design, part.setup
        design.runs.require(part.rows, setup)
        frame, also = design.marked(part.rows, setup, self.calls)
        of = setup if self.label is None else setup.changed(label=self.label)
        found = values(frame, of, design.runs, self.measured, part.whole)
        if HELD.text in found.columns:
            found = with_facts(found, frame, setup, design.runs)
        query = [*design.runs.queries(setup).roles.query]
        weights = None if self.weighed_by_metric else design.weights
        queries = by_query(frame, query, (*design.by, *also), weights, design.cluster)
        joined = found.lazy().join(
            queries, on=query, how="left", nulls_equal=True, maintain_order="left"
        )
        return with_places(collect(joined, frame, setup), part, design.runs)


PLACE = "#place in table"
"""The column of the place of a run's query in an ordered table that comes in parts."""


def with_places(found: pl.DataFrame, part: Table[Any], runs: Runs) -> pl.DataFrame:
    """The values of a part with the place in an ordered table at which each run has its query
    first.
    """
    if part.places is None:
        return found
    query = [*runs.queries(part.setup).roles.query]
    run = [pl.col(name).cast(pl.String).alias(RUN) for name in runs.key]
    rows = part.rows.select(*query, *run, part.places.alias(PLACE))
    key = [*query, *([RUN] if run else [])]
    first = rows.group_by(key).agg(pl.col(PLACE).min())
    return found.join(first, on=key, how="left", nulls_equal=True, maintain_order="left")


def in_order(found: pl.DataFrame, table: Table[Any], runs: Runs) -> pl.DataFrame:
    """The values of all parts in the order of the table; of one without order, by run, slice and
    query.
    """
    if PLACE in found.columns:
        return found.sort(PLACE, maintain_order=True).drop(PLACE)
    if table.ordered:
        return found
    run = pl.col(RUN).cast(pl.Enum(runs.scores)) if runs.scores else pl.col(RUN)
    return found.sort(run, *_facts_in(found), *runs.queries(table.setup).roles.query)


def _facts_in(found: pl.DataFrame) -> list[str]:
    """The columns of slices, and of what is known of queries, in the values of runs."""
    return [name for name in found.columns if name.startswith("#by")]


def paired_values(
    table: Table[Any], calls: Sequence[Call], design: Design, *, sized: bool = False
) -> PairedValues:
    """Every run's values on the same queries; `design.missing` decides about queries that a run
    lacks.

    With `sized`, the sizes of the runs are counted in the same pass, with a warning if they are far
    apart.
    """
    setup = table.setup
    calls = [call.under(setup) for call in calls]
    names = [call.text for call in calls]
    query = [*design.runs.queries(setup).roles.query]
    if {*query} <= {*design.by}:
        raise InvalidOption(
            option(by=design.by[0] if len(design.by) == 1 else list(design.by)),
            " tells queries apart; name a column that several queries share",
        )
    refuse_names([*RESERVED, *names], [*query, *design.by], "the query, or by,")
    of_ratio, single = _of_ratio(calls), [call for call in calls if not call.of_pairs]
    single = single or calls_of("num_retrieved")  # it has a value for every query of a run
    size = size_calls(setup, single) if sized else []
    weighing = design.weighing(table.rows)
    work = ValuesOfRuns(
        design, calls, [*single, *of_ratio, *size, *weighing], weighed_by_metric=bool(weighing)
    )
    found = in_order(table.by_parts(work), table, design.runs)
    found = found.with_columns(pl.lit(np.nan).alias(call.text) for call in calls if call.of_pairs)
    runs = two_or_more(design.runs.named(found))
    facts = _facts_in(found)
    of_query = [*facts, "#weight", *([] if design.cluster is None else [CLUSTER])]
    queries = found.select(*query, *of_query).unique(query, keep="first", maintain_order=True)
    if weighing:
        queries = queries.with_columns(_of_metric(found, runs, weighing[0], queries.select(query)))
    queries = queries.with_columns(lifted(pl.col("#weight"), pl.col("#weight").max()))
    array, there = _in_arrays(found, runs, names, queries.select(query))
    if of_ratio:
        (clicks, _) = _in_arrays(found, runs, [of_ratio[0].text], queries.select(query))
        queries = queries.with_columns(
            pl.col("#weight")
            * _same(pl.DataFrame(clicks[..., 0].T, runs, orient="row").fill_nan(None))
        )
    if not there.all():
        refuse_groups(queries.select(query), runs, there, design)
        if design.missing == "error":
            raise InvalidData(_lacking(queries, query, runs, there))
        if design.missing == "drop":
            kept = np.flatnonzero(there.all(axis=0))
            queries, array = queries[kept.tolist()], array[:, kept]
        else:
            _refuse_zero(calls)
            array[~there] = 0.0
    sizes = RunSizes.of(found, setup, design.runs, single) if size else None
    if sizes is not None:
        sizes.warn()
    marks = facts[len(design.by) :]
    if not marks:
        of_pairs = _of_pairs(table, design, runs, calls, queries.select(query))
        return PairedValues(
            query, runs, calls, queries, array, design.by, of_pairs=of_pairs, sizes=sizes
        )

    def of_all(*others: Call, label: str | None = None) -> Floats:
        """The values of all queries under other labels; or another metric of the baseline."""
        asked = others or calls
        named = [design.baseline or runs[0]] if others else runs
        of_runs = table.by_parts(ValuesOfRuns(design, calls, asked, label, bool(weighing)))
        array, there = _in_arrays(
            of_runs, named, [call.text for call in asked], queries.select(query)
        )
        return array if design.missing == "error" else np.where(there[..., None], array, 0.0)

    control = design.help.control(*(queries[name] for name in marks), values=of_all)
    if control.of == "adjust":
        array[:, ~control.judged] = np.nan
    return PairedValues(query, runs, calls, queries, array, design.by, control, sizes=sizes)


def _in_arrays(
    found: pl.DataFrame, runs: Sequence[str], names: Sequence[str], queries: pl.DataFrame
) -> tuple[Floats, Booleans]:
    """The values, runs by queries by metrics, NaN for null; and which run has which query."""
    query = queries.columns
    array = np.empty((len(runs), len(queries), len(names)))
    there = np.empty((len(runs), len(queries)), dtype=bool)
    for i, run in enumerate(runs):
        of_run = found.filter(pl.col(RUN) == run)
        per_query = queries.join(
            of_run, on=query, how="left", nulls_equal=True, maintain_order="left"
        )
        array[i] = per_query.select(pl.col(names).fill_null(np.nan)).to_numpy()
        there[i] = per_query[RUN].is_not_null().to_numpy()
    return array, there


def sides(values: Floats, pairs: Pairs) -> tuple[Floats, Floats]:
    """The values of the first and of the second run of each pair: a row per query, a column per
    metric and pair.
    """
    of_pairs = values[np.transpose(pairs)]  # two sides, pairs, queries, metrics
    first, second = of_pairs.transpose(0, 2, 3, 1).reshape(
        2, values.shape[1], len(pairs) * values.shape[2]
    )
    return first, second


def differences(a: Floats, b: Floats) -> Floats:
    """The differences b - a; 0 if they differ by rounding errors only."""
    d = b - a
    d[np.abs(d) <= NOISE * np.maximum(np.abs(a), np.abs(b))] = 0.0
    return d


def _of_ratio(calls: Sequence[Call]) -> Sequence[Call]:
    """The sum of clicks by which queries weigh, if the calls are ratios over it; refuse calls of
    both kinds.
    """
    ratios = [call for call in calls if call.weighed == "ratio"]
    if ratios and len(ratios) < len(calls):
        says = (
            f"{ratios[0].text} weighs queries by their clicks, and the other metrics weigh them "
            "alike; compare it in a call of its own, or say "
        )
        raise InvalidOption(says, option(estimate="snips"))
    return CLICKS[1:2] if ratios else ()


def _same(clicks: pl.DataFrame) -> pl.Series:
    """The sum of clicks of each query, which all runs share."""
    most, least = clicks.max_horizontal(), clicks.min_horizontal()
    if (most - least > 1e-9 * most).any():
        says = (
            "runs have different clicks, or propensities, for a query; give each run all clicked "
            "documents, with a null "
        )
        raise InvalidData(f"{says}score for one that it does not retrieve")
    return most.fill_null(0.0)


@dataclass(frozen=True)
class ValuesOfPairs:
    """The values of measures of two rankings, in a part of a table: a row per query and pair of
    runs.
    """

    runs: Runs
    names: Sequence[str]
    pairs: Pairs
    calls: Sequence[Call]

    def __call__(self, part: Table[Any]) -> pl.DataFrame:
        setup, of_query = part.setup, self.runs.queries(part.setup)
        entries = entries_of(
            part.rows, setup, self.runs, self.names, depth=setup.policies.depth, absent=False
        )
        tables = [of_run(entries, i, of_query) for i in range(len(self.names))]
        rows = entries.documents.with_columns(
            table["#score"].alias(f"#{i}") for i, (table, _) in enumerate(tables)
        )
        found: list[pl.DataFrame] = []
        for first, second in self.pairs:
            of = tables[second][1]  # further roles have no column here
            own = Roles(of.roles.query, of.roles.doc, f"#{second}", of.roles.label)
            of_pair = call_of_verb(agreement, f"#{first}", *self.calls).on(
                in_memory(rows, Setup(own, of.policies))
            )
            found.append(
                of_pair.with_columns(pl.lit(first).alias("#first"), pl.lit(second).alias("#second"))
            )
        return pl.concat(found)


def _of_metric(
    found: pl.DataFrame, runs: Sequence[str], call: Call, queries: pl.DataFrame
) -> pl.Series:
    """The weight of each query by a metric, which must be the same for all runs; 0 where it has no
    value.
    """
    (values, _) = _in_arrays(found, runs, [call.text], queries)
    of_runs = pl.DataFrame(values[..., 0].T, runs, orient="row").fill_nan(None)
    most, least = of_runs.max_horizontal(), of_runs.min_horizontal()
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
    """The values of measures of two rankings, the second run's first, for each pair of runs; NaN
    for other metrics.
    """
    both, pairs = [call for call in calls if call.of_pairs], design.pairs(runs)
    if not both:
        return {}
    of_pairs = table.by_parts(ValuesOfPairs(design.runs, runs, pairs, both))
    found = {}
    for first, second in pairs:
        of_pair = of_pairs.filter(pl.col("#first") == first, pl.col("#second") == second)
        paired = queries.join(
            of_pair, on=queries.columns, how="left", nulls_equal=True, maintain_order="left"
        )
        found[first, second] = paired.select(
            pl.col(call.text).fill_null(np.nan)
            if call.of_pairs
            else pl.lit(np.nan).alias(call.text)
            for call in calls
        ).to_numpy()
    return found


RESERVED = ("metric", "baseline", "run")

FEW_IN_COMMON = 0.1
"""The share of a run's queries that another run has, below which they are groups of queries and no
runs on the same ones."""


def refuse_groups(
    queries: pl.DataFrame, runs: Sequence[str], there: Booleans, design: Design
) -> None:
    """Refuse runs with hardly a query in common; with a rule for missing queries, those with
    none.
    """
    least = FEW_IN_COMMON if design.missing == "error" else 0.0
    in_common = there.astype(np.int64) @ there.T.astype(np.int64)  # by pairs of runs
    sizes = in_common.diagonal()
    for first, second in design.pairs(runs):
        common, smaller = in_common[first, second], min(sizes[first], sizes[second])
        if smaller and (common == 0 or common < least * smaller):
            raise InvalidData(*_groups(queries, runs, there, (first, second), design.runs))


def _groups(
    queries: pl.DataFrame, runs: Sequence[str], there: Booleans, pair: tuple[int, int], by: Runs
) -> tuple[Text, ...]:
    """The message for two groups of queries, with the verb that compares them."""
    found = []
    for i, other in (pair, pair[::-1]):
        own = queries.filter(pl.Series((there[i] & ~there[other]).tolist()))
        found.append(f"run {runs[i]!r} has {first_of(own)}")
    common = int((there[pair[0]] & there[pair[1]]).sum())
    share = "no query" if common == 0 else f"{common} of {queries.height} queries"
    says = f"two runs have {share} in common ({'; '.join(found)}); write their ids alike, or "
    groups = "compare groups, as of an A/B test, by "
    return says, groups, Advice("compare_groups", {"by": by.column}, ("...",))


def first_of(queries: pl.DataFrame) -> str:
    """The first few of some queries."""
    shown = ", ".join(repr(row[0] if len(row) == 1 else row) for row in queries.head(3).rows())
    return f"{shown} ..." if queries.height > 3 else shown


def _lacking(
    queries: pl.DataFrame, query: Sequence[str], runs: Sequence[str], there: Booleans
) -> Text:
    """The message and advice for a run that lacks queries."""
    lacking = next(i for i, has in enumerate(there) if not has.all())
    rows = queries.select(query).filter(pl.Series((~there[lacking]).tolist()))
    return (
        f"run {runs[lacking]!r} lacks {len(rows)} of {len(queries)} queries that another run "
        f"has ({first_of(rows)}); ",
        option(missing="zero"),
        " counts them 0 for it, ",
        option(missing="drop"),
        " leaves them out for all",
    )


def _refuse_zero(calls: Sequence[Call]) -> None:
    for call in calls:
        least = call.bounds[0]
        if not call.higher_is_better or (least or 0) > 0 or (least != 0 and not call.of_ranking):
            raise InvalidOption(
                f"{call.text} of a query that a run lacks is not 0; say ",
                option(missing="drop"),
                ", or compare it in a call of its own",
            )


def values(
    frame: pl.DataFrame, setup: Setup, runs: Runs, calls: Sequence[Call], whole: Whole | None = None
) -> pl.DataFrame:
    """A row per run and query: the run, the query columns, and a column per metric; `whole` has
    facts of a part's table.
    """
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
    carried, setup = [name for name in carry if name not in runs.key], setup.changed(flat=False)
    rows = runs.each(
        frame,
        setup,
        lambda of_run: explain(Table[pl.DataFrame](frame, of_run, whole, carry=carried), call.text),
        only=run,
    )
    return with_own_rank(rows.drop(RUN), rows.columns[-2])


def rows_of_queries(
    table: Table[Any], runs: Runs, calls: Sequence[Call], queries: pl.DataFrame
) -> Table[Any]:
    """A table in memory that has all rows of some queries, and knows the largest label of the whole
    table if calls need it.
    """
    if table.parts is not None:
        return table.parts.of_queries(queries)
    rows, setups = table.rows, runs.apart(table.setup, ())[0].values()
    needing = [x for x in setups if needs_largest_label(x, rows.schema, calls)]
    labels = {x.roles.score: largest_label(rows, x, calls) for x in needing}
    rows = rows.join(
        queries, on=queries.columns, how="semi", nulls_equal=True, maintain_order="left"
    )
    return replace(table, rows=rows, whole=Whole(labels))


def with_own_rank(rows: pl.DataFrame, rank: str) -> pl.DataFrame:
    """Rename the column `rank` to ``rank``, in place of the table's column of that name."""
    return rows if rank == "rank" else rows.drop("rank").rename({rank: "rank"})
