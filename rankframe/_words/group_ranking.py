"""A ranking inside `group_by().agg()` or `.over()`: every word computed from the rows of the group.

Each word sorts for itself, so this form is slower than a frame's plan; its results are the same.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy

import polars as pl
import polars.selectors as cs

from .._table.policies import Columns
from .._table.table import BY_DOCUMENT, is_finite, is_weight, naming, said
from ..errors import InvalidOption
from .ranking import Gain, Ranking, gain_rises

__all__ = ["GroupRanking"]


class GroupRanking(Ranking):
    """A ranking made of expressions over the raw columns of one group."""

    def __init__(self, columns: Columns) -> None:
        if columns.ties == "expected":
            raise InvalidOption(
                "an expression ranks its group in one order; for ties='expected' say df.rank.on(ties='expected')"
            )
        if columns.unjudged == "bounds":
            raise InvalidOption(
                "an expression gives one value, not two; for unjudged='bounds' say df.rank.on(unjudged='bounds')"
            )
        self.columns = columns
        self.threshold = columns.relevant
        self.collection_size = columns.collection_size
        self.faults: list[tuple[pl.Expr, str | pl.Expr]] = []
        label = pl.col(columns.label).cast(pl.Float64)
        score = pl.col(columns.score)
        if columns.scores == "float32":
            score = score.cast(pl.Float32)
        if columns.drops_first:
            score = pl.when(label >= 0).then(score)
        key, descending = _order(columns, score, label)

        def ranked(x: pl.Expr) -> pl.Expr:
            return x.sort_by(key, descending=descending, maintain_order=True)

        place = pl.int_range(1, pl.len() + 1)
        self.ranked, kept = ranked, ranked(score).is_not_null()
        if columns.depth is not None:
            kept &= place <= columns.depth
        if columns.drops_after_cut:
            within = kept & (ranked(label) >= 0).fill_null(False)
            self.ranked = lambda x: ranked(x).sort_by(within, descending=True, maintain_order=True)
            kept = within.sort_by(within, descending=True)
        self.score = pl.when(kept).then(self.ranked(score))
        self.rank = pl.when(kept).then(place).cast(pl.Float64)
        self.raw = self.ranked(label)
        if columns.unretrieved == "drop":
            self.raw = pl.when(kept).then(self.raw)
        self.label = pl.when(self.raw > 0).then(self.raw).otherwise(0.0)
        self.asked: set[str] = set()
        if columns.weight is not None:
            self.weight = self.ranked(pl.col(columns.weight).cast(pl.Float64).fill_null(0.0))
            self._fault((label >= 0).fill_null(False) & ~is_weight(pl.col(columns.weight)), said("weight", columns))
        self.column = self.ranked
        self._leave_out(columns)
        self._check(score, label)

    def _fault(self, bad: pl.Expr, message: str) -> None:
        self.faults.append((bad.any(), message))

    def _check(self, score: pl.Expr, label: pl.Expr) -> None:
        none = pl.lit(False)
        doc = columns_of(self.columns)
        is_nan = pl.any_horizontal(none, (cs.by_name(self.columns.score) & cs.float()).is_nan())
        for name in (self.columns.score, self.columns.label):
            other = cs.by_name(name) - cs.numeric() - cs.boolean()
            held = pl.any_horizontal(none, other.is_not_null())
            self._fault(held, f"column {name!r} holds no numbers; cast it, as with .cast(pl.Float64)")
        self._fault(is_nan, said("NaN score", self.columns))
        self._fault(~is_finite(label), said("label not finite", self.columns))
        self._fault(pl.any_horizontal(none, doc.is_duplicated()), said("repeated document", self.columns))
        if self.columns.ties == "trec_eval":
            nested = pl.any_horizontal(none, (doc & cs.nested()).is_not_null())
            self._fault(nested, said("nested document", self.columns))
        if self.columns.ties == "error":
            self._fault(score.is_duplicated() & score.is_not_null(), said("tied score", self.columns))

    def _each(self, x: pl.Expr) -> pl.Expr:
        return pl.when(pl.int_range(pl.len()) >= 0).then(x)

    def count(self, rows: pl.Expr) -> pl.Expr:
        return self._number(rows).sum()

    def count_above(self, rows: pl.Expr) -> pl.Expr:
        return self.so_far(rows) - self._number(rows).fill_null(0.0)

    @property
    def mean_rank(self) -> pl.Expr:
        last = (self.n_retrieved + self.n_candidates + 1) / 2
        return pl.when(self.rank.is_not_null()).then(self.score.rank("average", descending=True)).otherwise(last)

    @property
    def n_tied(self) -> pl.Expr:
        tied = self.score.rank("max") - self.score.rank("min") + 1
        return pl.when(self.retrieved).then(tied).otherwise(self.n_candidates - self.n_retrieved)

    def above(self, x: pl.Expr) -> pl.Expr:
        starts = self.score.ne_missing(self.score.shift(1)) | (pl.int_range(pl.len()) == 0)
        return pl.when(starts).then(self.so_far(x) - self._number(x).fill_null(0.0)).forward_fill()

    def at_or_above(self, x: pl.Expr) -> pl.Expr:
        ends = self.score.ne_missing(self.score.shift(-1)) | (pl.int_range(pl.len()) == pl.len() - 1)
        return pl.when(ends).then(self.so_far(x)).backward_fill()

    @property
    def unequal_pairs(self) -> pl.Expr:
        return self._pairs(lambda higher, lower: higher.is_not_null())

    @property
    def tied_pairs(self) -> pl.Expr:
        return self._pairs(lambda higher, lower: higher == lower)

    @property
    def inverted_pairs(self) -> pl.Expr:
        return self._pairs(lambda higher, lower: higher < lower)

    def _pairs(self, holds: Callable[[pl.Expr, pl.Expr], pl.Expr]) -> pl.Expr:
        """How many pairs of a higher and a lower label have scores of which it `holds`, by going through all pairs."""
        label = pl.when(self.retrieved | self.judged).then(self.label)
        level = self.score.rank("dense").fill_null(0)
        n = pl.len().cast(pl.Int64)
        pair = pl.int_range(n * n)
        one, other = pair // n, pair % n
        differ = label.gather(one) > label.gather(other)
        return (differ & holds(level.gather(one), level.gather(other))).sum().cast(pl.Float64)

    def largest(self, x: pl.Expr) -> pl.Expr:
        return self._number(x).max()

    def hits_down_to(self, k: int | None) -> pl.Expr:
        return self._down_to(self.relevant, k).sum()

    @property
    def largest_label_of_table(self) -> pl.Expr:
        raise InvalidOption(
            "an expression sees one query at a time, not the largest label of the table; say it: "
            "rf.expr.err(max_label=4), or max_label='query' for the largest label of each query"
        )

    def ideal(self, gain: Gain = "linear") -> GroupRanking:
        worth = self.label if gain_rises(gain) and self.weight is None else self.weighed(self.gain(gain))
        best = copy(self)
        if self.weight is not None:
            best.weight = self.weight.sort_by(worth, descending=True)
        best.label = self.label.sort_by(worth, descending=True)
        best.raw = self.raw.sort_by(worth, descending=True)
        best.rank = pl.int_range(1, pl.len() + 1).cast(pl.Float64)
        best.column = lambda x: self.column(x).sort_by(worth, descending=True)
        return best

    def below(self, x: pl.Expr) -> pl.Expr:
        return self._number(x).shift(-1, fill_value=0.0)

    @property
    def ideal_rank(self) -> pl.Expr:
        return self.label.rank("ordinal", descending=True).cast(pl.Float64)

    def so_far(self, x: pl.Expr) -> pl.Expr:
        return self._number(x).fill_null(0.0).cum_sum()

    def product_before(self, x: pl.Expr) -> pl.Expr:
        return self._number(x).fill_null(1.0).cum_prod().shift(1, fill_value=1.0)

    def whole(self, x: pl.Expr) -> pl.Expr:
        return self._number(x).sum()

    def total(
        self,
        x: pl.Expr,
        k: int | pl.Expr | None = None,
        *,
        weight: pl.Expr | None = None,
        over: pl.Expr | None = None,
    ) -> pl.Expr:
        return self._down_to(x, k, weight, over).sum()

    def best(self, x: pl.Expr) -> pl.Expr:
        return self._down_to(x, None).max().fill_null(0.0)

    def depth(self, k: int | None) -> pl.Expr:
        return self.n_retrieved if k is None else pl.lit(float(k))

    def refuse(self, bad: pl.Expr, message: str) -> None:
        self.faults.append((bad.any(), naming(message, self.label.filter(bad).max())))


def columns_of(columns: Columns) -> cs.Selector:
    """The document column; no column where nobody said which, no tie needs it and the table lacks the usual one."""
    if columns.doc_name is None:
        if columns.ties in BY_DOCUMENT:
            raise InvalidOption(said("no document", columns))
        return cs.by_name()
    needed = columns.doc is not ... or columns.ties in BY_DOCUMENT
    return cs.by_name(columns.doc_name, require_all=needed)


def _order(columns: Columns, score: pl.Expr, label: pl.Expr) -> tuple[pl.Expr, bool]:
    """One sort key that puts the group's rows in rank order, and whether it descends; it fits any dtype."""
    doc = columns_of(columns)
    if columns.ties == "trec_eval":
        text = [(doc - cs.nested()).cast(pl.String)]
    else:
        named = doc & (cs.enum() | cs.categorical())
        text = [(doc - named).as_expr(), named.cast(pl.String)]
    text = [x.name.prefix("#doc ") for x in text]
    retrieved = score.is_not_null().alias("#retrieved")
    row = pl.int_range(pl.len()).alias("#row")  # a sort by a struct is not stable
    fields = [score.alias("#score")]
    if columns.ties in ("best", "worst"):
        graded = label.fill_null(-float("inf"))
        fields.append((graded if columns.ties == "best" else -graded).alias("#label"))
    if columns.ties == "order":
        return pl.struct(retrieved, *fields, -row), True
    if columns.ties == "doc_asc":
        falling = score.rank("dense", descending=True).alias("#score")
        unnamed = doc.is_null().name.prefix("#null ")
        return pl.struct(~retrieved, falling, unnamed, *text, row), False
    return pl.struct(retrieved, *fields, *text, -row), True
