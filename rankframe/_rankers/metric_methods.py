"""The rankers behind `.rank`: all metrics as methods, as a table of contents."""

from __future__ import annotations

import functools
import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from types import EllipsisType
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, TypeVar

import polars as pl

from .. import metrics
from .._catalog.call import Call, call_of
from .._catalog.registry import METRICS, elsewhere, find, of
from .._plan.aggregation import aggregation
from .._table.policies import NoRelevant, Scores, Ties, Unjudged, Unretrieved
from .._table.roles import USUAL_NAMES
from .._table.setup import OPTIONS, Setup
from ..errors import InvalidOption, UnknownMetric, did_you_mean, nearest, worded

__all__ = ["ExprRanker", "Ranker", "expr", "options_of", "refuse_unknown"]

P = ParamSpec("P")
R = TypeVar("R")
S = TypeVar("S", bound="Ranker[Any]")
T = TypeVar("T")


def method(formula: Callable[Concatenate[Any, P], pl.Expr]) -> Callable[Concatenate[Ranker[R], P], R]:
    """A formula as a method of the rankers: the same options, typed, and a result of the ranker's kind."""

    @functools.wraps(formula)
    def call(self: Ranker[R], /, *args: P.args, **options: P.kwargs) -> R:
        return self._measure(call_of(of(formula), args, options))

    return call


def options_of(function: Callable[..., Any]) -> list[str]:
    """The options that a function names."""
    parameters = inspect.signature(function).parameters.values()
    return [x.name for x in parameters if x.kind is x.KEYWORD_ONLY]


def refuse_unknown(where: str, given: Mapping[str, Any], known: Sequence[str]) -> None:
    """Refuse unknown options, and propose the likely one."""
    for name, value in given.items():
        if name not in known:
            raise InvalidOption(f"{where} has no option {name!r}{_meant(where, name, value, known)}")


def _meant(where: str, name: str, value: Any, known: Sequence[str]) -> str:
    usual = [
        role for role, names in USUAL_NAMES.items() if name.lower() in names and isinstance(value, (str, list, tuple))
    ]
    entry = next((entry for entry in METRICS.values() if name in entry.parameters), None)
    near = next(iter(usual), None) or (None if entry else nearest(name, known))
    if near is not None:
        return f". Did you mean {near}={value!r}?"
    if entry is not None:
        return f", which is one of metrics; say it there, as in df.rank.{entry.formula.__name__}({name}={value!r})"
    if name in ("ascending", "descending", "reverse"):
        return (
            "; ranks go by falling score. Where lower is better, rank by a column of the negative, as -df['distance']"
        )
    return f"; it has {', '.join(known)}"


def _declared(on: Callable[P, T]) -> Callable[P, T]:
    """The method `on`: its signature and text are for readers, its options are read by their declarations."""

    @functools.wraps(on)
    def call(*args: P.args, **options: P.kwargs) -> T:
        refuse_unknown("on", options, OPTIONS)
        if len(args) > 1:
            raise InvalidOption(
                f"{args[1]!r} stands without a name; say what it is, as in df.rank.on(query={args[1]!r})"
            )
        ranker: Any = args[0]
        bound: T = ranker._with(ranker._setup.on(**options))
        return bound

    return call


def _instead(name: str, methods: Sequence[str]) -> str:
    """The method to write instead of an unknown name: the metric that other tools call so, or the nearest name."""
    if (said := elsewhere(name, name)) is not None:
        return f"; {worded(said)}"
    if name in ("average", "avg") and "mean" in methods:
        return "; means over the queries are made by mean: df.rank.mean('ndcg@10')"
    try:
        metric, _ = find(name, name, METRICS)
    except UnknownMetric:
        return did_you_mean(name, methods).replace(" Did", ". Did")
    return f"; the method is {metric.formula.__name__}, and {name!r} is a text: evaluate({name!r})"


class Ranker(ABC, Generic[R]):
    """The metrics as methods, over the columns and policies that `on` has bound."""

    def __init__(self, setup: Setup = Setup()) -> None:  # noqa: B008 - frozen
        self._setup = setup

    @_declared
    def on(
        self: S,
        *,
        query: str | Sequence[str] | None = None,
        doc: str | EllipsisType | None = ...,
        score: str | None = None,
        label: str | None = None,
        subtopic: str | None = None,
        weight: str | None = None,
        relevant: float | None = None,
        ties: Ties | None = None,
        unjudged: Unjudged | None = None,
        unjudged_labels: tuple[int, int] | None = None,
        unretrieved: Unretrieved | None = None,
        no_relevant: NoRelevant | None = None,
        depth: int | None = None,
        collection_size: int | None = None,
        scores: Scores | None = None,
        convention: str | None = None,
        memory_limit: int | str | None = None,
        grouped: bool | None = None,
    ) -> S:
        """The same ranker with other column names or policies; those not given stay unchanged.

        Parameters
        ----------
        query
            The column, or columns, that identify a query; default: ``"query_id"``.
        doc
            The column that identifies a document, which must exist; default: ``"doc_id"`` if the table has it.
            ``None`` for no document column, so that ties keep the order of the rows.
        score
            The column to rank by, descending; default: ``"score"``. Null means judged, but not retrieved.
        label
            The column of relevance labels; default: ``"label"``. Null means not judged; a negative label, in the
            pool but not judged.
        subtopic
            The column of subtopics, for metrics of diversity; default: none. It holds lists, of the subtopics that the
            row's document is relevant to, whatever its label; or single subtopics, a row for each one that the document
            was judged for (null if for none), whose label says whether the document is relevant to it. Metrics of
            documents use the largest label of a document's rows.
        weight
            The column of the documents' weights, 0 or more, such as inverse propensities for clicks; default: every
            document counts once. Metrics that add up gains or hits (cg, dcg, ndcg, precision, recall, hits) multiply
            them by the weight; others refuse.
        relevant
            The least label that counts as relevant; default: 1.
        ties
            The order of documents with equal scores: ``"doc_desc"`` (default; trec_eval's rule) or ``"doc_asc"`` by
            document, ``"order"`` by row, ``"best"`` or ``"worst"`` by label, ``"trec_eval"`` by the document's text
            whatever its type, descending. ``"expected"`` takes the mean of the metric over all orders, by closed
            forms (a metric that has none refuses); ``"error"`` forbids ties.
        unjudged
            How retrieved documents that nobody judged count: ``"nonrelevant"`` (default), or ``"drop"`` to remove
            them before documents are ranked, as trec_eval's ``-J`` does. ``"bounds"`` gives two columns per metric,
            such as ``"ndcg@10 least"`` and ``"ndcg@10 greatest"``: the least and the greatest value that judging all
            unjudged documents of the table, retrieved or not, could give.
        unjudged_labels
            The least and the greatest label that judging may give an unjudged document, as ``(0, 3)``, for
            ``unjudged="bounds"``: any whole number from one to the other. Default: from 0 to the largest label of
            the table, at least ``relevant``.
        unretrieved
            How judged documents that were not retrieved count: ``"missed"`` (default; they count in recall, in the
            divisor of average precision, in the ideal of nDCG), or ``"drop"`` to leave them out of everything, as
            tools do that see only the retrieved list.
        no_relevant
            The value of a query without relevant documents: ``"zero"`` (default) is 0 where the metric would divide
            by 0, ``"null"`` is null in every metric, so that means leave the query out, ``"one"`` is 1 in every
            metric whose range is 0 to 1 and whose best is 1.
        depth
            How many documents of each ranking count as retrieved, trec_eval's ``-M``; default: all. The tie rule
            decides which tied documents are cut off; ``unjudged="drop"`` is applied after the cut.
        collection_size
            The number of documents in the collection, trec_eval's ``-N``; only utility and fall-out use it.
        scores
            ``"as_given"`` (default), or ``"float32"`` to round scores to 32-bit floats first, so that more of them
            tie, as in trec_eval 9 and the boosters.
        convention
            The tool whose results to reproduce: all policies become the tool's, and so do the defaults of the
            metrics' options. One of ``"trec_eval"``, ``"trec_eval9"`` (pytrec_eval), ``"ranx"``,
            ``"sklearn"``, ``"torchmetrics"``, ``"lightgbm"``, ``"xgboost"``, ``"catboost"``, ``"spark"``,
            ``"tf_ranking"``, ``"ptranking"``. Policies that are given with it, or later, take precedence.
        memory_limit
            The memory that a call on a LazyFrame may take, in bytes or as ``"2GB"``; by default that of the environment
            variable ``RANKFRAME_MEMORY_LIMIT``, else a sixth of the machine's or the container's. Rows that exceed it
            are spilled to the temporary folder (``TMPDIR``) and come back in buckets of whole queries.
        grouped
            True if the rows of each query of a LazyFrame are contiguous, as in most exports: batches of whole queries
            are then evaluated as they come, in constant memory and without a disk. A query in two places is an error.

        Returns
        -------
        A new ranker; this one is unchanged.

        Raises
        ------
        InvalidOption
            If a value is not one of those listed.

        Examples
        --------
        >>> import polars as pl, rankframe as rf
        >>> df = pl.DataFrame({"qid": [7, 7], "score": [0.2, 0.1], "rel": [1, 2]})
        >>> df.rank.on(query="qid", label="rel", relevant=2).reciprocal_rank().row(0)
        (7, 0.5)
        """
        raise NotImplementedError

    if not TYPE_CHECKING:  # metrics that were declared later

        def __getattr__(self, name: str) -> Any:
            for entry in METRICS.values():
                if name in (entry.name, entry.formula.__name__):
                    return method(entry.formula).__get__(self)
            message = f"{type(self).__name__!r} object has no attribute {name!r}"
            if not name.startswith("_"):  # tools look these up on every object
                message += _instead(name, dir(self))
            raise AttributeError(message, name=name)  # and no object, of which Python would offer names of its own

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *(entry.formula.__name__ for entry in METRICS.values())})

    @abstractmethod
    def _with(self: S, setup: Setup) -> S: ...

    @abstractmethod
    def _measure(self, call: Call) -> R: ...

    # counts of relevant documents
    precision = method(metrics.precision)
    recall = method(metrics.recall)
    f1 = method(metrics.f1)
    f_beta = method(metrics.f_beta)
    set_average_precision = method(metrics.set_average_precision)
    fall_out = method(metrics.fall_out)
    hits = method(metrics.hits)
    hit_rate = method(metrics.hit_rate)
    r_precision = method(metrics.r_precision)

    # user models: readers who stop when satisfied
    err = method(metrics.err)
    nerr = method(metrics.nerr)
    pfound = method(metrics.pfound)
    rbp = method(metrics.rbp)

    # user models: the C/W/L family
    sdcg = method(metrics.sdcg)
    bpm = method(metrics.bpm)
    insq = method(metrics.insq)
    inst = method(metrics.inst)
    rbp_residual = method(metrics.rbp_residual)

    # user models: variants of ERR in the C/W/L framework
    nerr8 = method(metrics.nerr8)
    nerr9 = method(metrics.nerr9)
    nerr10 = method(metrics.nerr10)
    nerr11 = method(metrics.nerr11)

    # novelty and diversity
    alpha_dcg = method(metrics.alpha_dcg)
    alpha_ndcg = method(metrics.alpha_ndcg)
    err_ia = method(metrics.err_ia)
    nerr_ia = method(metrics.nerr_ia)
    nrbp = method(metrics.nrbp)
    nnrbp = method(metrics.nnrbp)
    precision_ia = method(metrics.precision_ia)
    average_precision_ia = method(metrics.average_precision_ia)
    subtopic_recall = method(metrics.subtopic_recall)

    # cumulative gain
    cg = method(metrics.cg)
    mean_label = method(metrics.mean_label)
    average_relevance_position = method(metrics.average_relevance_position)
    dcg = method(metrics.dcg)
    ndcg = method(metrics.ndcg)

    # metrics of the judgments
    judged = method(metrics.judged)
    pairwise_accuracy = method(metrics.pairwise_accuracy)
    inferred_ap = method(metrics.inferred_ap)
    num_retrieved = method(metrics.num_retrieved)
    num_relevant = method(metrics.num_relevant)

    # order of the relevant documents
    average_precision = method(metrics.average_precision)
    reciprocal_rank = method(metrics.reciprocal_rank)
    bpref = method(metrics.bpref)
    interpolated_precision = method(metrics.interpolated_precision)
    eleven_point_average = method(metrics.eleven_point_average)
    auc = method(metrics.auc)
    ordered_pair_accuracy = method(metrics.ordered_pair_accuracy)

    # graded preferences
    compatibility = method(metrics.compatibility)

    # trec_eval's own
    num_nonrel_judged_ret = method(metrics.num_nonrel_judged_ret)
    unjudged = method(metrics.unjudged)
    r_precision_multiple = method(metrics.r_precision_multiple)
    utility = method(metrics.utility)
    yaap = method(metrics.yaap)
    rbp_resid = method(metrics.rbp_resid)
    gm_map = method(metrics.gm_map)
    gm_bpref = method(metrics.gm_bpref)
    relstring = method(metrics.relstring)

    # trec_eval's own, of gain
    bin_g = method(metrics.bin_g)
    g = method(metrics.g)
    ndcg_rel = method(metrics.ndcg_rel)
    rndcg = method(metrics.rndcg)
    ideal_dcg = method(metrics.ideal_dcg)


class ExprRanker(Ranker[pl.Expr]):
    """``rf.expr``: the metrics as Polars expressions, for ``group_by().agg()`` and ``.over()``.

    An expression ranks the rows of its group by itself, so it can be mixed with anything else that Polars
    aggregates; many of them at once are slower than ``df.rank.evaluate``, which shares the work. It is named by
    the canonical text of the metric. Its column names and policies are those of ``rf.expr.on(...)``, also inside
    ``evaluate``: ``df.rank.on(...)`` applies to texts only.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame({"query_id": [1, 1, 2], "doc_id": ["a", "b", "a"], "score": [1, 2, 3], "label": [1, 0, 0]})
    >>> df.group_by("query_id", maintain_order=True).agg(rf.expr.reciprocal_rank(), pl.len()).rows()
    [(1, 0.5, 2), (2, 0.0, 1)]
    >>> df.select(rf.expr.reciprocal_rank().over("query_id"))["rr"].to_list()
    [0.5, 0.5, 0.0]
    """

    def _with(self, setup: Setup) -> ExprRanker:
        return ExprRanker(setup)

    def _measure(self, call: Call) -> pl.Expr:
        return aggregation(call, self._setup)

    def __repr__(self) -> str:
        return "rf.expr: metrics as Polars expressions, such as rf.expr.ndcg(k=10)"


expr = ExprRanker()
"""The metrics as Polars expressions."""
