"""What differs between versions of Polars: the ways of older ones hold on every version."""

from __future__ import annotations

import re
from pathlib import Path

import polars as pl
import pytest

import rankframe as rf
from rankframe._support import polars_versions
from tests.support.each import each

A, B = pl.col("a"), pl.col("b")
BY_ROW = {
    "a quotient": A / B,
    "a condition": pl.when(B > 0).then(A).otherwise(0.0),
    "a constant": pl.lit(1),
    "filled": A.fill_nan(0.0),
    "the larger one": pl.max_horizontal(A, B),
}
OF_SEVERAL_ROWS = {
    "a sum": A.sum(),
    "a part of the sum": A / A.sum(),
    "a running sum": A.cum_sum(),
    "a window": A.sum().over("b"),
    "the row before": A.shift(1),
    "a rank": A.rank(),
    "the length": A / pl.len(),
}


@each("name", BY_ROW | OF_SEVERAL_ROWS)
def test_an_optimizer_tells_whether_an_expression_is_computed_row_by_row(name: str) -> None:
    x = (BY_ROW | OF_SEVERAL_ROWS)[name]
    assert polars_versions._lets_a_filter_pass(x) is (name in BY_ROW)
    assert polars_versions.is_by_row(x) is (name in BY_ROW)


def test_it_does_not_tell_of_a_function_in_python() -> None:
    assert polars_versions.is_by_row(A.map_batches(lambda values: values)) is None
    assert polars_versions._lets_a_filter_pass(A.map_batches(lambda values: values)) is None


def test_an_error_of_a_source_that_polars_wraps_is_raised_as_it_was_and_others_stay() -> None:
    own = rf.InvalidData("column 'score' holds NaN")

    def fails(*asked: object) -> object:
        raise own
        yield pl.DataFrame()

    with pytest.raises(rf.InvalidData):
        list(polars_versions._keeping_errors(fails)(None, None, None, None))  # type: ignore[arg-type]
    with pytest.raises(rf.InvalidData) as found, polars_versions.own_errors():
        raise pl.exceptions.ComputeError(f"caught exception: InvalidData: {own}")
    assert found.value is own
    with (
        pytest.raises(pl.exceptions.ComputeError),
        polars_versions.own_errors(),
    ):  # the kept error is gone once it was raised
        raise pl.exceptions.ComputeError(f"caught exception: InvalidData: {own}")


def test_an_expression_has_the_values_of_the_frame_in_groups_of_no_order() -> None:
    rows = [(query, f"d{doc}", doc * (query % 6 + 1) % 7, doc % 3) for query in range(40) for doc in range(7)]
    df = pl.DataFrame(rows, ["query_id", "doc_id", "score", "label"], orient="row").sample(
        fraction=1, shuffle=True, seed=1
    )
    found = df.group_by("query_id").agg(rf.expr.dcg(discount="rank")).sort("query_id")
    wanted = df.rank.dcg(discount="rank").sort("query_id")
    assert found[:, 1].to_list() == pytest.approx(wanted[:, 1].to_list(), abs=1e-12)


def test_no_other_module_asks_which_polars_runs() -> None:
    package = Path(rf.__file__).parent
    asking = [
        path.name
        for path in package.rglob("*.py")
        if re.search(r"\bpl\.__version__|hasattr\(pl\b", path.read_text("utf-8"))
    ]
    assert asking == ["polars_versions.py"]
