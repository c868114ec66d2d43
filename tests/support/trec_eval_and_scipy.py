"""The values of other tools, where they can be trusted: (query, metric, options, value)."""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Iterator
from typing import Any

import pytrec_eval
from scipy import stats
from sklearn.metrics import average_precision_score, dcg_score, ndcg_score, roc_auc_score

from tests.metrics.oracles.agreement import Pair, scored_twice
from tests.metrics.oracles.query import is_judged
from tests.support.tables import Table

Value = tuple[Any, str, dict[str, Any], float]

CUTOFFS = (1, 2, 3, 5, 10, 100)
SHARES = (0.1, 0.35, 0.9)
RECALLS = tuple(tenth / 10 for tenth in range(11))
WITHOUT_CUTOFF = {
    "map": "average_precision", "set_P": "precision", "set_recall": "recall", "set_F": "f1",
    "Rprec": "r_precision", "recip_rank": "reciprocal_rank", "bpref": "bpref",
    "ndcg": "ndcg", "11pt_avg": "eleven_point_average",
}  # fmt: skip
WITH_CUTOFF = {
    "map_cut": "average_precision",
    "P": "precision",
    "recall": "recall",
    "success": "hit_rate",
    "ndcg_cut": "ndcg",
}
ASKED = {*WITHOUT_CUTOFF, *(f"{name}.{','.join(map(str, CUTOFFS))}" for name in WITH_CUTOFF)} | {
    f"iprec_at_recall.{','.join(f'{r:.1f}' for r in RECALLS)}"
}


def trec_eval(table: Table, *, relevant: int = 1, judged_only: bool = False) -> Iterator[Value]:
    """trec_eval 9's C code, but for the places where it is wrong, undefined, or rounds unlike version 10."""
    qrels = {q: {doc: int(label) for doc, _, label in rows if label is not None} for q, rows in table.items()}
    run = {q: {doc: score for doc, score, _ in rows if score is not None} for q, rows in table.items()}
    # All judgments negative: the C code keeps the previous query's counts.
    qrels = {q: labels for q, labels in qrels.items() if any(label >= 0 for label in labels.values())}
    evaluator = pytrec_eval.RelevanceEvaluator(
        qrels, ASKED, relevance_level=relevant, judged_docs_only_flag=judged_only
    )
    for query, values in evaluator.evaluate(run).items():
        levels = qrels[query].values()
        n_relevant = sum(label >= relevant for label in levels)
        # Version 9 rounds the count of relevant documents wanted by + 0.9, version 10 to the nearest.
        same = {r: int(r * n_relevant + 0.9) == math.floor(r * n_relevant + 0.5) for r in RECALLS}
        for measure, name in WITHOUT_CUTOFF.items():
            if measure == "11pt_avg" and not all(same.values()):
                continue
            if measure == "bpref" and relevant > max(levels) + 1:
                continue  # reads past the end of its array
            yield query, name, {}, values[measure]
        for measure, name in WITH_CUTOFF.items():
            for k in CUTOFFS:
                yield query, name, {"k": k}, values[f"{measure}_{k}"]
        for r in RECALLS:
            if same[r]:
                yield query, "interpolated_precision", {"recall": r}, values[f"iprec_at_recall_{r:.2f}"]


CUT = ",".join(map(str, CUTOFFS))
# By trec_eval's own names. No text (relstring), and only parameters that keep their meaning sorted as text.
NAMED = [
    "num_ret", "num_rel", "num_rel_ret", "map", "gm_map", "Rprec", "bpref", "recip_rank", f"P.{CUT}", f"recall.{CUT}",
    "infAP", "gm_bpref", "Rprec_mult.0.1,0.25,0.5,1.0,1.5", "utility.1,2,3,4", "11pt_avg", "binG", "G", "ndcg",
    "ndcg_rel", "Rndcg", f"ndcg_cut.{CUT}", f"map_cut.{CUT}", f"relative_P.{CUT}", f"success.{CUT}", "set_P",
    "set_relative_P", "set_recall", "set_map", "set_F.0.5", "num_nonrel_judged_ret", "iprec_at_recall",
]  # fmt: skip


def trec_eval_9(
    table: Table, *, relevant: int = 1, judged_only: bool = False, depth: int | None = None
) -> dict[Any, dict[str, float]]:
    """Each query's measures by trec_eval's names, and their summary under "all", where version 9 has an answer."""
    qrels = {q: {doc: int(label) for doc, _, label in rows if label is not None} for q, rows in table.items()}
    # All judgments negative: the C code keeps the previous query's counts.
    qrels = {q: labels for q, labels in qrels.items() if any(label >= 0 for label in labels.values())}
    run = {
        q: dict(
            sorted(
                ((doc, score) for doc, score, _ in rows if score is not None),
                key=lambda item: (item[1], item[0].encode()),
                reverse=True,
            )[:depth]
        )
        for q, rows in table.items()
    }
    evaluator = pytrec_eval.RelevanceEvaluator(
        qrels, NAMED, relevance_level=relevant, judged_docs_only_flag=judged_only
    )
    found = evaluator.evaluate({q: scores for q, scores in run.items() if scores})
    names = next(iter(found.values()))
    summary = {
        name: pytrec_eval.compute_aggregated_measure(name, [values[name] for values in found.values()])
        for name in names
    }
    return {**found, "all": summary}


def scikit_learn(table: Table) -> Iterator[Value]:
    """AUC; nDCG, DCG and average precision where all is retrieved, judged, and scored differently."""
    for query, rows in table.items():
        pool = [row for row in rows if row[1] is not None or is_judged(row)]
        floor = min([0.0] + [score for _, score, _ in pool if score is not None]) - 1
        truth = [label is not None and label >= 1 for _, _, label in pool]
        if 0 < sum(truth) < len(truth):
            scored = [floor if score is None else score for _, score, _ in pool]
            for max_fpr in (None, *SHARES):
                yield query, "auc", {"max_fpr": max_fpr}, roc_auc_score(truth, scored, max_fpr=max_fpr)
        scores = [score for _, score, _ in rows if score is not None]
        if len(rows) < 2 or len(set(scores)) < len(rows) or not all(map(is_judged, rows)):
            continue
        labels = [label for _, _, label in rows]
        for gain, gains in {"linear": labels, "exponential": [2**label - 1 for label in labels]}.items():
            for k in (None, *CUTOFFS):
                yield (
                    query,
                    "dcg",
                    {"k": k, "gain": gain},
                    dcg_score([gains], [scores], k=k, ignore_ties=True),
                )
                yield (
                    query,
                    "ndcg",
                    {"k": k, "gain": gain},
                    ndcg_score([gains], [scores], k=k, ignore_ties=True),
                )
        if any(truth):
            yield query, "average_precision", {}, average_precision_score(truth, scores)


def scipy(table: dict[str, list[Pair]]) -> Iterator[tuple[Any, str, dict[str, Any], float | None]]:
    """Rank correlations, None where they are nan; where nothing is tied, the others follow from tau."""
    for query, rows in table.items():
        both = scored_twice(rows)
        x, y = [row[1] for row in both], [row[2] for row in both]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield query, "kendall_tau", {}, none_if_nan(stats.kendalltau(x, y).statistic)
            if len(both) > 1:
                yield query, "weighted_tau", {}, none_if_nan(stats.weightedtau(x, y).statistic)
            if len(both) > 1:
                yield query, "spearman", {}, none_if_nan(stats.spearmanr(x, y).statistic)
        if len(set(x)) == len(x) and len(set(y)) == len(y):
            best = sorted(zip(x, y, strict=True), reverse=True)
            for k in (2, 3, 5, 100):
                if len(both) > 1:
                    tau = stats.kendalltau(*zip(*best[:k], strict=True)).statistic
                    yield query, "kendall_distance", {"k": k}, none_if_nan((1 - tau) / 2)
            if len(both) > 1:
                yield query, "tau_ap", {}, tau_ap(sorted(zip(y, x, strict=True), reverse=True))


def tau_ap(best: list[tuple[float, float]]) -> float:
    """The mean, over all ranks but the first, of each rank's share in the balance of concordant and discordant pairs."""
    tau = [0.0] + [stats.kendalltau(*zip(*best[:i], strict=True)).statistic for i in range(2, len(best) + 1)]
    balance = [t * i * (i - 1) / 2 for i, t in enumerate(tau, 1)]
    added = [(after - before) / i for i, (before, after) in enumerate(itertools.pairwise(balance), 1)]
    return float(sum(added) / len(added))


def none_if_nan(x: float) -> float | None:
    return None if math.isnan(x) else float(x)
