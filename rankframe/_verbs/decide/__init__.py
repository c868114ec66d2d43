"""Decisions between runs on the same queries: comparisons, gates, power, ranks, looks."""

from typing import TYPE_CHECKING

from ..._support.first_use import AT_ONCE, modules_of

if AT_ONCE:
    from . import compare, gate, power, sequential  # noqa: F401 - for type checkers

if not TYPE_CHECKING:
    __getattr__ = modules_of(__name__)
