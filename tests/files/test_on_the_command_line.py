"""The files of other tools on the command line, each known by its look or named by ``--input``."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Any, get_args

import pytest

from rankframe._command import main
from rankframe._files.formats import FormatName
from tests.support.each import each

RUN = "q1 Q0 d1 1 3 t\nq1 Q0 d2 2 2 t\nq2 Q0 d3 1 1 t\n"
BEIR = "query-id\tcorpus-id\tscore\nq1\td2\t1\nq2\td3\t1\n"  # reciprocal ranks 1/2 and 1


def hits(*docs: tuple[str, int]) -> dict[str, Any]:
    return {"hits": [{"hit": {"_index": "i", "_id": doc, "_score": None}, "rating": rating} for doc, rating in docs]}


FILES = {
    "a.run": RUN,
    "qrels.tsv": BEIR,
    "beir/qrels/test.tsv": BEIR,
    "response.json": json.dumps({"details": {"q1": hits(("d1", 0), ("d2", 1)), "q2": hits(("d3", 1))}}),
    "request.json": json.dumps(
        {"requests": [{"id": q, "ratings": [{"_index": "i", "_id": d, "rating": 1}]} for q, d in (("q1", "d2"), ("q2", "d3"))]}
    ),
    "basic.csv": "query,docid,rating\nq1,d2,1\nq2,d3,1",
    "detailed.csv": "Query Text,Doc ID,Doc Position,Rating\nq1,d1,1,0\nq1,d2,2,1\nq2,d3,1,1\n",
    "snapshot.csv": "Snapshot Name,Query Text,Doc ID,Doc Position\ns,q1,d1,1\ns,q1,d2,2\ns,q2,d3,1\n",
    "predictions.json": json.dumps({"mteb_model_meta": {"model_name": "m"}, "en": {"test": {"q1": {"d1": 3, "d2": 2}, "q2": {"d3": 1}}}}),
    "lists.jsonl": '{"query_id": "q1", "retrieved": ["d1", "d2"], "relevant": ["d2"]}\n{"query_id": "q2", "retrieved": ["d3"], "relevant": ["d3"]}\n',
}  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "beir" / "qrels").mkdir(parents=True)
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.usefixtures("folder")
@each(
    "asked",
    [
        "a.run --qrels qrels.tsv",
        "a.run --qrels beir",
        "a.run --qrels beir --qrels-input beir",
        "a.run --qrels request.json",
        "a.run --qrels basic.csv",
        "a.run --qrels lists.jsonl",
        "response.json",
        "response.json --input rank_eval",
        "response.json --qrels request.json",
        "detailed.csv",
        "detailed.csv --input quepid",
        "detailed.csv --qrels basic.csv",
        "snapshot.csv --qrels basic.csv --qrels-input quepid",
        "predictions.json --qrels qrels.tsv",
        "predictions.json --input mteb --qrels qrels.tsv",
        "lists.jsonl",
        "lists.jsonl --qrels beir",
    ],
)
def test_evaluate_knows_a_file_by_its_look(asked: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["evaluate", *asked.split(), "-m", "rr", "--per-query", "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [(row["query_id"], row["rr"]) for row in found] == [("q1", 0.5), ("q2", 1.0)]


@pytest.mark.usefixtures("folder")
def test_standard_input_is_known_by_its_look(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(FILES["response.json"].encode())))
    assert main(["evaluate", "-", "-m", "rr", "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)[0]["mean"] == 0.75


def test_the_choices_are_the_declared_formats(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["evaluate", "a.run", "--input", "xml"])
    said = capsys.readouterr().err
    assert all(each in said for each in get_args(FormatName))
