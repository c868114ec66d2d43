"""What differs between the versions of Polars that are supported: all of it is here."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from inspect import signature
from typing import Any, Protocol, TypeVar

import polars as pl

from ..errors import RankframeError

OLDEST = (1, 40)
"""The oldest Polars: those before cannot read a file's lines, which takes more than a few lines
here."""


def release(version: str) -> tuple[int, ...]:
    """The first two numbers of a version."""
    return tuple(map(int, version.split(".")[:2]))


def refuse_older_polars(version: str = pl.__version__) -> None:
    """Refuse a Polars that is too old, at the import of the package."""
    if release(version) < OLDEST:
        oldest = ".".join(map(str, OLDEST))
        needs = f"rankframe needs Polars {oldest} or later, and {version} is installed"
        raise ImportError(f"{needs}; write pip install --upgrade polars")


refuse_older_polars()

BEFORE_2 = release(pl.__version__) < (2, 0)
WRAPS_ERRORS = BEFORE_2
"""Whether an error of a source comes as Polars' own, which holds its text."""

SOURCES_HOLD_THREADS = release(pl.__version__) < (1, 42)
"""Whether several sources of a plan in memory hold all of Polars' threads, so that others wait for
ever."""

FIELDS_PANIC_IN_GROUPS = release(pl.__version__) < (1, 44)
"""Whether `struct.with_fields` panics in a group."""

OTHER = "#other"
"""A column that an expression does not read."""

Exploded = TypeVar("Exploded", pl.DataFrame, pl.LazyFrame, pl.Expr, pl.Series)


class Source(Protocol):
    """Yields the frames of a node of a plan.

    It gives the columns, and the rows that a predicate and a number leave.
    """

    def __call__(
        self,
        names: list[str] | None,
        predicate: pl.Expr | None,
        n_rows: int | None,
        batch: int | None,
        /,
    ) -> Iterator[pl.DataFrame]: ...


def exploded(lists: Exploded, *columns: str) -> Exploded:
    """A row for each value of lists, and a null for an empty one, in any version."""
    return lists.explode(*columns, empty_as_null=True)


def io_source(read: Source, schema: Mapping[str, Any], name: str) -> pl.LazyFrame:
    """A node of a plan that reads from Python, named in `explain` where Polars shows names."""
    from polars.io.plugins import register_io_source

    options: dict[str, Any] = {}
    if "explain_name" in signature(register_io_source).parameters:
        options["explain_name"] = name
    reads = _keeping_errors(read) if WRAPS_ERRORS else read
    return register_io_source(reads, schema=dict(schema), is_pure=True, **options)


_wrapped: deque[RankframeError] = deque(maxlen=8)
"""The last errors of sources that Polars wrapped, until they are raised as they were."""


def _keeping_errors(read: Source) -> Source:
    def reads(*asked: Any) -> Iterator[pl.DataFrame]:
        try:
            with own_errors():
                yield from read(*asked)
        except RankframeError as error:
            _wrapped.append(error)
            raise

    return reads


@contextmanager
def own_errors() -> Iterator[None]:
    """Raise the error of a source as it was, where Polars wraps it."""
    try:
        yield
    except pl.exceptions.ComputeError as error:
        wrapped = [source_error for source_error in _wrapped if str(source_error) in str(error)]
        if not wrapped:
            raise
        _wrapped.remove(wrapped[-1])
        raise wrapped[-1] from None


def collected(plan: pl.LazyFrame) -> pl.DataFrame:
    """The rows of a plan, by the streaming engine; an error of a source is raised as it was."""
    with own_errors():
        return plan.collect(engine="streaming")


def of_one(x: pl.Expr, function: Callable[[pl.Expr], pl.Expr]) -> pl.Expr:
    """What a function makes of an expression that it names often, which is computed once."""
    if FIELDS_PANIC_IN_GROUPS:
        return function(x)
    made = function(pl.field("x"))
    return pl.struct(x=x).struct.with_fields(made=made).struct.field("made")


def sorted_in_group(x: pl.Expr, key: pl.Expr, descending: bool) -> pl.Expr:
    """An expression of a group, sorted by a key that is made of the whole group."""
    if BEFORE_2:  # else another group's key sorts it, where groups come in no order
        x = x.shift(0)
    return x.sort_by(key, descending=descending, maintain_order=True)


def is_by_row(x: pl.Expr) -> bool | None:
    """Whether an expression is computed row by row; None if it cannot be known."""
    tells = _each_part_is_by_row if hasattr(x.meta, "is_row_separable") else _lets_a_filter_pass
    try:
        return tells(x)
    except pl.exceptions.PolarsError:  # a Python function, or a field of a struct
        return None


def _each_part_is_by_row(x: pl.Expr) -> bool | None:
    meta = x.meta
    if meta.is_column():
        return True
    if not meta.is_row_separable():
        return False
    parts = [is_by_row(part) for part in meta.pop()]
    return None if None in parts and False not in parts else all(parts)


def _lets_a_filter_pass(x: pl.Expr) -> bool | None:
    """Whether the optimizer filters rows before the expression, as it may where it is by row."""
    if "python_udf" in str(x):
        return None
    names = [OTHER, *x.meta.root_names()]
    rows = pl.LazyFrame(schema=dict.fromkeys(names, pl.Null))
    with_value = rows.with_columns(x.alias("#value"))
    plan = with_value.filter(pl.col(OTHER).cast(pl.Boolean)).explain()
    return not plan.startswith("FILTER")
