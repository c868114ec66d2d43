"""The verbs as methods of a ranker: their options and documentation, and the arguments for the verb."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeVar

from .._catalog.requests import Request
from .._support.option_kinds import Column
from .._table.run_and_judgments import Missing
from .._text.displays import findings, with_display
from . import verbs

R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)


class Runner(Protocol[R_co]):
    """A ranker as its methods see it: it runs a verb over its table."""

    def _run(self, verb: Callable[..., object], *args: object) -> R_co:
        """The verb's result as the caller's kind of frame, or an object with several such frames."""
        ...


def evaluate(ranker: Runner[R], *metrics: Request) -> R:
    """Many metrics in one pass: one row per query.

    Parameters
    ----------
    *metrics
        Texts, as ``"ndcg@10"``, ``"err(max_label=4)@20"`` or in the spelling of ranx, ir_measures or trec_eval; a text
        may name several cutoffs or metrics, as ``"ndcg@5,10,map"``; functions declared with ``@rf.metric()``; and
        Polars aggregations, as ``rf.expr.ndcg(k=10)`` or ``pl.len().alias("rows")``, which are evaluated inside each
        query.

    Returns
    -------
    A frame with the query columns, then one Float64 column per metric, named by its canonical text, in the
    order given. Eager frames keep the order in which queries first appear; lazy frames have no defined order.

    Raises
    ------
    UnknownMetric, InvalidOption
        If a text names no metric, or an option is out of its range.
    MissingColumn, InvalidData
        If a column is missing or holds no numbers; or if a score is NaN, a label infinite, or a document appears
        twice in a query. Errors in the rows of a LazyFrame are raised when it is collected.
    OutOfSpace
        If the rows of a LazyFrame exceed the memory limit and the temporary folder cannot hold them.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame({"query_id": [1, 1], "doc_id": ["a", "b"], "score": [2.0, 1.0], "label": [0, 1]})
    >>> found = df.rank.evaluate("rr", "P_5")
    >>> found["rr"].to_list(), found["precision@5"].to_list()
    ([0.5], [0.2])
    """
    return ranker._run(verbs.evaluate, *metrics)


def with_metrics(ranker: Runner[R], *metrics: Request) -> R:
    """The caller's rows, in their order, with the metrics of their query as further columns.

    Parameters
    ----------
    *metrics
        As for :meth:`evaluate`.

    Returns
    -------
    The frame with one more Float64 column per metric. A metric with the name of a column of the table is an error.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame({"query_id": [1, 1], "doc_id": ["a", "b"], "score": [2.0, 1.0], "label": [0, 1]})
    >>> df.rank.with_metrics("rr")["rr"].to_list()
    [0.5, 0.5]
    """
    return ranker._run(verbs.with_metrics, *metrics)


def with_ranks(ranker: Runner[R], name: str | None = None) -> R:
    """The caller's rows, in their order, with their rank in the query as a further column.

    Parameters
    ----------
    name
        The name of the new column. Default: ``"rank"``, or ``"new_rank"`` if the table has a column ``rank``.

    Returns
    -------
    The frame with one more UInt32 column: 1 for the first document; null for one that was not retrieved. The rows of a
    LazyFrame that exceed the memory limit come bucket by bucket, in no defined order; with ``on(grouped=True)``, in theirs.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame({"query_id": [1, 1, 1], "doc_id": ["a", "b", "c"], "score": [1.0, 2.0, 0.5]})
    >>> df.rank.with_ranks()["rank"].to_list()
    [2, 1, 3]
    """
    return ranker._run(verbs.with_ranks, name)


def curve(ranker: Runner[R], *metrics: str) -> R:
    """The metrics at every rank: one row per retrieved document.

    Parameters
    ----------
    *metrics
        Texts without a cutoff, of metrics that are a sum over ranks.

    Returns
    -------
    A frame with the query columns, the document, ``rank`` (UInt32) and one Float64 column per metric, whose value at
    rank k is the metric at cutoff k. (The rank is ``new_rank`` beside a query column ``rank``.) Eager frames come query
    by query, in rank order.

    Raises
    ------
    InvalidOption
        If a metric is not such a sum (interpolated precision, AUC) or has a cutoff.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame({"query_id": [1, 1], "doc_id": ["a", "b"], "score": [2.0, 1.0], "label": [0, 1]})
    >>> found = df.rank.curve("precision", "recall")
    >>> found["precision"].to_list(), found["recall"].to_list()
    ([0.0, 0.5], [0.0, 1.0])
    """
    return ranker._run(verbs.curve, *metrics)


def explain(ranker: Runner[R], *metrics: str) -> R:
    """The contribution of each document to its query's value.

    Parameters
    ----------
    *metrics
        Texts of metrics that are a sum over ranks.

    Returns
    -------
    A frame with the query columns, the document, its score and label, ``rank`` (UInt32; null for a document that was
    not retrieved; ``new_rank`` if one of these columns is called ``rank``) and one Float64 column per metric, which
    sums to the metric; null if the query's value is 1 because of ``no_relevant="one"``, since no document contributed.
    Eager frames come query by query, in rank order, documents that were not retrieved last.

    Raises
    ------
    InvalidOption
        If a metric is not such a sum.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame({"query_id": [1, 1], "doc_id": ["a", "b"], "score": [2.0, 1.0], "label": [1, 1]})
    >>> found = df.rank.explain("map")
    >>> found["rank"].to_list(), found["map"].to_list()
    ([1, 2], [0.5, 0.5])
    """
    return ranker._run(verbs.explain, *metrics)


def judge(
    ranker: Runner[R],
    qrels: object,
    *,
    run: Column | None = None,
    judged_only: Missing | None = None,
    run_only: Missing | None = None,
) -> R:
    """The run with its judgments: the full outer join of two tables by query and document.

    Judged documents that the run lacks get a null score, documents that nobody judged a null label. If the
    judgments lack one of the query columns, they apply to each of its values.

    Parameters
    ----------
    qrels
        The judgments: a frame with the query, document and label columns. If it has no column ``label``, every row of
        it counts as label 1. It is an error if another of its columns may hold the labels, because it holds numbers or
        has a usual name of labels.
    run
        The column that names the run of each row, if the table holds several runs; judgments are then joined with each
        run. ``None`` for one run. If documents repeat in a query of an eager table, ``None`` uses the one column with a
        usual name (``run``, ``system``, ``model`` ...) that distinguishes the repeated rows.
    judged_only
        Judged queries that the run lacks: ``"keep"`` counts them, with nothing retrieved; ``"drop"`` leaves
        them out; ``"error"`` refuses them. ``None`` counts them with a warning that gives their number.
    run_only
        Queries of the run that nobody judged: ``"drop"`` leaves them out, ``"keep"`` counts them as having no
        relevant document, ``"error"`` refuses them. ``check(qrels)`` lists them. ``None`` leaves them out with a
        warning that gives their number.

    Returns
    -------
    A frame with the columns of the run, the label, and any further columns of the judgments; one row per pair
    of query and document that either table has. Its own `.rank` starts with the options of this ranker. A Polars frame
    that is made from it, as by `filter` or `collect`, starts with the defaults; pandas hands the options on, in `attrs`.

    Raises
    ------
    MissingColumn, InvalidData, InvalidOption
        If a column is missing, types of the two tables differ, both have a column of the same name, a query is
        refused, no query of the run is judged, or one of the tables holds a document of a query more than once (the
        judgments may, for several subtopics). Errors in the rows of a LazyFrame are raised inside Polars'
        ``InvalidOperationError`` when it is collected.

    Warns
    -----
    RankframeWarning
        If queries of the run that nobody judged are left out, if judged queries that the run lacks count with nothing
        retrieved, or if no retrieved document is judged, as when the two tables write ids differently. A LazyFrame does
        not warn; ``check(qrels)`` reports the same.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> run = pl.DataFrame({"query_id": [1, 1], "doc_id": ["a", "b"], "score": [2.0, 1.0]})
    >>> qrels = pl.DataFrame({"query_id": [1, 1], "doc_id": ["b", "c"], "label": [1, 1]})
    >>> judged = run.rank.judge(qrels)
    >>> judged["doc_id"].to_list(), judged.rank.evaluate("recall")["recall"].item()
    (['a', 'b', 'c'], 0.5)
    """
    return ranker._run(verbs.judge, qrels, run, judged_only, run_only)


def check(ranker: Runner[R], qrels: object = None) -> R:
    """Errors in the table, and notes on facts that may surprise in its metrics: one row per finding.

    Parameters
    ----------
    qrels
        Judgments that the table will be joined with: the check then also reports queries that only one of the two
        tables has, ids written differently and documents judged twice.

    Returns
    -------
    A frame with a row per finding: ``severity`` (``"error"`` stops every metric, or :meth:`judge`; ``"note"`` does
    not), ``problem``, the query and document it concerns (null for a finding in the whole table; for tied scores the
    first query with ties), ``rows`` (UInt32, their number), ``tied_fraction`` (Float64, the share of all retrieved
    documents whose score is tied; null for other problems) and ``advice``, what to write. Empty if there are no
    findings. IPython and Jupyter show it with a row per kind of finding and the full advice.

    Notes on the whole table: scores are 1, 2, 3 ... in every query, like ranks; the column of scores is called a distance
    or a rank, and none is negative; all labels are relevant; labels
    between 0 and 1 are not relevant; no retrieved document is judged; every row has a score and a label, as after an
    inner join.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame({"query_id": [1, 1], "doc_id": ["a", "a"], "score": [2.5, 1.0], "label": [1, None]})
    >>> found = df.rank.check()
    >>> found["severity"][0], found["problem"][0], found["doc_id"][0], int(found["rows"][0])
    ('error', 'repeated document', 'a', 2)
    """
    return with_display(ranker._run(verbs.check, qrels), findings)


def agreement(ranker: Runner[R], other: Column, *measures: str) -> R:
    """Agreement between the ranking by another column and the ranker's own ranking: one row per query.

    Parameters
    ----------
    other
        A numeric column: another system's score, or the label; null for a document that it does not retrieve.
    *measures
        Texts. ``"kendall_tau"``, ``"spearman"``, ``"tau_ap"`` and ``"kendall_distance@10"`` compare the documents
        that have both scores; ``"overlap@10"``, ``"rbo(p=0.95)"``, ``"rbo_min"`` and ``"rbo_residual"`` compare all.

    Returns
    -------
    A frame with the query columns, then one Float64 column per measure, in the order given; null if a
    measure is undefined, as for fewer than two documents.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame({"query_id": [1] * 3, "doc_id": ["a", "b", "c"], "score": [3, 2, 1], "ltr": [1, 2, 3]})
    >>> df.rank.agreement("ltr", "kendall_tau", "spearman")["kendall_tau"].to_list()
    [-1.0]
    """
    return ranker._run(verbs.agreement, other, *measures)
