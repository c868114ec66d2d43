"""Files that are written whole, or stay as they are."""

from __future__ import annotations

import gzip
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, cast


@contextmanager
def replaced(path: Path) -> Iterator[IO[bytes]]:
    """Open a new file that replaces `path` when complete; a pipe or device is written directly."""
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


def write_whole(path: Path, content: bytes) -> None:
    """Replace a file when the new one is complete, or keep it; with .gz it is compressed."""
    try:
        with replaced(path) as file:
            file.write(content)
    except OSError as error:  # it may name the file beside it
        raise OSError(error.errno, error.strerror, str(path)) from error
