"""Sort an eager frame by query and score, packed into 64-bit codes: far cheaper than comparing keys."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import polars as pl

from .._table.table import Table
from .._words.pairs import starts_of
from .shortcuts import few_rows, side_by_side

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["PackedRows", "Queries", "differ", "numbered", "sort_rows"]

CODE_BITS = 64
"""Bits per code: the query's number, the leading bits of the score, and the row's number."""

IDS_PER_ROW = 4
"""The largest range of whole query ids, in ids for each row, for which a lookup table is used."""


@dataclass(frozen=True)
class PackedRows:
    """A frame's rows sorted by query, then from the highest score to the lowest.

    Attributes
    ----------
    score
        The scores, as policies read them.
    queries
        The keys, one row per query, in order of first appearance.
    ends
        The number of rows before each query; last, the number of all rows.
    codes
        Sorted codes: the number of the query, the leading bits of the score, the number of the row.
    bits
        The number of bits of a row's number.
    labels
        The number of rows per query and label from 0 on, labels below 0 and null counting as 0; None if not counted.
    """

    frame: pl.DataFrame
    table: Table
    score: pl.Series
    queries: pl.DataFrame
    ends: NDArray[np.int64]
    codes: NDArray[np.uint64]
    bits: int
    labels: NDArray[np.uint32] | None = None

    def of(self, start: int, length: int, cutoff: int | None = None) -> pl.DataFrame:
        """The rows of `length` queries in rank order, down to the cutoff: query number, row number, position in the query.

        Down to a cutoff also the labels in falling order, if labels were counted.
        """
        import numpy as np

        ends = self.ends[start : start + length + 1]
        row = self._with_ties_in_order(self.codes[ends[0] : ends[-1]])
        first, sizes = ends[:-1], np.diff(ends)
        if cutoff is not None:
            sizes = np.minimum(sizes, min(cutoff, int(sizes.max(initial=0))))
        before = np.cumsum(sizes) - sizes
        query = np.repeat(np.arange(start, start + length, dtype=np.uint32), sizes)
        place = np.arange(len(query))
        if cutoff is not None:
            row = row[place + np.repeat(first - ends[0] - before, sizes)]
        columns = {
            "#query": pl.Series(query).set_sorted(),
            "#row": pl.Series(row),
            "#position": pl.Series(place + np.repeat(1 - before, sizes)),
        }
        if cutoff is not None and self.labels is not None:
            columns["#falling"] = _falling(self.labels[start : start + length], cutoff)
        return pl.DataFrame(columns)

    def _with_ties_in_order(self, code: NDArray[np.uint64]) -> NDArray[np.uint32]:
        """The row numbers; rows whose codes differ only in the row number are sorted by the full keys."""
        import numpy as np

        ones = _ones(np.uint64(self.bits))
        row = code.astype(np.uint32)
        row &= ones.astype(np.uint32)
        again = (code[1:] ^ code[:-1]) <= ones
        if again.any():
            tied = np.concatenate([again, [False]])
            tied[1:] |= again
            some, (keys, descending) = pl.Series("#row", row[tied]), self.table.order()
            held = (key.alias(f"#{i}") for i, key in enumerate(keys))
            ties = self.frame[some].select(pl.Series("#code", code[tied] & ~ones), *held, some)
            falling = [False, *[descending] * len(keys)]
            ties = ties.sort(ties.columns[:-1], descending=falling, nulls_last=True, maintain_order=True)
            row[tied] = ties["#row"].to_numpy()
        return row


class Queries(NamedTuple):
    """The queries of a frame's rows.

    Attributes
    ----------
    number
        The query number of each row, by first appearance.
    first
        The first row of each query.
    sizes
        The number of rows per query.
    by_hash
        Whether rows were grouped by hash alone, so that ids may differ.
    """

    number: NDArray[np.uint32]
    first: NDArray[np.uint32]
    sizes: NDArray[np.int64]
    by_hash: bool = False

    def are(self, ids: pl.DataFrame, keys: pl.DataFrame) -> bool:
        """Whether each row has its query's id; `keys` are the queries' ids."""
        return not self.by_hash or keys[pl.Series(self.number)].equals(ids)


def sort_rows(frame: pl.DataFrame, table: Table, top: int | None = None, cutoff: int | None = None) -> PackedRows:
    """Sort the rows by query and score; `PackedRows.of` later sorts rows whose codes are equal.

    With a cutoff that leaves out most rows, labels from 0 to `top` are counted.
    """
    import numpy as np  # imported late, as it is slow to import

    *key, score = frame.select_seq(*table.query, table.score.alias("#score")).get_columns()
    ids, rows = pl.DataFrame(key), np.arange(frame.height, dtype=np.uint32)
    digits = partial(_from_the_top, score)
    queries, some = side_by_side(partial(_queries, ids, rows), digits, frame.height)
    keys = ids[pl.Series(queries.first)]

    def others() -> tuple[bool, NDArray[np.uint32] | None]:
        if top is None or not few_rows(cutoff, len(queries.first), frame.height):
            return queries.are(ids, keys), None
        return queries.are(ids, keys), _counted(queries, frame[table.setup.roles.label], top)

    codes, (right, labels) = side_by_side(partial(_codes, queries, some, rows), others, frame.height)
    if not right:
        queries = _by_group(ids)
        keys, codes = ids[pl.Series(queries.first)], _codes(queries, digits(), rows)
        labels = others()[1]
    ends = np.concatenate([[0], np.cumsum(queries.sizes, dtype=np.int64)])
    return PackedRows(frame, table, score, keys, ends, codes, frame.height.bit_length(), labels)


def numbered(ids: pl.DataFrame) -> Queries:
    """Number the different rows of `ids` by first appearance."""
    import numpy as np

    found = _queries(ids, np.arange(ids.height, dtype=np.uint32))
    return found if found.are(ids, ids[pl.Series(found.first)]) else _by_group(ids)


def differ(values: pl.Series) -> bool:
    """Whether the whole numbers all differ."""
    numbers = values.sort(multithreaded=False).to_numpy()
    return not (numbers[1:] == numbers[:-1]).any()


def _codes(queries: Queries, score: NDArray[np.uint64], rows: NDArray[np.uint32]) -> NDArray[np.uint64]:
    """Sorted codes of query number, leading bits of the score, and row number; overwrites `score`."""
    import numpy as np

    room = CODE_BITS - len(rows).bit_length() - len(queries.first).bit_length()
    score >>= np.uint64(max(int(score.max(initial=0)).bit_length() - room, 0))
    score |= np.left_shift(queries.number, np.uint64(room), dtype=np.uint64)
    return _sorted_with(rows, score)


def _sorted_with(rows: NDArray[np.uint32], values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Append row numbers to the values as low bits, and sort them; overwrites `values`."""
    import numpy as np

    values <<= np.uint64(len(rows).bit_length())
    values |= rows
    # NumPy's sort takes three times as long where it has no fast path
    return pl.Series(values).sort(multithreaded=False).to_numpy()


def _queries(ids: pl.DataFrame, rows: NDArray[np.uint32]) -> Queries:
    """Number the queries in the cheapest way that applies."""
    return _by_value(ids, rows) or (_by_group(ids) if any(x.is_nested() for x in ids.dtypes) else _by_hash(ids, rows))


def _by_value(ids: pl.DataFrame, rows: NDArray[np.uint32]) -> Queries | None:
    """Number queries by a lookup table over the range of whole ids; None if the range is too wide."""
    import numpy as np

    if ids.width > 1 or ids.dtypes[0] == pl.String:
        return None
    values = ids.to_series().to_physical()
    if not values.dtype.is_integer():
        return None
    values = values.cast(pl.Int64, strict=False)
    if values.has_nulls() or values.is_empty():
        return None
    value = values.to_numpy()
    low, high, room = int(value.min()), int(value.max()), IDS_PER_ROW * ids.height
    if high - low >= room:
        return None
    value = value if low >= 0 and high < room else value - low
    sizes = np.bincount(value)
    first = np.empty(len(sizes), dtype=np.uint32)
    first[value[::-1]] = rows[::-1]  # the last write stays
    seen = np.flatnonzero(sizes)
    place, _ = _by_appearance(first[seen], len(rows))
    seen = seen[_inverse(place, len(place))]
    return Queries(_inverse(seen, len(sizes))[value], first[seen], sizes[seen])


def _by_hash(ids: pl.DataFrame, rows: NDArray[np.uint32]) -> Queries:
    """Number queries by the leading bits of their hashes."""
    import numpy as np

    bits = np.uint64(ids.height.bit_length())
    codes = _sorted_with(rows, ids.hash_rows().to_numpy() >> bits)
    row = (codes & _ones(bits)).astype(np.uint32)
    codes = codes >> bits
    starts = starts_of(codes)
    sizes, first = np.diff(starts, append=ids.height), row[starts]
    place, first = _by_appearance(first, ids.height)
    number = np.empty(ids.height, dtype=np.uint32)
    number[row] = np.repeat(place, sizes)
    return Queries(number, first, sizes[_inverse(place, len(place))], by_hash=True)


def _by_group(ids: pl.DataFrame) -> Queries:
    """Number queries by group_by."""
    import numpy as np

    grouped = ids.lazy().with_row_index("#row").group_by(ids.columns, maintain_order=True).agg("#row").collect()
    row, sizes = grouped["#row"], grouped["#row"].list.len().to_numpy()
    number = np.empty(ids.height, dtype=np.uint32)
    number[row.explode(empty_as_null=False).to_numpy()] = np.repeat(np.arange(len(row), dtype=np.uint32), sizes)
    return Queries(number, row.list.first().to_numpy(), sizes)


def _by_appearance(first: NDArray[np.uint32], height: int) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
    """The place of each of these rows in ascending order, and the rows in that order; a flag per row is cheaper than a sort."""
    import numpy as np

    seen = np.zeros(height, dtype=bool)
    seen[first] = True
    return np.cumsum(seen, dtype=np.uint32)[first] - np.uint32(1), np.flatnonzero(seen).astype(np.uint32)


def _inverse(order: NDArray[np.integer[Any]], size: int) -> NDArray[np.uint32]:
    """The place of each number in the order."""
    import numpy as np

    places = np.empty(size, dtype=np.uint32)
    places[order] = np.arange(len(order), dtype=np.uint32)
    return places


def _from_the_top(score: pl.Series) -> NDArray[np.uint64]:
    """Whole numbers from 0 on that rise from the highest score to the lowest, then null.

    Scores that 64-bit floats cannot tell apart share one, and so do null and negative infinity.
    """
    import numpy as np

    score = score.cast(pl.Float64)
    score = score.fill_null(-math.inf) if score.has_nulls() else score
    value = score.to_numpy() + 0.0  # turns -0.0 into 0.0
    bits = value.view(np.int64)
    if bits.min(initial=0) < 0:  # bits of negative floats fall as the floats rise
        bits ^= (bits >> 63) & np.int64(2**63 - 1)
    below: NDArray[np.uint64] = np.subtract(bits.max(initial=np.iinfo(np.int64).min), bits, out=bits).view(np.uint64)
    return below


def _counted(queries: Queries, label: pl.Series, top: int) -> NDArray[np.uint32]:
    """The number of rows per query and label from 0 to the top."""
    import numpy as np

    label = label.fill_null(0) if label.has_nulls() else label
    cell = np.multiply(queries.number, top + 1, dtype=np.int64)
    cell += np.maximum(label.to_numpy(), 0).astype(np.int64, copy=False)
    counts = np.bincount(cell, minlength=len(queries.first) * (top + 1))
    return counts.astype(np.uint32).reshape(-1, top + 1)


def _falling(counts: NDArray[np.uint32], cutoff: int) -> pl.Series:
    """The labels of each query from the largest down, at most `cutoff` of them, by the number of rows with each label."""
    import numpy as np

    queries, levels = counts.shape
    down_to = np.minimum(np.cumsum(counts[:, ::-1], axis=1, dtype=np.int64), cutoff)
    falling = np.tile(np.arange(levels - 1, -1, -1, dtype=np.float64), queries)
    return pl.Series(np.repeat(falling, np.diff(down_to, axis=1, prepend=0).ravel()))


def _ones(bits: np.uint64) -> np.uint64:
    import numpy as np

    return (np.uint64(1) << bits) - np.uint64(1)
