"""Read the files of a command as one table of one or several runs and their judgments."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import polars as pl
import polars.selectors as cs

import rankframe as rf

from .._catalog.parse import texts_of
from .._files.formats import rows
from .._files.read import QRELS, RUN, Layout
from .._files.sources import COMPRESSED, beir_folder, spelled
from .._files.together import run_names
from .._lift.polars import PolarsRanker
from .._lift.ranker import Ranker
from .._plan.per_query import collect
from .._support.progress import Progress
from .._table.conventions import CONVENTIONS
from .._table.name_presets import FLAT, roles_of
from .._table.roles import require_all
from .._table.runs import Runs
from .._table.setup import JOINED, TABLES, Setup
from .._verbs.call.declaration import VerbCall, verb_of
from .._verbs.sample.slices import by_query, keys
from ..errors import InvalidData, RankframeError
from .command import COLUMN_OPTIONS, COLUMNS, DEFAULT_METRICS, POLICIES, keywords
from .output import refuse, warnings_as_notes


class File(NamedTuple):
    """The table of a file, and the names of its columns in the file."""

    table: pl.DataFrame
    stored: Collection[str]


Files: TypeAlias = tuple[list[pl.DataFrame], pl.DataFrame | None]
Joined: TypeAlias = tuple[pl.DataFrame, dict[str, Any]]
"""The runs and their judgments; the table of all files, and its runs as a verb's arguments."""


def answered(
    arguments: Namespace, doing: str, *asked: object, labels: bool = True, **usual: object
) -> Any:
    """The result of the command's verb on the files, by default for its metrics.

    `usual` are options that may be given.
    """
    asked = asked or (tuple(metrics_of(arguments)) if arguments.usual_metrics else ())
    options = {**usual, **values_of(arguments)}
    table, runs = ranked(arguments, arguments.verb, *asked, labels=labels, **options)
    with Progress(doing):
        return arguments.verb(table, *asked, **runs, **options)


def reads_of(arguments: Namespace, verb: Any, *asked: object, **options: object) -> set[str]:
    """The columns of the files that a verb reads by its declaration, and those of the runs."""
    setup = PolarsRanker(pl.DataFrame()).on(**for_on(arguments, {}))._setup
    columns = _bound(arguments, verb, *asked, **options).columns(setup)
    return columns | {*Runs.of(**_runs(arguments)).columns}


def _bound(arguments: Namespace, verb: Any, *asked: object, **options: object) -> VerbCall:
    """The call of a verb, with the runs if it takes several."""
    declared = verb_of(verb)
    runs = _runs(arguments) if "runs" in declared.parameters else {}
    return declared.bound(asked, {**runs, **options})


def ranked(
    arguments: Namespace,
    verb: Any,
    *asked: object,
    also: Collection[str] = (),
    labels: bool = True,
    **options: Any,
) -> tuple[Ranker[pl.DataFrame], dict[str, Any]]:
    """The ranker of the files with the columns that a verb reads, and the runs as its arguments.

    The files' columns in `also` are read, too.
    """
    calls = _bound(arguments, verb, *asked, **options).calls
    of_rankings = verb_of(verb).scores and (not calls or any(call.of_ranking for call in calls))
    reads = {*reads_of(arguments, verb, *asked, **options), *also}
    table, runs = judged(arguments, reads, labels=labels and of_rankings, scores=of_rankings)
    return ranker(table, arguments), runs


def ranker(table: pl.DataFrame, arguments: Namespace) -> Ranker[pl.DataFrame]:
    """The table's ranker, with the given policies; it knows of judgments that were joined here."""
    ranker_of_table = rf.rank(table).on(**for_on(arguments, table.schema))
    if getattr(arguments, JOINED, None) is not None:
        ranker_of_table._setup = replace(
            ranker_of_table._setup, given=ranker_of_table._setup.given | {JOINED}
        )
    return ranker_of_table


def refuse_metrics(files: Sequence[str]) -> None:
    """Refuse a metric among the files."""
    for word in files:
        is_metric = not Path(word).exists() and _is_metric(word)
        refuse(is_metric, f"{word} is a metric, and no file; write -m {word}")


def _is_metric(word: str) -> bool:
    """Whether a word is the text of a metric."""
    try:
        rf.parse(word)
    except RankframeError:
        return False
    return True


def _runs(arguments: Namespace) -> dict[str, Any]:
    """The runs, if there are several, as a verb's arguments.

    These are score columns, or a column that names the run of each row.
    """
    run = arguments.run
    if not run and not arguments.runs and len(arguments.files) > 1:
        run = "run"
    given = {"runs": arguments.runs, "run": run}
    return {name: value for name, value in given.items() if value}


def judged(
    arguments: Namespace, reads: Collection[str] | None, *, labels: bool = True, scores: bool = True
) -> Joined:
    """Read the files as one table, with its runs as a verb's arguments.

    Its columns have the library's names.

    `reads` are the further columns that a verb reads; ``None``: all. `labels` and `scores` say
    whether it needs these.
    """
    named = Runs.of(arguments.runs, arguments.run)
    refuse_metrics(arguments.files)
    if len(arguments.files) > 1:
        _refuse_runs(arguments, named, labels)
    needed = None if reads is None else {*reads, *_slices(arguments)}
    tables, qrels = runs_and_judgments(arguments, needed, scores=scores)
    for table in tables:
        named.require(table, Setup())
    files = tables if qrels is None else [*tables, qrels]
    several = len(tables) > 1
    names = names_of_runs(arguments.files)
    if qrels is not None:
        if arguments.run:
            tables = tables[0].partition_by(arguments.run, maintain_order=True)
            names = [str(table[arguments.run][0]) for table in tables]
            several = True
        if reads is None:
            reads = [name for file in files for name in file.columns]
        how = values_of(arguments, PolarsRanker.judge)
        shown = names if several else [*map(shown_path, arguments.files)]
        for i, name in enumerate(shown):
            with warnings_as_notes(f"{name}: "), of_file(name):
                tables[i] = join(arguments, tables[i], qrels, reads, **how)
    if several:
        runs = zip(names, tables, strict=True)
        tables = [table.with_columns(pl.lit(name).alias("run")) for name, table in runs]
        arguments = Namespace(**{**vars(arguments), "run": "run"})
    table = pl.concat(tables, how="diagonal_relaxed")
    return _sliced(table, files, arguments), _runs(arguments)


def _refuse_runs(arguments: Namespace, named: Runs, labels: bool) -> None:
    """Refuse columns of runs of several files, and several runs without judgments that are read."""
    option = "--run names a column" if arguments.run else "--runs names columns"
    one_table = "of one table, and there are several files; leave it out, or give one"
    refuse(named.columns, f"{option} {one_table}")
    unjudged = "several runs are evaluated with one file of judgments; say --qrels QRELS"
    refuse(arguments.qrels is None and labels, unjudged)


def join(
    arguments: Namespace, run: pl.DataFrame, qrels: pl.DataFrame, kept: Collection[str], **how: Any
) -> pl.DataFrame:
    """Join a run with its judgments.

    Of the columns `kept` in both, take scores from the run and others from the judgments.

    `how` are the options of `judge` for queries that one of them lacks.
    """
    scores = arguments.runs or ["score"]
    known = {*COLUMNS, *scores}
    of_qrels = [name for name in qrels.columns if name in kept and name not in known]
    known.update(of_qrels)
    of_run = [name for name in run.columns if name in kept and name not in known]
    rows = run.select("query_id", "doc_id", *scores, *of_run)
    ranker = rf.rank(rows).on(score=scores[0], subtopic=arguments.subtopic)
    return ranker.judge(qrels.select(*QRELS.needed, *of_qrels), **how)


@contextmanager
def of_file(name: str) -> Iterator[None]:
    """Begin errors in rows with the name of their file, or of their run."""
    try:
        yield
    except InvalidData as error:
        raise InvalidData(f"{name}: ", *error.parts) from error


@contextmanager
def naming_file(arguments: Namespace) -> Iterator[None]:
    """Begin errors in rows of the whole table with the name of their file.

    With several runs, they name the run.
    """
    try:
        yield
    except InvalidData as error:
        qrels: Any = vars(arguments).get("qrels")
        is_of_qrels = error.kind == "label not finite" and qrels is not None
        paths: Any = [qrels] if is_of_qrels else getattr(arguments, "files", ())
        if error.kind is None or len(paths) != 1:  # an error of reading names its file
            raise
        with of_file(shown_path(paths[0])):
            raise


# files


def runs_and_judgments(
    arguments: Namespace, reads: Collection[str] | None, *, once: bool = True, scores: bool = True
) -> Files:
    """Read the runs, and the judgments if they are given.

    With `once`, repeated judgments are refused.
    """
    refuse_two_inputs([*arguments.files, arguments.qrels])
    qrels = None if arguments.qrels is None else judgments_of(arguments, reads, once=once)
    left_out = set()
    if qrels is None:
        left_out.add("doc_id")
    if arguments.runs or (qrels is None and not scores):
        left_out.add("score")
    needed = tuple(name for name in RUN.needed if name not in left_out)
    layout = RUN._replace(needed=needed)
    renamed = COLUMNS if qrels is None else needed
    files = [_read(arguments, path, layout, renamed, reads=reads) for path in arguments.files]
    if qrels is not None:
        files.append(qrels)
    _require_named_columns(arguments, files)
    tables = [file.table for file in files]
    ids = cs.by_name("query_id", "doc_id", require_all=False)
    types_of_ids = {tuple(table.select(ids).dtypes) for table in tables}
    if len(types_of_ids) > 1:  # text files have ids of text
        tables = [table.with_columns(ids.cast(pl.String)) for table in tables]
    return (tables, None) if qrels is None else (tables[:-1], tables[-1])


def _require_named_columns(arguments: Namespace, files: Sequence[File]) -> None:
    """Refuse options that name a column which no file has."""
    stored = dict.fromkeys(name for file in files for name in file.stored)
    named = []
    for role in ("query", "doc", "score", "label"):
        name = getattr(arguments, role)
        if name is not None:
            named.append((name, f"--{role}"))
    require_all(stored, named)


def judgments_of(
    arguments: Namespace, reads: Collection[str] | None = None, *, once: bool = False
) -> File:
    """Read the judgments; with `once`, repeated ones are refused."""
    key: tuple[str, ...] = ()
    if once:
        further = (arguments.run, arguments.subtopic)
        key = ("query_id", "doc_id", *(name for name in further if name is not None))
    return _read(arguments, arguments.qrels, QRELS, QRELS.needed, reads=reads, once=key)


def _read(
    arguments: Namespace,
    path: str,
    layout: Layout,
    renamed: Sequence[str],
    *,
    reads: Collection[str] | None,
    **which: Any,
) -> File:
    """Read a file, with its columns under the library's names.

    Columns that are not in `reads` are null, no key `once` may repeat.
    """
    columns: dict[str, str] = {}
    for column in renamed:
        name = getattr(arguments, column.removesuffix("_id"))
        twice = f"column {name!r} is named for two roles; each role needs a column of its own"
        refuse(name in columns, twice)
        if name is not None:
            columns[name] = column
    # the two files may name ids differently
    must = renamed if arguments.qrels is None else ("score", "label")
    kind = arguments.qrels_input if layout is QRELS else arguments.input
    if reads is not None:
        which["only"] = {*reads, *layout.needed}
    return read_file(path, layout, which, format=kind, columns=columns, must=must)


def read_file(path: str, layout: Layout, which: Mapping[str, Any], **options: Any) -> File:
    """Read a file with rows, standard input, or a pipe such as a shell's <(...).

    `which` are options of `FileRows.read`.
    """
    with ExitStack() as stack:
        stack.enter_context(Progress(f"reading {path}"))
        source: Any = path
        if path == "-":
            source = sys.stdin.buffer
        elif not Path(path).is_file() and not beir_folder(path):
            # a pipe; a missing file or a folder raises
            source = stack.enter_context(Path(path).open("rb"))
        try:
            file = rows(source, layout, label_dtype=pl.Float64, **options)
            table = file.read(**which)
        except OSError as error:  # Polars leaves the name out
            raise InvalidData(f"{path}: {str(error).splitlines()[0]}") from error
    if table.is_empty():
        what = "document" if layout.of_run else "judgment"
        raise InvalidData(f"{shown_path(path)} holds no {what}")
    return File(table, file.stored)


def refuse_two_inputs(paths: Sequence[str | None]) -> None:
    """Refuse to read standard input twice."""
    sentence = "two files cannot both be standard input; write one of them to a file"
    refuse(paths.count("-") > 1, sentence)


def shown_path(path: str) -> str:
    """A file's name, as messages show it."""
    return "standard input" if path == "-" else path


# columns with one value per query


def _slices(arguments: Namespace) -> list[str]:
    by = getattr(arguments, "by", None) or ()
    columns = [by] if isinstance(by, str) else [*by]
    others = (getattr(arguments, name, None) for name in ("weights", "cluster"))
    return columns + [name for name in others if isinstance(name, str)]


def _sliced(
    table: pl.DataFrame, files: Sequence[pl.DataFrame], arguments: Namespace
) -> pl.DataFrame:
    """The table with the columns of slices, which either file may have.

    They are the same in all rows of a query.
    """
    slices = _slices(arguments)
    adjust = getattr(arguments, "adjust", None)
    if any(adjust in file.columns for file in files):
        slices.append(str(adjust))
    weights = getattr(arguments, "weights", None)
    for name in slices:
        is_metric = name == weights and all(name not in file.columns for file in files)
        if name != "query_id" and not is_metric:
            columns = cs.by_name("query_id", name, require_all=False)
            values = pl.concat([file.select(columns) for file in files], how="diagonal_relaxed")
            if name not in values.columns:
                values = table  # the error lists its columns
            of_queries = collect(by_query(values, ["query_id"], [name], None), values, Setup())
            of_queries = of_queries.select("query_id", pl.col(keys([name])[0]).alias(name))
            table = table.drop(name, strict=False)
            table = table.join(of_queries, on="query_id", how="left", maintain_order="left")
    return table


# names of runs


def names_of_runs(paths: Sequence[str]) -> list[str]:
    """The runs' names: the files' without their last ending, or as much as distinguishes them."""
    return run_names(["stdin" if path == "-" else spelled(path) for path in paths])


def with_baseline(arguments: Namespace) -> Namespace:
    """The arguments, with a baseline that is given as a file replaced by its run's name."""
    baseline = getattr(arguments, "baseline", None)
    files = getattr(arguments, "files", ())
    if baseline is None or len(files) < 2:
        return arguments
    names = names_of_runs(files)
    meant = []
    for name, path in zip(names, files, strict=True):
        if baseline in _forms(Path(spelled(path))):
            meant.append(name)
    if len(meant) == 1 and baseline not in names:
        arguments.baseline = meant[0]
    return arguments


def _forms(path: Path) -> set[str]:
    """The names of a file: with its folders or not, with the ending of compressed text or not."""
    bare = path.with_suffix("") if path.suffix.lower() in COMPRESSED else path
    return {str(path), path.name, str(bare), bare.name}


# what was given


def with_names(arguments: Namespace) -> Namespace:
    """The arguments with the columns that a preset names, and with other tables read.

    Ranks stand for scores in ascending order.
    """
    given = dict(vars(arguments))
    rank = given.get("rank")
    names = given.get("names") or []
    given["flat"] = FLAT in names
    for role, column in roles_of(names).items():
        if given[role] is None:
            given[role] = column
    ids = ["query_id", "doc_id"]
    ids += [given[role] for role in ("query", "doc") if given.get(role)]
    for name in TABLES:
        read = given.get(name)
        if callable(read):
            given[name] = read(ids)
    flat = "--names flat names columns of metrics, which this command does not print; leave it out"
    refuse(given["flat"] and not given.get("flattens"), flat)
    if rank is not None:
        two_names = "--rank and --score both name the column to rank by; name one of them"
        refuse(arguments.score, two_names)
        given |= {"score": rank, "ascending": True}
    return Namespace(**given)


def metrics_of(arguments: Namespace) -> list[str]:
    """The given metrics; default: the command's, without those that the convention's tool lacks."""
    usual = arguments.usual_metrics
    if arguments.metrics is not None:
        return [text for given in arguments.metrics for text in texts_of(given)]
    if usual == DEFAULT_METRICS and arguments.convention in CONVENTIONS:
        has = CONVENTIONS[arguments.convention].metrics
        return [text for text in usual if rf.parse(text)[0].metric.name in has]
    return list(usual)


def values_of(arguments: Namespace, verb: Any = None) -> dict[str, Any]:
    """The given options of the command's verb, or another one, as its keyword arguments."""
    names = keywords(verb or arguments.verb)
    given = {name: getattr(arguments, name) for name in names}
    given = {name: value for name, value in given.items() if value is not None}
    return {name: None if value == "none" else value for name, value in given.items()}


def for_on(arguments: Namespace, schema: Mapping[str, pl.DataType]) -> dict[str, Any]:
    """The options of `on` given on the command line.

    Other tables have the library's ids, of the types of `schema`.
    """
    renamed = ("query", "doc", "score", "label", "rank")  # files are read under the library's names
    names = [name for name in (*POLICIES, *COLUMN_OPTIONS, *TABLES) if name not in renamed]
    given = {name: getattr(arguments, name) for name in names}
    if arguments.rank is not None:  # the column of scores holds ranks, in ascending order
        given |= {"rank": "score", "ascending": None}
    ids = {arguments.query or "query_id": "query_id"}
    ids[arguments.doc or "doc_id"] = "doc_id"
    for name in TABLES:
        if isinstance(other := given[name], pl.DataFrame):
            other = other.rename(ids, strict=False)
            shared = [column for column in ids.values() if column in other.columns]
            types: Any = {column: schema[column] for column in shared if column in schema}
            given[name] = other.cast(types)
    return {name: value for name, value in given.items() if value is not None}
