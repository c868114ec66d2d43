"""Runs and judgments of any form are evaluated and compared in one line."""

from __future__ import annotations

import io
import random
from collections import namedtuple
from collections.abc import Callable
from inspect import signature
from pathlib import Path
from typing import Any

import ir_measures
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import pytrec_eval
from ir_measures import AP, RR, P, nDCG

import rankframe as rf
from rankframe._support.option_kinds import kinds_of
from rankframe._table.setup import OPTIONS
from rankframe._verbs.decide.compare import compare
from rankframe._verbs.decide.gate import gate
from rankframe._verbs.fuse.fitted import fit
from rankframe._verbs.fuse.fuse import fuse
from rankframe._verbs.items.summarize import summarize
from rankframe._verbs.measure.evaluate import evaluate
from rankframe._verbs.measure.summary import mean
from tests.support.each import each


def random_dicts(seed: int, queries: int = 12) -> tuple[dict[str, dict[str, float]], dict[str, dict[str, int]]]:
    """A run and its judgments as pytrec_eval holds them, without tied scores."""
    rng = random.Random(seed)
    docs = [f"d{i}" for i in range(30)]
    run = {f"q{q}": {d: rng.random() for d in rng.sample(docs, 20)} for q in range(queries)}
    qrels = {q: {d: rng.choice([0, 0, 1, 2]) for d in rng.sample(docs, 15)} for q in run}
    return run, qrels


RUN, QRELS = random_dicts(1)
OTHER, _ = random_dicts(2)
SHOWN = pl.DataFrame({"user_id": ["q0"], "item_id": ["d0"], "score": [1.0]})


def frame(given: dict[str, Any], number: str) -> pl.DataFrame:
    rows = [(q, d, x) for q, docs in given.items() for d, x in docs.items()]
    return pl.DataFrame(rows, schema=["query_id", "doc_id", number], orient="row")


def trec(given: dict[str, Any], number: str) -> str:
    rows = frame(given, number).rows()
    return "".join(f"{q} Q0 {d} 1 {x!r} tag\n" if number == "score" else f"{q} 0 {d} {x}\n" for q, d, x in rows)


def written(given: dict[str, Any], number: str, folder: Path) -> Path:
    path = folder / f"a.{number}"
    path.write_text(trec(given, number))
    return path


Record = {"score": namedtuple("ScoredDoc", "query_id doc_id score"), "label": namedtuple("Qrel", "query_id doc_id relevance iteration", defaults=["0"])}  # fmt: skip
FORMS: dict[str, Callable[[dict[str, Any], str, Path], Any]] = {
    "dictionary": lambda given, *_: given,
    "Polars": lambda given, number, _: frame(given, number),
    "pandas": lambda given, number, _: frame(given, number).to_pandas(),
    "lazy": lambda given, number, _: frame(given, number).lazy(),
    "Arrow": lambda given, number, _: pa.table(frame(given, number).to_arrow()),
    "path": written,
    "text of a path": lambda *given: str(written(*given)),
    "open file": lambda given, number, _: io.StringIO(trec(given, number)),
    "tuples": lambda given, number, _: frame(given, number).rows(),
    "named tuples": lambda given, number, _: [Record[number](*row) for row in frame(given, number).rows()],
    "iterator": lambda given, number, _: iter(frame(given, number).rows()),
    "records": lambda given, number, _: frame(given, number).to_dicts(),
}


def values(found: Any) -> dict[str, tuple[float, ...]]:
    """The values of each query."""
    if isinstance(found, pd.DataFrame):
        return {str(q): tuple(x) for q, x in zip(found.index, found.to_numpy().tolist(), strict=True)}
    return {q: tuple(x) for q, *x in found.lazy().collect().rows()}


def theirs(run: dict[str, Any]) -> dict[str, tuple[float, ...]]:
    """The values of pytrec_eval."""
    found = pytrec_eval.RelevanceEvaluator(QRELS, {"map", "ndcg_cut_10"}).evaluate(run)
    return {q: (x["ndcg_cut_10"], x["map"]) for q, x in found.items()}


@each("of_qrels", FORMS, sample=2 * len(FORMS))
@each("of_run", FORMS)
def test_every_form_of_a_run_and_of_judgments_gives_the_values_of_pytrec_eval(
    of_run: str, of_qrels: str, tmp_path: Path
) -> None:
    found = rf.evaluate(
        FORMS[of_run](RUN, "score", tmp_path), FORMS[of_qrels](QRELS, "label", tmp_path), "ndcg@10", "map"
    )
    expected = theirs(RUN)
    assert values(found) == {q: pytest.approx(x) for q, x in expected.items()}
    kinds = {"pandas": pd.DataFrame, "lazy": pl.LazyFrame}
    assert type(found) is kinds.get(of_run, pl.DataFrame)


def test_means_are_those_of_ir_measures() -> None:
    measures = [nDCG @ 10, AP, RR, P @ 5]
    found = ir_measures.calc_aggregate(measures, QRELS, RUN)
    means = rf.evaluate(RUN, QRELS, *map(str, measures)).mean()
    assert means.drop("query_id").row(0) == pytest.approx(tuple(found[x] for x in measures))


def test_lists_of_documents_are_best_first_and_numbered() -> None:
    found = rf.evaluate([["a", "b"], ["c", "d"]], [["b"], {"c", "z"}], "rr", "recall")
    assert found.rows() == [(0, 0.5, 1.0), (1, 1.0, 0.5)]
    by_query = rf.evaluate({"x": ["a", "b"]}, {"x": ["b"]}, "rr")
    assert by_query.rows() == [("x", 0.5)]


def strict(run: dict[str, Any]) -> dict[str, float]:
    """The values of ir_measures with relevance from label 2."""
    return {x.query_id: x.value for x in ir_measures.iter_calc([P(rel=2) @ 5], QRELS, run)}


def test_columns_and_policies_are_the_keywords_of_on() -> None:
    names = {"query_id": "qid", "score": "sim"}
    one, two = (frame(run, "score").rename(names) for run in (RUN, OTHER))
    qrels = frame(QRELS, "label").rename({"query_id": "qid"})
    options: dict[str, Any] = {"query": "qid", "score": "sim", "relevant": 2}
    for way in (options, {"like": one.rank.on(**options)}, {"like": one.rank.on(**options, depth=1), "depth": 99}):
        assert dict(rf.evaluate(one, qrels, "precision@5", **way).rows()) == pytest.approx(strict(RUN))
        of_one, of_two = (sum(strict(run).values()) / len(run) for run in (RUN, OTHER))
        assert rf.mean(one, qrels, "precision@5", **way).item() == pytest.approx(of_one)
        found = rf.mean({"a": one, "b": two}, qrels, "precision@5", **way)
        assert dict(found.rows()) == pytest.approx({"a": of_one, "b": of_two})
        summary = rf.summarize({"a": one, "b": two}, qrels, "precision@5", ci=None, **way)
        assert dict(summary.select("run", "mean").rows()) == pytest.approx({"a": of_one, "b": of_two})
        assert rf.summarize(one, qrels, "precision@5", ci=None, **way)["mean"].item() == pytest.approx(of_one)
        table = rf.compare({"a": one, "b": two}, qrels, "precision@5", baseline="a", resamples=99, **way).table
        assert table["difference"].item() == pytest.approx(of_two - of_one)
        verdict = rf.gate({"a": one, "b": two}, qrels, {"precision@5": 0.2}, resamples=99, **way)
        assert verdict.table.select("baseline", "run").row(0) == ("a", "b")
        assert verdict.table["difference"].item() == pytest.approx(of_two - of_one)


def test_the_names_of_another_tool_are_one_keyword() -> None:
    recs = pl.DataFrame({"user_id": [1, 1], "item_id": ["a", "b"], "rank": [1, 2]})
    test = pl.DataFrame({"user_id": [1], "item_id": ["b"]})
    for kind in (pl.DataFrame.clone, pl.DataFrame.to_pandas):
        found = rf.evaluate(kind(recs), kind(test), "rr", names="rectools", rank="rank")
        assert [*found["rr"]] == [0.5]


@each("kind", [pl.DataFrame.clone, pl.DataFrame.to_pandas])
def test_a_column_with_a_usual_name_tells_the_runs_of_a_frame_apart(kind: Callable[[pl.DataFrame], Any]) -> None:
    stack = pl.concat(
        [frame(run, "score").with_columns(system=pl.lit(name)) for name, run in zip("ab", (RUN, OTHER), strict=True)]
    )
    means = {name: sum(strict(run).values()) / len(run) for name, run in zip("ab", (RUN, OTHER), strict=True)}
    found = rf.mean(kind(stack), kind(frame(QRELS, "label")), "precision@5", relevant=2)
    assert dict(zip(found["system"], found["precision@5"], strict=True)) == pytest.approx(means)
    by_query = rf.evaluate(kind(stack), kind(frame(QRELS, "label")), "precision@5", relevant=2)
    by_query = by_query.reset_index() if isinstance(by_query, pd.DataFrame) else by_query
    assert [*by_query.columns] == ["system", "query_id", "precision@5"]
    plain = stack.drop("system")
    with pytest.raises(rf.InvalidData, match=r"several runs, give each a table of its own, as \{'a': df_a"):
        rf.mean(kind(plain), kind(frame(QRELS, "label")), "map")


def test_runs_by_their_names_are_evaluated_each() -> None:
    found = rf.evaluate({"a": RUN, "b": OTHER}, QRELS, "precision@5", relevant=2)
    assert found.columns == ["run", "query_id", "precision@5"]
    for name, run in (("a", RUN), ("b", OTHER)):
        assert dict(found.filter(run=name).drop("run").rows()) == pytest.approx(strict(run))


@each("ask", [rf.evaluate, rf.mean, rf.summarize, rf.compare, rf.gate, rf.fuse, rf.fit_fusion])
def test_the_signature_has_the_options_of_the_verb_and_every_keyword_of_on(ask: Callable[..., Any]) -> None:
    verb = VERBS[ask.__name__]
    options = {name for name, x in signature(ask).parameters.items() if x.kind is x.KEYWORD_ONLY}
    assert {*OPTIONS} <= options
    own = {name for name, x in signature(verb).parameters.items() if x.kind is x.KEYWORD_ONLY}
    assert own - {"runs", "run", "qrels"} <= options
    read = {name: kind for name, kind in kinds_of(verb)[1].items() if name in options - {*OPTIONS, "qrels"}}
    assert read == {name: kinds_of(ask)[1][name] for name in read}
    assert own & {*OPTIONS} == ({"depth"} if ask in (rf.fuse, rf.fit_fusion) else set())


VERBS = {
    "evaluate": evaluate, "mean": mean, "summarize": summarize, "compare": compare, "gate": gate, "fuse": fuse,
    "fit_fusion": fit,
}  # fmt: skip


def test_an_option_of_fuse_hides_that_of_on_with_its_name() -> None:
    runs = [{"q": ["a", "b"]}, {"q": ["b", "c"]}]
    assert rf.fuse(runs, "rrf", depth=1).rows() == [("q", "a", 1 / 61), ("q", "b", 1 / 61), ("q", "c", None)]
    with pytest.raises(rf.InvalidOption, match=r"'dept'\. Did you mean 'depth'"):
        rf.fuse(runs, "rrf", dept=1)


@each(
    ("ask", "says"),
    [
        (
            lambda: rf.evaluate(RUN, QRELS, "rr", relevent=2),
            "evaluate has no option 'relevent'. Did you mean 'relevant'?",
        ),
        (
            lambda: rf.gate([RUN, OTHER], QRELS, {"rr": 0.1}, margn=1),
            "gate has no option 'margn'. Did you mean 'margin'?",
        ),
        (
            lambda: rf.mean(RUN, QRELS, "rr", on={}),
            "mean: got an unexpected keyword argument 'on'; its signature is mean(run, qrels, *metrics, by=None, ",
        ),
        (lambda: rf.evaluate(SHOWN, QRELS, "rr"), "Say query='user_id', doc='item_id'"),
        (lambda: rf.mean(SHOWN.to_pandas(), QRELS, "rr"), "Say query='user_id', doc='item_id'"),
        (lambda: rf.compare([SHOWN, SHOWN], QRELS, "rr"), "Say query='user_id', doc='item_id'"),
        (lambda: rf.fuse([SHOWN, SHOWN], "comb_sum"), "no document column; say doc=..."),
        (lambda: rf.mean(RUN, QRELS, "rr", unjudged="bounds"), "set another rule: unjudged='nonrelevant'"),
        (lambda: rf.evaluate(RUN, QRELS, "rr", like=RUN), "is no ranker; give one"),
    ],
)
def test_messages_speak_of_the_functions_own_keywords(ask: Callable[[], object], says: str) -> None:
    with pytest.raises((rf.InvalidOption, rf.MissingColumn)) as caught:
        ask()
    assert says in str(caught.value)
    assert "df.rank.on(query" not in str(caught.value).partition("give one, as ")[0]


def test_warnings_speak_of_them_too() -> None:
    runs, gold = {q: ["a", "b"] for q in range(60)}, {q: ["b"] for q in range(60)}
    with pytest.warns(rf.RankframeWarning, match=r"if low scores are the best, say ascending=True \(") as caught:
        rf.evaluate(runs, gold, "rr")
    assert caught[0].filename == __file__
    with pytest.warns(rf.RankframeWarning, match=r"say df.rank.on\(ascending=True\)"):
        rf.from_dicts(run=runs, qrels=gold).rank.evaluate("rr")


def test_queries_that_one_of_the_two_lacks_follow_the_options_of_judge() -> None:
    run, qrels = {"x": ["a"], "y": ["a"]}, {"x": ["a"], "z": ["a"]}
    with pytest.warns(rf.RankframeWarning):
        assert sorted(rf.evaluate(run, qrels, "rr").rows()) == [("x", 1.0), ("z", 0.0)]
    found = rf.evaluate(run, qrels, "rr", judged_only="drop", run_only="keep")
    assert sorted(found.rows()) == [("x", 1.0), ("y", 0.0)]
    with pytest.raises(rf.InvalidData):
        rf.compare({"a": run, "b": run}, qrels, "rr", judged_only="error", run_only="drop")


@each("form", [name for name in FORMS if name not in ("iterator", "open file")])
def test_runs_of_every_form_are_compared(form: str, tmp_path: Path) -> None:
    folders = [tmp_path / name for name in ("a", "b")]
    runs = {}
    for name, folder, run in zip(("old", "new"), folders, (RUN, OTHER), strict=True):
        folder.mkdir()
        runs[name] = FORMS[form](run, "score", folder)
    found = rf.compare(runs, QRELS, "ndcg@10", "map", baseline="old", resamples=99)
    table = found.table if isinstance(found.table, pd.DataFrame) else found.table.lazy().collect().to_pandas()
    old, new = (list(theirs(run).values()) for run in (RUN, OTHER))
    for i, row in table.iterrows():
        mean, other = (sum(x[i] for x in run) / len(run) for run in (old, new))
        assert (row["baseline"], row["run"]) == ("old", "new")
        assert (row["baseline_mean"], row["mean"]) == pytest.approx((mean, other))


def test_runs_of_several_forms_are_compared_and_named(tmp_path: Path) -> None:
    path = tmp_path / "dense.run"
    path.write_text(trec(OTHER, "score"))
    found = rf.compare([path, RUN, frame(RUN, "score").to_pandas()], QRELS, "map", resamples=99)
    assert isinstance(found.table, pl.DataFrame)
    assert found.settings["runs"] == ["dense", "run1", "run2"]
    assert found.table.filter(baseline="run1")["difference"].item() == 0


def test_the_tag_in_a_run_does_not_name_it(tmp_path: Path) -> None:
    paths = [tmp_path / name for name in ("a.run", "b.run")]
    for path, run in zip(paths, (RUN, OTHER), strict=True):
        path.write_text(trec(run, "score"))  # with the same tag
    assert rf.compare(paths, QRELS, "map", resamples=99).settings["runs"] == ["a", "b"]


def test_options_are_those_of_compare() -> None:
    found = rf.compare({"a": RUN, "b": OTHER}, QRELS, "map", test="t", correction=None, ci=0.9)
    assert (found.settings["test"], found.settings["correction"], found.settings["ci"]) == ("t", None, 0.9)
    with pytest.raises(rf.InvalidOption, match="tset"):
        rf.compare({"a": RUN, "b": OTHER}, QRELS, "map", tset="t")


def test_judgments_and_a_run_in_the_other_order_are_refused() -> None:
    labels = {q: {d: int(x) for d, x in docs.items()} for q, docs in QRELS.items()}
    for swap in (lambda: rf.evaluate(labels, RUN, "map"), lambda: rf.compare([labels, labels], RUN, "map")):
        with pytest.raises(rf.InvalidData, match="as if they had changed places: the run comes first"):
            swap()
    with pytest.raises(rf.InvalidData, match="as if they had changed places"):
        rf.evaluate(frame(QRELS, "label").rows(), frame(RUN, "score").rows(), "map")
    with pytest.raises(rf.MissingColumn, match="no column 'score'"):
        rf.evaluate(frame(QRELS, "label"), frame(RUN, "score"), "map")
    whole = {"q": {"a": 3, "b": 1}}
    assert rf.evaluate(whole, {"q": {"b": 2}}, "rr")["rr"].item() == 0.5


@each(
    ("ask", "said"),
    [
        (lambda: rf.evaluate(5, QRELS, "rr"), "5 is no run; give a frame, a file, a dictionary"),
        (lambda: rf.evaluate(RUN, None, "rr"), "None is no judgments; give"),
        (lambda: rf.evaluate([], QRELS, "rr"), r"\[\] is no run"),
        (lambda: rf.evaluate([("q", "d")], QRELS, "rr"), "is no run; give a frame"),
        (lambda: rf.evaluate([("q", "d", 1.0), "x"], QRELS, "rr"), "is no run; give a frame"),
        (lambda: rf.evaluate(b"a.run", QRELS, "rr"), "is no run; give a frame"),
        (lambda: rf.evaluate([("q", "d", "high")], QRELS, "rr"), "the score of document 'd' of query 'q' is 'high'"),
        (lambda: rf.evaluate(RUN, [("q", 1, 1), ("q", "d", 0)], "rr"), "the documents of qrels are not all texts"),
        (lambda: rf.evaluate(RUN, QRELS), "no metric given"),
        (lambda: rf.compare([], QRELS, "rr"), r"\[\] holds no run"),
        (lambda: rf.compare({}, QRELS, "rr"), r"\{\} holds no run"),
        (lambda: rf.compare("a.run", QRELS, "rr"), "'a.run' is no list of runs"),
        (lambda: rf.compare(frame(RUN, "score"), QRELS, "rr"), "is no list of runs"),
        (lambda: rf.compare([RUN], QRELS, "rr"), "one run to compare"),
    ],
)
def test_what_is_no_run_or_no_judgment_is_refused(ask: Callable[[], object], said: str) -> None:
    with pytest.raises((rf.InvalidOption, rf.InvalidData), match=said):
        ask()


def test_a_query_without_documents_counts() -> None:
    found = rf.evaluate({"x": {}, "y": {"a": 1.0}}, {"x": {"b": 1}, "y": {"a": 1}}, "rr")
    assert sorted(found.rows()) == [("x", 0.0), ("y", 1.0)]


def test_the_callers_data_stay_as_they_are() -> None:
    run, qrels = frame(RUN, "score").to_pandas(), frame(QRELS, "label").to_pandas()
    before = run.copy(), qrels.copy()
    rf.evaluate(run, qrels, "map")
    rf.compare({"a": run, "b": run}, qrels, "map", resamples=99)
    pd.testing.assert_frame_equal(run, before[0])
    pd.testing.assert_frame_equal(qrels, before[1])
