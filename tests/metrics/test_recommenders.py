"""Recommenders' metrics of single queries: worked values, options, hostile tables, and the roles that they read."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

import rankframe as rf

RECS = pl.DataFrame(
    {
        "query_id": ["u1"] * 3 + ["u2"] * 3 + ["u3"] * 3,
        "doc_id": [*"cde", *"bdf", *"cde"],
        "score": [3.0, 2.0, 1.0] * 3,
    }
)
RELEVANT = {("u1", "d"), ("u2", "b"), ("u3", "e"), ("u3", "f")}
JUDGED = pl.concat(
    [
        RECS.with_columns(
            label=pl.Series(
                [int(pair in RELEVANT) for pair in RECS.select("query_id", "doc_id").rows()], dtype=pl.Int64
            )
        ),
        pl.DataFrame(
            {"query_id": ["u3"], "doc_id": ["f"], "score": [None], "label": [1]}, schema_overrides={"score": pl.Float64}
        ),
    ]
)
TRAIN = pl.DataFrame({"query_id": ["u1", "u1", "u2", "u2", "u3", "u3", "u4", "u4"], "doc_id": [*"abacabad"]})
"""Popularity: a 4, b 2, c 1, d 1; four users, eight interactions."""


def values(df: pl.DataFrame, text: str, **roles: Any) -> list[float | None]:
    found: pl.DataFrame = df.rank.on(**roles).evaluate(text)
    return found.sort("query_id")[text].to_list()


WORKED: list[tuple[str, list[float]]] = [
    ("mean_popularity@3", [2 / 3, 1.0, 2 / 3]),
    ("mean_popularity(normalize=True)@3", [2 / 24, 1 / 8, 2 / 24]),
    ("novelty@3", [2.0, 5 / 3, 2.0]),
    ("novelty(base=interactions,unseen_items=zero)@3", [2.0, 5 / 3, 2.0]),
    ("novelty(base=interactions,unseen_items=skip)@3", [3.0, 2.5, 3.0]),
    ("surprisal@3", [1.0, 5 / 6, 1.0]),
    ("unseen@3", [1.0, 1.0, 1.0]),
    ("efd(relevance=False)@3", [3.0, 2.530721, 3.0]),
]
"""RecTools', recommenders', RePlay's and Elliot's values of the example."""


@pytest.mark.parametrize(("text", "wanted"), WORKED)
def test_the_worked_example_has_the_values_of_the_tools(text: str, wanted: list[float]) -> None:
    assert values(RECS, text, interactions=TRAIN) == pytest.approx(wanted, abs=1e-6)
    assert values(JUDGED, text, interactions=TRAIN) == pytest.approx(wanted, abs=1e-6)


@pytest.mark.parametrize(
    ("text", "wanted"), [("efd@3", [0.888246, 0.938557, 0.703918]), ("epc@3", [0.222061, 0.234639, 0.234639])]
)
def test_discovery_of_the_worked_example_has_elliots_values(text: str, wanted: list[float]) -> None:
    assert values(JUDGED, text, interactions=TRAIN) == pytest.approx(wanted, abs=1e-6)


def test_the_mean_over_the_users_of_the_worked_example_is_the_tools_mean() -> None:
    mean = RECS.rank.on(interactions=TRAIN).mean("mean_popularity@3", "novelty@3", "surprisal@3")
    assert mean.row(0)[-3:] == pytest.approx((0.777778, 1.888889, 0.944444), abs=1e-6)


def test_unexpectedness_of_the_worked_example_has_replays_values() -> None:
    base = pl.when(pl.col("doc_id").is_in(["a", "b", "c"])).then(1.0)
    assert values(RECS.with_columns(base=base), "unexpectedness@3", base="base") == pytest.approx([2 / 3] * 3)


def test_the_percentile_of_popularity_is_the_mean_rank_over_the_number_of_items() -> None:
    # c and d share ranks 1 and 2 of 4 items, b has rank 3; e and f, in no interaction, count 0
    assert values(RECS, "popularity_percentile", interactions=TRAIN) == pytest.approx(
        [(1.5 + 1.5) / 12, (3 + 1.5) / 12, (1.5 + 1.5) / 12]
    )


def test_the_tail_starts_below_the_item_with_which_the_head_reaches_its_share() -> None:
    # a and b have 6 of 8 interactions, c and d are equally popular: with them 80% are reached
    assert values(RECS, "tail_share", interactions=TRAIN) == pytest.approx([1 / 3, 1 / 3, 1 / 3])  # e, f, e
    assert values(RECS, "tail_share(head=0.75)", interactions=TRAIN) == pytest.approx([1, 2 / 3, 1])  # all but a and b
    assert values(RECS, "tail_share(tail=0.5)", interactions=TRAIN) == pytest.approx([1, 2 / 3, 1])
    assert str(rf.parse("APLT@3")[0]) == "tail_share(unseen_items=zero)@3"
