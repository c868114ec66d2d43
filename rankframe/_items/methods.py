"""Verbs of the items that all users are shown, as methods of a ranker: their options and documentation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import partial
from typing import Annotated, Any, Protocol, TypeVar, cast

from .._catalog.requests import Request
from .._decisions.compare import Significance
from .._decisions.paired_values import Design
from .._decisions.resampling import Resampling
from .._decisions.runs import RunnerOfRuns, Runs, TheRuns, names_of
from .._support.option_kinds import Column, Columns, ReadInside
from .._support.statistical_options import Correction, Family
from .._text.displays import catalog_pairs, with_display
from .._verbs.methods import Runner
from . import catalog as _catalog
from . import compare as _compare
from . import exposure as _exposure
from . import gaps as _gaps
from . import without as _without
from .catalog_and_past import Unknown
from .gaps import Gaps
from .parts import ItemCounts

R = TypeVar("R")
S = TypeVar("S")
T = TypeVar("T")


class Worker(Protocol):
    """A ranker for methods whose results are not frames."""

    def _work(self, work: Callable[..., T], names: Sequence[str], *args: object) -> T:
        """Return the result of `work` on the table, a Polars DataFrame."""
        ...


def _beside(ranker: S, items: object, interactions: object) -> S:
    """The ranker with these tables; a table that is None stays as set by `on`."""
    bound: S = cast(Any, ranker)._on({"items": items, "interactions": interactions})
    return bound


def exposure(
    ranker: Runner[R], k: int | None = None, *, weight: Annotated[str, ReadInside] = "count", by: Columns | None = None
) -> R:
    """The number of users that each item is shown to, and its exposure: one row per item.

    Parameters
    ----------
    k
        The depth of the lists; ``None`` takes whole lists.
    weight
        How much a rank exposes its item: ``"count"``, 1; ``"log2"``, 1 / log2(rank + 1); ``"rbp(p=0.8)"``,
        (1 - p) p^(rank - 1), the probability that a user who goes on with probability p looks there last.
    by
        The column, or columns, whose values slice the users, as for :meth:`summarize`.

    Returns
    -------
    A frame with the slice's columns, the item, ``shown`` (UInt32, the number of users who are shown it), ``exposure``
    (Float64, the weights of its ranks added up over users), ``share`` (Float64, from 0 to 1, of the exposure of all items of
    the slice) and ``relevant_shown`` (UInt32, the number of users who are shown it and to whom it is relevant; null if the
    table has no labels). Items that nobody is shown have no row. Sorted by slice, then by falling exposure, then by item.

    Raises
    ------
    InvalidOption
        If no column names the items, or the weight or the depth is invalid.
    InvalidData
        If an item that is shown is null, a label is NaN or infinite, or a user has several values of a slice.

    See Also
    --------
    catalog : coverage, Gini and other numbers of the same lists.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame({"query_id": [1, 1, 2], "doc_id": ["a", "b", "b"], "score": [2.0, 1, 1], "label": [0, 1, 0]})
    >>> found = df.rank.exposure(k=10)
    >>> found["doc_id"].to_list(), found["shown"].to_list(), found["relevant_shown"].to_list()
    (['b', 'a'], [2, 1], [1, 0])
    """
    return ranker._run(_exposure.exposure, _exposure.Weighing.of(k, weight), names_of(by))


def catalog(
    ranker: Runner[R],
    *metrics: Request,
    items: object = None,
    interactions: object = None,
    by: Columns | None = None,
    ci: float | None = 0.95,
    unknown_items: Unknown = "error",
    resamples: int = 1_000,
    seed: int = 0,
    progress: bool = True,
) -> R:
    """Metrics of the items that all users are shown, as coverage and Gini: one row per slice and metric.

    Parameters
    ----------
    *metrics
        Texts, as ``"coverage@10"`` or ``"gini(normalized=True)@10"``, of the metrics in ``rf.CATALOG_METRICS``; functions
        declared with ``@rf.catalog_metric``.
    items
        The catalog, which coverage and Gini need: the number of its items, a frame with the column of items, or a list of
        their ids; for metrics of groups of items a frame, with the column that ``on(group=...)`` names. Default: that of
        ``on(items=...)``. It is never taken from the lists, which lack the items that nobody is shown.
    interactions
        The past choices of users, which ``popularity_lift``, ``rsp``, ``reo``, ``bias_disparity`` and the options `head` and
        `tail` need: a frame with the columns of users and items; repeated pairs count once. Default: that of
        ``on(interactions=...)``.
    by
        The column, or columns, whose values slice the users, as for :meth:`summarize`, such as that of the runs.
    ci
        The confidence of the intervals. ``None`` for no intervals and no resampling.
    unknown_items
        Items that are shown, but are not in the catalog: ``"error"`` refuses them, ``"drop"`` does not count them; the
        other items keep their ranks.
    resamples
        The number of resamples of the users of a slice; all metrics share the same draws.
    seed
        The seed of the draws. Equal seeds give equal intervals, for any order of the rows.
    progress
        Whether long computations show a progress bar; only on a terminal, and only if ``rich`` is installed.

    Returns
    -------
    A frame with the slice's columns, ``metric``, ``value`` (Float64; null where it is not defined, as the Gini index of
    empty lists), ``ci_low`` and ``ci_high`` (Float64; null for fewer than two users; left out with ``ci=None``),
    ``n_queries`` (UInt32, the users of the slice, including users who are shown nothing) and ``n_items`` (Int64, the
    items of the catalog; null if it is not known). Slices are in the order of their first rows.

    Raises
    ------
    InvalidOption
        If a metric needs `items`, `interactions` or groups of items, or no column names the items.
    MissingColumn
        If a metric reads labels, and the table has none.
    InvalidData
        If an item is shown that the catalog lacks, an item that is shown is null, ids of two tables have different types, a
        user has several values of a slice, or a metric reads a label that is NaN or infinite.

    See Also
    --------
    exposure : the table that these metrics are computed from.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame({"query_id": [1, 1, 2, 2], "doc_id": list("abac"), "score": [2.0, 1, 2, 1]})
    >>> found = df.rank.catalog("coverage@1", "coverage@2", items=4)     # a; a, b and c
    >>> found["metric"].to_list(), found["value"].to_list()
    (['coverage@1', 'coverage@2'], [0.25, 0.75])
    """
    resampling = Resampling(ci, "percentile", resamples, seed, progress)
    bound = _beside(ranker, items, interactions)
    return bound._run(_catalog.catalog, names_of(by), unknown_items, resampling, *metrics)


def compare_catalog(
    ranker: RunnerOfRuns[R],
    *metrics: Request,
    items: object = None,
    interactions: object = None,
    runs: TheRuns | None = None,
    run: Column | None = None,
    baseline: Column | None = None,
    correction: Correction | None = "holm",
    family: Family = "all",
    by: Columns | None = None,
    ci: float = 0.95,
    unknown_items: Unknown = "error",
    resamples: int = 1_000,
    seed: int = 0,
    progress: bool = True,
) -> R:
    """Compare two or more runs by metrics of the whole table, such as coverage, on the same users.

    Parameters
    ----------
    *metrics, items, interactions, unknown_items
        As for :meth:`catalog`.
    runs, run, baseline, correction, family
        As for :meth:`compare`.
    by
        The column, or columns, whose values slice the users, as for :meth:`summarize`.
    ci
        The confidence of the interval of each difference; users are resampled, the same ones for all runs.
    resamples
        The number of resamples, and of random exchanges in the permutation test, which exchanges the lists of some
        users between two runs. If there are at most `resamples` ways to exchange them, all ways are tried.
    seed, progress
        As for :meth:`catalog`.

    Returns
    -------
    A frame with the slice's columns, ``metric``, ``baseline``, ``run``, ``baseline_value``, ``value`` (Float64),
    ``n_queries`` (UInt32, the users of all runs; a user whom a run shows nothing has an empty list), ``n_items`` (Int64,
    the items of the catalog; null if it is not known), ``p_value`` (two-sided), ``difference`` (``value`` less
    ``baseline_value``), its interval from ``ci_low`` to ``ci_high``, and ``p_adjusted`` (all Float64). A notebook shows
    it as a table like that of :meth:`compare`. A LazyFrame is collected first.

    Raises
    ------
    InvalidOption, InvalidData
        If there are fewer than two runs, or no such baseline; and as for :meth:`catalog`.

    Examples
    --------
    The old run shows all eight users the same item first, the new one shows each user another item: of the 256 ways to
    exchange their lists, only the two that give all lists of one kind to one run differ as much.

    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame({"query_id": [*range(8)] * 2, "doc_id": [0] * 8 + [*range(1, 9)],
    ...     "old": [1] * 8 + [0] * 8, "new": [0] * 8 + [1] * 8})
    >>> found = df.rank.compare_catalog("coverage@1", items=20, runs=["old", "new"])
    >>> found["baseline_value"].item(), found["value"].item(), found["p_value"].item()       # 1/20, 8/20, 2/256
    (0.05, 0.4, 0.0078125)
    """
    design = Design(Runs.of(runs, run), baseline, names_of(by), None, "zero")
    significance = Significance("permutation", correction, family)
    resampling = Resampling(ci, "percentile", resamples, seed, progress)
    options = significance, resampling, unknown_items
    bound = _beside(ranker, items, interactions)
    found = bound._of(design.runs)._run(_compare.compare_catalog, design, *options, *metrics)
    return with_display(found, partial(catalog_pairs, settings={"by": design.by, "ci": ci, **asdict(significance)}))


def item_counts(
    ranker: Worker,
    *metrics: Request,
    items: object = None,
    interactions: object = None,
    by: Columns | None = None,
    unknown_items: Unknown = "error",
) -> ItemCounts:
    """The counts of items of a part of a table, such as a day, which merge by addition to catalog metrics of the whole.

    Parameters
    ----------
    *metrics, items, interactions, by, unknown_items
        As for :meth:`catalog`; the same for all parts.

    Returns
    -------
    A :class:`rankframe.ItemCounts`. Its ``merge`` adds the counts of other parts. Its ``catalog()`` returns the table
    that :meth:`catalog` with ``ci=None`` returns for all parts together, if each part has all rows of its users. Users
    of different parts count as different users, whatever their ids. A LazyFrame is collected first.

    Raises
    ------
    InvalidOption, InvalidData
        As for :meth:`catalog`.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> monday = pl.DataFrame({"query_id": [1, 1], "doc_id": ["a", "b"], "score": [2.0, 1]})
    >>> tuesday = pl.DataFrame({"query_id": [2, 2], "doc_id": ["a", "c"], "score": [2.0, 1]})
    >>> counts = [day.rank.item_counts("coverage@2", "gini@2", items=4) for day in (monday, tuesday)]
    >>> found = counts[0].merge(counts[1]).catalog()
    >>> found["metric"].to_list(), found["value"].to_list()
    (['coverage@2', 'gini@2'], [0.75, 0.375])
    """
    bound = _beside(ranker, items, interactions)
    return bound._work(_catalog.item_counts, names_of(by), names_of(by), unknown_items, *metrics)


def without(ranker: Runner[R], train: object) -> R:
    """The rows whose item the user did not choose before: recommendations without the items seen in training.

    Parameters
    ----------
    train
        A frame with the columns of users and items, under the table's names. If it lacks a query column, such as the
        column of runs, its pairs hold for all values of this column.

    Returns
    -------
    The caller's rows in their order, except the rows whose user and item are a pair in `train`. If all rows of a user
    are such pairs, no row of the user is left. The rows of a lazy frame have no defined order.

    Raises
    ------
    MissingColumn, InvalidData, InvalidOption
        If a column is missing, ids of the two tables have different types, or `train` is no frame.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame({"query_id": [1, 1, 2], "doc_id": ["a", "b", "a"], "score": [2.0, 1, 1]})
    >>> unseen = df.rank.without(pl.DataFrame({"query_id": [1], "doc_id": ["a"]}))
    >>> unseen["query_id"].to_list(), unseen["doc_id"].to_list()
    ([1, 2], ['b', 'a'])
    """
    return ranker._run(_without.without, train)


def gaps(
    ranker: Runner[R],
    *metrics: Request,
    by: Columns,
    correction: Correction | None = "holm",
    ci: float = 0.95,
    resamples: int = 1_000,
    seed: int = 0,
    progress: bool = True,
) -> Gaps[R]:
    """Gaps between groups of users: how far the groups' means of each metric are apart, and whether that may be chance.

    Parameters
    ----------
    *metrics
        Texts and functions, as for :meth:`evaluate`.
    by
        The column, or columns, whose values tell the groups apart, as for :meth:`summarize`; null is a group, too.
    correction
        The correction of the p-values of several metrics, as for :meth:`compare`.
    ci
        The confidence of the intervals, for which users are resampled inside their groups. The intervals take into
        account that the data determine the best and the worst group.
    resamples
        The number of resamples, and of random assignments of users to groups in the permutation test.
    seed
        The seed of the draws. Equal seeds give equal results, for any order of the rows.
    progress
        Whether long computations show a progress bar; only on a terminal, and only if ``rich`` is installed.

    Returns
    -------
    A :class:`rankframe.Gaps`, whose ``table`` and ``groups`` are frames of the caller's kind. A LazyFrame is collected
    first. Users without a value do not count. No interval if a group has a single user.

    The p-values of a metric's four figures test the same hypothesis, that groups do not differ: choose one figure
    before you look at the results.

    Raises
    ------
    InvalidData
        If all users are in one group, or a user has several values of `by`.

    References
    ----------
    Ekstrand, Tian, Azpiazu, Ekstrand, Anuyah, McNeill, Pera, All the cool kids, how do they fit in?, FAT* 2018. The means
    of absolute differences are those of Deldjoo, Anelli, Zamani, Bellogin, Di Noia, A flexible framework for evaluating
    user and item fairness in recommender systems, UMUAI 31, 2021.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame({"query_id": [*range(8)], "score": [1] * 8, "label": [1] * 5 + [0] * 3,
    ...     "age": ["old"] * 4 + ["young"] * 4})
    >>> table = df.rank.gaps("rr", by="age").table               # of the means 1 and 1/4
    >>> table["gap"].to_list()[:2], table["value"].to_list()[:2], table["best"][0]
    (['difference', 'ratio'], [0.75, 0.25], 'old')
    """
    groups = _gaps.Groups(names_of(by), correction)
    resampling = Resampling(ci, "auto", resamples, seed, progress)
    return cast("Gaps[R]", ranker._run(_gaps.gaps, groups, resampling, *metrics))
