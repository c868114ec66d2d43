"""The metrics as a pure function of Arrow tables, which any engine with Arrow can run on its parts
of a table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from inspect import Signature, signature
from typing import TYPE_CHECKING, Annotated, ClassVar

import polars as pl

from .._catalog.call import Call
from .._catalog.fusions import fusion_of
from .._catalog.requests import Request, no_metric
from .._plan.per_query import needs_largest_label
from .._support.methods import called_by_users
from .._support.option_kinds import bind
from .._support.option_values import Range
from .._support.threads import use_polars
from .._table.runs import Runs
from .._table.setup import OPTIONS, Setup
from .._table.table import Whole, in_memory, refuse_same_name
from .._verbs.call.declaration import VerbCall, call_of_verb, verb_of
from .._verbs.fuse.fitted import FittedFusion
from .._verbs.fuse.fuse import SCORE, fuse
from .._verbs.measure.evaluate import evaluate
from ..errors import InvalidData, InvalidOption, option
from .engine import OnQueries

if TYPE_CHECKING:
    import pyarrow as pa


@called_by_users
def arrow_kernel(
    *metrics: Request,
    largest_label: Annotated[float, Range(least=0)] | None = None,
    fusion: str | FittedFusion[object] | None = None,
    runs: Sequence[str] | None = None,
    run: str | None = None,
    **options: object,
) -> ArrowKernel:
    """The metrics as a function from an Arrow table, with all rows of its queries, to a
    ``pyarrow.Table`` of values.

    The function keeps nothing between calls, can be pickled, and gives its output schema without
    running, so an engine can run it on the parts of a table.

    Parameters
    ----------
    *metrics
        Texts, functions and Polars aggregations, as for ``df.rank.evaluate``.
    largest_label
        The largest label of all parts of the table, for metrics that take it for the top of the
        label scale (``err`` without ``max_label``).
    fusion
        A method that fuses the rankings of several runs before the metrics are computed, as for
        ``df.rank.fuse``, also a trained one. Without metrics, the result is the fused run.
    runs, run
        The runs of the fusion: the columns of their scores. Or, with `run`, the column that names
        the run of each row, the names of the runs in all parts, in the order of their weights.
        Default of a trained fusion: those of its training.
    **options
        Column names and policies, as for ``df.rank.on``.

    Returns
    -------
    A function. Called with a ``pyarrow.Table``, or anything with the Arrow PyCapsule interface, it
    returns one row per query: the query columns in their own types (dictionary-encoded texts become
    plain), then a double per metric, null where Polars would have null. Its method
    ``schema(schema)`` returns the schema of the result for a table with the given schema.

    Raises
    ------
    UnknownMetric, InvalidOption
        If a text names no metric, or an option is out of its range. `arrow_kernel` raises them, not
        the function.

    Examples
    --------
    >>> import pyarrow as pa, rankframe as rf
    >>> kernel = rf.arrow_kernel("rr", relevant=2)
    >>> part = pa.table(
    ...     {"query_id": [1, 1], "doc_id": ["a", "b"], "score": [2.0, 1.0], "label": [1, 2]}
    ... )
    >>> kernel(part).to_pylist()
    [{'query_id': 1, 'rr': 0.5}]
    >>> kernel.schema(part.schema).names
    ['query_id', 'rr']
    """
    setup = bound(options, arrow_kernel)
    fusing = None if fusion is None else _fusing(setup, fusion, runs, run)
    if fusion is None and (runs is not None or run is not None):
        says = "runs are named to be fused, and no method is; say which, as in "
        raise InvalidOption(f"{says}arrow_kernel(fusion='rrf')")
    return kernel_of(setup, metrics, largest_label, fusing)


def _fusing(
    setup: Setup, fusion: str | FittedFusion[object], runs: Sequence[str] | None, run: str | None
) -> OnQueries:
    """The task that fuses the runs of a part."""
    method: Call | FittedFusion[object]
    names = Runs.of(runs, None).scores
    if isinstance(fusion, FittedFusion):
        method = fusion
        if not names and run is None:
            run = fusion.where.column
        names = tuple(fusion.matched(names))
    else:
        method = fusion_of(fusion)
    if not names:
        says = "a fusion needs the runs of the whole table: their columns of scores, as "
        columns = option(runs=["bm25", "dense"])
        as_column = option(run="system"), ", their names in that column"
        raise InvalidOption(says, columns, ", or, beside ", *as_column)
    chosen = Runs(names) if run is None else Runs.of(None, run)
    arguments = call_of_verb(fuse, fusion, run="").arguments
    call = VerbCall(verb_of(fuse), {**arguments, "method": method, "runs": chosen})
    return OnQueries(call, setup, Whole({}, None if run is None else names))


def bound(options: Mapping[str, object], caller: Callable[..., object]) -> Setup:
    """The setup of a caller's options, as `on` sets it."""
    from .ranker import MetricRanker  # imported late, as workers need no ranker

    of_caller = [x for x in signature(caller).parameters.values() if x.kind is x.KEYWORD_ONLY]
    # the caller has given those without a default
    given = [x.replace(default=...) if x.default is x.empty else x for x in of_caller]
    names = {x.name for x in of_caller}
    _, *of_on = signature(MetricRanker.on).parameters.values()
    others = [x for x in of_on if x.name not in names]
    unknown = {name: x for name, x in options.items() if name not in OPTIONS}
    bind(caller.__name__, Signature([*given, *others]), (), unknown)
    return Setup().on(**options)


def kernel_of(
    setup: Setup,
    metrics: Sequence[Request],
    largest_label: float | None = None,
    fusing: OnQueries | None = None,
) -> ArrowKernel:
    """The kernel of metrics under an existing setup."""
    requests = call_of_verb(evaluate, *metrics).requests
    if not requests and fusing is None:
        raise no_metric("arrow_kernel('ndcg@10')")
    return ArrowKernel(tuple(requests), setup, largest_label, fusing)


@dataclass(frozen=True)
class ArrowKernel:
    """A function of Arrow tables, with its metrics and policies; :func:`arrow_kernel` makes it.

    Attributes
    ----------
    requests
        The metrics, read and checked, and expressions.
    setup
        The roles of columns, and the policies.
    largest_label
        The largest label of the whole table, if it is known.
    fusing
        The task that fuses several runs first, if any.
    """

    requests: tuple[Call | pl.Expr, ...]
    setup: Setup
    largest_label: float | None = None
    fusing: OnQueries | None = None

    __name__: ClassVar[str] = "arrow_kernel"  # Ray reads it

    def __call__(self, table: object) -> pa.Table:
        """The values of the queries of a PyArrow table.

        Anything with the Arrow PyCapsule interface will do.

        Anything with the Arrow PyCapsule interface will do.
        """
        use_polars()
        arrow = as_table(table)
        names = self.needed(arrow.column_names)
        return self._result(read(arrow, names), arrow.schema)

    def schema(self, given: pa.Schema) -> pa.Schema:
        """The schema of the result for tables of a schema, whose columns are checked."""
        names = self.needed(given.names)
        return self._result(seen(given, names), given).schema

    def _result(self, frame: pl.DataFrame, given: pa.Schema) -> pa.Table:
        setup = self.setup
        if self.fusing is not None:
            self._refuse_unknown_runs(frame, self.fusing)
            frame = self.fusing(frame)
            if not self.requests:
                names = [name for name in self.fusing.kept if name in frame.columns]
                return as_arrow(frame, _types(given, names))
            of_query = self.fusing.call.runs.queries(setup)
            setup = of_query.changed(score=SCORE, ascending=False)
        self.refuse_unknown_top(frame.schema)
        labels = {}
        if self.largest_label is not None:
            labels[setup.roles.score] = self.largest_label
        values = self._evaluating.on(in_memory(frame, setup, Whole(labels)))
        return as_arrow(values, _types(given, setup.roles.query))

    def _refuse_unknown_runs(self, frame: pl.DataFrame, fusing: OnQueries) -> None:
        """Refuse a run that is not among the named runs of the whole table."""
        known = fusing.whole.runs
        runs = fusing.call.runs
        if known is None or runs.column not in frame.columns:
            return
        unknown = [name for name in runs.names(frame) if name not in known]
        if unknown:
            one = f"run {unknown[0]!r} of column {runs.column!r}"
            raise InvalidData(f"{one} is none of runs={list(known)!r}; name it there, too")

    @property
    def _evaluating(self) -> VerbCall:
        return call_of_verb(evaluate, *self.requests)

    def needed(self, names: Sequence[str]) -> list[str]:
        """The columns that the metrics, or the fusion before them, read, in the table's order."""
        if self.fusing is not None:
            needed = self.fusing.call.columns(self.fusing.setup)
        elif self._evaluating.reads_any:
            return list(names)  # a selector may mean any of them
        else:
            needed = self._evaluating.columns(self.setup)
        return [name for name in names if name in needed]

    def needs_largest_label(self, schema: pl.Schema) -> bool:
        """Whether a metric needs the largest label of the whole table, and it was not given."""
        if self.largest_label is not None:
            return False
        return needs_largest_label(self.setup, schema, self._evaluating.calls)

    def refuse_unknown_top(self, schema: pl.Schema) -> None:
        """Refuse to use the largest label of a part as that of the table."""
        if not self.needs_largest_label(schema):
            return
        first = self._evaluating.calls[0].text
        raise InvalidOption(
            "a metric needs the largest label of the whole table, of which this is a "
            f"part; pass it, as in arrow_kernel({first!r}, largest_label=4), or set "
            "the metric's max_label"
        )


def read(table: pa.Table, names: Sequence[str]) -> pl.DataFrame:
    """Columns of an Arrow table as a Polars frame."""
    for name in names:
        refuse_same_name(name, names.count(name))
    return pl.DataFrame(table.select(names))


def seen(given: pa.Schema, names: Sequence[str]) -> pl.DataFrame:
    """An empty frame with all columns of a schema; columns that are not named have type Null."""
    known = read(given.empty_table(), names)
    nothing = pl.Series([], dtype=pl.Null)
    columns = {name: known[name] if name in known.columns else nothing for name in given.names}
    return pl.DataFrame(columns)


def as_table(given: object) -> pa.Table:
    """Convert an object with the Arrow PyCapsule interface to a PyArrow table."""
    import pyarrow as pa

    if isinstance(given, pa.Table):
        return given
    if isinstance(given, pl.DataFrame):
        return given.to_arrow()
    is_column = isinstance(given, (pl.Series, pa.ChunkedArray))
    if hasattr(given, "__arrow_c_stream__") and not is_column:
        return pa.table(given)
    advice = "give a pyarrow.Table, or what has __arrow_c_stream__"
    if isinstance(given, pl.LazyFrame):
        advice = "collect it"
    raise InvalidData(f"{type(given).__name__} is no Arrow table; {advice}")


def as_arrow(result: pl.DataFrame, types: Mapping[str, pa.DataType]) -> pa.Table:
    """A result as an Arrow table; some columns keep the type that they had in the input."""
    import pyarrow as pa

    table = result.to_arrow(compat_level=pl.CompatLevel.oldest())
    fields = []
    for field in table.schema:
        kind = types.get(field.name, field.type)
        is_coded = field.name in types and pa.types.is_dictionary(kind)
        fields.append(pa.field(field.name, kind.value_type if is_coded else kind))
    return table.cast(pa.schema(fields))


def _types(schema: pa.Schema, names: Iterable[str]) -> dict[str, pa.DataType]:
    """The types of some columns of a schema."""
    return {name: schema.field(name).type for name in names}
