"""Cut a table into parts of whole queries, which do not interact, and compute as many parts at once
as there are threads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import pairwise

import polars as pl

from .._support.floats import NDArray, np
from .._support.threads import at_once, threads
from .._table.roles import ROW
from .._table.setup import Setup
from ..errors import RankframeError
from .rank_order import hash_of, starts_of_runs

ROWS_OF_PART = 2**20
"""The most rows of a part, so that memory for their order does not grow with the table."""

SLICES_OF_PART = 4
"""How many times fewer rows a part has that is a slice of the table: smaller ones sort faster, and
cost no copy."""

ROWS_OF_THREAD = 2**15
"""The fewest rows worth a thread."""

Run = Callable[[pl.DataFrame], pl.DataFrame]


def in_parts(frame: pl.DataFrame, setup: Setup, reads: Iterable[str], run: Run) -> pl.DataFrame:
    """The result of `run` for the frame, from its results for parts of whole queries.

    Parts have the columns with a role and those that `run` reads. Results are put together in the
    order of the table: if a part has the column `ROW`, `run` gives each row of its result that of
    the same row of the part, or of the first row of its query.
    """
    if not may_be_cut(frame.height):
        return run(frame)
    wanted = {*setup.roles.names, *reads}
    names = [name for name in frame.columns if name in wanted]
    parts = _cut(frame[names], setup.roles.query)
    try:
        results = at_once([partial(_of_part, run, part) for part in parts])
    except RankframeError:
        return run(frame)  # raises what is wrong with the whole table, however it is cut
    result = pl.concat(results)
    if ROW not in result.columns:
        return result
    return result.sort(ROW, maintain_order=True).drop(ROW)


def _of_part(run: Run, part: Callable[[], pl.DataFrame]) -> pl.DataFrame:
    return run(part())


def _cut(frame: pl.DataFrame, query: Sequence[str]) -> Iterator[Callable[[], pl.DataFrame]]:
    """Parts of about equally many rows: slices if the rows of each query stand together, else rows
    by the query's id.
    """
    ids = frame[list(query)]
    n = number_of_parts(ids.height, ROWS_OF_PART)
    rows = -(-ids.height // n)
    slices = [(start, min(start + rows, ids.height)) for start in range(0, ids.height, rows)]
    starts = starts_of_runs(ids, lambda starts: at_once([partial(starts, *x) for x in slices]))
    if starts is not None:
        n = number_of_slices(frame.height)
        for start, end in pairwise(_ends(starts, n, frame.height)):
            yield partial(frame.slice, start, end - start)
        return
    if n == 1:
        yield lambda: frame
        return
    pieces = at_once([partial(_by_part, ids, n, *x) for x in slices])
    for i in range(n):
        rows_of_part = [row[ends[i] : ends[i + 1]] for row, ends in pieces]
        if any(map(len, rows_of_part)):
            yield partial(_gathered, frame, rows_of_part)


def may_be_cut(rows: int) -> bool:
    """Whether a table of so many rows is cut, if only where the rows of each query stand
    together.
    """
    return number_of_slices(rows) > 1


def number_of_slices(rows: int) -> int:
    """The number of parts of a table in which the rows of each query stand together."""
    return number_of_parts(rows, max(ROWS_OF_PART // SLICES_OF_PART, 1))


def number_of_parts(rows: int, most: int) -> int:
    """The number of parts of at most so many rows: there are as many as run at once, or a multiple
    of that, if threads pay.
    """
    if rows < 2 * ROWS_OF_THREAD:
        return 1
    at_once = threads()
    n = -(-rows // most)
    multiple = -(-n // at_once) * at_once
    return max(min(multiple, rows // ROWS_OF_THREAD), n, 1)


def _ends(starts: NDArray[np.int64], n: int, height: int) -> list[int]:
    """The rows at which `n` parts start and end, each of them near a multiple of an equal share."""
    near = np.searchsorted(starts, np.arange(1, n) * height // n)
    between = np.unique(starts[near[near < len(starts)]])
    return [0, *between.tolist(), height]


def _by_part(
    ids: pl.DataFrame, n: int, start: int, end: int
) -> tuple[NDArray[np.uint32], list[int]]:
    """The rows of a slice, part by part, and where those of each part start and end; a query's hash
    says its part.
    """
    first_bits = (hash_of(ids[start:end]) >> np.uint64(48)).astype(np.uint32)
    dtype = np.uint8 if n <= 2**8 else np.uint16
    part = ((first_bits * np.uint32(n)) >> np.uint32(16)).astype(dtype)
    row = np.argsort(part, kind="stable").astype(np.uint32)
    row += np.uint32(start)
    ends = np.cumsum(np.bincount(part, minlength=n))
    return row, [0, *ends.tolist()]


def _gathered(frame: pl.DataFrame, rows: Sequence[NDArray[np.uint32]]) -> pl.DataFrame:
    """The rows of a part, with their numbers."""
    row = pl.Series(ROW, np.concatenate(rows))
    return frame[row].with_columns(row)
