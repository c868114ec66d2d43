"""docs/adding.md: each of its diffs applies to the package as it is, and its examples run on the changed copy."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.each import each

ROOT = Path(__file__).parents[2]
SECTIONS = dict(
    re.findall(r"(?ms)^## (.*?)$(.*?)(?=^## |\Z)", (ROOT / "docs" / "adding.md").read_text(encoding="utf-8"))
)


def apply(diff: str, folder: Path) -> None:
    """Change the files that a diff names. A hunk has the lines of one place, which stand once in the file."""
    for name, hunks in re.findall(r"(?ms)^--- (\S+)\n(.*?)(?=^--- |\Z)", diff):
        path = folder / name
        text = path.read_text(encoding="utf-8") if path.exists() else ""
        for hunk in re.split(r"(?m)^@@.*\n", hunks):
            lines = [line or " " for line in hunk.splitlines()]
            assert all(line[0] in " +-" for line in lines), hunk
            old = "".join(f"{line[1:]}\n" for line in lines if line[0] != "+")
            new = "".join(f"{line[1:]}\n" for line in lines if line[0] != "-")
            assert text.count(old) == 1 or not text + old, f"{name} has these lines {text.count(old)} times:\n{old}"
            text = text.replace(old, new, 1) if old else new
        path.write_text(text, encoding="utf-8")


@each("section", SECTIONS)
def test_the_diffs_of_a_section_make_its_examples_true(section: str, tmp_path: Path) -> None:
    text = SECTIONS[section]
    for folder in ("rankframe", "tests"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__", "data", "tools"))
    for diff in re.findall(r"(?ms)^```diff\n(.*?)^```$", text):
        apply(diff, tmp_path)
    examples = tmp_path / "examples.md"
    examples.write_text("".join(re.findall(r"(?ms)^```python\n(.*?)^```$", text)), encoding="utf-8")
    run = subprocess.run(
        [sys.executable, "-W", "error", "-m", "doctest", "-o", "ELLIPSIS", "examples.md"],
        cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(tmp_path)}, capture_output=True, text=True,
    )  # fmt: skip
    assert run.returncode == 0, run.stdout + run.stderr
    assert ">>>" in examples.read_text(encoding="utf-8")


def test_a_diff_that_does_not_fit_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("one = 1\n")
    with pytest.raises(AssertionError, match="0 times"):
        apply("--- a.py\n two = 2\n+three = 3\n", tmp_path)
