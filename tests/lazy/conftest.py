"""A temporary folder that each test finds empty, and has to leave so."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from rankframe._support.polars_versions import BEFORE_2


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    yield folder
    deadline = time.monotonic() + 10  # the work of a reader that was dropped ends soon after it
    while left(folder) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert left(folder) == []


def left(folder: Path) -> list[Path]:
    """What is in the folder, but for the folders that Polars before 2.0 keeps there."""
    return [path for path in folder.iterdir() if not (BEFORE_2 and path.name.startswith("polars-"))]
