"""Comparisons and summaries as Markdown, LaTeX and HTML."""

from __future__ import annotations

from typing import Any

from ._results import markup
from ._results.grid import Digits, Level
from ._results.result import grid_of
from ._support.methods import called_by_users

__all__ = ["html", "latex", "markdown"]


@called_by_users
def markdown(of: object, *, digits: Digits = 3, alpha: Level = 0.05) -> str:
    """A table in GitHub's Markdown.

    Parameters
    ----------
    of
        The result of ``df.rank.compare``, or the frame of ``df.rank.summarize`` or
        ``df.rank.check``.
    digits
        The number of decimals.
    alpha
        A difference is marked if its corrected p-value is below this.

    Returns
    -------
    The table. A comparison has a row per run (and slice) and a column per metric, with the best in
    bold and the letters of the runs that a run is significantly better than, which a note explains.
    A check has a row per kind of finding, with the number of findings and the places of the first
    three.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> from rankframe import report
    >>> df = pl.DataFrame({"query_id": [1, 2], "score": [1, 1], "label": [1, 0]})
    >>> summary = df.rank.summarize("rr").select("metric", "mean", "n_queries")
    >>> print(report.markdown(summary, digits=1))
    | metric | mean | queries |
    | ------ | ---: | ------: |
    | rr     |  0.5 |       2 |
    <BLANKLINE>
    """
    return markup.markdown(grid_of(of, digits, alpha))


@called_by_users
def latex(
    of: Any,
    *,
    digits: Digits = 3,
    alpha: Level = 0.05,
    caption: str | None = None,
    label: str | None = None,
) -> str:
    r"""A table in LaTeX, with the rules of the package booktabs.

    Parameters
    ----------
    of, digits, alpha
        As for :func:`markdown`.
    caption, label
        The caption, as plain text, and the label for ``\ref``.

    Returns
    -------
    A ``table`` environment; the document only needs ``\usepackage{booktabs}``.

    Raises
    ------
    InvalidOption
        If the label has a character that LaTeX does not allow in labels, such as a brace.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> from rankframe import report
    >>> df = pl.DataFrame({"query_id": [1, 2], "score": [1, 1], "label": [1, 0]})
    >>> report.latex(df.rank.summarize("rr", "hit_rate@1")).splitlines()[5]
    '\\midrule'
    """
    return markup.latex(grid_of(of, digits, alpha), caption, label)


@called_by_users
def html(of: object, *, digits: Digits = 3, alpha: Level = 0.05, title: str | None = None) -> str:
    """A table in HTML, made by great_tables, including its styles.

    Parameters
    ----------
    of, digits, alpha
        As for :func:`markdown`.
    title
        The title above the table.

    Returns
    -------
    One ``<div>`` with the table.

    Raises
    ------
    MissingExtra
        If great_tables is not installed.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> from rankframe import report
    >>> df = pl.DataFrame({"query_id": [1, 2], "score": [1, 1], "label": [1, 0]})
    >>> "0.500" in report.html(df.rank.summarize("rr"), title="Mean reciprocal rank")
    True
    """
    return markup.great_html(grid_of(of, digits, alpha), title)
