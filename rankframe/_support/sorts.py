"""Sorts of whole numbers, packed into 64-bit codes, which is far cheaper than comparing keys.

Codes are sorted by NumPy or by Polars, of which either may take three times as long as the other,
as the processor is.
"""

from __future__ import annotations

import time
from functools import cache
from typing import Any, TypeAlias, TypeVar

import polars as pl

from .floats import Booleans, NDArray, np

N = TypeVar("N", bound="np.unsignedinteger[Any]")
Codes: TypeAlias = "NDArray[np.uint64]"

CODE_BITS = 64
"""Bits per code: the number of the group, the leading bits of a row's own number, and its place."""

FEW = 2**11
"""The most numbers that NumPy sorts, as a call of Polars takes longer."""

OF_SAMPLE = 2**13
"""The numbers by which the two are compared."""

ROUNDS = 3
"""How often each sorts a sample, of which the least time counts."""


def in_order(values: NDArray[N]) -> NDArray[N]:
    """The values in ascending order; the array given may be overwritten."""
    if len(values) > FEW and polars_is_faster():
        return _by_polars(values)
    values.sort()
    return values


def _by_polars(values: NDArray[N]) -> NDArray[N]:
    ordered = pl.Series(values).sort(multithreaded=False)
    numbers: NDArray[N] = ordered.to_numpy(writable=True)
    return numbers


@cache
def polars_is_faster() -> bool:
    """Whether Polars sorts a sample faster, on this processor, than NumPy."""
    sample = np.random.default_rng(0).integers(0, 2**63, OF_SAMPLE, dtype=np.uint64)
    by_polars = min(_seconds(_by_polars, sample) for _ in range(ROUNDS))
    return by_polars < min(_seconds(np.sort, sample) for _ in range(ROUNDS))


def _seconds(sort: Any, sample: NDArray[Any]) -> float:
    start = time.perf_counter()
    sort(sample)
    return time.perf_counter() - start


def in_groups(
    group: NDArray[np.integer[Any]], number: Codes
) -> tuple[NDArray[np.uint32], Booleans]:
    """The places of rows sorted by group and by the leading bits of a number; and which of them are
    not told apart from the row above.

    Overwrites `number`. Rows that are not told apart stay as they are.
    """
    rows = len(number)
    room = CODE_BITS - rows.bit_length() - int(group.max(initial=0)).bit_length()
    bits = max(room, 0)
    surplus = int(number.max(initial=0)).bit_length() - bits
    number >>= np.uint64(max(surplus, 0))
    number |= np.left_shift(group, bits, dtype=np.int64).view(np.uint64)
    code, place = with_places(number)
    again = np.zeros(rows, dtype=bool)
    np.equal(code[1:], code[:-1], out=again[1:])
    return place, again


def sorted_in_groups(group: NDArray[np.integer[Any]], number: Codes) -> NDArray[np.uint32]:
    """The places of rows sorted by group and number; equal rows stay as they are."""
    place, again = in_groups(group, number.copy())
    sorted_number = number.take(place) if again.any() else number
    differs = sorted_number[1:] != sorted_number[:-1]
    if (again[1:] & differs).any():
        tied = tied_with(again)
        group_of_tied = np.cumsum(~again)[tied]
        tied_rows = place[tied]
        place[tied] = tied_rows[np.lexsort((number[tied_rows], group_of_tied))]
    return place


def rising(values: NDArray[Any]) -> Codes:
    """Whole numbers from 0 on that rise as the numbers do, zeros of either sign alike; floats that
    fit into 64 bits, or whole numbers.
    """
    if values.dtype.kind == "u":
        return values.astype(np.uint64)
    if values.dtype.kind == "i":
        bits = values.astype(np.int64)
    else:
        bits = np.add(values, 0.0, dtype=np.float64).view(np.int64)  # turns -0.0 into 0.0
        if bits.min(initial=0) < 0:  # bits of negative floats fall as the floats rise
            bits ^= (bits >> 63) & np.int64(2**63 - 1)
    least = bits.min(initial=np.iinfo(np.int64).max)
    codes: Codes = np.subtract(bits, least, out=bits).view(np.uint64)
    return codes


def tied_with(again: Booleans) -> Booleans:
    """The rows that are equal to the row above or below them."""
    tied = again.copy()
    tied[:-1] |= again[1:]
    return tied


def with_places(numbers: Codes) -> tuple[Codes, NDArray[np.uint32]]:
    """The numbers in ascending order, and their places; overwrites `numbers`, which leave room for
    the places.
    """
    bits = np.uint64(len(numbers).bit_length())
    of_place = (np.uint64(1) << bits) - np.uint64(1)
    numbers <<= bits
    numbers |= np.arange(len(numbers), dtype=np.uint64)
    numbers = in_order(numbers)
    place = (numbers & of_place).astype(np.uint32)
    numbers >>= bits
    return numbers, place


def falling(values: NDArray[Any]) -> Codes:
    """Whole numbers from 0 on that fall as the numbers rise."""
    codes = rising(values)
    np.subtract(codes.max(initial=0), codes, out=codes)
    return codes
