"""Errors of plans: before 2.0, Polars raises one of its own, with the type and the text of ours."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from rankframe._support.polars_versions import WRAPS_ERRORS


def raised_by_plan(kind: type[BaseException], *, match: str) -> Any:
    """Expect that a plan which runs raises an error, as this version of Polars does."""
    if WRAPS_ERRORS:
        return pytest.raises(pl.exceptions.ComputeError, match=f"exception: {kind.__name__}: .*{match}")
    return pytest.raises(kind, match=match)
