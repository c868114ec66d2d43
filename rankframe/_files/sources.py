"""Sources of rows: paths, open files, patterns; their names, their text, and the line at which a
file cannot be read.
"""

from __future__ import annotations

import errno
import glob
import gzip
import io
import json
import os
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, TypeAlias, cast

import polars as pl

from ..errors import InvalidData, InvalidOption, shown

FileSource: TypeAlias = str | os.PathLike[str] | IO[bytes] | IO[str]
Content: TypeAlias = str | Path | bytes

COMPRESSED = (".gz", ".zst", ".zlib")
BROKEN = (EOFError, zlib.error, gzip.BadGzipFile)
"""Python's errors for compressed data that are truncated or damaged."""

BLOCK = 1 << 20
LONGEST_LINE = 8 << 20


# names


def spelled(name: str) -> str:
    """The name of a file as printable text; bytes that are not UTF-8 become a replacement mark."""
    try:
        return os.fsencode(name).decode(errors="replace")
    except UnicodeEncodeError:
        raise InvalidOption(
            f"{name!r} names no file: it holds half of a character (a lone surrogate)"
        ) from None


def suffix_of(name: str) -> str:
    """The last ending of a file's name in lower case, ignoring that of a compression."""
    suffixes = [suffix.lower() for suffix in Path(name).suffixes]
    of_content = [suffix for suffix in suffixes if suffix not in COMPRESSED]
    return of_content[-1] if of_content else ""


def beir_folder(path: object) -> bool:
    """Whether the path is a folder of BEIR, with judgments in its folder ``qrels``."""
    if not isinstance(path, (str, os.PathLike)):
        return False
    judgments = os.path.join(os.fsdecode(path), "qrels")
    return os.path.isdir(judgments)


def several(given: object) -> list[FileSource] | None:
    """The files of a list or of a pattern such as ``runs/*.run``; None for a single source."""
    if hasattr(given, "read"):
        return None
    files: list[FileSource]
    if isinstance(given, (str, os.PathLike)):
        path = os.fsdecode(given)
        if os.path.exists(path) or "\n" in path or "://" in path or not glob.has_magic(path):
            return None
        files = [*sorted(glob.glob(path, recursive=True))]
    elif _is_table_or_bytes(given) or not isinstance(given, Iterable):
        return None
    else:
        files = [*given]
    if not files:
        raise InvalidOption(f"there is no file in {given!r}; name at least one that exists")
    return files


def _is_table_or_bytes(given: object) -> bool:
    return isinstance(given, (Mapping, bytes)) or hasattr(given, "columns")


def named_content(source: FileSource, reader: str) -> tuple[str, Content]:
    """The name of a source, and its path or bytes; `reader` is the function that the user
    called.
    """
    if isinstance(source, (str, os.PathLike)):
        path = os.fsdecode(source)
        _refuse_missing(path, reader)
        name = spelled(path)
        if name == path:
            return name, path
        return name, Path(path).read_bytes()  # Polars opens only names in UTF-8
    if not hasattr(source, "read"):
        raise InvalidOption(f"{shown(source)} is no file; {reader} reads a path, or an open file")
    data = source.read()
    name = str(getattr(source, "name", "the input"))
    content = data.encode() if isinstance(data, str) else bytes(data)
    return spelled(name), content


def _refuse_missing(path: str, reader: str) -> None:
    """Refuse a path of no file, and a text in place of one."""
    if os.path.exists(path):
        return
    if "\n" in path:
        raise InvalidOption(
            f"{path[:40]!r}... is text, not a path; write rf.{reader}(io.StringIO(text))"
        )
    if "://" not in path:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)


# text


def can_be_read_again(content: Content) -> bool:
    """Whether the content can be read again: it is not a pipe or an address."""
    return isinstance(content, bytes) or Path(content).is_file()


def is_empty(content: Content) -> bool:
    """Whether a source has no bytes at all."""
    if isinstance(content, bytes):
        return not content
    path = Path(content)
    return path.is_file() and not path.stat().st_size


@contextmanager
def opened(content: Content) -> Iterator[IO[bytes]]:
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


def start_of(content: Content) -> str:
    """The first 64 KiB of a file that can be read again, decompressed."""
    with suppress(*BROKEN), opened(content) as file:
        data = file.read(1 << 16)
        if data:
            return data.decode("utf-8-sig", errors="replace")
    lines = pl.scan_lines(content, glob=False).head(20).collect()
    return "\n".join(lines.to_series())


def text_of(content: Content) -> str:
    """The text of a file, decompressed; Polars' error if it is not text, as other readers raise."""
    if can_be_read_again(content):
        try:
            with opened(content) as file:
                data = file.read()
            if data:  # empty if Python does not support the compression
                return data.decode("utf-8-sig")
        except (*BROKEN, UnicodeDecodeError) as error:
            raise pl.exceptions.ComputeError(str(error)) from error
    lines = pl.scan_lines(content, glob=False).collect()
    return "\n".join(lines.to_series())


def refuse_endless_line(name: str, content: Content) -> None:
    """Refuse gzip data that unpack to no lines, before they fill the memory."""
    if not can_be_read_again(content):
        return
    with suppress(*BROKEN), opened(content) as file:
        if not isinstance(file, gzip.GzipFile):
            return
        length = 0
        while block := file.read(BLOCK):
            length = 0 if b"\n" in block else length + len(block)
            if length > LONGEST_LINE:
                raise InvalidData(
                    f"{name}: a line has over {LONGEST_LINE >> 20} MiB, so this is no text of lines"
                )


# faults


def damaged(error: object) -> str:
    """The sentence on compressed data that end early."""
    return f"the compressed file is damaged or ends early ({error})"


def first_fault(content: Content, *, objects: bool) -> str | None:
    """The first line that Polars cannot read and does not name: the text to put after the file's
    name.
    """
    with opened(content) as file:
        for number, line in enumerate(file, 1):
            fault = _fault_of_line(line, objects=objects)
            if fault is not None:
                text = line.decode(errors="replace").strip()
                return f", line {number}: {text[:200]!r} is no {fault}"
    return None


def _fault_of_line(line: bytes, *, objects: bool) -> str | None:
    """What a line is not; None if it can be read."""
    try:
        text = line.decode()
    except UnicodeDecodeError:
        return "UTF-8; write the file in UTF-8"
    if not objects or not text.strip():
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):  # thousands of objects in objects
        return "JSON object"
    return None if isinstance(value, dict) else "JSON object"
