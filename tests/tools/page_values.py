"""The values that products return for the two queries of docs/migrating.md, by the code that the page shows."""

from __future__ import annotations

import asyncio
import warnings
from collections.abc import Callable
from statistics import fmean
from types import ModuleType
from typing import Any

import pandas as pd

from tests.tools.lists import Lists, lists

Rows = dict[str, list[Any]]


class Names(dict[str, Any]):
    """A module's names for `eval`, those among them that are imported when they are asked for."""

    def __init__(self, module: ModuleType) -> None:
        super().__init__()
        self.module = module

    def __missing__(self, name: str) -> Any:
        try:
            return getattr(self.module, name)
        except AttributeError:
            raise KeyError(name) from None


def made(code: str, module: ModuleType) -> Any:
    """The results of the page's code with a module's names; some products warn of coming changes."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return eval(code, {}, Names(module))


def mlflow(code: str, table: Rows) -> float:
    from mlflow import metrics

    found = _lists(table)
    retrieved, relevant = pd.Series([x.retrieved for x in found]), pd.Series([x.relevant for x in found])
    return fmean(made(code, metrics).eval_fn(retrieved, relevant).scores)


def llamaindex(code: str, table: Rows) -> float:
    from llama_index.core.evaluation.retrieval import metrics

    metric = made(code, metrics)
    return fmean(metric.compute(expected_ids=x.relevant, retrieved_ids=x.retrieved).score for x in _lists(table))


def haystack(code: str, table: Rows) -> float:
    from haystack import Document
    from haystack.components import evaluators

    retrieved = [[Document(content=doc) for doc in x.retrieved] for x in _lists(table)]
    wanted = [[Document(content=doc, score=label) for doc, _, label in rows if label] for rows in table.values()]
    metric = made(code, evaluators)
    return float(metric.run(ground_truth_documents=wanted, retrieved_documents=retrieved)["score"])


def ragas(code: str, table: Rows) -> float:
    from ragas import metrics
    from ragas.dataset_schema import SingleTurnSample

    kind = "context_ids" if code.startswith("ID") else "contexts"
    samples = [
        SingleTurnSample(**{f"retrieved_{kind}": x.retrieved, f"reference_{kind}": x.relevant}) for x in _lists(table)
    ]
    return fmean(asyncio.run(made(code, metrics).single_turn_ascore(sample)) for sample in samples)


def replay(code: str, table: Rows) -> float:
    from replay import metrics

    found, wanted = _frames(table, "query_id", "item_id", "rating")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        (value,) = made(code, metrics)(found, wanted).values()
    return float(value)


def rectools(code: str, table: Rows) -> float:
    from rectools import metrics

    found, wanted = _frames(table, "user_id", "item_id", "score")
    found["rank"] = found.groupby("user_id")["score"].rank(ascending=False).astype(int)
    return float(made(code, metrics).calc(found, wanted))


def recbole(code: str, table: Rows) -> float:
    import torch

    from tests.tools.recbole_values import NAMES

    metrics = {metric.__name__.lower(): metric for metric in NAMES.values()}
    name, _, k = code.partition("@")
    rows = [
        [
            *[int(doc in x.relevant) for doc in x.retrieved[: int(k)]],
            *[0] * (int(k) - len(x.retrieved)),
            len(x.relevant),
        ]
        for x in _lists(table)
    ]
    metric = metrics[name]({"topk": [int(k)], "metric_decimal_place": 4})
    return float(metric.calculate_metric({"rec.topk": torch.tensor(rows)})[code])


def recommenders(code: str, table: Rows) -> float:
    from recommenders.evaluation import python_evaluation

    found, wanted = _frames(table, "userID", "itemID", "prediction")
    labels = {(query, doc): label for query, rows in table.items() for doc, _, label in rows}
    wanted["rating"] = [float(labels[pair]) for pair in zip(wanted["userID"], wanted["itemID"], strict=True)]
    return float(eval(code, vars(python_evaluation), {"rating_true": wanted, "rating_pred": found}))


def lenskit(code: str, table: Rows) -> float:
    from lenskit.data import ItemList
    from lenskit.metrics import ranking

    metric = made(code, ranking)
    return fmean(
        metric.measure_list(ItemList(item_ids=x.retrieved, ordered=True), ItemList(item_ids=x.relevant))
        for x in _lists(table)
    )


def recpack(code: str, table: Rows) -> float:
    from recpack import metrics
    from scipy.sparse import csr_matrix

    docs = sorted({doc for rows in table.values() for doc, *_ in rows})
    scores = [[-x.retrieved.index(doc) + len(docs) if doc in x.retrieved else 0 for doc in docs] for x in _lists(table)]
    wanted = [[float(doc in x.relevant) for doc in docs] for x in _lists(table)]
    metric = made(code, metrics)
    metric.calculate(csr_matrix(wanted), csr_matrix(scores))
    return float(metric.value)


PRODUCTS: dict[str, Callable[[str, Rows], float]] = {
    "MLflow": mlflow,
    "LlamaIndex": llamaindex,
    "Haystack": haystack,
    "Ragas": ragas,
    "RePlay": replay,
    "RecTools": rectools,
    "RecBole": recbole,
    "Microsoft Recommenders": recommenders,
    "LensKit": lenskit,
    "RecPack": recpack,
}


def _lists(table: Rows) -> list[Lists]:
    return [lists(rows) for rows in table.values()]


def _frames(table: Rows, query: str, doc: str, score: str) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The documents that were retrieved, and those that are relevant."""
    found = [(q, doc, score) for q, rows in table.items() for doc, score, _ in rows if score is not None]
    wanted = [(q, doc) for q, rows in table.items() for doc in lists(rows).relevant]
    return pd.DataFrame(found, columns=[query, doc, score]), pd.DataFrame(wanted, columns=[query, doc])
