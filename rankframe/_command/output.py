"""Output: the formats of tables, tables as text, messages as at a prompt, and files, which are written completely or not at all."""

from __future__ import annotations

import argparse
import os
import re
import shlex
import sys
import textwrap
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from html import escape
from io import BytesIO
from itertools import zip_longest
from pathlib import Path
from shutil import get_terminal_size
from typing import Any, Literal

import polars as pl

from .._files.formats import BINARY, SUFFIXES
from .._files.sources import suffix_of
from .._files.write import as_path, replaced
from .._results.grid import Cell, Grid
from .._results.markup import CONTROL, html, latex, markdown, markdown_text, rewritten, text, visible
from .._table.setup import TABLES
from ..errors import Advice, Code, InvalidOption, RankframeWarning, Text, Verbatim, shown, worded

FORMATS = ("table", "csv", "safe-csv", "tsv", "json", "ndjson", "markdown", "latex", "html", "parquet", "ipc")
"""The formats of a table."""

FOR_PEOPLE = ("table", "markdown", "latex", "html")
"""The formats for people: numbers are rounded; sentences are printed above the table, and notes below it."""

WIDTH = 100
"""The letters in a line of a table whose texts are wrapped, where no terminal has a width."""

FORMULA = re.compile(r"[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]")
"""The characters that begin a formula in a spreadsheet: four signs, their wide forms, and characters that hide them."""


def note(text: str) -> None:
    """Print a note on standard error."""
    print(f"rankframe: note: {visible(text)}", file=sys.stderr)


@contextmanager
def warnings_as_notes(of: str = "") -> Iterator[None]:
    """Print the library's warnings as notes, beginning with `of`, such as a run's name."""
    show = warnings.showwarning

    def as_note(message: Warning | str, category: type[Warning], *where: Any, **others: Any) -> None:
        if isinstance(message, RankframeWarning):
            note(of + in_options(message.parts))
        else:
            show(message, category, *where, **others)

    with warnings.catch_warnings():
        warnings.simplefilter("always", RankframeWarning)
        warnings.showwarning = as_note
        yield


@dataclass(frozen=True)
class OutputTable:
    """A table to print or to write.

    Attributes
    ----------
    frame
        The table.
    notes
        Lines below it in the formats for people.
    sentences
        The answer that the table gives, in lines above it in the formats for people.
    wraps
        The columns of prose, which a terminal shows in lines that fit its width, as it does the notes.
    grid
        The cells as people read them, if they are not those of the frame.
    forms
        What makes the whole text in formats that show it in a form of its own.
    """

    frame: pl.DataFrame
    notes: Sequence[str] = ()
    sentences: Sequence[str] = ()
    wraps: Sequence[str] = ()
    grid: Grid | None = None
    forms: Mapping[str, Callable[[], str]] = field(default_factory=dict)


def formatted(table: OutputTable, format: str) -> str:
    """The table as text: four decimals for people, all digits for programs."""
    shown = table.forms.get(format, lambda: _plainly(table, format))()
    # a fragment of HTML has no encoding
    return shown.encode("ascii", "xmlcharrefreplace").decode() if format == "html" else shown


def _plainly(table: OutputTable, format: str) -> str:
    """The table in a format, with its sentences above and its notes below."""
    if format not in FOR_PEOPLE:
        return _for_programs(table.frame, format)
    if format == "latex":
        return latex(_grid(table, *(f"{sentence}." for sentence in table.sentences)))
    if format == "html":
        said = (f"<p><strong>{escape(visible(sentence))}</strong></p>\n" for sentence in table.sentences)
        return "".join([*said, html(_grid(table))])
    return _in_markdown(table) if format == "markdown" else _in_terminal(table)


def _in_markdown(table: OutputTable) -> str:
    said = [f"**{_escaped(sentence)}**" for sentence in table.sentences]
    if table.grid is not None:
        return "\n\n".join([*said, markdown(table.grid)])
    shown = _drawn(_all_written(table.frame, _escaped), "MARKDOWN")
    return "\n\n".join([*said, "\n".join(shown), *filter(None, ["\n".join(map(_escaped, table.notes))])])


def _in_terminal(table: OutputTable) -> str:
    notes = [*map(visible, table.notes)]
    if table.grid is not None:
        shown, notes = text(table.grid).splitlines(), []
    else:
        frame = _all_written(table.frame, visible)
        shown = _drawn(frame, "NOTHING")
        if table.wraps:
            width = get_terminal_size((WIDTH, 0)).columns
            shown = [*_wrapped([_drawn(column.to_frame(), "NOTHING") for column in frame], table.wraps, width + 2)]
            notes = [line for note in notes for line in _lines(note, width)]
        shown = [line[1:].rstrip() for line in shown]
    return "\n\n".join("\n".join(part) for part in ([*map(visible, table.sentences)], shown, notes) if part)


def _grid(table: OutputTable, *before: str) -> Grid:
    """The table as a grid of cells, the last columns of numbers aligned right, with these notes `before` its own."""
    if table.grid is not None:
        return replace(table.grid, notes=(*before, *table.grid.notes))
    dtypes = table.frame.dtypes
    numbers = next((i for i, dtype in enumerate(reversed(dtypes)) if not dtype.is_numeric()), len(dtypes))
    rows = tuple(tuple(Cell(_cell(value)) for value in row) for row in table.frame.iter_rows())
    names = tuple(table.frame.columns)
    words = len(names) - numbers
    return Grid(names[:words], names[words:], rows, (*before, *table.notes))


def _cell(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.4f}"
    return "" if value is None else visible(str(value))


def _for_programs(frame: pl.DataFrame, format: str) -> str:
    if format in ("csv", "tsv"):
        return _all_written(frame, visible).write_csv(separator="," if format == "csv" else "\t").removesuffix("\n")
    if format == "safe-csv":
        safe = _all_written(frame, lambda text: visible(_no_formula(text)))
        return safe.write_csv(quote_style="non_numeric").removesuffix("\n")
    if format == "ndjson":
        return "\n".join(CONTROL.sub(_code, line) for line in frame.write_ndjson().split("\n")).removesuffix("\n")
    return CONTROL.sub(_code, frame.write_json())


def _code(found: re.Match[str]) -> str:
    return f"\\u{ord(found[0]):04x}"


def _drawn(frame: pl.DataFrame, formatting: Literal["MARKDOWN", "NOTHING"]) -> list[str]:
    """The lines of a table as Polars draws it, all of its rows and columns; NOTHING leaves a blank on both sides of each cell."""
    with pl.Config(
        tbl_formatting=formatting,
        tbl_hide_column_data_types=True,
        tbl_hide_dataframe_shape=True,
        tbl_cell_numeric_alignment="RIGHT",
        tbl_rows=-1,
        tbl_cols=-1,
        tbl_width_chars=65_535,
        fmt_str_lengths=100_000,
        float_precision=4,
    ):
        return str(frame).splitlines()


def _wrapped(columns: Sequence[Sequence[str]], wraps: Collection[str], width: int) -> Iterator[str]:
    """The lines of a table of drawn columns, with the cells of those in `wraps` broken at blanks until lines fit the width."""
    wide = [len(cells[0]) for cells in columns]
    longest = {
        i: max(len(word) for cell in cells for word in cell.split() or [""]) + 2
        for i, cells in enumerate(columns)
        if cells[0].strip() in wraps
    }
    while sum(wide) > width and (wider := [i for i in longest if wide[i] > longest[i]]):
        wide[max(wider, key=wide.__getitem__)] -= 1
    for row in zip(*columns, strict=True):
        cells = [
            [cell] if len(cell) == room else [f" {line} " for line in _lines(cell, room - 2)]
            for cell, room in zip(row, wide, strict=True)
        ]
        for line in zip_longest(*cells, fillvalue=""):
            yield "".join(cell.ljust(room) for cell, room in zip(line, wide, strict=True))


def _lines(text: str, width: int) -> list[str]:
    return textwrap.wrap(text.strip(), width, break_long_words=False, break_on_hyphens=False) or [""]


def _all_written(frame: pl.DataFrame, how: Callable[[str], str]) -> pl.DataFrame:
    """The table with `how` applied to every text and every column name."""
    return rewritten(frame, how).rename(how)


def _escaped(text: str) -> str:
    """A text in one line of Markdown."""
    return markdown_text(visible(text))


def _no_formula(text: str) -> str:
    return f"'{text}" if FORMULA.match(text) else text


# what is said, as at a prompt

METHODS = {"check": "rankframe check", "judge": "--qrels QRELS"}
"""The spelling of a method of the ranker; `on` has none, only its options."""


def in_options(said: Text) -> str:
    """The message in one line, with its advice spelled as options of the command line."""
    return " ".join(worded(said, spelled).split())


def spelled(advice: Advice | Code) -> str:
    """The spelling of advice at a prompt."""
    if isinstance(advice, Code):
        return advice.spelled(advice.command)
    words = [METHODS[advice.method]] if advice.method in METHODS else []
    for name, value in advice.options.items():
        words.append(f"--{name.replace('_', '-')}")
        if value is not True:  # a Python variable with a table becomes a file name
            words.append(f"{value}.csv" if name in TABLES and isinstance(value, Verbatim) else _value(value))
    return " ".join(words)


def _value(value: object) -> str:
    if value is ...:
        return "COLUMN"
    if isinstance(value, (list, tuple)):
        return ",".join(map(_value, value))
    if isinstance(value, str) and not isinstance(value, Verbatim):
        return shlex.quote(value if shown(value) == repr(value) else shown(value))
    return shown(value)


# where it goes

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
    """Set the format and the target of a command, before it runs; refuse to write over a file that it reads."""
    arguments.target, output = None, getattr(arguments, "output", None)
    for path in (*getattr(arguments, "files", ()), getattr(arguments, "qrels", None)):
        if output and path and os.path.isfile(output) and os.path.isfile(path) and os.path.samefile(output, path):
            raise InvalidOption(f"-o {output}: the command reads this file; write another one")
    if not hasattr(arguments, "pictures"):  # the command prints no table
        return
    if output is None:
        arguments.format = arguments.format or arguments.usual_format
        if arguments.format in BINARY:
            raise InvalidOption(f"--format {arguments.format} is no text; name the file to write, as -o table.parquet")
    elif arguments.format is None:
        pictures = dict.fromkeys(arguments.pictures, PICTURE)
        formats, ending = {**pictures, **arguments.endings, **pictures}, ending_of(output, arguments.pictures)
        arguments.target, arguments.format = writable(output, [*formats], ending), formats.get(ending)
    else:
        arguments.target = writable(output)


def writable(path: str, endings: Sequence[str] = (), ending: str | None = None) -> Path:
    """The file to write; refuse a missing folder and an ending that is not one of these."""
    file = as_path(path)
    if endings and (ending or file.suffix.lower()) not in endings:
        raise InvalidOption(f"-o {path}: write a file that ends in {' or '.join(endings)}")
    if not file.parent.is_dir():
        raise InvalidOption(f"-o {path}: there is no folder {file.parent}")
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


def text_of(result: str | OutputTable, format: str) -> str:
    """A result as text."""
    return (result if isinstance(result, str) else formatted(result, format)).removesuffix("\n")


def write(target: Path, result: str | OutputTable, format: str) -> None:
    """Write a result in a format."""
    if format in BINARY and isinstance(result, OutputTable):
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
