"""The way through the data: rank inside the query, drop what adds nothing, one grouped pass for all metrics.

Formulas are run first, against a `FrameRanking` that writes down what they ask for; then the plan computes every
column asked for once. Rows reach it in one of two forms, with equal results: ranked by a window, which streams, or
ranked inside one `group_by` and exploded, which is faster in memory and leaves queries contiguous, in rank order.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import Literal

import polars as pl

from ._ranking import Gain, Ranking
from ._registry import Call
from ._table import Fault, Table, carried, failing, naming
from ._wanted import POSITION, Wanted
from .errors import InvalidOption

__all__ = [
    "FrameRanking",
    "ask",
    "evaluate",
    "explode_ranked",
    "group_ranked",
    "guarded",
    "per_row",
    "position",
    "ranked_by_window",
    "with_row",
]

RANK, LABEL, RAW, SCORE = (pl.col(f"#{x}") for x in ("rank", "label", "raw", "score"))

# ------------------------------------------------------------------------------------------------ rows in rank order


def with_row(lf: pl.LazyFrame, table: Table) -> pl.LazyFrame:
    """The rows, numbered where their own order is what tells tied ones apart."""
    return lf.with_row_index(table.row) if table.needs_row else lf


def position(table: Table) -> pl.Expr:
    """Each row's place in its query, by a window over rows that `with_row` has numbered."""
    keys, descending = table.order(pl.col(table.row) if table.needs_row else None)
    place = pl.int_range(1, pl.len() + 1, dtype=pl.Int64)
    return place.over(table.columns.query, order_by=keys, descending=descending, nulls_last=True)


def ranked_by_window(lf: pl.LazyFrame, table: Table, *, carry: Sequence[str] = ()) -> pl.LazyFrame:
    """The rows with their position, by a window: any order of rows, any engine."""
    rows = with_row(lf, table).select(
        *table.query,
        *(pl.col(name).alias(carried(name)) for name in carry),
        position(table).alias("#position"),
        table.score.alias("#score"),
        table.label.alias("#raw"),
        *(f.rows.over(table.columns.query).alias(f.column) for f in table.faults()),
    )
    return rows.with_columns(pl.when(SCORE.is_not_null()).then(POSITION).cast(pl.Float64).alias("#rank"))


def group_ranked(frame: pl.DataFrame, table: Table, *, scores: bool) -> pl.LazyFrame:
    """One row per query, in order of first appearance: its labels (and scores) as lists in rank order."""
    keys, descending = table.order()
    # to sort nulls last takes a quarter longer, so only where there are any
    nulls = table.columns.unjudged == "drop" or any(frame[name].null_count() for name in table.order_columns)

    def ranked(x: pl.Expr) -> pl.Expr:
        return x.sort_by(keys, descending=descending, nulls_last=nulls, maintain_order=table.needs_row)

    faults = [f.rows.any().alias(f.column) for f in table.faults()]
    lists = [ranked(table.label).alias("#raw"), *([ranked(table.score).alias("#score")] if scores else [])]
    return frame.lazy().group_by(table.query, maintain_order=True).agg(*lists, table.score.count().alias("#n"), *faults)


def explode_ranked(grouped: pl.LazyFrame, *, scores: bool) -> pl.LazyFrame:
    """The lists of `group_ranked` as rows, keyed by the number of the query: contiguous and in rank order."""
    lists = ["#raw", *(["#score"] if scores else [])]
    size = pl.col("#raw").list.len().cast(pl.Int64)
    grouped = grouped.with_columns((size.cum_sum() - size).alias("#start")).with_row_index("#query")
    rows = grouped.select("#query", "#n", "#start", *lists).explode(lists)
    rows = rows.with_columns((pl.int_range(1, pl.len() + 1, dtype=pl.Int64) - pl.col("#start")).alias("#position"))
    return rows.with_columns(pl.when(pl.col("#n") >= POSITION).then(POSITION).cast(pl.Float64).alias("#rank"))


# ------------------------------------------------------------------------------------------ rankings of a frame


class FrameRanking(Ranking):
    """A ranking whose words are columns of the plan: each computed once, whoever asks."""

    rank = RANK
    label = LABEL

    def __init__(self, wanted: Wanted, threshold: float) -> None:
        self.wanted = wanted
        self.threshold = threshold
        self.worth: pl.Expr | None = None  # what an ideal ranking is ordered by

    @property
    def judged(self) -> pl.Expr:
        judged = (RAW >= 0).fill_null(False)
        return judged if self.worth is None else self._best(judged, self.worth)

    @property
    def _nonrelevant(self) -> pl.Expr:
        return RAW.is_between(0, self.threshold, closed="left")

    @property
    def n_retrieved(self) -> pl.Expr:
        return self.wanted.before_drop(RANK.count().over(self.wanted.key))

    @property
    def n_nonrelevant(self) -> pl.Expr:
        return self.wanted.before_drop(self._nonrelevant.sum().over(self.wanted.key).cast(pl.Float64))

    @property
    def nonrelevant_above(self) -> pl.Expr:
        above = self._nonrelevant.cum_sum().cast(pl.Float64)
        return self.wanted.before_drop(self.wanted.over(above))

    @property
    def n_candidates(self) -> pl.Expr:
        candidates = (RANK.is_not_null() | (RAW >= 0)).sum()
        return self.wanted.before_drop(candidates.over(self.wanted.key).cast(pl.Float64))

    @property
    def mean_rank(self) -> pl.Expr:
        by_score = self.wanted.before_drop(SCORE.rank("average", descending=True).over(self.wanted.key))
        last = (self.n_retrieved + self.n_candidates + 1) / 2
        return pl.when(RANK.is_not_null()).then(by_score).otherwise(last)

    @property
    def largest_label(self) -> pl.Expr:
        return self.wanted.column(LABEL.max().over(self.wanted.key))

    @property
    def largest_label_of_table(self) -> pl.Expr:
        return self.wanted.column(LABEL.max())

    def gain(self, gain: Gain) -> pl.Expr:
        return self.label if gain == "linear" else self.wanted.column(super().gain(gain))

    def ideal(self, gain: Gain = "linear") -> FrameRanking:
        best = copy(self)
        best.worth = self.label if isinstance(gain, str) else self.gain(gain)
        best.rank = self.wanted.column(self.wanted.over(pl.int_range(1, pl.len() + 1).cast(pl.Float64)))
        best.label = self._best(self.label, best.worth)
        return best

    def _best(self, x: pl.Expr, worth: pl.Expr) -> pl.Expr:
        return self.wanted.column(self.wanted.over(x.sort_by(worth, descending=True)))

    @property
    def relevant(self) -> pl.Expr:
        return self.wanted.column(super().relevant)

    @property
    def hits(self) -> pl.Expr:
        if not self.wanted.contiguous:
            return super().hits
        # whole numbers, so the running sum of the table less that of the queries above is exact, and no window
        running = self.relevant.cum_sum()
        above = pl.when(POSITION == 1).then(running - self.relevant).forward_fill()
        return self.wanted.column(running - above)

    def so_far(self, x: pl.Expr) -> pl.Expr:
        return self.wanted.column(self.wanted.over(x.cum_sum()))

    def product_before(self, x: pl.Expr) -> pl.Expr:
        if not self.wanted.contiguous:
            return self.wanted.column(self.wanted.over(x.cum_prod().shift(1, fill_value=1.0)))
        product = self.wanted.column(self.wanted.over(x.cum_prod()))
        return pl.when(POSITION == 1).then(1.0).otherwise(product.shift(1))

    def whole(self, x: pl.Expr) -> pl.Expr:
        return self.wanted.column(x.sum().over(self.wanted.key))

    def total(self, x: pl.Expr, k: int | pl.Expr | None = None) -> pl.Expr:
        return self.wanted.sum(self._down_to(x, k))

    def best(self, x: pl.Expr) -> pl.Expr:
        return self.wanted.max(self._down_to(x, None)).fill_null(0.0)

    def depth(self, k: int | None) -> pl.Expr:
        return self.n_retrieved if k is None else pl.lit(float(k))

    def refuse(self, bad: pl.Expr, message: str) -> None:
        self.wanted.refuse(bad, message)

    def keep(self, rows: pl.Expr) -> None:
        if self.worth is None:
            self.wanted.keep(rows)

    def _down_to(self, x: pl.Expr, k: int | pl.Expr | None) -> pl.Expr:
        return pl.when(self.rank.is_not_null() if k is None else self.rank <= k).then(x)


class RowRanking(FrameRanking):
    """A ranking whose totals stay on the rows: what each rank adds, or the metric down to each rank."""

    def __init__(self, wanted: Wanted, threshold: float, show: Literal["contribution", "curve"]) -> None:
        super().__init__(wanted, threshold)
        self.show = show
        self.totals: list[pl.Expr] = []  # shared with the copies that thresholds make

    def total(self, x: pl.Expr, k: int | pl.Expr | None = None) -> pl.Expr:
        x = self._down_to(x, k).cast(pl.Float64).fill_null(0.0)
        if self.worth is None:
            self.totals.append(x)
        if self.show == "curve":
            return self.so_far(x)
        return x if self.worth is None else self.whole(x)

    def best(self, x: pl.Expr) -> pl.Expr:
        return x

    def depth(self, k: int | None) -> pl.Expr:
        return self.rank if self.show == "curve" else super().depth(k)


# ---------------------------------------------------------------------------------------------------------- the plans


def ask(calls: Sequence[Call], table: Table, *, contiguous: bool) -> tuple[Wanted, dict[str, pl.Expr]]:
    """Run the formulas: what they want of the rows, and the value of each call over the grouped result."""
    wanted = Wanted(["#query"] if contiguous else table.key, contiguous)
    ranking = FrameRanking(wanted, table.columns.relevant)
    return wanted, {call.text: call.value(ranking, table.columns.no_relevant) for call in calls}


def evaluate(rows: pl.LazyFrame, wanted: Wanted, values: dict[str, pl.Expr], table: Table) -> pl.LazyFrame:
    """One row per query, its key and its values, from rows of either form."""
    faults = [] if wanted.contiguous else table.faults()  # in the other form they were seen to before
    listed = (RAW > 0) | (POSITION == 1)  # the first row stands for its query where nothing is relevant
    for other in [*wanted.kept.values(), *(pl.col(fault.column) for fault in faults)]:
        listed |= other
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


def per_row(
    rows: pl.LazyFrame, calls: Sequence[Call], table: Table, *, show: Literal["contribution", "curve"]
) -> pl.LazyFrame:
    """The rows with a column per call: what each rank contributes, or the metric down to each rank."""
    wanted = Wanted(table.key, contiguous=False)
    policy = table.columns.no_relevant
    if show == "contribution" and policy == "one":
        policy = "null"  # nothing contributed to a 1 that stands by convention
    values = {}
    for call in calls:
        ranking = RowRanking(wanted, table.columns.relevant, show)
        values[call.text] = call.value(ranking, policy)
        if not ranking.totals:
            what = "curve" if show == "curve" else "contributions"
            raise InvalidOption(
                f"{call.text} is no sum of what each rank contributes, so it has no {what}; use evaluate"
            )
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
