"""Convert arrays of scores and labels into the long table."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from .._support.forks import use_polars
from .._support.methods import called_by_users
from .._support.option_kinds import check
from .._table.policies import Cutoff
from ..errors import InvalidData, InvalidOption, option, shown

if TYPE_CHECKING:
    import numpy.typing as npt


@called_by_users
def from_arrays(
    *, scores: Any, labels: Any = None, group: Any = None, query: Any = None, k: int | None = None
) -> pl.DataFrame:
    """The long table of arrays of scores and labels: matrices, flat arrays with groups, sparse matrices.

    All are keywords: scikit-learn takes labels first, and swapped arrays give values that look right.

    Parameters
    ----------
    scores
        A matrix with a row per query and a column per document; or a flat array, with `group` or `query`. NumPy arrays,
        objects with ``__array__`` (tensors of PyTorch or JAX in main memory, data frames), lists of lists of equal
        length, and SciPy's sparse matrices, whose stored elements are the retrieved documents. Masked elements and NaN
        were not retrieved.
    labels
        Labels in the same shape; a sparse matrix may go with dense scores. Masked elements, NaN and elements
        that a sparse matrix does not store were not judged. ``None`` for a table without labels.
    group
        For flat arrays, the sizes of the groups in their order, as LightGBM and XGBoost take them.
    query
        For flat arrays, the query of each element, in any order, as torchmetrics' ``indexes``; for matrices, the
        names of the rows. Default for matrices and groups: the number of the row or group, from 0.
    k
        For dense matrices, how many documents to keep of each query, so that the scores of a catalog do not become one
        row each: the k best, others tied with the last of them, and documents with a label above 0, which count as
        missed. Metrics with a cutoff up to `k` are exact. Default: all.

    Returns
    -------
    pl.DataFrame
        ``query_id``, ``doc_id`` (Int64: the column of a matrix, the place in a flat array; from 0), ``score`` and
        ``label`` (in the type of the arrays; null if not retrieved or not judged). Elements with neither score nor
        label are left out; a query without any has one row, whose document is null, so that it counts.

    Raises
    ------
    InvalidData
        If the shapes differ, the groups do not add up, rows differ in length, or an array does not hold numbers.
    InvalidOption
        If a flat array has neither `group` nor `query`, or both.

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
    cut = None if k is None else check("k", k, Cutoff)
    table, shape, dense = _elements(scores, "scores", cut)
    names, of_element = _queries(shape, group, query)
    if labels is not None:
        judged, of_labels, full = _elements(labels, "labels")
        if shape != of_labels:
            raise InvalidData(
                f"scores have shape {shape} and labels {of_labels}; give each document a score and a label"
            )
        if dense and full:
            table = table.with_columns(judged["label"])
        else:
            table = table.join(judged, on=[ROW, "doc_id"], how="full", coalesce=True, maintain_order="left_right")
    if of_element is not None:
        table = table.with_columns(pl.Series(ROW, of_element))
    table = table.filter(pl.any_horizontal(pl.exclude(ROW, "doc_id").is_not_null()))
    if cut is not None and labels is not None:
        table = table.filter(pl.col("score").is_not_null() | (pl.col("label") > 0))
    queries = pl.DataFrame({ROW: np.arange(len(names)), "query_id": names})
    return queries.join(table, on=ROW, how="left", maintain_order="left_right").drop(ROW)


ROW = "#row"


def _elements(given: Any, what: str, k: int | None = None) -> tuple[pl.DataFrame, tuple[int, ...], bool]:
    """The elements of an array as rows, its shape, and whether it is dense.

    A row has the number of the array's row (0 in a flat array) and of its column, and the value, null if masked or NaN, or not
    among the `k` best of the row or tied with the last of them.
    """
    dense = not hasattr(given, "tocoo")
    stored: Any = _array(given, what) if dense else given.tocoo()
    shape, name = tuple(stored.shape), what.removesuffix("s")
    value, missing = _numbers(stored if dense else np.asarray(stored.data), what)
    if len(shape) not in ((1, 2) if dense else (2,)):
        raise InvalidData(f"{what} have {len(shape)} dimensions; give a matrix with a row per query, or a flat array")
    if k is not None and not (dense and len(shape) == 2):
        raise InvalidOption(
            option(k=k), " keeps the best of each row of a dense matrix; write a cutoff of the metrics, as 'ndcg@10'"
        )
    if k is not None and k < shape[1]:
        ranked = np.where(missing, -np.inf, value)
        missing = missing | (ranked < np.partition(ranked, -k, axis=1)[:, -k, None])
    rows = np.divmod(np.arange(value.size), shape[-1] or 1) if dense else stored.coords
    table = pl.DataFrame({ROW: rows[0].astype(np.int64), "doc_id": rows[1].astype(np.int64), name: value.reshape(-1)})
    if missing.any():
        table = table.with_columns(pl.when(pl.Series(~missing.reshape(-1))).then(name).alias(name))
    return table if dense else table.sort(ROW, "doc_id", maintain_order=True), shape, dense


def _array(given: object, what: str) -> npt.NDArray[Any]:
    """Convert the object to a NumPy array, masked or not."""
    if isinstance(given, np.ma.MaskedArray):
        return given
    try:
        return np.asarray(given)
    except ValueError:
        raise InvalidData(
            f"the rows of {what} differ in length; fill them up with NaN, or make a frame with a list per query and write "
            "rf.from_lists(df)"
        ) from None
    except (RuntimeError, TypeError) as error:  # a tensor of PyTorch with gradients, or on another device
        raise InvalidData(f"{what} cannot be read as an array: {error}; write {what}.detach().cpu().numpy()") from None


def _numbers(values: npt.NDArray[Any], what: str) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """The values, and which of them are masked or NaN."""
    masked = np.ma.getmaskarray(values)
    plain = np.ma.getdata(values)
    if plain.dtype.kind == "O":
        try:
            plain = plain.astype(np.float64)  # None becomes NaN
        except (TypeError, ValueError, OverflowError):
            raise InvalidData(f"{what} hold {plain.dtype}, not numbers") from None
    if plain.dtype.kind not in "biuf" or plain.dtype.itemsize > 8:
        raise InvalidData(f"{what} hold {plain.dtype}, not numbers; cast them, as {what}.astype(float)")
    if plain.dtype == np.float16:
        plain = plain.astype(np.float32)
    return plain, masked | np.isnan(plain) if plain.dtype.kind == "f" else masked


def _ids(query: object) -> pl.Series:
    """The queries' names as a column."""
    with suppress(TypeError, ValueError, OverflowError, pl.exceptions.PolarsError):
        names = pl.Series("query", np.asarray(query))
        if names.dtype != pl.Object:
            return names
    raise InvalidData(f"query={shown(query)}: write texts or numbers, one for each query")


def _queries(shape: tuple[int, ...], group: object, query: object) -> tuple[pl.Series, npt.NDArray[Any] | None]:
    """The names of the queries, and the number of the query of each element of a flat array."""
    flat = len(shape) == 1
    if not flat and group is not None:
        raise InvalidOption(f"a matrix of shape {shape} has a query in each row; leave out group, or give a flat array")
    if flat and (group is None) == (query is None):
        both = "not both" if group is not None else "; a single query is a matrix of one row, as scores[None]"
        raise InvalidOption(
            f"a flat array takes group=, the sizes of the groups, or query=, the query of each element, {both}"
        )
    if group is not None:
        sizes = np.asarray(group)
        if sizes.ndim != 1 or sizes.dtype.kind not in "iu" or (sizes < 0).any():
            instead = ", or say query=, if it names the query of each element" if sizes.shape == shape else ""
            raise InvalidData(f"group is {shown(group)}; give the size of each group, whole numbers from 0 on{instead}")
        if sizes.sum() != shape[0]:
            raise InvalidData(f"the groups add up to {sizes.sum():,} elements of {shape[0]:,}; give all sizes")
        return pl.Series(np.arange(len(sizes))), np.repeat(np.arange(len(sizes)), sizes)
    if query is None:
        return pl.Series(np.arange(shape[0])), None
    given = _ids(query)
    if len(given) != shape[0]:
        unit = "elements" if flat else "rows"
        raise InvalidData(f"there are {len(given):,} queries for {shape[0]:,} {unit}; name the query of each")
    if not flat and given.is_duplicated().any():
        raise InvalidData(
            f"query {shown(given.filter(given.is_duplicated())[0])} has several rows; name each otherwise"
        )
    names = given.unique(maintain_order=True)
    if not flat:
        return names, None
    found = given.to_frame().join(
        names.to_frame().with_row_index(ROW), on="query", how="left", nulls_equal=True, maintain_order="left"
    )
    return names, found[ROW].cast(pl.Int64).to_numpy()
