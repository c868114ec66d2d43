"""Find the fault in a file after reading it has failed."""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import json
import re
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, cast

import polars as pl

from .._table.columns import failed
from ..errors import InvalidData
from .formats import BINARY

BROKEN = (EOFError, zlib.error, gzip.BadGzipFile)
"""Python's errors for compressed data that are truncated or damaged."""

BLOCK = 1 << 20
LONGEST_LINE = 8 << 20

NO_UTF_8 = "is no UTF-8; convert the file, as with iconv -f latin1 -t utf-8"
UTF_16 = ": this is UTF-16; convert the file, as with iconv -f utf-16 -t utf-8"
AGAIN = "the compressed file is damaged or ends early ({}); fetch or write it anew"


@contextmanager
def as_invalid_data(name: str, content: str | Path | bytes, kind: str) -> Iterator[None]:
    """Turn errors of reading into InvalidData that names the file and, where it can be found, the line."""
    try:
        yield
    except OSError as error:
        if (
            type(error) is not OSError or error.errno or not can_be_read_again(content)
        ):  # the file is missing, or cannot be opened
            raise
        raise InvalidData(f"{name}: {AGAIN.format(str(error).splitlines()[0])}") from error
    except pl.exceptions.PolarsError as error:
        fault = failed(error) if isinstance(error, pl.exceptions.InvalidOperationError) else None
        if fault is not None:  # a row of lists that is refused when the plan runs
            raise InvalidData(f"{name}: {fault[1]}") from error
        found = None
        if kind not in BINARY and can_be_read_again(content):
            try:
                found = _first_problem(content, kind)
            except BROKEN as broken:
                found = f": {AGAIN.format(broken)}"
        message = str(error).splitlines()[0]
        if found is None:
            found = f": this {NO_UTF_8}" if re.search(r"utf-?8", message) else f": {message}"
        raise InvalidData(name + found) from error


def refuse_unreadable(name: str, content: str | Path | bytes, kind: str) -> None:
    """Refuse a text file that is not UTF-8, or whose compressed data are damaged, before a plan of Polars reads it.

    The plan's own error would not name the file. This takes about a fiftieth of the time of reading the rows.
    """
    if can_be_read_again(content):
        with as_invalid_data(name, content, kind):
            pl.scan_lines(content, glob=False).select(pl.col("line").null_count()).collect()


def refuse_endless_line(name: str, content: str | Path | bytes) -> None:
    """Refuse gzip data that unpack to no lines, before they fill the memory."""
    if not can_be_read_again(content):
        return
    with suppress(*BROKEN), _opened(content) as file:
        if not isinstance(file, gzip.GzipFile):
            return
        length = 0
        while block := file.read(BLOCK):
            length = 0 if b"\n" in block else length + len(block)
            if length > LONGEST_LINE:
                raise InvalidData(f"{name}: a line has over {LONGEST_LINE >> 20} MiB, so this is no text of lines")


def start_of(content: str | Path | bytes) -> str:
    """The first 64 KiB of a file that can be read again, decompressed."""
    with suppress(*BROKEN), _opened(content) as file:
        if data := file.read(1 << 16):
            return data.decode("utf-8-sig", errors="replace")
    return "\n".join(pl.scan_lines(content, glob=False).head(20).collect().to_series())


def text_of(content: str | Path | bytes) -> str:
    """The text of a file, decompressed; Polars' error if it is not text, as other readers raise."""
    if can_be_read_again(content):
        try:
            with _opened(content) as file:
                if data := file.read():  # empty if Python does not support the compression
                    return data.decode("utf-8-sig")
        except (*BROKEN, UnicodeDecodeError) as error:
            raise pl.exceptions.ComputeError(str(error)) from error
    return "\n".join(pl.scan_lines(content, glob=False).collect().to_series())


def can_be_read_again(content: str | Path | bytes) -> bool:
    """Whether the content can be read again: it is not a pipe or an address."""
    return isinstance(content, bytes) or Path(content).is_file()


def delimiter(kind: str) -> str:
    """The separator of fields, for CSV or TSV."""
    return "," if kind == "csv" else "\t"


def _first_problem(content: str | Path | bytes, kind: str) -> str | None:
    """The first line with a problem that Polars does not locate, and the problem: the text to put after the file's name."""
    with _opened(content) as file:
        if file.read(2) in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
            return UTF_16
        file.seek(0)
        for number, line in enumerate(file, 1):
            if not _is_utf_8(line):
                shown = line.decode(errors="replace").strip()[:200]
                return f", line {number}: {shown!r} {NO_UTF_8}"
            if kind == "ndjson" and line.strip() and not _is_json(line):
                shown = line.decode().strip()[:200]
                return f", line {number}: {shown!r} is no JSON object; write one object a line, none of them cut short"
    return _too_long(content, kind) if kind in ("csv", "tsv") else None


@contextmanager
def _opened(content: str | Path | bytes) -> Iterator[IO[bytes]]:
    """Open a file and decompress it; empty if Python does not support the compression."""
    with io.BytesIO(content) if isinstance(content, bytes) else Path(content).open("rb") as file:
        start = file.read(2)
        file.seek(0)
        if start == b"\x1f\x8b":
            with gzip.open(file) as unpacked:
                yield cast("IO[bytes]", unpacked)
        elif start in (b"x\x01", b"x^", b"x\x9c", b"x\xda"):
            yield io.BytesIO(zlib.decompress(file.read()))
        else:
            yield io.BytesIO() if start == b"(\xb5" else file  # zstandard


def _is_utf_8(line: bytes) -> bool:
    try:
        line.decode()
    except UnicodeDecodeError:
        return False
    return True


def _is_json(line: bytes) -> bool:
    try:
        return isinstance(json.loads(line), dict)
    except ValueError:
        return False


def _too_long(content: str | Path | bytes, kind: str) -> str | None:
    """The first row with more fields than the header has."""
    with _opened(content) as file, io.TextIOWrapper(file, encoding="utf-8-sig", newline="") as text:
        rows = csv.reader(text, delimiter=delimiter(kind))
        header = next(rows, [])
        for row in rows:
            if len(row) > len(header):
                return (
                    f", line {rows.line_num}: {len(row)} fields instead of {len(header)}; put quotes around a field that "
                    f"holds the delimiter {delimiter(kind)!r}"
                )
    return None
