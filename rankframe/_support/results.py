"""Objects with several tables as results, and the advice for an attribute that they do not have."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

from ..errors import did_you_mean


class Result:
    """A result with several tables; the error for an unknown attribute says which of the tables has it."""

    _instead: ClassVar[Mapping[str, str]] = {}
    """What to write for names of other tools."""

    if not TYPE_CHECKING:  # type checkers refuse unknown attributes by themselves

        def __getattr__(self, name: str) -> NoReturn:
            message = f"{type(self).__name__!r} object has no attribute {name!r}"
            advice = "" if name.startswith("_") else _advice(self, name)  # tools look these up on every object
            raise AttributeError(f"{message}{advice}", name=name)  # and no object, of which Python would offer names


def _tables(result: Any) -> dict[str, Any]:
    """The tables of a result by their names."""
    return {name: x for name, x in vars(result).items() if hasattr(type(x), "columns")}


def _advice(result: Any, name: str) -> str:
    if name in result._instead:
        return f"; write {result._instead[name]}"
    for table, frame in _tables(result).items():
        lazy = hasattr(frame, "collect")
        empty = frame.collect_schema().to_frame() if lazy else frame
        own = f".{table}.collect()" if lazy else f".{table}"
        if name in empty.columns:
            return f"; it is a column: {own}[{name!r}]"
        if hasattr(type(empty), name):
            return f"; it is a method of its tables: {own}.{name}(...)"
        if hasattr(type(frame), name):  # one of LazyFrames alone, as collect
            return f"; it is a method of its tables: .{table}.{name}(...)"
    names = [x for x in dir(result) if not x.startswith("_")]
    return f"; it has {', '.join(names)}.{did_you_mean(name, names)}"
