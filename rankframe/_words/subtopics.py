"""The subtopics of one query's documents as expressions: the words of diversity metrics."""

from __future__ import annotations

import math
from collections.abc import Iterator
from copy import copy
from functools import partial
from typing import Any

import polars as pl

from .._support.floats import Floats, Integers, NDArray, np
from .._support.option_kinds import check
from .._table.policies import Label
from .._table.setup import Setup
from ..errors import InvalidOption, option
from .pairs import starts_of
from .ranking import Used
from .rows import Answer, Factor, zero_unless
from .sorted_rows import HAS_LABELS, Needed
from .within_queries import WithinQueries

ONE = 2.0**40
"""The gain of a query's weightiest subtopic if it was not met yet; gains are whole numbers, so that
sums are equal in any order."""


class Topics(WithinQueries):
    """One query's ranking with a row for each document and subtopic: the words of diversity
    metrics.

    A document with several subtopics has as many rows, one without subtopics has none.

    Parameters
    ----------
    needed
        Where columns and sums are noted.
    threshold
        The least label that makes a document relevant to the row's subtopic; ``None`` if every row
        is relevant.
    setup
        The columns and policies.
    """

    #: The rank of the document; null for one that was not retrieved.
    rank = pl.col("#rank")
    #: None, as tied documents are in one order.
    expected = None
    answer: Answer = "query"
    #: Whether a document of the query has a label, or a list of subtopics.
    has_labels = HAS_LABELS

    def __init__(self, needed: Needed, threshold: float | None, setup: Setup) -> None:
        self.needed = needed
        self.threshold = threshold
        self.setup = setup
        self.weighted = setup.roles.subtopic_weight is not None
        self.used = Used()

    @property
    def n_retrieved(self) -> pl.Expr:
        """The number of retrieved documents."""
        return pl.col("#n_retrieved")

    def with_threshold(self, relevant: float) -> Topics:
        """The same rows where a label from `relevant` on counts as relevant."""
        if self.threshold is None:
            says = (
                ": a list of subtopics says what is relevant without a label; leave relevant "
                "out, or give a row for each"
            )
            raise InvalidOption(option(relevant=relevant), says)
        other = copy(self)
        other.threshold = check("relevant", relevant, Label)
        return other

    def refuse_value(self, bad: pl.Expr, message: str) -> None:
        """Fail with `message` where `bad`, which is made of sums, holds for a query."""
        self.needed.refuse_value(bad, message)

    def unweighted(self) -> Topics:
        """The same rows where all subtopics weigh the same."""
        other = copy(self)
        other.weighted = False
        return other

    def weighed(self, x: pl.Expr) -> pl.Expr:
        """`x` times the weight of the row's subtopic, where subtopics have weights."""
        return x * pl.col("#subtopic weight") if self.weighted else x

    @property
    def label(self) -> pl.Expr:
        """The label of the document for the subtopic; infinite if a list says what is relevant
        without a label.
        """
        return pl.lit(math.inf) if self.threshold is None else pl.col("#label")

    def gain(self, gain: str) -> pl.Expr:
        """The gain of the document for the subtopic, 0 if it is not relevant: the label, 2^label -
        1, or 1; of a list 1.
        """
        if gain == "binary" or self.threshold is None:
            return self.relevant
        worth = self.label if gain == "linear" else 2**self.label - 1
        return self.relevant * worth

    @property
    def _is_relevant(self) -> pl.Expr:
        if self.threshold is None:
            return pl.col("#subtopic").is_not_null()  # true for every row
        return pl.col("#label") >= self.threshold

    @property
    def relevant(self) -> pl.Expr:
        """1.0 where the document is relevant to the subtopic, else 0.0."""
        return zero_unless(self._is_relevant, 1.0)

    @property
    def met(self) -> pl.Expr:
        """The number of documents with the subtopic, down to this rank."""
        here = zero_unless(self.rank.is_not_null(), self.relevant)
        return self._within(here.cum_sum(), "#subtopic", order_by=self.rank)

    @property
    def first_met(self) -> pl.Expr:
        """1.0 where the document is the first with the subtopic, else 0.0."""
        return zero_unless(self.met == 1, self.relevant)

    def novelty(self, alpha: float) -> pl.Expr:
        """The gain of the document for the subtopic: its weight times (1 - alpha)^n if n documents
        above have it, too.
        """
        # -1 for a document that is not relevant, above the first that is
        n_above = (self.met - 1).clip(lower_bound=0)
        return self.weighed(self.relevant * (1 - alpha) ** n_above)

    @property
    def n_relevant(self) -> pl.Expr:
        """The number of relevant pairs of document and subtopic, retrieved or not."""
        return self.needed.sum(self.relevant)

    @property
    def n_relevant_to_subtopic(self) -> pl.Expr:
        """The number of documents relevant to the row's subtopic, retrieved or not, and 1 if there
        is none.
        """
        n_relevant = self.relevant.sum().over(*self.needed.key, "#subtopic")
        return self.needed.column(n_relevant.clip(lower_bound=1.0))

    @property
    def n_subtopics(self) -> pl.Expr:
        """The number of subtopics with a relevant document, retrieved or not, each counting its
        weight.
        """
        so_far = self._within(self.relevant.cum_sum(), "#subtopic")
        is_first = so_far == 1
        return self.needed.sum(zero_unless(is_first, self.weighed(self.relevant)))

    def best(self, x: pl.Expr, k: int | None = None) -> pl.Expr:
        """The mean over all subtopics that are judged, by weight, of the largest `x` among their
        documents down to `k`.
        """
        in_list = zero_unless(self._down_to(k), x)
        largest = self._within(in_list.max(), "#subtopic")
        is_first = self._first_of("#subtopic")
        total = zero_unless(is_first, self.weighed(largest))
        weight = zero_unless(is_first, self.weighed(pl.lit(1.0)))
        return self.needed.sum(total) / self.needed.sum(weight)

    def _down_to(self, k: int | None) -> pl.Expr:
        """Whether the row's document is in the ranking down to `k`."""
        return self.rank.is_not_null() if k is None else self.rank <= k

    def _first_of(self, name: str) -> pl.Expr:
        """Whether the row is the first of a document or a subtopic."""
        row = pl.int_range(pl.len()).over(*self.needed.key, name)
        return self.needed.column(row == 0)

    def ideal(self, x: pl.Expr) -> tuple[Topics, pl.Expr]:
        """The documents by the falling sum of `x` over their subtopics, and these sums, on the
        first row of each document.
        """
        of_document = self._within(x.sum(), "#doc")
        sums = self.needed.column(pl.when(self._first_of("#doc")).then(of_document))
        place = sums.rank("ordinal", descending=True).over(*self.needed.key)
        rank = pl.when(sums.is_not_null()).then(place)
        best = copy(self)
        best.rank = self.needed.column(rank.cast(pl.Float64))
        return best, sums

    def total(
        self, x: pl.Expr, k: int | None = None, *, weight: Factor = None, over: Factor = None
    ) -> pl.Expr:
        """The sum over the subtopics of each document, down to rank `k`."""
        if weight is not None:
            x = x * weight
        if over is not None:
            x = x / over
        in_list = pl.when(self._down_to(k)).then(x)
        return self.needed.sum(in_list)

    def depth(self, k: int | None) -> pl.Expr:
        """The number of ranks that count: `k`, or all that were retrieved."""
        return self.n_retrieved if k is None else pl.lit(float(k))

    def greedy(self, alpha: float, k: int | None) -> Topics:
        """The greedy ranking of all judged documents down to `k`: at each rank the document that
        adds most.

        Of documents that add the same, the one with the larger id is taken, or the earlier row
        without ids.
        """
        rows = pl.struct(
            query=pl.struct(*self.needed.key),
            doc=pl.col("#doc"),
            subtopic=pl.col("#subtopic"),
            relevant=self._is_relevant,
            weight=self.weighed(pl.lit(1.0)),
        )
        ranks = partial(greedy_ranks, alpha=alpha, k=k)
        greedy = copy(self)
        greedy.rank = self._mapped(ranks, rows, f"greedy {alpha} {k} ")
        return greedy


def greedy_ranks(rows: pl.Series, alpha: float, k: int | None) -> pl.Series:
    """The rank of each row's document, at most `k`, in its query's greedy ranking.

    It is null where it has none.

    The rows are structs of ``query``, ``doc``, ``subtopic``, ``relevant`` and the subtopic's
    ``weight``. A subtopic that n documents have met is worth its weight times (1 - alpha)^n to the
    next one; of equal documents the one with the larger id is taken.
    """
    every = rows.struct.unnest()
    relevant = every.with_row_index("row").filter("relevant")
    pairs = relevant.sort("query", "doc", descending=[False, True])
    if pairs.is_empty():
        return pl.Series([None] * len(every), dtype=pl.Float64)
    query, doc, name = _numbers(pairs)
    subtopics, first_pair, subtopic = np.unique(
        query * (name.max() + 1) + name, return_index=True, return_inverse=True
    )
    unit = _units(query[first_pair], pairs["weight"].to_numpy()[first_pair])
    worth = np.rint(unit).astype(np.int64)
    met = np.zeros(len(subtopics), dtype=np.int64)
    start = starts_of(doc)
    ranks = np.zeros(len(start))
    # the documents that are left, and the subtopics of each, one document after the other
    left = np.arange(len(start))
    query = query[start]
    size = np.diff(start, append=len(doc))
    rank = 0
    while len(left) and (k is None or rank < k):
        rank += 1
        gain = np.add.reduceat(worth[subtopic], np.cumsum(size) - size)
        best = np.flatnonzero(gain == _largest_in_run(gain, query))
        taken = best[starts_of(query[best])]
        ranks[left[taken]] = rank
        stays = np.ones(len(left), dtype=np.bool_)
        stays[taken] = False
        pair_stays = np.repeat(stays, size)
        now = subtopic[~pair_stays]  # no duplicates, as each query takes one document
        met[now] += 1
        worth[now] = np.rint((1 - alpha) ** met[now] * unit[now])
        subtopic = subtopic[pair_stays]
        query = query[stays]
        left = left[stays]
        size = size[stays]
    result = np.zeros(len(every))
    result[pairs["row"].to_numpy()] = ranks[doc]
    return pl.Series(result).replace(0.0, None)


def _numbers(pairs: pl.DataFrame) -> Iterator[Integers]:
    """The numbers of the query, of the document in all and of the subtopic in all, of each pair."""
    query = pl.col("query").rle_id()
    doc = pl.struct("query", "doc").rle_id()
    subtopic = pl.col("subtopic").rank("dense")
    numbers = pairs.select(query, doc.alias("doc"), subtopic)
    return (column.cast(pl.Int64).to_numpy() for column in numbers)


def _units(query: Integers, weight: Floats) -> Floats:
    """The gain of each subtopic that was not met yet; `ONE` for the weightiest of a query."""
    largest = _largest_in_run(weight, query)
    shares = np.zeros(len(weight))
    np.divide(weight, largest, out=shares, where=largest > 0)
    return ONE * shares


def _largest_in_run(x: NDArray[Any], runs: Integers) -> NDArray[Any]:
    """The largest value of each run of equal numbers, on its rows."""
    start = starts_of(runs)
    sizes = np.diff(start, append=len(runs))
    return np.repeat(np.maximum.reduceat(x, start), sizes)
