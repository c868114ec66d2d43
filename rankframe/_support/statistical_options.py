"""The words for tests, corrections and intervals, and the types of their options."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal, TypeAlias

from .option_kinds import OtherWords
from .option_values import Range

Bound: TypeAlias = Literal["bca", "percentile", "t", "bounded"]
"""The kinds of interval, one end of which is a bound."""

Interval: TypeAlias = Literal["auto", Bound]
"""A kind of interval, or the choice of one by the number of values and their spread."""

SummaryInterval: TypeAlias = Literal[Interval, "poisson"]

OfDifferences: TypeAlias = Literal[
    "auto", "permutation", "bounded", "bca", "percentile", "bootstrap", "t"
]
"""The estimators of differences, each of which gives an interval and a p-value."""

Confidence: TypeAlias = Annotated[float, Range(above=0, below=1)]
Resamples: TypeAlias = Annotated[int, Range(least=1, most=10_000_000)]
Seed: TypeAlias = Annotated[int, Range(least=0)]

FEW = 50
"""The fewest values that differ for which, in simulations, a bootstrap interval of 95% holds in 93%
of cases or more."""

VERY_FEW = 10
"""The fewest judged values that differ from their median for Student's interval without a
warning."""

PairedTest: TypeAlias = Literal["permutation", "t", "bootstrap"]
DifferenceTest: TypeAlias = Literal["auto", PairedTest]
Test: TypeAlias = Literal["auto", PairedTest, "tukey", "bayes", "sequential"]

Rope: TypeAlias = Annotated[float, Range(least=0)]
"""The largest difference that counts as none."""

Planned: TypeAlias = Annotated[int, Range(least=2, most=10**9)]

PLANNED = 1_000
"""The planned number of queries by default."""

OfGroups: TypeAlias = Literal["auto", "t", "permutation", "bounded"]
"""The estimators of groups that share no query."""

OF_GROUPS: Mapping[str, str] = {
    "t": "Welch's t-test",
    "permutation": "permutation of the groups",
    "bounded": "the bounded interval",
}
"""The estimators of `OfGroups` in sentences."""

OF_SOME_DEPENDENCE = (
    "holm",
    "it does not hold under every dependence of the tests, as Holm's correction does",
)
IN_TWO_STAGES = "bh", "Benjamini and Hochberg's correction is, which takes one stage"

OF_OTHER_TOOLS = OtherWords(
    read={"BH": "bh", "BY": "by", "fdr": "bh", "fdr_bh": "bh", "fdr_by": "by"},
    refused={
        "bonferroni": (
            "holm",
            "Holm's correction is valid whenever Bonferroni's is, and rejects more",
        ),
        **dict.fromkeys(["sidak", "holm-sidak", "simes-hochberg"], OF_SOME_DEPENDENCE),
        **dict.fromkeys(["hochberg", "hommel"], OF_SOME_DEPENDENCE),
        **dict.fromkeys(["fdr_tsbh", "fdr_tsbky", "fdr_gbs"], IN_TWO_STAGES),
    },
)
"""The corrections of statsmodels and of R's p.adjust."""

Correction: TypeAlias = Annotated[Literal["holm", "bh", "by"], OF_OTHER_TOOLS]
CORRECTIONS: Mapping[Correction, str] = {
    "holm": "Holm's correction",
    "bh": "Benjamini and Hochberg's correction",
    "by": "Benjamini and Yekutieli's correction",
}

Family: TypeAlias = Literal["all", "metric"]
"""The p-values that are corrected together: all of them, or each metric's."""
