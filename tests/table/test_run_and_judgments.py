"""Runs and judgments that do not belong together, or not as they stand: refused, warned of, or noted by check."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pandas as pd
import polars as pl
import pytest

import rankframe as rf
from tests.support.each import each

# Two runs, by hand: x finds a at rank 1 and misses c; y finds c at rank 2 and misses a; both lack query 2's d.
RUNS = pl.DataFrame(
    {
        "run": ["x", "x", "y", "y", "x", "y"],
        "query_id": ["1", "1", "1", "1", "2", "2"],
        "doc_id": ["a", "b", "b", "c", "e", "e"],
        "score": [0.9, 0.5, 0.9, 0.5, 0.1, 0.1],
    }
)
QRELS = pl.DataFrame({"query_id": ["1", "1", "1", "2"], "doc_id": ["a", "b", "c", "d"], "label": [1, 0, 1, 1]})
MAP = {"x": (1 / 2 + 0) / 2, "y": (1 / 4 + 0) / 2}
RECALL = {"x": (1 / 2 + 0) / 2, "y": (1 / 2 + 0) / 2}
ONE = RUNS.filter(run="x").drop("run")

FORMS: dict[str, Callable[[pl.DataFrame], Any]] = {
    "polars": lambda df: df,
    "lazy": pl.DataFrame.lazy,
    "pandas": pl.DataFrame.to_pandas,
}
EAGER = {name: form for name, form in FORMS.items() if name != "lazy"}


def polars(frame: Any) -> pl.DataFrame:
    """A frame of any form in Polars."""
    return pl.from_pandas(frame) if isinstance(frame, pd.DataFrame) else frame.lazy().collect()


def means(judged: Any, name: str = "run") -> dict[str, tuple[float, float]]:
    """Mean average precision and recall of each run."""
    values = judged.rank.on(query=[name, "query_id"]).evaluate("map", "recall")
    values = polars(values.reset_index() if isinstance(values, pd.DataFrame) else values)
    rows = values.group_by(name).agg(pl.col("map", "recall").mean()).rows()
    return {run: (average, recall) for run, average, recall in rows}


WANTED = {run: (MAP[run], RECALL[run]) for run in MAP}


# several runs in one table


@each("form", FORMS.values(), ids=FORMS)
def test_each_run_of_a_table_misses_documents_of_its_own(form: Any) -> None:
    assert means(form(RUNS).rank.judge(form(QRELS), run="run")) == WANTED


@each("name", ["run", "system", "Model", "run_id"])
@each("form", EAGER.values(), ids=EAGER)
def test_a_column_that_alone_tells_runs_apart_is_found_by_its_name(form: Any, name: str) -> None:
    judged = form(RUNS.rename({"run": name})).rank.judge(form(QRELS))
    assert means(judged, name) == WANTED


@each("form", EAGER.values(), ids=EAGER)
def test_runs_are_compared_as_they_are_judged_without_a_word(form: Any) -> None:
    comparison = form(RUNS).rank.judge(form(QRELS)).rank.compare("map", "recall", run="run", baseline="x", resamples=99)
    found = dict(zip(comparison.table["metric"], comparison.table["difference"], strict=True))
    assert found == {"map": MAP["y"] - MAP["x"], "recall": RECALL["y"] - RECALL["x"]}


@each("form", EAGER.values(), ids=EAGER)
def test_a_column_of_one_run_is_not_taken_for_the_name_of_several(form: Any) -> None:
    judged = polars(form(RUNS.filter(run="x")).rank.judge(form(QRELS)))
    assert judged.sort("doc_id")["run"].to_list() == ["x", "x", None, None, "x"]  # c and d were missed


@each("form", EAGER.values(), ids=EAGER)
@each(
    "change",
    [
        lambda df: df.drop("run"),
        lambda df: df.rename({"run": "owner"}),
        lambda df: df.with_columns(run=pl.lit("t")),
        lambda df: df.with_columns(system="run"),
    ],
    ids=["no such column", "a column of another name", "a column that does not", "two such columns"],
)
def test_documents_that_repeat_without_doubt_are_refused(change: Any, form: Any) -> None:
    message = r"name the column that says which: df.rank.judge\(qrels, run=...\)"
    with pytest.raises(rf.InvalidData, match=rf"holds a document of a query more than once.*{message}.*query_id='1'"):
        form(change(RUNS)).rank.judge(form(QRELS))


@each("engine", ["in-memory", "streaming"])
@each("use", [lambda x: x, lambda x: x.select(pl.len()), lambda x: x.filter(pl.col("score") > 9)])
def test_a_lazy_table_of_several_runs_asks_for_their_column(use: Any, engine: Any) -> None:
    judged = RUNS.lazy().rank.judge(QRELS.lazy())
    with pytest.raises(
        pl.exceptions.InvalidOperationError, match=r"rankframe: the run holds .*judge\(qrels, run=...\)"
    ):
        use(judged).collect(engine=engine)


def test_a_run_that_repeats_a_document_is_refused_whatever_its_name() -> None:
    twice = pl.concat([RUNS, RUNS.head(1)])
    with pytest.raises(
        rf.InvalidData,
        match=r"more than once.*on\(query=\[..., 'run', 'query_id'\]\).*run='x', query_id='1', doc_id='a'\)",
    ):
        twice.rank.judge(QRELS, run="run")
    days = pl.concat([RUNS.with_columns(day=pl.lit(day)) for day in (1, 2)])
    judged = days.rank.on(query=["day", "query_id"]).judge(QRELS, run="run")
    assert means(judged.filter(day=1)) == means(judged.filter(day=2)) == WANTED


@each("form", EAGER.values(), ids=EAGER)
def test_a_run_without_a_name_is_refused(form: Any) -> None:
    nameless = RUNS.with_columns(run=pl.when(run="x").then(pl.lit("x")))
    with pytest.raises(
        rf.InvalidData, match=r"'run' names the run of each row and is null on some.* name the run there"
    ):
        form(nameless).rank.judge(form(QRELS), run="run")
    with pytest.raises(rf.InvalidData, match="is null on some"):  # also where the column is found
        form(nameless).rank.judge(form(QRELS))


def test_a_lazy_run_without_a_name_is_refused_when_it_is_collected() -> None:
    nameless = RUNS.lazy().with_columns(run=pl.when(run="x").then(pl.lit("x")))
    with pytest.raises(pl.exceptions.InvalidOperationError, match="rankframe: column 'run' names the run of each row"):
        nameless.rank.judge(QRELS, run="run").collect()


def test_a_run_column_must_be_there() -> None:
    with pytest.raises(rf.MissingColumn, match=r"no column 'sytem' for run.*Did you mean 'run'"):
        RUNS.rank.judge(QRELS, run="sytem")
    with pytest.raises(rf.InvalidOption, match="write a column's name or None"):
        RUNS.rank.judge(QRELS, run=["run"])
    with pytest.raises(rf.InvalidOption, match="'doc_id' is named for two roles"):
        RUNS.rank.judge(QRELS, run="doc_id")


def test_runs_of_pandas_may_be_named_by_the_index_or_by_labels_that_are_no_text() -> None:
    df = RUNS.to_pandas()
    assert means(df.set_index("run").rank.judge(QRELS, run="run")) == WANTED
    judged = df.rename(columns={"run": 0}).rank.judge(QRELS, run=0)
    assert means(judged.rename(columns={0: "run"})) == WANTED
    assert judged[0].dtype == df["run"].dtype


@each("form", EAGER.values(), ids=EAGER)
def test_a_table_judged_without_its_runs_is_not_compared_and_the_message_says_why(form: Any) -> None:
    apart = [part.rank.judge(QRELS) for part in RUNS.partition_by("run")]  # where what was missed has no run
    with pytest.raises(rf.InvalidData) as refused:
        form(pl.concat(apart)).rank.compare("map", run="run")
    message = str(refused.value)
    assert "null on 4 of 10, 4 of them documents that were judged but not retrieved: judgments were joined" in message
    assert "filter" not in message
    judged = eval(message.rpartition(": ")[2], {"df": form(RUNS), "qrels": form(QRELS)})
    assert means(judged) == WANTED


# ids that are not written alike

STRANGE: dict[str, tuple[pl.DataFrame, str]] = {
    "zeros": (QRELS.with_columns(pl.col("query_id").str.zfill(2)), "query_id='01'"),
    "letters": (QRELS.with_columns(pl.format("Q{}", "query_id").alias("query_id")), "query_id='Q1'"),
    "no judgments": (QRELS.clear(), "in the judgments: no label"),
}


@each("form", EAGER.values(), ids=EAGER)
@each(("qrels", "message"), STRANGE.values(), ids=STRANGE)
@each("given", [{}, {"run_only": "drop"}, {"judged_only": "drop"}, {"judged_only": "error"}], ids=str)
def test_a_run_of_which_no_query_is_judged_is_refused(qrels: pl.DataFrame, message: str, form: Any, given: Any) -> None:
    with pytest.raises(rf.InvalidData, match=f"no query of the run is judged.*in the run: query_id='1'.*{message}"):
        form(ONE).rank.judge(form(qrels), **given)


@each("engine", ["in-memory", "streaming"])
@each("qrels", [qrels for qrels, _ in STRANGE.values()], ids=STRANGE)
@each("use", [lambda x: x, lambda x: x.select(pl.len()), lambda x: x.rank.evaluate("map")])
def test_a_lazy_run_of_which_no_query_is_judged_is_refused_when_it_is_collected(
    qrels: pl.DataFrame, use: Any, engine: Any
) -> None:
    judged = ONE.lazy().rank.judge(qrels.lazy())
    with pytest.raises(pl.exceptions.InvalidOperationError, match="rankframe: no query of the run is judged"):
        use(judged).collect(engine=engine)


@each("form", FORMS.values(), ids=FORMS)
def test_no_judgments_at_all_may_be_kept_and_an_empty_run_has_nothing_to_refuse(form: Any) -> None:
    assert polars(form(ONE).rank.judge(form(QRELS.clear()), run_only="keep")).height == ONE.height
    assert polars(form(ONE.clear()).rank.judge(form(QRELS), judged_only="keep")).height == QRELS.height


def test_a_table_without_rows_need_not_say_its_types() -> None:
    nothing = pl.DataFrame({"query_id": [], "doc_id": [], "label": []})
    assert ONE.rank.judge(nothing, run_only="keep").height == ONE.height
    assert nothing.rename({"label": "score"}).rank.judge(QRELS, judged_only="keep").schema["query_id"] == pl.String
    with pytest.raises(rf.InvalidData, match="no query of the run is judged"):
        ONE.rank.judge(nothing)


@each("form", EAGER.values(), ids=EAGER)
def test_a_run_of_strangers_is_refused_even_if_they_are_to_be_kept(form: Any) -> None:
    with pytest.raises(rf.InvalidData, match="no query of the run is judged"):
        form(ONE).rank.judge(form(QRELS.with_columns(pl.col("query_id").str.zfill(2))), run_only="keep")


@each("form", EAGER.values(), ids=EAGER)
def test_judge_warns_where_no_retrieved_document_is_judged_at_the_callers_line(form: Any) -> None:
    upper = QRELS.with_columns(pl.col("doc_id").str.to_uppercase())
    wanted = "no retrieved document is judged.*in the run: query_id='1', doc_id='a'.*in the judgments: query_id='1', doc_id='A'"
    with pytest.warns(rf.RankframeWarning, match=wanted) as caught:
        form(ONE).rank.judge(form(upper))
    assert [warning.filename for warning in caught] == [__file__]


@each("form", EAGER.values(), ids=EAGER)
def test_judge_warns_of_queries_that_it_leaves_out_unless_they_are_to_be_left_out(form: Any) -> None:
    qrels = form(QRELS.filter(query_id="1"))
    with pytest.warns(
        rf.RankframeWarning, match=r"^1 of 2 queries of the run have no judgments.*run: query_id='2'\)"
    ) as caught:
        left = form(ONE).rank.judge(qrels)
    assert [warning.filename for warning in caught] == [__file__]
    assert list(left["query_id"]) == ["1", "1", "1"]
    for run_only in ("drop", "keep"):  # without a warning, which would be an error here
        form(ONE).rank.judge(qrels, run_only=run_only)


def test_queries_are_counted_once_for_all_runs() -> None:
    with pytest.warns(rf.RankframeWarning, match="^1 of 2 queries of the run"):
        RUNS.rank.judge(QRELS.filter(query_id="1"), run="run")


# ids of two types, and judgments that repeat


@each("form", EAGER.values(), ids=EAGER)
@each("table", ["run", "qrels"])
def test_ids_of_two_types_are_refused_and_the_cast_that_is_advised_makes_them_one(table: str, form: Any) -> None:
    numbers = pl.col("query_id").cast(pl.Int64)
    run = form(ONE.with_columns(numbers) if table == "run" else ONE)
    qrels = form(QRELS.with_columns(numbers) if table == "qrels" else QRELS)
    with pytest.raises(rf.InvalidData) as refused:
        run.rank.judge(qrels)
    advice = str(refused.value).rpartition("as in ")[2]
    cast = eval(advice, {"df": run, "run": run, "qrels": qrels, "pl": pl})
    judged = cast.rank.judge(qrels) if advice.startswith("df") else run.rank.judge(cast)
    assert len(judged) == 5
    found = run.rank.check(qrels).rows
    assert list(found["problem"])[:1] == ["types differ"]


@each("form", EAGER.values(), ids=EAGER)
def test_judgments_that_repeat_are_refused_and_the_highest_is_kept_as_advised(form: Any) -> None:
    twice = pl.concat([QRELS, pl.DataFrame({"query_id": ["1", "1"], "doc_id": ["a", "a"], "label": [3, None]})])
    with pytest.raises(
        rf.InvalidData, match=r"judgments hold a document .*\(found in 3 rows: query_id='1', doc_id='a'\)"
    ) as found:
        form(ONE).rank.judge(form(twice))
    advice = re.search(r"the highest: (qrels\..*) \(found", str(found.value))
    assert advice is not None
    once = eval(advice[1], {"qrels": form(twice)})
    judged = form(ONE).rank.judge(once)
    assert len(judged) == 5
    assert dict(zip(judged["doc_id"], judged["label"], strict=True))["a"] == 3


@each("name", ["system", "number"])
@each("form", EAGER.values(), ids=EAGER)
def test_runs_are_named_as_advised(form: Any, name: str) -> None:
    number = pl.when(run="x").then(7)
    nameless = RUNS.with_columns(run=pl.when(run="x").then(pl.lit("x")) if name == "system" else number)
    df = form(nameless)
    with pytest.raises(rf.InvalidData) as found:
        df.rank.judge(form(QRELS), run="run")
    advice = re.search(r"as with (df\..*) \(found", str(found.value))
    assert advice is not None
    named = eval(advice[1], {"df": df, "pl": pl})
    assert sorted(means(named.rank.judge(form(QRELS), run="run")).values()) == sorted(WANTED.values())


def test_lazy_judgments_that_repeat_are_refused_when_they_are_collected() -> None:
    judged = ONE.lazy().rank.judge(pl.concat([QRELS, QRELS]).lazy())
    with pytest.raises(
        pl.exceptions.InvalidOperationError, match="rankframe: the judgments hold a document of a query more"
    ):
        judged.collect()


@each("form", FORMS.values(), ids=FORMS)
@each("name", ["iteration", "subtopic", "theme"])
def test_judgments_of_several_subtopics_join(form: Any, name: str) -> None:
    of_both = pl.concat([QRELS.with_columns(pl.lit(topic).alias(name)) for topic in ("s", "t")])
    ranker = form(ONE).rank.on(subtopic=name if name == "theme" else None)
    assert (
        polars(ranker.judge(form(of_both))).height == 9
    )  # a, b, c and d for both subtopics, and e, which nobody judged
    if name != "theme":
        return
    with pytest.raises(rf.InvalidData, match="name their column as subtopic"):
        ONE.rank.judge(of_both)
    assert "repeated judgment" not in list(ONE.rank.on(subtopic="theme").check(of_both).rows["problem"])


# check


def notes(table: Any, qrels: Any = None, **policies: Any) -> dict[str, tuple[str, int]]:
    """Severity and number of rows of each problem."""
    found = polars(table.rank.on(**policies).check(qrels).rows)
    return dict(zip(found["problem"], zip(found["severity"], found["rows"], strict=True), strict=True))


def advice_on(table: Any, problem: str, **policies: Any) -> str:
    found = polars(table.rank.on(**policies).check().rows)
    return dict(zip(found["problem"], found["advice"], strict=True))[problem]


def labelled(labels: list[float | None], scores: list[float | None] | None = None) -> pl.DataFrame:
    """A table of one query, in which one judged document was missed and one retrieved document is unjudged."""
    n = len(labels)
    scores = [0.1 + i for i in range(n)] if scores is None else scores
    table = pl.DataFrame({"query_id": 1, "doc_id": range(n), "score": scores, "label": labels}, strict=False)
    more = pl.DataFrame({"query_id": 1, "doc_id": [n, n + 1], "score": [None, 99.5], "label": [labels[0], None]})
    return pl.concat([table, more], how="vertical_relaxed")


@each("form", FORMS.values(), ids=FORMS)
def test_check_notes_labels_all_of_which_are_relevant(form: Any) -> None:
    ratings = form(labelled([3, 5, 1, 4]))  # of a scale from 1
    assert notes(form(labelled([3, 4, 1, 2]))) == {}  # of one from 0, if judgments list what is relevant
    assert notes(ratings) == {"every judged document relevant": ("note", 5)}
    advice = advice_on(ratings, "every judged document relevant")
    assert re.match(
        r"labels go from 1(\.0)? to 5(\.0)?, so that relevant=1 counts every judged document; say the", advice
    )
    assert polars(eval(advice.rpartition("as ")[2], {"df": ratings}).check().rows).is_empty()
    assert notes(ratings, relevant=4) == {}
    assert notes(form(labelled([3, 5, 0, 4]))) == {}
    assert notes(form(labelled([1, 1, 1]))) == {}  # as judgments are that list what is relevant


@each("form", FORMS.values(), ids=FORMS)
def test_check_notes_a_threshold_that_every_judged_document_reaches(form: Any) -> None:
    table = form(labelled([0, 1, -1]))
    assert notes(table, relevant=0) == {"every judged document relevant": ("note", 3)}
    assert advice_on(table, "every judged document relevant", relevant=0).startswith(
        "relevant=0: every judged document counts"
    )
    assert notes(table) == {}


@each("form", FORMS.values(), ids=FORMS)
def test_check_notes_labels_between_0_and_1_that_are_left_out(form: Any) -> None:
    graded = form(labelled([0, 0.5, 1, 0.25]))
    assert notes(graded) == {"labels between 0 and 1": ("note", 2)}
    followed = eval(advice_on(graded, "labels between 0 and 1").rpartition("as ")[2], {"df": graded})
    assert polars(followed.check().rows).is_empty()


@each("form", FORMS.values(), ids=FORMS)
def test_check_notes_a_join_that_lost_what_was_missed(form: Any) -> None:
    several = {"query_id": [f"q{i}" for i in range(10) for _ in "abc"], "doc_id": [*"abc"] * 10}
    run = pl.DataFrame({**several, "score": [0.75, 0.5, 0.25] * 10})
    qrels = pl.DataFrame({**several, "label": [1, 0, 1] * 10}).with_columns(pl.col("doc_id").replace("c", "d"))
    key = ["query_id", "doc_id"]
    left = form(run.join(qrels, on=key, how="left"))
    assert notes(left) == {"missed documents lost": ("note", 30)}
    advice = advice_on(left, "missed documents lost")
    assert advice.startswith("33.3% of labels are null and no row lacks a score, as after a left join")
    assert notes(eval(advice.rpartition("join by ")[2], {"df": form(run), "qrels": form(qrels)})) == {}
    assert notes(form(run.join(qrels, on=key))) == {}  # as a table for learning to rank, which has all labels


@each("form", FORMS.values(), ids=FORMS)
def test_check_notes_that_no_retrieved_document_is_judged(form: Any) -> None:
    upper = QRELS.with_columns(pl.col("doc_id").str.to_uppercase())
    assert notes(form(ONE), form(upper)) == {"no retrieved document judged": ("note", 3), "ids alike": ("note", 1)}
    with pytest.warns(rf.RankframeWarning):
        judged = ONE.rank.judge(upper)
    assert notes(form(judged)) == {"no retrieved document judged": ("note", 3)}
    assert notes(form(ONE), form(QRELS)) == {}


@each("form", FORMS.values(), ids=FORMS)
def test_check_finds_tables_without_a_common_query(form: Any) -> None:
    found = notes(form(ONE), form(QRELS.with_columns(pl.col("query_id").str.zfill(2))))
    assert found == {
        "no common query": ("error", 3),
        "query without judgments": ("note", 1),
        "nothing retrieved": ("note", 1),
    }


def test_check_takes_queries_alone_for_judgments() -> None:
    assert notes(ONE, QRELS.filter(query_id="1").select("query_id")) == {"query without judgments": ("note", 1)}


@each("form", FORMS.values(), ids=FORMS)
def test_check_finds_what_is_judged_twice(form: Any) -> None:
    assert notes(form(ONE), form(pl.concat([QRELS, QRELS.head(1)]))) == {"repeated judgment": ("error", 2)}


@each("form", FORMS.values(), ids=FORMS)
def test_check_says_how_many_queries_nobody_judged(form: Any) -> None:
    run = pl.concat([ONE, ONE.filter(query_id="2").with_columns(query_id=pl.lit("3"))])
    found = polars(form(run).rank.check(form(QRELS.filter(query_id="1"))).rows)
    assert list(found["query_id"]) == ["2", "3"]
    assert all("(unjudged queries of the run: 2)" in advice for advice in found["advice"])


@each("form", FORMS.values(), ids=FORMS)
def test_check_of_judgments_notes_labels_all_of_which_are_relevant(form: Any) -> None:
    rated = QRELS.with_columns(pl.col("label") * 4 + 1)
    assert notes(form(ONE), form(rated)) == {"every judged document relevant": ("note", 4)}


RANKS = pl.DataFrame(
    {
        "query_id": [1, 1, 1, 2, 2],
        "doc_id": ["a", "b", "c", "a", "z"],
        "score": pl.Series([1, 2, 3, 1, None], dtype=pl.UInt32),
        "label": [1, 0, None, 1, 1],
    }
)


@each("form", FORMS.values(), ids=FORMS)
@each("dtype", [pl.UInt32, pl.Int64, pl.Float64], ids=str)
def test_check_notes_scores_that_are_ranks_and_they_count_as_ranks_as_advised(form: Any, dtype: Any) -> None:
    table = form(RANKS.with_columns(pl.col("score").cast(dtype)))
    assert notes(table) == {"scores like ranks": ("note", 4)}
    advice = advice_on(table, "scores like ranks")
    ranked = eval(advice.rpartition("say ")[2], {"df": table})
    assert polars(ranked.check().rows).is_empty()
    assert polars(ranked.evaluate("rr"))["rr"].to_list() == [1.0, 1.0]


@each(
    "scores",
    [
        [0, 1, 2, 1, None],
        [1, 2, 2, 1, None],
        [1, 2, 4, 1, None],
        [1, 2.5, 3, 1, None],
        [1, 2, 3, 2, None],
        [1, None, None, 1, None],
    ],
    ids=str,
)
def test_check_takes_no_other_scores_for_ranks(scores: list[float | None]) -> None:
    table = RANKS.with_columns(score=pl.Series(scores, dtype=pl.Float64))
    assert "scores like ranks" not in notes(table)


def test_check_notes_scores_that_are_tied_with_those_of_other_labels() -> None:
    """Of 40 documents in 20 queries, those of four queries are tied; two documents with one of another label, then eight."""
    queries = pl.DataFrame({"query_id": range(20)}).join(pl.DataFrame({"doc_id": [*"ab"]}), how="cross")
    first, query = pl.col("doc_id") == "a", pl.col("query_id")
    score = pl.when(query < 4).then(0.5).when(first).then(query + 0.25).otherwise(query + 0.125)
    tied = queries.with_columns(score=score, label=pl.when(query < 3).then(0).otherwise(first.cast(pl.Int64)))
    assert notes(tied) == {}
    more = tied.with_columns(score=pl.when(query < 4).then(query + 0.5).otherwise("score"), label=first.cast(pl.Int64))
    assert notes(more) == {"tied scores": ("note", 8)}
    assert notes(more, ties="doc_desc") == {}  # as was said
    assert advice_on(more, "tied scores").startswith(
        "20% of documents are tied with one of another label, and documents with equal scores stand by falling id"
    )
