"""Interleaved lists: by hand, against the papers' own steps in plain Python, by all coins, and by the law of large numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any
from unittest.mock import patch

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import stats

import rankframe as rf
from rankframe._statistics.interleaving import NO_TEAM, Clicks, Method, Pick, interleaved, outcomes
from rankframe._support.draws import seeds_of, uniforms
from tests.support.each import each

METHODS: list[Method] = ["team_draft", "balanced", "probabilistic"]
A, B = "abcdgh", "beafgh"
HEADS, TAILS = 0.0, 0.9
"""A coin that lets team 1 pick first, or team 0."""


def by_letter(method: Method, a: str, b: str, draws: Sequence[float]) -> list[tuple[str, int]]:
    """The list of documents that are letters, each with its team."""
    runs = [[ord(doc) for doc in run] for run in (a, b)]
    return [(chr(doc), team) for doc, team, _ in interleaved(method, runs, np.array(draws))]


def read(text: str) -> list[tuple[str, int]]:
    """A list as ``a0 b1 e1``; a document without a team has none."""
    return [(word[0], int(word[1:] or NO_TEAM)) for word in text.split()]


@each(
    ("method", "coins", "wanted"),
    [
        ("balanced", [TAILS], "a0 b1 e1 c0 d0 f1 g0 h0"),
        ("balanced", [HEADS], "b1 a0 e1 c0 f1 d0 g1 h1"),
        ("team_draft", [TAILS, TAILS, TAILS, TAILS], "a0 b1 c0 e1 d0 f1 g0 h1"),
        ("team_draft", [HEADS, TAILS, HEADS, HEADS], "b1 a0 c0 e1 f1 d0 g1 h0"),
        ("team_draft", [TAILS, HEADS, TAILS, HEADS], "a0 b1 e1 c0 d0 f1 g1 h0"),
    ],
)
def test_two_rankings_are_interleaved_as_by_hand(method: Method, coins: list[float], wanted: str) -> None:
    draws = [*coins, *[TAILS] * (16 - len(coins))]
    assert by_letter(method, A, B, draws) == read(wanted)
    assert by_letter(method, A, B, draws[:6]) == read(wanted)[:3]


@each("method", ["team_draft", "balanced"])
def test_a_document_of_a_team_is_its_own_in_full(method: Method) -> None:
    shown = interleaved(method, [[1, 2, 3], [4, 1, 5]], np.array([TAILS] * 6))
    assert {credit for _, team, credit in shown if team != NO_TEAM} == {1.0}


@each(
    ("method", "a", "b", "coin", "wanted"),
    [
        ("team_draft", "x", "xyz", TAILS, "x0 y z"),  # after x, team 0 has nothing to pick, and y would be no fair pick
        ("team_draft", "x", "xyz", HEADS, "x1 y z"),
        ("team_draft", "xy", "zuv", HEADS, "z1 x0 u1 y0 v"),
        ("balanced", "x", "yz", TAILS, "x0 y1 z"),
        ("balanced", "x", "xyz", HEADS, "x1 y z"),
        ("probabilistic", "x", "xyz", TAILS, "x0 y z"),
        ("team_draft", "", "xy", TAILS, "x y"),
        ("balanced", "xy", "", TAILS, "x y"),
        ("probabilistic", "", "x", TAILS, "x"),
    ],
)
def test_below_the_end_of_the_shorter_ranking_documents_have_no_team(
    method: Method, a: str, b: str, coin: float, wanted: str
) -> None:
    assert by_letter(method, a, b, [coin] * 2 * len({*a, *b})) == read(wanted)


def lists_of_papers(method: Method, a: Sequence[str], b: Sequence[str], first: Iterator[bool]) -> Iterator[str]:
    """The algorithms of Chapelle et al. (2012), whose lists end where one ranking does; `first`: whether A's coin fell."""
    shown: list[str] = []
    if method == "balanced":
        ka = kb = 0
        a_first = next(first)
        while ka < len(a) and kb < len(b):
            if ka < kb or (ka == kb and a_first):
                doc, ka = a[ka], ka + 1
            else:
                doc, kb = b[kb], kb + 1
            if doc not in shown:
                shown.append(doc)
                yield doc
        return
    teams: tuple[list[str], list[str]] = ([], [])
    while {*a} - {*shown} and {*b} - {*shown}:
        own = len(teams[0]) < len(teams[1]) or (len(teams[0]) == len(teams[1]) and next(first))
        doc = next(doc for doc in (a if own else b) if doc not in shown)
        teams[not own].append(doc)
        shown.append(doc)
        yield doc


@each("method", ["team_draft", "balanced"])
def test_lists_are_those_of_the_algorithms_as_they_were_published(method: Method) -> None:
    rng = np.random.default_rng(0)
    for _ in range(200):
        a, b = ("".join(rng.permutation([*"abcdefghij"])[: rng.integers(1, 9)]) for _ in range(2))
        draws = rng.random(20)
        found = by_letter(method, a, b, [*draws])
        wanted = list(lists_of_papers(method, a, b, (draw >= 0.5 for draw in draws)))
        assert [doc for doc, _ in found][: len(wanted)] == wanted
        assert {doc for doc, _ in found} == {*a, *b}


def chance(a: str, b: str, shown: Sequence[str], teams: Sequence[int]) -> float:
    """The probability that the teams draw these documents one after the other (Hofmann et al., 2011), with its coins."""
    left, found = [{doc: (i + 1) ** -3 for i, doc in enumerate(run)} for run in (a, b)], 1.0
    for doc, team in zip(shown, teams, strict=True):
        found *= left[team].get(doc, 0.0) / sum(left[team].values()) / 2
        for run in left:
            run.pop(doc, None)
    return found


def test_documents_are_drawn_with_chances_that_fall_with_their_ranks() -> None:
    rng, times, seen = np.random.default_rng(1), 8_000, dict[tuple[str, ...], int]()
    for draws in rng.random((times, 4)):
        shown = tuple(doc for doc, _ in by_letter("probabilistic", "abc", "cad", [*draws]))
        seen[shown] = seen.get(shown, 0) + 1
    pairs = [(x, y) for x in "abcd" for y in "abcd" if x != y]
    wanted = {p: sum(chance("abc", "cad", p, teams) for teams in product((0, 1), repeat=2)) for p in pairs}
    assert sum(wanted.values()) == pytest.approx(1)
    likely = [p for p in pairs if wanted[p] * times > 5]
    counts = [*(seen.get(p, 0) for p in likely), times - sum(seen.get(p, 0) for p in likely)]
    expected = [*(wanted[p] * times for p in likely), times - sum(wanted[p] * times for p in likely)]
    assert stats.chisquare(counts, expected).pvalue > 1e-3


def picks(found: Sequence[Pick], ranked: Sequence[str], clicked: Sequence[int]) -> Clicks:
    """The clicks on some places of a list."""
    own = [found[i] for i in clicked]
    ranks = [[ranked[team].find(chr(doc)) + 1 or np.inf for team in (t, 1 - t)] for doc, t, _ in own]
    teams = np.array([team for _, team, _ in own], dtype=np.int64)
    credit = np.array([x for _, _, x in own], dtype=float)
    return Clicks(np.zeros(len(own), dtype=np.int64), teams, credit, *np.array(ranks, dtype=float).reshape(-1, 2).T)


def test_probabilistic_credit_is_the_expectation_over_all_assignments_of_documents_to_teams() -> None:
    rng = np.random.default_rng(2)
    for _ in range(60):
        a, b = ("".join(rng.permutation([*"abcdef"])[: rng.integers(4, 7)]) for _ in range(2))
        runs = [[ord(doc) for doc in run] for run in (a, b)]
        found = interleaved("probabilistic", runs, rng.random(6))
        shown = [chr(doc) for doc, _, _ in found]
        clicked = [i for i in range(len(found)) if rng.random() < 0.6]
        ways = {teams: chance(a, b, shown, teams) for teams in product((0, 1), repeat=len(shown))}
        signs = {teams: np.sign(sum(2 * teams[i] - 1 for i in clicked)) for teams in ways}
        wanted = sum(ways[teams] * signs[teams] for teams in ways) / sum(ways.values())
        assert outcomes("probabilistic", picks(found, (a, b), clicked), 1).item() == pytest.approx(wanted)


@each(
    ("clicked", "winner"),
    [
        ("", 0), ("a", 1), ("b", -1), ("e", -1), ("ae", 0), ("c", 1), ("be", -1), ("abe", 0), ("bc", 1), ("abc", 1), ("ce", 0), ("h", 0), ("g", 0),
    ],
)  # fmt: skip
def test_balanced_lists_credit_both_rankings_down_to_the_lowest_click(clicked: str, winner: int) -> None:
    """The list a b e c d f g h of the rankings a b c d g h (1) and b e a f g h (-1)."""
    found = interleaved("balanced", [[ord(doc) for doc in run] for run in (A, B)], np.array([TAILS] * 16))
    at = [i for i, (doc, _, _) in enumerate(found) if chr(doc) in clicked]
    assert outcomes("balanced", picks(found, (A, B), at), 1).item() == -winner


COINS = [np.array(x) for x in product((HEADS, TAILS), repeat=4)]


def outcomes_of(method: Method, a: str, b: str, all_draws: Sequence[Any], clicked: Sequence[int]) -> Any:
    """The outcomes of the same clicks on the lists of many draws."""
    lists = [interleaved(method, [[*map(ord, a)], [*map(ord, b)]], x) for x in all_draws]
    return np.array([outcomes(method, picks(x, (a, b), clicked), 1).item() for x in lists])


@each("clicked", [[0], [1], [3], [0, 1], [1, 2], [0, 2, 3]])
def test_clicks_on_any_ranks_whatever_they_show_prefer_no_run_on_average(clicked: list[int]) -> None:
    all_coins = [np.repeat(coins, 2) for coins in COINS]
    assert outcomes_of("team_draft", "abcd", "caeb", all_coins, clicked).mean() == 0
    found = outcomes_of("probabilistic", "abcd", "caeb", [*np.random.default_rng(3).random((800, 8))], clicked)
    assert abs(found.mean()) < 4 * found.std() / len(found) ** 0.5


def test_of_shifted_rankings_balanced_lists_prefer_one_though_clicks_are_random() -> None:
    """The flaw that Chapelle et al. (2012) name: lists a b c d and b a c d of the rankings a b c d and b c d a."""
    both = [np.repeat(x, 8) for x in (HEADS, TAILS)]
    found = [outcomes_of("balanced", "abcd", "bcda", both, [rank]).mean() for rank in range(4)]
    assert found == [0, 0, 1, 1]  # c and d are nearer to the top of the second one


# the verb

RNG = np.random.default_rng(4)
QUERIES, DOCS = 60, 12
DF = pl.DataFrame({
    "query_id": np.repeat([f"q{i}" for i in range(QUERIES)], DOCS),
    "doc_id": [f"d{i}" for i in range(DOCS)] * QUERIES,
    "old": RNG.integers(0, 9, QUERIES * DOCS).astype(float),
    "new": RNG.random(QUERIES * DOCS),
    "label": RNG.integers(0, 3, QUERIES * DOCS),
}).with_columns(pl.when(pl.Series(RNG.random(QUERIES * DOCS) < 0.8)).then("new").alias("new"))  # fmt: skip
LONG = DF.unpivot(["new", "old"], index=["query_id", "doc_id", "label"], variable_name="run", value_name="score")


def in_order(found: Any) -> pl.DataFrame:
    found = pl.from_pandas(found.reset_index(drop="query_id" in found)) if isinstance(found, pd.DataFrame) else found
    return found.lazy().collect().sort("query_id", "rank")


@each("method", METHODS)
def test_a_list_depends_on_its_query_and_the_seed_alone(method: Method) -> None:
    shuffled, options = DF.sample(fraction=1, shuffle=True, seed=1), {"runs": ["new", "old"], "method": method, "k": 5}
    wanted = in_order(DF.rank.clicks.interleave(**options))
    forms = {
        "rows in another order": shuffled.rank.clicks.interleave(**options),
        "rows per run": LONG.sample(fraction=1, shuffle=True, seed=2).rank.clicks.interleave(
            run="run", method=method, k=5
        ),
        "pandas": shuffled.to_pandas().rank.clicks.interleave(**options),
        "lazy": shuffled.lazy().rank.clicks.interleave(**options),
        "lazy rows per run": LONG.lazy().rank.clicks.interleave(run="run", method=method, k=5),
        "in buckets": shuffled.lazy().rank.on(memory_limit="20 KB").clicks.interleave(**options),
        "half of the queries": pl.concat(
            DF.filter(pl.col("query_id").str.ends_with("1") == x).rank.clicks.interleave(**options)
            for x in (True, False)
        ),
    }
    with patch("rankframe._plan.parts.ROWS_OF_THREAD", 1), patch("rankframe._plan.parts.threads", lambda: 3):
        forms["in parts"] = shuffled.rank.clicks.interleave(**options)
    for form, found in forms.items():
        assert in_order(found).equals(wanted), form
    other = in_order(DF.rank.clicks.interleave(**options, seed=1))
    assert not other.equals(wanted)
    longer = in_order(DF.rank.clicks.interleave(**options | {"k": 8})).filter(pl.col("rank") <= 5)
    assert longer.equals(wanted)


def test_rows_of_a_list_have_its_ranks_its_teams_and_the_labels() -> None:
    found = DF.rank.clicks.interleave(runs=["old", "new"], k=None)
    assert found.columns == ["query_id", "doc_id", "rank", "team", "credit", "team_rank", "other_rank", "label"]
    assert found.dtypes[2:7] == [pl.UInt32, pl.String, pl.Float64, pl.UInt32, pl.UInt32]
    assert (
        found["query_id"].unique(maintain_order=True).to_list() == DF["query_id"].unique(maintain_order=True).to_list()
    )
    old, new = (DF.rank.on(score=run).with_ranks().select("query_id", "doc_id", "rank") for run in ("old", "new"))
    both = found.join(old, on=["query_id", "doc_id"], suffix="_old").join(new, on=["query_id", "doc_id"], suffix="_new")
    for team, own, other in (("old", "rank_old", "rank_new"), ("new", "rank_new", "rank_old")):
        of_team = both.filter(team=team)
        assert of_team["team_rank"].equals(of_team[own].alias("team_rank"))
        assert of_team["other_rank"].equals(of_team[other].alias("other_rank"))
    labels = found.join(DF, on=["query_id", "doc_id"], maintain_order="left")["label_right"]
    assert labels.equals(found["label"].alias("label_right"))
    listed = DF.filter(pl.col("old").is_not_null() | pl.col("new").is_not_null())
    assert found.height == listed.height
    assert (
        found.group_by("query_id").agg(pl.col("rank").sort() == pl.int_range(1, pl.len() + 1))["rank"].list.all().all()
    )
    none = found.filter(pl.col("team").is_null())
    assert none.height
    assert none.select("credit", "team_rank", "other_rank").null_count().row(0) == (none.height,) * 3


def test_the_draws_of_a_query_come_from_its_id() -> None:
    one = pl.DataFrame({"q": [7] * 3, "doc_id": [*"abc"], "a": [3, 2, 1], "b": [1, 2, 3]})
    found = one.rank.on(query="q").clicks.interleave(runs=["a", "b"], seed=3)
    coins = uniforms(seeds_of(one[:1], ["q"], 3), 6)[:, 0]
    wanted = by_letter("team_draft", "abc", "cba", [*coins])
    assert list(found.select("doc_id", pl.col("team").replace_strict({"a": 0, "b": 1})).iter_rows()) == wanted
    first = (
        pl.concat(one.with_columns(q=pl.lit(i)) for i in range(2000))
        .rank.on(query="q")
        .clicks.interleave(runs=["a", "b"], k=1)
    )
    assert stats.binomtest(int((first["team"] == "a").sum()), 2000).pvalue > 1e-3


def test_a_query_that_no_run_answers_has_no_list_and_an_empty_table_none() -> None:
    nulls = {"a": pl.Series([None], dtype=pl.Float64), "b": pl.Series([None], dtype=pl.Float64)}
    df = pl.DataFrame({"query_id": [1], "doc_id": ["x"], **nulls})
    schema = {"query_id": pl.Int64, "doc_id": pl.String, "rank": pl.UInt32, "team": pl.String, "credit": pl.Float64,
              "team_rank": pl.UInt32, "other_rank": pl.UInt32}  # fmt: skip
    for table in (df, df.clear()):
        assert dict(table.rank.clicks.interleave(runs=["a", "b"]).schema) == schema
        assert table.rank.clicks.interleave(runs=["a", "b"]).is_empty()
    assert LONG.clear().rank.clicks.interleave(run="run").is_empty()


@each(
    ("call", "error", "message"),
    [
        (lambda: DF.rank.clicks.interleave(), rf.InvalidOption, "name the runs: runs="),
        (lambda: DF.rank.clicks.interleave(runs=["old"]), rf.InvalidOption, r"runs=\['old'\] names 1 runs, and two are interleaved"),
        (lambda: DF.rank.clicks.interleave(runs=["old", "new", "label"]), rf.InvalidOption, "names 3 runs, and two are interleaved"),
        (lambda: LONG.filter(run="old").rank.clicks.interleave(run="run"), rf.InvalidOption, "run='run' names 1 runs"),
        (lambda: DF.rank.on(ties="expected").clicks.interleave(runs=["old", "new"]), rf.InvalidOption, "interleave needs one, as with"),
        (lambda: DF.drop("doc_id").rank.clicks.interleave(runs=["old", "new"]), rf.MissingColumn, "no column 'doc_id' for doc"),
        (lambda: DF.rank.clicks.interleave(runs=["old", "nwe"]), rf.MissingColumn, "no column 'nwe' for runs"),
        (lambda: DF.rank.clicks.interleave(runs=["old", "new"], method="draft"), rf.InvalidOption, "write one of 'team_draft'"),
        (lambda: DF.rank.clicks.interleave(runs=["old", "new"], k=0), rf.InvalidOption, "k=0: write a whole number from 1 on or None"),
        (lambda: DF.rank.on(label="team").clicks.interleave(runs=["old", "new"]), rf.InvalidOption, "a second column 'team'"),
        (lambda: pl.concat([DF, DF]).rank.clicks.interleave(runs=["old", "new"]), rf.InvalidData, "holds the same 'doc_id' twice"),
        (lambda: DF.with_columns(old=pl.lit(float("nan"))).rank.clicks.interleave(runs=["old", "new"]), rf.InvalidData, "holds NaN"),
    ],
    ids=lambda x: x if isinstance(x, str) else None,
)  # fmt: skip
def test_what_cannot_be_interleaved_says_why(call: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call()


@each("dtype", [pl.Int64, pl.UInt8, pl.String, pl.Categorical, pl.Float64])
def test_queries_and_documents_may_have_ids_of_any_type(dtype: Any) -> None:
    df = pl.DataFrame({"query_id": [1, 1, 2, 2], "doc_id": [1, 2, 1, 2], "a": [1, 2, 1, None], "b": [2, 1, 1, 2]})
    text = df.cast({"query_id": pl.String, "doc_id": pl.String})
    own = (text if dtype == pl.Categorical else df).cast({"query_id": dtype, "doc_id": dtype})
    found = own.rank.clicks.interleave(runs=["a", "b"])
    assert found.schema["doc_id"] == dtype
    assert found["rank"].to_list() == [1, 2, 1, 2]
