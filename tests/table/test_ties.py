"""Tie rules: each orders tied documents in every form as its oracle does, and so do keys that no rule has yet."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any, get_args

import polars as pl
import pytest

import rankframe as rf
from rankframe._table.ties import TIE_RULES, TieKey, TieRule, Ties
from tests.support.each import each


def falling(doc: str) -> list[int]:
    """A key that sorts texts the other way round; a prefix comes last."""
    return [*(-ord(letter) for letter in doc), 0]


def number(doc: pl.Expr) -> pl.Expr:
    return doc.cast(pl.String).str.slice(1).cast(pl.Int64)


# The plain sort key of a document among those with its score: from its id, its label and its row.
ORACLES: dict[str, Callable[[str, int | None, int], Any]] = {
    "doc_desc": lambda doc, label, row: falling(doc),
    "doc_asc": lambda doc, label, row: doc,
    "order": lambda doc, label, row: row,
    "best": lambda doc, label, row: (1 if label is None else -label, falling(doc)),
    "worst": lambda doc, label, row: (-1 if label is None else label, falling(doc)),
    "trec_eval": lambda doc, label, row: falling(doc),
}

# Keys of both directions, in place of those of a rule.
KEYS: dict[str, tuple[tuple[TieKey, ...], Callable[[str, int | None, int], Any]]] = {
    "label rising, then id rising": (
        (TieKey("label", falling=False), TieKey("document", falling=False)),
        lambda doc, label, row: (-1 if label is None else label, doc),
    ),
    "label falling, then number rising": (
        (TieKey("label"), TieKey("document", falling=False, value=number)),
        lambda doc, label, row: (1 if label is None else -label, int(doc[1:])),
    ),
    "length falling, then id rising": (
        (TieKey("document", value=lambda x: x.cast(pl.String).str.len_chars()), TieKey("document", falling=False)),
        lambda doc, label, row: (-len(doc), doc),
    ),
    "number rising, then row": (
        (TieKey("document", falling=False, value=number),),
        lambda doc, label, row: (int(doc[1:]), row),
    ),
}


def check_order(ties: str, oracle: Callable[[str, int | None, int], Any]) -> None:
    """Compare a metric of every document's rank with the oracle, in every form."""
    draw = random.Random(ties)
    ids = [f"{letter}{n}" for letter in "ab" for n in (2, 10, 3, 111)]
    rows = [
        (query, doc, draw.choice([0.0, 1.0]), draw.choice([None, 0, 1, 2]))
        for query in range(20)
        for doc in draw.sample(ids, 7)
    ]
    df = pl.DataFrame(rows, ["query_id", "doc_id", "score", "label"], orient="row")
    wanted = {}
    for query in range(20):
        own = [(-x, oracle(doc, label, i), label) for i, (of, doc, x, label) in enumerate(rows) if of == query]
        labels = [label for *_, label in sorted(own, key=lambda row: row[:2])]
        wanted[query] = sum((label or 0) / rank for rank, label in enumerate(labels, 1))
    text, options = "dcg(discount=rank)", {"ties": ties}
    grouped = rf.expr.on(**options).dcg(discount="rank")
    categories = df.with_columns(pl.col("doc_id").cast(pl.Categorical))
    forms = {
        "eager": df.rank.on(**options).evaluate(text),
        "lazy": df.lazy().rank.on(**options).evaluate(text).collect(),
        "pandas": pl.from_pandas(df.to_pandas().rank.on(**options).evaluate(text).reset_index()),
        "group": df.group_by("query_id").agg(grouped),
        "categories": categories.rank.on(**options).evaluate(text),
        "group of categories": categories.group_by("query_id").agg(grouped),
    }
    for form, found in forms.items():
        values = dict(zip(found["query_id"], found.to_series(found.width - 1), strict=True))
        assert values == pytest.approx(wanted), form


def test_the_values_of_the_option_are_the_rows_and_each_that_is_one_order_has_an_oracle() -> None:
    assert list(get_args(Ties)) == list(TIE_RULES)
    assert [*ORACLES] == [
        name for name, rule in TIE_RULES.items() if not (rule.averages or rule.refuses or rule.shares)
    ]


@each("ties", ORACLES)
def test_a_rule_orders_tied_documents_as_its_oracle_in_every_form(ties: str) -> None:
    check_order(ties, ORACLES[ties])


@each("keys", KEYS)
def test_keys_of_any_directions_order_tied_documents_alike_in_every_form(
    keys: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rule, oracle = KEYS[keys]
    monkeypatch.setitem(TIE_RULES, "doc_desc", TieRule("by other keys", rule))
    check_order("doc_desc", oracle)
