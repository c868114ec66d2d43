"""The work for many metrics in one call grows with their number, and no faster."""

from __future__ import annotations

import polars as pl
import pytest

from rankframe._catalog.call import Call
from rankframe._words.sorted_rows import Needed

TABLE = pl.DataFrame({"query_id": [1, 1, 2], "doc_id": list("aba"), "score": [2.0, 1.0, 1.0], "label": [1, 0, 1]})


def test_metrics_are_not_compared_in_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    compared, equal = [], Call.__eq__

    def counted(call: Call, other: object) -> bool:
        compared.append(call)
        return equal(call, other)

    monkeypatch.setattr(Call, "__eq__", counted)
    n = 300
    found = TABLE.rank.evaluate(*(f"precision@{k}" for k in range(1, n + 1)))
    assert found.width == n + 1
    assert len(compared) < 10 * n  # the pairs are 150 times as many as the metrics


def test_a_value_is_looked_at_by_the_columns_that_it_names_alone() -> None:
    class Counted(dict[str, pl.Expr]):
        looked = 0

        def __iter__(self) -> object:  # type: ignore[override]
            raise AssertionError("all columns are looked through for one value")

        items = keys = values = __iter__  # type: ignore[assignment]

    columns = Counted(a=pl.col("b") + 1, **{f"x{i}": pl.col("b") for i in range(9)})
    needed = Needed(["#query"], late=columns, sums=Counted(b=pl.lit(1)))
    assert needed._has_one_value(pl.col("a") * pl.col("b"))
    assert not needed._has_one_value(pl.col("a") * pl.col("c"))
