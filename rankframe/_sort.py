"""An eager frame's rows sorted by query and score as whole numbers, which costs a fraction of comparing what they hold."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import polars as pl

from ._table import Table

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Numbered: TypeAlias = tuple[NDArray[np.uint32], NDArray[np.uint32]]
    """The number of each row's query, as they are first seen, and each query's first row."""

__all__ = ["SortedRows", "differ", "sort_rows"]

SPAN = 4
"""How many times as many values as rows there may be between the least and the largest query for a table of them all."""


@dataclass(frozen=True)
class SortedRows:
    """The rows of a frame, query by query and from the highest score to the lowest.

    Attributes
    ----------
    queries
        One row per query, its key, in the order in which they are first seen.
    ends
        How many rows stand before each query, and at last how many there are.
    codes
        In rising order: the number of a row's query, as much of its score as there is room for, the number of the row.
    bits
        How many binary digits the number of a row has.
    """

    frame: pl.DataFrame
    table: Table
    queries: pl.DataFrame
    ends: NDArray[np.int64]
    codes: NDArray[np.uint64]
    bits: int

    def of(self, start: int, length: int) -> pl.DataFrame:
        """The rows of some queries in rank order: the number of the query, of the row, and its position in the query."""
        import numpy as np

        ends = self.ends[start : start + length + 1]
        sizes, first, last = np.diff(ends), int(ends[0]), int(ends[-1])
        codes, bits = self.codes[first:last], np.uint64(self.bits)
        row = pl.Series(codes & _ones(bits)).cast(pl.get_index_type())
        return pl.DataFrame(
            {
                "#query": pl.Series(np.repeat(np.arange(start, start + length, dtype=np.uint32), sizes)).set_sorted(),
                "#row": self._with_ties_in_order(row, codes >> bits),
                "#position": np.arange(first + 1, last + 1) - np.repeat(ends[:-1], sizes),
            }
        )

    def _with_ties_in_order(self, row: pl.Series, code: NDArray[np.uint64]) -> pl.Series:
        """The rows, those with the code of a neighbour in the order of what they hold."""
        import numpy as np

        again = code[1:] == code[:-1]
        if not again.any():
            return row
        tied = np.concatenate([again, [False]])
        tied[1:] |= again
        where = pl.Series(np.flatnonzero(tied))
        some, (keys, descending) = row.gather(where), self.table.order()
        ties = self.frame[some].select(pl.Series("#code", code[tied]), *keys_named(keys), some.alias("#row"))
        falling = [False, *[descending] * len(keys)]
        ties = ties.sort(ties.columns[:-1], descending=falling, nulls_last=True, maintain_order=True)
        return row.scatter(where, ties["#row"])


def keys_named(keys: list[pl.Expr]) -> list[pl.Expr]:
    return [key.alias(f"#{i}") for i, key in enumerate(keys)]


def sort_rows(frame: pl.DataFrame, table: Table) -> SortedRows:
    """Sort the rows of a frame; those whose scores are told apart by more than there is room for are when they are taken."""
    import numpy as np  # only here and below, so that nobody else waits for it

    ids = frame.select(table.query)
    number, first = _by_value(ids) or _by_hash(ids) or _by_group(ids)
    score = _rising(frame.select(table.score).to_series())
    bits = frame.height.bit_length()
    room = 64 - bits - len(first).bit_length()
    score >>= np.uint64(max(int(score.max(initial=0)).bit_length() - room, 0))
    code = number.astype(np.uint64)
    code <<= np.uint64(room)
    code |= score
    code = _numbered(code, bits)
    code.sort()
    sizes = np.bincount(number, minlength=len(first))
    return SortedRows(frame, table, ids[pl.Series(first)], np.concatenate([[0], np.cumsum(sizes)]), code, bits)


def differ(values: pl.Series) -> bool:
    """Whether all of some whole numbers differ."""
    import numpy as np

    numbers = np.sort(values.to_numpy())
    return not (numbers[1:] == numbers[:-1]).any()


def _by_value(ids: pl.DataFrame) -> Numbered | None:
    """Queries told apart by a table of all values, where that is not much longer than the frame."""
    import numpy as np

    values = ids.to_series().to_physical()
    if ids.width > 1 or not values.dtype.is_integer():
        return None
    values = values.cast(pl.Int64, strict=False)
    low, high = values.min(), values.max()
    if values.has_nulls() or low is None or high - low >= SPAN * ids.height:
        return None
    value = values.to_numpy() - low
    first = np.full(high - low + 1, ids.height, dtype=np.uint32)
    first[value[::-1]] = np.arange(ids.height, dtype=np.uint32)[::-1]  # what is said last stays
    seen = np.flatnonzero(first < ids.height)
    seen = seen[np.argsort(first[seen])]
    number = np.empty(len(first), dtype=np.uint32)
    number[seen] = np.arange(len(seen), dtype=np.uint32)
    return number[value], first[seen]


def _by_hash(ids: pl.DataFrame) -> Numbered | None:
    """Queries told apart by their hashes, unless two have the same."""
    import numpy as np

    if any(dtype.is_nested() for dtype in ids.dtypes):
        return None
    bits = np.uint64(ids.height.bit_length())
    code = _numbered(ids.hash_rows().to_numpy() >> bits, ids.height.bit_length())
    code.sort()
    row = (code & _ones(bits)).astype(np.uint32)
    code >>= bits
    starts = np.concatenate([[0], np.flatnonzero(code[1:] != code[:-1]) + 1])[: len(code)]
    first = row[starts]
    order = np.argsort(first)
    rank = np.empty(len(order), dtype=np.uint32)
    rank[order] = np.arange(len(order), dtype=np.uint32)
    number = np.empty(ids.height, dtype=np.uint32)
    number[row] = np.repeat(rank, np.diff(starts, append=ids.height))
    first = first[order]
    return (number, first) if ids[pl.Series(first)][pl.Series(number)].equals(ids) else None


def _by_group(ids: pl.DataFrame) -> Numbered:
    """Queries told apart by what they hold."""
    import numpy as np

    grouped = ids.lazy().with_row_index("#row").group_by(ids.columns, maintain_order=True).agg("#row").collect()
    rows = grouped["#row"]
    number = np.empty(ids.height, dtype=np.uint32)
    number[rows.explode(empty_as_null=False).to_numpy()] = np.repeat(
        np.arange(len(rows), dtype=np.uint32), rows.list.len().to_numpy()
    )
    return number, rows.list.first().to_numpy()


def _rising(score: pl.Series) -> NDArray[np.uint64]:
    """Whole numbers from 0 on that rise from the highest score to the lowest and to null.

    Scores that 64-bit floats cannot tell apart share one, and so do null and negative infinity.
    """
    import numpy as np

    value = score.cast(pl.Float64).fill_null(-math.inf).to_numpy() + 0.0  # of which zero has one sign
    bits = value.view(np.int64)
    if bits.min(initial=0) < 0:  # without a sign, digits of floats rise as the floats do
        bits ^= (bits >> 63) & np.int64(2**63 - 1)
    return np.subtract(bits.max(initial=np.iinfo(np.int64).min), bits, out=bits).view(np.uint64)


def _numbered(values: NDArray[np.uint64], bits: int) -> NDArray[np.uint64]:
    """Values followed by the number of their row, in the array itself."""
    import numpy as np

    values <<= np.uint64(bits)
    values |= np.arange(len(values), dtype=np.uint64)
    return values


def _ones(bits: np.uint64) -> np.uint64:
    import numpy as np

    return (np.uint64(1) << bits) - np.uint64(1)
