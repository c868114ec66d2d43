"""Contributions to a fusion, overlaps and expected exposure of runs, and the best run of each query, as methods of a ranker."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar, cast

from .._catalog.requests import Request
from .._decisions.paired_values import Design, Lacking
from .._decisions.resampling import Resampling
from .._decisions.runs import RunnerOfRuns, Runs, TheRuns
from .._support.option_kinds import Column
from .._support.statistical_options import Interval
from .._table.policies import Cutoff
from .._words.ranking import Persistence
from .._words.rankings import Missing
from . import expected_exposure as _exposure
from . import explain as _explain
from . import oracle as _oracle
from . import overlap as _overlap
from .fitted import FusionMethod, runs_for

R = TypeVar("R")


def explain_fusion(
    ranker: RunnerOfRuns[R],
    method: FusionMethod,
    *,
    runs: TheRuns | None = None,
    run: Column | None = None,
    normalize: str | None = None,
    weights: Sequence[float] | Mapping[str, float] | None = None,
    missing: Missing | None = None,
    depth: Cutoff | None = None,
) -> R:
    """The contribution of each run to the fused score of each document.

    Parameters
    ----------
    method, runs, run, normalize, weights, missing, depth
        As for :meth:`fuse`.

    Returns
    -------
    A frame of the caller's kind with a row per document of a query and run that has it:

    - the query columns, the document, and ``run`` (String);
    - ``rank`` (UInt32) and ``score`` (Float64), of the document in the run;
    - ``normalized`` (Float64), the score after `normalize`; null for methods that go by ranks alone;
    - ``contribution`` (Float64): the term of the run in the sum, times the factor of the document if the method has one,
      as the number of runs in ``comb_mnz``. Contributions of a document add up to its fused score. Null for methods that
      are no sum, as ``comb_min``, ``comb_max``, ``comb_med`` and ``condorcet``;
    - ``fused`` (Float64) and ``fused_rank`` (UInt32), the same in all rows of a document;
    - the label, if the table has one.

    If the method counts absent documents (``borda``, and ``missing="zero"`` or ``"min"``), a run that lacks a document
    has a row, too, whose rank and score are null. Eager frames come query by query, by fused rank, and of each document
    in the order of the runs; lazy frames have no defined order. Documents that no run has are left out.

    Raises
    ------
    InvalidOption, MissingColumn, InvalidData
        As for :meth:`fuse`.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame({"query_id": [1, 1], "doc_id": ["a", "b"], "bm25": [9.0, 7], "dense": [None, 0.8]})
    >>> found = df.rank.explain_fusion("rrf(k=1)", runs=["bm25", "dense"])
    >>> found["doc_id"].to_list(), found["run"].to_list(), found["rank"].to_list()
    (['b', 'b', 'a'], ['bm25', 'dense', 'bm25'], [2, 1, 1])
    >>> found["contribution"].to_list(), found["fused_rank"].to_list()
    ([0.3333333333333333, 0.5, 0.5], [1, 1, 2])
    """
    chosen = runs_for(method, runs, run)
    return ranker._of(chosen)._run(_explain.explain_fusion, method, chosen, normalize, weights, missing, depth)


def overlap(
    ranker: RunnerOfRuns[R],
    *,
    runs: TheRuns | None = None,
    run: Column | None = None,
    k: Cutoff | None = 10,
) -> _overlap.Overlap[R]:
    """The overlap of the rankings of every two runs, and the documents that each run finds alone.

    Parameters
    ----------
    runs, run
        The runs, as for :meth:`fuse`.
    k
        How many documents of each ranking count, except for rank-biased overlap; ``None`` counts all.

    Returns
    -------
    An object that shows the result in two sentences and two tables, which are frames of the caller's kind. A LazyFrame
    is collected first.

    - ``table`` has a row per pair of runs: ``run``, ``other``; ``overlap`` (the number of documents in the top k of both,
      over k), ``jaccard`` (over the number in the top k of either) and ``rbo`` (rank-biased overlap of the whole rankings
      with a persistence of 0.9), all Float64 from 0 to 1, the means over the queries for which either run retrieves a
      document, null if there is none; and the number of these queries, ``n_queries`` (UInt32).
    - ``runs`` has a row per run: ``run``; how many documents its top k hold over all queries, ``retrieved``, and how many
      of these no other run has in its top k, ``only``; the same of relevant documents, ``relevant`` and
      ``only_relevant``, null if the table has no labels; all UInt32.
    - ``settings`` is a dictionary of how it was computed.

    Ranks follow the tie rule.

    Raises
    ------
    InvalidOption
        If there are fewer than two runs, or `k` is no whole number from 1 on.
    MissingColumn, InvalidData
        As for :meth:`fuse`.

    References
    ----------
    Webber, Moffat, Zobel, A similarity measure for indefinite rankings, ACM TOIS 28(4), 2010.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame({"query_id": [1, 1, 1], "doc_id": list("abc"), "bm25": [3, 2, 1], "dense": [None, 2, 1], "label": [1, 0, 0]})
    >>> found = df.rank.overlap(runs=["bm25", "dense"], k=2)             # a and b; b and c
    >>> found.table["overlap"].item(), found.table["jaccard"].item()
    (0.5, 0.3333333333333333)
    >>> found.runs["run"].to_list(), found.runs["only"].to_list(), found.runs["only_relevant"].to_list()
    (['bm25', 'dense'], [1, 1], [1, 0])
    """
    design = Design(Runs.of(runs, run), None, (), None, "drop")
    return cast("_overlap.Overlap[R]", ranker._of(design.runs)._run(_overlap.overlap, design, k))


def oracle(
    ranker: RunnerOfRuns[R],
    *metrics: Request,
    runs: TheRuns | None = None,
    run: Column | None = None,
    fusion: FusionMethod | None = "rrf",
    ci: float = 0.95,
    interval: Interval = "auto",
    weights: Column | None = None,
    missing: Lacking = "error",
    resamples: int = 10_000,
    seed: int = 0,
    progress: bool = True,
) -> _oracle.Oracle[R]:
    """The gain of choosing the best run for each query, over each single run and over a fusion.

    The oracle knows the labels, so no rule that chooses one run for each query has a higher mean. A fusion, which mixes
    the documents of the runs, may have a higher mean.

    Parameters
    ----------
    *metrics
        Texts and functions, as for :meth:`evaluate`.
    runs, run
        The runs, as for :meth:`fuse`.
    fusion
        The method that fuses them, with its options, or a trained one, as for :meth:`fuse`; ``None`` for no fusion.
    ci
        The confidence of the interval of each gain.
    interval, weights, resamples, seed, progress
        As for :meth:`summarize`.
    missing
        Queries that a run lacks, as for :meth:`compare`.

    Returns
    -------
    An object that shows the result in a sentence per metric and a table; its tables are frames of the caller's kind. A
    LazyFrame is collected first.

    - ``table`` has a row per metric and run, the fusion last: ``metric``, ``run``, ``mean`` (of the run) and ``oracle``
      (the mean of each query's best run, over the queries where the run has a value), ``gain`` (the oracle less the
      run; at most 0 for metrics where less is better, except over a fusion), its interval from ``ci_low`` to
      ``ci_high``, all Float64, and its kind, ``interval``; on how many queries the oracle is better, ``better``, and how many queries have a value,
      ``n_queries`` (UInt32).
    - ``per_query`` has a row per run and query, also of the fusion and of the ``"oracle"``: the query, ``run``, and a
      Float64 column per metric.
    - ``settings`` is a dictionary of how it was computed.

    The intervals are those of :meth:`compare`. There are no p-values: the oracle is never worse than a run that it
    chooses from.

    Raises
    ------
    InvalidOption
        If there are fewer than two runs, or a run has the name ``"oracle"`` or that of the fusion.
    InvalidData
        If a run lacks queries and `missing` is ``"error"``.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame({"query_id": [1, 1, 2, 2], "doc_id": list("abab"), "label": [1, 0, 1, 0],
    ...                    "bm25": [2, 1, 1, 2], "dense": [1, 2, 2, 1]})                       # each is right once
    >>> found = df.rank.oracle("rr", runs=["bm25", "dense"], fusion=None).table
    >>> found["run"].to_list(), found["mean"].to_list(), found["gain"].to_list()
    (['bm25', 'dense'], [0.75, 0.75], [0.25, 0.25])
    """
    design = Design(Runs.of(runs, run), None, (), weights, missing)
    resampling = Resampling(ci, interval, resamples, seed, progress)
    found = ranker._of(design.runs)._run(_oracle.oracle, design, fusion, resampling, *metrics)
    return cast("_oracle.Oracle[R]", found)


def expected_exposure(
    ranker: RunnerOfRuns[R],
    *,
    runs: TheRuns | None = None,
    run: Column | None = None,
    k: Cutoff | None = None,
    persistence: Persistence = 0.5,
    judgments: _exposure.Judgments = "complete",
) -> R:
    r"""The attention that each query's documents get from several rankings, compared with equal attention for equal labels.

    Randomly drawn rankings, or several runs, can give documents with the same label the same attention; a single
    ranking cannot. The exposure of a document, :math:`e_d`, is the mean over the query's rankings of :math:`\gamma^{r -
    1}` for the document's rank r, 0 where a ranking lacks it. Its target, :math:`t_d`, is the mean of this attention
    over the ranks that documents with its label have if all documents stand by falling label.

    Parameters
    ----------
    runs, run
        The rankings, as for :meth:`fuse`: score columns, a table for each, or the column that names the run or sample
        of each row. Without either, the ranker's own score. To keep several systems apart, make the system part of the
        query: ``on(query=["system", "query_id"])``.
    k
        Ranks that get attention; ``None`` for all.
    persistence
        The probability :math:`\gamma`, above 0 and below 1, that a reader goes on from a rank to the next one.
    judgments
        ``"complete"`` if the table holds all documents of the collection: documents with label 0, and unjudged ones,
        share the ranks below the others. ``"incomplete"`` if it holds a few of many: the target of such documents is 0.

    Returns
    -------
    A frame of the caller's kind with a row per query: the query columns (in pandas, the index), then

    - ``ee_d`` (Float64), the disparity :math:`\sum_d e_d^2`, lower for attention that is spread more evenly;
    - ``ee_r`` (Float64), the relevance :math:`\sum_d e_d t_d`, higher for attention to documents with high labels;
    - ``ee_l`` (Float64), the loss :math:`\sum_d (e_d - t_d)^2`, 0 at best: the disparity, less twice the relevance, and
      the target's own disparity;
    - ``n_rankings`` (UInt32), the number of the query's rankings; one without a document does not count.

    The three are from 0 on, and null for a query without rankings. Eager frames have the queries in the order of
    appearance; lazy frames have no defined order. The sums are over all documents of the query, in a ranking or not. The
    policies apply: ``ties="expected"`` gives tied documents the mean attention of their ranks, ``unjudged="drop"`` and
    ``unretrieved="drop"`` leave documents out of rankings and target, ``no_relevant="null"`` gives null to a query without
    relevant documents.

    Raises
    ------
    InvalidOption
        If `persistence`, `k` or `judgments` has another value, or under ``unjudged="bounds"``.
    MissingColumn, InvalidData
        As for :meth:`fuse`; also if there is no label.

    References
    ----------
    Diaz, Mitra, Ekstrand, Biega and Carterette, Evaluating stochastic rankings with expected exposure, CIKM 2020, for the
    user model of rank-biased precision.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame({"query_id": [1, 1], "doc_id": ["a", "b"], "label": [1, 1], "monday": [2, 1], "tuesday": [1, 2]})
    >>> found = df.rank.expected_exposure(runs=["monday"])                # 1 and 0.5, where 0.75 each is fair
    >>> found["ee_d"].to_list(), found["ee_r"].to_list(), found["ee_l"].to_list()
    ([1.25], [1.125], [0.125])
    >>> df.rank.expected_exposure(runs=["monday", "tuesday"])["ee_l"].to_list()                 # each is first once
    [0.0]
    """
    chosen = Runs.of(runs, run)
    return ranker._of(chosen)._run(_exposure.expected_exposure, chosen, k, persistence, judgments)
