"""Tables are printed as in the docs, whatever the terminal is and however Polars is set up.

What is collected lives until the run ends, so the garbage collector never looks through it: that
took a third of the collection's time.

The run has a temporary folder of its own: what tests leave there goes with it, and what others keep
beside it stays. A table of a few rows comes from disk in several batches.
"""

from __future__ import annotations

import gc
import os
import shutil
import tempfile
from collections.abc import Iterator
from functools import partial

import polars as pl
import pytest

os.environ["COLUMNS"] = "80"  # pandas asks for it
pl.Config.restore_defaults()
pl.Config.set_tbl_width_chars(100)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Offer the run of all cases of laws that sample (``tests/support/each.py``)."""
    parser.addoption(
        "--all-cases", action="store_true", help="run every case of a law, where it takes a sample"
    )


def pytest_configure(config: pytest.Config) -> None:
    """Make the folder, which workers and subprocesses find by their environment."""
    if not hasattr(config, "workerinput"):
        tempfile.tempdir = tempfile.mkdtemp(prefix="tests-")
        os.environ.update(dict.fromkeys(("TMPDIR", "TEMP", "TMP"), tempfile.tempdir))
        config.add_cleanup(partial(shutil.rmtree, tempfile.tempdir, ignore_errors=True))


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Leave what is collected out of the garbage collector's sight."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_itemcollected(item: pytest.Item) -> None:
    """Mark the laws that sample, so that a run of all their cases can ask for them."""
    _, _, sample = getattr(getattr(item, "function", None), "law", (None, None, None))
    if sample is not None:
        item.add_marker(pytest.mark.sampled)


@pytest.fixture(autouse=True, scope="session")
def _small_batches() -> Iterator[None]:
    """Let a table of a few rows come from disk in several batches."""
    with pytest.MonkeyPatch.context() as patches:
        patches.setattr("rankframe._plan.node.LEAST_ROOM", 0)
        yield


@pytest.fixture
def law_subtests(subtests: pytest.Subtests) -> pytest.Subtests:
    """Where a law reports the cases that fail."""
    return subtests


@pytest.fixture
def law_config(pytestconfig: pytest.Config) -> pytest.Config:
    """Where a law reads whether all cases are asked for."""
    return pytestconfig
