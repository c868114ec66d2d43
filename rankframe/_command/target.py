"""The output of a command: format and file are checked before long work; a file is written completely or not at all."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path

from .._files.formats import BINARY, SUFFIXES
from .._files.sources import suffix_of
from .._files.write import as_path, replaced
from ..errors import InvalidOption
from .output import Table, formatted

ENDINGS = {
    **SUFFIXES,
    ".json": "json",
    ".md": "markdown",
    ".tex": "latex",
    ".html": "html",
    ".htm": "html",
    ".txt": "table",
}
"""The formats of tables, by the endings of files: those that commands read, and those for people."""

PICTURE = "picture"
"""The format of a file with the ending of a picture."""


def prepare(arguments: argparse.Namespace) -> None:
    """Set the format and the target of a command that prints a table, before it runs."""
    arguments.target = None
    refuse_input(arguments)
    pictures = getattr(arguments, "pictures", None)
    if pictures is None:  # the command prints no table
        return
    if arguments.output is None:
        arguments.format = arguments.format or arguments.usual_format
        if arguments.format in BINARY:
            raise InvalidOption(f"--format {arguments.format} is no text; name the file to write, as -o table.parquet")
        return
    if arguments.format is None:
        formats = dict.fromkeys(pictures, PICTURE)
        formats |= {x: kind for x, kind in arguments.endings.items() if x not in formats}
        ending = ending_of(arguments.output, pictures)
        arguments.target = writable(arguments.output, "-o", [*formats], ending)
        arguments.format = formats[ending]
    else:
        arguments.target = writable(arguments.output, "-o")


def refuse_input(arguments: argparse.Namespace) -> None:
    """Refuse to write over a file that the command reads."""
    output = getattr(arguments, "output", None)
    for path in (*getattr(arguments, "files", ()), getattr(arguments, "qrels", None)):
        if output and path and os.path.isfile(output) and os.path.isfile(path) and os.path.samefile(output, path):
            raise InvalidOption(f"-o {output}: the command reads this file; write another one")


def writable(path: str, option: str, endings: Sequence[str] = (), ending: str | None = None) -> Path:
    """The file to write; refuse a missing folder and an ending that is not one of these."""
    file = as_path(path)
    if endings and (ending or file.suffix.lower()) not in endings:
        raise InvalidOption(f"{option} {path}: write a file that ends in {' or '.join(endings)}")
    if not file.parent.is_dir():
        raise InvalidOption(f"{option} {path}: there is no folder {file.parent}")
    there = file.exists()
    file.open("ab").close()
    if not there:
        file.unlink()
    return file


def ending_of(path: str, pictures: Sequence[str]) -> str:
    """The ending of a file that says its format: of compressed text the one before .gz."""
    ending, inner = Path(path).suffix.lower(), suffix_of(path)
    if ending != ".gz" or inner not in ENDINGS:
        return ending
    return f"{inner}.gz" if ENDINGS[inner] in BINARY or inner in pictures else inner


def text_of(result: str | Table, format: str) -> str:
    """A result as text."""
    return (result if isinstance(result, str) else formatted(result, format)).removesuffix("\n")


def write(target: Path, result: str | Table, format: str) -> None:
    """Write a result in a format."""
    if format in BINARY and isinstance(result, Table):
        buffer = BytesIO()
        (result.frame.write_parquet if format == "parquet" else result.frame.write_ipc)(buffer)
        write_bytes(target, buffer.getvalue())
    else:
        write_bytes(target, text_of(result, format).encode() + b"\n")


def write_bytes(target: Path, content: bytes) -> None:
    """Replace a file when the new one is complete, or keep the old one; with the ending .gz it is compressed."""
    try:
        with replaced(target) as file:
            file.write(content)
    except OSError as error:  # which may name the file beside it that is not complete
        raise OSError(error.errno, error.strerror, str(target)) from error
