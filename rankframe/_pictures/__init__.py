"""Figures and their marks, drawing by Altair and Matplotlib, and the report page."""

from typing import TYPE_CHECKING

from .._support.first_use import AT_ONCE, modules_of

if AT_ONCE:
    from . import draw, plots, report_page  # noqa: F401 - for type checkers

if not TYPE_CHECKING:
    __getattr__ = modules_of(__name__)
