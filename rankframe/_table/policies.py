"""The names of a table's columns, and the policies that its metrics follow."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass
from types import EllipsisType
from typing import Annotated, Literal, TypeAlias

from .._support.option_kinds import Range, as_number, check, fits, is_number
from ..errors import InvalidOption, shown

__all__ = [
    "GREATEST",
    "Columns",
    "Cutoff",
    "Label",
    "NoRelevant",
    "Scores",
    "Ties",
    "Unjudged",
    "Unretrieved",
    "check_threshold",
    "check_word",
    "is_number",
]

GREATEST = 1e280
"""The greatest label, gain or weight: sums over any table of these, times ranks, stay below the largest float."""

Ties: TypeAlias = Literal["doc_desc", "doc_asc", "order", "best", "worst", "expected", "error", "trec_eval"]
Unjudged: TypeAlias = Literal["nonrelevant", "drop", "bounds"]
Scores: TypeAlias = Literal["as_given", "float32"]
Unretrieved: TypeAlias = Literal["missed", "drop"]
NoRelevant: TypeAlias = Literal["zero", "null", "one"]
Label: TypeAlias = Annotated[float, Range(least=0, most=GREATEST)]
Count: TypeAlias = Annotated[int, Range(least=0)]
Cutoff: TypeAlias = Annotated[int, Range(least=1)]

DEFAULT_DOC = "doc_id"


@dataclass(frozen=True)
class Columns:
    """The names of a table's columns and the policies that its metrics follow."""

    query: tuple[str, ...] = ("query_id",)
    doc: str | EllipsisType | None = ...  # "doc_id" if the table has it
    score: str = "score"
    label: str = "label"
    weight: str | None = None
    subtopic: str | None = None
    relevant: float = 1
    ties: Ties = "doc_desc"
    unjudged: Unjudged = "nonrelevant"
    unretrieved: Unretrieved = "missed"
    no_relevant: NoRelevant = "zero"
    depth: int | None = None
    collection_size: int | None = None
    unjudged_labels: tuple[int, int] | None = None
    scores: Scores = "as_given"
    convention: str | None = None
    memory_limit: int | None = None
    grouped: bool = False
    largest_label: float | None = None
    """The largest label of the whole table, where the rows at hand are only a part of it."""
    said: frozenset[str] = frozenset()
    """The policies that were said beside a convention, which leaves them as they are."""

    @property
    def drops_first(self) -> bool:
        """Whether unjudged documents are taken out before ranks are given."""
        return self.unjudged == "drop" and self.depth is None

    @property
    def drops_after_cut(self) -> bool:
        """Whether unjudged documents are taken out of the top that `depth` leaves, as trec_eval does."""
        return self.unjudged == "drop" and self.depth is not None

    @property
    def doc_name(self) -> str | None:
        """The document column's name; one that nobody said may be missing from a table."""
        return DEFAULT_DOC if isinstance(self.doc, EllipsisType) else self.doc

    def doc_in(self, names: Container[str]) -> str | None:
        """The document column of a table with these columns; one that was said, whether it is there or not."""
        return None if self.doc is ... and DEFAULT_DOC not in names else self.doc_name

    @property
    def key(self) -> list[str]:
        """The plans' names of the query columns, which no column of the caller has."""
        return [f"#query{i}" for i in range(len(self.query))]

    @property
    def names(self) -> set[str]:
        """All columns that have a role."""
        others = (self.doc_name, self.subtopic, self.weight, self.score, self.label)
        return {*self.query, *(name for name in others if name is not None)}

    @property
    def orders_by_label(self) -> bool:
        """Whether ranks depend on labels."""
        return self.ties in ("best", "worst") or self.unjudged == "drop"

    def __post_init__(self) -> None:
        others = [name for name in (self.doc_name, self.subtopic) if name is not None]
        names = [*self.query, *others, self.score, self.label]
        for name in [*names, *([] if self.weight is None else [self.weight])]:
            if not isinstance(name, str):
                has = getattr(name, "name", None)  # a Series has one
                added = f", as {has!r}" if isinstance(has, str) else ""
                added += "; add what is computed first, with df.with_columns(...)" if hasattr(name, "name") else ""
                raise InvalidOption(f"{shown(name)} is no column name; a column is named by its text{added}")
            if name == "*" or (name.startswith("^") and name.endswith("$")):
                raise InvalidOption(
                    f"{name!r} is a pattern of columns to Polars; rename the column, as with df.rename({{{name!r}: ...}})"
                )
        twice = [name for name in names[:-2] if names.count(name) > 1]
        if not self.query:
            raise InvalidOption("query=[] names no column; name at least one, as query='query_id'")
        if twice:
            raise InvalidOption(f"column {twice[0]!r} is named for two roles; each role needs a column of its own")
        check_threshold(self.relevant)
        object.__setattr__(self, "relevant", as_number(self.relevant))
        check_word("ties", self.ties, Ties)
        check_word("unjudged", self.unjudged, Unjudged)
        check_word("unretrieved", self.unretrieved, Unretrieved)
        check_word("no_relevant", self.no_relevant, NoRelevant)
        check_word("scores", self.scores, Scores)
        object.__setattr__(self, "grouped", check("grouped", self.grouped, bool))
        object.__setattr__(self, "depth", check("depth", self.depth, Cutoff | None))
        object.__setattr__(self, "collection_size", check("collection_size", self.collection_size, Count | None))
        labels = self.unjudged_labels
        pair = isinstance(labels, tuple) and len(labels) == 2 and all(fits(x, Count) for x in labels)
        if labels is not None and not (pair and labels[0] <= labels[1] <= GREATEST):
            raise InvalidOption(
                f"unjudged_labels={shown(labels)}: write the least and the greatest label that an unjudged document may turn "
                f"out to have, whole numbers from 0 on, as (0, 3), at most {GREATEST:g}"
            )
        if self.unjudged == "bounds" and self.ties in ("best", "worst", "expected"):
            raise InvalidOption(
                f"ties={self.ties!r} goes by labels, which unjudged='bounds' leaves open; say another rule for ties, as in "
                "df.rank.on(ties='doc_desc')"
            )
        if self.unjudged == "bounds" and self.weight is not None:
            raise InvalidOption(
                f"weight={self.weight!r}: no bounds are known where documents weigh differently; say another rule for the "
                "unjudged, as df.rank.on(unjudged='nonrelevant')"
            )
        if self.depth is not None and self.ties == "expected":
            raise InvalidOption(
                "depth cuts off some orders of tied documents; with ties='expected' say a cutoff: ndcg@10"
            )


def check_threshold(relevant: object) -> None:
    """Refuse a relevance threshold that no judged label could be held against."""
    if not fits(relevant, Label):
        raise InvalidOption(
            f"relevant={shown(relevant)} is no threshold; give the least label that is relevant, from 0 to {GREATEST:g} "
            "(a negative label means: in the pool, not judged)"
        )


def check_word(option: str, given: object, words: object) -> None:
    """Refuse a value that is none of the option's words."""
    check(option, given, words)
