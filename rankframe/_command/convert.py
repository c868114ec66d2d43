"""``rankframe convert``: runs, judgments, or both as one table, in another format."""

from __future__ import annotations

import argparse
from io import BytesIO
from typing import get_args

import polars as pl

import rankframe as rf

from .._files.write import QrelsFormat
from ..errors import InvalidOption
from .command import COLUMNS, Command, Outcome, Parser
from .fuse import TREC
from .output import FORMATS, OutputTable, note, write_bytes
from .reading import judged, judgments_of, names_of

OF_JUDGMENTS = get_args(QrelsFormat)


def options(sub: Parser) -> None:
    """The index of documents."""
    sub.add_argument("--index", metavar="NAME", help="with --format rank_eval, the index that holds the documents")


def convert(arguments: argparse.Namespace) -> Outcome:
    """The rows of the files in the format, a row of a table or a line each."""
    if not arguments.files and arguments.qrels is None:
        raise InvalidOption("name what to convert: a run, judgments as --qrels QRELS, or both to get one table of them")
    table = whole_labels(run_table(arguments) if arguments.files else judgments_of(arguments).table)
    if arguments.format not in OF_JUDGMENTS:
        return Outcome(OutputTable(table))
    text = BytesIO()
    if not arguments.files:
        rf.write_qrels(table, text, format=arguments.format, index=arguments.index)
    elif arguments.format == "trec":
        write_run(arguments, table, text)
    else:
        raise InvalidOption(f"--format {arguments.format} holds judgments alone. Name them with --qrels; leave RUN out")
    if arguments.target is None:
        return Outcome(text.getvalue().decode())
    write_bytes(arguments.target, text.getvalue())
    return Outcome(None)


def run_table(arguments: argparse.Namespace) -> pl.DataFrame:
    """The runs with all their columns, joined with the judgments if they are given."""
    table, _ = judged(arguments, None, labels=False)
    if arguments.rank is not None:  # --rank named a column of ranks in place of scores
        table = table.with_columns(score=1 / pl.col("score"))
    if "run" in table.columns and len(tags := table["run"].drop_nulls().unique()) == 1:
        table = table.with_columns(pl.col("run").fill_null(tags[0]))  # of judged documents that the run missed
    return table


def whole_labels(table: pl.DataFrame) -> pl.DataFrame:
    """The table with labels as whole numbers, if all of them are."""
    if "label" not in table.columns or not table.schema["label"].is_float():
        return table
    whole = table["label"].cast(pl.Int64, strict=False)
    return table.with_columns(whole) if whole.cast(pl.Float64).equals(table["label"]) else table


def write_run(arguments: argparse.Namespace, table: pl.DataFrame, text: BytesIO) -> None:
    """Write one run as TREC text, with a note on the columns that have no place there."""
    if arguments.qrels is not None:
        raise InvalidOption("--format trec has no place for labels. Leave --qrels out, or write a table")
    if arguments.runs is not None:
        raise InvalidOption("--format trec holds one run. Name its column with --score instead of --runs")
    if lost := [name for name in table.columns if name not in (*COLUMNS[:3], "run")]:
        note(f"columns that have no place in TREC text, left out: {', '.join(lost)}")
    rf.write_run(table, text, run=None if "run" in table.columns else names_of(arguments.files)[0])


COMMAND = Command(
    convert,
    "write runs and judgments in another format",
    (
        "rankframe convert bm25.run -o bm25.parquet",
        "rankframe convert --qrels qrels.txt -o qrels.csv",
        "rankframe convert bm25.run dense.run --qrels qrels.txt -o judged.parquet",
        "rankframe convert table.parquet --score ltr -o ltr.run.gz",
        "rankframe convert --qrels table.parquet --format trec > judgments.txt",
        "rankframe convert --qrels qrels.txt --format beir > test.tsv",
    ),
    options,
    files="*",
    formats={
        "formats": (*FORMATS, *OF_JUDGMENTS),
        "endings": {**TREC, ".qrels": "trec"},
        "default": "csv",
        "about": "trec is a run or, without RUN, judgments; beir, quepid and rank_eval are judgments; ",
    },
    description="Reads runs, judgments (--qrels alone), or both, joined to one table, from any format that the other commands "
    "read. Several runs become one table, whose column run names the run of each row.",
)
