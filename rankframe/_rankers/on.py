"""The method `on`: its options set columns and policies, and its docstring explains each."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from types import EllipsisType
from typing import Protocol, TypeVar, cast

from .._support.option_kinds import bind, kinds_of
from .._table.policies import NoRelevant, Scores, Ties, Unjudged, Unretrieved
from .._table.setup import OPTIONS

F = TypeVar("F", bound=Callable[..., object])
S = TypeVar("S", bound="Bindable")


class Bindable(Protocol):
    """A ranker as `on` sees it."""

    def _on(self: S, options: Mapping[str, object]) -> S:
        """The ranker with these options set."""
        ...


def _bound(on: F) -> F:
    """Wrap `on`: its signature and docstring are for readers; the declarations of the policies read its options."""

    @wraps(on)
    def call(ranker: Bindable, *unnamed: object, **options: object) -> Bindable:
        unknown = {name: x for name, x in options.items() if name not in OPTIONS}
        if unnamed or unknown:
            bind("on", kinds_of(on)[0], (ranker, *unnamed), unknown, hidden=1)
        return ranker._on(options)

    return cast(F, call)


@_bound
def on(
    ranker: S,
    *,
    query: str | Sequence[str] | None = None,
    doc: str | EllipsisType | None = ...,
    score: str | None = None,
    label: str | None = None,
    subtopic: str | None = None,
    weight: str | None = None,
    category: str | None = None,
    group: str | None = None,
    features: str | Sequence[str] | None = None,
    base: str | None = None,
    interactions: object = None,
    items: object = None,
    rank: str | None = None,
    names: str | Sequence[str] | None = None,
    relevant: float | None = None,
    ascending: bool | None = None,
    ties: Ties | None = None,
    unjudged: Unjudged | None = None,
    unjudged_labels: tuple[int, int] | None = None,
    unretrieved: Unretrieved | None = None,
    no_relevant: NoRelevant | None = None,
    depth: int | None = None,
    collection_size: int | None = None,
    scores: Scores | None = None,
    convention: str | None = None,
    memory_limit: int | str | None = None,
    grouped: bool | None = None,
) -> S:
    """The same ranker with other column names or policies; those not given stay unchanged.

    Parameters
    ----------
    query
        The column, or columns, that identify a query; default: ``"query_id"``.
    doc
        The column that identifies a document, which must exist; default: ``"doc_id"`` if the table has it.
        ``None`` for no document column, so that ties keep the order of the rows.
    score
        The column to rank by, the highest value first; default: ``"score"``. Null means judged, but not retrieved.
    label
        The column of relevance labels; default: ``"label"``. Null means not judged; a negative label means in the
        pool but not judged.
    subtopic
        The column of subtopics, for metrics of diversity; default: none. It holds either lists of the subtopics that
        the row's document is relevant to, whatever its label; or single subtopics, with one row for each subtopic that
        the document was judged for (null if for none), whose label says whether the document is relevant to it.
        Metrics of documents use the largest label of a document's rows.
    weight
        The column of the documents' weights, 0 or more, such as inverse propensities for clicks; default: every
        document counts once. Metrics that add up gains or hits (cg, dcg, ndcg, precision, recall, hits) multiply
        them by the weight; other metrics raise an error.
    category
        The column of the documents' categories, one for each document or a list of them.
    group
        The column of the documents' groups, such as their providers, for metrics of fairness of exposure.
    features
        The columns of numbers that describe a document, or one column of lists or arrays of such numbers.
    base
        The column of the scores of another ranking, for the metrics unexpectedness and least item promoted.
    interactions
        The past interactions of users, for metrics of popularity and novelty: a frame with a row for each query (a user)
        and document (an item), under the table's names of these columns; rows that repeat a pair count once. Or a frame
        with a row for each document and the number of its users as the column ``n``.
    items
        The catalog: a frame with a row for each document, a list or Series of the documents' ids, or their number. The
        columns of `category`, `group`, `features` and `base` are taken from this frame if it has them.
    rank
        The column of ranks, 1 being the best, instead of `score`: short for ``score="rank", ascending=True``, until
        `score` names another column. Ranks need not be contiguous; equal ones are ties.
    names
        The column names of another tool, as a preset: ``"beir"``, ``"pyterrier"``, ``"ir_measures"``, ``"ranx"``,
        ``"msmarco"``, ``"mlflow"``, ``"rectools"``, ``"replay"``, ``"recbole"``, ``"recommenders"``, ``"lenskit"``,
        ``"elliot"``, ``"evidently"``, ``"lightgbm"``, ``"xgboost"``, ``"catboost"``. Names that are given with it take
        precedence. Judgments that lack a preset's column of labels count 1, as those without ``"label"`` do. ``"flat"``
        names the columns of results so that SQL takes them without quotes: ``ndcg_at_10`` for ``ndcg@10``,
        ``rbp_p_0_95`` for ``rbp(p=0.95)``. A list holds several presets, as ``["pyterrier", "flat"]``.
    relevant
        The least label that counts as relevant; default: 1.
    ascending
        True if the lowest score is the best, as of distances; default: False.
    ties
        The order of documents with equal scores: ``"doc_desc"`` (default; trec_eval's rule) or ``"doc_asc"`` by
        document, ``"order"`` by row, ``"best"`` or ``"worst"`` by label, ``"trec_eval"`` by the document's id as
        text, whatever its type, descending. ``"expected"`` gives the mean of the metric over all orders, in closed
        form (a metric without a closed form raises an error); ``"error"`` forbids ties.
    unjudged
        How retrieved documents that nobody judged count: ``"nonrelevant"`` (default), or ``"drop"`` to remove
        them before documents are ranked, as trec_eval's ``-J`` does. ``"bounds"`` gives two columns per metric,
        such as ``"ndcg@10 least"`` and ``"ndcg@10 greatest"``: the least and the greatest value that judging all
        unjudged documents of the table, retrieved or not, could give.
    unjudged_labels
        The least and the greatest label that judging may give an unjudged document, as ``(0, 3)``, for
        ``unjudged="bounds"``: any whole number from one to the other. Default: from 0 to the largest label of
        the table, at least ``relevant``.
    unretrieved
        How judged documents that were not retrieved count: ``"missed"`` (default; they count in recall, in the
        divisor of average precision, in the ideal of nDCG), or ``"drop"`` to leave them out entirely, like tools
        that see only the retrieved list, and no collection behind it.
    no_relevant
        The value of a query without relevant documents: ``"zero"`` (default) is 0 where the metric would divide by 0;
        ``"null"`` is null in every metric that reads labels, so that means leave the query out; ``"one"`` is 1 in every
        metric whose range is 0 to 1 and whose best value is 1.
    depth
        How many documents of each ranking count as retrieved, trec_eval's ``-M``; default: all. The tie rule
        decides which tied documents are cut off; ``unjudged="drop"`` is applied after the cut.
    collection_size
        The number of documents in the collection, trec_eval's ``-N``; only utility and fall-out use it.
    scores
        ``"as_given"`` (default), or ``"float32"`` to round scores to 32-bit floats first, so that more of them
        tie, as in trec_eval 9 and the boosters.
    convention
        The tool whose results to reproduce: the policies become the tool's, and so do the defaults of the metrics'
        options. What describes the data stays: columns, tables, `ascending`, `unjudged_labels` and `collection_size`.
        Any other policy that is set beside the convention, or later, takes precedence. One that was set before, and
        that the tool sets to another value, raises an error. One of ``"trec_eval"``, ``"trec_eval9"`` (pytrec_eval),
        ``"ranx"``, ``"sklearn"``, ``"torchmetrics"``, ``"lightgbm"``, ``"xgboost"``, ``"catboost"``, ``"spark"``,
        ``"tf_ranking"``, ``"ptranking"``, ``"elasticsearch"``, ``"opensearch"``, ``"opensearch_workbench"``,
        ``"quepid"``, ``"mlflow"``, ``"llamaindex"``, ``"haystack"``, ``"ragas"``, ``"replay"``, ``"rectools"``,
        ``"recbole"``, ``"microsoft_recommenders"``, ``"recmetrics"``, ``"elliot"``, ``"evidently"``, ``"lenskit"``.
    memory_limit
        The memory that a call on a LazyFrame may take, in bytes or as ``"2GB"``; by default that of the environment
        variable ``RANKFRAME_MEMORY_LIMIT``, else a sixth of the machine's or the container's. Rows that exceed a
        third of it are spilled to the temporary folder (``TMPDIR``) and read back in buckets, with all rows of a
        query in one bucket.
    grouped
        True if the rows of each query of a LazyFrame are contiguous, as in most exports: batches of queries are then
        evaluated in the order of the rows, in constant memory and without temporary files. A query in two places is an
        error.

    Returns
    -------
    A new ranker; this one is unchanged.

    Raises
    ------
    InvalidOption
        If a value is not one of those listed, or a convention counts otherwise than a policy that was set before.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame({"qid": [7, 7], "score": [0.2, 0.1], "rel": [1, 2]})
    >>> df.rank.on(query="qid", label="rel", relevant=2).reciprocal_rank()["rr"].item()
    0.5
    """
    raise NotImplementedError
