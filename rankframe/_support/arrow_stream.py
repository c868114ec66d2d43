"""The type of tables of any library that exports Arrow."""

from __future__ import annotations

from typing import Protocol

__all__ = ["ArrowStream"]


class ArrowStream(Protocol):
    """A table with the Arrow PyCapsule interface."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...
