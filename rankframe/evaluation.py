"""Evaluate and compare rankings in one line from two things, runs and judgments: frames, files,
dictionaries or lists.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from inspect import Parameter, Signature, signature, unwrap
from itertools import count
from typing import Annotated, Any, Literal, TypeAlias

import polars as pl

from ._catalog.requests import Request
from ._files.together import run_names
from ._lift.callers_frames import in_polars
from ._lift.ranker import MetricRanker, Ranker
from ._shapes.dicts import FIELDS, from_dicts, from_rows
from ._shapes.swapped import look_swapped
from ._support.arrow_stream import from_stream
from ._support.methods import F, called_by_users
from ._support.option_kinds import ReadInside
from ._table.run_and_judgments import Tables, is_usual
from ._table.runs import Runs
from ._verbs.call.declaration import verb_of
from ._verbs.decide.compare import Comparison, compare as compare_verb
from ._verbs.decide.gate import Verdict, gate as gate_verb
from ._verbs.items.summarize import summarize as summarize_verb
from ._verbs.measure import evaluate as verbs
from ._verbs.measure.judge import judge
from ._verbs.measure.summary import mean as mean_verb
from .errors import Advice, Code, InvalidData, InvalidOption, shown, with_code_of
from .io import read_qrels, read_run

__all__ = ["compare", "evaluate", "gate", "mean", "summarize"]

Given: TypeAlias = Annotated[object, ReadInside]
SeveralRuns: TypeAlias = Annotated[Sequence[object] | Mapping[str, object], ReadInside]

OF_TABLES = frozenset(["qrels", "runs", "run"])
"""The options of verbs that functions of runs and judgments have in their first arguments."""


def taking_options_of(*verbs_of: Callable[..., Any]) -> Callable[[F], F]:
    """Give a function of tables the options of some verbs and those of `on`, which alone declare
    them.

    An option of a verb hides that of `on` with the same name.
    """

    def declare(function: F) -> F:
        parameters = signature(function).parameters.values()
        own = [x for x in parameters if x.kind is not Parameter.VAR_KEYWORD]
        taken = OF_TABLES.union(x.name for x in own)
        on = signature(MetricRanker.on).parameters.values()
        of_on = [x.replace(annotation=x.empty) for x in on]  # the options that it reads
        of_verbs = [x for verb in verbs_of for x in signature(verb).parameters.values()]
        options = {}
        for parameter in (*of_on, *of_verbs):
            is_option = parameter.kind is Parameter.KEYWORD_ONLY
            if is_option and parameter.name not in taken:
                options[parameter.name] = parameter
        named = sorted(options.values(), key=of_on.__contains__)
        declared = {
            "__signature__": Signature([*own, *named]),
            "aliases": _aliases_of(*map(unwrap, verbs_of), function),
        }
        vars(function).update(declared)
        return called_by_users(function)

    return declare


def _aliases_of(*functions: object) -> dict[str, object]:
    """The names that annotations of functions may have, the last function's first."""
    aliases: dict[str, object] = {}
    for function in functions:
        aliases |= getattr(function, "__globals__", {})
        aliases |= getattr(function, "aliases", {})
    return aliases


@taking_options_of(verbs.evaluate, judge)
def evaluate(run: Given, qrels: Given, *metrics: Request, **options: Any) -> Any:
    """Many metrics of a run, from the run and its judgments: one row per query.

    Short for ``run.rank.judge(qrels).rank.evaluate(...)`` with tables that need not be frames.

    Parameters
    ----------
    run
        A frame of Polars or pandas, or any table with the Arrow PyCapsule interface, with a row per
        query and document; a file, or a list of files of several runs, which
        :func:`rankframe.read_run` reads; ranx's ``Run``; a dictionary ``{query: {document:
        score}}`` or ``{query: [document, ...]}``, best first; or a list: of tuples ``(query,
        document, score)``, as those of ir_measures and ir_datasets, of dictionaries with the names
        of columns, or of each query's documents, best first, whose queries are numbered from 0. Or
        several runs by their names, ``{"bm25": ..., "dense": ...}``, each in one of these forms.
    qrels
        The judgments in any of these forms, with labels in place of scores; without them the listed
        documents are relevant. The first three fields of a tuple are query, document and label.
    *metrics
        As for ``df.rank.evaluate``.
    **options
        The columns and policies, as for ``df.rank.on``: ``query="qid", relevant=2,
        names="rectools"``; and `judged_only` and `run_only`, what happens with queries that only
        one of the two has, as for ``df.rank.judge``.

    Returns
    -------
    A frame with the query columns, of several runs also the column ``run``, then one Float64 column
    per metric. It is a pandas frame for a pandas run, else a Polars frame; :func:`mean` gives the
    means.

    Raises
    ------
    InvalidData, InvalidOption, MissingColumn
        As for the readers, ``df.rank.judge`` and ``df.rank.evaluate``; or if scores are whole
        numbers and labels are not, so that `run` and `qrels` seem to have changed places.

    Examples
    --------
    >>> import rankframe as rf
    >>> run = {"q1": {"a": 0.9, "b": 0.4}, "q2": {"c": 0.7}}
    >>> qrels = {"q1": {"b": 1}, "q2": {"c": 2}}
    >>> rf.evaluate(run, qrels, "rr", "precision@1").rows()
    [('q1', 0.5, 0.0), ('q2', 1.0, 1.0)]
    >>> rf.evaluate(run, qrels, "rr", relevant=2)["rr"].to_list()
    [0.0, 1.0]
    >>> rf.evaluate([("q1", "a", 0.9), ("q1", "b", 0.4)], {"q1": ["b"]}, "rr")["rr"].item()
    0.5
    """
    return _found(verbs.evaluate, _one_or_several(run), qrels, metrics, options)


@taking_options_of(mean_verb, judge)
def mean(run: Given, qrels: Given, *metrics: Request, **options: Any) -> Any:
    """The mean of each metric over the queries, from a run and its judgments: one row, or one per
    run.

    Parameters
    ----------
    run, qrels
        As for :func:`evaluate`.
    *metrics
        As for ``df.rank.mean``.
    **options
        The options of ``df.rank.mean``, `by` and `weights`, and those of :func:`evaluate`.

    Returns
    -------
    A frame, as ``df.rank.mean`` gives it; of several runs with the column ``run`` first.

    Raises
    ------
    InvalidData, InvalidOption, MissingColumn
        As for :func:`evaluate`.

    Examples
    --------
    >>> import rankframe as rf
    >>> old, new = {"q1": ["a", "b"], "q2": ["c"]}, {"q1": ["b"], "q2": ["c"]}
    >>> qrels = {"q1": ["b"], "q2": ["c"]}
    >>> rf.mean(old, qrels, "rr").item()
    0.75
    >>> rf.mean({"old": old, "new": new}, qrels, "rr").rows()
    [('old', 0.75), ('new', 1.0)]
    """
    return _found(mean_verb, _one_or_several(run), qrels, metrics, options)


@taking_options_of(summarize_verb, judge)
def summarize(run: Given, qrels: Given, *metrics: Request, **options: Any) -> Any:
    """The means of metrics with their confidence intervals, from a run and its judgments: one row
    per metric, and per run.

    Parameters
    ----------
    run, qrels
        As for :func:`evaluate`.
    *metrics
        As for ``df.rank.summarize``.
    **options
        The options of ``df.rank.summarize``, `by`, `ci`, `interval` and the others, and those of
        :func:`evaluate`.

    Returns
    -------
    As ``df.rank.summarize`` gives it; of several runs with the column ``run`` first.

    Raises
    ------
    InvalidData, InvalidOption, MissingColumn
        As for :func:`evaluate` and ``df.rank.summarize``.

    Examples
    --------
    >>> import rankframe as rf
    >>> run, qrels = {"q1": ["a", "b"], "q2": ["c"]}, {"q1": ["b"], "q2": ["c"]}
    >>> rf.summarize(run, qrels, "rr", ci=None).select("metric", "mean", "n_queries").rows()
    [('rr', 0.75, 2)]
    """
    return _found(summarize_verb, _one_or_several(run), qrels, metrics, options)


@taking_options_of(compare_verb, judge)
def compare(runs: SeveralRuns, qrels: Given, *metrics: Request, **options: Any) -> Comparison[Any]:
    """Compare runs on the same queries by paired tests, from the runs and their judgments.

    Parameters
    ----------
    runs
        The runs by their names, ``{"bm25": ..., "dense": ...}``, each in a form that
        :func:`evaluate` takes; or a list of them, of which files have the files' names, and others
        are ``run1``, ``run2`` ...
    qrels
        As for :func:`evaluate`.
    *metrics
        As for ``df.rank.compare``.
    **options
        The options of ``df.rank.compare``, `baseline`, `test`, `correction`, `by`, `ci` and the
        others, and those of :func:`evaluate`.

    Returns
    -------
    A :class:`rankframe.results.Comparison`, whose tables are pandas frames if all runs are, else
    Polars frames.

    Raises
    ------
    InvalidData, InvalidOption, MissingColumn
        As for :func:`evaluate` and ``df.rank.compare``.

    Examples
    --------
    The new run is right on all six queries and the old one on none: two of the 64 ways to flip
    signs are as far from 0.

    >>> import rankframe as rf
    >>> old, new = {q: ["a", "b"] for q in range(6)}, {q: ["b", "a"] for q in range(6)}
    >>> runs, qrels = {"old": old, "new": new}, {q: ["b"] for q in range(6)}
    >>> table = rf.compare(runs, qrels, "precision@1", test="permutation").table
    >>> float(table["difference"][0]), float(table["p_value"][0])
    (1.0, 0.03125)
    """
    return _found(compare_verb, runs_by_name(runs), qrels, metrics, options)  # type: ignore[no-any-return]


@taking_options_of(gate_verb, judge)
def gate(
    runs: SeveralRuns, qrels: Given, *budgets: Mapping[Request, float] | Request, **options: Any
) -> Verdict[Any]:
    """Whether runs may replace a baseline, from the runs and their judgments: no metric loses more
    than its budget.

    Parameters
    ----------
    runs
        As for :func:`compare`; the first is the baseline, unless `baseline` names another.
    qrels
        As for :func:`evaluate`.
    *budgets
        The most that each metric may lose, ``{"hit_rate@5": 0.05}``, as for ``df.rank.gate``.
    **options
        The options of ``df.rank.gate``, `margin`, `baseline`, `by`, `confidence` and the others,
        and those of :func:`evaluate`.

    Returns
    -------
    A :class:`rankframe.results.Verdict`, whose tables are pandas frames if all runs are, else
    Polars frames.

    Raises
    ------
    InvalidData, InvalidOption, MissingColumn
        As for :func:`evaluate` and ``df.rank.gate``.

    Examples
    --------
    >>> import rankframe as rf
    >>> good, gold = {q: ["b", "a"] for q in range(60)}, {q: ["b"] for q in range(60)}
    >>> worse = {q: ["b", "a"] if q % 3 else ["a", "b"] for q in range(60)}
    >>> rf.gate({"A": good, "B": good}, gold, {"hit_rate@1": 0.1}).passed
    True
    >>> rf.gate({"A": good, "B": worse}, gold, {"hit_rate@1": 0.1}).passed
    False
    """
    named = runs_by_name(runs)
    if options.get("baseline") is None:
        options["baseline"] = str(next(iter(named)))
    return _found(gate_verb, named, qrels, budgets, options)  # type: ignore[no-any-return]


def apart(
    options: Mapping[str, Any], verb: Callable[..., Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The options of a verb, and the others."""
    of_verb = verb_of(verb).parameters
    own = {name: value for name, value in options.items() if name in of_verb}
    others = {name: value for name, value in options.items() if name not in of_verb}
    return own, others


def _found(
    verb: Callable[..., Any],
    runs: Mapping[Any, object],
    qrels: object,
    requests: Sequence[Any],
    options: Mapping[str, Any],
) -> Any:
    """The result of a verb for runs by their names, or for one without a name, joined with their
    judgments.
    """
    own, others = apart(options, verb)
    unmatched, of_on = apart(others, judge)
    with with_code_of(as_keywords):
        tables, judgments = _together([*runs.values()], qrels)
        ranker: Ranker[Any] = tables[0].rank.on(**of_on)
        if ONE_RUN in runs:
            given = Runs(column=_column_of_runs(ranker))
        else:
            names = map(str, runs)
            given = Runs.of(dict(zip(names, tables, strict=True)))
        judged = ranker._of(given, judgments, **unmatched)
        own["run"] = given.column
        method = getattr(judged, verb.__name__)
        return method(*requests, **own)


ONE_RUN = None
"""The name of a run that is given without one."""


def _one_or_several(given: object) -> Mapping[Any, object]:
    """The runs by their names, or one without a name."""
    named = isinstance(given, Mapping) and any(map(_is_run, given.values()))
    return given if named else {ONE_RUN: given}  # type: ignore[return-value]


def _is_run(given: object) -> bool:
    """Whether the value of a dictionary is a run, and not the documents of a query."""
    if is_path(given) or is_frame(given) or hasattr(given, "read"):
        return True
    if isinstance(given, Mapping):
        return any(map(_holds_documents, given.values()))
    return isinstance(given, list) and any(map(_holds_documents, given))


def _holds_documents(given: object) -> bool:
    return isinstance(given, (Mapping, list, tuple, set))


def _column_of_runs(ranker: Ranker[Any]) -> str | None:
    """The column with a usual name for runs that distinguishes repeated documents; a plan's rows
    are not read for it.
    """
    if isinstance(ranker._frame, pl.LazyFrame):
        return None
    _, columns = ranker._table()
    if not any(is_usual(name, "run") for name in columns or ()):
        return None
    rows = in_polars(ranker._frame)
    setup = ranker._setup
    key = {*setup.roles.query, setup.roles.doc_name}
    if not isinstance(rows, pl.DataFrame) or not key <= {*rows.columns}:
        return None  # which the join refuses
    plan = rows.lazy()
    tables, _ = Tables(plan, plan, setup).with_usual_run()
    return tables.named


def as_keywords(code: Advice | Code) -> Advice | Code:
    """The code for a function whose own keywords are the options of `on` and of `judge`."""
    if isinstance(code, Code):
        return code if code.function is None else replace(code, polars=code.function)
    return replace(code, method="") if code.method == "on" else code


def runs_by_name(runs: object) -> Mapping[str, object]:
    """The runs by their names: files by those of the files, others by numbers."""
    if isinstance(runs, Mapping) and runs:
        return runs
    if is_path(runs) or is_frame(runs) or not isinstance(runs, Iterable):
        raise InvalidOption(f"{shown(runs)} is no list of runs; list the runs")
    given = [*runs]
    paths = [os.fspath(run) for run in given if is_path(run)]
    names_of_files = iter(run_names(paths))
    if not given:
        raise InvalidOption(f"{shown(runs)} holds no run; give at least one")
    numbers = count(1)
    named = {}
    for run in given:
        name = next(names_of_files) if is_path(run) else f"run{next(numbers)}"
        named[name] = run
    return named


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
    table = from_stream(given)
    if table is not None:
        return table
    to_dict = getattr(given, "to_dict", None)
    plain = to_dict() if callable(to_dict) else None
    if isinstance(plain, Mapping):
        return from_dicts(**{what: plain})
    is_list = isinstance(given, Iterable) and not isinstance(given, bytes)
    rows = [*given] if is_list else []  # type: ignore[misc]
    table = _table_of_rows(rows, what) if rows else None
    if table is not None:
        return table
    forms = (
        "a frame, a file, a dictionary of queries, or a list of tuples (query, document, number)"
    )
    kind = "run" if what == "run" else "judgments"
    raise InvalidOption(f"{shown(given)} is no {kind}; give {forms}")


def _table_of_rows(rows: Sequence[Any], what: Literal["run", "qrels"]) -> pl.DataFrame | None:
    """The frame of a list of files, of rows, or of each query's documents; None if it is none."""
    if all(map(is_path, rows)):
        return _read(rows, what)
    if all(isinstance(row, Mapping) for row in rows):
        return pl.DataFrame(rows, infer_schema_length=None)
    if all(isinstance(row, tuple) and len(row) >= len(FIELDS) for row in rows):
        return from_rows(rows, what)
    if all(isinstance(row, (list, set)) for row in rows):
        return from_dicts(**{what: dict(enumerate(rows))})
    return None


def _read(source: Any, what: str) -> pl.DataFrame:
    return read_run(source) if what == "run" else read_qrels(source)


def _together(runs: Sequence[object], qrels: object) -> tuple[list[Any], Any]:
    """The frames of runs and of judgments, all of one library."""
    tables = [table_of(run) for run in runs]
    judgments = table_of(qrels, "qrels")
    if not any(map(_names_numbers, (*runs, qrels))):
        _refuse_swapped(tables, judgments)
    if any(isinstance(table, (pl.DataFrame, pl.LazyFrame)) for table in tables):
        tables = [in_polars(table) for table in tables]
        judgments = in_polars(judgments)
    return tables, judgments


def _names_numbers(given: object) -> bool:
    """Whether it has columns that say which numbers are scores and which are labels."""
    return is_path(given) or is_frame(given) or hasattr(given, "read")


def _refuse_swapped(runs: Sequence[pl.DataFrame], qrels: pl.DataFrame) -> None:
    """Refuse whole scores with fractional labels: run and judgments were probably exchanged."""
    scores = [run["score"] for run in runs if "score" in run.columns]
    if "label" in qrels.columns and look_swapped(scores, qrels["label"]):
        raise InvalidData(
            "the scores are whole numbers and the labels are not, as if they had changed places: "
            "the run comes first, then the judgments; if they have not, give frames, whose columns "
            "have names"
        )
