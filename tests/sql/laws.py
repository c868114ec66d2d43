"""What a statement gives in any database: the values of a frame, for every metric, policy and form."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
import polars as pl
import pytest

import rankframe as rf
from rankframe._catalog.call import call_of
from rankframe._table.conventions import CONVENTIONS
from tests.sql.databases import Database, Rows, assert_rows
from tests.support.calls import ALL, POLICIES, SOME, spell
from tests.support.tables import FRACTIONAL_LABELS, frame, random_table

DF = frame(random_table(4, labels=FRACTIONAL_LABELS))
IN_ONE = 60
"""Metrics of one statement."""

METRICS = ["ndcg@10", "map", "err(max_label=4)@20", "hits", "recall@3"]
NAMES = ["ndcg_at_10", "map", "err_max_label_4_at_20", "hits", "recall_at_3"]


@cache
def has_sql(text: str) -> bool:
    try:
        rf.sql(text, dialect="duckdb", table="t", names={text: "v"})
    except rf.InvalidOption as error:
        if "has no SQL for duckdb" not in str(error):
            raise
        return False
    return True


def texts(first: int = 0, of: int = 1) -> list[str]:
    """The calls of the tests that have SQL: all, or every so many."""
    return [text for text in (spell(*call) for call in ALL[first::of]) if has_sql(text)]


def same_values(db: Database, df: pl.DataFrame, calls: Sequence[str], **options: Any) -> None:
    """A statement gives the values of `evaluate`."""
    names = {text: f"v{i}" for i, text in enumerate(calls)}
    wanted = df.rank.on(**options).evaluate(*calls)
    found = db.run(rf.sql(*calls, dialect=db.dialect, table="documents", names=names, **options))
    query = wanted.columns[: -len(calls)]
    assert_rows(found, wanted.rename(names).to_dicts(), query, options)


def some_metrics(db: Database) -> None:
    """A call of each metric."""
    db.load("documents", DF)
    same_values(db, DF, [text for text in (spell(*call) for call in SOME[::2]) if has_sql(text)])


def every_metric(db: Database) -> None:
    db.load("documents", DF)
    calls = texts()
    assert len(calls) > 340
    for first in range(0, len(calls), IN_ONE):
        same_values(db, DF, calls[first : first + IN_ONE])


def every_policy(db: Database, of: int = 140) -> None:
    """Each policy with every 140th call, or every `of`-th."""
    db.load("documents", DF)
    for i, options in enumerate(POLICIES):
        if options.get("ties") != "order":
            same_values(db, DF, texts(i % of, of), **options)
    shared = ["map", "rr", "ndcg", "precision@3", "bpref", "median_rank", "interpolated_precision@0.5", "q_measure"]
    same_values(db, DF, shared, ties="last")


def sliced() -> pl.DataFrame:
    names = sorted(DF["query_id"].unique())
    slices = {name: "AaB"[i % 3] for i, name in enumerate(names)}
    return DF.with_columns(pl.col("query_id").replace_strict(slices).alias("slice"))


def two_tables() -> tuple[pl.DataFrame, pl.DataFrame]:
    """A run without a query and judgments without another one."""
    run = DF.filter(pl.col("score").is_not_null() & (pl.col("query_id") != "q3")).drop("label")
    qrels = DF.filter(pl.col("label").is_not_null() & (pl.col("query_id") != "q5")).drop("score")
    return run, qrels


def means_and_rows(db: Database) -> None:
    df = sliced()
    db.load("documents", df)

    def found(*metrics: str, **options: Any) -> Rows:
        return db.run(rf.sql(*metrics, dialect=db.dialect, table="documents", **options))

    sizes = df.group_by("slice").agg(queries=pl.col("query_id").n_unique().cast(pl.Float64))
    means = df.rank.mean(*METRICS, by="slice").rename(dict(zip(METRICS, NAMES, strict=True)))
    assert_rows(found(*METRICS, by="slice"), means.join(sizes, on="slice").to_dicts(), ["slice"])
    mean = df.rank.mean(*METRICS).rename(dict(zip(METRICS, NAMES, strict=True)))
    assert_rows(found(*METRICS, by=[]), mean.with_columns(queries=60.0).to_dicts(), [])
    geometric = df.rank.mean("gm_map", by="slice").join(sizes, on="slice")
    assert_rows(found("gm_map", by="slice"), geometric.to_dicts(), ["slice"])
    rows = df.drop("slice").join(df.rank.evaluate("ndcg@10"), on="query_id").rename({"ndcg@10": "ndcg_at_10"})
    assert_rows(found("ndcg@10", rows=True), rows.to_dicts(), ["query_id", "doc_id"])


def mergeable_sums(db: Database) -> None:
    """Sums are those of NumPy over the values of `evaluate`."""
    df = sliced()
    db.load("documents", df)
    values = df.rank.evaluate("ndcg@10", "ordered_pair_accuracy").join(
        df.select("query_id", "slice").unique(), on="query_id"
    )
    values = values.with_columns(pl.col("ndcg@10").alias("x"))
    wanted = []
    for (name,), rows in values.group_by("slice"):
        x = rows["x"].drop_nulls().to_numpy()
        sums = {"n": float(len(x)), "mean": x.mean(), "m2": ((x - x.mean()) ** 2).sum(), "min": x.min(), "max": x.max()}
        sums = {f"ndcg_at_10__{key}": float(value) for key, value in sums.items()}
        wanted.append({"slice": name, "queries": float(rows.height), **sums})
    found = db.run(rf.sql("ndcg@10", dialect=db.dialect, table="documents", by="slice", partial=True))
    assert_rows(found, wanted, ["slice"])


def joined_tables(db: Database) -> None:
    run, qrels = two_tables()
    db.load("run", run)
    db.load("qrels", qrels)
    names = dict(zip(METRICS, NAMES, strict=True))
    for judged_only in ("keep", "drop"):
        for run_only in ("keep", "drop"):
            options: dict[str, Any] = {"judged_only": judged_only, "run_only": run_only}
            wanted = run.rank.judge(qrels, **options).rank.evaluate(*METRICS).rename(names)
            found = db.run(rf.sql(*METRICS, dialect=db.dialect, table="run", judgments="qrels", **options))
            assert_rows(found, wanted.to_dicts(), ["query_id"], options)


def several_runs(db: Database) -> None:
    """Judgments hold for each run; the sums of differences are those of NumPy."""
    run, qrels = two_tables()
    other = run.filter(pl.col("query_id") != "q7").with_columns(score=-pl.col("score"))
    runs = pl.concat([run.with_columns(system=pl.lit("a")), other.with_columns(system=pl.lit("B"))])
    db.load("runs", runs)
    db.load("qrels", qrels)
    judged = runs.rank.judge(qrels, run="system", judged_only="keep", run_only="drop")
    wanted = judged.rank.on(query=["system", "query_id"]).evaluate("ndcg@10")
    options: dict[str, Any] = {"dialect": db.dialect, "table": "runs", "judgments": "qrels", "run": "system"}
    found = db.run(rf.sql("ndcg@10", **options))
    assert_rows(found, wanted.rename({"ndcg@10": "ndcg_at_10"}).to_dicts(), ["system", "query_id"])
    wide = wanted.pivot("system", index="query_id", values="ndcg@10")
    away = (wide["B"] - wide["a"]).drop_nulls().to_numpy()
    rows = {row["system"]: row for row in db.run(rf.sql("ndcg@10", baseline="a", partial=True, **options))}
    sums = [float(len(away)), away.mean(), ((away - away.mean()) ** 2).sum(), (away > 0).sum(), (away < 0).sum()]
    names = ("diff_n", "diff_mean", "diff_m2", "wins", "losses")
    assert np.allclose([rows["B"][f"ndcg_at_10__{name}"] for name in names], sums, rtol=1e-9, atol=1e-12)
    assert rows["a"]["ndcg_at_10__diff_n"] == 0


def sums_in_another_order(db: Database) -> None:
    """0.1 + 0.2 + 0.3 is not 0.3 + 0.2 + 0.1 to the last digit, and neither run is above the other."""
    grades = {"a": [0.1, 0.2, 0.3], "b": [0.3, 0.2, 0.1]}
    rows = [(run, "q", f"d{x}", 3.0 - i, x) for run, of_run in grades.items() for i, x in enumerate(of_run)]
    db.load("runs", pl.DataFrame(rows, ["system", "query_id", "doc_id", "score", "label"], orient="row"))
    options: dict[str, Any] = {"dialect": db.dialect, "table": "runs", "run": "system", "relevant": 0.05}
    found = {row["system"]: row for row in db.run(rf.sql("cg", baseline="a", partial=True, **options))}
    assert (found["b"]["cg__diff_n"], found["b"]["cg__wins"], found["b"]["cg__losses"]) == (1, 0, 0)


HOSTILE = ["a", "A", "ä", "z", "Z", "a ", " a", "10", "9", "", "é", "e\u0301", "\U0001f600", "\uffee", "it's", "_", "%"]
"""Ids that collations compare in other ways than by bytes."""


def ids_by_their_bytes(db: Database) -> None:
    """Tied documents stand by the bytes of their ids, queries differ by them, and null is an id."""
    rng = np.random.default_rng(1)
    rows = [
        (query, doc, float(rng.integers(2)), float(rng.integers(3)), day)
        for query in [*HOSTILE, None]
        for doc, day in zip([*rng.permutation(HOSTILE)[:12].tolist(), None], "mt" * 7, strict=False)
    ]
    df = pl.DataFrame(rows, schema=["order", "my doc", "score", "label", "day"], orient="row")
    db.load("documents", df)
    for ties in ("doc_desc", "doc_asc", "trec_eval"):
        same_values(db, df, ["ndcg@3", "rr", "map"], query="order", doc="my doc", ties=ties)
    wanted = df.filter(pl.col("order").is_not_null()).rank.on(query="order", doc="my doc")
    db.load("documents", df.filter(pl.col("order").is_not_null()))
    found = db.run(rf.sql("g", "ndcg_rel", dialect=db.dialect, table="documents", query="order", doc="my doc"))
    assert_rows(found, wanted.evaluate("g", "ndcg_rel").to_dicts(), ["order"])  # which look up the ideal ranking


def numbers_as_ids(db: Database) -> None:
    """Ids that are numbers are compared by value."""
    rows = [(query, doc, 1.0, float(doc % 3)) for query in (2, 10) for doc in (9, 10, 100, 1)]
    df = pl.DataFrame(rows, schema=["query_id", "doc_id", "score", "label"], orient="row")
    db.load("documents", df)
    wanted = df.rank.evaluate("ndcg@2").rename({"ndcg@2": "ndcg_at_2"}).to_dicts()
    numbers = ["query_id", "doc_id"]
    found = db.run(rf.sql("ndcg@2", dialect=db.dialect, table="documents", numbers=numbers))
    assert_rows(found, wanted, ["query_id"])


def weights_and_prices(db: Database) -> None:
    df = DF.with_columns(w=pl.int_range(pl.len()) % 5 / 2, price=pl.int_range(pl.len()) % 7 * 1.0)
    db.load("documents", df)
    same_values(db, df, ["ndcg@5", "dcg", "precision@3", "recall"], weight="w")
    own = [call_of(rf.METRICS[name], (), {"gain": pl.col("price") * 2, "k": 5}) for name in ("ndcg", "dcg")]
    names = {call.text: f"v{i}" for i, call in enumerate(own)}
    found = db.run(rf.sql(*own, dialect=db.dialect, table="documents", names=names))
    assert_rows(found, df.rank.evaluate(*own).rename(names).to_dicts(), ["query_id"])


ROWS = [("q", "a", 4.0, 1.0, 3), ("q", "b", 3.0, 0.0, 5), ("q", "c", 2.0, 2.0, 7)]


def names_of_its_own_steps(db: Database) -> None:
    """A table may have columns with the names that steps give theirs, each of them in any role."""
    for roles in ("score query_1 grade doc", "doc score top grade", "x_1 grade doc s1"):
        names = dict(zip(("query", "doc", "score", "label"), roles.split(), strict=True))
        df = pl.DataFrame(ROWS, schema=[*roles.split(), "label"], orient="row").with_columns(slice=pl.lit("x"))
        db.load("documents", df)
        same_values(db, df, ["rr", "ndcg@2"], **names)
        slices = {"by": ["slice"], "names": {"rr": "by_1", "ndcg@2": "v1"}}
        found = db.run(rf.sql("rr", "ndcg@2", dialect=db.dialect, table="documents", **names, **slices))
        # labels 1, 0, 2 down the ranking: DCG@2 is 1, the ideal one 2 + 1 / log2(3)
        assert_rows(found, [{"slice": "x", "queries": 1.0, "by_1": 1.0, "v1": 1 / (2 + 1 / math.log2(3))}], ["slice"])


def whole_numbers_in_quotients(db: Database) -> None:
    """A quotient of whole numbers has its decimals: prices 3, 5 and 7."""
    df = pl.DataFrame(ROWS, schema=["query_id", "doc_id", "score", "label", "grade"], orient="row")
    db.load("documents", df)
    price = pl.col("grade")
    # the gains of all: (3 + 5 + 7) / 2, (2 + 4 + 6) / 4
    for gain, value in ((price / 2, 7.5), (price.cast(pl.Float64) / 2, 7.5), ((price - 1) / 4, 3.0), (price / 4, 3.75)):
        call = call_of(rf.METRICS["cg"], (), {"gain": gain})
        found = db.run(rf.sql(call, dialect=db.dialect, table="documents", names={call.text: "v"}))
        assert_rows(found, [{"query_id": "q", "v": value}], ["query_id"])


def names_that_no_column_has(db: Database) -> None:
    db.load("documents", DF)
    for role in ("query", "doc", "score", "label"):
        with pytest.raises(Exception, match="my column"):
            db.run(rf.sql("rr", dialect=db.dialect, table="documents", **{role: "my column"}))


def refuses(db: Database, df: pl.DataFrame, sentence: str, *metrics: str, **options: Any) -> None:
    """The statement fails with the sentence; where none can fail, the metrics of the query are null."""
    db.load("documents", df)
    text = rf.sql(*(metrics or ("map",)), dialect=db.dialect, table="documents", **options)
    if db.dialect in ("mysql", "sqlite"):
        by_query = {row["query_id"]: row for row in db.run(text)} if "by" not in options else {}
        assert all(value is None for name, value in by_query.get("bad", {}).items() if name != "query_id")
        assert all(value is not None for value in by_query.get("good", {}).values())
        return
    with pytest.raises(Exception, match=sentence):  # each driver has its own
        db.run(text)


def refuses_text(db: Database, df: pl.DataFrame) -> None:
    """A score or a label that is text is no number, and not the number that the text begins with."""
    db.load("documents", df)
    text = rf.sql("map", dialect=db.dialect, table="documents")
    if db.dialect in ("mysql", "sqlite"):
        assert next(row["map"] for row in db.run(text) if row["query_id"] == "bad") is None
        return
    with pytest.raises(Exception, match=r"."):
        db.run(text)


def faults(db: Database) -> None:
    """What leaves a metric undefined stops the statement, or leaves out its query."""
    good = [("good", "a", 2.0, 1.0, "x"), ("good", "b", 1.0, 0.0, "x")]

    def with_bad(*rows: tuple[Any, ...]) -> pl.DataFrame:
        names = ["query_id", "doc_id", "score", "label", "slice"]
        return pl.DataFrame([*good, *rows], schema=names, orient="row", strict=False)

    bad = ("bad", "a", 1.0, 1.0, "y")
    if db.dialect not in ("mysql", "sqlite"):  # which keep no NaN and no infinity
        refuses(db, with_bad(("bad", "a", math.nan, 1.0, "y")), "column 'score' holds NaN")
        refuses(db, with_bad(("bad", "a", 1.0, math.inf, "y")), "column 'label' holds NaN or an infinite label")
        refuses(db, with_bad(("bad", "a", 1.0, math.nan, "y")), "column 'label' holds NaN or an infinite label")
    refuses(db, with_bad(("bad", "a", 1.0, 1e290, "y")), "column 'label' holds NaN or an infinite label")
    refuses(db, with_bad(bad, bad), "a query holds the same 'doc_id' twice")
    refuses(db, with_bad(bad, ("bad", "b", 1.0, 0.0, "y")), "share a value of 'score'", ties="error")
    refuses(db, with_bad(("bad", "a", 1.0, 3.0, "y")), "a label is above max_label=2", "err(max_label=2)")
    for name in ("score", "label"):
        for text in ("high", "", "1,5", "2x"):
            column = pl.col(name).cast(pl.String)
            wrong = with_bad(bad).with_columns(pl.when(query_id="bad").then(pl.lit(text)).otherwise(column).alias(name))
            refuses_text(db, wrong)
    weighted = with_bad(bad).with_columns(w=pl.Series([1.0, 1.0, -1.0]))
    refuses(db, weighted, "column 'w' holds a weight that is null, negative, NaN or beyond", "dcg", weight="w")
    refuses(db, with_bad(bad, ("bad", "b", 0.5, 0.0, "z")), "a query is in two slices", by="slice")


def same_findings(db: Database) -> None:
    """`checks=True` lists the findings of `check` on rows and queries."""
    rows = [
        ("q1", "a", 2.0, 1.0), ("q1", "b", 2.0, 0.0), ("q2", "a", 2.0, None), ("q3", "a", None, 1.0),
        ("q4", "a", 2.0, 0.0), ("q4", "a", 1.0, 1.0), ("q5", None, 3.0, 1.0), ("q5", None, 2.0, 1.0), (None, "a", 1.0, 1.0),
        ("q6", "a", 1.0, 0.0),
    ]  # fmt: skip
    df = pl.DataFrame(rows, schema=["query_id", "doc_id", "score", "label"], orient="row")
    db.load("documents", df)
    listed = df.rank.check().rows
    wanted = {
        (*row[:4], row[4]) for row in listed.select("severity", "problem", "query_id", "doc_id", "rows").iter_rows()
    }
    found = {tuple(row.values()) for row in db.run(rf.sql(dialect=db.dialect, table="documents", checks=True))}
    assert found - wanted == {("note", "tied scores", "q1", None, 2)}
    assert wanted <= found


def calls_of(convention: str) -> list[str]:
    """The shortest call of each metric of a tool."""
    shortest: dict[str, str] = {}
    for text in sorted((spell(*call) for call in ALL), key=lambda text: ("@" not in text, len(text)), reverse=True):
        shortest[text.partition("@")[0].partition("(")[0]] = text
    metrics = CONVENTIONS[convention].metrics
    beyond = {name for name, settings in metrics.items() if settings.get("max_label") == 1}  # labels here go to 4
    return [shortest[name] for name in metrics if name in shortest and name not in beyond]


NOT_IN_SQL = "has no SQL|is no option here|is computed from all orders"
"""What the error says for a metric of a convention that has no SQL."""


@cache
def has_sql_by(convention: str, call: str) -> bool:
    """Whether a metric has SQL as a tool computes it from ranks."""
    try:
        rf.sql(call, dialect="duckdb", table="t", rank="rank", convention=convention, names={call: "v"})
    except rf.InvalidOption as error:
        if not re.search(NOT_IN_SQL, str(error)):
            raise
        return False
    return True


@cache
def groups_of(convention: str) -> list[list[str]]:
    """The metrics of a tool in one statement; each in its own where the tool counts them by different policies."""
    calls = [call for call in calls_of(convention) if has_sql_by(convention, call)]
    names = {call: f"v{i}" for i, call in enumerate(calls)}
    if not calls:
        return []
    try:
        rf.sql(*calls, dialect="duckdb", table="t", rank="rank", convention=convention, names=names)
    except rf.InvalidOption as error:
        if "write a statement for each" not in str(error):
            raise
        return [[call] for call in calls]
    return [calls]


def conventions_of_ranked_lists(db: Database, of: int = 1) -> None:
    """Ranks have no ties, so each tool's convention has SQL, with the values of the frame; or every `of`-th tool's."""
    df = random_ranks()
    db.load("documents", df)
    compared = 0
    for convention in [*CONVENTIONS][::of]:
        for group in groups_of(convention):
            same_values(db, df, group, rank="rank", convention=convention)
            compared += len(group)
    assert compared > (180 if of == 1 else 90 // of)


def random_ranks() -> pl.DataFrame:
    """Ranked lists with judged documents that were not retrieved."""
    df = frame(random_table(7, queries=12, labels=(0.0, 0.0, 1.0, 2.0, 4.0)))
    rank = pl.col("score").rank("ordinal", descending=True).over("query_id").cast(pl.Int64)
    return df.select("query_id", "doc_id", "label", rank=rank)


def runs_side_by_side(db: Database) -> None:
    """Columns of scores are runs, as a column that names the run of each row; with sums, slices and judgments."""
    df = sliced().with_columns(old=pl.col("score"), new=pl.when(pl.int_range(pl.len()) % 7 > 0).then(-pl.col("score")))
    df = df.drop("score")
    db.load("documents", df)
    long = pl.concat([df.with_columns(run=pl.lit(run), score=pl.col(run)).drop("old", "new") for run in ("old", "new")])
    wanted = long.rank.on(query=["run", "query_id"]).evaluate("ndcg@10", "map").rename({"ndcg@10": "ndcg_at_10"})

    def found(**options: Any) -> Rows:
        return db.run(rf.sql("ndcg@10", "map", dialect=db.dialect, runs=["old", "new"], **options))

    assert_rows(found(table="documents"), wanted.to_dicts(), ["run", "query_id"])
    means = df.rank.mean("ndcg@10", "map", runs=["old", "new"], by="slice").rename({"ndcg@10": "ndcg_at_10"})
    slices = [{name: row[name] for name in means.columns} for row in found(table="documents", by="slice")]
    assert_rows(slices, means.to_dicts(), ["run", "slice"])
    run, qrels = (
        df.filter(pl.col("old").is_not_null() & (pl.col("query_id") != "q3")),
        df.filter(pl.col("query_id") != "q5"),
    )
    db.load("lists", run.drop("label"))
    db.load("qrels", qrels.select("query_id", "doc_id", "label"))
    judged = (
        run.drop("label", "slice")
        .rank.on(score="old")
        .judge(qrels.select("query_id", "doc_id", "label"), judged_only="keep", run_only="drop")
    )
    for name in ("old", "new"):
        values = judged.rank.on(score=name).evaluate("ndcg@10", "map").rename({"ndcg@10": "ndcg_at_10"})
        rows = [row for row in found(table="lists", judgments="qrels") if row["run"] == name]
        assert_rows(rows, values.with_columns(run=pl.lit(name)).to_dicts(), ["query_id"])
    db.load("documents", long)
    options: dict[str, Any] = {"by": "slice", "partial": True, "baseline": "old"}
    sums = db.run(rf.sql("ndcg@10", "map", dialect=db.dialect, table="documents", run="run", **options))
    db.load("documents", df)
    assert_rows(found(table="documents", **options), sums, ["run", "slice"])


BREAKS = ["a\nb", "a b", "a\n  b", "a\u2028b", "a\r\nb", "a\x85b", "a\tb", "rf_given_table", "rf_text_1"]
"""Names that an indented statement could change, or a word in their place."""


def names_that_break_lines(db: Database) -> None:
    """A run, a baseline, a column and a metric's name stand as they are, whatever lines they break."""
    rows = [
        (run, "q", f"d{i}", float(i), label)
        for run in BREAKS
        for i, label in enumerate([1.0, 0.0, float(run == BREAKS[0])])
    ]
    df = pl.DataFrame(rows, schema=["run", "query_id", "doc_id", "score", "label"], orient="row")
    db.load("documents", df)
    own = df.rank.mean("map", run="run").rows_by_key("run", unique=True)
    options: dict[str, Any] = {"dialect": db.dialect, "table": "documents", "run": "run", "partial": True}
    for baseline in BREAKS:
        found = {row["run"]: row for row in db.run(rf.sql("map", baseline=baseline, **options))}
        assert found.keys() == {*BREAKS}
        for run in BREAKS:
            assert found[run]["map__diff_n"] == int(run != baseline)
            away = own[run][0] - own[baseline][0]
            assert run == baseline or math.isclose(found[run]["map__diff_mean"], away, abs_tol=1e-12)
    for name in BREAKS:
        one = df.filter(pl.col("run") == BREAKS[0]).drop("run").rename({"label": name})
        db.load("documents", one)
        same = rf.sql("map", dialect=db.dialect, table="documents", label=name, names={"map": f"m{name}"})
        # relevant at ranks 1 and 3
        assert_rows(db.run(same), [{"query_id": "q", f"m{name}": (1 + 2 / 3) / 2}], ["query_id"])


def ranks_as_given(db: Database) -> None:
    """A rank that counts as given is that of the frame; ranks that are shared, or no whole numbers from 1, are refused."""
    ranks = [("p", "a", 9, 1.0), ("p", "b", 3, 0.0), ("p", "c", None, 1.0), ("q", "a", 1, 2.0), ("r", "a", None, 1.0)]
    df = pl.DataFrame(ranks, schema=["query_id", "doc_id", "rank", "label"], orient="row")
    db.load("documents", df)
    given = {"rank": "rank", "ranks": "as_given"}
    calls = ["rr", "rr@5", "map", "dcg@10", "precision(divisor='min(k,n)')@5", "partial_auc@3"]
    names = {text: f"v{i}" for i, text in enumerate(calls)}
    statement = rf.sql(*calls, dialect=db.dialect, table="documents", names=names, **given)
    wanted = [
        ("p", 1 / 9, 0.0, 1 / 18, 1 / math.log2(10), 0.0, 0.0),
        ("q", 1.0, 1.0, 1.0, 2.0, 1.0, 1.0),
        ("r", 0.0, 0.0, 0.0, 0.0, 0.0, 0.0),
    ]
    by_query = [dict(zip(("query_id", *names.values()), row, strict=True)) for row in wanted]
    assert_rows(db.run(statement), by_query, ["query_id"])
    same_values(db, df, ["rr", "recall"], depth=8, nothing_retrieved="null", **given)
    good = [("good", "a", 2.0, 1.0)]
    for wrong, says in (
        ((1.0, 0.0), "no whole number from 1"),
        ((1.0, 1.5), "no whole number"),
        ((2.0, 2.0), "share a rank"),
    ):
        bad = [("bad", doc, rank, 1.0) for doc, rank in zip("ab", wrong, strict=True)]
        table = pl.DataFrame(good + bad, schema=["query_id", "doc_id", "rank", "label"], orient="row")
        refuses(db, table, says, **given)


LAWS = [
    conventions_of_ranked_lists, runs_side_by_side, names_that_break_lines,
    some_metrics, every_policy, means_and_rows, mergeable_sums, joined_tables, several_runs, sums_in_another_order, ids_by_their_bytes,
    numbers_as_ids, names_of_its_own_steps, whole_numbers_in_quotients, names_that_no_column_has, weights_and_prices, faults, ranks_as_given,
    same_findings,
]  # fmt: skip
