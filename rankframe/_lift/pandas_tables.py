"""Convert a pandas frame for the verbs, and their results to pandas, by the shape of the result."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable
from contextlib import nullcontext, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pandas as pd
import polars as pl

from .._table.figures import usual_runs
from .._table.roles import USUAL_NAMES, carried
from .._table.run_and_judgments import names_of_labels
from .._table.setup import Setup
from .._table.table import Table, Whole, refuse_same_name
from .._verbs.call.declaration import Gives, VerbCall
from .._verbs.call.running import on_rows
from ..errors import Advice, Code, InvalidData, shown
from .pandas_columns import cross, cross_lists, text_of

if TYPE_CHECKING:
    from numpy.typing import NDArray


def spelled(advice: Advice | Code) -> str:
    """The spelling of advice for a pandas frame."""
    return (
        advice.spelled(advice.pandas)
        if isinstance(advice, Code) and advice.pandas is not None
        else str(advice)
    )


def in_pandas(code: Advice | Code) -> Advice | Code:
    """The code of an error or a warning, in pandas' spelling."""
    return (
        replace(code, polars=code.pandas)
        if isinstance(code, Code) and code.pandas is not None
        else code
    )


Shape: TypeAlias = Callable[..., Any]

ROW, QRELS_ROW = carried("pandas row"), carried("qrels row")
"""The columns that carry a row's number through a verb."""

OF_ROWS = (*USUAL_NAMES["run"], *USUAL_NAMES["subtopic"])
"""Usual names of columns that distinguish rows of the same document."""


class Source:
    """A pandas frame, and the Polars frame that verbs read.

    The columns `needed` are converted, and those in `tried` if they can be; all other columns are
    null. With `others`, as for selectors of Polars, every column is converted if it can be.
    """

    def __init__(
        self,
        frame: pd.DataFrame,
        needed: Container[str],
        *,
        tried: Container[str] = (),
        others: bool = False,
        lists: Container[str] = (),
    ) -> None:
        self.lists = lists  # the columns whose objects may be lists
        if frame.columns.nlevels > 1:
            raise InvalidData(
                f"the columns have {frame.columns.nlevels} levels; name each by one text, as with "
                "df.set_axis(['_'.join(map(str, labels)) for labels in df.columns], axis=1)"
            )
        self.frame = frame
        self.places: dict[str, list[int]] = {}
        for place, label in enumerate(frame.columns):
            self.places.setdefault(text_of(label), []).append(place)
        self.levels = levels_of(frame, self.places)
        names = [*self.places, *self.levels]
        self.columns: dict[str, pd.Series[Any]] = {}
        wanted = [name for name in names if others or name in needed or name in tried]
        crossed = {
            name: column
            for name in wanted
            if (column := self._cross(name, name in needed)) is not None
        }
        nothing = (
            {} if others else {name: pl.lit(None) for name in self.places if name not in crossed}
        )
        self.polars = pl.DataFrame(crossed).with_columns(**nothing)
        self.polars = self.polars.select(name for name in names if name in self.polars.columns)

    def _cross(self, name: str, needed: bool) -> pl.Series | None:
        with nullcontext() if needed else suppress(InvalidData):
            column = self.columns[name] = self._column(name)
            lists = cross_lists(column, name) if name in self.lists else None
            return cross(column, name) if lists is None else lists
        return None

    def _column(self, name: str) -> pd.Series[Any]:
        if name in self.levels:
            level = self.frame.index.get_level_values(self.levels[name])
            return pd.Series(
                level, dtype=level.dtype, name=level.name
            )  # not to_series, which makes texts of objects
        places = self.places[name]
        refuse_same_name(name, len(places))
        return self.frame.iloc[:, places[0]]

    def with_row(self, name: str) -> pl.DataFrame:
        """The Polars frame with the number of each row."""
        return self.polars.with_columns(pl.int_range(pl.len()).alias(name))

    def back(self, name: str, values: pl.Series) -> Any:
        """Values of a converted column, as in the caller's frame."""
        column, crossed = self.columns[name], self.polars[name]
        if isinstance(column.dtype, pd.SparseDtype):
            plain = False
        elif crossed.dtype == pl.String:
            plain = len(column) > 0 and isinstance(column.iloc[0], str)
        else:
            plain = column.dtype.kind != "O" and (
                crossed.dtype.is_integer() or crossed.dtype.is_float()
            )
        if plain and not values.has_nulls():
            return pd.Index(values.to_list(), dtype=column.dtype)
        row = crossed.arg_unique()
        first = pl.DataFrame({"value": crossed.gather(row), "row": row})
        rows = values.to_frame("value").join(
            first, on="value", how="left", nulls_equal=True, maintain_order="left"
        )
        return pd.Index(column.take(rows["row"].to_numpy()), dtype=column.dtype)

    def in_own_types(self, result: pl.DataFrame) -> dict[str, Any]:
        """The columns of a result: times with a zone, and categories, as in the caller's column;
        others in pandas' types.
        """
        return {x.name: self.back(x.name, x) if self._is_own(x) else _values(x) for x in result}

    def _is_own(self, x: pl.Series) -> bool:
        column = self.columns.get(x.name)
        if column is None or not isinstance(
            column.dtype, (pd.DatetimeTZDtype, pd.CategoricalDtype)
        ):
            return False
        own = self.polars[x.name]
        return x.dtype == own.dtype and x.is_in(own.implode(), nulls_equal=True).all()


def _per_query(
    frame: pd.DataFrame, setup: Setup, call: VerbCall, whole: Whole | None
) -> pd.DataFrame:
    """A row per query, indexed by the query."""
    source = _source(frame, setup, call)
    result = on_rows(call, Table(source.polars, setup, whole))
    query = tuple(
        name for name in setup.roles.query if name in result.columns
    )  # a verb may combine runs
    return _indexed(result, setup.changed(query=query), source)


def _whole(frame: pd.DataFrame, setup: Setup, call: VerbCall, _: Whole | None) -> Any:
    """What the verb makes of the whole table; frames with query columns are indexed by the
    query.
    """
    source, of_query = _source(frame, setup, call), call.runs.queries(setup)
    table = Table(
        source.polars, setup, spelling=spelled, give=lambda found: _indexed(found, of_query, source)
    )
    return on_rows(call, table)


def _indexed(result: pl.DataFrame, setup: Setup, source: Source) -> pd.DataFrame:
    """A result as a pandas frame, indexed by the query if it has all query columns."""
    if not {*setup.roles.query} <= {*result.columns}:
        return pd.DataFrame(source.in_own_types(result))
    rest = source.in_own_types(result.drop(setup.roles.query))
    levels = [
        source.back(name, result[name]).rename(source.columns[name].name)
        for name in setup.roles.query
    ]
    return pd.DataFrame(
        rest, index=levels[0] if len(levels) == 1 else pd.MultiIndex.from_arrays(levels)
    )


def _per_row(
    frame: pd.DataFrame, setup: Setup, call: VerbCall, whole: Whole | None
) -> pd.DataFrame:
    """The caller's rows and index, and further columns."""
    source = _source(frame, setup, call)
    result = on_rows(call, Table(source.polars, setup, whole))
    return _widened(frame, [x for x in result if x.name not in source.polars.columns])


def _subset(frame: pd.DataFrame, setup: Setup, call: VerbCall, _: Whole | None) -> pd.DataFrame:
    """Some of the caller's rows, with their index."""
    source, call = _source(frame, setup, call), _with_polars(call, setup)
    kept: pl.DataFrame = on_rows(call, Table(source.with_row(ROW), setup))
    return frame.iloc[kept[ROW].to_numpy()].copy()


def _with_polars(call: VerbCall, setup: Setup) -> VerbCall:
    """The call with its second tables as Polars frames."""
    tables = {name: x for name, x in call.arguments.items() if isinstance(x, FRAMES)}
    return call.changed(
        **{name: _source(_as_pandas(x), setup, call).polars for name, x in tables.items()}
    )


def _per_document(
    frame: pd.DataFrame, setup: Setup, call: VerbCall, whole: Whole | None
) -> pd.DataFrame:
    """The caller's rows in another order, with their index, the columns of the result and further
    ones.
    """
    source = _source(frame, setup, call)
    result = on_rows(call, Table(source.with_row(ROW), setup, whole, carry=[ROW]))
    own = [
        source.places[name][0]
        for name in result.columns
        if name in source.columns and name in source.places
    ]
    new = [x for x in result if x.name not in source.columns and x.name != ROW]
    return _widened(frame.iloc[:, own].iloc[result[ROW].to_numpy()], new)


def _per_list(
    frame: pd.DataFrame, setup: Setup, call: VerbCall, whole: Whole | None
) -> pd.DataFrame:
    """New rows, query by query, with ids and labels in the types of the caller's frame, and a new
    index.
    """
    source = _source(frame, setup, call)
    result = on_rows(call, Table(source.polars, setup, whole))
    ids = {*setup.roles.query, setup.roles.doc_in(source.columns), setup.roles.label} - call.named
    own = {
        name: source.back(name, result[name])
        for name in result.columns
        if name in ids & source.columns.keys()
    }
    return pd.DataFrame({x.name: own[x.name] if x.name in own else _values(x) for x in result})


def _joined(frame: pd.DataFrame, setup: Setup, call: VerbCall, whole: Whole | None) -> pd.DataFrame:
    """The joined rows of two frames, with a new index; dtypes change as in a merge of pandas."""
    keys = [name for name in (*setup.roles.query, setup.roles.doc_name) if name is not None]
    needed = [*keys, setup.roles.label, *call.named]
    usual = (*OF_ROWS, *([] if setup.roles.subtopic is None else [setup.roles.subtopic.lower()]))
    truth = _as_pandas(call.arguments["qrels"])
    new_names = names_of_labels(setup, [*map(text_of, truth.columns)])
    truth = truth.rename(columns=lambda label: new_names.get(text_of(label), label))
    unlabelled = setup.roles.label not in map(
        text_of, truth.columns
    )  # any of its columns may hold labels

    def source(x: pd.DataFrame) -> Source:
        names = map(text_of, x.columns)
        tried = [name for name in names if name.lower() in usual or (x is truth and unlabelled)]
        return Source(_levels_as_columns(x, needed), needed, tried=tried, lists=setup.roles.lists)

    run, judged = source(frame), source(truth)
    both = on_rows(
        call.changed(qrels=judged.with_row(QRELS_ROW)), Table(run.with_row(ROW), setup, whole)
    )
    left, right = (both[name].cast(pl.Int64).fill_null(-1).to_numpy() for name in (ROW, QRELS_ROW))
    result = _rows(run.frame, left)
    missed = both.filter(
        pl.col(ROW).is_null()
    )  # in these rows, only columns that name the run have values
    keys += [name for name in run.columns if name not in keys and missed[name].count()]
    of_run = bool((left >= 0).all())
    for name in keys:
        if of_run and _have_one_type(run, judged, name):
            continue  # the rows of the run have it
        key: Any = run.back(name, both[name]) if name not in judged.columns else None
        if key is None:
            either = pd.concat([run.columns[name], judged.columns[name]], ignore_index=True)
            key = either.take(np.where(left >= 0, left, right + len(run.frame))).array
        result.isetitem(run.places[name][0], key)
    new = [place for place, label in enumerate(judged.frame.columns) if text_of(label) not in keys]
    rest = judged.frame.iloc[:, new]
    if setup.roles.label not in judged.polars.columns:
        rest = rest.assign(**{setup.roles.label: 1})
    return pd.concat([result, _rows(rest, right)], axis=1)


def _have_one_type(run: Source, judged: Source, name: str) -> bool:
    """Whether a column has the same type in both frames, or the run alone has it."""
    if name not in judged.columns:
        return True
    return bool(run.columns[name].dtype == judged.columns[name].dtype)


def _table(frame: pd.DataFrame, setup: Setup, call: VerbCall, _: Whole | None) -> pd.DataFrame:
    """A separate table, with its rows numbered."""
    source, call = _source(frame, setup, call), _with_polars(call, setup)
    table = Table(
        source.polars,
        setup,
        spelling=spelled,
        give=lambda found: pd.DataFrame(source.in_own_types(found)),
    )
    found: pd.DataFrame = on_rows(call, table)
    return found


LISTS = (list, tuple, set, np.ndarray)
FRAMES = (pd.DataFrame, pl.DataFrame, pl.LazyFrame)

SHAPES: dict[Gives, Shape] = {
    "query": _per_query, "row": _per_row, "subset": _subset, "document": _per_document, "list": _per_list,
    "join": _joined, "table": _table, "whole": _whole,
}  # fmt: skip
"""The conversion of a result to pandas, by its shape."""


def _source(frame: pd.DataFrame, setup: Setup, call: VerbCall) -> Source:
    """The frame with the columns that a verb reads."""
    named = [name for name in frame.columns if isinstance(name, str)]
    runs = usual_runs(named, setup) if call.verb.watched else []
    texts = (name for name in runs if pd.api.types.is_string_dtype(frame[name].dtype))
    return Source(
        frame, call.columns(setup).union(texts), others=call.reads_any, lists=setup.roles.lists
    )


def as_pandas(result: pl.DataFrame) -> pd.DataFrame:
    """Convert a table to pandas, with its rows numbered."""
    return pd.DataFrame({x.name: _values(x) for x in result})


def _values(x: pl.Series) -> Any:
    """A column of a result in pandas' types, copied: NaN for a null float, Int64 for whole
    numbers.
    """
    if x.dtype.is_float():
        return x.to_numpy(writable=True)
    if x.dtype.is_integer():
        whole = x.fill_null(0).cast(pl.Int64)
        return pd.arrays.IntegerArray(
            whole.to_numpy(writable=True), x.is_null().to_numpy(writable=True)
        )
    return pd.Series(x.to_list(), dtype="str" if x.is_empty() else None).array


def _widened(frame: pd.DataFrame, columns: Iterable[pl.Series]) -> pd.DataFrame:
    """A copy of the frame, index and all, with further columns."""
    wider = frame.copy()
    wider.index = frame.index.copy(deep=True)
    for column in columns:
        wider[column.name] = _values(column)
    return wider


def _rows(frame: pd.DataFrame, numbers: NDArray[np.int64]) -> pd.DataFrame:
    """A copy of the rows with these numbers, with a new index; -1 gives a row of missing values."""
    numbered = frame.set_axis(range(len(frame)), axis=0)
    if np.array_equal(numbers, np.arange(len(frame))):
        return numbered.copy()
    is_there = bool((numbers >= 0).all())
    rows = numbered.take(numbers) if is_there else numbered.reindex(numbers)
    rows.index = pd.RangeIndex(len(rows))
    return rows


def levels_of(frame: pd.DataFrame, columns: Container[str]) -> dict[str, Any]:
    """The index levels that no column hides, by the text of their names."""
    names = {text_of(name): name for name in frame.index.names if name is not None}
    return {text: name for text, name in names.items() if text not in columns}


def _levels_as_columns(frame: pd.DataFrame, names: Iterable[str]) -> pd.DataFrame:
    levels = levels_of(frame, {*map(text_of, frame.columns)})
    named = [levels[name] for name in names if name in levels]
    return frame.reset_index(named) if named else frame


def _as_pandas(frame: object) -> pd.DataFrame:
    if isinstance(frame, pd.DataFrame):
        return frame
    if isinstance(frame, (pl.DataFrame, pl.LazyFrame)):
        return as_pandas(frame.lazy().collect())
    made = ", as qrels.to_frame() makes" if isinstance(frame, pd.Series) else ""
    or_read = "or read the judgments of a file by rf.read_qrels"
    raise InvalidData(
        f"{shown(frame)} is no frame of judgments; give a pandas DataFrame{made}, {or_read}"
    )
