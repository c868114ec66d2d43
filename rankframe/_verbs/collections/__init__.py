"""Test collections, judges and clicks: what to judge, and how far judges and runs agree."""

from typing import TYPE_CHECKING

from ..._support.first_use import AT_ONCE, modules_of

if AT_ONCE:
    from . import (  # noqa: F401 - for type checkers
        difficulty,
        interleave,
        label_agreement,
        pool,
        preference,
        propensities,
        reliability,
        stated_preferences,
    )

if not TYPE_CHECKING:
    __getattr__ = modules_of(__name__)
