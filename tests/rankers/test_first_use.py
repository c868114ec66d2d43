"""What a process imports for its first call: the modules of the verb that is called, and of no other."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import rankframe._verbs.decide
from rankframe._catalog.registry import AGREEMENTS, CATALOG_METRICS, METRICS, Metric, Registry, _refuse_name
from rankframe._lift.ranker import Ranker
from rankframe._verbs.decide.compare import compare
from tests.support.each import each

TABLE = "query_id,doc_id,score,label\n1,a,2.0,0\n1,b,1.0,1\n"

# Folders whose modules only some calls use, and the modules there that every call of a verb does.
OF_SOME_CALLS = (
    "_verbs",
    "_pictures",
    "_statistics",
    "_results",
    "_sql",
    "_shapes",
    "_files",
    "_trainers",
    "_command",
    "fusions",
)
OF_EVERY_CALL = {
    "_verbs.call.declaration",
    "_verbs.call.running",
    "_verbs.call.top_grade",
    "_verbs.call.unjudged_queries",
}


def imported_by(code: str, folder: Path) -> set[str]:
    """The modules that a process imports from these folders, without the packages themselves."""
    (folder / "table.csv").write_text(TABLE, encoding="utf-8")
    then = "import sys; print('imported', *(name for name, x in sys.modules.items() if not hasattr(x, '__path__')))"
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\n{then}"], capture_output=True, text=True, check=True, cwd=folder
    )
    names = done.stdout.rpartition("imported ")[2].split()
    own = {name.removeprefix("rankframe.") for name in names if name.startswith("rankframe.")}
    return {name for name in own if name.split(".")[0] in OF_SOME_CALLS}


def test_a_first_evaluate_imports_no_other_verb_no_picture_and_no_statistics(tmp_path: Path) -> None:
    code = "import polars as pl, rankframe; pl.read_csv('table.csv').rank.evaluate('ndcg@10')"
    assert imported_by(code, tmp_path) == OF_EVERY_CALL | {"_verbs.measure.evaluate"}


def test_a_first_evaluate_on_the_command_line_imports_no_other_verb_and_no_picture(tmp_path: Path) -> None:
    code = "from rankframe._command import main; assert main(['evaluate', 'table.csv']) == 0"
    found = imported_by(code, tmp_path)
    assert {name for name in found if name.startswith(("_pictures", "_sql", "_trainers"))} == set()
    others = {"_verbs.measure.judge", "_verbs.sample.resampling", "_verbs.sample.slices"}  # of the options of its files
    assert {name for name in found if name.startswith("_verbs")} <= OF_EVERY_CALL | others | {"_verbs.measure.evaluate"}


def test_a_package_whose_modules_are_imported_late_has_these_modules_and_no_other_name() -> None:
    assert rankframe._verbs.decide.compare.compare is compare
    assert Ranker.compare.__wrapped__ is compare  # type: ignore[attr-defined] # a method wraps its verb
    for name in ("compera", "__wrapped__"):
        with pytest.raises(AttributeError, match=f"module 'rankframe._verbs.decide' has no attribute '{name}'"):
            getattr(rankframe._verbs.decide, name)


@each("among", [METRICS, AGREEMENTS, CATALOG_METRICS], ids=["METRICS", "AGREEMENTS", "CATALOG_METRICS"])
def test_the_librarys_own_names_of_metrics_are_such_that_they_would_not_be_refused(among: Registry[Metric]) -> None:
    for entry in among.values():
        _refuse_name(entry, among)
