"""The benchmark of tables larger than memory, on a small one."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.scale

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "larger_than_memory.py"


def test_the_benchmark_checks_duckdb_measures_everything_and_takes_its_tables_away(tmp_path: Path) -> None:
    sizes = ["--rows", "1e4", "2e4", "--verbs-at", "2e4", "--one-query", "3e3", "--pairs", "2e3"]
    command = [sys.executable, str(SCRIPT), "--folder", str(tmp_path), *sizes]
    environment_path = str(SCRIPT.parents[1])
    done = subprocess.run(command, capture_output=True, text=True, cwd=environment_path, timeout=250)
    assert done.returncode == 0, done.stderr
    first, header, *lines = done.stdout.splitlines()
    assert first == "DuckDB's values are ours: 100 queries"
    assert header.split() == ["rows", "queries", "seconds", "CPU", "s", "rows/s", "peak", "MB"]
    measured = [re.fullmatch(r"(.+?) +(\d+) +(\d+) +([\d.]+) +([\d.]+) +(\d+) +(\d+)", line) for line in lines]
    rows = [found.groups() for found in measured if found]
    assert {int(row[1]) for row in rows if row[0] == "ten metrics, memory_limit=1GB"} == {10_000, 20_000, 3_000, 4_000}
    assert {row[0] for row in rows if row[1] == "20000"} >= {"summarize", "with_metrics", "curve", "ndcg@10"}
    assert all(50 < float(row[6]) < 2000 for row in rows)
    assert sum("seconds grow with rows to the power" in line for line in lines) == len(lines) - len(rows) > 0
    assert not any(tmp_path.iterdir())
