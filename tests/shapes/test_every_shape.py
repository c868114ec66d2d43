"""One judged table in every shape gives the values of the plain-Python oracles of its long form."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl

import rankframe as rf
from tests.support.calls import ALL, assert_equal, expected, spell, values
from tests.support.each import each
from tests.support.tables import BY_CHANCE

pytestmark = BY_CHANCE

Row = tuple[Any, "float | None", "int | None"]
Table = dict[Any, list[Row]]
N_DOCS = 25
"""The documents of the collection, which are the columns of the matrices."""


def judged_table(seed: int, query: Callable[[int], Any], doc: Callable[[int], Any]) -> Table:
    """Queries with ties, short lists, unjudged and unretrieved documents, one of them with nothing retrieved.

    Every query has a judgment, and documents ascend, as the columns of a matrix do.
    """
    draw = random.Random(seed)
    table: Table = {}
    for number in range(20):
        rows: list[Row] = []
        for column in sorted(draw.sample(range(N_DOCS), draw.choice([1, 2, 5, 15, N_DOCS]))):
            score = draw.choice([None, -1.5, 0.0, 0.25, 0.25, 3.0]) if number else None
            label = draw.choice([None, 0, 0, 1, 1, 2, 3])
            if score is not None or label is not None:
                rows.append((doc(column), score, label))
        rows = rows or [(doc(0), 1.0, 1)]
        if all(label is None for _, _, label in rows):
            rows[0] = (*rows[0][:2], 1)
        table[query(number)] = rows
    return table


IDS: dict[str, tuple[Callable[[int], Any], Callable[[int], Any]]] = {
    "numbers": (lambda x: x, lambda x: x),
    "texts": (lambda x: f"q{x}", lambda x: f"d{x}"),
    "texts of digits": (str, str),
}
TABLES = {ids: judged_table(7, *of) for ids, of in IDS.items()}


def long(table: Table) -> pl.DataFrame:
    rows = [(query, *row) for query, of in table.items() for row in of]
    schema = {"query_id": None, "doc_id": None, "score": pl.Float64, "label": pl.Int64}
    return pl.DataFrame(rows, schema, orient="row").sample(fraction=1, shuffle=True, seed=3)


def run_of(table: Table) -> pl.DataFrame:
    return long(table).drop("label").drop_nulls("score")


def qrels_of(table: Table) -> pl.DataFrame:
    return long(table).drop("score").drop_nulls("label")


def lists(table: Table) -> dict[str, list[Any]]:
    """A row per query, with lists of documents, scores, judged documents and labels."""
    found: dict[str, list[Any]] = {"query_id": [], "retrieved": [], "scores": [], "relevant": [], "labels": []}
    for query, rows in table.items():
        ranked = sorted([row for row in rows if row[1] is not None], key=lambda row: -row[1])  # type: ignore[operator]
        judged = [row for row in rows if row[2] is not None]
        found["query_id"].append(query)
        found["retrieved"].append([row[0] for row in ranked])
        found["scores"].append([row[1] for row in ranked])
        found["relevant"].append([row[0] for row in judged])
        found["labels"].append([row[2] for row in judged])
    return found


def structs(table: Table) -> dict[str, list[Any]]:
    """A row per query, with lists of documents that hold their score or label."""
    flat = lists(table)
    pairs = [
        zip(flat[ids], flat[numbers], strict=True) for ids, numbers in (("retrieved", "scores"), ("relevant", "labels"))
    ]
    return {
        "query_id": flat["query_id"],
        "retrieved": [[{"id": x, "score": y} for x, y in zip(*both, strict=True)] for both in pairs[0]],
        "relevant": [[{"id": x, "label": y} for x, y in zip(*both, strict=True)] for both in pairs[1]],
    }


def in_cells(table: Table) -> pd.DataFrame:
    run, qrels = dicts(table)
    return pd.DataFrame({"query_id": [*run], "retrieved": [*run.values()], "relevant": [*qrels.values()]})


def dicts(table: Table) -> tuple[dict[Any, dict[Any, float]], dict[Any, dict[Any, int]]]:
    run = {query: {doc: score for doc, score, _ in rows if score is not None} for query, rows in table.items()}
    qrels = {query: {doc: label for doc, _, label in rows if label is not None} for query, rows in table.items()}
    return run, qrels


def matrices(table: Table) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    scores, labels = (np.full((len(table), N_DOCS), np.nan) for _ in range(2))
    for query, rows in table.items():
        for doc, score, label in rows:
            scores[query, doc] = np.nan if score is None else score
            labels[query, doc] = np.nan if label is None else label
    return scores, labels


def flat(table: Table) -> tuple[list[int], list[float], list[float]]:
    """The query, score and label of each document, query by query, documents ascending."""
    rows = [(query, score, label) for query, of in table.items() for _, score, label in of]
    nan = float("nan")
    numbers = [[nan if x is None else x for x in column] for column in zip(*(row[1:] for row in rows), strict=True)]
    return [row[0] for row in rows], numbers[0], numbers[1]


def sparse(array: np.ndarray[Any, Any]) -> Any:
    from scipy.sparse import coo_array

    row, column = np.nonzero(~np.isnan(array))
    return coo_array((array[row, column], (row, column)), shape=array.shape)


def by_arrays(table: Table, how: str) -> pl.DataFrame:
    scores, labels = matrices(table)
    query, flat_scores, flat_labels = flat(table)
    if how == "padded":
        return rf.from_arrays(scores=scores, labels=labels)
    if how == "masked":
        return rf.from_arrays(scores=np.ma.masked_invalid(scores), labels=np.ma.masked_invalid(labels))
    if how == "sparse":
        return rf.from_arrays(scores=sparse(scores), labels=sparse(labels))
    if how == "sparse labels":
        return rf.from_arrays(scores=scores, labels=sparse(labels))
    if how == "group":
        return rf.from_arrays(scores=flat_scores, labels=flat_labels, group=[len(rows) for rows in table.values()])
    order = sorted(range(len(query)), key=lambda i: (query.count(query[i]), query[i]))  # rows of a query stay in order
    columns = zip(("scores", "labels", "query"), (flat_scores, flat_labels, query), strict=True)
    return rf.from_arrays(**{name: [column[i] for i in order] for name, column in columns})


SHAPES: dict[str, Callable[[Table], Any]] = {
    "long, eager": lambda t: long(t).rank,
    "long, lazy": lambda t: long(t).lazy().rank,
    "long, pandas": lambda t: long(t).to_pandas().rank,
    "long, pandas of Arrow": lambda t: long(t).to_pandas(use_pyarrow_extension_array=True).rank,
    "lists": lambda t: rf.from_lists(pl.DataFrame(lists(t)), scores="scores", labels="labels").rank,
    "lists, lazy": lambda t: rf.from_lists(pl.LazyFrame(lists(t)), scores="scores", labels="labels").rank,
    "lists, pandas": lambda t: rf.from_lists(pd.DataFrame(lists(t)), scores="scores", labels="labels").rank,
    "structs": lambda t: rf.from_lists(pl.DataFrame(structs(t))).rank,
    "structs, lazy": lambda t: rf.from_lists(pl.LazyFrame(structs(t))).rank,
    "dicts in pandas": lambda t: rf.from_lists(pd.DataFrame(structs(t))).rank,
    "mappings in pandas": lambda t: rf.from_lists(in_cells(t)).rank,
    "dictionaries": lambda t: rf.from_dicts(**dict(zip(("run", "qrels"), dicts(t), strict=True))).rank,
    "ranks": lambda t: (
        long(t).with_columns(score=pl.col("score").rank("dense", descending=True).over("query_id"))
        .rename({"score": "rank"}).rank.on(rank="rank")
    ),
    "distances": lambda t: (
        long(t).select("query_id", "doc_id", "label", distance=2 - pl.col("score")).rank.on(score="distance", ascending=True)
    ),
    "two frames": lambda t: run_of(t).rank.judge(qrels_of(t), judged_only="keep").rank,
    "two frames, lazy": lambda t: run_of(t).lazy().rank.judge(qrels_of(t).lazy()).rank,
    "two frames, pandas": lambda t: run_of(t).to_pandas().rank.judge(qrels_of(t).to_pandas(), judged_only="keep").rank,
    "two frames of a tool": lambda t: (
        run_of(t).rename({"query_id": "qid", "doc_id": "docno"}).rank.on(names="pyterrier")
        .judge(qrels_of(t).rename({"query_id": "qid", "doc_id": "docno"}), judged_only="keep").rank
    ),
}  # fmt: skip
OF_NUMBERS: dict[str, Callable[[Table], Any]] = {
    f"arrays, {how}": lambda t, how=how: by_arrays(t, how).rank  # type: ignore[misc]
    for how in ("padded", "masked", "sparse", "sparse labels", "group", "query")
} | {
    f"ids of {dtype}": lambda t, dtype=dtype: long(t).cast({"query_id": dtype, "doc_id": dtype}).rank  # type: ignore[misc]
    for dtype in (pl.Int8, pl.UInt64, pl.Int128)
}
OF_TEXTS: dict[str, Callable[[Table], Any]] = {
    f"ids of {dtype}": lambda t, dtype=dtype: long(t).cast({"query_id": dtype, "doc_id": dtype}).rank  # type: ignore[misc]
    for dtype in (pl.Categorical, pl.Binary)
}


def in_trec_text(table: Table, folder: Path) -> tuple[pl.DataFrame, pl.DataFrame]:
    rf.write_run(run_of(table), folder / "a.run")
    rf.write_qrels(qrels_of(table), folder / "a.txt")
    return rf.read_run(folder / "a.run").drop("run"), rf.read_qrels(folder / "a.txt").drop("iteration")


def in_several_files(table: Table, folder: Path) -> tuple[pl.DataFrame, pl.DataFrame]:
    for part, queries in enumerate(([*table][::2], [*table][1::2])):
        some = {query: table[query] for query in queries}
        rf.write_run(run_of(some), folder / f"{part}.run", run="mine")
        rf.write_qrels(qrels_of(some), folder / f"{part}.txt")
    return rf.read_run(folder / "*.run").drop("run"), rf.read_qrels(folder / "*.txt").drop("iteration")


def in_tables(ending: str) -> Callable[[Table, Path], tuple[pl.DataFrame, pl.DataFrame]]:
    def write(table: Table, folder: Path) -> tuple[pl.DataFrame, pl.DataFrame]:
        run, qrels = folder / f"run.{ending}", folder / f"qrels.{ending}"
        for frame, path in ((run_of(table), run), (qrels_of(table), qrels)):
            if ending in ("csv", "tsv"):
                frame.write_csv(path, separator="\t" if ending == "tsv" else ",")
            else:
                (frame.write_parquet if ending == "parquet" else frame.write_ndjson)(path)
        return rf.read_run(run), rf.read_qrels(qrels)

    return write


def in_beir(table: Table, folder: Path) -> tuple[pl.DataFrame, pl.DataFrame]:
    (folder / "qrels").mkdir()
    rf.write_qrels(qrels_of(table), folder / "qrels" / "test.tsv", format="beir")
    return run_of(table), rf.read_qrels(folder)


def in_json(table: Table, folder: Path) -> tuple[pl.DataFrame, pl.DataFrame]:
    run, qrels = dicts(table)
    (folder / "run.json").write_text(json.dumps({query: docs for query, docs in run.items() if docs}))
    (folder / "qrels.json").write_text(json.dumps(qrels))
    return rf.read_run(folder / "run.json"), rf.read_qrels(folder / "qrels.json")


def in_rank_eval(table: Table, folder: Path) -> tuple[pl.DataFrame, pl.DataFrame]:
    run, qrels = dicts(table)
    details = {}
    for query, docs in run.items():
        hits = sorted(docs.items(), key=lambda pair: -pair[1])
        hit = [{"hit": {"_index": "i", "_id": x, "_score": y}, "rating": qrels[query].get(x)} for x, y in hits]
        details[query] = {"hits": hit, "unrated_docs": []}
    (folder / "response.json").write_text(json.dumps({"details": details}))
    rf.write_qrels(qrels_of(table), folder / "request.json", format="rank_eval", index="i")
    found = rf.read_run(folder / "response.json").drop_nulls("score").select("query_id", "doc_id", "score")
    return found, rf.read_qrels(folder / "request.json").drop("index")


FILES: dict[str, Callable[[Table, Path], tuple[pl.DataFrame, pl.DataFrame]]] = {
    "TREC text": in_trec_text,
    "several files": in_several_files,
    **{ending: in_tables(ending) for ending in ("csv", "tsv", "ndjson", "parquet")},
    "BEIR": in_beir,
    "JSON objects": in_json,
    "_rank_eval": in_rank_eval,
}


N_TURNS = 8


@cache
def wanted(ids: str, turn: int) -> list[tuple[tuple[str, dict[str, Any]], dict[Any, float | None]]]:
    """A share of the calls with the oracles' values, computed once for all shapes."""
    return [((name, options), expected(TABLES[ids], name, options, {})) for name, options in ALL[turn::N_TURNS]]


def check(ranker: Any, ids: str, turn: int) -> None:
    """Compare a share of the metrics of documents, query by query, with their oracles."""
    table, calls = TABLES[ids], wanted(ids, turn)
    found = ranker.evaluate(*(spell(*call) for call, _ in calls))
    query = ranker._setup.roles.query[0]
    if isinstance(found, pd.DataFrame):
        found = pl.from_pandas(found.reset_index())
    found = found.lazy().collect()
    for (name, options), of_oracle in calls:
        text = spell(name, options)
        of_shape = {_plain(key, table): value for key, value in values(found, text, query).items()}
        assert_equal(of_shape, of_oracle, text)


def _plain(key: Any, table: Table) -> Any:
    """A query of a result as the table names it."""
    key = key.decode() if isinstance(key, bytes) else key
    return key if key in table else int(key)


@each("turn", range(N_TURNS), sample=16)
@each(
    ("shape", "ids"),
    [
        *((shape, "numbers") for shape in OF_NUMBERS),
        *((shape, "texts") for shape in OF_TEXTS),
        *((shape, "numbers") for shape in SHAPES),
    ],
)
def test_every_shape_gives_the_values_of_the_oracles(shape: str, ids: str, turn: int) -> None:
    make = {**SHAPES, **(OF_NUMBERS if ids == "numbers" else OF_TEXTS)}[shape]
    check(make(TABLES[ids]), ids, turn)


@each("shape", SHAPES, sample=3)
@each("ids", [ids for ids in IDS if ids != "numbers"])
def test_every_shape_gives_the_values_of_the_oracles_where_ids_are_texts(shape: str, ids: str) -> None:
    check(SHAPES[shape](TABLES[ids]), ids, turn=0)


@each("turn", range(N_TURNS), sample=9)
@each("ids", ["texts", "texts of digits"])
@each("kind", FILES)
def test_every_format_of_files_gives_the_values_of_the_oracles(kind: str, ids: str, turn: int, tmp_path: Path) -> None:
    run, qrels = FILES[kind](TABLES[ids], tmp_path)
    check(run.rank.judge(qrels, judged_only="keep").rank, ids, turn)


@each("ids", ["texts", "texts of digits"], sample=2)
@each("ending", ["jsonl", "parquet"])
def test_files_of_rows_with_lists_give_the_values_of_the_oracles(ending: str, ids: str, tmp_path: Path) -> None:
    frame, path = pl.DataFrame(lists(TABLES[ids])), tmp_path / f"rows.{ending}"
    frame.write_parquet(path) if ending == "parquet" else frame.write_ndjson(path)
    check(rf.read_run(path).rank, ids, turn=1)


def test_the_table_has_all_that_the_shapes_are_to_keep() -> None:
    for table in TABLES.values():
        rows = [row for of in table.values() for row in of]
        assert any(score is None and label for _, score, label in rows)  # judged, not retrieved
        assert any(score is not None and label is None for _, score, label in rows)  # retrieved, not judged
        assert any(all(score is None for _, score, _ in of) for of in table.values())  # nothing retrieved
        assert any(len(of) == 1 for of in table.values())
        assert any(len({score for _, score, _ in of}) < len(of) for of in table.values())  # ties
