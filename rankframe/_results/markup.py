"""Grids as plain text, Markdown, LaTeX, HTML and great_tables' HTML; every text of the user's is
escaped.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Sequence
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
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "%": r"\%", "#": r"\#", "_": r"\_",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}", ">": r"\textgreater{}",
    "\u2009": r"\,",
}  # fmt: skip


WIDTH = 120
"""The width of a line in a terminal or a log, in letters."""

WRONG_IN_LABELS = re.compile(rf"[\\{{}}$&%#~^]|{CONTROL.pattern}")
"""Characters that LaTeX does not allow in a label."""


def visible(text: str) -> str:
    r"""The text in one line, with an escape such as ``\n`` or ``\x1b`` for each control
    character.
    """
    return CONTROL.sub(lambda found: found[0].encode("unicode_escape").decode("ascii"), text)


def rewritten(frame: pl.DataFrame, how: Callable[[str], str]) -> pl.DataFrame:
    """The frame with `how` applied to every text; lists, bytes and the like become texts."""
    texts = frame.select(~(cs.numeric() | cs.boolean() | cs.temporal())).iter_columns()
    return frame.with_columns(
        pl.Series(
            text.name,
            [None if value is None else how(str(value)) for value in text.to_list()],
            dtype=pl.String,
        )
        for text in texts
    )


def markdown(grid: Grid) -> str:
    """A table of GitHub's Markdown, and the notes below."""
    rows = [[_markdown_cell(cell) for cell in row] for row in grid.rows]
    head = [markdown_text(name) for name in grid.head]
    widths = [max(3, *(len(row[i]) for row in [head, *rows])) for i in range(len(head))]
    rule = [
        "-" * (width - 1) + ":" if right else "-" * width
        for right, width in zip(grid.right, widths, strict=True)
    ]
    lines = [f"| {line} |" for line in _aligned([head, rule, *rows], widths, grid.right, " | ")]
    return (
        "\n".join([*lines, *(line for note in grid.notes for line in ("", markdown_text(note)))])
        + "\n"
    )


def text(grid: Grid) -> str:
    """Plain text for a terminal: aligned columns, and the notes below, in lines of `WIDTH`
    letters.
    """
    rows = [[visible(cell.line) for cell in row] for row in grid.rows]
    head = [visible(name) for name in grid.head]
    widths = [max(len(row[i]) for row in [head, *rows]) for i in range(len(head))]
    lines = _aligned([head, *rows], widths, grid.right, "  ")
    notes = (
        line for note in grid.notes for line in textwrap.wrap(note, WIDTH, break_long_words=False)
    )
    return "\n".join(line.rstrip() for line in [*lines, *notes])


def width(grid: Grid) -> int:
    """The length of the longest line of its text."""
    return max(map(len, text(grid).splitlines()))


def _aligned(
    rows: list[list[str]], widths: list[int], right: Sequence[bool], between: str
) -> list[str]:
    """The rows as lines."""
    sides = [
        (str.rjust if at_right else str.ljust, width)
        for at_right, width in zip(right, widths, strict=True)
    ]
    return [
        between.join(side(x, width) for x, (side, width) in zip(row, sides, strict=True))
        for row in rows
    ]


def _markdown_cell(cell: Cell) -> str:
    text = markdown_text(cell.line)
    return (f"**{text}**" if cell.best else text) + (
        f"<sup>{cell.raised}</sup>" if cell.marks else ""
    )


def markdown_text(text: str) -> str:
    """Text escaped for Markdown."""
    text = re.sub(r"<(?=\S)", "&lt;", CONTROL.sub(" ", text).replace("&", "&amp;"))
    return re.sub(r"([\\`*_|\[\]$~])", r"\\\1", text)


def latex(grid: Grid, caption: str | None = None, label: str | None = None) -> str:
    """A table with booktabs' rules, and the notes below."""
    wrong = None if label is None else WRONG_IN_LABELS.search(label)
    if wrong is not None:
        says = (
            "which LaTeX takes no label with; write one of letters, digits and :.-_ as in "
            "label='tab:runs'"
        )
        raise InvalidOption(f"label={label!r} has {wrong[0]!r}, {says}")
    lines = [r"\begin{table}", r"\centering"]
    lines += [] if caption is None else [rf"\caption{{{_tex(caption)}}}"]
    lines += [] if label is None else [rf"\label{{{label}}}"]
    lines += [
        rf"\begin{{tabular}}{{{''.join('r' if right else 'l' for right in grid.right)}}}",
        r"\toprule",
    ]
    lines += [" & ".join(map(_tex, grid.head)) + r" \\", r"\midrule"]
    lines += [" & ".join(map(_tex_cell, row)) + r" \\" for row in grid.rows] + [
        r"\bottomrule",
        r"\end{tabular}",
    ]
    lines += (
        [r"\par\smallskip", rf"{{\footnotesize {' '.join(map(_tex, grid.notes))}}}"]
        if grid.notes
        else []
    )
    return "\n".join([*lines, r"\end{table}"]) + "\n"


def _tex_cell(cell: Cell) -> str:
    text = _tex(cell.line)
    raised = rf"\textsuperscript{{{_tex(cell.raised)}}}" if cell.marks else ""
    return (rf"\textbf{{{text}}}" if cell.best else text) + raised


def _tex(text: str) -> str:
    return "".join(TEX.get(character, character) for character in CONTROL.sub(" ", text))


def html(grid: Grid) -> str:
    """A plain HTML table, in the colours of the page."""

    def row(cells: list[str], tag: str) -> str:
        style = ' style="text-align: right"'
        each = zip(cells, grid.right, strict=True)
        return "<tr>" + "".join(f"<{tag}{style * right}>{x}</{tag}>" for x, right in each) + "</tr>"

    body = "\n".join(row([_html_cell(cell) for cell in cells], "td") for cells in grid.rows)
    head = row([_escaped(name) for name in grid.head], "th")
    notes = "".join(f"<p><small>{_escaped(note)}</small></p>\n" for note in grid.notes)
    return f"<table>\n<thead>{head}</thead>\n<tbody>\n{body}\n</tbody>\n</table>\n{notes}"


def _escaped(text: str) -> str:
    """Text escaped for HTML."""
    return escape(visible(text))


def _html_cell(cell: Cell) -> str:
    text = _escaped(cell.line)
    return (f"<strong>{text}</strong>" if cell.best else text) + (
        f"<sup>{cell.raised}</sup>" if cell.marks else ""
    )


def great_html(grid: Grid, title: str | None = None) -> str:
    """A table made by great_tables, including its styles."""
    gt = load("great_tables", "report")
    names = [f"c{i}" for i in range(len(grid.head))]
    columns = {name: [_html_cell(row[i]) for row in grid.rows] for i, name in enumerate(names)}
    table = gt.GT(pl.DataFrame(columns, schema=dict.fromkeys(names, pl.String)))
    heads = {name: gt.html(_escaped(head)) for name, head in zip(names, grid.head, strict=True)}
    table = table.fmt(lambda cell: cell, columns=names).cols_label(heads)
    for name, right in zip(names, grid.right, strict=True):
        table = table.cols_align("right" if right else "left", columns=name)
    if title is not None:
        table = table.tab_header(gt.html(_escaped(title)))
    for note in grid.notes:
        table = table.tab_source_note(gt.html(_escaped(note)))
    return str(table.as_raw_html())
