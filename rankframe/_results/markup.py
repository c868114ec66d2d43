"""Grids as plain text, Markdown, LaTeX, HTML and great_tables' HTML.

Every text of the user's is escaped.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Iterable, Sequence
from html import escape

import polars as pl
import polars.selectors as cs

from .._support.extras import load
from ..errors import InvalidOption
from .grid import Cell, Grid

CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]")
"""Characters that control a terminal, break a line or change its direction, or are not allowed in
XML."""

TEX = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "%": r"\%",
    "#": r"\#", "_": r"\_", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    "<": "$<$", ">": "$>$", "\u2009": r"\,",
}  # fmt: skip

WIDTH = 120
"""The width of a line in a terminal or a log, in letters."""

WRONG_IN_LABELS = re.compile(rf"[\\{{}}$&%#~^]|{CONTROL.pattern}")
"""Characters that LaTeX does not allow in a label."""


def visible(text: str) -> str:
    r"""The text in one line, with an escape such as ``\n`` or ``\x1b`` for each control
    character.
    """
    return CONTROL.sub(_escape, text)


def _escape(found: re.Match[str]) -> str:
    return found[0].encode("unicode_escape").decode("ascii")


def rewritten(frame: pl.DataFrame, how: Callable[[str], str]) -> pl.DataFrame:
    """The frame with `how` applied to every text; lists, bytes and the like become texts."""
    plain = cs.numeric() | cs.boolean() | cs.temporal()
    columns = []
    for column in frame.select(~plain).iter_columns():
        texts = [None if value is None else how(str(value)) for value in column.to_list()]
        columns.append(pl.Series(column.name, texts, dtype=pl.String))
    return frame.with_columns(columns)


def markdown(grid: Grid) -> str:
    """A table of GitHub's Markdown, and the notes below."""
    rows = [[_markdown_cell(cell) for cell in row] for row in grid.rows]
    head = [markdown_text(name) for name in grid.head]
    widths = [max(3, width) for width in _widths([head, *rows])]
    rule = []
    for right, width in zip(grid.right, widths, strict=True):
        rule.append("-" * (width - 1) + ":" if right else "-" * width)
    lines = [f"| {line} |" for line in _aligned([head, rule, *rows], widths, grid.right, " | ")]
    for note in grid.notes:
        lines += ["", markdown_text(note)]
    return "\n".join(lines) + "\n"


def text(grid: Grid) -> str:
    """Plain text for a terminal.

    Columns are aligned; the notes stand below, in lines of `WIDTH` letters.
    """
    rows = [[visible(name) for name in grid.head]]
    rows += [[visible(cell.line) for cell in row] for row in grid.rows]
    lines = _aligned(rows, _widths(rows), grid.right, "  ")
    for note in grid.notes:
        lines += textwrap.wrap(note, WIDTH, break_long_words=False)
    return "\n".join(line.rstrip() for line in lines)


def width(grid: Grid) -> int:
    """The length of the longest line of its text."""
    return max(map(len, text(grid).splitlines()))


def _widths(rows: list[list[str]]) -> list[int]:
    """The number of letters of the longest text in each column."""
    return [max(map(len, column)) for column in zip(*rows, strict=True)]


def _aligned(
    rows: list[list[str]], widths: list[int], right: Sequence[bool], between: str
) -> list[str]:
    """The rows as lines."""
    sides = [str.rjust if at_right else str.ljust for at_right in right]
    lines = []
    for row in rows:
        cells = zip(row, sides, widths, strict=True)
        lines.append(between.join(side(text, width) for text, side, width in cells))
    return lines


def _markdown_cell(cell: Cell) -> str:
    text = markdown_text(cell.line)
    if cell.best:
        text = f"**{text}**"
    return f"{text}<sup>{cell.raised}</sup>" if cell.marks else text


def markdown_text(text: str) -> str:
    """Text escaped for Markdown."""
    text = CONTROL.sub(" ", text).replace("&", "&amp;")
    text = re.sub(r"<(?=\S)", "&lt;", text)
    return re.sub(r"([\\`*_|\[\]$~])", r"\\\1", text)


def latex(grid: Grid, caption: str | None = None, label: str | None = None) -> str:
    """A table with booktabs' rules, and the notes below."""
    if label is not None:
        refuse_label(label)
    lines = [r"\begin{table}", r"\centering"]
    if caption is not None:
        lines.append(rf"\caption{{{_tex(caption)}}}")
    if label is not None:
        lines.append(rf"\label{{{label}}}")
    sides = "".join("r" if right else "l" for right in grid.right)
    lines += [rf"\begin{{tabular}}{{{sides}}}", r"\toprule"]
    lines += [" & ".join(map(_tex, grid.head)) + r" \\", r"\midrule"]
    lines += [" & ".join(map(_tex_cell, row)) + r" \\" for row in grid.rows]
    lines += [r"\bottomrule", r"\end{tabular}"]
    if grid.notes:
        notes = " ".join(map(_tex, grid.notes))
        lines += [r"\par\smallskip", rf"{{\footnotesize {notes}}}"]
    return "\n".join([*lines, r"\end{table}"]) + "\n"


def refuse_label(label: str) -> None:
    """Refuse a label with a character that LaTeX does not allow in one."""
    wrong = WRONG_IN_LABELS.search(label)
    if wrong is not None:
        says = (
            "which LaTeX takes no label with; write one of letters, digits and :.-_ as in "
            "label='tab:runs'"
        )
        raise InvalidOption(f"label={label!r} has {wrong[0]!r}, {says}")


def _tex_cell(cell: Cell) -> str:
    text = _tex(cell.line)
    if cell.best:
        text = rf"\textbf{{{text}}}"
    return rf"{text}\textsuperscript{{{_tex(cell.raised)}}}" if cell.marks else text


def _tex(text: str) -> str:
    characters = CONTROL.sub(" ", text)
    return "".join(TEX.get(character, character) for character in characters)


def html(grid: Grid) -> str:
    """A plain HTML table, in the colours of the page."""
    head = _html_row(map(_escaped, grid.head), "th", grid.right)
    rows = [_html_row(map(_html_cell, cells), "td", grid.right) for cells in grid.rows]
    body = "\n".join(rows)
    notes = "".join(f"<p><small>{_escaped(note)}</small></p>\n" for note in grid.notes)
    return f"<table>\n<thead>{head}</thead>\n<tbody>\n{body}\n</tbody>\n</table>\n{notes}"


def _html_row(texts: Iterable[str], tag: str, rights: Sequence[bool]) -> str:
    cells = []
    for text, right in zip(texts, rights, strict=True):
        # notebooks align all cells at the right that do not say otherwise
        side = "right" if right else "left"
        cells.append(f'<{tag} style="text-align: {side}">{text}</{tag}>')
    return f"<tr>{''.join(cells)}</tr>"


def _escaped(text: str) -> str:
    """Text escaped for HTML."""
    return escape(visible(text))


def _html_cell(cell: Cell) -> str:
    text = _escaped(cell.line)
    if cell.best:
        text = f"<strong>{text}</strong>"
    return f"{text}<sup>{cell.raised}</sup>" if cell.marks else text


def great_html(grid: Grid, title: str | None = None) -> str:
    """A table made by great_tables, including its styles."""
    gt = load("great_tables", "report")
    names = [f"c{i}" for i in range(len(grid.head))]
    columns = {name: [_html_cell(row[i]) for row in grid.rows] for i, name in enumerate(names)}
    schema = dict.fromkeys(names, pl.String)
    table = gt.GT(pl.DataFrame(columns, schema=schema))
    heads = {name: gt.html(_escaped(head)) for name, head in zip(names, grid.head, strict=True)}
    table = table.fmt(lambda cell: cell, columns=names).cols_label(heads)
    for name, right in zip(names, grid.right, strict=True):
        table = table.cols_align("right" if right else "left", columns=name)
    if title is not None:
        table = table.tab_header(gt.html(_escaped(title)))
    for note in grid.notes:
        table = table.tab_source_note(gt.html(_escaped(note)))
    return str(table.as_raw_html())
