"""Whether runs may replace a baseline: budgets, a verdict, and the queries that moved most."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import polars as pl

from ... import stats
from ..._catalog.call import Call
from ..._catalog.means import Mean
from ..._catalog.requests import Request, averaged
from ..._plan.per_query import with_labels
from ..._results.grid import (
    Cell,
    Grid,
    Record,
    in_words,
    left_out,
    name_of,
    named,
    numbers,
    records,
)
from ..._results.markup import visible
from ..._results.result import MOST_ROWS, Block, Format, Result, Style
from ..._results.sentences import IN_TEXT, Quotes
from ..._statistics.estimate import Estimator
from ..._support.option_kinds import Column, check
from ..._support.option_values import Range, is_number
from ..._support.statistical_options import Bound, Planned
from ..._table.policies import GREATEST
from ..._table.runs import Runs, names_of
from ..._table.setup import Setup
from ..._table.shared_options import OfGate
from ..._table.table import Table, refuse_names
from ...errors import Code, InvalidOption, option, warn
from ..call.declaration import verb
from ..measure.paired_values import Design, PairedValues, differences, explained, rows_of_queries
from ..sample.judged import Help
from ..sample.resampling import Resampling, limits
from ..sample.settings import settings_of
from ..sample.unequal_runs import unequal
from .compare import OF_CLUSTERS, compared
from .estimation import Choice, Estimation
from .sequential import Looks, State, price

if TYPE_CHECKING:
    from typing import Unpack

R = TypeVar("R")

R_co = TypeVar("R_co", covariant=True)

EXAMPLE = "gate({'ndcg@10': 0.01}, runs=['base', 'new'], baseline='base')"
PASSED = "passed"
FAILED = "failed"
TOO_FEW = "too few queries"
NOT_SHOWN = "not shown"
COMPARED = ("metric", "baseline", "run", "baseline_mean", "mean", "difference")
JUDGED = ("bound", "budget", "verdict", "passed", "n_queries", "queries_needed")


@dataclass(frozen=True, repr=False)
class Verdict(Result[R_co]):
    """Whether all runs stay within their budgets; true if they do.

    Attributes
    ----------
    passed
        Whether every row of the table passed.
    table
        A row per metric, slice and run: the slice's columns, ``metric``, ``baseline``, ``run``,
        ``baseline_mean``, ``mean`` (of the run), ``difference`` (``mean`` less ``baseline_mean``),
        ``bound`` (the confidence bound of the difference, to the worse side; null for fewer than
        two queries), ``budget``, ``verdict`` (``"passed"``, ``"failed"``, ``"too few queries"`` to
        tell, or ``"not shown"``, if the mean is not worse and a loss beyond the budget is not ruled
        out: the last two are no pass, and need more queries), ``passed``, ``n_queries`` and
        ``queries_needed`` (Int64: with fewer, only a run that gains enough passes, and by another
        interval than ``"bounded"`` none does). With `cluster`, also ``n_clusters`` (UInt32), and
        ``queries_needed`` is a number of clusters.
    failures
        The rows of ``table`` that did not pass.
    moved
        The queries whose values changed most, by metric and run: the query, its slice,
        ``difference``, and, for each document that contributed to the difference, its label, its
        ``rank`` and ``contribution`` in the run, and its ``baseline_rank`` and
        ``baseline_contribution`` in the baseline; nulls if the metric is no sum over documents.
    settings
        How it was computed.
    state
        Of a sequential gate: what to give as `sequential` at the next look, a row per run and
        query: ``look`` (Int64, 1 for the first), the query, its slices, ``run``, a column per
        metric, and what all looks share, ``planned`` (Int64) and ``confidence`` (Float64). ``None``
        of another gate.
    """

    passed: bool
    table: R_co
    failures: R_co
    moved: R_co
    settings: Mapping[str, Any]
    state: R_co | None = None

    def __bool__(self) -> bool:
        return self.passed

    def sentences(self, quotes: Quotes = IN_TEXT) -> list[str]:
        """How many rows pass, and a line for each."""
        lines = self.lines()
        total = [] if len(lines) == 1 else [passing(records(self.table))]
        return [*total, *lines, *unequal(self.settings), *price(self.settings)]

    def grids(self, most: int | None = MOST_ROWS) -> list[Grid]:
        """The figures: rows that did not pass come first."""
        rows = sorted(records(self.table), key=lambda row: bool(row["passed"]))
        names = (*self.settings["by"], "metric", "run", "baseline")
        units = ["queries"]
        if any("n_clusters" in row for row in rows):
            units.append("clusters")
        figures = ("baseline mean", "mean", "difference", "at worst", "budget", *units, "needed")
        body = [_cells(row, names) for row in rows[:most]]
        note = (
            "At worst: the bound of the difference, mean less baseline mean, with "
            f"{100 * self.settings['confidence']:.6g}% confidence."
        )
        notes = (note, *unequal(self.settings), *price(self.settings), *left_out(self, rows, most))
        return [Grid(("verdict", *names), figures, body, notes)]

    def shown(self, how: Format, most: int | None = MOST_ROWS) -> list[Block]:
        """A line for each row in a terminal; elsewhere the table has these."""
        rows = records(self.table)
        if how == "text":
            return [[*self.sentences(), *left_out(self, rows, None)]]
        return [[passing(rows)], *self.grids(most)]

    def lines(self, format: Style = "text") -> list[str]:
        r"""One line per row of the table: plain text, or annotations that GitHub shows beside a
        change.

        Parameters
        ----------
        format
            ``"text"``, or ``"github"`` for workflow commands, ``::error`` and ``::notice``.

        Examples
        --------
        >>> import polars as pl, rankframe as rf
        >>> df = pl.DataFrame({"query_id": [1, 1, 2, 2], "doc_id": list("abab"),
        ...     "label": [1, 0, 1, 0], "old": [2, 1, 2, 1], "new": [2, 1, 1, 2]})
        >>> verdict = df.rank.gate({"rr": 0.2}, runs=["old", "new"], baseline="old")
        >>> print(verdict.lines("github")[0].replace(", ", ",\n"))
        ::error title=rr of new::-0.2500 against old,
        too few queries to tell: 2,
        and a budget of 0.2 takes 14 or more
        """
        check("format", format, Style)
        return [visible(_line(row, self.settings["by"], format)) for row in records(self.table)]


def _cells(row: Record, names: Sequence[str]) -> tuple[Cell, ...]:
    """A row of a verdict as people read it."""
    changes = [_signed(row[name]) for name in ("difference", "bound")]
    sizes = [f"{row[name]:,}" for name in ("n_queries", *OF_CLUSTERS) if name in row]
    needed = f"{row['queries_needed']:,}" if row["verdict"] == TOO_FEW else ""
    judged = (*changes, f"{row['budget']:g}", *sizes, needed)
    return (
        Cell(row["verdict"], best=not row["passed"]),
        *named(row, *names),
        *numbers(row, "baseline_mean", "mean", digits=4),
        *map(Cell, judged),
    )


def _signed(x: float | None, nothing: str = "") -> str:
    """A difference with its sign; `nothing` where it is unknown."""
    return nothing if x is None else f"{x:+.4f}"


@verb(gives="whole", watched=True, refuses=True, by_parts=True, usual={"resamples": 10_000})
def gate(
    table: Table[R],
    *budgets: Mapping[Request, float] | Request,
    margin: Annotated[float, Range(least=0)] | None = None,
    baseline: Column | None = None,
    confidence: Annotated[float, Range(above=0.5, below=1)] = 0.95,
    interval: Bound = "bounded",
    model_labels: Column | None = None,
    adjust: Column | None = None,
    adjust_mean: float | None = None,
    sequential: State | None = None,
    planned: Planned | None = None,
    most_moved: Annotated[int, Range(least=0, most=10**9)] = 10,
    **shared: Unpack[OfGate],
) -> Verdict[R]:
    """Gate a release: pass only if the queries rule out that any metric fell by more than its
    budget, in any slice.

    A run passes if the one-sided confidence bound of its loss against the baseline is within the
    budget. A run with too few queries does not pass: if no query changes, a budget of 0.01 needs
    299 queries, a budget of 0.05 needs 59. All metrics, slices and runs have to pass, so no
    correction is needed.

    Parameters
    ----------
    *budgets
        How much worse the mean of each metric may be, 0 or more, as ``{"ndcg@10": 0.01, "map":
        0.02}``: in units of the metric, less than its range, with a warning above a quarter of it.
        Or texts, functions, values and expressions, as for :meth:`evaluate`, all of which have the
        budget `margin`.
    margin
        One budget for all metrics, the margin of a test of noninferiority: ``gate("rr", "map",
        margin=0.01, ...)``.
    baseline
        The run that the others may replace; ``None`` is the first one. With `run`, name it.
    runs, run, by, weights, cluster, missing
        As for :meth:`compare`.
    confidence
        The confidence of the one-sided bound: if the queries are a random sample, a run that is
        worse by exactly the budget passes with a probability of at most 1 - `confidence`, for any
        distribution of its losses.
    interval
        The kind of the interval that has the bound, as for :meth:`summarize`. Only ``"bounded"``
        (of a value, with its bounds given) guarantees that probability. The other kinds need 50
        queries, where queries whose weights differ count as fewer. They pass more of the runs that
        are no worse, but also more of those with rare, large losses. A sequential gate has an
        interval of its own.
    model_labels, adjust, adjust_mean
        As for :meth:`compare`; ``n_queries`` are then those that people judged, and 50 are needed.
        The bound is Student's.
    sequential
        For a gate that is read at every look while queries come in: ``True`` at the first look, and
        then the ``state`` of the verdict before. Its bounds hold at all looks at once, and only get
        better, so that the first pass may release the run; metrics need bounds. A query counts
        once, with the values of its first look; queries of one look enter in an order derived from
        their ids. ``None`` for a gate that is read once.
    planned
        Of a sequential gate: about how many queries will come; ``None`` is 1,000, or what the state
        began with. As for :meth:`compare`.
    most_moved
        How many queries to show per metric and run, those whose values changed most first.
    resamples, seed, progress
        As for :meth:`summarize`.

    Returns
    -------
    A :class:`rankframe.results.Verdict`, true if all pass, whose ``table``, ``failures`` and
    ``moved`` are frames of the caller's kind, as is ``state``. Of a LazyFrame only the values per
    query are held in memory, and the rows of queries that moved, which a second pass reads.

    References
    ----------
    E. Walker, A. S. Nowacki (2011), Understanding equivalence and noninferiority testing, JGIM 26.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame({"query_id": [1, 1, 2, 2], "doc_id": list("abab"), "label": [1, 0, 1, 0],
    ...     "old": [2, 1, 2, 1], "new": [2, 1, 1, 2]})
    >>> verdict = df.rank.gate({"rr": 0.2}, runs=["old", "new"], baseline="old")
    >>> failed = verdict.failures
    >>> bool(verdict), failed["verdict"].to_list(), failed["queries_needed"].to_list()
    (False, ['too few queries'], [14])

    On each of thirty queries, the new run ranks the relevant document first and the old run ranks
    it second of three:

    >>> label, old, new = (x * 30 for x in ([1, 0, 0], [2, 3, 1], [3, 2, 1]))
    >>> df = pl.DataFrame({"query_id": [q for q in range(30) for _ in "abc"],
    ...     "doc_id": list("abc") * 30, "label": label, "old": old, "new": new})
    >>> bool(df.rank.gate("rr", "map", margin=0.01, runs=["old", "new"]))
    True
    """
    known = Help(model_labels, adjust, adjust_mean).checked(names_of(shared.get("by")))
    looks = Looks.of_gate(sequential, confidence, planned)
    choice = Choice.of_bound(interval, looks, known).checked(
        interval=(interval, "bounded"),
        sequential=(looks.given, None),
        planned=(planned, None),
        weights=(shared.get("weights"), None),
        cluster=(shared.get("cluster"), None),
        adjust_mean=(adjust_mean, None),
    )
    estimator = choice.estimator
    design = Design.of(shared, baseline, known)
    ci = 2 * confidence - 1
    resampling = Resampling.of(shared, estimator.name, ci)
    if design.baseline is None:
        design = replace(design, baseline=_first(design.runs))
    budget_of = budgets_of(budgets, margin, table.setup)
    calls = list(budget_of)
    choice.refuse_metrics(calls)
    if "limits" in estimator.needs:
        refuse_unbounded(calls, interval)
    refuse_names(JUDGED, design.by, "by")
    looks = looks.checked(calls)
    options = {**looks.options, "single": interval, "adjust_mean": adjust_mean}
    estimation = Estimation(estimator, resampling, options)
    values, compared_runs = compared(table, calls, design, estimation, looks)
    needed = needed_of(budget_of, values, estimation, ci)
    figures = judged(compared_runs, budget_of, needed, design.by, estimator)
    failures = figures.filter(~pl.col("passed"))
    moved = _moved(table, values, design, calls, most_moved)
    budget_by_text = {call.text: budget for call, budget in budget_of.items()}
    of_interval = {name: x for name, x in asdict(resampling).items() if name != "ci"}
    settings = settings_of(
        table,
        (),
        {"budgets": budget_by_text, "confidence": confidence},
        design.settings,
        of_interval | {"interval": interval},
        looks.settings(values, compared_runs),
        values.settings,
        runs=values.runs,
    )
    state = looks.state_after(values)
    return Verdict(
        failures.is_empty(),
        table.give(figures),
        table.give(failures),
        table.give(moved),
        settings,
        None if state is None else table.give(state),
    )


def refuse_unbounded(calls: Sequence[Call], interval: str) -> None:
    """Refuse a value without bounds, within which the interval is valid."""
    for call in calls:
        if not call.of_ranking and None in call.bounds:
            with_bounds = Code(
                "rf.value('latency', bounds=(0, 10))",
                command="value:latency(bounds=[0,10])",
                phrase=", as {}",
            )
            lacks = f"{call.text} has no bounds, within which "
            takes = " is valid for any losses; give them"
            raise InvalidOption(lacks, option(interval=interval), takes, with_bounds)


def needed_of(
    budget_of: Mapping[Call, float], values: PairedValues, estimation: Estimation, ci: float
) -> list[int]:
    """The fewest queries with which a run that changes nothing passes, for each metric.

    A run that loses the span of the metric's values on a share budget / span of all queries lowers
    the mean by the budget.
    """
    within = limits(values.values, values.calls)
    spans = (within.greatest - within.least).tolist()
    needed = []
    for (call, budget), span in zip(budget_of.items(), spans, strict=True):
        by_share = span > 0 and not Mean.of(call).is_geometric
        share = budget / span if by_share else 1.0
        needed.append(estimation.enough(share, ci))
    return needed


def judged(
    figures: pl.DataFrame,
    budget_of: Mapping[Call, float],
    needed: Sequence[int],
    by: Sequence[str],
    estimator: Estimator,
) -> pl.DataFrame:
    """The verdict of each row of a comparison.

    Its bound is the end of the interval to the worse side. Where there may be later looks, only a
    run that is beyond its budget even at best failed.
    """
    of_metrics = pl.DataFrame(
        {
            "metric": [call.text for call in budget_of],
            "#higher": [call.higher_is_better for call in budget_of],
            "budget": [float(budget) for budget in budget_of.values()],
            "queries_needed": pl.Series([*needed], dtype=pl.Int64),
        }
    )
    figures = figures.join(of_metrics, on="metric", how="left", maintain_order="left")
    higher = pl.col("#higher")
    budget = pl.col("budget")
    needed_by_metric = pl.col("queries_needed")
    bound = pl.when(higher).then("ci_low").otherwise("ci_high")
    loss_at_worst = pl.when(higher).then(-pl.col("ci_low")).otherwise("ci_high")
    loss_at_best = pl.when(higher).then(-pl.col("ci_high")).otherwise("ci_low")
    change = pl.col("difference")
    is_gain = pl.when(higher).then(change >= 0).otherwise(change <= 0).fill_null(False)
    may_grow = pl.lit(estimator.takes("look"))
    is_few = may_grow | (pl.col("#number") < needed_by_metric)
    is_enough = pl.lit(estimator.holds_for_few) | ~is_few
    passed = ((loss_at_worst <= budget) & is_enough).fill_null(False)
    missed = pl.when(is_gain).then(pl.lit(NOT_SHOWN)).otherwise(pl.lit(FAILED))
    is_decided = ~is_few | (loss_at_best > budget)
    not_passed = pl.when(is_decided).then(missed).otherwise(pl.lit(TOO_FEW))
    verdict = pl.when(passed).then(pl.lit(PASSED)).otherwise(not_passed)
    n = pl.col("n_judged" if "n_judged" in figures.columns else "n_queries")
    columns = (bound, budget, verdict, passed, n, needed_by_metric)
    named_columns = dict(zip(JUDGED, columns, strict=True))
    clusters = [name for name in OF_CLUSTERS if name in figures.columns]
    return figures.select(*by, *COMPARED, **named_columns).hstack(figures.select(clusters))


def budgets_of(
    given: Sequence[Mapping[Request, float] | Request],
    margin: float | None,
    setup: Setup | None = None,
) -> dict[Call, float]:
    """The budget of each metric."""
    pairs: list[tuple[Request, float | None]] = []
    for of_metrics in given:
        if isinstance(of_metrics, Mapping):
            pairs += of_metrics.items()
        else:
            pairs.append((of_metrics, margin))
    if not pairs:
        # No metric at all is refused with an example of the call.
        averaged([], EXAMPLE)
    budget_of: dict[Call, float] = {}
    for metric, budget in pairs:
        if budget is None or not (is_number(budget) and 0 <= budget < float("inf")):
            raise _no_budget(metric, budget)
        for call in averaged([metric], EXAMPLE, setup, weighs=True):
            if call in budget_of:
                raise InvalidOption(
                    f"{metric!r} has two budgets, as {call.text!r} was given before; give "
                    "each metric one"
                )
            _compare_with_range(call, budget)
            budget_of[call] = budget
    return budget_of


def _no_budget(metric: Request, budget: object) -> InvalidOption:
    lacks = f"the budget of {metric!r} is {budget!r}"
    if budget is None:
        lacks = f"{metric!r} has no budget"
    example = Code(f"df.rank.{EXAMPLE}", phrase=", as {}", command="--budget ndcg@10=0.01")
    return InvalidOption(f"{lacks}; give how much worse its mean may be", example)


def _compare_with_range(call: Call, budget: float) -> None:
    """Refuse a budget that no loss exceeds, and warn of one that few do.

    Most often it is a share given in percent.
    """
    least, greatest = call.bounds
    if least is None or greatest is None:
        if budget > GREATEST:
            raise InvalidOption(
                f"a budget of {budget:g} allows any loss: no value of {call.text} is beyond "
                f"{GREATEST:g}"
            )
        return
    span = greatest - least
    percent = f"; {budget:g}% is {budget / 100:g}"
    if budget >= span:
        raise InvalidOption(
            f"a budget of {budget:g} allows any loss, as {call.text} goes from {least:g} to "
            f"{greatest:g}{percent}"
        )
    if budget > span / 4:
        warn(
            f"a budget of {budget:g} is more than a quarter of the range of {call.text}, "
            f"{least:g} to {greatest:g}{percent}"
        )


def _first(runs: Runs) -> str:
    """The default baseline: the run that the others may replace."""
    for name in (*runs.scores, *runs.tables):
        return name
    why = " without a baseline, the run that the others may replace: write "
    raise InvalidOption(option(run=runs.column), why, option(baseline="base"))


MOVED = {
    "baseline_rank": pl.UInt32, "rank": pl.UInt32,
    "baseline_contribution": pl.Float64, "contribution": pl.Float64,
}  # fmt: skip


def _moved(
    table: Table[Any], values: PairedValues, design: Design, calls: Sequence[Call], most: int
) -> pl.DataFrame:
    """The queries that moved most, with the contributions of their documents in both runs."""
    pairs = design.pairs(values.runs)
    moved = {
        (call, pair): _most_moved(values, i, pair, most)
        for i, call in enumerate(values.calls)
        for pair in pairs
    }
    ids = pl.concat(queries.select(values.query) for queries in moved.values())
    part = rows_of_queries(table, design.runs, values.calls, ids.unique(maintain_order=True))
    setup = table.setup
    marked, _ = design.marked(part.rows, setup, calls)
    frame = with_labels(marked, setup, calls)
    roles = setup.roles
    doc = roles.doc_in(frame.columns)
    of_document = {name: frame.schema[name] for name in (doc, roles.label) if name is not None}
    added: dict[str, Any] = {**of_document, **MOVED}
    refuse_names(["difference", *MOVED], [*values.query, *design.by, *of_document], "the table")
    nothing = [pl.lit(None, dtype=dtype).alias(name) for name, dtype in added.items()]
    tables = []
    for call in values.calls:
        documents = {}
        if doc is not None and call.of_ranking:
            of_setup = replace(part, setup=setup)
            documents = _explained_runs(frame, of_setup, design, values, call)
        for pair in pairs:
            queries = moved[call, pair]
            if documents:
                a, b = pair
                key = [*values.query, str(doc)]
                queries = _with_documents(queries, key, roles.label, documents[a], documents[b])
            else:
                queries = queries.with_columns(nothing)
            tables.append(queries)
    return pl.concat(tables)


def _explained_runs(
    frame: pl.DataFrame, table: Table[Any], design: Design, values: PairedValues, call: Call
) -> dict[int, pl.DataFrame]:
    """What each document contributes, by the number of the compared run.

    It is empty if the metric is no sum over documents.
    """
    documents = {}
    numbers = {number for pair in design.pairs(values.runs) for number in pair}
    with suppress(InvalidOption):
        for number in numbers:
            run = values.runs[number]
            documents[number] = explained(
                frame, table.setup, design.runs, run, call, whole=table.whole
            )
    return documents


def _most_moved(
    values: PairedValues, metric: int, pair: tuple[int, int], most: int
) -> pl.DataFrame:
    """The queries whose values of a metric moved most between two runs, with the difference."""
    a, b = pair
    call = values.calls[metric]
    of_metric = values.values[:, :, [metric]]
    changes = differences(of_metric[a], of_metric[b])
    names = {"metric": call.text, "baseline": values.runs[a], "run": values.runs[b]}
    queries = replace(values, calls=[call]).rows(names, changes)
    queries = queries.rename({call.text: "difference"})
    change = pl.col("difference")
    queries = queries.filter(change != 0).sort(values.query)
    return queries.sort(change.abs(), descending=True, maintain_order=True).head(most)


def _with_documents(
    queries: pl.DataFrame, key: list[str], label: str, before: pl.DataFrame, after: pl.DataFrame
) -> pl.DataFrame:
    """The queries with the documents whose contribution differs between two runs.

    Each query has at least one row. `key` has the columns of the query, then the document.
    """
    *query, doc = key
    rank_before, rank_after, worth_before, worth_after = MOVED

    def of_run(documents: pl.DataFrame, rank: str, worth: str) -> pl.DataFrame:
        there = documents.join(queries, on=query, how="semi", nulls_equal=True)
        contribution = documents.columns[-1]  # as `explained` orders its columns
        worth_of_run = pl.col(contribution).alias(worth)
        return there.select(*key, label, pl.col("rank").alias(rank), worth_of_run)

    old = of_run(before, rank_before, worth_before)
    new = of_run(after, rank_after, worth_after)
    both = old.join(new, on=key, how="full", coalesce=True, nulls_equal=True, suffix="#after")
    change = pl.col(worth_after).fill_null(0) - pl.col(worth_before).fill_null(0)
    both = both.filter(change.abs() > stats.NOISE)
    both = both.sort(pl.min_horizontal(rank_before, rank_after), doc, nulls_last=True)
    either_label = pl.coalesce(label, f"{label}#after")
    both = both.select(*key, either_label, *MOVED)
    return queries.join(both, on=query, how="left", nulls_equal=True, maintain_order="left_right")


def _line(row: Record, by: Sequence[str], format: Style) -> str:
    """One row of a verdict as a line."""
    slices = "".join(f", {name} {name_of(row[name])}" for name in by)
    title = f"{in_words(row['metric'])} of {row['run']}{slices}"
    outcome = _outcome(row)
    passed = row["passed"]
    if format == "github":
        kind = "notice" if passed else "error"
        return f"::{kind} title={_escaped(title, ':', ',')}::{_escaped(outcome)}"
    verdict = row["verdict"] if passed else row["verdict"].upper()
    return f"{verdict}: {title}: {outcome}"


def _outcome(row: Record) -> str:
    """The difference, its bound and the budget of a row of a verdict."""
    difference = _signed(row["difference"], "no difference")
    against = f"{difference} against {row['baseline']}"
    budget = f"budget of {row['budget']:g}"
    at_worst = "no bound known" if row["bound"] is None else f"at worst {row['bound']:+.4f}"
    units = "clusters" if "n_clusters" in row else "queries"
    n = row[f"n_{units}"]
    needed = row["queries_needed"]
    if row["verdict"] == TOO_FEW:
        why = f"a {budget} takes {needed} or more" if n < needed else at_worst
        return f"{against}, too few {units} to tell: {n}, and {why}"
    if row["verdict"] == NOT_SHOWN:
        return f"{against}, {at_worst}, beyond the {budget}: needs more {units} than these {n}"
    side = "within" if row["passed"] else "beyond"
    return f"{against}, {at_worst}, {side} the {budget} ({n} {units})"


def _escaped(text: str, *further: str) -> str:
    """Escape a text for GitHub's workflow commands."""
    for character in ("%", "\r", "\n", *further):
        text = text.replace(character, f"%{ord(character):02X}")
    return text


def passing(rows: Sequence[Record]) -> str:
    """How many rows of a verdict pass, and how many have another verdict."""
    others = Counter(str(row["verdict"]) for row in rows if not row["passed"])
    passed = len(rows) - others.total()
    verdict = "NOT PASSED" if others else "passed"
    further = "".join(f", {n:,} {name}" for name, n in others.items())
    return f"{verdict}: {passed:,} of {len(rows):,} within the budget{further}"
