"""Replace a file only when the new content is complete."""

from __future__ import annotations

import gzip
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, cast

from ..errors import InvalidOption
from .formats import COMPRESSED, spelled


def as_path(path: object) -> Path:
    """The path, after a check that its compression can be written."""
    if not isinstance(path, (str, os.PathLike)):
        raise InvalidOption(f"{path!r} is no path; write one, as 'mine.run'")
    found, name = Path(os.fsdecode(path)), spelled(os.fsdecode(path))
    if (suffix := found.suffix.lower()) in COMPRESSED and suffix != ".gz":
        raise InvalidOption(f"{name!r}: {suffix} is not written; write .gz, or compress the file afterwards")
    return found


@contextmanager
def replaced(path: Path) -> Iterator[IO[bytes]]:
    """Open a new file that replaces `path` when it is complete; a pipe or a device is written to directly."""
    if path.exists() and not path.is_file():
        with path.open("wb") as file:
            yield file
        return
    path = path.resolve()
    part = path.with_name(f".{path.name[:200]}.{secrets.token_hex(8)}")
    try:
        with part.open("xb") as file:
            if path.suffix.lower() == ".gz":
                with gzip.GzipFile(filename="", fileobj=file, mode="wb", mtime=0) as packed:
                    yield cast("IO[bytes]", packed)
            else:
                yield file
        if path.exists():
            shutil.copymode(path, part)
        part.replace(path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
