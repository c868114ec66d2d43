"""Random draws of queries: the same on every machine, for any batch size.

Random numbers come from PCG64 streams, one for every `BLOCK` resamples, so that results depend on
the seed alone. Those of a query that must not depend on other queries come from SplitMix64, which
starts at a hash of the query's id.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, TypeAlias, TypeVar

import polars as pl

from .floats import Floats, Unsigned, np
from .threads import at_once

Step: TypeAlias = Callable[[int, int], None]
Statistic: TypeAlias = Callable[[list[Floats]], Floats]
Draw: TypeAlias = "Callable[[np.random.PCG64, int, int], np.ndarray[Any, Any]]"
T = TypeVar("T")

BLOCK = 100
"""The number of resamples that share one stream; another block size would change every result."""

CHUNK = 2**18
"""About how many numbers are held at a time; it changes no result."""

PRODUCT = 2**18
"""The most multiplications of one matrix product: OpenBLAS gives more to threads of its own, which
wait for each other."""

FEW_NUMBERS = 2**20
"""The most random numbers in all that one thread draws sooner than several."""

MOST_NUMBERS = 50_000_000
"""The most random numbers of a statistic: more queries have fewer resamples."""

LEAST_RESAMPLES = 1_000
"""The fewest resamples that this leaves."""

GOLDEN = 0x9E3779B97F4A7C15
"""The step of SplitMix64: 2^64 over the golden ratio, made odd."""


def streams(resamples: int, seed: int) -> Iterator[tuple[np.random.PCG64, int, int]]:
    """For each block of resamples: its generator, its size, and the number done after it."""
    n_blocks = -(-resamples // BLOCK)
    children = np.random.SeedSequence(seed).spawn(n_blocks)
    for i, child in enumerate(children):
        done = min((i + 1) * BLOCK, resamples)
        yield np.random.PCG64(child), done - i * BLOCK, done


def parts(size: int, width: int) -> Iterator[int]:
    """Split `size` rows of `width` numbers into batches, and give the number of rows of each."""
    most = max(1, CHUNK // max(width, 1))
    for start in range(0, size, most):
        yield min(most, size - start)


def words(stream: np.random.PCG64, rows: int, n: int, kind: str) -> np.ndarray[Any, Any]:
    """`rows` times `n` whole numbers of a type, cut from the stream's 64 bits, lowest first.

    The rest is dropped.
    """
    width = 8 // np.dtype(kind).itemsize
    n_words = rows * -(-n // width)
    bits = stream.random_raw(n_words).astype("<u8", copy=False)
    numbers = bits.view(kind).reshape(rows, -1)
    return numbers[:, :n]


def counts(stream: np.random.PCG64, rows: int, n: int) -> Floats:
    """How often each of n queries is drawn in n draws, a row per resample."""
    numbers = words(stream, rows, n, "<u4")
    scaled = np.multiply(numbers, np.uint64(n), dtype=np.uint64)
    scaled >>= np.uint64(32)
    query = scaled.view(np.int64)
    if rows > 1:
        query += np.arange(0, rows * n, n)[:, None]
    times = np.bincount(query.ravel(), minlength=rows * n)
    return times.reshape(rows, n).astype(np.float64)


def exponentials(stream: np.random.PCG64, rows: int, n: int) -> Floats:
    """Random weights of n queries, exponentially distributed, a row per resample."""
    digits = words(stream, rows, n, "<u8") >> np.uint64(11)
    uniform = digits.astype(np.float64) * 2.0**-53  # from 0 to below 1
    return np.negative(np.log1p(-uniform))


def each(
    draw: Draw, resamples: int, seed: int, n: int, step: Step
) -> Iterator[np.ndarray[Any, Any]]:
    """The draws of n queries for each resample, one after the other."""
    for stream, size, done in streams(resamples, seed):
        for rows in parts(size, n):
            yield from draw(stream, rows, n)
        step(done, resamples)


def affordable(resamples: int, n: int) -> int:
    """The number of resamples of n queries, at most as many as `MOST_NUMBERS` allows."""
    most = MOST_NUMBERS // max(n, 1)
    return min(resamples, max(LEAST_RESAMPLES, most))


def of_blocks(
    task: Callable[[np.random.PCG64, int], T], resamples: int, n: int, seed: int, step: Step | None
) -> list[T]:
    """What a task makes of each block of resamples of n queries, several blocks at once.

    A task gets the block's generator and its size.
    """
    finished: list[int] = []

    def of_block(stream: np.random.PCG64, size: int) -> T:
        result = task(stream, size)
        finished.append(size)
        if step is not None:
            step(min(len(finished) * BLOCK, resamples), resamples)
        return result

    blocks = [partial(of_block, stream, size) for stream, size, _ in streams(resamples, seed)]
    if resamples * n <= FEW_NUMBERS:
        return [block() for block in blocks]
    return at_once(blocks)


def product(drawn: Floats, columns: Floats) -> Floats:
    """The matrix product, as a sum over parts of the queries that BLAS does in this thread."""
    n = len(columns)
    n_cells = len(drawn) * columns.shape[1]
    width = max(1, PRODUCT // max(1, n_cells))
    if width >= n:
        return drawn @ columns
    total = np.zeros((len(drawn), columns.shape[1]))
    for start in range(0, n, width):
        part = slice(start, start + width)
        total += drawn[:, part] @ columns[part]
    return total


def resampled(
    statistic: Statistic,
    columns: list[Floats],
    resamples: int,
    seed: int,
    step: Step | None,
    draw: Draw = counts,
) -> Floats:
    """The statistic of each resample, from the sums of the columns over the drawn queries.

    Each query counts as often as drawn.
    """
    n = len(columns[0])
    widths = [x.shape[1] for x in columns]
    ends = np.cumsum(widths)[:-1]
    stacked = np.hstack(columns)

    def of_block(stream: np.random.PCG64, size: int) -> Floats:
        statistics = []
        for rows in parts(size, n):
            sums = product(draw(stream, rows, n), stacked)
            statistics.append(statistic(np.split(sums, ends, axis=1)))
        return np.vstack(statistics)

    return np.vstack(of_blocks(of_block, resamples, n, seed, step))


def as_text(query: Sequence[str]) -> pl.Expr:
    """The ids in some columns as one text."""
    texts = [pl.col(name).cast(pl.String).fill_null("\0") for name in query]
    return pl.concat_str(texts, separator="\x1f")


def seeds_of(queries: pl.DataFrame, query: Sequence[str], seed: int) -> Unsigned:
    """A number for each query, derived from its id as text and the seed."""
    import pandas as pd

    texts = queries.select(as_text(query)).to_series()
    objects = texts.to_numpy().astype(object)
    hashes: Unsigned = pd.util.hash_array(objects, categorize=False)
    start = GOLDEN * (seed + 1) % 2**64
    return _mixed(hashes + np.uint64(start))


def uniforms(seeds: Unsigned, n: int) -> Floats:
    """`n` numbers from 0 to below 1 for each seed: a column per seed."""
    numbers = np.arange(1, n + 1, dtype=np.uint64)
    steps = (numbers * np.uint64(GOLDEN))[:, None]
    digits = _mixed(seeds + steps) >> np.uint64(11)
    return np.asarray(digits * 2.0**-53, dtype=np.float64)


def _mixed(x: Unsigned) -> Unsigned:
    """The finalizer of SplitMix64 (Steele, Lea, Flood, 2014)."""
    x = x ^ (x >> np.uint64(30))
    x = x * np.uint64(0xBF58476D1CE4E5B9)
    x = x ^ (x >> np.uint64(27))
    x = x * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))
