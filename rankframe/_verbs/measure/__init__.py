"""Values per query, their summaries, judgments joined to runs, and the values of several runs on
the same queries.
"""

from typing import TYPE_CHECKING

from ..._support.first_use import AT_ONCE, modules_of

if AT_ONCE:
    from . import evaluate, judge, paired_values, summary  # noqa: F401 - for type checkers

if not TYPE_CHECKING:
    __getattr__ = modules_of(__name__)
