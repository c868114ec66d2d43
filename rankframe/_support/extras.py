"""Optional libraries, imported when they are first used."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

from ..errors import MissingExtra

__all__ = ["load"]


def load(module: str, extra: str) -> ModuleType:
    """The module, or an error that names the extra to install."""
    try:
        return import_module(module)
    except ImportError as error:
        raise MissingExtra(f"{module} is not installed; write pip install 'rankframe[{extra}]'") from error
