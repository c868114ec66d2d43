"""The benchmark of tables larger than memory, on a small one."""

from __future__ import annotations

import math
import re
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))

import bars
import larger_than_memory
from shapes import Shape
from tools import DUCKDB, check

from tests.support.tables import BY_CHANCE

pytestmark = [BY_CHANCE, pytest.mark.scale]

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "larger_than_memory.py"


def test_the_benchmark_checks_duckdb_measures_everything_and_takes_its_tables_away(tmp_path: Path) -> None:
    sizes = ["--rows", "1e4", "2e4", "--verbs-at", "2e4", "--one-query", "3e3", "--pairs", "2e3"]
    command = [sys.executable, str(SCRIPT), "--folder", str(tmp_path), *sizes]
    environment_path = str(SCRIPT.parents[1])
    done = subprocess.run(command, capture_output=True, text=True, cwd=environment_path, timeout=600)
    assert done.returncode == 0, done.stderr
    before, after = done.stdout.split("ten metrics: seconds grow", 1)
    first, header, *lines = before.splitlines()
    assert first == "DuckDB's values are ours: 100 queries"
    assert header.split() == ["rows", "queries", "seconds", "CPU", "s", "rows/s", "peak", "MB"]
    measured = [re.fullmatch(r"(.+?) +(\d+) +(\d+) +([\d.]+) +([\d.]+) +(\d+) +(\d+)", line) for line in lines]
    rows = [found.groups() for found in measured if found]
    assert {int(row[1]) for row in rows if row[0] == "ten metrics, memory_limit=1GB"} == {10_000, 20_000, 3_000, 4_000}
    assert {row[0] for row in rows if row[1] == "20000"} >= {"summarize", "with_metrics", "curve", "ndcg@10"}
    assert all(50 < float(row[6]) < 2000 for row in rows)
    assert len(rows) == len(lines) == 4 * 7 + 7
    growth, verdicts = [line for line in after.splitlines() if "grow" in line], after.splitlines()[7:]
    assert len(growth) == 6
    assert verdicts[-1].endswith(f" of {len(verdicts) - 1} hold")
    assert {"peak of with_metrics, memory_limit=1GB, 20,000 rows", "peak of ten metrics, 2,000 queries of 2"} <= {
        line[:62].strip() for line in verdicts
    }
    assert not any(tmp_path.iterdir())


def test_peaks_processor_time_and_duckdb_have_bars() -> None:
    seconds = {"cpu": 22.4, "seconds": 20.0, "megabytes": 3999.0}
    found = {
        ("ten metrics", 30_000_000, 100): seconds,
        ("ten metrics", 300_000_000, 100): {"cpu": 448.0, "seconds": 250.0, "megabytes": 4001.0},
        ("curve, memory_limit=1GB", 30_000_000, 100): seconds,
        ("DuckDB, ten metrics", 300_000_000, 100): {"cpu": 900.0, "seconds": 500.0, "megabytes": math.nan},
        ("ndcg@10", 100_000_000, 2): {"cpu": math.nan, "seconds": math.nan, "megabytes": math.nan},
    }
    bars = {bar.name: bar for bar in larger_than_memory.judged(found)}
    figures = {name: (bar.figure, bar.holds) for name, bar in bars.items()}
    assert figures == {
        "peak of ten metrics, 30,000,000 rows": (3.999, True),
        "peak of ten metrics, 300,000,000 rows": (4.001, False),
        "peak of curve, memory_limit=1GB, 30,000,000 rows": (3.999, False),
        "peak of ndcg@10, 50,000,000 queries of 2": (pytest.approx(math.nan, nan_ok=True), False),
        "processor, ten metrics, 300,000,000 rows": (pytest.approx(448 / 300), False),
        "processor, from 30,000,000 to 300,000,000 rows": (pytest.approx(math.log10(20)), False),
        "DuckDB, ten metrics, 300,000,000 rows": (pytest.approx(900 / 448), True),
    }


def test_duckdb_gives_our_values_and_has_bars() -> None:
    bench = bars.Bench(queries=10, rounds=1)
    found = [*bars.of_duckdb(bench, sizes=(1_000, 2_000))]
    assert [bar.bar for bar in found] == [0.3, 0.25, 0.3, 0.25]
    table = Shape(30, 20, text=True, levels=3).table("ties")
    assert max(check(tool, table) for tool in DUCKDB) <= 1e-9
