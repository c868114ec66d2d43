"""``rankframe metrics NAME``: the metrics that a name means, and all that is declared of a single one."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TypeAlias

import pytest

import rankframe as rf
from rankframe._command import main
from tests.support.each import each

Out: TypeAlias = Callable[..., str]


@pytest.fixture
def out(capsys: pytest.CaptureFixture[str]) -> Out:
    def run(*words: str) -> str:
        assert main(["metrics", *words]) == 0
        return capsys.readouterr().out

    return run


@each(
    ("names", "found"),
    [
        (["ndcg"], ["ndcg"]),
        (["ndcg@10"], ["ndcg"]),
        (["MRR"], ["rr"]),
        (["P_5"], ["precision"]),
        (["ndcg_cut.5,10"], ["ndcg"]),
        (["nDCG(dcg='exp-log2')@10"], ["ndcg"]),
        (["dcg_burges@10"], ["dcg"]),
        (["gini"], ["gini"]),
        (["rbo"], ["rbo"]),
        (["rr", "map"], ["map", "rr"]),
        (["rr,map"], ["map", "rr"]),
        (["serend"], ["serendipity"]),
        (["mutual", "gm_"], None),
        (["reciprocal"], ["err", "rr"]),
        (["Dice"], None),
        (["kendall"], ["kendall_distance", "kendall_tau"]),
        (["alpha-"], ["alpha_dcg", "alpha_ndcg"]),
        (["accuracy"], ["hit_rate", "pairwise_accuracy", "ordered_pair_accuracy"]),  # two tools' accuracy, and a part
    ],
)
def test_a_name_or_a_part_of_one_finds_metrics(
    names: list[str], found: list[str] | None, capsys: pytest.CaptureFixture[str]
) -> None:
    code = main(["metrics", *names, "--format", "json"])
    printed = capsys.readouterr()
    if found is None:
        assert (code, printed.out) == (2, "")
        assert printed.err.startswith("rankframe: error: unknown metric ")
    else:
        assert [row["metric"] for row in json.loads(printed.out)] == found


def test_a_single_metric_is_told_in_full(out: Out, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "10000")
    lines = dict(line.split("  ", 1) for line in out("rbp").splitlines() if "  " in line)
    told = {name: text.strip() for name, text in lines.items()}
    assert told["metric"] == "rbp"
    assert told["other names"] == "rank_biased_precision"
    assert told["what it is"].startswith("Rank-biased precision: the rate at which a reader who goes on")
    assert told["option p"].startswith("The reader's persistence, between 0 and 1.")
    assert told["option p"].endswith("(default: 0.8)")
    assert told["value"].startswith("One Float64 per query, from 0 to 1")
    assert told["source"].startswith("Moffat and Zobel, Rank-biased precision for measurement")
    assert "Other metrics with 'rbp' in their names: rbp_residual, rbp_resid." in out("rbp")


@each("name", [*rf.METRICS, *rf.CATALOG_METRICS, *rf.AGREEMENTS])
def test_every_option_of_a_metric_has_its_meaning(name: str, out: Out) -> None:
    metric = {**rf.METRICS, **rf.CATALOG_METRICS, **rf.AGREEMENTS}[name]
    printed = out(name, "--format", "markdown")
    assert printed.count("| option ") == len(metric.parameters)
    assert "| (default:" not in printed
    assert ":func:" not in printed
    assert ".. math::" not in printed


def test_a_metric_of_another_command_is_told_with_that_command(out: Out) -> None:
    assert "Only rankframe catalog takes gini." in out("gini")
    assert "No command takes rbo; in Python df.rank.agreement does." in out("rbo")
    assert "--interactions" in out("novelty")


@each("width", [80, 100, 200])
@each("line", [["metrics"], ["metrics", "serendipity"], ["conventions"]])
def test_a_list_fits_the_terminal(
    line: list[str], width: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    if width == 100:  # without a terminal
        monkeypatch.delenv("COLUMNS", raising=False)
    else:
        monkeypatch.setenv("COLUMNS", str(width))
    assert main(line) == 0
    widest = max(map(len, capsys.readouterr().out.splitlines()))
    assert widest <= width
    assert widest > width - 20 or width == 200


def test_wrapped_cells_hold_the_words_of_the_table(out: Out, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "70")
    lines = out("rr", "map").split("\n\n")[0].splitlines()
    what = lines[0].index("what it is")
    rows: list[str] = []
    for line in lines[1:]:
        rows += [""] if line[:what].strip() else []
        rows[-1] = f"{rows[-1]} {line[what:]}".strip()
    listed = json.loads(out("rr", "map", "--format", "json"))
    assert len(lines) > 5
    assert [line[:what].strip() for line in lines[1:] if line[:what].strip()] == ["map", "rr"]
    assert rows == [f"{row['what it is']} Also {row['other names']}." for row in listed]
