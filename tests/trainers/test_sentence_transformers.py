"""The evaluator of a search, with a model whose embeddings are given."""

from __future__ import annotations

import csv
import math
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pytest

import rankframe as rf
from tests.support.each import each
from tests.trainers.protocols import BaseEvaluator, Model

# Similarities of query x: a 3, b 2, c 1, d 0; of query y: the other way round; of z as of x.
QUERIES = {"qx": "x", "qy": "y", "qz": "z"}
CORPUS = {"a": "text a", "b": "text b", "c": "text c", "d": "text d"}
QRELS: dict[str, Any] = {"qx": {"b": 2, "c": 1}, "qy": {"d": 1}, "other": {"a": 1}}
EMBEDDINGS = {"x": [1.0, 0.0], "y": [0.0, 1.0], "z": [1.0, 0.0]} | {
    text: [3.0 - i, float(i)] for i, text in enumerate(CORPUS.values())
}
SECOND = 1 / math.log2(3)


def put(where: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sentence-transformers as far as it is asked for, with the class that evaluators are of in a module."""
    names = [
        "sentence_transformers",
        "sentence_transformers.base",
        "sentence_transformers.base.evaluation",
        "sentence_transformers.evaluation",
    ]
    for name in names:
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    module = sys.modules[f"sentence_transformers.{where}"]
    module.BaseEvaluator = module.SentenceEvaluator = BaseEvaluator  # type: ignore[attr-defined]


@pytest.fixture(autouse=True)
def _tool(monkeypatch: pytest.MonkeyPatch) -> None:
    put("base.evaluation", monkeypatch)


def evaluator(*metrics: str, **options: Any) -> Any:
    given = {"queries": {"qx": "x", "qy": "y"}, "corpus": CORPUS, "qrels": QRELS, **options}
    return rf.sentence_transformers_evaluator(*(metrics or ("ndcg@10", "rr")), **given)


def test_it_is_an_evaluator_of_the_versions_before_6_too(monkeypatch: pytest.MonkeyPatch) -> None:
    put("evaluation", monkeypatch)
    monkeypatch.setitem(sys.modules, "sentence_transformers.base.evaluation", None)  # type: ignore[arg-type]
    assert isinstance(evaluator("rr"), BaseEvaluator)


def test_it_is_an_evaluator_whose_first_metric_chooses_the_checkpoint() -> None:
    found = evaluator("rr", "fall_out@1")
    assert isinstance(found, BaseEvaluator)
    assert (found.primary_metric, found.greater_is_better) == ("rr", True)
    assert not evaluator("fall_out@1").greater_is_better
    assert evaluator("rr", name="dev").primary_metric == "dev_rr"
    assert found.get_config_dict() == {"metrics": ["rr", "fall_out@1"], "top_k": 100, "relevant": 1, "ties": "doc_desc"}


@each("chunk_size", [1, 3, 10_000])
def test_it_embeds_searches_and_judges(chunk_size: int) -> None:
    model, found = Model(EMBEDDINGS), evaluator("ndcg@10", "rr", "recall@2", chunk_size=chunk_size, ci=None)
    ideal = 2 + SECOND
    ndcg = (2 * SECOND + 0.5) / ideal
    assert found(model) == {"ndcg@10": pytest.approx((ndcg + 1) / 2, abs=1e-15), "rr": 0.75, "recall@2": 0.75}
    assert found.per_query.sort("query_id").rows() == [("qx", pytest.approx(ndcg), 0.5, 0.5), ("qy", 1.0, 1.0, 1.0)]
    assert [kind for kind, _ in model.asked].count("query") == 1
    assert sorted(text for kind, texts in model.asked if kind == "document" for text in texts) == list(CORPUS.values())


def test_documents_beyond_the_depth_of_the_search_are_missed() -> None:
    assert evaluator("recall", top_k=1, ci=None)(Model(EMBEDDINGS)) == {"recall": 0.5}
    assert evaluator("recall", top_k=2, ci=None)(Model(EMBEDDINGS)) == {"recall": 0.75}


@each(("ties", "kept"), [("doc_desc", ["d", "c"]), ("doc_asc", ["a", "b"]), ("order", ["b", "d"])])
@each("chunk_size", [1, 2, 4])
def test_equal_similarities_are_cut_as_ties_are_ordered(ties: str, kept: list[str], chunk_size: int) -> None:
    corpus = dict.fromkeys(("b", "d", "a", "c"), "same")
    found = evaluator("rr", corpus=corpus, top_k=2, ties=ties, chunk_size=chunk_size)
    run = found.search(Model({**EMBEDDINGS, "same": [1.0, 1.0]}))
    assert run.filter(query_id="qx")["doc_id"].to_list() == kept


def test_intervals_are_those_of_the_summary_of_the_long_table() -> None:
    queries = {f"q{i}": "x" if i % 3 else "y" for i in range(12)}
    qrels = {query: {"b"} for query in queries}
    found = evaluator("rr", queries=queries, qrels=qrels, interval="percentile", ci=0.9, resamples=500, seed=3)
    got = found(Model(EMBEDDINGS))
    df = pl.DataFrame(
        [(q, d, (3 - i, i)[text == "y"], int(d == "b")) for q, text in queries.items() for i, d in enumerate(CORPUS)],
        ["query_id", "doc_id", "score", "label"], orient="row",
    )  # fmt: skip
    wanted = df.rank.summarize("rr", interval="percentile", ci=0.9, resamples=500, seed=3)
    assert found.summary.equals(wanted)
    ends = wanted.select("mean", "ci_low", "ci_high").row(0)
    assert tuple(got.values()) == pytest.approx(ends, abs=1e-15)
    assert list(got) == ["rr", "rr_ci_low", "rr_ci_high"]


def test_judgments_are_sets_labels_or_a_table_with_columns_of_any_name() -> None:
    table = pl.DataFrame({"q": ["qx", "qx", "qy"], "d": ["b", "c", "d"], "rel": [2, 1, 1]})
    forms: list[tuple[Any, dict[str, Any]]] = [
        ({"qx": {"b", "c"}, "qy": ["d"]}, {}),
        (table, {"query": "q", "doc": "d", "label": "rel"}),
        (table.to_pandas(), {"query": "q", "doc": "d", "label": "rel"}),
    ]
    for qrels, columns in forms:
        assert evaluator("rr", "recall@1", qrels=qrels, ci=None, **columns)(Model(EMBEDDINGS)) == {
            "rr": 0.75,
            "recall@1": 0.5,
        }


def test_policies_are_those_of_on() -> None:
    assert evaluator("rr", relevant=2, ci=None)(Model(EMBEDDINGS)) == {"rr": 0.25}
    assert evaluator("rr", relevant=2, no_relevant="null", ci=None)(Model(EMBEDDINGS)) == {"rr": 0.5}
    with pytest.raises(rf.InvalidData, match="no query has a value of rr"):
        evaluator("rr", relevant=3, no_relevant="null")(Model(EMBEDDINGS))


def test_each_evaluation_adds_a_line_to_the_file_and_to_the_card(tmp_path: Path) -> None:
    model: Any = Model(EMBEDDINGS)
    model.model_card_data = []
    found = evaluator("rr", name="dev", ci=None)
    for epoch in (1, 2):
        assert found(model, str(tmp_path / "eval"), epoch, 10 * epoch) == {"dev_rr": 0.75}
    with (tmp_path / "eval" / "rankframe_evaluation_dev_results.csv").open(encoding="utf-8") as file:
        assert list(csv.reader(file)) == [["epoch", "steps", "dev_rr"], ["1", "10", "0.75"], ["2", "20", "0.75"]]
    assert model.model_card_data == [({"dev_rr": 0.75}, 1, 10), ({"dev_rr": 0.75}, 2, 20)]
    evaluator("rr", write_csv=False)(model, str(tmp_path / "none"))
    assert not (tmp_path / "none").exists()


def test_queries_that_nobody_judged_are_left_out_with_a_warning() -> None:
    with pytest.warns(rf.RankframeWarning, match="1 of 3 queries"):
        found = evaluator("rr", queries=QUERIES, ci=None)
    model = Model(EMBEDDINGS)
    assert found(model) == {"rr": 0.75}
    assert model.asked[0] == ("query", ["x", "y"])


def test_a_search_that_finds_nothing_counts_0_without_a_word() -> None:
    assert evaluator("rr", qrels={"qx": {"d"}, "qy": {"a"}}, top_k=1, ci=None)(Model(EMBEDDINGS)) == {"rr": 0.0}


def test_a_model_without_embeddings_of_queries_embeds_texts() -> None:
    model = Model(EMBEDDINGS)
    plain = SimpleNamespace(encode=model.encode_query, similarity=model.similarity)
    assert evaluator("rr", ci=None)(plain) == {"rr": 0.75}


def test_embeddings_of_nan_are_refused() -> None:
    with pytest.raises(rf.InvalidData, match="the model's similarities are NaN"):
        evaluator()(Model({**EMBEDDINGS, "x": [np.nan, 0.0]}))


@each(
    ("given", "error", "said"),
    [
        ({"metrics": ["nope@10"]}, rf.UnknownMetric, "nope"),
        ({"metrics": ["relstring"]}, rf.InvalidOption, "has no mean"),
        ({"top_k": 0}, rf.InvalidOption, "top_k=0"),
        ({"batch_size": 0}, rf.InvalidOption, "batch_size=0"),
        ({"chunk_size": -1}, rf.InvalidOption, "chunk_size=-1"),
        ({"ci": 95}, rf.InvalidOption, "ci=95(\\.0)?: write a number between 0 and 1"),
        ({"resamples": 10.5}, rf.InvalidOption, "resamples=10.5"),
        ({"resamples": 5}, rf.InvalidOption, "resamples=5: write a whole number from 39 on"),
        ({"seed": -1}, rf.InvalidOption, "seed=-1"),
        ({"interval": "bcaa"}, rf.InvalidOption, "interval='bcaa'"),
        ({"queries": ["x"]}, rf.InvalidOption, "write a dictionary of texts by their ids"),
        ({"corpus": {}}, rf.InvalidOption, "write a dictionary of texts by their ids"),
        ({"qrels": {"qx": "b"}}, rf.InvalidData, "qrels has 'b' for query 'qx'; write {document: label}"),
        ({"qrels": 3}, rf.InvalidData, "qrels=3 is no table"),
        ({"qrels": {"QX": {"b"}}}, rf.InvalidData, "no query of the run is judged"),
        ({"qrels": {1: {"b"}}}, rf.InvalidData, "query_id"),
        ({"qrels": pl.DataFrame({"query_id": ["qx"], "label": [1]})}, rf.MissingColumn, "doc_id"),
        ({"ascending": True}, rf.InvalidOption, "a search takes the most similar documents; leave it out"),
        ({"rank": "rank"}, rf.InvalidOption, "ranks by the scores of the trainer"),
        ({"query": ["a", "b"]}, rf.InvalidOption, "name one column of queries"),
        ({"unknown": 1}, rf.InvalidOption, "unexpected keyword argument 'unknown'"),
    ],
)
def test_what_is_wrong_is_refused_before_the_training(given: dict[str, Any], error: type[Exception], said: str) -> None:
    metrics = given.get("metrics", ["rr"])
    with pytest.raises(error, match=said):
        evaluator(*metrics, **{name: value for name, value in given.items() if name != "metrics"})


def test_without_the_tool_the_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)  # type: ignore[arg-type]
    with pytest.raises(rf.MissingExtra, match=r"write pip install sentence-transformers$"):
        evaluator()
