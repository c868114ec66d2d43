"""The content of each plot, for any drawing library: a title, two axes and a few thousand marks at most."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import polars as pl

from .._catalog.call import Call
from .._catalog.means import Mean
from .._catalog.parse import parse
from .._catalog.registry import METRICS
from .._catalog.requests import averaged
from .._plan.per_query import by_document, collect
from .._results.grid import queries
from .._support.option_kinds import Column
from .._support.option_values import Range
from .._table.roles import require
from .._table.runs import RUN, RUN_OF_TABLE, Runs
from .._table.setup import Setup
from .._table.table import Table, in_memory
from .._table.trec_eval import LEVELS
from .._verbs.fitted import FusionMethod, runs_for, text_of
from .._verbs.fuse import explain
from .._verbs.overlap import overlap as overlap_of
from .._verbs.paired_values import values
from .._verbs.summary import by_query, keys
from ..errors import InvalidOption, option
from .figure import (
    LINES,
    ROWS,
    Axis,
    Figure,
    Look,
    Mark,
    Shared,
    at_cutoffs,
    banded,
    count,
    legible,
    lines_of,
    means,
    of_intervals,
    one_call,
    plot,
    unpacked,
)

if TYPE_CHECKING:
    from typing import Unpack

BARS = 400
"""The largest number of bars; more queries are combined."""
BINS = 20
"""The number of bars of a histogram."""
MARGIN = 0.03
"""The margin beside a histogram, as a share of its width: it keeps a median at the edge off the frame."""
GAP = 13
"""The distance of runs in a slice in pixels; between slices it is twice that."""
CELLS = 30
"""The number of rows and columns of the grid whose cells combine dots."""


@plot(among=METRICS)
def curve(table: Table[Any], *metrics: str, cutoffs: Sequence[int] | None = None, **shared: Unpack[Shared]) -> Figure:
    """The mean of metrics at every cutoff, with confidence bands: it shows at which ranks a run gains.

    Parameters
    ----------
    *metrics
        Texts without a cutoff, of metrics that accept one, as ``"ndcg"`` or ``"recall"``.
    cutoffs
        The cutoffs to show; default: every one up to 20, then some up to the longest ranking, at equal ratios.

    Returns
    -------
    A chart or axes. The bands are 95% intervals of the mean over the queries, as of ``df.rank.summarize``.

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
    frame, setup, runs = unpacked(table, shared)
    drawn = averaged(metrics, "plot.curve('ndcg', 'recall')")
    for call in drawn:
        if "k" not in call.metric.parameters:
            raise InvalidOption(f"{call.text} takes no cutoff, so it has no curve; plot.distribution shows it")
        if call.cutoff:
            raise InvalidOption(f"{call.text!r} names a cutoff, and a curve shows all; leave it out")
    if cutoffs is None:
        cutoffs = spaced(deepest(frame, setup, runs))
    if not isinstance(cutoffs, Collection) or isinstance(cutoffs, str) or not cutoffs:
        raise InvalidOption(
            f"cutoffs={cutoffs!r} lists no cutoffs; write them as cutoffs=[1, 5, 10], or leave them out"
        )
    at = {parse_one(call, k): (call, k) for call in drawn for k in cutoffs}
    found = values(frame, setup, runs, list(at))
    rows, last = means(found, [RUN], list(at)), max(cutoffs)
    ticks = tuple((float(k), str(k)) for k in nice_cutoffs(last)) if last > 20 else None
    x = Axis("cutoff k", log=last > 20, ticks=ticks, limits=(1, last) if last > 20 else None, whole=True)
    subtitle = f"Mean of the first k documents over {count(found)}, with {of_intervals(rows)}"
    return at_cutoffs(rows, at, subtitle, x, "mean", several=found[RUN].n_unique() > 1)


@plot()
def precision_recall(table: Table[Any], **shared: Unpack[Shared]) -> Figure:
    """Interpolated precision at eleven levels of recall: it shows how much precision more recall costs.

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
    frame, setup, runs = unpacked(table, shared)
    calls = [parse(f"interpolated_precision@{level:g}")[0] for level in LEVELS]
    found = values(frame, setup, runs, calls)
    of_calls = means(found, [RUN], calls)
    rows = pl.concat(
        of_calls.filter(metric=call.text).with_columns(series=pl.col(RUN), x=pl.lit(level), recall=pl.lit(level))
        for call, level in zip(calls, LEVELS, strict=True)
    )
    return Figure(
        "Interpolated precision at eleven levels of recall",
        f"Best precision from that recall on; mean over {count(found)}, with {of_intervals(rows)}",
        Axis("recall", limits=(0, 1), ticks=tuple((level, f"{level:g}") for level in LEVELS[::2])),
        Axis("mean interpolated precision", limits=(0, 1)),
        banded(rows),
        lines_of(rows),
    )


@plot()
def differences(table: Table[Any], metric: str, *, baseline: Column | None = None, **shared: Unpack[Shared]) -> Figure:
    """Each query's difference from the baseline, sorted: how many queries gain, how many lose, and how much.

    Parameters
    ----------
    metric
        A text, as ``"ndcg@10"``.
    baseline
        The run that the others are compared with; default: the first one.

    Returns
    -------
    A chart or axes: bars for one run against the baseline, a line for each of several. Beyond 400 queries,
    neighbouring queries are combined into 400 bars of their mean.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame({"query_id": [1, 1, 2], "bm25": [2, 1, 1], "ltr": [1, 2, 1], "label": [0, 1, 1]})
    >>> df.rank.plot.differences("rr", runs=["bm25", "ltr"]).title.text
    'RR of each query: ltr minus bm25'
    """
    frame, setup, runs = unpacked(table, shared)
    call = one_call(metric, "differences('ndcg@10', runs=['bm25', 'ltr'])")
    found = values(frame, setup, runs, [call])
    names = runs.named(found)
    if len(names) < 2:
        raise InvalidOption(
            "differences are those between runs; name at least two score columns, as ",
            option(runs=["bm25", "ltr"]),
            ", or the column that tells runs apart, as ",
            option(run="run"),
        )
    baseline = names[0] if baseline is None else baseline
    if baseline not in names:
        raise InvalidOption(option(baseline=baseline), f" is none of the runs, {', '.join(names)}")
    query = [name for name in setup.roles.query if name in found.columns]
    wide = found.filter(pl.col(RUN) == baseline).select(*query, pl.col(call.text).alias("#base"))
    paired = (
        found.filter(pl.col(RUN) != baseline)
        .join(wide, on=query, nulls_equal=True)
        .select(pl.col(RUN).alias("series"), (pl.col(call.text) - pl.col("#base")).alias("difference"))
        .drop_nulls("difference")
    )
    others = [name for name in names if name != baseline]
    n = max(paired["series"].value_counts()["count"], default=0)
    sorted_ = (
        paired.sort("series", pl.col("difference"), descending=[False, True])
        .with_columns(place=pl.int_range(pl.len()).over("series"), n=pl.len().over("series"))
        .with_columns(bar=pl.col("place") * pl.min_horizontal(pl.col("n"), BARS) // pl.col("n"))
        .group_by("series", "bar", maintain_order=True)
        .agg(x=pl.col("place").first(), x2=pl.col("place").last() + 1, y=pl.col("difference").mean(), queries=pl.len())
        .with_columns(pl.col("x", "x2").cast(pl.Float64), y2=pl.lit(0.0), difference="y")
        .drop("bar")
    )
    several = len(others) > 1
    pair = f"{'run' if several else others[0]} minus {baseline}"
    each_own = ". Each run has its own order, so one place is not one query" if several else ""
    return Figure(
        f"{call.display} of each query: {pair}",
        "; ".join(wins_and_losses(paired, name, call) for name in others) + each_own,
        Axis(
            "queries, sorted by their difference" + (" in each run" if several else ""),
            limits=(0, max(n, 1)),
            whole=True,
        ),
        Axis(f"{call.display}, {pair}"),
        of_differences(sorted_, others, call),
        tuple(others) if several else ("better", "worse"),
    )


def of_differences(rows: pl.DataFrame, others: Sequence[str], call: Call) -> tuple[Mark, ...]:
    """Bars for better and worse queries of one run, or a line for each of several runs."""
    zero = Mark("rule", pl.DataFrame({"y": [0.0]}))
    if len(others) == 1:
        gain = pl.col("y") if call.higher_is_better else -pl.col("y")
        sign = pl.when(gain < 0).then(pl.lit("worse")).otherwise(pl.lit("better"))
        return (Mark("bar", rows.with_columns(series=sign)), zero)
    legible(others, LINES, "runs")
    middle = rows.with_columns(x=(pl.col("x") + pl.col("x2")) / 2)
    return (zero, Mark("line", middle.drop("x2", "y2")))


def wins_and_losses(paired: pl.DataFrame, name: str, call: Call) -> str:
    """How many queries gained and lost, and by how much the mean changed."""
    of = paired.filter(pl.col("series") == name)["difference"]
    above, below = int((of > 0).sum()), int((of < 0).sum())
    better, worse = (above, below) if call.higher_is_better else (below, above)
    mean = "" if of.is_empty() else f", {of.sum() / len(of):+.3f} on average"
    return f"{name}: {better:,} better, {worse:,} worse, {len(of) - better - worse:,} equal{mean}"


@plot()
def distribution(table: Table[Any], metric: str, **shared: Unpack[Shared]) -> Figure:
    """The distribution of a metric over the queries, per run: it shows whether values are similar, or mostly zeros and ones.

    Parameters
    ----------
    metric
        As for :meth:`differences`.

    Returns
    -------
    A chart or axes: a histogram per run, all on the same scale, with mean and median.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame({"query_id": [1, 1, 2], "score": [2.0, 1.0, 1.0], "label": [0, 1, 1]})
    >>> df.rank.plot.distribution("rr").title.text
    'Distribution of RR over the queries'
    """
    frame, setup, runs = unpacked(table, shared)
    call = one_call(metric, "distribution('ndcg@10')")
    found = values(frame, setup, runs, [call]).select(pl.col(RUN), pl.col(call.text).alias("value")).drop_nulls()
    names = runs.named(found)
    legible(names, ROWS, "runs")
    row = pl.col(RUN).replace_strict({name: float(len(names) - 1 - i) for i, name in enumerate(names)}, default=None)
    low, high = reach(found["value"], call)
    margin = MARGIN * (high - low)
    width = (high - low) / BINS
    bin_ = ((pl.col("value") - low) / width).floor().cast(pl.Int32).clip(0, BINS - 1)
    bars = (
        found.with_columns(bin=bin_, n=pl.len().over(RUN))
        .group_by(RUN, "bin", maintain_order=True)
        .agg(queries=pl.len(), share=pl.len() / pl.col("n").first())
        .sort(RUN, "bin")
        .with_columns(x=low + pl.col("bin") * width, y=row.cast(pl.Float64))
        .with_columns(x2=pl.col("x") + width, y2=pl.col("y") + 0.85 * pl.col("share") / pl.col("share").max())
        .select(pl.col(RUN).alias("series"), "x", "x2", "y", "y2", "queries", "share")
    )
    centers = found.group_by(RUN, maintain_order=True).agg(
        mean=Mean.of(call).unweighted(pl.col("value")), median=pl.col("value").median(), n=pl.len()
    )
    at = centers.with_columns(series=pl.col(RUN), y=row.cast(pl.Float64))
    ticks = [(float(len(names) - 1 - i), name) for i, name in enumerate(names)]
    return Figure(
        f"Distribution of {call.display} over the queries",
        f"Height of a bar: share of {count(found)}{', on the same scale for all runs' if len(names) > 1 else ''}. Dot: mean. "
        "Upright line: median",
        Axis(call.display, limits=(low - margin, high + margin)),
        Axis("", ticks=tuple(reversed(ticks)), limits=(-0.15, float(len(names)))),
        (
            Mark("bar", bars),
            Mark("tick", at.select("series", x="median", y=pl.col("y") - 0.08, y2=pl.col("y") + 0.45, median="median")),
            Mark("point", at.select("series", x="mean", y=pl.col("y"), mean="mean", queries="n")),
        ),
        tuple(names),
        legend=False,
        height=60 + 70 * min(max(len(names), 2), 8) if len(names) <= 8 else 30 * len(names),
    )


@plot()
def slices(table: Table[Any], metric: str, *, by: Column, **shared: Unpack[Shared]) -> Figure:
    """A metric in each slice of the queries, with its interval: it shows which slices are better or worse than all queries.

    Parameters
    ----------
    metric
        As for :meth:`differences`.
    by
        The column whose values slice the queries, such as ``"market"``; the same in all rows of a query that
        have a value.

    Returns
    -------
    A chart or axes: a row for each slice, the best on top; at most the 40 slices with the most queries.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame({"query_id": [1, 2, 3], "score": [1, 1, 1], "label": [1, 0, 0], "day": ["mo", "mo", "tu"]})
    >>> df.rank.plot.slices("rr", by="day").title.text
    'RR by day'
    """
    frame, setup, runs = unpacked(table, shared)
    return of_slices(frame, setup, runs, metric, by)


def of_slices(
    frame: pl.DataFrame,
    setup: Setup,
    runs: Runs,
    metric: str,
    by: str,
    given: Sequence[str] | None = None,
) -> Figure:
    """The plot of slices, which may be in a `given` order."""
    call = one_call(metric, "slices('ndcg@10', by='market')")
    require(frame.schema, by, "by")
    found = values(frame, setup, runs, [call])
    query = (*runs.key, *runs.queries(setup).roles.query)
    of = collect(by_query(frame, query, [by], None), frame, setup).select(
        *query, pl.col(keys([by])).cast(pl.String).fill_null("null").alias("#slice")
    )
    if runs.column is not None:
        of = of.rename({runs.column: RUN}).with_columns(pl.col(RUN).cast(pl.String))
    on = [name for name in of.columns if name != "#slice"]
    found = found.join(of, on=on, how="left", nulls_equal=True)
    rows = means(found, ["#slice", RUN], [call])
    names = runs.named(found)
    legible(names, LINES, "runs")
    sizes = rows.group_by("#slice", maintain_order=True).agg(pl.col("queries").max(), pl.col("y").mean())
    shown = sizes.sort("queries", descending=True, maintain_order=True).head(ROWS)
    order = shown.sort("y", "#slice")["#slice"].to_list()
    if given is not None:
        order.sort(key=list(given).index, reverse=True)
    place = pl.col("#slice").replace_strict(
        {name: float(i) for i, name in enumerate(order)}, default=None, return_dtype=pl.Float64
    )
    high = max(28, GAP * (len(names) + 1))
    offsets = {name: ((len(names) - 1) / 2 - i) * GAP / high for i, name in enumerate(names)}
    kinds = of_intervals(rows)
    rows = rows.filter(pl.col("#slice").is_in(order)).select(
        pl.col(RUN).alias("series"),
        x="y",
        low="low",
        high="high",
        y=place + pl.col(RUN).replace_strict(offsets, return_dtype=pl.Float64),
        slice=pl.col("#slice"),
        queries="queries",
    )
    n = dict(sizes.select("#slice", "queries").iter_rows())
    left = len(sizes) - len(order)
    some = f"; the {len(order)} largest of {len(sizes)} slices" if left else ""
    bars = rows.drop_nulls("low").select("series", "y", "slice", x=pl.col("low"), x2=pl.col("high"))
    overall = found.select(Mean.of(call).unweighted(pl.col(call.text))).item() if len(names) == 1 else None
    rule = [] if overall is None else [Mark("rule", pl.DataFrame({"x": [overall]}))]
    between = Mark("divider", pl.DataFrame({"y": [i - 0.5 for i in range(1, len(order))]}, {"y": pl.Float64}))
    return Figure(
        f"{call.display} by {by}",
        f"Mean over {count(found)}, with {kinds}{some}{'; dashed: all queries' if rule else ''}",
        Axis(call.display),
        Axis(
            by,
            grid=False,
            ticks=tuple((float(i), f"{name} ({n[name]:,})") for i, name in enumerate(order)),
            limits=(-0.5, max(len(order), 1) - 0.5),
        ),
        (between, *rule, Mark("interval", bars), Mark("point", rows.drop("low", "high"))),
        tuple(names),
        height=high * max(len(order), 2),
    )


@plot()
def judged(table: Table[Any], metric: str, **look: Unpack[Look]) -> Figure:
    """A metric against the number of judged documents: it shows whether the value depends on how much was judged.

    Parameters
    ----------
    metric
        As for :meth:`differences`.

    Returns
    -------
    A chart or axes: a dot per query, or per group of queries if there are many, and the mean of queries with similar
    numbers of judged documents. A negative label counts as unjudged.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame({"query_id": [1, 1, 2], "score": [2.0, 1.0, 1.0], "label": [0, 1, 1]})
    >>> df.rank.plot.judged("rr").title.text
    'RR against the number of judged documents'
    """
    frame, setup = table.rows, table.setup
    call = one_call(metric, "judged('ndcg@10')")
    found = values(frame, setup, Runs(), [call])
    docs, of_docs = by_document(frame, setup)
    n = (
        docs.lazy()
        .group_by(setup.roles.query)
        .agg((pl.col(of_docs.roles.label) >= 0).sum().cast(pl.Float64).alias("judged"))
    )
    both = (
        found.lazy()
        .join(n, on=setup.roles.query, how="left", nulls_equal=True, maintain_order="left")
        .select("judged", pl.col(call.text).alias("value"))
        .drop_nulls()
        .collect()
    )
    cells = both.group_by(x="judged", y="value").agg(queries=pl.len())
    if len(cells) > CELLS**2:
        cells = both.group_by(x=middles("judged", both), y=middles("value", both)).agg(queries=pl.len())
    groups = min(12, len(both) // 8, both["judged"].n_unique())
    line: tuple[Mark, ...] = ()
    legend = ""
    if groups > 1:
        both = both.with_columns(part=((pl.col("judged").rank() - 1) * groups // len(both)))
        xs = both.group_by("part").agg(x=pl.col("judged").mean())
        rows = means(both.rename({"value": call.text}), ["part"], [call]).join(xs, on="part").sort("x").drop("part")
        line = banded(rows.with_columns(series=pl.lit(call.display)))
        legend = f". Line: mean, with {of_intervals(rows)}"
    points = cells.sort("x", "y").with_columns(size=pl.col("queries").sqrt(), series=pl.lit(call.display))
    return Figure(
        f"{call.display} against the number of judged documents",
        f"Dots: {count(both)}, larger where several share a place{legend}",
        Axis("judged documents of a query", whole=True),
        Axis(call.display),
        (Mark("point", points), *line),
        (call.display,),
    )


@plot(runs=runs_for)
def contributions(
    table: Table[Any],
    method: FusionMethod,
    *,
    k: Annotated[int, Range(least=1, most=ROWS)] = 10,
    **shared: Unpack[Shared],
) -> Figure:
    """The contribution of each run to a fusion: it shows whether one run decides the top ranks, or whether runs agree.

    Parameters
    ----------
    method
        A method of fusion that is a sum, with its options, as for ``df.rank.fuse``: ``"rrf"``,
        ``"comb_sum(normalize=min_max)"``; or a trained one.
    k
        How many fused ranks to show, at most 40.

    Returns
    -------
    A chart or axes: a row of stacked bars per fused rank, the mean contribution of each run over the queries. A table of
    one query has a row per document.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame({"query_id": [1, 1], "doc_id": ["a", "b"], "bm25": [2.0, 1.0], "dense": [None, 1.0]})
    >>> df.rank.plot.contributions("rrf", runs=["bm25", "dense"]).title.text
    'What each run contributes to rrf'
    """
    setup, runs = table.setup, runs_for(method, shared.get("runs"), shared.get("run"))
    runs.required()
    found = explain(in_memory(table.rows, setup), method, runs=runs.scores or None, run=runs.column).filter(
        pl.col("fused_rank") <= k
    )
    if found["contribution"].has_nulls():
        raise InvalidOption(
            f"{text_of(method)} is no sum of what each run contributes; plot a method that is one, as contributions('rrf')"
        )
    names = found[RUN_OF_TABLE].unique(maintain_order=True).to_list()
    names = list(runs.scores) or names
    legible(names, LINES, "runs")
    query = [*runs.queries(setup).roles.query]
    n = found.select(query).n_unique()
    of_ranks = found.unique([*query, "fused_rank"]).group_by("fused_rank").agg(queries=pl.len())
    order = pl.DataFrame({RUN_OF_TABLE: names, "#order": range(len(names))}, schema_overrides={RUN_OF_TABLE: pl.String})
    width = pl.col("contribution")
    rows = (
        found.group_by("fused_rank", RUN_OF_TABLE)
        .agg(pl.col("contribution").sum())
        .join(of_ranks, on="fused_rank")
        .with_columns(width / pl.col("queries"))
        .join(order, on=RUN_OF_TABLE)
        .sort("fused_rank", "#order")
        .with_columns(x2=width.cum_sum().over("fused_rank", width < 0))  # negative ones extend to the left
        .select(
            pl.col(RUN_OF_TABLE).alias("series"),
            x=pl.col("x2") - width,
            x2="x2",
            y=-pl.col("fused_rank").cast(pl.Float64) - 0.4,
            y2=-pl.col("fused_rank").cast(pl.Float64) + 0.4,
            rank="fused_rank",
            run=RUN_OF_TABLE,
            contribution=width,
            queries="queries",
        )
    )
    doc = setup.roles.doc_in(found.columns)
    ticks = {rank: str(rank) for rank in of_ranks["fused_rank"].sort()}
    one = n == 1 and doc is not None
    if one:
        ticks = dict(
            found.select("fused_rank", pl.format("{} ({})", pl.col(str(doc)).cast(pl.String), "fused_rank")).iter_rows()
        )
    subject = (
        "Contribution to the fused score of each document"
        if one
        else "Mean contribution to the fused score at each rank"
    )
    last = max(ticks, default=1)
    return Figure(
        f"What each run contributes to {text_of(method)}",
        f"{subject}, over {queries(n)}",
        Axis("fused score" if one else "mean fused score"),
        Axis(
            "document (fused rank)" if one else "fused rank",
            grid=False,
            ticks=tuple((-float(rank), name) for rank, name in sorted(ticks.items(), reverse=True)),
            limits=(-last - 0.6, -0.4),
        ),
        (Mark("bar", rows),),
        tuple(names),
        height=60 + 24 * max(last, 3),
    )


@plot()
def overlap(table: Table[Any], *, k: int | None = 10, **shared: Unpack[Shared]) -> Figure:
    """The share of documents that every two runs have in common: it shows which runs find documents that others miss.

    Parameters
    ----------
    k
        As for ``df.rank.fusion.overlap``.

    Returns
    -------
    A chart or axes: a cell for every two runs, the darker the more documents they share, with the mean Jaccard index of
    their top k.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame({"query_id": [1, 1], "doc_id": ["a", "b"], "bm25": [2.0, 1.0], "dense": [None, 1.0]})
    >>> df.rank.plot.overlap(runs=["bm25", "dense"]).title.text
    'Documents that two runs have in common'
    """
    frame, setup, runs = unpacked(table, shared)
    found = overlap_of(in_memory(frame, setup), runs=runs.scores or None, run=runs.column, k=k)
    names = found.settings["runs"]
    legible(names, LINES, "runs")
    place = {name: float(i + 1) for i, name in enumerate(names)}
    one_way = found.table.select("run", "other", "jaccard", "overlap", "rbo").drop_nulls()
    both = pl.concat([one_way, one_way.rename({"run": "other", "other": "run"}).select(one_way.columns)])
    x, y = (pl.col(name).replace_strict(place, return_dtype=pl.Float64) for name in ("other", "run"))
    cells = both.select(
        *(pl.lit("jaccard").alias("series"), "run", "other", "jaccard", "overlap", "rbo"),
        x=x - 0.5,
        x2=x + 0.5,
        y=-y - 0.5,
        y2=-y + 0.5,
        size="jaccard",
        label=pl.col("jaccard").map_elements(lambda share: f"{share:.2f}", return_dtype=pl.String),
    )
    n = max(found.table["n_queries"], default=0)
    top = "the documents" if k is None else f"the top {k} documents"
    ends = 0.5, len(names) + 0.5
    return Figure(
        "Documents that two runs have in common",
        f"Share of {top} of either run that both have: Jaccard index, mean over {queries(n)}",
        Axis("", grid=False, ticks=tuple((i, f"{i:g}") for i in place.values()), limits=ends),
        Axis(
            "",
            grid=False,
            ticks=tuple((-i, f"{name} ({i:g})") for name, i in reversed(place.items())),
            limits=(-ends[1], -ends[0]),
        ),
        (Mark("cell", cells),),
        ("jaccard",),
        legend=False,
        height=max(120, 44 * len(names)),
    )


def middles(name: str, of: pl.DataFrame) -> pl.Expr:
    """Values rounded to the middles of `CELLS` equal cells, unless there are as few distinct values."""
    if of[name].n_unique() <= CELLS:
        return pl.col(name)
    low, high = float(of[name].min()), float(of[name].max())  # type: ignore[arg-type]
    width = (high - low) / CELLS
    return low + width * (((pl.col(name) - low) / width).floor().clip(0, CELLS - 1) + 0.5)


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


def parse_one(call: Call, k: int) -> Call:
    """The same call at a cutoff."""
    return call.with_defaults({"k": k})


def deepest(frame: pl.DataFrame, setup: Setup, runs: Runs) -> int:
    """The largest number of documents of a query in any run."""
    runs.require(frame, setup)
    docs, _ = by_document(frame, setup)
    key = [*runs.key, *runs.queries(setup).roles.query]
    scores = [pl.col(score).count().alias(f"#{i}") for i, score in enumerate(runs.scores or (setup.roles.score,))]
    most = docs.lazy().group_by(key).agg(scores).select(pl.max_horizontal(pl.exclude(key)).max()).collect().item()
    most = most or 1
    return most if setup.policies.depth is None else min(most, setup.policies.depth)
