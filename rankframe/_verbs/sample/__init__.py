"""Samples of values per query: the rows of several runs, slices and weights of queries, judged
queries, and settings of intervals.
"""

from typing import TYPE_CHECKING

from ..._support.first_use import AT_ONCE, modules_of

if AT_ONCE:
    from . import unequal_runs  # noqa: F401 - for type checkers

if not TYPE_CHECKING:
    __getattr__ = modules_of(__name__)
