"""Tables are printed as in the docs, whatever the terminal is and however Polars is set up.

What is collected lives until the run ends, so the garbage collector never looks through it: that took a third of the
collection's time.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator

import polars as pl
import pytest

os.environ["COLUMNS"] = "80"  # pandas asks for it
pl.Config.restore_defaults()
pl.Config.set_tbl_width_chars(100)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Leave what is collected out of the garbage collector's sight."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()
