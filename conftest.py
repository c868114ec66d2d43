"""Tables are printed as in the docs, whatever the terminal is and however Polars is set up."""

from __future__ import annotations

import os

import polars as pl

os.environ["COLUMNS"] = "80"  # pandas asks for it
pl.Config.restore_defaults()
pl.Config.set_tbl_width_chars(100)
