"""Items: lists of users against the catalog and past interactions, metrics of the whole table,
exposure.
"""

from typing import TYPE_CHECKING

from ..._support.first_use import AT_ONCE, modules_of

if AT_ONCE:
    from . import (  # noqa: F401 - for type checkers
        catalog,
        expected_exposure,
        item_exposure,
        item_tables,
        summarize,
    )

if not TYPE_CHECKING:
    __getattr__ = modules_of(__name__)
