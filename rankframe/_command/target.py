"""The output of a command: format and file are checked before long work; a file is written completely or not at all."""

from __future__ import annotations

import argparse
import os
import shutil
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path

from ..errors import InvalidOption
from .output import Table, formatted

__all__ = ["ENDINGS", "PICTURE", "prepare", "text_of", "writable", "write", "write_bytes"]

ENDINGS = {
    ".csv": "csv",
    ".json": "json",
    ".md": "markdown",
    ".tex": "latex",
    ".html": "html",
    ".parquet": "parquet",
}
"""The formats of tables, by the endings of files."""

PICTURE = "picture"
"""The format of a file with the ending of a picture."""


def prepare(arguments: argparse.Namespace) -> None:
    """Set the format and the target of a command that prints a table, before it runs."""
    arguments.target = None
    pictures = getattr(arguments, "pictures", None)
    if pictures is None:  # the command prints no table
        return
    if arguments.output is None:
        arguments.format = arguments.format or "table"
        if arguments.format == "parquet":
            raise InvalidOption("--format parquet is no text; name the file to write, as -o table.parquet")
        return
    if arguments.format is None:
        formats = {**arguments.endings, **ENDINGS, **dict.fromkeys(pictures, PICTURE)}
        arguments.target = writable(arguments.output, "-o", [*pictures, *(x for x in formats if x not in pictures)])
        arguments.format = formats[arguments.target.suffix.lower()]
    else:
        arguments.target = writable(arguments.output, "-o")


def writable(path: str, option: str, endings: Sequence[str] = ()) -> Path:
    """The file to write; refuse a missing folder and an ending that is not one of these."""
    file = Path(path)
    if endings and file.suffix.lower() not in endings:
        raise InvalidOption(f"{option} {path}: write a file that ends in {' or '.join(endings)}")
    if not file.parent.is_dir():
        raise InvalidOption(f"{option} {path}: there is no folder {file.parent}")
    there = file.exists()
    file.open("ab").close()
    if not there:
        file.unlink()
    return file


def text_of(result: str | Table, format: str) -> str:
    """A result as text."""
    return (result if isinstance(result, str) else formatted(result, format)).removesuffix("\n")


def write(target: Path, result: str | Table, format: str) -> None:
    """Write a result in a format."""
    if format == "parquet" and isinstance(result, Table):
        buffer = BytesIO()
        result.frame.write_parquet(buffer)
        write_bytes(target, buffer.getvalue())
    else:
        write_bytes(target, text_of(result, format).encode() + b"\n")


def write_bytes(target: Path, content: bytes) -> None:
    """Replace a file when the new one is complete, or keep the old one; write straight to a device or a pipe."""
    if target.exists() and not target.is_file():
        target.write_bytes(content)
        return
    file = target.resolve()
    part = file.with_name(f".{file.name}.{os.getpid()}.part")
    try:
        part.write_bytes(content)
        if file.exists():
            shutil.copymode(file, part)
        part.replace(file)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(target)) from error
    finally:
        part.unlink(missing_ok=True)
