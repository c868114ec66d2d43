"""The content of each plot, for any drawing library.

It is a title, two axes and a few thousand marks at most.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any

import polars as pl

from .._catalog.call import Call
from .._catalog.parse import parse
from .._catalog.registry import METRICS
from .._catalog.requests import Request, averaged
from .._plan.per_query import by_document
from .._results.grid import queries, with_intervals
from .._support.option_kinds import Column, ColumnNames
from .._support.option_values import Range
from .._table.roles import require
from .._table.runs import RUN, RUN_OF_TABLE, Runs
from .._table.table import Table, Whole, unchanged
from .._table.trec_eval import LEVELS
from .._verbs.audit.overlap import overlap as overlap_of
from .._verbs.collections.propensities import Method, Ranks, propensities as estimated
from .._verbs.fuse.fitted import FusionMethod, runs_for, text_of
from .._verbs.fuse.fuse import explain
from .._verbs.sample.entries import names_of_runs
from ..errors import InvalidOption, option
from .figure import (
    CI,
    LINES,
    ROWS,
    SERIES,
    SLICE,
    Axis,
    Estimated,
    Figure,
    Mark,
    Measured,
    Shared,
    SlicedOptions,
    at_cutoffs,
    at_each_cutoff,
    at_places,
    banded,
    legible,
    lines_of,
    most_queries,
    one_call,
    placed,
    plot,
    thinned,
    unpacked,
)

if TYPE_CHECKING:
    from typing import Unpack

BARS = 400
"""The largest number of bars; more queries are combined."""
BINS = 20
"""The number of bars of a histogram."""
MARGIN = 0.03
"""The margin beside a histogram, as a share of its width: it keeps a median at the edge off the
frame."""
GAP = 13
"""The distance of runs in a slice in pixels; between slices it is twice that."""
CELLS = 30
"""The number of rows and columns of the grid whose cells combine dots."""


@plot(among=METRICS, by_parts=True)
def curve(
    table: Table[Any],
    *metrics: Request,
    cutoffs: Sequence[int] | None = None,
    **shared: Unpack[SlicedOptions],
) -> Figure:
    """The mean of metrics at every cutoff, with confidence bands: it shows at which ranks a run
    gains.

    Parameters
    ----------
    *metrics
        Texts without a cutoff, of metrics that accept one, as ``"ndcg"`` or ``"recall"``.
    cutoffs
        The cutoffs to show; default: every one up to 20, then some up to the longest ranking, at
        equal ratios.

    Returns
    -------
    A chart or axes. The bands are intervals of the mean over the queries, as of
    ``df.rank.summarize``.

    Raises
    ------
    InvalidOption
        If a metric accepts no cutoff or already has one, or if there are more than 12 lines.
    MissingExtra
        If the plotting library is not installed.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame({"query_id": [1, 1, 2], "score": [2.0, 1.0, 1.0], "label": [0, 1, 1]})
    >>> df.rank.plot.curve("precision", "recall").title.text
    'P, Recall at every cutoff'
    """
    curves = averaged(metrics, "plot.curve('ndcg', 'recall')", of_rankings=True)
    for call in curves:
        refuse_no_curve(call)
    if cutoffs is None:
        _, _, runs = unpacked(table, shared)
        cutoffs = spaced(deepest(table, runs))
    if not isinstance(cutoffs, Collection) or isinstance(cutoffs, str) or not cutoffs:
        says = f"cutoffs={cutoffs!r} lists no cutoffs"
        raise InvalidOption(f"{says}; write them as cutoffs=[1, 5, 10], or leave them out")
    calls = at_each_cutoff(curves, cutoffs)
    measured = Measured.from_options(table, list(calls), shared)
    rows = measured.means(SERIES)
    last = max(cutoffs)
    x = Axis("cutoff k", whole=True)
    if last > 20:
        ticks = tuple((float(k), str(k)) for k in nice_cutoffs(last))
        limits = (1, last)
        x = replace(x, log=True, ticks=ticks, limits=limits)
    subtitle = f"Mean of the first k documents over {measured.count}{measured.intervals(rows)}"
    several = measured.several
    note = measured.note
    return at_cutoffs(rows, calls, subtitle, x, "mean", several=several, note=note)


def refuse_no_curve(call: Call) -> None:
    """Refuse a metric that takes no cutoff, and one that names its own."""
    if call.cutoff:
        raise InvalidOption(f"{call.text} names a cutoff, and a curve shows all; leave it out")
    if "k" not in call.metric.parameters:
        without = "takes no cutoff, so it has no curve; plot.distribution shows it"
        raise InvalidOption(f"{call.text} {without}")


@plot(by_parts=True)
def precision_recall(table: Table[Any], **shared: Unpack[SlicedOptions]) -> Figure:
    """Interpolated precision at eleven levels of recall: it shows how much precision more recall
    costs.

    Returns
    -------
    A chart or axes, with bands as for :meth:`curve`.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame({"query_id": [1, 1, 2], "score": [2.0, 1.0, 1.0], "label": [0, 1, 1]})
    >>> df.rank.plot.precision_recall().title.text
    'Interpolated precision at eleven levels of recall'
    """
    calls = []
    levels = {}
    for level in LEVELS:
        (call,) = parse(f"interpolated_precision@{level:g}")
        calls.append(call)
        levels[call.text] = float(level)
    measured = Measured.from_options(table, calls, shared)
    rows = measured.means(SERIES)
    recall = at_places("metric", levels)
    rows = rows.with_columns(x=recall, recall=recall)
    title = "Interpolated precision at eleven levels of recall"
    mean = f"mean over {measured.count}{measured.intervals(rows)}"
    subtitle = f"Best precision from that recall on; {mean}"
    ticks = tuple((level, f"{level:g}") for level in LEVELS[::2])
    x = Axis("recall", limits=(0, 1), ticks=ticks)
    y = Axis("mean interpolated precision", limits=(0, 1))
    return Figure(title, subtitle, x, y, banded(rows), lines_of(rows), note=measured.note)


@plot(by_parts=True)
def differences(
    table: Table[Any], metric: Request, *, baseline: Column | None = None, **shared: Unpack[Shared]
) -> Figure:
    """Each query's difference from the baseline, sorted: how many queries gain, how many lose, and
    how much.

    Parameters
    ----------
    metric
        A text, as ``"ndcg@10"``.
    baseline
        The run that the others are compared with; default: the first one.

    Returns
    -------
    A chart or axes: bars for one run against the baseline, a line for each of several. Beyond 400
    queries, neighbouring queries are combined into 400 bars of their mean.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame({
    ...     "query_id": [1, 1, 2], "bm25": [2, 1, 1], "ltr": [1, 2, 1], "label": [0, 1, 1],
    ... })
    >>> df.rank.plot.differences("rr", runs=["bm25", "ltr"]).title.text
    'RR of each query: ltr minus bm25'
    """
    call = one_call(metric, "differences('ndcg@10', runs=['bm25', 'ltr'])")
    measured = Measured.from_options(table, [call], shared)
    names = measured.runs
    refuse_one_run(names)
    if baseline is None:
        baseline = names[0]
    if baseline not in names:
        raise InvalidOption(option(baseline=baseline), f" is none of the runs, {', '.join(names)}")
    others = [name for name in names if name != baseline]
    value = pl.col(call.text)
    of_baseline = value.filter(pl.col(RUN) == baseline).first().over(measured.query)
    difference = value - of_baseline
    paired = measured.values.select(series=RUN, difference=difference)
    is_other = pl.col("series") != baseline
    paired = paired.filter(is_other).drop_nulls()
    counts = paired["series"].value_counts()["count"]
    n = max(counts, default=0)
    limits = (0, max(n, 1))
    counts_of_runs = [wins_and_losses(paired, name, call) for name in others]
    gains = "; ".join(counts_of_runs)
    if len(others) > 1:
        pair = f"run minus {baseline}"
        each = " in each run"
        series = tuple(others)
        gains += ". Each run has its own order, so one place is not one query"
    else:
        pair = f"{others[0]} minus {baseline}"
        each = ""
        series = ("better", "worse")
    x = Axis(f"queries, sorted by their difference{each}", limits=limits, whole=True)
    y = Axis(f"{call.display}, {pair}")
    marks = of_differences(_bars_of(paired), others, call)
    title = f"{call.display} of each query: {pair}"
    among = tuple(names) if len(others) > 1 else ()
    return Figure(title, gains, x, y, marks, series, among=among, note=measured.note)


def refuse_one_run(names: Sequence[str]) -> None:
    """Refuse fewer than two runs, which have no difference."""
    if len(names) < 2:
        says = "differences are those between runs; name at least two score columns, as "
        or_column = ", or the column that names the run of each row, as "
        raise InvalidOption(says, option(runs=["bm25", "ltr"]), or_column, option(run="run"))


def _bars_of(paired: pl.DataFrame) -> pl.DataFrame:
    """The differences of each run, the largest first, as at most `BARS` bars of neighbours."""
    place = pl.int_range(pl.len()).over("series")
    n = pl.len().over("series")
    largest_first = paired.sort("series", "difference", descending=[False, True])
    bar = place * pl.min_horizontal(n, BARS) // n
    bars = largest_first.with_columns(x=place, bar=bar)
    x = pl.col("x").cast(pl.Float64)
    mean = pl.col("difference").mean()
    of_bar = bars.group_by("series", "bar", maintain_order=True)
    rows = of_bar.agg(x.first(), x2=x.last() + 1, y=mean, queries=pl.len())
    zero = pl.lit(0.0)
    return rows.with_columns(y2=zero, difference="y").drop("bar")


def of_differences(rows: pl.DataFrame, others: Sequence[str], call: Call) -> tuple[Mark, ...]:
    """Bars for better and worse queries of one run, or a line for each of several runs."""
    zero = Mark("rule", pl.DataFrame({"y": [0.0]}))
    if len(others) == 1:
        gain = pl.col("y")
        if not call.higher_is_better:
            gain = -gain
        word = pl.when(gain < 0).then(pl.lit("worse"))
        series = word.otherwise(pl.lit("better"))
        bars = rows.with_columns(series=series)
        return (Mark("bar", bars), zero)
    middle = (pl.col("x") + pl.col("x2")) / 2
    line = rows.with_columns(x=middle).drop("x2", "y2")
    return (zero, Mark("line", line))


def wins_and_losses(paired: pl.DataFrame, name: str, call: Call) -> str:
    """How many queries gained and lost, and by how much the mean changed."""
    is_of_run = pl.col("series") == name
    of_run = paired.filter(is_of_run)["difference"]
    above = int((of_run > 0).sum())
    below = int((of_run < 0).sum())
    better, worse = (above, below) if call.higher_is_better else (below, above)
    equal = len(of_run) - better - worse
    counts = f"{better:,} better, {worse:,} worse, {equal:,} equal"
    mean = "" if of_run.is_empty() else f", {of_run.sum() / len(of_run):+.3f} on average"
    return f"{name}: {counts}{mean}"


@plot(by_parts=True)
def distribution(table: Table[Any], metric: Request, **shared: Unpack[SlicedOptions]) -> Figure:
    """The distribution of a metric over the queries, per run or slice: it shows whether values are
    similar, or mostly zeros and ones.

    Parameters
    ----------
    metric
        As for :meth:`differences`.

    Returns
    -------
    A chart or axes: a histogram per run or slice, all on the same scale, with median, mean and the
    mean's interval.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame({"query_id": [1, 1, 2], "score": [2.0, 1.0, 1.0], "label": [0, 1, 1]})
    >>> df.rank.plot.distribution("rr").title.text
    'Distribution of RR over the queries'
    """
    call = one_call(metric, "distribution('ndcg@10')")
    measured = Measured.from_options(table, [call], shared)
    names = measured.series
    legible(names, ROWS, "histograms")
    means = measured.means(SERIES)
    values = measured.values.select(series=SERIES, value=call.text).drop_nulls()
    places = {name: float(len(names) - 1 - i) for i, name in enumerate(names)}
    row = at_places("series", places)
    (of_setup,) = measured.calls  # weights change bounds
    low, high = reach(values["value"], of_setup)
    margin = MARGIN * (high - low)
    bars = _histograms(values, low, high, row)
    of_series = values.group_by("series", maintain_order=True)
    medians = of_series.agg(median=pl.col("value").median())
    upright = medians.select("median", x="median", y=row - 0.08, y2=row + 0.45)
    dots = means.select("series", x="y", y=row - 0.1, mean="y", queries="queries")
    intervals = means.select("series", x="low", x2="high", y=row - 0.1)
    marks = [Mark("bar", bars), Mark("interval", upright)]
    marks.append(Mark("interval", intervals.drop_nulls("x")))
    marks.append(Mark("point", dots))
    scale = ", on the same scale for all" if len(names) > 1 else ""
    bar = f"Height of a bar: share of {measured.count}{scale}"
    subtitle = f"{bar}. Upright line: median. Dot: mean{measured.intervals(means)}"
    ticks = tuple((place, name) for name, place in reversed(places.items()))
    x = Axis(call.display, limits=(low - margin, high + margin))
    n = len(names)
    y = Axis("", ticks=ticks, limits=(-0.3, float(n)))
    height = 60 + 70 * max(n, 2) if n <= 8 else 50 * n
    title = f"Distribution of {call.display} over the queries"
    figure = Figure(title, subtitle, x, y, tuple(marks), tuple(names), legend=False)
    return replace(figure, height=height, note=measured.note)


def _histograms(values: pl.DataFrame, low: float, high: float, row: pl.Expr) -> pl.DataFrame:
    """The bars of the values of each series, above its row."""
    width = (high - low) / BINS
    place = (pl.col("value") - low) / width
    bin_ = place.floor().cast(pl.Int32).clip(0, BINS - 1)
    values = values.with_columns(bin=bin_, n=pl.len().over("series"))
    share = pl.len() / pl.col("n").first()
    of_bin = values.group_by("series", "bin", maintain_order=True)
    bars = of_bin.agg(queries=pl.len(), share=share)
    bars = bars.sort("series", "bin").with_columns(x=low + pl.col("bin") * width, y=row)
    height = 0.85 * pl.col("share") / pl.col("share").max()
    bars = bars.with_columns(x2=pl.col("x") + width, y2=pl.col("y") + height)
    return bars.drop("bin")


@plot(by_parts=True)
def slices(
    table: Table[Any], metric: Request, *, by: Column, **shared: Unpack[Estimated]
) -> Figure:
    """A metric in each slice of the queries, with its interval: it shows which slices are better or
    worse than all queries.

    Parameters
    ----------
    metric
        As for :meth:`differences`.

    Returns
    -------
    A chart or axes: a row for each slice, the best on top; at most the 40 slices with the most
    queries.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame({
    ...     "query_id": [1, 2, 3], "score": [1, 1, 1],
    ...     "label": [1, 0, 0], "day": ["mo", "mo", "tu"],
    ... })
    >>> df.rank.plot.slices("rr", by="day").title.text
    'RR by day'
    """
    call = one_call(metric, "slices('ndcg@10', by='market')")
    require(table.rows.schema, by, "by")
    measured = Measured.from_options(table, [call], shared, by)
    return of_slices(measured, by)


def of_slices(measured: Measured, by: str, given: Sequence[str] | None = None) -> Figure:
    """The plot of slices, in the `given` order or by their means."""
    (call,), runs = measured.calls, measured.runs
    means = measured.means(SLICE, RUN)
    text = pl.col(SLICE).cast(pl.String)
    means = means.with_columns(text.fill_null("null"))
    by_slice = means.group_by(SLICE, maintain_order=True)
    slices = by_slice.agg(pl.max("queries"), pl.mean("y"))
    by_size = slices.sort("queries", descending=True, maintain_order=True)
    largest = by_size.head(ROWS).sort("y", SLICE)
    order = largest[SLICE].to_list()
    if given is not None:
        order.sort(key=list(given).index, reverse=True)
    gaps = len(runs) + 1
    height = max(28, GAP * gaps)
    is_shown = pl.col(SLICE).is_in(order)
    shown = means.filter(is_shown)
    rows = _rows_of_slices(shown, order, runs, GAP / height)
    intervals = rows.drop_nulls("low").select("series", "y", "slice", x="low", x2="high")
    between = [i - 0.5 for i in range(1, len(order))]
    marks = [Mark("divider", pl.DataFrame({"y": between}, {"y": pl.Float64}))]
    subtitle = f"Mean over {measured.count}{measured.intervals(means)}"
    if len(slices) > len(order):
        subtitle += f"; the {len(order)} largest of {len(slices)} slices"
    if len(runs) == 1:
        mean = measured.means().select(x="y")
        marks.append(Mark("rule", mean))
        subtitle += "; dashed: all queries"
    marks.append(Mark("interval", intervals))
    points = rows.drop("low", "high")
    marks.append(Mark("point", points))
    size = dict(slices.select(SLICE, "queries").iter_rows())
    ticks = tuple((float(i), f"{name} ({size[name]:,})") for i, name in enumerate(order))
    x = Axis(call.display)
    n = max(len(order), 1)
    limits = (-0.5, n - 0.5)
    y = Axis(by, grid=False, ticks=ticks, limits=limits)
    title = f"{call.display} by {by}"
    series = tuple(runs)
    height *= max(len(order), 2)
    note = measured.note
    return Figure(title, subtitle, x, y, tuple(marks), series, height=height, note=note)


def _rows_of_slices(
    means: pl.DataFrame, order: Sequence[str], runs: Sequence[str], gap: float
) -> pl.DataFrame:
    """The means in a row for each slice, those of its runs one below the other."""
    places = {name: float(i) for i, name in enumerate(order)}
    middle = (len(runs) - 1) / 2
    offsets = {name: (middle - i) * gap for i, name in enumerate(runs)}
    y = at_places(SLICE, places) + at_places(RUN, offsets)
    ends = pl.col("low", "high")
    return means.select(ends, x="y", y=y, series=RUN, slice=SLICE, queries="queries")


@plot(by_parts=True)
def over(table: Table[Any], metric: Request, *, by: Column, **shared: Unpack[Estimated]) -> Figure:
    """The mean of a metric by day, version or another ordered column, with its interval: it shows
    when quality changed.

    Parameters
    ----------
    metric
        As for :meth:`differences`.

    Returns
    -------
    A chart or axes: a line for each run over the band of its intervals. Numbers, dates and times
    stand at their distances; other values are equally far apart: categories of an Enum in their
    order, texts sorted, with their whole numbers by size, so that ``v10`` follows ``v9``. Queries
    where the column is null, NaN or infinite are left out; the subtitle counts them. A mean of one
    query has no interval, which leaves a gap in the band.

    Raises
    ------
    InvalidOption
        If the column has more than 400 values, or there are more than 12 runs.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame({
    ...     "query_id": [1, 2, 3], "score": [1, 1, 1],
    ...     "label": [1, 0, 0], "version": ["v9", "v9", "v10"],
    ... })
    >>> df.rank.plot.over("rr", by="version").title.text
    'RR over version'
    """
    call = one_call(metric, "over('ndcg@10', by='day')")
    require(table.rows.schema, by, "by")
    measured = Measured.from_options(table, [call], shared, by)
    places = placed(measured.values[SLICE].unique())
    legible(places["text"], BARS, f"values of {by}")
    values = measured.values
    there = values.join(places, on=SLICE)
    missing = values.join(places, on=SLICE, how="anti", nulls_equal=True)
    of_runs = there.with_columns(pl.col(RUN).alias(SERIES))
    rows = measured.means("x", "text", SERIES, values=of_runs)
    rows = rows.sort("x").with_columns(slice="text", mean="y").drop("text")
    x = places["x"]
    first, last = (x[0], x[-1]) if len(x) else (0.0, 0.0)
    margin = 0.03 * (last - first) or 0.5
    limits = (first - margin, last + margin)
    of_x = Axis(by, ticks=thinned(places), limits=limits)
    y = Axis(call.display)
    subtitle = f"Mean over {most_queries(there)}{measured.intervals(rows)}"
    if len(missing):
        subtitle += f"; left out: {most_queries(missing)} where {by} is null"
    title = f"{call.display} over {by}"
    series = tuple(measured.runs)
    return Figure(title, subtitle, of_x, y, banded(rows), series, note=measured.note)


@plot(by_parts=True)
def judged(table: Table[Any], metric: Request, **shared: Unpack[SlicedOptions]) -> Figure:
    """A metric against the number of judged documents: it shows whether the value depends on how
    much was judged.

    Parameters
    ----------
    metric
        As for :meth:`differences`.

    Returns
    -------
    A chart or axes: a dot per query, or per group of queries if there are many, and the mean of
    queries with similar numbers of judged documents. A negative label counts as unjudged.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame({"query_id": [1, 1, 2], "score": [2.0, 1.0, 1.0], "label": [0, 1, 1]})
    >>> df.rank.plot.judged("rr").title.text
    'RR against the number of judged documents'
    """
    call = one_call(metric, "judged('ndcg@10')")
    measured = Measured.from_options(table, [call], shared)
    key = measured.key
    counts = table.by_parts(JudgedDocuments(tuple(key)))
    values = measured.values.join(
        counts, on=key, how="left", nulls_equal=True, maintain_order="left"
    )
    if not measured.several:
        name = pl.lit(call.display)
        values = values.with_columns(name.alias(SERIES))
    values = values.drop_nulls(["judged", call.text])
    names = tuple(values[SERIES].unique(maintain_order=True))
    spots = values.select(series=SERIES, x="judged", y=call.text)
    if spots.n_unique() > CELLS**2:
        spots = spots.with_columns(middles("x", spots), middles("y", spots))
    spots = spots.group_by(pl.all()).agg(queries=pl.len())
    size = pl.col("queries").sqrt()
    spots = spots.with_columns(size=size).sort("x", "y", "series")
    marks = [Mark("point", spots)]
    subtitle = f"Dots: {measured.count}, larger where several share a place"
    rows = _means_of_groups(measured, values)
    if len(rows):
        marks += banded(rows)
        subtitle += f". Line: mean{measured.intervals(rows)}"
    title = f"{call.display} against the number of judged documents"
    x = Axis("judged documents of a query", whole=True)
    y = Axis(call.display)
    return Figure(title, subtitle, x, y, tuple(marks), names, note=measured.note)


def _means_of_groups(measured: Measured, values: pl.DataFrame) -> pl.DataFrame:
    """The mean of groups of queries with similar numbers of judged documents."""
    n_queries = pl.len().over(SERIES)
    distinct = pl.col("judged").n_unique().over(SERIES)
    groups = pl.min_horizontal(12, n_queries // 8, distinct)
    rank = pl.col("judged").rank().over(SERIES)
    part = (rank - 1) * groups // n_queries
    values = values.with_columns(part=part).filter(groups > 1)
    of_parts = values.group_by("part", series=SERIES)
    places = of_parts.agg(x=pl.col("judged").mean())
    means = measured.means("part", SERIES, values=values)
    means = means.join(places, on=["part", "series"])
    return means.sort("x", "series").drop("part")


@dataclass(frozen=True)
class JudgedDocuments:
    """The number of judged documents of each query of a part.

    `query` also names the run if a column does.
    """

    query: tuple[str, ...]

    def __call__(self, part: Table[Any]) -> pl.DataFrame:
        docs, of_docs = by_document(part.rows, part.setup.changed(query=self.query))
        is_judged = (pl.col(of_docs.roles.label) >= 0).sum().cast(pl.Float64)
        return docs.group_by(self.query, maintain_order=True).agg(is_judged.alias("judged"))


@plot(runs=runs_for, by_parts=True)
def contributions(
    table: Table[Any],
    method: FusionMethod,
    *,
    k: Annotated[int, Range(least=1, most=ROWS)] = 10,
    **shared: Unpack[Shared],
) -> Figure:
    """The contribution of each run to a fusion: it shows whether one run decides the top ranks, or
    whether runs agree.

    Parameters
    ----------
    method
        A method of fusion that is a sum, with its options, as for ``df.rank.fuse``: ``"rrf"``,
        ``"comb_sum(normalize=min_max)"``; or a trained one.
    k
        How many fused ranks to show, at most 40.

    Returns
    -------
    A chart or axes: a row of stacked bars per fused rank, the mean contribution of each run over
    the queries. A table of one query has a row per document.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame({
    ...     "query_id": [1, 1], "doc_id": ["a", "b"], "bm25": [2.0, 1.0], "dense": [None, 1.0],
    ... })
    >>> df.rank.plot.contributions("rrf", runs=["bm25", "dense"]).title.text
    'What each run contributes to rrf'
    """
    runs = runs_for(method, shared.get("runs"), shared.get("run")).required()
    names = names_of_runs(table, runs)
    text = text_of(method)
    of_part = Contributions(method, runs, tuple(names), k)
    parts = table.by_parts(of_part)
    if parts["no sum"].any():
        says = f"{text} is no sum of what each run contributes"
        raise InvalidOption(f"{says}; plot a method that is one, as contributions('rrf')")
    rows = _mean_contributions(parts, names)
    width = pl.col("contribution")
    place = -pl.col("fused_rank").cast(pl.Float64)
    # negative ones extend to the left
    x2 = width.cum_sum().over("fused_rank", width < 0)
    bars = rows.with_columns(x=x2 - width, x2=x2, series=RUN_OF_TABLE)
    bars = bars.with_columns(y=place - 0.4, y2=place + 0.4)
    n = int(max(rows["queries"], default=0))
    label = pl.col("fused_rank").cast(pl.String)
    if n == 1 and rows["document"].is_not_null().any():
        x = Axis("fused score")
        title_of_y = "document (fused rank)"
        subject = "Contribution to the fused score of each document"
        label = pl.format("{} ({})", "document", label)
    else:
        x = Axis("mean fused score")
        title_of_y = "fused rank"
        subject = "Mean contribution to the fused score at each rank"
    labels = rows.select(place, label.alias("label"))
    ticks = tuple(sorted(dict(labels.iter_rows()).items()))
    last = -ticks[0][0] if ticks else 1.0
    limits = (-last - 0.6, -0.4)
    y = Axis(title_of_y, grid=False, ticks=ticks, limits=limits)
    bars = bars.drop("document").rename({"fused_rank": "rank"})
    marks = (Mark("bar", bars),)
    height = 60 + 24 * max(int(last), 3)
    title = f"What each run contributes to {text}"
    subtitle = f"{subject}, over {queries(n)}"
    return Figure(title, subtitle, x, y, marks, tuple(names), height=height)


def _mean_contributions(parts: pl.DataFrame, names: Sequence[str]) -> pl.DataFrame:
    """The mean contribution of each run to a rank, over the queries that have one."""
    n_queries = pl.col("queries").sum().over("fused_rank")
    of_ranks = parts.with_columns(n_queries).group_by("fused_rank", RUN_OF_TABLE)
    mean = pl.sum("contribution") / pl.first("queries")
    rows = of_ranks.agg(mean, pl.first("queries", "document"))
    in_order = pl.col(RUN_OF_TABLE).cast(pl.Enum(names))
    return rows.sort("fused_rank", in_order)


@dataclass(frozen=True)
class Contributions:
    """The contributions of runs to the first fused ranks of a part.

    There is a row per rank and run, with its sum over the queries.

    The first row of a rank has the number of the part's queries that have one, the others 0; each
    has one document there.
    """

    method: FusionMethod
    runs: Runs
    names: tuple[str, ...]
    k: int

    def __call__(self, part: Table[Any]) -> pl.DataFrame:
        table = Table[pl.DataFrame](part.rows, part.setup, Whole(runs=self.names))
        runs = self.runs
        named: dict[str, Any] = {"runs": runs.scores or None, "run": runs.column}
        rows: pl.DataFrame = explain(table, self.method, **named)
        rows = rows.filter(pl.col("fused_rank") <= self.k)
        query = runs.queries(part.setup).roles.query
        n_queries = pl.struct(query).n_unique().over("fused_rank")
        rows = rows.with_columns(queries=n_queries)
        doc = part.setup.roles.doc_in(rows.columns)
        document = pl.lit(None) if doc is None else pl.col(doc).first()
        document = document.cast(pl.String).alias("document")
        width = pl.col("contribution")
        no_sum = width.is_null().any().alias("no sum")
        by_run = rows.group_by("fused_rank", RUN_OF_TABLE, maintain_order=True)
        of_runs = by_run.agg(width.sum(), no_sum, pl.col("queries").first(), document)
        place = pl.int_range(pl.len()).over("fused_rank")
        of_first = pl.when(place == 0).then("queries")
        return of_runs.with_columns(of_first.otherwise(0).alias("queries"))


@plot(by_parts=True)
def overlap(table: Table[Any], *, k: int | None = 10, **shared: Unpack[Shared]) -> Figure:
    """The share of documents that every two runs have in common: it shows which runs find documents
    that others miss.

    Parameters
    ----------
    k
        As for ``df.rank.fusion.overlap``.

    Returns
    -------
    A chart or axes: a cell for every two runs, the darker the more documents they share, with the
    mean Jaccard index of their top k.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame({
    ...     "query_id": [1, 1], "doc_id": ["a", "b"], "bm25": [2.0, 1.0], "dense": [None, 1.0],
    ... })
    >>> df.rank.plot.overlap(runs=["bm25", "dense"]).title.text
    'Documents that two runs have in common'
    """
    runs = unpacked(table, shared)[2]
    in_polars = replace(table, give=unchanged)
    of_runs = overlap_of(in_polars, runs=runs.scores or None, run=runs.column, k=k)
    names = of_runs.settings["runs"]
    legible(names, LINES, "runs")
    place = {name: float(i + 1) for i, name in enumerate(names)}
    one_way = of_runs.table.select("run", "other", "jaccard", "overlap", "rbo").drop_nulls()
    turned = one_way.rename({"run": "other", "other": "run"}).select(one_way.columns)
    x = at_places("other", place)
    y = -at_places("run", place)
    corners = {"x": x - 0.5, "x2": x + 0.5, "y": y - 0.5, "y2": y + 0.5}
    label = pl.col("jaccard").map_elements("{:.2f}".format, return_dtype=pl.String)
    series = pl.lit("jaccard").alias("series")
    both = pl.concat([one_way, turned])
    cells = both.select(series, pl.all(), **corners, size="jaccard", label=label)
    across = tuple((i, f"{i:g}") for i in place.values())
    down = tuple((-i, f"{name} ({i:g})") for name, i in reversed(place.items()))
    low = 0.5
    high = len(names) + 0.5
    of_x = Axis("", grid=False, ticks=across, limits=(low, high))
    of_y = Axis("", grid=False, ticks=down, limits=(-high, -low))
    n = max(of_runs.table["n_queries"], default=0)
    top = "the documents" if k is None else f"the top {k} documents"
    subtitle = f"Share of {top} of either run that both have: Jaccard index, mean over {queries(n)}"
    title = "Documents that two runs have in common"
    marks = (Mark("bar", cells),)
    height = max(120, 44 * len(names))
    return Figure(title, subtitle, of_x, of_y, marks, ("jaccard",), legend=False, height=height)


def middles(name: str, spots: pl.DataFrame) -> pl.Expr:
    """Values rounded to the middles of `CELLS` equal cells, if there are more distinct values."""
    if spots[name].n_unique() <= CELLS:
        return pl.col(name)
    low = float(spots[name].min())  # type: ignore[arg-type]
    high = float(spots[name].max())  # type: ignore[arg-type]
    width = (high - low) / CELLS
    place = (pl.col(name) - low) / width
    cell = place.floor().clip(0, CELLS - 1)
    return (low + width * (cell + 0.5)).alias(name)


def reach(values: pl.Series, call: Call) -> tuple[float, float]:
    """The ends of a metric's axis: its bounds, or if it has none, its values."""
    least, greatest = call.bounds
    low = float(values.min() or 0) if least is None else float(least)  # type: ignore[arg-type]
    high = float(values.max() or 0) if greatest is None else greatest  # type: ignore[arg-type]
    return low, float(high) if high > low else low + 1


def spaced(last: int) -> list[int]:
    """Every cutoff to 20, then some at about equal ratios, up to the last."""
    cutoffs = {*range(1, min(last, 20) + 1)}
    if last > 20:
        cutoffs |= {min(last, round(20 * 1.1**i)) for i in range(200)}
    return sorted(cutoffs)


def nice_cutoffs(last: int) -> list[int]:
    cutoffs = (digit * 10**power for power in range(9) for digit in (1, 2, 5))
    return [k for k in cutoffs if k <= last]


@plot(by_parts=True)
def propensities(
    table: Table[Any],
    *,
    context: ColumnNames | None = None,
    method: Method = "harvest",
    k: Ranks = 10,
    **shared: Unpack[Estimated],
) -> Figure:
    """How often users examine each rank, over rank 1: the position bias of a log of clicks.

    Parameters
    ----------
    context, method, k
        As for :meth:`propensities`.

    Returns
    -------
    A chart or axes, with bands as of ``df.rank.clicks.propensities``.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> log = pl.DataFrame({
    ...     "query_id": 1, "ranker": list("aabb"), "doc_id": list("xyyx"),
    ...     "rank": [1, 2] * 2, "label": 1,
    ... })
    >>> log.rank.on(rank="rank").plot.propensities(run="ranker", k=2).title.text
    'Examination of each rank'
    """
    runs = unpacked(table, shared)[2]
    if runs.scores:
        raise InvalidOption(
            "a log names the ranker of each list in a column; say which, as ", option(run="ranker")
        )
    ci = shared.get("ci", CI)
    log = replace(table, give=unchanged)
    of_log: dict[str, Any] = {"context": context, "method": method, "k": k}
    ranks = estimated(log, run=runs.column, **of_log, ci=ci or CI, progress=False)
    no_end = pl.lit(None, pl.Float64)
    low, high = ("ci_low", "ci_high") if ci else (no_end, no_end)
    rank = pl.col("rank").cast(pl.Float64)
    series = pl.lit("examination")
    rows = ranks.select(series=series, x=rank, y="propensity", low=low, high=high)
    rows = rows.drop_nulls("y")
    clicks = f"{ranks['n_clicks'].sum():,} clicks on documents shown at several ranks"
    of_ci = with_intervals(ci, "percentiles")
    subtitle = f"Probability that users look, over that of rank 1; {clicks}{of_ci}"
    x = Axis("rank", whole=True)
    y = Axis("examination over rank 1")
    title = "Examination of each rank"
    lines = lines_of(rows)
    return Figure(title, subtitle, x, y, banded(rows), lines, legend=False)


def deepest(table: Table[Any], runs: Runs) -> int:
    """The largest number of documents of a query in any run."""
    depths = table.by_parts(Depth(runs))["depth"]
    most = int(max(depths.drop_nulls(), default=0)) or 1
    depth = table.setup.policies.depth
    return most if depth is None else min(most, depth)


@dataclass(frozen=True)
class Depth:
    """The largest number of documents of a query in any run of a part."""

    runs: Runs

    def __call__(self, part: Table[Any]) -> pl.DataFrame:
        runs = self.runs
        setup = part.setup
        runs.require(part.rows, setup)
        key = [*runs.key, *runs.queries(setup).roles.query]
        docs, _ = by_document(part.rows, setup.changed(query=key), carry=runs.scores)
        scores = runs.scores or (setup.roles.score,)
        n_documents = [pl.count(score).alias(f"#{i}") for i, score in enumerate(scores)]
        of_queries = docs.lazy().group_by(key).agg(n_documents)
        most = pl.max_horizontal(pl.exclude(key)).max()
        return of_queries.select(most.alias("depth")).collect()
