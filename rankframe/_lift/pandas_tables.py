"""Convert a pandas frame for the verbs, and their results to pandas, by the shape of the result."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pandas as pd
import polars as pl

from .._table.figures import usual_runs
from .._table.roles import USUAL_NAMES, carried, if_rows_are_queries, seem_queries
from .._table.run_and_judgments import names_of_labels
from .._table.setup import Setup
from .._table.table import Table, Whole, refuse_same_name
from .._verbs.call.declaration import Gives, VerbCall
from .._verbs.call.running import on_rows
from ..errors import Advice, Code, InvalidData, shown
from .pandas_columns import cross, cross_lists, text_of

if TYPE_CHECKING:
    from .._support.floats import Integers


def spelled(advice: Advice | Code) -> str:
    """The spelling of advice for a pandas frame."""
    if isinstance(advice, Code) and advice.pandas is not None:
        return advice.spelled(advice.pandas)
    return str(advice)


def in_pandas(code: Advice | Code) -> Advice | Code:
    """The code of an error or a warning, in pandas' spelling."""
    if isinstance(code, Code) and code.pandas is not None:
        return replace(code, polars=code.pandas)
    return code


Shape: TypeAlias = "Callable[[OnPandas], Any]"

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
        _refuse_levels_of_columns(frame)
        self.frame = frame
        self.places: dict[str, list[int]] = {}
        for place, label in enumerate(frame.columns):
            self.places.setdefault(text_of(label), []).append(place)
        self.levels = levels_of(frame, self.places)
        self.columns: dict[str, pd.Series[Any]] = {}
        names = [*self.places, *self.levels]
        columns: dict[str, Any] = {}
        for name in names:
            is_needed = name in needed
            if is_needed or others or name in tried:
                column = self._cross(name, is_needed)
                if column is not None:
                    columns[name] = column
        crossed = pl.DataFrame(columns)
        if not others:
            nothing = {name: pl.lit(None) for name in self.places if name not in columns}
            crossed = crossed.with_columns(**nothing)
        self.polars = crossed.select(name for name in names if name in crossed.columns)

    def _cross(self, name: str, needed: bool) -> pl.Series | None:
        with nullcontext() if needed else suppress(InvalidData):
            column = self.columns[name] = self._column(name)
            lists = cross_lists(column, name) if name in self.lists else None
            return self._plain(column, name) if lists is None else lists
        return None

    def _plain(self, column: pd.Series[Any], name: str) -> pl.Series:
        try:
            return cross(column, name)
        except InvalidData:
            lists = lists_of(self.frame)
            if name in lists and seem_queries(lists):
                says = f"column {name!r} holds lists, not single values; "
                raise InvalidData(says, if_rows_are_queries(lists)) from None
            raise

    def _column(self, name: str) -> pd.Series[Any]:
        if name in self.levels:
            level = self.frame.index.get_level_values(self.levels[name])
            # not to_series, which makes texts of objects
            return pd.Series(level, dtype=level.dtype, name=level.name)
        places = self.places[name]
        refuse_same_name(name, len(places))
        return self.frame.iloc[:, places[0]]

    def with_row(self, name: str) -> pl.DataFrame:
        """The Polars frame with the number of each row."""
        row = pl.int_range(pl.len()).alias(name)
        return self.polars.with_columns(row)

    def back(self, name: str, values: pl.Series) -> Any:
        """Values of a converted column, as in the caller's frame."""
        column = self.columns[name]
        crossed = self.polars[name]
        if _is_plain(column, crossed) and not values.has_nulls():
            return pd.Index(values.to_list(), dtype=column.dtype)
        row = crossed.arg_unique()
        first = pl.DataFrame({"value": crossed.gather(row), "row": row})
        how: Any = {"how": "left", "nulls_equal": True, "maintain_order": "left"}
        rows = values.to_frame("value").join(first, on="value", **how)
        return pd.Index(column.take(rows["row"].to_numpy()), dtype=column.dtype)

    def in_own_types(self, result: pl.DataFrame) -> dict[str, Any]:
        """The columns of a result in pandas' types.

        Times with a zone, and categories, are as in the caller's column.
        """
        columns = {}
        for x in result:
            is_own = self._is_own(x)
            columns[x.name] = self.back(x.name, x) if is_own else _values(x)
        return columns

    def _is_own(self, x: pl.Series) -> bool:
        column = self.columns.get(x.name)
        if column is None:
            return False
        if not isinstance(column.dtype, (pd.DatetimeTZDtype, pd.CategoricalDtype)):
            return False
        crossed = self.polars[x.name]
        if x.dtype != crossed.dtype:
            return False
        return x.is_in(crossed.implode(), nulls_equal=True).all()


def lists_of(frame: pd.DataFrame) -> list[str]:
    """The columns that hold lists."""
    return [text_of(name) for place, name in enumerate(frame) if _holds_lists(frame.iloc[:, place])]


def _holds_lists(column: pd.Series[Any]) -> bool:
    first = next(iter(column.dropna()), None)
    return isinstance(first, LISTS)


def _refuse_levels_of_columns(frame: pd.DataFrame) -> None:
    n_levels = frame.columns.nlevels
    if n_levels > 1:
        raise InvalidData(
            f"the columns have {n_levels} levels; name each by one text, as with "
            "df.set_axis(['_'.join(map(str, labels)) for labels in df.columns], axis=1)"
        )


def _is_plain(column: pd.Series[Any], crossed: pl.Series) -> bool:
    """Whether Polars' values of a column make a column of its own type."""
    if isinstance(column.dtype, pd.SparseDtype):
        return False
    if crossed.dtype == pl.String:
        return len(column) > 0 and isinstance(column.iloc[0], str)
    is_number = crossed.dtype.is_integer() or crossed.dtype.is_float()
    return column.dtype.kind != "O" and is_number


@dataclass
class OnPandas:
    """A call of a verb on a pandas frame; a method for each shape of its result."""

    frame: pd.DataFrame
    setup: Setup
    call: VerbCall
    whole: Whole | None = None

    @cached_property
    def source(self) -> Source:
        """The columns that the verb reads."""
        return _source(self.frame, self.setup, self.call)

    def _result(self) -> pl.DataFrame:
        table = self._table(self.source.polars)
        result: pl.DataFrame = on_rows(self.call, table)
        return result

    def _table(self, rows: pl.DataFrame, **facts: Any) -> Table[Any]:
        return Table(rows, self.setup, self.whole, **facts)

    def per_query(self) -> pd.DataFrame:
        """A row per query, indexed by the query; a row per run and query, by both."""
        result = self._result()
        key = dict.fromkeys((*self.call.runs.of_results, *self.setup.roles.query))
        # a verb may combine runs
        query = [name for name in key if name in result.columns]
        of_query = self.setup.changed(query=tuple(query))
        return _indexed(result, of_query, self.source)

    def of_whole(self) -> Any:
        """What the verb makes of the whole table.

        Frames with query columns are indexed by the query.
        """
        of_query = self.call.runs.queries(self.setup)
        return self._given(self.call, lambda frame: _indexed(frame, of_query, self.source))

    def table(self) -> pd.DataFrame:
        """A separate table, with its rows numbered."""
        call = _with_polars(self.call, self.setup)
        numbered: pd.DataFrame = self._given(
            call, lambda frame: pd.DataFrame(self.source.in_own_types(frame))
        )
        return numbered

    def _given(self, call: VerbCall, give: Callable[[pl.DataFrame], pd.DataFrame]) -> Any:
        """The result of a verb that gives frames by itself."""
        table = Table(self.source.polars, self.setup, spelling=spelled, give=give)
        return on_rows(call, table)

    def per_row(self) -> pd.DataFrame:
        """The caller's rows and index, and further columns."""
        result = self._result()
        known = self.source.polars.columns
        new = [x for x in result if x.name not in known]
        return _widened(self.frame, new)

    def subset(self) -> pd.DataFrame:
        """Some of the caller's rows, with their index."""
        call = _with_polars(self.call, self.setup)
        table: Table[Any] = Table(self.source.with_row(ROW), self.setup)
        rows: pl.DataFrame = on_rows(call, table)
        return self.frame.iloc[rows[ROW].to_numpy()].copy()

    def per_document(self) -> pd.DataFrame:
        """The caller's rows in another order, with their index.

        They have the columns of the result, and further ones.
        """
        source = self.source
        table = self._table(source.with_row(ROW), carry=[ROW])
        result: pl.DataFrame = on_rows(self.call, table)
        named = [x for x in result.columns if x in source.columns and x in source.places]
        places = [source.places[name][0] for name in named]
        new = [x for x in result if x.name not in source.columns and x.name != ROW]
        in_order = self.frame.iloc[:, places].iloc[result[ROW].to_numpy()]
        return _widened(in_order, new)

    def per_list(self) -> pd.DataFrame:
        """New rows, query by query, with a new index.

        Ids and labels have the types of the caller's frame.
        """
        source = self.source
        roles = self.setup.roles
        ids = {*roles.query, roles.doc_in(source.columns), roles.label} - self.call.named
        columns = {}
        for x in self._result():
            is_own = x.name in ids and x.name in source.columns
            columns[x.name] = source.back(x.name, x) if is_own else _values(x)
        return pd.DataFrame(columns)


def _indexed(result: pl.DataFrame, setup: Setup, source: Source) -> pd.DataFrame:
    """A result as a pandas frame, indexed by the query if it has all query columns."""
    query = setup.roles.query
    if not {*query} <= {*result.columns}:
        return pd.DataFrame(source.in_own_types(result))
    rest = source.in_own_types(result.drop(query))
    levels = []
    for name in query:
        if name in source.columns:
            level = source.back(name, result[name])
            levels.append(level.rename(source.columns[name].name))
        else:  # the names of runs that are columns of scores
            levels.append(pd.Series(_values(result[name]), name=name))
    index = levels[0] if len(levels) == 1 else pd.MultiIndex.from_arrays(levels)
    return pd.DataFrame(rest, index=index)


def _with_polars(call: VerbCall, setup: Setup) -> VerbCall:
    """The call with its second tables as Polars frames."""
    tables = {}
    for name, given in call.arguments.items():
        if isinstance(given, FRAMES):
            tables[name] = _source(_as_pandas(given), setup, call).polars
    return call.changed(**tables)


def _joined(on: OnPandas) -> pd.DataFrame:
    """The joined rows of two frames, with a new index; dtypes change as in a merge of pandas."""
    roles = on.setup.roles
    keys = [name for name in (*roles.query, roles.doc_name) if name is not None]
    run, judged = _sides(on, [*keys, roles.label, *on.call.named])
    call = on.call.changed(qrels=judged.with_row(QRELS_ROW))
    both = on_rows(call, on._table(run.with_row(ROW)))
    left = _numbers(both, ROW)
    right = _numbers(both, QRELS_ROW)
    result = _rows(run.frame, left)
    # in these rows, only columns that name the run have values
    missed = both.filter(pl.col(ROW).is_null())
    keys += [name for name in run.columns if name not in keys and missed[name].count()]
    of_run = bool((left >= 0).all())
    for name in keys:
        if of_run and _have_one_type(run, judged, name):
            continue  # the rows of the run have it
        key: Any
        if name not in judged.columns:
            key = run.back(name, both[name])
        else:
            either = pd.concat([run.columns[name], judged.columns[name]], ignore_index=True)
            places = np.where(left >= 0, left, right + len(run.frame))
            key = either.take(places).array
        result.isetitem(run.places[name][0], key)
    labels = enumerate(judged.frame.columns)
    new = [place for place, label in labels if text_of(label) not in keys]
    rest = judged.frame.iloc[:, new]
    if roles.label not in judged.polars.columns:
        rest = rest.assign(**{roles.label: 1})
    return pd.concat([result, _rows(rest, right)], axis=1)


def _sides(on: OnPandas, needed: Sequence[str]) -> tuple[Source, Source]:
    """The run, and its judgments with their labels under the usual name."""
    roles = on.setup.roles
    usual = [*OF_ROWS]
    if roles.subtopic is not None:
        usual.append(roles.subtopic.lower())
    truth = _as_pandas(on.call.arguments["qrels"])
    new_names = names_of_labels(on.setup, [*map(text_of, truth.columns)])
    truth = truth.rename(columns=lambda label: new_names.get(text_of(label), label))
    names = [text_of(label) for label in truth.columns]
    any_may_hold_labels = roles.label not in names

    def source(frame: pd.DataFrame, all_tried: bool) -> Source:
        names = map(text_of, frame.columns)
        tried = [name for name in names if all_tried or name.lower() in usual]
        rows = _levels_as_columns(frame, needed)
        return Source(rows, needed, tried=tried, lists=roles.lists)

    return source(on.frame, False), source(truth, any_may_hold_labels)


def _numbers(both: pl.DataFrame, name: str) -> Integers:
    """The numbers of rows that a verb has carried; -1 for none."""
    numbers = both[name].cast(pl.Int64)
    return numbers.fill_null(-1).to_numpy()


def _have_one_type(run: Source, judged: Source, name: str) -> bool:
    """Whether a column has the same type in both frames, or the run alone has it."""
    if name not in judged.columns:
        return True
    return bool(run.columns[name].dtype == judged.columns[name].dtype)


LISTS = (list, tuple, set, np.ndarray)
FRAMES = (pd.DataFrame, pl.DataFrame, pl.LazyFrame)

SHAPES: dict[Gives, Shape] = {
    "query": OnPandas.per_query,
    "row": OnPandas.per_row,
    "subset": OnPandas.subset,
    "document": OnPandas.per_document,
    "list": OnPandas.per_list,
    "join": _joined,
    "table": OnPandas.table,
    "whole": OnPandas.of_whole,
}
"""The conversion of a result to pandas, by its shape."""


def _source(frame: pd.DataFrame, setup: Setup, call: VerbCall) -> Source:
    """The frame with the columns that a verb reads."""
    columns = [name for name in frame.columns if isinstance(name, str)]
    runs = usual_runs(columns, setup) if call.verb.watched else []
    texts = [name for name in runs if pd.api.types.is_string_dtype(frame[name].dtype)]
    needed = call.columns(setup).union(texts)
    return Source(frame, needed, others=call.reads_any, lists=setup.roles.lists)


def as_pandas(result: pl.DataFrame) -> pd.DataFrame:
    """Convert a table to pandas, with its rows numbered."""
    return pd.DataFrame({x.name: _values(x) for x in result})


def _values(x: pl.Series) -> Any:
    """A copied column of a result in pandas' types.

    A null float is NaN, and whole numbers are Int64.
    """
    if x.dtype.is_float():
        return x.to_numpy(writable=True)
    if x.dtype.is_integer():
        numbers = x.fill_null(0).cast(pl.Int64)
        is_missing = x.is_null().to_numpy(writable=True)
        return pd.arrays.IntegerArray(numbers.to_numpy(writable=True), is_missing)
    dtype = "str" if x.is_empty() else None
    return pd.Series(x.to_list(), dtype=dtype).array


def _widened(frame: pd.DataFrame, columns: Iterable[pl.Series]) -> pd.DataFrame:
    """A copy of the frame, index and all, with further columns."""
    wider = frame.copy()
    wider.index = frame.index.copy(deep=True)
    for column in columns:
        wider[column.name] = _values(column)
    return wider


def _rows(frame: pd.DataFrame, numbers: Integers) -> pd.DataFrame:
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
    levels = {}
    for name in frame.index.names:
        text = text_of(name)
        if name is not None and text not in columns:
            levels[text] = name
    return levels


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
    advice = f"give a pandas DataFrame{made}, or read the judgments of a file by rf.read_qrels"
    raise InvalidData(f"{shown(frame)} is no frame of judgments; {advice}")
