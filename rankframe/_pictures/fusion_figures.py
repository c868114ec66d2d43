"""The plots of a fusion: the contributions of the runs, and their overlap."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import polars as pl

from .._fusion.explain import explain
from .._fusion.fitted import FusionMethod, require_runs, runs_for, text_of
from .._fusion.overlap import overlap as overlap_of
from .._support.option_values import Range
from .._table.runs import RUN_OF_TABLE
from .._table.table import Table, in_memory
from ..errors import InvalidOption
from .figure import LINES, ROWS, Axis, Figure, Mark, Shared, legible, plot, unpacked

if TYPE_CHECKING:
    from typing import Unpack


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
    require_runs(runs, "plot.contributions")
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
        f"{subject}, over {n:,} {'query' if n == 1 else 'queries'}",
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
        pl.lit("jaccard").alias("series"),
        x=x - 0.5,
        x2=x + 0.5,
        y=-y - 0.5,
        y2=-y + 0.5,
        size="jaccard",
        label=pl.col("jaccard").map_elements(lambda share: f"{share:.2f}", return_dtype=pl.String),
        run="run",
        other="other",
        jaccard="jaccard",
        overlap="overlap",
        rbo="rbo",
    )
    n = max(found.table["n_queries"], default=0)
    top = "the documents" if k is None else f"the top {k} documents"
    ends = 0.5, len(names) + 0.5
    return Figure(
        "Documents that two runs have in common",
        f"Share of {top} of either run that both have: Jaccard index, mean over {n:,} {'query' if n == 1 else 'queries'}",
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
