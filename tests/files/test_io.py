"""Reading runs and judgments."""

from __future__ import annotations

import gzip
import io
import json
import math
import re
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import polars as pl
import pytest

import rankframe
from rankframe._files.formats import FormatName
from rankframe.errors import InvalidData, InvalidOption, MissingColumn
from rankframe.io import read_qrels, read_run, scan_qrels, scan_run
from tests.support.each import each

RUN = "q1 Q0 d1 1 2.5 mine\nq1 Q0 d2 2 -1e3 mine\nq2 Q0 d1 1 7 mine\n"
RUN_ROWS = [("q1", "d1", 2.5, "mine"), ("q1", "d2", -1000.0, "mine"), ("q2", "d1", 7.0, "mine")]
QRELS = "q1 0 d1 2\nq1 0 d3 0\nq2 0 d9 -1\n"
QRELS_ROWS = [("q1", "0", "d1", 2), ("q1", "0", "d3", 0), ("q2", "0", "d9", -1)]

RUN_SCHEMA = {"query_id": pl.String, "doc_id": pl.String, "score": pl.Float64, "run": pl.String}
QRELS_SCHEMA = {"query_id": pl.String, "iteration": pl.String, "doc_id": pl.String, "label": pl.Int64}


def run(text: str | bytes) -> list[tuple[Any, ...]]:
    return read_run(io.StringIO(text) if isinstance(text, str) else io.BytesIO(text)).rows()


# TREC text


def test_a_run_has_query_document_score_and_tag(tmp_path: Path) -> None:
    path = tmp_path / "mine.run"
    path.write_text(RUN)
    assert read_run(path).rows() == read_run(str(path)).rows() == RUN_ROWS
    assert read_run(path).schema == RUN_SCHEMA
    assert scan_run(path).collect_schema() == RUN_SCHEMA
    assert scan_run(path).collect().rows() == RUN_ROWS


def test_judgments_have_query_iteration_document_and_label(tmp_path: Path) -> None:
    path = tmp_path / "qrels"
    path.write_text(QRELS)
    assert read_qrels(path).rows() == QRELS_ROWS
    assert read_qrels(path).schema == QRELS_SCHEMA
    assert scan_qrels(path).collect_schema() == QRELS_SCHEMA
    assert scan_qrels(path).collect().rows() == QRELS_ROWS


@each(
    "text",
    [
        pytest.param(RUN.replace(" ", "\t"), id="tabs"),
        pytest.param(RUN.replace(" ", "  \t "), id="runs of blanks"),
        pytest.param(RUN.replace("\n", " \t\n"), id="blanks at the end of a line"),
        pytest.param("  " + RUN.replace("\n", "\n \t"), id="blanks at the start of a line"),
        pytest.param(RUN.replace("\n", "\r\n"), id="Windows line ends"),
        pytest.param(RUN.removesuffix("\n"), id="no final newline"),
        pytest.param("\ufeff" + RUN, id="byte-order mark"),
        pytest.param("# any number of words\n\n" + RUN + "\n  \n\t# another\n", id="comments and blank lines"),
    ],
)
def test_what_does_not_matter_is_passed_over(text: str) -> None:
    assert run(text) == RUN_ROWS
    assert run(text.encode()) == RUN_ROWS


def test_ids_are_text_and_may_hold_any_character_but_blanks() -> None:
    assert run("007 Q0 d\u00a0\u00e9\"',; 1 1 t") == [("007", "d\u00a0\u00e9\"',;", 1.0, "t")]


def test_a_file_whose_name_holds_a_pattern_is_read_as_named(tmp_path: Path) -> None:
    (tmp_path / "a[1]*.run").write_text(RUN)
    assert read_run(tmp_path / "a[1]*.run").rows() == RUN_ROWS
    for name, text in (("b[1]*.csv", TABLE.write_csv()), ("b[1]*.jsonl", TABLE.write_ndjson())):
        (tmp_path / name).write_text(text)
        assert read_run(tmp_path / name).equals(TABLE)


@each(
    ("text", "value"),
    [("1e400", math.inf), ("-inf", -math.inf), (".5", 0.5), ("+5.", 5.0), ("1E-3", 0.001)],
)
def test_a_score_is_any_number_that_c_reads(text: str, value: float) -> None:
    assert run(f"q Q0 d 1 {text} t")[0][2] == value


@each("text", ["nan", "NaN", "-nan"])
def test_a_score_that_is_no_number_is_refused_with_its_line(text: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidData, match=rf"line 2: score '{text}' is not a number in 'q Q0 e 2 {text} t'"):
        run(f"q Q0 d 1 3 t\nq Q0 e 2 {text} t")
    (tmp_path / "a.csv").write_text(f"query_id,doc_id,score\nq,d,3\nq,e,{text}\n")
    with pytest.raises(InvalidData, match=rf"a\.csv, row 2: score '{text}' is not a number"):
        read_run(tmp_path / "a.csv")


@each(("text", "kind"), [("nan", "finite number"), ("inf", "finite number"), ("-1e400", "finite number")])
def test_a_label_that_is_not_finite_is_refused_with_its_line(text: str, kind: str) -> None:
    with pytest.raises(InvalidData, match=f"line 2: label '{text}' is not a {kind} in 'q 0 e {text}'"):
        read_qrels(io.StringIO(f"q 0 d 1\nq 0 e {text}"), label_dtype=pl.Float64)


def test_a_label_that_is_whole_is_read_however_written() -> None:
    assert read_qrels(io.StringIO("q 0 a 1.0\nq 0 b -2\nq 0 c 2e0"))["label"].to_list() == [1, -2, 2]


def test_a_run_is_told_from_judgments_by_its_number_of_fields() -> None:
    with pytest.raises(InvalidData, match=r"6 fields instead of 4 in 'q Q0 d 1 2\.5 t'\. Write 'query_id it"):
        read_qrels(io.StringIO("q Q0 d 1 2.5 t"))
    with pytest.raises(InvalidData, match=r"4 fields instead of 6 in 'q 0 d 1'\. Write 'query_id Q0"):
        run("q 0 d 1")
    with pytest.raises(InvalidData, match=r"5 fields instead of 6 in 'q Q0 d 1 2'. Write"):
        run("q Q0 d 1 2")


MALFORMED = [
    ("q Q0 d 1 2.5", "5 fields instead of 6"),
    ("q Q0 a document 1 2.5 t", "7 fields instead of 6"),
    ("q Q0 page 7 1 2.5 t", "7 fields instead of 6"),
    ("query_id,doc_id,score", "1 field instead of 6"),
    ("q Q0 d 1 high t", "score 'high' is not a number"),
    ("q Q0 d 1 1,5 t", "score '1,5' is not a number"),
    ("q Q0 d 1 0x1p3 t", "score '0x1p3' is not a number"),
]


@each(("line", "problem"), MALFORMED)
def test_a_malformed_line_is_an_error_with_its_number_and_text(line: str, problem: str, tmp_path: Path) -> None:
    path = tmp_path / "bad.run"
    path.write_text(f"# comment\n\n{RUN}{line}\n{RUN}")
    with pytest.raises(InvalidData) as caught:
        read_run(path)
    assert str(caught.value) == (
        f"{path}, line 6: {problem} in '{line}'. "
        "Write 'query_id Q0 doc_id rank score tag', or name the format of a table"
    )


def test_words_after_the_tag_of_a_run_are_left_out_as_in_trec_eval() -> None:
    found = run("q Q0 d 1 2.5 t end of line\nq Q0 e 2 1.5 t\nq Q0 f 3 1.0 t 2\n")
    assert found == [("q", "d", 2.5, "t"), ("q", "e", 1.5, "t"), ("q", "f", 1.0, "t")]


def test_several_malformed_lines_are_counted() -> None:
    with pytest.raises(InvalidData, match=r"line 1: 1 field .* \(the first of 2 malformed lines\)"):
        run("a\nq Q0 d 1 2.5 t\nb")


PLANS = {
    "as it is": lambda table: table,
    "one column": lambda table: table.select("doc_id"),
    "a filter that drops the line": lambda table: table.filter(query_id="q1"),
    "a filter on the score": lambda table: table.filter(pl.col("score") > 100).select("doc_id"),
    "a group": lambda table: table.group_by("query_id").len(),
    "sorted": lambda table: table.sort("score").head(1),
    "joined": lambda table: table.join(table.select("query_id").unique(), on="query_id"),
}


@each("plan", PLANS.values(), ids=PLANS.keys())
@each("engine", ["in-memory", "streaming"])
@each("line", ["z Q0 d 1 high t", "z Q0 d 1 2.5"])
def test_no_plan_gets_past_a_malformed_line(
    plan: Any, engine: Literal["in-memory", "streaming"], line: str, tmp_path: Path
) -> None:
    path = tmp_path / "bad.run"
    path.write_text(f"{RUN}{line}\n")
    with pytest.raises(pl.exceptions.InvalidOperationError, match=r"bad\.run, line 4: .*Write 'query_id Q0"):
        plan(scan_run(path)).collect(engine=engine)


def test_a_lazy_run_calls_no_python() -> None:
    assert "python" not in scan_run(io.StringIO(RUN)).explain().lower()


@each(
    ("data", "shown"),
    [
        ("q Q0 caf\u00e9 1 1 t".encode("latin-1"), "'q Q0 caf\ufffd 1 1 t'"),
        ("q Q0 caf\u00e9 1 1 t\n".encode("utf-16"), ".*"),
        ("\ufeffq Q0 caf\u00e9 1 1 t\n".encode("utf-16-be"), ".*"),
    ],
)
def test_text_that_is_not_utf_8_is_an_error(data: bytes, shown: str) -> None:
    with pytest.raises(InvalidData, match=f"the input, line 1: {shown} is no UTF-8; write the file in UTF-8"):
        run(data)


# Files with named columns

TABLE = pl.DataFrame(
    {
        "query_id": ["q1", "q1"],
        "doc_id": ["a", "b"],
        "score": [1.5, None],
        "label": [None, 2],
        "lang": ["en", "en"],
    }
)


@each("name", ["t.parquet", "t.pq", "t.csv", "t.tsv", "t.ndjson", "t.jsonl", "T.CSV"])
def test_the_suffix_says_the_format_and_all_columns_are_kept(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    match path.suffix.lower():
        case ".parquet" | ".pq":
            TABLE.write_parquet(path)
        case ".csv":
            TABLE.write_csv(path)
        case ".tsv":
            TABLE.write_csv(path, separator="\t")
        case _:
            TABLE.write_ndjson(path)
    for frame in (read_run(path), read_qrels(path), scan_run(path).collect(), scan_qrels(path).collect()):
        assert frame.equals(TABLE)
        assert frame.schema == TABLE.schema


def test_compressed_files_are_read(tmp_path: Path) -> None:
    for name, text in (("t.csv", TABLE.write_csv()), ("t.ndjson", TABLE.write_ndjson()), ("mine.run", RUN)):
        path = tmp_path / f"{name}.gz"
        path.write_bytes(gzip.compress(text.encode()))
        assert read_run(path).rows() == scan_run(path).collect().rows() == (RUN_ROWS if text == RUN else TABLE.rows())


def test_the_format_said_goes_before_the_suffix(tmp_path: Path) -> None:
    (tmp_path / "run.csv").write_text(RUN)
    (tmp_path / "run.txt").write_text("query_id,doc_id,score\nq,d,1\n")
    assert read_run(tmp_path / "run.csv", format="trec").rows() == RUN_ROWS
    assert read_run(tmp_path / "run.txt", format="csv").rows() == [("q", "d", 1.0)]


def test_an_unknown_format_is_an_error() -> None:
    wrong: Any = "xml"
    with pytest.raises(InvalidOption, match="format='xml': write 'trec', 'csv', 'tsv', 'ndjson', 'parquet'"):
        read_run(io.StringIO(RUN), format=wrong)


def test_ids_in_csv_are_text_as_written() -> None:
    frame = read_run(io.StringIO("query_id,doc_id,score\n007,1e3,1\n8,12,2\n"), format="csv")
    assert frame.rows() == [("007", "1e3", 1.0), ("8", "12", 2.0)]


def test_columns_are_renamed_on_request_and_ids_stay_text() -> None:
    frame = read_qrels(
        io.StringIO("query-id\tcorpus-id\tscore\n007\t08\t1\n"),
        format="tsv",
        columns={"query-id": "query_id", "corpus-id": "doc_id", "score": "label"},
    )
    assert frame.rows() == [("007", "08", 1)]
    assert frame.columns == ["query_id", "doc_id", "label"]


def test_a_column_renamed_to_a_name_in_use_takes_its_place() -> None:
    text = "query_id,doc_id,score,bm25\nq,d,1,2.5\n"
    frame = read_run(io.StringIO(text), format="csv", columns={"bm25": "score"})
    assert frame.to_dicts() == [{"query_id": "q", "doc_id": "d", "score": 2.5}]


@each(
    ("header", "hint"),
    [
        ("qid,docno,sim", "Say columns={'qid': 'query_id', 'docno': 'doc_id', 'sim': 'score'}"),
        ("Query-ID,doc_id,score", "Say columns={'Query-ID': 'query_id'}"),
        (
            "303,Q0,d1",
            "Say columns={'its query column': 'query_id', 'its doc column': 'doc_id', 'its score column': 'score'}",
        ),
    ],
)
@each("reader", [read_run, scan_run])
def test_a_missing_column_is_an_error_at_the_call_that_says_what_to_write(header: str, hint: str, reader: Any) -> None:
    with pytest.raises(MissingColumn) as caught:
        reader(io.StringIO(f"{header}\n"), format="csv")
    assert f"in the input; it has {', '.join(header.split(','))}. {hint}" in str(caught.value)
    assert "no column 'query_id'" in str(caught.value)


def test_blank_lines_in_csv_are_no_queries_and_count_as_rows_in_messages() -> None:
    text = "query_id,doc_id,score\nq,d,1\n\n,,\n"
    for blank in (text, text.replace("\n", "\r\n")):
        assert read_run(io.StringIO(blank), format="csv").rows() == [("q", "d", 1.0)]
        assert scan_run(io.StringIO(blank.replace(",", "\t")), format="tsv").collect().rows() == [("q", "d", 1.0)]
    empty = read_run(io.StringIO(f"{text}p,,\n"), format="csv")  # a query for which nothing was retrieved
    assert empty.rows() == [("q", "d", 1.0), ("p", None, None)]
    with pytest.raises(InvalidData, match=r"row 4: score 'x' is not a number"):
        read_run(io.StringIO(f"{text}q,e,x\n"), format="csv")


def test_a_number_in_csv_that_is_none_is_an_error_with_its_row() -> None:
    text = "query_id,doc_id,score\nq,a,1\nz,b,high\n"
    with pytest.raises(InvalidData, match=r"^the input, row 2: score 'high' is not a number$"):
        read_run(io.StringIO(text), format="csv")
    with pytest.raises(pl.exceptions.InvalidOperationError, match="the input, row 2: score 'high'"):
        scan_run(io.StringIO(text), format="csv").filter(query_id="q").collect()


def test_a_csv_row_with_too_many_fields_is_an_error(tmp_path: Path) -> None:
    for separator, name in ((",", "a.csv"), ("\t", "a.tsv")):
        (tmp_path / name).write_text('query_id,doc_id,score\nq,"a\n,b",1\nq,c,1,2\n'.replace(",", separator))
        with pytest.raises(InvalidData, match=rf"{name}: found more fields than defined in 'Schema'$"):
            read_run(tmp_path / name)


def test_a_label_that_is_rare_in_ndjson_is_not_lost() -> None:
    lines = [f'{{"query_id": "q", "doc_id": "d{i}", "score": 1}}' for i in range(2_000)]
    lines.append('{"query_id": "q", "doc_id": "last", "score": 1.5, "label": 3}')
    frame = read_run(io.StringIO("\n".join(lines)), format="ndjson")
    assert frame.row(-1) == ("q", "last", 1.5, 3)


def test_a_file_that_is_no_parquet_is_an_error_with_its_name(tmp_path: Path) -> None:
    path = tmp_path / "run.parquet"
    path.write_text(RUN)
    with pytest.raises(InvalidData, match=r"run\.parquet: "):
        read_run(path)


# What is not there


@each("format", ["trec", "csv", "tsv", "ndjson"])
def test_an_empty_file_is_an_empty_table(format: FormatName, tmp_path: Path) -> None:
    path = tmp_path / "empty"
    path.touch()
    for source in (path, io.BytesIO(b"")):
        assert read_run(source, format=format).height == 0
        assert read_run(source, format=format).columns[:3] == ["query_id", "doc_id", "score"]
    assert scan_qrels(path, format=format).collect().schema["label"] == pl.Int64


@each("name", ["bomb.run.gz", "bomb.csv.gz", "bomb.ndjson.gz"])
@each("start", [b"", b"q1 Q0 a 1 1 t\n"])
def test_gzip_data_of_an_endless_line_are_refused_before_they_are_unpacked(
    tmp_path: Path, name: str, start: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / name).write_bytes(gzip.compress(start + bytes(40 << 20)))
    unpacked, read = [], gzip.GzipFile.read

    def counted(file: gzip.GzipFile, size: int | None = -1) -> bytes:
        unpacked.append(len(block := read(file, size)))
        return block

    monkeypatch.setattr(gzip.GzipFile, "read", counted)
    monkeypatch.setattr(pl, "scan_lines", None)
    with pytest.raises(InvalidData, match=rf"{name}: a line has over 8 MiB"):
        read_run(tmp_path / name)
    assert sum(unpacked) <= 11 << 20


def test_a_large_run_in_gzip_is_read(tmp_path: Path) -> None:
    lines = (f"q{i} Q0 {'d' * 1000} 1 1 t\n" for i in range(9 << 10))
    (tmp_path / "large.run.gz").write_bytes(gzip.compress("".join(lines).encode(), 1))
    assert read_run(tmp_path / "large.run.gz").height == 9 << 10


@each("name", ["no.run", "no.csv", "no.tsv", "no.ndjson", "no.parquet", "no.run.gz"])
def test_a_file_that_is_not_there_is_a_file_not_found_error(name: str, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=name):
        read_run(tmp_path / name)
    with pytest.raises(FileNotFoundError, match=name):
        scan_qrels(tmp_path / name).collect()


# What cannot be read

LATIN = {
    "x.run": (RUN + "q2 Q0 caf\u00e9 2 1 t\n", 4),
    "x.csv": ("query_id,doc_id,score,note\nq,d,1,a\nq,e,1,caf\u00e9\n", 3),
    "x.tsv": ("query_id\tdoc_id\tscore\nq\tcaf\u00e9\t1\n", 2),
    "x.ndjson": ('{"query_id": "q", "doc_id": "caf\u00e9", "score": 1}\n', 1),
}
PACKED = {"": bytes, ".gz": gzip.compress, ".zlib": zlib.compress}


@each("reader", [read_run, scan_run])
@each("packed", PACKED)
@each("name", LATIN)
def test_a_file_that_is_no_utf_8_is_named_with_the_line(name: str, packed: str, reader: Any, tmp_path: Path) -> None:
    text, line = LATIN[name]
    path = tmp_path / (name + packed)
    path.write_bytes(PACKED[packed](text.encode("latin-1")))
    with pytest.raises(InvalidData) as caught:
        reader(path)
    assert str(caught.value).startswith(f"{path}, line {line}: ")
    assert str(caught.value).endswith("is no UTF-8; write the file in UTF-8")


def test_a_file_in_another_encoding_is_read_where_that_is_said(tmp_path: Path) -> None:
    path = tmp_path / "x.run"
    path.write_text(RUN.replace("d1", "caf\u00e9"), encoding="latin-1")
    with path.open(encoding="latin-1") as file:
        assert read_run(file)["doc_id"].to_list() == ["caf\u00e9", "d2", "caf\u00e9"]
    with (
        path.open(encoding="utf-8") as file,
        pytest.raises(UnicodeDecodeError, match="'utf-8' codec can't decode byte 0xe9"),
    ):
        read_run(file)


MANY = "".join(f"q{i} Q0 d{i**3 % 7919} 1 {i**2 % 6007} t\n" for i in range(5000))
CUT = {
    "x.run.gz": gzip.compress(MANY.encode())[:-5000],
    "x.csv.gz": gzip.compress(f"query_id,doc_id,score\n{MANY.replace(' ', ',')}".encode())[:-5000],
    "x.ndjson.gz": gzip.compress(json.dumps(MANY).encode())[:-5000],
    "x.run.zst": (
        b"\x28\xb5\x2f\xfd\x04\x58\x79\x00\x00\x71\x31\x20\x51\x30\x20\x64\x31"  # the start of "q1 Q0 d1 1 2 t"
    ),
}


@each("reader", [read_run, scan_run, read_qrels, scan_qrels])
@each("name", CUT)
def test_a_compressed_file_that_ends_early_is_named(name: str, reader: Any, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_bytes(CUT[name])
    with pytest.raises(InvalidData) as caught:
        reader(path)
    assert str(caught.value).startswith(f"{path}: the compressed file is damaged or ends early (")


@each("name", ["x.run.gz", "x.csv.gz"])
def test_compressed_data_of_an_open_file_that_end_early_are_an_error(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(CUT[name])
    with gzip.open(tmp_path / name) as file, pytest.raises(EOFError, match="ended before the end-of-stream marker"):
        read_run(file)
    with (tmp_path / name).open("rb") as file, pytest.raises(InvalidData, match="damaged or ends early"):
        read_run(file)


@each("reader", [read_run, scan_run])
def test_a_line_of_ndjson_that_is_cut_short_is_named(reader: Any, tmp_path: Path) -> None:
    path = tmp_path / "x.ndjson"
    path.write_text('{"query_id": 1, "doc_id": "a", "score": 2}\n\n{"query_id": 1, "doc_id": "b", "sco')
    with pytest.raises(InvalidData) as caught:
        reader(path)
    assert str(caught.value) == (f'{path}, line 3: \'{{"query_id": 1, "doc_id": "b", "sco\' is no JSON object')


def test_a_plan_over_a_file_that_is_there_looks_at_its_text_but_once_more(tmp_path: Path) -> None:
    path = tmp_path / "x.run"
    path.write_text(RUN)
    plan = scan_run(path)
    path.write_text(RUN.replace("7", "8"))
    assert plan.collect()["score"].to_list() == [2.5, -1000.0, 8.0]  # the rows are read when the plan runs


# What is no file


def stacked(reader: Any, folder: Path) -> dict[str, Callable[[], Any]]:
    return {
        "None is no file": lambda: reader(None),
        "1 is no file": lambda: reader(1),
        "a DataFrame is no file; read_": lambda: reader(TABLE),
        " is no file; read_": lambda: reader(RUN.encode()),
        "is text, not a path": lambda: reader(RUN),
        "... is text, not a path; write rf": lambda: reader(RUN * 500),
        "{'q1': {'d1': 1.0}} is no file": lambda: reader({"q1": {"d1": 1.0}}),
        "is a folder, and none of BEIR's judgments": lambda: reader(folder),
        "judgments; name a file in it": lambda: reader(str(folder), format="csv"),
        "columns=['a']: write a mapping": lambda: reader(folder / "a.run", columns=["a"]),
        "columns={1: 'score'}: write a mapping": lambda: reader(folder / "a.run", columns={1: "score"}),
    }


@each("reader", [read_run, scan_run, read_qrels, scan_qrels])
@each("says", stacked(None, Path()))
def test_what_is_no_file_is_refused_with_what_to_write(says: str, reader: Any, tmp_path: Path) -> None:
    (tmp_path / "a.run").write_text(RUN)
    with pytest.raises(InvalidOption) as caught:
        stacked(reader, tmp_path)[says]()
    assert says in str(caught.value)


def test_what_the_error_for_text_advises_runs() -> None:
    with pytest.raises(InvalidOption) as caught:
        read_run(RUN)
    advice = re.search(r"rf\.read_run\(.*\)", str(caught.value))
    assert advice is not None
    assert eval(advice[0], {"rf": rankframe, "io": io, "text": RUN}).rows() == RUN_ROWS


def test_two_columns_that_get_one_name_are_refused() -> None:
    with pytest.raises(InvalidData, match="the input: column 'score' is duplicate"):
        read_run(io.StringIO("query_id,doc_id,a,b\nq,d,1,2\n"), format="csv", columns={"a": "score", "b": "score"})


def test_a_folder_of_parquet_files_is_a_table(tmp_path: Path) -> None:
    for name, part in (("a.parquet", TABLE[:1]), ("b.parquet", TABLE[1:])):
        part.write_parquet(tmp_path / name)
    assert read_run(tmp_path, format="parquet").equals(TABLE)


def test_an_address_is_left_to_polars(tmp_path: Path) -> None:
    TABLE.write_parquet(tmp_path / "t.parquet")
    assert read_run((tmp_path / "t.parquet").as_uri()).equals(TABLE)


def test_any_object_that_says_a_path_is_a_path(tmp_path: Path) -> None:
    (tmp_path / "a.run").write_text(RUN)

    class Named:
        def __fspath__(self) -> str:
            return str(tmp_path / "a.run")

    assert read_run(Named()).rows() == RUN_ROWS


# Labels


def test_whole_labels_of_any_size_are_exact() -> None:
    for label in (9007199254740993, -9007199254740993, 2**63 - 1, -(2**63)):
        assert read_qrels(io.StringIO(f"q 0 d {label}"))["label"].to_list() == [label]
        text = f"query_id,doc_id,label\nq,d,{label}\n"
        assert read_qrels(io.StringIO(text), format="csv")["label"].to_list() == [label]


@each("label", ["1.5", "9223372036854775808", "9007199254740993.0", "1e30"])
def test_a_label_that_would_be_cut_off_or_rounded_is_refused_or_kept_as_a_float(label: str) -> None:
    says = (
        f"line 1: label '{label}' is not a whole number that Int64 holds exactly (label_dtype=pl.Float64 reads others)"
    )
    with pytest.raises(InvalidData, match=re.escape(says)):
        read_qrels(io.StringIO(f"q 0 d {label}"))
    with pytest.raises(pl.exceptions.InvalidOperationError, match=re.escape(says)):
        scan_qrels(io.StringIO(f"q 0 d {label}")).collect()
    kept = read_qrels(io.StringIO(f"q 0 d {label}"), label_dtype=pl.Float64)
    assert kept["label"].item() == float(label)
    assert scan_qrels(io.StringIO(f"q 0 d {label}"), label_dtype=pl.Float64).collect().equals(kept)


def test_a_label_that_a_small_type_does_not_hold_is_refused() -> None:
    for dtype, label in ((pl.Int8, "200"), (pl.UInt8, "-1")):
        with pytest.raises(InvalidData, match=f"label '{label}' is not a whole number that {dtype} holds exactly"):
            read_qrels(io.StringIO(f"q 0 d {label}"), label_dtype=dtype)


def test_labels_as_text_are_as_they_are_written() -> None:
    labels = ["0", "2", "007", "1.50", "relevant"]
    text = "".join(f"q 0 d{i} {label}\n" for i, label in enumerate(labels))
    found = read_qrels(io.StringIO(text), label_dtype=pl.String)
    assert found["label"].to_list() == labels
    assert found.schema["label"] == pl.String
    assert scan_qrels(io.StringIO(text), label_dtype=pl.String).collect().equals(found)


@each("dtype", [pl.Boolean, pl.Date, pl.Categorical, pl.Decimal(10, 2), int, "Int64", None])
def test_a_type_that_is_none_of_labels_is_refused(dtype: Any) -> None:
    with pytest.raises(InvalidOption, match=r"write a type of whole numbers or floats, or pl.String"):
        read_qrels(io.StringIO(QRELS), label_dtype=dtype)


# Columns of one name


@each("reader", [read_run, scan_run])
def test_a_column_that_counts_and_stands_twice_is_refused(reader: Any) -> None:
    with pytest.raises(InvalidData, match="the input: 2 columns are named 'query_id'; give each a name of its own"):
        reader(io.StringIO("query_id,doc_id,score,query_id\nq1,d,1,q7\n"), format="csv")
    with pytest.raises(InvalidData, match="2 columns are named 'qid'"):
        reader(io.StringIO("qid\tqid\tdoc_id\tscore\n1\t2\td\t1\n"), format="tsv", columns={"qid": "query_id"})


def test_other_columns_may_stand_twice_and_one_may_be_named_as_if() -> None:
    assert read_run(io.StringIO("query_id,doc_id,score,x,x\nq,d,1,2,3\n"), format="csv").row(0) == ("q", "d", 1.0, 2, 3)
    text = "query_id,doc_id,score,score_duplicated_0\nq,d,1,2\n"
    assert read_run(io.StringIO(text), format="csv")["score"].to_list() == [1.0]
