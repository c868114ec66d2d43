"""Optional libraries and engines: found when they are first named, and missed with the words that bring them."""

from __future__ import annotations

import math
import sys
from typing import Any

import pytest

import rankframe as rf
from rankframe._support.extras import load
from rankframe.errors import MissingExtra


def test_a_module_that_is_there_is_loaded() -> None:
    assert load("math", "stats") is math


def test_one_that_is_not_names_the_extra_to_install() -> None:
    with pytest.raises(
        MissingExtra, match=r"no_such_module is not installed; write pip install 'rankframe\[plot\]'"
    ) as caught:
        load("no_such_module", "plot")
    assert isinstance(caught.value, (ImportError, rf.RankframeError))
    assert issubclass(MissingExtra, ImportError)
    assert issubclass(MissingExtra, rf.RankframeError)


def test_engines_are_imported_when_they_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    assert rf.spark.evaluate.__module__ == "rankframe.spark"
    monkeypatch.setitem(sys.modules, "dask.dataframe", None)
    monkeypatch.delitem(sys.modules, "rankframe.dask", raising=False)
    monkeypatch.delitem(vars(rf), "dask", raising=False)
    with pytest.raises(MissingExtra, match=r"pip install 'rankframe\[dask\]'"):
        rf.dask  # noqa: B018
    with pytest.raises(AttributeError, match="module 'rankframe' has no attribute 'flink'"):
        rf.flink  # noqa: B018


def of(module: str) -> Any:
    return type("DataFrame", (), {"__module__": module})()


def test_a_spark_table_is_not_brought_here_and_a_dask_frame_wants_dask(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(rf.InvalidData, match=r"stays where it is: write rankframe\.spark\.evaluate"):
        rf.rank(of("pyspark.sql.classic.dataframe"))
    monkeypatch.setitem(sys.modules, "dask.dataframe", None)
    monkeypatch.delitem(sys.modules, "rankframe.dask", raising=False)
    with pytest.raises(MissingExtra, match=r"rankframe\[dask\]"):
        rf.rank(of("dask.dataframe.dask_expr._collection"))
