"""A query as products take it: the documents that were retrieved, best first, and those that are relevant."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from typing import Any, NamedTuple

# Switch off the products' reports of usage before they are imported.
os.environ |= {"RAGAS_DO_NOT_TRACK": "true", "HAYSTACK_TELEMETRY_ENABLED": "False", "MLFLOW_DISABLE_TELEMETRY": "true"}

CUTOFFS: list[dict[str, Any]] = [{}, *({"k": k} for k in (1, 2, 5, 30))]


class Lists(NamedTuple):
    """The two lists."""

    retrieved: list[Any]
    relevant: list[Any]


def lists(rows: Sequence[Any], k: int | None = None, *, least: float = 1) -> Lists:
    """The lists of a query's rows, the first one cut at `k`, and that of labels from `least`; tied documents stay as given."""
    retrieved = sorted((row for row in rows if row[1] is not None), key=lambda row: -row[1])
    return Lists([row[0] for row in retrieved][:k], [row[0] for row in rows if row[2] is not None and row[2] >= least])


ANY = math.nextafter(0, 1)
"""The least label of an item of the test, where each of its rows is relevant, and those with label 0 are none of them."""


def every(names: Sequence[str], cutoffs: Sequence[dict[str, Any]] = CUTOFFS) -> list[tuple[str, dict[str, Any]]]:
    """Each metric with each cutoff."""
    return [(name, cut) for name in names for cut in cutoffs]
