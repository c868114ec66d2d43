"""The sources of content: a path, an open file, or several of them."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from .._shapes.answers import of_queries
from ..errors import InvalidData, InvalidOption
from .formats import Content, Layout, Source, spelled
from .unreadable import BROKEN


def several(given: object) -> list[Source] | None:
    """The files of a list or of a pattern such as ``runs/*.run``; None for a single source."""
    if isinstance(given, (str, os.PathLike)):
        path = os.fsdecode(given)
        if os.path.exists(path) or "\n" in path or "://" in path or not glob.has_magic(path):
            return None
        found: list[Source] = [*sorted(glob.glob(path, recursive=True))]
        if not found:
            raise InvalidOption(f"no file matches the pattern {path!r}; name files that exist")
        return found
    single = (Mapping, bytes, bytearray, memoryview)
    if (
        not isinstance(given, Iterable)
        or isinstance(given, single)
        or hasattr(given, "read")
        or hasattr(given, "columns")
    ):
        return None
    listed = list(given)
    if not listed:
        raise InvalidOption("the list of files is empty; name at least one")
    return listed


def named_content(source: Source, layout: Layout) -> tuple[str, Content]:
    """The name of a source, and its path or bytes."""
    if isinstance(source, (str, os.PathLike)):
        path = os.fsdecode(source)
        if not os.path.exists(path):
            refuse_path(path, layout)
        name = spelled(path)
        return name, path if name == path else Path(path).read_bytes()  # Polars opens only names in UTF-8
    name = spelled(str(getattr(source, "name", "the input")))
    if not hasattr(source, "read"):
        raise InvalidOption(f"{no_source(source, layout)}. {layout.reader} reads a path, or an open file")
    try:
        data = source.read()
    except UnicodeDecodeError as error:
        raise InvalidData(
            f"{name}: {error.object[error.start : error.end]!r} is no {error.encoding}; open it in its encoding"
        ) from error
    except BROKEN as error:
        raise InvalidData(
            f"{name}: the compressed data are damaged or end early ({error}); fetch or write it anew"
        ) from error
    return name, data.encode() if isinstance(data, str) else bytes(data)


def refuse_path(path: str, layout: Layout) -> None:
    """Refuse a pattern, or a text in place of a path; other missing files raise Polars' error."""
    if "\n" in path:
        raise InvalidOption(f"{path[:40]!r}... is text, not a path; write rf.{layout.reader}(io.StringIO(text))")
    if "://" not in path and re.search(r"[*?\[]", path):
        raise InvalidOption(f"there is no file {path!r}; a pattern stands alone, as rf.{layout.reader}({path!r})")


def no_source(given: object, layout: Layout) -> str:
    """Why an object cannot be a source, and what to write instead."""
    kind = type(given).__name__
    if isinstance(given, (bytes, bytearray, memoryview)):
        return f"{kind} is the content of a file; write rf.{layout.reader}(io.BytesIO(content))"
    if isinstance(given, Mapping):
        if (answer := of_queries(given)) is not None:
            return f"a {kind} is no file, but {answer}"
        value = layout.needed[-1]
        return (
            f"a {kind} is no file; write pl.DataFrame([(query, doc, {value}) for query, docs in given.items() for doc, "
            f"{value} in docs.items()], schema={list(layout.needed)}, orient='row')"
        )
    if hasattr(given, "columns"):
        return f"a {kind} is a table already; rank it as it is: rf.rank(table)"
    if isinstance(given, Iterable):
        return f"a {kind} in a list is no file; name each file in one list, as rf.{layout.reader}([path, other])"
    return f"{given!r} is no file"
