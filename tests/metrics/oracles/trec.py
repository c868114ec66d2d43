"""trec_eval's own measures for rows under all policies, whose labels may be fractions: adapters of `trec_eval`."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from tests.metrics.oracles import trec_eval
from tests.metrics.oracles.gain import gain_of
from tests.metrics.oracles.query import Query, Row, is_judged, ratio


def trec(q: Query) -> trec_eval.TrecQuery:
    return trec_eval.TrecQuery(q.ranking, q.unretrieved, q.relevant, q.table_max, collection=q.collection_size or 0)


def regained(q: Query, gain: Any) -> trec_eval.TrecQuery:
    """The same query with gains as labels, as `trec_eval` uses them."""

    def worth(row: Row) -> Row:
        doc, score, label = row
        return (doc, score, gain_of(row, gain, 0, q.relevant) if is_judged(row) else label)

    return replace(trec(q), ranking=[*map(worth, q.ranking)], unretrieved=[*map(worth, q.unretrieved)])


def num_nonrel_judged_ret(q: Query) -> float:
    return trec_eval.num_nonrel_judged_ret(trec(q))


def unjudged(q: Query, k: int | None = None) -> float:
    return ratio(sum(not is_judged(row) for row in q.ranking[:k]), q.n if k is None else k)


def r_precision_multiple(q: Query, multiple: float) -> float:
    return trec_eval.rprec_mult(trec(q), multiple)


def utility(q: Query, **worth: float) -> float:
    names = ("relevant_retrieved", "nonrelevant_retrieved", "relevant_missed", "nonrelevant_missed")
    return trec_eval.utility(trec(q), *(worth.get(name, x) for name, x in zip(names, (1, -1, 0, 0), strict=True)))


def yaap(q: Query) -> float:
    return trec_eval.yaap(trec(q))


def bin_g(q: Query) -> float:
    return trec_eval.bin_g(trec(q))


def g(q: Query, gain: Any = "linear") -> float:
    return trec_eval.g(regained(q, gain), {})


def ndcg_rel(q: Query, gain: Any = "linear") -> float:
    return trec_eval.ndcg_rel(regained(q, gain), {})


def rndcg(q: Query, gain: Any = "linear") -> float:
    if not q.R:
        return 0.0
    # the relevance of documents was decided by the labels
    return trec_eval.rndcg(replace(regained(q, gain), relevant=-1), {})


def ideal_dcg(q: Query, k: int | None = None, gain: Any = "linear") -> float:
    return trec_eval.ideal_dcg(regained(q, gain), {}, k)


def rbp_resid(q: Query, p: float = 0.9) -> float:
    return trec_eval.rbp_resid(trec(q), {}, p)


def gm_map(q: Query) -> float:
    return math.exp(trec_eval.gm_map(trec(q)))


def gm_bpref(q: Query) -> float:
    return math.exp(trec_eval.gm_bpref(trec(q)))


ORACLES = {
    oracle.__name__: oracle
    for oracle in (
        num_nonrel_judged_ret, unjudged, r_precision_multiple, utility, yaap, bin_g, g, ndcg_rel, rndcg, ideal_dcg,
        rbp_resid, gm_map, gm_bpref,
    )
}  # fmt: skip
