"""The words for tests, corrections and intervals, and their names in sentences."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal, TypeAlias

from .option_values import Range

Bound: TypeAlias = Literal["bca", "percentile", "t", "bounded"]
"""The kinds of interval, one end of which is a bound."""

Interval: TypeAlias = Literal["auto", Bound]
"""A kind of interval, or the choice of one by the number of values and their spread."""

SummaryInterval: TypeAlias = Literal[Interval, "poisson"]

OfDifferences: TypeAlias = Literal["auto", "permutation", "bounded", "bca", "percentile", "bootstrap", "t"]
"""The estimators of differences, each of which gives an interval and a p-value."""

Confidence: TypeAlias = Annotated[float, Range(above=0, below=1)]
Resamples: TypeAlias = Annotated[int, Range(least=1, most=10_000_000)]
Seed: TypeAlias = Annotated[int, Range(least=0)]

INTERVALS: Mapping[str, str] = {
    "permutation": "sign flips", "bca": "BCa", "percentile": "percentile", "t": "Student's t", "bounded": "bounded",
    "poisson": "Poisson bootstrap", "prediction_powered": "prediction-powered", "adjusted": "adjusted",
    "betting": "betting", "empirical_bernstein": "empirical Bernstein",
    "bootstrap": "bootstrap of Student's t", "tukey": "simultaneous, of Tukey's test",
}  # fmt: skip
"""The kinds of interval in sentences."""

FEW = 50
"""The fewest values that differ for which, in simulations, a bootstrap interval of 95% holds in 93% of cases or more."""

VERY_FEW = 10
"""The fewest judged values that differ from their median for Student's interval without a warning."""

PairedTest: TypeAlias = Literal["permutation", "t", "bootstrap"]
DifferenceTest: TypeAlias = Literal["auto", PairedTest]
Test: TypeAlias = Literal["auto", PairedTest, "tukey", "bayes", "sequential"]
TESTS: Mapping[str, str] = {
    "auto": "the paired permutation test, or the bounded interval where fewer than six queries differ",
    "permutation": "the paired permutation test", "t": "the paired t-test", "bootstrap": "the paired bootstrap test",
    "bounded": "the bounded interval", "bca": "the BCa bootstrap", "percentile": "the percentile bootstrap",
    "tukey": "Tukey's test", "bayes": "the Bayesian signed-rank test", "sequential": "the sequential test",
    "prediction_powered": "Student's test of the prediction-powered mean", "adjusted": "Student's test of the adjusted mean",
}  # fmt: skip
"""The tests in sentences, and the estimators of `OfDifferences`; the last two are those of `model_labels` and of `adjust`."""

OfGroups: TypeAlias = Literal["auto", "t", "permutation", "bounded"]
"""The estimators of groups that share no query."""

OF_GROUPS: Mapping[str, str] = {
    "t": "Welch's t-test", "permutation": "permutation of the groups", "bounded": "the bounded interval",
}  # fmt: skip
"""The estimators of `OfGroups` in sentences."""

Correction: TypeAlias = Literal["holm", "bh", "by"]
CORRECTIONS: Mapping[Correction, str] = {
    "holm": "Holm's correction", "bh": "Benjamini and Hochberg's correction", "by": "Benjamini and Yekutieli's correction",
}  # fmt: skip

Family: TypeAlias = Literal["all", "metric"]
"""The p-values that are corrected together: all of them, or each metric's."""
