"""The text of a statement: stable, short, readable by the dialects that no test runs; and what has no SQL."""

from __future__ import annotations

import ast
import contextlib
import inspect
import math
import re
import time
from collections.abc import Sequence
from difflib import unified_diff
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


WHOLE = "snowflake"
"""The dialect whose statement is kept as a whole; of the others, what differs from it is kept."""


def lines_of(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines(keepends=True)


def patched(whole: Sequence[str], diff: Sequence[str]) -> list[str]:
    """The lines of a file after a unified diff, as `patch` gives them."""
    lines: list[str] = []
    place = 0
    for line in diff[2:]:
        kind = line[0]
        if kind == "@":
            start = int(re.findall(r"\d+", line)[0]) - 1
            lines += whole[place:start]
            place = start
        elif kind == "+":
            lines.append(line[1:])
        elif kind == " ":
            lines.append(whole[place])
        if kind in " -":
            place += 1
    return [*lines, *whole[place:]]


def test_a_dialect_that_no_test_runs_has_the_text_that_is_kept_and_reads_it() -> None:
    """Delete the files, or the differences alone, to write them anew, and read the difference."""
    whole = SNAPSHOTS / f"{WHOLE}.sql"
    if not whole.exists():
        whole.write_text(write(WHOLE), encoding="utf-8")
    for dialect in NOT_RUN:
        text = write(dialect)
        diff = SNAPSHOTS / f"{dialect}.diff"
        if dialect != WHOLE and not diff.exists():
            files = (whole.name, f"{dialect}.sql")
            lines = text.splitlines(keepends=True)
            diff.write_text("".join(unified_diff(lines_of(whole), lines, *files, n=1)), encoding="utf-8")
        kept = lines_of(whole) if dialect == WHOLE else patched(lines_of(whole), lines_of(diff))
        assert "".join(kept) == text, dialect
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
        ({"ties": "order"}, "have no order, by which ties would stand (ties='order'); say ties='doc_desc' or, if the"),
        ({"convention": "ranx"}, "table has ranks, rank='rank'"),
        ({"doc": None}, "rows of a table in SQL have no order"),
        ({"runs": ["bm25", "ltr"], "run": "system"}, "the column that names the run of each row; not both"),
        ({"runs": ["bm25", "bm25"]}, "runs=['bm25', 'bm25'] names a column twice"),
        ({"runs": ["bm25", "ltr"], "query": "run"}, "query='run' is the column that names the runs in the result"),
        (
            {"runs": ["bm25", "ltr"], "baseline": "dense", "partial": True},
            "baseline='dense' is none of the runs, which are",
        ),
        ({"table": "pq/*/*.parquet"}, "table='pq/*/*.parquet' is a file, which postgres does not read; load it into a"),
        ({"table": "pq/*.parquet", "dialect": "duckdb"}, "write table=\"read_parquet('pq/*.parquet')\""),
        ({"table": "t.csv", "dialect": "duckdb"}, "write table=\"read_csv('t.csv')\""),
        ({"judgments": "/data/qrels", "dialect": "spark"}, "write judgments='parquet.`/data/qrels`'"),
        ({"by": ""}, "'' is no name of a column in a database"),
        ({"label": "a\0b"}, "'a\\x00b' is no name of a column in a database"),
        ({"doc": ()}, "doc=() is no column name; a column is named by its text"),
        ({"score": ()}, "score=() is no column name; a column is named by its text"),
        ({"table": " "}, "table=' ' names no table; write its name"),
        ({"names": {"map": ""}}, "names={'map': ''} is no name of a column; write one, as names={'map': 'map'}"),
        ({"names": {"rr": "x"}}, "names={'rr': 'x'}: 'rr' is none of the metrics of the statement"),
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
        ({"label": "grade", "relevnt": 2}, "sql has no option 'relevnt'. Did you mean 'relevant'?"),
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


NONSENSE = [
    None,
    5,
    -1,
    math.nan,
    object(),
    [],
    [None],
    {"a": None},
    {1: 2},
    "",
    "\udc80",
    ["\udc80"],
    b"t",
    True,
    pl.col("x"),
    ("a", 3),
]
"""Values that no option, or few, takes."""


def test_an_option_of_another_kind_is_refused_at_the_call_in_our_words() -> None:
    names = [*inspect.signature(rf.sql).parameters][1:-1]
    taken = set()
    for name in [*names, "query", "doc", "score", "label", "rank", "weight", "relevant", "ties", "depth", "convention"]:
        for i, given in enumerate(NONSENSE):
            options = {"dialect": "duckdb", "table": "t", name: given}
            with contextlib.suppress(rf.RankframeError):
                rf.sql("map", **options)
                taken.add((name, i))
    usual = {
        (name, 0)
        for name in names
        if name not in ("dialect", "table", "judged_only", "run_only", "rows", "partial", "checks", "numbers")
    }
    empty = {(name, 5) for name in ("by", "names", "numbers")}
    true = {("rows", 13), ("partial", 13), ("checks", 13)}
    # None is the default; [] has a meaning; an empty text names a column of the caller's own, which databases refuse
    assert {one for one in taken if one[0] in names and one[1] != 9} - {("runs", 5)} == usual | empty | true


HOSTILE_NAMES = [
    "m, (SELECT pw FROM secret) AS leak",
    "a b",
    'a"b',
    "a`b",
    "a]b",
    "a\\b",
    "a'b",
    "x -- y",
    "x/*y*/",
    "select",
    "1st",
    "é",
    "a\nb",
    "a;b",
]
"""Names of columns that are no plain identifiers."""


@each("dialect", [*NOT_RUN, "clickhouse", "duckdb", "mysql", "postgres", "spark", "sqlite"])
def test_names_of_metrics_stand_in_quotes_and_come_back_as_they_are(dialect: str) -> None:
    names = {f"precision@{k}": name for k, name in enumerate(HOSTILE_NAMES, 1)}
    text = rf.sql(*names, dialect=dialect, table="t", names=names)
    (tree,) = sqlglot.parse(text, dialect=dialect)
    assert tree is not None
    assert [found.lower() for found in tree.named_selects] == ["query_id", *(name.lower() for name in HOSTILE_NAMES)]
    sums = rf.sql(*names, dialect=dialect, table="t", names=names, by=[], partial=True)
    (tree,) = sqlglot.parse(sums, dialect=dialect)
    assert tree is not None
    assert {f"{name}__n".lower() for name in HOSTILE_NAMES} < {found.lower() for found in tree.named_selects}


def test_names_with_a_statement_inside_leak_no_table() -> None:
    db = DuckDB()
    db.load("w", pl.DataFrame({"query_id": [1], "doc_id": ["a"], "score": [2.0], "label": [1]}))
    db.load("secret", pl.DataFrame({"pw": ["hunter2"]}))
    name = "m, (SELECT pw FROM secret) AS leak"
    assert db.run(rf.sql("map", dialect="duckdb", table="w", names={"map": name})) == [{"query_id": 1, name: 1.0}]


def test_a_pattern_of_files_is_read_as_the_error_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    df = rf.load_example().select("query_id", "doc_id", "score", "label")
    for i, part in enumerate(df.partition_by("query_id")):
        part.write_parquet(f"{i}.parquet")
    with pytest.raises(rf.InvalidOption) as error:
        rf.sql("map", dialect="duckdb", table="./*.parquet")
    _, _, advice = str(error.value).partition("; write table=")
    rows = DuckDB().run(rf.sql("map", dialect="duckdb", table=ast.literal_eval(advice)))
    assert_rows(rows, df.rank.evaluate("map").to_dicts(), ["query_id"])


def test_counts_are_whole_numbers() -> None:
    db = DuckDB()
    db.load("t", rf.load_example().select("query_id", "doc_id", "score", "label").with_columns(other=-pl.col("score")))
    options: dict[str, Any] = {"runs": ["score", "other"], "by": [], "partial": True, "baseline": "other"}
    row = next(row for row in db.run(rf.sql("map", dialect="duckdb", table="t", **options)) if row["run"] == "score")
    counts = [row[name] for name in ("queries", "map__n", "map__diff_n", "map__wins", "map__losses")]
    assert [type(count) for count in counts] == [int] * 5
    assert row["map__diff_n"] == row["queries"] >= row["map__wins"] + row["map__losses"]


def test_equal_ranks_are_a_fault_where_a_convention_keeps_the_order_of_rows() -> None:
    db = DuckDB()
    db.load("t", pl.DataFrame({"query_id": ["q", "q"], "doc_id": ["a", "b"], "rank": [1, 1], "label": [0, 1]}))
    with pytest.raises(Exception, match="share a value of 'rank'"):
        db.run(rf.sql("rr", dialect="duckdb", table="t", rank="rank", convention="ranx"))


@each("dialect", [*NOT_RUN, "clickhouse", "duckdb", "mysql", "postgres", "spark", "sqlite"])
def test_statements_of_runs_side_by_side_are_read_in_every_dialect(dialect: str) -> None:
    options: dict[str, Any] = {
        "dialect": dialect,
        "table": "lists",
        "runs": ["bm25", "it's", "a\nb\u2028c"],
        "by": "day",
    }
    for judgments in (None, "qrels"):
        text = rf.sql("map", "rr", judgments=judgments, partial=True, baseline="it's", **options)
        (tree,) = sqlglot.parse(text, dialect=dialect)
        assert tree is not None
        assert {"run", "queries", "map__n", "rr__wins"} <= {name.lower() for name in tree.named_selects}
        texts_of_runs = {x.this for x in tree.find_all(sqlglot.exp.Literal) if x.is_string}
        columns = {x.this for x in tree.find_all(sqlglot.exp.Identifier)}
        assert set(options["runs"]) <= texts_of_runs & {*columns, "bm25"} | {"bm25"}
