"""What a formula sees: one query's ranking, as expressions."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from typing import Annotated, Any, Literal, TypeAlias, TypeVar

import polars as pl

from .._support.option_kinds import Range, check, is_number
from .._table.policies import GREATEST, Columns, Cutoff, Label, check_threshold
from ..errors import InvalidOption, shown
from .score_words import ByScore

__all__ = [
    "LISTED",
    "AverageDivisor",
    "ChanceGain",
    "Cutoff",
    "Discount",
    "Gain",
    "Ideal",
    "Label",
    "ListedCutoff",
    "MaxLabel",
    "NoExpectation",
    "Persistence",
    "PrecisionDivisor",
    "Proportion",
    "Range",
    "Ranking",
    "Rounding",
    "ShareGain",
    "gain_rises",
    "is_number",
]

LISTED = 1_000_000
"""The last rank of formulas that list all ranks down to their cutoff, or count them with rounding errors."""

Proportion: TypeAlias = Annotated[float, Range(least=0, most=1)]
Persistence: TypeAlias = Annotated[float, Range(above=0, below=1)]
ListedCutoff: TypeAlias = Annotated[int, Range(least=1, most=LISTED)]
Worth: TypeAlias = Annotated[float, Range(least=0, most=GREATEST)]
Gain: TypeAlias = Literal["linear", "exponential", "binary"] | Mapping[Label, Worth] | pl.Expr
ChanceGain: TypeAlias = Literal["linear", "exponential", "binary"] | Mapping[Label, Proportion] | pl.Expr
ShareGain: TypeAlias = Mapping[Label, Proportion] | pl.Expr | Literal["linear", "scaled"] | None
Discount: TypeAlias = (
    Literal["log2", "original", "rank"] | Annotated[float, Range(above=1)] | Callable[[pl.Expr], pl.Expr]
)
MaxLabel: TypeAlias = Literal["query"] | Annotated[float, Range(least=0, below=1024)] | None
Ideal: TypeAlias = Literal["judged", "retrieved", "perfect"]
PrecisionDivisor: TypeAlias = Literal["k", "min(k,n)", "min(k,R)"]
AverageDivisor: TypeAlias = Literal["R", "min(k,R)", "min(n,R)", "hits", "k"]
Rounding: TypeAlias = Literal["nearest", "up"]

R = TypeVar("R", bound="Ranking")


def gain_rises(gain: Gain) -> bool:
    """Whether the order of the labels is that of their gains."""
    return isinstance(gain, str) and gain != "binary"


class NoExpectation(InvalidOption):
    """A formula asks for the order of tied documents in a way that has no closed form."""

    def __init__(self) -> None:
        super().__init__(
            "its expectation over the orders of tied documents has no closed form; say another rule for ties, as in "
            "df.rank.on(ties='doc_desc'), or see the range with ties='worst' and ties='best'"
        )


class Ranking(ByScore):
    """One query's ranking, as expressions: the words that formulas are written in.

    Every row is a document: retrieved (it has a `rank`), judged (it has a label from 0 on), or both.
    What a word takes as `x` is a number for each document, made row by row; one number stands for all of them.
    """

    #: Position from 1 on, in descending order of score; null for a document that was not retrieved.
    rank: pl.Expr
    #: The label as a float, 0 for a document that nobody judged.
    label: pl.Expr
    #: The label as it came: null, or negative, for a document that nobody judged.
    raw: pl.Expr
    #: A label from here on is relevant.
    threshold: float = 1
    #: How many documents there are to retrieve from; None where nobody said.
    collection_size: float | None = None
    #: What each document weighs; None where nobody said.
    weight: pl.Expr | None = None

    #: Makes of an expression over the table's own columns, computed row by row, one over the ranking's documents.
    column: Callable[[pl.Expr], pl.Expr]
    #: What a formula has asked for beyond the ranks and labels.
    asked: set[str]
    #: What stands for tied documents that are in all orders at once; None where they are in one.
    expected: Any = None

    def with_threshold(self, relevant: float) -> Ranking:
        """The same ranking where a label from `relevant` on counts as relevant."""
        check_threshold(relevant)
        other = copy(self)
        other.threshold = relevant
        return other

    def from_label(self, min_label: float | None) -> Ranking:
        """The same ranking where labels below `min_label` read 0."""
        if min_label is None:
            return self
        min_label = check("min_label", min_label, Label)
        other = copy(self)
        other.label = pl.when(self.label >= min_label).then(self.label).otherwise(0.0)
        return other

    def retrieved_only(self: R) -> R:
        """The same ranking where documents that were not retrieved count as not judged."""
        other = copy(self)
        other.label = pl.when(self.retrieved).then(self.label).otherwise(0.0)
        other.raw = pl.when(self.retrieved).then(self.raw)
        other.column = lambda x: pl.when(self.retrieved).then(self.column(x))
        return other

    def _leave_out(self, columns: Columns) -> None:
        """Hide columns of documents that the policies take out of the table."""
        counted, column = pl.lit(True), self.column
        if columns.unretrieved == "drop":
            counted &= self.retrieved
        if columns.unjudged == "drop":
            counted &= self.judged
        if columns.unretrieved == "drop" or columns.unjudged == "drop":
            self.column = lambda x: pl.when(counted).then(column(x))

    @property
    def retrieved(self) -> pl.Expr:
        """Whether the document has a rank."""
        return self.rank.is_not_null()

    @property
    def judged(self) -> pl.Expr:
        """Whether somebody judged the document: its label is 0 or more."""
        return (self.raw >= 0).fill_null(False)

    @property
    def nonrelevant(self) -> pl.Expr:
        """Whether the document was judged, and falls short of the threshold."""
        return self.raw.is_between(0, self.threshold, closed="left").fill_null(False)

    @property
    def unjudged(self) -> pl.Expr:
        """1.0 for a document that nobody judged, else 0.0."""
        return (~self.judged).cast(pl.Float64)

    @property
    def relevant(self) -> pl.Expr:
        """1.0 for a judged document whose label reaches the threshold, else 0.0."""
        reached = self.label >= self.threshold if self.threshold > 0 else self.judged
        return reached.cast(pl.Float64)

    @property
    def hits(self) -> pl.Expr:
        """How many relevant documents stand at this rank or above."""
        return self.so_far(self.relevant)

    @property
    def hits_at_relevant(self) -> pl.Expr:
        """The hits at the rank of each relevant document, 0.0 elsewhere."""
        return self.relevant * self.hits

    @property
    def first_relevant(self) -> pl.Expr:
        """1.0 at the rank of the first relevant document, else 0.0."""
        return pl.when(self.hits == 1).then(self.relevant).otherwise(0.0)

    def stops(self, x: pl.Expr) -> pl.Expr:
        """The probability that a reader stops here, whom each document satisfies with probability `x`."""
        return x * self.product_before(1 - x)

    def weighed(self, x: pl.Expr) -> pl.Expr:
        """What documents are worth, times their weights; a metric that does not say so has no weighted form."""
        self.asked.add("weight")
        if self.weight is None:
            return x
        return self._fit(x * self.weight, f"a gain times its weight is above {GREATEST:g}; give smaller weights")

    @property
    def n_relevant(self) -> pl.Expr:
        """How many relevant documents the query has, retrieved or not."""
        return self.whole(self.relevant)

    def gain(self, gain: Gain) -> pl.Expr:
        """What each document is worth: its label, 2^label - 1, 1 if it is relevant, what a mapping says of the label, or an expression."""
        if isinstance(gain, pl.Expr):
            worth = self.column(gain).cast(pl.Float64).fill_null(0.0)
            return self._fit(worth, f"gain={gain} is negative, NaN or above {GREATEST:g} for a document")
        worth_of: str | Mapping[float, float] = check("gain", gain, Gain)
        if not isinstance(worth_of, Mapping):
            if worth_of == "linear":
                return self.label
            if worth_of == "binary":
                return self.relevant
            self.refuse(
                self.label >= 900,
                "a label of 900 or more is beyond 2^label; say what labels are worth, {label: gain}",
            )
            return 2.0 ** self.label.clip(upper_bound=900) - 1  # refused labels overflow no sum on the way
        labels, worths = [float(x) for x in worth_of], [float(x) for x in worth_of.values()]
        unmapped = (self.label > 0) & ~self.label.is_in(labels)
        self.refuse(unmapped, f"a label has no gain in {shown(worth_of)}; give every positive label its gain")
        return pl.when(self.judged).then(self.looked_up(self.label, labels, worths)).otherwise(0.0)

    def _fit(self, worth: pl.Expr, message: str) -> pl.Expr:
        """What documents are worth, from 0 to the greatest; else fail with `message`, and overflow no sum on the way."""
        fit = worth.is_between(0, GREATEST)
        self.refuse(~fit, message)
        return pl.when(fit).then(worth).otherwise(0.0)

    def looked_up(self, x: pl.Expr, numbers: Sequence[float], values: Sequence[float]) -> pl.Expr:
        """The value that belongs to a number; 0 for others."""
        return x.replace_strict(numbers, values, default=0.0, return_dtype=pl.Float64)

    @property
    def n_retrieved(self) -> pl.Expr:
        """How many documents were retrieved."""
        return self.count(self.retrieved)

    @property
    def n_nonrelevant(self) -> pl.Expr:
        """How many documents were judged non-relevant, retrieved or not."""
        return self.count(self.nonrelevant)

    @property
    def nonrelevant_above(self) -> pl.Expr:
        """How many documents judged non-relevant stand above this rank."""
        return self.count_above(self.nonrelevant)

    @property
    def n_candidates(self) -> pl.Expr:
        """How many documents were retrieved or judged."""
        return self.count(self.retrieved | self.judged)

    @property
    def largest_label(self) -> pl.Expr:
        """The largest label of the query, at least 0."""
        return self.largest(self.label)

    @property
    @abstractmethod
    def largest_label_of_table(self) -> pl.Expr:
        """The largest label of all queries, at least 0."""

    @abstractmethod
    def ideal(self, gain: Gain = "linear") -> Ranking:
        """The best possible ranking: all documents by falling gain, its rank i on the row of this ranking's rank i."""

    @abstractmethod
    def _each(self, x: pl.Expr) -> pl.Expr:
        """`x` for each document: one number, or truth value, stands for all of them."""

    def _number(self, x: pl.Expr) -> pl.Expr:
        """`x` for each document as a float."""
        return self._each(x).cast(pl.Float64)

    @abstractmethod
    def below(self, x: pl.Expr) -> pl.Expr:
        """`x` one rank further down; 0 at the end."""

    @property
    @abstractmethod
    def ideal_rank(self) -> pl.Expr:
        """The rank among all documents by falling label, where those of one label stand as they are ranked."""

    @abstractmethod
    def so_far(self, x: pl.Expr) -> pl.Expr:
        """The sum of `x` down to this rank, this one included; a null adds nothing."""

    def once(self, x: pl.Expr) -> pl.Expr:
        """`x`, which a formula names more than once, or adds up: a column of its own where there are columns."""
        return x

    @abstractmethod
    def product_before(self, x: pl.Expr) -> pl.Expr:
        """The product of `x` over the ranks above this one; 1 at the top. A null counts as 1."""

    @abstractmethod
    def whole(self, x: pl.Expr) -> pl.Expr:
        """The sum of `x` over all documents of the query, retrieved or not."""

    @abstractmethod
    def largest(self, x: pl.Expr) -> pl.Expr:
        """The largest `x` of all documents of the query."""

    @abstractmethod
    def hits_down_to(self, k: int | None) -> pl.Expr:
        """The hits down to rank `k`, to divide by."""

    @abstractmethod
    def count(self, rows: pl.Expr) -> pl.Expr:
        """How many documents of the query are among `rows`, whatever their label."""

    @abstractmethod
    def count_above(self, rows: pl.Expr) -> pl.Expr:
        """How many documents above this rank are among `rows`, whatever their label."""

    @abstractmethod
    def total(
        self,
        x: pl.Expr,
        k: int | pl.Expr | None = None,
        *,
        weight: pl.Expr | None = None,
        over: pl.Expr | None = None,
    ) -> pl.Expr:
        """The sum of what each rank contributes, down to rank `k`: what curves accumulate and `explain` shows.

        `x` is what the document is worth; by the rank it is multiplied with `weight`, or divided by `over`.
        """

    @abstractmethod
    def best(self, x: pl.Expr) -> pl.Expr:
        """The largest `x` of the retrieved documents, 0 if there is none; no sum, so without curve."""

    @abstractmethod
    def depth(self, k: int | None) -> pl.Expr:
        """The number of ranks looked at: `k`, or all that were retrieved."""

    def cutoff(self, k: int | None) -> pl.Expr:
        """The cutoff `k`, without limit where there is none."""
        return pl.lit(math.inf if k is None else float(k))

    def _down_to(
        self, x: pl.Expr, k: int | pl.Expr | None, weight: pl.Expr | None = None, over: pl.Expr | None = None
    ) -> pl.Expr:
        """What `total` adds up."""
        x = self._each(x)
        if weight is not None:
            x = x * weight
        if over is not None:
            x = x / over
        return pl.when(self.retrieved if k is None else self.rank <= k).then(x).otherwise(0.0)  # sums skip nulls slowly

    @abstractmethod
    def refuse(self, bad: pl.Expr, message: str) -> None:
        """Fail with `message` where `bad` holds for a document."""
