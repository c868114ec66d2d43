"""Objects with several tables: tools find no private attribute, copies are equal, files are refused in time."""

from __future__ import annotations

import copy
import json
import pickle
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import rankframe as rf
from rankframe._support import extras
from tests.support.each import each

ROWS = {
    "query_id": [1, 1, 2, 2],
    "doc_id": list("abab"),
    "label": [1, 0, 1, 0],
    "old": [2, 1, 1, 2],
    "new": [2, 1, 2, 1],
}
EAGER = pl.DataFrame(ROWS)
RUNS = ["old", "new"]


def compared(df: Any) -> Any:
    return df.rank.compare("rr", runs=RUNS, resamples=99)


@each("of", [lambda: compared(EAGER), lambda: rf], ids=["a comparison", "the package"])
def test_tools_find_no_private_attribute(of: Any) -> None:
    assert not hasattr(of(), "__array__")
    assert not hasattr(of(), "_repr_png_")


def test_results_are_copied_and_pickled() -> None:
    found = compared(EAGER)
    assert copy.deepcopy(found).table.equals(found.table)
    assert pickle.loads(pickle.dumps(found)).table.equals(found.table)


def test_a_verdict_is_written_as_json() -> None:
    # By hand: old has the reciprocal ranks 1 and 1/2, new has 1 and 1.
    found = json.loads(json.dumps(EAGER.rank.gate({"rr": 0.1}, runs=RUNS).to_dict()))
    (row,) = found["table"]
    assert (row["run"], row["baseline_mean"], row["mean"], row["passed"]) == ("new", 0.75, 1.0, False)
    assert found["settings"]["budgets"] == {"rr": 0.1}


def test_a_text_of_a_table_has_no_place_for_a_path() -> None:
    with pytest.raises(
        rf.InvalidOption, match=r"to_latex: too many positional arguments; its signature is to_latex\(\*, digits=3"
    ):
        compared(EAGER).to_latex("table.tex")
    with pytest.raises(rf.InvalidOption, match=r"unexpected keyword argument 'names'; its signature is to_latex\("):
        compared(EAGER).to_latex(names={"old": "BM25"})


def test_a_report_in_a_folder_that_is_not_there_is_refused_before_the_work(tmp_path: Path) -> None:
    wrong = EAGER.with_columns(old=float("nan"))  # which the work would refuse
    with pytest.raises(FileNotFoundError, match=r"there is no folder .*nowhere.*; make it, as with Path\("):
        wrong.rank.on(score="old").report(tmp_path / "nowhere" / "report.html", "rr")


def test_a_copy_that_was_not_installed_compares_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    def lacking(name: str) -> str:
        raise PackageNotFoundError(name)

    monkeypatch.setattr(extras, "version", lacking)
    assert compared(EAGER).settings["versions"]["rankframe"] == rf.__version__ == "0+unknown"
