"""The rankers behind `.rank`, as a table of contents: every verb and every metric is a method, documented where it is defined."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import polars as pl

from .. import metrics
from .._audit import methods as audit
from .._catalog.call import Call
from .._catalog.flat_names import flat_name
from .._catalog.registry import METRICS, near_names
from .._decisions import comparison_methods as comparisons
from .._decisions import summary_methods as summaries
from .._decisions.runs import Runs
from .._fusion import insight_methods as insights
from .._fusion import methods as fusion
from .._items import methods as items
from .._pictures import methods as pictures
from .._plan.aggregation import aggregation
from .._support.forks import use_polars
from .._support.methods import function_as_method as function
from .._table.setup import TABLES, Setup
from .._verbs import methods as verbs
from .._verbs.verbs import evaluate as evaluation
from ..errors import InvalidOption
from ..plot import PLOTS, Plots
from .display import Shown, shown_of, spelled
from .help import Help
from .method import formula_as_method as formula
from .method import verb_as_method as verb
from .on import on as bind
from .tables_beside import in_polars
from .tables_of_runs import below, stacked

R = TypeVar("R")
S = TypeVar("S", bound="Ranker[Any]")
T = TypeVar("T")


class Ranker(ABC, Generic[R]):
    """The metrics as methods, over the columns and policies that `on` has bound."""

    _examples: Sequence[tuple[str, str]] = ()
    _gives = (
        "One row per query: the query columns, then the metric, named by its canonical text, as ``ndcg@10``; several "
        "cutoffs, as ``k=[5, 10]``, give a column each."
    )
    _root = "df.rank"
    """The ranker without options in Python."""

    _own_help = ""

    def __init__(self, setup: Setup = Setup()) -> None:  # noqa: B008 - frozen
        self._setup = setup

    def __init_subclass__(cls) -> None:
        cls.__doc__ = Help(vars(cls).get("__doc__"))  # type: ignore[assignment] # gives a text

    on = function(bind)

    # counts of relevant documents
    precision = formula(metrics.precision)
    recall = formula(metrics.recall)
    f1 = formula(metrics.f1)
    f_beta = formula(metrics.f_beta)
    set_average_precision = formula(metrics.set_average_precision)
    fall_out = formula(metrics.fall_out)
    hits = formula(metrics.hits)
    hit_rate = formula(metrics.hit_rate)
    r_precision = formula(metrics.r_precision)

    # user models: readers who stop when satisfied
    err = formula(metrics.err)
    nerr = formula(metrics.nerr)
    pfound = formula(metrics.pfound)
    rbp = formula(metrics.rbp)

    # user models: the C/W/L family
    sdcg = formula(metrics.sdcg)
    bpm = formula(metrics.bpm)
    insq = formula(metrics.insq)
    inst = formula(metrics.inst)
    rbp_residual = formula(metrics.rbp_residual)
    nerr8 = formula(metrics.nerr8)
    nerr9 = formula(metrics.nerr9)
    nerr10 = formula(metrics.nerr10)
    nerr11 = formula(metrics.nerr11)

    # novelty and diversity
    alpha_dcg = formula(metrics.alpha_dcg)
    alpha_ndcg = formula(metrics.alpha_ndcg)
    err_ia = formula(metrics.err_ia)
    nerr_ia = formula(metrics.nerr_ia)
    nrbp = formula(metrics.nrbp)
    nnrbp = formula(metrics.nnrbp)
    precision_ia = formula(metrics.precision_ia)
    average_precision_ia = formula(metrics.average_precision_ia)
    subtopic_recall = formula(metrics.subtopic_recall)

    # cumulative gain
    cg = formula(metrics.cg)
    mean_label = formula(metrics.mean_label)
    average_relevance_position = formula(metrics.average_relevance_position)
    dcg = formula(metrics.dcg)
    ndcg = formula(metrics.ndcg)

    # fairness of exposure
    group_exposure = formula(metrics.group_exposure)
    awrf = formula(metrics.awrf)
    ndkl = formula(metrics.ndkl)
    rnd = formula(metrics.rnd)
    rkl = formula(metrics.rkl)
    rrd = formula(metrics.rrd)
    demographic_parity = formula(metrics.demographic_parity)
    exposed_utility_ratio = formula(metrics.exposed_utility_ratio)
    realized_utility_ratio = formula(metrics.realized_utility_ratio)

    # metrics of the judgments
    judged = formula(metrics.judged)
    pairwise_accuracy = formula(metrics.pairwise_accuracy)
    inferred_ap = formula(metrics.inferred_ap)
    num_retrieved = formula(metrics.num_retrieved)
    num_relevant = formula(metrics.num_relevant)

    # recommenders: popularity
    mean_popularity = formula(metrics.mean_popularity)
    popularity_percentile = formula(metrics.popularity_percentile)
    tail_share = formula(metrics.tail_share)

    # recommenders: diversity of lists
    ild = formula(metrics.ild)
    category_diversity = formula(metrics.category_diversity)
    category_entropy = formula(metrics.category_entropy)

    # recommenders: novelty
    novelty = formula(metrics.novelty)
    surprisal = formula(metrics.surprisal)
    unseen = formula(metrics.unseen)
    unexpectedness = formula(metrics.unexpectedness)
    least_item_promoted = formula(metrics.least_item_promoted)
    efd = formula(metrics.efd)
    epc = formula(metrics.epc)

    # order of the relevant documents
    average_precision = formula(metrics.average_precision)
    reciprocal_rank = formula(metrics.reciprocal_rank)
    bpref = formula(metrics.bpref)
    interpolated_precision = formula(metrics.interpolated_precision)
    eleven_point_average = formula(metrics.eleven_point_average)
    auc = formula(metrics.auc)
    ordered_pair_accuracy = formula(metrics.ordered_pair_accuracy)

    # graded preferences
    compatibility = formula(metrics.compatibility)

    # recommenders: compared with past interactions
    serendipity = formula(metrics.serendipity)
    calibration = formula(metrics.calibration)

    # trec_eval's own
    num_nonrel_judged_ret = formula(metrics.num_nonrel_judged_ret)
    unjudged = formula(metrics.unjudged)
    r_precision_multiple = formula(metrics.r_precision_multiple)
    utility = formula(metrics.utility)
    yaap = formula(metrics.yaap)
    rbp_resid = formula(metrics.rbp_resid)
    gm_map = formula(metrics.gm_map)
    gm_bpref = formula(metrics.gm_bpref)
    relstring = formula(metrics.relstring)
    bin_g = formula(metrics.bin_g)
    g = formula(metrics.g)
    ndcg_rel = formula(metrics.ndcg_rel)
    rndcg = formula(metrics.rndcg)
    ideal_dcg = formula(metrics.ideal_dcg)

    def _on(self: S, options: Mapping[str, object]) -> S:
        return self._with(
            self._setup.on(**{name: in_polars(x) if name in TABLES else x for name, x in options.items()})
        )

    @abstractmethod
    def _with(self: S, setup: Setup) -> S:
        """The ranker with another setup."""

    @abstractmethod
    def _measure(self, *calls: Call) -> R:
        """The values of a metric, at one cutoff or several."""

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
        """The method of a metric that was declared later, or the method by the metric's name in text."""
        for entry in METRICS.values():
            if name in (entry.name, entry.formula.__name__):
                method: Any = formula(entry.formula)
                return method.__get__(self)
        message = f"{type(self).__name__!r} object has no attribute {name!r}"
        if not name.startswith("_"):  # tools look these up on every object
            verbs = {own: repr(own) for own in dir(self)} | {
                plot: f"'plot.{plot}'" for plot in PLOTS if plot not in dir(self)
            }
            message += near_names(name, METRICS, verbs)
        raise AttributeError(message, name=name)  # no `obj=`: Python would append its own suggestions

    def __dir__(self) -> list[str]:
        own = (name for kind in type(self).__mro__ for name in vars(kind) if not name.startswith("_"))
        return [*dict.fromkeys([*own, *(entry.formula.__name__ for entry in METRICS.values())])]

    @abstractmethod
    def _shown(self) -> Shown:
        """The content of the ranker's `repr`."""

    def __repr__(self) -> str:
        return self._shown().text()

    def _repr_html_(self) -> str:
        return self._shown().html()


class FrameRanker(Ranker[R]):
    """The metrics and verbs of a frame's rankings."""

    _plots_with = "altair"
    _library = ""
    """The library of the frame, as its display names it; Polars has no name there."""

    _frame: Any

    # verbs
    evaluate = verb(verbs.evaluate)
    with_metrics = verb(verbs.with_metrics)
    with_ranks = verb(verbs.with_ranks)
    curve = verb(verbs.curve)
    explain = verb(verbs.explain)
    judge = verb(verbs.judge)
    check = verb(verbs.check)
    agreement = verb(verbs.agreement)
    conventions = verb(audit.conventions)

    # decisions
    mean = verb(summaries.mean)
    summarize = verb(summaries.summarize)
    compare = verb(comparisons.compare)
    power = verb(comparisons.power)
    gate = verb(comparisons.gate)
    noninferior = verb(comparisons.noninferior)

    # fusion
    fuse = verb(fusion.fuse)
    explain_fusion = verb(insights.explain_fusion)
    overlap = verb(insights.overlap)
    oracle = verb(insights.oracle)
    expected_exposure = verb(insights.expected_exposure)
    fit_fusion = verb(fusion.fit_fusion)
    tune = verb(fusion.tune)

    # items that all users are shown
    exposure = verb(items.exposure)
    catalog = verb(items.catalog)
    compare_catalog = verb(items.compare_catalog)
    item_counts = verb(items.item_counts)
    without = verb(items.without)
    gaps = verb(items.gaps)

    # pictures
    report = verb(pictures.report)

    @property
    def plot(self) -> Plots:
        """The ranker's plots, one for each question, as ``df.rank.plot.curve("ndcg")``."""
        return Plots(self, self._plots_with)

    @abstractmethod
    def _run(self, verb: Callable[..., object], *args: object) -> R:
        """The verb's result as the caller's kind of frame, or an object with several such frames."""

    @abstractmethod
    def _work(self, work: Callable[..., T], names: Sequence[str], *args: object) -> T:
        """Return the result of `work` on the table, a Polars DataFrame with the ranker's columns and those of `names`."""

    def _of(self, runs: Runs, judgments: object = None) -> FrameRanker[R]:
        """The ranker whose table has the runs, joined with `judgments` if any: itself, or one over another table."""
        ranker = self._with(self._setup)
        if runs.tables:
            ranker._frame = stacked(self._frame, self._setup, runs)
        if judgments is not None:
            scores = self._setup.changed(score=[*runs.scores, self._setup.roles.score][0])
            ranker._frame = ranker._with(scores).judge(judgments, run=runs.column)
        return self if ranker._frame is self._frame else ranker

    def _below(self, results: Mapping[str, R]) -> R:
        """Concatenate the results, with the name of each in a first column ``run``."""
        return below(results)

    def _measure(self, *calls: Call) -> R:
        use_polars()
        return self._run(evaluation, *calls)

    @property
    def _kind(self) -> type[R]:
        return type(self._frame)

    def _table(self) -> tuple[str, Sequence[str] | None]:
        """The size of the table in words, and its columns, as far as they are known without work."""
        columns = [str(name) for name in self._frame.columns]
        return f"{len(columns)} columns", columns

    def _levels(self) -> Sequence[str]:
        """The columns that are levels of an index."""
        return ()

    def _shown(self) -> Shown:
        size, columns = self._table()
        title = f".rank of a {self._library}{type(self._frame).__name__}: {size}"
        metrics = [entry.formula.__name__ for entry in METRICS.values()]
        verbs = [name for name in self.__dir__() if name not in metrics]
        methods = [
            ("verbs", ", ".join(verbs)),
            ("metrics", f"ndcg, average_precision, reciprocal_rank and {len(metrics) - 3} more"),
            ("such as", ".rank.evaluate('ndcg@10', 'map')"),
        ]
        return shown_of(self._setup, title, columns, methods, self._levels())


class ExprRanker(Ranker[pl.Expr]):
    """``rf.expr``: the metrics as Polars expressions, for ``group_by().agg()`` and ``.over()``.

    An expression ranks the rows of its group by itself, so it can be combined with any other Polars aggregation. Many
    expressions at once are slower than ``df.rank.evaluate``, whose metrics share one sort. The name of an expression is
    the canonical text of the metric. Its column names and policies are those of ``rf.expr.on(...)``, also inside
    ``evaluate``: ``df.rank.on(...)`` applies to texts only.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame({"query_id": [1, 1, 2], "doc_id": ["a", "b", "a"], "score": [1, 2, 3], "label": [1, 0, 0]})
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
            name, option = call.metric.formula.__name__, call.metric.first
            cutoffs = [other.arguments.get(str(option)) for other in calls]
            raise InvalidOption(
                f"an expression is one column; write one for each {option}, as in "
                f"[rf.expr.{name}({option}=x) for x in {cutoffs}]"
            )
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
