"""Uses of `rank` on pandas frames, as text: run by tests/rankers/test_pandas_hook.py with and without rankframe.

python uses_of_pandas_rank.py [NAME ...]      imports the modules named, in that order, then prints {use: outcome} as JSON
"""

from __future__ import annotations

import contextlib
import copy
import functools
import importlib
import inspect
import io
import json
import operator
import pickle
import pydoc
import sys
import types
import weakref
from collections.abc import Callable
from typing import Any
from unittest import mock

USES: dict[str, Callable[[Any, Any], Any]] = {
    "call": lambda pd, df: df.rank(),
    "axis 1": lambda pd, df: df.rank(1),
    "axis by name": lambda pd, df: df[["a", "b"]].rank(axis="columns"),
    "every option": lambda pd, df: df.rank(
        axis=0, method="dense", numeric_only=True, na_option="bottom", ascending=False, pct=True
    ),
    "each method": lambda pd, df: [df["a"].to_frame().rank(method=m) for m in ("average", "min", "max", "first")],
    "wrong method": lambda pd, df: df.rank(method="no such"),
    "wrong keyword": lambda pd, df: df.rank(k=10),
    "too many arguments": lambda pd, df: df.rank(0, "min", True, "keep", True, False, 1),
    "metadata": lambda pd, df: df.set_flags(allows_duplicate_labels=True).rank().attrs,
    "from the class": lambda pd, df: pd.DataFrame.rank(df),
    "bound by hand": lambda pd, df: pd.DataFrame.rank.__get__(df)(),
    "empty frame": lambda pd, df: pd.DataFrame().rank(),
    "agg": lambda pd, df: df[["a", "b"]].agg("rank"),
    "agg with options": lambda pd, df: df[["a", "b"]].agg("rank", pct=True),
    "agg list": lambda pd, df: df[["a", "b"]].agg(["rank", "abs"]),
    "agg dict": lambda pd, df: df.agg({"a": "rank"}),
    "agg axis 1": lambda pd, df: df[["a", "b"]].agg("rank", axis=1),
    "apply": lambda pd, df: df.apply("rank"),
    "apply axis 1": lambda pd, df: df[["a", "b"]].apply("rank", axis=1),
    "apply method of Series": lambda pd, df: df.apply(pd.Series.rank),
    "transform": lambda pd, df: df[["a", "b"]].transform("rank"),
    "transform axis 1": lambda pd, df: df[["a", "b"]].transform("rank", axis=1),
    "transform list": lambda pd, df: df[["a", "b"]].transform(["rank"]),
    "groupby": lambda pd, df: df.groupby("g").rank(),
    "groupby transform": lambda pd, df: df.groupby("g").transform("rank"),
    "groupby agg of one column": lambda pd, df: df.groupby("g")["a"].transform("rank", ascending=False),
    "groupby apply": lambda pd, df: df.groupby("g")[["a", "b"]].apply(lambda part: part.rank()),
    "pipe class": lambda pd, df: df.pipe(pd.DataFrame.rank, pct=True),
    "pipe lambda": lambda pd, df: df.pipe(lambda frame: frame.rank(method="min")),
    "corr": lambda pd, df: df[["a", "b"]].corr(method="spearman"),
    "corrwith": lambda pd, df: df[["a"]].corrwith(df["b"], method="spearman"),
    "rolling": lambda pd, df: df[["a", "b"]].rolling(2).rank(),
    "expanding": lambda pd, df: df[["a", "b"]].expanding().rank(),
    "Series": lambda pd, df: df["a"].rank(),
    "Series method": lambda pd, df: pd.Series.rank.__qualname__,
    "Index": lambda pd, df: hasattr(df.index, "rank"),
    "column named rank": lambda pd, df: (lambda f: (f.rank(), f["rank"], f.loc[0, "rank"]))(df.assign(rank=[3, 1, 2])),
    "query by a column named rank": lambda pd, df: df.assign(rank=[3, 1, 2]).query("rank > 1"),
    "eval of a column named rank": lambda pd, df: df.assign(rank=[3, 1, 2]).eval("rank + 1"),
    "drop column named rank": lambda pd, df: df.assign(rank=1).drop(columns="rank").rank(),
    "attribute set": lambda pd, df: (setattr(df, "rank", 7), df.rank, df.columns.tolist()),
    "attribute set beside a column": lambda pd, df: (lambda f: (setattr(f, "rank", 7), f.rank, f["rank"]))(
        df.assign(rank=1)
    ),
    "attribute deleted": lambda pd, df: delattr(df, "rank"),
    "signature": lambda pd, df: inspect.signature(df.rank),
    "signature on the class": lambda pd, df: inspect.signature(pd.DataFrame.rank),
    "argument spec": lambda pd, df: inspect.getfullargspec(df.rank),
    "bound arguments": lambda pd, df: inspect.signature(df.rank).bind(1, pct=True),
    "doc": lambda pd, df: inspect.getdoc(pd.DataFrame.rank) in inspect.cleandoc(df.rank.__doc__),
    "doc by inspect": lambda pd, df: inspect.getdoc(df.rank).endswith(inspect.getdoc(pd.DataFrame.rank)),
    "doc on the class": lambda pd, df: pd.DataFrame.rank.__doc__,
    "names": lambda pd, df: (df.rank.__name__, df.rank.__qualname__, df.rank.__module__),
    "other attributes": lambda pd, df: (
        getattr(df.rank, "__final__", "of Python 3.11"),
        df.rank.__defaults__,
        df.rank.__kwdefaults__,
    ),
    "annotations": lambda pd, df: df.rank.__annotations__,
    "unknown dunder": lambda pd, df: hasattr(df.rank, "__no_such__"),
    "wrapped": lambda pd, df: hasattr(df.rank, "__wrapped__"),
    "class": lambda pd, df: df.rank.__class__,
    "function": lambda pd, df: df.rank.__func__ is pd.DataFrame.rank,
    "function on the class": lambda pd, df: (type(pd.DataFrame.rank), pd.DataFrame.rank is pd.DataFrame.rank),
    "owner": lambda pd, df: df.rank.__self__ is df,
    "kind": lambda pd, df: [f(df.rank) for f in (callable, inspect.ismethod, inspect.isroutine, inspect.isfunction)],
    "kind on the class": lambda pd, df: [f(pd.DataFrame.rank) for f in (inspect.ismethod, inspect.isfunction)],
    "instance of": lambda pd, df: isinstance(df.rank, types.MethodType),
    "source": lambda pd, df: (inspect.getsourcefile(df.rank), inspect.getsourcelines(df.rank)[1]),
    "source on the class": lambda pd, df: inspect.getsource(pd.DataFrame.rank),
    "unwrapped": lambda pd, df: inspect.unwrap(df.rank) == df.rank,
    "equal": lambda pd, df: (df.rank == df.rank, df.rank == df.copy().rank, df.rank != df.rank, df.rank == 1),
    "in a set": lambda pd, df: len({df.rank, df.rank}),
    "truth": lambda pd, df: bool(df.rank),
    "help": lambda pd, df: (lambda lines: (lines[:3], lines[-90:]))(pydoc.render_doc(df.rank).splitlines()),
    "help on the class": lambda pd, df: pydoc.render_doc(pd.DataFrame.rank),
    "members": lambda pd, df: [name for name, _ in inspect.getmembers(df, inspect.ismethod) if "rank" in name],
    "directory": lambda pd, df: ("rank" in dir(df), "rank" in dir(pd.DataFrame)),
    "has attribute": lambda pd, df: (hasattr(df, "rank"), hasattr(pd.DataFrame, "rank")),
    "pickled frame": lambda pd, df: pickle.loads(pickle.dumps(df)).rank(),
    "pickled method": lambda pd, df: pickle.loads(pickle.dumps(df.rank))(pct=True),
    "copied frames": lambda pd, df: [f.rank() for f in (df.copy(), copy.copy(df), copy.deepcopy(df))],
    "copied method": lambda pd, df: (copy.copy(df.rank)(), copy.deepcopy(df.rank)()),
    "partial": lambda pd, df: functools.partial(df.rank, pct=True)(),
    "method caller": lambda pd, df: operator.methodcaller("rank", ascending=False)(df),
    "mapped": lambda pd, df: list(map(df.rank, [0, 1])),
    "weak method": lambda pd, df: weakref.WeakMethod(df.rank)()(),
    "frame is freed": lambda pd, df: _freed(df.copy()),
    "same type again": lambda pd, df: types.MethodType(df.rank.__func__, df)(),
    "mocked": lambda pd, df: _mocked(pd, df),
    "spec of a mock": lambda pd, df: str(inspect.signature(mock.create_autospec(df.rank))),
    "subclass": lambda pd, df: (lambda s: (type(s.rank()).__name__, s.rank(), s.rank.__self__ is s))(_subclass(pd)(df)),
    "subclass of its own mind": lambda pd, df: _subclass(pd, rank=lambda self: "mine")(df).rank(),
    "subclass that calls super": lambda pd, df: _calls_super(pd)(df).rank(pct=True),
    "state": lambda pd, df: (df.rank, sorted(vars(df)))[1],
}


def _freed(frame: Any) -> bool:
    frame.rank()
    there = weakref.ref(frame)
    del frame
    return there() is None


def _mocked(pd: Any, df: Any) -> Any:
    with mock.patch.object(pd.DataFrame, "rank", return_value="mock"):
        inside = df.rank()
    return inside, df.rank()


def _subclass(pd: Any, **members: Any) -> Any:
    def build(self: Any) -> Any:
        return kind

    kind = type("Kind", (pd.DataFrame,), {"_constructor": property(build), **members})
    return kind


def _calls_super(pd: Any) -> Any:
    class Kind(pd.DataFrame):  # type: ignore[misc]
        def rank(self, **options: Any) -> Any:
            return super().rank(**options)

    return Kind


def outcome(use: Callable[[Any, Any], Any], pd: Any) -> str:
    df = pd.DataFrame({"a": [3.0, 1.0, None], "b": [1, 1, 2], "g": [True, True, False]})
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        try:
            result = use(pd, df)
        except Exception as error:
            result = f"{type(error).__name__}: {error}"
    return f"{printed.getvalue()}{result!s}"


if __name__ == "__main__":
    for name in sys.argv[1:]:
        importlib.import_module(name)
    import pandas

    pandas.set_option("display.width", 1000)
    found = {name: outcome(use, pandas) for name, use in USES.items()}
    there = hasattr(pandas.DataFrame().rank, "ndcg")
    print(json.dumps({"hooked": there, "uses": found}))
