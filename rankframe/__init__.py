"""Ranking metrics as a `.rank` namespace on data frames: grouped windows, no loop over queries.

>>> import polars as pl
>>> import rankframe as rf
>>> df = pl.DataFrame({"query_id": [1, 1], "doc_id": ["a", "b"], "score": [2.0, 1.0], "label": [0, 1]})
>>> df.rank.evaluate("ndcg@10", "rr").row(0)
(1, 0.6309297535714574, 0.5)
"""

from __future__ import annotations

import sys
from importlib.metadata import version as _version
from typing import TYPE_CHECKING, Any, overload

import polars as pl

from . import hook
from ._compare import Comparison
from ._gate import Verdict
from ._parse import parse
from ._polars import PolarsRanker, register
from ._ranker import ExprRanker
from ._ranking import Ranking
from ._registry import AGREEMENTS, METRICS, metric, unregister
from .errors import InvalidData, InvalidOption, MissingColumn, MissingExtra, RankframeError, UnknownMetric
from .io import load_example, read_qrels, read_run, scan_qrels, scan_run

if TYPE_CHECKING:
    import pandas as pd

    from ._pandas import PandasRanker

__all__ = [
    "AGREEMENTS",
    "METRICS",
    "Comparison",
    "InvalidData",
    "InvalidOption",
    "MissingColumn",
    "MissingExtra",
    "RankframeError",
    "Ranking",
    "UnknownMetric",
    "Verdict",
    "expr",
    "hook",
    "load_example",
    "metric",
    "parse",
    "rank",
    "read_qrels",
    "read_run",
    "scan_qrels",
    "scan_run",
    "unregister",
]

__version__ = _version("rankframe")

expr = ExprRanker()
"""The metrics as Polars expressions."""


@overload
def rank(frame: pl.DataFrame) -> PolarsRanker[pl.DataFrame]: ...
@overload
def rank(frame: pl.LazyFrame) -> PolarsRanker[pl.LazyFrame]: ...
@overload
def rank(frame: pd.DataFrame) -> PandasRanker: ...
def rank(frame: Any) -> PolarsRanker[Any] | PandasRanker:
    """The ranker of a frame: what ``frame.rank`` is, in a form that type checkers see.

    Parameters
    ----------
    frame
        A Polars DataFrame or LazyFrame, or a pandas DataFrame.

    Returns
    -------
    A ranker, whose methods give frames of the same kind.

    Raises
    ------
    InvalidData
        If `frame` is no frame.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame({"query_id": [1, 1], "doc_id": ["a", "b"], "score": [2.0, 1.0], "label": [0, 1]})
    >>> rf.rank(df).precision(k=1)["precision@1"].item()
    0.0
    """
    if isinstance(frame, (pl.DataFrame, pl.LazyFrame)):
        return PolarsRanker(frame)
    pandas = sys.modules.get("pandas")  # never imported for its own sake
    if pandas is not None and isinstance(frame, pandas.DataFrame):
        from ._pandas import PandasRanker

        return PandasRanker(frame)
    raise InvalidData(
        f"{type(frame).__name__} is no frame that can be ranked; give a DataFrame of Polars or pandas, or a LazyFrame"
    )


register()
hook.install()
