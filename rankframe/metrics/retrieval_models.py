"""Benchmarks of retrieval models: documents that nobody judged, and instructions that change what
is relevant.
"""

from __future__ import annotations

import polars as pl

from .._catalog.registry import metric
from .._words.ranking import Ranking, quotient

__all__ = ["hole", "p_mrr"]


@metric(display="Hole", bounds=(0, 1), higher_is_better=False, labels=False, needs=("items",))
def hole(r: Ranking, k: int | None = None) -> pl.Expr:
    r"""Hole: the share of the top `k` that has no judgment for any query, and so cannot count as
    relevant.

    ``on(items=...)`` lists the documents that have one; :func:`rankframe.metrics.trec.unjudged` is
    the share without a judgment for their own query.

    .. math:: \frac{1}{k} \sum_{i=1}^{k} [d_i \notin J]

    Here `J` holds the documents of ``items``.

    Parameters
    ----------
    k
        Ranks to count, and the divisor even where fewer were retrieved; ``None`` counts all, and
        divides by their number.

    Returns
    -------
    One Float64 per query, from 0 to 1.

    References
    ----------
    Thakur, Reimers, Rücklé, Srivastava and Gurevych, BEIR: a heterogeneous benchmark for zero-shot
    evaluation of information retrieval models, NeurIPS 2021; BEIR's and MTEB's ``Hole``.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame(
    ...     {
    ...         "query_id": [1, 1, 2],
    ...         "doc_id": list("abc"),
    ...         "score": [2, 1, 1],
    ...         "label": [None, 1, 1],
    ...     }
    ... )
    >>> df.rank.on(items=["b", "c"]).evaluate("hole@2")["hole@2"].to_list()  # a of a and b; c alone
    [0.5, 0.0]
    """
    n_unknown = r.total((~r.in_items).cast(pl.Float64), k)
    return n_unknown / r.depth(k)


@metric("p-mrr", "pmrr", display="p-MRR", bounds=(-1, 1), adds_up=False, needs=("base",))
def p_mrr(r: Ranking) -> pl.Expr:
    r"""p-MRR: how far documents fall that an instruction has made non-relevant, from -1 for a rise
    to 1 for a fall.

    The table's labels mark these documents, from ``relevant`` on, ``on(base=...)`` has the scores
    without the instruction, and the ranker's own scores are those with it. Equal scores stand as
    ``on(ties=...)`` says, in both rankings.

    .. math:: \frac{1}{R} \sum_d \begin{cases} 1 - a_d / b_d & \text{if } b_d > a_d \\ b_d / a_d - 1
       & \text{otherwise} \end{cases}

    Here `a` is the rank of document d without the instruction, and `b` the one with it; a document
    that is not retrieved is below all others. ``on(depth=...)`` cuts both rankings.

    Returns
    -------
    One Float64 per query, from -1 to 1; 0 if no rank changes; null where no document is marked.

    References
    ----------
    Weller, Chang, MacAvaney, Lo, Cohan, Van Durme, Lawrie and Soldaini, FollowIR: evaluating and
    teaching information retrieval models to follow instructions, NAACL 2025; MTEB's ``p-MRR``.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame(
    ...     {
    ...         "query_id": 1,
    ...         "doc_id": list("abcd"),
    ...         "score": [1, 4, 3, 2],
    ...         "label": [1, 0, 0, 0],
    ...         "without": [4, 3, 2, 1],
    ...     }
    ... )  # a falls from rank 1 to 4
    >>> df.rank.on(base="without").evaluate("p_mrr")["p_mrr"].item()
    0.75
    """
    r.need_every_rank()
    base = r.base_rank
    depth = r.setup.policies.depth
    if depth is not None:
        base = pl.when(base <= depth).then(base)
    n_of_base = r.count(base.is_not_null())
    before = base.fill_null(n_of_base + 1)
    after = r.rank.fill_null(r.n_retrieved + 1)
    fell = 1 - before / after
    rose = after / before - 1
    change = pl.when(after > before).then(fell).otherwise(rose)
    return quotient(r.whole(r.relevant * change), r.n_relevant)
