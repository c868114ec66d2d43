"""The way through the data: rank inside the query, drop what adds nothing, one grouped pass for all metrics.

Formulas are run first, against a `FrameRanking` that writes down what they ask for; then the plan computes every
column asked for once. Rows reach it in one of two forms, with equal results: ranked by a window, which streams, or
ranked inside one `group_by` and exploded, which is faster in memory and leaves queries contiguous, in rank order.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Literal

import polars as pl

from ._call import Call
from ._frame import LABEL, RANK, RAW, SCORE, FrameRanking, RowRanking
from ._table import Fault, Table, carried, failing, naming
from ._wanted import POSITION, Wanted
from .errors import InvalidOption

__all__ = [
    "ask",
    "ask_rows",
    "evaluate",
    "explode_ranked",
    "group_ranked",
    "guarded",
    "per_row",
    "position",
    "ranked_by_window",
    "ranks",
    "with_row",
]

NOTHING: Mapping[str, pl.Expr] = MappingProxyType({})

# ------------------------------------------------------------------------------------------------ rows in rank order


def with_row(lf: pl.LazyFrame, table: Table) -> pl.LazyFrame:
    """The rows, numbered where their own order is what tells tied ones apart."""
    return lf.with_row_index(table.row) if table.needs_row else lf


def position(table: Table) -> pl.Expr:
    """Each row's place in its query, by a window over rows that `with_row` has numbered."""
    keys, descending = table.order(pl.col(table.row) if table.needs_row else None)
    place = pl.int_range(1, pl.len() + 1, dtype=pl.Int64)
    return place.over(table.columns.query, order_by=keys, descending=descending, nulls_last=True)


def ranked_by_window(
    lf: pl.LazyFrame, table: Table, *, carry: Sequence[str] = (), source: Mapping[str, pl.Expr] = NOTHING
) -> pl.LazyFrame:
    """The rows with their position, by a window: any order of rows, any engine."""
    rows = with_row(lf, table).select(
        *table.query,
        *(pl.col(name).alias(carried(name)) for name in carry),
        position(table).alias("#position"),
        table.score.alias("#score"),
        table.label.alias("#raw"),
        *(f.rows.over(table.columns.query).alias(f.column) for f in table.faults()),
        **source,
    )
    if table.columns.depth is not None:
        rows = rows.with_columns(pl.when(_kept(table, POSITION, SCORE, RAW)).then(SCORE).alias("#score"))
    if table.columns.drops_after_cut:
        place = pl.int_range(1, pl.len() + 1, dtype=pl.Int64)
        rows = rows.with_columns(place.over(table.key, order_by=[SCORE.is_null(), POSITION]).alias("#position"))
    rows = rows.with_columns(pl.when(SCORE.is_not_null()).then(POSITION).cast(pl.Float64).alias("#rank"))
    return _without_unretrieved(rows, table)


def ranks(lf: pl.LazyFrame, table: Table) -> tuple[pl.LazyFrame, pl.Expr]:
    """The rows, numbered and placed, and their rank as an expression over them; null where they have none."""
    rows, place = with_row(lf, table).with_columns(position(table).alias(table.place)), pl.col(table.place)
    kept = _kept(table, place, table.score, pl.col(table.columns.label))
    rank = kept.cum_sum().over(table.columns.query, order_by=place) if table.columns.drops_after_cut else place
    return rows, pl.when(kept).then(rank).cast(pl.UInt32)


def _kept(table: Table, place: pl.Expr, score: pl.Expr, raw: pl.Expr) -> pl.Expr:
    """Which rows in rank order are retrieved documents, as far as ``depth`` goes."""
    kept = score.is_not_null()
    if table.columns.depth is not None:
        kept &= place <= table.columns.depth
    if table.columns.drops_after_cut:
        kept &= (raw >= 0).fill_null(False)
    return kept


def _without_unretrieved(rows: pl.LazyFrame, table: Table) -> pl.LazyFrame:
    if table.columns.unretrieved == "missed":
        return rows
    return rows.with_columns(pl.when(RANK.is_not_null()).then(RAW).alias("#raw"))


def group_ranked(frame: pl.DataFrame, table: Table, wanted: Wanted, *, scores: bool) -> pl.LazyFrame:
    """One row per query, in order of first appearance: its labels (and what else is wanted) as lists in rank order."""
    keys, descending = table.order()
    # to sort nulls last takes a quarter longer, so only where there are any
    nulls = table.columns.drops_first or any(frame[name].null_count() for name in table.order_columns)

    def ranked(x: pl.Expr) -> pl.Expr:
        return x.sort_by(keys, descending=descending, nulls_last=nulls, maintain_order=table.needs_row)

    order, n = ranked, table.score.count()
    if table.columns.depth is not None:
        kept = _kept(table, pl.int_range(1, pl.len() + 1), ranked(table.score), ranked(table.label))
        n = kept.sum()
        if table.columns.drops_after_cut:
            order = lambda x: ranked(x).sort_by(kept, descending=True, maintain_order=True)  # noqa: E731
    lists = {
        "#raw": table.label,
        **({"#score": table.score} if scores else {}),
        **{x: pl.col(x) for x in wanted.source},
    }
    faults = [f.rows.any().alias(f.column) for f in table.faults()]
    rows = frame.lazy().with_columns(**wanted.source)
    return rows.group_by(table.query, maintain_order=True).agg(
        *(order(x).alias(name) for name, x in lists.items()), n.alias("#n"), *faults
    )


def explode_ranked(grouped: pl.LazyFrame, table: Table, wanted: Wanted, *, scores: bool) -> pl.LazyFrame:
    """The lists of `group_ranked` as rows, keyed by the number of the query: contiguous and in rank order."""
    lists = ["#raw", *(["#score"] if scores else []), *wanted.source]
    size = pl.col("#raw").list.len().cast(pl.Int64)
    grouped = grouped.with_columns((size.cum_sum() - size).alias("#start")).with_row_index("#query")
    rows = grouped.select("#query", "#n", "#start", *lists).explode(lists)
    rows = rows.with_columns((pl.int_range(1, pl.len() + 1, dtype=pl.Int64) - pl.col("#start")).alias("#position"))
    rows = rows.with_columns(pl.when(pl.col("#n") >= POSITION).then(POSITION).cast(pl.Float64).alias("#rank"))
    if scores and table.columns.depth is not None:
        rows = rows.with_columns(pl.when(RANK.is_not_null()).then(SCORE).alias("#score"))
    return _without_unretrieved(rows, table)


# ---------------------------------------------------------------------------------------------------------- the plans


def ask(
    calls: Sequence[Call], table: Table, most_labels: Callable[[], int] | None = None
) -> tuple[Wanted, dict[str, pl.Expr]]:
    """Run the formulas: what they want of the rows, and the value of each call over the grouped result.

    `most_labels` says how many different labels a query of an eager frame may have; it has contiguous rows.
    """
    wanted = Wanted(table.key, contiguous=False)
    if most_labels is not None:
        wanted = Wanted(["#query"], contiguous=True, most_labels=most_labels)
    ranking = FrameRanking(wanted, table.columns)
    return wanted, {call.text: call.value(ranking, table.columns.no_relevant) for call in calls}


def evaluate(rows: pl.LazyFrame, wanted: Wanted, values: dict[str, pl.Expr], table: Table) -> pl.LazyFrame:
    """One row per query, its key and its values, from rows of either form."""
    faults = [] if wanted.contiguous else table.faults()  # in the other form they were seen to before
    listed = (RAW > 0) | (POSITION == 1)  # the first row stands for its query where nothing is relevant
    for other in [*wanted.kept.values(), *(pl.col(fault.column) for fault in faults)]:
        listed |= other
    if table.columns.ties == "expected":  # a document stands at each rank of its tied ones
        listed = listed.any().over(*wanted.key, SCORE)
    grouped = wanted.sums.keys() | wanted.largest.keys()
    constant = {name for value in values.values() for name in value.meta.root_names()} - grouped
    flags = _refused_labels(wanted)
    rows = _compute(rows, wanted, listed).with_columns(**wanted.sums, **wanted.largest, **flags)
    result = rows.group_by(wanted.key, maintain_order=wanted.contiguous).agg(
        pl.col(list(wanted.sums)).sum(),
        pl.col([*wanted.largest, *flags]).max(),
        pl.col(sorted(constant)).first(),
        pl.col([fault.column for fault in faults]).any(),
    )
    return result.select(*wanted.key, *guarded(values, faults, wanted))


def ask_rows(
    calls: Sequence[Call], table: Table, *, show: Literal["contribution", "curve"]
) -> tuple[Wanted, dict[str, pl.Expr]]:
    """Run the formulas as `ask` does, for values that stay on the rows."""
    policy = table.columns.no_relevant
    if show == "contribution" and table.columns.ties == "expected":
        raise InvalidOption(
            "ties='expected' is an average over orders, to which ranks contribute, not documents; say another rule for "
            "ties to explain, as in df.rank.on(ties='doc_desc')"
        )
    if show == "contribution" and policy == "one":
        policy = "null"  # nothing contributed to a 1 that stands by convention
    wanted = Wanted(table.key, contiguous=False)
    values = {}
    for call in calls:
        ranking = RowRanking(wanted, table.columns, show)
        values[call.text] = call.value(ranking, policy)
        if "total" not in ranking.asked or not call.metric.adds_up:
            what = "curve" if show == "curve" else "contributions"
            raise InvalidOption(
                f"{call.text} is no sum of what each rank contributes, so it has no {what}; use evaluate"
            )
    return wanted, values


def per_row(
    rows: pl.LazyFrame,
    wanted: Wanted,
    values: dict[str, pl.Expr],
    table: Table,
    *,
    show: Literal["contribution", "curve"],
) -> pl.LazyFrame:
    """The rows with a column per call: what each rank contributes, or the metric down to each rank."""
    flags, faults = _refused_labels(wanted), table.faults()
    rows = _compute(rows, wanted, None).with_columns(**flags)
    if show == "curve":  # a row with a fault stays until it has failed
        seen = [*(pl.col(name).is_not_null() for name in flags), *(pl.col(fault.column) for fault in faults)]
        rows = rows.filter(pl.any_horizontal(RANK.is_not_null(), *seen))
    return rows.with_columns(guarded(values, faults, wanted))


def _compute(rows: pl.LazyFrame, wanted: Wanted, listed: pl.Expr | None) -> pl.LazyFrame:
    """The rows with all columns that formulas asked for, those that add nothing left out."""
    if wanted.early:
        rows = rows.with_columns(**wanted.early)
    if listed is not None:
        rows = rows.filter(listed)
    return wanted.with_columns(rows.with_columns(pl.when(RAW > 0).then(RAW).otherwise(0.0).alias("#label")))


def _refused_labels(wanted: Wanted) -> dict[str, pl.Expr]:
    """The labels that formulas refuse, each as a column that is null elsewhere."""
    return {fault.column: pl.when(fault.rows).then(LABEL) for fault in wanted.refused.values()}


def guarded(values: dict[str, pl.Expr], faults: list[Fault], wanted: Wanted) -> list[pl.Expr]:
    """The values, each of which fails with the message of a fault or a refused label where one is seen."""
    refused = [(pl.col(fault.column), fault.message) for fault in wanted.refused.values()]
    if not faults and not refused:
        return [value.alias(text) for text, value in values.items()]
    guard = failing(
        [
            *((label.is_not_null(), naming(message, label)) for label, message in refused),
            *((pl.col(fault.column), fault.message) for fault in faults),
        ]
    )
    return [pl.coalesce(guard, value).alias(text) for text, value in values.items()]
