"""Means: the sums of parts against those of the whole, in plain Python."""

from __future__ import annotations

import math
import random

import polars as pl
import pytest

from rankframe import metrics
from rankframe._catalog.means import SUMS, Mean, added, by_metric, merged, sums_of
from rankframe._catalog.requests import calls_of
from tests.support.each import each

CALLS = calls_of("rr", "gm_map", "num_relevant")
RANDOM = random.Random(7)
QUERIES = pl.DataFrame(
    {
        "rr": [RANDOM.choice([None, 0.25, 0.5, 1.0]) for _ in range(40)],
        "gm_map": [RANDOM.uniform(1e-5, 1) for _ in range(40)],
        "num_relevant": [float(RANDOM.randrange(9)) for _ in range(40)],
        "#weight": [RANDOM.choice([0.0, 1.0, 2.5, 1e-3]) for _ in range(40)],
    }
)


def sums(queries: pl.DataFrame) -> pl.DataFrame:
    found = added(queries.lazy(), CALLS, [])
    return by_metric(found, [sums_of(call) for call in CALLS], CALLS, []).collect()


def figures(found: pl.DataFrame, text: str) -> dict[str, float]:
    (call,) = calls_of(text)
    own = found.filter(metric=call.text)
    return own.select(**Mean.of(call).value({name: pl.col(name) for name in SUMS})).row(0, named=True)


@each("text", ["rr", "gm_map", "num_relevant"])
@each("parts", [1, 2, 7, 40])
def test_the_sums_of_parts_give_the_mean_and_the_spread_of_all_queries(parts: int, text: str) -> None:
    there = [(x, w) for x, w in QUERIES.select(text, "#weight").iter_rows() if x is not None]
    weight = math.fsum(w for _, w in there)
    mean = math.fsum(x * w for x, w in there) / weight
    spread = math.fsum((x - mean) ** 2 * w for x, w in there) / weight
    center = math.exp(math.fsum(math.log(x) * w for x, w in there) / weight) if text == "gm_map" else mean
    size = -(-len(QUERIES) // parts)
    of_parts = pl.concat(sums(QUERIES[start : start + size]) for start in range(0, len(QUERIES), size))
    found = figures(merged(of_parts.lazy(), ["metric"]).collect(), text)
    assert found["n_queries"] == len(there)
    assert found["mean"] == pytest.approx(center, rel=1e-12)
    assert found["std"] == pytest.approx(math.sqrt(spread * len(there) / (len(there) - 1)), rel=1e-12)
    total = pytest.approx(mean * weight, rel=1e-12) if text == "num_relevant" else None  # only counts have a total
    assert found["total"] == total


def test_a_part_without_a_weight_changes_nothing() -> None:
    whole = sums(QUERIES)
    nothing = sums(QUERIES.with_columns(pl.lit(0.0).alias("#weight")))
    found = merged(pl.concat([whole, nothing]).lazy(), ["metric"]).collect()
    assert figures(found, "rr")["mean"] == figures(whole, "rr")["mean"]
    assert figures(nothing, "rr")["mean"] is None


@each("verb", ["curve", "explain", "evaluate", "summarize"])
def test_a_function_is_asked_for_wherever_its_text_is(verb: str) -> None:
    df = pl.DataFrame({"query_id": [1, 1], "doc_id": ["a", "b"], "score": [2.0, 1.0], "label": [0, 1]})
    asked = getattr(df.rank, verb)
    assert asked(metrics.average_precision).equals(asked("map"))
