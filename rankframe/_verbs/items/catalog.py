"""Metrics of the whole table, their sums, which merge, and their comparison between runs.

A part of a table, such as a day or the part of an engine, holds all rows of its users. Its sums, of
each item and over users, merge by addition; intervals are not computed in parts, as a resample of
users needs the lists of all of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import chain
from typing import TYPE_CHECKING, Any, TypeVar

import polars as pl

from ..._catalog.call import Call
from ..._catalog.registry import CATALOG_METRICS
from ..._catalog.requests import Request, calls_of
from ..._results.columns import adjusted_p, both_ps, figure, grid, schema
from ..._results.grid import Grid, left_out, queries_of, records
from ..._results.result import MOST_ROWS, Result
from ..._results.sentences import IN_TEXT, Quotes, correction_of, test_of
from ..._support.draws import each, words
from ..._support.floats import Floats, Integers, np
from ..._support.option_kinds import Column, ColumnNames
from ..._support.progress import Progress
from ..._support.statistical_options import Correction, Family
from ..._table.runs import RUN, names_of
from ..._table.setup import Setup
from ..._table.shared_options import ChosenIntervalsOfSlices, Intervals, SlicesOfRuns, runs_of
from ..._table.table import R, Table, refuse_names
from ..._words import exposure
from ...errors import InvalidOption, RankframeError, option, shown
from ..call.declaration import verb
from ..decide.compare import Significance
from ..measure.paired_values import Design, two_or_more
from ..sample.resampling import Resampling
from ..sample.slices import Sliced, in_slices, keys, table_of
from .item_tables import ITEM, RANK, Catalog, Unknown, catalog_and_past, lists_of
from .recount import ItemMetrics, Recount, about, deepest, evaluated, resamples_of, users_of

if TYPE_CHECKING:
    from typing import Unpack

R_co = TypeVar("R_co", covariant=True)

SUM, VALUE, USERS = "#sum", "#value", "#n_queries"
"""The columns of a sum's name and value (the item is null for a sum over users), and the name of
the number of users."""

TABLE = schema("metric value ci_low ci_high n_queries n_items")
"""The columns of catalog metrics, beside the slices."""

WITHOUT_INTERVALS = {name: dtype for name, dtype in TABLE.items() if not name.startswith("ci_")}


def reads_labels(requests: Sequence[Request | Call]) -> bool:
    """Whether one of the catalog metrics reads labels.

    False for a request that names none, which is refused elsewhere.
    """
    try:
        calls = calls_of(*requests, among=CATALOG_METRICS)
    except RankframeError:
        return False
    return any(call.labels for call in calls)


def catalog_calls(requests: Sequence[Request | Call], setup: Setup, example: str) -> list[Call]:
    """The catalog metrics that are named, with the options of the convention."""
    calls = calls_of(*requests, example=example, among=CATALOG_METRICS)
    resolved = [setup.resolve(call)[1] for call in calls]
    return list(dict.fromkeys(resolved))


@dataclass(frozen=True)
class Parts(Sliced):
    """Catalog metrics to compute in parts.

    Attributes
    ----------
    metrics
        The metrics.
    setup
        The roles of columns, and the policies.
    by
        The columns whose values slice the users.
    unknown_items
        The treatment of shown items that the catalog lacks.
    """

    metrics: tuple[Call, ...]
    setup: Setup
    by: tuple[str, ...]
    unknown_items: Unknown = "error"

    @classmethod
    def of(
        cls,
        setup: Setup,
        _: object,
        *metrics: Request,
        by: ColumnNames | None = None,
        ci: float | None = None,
        unknown_items: Unknown = "error",
        **others: object,
    ) -> Parts:
        """The metrics that a call of a verb asks for."""
        if ci is not None:
            says = (
                "an interval draws users of the whole table, of which each worker has a part; say "
            )
            raise InvalidOption(says, option(ci=None))
        calls = catalog_calls(metrics, setup, "items.catalog('coverage@10', items=...)")
        slices = names_of(by)
        refuse_names([*TABLE], slices, "by")
        return cls(tuple(calls), setup, slices, unknown_items)

    def lists(self, frame: pl.DataFrame) -> tuple[ItemMetrics, pl.DataFrame]:
        """The metrics of a table, and its users' lists; a metric that lacks a table is refused."""
        metrics = self.metrics_of(frame.schema)
        columns = metrics.columns
        catalog = metrics.known.catalog
        lists = lists_of(frame, self.setup, self.by, columns)
        return metrics, catalog.within(lists)

    def recounts(
        self, metrics: ItemMetrics, lists: pl.DataFrame
    ) -> Iterator[tuple[tuple[Any, ...], Recount]]:
        """The values of each slice, and its lists to count."""
        query = self.setup.roles.query
        for where, part in in_slices(lists, self.key).items():
            users = users_of(part, query)
            yield where, Recount(part, query, users, metrics)

    def part(self, frame: pl.DataFrame) -> pl.DataFrame:
        """The sums of a part: a row per slice, sum and item, and per slice and sum over users."""
        metrics, lists = self.lists(frame)
        schema = {name: lists.schema[name] for name in self.key}
        of_item = metrics.item_type(lists)
        schema |= {ITEM: of_item, SUM: pl.String(), VALUE: pl.Float64()}
        tables = [pl.DataFrame(schema=schema)]
        item = pl.col(ITEM).cast(of_item)
        for where, recount in self.recounts(metrics, lists):
            named = zip(self.key, where, strict=True)
            slices = [pl.lit(value, dtype=schema[name]).alias(name) for name, value in named]
            sums = sums_of(recount)
            tables.append(sums.select(*slices, item, SUM, VALUE))
        return pl.concat(tables)

    def merge(self, parts: pl.DataFrame) -> pl.DataFrame:
        """The metrics of the table, from the sums of its parts."""
        metrics = self._metrics_of(parts)
        sums = added(parts)
        slices = in_slices(sums, self.key) if sums.height else {}
        rows: list[tuple[object, ...]] = []
        for where, part in slices.items():
            values, n_users = self._values(metrics, part)
            for call, value in zip(self.metrics, values, strict=True):
                key = (*where, call.text)
                rows.append((*key, value, n_users, metrics.size))
        return table_of(rows, self.by, parts.schema, WITHOUT_INTERVALS)

    def _values(self, metrics: ItemMetrics, sums: pl.DataFrame) -> tuple[list[float], int]:
        """The values of the metrics and the number of users, from the sums of a slice."""
        is_of_item = pl.col(ITEM).is_not_null()
        over_users = sums.filter(~is_of_item)
        numbers = dict(zip(over_users[SUM], over_users[VALUE], strict=True))
        of_items = metrics.counted.items
        value = pl.col(VALUE)
        of_sum = pl.col(SUM)
        columns = {name: value.filter(of_sum == name).sum() for name in of_items}
        by_item = sums.filter(is_of_item).group_by(ITEM)
        items = by_item.agg(**columns).sort(ITEM)
        shown = [name for name, x in of_items.items() if not isinstance(x.depth, str)]
        is_shown = pl.any_horizontal(False, pl.col(shown) > 0)
        n_shown = items.filter(is_shown).height
        known = metrics.known
        known.catalog.refuse_more(n_shown)
        formulas, _ = metrics.formulas(numbers)
        table = known.described(items)
        values = evaluated(metrics, table, formulas, check=True)
        return values, int(numbers[USERS])

    def metrics_of(self, schema: pl.Schema) -> ItemMetrics:
        """The metrics, with the catalog and the past of a table."""
        known = catalog_and_past(self.setup, schema, self.unknown_items)
        relevant = self.setup.policies.relevant
        return ItemMetrics(self.metrics, known, relevant)

    def _metrics_of(self, parts: pl.DataFrame) -> ItemMetrics:
        """The metrics, with the catalog and the past, which were checked with each part."""
        doc = str(self.setup.roles.doc_name)
        schema = pl.Schema({doc: parts.schema[ITEM]})
        return self.metrics_of(schema)

    def catalog(self, parts: pl.DataFrame) -> Catalog:
        """The items that could be shown."""
        return self._metrics_of(parts).known.catalog


def added(parts: pl.DataFrame) -> pl.DataFrame:
    """Add up the sums of parts."""
    by_key = parts.group_by(pl.exclude(VALUE), maintain_order=True)
    return by_key.agg(pl.col(VALUE).sum())


def sums_of(recount: Recount) -> pl.DataFrame:
    """A row per sum and item, and a row per sum over users, if each user counts once."""
    once = np.ones(recount.n)
    of_items = recount.metrics.counted.items
    table = recount.table(once).select(ITEM, *of_items)
    items = table.unpivot(index=ITEM, variable_name=SUM, value_name=VALUE)
    value = pl.col(VALUE).cast(pl.Float64)
    numbers = {**recount.numbers(once), USERS: float(recount.n)}
    columns = {SUM: [*numbers], VALUE: [*numbers.values()]}
    over_users = pl.DataFrame(columns)
    items = items.with_columns(value).filter(value != 0)
    return pl.concat([items, over_users], how="diagonal")


@dataclass(frozen=True, repr=False)
class ItemCounts:
    """Counts of items of a part of a table, to be merged with those of other parts.

    ``df.rank.items.counts`` makes them.

    Attributes
    ----------
    sums
        A row per slice, sum and item.
    """

    parts: Parts
    sums: pl.DataFrame

    def merge(self, *others: ItemCounts) -> ItemCounts:
        """The counts of these parts and others together, of the same metrics and catalog."""
        for other in others:
            if not isinstance(other, ItemCounts) or other._counted_by != self._counted_by:
                says = f"counts of {shown(other)} do not merge with those of {self!r}"
                alike = "the same metrics, items, groups, slices and policies, such as relevant"
                raise InvalidOption(f"{says}; count all parts with {alike}")
        sums = pl.concat(counts.sums for counts in (self, *others))
        return ItemCounts(self.parts, added(sums))

    def catalog(self) -> pl.DataFrame:
        """The metrics of all parts together, as ``df.rank.items.catalog`` with ``ci=None`` gives
        them: a Polars DataFrame.
        """
        return self.parts.merge(self.sums)

    @cached_property
    def _catalog(self) -> Catalog:
        return self.parts.catalog(self.sums)

    @cached_property
    def _counted_by(self) -> tuple[object, ...]:
        """The choices that parts must share for their sums to merge."""
        parts = self.parts
        catalog = self._catalog
        groups = None
        if catalog.groups is not None:
            group = pl.col("#group").cast(pl.String)
            groups = set(catalog.groups.with_columns(group).rows())
        return parts.metrics, parts.by, parts.setup.policies, catalog.size, groups

    def __repr__(self) -> str:
        metrics = ", ".join(call.text for call in self.parts.metrics)
        of_users = self.sums.filter(pl.col(SUM) == USERS)
        users = int(of_users[VALUE].sum())
        items = self.sums[ITEM].drop_nulls().n_unique()
        size = self._catalog.size
        of_catalog = "" if size is None else f" of {size:,}"
        return f"<ItemCounts of {metrics}: {users:,} users, {items:,}{of_catalog} items>"


@dataclass(frozen=True)
class ShortLists:
    """The lists of the users in a part, as deep as the metrics look; each user has a row."""

    parts: Parts

    def __call__(self, part: Table[Any]) -> pl.DataFrame:
        metrics, lists = self.parts.lists(part.rows)
        if part.places is not None:
            lists = lists.with_columns(part.places.alias(PLACE_OF_ROW))
        if exposure.TABLE in metrics.depths:
            return lists
        query = self.parts.setup.roles.query
        place_in_list = pl.int_range(pl.len()).over(query)
        last = deepest(metrics.depths)
        rank = pl.col(RANK)
        is_read = rank.is_not_null() if last is None else rank <= last
        is_first = place_in_list == 0
        return lists.filter(is_read.fill_null(False) | is_first)


PLACE_OF_ROW = "#place of row"
"""The column of the places of the rows of lists in a table that comes in parts."""


@verb(gives="table", among=CATALOG_METRICS, labels=reads_labels, by_parts=True, merges=Parts.of)
def catalog(
    table: Table[Any],
    *metrics: Request,
    items: object = None,
    interactions: object = None,
    unknown_items: Unknown = "error",
    **options: Unpack[ChosenIntervalsOfSlices],
) -> pl.DataFrame:
    """Metrics of the items that all users are shown, as coverage and Gini: one row per slice and
    metric.

    Parameters
    ----------
    *metrics
        Texts, as ``"coverage@10"`` or ``"gini(normalized=True)@10"``, of the metrics in
        ``rf.CATALOG_METRICS``; functions declared with ``@rf.catalog_metric``.
    items
        The catalog, which coverage and Gini need: the number of its items, a frame with the column
        of items, or a list of their ids; for metrics of groups of items a frame, with the column
        that ``on(group=...)`` names. Default: that of ``on(items=...)``. It is never taken from the
        lists, which lack the items that nobody is shown.
    interactions
        The past choices of users, which ``popularity_lift``, ``rsp``, ``reo``, ``bias_disparity``
        and the options `head` and `tail` need: a frame with the columns of users and items;
        repeated pairs count once. Default: that of ``on(interactions=...)``.
    by
        The column, or columns, whose values slice the users, as for :meth:`summarize`, such as that
        of the runs.
    ci
        The confidence of the intervals. ``None`` for no intervals and no resampling.
    unknown_items
        Items that are shown, but are not in the catalog: ``"error"`` refuses them, ``"drop"`` does
        not count them; the other items keep their ranks.
    resamples
        The number of resamples of the users of a slice; all metrics share the same draws.

    Returns
    -------
    A frame with the slice's columns, ``metric``, ``value`` (Float64; null where it is not defined,
    as the Gini index of empty lists), ``ci_low`` and ``ci_high`` (Float64; null for fewer than two
    users; left out with ``ci=None``), ``n_queries`` (UInt32, the users of the slice, including
    users who are shown nothing) and ``n_items`` (Int64, the items of the catalog; null if it is not
    known). Slices are in the order of their first rows.

    Raises
    ------
    InvalidOption
        If a metric needs `items`, `interactions` or groups of items, or no column names the items.
    MissingColumn
        If a metric reads labels, and the table has none.
    InvalidData
        If an item is shown that the catalog lacks, an item that is shown is null, ids of two tables
        have different types, a user has several values of a slice, or a metric reads a label that
        is NaN or infinite.

    See Also
    --------
    exposure : the table that these metrics are computed from.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> rows = {"query_id": [1, 1, 2, 2], "doc_id": list("abac"), "score": [2.0, 1, 2, 1]}
    >>> df = pl.DataFrame(rows)
    >>> found = df.rank.items.catalog("coverage@1", "coverage@2", items=4)     # a; a, b and c
    >>> found["metric"].to_list(), found["value"].to_list()
    (['coverage@1', 'coverage@2'], [0.25, 0.75])
    """
    parts = Parts.of(table.setup, None, *metrics, by=options.get("by"), unknown_items=unknown_items)
    resampling = Resampling.of(options)
    ci = resampling.ci
    measured = parts.metrics_of(table.rows.schema)
    lists = table.by_parts(ShortLists(parts))
    if PLACE_OF_ROW in lists.columns:
        lists = lists.sort(PLACE_OF_ROW).drop(PLACE_OF_ROW)
    rows: list[tuple[object, ...]] = []
    with Progress("resampling users", resampling.progress) as bar:
        for where, recount in parts.recounts(measured, lists):
            values = recount.plain()
            figures: list[Any] = [values]
            if ci is not None:
                resamples = resamples_of(recount, resampling, bar)
                figures += about(values, resamples, ci, measured.calls)
            for call, *numbers in zip(measured.calls, *figures, strict=True):
                rows.append((*where, call.text, *numbers, recount.n, measured.size))
    columns = WITHOUT_INTERVALS if ci is None else TABLE
    return table_of(rows, parts.by, lists.schema, columns)


@verb(gives="whole", among=CATALOG_METRICS, labels=reads_labels)
def counts(
    table: Table[R],
    *metrics: Request,
    items: object = None,
    interactions: object = None,
    by: ColumnNames | None = None,
    unknown_items: Unknown = "error",
) -> ItemCounts:
    """The counts of items of a part of a table, such as a day, which merge by addition to catalog
    metrics of the whole.

    Parameters
    ----------
    *metrics, items, interactions, by, unknown_items
        As for :meth:`catalog`; the same for all parts.

    Returns
    -------
    A :class:`rankframe.results.ItemCounts`. Its ``merge`` adds the counts of other parts. Its
    ``catalog()`` returns the table that :meth:`catalog` with ``ci=None`` returns for all parts
    together, if each part has all rows of its users. Users of different parts count as different
    users, whatever their ids. A LazyFrame is collected first.

    Raises
    ------
    InvalidOption, InvalidData
        As for :meth:`catalog`.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> monday = pl.DataFrame({"query_id": [1, 1], "doc_id": ["a", "b"], "score": [2.0, 1]})
    >>> tuesday = pl.DataFrame({"query_id": [2, 2], "doc_id": ["a", "c"], "score": [2.0, 1]})
    >>> days = [monday.rank.items, tuesday.rank.items]
    >>> counts = [day.counts("coverage@2", "gini@2", items=4) for day in days]
    >>> found = counts[0].merge(counts[1]).catalog()
    >>> found["metric"].to_list(), found["value"].to_list()
    (['coverage@2', 'gini@2'], [0.75, 0.375])
    """
    parts = Parts.of(table.setup, None, *metrics, by=by, ci=None, unknown_items=unknown_items)
    return ItemCounts(parts, parts.part(table.rows))


COMPARED = schema(
    "metric baseline run baseline_value value n_queries n_items p_value difference ci_low "
    "ci_high p_adjusted"
)
"""The columns; a frame prints its first and last ones, so the answer comes last."""

NOISE = 1e-12
"""Differences closer than this count as equal."""


@dataclass(frozen=True, repr=False)
class CatalogComparison(Result[R_co]):
    """Runs compared by metrics of the whole table.

    Attributes
    ----------
    table
        A row per metric, slice and pair of runs: the slice's columns, ``metric``, ``baseline``,
        ``run``, ``baseline_value``, ``value`` (Float64), ``n_queries`` (UInt32, the users of all
        runs; a user whom a run shows nothing has an empty list), ``n_items`` (Int64, the items of
        the catalog; null if it is not known), ``p_value`` (two-sided), ``difference`` (``value``
        less ``baseline_value``), its interval from ``ci_low`` to ``ci_high``, and ``p_adjusted``
        (all Float64).
    settings
        How it was computed: the metrics, the slices, the correction, the policies, the versions.
    """

    table: R_co
    settings: Mapping[str, Any]

    def sentences(self, quotes: Quotes = IN_TEXT) -> list[str]:
        """None: the grid is the answer."""
        return []

    def grids(self, most: int | None = MOST_ROWS) -> list[Grid]:
        """A row per metric, slice and pair of runs."""
        rows = records(self.table)
        settings = self.settings
        test = f"p by {test_of(rows, settings)}, over {queries_of(rows)}."
        notes = (f"{test} Difference: value less baseline value.", *left_out(self, rows, most))
        corrected = correction_of(settings, len(rows)) is not None
        heads = {"value": "value", "p_adjusted": "p (adjusted)" if corrected else "p"}
        cells = {"value": figure, "p_adjusted": both_ps if corrected else adjusted_p}
        names = (*settings["by"], "metric", "run", "baseline")
        figures = "baseline_value value difference p_adjusted"
        return [grid(self, rows, names, figures, notes, most, heads=heads, cells=cells)]


class Compared(SlicesOfRuns, Intervals, total=False):
    """Runs compared in slices, with intervals."""


@verb(gives="whole", among=CATALOG_METRICS, labels=reads_labels)
def compare(
    table: Table[R],
    *metrics: Request,
    items: object = None,
    interactions: object = None,
    baseline: Column | None = None,
    correction: Correction | None = "holm",
    family: Family = "all",
    unknown_items: Unknown = "error",
    **options: Unpack[Compared],
) -> CatalogComparison[R]:
    """Compare two or more runs by metrics of the whole table, such as coverage, on the same users.

    Parameters
    ----------
    *metrics, items, interactions, unknown_items
        As for :meth:`catalog`.
    runs, run, baseline, correction, family
        As for ``df.rank.compare``.
    by
        The column, or columns, whose values slice the users, as for :meth:`summarize`.
    ci
        The confidence of the interval of each difference; users are resampled, the same ones for
        all runs.
    resamples
        The number of resamples, and of random exchanges in the permutation test, which exchanges
        the lists of some users between two runs. If there are at most `resamples` ways to exchange
        them, all ways are tried.

    Returns
    -------
    A :class:`rankframe.results.CatalogComparison`. A LazyFrame is collected first.

    Raises
    ------
    InvalidOption, InvalidData
        If there are fewer than two runs, or no such baseline; and as for :meth:`catalog`.

    Examples
    --------
    The old run shows all eight users the same item first, the new one shows each user another item:
    of the 256 ways to exchange their lists, only the two that give all lists of one kind to one run
    differ as much.

    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame({"query_id": [*range(8)] * 2, "doc_id": [0] * 8 + [*range(1, 9)],
    ...     "old": [1] * 8 + [0] * 8, "new": [0] * 8 + [1] * 8})
    >>> found = df.rank.items.compare("coverage@1", items=20, runs=["old", "new"]).table
    >>> found["baseline_value"].item(), found["value"].item()  # 1/20, 8/20
    (0.05, 0.4)
    >>> found["p_value"].item()  # 2/256
    0.0078125
    """
    design = Design(runs_of(options), baseline, names_of(options.get("by")), None, "zero")
    significance = Significance("permutation", correction, family)
    resampling = Resampling.of(options)
    rows = table.rows
    setup = table.setup
    by = design.by
    example = "items.compare('coverage@10', runs=['bm25', 'ltr'], items=...)"
    calls = catalog_calls(metrics, setup, example)
    refuse_names([*COMPARED], by, "by")
    known = catalog_and_past(setup, rows.schema, unknown_items)
    measured = ItemMetrics(tuple(calls), known, setup.policies.relevant)

    def lists_of_run(of_run: Setup) -> pl.DataFrame:
        return lists_of(rows, of_run, by, measured.columns)

    of_runs = design.runs.each(rows, setup, lists_of_run)
    lists = known.catalog.within(of_runs)
    runs = two_or_more(design.runs.named(lists))
    query = design.runs.queries(setup).roles.query
    by_metric: list[list[tuple[object, ...]]] = [[] for _ in calls]
    with Progress("comparing runs", resampling.progress) as bar:
        pairs = design.pairs(runs)
        in_one_slice = RunsInSlices(query, runs, pairs, measured, resampling, bar)
        for where, part in in_slices(lists, keys(by)).items():
            for i, row in in_one_slice.compared(part):
                by_metric[i].append((*where, *row))
    every_row = [*chain.from_iterable(by_metric)]
    compared = table_of(every_row, by, lists.schema, COMPARED)
    settings = {"metrics": [call.text for call in calls], "test": significance.test}
    adjusted = significance.adjusted(compared)
    return CatalogComparison(table.give(adjusted), settings)


@dataclass(frozen=True)
class RunsInSlices:
    """Runs whose lists are compared slice by slice.

    Attributes
    ----------
    query
        The columns of users.
    runs, pairs
        The names of the runs, and the numbers of each baseline and run.
    metrics
        The metrics.
    resampling, progress
        The resamples of users, and their progress.
    """

    query: Sequence[str]
    runs: Sequence[str]
    pairs: Sequence[tuple[int, int]]
    metrics: ItemMetrics
    resampling: Resampling
    progress: Progress

    def compared(self, lists: pl.DataFrame) -> Iterator[tuple[int, tuple[object, ...]]]:
        """The number of a metric and its row for each pair of runs, in one slice."""
        runs = self.runs
        metrics = self.metrics
        resampling = self.resampling
        # A user to whom a run shows nothing has an empty list there.
        users = users_of(lists, self.query)
        n_users = users.height
        bar = self.progress
        each_run = [self._recount(lists, users, name) for name in runs]
        values = np.array([recount.plain() for recount in each_run])
        resampled = [resamples_of(recount, resampling, bar) for recount in each_run]
        for a, b in self.pairs:
            difference = values[b] - values[a]
            of_draws = resampled[b] - resampled[a]
            low, high = about(difference, of_draws, resampling.ci or 0.0, None)
            of_pair = self._recount(lists, users, runs[a], runs[b])
            p = _p_values(of_pair, difference, n_users, resampling, bar)
            for i, call in enumerate(metrics.calls):
                of_runs = call.text, runs[a], runs[b], values[a, i], values[b, i]
                tested = p[i], difference[i], low[i], high[i], p[i]
                yield i, (*of_runs, n_users, metrics.size, *tested)

    def _recount(self, lists: pl.DataFrame, users: pl.DataFrame, *names: str) -> Recount:
        """The lists of runs, for a weight of each user of the first run, then of the next."""
        query = self.query
        of_runs = [users.select(pl.lit(name).alias(RUN), *query) for name in names]
        rows = lists.filter(pl.col(RUN).is_in(names))
        return Recount(rows, [RUN, *query], pl.concat(of_runs), self.metrics)


def _p_values(
    of_pair: Recount, difference: Floats, n: int, resampling: Resampling, progress: Progress
) -> Floats:
    """The share of exchanges of users' lists that give differences as large as the observed ones.

    All exchanges are tried if there are no more of them than resamples; else random ones, the
    observed one included.
    """
    resamples = resampling.resamples
    if n < 63 and 2**n <= resamples:
        numbers = range(2**n)
        exchanges: Iterable[Integers] = (number >> np.arange(n) for number in numbers)
        n_observed = 0
    else:
        exchanges = each(partial(words, kind="<u1"), resamples, resampling.seed, n, progress)
        n_observed = 1
    least = np.abs(difference) * (1 - NOISE) - NOISE
    n_large = np.full(len(difference), n_observed)
    n_exchanges = n_observed
    for bits in exchanges:
        differences = _exchanged(of_pair, bits & 1)
        n_large += np.abs(differences) >= least
        n_exchanges += 1
    p = n_large / n_exchanges
    p[np.isnan(difference)] = np.nan
    return p


def _exchanged(of_pair: Recount, keeps: Integers) -> Floats:
    """The differences of two runs if only the users with a 1 keep their lists."""
    stays = keeps.astype(float)
    moves = 1 - stays
    a = of_pair.values(np.concatenate([stays, moves]))
    b = of_pair.values(np.concatenate([moves, stays]))
    return np.subtract(b, a)
