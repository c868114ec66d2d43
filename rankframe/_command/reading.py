"""Read the files of a command as one table of one or several runs and their judgments."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
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
    """The result of the command's verb on the files, by default for its metrics; `usual` are options that may be given."""
    first = asked or (metrics_of(arguments) if arguments.usual_metrics else ())
    options = {**usual, **values_of(arguments)}
    found, runs = ranked(arguments, arguments.verb, *first, labels=labels, **options)
    with Progress(doing):
        return arguments.verb(found, *first, **runs, **options)


def reads_of(arguments: Namespace, verb: Any, *asked: object, **options: object) -> set[str]:
    """The columns of the files that a verb reads by its declaration, those of the runs among them if it takes several."""
    setup = PolarsRanker(pl.DataFrame()).on(**for_on(arguments, {}))._setup
    return _bound(arguments, verb, *asked, **options).columns(setup) | {
        *Runs.of(**_runs(arguments)).columns
    }


def _bound(arguments: Namespace, verb: Any, *asked: object, **options: object) -> VerbCall:
    """The call of a verb, with the runs if it takes several."""
    own = _runs(arguments) if "runs" in verb_of(verb).parameters else {}
    return verb_of(verb).bound(asked, {**own, **options})


def ranked(
    arguments: Namespace,
    verb: Any,
    *asked: object,
    also: Collection[str] = (),
    labels: bool = True,
    **options: Any,
) -> tuple[Ranker[pl.DataFrame], dict[str, Any]]:
    """The ranker of the files with the columns that a verb reads and those in `also`, and the runs as a verb's arguments."""
    calls = _bound(arguments, verb, *asked, **options).calls
    of_rankings = verb_of(verb).scores and (not calls or any(call.of_ranking for call in calls))
    reads = {*reads_of(arguments, verb, *asked, **options), *also}
    table, runs = judged(arguments, reads, labels=labels and of_rankings, scores=of_rankings)
    return ranker(table, arguments), runs


def ranker(table: pl.DataFrame, arguments: Namespace) -> Ranker[pl.DataFrame]:
    """The table's ranker, with the given policies; it knows of judgments that were joined here."""
    found = rf.rank(table).on(**for_on(arguments, table.schema))
    if getattr(arguments, JOINED, None) is not None:
        found._setup = replace(found._setup, given=found._setup.given | {JOINED})
    return found


def refuse_metrics(files: Sequence[str]) -> None:
    """Refuse a metric among the files."""
    for word in files:
        refuse(
            (
                not Path(word).exists() and _is_metric(word),
                f"{word} is a metric, and no file; write -m {word}",
            )
        )


def _is_metric(word: str) -> bool:
    """Whether a word is the text of a metric."""
    try:
        rf.parse(word)
    except RankframeError:
        return False
    return True


def _runs(arguments: Namespace) -> dict[str, Any]:
    """The runs, if there are several, as a verb's arguments: score columns, or a column that names the run of each row."""
    run = arguments.run or ("run" if len(arguments.files) > 1 and not arguments.runs else None)
    return {name: x for name, x in {"runs": arguments.runs, "run": run}.items() if x}


def judged(
    arguments: Namespace, reads: Collection[str] | None, *, labels: bool = True, scores: bool = True
) -> Joined:
    """Read the files as one table, with its runs as a verb's arguments; its columns have the library's names.

    `reads` are the further columns that a verb reads; ``None``: all. `labels` and `scores` say whether it needs these.
    """
    named, several = Runs.of(arguments.runs, arguments.run), len(arguments.files) > 1
    refuse_metrics(arguments.files)
    option = "--run names a column" if arguments.run else "--runs names columns"
    unjudged = several and arguments.qrels is None and labels
    refuse(
        (
            several and named.columns,
            f"{option} of one table, and there are several files; leave it out, or give one",
        ),
        (unjudged, "several runs are evaluated with one file of judgments; say --qrels QRELS"),
    )
    reads_of_files = None if reads is None else {*reads, *_slices(arguments)}
    tables, qrels = runs_and_judgments(arguments, reads_of_files, scores=scores)
    files, names = [*tables, *([] if qrels is None else [qrels])], names_of_runs(arguments.files)
    for table in tables:
        named.require(table, Setup())
    if qrels is not None:
        if arguments.run:
            tables, several = tables[0].partition_by(arguments.run, maintain_order=True), True
            names = [str(table[arguments.run][0]) for table in tables]
        kept = reads if reads is not None else [name for file in files for name in file.columns]
        for i, name in enumerate(names if several else map(shown_path, arguments.files)):
            with warnings_as_notes(f"{name}: "), of_file(name):
                tables[i] = join(
                    arguments, tables[i], qrels, kept, **values_of(arguments, PolarsRanker.judge)
                )
    if several:
        tables = [
            table.with_columns(pl.lit(name).alias("run"))
            for name, table in zip(names, tables, strict=True)
        ]
        arguments = Namespace(**{**vars(arguments), "run": "run"})
    given = getattr(arguments, "adjust", None)
    adjust = [str(given)] if any(given in file.columns for file in files) else []
    table = pl.concat(tables, how="diagonal_relaxed")
    return _sliced(table, files, [*_slices(arguments), *adjust], arguments), _runs(arguments)


def join(
    arguments: Namespace, run: pl.DataFrame, qrels: pl.DataFrame, kept: Collection[str], **how: Any
) -> pl.DataFrame:
    """Join a run with its judgments; of the columns `kept` in both, take scores from the run and others from the judgments.

    `how` are the options of `judge` for queries that one of them lacks.
    """
    scores = arguments.runs or ["score"]
    further = [x for x in qrels.columns if x in kept and x not in (*COLUMNS, *scores)]
    own = [x for x in run.columns if x in kept and x not in (*COLUMNS, *scores, *further)]
    ranked = rf.rank(run.select("query_id", "doc_id", *scores, *own)).on(
        score=scores[0], subtopic=arguments.subtopic
    )
    return ranked.judge(qrels.select(*QRELS.needed, *further), **how)


@contextmanager
def of_file(name: str) -> Iterator[None]:
    """Begin errors in rows with the name of their file, or of their run."""
    try:
        yield
    except InvalidData as error:
        raise InvalidData(f"{name}: ", *error.parts) from error


@contextmanager
def naming_file(arguments: Namespace) -> Iterator[None]:
    """Begin errors in rows of the whole table with the name of their file; with several runs, they name the run."""
    try:
        yield
    except InvalidData as error:
        files: Any = getattr(arguments, "files", ())
        qrels: Any = vars(arguments).get("qrels")
        of_qrels = error.kind == "label not finite" and qrels is not None
        paths: list[Any] = [qrels] if of_qrels else files
        unnamed = error.kind is not None and len(paths) == 1  # an error of reading names its file
        with of_file(shown_path(paths[0])) if unnamed else nullcontext():
            raise


# files


def runs_and_judgments(
    arguments: Namespace, reads: Collection[str] | None, *, once: bool = True, scores: bool = True
) -> Files:
    """Read the runs, and the judgments if they are given; with `once`, repeated judgments are refused."""
    refuse_two_inputs([*arguments.files, arguments.qrels])
    qrels = None if arguments.qrels is None else judgments_of(arguments, reads, once=once)
    unscored = arguments.runs or (qrels is None and not scores)
    left_out = {*(["doc_id"] if qrels is None else []), *(["score"] if unscored else [])}
    needed = tuple(name for name in RUN.needed if name not in left_out)
    layout = RUN._replace(needed=needed)
    renamed = COLUMNS if qrels is None else needed
    runs = [_read(arguments, path, layout, renamed, reads=reads) for path in arguments.files]
    files = [*runs, *([] if qrels is None else [qrels])]
    named = [(getattr(arguments, role), f"--{role}") for role in ("query", "doc", "score", "label")]
    stored = dict.fromkeys(name for file in files for name in file.stored)
    require_all(stored, [(name, option) for name, option in named if name is not None])
    tables = [file.table for file in files]
    ids = cs.by_name("query_id", "doc_id", require_all=False)
    if (
        len({tuple(table.select(ids).dtypes) for table in tables}) > 1
    ):  # text files have ids of text
        tables = [table.with_columns(ids.cast(pl.String)) for table in tables]
    return (tables, None) if qrels is None else (tables[:-1], tables[-1])


def judgments_of(
    arguments: Namespace, reads: Collection[str] | None = None, *, once: bool = False
) -> File:
    """Read the judgments; with `once`, repeated ones are refused."""
    identifying = [name for name in (arguments.run, arguments.subtopic) if name is not None]
    key = ("query_id", "doc_id", *identifying) if once else ()
    return _read(arguments, arguments.qrels, QRELS, QRELS.needed, reads=reads, once=key)


def _read(
    arguments: Namespace, path: str, layout: Layout, renamed: Sequence[str], **which: Any
) -> File:
    """Read a file, with its columns under the library's names; columns that are not in `reads` are null, no key `once` may repeat."""
    roles = {column.removesuffix("_id"): column for column in renamed}
    named = {role: name for role in roles if (name := getattr(arguments, role)) is not None}
    names, of_qrels = [*named.values()], layout is QRELS
    for name in names:
        sentence = f"column {name!r} is named for two roles; each role needs a column of its own"
        refuse((names.count(name) > 1, sentence))
    must = (
        renamed if arguments.qrels is None else ("score", "label")
    )  # the two files may name ids differently
    columns = {name: roles[role] for role, name in named.items()}
    kind = arguments.qrels_input if of_qrels else arguments.input
    if (reads := which.pop("reads")) is not None:
        which["only"] = {*reads, *layout.needed}
    return read_file(path, layout, which, format=kind, columns=columns, must=must)


def read_file(path: str, layout: Layout, which: Mapping[str, Any], **options: Any) -> File:
    """Read a file with rows, standard input, or a pipe such as a shell's <(...); `which` are options of `FileRows.read`."""
    with ExitStack() as stack:
        stack.enter_context(Progress(f"reading {path}"))
        source: Any = path
        if path == "-":
            source = sys.stdin.buffer
        elif not Path(path).is_file() and not beir_folder(
            path
        ):  # a pipe; a missing file or a folder raises
            source = stack.enter_context(Path(path).open("rb"))
        try:
            found = rows(source, layout, label_dtype=pl.Float64, **options)
            table = found.read(**which)
        except OSError as error:  # Polars leaves the name out
            raise InvalidData(f"{path}: {str(error).splitlines()[0]}") from error
    if table.is_empty():
        raise InvalidData(
            f"{shown_path(path)} holds no {'document' if layout.of_run else 'judgment'}"
        )
    return File(table, found.stored)


def refuse_two_inputs(paths: Sequence[str | None]) -> None:
    """Refuse to read standard input twice."""
    sentence = "two files cannot both be standard input; write one of them to a file"
    refuse((paths.count("-") > 1, sentence))


def shown_path(path: str) -> str:
    """A file's name, as messages show it."""
    return "standard input" if path == "-" else path


# columns with one value per query


def _slices(arguments: Namespace) -> list[str]:
    by = getattr(arguments, "by", None) or ()
    others = [getattr(arguments, name, None) for name in ("weights", "cluster")]
    return [*([by] if isinstance(by, str) else by), *(x for x in others if isinstance(x, str))]


def _sliced(
    table: pl.DataFrame, files: Sequence[pl.DataFrame], slices: Sequence[str], arguments: Namespace
) -> pl.DataFrame:
    """The table with the columns `slices`, which either file may have, the same in all rows of a query."""
    for name in slices:
        weighs = name == getattr(arguments, "weights", None) and all(
            name not in file.columns for file in files
        )
        if name != "query_id" and not weighs:  # the weights may be a metric
            columns = cs.by_name("query_id", name, require_all=False)
            values = pl.concat([file.select(columns) for file in files], how="diagonal_relaxed")
            values = (
                values if name in values.columns else table
            )  # the error lists the columns of the table
            one = collect(by_query(values, ["query_id"], [name], None), values, Setup())
            one = one.select("query_id", pl.col(keys([name])[0]).alias(name))
            table = table.drop(name, strict=False).join(
                one, on="query_id", how="left", maintain_order="left"
            )
    return table


# names of runs


def names_of_runs(paths: Sequence[str]) -> list[str]:
    """The runs' names: the files' without their last ending, or as much more as distinguishes them."""
    return run_names(["stdin" if path == "-" else spelled(path) for path in paths])


def with_baseline(arguments: Namespace) -> Namespace:
    """The arguments, with a baseline that is given as a file replaced by its run's name."""
    baseline, files = getattr(arguments, "baseline", None), getattr(arguments, "files", ())
    if baseline is not None and len(files) > 1:
        names, paths = names_of_runs(files), [Path(spelled(path)) for path in files]
        bare = [
            path.with_suffix("") if path.suffix.lower() in COMPRESSED else path for path in paths
        ]
        forms = [
            {str(path), path.name, str(stem), stem.name}
            for path, stem in zip(paths, bare, strict=True)
        ]
        meant = [name for name, of_name in zip(names, forms, strict=True) if baseline in of_name]
        if len(meant) == 1 and baseline not in names:
            arguments.baseline = meant[0]
    return arguments


# what was given


def with_names(arguments: Namespace) -> Namespace:
    """The arguments with the columns of a preset of names, or of ranks as scores in ascending order, and other tables read."""
    given = dict(vars(arguments))
    names, rank = given.get("names"), given.get("rank")
    given["flat"] = FLAT in (names or ())
    given |= {role: column for role, column in roles_of(names or []).items() if given[role] is None}
    ids = ["query_id", "doc_id", *(x for role in ("query", "doc") if (x := given.get(role)))]
    given |= {name: read(ids) for name in TABLES if callable(read := given.get(name))}
    no_columns = (
        "--names flat names columns of metrics, which this command does not print; leave it out"
    )
    two_names = "--rank and --score both name the column to rank by; name one of them"
    of_names = given["flat"] and not given.get("flattens")
    refuse((of_names, no_columns), (rank is not None and arguments.score, two_names))
    return Namespace(**given | ({} if rank is None else {"score": rank, "ascending": True}))


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
    given = {name: getattr(arguments, name) for name in keywords(verb or arguments.verb)}
    return {
        name: None if value == "none" else value
        for name, value in given.items()
        if value is not None
    }


def for_on(arguments: Namespace, schema: Mapping[str, pl.DataType]) -> dict[str, Any]:
    """The options of `on` given on the command line; other tables have the library's ids, of the types of `schema`."""
    renamed = ("query", "doc", "score", "label", "rank")  # files are read under the library's names
    given = {
        name: getattr(arguments, name)
        for name in (*POLICIES, *COLUMN_OPTIONS, *TABLES)
        if name not in renamed
    }
    if arguments.rank is not None:  # the column of scores holds ranks, in ascending order
        given |= {"rank": "score", "ascending": None}
    ids = {
        getattr(arguments, ours.removesuffix("_id")) or ours: ours
        for ours in ("query_id", "doc_id")
    }
    for name in TABLES:
        if isinstance(other := given[name], pl.DataFrame):
            other = other.rename(ids, strict=False)
            given[name] = other.cast(
                {x: schema[x] for x in ids.values() if x in other.columns and x in schema}
            )
    return {name: value for name, value in given.items() if value is not None}
