"""Estimators: one making of the interval and of p, held against SciPy, definitions in plain Python, and each other."""

from __future__ import annotations

import ast
from dataclasses import replace
from html import unescape
from itertools import chain, combinations
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import stats as scipy_stats

import rankframe as rf
from rankframe._statistics.estimate import Estimate
from rankframe._statistics.estimators import ESTIMATORS, INTERVALS, automatic, with_one_more
from rankframe._statistics.sample import Known, Limits, RunsOfPairs, Sample
from rankframe._support import draws
from tests.support.each import each

ALPHAS = (0.01, 0.05, 0.1)
OPTIONS = {"resamples": 499, "seed": 0}


def sample(
    values: Any, weights: Any = None, least: float = -1.0, greatest: float = 1.0, declared: bool = True
) -> Sample:
    columns = np.asarray(values, dtype=float)
    columns = columns[:, None] if columns.ndim == 1 else columns
    n = columns.shape[1]
    within = Limits(np.full(n, least), np.full(n, greatest), np.full(n, declared))
    return Sample(columns, np.ones(len(columns)) if weights is None else np.asarray(weights, dtype=float), within)


def shapes(rng: np.random.Generator, n: int) -> dict[str, Any]:
    """Differences of many kinds: smooth, shares, few that differ, gains alone, tenths that tie, all equal, some missing."""
    smooth = np.clip(rng.normal(rng.normal(0, 0.2), 0.2, n), -1, 1)
    return {
        "smooth": smooth,
        "shares": rng.integers(-1, 2, n).astype(float),
        "few differ": np.where(rng.random(n) < 0.2, smooth, 0.0),
        "gains": np.abs(smooth),
        "ties": np.round(smooth, 1),
        "equal": np.full(n, 0.1),
        "none": np.zeros(n),
        "holes": np.where(rng.random(n) < 0.3, np.nan, smooth),
        "skewed": 0.1 - np.minimum(rng.exponential(0.1, n), 1.0),
    }


def weights_of(rng: np.random.Generator, n: int) -> list[Any]:
    """Equal, very unequal, and with zeros."""
    return [np.ones(n), np.exp(2 * rng.normal(size=n)), rng.integers(0, 3, n).astype(float)]


def with_facts(rng: np.random.Generator, of: Sample) -> Sample:
    """The sample with the facts that estimators may need: a model knows the values but for noise, and people judged most units.

    Each column is the difference of two of three runs, the third of which has the values of the column before.
    """
    n = len(of.values)
    unknown = Limits(*np.full((2, 3), np.nan), np.zeros(3, dtype=bool))
    third = np.roll(of.values, 1, axis=1)
    runs = [
        Sample(np.column_stack([0 * x, x, y]), of.weights, unknown) for x, y in zip(of.values.T, third.T, strict=True)
    ]
    return replace(
        of,
        directions=np.ones(of.columns),
        order=rng.permutation(n),
        ids=rng.integers(0, 2**63, n).astype(np.uint64),
        runs=RunsOfPairs(runs, np.array([0]), np.array([1])),
        known=Known(np.nan_to_num(of.values) + rng.normal(0, 0.1, of.values.shape), rng.random(n) < 0.8),
    )


def disagreements(found: Estimate, alpha: float) -> list[str]:
    """Where p < alpha and 0 inside the interval at 1 - alpha, or the other way round."""
    outside = (found.low > 0) | (found.high < 0)
    wrong = ~np.isnan(found.low) & ((found.p < alpha) != outside)
    return [f"column {i}: p {found.p[i]}, [{found.low[i]}, {found.high[i]}]" for i in np.flatnonzero(wrong)]


@each("name", [name for name, row in ESTIMATORS.items() if row.gives_p])
def test_p_is_below_alpha_exactly_where_the_interval_at_1_less_alpha_leaves_out_0(name: str) -> None:
    rng = np.random.default_rng(11)
    significant = 0
    for n in (*range(1, 9), 12, 17, 40, 60, 90):
        values = np.column_stack([*shapes(rng, n).values()])
        for weights in weights_of(rng, n):
            for alpha in ALPHAS:
                found = ESTIMATORS[name](with_facts(rng, sample(values, weights)), 1 - alpha, **OPTIONS)
                assert disagreements(found, alpha) == [], (n, alpha, values.tolist(), weights.tolist())
                significant += int((found.p < alpha).sum())
    assert significant > 30


def test_p_does_not_depend_on_the_confidence() -> None:
    rng = np.random.default_rng(2)
    drawn = with_facts(rng, sample(np.clip(np.round(rng.normal(0.1, 0.3, (30, 4)), 2), -1, 1)))
    for estimator in ESTIMATORS.values():
        if "confidence" in estimator.needs or not estimator.gives_p:
            continue
        p = [estimator(drawn, ci, **OPTIONS).p.tolist() for ci in (None, 0.5, 0.9, 0.99)]
        assert p.count(p[0]) == 4


def test_few_differences_have_the_interval_of_all_sets_of_queries() -> None:
    """By definition: of a share of all sets' means, the empty one counted on both sides, and of p by SciPy."""
    rng = np.random.default_rng(3)
    for n in range(2, 11):
        for weights in weights_of(rng, n)[:2]:
            d = np.round(rng.normal(0.1, 0.3, n), 1)
            sets = chain.from_iterable(combinations(range(n), k) for k in range(1, n + 1))
            means = sorted(sum(weights[i] * d[i] for i in some) / sum(weights[i] for i in some) for some in sets)
            nth = int(np.ceil(round(0.1 * 2**n / 2, 6))) - 1
            wanted = (means[nth - 1], means[-nth]) if nth else (-1.0, 1.0)
            found = ESTIMATORS["permutation"](sample(d, weights), 0.9, **OPTIONS)
            assert (found.low[0], found.high[0]) == pytest.approx(wanted, abs=1e-12)
            of_scipy = scipy_stats.permutation_test(
                (d * weights,), np.sum, permutation_type="samples", n_resamples=np.inf, vectorized=True
            )
            assert found.p[0] == pytest.approx(of_scipy.pvalue, rel=1e-12)
            assert found.more["exact"][0]


def test_the_interval_has_the_shifts_whose_sign_flips_scipy_does_not_reject() -> None:
    """Just within both ends p of the shifted differences is alpha or more, and just beyond it is less."""
    d = np.random.default_rng(8).normal(0.2, 0.3, 11)
    found = ESTIMATORS["permutation"](sample(d), 0.95)

    def p(shift: float) -> float:
        shifted = (d - shift,)
        return float(
            scipy_stats.permutation_test(
                shifted, np.mean, permutation_type="samples", n_resamples=np.inf, vectorized=True
            ).pvalue
        )

    low, high = found.low[0], found.high[0]
    assert min(p(low + 1e-9), p(high - 1e-9)) >= 0.05
    assert max(p(low - 1e-9), p(high + 1e-9)) < 0.05


def test_the_gains_of_sixteen_queries_are_enumerated_and_those_of_seventeen_are_drawn() -> None:
    d = np.linspace(0.1, 0.9, 17)
    of_16 = [ESTIMATORS["permutation"](sample(d[1:]), 0.95, resamples=99, seed=seed) for seed in (0, 1)]
    assert of_16[0].p[0] == 2 / 2**16
    assert of_16[0].low == of_16[1].low
    assert ESTIMATORS["permutation"](sample(d), 0.95, resamples=99, seed=0).p[0] == 1 / 100


def test_queries_that_do_not_differ_leave_p_exact_and_draw_the_interval_towards_0() -> None:
    """Of ten gains among 60 queries all 1,024 signs are flipped; the other 50 queries are flipped at random."""
    d = np.concatenate([np.linspace(0.1, 1, 10), np.zeros(50)])
    found = ESTIMATORS["permutation"](sample(d), 0.95, resamples=10_000, seed=0)
    assert found.p[0] == 2 / 2**10
    rng = np.random.default_rng(0)
    kept = rng.random((40_000, 60)) < 0.5
    wanted = np.quantile(kept @ d / kept.sum(axis=1), [0.025, 0.975])
    assert (found.low[0], found.high[0]) == pytest.approx(wanted, abs=0.005)


def test_very_many_differences_have_the_normal_interval_and_test() -> None:
    d = np.random.default_rng(4).beta(0.5, 1, 6_000) - 0.325
    found = ESTIMATORS["permutation"](sample(d), 0.95)
    wanted = scipy_stats.ttest_1samp(d, 0)
    assert found.p[0] == pytest.approx(wanted.pvalue, rel=0.01)
    assert (found.low[0], found.high[0]) == pytest.approx((*wanted.confidence_interval(0.95),), rel=0.001)


def test_the_bounded_interval_of_a_share_keeps_its_guarantee_with_any_number_of_draws() -> None:
    """2,000 samples of shares of 0.88, each with draws of its own: at most one in twenty has its lower bound above it."""
    rng, n = np.random.default_rng(5), 40
    for resamples in (20, 39, 100):
        missed = []
        for seed in range(20):
            values = (rng.random((n, 100)) < 0.88).astype(float)
            found = ESTIMATORS["bounded"](sample(values, least=0.0), 0.9, resamples=resamples, seed=seed)
            missed += (found.low > 0.88).tolist()
        assert np.mean(missed) <= 0.05 + 3 * (0.05 * 0.95 / 2_000) ** 0.5
    of_shares = sample(values, least=0.0)
    below, _ = with_one_more(of_shares, 25, 0, None)  # of 26 draws with one more, fewer than 5% are below the smallest
    found = ESTIMATORS["bounded"](of_shares, 0.9, resamples=25, seed=0)
    assert found.low.tolist() == below.min(axis=0).tolist()
    assert ESTIMATORS["bounded"](of_shares, 0.9, resamples=19, seed=0).low.tolist() == [0.0] * 100  # none can tell


def test_the_bounded_p_of_gains_alone_is_that_of_the_binomial() -> None:
    """Differences of 1 on k of n queries and 0 on the others, between -1 and 1: the loss not yet seen counts once."""
    found = ESTIMATORS["bounded"](sample(np.repeat([1.0, 0.0], [5, 15])), 0.95, resamples=40_000, seed=0)
    # the mean with one query of -1 is below 0 where Gamma(5) < Gamma(1): Beta(5, 1) below 1/2
    assert found.p[0] == pytest.approx(2 * scipy_stats.beta.cdf(0.5, 5, 1), rel=0.1)


def test_six_queries_that_differ_from_the_commonest_difference_are_enough_for_sign_flips() -> None:
    five = np.array([0.1, 0.2, 0.3, 0.4, 0.5, *[0.0] * 30])
    six = np.array([0.1, 0.2, 0.3, 0.4, 0.5, 0.6, *[0.0] * 30])
    equal, heavy = np.append(np.full(35, 0.3), 0.1 + 0.2), np.where(six > 0.5, 1e6, 1.0)
    for values, weights, declared, wanted in (
        (five, None, True, "bounded"),
        (six, None, True, "permutation"),
        (six, heavy, True, "bounded"),  # the weight of one of the six is nearly all
        (equal, None, True, "bounded"),
        (five, None, False, "t"),
        (equal, None, False, "permutation"),
        ([0.5], None, True, "permutation"),
        ([np.nan, np.nan], None, True, "permutation"),
    ):
        assert automatic(sample(values, weights, declared=declared)) == [wanted]


def test_a_cluster_counts_as_one_unit_whose_sign_is_flipped_as_a_whole() -> None:
    rng = np.random.default_rng(6)
    d, weights, cluster = rng.normal(0.1, 0.3, (30, 2)), rng.random(30) + 0.5, np.arange(30) % 8
    d[4, 1] = np.nan
    found = ESTIMATORS["permutation"](sample(d, weights).of_clusters(cluster), 0.95)
    sums = np.array([np.nansum((weights[:, None] * d)[cluster == i], axis=0) for i in range(8)])
    for i in range(2):
        wanted = scipy_stats.permutation_test(
            (sums[:, i],), np.sum, permutation_type="samples", n_resamples=np.inf, vectorized=True
        )
        assert found.p[i] == pytest.approx(wanted.pvalue, rel=1e-12)
    canceled = sample([0.1, 0.2, -0.3, 0.5]).of_clusters(np.array([0, 0, 0, 1]))
    assert canceled.values.tolist() == [[0.0], [0.5]]
    there = weights[:, None] * ~np.isnan(d)
    assert found.value == pytest.approx(np.nansum(d * there, axis=0) / there.sum(axis=0))


def test_an_estimator_takes_its_own_options_alone() -> None:
    assert ESTIMATORS["t"].options == []
    assert ESTIMATORS["permutation"].options == ["resamples", "seed", "step"]


VERBS = Path(rf.__file__).parent / "_verbs" / "decide"

WAYS = {"test", "interval", "sequential", "model_labels", "adjust", "NO_HELP", "help", "control"}
"""Options and attributes by which a call asks for an estimator."""


@each("verb", ["compare", "gate", "power", "ranks"])
def test_a_verb_does_not_ask_which_estimator_it_has(verb: str) -> None:
    tree = ast.parse((VERBS / f"{verb}.py").read_text("utf-8"))
    questions = [node for node in ast.walk(tree) if isinstance(node, ast.Compare | ast.Match)]
    for question in questions:
        parts = [*ast.walk(question)]
        texts = {part.value for part in parts if isinstance(part, ast.Constant)}
        names = {part.id for part in parts if isinstance(part, ast.Name)}
        names |= {part.attr for part in parts if isinstance(part, ast.Attribute)}
        assert not texts & {*ESTIMATORS, *INTERVALS}, ast.unparse(question)
        assert not names & WAYS, ast.unparse(question)


ANY: dict[str, Any] = {
    "weights": "asked",
    "cluster": "user",
    "interval": "percentile",
    "rope": 0.1,
    "look": "day",
    "planned": 50,
    "adjust_mean": 3.0,
}
TAKES: dict[str, set[str]] = {
    "auto": {"weights", "cluster", "interval"},
    "permutation": {"weights", "cluster"},
    "bca": {"weights", "cluster"},
    "t": {"weights", "cluster"},
    "bootstrap": {"weights", "cluster"},
    "tukey": {"weights", "cluster"},
    "bayes": {"interval", "rope"},
    "sequential": {"look", "planned"},
    "adjusted": {"weights", "adjust_mean"},
    "prediction_powered": {"weights"},
}
CALLS: dict[str, dict[str, Any]] = {
    "auto": {},
    "bca": {"interval": "bca"},
    "adjusted": {"adjust": "asked", "adjust_mean": 2.0},
    "prediction_powered": {"model_labels": "label"},
}


@each("name", TAKES)
def test_an_option_that_an_estimator_does_not_take_is_refused_in_one_sentence(name: str) -> None:
    call = CALLS.get(name, {"test": name})
    df = ranked(1, 40)
    for option in ANY.keys() - TAKES[name] - call.keys():
        with pytest.raises(
            rf.InvalidOption, match=rf"^\w+='\w+' takes no {option}; (leave out {option}=|{option}=.* is for )"
        ):
            df.rank.compare("map", runs=["old", "new"], **call, **{option: ANY[option]})
    for option in TAKES[name]:
        df.rank.compare("map", runs=["old", "new"], **{**call, option: ANY[option]}, resamples=39)


TOPICS = pl.read_csv(Path(__file__).parents[1] / "data" / "robust03.csv")


def test_the_default_holds_the_difference_of_real_runs_and_is_as_short_as_students_interval() -> None:
    """Two of eight runs of TREC's Robust track of 2003, on 12 of its 100 topics, 400 times; the nightly run has more."""
    for metric in ("ndcg@10", "map"):
        values = TOPICS.filter(metric=metric).drop("metric", "topic").to_numpy()
        rng, times = np.random.default_rng(12), 400
        first = rng.integers(0, 8, times)
        pairs = values[:, first] - values[:, (first + rng.integers(1, 8, times)) % 8]
        drawn = np.take_along_axis(pairs, rng.integers(0, len(pairs), (12, times)), axis=0)
        found = ESTIMATORS["auto"](sample(drawn), 0.95, resamples=999)
        student = ESTIMATORS["t"](sample(drawn), 0.95)
        assert [*found.kinds].count("permutation") > 0.95 * times
        assert np.mean((found.low <= pairs.mean(axis=0)) & (pairs.mean(axis=0) <= found.high)) >= 0.93
        assert (found.high - found.low).sum() <= 1.15 * (student.high - student.low).sum()


def ranked(seed: int, n: int = 24) -> pl.DataFrame:
    """Queries of six documents, in two days, with weights, and two runs of which the second is better."""
    rng = np.random.default_rng(seed)
    label = rng.integers(0, 2, 6 * n)
    columns = {"query_id": np.repeat(np.arange(n), 6), "doc_id": np.tile(np.arange(6), n), "label": label}
    asked = np.repeat(rng.integers(1, 5, n), 6)
    noise = rng.random((2, 6 * n))
    return pl.DataFrame({**columns, "asked": asked, "old": noise[0], "new": noise[1] + 0.4 * label}).with_columns(
        day=pl.col("query_id") % 2, user=pl.col("query_id") // 2
    )


@each(
    "options",
    [
        {},
        {"weights": "asked"},
        {"by": "day"},
        {"test": "tukey"},
        {"test": "bootstrap"},
        {"interval": "bca"},
        {"cluster": "user"},
        {"cluster": "user", "weights": "asked"},
        {"cluster": "user", "by": "day"},
        {"cluster": "user", "weights": "num_rel", "test": "tukey"},
        {"cluster": "user", "test": "bootstrap"},
    ],
)
def test_no_row_of_a_comparison_has_an_interval_that_contradicts_its_p_value(options: Any) -> None:
    significant = 0
    for seed in range(6):
        for ci in (0.9, 0.95, 0.99):
            given: Any = {"runs": ["old", "new"], "ci": ci, "resamples": 999, "correction": None, **options}
            table = ranked(seed).rank.compare("map", "gm_map", "precision@2", **given).table.drop_nulls("ci_low")
            outside = (table["ci_low"] > 0) | (table["ci_high"] < 0)
            assert (outside == (table["p_value"] < round(1 - ci, 9))).all(), table
            significant += int(outside.sum())
    assert significant >= 5


def test_the_report_prints_the_figures_of_the_comparison(tmp_path: Path) -> None:
    df = ranked(1, 40)
    page = df.rank.report(tmp_path / "a.html", "map", runs=["old", "new"], resamples=999).read_text("utf-8")
    (sentence,) = df.rank.compare("map", runs=["old", "new"], resamples=999).sentences()
    assert unescape(sentence.replace("`old`", "\u201cold\u201d").replace("`new`", "\u201cnew\u201d")) in unescape(page)


def test_a_gate_of_a_gain_that_is_not_shown_asks_for_more_queries() -> None:
    """Relevant documents move from rank 5 to rank 3 in all of 12 queries: a loss elsewhere is not ruled out."""
    label = [1, 0, 0, 0, 0]
    columns = {"query_id": [q for q in range(12) for _ in label], "doc_id": [*range(5)] * 12, "label": label * 12}
    df = pl.DataFrame({**columns, "a": [1, 9, 8, 7, 6] * 12, "b": [7.5, 9, 8, 7, 6] * 12}).rank
    with pytest.warns(rf.RankframeWarning, match="stand lower"):
        gate = df.gate({"rr": 0}, runs=["a", "b"])
    assert gate.table.select("verdict", "passed").row(0) == ("not shown", False)
    assert gate.lines()[0].startswith("NOT SHOWN: rr of b: +0.1333 against a, at worst -")
    assert gate.lines()[0].endswith("beyond the budget of 0: needs more queries than these 12")
    with pytest.warns(rf.RankframeWarning, match="stand lower"):
        assert df.gate({"rr": 0}, runs=["b", "a"]).table["verdict"].item() == "failed"
    with pytest.warns(rf.RankframeWarning, match="stand lower"):
        (sentence,) = df.compare("rr", runs=["a", "b"]).sentences()
    assert sentence.startswith("No significant difference of `b` from `a` on rr: +0.133 [-0.1")


def test_blocks_of_draws_that_run_at_once_are_those_of_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    values = np.random.default_rng(7).normal(0.1, 1, (300, 5))
    at_once = [
        ESTIMATORS[name](sample(values), 0.95, resamples=4_000, seed=3) for name in ("permutation", "bca", "bounded")
    ]
    monkeypatch.setattr(draws, "FEW_NUMBERS", 10**9)
    alone = [
        ESTIMATORS[name](sample(values), 0.95, resamples=4_000, seed=3) for name in ("permutation", "bca", "bounded")
    ]
    for one, other in zip(at_once, alone, strict=True):
        assert (one.low.tolist(), one.high.tolist(), one.p.tolist()) == (
            other.low.tolist(),
            other.high.tolist(),
            other.p.tolist(),
        )


def test_a_product_in_parts_is_the_product_and_many_queries_have_fewer_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    x, y = rng.random((26, 1_000)), rng.random((1_000, 90))
    assert draws.product(x, y) == pytest.approx(x @ y, rel=1e-12)
    assert [draws.affordable(10_000, n) for n in (5_000, 10_000, 60_000)] == [10_000, 5_000, 1_000]
