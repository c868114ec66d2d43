"""The audit of a number: the tools' conventions, a published value, and what runs have in
common.
"""

from typing import TYPE_CHECKING

from ..._support.first_use import AT_ONCE, modules_of

if AT_ONCE:
    from . import overlap, reproduces, tool_comparison  # noqa: F401 - for type checkers

if not TYPE_CHECKING:
    __getattr__ = modules_of(__name__)
