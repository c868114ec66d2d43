"""Several calls of `on` in a row: what describes the data stays, and no convention replaces a choice in silence."""

from __future__ import annotations

import random
from typing import Any

import pandas as pd
import polars as pl
import pytest

import rankframe as rf
from rankframe._table.conventions import CONVENTIONS
from rankframe._table.policies import FACTS
from tests.support.each import each

RANKED = pl.DataFrame({"query_id": 1, "doc_id": ["a", "b", "c"], "rank": [1, 2, 3], "label": [1, 0, 0]})
OF_RR = [tool for tool, convention in CONVENTIONS.items() if "rr" in convention.metrics]
INTERACTIONS = pl.DataFrame({"query_id": [1], "doc_id": ["a"]})
PANDAS: pd.DataFrame = RANKED.to_pandas()
ROOTS: dict[str, Any] = {"polars": RANKED.rank, "pandas": PANDAS.rank, "expressions": rf.expr}

COLUMNS: dict[str, list[Any]] = {
    "query": ["query_id", ["market", "query_id"]],
    "doc": ["doc_id", "item"],
    "score": ["score", "bm25"],
    "label": ["label", "grade"],
    "subtopic": ["intent"],
    "category": ["genre"],
}
DESCRIBING: dict[str, list[Any]] = {
    **COLUMNS,
    "rank": ["rank", "place"],
    "names": ["pyterrier", "flat", ["rectools", "flat"]],
    "interactions": [INTERACTIONS],
    "items": [1000],
    "ascending": [True, False],
    "unjudged_labels": [(0, 3)],
    "collection_size": [10],
    "memory_limit": [10**9],
    "grouped": [True],
}
COUNTING: dict[str, list[Any]] = {
    "relevant": [1, 2],
    "ties": ["doc_desc", "order", "worst"],
    "unjudged": ["nonrelevant", "drop"],
    "unretrieved": ["missed", "drop"],
    "no_relevant": ["zero", "one", "null"],
    "depth": [10, 1],
    "scores": ["float32", "as_given"],
    "nothing_retrieved": ["count", "null"],
    "ranks": ["order"],
}
DEFAULTS: dict[str, Any] = {name: values[0] for name, values in COUNTING.items()} | {
    "depth": None,
    "scores": "as_given",
}
USUAL: dict[str, Any] = DEFAULTS | {
    "query": "query_id", "doc": ..., "score": "score", "label": "label", "subtopic": None, "category": None,
    "ascending": False, "interactions": None, "items": None, "unjudged_labels": None, "collection_size": None,
    "memory_limit": None, "grouped": False,
}  # fmt: skip
PRESETS: dict[str, dict[str, str]] = {
    "pyterrier": {"query": "qid", "doc": "docno", "score": "score", "label": "label"},
    "rectools": {"query": "user_id", "doc": "item_id", "score": "score", "label": "weight"},
    "flat": {},
}


def one_call(draw: random.Random) -> dict[str, Any]:
    """The options of a call of `on`."""
    known = {**DESCRIBING, **COUNTING}
    call = {name: draw.choice(known[name]) for name in draw.sample(list(known), draw.choice([0, 1, 1, 2, 3]))}
    if "rank" in call:
        call = {name: x for name, x in call.items() if name not in ("score", "ascending")}
    return call | ({"convention": draw.choice([*CONVENTIONS])} if draw.random() < 0.4 else {})


def meant(calls: list[dict[str, Any]]) -> dict[str, Any] | str:
    """The rule: what `calls` set, call by call.

    A part of the error if a convention meets a choice that its tool does not make, or ranks as given one that numbers anew.
    """
    data: dict[str, Any] = {}
    chosen: dict[str, Any] = {}
    tool: dict[str, Any] = {}
    by_rank = False
    for call in calls:
        if "convention" in call:
            tool = {**DEFAULTS, **CONVENTIONS[call["convention"]].policies}
            if any(x != tool[name] for name, x in chosen.items() if name not in call):
                return "as set before"
        given = call.get("names", [])
        named: dict[str, Any] = {}
        for preset in [given] if isinstance(given, str) else given:
            named |= PRESETS[preset]
        named |= {name: x for name, x in call.items() if name in USUAL and name not in DEFAULTS}
        if "rank" in call:
            named |= {"score": call["rank"], "ascending": True}
        elif by_rank and "score" in named:  # scores follow ranks
            named = {"ascending": False, **named}
        by_rank = "rank" in call or (by_rank and not {"score", "ascending"} & {*named})
        data |= named
        chosen |= {name: x for name, x in call.items() if name in DEFAULTS}
        found = {**USUAL, **tool, **data, **chosen}
        if by_rank and (found["ranks"], found["unjudged"]) == ("as_given", "drop"):
            return "numbers the documents of a list anew"
    return found


def in_effect(setup: Any) -> dict[str, Any]:
    """What a ranker goes by, as :func:`meant` writes it."""
    parts = (setup.roles, setup.policies, setup.running, setup.background)
    found = {name: getattr(part, name) for part in parts for name in vars(part) if name in USUAL}
    query = found["query"]
    tables = {name: None if found[name] is None else "given" for name in ("interactions", "items")}
    return found | tables | {"query": query[0] if len(query) == 1 else list(query)}


def chained(ranker: Any, calls: list[dict[str, Any]]) -> Any:
    """The ranker after all calls of `on`."""
    for call in calls:
        ranker = ranker.on(**call)
    return ranker


@each("kind", ROOTS)
def test_calls_in_a_row_set_what_the_plain_rule_says(kind: str) -> None:
    draw, refused, several = random.Random(11), 0, 0
    for _ in range(300):
        calls = [one_call(draw) for _ in range(draw.choice([1, 2, 3, 4]))]
        wanted, found = meant(calls), ROOTS[kind]
        if isinstance(wanted, str):
            refused += 1
            with pytest.raises(rf.InvalidOption, match=wanted):
                chained(found, calls)
            continue
        found = chained(found, calls)
        given = {name: None if wanted[name] is None else "given" for name in ("interactions", "items")}
        assert in_effect(found._setup) == wanted | given, calls
        assert found._setup.flat == any("flat" in call.get("names", []) for call in calls)
        several += len(calls) > 1
    assert min(refused, several) > 50  # both answers are seen


def test_no_convention_describes_the_data() -> None:
    for tool in CONVENTIONS.values():
        for settings in (tool.policies, *tool.metrics.values()):
            assert not {*FACTS} & {*settings}


@each("kind", ["polars", "pandas", "lazy"])
def test_the_best_rank_stays_the_best_under_a_later_convention(kind: str) -> None:
    frames: dict[str, Any] = {"polars": RANKED, "pandas": PANDAS, "lazy": RANKED.lazy()}
    for tool in OF_RR:
        for ranker in (frames[kind].rank.on(rank="rank"), frames[kind].rank.on(score="rank", ascending=True)):
            found = ranker.on(convention=tool).evaluate("rr")
            assert (found.collect() if kind == "lazy" else found)["rr"].to_list() == [1.0], tool


def test_expressions_remember_the_direction_under_a_later_convention() -> None:
    on = rf.expr.on(rank="rank")
    for tool in OF_RR:
        assert RANKED.select(on.on(convention=tool).reciprocal_rank()).item() == 1.0, tool


def test_recommendations_that_were_judged_by_rank_stay_so_under_a_tools_convention() -> None:
    recs = pl.DataFrame({"user_id": [1, 1], "item_id": ["a", "b"], "rank": [1, 2]})
    test = pl.DataFrame({"user_id": [1], "item_id": ["a"]})
    mine = recs.rank.on(query="user_id", doc="item_id", rank="rank")
    judged = mine.judge(test)
    assert judged.rank.on(like=mine, convention="rectools").mean("rr")["rr"].item() == 1.0
    of_pandas = recs.to_pandas().rank.on(like=mine).judge(test.to_pandas())
    assert of_pandas.rank.on(like=mine, convention="rectools").mean("rr")["rr"].item() == 1.0


BOTH_WAYS = (
    pl.DataFrame(  # one relevant document at every depth, graded, unjudged and unretrieved ones; no two ranks equal
        {
            "query_id": [q for q in ("a", "b", "c") for _ in range(6)],
            "doc_id": [f"d{i}" for i in range(6)] * 3,
            "place": [1, 2, 3, 4, 5, None, 2, 1, 4, 3, None, 5, 3, 1, 5, 2, 4, 6],
            "label": [0, 1, 0, None, 2, 1, 1, 0, 2, 0, 1, None, 0, 0, 0, 1, 0, 2],
            "sold": [5, 1, 4, 2, 3, 6] * 3,
        },
        schema_overrides={"place": pl.Int64, "label": pl.Int64},
    ).with_columns(score=-pl.col("place"), unsold=-pl.col("sold"))
)
BESIDE = {
    "interactions": pl.DataFrame({"query_id": list("aabbcc"), "doc_id": [f"d{i}" for i in range(6)]}),
    "items": pl.DataFrame(
        {
            "doc_id": [f"d{i}" for i in range(6)],
            "genre": ["x", "y"] * 3,
            "provider": ["F", "M", "M"] * 2,
            "feature": [0.1, 0.5, 0.2, 0.9, 0.4, 0.3],
        }
    ),
    "category": "genre",
    "group": "provider",
    "features": "feature",
}


BY_SCORE = BOTH_WAYS.rank.on(**BESIDE, score="score", base="unsold")
BY_RANK = BOTH_WAYS.rank.on(**BESIDE, rank="place", base="sold")


def test_a_rank_is_a_negative_score_for_every_metric_of_every_convention() -> None:
    n = 0
    for tool, convention in CONVENTIONS.items():
        texts = {name: TEXTS.get(name, name) for name in convention.metrics if name in rf.METRICS}
        ranked_later = BOTH_WAYS.rank.on(convention=tool).on(**BESIDE, rank="place", base="sold")
        wanted = BY_SCORE.on(convention=tool).evaluate(*texts.values())
        assert BY_RANK.on(convention=tool).evaluate(*texts.values()).equals(wanted), tool
        assert ranked_later.evaluate(*texts.values()).equals(wanted), tool
        n += sum(column.count() > 0 for column in wanted.drop("query_id"))
    assert n > 200


TEXTS = {
    "ndcg": "ndcg@3",
    "interpolated_precision": "iprec@0.5",
    "r_precision_multiple": "r_precision_multiple@2",
    "pfound": "pfound(max_label=4)",
    "err": "err(max_label=4)",
    "nerr": "nerr(max_label=4)",
    "partial_auc": "partial_auc@2",
}


def test_a_rank_is_a_negative_score_in_every_row_of_the_table_of_conventions() -> None:
    tools = set()
    for name in ("ndcg@3", "recall@2", "tail_share", "ild", "least_item_promoted"):
        wanted = BY_SCORE.conventions(name).table
        assert BY_RANK.conventions(name).table.equals(wanted)
        tools |= {*wanted.drop_nulls("value")["tool"]}
    assert tools == {"rankframe", *CONVENTIONS}
    tied = BOTH_WAYS.with_columns(place=pl.col("place") // 2, score=-(pl.col("place") // 2)).rank
    by_score, by_rank = (tied.on(score="score"), tied.on(rank="place"))
    ours, theirs = by_rank.conventions("rr").table, by_score.conventions("rr").table
    others = pl.col("tool") != "rectools"  # whose ranks count as given, and differ
    assert ours.filter(others).equals(theirs.filter(others))
    refused = ours.filter(~others)
    assert refused["value"].to_list() == [None]
    assert "share a rank" in refused["note"].item() or "no whole number" in refused["note"].item()


# choices


def test_a_convention_that_counts_otherwise_than_was_set_is_refused_with_the_call_that_keeps_it() -> None:
    ranker = RANKED.rank.on(rank="rank", relevant=2, depth=10)
    with pytest.raises(rf.InvalidOption) as error:
        ranker.on(convention="ranx")
    assert str(error.value) == (
        "ranx counts by relevant=1, depth=None, not by relevant=2, depth=10 as set before; to keep that, say "
        "df.rank.on(convention='ranx', relevant=2, depth=10)"
    )
    kept = ranker.on(convention="ranx", relevant=2, depth=10)
    assert kept._setup == RANKED.rank.on(convention="ranx").on(rank="rank", relevant=2, depth=10)._setup
    assert kept.evaluate("rr")["rr"].item() == 0  # no label is 2


def test_a_choice_that_the_tool_makes_too_stays_for_all_of_its_metrics() -> None:
    # by hand: nothing is relevant, which CatBoost counts 1 in nDCG, and 0 in most other metrics
    nothing = RANKED.with_columns(label=0).rank.on(rank="rank")
    assert nothing.on(convention="catboost").evaluate("ndcg")["ndcg"].item() == 1
    for ranker in (
        nothing.on(no_relevant="zero").on(convention="catboost"),
        nothing.on(convention="catboost", no_relevant="zero"),
    ):
        assert ranker.evaluate("ndcg")["ndcg"].item() == 0


def test_a_choice_beside_one_convention_is_not_lost_to_the_next() -> None:
    both = RANKED.rank.on(convention="ranx").on(convention="spark")
    assert both._setup == RANKED.rank.on(convention="spark")._setup
    with pytest.raises(rf.InvalidOption, match="spark counts by relevant=1, not by relevant=2 as set before"):
        RANKED.rank.on(convention="ranx", relevant=2).on(convention="spark")


def test_a_default_that_was_set_is_a_choice() -> None:
    with pytest.raises(rf.InvalidOption, match=r"lightgbm counts by relevant=0\.5\d*, not by relevant=1 as set"):
        RANKED.rank.on(relevant=1).on(convention="lightgbm")


def test_the_table_of_conventions_counts_by_each_tools_choices_whatever_was_set() -> None:
    # by hand: with relevant=2 nothing is relevant; by the tools' own choices the first document is
    table = RANKED.rank.on(rank="rank", relevant=2).conventions("rr").table.filter(tool="ranx")
    assert table.select("value", "differs_by").row(0) == (1.0, "relevant=1")


def test_a_kernel_ranks_by_rank_under_a_convention() -> None:
    kernel = rf.arrow_kernel("rr", rank="rank", convention="ranx")
    assert kernel(RANKED.to_arrow())["rr"].to_pylist() == [1.0]
