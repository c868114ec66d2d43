"""Random draws of queries: the same on every machine, for any batch size.

Random numbers come from PCG64 streams, one for every `BLOCK` resamples, so that results depend on the seed alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

from .floats import Floats, np

Step: TypeAlias = Callable[[int, int], None]
Statistic: TypeAlias = Callable[[list[Floats]], Floats]
Draw: TypeAlias = "Callable[[np.random.PCG64, int, int], np.ndarray[Any, Any]]"

BLOCK = 100
"""The number of resamples that share one stream; another block size would change every result."""

CHUNK = 2**18
"""About how many numbers are held at a time; it changes no result."""


def streams(resamples: int, seed: int) -> Iterator[tuple[np.random.PCG64, int, int]]:
    """For each block of resamples: its generator, its size, and the number of resamples done after it."""
    for i, child in enumerate(np.random.SeedSequence(seed).spawn(-(-resamples // BLOCK))):
        done = min((i + 1) * BLOCK, resamples)
        yield np.random.PCG64(child), done - i * BLOCK, done


def parts(size: int, width: int) -> Iterator[int]:
    """Split `size` rows of `width` numbers into batches, and give the number of rows of each."""
    most = max(1, CHUNK // max(width, 1))
    for start in range(0, size, most):
        yield min(most, size - start)


def words(stream: np.random.PCG64, rows: int, n: int, kind: str) -> np.ndarray[Any, Any]:
    """`rows` times `n` whole numbers of a type, cut from the stream's 64 bits, lowest first; the rest is dropped."""
    width = 8 // np.dtype(kind).itemsize
    drawn = stream.random_raw(rows * -(-n // width)).astype("<u8", copy=False)
    return drawn.view(kind).reshape(rows, -1)[:, :n]


def counts(stream: np.random.PCG64, rows: int, n: int) -> Floats:
    """How often each of n queries is drawn in n draws, a row per resample."""
    drawn = np.multiply(words(stream, rows, n, "<u4"), np.uint64(n), dtype=np.uint64)
    drawn >>= np.uint64(32)
    at = drawn.view(np.int64)
    if rows > 1:
        at += np.arange(0, rows * n, n)[:, None]
    return np.bincount(at.ravel(), minlength=rows * n).reshape(rows, n).astype(np.float64)


def exponentials(stream: np.random.PCG64, rows: int, n: int) -> Floats:
    """Random weights of n queries, exponentially distributed, a row per resample."""
    uniform = (words(stream, rows, n, "<u8") >> np.uint64(11)).astype(np.float64) * 2.0**-53  # from 0 to below 1
    return np.negative(np.log1p(-uniform))


def each(draw: Draw, resamples: int, seed: int, n: int, step: Step) -> Iterator[np.ndarray[Any, Any]]:
    """The draws of n queries for each resample, one after the other."""
    for stream, size, done in streams(resamples, seed):
        for rows in parts(size, n):
            yield from draw(stream, rows, n)
        step(done, resamples)


def resampled(
    statistic: Statistic, columns: list[Floats], resamples: int, seed: int, step: Step | None, draw: Draw = counts
) -> Floats:
    """The statistic of each resample, from the sums of the columns, with each query counted as often as drawn."""
    n = len(columns[0])
    cuts = np.cumsum([x.shape[1] for x in columns])[:-1]
    stacked = np.hstack(columns)
    found: list[Floats] = []
    for stream, size, done in streams(resamples, seed):
        drawn = (draw(stream, rows, n) for rows in parts(size, n))
        found += (statistic(np.split(c @ stacked, cuts, axis=1)) for c in drawn)
        if step is not None:
            step(done, resamples)
    return np.vstack(found)
