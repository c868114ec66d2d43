"""Profiles of users from past interactions: the categories and features of the user's items, and similar items."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from ..errors import InvalidData
from .background import SIZE, History, looked_up

__all__ = [
    "USER",
    "categories_of",
    "co_occurrence",
    "co_occurring",
    "features_of",
    "in_lists",
    "similar_features",
    "unit_features",
    "units",
    "user_of",
]

USER = "#user"
"""The number of a user, in the order of the interactions."""


def in_lists(values: pl.Series) -> pl.Series:
    """Values as lists of different values without nulls; a single value is a list of one."""
    if isinstance(values.dtype, pl.Array):
        values = values.arr.to_list()
    frame = values.alias("#kinds").to_frame()
    lists = pl.col("#kinds") if isinstance(values.dtype, pl.List) else pl.concat_list("#kinds")
    return frame.select(lists.list.drop_nulls().list.unique(maintain_order=True)).to_series()


def users(history: History) -> pl.DataFrame:
    """A row per user: the key and the number."""
    keys = history.pairs.select(history.key)
    return history.once(
        "users", lambda: keys.unique(maintain_order=True).with_row_index(USER).select(*history.key, USER)
    )


def user_of(rows: pl.Series, history: History) -> pl.Series:
    """The number of the user of each row; null for a user without interactions."""
    return looked_up(rows.struct.unnest(), users(history), history.key)


def categories_of(history: History, categories: pl.DataFrame) -> pl.DataFrame:
    """A row per user and category: the share of the category in the user's items, each divided evenly among its categories.

    `categories` has a row for each item, with its category or a list of them.
    """
    items = looked_up(history.pairs.select(history.doc), categories, [history.doc])
    rows = history.pairs.join(users(history), on=history.key, how="left", maintain_order="left")
    kinds = rows.select(USER, in_lists(items).alias("kind")).filter(pl.col("kind").list.len() > 0)
    kinds = kinds.with_columns(share=1 / pl.col("kind").list.len()).explode("kind")
    shares = kinds.group_by(USER, "kind", maintain_order=True).agg(pl.col("share").sum())
    return shares.with_columns(pl.col("share") / pl.col("share").sum().over(USER))


def co_occurrence(history: History) -> pl.DataFrame:
    """A row per pair of items that a user had: the cosine of the sets of their users."""
    doc, other = history.doc, "#other"
    sides = history.pairs.lazy().join(users(history).lazy(), on=history.key)
    both = sides.select(USER, doc).join(sides.select(USER, pl.col(doc).alias(other)), on=USER)
    counts = history.counts.lazy().select(doc, pl.col(SIZE).alias("#size"))
    return (
        both.group_by(doc, other)
        .agg(pl.len().cast(pl.Float64).alias("#both"))
        .join(counts, on=doc)
        .join(counts.rename({doc: other, "#size": "#other size"}), on=other)
        .select(doc, other, (pl.col("#both") / (pl.col("#size") * pl.col("#other size")).sqrt()).alias("#cosine"))
        .collect()
    )


def co_occurring(rows: pl.Series, history: History) -> pl.Series:
    """The mean cosine of each row's item and the items of the row's user; null for a user without interactions."""
    similar = history.once("similar", lambda: co_occurrence(history))
    asked = _rows_of_users(rows, history)
    had = history.pairs.join(users(history), on=history.key).select(USER, pl.col(history.doc).alias("#other"))
    both = asked.join(had, on=USER).join(similar, on=[history.doc, "#other"], how="left")
    # Sorted rows, as a sum depends on its order in the last bit; the optimizer drops a sort inside of the mean.
    terms = both.select("#row", pl.col("#cosine").fill_null(0.0)).sort("#row", "#cosine")
    sums = terms.group_by("#row", maintain_order=True).agg(pl.col("#cosine").mean().alias("#mean"))
    return asked.select("#row").join(sums, on="#row", how="left", maintain_order="left")["#mean"]


def _rows_of_users(rows: pl.Series, history: History) -> pl.DataFrame:
    """The rows with their numbers and the numbers of their users; items have the type of the interactions."""
    frame = rows.struct.unnest()
    docs = frame[history.doc].cast(history.pairs.schema[history.doc], strict=False)
    return frame.select(docs, user_of(rows, history).alias(USER)).with_row_index("#row")


def features_of(frame: pl.DataFrame, names: Sequence[str]) -> pl.DataFrame | None:
    """The features, a column of floats each; None if lists differ in length."""
    first = frame[names[0]]
    if isinstance(first.dtype, (pl.List, pl.Array)):
        lists = first.arr.to_list() if isinstance(first.dtype, pl.Array) else first
        sizes = lists.list.len().drop_nulls().unique()
        if len(sizes) != 1 or not sizes[0]:
            return None
        frame = lists.list.to_struct(fields=[f"#{i}" for i in range(sizes[0])]).struct.unnest()
    else:
        frame = frame.select(pl.col(name).alias(f"#{i}") for i, name in enumerate(names))
    return frame.cast(pl.Float64)


def units(names: Sequence[str]) -> list[pl.Expr]:
    """Vectors, given by the columns of their numbers, as vectors of length 1; a vector of zeros stays one."""
    norm = pl.sum_horizontal(*(pl.col(name) ** 2 for name in names)).sqrt()
    return [pl.when(norm > 0).then(pl.col(name) / norm).otherwise(0.0) for name in names]


def unit_features(items: pl.DataFrame, doc: str, names: Sequence[str]) -> pl.DataFrame:
    """A row per item: its features as a vector of length 1, a column of floats for each feature; NaN without features."""
    features = features_of(items, names)
    if features is None:
        raise InvalidData(
            f"column {names[0]!r} of items holds lists of several lengths; give all items the same features"
        )
    missing = features.select(pl.any_horizontal(~pl.all().is_finite().fill_null(False))).to_series()
    if missing.any():
        raise InvalidData(
            f"the features of {missing.sum():,} items are null, NaN or infinite; give each item all of its features"
        )
    return features.select(units(features.columns)).with_columns(items[doc])


def similar_features(rows: pl.Series, history: History, features: pl.DataFrame) -> pl.Series:
    """The mean cosine of the features of each row's item and of the items of its user; null for a user without interactions.

    `features` has a row for each item: its vector of length 1. An item that is not there has the cosine 0.
    """
    names = [name for name in features.columns if name != history.doc]
    had = history.pairs.join(users(history), on=history.key, how="left", maintain_order="left")
    means = _features_of(had, history.doc, features).with_columns(had[USER]).group_by(USER).agg(pl.col(names).mean())
    asked = _rows_of_users(rows, history)
    profile = asked.select(USER).join(means, on=USER, how="left", maintain_order="left").select(names)
    own = _features_of(asked, history.doc, features)
    products = pl.DataFrame([profile[name] * own[name] for name in names])
    known = asked[USER].is_not_null()
    return products.select(pl.when(known).then(pl.sum_horizontal(pl.all()))).to_series()


def _features_of(rows: pl.DataFrame, doc: str, features: pl.DataFrame) -> pl.DataFrame:
    """The features of each row's item, 0 for one that is not known."""
    place = features.select(doc).with_row_index("#place").select(doc, "#place")
    at = looked_up(rows.select(doc), place, [doc])
    return features.drop(doc).select(pl.all().gather(at).fill_null(0.0))
