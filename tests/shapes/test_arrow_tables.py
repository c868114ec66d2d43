"""Tables of Arrow with columns that Polars cannot hold."""

from __future__ import annotations

import duckdb
import narwhals as nw
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import rankframe as rf

TABLE = pa.table({"query_id": [1, 1], "doc_id": ["a", "b"], "score": [2.0, 1.0], "label": [0, 1]})
"""The relevant document stands second."""


def unfit() -> dict[str, pa.Array]:
    """Columns that Polars panics on, or refuses, by a part of their type's name."""
    interval = pa.array([(1, 2, 3), (4, 5, 6)], pa.month_day_nano_interval())
    return {
        "month_day_nano_interval": interval,
        "list<item: month_day_nano_interval>": pa.ListArray.from_arrays([0, 1, 2], interval),
        "struct<x: month_day_nano_interval": pa.StructArray.from_arrays([interval], ["x"]),
        "sparse_union": pa.UnionArray.from_sparse(pa.array([0, 0], pa.int8()), [pa.array([1, 2])]),
        "run_end_encoded": pc.run_end_encode(pa.array([1, 1])),
    }


def test_a_column_that_polars_cannot_hold_and_no_metric_reads_is_left_out_with_its_name(
    capfd: pytest.CaptureFixture[str],
) -> None:
    for kind, column in unfit().items():
        with pytest.warns(rf.RankframeWarning, match=f"column 'age' is {kind}.*; it is left out") as caught:
            found = rf.rank(TABLE.append_column("age", column)).evaluate("rr")
        assert caught[0].filename == __file__
        assert found.rows() == [(1, 0.5)]
    with pytest.warns(rf.RankframeWarning, match=r"column 'z' is there 2 times"):
        twice = rf.rank(
            pa.Table.from_arrays([*TABLE.columns, TABLE["label"], TABLE["label"]], [*TABLE.column_names, "z", "z"])
        )
    assert twice.evaluate("rr").rows() == [(1, 0.5)]
    assert capfd.readouterr() == ("", "")  # nothing of Rust's


def test_a_relation_of_duckdb_with_an_interval_is_evaluated() -> None:
    run = duckdb.sql(
        "select 1 as query_id, unnest(['a', 'b']) as doc_id, unnest([2.0, 1.0]) as score, interval 3 days as age"
    )
    qrels = duckdb.sql("select 1 as query_id, 'b' as doc_id, 1 as label")
    with pytest.warns(rf.RankframeWarning, match="column 'age' is month_day_nano_interval, which Polars cannot hold"):
        assert rf.evaluate(run, qrels, "rr").rows() == [(1, 0.5)]


def test_other_streams_are_read_as_before() -> None:
    for given in (TABLE, TABLE.to_reader(), TABLE.to_batches()[0], pl.from_arrow(TABLE)):
        assert rf.rank(given).evaluate("rr").rows() == [(1, 0.5)]
    with pytest.raises(rf.InvalidData, match="ChunkedArray is no frame"):
        rf.rank(TABLE["score"])  # type: ignore[type-var]


def test_a_frame_of_narwhals_is_ranked_as_the_frame_that_it_wraps() -> None:
    columns = TABLE.to_pydict()
    natives = [pl.DataFrame(columns), pl.LazyFrame(columns), pd.DataFrame(columns)]
    for native in natives:
        found = rf.rank(nw.from_native(native)).evaluate("rr")  # type: ignore[type-var]
        assert type(found) is type(native)
        assert pl.DataFrame(found.lazy().collect() if isinstance(found, pl.LazyFrame) else found)["rr"].to_list() == [
            0.5
        ]
    assert rf.rank(nw.from_native(TABLE)).evaluate("rr").rows() == [(1, 0.5)]  # type: ignore[type-var]
