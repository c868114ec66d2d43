"""Preferences that people stated: measures as trec_eval prints them and by hand; strengths by hand, by SciPy and by simulation."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from polars.testing import assert_frame_equal
from scipy import optimize, stats

import rankframe as rf
from rankframe._statistics.preferences import strengths
from rankframe._table.trec_eval import PREFERENCES
from tests.support.each import each

RECORD = json.loads((Path(__file__).parents[1] / "data" / "trec_eval_prefs.json").read_text(encoding="utf-8"))
OF_PREFS = [record for record in RECORD["files"] if record["options"] == ["-R", "prefs"]]
GROUPS = {"group": "judgment_group", "subgroup": "judgment_subgroup"}


def judged(record: dict[str, str]) -> pl.DataFrame:
    judgments = rf.read_qrels(io.StringIO(record["judgments"]), format="prefs", label_dtype=pl.Float64)
    run = rf.read_run(io.StringIO(record["run"])).drop("run")
    return judgments.join(run, on=["query_id", "doc_id"], how="full", coalesce=True)


def printed(record: dict[str, str]) -> dict[str, dict[str, float]]:
    """The values by query and measure."""
    found: dict[str, dict[str, float]] = {}
    for line in record["printed"].splitlines():
        name, query, value = line.split("\t")
        if query != "all":
            found.setdefault(query, {})[name.strip()] = float(value)
    return found


@each("record", OF_PREFS)
@each("form", ["eager", "lazy", "in buckets", "pandas"])
def test_a_table_has_the_values_that_trec_eval_prints(form: str, record: dict[str, str]) -> None:
    df = judged(record).sample(fraction=1, shuffle=True, seed=1)
    ranker: Any = {
        "eager": lambda: df.rank,
        "lazy": lambda: df.lazy().rank,
        "in buckets": lambda: df.lazy().rank.on(memory_limit=1),
        "pandas": lambda: df.to_pandas().rank,
    }[form]()
    found = ranker.on(ties="doc_asc").preferences.evaluate(**GROUPS)
    rows = (
        found.reset_index().to_dict("records") if isinstance(found, pd.DataFrame) else found.lazy().collect().to_dicts()
    )
    assert {row["query_id"] for row in rows} == {*printed(record)}
    for row in rows:
        assert [*row] == ["query_id", *PREFERENCES]
        assert {name: row[name] for name in PREFERENCES} == pytest.approx(printed(record)[row["query_id"]], abs=5.1e-5)


A, B, C, D = ("a", 4.0), ("b", 3.0), ("c", 2.0), ("d", None)
"""Documents with their scores; d was not retrieved."""


@each(
    ("judgments", "values"),
    [
        # a over b, a over c, b over c: all met
        ({"u": {"1": {A: 2, B: 1, C: 0}}}, {"prefs_num_prefs_poss": 3, "prefs_num_prefs_ful": 3, "prefs_simp": 1}),
        # c over a and b (not met), d over a, b and c (d is not there): of three with both retrieved one, a over b, is met
        ({"u": {"1": {D: 3, C: 2, A: 1, B: 0}}}, {"prefs_simp": 1 / 6, "prefs_simp_ret": 1 / 3, "prefs_simp_imp": 1 / 6}),
        # a over d is met as d is not there; with both retrieved there is no preference
        ({"u": {"1": {A: 1, D: 0}}}, {"prefs_simp": 1, "prefs_simp_ret": 0, "prefs_simp_imp": 1, "prefs_num_prefs_ful_ret": 0}),
        # two people of three prefer a to b: the pair's share is 2/3; of the people, 1, 1 and 0
        ({x: {"1": {A: y, B: 1}} for x, y in (("u", 2), ("v", 2), ("w", 0))}, {"prefs_pair": 2 / 3, "prefs_avgjg": 2 / 3}),
        # u: a over b and a over c; v: c over b. Pairs: 1, 1 and 0; groups 1 and 0; preferences 2 of 3
        ({"u": {"1": {A: 2, B: 1, C: 1}}, "v": {"1": {C: 2, B: 1}}}, {"prefs_pair": 2 / 3, "prefs_avgjg": 1 / 2, "prefs_simp": 2 / 3}),
        # b over c in one part, c over a in another: b over a follows
        ({"u": {"1": {B: 2, C: 1}, "2": {C: 2, A: 1}}}, {"prefs_num_prefs_poss": 3, "prefs_num_prefs_ful": 1}),
        # one relevant, two not: only the first of these counts, as b over a; and itself, which is never met
        ({"u": {"1": {B: 1, A: 0, C: 0}}}, {"prefs_simp": 1 / 2, "prefs_avgjg_Rnonrel": 0 / 3}),
        # two relevant, one not: b over c and a over c are met; one more nonrelevant document is below both
        ({"u": {"1": {A: 1, B: 1, C: 0}}}, {"prefs_avgjg_Rnonrel": (2 + 2) / (2 + 2)}),
        ({"u": {"1": {A: 1, D: 1, C: 0}}}, {"prefs_avgjg_Rnonrel": (1 + 1) / (2 + 2), "prefs_avgjg_Rnonrel_ret": 1 / 1}),
        ({"u": {"1": {A: 1, B: 1}}}, {"prefs_simp": 0, "prefs_pair": 0, "prefs_avgjg": 0, "prefs_num_prefs_poss": 0}),
        ({"u": {"1": {A: 0, B: 0}}}, {"prefs_avgjg_Rnonrel": 0}),
    ],
    ids=lambda x: "",
)  # fmt: skip
def test_measures_of_preferences_by_hand(judgments: dict[str, Any], values: dict[str, float]) -> None:
    rows = [
        (1, group, subgroup, doc, score, label)
        for group, parts in judgments.items() for subgroup, levels in parts.items() for (doc, score), label in levels.items()
    ]  # fmt: skip
    df = pl.DataFrame(rows, schema=["query_id", "who", "part", "doc_id", "score", "label"], orient="row")
    found = df.rank.preferences.evaluate(*values, group="who", subgroup="part").row(0, named=True)
    assert {name: found[name] for name in values} == pytest.approx(values)


def test_documents_without_a_label_are_not_judged_and_a_query_without_judgments_has_zeros() -> None:
    df = pl.DataFrame(
        {"query_id": [1, 1, 1, 2], "doc_id": [*"abcx"], "score": [3.0, 2, 1, 1], "label": [None, 1, 0, None]}
    )
    found = df.rank.preferences.evaluate("prefs_simp", "prefs_num_prefs_poss")
    assert found.rows() == [(1, 1.0, 1.0), (2, 0.0, 0.0)]
    assert df.rank.on(depth=1).preferences.evaluate("prefs_simp").rows() == [(1, 0.0), (2, 0.0)]  # a alone is retrieved
    negative = pl.DataFrame({"query_id": 1, "doc_id": [*"abc"], "score": [2.0, 3, 1], "label": [2, 1, -1]})
    for ranker in (negative.rank, negative.rank.on(unjudged="drop")):  # c is the lowest of three, and retrieved
        assert ranker.preferences.evaluate("prefs_simp", "prefs_num_prefs_ful_ret").row(0) == (1, 2 / 3, 2.0)
    assert df.clear().rank.preferences.evaluate("prefs_simp").schema == {"query_id": pl.Int64, "prefs_simp": pl.Float64}


JUDGED = pl.DataFrame(
    {"query_id": [1] * 4, "doc_id": [*"abab"], "score": [2.0, 1, 2, 1], "label": [2, 1, 1, 2], "g": [*"uuvv"]}
)


@each(
    ("call", "error", "message"),
    [
        (lambda: JUDGED.rank.preferences.evaluate("prefs_smp", group="g"), rf.UnknownMetric, r"unknown measure 'prefs_smp'\. Did you mean 'prefs_simp'"),
        (lambda: JUDGED.rank.preferences.evaluate(group="h"), rf.MissingColumn, "no column 'h' for group"),
        (lambda: JUDGED.drop("label").rank.preferences.evaluate(group="g"), rf.MissingColumn, "no column 'label'"),
        (lambda: JUDGED.rank.preferences.evaluate(), rf.InvalidData, "a group judges a document twice in a subgroup"),
        (lambda: JUDGED.with_columns(u=pl.lit("x")).rank.preferences.evaluate(group="u", subgroup="g"), rf.InvalidData, "judgment group 'x' contradicts itself"),
        (lambda: JUDGED.with_columns(label=pl.Series([1, None, 0, None]), u=pl.lit("x")).rank.preferences.evaluate(group="u", subgroup="g"), rf.InvalidData, "or judges one 0 and more"),
        (lambda: JUDGED.with_columns(score=pl.Series([2.0, 1, 3, 1])).rank.preferences.evaluate(group="g"), rf.InvalidData, "holds the same 'doc_id' twice"),
        (lambda: JUDGED.rename({"query_id": "prefs_simp"}).rank.on(query="prefs_simp").preferences.evaluate("prefs_simp", group="g"), rf.InvalidOption, "a second column 'prefs_simp'"),
    ],
    ids=lambda x: x if isinstance(x, str) else None,
)  # fmt: skip
def test_judgments_that_state_no_preference_say_why(call: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call()


# strengths


def pairs(*rows: tuple[Any, ...]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=["query_id", "doc_a", "doc_b", "winner"], orient="row")


SIX_THREE_TWO = pairs(
    *[(1, "x", "y", "x")] * 4, *[(1, "y", "x", "x")] * 2, *[(1, "x", "y", "tie")] * 3, *[(1, "y", "x", "y")] * 2
)
"""x wins six times, in either column, and loses twice; three ties."""


def test_of_two_documents_the_odds_are_wins_to_losses_and_ties_go_by_their_geometric_mean() -> None:
    """Davidson's likelihood is largest where s / t = 6 / 2 and nu = 3 / sqrt(6 * 2); log s - log t varies by 1/6 + 1/2."""
    x, y = SIX_THREE_TWO.rank.preferences.bradley_terry().to_dicts()
    assert [x[name] for name in ("query_id", "doc_id", "wins", "ties", "losses")] == [1, "x", 6, 3, 2]
    assert (x["win_rate"], y["win_rate"]) == pytest.approx((7.5 / 11, 3.5 / 11))
    assert (x["strength"], y["strength"]) == pytest.approx((np.log(3) / 2, -np.log(3) / 2))
    nu = 3 / 12**0.5
    assert x["tie_rate"] == y["tie_rate"] == pytest.approx(nu / (2 + nu))
    half = stats.norm.ppf(0.975) * (1 / 6 + 1 / 2) ** 0.5 / 2
    assert (x["ci_low"], x["ci_high"]) == pytest.approx((np.log(3) / 2 - half, np.log(3) / 2 + half))
    wilson = stats.binomtest(3, 4).proportion_ci(0.9, "wilson")
    three = pairs(*[(1, "x", "y", "x")] * 3, (1, "x", "y", "y")).rank.preferences.bradley_terry(ci=0.9)
    assert three.row(0, named=True)["rate_low"] == pytest.approx(wilson.low)
    assert three.row(0, named=True)["rate_high"] == pytest.approx(wilson.high)
    assert three["tie_rate"].to_list() == [0, 0]


def likelihood(parameters: Any, first: Any, second: Any, outcome: Any, n: int, prior: float) -> float:
    """The negative logarithm of Davidson's likelihood, with imagined wins and losses."""
    s, log_nu = parameters[:n], parameters[n]
    odds = np.stack([s[first], log_nu + (s[first] + s[second]) / 2, s[second]])
    chosen = odds[outcome, np.arange(len(first))] - np.log(np.exp(odds).sum(axis=0))
    given = (
        s + log_nu + s / 2 - 3 * np.log(np.exp(s) + np.exp(log_nu + s / 2) + 1)
    )  # a win, a tie and a loss against strength 1
    return float(-chosen.sum() - prior * given.sum())


@each("prior", [0.0, 0.3])
@each("seed", range(6))
def test_strengths_are_where_scipy_finds_the_largest_likelihood(seed: int, prior: float) -> None:
    rng = np.random.default_rng(seed)
    n, m = int(rng.integers(2, 7)), 150
    first = rng.integers(0, n, m)
    second = (first + rng.integers(1, n, m)) % n
    true = rng.normal(0, 1, n)
    odds = np.exp(np.stack([true[first], (true[first] + true[second]) / 2, true[second]]))
    outcome = (rng.random(m) > np.cumsum(odds / odds.sum(axis=0), axis=0)).sum(axis=0)
    best = optimize.minimize(
        likelihood, np.zeros(n + 1), (first, second, outcome, n, prior), "BFGS", options={"gtol": 1e-8}
    )
    assert 1 in outcome
    found = strengths(first, second, outcome, n, prior=prior, clusters=None, ci=0.95)
    assert found.strength == pytest.approx(best.x[:n] - best.x[:n].mean(), abs=1e-5)
    nu = np.exp(best.x[n])
    assert found.tie == pytest.approx(nu / (2 + nu), abs=1e-5)
    centered = np.eye(n) - 1 / n
    hessian = optimize.approx_fprime(
        best.x, lambda x: optimize.approx_fprime(x, likelihood, 1e-5, first, second, outcome, n, prior), 1e-5
    )
    error = np.sqrt(np.diag(centered @ np.linalg.pinv(hessian, rcond=1e-6)[:n, :n] @ centered))
    assert (found.ends[1] - found.ends[0]) / 2 / stats.norm.ppf(0.975) == pytest.approx(error, rel=0.01)


def test_a_document_that_never_loses_has_no_finite_strength_unless_it_is_given_losses() -> None:
    df = pairs(
        (1, "x", "y", "x"),
        (1, "x", "y", "x"),
        (2, "x", "y", "x"),
        (2, "x", "y", "y"),
        (3, "x", "y", None),
        (4, "x", "y", "x"),
        (4, "x", "y", None),
    )
    found = df.rank.preferences.bradley_terry()
    assert found["query_id"].to_list() == [1, 1, 2, 2, 3, 3, 4, 4]
    assert found.filter(query_id=2)["strength"].to_list() == pytest.approx([0, 0])
    assert found.filter(pl.col("query_id") != 2).select("strength", "ci_low", "tie_rate").null_count().row(0) == (
        6,
        6,
        6,
    )
    assert found["win_rate"].to_list() == [1, 0, 0.5, 0.5, 0.5, 0.5, 0.75, 0.25]
    given = df.rank.preferences.bradley_terry(prior=0.5)
    assert given["strength"].null_count() == 0
    assert given.filter(query_id=3)["strength"].to_list() == pytest.approx([0, 0])
    s = given.filter(query_id=1)["strength"].to_list()
    assert s[0] == pytest.approx(-s[1])
    slope = 2 / (1 + np.exp(2 * s[0])) + 0.5 - 1 / (1 + np.exp(-s[0]))  # of the likelihood by the strength of x
    assert slope == pytest.approx(0, abs=1e-9)


def test_a_chain_of_comparisons_has_strengths_far_apart_and_ties_alone_tie_documents_together() -> None:
    """Each of twelve wins 10,000 of 10,001 comparisons with the next: their strengths are log 10,000 apart."""
    first = np.repeat(np.arange(11), 10_001)
    found = strengths(first, first + 1, np.tile([0] * 10_000 + [2], 11), 12, prior=0.0, clusters=None, ci=0.95)
    assert -np.diff(found.strength) == pytest.approx([np.log(10_000)] * 11)
    tied = pairs((1, "x", "y", "x"), (1, "x", "y", "y"), (1, "y", "z", "tie")).rank.preferences.bradley_terry()
    assert tied["strength"].to_list() == pytest.approx([0, 0, 0])
    apart = pairs((1, "x", "y", "x"), (1, "x", "y", "y"), (1, "u", "v", "u"), (1, "u", "v", "v"))
    assert apart.rank.preferences.bradley_terry()["strength"].null_count() == 4


def test_strengths_of_systems_are_pooled_over_queries_whose_comparisons_resemble_each_other() -> None:
    rng = np.random.default_rng(7)
    better = rng.random(60) < 0.6
    one = [(q, "m", "n", "m" if m else "n") for q, m in enumerate(better)]
    single, repeated = pairs(*one), pairs(*[row for row in one for _ in range(5)])
    found = {name: df.rank.preferences.bradley_terry(pooled=True) for name, df in (("one", single), ("five", repeated))}
    for df in found.values():
        assert df.columns == [
            "doc_id",
            "wins",
            "ties",
            "losses",
            "win_rate",
            "rate_low",
            "rate_high",
            "strength",
            "ci_low",
            "ci_high",
            "tie_rate",
        ]
    ends = {name: df.select("rate_low", "rate_high", "strength", "ci_low", "ci_high") for name, df in found.items()}
    wide = (ends["one"] - ends["five"]).to_numpy()
    assert np.abs(wide).max() < 0.01  # the same answer five times tells no more
    alone = repeated.rank.on(query=["query_id", "doc_a"]).preferences.bradley_terry(pooled=True)
    assert alone.select("ci_low").equals(found["five"].select("ci_low"))
    fresh = repeated.with_row_index("i").rank.on(query="i").preferences.bradley_terry(pooled=True)
    width = {name: (df["ci_high"] - df["ci_low"])[0] for name, df in {**found, "fresh": fresh}.items()}
    assert width["one"] == pytest.approx(width["five"], rel=0.01)
    assert width["fresh"] < width["five"] / 2
    half = stats.t.ppf(0.975, 59) * (60 / 59 * (1 / better.sum() + 1 / (~better).sum())) ** 0.5 / 2
    assert width["one"] == pytest.approx(2 * half, rel=1e-6)  # the sandwich of a logit
    lone = pairs(*[(1, "m", "n", "m")] * 3, (1, "m", "n", "n")).rank.preferences.bradley_terry(pooled=True)
    assert lone.select("ci_low", "ci_high").null_count().row(0) == (2, 2)
    assert lone["strength"].null_count() == 0


@each("form", ["pandas", "lazy", "numbers", "names"])
def test_comparisons_may_come_in_any_frame_order_and_type(form: str) -> None:
    wanted = SIX_THREE_TWO.rank.preferences.bradley_terry()
    df = SIX_THREE_TWO.sample(fraction=1, shuffle=True, seed=2)
    if form == "pandas":
        found = pl.from_pandas(df.to_pandas().rank.preferences.bradley_terry().reset_index()).cast(dict(wanted.schema))
    elif form == "lazy":
        found = df.lazy().rank.preferences.bradley_terry().collect()
    elif form == "numbers":
        to = {"x": 10, "y": 9}
        numbered = df.with_columns(pl.col("doc_a", "doc_b", "winner").replace_strict(to, default=None))
        found = numbered.rank.preferences.bradley_terry().with_columns(
            pl.col("doc_id").replace_strict({10: "x", 9: "y"})
        )
    else:
        named = df.rename({"doc_a": "left", "doc_b": "right", "winner": "best", "query_id": "q"})
        found = named.rank.on(query="q", doc="page").preferences.bradley_terry(
            first="left", second="right", winner="best"
        )
        found = found.rename({"q": "query_id", "page": "doc_id"})
    assert_frame_equal(found, wanted)


@each(
    ("types", "documents"),
    [
        ((pl.Int64, pl.Int64, pl.Float64), [10, 9]),
        ((pl.Int32, pl.Int64, pl.Int16), [10, 9]),
        ((pl.Float64, pl.Int64, pl.String), [10.0, 9.0]),
        ((pl.Float64, pl.String, pl.Int64), ["10", "9"]),
        ((pl.Enum(["9", "10"]), pl.Enum(["10", "9"]), pl.Categorical()), ["10", "9"]),
    ],
)
def test_the_three_columns_of_a_comparison_may_differ_in_type(types: Any, documents: list[Any]) -> None:
    columns = zip(("doc_a", "doc_b", "winner"), types, strict=True)
    df = SIX_THREE_TWO.with_columns(
        pl.col(name).replace_strict({"x": 10, "y": 9}, default=None).cast(pl.Int64 if dtype.is_numeric() else pl.String).cast(dtype)
        for name, dtype in columns
    )  # fmt: skip
    found = df.rank.preferences.bradley_terry()
    assert found["doc_id"].to_list() == documents
    assert found.schema["doc_id"] == pl.Series(documents).dtype
    assert_frame_equal(found.drop("doc_id"), SIX_THREE_TWO.rank.preferences.bradley_terry().drop("doc_id"))


def test_tie_names_a_tie_unless_a_document_has_that_name() -> None:
    found = pairs((1, "x", "y", "tie"), (2, "x", "tie", "tie"), (2, "x", "tie", None)).rank.preferences.bradley_terry()
    counts = {(row["query_id"], row["doc_id"]): (row["wins"], row["ties"], row["losses"]) for row in found.to_dicts()}
    assert counts == {(1, "x"): (0, 1, 0), (1, "y"): (0, 1, 0), (2, "tie"): (1, 1, 0), (2, "x"): (0, 1, 1)}


def test_an_empty_table_has_no_strengths() -> None:
    found = SIX_THREE_TWO.clear().rank.preferences.bradley_terry()
    assert found.columns[:4] == ["query_id", "doc_id", "wins", "ties"]
    assert found.is_empty()
    assert SIX_THREE_TWO.clear().rank.preferences.bradley_terry(pooled=True).columns[0] == "doc_id"


@each(
    ("rows", "options", "error", "message"),
    [
        ([(1, "x", "y", "z")], {}, rf.InvalidData, "'x' against 'y', won by 'z': a comparison is of two, and column 'winner' names one"),
        ([(1, "x", "x", "x")], {}, rf.InvalidData, "'x' against 'x', won by 'x'"),
        ([(1, "x", None, "x")], {}, rf.InvalidData, "'x' against None, won by 'x'"),
        ([(1, "x", "y", "x")], {"winner": "won"}, rf.MissingColumn, "no column 'won' for winner"),
        ([(1, "x", "y", "x")], {"prior": -1}, rf.InvalidOption, "prior=-1: write a number from 0 to 1,000,000,000"),
    ],
)  # fmt: skip
def test_what_is_no_comparison_says_why(rows: Any, options: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        pairs(*rows).rank.preferences.bradley_terry(**options)
