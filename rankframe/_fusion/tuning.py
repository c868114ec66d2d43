"""Tune methods of fusion by cross-validation over the queries, and measure the gain on queries not used for the choice."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar

import polars as pl

from .. import fusions  # noqa: F401 - fills the registry
from .._catalog.call import Call
from .._catalog.means import scaled, unscaled
from .._catalog.requests import Request, averaged
from .._decisions.compare import Significance, compared_values, settings_of
from .._decisions.paired_values import Design, PairedValues
from .._decisions.resampling import Resampling, limits
from .._plan.per_query import F, as_given, measure, refuse_names
from .._support.progress import Progress
from .._table.roles import require, require_number
from .._table.setup import Setup, refuse_bounds
from .._text import displays
from .._verbs.declaration import verb
from ..errors import InvalidOption, option
from .entries import Entries, entries_of, names_of_runs, of_run
from .fitted import ranker_of
from .fuse import needs, scored
from .search import Space, Tuning, spaces_of

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from .._support.floats import Floats

    Numbers: TypeAlias = npt.NDArray[np.int64]

R_co = TypeVar("R_co", covariant=True)

TUNED, IN_SAMPLE, UNTUNED = "tuned, out of fold", "tuned, in sample", "untuned"
"""The names of the rankings beside the single runs."""

COLUMNS = ("fold", "method", "ranking", *(TUNED, IN_SAMPLE, UNTUNED))
"""The columns of the results, which no query column may have."""

AT_ONCE = 4_000_000
"""About how many fused scores are held at a time."""


@dataclass(frozen=True)
class TunedFusion(Generic[R_co]):
    """A method of fusion with the options that are best on the judged queries, and its values on other queries.

    Attributes
    ----------
    text
        The method with the options chosen on all queries; its weights are in the order of `runs`.
    runs
        The names of the runs.
    table
        A row per ranking: ``ranking`` (the tuned method out of fold and in sample, the untuned one, and each run),
        ``method`` (its text, null for a run and out of fold), ``mean``, ``ci_low``, ``ci_high`` and ``interval``, and ``n_queries``.
        Out of fold, each query is fused by options that were chosen on the other folds.
    comparison
        The tuned method out of fold compared with the untuned one and each run: the columns of `Comparison.table`.
    folds
        A row per fold: ``fold``, ``n_queries``, ``method`` (chosen on the others), its mean on these others (``train``), and
        on the fold (``test``).
    per_query
        A row per query: the query, ``fold``, ``method``, and a value for each ranking.
    candidates
        A row per setting that was tried: ``method`` and ``mean`` over all queries, in the order of trial.
    settings
        How it was computed.
    """

    text: str
    runs: tuple[str, ...]
    table: R_co
    comparison: R_co
    folds: R_co
    per_query: R_co
    candidates: R_co
    settings: Mapping[str, Any] = field(default_factory=dict)

    def fuse(self, frame: Any, *, runs: Sequence[str] | None = None, run: str | None = None) -> Any:
        """Fuse another table with the same runs by the chosen method; weights are matched by the names of the runs.

        Parameters
        ----------
        frame
            A table of Polars or pandas.
        runs, run
            As for `df.rank.fuse`; default: as in tuning.
        """
        if not runs and run is None:
            run = self.settings.get("run")
            runs = self.runs if run is None else None
        weights = self.settings.get("weights")
        return ranker_of(frame).fuse(self.settings["unweighted"], runs=runs, run=run, weights=weights)

    def __repr__(self) -> str:
        return displays.tuned_text(self)

    def _repr_html_(self) -> str:
        return displays.tuned_html(self)


class Values:
    """The metric of each query under each setting, computed once."""

    def __init__(
        self, entries: Callable[[Call], Entries], setup: Setup, metric: Call, progress: Callable[[int, int], None]
    ) -> None:
        self.entries, self.setup, self.metric, self.progress = entries, setup, metric, progress
        self.sign = 1 if metric.metric.higher_is_better else -1
        self.known: dict[Call, Floats] = {}

    def of(self, calls: Sequence[Call]) -> Floats:
        """Queries by settings, NaN where the metric has no value."""
        import numpy as np

        groups: dict[int, tuple[Entries, list[Call]]] = {}
        for call in dict.fromkeys(calls):
            if call not in self.known:
                entries = self.entries(call)
                groups.setdefault(id(entries), (entries, []))[1].append(call)
        total = len(self.known) + sum(len(some) for _, some in groups.values())
        for entries, some in groups.values():
            step = max(1, AT_ONCE // max(1, entries.documents.height))
            for start in range(0, len(some), step):
                table = scored(entries, some[start : start + step], expected=self.setup.policies.ties == "expected")
                for i, call in enumerate(some[start : start + step]):
                    self.known[call] = self.measured(table, self.setup.changed(score=f"#{i}", ascending=False))
                    self.progress(len(self.known), total)
        return np.column_stack([self.known[call] for call in calls])

    def measured(self, table: pl.DataFrame, setup: Setup) -> Floats:
        """The value of each query, on the scale of its mean, queries by first appearance in the table."""
        import numpy as np

        found = measure(table, setup, self.metric).lazy().collect()[self.metric.text]
        return scaled(found.fill_null(np.nan).to_numpy()[:, None], [self.metric])[:, 0]

    def mean_of_parts(self, parts: Sequence[tuple[Call, Numbers]]) -> float:
        """The mean over queries in parts, each under its own setting, the higher the better."""
        import numpy as np

        values = np.concatenate([self.of([call])[queries, 0] for call, queries in parts])
        values = values[~np.isnan(values)]
        return self.sign * float(values.mean()) if len(values) else 0.0

    def mean(self, queries: Numbers) -> Callable[[Sequence[Call]], Sequence[float]]:
        """The means of settings over some of the queries, the higher the better."""
        import numpy as np

        def score(calls: Sequence[Call]) -> Sequence[float]:
            values = self.of(calls)[queries]
            counts = ~np.isnan(values)
            sums, n = np.where(counts, values, 0.0).sum(axis=0), counts.sum(axis=0)
            found: list[float] = (self.sign * sums / np.maximum(n, 1)).tolist()
            return found

        return score


@verb(gives="comparison", reads=["design"])
def tune(
    frame: F,
    setup: Setup,
    design: Design,
    tuning: Tuning,
    significance: Significance,
    resampling: Resampling,
    *requests: Request,
) -> TunedFusion[F]:
    """The best setting on all queries, and the values of each query by the best setting on the other folds."""
    import numpy as np

    (metric,) = averaged(requests, "tune('wsum', metric='ndcg@10', runs=['bm25', 'dense'])")
    refuse_bounds(setup)
    table, runs = frame.lazy().collect(), design.runs
    require(table.schema, setup.roles.label, "label")
    require_number(table.schema, setup.roles.label, "label")
    of_queries = runs.queries(setup)
    query = list(of_queries.roles.query)
    names = names_of_runs(table, runs)
    refuse_names([*COLUMNS, *names], query, "the query")
    refuse_names([*COLUMNS], names, "the list of runs")
    spaces = spaces_of(tuning, len(names))
    cached: dict[tuple[object, bool], Entries] = {}

    def entries(call: Call) -> Entries:
        depth, absent = needs(call, setup)
        if (depth, absent) not in cached:
            cached[depth, absent] = entries_of(table, setup, runs, names, depth=depth, absent=absent)
        return cached[depth, absent]

    documents = entries(spaces[0].untuned).documents
    queries = documents.select(query).unique(maintain_order=True)
    if tuning.folds > queries.height:
        n = queries.height
        if n < 2:
            raise InvalidOption(f"the table has {n} {'query' if n else 'queries'}; tune on two or more, for two folds")
        raise InvalidOption(
            option(folds=tuning.folds), f" are more than the table's {n} queries; write ", option(folds=min(5, n))
        )
    with Progress("tuning", resampling.progress) as progress:
        values = Values(entries, of_queries, metric, progress)
        order = _shuffled(queries, tuning.seed)
        fold = np.empty(len(order), dtype=np.int64)
        fold[order] = np.arange(len(order)) % tuning.folds
        chosen = [_chosen(spaces, values, order[fold[order] != i], tuning.folds) for i in range(tuning.folds)]
        final = _chosen(spaces, values, order, tuning.folds)
        untuned = spaces[0].untuned
        of_folds = values.of(chosen)
        rankings = {
            TUNED: of_folds[np.arange(len(fold)), fold],
            IN_SAMPLE: values.of([final])[:, 0],
            UNTUNED: values.of([untuned])[:, 0],
        }
        full = entries_of(table, setup, runs, names, depth=setup.policies.depth, absent=False)
        rankings |= {name: values.measured(*of_run(full, i, of_queries)) for i, name in enumerate(names)}
    found = _values(query, queries, {name: unscaled(x[:, None], [metric]) for name, x in rankings.items()})
    others = [i for i, name in enumerate(found.runs) if name not in (TUNED, IN_SAMPLE)]
    (rows,) = found.slices(())
    pairs = [(i, 0) for i in others]
    with Progress("comparing runs", resampling.progress) as progress:
        compared, _ = compared_values(found, [metric], rows, pairs, significance.test, resampling, progress)
    texts = [call.text for call in chosen]
    result = {
        "table": _table(found, metric, {IN_SAMPLE: final.text, UNTUNED: untuned.text}, resampling),
        "comparison": significance.adjusted(compared),
        "folds": _folds(fold, texts, of_folds, metric),
        "per_query": queries.with_columns(
            pl.Series("fold", fold + 1),
            pl.Series("method", [texts[i] for i in fold], pl.String),
            *(pl.Series(name, x[:, 0]).fill_nan(None) for name, x in zip(found.runs, found.values, strict=True)),
        ),
        "candidates": _candidates(values, metric),
    }
    weights = final.arguments.get("weights")
    settings = {
        "metric": metric.text,
        "metrics": [metric.text],
        "by": (),
        **asdict(tuning),
        **asdict(significance),
        **{name: x for name, x in asdict(resampling).items() if name != "seed"},
        "search": tuning.searched(len(names)),
        "run": runs.column,
        "runs": [name for name in found.runs if name != IN_SAMPLE],
        "unweighted": _unweighted(final).text,
        "weights": None if weights is None else dict(zip(names, weights, strict=True)),
        **settings_of(setup, table),
    }
    tables = {name: as_given(frame, x) for name, x in result.items()}
    return TunedFusion(final.text, tuple(names), **tables, settings=settings)


def _shuffled(queries: pl.DataFrame, seed: int) -> Numbers:
    """The numbers of the queries in a random order, the same for any order of the rows."""
    import numpy as np

    in_order = queries.with_row_index("#row").sort(queries.columns)["#row"].to_numpy().astype(np.int64)
    drawn = np.random.PCG64(seed).random_raw(len(in_order))
    return in_order[np.argsort(drawn, kind="stable")]


def _chosen(spaces: Sequence[Space], values: Values, queries: Numbers, folds: int) -> Call:
    """The best setting on some queries; of several methods, that of the method with the best mean out of fold."""
    import numpy as np

    score = values.mean(queries)
    inner = min(folds, len(queries))
    if len(spaces) == 1 or inner < 2:
        calls = [space.best(score) for space in spaces]
        return calls[int(np.argmax(score(calls)))]
    fold = np.arange(len(queries)) % inner
    out_of_fold = []
    for space in spaces:
        parts = [(space.best(values.mean(queries[fold != i])), queries[fold == i]) for i in range(inner)]
        out_of_fold.append(values.mean_of_parts(parts))
    return spaces[int(np.argmax(out_of_fold))].best(score)


def _values(query: list[str], queries: pl.DataFrame, rankings: Mapping[str, Floats]) -> PairedValues:
    """The values of the rankings, for comparisons: rankings by queries by one metric."""
    import numpy as np

    return PairedValues(
        query, [*rankings], queries.with_columns(pl.lit(1.0).alias("#weight")), np.stack([*rankings.values()])
    )


def _table(found: PairedValues, metric: Call, texts: Mapping[str, str], resampling: Resampling) -> pl.DataFrame:
    """The mean of each ranking, with its interval."""
    import numpy as np

    from .. import stats

    (rows,) = found.slices(())
    calls = [metric] * len(found.runs)
    x, weights = scaled(found.values[:, rows, 0].T, calls), np.ones(len(rows))
    within = limits(found.values, [metric]).repeated(len(calls))
    with Progress("resampling queries", resampling.progress) as progress:
        low, high, kinds = resampling.intervals(x, weights, within, progress)
    figures = {
        name: unscaled(y, calls) for name, y in (("mean", stats.means(x, weights)), ("ci_low", low), ("ci_high", high))
    }
    counted = (~np.isnan(x)).sum(axis=0)
    return pl.DataFrame(
        {
            "ranking": found.runs,
            "method": [texts.get(name) for name in found.runs],
            **figures,
            "interval": kinds,
            "n_queries": counted,
        },
        schema_overrides={"method": pl.String, "interval": pl.String, "n_queries": pl.UInt32},
    ).fill_nan(None)


def _folds(fold: Numbers, texts: Sequence[str], of_folds: Floats, metric: Call) -> pl.DataFrame:
    """The method chosen for each fold, and its means on the other folds and on this one."""
    import numpy as np

    from .. import stats

    def mean(x: Floats) -> float:
        found: float = unscaled(stats.means(x[:, None], np.ones(len(x))), [metric])[0]
        return found

    rows = [
        (i + 1, int((fold == i).sum()), text, mean(of_folds[fold != i, i]), mean(of_folds[fold == i, i]))
        for i, text in enumerate(texts)
    ]
    dtypes = {"fold": pl.Int64, "n_queries": pl.UInt32, "method": pl.String, "train": pl.Float64, "test": pl.Float64}
    return pl.DataFrame(rows, dtypes, orient="row").with_columns(pl.col("train", "test").fill_nan(None))


def _candidates(values: Values, metric: Call) -> pl.DataFrame:
    """All settings that were tried, with their means over all queries."""
    import numpy as np

    from .. import stats

    x = np.column_stack([*values.known.values()])
    means = unscaled(stats.means(x, np.ones(len(x))), [metric] * x.shape[1])
    return pl.DataFrame({"method": [call.text for call in values.known], "mean": means}).fill_nan(None)


def _unweighted(call: Call) -> Call:
    """The method without its weights."""
    return replace(call, options=tuple(x for x in call.options if x[0] != "weights"))
