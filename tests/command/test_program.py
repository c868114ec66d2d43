"""The program's entry, which answers what needs no table without Polars."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import _rankframe
import rankframe as rf
from rankframe._command import parser
from tests.support.each import each

ROOT = Path(__file__).parents[2]
HELP = ROOT / "rankframe" / "_command" / "help.txt"
ANSWER = """
import sys
sys.argv = ["rankframe", *sys.argv[1:]]
import _rankframe
code = _rankframe.main()
print(code, sorted({"polars", "numpy", "rankframe"} & {*sys.modules}), file=sys.stderr)
"""


def answered(*words: str) -> tuple[str, str]:
    """What the program prints for these words, and its exit code with the packages that it imported."""
    variables = {**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "80"}
    done = subprocess.run(
        [sys.executable, "-c", ANSWER, *words], capture_output=True, encoding="utf-8", env=variables, check=True
    )
    return done.stdout, done.stderr


def test_the_version_and_the_help_import_neither_polars_nor_the_package() -> None:
    assert answered("--version") == (f"rankframe {rf.__version__}\n", "0 []\n")
    for words in ("--help", "-h", "help"):
        assert answered(words) == (HELP.read_text(encoding="utf-8"), "0 []\n")


def test_as_a_module_it_answers_these_without_polars_too_and_other_packages_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "__init__.py").write_text("import rankframe\n", encoding="utf-8")
    (tmp_path / "other" / "__main__.py").write_text("print('other')\n", encoding="utf-8")
    path = os.pathsep.join([str(ROOT), str(tmp_path)])
    for words, out, imports in (
        (("rankframe", "--version"), f"rankframe {rf.__version__}\n", False),
        (("rankframe", "--help"), HELP.read_text(encoding="utf-8"), False),
        (("rankframe", "metrics", "rr", "--format", "json"), None, True),
        (("other", "--version"), "other\n", True),
    ):
        done = subprocess.run(
            [sys.executable, "-X", "importtime", "-m", *words],
            capture_output=True, encoding="utf-8", env={**os.environ, "PYTHONPATH": path, "COLUMNS": "80"}, check=True,
        )  # fmt: skip
        assert done.stdout == (done.stdout if out is None else out)
        assert ("polars" in done.stderr) is imports, words


@each("width", ["80", "120"])
def test_the_stored_help_is_that_of_the_parser(width: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # after a change: COLUMNS=80 python -c 'import rankframe._command as c; print(c.parser().format_help(), end="")' > help.txt
    monkeypatch.setenv("COLUMNS", width)
    assert parser().format_help() == HELP.read_text(encoding="utf-8")


def test_everything_else_is_answered_by_the_package(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["rankframe", "metrics", "rr"])
    assert _rankframe.main() == 0
    assert "rr" in capsys.readouterr().out
    monkeypatch.setattr(sys, "argv", ["rankframe", "--help"])
    monkeypatch.setenv("COLUMNS", "60")  # where the stored lines are too long
    with pytest.raises(SystemExit):
        _rankframe.main()
    assert max(map(len, capsys.readouterr().out.partition("\nexamples:")[0].splitlines())) <= 60


def test_the_console_script_is_this_entry_and_the_wheel_has_it() -> None:
    tomllib = pytest.importorskip("tomllib")  # of Python 3.11 and later
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert project["project"]["scripts"] == {"rankframe": "_rankframe:main"}
    assert "/_rankframe.py" in project["tool"]["hatch"]["build"]["targets"]["wheel"]["include"]
