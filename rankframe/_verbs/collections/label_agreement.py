"""How far judges agree, and whether runs have the same order under each."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations, product
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, TypeVar

import polars as pl

from ..._catalog.call import Call
from ..._catalog.requests import Request, averaged, refuse_geometric
from ..._plan.rank_order import numbered
from ..._results.columns import figure, grid, schema, table_in
from ..._results.grid import Grid, Record, interval, left_out, percent, records
from ..._results.result import MOST_ROWS, Result
from ..._results.sentences import IN_TEXT, Quotes, quoted
from ..._statistics.agreement import (
    PENALTIES,
    alpha,
    coincidences,
    corrected_share,
    kappa,
    kendall,
    quotient,
)
from ..._support.draws import Statistic, resampled
from ..._support.floats import Booleans, Floats, Integers, np
from ..._support.option_kinds import Column
from ..._support.progress import Progress
from ..._table.roles import require, require_number
from ..._table.runs import RUN, Runs, TheRuns
from ..._table.setup import Setup
from ..._table.shared_options import IntervalsOfRuns, Lacking, runs_of
from ..._table.table import Table, in_memory
from ...errors import Code, InvalidData, InvalidOption
from ..call.declaration import verb
from ..measure.evaluate import ranks_of
from ..measure.paired_values import Design, differences, paired_values
from ..sample.judged import has_label
from ..sample.resampling import Resampling
from ..sample.slices import in_slices

if TYPE_CHECKING:
    from typing import Unpack

R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)

PAIR = ("judge", "other")
TABLE = schema("judge other measure value ci_low ci_high n_documents n_queries")
CONFUSION = schema("judge other label other_label n_documents")
BIAS = schema("judge other run ranks bias ci_low ci_high n_documents")
OF_RUNS = schema("judge metric run mean n_queries")
FLIPS = schema("judge other baseline run difference other_difference")

KAPPAS = {"plain": "kappa", "linear": "kappa_linear", "quadratic": "kappa_quadratic"}
MEASURES = (
    "agreement",
    *KAPPAS.values(),
    "alpha",
    "bias",
    "specificity",
    "sensitivity",
    "relevant",
    "relevant_corrected",
)

RANKS = (1, 5, 10, 20, 100)
PARTS = ("1", "2-5", "6-10", "11-20", "21-100", "101-", "all")
"""The parts of a ranking for which bias is shown, and the last rank of each."""

MOST_GRADES = 50
"""The most different labels that count as grades."""


@dataclass(frozen=True, repr=False)
class LabelAgreement(Result[R_co]):
    """The agreement of judges.

    Attributes
    ----------
    table
        A row per pair of judges and measure: ``judge``, ``other``, ``measure`` (as
        :meth:`label_agreement` lists them), ``value`` with its interval from ``ci_low`` to
        ``ci_high`` (Float64; null where undefined), ``n_documents`` that both judged (null for
        Kendall's tau) and ``n_queries`` (UInt32). Of three judges or more, ``"alpha"`` of all has
        null in ``judge`` and ``other``.
    confusion
        A row per pair of judges and of labels: ``label`` of the judge, ``other_label`` and
        ``n_documents`` that have both.
    bias
        A row per pair of judges, run and part of the ranking, ``ranks`` such as ``"2-5"`` or
        ``"all"``: ``bias``, the mean of the other's label less the judge's over the retrieved
        documents that both judged, with its interval, and ``n_documents``.
    runs
        A row per judge and run: the ``mean`` of the ``metric`` under the judge's labels, over
        ``n_queries``.
    flips
        A row per pair of judges and of runs whose order differs under both: ``difference`` is the
        mean of ``run`` less that of ``baseline`` under the judge, ``other_difference`` under the
        other.
    settings
        How it was computed.
    """

    table: R_co
    confusion: R_co
    bias: R_co
    runs: R_co
    flips: R_co
    settings: Mapping[str, Any]

    def sentences(self, quotes: Quotes = IN_TEXT) -> list[str]:
        """How far each pair of judges agrees, how labels differ, and the order of the runs."""
        pairs: dict[tuple[str, str], dict[str, str]] = {}
        for row in records(self.table):
            if row["judge"] is not None and row["value"] is not None:
                of_pair = pairs.setdefault((row["judge"], row["other"]), {})
                of_pair[row["measure"]] = _with_interval(row)
        n_flips = Counter((row["judge"], row["other"]) for row in records(self.flips))
        lines = []
        for pair, shown in pairs.items():
            judge = quoted(pair[0], quotes)
            other = quoted(pair[1], quotes)
            if {"kappa", "alpha"} <= {*shown}:
                lines.append(
                    f"Labels of {other} against those of {judge}: kappa {shown['kappa']}, alpha "
                    f"{shown['alpha']}, mean difference {shown['bias']}"
                )
            if "kendall_tau" in shown:
                lines.append(
                    f"Kendall tau of the runs on {self.settings['metrics'][0]} under {judge} and "
                    f"{other}: {shown['kendall_tau']}; {n_flips[pair]:,} pairs of runs change "
                    "their order"
                )
        return lines or ["No document has labels of two judges"]

    def grids(self, most: int | None = MOST_ROWS) -> list[Grid]:
        """The measures, the bias on each run, and the pairs of runs that change their order."""
        rows = records(self.table)
        named = [
            {**row, "judge": row["judge"] or "all", "other": row["other"] or "all"} for row in rows
        ]
        # One note tells the intervals of all columns.
        heads = {name: name for name in ("value", "bias", "difference")}
        cells = {"difference": figure}
        less = "bias: the label of the other less that of the first"
        tables = [
            (
                named,
                ("measure",),
                "value n_documents n_queries",
                f"{less}. Intervals of {percent(self.settings)}, over resampled queries.",
            ),
            (
                records(self.bias),
                ("run", "ranks"),
                "bias n_documents",
                f"{less}, of the documents at these ranks.",
            ),
            (
                records(self.flips),
                ("baseline", "run"),
                "difference other_difference",
                "Pairs of runs in another order: the mean of the run less that of the baseline, "
                "under both judges.",
            ),
        ]
        grids = []
        for table, names, figures, note in tables:
            notes = [note]
            if table is named:
                notes += left_out(self, named, most)
            if table:
                words = (*PAIR, *names)
                shown = grid(self, table, words, figures, notes, most, heads=heads, cells=cells)
                grids.append(shown)
        return grids


def _with_interval(row: Record) -> str:
    """A value and its interval; a difference has a sign."""
    sign = "+" if row["measure"] == "bias" else ""
    ends = interval(row["ci_low"], row["ci_high"], 2)
    return f"{row['value']:{sign}.2f}{ends}"


def _runs(
    tables: Any = None,
    judge: str | None = None,
    runs: TheRuns | None = None,
    run: str | None = None,
) -> Runs:
    """The runs of a call; or its judges, if each has a table, or rows of one."""
    n_given = sum(given is not None for given in (tables, judge, runs, run))
    if n_given > 1 and not (tables is None and judge is None):
        raise InvalidOption(
            "judges have tables, rows or columns, and runs go with columns; name them in one way"
        )
    in_columns = runs if tables is None else tables
    in_rows = run if judge is None else judge
    return Runs.of(in_columns, in_rows)


@verb(gives="whole", runs=_runs)
def label_agreement(
    table: Table[R],
    *labels: Column,
    tables: Mapping[Column, object] | None = None,
    judge: Column | None = None,
    metric: Request = "ndcg@10",
    **options: Unpack[IntervalsOfRuns],
) -> LabelAgreement[R]:
    """How far judges agree, such as people and a model: kappa, alpha, bias, and the order of the
    runs under each.

    The labels of a judge are a column, or a table of its own (`tables`), or the rows that name the
    judge (`judge`). Documents are compared that both judges of a pair judged; null and negative
    labels are none.

    Parameters
    ----------
    *labels
        The columns of labels, two or more, as ``"label", "label_llm"``; people's first, against
        which the others are measured.
    tables
        Instead: a table of judgments for each judge, including the table of `.rank`: ``{"people":
        qrels, "llm": qrels_llm}``.
    judge
        Instead: the column that names the judge of each row.
    metric
        The metric of the runs, as text or function, as for :meth:`evaluate`. It reads all labels of
        a judge, on the queries of which every judge judged a document.
    runs, run, missing
        The runs, as for :meth:`compare`. Without them, bias by rank is that of the ranker's scores,
        if the table has these.
    resamples, seed, progress
        As for :meth:`summarize`; a query is resampled with all its documents.

    Returns
    -------
    A :class:`rankframe.results.LabelAgreement`, whose ``table``, ``confusion``, ``bias``, ``runs``
    and ``flips`` are frames of the caller's kind. A LazyFrame is collected first. ``table`` has
    these measures:

    - ``"agreement"``: the share of documents with equal labels.
    - ``"kappa"``, ``"kappa_linear"``, ``"kappa_quadratic"``: Cohen's kappa, where a disagreement
      weighs 1, or the number of grades between both labels, or its square. Grades are the labels
      that occur, in order.
    - ``"alpha"``: Krippendorff's alpha for ordered grades.
    - ``"bias"``: the mean of the other's label less the judge's.
    - ``"specificity"`` and ``"sensitivity"``: the shares of the judge's nonrelevant and relevant
      documents that the other calls so.
    - ``"relevant"``: the share of all documents of the other that it calls relevant;
      ``"relevant_corrected"``: the share that the judge would, (p + q0 - 1) / (q0 + q1 - 1), cut to
      0 to 1, with that share p, the specificity q0 and the sensitivity q1.
    - ``"kendall_tau"``: Kendall's tau-b of the runs' means under both judges, if there are two runs
      or more.

    Raises
    ------
    InvalidOption
        If there are fewer than two judges, or their labels are no grades; if the metric has a
        geometric mean, or one of ratios of clicks.
    InvalidData
        If a document has several labels of one judge.

    References
    ----------
    J. Cohen (1968), Weighted kappa, Psychological Bulletin 70. K. Krippendorff (2011), Computing
    Krippendorff's alpha-reliability. W. J. Rogan, B. Gladen (1978), Estimating prevalence from the
    results of a screening test, American Journal of Epidemiology 107. E. M. Voorhees (2000),
    Variations in relevance judgments and the measurement of retrieval effectiveness, IP&M 36.

    Examples
    --------
    Of four documents, the model gives three the label of people; it misses one of the two relevant
    ones:

    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame({"query_id": [1, 1, 2, 2], "doc_id": list("abab"),
    ...     "label": [1, 1, 0, 0], "llm": [1, 0, 0, 0]})
    >>> found = df.rank.collection.label_agreement("label", "llm").table
    >>> dict(zip(found["measure"].to_list()[:2], found["value"].to_list()[:2]))
    {'agreement': 0.75, 'kappa': 0.5}
    >>> people = pl.DataFrame({"query_id": [1, 1], "doc_id": ["a", "b"], "label": [1, 0]})
    >>> llm = pl.DataFrame({"query_id": [1, 1], "doc_id": ["a", "c"], "label": [1, 1]})
    >>> # both judged document a
    >>> found = people.rank.collection.label_agreement(tables={"people": people, "llm": llm}).table
    >>> int(found["value"][0]), int(found["n_documents"][0])
    (1, 1)
    """
    chosen = runs_of(options)
    setup = table.setup
    of_rows = tables is not None or judge is not None
    has_runs = not of_rows and bool(chosen.columns)
    example = (
        "collection.label_agreement('label', 'label_llm', metric='ndcg@10', runs=['bm25', 'ltr'])"
    )
    of_runs = setup if has_runs else None
    calls = refuse_geometric(averaged([metric], example, of_runs))
    chosen.require(table.rows, setup)
    names = chosen.names(table.rows) if of_rows else [*dict.fromkeys(labels)]
    _refuse_few(names)
    label = setup.roles.label
    columns = [label] if of_rows else names
    cleaned = [_cleaned(table.rows, name) for name in columns]
    frame = table.rows.with_columns(cleaned)
    labels_of = {name: pl.col(name) for name in columns}
    if of_rows:
        judge_of_row = pl.col(chosen.column or "").cast(pl.String)
        labels_of = {name: pl.col(label).filter(judge_of_row == name) for name in names}
    resampling = Resampling.of(options)
    measures: list[Row] = []
    confusion: list[Row] = []
    with Progress("resampling queries", resampling.progress) as step:
        study = Study(frame, setup, chosen, resampling, step)
        documents, number = study.by_document(labels_of)
        for pair in combinations(names, 2):
            measured, cells = study.of_pair(documents, number, *pair)
            measures += measured
            confusion += cells
        biases = [] if of_rows else study.biases(names)
        orders = Orders([], [], [], [])
        if has_runs:
            missing = options.get("missing", "error")
            orders = study.orders(names, calls, missing)
        of_all = study.of_all(documents, number) if len(names) > 2 else []
    return LabelAgreement(
        table.give(table_in([*of_all, *measures, *orders.taus], TABLE)),
        table.give(table_in(confusion, CONFUSION)),
        table.give(table_in(biases, BIAS)),
        table.give(table_in(orders.means, OF_RUNS)),
        table.give(table_in(orders.flips, FLIPS)),
        {"judges": names, "runs": orders.runs},
    )


def _refuse_few(names: Sequence[str]) -> None:
    """Refuse fewer than two judges."""
    if len(names) < 2:
        says = (
            "collection.label_agreement compares two columns of labels or more, or the labels of "
            "two judges in one column; name the columns, as "
        )
        raise InvalidOption(says, Code("df.rank.collection.label_agreement('label', 'label_llm')"))


def _cleaned(frame: pl.DataFrame, name: str) -> pl.Expr:
    """A judge's labels as numbers, null where there is none."""
    require(frame.schema, name, "label")
    require_number(frame.schema, name, "label")
    label = pl.col(name).cast(pl.Float64)
    if not frame.select(label.is_finite().all()).item():
        raise InvalidData(
            f"column {name!r} holds a label that is NaN or infinite; make it null where there "
            "is none"
        )
    return pl.when(has_label(name)).then(label).alias(name)


Row: TypeAlias = tuple[object, ...]
Labels: TypeAlias = Mapping[str, Floats]
"""The labels of documents by judge, NaN for none."""


class Orders(NamedTuple):
    """The runs, and rows of their means, of pairs in another order, and of Kendall's tau."""

    runs: list[str]
    means: list[Row]
    flips: list[Row]
    taus: list[Row]


@dataclass(frozen=True)
class Study:
    """A table with labels of several judges, its runs, and how intervals are computed."""

    frame: pl.DataFrame
    setup: Setup
    runs: Runs
    resampling: Resampling
    step: Progress

    @property
    def query(self) -> list[str]:
        """The query columns."""
        of_queries = self.runs.queries(self.setup)
        return [*of_queries.roles.query]

    def estimates(self, statistic: Statistic, columns: Floats) -> list[Row]:
        """Statistics of the sums of columns, with their intervals; NaN where undefined.

        The columns have a row per query.
        """
        totals = columns.sum(axis=0, keepdims=True)
        of_table = statistic([totals])[0]
        draws = np.full((1, len(of_table)), np.nan)
        if len(columns) > 1:
            # In this order the draws are the same for any order of the rows.
            columns = columns[np.lexsort(columns.T)]
            how = (self.resampling.resamples, self.resampling.seed, self.step)
            draws = resampled(statistic, [columns], *how)
        rows: list[Row] = []
        for value, of_column in zip(of_table, draws.T, strict=True):
            known = of_column[~np.isnan(of_column)]
            ends = [math.nan, math.nan]
            if len(known):
                ends = np.quantile(known, self.resampling.ends).tolist()
            rows.append((float(value), *ends))
        return rows

    def by_document(self, labels: Mapping[str, pl.Expr]) -> tuple[Labels, Integers]:
        """The labels of each document and the number of its query.

        Without a column of documents, each row is one.
        """
        doc = self.setup.roles.doc_in(self.frame.columns)
        key = [*self.query, *([] if doc is None else [doc])]
        for name in key:
            require(self.frame.schema, name, "doc" if name == doc else "query")
        of_document = key if doc else "#row"
        rows = self.frame.with_row_index("#row")
        ids = pl.struct(key).first().alias("#key")
        different = [
            label.drop_nulls().unique(maintain_order=True).alias(f"#{name}")
            for name, label in labels.items()
        ]
        documents = rows.group_by(of_document, maintain_order=True).agg(ids, *different)
        for name in labels:
            _refuse_several(documents, name)
        arrays = {name: documents[f"#{name}"].list.first().to_numpy() for name in labels}
        queries = documents["#key"].struct.unnest()[self.query]
        number = numbered(queries).number
        return arrays, number.astype(np.int64)

    def of_pair(
        self, labels: Labels, number: Integers, judge: str, other: str
    ) -> tuple[list[Row], list[Row]]:
        """The measures of two judges, and how many documents have each two labels."""
        mine = labels[judge]
        theirs = labels[other]
        is_theirs = ~np.isnan(theirs)
        both = ~np.isnan(mine) & is_theirs
        relevant = self.setup.policies.relevant
        grades = _grades([mine[both], theirs[both]])
        n = len(grades)
        n_queries = number.max(initial=-1) + 1
        row = np.searchsorted(grades, mine[both])
        column = np.searchsorted(grades, theirs[both])
        cells = np.zeros((n_queries, n * n))
        cell = row * n + column
        np.add.at(cells, (number[both], cell), 1)
        of_other = [
            np.bincount(number[is_counted], minlength=n_queries)
            for is_counted in (is_theirs, theirs >= relevant)
        ]
        statistic = partial(_measures, grades=grades, relevant=relevant)
        sums = np.column_stack([cells, *of_other]).astype(np.float64)
        estimates = self.estimates(statistic, sums)
        sizes = (int(both.sum()), len(np.unique(number[both])))
        named = zip(MEASURES, estimates, strict=True)
        measures: list[Row] = [(judge, other, name, *figures, *sizes) for name, figures in named]
        n_documents = cells.sum(axis=0).astype(int)
        counts = zip(product(grades, grades), n_documents, strict=True)
        return measures, [(judge, other, *two_labels, count) for two_labels, count in counts]

    def of_all(self, labels: Labels, number: Integers) -> list[Row]:
        """Krippendorff's alpha of all judges."""
        given = np.array([*labels.values()])
        is_given = ~np.isnan(given)
        grades = _grades([given[is_given]])
        n = len(grades)
        has_several = is_given.sum(axis=0) > 1
        number = number[has_several]
        place = np.searchsorted(grades, given)
        places = np.where(is_given, place, np.nan)
        cells = coincidences(places[:, has_several], n)
        sums = np.zeros((number.max(initial=-1) + 1, n * n))
        np.add.at(sums, number, cells.reshape(len(number), n * n))
        statistic = partial(_alpha, n=n)
        (estimate,) = self.estimates(statistic, sums)
        return [(None, None, "alpha", *estimate, len(number), len(np.unique(number)))]

    def biases(self, names: Sequence[str]) -> list[Row]:
        """The bias of each judge against one before, by run and part of the ranking."""
        if not self.runs.columns and self.setup.roles.score not in self.frame.columns:
            return []
        ids = dict.fromkeys([*self.runs.key, *self.query])
        labels = [pl.col(name).alias(f"#label {name}") for name in names]
        rows = self.frame.select(*ids, *labels)

        def of_run(run: Setup) -> pl.DataFrame:
            ranks = ranks_of(self.frame, run, "#rank")
            return rows.hstack(ranks).drop_nulls("#rank")

        ranked = self.runs.each(self.frame, self.setup, of_run)
        biases: list[Row] = []
        for run, documents in in_slices(ranked, [RUN]).items():
            rank = documents["#rank"].to_numpy()
            part = np.searchsorted(RANKS, rank)
            number = numbered(documents[self.query]).number
            for judge, other in combinations(names, 2):
                less = documents[f"#label {other}"] - documents[f"#label {judge}"]
                by_part = self._by_part(less.to_numpy(), number, part)
                biases += [(judge, other, *run, *figures) for figures in by_part]
        return biases

    def _by_part(self, less: Floats, number: Any, part: Any) -> list[Row]:
        """The mean difference of labels in each part of a ranking, with its interval."""
        known = ~np.isnan(less)
        n_queries = number.max() + 1
        sums = np.zeros((n_queries, 2, len(PARTS)))
        of_all_ranks = np.full(known.sum(), len(PARTS) - 1)
        query = number[known]
        for place in (part[known], of_all_ranks):
            np.add.at(sums[:, 0], (query, place), less[known])
            np.add.at(sums[:, 1], (query, place), 1)
        means = self.estimates(_quotients, sums.reshape(len(sums), -1))
        n_documents = sums[:, 1].sum(axis=0).astype(int).tolist()
        figures = zip(PARTS, means, n_documents, strict=True)
        return [(ranks, *mean, n) for ranks, mean, n in figures if n]

    def orders(self, names: Sequence[str], calls: Sequence[Call], missing: Lacking) -> Orders:
        """The orders of the runs under each judge, on the queries that all judged."""
        judged = [pl.col(name).is_not_null().any().over(self.query) for name in names]
        frame = self.frame.filter(pl.all_horizontal(judged))
        if frame.is_empty():
            return Orders([], [], [], [])
        design = Design(self.runs, None, (), None, missing)
        under = [
            paired_values(in_memory(frame, self.setup.changed(label=name)), calls, design)
            for name in names
        ]
        runs = under[0].runs
        # Judges by queries by runs.
        values = np.stack([paired.values[..., 0].T for paired in under])
        has_all = ~np.isnan(values).any(axis=(0, 2))
        values = values[:, has_all]
        n = values.shape[1]
        means = values.sum(axis=1) / (n or math.nan)
        orders = Orders(runs, [], [], [])
        for (judge, run), mean in zip(product(names, runs), means.ravel(), strict=True):
            orders.means.append((judge, calls[0].text, run, mean, n))
        for i, j in combinations(range(len(names)), 2):
            pair = (names[i], names[j])
            (tau,) = self.estimates(_kendall, np.hstack([values[i], values[j]]))
            orders.taus.append((*pair, "kendall_tau", *tau, None, n))
            for a, b in combinations(range(len(runs)), 2):
                gain, other_gain = differences(means[[i, j], a], means[[i, j], b])
                if gain * other_gain < 0:
                    orders.flips.append((*pair, runs[a], runs[b], gain, other_gain))
        return orders


def _refuse_several(documents: pl.DataFrame, judge: str) -> None:
    """Refuse a judge who gives a document several labels."""
    several = documents.filter(pl.col(f"#{judge}").list.len() > 1)
    if several.height:
        where = " ".join(map(str, several["#key"][0].values()))
        raise InvalidData(
            f"{judge} gives {several.height:,} documents several labels, as {where}; keep one"
        )


def _measures(sums: list[Floats], grades: Floats, relevant: float) -> Floats:
    """The measures of two judges.

    The sums count documents: by pair of labels, then those that the other judged, and those that it
    calls relevant.
    """
    (counts,) = sums
    n = len(grades)
    cells = counts[:, : n * n].reshape(len(counts), n, n)
    total = cells.sum(axis=(1, 2))
    equal = quotient((cells * np.eye(n)).sum(axis=(1, 2)), total)
    less = grades - grades[:, None]
    bias = quotient((cells * less).sum(axis=(1, 2)), total)
    kappas = [kappa(cells, penalty) for penalty in PENALTIES]
    of_grades = alpha(cells + cells.swapaxes(1, 2))
    is_relevant = grades >= relevant
    specificity = _called_alike(cells, ~is_relevant)
    sensitivity = _called_alike(cells, is_relevant)
    share = quotient(counts[:, -1], counts[:, -2])
    corrected = corrected_share(share, specificity, sensitivity)
    shares = [specificity, sensitivity, share, corrected]
    return np.stack([equal, *kappas, of_grades, bias, *shares], axis=1)


def _called_alike(cells: Floats, grades: Booleans) -> Floats:
    """Of the judge's documents with some grades, the share to which the other gives one of them."""
    of_judge = cells[:, grades]
    n_of_judge = of_judge.sum((1, 2))
    n_alike = of_judge[:, :, grades].sum((1, 2))
    return quotient(n_alike, n_of_judge)


def _alpha(sums: list[Floats], n: int) -> Floats:
    (cells,) = sums
    return alpha(cells.reshape(len(cells), n, n))[:, None]


def _quotients(sums: list[Floats]) -> Floats:
    totals, counts = np.split(sums[0], 2, axis=1)
    return quotient(totals, counts)


def _kendall(sums: list[Floats]) -> Floats:
    first, second = np.split(sums[0], 2, axis=1)
    return kendall(first, second)[:, None]


def _grades(labels: Sequence[Floats]) -> Floats:
    """The different labels in order."""
    grades = np.unique(np.concatenate(labels))
    if len(grades) > MOST_GRADES:
        raise InvalidOption(
            f"judges gave {len(grades):,} different labels, which are no grades; round them"
        )
    return grades
