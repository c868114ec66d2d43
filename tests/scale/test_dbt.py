"""The project on the page about dbt builds, with the values of a frame, and fails when a slice falls below its budget."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import duckdb
import polars as pl
import pytest

from rankframe._command import main
from tests.support.tables import BY_CHANCE

pytestmark = [BY_CHANCE, pytest.mark.scale]

PAGE = Path(__file__).parents[2] / "docs" / "recipes" / "dbt.md"


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of the page, and the model that its command writes."""
    folder, page = tmp_path_factory.mktemp("project"), PAGE.read_text(encoding="utf-8")
    for name, text in re.findall(r"^`([\w/]+\.\w+)`(?:(?!```).)*?```\w+\n(.*?)```", page, re.MULTILINE | re.DOTALL):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    (folder / "models").mkdir()
    (command,) = re.findall(r"^rankframe (sql .*--dialect duckdb.*)$", page, re.MULTILINE)
    words = shlex.split(command)
    assert main([*words[:-1], str(folder / words[-1])]) == 0
    return folder


def build(project: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [str(Path(sys.executable).parent / "dbt"), "build", "--profiles-dir", ".", *words]
    environment = {**os.environ, "DBT_SEND_ANONYMOUS_USAGE_STATS": "false", "PYTHONWARNINGS": "default"}
    return subprocess.run(command, cwd=project, env=environment, capture_output=True, text=True)


def test_the_project_builds_with_the_values_of_a_frame(project: Path) -> None:
    done = build(project)
    assert done.returncode == 0, done.stdout[-3000:]
    with duckdb.connect(str(project / "ranking.duckdb")) as db:
        found = db.sql("SELECT * FROM ranking_metrics ORDER BY market").fetchall()
    df = pl.read_csv(project / "seeds" / "judged.csv")
    wanted = df.rank.mean("ndcg@10", "recall@10", by="market").sort("market").rows()
    assert [(row[0], *row[2:]) for row in found] == [
        (market, *map(pytest.approx, values)) for market, *values in wanted
    ]
    page = PAGE.read_text(encoding="utf-8")
    for market, queries, *values in found:
        assert f"| {market} | {queries:g} | {' | '.join(f'{x:.4g}' for x in values)} |" in page


def test_a_slice_below_its_budget_fails_the_build(project: Path) -> None:
    done = build(project, "--vars", "least_ndcg: 0.8")
    assert done.returncode == 1
    assert "Got 1 result, configured to fail if != 0" in done.stdout
