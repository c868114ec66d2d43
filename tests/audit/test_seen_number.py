"""Whose number it is that somebody saw: a tool's, that of a single choice, or nobody's."""

from __future__ import annotations

import math
from typing import Any, get_args

import polars as pl
import pytest

import rankframe as rf
from rankframe._table.conventions import CONVENTIONS
from rankframe._table.policies import IN_WORDS as POLICIES_IN_WORDS, Policies, declared
from rankframe._verbs.audit.tool_comparison import IN_WORDS, explained, in_words
from rankframe._words import ranking
from tests.support.each import each

X = 1 / math.log2(3)

# One of two relevant documents was retrieved, first: its nDCG is 1 / (1 + X), and 1 where the ideal is as short.
SHORT = pl.DataFrame({"query_id": 1, "doc_id": ["a", "b"], "score": [1, None], "label": [1, 1]})


def says(found: pl.DataFrame) -> dict[str, str]:
    return dict(found.select("tool", "says").iter_rows())


def test_the_tool_that_prints_the_number_is_named_with_its_choices() -> None:
    found = SHORT.rank.conventions("ndcg@10", observed=1.0).table
    said = says(found)
    assert said["rankframe"] == "the definition says 0.6"
    assert said["mlflow"] == (
        "1.0 is what mlflow prints: its ideal has no more documents than were retrieved; the definition says 0.6"
    )
    assert said["sklearn"] == (
        "1.0 is what sklearn prints: ideals and numbers of relevant documents are made of retrieved documents only; "
        "the definition says 0.6"
    )
    assert said["haystack"] == "haystack prints 0.6, as the definition says"
    assert said["rectools"].startswith("rectools prints 0.2: its ideal has a best document at every rank")


def test_rows_come_by_closeness_with_their_difference() -> None:
    found = SHORT.rank.conventions("ndcg@10", observed=1.0).table
    assert found.columns == ["tool", "value", "difference", "metric", "differs_by", "note", "says"]
    apart = [abs(x) for x in found["difference"]]
    assert apart == sorted(apart)
    assert apart[0] == 0
    ours = found.filter(tool="rankframe").row(0, named=True)
    assert ours["difference"] == pytest.approx(1 / (1 + X) - 1)
    tied = pl.DataFrame({"query_id": 1, "doc_id": ["a", "b"], "score": [1, 1], "label": [1, 1]})
    unknown = tied.rank.conventions("map", observed=1).table.row(-1, named=True)  # Elliot has a cutoff always
    assert (unknown["tool"], unknown["difference"]) == ("elliot", None)
    assert unknown["says"] == "what elliot prints is not known here"


def test_the_definition_may_be_whose_number_it_is() -> None:
    said = says(SHORT.rank.conventions("recall@10", observed="0.50").table)
    assert said["rankframe"] == "0.50 is what the definition says"
    assert said["ranx"] == "0.50 is what ranx prints, as the definition says"
    assert "one choice" not in said


def table(*rows: tuple[int, str, float | None, int | None]) -> pl.DataFrame:
    schema = {"query_id": pl.Int64, "doc_id": pl.String, "score": pl.Float64, "label": pl.Int64}
    return pl.DataFrame(rows, schema=schema, orient="row")


TIED = table((1, "a", 1, 2), (1, "b", 1, 0))
GRADED = table((1, "a", 2, 1), (1, "b", 1, 2))
# Of three queries one has no relevant document, and one an unjudged document at the top.
MIXED = table((1, "a", 1, 0), (2, "a", 2, 1), (2, "b", 1, 2), (3, "a", 2, None), (3, "b", 1, 1))


@each(
    ("of", "metric", "observed", "choices"),
    [
        # b stands first by falling id and as given, which gives 0.25
        (table((1, "b", 1, 0), (1, "a", 1, 3)), "rbp(p=0.5)", "0.5", {"ties=doc_asc", "ties=best"}),
        (TIED, "rbp(p=0.5)", "0.375", {"ties=expected"}),
        # the relevant document has the higher one of two distances
        (table((1, "a", 2, 1), (1, "b", 1, 0)), "rbp(p=0.5)", "0.25", {"ascending=True"}),
        # 0.5 + 0.25 where both are relevant
        (GRADED, "rbp(p=0.5)", "0.25", {"relevant=2"}),
        # the relevant document is the second one
        (table((1, "a", 2, 0), (1, "b", 1, 1)), "ndcg@2", "0.5", {"discount=rank"}),
        (table((1, "a", 1, 1)), "map@4", "0.25", {"divisor=k"}),
        # (0 + 1 + 1/2) / 3 as it is defined
        (MIXED, "rr@7", "0.8333", {"no_relevant=one"}),
        (MIXED, "rr@7", "0.6667", {"unjudged=drop", "ascending=True"}),
        (MIXED, "rr@7", "0.1667", {"relevant=2"}),
        # b was not retrieved: half of the relevant documents were
        (SHORT, "eleven_point_average", "1.00", {"unretrieved=drop"}),
    ],
    ids=lambda x: x if isinstance(x, str) else "",
)
def test_where_no_tool_matches_every_single_choice_that_does_is_named(
    of: pl.DataFrame, metric: str, observed: str, choices: set[str]
) -> None:
    found = of.rank.conventions(metric, observed=observed).table
    alone = found.filter(tool="one choice")
    assert set(alone["differs_by"]) == choices
    assert says(found)["rankframe"].startswith(f"no tool here prints {observed}; the definition says ")
    for said in alone["says"]:
        assert said.startswith(f"{observed} is what one choice gives: ")
        assert "; the definition says " in said


def test_where_nothing_gives_the_number_the_row_of_rankframe_says_so() -> None:
    found = SHORT.rank.conventions("ndcg@10", observed=0.77).table
    assert says(found)["rankframe"] == (
        "no tool here prints 0.77, and no single choice gives it; the definition says 0.61"
    )
    assert "one choice" not in found["tool"]


@each(
    ("observed", "matches"),
    [(1.63, True), ("1.631", True), (1.6, True), (2, True), ("1.60", False), (1.64, False), (1 + X, True)],
)
def test_a_number_matches_to_the_digits_that_were_given(observed: float | str, matches: bool) -> None:
    # 1 + 1 / log2(3) is 1.63093
    said = says(SHORT.rank.conventions("ideal_dcg", observed=observed).table)["rankframe"]
    assert said.endswith("is what the definition says") == matches


@each("observed", ["high", "", "inf", math.nan, math.inf, True, [0.5]])
def test_what_is_no_number_is_refused_with_one_to_write(observed: Any) -> None:
    printed = r"is no number; give the one that was printed.*observed=0\.81"
    with pytest.raises(
        rf.InvalidOption, match=printed if isinstance(observed, str) else "write a finite number, text or None"
    ):
        SHORT.rank.conventions("ndcg@10", observed=observed)


def test_metrics_without_a_mean_and_with_two_columns_are_refused() -> None:
    with pytest.raises(rf.InvalidOption, match="relstring@3 is String, which has no mean"):
        SHORT.rank.conventions("relstring@3")
    with pytest.raises(rf.InvalidOption, match="unjudged='bounds' gives each metric two columns"):
        SHORT.rank.on(unjudged="bounds").conventions("ndcg@3")


def test_lazy_and_pandas_tables_find_the_same_tools() -> None:
    wanted = SHORT.rank.conventions("r_precision", observed=1.0).table
    assert wanted.height > 4
    lazy = SHORT.lazy().rank.conventions("r_precision", observed=1.0).table
    assert lazy.collect().equals(wanted)
    assert (
        SHORT.to_pandas().rank.conventions("r_precision", observed=1.0).table["says"].tolist()
        == wanted["says"].to_list()
    )


def test_choices_are_named_together_where_each_hides_the_other() -> None:
    # RecTools and RecBole leave out the query without a relevant document; alone that changes nothing where it is the
    # only query, but the value is another one: none
    nothing = SHORT.with_columns(label=0)
    row = nothing.rank.conventions("recall@10").table.filter(tool="rectools").row(0, named=True)
    assert (row["value"], row["differs_by"]) == (None, "no_relevant=null")
    assert row["says"] == "a query without a relevant document is left out"


def test_a_metric_is_explained_without_a_table() -> None:
    found = explained("precision@5")
    said = says(found)
    assert said["mlflow"] == (
        "documents with equal scores stay in the order given; "
        "it divides by the number of retrieved documents, at most the cutoff"
    )
    assert said["xgboost"].endswith("it divides by the number of retrieved documents, at most the cutoff")
    assert found.filter(tool="rankframe")["note"].item().startswith("Precision: the share of the top `k`")


# Every choice in words


def test_every_word_of_a_policy_is_said_in_words() -> None:
    assert set(POLICIES_IN_WORDS) == set(declared(Policies))
    for name, policy in declared(Policies).items():
        assert set(policy.words) == {word for word in POLICIES_IN_WORDS[name] if isinstance(word, str)}


def test_every_word_of_an_option_that_a_tool_sets_is_said_in_words() -> None:
    for tool, convention in CONVENTIONS.items():
        for name, settings in convention.metrics.items():
            metric = {**rf.METRICS, **rf.CATALOG_METRICS}[name]
            for option, value in settings.items():
                assert option in declared(Policies) or option in IN_WORDS, (tool, name, option)
                assert in_words(option, value, "x") != f"{option} is x"
            for option in {*metric.kinds} & {*IN_WORDS}:
                kind = metric.kinds[option]
                assert set(kind.words if kind else ()) <= {*IN_WORDS[option]}, (name, option)
    assert set(get_args(ranking.Ideal)) == set(IN_WORDS["ideal"])
