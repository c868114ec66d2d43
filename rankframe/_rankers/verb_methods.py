"""What a ranker of a frame can do beyond the metrics: its verbs, as a table of contents."""

from __future__ import annotations

from typing import Any, TypeVar

from .._catalog.call import Call
from .._verbs import tool_comparison, verbs
from .decision_methods import DecidingRanker
from .misplaced_options import asks_for_metrics
from .picture_methods import Showing

__all__ = ["FrameRanker"]

R = TypeVar("R")


class FrameRanker(Showing, DecidingRanker[R]):
    """The verbs on a frame: what a ranker can do beyond the metrics."""

    def _measure(self, call: Call) -> R:
        return self._run(verbs.evaluate, call)

    @asks_for_metrics
    def evaluate(self, *metrics: verbs.Request) -> R:
        """Many metrics in one pass: one row per query.

        Parameters
        ----------
        *metrics
            Texts, as ``"ndcg@10"``, ``"err(max_label=4)@20"`` or in the spelling of ranx, ir_measures or
            trec_eval; functions declared with ``@rf.metric()``; and Polars aggregations, as ``rf.expr.ndcg(k=10)`` or
            ``pl.len().alias("rows")``, which are evaluated inside each query.

        Returns
        -------
        A frame with the query columns, then one Float64 column per metric, named by its canonical text, in the
        order asked. Eager frames keep the order in which queries first appear; lazy ones promise no order.

        Raises
        ------
        UnknownMetric, InvalidOption
            If a text names no metric, or an option is out of its range.
        MissingColumn, InvalidData
            If a column is missing or holds no numbers; or if a score is NaN, a label infinite, or a document stands
            twice in a query. What only the rows of a LazyFrame show is raised when it is collected.
        OutOfSpace
            If the rows of a LazyFrame exceed the memory limit, and the disk has no room for them.

        Examples
        --------
        >>> import polars as pl, rankframe as rf
        >>> df = pl.DataFrame({"query_id": [1, 1], "doc_id": ["a", "b"], "score": [2.0, 1.0], "label": [0, 1]})
        >>> df.rank.evaluate("rr", "P_5", pl.len().alias("rows")).row(0, named=True)
        {'query_id': 1, 'rr': 0.5, 'precision@5': 0.2, 'rows': 2}
        """
        return self._run(verbs.evaluate, *metrics)

    @asks_for_metrics
    def with_metrics(self, *metrics: verbs.Request) -> R:
        """The caller's rows, in their order, with the metrics of their query as further columns.

        Parameters
        ----------
        *metrics
            As for :meth:`evaluate`.

        Returns
        -------
        The frame with one Float64 column more per metric. A metric named like a column of the table is an error.

        Examples
        --------
        >>> import polars as pl, rankframe as rf
        >>> df = pl.DataFrame({"query_id": [1, 1], "doc_id": ["a", "b"], "score": [2.0, 1.0], "label": [0, 1]})
        >>> df.rank.with_metrics("rr")["rr"].to_list()
        [0.5, 0.5]
        """
        return self._run(verbs.with_metrics, *metrics)

    def with_ranks(self, name: str = "rank") -> R:
        """The caller's rows, in their order, with their rank in the query as a further column.

        Parameters
        ----------
        name
            The name of the new column.

        Returns
        -------
        The frame with a UInt32 column more: 1 for the first; null for a document that was not retrieved.

        Examples
        --------
        >>> import polars as pl, rankframe as rf
        >>> df = pl.DataFrame({"query_id": [1, 1, 1], "doc_id": ["a", "b", "c"], "score": [1.0, 2.0, None]})
        >>> df.rank.with_ranks()["rank"].to_list()
        [2, 1, None]
        """
        return self._run(verbs.with_ranks, name)

    @asks_for_metrics
    def curve(self, *metrics: str) -> R:
        """The metrics at every rank: one row per retrieved document.

        Parameters
        ----------
        *metrics
            Texts without a cutoff, of metrics that are a sum of what each rank contributes.

        Returns
        -------
        A frame with the query columns, the document, ``rank`` (UInt32) and one Float64 column per metric, whose
        value at rank k is the metric at cutoff k. Eager frames come query by query, in rank order.

        Raises
        ------
        InvalidOption
            If a metric is no such sum (interpolated precision, AUC) or names a cutoff.

        Examples
        --------
        >>> import polars as pl, rankframe as rf
        >>> df = pl.DataFrame({"query_id": [1, 1], "doc_id": ["a", "b"], "score": [2.0, 1.0], "label": [0, 1]})
        >>> df.rank.curve("precision", "recall").rows()
        [(1, 'a', 1, 0.0, 0.0), (1, 'b', 2, 0.5, 1.0)]
        """
        return self._run(verbs.curve, *metrics)

    @asks_for_metrics
    def explain(self, *metrics: str) -> R:
        """What each document contributed to its query's value.

        Parameters
        ----------
        *metrics
            Texts of metrics that are a sum of what each rank contributes.

        Returns
        -------
        A frame with the query columns, the document, its score and label, ``rank`` (UInt32; null for a document
        that was not retrieved) and one Float64 column per metric, which sums to the metric. Only where a query counts
        1 by ``no_relevant="one"`` it is null: no document contributed. Eager frames come query by query, in rank
        order, documents that were not retrieved last.

        Raises
        ------
        InvalidOption
            If a metric is no such sum.

        Examples
        --------
        >>> import polars as pl, rankframe as rf
        >>> df = pl.DataFrame({"query_id": [1, 1], "doc_id": ["a", "b"], "score": [2.0, 1.0], "label": [1, 1]})
        >>> df.rank.explain("map").rows()
        [(1, 'a', 2.0, 1, 1, 0.5), (1, 'b', 1.0, 1, 2, 0.5)]
        """
        return self._run(verbs.explain, *metrics)

    def judge(
        self,
        qrels: Any,
        *,
        run: str | None = None,
        judged_only: verbs.Missing = "keep",
        run_only: verbs.Missing | None = None,
    ) -> R:
        """The run with its judgments: the full outer join of two tables by query and document.

        Judged documents that the run lacks get a null score, documents that nobody judged a null label. Judgments
        without one of the query columns hold for each of its values.

        Parameters
        ----------
        qrels
            The judgments: a frame with the query, document and label columns.
        run
            The column that names the run of each row, where the table holds several: each of them lacks documents of its
            own. ``None`` for one run; or, where an eager table holds documents of a query more than once, for the one
            column that tells them apart and is called as runs often are (``run``, ``system``, ``model`` ...).
        judged_only
            Judged queries that the run lacks: ``"keep"`` counts them, with nothing retrieved; ``"drop"`` leaves
            them out; ``"error"`` refuses them.
        run_only
            Queries of the run that nobody judged: ``"drop"`` leaves them out, ``"keep"`` counts them as having no
            relevant document, ``"error"`` refuses them. ``check(qrels)`` lists them. ``None`` leaves them out, too, and
            warns with their number.

        Returns
        -------
        A frame with the columns of the run, the label, and any further columns of the judgments; one row per pair
        of query and document that either table has.

        Raises
        ------
        MissingColumn, InvalidData, InvalidOption
            If a column is missing, types of the two tables differ, both have a column of the same name, a query is
            refused, no query of the run is judged, or one of the tables holds a document of a query more than once (the
            judgments may, for several subtopics). What takes the rows to see, a LazyFrame raises inside Polars'
            ``InvalidOperationError`` when it is collected.

        Warns
        -----
        RankframeWarning
            If queries of the run are left out that nobody judged, or no retrieved document is judged, as where the two
            tables write ids differently. A LazyFrame does not warn; ``check(qrels)`` says the same.

        Examples
        --------
        >>> import polars as pl, rankframe as rf
        >>> run = pl.DataFrame({"query_id": [1, 1], "doc_id": ["a", "b"], "score": [2.0, 1.0]})
        >>> qrels = pl.DataFrame({"query_id": [1, 1], "doc_id": ["b", "c"], "label": [1, 1]})
        >>> run.rank.judge(qrels).rows()
        [(1, 'a', 2.0, None), (1, 'b', 1.0, 1), (1, 'c', None, 1)]
        """
        return self._run(verbs.judge, qrels, run, judged_only, run_only)

    def check(self, qrels: Any = None) -> R:
        """Everything that is wrong with the table, and what is worth knowing before its numbers are read.

        Parameters
        ----------
        qrels
            Judgments that the table is to be joined with, to see which queries only one of the two has, whether ids are
            written alike, and what is judged twice.

        Returns
        -------
        A frame with a row per finding: ``severity`` (``"error"`` stops every metric, or :meth:`judge`; ``"note"`` does
        not), ``problem``, the query and document it concerns (null for a finding in the whole table; of tied scores the
        first query), ``rows`` (UInt32, how many), ``tied_fraction`` (Float64, the share of all retrieved documents whose
        score is tied; null for other problems) and ``advice``, what to write. Empty if there is nothing to say.

        Notes on the whole table: scores that are 1, 2, 3 ... in every query, as ranks are; labels all of which are
        relevant, or some of which are between 0 and 1 and not relevant; no retrieved document that is judged; and no row
        without a score or a label, as after an inner join.

        Examples
        --------
        >>> import polars as pl, rankframe as rf
        >>> df = pl.DataFrame({"query_id": [1, 1], "doc_id": ["a", "a"], "score": [2.5, 1.0], "label": [1, None]})
        >>> df.rank.check().select("severity", "problem", "query_id", "doc_id", "rows").rows()
        [('error', 'repeated document', 1, 'a', 2)]
        """
        return self._run(verbs.check, qrels)

    def agreement(self, other: str, *measures: str) -> R:
        """How far the order by another column of the same rows agrees with the ranker's own, query by query.

        Parameters
        ----------
        other
            A numeric column: another system's score, or the label; null for a document that it does not retrieve.
        *measures
            Texts. ``"kendall_tau"``, ``"spearman"``, ``"tau_ap"`` and ``"kendall_distance@10"`` compare the documents
            that have both scores; ``"overlap@10"``, ``"rbo(p=0.95)"``, ``"rbo_min"`` and ``"rbo_residual"`` all.

        Returns
        -------
        A frame with the query columns, then one Float64 column per measure, in the order asked; null where a
        measure is undefined, as with fewer than two documents.

        Examples
        --------
        >>> import polars as pl, rankframe as rf
        >>> df = pl.DataFrame({"query_id": [1] * 3, "doc_id": ["a", "b", "c"], "score": [3, 2, 1], "ltr": [1, 2, 3]})
        >>> df.rank.agreement("ltr", "kendall_tau", "spearman").row(0)
        (1, -1.0, -1.0)
        """
        return self._run(verbs.agreement, other, *measures)

    def conventions(self, metric: str) -> R:
        """What each tool would print for this table, and which of its choices make the difference.

        Parameters
        ----------
        metric
            A text, as ``"ndcg@10"``.

        Returns
        -------
        A frame with a row per tool that has the metric, ours first: ``tool``, the ``value`` it gives as the mean of
        its queries (Float64; null where its way cannot be repeated, as ``note`` says), the ``metric`` as it is
        computed, ``differs_by``, those choices without which the value would be another, and ``note``, what no
        setting repeats. A LazyFrame is collected first.

        Examples
        --------
        >>> import polars as pl, rankframe as rf
        >>> df = pl.DataFrame({"query_id": [1] * 2 + [2], "doc_id": list("aba"), "score": [3, 2, 1], "label": [1, 2, 0]})
        >>> df.rank.conventions("ndcg@10").filter(pl.col("tool").is_in(["trec_eval", "lightgbm"])).rows()[1][::3]
        ('lightgbm', 'no_relevant=one, gain=exponential')
        """
        return self._run(tool_comparison.conventions, metric)
