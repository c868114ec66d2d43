"""``rf.fuse``: runs that are frames or files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

import rankframe as rf
from tests.support.each import each

BM25 = pl.DataFrame({"query_id": [1, 1], "doc_id": ["a", "b"], "score": [9.0, 7.0]})
DENSE = pl.DataFrame({"query_id": [1, 1], "doc_id": ["b", "c"], "score": [0.8, 0.6]})
BY_HAND = {"a": 1 / 61, "b": 1 / 62 + 1 / 61, "c": 1 / 62}


def scores(fused: Any) -> dict[str, float]:
    fused = fused.collect() if isinstance(fused, pl.LazyFrame) else fused
    return dict(zip(fused["doc_id"], fused["score"], strict=True))


@each("kind", [pl.DataFrame.clone, pl.DataFrame.lazy, pl.DataFrame.to_pandas], ids=lambda x: x.__name__)
def test_frames_of_one_kind_are_fused_into_one_of_that_kind(kind: Any) -> None:
    fused = rf.fuse([kind(BM25), kind(DENSE)])
    assert isinstance(fused, type(kind(BM25)))
    assert scores(fused) == BY_HAND


def test_files_are_read_and_named_after_their_names(tmp_path: Path) -> None:
    rf.write_run(BM25, tmp_path / "bm25.run", run="x")
    rf.write_run(DENSE, tmp_path / "dense.run", run="x")
    files = [tmp_path / "bm25.run", str(tmp_path / "dense.run")]
    assert scores(rf.fuse(files)) == BY_HAND
    weights = {"bm25": 1.0, "dense": 0.0}
    assert scores(rf.fuse(files, weights=weights)) == {"a": 1 / 61, "b": 1 / 62, "c": 0.0}


def test_frames_without_names_are_numbered() -> None:
    weights = {"run1": 0.0, "run2": 2.0}
    assert scores(rf.fuse([BM25, DENSE], weights=weights)) == {"a": 0.0, "b": 2 / 61, "c": 2 / 62}


def test_columns_of_other_names_are_bound() -> None:
    renamed = [x.rename({"query_id": "qid"}) for x in (BM25, DENSE)]
    fused = rf.fuse(renamed, "comb_sum", query="qid")
    assert fused.columns == ["qid", "doc_id", "score"]
    assert fused["score"].to_list() == [9.0, 7.8, 0.6]


@each(
    ("runs", "said"),
    [
        ([], r"\[\] holds no run"),
        (BM25, "a DataFrame is no list of runs; list the runs"),
        ([BM25, 5], "is no run; give a frame"),
        ("bm25.run", "'bm25.run' is no list of runs; list the runs"),
        ([BM25, DENSE.to_pandas()], "'run2' is a pandas DataFrame"),
    ],
)
def test_other_things_than_runs_are_refused(runs: Any, said: str) -> None:
    with pytest.raises(rf.InvalidOption, match=said):
        rf.fuse(runs)


def test_a_run_is_written_to_an_open_file(tmp_path: Path) -> None:
    with (tmp_path / "open.run").open("wb") as file:
        rf.write_run(BM25, file, run="mine")
    assert (tmp_path / "open.run").read_text() == "1 Q0 a 1 9.0 mine\n1 Q0 b 2 7.0 mine\n"
