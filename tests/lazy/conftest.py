"""A temporary folder that each test finds empty, and has to leave so."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    yield folder
    deadline = time.monotonic() + 10  # the work of a reader that was dropped ends soon after it
    while list(folder.iterdir()) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not list(folder.iterdir())
