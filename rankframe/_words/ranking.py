"""One query's ranking as expressions: the words that formulas are written in."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import dataclass
from typing import Annotated, Literal, TypeAlias

import polars as pl

from .._support.option_groups import with_group as with_group
from .._support.option_kinds import ValueOf as ValueOf, check
from .._support.option_values import Range as Range, is_number as is_number
from .._table.policies import GREATEST, Cutoff as Cutoff, Label as Label
from .._table.setup import Setup
from ..errors import shown
from .context import (
    Context,
    Persistence as Persistence,
    RankWeight as RankWeight,
    foraging as foraging,
)
from .expected_ties import Expectation, LeavesRanksOut, NoExpectation, OneRank
from .rows import Answer, Cut, Factor, Rows, quotient as quotient, zero_unless as zero_unless

LISTED = 1_000_000
"""The largest cutoff of formulas that list all ranks down to it, or count them with rounding
errors."""

Proportion: TypeAlias = Annotated[float, Range(least=0, most=1)]
ListedCutoff: TypeAlias = Annotated[int, Range(least=1, most=LISTED)]
Worth: TypeAlias = Annotated[float, Range(least=0, most=GREATEST)]
Gain: TypeAlias = Literal["linear", "exponential", "binary"] | Mapping[Label, Worth] | pl.Expr
ChanceGain: TypeAlias = (
    Literal["linear", "exponential", "binary"] | Mapping[Label, Proportion] | pl.Expr
)
ShareGain: TypeAlias = Mapping[Label, Proportion] | pl.Expr | Literal["linear", "scaled"] | None
Base: TypeAlias = Annotated[float, Range(above=1)]
Discount: TypeAlias = Literal["log2", "original", "rank"] | Base | Callable[[pl.Expr], pl.Expr]
MaxLabel: TypeAlias = Literal["query"] | Annotated[float, Range(least=0, below=1024)] | None
Ideal: TypeAlias = Literal["judged", "as_many", "all", "retrieved", "perfect"]
PrecisionDivisor: TypeAlias = Literal["k", "min(k,n)", "min(k,R)"]
RecallDivisor: TypeAlias = Literal["R", "min(k,R)"]
AverageDivisor: TypeAlias = Literal["R", "min(k,R)", "min(n,R)", "hits", "k"]
NoPairs: TypeAlias = Literal["null", "zero", "one"]
Rounding: TypeAlias = Literal["nearest", "up"]
UnseenItems: TypeAlias = Literal["rarest", "skip", "zero", "error"]
ListDivisor: TypeAlias = Literal["list", "k"]

NO_PAIRS: Mapping[NoPairs, float | None] = {"null": None, "zero": 0.0, "one": 1.0}
"""The values of a query without a pair, by the words of the option `no_pairs`."""


def gain_rises(gain: Gain) -> bool:
    """Whether gains rise with labels."""
    return isinstance(gain, str) and gain != "binary"


@dataclass
class Used:
    """Whether the formula used a total, or the weights."""

    total: bool = False
    weight: bool = False


class Ranking(Context):
    """One query's ranking, as expressions: the words that formulas are written in.

    Every row is a document: retrieved (it has a `rank`), judged (it has a label from 0 on), or
    both. An argument `x` is a number for each document, computed row by row, or one number for all
    of them.
    """

    #: Position from 1 on, in descending order of score; null for a document that was not retrieved.
    rank: pl.Expr
    #: The label as a float, 0 for a document that nobody judged.
    label: pl.Expr
    #: The least label that is relevant.
    threshold: float
    #: The number of documents in the collection; None if it is not known.
    collection_size: float | None
    #: The weight of each document, of a click 1 over its propensity and else 0; None without a
    #: column of either.
    weight: pl.Expr | None = None

    def __init__(self, rows: Rows, setup: Setup, expected: Expectation | None = None) -> None:
        roles = setup.roles
        policies = setup.policies
        self.rows = rows
        self.setup = setup
        self.expected = expected
        self.used = Used()
        self.rank = rows.rank
        self.label = rows.label
        self._raw = rows.raw
        self.threshold = policies.relevant
        self.collection_size = policies.collection_size
        self.shares = policies.tie_rule.shares
        self._falls_by: pl.Expr | None = None  # the sort key of an ideal ranking
        if roles.weight is not None:
            weight = pl.col(roles.weight).cast(pl.Float64)
            self.weight = rows.column(weight.fill_null(0.0))
        if roles.propensity is not None:
            self.weight = self._inverse_propensity(pl.col(roles.propensity))
        conditions = []
        if policies.unretrieved == "drop":
            self.collection_size = None  # a tool that sees only the list knows no collection
            conditions.append(self.retrieved)
        if policies.unjudged == "drop":
            conditions.append(self.judged)
        self._counted = pl.all_horizontal(conditions) if conditions else None

    def _inverse_propensity(self, propensity: pl.Expr) -> pl.Expr:
        """1 over the propensity of each click, 0 for other documents."""
        p = self.rows.column(propensity.cast(pl.Float64))
        if self.setup.policies.estimate == "clipped":
            p = p.clip(lower_bound=self.setup.policies.clip)
        return self.rows.once(zero_unless(self._raw > 0, 1 / p))

    @property
    def answer(self) -> Answer:
        """Whether totals are per query, per rank or per document."""
        return self.rows.answer

    def with_threshold(self, relevant: float) -> Ranking:
        """The same ranking with `relevant` as the least relevant label."""
        return self._with(threshold=check("relevant", relevant, Label))

    def _with(self, **changed: object) -> Ranking:
        other = copy(self)
        vars(other).update(changed)
        return other

    def from_label(self, min_label: float | None) -> Ranking:
        """The same ranking where labels below `min_label` read 0."""
        if min_label is None:
            return self
        least = check("min_label", min_label, Label)
        reached = self.label >= least
        return self._with(label=zero_unless(reached, self.label))

    def retrieved_only(self) -> Ranking:
        """The same ranking where documents that were not retrieved count as not judged."""
        label = self.rows.once(zero_unless(self.retrieved, self.label))
        raw = pl.when(self.retrieved).then(self._raw)
        counts = self.retrieved if self._counted is None else self._counted & self.retrieved
        return self._with(label=label, _raw=raw, _counted=counts)

    def ideal(self, gain: Gain = "linear") -> Ranking:
        """The best possible ranking: all documents by falling gain, its rank i on the row of rank i
        here.
        """
        by_label = gain_rises(gain) and self.weight is None
        worth = self.label if by_label else self._times_weight(self.gain(gain))
        best = self._with(expected=None, _falls_by=worth, rank=self.rows.place)
        if worth is self.label:
            best.label = self.rows.falling(self.label)
        else:
            best.label = best._arranged(self.label)
        if self.weight is not None:
            best.weight = best._arranged(self.weight)
        return best

    def _arranged(self, x: pl.Expr) -> pl.Expr:
        """`x` in the order of this ranking's ranks."""
        if self._falls_by is None:
            return x
        return self.rows.along(x.sort_by(self._falls_by, descending=True))

    def column(self, x: pl.Expr) -> pl.Expr:
        """`x`, an expression over the table's columns, for each document of the ranking."""
        within_query = self.rows.within(x, self.setup.roles.query)
        return self._arranged(self.counted(self.rows.column(within_query)))

    def counted(self, x: pl.Expr) -> pl.Expr:
        """`x`, null for documents that a policy leaves out."""
        return x if self._counted is None else pl.when(self._counted).then(x)

    @property
    def raw(self) -> pl.Expr:
        """The label of the table: null or negative for a document that nobody judged."""
        return self._arranged(self._raw)

    @property
    def own_rank(self) -> pl.Expr:
        """The rank, which no other document has."""
        self._refuse_shared_ranks()
        return self.rank

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
        """Whether the document was judged with a label below the threshold."""
        below = self.raw.is_between(0, self.threshold, closed="left")
        return below.fill_null(False)

    @property
    def unjudged(self) -> pl.Expr:
        """1.0 for a document that nobody judged, else 0.0."""
        return (~self.judged).cast(pl.Float64)

    @property
    def relevant(self) -> pl.Expr:
        """1.0 for a judged document whose label reaches the threshold, else 0.0."""
        reached = self.label >= self.threshold if self.threshold > 0 else self.judged
        return self.rows.once(reached.cast(pl.Float64))

    @property
    def hits(self) -> pl.Expr:
        """The number of relevant documents at this rank or above."""
        self._refuse_expected()
        return self._shared(self.rows.count_so_far(self.relevant > 0))

    @property
    def hits_at_relevant(self) -> pl.Expr:
        """The hits at the rank of each relevant document, 0.0 elsewhere."""
        relevant = self.relevant
        if self.expected is None:
            return relevant * self.hits
        hits = self.rows.count_so_far(relevant > 0)
        return self.expected.hits_at(relevant, hits)

    @property
    def first_relevant(self) -> pl.Expr:
        """1.0 at the rank of the first relevant document, else 0.0."""
        relevant = self.relevant
        hits = self.rows.count_so_far(relevant > 0)
        if self.expected is None:
            return zero_unless(hits == 1, relevant)
        miss = self.expected.miss(relevant, hits)
        return self._product_before(miss) * (1 - miss)

    def stops(self, x: pl.Expr) -> pl.Expr:
        """The probability that a reader stops at this rank, if each document satisfies with
        probability `x`.
        """
        self._refuse_shared_ranks()
        reached = self._product_before(1 - x)
        return x * reached if self.expected is None else self.expected.stops(x, reached)

    def weighed(self, x: pl.Expr) -> pl.Expr:
        """The gains `x` times the documents' weights; a metric that never calls this has no
        weighted form.
        """
        self.used.weight = True
        return self._times_weight(x)

    def _times_weight(self, x: pl.Expr) -> pl.Expr:
        if self.weight is None:
            return x
        says = f"a gain times its weight is above {GREATEST:g}; give smaller weights"
        return self._fit(x * self.weight, says)

    @property
    def clicks(self) -> pl.Expr:
        """The sum of the weights of the query's clicks, the divisor of a self-normalised
        estimate.
        """
        return self.whole(self.weighed(pl.lit(1.0)))

    def gain(self, gain: Gain) -> pl.Expr:
        """The gain of each document: its label, 2^label - 1, 1 if relevant, a mapping of the label,
        or an expression.
        """
        if isinstance(gain, pl.Expr):
            says = f"gain={gain} is negative, NaN or above {GREATEST:g} for a document"
            given = self.column(gain).cast(pl.Float64).fill_null(0.0)
            return self.rows.once(self._fit(given, says))
        worth_of: str | Mapping[float, float] = check("gain", gain, Gain)
        if worth_of == "linear":
            return self.label
        if worth_of == "binary":
            return self.relevant
        if isinstance(worth_of, str):
            says = (
                "a label of 900 or more is beyond 2^label; say what labels are worth, {label: gain}"
            )
            self.refuse(self.label >= 900, says)
            return self.rows.exponential(self.label)
        labels = [float(label) for label in worth_of]
        worths = [float(worth) for worth in worth_of.values()]
        unmapped = (self.label > 0) & ~self.label.is_in(labels)
        says = f"a label has no gain in {shown(worth_of)}; give every positive label its gain"
        self.refuse(unmapped, says)
        worth = self.label.replace_strict(labels, worths, default=0.0, return_dtype=pl.Float64)
        return self.rows.once(zero_unless(self.judged, worth))

    def _fit(self, worth: pl.Expr, message: str) -> pl.Expr:
        """Refuse gains outside 0 to `GREATEST` with `message`.

        They count 0, so that no sum overflows.
        """
        is_fit = worth.is_between(0, GREATEST)
        self.refuse(~is_fit, message)
        return zero_unless(is_fit, worth)

    @property
    def n_relevant(self) -> pl.Expr:
        """The number of the query's relevant documents, retrieved or not."""
        return self.whole(self.relevant)

    @property
    def n_retrieved(self) -> pl.Expr:
        """The number of retrieved documents."""
        return self.count(self.retrieved)

    def n_retrieved_to(self, k: int | None) -> pl.Expr:
        """The number of retrieved documents down to rank `k`."""
        if not self.setup.takes_ranks:
            return pl.min_horizontal(self.depth(k), self.n_retrieved)
        if self.answer == "rank":
            return self.rows.count_so_far(self.retrieved, of_all=True)
        if k is None:
            return self.n_retrieved
        return self.count((self.rank <= k).fill_null(False))

    @property
    def misses(self) -> pl.Expr:
        """The number of retrieved documents at this rank or above that are not relevant."""
        if not self.setup.takes_ranks:
            return self.rank - self.hits
        n_so_far = self.rows.count_so_far(self.retrieved, of_all=True)
        return n_so_far - self.hits

    @property
    def n_candidates(self) -> pl.Expr:
        """The number of documents that were retrieved or judged."""
        return self.count(self.retrieved | self.judged)

    @property
    def has_labels(self) -> pl.Expr:
        """Whether a document of the query has a label, be it negative; without one, nobody judged
        the query.
        """
        return self.rows.has_labels

    @property
    def nonrelevant_above(self) -> pl.Expr:
        """The number of documents judged non-relevant above this rank."""
        return self.count_above(self.nonrelevant)

    @property
    def largest_label(self) -> pl.Expr:
        """The largest label of the query, at least 0."""
        return self.largest(self.label)

    @property
    def largest_label_of_table(self) -> pl.Expr:
        """The largest label of all queries, at least 0."""
        return self.rows.largest_label_of_table

    def along(self, x: pl.Expr) -> pl.Expr:
        """An expression that looks up or down the ranking, such as `x.cum_max()`, applied within
        each query.
        """
        self._refuse_expected()
        self._refuse_shared_ranks()
        return self.rows.along(x)

    def so_far(self, x: pl.Expr) -> pl.Expr:
        """The sum of `x` down to this rank, this one included; a null adds nothing."""
        self._refuse_expected()
        return self._shared(self.rows.so_far(self._number(x).fill_null(0.0)))

    def product_before(self, x: pl.Expr) -> pl.Expr:
        """The product of `x` over the ranks above this one; 1 at the top. A null counts as 1."""
        self._refuse_expected()
        self._refuse_shared_ranks()
        return self._product_before(self._number(x).fill_null(1.0))

    def _product_before(self, x: pl.Expr) -> pl.Expr:
        return self.rows.product_before(x)

    def below(self, x: pl.Expr, end: float) -> pl.Expr:
        """`x` of the next rank, and `end` below the last one."""
        self._refuse_shared_ranks()
        return self.rows.next_to(x, -1, end)

    def whole(self, x: pl.Expr) -> pl.Expr:
        """The sum of `x` over all documents of the query, retrieved or not."""
        return self.rows.whole(self._unordered(x))

    def largest(self, x: pl.Expr) -> pl.Expr:
        """The largest `x` of all documents of the query."""
        return self.rows.largest(self._unordered(x))

    def count(self, rows: pl.Expr) -> pl.Expr:
        """The number of documents of the query for which `rows` is true, with any label."""
        return self.rows.count(self.rows.each(rows))

    def count_above(self, rows: pl.Expr) -> pl.Expr:
        """The number of documents above this rank for which `rows` is true, with any label."""
        self._refuse_expected()
        rows = self.rows.each(rows).cast(pl.Boolean).fill_null(False)
        n_so_far = self.rows.count_so_far(rows, of_all=True)
        return self._shared(n_so_far) - rows.cast(pl.Float64)

    def total(
        self, x: pl.Expr, k: Cut = None, *, weight: Factor = None, over: Factor = None
    ) -> pl.Expr:
        """The sum over ranks down to `k`; `curve` shows its running sums, and `explain` its terms.

        `x` is the document's gain, multiplied by its rank's `weight`, or divided by its rank's
        `over`.
        """
        is_divisor = self._falls_by is not None
        self.used.total |= not is_divisor
        if self.expected is not None:
            x = self.expected.at_rank(x)
        terms = self._down_to(x, k, weight, over)
        return self._total(terms, k, is_divisor)

    def _total(self, x: pl.Expr, k: Cut, divisor: bool) -> pl.Expr:
        total = self.rows.total(x, k, divisor=divisor)
        return self._shared(total) if self.answer == "rank" else total

    def hits_down_to(self, k: int | None) -> pl.Expr:
        """The hits down to rank `k`, as a divisor."""
        return self.divided_by(self.relevant, k)

    def divided_by(self, x: pl.Expr, k: Cut, *, over: Factor = None) -> pl.Expr:
        """The sum of `x` down to rank `k`, as a divisor; each divided by its rank's `over`."""
        if x.meta.root_names():  # a sum of ranks alone is the same for each order of tied documents
            self._refuse_expected()
        terms = self._down_to(x, k, over=over)
        return self._total(terms, k, True)

    def depth(self, k: int | None) -> pl.Expr:
        """The number of ranks that count: `k`, or all that were retrieved."""
        return self.n_retrieved if k is None and self.answer != "rank" else self.cutoff(k)

    def cutoff(self, k: int | None) -> pl.Expr:
        """The cutoff: `k`, or infinity for None."""
        if self.answer == "rank":
            return self.rank
        return pl.lit(math.inf if k is None else float(k))

    def refuse(self, bad: pl.Expr, message: str, *, of_label: bool = True) -> None:
        """Fail with `message` where `bad` holds for a document; it names the label, if the fault is
        one `of_label`.
        """
        self.rows.refuse(bad, message, of_label=of_label)

    def refuse_value(self, bad: pl.Expr, message: str) -> None:
        """Fail with `message` where `bad`, which is made of sums, holds for a query."""
        self.rows.refuse_value(bad, message)

    def _number(self, x: pl.Expr) -> pl.Expr:
        """`x` for each document as a float."""
        return self.rows.each(x).cast(pl.Float64)

    def _down_to(self, x: pl.Expr, k: Cut, weight: Factor = None, over: Factor = None) -> pl.Expr:
        """The terms of a sum."""
        x = self._number(x)
        if weight is not None:
            x = x * weight
        if over is not None:
            x = x / over
        counts = self.retrieved if k is None else self.rank <= k
        return zero_unless(counts, x)  # sums skip nulls slowly

    def _unordered(self, x: pl.Expr) -> pl.Expr:
        """`x` as a float.

        An order of tied documents has no expectation, so that an `x` that reads it is refused.
        """
        if "#rank" in x.meta.root_names():
            self._refuse_expected()
        return self._number(x)

    def _shared(self, x: pl.Expr) -> pl.Expr:
        """`x`, which is counted down the ranking.

        Where tied documents share their ranks it is that of the last of them.
        """
        return self.rows.last_tied(x) if self.shares else x

    def need_every_rank(self) -> None:
        """Refuse a formula that takes a rank for the number of documents down to it, where ranks
        may leave numbers out.
        """
        if self.setup.takes_ranks:
            raise LeavesRanksOut

    def _refuse_shared_ranks(self) -> None:
        """Refuse a word that goes from document to document where tied ones share a rank."""
        if self.shares:
            raise OneRank

    def _refuse_expected(self) -> None:
        """Refuse a word that has no expectation over the orders of tied documents."""
        if self.expected is not None:
            raise NoExpectation
