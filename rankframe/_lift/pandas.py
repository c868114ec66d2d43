"""`.rank` on pandas frames: options and errors in the words of pandas."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from types import FunctionType, MethodType
from typing import TYPE_CHECKING, Any

import pandas as pd

from .._table.roles import ROLES, of_lists
from .._table.setup import Setup
from .._table.table import Whole
from .._verbs.call.declaration import VerbCall
from ..errors import Advice, MissingColumn, Text, with_code_of
from ..plot import Plots
from .display import Shown
from .pandas_columns import text_of
from .pandas_tables import SHAPES, OnPandas, in_pandas, levels_of, lists_of
from .ranker import Ranker

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class PandasRanker(Ranker[pd.DataFrame]):
    """The rankings of a pandas frame; results are pandas frames in memory of their own.

    Results per query are indexed by the query, results per document by the caller's own index.
    """

    _examples: Sequence[tuple[str, str]] = (
        ("import polars as pl", "import pandas as pd"),
        ("pl.DataFrame(", "pd.DataFrame("),
    )
    _gives = (
        "One row per query, indexed by the query: the metric, named by its canonical text, "
        "as ``ndcg@10``; several cutoffs, as ``k=[5, 10]``, give a column each."
    )
    _library = "pandas "

    def __init__(self, frame: pd.DataFrame, setup: Setup = Setup()) -> None:  # noqa: B008 - frozen
        super().__init__(setup)
        self._frame = frame

    def _on(self, options: Mapping[str, object]) -> PandasRanker:
        named = {}
        for name, value in options.items():  # labels of columns may be numbers
            named[name] = _as_text(value) if name in ROLES else value
        with of_pandas(self._frame):
            return super()._on(named)

    def _with(self, setup: Setup) -> PandasRanker:
        return PandasRanker(self._frame, setup)

    def _run(self, call: VerbCall, whole: Whole | None = None) -> Any:
        shape = SHAPES[call.verb.gives]
        with of_pandas(self._frame):
            return shape(OnPandas(self._frame, self._setup, call, whole))

    @property
    def plot(self) -> Plots[Axes]:  # type: ignore[override]
        return Plots(self, "matplotlib")

    @property
    def _kind(self) -> type[pd.DataFrame]:
        return pd.DataFrame

    def _table(self) -> tuple[str, Sequence[str] | None]:
        columns = [text_of(label) for label in self._frame.columns]
        size = f"{len(self._frame):,} rows, {len(columns)} columns"
        return size, [*columns, *self._levels()]

    def _levels(self) -> Sequence[str]:
        columns = {*map(text_of, self._frame.columns)}
        return [*levels_of(self._frame, columns)]


class RankMethod(PandasRanker):
    """The rankings of a pandas frame; a call, ``df.rank(...)``, is pandas' own method, which ranks
    values.

    Results are pandas frames in memory of their own: those per query are indexed by the query,
    those per document by the caller's own index.
    """

    # the arguments are those of MethodType
    def __init__(self, method: FunctionType, frame: pd.DataFrame) -> None:
        super().__init__(frame)
        self._method = MethodType(method, frame)
        self.__module__ = method.__module__
        # else the annotations of the class are found
        self.__annotations__ = method.__annotations__

    if not TYPE_CHECKING:

        @property
        def __class__(self) -> type:
            return MethodType

    @property
    def __call__(self) -> MethodType:
        # a property, so that warnings and tracebacks show no frame of ours
        return self._method

    def _later(self, name: str) -> Any:
        if name.startswith("__"):
            return getattr(self._method, name)
        return super()._later(name)

    def __eq__(self, other: object) -> bool:
        method = other._method if type(other) is type(self) else other
        return bool(self._method == method)

    def __hash__(self) -> int:
        return hash(self._method)

    @property
    def _own_help(self) -> str:  # type: ignore[override]
        title = "df.rank(...), the method of pandas"
        line = "-" * len(title)
        doc = inspect.getdoc(self._method)
        return f"{title}\n{line}\nAlso shown by help(pd.DataFrame.rank).\n\n{doc}"

    def __reduce__(self) -> Any:
        return self._method.__reduce__()

    def _shown(self) -> Shown:
        shown = super()._shown()
        a_call = ("a call", ".rank(...) is pandas' own method, which ranks values")
        return replace(shown, facts=[*shown.facts, a_call])


def _as_text(label: object) -> Any:
    """A column's label, or several labels, as names in Polars."""
    if label is None or label is ... or hasattr(label, "name"):  # a Series is no label
        return label
    if isinstance(label, (list, tuple)):
        return [_as_text(x) for x in label]
    return text_of(label)


@contextmanager
def of_pandas(frame: pd.DataFrame) -> Iterator[None]:
    """Spell errors and warnings as pandas does.

    The error of a missing column says what the frame holds instead.
    """
    with with_code_of(in_pandas):
        try:
            yield
        except MissingColumn as error:
            parts = error.parts
            lists = lists_of(frame)
            if lists and "; the table has" in str(parts[0]) and not _names_others(parts, lists):
                parts = (parts[0], *of_lists(lists))
            raise MissingColumn(*parts, *_of_index(frame)) from None


def _names_others(parts: Sequence[Text], lists: Sequence[str]) -> bool:
    """Whether the advice of an error names columns, none of which holds lists."""
    meant: list[object] = []
    for part in parts:
        if isinstance(part, Advice):
            meant += part.options.values()
    return bool(meant) and not any(x is ... or x in lists for x in meant)


def _of_index(frame: pd.DataFrame) -> tuple[str, ...]:
    """The advice for a frame whose ids may be in its index."""
    levels = [*levels_of(frame, {*map(text_of, frame.columns)})]
    if levels:
        return (f". The index has {', '.join(levels)}; a level is named like a column",)
    index = frame.index
    if isinstance(index, pd.MultiIndex) or pd.api.types.is_numeric_dtype(index.dtype):
        return ()
    return (". If the index holds the ids of queries, name it: df.rename_axis('query_id')",)
