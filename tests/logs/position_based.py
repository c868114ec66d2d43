"""Logs of a position-based model: users examine a rank with a known probability, and click what they examine and find relevant."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

Array = np.ndarray[Any, np.dtype[Any]]


class World:
    """Queries with documents of known relevance, which two rankers order differently, and users with a known position bias.

    Parameters
    ----------
    seed, queries, documents, shown
        The seed; the number of queries, of the documents of each, and of those that a list shows.
    bias
        Users examine rank r with probability r ** -bias.
    """

    def __init__(self, seed: int, queries: int = 100, documents: int = 12, shown: int = 10, bias: float = 1.0) -> None:
        rng = np.random.default_rng(seed)
        self.relevance = rng.beta(0.5, 1.5, (queries, documents)) / 1.9
        scores = self.relevance + rng.normal(0, 0.35, (2, queries, documents))
        self.lists = np.argsort(-scores, axis=2)[:, :, :shown]  # ranker, query, rank
        self.new = self.relevance + rng.normal(0, 0.3, (queries, documents))
        self.examined = np.arange(1.0, shown + 1) ** -bias

    def log(self, seed: int, sessions: int, rankers: int = 2, per_user: int = 1) -> pl.DataFrame:
        """A row per document that was shown in a session, with its clicks and what a new ranker would score it.

        Users with several sessions click more or less than others in all of them.
        """
        rng = np.random.default_rng(seed)
        query, ranker = rng.integers(0, len(self.relevance), sessions), rng.integers(0, rankers, sessions)
        documents, shown = self.lists[ranker, query], len(self.examined)
        user = np.arange(sessions) // per_user
        eager = rng.choice([0.1, 1.9] if per_user > 1 else [1.0], sessions)[user]
        chance = self.examined * np.take_along_axis(self.relevance[query], documents, axis=1)
        clicked = rng.random(documents.shape) < np.minimum(chance * eager[:, None], 1)
        return pl.DataFrame(
            {
                "session": np.repeat(np.arange(sessions), shown),
                "user": np.repeat(user, shown),
                "query": np.repeat(query, shown),
                "ranker": np.repeat(np.array(["a", "b"])[ranker], shown),
                "doc_id": documents.ravel(),
                "position": np.tile(np.arange(1, shown + 1), sessions),
                "score": np.take_along_axis(self.new[query], documents, axis=1).ravel(),
                "p": np.tile(self.examined, sessions),
                "clicked": clicked.astype(np.int64).ravel(),
            }
        )

    def truth(self, k: int) -> dict[str, float]:
        """The mean DCG of the new order of the lists of ranker a, and the share of the relevance that its top k has."""
        documents = self.lists[0]
        worth, score = (np.take_along_axis(x, documents, axis=1) for x in (self.relevance, self.new))
        best = np.take_along_axis(worth, np.argsort(-score, axis=1), axis=1)
        dcg = (best[:, :k] / np.log2(np.arange(2, k + 2))).sum(axis=1)
        total = worth.sum()
        return {"dcg": float(dcg.mean()), "recall": float(best[:, :k].sum() / total), "snips": float(dcg.sum() / total)}
