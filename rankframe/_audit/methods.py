"""The comparison of tools as a method of a ranker."""

from __future__ import annotations

from typing import TypeVar

from .._text.displays import tools, with_display
from .._verbs.methods import Runner
from . import tool_comparison

R = TypeVar("R")


def conventions(ranker: Runner[R], metric: str, observed: float | str | None = None) -> R:
    """The value that each tool would print for this table, and the settings of the tool that cause the difference.

    Parameters
    ----------
    metric
        A text, as ``"ndcg@10"``, or of a metric of the whole table, as ``"coverage@10"``; the catalog and past interactions
        are those of ``on(items=..., interactions=...)``.
    observed
        A number that another tool printed, a mean over queries: the rows then show which tool prints it. A value
        matches if it rounds to the digits given; write the number as a text to keep a last zero, as ``"0.80"``.

    Returns
    -------
    A frame with a row per tool that has the metric, or another number under its name, rankframe first: ``tool``;
    ``value``, the tool's mean over queries (Float64; null if it cannot be reproduced, with the reason in ``note`` or
    ``says``); ``metric``, the text of the metric as computed, null if the tool has another formula; ``differs_by``, the
    tool's settings that change the value; ``note``, behaviour that no setting reproduces; and ``says``, the settings,
    or the other formula, in words. With `observed` the rows are sorted by closeness, ``difference`` is the value less
    the observed number, and ``says`` is a sentence about the value. If neither rankframe nor any tool gives the number,
    each row with the tool ``one choice`` changes a single policy, or a single option of the metric, so that it does; if
    no such change exists, ``says`` in the row of rankframe tells this. A LazyFrame is collected first.
    IPython and Jupyter show the sentences in full.

    Raises
    ------
    InvalidOption
        If `metric` is not one metric, or `observed` is no number.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame({"query_id": [1] * 2 + [2], "doc_id": list("aba"), "score": [3, 2, 1], "label": [1, 2, 0]})
    >>> found = df.rank.conventions("ndcg@10")
    >>> [choices for tool, choices in zip(found["tool"], found["differs_by"]) if tool == "lightgbm"]
    ['no_relevant=one, gain=exponential']
    >>> short = pl.DataFrame({"query_id": 1, "doc_id": ["a", "b"], "score": [1, None], "label": [1, 1]})
    >>> found = short.rank.conventions("ndcg@10", observed=1.0)
    >>> next(says for tool, says in zip(found["tool"], found["says"]) if tool == "mlflow")
    '1.0 is what mlflow prints: its ideal has no more documents than were retrieved; the definition says 0.6'
    """
    return with_display(ranker._run(tool_comparison.conventions, metric, observed), tools)
