"""Tables of any library that exports Arrow."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
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
    times = Counter(reader.schema.names)
    reasons = {field.name: str(field.type) for field in reader.schema if is_unfit(field.type)}
    reasons |= {name: f"there {n} times" for name, n in times.items() if n > 1}
    if not reasons:
        return reader
    told = [
        f"column {name!r} is {why}"
        for name, why in reasons.items()
        if names is None or name in names
    ]
    if told:
        warn(f"{', and '.join(told)}, which Polars cannot hold; it is left out")
    places = [i for i, name in enumerate(reader.schema.names) if name not in reasons]
    schema = pa.schema([reader.schema.field(i) for i in places])
    batches = (
        pa.record_batch([batch.column(i) for i in places], schema=schema) for batch in reader
    )
    return pa.RecordBatchReader.from_batches(schema, batches)


def is_unfit(kind: Any) -> bool:
    """Whether a type of Arrow is none of Polars', or holds such a type."""
    import pyarrow.types as types

    own = types.is_interval(kind) or types.is_union(kind) or types.is_run_end_encoded(kind)
    return own or any(is_unfit(kind.field(i).type) for i in range(kind.num_fields))
