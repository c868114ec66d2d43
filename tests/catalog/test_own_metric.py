"""A metric of the user's own: declared once, there everywhere, gone when it is taken out."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import polars as pl
import pytest

import rankframe as rf
from rankframe._catalog import requests
from tests.support.each import each
from tests.support.tables import frame

DF = frame({"q": [("a", 3.0, 0), ("b", 2.0, 2), ("c", 1.0, 1)], "p": [("a", 1.0, 0)]}, seed=None)


def declare(**options: float) -> Callable[..., pl.Expr]:
    @rf.metric(bounds=(0, 1), **options)  # type: ignore[arg-type]
    def steep(r: rf.Ranking, k: int | None = None, *, power: float = 2) -> pl.Expr:
        """Sum of 1 / rank^power over the relevant documents of the top k, over the number of relevant ones."""
        return r.total(r.relevant, k, over=r.rank**power) / r.n_relevant

    return steep


@pytest.fixture
def steep() -> Iterator[Callable[..., pl.Expr]]:
    formula = declare()
    yield formula
    rf.unregister(formula)


HALF = (1 / 4 + 1 / 9) / 2


def test_it_is_a_text_a_method_an_expression_and_an_argument(steep: Callable[..., pl.Expr]) -> None:
    wanted = [("q", pytest.approx(HALF)), ("p", 0.0)]
    assert DF.rank.evaluate("steep").rows() == wanted
    assert DF.rank.evaluate(steep).rows() == wanted
    assert DF.rank.steep().rows() == wanted
    assert DF.lazy().rank.steep().collect().sort("query_id", descending=True).rows() == wanted
    assert DF.group_by("query_id", maintain_order=True).agg(rf.expr.steep()).rows() == wanted
    assert DF.to_pandas().rank.steep()["steep"].tolist() == [pytest.approx(HALF), 0.0]
    assert DF.to_pandas().rank.evaluate(steep, "rr").columns.tolist() == ["steep", "rr"]


def test_it_takes_options_cutoffs_policies_and_has_a_curve(steep: Callable[..., pl.Expr]) -> None:
    assert DF.rank.evaluate("steep(power=1)@2").row(0) == ("q", 0.25)
    assert DF.rank.on(relevant=2).steep(k=2, power=1).row(0) == ("q", 0.5)
    assert DF.rank.on(ties="expected").steep().row(0) == ("q", pytest.approx(HALF))
    assert DF.rank.curve("steep")["steep"].to_list() == pytest.approx([0, 1 / 8, HALF, 0])
    assert "steep" in dir(DF.rank)
    assert "steep" in dir(DF.to_pandas().rank)


def test_declared_again_it_takes_the_place_of_the_first() -> None:
    first, second = declare(), declare()
    assert rf.METRICS["steep"].formula is second
    with pytest.raises(rf.UnknownMetric, match="steep"):
        rf.unregister(first)
    rf.unregister(second)


def test_once_taken_out_it_is_gone_everywhere() -> None:
    formula = declare()
    rf.unregister(formula)
    assert "steep" not in rf.METRICS
    for unknown in (
        lambda: DF.rank.evaluate("steep"),
        lambda: DF.rank.evaluate(formula),
        lambda: rf.unregister(formula),
    ):
        with pytest.raises(rf.UnknownMetric, match="steep"):
            unknown()
    for ranker in (DF.rank, rf.expr, DF.to_pandas().rank):
        with pytest.raises(AttributeError, match="steep"):
            _ = ranker.steep


def test_a_text_that_was_read_is_read_anew_once_a_metric_is_declared_or_taken_out() -> None:
    assert DF.rank.evaluate("P_5").columns[1] == "precision@5"
    formula = rf.metric(text="P_5")(lambda r: r.n_relevant)
    try:
        assert DF.rank.evaluate("P_5").row(0) == ("q", 2.0)
    finally:
        rf.unregister(formula)
    assert DF.rank.evaluate("P_5").columns[1] == "precision@5"


def test_a_text_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = [call.text for call in requests.calls_of("ndcg@10", "P_5,map", "ndcg_cut.5,10")]
    assert wanted == ["ndcg@10", "precision@5", "map", "ndcg@5"]
    monkeypatch.setattr(requests, "calls_in", lambda *_: pytest.fail("read again"))
    assert [call.text for call in requests.calls_of("ndcg@10", "P_5,map", "ndcg_cut.5,10")] == wanted


def test_the_number_of_texts_that_are_kept_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(requests, "MOST_READ", 3)
    for k in range(1, 9):
        requests.calls_of(f"ndcg@{k}", ",".join(f"rr@{i}" for i in range(1, 101)))
        assert len(rf.METRICS.read) <= 3  # type: ignore[attr-defined]


def test_names_of_other_metrics_are_taken_and_the_librarys_own_stay() -> None:
    def mine(r: rf.Ranking) -> pl.Expr:
        return r.n_relevant

    for declaration in (rf.metric("ndcg"), rf.metric(text="map_cut"), rf.metric(spellings={"dcg_burges": {}})):
        with pytest.raises(rf.InvalidOption, match="is a name of the metric"):
            declaration(mine)
    with pytest.raises(rf.InvalidOption, match="letters"):
        rf.metric(text="a@b")(mine)
    with pytest.raises(rf.InvalidOption, match="stays"):
        rf.unregister("ndcg")
    assert "mine" not in rf.METRICS


BASE = 2.0


def by_global(rank: pl.Expr) -> pl.Expr:
    return (rank + 1).log(BASE)


def test_a_function_is_asked_anew_as_what_it_reads_may_change(monkeypatch: pytest.MonkeyPatch) -> None:
    def dcg() -> float:
        return float(DF.rank.dcg(discount=by_global).row(0)[1])

    two = dcg()  # q: 2 / log2(3) + 1 / log2(4)
    assert two == pytest.approx(2 / math.log2(3) + 1 / 2, rel=1e-12)
    monkeypatch.setitem(globals(), "BASE", 10.0)
    assert dcg() == pytest.approx(2 / math.log10(3) + 1 / math.log10(4), rel=1e-12)


@dataclass
class Logarithm:
    """A discount that cannot be hashed."""

    base: float

    def __call__(self, rank: pl.Expr) -> pl.Expr:
        return (rank + 1).log(self.base)


def test_a_discount_need_not_be_hashable() -> None:
    for ranker in (DF.rank, DF.rank.on(convention="ranx"), DF.lazy().rank):
        found: Any = ranker.dcg(discount=Logarithm(2))
        assert found.lazy().collect()["dcg(discount=Logarithm(base=2))"].max() == pytest.approx(
            2 / math.log2(3) + 1 / 2, rel=1e-12
        )


@each("step", [1, 0.5, 0.01], ids=["few whole labels", "labels of halves", "many labels"])
def test_pairs_are_those_of_the_labels_that_a_formula_looks_at(step: float) -> None:
    """Against a count of all pairs: labels below 2 read 0, and documents that were not retrieved tie at the bottom."""
    chance = random.Random(1)
    labels = [None, *(n * step for n in range(int(4 / step)))]
    rows = [
        (query, f"d{i}", chance.choice([None, 1.0, 2.0, 3.0]), chance.choice(labels))
        for query in range(20)
        for i in range(12 if step == 1 else 40)
    ]

    def wanted(query: int) -> tuple[int, int, int]:
        docs = [(-1 if s is None else s, x if x is not None and x >= 2 else 0)
                for q, _, s, x in rows if q == query and (s is not None or x is not None)]  # fmt: skip
        unequal = [(a, b) for a, b in itertools.combinations(docs, 2) if a[1] != b[1]]
        tied = sum(a[0] == b[0] for a, b in unequal)
        return len(unequal), tied, sum((a[0] - b[0]) * (a[1] - b[1]) < 0 for a, b in unequal)

    @rf.metric()
    def pairs(r: rf.Ranking) -> pl.Expr:
        found = r.rows.pairs(r.from_label(2).label, r.retrieved | r.judged)
        return found.unequal * 1e8 + found.tied * 1e4 + found.inverted

    df = pl.DataFrame(rows, schema=["query_id", "doc_id", "score", "label"], orient="row")
    expected = [a * 10**8 + b * 10**4 + c for a, b, c in map(wanted, range(20))]
    try:
        assert df.rank.evaluate(pairs)["pairs"].to_list() == expected
        assert df.lazy().rank.evaluate(pairs).sort("query_id").collect()["pairs"].to_list() == expected
        grouped = df.group_by("query_id", maintain_order=True).agg(rf.expr.pairs())
        assert grouped["pairs"].to_list() == expected
    finally:
        rf.unregister("pairs")


def test_it_is_declared_without_brackets_as_with_empty_ones() -> None:
    @rf.metric
    def plain(r: rf.Ranking, k: int | None = None) -> pl.Expr:
        return r.total(r.relevant, k)

    try:
        assert plain.__name__ == "plain"  # the function stays as it was
        assert rf.METRICS["plain"].formula is plain
        assert DF.rank.evaluate("plain@1", plain).equals(
            DF.rank.evaluate("hits@1", "hits").rename({"hits@1": "plain@1", "hits": "plain"})
        )
    finally:
        rf.unregister(plain)


def test_a_function_given_to_metric_keeps_its_options() -> None:
    def plain(r: rf.Ranking) -> pl.Expr:
        return r.n_relevant

    try:
        declare: Any = rf.metric
        assert declare(plain, bounds=(0, 7), text="plainly") is plain
        assert rf.METRICS["plainly"].bounds == (0, 7)
    finally:
        rf.unregister(plain)


def root(r: rf.Ranking) -> pl.Expr:
    return (r.total(r.label, 1) - 5).sqrt()


def difference_of_infinities(r: rf.Ranking) -> pl.Expr:
    return r.total(r.label, 1) * math.inf - r.total(r.label) * math.inf


def quotients_of_documents(r: rf.Ranking) -> pl.Expr:
    return r.total(r.label / r.label)


FORMS: dict[str, Callable[[str], Any]] = {
    "Polars": lambda text: DF.rank.evaluate(text),
    "lazy": lambda text: DF.lazy().rank.evaluate(text).collect(),
    "pandas": lambda text: DF.to_pandas().rank.evaluate(text),
    "mean": lambda text: DF.rank.mean(text),
    "with a threshold": lambda text: DF.rank.evaluate(f"{text}(relevant=2)"),
}


@each("formula", [root, difference_of_infinities, quotients_of_documents])
def test_nan_that_is_no_quotient_of_nothing_is_an_error_in_every_form(formula: Callable[..., pl.Expr]) -> None:
    name = formula.__name__
    rf.metric(bounds=(None, None))(formula)
    try:
        for called in FORMS.values():
            with pytest.raises(rf.InvalidData, match=rf"^{name}.* is NaN for a query, and not by a quotient 0 / 0"):
                called(name)
        with pytest.raises(pl.exceptions.InvalidOperationError, match=f"{name} is NaN for a query"):
            DF.group_by("query_id").agg(getattr(rf.expr, name)())
    finally:
        rf.unregister(formula)


def test_a_formula_is_0_where_a_quotient_inside_of_it_is_0_by_0() -> None:
    @rf.metric(bounds=(0, 1))
    def harmonic(r: rf.Ranking, k: int | None = None) -> pl.Expr:
        precision, recall = r.total(r.relevant, k) / r.depth(k), r.total(r.relevant, k) / r.n_relevant
        return 2 * precision * recall / (precision + recall)

    # of q, b at rank 2 is relevant, and c: 2 x 1/2 x 1/2 / 1; of p, nothing is relevant: 0 / 0 within 0 / 0
    wanted = {"q": 0.5, "p": 0.0}
    try:
        assert dict(DF.rank.evaluate("harmonic@2").rows()) == wanted
        assert dict(DF.lazy().rank.evaluate("harmonic@2").collect().rows()) == wanted
        assert dict(DF.group_by("query_id").agg(rf.expr.harmonic(k=2)).rows()) == wanted
        assert DF.rank.curve("harmonic")["harmonic"].to_list() == pytest.approx([0, 1 / 2, 2 * 2 / 3 / (5 / 3), 0])
    finally:
        rf.unregister(harmonic)


def test_nan_of_a_formula_of_subtopics_is_an_error() -> None:
    @rf.metric(over="subtopics")
    def rooted(t: Any) -> pl.Expr:
        return (t.total(t.first_met, 1) - 5).sqrt()

    try:
        with pytest.raises(rf.InvalidData, match=r"^rooted is NaN for a query"):
            DF.with_columns(subtopic=pl.lit("x")).rank.on(subtopic="subtopic").evaluate("rooted")
    finally:
        rf.unregister(rooted)
