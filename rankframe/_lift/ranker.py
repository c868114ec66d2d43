"""The rankers behind `.rank`, as a table of contents: every verb and every metric is a method,
documented where it is defined.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import wraps
from types import EllipsisType
from typing import TYPE_CHECKING, Any, TypeVar, cast

import polars as pl

from .. import _pictures, metrics
from .._catalog.call import Call
from .._catalog.flat_names import flat_name
from .._catalog.registry import METRICS, near_names
from .._plan.plan import aggregation
from .._support.methods import F, function_as_method as function
from .._support.option_kinds import bind, kinds_of
from .._support.threads import use_polars
from .._table.policies import (
    Estimate,
    NoRelevant,
    NothingRetrieved,
    Ranks,
    ScoresAs,
    Unjudged,
    Unretrieved,
)
from .._table.run_and_judgments import Unmatched
from .._table.runs import Runs
from .._table.setup import JOINED, OPTIONS, TABLES, Setup
from .._table.table import R
from .._table.ties import Ties
from .._verbs import audit, collections, decide, fuse as fusing, groups, items, measure
from .._verbs.call.declaration import Verb, VerbCall, call_of_verb
from ..errors import InvalidOption, did_you_mean
from .all_metrics import AllMetrics
from .callers_frames import in_polars, stacked
from .display import Help, Shown, page_of_topic, shown_of, spelled
from .method import Metrics, Verbs, formula_as_method as formula, lift
from .tried_names import TRIED_NAMES

if TYPE_CHECKING:
    from altair import LayerChart

    from ..plot import Plots

S = TypeVar("S", bound="MetricRanker[Any]")
T = TypeVar("T")

TOPICS = ("fusion", "items", "collection", "clicks", "preferences")
"""The names under which a ranker has verbs that fewer people type."""

RENAMED = {
    "gaps": "compare_groups",
    "judges": "collection.label_agreement",
    "prediction": "collection.difficulty",
}
"""Names that verbs had before, of which an error tells the new one."""


def _read_by_setup(on: F) -> F:
    """Wrap `on`: its signature and docstring are for readers; the setup reads its options."""

    @wraps(on)
    def call(ranker: MetricRanker[Any], *unnamed: object, **options: object) -> MetricRanker[Any]:
        unknown = {name: x for name, x in options.items() if name not in OPTIONS}
        if unnamed or unknown:
            bind("on", kinds_of(on)[0], (ranker, *unnamed), unknown, hidden=1)
        return ranker._on(options)

    return cast(F, call)


class MetricRanker(Metrics[R]):
    """The metrics as methods, over the columns and policies that `on` has bound."""

    _examples: Sequence[tuple[str, str]] = ()
    _gives = (
        "One row per query: the query columns, then the metric, named by its canonical text, "
        "as ``ndcg@10``; several cutoffs, as ``k=[5, 10]``, give a column each."
    )
    _root = "df.rank"
    """The ranker without options in Python."""

    _own_help = ""
    _elsewhere: Mapping[str, str] = {}
    """Names of methods under a name of their own, as an error spells them."""

    def __init__(self, setup: Setup = Setup()) -> None:  # noqa: B008 - frozen
        self._setup = setup

    def __init_subclass__(cls) -> None:
        cls.__doc__ = Help(vars(cls).get("__doc__"))  # type: ignore[assignment] # gives a text

    @function
    @_read_by_setup
    def on(
        self: S,
        *,
        query: str | Sequence[str] | None = None,
        doc: str | EllipsisType | None = ...,
        score: str | None = None,
        label: str | None = None,
        subtopic: str | None = None,
        weight: str | None = None,
        propensity: str | None = None,
        stratum: str | None = None,
        inclusion: str | None = None,
        subtopic_weight: str | None = None,
        cost: str | None = None,
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
        nothing_retrieved: NothingRetrieved | None = None,
        depth: int | None = None,
        collection_size: int | None = None,
        scores: ScoresAs | None = None,
        ranks: Ranks | None = None,
        estimate: Estimate | None = None,
        clip: float | None = None,
        convention: str | None = None,
        memory_limit: int | str | None = None,
        grouped: bool | None = None,
        like: MetricRanker[Any] | None = None,
    ) -> S:
        """The same ranker with other column names or policies; those not given stay unchanged.

        Parameters
        ----------
        query
            The column, or columns, that identify a query; default: ``"query_id"``.
        doc
            The column that identifies a document, which must exist; default: ``"doc_id"`` if the
            table has it. ``None`` for no document column, so that ties keep the order of the rows.
        score
            The column to rank by, the highest value first; default: ``"score"``. Null means judged,
            but not retrieved.
        label
            The column of relevance labels; default: ``"label"``. Null means not judged; a negative
            label means in the pool but not judged.
        subtopic
            The column of subtopics, for metrics of diversity; default: none. It holds either lists
            of the subtopics that the row's document is relevant to, whatever its label; or single
            subtopics, with one row for each subtopic that the document was judged for (null if for
            none), whose label says whether the document is relevant to it. Metrics of documents use
            the largest label of a document's rows.
        weight
            The column of the documents' weights, 0 or more; default: every document counts once.
            Metrics that add up gains or hits (cg, dcg, ndcg, mean_label, precision, recall, hits,
            rbp) multiply them by the weight; other metrics raise an error.
        propensity
            The column of propensities: the probability, above 0 and up to 1, that a user saw the
            document where it was clicked. Labels then are clicks, 1 or 0, on another ranking than
            that of `score`, and metrics are estimates: a click counts 1 over its propensity.
            Metrics that are no sum over documents, such as ndcg, raise an error. Default: none.
        stratum
            The column of the strata of the pool, for ``xinf_ap``: from each, some documents were
            drawn at random for judging; null for a document outside the pool. A document that was
            not drawn has no label, or a negative one.
        inclusion
            The column of the probabilities, above 0 and up to 1, with which documents were drawn
            for judging, for ``stat_ap``.
        subtopic_weight
            The column of the subtopics' weights, 0 or more and the same in all rows of a subtopic
            of a query, such as the probability of an intent, or 1 for a vital nugget and 1/2 for
            another one; default: all weigh the same.
        cost
            The column of the documents' costs, above 0, such as seconds or characters, for
            time-biased gain, the U-measure, IFT and the reports ``"EC"`` and ``"ETC"`` of the C/W/L
            metrics; default: every document costs 1.
        category
            The column of the documents' categories, one for each document or a list of them.
        group
            The column of the documents' groups, such as their providers, for metrics of fairness of
            exposure.
        features
            The columns of numbers that describe a document, or one column of lists or arrays of
            such numbers.
        base
            The column of the scores of another ranking, for the metrics unexpectedness and least
            item promoted.
        interactions
            The past interactions of users, for metrics of popularity and novelty: a frame with a
            row for each query (a user) and document (an item), under the table's names of these
            columns; rows that repeat a pair count once. Or a frame with a row for each document and
            the number of its users as the column ``n``.
        items
            The catalog: a frame with a row for each document, a list or Series of the documents'
            ids, or their number. The columns of `category`, `group`, `features` and `base` are
            taken from this frame if it has them.
        rank
            The column of ranks, 1 being the best, instead of `score`: short for ``score="rank",
            ascending=True``, until `score` names another column. Ranks need not be contiguous;
            equal ones are ties. `ranks` says whether they give the order alone.
        names
            The column names of another tool, as a preset: ``"beir"``, ``"pyterrier"``,
            ``"ir_measures"``, ``"ranx"``, ``"msmarco"``, ``"mlflow"``, ``"rectools"``,
            ``"replay"``, ``"recbole"``, ``"microsoft_recommenders"`` (or ``"recommenders"``),
            ``"lenskit"``, ``"elliot"``, ``"evidently"``, ``"lightgbm"``, ``"xgboost"``,
            ``"catboost"``. Names that are given with it take precedence. Judgments that lack a
            preset's column of labels count 1, as those without ``"label"`` do. Of beir, ranx and
            RePlay, whose judgments name their labels as the run its scores, `judge` gives the
            labels the name of their role. ``"flat"`` names the columns of results so that SQL takes
            them without quotes: ``ndcg_at_10`` for ``ndcg@10``, ``rbp_p_0_95`` for ``rbp(p=0.95)``.
            A list holds several presets, as ``["pyterrier", "flat"]``.
        relevant
            The least label that counts as relevant; default: 1.
        ascending
            True if the lowest score is the best, as of distances; default: False.
        ties
            The order of documents with equal scores: ``"doc_desc"`` (default; trec_eval's rule) or
            ``"doc_asc"`` by document, ``"order"`` by row, ``"best"`` or ``"worst"`` by label,
            ``"trec_eval"`` by the document's id as text, whatever its type, descending.
            ``"expected"`` gives the mean of the metric over all orders, in closed form (a metric
            without a closed form raises an error); ``"error"`` forbids ties. ``"last"`` gives each
            tied document the last of their ranks, with all of them down to it, as scikit-learn
            does.
        unjudged
            How retrieved documents that nobody judged count: ``"nonrelevant"`` (default), or
            ``"drop"`` to remove them before documents are ranked, as trec_eval's ``-J`` does.
            ``"bounds"`` gives two columns per metric, such as ``"ndcg@10 least"`` and ``"ndcg@10
            greatest"``: the least and the greatest value that judging all unjudged documents of the
            table, retrieved or not, could give.
        unjudged_labels
            The least and the greatest label that judging may give an unjudged document, as ``(0,
            3)``, for ``unjudged="bounds"``: any whole number from one to the other. Default: from 0
            to the largest label of the table, at least ``relevant``.
        unretrieved
            How judged documents that were not retrieved count: ``"missed"`` (default; they count in
            recall, in the divisor of average precision, in the ideal of nDCG), or ``"drop"`` to
            leave them out entirely, like tools that see only the retrieved list, and no collection
            behind it.
        no_relevant
            The value of a query without relevant documents: ``"zero"`` (default) is 0 where the
            metric would divide by 0; ``"null"`` is null in every metric that reads labels, so that
            means leave the query out; ``"one"`` is 1 in every metric whose range is 0 to 1 and
            whose best value is 1.
        nothing_retrieved
            The value of a query with nothing retrieved: ``"count"`` (default) has nothing found;
            ``"null"`` is null in every metric, so that means leave the query out, as Microsoft's
            Recommenders does.
        depth
            How many documents of each ranking count as retrieved, trec_eval's ``-M``; default: all.
            The tie rule decides which tied documents are cut off; ``unjudged="drop"`` is applied
            after the cut.
        collection_size
            The number of documents in the collection, trec_eval's ``-N``; only utility and fall-out
            use it.
        scores
            ``"as_given"`` (default), or ``"float32"`` to round scores to 32-bit floats first, so
            that more of them tie, as in trec_eval 9 and the boosters.
        ranks
            With `rank`, what its numbers mean: ``"order"`` (default), the order of the documents,
            which then have the ranks 1, 2, 3 ...; or ``"as_given"``, the ranks themselves, as in
            RecTools: the reciprocal rank of a document at rank 9 is 1/9, whatever is above it, and
            a cutoff at 5 leaves it out. Ranks as given are whole numbers, of which a query has each
            once.
        estimate
            With `propensity`, how clicks are weighted: ``"ips"`` (default), by 1 over the
            propensity (inverse propensity scoring), which has no bias; ``"snips"``,
            self-normalised: over the sum of the weights of all clicks, which varies less, and in
            means is the ratio of the two sums over all queries; ``"clipped"``, by 1 over the
            propensity or `clip`, whichever is larger, which varies less and is too low.
        clip
            The least propensity that counts for ``estimate="clipped"``, above 0 and up to 1;
            default: 0.1.
        convention
            The tool whose results to reproduce: the policies become the tool's, and so do the
            defaults of the metrics' options. What describes the data stays: columns, tables,
            `ascending`, `unjudged_labels` and `collection_size`. Any other policy that is set
            beside the convention, or later, takes precedence. One that was set before, and that the
            tool sets to another value, raises an error. One of ``"trec_eval"``, ``"trec_eval9"``
            (pytrec_eval), ``"ranx"``, ``"sklearn"``, ``"torchmetrics"``, ``"lightgbm"``,
            ``"xgboost"``, ``"catboost"``, ``"spark"``, ``"tf_ranking"``, ``"ptranking"``,
            ``"elasticsearch"``, ``"opensearch"``, ``"opensearch_workbench"``, ``"quepid"``,
            ``"mlflow"``, ``"llamaindex"``, ``"haystack"``, ``"ragas"``, ``"replay"``,
            ``"rectools"``, ``"recbole"``, ``"microsoft_recommenders"`` (or ``"recommenders"``),
            ``"recmetrics"``, ``"elliot"``, ``"evidently"``, ``"lenskit"``, ``"recpack"``,
            ``"cornac"``.
        memory_limit
            The memory that a call on a LazyFrame may take, in bytes or as ``"2GB"``; by default
            that of the environment variable ``RANKFRAME_MEMORY_LIMIT``, else a sixth of the
            machine's or the container's. Rows that exceed a third of it are spilled to the
            temporary folder (``TMPDIR``) and read back in buckets, with all rows of a query in one
            bucket.
        grouped
            True if the rows of each query of a LazyFrame are contiguous, as in most exports:
            batches of queries are then evaluated in the order of the rows, in constant memory and
            without temporary files. A query in two places is an error.
        like
            Another ranker, of a frame of any kind or ``rf.expr``, as ``judged.rank.on(like=mine)``:
            all its options, in place of those of this ranker: columns, side tables, policies,
            convention and how to run. What is given with it is set after them, as by
            ``mine.on(...)``. A frame keeps no options, so the table that :meth:`judge` makes, or a
            filtered one, is told them this way.

        Returns
        -------
        A new ranker; this one is unchanged.

        Raises
        ------
        InvalidOption
            If a value is not one of those listed, a convention counts otherwise than a policy that
            was set before, or `like` is no ranker.

        Examples
        --------
        >>> import polars as pl, rankframe as rf
        >>> df = pl.DataFrame({"qid": [7, 7], "score": [0.2, 0.1], "rel": [1, 2]})
        >>> mine = df.rank.on(query="qid", label="rel", relevant=2)
        >>> mine.reciprocal_rank()["rr"].item()
        0.5
        >>> df.sort("score").rank.on(like=mine).reciprocal_rank()["rr"].item()
        0.5
        """
        raise NotImplementedError  # the declarations of policies and roles read the options

    def _on(self: S, options: Mapping[str, object]) -> S:
        in_memory = {}
        for name, given in options.items():
            in_memory[name] = in_polars(given) if name in TABLES else given
        return self._with(self._setup.on(**in_memory))

    @abstractmethod
    def _with(self: S, setup: Setup) -> S:
        """The ranker with another setup."""

    @property
    @abstractmethod
    def _kind(self) -> type[R]:
        """The type of the results."""

    @property
    def _spelled(self) -> str:
        """The ranker in Python."""
        return spelled(self._root, self._setup)

    if not TYPE_CHECKING:  # metrics that were declared later

        def __getattr__(self, name: str) -> Any:
            try:
                return self._later(name)
            except AttributeError as error:
                raise error.with_traceback(None) from None

    def _later(self, name: str) -> Any:
        """The method of a metric by its name in text, or of one that was declared later."""
        return method_of(self, name)

    def __dir__(self) -> list[str]:
        names = _public_names(type(self))
        metrics = {entry.formula.__name__: entry for entry in METRICS.values()}
        others = [name for name in names if name not in metrics]
        listed = [name for name, entry in metrics.items() if name in names or not entry.own]
        return [*others, *listed]

    @abstractmethod
    def _shown(self) -> Shown:
        """The content of the ranker's `repr`."""

    def __repr__(self) -> str:
        return self._shown().text()

    def _repr_html_(self) -> str:
        return self._shown().html()


def _public_names(kind: type) -> list[str]:
    """The names of a class that do not begin with an underscore, once each."""
    names = [name for each in kind.__mro__ for name in vars(each)]
    return [name for name in dict.fromkeys(names) if not name.startswith("_")]


def method_of(owner: Any, name: str) -> Any:
    """The method of a metric by a name in text, or of one that was declared later."""
    for entry in METRICS.values():
        method = entry.formula.__name__
        is_named = name in (entry.name, method, *entry.aliases)
        if is_named and (not entry.own or hasattr(type(owner), method)):
            lifted: Any = formula(entry.formula)
            return lifted.__get__(owner)
    message = f"{type(owner).__name__!r} object has no attribute {name!r}"
    if name in TRIED_NAMES:
        message += f"; write df.rank.{TRIED_NAMES[name]}"
    elif not name.startswith("_"):  # tools look these up on every object
        message += _near_names(owner, name)
    raise AttributeError(message, name=name)  # no `obj=`: Python would append its own suggestions


def _near_names(owner: Any, name: str) -> str:
    """The names that may have been meant, as a sentence; none if there are none."""
    names = {own: repr(own) for own in dir(owner)} | owner._elsewhere
    if name in names:
        return f". Did you mean {names[name]}?"
    return near_names(name, METRICS, names)


class Ranker(MetricRanker[R], Verbs[R]):
    """The metrics and verbs of a frame's rankings."""

    _library = ""
    """The library of the frame, as its display names it; Polars has no name there."""

    _frame: Any

    # the metrics that people type; `metrics` has all
    precision = formula(metrics.precision)
    recall = formula(metrics.recall)
    f1 = formula(metrics.f1)
    fall_out = formula(metrics.fall_out)
    hit_rate = formula(metrics.hit_rate)
    r_precision = formula(metrics.r_precision)
    err = formula(metrics.err)
    pfound = formula(metrics.pfound)
    rbp = formula(metrics.rbp)
    bpm = formula(metrics.bpm)
    alpha_ndcg = formula(metrics.alpha_ndcg)
    err_ia = formula(metrics.err_ia)
    subtopic_recall = formula(metrics.subtopic_recall)
    cg = formula(metrics.cg)
    dcg = formula(metrics.dcg)
    ndcg = formula(metrics.ndcg)
    group_exposure = formula(metrics.group_exposure)
    awrf = formula(metrics.awrf)
    pairwise_accuracy = formula(metrics.pairwise_accuracy)
    inferred_ap = formula(metrics.inferred_ap)
    num_relevant = formula(metrics.num_relevant)
    mean_popularity = formula(metrics.mean_popularity)
    ild = formula(metrics.ild)
    average_precision = formula(metrics.average_precision)
    reciprocal_rank = formula(metrics.reciprocal_rank)
    bpref = formula(metrics.bpref)
    interpolated_precision = formula(metrics.interpolated_precision)
    auc = formula(metrics.auc)
    compatibility = formula(metrics.compatibility)
    serendipity = formula(metrics.serendipity)

    if TYPE_CHECKING:  # names in texts, by which `__getattr__` finds each metric
        map = formula(metrics.average_precision)
        rr = formula(metrics.reciprocal_rank)
        mrr = formula(metrics.reciprocal_rank)

    # verbs
    evaluate = lift(lambda: measure.evaluate.evaluate)
    with_metrics = lift(lambda: measure.evaluate.with_metrics)
    with_ranks = lift(lambda: measure.evaluate.with_ranks)
    curve = lift(lambda: measure.evaluate.curve)
    explain = lift(lambda: measure.evaluate.explain)
    judge = lift(lambda: measure.judge.judge)
    check = lift(lambda: measure.judge.check)
    agreement = lift(lambda: measure.evaluate.agreement)
    conventions = lift(lambda: audit.tool_comparison.conventions)
    mean = lift(lambda: measure.summary.mean)
    summarize = lift(lambda: items.summarize.summarize)
    compare = lift(lambda: decide.compare.compare)
    compare_groups = lift(lambda: groups.compare_groups.compare_groups)
    power = lift(lambda: decide.power.power)
    gate = lift(lambda: decide.gate.gate)
    fuse = lift(lambda: fusing.fuse.fuse)
    tune = lift(lambda: fusing.tuning.tune)
    report = lift(lambda: _pictures.report_page.report)

    @property
    def _elsewhere(self) -> Mapping[str, str]:  # type: ignore[override]
        from ..plot import PLOTS

        elsewhere: dict[str, str] = {}
        at_hand = dir(self)
        topics = {"plot": PLOTS, **{name: dir(getattr(self, name)) for name in TOPICS}}
        for topic, names in topics.items():
            elsewhere |= {name: f"'{topic}.{name}'" for name in names if name not in at_hand}
        for entry in METRICS.values():
            method = entry.formula.__name__
            if entry.own and not hasattr(type(self), method):
                elsewhere[entry.name] = elsewhere[method] = f"'metrics.{method}'"
        return elsewhere | {name: repr(new) for name, new in RENAMED.items()}

    @property
    def fusion(self) -> FusionVerbs[R]:
        """The verbs of fusion, as ``df.rank.fusion.overlap(runs=["bm25", "dense"])``."""
        return FusionVerbs(self)

    @property
    def items(self) -> ItemVerbs[R]:
        """The verbs of the items that all users are shown, as
        ``df.rank.items.catalog("coverage@10", items=1000)``.
        """
        return ItemVerbs(self)

    @property
    def collection(self) -> CollectionVerbs[R]:
        """The verbs of test collections, as ``df.rank.collection.pool(depth=10, runs=["bm25",
        "dense"])``.
        """
        return CollectionVerbs(self)

    @property
    def clicks(self) -> ClickVerbs[R]:
        """The verbs of clicks, as ``df.rank.clicks.interleave(runs=["bm25", "dense"])``."""
        return ClickVerbs(self)

    @property
    def preferences(self) -> PreferenceVerbs[R]:
        """The verbs of preferences that people state, as
        ``df.rank.preferences.evaluate("prefs_simp")``.
        """
        return PreferenceVerbs(self)

    @property
    def metrics(self) -> FrameMetrics[R]:
        """All metrics as methods, as ``df.rank.metrics.nerr8(k=10)``."""
        return FrameMetrics(self)

    @property
    def plot(self) -> Plots[LayerChart]:
        """The ranker's plots, one for each question, as ``df.rank.plot.curve("ndcg")``."""
        from ..plot import Plots

        return Plots(self, "altair")

    @abstractmethod
    def _run(self, call: VerbCall) -> Any:
        """The result of a call of a verb, in the caller's kind of frame."""

    def _lifted(self, verb: Verb, args: Sequence[object], options: Mapping[str, object]) -> Any:
        call = verb.bound(args, options)
        if "sequential" in call.arguments:
            call = call.changed(sequential=in_polars(call.arguments["sequential"]))
        of_ranker = (*TABLES, "qrels") if verb.gives == "whole" else TABLES
        given = {}
        for name in of_ranker:
            if call.arguments.get(name) is not None:
                given[name] = call.arguments[name]
        if not given and not call.runs.tables:
            return self._run(call)
        qrels = given.get("qrels")
        tables = {name: table for name, table in given.items() if name in TABLES}
        ranker = self._on(tables)._of(call.runs, qrels)
        return ranker._run(call.changed(**dict.fromkeys(given)))

    def _of(self, runs: Runs, qrels: object = None, **unmatched: Unmatched | None) -> Ranker[R]:
        """The ranker whose table has the runs, joined with `qrels` if any.

        `unmatched` are options of `judge`.
        """
        ranker = self._with(self._setup)
        if runs.tables:
            ranker._frame = stacked(self._frame, self._setup, runs)
        if qrels is None:
            return ranker
        first_score = runs.scores[0] if runs.scores else self._setup.roles.score
        of_first = ranker._with(self._setup.changed(score=first_score))
        ranker._frame = of_first.judge(qrels, run=runs.column, **unmatched)
        ranker._setup = replace(self._setup, given=self._setup.given | {JOINED})
        return ranker

    def _measure(self, *calls: Call) -> R:
        use_polars()
        found: R = self._run(call_of_verb(measure.evaluate.evaluate, *calls))
        return found

    @property
    def _kind(self) -> type[R]:
        return type(self._frame)

    def _table(self) -> tuple[str, Sequence[str] | None]:
        """The size of the table in words, and its columns, if they are known without work."""
        columns = [str(name) for name in self._frame.columns]
        return f"{len(columns)} columns", columns

    def _levels(self) -> Sequence[str]:
        """The columns that are levels of an index."""
        return ()

    def _shown(self) -> Shown:
        size, columns = self._table()
        kind = f"{self._library}{type(self._frame).__name__}"
        title = f".rank of a {kind}: {size}"
        metrics = [entry.formula.__name__ for entry in METRICS.values()]
        verbs = [name for name in self.__dir__() if name not in metrics]
        n_more = len(metrics) - 3
        methods = [
            ("verbs", ", ".join(verbs)),
            ("metrics", f"ndcg, average_precision, reciprocal_rank and {n_more} more"),
            ("such as", ".rank.evaluate('ndcg@10', 'map')"),
        ]
        return shown_of(self._setup, title, columns, methods, self._levels())


class Topic(Verbs[R], Metrics[R]):
    """Methods of a ranker under a name of their own."""

    _name = ""
    _elsewhere: Mapping[str, str] = {}

    def __init_subclass__(cls) -> None:
        cls.__doc__ = Help(vars(cls).get("__doc__"), page_of_topic)  # type: ignore[assignment] # gives a text

    def __init__(self, ranker: Ranker[R]) -> None:
        self._ranker = ranker
        self._gives = ranker._gives
        self._examples = ranker._examples
        self._root = f"{ranker._root}.{self._name}"

    @property
    def _kind(self) -> type[R]:
        return self._ranker._kind

    @property
    def _spelled(self) -> str:
        return f"{self._ranker._spelled}.{self._name}"

    def _lifted(self, verb: Verb, args: Sequence[object], options: Mapping[str, object]) -> Any:
        return self._ranker._lifted(verb, args, options)

    def _measure(self, *calls: Call) -> R:
        return self._ranker._measure(*calls)

    def __dir__(self) -> list[str]:
        return _public_names(type(self))

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            names = dir(self)
            near = did_you_mean(name, names) or f" It has {', '.join(names)}"
            raise AttributeError(f".rank.{self._name} has no verb {name!r}.{near}", name=name)

    def __repr__(self) -> str:
        return f".rank.{self._name}: {', '.join(self.__dir__())}"


class FusionVerbs(Topic[R]):
    """The verbs of fusion, ``df.rank.fusion``."""

    _name = "fusion"

    fuse = lift(lambda: fusing.fuse.fuse)
    explain = lift(lambda: fusing.fuse.explain)
    overlap = lift(lambda: audit.overlap.overlap)
    oracle = lift(lambda: audit.overlap.oracle)
    tune = lift(lambda: fusing.tuning.tune)
    fit = lift(lambda: fusing.fitted.fit)


class ItemVerbs(Topic[R]):
    """The verbs of the items that all users are shown, ``df.rank.items``."""

    _name = "items"

    catalog = lift(lambda: items.catalog.catalog)
    compare = lift(lambda: items.catalog.compare)
    counts = lift(lambda: items.catalog.counts)
    exposure = lift(lambda: items.item_exposure.exposure)
    expected_exposure = lift(lambda: items.expected_exposure.expected_exposure)
    without = lift(lambda: items.item_tables.without)


class CollectionVerbs(Topic[R]):
    """The verbs of test collections: what to judge, and how far judgments and runs can be relied
    on, ``df.rank.collection``.
    """

    _name = "collection"

    pool = lift(lambda: collections.pool.pool)
    leave_one_run_out = lift(lambda: collections.pool.leave_one_run_out)
    label_agreement = lift(lambda: collections.label_agreement.label_agreement)
    reliability = lift(lambda: collections.reliability.reliability)
    reproduces = lift(lambda: audit.reproduces.reproduces)
    difficulty = lift(lambda: collections.difficulty.difficulty)


class ClickVerbs(Topic[R]):
    """The verbs of clicks, ``df.rank.clicks``."""

    _name = "clicks"

    propensities = lift(lambda: collections.propensities.propensities)
    interleave = lift(lambda: collections.interleave.interleave)
    preference = lift(lambda: collections.preference.preference)


class PreferenceVerbs(Topic[R]):
    """The verbs of preferences that people state, ``df.rank.preferences``."""

    _name = "preferences"

    evaluate = lift(lambda: collections.stated_preferences.evaluate)
    bradley_terry = lift(lambda: collections.stated_preferences.bradley_terry)


class FrameMetrics(Topic[R], AllMetrics[R]):
    """All metrics of a frame's rankings, ``df.rank.metrics``."""

    _name = "metrics"

    def __dir__(self) -> list[str]:
        return [entry.formula.__name__ for entry in METRICS.values()]

    if not TYPE_CHECKING:
        __getattr__ = method_of


class ExprRanker(MetricRanker[pl.Expr], AllMetrics[pl.Expr]):
    """``rf.expr``: the metrics as Polars expressions, for ``group_by().agg()`` and ``.over()``.

    An expression ranks the rows of its group by itself, so it can be combined with any other Polars
    aggregation. Many expressions at once are slower than ``df.rank.evaluate``, whose metrics share
    one sort. The name of an expression is the canonical text of the metric. Its column names and
    policies are those of ``rf.expr.on(...)``, also inside ``evaluate``: ``df.rank.on(...)`` applies
    to texts only.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame(
    ...     {
    ...         "query_id": [1, 1, 2],
    ...         "doc_id": ["a", "b", "a"],
    ...         "score": [1, 2, 3],
    ...         "label": [1, 0, 0],
    ...     }
    ... )
    >>> df.group_by("query_id", maintain_order=True).agg(rf.expr.reciprocal_rank(), pl.len()).rows()
    [(1, 0.5, 2), (2, 0.0, 1)]
    >>> df.select(rf.expr.reciprocal_rank().over("query_id"))["rr"].to_list()
    [0.5, 0.5, 0.0]
    """

    _gives = "One value per group, named by the metric's canonical text, as ``ndcg@10``."
    _root = "rf.expr"

    def _with(self, setup: Setup) -> ExprRanker:
        return ExprRanker(setup)

    def _measure(self, *calls: Call) -> pl.Expr:
        call, *others = calls
        if others:
            name = call.metric.formula.__name__
            option = str(call.metric.first)
            cutoffs = [other.arguments.get(option) for other in calls]
            example = f"[rf.expr.{name}({option}=x) for x in {cutoffs}]"
            says = f"an expression is one column; write one for each {option}, as in"
            raise InvalidOption(f"{says} {example}")
        values = aggregation(call, self._setup)
        return values.alias(flat_name(call.text)) if self._setup.flat else values

    @property
    def _kind(self) -> type[pl.Expr]:
        return pl.Expr

    def _shown(self) -> Shown:
        methods = [("such as", "df.group_by('query_id').agg(rf.expr.ndcg(k=10))")]
        return shown_of(self._setup, "rf.expr: metrics as Polars expressions", None, methods)


expr = ExprRanker()
"""The metrics as Polars expressions."""
