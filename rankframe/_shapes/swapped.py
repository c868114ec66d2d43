"""Scores and labels that seem to have changed places."""

from __future__ import annotations

from collections.abc import Iterable

import polars as pl


def look_swapped(scores: Iterable[pl.Series], labels: pl.Series) -> bool:
    """Whether all scores are whole numbers, as labels are, and some label is not, as scores are."""
    given = [*scores]
    return bool(given) and _has_fractions(labels) and not any(map(_has_fractions, given))


def _has_fractions(numbers: pl.Series) -> bool:
    """Whether a number is not whole."""
    return numbers.dtype.is_float() and bool((numbers % 1 != 0).any())
