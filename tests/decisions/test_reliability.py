"""How far the order of runs can be relied on; expected figures by SciPy, by all halves of the queries, or by hand."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from polars.testing import assert_frame_equal
from scipy import stats as scipy_stats

import rankframe as rf
from rankframe._command import main
from rankframe._verbs.collections.reliability import _figures
from tests.support.each import each
from tests.support.runs import DF, LONG, RUNS, table, values

pytestmark = pytest.mark.filterwarnings(
    "ignore:every row has a score and a label", "ignore:documents with higher labels"
)

MANY = table(50, seed=3).with_columns(
    good=pl.col("new") + pl.col("label"), best=pl.col("new") + 3 * pl.col("label"), poor=pl.col("old") - pl.col("label")
)
FIVE = ["old", "new", "good", "best", "poor"]
COLUMNS = ["metric", "figure", "other", "difference", "value", "ci_low", "ci_high", "n_pairs", "n_queries"]
FAST: Any = {"resamples": 99, "halves": 20}


def of(found: Any, figure: str, metric: str = "map", difference: float | None = None) -> dict[str, Any]:
    rows = found.table.filter(pl.col("difference").eq_missing(difference), metric=metric, figure=figure)
    return dict(rows.row(0, named=True))


def means(metric: str) -> list[float]:
    return [float(values(run, metric, MANY).mean()) for run in FIVE]


@each(("test", "scipys"), [("t", scipy_stats.ttest_rel), ("permutation", scipy_stats.ttest_rel)], sample=2)
@each("alpha", [0.01, 0.2])
def test_discriminative_power_is_the_share_of_pairs_with_a_p_value_below_alpha(
    test: Any, scipys: Any, alpha: float
) -> None:
    found = MANY.rank.collection.reliability(
        "map", "rr", runs=FIVE, test=test, alpha=alpha, **FAST | {"resamples": 999}
    )
    for metric in ("map", "rr"):
        each_run = [values(run, metric, MANY) for run in FIVE]
        p = [scipys(a, b).pvalue for a, b in combinations(each_run, 2)]
        clear = [x for x in p if test == "t" or abs(x / alpha - 1) > 0.3]  # the permutation test's differ a little
        row = of(found, "discriminative_power", metric)
        assert row["value"] * 10 == pytest.approx(sum(x < alpha for x in p), abs=len(p) - len(clear))
        assert (row["n_pairs"], row["n_queries"]) == (10, 50)
        assert row["ci_low"] <= row["ci_high"]


def test_kendalls_tau_is_scipys() -> None:
    found = MANY.rank.collection.reliability("map", "rr", "ndcg@3", runs=FIVE, **FAST)
    rows = found.table.filter(figure="tau").select("metric", "other", "value").rows()
    assert [row[:2] for row in rows] == [*combinations(["map", "rr", "ndcg@3"], 2)]
    for metric, other, value in rows:
        assert value == pytest.approx(scipy_stats.kendalltau(means(metric), means(other)).statistic)


def test_kendalls_tau_of_tied_runs_is_scipys_and_less_is_better_where_it_is() -> None:
    df = MANY.with_columns(same="new")
    runs = ["old", "new", "same", "good"]
    found = df.rank.collection.reliability("map", "average_relevance_position", runs=runs, **FAST).table.filter(
        figure="tau"
    )
    one, other = ([values(run, metric, df).mean() for run in runs] for metric in ("map", "average_relevance_position"))
    assert found["value"].item() == pytest.approx(scipy_stats.kendalltau(one, [-x for x in other]).statistic)


def test_the_swap_rate_is_about_that_of_all_halves() -> None:
    """The 70 ways to split eight queries in two, and a thousand draws of them."""
    df = MANY.filter(pl.col("query_id").is_in([f"q{i}" for i in range(8)]))
    found = df.rank.collection.reliability("map", runs=FIVE, difference=[0.05, 0.1], halves=1_000, resamples=39)
    x = np.array([values(run, "map", df) for run in FIVE])
    for least in (0.0, 0.05, 0.1):
        swapped = counted = 0
        for half in combinations(range(8), 4):
            first, second = x[:, half].mean(axis=1), np.delete(x, half, axis=1).mean(axis=1)
            for a, b in combinations(range(5), 2):
                counted += (large := abs(first[a] - first[b]) >= least)
                swapped += large and (first[a] - first[b]) * (second[a] - second[b]) < 0
        assert of(found, "swap_rate", difference=least)["value"] == pytest.approx(swapped / counted, abs=0.02)


# One value per query and run: the gains of b over a, which decide about each half.
GAINS = [1.0, -0.25, -0.25, -0.25, 0.0]
ANSWERS = pl.DataFrame({"query_id": [*range(5)] * 2, "run": ["a"] * 5 + ["b"] * 5, "x": [0.0] * 5 + GAINS})
X = rf.value("x", bounds=(-1, 1))


def test_of_an_odd_number_of_queries_the_second_half_has_one_more() -> None:
    found = ANSWERS.rank.collection.reliability(X, run="run", halves=2_000, resamples=39, difference=0.2).table.filter(
        figure="swap_rate"
    )
    for least, value in found.select("difference", "value").rows():
        swaps = counted = 0
        for half in combinations(range(5), 2):
            first = sum(GAINS[i] for i in half)
            counted += abs(first / 2) >= least
            swaps += abs(first / 2) >= least and first * (sum(GAINS) - first) < 0
        assert value == pytest.approx(swaps / counted, abs=0.04)


def test_the_least_difference_is_that_of_the_first_half() -> None:
    """Its two queries differ by 0.3 or more, on average, if they have the first: 0.375 or 0.5, and the others -0.5 / 3 or less."""
    found = ANSWERS.rank.collection.reliability(X, run="run", difference=0.3, **FAST).table
    assert found.filter(figure="swap_rate", difference=0.3)["value"].item() == 1.0


@each(("alpha", "share"), [(0.03, 0.0), (0.04, 1.0)])
def test_six_gains_have_a_p_value_of_one_in_thirty_two(alpha: float, share: float) -> None:
    df = pl.DataFrame(
        {"query_id": [*range(6)] * 2, "run": ["a"] * 6 + ["b"] * 6, "x": [0.0] * 6 + [0.1, 0.2, 0.3, 0.4, 0.5, 0.6]}
    )
    found = df.rank.collection.reliability(X, run="run", alpha=alpha, **FAST).table
    assert found.filter(figure="discriminative_power")["value"].item() == share


def test_in_a_resample_students_t_decides_which_pairs_differ() -> None:
    """Copies of a query count as queries of their own: SciPy's statistic on either side of the critical value."""
    rng = np.random.default_rng(2)
    x, w = rng.random((9, 3, 1)), np.array([2, 0, 1, 1, 3, 0, 1, 1, 0.0])
    copies = np.repeat(x[..., 0], w.astype(int), axis=0)
    pairs = [*combinations(range(3), 2)]
    t = sorted(abs(scipy_stats.ttest_rel(copies[:, a], copies[:, b]).statistic) for a, b in pairs)
    a, b = np.array(pairs).T
    for i, critical in enumerate(t):
        for off, wanted in ((-1e-9, 3 - i), (1e-9, 2 - i)):
            found = _figures(x, w, a, b, np.ones((1, 9), dtype=bool) & (np.arange(9) < 5), np.zeros(1), critical + off)
            assert found[0] == pytest.approx(wanted / 3)


def test_a_difference_that_no_half_has_has_no_swap_rate() -> None:
    found = ANSWERS.rank.collection.reliability(X, run="run", difference=0.9, **FAST)
    row = found.table.filter(figure="swap_rate", difference=0.9).row(0, named=True)
    assert (row["value"], row["ci_low"], row["ci_high"]) == (None, None, None)
    assert "from 0.9 on" in repr(found)


def test_runs_that_are_equal_are_neither_told_apart_nor_swapped_nor_ordered() -> None:
    found = MANY.with_columns(same="new").rank.collection.reliability("map", "rr", runs=["new", "same"], **FAST)
    known = found.table.filter(pl.col("value").is_not_null())
    assert known.select("figure", "value").unique().sort("figure").rows() == [
        ("discriminative_power", 0.0),
        ("swap_rate", 0.0),
    ]


def test_a_constant_difference_is_told_apart_in_every_resample() -> None:
    df = ANSWERS.with_columns(x=pl.when(run="b").then(0.5).otherwise(0.25))
    found = df.rank.collection.reliability(X, run="run", test="t", **FAST).table.filter(figure="discriminative_power")
    assert found.select("value", "ci_low", "ci_high").row(0) == (1.0, 1.0, 1.0)


@each("n", [0, 1, 3, 4])
def test_fewer_than_four_queries_have_no_figures(n: int) -> None:
    found = MANY.filter(pl.col("query_id").is_in([f"q{i}" for i in range(n)])).rank.collection.reliability(
        "map", "rr", runs=FIVE, **FAST
    )
    assert found.table["n_queries"].unique().to_list() == [n]
    assert found.table["value"].is_null().all() is (n < 4)
    few = f"Too few queries to tell how far the order of the runs can be relied on: {'1 query' if n == 1 else f'{n} queries'}"
    assert (found.sentences() == [few]) is (n < 4)


def test_a_value_that_another_metric_lacks_does_not_count_in_the_tests() -> None:
    """Of twelve gains of x, y has values beside four: all signs of four give a p-value of 2 / 16, those of twelve 2 / 4,096."""
    rows = {"query_id": [*range(12)] * 2, "run": ["a"] * 12 + ["b"] * 12, "x": [0.1] * 12 + [0.5] * 12}
    df = pl.DataFrame({**rows, "y": ([0.2] * 4 + [None] * 8) * 2})
    both, alone = (df.rank.collection.reliability(*map(rf.value, names), run="run", **FAST) for names in ("xy", "x"))
    for found, value, n in ((alone, 1.0, 12), (both, 0.0, 4)):
        row = of(found, "discriminative_power", "value:x")
        assert (row["value"], row["n_queries"]) == (value, n)


def test_only_queries_with_all_values_count() -> None:
    nothing = pl.when(pl.col("query_id") != "q7").then("label")
    ranker = MANY.with_columns(label=nothing).rank.on(no_relevant="null")
    with pytest.warns(rf.RankframeWarning, match="^1 of 50 queries have no judgments"):
        found = ranker.collection.reliability("map", "rr", runs=FIVE, **FAST)
    with_values = {
        query for query, total in MANY.group_by("query_id").agg(pl.col("label").sum()).rows() if total and query != "q7"
    }
    assert found.table["n_queries"].unique().to_list() == [len(with_values)]


@each("kind", ["lazy", "pandas", "shuffled", "rows"])
def test_every_form_of_the_table_gives_the_same(kind: str) -> None:
    runs: Any = {"runs": ["old", "new", "odd"]}
    wanted = DF.rank.collection.reliability("map", "rr", **runs, **FAST).table
    if kind == "rows":
        found: Any = LONG.rank.collection.reliability("map", "rr", run="system", **FAST).table
    elif kind == "lazy":
        found = DF.lazy().rank.collection.reliability("map", "rr", **runs, **FAST).table.collect()
    elif kind == "pandas":
        frame = DF.to_pandas().rank.collection.reliability("map", "rr", **runs, **FAST).table
        assert isinstance(frame, pd.DataFrame)
        found = pl.from_pandas(frame)
    else:
        found = (
            DF.sample(fraction=1, shuffle=True, seed=1).rank.collection.reliability("map", "rr", **runs, **FAST).table
        )
    assert_frame_equal(found, wanted, check_dtypes=False)
    assert wanted.columns == COLUMNS


def test_equal_seeds_give_equal_numbers_and_others_do_not() -> None:
    one, same, other = (DF.rank.collection.reliability("map", runs=RUNS, **FAST, seed=seed).table for seed in (1, 1, 2))
    assert_frame_equal(one, same)
    assert one["ci_high"].to_list() != other["ci_high"].to_list()


def test_intervals_are_percentiles_over_resamples_whose_halves_have_no_query_in_common() -> None:
    """By SciPy's tests of resampled queries; a half has all copies of a query, or none."""
    found = DF.rank.collection.reliability("map", "rr", runs=RUNS, alpha=0.3, resamples=1_000, ci=0.8)
    by_metric = [np.array([values(run, metric) for run in RUNS]) for metric in ("map", "rr")]
    rng, drawn = np.random.default_rng(0), []
    for _ in range(400):
        rows, half = rng.integers(0, 40, 40), np.isin(range(40), rng.permutation(40)[:20])
        first, x = half[rows], by_metric[0][:, rows]
        pairs = [*combinations(range(3), 2)]
        power = np.mean([scipy_stats.ttest_rel(x[a], x[b]).pvalue < 0.3 for a, b in pairs])
        one, other = x[:, first].mean(axis=1), x[:, ~first].mean(axis=1)
        swapped = np.mean([(one[a] - one[b]) * (other[a] - other[b]) < 0 for a, b in pairs])
        tau = scipy_stats.kendalltau(*(y[:, rows].mean(axis=1) for y in by_metric)).statistic
        drawn.append((power, swapped, tau))
    low, high = np.quantile(drawn, [0.1, 0.9], axis=0)
    for i, figure in enumerate(["discriminative_power", "swap_rate", "tau"]):
        row = of(found, figure, difference=0.0 if figure == "swap_rate" else None)
        off = 0.35 if figure == "swap_rate" else 1e-9  # ours is the mean over twenty halves of each resample
        assert (row["ci_low"], row["ci_high"]) == pytest.approx((low[i], high[i]), abs=off)


def test_the_result_shows_sentences_and_a_table() -> None:
    found = ANSWERS.rank.collection.reliability(X, run="run", halves=20, resamples=39, difference=0.2)
    assert found.sentences() == ["Two runs cannot tell how far an order of runs can be relied on; give three or more"]
    assert "Discriminative power: share with p < 0.05 by the paired permutation test, over 5 queries." in repr(found)
    two = MANY.rank.collection.reliability("map", "rr", runs=FIVE, **FAST)
    assert two.sentences()[0].endswith("] of 10 pairs of runs apart")
    assert two.sentences()[-1].startswith("map and rr order the runs with a Kendall's tau of 0.")
    assert [len(grid.rows) for grid in two.grids(3)] == [3]
    assert "The first 3 of 11 rows; .table has all." in two.grids(3)[0].notes
    assert two.to_dict()["settings"]["difference"] == [0.0, 0.01, 0.02, 0.05]


def test_what_is_no_level_or_difference_is_refused() -> None:
    for options, says in (({"alpha": 1}, "alpha=1"), ({"difference": 0}, "difference=0"), ({"halves": 0}, "halves=0")):
        with pytest.raises(rf.InvalidOption, match=says):
            MANY.rank.collection.reliability("map", runs=FIVE, **options)  # type: ignore[arg-type]
    with pytest.raises(rf.InvalidOption, match="there is one run to compare"):
        MANY.rank.collection.reliability("map", runs=["old"])
    with pytest.raises(rf.InvalidOption, match=r"reliability\('ndcg@10'"):
        MANY.rank.collection.reliability(runs=FIVE)


def test_the_command_has_its_options(tmp_path: Any, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    monkeypatch.chdir(tmp_path)
    MANY.write_parquet("runs.parquet")
    line = "reliability runs.parquet --runs old,new,good,best,poor -m map --difference 0.03 --halves 20 --resamples 99 --format csv"
    assert main(line.split()) == 0
    wanted = MANY.rank.collection.reliability("map", runs=FIVE, difference=[0.03], **FAST).table
    assert_frame_equal(pl.read_csv(capsys.readouterr().out.encode()), wanted, check_dtypes=False)
