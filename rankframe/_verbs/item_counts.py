"""Catalog metrics of a table in parts, such as days or the parts of an engine: the sums of a part, and how they merge.

A part holds all rows of its users. The sums, of each item and over users, merge by addition; intervals are not computed in
parts, as a resample of users needs the lists of all of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import polars as pl

from .._catalog.call import Call
from .._catalog.registry import CATALOG_METRICS
from .._catalog.requests import Request, calls_of
from .._support.floats import np
from .._support.option_kinds import ColumnNames
from .._table.runs import names_of
from .._table.setup import Setup
from .._table.table import refuse_names
from ..errors import InvalidOption, option, shown
from .catalog_and_past import Catalog, Unknown, catalog_and_past
from .lists_of_users import ITEM, lists_of
from .recount import ItemMetrics, Recount, evaluated, users_of
from .summary import in_slices, keys


class Sliced:
    """Figures by slices of the users, without metrics of single queries."""

    by: tuple[str, ...]
    """The columns whose values slice the users."""

    @property
    def calls(self) -> tuple[Call, ...]:
        """No metric of a query's ranking."""
        return ()

    @property
    def names(self) -> set[str]:
        """The columns to read besides columns with a role."""
        return {*self.by}

    @property
    def slices(self) -> Mapping[str, str]:
        """The columns of the slices, by their names in the figures of parts."""
        return dict(zip(keys(self.by), self.by, strict=True))

    @property
    def key(self) -> list[str]:
        """The columns by which parts merge: shares and counts of all items are per slice."""
        return [*self.slices]


SUM, VALUE, USERS = "#sum", "#value", "#n_queries"
"""The columns of a sum's name and value (the item is null for a sum over users), and the name of the number of users."""

TABLE = {
    "metric": pl.String(), "value": pl.Float64(), "ci_low": pl.Float64(), "ci_high": pl.Float64(),
    "n_queries": pl.UInt32(), "n_items": pl.Int64(),
}  # fmt: skip
"""The columns of catalog metrics, beside the slices."""

WITHOUT_INTERVALS = {name: dtype for name, dtype in TABLE.items() if not name.startswith("ci_")}


def catalog_calls(requests: Sequence[Request | Call], setup: Setup, example: str) -> list[Call]:
    """The catalog metrics that are named, with the options of the convention."""
    calls = calls_of(*requests, example=example, among=CATALOG_METRICS)
    return list(dict.fromkeys(setup.resolve(call)[1] for call in calls))


@dataclass(frozen=True)
class Parts(Sliced):
    """Catalog metrics to compute in parts.

    Attributes
    ----------
    metrics
        The metrics.
    setup
        The roles of columns, and the policies.
    by
        The columns whose values slice the users.
    unknown_items
        The treatment of shown items that the catalog lacks.
    """

    metrics: tuple[Call, ...]
    setup: Setup
    by: tuple[str, ...]
    unknown_items: Unknown = "error"

    @classmethod
    def of(
        cls,
        setup: Setup,
        _: object,
        *metrics: Request,
        by: ColumnNames | None = None,
        ci: float | None = None,
        unknown_items: Unknown = "error",
        **others: object,
    ) -> Parts:
        """The metrics that a call of a verb asks for."""
        if ci is not None:
            raise InvalidOption(
                "an interval draws users of the whole table, of which each worker has a part; say ", option(ci=None)
            )
        calls = catalog_calls(metrics, setup, "items.catalog('coverage@10', items=...)")
        refuse_names([*TABLE], names_of(by), "by")
        return cls(tuple(calls), setup, names_of(by), unknown_items)

    def part(self, frame: pl.DataFrame) -> pl.DataFrame:
        """The sums of a part: a row per slice, sum and item, and a row per slice and sum over users."""
        metrics = self._metrics(frame.schema)
        lists = lists_of(frame, self.setup, self.by, metrics.columns)
        lists = metrics.known.catalog.within(lists)
        schema = {name: lists.schema[name] for name in keys(self.by)}
        schema |= {ITEM: metrics.item_type(lists), SUM: pl.String(), VALUE: pl.Float64()}
        found = [pl.DataFrame(schema=schema)]
        for part in in_slices(lists, keys(self.by)):
            users = users_of(part, self.setup.roles.query)
            recount = Recount(part, self.setup.roles.query, users, metrics)
            ones = np.ones(recount.n)
            items = recount.table(ones).select(ITEM, *metrics.counted.items)
            items = items.unpivot(index=ITEM, variable_name=SUM, value_name=VALUE)
            items = items.with_columns(pl.col(VALUE).cast(pl.Float64)).filter(pl.col(VALUE) != 0)
            numbers = {**recount.numbers(ones), USERS: float(recount.n)}
            over_users = pl.DataFrame({SUM: list(numbers), VALUE: list(numbers.values())})
            both = pl.concat([items, over_users], how="diagonal")
            where = [pl.lit(part[at][0], dtype=part.schema[at]).alias(at) for at in keys(self.by)]
            found.append(both.select(*where, pl.col(ITEM).cast(schema[ITEM]), SUM, VALUE))
        return pl.concat(found)

    def merge(self, parts: pl.DataFrame) -> pl.DataFrame:
        """The metrics of the table, from the sums of its parts."""
        metrics, sums = self._metrics_of(parts), added(parts)
        items = metrics.counted.items
        shown = [name for name, x in items.items() if not isinstance(x.depth, str)]
        rows: list[tuple[object, ...]] = []
        for part in in_slices(sums, keys(self.by)) if sums.height else ():
            over_users = part.filter(pl.col(ITEM).is_null())
            numbers = dict(zip(over_users[SUM], over_users[VALUE], strict=True))
            table = part.filter(pl.col(ITEM).is_not_null())
            columns = {name: pl.col(VALUE).filter(pl.col(SUM) == name).sum() for name in items}
            table = metrics.known.described(table.group_by(ITEM).agg(**columns).sort(ITEM))
            metrics.known.catalog.refuse_more(table.filter(pl.any_horizontal(False, pl.col(shown) > 0)).height)
            where = part.select(keys(self.by)).row(0) if self.by else ()
            rows += [
                (*where, call.text, value, int(numbers[USERS]), metrics.size)
                for call, value in zip(
                    self.metrics, evaluated(metrics, table, metrics.formulas(numbers)[0], check=True), strict=True
                )
            ]
        of_slices = {name: parts.schema[at] for at, name in self.slices.items()}
        found = pl.DataFrame(rows, {**of_slices, **WITHOUT_INTERVALS}, orient="row")
        return found.with_columns(pl.col("value").fill_nan(None))

    def _metrics(self, schema: pl.Schema) -> ItemMetrics:
        """The metrics, with the catalog and the past of a table."""
        known = catalog_and_past(self.setup, schema, self.unknown_items)
        return ItemMetrics(self.metrics, known, self.setup.policies.relevant)

    def _metrics_of(self, parts: pl.DataFrame) -> ItemMetrics:
        """The metrics, with the catalog and the past, which were checked with each part."""
        return self._metrics(pl.Schema({str(self.setup.roles.doc_name): parts.schema[ITEM]}))

    def catalog(self, parts: pl.DataFrame) -> Catalog:
        """The items that could be shown."""
        return self._metrics_of(parts).known.catalog


def added(parts: pl.DataFrame) -> pl.DataFrame:
    """Add up the sums of parts."""
    return parts.group_by(pl.exclude(VALUE), maintain_order=True).agg(pl.col(VALUE).sum())


@dataclass(frozen=True, repr=False)
class ItemCounts:
    """Counts of items of a part of a table, to be merged with those of other parts; ``df.rank.items.counts`` makes them.

    Attributes
    ----------
    sums
        A row per slice, sum and item.
    """

    parts: Parts
    sums: pl.DataFrame

    def merge(self, *others: ItemCounts) -> ItemCounts:
        """The counts of these parts and others together, of the same metrics and the same catalog."""
        for other in others:
            if not isinstance(other, ItemCounts) or other._counted_by != self._counted_by:
                raise InvalidOption(
                    f"counts of {shown(other)} do not merge with those of {self!r}; count all parts with the same metrics, items, "
                    "groups, slices and policies, such as relevant"
                )
        return ItemCounts(self.parts, added(pl.concat([self.sums, *(other.sums for other in others)], how="vertical")))

    def catalog(self) -> pl.DataFrame:
        """The metrics of all parts together, as ``df.rank.items.catalog`` with ``ci=None`` gives them: a Polars DataFrame."""
        return self.parts.merge(self.sums)

    @cached_property
    def _catalog(self) -> Catalog:
        return self.parts.catalog(self.sums)

    @cached_property
    def _counted_by(self) -> tuple[object, ...]:
        """The choices that parts must share for their sums to merge."""
        groups = self._catalog.groups
        of_items = None if groups is None else set(groups.with_columns(pl.col("#group").cast(pl.String)).rows())
        return self.parts.metrics, self.parts.by, self.parts.setup.policies, self._catalog.size, of_items

    def __repr__(self) -> str:
        users = int(self.sums.filter(pl.col(SUM) == USERS)[VALUE].sum())
        texts: Sequence[str] = [call.text for call in self.parts.metrics]
        of = self._catalog.size
        size = "" if of is None else f" of {of:,}"
        items = self.sums[ITEM].drop_nulls().n_unique()
        return f"<ItemCounts of {', '.join(texts)}: {users:,} users, {items:,}{size} items>"
