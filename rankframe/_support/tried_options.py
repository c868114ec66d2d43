"""Keywords that people try in a call and that it does not have, and what to write instead."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from inspect import Parameter

from ..errors import Code, Text, option

CUTOFFS = ("at", "at_k", "cutoff", "cutoffs", "k", "top_k", "topk")
METRICS = ("measure", "measures", "metric", "metrics")
SIDES = ("alternative", "one_sided", "tail", "tails", "two_sided")
ERRORS = ("alpha", "significance", "significance_level")
LEVELS = ("ci_level", "conf_level", "confidence_level", "level", *ERRORS)

TRIED_OPTIONS: Mapping[str, Sequence[str]] = {
    "baseline": ("control", "reference"),
    "by": ("group_by", "groupby", "slice_by", "slices"),
    "ci": ("confidence", *LEVELS),
    "confidence": ("ci", *LEVELS),
    "correction": ("adjustment", "multiple_testing", "multitest", "p_adjust"),
    "k": CUTOFFS,
    "progress": ("verbose",),
    "resamples": (
        "bootstrap", "bootstrap_samples", "iterations", "n_boot", "n_bootstrap", "n_bootstraps",
        "n_iterations", "n_permutations", "n_resamples", "n_samples", "permutations",
    ),
    "runs": ("columns", "models", "score_columns", "systems"),
    "seed": ("random_seed", "random_state", "rng"),
    "test": ("method", "stat_test", "statistic", "test_type"),
}  # fmt: skip
"""The words that people try, by the option that they mean."""

OF_METRICS = {"budgets", "measures", "metrics"}
"""The names of arguments that are texts of metrics."""

ONE_SIDED = Code("df.rank.gate({'ndcg@10': 0.01}, runs=['old', 'new'])")
ONE_SIDED_OF_FILES = "rf.gate(runs, qrels, {'ndcg@10': 0.01})"


def instead_of(
    word: str,
    given: object,
    metrics: Sequence[object],
    parameters: Mapping[str, Parameter],
    takes: Callable[[str, object], bool],
) -> tuple[Text, ...]:
    """What to write instead of a keyword that people try; empty for any other word.

    Parameters
    ----------
    word, given
        The keyword and its value.
    metrics
        The metrics of the call.
    parameters
        The parameters of the function that a caller sees.
    takes
        Whether an option takes a value.
    """
    listed = {x.name for x in parameters.values() if x.kind is x.VAR_POSITIONAL}
    if word in SIDES and "test" in parameters:
        code = ONE_SIDED_OF_FILES if "qrels" in parameters else ONE_SIDED
        return "it is two-sided, and gate is one-sided: ", code
    if word in SIDES and "margin" in parameters:
        return ("it is one-sided; leave this out",)
    if word in METRICS and "metrics" in listed:
        texts = _texts_of(given)
        return (f"write {', '.join(map(repr, texts))} without a keyword",)
    if word in CUTOFFS and listed & OF_METRICS:
        return (f"the text of a metric names its cutoff: {_at_cutoff(metrics, given)!r}",)
    for meant, words in TRIED_OPTIONS.items():
        if meant in parameters and word in words:
            value = _confidence(given) if word in ERRORS else given
            if not takes(meant, value):
                value = parameters[meant].default
            written = ... if value is Parameter.empty else value
            return "write ", option(**{meant: written})
    return ()


def _texts_of(given: object) -> Sequence[object]:
    """The metrics that a keyword gives, or an example."""
    if isinstance(given, (list, tuple)) and given:
        return given
    return [given] if isinstance(given, str) else ["ndcg@10"]


def _at_cutoff(metrics: Sequence[object], cutoff: object) -> str:
    """The first metric with a cutoff."""
    texts = [x for x in metrics if isinstance(x, str) and "@" not in x]
    metric = texts[0] if texts else "ndcg"
    cutoffs = cutoff if isinstance(cutoff, (list, tuple)) and cutoff else [cutoff]
    if not all(type(x) is int and x > 0 for x in cutoffs):
        cutoffs = [10]
    return f"{metric}@{','.join(map(str, cutoffs))}"


def _confidence(error: object) -> object:
    """The confidence of intervals whose chance of error is given."""
    return round(1 - error, 12) if isinstance(error, float) else error
