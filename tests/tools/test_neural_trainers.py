"""Batches of PyTorch's tensors, and the evaluator of sentence-transformers in a training: the values are those of the tools.

Needs `pip install -r tests/tools/requirements-trainers.txt` and `pytest -m tools tests/tools`.
"""

from __future__ import annotations

import importlib
import itertools
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import rankframe as rf

pytestmark = [pytest.mark.tools, pytest.mark.filterwarnings("ignore")]


@pytest.mark.parametrize(
    "metric", ["RetrievalNormalizedDCG", "RetrievalRecall", "RetrievalHitRate", "RetrievalPrecision"]
)
def test_batches_of_tensors_give_what_torchmetrics_gives(metric: str) -> None:
    torch, torchmetrics = importlib.import_module("torch"), importlib.import_module("torchmetrics.retrieval")
    ours = {"NormalizedDCG": "ndcg", "Recall": "recall", "HitRate": "hit_rate", "Precision": "precision"}
    text = f"{ours[metric.removeprefix('Retrieval')]}@5"
    theirs, found = getattr(torchmetrics, metric)(top_k=5), rf.Accumulator(text, convention="torchmetrics")
    generator = torch.Generator().manual_seed(1)
    for _ in range(12):
        scores = torch.rand(50, generator=generator)
        labels = torch.randint(0, 2, (50,), generator=generator)
        queries = torch.randint(0, 30, (50,), generator=generator)  # each query comes in many batches
        theirs.update(scores, labels, indexes=queries)
        found.update(scores.requires_grad_(), labels, query=queries)
    assert found.compute()[text] == pytest.approx(float(theirs.compute()), abs=1e-6)  # theirs are floats


def test_tensors_of_all_kinds_are_taken() -> None:
    torch = importlib.import_module("torch")
    wanted = {"rr": 0.75}
    for dtype in (torch.float16, torch.bfloat16, torch.float32, torch.float64):
        found = rf.Accumulator("rr")
        found.update(torch.tensor([[0.5, 0.25], [0.5, 0.25]], dtype=dtype), torch.tensor([[0, 1], [1, 0]]))
        assert found.compute() == wanted


@pytest.fixture(scope="module")
def search() -> Any:
    """A corpus of words, and a model of them that was not trained."""
    torch = importlib.import_module("torch")
    st, tokenizers = importlib.import_module("sentence_transformers"), importlib.import_module("tokenizers")
    modules = importlib.import_module("sentence_transformers.sentence_transformer.modules")
    rng, words = np.random.default_rng(0), [f"w{i}" for i in range(40)]
    corpus = {f"d{i}": " ".join(rng.choice(words, 6)) for i in range(200)}
    queries = {f"q{i}": " ".join(rng.choice(words, 3)) for i in range(30)}
    shared = {q: {d: len({*x.split()} & {*y.split()}) for d, y in corpus.items()} for q, x in queries.items()}
    qrels = {q: {d: n for d, n in docs.items() if n >= 2} for q, docs in shared.items()}
    tokenizer = tokenizers.Tokenizer(
        tokenizers.models.WordLevel({"[UNK]": 0, **{w: i + 1 for i, w in enumerate(words)}}, unk_token="[UNK]")
    )
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    torch.manual_seed(0)
    model = st.SentenceTransformer(modules=[modules.StaticEmbedding(tokenizer, embedding_dim=16)], device="cpu")
    return model, queries, corpus, qrels


def test_the_evaluator_has_the_values_of_that_of_sentence_transformers(search: Any) -> None:
    model, queries, corpus, qrels = search
    evaluation = importlib.import_module("sentence_transformers.sentence_transformer.evaluation")
    relevant = {q: set(docs) for q, docs in qrels.items()}
    theirs = evaluation.InformationRetrievalEvaluator(queries, corpus, relevant)(model)
    for chunk_size in (10_000, 33):
        ours = rf.sentence_transformers_evaluator(
            "ndcg@10", "rr@10", "recall@5", queries=queries, corpus=corpus, qrels=relevant, ties="doc_asc",
            chunk_size=chunk_size,
        )  # fmt: skip
        found = ours(model)
        for text, name in (("ndcg@10", "ndcg@10"), ("rr@10", "mrr@10"), ("recall@5", "recall@5")):
            assert found[text] == pytest.approx(theirs[f"cosine_{name}"], abs=1e-12)
            assert found[f"{text}_ci_low"] < found[text] < found[f"{text}_ci_high"]


def test_the_evaluator_has_the_values_of_the_long_table(search: Any, tmp_path: Path) -> None:
    model, queries, corpus, qrels = search
    ours = rf.sentence_transformers_evaluator(
        "ndcg@10", "map", queries=queries, corpus=corpus, qrels=qrels, name="dev", top_k=50
    )
    found = ours(model, str(tmp_path), 1, 20)
    similar = model.similarity(model.encode(list(queries.values())), model.encode(list(corpus.values()))).numpy()
    run = pl.DataFrame(
        [(q, d, float(similar[i, j])) for (i, q), (j, d) in itertools.product(enumerate(queries), enumerate(corpus))],
        ["query_id", "doc_id", "score"], orient="row",
    )  # fmt: skip
    judgments = pl.DataFrame(
        [(q, d, n) for q, docs in qrels.items() for d, n in docs.items()], ["query_id", "doc_id", "label"], orient="row"
    )
    wanted = run.rank.judge(judgments).rank.on(depth=50).summarize("ndcg@10", "map")
    for metric, *values in wanted.select("metric", "mean", "ci_low", "ci_high").iter_rows():
        assert [found[f"dev_{metric}{end}"] for end in ("", "_ci_low", "_ci_high")] == pytest.approx(values, abs=1e-12)
    assert ours.per_query is not None
    assert len(ours.per_query) == 30
    logged = pl.read_csv(tmp_path / "rankframe_evaluation_dev_results.csv")
    assert logged.select("epoch", "steps", "dev_map").row(0) == (1, 20, pytest.approx(found["dev_map"]))


def test_the_trainer_of_sentence_transformers_chooses_by_the_evaluator(search: Any, tmp_path: Path) -> None:
    model, queries, corpus, qrels = search
    st, losses = (importlib.import_module(f"sentence_transformers{x}") for x in ("", ".sentence_transformer.losses"))
    datasets = importlib.import_module("datasets")
    pairs = [(queries[q], corpus[d]) for q, docs in qrels.items() for d in docs][:200]
    data = datasets.Dataset.from_dict({"anchor": [x for x, _ in pairs], "positive": [y for _, y in pairs]})
    evaluator = rf.sentence_transformers_evaluator("ndcg@10", queries=queries, corpus=corpus, qrels=qrels)
    before = evaluator(model)["ndcg@10"]
    args = st.SentenceTransformerTrainingArguments(
        str(tmp_path), num_train_epochs=3, per_device_train_batch_size=32, eval_strategy="epoch", save_strategy="epoch",
        load_best_model_at_end=True, metric_for_best_model="eval_ndcg@10", report_to="none", learning_rate=0.05, use_cpu=True,
    )  # fmt: skip
    trainer = st.SentenceTransformerTrainer(
        model, args, train_dataset=data, loss=losses.MultipleNegativesRankingLoss(model), evaluator=evaluator
    )
    trainer.train()
    logged = [x["eval_ndcg@10"] for x in trainer.state.log_history if "eval_ndcg@10" in x]
    assert len(logged) == 3
    assert trainer.state.best_metric == max(logged) > before
    assert evaluator(model)["ndcg@10"] == pytest.approx(max(logged), abs=1e-12)
