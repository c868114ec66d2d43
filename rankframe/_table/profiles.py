"""Profiles of users from past interactions: the categories and features of the user's items, and similar items."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from ..errors import InvalidData
from .background import SIZE, History, looked_up, place_in

USER, ITEM = "#user", "#item"
"""Columns: a user's number, by first interaction; an item's number, that of its row in `History.counts`."""


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


def numbers(history: History) -> pl.DataFrame:
    """The interactions, in their order: the number of the user and that of the item."""
    return history.once(
        "numbers",
        lambda: pl.DataFrame(
            {
                USER: looked_up(history.pairs, users(history), history.key),
                ITEM: history.place(history.pairs[history.doc]),
            }
        ),
    )


def user_of(rows: pl.Series, history: History) -> pl.Series:
    """The number of the user of each row; null for a user without interactions."""
    return looked_up(rows.struct.unnest(), users(history), history.key)


def categories_of(history: History, categories: pl.DataFrame) -> pl.DataFrame:
    """A row per user and category: the share of the category in the user's items, each divided evenly among its categories.

    `categories` has a row for each item, with its category or a list of them.
    """
    items = looked_up(history.pairs.select(history.doc), categories, [history.doc])
    kinds = pl.DataFrame([numbers(history)[USER], in_lists(items).alias("kind")]).filter(pl.col("kind").list.len() > 0)
    kinds = kinds.with_columns(share=1 / pl.col("kind").list.len()).explode("kind")
    shares = kinds.group_by(USER, "kind", maintain_order=True).agg(pl.col("share").sum())
    return shares.with_columns(pl.col("share") / pl.col("share").sum().over(USER))


def seen(rows: pl.DataFrame, history: History) -> pl.Series:
    """1.0 for a row whose user has interacted with its item, both given by number; else 0.0."""
    import numpy as np

    n_items = history.counts.height

    def codes(user: str, item: str) -> pl.Expr:
        return (pl.col(user).cast(pl.Int64) * n_items + pl.col(item).cast(pl.Int64)).alias("#code")

    known = history.once("codes", lambda: numbers(history).select(codes(USER, ITEM)).sort("#code"))["#code"].to_numpy()
    of_rows = rows.select(codes("user", "item").fill_null(-1)).to_series().to_numpy()
    return pl.Series((known[np.searchsorted(known[:-1], of_rows)] == of_rows).astype(np.float64))


def co_occurrence(history: History) -> pl.DataFrame:
    """A row per pair of items that a user had: the cosine of the sets of their users."""
    had = numbers(history).lazy()
    both = had.join(had.rename({ITEM: "#other"}), on=USER)
    sizes = history.counts[SIZE]
    cosine = pl.col("#both") / (pl.lit(sizes).gather(ITEM) * pl.lit(sizes).gather("#other")).sqrt()
    counts = both.group_by(ITEM, "#other").agg(pl.len().cast(pl.Float64).alias("#both"))
    return counts.select(ITEM, "#other", cosine.alias("#cosine")).collect()


def co_occurring(rows: pl.DataFrame, history: History) -> pl.Series:
    """The mean cosine of each row's item and the items of the row's user, both by number; null for a user without any."""
    similar = history.once("similar", lambda: co_occurrence(history))
    pairs = rows.select(pl.col("user").alias(USER), pl.col("item").alias(ITEM)).with_row_index("#row")
    had = numbers(history).rename({ITEM: "#other"})
    both = pairs.join(had, on=USER).join(similar, on=[ITEM, "#other"], how="left")
    # The last bit of a sum depends on the order of rows, and the optimizer drops a sort inside the mean.
    terms = both.select("#row", pl.col("#cosine").fill_null(0.0)).sort("#row", "#cosine")
    sums = terms.group_by("#row", maintain_order=True).agg(pl.col("#cosine").mean().alias("#mean"))
    return pairs.select("#row").join(sums, on="#row", how="left", maintain_order="left")["#mean"]


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


def unit_features(items: pl.DataFrame, names: Sequence[str]) -> pl.DataFrame:
    """A row per item: its features as a vector of length 1, a column of floats for each feature."""
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
    return features.select(units(features.columns))


def feature_profiles(history: History, ids: pl.Series, features: pl.DataFrame) -> pl.DataFrame:
    """A row per user, in the order of their numbers: the mean features of the user's items; `ids` names the rows of `features`."""
    places = place_in(ids, history.pairs[history.doc])
    had = _rows_at(features, places).with_columns(numbers(history)[USER])
    return had.group_by(USER).agg(pl.col(features.columns).mean()).sort(USER).drop(USER)


def similar_features(rows: pl.DataFrame, features: pl.DataFrame, profiles: pl.DataFrame) -> pl.Series:
    """The mean cosine of the features of each row's item and of the items of its user, both by number; null: no user.

    `features` and `profiles` have a row for each item and user; a missing item has the cosine 0.
    """
    own, profile = _rows_at(features, rows["item"]), _rows_at(profiles, rows["user"])
    products = pl.DataFrame([profile[name] * own[name] for name in features.columns])
    return products.select(pl.when(rows["user"].is_not_null()).then(pl.sum_horizontal(pl.all()))).to_series()


def _rows_at(values: pl.DataFrame, places: pl.Series) -> pl.DataFrame:
    """The rows at some places, 0 for null."""
    return values.select(pl.all().gather(places).fill_null(0.0))
