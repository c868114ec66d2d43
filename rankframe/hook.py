"""`.rank` on frames: on Polars' at import; on pandas' as soon as any module imports pandas, until
`uninstall`.

pandas has a method `DataFrame.rank` already. On the class it stays pandas' method; on a frame it is
a ranker that can be called, and looks, like the method. Nothing here imports pandas. With the
environment variable ``RANKFRAME_PANDAS=0`` pandas stays as it is.
"""

from __future__ import annotations

import os
import sys
import threading
import warnings
from importlib.machinery import ModuleSpec
from types import FunctionType, ModuleType
from typing import TYPE_CHECKING, Any

import polars as pl

from .errors import InvalidOption

if TYPE_CHECKING:
    import pandas as pd

    from ._lift.pandas import RankMethod

__all__ = ["install", "uninstall"]

VARIABLE = "RANKFRAME_PANDAS"


class Hook:
    """The descriptor in place of pandas' method: it returns the method on the class, and a ranker
    on a frame.
    """

    rankframe = True

    def __init__(self, method: FunctionType) -> None:
        self.method = method

    def __get__(self, frame: pd.DataFrame | None, owner: type) -> FunctionType | RankMethod:
        if frame is None:
            return self.method
        from ._lift.pandas import RankMethod

        return RankMethod(self.method, frame)


class Finder(threading.local):
    """Finds pandas where the other finders do, and installs the hook when its import is done.

    `searching` is set per thread and stops a search inside a search: another such finder may ask
    this one in turn.
    """

    rankframe = True
    searching = False

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if name != "pandas" or self.searching:
            return None
        self.searching = True
        try:
            spec = self._spec_of_others(name, path, target)
        finally:
            self.searching = False
        if spec is not None and spec.loader is not None:
            _install_after(spec.loader)
        return spec

    def _spec_of_others(self, name: str, path: Any, target: Any) -> ModuleSpec | None:
        """The module as the first of the other finders finds it."""
        others = [finder for finder in sys.meta_path if finder is not self]
        for finder in others:
            if hasattr(finder, "find_spec"):
                spec = finder.find_spec(name, path, target)
                if spec is not None:
                    return spec
        return None


def _install_after(loader: Any) -> None:
    """Make this loader of pandas install the hook when it is done; the loader stays the same
    object.
    """
    execute = loader.exec_module

    def execute_and_install(module: ModuleType) -> None:
        vars(loader).pop("exec_module", None)
        execute(module)
        _hook(module)

    loader.exec_module = execute_and_install


def _hook(pandas: ModuleType) -> None:
    frame: Any = getattr(pandas, "DataFrame", None)
    if not isinstance(frame, type):  # pandas is not yet initialised, or is a tool's replacement
        return
    there: Any = vars(frame).get("rank")
    method = there.method if _ours(there) else getattr(frame, "rank", None)
    if isinstance(method, FunctionType):
        frame.rank = Hook(method)  # type: ignore[attr-defined]
    else:
        warnings.warn(
            "pd.DataFrame.rank is not pandas' method; use rankframe.rank(df), not df.rank",
            stacklevel=2,
        )


def _ours(thing: object) -> bool:
    """Whether `thing` was made by this module, or by an earlier import of it."""
    return getattr(thing, "rankframe", None) is True


def install() -> None:
    """Put ``.rank`` on pandas frames, now or when pandas is imported; ``import rankframe`` does it.

    A second call changes nothing.

    Examples
    --------
    >>> import pandas as pd, rankframe as rf
    >>> rf.hook.install()
    >>> scores, labels = [2.0, 1.0], [0, 1]
    >>> df = pd.DataFrame({"query_id": 1, "doc_id": ["a", "b"], "score": scores, "label": labels})
    >>> float(df.rank.reciprocal_rank()["rr"].loc[1])
    0.5
    >>> df["score"].to_frame().rank()["score"].tolist()
    [2.0, 1.0]
    """
    if not any(map(_ours, sys.meta_path)):
        sys.meta_path.insert(0, Finder())
    if sys.modules.get("pandas") is not None:
        import pandas  # waits for another thread that is importing it

        _hook(pandas)


def install_at_import() -> None:
    """Install the hook, unless the environment says that pandas stays as it is."""
    given = os.environ.get(VARIABLE, "1")
    if given not in ("0", "1"):
        raise InvalidOption(f"the environment variable {VARIABLE}={given!r} is neither '0' nor '1'")
    if given == "1":
        install()


def uninstall() -> None:
    """Restore pandas' own ``pd.DataFrame.rank``, as if rankframe had not been imported.

    ``rankframe.rank(df)`` still works.

    Examples
    --------
    >>> import pandas as pd, rankframe as rf
    >>> rf.hook.uninstall()
    >>> hasattr(pd.DataFrame().rank, "ndcg")
    False
    >>> rf.hook.install()
    >>> hasattr(pd.DataFrame().rank, "ndcg")
    True
    """
    sys.meta_path[:] = [finder for finder in sys.meta_path if not _ours(finder)]
    frame: Any = getattr(sys.modules.get("pandas"), "DataFrame", None)
    hook: Any = vars(frame).get("rank") if isinstance(frame, type) else None
    if _ours(hook):
        del frame.rank
        if frame.rank is not hook.method:  # it was not inherited
            frame.rank = hook.method


class Namespace:
    """The descriptor `.rank` of a class: a new ranker at every access.

    Polars' own descriptor keeps the ranker on the frame, a cycle that holds big frames in memory
    until the garbage collector runs.
    """

    rankframe = True

    def __get__(self, frame: object, owner: type) -> object:
        from ._lift.polars import PolarsRanker

        return PolarsRanker if frame is None else PolarsRanker(frame)


def register() -> None:
    """Put `.rank` on Polars' frames; a second call changes nothing."""
    dataframes = pl.api.register_dataframe_namespace
    lazyframes = pl.api.register_lazyframe_namespace
    for kind, announce in ((pl.DataFrame, dataframes), (pl.LazyFrame, lazyframes)):
        there = vars(kind).get("rank")
        if not getattr(there, "rankframe", False):
            try:
                announce("rank")(Namespace)
            except AttributeError:
                own = f"Polars has a {kind.__name__}.rank of its own"
                warnings.warn(f"{own}; use rankframe.rank(df) instead of df.rank", stacklevel=3)
                continue
        setattr(kind, "rank", Namespace())  # noqa: B010 - type checkers know no such attribute
