"""What `fuse` does with the rows of a table: laws that every method keeps, policies, and frames of all kinds."""

from __future__ import annotations

import pandas as pd
import pytest


@pytest.mark.parametrize("dtype", ["int64", "float32", "Int64"])
def test_a_fused_score_in_pandas_does_not_take_the_type_of_the_scores(dtype: str) -> None:
    table = pd.DataFrame(
        {"run": ["a", "b"], "query_id": 1, "doc_id": ["x", "y"], "score": pd.Series([3, 2], dtype=dtype)}
    )
    fused = table.rank.fuse("rrf", run="run", depth=1)
    assert fused["score"].to_list() == [1 / 61, 1 / 61]
    assert fused["score"].dtype == "float64"
