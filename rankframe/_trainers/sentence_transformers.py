"""An evaluator for sentence-transformers: a judged search over a corpus."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np
import polars as pl

from .._catalog.requests import Request
from .._shapes.arrays import Array, array_of
from .._shapes.dicts import from_dicts
from .._shapes.lists import own_columns
from .._support.methods import called_by_users
from .._support.statistical_options import Confidence, Resamples, Seed, SummaryInterval
from .._table.policies import Cutoff
from .._table.runs import Runs
from .._table.setup import Setup
from .._table.table import Whole, in_memory
from .._verbs.measure.judge import judge
from .._verbs.measure.summary import Summary
from .._verbs.sample.resampling import Resampling
from ..errors import InvalidData, InvalidOption, MissingExtra, shown
from .means import MetricMeans

Texts: TypeAlias = Mapping[Any, Any]
"""Texts by their ids."""


@called_by_users
def sentence_transformers_evaluator(
    *metrics: Request,
    queries: Texts,
    corpus: Texts,
    qrels: object,
    top_k: Cutoff = 100,
    ci: Confidence | None = 0.95,
    interval: SummaryInterval = "auto",
    resamples: Resamples = 10_000,
    seed: Seed = 0,
    batch_size: Cutoff = 32,
    chunk_size: Cutoff = 10_000,
    name: str = "",
    write_csv: bool = True,
    **options: object,
) -> SearchEvaluator:
    """The metrics of a search as an evaluator of sentence-transformers, with intervals and the
    values of each query.

    It embeds queries and corpus with the model, takes the documents that are most similar to each
    query by the model's own ``similarity``, and joins them with the judgments. Relevant documents
    that were not found count as missed.

    Parameters
    ----------
    *metrics
        Texts and functions, as for ``df.rank.evaluate``. The first is the ``primary_metric``, by
        which the trainer chooses the best checkpoint.
    queries, corpus
        Texts by their ids.
    qrels
        The judgments: a table with a query, a document and a label column, or a dictionary that has
        for each query the relevant ids, or labels by ids: ``{"q1": {"d1", "d2"}, "q2": {"d3": 2,
        "d4": 1}}``. Judgments of other queries are left out.
    top_k
        How many documents are retrieved for each query. The tie rule, `ties`, decides which
        documents with equal similarities at the end of the list are retrieved.
    ci, interval, resamples, seed
        The confidence and kind of the intervals of the means, as for ``df.rank.summarize``;
        ``ci=None`` for none.
    batch_size
        How many texts the model embeds at once.
    chunk_size
        How many documents are compared with the queries at once; no value depends on it.
    name
        The prefix of the names of the metrics, and of the file.
    write_csv
        Whether each evaluation adds a line to a file ``rankframe_evaluation_results.csv``, in the
        folder that the trainer names.
    **options
        Policies, as for ``df.rank.on``; and names of the columns of `qrels`.

    Returns
    -------
    An evaluator. Called with a model, it returns the means by the metrics' texts and, under
    ``"ndcg@10_ci_low"`` and ``"ndcg@10_ci_high"``, the ends of their intervals; ``per_query`` is
    then the table of all queries, one row each, and ``summary`` that of ``df.rank.summarize``.

    Raises
    ------
    MissingExtra
        If sentence-transformers is not installed.
    UnknownMetric, InvalidOption, MissingColumn, InvalidData
        If a text names no metric, an option is out of its range, or no query is judged: raised
        before the training.

    Warns
    -----
    RankframeWarning
        If nobody judged some of the queries, which are left out, or no judged document is in the
        corpus.
    """
    _refuse_no_texts("queries", queries)
    _refuse_no_texts("corpus", corpus)
    means = MetricMeans.of(sentence_transformers_evaluator, metrics, options, table=True)
    resampling = Resampling(ci, interval, resamples, seed, progress=False)
    bases = (SearchEvaluator, evaluator_class())
    evaluator = type("RankframeEvaluator", bases, {})
    search = Retrieval(top_k, batch_size, chunk_size, name, write_csv)
    return evaluator(means, resampling, queries, corpus, qrels, search)  # type: ignore[no-any-return]


def _refuse_no_texts(option: str, texts: object) -> None:
    """Refuse texts without ids, and no texts."""
    if not isinstance(texts, Mapping) or not texts:
        raise InvalidOption(f"{option}={shown(texts)}: write a dictionary of texts by their ids")


class Retrieval(NamedTuple):
    """How many documents are retrieved for each query, how many are embedded and compared at once,
    and the names of results.
    """

    top_k: int
    batch_size: int
    chunk_size: int
    name: str
    write_csv: bool


class Model(Protocol):
    """A model of sentence-transformers, which has no types to import without it."""

    def encode(self, texts: list[object], /, **options: object) -> object: ...

    def similarity(self, queries: object, documents: object, /) -> object: ...


def _query_and_doc(setup: Setup) -> tuple[str, str]:
    """The names of the columns by which a search joins its judgments."""
    if setup.policies.ascending:
        raise InvalidOption(
            "ascending=True: a search takes the most similar documents; leave it out"
        )
    query = setup.roles.query
    doc = setup.roles.doc_name
    if len(query) != 1 or doc is None:
        raise InvalidOption(
            "name one column of queries and one of documents, which the search joins with `qrels`"
        )
    return query[0], doc


class SearchEvaluator:
    """A judged search over a corpus; :func:`sentence_transformers_evaluator` makes it.

    Attributes
    ----------
    per_query, summary
        The values of each query at the last evaluation, and their means and intervals; ``None``
        before the first.
    primary_metric, greater_is_better
        For the trainer: the key of the first metric's mean, and whether higher is better.
    """

    def __init__(
        self,
        means: MetricMeans,
        resampling: Resampling,
        queries: Texts,
        corpus: Texts,
        qrels: object,
        search: Retrieval,
    ) -> None:
        super().__init__()
        self._query, self._doc = _query_and_doc(means.setup)
        self._means = means
        self._resampling = resampling
        self._search = search
        self._qrels = self._judgments(qrels)
        docs = self._in_tie_order(list(corpus))
        self._docs = pl.Series(self._doc, docs)
        self._corpus = [corpus[doc] for doc in docs]
        judged = self._judged(pl.Series(self._query, list(queries)))
        asked = [query for query in queries if query in judged]
        self._queries = pl.Series(self._query, asked)
        self._texts = [queries[query] for query in asked]
        self.name = search.name
        self.write_csv = search.write_csv
        self._prefix = f"{search.name}_" if search.name else ""
        self.primary_metric = self._prefix + means.names[0]
        self.greater_is_better = means.calls[0].higher_is_better
        self.per_query: pl.DataFrame | None = None
        self.summary: pl.DataFrame | None = None

    def _judgments(self, qrels: object) -> pl.DataFrame:
        """The columns of the judgments that the metrics need."""
        roles = self._means.setup.roles
        if isinstance(qrels, Mapping):
            names = {"query_id": self._query, "doc_id": self._doc, "label": roles.label}
            qrels = from_dicts(qrels=qrels).drop_nulls().rename(names)
        columns = self._means.columns - {roles.score}
        return own_columns(qrels, columns, "qrels")

    def _in_tie_order(self, ids: list[object]) -> list[object]:
        """The documents as the tie rule orders them: of equal similarities the first are kept."""
        tie_rule = self._means.setup.policies.tie_rule
        keys = [key for key in tie_rule.keys if key.of == "document"]
        if not keys:
            return ids
        by = [key.value(pl.col("id")) for key in keys]
        descending = [key.falling for key in keys]
        docs = pl.DataFrame({"id": ids}).sort(by, descending=descending)
        return docs["id"].to_list()

    def _judged(self, queries: pl.Series) -> set[object]:
        """The judged queries; refuse judgments that do not match the queries, documents or
        metrics.
        """
        of_queries = queries.to_frame()
        docs = self._docs.to_frame()
        # Every query with some document, so that `judge` checks the ids before a model is run.
        run = of_queries.join(docs.head(1), how="cross")
        named = [name for name in run.columns if name in self._qrels.columns]
        there = self._qrels.select(named)
        if there.schema == run.schema:
            of_run = there.join(of_queries, on=self._query, how="semi")
            matched = of_run.join(docs, on=self._doc, how="semi")
            run = pl.concat([run, matched]).unique(maintain_order=True)
        setup = self._means.setup
        run = run.with_columns(pl.lit(0.0).alias(setup.roles.score))
        judged = judge(in_memory(run, setup), self._qrels, judged_only="drop")
        self._means.per_query(judged)  # refuses labels that the metrics cannot use
        return set(judged[self._query])

    def __call__(
        self,
        model: Model,
        output_path: str | None = None,
        epoch: int = -1,
        steps: int = -1,
        *_: object,
        **__: object,
    ) -> dict[str, float]:
        """The means and the ends of their intervals; the trainer calls it."""
        setup = self._means.setup
        run = in_memory(self.search(model), setup, Whole())
        judged = judge(run, self._qrels, judged_only="drop")
        self.per_query = self._means.per_query(judged)
        means = self._means.over(self.per_query)
        summary = Summary(tuple(self._means.calls), setup, Runs(), (), None, self._resampling)
        self.summary = summary.of_table(judged)
        values = means | self._ends(self.summary)
        results = {self._prefix + name: value for name, value in values.items()}
        if output_path is not None and self.write_csv:
            self._write(Path(output_path), {"epoch": epoch, "steps": steps, **results})
        if hasattr(model, "model_card_data"):
            self.store_metrics_in_model_card_data(model, results, epoch, steps)  # type: ignore[attr-defined]
        return results

    def _ends(self, summary: pl.DataFrame) -> dict[str, float]:
        """The ends of the intervals, by the names of the results."""
        if self._resampling.ci is None:
            return {}
        ends: dict[str, float] = {}
        for end in ("ci_low", "ci_high"):
            rows = summary.select("metric", end).drop_nulls()
            ends |= {f"{metric}_{end}": value for metric, value in rows.iter_rows()}
        return ends

    def _write(self, folder: Path, row: Mapping[str, float]) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"rankframe_evaluation_{self._prefix}results.csv"
        with path.open("a", encoding="utf-8", newline="") as file:
            lines = csv.writer(file)
            if not file.tell():
                lines.writerow(row.keys())
            lines.writerow(row.values())

    def search(self, model: Model) -> pl.DataFrame:
        """The documents that are most similar to each query, with their similarity: a row per query
        and document.
        """
        n_queries = len(self._texts)
        of_queries = self._embedded(model, "query", self._texts)
        scores = np.empty((n_queries, 0))
        docs = np.empty((n_queries, 0), np.int64)
        size = self._search.chunk_size
        for start in range(0, len(self._corpus), size):
            chunk = self._corpus[start : start + size]
            of_docs = self._embedded(model, "document", chunk)
            similarity = array_of(model.similarity(of_queries, of_docs), "similarity")
            of_chunk = similarity.astype(np.float64)
            if np.isnan(of_chunk).any():
                raise InvalidData(
                    "the model's similarities are NaN, as after a step of the training that "
                    "diverged"
                )
            numbers = np.arange(start, start + of_chunk.shape[1])
            scores = np.hstack([scores, of_chunk])
            docs = np.hstack([docs, np.broadcast_to(numbers, of_chunk.shape)])
            best = np.array([first(row, self._search.top_k) for row in scores])
            scores = np.take_along_axis(scores, best, 1)
            docs = np.take_along_axis(docs, best, 1)
        query_of_row = np.repeat(np.arange(len(docs)), docs.shape[1])
        query = self._queries.gather(query_of_row)
        doc = self._docs.gather(docs.ravel())
        score = pl.Series(self._means.setup.roles.score, scores.ravel())
        return pl.DataFrame([query, doc, score])

    def _embedded(self, model: Model, kind: str, texts: Sequence[object]) -> object:
        """The embeddings of texts; models before version 5 embed queries and documents alike."""
        encode = getattr(model, f"encode_{kind}", None) or model.encode
        return encode(
            list(texts),
            batch_size=self._search.batch_size,
            show_progress_bar=False,
            convert_to_tensor=True,
        )

    def get_config_dict(self) -> dict[str, object]:
        """The settings of the evaluator for a model card."""
        policies = self._means.setup.followed(())
        followed = {name: policies[name] for name in ("relevant", "ties")}
        return {"metrics": self._means.names, "top_k": self._search.top_k, **followed}


def first(scores: Array, k: int) -> Array:
    """The places of the `k` highest scores, highest first; of equal scores the first ones."""
    k = min(k, len(scores))
    least = np.partition(scores, -k)[-k]
    there = np.flatnonzero(scores >= least)
    falling = np.argsort(-scores[there], kind="stable")
    return there[falling][:k]


def evaluator_class() -> Any:
    """The base class of evaluators, which moved between versions."""
    try:
        import_module("sentence_transformers")
    except ImportError as error:
        raise MissingExtra(
            "sentence_transformers is not installed; write pip install sentence-transformers"
        ) from error
    try:
        return import_module("sentence_transformers.base.evaluation").BaseEvaluator
    except ImportError:
        return import_module("sentence_transformers.evaluation").SentenceEvaluator
