"""The values that tools for recommenders print beside accuracy: functions of a table by tool and metric, which import the tool.

A table is a :class:`Table`. Each function gives the one number that the tool prints.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
import pandas as pd


class Table(NamedTuple):
    """Recommendations and past interactions.

    Attributes
    ----------
    recs
        Rows of user, item, rank from 1, score and label, best first.
    train
        Pairs of user and item, each once.
    features
        A row of numbers per item of the catalog, by item.
    k
        The cutoff, at least the length of the longest list.
    """

    recs: pd.DataFrame
    train: pd.DataFrame
    features: pd.DataFrame
    k: int

    @property
    def lists(self) -> list[list[int]]:
        """The items of each user."""
        found: list[list[int]] = self.recs.groupby("user")["item"].agg(list).tolist()
        return found


def rectools(metric: str, table: Table) -> float:
    from rectools import metrics

    recs = table.recs.rename(columns={"user": "user_id", "item": "item_id"})
    train = table.train.rename(columns={"user": "user_id", "item": "item_id"})
    relevant, catalog, k = recs[recs["label"] > 0][["user_id", "item_id"]], list(table.features.index), table.k
    if metric in ("coverage", "aggregate_diversity"):
        return metrics.CatalogCoverage(k=k).calc(recs, catalog)
    if metric == "user_coverage":
        return metrics.CoveredUsers(k=k).calc(recs, recs[["user_id", "item_id"]])
    if metric == "mean_popularity":
        return metrics.AvgRecPopularity(k=k).calc(recs, train)
    if metric == "novelty":
        return metrics.MeanInvUserFreq(k=k).calc(recs, train)
    if metric == "serendipity":
        return metrics.Serendipity(k=k).calc(recs, relevant, train, catalog)
    distance = metrics.PairwiseHammingDistanceCalculator(table.features)
    return metrics.IntraListDiversity(k=k, distance_calculator=distance).calc(recs)


def replay(metric: str, table: Table) -> float:
    from replay import metrics

    recs = table.recs.rename(columns={"user": "query_id", "item": "item_id", "score": "rating"})
    recs = recs[["query_id", "item_id", "rating"]]
    train = table.train.rename(columns={"user": "query_id", "item": "item_id"})
    if metric == "category_diversity":
        named = recs.assign(category_id=recs["item_id"].map(table.features["x"]))
        named = named[["query_id", "category_id", "rating"]]
        (found,) = metrics.CategoricalDiversity(table.k)(named).values()
        return found
    names = {"coverage": "Coverage", "novelty": "Novelty", "unseen": "Novelty", "surprisal": "Surprisal"}
    if metric == "unexpectedness":
        base = recs.assign(rating=-recs["rating"] * (1 + recs["item_id"] % 3))
        (found,) = metrics.Unexpectedness(table.k)(recs, base).values()
        return found
    (found,) = getattr(metrics, names[metric])(table.k)(recs, train).values()
    return found


def recbole(metric: str, table: Table) -> float:
    np.float = float  # type: ignore[attr-defined] # its name for float, which NumPy dropped in 1.24
    import torch
    from recbole.evaluator import metrics

    names = {
        "coverage": "ItemCoverage", "gini": "GiniIndex", "entropy": "ShannonEntropy",
        "mean_popularity": "AveragePopularity", "tail_share": "TailPercentage",
    }  # fmt: skip
    given = {
        "rec.items": torch.tensor(table.lists),
        "data.num_items": len(table.features),
        "data.count_items": table.train["item"].value_counts().to_dict(),
    }
    of = getattr(metrics, names[metric])({"topk": [table.k], "metric_decimal_place": 12, "tail_ratio": 0.1})
    (found,) = of.calculate_metric(given).values()
    return float(found)


def microsoft_recommenders(metric: str, table: Table) -> float:
    from recommenders.evaluation import python_evaluation as theirs

    names = {
        "coverage": theirs.catalog_coverage, "entropy": theirs.distributional_coverage, "novelty": theirs.novelty,
        "serendipity": theirs.serendipity,
    }  # fmt: skip
    recs = table.recs.rename(columns={"user": "userID", "item": "itemID"})[["userID", "itemID"]]
    return float(names[metric](table.train.rename(columns={"user": "userID", "item": "itemID"}), recs))


def recmetrics(metric: str, table: Table) -> float:
    from recmetrics import metrics

    lists = table.lists
    if metric == "coverage":
        return metrics.prediction_coverage(lists, list(table.features.index))
    if metric == "personalization":
        return metrics.personalization(lists)
    if metric == "ild":
        return float(metrics.intra_list_similarity(lists, table.features))
    popularity = table.train["item"].value_counts().to_dict()
    return float(metrics.novelty(lists, popularity, table.train["user"].nunique(), table.k)[0])


def evidently(metric: str, table: Table) -> float:
    from evidently.legacy import metrics as recsys
    from evidently.legacy.base_metric import ColumnMapping
    from evidently.legacy.report import Report

    mapping = ColumnMapping(
        recommendations_type="rank", target="label", prediction="rank", item_id="item", user_id="user"
    )
    items = table.features.rename_axis("item").reset_index()
    options: dict[str, Any] = {"k": table.k}
    if metric in ("ild", "serendipity"):
        options["item_features"] = list(table.features.columns)
    of = {
        "novelty": recsys.NoveltyMetric, "personalization": recsys.PersonalizationMetric,
        "ild": recsys.DiversityMetric, "serendipity": recsys.SerendipityMetric,
        "mean_popularity": recsys.PopularityBias, "coverage": recsys.PopularityBias, "gini": recsys.PopularityBias,
    }[metric]  # fmt: skip
    report = Report([of(**options)])
    beside = {"current_train_data": table.train.merge(items, on="item").assign(rank=1.0, label=1)}
    current = table.recs.drop(columns="score").merge(items, on="item")
    report.run(reference_data=None, current_data=current, column_mapping=mapping, additional_data=beside)
    result = report._first_level_metrics[0].get_result()
    name = {"mean_popularity": "current_apr", "coverage": "current_coverage", "gini": "current_gini"}
    return float(getattr(result, name.get(metric, "current_value")))


def lenskit(metric: str, table: Table) -> float:
    from lenskit.data import ItemList, from_interactions_df
    from lenskit.metrics import ranking, reranking

    if metric == "least_item_promoted":
        each = []
        for _, rows in table.recs.groupby("user"):
            by = (rows["score"] * (1 + rows["item"] % 3)).sort_values(kind="stable").index
            other = rows.loc[by]
            base, ours = (ItemList(item_ids=x["item"].tolist(), ordered=True) for x in (other, rows))
            each.append(reranking.least_item_promoted(base, ours, n=table.k))
        return float(np.mean(each))
    lists = [ItemList(item_ids=items, ordered=True) for items in table.lists]
    if metric == "popularity_percentile":
        train = table.train.rename(columns={"user": "user_id", "item": "item_id"})
        of = ranking.MeanPopRank(from_interactions_df(train))
        return float(np.mean([of.measure_list(items, ItemList()) for items in lists]))
    name = {"gini": ranking.ListGini, "exposure_gini": ranking.ExposureGini}[metric]
    of = name(items=len(table.features))
    return float(of.global_aggregate([of.compute_list_data(items, None) for items in lists]))


TOOLS: Mapping[str, Callable[[str, Table], float]] = {
    of.__name__: of for of in (rectools, replay, recbole, microsoft_recommenders, recmetrics, evidently, lenskit)
}
