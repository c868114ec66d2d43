"""Words of catalog metrics: what ranks weigh, and the groups by popularity."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import polars as pl
import pytest

import rankframe as rf

RECS = pl.DataFrame({"query_id": [1, 1, 1], "doc_id": [*"abc"], "score": [3.0, 2.0, 1.0]})


@contextmanager
def declared(formula: Any) -> Iterator[Any]:
    rf.catalog_metric(bounds=(None, None))(formula)
    try:
        yield formula
    finally:
        rf.unregister(formula)


def test_the_exposure_of_a_persistent_reader_falls_by_its_persistence() -> None:
    def third_item(e: rf.Exposure) -> pl.Expr:
        return e.exposure("rbp", 0.5).min()

    with declared(third_item):
        assert RECS.rank.items.catalog("third_item", ci=None)["value"].item() == 0.5 * 0.5**2


def test_the_head_ends_where_it_reaches_its_share_of_the_past() -> None:
    past = pl.DataFrame({"query_id": range(10), "doc_id": [*"aaaaabbbcd"]})

    def heads(e: rf.Exposure, head: float | None = None, tail: float | None = None) -> pl.Expr:
        return e.group_sizes(head, tail).first()

    with declared(heads):
        ranker = RECS.rank.on(interactions=past, items=[*"abcd"])  # a has 5 of 10, a and b have 8
        texts = ["heads(head=0.5)", "heads(head=0.8)", "heads(head=0.95)", "heads(tail=0.25)", "heads(tail=0.75)"]
        sizes = [ranker.items.catalog(text, ci=None)["value"].item() for text in texts]
    assert sizes == [1, 2, 4, 2, 1]


def test_summands_that_differ_in_an_option_of_polars_alone_are_two() -> None:
    """Ranks 1, 2, 3 over 8 are 0.125, 0.25 and 0.375, and to one digit 0.1, 0.2 and 0.4."""

    def rounded(e: rf.Exposure, digits: int = 1) -> pl.Expr:
        return e.summed((e.rank / 8).round(digits)).sum() + e.of_users((e.rank / 8).round(digits).max())

    with declared(rounded):
        found = RECS.rank.items.catalog("rounded", "rounded(digits=3)", ci=None)["value"].to_list()
        parts = RECS.rank.items.counts("rounded", "rounded(digits=3)").catalog()["value"].to_list()
    assert found == parts == pytest.approx([0.1 + 0.2 + 0.4 + 0.4, 0.125 + 0.25 + 0.375 + 0.375])
