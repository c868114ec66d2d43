"""What an installation brings: four packages, types that a consumer's checkers see, and files that say one version."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
import venv
from importlib.metadata import requires, version
from pathlib import Path

import pytest
from hatchling.builders.plugin.interface import BuilderInterface
from hatchling.builders.sdist import SdistBuilder
from hatchling.builders.wheel import WheelBuilder

import rankframe as rf
from tests.support.interpreters import run_after
from tests.support.pages import WRITTEN

ROOT = Path(__file__).parents[2]

CONSUMER = """\
import pandas as pd
import polars as pl
import rankframe as rf
from matplotlib.figure import Figure


def mean(df: pl.DataFrame) -> pl.DataFrame:
    return rf.rank(df).on(relevant=2).evaluate("ndcg@10", rf.expr.ndcg(k=5)).mean()


reveal_type(rf.rank(pl.DataFrame()).ndcg(k=10))
reveal_type(rf.rank(pl.LazyFrame()).evaluate("map"))
reveal_type(rf.rank(pd.DataFrame()).reciprocal_rank())
reveal_type(rf.expr.average_precision(k=3))
rf.rank(pl.DataFrame()).ndcg(k="ten")
rf.rank(pl.DataFrame()).on(ties="sometimes")
rf.rank(pl.DataFrame()).no_such_metric()
rf.write_run("old.run", "new.run")
rf.write_run(pd.DataFrame(), "new.run")
rf.write_qrels(pl.LazyFrame(), "new.txt")
axes = Figure().add_subplot()
reveal_type(rf.rank(pl.DataFrame()).plot.over("ndcg@10", by="day", runs=["old", "new"], ci=0.9, title="", run=None))
reveal_type(rf.rank(pl.LazyFrame()).plot.curve("ndcg", "map", by="market", background="black", cutoffs=[1, 5]))
reveal_type(rf.rank(pl.DataFrame()).plot.exposure(k=10, items=100, ax=axes))
reveal_type(rf.rank(pd.DataFrame()).plot.trade_off("novelty@10", "ndcg@10", runs=["old", "new"]))
rf.rank(pl.DataFrame()).plot.over("ndcg@10")
rf.rank(pl.DataFrame()).plot.curve("ndcg", titel="A title")
rf.rank(pl.DataFrame()).plot.contributions("rrf", ci=0.9)
rf.rank(pd.DataFrame()).plot.judged("ndcg", ci="wide")
rf.rank(pd.DataFrame()).plot.judged("ndcg", ax=3)
reveal_type(rf.rank(pd.DataFrame()).summarize("rr", by=["day"], ci=None, cluster="user", seed=1, weights=None))
reveal_type(rf.rank(pl.LazyFrame()).fusion.overlap(runs=["old", "new"]).table)
rf.rank(pl.DataFrame()).summarize("rr", ci="wide")
rf.rank(pl.DataFrame()).collection.difficulty("nqc", of="rr", ci=None)
rf.rank(pl.DataFrame()).mean("rr", cluster="user")
reveal_type(rf.rank(pl.DataFrame()).ndcg(k=[5, 10], gain="exponential"))
reveal_type(rf.rank(pl.LazyFrame()).mrr(k=10))
def typed(ranker: rf.Ranker[pl.DataFrame], of_pandas: rf.PandasRanker, k: int | list[int] | None) -> pd.DataFrame:
    ranker.metrics.rbp(k=k, p=0.5)
    return of_pandas.map(k=k)
typed(rf.rank(pl.DataFrame()), rf.rank(pd.DataFrame()), [3])
typed(rf.rank(pd.DataFrame()), rf.rank(pd.DataFrame()), 3)
rf.rank(pl.DataFrame()).ndcg(k=["ten"])
"""
REVEALED = {
    11: "DataFrame", 12: "LazyFrame", 13: "DataFrame", 14: "Expr",
    22: "LayerChart", 23: "LayerChart", 24: "Axes", 25: "Axes", 31: "DataFrame", 32: "LazyFrame",
    36: "DataFrame", 37: "LazyFrame",
}  # fmt: skip
REFUSED = {15, 16, 17, 18, 26, 27, 28, 29, 30, 33, 34, 35, 42, 43}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A consumer's project and environment, in which rankframe is installed as one package among others."""
    folder = tmp_path_factory.mktemp("consumer")
    venv.create(folder / "env")
    packages = next((folder / "env").glob("**/site-packages"))
    shutil.copytree(Path(rf.__file__).parent, packages / "rankframe", ignore=shutil.ignore_patterns("__pycache__"))
    (packages / "others.pth").write_text(
        "\n".join(dict.fromkeys(sysconfig.get_path(x) for x in ("purelib", "platlib")))
    )
    (folder / "consumer.py").write_text(CONSUMER)
    return folder


def python(project: Path) -> str:
    return str(project / "env" / ("Scripts" if os.name == "nt" else "bin") / "python")


def check(project: Path, *command: str) -> dict[int, str]:
    """What a type checker says of each line of the consumer."""
    done = subprocess.run([sys.executable, "-m", *command, "consumer.py"], cwd=project, capture_output=True, text=True)
    said: dict[int, str] = {}
    for line, text in re.findall(r"consumer\.py:(\d+)(?::\d+)?(?: -)?:? (.*)", done.stdout):
        said[int(line)] = said.get(int(line), "") + text
    return said


@pytest.mark.nightly
@pytest.mark.parametrize("checker", ["pyright", "mypy"])
def test_a_consumers_type_checker_sees_results_and_refuses_wrong_options(project: Path, checker: str) -> None:
    asked = {
        "mypy": ("mypy", "--strict", "--python-executable", python(project), "--cache-dir", str(project / "cache")),
        "pyright": ("pyright", "--pythonpath", python(project)),
    }
    said = check(project, *asked[checker])
    assert said.keys() == REVEALED.keys() | REFUSED, said
    for line, kind in REVEALED.items():
        assert re.search(rf"\b{kind}\b", said[line]), said[line]
        assert "error" not in said[line]
    assert all("error" in said[line] for line in REFUSED)


def test_the_test_run_does_not_load_plugins_that_happen_to_be_installed(tmp_path: Path) -> None:
    (tmp_path / "unasked.py").write_text("raise RuntimeError('a plugin that nobody asked for')")
    info = tmp_path / "unasked-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: unasked\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[pytest11]\nunasked = unasked\n")
    env = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
    env["PYTHONPATH"] = os.pathsep.join([str(tmp_path), *filter(None, sys.path)])
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-n",
        "0",
        "-p",
        "no:cacheprovider",
        "tests/project/test_extras.py",
    ]
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "passed" in done.stdout


def packed(builder: BuilderInterface) -> set[str]:
    """The files that a builder puts into its archive, by their names there."""
    return {Path(file.distribution_path).as_posix() for file in builder.recurse_included_files()}


def files_under(*folders: str) -> set[str]:
    """The files in folders of the project, without what Python compiles and what the site's build writes."""
    paths = (path for folder in folders for path in (ROOT / folder).rglob("*") if "__pycache__" not in path.parts)
    return {path.relative_to(ROOT).as_posix() for path in paths if path.is_file() and path not in WRITTEN}


def test_the_wheel_holds_the_package_and_its_entry_module_and_nothing_else() -> None:
    assert packed(WheelBuilder(str(ROOT))) == files_under("rankframe") | {"_rankframe.py"}


def test_the_sdist_holds_what_a_change_needs_its_checks_among_it() -> None:
    names = packed(SdistBuilder(str(ROOT)))
    assert names >= files_under("rankframe", "tests", "docs", "skills", ".ci", ".github", "scripts", "benchmarks")
    assert {name for name in names if "/" not in name} == {
        *("_rankframe.py", "conftest.py", "README.md", "CHANGELOG.md", "CONTRIBUTING.md"),
        *("LICENSE", "CITATION.cff", "SECURITY.md"),
    }


def test_an_installation_pulls_four_packages() -> None:
    needed = [re.split(r"[\s<>=!~;\[]", line)[0] for line in requires("rankframe") or [] if "extra ==" not in line]
    assert sorted(needed) == ["numpy", "pandas", "polars", "pyarrow"]


def test_the_oldest_versions_that_are_tested_are_the_oldest_that_are_promised() -> None:
    lines = [line for line in requires("rankframe") or [] if "extra ==" not in line]
    promised = dict(line.replace(" ", "").split(">=") for line in lines)
    pinned = dict(line.split("==") for line in (ROOT / "tests" / "oldest.txt").read_text().split())

    def release(text: str) -> tuple[int, ...]:
        return tuple(map(int, text.removesuffix(".0").removesuffix(".0").split(".")))

    assert {name: release(text) for name, text in pinned.items()} == {
        name: release(text) for name, text in promised.items()
    }


def test_a_polars_older_than_the_promised_one_is_refused_at_the_import_in_one_sentence() -> None:
    promised = next(line.partition(">=")[2] for line in requires("rankframe") or [] if line.startswith("polars"))
    code = """
        import polars
        polars.__version__ = "{}"
        try:
            import rankframe
        except ImportError as error:
            print(error)
    """
    says = f"rankframe needs Polars {promised} or later, and 1.39.3 is installed; write pip install --upgrade polars"
    assert run_after("import polars", code.format("1.39.3")) == says
    assert run_after("import polars", code.format(f"{promised}.0")) == ""


def test_the_workflow_runs_both_ends() -> None:
    pythons = re.findall(r'"Programming Language :: Python :: (3\.\d+)"', (ROOT / "pyproject.toml").read_text())
    workflow = (ROOT / ".github" / "workflows" / "tests.yml").read_text()
    assert f'{{ name: oldest, python: "{pythons[0]}", with: "-c tests/oldest.txt" }}' in workflow
    assert (
        f'{{ name: newest, python: "{pythons[-1]}", with: "--upgrade --pre polars pandas pyarrow numpy" }}' in workflow
    )
    assert f'python: ["{pythons[0]}", "{pythons[-1]}"]' in workflow  # of the packages


def test_every_file_that_names_a_version_names_the_same() -> None:
    project = re.search(r'^version = "(.*)"', (ROOT / "pyproject.toml").read_text(), re.MULTILINE)
    cited = re.search(r'^version: "(.*)"', (ROOT / "CITATION.cff").read_text(), re.MULTILINE)
    changed = re.search(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert {found[1] for found in (project, cited, changed) if found} == {version("rankframe")}


def test_the_workflow_runs_every_python_that_is_promised() -> None:
    promised = re.findall(r'"Programming Language :: Python :: (3\.\d+)"', (ROOT / "pyproject.toml").read_text())
    workflow = (ROOT / ".github" / "workflows" / "tests.yml").read_text()
    listed = re.search(r"python: \[(.*)\]", workflow)
    assert listed is not None
    assert re.findall(r"3\.\d+", listed[1]) == promised
