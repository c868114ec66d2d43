"""One row per query with lists: the long table is that of a loop over the rows."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import rankframe as rf
from tests.support.each import each

Row = tuple[Any, list[Any] | None, list[Any] | None]


def by_loop(rows: list[Row], grades: list[list[int]] | None = None) -> list[tuple[Any, Any, float | None, int | None]]:
    """The long table of rows of a query, its retrieved and its relevant documents."""
    table = []
    for i, (query, retrieved, relevant) in enumerate(rows):
        of = dict(zip(relevant or [], grades[i] if grades else [1] * len(relevant or []), strict=True))
        documents = [(query, doc, 1 / (place + 1), of.get(doc)) for place, doc in enumerate(retrieved or [])]
        documents += [(query, doc, None, label) for doc, label in of.items() if doc not in (retrieved or [])]
        table += documents or [(query, None, None, None)]
    return table


def rows_of(frame: Any) -> list[tuple[Any, ...]]:
    if isinstance(frame, pd.DataFrame):
        return [
            tuple(None if pd.isna(x) else x for x in row)
            for row in frame.astype(object).itertuples(index=False, name=None)
        ]
    return list(frame.lazy().collect().rows())


KINDS: dict[str, Callable[[pl.DataFrame], Any]] = {
    "Polars": lambda df: df,
    "lazy": lambda df: df.lazy(),
    "pandas, lists": lambda df: pd.DataFrame(df.to_dict(as_series=False)),
    "pandas, arrays": lambda df: pd.DataFrame(
        {
            name: pd.Series([x if x is None or name == "query_id" else np.array(x) for x in values], dtype=object)
            for name, values in df.to_dict(as_series=False).items()
        }
    ),
    "pandas, Arrow": lambda df: df.to_pandas(use_pyarrow_extension_array=True),
}


every_kind = each("kind", KINDS.values(), ids=KINDS)


def random_rows(seed: int, ids: Callable[[int], Any]) -> list[Row]:
    draw = random.Random(seed)
    return [
        (
            f"q{i}",
            [ids(x) for x in draw.sample(range(20), draw.choice([0, 1, 5, 12]))],
            [ids(x) for x in draw.sample(range(20), draw.choice([0, 1, 3]))],
        )
        for i in range(40)
    ]


def table_of(rows: list[Row], **others: Any) -> pl.DataFrame:
    query, retrieved, relevant = (list(x) for x in zip(*rows, strict=True))
    return pl.DataFrame({"query_id": query, "retrieved": retrieved, "relevant": relevant, **others})


@every_kind
@each("ids", [lambda x: f"d{x}", lambda x: x], ids=["texts", "numbers"])
def test_lists_become_the_table_that_a_loop_over_the_rows_makes(
    kind: Callable[[pl.DataFrame], Any], ids: Callable[[int], Any]
) -> None:
    rows = random_rows(1, ids)
    assert rows_of(rf.from_lists(kind(table_of(rows)))) == by_loop(rows)


@every_kind
def test_labels_in_a_list_of_their_own_go_to_their_documents(kind: Callable[[pl.DataFrame], Any]) -> None:
    rows: list[Row] = [("a", ["x", "y"], ["y", "w"]), ("b", ["z"], ["x"])]
    grades = [[3, 2], [1]]
    frame = kind(table_of(rows, grades=grades))
    assert rows_of(rf.from_lists(frame, labels="grades")) == by_loop(rows, grades)


@every_kind
def test_scores_in_a_list_of_their_own_are_those_of_the_documents(kind: Callable[[pl.DataFrame], Any]) -> None:
    frame = kind(table_of([("a", ["x", "y"], ["y"]), ("b", ["z"], [])], points=[[0.25, 0.5], [7.0]]))
    found = rows_of(rf.from_lists(frame, scores="points"))
    assert found == [("a", "x", 0.25, None), ("a", "y", 0.5, 1), ("b", "z", 7.0, None)]


def test_whole_and_broken_numbers_in_different_cells_of_pandas_keep_their_value() -> None:
    frame = pd.DataFrame(
        {"query_id": [1, 2], "retrieved": [["a"], ["b"]], "relevant": [["a"], ["b"]], "g": [[2], [1.5]]}
    )
    assert rf.from_lists(frame, labels="g")["label"].tolist() == [2.0, 1.5]


@each("kind", ["Polars", "pandas, lists"])
def test_structs_hold_documents_with_their_score_and_label(kind: str) -> None:
    rows = {
        "query_id": [1, 2],
        "retrieved": [[{"id": "a", "score": 2.0}, {"id": "b", "score": 3.5}], []],
        "relevant": [[{"doc_id": "a", "grade": 2}], [{"doc_id": "q", "grade": 1}]],
    }
    frame = rf.from_lists(KINDS[kind](pl.DataFrame(rows)))
    assert rows_of(frame) == [(1, "a", 2.0, 2), (1, "b", 3.5, None), (2, "q", None, 1)]


def test_dictionaries_in_the_cells_of_pandas_are_documents_with_their_number() -> None:
    frame = pd.DataFrame(
        {"query_id": [1, 2], "retrieved": [{"x": 1, "y": 0.5}, {"z": 2}], "relevant": [{"y": 3}, {"z"}]}
    )
    with pytest.raises(rf.InvalidData, match=r"column 'relevant' holds lists of dictionaries and other things"):
        rf.from_lists(frame)
    frame["relevant"] = [{"y": 3}, {"z": 1}]
    assert rows_of(rf.from_lists(frame)) == [(1, "x", 1.0, None), (1, "y", 0.5, 3), (2, "z", 2.0, 1)]


@every_kind
def test_a_single_relevant_document_needs_no_list(kind: Callable[[pl.DataFrame], Any]) -> None:
    frame = pl.DataFrame({"query_id": [1, 2, 3], "retrieved": [["x"], ["y"], ["z"]], "relevant": ["x", "w", None]})
    assert rows_of(rf.from_lists(kind(frame) if kind is not KINDS["pandas, arrays"] else frame)) == [
        (1, "x", 1.0, 1),
        (2, "y", 1.0, None),
        (2, "w", None, 1),
        (3, "z", 1.0, None),
    ]


def test_labels_without_relevant_documents_are_those_of_the_retrieved_ones() -> None:
    frame = pl.DataFrame({"query_id": [1], "retrieved": [["x", "y"]], "labels": [[0, 2]]})
    assert rf.from_lists(frame, relevant=None, labels="labels").rows() == [(1, "x", 1.0, 0), (1, "y", 0.5, 2)]
    assert rf.from_lists(frame, relevant=None).columns == ["query_id", "doc_id", "score"]


def test_rows_are_numbered_and_columns_of_the_query_carried_along() -> None:
    frame = pl.DataFrame({"retrieved": [["x"], ["y", "z"]], "relevant": [["x"], ["y"]], "market": ["de", "fr"]})
    found = rf.from_lists(frame, query=None, carry=["market"])
    assert found.rows() == [(0, "de", "x", 1.0, 1), (1, "fr", "y", 1.0, 1), (1, "fr", "z", 0.5, None)]


def test_several_query_columns_keep_their_names() -> None:
    frame = pl.DataFrame({"run": ["a", "b"], "q": [1, 1], "retrieved": [["x"], ["y"]], "relevant": [["x"], ["x"]]})
    table = rf.from_lists(frame, query=["run", "q"])
    assert table.columns == ["run", "q", "doc_id", "score", "label"]
    assert table.rank.on(query=["run", "q"]).reciprocal_rank()["rr"].to_list() == [1.0, 0.0]


def test_the_first_place_of_a_repeated_document_counts_where_that_is_asked_for() -> None:
    frame = table_of([("a", ["x", "y", "x"], ["x", "x"])])
    assert rf.from_lists(frame, repeated="first").rows() == [("a", "x", 1.0, 1), ("a", "y", 0.5, None)]


HOSTILE: dict[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    "a repeated document": ({"retrieved": [["x", "x"], ["z"]]}, {}, "'retrieved' of query 'a' holds x twice"),
    "a repeated relevant one": ({"relevant": [["x"], ["z", "z"]]}, {}, "'relevant' of query 'b' holds z twice"),
    "null in a list": ({"retrieved": [["x"], [None]]}, {}, "'retrieved' of query 'b' holds null or NaN"),
    "NaN in a list": (
        {"retrieved": [[1.0], [float("nan")]], "relevant": [[1.0], [2.0]]}, {}, "'retrieved' of query 'b' holds null or NaN",
    ),
    "fewer scores": ({"s": [[1.0, 2.0], []]}, {"scores": "s"}, r"query 'b' has 1 documents in column 'retrieved' and 0 scores"),
    "more labels": ({"l": [[1, 2], [1]]}, {"labels": "l"}, r"query 'a' has 1 documents in column 'relevant' and 2 labels"),
    "a null score": ({"s": [[1.0, None], [1.0]]}, {"scores": "s"}, "the scores in column 's' of query 'a' hold null or NaN"),
    "two rows of a query": (
        {"query_id": ["a", "a"]}, {}, r"query 'a' has several rows; .* as query=\[..., 'query_id'\]",
    ),
    "two rows of a query in a column with braces": (
        {"q{}": ["a", "a"]}, {"query": "q{}"}, r"query 'a' has several rows; .* as query=\[..., 'q{}'\]",
    ),
    "an id like the end of a list": ({"query_id": ['a", "rank"], b', "b"], "retrieved": [["x", "x"], ["z"]]}, {}, r"query 'a\", \"rank\"\], b' holds x twice"),
    "JSON as text": ({"relevant": ['["x"]', "z"]}, {}, "'relevant' of query 'a' is text that looks like JSON"),
}  # fmt: skip


@each("lazy", [False, True], ids=["eager", "lazy"])
@each("name", HOSTILE)
def test_a_fault_in_the_rows_is_an_error_that_names_the_query(name: str, lazy: bool) -> None:
    columns, options, message = HOSTILE[name]
    rows = {"query_id": ["a", "b"], "retrieved": [["x", "y"], ["z"]], "relevant": [["x"], ["z"]]}
    frame = pl.DataFrame(rows | columns)
    with pytest.raises(pl.exceptions.InvalidOperationError if lazy else rf.InvalidData, match=message):
        rf.from_lists(frame.lazy() if lazy else frame, **options).lazy().collect()


TYPES: dict[str, tuple[dict[str, Any], dict[str, Any], type[Exception], str]] = {
    "text": (
        {"retrieved": ["x y", "z"]},
        {},
        rf.InvalidData,
        "'retrieved' for retrieved holds String, not lists",
    ),
    "numbers": ({"retrieved": [1, 2]}, {}, rf.InvalidData, "holds Int64, not lists"),
    "lists of lists": ({"retrieved": [[["x"]], [["z"]]]}, {}, rf.InvalidData, "a document is a text or a number"),
    "ids of two types": (
        {"retrieved": [[1], [2]]},
        {},
        rf.InvalidData,
        "lists of Int64 and column 'relevant' of String",
    ),
    "texts as scores": ({"s": [["1"], ["2"]]}, {"scores": "s"}, rf.InvalidData, "lists of String, not of numbers"),
    "structs without a document": (
        {"retrieved": [[{"a": 1}], []]},
        {},
        rf.InvalidData,
        r"holds lists of Struct.*; a document is a text or a number",
    ),
    "another name": (
        {},
        {"retrieved": "retreived"},
        rf.MissingColumn,
        "no column 'retreived'; .* Did you mean 'retrieved'",
    ),
    "a name that is taken": ({"label": [1, 2]}, {"carry": ["label"]}, rf.InvalidOption, "two columns .* named 'label'"),
    "a word": ({}, {"repeated": "last"}, rf.InvalidOption, "repeated='last'"),
}


@each("name", TYPES)
def test_a_column_of_another_type_is_refused_at_the_call(name: str) -> None:
    columns, options, error, message = TYPES[name]
    rows = {"query_id": ["a", "b"], "retrieved": [["x"], ["z"]], "relevant": [["x"], ["z"]]}
    with pytest.raises(error, match=message):
        rf.from_lists(pl.LazyFrame(rows | columns), **options)


def test_lists_under_another_name_are_asked_for_by_the_argument_that_names_them() -> None:
    for role in ("retrieved", "relevant"):
        frame = pl.DataFrame({"query_id": [1], "retrieved": [["x"]], "relevant": [["x"]]}).rename({role: "contexts"})
        with pytest.raises(rf.MissingColumn, match=f"name the column of the {role} ones by {role}='its name'"):
            rf.from_lists(frame)


def test_what_is_no_frame_and_sets_without_order_are_refused() -> None:
    with pytest.raises(rf.InvalidData, match=r"frame=\[\] is no table; give a DataFrame"):
        rf.from_lists([])  # type: ignore[type-var]
    with pytest.raises(rf.InvalidData, match=r"holds a set at df.iloc\[1\], which has no order"):
        rf.from_lists(pd.DataFrame({"query_id": [1, 2], "retrieved": [["x"], {"y"}], "relevant": [["x"], ["y"]]}))
    with pytest.raises(rf.InvalidData, match=r"holds lists of several types; make them all text"):
        rf.from_lists(pd.DataFrame({"query_id": [1, 2], "retrieved": [["x"], [1]], "relevant": [["x"], ["y"]]}))


@every_kind
def test_a_query_without_relevant_documents_has_no_value(kind: Callable[[pl.DataFrame], Any]) -> None:
    table = rf.from_lists(kind(table_of([("a", ["x"], ["x"]), ("b", ["y"], []), ("c", [], []), ("d", [], ["z"])])))
    with pytest.warns(rf.RankframeWarning, match="2 of 4 queries have no judgments: they have no value"):
        assert rows_of(rf.rank(table).mean("rr")) == [(0.5,)]


@every_kind
def test_an_empty_frame_gives_an_empty_table(kind: Callable[[pl.DataFrame], Any]) -> None:
    schema = {"query_id": pl.String, "retrieved": pl.List(pl.String), "relevant": pl.List(pl.String)}
    found = rf.from_lists(pl.DataFrame(schema=schema))
    assert found.schema == {"query_id": pl.String, "doc_id": pl.String, "score": pl.Float64, "label": pl.Int64}
    assert found.is_empty()


def test_a_table_of_arrow_is_read_as_the_frame_that_it_holds() -> None:
    frame = table_of([("a", ["x", "y"], ["y"])])
    assert rf.from_lists(frame.to_arrow()).rows() == rf.from_lists(frame).rows()


@every_kind
def test_documents_that_no_list_names_are_numbered(kind: Callable[[pl.DataFrame], Any]) -> None:
    frame = pl.DataFrame({"query_id": ["a", "b"], "scores": [[2.0, 3.0], [1.0]], "labels": [[1, 0], [2]]})
    found = rf.from_lists(kind(frame), retrieved=None, relevant=None, scores="scores", labels="labels")
    assert rows_of(found) == [("a", 0, 2.0, 1), ("a", 1, 3.0, 0), ("b", 0, 1.0, 2)]


def test_documents_without_scores_or_with_relevant_ones_are_not_numbered() -> None:
    for options in ({"relevant": None}, {"scores": "s"}):
        with pytest.raises(rf.InvalidOption, match="retrieved=None numbers the documents of lists of scores"):
            rf.from_lists(RUNS, retrieved=None, **options)  # type: ignore[call-overload]
    short = pl.DataFrame({"query_id": ["a"], "scores": [[2.0, 3.0]], "labels": [[1]]})
    with pytest.raises(rf.InvalidData, match="has 2 documents in column 'scores' and 1 labels in column 'labels'"):
        rf.from_lists(short, retrieved=None, relevant=None, scores="scores", labels="labels")


ROWS: list[dict[str, Any]] = [
    {"query": "a", "retrieved": ["x", "y"], "relevant": ["y", "w"], "market": "de"},
    {"query": "b", "retrieved": ("z",), "relevant": {"z"}, "market": "fr"},
    {"query": "c", "retrieved": [], "relevant": np.array(["v"]), "market": "fr"},
]


def test_dictionaries_of_queries_are_rows() -> None:
    rows = [(row["query"], [*row["retrieved"]], [*row["relevant"]]) for row in ROWS]
    assert rf.from_lists(ROWS).rows() == by_loop(rows)
    numbered = rf.from_lists(ROWS, query=None, carry=["market"])
    assert numbered["query_id"].to_list() == [0, 0, 0, 1, 2]
    assert numbered["market"].to_list() == ["de", "de", "de", "fr", "fr"]
    named = [{"query_id": row["query"], "found": row["retrieved"], "right": row["relevant"]} for row in ROWS]
    assert rf.from_lists(named, retrieved="found", relevant="right").rows() == by_loop(rows)


def test_dictionaries_of_documents_with_numbers_are_read_in_dictionaries_of_queries() -> None:
    rows = [{"query": 1, "retrieved": {"x": 0.5, "y": 0.25}, "relevant": {"y": 3}}]
    assert rf.from_lists(rows).rows() == [(1, "x", 0.5, None), (1, "y", 0.25, 3)]
    structs = [{"query": 1, "retrieved": [{"id": "x", "score": 0.5}], "relevant": "x"}]
    assert rf.from_lists(structs).rows() == [(1, "x", 0.5, 1)]


def test_dictionaries_that_name_the_query_in_two_ways_or_not_at_all_are_refused() -> None:
    for keys in ({"q": 1}, {"query": 1, "topic": 2}):
        with pytest.raises(rf.MissingColumn, match="no column 'query_id'"):
            rf.from_lists([{**keys, "retrieved": ["x"], "relevant": ["x"]}])


RUNS = pl.DataFrame(
    {
        "query_id": ["a", "b", "c"],
        "old": [["x", "y"], ["z"], []],
        "new": [["y", "w", "x"], [], ["v"]],
        "relevant": [["y", "u"], ["z"], ["v"]],
    }
)
OF_RUNS = [
    ("a", "x", 1.0, 1 / 3, None),
    ("a", "y", 0.5, 1.0, 1),
    ("a", "w", None, 0.5, None),
    ("a", "u", None, None, 1),
    ("b", "z", 1.0, None, 1),
    ("c", "v", None, 1.0, 1),
]
"""The documents of each query: those of the old run, then those of the new one, then those that neither has."""


@every_kind
def test_several_columns_of_lists_are_runs_with_a_column_of_scores_each(kind: Callable[[pl.DataFrame], Any]) -> None:
    found = rf.from_lists(kind(RUNS), retrieved=["old", "new"])
    assert rows_of(found) == OF_RUNS
    frame = found.collect() if isinstance(found, pl.LazyFrame) else found
    assert [*frame.columns] == ["query_id", "doc_id", "old", "new", "label"]
    means = rf.rank(frame).mean("rr", runs=["old", "new"])
    assert [*means["rr"]] == [pytest.approx((0.5 + 1 + 0) / 3), pytest.approx((1 + 0 + 1) / 3)]


def test_each_run_has_scores_of_its_own() -> None:
    frame = RUNS.with_columns(
        s=pl.Series([[9.0, 8.0], [7.0], []]), t=pl.Series([[3.0, 2.0, 1.0], [], [5.0]]), g=pl.Series([[2, 1], [1], [3]])
    )
    found = rf.from_lists(frame, retrieved=["old", "new"], scores=["s", "t"], labels="g")
    assert found.head(2).rows() == [("a", "x", 9.0, 1.0, None), ("a", "y", 8.0, 3.0, 2)]
    without = rf.from_lists(frame, retrieved=["old", "new"], relevant=None)
    assert without.columns == ["query_id", "doc_id", "old", "new"]
    dictionaries = [{"query": 1, "a": {"x": 2.0}, "b": {"x": 1.0, "y": 3.0}, "relevant": ["y"]}]
    assert rf.from_lists(dictionaries, retrieved=["a", "b"]).rows() == [
        (1, "x", 2.0, 1.0, None),
        (1, "y", None, 3.0, 1),
    ]


@each(
    ("options", "message"),
    [
        ({"retrieved": []}, r"retrieved=\[\] names no column"),
        ({"retrieved": ["old", "old"]}, "names a column twice"),
        (
            {"retrieved": ["old", "new"], "scores": "s"},
            r"scores='s': write a list with a column or a field for each of",
        ),
        (
            {"retrieved": ["old", "new"], "scores": ["s"]},
            r"scores=\['s'\]: write a list with a column or a field for each",
        ),
        ({"retrieved": "old", "scores": ["s"]}, r"scores=\['s'\] lists columns for the one column retrieved='old'"),
        (
            {"retrieved": ["old", "new"], "relevant": None, "labels": "g"},
            "labels='g' are the labels of one run's documents",
        ),
        ({"retrieved": ["old", "label"]}, "two columns of the result are named 'label'"),
    ],
)
def test_runs_whose_lists_or_scores_cannot_be_told_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(rf.InvalidOption, match=message):
        rf.from_lists(RUNS.with_columns(label="new"), **options)


def test_runs_with_ids_of_several_types_are_refused() -> None:
    frame = pl.DataFrame({"query_id": [1], "a": [["x"]], "b": [[1]], "relevant": [["x"]]})
    with pytest.raises(rf.InvalidData, match="column 'a' holds lists of String and column 'b' of Int64"):
        rf.from_lists(frame, retrieved=["a", "b"])
    short = frame.select("query_id", a=pl.col("b").cast(pl.List(pl.Int32)), b="b", relevant="b")
    assert rf.from_lists(short, retrieved=["a", "b"]).schema["doc_id"] == pl.Int64
