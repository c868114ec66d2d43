"""The overlap of several runs, and the best run of each query: what fusing them may gain."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING, Any

import polars as pl

from ..._catalog.call import Call, call_of
from ..._catalog.registry import AGREEMENTS, METRICS
from ..._catalog.requests import Request, averaged
from ..._plan.per_query import LARGEST, measure, needs_largest_label
from ..._results.columns import grid, schema
from ..._results.grid import (
    Cell,
    Grid,
    Record,
    estimated,
    intervals_of,
    left_out,
    queries_of,
    records,
)
from ..._results.result import MOST_ROWS, R_co, Result
from ..._results.sentences import IN_TEXT, Quotes, best_of, quoted
from ..._support.floats import Booleans, Floats, Integers, np
from ..._support.joins import left_joined
from ..._support.option_kinds import Column
from ..._support.progress import Progress
from ..._support.statistical_options import Interval
from ..._table.policies import Cutoff
from ..._table.roles import require_number
from ..._table.runs import Runs
from ..._table.setup import Roles, Setup
from ..._table.shared_options import IntervalsOfRuns, OfRuns, runs_of
from ..._table.table import R, Table, Whole, in_memory
from ...errors import InvalidOption
from ..call.declaration import call_of_verb, verb
from ..decide.compare import compared_values
from ..decide.estimation import Estimation
from ..fuse.fitted import FittedFusion, FusionMethod, text_of
from ..fuse.fuse import SCORE, fuse
from ..measure.evaluate import agreement
from ..measure.paired_values import Design, PairedValues, paired_values, two_or_more
from ..sample.entries import Entries, entries_of, names_of_runs
from ..sample.resampling import Resampling, numbers_in, warn_of_t

if TYPE_CHECKING:
    from typing import Unpack

PAIRS = schema("run other overlap jaccard rbo n_queries")
OF_RUNS = schema("run retrieved only relevant only_relevant")
COUNTS = ("retrieved", "only", "relevant", "only_relevant")


@dataclass(frozen=True, repr=False)
class Overlap(Result[R_co]):
    """The overlap of several runs.

    Attributes
    ----------
    table
        A row per pair of runs: ``run``, ``other``; ``overlap`` (the number of documents in the top
        k of both, over k), ``jaccard`` (that number over the number of documents in the top k of
        either) and ``rbo`` (rank-biased overlap of the whole rankings, with a persistence of 0.9),
        all Float64 from 0 to 1: the means over the queries for which either run retrieves a
        document; and the number of these, ``n_queries`` (UInt32).
    runs
        A row per run: ``run``; how many documents its top k hold over all queries, ``retrieved``,
        and how many of them no other run has in its top k, ``only``; the same of relevant
        documents, ``relevant`` and ``only_relevant``, which are null if the table has no labels;
        all UInt32.
    settings
        How it was computed: the cutoff, the runs, the policies, the versions.
    """

    table: R_co
    runs: R_co
    settings: Mapping[str, Any]

    def sentences(self, quotes: Quotes = IN_TEXT) -> list[str]:
        """The pairs of runs with most and least overlap, and the documents of one run only."""
        pairs = [row for row in records(self.table) if row["jaccard"] is not None]
        if not pairs:
            return ["No run has a document"]
        most = max(pairs, key=_jaccard)
        least = min(pairs, key=_jaccard)
        share = f"{_share(most)} of the documents{self._top} of either"
        common = f"{_both(most, quotes)} have {share} in common"
        if len(pairs) > 1:
            others = f"{_both(least, quotes)} least, {_share(least)}"
            common = f"{_both(most, quotes)} have most in common, {share}, and {others}"
        runs = records(self.runs)
        judged = all(row["relevant"] is not None for row in runs)
        kind = "Documents"
        column = "only"
        if judged:
            kind = "Relevant documents"
            column = "only_relevant"
        alone = ", ".join(f"{quoted(row['run'], quotes)} {row[column]:,}" for row in runs)
        return [common, f"{kind}{self._top} of one run only: {alone}"]

    def grids(self, most: int | None = MOST_ROWS) -> list[Grid]:
        """The figures of pairs of runs and of single runs."""
        pairs = records(self.table)
        runs = records(self.runs)
        k = self.settings["k"]
        over = "the length of the longer ranking" if k is None else k
        note = (
            f"Means over {queries_of(pairs)}. overlap: common documents over {over}; jaccard: over "
            "those of either run; rbo: rank-biased overlap of the whole rankings."
        )
        of_pairs = grid(self, pairs, ("run", "other"), "overlap jaccard rbo", (note,), most)
        counts = [name for name in COUNTS if any(row[name] is not None for row in runs)]
        note_of_runs = (
            f"Documents{self._top} over all queries; only: those that no other run has there."
        )
        notes = (note_of_runs, *left_out(self, pairs, most))
        of_runs = grid(self, runs, ("run",), " ".join(counts), notes, None)
        return [of_pairs, of_runs]

    @property
    def _top(self) -> str:
        """The documents that count, in words."""
        k = self.settings["k"]
        return "" if k is None else f" in the top {k}"


@verb(gives="whole", labels=True, by_parts=True)
def overlap(table: Table[R], *, k: Cutoff | None = 10, **options: Unpack[OfRuns]) -> Overlap[R]:
    """The overlap of the rankings of every two runs, and the documents that each run finds alone.

    Parameters
    ----------
    runs, run
        The runs, as for :meth:`fuse`.
    k
        How many documents of each ranking count, except for rank-biased overlap; ``None`` counts
        all.

    Returns
    -------
    An object that shows the result in two sentences and two tables, which are frames of the
    caller's kind. Of a LazyFrame only sums over the queries are held in memory.

    - ``table`` has a row per pair of runs: ``run``, ``other``; ``overlap`` (the number of documents
      in the top k of both, over k), ``jaccard`` (over the number in the top k of either) and
      ``rbo`` (rank-biased overlap of the whole rankings with a persistence of 0.9), all Float64
      from 0 to 1, the means over the queries for which either run retrieves a document, null if
      there is none; and the number of these queries, ``n_queries`` (UInt32).
    - ``runs`` has a row per run: ``run``; how many documents its top k hold over all queries,
      ``retrieved``, and how many of these no other run has in its top k, ``only``; the same of
      relevant documents, ``relevant`` and ``only_relevant``, null if the table has no labels; all
      UInt32.
    - ``settings`` is a dictionary of how it was computed.

    Ranks follow the tie rule.

    Raises
    ------
    InvalidOption
        If there are fewer than two runs, or `k` is no whole number from 1 on.
    MissingColumn, InvalidData
        As for :meth:`fuse`.

    References
    ----------
    Webber, Moffat, Zobel, A similarity measure for indefinite rankings, ACM TOIS 28(4), 2010.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> rows = {"query_id": [1, 1, 1], "doc_id": list("abc"), "label": [1, 0, 0]}
    >>> df = pl.DataFrame({**rows, "bm25": [3, 2, 1], "dense": [None, 2, 1]})
    >>> found = df.rank.fusion.overlap(runs=["bm25", "dense"], k=2)             # a and b; b and c
    >>> found.table["overlap"].item(), found.table["jaccard"].item()
    (0.5, 0.3333333333333333)
    >>> found.runs["only"].to_list(), found.runs["only_relevant"].to_list()
    ([1, 1], [1, 0])
    """
    chosen = runs_of(options).required()
    names = two_or_more(names_of_runs(table, chosen))
    rows = table.by_parts(OverlapOfPart(chosen, tuple(names), k))
    is_pair = pl.col("other").is_not_null()
    order = [pl.col(name).cast(pl.Enum(names)) for name in ("run", "other")]
    n = pl.col("n_queries").sum()
    sums = pl.col("overlap", "jaccard", "rbo").sum()
    of_pairs = rows.filter(is_pair).group_by("run", "other")
    mean = pl.when(n > 0).then(sums / n)
    means = of_pairs.agg(mean, n)
    pairs = means.sort(order).select(*PAIRS)
    counts = pl.col(COUNTS)
    is_known = counts.is_not_null().all()
    total = pl.when(is_known).then(counts.sum())
    of_runs = rows.filter(~is_pair).group_by("run").agg(total)
    runs = of_runs.sort(order[0]).select(*OF_RUNS)
    return Overlap(table.give(pairs), table.give(runs), {"runs": names})


@dataclass(frozen=True)
class OverlapOfPart:
    """The overlap of runs in a part of a table.

    A row per pair of runs, with sums over its queries, and a row per run, which counts documents.
    """

    runs: Runs
    names: tuple[str, ...]
    k: int | None

    def __call__(self, part: Table[Any]) -> pl.DataFrame:
        setup = part.setup
        names = self.names
        k = self.k
        depth = setup.policies.depth
        entries = entries_of(part.rows, setup, self.runs, names, depth=depth, absent=False)
        ranks = _ranks(entries)
        last = math.inf if k is None else k + 1
        top = ranks < last
        rows = []
        for a, b in combinations(range(len(names)), 2):
            in_common = _in_common(entries.query, ranks, top, (a, b), k)
            rows.append((names[a], names[b], *in_common))
        of_pairs = pl.DataFrame(rows, schema=PAIRS, orient="row")
        of_runs = _of_runs(entries, top, names, setup)
        return pl.concat([of_pairs, of_runs], how="diagonal")


def _ranks(entries: Entries) -> Floats:
    """The rank of each document in each run; infinite in a run that lacks it."""
    ranks = np.full((entries.documents.height, entries.n_runs), math.inf)
    rows = entries.rows.select("#document", "#run", "#rank").collect(engine="in-memory")
    document = rows["#document"].to_numpy()
    run = rows["#run"].to_numpy()
    ranks[document, run] = rows["#rank"].to_numpy()
    return ranks


def _in_common(
    query: Integers, ranks: Floats, top: Booleans, pair: tuple[int, int], k: int | None
) -> tuple[float, float, float, int]:
    """Of two runs, the sums over queries of overlap, Jaccard index and rank-biased overlap.

    And the number of queries.
    """
    a, b = pair
    columns: dict[str, Any] = {"query": query, "document": np.arange(len(query))}
    columns |= {"one": -ranks[:, a], "other": -ranks[:, b]}
    rows = pl.DataFrame(columns)
    scores = pl.col("one", "other")
    rows = rows.with_columns(pl.when(scores.is_finite()).then(scores))
    rows = rows.filter(pl.any_horizontal(scores.is_not_null()))
    overlap_at_k = call_of(AGREEMENTS["overlap"], (), {"k": k})
    rbo = call_of(AGREEMENTS["rbo"], (), {})
    of_rows = Setup(Roles(query=("query",), doc="document", score="one"))
    compared = call_of_verb(agreement, "other", overlap_at_k, rbo)
    values = compared.on(in_memory(rows, of_rows))
    top_a = top[:, a]
    top_b = top[:, b]
    n_common = np.bincount(query[top_a & top_b])
    n_either = np.bincount(query[top_a | top_b])
    n_lacking = len(n_either) - len(n_common)
    n_common = np.pad(n_common, (0, n_lacking))
    has_any = n_either > 0
    jaccard = n_common[has_any] / n_either[has_any]
    sum_of_overlaps = values[overlap_at_k.text].sum()
    sum_of_rbo = values[rbo.text].sum()
    return float(sum_of_overlaps), float(jaccard.sum()), float(sum_of_rbo), values.height


def _of_runs(entries: Entries, top: Booleans, names: Sequence[str], setup: Setup) -> pl.DataFrame:
    """A row per run: how many documents it retrieves, and how many only it retrieves."""
    documents = entries.documents
    label = setup.roles.label
    counts = [names, *_counts(top)]
    if label in documents.columns:
        require_number(documents.schema, label, "label")
        relevant = pl.col(label).cast(pl.Float64) >= setup.policies.relevant
        is_relevant = documents.select(relevant.fill_null(False)).to_series()
        counts += _counts(top[is_relevant.to_numpy()])
    else:
        counts += [[None] * len(names)] * 2
    return pl.DataFrame(dict(zip(OF_RUNS, counts, strict=True)), schema=OF_RUNS)


def _counts(top: Booleans) -> tuple[list[int], list[int]]:
    """The number of documents of each run, and of documents that no other run has."""
    alone = top & (top.sum(axis=1, keepdims=True) == 1)
    return top.sum(axis=0).tolist(), alone.sum(axis=0).tolist()


def _both(row: Mapping[str, Any], quotes: tuple[str, str]) -> str:
    """The names of two runs."""
    return f"{quoted(row['run'], quotes)} and {quoted(row['other'], quotes)}"


def _jaccard(row: Mapping[str, Any]) -> float:
    """The Jaccard index of two runs."""
    return float(row["jaccard"])


def _share(row: Mapping[str, Any]) -> str:
    """The Jaccard index of two runs as a percentage; one below 10% with a decimal."""
    percentage = 100 * row["jaccard"]
    return f"{percentage:.1f}%" if 0 < percentage < 10 else f"{percentage:.0f}%"


ORACLE = "oracle"
"""The name of the oracle among the runs."""

TABLE = {
    "metric": "metric",
    "run": "baseline",
    "mean": "baseline_mean",
    "oracle": "mean",
    "gain": "difference",
    "ci_low": "ci_low",
    "ci_high": "ci_high",
    "interval": "interval",
    "better": "wins",
    "n_queries": "n_queries",
}
"""The columns of the table, by the names that a comparison with each run as the baseline gives
them."""


@dataclass(frozen=True, repr=False)
class Oracle(Result[R_co]):
    """The gain of choosing the best run for each query.

    Attributes
    ----------
    table
        A row per metric and run, the fusion last: ``metric``, ``run``, ``mean`` (of the run) and
        ``oracle`` (the mean of the best run of each query, over the queries where the run has a
        value), ``gain`` (the oracle less the run), its interval from ``ci_low`` to ``ci_high``, all
        Float64, and its kind, ``interval``; on how many queries the oracle is better, ``better``,
        and how many have a value, ``n_queries`` (UInt32).
    per_query
        A row per run and query, of the runs, the fusion and the oracle: the query, ``run``, and a
        column per metric.
    settings
        How it was computed: the metrics, the runs, the fusion, the interval, the policies, the
        versions.
    """

    table: R_co
    per_query: R_co
    settings: Mapping[str, Any]

    def sentences(self, quotes: Quotes = IN_TEXT) -> list[str]:
        """A sentence per metric: the gain of each query's best run over a run and the fusion."""
        rows = [row for row in records(self.table) if row["mean"] is not None]
        return [self._sentence(metric, rows, quotes) for metric in self.settings["metrics"]]

    def _sentence(self, metric: str, rows: Sequence[Record], quotes: Quotes) -> str:
        """The gain over the best single run, and over the fusion, by a metric."""
        fusion = self.settings["fusion"]
        of_metric = [row for row in rows if row["metric"] == metric]
        single = [row for row in of_metric if row["run"] != fusion]
        if not single:
            return f"No query has a value of {metric}"
        best = best_of(single)
        gain = estimated(best, "gain").line
        gains = [f"{gain} over {quoted(best['run'], quotes)}, the best single run"]
        for row in of_metric:
            if row["run"] == fusion:
                gain = estimated(row, "gain").line
                gains.append(f"{gain} over the fusion {quoted(fusion, quotes)}")
        says = f"{metric} would be {best['oracle']:.3f} with the best run of each query"
        return f"{says}: {', and '.join(gains)}"

    def grids(self, most: int | None = MOST_ROWS) -> list[Grid]:
        """A row per metric and run."""
        rows = records(self.table)
        intervals = intervals_of(row["interval"] for row in rows)
        note = (
            "oracle: each query's best run, which only the labels tell; gain: the oracle less the "
            f"run; better: on how many queries. Interval: {intervals}."
        )
        notes = (note, *left_out(self, rows, most))
        named = "metric", "run"
        figures = "mean oracle gain better"
        cells = {"better": of_all}
        return [grid(self, rows, named, figures, notes, most, cells=cells)]


def of_all(row: Record, name: str) -> Cell:
    """On how many of all queries."""
    return Cell(f"{row[name]:,} of {row['n_queries']:,}", row[name])


@verb(gives="whole", among=METRICS, watched=True, by_parts=True, usual={"resamples": 10_000})
def oracle(
    table: Table[R],
    *metrics: Request,
    fusion: FusionMethod | None = "rrf",
    interval: Interval = "auto",
    weights: Column | None = None,
    **options: Unpack[IntervalsOfRuns],
) -> Oracle[R]:
    """The gain of choosing the best run for each query, over each single run and over a fusion.

    The oracle knows the labels, so no rule that chooses one run for each query has a higher mean. A
    fusion, which mixes the documents of the runs, may have a higher mean.

    Parameters
    ----------
    *metrics
        Texts and functions, as for :meth:`evaluate`.
    runs, run
        The runs, as for :meth:`fuse`.
    fusion
        The method that fuses them, with its options, or a trained one, as for :meth:`fuse`;
        ``None`` for no fusion.
    ci
        The confidence of the interval of each gain.
    interval, weights, resamples, seed, progress
        As for :meth:`summarize`.
    missing
        Queries that a run lacks, as for :meth:`compare`.

    Returns
    -------
    An object that shows the result in a sentence per metric and a table; its tables are frames of
    the caller's kind. Of a LazyFrame only the values per query are held in memory.

    - ``table`` has a row per metric and run, the fusion last: ``metric``, ``run``, ``mean`` (of the
      run) and ``oracle`` (the mean of each query's best run, over the queries where the run has a
      value), ``gain`` (the oracle less the run; at most 0 for metrics where less is better, except
      over a fusion), its interval from ``ci_low`` to ``ci_high``, all Float64, and its kind,
      ``interval``; on how many queries the oracle is better, ``better``, and how many queries have
      a value, ``n_queries`` (UInt32).
    - ``per_query`` has a row per run and query, also of the fusion and of the ``"oracle"``: the
      query, ``run``, and a Float64 column per metric.
    - ``settings`` is a dictionary of how it was computed.

    The intervals are those of :meth:`compare`. There are no p-values: the oracle is never worse
    than a run that it chooses from.

    Raises
    ------
    InvalidOption
        If there are fewer than two runs, or a run has the name ``"oracle"`` or that of the fusion.
    InvalidData
        If a run lacks queries and `missing` is ``"error"``.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame({"query_id": [1, 1, 2, 2], "doc_id": list("abab"), "label": [1, 0, 1, 0],
    ...                    "bm25": [2, 1, 1, 2], "dense": [1, 2, 2, 1]})  # each is right once
    >>> found = df.rank.fusion.oracle("rr", runs=["bm25", "dense"], fusion=None).table
    >>> found["run"].to_list(), found["mean"].to_list(), found["gain"].to_list()
    (['bm25', 'dense'], [0.75, 0.75], [0.25, 0.25])
    """
    design = Design(runs_of(options), None, (), weights, options.get("missing", "error"))
    resampling = Resampling.of(options, interval)
    calls = averaged(metrics, "oracle('ndcg@10', runs=['bm25', 'dense'])", of_rankings=True)
    paired = paired_values(table, calls, design)
    singles = paired.runs
    best = _best(paired.values, calls)
    name_of_fusion = None
    if fusion is not None:
        name_of_fusion = text_of(fusion)
        paired = _with(paired, name_of_fusion, _of_fusion(table, design, fusion, paired))
    paired = _with(paired, ORACLE, best)
    last = len(paired.runs) - 1
    pairs = [(run, last) for run in range(last)]
    (every_query,) = paired.slices
    estimation = Estimation.by(interval, resampling)
    with Progress("comparing runs", resampling.progress) as bar:
        figures = compared_values(paired, every_query, pairs, estimation, bar)
    warn_of_t(figures, resampling)
    columns = [pl.col(other).alias(name) for name, other in TABLE.items()]
    figures = figures.select(columns)
    settings = {**design.settings, "fusion": name_of_fusion, "runs": singles}
    return Oracle(table.give(figures), table.give(paired.long()), settings)


def _best(values: Floats, calls: Sequence[Call]) -> Floats:
    """The best value of the runs for each query and metric; NaN where none has one."""
    sign = np.array([1.0 if call.higher_is_better else -1.0 for call in calls])
    best: Floats = sign * np.fmax.reduce(sign * values)
    return best


def _with(paired: PairedValues, name: str, values: Floats) -> PairedValues:
    """The values, with one more run."""
    if name in paired.runs:
        says = f"a run has the name {name!r}, which names a row of the result"
        raise InvalidOption(f"{says}; rename the run")
    of_runs = np.concatenate([paired.values, values[None]])
    return replace(paired, runs=[*paired.runs, name], values=of_runs)


@dataclass(frozen=True)
class FusedValues:
    """The values of a fused run in a part of a table: a row per query."""

    fusion: str | FittedFusion[object]
    runs: Runs
    names: tuple[str, ...]
    calls: Sequence[Call]
    largest_label: float | None = None

    def __call__(self, part: Table[Any]) -> pl.DataFrame:
        runs = self.runs
        rows = Table[pl.DataFrame](part.rows, part.setup, Whole(runs=self.names))
        fused = fuse(rows, self.fusion, runs=runs.scores or None, run=runs.column)
        of_fused = setup_of_fused(part.setup, runs)
        return measure(fused, of_fused, *self.calls, largest_label=self.largest_label)


def setup_of_fused(setup: Setup, runs: Runs) -> Setup:
    """The setup of the fused run of a table."""
    return runs.queries(setup).changed(score=SCORE, ascending=False)


def _of_fusion(
    table: Table[Any], design: Design, fusion: str | FittedFusion[object], paired: PairedValues
) -> Floats:
    """The values of the fused run for the same queries; NaN where it has none."""
    runs = design.runs
    calls = paired.calls
    work = FusedValues(fusion, runs, tuple(paired.runs), calls)
    of_fused = setup_of_fused(table.setup, runs)
    schema = pl.Schema({**table.rows.schema, SCORE: pl.Float64()})
    if table.parts is not None and needs_largest_label(of_fused, schema, calls):
        of_labels = replace(work, calls=[LARGEST])
        labels = table.by_parts(of_labels)[LARGEST.text]
        largest = max(labels.drop_nulls(), default=0)
        work = replace(work, largest_label=float(largest))
    queries = paired.queries[paired.query]
    of_fusion = table.by_parts(work)
    values = left_joined(queries, of_fusion, paired.query)
    return numbers_in(values, calls)
