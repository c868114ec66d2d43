"""Fusion as methods of a ranker: their options and documentation, and what they hand to the verbs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol, TypeVar

from .._decisions.runs import Runs
from .._verbs.methods import Runner
from .._words.rankings import Missing
from . import explain as _explain
from . import fuse as _fuse

__all__ = ["explain_fusion", "fuse"]

R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)


class Fuser(Runner[R_co], Protocol[R_co]):
    """A ranker as fusion sees it: it also makes one table of several."""

    def _of(self, runs: Runs) -> Runner[R_co]:
        """The ranker of the table with the runs: its own, or one of the runs' tables."""
        ...


def fuse(
    ranker: Fuser[R],
    method: str,
    *,
    runs: Sequence[str] | Mapping[str, object] | None = None,
    run: str | None = None,
    normalize: str | None = None,
    weights: Sequence[float] | Mapping[str, float] | None = None,
    missing: Missing | None = None,
    depth: int | None = None,
) -> R:
    """Bring the rankings of several runs to one, with one fused score per document.

    Parameters
    ----------
    method
        A method with its options, as ``"rrf"``, ``"rrf(k=10)"``, ``"comb_mnz(normalize=min_max)"`` or
        ``"wsum(weights=[0.7,0.3])"``; ``rf.FUSIONS`` lists them all. The options below may stand in the text instead.
    runs
        The columns of the runs' scores, in a table with a row per document; null where a run does not retrieve it.
        Or a table for each run, one of which is that of `.rank`: ``{"bm25": df_a, "dense": df_b}``.
    run
        The column that names the run of each row, in a table with a row per run and document; instead of `runs`.
    normalize
        How the scores of each ranking are brought to one scale before they are added up: ``"min_max"``, ``"max"``,
        ``"sum"``, ``"zmuv"``, ``"rank"``, ``"l2"``, ``"dbsf"`` or ``"min_max_inverted"``. ``None`` leaves them as they are.
    weights
        A weight for each run: in the order of `runs`, or of first appearance in the column; or a mapping by the runs' names.
    missing
        The score of a document in a ranking that lacks it: ``"skip"``, the default, gives none; ``"zero"`` gives 0;
        ``"min"`` gives the least normalised score of the ranking.
    depth
        How many documents of each ranking count; ``None`` counts all.

    Returns
    -------
    A frame of the caller's kind with a row per document of a query, in the order of first appearance: the query columns,
    the document, the fused score as ``score`` (Float64), and the label if the table has one. The score is null for a
    document that no ranking has, such as a judged one, so that metrics count it as missed. Lazy frames have no
    defined order.

    Equal scores in a ranking stand by the tie rule; with ``on(ties="expected")`` they share the mean of what their ranks
    are worth.

    Raises
    ------
    InvalidOption
        If the method is unknown, an option is out of its range, or no runs are named.
    MissingColumn, InvalidData
        If a column is missing or holds no numbers; if a score is NaN or infinite, or negative where a normalisation is not
        defined for it; if a document appears twice in a ranking, or has different labels in different runs.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame({"query_id": [1, 1, 1], "doc_id": ["a", "b", "c"], "bm25": [9.0, 7, None], "dense": [None, 0.8, 0.6]})
    >>> df.rank.fuse("rrf(k=60)", runs=["bm25", "dense"]).rows()      # 1/61, 1/62 + 1/61, 1/62
    [(1, 'a', 0.01639344262295082), (1, 'b', 0.03252247488101534), (1, 'c', 0.016129032258064516)]
    """
    chosen = Runs.of(runs, run)
    return ranker._of(chosen)._run(_fuse.fuse, method, chosen, normalize, weights, missing, depth)


def explain_fusion(
    ranker: Fuser[R],
    method: str,
    *,
    runs: Sequence[str] | Mapping[str, object] | None = None,
    run: str | None = None,
    normalize: str | None = None,
    weights: Sequence[float] | Mapping[str, float] | None = None,
    missing: Missing | None = None,
    depth: int | None = None,
) -> R:
    """What each run contributes to the fused score of each document.

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
      are no sum: ``comb_min``, ``comb_max`` and ``comb_med``;
    - ``fused`` (Float64) and ``fused_rank`` (UInt32), the same in all rows of a document;
    - the label, if the table has one.

    Where the method counts absent documents (``borda``, and ``missing="zero"`` or ``"min"``), a run that lacks a document
    has a row, too, whose rank and score are null.
    Eager frames come query by query, by fused rank, and of each document in the order of the runs; lazy frames have no
    defined order. Documents that no run has are left out.

    Raises
    ------
    InvalidOption, MissingColumn, InvalidData
        As for :meth:`fuse`.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame({"query_id": [1, 1], "doc_id": ["a", "b"], "bm25": [9.0, 7], "dense": [None, 0.8]})
    >>> found = df.rank.explain_fusion("rrf(k=1)", runs=["bm25", "dense"])
    >>> found.select("doc_id", "run", "rank", "contribution", "fused", "fused_rank").rows()
    [('b', 'bm25', 2, 0.3333333333333333, 0.8333333333333333, 1), ('b', 'dense', 1, 0.5, 0.8333333333333333, 1), ('a', 'bm25', 1, 0.5, 0.5, 2)]
    """
    chosen = Runs.of(runs, run)
    return ranker._of(chosen)._run(_explain.explain_fusion, method, chosen, normalize, weights, missing, depth)
