"""Tables of any library that exports Arrow."""

from __future__ import annotations

from contextlib import suppress
from typing import Protocol, cast

import polars as pl


class ArrowStream(Protocol):
    """A table with the Arrow PyCapsule interface."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...


def from_stream(given: object) -> pl.DataFrame | None:
    """The table that an object exports; None if it exports none, or a single column."""
    if hasattr(given, "__arrow_c_stream__") and not isinstance(given, pl.Series):
        with suppress(pl.exceptions.SchemaError):  # a single column
            return pl.DataFrame(cast("ArrowStream", given))
    return None
