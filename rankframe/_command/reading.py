"""Read the files of a command as one table of one or several runs and their judgments."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import polars as pl
import polars.selectors as cs

import rankframe as rf

from .._files.formats import rows
from .._files.read import QRELS, RUN, Layout
from .._files.sources import COMPRESSED, beir_folder, spelled
from .._files.together import run_names
from .._plan.per_query import collect
from .._support.progress import Busy
from .._table.setup import Setup
from .._verbs.summary import by_query, keys
from ..errors import InvalidData, InvalidOption, MissingColumn
from .command import COLUMNS, columns_read, ranker
from .output import warnings_as_notes


class File(NamedTuple):
    """The table of a file, and the names of its columns in the file."""

    table: pl.DataFrame
    stored: Collection[str]


Judged: TypeAlias = tuple[pl.DataFrame, dict[str, Any]]
"""The table of all files, and its runs as a verb's arguments."""


def answered(arguments: argparse.Namespace, verb: Callable[..., Any], doing: str, *, labels: bool = True) -> Any:
    """The result of `verb`, a function of a ranker and the runs that the files name, on the files."""
    run = arguments.run or ("run" if len(arguments.files) > 1 and not arguments.runs else None)
    reads = columns_read(arguments, verb, **_named(arguments.runs, run))
    table, named = judged(arguments, reads, labels=labels)
    with Busy(doing):
        return verb(ranker(table, arguments), **named)


def _named(runs: Sequence[str] | None, run: str | None) -> dict[str, Any]:
    """The runs, if there are several, as a verb's arguments: score columns, or a column that names the run of each row."""
    return {name: x for name, x in {"runs": runs, "run": run}.items() if x}


def judged(arguments: argparse.Namespace, reads: Collection[str] | None, *, labels: bool = True) -> Judged:
    """Read the files as one table, with its runs as a verb's arguments; its columns have the library's names.

    `reads` are the further columns that a verb reads; ``None``: all. `labels` says whether it needs labels.
    """
    runs, run, several = arguments.runs, arguments.run, len(arguments.files) > 1
    if several and (runs or run):
        option = "--run names a column" if run else "--runs names columns"
        raise InvalidOption(f"{option} of one table, and there are several files. Leave it out, or give one file")
    if several and arguments.qrels is None and labels:
        raise InvalidOption("several runs are evaluated with one file of judgments; say --qrels QRELS")
    tables, qrels = runs_and_judgments(arguments, None if reads is None else {*reads, *_slices(arguments)})
    files, names = [*tables, *([] if qrels is None else [qrels])], names_of(arguments.files)
    if qrels is not None:
        if run:
            if tables[0][run].has_nulls():
                raise InvalidData(f"--run {run}: the column names the run of each row, and is null on some")
            tables, several = tables[0].partition_by(run, maintain_order=True), True
            names = [str(table[run][0]) for table in tables]
        kept = reads if reads is not None else [name for file in files for name in file.columns]
        of_runs = names if several else map(shown_path, arguments.files)
        missing = {"judged_only": arguments.judged_only, "run_only": arguments.run_only}
        for i, name in enumerate(of_runs):
            with warnings_as_notes(f"{name}: "), of_file(name):
                tables[i] = join(arguments, tables[i], qrels, kept, **missing)
    if several:
        tables = [table.with_columns(pl.lit(name).alias("run")) for name, table in zip(names, tables, strict=True)]
    table = _sliced(pl.concat(tables, how="diagonal_relaxed"), files, _slices(arguments))
    return table, _named(runs, "run" if several else run)


def join(
    arguments: argparse.Namespace, run: pl.DataFrame, qrels: pl.DataFrame, kept: Collection[str], **missing: Any
) -> pl.DataFrame:
    """Join a run with its judgments; of the columns `kept` in both, take scores from the run and others from the judgments.

    `missing` are the options of `judge` for queries that one of them lacks.
    """
    scores = arguments.runs or ["score"]
    further = [x for x in qrels.columns if x in kept and x not in (*COLUMNS, *scores)]
    own = [x for x in run.columns if x in kept and x not in (*COLUMNS, *scores, *further)]
    ranked = rf.rank(run.select("query_id", "doc_id", *scores, *own)).on(score=scores[0], subtopic=arguments.subtopic)
    return ranked.judge(qrels.select(*QRELS.needed, *further), **missing)


@contextmanager
def of_file(name: str) -> Iterator[None]:
    """Begin errors in rows with the name of their file, or of their run."""
    try:
        yield
    except InvalidData as error:
        raise InvalidData(f"{name}: ", *error.parts) from error


@contextmanager
def naming_file(arguments: argparse.Namespace) -> Iterator[None]:
    """Begin errors in rows of the whole table with the name of their file; with several runs, they name the run."""
    try:
        yield
    except InvalidData as error:
        files: Sequence[str] = getattr(arguments, "files", ())
        qrels: str | None = getattr(arguments, "qrels", None)
        of_qrels = error.kind == "label not finite" and qrels is not None
        path = qrels if of_qrels else files[0] if len(files) == 1 else None
        if error.kind is None or path is None:  # an error of reading, which names its file
            raise
        with of_file(shown_path(path)):
            raise


# files


def runs_and_judgments(
    arguments: argparse.Namespace, reads: Collection[str] | None, *, once: bool = True
) -> tuple[list[pl.DataFrame], pl.DataFrame | None]:
    """Read the runs, and the judgments if they are given; with `once`, repeated judgments are refused."""
    only_one_input([*arguments.files, arguments.qrels])
    qrels = None if arguments.qrels is None else judgments_of(arguments, reads, once=once)
    left_out = {*(["doc_id"] if qrels is None else []), *(["score"] if arguments.runs else [])}
    needed = tuple(name for name in RUN.needed if name not in left_out)
    layout = RUN._replace(needed=needed)
    renamed = COLUMNS if qrels is None else needed
    runs = [_read(arguments, path, layout, renamed, reads) for path in arguments.files]
    files = [*runs, *([] if qrels is None else [qrels])]
    stored = dict.fromkeys(name for file in files for name in file.stored)
    _require(stored, {f"--{role}": [getattr(arguments, role)] for role in ("query", "doc", "score", "label")})
    for file in runs:
        _require(file.table.columns, {"--runs": arguments.runs or (), "--run": [arguments.run]})
    tables = [file.table for file in files]
    ids = cs.by_name("query_id", "doc_id", require_all=False)
    if len({tuple(table.select(ids).dtypes) for table in tables}) > 1:  # text files have ids of text
        tables = [table.with_columns(ids.cast(pl.String)) for table in tables]
    return (tables, None) if qrels is None else (tables[:-1], tables[-1])


def judgments_of(arguments: argparse.Namespace, reads: Collection[str] | None = None, *, once: bool = False) -> File:
    """Read the judgments; with `once`, repeated ones are refused."""
    identifying = [name for name in (arguments.run, arguments.subtopic) if name is not None]
    key = ("query_id", "doc_id", *identifying) if once else ()
    return _read(arguments, arguments.qrels, QRELS, QRELS.needed, reads, key)


def _read(
    arguments: argparse.Namespace,
    path: str,
    layout: Layout,
    renamed: Sequence[str],
    reads: Collection[str] | None,
    once: Sequence[str] = (),
) -> File:
    """Read a file, with its columns under the library's names; columns that are not in `reads` are null."""
    roles = {column.removesuffix("_id"): column for column in renamed}
    named = {role: name for role in roles if (name := getattr(arguments, role)) is not None}
    names, of_qrels = [*named.values()], layout is QRELS
    if twice := [name for name in names if names.count(name) > 1]:
        raise InvalidOption(f"column {twice[0]!r} is named for two roles; each role needs a column of its own")

    def say(name: str, value: Any) -> str:
        """Spell an option in the advice of a reader's error."""
        if name == "columns":
            return " ".join(f"--{new.removesuffix('_id')} {shlex.quote(old)}" for old, new in value.items())
        return f"--{'qrels-' if of_qrels else ''}input {value}"

    must = renamed if arguments.qrels is None else ("score", "label")  # the two files may name ids differently
    columns = {name: roles[role] for role, name in named.items()}
    only = None if reads is None else {*reads, *layout.needed}
    kind = arguments.qrels_input if of_qrels else arguments.input
    file = read_file(path, layout, say, once=once, only=only, format=kind, columns=columns, must=must)
    require_rows(file.table, path, "judgment" if of_qrels else "document")
    return file


def read_file(
    path: str,
    layout: Layout,
    say: Callable[[str, Any], str],
    *,
    once: Sequence[str] = (),
    only: Collection[str] | None = None,
    **options: Any,
) -> File:
    """Read a file, standard input, or a pipe such as a shell's <(...); for `once` and `only` see `Rows.read`."""
    with ExitStack() as stack:
        stack.enter_context(Busy(f"reading {path}"))
        source: Any = path
        if path == "-":
            source = sys.stdin.buffer
        elif not Path(path).is_file() and not beir_folder(path):  # a pipe; a missing file or a folder raises
            source = stack.enter_context(Path(path).open("rb"))
        try:
            found = rows(source, layout, label_dtype=pl.Float64, say=say, **options)
            return File(found.read(once=once, only=only), found.stored)
        except OSError as error:  # Polars leaves the name out
            raise InvalidData(f"{path}: {str(error).splitlines()[0]}") from error


def only_one_input(paths: Sequence[str | None]) -> None:
    """Refuse to read standard input twice."""
    if paths.count("-") > 1:
        raise InvalidOption("two files cannot both be standard input; write one of them to a file")


def shown_path(path: str) -> str:
    """A file's name, as messages show it."""
    return "standard input" if path == "-" else path


def require_rows(table: pl.DataFrame, path: str, holds: str = "document") -> None:
    """Refuse a file without a row."""
    if table.is_empty():
        raise InvalidData(f"{shown_path(path)} holds no {holds}")


def _require(there: Collection[str], names: Mapping[str, Sequence[str | None]]) -> None:
    """Refuse a column, named by an option, that is not there."""
    for option, name in [(option, name) for option, of_option in names.items() for name in of_option]:
        if name is not None and name not in there:
            raise MissingColumn(f"no column {name!r} for {option}; there is {', '.join(there)}")


# columns with one value per query


def _slices(arguments: argparse.Namespace) -> list[str]:
    by, weights = getattr(arguments, "by", None) or (), getattr(arguments, "weights", None)
    return [*([by] if isinstance(by, str) else by), *([weights] if isinstance(weights, str) else [])]


def _sliced(table: pl.DataFrame, files: Sequence[pl.DataFrame], slices: Sequence[str]) -> pl.DataFrame:
    """The table with the columns `slices`, which either file may have, the same in all rows of a query."""
    for name in slices:
        if name != "query_id":
            columns = cs.by_name("query_id", name, require_all=False)
            values = pl.concat([file.select(columns) for file in files], how="diagonal_relaxed")
            values = values if name in values.columns else table  # whose columns the error lists
            one = collect(by_query(values, ["query_id"], [name], None), values, Setup())
            one = one.select("query_id", pl.col(keys([name])[0]).alias(name))
            table = table.drop(name, strict=False).join(one, on="query_id", how="left", maintain_order="left")
    return table


# names of runs


def names_of(paths: Sequence[str]) -> list[str]:
    """The runs' names: the files' without their last ending, or as much more as distinguishes them."""
    return run_names(["stdin" if path == "-" else spelled(path) for path in paths])


def with_baseline(arguments: argparse.Namespace) -> argparse.Namespace:
    """The arguments, with a baseline that is given as a file replaced by its run's name."""
    baseline, files = getattr(arguments, "baseline", None), getattr(arguments, "files", ())
    if baseline is not None and len(files) > 1:
        names = names_of(files)
        meant = [name for name, path in zip(names, files, strict=True) if baseline in _forms(Path(spelled(path)))]
        if len(meant) == 1 and baseline not in names:
            arguments.baseline = meant[0]
    return arguments


def _forms(path: Path) -> tuple[str, ...]:
    """The forms of a file's name: path and name, each also without the ending of a compression."""
    bare = path.with_suffix("") if path.suffix.lower() in COMPRESSED else path
    return str(path), path.name, str(bare), bare.name
