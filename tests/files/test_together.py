"""Lists and patterns of files: one table, in which a column names the run of each row."""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import rankframe as rf
from rankframe.errors import InvalidData, InvalidOption
from tests.support.each import each

READERS = each("read", [rf.read_run, lambda *x: rf.scan_run(*x).collect()], ids=["read", "scan"])


def runs_in(tmp_path: Path) -> Path:
    (tmp_path / "b.run").write_text("q1 Q0 d1 1 2.5 bm25\nq2 Q0 d1 1 7 bm25\n")
    (tmp_path / "a.run").write_text("q1 Q0 d2 1 1.5 dense\n")
    (tmp_path / "c.csv").write_text("query_id,doc_id,score,lang\n007,d1,1,en\n")
    return tmp_path


OF_A, OF_B = [("q1", "d2", 1.5, "dense")], [("q1", "d1", 2.5, "bm25"), ("q2", "d1", 7.0, "bm25")]
OF_C = [("007", "d1", 1.0, "c")]


@READERS
def test_a_pattern_names_files_in_the_order_of_their_names(read: Any, tmp_path: Path) -> None:
    folder = runs_in(tmp_path)
    assert read(folder / "*.run").rows() == read(f"{folder}/*.run").rows() == OF_A + OF_B
    assert read(str(folder / "[b]*.run")).rows() == OF_B


@READERS
def test_a_pattern_may_go_through_folders(read: Any, tmp_path: Path) -> None:
    folder = runs_in(tmp_path)
    (folder / "x" / "y").mkdir(parents=True)
    (folder / "b.run").rename(folder / "x" / "y" / "b.run")
    assert read(f"{folder}/**/*.run").rows() == OF_A + OF_B


@READERS
def test_a_list_is_read_in_its_order_and_a_file_without_a_tag_names_its_run(read: Any, tmp_path: Path) -> None:
    folder = runs_in(tmp_path)
    names = ["b.run", "c.csv", "a.run"]
    for files in ([folder / x for x in names], (str(folder / x) for x in names), tuple(folder / x for x in names)):
        frame = read(files)
        assert frame.select("query_id", "doc_id", "score", "run").rows() == OF_B + OF_C + OF_A
        assert frame["lang"].to_list() == [None, None, "en", None]


@READERS
def test_a_list_of_one_file_has_a_run_too(read: Any, tmp_path: Path) -> None:
    folder = runs_in(tmp_path)
    assert read([folder / "c.csv"]).rows() == [("007", "d1", 1.0, "en", "c")]


@READERS
def test_names_of_runs_are_as_long_as_tells_them_apart(read: Any, tmp_path: Path) -> None:
    folder = runs_in(tmp_path)
    (folder / "c.tsv").write_text("query_id\tdoc_id\tscore\nq\td\t2\n")
    assert read([folder / "c.csv", folder / "c.tsv"])["run"].to_list() == ["c.csv", "c.tsv"]
    with pytest.raises(InvalidOption, match=r"c\.csv is given twice; give each run once"):
        read([folder / "c.csv", folder / "c.csv"])


@READERS
def test_open_files_are_named_too(read: Any, tmp_path: Path) -> None:
    folder = runs_in(tmp_path)
    with (folder / "c.csv").open("rb") as file:
        assert read([file, folder / "a.run"])["run"].to_list() == ["c", "dense"]


@READERS
def test_ids_of_unlike_types_become_text(read: Any, tmp_path: Path) -> None:
    folder = runs_in(tmp_path)
    pl.DataFrame({"query_id": [7], "doc_id": ["d"], "score": [1]}).write_parquet(folder / "n.parquet")
    frame = read([folder / "n.parquet", folder / "c.csv"])
    assert frame["query_id"].to_list() == ["7", "007"]
    assert frame["score"].to_list() == [1.0, 1.0]


@READERS
def test_columns_that_do_not_fit_together_are_refused(read: Any, tmp_path: Path) -> None:
    folder = runs_in(tmp_path)
    (folder / "n.jsonl").write_text('{"query_id": "q", "doc_id": "d", "score": 1, "lang": ["en"]}\n')
    with pytest.raises((InvalidData, pl.exceptions.InvalidOperationError), match=r"cannot cast List type"):
        read([folder / "c.csv", folder / "n.jsonl"])
    for name, lang in (("o", pl.lit(True)), ("p", pl.date(2024, 1, 2))):
        table = pl.select(query_id=pl.lit("q"), doc_id=pl.lit(name), score=1, lang=lang)
        table.write_parquet(folder / f"{name}.parquet")
    with pytest.raises(InvalidData, match=r"columns of unlike types, \['lang'\]: failed to determine supertype"):
        read([folder / "o.parquet", folder / "p.parquet"])


def test_a_run_may_stand_in_several_files_by_query_and_no_query_twice(tmp_path: Path) -> None:
    folder = runs_in(tmp_path)
    (folder / "b2.run").write_text("q3 Q0 d1 1 2 bm25\n")
    assert rf.read_run(folder / "b*.run")["query_id"].to_list() == ["q1", "q2", "q3"]
    (folder / "b2.run").write_text("q3 Q0 d1 1 2 bm25\nq2 Q0 d9 1 2 bm25\n")
    with pytest.raises(InvalidData, match=r"query 'q2' of run 'bm25' stands in .*b\.run and in .*b2\.run; keep one"):
        rf.read_run(folder / "b*.run")


def test_a_null_tag_of_a_table_becomes_the_name_of_its_file(tmp_path: Path) -> None:
    folder = runs_in(tmp_path)
    (folder / "d.jsonl").write_text('{"query_id": "q", "doc_id": "d", "score": 1, "run": null}\n')
    assert rf.read_run([folder / "d.jsonl"])["run"].to_list() == ["d"]


def test_responses_and_predictions_come_together(tmp_path: Path) -> None:
    folder = runs_in(tmp_path)
    (folder / "es.json").write_text(
        '{"details": {"q1": {"hits": [{"hit": {"_index": "i", "_id": "d", "_score": 1}}]}}}'
    )
    (folder / "p.json").write_text('{"q1": {"d": 0.5}}')
    frame = rf.read_run(folder / "*.json")
    assert frame.select("query_id", "doc_id", "score", "run").rows() == [("q1", "d", 1.0, "es"), ("q1", "d", 0.5, "p")]


@READERS
def test_an_error_names_the_file(read: Any, tmp_path: Path) -> None:
    folder = runs_in(tmp_path)
    (folder / "z.run").write_text("q1 Q0 d1 1 high z\n")
    with pytest.raises((InvalidData, pl.exceptions.InvalidOperationError), match=r"z\.run, line 1: score 'high'"):
        read(folder / "*.run")
    with pytest.raises(FileNotFoundError, match=r"/no\.run"):
        read([folder / "a.run", folder / "no.run"])


@READERS
def test_no_files_are_an_error(read: Any, tmp_path: Path) -> None:
    folder = runs_in(tmp_path)
    with pytest.raises(InvalidOption, match=r"there is no file in .*\*\.no'\); name at least one"):
        read(folder / "*.no")
    with pytest.raises(InvalidOption, match=r"there is no file in \[\]; name at least one that exists"):
        read([])


def test_options_are_those_of_every_file() -> None:
    frame = rf.read_run(
        [io.StringIO("qid,d,s\nq,a,1\n")], format="csv", columns={"qid": "query_id", "d": "doc_id", "s": "score"}
    )
    assert frame.rows() == [("q", "a", 1.0, "the input")]


OF_QRELS = each("read", [rf.read_qrels, lambda *x, **y: rf.scan_qrels(*x, **y).collect()], ids=["read", "scan"])


def judgments_in(tmp_path: Path) -> Path:
    (tmp_path / "b.txt").write_text("q1 0 d1 2\nq2 0 d1 0\n")
    (tmp_path / "a.txt").write_text("q1 0 d2 1\n")
    (tmp_path / "c.csv").write_text("query_id,doc_id,label\n007,d1,1\n")
    return tmp_path


@OF_QRELS
def test_judgments_of_several_files_are_one_table_without_a_column_of_runs(read: Any, tmp_path: Path) -> None:
    judgments = judgments_in(tmp_path)
    wanted = [("q1", "d2", 1), ("q1", "d1", 2), ("q2", "d1", 0)]
    for files in (judgments / "*.txt", f"{judgments}/*.txt", [judgments / "a.txt", judgments / "b.txt"]):
        found = read(files)
        assert found.columns == ["query_id", "iteration", "doc_id", "label"]
        assert found.select("query_id", "doc_id", "label").rows() == wanted
    mixed = read(iter([judgments / "c.csv", judgments / "a.txt"]))
    assert mixed.select("query_id", "doc_id", "label", "iteration").rows() == [
        ("007", "d1", 1, None),
        ("q1", "d2", 1, "0"),
    ]
    assert read(judgments / "*.txt", label_dtype=pl.String)["label"].to_list() == ["1", "2", "0"]


def test_a_document_that_is_judged_in_two_files_is_refused_with_their_names(tmp_path: Path) -> None:
    judgments = judgments_in(tmp_path)
    (judgments / "z.txt").write_text("q2 0 d1 1\n")
    with pytest.raises(InvalidData, match=r"document 'd1' of query 'q2' stands in .*b\.txt and in .*z\.txt"):
        rf.read_qrels(judgments / "*.txt")
    (judgments / "z.txt").write_text("q2 1 d1 1\n")  # for another subtopic
    assert rf.read_qrels(judgments / "*.txt").height == 4


def test_a_query_without_judgments_may_stand_in_several_files(tmp_path: Path) -> None:
    judgments = judgments_in(tmp_path)
    for name in "xy":
        (judgments / f"{name}.jsonl").write_text('{"query_id": "q", "relevant": []}\n')
    assert rf.read_qrels(judgments / "*.jsonl").select("query_id", "doc_id").rows() == [("q", None)] * 2


@each("reader", [rf.read_run, rf.read_qrels])
def test_lists_in_lists_and_patterns_in_lists_are_refused(reader: Any, tmp_path: Path) -> None:
    judgments = judgments_in(tmp_path)
    path = str(judgments / "*.txt")
    with pytest.raises(FileNotFoundError, match=re.escape(path)):
        reader([path])
    with pytest.raises(InvalidOption, match=rf"is no file; {reader.__name__} reads a path, or an open file"):
        reader([[path]])
