"""Sorts of numbers without a sign, by NumPy or by Polars, of which either may take three times as long as the other, as the machine is."""

from __future__ import annotations

import time
from functools import cache
from typing import Any, TypeVar

import polars as pl

from .floats import NDArray, np

N = TypeVar("N", bound="np.unsignedinteger[Any]")

FEW = 2**13
"""The most numbers that NumPy sorts without a comparison of the two."""

ROUNDS = 3
"""How often each sorts a sample, of which the least time counts."""


def in_order(values: NDArray[N]) -> NDArray[N]:
    """The values in ascending order; the array given may be overwritten."""
    if len(values) > FEW and polars_is_faster():
        return _by_polars(values)
    values.sort()
    return values


def _by_polars(values: NDArray[N]) -> NDArray[N]:
    return pl.Series(values).sort(multithreaded=False).to_numpy(writable=True)


@cache
def polars_is_faster() -> bool:
    """Whether Polars sorts a sample faster, on this processor, than NumPy."""
    sample = np.random.default_rng(0).integers(0, 2**63, FEW, dtype=np.uint64)
    by_polars = min(_seconds(_by_polars, sample) for _ in range(ROUNDS))
    return by_polars < min(_seconds(np.sort, sample) for _ in range(ROUNDS))


def _seconds(sort: Any, sample: NDArray[Any]) -> float:
    start = time.perf_counter()
    sort(sample)
    return time.perf_counter() - start
