"""Runs one under the other without documents, clicks on the order shown, items that users had: figures by hand."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import polars as pl
import pytest

import rankframe as rf
from tests.support.each import each

QUERIES = 20

FORMS: dict[str, Callable[[pl.DataFrame], Any]] = {
    "polars": lambda df: df.rank,
    "pandas": lambda df: df.to_pandas().rank,
    "lazy": lambda df: df.lazy().rank,
    "spilled": lambda df: df.lazy().rank.on(memory_limit=1_000),
    "grouped": lambda df: df.sort("query_id").lazy().rank.on(grouped=True, memory_limit=1_000),
}


def warned(ask: Callable[[], Any]) -> list[str]:
    """The warnings of a call, a lazy result collected."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = ask()
        if isinstance(found, pl.LazyFrame):
            found.collect()
    return [str(warning.message) for warning in caught]


def lists(queries: int = QUERIES, **columns: list[Any]) -> pl.DataFrame:
    """The same rows in each query, with these columns."""
    n = len(next(iter(columns.values())))
    ids = [query for query in range(queries) for _ in range(n)]
    return pl.DataFrame({"query_id": ids, **{name: values * queries for name, values in columns.items()}})


# -------------------------------------------------------------------------------------------- runs one under the other

FIRST = lists(score=[4.0, 3, 1], label=[1, 0, 0]).with_columns(model=pl.lit("a"))
SECOND = lists(score=[6.0, 5, 2], label=[0, 1, 0]).with_columns(model=pl.lit("b"))
STACKED = pl.concat([FIRST, SECOND])
"""RR is 1 for a, 1/2 for b, and 1/2 for both as one ranking: 6, 5, 4 ..., of which the second is relevant."""

SAYS_STACKED = "column 'model' holds 2 runs of every query, which are ranked as one; say run='model' where runs are compared, else "


@each("form", FORMS)
def test_runs_stacked_in_a_table_without_documents_are_told_of_in_every_form(form: str) -> None:
    (said,) = warned(lambda: FORMS[form](STACKED).mean("rr"))
    assert said.startswith(f"{SAYS_STACKED}df.rank.on(query=['model', 'query_id'])")


def test_runs_that_are_named_are_ranked_apart() -> None:
    with pytest.warns(rf.RankframeWarning, match="ranked as one"):
        assert STACKED.rank.mean("rr").item() == 0.5  # the trap
    found = STACKED.rank.mean("rr", run="model")
    assert found.rows() == [("a", 1.0), ("b", 0.5)]
    by_run = STACKED.rank.on(query=["model", "query_id"]).evaluate("rr")
    assert by_run.group_by("model", maintain_order=True).agg(pl.col("rr").mean()).rows() == [("a", 1.0), ("b", 0.5)]
    assert not warned(lambda: STACKED.rank.on(query=["model", "query_id"]).mean("rr", by="model"))
    problems = STACKED.rank.check().rows["problem"].to_list()
    assert "runs stacked" in problems
    assert "runs stacked" not in STACKED.rank.on(query=["model", "query_id"]).check().rows["problem"].to_list()


def test_runs_are_seen_where_the_first_rows_are_those_of_one() -> None:
    first, second = (lists(3_000, score=s, label=x) for s, x in (([4.0, 3], [1, 0]), ([6.0, 5], [0, 1])))
    tall = pl.concat([first.with_columns(system=pl.lit("a")), second.with_columns(system=pl.lit("b"))])
    for ask in (lambda: tall.rank.mean("rr"), lambda: tall.lazy().rank.mean("rr")):
        (said,) = warned(ask)
        assert "column 'system' holds 2 runs" in said


NO_STACKS = {
    "each query has one": STACKED.with_columns(model=pl.when(pl.col("query_id") % 2 == 0).then(pl.lit("a")).otherwise(pl.lit("b"))),
    "one run": FIRST,
    "another name": STACKED.rename({"model": "section"}),
    "documents": STACKED.with_columns(doc_id=pl.int_range(pl.len()).over("query_id")),
}  # fmt: skip


@each("name", NO_STACKS)
def test_other_columns_are_no_stacked_runs(name: str) -> None:
    assert not [text for text in warned(lambda: NO_STACKS[name].rank.mean("rr")) if "ranked as one" in text]


# ------------------------------------------------------------------------------------------- clicks on the order shown

# Two of four documents are relevant. Users see the first, and every other user the second; the new run begins with that one.
LOG = pl.concat(
    [
        lists(doc_id=list("abcd"), position=[1, 2, 3, 4], score=[2.0, 4, 1, 3], label=[1, clicked, 0, 0]).with_columns(
            pl.col("query_id") + QUERIES * clicked
        )
        for clicked in (0, 1)
    ]
)


def problems(df: Any, **options: Any) -> list[str]:
    return list(df.rank.on(**options).check().rows["problem"])


def test_clicks_that_follow_a_column_of_positions_are_told_of_whatever_score_is_evaluated() -> None:
    assert "clicks on the order shown" in problems(LOG)
    assert problems(LOG, rank="position") == []  # as good ranks with judgments are
    clicked = LOG.rename({"label": "clicked"})
    assert "clicks on the order shown" in problems(clicked, rank="position", label="clicked")
    found = LOG.rank.check().rows.filter(problem="clicks on the order shown")
    assert "column 'position' is the order" in found["advice"].item()
    assert found["advice"].item().endswith("how often users see each rank, df.rank.on(propensity=...)")

    def of(ranker: Any) -> float:
        return float(ranker.mean("dcg@1").item())

    assert (of(LOG.rank.on(rank="position")), of(LOG.rank)) == pytest.approx(
        (1.0, 0.5)
    )  # the trap: the new run looks half as good
    seen = LOG.with_columns(p=pl.when(pl.col("position") == 1).then(1.0).otherwise(0.5))
    assert (of(seen.rank.on(rank="position", propensity="p")), of(seen.rank.on(propensity="p"))) == pytest.approx(
        (1.0, 1.0)
    )


def test_labels_that_are_called_clicks_warn_from_the_numbers_own_call() -> None:
    clicks = LOG.rename({"label": "clicked"}).rank.on(label="clicked")
    with pytest.warns(rf.RankframeWarning, match="labels are 0 and 1, fall with the rank, and column 'position' is"):
        clicks.mean("dcg@1")
    seen = LOG.with_columns(p=pl.when(pl.col("position") == 1).then(1.0).otherwise(0.5))
    seen.rename({"label": "clicked"}).rank.on(label="clicked", propensity="p").mean("dcg@1")


def test_labels_that_do_not_fall_with_the_position_are_no_clicks() -> None:
    falling = "clicks on the order shown"
    assert falling not in problems(LOG.with_columns(label=(pl.col("position") + pl.col("query_id")) % 2))
    assert falling not in problems(LOG.with_columns(label=pl.col("label") * 2))  # grades
    assert falling not in problems(LOG.with_columns(label=pl.when(pl.col("position") < 4).then("label")))  # judgments
    assert falling not in problems(LOG.with_columns(pl.col("position") * 2))  # no order of all that was shown
    assert falling not in problems(LOG.drop("position"))


# --------------------------------------------------------------------------------------------------- items of the past

USERS = lists(doc_id=list("abcd"), score=[4, 3, 2, 1], label=[0, 1, 0, 0])
PAST = lists(doc_id=["a", "z"])
"""Users chose a, which is recommended first to all of them again; they go on to choose b."""


@each("form", FORMS)
def test_recommended_items_that_the_user_has_are_told_of_with_their_share(form: str) -> None:
    ranker = FORMS[form](USERS).on(interactions=PAST)
    (said,) = warned(lambda: ranker.mean("rr"))
    says = "25% of recommended items are in the user's past, and none of them is relevant; leave them out, "
    assert said.startswith(f"{says}df.rank.items.without(train)")
    run, qrels = USERS.drop("label"), USERS.filter(label=1).select("query_id", "doc_id", "label")
    (said,) = warned(lambda: rf.mean(run, qrels, "rr", interactions=PAST))
    assert said == f"{says.removesuffix(', ')} (it concerns rr)"


def test_without_items_of_the_past_the_next_choice_comes_first() -> None:
    with pytest.warns(rf.RankframeWarning, match="25% of recommended items are in the user's past"):
        assert USERS.rank.on(interactions=PAST).mean("rr").item() == 0.5  # the trap
    unseen = USERS.rank.items.without(PAST)
    assert unseen.rank.on(interactions=PAST).mean("rr").item() == 1.0  # a warning fails the test
    assert problems(USERS, interactions=PAST) == ["items seen before"]
    assert problems(unseen, interactions=PAST) == []


PASTS = {
    "people who buy again": lists(doc_id=["b"]),
    "other items": lists(doc_id=["x", "z"]),
    "an item below the cutoff": lists(doc_id=["d"]),
    "counts of items alone": pl.DataFrame({"doc_id": ["a", "z"], "n": [20, 1]}),
}


@each("name", PASTS)
def test_nothing_is_said_of_a_past_that_changes_nothing(name: str) -> None:
    assert not warned(lambda: USERS.rank.on(interactions=PASTS[name]).mean("rr", "precision@3"))


def test_a_check_leaves_interactions_that_do_not_fit_to_the_metrics() -> None:
    for past in (lists(doc_id=[1, 2]), pl.DataFrame({"user": [1], "doc_id": ["a"]})):
        assert "items seen before" not in problems(USERS, interactions=past)


def test_runs_of_several_systems_share_the_past_of_their_users() -> None:
    both = pl.concat([USERS.with_columns(run=pl.lit("old")), USERS.with_columns(run=pl.lit("new"))])
    said = warned(lambda: both.rank.on(interactions=PAST).mean("rr", run="run"))
    assert len(said) == 1
    assert "25% of recommended items" in said[0]
