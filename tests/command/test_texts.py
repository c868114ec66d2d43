"""Ids and names that a terminal, a spreadsheet, Markdown or a reader of lines would take for more than text."""

from __future__ import annotations

import argparse
import csv
import io
import json
import unicodedata
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from markdown_it import MarkdownIt

from rankframe._command import COMMANDS, main, parser
from tests.support.each import each

# Reciprocal ranks by hand: 1 and 1/2.
ODD = ["=cmd|calc", "a\nb\r\n\x1b[31m\x9b2J\u2028\u202e<script>x</script> *b* `c` [d](e) \\ | f"]
VISIBLE = [ODD[0], r"a\nb\r\n\x1b[31m\x9b2J\u2028\u202e<script>x</script> *b* `c` [d](e) \ | f"]

Out = Callable[..., str]


def table(ids: list[Any] = ODD, **more: Any) -> pl.DataFrame:
    rows = {"query_id": [i for i in ids for _ in "xy"], "doc_id": ["x", "y"] * len(ids), "score": [2.0, 1.0] * len(ids)}
    return pl.DataFrame(rows | {"label": [1, 0, *[0, 1] * (len(ids) - 1)]} | more)


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    table().write_parquet("t.parquet")


def obeyed(text: str) -> set[str]:
    """The characters of a text that a terminal obeys, or that end a line for somebody."""
    kinds = {"Cc", "Zl", "Zp"}
    directions = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}
    found = {x for x in text if unicodedata.category(x) in kinds or unicodedata.bidirectional(x) in directions}
    return found - {"\n"}


class Cells(HTMLParser):
    """The texts of a page's table, row by row, and its tags."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self.tags: set[str] = set()
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.tags.add(tag)
        if tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_data(self, data: str) -> None:
        if self.rows and self.rows[-1]:
            self.rows[-1][-1] += data.strip("\n")


def test_a_table_shows_control_characters_and_obeys_none(out: Out) -> None:
    assert out("evaluate t.parquet -m rr --per-query") == (
        f"query_id{' ' * (len(VISIBLE[1]) - 8)}      rr\n"
        f"{VISIBLE[0]}{' ' * (len(VISIBLE[1]) - len(VISIBLE[0]))}  1.0000\n"
        f"{VISIBLE[1]}  0.5000\n"
    )


def test_markdown_shows_ids_as_they_are_whatever_they_hold(out: Out) -> None:
    page = (
        MarkdownIt("commonmark", {"html": True})
        .enable("table")
        .render(out("evaluate t.parquet -m rr --per-query --format markdown"))
    )
    found = Cells(page)
    assert found.rows == [["query_id", "rr"], [VISIBLE[0], "1.0000"], [VISIBLE[1], "0.5000"]]
    assert found.tags == {"table", "thead", "tbody", "tr", "th", "td"}


@each("format", ["table", "markdown"])
def test_names_of_columns_are_texts_too(format: str, out: Out) -> None:
    table(**{"a|b\n<i>": ["x", "x", "y", "y"]}).write_parquet("t.parquet")
    head, *rest = out("evaluate t.parquet -m rr --format", format, "--by", "a|b\n<i>").splitlines()
    assert r"a|b\n<i>" in head.replace(r"\|", "|").replace("&lt;", "<").replace("\\\\", "\\")
    assert len(rest) == {"table": 2, "markdown": 3}[format]


def test_lists_and_bytes_are_shown_too(out: Out) -> None:
    table(["a"], k=[["\x1b", None]] * 2).write_parquet("t.parquet")
    assert out("evaluate t.parquet -m rr --by k").splitlines()[1].startswith(r"['\x1b', None]")
    table(["a"], k=[b"\x1b"] * 2).write_parquet("t.parquet")
    assert out("evaluate t.parquet -m rr --by k").splitlines()[1].startswith(r"b'\x1b'")


def test_json_says_control_characters_by_their_codes(out: Out) -> None:
    text = out("evaluate t.parquet -m rr --per-query --format json")
    assert obeyed(text) == set()
    assert json.loads(text) == [{"query_id": ODD[0], "rr": 1.0}, {"query_id": ODD[1], "rr": 0.5}]


@each("format", ["csv", "tsv"])
def test_csv_has_printable_characters_as_they_are_and_shows_the_others(format: str, out: Out) -> None:
    text = out("evaluate t.parquet -m rr --per-query --format", format)
    assert obeyed(text) <= {"\t"}
    rows = list(csv.reader(io.StringIO(text, newline=""), delimiter={"csv": ",", "tsv": "\t"}[format]))
    assert rows == [["query_id", "rr"], [VISIBLE[0], "1.0"], [VISIBLE[1], "0.5"]]


@each("first", [*"=+-@\t\r\n", "＝", "＋", "－", "＠"])
def test_no_text_of_safe_csv_is_a_formula(first: str, out: Out) -> None:
    table([f"{first}1+1", f"a{first}1"], **{f"{first}by": ["x", "x", "=y", "=y"]}).write_parquet("t.parquet")
    text = out("evaluate t.parquet -m rr --per-query --format safe-csv", f"--by={first}by")
    shown = {"\t": r"\t", "\r": r"\r", "\n": r"\n"}.get(first, first)
    assert list(csv.reader(io.StringIO(text, newline=""))) == [
        ["query_id", f"'{shown}by", "rr"],
        [f"'{shown}1+1", "x", "1.0"],
        [f"a{shown}1", "'=y", "0.5"],
    ]


def test_numbers_of_safe_csv_are_numbers_and_texts_are_quoted(out: Out) -> None:
    table(["a", "b"], k=[-1, -1, None, None]).write_parquet("t.parquet")
    text = out("evaluate t.parquet -m rr --per-query --format safe-csv --by k")
    assert text == '"query_id","k","rr"\n"a",-1,1.0\n"b",,0.5\n'


def subparsers() -> Iterator[tuple[str, argparse.Action]]:
    (commands,) = (x for x in parser()._actions if isinstance(x, argparse._SubParsersAction))
    for name, sub in commands.choices.items():
        yield from ((name, action) for action in sub._actions if action.dest == "format")


FORMATS = {name: action.choices or () for name, action in subparsers()}


def test_every_command_that_writes_csv_writes_it_for_spreadsheets_too() -> None:
    assert {command.name for command in COMMANDS} > FORMATS.keys()
    with_csv = {name for name, formats in FORMATS.items() if "csv" in formats}
    assert with_csv == {name for name, formats in FORMATS.items() if "safe-csv" in formats}
    assert with_csv == {
        "evaluate",
        "compare",
        "gate",
        "power",
        "reliability",
        "curve",
        "interleave",
        "preference",
        "strengths",
        "fuse",
        "tune",
        "catalog",
        "compare_groups",
        "summarize",
        "pool",
        "propensities",
        "label_agreement",
        "reproduces",
        "check",
        "conventions",
        "convert",
        "metrics",
    }


@each(
    ("command", "first"),
    [
        ("compare --runs=@a,score -m rr --resamples 99", ["metric", "rr"]),
        ("curve --runs=@a,score -m rr --to 1", ["run", "'@a", "score"]),
        ("check --qrels qrels.parquet", ["severity", "note"]),
        ("conventions -m rr", ["tool", "rankframe"]),
    ],
)
def test_what_every_command_writes_for_spreadsheets_begins_no_formula(command: str, first: list[str], out: Out) -> None:
    odd = table(["=1", "b"]).with_columns(pl.col("score").alias("@a"))
    odd.write_parquet("t.parquet")
    table(["=1", "b", "-c"]).select("query_id", "doc_id", "label").write_parquet("qrels.parquet")
    name, *words = command.split()
    text = out(name, "t.parquet", *words, "--format", "safe-csv")
    rows = list(csv.reader(io.StringIO(text)))
    assert [row[0] for row in rows][: len(first)] == first
    texts = [cell for row in rows for cell in row if cell and not cell.lstrip("-").replace(".", "").isdigit()]
    assert not [cell for cell in texts if cell[0] in "=+-@"]


@each("id", ["a\nb", "a\rb", "a\tb", "a\x85b", "a\u2028b", "\x1b[31m"])
def test_an_id_that_breaks_lines_of_trec_text_is_refused(id: str, capsys: pytest.CaptureFixture[str], out: Out) -> None:
    table([id]).write_parquet("t.parquet")
    assert main(["evaluate", "t.parquet", "-m", "rr", "--per-query", "--format", "trec"]) == 2
    said = capsys.readouterr().err
    assert said == (
        f"rankframe: error: query_id {id!r} has a line break, a tab or the like, for which --format trec has no place; "
        "write --format json\n"
    )
    assert json.loads(out("evaluate t.parquet -m rr --per-query --format json")) == [{"query_id": id, "rr": 1.0}]
    assert out("evaluate t.parquet -m rr --format trec") == "rr                    \tall\t1.0000\n"


def test_verdicts_notes_and_errors_say_what_a_terminal_would_obey(capsys: pytest.CaptureFixture[str]) -> None:
    evil = "\x1b[31m\x9b\u202e"
    table().with_columns(pl.col("score").alias(evil)).write_parquet("t.parquet")
    gate = ["gate", "t.parquet", "--runs", f"score,{evil}", "--baseline", "score", "--budget", "rr=0.99"]
    for style in ("text", "github"):
        assert main([*gate, "--format", style]) in (0, 1)
        assert r"rr of \x1b[31m\x9b\u202e" in capsys.readouterr().out
    assert main(["evaluate", "t.parquet", "-m", "rr", "--score", "nope"]) == 2
    said = capsys.readouterr().err
    assert r"\x1b[31m" in said
    assert obeyed(said) == set()
    Path(f"{evil}.run").write_text("q1 Q0 a 1 1 t\nq2 Q0 a 1 1 t\n")
    Path("qrels.txt").write_text("q1 0 a 1\n")
    assert main(["evaluate", f"{evil}.run", "--qrels", "qrels.txt", "-m", "rr"]) == 0
    assert obeyed(capsys.readouterr().err) == set()
