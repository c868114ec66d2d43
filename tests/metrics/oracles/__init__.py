"""Every metric once more: plain Python over one query's rows, straight from its paper; a module for each family.

Slow and simple on purpose. Nothing here may import what it tests, nor numpy, nor polars.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tests.metrics.oracles import binary, cascade, cwl, gain, judgments, order, preference, trec
from tests.metrics.oracles.query import Row, prepare

ORACLES: dict[str, Callable[..., float | None]] = {
    name: oracle
    for family in (gain, cascade, binary, order, cwl, judgments, preference, trec)
    for name, oracle in family.ORACLES.items()
}
UNBOUNDED = {
    "cg", "dcg", "hits", "mean_label", "average_relevance_position", "num_retrieved", "num_relevant",
    "num_nonrel_judged_ret", "utility", "yaap", "g", "ideal_dcg", "gm_map", "gm_bpref",
}  # fmt: skip
LOWER_IS_BETTER = {
    "average_relevance_position", "fall_out", "rbp_residual", "num_nonrel_judged_ret", "unjudged", "rbp_resid",
}  # fmt: skip
BEYOND = {"report", "residual"}  # options that make of a share something else


def evaluate(
    name: str, rows: Sequence[Row], options: Mapping[str, Any], *, no_relevant: str = "zero", **policies: Any
) -> float | None:
    """One metric of one query under all policies."""
    q = prepare(rows, **policies)
    if q.R == 0 and no_relevant == "null":
        return None
    if q.R == 0 and no_relevant == "one" and name not in UNBOUNDED | LOWER_IS_BETTER and not BEYOND & options.keys():
        return 1.0
    return ORACLES[name](q, **options)
