"""Fusion of runs: the methods at work, their training and their tuning."""

from typing import TYPE_CHECKING

from ..._support.first_use import AT_ONCE, modules_of

if AT_ONCE:
    from . import fitted, fuse, tuning  # noqa: F401 - for type checkers

if not TYPE_CHECKING:
    __getattr__ = modules_of(__name__)
