"""docs/adding.md: each of its diffs applies to the package as it is, and its examples run on the changed copy."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable
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


def try_out(sections: Iterable[str], folder: Path) -> None:
    """Apply the diffs of sections to a copy of the package, and run their examples there, in one process."""
    for name in ("rankframe", "tests"):
        # with what Python compiled, since a copy keeps the times of its files
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("*-pytest-*", "data", "tools"))
    shutil.copy(ROOT / "README.md", folder)
    files = []
    for i, section in enumerate(sections):
        for diff in re.findall(r"(?ms)^```diff\n(.*?)^```$", SECTIONS[section]):
            apply(diff, folder)
        examples = "".join(re.findall(r"(?ms)^```python\n(.*?)^```$", SECTIONS[section]))
        assert ">>>" in examples
        files.append(f"examples-{i}.md")
        (folder / files[-1]).write_text(examples, encoding="utf-8")
    run = subprocess.run(
        [sys.executable, "-W", "error", "-m", "doctest", "-o", "ELLIPSIS", *files],
        cwd=folder, env={**os.environ, "PYTHONPATH": str(folder)}, capture_output=True, text=True,
    )  # fmt: skip
    assert run.returncode == 0, run.stdout + run.stderr


def test_the_diffs_of_all_sections_fit_together_and_make_their_examples_true(tmp_path: Path) -> None:
    try_out(SECTIONS, tmp_path)


@pytest.mark.nightly
@each("section", SECTIONS)
def test_the_diffs_of_a_section_alone_make_its_examples_true(section: str, tmp_path: Path) -> None:
    try_out([section], tmp_path)


@pytest.mark.nightly
def test_a_metric_added_as_the_page_says_passes_the_tests_of_layout_pages_names_and_bounds(tmp_path: Path) -> None:
    shutil.copytree(ROOT, tmp_path / "copy", ignore=shutil.ignore_patterns(".git", "build", "mlruns", "*-pytest-*"))
    for diff in re.findall(r"(?ms)^```diff\n(.*?)^```$", SECTIONS["A metric"]):
        apply(diff, tmp_path / "copy")
    folders = ("project/test_layout.py", "docs/test_metrics_page.py", "docs/test_first_lines.py", "catalog")
    several = [*(f"tests/{name}" for name in folders), "tests/plan/test_bounds.py", "tests/metrics/test_metrics.py"]
    environment = {**os.environ, "PYTHONPATH": str(tmp_path / "copy")}
    command = [sys.executable, "-m", "pytest", "-q", "-n", "2", *several]
    run = subprocess.run(command, cwd=tmp_path / "copy", env=environment, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout[-3000:] + run.stderr


def test_a_diff_that_does_not_fit_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("one = 1\n")
    with pytest.raises(AssertionError, match="0 times"):
        apply("--- a.py\n two = 2\n+three = 3\n", tmp_path)
