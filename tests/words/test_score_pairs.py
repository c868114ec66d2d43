"""Pairs of documents that two scores tie, or order differently, against a comparison of each with each."""

from __future__ import annotations

import random
from itertools import combinations

import polars as pl
import pytest

from rankframe._words import pairs, score_pairs
from rankframe._words.score_pairs import counts_of_pairs
from tests.support.each import each

Row = tuple[int, int, "int | None", int, "int | None"]


def drawn(rng: random.Random, *, complete: bool) -> list[Row]:
    """Rows of a few queries, in any order: the query, and the rank and the score in both rankings."""
    rows: list[Row] = []
    for query in range(rng.randrange(1, 5)):
        n = rng.randrange(1, 9)
        scores = [[rng.randrange(4) for _ in range(n)] for _ in range(2)]
        ranks = [
            [1 + sorted((-x, i) for i, x in enumerate(own)).index((-own[i], i)) for i in range(n)] for own in scores
        ]
        for i in range(n):
            lacks = not complete and rng.random() < 0.3
            of_first = (ranks[0][i], None if lacks else scores[0][i])
            rows.append((query, *of_first, ranks[1][i], None if lacks else scores[1][i]))
    return rng.sample(rows, len(rows))


def compared_with_each(rows: list[Row]) -> list[float]:
    """The number of pairs tied by either score, by both, and ordered differently."""
    tied = other_tied = both_tied = discordant = 0
    for (query, _, x, _, y), (other_query, _, x2, _, y2) in combinations(rows, 2):
        if query == other_query and None not in (x, x2):
            tied += x == x2
            other_tied += y == y2
            both_tied += (x, y) == (x2, y2)
            discordant += (x - x2) * (y - y2) < 0  # type: ignore[operator]
    return [tied, other_tied, both_tied, discordant]


@each("longest", [1_000, 3], ids=["each with each", "by digits"])
@each("complete", [True, False], ids=["all have both scores", "some lack them"])
def test_pairs_are_counted_as_by_comparing_each_with_each(
    longest: int, complete: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (pairs, score_pairs):
        monkeypatch.setattr(module, "LONGEST", longest)
    rng = random.Random(2)
    for _ in range(60):
        rows = drawn(rng, complete=complete)
        names = ["query", "rank", "score", "other_rank", "other_score"]
        frame = pl.DataFrame(rows, dict.fromkeys(names, pl.Int64), orient="row")
        counts = counts_of_pairs(frame.to_struct("rows")).struct.unnest()
        assert list(counts.sum().row(0)) == compared_with_each(rows)
        assert counts["tied"].null_count() == frame["score"].null_count()
