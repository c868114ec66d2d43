"""A run of the tests keeps to a temporary folder of its own, and leaves what is beside it as it was."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

SPILLING = "tests/rankers/test_whole_table_checks.py::test_a_group_that_only_some_queries_have_is_not_refused"


def test_a_run_leaves_what_others_keep_beside_its_temporary_folder_and_removes_its_own(tmp_path: Path) -> None:
    beside = tmp_path / "beside"
    for name in ("rankframe-results", "rankframe-rows-results"):
        beside.joinpath(name).mkdir(parents=True)
        beside.joinpath(name, "final.csv").write_text("my only copy")
        os.utime(beside / name, (0, 0))
    before = sorted(beside.rglob("*"))
    env = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    env |= dict.fromkeys(("TMPDIR", "TEMP", "TMP"), str(beside))
    command = [sys.executable, "-m", "pytest", "-n", "1", "-q", SPILLING]
    done = subprocess.run(command, cwd=Path(__file__).parents[2], env=env, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout
    assert sorted(beside.rglob("*")) == before


def test_the_folder_is_that_of_this_process_and_of_those_that_it_starts() -> None:
    code = "import tempfile; print(tempfile.gettempdir())"
    theirs = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()
    assert theirs == tempfile.gettempdir()
    assert Path(theirs).name.startswith("tests-")
