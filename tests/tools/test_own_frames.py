"""The frames of ranx, RePlay, RecTools, RecBole, Evidently, MLflow and boosters, read by their own names: their numbers."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
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


def test_recbole_its_own_interactions_and_a_frame_of_its_best_items(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    pytest.importorskip("recbole")
    np.float = float  # type: ignore[attr-defined] # its name for float, which NumPy dropped in 1.24
    from recbole.config import Config
    from recbole.data import create_dataset
    from recbole.evaluator import metrics

    rng = random.Random(4)
    rows = [f"u{u}\ti{i}\t{rng.choice([0.5, 1, 3])}\n" for u in range(12) for i in rng.sample(range(30), 9)]
    (tmp_path / "small").mkdir()
    header = "user_id:token\titem_id:token\trating:float\n"
    (tmp_path / "small" / "small.inter").write_text(header + "".join(rows))
    settings = {
        "data_path": str(tmp_path), "load_col": {"inter": ["user_id", "item_id", "rating"]}, "state": "ERROR",
        "eval_args": {"split": {"RS": [0.6, 0.1, 0.3]}, "group_by": "user", "order": "RO", "mode": "full"},
    }  # fmt: skip
    *_, test = create_dataset(Config(model="Pop", dataset="small", config_dict=settings)).build()
    interactions = pd.DataFrame(test.inter_feat.numpy())
    of_users = {user: {*rows["item_id"]} for user, rows in interactions.groupby("user_id")}
    best = {user: rng.sample(range(1, test.item_num), 10) for user in of_users}
    recommended = pd.DataFrame([(u, i, -float(n)) for u, items in best.items() for n, i in enumerate(items)])
    recommended.columns = pd.Index(["user_id", "item_id", "score"])
    hits = [[*(int(i in of_users[u]) for i in items), len(of_users[u])] for u, items in best.items()]
    judged = recommended.rank.on(names="recbole").judge(interactions)
    ranker = judged.rank.on(names="recbole", convention="recbole")
    collected = {"rec.topk": torch.tensor(hits)}
    for name, text in {"Recall": "recall", "MRR": "rr", "NDCG": "ndcg", "Hit": "hit_rate", "MAP": "map"}.items():
        metric = getattr(metrics, name)({"topk": [3, 10], "metric_decimal_place": 8})
        theirs = [*metric.calculate_metric(collected).values()]
        assert ranker.mean(f"{text}@3", f"{text}@10").iloc[0].to_list() == pytest.approx(theirs, abs=1e-7), name


@pytest.mark.parametrize("kind", ["score", "rank"])
def test_evidently_its_own_frame_of_users_items_predictions_and_targets(kind: str) -> None:
    evidently = pytest.importorskip("evidently")
    from evidently import metrics

    recommended, _ = draws(5)
    rng = random.Random(5)
    frame = pd.DataFrame(recommended, columns=["user_id", "item_id", "prediction"])
    frame["target"] = [rng.choice([0.0, 1.0, 3.0]) for _ in range(len(frame))]
    if kind == "score":
        frame["prediction"] = 1 / frame["prediction"]
    definition = evidently.DataDefinition(ranking=[evidently.Recsys(recommendations_type=kind)])
    own = evidently.Dataset.from_pandas(frame, definition)
    ranks = {"rank": "prediction"} if kind == "rank" else {}
    ranker = own.as_dataframe().rank.on(names="evidently", convention="evidently", **ranks)
    kinds = {
        "precision": metrics.PrecisionTopK, "recall": metrics.RecallTopK, "hit_rate": metrics.HitRate, "rr": metrics.MRR,
        "ndcg": metrics.NDCG,
    }  # fmt: skip
    for text, metric in kinds.items():
        (found,) = evidently.Report([metric(k=8)]).run(own, None).dict()["metrics"]
        theirs = [*found["value"]["value"].values()]  # by cutoff
        cutoffs = range(1, len(theirs) + 1)
        assert ranker.mean(*(f"{text}@{k}" for k in cutoffs)).iloc[0].to_list() == pytest.approx(theirs), text


def test_mlflow_its_own_table_of_results_and_its_chunks_with_their_documents(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mlflow = pytest.importorskip("mlflow")
    monkeypatch.chdir(tmp_path)
    mlflow.set_tracking_uri(f"sqlite:///{tmp_path / 'mlflow.db'}")
    lists = {"a": (["d1", "d2", "d3"], ["d2", "d8"]), "b": (["d4", "d1", "d9"], ["d4"])}
    data = pd.DataFrame(
        [(question, *two) for question, two in lists.items()], columns=["question", "retrieved", "relevant"]
    )
    asked = {"model_type": "retriever", "predictions": "retrieved", "targets": "relevant", "evaluators": "default"}
    results = mlflow.models.evaluate(data=data, **asked)
    texts = ["precision@3", "recall@3", "ndcg@3"]
    theirs = [results.metrics[f"{text.replace('@', '_at_')}/mean"] for text in texts]
    long = rf.from_lists(results.tables["eval_results_table"], query="question")
    assert long.rank.on(convention="mlflow").mean(texts).iloc[0].to_list() == pytest.approx(theirs)
    chunks = pd.DataFrame({"request_id": [*lists]})
    for i, name in enumerate(["retrieved_context", "expected_retrieved_context"]):
        chunks[name] = [[{"doc_uri": doc, "content": "..."} for doc in two[i]] for two in lists.values()]
    two = {"retrieved": "retrieved_context", "relevant": "expected_retrieved_context"}
    long = rf.from_lists(chunks, query="request_id", **two)
    long = long.rename(columns={"query_id": "request_id", "doc_id": "doc_uri"})
    ranker = long.rank.on(names="mlflow", convention="mlflow")
    assert ranker.mean(texts).iloc[0].to_list() == pytest.approx(theirs)


def test_ir_measures_its_own_objects() -> None:
    ir_measures = pytest.importorskip("ir_measures")
    run, qrels = {"q": {"a": 3.0, "b": 2.0, "c": 1.0}}, {"q": {"b": 1, "c": 2, "d": 1}}
    measures = [ir_measures.nDCG @ 10, ir_measures.AP, ir_measures.IPrec @ 0.2, ir_measures.P(rel=2) @ 2]
    theirs = ir_measures.calc_aggregate(measures, qrels, run)
    ours = rf.evaluate(run, qrels, measures).row(0)[1:]
    assert ours == pytest.approx([theirs[measure] for measure in measures])


def training_rows(query: str) -> pl.DataFrame:
    """Rows of training as boosters take them: queries one after the other, a feature, and grades."""
    rng = np.random.default_rng(0)
    label = rng.integers(0, 4, 600)
    return pl.DataFrame({query: np.repeat(np.arange(30), 20), "feature": label + rng.normal(size=600), "label": label})


def test_xgboost_its_own_frame_with_a_column_qid() -> None:
    xgboost = pytest.importorskip("xgboost")
    rows = training_rows("qid")
    ranker = xgboost.XGBRanker(n_estimators=5, eval_metric="ndcg@5", objective="rank:ndcg")
    features = rows.select("qid", "feature").to_pandas()  # it reads the queries from the column
    ranker.fit(features, rows["label"].to_numpy(), eval_set=[(features, rows["label"].to_numpy())], verbose=False)
    (theirs,) = (values[-1] for values in ranker.evals_result()["validation_0"].values())
    scored = rows.with_columns(score=pl.Series(ranker.predict(features)))
    ours = scored.rank.on(names="xgboost", convention="xgboost").mean("ndcg@5").item()
    assert ours == pytest.approx(theirs, abs=1e-6)


def test_lightgbm_its_own_file_with_a_column_of_queries(tmp_path: Path) -> None:
    lightgbm = pytest.importorskip("lightgbm")
    rows = training_rows("query").select("label", "query", "feature")
    rows.write_csv(tmp_path / "train.csv")
    columns = {"header": True, "label_column": "name:label", "group_column": "name:query", "verbosity": -1}
    data = lightgbm.Dataset(tmp_path / "train.csv", params=columns)
    options = {**columns, "objective": "lambdarank", "metric": "ndcg", "eval_at": [5], "min_data_in_leaf": 1}
    found: dict[str, Any] = {}
    booster = lightgbm.train(options, data, 5, valid_sets=[data], callbacks=[lightgbm.record_evaluation(found)])
    scored = rows.with_columns(score=pl.Series(booster.predict(rows.drop("label").to_numpy())))
    ours = scored.rank.on(names="lightgbm", convention="lightgbm").mean("ndcg@5").item()
    assert ours == pytest.approx(found["training"]["ndcg@5"][-1])


def test_catboost_its_own_pool_with_a_column_of_groups() -> None:
    catboost = pytest.importorskip("catboost")
    rows = training_rows("group_id")
    pool = catboost.Pool(
        rows.select("feature").to_numpy(), rows["label"].to_numpy(), group_id=rows["group_id"].to_numpy()
    )
    model = catboost.CatBoostRanker(iterations=5, loss_function="YetiRank", verbose=False, allow_writing_files=False)
    model.fit(pool)
    theirs = model.eval_metrics(pool, "NDCG:top=5;type=Base", ntree_start=4)["NDCG:top=5;type=Base"][-1]
    scored = rows.with_columns(score=pl.Series(model.predict(pool)))
    ours = scored.rank.on(names="catboost", convention="catboost").mean("ndcg@5").item()
    assert ours == pytest.approx(theirs)
