"""All that holds in classic sessions of Spark holds in Connect ones, which want a process of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.tables import BY_CHANCE

pytestmark = [BY_CHANCE, pytest.mark.scale]


@pytest.mark.parametrize(
    "chosen", ["bounds or mistakes or wrong or explained", pytest.param("", marks=pytest.mark.nightly)]
)
def test_connect_sessions_pass_the_tests_of_classic_ones(chosen: str) -> None:
    command = [sys.executable, "-m", "pytest", "-q", "-n", "0", "-m", "scale", "-p", "no:cacheprovider", "-k", chosen]
    tests = str(Path(__file__).with_name("test_spark.py"))
    environment = {**os.environ, "RANKFRAME_TEST_SPARK": "connect", "PYTEST_ADDOPTS": ""}
    done = subprocess.run([*command, tests], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-5000:]
    assert " passed" in done.stdout
    assert "skipped" not in done.stdout
