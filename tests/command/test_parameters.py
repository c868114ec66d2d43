"""The command line takes options, defaults and help from the methods, and the columns to read from the declared verbs."""

from __future__ import annotations

import argparse
import inspect
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import rankframe as rf
from rankframe._command import main, parser
from rankframe._command.command import help_of
from rankframe._command.reading import reads_of
from rankframe._lift.polars import PolarsRanker
from tests.support.each import each

Rows = Callable[[str], list[dict[str, Any]]]

METHODS: Mapping[str, Callable[..., Any]] = {
    "compare": PolarsRanker.compare,
    "gate": PolarsRanker.gate,
    "power": PolarsRanker.power,
    "report": PolarsRanker.report,
}
ELSEWHERE = {"runs", "run", "progress", "most_moved", "gate", "margin"}
"""Keywords of methods that are no options of their own: files name runs, budgets a gate, which prints no moved queries; `--budget` names each margin."""


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def rows(capsys: pytest.CaptureFixture[str]) -> Rows:
    def run(line: str) -> list[dict[str, Any]]:
        assert main([*line.split(), "--format", "json"]) == 0
        found: list[dict[str, Any]] = json.loads(capsys.readouterr().out)
        return found

    return run


def actions(command: str) -> dict[str, argparse.Action]:
    """The options of a command by the names of what they set."""
    (commands,) = (x.choices for x in parser()._actions if isinstance(x.choices, dict))
    return {action.dest: action for action in commands[command]._actions}


@each("command", METHODS)
def test_every_keyword_of_a_method_is_an_option_with_its_default(command: str) -> None:
    parameters = inspect.signature(METHODS[command]).parameters.values()
    keywords = {x.name: x.default for x in parameters if x.kind is x.KEYWORD_ONLY}
    defaults = {name: None if x is inspect.Parameter.empty else x for name, x in keywords.items()}
    found = actions(command)
    assert len(defaults) > 3
    for name in defaults.keys() - ELSEWHERE:
        default = None if name == "show" else defaults[name]  # several, of which none is given
        assert found[name].default == default, name
        assert found[name].help, name
        assert default is None or f"default: {default}" in str(found[name].help)


def test_help_is_the_first_sentence_of_the_documentation_in_options() -> None:
    found = actions("compare")
    assert str(found["missing"].help).startswith(
        "with --run, queries that a run lacks: error refuses them, drop leaves"
    )
    assert found["baseline"].help == "the run that the others are compared with; the default compares all pairs"
    assert actions("gate")["baseline"].help == "the run that the others may replace; the default is the first one"
    assert found["correction"].choices == ["holm", "bh", "by", "none"]
    assert found["run_only"].choices == ["keep", "drop", "error"]
    assert help_of(len, "obj") == ""  # which documents no parameters
    said = [str(action.help) for name in METHODS for action in actions(name).values()]
    assert not [text for text in said if "`" in text or ":meth:" in text or "None" in text]


def said(*line: str) -> argparse.Namespace:
    return parser().parse_args(line)


def test_a_verb_says_which_columns_the_files_are_read_for() -> None:
    needed = {"query_id", "doc_id", "score", "label"}
    evaluate = said("evaluate", "t.csv", "--weight", "w")
    assert reads_of(evaluate, PolarsRanker.evaluate, "rr") == needed | {"w"}
    compare = said("compare", "t.csv", "--runs", "a,b")
    named = reads_of(compare, PolarsRanker.compare, "rr", by="day", weights="asked")
    assert named == needed | {"a", "b", "day", "asked"}
    report = said("report", "t.csv", "-o", "r.html", "--run", "system")
    assert reads_of(report, PolarsRanker.report, "r.html", "rr", show=["title"]) == {*needed, "system", "title"}


@pytest.fixture(scope="module")
def wide() -> str:
    """A table with a column that is no number on the last row, which Polars cannot tell from the first ones."""
    n = 10_050
    head = "query_id,doc_id,score,dense,label,odd,day\n"
    return head + "".join(
        f"q{i % 9},d{i},{i},{-i},{int(i % 7 == 0)},{i if i < n - 1 else 'x'},d{i % 9 % 2}\n" for i in range(n)
    )


@each(
    "line",
    [
        "evaluate t.csv -m rr",
        "evaluate t.csv -m rr --by day",
        "evaluate t.csv --qrels t.csv -m rr",
        "compare t.csv --runs score,dense -m rr --resamples 99 --by day",
        "power t.csv --runs score,dense -m rr --difference 0.1",
        "curve t.csv --runs score,dense -m recall --to 2",
        "conventions t.csv -m rr",
    ],
)
def test_columns_that_no_verb_asks_for_are_not_read(line: str, rows: Rows, wide: str) -> None:
    Path("t.csv").write_text(wide)
    found = rows(line)
    Path("t.csv").write_text(wide.replace(",x,", ",7,"))
    assert rows(line) == found  # where the odd column can be read


def test_a_column_that_is_asked_for_is_read(wide: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("t.csv").write_text(wide)
    assert main(["evaluate", "t.csv", "-m", "rr", "--by", "odd"]) == 2
    assert "odd" in capsys.readouterr().err


def table() -> pl.DataFrame:
    """Six queries of two documents; on five of them the new score is right where the old one is not."""
    n = 6
    return pl.DataFrame(
        {
            "query_id": [f"q{i}" for i in range(n) for _ in "ab"],
            "doc_id": ["a", "b"] * n,
            "label": [1, 0] * n,
            "old": [1, 2] * n,
            "new": [2, 1] * (n - 1) + [1, 2],
            "asked": [float(i + 1) for i in range(n) for _ in "ab"],
            "day": ["mo" if i < 3 else "tu" for i in range(n) for _ in "ab"],
            "half": ["x" if i % 2 else "y" for i in range(n) for _ in "ab"],
        }
    )


def test_options_do_what_they_do_in_python(rows: Rows) -> None:
    df = table()
    df.write_parquet("t.parquet")
    runs = ["old", "new"]
    found = rows("compare t.parquet --runs old,new -m rr --weights asked --by day --by half --ci 0.8 --correction none")
    wanted = df.rank.compare("rr", runs=runs, weights="asked", by=["day", "half"], ci=0.8, correction=None).table
    assert_frame_equal(pl.DataFrame(found, schema=wanted.schema), wanted)
    found = rows("power t.parquet --runs old,new -m rr --difference 0.1 --difference 0.2 --power 0.9 --alpha 0.01")
    wanted = df.rank.power("rr", runs=runs, difference=[0.1, 0.2], power=0.9, alpha=0.01)
    assert_frame_equal(pl.DataFrame(found, schema=wanted.schema), wanted)


def test_weights_of_queries_may_stand_in_either_file(rows: Rows) -> None:
    df = table()
    for name in ("old", "new"):
        df.select("query_id", "doc_id", "asked", score=name).write_parquet(f"{name}.parquet")
    missed = pl.DataFrame({"query_id": ["q0"], "doc_id": ["c"], "label": [1]})
    pl.concat([df.select("query_id", "doc_id", "label"), missed]).write_parquet("qrels.parquet")
    (found,) = rows("compare old.parquet new.parquet --qrels qrels.parquet -m rr --weights asked")
    # rr is 1/2 and 1 on five queries with the weights 1 to 5, 1/2 twice on the sixth, whose weight is 6
    assert found["difference"] == pytest.approx((1 + 2 + 3 + 4 + 5) / 2 / 21)
    assert found["mean"] == pytest.approx((15 + 6 / 2) / 21)


def test_a_file_with_unread_columns_names_them_all_in_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    table().rename({"old": "score"}).write_parquet("t.parquet")
    assert main(["evaluate", "t.parquet", "--by", "market"]) == 2
    assert "the table has query_id, doc_id, label, score, new, asked, day, half" in capsys.readouterr().err
    assert rf.read_run("t.parquet").columns == table().rename({"old": "score"}).columns
