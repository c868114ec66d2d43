"""The effects of metrics' options, in words."""

from __future__ import annotations

from collections.abc import Mapping

from .._table.policies import IN_WORDS as POLICIES_IN_WORDS

IN_WORDS: Mapping[str, Mapping[object, str]] = {
    "k": {None: "it goes down the whole ranking", ...: "it stops at rank {}"},
    "gain": {
        None: "a relevant document gains 1",
        "linear": "a document gains its label",
        "exponential": "a document gains 2^label - 1",
        "binary": "a relevant document gains 1, whatever its label",
        "scaled": "a document gains its label over the query's largest",
        ...: "a document gains {}",
    },
    "discount": {
        "log2": "the gain at a rank is divided by log2(rank + 1)",
        "original": "the gain at a rank is divided by log2(rank), from rank 2 on",
        "rank": "the gain at a rank is divided by the rank",
        ...: "the gain at a rank is discounted by {}",
    },
    "ideal": {
        "judged": "its ideal is made of the best judged documents, as many as the cutoff",
        "as_many": "its ideal has no more documents than were retrieved",
        "all": "its ideal has all judged documents, also beyond the cutoff",
        "retrieved": "its ideal is made of retrieved documents only",
        "perfect": "its ideal has a best document at every rank, also where there are not as many",
    },
    "divisor": {
        "k": "it divides by the cutoff",
        "min(k,n)": "it divides by the number of retrieved documents, at most the cutoff",
        "min(k,R)": "it divides by the number of relevant documents, at most the cutoff",
        "min(n,R)": "it divides by the number of relevant documents, at most those retrieved",
        "R": "it divides by the number of relevant documents",
        "hits": "it divides by the number of relevant documents that were found",
        "list": "it divides by the length of the list",
        "pairs": "it divides by the number of pairs",
    },
    "rounding": {
        "nearest": "the number of relevant documents at a level of recall is rounded",
        "up": "the number of relevant documents at a level of recall is rounded up",
    },
    "max_label": {
        None: "the top of the scale is the table's largest label",
        "query": "the top of the scale is each query's largest label",
        ...: "the top of the scale is label {}",
    },
    "min_label": {None: "every label counts", ...: "labels below {} count as 0"},
    "unseen_items": {
        "rarest": "an item without interactions counts like the least popular one",
        "skip": "items without interactions are left out",
        "zero": "an item without interactions counts 0",
        "error": "an item without interactions is refused",
    },
    "base": {
        "users": "popularity is a share of the users",
        "interactions": "popularity is a share of the interactions",
    },
    "distance": {
        "cosine": "the distance of two items is 1 less the cosine of their features",
        "hamming": "the distance of two items is the number of features in which they differ",
        "euclidean": "the distance of two items is that of their features",
    },
    "against": {
        "popularity": "an item surprises by being less popular than its rank tells",
        "co_occurrence": "an item surprises by sharing few users with those that the user had",
        "features": "an item surprises by features unlike those that the user had",
    },
    "relevance": {False: "items count whatever their labels"},
    "tail": {...: "the tail is {} of the items"},
    "weight": {
        "equal": "all ranks count the same",
        "count": "all ranks count the same",
        "log2": "a rank counts 1 / log2(rank + 1)",
        "rbp": "a rank counts as a reader who goes on with probability p reaches it",
        ...: "a rank counts {}^(rank - 1)",
    },
    "p": {...: "the reader goes on with probability {}"},
    "first_rank": {...: "it numbers the ranks of the other ranking from {} on"},
    "tied": {...: "a pair with equal scores counts {}"},
}
"""The effect of each value of an option, as a clause; ``...`` stands for any other value, which takes the place of {}."""


def in_words(name: str, value: object, shown: str) -> str:
    """The effect of a value of a policy or an option; `shown` is the value as text."""
    clauses = {**POLICIES_IN_WORDS, **IN_WORDS}.get(name, {})
    known = value if value is None or isinstance(value, (str, bool)) else ...
    clause = clauses.get(known, clauses.get(..., f"{name} is {{}}"))
    return clause.format(shown)
