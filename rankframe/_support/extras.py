"""Optional libraries, imported when they are first used."""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from types import ModuleType

from ..errors import MissingExtra

VERSIONS = ("rankframe", "polars", "numpy")
"""The packages on which numbers depend."""


def load(module: str, extra: str) -> ModuleType:
    """The module, or an error that names the extra to install."""
    try:
        return import_module(module)
    except ImportError as error:
        raise MissingExtra(
            f"{module} is not installed; write pip install 'rankframe[{extra}]'"
        ) from error


def version_of(package: str) -> str:
    """The version of a package; ``0+unknown`` for a copy that was not installed.

    A cluster's workers may have such a copy on their path.
    """
    try:
        return version(package)
    except PackageNotFoundError:
        return "0+unknown"


def versions() -> dict[str, str]:
    """The versions on which numbers depend, by package."""
    return {package: version_of(package) for package in VERSIONS}
