"""The words of a ranking for what stands beside scores and labels: past interactions, and properties of documents."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, Literal, TypeAlias

import polars as pl

from .._table.background import History, Items, looked_up
from .._table.setup import Setup
from ..errors import InvalidOption, Text, Verbatim, on
from .rows import Rows

__all__ = ["Beside", "Lacking", "ListDivisor", "UnseenItems"]

UnseenItems: TypeAlias = Literal["rarest", "skip", "zero", "error"]
ListDivisor: TypeAlias = Literal["list", "k"]


class Lacking(InvalidOption):
    """Raised by a formula that needs a role that no option of `on` names."""


class Beside:
    """The words of a ranking that read other tables, or columns other than the score and the label."""

    rows: Rows
    setup: Setup

    def needs(self, what: str, **advice: Any) -> Lacking:
        """The error for a role that is not there."""
        text: Text = on(**advice)
        return Lacking(f"it needs {what}; say ", text)

    @property
    def doc(self) -> str:
        """The column of the document."""
        name = self.setup.roles.doc_name
        if name is None:
            raise self.needs("the column that names documents", doc=...)
        return name

    @property
    def history(self) -> History:
        """The interactions of the past."""
        given = self.setup.background.interactions
        if given is None:
            raise self.needs("the interactions of the past", interactions=Verbatim("train"))
        return given.named(self.setup.roles.query, self.doc)

    @property
    def popularity(self) -> pl.Expr:
        """The number of users who had the document before; null for one that is in no interaction."""
        history = self.history
        found = pl.col(self.doc).map_batches(history.popularity, return_dtype=pl.Float64)
        return self.rows.column(found, b"popularity")

    @property
    def seen(self) -> pl.Expr:
        """1.0 for a document that the query's user had before, else 0.0."""
        history = self.history
        history.need_users("the documents that a user had")
        found = pl.struct(*history.key, self.doc).map_batches(history.seen, return_dtype=pl.Float64)
        return self.rows.column(found, b"seen")

    @property
    def n_users(self) -> float:
        """The number of users in the interactions."""
        return self.history.n_users

    @property
    def n_interactions(self) -> float:
        """The number of interactions."""
        return self.history.n_rows

    def of_popularity(self, values: Mapping[float, float]) -> pl.Expr:
        """The value for the popularity of each document; null for one that is in no interaction."""
        return self.popularity.replace_strict([*values], [*values.values()], default=None, return_dtype=pl.Float64)

    def beside(self, role: str, what: str, example: Any) -> pl.Expr:
        """A column of a role, taken from the table, or from `items` if these have it."""
        name = getattr(self.setup.roles, role)
        if name is None:
            raise self.needs(what, **{role: example})
        return self._found(name)

    def _found(self, name: str) -> pl.Expr:
        items = self.setup.background.items
        if not self.setup.background.has(name) or not isinstance(items, Items):
            return self.rows.column(pl.col(name))
        known = items.column(name, self.doc)
        found = partial(of_items, known=known)
        x = pl.col(self.doc).map_batches(found, return_dtype=known.schema[name])
        return self.rows.column(x, f"items {name}".encode())

    @property
    def base_rank(self) -> pl.Expr:
        """The rank by another score; null without one. Equal scores keep the order of this ranking."""
        base = self.beside("base", "the scores of another ranking", "other_score").cast(pl.Float64)
        self.rows.refuse(base.is_nan().fill_null(False), "the other score is NaN for a document", of_label=False)
        rank = base.rank("ordinal", descending=not self.setup.policies.ascending)
        return self.rows.along(rank.cast(pl.Float64))


def of_items(docs: pl.Series, known: pl.DataFrame) -> pl.Series:
    """The property of each document."""
    return looked_up(docs.to_frame(known.columns[0]), known, known.columns[:1])
