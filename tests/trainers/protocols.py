"""The arguments that trainers pass to a metric, by their documentation; `tests/tools` uses the trainers themselves."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


class Dataset:
    """LightGBM's evaluation set."""

    def __init__(self, labels: Any, group: Any, weight: Any = None) -> None:
        self.label, self.group, self.weight = np.asarray(labels, np.float32), group, weight

    def get_label(self) -> Array:
        return self.label

    def get_weight(self) -> Any:
        return self.weight

    def get_group(self) -> Any:
        return None if self.group is None else np.asarray(self.group, np.int32)


class DMatrix:
    """XGBoost's evaluation set, which makes new arrays at each call."""

    def __init__(self, labels: Any, group: Any, weight: Any = ()) -> None:
        self.labels, self.group, self.weight = labels, group, weight

    def get_label(self) -> Array:
        return np.array(self.labels, np.float32)

    def get_weight(self) -> Array:
        return np.array(self.weight, np.float32)

    def get_uint_info(self, field: str) -> Array:
        assert field == "group_ptr"
        return np.cumsum([0, *self.group]).astype(np.uint32) if self.group else np.array([], np.uint32)


class Pool:
    """CatBoost's evaluation set."""

    def __init__(self, labels: Any, groups: Any) -> None:
        self.labels, self.groups = labels, groups

    def get_label(self) -> list[float]:
        return list(self.labels)

    def get_group_id_hash(self) -> Any:
        return self.groups


class Model:
    """A model of sentence-transformers whose embeddings are given; the similarity is the dot product."""

    def __init__(self, embeddings: dict[str, list[float]]) -> None:
        self.embeddings = embeddings
        self.asked: list[tuple[str, list[str]]] = []

    def encode_query(
        self, texts: list[str], *, batch_size: int, show_progress_bar: bool, convert_to_tensor: bool
    ) -> Array:
        self.asked.append(("query", texts))
        return np.array([self.embeddings[text] for text in texts])

    def encode_document(
        self, texts: list[str], *, batch_size: int, show_progress_bar: bool, convert_to_tensor: bool
    ) -> Array:
        self.asked.append(("document", texts))
        return np.array([self.embeddings[text] for text in texts])

    def similarity(self, queries: Array, docs: Array) -> Array:
        return queries @ docs.T


class BaseEvaluator:
    """The base of evaluators."""

    def __init__(self) -> None:
        self.greater_is_better, self.primary_metric = True, None

    def store_metrics_in_model_card_data(self, model: Any, metrics: Any, epoch: int, step: int) -> None:
        model.model_card_data.append((metrics, epoch, step))
