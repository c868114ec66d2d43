"""The words of a ranking for what stands beside scores and labels: past interactions, and properties of documents."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from functools import partial
from typing import Annotated, Literal, TypeAlias

import polars as pl

from .._support.option_values import Range
from .._table.background import SIZE, History, Items, place_in
from .._table.profiles import (
    categories_of,
    co_occurring,
    feature_profiles,
    seen,
    similar_features,
    unit_features,
    user_of,
)
from .._table.setup import Setup
from ..errors import InvalidOption, Text, Verbatim, on
from .lists_of_items import (
    calibration_error,
    compared_shares,
    divergence,
    entropy_terms,
    has_kind,
    new_kinds,
    sums_of_distances,
)
from .rows import Rows

RankWeight: TypeAlias = Literal["equal", "log2"] | Annotated[float, Range(above=0, below=1)]
UnseenItems: TypeAlias = Literal["rarest", "skip", "zero", "error"]
ListDivisor: TypeAlias = Literal["list", "k"]


class Lacking(InvalidOption):
    """Raised by a formula that needs a role that no option of `on` names."""


class Beside(ABC):
    """The words of a ranking that read other tables, or columns other than the score and the label."""

    rank: pl.Expr
    rows: Rows
    setup: Setup

    @abstractmethod
    def counted(self, x: pl.Expr) -> pl.Expr:
        """`x`, null for documents that a policy leaves out."""

    def needs(self, what: str, **advice: object) -> Lacking:
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
    def _past_of_users(self) -> History:
        """The interactions of the past; refused if they are counts of items, without users."""
        history = self.history
        history.need_users("the items of each user")
        return history

    @property
    def popularity(self) -> pl.Expr:
        """The number of users who had the document before; null for one that is in no interaction."""
        return self.rows.gathered(self.history.counts[SIZE], self._past_item, b"popularity")

    @property
    def _past_item(self) -> pl.Expr:
        """The number of the document in the interactions; null for one that is in none."""
        found = pl.col(self.doc).map_batches(self.history.place, return_dtype=pl.UInt32)
        return self.rows.column(found, b"past item")

    def _item(self, items: Items) -> pl.Expr:
        """The number of the document's row in the items; null for one that is not there."""
        place = partial(place_in, items.rows(self.doc)[self.doc])
        return self.rows.column(pl.col(self.doc).map_batches(place, return_dtype=pl.UInt32), b"item")

    @property
    def seen(self) -> pl.Expr:
        """1.0 for a document that the query's user had before, else 0.0."""
        history = self._past_of_users
        return self.rows.mapped(partial(seen, history=history), user=self.user, item=self._past_item)

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

    def beside(self, role: str, what: str, example: object) -> pl.Expr:
        """A column of a role, taken from the table, or from `items` if these have it."""
        name = getattr(self.setup.roles, role)
        if name is None:
            raise self.needs(what, **{role: example})
        return self._found(name)

    def _found(self, name: str) -> pl.Expr:
        items = self.setup.background.items
        if not self.setup.background.has(name) or not isinstance(items, Items):
            return self.counted(self.rows.column(pl.col(name)))
        known = items.rows(self.doc)[name]
        return self.counted(self.rows.gathered(known, self._item(items), f"items {name}".encode()))

    @property
    def base_rank(self) -> pl.Expr:
        """The rank by another score; null without one. Equal scores keep the order of this ranking."""
        base = self.beside("base", "the scores of another ranking", "other_score").cast(pl.Float64)
        self.rows.refuse(base.is_nan().fill_null(False), "the other score is NaN for a document", of_label=False)
        rank = base.rank("ordinal", descending=not self.setup.policies.ascending)
        return self.rows.along(rank.cast(pl.Float64))

    @property
    def features(self) -> dict[str, pl.Expr]:
        """The columns of numbers of each document; a single one may hold lists of them."""
        if self.setup.roles.features is None:
            raise self.needs("the columns of the documents' features", features=["x", "y"])
        return {f"feature {i}": self._found(name) for i, name in enumerate(self.setup.roles.features)}

    @property
    def category(self) -> pl.Expr:
        """The category of each document, or a list of them."""
        return self.beside("category", "the column of the documents' categories", "genre")

    def has_category(self, k: int | None) -> pl.Expr:
        """1.0 for a document with a category in the list down to `k`, else 0.0."""
        return self.rows.mapped(has_kind, kind=self.category, listed=self.listed(k))

    def new_categories(self, k: int | None) -> pl.Expr:
        """The number of the document's categories that no document above has, in the list down to `k`."""
        return self.rows.mapped(new_kinds, kind=self.category, listed=self.listed(k))

    def category_terms(self, weight: pl.Expr, k: int | None) -> pl.Expr:
        """The term of each rank in the sum of w log2 w over categories, for the weights w of their documents so far."""
        return self.rows.mapped(entropy_terms, kind=self.category, listed=self.listed(k), weight=weight)

    def calibration_error(self, weight: pl.Expr, k: int | None, alpha: float) -> pl.Expr:
        """The divergence of the list's categories from the user's own; the same for all documents of a query."""
        error = partial(calibration_error, profile=self.profile, alpha=alpha)
        return self.rows.mapped(error, kind=self.category, listed=self.listed(k), user=self.user, weight=weight)

    def distances(self, k: int | None, distance: str) -> pl.Expr:
        """The sum of the distances of each document from those above it, by their features, for the list down to `k`."""
        listed = self.listed(k)
        found = self.rows.mapped(partial(sums_of_distances, distance=distance), listed=listed, **self.features)
        self.rows.refuse(
            listed & found.is_nan(),
            "the features of a document are null, NaN, infinite, or lists of several lengths",
            of_label=False,
        )
        return found

    def listed(self, k: int | None) -> pl.Expr:
        """Whether the document is in the list down to rank `k`."""
        return self.rank.is_not_null() if k is None else (self.rank <= k).fill_null(False)

    def divergence(self, kind: pl.Expr, target: str | float) -> pl.Expr:
        """The divergence of the shares of kinds of documents down to each rank from a target."""
        return self.rows.mapped(partial(divergence, target=target), kind=kind)

    def compared_shares(self, kind: pl.Expr, weight: pl.Expr, target: str | float, distance: str) -> pl.Expr:
        """The distance of the kinds' shares of `weight` from a target; the same for all documents of a query."""
        return self.rows.mapped(partial(compared_shares, target=target, distance=distance), kind=kind, weight=weight)

    @property
    def group(self) -> pl.Expr:
        """The group of each document, as text."""
        return self.beside("group", "the column of the documents' groups", "provider").cast(pl.String)

    @property
    def n_items(self) -> int:
        """The number of items of the catalog."""
        items = self.setup.background.items
        if items is None:
            raise self.needs("the items of the catalog, or their number", items=Verbatim("catalog"))
        return items if isinstance(items, int) else len(items.ids(self.doc))

    def weight_of_rank(self, weight: RankWeight) -> pl.Expr:
        """The weight of each rank: 1, 1 / log2(rank + 1), or p^(rank - 1) for a number p."""
        if weight == "log2":
            return 1 / (self.rank + 1).log(2)
        return self.rank * 0 + 1.0 if isinstance(weight, str) else pl.lit(float(weight)) ** (self.rank - 1)

    @property
    def user(self) -> pl.Expr:
        """The number of the query's user in the interactions; null for one without any."""
        history = self.history
        history.need_users("the users of the past")
        found = pl.struct(history.key).map_batches(partial(user_of, history=history), return_dtype=pl.get_index_type())
        return self.rows.column(found, b"user")

    @property
    def profile(self) -> pl.DataFrame:
        """A row per user and category: the share of the category in the items that the user had."""
        history, name = self.history, self.setup.roles.category
        history.need_users("the items of each user")
        if name is None:
            raise self.needs("the column of the items' categories", category="genre")
        items = self._items_with([name], "categories")
        known = items.rows(self.doc).select(self.doc, name)
        return history.once(("categories", name, items), lambda: categories_of(history, known))

    def _items_with(self, names: list[str], what: str) -> Items:
        """The items, a frame that has these columns."""
        items = self.setup.background.items
        if not isinstance(items, Items) or not all(map(self.setup.background.has, names)):
            raise self.needs(f"the {what} of the items of the past, in a frame of items", items=Verbatim("catalog"))
        return items

    @property
    def similar_by_users(self) -> pl.Expr:
        """The mean cosine, by common users, of each document and the documents that the user had; null for a user without any."""
        history = self._past_of_users
        return self.rows.mapped(partial(co_occurring, history=history), user=self.user, item=self._past_item)

    @property
    def similar_by_features(self) -> pl.Expr:
        """The mean cosine of the features of each document and of the documents that the user had; null for a user without any."""
        history, names = self._past_of_users, self.setup.roles.features
        if names is None:
            raise self.needs("the columns of the items' features", features=["x", "y"])
        items = self._items_with([*names], "features")
        rows = items.rows(self.doc)
        features = history.once(("features", names, items), lambda: unit_features(rows, names))
        profiles = history.once(("profiles", names, items), lambda: feature_profiles(history, rows[self.doc], features))
        similar = partial(similar_features, features=features, profiles=profiles)
        return self.rows.mapped(similar, user=self.user, item=self._item(items))
