"""``rankframe fuse``: which files it takes, and what it writes."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

import rankframe as rf
from rankframe._command import main
from tests.support.each import each

# By hand with k = 60: d1 1/61 + 1/62, d2 1/62 + 1/61, d3 1/63, d4 1/61, d5 1/61.
A = "q1 Q0 d1 1 3 t\nq1 Q0 d2 2 2 t\nq1 Q0 d3 3 1 t\nq2 Q0 d4 1 5 t\n"
B = "q1 Q0 d2 1 3 u\nq1 Q0 d1 2 2 u\nq2 Q0 d5 1 5 u\n"
QRELS = "q1 0 d2 1\nq1 0 d9 2\nq2 0 d4 1\n"
FUSED = {("q1", "d1"): 1 / 61 + 1 / 62, ("q1", "d2"): 1 / 62 + 1 / 61, ("q1", "d3"): 1 / 63, ("q2", "d4"): 1 / 61,
         ("q2", "d5"): 1 / 61}  # fmt: skip

Out = Callable[..., str]


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.run").write_text(A)
    Path("b.run").write_text(B)
    Path("qrels.txt").write_text(QRELS)


@pytest.fixture
def out(capsys: pytest.CaptureFixture[str]) -> Out:
    def run(*words: str, code: int = 0) -> str:
        try:
            found = main(["fuse", *words])
        except SystemExit as error:
            found = int(str(error.code))
        said = capsys.readouterr()
        assert found == code, said.err
        return said.out if code == 0 else said.err

    return run


def as_values(frame: pl.DataFrame) -> dict[tuple[str, str], float]:
    return {(query, doc): score for query, doc, score in frame.select("query_id", "doc_id", "score").iter_rows()}


@each("name", ["fused.run", "fused.trec", "fused.run.gz", "fused.csv", "fused.parquet"])
def test_two_files_are_fused_into_a_file_of_any_format(out: Out, name: str) -> None:
    assert out("a.run", "b.run", "--method", "rrf", "-o", name) == ""
    if name.endswith(".gz"):
        assert gzip.decompress(Path(name).read_bytes()).startswith(b"q1 Q0 d2 1 ")
    found = pl.read_csv(name) if name.endswith(".csv") else rf.read_run(name)
    assert as_values(found) == pytest.approx(FUSED, abs=1e-15)


def test_a_run_is_printed_as_trec_text(out: Out) -> None:
    lines = [line.split() for line in out("a.run", "b.run", "--format", "trec").splitlines()]
    assert [(query, doc, rank, tag) for query, _, doc, rank, _, tag in lines] == [
        ("q1", "d2", "1", "fused"),
        ("q1", "d1", "2", "fused"),
        ("q1", "d3", "3", "fused"),
        ("q2", "d5", "1", "fused"),
        ("q2", "d4", "2", "fused"),
    ]


def test_options_of_the_method_are_options_of_the_command(out: Out) -> None:
    # min-max: a has d1 1, d2 0.5, d3 0, d4 1; b has d2 1, d1 0, d5 1
    words = ["--method", "wsum", "--normalize", "min-max", "--weights", "0.75,0.25", "--format", "trec"]
    scores = {line.split()[2]: float(line.split()[4]) for line in out("a.run", "b.run", *words).splitlines()}
    assert scores == {"d1": 0.75, "d2": 0.625, "d3": 0.0, "d4": 0.75, "d5": 0.25}
    top = out("a.run", "b.run", "--depth", "1", "--format", "trec").splitlines()
    assert {line.split()[2] for line in top} == {"d1", "d2", "d4", "d5"}


def test_judgments_are_joined_as_labels(out: Out) -> None:
    out("a.run", "b.run", "--qrels", "qrels.txt", "-o", "fused.parquet")
    fused = pl.read_parquet("fused.parquet")
    assert {(doc, label) for doc, label in fused.select("doc_id", "label").iter_rows()} == {
        ("d1", None), ("d2", 1), ("d3", None), ("d9", 2), ("d4", 1), ("d5", None),
    }  # fmt: skip
    assert fused.filter(doc_id="d9")["score"].to_list() == [None]
    assert fused.rank.evaluate("rr")["rr"].to_list() == [1.0, 0.5]  # d5 stands before d4, with an equal score


@each("option", ["--runs=a,b", "--run=system"])
def test_one_table_holds_the_runs(out: Out, option: str) -> None:
    long = pl.concat(rf.read_run(f"{name}.run").with_columns(system=pl.lit(name)) for name in "ab").drop(
        "run", strict=False
    )
    wide = long.pivot("system", index=["query_id", "doc_id"], values="score")
    (wide if option == "--runs=a,b" else long).write_parquet("table.parquet")
    out("table.parquet", option, "-o", "fused.parquet")
    assert as_values(pl.read_parquet("fused.parquet")) == pytest.approx(FUSED, abs=1e-15)


@each(
    ("words", "said"),
    [
        (["a.run", "b.run", "--runs", "a,b"], "--runs names columns of one table, and there are several files"),
        (["a.run", "b.run", "--run", "system"], "--run names a column of one table, and there are several files"),
        (["a.run", "b.run", "--method", "rff"], "unknown fusion method 'rff'. Did you mean 'rrf'?"),
        (["a.run", "b.run", "--normalize", "max"], "rrf goes by ranks alone"),
        (["a.run", "b.run", "--method", "wsum", "--weights", "1"], "--weights 1.0: the runs are 2, the weights 1"),
        (["a.run", "b.run", "-o", "fused.pdf"], "write a file that ends in .run or .trec or .txt or .gz"),
    ],
)
def test_a_mistake_gets_advice(out: Out, words: list[str], said: str) -> None:
    assert said in out(*words, code=2)


def test_a_method_is_tuned_by_cross_validation(capsys: pytest.CaptureFixture[str]) -> None:
    # By hand: a has its relevant document at ranks 2 and 1, b at rank 1 and not at all.
    words = ["tune", "a.run", "b.run", "--qrels", "qrels.txt", "-m", "rr", "--folds", "2", "--resamples", "99"]
    options = ["--method", "wsum", "--normalize", "min_max", "--step", "0.5"]
    assert main([*words, *options, "--format", "csv"]) == 0
    rows = [line.split(",") for line in capsys.readouterr().out.splitlines()]
    means = {row[0]: float(row[2]) for row in rows[1:] if row[0] in "ab"}
    assert means == {"a": 0.75, "b": 0.5}
    assert main([*words, *options]) == 0
    assert "rr out of fold" in capsys.readouterr().out


def test_several_methods_are_tuned_together(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["tune", "a.run", "b.run", "--qrels", "qrels.txt", "-m", "rr", "--folds", "2", "--resamples", "99"]
    assert main([*words, "--method", "rrf(k=1)", "--method", "comb_mnz(normalize=min_max)"]) == 0
    assert "chosen among" in capsys.readouterr().out


def test_a_fused_table_stands_by_query_and_falling_score_as_a_fused_run_does(out: Out) -> None:
    Path("c.run").write_text("q1 Q0 d3 1 9 v\nq1 Q0 d1 2 8 v\nq2 Q0 d5 1 5 v\nq2 Q0 d4 2 4 v\n")
    # By hand: d1 1/61 + 1/62, d2 1/62, d3 1/63 + 1/61, of q2 d4 1/61 + 1/62, d5 1/61; d1 = 0.03252, d3 = 0.03227.
    rows = out("a.run", "c.run", "--format", "csv").splitlines()[1:]
    assert [row.rsplit(",", 1)[0] for row in rows] == ["q1,d1", "q1,d3", "q1,d2", "q2,d4", "q2,d5"]
    lines = out("a.run", "c.run", "--format", "trec").splitlines()
    assert [",".join(line.split()[:3:2]) for line in lines] == [row.rsplit(",", 1)[0] for row in rows]
