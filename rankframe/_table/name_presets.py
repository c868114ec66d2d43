"""Names of the columns in other tools' tables, by tool: presets for `on(names=...)`."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from ..errors import InvalidOption, nearest, option

__all__ = ["PRESETS", "presets_for", "roles_of"]

PRESETS: Mapping[str, Mapping[str, str]] = {
    "beir": {"query": "query-id", "doc": "corpus-id"},
    "catboost": {"query": "group_id"},
    "elliot": {"query": "userId", "doc": "itemId", "label": "rating"},
    "evidently": {"query": "user_id", "doc": "item_id", "score": "prediction", "label": "target"},
    "ir_measures": {"query": "query_id", "doc": "doc_id", "score": "score", "label": "relevance"},
    "lenskit": {"query": "user_id", "doc": "item_id", "score": "score", "label": "rating"},
    "lightgbm": {"query": "query", "label": "label"},
    "msmarco": {"query": "qid", "doc": "pid"},
    "pyterrier": {"query": "qid", "doc": "docno", "score": "score", "label": "label"},
    "ranx": {"query": "q_id", "doc": "doc_id", "score": "score"},
    "recbole": {"query": "user_id", "doc": "item_id", "score": "score", "label": "rating"},
    "recommenders": {"query": "userID", "doc": "itemID", "score": "prediction", "label": "rating"},
    "rectools": {"query": "user_id", "doc": "item_id", "score": "score", "label": "weight"},
    "replay": {"query": "query_id", "doc": "item_id", "score": "rating", "label": "relevance"},
    "xgboost": {"query": "qid", "label": "label"},
}
"""The names that a tool has for a role; roles that it does not name keep theirs."""


def roles_of(names: object) -> Mapping[str, str]:
    """The roles of a preset."""
    if not isinstance(names, str) or names not in PRESETS:
        near = nearest(names, PRESETS) if isinstance(names, str) else None
        hint = "" if near is None else f" Did you mean {near!r}?"
        raise InvalidOption(option(names=names), f": write one of {', '.join(map(repr, PRESETS))}.{hint}")
    return PRESETS[names]


def presets_for(columns: Collection[str]) -> list[str]:
    """The presets of which a table has the columns of queries and documents."""
    return [name for name, roles in PRESETS.items() if "doc" in roles and {roles["query"], roles["doc"]} <= {*columns}]
