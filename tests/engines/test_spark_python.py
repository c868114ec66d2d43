"""A local Spark session whose workers run a Python without rankframe is refused before a job begins."""

from __future__ import annotations

import stat
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

import rankframe as rf
from rankframe._lift.spark_python import has_rankframe, refuse_workers_without_rankframe


def session(python: str, master: str = "local[2]") -> SimpleNamespace:
    return SimpleNamespace(_sc=SimpleNamespace(master=master, pythonExec=python))


@pytest.fixture
def bare(tmp_path: Path) -> str:
    """A Python that sees no installed package."""
    python = tmp_path / "python3"
    python.write_text(f'#!/bin/sh\nexec {sys.executable} -I -S "$@"\n')
    python.chmod(python.stat().st_mode | stat.S_IXUSR)
    return str(python)


def test_workers_without_rankframe_are_refused_with_the_line_to_write(bare: str) -> None:
    with pytest.raises(
        rf.RankframeError, match=r"which has no rankframe; set os\.environ\['PYSPARK_PYTHON'\] = "
    ) as found:
        refuse_workers_without_rankframe(session(bare))
    assert repr(sys.executable) in str(found.value)
    assert "Traceback" not in str(found.value)


def test_other_workers_are_taken(bare: str) -> None:
    refuse_workers_without_rankframe(session(sys.executable))
    refuse_workers_without_rankframe(session("no-such-python"))
    refuse_workers_without_rankframe(session(bare, master="spark://cluster:7077"))
    refuse_workers_without_rankframe(SimpleNamespace())  # a Connect session
    assert has_rankframe(sys.executable)
