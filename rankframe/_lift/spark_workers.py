"""The functions that Spark's workers run on a bucket of whole queries: picklable functions of Arrow tables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import polars as pl

from ..errors import Advice, Code, RankframeError, worded
from .arrow_kernel import as_arrow
from .engine import Work

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class OnArrow:
    """Wrap a function of Polars frames for Arrow tables; columns keep their types."""

    work: Work

    def __call__(self, *tables: pa.Table) -> pa.Table:
        found = self.work(*(pl.DataFrame(table) for table in tables))
        kept = {name: at for name, at in self.work.kept.items() if name in found.columns}
        return as_arrow(found, {name: tables[0].schema.field(at).type for name, at in kept.items()})


@dataclass(frozen=True)
class Guarded:
    """A function in a Spark worker that turns an error of ours into a row with the message in a separate column.

    Attributes
    ----------
    function
        The function.
    names
        The callers' names of each table's columns, which arrive as c0, c1 ...
    types
        The types of the new columns.
    fault
        The name of the message's column.
    """

    function: OnArrow
    names: list[list[str]]
    types: dict[str, pa.DataType]
    fault: str

    def on_batches(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Run the function on each batch of rows separately."""
        import pyarrow as pa

        for batch in batches:
            yield from self(pa.Table.from_batches([batch])).to_batches()

    def __call__(self, *tables: pa.Table) -> pa.Table:
        import pyarrow as pa

        parts = [t.select(range(len(names))).rename_columns(names) for t, names in zip(tables, self.names, strict=True)]
        message = None
        try:
            found = self.function(*parts)
        except RankframeError as error:
            message = worded(error.parts, _spelled)
            found = self.function(*(part.schema.empty_table() for part in parts))
            found = pa.table({field.name: pa.nulls(1, field.type) for field in found.schema})
        found = found.append_column(self.fault, pa.array([message] * found.num_rows, pa.string()))
        return found.cast(pa.schema([(x.name, self.types.get(x.name, _in_utc(x.type))) for x in found.schema]))


def _spelled(advice: Advice | Code) -> str:
    """The spelling of advice for a Spark table: options by their names, and no code for Polars or pandas."""
    if isinstance(advice, Code):
        return "" if advice.pandas is not None else str(advice)
    return str(replace(advice, method="") if advice.method == "on" else advice)


def _in_utc(x: pa.DataType) -> pa.DataType:
    """The type in which Spark expects a column back: timestamps in the session's time zone."""
    import pyarrow as pa

    return pa.timestamp(x.unit, "UTC") if pa.types.is_timestamp(x) and x.tz is not None else x
