"""How far judges agree, which runs one of them favours, and whether the runs have the same order
under each.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, combinations, product
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

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
from ..._support.floats import Floats, Integers, np
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
        """For each pair of judges: how far they agree, how their labels differ, and the order of
        the runs.
        """
        pairs: dict[tuple[str, str], dict[str, Record]] = {}
        for row in records(self.table):
            if row["judge"] is not None and row["value"] is not None:
                pairs.setdefault((row["judge"], row["other"]), {})[row["measure"]] = row
        lines, flips = [], [(row["judge"], row["other"]) for row in records(self.flips)]
        for (judge, other), found in pairs.items():
            turned, judge, other = (
                flips.count((judge, other)),
                quoted(judge, quotes),
                quoted(other, quotes),
            )
            shown = {
                x: f"{row['value']:{'+' if x == 'bias' else ''}.2f}{interval(row['ci_low'], row['ci_high'], 2)}"
                for x, row in found.items()
            }
            if {"kappa", "alpha"} <= {*shown}:
                both = (
                    f"Labels of {other} against those of {judge}: kappa {shown['kappa']}, alpha "
                    f"{shown['alpha']}"
                )
                lines.append(f"{both}, mean difference {shown['bias']}")
            if "kendall_tau" in shown:
                order = (
                    f"Kendall tau of the runs on {self.settings['metrics'][0]} under {judge} and "
                    f"{other}"
                )
                lines.append(
                    f"{order}: {shown['kendall_tau']}; {turned:,} pairs of runs change their order"
                )
        return lines or ["No document has labels of two judges"]

    def grids(self, most: int | None = MOST_ROWS) -> list[Grid]:
        """The measures, the bias on each run, and the pairs of runs that change their order."""
        rows = [
            {**row, **{name: row[name] or "all" for name in PAIR}} for row in records(self.table)
        ]

        cells = {"difference": figure}

        def shown_of(of: Sequence[Record], words: str, figures: str, note: str) -> list[Grid]:
            notes = (note, *(left_out(self, of, most) if of is rows else ()))
            heads = {
                name: name for name in ("value", "bias", "difference")
            }  # one note tells the intervals
            shown = grid(
                self, of, (*PAIR, *words.split()), figures, notes, most, heads=heads, cells=cells
            )
            return [shown] if of else []

        ends = (
            "bias: the label of the other less that of the first. Intervals of "
            f"{percent(self.settings)}, over resampled queries."
        )
        flips = (
            "Pairs of runs in another order: the mean of the run less that of the baseline, "
            "under both judges."
        )
        less = (
            "bias: the label of the other less that of the first, of the documents at these ranks."
        )
        found = shown_of(rows, "measure", "value n_documents n_queries", ends)
        found += shown_of(records(self.bias), "run ranks", "bias n_documents", less)
        return found + shown_of(
            records(self.flips), "baseline run", "difference other_difference", flips
        )


def _runs(
    tables: Any = None,
    judge: str | None = None,
    runs: TheRuns | None = None,
    run: str | None = None,
) -> Runs:
    """The runs of a call; or its judges, if each has a table, or rows of one."""
    named = sum(x is not None for x in (tables, judge, runs, run))
    if named > 1 and not (tables is None and judge is None):
        raise InvalidOption(
            "judges have tables, rows or columns, and runs go with columns; name them in one way"
        )
    return Runs.of(runs if tables is None else tables, run if judge is None else judge)


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
    >>> df = pl.DataFrame({"query_id": [1, 1, 2, 2], "doc_id": list("abab"), "label": [1, 1, 0, 0], "llm": [1, 0, 0, 0]})
    >>> found = df.rank.collection.label_agreement("label", "llm").table
    >>> dict(zip(found["measure"].to_list()[:2], found["value"].to_list()[:2]))
    {'agreement': 0.75, 'kappa': 0.5}
    >>> people = pl.DataFrame({"query_id": [1, 1], "doc_id": ["a", "b"], "label": [1, 0]})
    >>> llm = pl.DataFrame({"query_id": [1, 1], "doc_id": ["a", "c"], "label": [1, 1]})
    >>> found = people.rank.collection.label_agreement(tables={"people": people, "llm": llm}).table      # both judged document a
    >>> int(found["value"][0]), int(found["n_documents"][0])
    (1, 1)
    """
    chosen, frame, label = runs_of(options), table.rows, table.setup.roles.label
    of_rows = tables is not None or judge is not None
    compares, example = (
        not of_rows and bool(chosen.columns),
        "collection.label_agreement('label', 'label_llm', metric='ndcg@10', runs=['bm25', 'ltr'])",
    )
    calls = refuse_geometric(averaged([metric], example, table.setup if compares else None))
    chosen.require(frame, table.setup)
    names = chosen.names(frame) if of_rows else [*dict.fromkeys(labels)]
    if len(names) < 2:
        advice = Code("df.rank.collection.label_agreement('label', 'label_llm')")
        says = (
            "collection.label_agreement compares two columns of labels or more, or the labels of "
            "two judges in one column; name the columns, as "
        )
        raise InvalidOption(says, advice)
    frame = frame.with_columns(_cleaned(frame, name) for name in ([label] if of_rows else names))
    this = pl.col(chosen.column or "").cast(pl.String)
    of_judge = {
        name: pl.col(label).filter(this == name) if of_rows else pl.col(name) for name in names
    }
    resampling = Resampling.of(options)
    missing = options.get("missing", "error")
    with Progress("resampling queries", resampling.progress) as step:
        study = Study(frame, table.setup, chosen, resampling, step)
        documents = study.by_document(of_judge)
        measures, confusion = zip(
            *(study.of_pair(*documents, *pair) for pair in combinations(names, 2)), strict=True
        )
        bias = [] if of_rows else study.biases(names)
        runs_, means, flips, taus = (
            study.orders(names, calls, missing) if compares else ([], [], [], [])
        )
        rows = [*(study.of_all(*documents) if len(names) > 2 else ()), *chain(*measures), *taus]
    parts = zip(
        (rows, [*chain(*confusion)], bias, means, flips),
        (TABLE, CONFUSION, BIAS, OF_RUNS, FLIPS),
        strict=True,
    )
    found = [table_in(part, columns) for part, columns in parts]
    settings = {"judges": names, "runs": runs_}
    measured, counted, biases, under, turned = map(table.give, found)
    return LabelAgreement(measured, counted, biases, under, turned, settings)


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


@dataclass(frozen=True)
class Study:
    """A table with labels of several judges, its runs or its judges by row, and how intervals are
    computed.
    """

    frame: pl.DataFrame
    setup: Setup
    runs: Runs
    resampling: Resampling
    step: Progress

    @property
    def query(self) -> list[str]:
        """The query columns."""
        return [*self.runs.queries(self.setup).roles.query]

    def estimates(self, statistic: Statistic, columns: Floats) -> list[Row]:
        """Statistics of the sums of columns, a row per query, with their intervals; NaN where
        undefined.
        """
        of_table, ci = (
            statistic([columns.sum(axis=0, keepdims=True)])[0],
            self.resampling.ci or math.nan,
        )
        drawn = of_table[None, :0]
        if len(columns) > 1:
            columns = columns[np.lexsort(columns.T)]  # for any order of the rows
            drawn = resampled(
                statistic, [columns], self.resampling.resamples, self.resampling.seed, self.step
            )
        there = [column[~np.isnan(column)] for column in drawn.T] or [np.empty(0)] * len(of_table)
        ends = [
            np.quantile(x, [(1 - ci) / 2, (1 + ci) / 2]) if len(x) else (math.nan, math.nan)
            for x in there
        ]
        return [(float(value), *map(float, end)) for value, end in zip(of_table, ends, strict=True)]

    def by_document(self, labels: Mapping[str, pl.Expr]) -> tuple[Labels, Integers]:
        """The labels of each document and the number of its query; without a column of documents,
        each row is one.
        """
        doc = self.setup.roles.doc_in(self.frame.columns)
        key = [*self.query, *([] if doc is None else [doc])]
        for name in key:
            require(self.frame.schema, name, "doc" if name == doc else "query")
        rows = self.frame.with_row_index("#row").group_by(
            key if doc else "#row", maintain_order=True
        )
        own = pl.struct(key).first().alias("#key")
        different = (
            x.drop_nulls().unique(maintain_order=True).alias(f"#{name}")
            for name, x in labels.items()
        )
        found = rows.agg(own, *different)
        for name in labels:
            if (twice := found.filter(pl.col(f"#{name}").list.len() > 1)).height:
                where = " ".join(map(str, twice["#key"][0].values()))
                raise InvalidData(
                    f"{name} gives {twice.height:,} documents several labels, as {where}; keep one"
                )
        arrays = {name: found[f"#{name}"].list.first().to_numpy() for name in labels}
        return arrays, numbered(found["#key"].struct.unnest()[self.query]).number.astype(np.int64)

    def of_pair(
        self, labels: Labels, number: Integers, judge: str, other: str
    ) -> tuple[list[Row], list[Row]]:
        """The measures of two judges, and how many documents have each two labels."""
        mine, theirs = labels[judge], labels[other]
        both, relevant = ~np.isnan(mine) & ~np.isnan(theirs), self.setup.policies.relevant
        grades = _grades([mine[both], theirs[both]])
        n, high, more = len(grades), grades >= relevant, grades - grades[:, None]
        counts = np.zeros((number.max(initial=-1) + 1, n * n + 2))
        place = np.searchsorted(grades, mine[both]) * n + np.searchsorted(grades, theirs[both])
        np.add.at(counts, (number[both], place), 1)
        for at, which in ((-2, ~np.isnan(theirs)), (-1, theirs >= relevant)):
            counts[:, at] = np.bincount(number[which], minlength=len(counts))

        def measures(sums: list[Floats]) -> Floats:
            cells = sums[0][:, : n * n].reshape(len(sums[0]), n, n)
            total, share = cells.sum(axis=(1, 2)), quotient(sums[0][:, -1], sums[0][:, -2])
            alike = [
                quotient(cells[:, x][:, :, x].sum((1, 2)), cells[:, x].sum((1, 2)))
                for x in (~high, high)
            ]
            same, bias = (quotient((cells * x).sum(axis=(1, 2)), total) for x in (np.eye(n), more))
            kappas = (kappa(cells, penalty) for penalty in PENALTIES)
            pairs = cells + cells.swapaxes(1, 2)
            return np.stack(
                [same, *kappas, alpha(pairs), bias, *alike, share, corrected_share(share, *alike)],
                axis=1,
            )

        counted = int(both.sum()), len(np.unique(number[both]))
        named = zip(MEASURES, self.estimates(measures, counts), strict=True)
        cells = zip(
            product(grades, grades), counts[:, : n * n].sum(axis=0).astype(int), strict=True
        )
        rows: list[Row] = [(judge, other, name, *estimate, *counted) for name, estimate in named]
        return rows, [(judge, other, *two, count) for two, count in cells]

    def of_all(self, labels: Labels, number: Integers) -> list[Row]:
        """Krippendorff's alpha of all judges."""
        given = np.array([*labels.values()])
        grades, several = _grades([given[~np.isnan(given)]]), (~np.isnan(given)).sum(axis=0) > 1
        n, number = len(grades), number[several]
        places = np.where(np.isnan(given), np.nan, np.searchsorted(grades, given))[:, several]
        sums = np.zeros((number.max(initial=-1) + 1, n * n))
        np.add.at(sums, number, coincidences(places, n).reshape(len(number), n * n))
        (estimate,) = self.estimates(lambda x: alpha(x[0].reshape(len(x[0]), n, n))[:, None], sums)
        return [(None, None, "alpha", *estimate, len(number), len(np.unique(number)))]

    def biases(self, names: Sequence[str]) -> list[Row]:
        """The bias of each judge against one before, by run and part of the ranking."""
        if not self.runs.columns and self.setup.roles.score not in self.frame.columns:
            return []
        labels = {name: f"#label {name}" for name in names}
        kept = dict.fromkeys([*self.runs.key, *self.query])
        rows = self.frame.select(*kept, *(pl.col(name).alias(at) for name, at in labels.items()))
        ranked = self.runs.each(
            self.frame, self.setup, lambda run: rows.hstack(ranks_of(self.frame, run, "#rank"))
        )
        found: list[Row] = []
        for run, of_run in in_slices(ranked.filter(pl.col("#rank").is_not_null()), [RUN]).items():
            number, part = (
                numbered(of_run[self.query]).number,
                np.searchsorted(RANKS, of_run["#rank"].to_numpy()),
            )
            for judge, other in combinations(names, 2):
                less = of_run[labels[other]].to_numpy() - of_run[labels[judge]].to_numpy()
                both, sums = ~np.isnan(less), np.zeros((number.max() + 1, 2, len(PARTS)))
                for at in (part[both], np.full(int(both.sum()), len(PARTS) - 1)):
                    np.add.at(sums[:, 0], (number[both], at), less[both])
                    np.add.at(sums[:, 1], (number[both], at), 1)
                shares = self.estimates(
                    lambda x: quotient(*np.split(x[0], 2, axis=1)), sums.reshape(len(sums), -1)
                )
                counted = zip(
                    PARTS, shares, sums[:, 1].sum(axis=0).astype(int).tolist(), strict=True
                )
                found += [
                    (judge, other, *run, ranks, *share, n) for ranks, share, n in counted if n
                ]
        return found

    def orders(
        self, names: Sequence[str], calls: Sequence[Call], missing: Lacking
    ) -> tuple[list[str], list[Row], list[Row], list[Row]]:
        """The runs, their means under each judge, pairs in another order, and Kendall's tau; on the
        queries that all judged.
        """
        judged = (pl.col(name).is_not_null().any().over(self.query) for name in names)
        frame, design = (
            self.frame.filter(pl.all_horizontal(judged)),
            Design(self.runs, None, (), None, missing),
        )
        if frame.is_empty():
            return [], [], [], []
        under = [
            paired_values(in_memory(frame, self.setup.changed(label=name)), calls, design)
            for name in names
        ]
        values = np.stack([found.values[..., 0].T for found in under])  # judges, queries, runs
        values, runs = values[:, ~np.isnan(values).any(axis=(0, 2))], under[0].runs
        n, means = values.shape[1], values.sum(axis=1) / (values.shape[1] or math.nan)
        each = zip(product(names, runs), means.ravel(), strict=True)
        of_runs: list[Row] = [(judge, calls[0].text, run, mean, n) for (judge, run), mean in each]
        flips: list[Row] = []
        taus: list[Row] = []
        for i, j in combinations(range(len(names)), 2):
            both = np.hstack([values[i], values[j]])
            (tau,) = self.estimates(lambda x: kendall(*np.split(x[0], 2, axis=1))[:, None], both)
            taus.append((names[i], names[j], "kendall_tau", *tau, None, n))
            for a, b in combinations(range(len(runs)), 2):
                gain, other = differences(means[[i, j], a], means[[i, j], b])
                flips += [(names[i], names[j], runs[a], runs[b], gain, other)] * bool(
                    gain * other < 0
                )
        return runs, of_runs, flips, taus


def _grades(labels: Sequence[Floats]) -> Floats:
    """The different labels in order."""
    grades = np.unique(np.concatenate(labels))
    if len(grades) > MOST_GRADES:
        raise InvalidOption(
            f"judges gave {len(grades):,} different labels, which are no grades; round them"
        )
    return grades
