"""Rows with the same key, found by hashes, against a dictionary of the keys, also where hashes are alike."""

from __future__ import annotations

import random
from collections.abc import Callable

import polars as pl
import pytest

from rankframe._table import matched_rows
from rankframe._table.matched_rows import matches
from tests.support.each import each

HASHES = matched_rows._hashes
COARSE = {
    "as they are": lambda hashes: hashes,
    "of eight values": lambda hashes: hashes % 8,
    "alike": lambda hashes: hashes * 0,
}


def table(rng: random.Random, rows: int, values: int) -> pl.DataFrame:
    ids = [None, *(f"d{i}" for i in range(values))]
    keys = [(rng.randrange(3), rng.choice(ids)) for _ in range(rows)]
    return pl.DataFrame(keys, schema={"q": pl.Int64, "d": pl.String}, orient="row")


def by_a_dictionary(one: pl.DataFrame, other: pl.DataFrame) -> list[int | None] | None:
    """What `matches` is to give."""
    places = {key: place for place, key in enumerate(other.iter_rows())}
    if len(places) < other.height or len({*one.iter_rows()}) < one.height:
        return None
    return [places.get(key) for key in one.iter_rows()]


@each("hashes", COARSE)
def test_rows_match_by_their_keys_whatever_their_hashes(hashes: str, monkeypatch: pytest.MonkeyPatch) -> None:
    coarse: Callable[..., object] = COARSE[hashes]
    monkeypatch.setattr(matched_rows, "_hashes", lambda rows: coarse(HASHES(rows)))
    rng, unique = random.Random(5), 0
    for _ in range(150):
        one, other = (table(rng, rng.randrange(9), rng.choice([3, 40])) for _ in range(2))
        found, wanted = matches(one, other), by_a_dictionary(one, other)
        assert (None if found is None else found.to_list()) == wanted
        unique += wanted is not None
    assert 30 < unique < 150


def joined_in_python(run: pl.DataFrame, qrels: pl.DataFrame, judged_only: str, run_only: str) -> list[object]:
    """The rows of the run with their labels, then the other judgments, of the queries that count."""
    labels = {(q, d): label for q, d, label in qrels.iter_rows()}
    scored = {(q, d) for q, d, _ in run.iter_rows()}
    judged = {q for q, d, label in qrels.iter_rows() if label is not None}
    rows: list[object] = []
    for q, d, score in run.iter_rows():
        label = labels.get((q, d)) if q in judged else -1
        if q in judged or run_only == "keep":
            rows.append((q, d, score, label))
    for q, d, label in qrels.iter_rows():
        in_run = q in {of_run for of_run, _ in scored}
        if q in judged and (q, d) not in scored and (in_run or judged_only == "keep"):
            rows.append((q, d, None, label))
    return rows


@pytest.mark.filterwarnings("ignore:no retrieved document is judged")
@each("judged_only", ["keep", "drop"])
@each("run_only", ["keep", "drop"])
def test_a_join_with_judgments_is_that_of_plain_python_eager_and_lazy(judged_only: str, run_only: str) -> None:
    rng, joins = random.Random(7), 0
    for _ in range(60):
        run, qrels = (table(rng, rng.randrange(1, 7), 30).drop_nulls().unique(maintain_order=True) for _ in range(2))
        run = run.rename({"q": "query_id", "d": "doc_id"}).with_columns(score=pl.int_range(pl.len()) / 2)
        qrels = qrels.rename({"q": "query_id", "d": "doc_id"})
        qrels = qrels.with_columns(
            label=pl.Series([rng.choice([None, 0, 1, 2]) for _ in range(qrels.height)], dtype=pl.Int64)
        )
        options = {"judged_only": judged_only, "run_only": run_only}
        judged = {q for q, _, label in qrels.iter_rows() if label is not None}
        if judged.isdisjoint(run["query_id"]):
            continue
        found = run.rank.judge(qrels, **options)  # type: ignore[attr-defined]
        wanted = joined_in_python(run, qrels, judged_only, run_only)
        assert found.rows() == wanted
        lazily = run.lazy().rank.judge(qrels.lazy(), **options).collect()  # type: ignore[attr-defined]
        assert sorted(lazily.rows(), key=str) == sorted(wanted, key=str)
        joins += 1
    assert joins > 20
