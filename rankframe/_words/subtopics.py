"""The subtopics of one query's documents as expressions: the words of diversity metrics."""

from __future__ import annotations

import math
from copy import copy
from functools import partial

import polars as pl

from .._support.floats import np
from .._support.option_kinds import check
from .._table.policies import Label
from .._table.setup import Setup
from ..errors import InvalidOption, option
from .pairs import starts_of
from .ranking import Used
from .rows import Answer, Factor
from .sorted_rows import HAS_LABELS, Needed

ONE = 2.0**40
"""The gain of a query's weightiest subtopic if it was not met yet; gains are whole numbers, so that
sums are equal in any order."""


class Topics:
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
        self.needed, self.threshold, self.setup = needed, threshold, setup
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
        return self.relevant * (self.label if gain == "linear" else 2**self.label - 1)

    @property
    def _is_relevant(self) -> pl.Expr:
        if self.threshold is None:
            return pl.col("#subtopic").is_not_null()  # true for every row
        return pl.col("#label") >= self.threshold

    @property
    def relevant(self) -> pl.Expr:
        """1.0 where the document is relevant to the subtopic, else 0.0."""
        return pl.when(self._is_relevant).then(1.0).otherwise(0.0)

    @property
    def met(self) -> pl.Expr:
        """The number of documents with the subtopic, down to this rank."""
        here = pl.when(self.rank.is_not_null()).then(self.relevant).otherwise(0.0)
        return self.needed.column(
            here.cum_sum().over(*self.needed.key, "#subtopic", order_by=self.rank)
        )

    @property
    def first_met(self) -> pl.Expr:
        """1.0 where the document is the first with the subtopic, else 0.0."""
        return pl.when(self.met == 1).then(self.relevant).otherwise(0.0)

    def novelty(self, alpha: float) -> pl.Expr:
        """The gain of the document for the subtopic: its weight times (1 - alpha)^n if n documents
        above have it, too.
        """
        above = (self.met - 1).clip(
            lower_bound=0
        )  # -1 for a document that is not relevant, above the first that is
        return self.weighed(self.relevant * (1 - alpha) ** above)

    @property
    def n_relevant(self) -> pl.Expr:
        """The number of relevant pairs of document and subtopic, retrieved or not."""
        return self.needed.sum(self.relevant)

    @property
    def n_relevant_to_subtopic(self) -> pl.Expr:
        """The number of documents relevant to the row's subtopic, retrieved or not, and 1 if there
        is none.
        """
        return self.needed.column(
            self.relevant.sum().over(*self.needed.key, "#subtopic").clip(lower_bound=1.0)
        )

    @property
    def n_subtopics(self) -> pl.Expr:
        """The number of subtopics with a relevant document, retrieved or not, each counting its
        weight.
        """
        so_far = self.needed.column(self.relevant.cum_sum().over(*self.needed.key, "#subtopic"))
        return self.needed.sum(
            pl.when(so_far == 1).then(self.weighed(self.relevant)).otherwise(0.0)
        )

    def best(self, x: pl.Expr, k: int | None = None) -> pl.Expr:
        """The mean over all subtopics that are judged, by weight, of the largest `x` among their
        documents down to `k`.
        """
        top = (
            pl.when(self.rank.is_not_null() if k is None else self.rank <= k).then(x).otherwise(0.0)
        )
        largest = self.needed.column(top.max().over(*self.needed.key, "#subtopic"))
        once = self._first_of("#subtopic")
        values = [
            pl.when(once).then(self.weighed(x)).otherwise(0.0) for x in (largest, pl.lit(1.0))
        ]
        return self.needed.sum(values[0]) / self.needed.sum(values[1])

    def _first_of(self, name: str) -> pl.Expr:
        """Whether the row is the first of a document or a subtopic."""
        return self.needed.column(pl.int_range(pl.len()).over(*self.needed.key, name) == 0)

    def ideal(self, x: pl.Expr) -> tuple[Topics, pl.Expr]:
        """The documents by the falling sum of `x` over their subtopics, and these sums, on the
        first row of each document.
        """
        of_document = self.needed.column(x.sum().over(*self.needed.key, "#doc"))
        once = self.needed.column(pl.when(self._first_of("#doc")).then(of_document))
        other = copy(self)
        rank = once.rank("ordinal", descending=True).over(*self.needed.key)
        other.rank = self.needed.column(pl.when(once.is_not_null()).then(rank).cast(pl.Float64))
        return other, once

    def total(
        self, x: pl.Expr, k: int | None = None, *, weight: Factor = None, over: Factor = None
    ) -> pl.Expr:
        """The sum over the subtopics of each document, down to rank `k`."""
        if weight is not None:
            x = x * weight
        if over is not None:
            x = x / over
        return self.needed.sum(
            pl.when(self.rank.is_not_null() if k is None else self.rank <= k).then(x)
        )

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
            pl.struct(*self.needed.key).alias("query"), pl.col("#doc").alias("doc"), pl.col("#subtopic").alias("subtopic"),
            self._is_relevant.alias("relevant"), self.weighed(pl.lit(1.0)).alias("weight"),
        )  # fmt: skip
        ranks = rows.map_batches(
            partial(greedy_ranks, alpha=alpha, k=k), return_dtype=pl.Float64, is_elementwise=False
        )
        other = copy(self)
        other.rank = self.needed.column(
            ranks, f"greedy {alpha} {k} ".encode() + rows.meta.serialize()
        )
        return other


def greedy_ranks(rows: pl.Series, alpha: float, k: int | None) -> pl.Series:
    """The rank of each row's document, at most `k`, in its query's greedy ranking; null where it
    has none.

    The rows are structs of ``query``, ``doc``, ``subtopic``, ``relevant`` and the subtopic's
    ``weight``. A subtopic that n documents have met is worth its weight times (1 - alpha)^n to the
    next one; of equal documents the one with the larger id is taken.
    """
    every = rows.struct.unnest()
    pairs = (
        every.with_row_index("row")
        .filter("relevant")
        .sort("query", "doc", descending=[False, True])
    )
    if pairs.is_empty():
        return pl.Series([None] * len(every), dtype=pl.Float64)
    by_doc, by_name = pl.struct("query", "doc").rle_id(), pl.col("subtopic").rank("dense")
    numbers = pairs.select(pl.col("query").rle_id(), by_doc.alias("doc"), by_name)
    query, doc, name = (
        numbers[column].cast(pl.Int64).to_numpy() for column in ("query", "doc", "subtopic")
    )
    subtopics, at, subtopic = np.unique(
        query * (name.max() + 1) + name, return_index=True, return_inverse=True
    )
    of_query, weight = starts_of(query[at]), pairs["weight"].to_numpy()[at]
    largest = np.repeat(np.maximum.reduceat(weight, of_query), np.diff(np.r_[of_query, len(at)]))
    unit = ONE * np.divide(weight, largest, out=np.zeros(len(at)), where=largest > 0)
    start = starts_of(doc)
    ranks = np.zeros(len(start))
    query, left, size = query[start], np.arange(len(start)), np.diff(np.r_[start, len(doc)])
    met, worth = np.zeros(len(subtopics), dtype=np.int64), np.rint(unit).astype(np.int64)
    rank = 0
    while len(left) and (k is None or rank < k):
        rank += 1
        gain = np.add.reduceat(worth[subtopic], np.cumsum(size) - size)
        first = starts_of(query)
        most = np.repeat(np.maximum.reduceat(gain, first), np.diff(np.r_[first, len(query)]))
        best = np.flatnonzero(gain == most)
        taken = best[starts_of(query[best])]
        ranks[left[taken]] = rank
        stays = np.ones(len(left), dtype=np.bool_)
        stays[taken] = False
        pair_stays = np.repeat(stays, size)
        now = subtopic[~pair_stays]  # no duplicates, as each query takes one document
        met[now] += 1
        worth[now] = np.rint((1 - alpha) ** met[now] * unit[now])
        subtopic, query, left, size = subtopic[pair_stays], query[stays], left[stays], size[stays]
    result = np.zeros(len(every))
    result[pairs["row"].to_numpy()] = ranks[doc]
    return pl.Series(result).replace(0.0, None)
