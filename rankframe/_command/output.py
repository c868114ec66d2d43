"""What is printed: tables as text, notes on standard error."""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import polars as pl

from .._text.markup import markdown_text
from .._text.user_text import CONTROL, rewritten, visible
from ..errors import InvalidOption, RankframeWarning
from .words import in_options

__all__ = ["formatted", "note", "trec_lines", "warnings_as_notes", "writable"]

FORMULA = re.compile(r"[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]")
"""What a cell begins with that a spreadsheet computes: these four signs, also the wide ones, and what may hide them."""


def note(text: str) -> None:
    """Something worth knowing, on standard error."""
    print(f"rankframe: note: {visible(text)}", file=sys.stderr)


@contextmanager
def warnings_as_notes(of: str = "") -> Iterator[None]:
    """Print the library's warnings as notes, after a word that says of what they are."""
    show = warnings.showwarning

    def as_note(message: Warning | str, category: type[Warning], *where: Any, **others: Any) -> None:
        if isinstance(message, RankframeWarning):
            note(of + in_options(message.said))
        else:
            show(message, category, *where, **others)

    with warnings.catch_warnings():
        warnings.simplefilter("always", RankframeWarning)
        warnings.showwarning = as_note
        yield


def formatted(frame: pl.DataFrame, format: str) -> str:
    """The table as text: four decimals for people, all digits for programs."""
    if format == "csv":
        return frame.write_csv().removesuffix("\n")
    if format == "safe-csv":
        return _all_written(frame, _no_formula).write_csv(quote_style="non_numeric").removesuffix("\n")
    if format == "json":
        return CONTROL.sub(lambda found: f"\\u{ord(found[0]):04x}", frame.write_json())
    frame = _all_written(frame, _in_markdown if format == "markdown" else visible)
    with pl.Config(
        tbl_formatting="MARKDOWN" if format == "markdown" else "NOTHING",
        tbl_hide_column_data_types=True,
        tbl_hide_dataframe_shape=True,
        tbl_cell_numeric_alignment="RIGHT",
        tbl_rows=-1,
        tbl_cols=-1,
        tbl_width_chars=65_535,
        fmt_str_lengths=100_000,
        float_precision=4,
    ):
        lines = str(frame).splitlines()
    return "\n".join(lines if format == "markdown" else (line[1:].rstrip() for line in lines))


def _all_written(frame: pl.DataFrame, how: Callable[[str], str]) -> pl.DataFrame:
    """The table with every text and every name of a column as `how` writes it."""
    return rewritten(frame, how).rename(how)


def _in_markdown(text: str) -> str:
    return markdown_text(visible(text))


def _no_formula(text: str) -> str:
    return f"'{text}" if FORMULA.match(text) else text


def trec_lines(
    scores: pl.DataFrame, of_all: Mapping[str, object], counts: Sequence[str], *, queries: bool
) -> Iterator[str]:
    """What trec_eval -q prints: measure, query and value, the queries in the order of their names, then all of them."""
    if queries:
        for query in scores["query_id"].cast(pl.String).drop_nulls():
            if CONTROL.search(query):
                raise InvalidOption(
                    f"query_id {query!r} has a line break, a tab or the like, for which --format trec has no place; "
                    "write --format csv or --format json"
                )
        for row in scores.sort(pl.col("query_id").cast(pl.String)).iter_rows(named=True):
            query = row.pop("query_id")
            yield from (_line(name, query, value, whole=name in counts) for name, value in row.items())
    yield from (_line(name, "all", value, whole=name in counts) for name, value in of_all.items())


def _line(name: str, query: object, value: object, *, whole: bool) -> str:
    if isinstance(value, float):
        shown = f"{value:.0f}" if whole else f"{value:6.4f}"
    else:
        shown = "nan" if value is None else str(value)
    return f"{name:<22}\t{query}\t{shown}"


def writable(path: str, option: str, endings: Sequence[str]) -> Path:
    """The file to write, of which is seen before long work that its folder is there and its ending one of these."""
    file = Path(path)
    if file.suffix.lower() not in endings:
        raise InvalidOption(f"{option} {path}: write a file that ends in {' or '.join(endings)}")
    if not file.parent.is_dir():
        raise InvalidOption(f"{option} {path}: there is no folder {file.parent}")
    there = file.exists()
    file.open("ab").close()
    if not there:
        file.unlink()
    return file
