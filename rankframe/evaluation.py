"""Evaluate and compare rankings in one line from two things, runs and judgments: frames, files, dictionaries or lists."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from itertools import count
from typing import Annotated, Any, Literal, TypeAlias

import polars as pl

from ._catalog.requests import Request
from ._files.together import run_names
from ._lift.callers_frames import in_polars
from ._shapes.dicts import FIELDS, from_dicts, from_rows
from ._support.arrow_stream import from_stream
from ._support.methods import called_by_users
from ._support.option_kinds import ReadInside
from ._table.run_and_judgments import Unmatched
from ._table.runs import RUN_OF_TABLE, Runs
from ._verbs.compare import Comparison
from .errors import InvalidData, InvalidOption, shown
from .io import read_qrels, read_run

__all__ = ["compare", "evaluate"]

Given: TypeAlias = Annotated[object, ReadInside]
Options: TypeAlias = Mapping[str, object]
SeveralRuns: TypeAlias = Annotated[Sequence[object] | Mapping[str, object], ReadInside]


@called_by_users
def evaluate(
    run: Given,
    qrels: Given,
    *metrics: Request,
    on: Options | None = None,
    judged_only: Unmatched | None = None,
    run_only: Unmatched | None = None,
) -> Any:
    """Many metrics of a run, from the run and its judgments: one row per query.

    Short for ``run.rank.judge(qrels).rank.evaluate(...)`` with tables that need not be frames.

    Parameters
    ----------
    run
        A frame of Polars or pandas, or any table with the Arrow PyCapsule interface, with a row per query and document; a
        file, or a list of files of several runs, which :func:`rankframe.read_run` reads; a dictionary
        ``{query: {document: score}}`` or ``{query: [document, ...]}``, best first; or a list: of tuples ``(query, document,
        score)``, as those of ir_measures and ir_datasets, of dictionaries with the names of columns, or of each query's
        documents, best first, whose queries are numbered from 0.
    qrels
        The judgments in any of these forms, with labels in place of scores; without them the listed documents are
        relevant. The first three fields of a tuple are query, document and label.
    *metrics
        As for ``df.rank.evaluate``.
    on
        The columns and policies, as for ``df.rank.on``: ``{"query": "qid", "relevant": 2}``.
    judged_only, run_only
        What happens with queries that only one of the two has, as for ``df.rank.judge``.

    Returns
    -------
    A frame with the query columns, of several runs also the column ``run``, then one Float64 column per metric. It is a
    pandas frame for a pandas run, else a Polars frame; ``.mean()`` gives the means.

    Raises
    ------
    InvalidData, InvalidOption, MissingColumn
        As for the readers, ``df.rank.judge`` and ``df.rank.evaluate``; or if scores are whole numbers and labels are
        not, so that `run` and `qrels` seem to have changed places.

    Examples
    --------
    >>> import rankframe as rf
    >>> run, qrels = {"q1": {"a": 0.9, "b": 0.4}, "q2": {"c": 0.7}}, {"q1": {"b": 1}, "q2": {"c": 1}}
    >>> rf.evaluate(run, qrels, "rr", "precision@1").rows()
    [('q1', 0.5, 0.0), ('q2', 1.0, 1.0)]
    >>> rf.evaluate([("q1", "a", 0.9), ("q1", "b", 0.4)], {"q1": ["b"]}, "rr")["rr"].item()
    0.5
    """
    of_run, judgments = _together([run], qrels)
    judged = of_run[0].rank.on(**(on or {})).judge(judgments, judged_only=judged_only, run_only=run_only)
    setup = judged.rank._setup
    key = setup.roles.query if setup.run in (None, *setup.roles.query) else (setup.run, *setup.roles.query)
    return judged.rank.on(query=key).evaluate(*metrics)


@called_by_users
def compare(
    runs: SeveralRuns,
    qrels: Given,
    *metrics: Request,
    on: Options | None = None,
    judged_only: Unmatched | None = None,
    run_only: Unmatched | None = None,
    **options: Any,
) -> Comparison[Any]:
    """Compare runs on the same queries by paired tests, from the runs and their judgments.

    Parameters
    ----------
    runs
        The runs by their names, ``{"bm25": ..., "dense": ...}``, each in a form that :func:`evaluate` takes; or a list of
        them, of which files have the files' names, and others are ``run1``, ``run2`` ...
    qrels, on, judged_only, run_only
        As for :func:`evaluate`.
    *metrics
        As for ``df.rank.compare``.
    **options
        The options of ``df.rank.compare``: `baseline`, `test`, `correction`, `by`, `ci` and the others.

    Returns
    -------
    A :class:`rankframe.results.Comparison`, whose tables are pandas frames if all runs are, else Polars frames.

    Raises
    ------
    InvalidData, InvalidOption, MissingColumn
        As for :func:`evaluate` and ``df.rank.compare``.

    Examples
    --------
    The new run is right on all six queries and the old one on none: two of the 64 ways to flip signs are as far from 0.

    >>> import rankframe as rf
    >>> old, new = {q: ["a", "b"] for q in range(6)}, {q: ["b", "a"] for q in range(6)}
    >>> table = rf.compare({"old": old, "new": new}, {q: ["b"] for q in range(6)}, "precision@1", test="permutation").table
    >>> float(table["difference"][0]), float(table["p_value"][0])
    (1.0, 0.03125)
    """
    named = runs_by_name(runs)
    tables, judgments = _together([*named.values()], qrels)
    ranker = tables[0].rank.on(**(on or {}))._of(Runs.of(dict(zip(map(str, named), tables, strict=True))))
    judged = ranker.judge(judgments, run=RUN_OF_TABLE, judged_only=judged_only, run_only=run_only)
    return judged.rank.compare(*metrics, run=RUN_OF_TABLE, **options)  # type: ignore[no-any-return]


def runs_by_name(runs: object) -> Mapping[str, object]:
    """The runs by their names: files by those of the files, others by numbers."""
    if isinstance(runs, Mapping) and runs:
        return runs
    if is_path(runs) or is_frame(runs) or not isinstance(runs, Iterable):
        raise InvalidOption(f"{shown(runs)} is no list of runs; list the runs")
    given = [*runs]
    names, number = iter(run_names([os.fspath(run) for run in given if is_path(run)])), count(1)
    if not given:
        raise InvalidOption(f"{shown(runs)} holds no run; give at least one")
    return {next(names) if is_path(run) else f"run{next(number)}": run for run in given}


def is_path(given: object) -> bool:
    """Whether it names a file."""
    return isinstance(given, (str, os.PathLike))


def is_frame(given: object) -> bool:
    """Whether it is a table with named columns."""
    return hasattr(given, "__arrow_c_stream__") or hasattr(getattr(given, "rank", None), "judge")


def table_of(given: object, what: Literal["run", "qrels"] = "run") -> Any:
    """The frame of a run, or of judgments, in any form."""
    if is_path(given) or hasattr(given, "read"):
        return _read(given, what)
    if isinstance(given, Mapping):
        return from_dicts(**{what: given})
    if hasattr(getattr(given, "rank", None), "judge"):
        return given
    if (table := from_stream(given)) is not None:
        return table
    rows = [] if isinstance(given, bytes) or not isinstance(given, Iterable) else [*given]
    if rows and all(map(is_path, rows)):
        return _read(rows, what)
    if rows and all(isinstance(row, Mapping) for row in rows):
        return pl.DataFrame(rows, infer_schema_length=None)
    if rows and all(isinstance(row, tuple) and len(row) >= len(FIELDS) for row in rows):
        return from_rows(rows, what)
    if rows and all(isinstance(row, (list, set)) for row in rows):
        return from_dicts(**{what: dict(enumerate(rows))})
    forms = "a frame, a file, a dictionary of queries, or a list of tuples (query, document, number)"
    raise InvalidOption(f"{shown(given)} is no {'run' if what == 'run' else 'judgments'}; give {forms}")


def _read(source: Any, what: str) -> pl.DataFrame:
    return read_run(source) if what == "run" else read_qrels(source)


def _together(runs: Sequence[object], qrels: object) -> tuple[list[Any], Any]:
    """The frames of runs and of judgments, all of one library."""
    frames = [*(table_of(run) for run in runs), table_of(qrels, "qrels")]
    if not any(is_path(x) or is_frame(x) or hasattr(x, "read") for x in (*runs, qrels)):  # nothing names their numbers
        _refuse_swapped(frames)
    if any(isinstance(frame, (pl.DataFrame, pl.LazyFrame)) for frame in frames[:-1]):
        frames = [in_polars(frame) for frame in frames]
    return frames[:-1], frames[-1]


def _refuse_swapped(frames: Sequence[pl.DataFrame]) -> None:
    """Refuse whole scores with fractional labels: run and judgments were probably exchanged."""
    *runs, qrels = frames
    whole = [(run["score"] % 1 == 0).all() for run in runs if "score" in run.columns]
    if whole and all(whole) and "label" in qrels.columns and (qrels["label"] % 1 != 0).any():
        raise InvalidData(
            "the scores are whole numbers and the labels are not, as if they had changed places: the run comes first, then "
            "the judgments; if they have not, give frames, whose columns have names"
        )
