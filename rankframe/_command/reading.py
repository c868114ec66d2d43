"""Read the files of a command as one table of one or several runs and their judgments."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

import rankframe as rf

from .._files.formats import rows
from .._files.read import QRELS, RUN, Layout
from .._files.sources import beir_folder
from .._support.progress import Busy
from .._table.roles import USUAL_NAMES
from .._table.run_and_judgments import Missing
from ..errors import InvalidData, InvalidOption, MissingColumn, RankframeError
from .options import BESIDE, COLUMNS
from .output import note, warnings_as_notes
from .run_names import names_of


class File(NamedTuple):
    """The table of a file, and the names of its columns in the file."""

    table: pl.DataFrame
    stored: Collection[str]


class Judged(NamedTuple):
    """A table with labels, and its runs: score columns `runs`, or a column `run` that names the run of each row."""

    table: pl.DataFrame
    runs: Sequence[str] | None = None
    run: str | None = None


def judged(arguments: argparse.Namespace, reads: Collection[str] | None, *, labels: bool = True) -> Judged:
    """Read the files as one table, with the library's column names and the further columns that a verb reads (None: all)."""
    only_one_input({"RUN": arguments.files, "--qrels": [arguments.qrels]})
    runs, by = arguments.runs, _slices(arguments)
    reads = None if reads is None else {*reads, *by}
    others = others_of(arguments)
    if arguments.qrels is None:
        if len(arguments.files) > 1:
            judgments = shlex.quote(next(filter(of_judgments, arguments.files), "QRELS"))
            raise InvalidOption(f"several runs are evaluated with one file of judgments. Say --qrels {judgments}")
        table = (labelled if labels else table_of)(arguments, arguments.files[0], reads)
        require([table], others.items())
        return Judged(_sliced(table, [table], by), runs, arguments.run)
    scores = tuple(runs or ("score",))
    *of_runs, qrels = runs_and_judgments(arguments, runs or (), reads, once=True)
    names = names_of(arguments.files)
    if arguments.run is not None:
        if len(of_runs) > 1:
            raise InvalidOption(
                "--run names a column of one table, and there are several files. Leave it out, or give one file"
            )
        require(of_runs, [(arguments.run, "--run")])
        if of_runs[0][arguments.run].has_nulls():
            raise InvalidData(
                f"--run {arguments.run}: the column names the run of each row, and is null on some; name the run there, too, "
                "or give the table of the runs as it was before labels were joined"
            )
        parts = of_runs[0].partition_by(arguments.run, maintain_order=True, as_dict=True)
        names, of_runs = [str(name) for (name,) in parts], list(parts.values())
    elif runs and len(of_runs) > 1:
        raise InvalidOption(
            "--runs names columns of one table, and there are several files. Leave it out, or give one file"
        )
    require([*of_runs, qrels], others.items())
    if reads is None:
        others |= {name: "" for table in (*of_runs, qrels) for name in table.columns if name not in COLUMNS}
    several = len(names) > 1 or arguments.run is not None
    tables = [
        _joined(arguments, name, run, qrels, scores, others, several=several)
        for name, run in zip(names, of_runs, strict=True)
    ]
    if several:
        tables = [table.with_columns(pl.lit(name).alias("run")) for name, table in zip(names, tables, strict=True)]
    table = pl.concat(tables, how="diagonal_relaxed")
    return Judged(_sliced(table, [*of_runs, qrels], by), runs, "run" if several else None)


def runs_of(arguments: argparse.Namespace, reads: Collection[str] | None) -> Judged:
    """Read the files as one table of several runs, joined with judgments if they are given."""
    if arguments.qrels is not None:
        return judged(arguments, reads)
    only_one_input({"RUN": arguments.files})
    if len(arguments.files) == 1:
        if arguments.runs is None and arguments.run is None:
            raise InvalidOption(
                "one file holds one run. Give a file for each run, or say which columns of a table hold the runs: --runs "
                "bm25,dense, or --run COLUMN, the column that names the run of each row"
            )
        return Judged(table_of(arguments, arguments.files[0], reads), arguments.runs, arguments.run)
    if arguments.runs is not None or arguments.run is not None:
        given = "--run" if arguments.runs is None else "--runs"
        raise InvalidOption(f"{given} is for one table, and there are several files. Leave it out, or give one file")
    tables = _of_one_type([table_of(arguments, path, reads) for path in arguments.files])
    named = (
        t.with_columns(pl.lit(name).alias("run")) for name, t in zip(names_of(arguments.files), tables, strict=True)
    )
    return Judged(pl.concat(named, how="diagonal_relaxed"), None, "run")


def others_of(arguments: argparse.Namespace) -> dict[str, str]:
    """The further columns that options name, each with its option."""
    named = [("--subtopic", arguments.subtopic), ("--weight", arguments.weight)]
    named += [("--show", name) for name in given(arguments, "show") or ()]
    catalog = given(arguments, "items")
    elsewhere = catalog.columns if isinstance(catalog, pl.DataFrame) else ()
    for role in BESIDE:
        columns = given(arguments, role) or ()
        columns = [columns] if isinstance(columns, str) else columns
        named += [(f"--{role}", name) for name in columns if name not in elsewhere]
    return {name: option for option, name in named if name is not None}


def given(arguments: argparse.Namespace, name: str) -> Any:
    """The value of an option that not all commands have."""
    return getattr(arguments, name, None)


# files


def runs_and_judgments(
    arguments: argparse.Namespace,
    scores: Sequence[str] = (),
    reads: Collection[str] | None = None,
    *,
    once: bool = False,
) -> list[pl.DataFrame]:
    """Read the runs, whose score columns are `scores` if given, and then the judgments.

    With `once`, repeated judgments are refused.
    """
    layout = RUN._replace(needed=("query_id", "doc_id")) if scores else RUN
    apart = [name for name in (arguments.run, arguments.subtopic) if name is not None]
    qrels = judgments_of(arguments, ("query_id", "doc_id", *apart) if once else (), reads)
    runs = [_read(arguments, path, layout, layout.needed, reads=reads) for path in arguments.files]
    _refuse_misspelt(arguments, [*runs, qrels])
    for run in runs:
        require([run.table], [(name, "--runs") for name in scores])
    return _of_one_type([file.table for file in (*runs, qrels)])


def judgments_of(arguments: argparse.Namespace, once: Sequence[str] = (), reads: Collection[str] | None = None) -> File:
    """Read the judgments; those with the same values in the columns `once` are refused."""
    return _read(arguments, arguments.qrels, QRELS, QRELS.needed, "qrels_input", once, reads)


def labelled(arguments: argparse.Namespace, path: str, reads: Collection[str] | None) -> pl.DataFrame:
    """Read a table, and refuse it if it has no labels."""
    table = table_of(arguments, path, reads, told=("label",))
    if "label" not in table.columns:
        names = {column: _name_given(arguments, column) or column for column in COLUMNS}
        meant = next((name for name in table.columns if name.lower() in USUAL_NAMES["label"]), None)
        label = "--label COLUMN if one of these is the label" if meant is None else f"--label {shlex.quote(meant)}"
        there = ", ".join(names.get(name, name) for name in table.columns)
        raise MissingColumn(f"no column 'label' in {path}; it has {there}. Say --qrels QRELS, or {label}")
    return table


def table_of(
    arguments: argparse.Namespace, path: str, reads: Collection[str] | None = None, *, told: tuple[str, ...] = ()
) -> pl.DataFrame:
    """Read a table with or without labels, and with one column of scores or the named ones; for `told` see `Layout`."""
    needed = ("query_id",) if arguments.runs else ("query_id", "score")
    file = _read(arguments, path, RUN._replace(needed=needed, optional=("doc_id", *told)), COLUMNS, reads=reads)
    _refuse_misspelt(arguments, [file])
    table = file.table
    require_rows(table, path)
    require([table], [(name, "--runs") for name in arguments.runs or ()])
    require([table], [] if arguments.run is None else [(arguments.run, "--run")])
    return table


def _read(
    arguments: argparse.Namespace,
    path: str,
    layout: Layout,
    renamed: Sequence[str],
    option: str = "input",
    once: Sequence[str] = (),
    reads: Collection[str] | None = None,
) -> File:
    """Read a file, with its columns under the library's names; columns that are not in `reads` are null."""
    names = {column: _name_given(arguments, column) for column in renamed}

    def say(name: str, value: Any) -> str:
        """Spell an option in the advice of a reader's error."""
        if name == "columns":
            return " ".join(f"--{new.removesuffix('_id')} {shlex.quote(old)}" for old, new in value.items())
        return f"--{option.replace('_', '-')} {value}"

    named = {column: name for column, name in names.items() if name}
    if twice := [name for name in named.values() if list(named.values()).count(name) > 1]:
        both = " and ".join(f"--{column.removesuffix('_id')}" for column, name in named.items() if name == twice[0])
        raise InvalidOption(f"{both} both name the column {twice[0]!r}; each needs a column of its own")
    must = renamed if arguments.qrels is None else ("score", "label")  # the two files may name ids differently
    columns = {name: column for column, name in named.items()}
    only = None if reads is None else {*reads, *layout.needed}
    return read_file(
        path, layout, say, once=once, only=only, format=getattr(arguments, option), columns=columns, must=must
    )


def _name_given(arguments: argparse.Namespace, column: str) -> str | None:
    """The name that the options give to one of our columns, if any."""
    name: str | None = getattr(arguments, column.removesuffix("_id"))
    return name


def _refuse_misspelt(arguments: argparse.Namespace, files: Sequence[File]) -> None:
    """Refuse a column name in the options that no file has."""
    stored = dict.fromkeys(name for file in files for name in file.stored)
    named = [(_name_given(arguments, column), f"--{column.removesuffix('_id')}") for column in COLUMNS]
    _require(stored, [(name, option) for name, option in named if name is not None])


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


def of_judgments(path: str) -> bool:
    """Whether a file of TREC text holds judgments."""
    try:
        return Path(path).is_file() and not rows(path, QRELS, format="trec").read().is_empty()
    except (RankframeError, pl.exceptions.PolarsError, OSError):
        return False


def only_one_input(paths: dict[str, Iterable[str | None]]) -> None:
    """Refuse to read standard input twice."""
    twice = [name for name, of_name in paths.items() for path in of_name if path == "-"]
    if len(twice) > 1:
        raise InvalidOption(f"{' and '.join(twice)} cannot both be standard input. Write one of them to a file")


# tables


def _of_one_type(frames: list[pl.DataFrame]) -> list[pl.DataFrame]:
    """Give the frames comparable ids: cast them to text if their types differ."""
    ids = pl.col("query_id", "doc_id")
    if len({tuple(frame.select(ids).dtypes) for frame in frames}) > 1:
        return [frame.with_columns(ids.cast(pl.String)) for frame in frames]
    return frames


def _joined(
    arguments: argparse.Namespace,
    name: str,
    run: pl.DataFrame,
    qrels: pl.DataFrame,
    scores: Sequence[str],
    others: Iterable[str],
    *,
    several: bool,
) -> pl.DataFrame:
    """Join a run with its judgments; notes give the number of queries that only one of the two has."""
    refuse_strangers(run, qrels, f"run {name}" if several else arguments.files[0], arguments.qrels)
    of = f"{name}: " if several else ""
    with warnings_as_notes(of):
        try:
            table = join(run, qrels, scores, others, arguments.subtopic, arguments.judged_only, arguments.run_only)
        except InvalidData as error:
            kind = error.kind if several else None  # of one run, the file is named here
            raise InvalidData(of or f"{arguments.files[0]}: ", *error.parts, kind=kind) from error
    for one, other, queries, kept, become in (
        (run, qrels, "queries of the run without judgments", arguments.run_only, "nothing relevant"),
        (qrels, run, "judged queries that are not in the run", arguments.judged_only, "nothing returned"),
    ):
        if n := one.join(other, on="query_id", how="anti")["query_id"].n_unique():
            counted = f"counted as ones with {become}" if kept == "keep" else "left out"
            note(f"{of}{queries}, {counted}: {n:,}")
    return table


def refuse_strangers(run: pl.DataFrame, qrels: pl.DataFrame, path: str, path_of_qrels: str) -> None:
    """Refuse an empty run, and a run without a judged query, which usually belongs to another collection."""
    require_rows(run, path)
    require_rows(qrels, path_of_qrels, "judgment")
    if run.join(qrels, on="query_id", how="semi").is_empty():
        of_run, of_qrels = (
            ", ".join(map(str, x["query_id"].unique(maintain_order=True).head(3))) for x in (run, qrels)
        )
        raise InvalidData(
            f"no query of {path} is judged in {path_of_qrels}; the run has {of_run} ..., the judgments {of_qrels} ..."
        )


def require_rows(table: pl.DataFrame, path: str, holds: str = "document") -> None:
    """Refuse a file without a row."""
    if table.is_empty():
        raise InvalidData(f"{'standard input' if path == '-' else path} holds no {holds}")


def join(
    run: pl.DataFrame,
    qrels: pl.DataFrame,
    scores: Sequence[str],
    others: Iterable[str],
    subtopic: str | None,
    judged_only: Missing = "keep",
    run_only: Missing = "drop",
) -> pl.DataFrame:
    """Join a run with its judgments; of columns in both, take scores from the run and others from the judgments."""
    of_qrels = [other for other in others if other in qrels.columns]
    of_run = [other for other in others if other in run.columns and other not in of_qrels]
    run = run.select(*dict.fromkeys(("query_id", "doc_id", *scores, *of_run)))
    qrels = qrels.select(*dict.fromkeys((*QRELS.needed, *of_qrels)))
    ranker = rf.rank(run).on(score=scores[0], subtopic=subtopic)
    return ranker.judge(qrels, judged_only=judged_only, run_only=run_only)


def _slices(arguments: argparse.Namespace) -> dict[str, str]:
    """The columns with one value per query, each with the option that names it."""
    by = given(arguments, "by") or ()
    weights = given(arguments, "weights")
    names = dict.fromkeys([by] if isinstance(by, str) else by, "--by")
    return names if weights is None else {**names, weights: "--weights"}


def _sliced(table: pl.DataFrame, files: Sequence[pl.DataFrame], slices: Mapping[str, str]) -> pl.DataFrame:
    """The table with the columns `slices`, the same in all rows of a query."""
    for by, option in slices.items():
        having = [file.select("query_id", by) for file in files if by in file.columns and by != "query_id"]
        require([file.drop("query_id") for file in files], [(by, option)])
        pairs = pl.concat(having, how="vertical_relaxed").drop_nulls().unique(maintain_order=True)
        several = pairs.filter(pl.col("query_id").is_duplicated())
        if not several.is_empty():
            query = several["query_id"][0]
            values = several.filter(query_id=query)[by].cast(pl.String).head(3)
            raise InvalidData(
                f"{option} {by}: query {query!r} has the values {', '.join(values)}. "
                "Take a column that is the same in all rows of a query"
            )
        table = table.drop(by, strict=False).join(pairs, on="query_id", how="left", maintain_order="left")
    return table


def require(files: Sequence[pl.DataFrame], names: Iterable[tuple[str, str]]) -> None:
    """Refuse a column that none of the files has."""
    _require(dict.fromkeys(name for file in files for name in file.columns), names)


def _require(there: Collection[str], names: Iterable[tuple[str, str]]) -> None:
    for name, option in names:
        if name not in there:
            raise MissingColumn(f"no column {name!r} for {option}; there is {', '.join(there)}")
