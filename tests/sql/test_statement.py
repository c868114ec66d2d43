"""The text of a statement: stable, short, readable by the dialects that no test runs; and what has no SQL."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import sqlglot

import rankframe as rf
from tests.sql.databases import DuckDB, assert_rows
from tests.sql.laws import texts
from tests.support.each import each
from tests.support.tables import BY_CHANCE

pytestmark = BY_CHANCE

SNAPSHOTS = Path(__file__).parent / "snapshots"
NOT_RUN = ["bigquery", "databricks", "oracle", "redshift", "snowflake", "trino", "tsql"]
"""The dialects that tests only write: the statement is read back by sqlglot, and kept."""

COMMON = ["ndcg@10", "ndcg(gain=exponential,ideal=retrieved)@10", "precision@10", "recall@10", "map", "rr", "hit_rate@10",
          "err(max_label=4)@20", "rbp", "r_precision", "judged@10"]  # fmt: skip


def write(dialect: str) -> str:
    options: dict[str, Any] = {"query": "session_id", "label": "grade", "by": "day", "judgments": "analytics.qrels"}
    return rf.sql(*COMMON, dialect=dialect, table="analytics.run", **options)


@each("dialect", NOT_RUN)
def test_a_dialect_that_no_test_runs_has_the_text_that_is_kept_and_reads_it(dialect: str) -> None:
    """Delete the file to write it anew, and read the difference."""
    path, text = SNAPSHOTS / f"{dialect}.sql", write(dialect)
    if not path.exists():
        path.write_text(text, encoding="utf-8")
    assert path.read_text(encoding="utf-8") == text
    (tree,) = sqlglot.parse(text, dialect=dialect)
    assert tree is not None
    assert {"ndcg_at_10", "map", "rr"} <= {name.lower() for name in tree.named_selects}


@pytest.mark.nightly
@each("dialect", NOT_RUN)
def test_a_dialect_that_no_test_runs_reads_statements_of_all_metrics(dialect: str) -> None:
    calls = texts(0, 5)
    tree = sqlglot.parse_one(rf.sql(*calls, dialect=dialect, table="t", names=numbered(calls)), dialect=dialect)
    assert len(tree.named_selects) == 1 + len(calls)


def numbered(calls: Sequence[str]) -> dict[str, str]:
    """A name for the column of each call."""
    return {text: f"v{i}" for i, text in enumerate(calls)}


def test_a_statement_is_the_same_from_call_to_call_and_names_each_step() -> None:
    text = write("duckdb")
    assert text == write("duckdb")
    steps = re.findall(r"^-- .*\n(\w+) AS \($", text, re.MULTILINE)
    assert {"rf_judged", "rf_placed", "rf_ranked", "rf_sums", "rf_per_query"} <= {*steps}
    assert len(steps) == text.count(" AS (\n  SELECT") + text.count(" AS (\n  (SELECT")


def test_sixty_metrics_take_less_than_200_kb_and_three_seconds() -> None:
    calls = texts(0, 5)[:60]
    assert len(calls) == 60
    start = time.thread_time()  # of this thread: others may keep the processor busy
    text = rf.sql(*calls, dialect="postgres", table="judged", names=numbered(calls))
    assert time.thread_time() - start < 3
    assert len(text) < 200_000


def test_a_template_of_dbt_stands_as_it_is() -> None:
    text = rf.sql("map", dialect="snowflake", table="{{ ref('run') }}", judgments="{{ ref('qrels') }}")
    assert "FROM {{ ref('run') }}\n" in text
    assert "FROM {{ ref('qrels') }}\n" in text


def test_a_metric_declared_today_has_sql_today() -> None:
    @rf.metric
    def half_hits(r: rf.Ranking, k: int | None = None) -> pl.Expr:
        return r.total(r.relevant * r.so_far(r.relevant).clip(upper_bound=2.0).sqrt(), k) / 2

    @rf.metric(bounds=(None, None))
    def cut_towards_zero(r: rf.Ranking, k: int | None = None) -> pl.Expr:
        cut = (1.4 * r.label - 1.7).cast(pl.Int64).cast(pl.Float64)  # -1, 0 and 1 of labels 0, 1 and 2
        return r.total(cut * (r.label - 3).abs(), k)

    try:
        df = rf.load_example()
        db = DuckDB()
        db.load("documents", df.select("query_id", "doc_id", "score", "label"))
        names = {"half_hits@5": "half", "cut_towards_zero@5": "cut"}
        wanted = df.rank.evaluate(*names).rename(names).to_dicts()
        assert_rows(db.run(rf.sql(*names, dialect="duckdb", table="documents", names=names)), wanted, ["query_id"])
    finally:
        rf.unregister("half_hits")
        rf.unregister("cut_towards_zero")


def formulas() -> dict[str, Any]:
    """Formulas without SQL, by the reason."""
    return {
        "it calls a function of Python": lambda r: r.total(
            r.label.map_batches(lambda x: x + 1, return_dtype=pl.Float64)
        ),
        "it packs its values into a structure": lambda r: r.total(pl.struct(r.label).struct.field("#label")),
        "Polars' function 'Skew' is not known": lambda r: r.whole(r.along(r.label.skew())),
        "Polars' AggMedian is not known": lambda r: r.whole(r.along(r.label.median())),
        "Polars' CumSum is not known up the rows": lambda r: r.whole(r.along(r.label.cum_sum(reverse=True))),
        "it rounds by HalfToEven to 2 decimals": lambda r: r.total(r.label.round(2)),
        "it casts to String": lambda r: r.total(r.label.cast(pl.String).cast(pl.Float64)),
        "it compares a quotient whose divisor may be 0": lambda r: r.total((1 / r.label > 0).cast(pl.Float64)),
        "it compares all pairs of documents": lambda r: r.rows.pairs(r.label, r.judged).unequal,
        "it looks up one of 500 numbers": lambda r: r.total(
            pl.lit([1.0] * 500, dtype=pl.List(pl.Float64)).list.get(r.rank.cast(pl.Int64))
        ),
    }


def test_what_has_no_sql_names_the_metric_the_reason_and_the_dialect() -> None:
    for reason, formula in formulas().items():
        rf.metric(text="odd")(named("odd", formula))
        try:
            with pytest.raises(rf.InvalidOption) as error:
                rf.sql("odd", dialect="trino", table="t")
        finally:
            rf.unregister("odd")
        assert str(error.value) == f"odd has no SQL for trino: {reason}; evaluate it on a frame"


def named(name: str, formula: Any) -> Any:
    def of_ranking(r: rf.Ranking) -> pl.Expr:
        found: pl.Expr = formula(r)
        return found

    of_ranking.__name__ = name
    return of_ranking


@each(
    ("options", "says"),
    [
        ({"dialect": "foxpro"}, "dialect='foxpro': write one of 'bigquery', 'clickhouse'"),
        ({"ties": "expected"}, "ties='expected' is computed from all orders or labels, which are no windows"),
        ({"unjudged": "bounds"}, "unjudged='bounds' is computed from all orders or labels"),
        ({"ties": "order"}, "rows of a table in SQL have no order, by which ties would stand"),
        ({"doc": None}, "rows of a table in SQL have no order"),
        ({"subtopic": "aspect"}, "subtopic has no SQL: it is about subtopics"),
        ({"grouped": True}, "grouped has no SQL: it is about how a frame runs"),
        ({"dialect": "bigquery", "scores": "float32"}, "scores='float32': bigquery has no floats of 32 bits"),
        ({"run_only": "keep"}, "judged_only and run_only are about judgments in a table of their own"),
        ({"judgments": "q", "run_only": "error"}, "run_only='error': write one of 'keep', 'drop'"),
        ({"rows": True, "checks": True}, "rows, by (also with partial) and checks are statements of their own"),
        ({"rows": True, "by": "day"}, "rows, by (also with partial) and checks are statements of their own"),
        ({"baseline": "bm25"}, "a baseline is compared in the partial sums of several runs"),
        (
            {"names": {"map": "query_id"}},
            "two columns of the result would be named 'query_id'; give one of them another",
        ),
        ({"by": "queries"}, "two columns of the result would be named 'queries'"),
        ({"numbers": "doc"}, "numbers=['doc']: the columns of ids are 'query_id', 'doc_id'"),
        ({"names": {"map": "m" * 70}}, "postgres cuts names of columns"),
        ({"names": "sql"}, "names='sql': write one of 'beir'"),
        ({"label": "grade", "relevnt": 2}, "sql: got an unexpected keyword argument 'relevnt'"),
    ],
)
def test_what_a_statement_cannot_say_is_refused(options: dict[str, Any], says: str) -> None:
    with pytest.raises(rf.InvalidOption, match=re.escape(says)):
        rf.sql("map", **{"dialect": "postgres", "table": "t", **options})


def test_a_convention_is_that_of_the_frame() -> None:
    df = rf.load_example().select("query_id", "doc_id", "score", "label")
    db = DuckDB()
    db.load("documents", df)
    found = db.run(rf.sql("ndcg@10", dialect="duckdb", table="documents", convention="sklearn", ties="doc_desc"))
    wanted = df.rank.on(convention="sklearn", ties="doc_desc").evaluate("ndcg@10")
    assert {row["query_id"]: row["ndcg_at_10"] for row in found} == pytest.approx(dict(wanted.iter_rows()))
