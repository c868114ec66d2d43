"""The frames of ranx, RePlay, RecTools and LensKit, read by their own names: their numbers."""

from __future__ import annotations

import random
from typing import Any

import polars as pl
import pytest

import rankframe as rf

pytestmark = [pytest.mark.tools, pytest.mark.filterwarnings("ignore")]


def draws(seed: int, *, gaps: bool = False) -> tuple[list[Any], list[Any]]:
    """Rows of recommendations, with ranks, and of ratings from half a star."""
    rng, recommended, rated = random.Random(seed), [], []
    for user in range(12):
        n = rng.randint(1, 8)
        ranks = sorted(rng.sample(range(1, 12), n)) if gaps else range(1, n + 1)
        recommended += [(user, item, rank) for rank, item in zip(ranks, rng.sample(range(30), n), strict=True)]
        rated += [(user, item, rng.choice([0.5, 1.0, 2.5])) for item in rng.sample(range(30), rng.randint(1, 5))]
    return recommended, rated


def test_ranx_its_own_run_and_judgments() -> None:
    ranx = pytest.importorskip("ranx")
    recommended, rated = draws(1)
    run: dict[str, Any] = {}
    qrels: dict[str, Any] = {}
    for user, item, rank in recommended:
        run.setdefault(f"q{user}", {})[f"d{item}"] = 1 / rank
    for user, item, rating in rated:
        qrels.setdefault(f"q{user}", {})[f"d{item}"] = round(2 * rating)
    theirs = ranx.evaluate(ranx.Qrels(qrels), ranx.Run(run), ["ndcg@10", "map", "mrr"])
    frames = ranx.Run(run).to_dataframe(), ranx.Qrels(qrels).to_dataframe()
    judged = frames[0].rank.on(names="ranx").judge(frames[1]).rank.on(names="ranx")
    assert judged.mean(["ndcg@10", "map", "mrr"]).iloc[0].to_list() == pytest.approx([*theirs.values()])
    plain = rf.evaluate(ranx.Run(run), ranx.Qrels(qrels), "ndcg@10", "map", "mrr").drop("query_id").mean()
    assert plain.row(0) == pytest.approx([*theirs.values()])


def test_replay_its_own_recommendations_and_ground_truth() -> None:
    metrics = pytest.importorskip("replay.metrics")
    recommended, rated = draws(2)
    names = ["query_id", "item_id", "rating"]
    recs = pl.DataFrame([(u, i, 1 / rank) for u, i, rank in recommended], names, orient="row")
    truth = pl.DataFrame(rated, names, orient="row")
    texts = {"NDCG@5": metrics.NDCG, "MAP@5": metrics.MAP, "Recall@5": metrics.Recall, "MRR@5": metrics.MRR}
    theirs = [next(iter(kind(5)(recs.to_pandas(), truth.to_pandas()).values())) for kind in texts.values()]
    judged = recs.rank.on(names="replay").judge(truth).rank.on(names="replay", convention="replay")
    assert judged.mean([*texts]).row(0) == pytest.approx(theirs)


@pytest.mark.parametrize("gaps", [False, True])
def test_rectools_its_own_recommendations_with_their_ranks_and_interactions_with_weights(gaps: bool) -> None:
    metrics = pytest.importorskip("rectools.metrics")
    recommended, rated = draws(3, gaps=gaps)
    recs = pl.DataFrame(recommended, ["user_id", "item_id", "rank"], orient="row")
    interactions = pl.DataFrame(rated, ["user_id", "item_id", "weight"], orient="row")
    judged = recs.rank.on(names="rectools", rank="rank").judge(interactions)
    ranker = judged.rank.on(names="rectools", rank="rank", convention="rectools", collection_size=30)
    two = recs.to_pandas(), interactions.to_pandas()
    for name in ("Precision", "Recall", "HitRate", "MRR", "MAP", "NDCG", "F1Beta", "PartialAUC", "PAP"):
        for k in (1, 3, 10):
            theirs = getattr(metrics, name)(k).calc(*two)
            assert ranker.mean(f"{name}@{k}").item() == pytest.approx(theirs), (name, k)
    assert ranker.mean("MCC@3").item() == pytest.approx(metrics.MCC(3).calc(*two, range(30)))


def test_ir_measures_its_own_objects() -> None:
    ir_measures = pytest.importorskip("ir_measures")
    run, qrels = {"q": {"a": 3.0, "b": 2.0, "c": 1.0}}, {"q": {"b": 1, "c": 2, "d": 1}}
    measures = [ir_measures.nDCG @ 10, ir_measures.AP, ir_measures.IPrec @ 0.2, ir_measures.P(rel=2) @ 2]
    theirs = ir_measures.calc_aggregate(measures, qrels, run)
    ours = rf.evaluate(run, qrels, measures).row(0)[1:]
    assert ours == pytest.approx([theirs[measure] for measure in measures])
