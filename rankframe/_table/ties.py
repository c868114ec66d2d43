"""The tie rules, a row each: what orders documents with equal scores, and what that needs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple, TypeAlias

import polars as pl

Ties: TypeAlias = Literal[
    "doc_desc", "doc_asc", "order", "best", "worst", "last", "expected", "error", "trec_eval"
]


class TieKey(NamedTuple):
    """A key that orders documents with equal scores.

    Attributes
    ----------
    of
        What it compares. A table without documents has no key of these.
    falling
        Whether the largest value comes first.
    value
        The value that is compared, of the label (the least for a document that nobody judged) or of
        the id.
    """

    of: Literal["label", "document"]
    falling: bool = True
    value: Callable[[pl.Expr], pl.Expr] = lambda x: x


@dataclass(frozen=True)
class TieRule:
    """How documents with equal scores count; those that its keys leave equal keep their order.

    Attributes
    ----------
    says
        Its effect, as a clause.
    keys
        The keys that order documents with equal scores, which also decide which of them a cut at a
        depth keeps.
    needs_document
        Whether the table must have a column of documents.
    as_text
        Whether ids of any type are compared as text.
    averages
        Whether metrics are means over all orders of documents with equal scores.
    refuses
        Whether equal scores are an error.
    shares
        Whether documents with equal scores all have the last of their ranks.
    """

    says: str
    keys: tuple[TieKey, ...] = (TieKey("document"),)
    needs_document: bool = False
    as_text: bool = False
    averages: bool = False
    refuses: bool = False
    shares: bool = False

    @cached_property
    def by_label(self) -> bool:
        """Whether labels order documents."""
        return any(key.of == "label" for key in self.keys)

    @cached_property
    def by_document(self) -> bool:
        """Whether ids order documents, if the table has them."""
        return any(key.of == "document" for key in self.keys)

    def by_row(self, *, documents: bool) -> bool:
        """Whether the order of rows changes metrics of a table, with or without `documents`."""
        ordered = self.by_label or (documents and self.by_document)
        return not (ordered or self.averages or self.refuses or self.shares)


TIE_RULES: dict[Ties, TieRule] = {
    "doc_desc": TieRule("documents with equal scores stand by falling id"),
    "doc_asc": TieRule(
        "documents with equal scores stand by rising id",
        (TieKey("document", falling=False),), needs_document=True),
    "order": TieRule("documents with equal scores stay in the order given", ()),
    "best": TieRule(
        "of documents with equal scores the better one stands first",
        (TieKey("label"), TieKey("document"))),
    "worst": TieRule(
        "of documents with equal scores the worse one stands first",
        (TieKey("label", falling=False), TieKey("document"))),
    "last": TieRule(
        "documents with equal scores all stand at the last of their ranks", shares=True),
    "expected": TieRule(
        "documents with equal scores count the mean over all their orders", averages=True),
    "error": TieRule("equal scores are refused", refuses=True),
    "trec_eval": TieRule(
        "documents with equal scores stand by falling id, compared as trec_eval does",
        needs_document=True, as_text=True),
}  # fmt: skip
"""The tie rules, as words of the policy `ties`."""
