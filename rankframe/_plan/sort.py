"""Sort an eager frame by query and score, packed into 64-bit codes: far cheaper than comparing keys."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import polars as pl

from .._table.table import Table
from .._words.columns_needed import Kept
from .._words.pairs import starts_of
from .shortcuts import side_by_side

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
        The number of rows of the queries before each query; last, the number of all rows.
    codes
        Sorted codes: the number of the query, the leading bits of the score, the number of the row.
    starts
        The place of each query's first code; None if the codes of queries come in the queries' order.
    bits
        The number of bits of a row's number.
    labels
        The label of each row, 0 if it is negative or null; None if labels are not few whole numbers.
    """

    frame: pl.DataFrame
    table: Table
    score: pl.Series
    queries: pl.DataFrame
    ends: NDArray[np.int64]
    codes: NDArray[np.uint64]
    starts: NDArray[np.int64] | None
    bits: int
    labels: NDArray[np.uint8] | None = None

    def of(self, start: int, length: int, kept: Kept = None, *, falling: bool = False) -> pl.DataFrame:
        """The `kept` rows of `length` queries in rank order: query number, row number, position in the query.

        If rows are left out and labels are known, also the label, and with `falling` the largest labels in falling order.
        """
        import numpy as np

        ends = self.ends[start : start + length + 1]
        codes, ends = self.codes[ends[0] : ends[-1]], ends - ends[0]
        first, sizes = ends[:-1], np.diff(ends)
        place = np.arange(len(codes))
        if self.starts is not None:
            codes = self.codes.take(place + np.repeat(self.starts[start : start + length] - first, sizes))
        row = self._with_ties_in_order(codes)
        labels: dict[str, pl.Series] = {}
        if kept is not None:
            row, place, sizes, labels = self._kept(kept, row, ends, falling=falling)
        columns = {
            "#query": pl.Series(np.repeat(np.arange(start, start + length, dtype=np.uint32), sizes)).set_sorted(),
            "#row": pl.Series(row),
            "#position": pl.Series(place + np.repeat(1 - first, sizes)),
        }
        return pl.DataFrame({**columns, **labels})

    def _kept(
        self, kept: int | Literal["gain"], row: NDArray[np.uint32], ends: NDArray[np.int64], *, falling: bool
    ) -> tuple[NDArray[np.uint32], NDArray[np.int64], NDArray[np.int64], dict[str, pl.Series]]:
        """The kept rows, their places, how many each query has, and their labels if those are known."""
        import numpy as np

        first, of_query = ends[:-1], np.diff(ends)
        label = np.zeros(0, dtype=np.uint8) if self.labels is None else self.labels.take(row)
        place = _with_gain(label, first) if kept == "gain" else _down_to(kept, first, of_query)
        sizes = np.diff(np.searchsorted(place, ends))
        row = row.take(place)
        if self.labels is None:
            return row, place, sizes, {}
        some = label.take(place)
        labels = {"#label": pl.Series(some.astype(np.float64))}
        if falling:
            label, of_query = (some, sizes) if kept == "gain" else (label, of_query)
            labels["#falling"] = _falling(label, of_query, sizes)
        return row, place, sizes, labels

    def _with_ties_in_order(self, code: NDArray[np.uint64]) -> NDArray[np.uint32]:
        """The row numbers; rows whose codes differ only in the row number are sorted by the full keys."""
        import numpy as np

        ones = _ones(np.uint64(self.bits))
        row = code.astype(np.uint32)
        row &= ones.astype(np.uint32)
        again = (code[1:] ^ code[:-1]) <= ones
        if again.any():
            group = np.cumsum(np.concatenate([[True], ~again]), dtype=np.uint32)
            tied = np.concatenate([again, [False]])
            tied[1:] |= again
            some, (keys, descending) = pl.Series("#row", row[tied]), self.table.order()
            held = (key.alias(f"#{i}") for i, key in enumerate(keys))
            ties = self.frame[some].select(pl.Series("#group", group[tied]), *held, some)
            falling = [False, *[descending] * len(keys)]
            ties = ties.sort(ties.columns[:-1], descending=falling, nulls_last=True, maintain_order=True)
            row[tied] = ties["#row"].to_numpy()
        return row


class Queries(NamedTuple):
    """The queries of a frame's rows, in order of first appearance.

    Attributes
    ----------
    number
        The query's number of each row: its place among the queries, or the whole number that is its id.
    first
        The first row of each query.
    sizes
        The number of rows per query.
    starts
        The number of rows of queries with a lower number, for each query; None if numbers are places.
    by_hash
        Whether rows were grouped by hash alone, so that ids may differ.
    """

    number: NDArray[np.integer[Any]]
    first: NDArray[np.uint32]
    sizes: NDArray[np.int64]
    starts: NDArray[np.int64] | None = None
    by_hash: bool = False

    def are(self, ids: pl.DataFrame, keys: pl.DataFrame) -> bool:
        """Whether each row has its query's id; `keys` are the queries' ids."""
        return not self.by_hash or keys[pl.Series(self.number)].equals(ids)


def sort_rows(frame: pl.DataFrame, table: Table, *, labels: bool = False) -> PackedRows:
    """Sort the rows by query and score; `PackedRows.of` later sorts rows whose codes are equal.

    With `labels`, which are whole numbers up to 255, `PackedRows.of` has those of the rows it keeps.
    """
    import numpy as np  # imported late, as it is slow to import

    *key, score = frame.select_seq(*table.query, table.score.alias("#score")).get_columns()
    ids, rows = pl.DataFrame(key), np.arange(frame.height, dtype=np.uint32)
    number, digits = _whole_ids(ids), partial(_from_the_top, score)
    if number is not None:
        codes = _codes(number, digits(), rows)
        queries = _by_code(number, codes)
        keys = ids[pl.Series(queries.first)]
    else:
        queries, some = side_by_side(partial(_queries, ids, rows), digits, frame.height)
        keys = ids[pl.Series(queries.first)]
        coded = partial(_codes, queries.number, some, rows)
        codes, right = side_by_side(coded, partial(queries.are, ids, keys), frame.height)
        if not right:
            queries = _by_group(ids)
            keys, codes = ids[pl.Series(queries.first)], _codes(queries.number, digits(), rows)
    ends = np.concatenate([[0], np.cumsum(queries.sizes, dtype=np.int64)])
    label = _whole_labels(frame[table.setup.roles.label]) if labels else None
    return PackedRows(frame, table, score, keys, ends, codes, queries.starts, frame.height.bit_length(), label)


def numbered(ids: pl.DataFrame) -> Queries:
    """Number the different rows of `ids` by first appearance."""
    import numpy as np

    rows, number = np.arange(ids.height, dtype=np.uint32), _whole_ids(ids)
    if number is not None:
        return _by_value(number, rows)
    found = _queries(ids, rows)
    return found if found.are(ids, ids[pl.Series(found.first)]) else _by_group(ids)


def differ(values: pl.Series) -> bool:
    """Whether the whole numbers all differ."""
    numbers = values.sort(multithreaded=False).to_numpy()
    return not (numbers[1:] == numbers[:-1]).any()


def _codes(number: NDArray[np.integer[Any]], score: NDArray[np.uint64], rows: NDArray[np.uint32]) -> NDArray[np.uint64]:
    """Sorted codes of query number, leading bits of the score, and row number; overwrites `score`."""
    import numpy as np

    room = CODE_BITS - len(rows).bit_length() - int(number.max(initial=0)).bit_length()
    score >>= np.uint64(max(int(score.max(initial=0)).bit_length() - room, 0))
    score |= np.left_shift(number, room, dtype=np.int64).view(np.uint64)
    return _sorted_with(rows, score)


def _sorted_with(rows: NDArray[np.uint32], values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Append row numbers to the values as low bits, and sort them; overwrites `values`."""
    import numpy as np

    values <<= np.uint64(len(rows).bit_length())
    values |= rows
    # NumPy's sort takes three times as long where it has no fast path
    return pl.Series(values).sort(multithreaded=False).to_numpy()


def _queries(ids: pl.DataFrame, rows: NDArray[np.uint32]) -> Queries:
    """Number the queries of ids that are no numbers in a narrow range."""
    return _by_group(ids) if any(x.is_nested() for x in ids.dtypes) else _by_hash(ids, rows)


def _whole_ids(ids: pl.DataFrame) -> NDArray[np.int64] | None:
    """Ids that are whole numbers in a narrow range, moved to start near 0; None for others."""
    if ids.width > 1 or ids.dtypes[0] == pl.String:
        return None
    values = ids.to_series().to_physical()
    if not values.dtype.is_integer():
        return None
    values = values.cast(pl.Int64, strict=False)
    if values.has_nulls() or values.is_empty():
        return None
    value = values.to_numpy()
    low, high = int(value.min()), int(value.max())
    room = min(IDS_PER_ROW * ids.height, 1 << (CODE_BITS - ids.height.bit_length()))  # a code also holds the row number
    if high - low >= room:
        return None
    return value if low >= 0 and high < room else value - low


def _by_value(value: NDArray[np.int64], rows: NDArray[np.uint32]) -> Queries:
    """Number queries by a lookup table over the range of whole ids."""
    import numpy as np

    sizes = np.bincount(value)
    first = np.empty(len(sizes), dtype=np.uint32)
    first[value[::-1]] = rows[::-1]  # the last write stays
    seen = np.flatnonzero(sizes)
    place, in_order = _by_appearance(first[seen], len(rows))
    seen = seen[_inverse(place, len(place))]
    return Queries(_inverse(seen, len(sizes))[value], in_order, sizes[seen])


def _by_code(number: NDArray[np.int64], codes: NDArray[np.uint64]) -> Queries:
    """The queries of sorted codes, whose leading bits are the numbers."""
    import numpy as np

    bits = int(number.max()).bit_length()
    starts = starts_of(codes >> np.uint64(CODE_BITS - bits)) if bits else np.zeros(1, dtype=np.int64)
    first = np.minimum.reduceat(codes & _ones(np.uint64(len(codes).bit_length())), starts)
    place, in_order = _by_appearance(first, len(codes))
    order = _inverse(place, len(place))
    return Queries(number, in_order, np.diff(starts, append=len(codes))[order], starts[order])


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


def _whole_labels(label: pl.Series) -> NDArray[np.uint8]:
    """The labels, from 0 to 255, of which those below 0 and null count as 0."""
    import numpy as np

    label = label.fill_null(0) if label.has_nulls() else label
    label = label.cast(pl.Float64) if label.dtype in (pl.Int128, pl.UInt128) else label  # NumPy has no 128-bit integers
    labels: NDArray[np.uint8] = np.maximum(label.to_numpy(), 0).astype(np.uint8)
    return labels


def _with_gain(label: NDArray[np.uint8], first: NDArray[np.int64]) -> NDArray[np.int64]:
    """The places of rows with a label above 0, and of the first row of each query."""
    import numpy as np

    listed = label > 0
    listed[first] = True
    return np.flatnonzero(listed)


def _down_to(cutoff: int, first: NDArray[np.int64], sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    """The places of rows down to the cutoff."""
    import numpy as np

    sizes = np.minimum(sizes, min(cutoff, int(sizes.max(initial=0))))
    ends = np.cumsum(sizes)
    return np.arange(sizes.sum()) + np.repeat(first - ends + sizes, sizes)


def _falling(label: NDArray[np.uint8], sizes: NDArray[np.int64], kept: NDArray[np.int64]) -> pl.Series:
    """The largest labels of each query in falling order, as many as it has rows `kept`, by counts of its labels."""
    import numpy as np

    levels = int(label.max(initial=0)) + 1
    cell = np.repeat(np.arange(len(sizes)) * levels + levels - 1, sizes)
    cell -= label
    counts = np.bincount(cell, minlength=len(sizes) * levels).reshape(-1, levels)
    down_to = np.minimum(np.cumsum(counts, axis=1), kept[:, None])
    falling = np.tile(np.arange(levels - 1, -1, -1, dtype=np.float64), len(sizes))
    return pl.Series(np.repeat(falling, np.diff(down_to, axis=1, prepend=0).ravel()))


def _ones(bits: np.uint64) -> np.uint64:
    import numpy as np

    return (np.uint64(1) << bits) - np.uint64(1)
