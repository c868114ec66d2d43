"""What workers do with a bucket, run here: values, parts of summaries, and errors that become a row."""

from __future__ import annotations

import datetime as dt
import pickle
from typing import Any

import polars as pl
import pyarrow as pa
import pytest

import rankframe as rf
from rankframe._lift.arrow_kernel import arrow_kernel, bound
from rankframe._lift.engine import Distinct, LargestLabel, Merged, OnQueries, Partial, refuse_row_order
from rankframe._lift.spark_tables import Guarded, OnArrow
from rankframe._table.run_and_judgments import Unmatched
from rankframe._table.table import Whole
from rankframe._verbs.call.declaration import call_of_verb
from rankframe._verbs.measure import evaluate as verbs, judge
from rankframe._verbs.measure.summary import Summary
from tests.support.each import each

RUN = pa.table({"query_id": [1, 1, 2], "doc_id": ["a", "b", "a"], "score": [2.0, 1.0, 1.0], "day": ["mo", "mo", "tu"]})
QRELS = pa.table({"query_id": [1, 1, 3], "doc_id": ["b", "c", "a"], "label": [1, 1, 1]})
TABLE = RUN.append_column("label", pa.array([0, 1, 1]))
COLUMNS = bound({}, arrow_kernel)
WHOLE = Whole()
TYPES = {"rr": pa.float64(), "recall": pa.float64(), "!": pa.string()}


def values(judging: OnQueries | None = None) -> OnArrow:
    return OnArrow(OnQueries(call_of_verb(verbs.evaluate, "rr", "recall"), COLUMNS, WHOLE, judging=judging))


def judging(judged_only: Unmatched, run_only: Unmatched) -> OnQueries:
    return OnQueries(call_of_verb(judge.judge, None, judged_only=judged_only, run_only=run_only), COLUMNS, WHOLE)


def guarded(function: Any, *tables: pa.Table) -> pa.Table:
    work = pickle.loads(pickle.dumps(Guarded(function, [table.column_names for table in tables], TYPES, "!")))
    plain = [table.rename_columns([f"c{i}" for i in range(table.num_columns)]) for table in tables]
    return work(*(table.append_column("bucket", pa.array([0] * table.num_rows)) for table in plain))


def test_a_bucket_gives_its_values_and_no_message() -> None:
    found = guarded(values(), TABLE)
    assert found.to_pylist() == [
        {"query_id": 1, "rr": 0.5, "recall": 1.0, "!": None},
        {"query_id": 2, "rr": 1.0, "recall": 1.0, "!": None},
    ]
    assert values().work.kept == {"query_id": "query_id"}


def test_a_bucket_joins_its_judgments() -> None:
    found = guarded(values(judging("keep", "drop")), RUN, QRELS)
    assert found.drop(["!"]).to_pylist() == [
        {"query_id": 1, "rr": 0.5, "recall": 0.5},
        {"query_id": 3, "rr": 0.0, "recall": 0.0},
    ]
    dropped = guarded(values(judging("drop", "keep")), RUN, QRELS)
    assert dropped["query_id"].to_pylist() == [1, 2]


def test_an_error_of_ours_becomes_one_row_and_others_stay_errors() -> None:
    found = guarded(values(), TABLE.set_column(2, "score", pa.array([float("nan")] * 3)))
    (row,) = found.to_pylist()
    assert row.pop("!").startswith("column 'score' holds NaN")
    assert row == {"query_id": None, "rr": None, "recall": None}
    assert found.schema == guarded(values(), TABLE).schema
    with pytest.raises(ZeroDivisionError):
        guarded(_broken, TABLE)


@each(
    ("table", "says"),
    [
        (pa.concat_tables([TABLE, TABLE]), "name the column that says which: query=[..., 'query_id'] (found in 6 rows"),
        (TABLE.set_column(2, "score", pa.array([float("nan")] * 3)), "that was not retrieved (found in 3 rows"),
    ],
)
def test_a_message_of_a_worker_advises_no_steps_of_polars(table: pa.Table, says: str) -> None:
    (row,) = guarded(values(), table).to_pylist()
    assert says in row["!"]
    assert "df." not in row["!"]


def _broken(*tables: pa.Table) -> pa.Table:
    raise ZeroDivisionError


def test_timestamps_go_back_in_utc() -> None:
    times = pa.array([dt.datetime(2020, 1, 1, 12)] * 2, pa.timestamp("us", "Europe/Berlin"))
    found = guarded(values(), TABLE.slice(0, 2).set_column(0, "query_id", times))
    assert found.schema.field("query_id").type == pa.timestamp("us", "UTC")
    assert found["query_id"].to_pylist() == [times[0].as_py()]


def test_without_a_key_each_batch_is_a_part() -> None:
    work = Guarded(values(), [TABLE.column_names], TYPES, "!")
    batches = [*TABLE.slice(0, 2).to_batches(), *TABLE.slice(2).to_batches()]
    assert pa.Table.from_batches(work.on_batches(batches)).equals(guarded(values(), TABLE))


def test_columns_keep_their_types_where_a_result_has_them() -> None:
    small = TABLE.set_column(0, "query_id", pa.array([1, 1, 2], pa.decimal128(20, 3)))
    runs = OnArrow(Distinct(("query_id",)))(small)
    assert runs.schema.field("query_id").type == pa.decimal128(20, 3)
    assert runs.num_rows == 2
    assert OnArrow(LargestLabel(COLUMNS, ranked=False))(small).to_pylist() == [{"largest_label": 1.0}]


def test_parts_of_a_summary_merge() -> None:
    summary = Summary.of(COLUMNS, None, "rr", by="day", ci=0.95, resamples=39)
    parts = [OnArrow(Partial(summary))(TABLE.slice(0, 2)), OnArrow(Partial(summary))(TABLE.slice(2))]
    assert parts[0].schema.field("#by0").type == pa.string()
    merged = OnArrow(Merged(summary))(pa.concat_tables(parts))
    assert merged.select(["day", "metric", "mean", "n_queries", "total", "interval"]).to_pylist() == [
        {"day": "mo", "metric": "rr", "mean": 0.5, "n_queries": 1, "total": None, "interval": None},
        {"day": "tu", "metric": "rr", "mean": 1.0, "n_queries": 1, "total": None, "interval": None},
    ]
    assert Partial(summary).kept == {"#by0": "day"}
    assert Merged(summary).kept == {"day": "#by0"}
    judged = Partial(summary, judging("keep", "drop"))
    assert judged(pl.DataFrame(RUN), pl.DataFrame(QRELS))["#by0"].to_list() == ["mo", None]


def test_rows_without_an_order_do_not_break_ties() -> None:
    calls = rf.parse("map")
    refuse_row_order(bound({}, arrow_kernel), calls, ["query_id", "doc_id"], "heap")
    refuse_row_order(bound({"ties": "best"}, arrow_kernel), calls, ["query_id"], "heap")
    for options, names, why in (
        ({}, ["query_id"], "tied rows would stand by, as no column names documents"),
        ({"ties": "order"}, ["query_id", "doc_id"], "ties='order' goes by"),
        ({"convention": "ranx"}, ["query_id", "doc_id"], "ties='order' goes by"),
    ):
        with pytest.raises(rf.InvalidOption, match=f"the rows of a heap have no order, which {why}"):
            refuse_row_order(bound(options, arrow_kernel), calls, names, "heap")


def test_the_runs_of_score_columns_are_no_column_of_the_table() -> None:
    summary = Summary.of(COLUMNS, None, "rr", runs=["score", "new"])
    table = TABLE.append_column("new", pa.array([1.0, 2.0, 1.0])).append_column("run", pa.array([1, 2, 3]))
    parts = [OnArrow(Partial(summary))(table.slice(0, 2)), OnArrow(Partial(summary))(table.slice(2))]
    merged = OnArrow(Merged(summary))(pa.concat_tables(parts))
    found = pl.DataFrame(merged.select(["run", "mean", "n_queries"])).sort("run")
    assert found.rows() == [("new", 1.0, 2), ("score", 0.75, 2)]
