"""``ties="last"``: every tied document at the last of their ranks, against counts of scores, scikit-learn and the other rules."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import polars as pl
import pytest
from sklearn import metrics

import rankframe as rf
from tests.metrics.oracles.query import Row, is_judged
from tests.support.calls import ONE_ROW, SOME, assert_equal, is_offered, needs_table, share, spell, values
from tests.support.each import each
from tests.support.tables import BY_CHANCE, Table, frame, random_table

pytestmark = BY_CHANCE


class Counts:
    """A query by numbers of scores: a rank is the number of documents that score at least as high."""

    def __init__(self, rows: list[Row]) -> None:
        listed = [(row[1], row[2] if is_judged(row) else 0.0, is_judged(row)) for row in rows if row[1] is not None]
        self.has_labels = any(label is not None for *_, label in rows)
        self.R = sum(is_judged(row) and row[2] >= 1 for row in rows)
        self.N = sum(is_judged(row) and row[2] < 1 for row in rows)
        self.best = sorted((row[2] for row in rows if is_judged(row)), reverse=True)
        self.n = len(listed)
        self.candidates = sum(row[1] is not None or is_judged(row) for row in rows)
        # rank, label, hits down to there, and documents judged non-relevant at the rank or above
        self.documents = [
            (
                sum(other >= score for other, _, _ in listed),
                label,
                sum(other >= score and x >= 1 for other, x, _ in listed),
                sum(other >= score and judged and x < 1 for other, x, judged in listed),
            )
            for score, label, _ in listed
        ]
        self.relevant = [document for document in self.documents if document[1] >= 1]

    def hits(self, k: float) -> int:
        return sum(rank <= k for rank, *_ in self.relevant)

    def shown(self, k: float) -> int:
        return sum(rank <= k for rank, *_ in self.documents)

    def jaccard(self, k: float) -> float:
        either = self.shown(k) + self.R - self.hits(k)
        return self.hits(k) / either if either else 0.0

    def mcc(self, k: float) -> float:
        tp, fp, fn = self.hits(k), self.shown(k) - self.hits(k), self.R - self.hits(k)
        tn = self.candidates - tp - fp - fn
        spread = (tp + fp) * (tp + fn) * (tn + fp) * (tn + fn)
        return (tp * tn - fp * fn) / math.sqrt(spread) if spread else 0.0

    def over_r(self, x: float) -> float:
        return x / self.R if self.R else 0.0


WANTED: dict[str, Callable[[Counts], float]] = {
    "hits@3": lambda c: c.hits(3),
    "precision@3": lambda c: c.hits(3) / 3,
    "recall@3": lambda c: c.over_r(c.hits(3)),
    "hit_rate@2": lambda c: float(c.hits(2) > 0),
    "r_precision": lambda c: c.over_r(c.hits(c.R)),
    "fp@3": lambda c: c.shown(3) - c.hits(3),
    "jaccard@3": lambda c: c.jaccard(3),
    "mcc@3": lambda c: c.mcc(3),
    "map": lambda c: c.over_r(math.fsum(hits / rank for rank, _, hits, _ in c.relevant)),
    "map(divisor=k)@4": lambda c: math.fsum(hits / rank for rank, _, hits, _ in c.relevant if rank <= 4) / 4,
    "rr": lambda c: 1 / min(rank for rank, *_ in c.relevant) if c.relevant else 0.0,
    "cg@3": lambda c: math.fsum(label for rank, label, _, _ in c.documents if rank <= 3),
    "dcg@5": lambda c: math.fsum(label / math.log2(rank + 1) for rank, label, _, _ in c.documents if rank <= 5),
    "ndcg": lambda c: (
        math.fsum(label / math.log2(rank + 1) for rank, label, _, _ in c.documents)
        / (math.fsum(x / math.log2(i + 2) for i, x in enumerate(c.best)) or 1.0)
    ),
    "rbp(p=0.5)": lambda c: math.fsum(0.5**rank for rank, *_ in c.relevant),
    "bpref": lambda c: c.over_r(
        math.fsum(1 - min(above, c.R) / max(min(c.N, c.R), 1) for _, _, _, above in c.relevant)
    ),
    "partial_auc@2": lambda c: c.over_r(sum(max(2 - rank + hits, 0) for rank, _, hits, _ in c.relevant) / 2),
    "iprec@0": lambda c: max((hits / rank for rank, _, hits, _ in c.documents), default=0.0),
}


@each("seed", range(4), sample=2)
def test_values_are_those_of_numbers_of_scores_in_every_form(seed: int) -> None:
    table = random_table(seed, queries=30)
    df = frame(table)
    calls = [rf.parse(text)[0] for text in WANTED]
    texts = [call.text for call in calls]
    alone = [getattr(rf.expr.on(ties="last"), c.metric.formula.__name__)(**c.arguments) for c in calls]
    forms: dict[str, pl.DataFrame] = {
        "eager": df.rank.on(ties="last").evaluate(*texts),
        "lazy": df.lazy().rank.on(ties="last").evaluate(*texts).collect(),
        "pandas": pl.from_pandas(df.to_pandas().rank.on(ties="last").evaluate(*texts).reset_index()),
        "group": df.group_by("query_id").agg(alone),
        "window": df.select("query_id", *(x.over("query_id") for x in alone)).unique(),
    }
    for text, of_counts in zip(texts, WANTED.values(), strict=True):
        counts = {query: Counts(rows) for query, rows in table.items()}
        wanted = {query: of_counts(c) if c.has_labels else None for query, c in counts.items()}
        for form, found in forms.items():
            assert_equal(values(found, text), wanted, (form, text))


def test_the_share_of_judged_documents_is_that_of_the_documents_shown() -> None:
    df = pl.DataFrame({"query_id": 1, "doc_id": list("abcd"), "score": [4, 3, 3, 3], "label": [1, 0, 1, None]})
    last = df.rank.on(ties="last")
    assert last.evaluate("judged@3", "judged@4").row(0) == (1, 1.0, 0.75)  # a alone has a rank up to 3


def test_non_relevant_documents_that_tie_with_a_relevant_one_count_as_above_it() -> None:
    """All have the same rank, so that the relevant one of the first query wins against none, whatever its id."""
    rows = {"query_id": [1, 1, 2, 2], "doc_id": list("baab"), "score": 1, "label": [1, 0, 1, 0]}
    found = pl.DataFrame(rows).rank.on(ties="last").evaluate("bpref")
    assert found["bpref"].to_list() == [0.0, 0.0]


def has_one_rank(text: str) -> bool:
    """Whether the metric has a value where tied documents have one rank."""
    return is_offered(lambda: ONE_ROW.rank.on(ties="last").evaluate(text), "tied ones have one rank")


@each("seed", range(2), sample=1)
def test_a_value_does_not_depend_on_the_metrics_beside_it(seed: int) -> None:
    """Alone, metrics that look at gains only leave rows without a gain out."""
    ranker = frame(random_table(seed, queries=30)).rank.on(ties="last")
    texts = [text for text in dict.fromkeys(spell(*call) for call in SOME) if has_one_rank(text)]
    together = ranker.evaluate(*texts, "judged")
    for text in texts:
        assert_equal(values(ranker.evaluate(text), text), values(together, text), text)


def of_pairs(c: Counts, k: float, tied: float) -> float | None:
    """The share of pairs of the documents shown down to k, relevant and not, of which the relevant one has the smaller rank."""
    above, below = ([rank for rank, label, *_ in c.documents if rank <= k and (label >= 1) == x] for x in (True, False))
    if not c.has_labels:
        return None
    if not above or not below:
        return None if above else 0.0
    return sum((a < b) + tied * (a == b) for a in above for b in below) / (len(above) * len(below))


@each("seed", range(4))
def test_pairs_are_those_of_the_documents_that_are_shown(seed: int) -> None:
    table = random_table(seed, queries=40)
    found = frame(table).rank.on(ties="last").evaluate("auc@3", "pairwise_accuracy@3")
    wanted = {query: of_pairs(Counts(rows), 3, 0.5) for query, rows in table.items()}
    assert_equal(values(found, "auc@3"), wanted, "auc@3")
    wanted = {query: of_pairs(Counts(rows), 3, 0.0) for query, rows in table.items()}
    assert_equal(values(found, "pairwise_accuracy@3"), wanted, "pairwise_accuracy@3")


def judged_lists(seed: int) -> Table:
    """Lists of which every document is retrieved and judged, of two at least, so that scikit-learn takes them."""
    table = random_table(seed, queries=60, labels=[0, 0, 1])
    return {q: [(doc, score or 0.0, label) for doc, score, label in rows] for q, rows in table.items() if len(rows) > 1}


@each("seed", range(3))
def test_values_are_scikit_learns_with_ties(seed: int) -> None:
    table = judged_lists(seed)
    found = frame(table).rank.on(ties="last").evaluate("map", "coverage_error", "label_ranking_loss")
    for query, map_, coverage, loss in found.iter_rows():
        truth, scores = [[[row[column] for row in table[query]]] for column in (2, 1)]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that no label is positive
            theirs = [
                metrics.label_ranking_average_precision_score(truth, scores),
                metrics.coverage_error(truth, scores),
                metrics.label_ranking_loss(truth, scores),
                metrics.average_precision_score(truth[0], scores[0]),
            ]
        some, every = any(truth[0]), all(truth[0])
        # what these count 1 and 0 without a relevant document, or without another one, is 0 and null here
        ours = (map_ if some else 1.0, coverage if some else 0.0, loss if some and not every else 0.0, map_)
        assert ours == pytest.approx(theirs, abs=1e-12)


@each("turn", range(10), sample=3)
def test_without_ties_every_metric_has_the_value_of_any_rule(turn: int) -> None:
    df = frame(random_table(turn, ties=False, queries=20))
    for call in share(SOME, turn, 10):
        text = spell(*call)
        try:
            found = df.rank.on(ties="last").evaluate(text)
        except rf.InvalidOption as error:
            assert "one by one" in str(error)  # noqa: PT017 - one of two outcomes
            if not needs_table(*call):
                with pytest.raises(rf.InvalidOption, match="one by one"):
                    df.select(getattr(rf.expr.on(ties="last"), call[0])(**call[1]))
            continue
        wanted = df.rank.evaluate(text)
        assert_equal(values(found, text), values(wanted, text), text)


def test_metrics_that_go_through_documents_one_by_one_are_refused() -> None:
    df = frame(random_table(1))
    refused = []
    for name in rf.METRICS:
        text = {"sdcg": "sdcg@3", "bpm": "bpm@3", "nerr8": "nerr8@3", "nerr9": "nerr9@3"}.get(name, name)
        try:
            rf.rank(df).on(ties="last").evaluate(text)
        except rf.InvalidOption as error:
            if "one by one" in str(error):
                refused.append(name)
    assert set(refused) >= {"err", "nerr", "pfound", "bpm", "inst", "nerr8", "nerr9", "nerr10", "nerr11", "rndcg"}
    assert set(refused).isdisjoint({"map", "rr", "ndcg", "precision", "bpref", "auc", "sdcg", "insq"})


def test_ranks_and_curves_show_the_rank_that_tied_documents_share() -> None:
    df = pl.DataFrame({"query_id": 1, "doc_id": list("abcd"), "score": [2, 2, 1, None], "label": [1, 0, 1, 1]})
    last = df.rank.on(ties="last")
    assert last.with_ranks()["rank"].to_list() == [2, 2, 3, None]
    curve = last.curve("precision", "recall")
    assert curve.select("rank", "precision", "recall").rows() == [
        (2, 1 / 2, 1 / 3),
        (2, 1 / 2, 1 / 3),
        (3, 2 / 3, 2 / 3),
    ]
    assert last.explain("map").sort("doc_id")["map"].to_list() == pytest.approx([1 / 6, 0, 2 / 9, 0])
    assert last.on(depth=1).with_ranks()["rank"].to_list() == [None, 1, None, None]  # of b and a, the larger id stays
    assert df.lazy().rank.on(ties="last").with_ranks().collect()["rank"].to_list() == [2, 2, 3, None]


def refusals() -> dict[str, Callable[[], Any]]:
    df = pl.DataFrame({"query_id": 1, "doc_id": ["a", "b"], "score": [1, 1], "other": [1, 2], "label": [1, 0]})
    last = df.rank.on(ties="last")
    return {
        "agreement needs an order": lambda: last.agreement("other", "overlap@1"),
        "fusion needs an order": lambda: last.fuse("rrf", runs=["score", "other"]),
        "no bounds are known": lambda: last.on(unjudged="bounds"),
    }


@each("sentence", refusals())
def test_what_needs_an_order_of_tied_documents_refuses_the_rule(sentence: str) -> None:
    with pytest.raises(rf.InvalidOption, match=sentence):
        refusals()[sentence]()
