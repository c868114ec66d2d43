"""Fusion of runs that are frames or files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from ._catalog.fusions import FUSIONS, NORMALIZATIONS, TRAINED_FUSIONS
from ._support.option_kinds import Column, ReadInside
from ._table.runs import TheRuns
from ._verbs.fuse.fitted import FittedFusion, FusionMethod, fit as fit_verb
from ._verbs.fuse.fuse import fuse as fuse_verb
from .errors import with_code_of
from .evaluation import apart, as_keywords, runs_by_name, table_of, taking_options_of

__all__ = ["FUSIONS", "NORMALIZATIONS", "TRAINED_FUSIONS", "fit_fusion", "fuse"]


@taking_options_of(fuse_verb)
def fuse(
    runs: Annotated[Sequence[object] | Mapping[str, object], ReadInside],
    method: FusionMethod = "rrf",
    **options: Any,
) -> Any:
    """Merge several runs, each a frame or a file, into one ranking with a fused score per document.

    Parameters
    ----------
    runs
        Frames, all of Polars, all lazy or all of pandas; or files, dictionaries or lists, as for
        :func:`evaluate`. A mapping names the runs; the default names are the files' names, and
        ``run1``, ``run2`` ... for others.
    method
        As for :meth:`df.rank.fuse`.
    **options
        The options of :meth:`df.rank.fuse`, `normalize`, `weights`, `missing` and `depth`; and
        columns and policies, as for :meth:`df.rank.on`: ``query="qid"``.

    Returns
    -------
    A frame of the runs' kind, a Polars frame for files, with the query columns, the document, the
    fused score as ``score``, and the label if all runs have labels.

    Raises
    ------
    InvalidOption
        If there are no runs, the frames are of different kinds, or an option is out of its range.
    MissingColumn, InvalidData
        As for :meth:`df.rank.fuse`.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> bm25 = pl.DataFrame({"query_id": [1, 1], "doc_id": ["a", "b"], "score": [9.0, 7.0]})
    >>> dense = pl.DataFrame({"query_id": [1, 1], "doc_id": ["b", "c"], "score": [0.8, 0.6]})
    >>> rf.fuse([bm25, dense], "comb_sum", normalize="min_max")["score"].to_list()
    [1.0, 1.0, 0.0]
    """
    tables = {str(name): table_of(run) for name, run in runs_by_name(runs).items()}
    first = next(iter(tables.values()))
    of_fuse, of_on = apart(options, fuse_verb)
    with with_code_of(as_keywords):
        ranker = first.rank.on(**of_on)
        return ranker.fuse(method, runs=tables, **of_fuse)


@taking_options_of(fit_verb)
def fit_fusion(
    train: Any,
    method: str,
    *,
    runs: TheRuns | None = None,
    run: Column | None = None,
    qrels: Any = None,
    **options: Any,
) -> FittedFusion[Any]:
    """Train a method of fusion on judged rankings: ``train.rank.on(...).fusion.fit(method, ...)``.

    Parameters
    ----------
    train
        A frame with the runs, with labels unless `qrels` is given.
    method
        ``"mapfuse"``, ``"posfuse"``, ``"slidefuse(w=5)"``, ``"probfuse(x=25)"``, ``"segfuse"`` or
        ``"bayesfuse"``.
    runs, run
        As for :meth:`df.rank.fusion.fit`.
    qrels
        A frame of judgments, which is joined with the runs first; ``None`` if they have labels.
    **options
        The options of :meth:`df.rank.fusion.fit`, `normalize`, `missing` and `depth`; and columns
        and policies, as for :meth:`df.rank.on`: ``relevant=2``.

    Returns
    -------
    A :class:`rankframe.results.FittedFusion`, which `df.rank.fuse` applies.

    Raises
    ------
    InvalidOption, MissingColumn, InvalidData
        As for :meth:`df.rank.fusion.fit` and :meth:`df.rank.judge`.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> scores = {"bm25": [9.0, 7], "dense": [None, 0.6]}
    >>> train = pl.DataFrame({"query_id": [1, 1], "doc_id": ["a", "b"], **scores})
    >>> qrels = pl.DataFrame({"query_id": [1, 1], "doc_id": ["b", "c"], "label": [1, 1]})
    >>> rf.fit_fusion(train, "mapfuse", runs=["bm25", "dense"], qrels=qrels).learned.rows()
    [('bm25', 0.25), ('dense', 0.5)]
    """
    own = table_of(train)
    if isinstance(runs, Mapping):
        runs = {name: own if table is train else table_of(table) for name, table in runs.items()}
    of_fit, of_on = apart(options, fit_verb)
    with with_code_of(as_keywords):
        ranker = own.rank.on(**of_on)
        return ranker.fusion.fit(method, runs=runs, run=run, qrels=qrels, **of_fit)  # type: ignore[no-any-return]
