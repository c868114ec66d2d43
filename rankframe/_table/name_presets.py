"""Presets of column names for `on(names=...)`: other tools' names, and names of results for SQL."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from .._support.option_kinds import words

T = TypeVar("T")

FLAT = "flat"
"""The preset that names the columns of results only."""

PRESETS: Mapping[str, Mapping[str, str]] = {
    "beir": {"query": "query-id", "doc": "corpus-id"},
    "catboost": {"query": "group_id"},
    "elliot": {"query": "userId", "doc": "itemId", "score": "prediction", "label": "rating"},
    "evidently": {"query": "user_id", "doc": "item_id", "score": "prediction", "label": "target"},
    FLAT: {},
    "ir_measures": {"query": "query_id", "doc": "doc_id", "score": "score", "label": "relevance"},
    "lenskit": {"query": "user_id", "doc": "item_id", "score": "score", "label": "rating"},
    "lightgbm": {"query": "query", "label": "label"},
    "microsoft_recommenders": {
        "query": "userID",
        "doc": "itemID",
        "score": "prediction",
        "label": "rating",
    },
    "mlflow": {"query": "request_id", "doc": "doc_uri"},
    "msmarco": {"query": "qid", "doc": "pid"},
    "pyterrier": {"query": "qid", "doc": "docno", "score": "score", "label": "label"},
    "ranx": {"query": "q_id", "doc": "doc_id", "score": "score"},
    "recbole": {"query": "user_id", "doc": "item_id", "score": "score", "label": "rating"},
    "rectools": {"query": "user_id", "doc": "item_id", "score": "score", "label": "weight"},
    "replay": {"query": "query_id", "doc": "item_id", "score": "rating", "label": "relevance"},
    "xgboost": {"query": "qid", "label": "label"},
}
"""Each tool's column names by role; other roles keep theirs."""

LABELS_NAMED_AS_SCORES = frozenset({"beir", "ranx", "replay"})
"""The tools whose judgments hold the labels in a column with the name that the scores have in the
run."""


SHORT = {"recommenders": "microsoft_recommenders"}
"""Short names of tools, which `names` and `convention` both take in place of the whole ones."""


def whole_name(tool: T) -> T | str:
    """The whole name of a tool that is given by its short one; anything else as it is."""
    return SHORT.get(tool, tool) if isinstance(tool, str) else tool


def texts_of_presets(names: object) -> list[str]:
    """Check one or several names of presets, and list them."""
    given = names if isinstance(names, (list, tuple)) else [names]
    return [words(PRESETS).check("names", whole_name(name)) for name in given]


def roles_of(names: object) -> Mapping[str, str]:
    """The roles of one or several presets; the last preset has precedence."""
    roles: dict[str, str] = {}
    for name in texts_of_presets(names):
        roles |= PRESETS[name]
    return roles
