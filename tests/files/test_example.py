"""The example table has the properties that its provenance claims."""

from __future__ import annotations

from importlib.resources import files

import numpy as np
import polars as pl
import pytest
from sklearn.datasets import load_digits

import rankframe as rf
from tests.support.each import each

SCORES = ["score", "score_pca", "score_forest"]


@pytest.fixture(scope="module")
def table() -> pl.DataFrame:
    return rf.load_example()


def image(column: str) -> pl.Expr:
    return pl.col(column).str.strip_prefix("image").cast(pl.Int64)


def test_the_file_is_small_and_its_provenance_lies_beside_it() -> None:
    data = files("rankframe").joinpath("data")
    assert len(data.joinpath("digits.parquet").read_bytes()) < 300_000
    assert "Redistribution and use" in data.joinpath("PROVENANCE.md").read_text(encoding="utf-8")


def test_the_columns_are_those_documented(table: pl.DataFrame) -> None:
    assert table.schema == {
        "query_id": pl.String,
        "doc_id": pl.String,
        "digit": pl.Int8,
        "doc_digit": pl.Int8,
        **dict.fromkeys(SCORES, pl.Float64),
        "label": pl.Int64,
    }
    assert table.height == 10_742


def test_each_document_stands_once_per_query_and_no_image_is_both(table: pl.DataFrame) -> None:
    assert not table.select("query_id", "doc_id").is_duplicated().any()
    assert not set(table["query_id"]) & set(table["doc_id"])


def test_there_are_twelve_queries_of_each_digit(table: pl.DataFrame) -> None:
    queries = table.group_by("query_id").agg(pl.col("digit").unique())
    assert queries["digit"].list.len().to_list() == [1] * 120
    assert queries.explode("digit")["digit"].value_counts()["count"].to_list() == [12] * 10


@each("score", SCORES)
def test_every_scorer_returns_fifty_documents_and_has_its_first_thirty_judged(table: pl.DataFrame, score: str) -> None:
    returned = table.filter(pl.col(score).is_not_null())
    assert returned.group_by("query_id").len()["len"].to_list() == [50] * 120
    # A document tied with the thirtieth may have lost the lot; any above it cannot.
    thirtieth = pl.col(score).top_k(30).min().over("query_id")
    assert returned.filter(pl.col(score) > thirtieth)["label"].null_count() == 0


def test_some_judged_documents_are_not_returned_and_some_returned_ones_not_judged(
    table: pl.DataFrame,
) -> None:
    returned, judged = pl.col("score").is_not_null(), pl.col("label").is_not_null()
    assert table.filter(judged & ~returned).height > 1_000
    assert table.filter(returned & ~judged).height > 1_000


def test_the_labels_grade_the_digits_that_were_written(table: pl.DataFrame) -> None:
    _, digits = load_digits(return_X_y=True)
    nearest = {0: 9, 1: 8, 2: 8, 3: 9, 4: 1, 5: 8, 6: 4, 7: 8, 8: 1, 9: 3}
    assert (digits[table.select(image("query_id")).to_series()] == table["digit"].to_numpy()).all()
    judged = table.filter(pl.col("label").is_not_null())
    seen = digits[judged.select(image("doc_id")).to_series()]
    grades = [
        2 if asked == other else 1 if nearest[asked] == other else 0
        for asked, other in zip(judged["digit"], seen, strict=True)
    ]
    assert judged["label"].to_list() == grades
    assert judged["doc_digit"].to_list() == seen.tolist()
    assert table.filter(pl.col("label").is_null())["doc_digit"].null_count() == table["label"].null_count()


def test_the_score_is_the_cosine_of_the_pixels(table: pl.DataFrame) -> None:
    pixels, _ = load_digits(return_X_y=True)
    pixels = pixels / np.linalg.norm(pixels, axis=1, keepdims=True)
    returned = table.filter(pl.col("score").is_not_null())
    query, doc = (pixels[returned.select(image(column)).to_series()] for column in ("query_id", "doc_id"))
    np.testing.assert_allclose((query * doc).sum(axis=1), returned["score"].to_numpy(), atol=5.1e-7)


def test_the_forest_ties_many_documents(table: pl.DataFrame) -> None:
    returned = table.filter(pl.col("score_forest").is_not_null())
    assert returned.select("query_id", "score_forest").is_duplicated().mean() > 0.9  # type: ignore[operator]
