"""Slices of the queries, and one row per query with its slices, weight and cluster."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from ..._support.draws import as_text
from ..._table.columns import NO_WEIGHT, failing, is_weight
from ..._table.roles import require, require_number
from ...errors import InvalidOption
from .resampling import CLUSTER

OWN = ("#weight", CLUSTER, "#row", "#there")
"""The names that plans use for columns of their own."""

SEVERAL = (
    "a query has several values of {!r}; name a column that has one value in all rows of a query"
)


def keys(by: Sequence[str]) -> list[str]:
    """The plans' names of the slices' columns, which no other column has."""
    return [f"#by{i}" for i in range(len(by))]


def names_by_key(by: Sequence[str]) -> dict[str, str]:
    """The slices' columns by the plans' names."""
    return dict(zip(keys(by), by, strict=True))


def in_slices(rows: pl.DataFrame, slices: Sequence[str]) -> dict[tuple[Any, ...], pl.DataFrame]:
    """The rows of each slice by its values, slices in order of appearance."""
    if not slices:
        return {(): rows}
    return rows.partition_by(slices, maintain_order=True, as_dict=True)


def table_of(
    rows: Sequence[tuple[object, ...]],
    by: Sequence[str],
    schema: Mapping[str, pl.DataType],
    columns: Mapping[str, Any],
) -> pl.DataFrame:
    """A table of rows, each with the values of its slice first; null for NaN."""
    slices = {name: schema[key] for key, name in names_by_key(by).items()}
    table = pl.DataFrame(rows, {**slices, **columns}, orient="row")
    floats = [name for name, dtype in columns.items() if dtype == pl.Float64]
    return table.with_columns(pl.col(floats).fill_nan(None))


def typed(columns: Mapping[str, pl.DataType]) -> list[pl.Expr]:
    """Columns with their types."""
    return [pl.col(name).cast(dtype) for name, dtype in columns.items()]


class Sliced:
    """Figures by slices of the users."""

    by: tuple[str, ...]
    """The columns whose values slice the users."""

    @property
    def slices(self) -> Mapping[str, str]:
        """The columns of the slices, by their names in the figures of parts."""
        return names_by_key(self.by)

    @property
    def key(self) -> list[str]:
        """The columns by which parts merge: shares and counts of all items are per slice."""
        return [*self.slices]


def by_query(
    frame: pl.DataFrame,
    query: Sequence[str],
    by: Sequence[str],
    weights: str | None,
    cluster: str | None = None,
) -> pl.LazyFrame:
    """One row per query: the query, its slices, weight and cluster; each must have one value.

    A query without a cluster is one of its own.

    Nulls are ignored, since `judge` adds missed documents without these values.
    """
    refuse_columns(frame.schema, query, by, weights, cluster)
    given = [*by, weights, cluster]
    values = {name: pl.col(name).drop_nulls() for name in given if name is not None}
    named = names_by_key(by).items()
    one_value = [values[name].first().alias(key) for key, name in named]
    if weights is not None:
        one_value.append(values[weights].first().alias("#weight"))
    if cluster is not None:
        first = values[cluster].first().cast(pl.String)
        one_value.append(first.alias(CLUSTER))
    # Plain aggregations stream; faults are derived below.
    numbers = [x.n_unique().alias(f"#different {name}") for name, x in values.items()]
    by_key = frame.lazy().group_by(query, maintain_order=True)
    queries = by_key.agg(*one_value, *numbers)
    faults = [(pl.col(f"#different {name}") > 1, SEVERAL.format(name)) for name in values]
    weight = pl.lit(1.0)
    if weights is not None:
        weight = pl.col("#weight").cast(pl.Float64)
        faults.append((~is_weight(weight), f"a query's weight, {weights!r}, is {NO_WEIGHT}"))
    if faults:
        weight = pl.coalesce(failing(faults), weight)
    columns: list[Any] = [*query, *keys(by), weight.alias("#weight")]
    if cluster is not None:
        own_cluster = "\0" + as_text(query)
        of_query = pl.coalesce(CLUSTER, own_cluster)
        columns.append(of_query.alias(CLUSTER))
    return queries.select(columns)


def refuse_columns(
    schema: pl.Schema,
    query: Sequence[str],
    by: Sequence[str],
    weights: str | None,
    cluster: str | None,
) -> None:
    """Refuse names of the plan's own, and columns that are missing or of a wrong type."""
    for name in query:
        if name in (*keys(by), *OWN):
            raise InvalidOption(f"column {name!r} has a name of the plan's own; rename it")
    for name in by:
        require(schema, name, "by")
    if weights is not None:
        require(schema, weights, "weights")
        require_number(schema, weights, "weights")
    if cluster is not None:
        require(schema, cluster, "cluster")
