"""Metrics that one or two tools have, on random tables: the values that the tools print.

The tools need `pip install -r tests/tools/requirements-products.txt -r tests/tools/requirements-metrics.txt`, and --no-deps
-r requirements-products-alone.txt.
"""

from __future__ import annotations

import importlib.util
import random
import sys
import types
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import rankframe as rf

# The tools use what NumPy and pandas no longer like.
pytestmark = [pytest.mark.filterwarnings("ignore"), pytest.mark.tools]

ITEMS = [f"d{i:02}" for i in range(40)]


def table(seed: int, *, users: int = 40, every: bool = False) -> pl.DataFrame:
    """Lists of items without ties, and the items to find, at least one a user; `every` lists all items."""
    draw = random.Random(seed)
    rows: list[tuple[str, str, float | None, int]] = []
    for user in range(users):
        listed = draw.sample(ITEMS, len(ITEMS) if every else draw.randint(1, 25))
        wanted = draw.sample(ITEMS, draw.choice([1, 1, 2, 5, 9]))
        rows += [(f"u{user:02}", doc, float(len(listed) - i), int(doc in wanted)) for i, doc in enumerate(listed)]
        rows += [(f"u{user:02}", doc, None, 1) for doc in wanted if doc not in listed]
    schema = {"query_id": pl.String, "doc_id": pl.String, "score": pl.Float64, "label": pl.Int64}
    return pl.DataFrame(rows, schema=schema, orient="row")


def frames(df: pl.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The recommendations and the items to find, as RecTools names them."""
    names = {"query_id": "user_id", "doc_id": "item_id"}
    listed = df.filter(pl.col("score").is_not_null()).rename(names)
    rank = pl.col("score").rank("ordinal", descending=True).over("user_id").alias("rank")
    wanted = df.filter(label=1).rename(names).select("user_id", "item_id")
    return (pd.DataFrame(x.to_dict(as_series=False)) for x in (listed.with_columns(rank), wanted))  # type: ignore[return-value]


def assert_values(found: pl.DataFrame, wanted: Mapping[str, float]) -> None:
    values = dict(zip(found["query_id"], found.to_series(1), strict=True))
    assert len(wanted) > 5
    assert {user: values[user] for user in wanted} == pytest.approx(dict(wanted), abs=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_rectools(seed: int) -> None:
    from rectools import metrics

    df = table(seed, every=seed % 2 == 0)
    listed, wanted = frames(df)
    ranker = df.rank.on(collection_size=len(ITEMS))
    cases: list[tuple[str, Any]] = [
        *((f"partial_auc@{k}", metrics.PartialAUC(k=k)) for k in (1, 3, 10)),
        *((f"PAP@{k}", metrics.PAP(k=k)) for k in (1, 3, 10)),
    ]
    for text, metric in cases:
        assert_values(ranker.evaluate(text), metric.calc_per_user(listed, wanted).to_dict())
    counted = listed.groupby("user_id")["rank"].max()
    for k in (1, 5, 20):
        found = metrics.MCC(k=k).calc_per_user(listed, wanted, ITEMS)
        full = found[found.index.isin(counted[counted >= k].index)]  # else false positives are k less the hits there
        assert_values(ranker.evaluate(f"mcc@{k}"), full.to_dict())


@pytest.mark.parametrize("seed", range(4))
def test_recpack(seed: int) -> None:
    from recpack import metrics
    from scipy.sparse import csr_matrix

    df = table(seed)
    users, items = sorted(df["query_id"].unique()), {doc: i for i, doc in enumerate(ITEMS)}
    place = {user: i for i, user in enumerate(users)}

    def matrix(of: pl.DataFrame, column: str) -> Any:
        at = ([place[x] for x in of["query_id"]], [items[x] for x in of["doc_id"]])
        return csr_matrix((of[column].cast(pl.Float64).to_list(), at), shape=(len(users), len(items)))

    true, predicted = matrix(df.filter(label=1), "label"), matrix(df.drop_nulls("score"), "score")
    for k in (1, 3, 10):
        capped = metrics.CalibratedRecallK(k)
        capped.calculate(true, predicted)
        assert df.rank.mean(f"CalibratedRecallK@{k}").item() == pytest.approx(capped.value)
    percentile = metrics.PercentileRanking()
    percentile.calculate(true, predicted)
    found = df.rank.on(collection_size=len(ITEMS)).summarize("PercentileRanking", weights="num_rel", ci=None)
    assert 100 * found["mean"].item() == pytest.approx(percentile.value)


@pytest.mark.parametrize("seed", range(4))
def test_cornac(seed: int) -> None:
    from cornac.metrics import NCRR

    df = table(seed)
    for k in (-1, 1, 3, 10, 30):
        wanted = {
            str(user): NCRR(k).compute(
                np.array(rows.filter(label=1)["doc_id"].to_list()),
                np.array(rows.drop_nulls("score").sort("score", descending=True)["doc_id"].to_list()),
            )
            for (user,), rows in df.group_by("query_id")
        }
        assert_values(df.rank.evaluate("ncrr" if k < 0 else f"ncrr@{k}"), wanted)


def test_microsofts_recommenders() -> None:
    """The example of its tests: .21111 and .24444."""
    from recommenders.evaluation.python_evaluation import r_precision_at_k

    users = [1] * 3 + [2] * 5 + [3] * 10
    true = [1, 2, 3, 1, 4, 5, 6, 7, 2, 5, 6, 8, 9, 10, 11, 12, 13, 14]
    found = [3, 10, 12, 10, 3, 5, 11, 13, 4, 10, 7, 13, 1, 3, 5, 2, 11, 14]
    score = [14, 13, 12, 14, 13, 12, 11, 10, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5]
    run = pl.DataFrame({"query_id": users, "doc_id": found, "score": score})
    judged = run.rank.judge(pl.DataFrame({"query_id": users, "doc_id": true, "label": 1}))
    theirs = (
        pd.DataFrame({"userID": users, "itemID": true, "rating": 1.0}),
        pd.DataFrame({"userID": users, "itemID": found, "prediction": score}),
    )
    for k, printed in ((3, 0.21111), (5, 0.24444)):
        value = judged.rank.mean(f"r_precision@{k}").item()
        assert value == pytest.approx(printed, abs=5e-6)
        assert value == pytest.approx(r_precision_at_k(*theirs, k=k))


@pytest.mark.parametrize("seed", range(4))
def test_rexmex(seed: int) -> None:
    from rexmex.metrics import ranking

    df = table(seed, every=True)
    lists = {
        str(user): (
            rows.filter(label=1)["doc_id"].to_list(),
            rows.sort("score", descending=True)["doc_id"].to_list(),
        )
        for (user,), rows in df.group_by("query_id")
    }
    assert_values(df.rank.evaluate("mean_rank"), {user: float(ranking.mean_rank(*x)) for user, x in lists.items()})
    # of two rankings of the same items; theirs counts a pair that both order alike, so that 0 is agreement, too
    orders = df.with_columns(other=pl.col("score").shuffle(seed).over("query_id"))
    wanted = {
        str(user): ranking.normalized_distance_based_performance_measure(
            *(rows.sort(name, descending=True)["doc_id"].to_list() for name in ("score", "other"))
        )
        for (user,), rows in orders.group_by("query_id")
    }
    assert_values(orders.rank.agreement("other", "ndpm"), wanted)


@pytest.mark.parametrize("seed", range(4))
def test_evidently(seed: int) -> None:
    from evidently.legacy.metrics.recsys.precision_recall_k import PrecisionRecallCalculation

    df = table(seed, every=True)
    rank = pl.col("score").rank("ordinal", descending=True).over("query_id")
    given = df.select(users="query_id", target="label", preds=rank)
    of_ranks = PrecisionRecallCalculation.get_precision_and_recall_dict(
        None, pd.DataFrame(given.sort("users", "preds").to_dict(as_series=False)), 40
    )
    for k in (1, 5, 40):
        assert df.rank.mean(f"average_recall(at=relevant)@{k}").item() == pytest.approx(of_ranks["mar"][k - 1])


def mteb() -> types.ModuleType:
    """The module of MTEB with its metrics of retrieval, without the rest of it, which imports Torch."""
    found = importlib.util.find_spec("mteb")
    if found is None or found.origin is None:
        pytest.skip("MTEB is not installed")
    stub = types.ModuleType("mteb.types")
    stub.RetrievalEvaluationResult = object  # type: ignore[attr-defined]
    path = Path(found.origin).parent / "_evaluators" / "retrieval_metrics.py"
    spec = importlib.util.spec_from_file_location("mteb_metrics", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["mteb.types"] = stub
    spec.loader.exec_module(module)
    return module


def run_and_qrels(df: pl.DataFrame) -> tuple[dict[str, dict[str, float]], dict[str, dict[str, int]]]:
    def by_query(rows: pl.DataFrame, column: str) -> dict[str, Any]:
        return {
            str(query): dict(zip(part["doc_id"], part[column], strict=True))
            for (query,), part in rows.group_by("query_id", maintain_order=True)
        }

    return by_query(df.drop_nulls("score"), "score"), by_query(df.drop_nulls("label"), "label")


@pytest.mark.parametrize("seed", range(4))
def test_mteb(seed: int) -> None:
    theirs = mteb()
    df = table(seed)
    run, qrels = run_and_qrels(df)
    for k in (1, 3, 10):
        found: Mapping[str, list[float]] = theirs.recall_cap(qrels, run, [k])
        assert_values(df.rank.evaluate(f"R_cap@{k}"), dict(zip(run, found[f"R_cap_at_{k}"], strict=True)))
        some = {query: {doc: x for doc, x in judged.items() if doc > "d20"} for query, judged in qrels.items()}
        holes = theirs.hole(some, run, [k])[f"Hole_at_{k}"]
        known = sorted({doc for judged in some.values() for doc in judged})
        assert_values(df.rank.on(items=known).evaluate(f"hole@{k}"), dict(zip(run, holes, strict=True)))


@pytest.mark.parametrize("seed", range(4))
def test_mteb_on_instructions(seed: int) -> None:
    other = table(seed + 50).select("query_id", "doc_id", original="score").drop_nulls()
    both = table(seed).join(other, on=["query_id", "doc_id"], how="full", coalesce=True)
    run, _ = run_and_qrels(both)
    original, _ = run_and_qrels(both.select("query_id", "doc_id", "label", score="original"))
    changed = {str(query): rows.filter(label=1)["doc_id"].to_list() for (query,), rows in both.group_by("query_id")}
    mean = both.rank.on(base="original").mean("p_mrr").item()
    before = {f"{query}-og": scores for query, scores in original.items()}
    after = {f"{query}-changed": scores for query, scores in run.items()}
    assert mean == pytest.approx(mteb().calculate_pmrr(before, after, changed))


@pytest.mark.parametrize("seed", range(4))
def test_mteb_on_abstention(seed: int) -> None:
    df = table(seed).filter(pl.col("score").count().over("query_id") > 0)
    df = df.with_columns(
        pl.col("score") * (1 + pl.col("query_id").rank("dense") % 3)
    )  # some of the confidences are equal
    run, metric = run_and_qrels(df)[0], {str(query): value for query, value in df.rank.evaluate("ndcg@10").iter_rows()}
    theirs = mteb().evaluate_abstention(run, {"ndcg": [metric[query] for query in run]})
    top = pl.col("score").top_k(2)
    confidences = {"max": top.max(), "std": pl.col("score").std(ddof=0), "diff1": top.max() - top.min()}
    for name, confidence in confidences.items():
        predicted = rf.value(confidence.alias(name))
        found = df.rank.collection.difficulty(predicted, of="ndcg@10", resamples=99).filter(correlation="nauc")
        assert found["value"].item() == pytest.approx(theirs[f"nAUC_ndcg_{name}"])
