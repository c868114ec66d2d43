"""The words for tests, corrections and intervals, and their names in sentences."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias

__all__ = ["CORRECTIONS", "TESTS", "Correction", "Family", "Method", "PairedTest", "Test"]

Method: TypeAlias = Literal["bca", "percentile", "t", "bounded"]

PairedTest: TypeAlias = Literal["permutation", "t", "bootstrap"]
Test: TypeAlias = Literal[PairedTest, "tukey"]
TESTS: Mapping[Test, str] = {
    "permutation": "the paired permutation test",
    "t": "the paired t-test",
    "bootstrap": "the paired bootstrap test",
    "tukey": "Tukey's test",
}

Correction: TypeAlias = Literal["holm", "bh", "by"]
CORRECTIONS: Mapping[Correction, str] = {
    "holm": "Holm's correction",
    "bh": "Benjamini and Hochberg's correction",
    "by": "Benjamini and Yekutieli's correction",
}

Family: TypeAlias = Literal["all", "metric"]
"""The p-values that are corrected together: all of them, or each metric's."""
