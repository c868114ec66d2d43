"""One query's rows, ranked under the policies: the argument of every oracle.

A row is (doc, score, label): score None = judged but not retrieved, label None = retrieved but not judged, label below
0 = in the pool but not judged.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

Row = tuple[Any, float | None, float | None]


@dataclass(frozen=True)
class Query:
    """One query's rows, ranked under the policies; counts are cached."""

    ranking: list[Row]
    unretrieved: list[Row]
    relevant: float
    table_max: float
    collection_size: int | None = None
    user: Any = None
    judged_only: bool = False
    weighted: bool = False
    depth: int | None = None
    given: Sequence[Row] = ()
    ties: str = "doc_desc"
    has_labels: bool = True

    def is_relevant(self, row: Row) -> bool:
        return is_judged(row) and row[2] >= self.relevant

    def is_nonrelevant(self, row: Row) -> bool:
        return is_judged(row) and row[2] < self.relevant

    @cached_property
    def rows(self) -> list[Row]:
        return self.ranking + self.unretrieved

    @property
    def documents(self) -> list[Row]:
        """The rows without unjudged ones, if these are dropped."""
        return [row for row in self.rows if is_judged(row)] if self.judged_only else self.rows

    @property
    def n(self) -> int:
        return len(self.ranking)

    @cached_property
    def R(self) -> int:  # noqa: N802
        return sum(self.is_relevant(row) for row in self.rows)

    @cached_property
    def N(self) -> int:  # noqa: N802
        return sum(self.is_nonrelevant(row) for row in self.rows)

    @cached_property
    def relevant_ranks(self) -> list[int]:
        return [rank for rank, row in enumerate(self.ranking, 1) if self.is_relevant(row)]

    def hits(self, k: float | None) -> int:
        return sum(k is None or rank <= k for rank in self.relevant_ranks)

    def precision(self, rank: int) -> float:
        return self.hits(rank) / rank


def is_judged(row: Row) -> bool:
    return row[2] is not None and row[2] >= 0


def ranked(rows: Sequence[Row], ties: str) -> list[Row]:
    """Retrieved rows, best first. Python's sort is stable, so the last key sorted by counts most."""
    ranking = [row for row in rows if row[1] is not None]
    if ties == "trec_eval":
        ranking.sort(key=lambda row: str(row[0]), reverse=True)
    elif ties != "order" and all(row[0] is not None for row in ranking):
        ranking.sort(key=lambda row: row[0], reverse=ties != "doc_asc")
    if ties in ("best", "worst"):
        ranking.sort(key=lambda row: -math.inf if row[2] is None else row[2], reverse=ties == "best")
    ranking.sort(key=lambda row: row[1], reverse=True)
    return ranking


def prepare(
    rows: Sequence[Row],
    *,
    relevant: float = 1,
    ties: str = "doc_desc",
    unjudged: str = "nonrelevant",
    unretrieved: str = "missed",
    depth: int | None = None,
    collection_size: int | None = None,
    table_max: float = 0,
    user: Any = None,
) -> Query:
    ranking = ranked(rows, ties)
    beyond: list[Row] = [] if depth is None else [(doc, None, label) for doc, _, label in ranking[depth:]]
    ranking = ranking[:depth]
    if unjudged == "drop":
        ranking = [row for row in ranking if is_judged(row)]
    # below the ranking come the documents that the depth cuts off, then those without a score, as the tie rule orders them
    unscored = ranked([(doc, 0.0, label) for doc, score, label in rows if score is None], ties)
    others = beyond + [(doc, None, label) for doc, _, label in unscored]
    if unretrieved == "drop":  # the list alone: neither what it lacks nor the collection behind it
        others, collection_size = [], None
    has_labels = any(label is not None for _, _, label in rows)
    own = {"judged_only": unjudged == "drop", "depth": depth, "has_labels": has_labels, "given": rows, "ties": ties}
    return Query(ranking, others, relevant, table_max, collection_size, user, **own)


def ratio(a: float, b: float) -> float:
    return a / b if b else 0.0


def top(items: Sequence[Any], k: int | None) -> list[tuple[int, Any]]:
    return list(enumerate(items, 1))[:k]


def candidates(q: Query) -> list[Row]:
    return q.ranking + [row for row in q.unretrieved if is_judged(row)]
