"""Metrics of batches, in the shape of torchmetrics."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import polars as pl

from .._catalog.requests import Request
from .._shapes.arrays import Array, array_of, column_of
from .._support.methods import called_by_users
from .._support.threads import use_polars
from ..errors import InvalidData, InvalidOption
from .means import MetricMeans


def _refuse_shapes(arrays: Mapping[str, Array], shape: tuple[int, ...]) -> None:
    """Refuse arrays of several shapes, or of more than two dimensions."""
    is_one_shape = all(array.shape == shape for array in arrays.values())
    if len(shape) not in (1, 2) or not is_one_shape:
        shapes = ", ".join(f"{name} {array.shape}" for name, array in arrays.items())
        raise InvalidData(f"the shapes are {shapes}; give all one shape, of one or two dimensions")


def _rows(arrays: Mapping[str, Array]) -> pl.DataFrame:
    """The rows of a batch that count, with scores and labels as floats."""
    columns = []
    for name, array in arrays.items():
        column = column_of(name, array)
        # whole ids of all batches have one type
        columns.append(column.cast(pl.Int64) if column.dtype.is_integer() else column)
    rows = pl.DataFrame(columns)
    if "mask" in arrays:
        is_counted = pl.col("mask").cast(pl.Boolean)
        rows = rows.filter(is_counted).drop("mask")
    for name in ("score", "label"):
        dtype = rows.schema[name]
        if not (dtype.is_numeric() or dtype in (pl.Boolean, pl.Null)):
            raise InvalidData(f"{name} holds {dtype}, which are no numbers; give numbers")
    return rows.with_columns(pl.col("score", "label").cast(pl.Float64))


def _columns_of(rows: pl.DataFrame) -> str:
    """The columns of a batch with their types, as errors show them."""
    return ", ".join(f"{name} ({dtype})" for name, dtype in rows.schema.items())


class Accumulator:
    """Metrics over all batches of scores, with the methods `update`, `compute` and `reset` of a
    torchmetrics metric.

    It needs no PyTorch, takes its tensors on any device, and gives the same values as ``df.rank``
    on the table of all rows. The rows of a query may come in several batches, in any order.

    Parameters
    ----------
    *metrics
        Texts and functions, as for ``df.rank.evaluate``.
    **options
        Policies, as for ``df.rank.on``: ``convention``, ``ties``, ``relevant``, ``no_relevant`` ...

    Raises
    ------
    UnknownMetric, InvalidOption
        If a text names no metric, or an option is out of its range. The constructor raises them,
        not `update`.

    Examples
    --------
    >>> import rankframe as rf
    >>> metrics = rf.Accumulator("ndcg@10", "rr")
    >>> metrics.update([0.9, 0.1, 0.5], [0, 1, 0], query=["a", "a", "b"])
    >>> metrics.update([0.4], [1], query=["b"])  # query b continues
    >>> metrics.compute()
    {'ndcg@10': 0.6309297535714574, 'rr': 0.5}
    >>> metrics.per_query()["query_id"].to_list()
    ['a', 'b']
    >>> metrics.reset()
    >>> metrics.update([[0.9, 0.1], [0.5, 0.4]], [[0, 1], [1, 0]])  # each row is a query
    >>> metrics.compute()["rr"]
    0.75
    """

    @called_by_users
    def __init__(self, *metrics: Request, **options: object) -> None:
        self._means = MetricMeans.of(Accumulator, metrics, options, table=False)
        schema = {"query_id": pl.Int64, "doc_id": pl.Int64, "label": pl.Float64}
        self._means.check(pl.DataFrame(schema=schema))
        self._batches: list[pl.DataFrame] = []
        self._numbered = 0  # the number of unnamed queries so far

    @called_by_users
    def update(
        self,
        scores: object,
        labels: object,
        query: object = None,
        *,
        doc: object = None,
        mask: object = None,
    ) -> None:
        """Add a batch.

        Parameters
        ----------
        scores, labels
            Numbers of the documents: tensors, arrays, Series or lists of one shape. Either of one
            dimension, a number per document; or of two, a row per query and a column per document.
            A label of NaN is refused; null in a Series is a document that nobody judged, or one
            that was not retrieved.
        query
            The query of each document or, in two dimensions, of each row: whole numbers or texts,
            or one for the whole batch. ``None`` in two dimensions: each row is a query that no
            other batch has.
        doc
            The ids of the documents, in the shape of the scores, by which ties are ordered.
            ``None``: ties keep the order in which documents were added. Either all batches have
            ids, or none.
        mask
            True for documents that count, in the shape of the scores; false for padding.

        Raises
        ------
        InvalidData
            If shapes differ, or ids are of another kind than in earlier batches.
        """
        use_polars()
        arrays = {"score": array_of(scores, "scores"), "label": array_of(labels, "labels")}
        for name, given in (("doc_id", doc), ("mask", mask)):
            if given is not None:
                arrays[name] = array_of(given, name)
        shape = arrays["score"].shape
        _refuse_shapes(arrays, shape)
        queries = self._queries(query, shape)
        rows = _rows({"query_id": queries, **arrays})
        if rows.is_empty():
            return
        self._refuse_other_ids(rows)
        self._batches.append(rows)
        if query is None:
            self._numbered += shape[0]

    def _refuse_other_ids(self, rows: pl.DataFrame) -> None:
        """Refuse a batch whose columns are not those of the batches before."""
        if not self._batches or rows.schema == self._batches[0].schema:
            return
        now = _columns_of(rows)
        before = _columns_of(self._batches[0])
        raise InvalidData(f"this batch has {now}; those before have {before}. Give ids of one kind")

    def _queries(self, query: object, shape: tuple[int, ...]) -> Array:
        """The query of each document."""
        is_numbered = self._numbered > 0
        is_named = query is not None
        is_flat = len(shape) == 1
        is_other = bool(self._batches) and is_named == is_numbered
        if is_other or (is_flat and not is_named):
            raise InvalidOption(
                "either all batches name their queries by `query`, or none, each a row per query"
            )
        n_rows = shape[0]
        if is_named:
            ids = array_of(query, "query").reshape(-1)
        else:
            ids = np.arange(n_rows) + self._numbered
        if len(ids) not in (1, n_rows):
            raise InvalidData(
                f"{len(ids)} queries for {n_rows} rows; give one for each, or one for the batch"
            )
        n_documents = int(np.prod(shape))
        return np.repeat(ids, n_documents // max(len(ids), 1))

    @called_by_users
    def per_query(self) -> pl.DataFrame:
        """The values of each query of the batches so far: ``query_id`` and a Float64 column per
        metric.

        Raises
        ------
        InvalidData
            If there was no batch, a score is NaN, a label infinite, or a document is twice in a
            query.
        """
        if not self._batches:
            raise InvalidData(
                "there are no scores yet; call update(scores, labels, query=queries) before"
            )
        if len(self._batches) > 1:
            self._batches = [pl.concat(self._batches)]
        return self._means.per_query(self._batches[0])

    @called_by_users
    def compute(self) -> dict[str, float]:
        """The means over the queries of the batches so far, by the metrics' texts; the batches
        stay.

        Raises
        ------
        InvalidData
            As :meth:`per_query`; or if no query has a value, under ``no_relevant="null"``.
        """
        return self._means.over(self.per_query())

    def reset(self) -> None:
        """Forget all batches."""
        self._batches.clear()
        self._numbered = 0

    def __repr__(self) -> str:
        names = ", ".join(map(repr, self._means.names))
        return f"Accumulator({names})"
