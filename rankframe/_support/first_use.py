"""Packages whose modules are imported where they are first used."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType

AT_ONCE: bool = False
"""Whether these packages import their modules when they are imported themselves. It is never so:
the imports below this condition tell type checkers which modules a package has. Under
``TYPE_CHECKING``, mypy would read the modules too late to know the types of their functions."""


def modules_of(package: str) -> Callable[[str], ModuleType]:
    """The ``__getattr__`` of a package: a name that it lacks is a module, imported now."""

    def module_of(name: str) -> ModuleType:
        path = f"{package}.{name}"
        if name.startswith("_") or find_spec(path) is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return import_module(path)

    return module_of
