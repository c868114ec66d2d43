"""Fusion as methods of a ranker: their options and documentation, and the arguments for the verbs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, TypeVar, cast

from .._catalog.requests import Request
from .._decisions.compare import Significance
from .._decisions.paired_values import Design
from .._decisions.resampling import Resampling
from .._decisions.runs import RunnerOfRuns, Runs, TheRuns
from .._support.option_kinds import Column, ReadInside
from .._support.option_values import Range
from .._support.statistical_options import Correction, Interval, PairedTest
from .._table.policies import Cutoff
from .._words.rankings import Missing
from . import fitted as _fitted
from . import fuse as _fuse
from . import tuning as _tuning
from .fitted import FittedFusion, FusionMethod
from .search import Search, Tuning
from .tuning import TunedFusion

R = TypeVar("R")


def fuse(
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
    """Merge the rankings of several runs into one, with one fused score per document.

    Parameters
    ----------
    method
        A method with its options, as ``"rrf"``, ``"rrf(k=10)"``, ``"comb_mnz(normalize=min_max)"`` or
        ``"wsum(weights=[0.7,0.3])"``; ``rf.FUSIONS`` lists them all. The options below may stand in the text instead.
        Or the result of :meth:`fit_fusion`, without options; its runs are by default those of its training.
    runs
        The columns of the runs' scores, in a table with a row per document; null where a run does not retrieve it. Or a
        table for each run, including the table of `.rank`: ``{"bm25": df_a, "dense": df_b}``.
    run
        The column that names the run of each row, in a table with a row per run and document; instead of `runs`.
    normalize
        The normalisation that brings the scores of each ranking to one scale before they are added up: ``"min_max"``,
        ``"max"``, ``"sum"``, ``"zmuv"``, ``"rank"``, ``"l2"``, ``"dbsf"`` or ``"min_max_inverted"``. ``None`` leaves
        them as they are.
    weights
        A weight for each run: in the order of `runs`, or of first appearance in the column; or a mapping by the runs' names.
    missing
        The score of a document in a ranking that lacks it: ``"skip"``, the default, gives none; ``"zero"`` gives 0;
        ``"min"`` gives the least normalised score of the ranking.
    depth
        How many documents of each ranking count; default: those of ``on(depth=...)``, or else all.

    Returns
    -------
    A frame of the caller's kind with a row per document of a query, in the order of first appearance: the query columns,
    the document, the fused score as ``score`` (Float64), and the label if the table has one. The score is null for a
    document that no ranking has, such as a judged one, so that metrics count it as missed. Lazy frames have no
    defined order.

    The tie rule orders equal scores in a ranking; with ``on(ties="expected")`` each gets the mean contribution of their
    ranks. The tie rule also decides which of equal scores at the depth stay; with ``"expected"``, those with the larger
    ids.

    Raises
    ------
    InvalidOption
        If the method is unknown, an option is out of its range, or no runs are named.
    MissingColumn, InvalidData
        If a column is missing or holds no numbers; if a score is NaN, or, where scores are added up, infinite or beyond 1e150,
        or negative where a normalisation is not defined for it; if a document appears twice in a ranking, or has different
        labels in different runs; if a fused score would be no number.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame({"query_id": [1, 1, 1], "doc_id": ["a", "b", "c"], "bm25": [9.0, 7, None], "dense": [None, 0.8, 0.6]})
    >>> fused = df.rank.fuse("rrf(k=60)", runs=["bm25", "dense"])
    >>> [round(score, 6) for score in fused["score"].to_list()]             # 1/61, 1/62 + 1/61, 1/62
    [0.016393, 0.032522, 0.016129]
    """
    chosen = _fitted.runs_for(method, runs, run)
    return ranker._of(chosen)._run(_fuse.fuse, method, chosen, normalize, weights, missing, depth)


def fit_fusion(
    ranker: RunnerOfRuns[R],
    method: str,
    *,
    runs: TheRuns | None = None,
    run: Column | None = None,
    normalize: str | None = None,
    missing: Missing | None = None,
    depth: Cutoff | None = None,
) -> FittedFusion[R]:
    """Train a method of fusion on judged rankings.

    Every query of the table is a training query. A document is relevant if its label is at least `on(relevant=...)`; a
    document without a label is not relevant. Train on other queries than those whose values you report.

    Parameters
    ----------
    method
        ``"mapfuse"``, ``"posfuse"``, ``"slidefuse(w=5)"``, ``"probfuse(x=25)"``, ``"segfuse"`` or ``"bayesfuse"``;
        ``rf.TRAINED_FUSIONS`` lists them all.
    runs, run
        As for :meth:`fuse`.
    normalize, missing
        For segfuse, which multiplies scores: as for :meth:`fuse`. They also hold when the method is applied.
    depth
        How many documents of each ranking count, in the training and when the method is applied; ``None`` counts all.

    Returns
    -------
    A :class:`rankframe.FittedFusion`, which ``df.rank.fuse(fitted)`` applies to a table with the same runs; its ``learned``
    is a frame of the caller's kind. A LazyFrame is collected first.

    Raises
    ------
    InvalidOption
        If the method is unknown or needs no training, or an option is out of its range.
    MissingColumn, InvalidData
        If there are no labels, or no document is relevant; and as for :meth:`fuse`.

    Examples
    --------
    The first ranking has its relevant documents at ranks 1 and 2, the second at rank 2 alone:

    >>> import polars as pl, rankframe as rf
    >>> train = pl.DataFrame({"query_id": [1, 1, 1], "doc_id": ["a", "b", "c"], "label": [1, 1, 0],
    ...                       "bm25": [9.0, 7, None], "dense": [None, 0.6, 0.8]})
    >>> fitted = train.rank.fit_fusion("posfuse", runs=["bm25", "dense"])
    >>> fitted
    posfuse, trained on bm25, dense and 1 query
    rank    bm25   dense
       1  1.0000  0.0000
       2  1.0000  1.0000
    Figures: probability.
    >>> train.rank.fuse(fitted)["score"].to_list()
    [1.0, 2.0, 0.0]
    >>> rf.FittedFusion.from_json(fitted.to_json()).method
    'posfuse'
    """
    design = Design(Runs.of(runs, run), None, (), None, "error")
    found = ranker._of(design.runs)._run(_fitted.fit, design, method, normalize, missing, depth)
    return cast("FittedFusion[R]", found)


def tune(
    ranker: RunnerOfRuns[R],
    method: Annotated[str | Sequence[str], ReadInside],
    *,
    metric: Request = "ndcg@10",
    runs: TheRuns | None = None,
    run: Column | None = None,
    judgments: object = None,
    normalize: str | Sequence[str] | None = None,
    options: Mapping[str, Sequence[object]] | None = None,
    step: float = 0.1,
    search: Search | None = None,
    folds: Annotated[int, Range(least=2)] = 5,
    seed: int = 0,
    test: PairedTest = "permutation",
    correction: Correction | None = "holm",
    ci: float = 0.95,
    interval: Interval = "auto",
    resamples: int = 10_000,
    progress: bool = True,
) -> TunedFusion[R]:
    """Choose the weights and options of a method of fusion, and estimate their gain on other queries.

    The queries are cut into folds. The queries of each fold are fused with the setting that has the best mean on the
    other folds; the values of these fused rankings are the values *out of fold*. The setting to use is the one that is
    best on all queries, but its mean on these queries is too high, the more so the more settings were tried.

    No label of a query influences how it is fused out of fold, unless the metric uses the largest label of the table,
    as err does without `max_label`. All rankings of a query are evaluated with the same relevant documents, those of
    all runs.

    Parameters
    ----------
    method
        The text of a method. Options that the text sets are not changed; other weights, and other options such as `k`
        of rrf, `gamma`, `sigma` and `phi`, are tuned. From a list of methods, one is chosen, too: for each fold, by
        cross-validation among the other folds.
    metric
        A text or function, as for :meth:`evaluate`; the mean over the queries counts.
    runs, run
        As for :meth:`fuse`.
    judgments
        The judgments of runs without labels, a frame as for :meth:`judge`, which is joined with each run first; ``None``
        if the runs have labels.
    normalize
        The normalisation as for :meth:`fuse`, or several of them to choose from.
    options
        The values to try, by option, in place of the usual ones: ``{"k": [10, 60], "weights": [[0.5, 0.5], [0.7, 0.3]]}``.
        The first one is that of the untuned method. A single value fixes the option.
    step
        The step of the weights, which add up to 1: 0.1 gives 66 settings for three runs.
    search
        ``"grid"`` tries all settings; ``"coordinate"`` changes one weight or option at a time to its best value, and
        repeats this until nothing improves. ``None``: a grid for up to three runs.
    folds
        How many parts the queries have, from 2 to the number of queries.
    seed
        The seed of the folds and of the resamples. The folds do not depend on the order of the rows, or on labels.
    test, correction, ci, interval, resamples, progress
        As for :meth:`compare`, with the tuned method against the untuned one and each run.

    Returns
    -------
    A :class:`rankframe.TunedFusion`, whose tables are frames of the caller's kind. A LazyFrame is collected first.

    Raises
    ------
    InvalidOption
        If there is nothing to choose, there are more folds than queries, or an option is out of its range.
    UnknownMetric, MissingColumn, InvalidData
        As for :meth:`fuse` and :meth:`evaluate`; and, with `judgments`, as for :meth:`judge`.

    Examples
    --------
    Each run is right on one query only, so that weights chosen on one query fail on the other:

    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame({"query_id": [1, 1, 2, 2], "doc_id": ["x", "y", "x", "y"], "label": [1, 0, 1, 0],
    ...                    "a": [2, 1, 1, 2], "b": [1, 2, 2, 1]})
    >>> tuned = df.rank.tune("wsum", metric="rr", runs=["a", "b"], folds=2, step=1)
    >>> tuned.text
    'wsum(weights=[0,1])'
    >>> tuned.table["ranking"].to_list()[:3], tuned.table["mean"].to_list()[:3]
    (['tuned, out of fold', 'tuned, in sample', 'untuned'], [0.5, 0.75, 0.5])
    >>> tuned.fuse(df)["score"].to_list()
    [1.0, 2.0, 2.0, 1.0]
    """
    texts = tuple(method) if isinstance(method, Iterable) and not isinstance(method, str) else (method,)
    choices = dict(options or {})
    if normalize is not None:
        choices["normalize"] = [normalize] if isinstance(normalize, str) else list(normalize)
    tuning = Tuning(texts, choices, step, search, folds, seed)
    design = Design(Runs.of(runs, run), None, (), None, "error")
    testing = Significance(test, correction)
    resampling = Resampling(ci, interval, resamples, seed, progress)
    found = ranker._of(design.runs, judgments)._run(_tuning.tune, design, tuning, testing, resampling, metric)
    return cast("TunedFusion[R]", found)
