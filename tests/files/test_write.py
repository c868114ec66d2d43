"""Runs and judgments written to files: other tools read the same ranking, scores and labels."""

from __future__ import annotations

import csv
import gzip
import io
import json
import math
import os
import random
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import pytrec_eval

import rankframe as rf
from rankframe.errors import InvalidData, InvalidOption, MissingColumn, RankframeWarning
from tests.support.each import each
from tests.support.tables import BY_CHANCE

pytestmark = BY_CHANCE
LOST = pytest.mark.filterwarnings("ignore:.* of labels are null:rankframe.RankframeWarning")

N = None
RUN = pl.DataFrame(
    {
        "query_id": ["q2", "q1", "q1", "q1", "q1"],
        "doc_id": ["d1", "d1", "d10", "d9", "d7"],
        "score": [1.0, 0.1, 0.5, 0.5, N],
        "label": [1, N, 2, 0, 1],
    }
)
QRELS = pl.DataFrame({"query_id": ["q1", "q1", "q2"], "doc_id": ["d1", "d2", "d1"], "label": [2, 0, -1]})


def lines(path: Path) -> list[str]:
    return path.read_text().splitlines()


# runs


def test_a_run_is_written_in_rank_order_with_ties_as_trec_eval_breaks_them(tmp_path: Path) -> None:
    rf.write_run(RUN, tmp_path / "a.run")
    assert lines(tmp_path / "a.run") == [
        "q2 Q0 d1 1 1.0 rankframe",
        "q1 Q0 d9 1 0.5 rankframe",
        "q1 Q0 d10 2 0.5 rankframe",
        "q1 Q0 d1 3 0.1 rankframe",
    ]


def test_whole_numbers_as_documents_are_ordered_by_their_text(tmp_path: Path) -> None:
    frame = pl.DataFrame({"query_id": [1, 1], "doc_id": [10, 9], "score": [3, 3]})
    rf.write_run(frame, tmp_path / "a.run", run="x")
    assert lines(tmp_path / "a.run") == ["1 Q0 9 1 3 x", "1 Q0 10 2 3 x"]


def test_scores_are_read_back_as_the_same_floats(tmp_path: Path) -> None:
    draw = random.Random(1)
    floats = [struct.unpack("d", struct.pack("Q", draw.getrandbits(64)))[0] for _ in range(3000)]
    floats = [x for x in floats if not math.isnan(x)] + [
        5e-324,
        1.7976931348623157e308,
        -0.0,
        0.1,
        1e16,
        1e23,
        math.inf,
    ]
    frame = pl.DataFrame({"query_id": "q", "doc_id": [f"d{i}" for i in range(len(floats))], "score": floats})
    rf.write_run(frame, tmp_path / "a.run")
    given = dict(zip(frame["doc_id"], floats, strict=True))
    ours = dict(rf.read_run(tmp_path / "a.run").select("doc_id", "score").iter_rows())
    python = {fields[2]: float(fields[4]) for fields in map(str.split, lines(tmp_path / "a.run"))}
    assert ours == python == given
    order = [line.split()[2] for line in lines(tmp_path / "a.run")]
    assert order == sorted(given, key=lambda doc: (given[doc], doc), reverse=True)


def test_scores_of_other_types_are_exact(tmp_path: Path) -> None:
    for dtype, values in ((pl.Float32, [0.1, 16777217.0]), (pl.Int64, [2**62 + 1, -1]), (pl.UInt8, [255, 0])):
        frame = pl.DataFrame({"query_id": "q", "doc_id": ["a", "b"], "score": pl.Series(values, dtype=dtype)})
        rf.write_run(frame, tmp_path / "a.run")
        written = {f[2]: f[4] for f in map(str.split, lines(tmp_path / "a.run"))}
        kind = float if dtype.is_float() else int
        assert {doc: kind(x) for doc, x in written.items()} == dict(frame.select("doc_id", "score").iter_rows())


@each("seed", range(3))
@LOST
def test_pytrec_eval_reads_the_written_files_to_equal_values(seed: int, tmp_path: Path) -> None:
    draw = random.Random(seed)
    rows = [
        (f"q{q}", f"d{d}", draw.choice([0.5, 0.25, 0.125, draw.random()]), draw.choice([N, 0, 1, 2]))
        for q in range(20)
        for d in range(30)
    ]
    frame = pl.DataFrame(rows, schema=["query_id", "doc_id", "score", "label"], orient="row")
    frame = frame.with_columns(pl.col("score").cast(pl.Float32).cast(pl.Float64)).sample(
        fraction=1, shuffle=True, seed=seed
    )
    rf.write_run(frame, tmp_path / "a.run")
    rf.write_qrels(frame, tmp_path / "a.qrels")
    with (tmp_path / "a.run").open() as run, (tmp_path / "a.qrels").open() as qrels:
        evaluator = pytrec_eval.RelevanceEvaluator(pytrec_eval.parse_qrel(qrels), {"map", "ndcg_cut_10", "recip_rank"})
        theirs = evaluator.evaluate(pytrec_eval.parse_run(run))
    ours = frame.rank.evaluate("map", "ndcg_cut_10", "recip_rank")  # type: ignore[attr-defined]
    assert len(theirs) == len(ours) == 20
    for query, *values in ours.iter_rows():
        assert values == pytest.approx(
            [theirs[query][name] for name in ("map", "ndcg_cut_10", "recip_rank")], abs=1e-12
        )


def test_the_tag_is_the_column_run_or_the_one_that_is_said(tmp_path: Path) -> None:
    tagged = RUN.with_columns(run=pl.lit("bm25"))
    rf.write_run(tagged, tmp_path / "a.run")
    assert rf.read_run(tmp_path / "a.run")["run"].unique().to_list() == ["bm25"]
    rf.write_run(tagged, tmp_path / "a.run", run="mine")
    assert rf.read_run(tmp_path / "a.run")["run"].unique().to_list() == ["mine"]


def test_several_runs_are_refused_with_how_to_write_each(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    df = pl.concat([RUN.with_columns(run=pl.lit(name)) for name in ("a", "b")])
    with pytest.raises(InvalidOption, match="the column 'run' has the runs 'a', 'b', and a file holds one"):
        rf.write_run(df, tmp_path / "x.run")
    monkeypatch.chdir(tmp_path)
    for (name,), part in df.partition_by("run", as_dict=True).items():
        rf.write_run(part, f"{name}.run")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.run", "b.run"]
    assert rf.read_run("*.run")["run"].unique().sort().to_list() == ["a", "b"]


def test_queries_that_a_file_cannot_hold_are_told(tmp_path: Path) -> None:
    frame = pl.DataFrame(
        {"query_id": ["a", "b", "c"], "doc_id": ["x", "y", N], "score": [1.0, N, N], "label": [1, N, N]}
    )
    with pytest.warns(
        RankframeWarning, match="nothing was retrieved for 2 queries, which the file cannot hold: 'b', 'c'"
    ):
        rf.write_run(frame, tmp_path / "a.run")
    with pytest.warns(RankframeWarning, match="nothing was judged for 2 queries"):
        rf.write_qrels(frame, tmp_path / "a.qrels")
    assert len(lines(tmp_path / "a.run")) == len(lines(tmp_path / "a.qrels")) == 1


FRAMES = {
    "Polars": lambda frame: frame,
    "lazy": lambda frame: frame.lazy(),
    "pandas": lambda frame: frame.to_pandas(),
    "PyArrow": lambda frame: frame.to_arrow(),
}


@each("make", FRAMES.values(), ids=FRAMES)
def test_any_frame_is_written_and_stays_as_it_was(make: Any, tmp_path: Path) -> None:
    frame, again = make(RUN), make(RUN)
    rf.write_run(frame, tmp_path / "a.run")
    rf.write_qrels(frame, tmp_path / "a.qrels")
    assert len(lines(tmp_path / "a.run")) == 4
    assert lines(tmp_path / "a.qrels") == ["q2 0 d1 1", "q1 0 d10 2", "q1 0 d9 0", "q1 0 d7 1"]
    if isinstance(frame, pd.DataFrame):
        pd.testing.assert_frame_equal(frame, again)
    elif isinstance(frame, pa.Table):
        assert frame.equals(again)
    else:
        assert frame.lazy().collect().equals(again.lazy().collect())


def test_columns_may_have_other_names_and_categories(tmp_path: Path) -> None:
    frame = pl.DataFrame({"qid": [7], "item": pl.Series(["a"], dtype=pl.Categorical), "s": [1.5], "rel": [True]})
    rf.write_run(frame, tmp_path / "a.run", query="qid", doc="item", score="s")
    rf.write_qrels(frame, tmp_path / "a.qrels", query="qid", doc="item", label="rel")
    assert lines(tmp_path / "a.run") + lines(tmp_path / "a.qrels") == ["7 Q0 a 1 1.5 rankframe", "7 0 a 1"]


# judgments


def test_judgments_of_trec_are_read_back(tmp_path: Path) -> None:
    rf.write_qrels(QRELS, tmp_path / "q")
    assert rf.read_qrels(tmp_path / "q").drop("iteration").equals(QRELS)
    nested = QRELS.with_columns(iteration=pl.Series(["1", N, "3"]))
    rf.write_qrels(nested, tmp_path / "q")
    assert lines(tmp_path / "q") == ["q1 1 d1 2", "q1 0 d2 0", "q2 3 d1 -1"]


def test_a_document_may_be_judged_for_several_subtopics_in_trec_text(tmp_path: Path) -> None:
    frame = pl.DataFrame({"query_id": "q", "iteration": ["1", "2"], "doc_id": "d", "label": [1, 1]})
    rf.write_qrels(frame, tmp_path / "q")
    assert rf.read_qrels(tmp_path / "q").rows() == [("q", "1", "d", 1), ("q", "2", "d", 1)]
    with pytest.raises(InvalidData, match="row 1: query_id 'q' and doc_id 'd' also appear on row 0; keep one"):
        rf.write_qrels(frame, tmp_path / "q", format="beir")


def test_judgments_of_beir_are_read_back_and_by_its_loader(tmp_path: Path) -> None:
    frame = QRELS.with_columns(doc_id=pl.Series(["d 1", 'the "2"', "d1"]))
    (tmp_path / "qrels").mkdir()
    rf.write_qrels(frame, tmp_path / "qrels" / "test.tsv", format="beir")
    assert lines(tmp_path / "qrels" / "test.tsv")[0] == "query-id\tcorpus-id\tscore"
    assert rf.read_qrels(tmp_path).drop("query_text").equals(frame)
    with (tmp_path / "qrels" / "test.tsv").open(newline="") as file:  # as the loader of BEIR reads it
        _, *rows = csv.reader(file, delimiter="\t", quoting=csv.QUOTE_MINIMAL)
    assert [(query, doc, int(label)) for query, doc, label in rows] == frame.rows()


def test_ratings_of_quepid_are_read_back_with_text_and_fractions_and_unrated_queries(tmp_path: Path) -> None:
    rows = [
        ("war, star", "1", 1.5),
        ('a "b"', "2", 0.0),
        ("-1 degree", "=3", 2.0),
        ("nothing", N, N),
        ("caf\u00e9", "x", N),
    ]
    frame = pl.DataFrame(rows, schema=["query_id", "doc_id", "label"], orient="row")
    rf.write_qrels(frame, tmp_path / "ratings.csv", format="quepid")
    written = list(csv.reader(io.StringIO((tmp_path / "ratings.csv").read_text())))
    assert written == [
        ["query", "docid", "rating"],
        ["war, star", "1", "1.5"],
        ['a "b"', "2", "0.0"],
        [" -1 degree", " =3", "2.0"],
        ["nothing", "", ""],
        ["caf\u00e9", "", ""],
    ]
    read = rf.read_qrels(tmp_path / "ratings.csv", label_dtype=pl.Float64)
    assert read.rows() == [*rows[:4], ("caf\u00e9", N, N)]


def test_ratings_of_rank_eval_are_json_and_are_read_back(tmp_path: Path) -> None:
    rows = [("q 1", "d\n1", 2), ("q2", "caf\u00e9", 0), ("q 1", "d2", 1), ("none", N, N)]
    frame = pl.DataFrame(rows, schema=["query_id", "doc_id", "label"], orient="row")
    rf.write_qrels(frame, tmp_path / "r.json", format="rank_eval", index="products")
    ratings = [
        [{"_index": "products", "_id": doc, "rating": label} for q, doc, label in rows if q == x and doc]
        for x in ("q 1", "q2", "none")
    ]
    expected = {"requests": [{"id": q, "ratings": r} for q, r in zip(("q 1", "q2", "none"), ratings, strict=True)]}
    assert json.loads((tmp_path / "r.json").read_text()) == expected
    read = rf.read_qrels(tmp_path / "r.json")
    assert read.drop("index").rows() == [rows[0], rows[2], rows[1], rows[3]]
    rf.write_qrels(read, tmp_path / "again.json", format="rank_eval")
    assert (tmp_path / "again.json").read_bytes() == (tmp_path / "r.json").read_bytes()


def test_an_id_of_two_indices_is_two_documents_of_rank_eval(tmp_path: Path) -> None:
    frame = pl.DataFrame({"query_id": "q", "doc_id": "d", "index": ["a", "b"], "label": [1.0, 2.0]})
    rf.write_qrels(frame, tmp_path / "r.json", format="rank_eval")
    assert rf.read_qrels(tmp_path / "r.json").rows() == [("q", "d", 1, "a"), ("q", "d", 2, "b")]


@each("format", ["trec", "beir", "quepid", "rank_eval"])
def test_nothing_is_written_as_nothing(format: Any, tmp_path: Path) -> None:
    rf.write_qrels(QRELS.clear(), tmp_path / "q", format=format, index="i" if format == "rank_eval" else None)
    assert rf.read_qrels(tmp_path / "q", format=format).is_empty()


# what is refused


def refused(call: Any, path: Path) -> str:
    with pytest.raises((InvalidData, InvalidOption, MissingColumn)) as caught:
        call(path / "x")
    assert list(path.iterdir()) == []
    return str(caught.value)


def one(query: Any = "q", doc: Any = "d", number: Any = 1) -> pl.DataFrame:
    rows = [("first", "d0", type(number)(0) if number is not N else 0), (query, doc, number)]
    return pl.DataFrame(rows, schema=["query_id", "doc_id", "score"], orient="row").with_columns(label="score")


WHITE = [" ", "a b", "a\tb", "a\u00a0b", "a\u2028b", "a\x1cb", "b\n"]


@each("doc", WHITE)
def test_white_space_in_ids_of_trec_text_is_refused_with_the_row(doc: str, tmp_path: Path) -> None:
    for write in (rf.write_run, rf.write_qrels):
        says = f"row 1: {doc!r} holds white space, which separates fields there; replace it"
        assert refused(lambda path, write=write: write(one(doc=doc), path), tmp_path) == f"column 'doc_id', {says}"
        assert refused(lambda path, write=write: write(one(query=doc), path), tmp_path) == f"column 'query_id', {says}"
    assert "column 'run', row 0" in refused(lambda path: rf.write_run(one(), path, run=doc), tmp_path)


REFUSED = {
    "column 'query_id', row 1: '#q' starts as a comment": lambda path: rf.write_run(one(query="#q"), path),
    "column 'query_id', row 1: '{\"q\":1}' starts as a comment, a byte-order mark or JSON": lambda path: rf.write_qrels(
        one(query='{"q":1}'), path
    ),
    "column 'query_id', row 1: None names nothing": lambda path: rf.write_run(one(query=N), path),
    "column 'doc_id', row 1: '' names nothing": lambda path: rf.write_run(one(doc=""), path),
    "column 'score', row 1: nan is no number": lambda path: rf.write_run(one(number=math.nan), path),
    "column 'score' holds String": lambda path: rf.write_run(one(number="1"), path),
    "column 'doc_id' holds Float64; write ids as text": lambda path: rf.write_run(
        RUN.with_columns(doc_id=pl.lit(1.0)), path
    ),
    "no column 'score'; the table has": lambda path: rf.write_run(QRELS, path),
    "no column 'rel'; the table has": lambda path: rf.write_qrels(QRELS, path, label="rel"),
    "row 2: query_id 'q1' and doc_id 'd10' and run 'rankframe' also appear on row 1; keep one": lambda path: (
        rf.write_run(pl.concat([RUN[:1], RUN[2:3], RUN[2:3]]), path)
    ),
    "column 'label', row 1: 1.5 is no whole number": lambda path: rf.write_qrels(one(number=1.5), path),
    "column 'label', row 1: inf is no finite number": lambda path: rf.write_qrels(
        one(number=math.inf), path, format="quepid"
    ),
    "row 1: 1.5 is no whole": lambda path: rf.write_qrels(one(number=1.5), path, format="rank_eval", index="i"),
    "row 1: 'a\\tb' holds a tab or a line break": lambda path: rf.write_qrels(one(doc="a\tb"), path, format="beir"),
    "row 1: ' a' starts or ends with white space": lambda path: rf.write_qrels(one(query=" a"), path, format="quepid"),
    "format='xml': write one of 'trec', 'beir', 'quepid', 'rank_eval'": lambda path: rf.write_qrels(
        one(), path, format="xml"
    ),  # type: ignore[arg-type]
    "say index='products'": lambda path: rf.write_qrels(one(), path, format="rank_eval"),
    "is for ratings of _rank_eval; say format='rank_eval'": lambda path: rf.write_qrels(one(), path, index="i"),
    "frame={'q': {'d': 1}} is no table; give a DataFrame": lambda path: rf.write_run({"q": {"d": 1}}, path),
    "1 is no path": lambda path: rf.write_run(one(), 1),  # type: ignore[arg-type]
    ".zst is not written; write .gz": lambda path: rf.write_run(one(), f"{path}.zst"),
}


@each("says", REFUSED)
def test_what_a_file_cannot_hold_is_refused_and_nothing_is_written(says: str, tmp_path: Path) -> None:
    assert says in refused(REFUSED[says], tmp_path)


# the file


def test_a_failure_leaves_the_file_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.run"
    path.write_text("before")

    def broken(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(pl.DataFrame, "write_csv", broken)
    with pytest.raises(OSError, match="No space left"):
        rf.write_run(RUN, path)
    assert path.read_text() == "before"
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_is_replaced_through_a_link_and_keeps_its_permissions(tmp_path: Path) -> None:
    path, link = tmp_path / "a.run", tmp_path / "link.run"
    path.write_text("before")
    path.chmod(0o640)
    link.symlink_to(path)
    rf.write_run(RUN, str(link))
    assert link.is_symlink()
    assert len(lines(path)) == 4
    assert path.stat().st_mode & 0o777 == 0o640
    assert sorted(x.name for x in tmp_path.iterdir()) == ["a.run", "link.run"]


def test_a_compressed_file_is_written_and_read(tmp_path: Path) -> None:
    rf.write_run(RUN, tmp_path / "a.run.gz")
    rf.write_run(RUN, tmp_path / "a.run")
    assert gzip.decompress((tmp_path / "a.run.gz").read_bytes()) == (tmp_path / "a.run").read_bytes()
    assert rf.read_run(tmp_path / "a.run.gz").equals(rf.read_run(tmp_path / "a.run"))


def test_a_device_is_written_to_and_not_replaced() -> None:
    rf.write_run(RUN, os.devnull)
    assert not Path(os.devnull).is_file()


def test_a_folder_that_is_not_there_is_a_file_not_found_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        rf.write_run(RUN, tmp_path / "no" / "a.run")


@pytest.mark.skipif(sys.platform != "linux", reason="Linux has such a file")
def test_a_pipe_behind_a_link_is_written_to() -> None:
    code = "import polars as pl, rankframe as rf; rf.write_run(pl.DataFrame({'query_id': [1], 'doc_id': [2], 'score': [3.0]}), '/dev/stdout')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "1 Q0 2 1 3.0 rankframe\n"


def test_judgments_go_to_an_open_file_too() -> None:
    text = io.BytesIO()
    rf.write_qrels(QRELS, text)
    assert rf.read_qrels(io.BytesIO(text.getvalue())).height == text.getvalue().count(b"\n") > 0
