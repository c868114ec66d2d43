"""Means, deviations and intervals over queries, per run and slice; at once, or part by part.

A part holds whole queries. For each metric it gives the sums `means.SUMS` (among them weight, mean
and spread), which merge exactly (Chan, Golub, LeVeque, 1979); and for each bootstrap replicate the
sum and the weight of its draws. Without weights, each query weighs 1. The number of times that a
replicate draws a query is Poisson(1) distributed and derived from the query's id and the seed, so
that it is the same in any part. A part with few different values also gives these, so that the
interval of few queries is one that holds for few.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

import polars as pl

from ..._catalog.call import CLICKS, Call
from ..._catalog.means import SUMS, Mean, added, by_metric, merged, scaled, sums_of, unscaled
from ..._catalog.registry import METRICS
from ..._catalog.requests import Request, averaged, calls_of
from ..._plan.per_query import collect, measure
from ..._results.columns import schema
from ..._statistics.poisson import means_of_draws, sums_of_draws
from ..._support.draws import seeds_of
from ..._support.floats import Floats, np
from ..._support.option_kinds import Column, ColumnNames
from ..._support.polars_versions import exploded
from ..._support.progress import Progress
from ..._support.statistical_options import FEW
from ..._table.runs import RUN, RUN_OF_TABLE, Runs, TheRuns, names_of
from ..._table.setup import Setup, refuse_bounds
from ..._table.shared_options import SlicesOfRuns
from ..._table.table import Table, refuse_names
from ...errors import InvalidOption, RankframeError, option
from ..call.declaration import verb, with_names
from ..sample.resampling import CLUSTER, UNITS, Resampling, intervals_of, limits, warn_of_t
from ..sample.slices import by_query, in_slices, names_by_key, typed
from .evaluate import refuse_values_of_scores

if TYPE_CHECKING:
    from typing import Self, Unpack

R = TypeVar("R")

LISTS = ("draws", "sums", "values", "weights", "counts")

OF_CLICKS = {call.text: pl.Float64() for call in CLICKS}
"""The sums of clicks that estimates have beside their values."""

PARTIAL = {**schema("metric"), **SUMS, **dict.fromkeys(LISTS, pl.List(pl.Float64))}
"""The figures of a part for a slice and a metric: its sums; per resample the weight and the sum of
its draws; and its different pairs of value and weight with their counts, null for more than `FEW`.
Of estimates from clicks also `OF_CLICKS`."""

FIGURES = schema(
    "metric n_queries n_clicks effective_sample_size std total interval mean ci_low ci_high"
)
"""The columns beside the slices: mean and interval last, since a wide frame prints its first and
last columns."""

OF_INTERVALS = ("ci_low", "ci_high", "interval")
"""The figures that are left out with ``ci=None``."""

OF_ESTIMATES = ("n_clicks", "effective_sample_size")
"""The figures of estimates from clicks."""

NO_INTERVALS: Mapping[str, Any] = {
    "ci": None,
    "interval": "auto",
    "resamples": 1,
    "seed": 0,
    "progress": False,
}


def figures_of(setup: Setup, ci: float | None) -> dict[str, pl.DataType]:
    """The columns of a summary without the slices."""
    left_out: set[str] = set()
    if setup.roles.propensity is None:
        left_out.update(OF_ESTIMATES)
    if ci is None:
        left_out.update(OF_INTERVALS)
    return {name: dtype for name, dtype in FIGURES.items() if name not in left_out}


@dataclass(frozen=True)
class Summary:
    """A summary of the values of all queries: its metrics, runs, slices and intervals.

    Attributes
    ----------
    calls
        The metrics.
    setup
        The roles of columns, and the policies.
    runs
        The runs, each of which is summarized by itself.
    by
        The columns whose values slice the queries.
    weights
        The column of the queries' weights, or the metric that is a query's weight.
    resampling
        The interval, the resamples and the seed; part by part, ``"poisson"`` is for the Poisson
        bootstrap also of few queries.
    whole
        The largest labels of the whole table, for parts of it.
    cluster
        The column whose values are resampled, each with all its queries.
    model_labels
        The column of a model's labels, which a `JudgedSummary` reads.
    wide
        Whether the merged table is the means alone, with a column per metric instead of a row.
    """

    calls: tuple[Call, ...]
    setup: Setup
    runs: Runs
    by: tuple[str, ...]
    weights: str | None
    resampling: Resampling
    whole: Mapping[str, float] | None = None
    cluster: str | None = None
    model_labels: str | None = None
    wide: bool = False

    def __post_init__(self) -> None:
        refuse_values_of_scores(self.runs, self.calls)

    @classmethod
    def of(
        cls,
        setup: Setup,
        whole: Mapping[str, float] | None,
        *metrics: Request,
        runs: Runs | TheRuns | None = None,
        run: Column | None = None,
        by: ColumnNames | None = None,
        weights: str | None = None,
        cluster: str | None = None,
        model_labels: str | None = None,
        wide: bool = False,
        **intervals: Any,
    ) -> Self:
        """The summary that a call of a verb asks for."""
        verb = "mean" if wide else "summarize"
        calls = averaged(metrics, f"{verb}('ndcg@10', 'map')", setup, weighs=True)
        chosen = Runs.of(runs, run)
        refuse_bounds(setup)
        _, slices = chosen.apart(setup, names_of(by))
        refuse_names(list(FIGURES), slices, "by")
        options = {**NO_INTERVALS, **intervals}
        return cls(
            calls=tuple(calls),
            setup=setup,
            runs=chosen,
            by=slices,
            weights=weights,
            resampling=Resampling(**options),
            whole=whole,
            cluster=cluster,
            model_labels=model_labels,
            wide=wide,
        )

    @property
    def slices(self) -> Mapping[str, str]:
        """The columns of the runs and slices, by their names in the figures of parts."""
        names = names_by_key(self.by)
        return {RUN: RUN_OF_TABLE, **names} if self.runs.scores else names

    @property
    def setups(self) -> Mapping[str, Setup]:
        """The setup of each run by its name; a column of runs has one."""
        setups, _ = self.runs.apart(self.setup, ())
        return setups

    @property
    def key(self) -> list[str]:
        """The key columns by which the figures of parts merge."""
        if self.wide:
            return [*self.slices]
        return [*self.slices, "metric"]

    @property
    def figures(self) -> Mapping[str, pl.DataType]:
        """The columns of the summary without the slices."""
        return figures_of(self.setup, self.resampling.ci)

    @property
    def of_clicks(self) -> bool:
        """Whether the values are estimates from clicks."""
        return self.setup.roles.propensity is not None

    @property
    def query(self) -> Sequence[str]:
        """The columns that tell the queries of a slice apart."""
        first_setup = next(iter(self.setups.values()))
        return first_setup.roles.query

    @property
    def resampled(self) -> Sequence[str]:
        """The columns that name what is resampled: the queries or their clusters."""
        if self.cluster is None:
            return self.query
        return [CLUSTER]

    def part(self, frame: pl.DataFrame) -> pl.DataFrame:
        """The figures of a part of the table, which holds whole queries, per slice and metric."""
        return self._part(self.per_query(frame))

    def of_part(self, part: Table[Any]) -> pl.DataFrame:
        """The values of each run and query of a part of the table."""
        whole = None if part.whole is None else part.whole.largest_labels
        return replace(self, whole=whole).per_query(part.rows)

    def per_query(self, frame: pl.DataFrame) -> pl.DataFrame:
        """The values of each run and query, its slices and its weight."""
        return self.runs.values(frame, self.setup, self._of_run)

    def _of_run(self, frame: pl.DataFrame, setup: Setup) -> pl.DataFrame:
        """The values of a run's queries, their slices and their weights."""
        query = setup.roles.query
        largest = None if self.whole is None else self.whole.get(setup.roles.score)
        weighing = weigher(self.weights, frame.schema)
        column = None if weighing else self.weights
        # The slices come first, since they name columns that are missing.
        slices = by_query(frame, query, self.by, column, self.cluster)
        clicks = CLICKS if self.of_clicks else ()
        measured = dict.fromkeys([*self.calls, *weighing, *clicks])
        values = measure(frame, setup, *measured, largest_label=largest)
        for call in weighing:
            weight = pl.col(call.text).fill_null(0.0)
            values = values.with_columns(weight.alias("#weight"))
            if call not in self.calls:
                values = values.drop(call.text)
            slices = slices.drop("#weight")
        if self.by or column is not None or self.cluster is not None:
            joined = values.lazy().join(slices, on=query, nulls_equal=True, maintain_order="left")
            values = collect(joined, frame, setup)
        elif not weighing:
            values = values.with_columns(pl.lit(1.0).alias("#weight"))
        if self.of_clicks:
            return self._weighted_clicks(values)
        return values

    def _weighted_clicks(self, values: pl.DataFrame) -> pl.DataFrame:
        """The values of queries, with sums of clicks and weights of ratios times their weights."""
        weight = pl.col("#weight")
        _, total, squares = OF_CLICKS
        weight_of_ratio = weight * pl.col(total).fill_null(0.0)
        ratios = [call for call in self.calls if call.weighed == "ratio"]
        of_ratios = {call.weights: weight_of_ratio for call in ratios}
        sums = pl.col(total) * weight, pl.col(squares) * weight**2
        return values.with_columns(*sums, **of_ratios)

    def summed(self, per_query: pl.DataFrame) -> pl.DataFrame:
        """The figures without intervals, by metric and then slice."""
        slices = self.slices
        table = averages(per_query, self.resampled, self.calls, [*slices])
        return table.rename({**slices})

    def of_table(self, frame: pl.DataFrame) -> pl.DataFrame:
        """The summary of all rows."""
        return self.table(self.per_query(frame))

    def table(self, per_query: pl.DataFrame) -> pl.DataFrame:
        """The summary, from the values of all queries; each score column as if it were alone."""
        parts = in_slices(per_query, [RUN] if self.runs.scores else [])
        tables = [self._of_queries(part) for part in parts.values()]
        if tables:
            return pl.concat(tables)
        return self._of_queries(per_query)

    def _of_queries(self, per_query: pl.DataFrame) -> pl.DataFrame:
        """The summary, from the values of the queries of a run, or of runs in a column."""
        resampling = self.resampling
        if resampling.merges and resampling.ci is not None:
            return self.merge(self._part(per_query))
        slices = [*self.slices]
        table = averages(per_query, self.resampled, self.calls, slices, resampling)
        table = self._with_clicks(table, per_query, slices)
        if resampling.ci is not None:
            of_few = table.filter(pl.col(UNITS) < FEW)
            warn_of_t(of_few, resampling)
        return self._named(table)

    def _named(self, table: pl.DataFrame) -> pl.DataFrame:
        """The columns of the summary, with the slices under their own names."""
        slices = [pl.col(key).alias(name) for key, name in self.slices.items()]
        return table.select(*slices, *typed(self.figures))

    def _with_clicks(
        self, table: pl.DataFrame, rows: pl.DataFrame, key: Sequence[str]
    ) -> pl.DataFrame:
        """The table with the number of clicks and their effective sample size, by the rows' key."""
        if not self.of_clicks:
            return table
        n, total, squares = (pl.col(name).sum() for name in OF_CLICKS)
        effective_size = (total**2 / squares).fill_nan(0.0)
        figures = {"n_clicks": n, "effective_sample_size": effective_size}
        with_clicks = with_figures(table.lazy(), rows.lazy(), key, figures)
        return with_clicks.collect()

    def _part(self, per_query: pl.DataFrame) -> pl.DataFrame:
        slices = [*self.slices]
        calls = self.calls
        rows = per_query.lazy()
        sums_of_calls = [sums_of(call) for call in calls]
        sums_of_slices = added(rows, calls, slices)
        sums = by_metric(sums_of_slices, sums_of_calls, calls, slices)
        draws = self._draws(per_query).lazy()
        key = [*slices, "metric"]
        part = draws.join(sums, on=key, nulls_equal=True, maintain_order="left")
        columns = PARTIAL
        if self.of_clicks:
            columns = PARTIAL | OF_CLICKS
            clicks = {name: pl.col(name).sum() for name in OF_CLICKS}
            part = with_figures(part, rows, slices, clicks)
        return part.select(*slices, *typed(columns)).collect(engine="in-memory")

    def _draws(self, per_query: pl.DataFrame) -> pl.DataFrame:
        """A row per slice and metric: weight and sum of each resample, and the different values."""
        slices = [*self.slices]
        rows: list[tuple[object, ...]] = []
        for where, queries in in_slices(per_query, slices).items():
            weights, sums = self._drawn(queries)
            by_call = zip(self.calls, weights.T.tolist(), sums.T.tolist(), strict=True)
            for call, *of_resamples in by_call:
                different = (None, None, None) if self.cluster else _different(queries, call)
                rows.append((*where, call.text, *of_resamples, *different))
        dtypes = {name: per_query.schema[name] for name in slices}
        dtypes |= {name: PARTIAL[name] for name in ("metric", *LISTS)}
        return pl.DataFrame(rows, dtypes, orient="row")

    def _drawn(self, queries: pl.DataFrame) -> tuple[Floats, Floats]:
        """The weights and the sums of the resamples of a slice: resamples by metrics."""
        resampling = self.resampling
        calls = self.calls
        values = queries.select(call.text for call in calls).to_numpy()
        weights = queries.select(pl.col(call.weights).alias(call.text) for call in calls).to_numpy()
        resamples = 0 if resampling.ci is None else resampling.resamples
        ids = seeds_of(queries, self.resampled, resampling.seed)
        on_scale = scaled(values.astype(float), calls)
        return sums_of_draws(on_scale, weights, ids, resamples)

    def merge(self, parts: pl.DataFrame) -> pl.DataFrame:
        """Merge the figures of parts: one row per slice and metric, or the means of a slice."""
        summed = self._merged(parts)
        if not self.wide:
            return summed
        means: pl.DataFrame = with_names(self.in_columns(summed), self.setup, self.calls)
        return means

    def in_columns(self, summed: pl.DataFrame) -> pl.DataFrame:
        """The means of a summary, in a column per metric instead of a row."""
        means = {}
        for call in self.calls:
            figure = pl.col(Mean.of(call).figure)
            text = call.text
            means[text] = figure.filter(metric=text).first()
        by = [*self.slices.values()]
        if not by:
            return summed.select(**means)
        return summed.group_by(by, maintain_order=True).agg(**means)

    def _merged(self, parts: pl.DataFrame) -> pl.DataFrame:
        """The figures of parts, merged: one row per slice and metric."""
        key = [*self.slices, "metric"]
        sums = self._with_clicks(merged(parts.lazy(), key).collect(), parts, key)
        calls = {call.text: call for call in self.calls}
        by_key = parts.partition_by(key, maintain_order=True)
        intervals = []
        for row, of_key in zip(sums.to_dicts(), by_key, strict=True):
            call = calls[row["metric"]]
            intervals.append(self._interval(call, row, of_key))
        columns = {name: FIGURES[name] for name in OF_INTERVALS}
        of_intervals = pl.DataFrame(intervals, columns, orient="row")
        table = sums.with_columns(of_intervals)
        names = {name: pl.col(name) for name in SUMS}
        figures = []
        for text, call in calls.items():
            of_call = [x.alias(name) for name, x in Mean.of(call).value(names).items()]
            figures.append(pl.when(metric=text).then(pl.struct(of_call)))
        return self._named(table.with_columns(pl.coalesce(figures).struct.unnest()))

    def _interval(
        self, call: Call, sums: Mapping[str, Any], parts: pl.DataFrame
    ) -> tuple[float | None, float | None, str | None]:
        """The interval of the mean and its kind; none of one value, or without a weight."""
        ci = self.resampling.ci
        if ci is None or sums["n"] < 2 or not sums["weight"]:
            return None, None, None
        if not self.resampling.merges and not parts["values"].has_nulls():
            low, high, kind = self._of_values(call, parts)
            if kind != "bca":
                return low, high, kind
        weights = np.sum(parts["draws"].to_list(), axis=0)
        totals = np.sum(parts["sums"].to_list(), axis=0)
        means = means_of_draws(weights, totals, sums["least"], sums["greatest"])
        values = unscaled(means[:, None], [call])[:, 0]
        low, high = np.quantile(values, self.resampling.ends)
        return float(low), float(high), "poisson"

    def _of_values(
        self, call: Call, parts: pl.DataFrame
    ) -> tuple[float | None, float | None, str | None]:
        """The interval that ``"auto"`` takes for values of which few differ, and its kind."""
        names = ("values", "weights", "counts")
        different = exploded(parts.select(names), *names).drop_nulls().sort(pl.all())
        # All parts together may have more different values than any of them.
        if different.select("values", "weights").n_unique() > FEW:
            return None, None, "bca"
        counts = different["counts"].to_numpy().astype(int)
        values = np.repeat(different["values"].to_numpy(), counts)[:, None]
        weights = np.repeat(different["weights"].to_numpy(), counts)
        resampling = replace(self.resampling, interval="auto")
        within = limits(values, [call])
        low, high, (kind,) = resampling.intervals(
            scaled(values, [call]), weights, within, Progress("", False)
        )
        if kind is None:
            return None, None, None
        low, high = unscaled(np.stack([low, high]), [call])[:, 0].tolist()
        return low, high, kind


def weigher(weights: str | None, schema: pl.Schema) -> list[Call]:
    """The metric that is the weight of a query, where no column has the name."""
    if weights is None or weights in schema:
        return []
    try:
        calls = calls_of(weights)
    except RankframeError:
        return []  # a column that is missing
    least, _ = calls[0].bounds
    if len(calls) > 1 or least is None or least < 0:
        says = ": a weight is one number from 0 on; name a column or such a metric"
        raise InvalidOption(option(weights=weights), says)
    return calls


def means_of(
    setup: Setup, whole: Mapping[str, float] | None, *metrics: Request, **options: Any
) -> Summary:
    """The summary whose means are a row with a column per metric."""
    return Summary.of(setup, whole, *metrics, **options, wide=True)


@verb(gives="table", among=METRICS, watched=True, by_parts=True, merges=means_of)
def mean(
    table: Table[Any],
    *metrics: Request,
    weights: Column | None = None,
    **options: Unpack[SlicesOfRuns],
) -> pl.DataFrame:
    """The mean of each metric over the queries, as papers print it: one row, or one per run and
    slice.

    Parameters
    ----------
    *metrics
        Texts, functions, values and expressions, as for :meth:`evaluate`.
    by
        The column, or columns, whose values slice the queries, as for :meth:`summarize`; also one
        of the query columns, such as that of the runs.
    weights
        The column of the queries' weights, or a metric, as for :meth:`summarize`. The mean of
        ``auc`` with ``weights="num_ret"``, the number of candidates, is called GAUC.

    Returns
    -------
    A frame with the run (the column ``run``, or the one that `run` names) if runs are named, the
    slice's columns, then one Float64 column per metric, in the order given: the mean over the
    queries whose value is not null; of ``gm_map`` and ``gm_bpref`` the geometric mean, of counts
    such as ``num_ret`` the sum, as trec_eval prints them; null if no query has a value. An eager
    frame gives slices in the order of their first rows.

    Raises
    ------
    InvalidData
        If a query has several values of a slice.

    See Also
    --------
    summarize : the same with standard deviation, confidence interval and number of queries.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame({"query_id": [1, 2], "score": [1, 1], "label": [1, 0]})
    >>> means = df.rank.mean("rr", "num_ret")
    >>> means["rr"].item(), means["num_retrieved"].item()
    (0.5, 2.0)

    >>> columns = {"query_id": [1, 2, 1, 2], "score": [1] * 4, "label": [1, 0, 1, 1]}
    >>> runs = pl.DataFrame({"run": list("aabb"), **columns})
    >>> means = runs.rank.mean("rr", run="run")
    >>> means["run"].to_list(), means["rr"].to_list()
    (['a', 'b'], [0.5, 1.0])
    """
    summary = means_of(table.setup, None, *metrics, weights=weights, **options)
    refuse_names([call.text for call in summary.calls], summary.by, "by")
    per_query = table.by_parts(summary.of_part)
    return summary.in_columns(summary.summed(per_query))


def averages(
    per_query: pl.DataFrame,
    resampled: Sequence[str],
    calls: Sequence[Call],
    slices: Sequence[str],
    resampling: Resampling | None = None,
) -> pl.DataFrame:
    """The figures over the queries, by metric and then slice; with intervals if resampled.

    `resampled` are the columns that name what is resampled: queries, or clusters of them.
    """
    figures = [Mean.of(call).value(sums_of(call)) for call in calls]
    sums = added(per_query.lazy(), calls, slices)
    by_call = by_metric(sums, figures, calls, slices)
    table = by_call.collect(engine="in-memory")
    if resampling is None or resampling.ci is None:
        return table
    parts = [*in_slices(per_query, slices).values()]
    intervals = intervals_of(per_query, parts, resampled, calls, resampling)
    return table.with_columns(intervals)


def with_figures(
    table: pl.LazyFrame, rows: pl.LazyFrame, key: Sequence[str], figures: Mapping[str, pl.Expr]
) -> pl.LazyFrame:
    """The table with further figures, of the rows with the key of each of its rows."""
    if not key:
        return table.join(rows.select(**figures), how="cross", maintain_order="left")
    by_key = rows.group_by(key).agg(**figures)
    return table.join(by_key, on=key, nulls_equal=True, maintain_order="left")


def _different(queries: pl.DataFrame, call: Call) -> tuple[list[float] | None, ...]:
    """The different pairs of value and weight, and the counts of both; None for more than `FEW`."""
    pairs = queries.select(values=call.text, weights=call.weights).drop_nulls()
    weighing = pairs.filter(pl.col("weights") > 0).cast(pl.Float64)
    with_counts = weighing.group_by(pl.all()).agg(counts=pl.len())
    return tuple(x.to_list() if len(x) <= FEW else None for x in with_counts)
