"""The output of commands: tables as text, messages as at a prompt, and files.

Files are written completely or not at all.
"""

from __future__ import annotations

import os
import re
import shlex
import sys
import textwrap
import warnings
from argparse import Namespace
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from io import BytesIO
from itertools import zip_longest
from pathlib import Path
from shutil import get_terminal_size
from typing import Any, TypeAlias

import polars as pl

from .._files.formats import BINARY, SUFFIXES
from .._files.sources import suffix_of
from .._files.write import as_path
from .._results.grid import Cell, Grid
from .._results.markup import CONTROL, latex, rewritten, visible
from .._results.result import Format, Result, render, written
from .._support.whole_files import write_whole
from .._table.setup import TABLES
from ..errors import Advice, Code, InvalidOption, RankframeWarning, Text, Verbatim, shown, worded

broken = partial(textwrap.wrap, break_long_words=False, break_on_hyphens=False)

FORMATS = (
    "table",
    "csv",
    "safe-csv",
    "tsv",
    "json",
    "ndjson",
    "markdown",
    "latex",
    "html",
    "parquet",
    "ipc",
)
"""The formats of a table."""

FOR_PEOPLE = ("table", "markdown", "latex", "html")
"""The formats for people: numbers are rounded; sentences are printed above the table, and notes
below it."""

WIDTH = 100
"""The letters in a line of a table whose texts are wrapped, where no terminal has a width."""

FORMULA = re.compile(r"[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]")
"""The characters that begin a formula in a spreadsheet: four signs, their wide forms, and
characters that hide them."""


def refuse(applies: object, sentence: str) -> None:
    """Refuse options that do not go together, with a sentence."""
    if applies:
        raise InvalidOption(sentence)


def note(text: str) -> None:
    """Print a note on standard error."""
    print(f"rankframe: note: {visible(text)}", file=sys.stderr)


@contextmanager
def warnings_as_notes(of: str = "") -> Iterator[None]:
    """Print the library's warnings as notes, beginning with `of`, such as a run's name."""
    show = warnings.showwarning

    def as_note(
        message: Warning | str, category: type[Warning], *where: Any, **others: Any
    ) -> None:
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
        The columns of prose, which a terminal shows in lines that fit its width, as it does the
        notes.
    grid
        The cells as people read them, if they are not those of the frame.
    result
        The result of several tables that the formats for people show in place of the table.
    """

    frame: pl.DataFrame
    notes: Sequence[str] = ()
    sentences: Sequence[str] = ()
    wraps: Collection[str] = ()
    grid: Grid | None = None
    result: Result[Any] | None = None


Answer: TypeAlias = str | pl.DataFrame | Result[Any] | OutputTable | None
"""What a command prints or writes: a text, a table, a result with its sentences, or nothing."""


def in_table(answer: pl.DataFrame | Result[Any] | OutputTable) -> OutputTable:
    """A table to print, also of a result: its main one."""
    if isinstance(answer, Result):
        main = next(iter(answer.tables.values()))
        return OutputTable(main, result=answer)
    return OutputTable(answer) if isinstance(answer, pl.DataFrame) else answer


def formatted(table: OutputTable, format: str) -> str:
    """The table as text: four decimals for people, all digits for programs."""
    show = _for_people if format in FOR_PEOPLE else _for_programs
    text = show(table, format)
    if format != "html":
        return text
    # a fragment of HTML has no encoding
    return text.encode("ascii", "xmlcharrefreplace").decode()


def _for_people(table: OutputTable, format: str) -> str:
    """The sentences, and the grid of the table with its notes."""
    how: Format = "text" if format == "table" else format  # type: ignore[assignment]
    if table.result is not None:
        return render(table.result, how)
    grid = _grid(table, none="null" if how == "text" else "")
    if how == "latex":
        sentences = [f"{visible(line)}." for line in table.sentences]
        return latex(replace(grid, notes=(*sentences, *grid.notes)))
    if how != "text" or table.grid is not None:
        return written([table.sentences, grid], how)
    notes = list(grid.notes)
    if table.wraps:
        width = get_terminal_size((WIDTH, 0)).columns
        grid = _wrapped(grid, table.wraps, width)
        notes = [line for note in notes for line in broken(note, width)]
    return written([table.sentences, replace(grid, notes=()), notes], how)


def _grid(table: OutputTable, none: str) -> Grid:
    """The table as a grid of cells, with columns of numbers aligned right."""
    if table.grid is not None:
        return table.grid

    def cell(value: object) -> Cell:
        return Cell(none if value is None else _text(value))

    rows = [tuple(map(cell, row)) for row in table.frame.iter_rows()]
    names = tuple(map(visible, table.frame.columns))
    ends = tuple(dtype.is_numeric() for dtype in table.frame.dtypes)
    return Grid(names, (), rows, [*map(visible, table.notes)], ends=ends)


def _text(value: object) -> str:
    return f"{value:.4f}" if isinstance(value, float) else visible(str(value))


def _wrapped(grid: Grid, wraps: Collection[str], width: int) -> Grid:
    """The grid with the columns `wraps` broken at blanks into further rows, until lines fit."""
    texts = [grid.head, *([cell.line for cell in row] for row in grid.rows)]
    columns = [*zip(*texts, strict=True)]
    widths = [max(map(len, column)) for column in columns]
    longest_word = {}
    for i, column in enumerate(columns):
        if grid.head[i] in wraps:
            longest_word[i] = max(len(word) for text in column for word in text.split())
    gaps = 2 * len(widths) - 2
    while sum(widths) + gaps > width:
        wider = [i for i, least in longest_word.items() if widths[i] > least]
        if not wider:
            break
        widths[max(wider, key=widths.__getitem__)] -= 1
    rows = []
    for row in grid.rows:
        cells = [[cell.line] for cell in row]
        for i in longest_word:
            cells[i] = broken(row[i].line, widths[i])
        rows += [tuple(map(Cell, line)) for line in zip_longest(*cells, fillvalue="")]
    return replace(grid, rows=tuple(rows))


def _for_programs(table: OutputTable, format: str) -> str:
    frame = table.frame
    if format in ("json", "ndjson"):
        lines = frame.write_json() if format == "json" else frame.write_ndjson()
        return "\n".join(CONTROL.sub(_code, line) for line in lines.split("\n"))
    is_safe = format == "safe-csv"

    def shown(text: str) -> str:
        return visible(f"'{text}" if is_safe and FORMULA.match(text) else text)

    separator = "\t" if format == "tsv" else ","
    quotes: Any = "non_numeric" if is_safe else "necessary"
    texts = rewritten(frame, shown).rename(shown)
    return texts.write_csv(separator=separator, quote_style=quotes)


def _code(found: re.Match[str]) -> str:
    return f"\\u{ord(found[0]):04x}"


# sentences and errors in the words of a prompt

METHODS = {
    "check": "rankframe check",
    "judge": "--qrels QRELS",
    "collection.pool": "rankframe pool",
    "compare_groups": "rankframe compare_groups",
}
"""The spelling of a method of the ranker; `on` has none, only its options."""


def in_options(message: Text) -> str:
    """The message in one line, with its advice spelled as options of the command line."""
    return " ".join(worded(message, spelled).split())


def spelled(advice: Advice | Code) -> str:
    """The spelling of advice at a prompt."""
    if isinstance(advice, Code):
        return advice.spelled(advice.command)
    words = [METHODS[advice.method]] if advice.method in METHODS else []
    for name, value in advice.options.items():
        words.append(f"--{name.replace('_', '-')}")
        if name in TABLES and isinstance(value, Verbatim):
            words.append(f"{value}.csv")  # a Python variable with a table becomes a file name
        elif value is not True:
            words.append(_value(value))
    return " ".join(words)


def _value(value: object) -> str:
    if value is ...:
        return "COLUMN"
    if isinstance(value, (list, tuple)):
        return ",".join(map(_value, value))
    text = shown(value)
    if isinstance(value, str) and not isinstance(value, Verbatim):
        return shlex.quote(value if text == repr(value) else text)
    return text


# files and standard output

ENDINGS = {
    **SUFFIXES, ".json": "json", ".md": "markdown", ".tex": "latex", ".html": "html",
    ".htm": "html", ".txt": "table",
}  # fmt: skip
"""The formats of tables, by the endings of files that commands read, and of those for people."""

PICTURE = "picture"
"""The format of a file with the ending of a picture."""


def prepare(arguments: Namespace) -> None:
    """Set the format and the target of a command, before it runs.

    Refuse to write over a file that it reads.
    """
    arguments.target = None
    output = getattr(arguments, "output", None)
    if output is not None:
        for path in (*getattr(arguments, "files", ()), getattr(arguments, "qrels", None)):
            same = f"-o {output}: the command reads this file; write another one"
            refuse(_is_same_file(output, path), same)
    formats = getattr(arguments, "endings", None)
    if formats is None:  # the command prints no table
        return
    if output is None:
        arguments.format = arguments.format or arguments.usual_format
        no_text = f"--format {arguments.format} is no text"
        named = "name the file to write, as -o table.parquet"
        refuse(arguments.format in BINARY, f"{no_text}; {named}")
    elif arguments.format is not None:
        arguments.target = writable(output)
    else:
        ending = _ending_of(output, formats)
        arguments.target = writable(output, [*formats], ending)
        arguments.format = formats.get(ending)


def _is_same_file(output: str, path: str | None) -> bool:
    if not path or not os.path.isfile(output) or not os.path.isfile(path):
        return False
    return os.path.samefile(output, path)


def _ending_of(output: str, formats: Mapping[str, str]) -> str:
    """The ending that says the format; of compressed text, the one before .gz."""
    ending = Path(output).suffix.lower()
    inner = suffix_of(output)
    if ending != ".gz" or inner not in ENDINGS:
        return ending
    return f"{inner}.gz" if formats.get(inner) in (*BINARY, PICTURE) else inner


def writable(path: str, endings: Sequence[str] = (), ending: str | None = None) -> Path:
    """The file to write; refuse a missing folder and an ending that is not one of these."""
    file = as_path(path)
    is_unknown = endings and (ending or file.suffix.lower()) not in endings
    refuse(is_unknown, f"-o {path}: write a file that ends in {' or '.join(endings)}")
    refuse(not file.parent.is_dir(), f"-o {path}: there is no folder {file.parent}")
    is_there = file.exists()
    file.open("ab").close()
    if not is_there:
        file.unlink()
    return file


def text_of(answer: str | OutputTable, format: str) -> str:
    """An answer as text."""
    text = answer if isinstance(answer, str) else formatted(answer, format)
    return text.removesuffix("\n")


def write(target: Path, answer: str | OutputTable, format: str) -> None:
    """Write an answer in a format."""
    if format not in BINARY or isinstance(answer, str):
        write_whole(target, text_of(answer, format).encode() + b"\n")
        return
    buffer = BytesIO()
    getattr(answer.frame, f"write_{format}")(buffer)
    write_whole(target, buffer.getvalue())
