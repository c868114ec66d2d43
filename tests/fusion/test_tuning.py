"""Tuning of fusion: plain-Python cross-validation, laws of what may be seen, and what is shown and refused."""

from __future__ import annotations

import random
import re
from statistics import fmean
from typing import Any

import numpy as np
import polars as pl
import pytest

import rankframe as rf
from rankframe import stats
from rankframe._statistics.estimators import ESTIMATORS
from rankframe._statistics.sample import Limits, Sample
from tests.support.each import each

RUNS = ["a", "b", "c"]


def table(seed: int = 0, n_queries: int = 12, runs: list[str] = RUNS, n_docs: int = 8) -> pl.DataFrame:
    """Runs whose scores follow the label more or less; some documents are missing in each."""
    draw = random.Random(seed)
    rows = []
    for query in range(n_queries):
        for doc in range(n_docs):
            label = int(draw.random() < 0.3)
            scores = [
                round(label * (i + 1) / 2 + draw.gauss(0, 1), 6) if draw.random() < 0.9 else None
                for i in range(len(runs))
            ]
            rows.append((f"q{query}", f"d{doc}", label, *scores))
    return pl.DataFrame(rows, schema=["query_id", "doc_id", "label", *runs], orient="row")


TABLE = table()
QUICK: dict[str, Any] = {"runs": RUNS, "metric": "rr", "resamples": 200, "progress": False}


def reciprocal_ranks(table: pl.DataFrame, weights: tuple[float, ...], runs: list[str] = RUNS) -> dict[str, float]:
    """The reciprocal rank of each query by the weighted sum of min-max scores, in plain Python."""
    found = {}
    for (query,), part in table.group_by("query_id", maintain_order=True):
        totals: dict[str, float] = {}
        for run, weight in zip(runs, weights, strict=True):
            scores = {doc: s for doc, s in part.select("doc_id", run).iter_rows() if s is not None}
            low, high = min(scores.values()), max(scores.values())
            for doc, s in scores.items():
                totals[doc] = totals.get(doc, 0.0) + weight * (s - low) / (high - low)
        order = sorted(totals, key=lambda doc: (totals[doc], doc), reverse=True)
        labels = dict(part.select("doc_id", "label").iter_rows())
        ranks = [i + 1 for i, doc in enumerate(order) if labels[doc]]
        found[str(query)] = 1 / ranks[0] if ranks else 0.0
    return found


GRID = [(1.0, 1.0, 1.0), *((i / 4, j / 4, (4 - i - j) / 4) for i in range(5) for j in range(5 - i))]
WORTH = [reciprocal_ranks(TABLE, weights) for weights in GRID]


def best(queries: list[str]) -> float:
    return max(fmean(values[q] for q in queries) for values in WORTH)


@pytest.fixture(scope="module")
def tuned() -> rf.results.TunedFusion[pl.DataFrame]:
    return TABLE.rank.tune("wsum(normalize=min_max)", step=0.25, folds=4, **QUICK)


def weights_in(text: str) -> tuple[float, ...]:
    inside = text.partition("[")[2].partition("]")[0] or "1,1,1"  # equal ones, if it gives none
    return tuple(map(float, inside.split(",")))


def test_each_fold_is_fused_by_the_weights_that_are_best_on_the_others(
    tuned: rf.results.TunedFusion[pl.DataFrame],
) -> None:
    fold = dict(tuned.per_query.select("query_id", "fold").iter_rows())
    for number, n, text, train, test in tuned.folds.rows():
        others, own = [q for q in fold if fold[q] != number], [q for q in fold if fold[q] == number]
        values = reciprocal_ranks(TABLE, weights_in(text))
        assert n == len(own) == 3
        assert train == pytest.approx(fmean(values[q] for q in others)) == pytest.approx(best(others))
        assert test == pytest.approx(fmean(values[q] for q in own))
    for query, text, value in tuned.per_query.select("query_id", "method", "tuned, out of fold").iter_rows():
        assert text == tuned.folds.filter(fold=fold[query])["method"].item()
        assert value == pytest.approx(reciprocal_ranks(TABLE, weights_in(text))[query])


def test_the_text_is_the_setting_with_the_best_mean_on_all_queries(tuned: rf.results.TunedFusion[pl.DataFrame]) -> None:
    means = dict(tuned.table.select("ranking", "mean").iter_rows())
    assert means["tuned, in sample"] == pytest.approx(best([*WORTH[0]]))
    assert tuned.fuse(TABLE).rank.mean("rr").item() == pytest.approx(means["tuned, in sample"])
    assert TABLE.rank.fuse(tuned.text, runs=RUNS).equals(tuned.fuse(TABLE))
    backwards = tuned.fuse(TABLE, runs=RUNS[::-1])
    assert backwards["score"].to_list() == pytest.approx(tuned.fuse(TABLE)["score"].to_list())


def test_a_relevant_document_that_one_run_retrieves_is_missed_by_the_others() -> None:
    rows = [
        ("a", "q", "x", 2.0, 1),
        ("a", "q", "y", 1.0, 0),
        ("b", "q", "y", 1.0, 0),
        ("b", "p", "x", 1.0, 1),
        ("a", "p", "y", 1.0, 0),
    ]
    long = pl.DataFrame(rows, schema=["run", "query_id", "doc_id", "score", "label"], orient="row")
    tuned = long.rank.tune(
        "rrf", options={"k": [60, 1], "weights": [None]}, metric="recall@10", run="run", folds=2, resamples=100
    )
    assert dict(tuned.table.select("ranking", "mean").iter_rows())["b"] == 0.5
    assert tuned.per_query.filter(query_id="q").select("a", "b").row(0) == (1, 0)


def test_all_settings_of_the_grid_are_listed_with_their_means(tuned: rf.results.TunedFusion[pl.DataFrame]) -> None:
    assert tuned.candidates.height == len(GRID) == 16
    for text, mean in tuned.candidates.iter_rows():
        assert mean == pytest.approx(fmean(reciprocal_ranks(TABLE, weights_in(text)).values()))


def test_three_runs_have_sixty_six_weights_in_steps_of_a_tenth_beside_the_untuned_ones() -> None:
    assert TABLE.rank.tune("wsum(normalize=min_max)", **QUICK).candidates.height == 67


def test_the_table_has_the_mean_of_every_ranking(tuned: rf.results.TunedFusion[pl.DataFrame]) -> None:
    names = ["tuned, out of fold", "tuned, in sample", "untuned", *RUNS]
    assert tuned.table["ranking"].to_list() == names
    means = [tuned.per_query[name].mean() for name in names]
    assert tuned.table["mean"].to_list() == pytest.approx(means)
    assert means[2] == pytest.approx(fmean(WORTH[0].values()))
    for name in RUNS:
        assert TABLE.rank.on(score=name).mean("rr").item() == pytest.approx(tuned.per_query[name].mean())
    summary = tuned.per_query.sort("query_id")["tuned, out of fold"].to_numpy()[:, None]
    low, high = stats.intervals(summary, np.ones(12), 0.95, "bounded", 200, 0, None, (np.zeros(1), np.ones(1)))
    assert tuned.table.select("ci_low", "ci_high").row(0) == pytest.approx((low[0], high[0]))


def test_the_comparison_is_that_of_the_values_out_of_fold(tuned: rf.results.TunedFusion[pl.DataFrame]) -> None:
    values = tuned.per_query.sort("query_id")
    assert tuned.comparison["baseline"].to_list() == ["untuned", *RUNS]
    differences = np.column_stack(
        [(values["tuned, out of fold"] - values[name]).to_numpy() for name in ["untuned", *RUNS]]
    )
    within = Limits(np.full(4, -1.0), np.ones(4), np.ones(4, dtype=bool))
    p = ESTIMATORS["bounded"](Sample(differences, np.ones(12), within), 0.95, resamples=200, seed=0).p
    assert tuned.comparison["difference"].to_list() == pytest.approx(differences.mean(axis=0).tolist())
    assert tuned.comparison["p_value"].to_list() == pytest.approx(p.tolist())
    assert tuned.comparison["p_adjusted"].to_list() == pytest.approx(stats.adjust(p, "holm").tolist())


@each("method", ["wsum(normalize=min_max)", ["wsum(normalize=min_max)", "rrf", "comb_mnz"], "wsum(normalize=zmuv)"])
@each("search", ["grid", "coordinate"])
@each("query", ["q0", "q5", "q11"], sample=3)
def test_how_a_query_is_fused_out_of_fold_does_not_depend_on_its_labels(method: Any, search: Any, query: str) -> None:
    options: dict[str, Any] = {**QUICK, "step": 0.25, "folds": 3, "search": search, "options": {"k": [60, 5]}}
    if isinstance(method, str):
        del options["options"]
    before = TABLE.rank.tune(method, **options).per_query
    changed = TABLE.with_columns(label=pl.when(query_id=query).then(1 - pl.col("label")).otherwise("label"))
    after = changed.rank.tune(method, **options).per_query
    mine = pl.col("query_id") == query
    assert after.filter(mine).select("fold", "method").equals(before.filter(mine).select("fold", "method"))
    assert not after["tuned, out of fold"].equals(before["tuned, out of fold"])


def test_the_folds_follow_from_the_seed_and_the_queries_alone() -> None:
    def folds(frame: pl.DataFrame, seed: int = 0) -> dict[str, int]:
        found = frame.rank.tune("rrf", options={"k": [60, 1], "weights": [None]}, seed=seed, **QUICK).per_query
        return dict(found.select("query_id", "fold").iter_rows())

    assert folds(TABLE) == folds(TABLE.sample(fraction=1, shuffle=True, seed=1).with_columns(label=1))
    assert folds(TABLE) != folds(TABLE, seed=1)
    assert sorted(folds(TABLE).values()) == [1, 1, 1, 2, 2, 2, 3, 3, 4, 4, 5, 5]


def test_of_several_methods_one_is_chosen_by_folds_within_the_others() -> None:
    """A method that fits its training queries best by chance, with many settings, is not the one that is best beyond."""
    methods = ["wsum(normalize=min_max)", "comb_sum(normalize=min_max)"]
    tuned = TABLE.rank.tune(methods, step=0.25, folds=4, **QUICK)
    fold = dict(tuned.per_query.select("query_id", "fold").iter_rows())
    order = [q for q in tuned.per_query.sort("fold")["query_id"] if q in fold]
    plain = reciprocal_ranks(TABLE, (1, 1, 1))
    for number, _, text, train, _ in tuned.folds.rows():
        others = [q for q in order if fold[q] != number]
        if text.startswith("comb_sum"):
            assert train == pytest.approx(fmean(plain[q] for q in others))
            assert train <= best(others) + 1e-12
        else:
            assert train == pytest.approx(best(others))
    assert {text.partition("(")[0] for text in tuned.candidates["method"]} == {"wsum", "comb_sum"}


@each("search", ["grid", "coordinate"])
def test_a_method_is_chosen_out_of_fold_not_by_its_fit(search: Any) -> None:
    """Each run solves one query alone: one run fits its own query with 1 and others with 1/4, all together have 1/3."""
    runs = [f"r{i}" for i in range(4)]
    own, other = (1, 0, 0, 0), (0, 0.9, 0.8, 0.1)  # of a relevant document and three others
    rows = [
        (f"q{q}", f"d{d}", int(d == 0), *[(own if i == q else other)[d] for i in range(4)])
        for q in range(4)
        for d in range(4)
    ]
    frame = pl.DataFrame(rows, schema=["query_id", "doc_id", "label", *runs], orient="row")
    alone = {"weights": [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]}
    options: dict[str, Any] = {**QUICK, "runs": runs, "folds": 4, "options": alone, "search": search}
    fitted = frame.rank.tune("wsum", **options)
    assert fitted.table["mean"].to_list()[:2] == pytest.approx([1 / 4, (1 + 3 / 4) / 4])
    both = frame.rank.tune(["wsum", "wsum(weights=[1,1,1,1])"], **options)
    assert fitted.folds["train"].to_list() == pytest.approx([1 / 2] * 4)
    assert both.folds["train"].to_list() == pytest.approx([1 / 3] * 4)
    assert {both.text, *both.folds["method"]} == {"wsum(weights=[1,1,1,1])"}


@each("kind", ["tables", "column", "columns"], sample=4)
@each("front", ["polars", "pandas", "lazy"])
def test_judgments_are_joined_with_the_runs_of_a_table_without_labels(kind: str, front: str) -> None:
    brought: Any = {"polars": pl.DataFrame.clone, "pandas": pl.DataFrame.to_pandas, "lazy": pl.DataFrame.lazy}[front]
    listed = {run: TABLE.select("query_id", "doc_id", score=run).drop_nulls() for run in RUNS}
    long = pl.concat(table.with_columns(system=pl.lit(run)) for run, table in listed.items())
    tables = {run: brought(table) for run, table in listed.items()}
    frame, runs = {
        "tables": (tables["a"], {"runs": tables}),
        "column": (brought(long), {"run": "system"}),
        "columns": (brought(TABLE.drop("label")), {"runs": RUNS}),
    }[kind]
    qrels = brought(TABLE.select("query_id", "doc_id", "label"))
    options: Any = {**QUICK, "runs": None, **runs, "step": 0.25, "folds": 4}
    found = frame.rank.tune("wsum(normalize=min_max)", qrels=qrels, **options)
    means = {run: TABLE.rank.on(score=run).mean("rr").item() for run in RUNS}
    table = pl.DataFrame(found.table.collect() if front == "lazy" else found.table)
    assert {run: mean for run, mean in table.select("ranking", "mean").iter_rows() if run in RUNS} == pytest.approx(
        means
    )
    assert table.filter(ranking="untuned")["mean"].item() == pytest.approx(fmean(WORTH[0].values()))


def test_a_coordinate_search_ends_where_no_single_step_helps() -> None:
    runs = ["a", "b", "c", "d"]
    frame = table(3, n_queries=20, runs=runs)
    tuned = frame.rank.tune("wsum(normalize=min_max)", step=0.25, **{**QUICK, "runs": runs})
    assert tuned.settings["search"] == "coordinate"
    mean = dict(tuned.table.select("ranking", "mean").iter_rows())
    assert mean["tuned, in sample"] >= mean["untuned"]
    chosen = weights_in(tuned.text)
    for run in range(4):
        for weight in (0, 0.25, 0.5, 0.75, 1):
            rest = sum(chosen) - chosen[run]
            others = [x * (1 - weight) / rest if rest else (1 - weight) / 3 for x in chosen]
            tried = tuple(weight if i == run else x for i, x in enumerate(others))
            worth = fmean(reciprocal_ranks(frame, tried, runs).values())
            assert worth <= mean["tuned, in sample"] + 1e-9


def test_a_coordinate_search_finds_the_one_run_that_is_right() -> None:
    runs = list("abcde")
    frame = table(5, runs=runs).with_columns(d=pl.col("label") + pl.int_range(pl.len()).over("query_id") / 100)
    tuned = frame.rank.tune("wsum(normalize=min_max)", **{**QUICK, "runs": runs, "metric": "map"})
    solvable = frame.group_by("query_id").agg(pl.col("label").max())["label"].mean()
    assert tuned.table["mean"][1] == pytest.approx(solvable)


def test_options_and_normalisations_are_chosen_as_well() -> None:
    tuned = TABLE.rank.tune("comb_gmnz", normalize=["min_max", "zmuv"], options={"gamma": [1, 0]}, **QUICK)
    assert tuned.candidates["method"].to_list() == [
        f"comb_gmnz({text})" for text in ("normalize=min_max", "normalize=zmuv", "gamma=0,normalize=min_max",
                                          "gamma=0,normalize=zmuv")
    ]  # fmt: skip
    for text, mean in tuned.candidates.iter_rows():
        assert TABLE.rank.fuse(text, runs=RUNS).rank.mean("rr").item() == pytest.approx(mean)


@each(("method", "n"), [("rrf", 8), ("rrf(weights=[1,2,3])", 8), ("rbc", 7), ("logn_isr", 7), ("comb_gmnz", 7)])
def test_an_option_without_values_has_the_usual_ones(method: str, n: int) -> None:
    given = {} if "weights" in method or method in ("logn_isr", "comb_gmnz") else {"options": {"weights": [None]}}
    tuned = TABLE.rank.tune(method, **given, **QUICK)
    assert tuned.candidates.height == n
    assert tuned.table["method"][2] == tuned.candidates["method"][0] == method


@pytest.mark.filterwarnings("ignore:.* of documents are tied:rankframe.RankframeWarning")
def test_depth_and_missing_may_be_chosen() -> None:
    tuned = TABLE.rank.tune(
        "comb_sum", normalize="min_max", options={"depth": [None, 2], "missing": ["skip", "min"]}, **QUICK
    )
    for text, mean in tuned.candidates.iter_rows():
        assert TABLE.rank.fuse(text, runs=RUNS).rank.mean("rr").item() == pytest.approx(mean)
    assert tuned.candidates.height == 4


def test_a_metric_whose_lower_value_is_better_is_made_small() -> None:
    metric = "average_relevance_position"
    tuned = TABLE.rank.tune("wsum(normalize=min_max)", **{**QUICK, "metric": metric})
    assert not rf.METRICS[metric].higher_is_better
    assert tuned.table["mean"][1] == pytest.approx(tuned.candidates["mean"].min())


def test_an_option_of_the_metric_may_say_that_a_lower_value_is_better() -> None:
    @rf.metric(higher_is_better=lambda *, lost=False, **_: not lost)
    def found_or_lost(r: rf.Ranking, k: int | None = None, *, lost: bool = False) -> pl.Expr:
        found = r.total(r.relevant, k)
        return r.n_relevant - found if lost else found

    try:
        for metric, best in (("found_or_lost(k=1)", "max"), ("found_or_lost(k=1,lost=True)", "min")):
            tuned = TABLE.rank.tune("wsum(normalize=min_max)", **{**QUICK, "metric": metric})
            assert tuned.table["mean"][1] == getattr(tuned.candidates["mean"], best)()
            assert tuned.candidates["mean"].n_unique() > 1
    finally:
        rf.unregister(found_or_lost)


def test_queries_without_a_value_do_not_count() -> None:
    frame = TABLE.with_columns(label=pl.when(query_id="q3").then(0).otherwise("label"))
    tuned = frame.rank.on(no_relevant="null").tune("wsum(normalize=min_max)", step=0.25, **QUICK)
    counted = TABLE.group_by("query_id").agg(pl.col("label").max()).filter(pl.col("query_id") != "q3")["label"].sum()
    assert tuned.table["n_queries"].to_list() == [counted] * 6
    assert tuned.per_query.filter(query_id="q3")["tuned, out of fold"].to_list() == [None]


@each("form", ["lazy", "pandas", "long", "tables"])
def test_every_form_of_table_is_tuned_alike(form: str, tuned: rf.results.TunedFusion[pl.DataFrame]) -> None:
    options: dict[str, Any] = {**QUICK, "step": 0.25, "folds": 4}
    text = "wsum(normalize=min_max)"
    long = TABLE.unpivot(RUNS, index=["query_id", "doc_id", "label"], variable_name="run", value_name="score")
    found: Any
    match form:
        case "lazy":
            found = TABLE.lazy().rank.tune(text, **options)
            figures = found.table.collect()
            fused = found.fuse(TABLE.lazy()).collect()
        case "pandas":
            found = TABLE.to_pandas().rank.tune(text, **options)
            assert found.per_query.index.name == "query_id"
            figures = pl.from_pandas(found.table, nan_to_null=True)
            fused = pl.from_pandas(found.fuse(TABLE.to_pandas()))
        case "long":
            del options["runs"]
            found = long.rank.tune(text, run="run", **options)
            figures, fused = found.table, found.fuse(long[::-1])
        case _:
            tables = {str(run): part.drop("run") for (run,), part in long.group_by("run", maintain_order=True)}
            found = tables["a"].rank.tune(text, **{**options, "runs": tables})
            figures, fused = found.table, found.fuse(long)
    assert found.text == tuned.text
    assert figures["mean"].to_list() == pytest.approx(tuned.table["mean"].to_list())
    key = ["query_id", "doc_id"]
    scores = fused.sort(key)["score"].to_list()
    assert scores == pytest.approx(tuned.fuse(TABLE).sort(key)["score"].to_list())


def test_a_tuned_fusion_is_shown_with_what_was_chosen_and_what_it_gains(
    tuned: rf.results.TunedFusion[pl.DataFrame],
) -> None:
    first, second, *lines = repr(tuned).splitlines()
    assert first == f"{tuned.text}, chosen among 16 settings on 12 queries"
    assert second.startswith("rr out of fold ")
    assert " (4 folds), in sample " in second
    assert [line.split("  ")[0] for line in lines[2:8]] == tuned.table["ranking"].to_list()
    assert sum(line.startswith("Fold ") for line in lines) == 4
    assert "by the bounded interval, after Holm's correction for 4 comparisons" in " ".join(lines)
    page = tuned._repr_html_()
    assert page.count("<table>") == 2
    assert re.search(rf"<td[^>]*>{re.escape(tuned.text)}</td>", page)


def test_the_progress_of_tuning_is_told_by_the_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    from rankframe._verbs.fuse import tuning

    told: list[tuple[int, int]] = []

    class Told:
        def __init__(self, what: str, show: bool) -> None:
            self.what = what

        def __enter__(self) -> Any:
            return lambda done, total: told.append((done, total)) if self.what == "tuning" else None

        def __exit__(self, *error: object) -> None: ...

    monkeypatch.setattr(tuning, "Progress", Told)
    TABLE.rank.tune("wsum(normalize=min_max)", step=0.25, **QUICK)
    assert told == [(i, 16) for i in range(1, 17)]


def test_a_tuned_fusion_is_no_method_but_fuses_by_itself(tuned: rf.results.TunedFusion[pl.DataFrame]) -> None:
    fuses: list[Any] = [TABLE.rank.fuse, TABLE.rank.fusion.explain, TABLE.rank.plot.contributions]
    for fuse in fuses:
        with pytest.raises(rf.InvalidOption, match="a TunedFusion is no method of fusion"):
            fuse(tuned)
    with pytest.raises(rf.InvalidOption, match="a TunedFusion is no method of fusion"):
        TABLE.rank.fusion.oracle("rr", fusion=tuned, runs=["a", "b"])


def tune(method: Any = "wsum(normalize=min_max)", frame: Any = TABLE, **options: Any) -> Any:
    return lambda: frame.rank.tune(method, **{**QUICK, **options})


REFUSED: list[tuple[Any, type[Exception], str]] = [
    (tune(runs=["a", "B"]), rf.MissingColumn, "'B'"),
    (tune(runs=["a"]), rf.InvalidOption, "two or more"),
    (tune(runs=None), rf.InvalidOption, "runs="),
    (tune(frame=TABLE.drop("label")), rf.MissingColumn, "label"),
    (tune(folds=1), rf.InvalidOption, r"folds=1: write a whole number from 2 on"),
    (tune(folds=2.5), rf.InvalidOption, "folds=2.5"),
    (tune(frame=TABLE.filter(pl.col("query_id") == pl.col("query_id").first()), folds=2), rf.InvalidOption, "folds=2 are more than the 1 queries of the table"),
    (tune(frame=TABLE.clear(), folds=2), rf.InvalidOption, "^there is one run|folds=2 are more"),
    (tune(folds=13), rf.InvalidOption, "folds=13 are more than the 12 queries of the table"),
    (tune(metric="ndgc@10"), rf.UnknownMetric, "Did you mean 'ndcg'"),
    (tune("wsun"), rf.InvalidOption, "Did you mean 'wsum'"),
    (tune("posfuse"), rf.InvalidOption, "posfuse is trained on judged rankings, by fit_fusion"),
    (tune([]), rf.InvalidOption, "no method leaves nothing to choose"),
    (tune("comb_sum"), rf.InvalidOption, "nothing to choose"),
    (tune(step=0.3), rf.InvalidOption, r"step=0.3 does not divide 1"),
    (tune(step=0.001), rf.InvalidOption, r"501,502 settings.*search='coordinate'"),
    (tune(search="random"), rf.InvalidOption, "grid"),
    (tune(options={"k": [1, 2]}), rf.InvalidOption, "'k'"),
    (tune(options={"normalize": ["zmuv"]}), rf.InvalidOption, "leaves open, the option 'normalize'"),
    (tune(options={"weights": []}), rf.InvalidOption, "nothing to choose"),
    (tune("comb_sum", normalize=["min_max", "zscor"]), rf.InvalidOption, "zscor"),
    (tune(ci=None), rf.InvalidOption, "ci=None: write a"),
    (tune(frame=TABLE.rename({"query_id": "fold"}), runs=["a", "b"]), rf.RankframeError, "query_id"),
]  # fmt: skip


@each(("call", "kind", "said"), REFUSED)
def test_a_call_that_cannot_be_meant_is_refused_with_advice(call: Any, kind: type[Exception], said: str) -> None:
    with pytest.raises(kind, match=said):
        call()


def test_a_query_column_with_the_name_of_a_result_is_refused() -> None:
    with pytest.raises(rf.InvalidOption, match="'fold'"):
        TABLE.rename({"query_id": "fold"}).rank.on(query="fold").tune("wsum(normalize=min_max)", **QUICK)
