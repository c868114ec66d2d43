"""The declaration of metrics of the whole table, which see the lists of all users."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, overload

from .._support.methods import called_by_users
from ..errors import InvalidOption
from .registry import Bounds, F, Metric, list_catalog_metric, refuse_no_function


@overload
def catalog_metric(formula: F, /) -> F: ...
@overload
def catalog_metric(
    *aliases: str,
    display: str | None = None,
    bounds: Bounds = (0, None),
    higher_is_better: bool = True,
    spellings: Mapping[str, Mapping[str, object]] | None = None,
    labels: bool | Callable[..., bool] = False,
) -> Callable[[F], F]: ...
@called_by_users
def catalog_metric(
    *aliases: Any,
    display: str | None = None,
    bounds: Bounds = (0, None),
    higher_is_better: bool = True,
    spellings: Mapping[str, Mapping[str, object]] | None = None,
    labels: bool | Callable[..., bool] = False,
) -> Any:
    """Declare a function from the exposure of items to one number as a metric of the whole table.

    ``df.rank.items.catalog`` and ``df.rank.items.compare`` then take its text, with cutoff and options, or the function
    itself. Its options are checked like those of ``@rf.metric``. A later function of the same name replaces the first;
    ``rf.unregister`` removes it.

    Parameters
    ----------
    *aliases
        Other names of the metric.
    display
        The name as people write it. Default: the function's own.
    bounds
        The least and the greatest value; ``None`` for no limit. Intervals stay within them.
    higher_is_better
        False if lower values are better.
    spellings
        Other tools' names that mean this metric with options set.
    labels
        True if the formula reads labels: a table without labels is then refused. May be a function of the options.

    Raises
    ------
    InvalidOption
        If another such metric has one of the names, or a name is no text.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> @rf.catalog_metric(bounds=(0, 1), higher_is_better=False)
    ... def once_only(e: rf.Exposure, k: int | None = None) -> pl.Expr:
    ...     "The share of the items shown that a single user was shown."
    ...     return (e.shown(k) == 1).sum() / (e.shown(k) > 0).sum()
    >>> df = pl.DataFrame({"query_id": [1, 1, 2, 2], "doc_id": list("abac"), "score": [2.0, 1, 2, 1]})
    >>> df.rank.items.catalog("once_only@2", ci=None).row(0, named=True)
    {'metric': 'once_only@2', 'value': 0.6666666666666666, 'n_queries': 2, 'n_items': None}
    >>> rf.unregister("once_only")
    """
    alone = next(iter(aliases), None) if len(aliases) == 1 and callable(aliases[0]) else None
    names = () if alone is not None else aliases
    for name in (*names, *([] if display is None else [display])):
        if not isinstance(name, str):
            raise InvalidOption(
                f"{name!r} is no name of a metric; write names as texts, as @rf.catalog_metric('reach')"
            )

    @called_by_users
    def register(formula: F) -> F:
        refuse_no_function(formula, "catalog_metric")
        own = formula.__name__
        options: dict[str, Any] = {"bounds": bounds, "higher_is_better": higher_is_better, "display": display}
        options |= {"spellings": dict(spellings or {}), "labels": labels}
        list_catalog_metric(Metric(own, formula, names, **options))
        return formula

    return register if alone is None else register(alone)
