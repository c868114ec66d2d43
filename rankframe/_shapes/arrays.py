"""Convert arrays of scores and labels into the long table."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import polars as pl

from .._support.methods import called_by_users
from .._support.threads import use_polars
from .._table.policies import Cutoff
from ..errors import InvalidData, InvalidOption, option, shown, warn
from .swapped import look_swapped

Array: TypeAlias = npt.NDArray[Any]


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
    table, shape, dense = _elements(scores, "scores", k)
    names, of_element = _queries(shape, group, query)
    if labels is not None:
        judged, of_labels, full = _elements(labels, "labels")
        if shape != of_labels:
            raise InvalidData(
                f"scores have shape {shape} and labels {of_labels}; each document has one of both"
            )
        if look_swapped([table["score"]], judged["label"]):
            says = (
                "the scores are whole numbers and the labels are not, as if they had changed "
                "places; if they have, say "
            )
            warn(says, "rf.from_arrays(scores=labels, labels=scores)")
        if dense and full:
            table = table.with_columns(judged["label"])
        else:
            table = table.join(
                judged, on=[ROW, "doc_id"], how="full", coalesce=True, maintain_order="left_right"
            )
    if of_element is not None:
        table = table.with_columns(pl.Series(ROW, of_element))
    table = table.filter(pl.any_horizontal(pl.exclude(ROW, "doc_id").is_not_null()))
    if k is not None and labels is not None:
        table = table.filter(pl.col("score").is_not_null() | (pl.col("label") > 0))
    queries = pl.DataFrame({ROW: np.arange(len(names)), "query_id": names})
    return queries.join(table, on=ROW, how="left", maintain_order="left_right").drop(ROW)


ROW = "#row"


def _elements(
    given: Any, what: str, k: int | None = None
) -> tuple[pl.DataFrame, tuple[int, ...], bool]:
    """The elements of an array as rows, its shape, and whether it is dense.

    A row has the number of the array's row (0 in a flat array) and of its column, and the value,
    null if masked or NaN, or not among the `k` best of the row or tied with the last of them.
    """
    dense = not hasattr(given, "tocoo")
    stored: Any = array_of(given, what) if dense else given.tocoo()
    shape, name = tuple(stored.shape), what.removesuffix("s")
    value, missing = _numbers(stored if dense else np.asarray(stored.data), what)
    if len(shape) not in ((1, 2) if dense else (2,)):
        raise InvalidData(
            f"{what} have {len(shape)} dimensions; give a matrix with a row per query, or a "
            "flat array"
        )
    if k is not None and not (dense and len(shape) == 2):
        raise InvalidOption(
            option(k=k), " keeps the best of each row of a dense matrix; leave it out"
        )
    if k is not None and k < shape[1]:
        ranked = np.where(missing, -np.inf, value)
        missing = missing | (ranked < np.partition(ranked, -k, axis=1)[:, -k, None])
    rows = np.divmod(np.arange(value.size), shape[-1] or 1) if dense else stored.coords
    table = pl.DataFrame(
        {ROW: rows[0].astype(np.int64), "doc_id": rows[1].astype(np.int64), name: value.reshape(-1)}
    )
    if missing.any():
        table = table.with_columns(pl.when(pl.Series(~missing.reshape(-1))).then(name).alias(name))
    return table if dense else table.sort(ROW, "doc_id", maintain_order=True), shape, dense


def array_of(given: Any, what: str) -> Array:
    """Convert a tensor, an array, a Series or a list to an array in main memory, masked or not."""
    if hasattr(given, "detach"):  # a tensor of PyTorch; NumPy lacks some of its short floats
        given = given.detach().cpu()
        given = given.float() if given.is_floating_point() and given.element_size() < 4 else given
    if isinstance(given, pl.Series) and given.null_count():  # an array has no nulls
        given = given.to_list()
    try:
        return given if isinstance(given, np.ma.MaskedArray) else np.asarray(given)
    except (RuntimeError, TypeError, ValueError) as error:
        raise InvalidData(f"{what} is no array of one shape: {error}") from None


def _numbers(values: Array, what: str) -> tuple[Array, Array]:
    """The values, and which of them are masked or NaN."""
    masked, plain = np.ma.getmaskarray(values), np.ma.getdata(values)
    if plain.dtype.kind == "O":
        with suppress(TypeError, ValueError, OverflowError):
            plain = plain.astype(np.float64)  # None becomes NaN
    if plain.dtype.kind not in "biuf" or plain.dtype.itemsize > 8:
        raise InvalidData(f"{what} hold {plain.dtype}, not numbers")
    if plain.dtype == np.float16:
        plain = plain.astype(np.float32)
    return plain, masked | np.isnan(plain) if plain.dtype.kind == "f" else masked


def column_of(name: str, given: Array) -> pl.Series:
    """A column of texts or numbers."""
    flat = given.reshape(-1)
    with suppress(TypeError, ValueError, OverflowError, pl.exceptions.PolarsError):
        column = pl.Series(name, flat if flat.dtype.kind in "biuf" else flat.tolist())
        if column.dtype not in (pl.Object, pl.Int128):
            return column
    raise InvalidData(f"{name}={shown(given.tolist())}: write texts, or numbers of 64 bits")


def _queries(
    shape: tuple[int, ...], group: object, query: object
) -> tuple[pl.Series, Array | None]:
    """The names of the queries, and the number of the query of each element of a flat array."""
    flat = len(shape) == 1
    if (group is None) == (query is None) if flat else group is not None:
        raise InvalidOption(
            f"scores have shape {shape}: flat ones take either group or query, and a matrix "
            "only query"
        )
    if group is not None:
        sizes = array_of(group, "group")
        if (
            sizes.ndim != 1
            or sizes.dtype.kind not in "iu"
            or (sizes < 0).any()
            or sizes.sum() != shape[0]
        ):
            add_up = f"the sizes of the groups, whole numbers that add up to {shape[0]:,}"
            raise InvalidData(
                f"group={shown(group)}: write {add_up}; query takes the query of each element"
            )
        return pl.Series(np.arange(len(sizes))), np.repeat(np.arange(len(sizes)), sizes)
    if query is None:
        return pl.Series(np.arange(shape[0])), None
    if isinstance(query, Mapping):
        raise InvalidOption(option(query=query), ": write the queries' names in a list or an array")
    given = column_of("query", array_of(query, "query"))
    if len(given) != shape[0]:
        raise InvalidData(
            f"there are {len(given):,} queries for {shape[0]:,} {'elements' if flat else 'rows'}"
        )
    if not flat and given.is_duplicated().any():
        twice = shown(given.filter(given.is_duplicated())[0])
        raise InvalidData(f"query {twice} has several rows; name each otherwise")
    names = given.unique(maintain_order=True)
    if not flat:
        return names, None
    number: Any = names.to_frame().with_row_index(ROW)
    found = given.to_frame().join(
        number, on="query", how="left", nulls_equal=True, maintain_order="left"
    )
    return names, found[ROW].cast(pl.Int64).to_numpy()
