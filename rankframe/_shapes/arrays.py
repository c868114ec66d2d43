"""Convert arrays of scores and labels into the long table."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any, NamedTuple, NoReturn, TypeAlias

import numpy as np
import numpy.typing as npt
import polars as pl

from .._support.methods import called_by_users
from .._support.threads import use_polars
from .._table.policies import Cutoff
from ..errors import InvalidData, InvalidOption, option, shown, warn
from .swapped import look_swapped

Array: TypeAlias = npt.NDArray[Any]

ROW = "#row"
"""The number of the row of an array, then of the query."""


@called_by_users
def from_arrays(
    *,
    scores: Any,
    labels: Any = None,
    group: Any = None,
    query: Any = None,
    k: Cutoff | None = None,
) -> pl.DataFrame:
    """The long table of arrays of scores and labels: matrices, flat arrays with groups, sparse
    matrices.

    All are keywords: scikit-learn takes labels first, and swapped arrays give values that look
    right.

    Parameters
    ----------
    scores
        A matrix with a row per query and a column per document; or a flat array, with `group` or
        `query`. NumPy arrays, objects with ``__array__`` (tensors of PyTorch or JAX in main memory,
        data frames), lists of lists of equal length, and SciPy's sparse matrices, whose stored
        elements are the retrieved documents. Masked elements and NaN were not retrieved.
    labels
        Labels in the same shape; a sparse matrix may go with dense scores. Masked elements, NaN and
        elements that a sparse matrix does not store were not judged. ``None`` for a table without
        labels.
    group
        For flat arrays, the sizes of the groups in their order, as LightGBM and XGBoost take them.
    query
        For flat arrays, the query of each element, in any order, as torchmetrics' ``indexes``; for
        matrices, the names of the rows. Default for matrices and groups: the number of the row or
        group, from 0.
    k
        For dense matrices, how many documents to keep of each query, so that the scores of a
        catalog do not become one row each: the k best, others tied with the last of them, and
        documents with a label above 0, which count as missed. Metrics with a cutoff up to `k` are
        exact. Default: all.

    Returns
    -------
    pl.DataFrame
        ``query_id``, ``doc_id`` (Int64: the column of a matrix, the place in a flat array; from 0),
        ``score`` and ``label`` (in the type of the arrays; null if not retrieved or not judged).
        Elements with neither score nor label are left out; a query without any has one row, whose
        document is null, and no value.

    Raises
    ------
    InvalidData
        If the shapes differ, the groups do not add up, rows differ in length, or an array does not
        hold numbers.
    InvalidOption
        If a flat array has neither `group` nor `query`, or both.

    Warns
    -----
    RankframeWarning
        If scores are whole numbers and labels are not, so that they seem to have changed places.

    Examples
    --------
    >>> import numpy as np, rankframe as rf
    >>> scores, labels = [[0.1, 0.9, np.nan], [0.5, 0.4, 0.3]], [[1, 0, np.nan], [0, 2, 0]]
    >>> rf.from_arrays(scores=scores, labels=labels).rank.evaluate("rr").rows()
    [(0, 0.5), (1, 0.5)]
    >>> rf.from_arrays(scores=[0.1, 0.9, 0.5], labels=[1, 0, 2], group=[2, 1]).rows()
    [(0, 0, 0.1, 1), (0, 1, 0.9, 0), (1, 2, 0.5, 2)]
    """
    use_polars()
    of_scores = _elements(scores, "scores", k)
    names, of_element = _queries(of_scores.shape, group, query)
    table = of_scores.table
    if labels is not None:
        of_labels = _elements(labels, "labels")
        table = _with_labels(of_scores, of_labels)
    if of_element is not None:
        table = table.with_columns(pl.Series(ROW, of_element))
    values = pl.exclude(ROW, "doc_id")
    table = table.filter(pl.any_horizontal(values.is_not_null()))
    if k is not None and labels is not None:
        was_retrieved = pl.col("score").is_not_null()
        table = table.filter(was_retrieved | (pl.col("label") > 0))
    queries = pl.DataFrame({ROW: np.arange(len(names)), "query_id": names})
    rows = queries.join(table, on=ROW, how="left", maintain_order="left_right")
    return rows.drop(ROW)


class Elements(NamedTuple):
    """The elements of an array.

    Attributes
    ----------
    table
        One row for each: the number of the array's row (0 in a flat array) and of its column, and
        the value, null if masked or NaN, or not among the `k` best of the row or tied with the last
        of them.
    shape
        The shape of the array.
    is_dense
        Whether the array holds all its elements.
    """

    table: pl.DataFrame
    shape: tuple[int, ...]
    is_dense: bool


def _with_labels(scores: Elements, labels: Elements) -> pl.DataFrame:
    """The elements of the scores with their labels."""
    if scores.shape != labels.shape:
        raise InvalidData(
            f"scores have shape {scores.shape} and labels {labels.shape}; each document has one "
            "of both"
        )
    label = labels.table["label"]
    if look_swapped([scores.table["score"]], label):
        says = (
            "the scores are whole numbers and the labels are not, as if they had changed places; "
            "if they have, say "
        )
        warn(says, "rf.from_arrays(scores=labels, labels=scores)")
    if scores.is_dense and labels.is_dense:
        return scores.table.with_columns(label)
    key = [ROW, "doc_id"]
    return scores.table.join(
        labels.table, on=key, how="full", coalesce=True, maintain_order="left_right"
    )


def _elements(given: Any, what: str, k: int | None = None) -> Elements:
    """The elements of an array, of each row of a matrix the `k` best."""
    if hasattr(given, "tocoo"):
        return _stored_elements(given.tocoo(), what, k)
    array = array_of(given, what)
    value, is_missing = _numbers(array, what)
    _refuse_dimensions(array.ndim, (1, 2), what)
    if k is not None:
        if array.ndim != 2:
            _refuse_k(k)
        if k < array.shape[1]:
            ranked = np.where(is_missing, -np.inf, value)
            worst = np.partition(ranked, -k, axis=1)[:, -k, None]
            is_missing = is_missing | (ranked < worst)
    n_columns = array.shape[-1] or 1
    row, column = np.divmod(np.arange(value.size), n_columns)
    table = _table(row, column, value, is_missing, what)
    return Elements(table, array.shape, True)


def _stored_elements(matrix: Any, what: str, k: int | None) -> Elements:
    """The elements that a sparse matrix stores, row by row."""
    value, is_missing = _numbers(np.asarray(matrix.data), what)
    shape = tuple(matrix.shape)
    _refuse_dimensions(len(shape), (2,), what)
    if k is not None:
        _refuse_k(k)
    row, column = matrix.coords
    table = _table(row, column, value, is_missing, what)
    return Elements(table.sort(ROW, "doc_id", maintain_order=True), shape, False)


def _refuse_dimensions(n: int, fits: tuple[int, ...], what: str) -> None:
    """Refuse an array of other dimensions."""
    if n not in fits:
        raise InvalidData(
            f"{what} have {n} dimensions; give a matrix with a row per query, or a flat array"
        )


def _refuse_k(k: int) -> NoReturn:
    """Refuse `k` for an array that is no dense matrix."""
    raise InvalidOption(option(k=k), " keeps the best of each row of a dense matrix; leave it out")


def _table(row: Array, column: Array, value: Array, is_missing: Array, what: str) -> pl.DataFrame:
    """One row for each element, null where its value is missing."""
    name = what.removesuffix("s")
    places = {ROW: row.astype(np.int64), "doc_id": column.astype(np.int64)}
    table = pl.DataFrame({**places, name: value.reshape(-1)})
    if not is_missing.any():
        return table
    is_given = pl.Series(~is_missing.reshape(-1))
    return table.with_columns(pl.when(is_given).then(name).alias(name))


def array_of(given: Any, what: str) -> Array:
    """Convert a tensor, an array, a Series or a list to an array in main memory, masked or not."""
    if hasattr(given, "detach"):  # a tensor of PyTorch; NumPy lacks some of its short floats
        given = given.detach().cpu()
        if given.is_floating_point() and given.element_size() < 4:
            given = given.float()
    if isinstance(given, pl.Series) and given.null_count():  # an array has no nulls
        given = given.to_list()
    try:
        return given if isinstance(given, np.ma.MaskedArray) else np.asarray(given)
    except (RuntimeError, TypeError, ValueError) as error:
        raise InvalidData(f"{what} is no array of one shape: {error}") from None


def _numbers(values: Array, what: str) -> tuple[Array, Array]:
    """The values, and which of them are masked or NaN."""
    is_masked = np.ma.getmaskarray(values)
    plain = np.ma.getdata(values)
    if plain.dtype.kind == "O":
        with suppress(TypeError, ValueError, OverflowError):
            plain = plain.astype(np.float64)  # None becomes NaN
    if plain.dtype.kind not in "biuf" or plain.dtype.itemsize > 8:
        raise InvalidData(f"{what} hold {plain.dtype}, not numbers")
    if plain.dtype == np.float16:
        plain = plain.astype(np.float32)
    if plain.dtype.kind == "f":
        is_masked = is_masked | np.isnan(plain)
    return plain, is_masked


def column_of(name: str, given: Array) -> pl.Series:
    """A column of texts or numbers."""
    flat = given.reshape(-1)
    is_number = flat.dtype.kind in "biuf"
    with suppress(TypeError, ValueError, OverflowError, pl.exceptions.PolarsError):
        column = pl.Series(name, flat if is_number else flat.tolist())
        if column.dtype not in (pl.Object, pl.Int128):
            return column
    raise InvalidData(f"{name}={shown(given.tolist())}: write texts, or numbers of 64 bits")


def _queries(
    shape: tuple[int, ...], group: object, query: object
) -> tuple[pl.Series, Array | None]:
    """The names of the queries, and the number of the query of each element of a flat array."""
    n_rows = shape[0]
    is_flat = len(shape) == 1
    is_one_of_both = (group is None) != (query is None)
    fits = is_one_of_both if is_flat else group is None
    if not fits:
        raise InvalidOption(
            f"scores have shape {shape}: flat ones take either group or query, and a matrix only "
            "query"
        )
    if group is not None:
        sizes = _sizes(group, n_rows)
        numbers = np.arange(len(sizes))
        return pl.Series(numbers), np.repeat(numbers, sizes)
    if query is None:
        return pl.Series(np.arange(n_rows)), None
    if isinstance(query, Mapping):
        raise InvalidOption(option(query=query), ": write the queries' names in a list or an array")
    of_rows = column_of("query", array_of(query, "query"))
    if len(of_rows) != n_rows:
        unit = "elements" if is_flat else "rows"
        raise InvalidData(f"there are {len(of_rows):,} queries for {n_rows:,} {unit}")
    names = of_rows.unique(maintain_order=True)
    if is_flat:
        return names, _number_of(of_rows, names)
    if len(names) < n_rows:
        is_again = of_rows.is_duplicated()
        twice = shown(of_rows.filter(is_again)[0])
        raise InvalidData(f"query {twice} has several rows; name each otherwise")
    return names, None


def _sizes(group: object, n_elements: int) -> Array:
    """The sizes of groups that add up to all elements."""
    sizes = array_of(group, "group")
    are_counts = sizes.ndim == 1 and sizes.dtype.kind in "iu" and not (sizes < 0).any()
    if not are_counts or sizes.sum() != n_elements:
        add_up = f"the sizes of the groups, whole numbers that add up to {n_elements:,}"
        raise InvalidData(
            f"group={shown(group)}: write {add_up}; query takes the query of each element"
        )
    return sizes


def _number_of(of_elements: pl.Series, names: pl.Series) -> Array:
    """The number of each element's query."""
    numbers: Any = names.to_frame().with_row_index(ROW)
    numbered = of_elements.to_frame().join(
        numbers, on="query", how="left", nulls_equal=True, maintain_order="left"
    )
    return numbered[ROW].cast(pl.Int64).to_numpy()
