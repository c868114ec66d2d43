"""Rankings whose words are columns of a frame's plan: each computed once, whoever asks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from itertools import combinations
from typing import Literal

import polars as pl

from .._table.policies import Columns
from ..errors import InvalidOption
from .expected_ties import Expectation
from .ranking import Gain, NoExpectation, Ranking, gain_rises
from .requested_columns import FIRST_ROW, POSITION, QUERY, SCORE, Wanted, at_first_tied, at_last_tied, is_by_row

__all__ = ["LABEL", "RANK", "RAW", "FrameRanking", "RowRanking"]

RANK, LABEL, RAW = (pl.col(f"#{x}") for x in ("rank", "label", "raw"))

FEW = 16
"""How many labels a table may have for pairs of documents to be counted label by label, and not digit by digit."""


class FrameRanking(Ranking):
    """A ranking whose words are columns of the plan: each computed once, whoever asks."""

    rank = RANK
    label = LABEL
    raw = RAW

    def __init__(self, wanted: Wanted, columns: Columns) -> None:
        self.wanted = wanted
        self.threshold = columns.relevant
        self.collection_size = columns.collection_size
        self.top = columns.largest_label
        if self.top is None and columns.unretrieved == "missed":  # then no label of the table is left out
            self.top = wanted.top
        self.expected: Expectation | None = Expectation(wanted) if columns.ties == "expected" else None
        self.asked: set[str] = set()
        self.worth: pl.Expr | None = None  # what an ideal ranking is ordered by
        self.column = wanted.from_table
        if columns.weight is not None:
            self.weight = self.column(pl.col(columns.weight).cast(pl.Float64).fill_null(0.0))
        self._leave_out(columns)

    @property
    def judged(self) -> pl.Expr:
        return super().judged if self.worth is None else self._best(super().judged, self.worth)

    def hits_down_to(self, k: int | None) -> pl.Expr:
        self._need_order()
        return self.wanted.sum(self._down_to(self.relevant, k))

    def _each(self, x: pl.Expr) -> pl.Expr:
        refuse_aggregate(x)
        return x if x.meta.root_names() else pl.when(POSITION > 0).then(x)

    def count(self, rows: pl.Expr) -> pl.Expr:
        n = self._each(rows).sum().over(self.wanted.key).cast(pl.Float64)
        return self.wanted.of_query(self.wanted.before_drop(n))

    def count_above(self, rows: pl.Expr) -> pl.Expr:
        self._need_order()
        above = pl.when(self._each(rows)).then(1).cum_count().shift(1, fill_value=0)
        return self.wanted.before_drop((above - above.gather(FIRST_ROW)).cast(pl.Float64))

    @property
    def mean_rank(self) -> pl.Expr:
        by_score = (at_first_tied(POSITION) + at_last_tied(POSITION)) / 2
        last = (self.n_retrieved + self.n_candidates + 1) / 2
        return self.wanted.column(pl.when(self.retrieved).then(self.wanted.before_drop(by_score)).otherwise(last))

    @property
    def n_tied(self) -> pl.Expr:
        same = at_last_tied(POSITION) - at_first_tied(POSITION) + 1
        same = self.wanted.before_drop(same.cast(pl.Float64))
        missed = self.n_candidates - self.n_retrieved
        return self.wanted.column(pl.when(self.retrieved).then(same).otherwise(missed))

    def _first_tied(self, x: pl.Expr) -> pl.Expr:
        return self.wanted.column(at_first_tied(x))

    def _last_tied(self, x: pl.Expr) -> pl.Expr:
        return self.wanted.column(at_last_tied(x))

    def above(self, x: pl.Expr) -> pl.Expr:
        x = self._number(x).fill_null(0.0)
        return self._first_tied(self._by_score(x) - x)

    def at_or_above(self, x: pl.Expr) -> pl.Expr:
        return self._last_tied(self._by_score(self._number(x).fill_null(0.0)))

    def _by_score(self, x: pl.Expr) -> pl.Expr:
        if "#rank" in x.meta.root_names():
            self._need_order()
        return self._so_far(x)

    def _among_tied(self, x: pl.Expr, *others: pl.Expr) -> pl.Expr:
        return self.wanted.column(x.over(*self.wanted.key, SCORE, *others))

    @property
    def _candidate(self) -> pl.Expr:
        """1.0 for a document that was retrieved or judged, else 0.0."""
        return self.wanted.column((self.retrieved | self.judged).cast(pl.Float64))

    @property
    def _few_labels(self) -> Sequence[float]:
        """The labels that pairs are counted by, one after the other; none where they are many."""
        labels = () if self.wanted.labels is None else self.wanted.labels.all()
        return labels if len(labels) <= FEW else ()

    def _with_lower(self, count: Callable[[pl.Expr, pl.Expr], pl.Expr]) -> pl.Expr:
        """What `count` makes of how many candidates with lower labels the table has above and so far, summed up."""
        counts = []
        for label in self._few_labels[1:]:  # which are above 0, so that only judged documents have them
            lower = (self._candidate > 0) & (self.label < label)
            so_far = self.wanted.column(_count(lower))
            above = self.wanted.column(so_far - lower.cast(pl.Int64))
            counts.append(pl.when(self.label == label).then(count(above, so_far)).otherwise(0))
        return self.wanted.sum(pl.sum_horizontal(pl.lit(0), *counts)).cast(pl.Float64)

    @property
    def unequal_pairs(self) -> pl.Expr:
        if self._few_labels:
            has_label = [
                pl.when(self.label == label).then(self._candidate).otherwise(0.0) for label in self._few_labels
            ]
            n = [self.wanted.sum(rows) for rows in has_label]
            return pl.sum_horizontal(pl.lit(0.0), *(one * other for one, other in combinations(n, 2)))
        same = self.wanted.column(self._candidate.sum().over(*self.wanted.key, self.label))
        return self.wanted.sum(self._candidate * (self.n_candidates - same) / 2)

    @property
    def tied_pairs(self) -> pl.Expr:
        if self._few_labels:
            return self._with_lower(lambda above, so_far: self._last_tied(so_far) - self._first_tied(above))
        same = self._among_tied(self._candidate.sum(), self.label)
        return self.wanted.sum(self._candidate * (self.n_tied - same) / 2)

    @property
    def inverted_pairs(self) -> pl.Expr:
        if self._few_labels:
            return self._with_lower(lambda above, so_far: self._first_tied(above) - self._at_first(above))
        # by rising score and then label, so that of tied documents none is inverted
        place = self.wanted.column(pl.int_range(pl.len()).over(self.wanted.key, order_by=[SCORE, self.label]))
        level = self.wanted.column((self.label.rank("dense").over(self.wanted.key) - 1).cast(pl.Int64))
        labels = self.wanted.labels
        bits = 32 if labels is None else len(labels.all()).bit_length()  # a query has no more rows than Polars holds
        return self.wanted.sum(self.wanted.greater_before(place, level, bits))

    def largest(self, x: pl.Expr) -> pl.Expr:
        return self.wanted.of_query(self.wanted.column(self._number(x).max().over(self.wanted.key)))

    @property
    def largest_label_of_table(self) -> pl.Expr:
        if self.top is None:
            self.wanted.whole_table = True
            return self.wanted.of_query(self.wanted.column(LABEL.max()))
        return pl.lit(float(self.top))

    def gain(self, gain: Gain) -> pl.Expr:
        if isinstance(gain, str) and gain == "linear":
            return self.label
        if isinstance(gain, str) and gain == "exponential" and self.wanted.labels and self.wanted.top is not None:
            of_label = 2.0**self.wanted.labels.whole - 1
            return self.wanted.column(pl.lit(of_label).gather(self.label.cast(pl.UInt32)))
        return self.wanted.column(super().gain(gain))

    def looked_up(self, x: pl.Expr, numbers: Sequence[float], values: Sequence[float]) -> pl.Expr:
        # a column costs nothing to be named often, and a look-up of Polars' own would gather it in memory
        return pl.coalesce(*(pl.when(x == each).then(value) for each, value in zip(numbers, values, strict=True)), 0.0)

    def ideal(self, gain: Gain = "linear") -> FrameRanking:
        best = copy(self)
        best.expected = None
        worth = self.label if gain_rises(gain) and self.weight is None else self.weighed(self.gain(gain))
        best.worth = worth
        best.rank = self._place
        best.label = self._by_label if worth is self.label else self._best(self.label, worth)
        best.column = lambda x: self._best(self.column(x), worth)
        if self.weight is not None:
            best.weight = self._best(self.weight, worth)
        return best

    def retrieved_only(self) -> FrameRanking:
        other = super().retrieved_only()
        other.label = self.wanted.column(other.label)
        return other

    @property
    def ideal_rank(self) -> pl.Expr:
        self._need_order()
        by_label = self.label.rank("ordinal", descending=True).cast(pl.Float64)
        return self.wanted.column(self.wanted.over(by_label))

    def _best(self, x: pl.Expr, worth: pl.Expr) -> pl.Expr:
        return self.wanted.column(self.wanted.over(x.sort_by(worth, descending=True)))

    @property
    def _by_label(self) -> pl.Expr:
        """The labels of each query from the largest down."""
        top = self.wanted.top
        if top is None:
            return self._best(self.label, self.label)
        # as digits of one whole number they take half of what a window takes, and a quarter where queries are small
        numbers = QUERY.cast(pl.UInt64) * (top + 1) + (top - self.label).cast(pl.UInt64)
        return self.wanted.column(top - (numbers.sort() % (top + 1)).cast(pl.Float64))

    @property
    def relevant(self) -> pl.Expr:
        return self.wanted.column(super().relevant)

    @property
    def hits(self) -> pl.Expr:
        self._need_order()
        return self._hits

    @property
    def _hits(self) -> pl.Expr:
        # the count of the table less that of the queries above, and no window
        found = self.relevant > 0
        so_far = _count(found)
        return self.wanted.column((so_far - self._at_first(so_far - found)).cast(pl.Float64))

    @property
    def _place(self) -> pl.Expr:
        """The rows' own number in their query, from 1 on, after those without gain are gone."""
        return self.wanted.column((pl.int_range(1, pl.len() + 1) - self._first_row).cast(pl.Float64))

    @property
    def _first_row(self) -> pl.Expr:
        """The number of the row at which the query starts, on all of its rows."""
        return self.wanted.column(FIRST_ROW)

    def _at_first(self, x: pl.Expr) -> pl.Expr:
        """`x` at the first row of each query, on all of its rows."""
        return x.gather(self._first_row)

    @property
    def hits_at_relevant(self) -> pl.Expr:
        return super().hits_at_relevant if self.expected is None else self.expected.hits_at(self.relevant, self._hits)

    @property
    def first_relevant(self) -> pl.Expr:
        if self.expected is None:
            return super().first_relevant
        miss = self.expected.miss(self.relevant, self._hits)
        return self._product_before(miss) * (1 - miss)

    def stops(self, x: pl.Expr) -> pl.Expr:
        return super().stops(x) if self.expected is None else self.expected.stops(x, self._product_before(1 - x))

    def below(self, x: pl.Expr) -> pl.Expr:
        self._need_order()
        x = self._number(x)
        ends = POSITION.shift(-1, fill_value=1) == 1  # a column of its own: a shift inside a window is slow
        return self.wanted.column(pl.when(ends).then(0.0).otherwise(self.wanted.column(x).shift(-1)))

    def so_far(self, x: pl.Expr) -> pl.Expr:
        self._need_order()
        return self._so_far(self._number(x).fill_null(0.0))

    def _so_far(self, x: pl.Expr) -> pl.Expr:
        return self.wanted.column(self.wanted.over(x.cum_sum()))

    def once(self, x: pl.Expr) -> pl.Expr:
        refuse_aggregate(x)
        x = self.wanted.of_rank(x, self.rank)
        return x if x.meta.is_column() else self.wanted.column(x)

    def product_before(self, x: pl.Expr) -> pl.Expr:
        self._need_order()
        return self._product_before(self._number(x).fill_null(1.0))

    def _product_before(self, x: pl.Expr) -> pl.Expr:
        product = self.wanted.column(self.wanted.over(x.cum_prod()))
        return self.wanted.column(pl.when(POSITION == 1).then(1.0).otherwise(product.shift(1)))  # as in `below`

    def whole(self, x: pl.Expr) -> pl.Expr:
        if "#rank" in x.meta.root_names():
            self._need_order()
        return self.wanted.whole(self._number(x))

    def total(
        self,
        x: pl.Expr,
        k: int | pl.Expr | None = None,
        *,
        weight: pl.Expr | None = None,
        over: pl.Expr | None = None,
    ) -> pl.Expr:
        if self.worth is None:
            self.asked.add("total")
        return self.wanted.sum(self._down_to(self._at_rank(x), k, weight, over))

    def best(self, x: pl.Expr) -> pl.Expr:
        self._need_order()
        return self.wanted.max(self._down_to(x, None)).fill_null(0.0)

    def depth(self, k: int | None) -> pl.Expr:
        return self.n_retrieved if k is None else pl.lit(float(k))

    def refuse(self, bad: pl.Expr, message: str) -> None:
        labels = self.wanted.labels
        known = labels is not None and labels.top is not None and {*bad.meta.root_names()} == {"#label"}
        if labels is None or not known or pl.select(labels.whole.alias("#label")).select(bad.any()).item():
            self.wanted.refuse(bad, message)

    def _down_to(
        self, x: pl.Expr, k: int | pl.Expr | None, weight: pl.Expr | None = None, over: pl.Expr | None = None
    ) -> pl.Expr:
        def of_rank(y: pl.Expr | None) -> pl.Expr | None:
            return self.wanted.of_rank(y, self.rank) if isinstance(y, pl.Expr) else y  # a discount may give a number

        return super()._down_to(x, k, of_rank(weight), of_rank(over))

    def _at_rank(self, x: pl.Expr) -> pl.Expr:
        return x if self.expected is None or self.expected.has(x) else self.expected.of(x, self._so_far(x))

    def _need_order(self) -> None:
        if self.expected is not None:
            raise NoExpectation


def refuse_aggregate(x: pl.Expr) -> None:
    """Refuse an expression that looks at several rows, which in a table are not those of one query."""
    if is_by_row(x) is False:
        raise InvalidOption(
            f"a formula is given the rows of all queries at once, so {x} would mix them; write it in the words of the "
            "ranking, as r.whole(x) for x.sum(), r.largest(x) for x.max() and r.so_far(x) for x.cum_sum()"
        )


def _count(rows: pl.Expr) -> pl.Expr:
    """How many of `rows` the table has down to each of its rows; faster than a sum."""
    return pl.when(rows).then(1).cum_count().cast(pl.Int64)


class RowRanking(FrameRanking):
    """A ranking whose totals stay on the rows: what each rank adds, or the metric down to each rank."""

    def __init__(self, wanted: Wanted, columns: Columns, show: Literal["contribution", "curve"]) -> None:
        super().__init__(wanted, columns)
        self.show = show

    def total(
        self,
        x: pl.Expr,
        k: int | pl.Expr | None = None,
        *,
        weight: pl.Expr | None = None,
        over: pl.Expr | None = None,
    ) -> pl.Expr:
        x = self._down_to(self._at_rank(x), k, weight, over).cast(pl.Float64).fill_null(0.0)
        if self.worth is None:
            self.asked.add("total")
        if self.show == "curve":
            return self._so_far(x)
        return x if self.worth is None else self.whole(x)

    def hits_down_to(self, k: int | None) -> pl.Expr:
        self._need_order()
        return self.hits if self.show == "curve" else self.whole(self._down_to(self.relevant, k))

    def best(self, x: pl.Expr) -> pl.Expr:
        return x

    def depth(self, k: int | None) -> pl.Expr:
        return self.rank if self.show == "curve" else super().depth(k)

    def cutoff(self, k: int | None) -> pl.Expr:
        return self.rank if self.show == "curve" else super().cutoff(k)
