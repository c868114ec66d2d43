"""Ranking metrics as a `.rank` namespace on data frames: grouped windows, no loop over queries.

>>> import polars as pl
>>> import rankframe as rf
>>> scores, labels = [2.0, 1.0], [0, 1]
>>> df = pl.DataFrame({"query_id": 1, "doc_id": ["a", "b"], "score": scores, "label": labels})
>>> df.rank.evaluate("ndcg@10", "rr").row(0)
(1, 0.6309297535714574, 0.5)
"""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, overload

if sys.argv[:1] == ["-m"] and sys.orig_argv[-3:-1] == [
    "-m",
    __name__,
]:  # python -m imports the package first
    from _rankframe import stored

    if sys.stdout is not None and (answer := stored(sys.argv[1:])) is not None:
        sys.stdout.write(answer)
        sys.exit()

import polars as pl

from ._support import polars_versions  # noqa: F401 - refuses a Polars that is too old before other modules are imported

# isort: split
from . import hook
from ._support.arrow_stream import ArrowStream, from_stream
from ._support.methods import called_by_users
from ._support.threads import watch_forks
from .errors import (
    InvalidData,
    InvalidOption,
    MissingColumn,
    MissingExtra,
    OutOfSpace,
    RankframeError,
    RankframeWarning,
    UnknownMetric,
)
from .hook import register

if TYPE_CHECKING:
    import pandas as pd

    from ._catalog.fusions import FUSIONS, TRAINED_FUSIONS
    from ._catalog.parse import parse
    from ._catalog.registry import (
        AGREEMENTS,
        CATALOG_METRICS,
        METRICS,
        catalog_metric,
        metric,
        unregister,
    )
    from ._catalog.values import value
    from ._files.write import write_qrels, write_run
    from ._lift.arrow_kernel import arrow_kernel
    from ._lift.pandas import PandasRanker
    from ._lift.partial_sums import partial_sums
    from ._lift.ranker import ExprRanker, Ranker
    from ._shapes.arrays import from_arrays
    from ._shapes.dicts import from_dicts
    from ._shapes.lists import from_lists
    from ._sql.statement import sql
    from ._trainers.accumulator import Accumulator
    from ._trainers.boosters import catboost_callback, lightgbm_metric, xgboost_metric
    from ._trainers.scikit_learn import sklearn_scorer
    from ._trainers.sentence_transformers import sentence_transformers_evaluator
    from ._words.exposure import Exposure
    from ._words.ranking import Ranking
    from .evaluation import compare, evaluate, gate, mean, summarize
    from .fusion import fit_fusion, fuse
    from .io import load_example, read_qrels, read_run, scan_qrels, scan_run

__all__ = [
    "AGREEMENTS",
    "CATALOG_METRICS",
    "FUSIONS",
    "METRICS",
    "TRAINED_FUSIONS",
    "Accumulator",
    "Exposure",
    "InvalidData",
    "InvalidOption",
    "MissingColumn",
    "MissingExtra",
    "OutOfSpace",
    "PandasRanker",
    "Ranker",
    "RankframeError",
    "RankframeWarning",
    "Ranking",
    "UnknownMetric",
    "arrow_kernel",
    "catalog_metric",
    "catboost_callback",
    "compare",
    "evaluate",
    "expr",
    "fit_fusion",
    "from_arrays",
    "from_dicts",
    "from_lists",
    "fuse",
    "gate",
    "hook",
    "lightgbm_metric",
    "load_example",
    "mean",
    "metric",
    "parse",
    "partial_sums",
    "rank",
    "read_qrels",
    "read_run",
    "scan_qrels",
    "scan_run",
    "sentence_transformers_evaluator",
    "sklearn_scorer",
    "sql",
    "summarize",
    "unregister",
    "value",
    "write_qrels",
    "write_run",
    "xgboost_metric",
]  # fmt: skip

if TYPE_CHECKING:
    __version__: str

    expr: ExprRanker
    """The metrics as Polars expressions."""

NAMES_OF = {
    "_catalog.fusions": "FUSIONS TRAINED_FUSIONS",
    "_catalog.parse": "parse",
    "_catalog.registry": "AGREEMENTS CATALOG_METRICS METRICS catalog_metric metric unregister",
    "_catalog.values": "value",
    "_lift.arrow_kernel": "arrow_kernel",
    "_lift.partial_sums": "partial_sums",
    "_lift.pandas": "PandasRanker",
    "_lift.ranker": "Ranker expr",
    "_shapes.arrays": "from_arrays",
    "_shapes.dicts": "from_dicts",
    "_shapes.lists": "from_lists",
    "_trainers.accumulator": "Accumulator",
    "_trainers.boosters": "catboost_callback lightgbm_metric xgboost_metric",
    "_trainers.scikit_learn": "sklearn_scorer",
    "_trainers.sentence_transformers": "sentence_transformers_evaluator",
    "_words.exposure": "Exposure",
    "_words.ranking": "Ranking",
    "_sql.statement": "sql",
    "evaluation": "compare evaluate gate mean summarize",
    "fusion": "fit_fusion fuse",
    "io": "load_example read_qrels read_run scan_qrels scan_run write_qrels write_run",
}
LATER = {name: module for module, names in NAMES_OF.items() for name in names.split()}
"""Modules of names imported on first use, so that `import rankframe` takes only a tenth longer than
`import polars`."""

MODULES = ("dask", "fusion", "io", "metrics", "plot", "report", "results", "spark", "stats")
"""Modules that are imported at their first use."""


@overload
def rank(frame: pl.DataFrame) -> Ranker[pl.DataFrame]: ...
@overload
def rank(frame: pl.LazyFrame) -> Ranker[pl.LazyFrame]: ...
@overload
def rank(frame: pd.DataFrame) -> PandasRanker: ...  # type: ignore[overload-overlap]  # pandas exports Arrow, too
@overload
def rank(frame: ArrowStream) -> Ranker[pl.DataFrame]: ...
@called_by_users
def rank(frame: Any) -> Ranker[Any]:
    """The ranker of a frame: the same as ``frame.rank``, but typed for type checkers.

    Parameters
    ----------
    frame
        A Polars DataFrame or LazyFrame, a pandas DataFrame, a Dask frame, or a narwhals frame of
        one of these; or anything with the Arrow PyCapsule interface, such as a PyArrow table, a
        DuckDB relation or an Ibis table, all rows of which are read into memory.

    Returns
    -------
    A ranker whose methods return frames of the same kind, of a narwhals frame the kind of the
    frame that it wraps; for tables with the PyCapsule interface,
    Polars DataFrames.

    Raises
    ------
    InvalidData
        If `frame` is not a frame.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> scores, labels = [2.0, 1.0], [0, 1]
    >>> df = pl.DataFrame({"query_id": 1, "doc_id": ["a", "b"], "score": scores, "label": labels})
    >>> rf.rank(df).precision(k=1)["precision@1"].item()
    0.0
    """
    from ._lift.polars import PolarsRanker

    if isinstance(frame, (pl.DataFrame, pl.LazyFrame)):
        return PolarsRanker(frame)
    library = type(frame).__module__.partition(".")[0]
    if library == "narwhals":
        return rank(frame.to_native())  # type: ignore[no-any-return]
    if library == "pyspark":  # an iteration would collect the whole table
        raise InvalidData(
            "a Spark table stays where it is: write rankframe.spark.evaluate(table, "
            "'ndcg@10', 'map')"
        )
    if library == "dask":
        return import_module(".dask", __name__).DaskRanker(frame)  # type: ignore[no-any-return]
    pandas = sys.modules.get("pandas")  # not imported only for this check
    if pandas is not None and isinstance(frame, pandas.DataFrame):
        from ._lift.pandas import PandasRanker

        return PandasRanker(frame)
    table = from_stream(frame)
    if table is not None:
        return PolarsRanker(table)
    kinds = (
        "a DataFrame of Polars or pandas, a LazyFrame, or a table with the Arrow PyCapsule "
        "interface"
    )
    makers = "rf.from_dicts, rf.from_arrays and rf.from_lists make frames"
    raise InvalidData(f"{type(frame).__name__} is no frame; give {kinds}; {makers}")


def __getattr__(name: str) -> Any:
    """Import a name on first use."""
    if name == "__version__":
        from ._support.extras import version_of

        return version_of(__name__)
    if name in LATER:
        from . import fusions, metrics  # noqa: F401 - fill the registries

        module = import_module(f".{LATER[name]}", __name__)
        value = getattr(module, name)
        globals()[name] = value
        return value
    if name in MODULES:
        return import_module(f".{name}", __name__)
    # An import of a module asks for it first.
    may_be_module = name.startswith("_") or find_spec(f"{__name__}.{name}") is not None
    advice = "" if may_be_module else _advice_for(name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}{advice}")


def _advice_for(name: str) -> str:
    """What a wrong name may mean: a metric, a method of rankers or a function."""
    from ._catalog.registry import METRICS, near_names
    from ._lift.polars import PolarsRanker

    ranker = PolarsRanker(pl.DataFrame())
    methods = {method: f"'df.rank.{method}'" for method in dir(ranker)}
    places = {method: f"'df.rank.{place[1:]}" for method, place in ranker._elsewhere.items()}
    functions = {function: repr(function) for function in __dir__()}
    return near_names(name, METRICS, methods | places | functions)


def __dir__() -> list[str]:
    """The public names, without the modules of engines, which may not be installed."""
    special = {name for name in globals() if name.startswith("__") and name.endswith("__")}
    names = {*special, *__all__, *MODULES, "__version__"}
    hidden = {"__getattr__", "__dir__", "dask", "spark"}
    return sorted(names - hidden)


register()
hook.install_at_import()
watch_forks()
