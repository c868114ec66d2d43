"""Runs and judgments in two tables: what judge keeps, and what check says."""

from __future__ import annotations

import datetime
import math
import warnings
from typing import Any

import polars as pl
import pytest

import rankframe as rf
from rankframe._table.name_presets import LABELS_NAMED_AS_SCORES, PRESETS
from tests.support.each import each

RUN = pl.DataFrame(
    {"query_id": ["a", "a", "b", "x"], "doc_id": ["d1", "d2", "d1", "d9"], "score": [3.0, 1.0, 1.0, 1.0], "lang": "en"}
)
QRELS = pl.DataFrame(
    {"query_id": ["a", "a", "b", "y"], "doc_id": ["d2", "d3", "d1", "d7"], "label": [1, 2, 0, 1], "judge": "me"}
)


@each("lazy", [False, True])
def test_judge_keeps_documents_that_one_table_lacks_and_every_column(lazy: bool) -> None:
    joined = (RUN.lazy() if lazy else RUN).rank.judge(
        QRELS.lazy() if lazy else QRELS, judged_only="keep", run_only="drop"
    )
    assert isinstance(joined, pl.LazyFrame if lazy else pl.DataFrame)
    frame = joined.lazy().collect()
    assert frame.columns == ["query_id", "doc_id", "score", "lang", "label", "judge"]
    assert sorted(frame.rows(), key=str) == [
        ("a", "d1", 3.0, "en", None, None),
        ("a", "d2", 1.0, "en", 1, "me"),
        ("a", "d3", None, None, 2, "me"),
        ("b", "d1", 1.0, "en", 0, "me"),
        ("y", "d7", None, None, 1, "me"),
    ]


def test_the_judged_runs_rows_come_first_and_in_their_order() -> None:
    judged = RUN.reverse().rank.judge(QRELS, judged_only="keep", run_only="keep")
    assert judged["doc_id"].to_list()[:4] == ["d9", "d1", "d2", "d1"]


@each(
    ("judged_only", "run_only", "queries"),
    [
        ("keep", "drop", {"a", "b", "y"}),
        ("drop", "drop", {"a", "b"}),
        ("keep", "keep", {"a", "b", "x", "y"}),
        ("drop", "keep", {"a", "b", "x"}),
    ],
)
def test_queries_of_one_table_only_are_kept_or_left_out(judged_only: Any, run_only: Any, queries: set[str]) -> None:
    assert set(RUN.rank.judge(QRELS, judged_only=judged_only, run_only=run_only)["query_id"]) == queries


def test_refusal_lets_tables_of_the_same_queries_through() -> None:
    both = RUN.filter(pl.col("query_id").is_in(["a", "b"]))
    qrels = QRELS.filter(pl.col("query_id") != "y")
    assert both.rank.judge(qrels, judged_only="error", run_only="error").height == 4


def test_judgments_hold_for_every_run_of_a_table() -> None:
    runs = pl.DataFrame(
        {"run": ["r1", "r2"], "query_id": ["a", "b"], "doc_id": ["d2", "d1"], "score": [1.0, 1.0]},
    )
    ranker = runs.rank.on(query=["run", "query_id"])
    judged = ranker.judge(QRELS.drop("judge"), judged_only="keep")
    recall = judged.rank.on(query=["run", "query_id"]).recall().sort("run", "query_id")
    # in r1 only a's d2 of d2 and d3 was found, in r2 nothing that is relevant
    assert recall.rows() == [
        ("r1", "a", 0.5), ("r1", "b", 0.0), ("r1", "y", 0.0),
        ("r2", "a", 0.0), ("r2", "b", 0.0), ("r2", "y", 0.0),
    ]  # fmt: skip


def test_null_ids_join_as_one_query() -> None:
    run = pl.DataFrame({"query_id": [None, 1], "doc_id": ["a", "a"], "score": [1.0, 1.0]})
    qrels = pl.DataFrame({"query_id": [None, 1], "doc_id": ["a", "a"], "label": [1, 1]})
    assert run.rank.judge(qrels).height == 2


def test_neither_table_is_changed() -> None:
    run, qrels = RUN.clone(), QRELS.clone()
    run.rank.judge(qrels, judged_only="keep", run_only="drop")
    assert run.equals(RUN)
    assert qrels.equals(QRELS)


def findings(frame: pl.DataFrame | pl.LazyFrame) -> list[tuple[Any, ...]]:
    """Severity, problem, query, document and number of rows of each finding."""
    table = frame.lazy().collect()
    return [
        (row["severity"], row["problem"], row.get("query_id"), row.get("doc_id"), row["rows"])
        for row in table.iter_rows(named=True)
    ]


def in_polars(frame: Any) -> pl.DataFrame:
    return frame.collect() if isinstance(frame, pl.LazyFrame) else pl.DataFrame(frame)


@each("lazy", [False, True])
def test_check_says_which_queries_one_table_lacks(lazy: bool) -> None:
    ranker = (RUN.lazy() if lazy else RUN).rank
    assert findings(ranker.check(QRELS.lazy() if lazy else QRELS).rows) == [
        ("note", "query without judgments", "x", None, 1),
        ("note", "nothing retrieved", "y", None, 1),
    ]


@each("lazy", [False, True])
def test_check_lists_every_problem_of_a_table(lazy: bool) -> None:
    nan = float("nan")
    frame = pl.DataFrame(
        [
            ("good", "d1", 1.0, 1.0),
            ("good", "d2", 2.0, None),
            ("nan", "d1", nan, 1.0),
            ("label", "d1", 1.0, float("inf")),
            ("twice", "d1", 1.0, 1.0),
            ("twice", "d1", 2.0, 1.0),
            ("hopeless", "d1", 1.0, 0.0),
            ("unjudged", "d1", 1.0, None),
            ("lost", "d1", None, 1.0),
            (None, "d1", 1.0, 1.0),
        ],
        schema=["query_id", "doc_id", "score", "label"],
        orient="row",
    )
    assert findings((frame.lazy() if lazy else frame).rank.check().rows) == [
        ("error", "NaN score", "nan", "d1", 1),
        ("error", "label not finite", "label", "d1", 1),
        ("error", "repeated document", "twice", "d1", 2),
        ("note", "query without id", None, "d1", 1),
        ("note", "query without judgments", "unjudged", None, 1),
        ("note", "nothing retrieved", "lost", None, 1),
    ]


def test_check_of_a_clean_table_is_empty_and_has_its_columns() -> None:
    frame = pl.DataFrame({"query_id": [1, 1], "doc_id": ["a", "b"], "score": [1.0, None], "label": [1, 1]})
    found = frame.rank.check().rows
    assert found.is_empty()
    assert found.columns == ["severity", "problem", "query_id", "doc_id", "rows", "advice"]


def test_check_tells_of_a_missing_or_unfit_column_instead_of_raising() -> None:
    assert findings(RUN.rename({"query_id": "qid"}).rank.check().rows)[0][:2] == ("error", "table")
    assert findings(RUN.with_columns(score=pl.lit("high")).rank.check().rows)[0][:2] == ("error", "table")
    assert findings(RUN.rank.check().rows)[0][:2] == ("error", "no labels")
    assert "df.rank.judge(qrels)" in RUN.rank.check().rows["advice"][0]


def test_check_finds_each_tie_where_they_are_forbidden() -> None:
    frame = pl.DataFrame({"query_id": [1, 1], "doc_id": ["a", "b"], "score": [1.0, 1.0], "label": [1, None]})
    assert findings(frame.rank.check().rows) == []
    assert findings(frame.rank.on(ties="error").check().rows) == [
        ("error", "forbidden tie", 1, "a", 1),
        ("error", "forbidden tie", 1, "b", 1),
    ]


def test_check_without_documents_names_the_query() -> None:
    frame = pl.DataFrame({"query_id": [1, 1], "score": [float("nan"), None], "label": [1, 1]})
    assert frame.rank.check().rows.select("problem", "query_id", "rows").rows() == [("NaN score", 1, 1)]


def test_judgments_must_share_a_query_column() -> None:
    with pytest.raises(rf.MissingColumn, match=r"qrels\.rename"):
        RUN.rank.check(QRELS.rename({"query_id": "topic"}))


def test_a_judged_query_that_one_of_several_runs_lacks_is_left_out_of_that_run_or_refused() -> None:
    runs = pl.DataFrame(
        {"run": ["A", "A", "B"], "query_id": [1, 2, 1], "doc_id": ["a", "a", "a"], "score": [1.0, 1.0, 1.0]}
    )
    qrels = pl.DataFrame({"query_id": [1, 2], "doc_id": ["a", "a"], "label": [1, 1]})
    ranker = runs.rank.on(query=["run", "query_id"])
    assert ranker.judge(qrels, judged_only="keep").select("run", "query_id").rows() == [
        ("A", 1),
        ("A", 2),
        ("B", 1),
        ("B", 2),
    ]
    assert ranker.judge(qrels, judged_only="drop").select("run", "query_id").rows() == [("A", 1), ("A", 2), ("B", 1)]
    with pytest.raises(rf.InvalidData, match="a judged query is not in the run"):
        ranker.judge(qrels, judged_only="error")


@each("lazy", [False, True])
def test_check_lists_by_run_which_judged_queries_a_run_lacks(lazy: bool) -> None:
    runs = pl.DataFrame(
        {
            "run": ["A", "A", "B", "B"],
            "query_id": [1, 2, 1, 3],
            "doc_id": ["a"] * 4,
            "score": [1.0] * 4,
            "label": [1] * 4,
        }
    )
    qrels = pl.DataFrame({"query_id": [1, 2], "doc_id": ["a", "a"]})
    found = (
        (runs.lazy() if lazy else runs).rank.on(query=["run", "query_id"]).check(qrels.lazy() if lazy else qrels).rows
    )
    assert found.lazy().select("problem", "run", "query_id", "rows").collect().rows() == [
        ("query without judgments", "B", 3, 1),
        ("nothing retrieved", "B", 2, 1),
    ]


def test_check_notes_a_column_that_seems_to_name_documents() -> None:
    frame = pl.DataFrame({"query_id": [1, 1], "DocNo": ["a", "a"], "score": [1.0, 3.0], "label": [1, None]})
    found = frame.rank.check().rows
    assert findings(found) == [("note", "documents not named", None, None, 0)]
    assert "df.rank.on(doc='DocNo')" in found["advice"][0]
    assert frame.rank.on(doc=None).check().rows.is_empty()
    assert findings(frame.rank.on(doc="DocNo").check().rows)[0][:2] == ("error", "repeated document")


def test_a_score_that_is_called_a_distance_is_noted_until_it_is_turned_round() -> None:
    df = pl.DataFrame({"query_id": [1, 1], "doc_id": ["a", "b"], "distance": [0.1, 0.7], "label": [1, 0]})
    found = df.rank.on(score="distance").check().rows.filter(problem="scores like distances")
    assert found.select("severity", "rows").rows() == [("note", 2)]
    assert "say df.rank.on(score='distance', ascending=True)" in found["advice"].item()
    of_distances = df.rank.on(score="distance", ascending=True).check().rows
    assert of_distances.filter(problem="scores like distances").is_empty()
    turned = df.with_columns(-pl.col("distance"))
    assert turned.rank.on(score="distance").check().rows.filter(problem="scores like distances").is_empty()


def test_ranks_under_their_own_name_are_noted_once() -> None:
    df = pl.DataFrame({"query_id": [1, 1], "doc_id": ["a", "b"], "rank": [1, 2], "label": [1, 0]})
    found = df.rank.on(score="rank").check().rows["problem"].to_list()
    assert [problem for problem in found if problem.startswith("scores like")] == ["scores like ranks"]


KINDS: dict[str, Any] = {"eager": lambda df: df, "lazy": lambda df: df.lazy(), "pandas": lambda df: df.to_pandas()}
TRUTH = pl.DataFrame({"query_id": ["q1", "q1"], "doc_id": ["b", "c"]})
"""The documents that the user took, without labels."""
RETRIEVED = pl.DataFrame({"query_id": ["q1", "q1"], "doc_id": ["a", "b"], "score": [2.0, 1.0]})


def rows_of(found: Any) -> list[tuple[Any, ...]]:
    """The rows of a judged table of any kind by document, with null for a missing value."""
    frame = found.collect() if isinstance(found, pl.LazyFrame) else found
    frame = frame if isinstance(frame, pl.DataFrame) else pl.from_pandas(frame)
    return frame.sort("doc_id").select("query_id", "doc_id", "score", "label").rows()


@each("kind", KINDS)
def test_every_row_of_judgments_without_labels_counts_1(kind: str) -> None:
    judged = KINDS[kind](RETRIEVED).rank.judge(KINDS[kind](TRUTH))
    assert rows_of(judged) == [("q1", "a", 2.0, None), ("q1", "b", 1.0, 1), ("q1", "c", None, 1)]
    values = judged.rank.evaluate("recall", "rr")  # one of two is found, at rank 2
    values = values.collect() if kind == "lazy" else values
    assert [*values["recall"], *values["rr"]] == [0.5, 0.5]


@each("kind", KINDS)
def test_texts_and_dates_beside_such_judgments_are_kept_and_are_no_labels(kind: str) -> None:
    truth = TRUTH.with_columns(title=pl.lit("x"), day=datetime.date(2026, 1, 2))
    judged = KINDS[kind](RETRIEVED).rank.judge(KINDS[kind](truth))
    assert rows_of(judged)[1] == ("q1", "b", 1.0, 1)
    assert {"title", "day"} <= {*(judged.collect_schema() if kind == "lazy" else judged.columns)}


@each("kind", KINDS)
@each(("name", "values"), [("rating", ["good", "bad"]), ("stars", [5, 1]), ("clicked", [True, False])])
def test_a_column_that_may_hold_labels_is_never_left_unread(kind: str, name: str, values: list[Any]) -> None:
    truth = TRUTH.with_columns(pl.Series(name, values))
    with pytest.raises(
        rf.MissingColumn,
        match=rf"Say df.rank.on\(label='{name}'\); or, if all rows are relevant, give each the label 1",
    ):
        KINDS[kind](RETRIEVED).rank.judge(KINDS[kind](truth))


def test_a_column_of_labels_that_was_named_must_exist() -> None:
    with pytest.raises(rf.MissingColumn, match="no column 'rel' for label"):
        RETRIEVED.rank.on(label="rel").judge(TRUTH)


@each("kind", KINDS)
def test_judgments_without_the_label_of_a_preset_count_1_as_without_the_preset(kind: str) -> None:
    with_labels = [name for name, roles in PRESETS.items() if roles.get("label", "label") != "label"]
    assert {"rectools", "replay", "recbole", "microsoft_recommenders", "lenskit", "elliot", "evidently"} <= {
        *with_labels
    }
    for name in with_labels:
        columns = {"query_id": PRESETS[name]["query"], "doc_id": PRESETS[name]["doc"]}
        run = KINDS[kind](RETRIEVED.rename(columns | {"score": PRESETS[name].get("score", "score")}))
        truth = TRUTH.rename(columns)
        judged = run.rank.on(names=name).judge(KINDS[kind](truth))
        values = judged.rank.on(names=name).mean("recall", "rr")
        values = values.collect() if kind == "lazy" else values
        assert [*values["recall"], *values["rr"]] == [0.5, 0.5], name
        with pytest.raises(rf.MissingColumn, match=r"Say df\.rank\.on"):
            run.rank.on(names=name).judge(KINDS[kind](truth.with_columns(stars=5)))
        with pytest.raises(rf.MissingColumn, match="no column 'gain' for label"):
            run.rank.on(names=name, label="gain").judge(KINDS[kind](truth))


@each("kind", KINDS)
@each("tool", sorted(LABELS_NAMED_AS_SCORES))
def test_labels_that_a_tool_names_as_its_scores_are_read_under_their_role(kind: str, tool: str) -> None:
    label, score = PRESETS[tool].get("label", "label"), PRESETS[tool].get("score", "score")
    columns = {"query_id": PRESETS[tool]["query"], "doc_id": PRESETS[tool]["doc"], "score": score}
    truth = TRUTH.with_columns(score=pl.Series([1, 2]))
    run, qrels = (KINDS[kind](table.rename(columns)) for table in (RETRIEVED, truth))
    for named in ({}, {"label": score}):
        ranker = run.rank.on(names=tool, **named)
        judged = ranker.judge(qrels)
        names = [*(judged.collect_schema() if kind == "lazy" else judged.columns)]
        assert names == [*columns.values(), label], tool
        values = judged.rank.on(names=tool, relevant=2).evaluate("recall", "rr@2", "ndcg")
        values = values.collect() if kind == "lazy" else values
        found = [values[metric].to_list()[0] for metric in ("recall", "rr@2", "ndcg")]
        assert found == pytest.approx([0, 0, (1 / math.log2(3)) / (2 + 1 / math.log2(3))]), tool
        advice = ranker.check(qrels).table
        problems = (advice.collect() if kind == "lazy" else advice)["problem"].to_list()
        assert "no labels" not in problems, tool


def test_ids_of_which_some_are_in_other_letters_are_a_warning_from_a_tenth_of_the_judged_on() -> None:
    docs = [f"d{i}" for i in range(20)]
    qrels = pl.DataFrame({"query_id": 1, "doc_id": docs, "label": 1})

    def said(retrieved: list[str]) -> list[str]:
        run = pl.DataFrame({"query_id": 1, "doc_id": retrieved, "score": range(len(retrieved))})
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            run.rank.judge(qrels)
        return [str(warning.message) for warning in caught]

    (says,) = said(["D0", " d1", "D2 ", *docs[3:]])
    assert says.startswith(
        "3 of the first 20 documents of the run are judged in other letters alone, as 'D0' for 'd0', and"
    )
    assert said(["D0", "D1", *docs[2:]]) == []  # a tenth
    assert said([*docs, *(doc.upper() for doc in docs)]) == []  # both are ids
    assert said([*docs, *(f"e{i}" for i in range(20))]) == []
    numbers = pl.DataFrame({"query_id": 1, "doc_id": range(20), "score": 1.0})
    assert numbers.rank.judge(numbers.select("query_id", "doc_id")).height == 20


def test_without_such_a_preset_a_second_run_is_not_taken_for_judgments() -> None:
    with pytest.raises(rf.MissingColumn, match="no column 'label' for label"):
        RETRIEVED.rank.judge(RETRIEVED)
    with pytest.raises(rf.InvalidOption, match=r"rename that of the judgments, as with qrels.rename"):
        RETRIEVED.rank.on(label="score").judge(RETRIEVED)


def test_evaluate_reads_the_frames_of_ranx() -> None:
    run = RETRIEVED.rename({"query_id": "q_id"})
    qrels = TRUTH.rename({"query_id": "q_id"}).with_columns(score=pl.Series([1, 2]))
    found = rf.evaluate(run, qrels, "rr", "recall", names="ranx")
    assert found.rows() == [("q1", 0.5, 0.5)]


def test_a_label_of_1_that_would_not_be_relevant_is_refused() -> None:
    with pytest.raises(rf.InvalidOption, match=r"each counts 1, which is below relevant=2"):
        RETRIEVED.rank.on(relevant=2).judge(TRUTH)


def test_judgments_without_labels_that_repeat_are_refused_with_a_cure_that_needs_no_label() -> None:
    with pytest.raises(rf.InvalidData, match=r"as with qrels.unique\(\['query_id', 'doc_id'\]\)"):
        RETRIEVED.rank.judge(pl.concat([TRUTH, TRUTH]))


def test_judgments_that_lack_ids_and_labels_are_asked_for_the_ids_alone() -> None:
    with pytest.raises(rf.MissingColumn, match=r"qrels.rename\(\{'query_id2': 'query_id', 'docno': 'doc_id'\}\)"):
        RETRIEVED.rank.judge(TRUTH.rename({"query_id": "query_id2", "doc_id": "docno"}))


def test_check_finds_nothing_wrong_with_judgments_without_labels_unless_a_column_may_hold_them() -> None:
    assert "no labels" not in RETRIEVED.rank.check(TRUTH).rows["problem"]
    (advice,) = RETRIEVED.rank.check(TRUTH.with_columns(stars=1)).rows.filter(problem="no labels")["advice"]
    assert "df.rank.on(label='stars')" in advice


def test_queries_and_documents_that_are_numbers_are_no_labels() -> None:
    run = RETRIEVED.with_columns(query_id=pl.lit(1, pl.Int64), doc_id=pl.Series([7, 8]))
    assert run.rank.judge(pl.DataFrame({"query_id": [1], "doc_id": [8]})).rank.evaluate("rr").rows() == [(1, 0.5)]


@each("form", [lambda x: x, pl.DataFrame.lazy, pl.DataFrame.to_pandas], ids=["polars", "lazy", "pandas"])
def test_check_finds_ids_in_other_letters_though_most_ids_match(form: Any) -> None:
    run = pl.DataFrame({"query_id": ["q1", "q1", "Q2"], "doc_id": ["a", "B ", "c"], "score": [3.0, 2.0, 1.0]})
    qrels = pl.DataFrame({"query_id": ["q1", "q1", "q2"], "doc_id": ["a", "b", "c"], "label": [1, 1, 1]})
    found = in_polars(rf.rank(form(run)).check(form(qrels)).rows).filter(problem="ids alike")
    assert found.select("query_id", "doc_id", "rows").rows() == [("Q2", None, 1), (None, "B ", 1)]
    same = qrels.with_columns(pl.Series("query_id", ["q1", "q1", "Q2"]), pl.Series("doc_id", ["a", "B ", "c"]))
    assert in_polars(rf.rank(form(run)).check(form(same)).rows).filter(problem="ids alike").is_empty()


@each("form", [lambda x: x, pl.DataFrame.lazy, pl.DataFrame.to_pandas], ids=["polars", "lazy", "pandas"])
def test_a_contract_names_the_same_facts_before_and_after_the_join(form: Any) -> None:
    run = pl.DataFrame({"query_id": ["q1", "q2"], "doc_id": ["a", "b"], "score": [1.0, None]})
    qrels = pl.DataFrame({"query_id": ["q1", "q3"], "doc_id": ["a", "c"], "label": [1, 1]})
    joined = run.rank.judge(qrels, run_only="keep", judged_only="keep")
    for problem in ("query without judgments", "nothing retrieved"):
        for table, judgments in ((run, [form(qrels)]), (joined, [])):
            with pytest.raises(rf.InvalidData, match=f"check found {problem}"):
                rf.rank(form(table)).check(*judgments, fail_on=problem)
    with pytest.raises(rf.InvalidData, match=r"document without score \(1 rows: query_id q2, doc_id b\)"):
        rf.rank(form(run)).check(form(qrels), fail_on=["error", "document without score"])
