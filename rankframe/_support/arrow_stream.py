"""Tables of any library that exports Arrow."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator
from contextlib import suppress
from typing import Any, Protocol, cast

import polars as pl

from ..errors import InvalidData, warn


class ArrowStream(Protocol):
    """A table with the Arrow PyCapsule interface."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...


def from_stream(given: object, names: Collection[str] | None = None) -> pl.DataFrame | None:
    """The table that an object exports; None if it exports none, or a single column.

    Columns that Polars cannot hold are left out, with a warning if they are among `names`, or these
    are not known.
    """
    if not hasattr(given, "__arrow_c_stream__") or isinstance(given, pl.Series):
        return None
    with suppress(ImportError):
        given = without_unfit(given, names)
    try:
        return pl.DataFrame(cast("ArrowStream", given))
    except pl.exceptions.SchemaError:  # a single column
        return None
    except (pl.exceptions.ComputeError, pl.exceptions.DuplicateError) as error:
        raise InvalidData(
            f"Polars cannot hold this table: {str(error).splitlines()[0]}; leave the column out"
        ) from error


def without_unfit(given: Any, names: Collection[str] | None) -> Any:
    """The stream without columns that Polars cannot hold, on some of which it panics."""
    import pyarrow as pa

    if isinstance(given, pl.DataFrame) or not hasattr(pa.RecordBatchReader, "from_stream"):
        return given
    try:
        reader = pa.RecordBatchReader.from_stream(given)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, TypeError):  # a single column
        return given
    fields = reader.schema
    reasons = {field.name: str(field.type) for field in fields if is_unfit(field.type)}
    for name, n in Counter(fields.names).items():
        if n > 1:
            reasons[name] = f"there {n} times"
    if not reasons:
        return reader
    missed = [name for name in reasons if names is None or name in names]
    if missed:
        says = ", and ".join(f"column {name!r} is {reasons[name]}" for name in missed)
        warn(f"{says}, which Polars cannot hold; it is left out")
    places = [i for i, name in enumerate(fields.names) if name not in reasons]
    schema = pa.schema([fields.field(i) for i in places])

    def batches() -> Iterator[Any]:
        for batch in reader:
            columns = [batch.column(i) for i in places]
            yield pa.record_batch(columns, schema=schema)

    return pa.RecordBatchReader.from_batches(schema, batches())


def is_unfit(kind: Any) -> bool:
    """Whether a type of Arrow is none of Polars', or holds such a type."""
    import pyarrow.types as types

    for is_of_kind in (types.is_interval, types.is_union, types.is_run_end_encoded):
        if is_of_kind(kind):
            return True
    inner = [kind.field(i).type for i in range(kind.num_fields)]
    return any(map(is_unfit, inner))
