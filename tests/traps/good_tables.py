"""Tables as people have them, each right as it is: no number of theirs needs a warning, and a check has nothing to note."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl

import rankframe as rf


@dataclass(frozen=True)
class GoodTable:
    """A table, the options of `on` that its owner writes, the metrics that they ask for, and the runs that they compare."""

    name: str
    make: Callable[[np.random.Generator], Any]
    metrics: tuple[str, ...]
    on: Mapping[str, Any] = field(default_factory=dict)
    runs: tuple[str, ...] = ()
    run: str | None = None

    def frame(self) -> Any:
        """The table, the same in each call."""
        return self.make(np.random.default_rng(sum(map(ord, self.name))))


GOOD_TABLES: list[GoodTable] = []


def good(
    *metrics: str, runs: tuple[str, ...] = (), run: str | None = None, **on: Any
) -> Callable[[Callable[[np.random.Generator], Any]], Callable[[np.random.Generator], Any]]:
    """Declare a good table, named as the function that makes it."""

    def declared(make: Callable[[np.random.Generator], Any]) -> Callable[[np.random.Generator], Any]:
        GOOD_TABLES.append(GoodTable(make.__name__.replace("_", " "), make, metrics, on, runs, run))
        return make

    return declared


def lists(rng: np.random.Generator, queries: int, least: int, most: int) -> pl.DataFrame:
    """Queries with lists of `least` to `most` documents."""
    lengths = rng.integers(least, most + 1, queries)
    query = np.repeat(np.arange(queries), lengths)
    doc = np.concatenate([rng.choice(5_000, n, replace=False) for n in lengths])
    return pl.DataFrame({"query_id": query, "doc_id": [f"d{number}" for number in doc]})


def scored(frame: pl.DataFrame, rng: np.random.Generator, lift: float, name: str = "score") -> pl.DataFrame:
    """Scores that rise with the label by `lift`, and noise."""
    labels = frame["label"].fill_null(0).to_numpy()
    return frame.with_columns(pl.Series(name, lift * labels + rng.normal(size=frame.height)))


def graded(
    rng: np.random.Generator, queries: int = 60, shares: tuple[float, ...] = (0.5, 0.25, 0.15, 0.07, 0.03)
) -> pl.DataFrame:
    """Lists of 15 to 40 documents, all of them with a grade."""
    frame = lists(rng, queries, 15, 40)
    return frame.with_columns(label=pl.Series(rng.choice(len(shares), frame.height, p=shares)))


def binary(rng: np.random.Generator, queries: int = 60, docs: int = 20, share: float = 0.2) -> pl.DataFrame:
    """Lists of as many documents, each with a label of 0 or 1."""
    frame = lists(rng, queries, docs, docs)
    return frame.with_columns(label=pl.Series((rng.random(frame.height) < share).astype(int)))


def one_right(rng: np.random.Generator, queries: int, docs: int) -> pl.DataFrame:
    """Lists of which one document, at a random place, is right."""
    frame = lists(rng, queries, docs, docs)
    right = np.repeat(rng.integers(0, docs, queries), docs) == np.tile(np.arange(docs), queries)
    return frame.with_columns(label=pl.Series(right.astype(int)))


def pool(
    rng: np.random.Generator, queries: int = 50, depth: int = 100, judged: float = 0.3
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """A run, and the judgments of a pool that other runs filled, too."""
    frame = lists(rng, queries, depth + 30, depth + 30)
    rising = pl.int_range(pl.len()).over("query_id")
    chance = rng.random(frame.height)
    frame = frame.with_columns(label=pl.Series(rng.choice(3, frame.height, p=(0.75, 0.18, 0.07))))
    frame = scored(frame, rng, 1.5)
    ranks = pl.col("score").rank("ordinal", descending=True).over("query_id")
    run = frame.filter(ranks <= depth).select("query_id", "doc_id", "score")
    qrels = frame.filter(pl.Series(chance < judged) | (rising < 5)).select("query_id", "doc_id", "label")
    return run, qrels


# ------------------------------------------------------------------------------------------------------ learning to rank


@good("ndcg@10", "map", "err(max_label=4)@10", "precision@5", runs=("score", "linear"))
def learning_to_rank_with_grades_0_to_4(rng: np.random.Generator) -> pl.DataFrame:
    frame = graded(rng)
    return scored(scored(frame, rng, 1.0), rng, 0.7, "linear")


@good("ndcg@10", "map")
def a_random_ranker_as_a_baseline(rng: np.random.Generator) -> pl.DataFrame:
    return scored(graded(rng), rng, 0.0)


@good("ndcg@5", "ndcg@10", "mrr", runs=("score", "bm25"))
def bm25_beside_a_booster(rng: np.random.Generator) -> pl.DataFrame:
    frame = scored(graded(rng, 80), rng, 1.2)
    return frame.with_columns(bm25=pl.Series(np.round(np.abs(rng.gamma(3, 3, frame.height)), 4)))


@good("ndcg@10", "map", "rr", "hit_rate@1")
def hard_negatives_of_a_reranker(rng: np.random.Generator) -> pl.DataFrame:
    return scored(one_right(rng, 120, 8), rng, 2.5)


@good("ndcg@10", "map")
def scores_rounded_to_two_decimals(rng: np.random.Generator) -> pl.DataFrame:
    return scored(graded(rng), rng, 1.0).with_columns(pl.col("score").round(2))


@good("ndcg@10", "map", query=["day", "query_id"])
def three_days_of_the_same_queries(rng: np.random.Generator) -> pl.DataFrame:
    days = [scored(graded(rng, 30), rng, 1.0).with_columns(day=pl.lit(day)) for day in (1, 2, 3)]
    return pl.concat(days)


@good("ndcg@10", "map", "rr", query="qid", score="pred", label="y", doc="did")
def other_names_of_columns(rng: np.random.Generator) -> pl.DataFrame:
    names = {"query_id": "qid", "doc_id": "did", "score": "pred", "label": "y"}
    return scored(graded(rng), rng, 1.0).rename(names)


@good("ndcg@10", "map")
def a_table_without_document_ids(rng: np.random.Generator) -> pl.DataFrame:
    return scored(graded(rng), rng, 1.0).drop("doc_id")


@good("ndcg@10", "map", runs=("score", "noisy"))
def a_near_perfect_ranker(rng: np.random.Generator) -> pl.DataFrame:
    frame = graded(rng)
    return scored(scored(frame, rng, 20.0), rng, 8.0, "noisy")


@good("ndcg@10", "ndcg(gain=exponential)@10")
def shopping_queries_with_gains_between_0_and_1(rng: np.random.Generator) -> pl.DataFrame:
    frame = lists(rng, 60, 10, 40)
    gains = rng.choice([0.0, 0.01, 0.1, 1.0], frame.height, p=(0.17, 0.05, 0.34, 0.44))
    return scored(frame.with_columns(label=pl.Series(gains)), rng, 1.5)


# -------------------------------------------------------------------------------------------------- pools of judgments


@good("ndcg@10", "map", "bpref", "rbp@20", "recall@100")
def a_pool_of_which_a_third_is_judged(rng: np.random.Generator) -> pl.DataFrame:
    run, qrels = pool(rng)
    return run.rank.judge(qrels)


@good("ndcg@10", "map", "infap", "precision@10")
def a_pool_with_junk_of_negative_labels(rng: np.random.Generator) -> pl.DataFrame:
    run, qrels = pool(rng)
    junk = pl.Series(rng.random(qrels.height) < 0.05)
    return run.rank.judge(qrels.with_columns(label=pl.when(junk & (pl.col("label") == 0)).then(-2).otherwise("label")))


@good("ndcg@10", "map", "recall@100", run="run")
def two_runs_of_a_pool_in_one_table(rng: np.random.Generator) -> pl.DataFrame:
    run, qrels = pool(rng)
    other = run.with_columns(score=pl.col("score") + pl.Series(rng.normal(size=run.height)), run=pl.lit("noisy"))
    both = pl.concat([run.with_columns(run=pl.lit("plain")), other])
    return both.rank.judge(qrels, run="run")


@good("map", "r_precision", "recall@20")
def a_review_of_documents_of_which_most_are_relevant(rng: np.random.Generator) -> pl.DataFrame:
    return scored(binary(rng, 40, 50, 0.6), rng, 1.5)


@good("map", "ndcg@10", "rr")
def some_queries_with_nothing_relevant(rng: np.random.Generator) -> pl.DataFrame:
    frame = binary(rng, 80, 20, 0.2)
    return scored(
        frame.with_columns(pl.when(pl.col("query_id") % 4 == 0).then(0).otherwise("label").alias("label")), rng, 1.5
    )


@good("map", "ndcg@10", "rr", ascending=True, score="distance")
def images_by_cosine_distance(rng: np.random.Generator) -> pl.DataFrame:
    frame = scored(binary(rng, 60, 30, 0.2), rng, 1.5)
    return frame.with_columns(distance=1 - 1 / (1 + (-pl.col("score")).exp())).drop("score")


@good("map", "ndcg@10", score="negated_distance")
def negated_distances(rng: np.random.Generator) -> pl.DataFrame:
    frame = scored(binary(rng, 60, 30, 0.2), rng, 1.5)
    return frame.with_columns(negated_distance=-((5 - pl.col("score")) ** 2)).drop("score")


@good("alpha_ndcg@10", "strec@10", subtopic="aspect")
def aspects_of_a_diversity_track(rng: np.random.Generator) -> pl.DataFrame:
    frame = scored(binary(rng, 40, 30, 0.4), rng, 1.5)
    aspects = frame.select("query_id", "doc_id").with_columns(aspect=pl.Series(rng.integers(1, 6, frame.height)))
    return frame.join(aspects, on=["query_id", "doc_id"], maintain_order="left")


# --------------------------------------------------------------------------------------------- questions and answers


@good("rr@10", "recall@5", "hit_rate@5", "map")
def twelve_golden_questions_of_five_passages(rng: np.random.Generator) -> pl.DataFrame:
    frame = scored(one_right(rng, 12, 30), rng, 1.5)
    ranks = pl.col("score").rank("ordinal", descending=True).over("query_id")
    found = frame.with_columns(score=pl.when(ranks <= 5).then("score"))
    return found.filter(pl.col("score").is_not_null() | (pl.col("label") > 0))


@good("rr@10", "recall@10", "hit_rate@1")
def two_hundred_questions_of_lists_of_ids(rng: np.random.Generator) -> pl.DataFrame:
    retrieved, gold = [], []
    for question in range(200):
        ids = [f"p{number}" for number in rng.choice(300, 10, replace=False)]
        place = int(rng.geometric(0.3)) - 1
        retrieved.append(ids)
        gold.append([ids[place]] if place < 10 else [f"missed{question}"])
    questions = pl.DataFrame({"query_id": range(200), "retrieved": retrieved, "relevant": gold})
    return rf.from_lists(questions)


@good("rr", "hit_rate@1", "hit_rate@3")
def a_navigational_site_search(rng: np.random.Generator) -> pl.DataFrame:
    return scored(one_right(rng, 300, 10), rng, 3.0)


@good("rr", "hit_rate@1", "ndcg@10")
def mentions_linked_to_entities_some_of_which_have_none(rng: np.random.Generator) -> pl.DataFrame:
    frame = scored(one_right(rng, 150, 12), rng, 2.5)
    nil = pl.col("query_id") % 10 == 0
    return frame.with_columns(label=pl.when(nil).then(0).otherwise("label"))


@good("rr", "recall@10", "ndcg@10")
def code_search_among_two_hundred(rng: np.random.Generator) -> pl.DataFrame:
    return scored(one_right(rng, 30, 200), rng, 3.0)


@good("ndcg@10", "precision@5", "map", relevant=0.5)
def soft_labels_of_a_model_with_a_threshold(rng: np.random.Generator) -> pl.DataFrame:
    frame = lists(rng, 60, 20, 20)
    return scored(frame.with_columns(label=pl.Series(np.round(rng.beta(0.6, 1.2, frame.height), 2))), rng, 2.5)


@good("ndcg@10", "dcg@10")
def calibrated_soft_labels_for_ndcg(rng: np.random.Generator) -> pl.DataFrame:
    frame = lists(rng, 60, 20, 20)
    return scored(frame.with_columns(label=pl.Series(rng.beta(0.6, 3.0, frame.height))), rng, 4.0)


@good("rr", "map", "recall@10")
def similar_questions_of_a_forum(rng: np.random.Generator) -> pl.DataFrame:
    return scored(binary(rng, 100, 10, 0.3), rng, 1.0)


# -------------------------------------------------------------------------------------------------------- recommenders


@good("ndcg@10", "hit_rate@10", "rr@10", query="user_id", doc="item_id")
def one_positive_among_99_sampled_items(rng: np.random.Generator) -> pl.DataFrame:
    return scored(one_right(rng, 100, 100), rng, 2.5).rename({"query_id": "user_id", "doc_id": "item_id"})


@good("ndcg@10", "recall@10", "map@10", query="user_id", doc="item_id")
def recommendations_joined_with_a_test_of_positives(rng: np.random.Generator) -> pl.DataFrame:
    frame = scored(binary(rng, 100, 60, 0.08), rng, 2.0).rename({"query_id": "user_id", "doc_id": "item_id"})
    ranks = pl.col("score").rank("ordinal", descending=True).over("user_id")
    users = frame.filter(pl.col("label") == 1)["user_id"].unique()
    run = frame.filter(ranks <= 10, pl.col("user_id").is_in(users.implode())).drop("label")
    test = frame.filter(pl.col("label") == 1).select("user_id", "item_id", "label")
    return run.rank.on(query="user_id", doc="item_id").judge(test)


@good("ndcg@10", "map", "precision@5", relevant=4)
def stars_of_which_four_count(rng: np.random.Generator) -> pl.DataFrame:
    frame = lists(rng, 80, 20, 20)
    return scored(
        frame.with_columns(label=pl.Series(rng.choice([1, 2, 3, 4, 5], frame.height, p=(0.05, 0.1, 0.25, 0.35, 0.25)))),
        rng,
        0.8,
    )


@good("ndcg@10", "map", relevant=4)
def half_stars(rng: np.random.Generator) -> pl.DataFrame:
    frame = lists(rng, 80, 20, 20)
    return scored(frame.with_columns(label=pl.Series(rng.integers(1, 11, frame.height) / 2)), rng, 0.8)


@good("ndcg@10", "recall@5", "hit_rate@5")
def counts_of_plays(rng: np.random.Generator) -> pl.DataFrame:
    frame = lists(rng, 60, 30, 30)
    return scored(frame.with_columns(label=pl.Series(rng.poisson(0.4, frame.height))), rng, 1.0)


@good("ndcg@10", "hit_rate@10")
def users_with_one_to_three_items(rng: np.random.Generator) -> pl.DataFrame:
    frame = lists(rng, 200, 1, 3)
    return scored(frame.with_columns(label=pl.Series((rng.random(frame.height) < 0.5).astype(int))), rng, 1.5)


@good("ndcg@10", "map", runs=("score", "popularity"))
def a_popularity_baseline(rng: np.random.Generator) -> pl.DataFrame:
    frame = scored(binary(rng, 80, 30, 0.15), rng, 1.5)
    popular = dict(
        zip([f"d{n}" for n in range(5_000)], rng.zipf(1.6, 5_000).clip(max=10**6) + rng.random(5_000), strict=True)
    )
    return frame.with_columns(popularity=pl.Series([popular[doc] for doc in frame["doc_id"]]))


# ------------------------------------------------------------------------------------------------------ clicks and ads


@good("auc", "ndcg@5", "rr")
def impressions_of_news_shown_in_random_order(rng: np.random.Generator) -> pl.DataFrame:
    return scored(binary(rng, 150, 12, 0.12), rng, 0.8)


@good("dcg@10", "precision@1", propensity="examined")
def clicks_with_propensities(rng: np.random.Generator) -> pl.DataFrame:
    frame = scored(binary(rng, 100, 10, 0.3), rng, 1.0)
    position = pl.int_range(1, pl.len() + 1).over("query_id")
    seen = (1 / position).alias("examined")
    shown = frame.with_columns(seen)
    return shown.with_columns(label=pl.col("label") * (pl.Series(rng.random(frame.height)) < pl.col("examined")))


@good("auc", "map")
def chances_of_clicks_far_below_one_half(rng: np.random.Generator) -> pl.DataFrame:
    frame = scored(binary(rng, 80, 25, 0.1), rng, 1.0)
    return frame.with_columns(score=1 / (1 + (4 - pl.col("score")).exp()))


# ----------------------------------------------------------------------------------------------- kinds of ids and scores


@good("ndcg@10", "map")
def ids_of_nine_digits(rng: np.random.Generator) -> pl.DataFrame:
    frame = scored(graded(rng), rng, 1.0)
    doc = pl.col("doc_id").str.slice(1).cast(pl.Int64) + 900_000_000
    return frame.with_columns(doc_id=doc, query_id=pl.col("query_id") + 700_000_000)


@good("ndcg@10", "map")
def ids_with_accents(rng: np.random.Generator) -> pl.DataFrame:
    frame = scored(graded(rng), rng, 1.0)
    return frame.with_columns(query_id=pl.format("où trouver n° {}", "query_id"), doc_id=pl.format("é{}", "doc_id"))


@good("ndcg@10", "map")
def a_pandas_table_with_an_index_of_its_own(rng: np.random.Generator) -> Any:
    frame = scored(graded(rng), rng, 1.0).to_pandas()
    return frame.set_index(frame.index * 3 + 7)


@good("ndcg@10", "map")
def a_lazy_table(rng: np.random.Generator) -> pl.LazyFrame:
    return scored(graded(rng), rng, 1.0).lazy()


@good("ndcg@10", "map", "recall@20", rank="rank")
def ranks_in_place_of_scores(rng: np.random.Generator) -> pl.DataFrame:
    frame = scored(binary(rng, 60, 25, 0.2), rng, 1.5)
    return frame.with_columns(rank=pl.col("score").rank("ordinal", descending=True).over("query_id")).drop("score")


@good("ndcg@10", "map")
def lists_fused_by_reciprocal_rank(rng: np.random.Generator) -> pl.DataFrame:
    frame = scored(scored(binary(rng, 60, 40, 0.2), rng, 1.5, "dense"), rng, 1.0, "lexical")
    ranks = [pl.col(name).rank("ordinal", descending=True).over("query_id") for name in ("dense", "lexical")]
    return frame.with_columns(score=sum(1 / (60 + rank) for rank in ranks)).drop("dense", "lexical")


@good("ndcg@10", "map")
def lists_of_one_to_two_hundred_documents(rng: np.random.Generator) -> pl.DataFrame:
    frame = lists(rng, 60, 1, 200)
    return scored(frame.with_columns(label=pl.Series((rng.random(frame.height) < 0.15).astype(int))), rng, 1.5)


@good("ndcg@10", "map", "precision@5", runs=("score", "score_pca", "score_forest"))
def the_example_of_rankframe(rng: np.random.Generator) -> pl.DataFrame:
    return rf.load_example()
