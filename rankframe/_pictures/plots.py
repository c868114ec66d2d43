"""The content of each plot, for any drawing library: a title, two axes and a few thousand marks at
most.
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
    drawn = averaged(metrics, "plot.curve('ndcg', 'recall')", of_rankings=True)
    for call in drawn:
        if call.cutoff or "k" not in call.metric.parameters:
            without = "takes no cutoff, so it has no curve; plot.distribution shows it"
            why = "names a cutoff, and a curve shows all; leave it out" if call.cutoff else without
            raise InvalidOption(f"{call.text} {why}")
    if cutoffs is None:
        cutoffs = spaced(deepest(table, unpacked(table, shared)[2]))
    if not isinstance(cutoffs, Collection) or isinstance(cutoffs, str) or not cutoffs:
        says = f"cutoffs={cutoffs!r} lists no cutoffs"
        raise InvalidOption(f"{says}; write them as cutoffs=[1, 5, 10], or leave them out")
    at = {call.with_defaults({"k": k}): (call, k) for call in drawn for k in cutoffs}
    measured, last = Measured.of(table, list(at), shared), max(cutoffs)
    rows = measured.means(SERIES)
    ticks = tuple((float(k), str(k)) for k in nice_cutoffs(last)) if last > 20 else None
    x = Axis(
        "cutoff k", log=last > 20, ticks=ticks, limits=(1, last) if last > 20 else None, whole=True
    )
    subtitle = f"Mean of the first k documents over {measured.count}{measured.intervals(rows)}"
    return at_cutoffs(rows, at, subtitle, x, "mean", several=measured.several, note=measured.note)


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
    levels = {parse(f"interpolated_precision@{level:g}")[0].text: float(level) for level in LEVELS}
    measured = Measured.of(table, [parse(text)[0] for text in levels], shared)
    rows = measured.means(SERIES)
    level = pl.col("metric").replace_strict(levels, return_dtype=pl.Float64)
    rows = rows.with_columns(x=level, recall=level)
    title = "Interpolated precision at eleven levels of recall"
    subtitle = (
        f"Best precision from that recall on; mean over {measured.count}{measured.intervals(rows)}"
    )
    x = Axis("recall", limits=(0, 1), ticks=tuple((level, f"{level:g}") for level in LEVELS[::2]))
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
    >>> df = pl.DataFrame({"query_id": [1, 1, 2], "bm25": [2, 1, 1], "ltr": [1, 2, 1], "label": [0, 1, 1]})
    >>> df.rank.plot.differences("rr", runs=["bm25", "ltr"]).title.text
    'RR of each query: ltr minus bm25'
    """
    call = one_call(metric, "differences('ndcg@10', runs=['bm25', 'ltr'])")
    measured = Measured.of(table, [call], shared)
    found, names = measured.values, measured.runs
    if len(names) < 2:
        says = "differences are those between runs; name at least two score columns, as "
        or_column = ", or the column that names the run of each row, as ", option(run="run")
        raise InvalidOption(says, option(runs=["bm25", "ltr"]), *or_column)
    baseline = names[0] if baseline is None else baseline
    if baseline not in names:
        raise InvalidOption(option(baseline=baseline), f" is none of the runs, {', '.join(names)}")
    own = pl.col(call.text) - pl.col(call.text).filter(pl.col(RUN) == baseline).first().over(
        measured.query
    )
    paired = (
        found.select(series=RUN, difference=own).filter(pl.col("series") != baseline).drop_nulls()
    )
    others = [name for name in names if name != baseline]
    n = max(paired["series"].value_counts()["count"], default=0)
    place, of = pl.int_range(pl.len()).over("series"), pl.len().over("series")
    x, x2 = pl.col("x").first().cast(pl.Float64), pl.col("x").last().cast(pl.Float64) + 1
    sorted_ = paired.sort("series", "difference", descending=[False, True])
    bars = sorted_.with_columns(x=place, bar=place * pl.min_horizontal(of, BARS) // of)
    means = {"x2": x2, "y": pl.col("difference").mean(), "queries": pl.len()}
    sorted_ = bars.group_by("series", "bar", maintain_order=True).agg(x, **means)
    sorted_ = sorted_.with_columns(y2=pl.lit(0.0), difference="y").drop("bar")
    several = len(others) > 1
    pair = f"{'run' if several else others[0]} minus {baseline}"
    each_own = ". Each run has its own order, so one place is not one query" if several else ""
    subtitle = "; ".join(wins_and_losses(paired, name, call) for name in others) + each_own
    across = f"queries, sorted by their difference{' in each run' if several else ''}"
    x_axis, y_axis = (
        Axis(across, limits=(0, max(n, 1)), whole=True),
        Axis(f"{call.display}, {pair}"),
    )
    drawn, among = (tuple(others), tuple(names)) if several else (("better", "worse"), ())
    marks = of_differences(sorted_, others, call)
    title = f"{call.display} of each query: {pair}"
    return Figure(title, subtitle, x_axis, y_axis, marks, drawn, among=among, note=measured.note)


def of_differences(rows: pl.DataFrame, others: Sequence[str], call: Call) -> tuple[Mark, ...]:
    """Bars for better and worse queries of one run, or a line for each of several runs."""
    zero = Mark("rule", pl.DataFrame({"y": [0.0]}))
    if len(others) == 1:
        gain = pl.col("y") if call.higher_is_better else -pl.col("y")
        sign = pl.when(gain < 0).then(pl.lit("worse")).otherwise(pl.lit("better"))
        return (Mark("bar", rows.with_columns(series=sign)), zero)
    middle = rows.with_columns(x=(pl.col("x") + pl.col("x2")) / 2)
    return (zero, Mark("line", middle.drop("x2", "y2")))


def wins_and_losses(paired: pl.DataFrame, name: str, call: Call) -> str:
    """How many queries gained and lost, and by how much the mean changed."""
    of = paired.filter(pl.col("series") == name)["difference"]
    above, below = int((of > 0).sum()), int((of < 0).sum())
    better, worse = (above, below) if call.higher_is_better else (below, above)
    mean = "" if of.is_empty() else f", {of.sum() / len(of):+.3f} on average"
    return f"{name}: {better:,} better, {worse:,} worse, {len(of) - better - worse:,} equal{mean}"


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
    measured = Measured.of(table, [call], shared)
    found = measured.values.select(
        pl.col(SERIES).alias("series"), pl.col(call.text).alias("value")
    ).drop_nulls()
    names, rows = measured.series, measured.means(SERIES)
    legible(names, ROWS, "histograms")
    places = {name: float(len(names) - 1 - i) for i, name in enumerate(names)}
    row = pl.col("series").replace_strict(places, default=None, return_dtype=pl.Float64)
    low, high = reach(found["value"], measured.calls[0])  # weights change bounds
    margin = MARGIN * (high - low)
    width = (high - low) / BINS
    bin_ = ((pl.col("value") - low) / width).floor().cast(pl.Int32).clip(0, BINS - 1)
    bins = found.with_columns(bin=bin_, n=pl.len().over("series")).group_by(
        "series", "bin", maintain_order=True
    )
    bars = bins.agg(queries=pl.len(), share=pl.len() / pl.col("n").first()).sort("series", "bin")
    bars = bars.with_columns(x=low + pl.col("bin") * width, y=row).drop("bin")
    high_of_bar = 0.85 * pl.col("share") / pl.col("share").max()
    bars = bars.with_columns(x2=pl.col("x") + width, y2=pl.col("y") + high_of_bar)
    middle = (
        found.group_by("series", maintain_order=True)
        .agg(x=pl.col("value").median())
        .with_columns(y=row)
    )
    at = rows.select(
        "series", x="y", x2="high", low="low", y=row - 0.1, mean="y", queries="queries"
    )
    several = ", on the same scale for all" if len(names) > 1 else ""
    marks = (
        Mark("bar", bars),
        Mark(
            "interval", middle.select("x", y=pl.col("y") - 0.08, y2=pl.col("y") + 0.45, median="x")
        ),
        Mark("interval", at.drop_nulls("low").select("series", "x2", "y", x="low")),
        Mark("point", at.drop("x2", "low")),
    )
    shares = (
        f"Height of a bar: share of {measured.count}{several}. Upright line: median. Dot: "
        f"mean{measured.intervals(rows)}"
    )
    x = Axis(call.display, limits=(low - margin, high + margin))
    y = Axis(
        "",
        ticks=tuple((y, name) for name, y in reversed(places.items())),
        limits=(-0.3, float(len(names))),
    )
    height = 60 + 70 * min(max(len(names), 2), 8) if len(names) <= 8 else 50 * len(names)
    title = f"Distribution of {call.display} over the queries"
    return Figure(
        title, shares, x, y, marks, tuple(names), legend=False, height=height, note=measured.note
    )


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
    >>> df = pl.DataFrame({"query_id": [1, 2, 3], "score": [1, 1, 1], "label": [1, 0, 0], "day": ["mo", "mo", "tu"]})
    >>> df.rank.plot.slices("rr", by="day").title.text
    'RR by day'
    """
    call = one_call(metric, "slices('ndcg@10', by='market')")
    require(table.rows.schema, by, "by")
    return of_slices(Measured.of(table, [call], shared, by), by)


def of_slices(measured: Measured, by: str, given: Sequence[str] | None = None) -> Figure:
    """The plot of slices, in the `given` order or by their means."""
    (call,), names = measured.calls, measured.runs
    rows = measured.means(SLICE, RUN).with_columns(pl.col(SLICE).cast(pl.String).fill_null("null"))
    sizes = rows.group_by(SLICE, maintain_order=True).agg(
        pl.col("queries").max(), pl.col("y").mean()
    )
    shown = sizes.sort("queries", descending=True, maintain_order=True).head(ROWS)
    order = shown.sort("y", SLICE)[SLICE].to_list()
    if given is not None:
        order.sort(key=list(given).index, reverse=True)
    numbers = {name: float(i) for i, name in enumerate(order)}
    place = pl.col(SLICE).replace_strict(numbers, default=None, return_dtype=pl.Float64)
    high = max(28, GAP * (len(names) + 1))
    offsets = {name: ((len(names) - 1) / 2 - i) * GAP / high for i, name in enumerate(names)}
    kinds = measured.intervals(rows)
    at = place + pl.col(RUN).replace_strict(offsets, return_dtype=pl.Float64)
    rows = rows.filter(pl.col(SLICE).is_in(order))
    rows = rows.select(
        series=RUN, x="y", low="low", high="high", y=at, slice=SLICE, queries="queries"
    )
    n = dict(sizes.select(SLICE, "queries").iter_rows())
    left = len(sizes) - len(order)
    some = f"; the {len(order)} largest of {len(sizes)} slices" if left else ""
    bars = rows.drop_nulls("low").select("series", "y", "slice", x=pl.col("low"), x2=pl.col("high"))
    rule = [Mark("rule", measured.means().select(x="y"))] if len(names) == 1 else []
    between = Mark(
        "divider", pl.DataFrame({"y": [i - 0.5 for i in range(1, len(order))]}, {"y": pl.Float64})
    )
    ticks = tuple((float(i), f"{name} ({n[name]:,})") for i, name in enumerate(order))
    y = Axis(by, grid=False, ticks=ticks, limits=(-0.5, max(len(order), 1) - 0.5))
    subtitle = f"Mean over {measured.count}{kinds}{some}{'; dashed: all queries' if rule else ''}"
    marks = (between, *rule, Mark("interval", bars), Mark("point", rows.drop("low", "high")))
    axes, height = (Axis(call.display), y), high * max(len(order), 2)
    title = f"{call.display} by {by}"
    return Figure(title, subtitle, *axes, marks, tuple(names), height=height, note=measured.note)


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
    >>> df = pl.DataFrame({"query_id": [1, 2, 3], "score": [1, 1, 1], "label": [1, 0, 0], "version": ["v9", "v9", "v10"]})
    >>> df.rank.plot.over("rr", by="version").title.text
    'RR over version'
    """
    call = one_call(metric, "over('ndcg@10', by='day')")
    require(table.rows.schema, by, "by")
    measured = Measured.of(table, [call], shared, by)
    places = placed(measured.values[SLICE].unique())
    legible(places["x"], BARS, f"values of {by}")
    shown = measured.values.join(places, on=SLICE)
    rows = measured.means("x", "text", SERIES, values=shown.with_columns(pl.col(RUN).alias(SERIES)))
    rows = rows.sort("x").with_columns(slice="text", mean="y").drop("text")
    missing = measured.values.join(places, on=SLICE, how="anti", nulls_equal=True)
    left = "" if missing.is_empty() else f"; left out: {most_queries(missing)} where {by} is null"
    first, last = (places["x"][0], places["x"][-1]) if len(places) else (0.0, 0.0)
    margin = 0.03 * (last - first) or 0.5
    x = Axis(by, ticks=thinned(places), limits=(first - margin, last + margin))
    subtitle = f"Mean over {most_queries(shown)}{measured.intervals(rows)}{left}"
    title, y = f"{call.display} over {by}", Axis(call.display)
    return Figure(title, subtitle, x, y, banded(rows), tuple(measured.runs), note=measured.note)


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
    measured = Measured.of(table, [call], shared)
    n = table.by_parts(JudgedDocuments(tuple(measured.key)))
    series = pl.lit(call.display) if not measured.several else pl.col(SERIES)
    both = measured.values.join(
        n, on=measured.key, how="left", nulls_equal=True, maintain_order="left"
    )
    both = both.with_columns(series.alias(SERIES)).drop_nulls(["judged", call.text])
    names = tuple(both[SERIES].unique(maintain_order=True))
    spots = both.select(series=SERIES, x="judged", y=call.text)
    if spots.n_unique() > CELLS**2:
        spots = spots.with_columns(middles("x", spots), middles("y", spots))
    of_series = pl.len().over(SERIES)
    groups = pl.min_horizontal(12, of_series // 8, pl.col("judged").n_unique().over(SERIES))
    part = (pl.col("judged").rank().over(SERIES) - 1) * groups // of_series
    both = both.with_columns(part=part).filter(groups > 1)
    xs = both.group_by("part", series=SERIES).agg(x=pl.col("judged").mean())
    rows = (
        measured.means("part", SERIES, values=both)
        .join(xs, on=["part", "series"])
        .sort("x", "series")
        .drop("part")
    )
    legend = "" if rows.is_empty() else f". Line: mean{measured.intervals(rows)}"
    points = (
        spots.group_by(pl.all())
        .agg(queries=pl.len())
        .sort("x", "y", "series")
        .with_columns(size=pl.col("queries").sqrt())
    )
    title, x = (
        f"{call.display} against the number of judged documents",
        Axis("judged documents of a query", whole=True),
    )
    subtitle = f"Dots: {measured.count}, larger where several share a place{legend}"
    marks = (Mark("point", points), *([] if rows.is_empty() else banded(rows)))
    return Figure(title, subtitle, x, Axis(call.display), marks, names, note=measured.note)


@dataclass(frozen=True)
class JudgedDocuments:
    """The number of judged documents of each query of a part; `query` also names the run if a
    column does.
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
    >>> df = pl.DataFrame({"query_id": [1, 1], "doc_id": ["a", "b"], "bm25": [2.0, 1.0], "dense": [None, 1.0]})
    >>> df.rank.plot.contributions("rrf", runs=["bm25", "dense"]).title.text
    'What each run contributes to rrf'
    """
    runs = runs_for(method, shared.get("runs"), shared.get("run")).required()
    names = names_of_runs(table, runs)
    found = table.by_parts(Contributions(method, runs, tuple(names), k))
    if found["no sum"].any():
        says = f"{text_of(method)} is no sum of what each run contributes"
        raise InvalidOption(f"{says}; plot a method that is one, as contributions('rrf')")
    width, rank = pl.col("contribution"), -pl.col("fused_rank").cast(pl.Float64)
    of_ranks = found.with_columns(pl.col("queries").sum().over("fused_rank")).group_by(
        "fused_rank", RUN_OF_TABLE
    )
    rows = of_ranks.agg(
        width.sum() / pl.col("queries").first(), pl.col("queries", "document").first()
    )
    rows = rows.sort("fused_rank", pl.col(RUN_OF_TABLE).cast(pl.Enum(names)))
    rows = rows.with_columns(
        x2=width.cum_sum().over("fused_rank", width < 0)
    )  # negative ones extend to the left
    rows = rows.with_columns(
        x=pl.col("x2") - width, y=rank - 0.4, y2=rank + 0.4, series=RUN_OF_TABLE
    )
    n, text = int(max(rows["queries"], default=0)), pl.col("fused_rank").cast(pl.String)
    mean, of, subject = "mean ", "fused rank", "Mean contribution to the fused score at each rank"
    if n == 1 and rows["document"].is_not_null().any():
        mean, of, subject = (
            "",
            "document (fused rank)",
            "Contribution to the fused score of each document",
        )
        text = pl.format("{} ({})", "document", text)
    ticks = sorted(dict(rows.select(rank, text.alias("text")).iter_rows()).items())
    rows = rows.drop("document").rename({"fused_rank": "rank"})
    last = max((-place for place, _ in ticks), default=1.0)
    x, y = (
        Axis(f"{mean}fused score"),
        Axis(of, grid=False, ticks=tuple(ticks), limits=(-last - 0.6, -0.4)),
    )
    title, subtitle = (
        f"What each run contributes to {text_of(method)}",
        f"{subject}, over {queries(n)}",
    )
    return Figure(
        title,
        subtitle,
        x,
        y,
        (Mark("bar", rows),),
        tuple(names),
        height=60 + 24 * max(int(last), 3),
    )


@dataclass(frozen=True)
class Contributions:
    """The contributions of runs to the first fused ranks of a part: a row per rank and run, with
    its sum over the queries.

    The first row of a rank has the number of the part's queries that have one, the others 0; each
    has one document there.
    """

    method: FusionMethod
    runs: Runs
    names: tuple[str, ...]
    k: int

    def __call__(self, part: Table[Any]) -> pl.DataFrame:
        table = Table[pl.DataFrame](part.rows, part.setup, Whole(runs=self.names))
        rows: pl.DataFrame = explain(
            table, self.method, runs=self.runs.scores or None, run=self.runs.column
        )
        rows = rows.filter(pl.col("fused_rank") <= self.k)
        query, doc = (
            pl.struct(self.runs.queries(part.setup).roles.query),
            part.setup.roles.doc_in(rows.columns),
        )
        document = pl.lit(None, pl.String) if doc is None else pl.col(doc).cast(pl.String).first()
        rows = rows.with_columns(queries=query.n_unique().over("fused_rank"))
        width, no_sum = (
            pl.col("contribution"),
            pl.col("contribution").is_null().any().alias("no sum"),
        )
        figures = width.sum(), no_sum, pl.col("queries").first(), document.alias("document")
        found = rows.group_by("fused_rank", RUN_OF_TABLE, maintain_order=True).agg(*figures)
        is_first = pl.int_range(pl.len()).over("fused_rank") == 0
        return found.with_columns(pl.when(is_first).then("queries").otherwise(0).alias("queries"))


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
    >>> df = pl.DataFrame({"query_id": [1, 1], "doc_id": ["a", "b"], "bm25": [2.0, 1.0], "dense": [None, 1.0]})
    >>> df.rank.plot.overlap(runs=["bm25", "dense"]).title.text
    'Documents that two runs have in common'
    """
    runs = unpacked(table, shared)[2]
    found = overlap_of(
        replace(table, give=unchanged), runs=runs.scores or None, run=runs.column, k=k
    )
    names = found.settings["runs"]
    legible(names, LINES, "runs")
    place = {name: float(i + 1) for i, name in enumerate(names)}
    one_way = found.table.select("run", "other", "jaccard", "overlap", "rbo").drop_nulls()
    both = pl.concat(
        [one_way, one_way.rename({"run": "other", "other": "run"}).select(one_way.columns)]
    )
    x, y = (
        pl.col(name).replace_strict(place, return_dtype=pl.Float64) for name in ("other", "run")
    )
    label = pl.col("jaccard").map_elements(lambda share: f"{share:.2f}", return_dtype=pl.String)
    corners = {"x": x - 0.5, "x2": x + 0.5, "y": -y - 0.5, "y2": -y + 0.5}
    cells = both.select(
        pl.lit("jaccard").alias("series"), pl.all(), **corners, size="jaccard", label=label
    )
    n = max(found.table["n_queries"], default=0)
    top = "the documents" if k is None else f"the top {k} documents"
    subtitle = f"Share of {top} of either run that both have: Jaccard index, mean over {queries(n)}"
    across = [(i, f"{i:g}") for i in place.values()]
    down = [(-i, f"{name} ({i:g})") for name, i in reversed(place.items())]
    low, high, height = 0.5, len(names) + 0.5, max(120, 44 * len(names))
    of_x = Axis("", grid=False, ticks=tuple(across), limits=(low, high))
    of_y = Axis("", grid=False, ticks=tuple(down), limits=(-high, -low))
    title, marks = "Documents that two runs have in common", (Mark("bar", cells),)
    return Figure(title, subtitle, of_x, of_y, marks, ("jaccard",), legend=False, height=height)


def middles(name: str, of: pl.DataFrame) -> pl.Expr:
    """Values rounded to the middles of `CELLS` equal cells, unless there are as few distinct
    values.
    """
    if of[name].n_unique() <= CELLS:
        return pl.col(name)
    low, high = float(of[name].min()), float(of[name].max())  # type: ignore[arg-type]
    width = (high - low) / CELLS
    return (low + width * (((pl.col(name) - low) / width).floor().clip(0, CELLS - 1) + 0.5)).alias(
        name
    )


def reach(found: pl.Series, call: Call) -> tuple[float, float]:
    """The ends of a metric's axis: its bounds, or if it has none, its values."""
    low, high = call.bounds
    low = low if low is not None else float(found.min() or 0)  # type: ignore[arg-type]
    high = high if high is not None else float(found.max() or 0)  # type: ignore[arg-type]
    return float(low), float(high) if high > low else float(low) + 1


def spaced(last: int) -> list[int]:
    """Every cutoff to 20, then some at about equal ratios, up to the last."""
    further = {min(last, round(20 * 1.1**i)) for i in range(200)} if last > 20 else set()
    return sorted({*range(1, min(last, 20) + 1), *further})


def nice_cutoffs(last: int) -> list[int]:
    return [k for power in range(9) for k in (10**power, 2 * 10**power, 5 * 10**power) if k <= last]


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
    >>> log = pl.DataFrame({"query_id": 1, "ranker": list("aabb"), "doc_id": list("xyyx"), "rank": [1, 2] * 2, "label": 1})
    >>> log.rank.on(rank="rank").plot.propensities(run="ranker", k=2).title.text
    'Examination of each rank'
    """
    runs = unpacked(table, shared)[2]
    if runs.scores:
        raise InvalidOption(
            "a log names the ranker of each list in a column; say which, as ", option(run="ranker")
        )
    ci = shared.get("ci", CI)
    log, level = replace(table, give=unchanged), ci or CI
    found = estimated(
        log, run=runs.column, context=context, method=method, k=k, ci=level, progress=False
    )
    ends = (
        {"low": "ci_low", "high": "ci_high"}
        if ci
        else {x: pl.lit(None, pl.Float64) for x in ("low", "high")}
    )
    rows = found.select(
        series=pl.lit("examination"), x=pl.col("rank").cast(pl.Float64), y="propensity", **ends
    ).drop_nulls("y")
    clicks = f"{found['n_clicks'].sum():,} clicks on documents shown at several ranks"
    subtitle = (
        "Probability that users look, over that of rank 1; "
        f"{clicks}{with_intervals(ci, 'percentiles')}"
    )
    y = Axis("examination over rank 1")
    return Figure(
        "Examination of each rank",
        subtitle,
        Axis("rank", whole=True),
        y,
        banded(rows),
        lines_of(rows),
        legend=False,
    )


def deepest(table: Table[Any], runs: Runs) -> int:
    """The largest number of documents of a query in any run."""
    most = int(max(table.by_parts(Depth(runs))["depth"].drop_nulls(), default=0)) or 1
    depth = table.setup.policies.depth
    return most if depth is None else min(most, depth)


@dataclass(frozen=True)
class Depth:
    """The largest number of documents of a query in any run of a part."""

    runs: Runs

    def __call__(self, part: Table[Any]) -> pl.DataFrame:
        runs, setup = self.runs, part.setup
        runs.require(part.rows, setup)
        key = [*runs.key, *runs.queries(setup).roles.query]
        docs, _ = by_document(part.rows, setup.changed(query=key), carry=runs.scores)
        scores = [
            pl.col(score).count().alias(f"#{i}")
            for i, score in enumerate(runs.scores or (setup.roles.score,))
        ]
        counts = docs.lazy().group_by(key).agg(scores)
        return counts.select(pl.max_horizontal(pl.exclude(key)).max().alias("depth")).collect()
