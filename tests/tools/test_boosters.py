"""The hooks of boosters in trainings of the boosters themselves: values are those of the long table, and stop the training.

Needs `pip install -r tests/tools/requirements-light.txt` and `pytest -m tools tests/tools`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

import rankframe as rf

pytestmark = [pytest.mark.tools, pytest.mark.filterwarnings("ignore")]

FEATURES = ["x0", "x1", "x2", "x3"]
POLICIES: list[dict[str, Any]] = [
    {},
    {"relevant": 2},
    {"no_relevant": "null"},
    {"ties": "worst"},
    {"ties": "expected", "no_relevant": "one"},
]


def table(seed: int, queries: int = 60) -> pl.DataFrame:
    """Queries of 1 to 20 documents, some without a relevant one, and features of few values, so that scores tie."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 21, queries)
    n = int(sizes.sum())
    df = pl.DataFrame(
        {
            "query_id": np.repeat(rng.permutation(queries), sizes),
            "doc_id": [f"d{i}" for i in rng.permutation(n)],
            **{name: np.round(rng.normal(size=n), 1) for name in FEATURES},
            "noise": rng.normal(size=n),
        }
    )
    worth = pl.col("x0") + pl.col("x1") * pl.col("x2") + pl.col("noise")
    return df.with_columns(label=worth.floor().clip(0, 3).cast(pl.Int64)).drop("noise")


def sizes(df: pl.DataFrame) -> np.ndarray[Any, Any]:
    return df.group_by("query_id", maintain_order=True).len()["len"].to_numpy()


TRAIN, VALID = table(1, 120), table(2)
GAINFUL = VALID.filter(pl.col("label").max().over("query_id") > 0)  # LightGBM and XGBoost weigh the other queries 1
MISSED = pl.DataFrame(
    {"query_id": VALID["query_id"].unique().head(9), "doc_id": [f"m{i}" for i in range(9)], "label": [3] * 9}
)


def long_table(scores: Any, policies: dict[str, Any], *metrics: str, of: pl.DataFrame = VALID) -> dict[str, float]:
    """The means by `df.rank`, on the rows in their order, without ids where a tool has none."""
    df = of.drop("doc_id").with_columns(score=pl.Series(np.asarray(scores, dtype=float)))
    means = df.rank.on(**policies).summarize(*metrics, ci=None)
    return dict(means.select("metric", "mean").iter_rows())


def booster(feval: Any, rounds: int = 25, **options: Any) -> Any:
    import lightgbm as lgb

    data = lgb.Dataset(TRAIN[FEATURES].to_numpy(), TRAIN["label"].to_numpy(), group=sizes(TRAIN))
    valid = lgb.Dataset(
        VALID[FEATURES].to_numpy(), VALID["label"].to_numpy(), group=sizes(VALID), reference=data, **options
    )
    found: dict[str, Any] = {}
    params = {"objective": "lambdarank", "metric": "None", "num_leaves": 7, "verbose": -1, "num_threads": 1, "seed": 1}
    callbacks = [lgb.record_evaluation(found), *([] if rounds == 25 else [lgb.early_stopping(10, verbose=False)])]
    return lgb.train(params, data, rounds, [valid, data], feval=feval, callbacks=callbacks), found


@pytest.mark.parametrize("policies", POLICIES, ids=str)
def test_lightgbm_logs_the_means_of_the_long_table_in_every_iteration(policies: dict[str, Any]) -> None:
    model, found = booster(rf.lightgbm_metric("ndcg@10", "map", "ndcg(gain=exponential)@5", **policies))
    assert sorted(found) == ["training", "valid_0"]
    for name, df in (("valid_0", VALID), ("training", TRAIN)):
        assert list(found[name]) == ["ndcg@10_rankframe", "map_rankframe", "ndcg(gain=exponential)@5_rankframe"]
        for iteration in (1, 2, 13, 25):
            scores = model.predict(df[FEATURES].to_numpy(), num_iteration=iteration)
            texts = [metric.removesuffix("_rankframe") for metric in found[name]]
            for metric, value in long_table(scores, policies, *texts, of=df).items():
                assert found[name][f"{metric}_rankframe"][iteration - 1] == pytest.approx(value, abs=1e-12)


def test_under_its_convention_lightgbm_logs_the_same_as_its_own_metrics_also_with_weights() -> None:
    import lightgbm as lgb

    of_queries = (
        np.random.default_rng(3).integers(1, 9, len(sizes(GAINFUL))) / 4
    )  # exact as floats, as which it keeps them
    weights = np.repeat(of_queries, sizes(GAINFUL))
    data = lgb.Dataset(TRAIN[FEATURES].to_numpy(), TRAIN["label"].to_numpy(), group=sizes(TRAIN))
    for df, of_rows in ((VALID, None), (GAINFUL, weights)):
        valid = lgb.Dataset(df[FEATURES].to_numpy(), df["label"].to_numpy(), data, of_rows, sizes(df))
        found: dict[str, Any] = {}
        params = {"objective": "lambdarank", "metric": ["ndcg"], "eval_at": [3, 10], "verbose": -1, "num_threads": 1}
        hook = rf.lightgbm_metric("ndcg@3", "ndcg@10", convention="lightgbm")
        lgb.train(params, data, 12, [valid], feval=hook, callbacks=[lgb.record_evaluation(found)])
        assert found["valid_0"]["ndcg@3"] != found["valid_0"]["ndcg@10"]
        for k in (3, 10):
            assert found["valid_0"][f"ndcg@{k}_rankframe"] == pytest.approx(found["valid_0"][f"ndcg@{k}"], abs=1e-12)


def test_lightgbm_stops_at_the_iteration_that_is_best_by_the_first_metric_whichever_way_is_better() -> None:
    for metric, best in (("ndcg@10", np.argmax), ("average_relevance_position", np.argmin)):
        model, found = booster(rf.lightgbm_metric(metric), rounds=400)
        values = found["valid_0"][f"{metric}_rankframe"]
        assert len(values) < 400
        assert model.best_iteration == best(values) + 1 == len(values) - 10


def test_lightgbms_own_ndcg_and_ours_are_logged_apart_and_stop_the_training_together() -> None:
    import lightgbm as lgb

    data = lgb.Dataset(TRAIN[FEATURES].to_numpy(), TRAIN["label"].to_numpy(), group=sizes(TRAIN))
    valid = lgb.Dataset(VALID[FEATURES].to_numpy(), VALID["label"].to_numpy(), group=sizes(VALID), reference=data)
    params = {"objective": "lambdarank", "metric": "ndcg", "eval_at": [5], "verbose": -1, "num_threads": 1, "seed": 1}
    hook, found = rf.lightgbm_metric("ndcg@5"), dict[str, Any]()
    lgb.train(params, data, 30, [valid, data], feval=hook, callbacks=[lgb.record_evaluation(found)])
    for name in ("valid_0", "training"):
        assert {metric: len(values) for metric, values in found[name].items()} == {"ndcg@5": 30, "ndcg@5_rankframe": 30}
        assert found[name]["ndcg@5"] != found[name]["ndcg@5_rankframe"]
    for first_metric_only in (False, True):
        stop = lgb.early_stopping(5, first_metric_only, verbose=False)
        model = lgb.train(params, data, 400, [valid, data], feval=hook, callbacks=[stop, lgb.record_evaluation(found)])
        best = [int(np.argmax(values)) + 1 for values in found["valid_0"].values()]
        assert model.best_iteration in (best[:1] if first_metric_only else best)


def test_lightgbm_counts_what_a_table_adds_and_orders_ties_by_its_ids() -> None:
    rows = pl.concat([VALID, MISSED], how="diagonal")
    hook = rf.lightgbm_metric("ndcg@10", "recall@5", table=rows.to_pandas())

    def of_valid(predictions: Any, data: Any) -> Any:
        return hook(predictions, data) if len(predictions) == len(VALID) else []

    model, found = booster(of_valid)
    for iteration in (1, 25):  # the first one has many ties
        scores = pl.Series(model.predict(VALID[FEATURES].to_numpy(), num_iteration=iteration))
        wanted = rows.with_columns(score=scores.extend_constant(None, len(MISSED))).rank.summarize(
            "ndcg@10", "recall@5", ci=None
        )
        for metric, value in wanted.select("metric", "mean").iter_rows():
            assert found["valid_0"][f"{metric}_rankframe"][iteration - 1] == pytest.approx(value, abs=1e-12)
    with pytest.raises(rf.InvalidData, match=r"there are \d+ predictions, and `table` has \d+ rows"):
        booster(hook)  # of the training rows, too


def test_the_estimator_of_lightgbm_takes_the_same_hook_and_cross_validation_too() -> None:
    import lightgbm as lgb

    hook = rf.lightgbm_metric("ndcg@10", "rr")
    ranker = lgb.LGBMRanker(n_estimators=15, num_leaves=7, verbose=-1, n_jobs=1)
    ranker.fit(
        TRAIN[FEATURES].to_numpy(), TRAIN["label"].to_numpy(), group=sizes(TRAIN), eval_metric=hook,
        eval_set=[(VALID[FEATURES].to_numpy(), VALID["label"].to_numpy())], eval_group=[sizes(VALID)],
    )  # fmt: skip
    wanted = long_table(ranker.predict(VALID[FEATURES].to_numpy()), {}, "ndcg@10", "rr")
    last = {name: values[-1] for name, values in ranker.evals_result_["valid_0"].items()}
    assert {name: last[f"{name}_rankframe"] for name in wanted} == pytest.approx(wanted, abs=1e-12)
    data = lgb.Dataset(TRAIN[FEATURES].to_numpy(), TRAIN["label"].to_numpy(), group=sizes(TRAIN))
    params = {"objective": "lambdarank", "metric": "None", "verbose": -1, "num_threads": 1}
    assert len(lgb.cv(params, data, 4, nfold=3, feval=hook, stratified=False)["valid rr_rankframe-mean"]) == 4
    without = lgb.LGBMRegressor(n_estimators=2, verbose=-1)
    with pytest.raises(rf.InvalidData, match="have no groups"):
        without.fit(
            TRAIN[FEATURES].to_numpy(),
            TRAIN["label"].to_numpy(),
            eval_metric=hook,
            eval_set=[(VALID[FEATURES].to_numpy(), VALID["label"].to_numpy())],
        )


def matrices(valid: pl.DataFrame = VALID, **options: Any) -> Any:
    import xgboost as xgb

    return [
        xgb.DMatrix(df[FEATURES].to_numpy(), df["label"].to_numpy(), group=sizes(df), **more)
        for df, more in ((TRAIN, {}), (valid, options))
    ]


XGBOOST = {"objective": "rank:ndcg", "disable_default_eval_metric": 1, "max_depth": 3, "nthread": 1, "verbosity": 0}


@pytest.mark.parametrize("policies", POLICIES, ids=str)
def test_xgboost_logs_the_means_of_the_long_table(policies: dict[str, Any]) -> None:
    import xgboost as xgb

    train, valid = matrices()
    hook = rf.xgboost_metric("ndcg@10", "map", "ndcg(gain={1:1,2:5,3:9})@5", **policies)
    given: list[Any] = []

    def noted(predictions: Any, data: Any) -> Any:
        given.append((predictions.copy(), hook(predictions, data)))
        return given[-1][1]

    found: dict[str, Any] = {}
    xgb.train(XGBOOST, train, 5, [(valid, "valid")], custom_metric=noted, evals_result=found, verbose_eval=False)
    assert list(found["valid"]) == ["ndcg@10_rankframe", "map_rankframe", "ndcg(gain={1=1,2=5,3=9})@5_rankframe"]
    assert len(given) == 5
    for iteration, (scores, values) in enumerate(given):
        wanted = long_table(scores, policies, "ndcg@10", "map", "ndcg(gain={1:1,2:5,3:9})@5")
        assert [value for _, value in values] == pytest.approx(list(wanted.values()), abs=1e-12)
        assert [x[iteration] for x in found["valid"].values()] == pytest.approx(
            list(wanted.values()), abs=6e-7
        )  # it rounds


def test_under_its_convention_xgboost_logs_the_same_as_its_own_metrics_also_with_weights() -> None:
    import xgboost as xgb

    weights = np.random.default_rng(3).random(len(sizes(GAINFUL)))
    for train, valid in (matrices(), matrices(GAINFUL, weight=weights)):
        hook = rf.xgboost_metric("ndcg@3", "ndcg@10", convention="xgboost")
        found: dict[str, Any] = {}
        params = {"objective": "rank:ndcg", "eval_metric": ["ndcg@3", "ndcg@10"], "nthread": 1, "verbosity": 0}
        xgb.train(
            params, train, 6, evals=[(valid, "valid")], evals_result=found, verbose_eval=False, custom_metric=hook
        )
        for k in (3, 10):
            assert found["valid"][f"ndcg@{k}_rankframe"] == pytest.approx(found["valid"][f"ndcg@{k}"], abs=6e-7)


def test_xgboost_stops_at_the_best_iteration_once_it_is_told_that_higher_is_better() -> None:
    import xgboost as xgb

    train, valid = matrices()
    found: dict[str, Any] = {}
    stop = xgb.callback.EarlyStopping(rounds=10, metric_name="rr_rankframe", data_name="valid", maximize=True)
    model = xgb.train(XGBOOST, train, 400, [(train, "train"), (valid, "valid")], custom_metric=rf.xgboost_metric("ndcg@10", "rr"),
                      evals_result=found, verbose_eval=False, callbacks=[stop])  # fmt: skip
    values = found["valid"]["rr_rankframe"]
    assert len(values) < 400
    assert model.best_iteration == np.argmax(values) == len(values) - 11


def test_xgboosts_own_ndcg_and_ours_are_logged_apart_and_ours_is_maximized_unasked() -> None:
    import xgboost as xgb

    train, valid = matrices()
    params = {"objective": "rank:ndcg", "eval_metric": "ndcg@5", "max_depth": 3, "nthread": 1, "verbosity": 0}
    found: dict[str, Any] = {}
    model = xgb.train(params, train, 400, evals=[(valid, "valid")], custom_metric=rf.xgboost_metric("ndcg@5"),
                      evals_result=found, verbose_eval=False, early_stopping_rounds=10)  # fmt: skip
    assert list(found["valid"]) == ["ndcg@5", "ndcg@5_rankframe"]
    own, ours = found["valid"].values()
    assert len(own) == len(ours) < 400
    assert own != ours
    assert model.best_iteration == np.argmax(ours) == len(ours) - 11


def test_the_ranker_of_xgboost_which_asks_query_by_query_is_refused() -> None:
    import xgboost as xgb

    with pytest.raises(rf.InvalidData, match=r"xgboost\.train"):
        xgb.XGBRanker(n_estimators=2, eval_metric=rf.xgboost_metric("ndcg@10")).fit(
            TRAIN[FEATURES].to_numpy(), TRAIN["label"].to_numpy(), group=sizes(TRAIN),
            eval_set=[(VALID[FEATURES].to_numpy(), VALID["label"].to_numpy())], eval_group=[sizes(VALID)],
        )  # fmt: skip
    bare = xgb.DMatrix(TRAIN[FEATURES].to_numpy(), TRAIN["label"].to_numpy())
    with pytest.raises(rf.InvalidData, match="have no groups"):
        xgb.train({"verbosity": 0}, bare, 1, [(bare, "train")], custom_metric=rf.xgboost_metric("ndcg@10"))


def pools() -> Any:
    import catboost

    return [
        catboost.Pool(df[FEATURES].to_numpy(), df["label"].to_numpy(), group_id=df["query_id"].to_numpy())
        for df in (TRAIN, VALID)
    ]


def ranker(hook: Any, iterations: int, **options: Any) -> Any:
    import catboost

    return catboost.CatBoostRanker(
        loss_function="YetiRank", eval_metric=hook, iterations=iterations, verbose=0, thread_count=1,
        allow_writing_files=False, random_seed=1, depth=3, **options,
    )  # fmt: skip


@pytest.mark.parametrize("policies", POLICIES, ids=str)
def test_catboost_has_the_means_of_the_long_table_in_every_iteration(policies: dict[str, Any]) -> None:
    train, valid = pools()
    hook = rf.catboost_callback("ndcg@10", "map", pool=valid, **policies)
    model = ranker(hook, 12, use_best_model=False).fit(train, eval_set=valid, callbacks=[hook])
    assert [len(values) for values in hook.history.values()] == [12, 12]
    for iteration in (1, 2, 12):
        wanted = long_table(model.predict(valid, ntree_end=iteration), policies, "ndcg@10", "map")
        assert {name: x[iteration - 1] for name, x in hook.history.items()} == pytest.approx(wanted, abs=1e-12)
    own = next(x for name, x in model.evals_result_["validation"].items() if "NDCG" not in name)
    assert own == hook.history["ndcg@10"]


def test_under_its_convention_the_callback_of_catboost_has_catboosts_own_ndcg() -> None:
    train, valid = pools()
    hook = rf.catboost_callback("ndcg@5", pool=valid, convention="catboost")
    model = ranker(hook, 8, custom_metric=["NDCG:top=5"]).fit(train, eval_set=valid, callbacks=[hook])
    own = next(x for name, x in model.evals_result_["validation"].items() if "top=5" in name)
    assert hook.history["ndcg@5"] == pytest.approx(own, abs=1e-7)  # CatBoost's labels are floats


def test_the_callback_stops_catboost_which_keeps_the_best_trees() -> None:
    train, valid = pools()
    for metric, best in (("rr", np.argmax), ("average_relevance_position", np.argmin)):
        hook = rf.catboost_callback(metric, pool=valid, patience=7)
        model = ranker(hook, 400).fit(train, eval_set=valid, callbacks=[hook])
        values = hook.history[metric]
        assert hook.best_iteration == best(values) == len(values) - 8 == model.best_iteration_ == model.tree_count_ - 1
        assert len(values) < 400
        first = list(values)
        ranker(hook, 400).fit(train, eval_set=valid, callbacks=[hook])  # the same callback, anew
        assert hook.history[metric] == first


def test_catboost_shows_a_callback_alone_no_predictions_which_it_says() -> None:
    import catboost

    train, valid = pools()
    hook = rf.catboost_callback("ndcg@10", pool=valid)
    with pytest.raises(catboost.CatBoostError, match=r"CatBoostRanker\(eval_metric=callback\)"):
        ranker(None, 5).fit(train, eval_set=valid, callbacks=[hook])
    with pytest.raises(catboost.CatBoostError, match=r"eval_set=pool"):
        ranker(hook, 5).fit(train, eval_set=train, callbacks=[hook])
    with pytest.raises(rf.InvalidData, match="have no groups"):
        rf.catboost_callback("ndcg@10", pool=catboost.Pool([[1.0], [2.0]], [0, 1]))
