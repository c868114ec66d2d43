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
from ..errors import MissingColumn, with_code_of
from ..plot import Plots
from .display import Shown
from .pandas_columns import text_of
from .pandas_tables import LISTS, SHAPES, in_pandas, levels_of
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
        "as ``ndcg@10``; several cutoffs, "
        "as ``k=[5, 10]``, give a column each."
    )
    _library = "pandas "

    def __init__(self, frame: pd.DataFrame, setup: Setup = Setup()) -> None:  # noqa: B008 - frozen
        super().__init__(setup)
        self._frame = frame

    def _on(self, options: Mapping[str, object]) -> PandasRanker:
        named = {
            name: _as_text(x) if name in ROLES else x for name, x in options.items()
        }  # labels may be numbers
        with of_pandas(self._frame):
            return super()._on(named)

    def _with(self, setup: Setup) -> PandasRanker:
        return PandasRanker(self._frame, setup)

    def _run(self, call: VerbCall, whole: Whole | None = None) -> Any:
        with of_pandas(self._frame):
            return SHAPES[call.verb.gives](self._frame, self._setup, call, whole)

    @property
    def plot(self) -> Plots[Axes]:  # type: ignore[override]
        return Plots(self, "matplotlib")

    @property
    def _kind(self) -> type[pd.DataFrame]:
        return pd.DataFrame

    def _table(self) -> tuple[str, Sequence[str] | None]:
        columns = [text_of(label) for label in self._frame.columns]
        return f"{len(self._frame):,} rows, {len(columns)} columns", [*columns, *self._levels()]

    def _levels(self) -> Sequence[str]:
        return [*levels_of(self._frame, {*map(text_of, self._frame.columns)})]


class RankMethod(PandasRanker):
    """The rankings of a pandas frame; a call, ``df.rank(...)``, is pandas' own method, which ranks
    values.

    Results are pandas frames in memory of their own: those per query are indexed by the query,
    those per document by the caller's own index.
    """

    def __init__(
        self, method: FunctionType, frame: pd.DataFrame
    ) -> None:  # the arguments of MethodType
        super().__init__(frame)
        self._method = MethodType(method, frame)
        self.__module__ = method.__module__
        self.__annotations__ = method.__annotations__  # else the annotations of the class are found

    if not TYPE_CHECKING:

        @property
        def __class__(self) -> type:
            return MethodType

    @property
    def __call__(
        self,
    ) -> MethodType:  # a property, so that warnings and tracebacks show no frame of ours
        return self._method

    def _later(self, name: str) -> Any:
        return getattr(self._method, name) if name.startswith("__") else super()._later(name)

    def __eq__(self, other: object) -> bool:
        return bool(self._method == (other._method if type(other) is type(self) else other))

    def __hash__(self) -> int:
        return hash(self._method)

    @property
    def _own_help(self) -> str:  # type: ignore[override]
        title = "df.rank(...), the method of pandas"
        return (
            f"{title}\n{'-' * len(title)}\nAlso shown by "
            f"help(pd.DataFrame.rank).\n\n{inspect.getdoc(self._method)}"
        )

    def __reduce__(self) -> Any:
        return self._method.__reduce__()

    def _shown(self) -> Shown:
        found = super()._shown()
        return replace(
            found,
            facts=[
                *found.facts,
                ("a call", ".rank(...) is pandas' own method, which ranks values"),
            ],
        )


def _as_text(label: object) -> Any:
    """A column's label, or several labels, as names in Polars."""
    if label is None or label is ... or hasattr(label, "name"):  # a Series is no label
        return label
    return [_as_text(x) for x in label] if isinstance(label, (list, tuple)) else text_of(label)


@contextmanager
def of_pandas(frame: pd.DataFrame) -> Iterator[None]:
    """Spell errors and warnings as pandas does; the error of a missing column says what the frame
    holds instead.
    """
    with with_code_of(in_pandas):
        try:
            yield
        except MissingColumn as error:
            lists = [
                name for name in frame if isinstance(next(iter(frame[name].dropna()), None), LISTS)
            ]
            advice = (". ", *of_lists(str(lists[0]))) if lists else ()
            raise MissingColumn(*error.parts, *advice, *_of_index(frame)) from None


def _of_index(frame: pd.DataFrame) -> tuple[str, ...]:
    """The advice for a frame whose ids may be in its index."""
    if levels := [*levels_of(frame, {*map(text_of, frame.columns)})]:
        return (f". The index has {', '.join(levels)}; a level is named like a column",)
    if isinstance(frame.index, pd.MultiIndex) or pd.api.types.is_numeric_dtype(frame.index.dtype):
        return ()
    return (". If the index holds the ids of queries, name it: df.rename_axis('query_id')",)
