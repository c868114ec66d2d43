"""The metrics as one pure function of Arrow tables, which every engine that has Arrow can run on its parts of a table."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import polars as pl

from .._catalog.call import Call
from .._plan.per_query import Frame, needs_largest_label
from .._rankers.misplaced_options import options_of, refuse_unknown
from .._table.policies import is_number
from .._table.setup import OPTIONS, Setup
from .._verbs import verbs
from .._verbs.declaration import verb_of
from ..errors import InvalidData, InvalidOption, called_by_users

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["ArrowKernel", "arrow_kernel", "as_arrow", "bound", "kernel_of", "seen"]


@called_by_users
def arrow_kernel(*metrics: verbs.Request, largest_label: float | None = None, **options: Any) -> ArrowKernel:
    """The metrics as a function from an Arrow table that holds whole queries to a ``pyarrow.Table`` of their values.

    It keeps nothing between calls, can be pickled, and knows its output schema without running: what an engine asks of
    a function that it runs on the parts of a table.

    Parameters
    ----------
    *metrics
        Texts, functions and Polars aggregations, as for ``df.rank.evaluate``.
    largest_label
        The largest label of the whole table, for metrics that take it for the top of the label scale (``err`` without
        ``max_label``); a part of the table does not show it.
    **options
        Column names and policies, as for ``df.rank.on``.

    Returns
    -------
    A function. Called with a ``pyarrow.Table``, or anything with the Arrow PyCapsule interface, it gives one row per query: the query columns in the type they came in (texts that
    were dictionary-encoded are plain), then a double per metric, null where Polars would have null. ``schema(schema)``
    is the schema of the result for a table with the given one.

    Raises
    ------
    UnknownMetric, InvalidOption
        If a text names no metric, or an option is out of its range; here, not when the function is called.

    Examples
    --------
    >>> import pyarrow as pa, rankframe as rf
    >>> kernel = rf.arrow_kernel("rr", relevant=2)
    >>> part = pa.table({"query_id": [1, 1], "doc_id": ["a", "b"], "score": [2.0, 1.0], "label": [1, 2]})
    >>> kernel(part).to_pylist()
    [{'query_id': 1, 'rr': 0.5}]
    >>> kernel.schema(part.schema).names
    ['query_id', 'rr']
    """
    setup = bound(options, arrow_kernel)
    if largest_label is not None:
        if not is_number(largest_label) or not 0 <= largest_label < float("inf"):
            raise InvalidOption(f"largest_label={largest_label!r}: write the largest label of the table, 0 or more")
        largest_label = float(largest_label)
    return kernel_of(setup, metrics, largest_label)


def bound(options: Mapping[str, Any], caller: Callable[..., Any]) -> Setup:
    """Column names and policies, as `on` binds them, among the options of a caller."""
    refuse_unknown(caller.__name__, options, [*options_of(caller), *OPTIONS])
    return Setup().on(**options)


def kernel_of(setup: Setup, metrics: Sequence[verbs.Request], largest_label: float | None = None) -> ArrowKernel:
    """The kernel of metrics over columns and policies that are bound already."""
    requests: list[Call | pl.Expr] = []
    for request in metrics:
        requests += [request] if isinstance(request, pl.Expr) else verbs.calls_of(request)
    if not requests:
        raise InvalidOption("no metric given; name at least one, as in 'ndcg@10'")
    return ArrowKernel(tuple(requests), setup, largest_label)


@dataclass(frozen=True)
class ArrowKernel:
    """Metrics and policies, as a function of Arrow tables; what :func:`arrow_kernel` makes.

    Attributes
    ----------
    requests
        The metrics, read and checked, and expressions.
    setup
        The roles of columns, and the policies.
    largest_label
        The largest label of the whole table, if it is known.
    """

    requests: tuple[Call | pl.Expr, ...]
    setup: Setup
    largest_label: float | None = None

    __name__: ClassVar[str] = "arrow_kernel"  # Ray reads it

    def __call__(self, table: Any) -> pa.Table:
        """The values of the queries of a PyArrow table, or of anything with the Arrow PyCapsule interface."""
        table = as_table(table)
        frame = read(table, self.needed(table.column_names))
        self.refuse_unknown_top(frame.schema)
        return as_arrow(
            verbs.evaluate(frame, self.setup, *self.requests, largest_label=self.largest_label),
            self._types(table.schema),
        )

    def schema(self, given: pa.Schema) -> pa.Schema:
        """The schema of the result for tables with the schema `given`, whose columns are checked."""
        import pyarrow as pa

        if not isinstance(given, pa.Schema):
            raise InvalidData(f"{type(given).__name__} is no Arrow schema; give a pyarrow.Schema, as table.schema is")
        frame = seen(given, self.needed(given.names))
        self.refuse_unknown_top(frame.schema)
        return as_arrow(
            verbs.evaluate(frame, self.setup, *self.requests, largest_label=self.largest_label), self._types(given)
        ).schema

    @property
    def calls(self) -> list[Call]:
        """The metrics without the expressions."""
        return [request for request in self.requests if isinstance(request, Call)]

    def needed(self, names: Sequence[str]) -> list[str]:
        """Those of a table's columns that the metrics read, in the table's order."""
        evaluate = verb_of(verbs.evaluate)
        if evaluate.reads_any(self.requests):
            return list(names)  # a selector may mean any of them
        needed = evaluate.columns(self.setup, self.requests)
        return [name for name in names if name in needed]

    def needs_largest_label(self, schema: pl.Schema) -> bool:
        """Whether the largest label of the whole table counts, and was not said."""
        return self.largest_label is None and needs_largest_label(self.setup, schema, self.calls)

    def refuse_unknown_top(self, schema: pl.Schema) -> None:
        """Refuse to take the largest label of a part for that of the table."""
        if self.needs_largest_label(schema):
            raise InvalidOption(
                "a metric asks for the largest label of the table, of which this is a part; say it, as in "
                f"arrow_kernel({self.calls[0].text!r}, largest_label=4), or give the metric its max_label"
            )

    def _types(self, given: pa.Schema) -> dict[str, pa.DataType]:
        return {name: given.field(name).type for name in self.setup.roles.query}


def read(table: pa.Table, names: Sequence[str]) -> pl.DataFrame:
    """Columns of a table, as Polars holds them."""
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise InvalidData(f"{names.count(twice[0])} columns are named {twice[0]!r}; give each a name of its own")
    return pl.DataFrame(table.select(names))


def seen(given: pa.Schema, names: Sequence[str]) -> pl.DataFrame:
    """An empty frame with all columns of a schema; those that are not named hold nothing."""
    found = read(given.empty_table(), names)
    return pl.DataFrame(
        {name: found[name] if name in found.columns else pl.Series([], dtype=pl.Null) for name in given.names}
    )


def as_table(given: Any) -> pa.Table:
    """A PyArrow table of what speaks Arrow."""
    import pyarrow as pa

    if isinstance(given, pa.Table):
        return given
    if isinstance(given, pl.DataFrame):
        return given.to_arrow()
    if hasattr(given, "__arrow_c_stream__") and not isinstance(given, (pl.Series, pa.ChunkedArray)):
        return pa.table(given)
    way = "collect it" if isinstance(given, pl.LazyFrame) else "give a pyarrow.Table, or what has __arrow_c_stream__"
    raise InvalidData(f"{type(given).__name__} is no Arrow table; {way}")


def as_arrow(result: Frame, types: Mapping[str, pa.DataType]) -> pa.Table:
    """A result as Arrow, some of its columns in the types that they came in."""
    import pyarrow as pa

    table = result.lazy().collect().to_arrow(compat_level=pl.CompatLevel.oldest())
    plain = {name: x.value_type if pa.types.is_dictionary(x) else x for name, x in types.items()}
    return table.cast(pa.schema([pa.field(x.name, plain.get(x.name, x.type)) for x in table.schema]))
