"""Results of several tables: sentences and grids, of which every display is made."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from html import escape
from typing import Any, Generic, Literal, TypeAlias, TypeVar, cast

from .._support.methods import called_by_users
from .._support.option_kinds import check
from .columns import of_summary
from .grid import Digits, Grid, Level, plain, records
from .markup import great_html, html, latex, markdown, markdown_text, text, visible
from .sentences import IN_HTML, IN_TEXT, Quotes

F = TypeVar("F")
R_co = TypeVar("R_co", covariant=True)

Format: TypeAlias = Literal["text", "html", "markdown", "latex", "json"]

Style: TypeAlias = Literal["text", "github"]
"""The formats of a gate's lines."""

Block: TypeAlias = Sequence[str] | Grid
"""A part of a display: sentences, each in a line of its own, or a grid."""

MOST_ROWS = 30
"""How many rows of a table a terminal and a notebook show."""


class Result(ABC, Generic[R_co]):
    """Tables of the caller's kind, with the settings that made them; the fields that hold them are
    annotated ``R_co``.

    Attributes
    ----------
    settings
        How it was computed: options, policies, versions.
    """

    settings: Mapping[str, Any]

    @property
    def tables(self) -> dict[str, R_co]:
        """The tables by name, the main one first."""
        names = [x.name for x in fields(cast("Any", self)) if x.type == "R_co"]
        return {name: getattr(self, name) for name in names}

    @abstractmethod
    def sentences(self, quotes: Quotes = IN_TEXT) -> list[str]:
        """The findings in plain English, one sentence each; `quotes` stand around names of runs."""

    @abstractmethod
    def grids(self, most: int | None = MOST_ROWS) -> list[Grid]:
        """The figures as people read them, at most so many rows of each table."""

    def grid(self, digits: int = 3, alpha: float = 0.05) -> Grid:
        """One table for a paper, with all rows."""
        return self.grids(None)[0]

    def shown(self, how: Format, most: int | None = MOST_ROWS) -> list[Block]:
        """The sentences and the grids in the order of a display, with at most so many rows of a
        table.
        """
        return [self.sentences(quotes_of(how)), *self.grids(most)]

    def __repr__(self) -> str:
        return render(self, "text", MOST_ROWS)

    def _repr_html_(self) -> str:
        return render(self, "html", MOST_ROWS)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The main table as an Arrow stream, which Polars, pandas, DuckDB and PyArrow read.

        A LazyFrame is collected.
        """
        main: Any = next(iter(self.tables.values()))
        if hasattr(main, "collect"):
            main = main.collect()
        return main.__arrow_c_stream__(requested_schema)

    @called_by_users
    def to_markdown(self, *, digits: Digits = 3, alpha: Level = 0.05) -> str:
        """A table in Markdown; of a comparison a row per run, the best in bold; see
        :func:`rankframe.report.markdown`.
        """
        return markdown(self.grid(digits, alpha))

    @called_by_users
    def to_latex(
        self,
        *,
        digits: Digits = 3,
        alpha: Level = 0.05,
        caption: str | None = None,
        label: str | None = None,
    ) -> str:
        """A table in LaTeX, with the rules of booktabs; see :func:`rankframe.report.latex`."""
        return latex(self.grid(digits, alpha), caption, label)

    @called_by_users
    def to_html(self, *, digits: Digits = 3, alpha: Level = 0.05, title: str | None = None) -> str:
        """A table in HTML, by great_tables; see :func:`rankframe.report.html`."""
        return great_html(self.grid(digits, alpha), title)

    def to_dict(self) -> dict[str, Any]:
        """The settings, and the main table row by row, as JSON can hold them."""
        main = next(iter(self.tables.values()))
        return {"settings": plain(self.settings), "table": plain(records(main))}


def render(of: object, how: Format, most: int | None = None) -> str:
    """A result, or the frame of `summarize` or `mean`, for people to read, or as JSON.

    Parameters
    ----------
    of
        The result or frame.
    how
        ``"text"`` for a terminal, ``"html"`` or ``"markdown"`` with the result's sentences,
        ``"latex"`` for its table, or ``"json"``: the settings and the main table of a result, the
        rows of a frame.
    most
        The number of rows that are shown of a table; ``None`` for all. LaTeX and JSON have all.

    Raises
    ------
    InvalidOption
        If `of` is no result and no summary, or `how` is another word.
    """
    check("how", how, Format)
    if how == "json":
        values = of.to_dict() if isinstance(of, Result) else plain(records(of))
        return json.dumps(values, allow_nan=False)
    if how == "latex":
        return latex(grid_of(of))
    if isinstance(of, Result):
        return written(of.shown(how, most), how)
    grid = grid_of(of)
    return written([replace(grid, rows=grid.rows[:most])], how)


def written(blocks: Sequence[Block], how: Format) -> str:
    """Sentences and grids as text, HTML or Markdown."""
    write, between = WRITERS[how]
    texts = []
    for block in blocks:
        in_lines = block if isinstance(block, Grid) else [*map(visible, block)]
        if in_lines:
            texts.append(write(in_lines))
    return between.join(texts)


def _text(block: Block) -> str:
    return text(block) if isinstance(block, Grid) else "\n".join(block)


def _html(block: Block) -> str:
    if isinstance(block, Grid):
        return html(block)
    return "".join(f"<p><strong>{escape(line)}</strong></p>\n" for line in block)


def _markdown(block: Block) -> str:
    if isinstance(block, Grid):
        return markdown(block)
    return "\n\n".join(f"**{markdown_text(line)}**" for line in block)


WRITERS: Mapping[str, tuple[Callable[[Block], str], str]]
WRITERS = {"text": (_text, "\n\n"), "html": (_html, ""), "markdown": (_markdown, "\n\n")}
"""The writer of each part of a display, and the text between two parts."""


def quotes_of(how: Format) -> Quotes:
    """The quotation marks of a display."""
    return IN_TEXT if how == "text" else IN_HTML


def grid_of(table: Any, digits: int = 3, alpha: float = 0.05) -> Grid:
    """A result, or a frame that `summarize` made, as a grid."""
    if isinstance(table, Result):
        return table.grid(digits, alpha)
    return of_summary(table, digits)
