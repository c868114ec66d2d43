"""Trained methods of fusion: worked values, plain-Python oracles on random tables, and what is saved, shown and refused."""

from __future__ import annotations

import math
import random
from typing import Any

import polars as pl
import pytest

import rankframe as rf
from tests.support.each import each

from .test_worked_values import LONG, WIDE

RUNS = ["A", "B", "C"]
JUDGED = LONG.with_columns(label=pl.col("doc_id").is_in(["d1", "d2"]).cast(pl.Int64))

# d1 to d5: ranks 1 3 -, 2 - 1, 3 1 -, 4 - -, - 2 -; d1 and d2 are relevant
ABSENT = math.log(0.001 / 0.999)
CASES: dict[str, list[float]] = {
    "mapfuse": [1 + 1 / 18, 1, 1 / 3 + 1 / 6, 1 / 4, 1 / 12],
    "posfuse": [2, 2, 0, 0, 0],
    "slidefuse(w=1)": [1.5, 2 / 3 + 1, 1 / 3, 0, 1 / 3],
    "probfuse(x=2)": [1.5, 2, 0, 0, 0],
    "segfuse": [0.4 * 10 + 0.2 * 1.5, 0.4 * 8 + 0.2 * 4, 0.4 * 7 + 0.2 * 1.8, 0.4 * 3, 0.2 * 1.6],
    "bayesfuse": [*[math.log(0.4 / 0.6) + math.log(0.2 / 0.8) + ABSENT] * 3, math.log(0.4 / 0.6) + 2 * ABSENT,
                  math.log(0.2 / 0.8) + 2 * ABSENT],
}  # fmt: skip


@each("method", CASES)
def test_a_trained_method_gives_the_worked_values(method: str) -> None:
    fused = LONG.rank.fuse(JUDGED.rank.fusion.fit(method, run="run"))
    assert fused.sort("doc_id")["score"].to_list() == pytest.approx(CASES[method], abs=1e-12)


def test_every_trained_method_has_worked_values() -> None:
    assert {method.partition("(")[0] for method in CASES} == set(rf.TRAINED_FUSIONS)


def random_table(seed: int, n_queries: int = 9, deep: bool = False) -> pl.DataFrame:
    """A row per document with the scores of three runs, some null, and its label, which may be null."""
    draw = random.Random(seed)
    rows = []
    for query in range(n_queries):
        for doc in range(draw.choice([1, 3, 8, 21, *([1100] if deep else [40])])):
            share = [0.9, 0.5, draw.choice([0, 0.2])]
            scores = [round(draw.gauss(0, 3), 9) if draw.random() < x else None for x in share]
            label = draw.choice([None, 0, 0, 1, 2])
            rows.append((query, f"d{doc}", *scores, label))
    rows.append((n_queries, "d", None, None, None, 1))  # judged, and retrieved by no run
    return pl.DataFrame(rows, schema=["query_id", "doc_id", *RUNS, "label"], orient="row")


Lists = dict[str, dict[int, list[tuple[str, float, bool]]]]


def lists_of(table: pl.DataFrame) -> Lists:
    """For each run and query the documents in rank order: id, score and whether relevant."""
    found: Lists = {run: {query: [] for query in table["query_id"].unique()} for run in RUNS}
    for row in table.iter_rows(named=True):
        for run in RUNS:
            if row[run] is not None:
                found[run][row["query_id"]].append((row["doc_id"], row[run], (row["label"] or 0) >= 1))
    for of_run in found.values():
        for entries in of_run.values():
            entries.sort(key=lambda x: (x[1], x[0]), reverse=True)
    return found


def ends(kind: str) -> list[int]:
    return [5, 10, 15, 20, 30, 100, 200, 500, 1000] if kind == "bayesfuse" else [10 * 2**k - 5 for k in range(10)]


def oracle(method: str, option: int, train: pl.DataFrame, test: pl.DataFrame) -> dict[tuple[int, str], float]:
    trained, applied = lists_of(train), lists_of(test)
    relevant = {q: sum((x or 0) >= 1 for x in part["label"]) for (q,), part in train.group_by("query_id")}
    values: dict[tuple[int, str], float] = {}
    documents = {(q, doc) for of_run in applied.values() for q, found in of_run.items() for doc, _, _ in found}
    for run in RUNS:
        hits = {q: [int(x[2]) for x in found] for q, found in trained[run].items()}
        n = len(hits)

        def position(r: int, hits: dict[int, list[int]] = hits) -> float:
            reach = [x[r - 1] for x in hits.values() if len(x) >= r]
            return sum(reach) / len(reach) if reach else 0.0

        def part(start: int, end: int, hits: dict[int, list[int]] = hits, n: int = n) -> float:
            return sum(sum(x[start:end]) for x in hits.values()) / (end - start) / n

        def share(k: int, hits: dict[int, list[int]] = hits, n: int = n) -> float:
            total = 0.0
            for x in hits.values():
                size = -(-len(x) // option)
                cut = x[(k - 1) * size : k * size]
                total += sum(cut) / len(cut) if cut else 0.0
            return total / n

        def odds(r: int | None, part: Any = part) -> float:
            bounds = [0, *ends("bayesfuse")]
            k = min(sum(r > end for end in bounds[1:]), 8) if r is not None else 0
            p = 0.0 if r is None else part(bounds[k], bounds[k + 1])
            return math.log(p / ((1 - p) or 0.001)) if p else ABSENT

        average = (
            sum(
                sum(x * sum(found[: i + 1]) / (i + 1) for i, x in enumerate(found)) / relevant[q]
                if relevant[q]
                else 0.0
                for q, found in hits.items()
            )
            / n
        )
        for q, found in applied[run].items():
            length = len(found)
            for i, (doc, score, _) in enumerate(found):
                r = i + 1
                if method == "mapfuse":
                    worth = average / r
                elif method == "posfuse":
                    worth = position(r)
                elif method == "slidefuse":
                    window = range(max(1, r - option), min(length, r + option) + 1)
                    worth = sum(map(position, window)) / len(window)
                elif method == "probfuse":
                    k = -(-r // -(-length // option))
                    worth = share(k) / k
                elif method == "segfuse":
                    bounds = [0, *ends("segfuse")]
                    k = sum(r > end for end in bounds[1:])
                    worth = part(bounds[k], bounds[k + 1]) * (score + 1)
                else:
                    worth = odds(r)
                values[q, doc] = values.get((q, doc), 0.0) + worth
        if method == "bayesfuse":
            for q, doc in documents - {(q, doc) for q, found in applied[run].items() for doc, _, _ in found}:
                values[q, doc] = values.get((q, doc), 0.0) + ABSENT
    return values


METHODS = [("mapfuse", 0), ("posfuse", 0), ("slidefuse", 0), ("slidefuse", 3), ("probfuse", 1), ("probfuse", 4),
           ("segfuse", 0), ("bayesfuse", 0)]  # fmt: skip


def text_of(method: str, option: int) -> str:
    return {"slidefuse": f"slidefuse(w={option})", "probfuse": f"probfuse(x={option})"}.get(method, method)


@each(("method", "option"), METHODS, sample=2 * len(METHODS))
@each("seed", range(4))
def test_trained_methods_agree_with_plain_python_on_random_tables(method: str, option: int, seed: int) -> None:
    train, test = random_table(seed), random_table(100 + seed, deep=seed == 0)
    fitted = train.rank.fusion.fit(text_of(method, option), runs=RUNS)
    found = {(q, doc): score for q, doc, score in test.drop("label").rank.fuse(fitted).rows() if score is not None}
    expected = oracle(method, option, train, test)
    assert found.keys() == expected.keys()
    assert found == pytest.approx(expected, abs=1e-12)


def test_ranks_beyond_a_thousand_count_as_the_last_class_of_bayesfuse() -> None:
    table = pl.DataFrame({"query_id": 1, "doc_id": range(1100), "A": range(1100, 0, -1), "B": range(1100, 0, -1)})
    judged = table.with_columns(label=pl.when(pl.int_range(1100) < 999).then(1).otherwise(0))
    scores = table.rank.fuse(judged.rank.fusion.fit("bayesfuse", runs=["A", "B"]))["score"].to_list()
    assert scores[999] == scores[1000] == scores[1099] == pytest.approx(2 * math.log(499 / 1), abs=1e-12)


def test_a_class_with_relevant_documents_alone_has_odds_of_a_thousand() -> None:
    table = pl.DataFrame({"query_id": 1, "doc_id": range(6), "A": range(6, 0, -1), "B": None, "label": [1] * 5 + [0]})
    fitted = table.rank.fusion.fit("bayesfuse", runs=["A", "B"])
    assert table.rank.fuse(fitted)["score"][0] == pytest.approx(math.log(1 / 0.001) + ABSENT, abs=1e-12)


def test_posfuse_gives_nothing_beyond_the_ranks_of_the_training() -> None:
    fitted = JUDGED.rank.fusion.fit("posfuse", run="run")
    longer = pl.DataFrame({"query_id": "q", "doc_id": list("abcdef"), "A": range(6, 0, -1)}).with_columns(
        B=None, C=None
    )
    assert longer.rank.fuse(fitted, runs=RUNS)["score"].to_list() == [1, 1, 0, 0, 0, 0]


@each("method", CASES, sample=len(CASES))
@each("form", ["lazy", "pandas", "qrels"])
def test_every_form_of_table_trains_and_fuses_alike(method: str, form: str) -> None:
    train, test = random_table(7), random_table(8)
    ranker = train.rank.fusion.fit(method, runs=RUNS)
    expected = test.rank.fuse(ranker)
    match form:
        case "lazy":
            fitted = train.lazy().rank.fusion.fit(method, runs=RUNS)
            found = test.lazy().rank.fuse(ranker).collect()
        case "pandas":
            fitted = train.to_pandas().rank.fusion.fit(method, runs=RUNS)
            found = pl.from_pandas(test.to_pandas().rank.fuse(ranker), nan_to_null=True)
        case _:
            fitted = rf.fit_fusion(train.drop("label"), method, runs=RUNS, qrels=train.drop(RUNS).fill_null(0))
            found = expected
    assert test.rank.fuse(fitted)["score"].to_list() == pytest.approx(expected["score"].to_list(), nan_ok=True)
    assert found.sort("query_id", "doc_id")["score"].equals(expected.sort("query_id", "doc_id")["score"])


@each("method", CASES)
def test_a_table_with_a_row_per_run_trains_as_one_with_a_column_per_run(method: str) -> None:
    train, test = random_table(3), random_table(4)
    long = train.unpivot(RUNS, index=["query_id", "doc_id", "label"], variable_name="run", value_name="score")
    fitted = long.rank.fusion.fit(method, run="run")
    expected = test.rank.fuse(train.rank.fusion.fit(method, runs=RUNS))
    assert test.rank.fuse(fitted, runs=RUNS)["score"].to_list() == pytest.approx(expected["score"].to_list())


def test_a_table_for_each_run_is_joined_with_the_judgments() -> None:
    qrels = JUDGED.select("query_id", "doc_id", "label").unique()
    tables = {str(run): part.drop("run") for (run,), part in LONG.group_by("run", maintain_order=True)}
    fitted = rf.fit_fusion(tables["B"], "mapfuse", runs=tables, qrels=qrels)
    assert fitted.learned.rows() == [("A", 1.0), ("B", pytest.approx(1 / 6)), ("C", 0.5)]


def test_runs_are_matched_by_name_whatever_their_order() -> None:
    fitted = JUDGED.rank.fusion.fit("mapfuse", run="run")
    expected = LONG.rank.fuse(fitted).sort("doc_id")
    for found in (LONG[::-1].rank.fuse(fitted, run="run"), WIDE.rank.fuse(fitted, runs=["C", "A", "B"])):
        assert found.sort("doc_id")["score"].to_list() == pytest.approx(expected["score"].to_list(), abs=1e-12)


def test_a_run_that_retrieves_nothing_in_a_table_adds_what_an_absent_list_adds() -> None:
    fitted = JUDGED.rank.fusion.fit("bayesfuse", run="run")
    found = LONG.filter(run="A").rank.fuse(fitted)["score"].to_list()
    assert found == pytest.approx([math.log(0.4 / 0.6) + 2 * ABSENT] * 4, abs=1e-12)


def test_the_relevance_policy_decides_what_is_learned() -> None:
    judged = JUDGED.with_columns(label=pl.col("doc_id").replace_strict({"d1": 2, "d2": 1}, default=0))
    fitted = judged.rank.on(relevant=2).fusion.fit("posfuse", run="run")
    assert fitted.learned.filter(pl.col("probability") > 0).rows() == [("A", 1, 1.0), ("B", 3, 1.0)]


def test_tied_documents_share_what_is_learned_of_their_ranks_by_expectation() -> None:
    table = pl.DataFrame({"query_id": 1, "doc_id": list("abc"), "A": [2, 2, 1], "B": [1, 2, 3], "label": [1, 0, 0]})
    fitted = table.rank.on(ties="expected").fusion.fit("posfuse", runs=["A", "B"])
    assert fitted.learned["probability"].to_list() == [0.5, 0.5, 0, 0, 0, 1]
    assert table.rank.on(ties="expected").fuse(fitted)["score"].to_list() == [1.5, 0.5, 0]


def test_the_depth_holds_in_training_and_application() -> None:
    fitted = JUDGED.rank.fusion.fit("mapfuse", run="run", depth=2)
    assert fitted.learned.rows() == [("A", 1.0), ("B", 0.0), ("C", 0.5)]
    assert fitted.method == "mapfuse(depth=2)"
    scores = dict(LONG.rank.fuse(fitted).select("doc_id", "score").rows())
    assert scores == {"d1": 1.0, "d2": 1.0, "d3": 0.0, "d4": None, "d5": 0.0}


@each("method", CASES)
def test_what_was_trained_survives_as_json(method: str) -> None:
    for table in (random_table(5), random_table(5).to_pandas(), random_table(5).lazy()):
        fitted = table.rank.fusion.fit(method, runs=RUNS)
        again = rf.results.FittedFusion.from_json(fitted.to_json())
        assert again.to_json() == fitted.to_json()
        assert random_table(6).rank.fuse(again).equals(random_table(6).rank.fuse(fitted))


def test_a_fitted_fusion_shows_what_was_learned_of_each_run() -> None:
    fitted = JUDGED.rank.fusion.fit("probfuse(x=2)", run="run")
    assert repr(fitted).splitlines() == [
        "probfuse(x=2), trained on A, B, C and 1 query",
        "",
        "segment       A       B       C",
        "      1  1.0000  0.0000  1.0000",
        "      2  0.0000  1.0000  0.0000",
        "Figures: probability.",
    ]
    assert '<td style="text-align: right">1.0000</td>' in fitted._repr_html_()


def test_a_long_table_of_what_was_learned_is_shown_in_part() -> None:
    table = pl.DataFrame({"query_id": 1, "doc_id": range(40), "A": range(40), "B": range(40), "label": 1})
    assert repr(table.rank.fusion.fit("posfuse", runs=["A", "B"])).splitlines()[-1] == (
        "The first 30 of 40 ranks; .learned has all."
    )


REFUSED: list[tuple[Any, type[Exception], str]] = [
    (lambda: LONG.rank.fusion.fit("posfuse", run="run"), rf.MissingColumn, "label"),
    (lambda: JUDGED.rank.fusion.fit("posfuze", run="run"), rf.InvalidOption, "Did you mean 'posfuse'"),
    (lambda: JUDGED.rank.fusion.fit("rrf(k=3)", run="run"), rf.InvalidOption, "rrf needs no training; trained methods are mapfuse"),
    (lambda: JUDGED.rank.fusion.fit("slidefuse", run="run"), rf.InvalidOption, "'w'"),
    (lambda: JUDGED.rank.fusion.fit("probfuse(x=0)", run="run"), rf.InvalidOption, "from 1 on"),
    (lambda: JUDGED.rank.fusion.fit("posfuse"), rf.InvalidOption, "runs="),
    (lambda: JUDGED.rank.on(relevant=3).fusion.fit("posfuse", run="run"), rf.InvalidData, "nothing to learn"),
    (lambda: JUDGED.rank.on(unjudged="bounds").fusion.fit("posfuse", run="run"), rf.InvalidOption, "bounds"),
    (lambda: LONG.rank.fuse("posfuse", run="run"), rf.InvalidOption, "trained on judged rankings, by fit_fusion"),
    (lambda: LONG.rank.fuse(fitted(), run="run", depth=3), rf.InvalidOption, "belongs to the training"),
    (lambda: WIDE.rank.fuse(fitted(), runs=["A", "B"]), rf.InvalidOption, "A, B are other ones than .* trained, A, B, C"),
    (lambda: WIDE.rename({"A": "AA"}).rank.fuse(fitted(), runs=["AA", "B", "C"]), rf.InvalidOption, "AA, B, C are other ones than"),
    (lambda: LONG.with_columns(run=pl.lit("Z")).rank.fuse(fitted()), rf.InvalidOption, "the runs Z are other ones than"),
    (lambda: rf.results.FittedFusion.from_json("{"), rf.InvalidData, "no JSON of a trained"),
    (lambda: rf.results.FittedFusion.from_json("[]"), rf.InvalidData, "no JSON of a trained"),
    (lambda: rf.results.FittedFusion.from_json(fitted().to_json().replace('fusion": 1', 'fusion": 9')), rf.InvalidData, "no JSON of a trained"),
    (lambda: rf.results.FittedFusion.from_json(fitted().to_json().replace('"C"', '"D"', 1)), rf.InvalidData, "no JSON of a trained"),
    (lambda: rf.results.FittedFusion.from_json(fitted().to_json().replace('"rank":', '"rank": 1, "x":')), rf.InvalidData, "no JSON of a trained"),
]  # fmt: skip


def fitted() -> Any:
    return JUDGED.rank.fusion.fit("posfuse", run="run")


@each(("call", "kind", "said"), REFUSED)
def test_a_call_that_cannot_be_meant_is_refused_with_advice(call: Any, kind: type[Exception], said: str) -> None:
    with pytest.raises(kind, match=said):
        call()


def test_a_table_of_another_label_leaves_the_fused_scores_as_they_are() -> None:
    trained = fitted()
    assert JUDGED.rank.fuse(trained).drop("label").equals(JUDGED.with_columns(label=0).rank.fuse(trained).drop("label"))


def test_what_was_trained_fuses_a_table_by_its_own_method() -> None:
    assert fitted().fuse(LONG).equals(LONG.rank.fuse(fitted()))


@each("method", ["segfuse", "bayesfuse"])
def test_the_segments_of_a_trained_method_end_where_its_paper_says(method: str) -> None:
    last = ends(method)
    n = last[-1] + 5
    table = pl.DataFrame({"query_id": 1, "doc_id": range(n), "A": range(n, 0, -1)})
    judged = table.with_columns(label=(pl.int_range(1, n + 1)).is_in(last).cast(pl.Int64))  # one at the end of each
    learned = judged.rank.fusion.fit(method, runs=["A"]).learned
    assert learned["segment"].to_list() == list(range(1, len(last) + 1))
    widths = [end - start for start, end in zip([0, *last], last, strict=False)]
    assert learned["probability"].to_list() == pytest.approx([1 / width for width in widths], abs=1e-15)


@each("method", CASES)
def test_neither_the_order_of_rows_nor_a_further_query_changes_what_was_trained_gives(method: str) -> None:
    train, test = random_table(9), random_table(10)
    fitted = train.sample(fraction=1, shuffle=True, seed=1).rank.fusion.fit(method, runs=RUNS)
    expected = test.rank.fuse(train.rank.fusion.fit(method, runs=RUNS)).sort("query_id", "doc_id")
    found = test.sample(fraction=1, shuffle=True, seed=2).rank.fuse(fitted).sort("query_id", "doc_id")
    assert found.select("query_id", "doc_id", pl.col("score").is_null()).equals(
        expected.select("query_id", "doc_id", pl.col("score").is_null())
    )
    assert found["score"].drop_nulls().to_list() == pytest.approx(expected["score"].drop_nulls().to_list(), abs=1e-12)
    less = test.filter(pl.col("query_id") != 3).rank.fuse(fitted).sort("query_id", "doc_id")
    assert less["score"].to_list() == found.filter(pl.col("query_id") != 3)["score"].to_list()
