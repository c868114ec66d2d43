"""The options of `on` that a joined frame keeps, so that its own `.rank` starts with them.

A Polars frame keeps them as an attribute, which no frame made from it has; a pandas frame in ``attrs``, which pandas hands on.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import polars as pl

from .._table.setup import OPTIONS, Setup
from ..errors import RankframeError

KEY = "rankframe"
"""The name of the options in ``attrs`` of pandas."""

ATTRIBUTE = "_rankframe_setup"
"""The name of the setup on a Polars frame."""

DEFAULT = Setup()


def keep(frame: Any, setup: Setup) -> None:
    """Keep the options with a frame of the library's own making."""
    if isinstance(frame, (pl.DataFrame, pl.LazyFrame)):
        setattr(frame, ATTRIBUTE, setup)
        return
    others = {name: value for name, value in frame.attrs.items() if name != KEY}
    frame.attrs = others | ({KEY: dict(setup.options)} if setup.options else {})


def kept(frame: object) -> Setup:
    """The setup that a frame starts with."""
    if isinstance(frame, (pl.DataFrame, pl.LazyFrame)):
        setup: Setup = getattr(frame, ATTRIBUTE, DEFAULT)
        return setup
    options = getattr(frame, "attrs", {}).get(KEY)
    if isinstance(options, Mapping) and {*options} <= {*OPTIONS}:
        with suppress(RankframeError):  # values that another version wrote; pandas' own `rank` is reached here, too
            return DEFAULT.on(**options)
    return DEFAULT
