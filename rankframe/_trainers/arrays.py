"""Convert the numbers of trainers to arrays."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import polars as pl

from ..errors import InvalidData, shown

Array: TypeAlias = npt.NDArray[Any]


def values(given: Any, what: str) -> Array:
    """Convert a tensor, an array, a Series or a list to an array in main memory."""
    if hasattr(given, "detach"):  # a tensor of PyTorch; NumPy lacks some of its floats
        given = given.detach().cpu()
        given = given.double() if given.is_floating_point() else given
    given = given.to_list() if isinstance(given, pl.Series) else given  # an array has no nulls
    try:
        return np.asarray(given)
    except (TypeError, ValueError):
        raise InvalidData(f"{what}={shown(given)} has not one shape; give a tensor, an array or a list") from None


def same(one: Array | None, other: Array | None) -> bool:
    """Whether two arrays are equal, or both None."""
    return one is other or (one is not None and other is not None and np.array_equal(one, other))
