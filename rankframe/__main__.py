"""The command line: ``python -m rankframe evaluate | compare | gate | demo | metrics``, or ``rankframe`` once installed."""

from __future__ import annotations

import argparse
import os
import re
import shlex
import sys
import textwrap
from collections.abc import Sequence
from typing import Any, get_args

import polars as pl

import rankframe as rf

from . import _decide, _trec_eval
from .errors import InvalidData, InvalidOption, MissingColumn, RankframeError
from .io import QRELS, RUN, Format, Layout, rows

EXAMPLES = """\
examples:
  rankframe evaluate bm25.run --qrels qrels.txt -m ndcg@10 -m map
  rankframe evaluate bm25.run.gz --qrels qrels.txt -m ndcg_cut.5,10 --per-query --format csv > scores.csv
  rankframe evaluate table.parquet -m 'err(max_label=4)@20' --by language
  rankframe evaluate clicks.csv --query session --doc item --label clicks -m rr --format markdown
  zcat bm25.run.gz | rankframe evaluate - --qrels qrels.txt
"""

DEFAULT_METRICS = ["ndcg@10", "map", "rr"]
COLUMNS = ("query_id", "doc_id", "score", "label")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line. The exit code is 0, 1 when a gate fails or nobody reads the output on, or 2 after an error."""
    arguments = parser().parse_args(argv)
    try:
        text, code = arguments.command(arguments)
        print(text)
        sys.stdout.flush()
    except BrokenPipeError:
        # What is left in the buffer must not fail once more when Python exits.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except (RankframeError, OSError) as error:
        print(f"rankframe: error: {' '.join(in_options(str(error)).split())}", file=sys.stderr)
        return 2
    return int(code)


def in_options(message: str) -> str:
    """A message with the code that it advises as options of the command line: --label rel for df.rank.on(label='rel')."""
    message = re.sub(r"df\.rank\.on\((\w+)=\.\.\.\)", r"--\1 COLUMN", message)
    message = re.sub(r"df\.rank\.on\((\w+=('.*?'|\w+))\)", r"\1", message)
    return re.sub(
        r"\b(query|doc|score|label|ties|unjudged|no_relevant)='(.*?)'",
        lambda match: f"--{match[1].replace('_', '-')} {shlex.quote(match[2])}",
        message,
    )


def parser() -> argparse.ArgumentParser:
    """The options, with their help."""
    top = argparse.ArgumentParser(
        prog="rankframe",
        description="Ranking metrics of a table, or of a run and its judgments.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = top.add_subparsers(title="commands", required=True, metavar="COMMAND")

    sub = commands.add_parser(
        "evaluate",
        help="metrics of a run, as means or query by query",
        description="Prints the mean of each metric over the queries, leaving out those where it is null,\n"
        "or with --per-query its value for each query.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    sub.set_defaults(command=evaluate)
    sub.add_argument(
        "run",
        metavar="RUN",
        help="the run: TREC text, .parquet, .csv, .tsv or .ndjson, text also as .gz; - is standard input. "
        "Without --qrels, a table that has labels too",
    )
    sub.add_argument(
        "--qrels",
        metavar="QRELS",
        help="the judgments, in any of these formats; labels in RUN are then ignored",
    )
    sub.add_argument(
        "-m",
        "--metric",
        dest="metrics",
        action="append",
        metavar="METRIC",
        help=f"may be repeated; default: {', '.join(DEFAULT_METRICS)}. 'rankframe metrics' lists them",
    )
    sub.add_argument("--per-query", action="store_true", help="one row per query instead of the means")
    sub.add_argument("--by", metavar="COLUMN", help="the means for each value of a column")
    sub.add_argument(
        "--format",
        choices=["table", "csv", "json", "markdown"],
        default="table",
        help="of the output; csv and json have all digits",
    )
    add_shared(sub)
    _decide.add_commands(commands, add_shared, ranker_of_table, formatted)
    _trec_eval.add_command(commands)

    sub = commands.add_parser("demo", help="evaluate a small real table and show what cost the worst queries")
    sub.set_defaults(command=demo)
    sub = commands.add_parser("metrics", help="list the metrics and their other names")
    sub.set_defaults(command=metrics)
    return top


def add_shared(sub: argparse.ArgumentParser) -> None:
    """The options of all commands that read a table."""
    sub.add_argument("--input", choices=get_args(Format), help="format of the files, whatever their names say")

    policies = sub.add_argument_group("what counts as what")
    policies.add_argument("--relevant", type=float, metavar="LABEL", help="least relevant label; default: 1")
    policies.add_argument("--ties", metavar="RULE", help="the order of equal scores; default: doc_desc, as trec_eval")
    policies.add_argument("--unjudged", metavar="RULE", help="nonrelevant (default), drop or bounds")
    policies.add_argument(
        "--no-relevant",
        metavar="RULE",
        help="a query without a relevant document counts zero (default), null or one",
    )

    names = sub.add_argument_group("names of the columns, where a file has named ones")
    for column in COLUMNS:
        names.add_argument(f"--{option(column)}", metavar="COLUMN", help=f"default: {column}")


# evaluate


def evaluate(arguments: argparse.Namespace) -> tuple[str, int]:
    """The means of the metrics, or their values query by query, in the format asked for."""
    files = read(arguments)
    scores = ranker(joined(files), arguments).evaluate(*(arguments.metrics or DEFAULT_METRICS))
    by: str | None = arguments.by
    if by is not None:
        scores = scores.join(slices(files, by), on="query_id", how="left", maintain_order="left")
        scores = scores.select("query_id", by, pl.exclude("query_id", by))
    return formatted(scores if arguments.per_query else means(scores, by), arguments.format), 0


def ranker(table: pl.DataFrame, arguments: argparse.Namespace) -> Any:
    """The table's ranker, with the policies that were said."""
    policies = {name: getattr(arguments, name) for name in ("relevant", "ties", "unjudged", "no_relevant")}
    return rf.rank(table).on(**{name: value for name, value in policies.items() if value is not None})


def ranker_of_table(arguments: argparse.Namespace) -> Any:
    """The ranker of a table that has labels, and the scores of several runs."""
    return ranker(labelled(arguments, arguments.table, ("query_id",)), arguments)


def read(arguments: argparse.Namespace) -> list[pl.DataFrame]:
    """The run and the judgments, or one table of both, columns under the names that the library expects."""
    if arguments.run == arguments.qrels == "-":
        raise InvalidOption("RUN and --qrels cannot both be standard input. Write one of them to a file")
    if arguments.qrels is not None:
        files = [one(arguments, arguments.run, RUN, RUN.needed), one(arguments, arguments.qrels, QRELS, QRELS.needed)]
        ids = pl.col("query_id", "doc_id")
        if len({tuple(file.select(ids).dtypes) for file in files}) > 1:  # text in one, numbers in the other
            files = [file.with_columns(ids.cast(pl.String)) for file in files]
        return files
    return [labelled(arguments, arguments.run, ("query_id", "score"))]


def one(arguments: argparse.Namespace, path: str, layout: Layout, renamed: Sequence[str]) -> pl.DataFrame:
    """A file, its columns under the names that the library expects."""
    names = {column: getattr(arguments, option(column)) for column in renamed}
    return rows(
        sys.stdin.buffer if path == "-" else path,
        layout,
        format=arguments.input,
        columns={name: column for column, name in names.items() if name},
        label_dtype=pl.Float64,
        say=say,
    ).read()


def labelled(arguments: argparse.Namespace, path: str, needed: tuple[str, ...]) -> pl.DataFrame:
    """A table that has labels too."""
    table = one(arguments, path, RUN._replace(needed=needed), COLUMNS)
    if "label" not in table.columns:
        advice = "Say --qrels QRELS, or --label" if "qrels" in arguments else "Say --label"
        raise MissingColumn(
            f"no column 'label' in {path}; it has {', '.join(table.columns)}. {advice} COLUMN if one of these is the label"
        )
    return table


def joined(files: list[pl.DataFrame]) -> pl.DataFrame:
    """One table of what was read; a note on standard error tells how many queries only one file has."""
    if len(files) == 1:
        return files[0]
    run, qrels = (file.select(layout.needed) for file, layout in zip(files, (RUN, QRELS), strict=True))
    for one, other, what in (
        (run, qrels, "queries of the run without judgments, left out"),
        (qrels, run, "judged queries that are not in the run, counted as ones with nothing returned"),
    ):
        if n := one.join(other, on="query_id", how="anti")["query_id"].n_unique():
            print(f"rankframe: note: {what}: {n:,}", file=sys.stderr)
    return rf.rank(run).judge(qrels)


def option(column: str) -> str:
    """The option that names a column: --query for query_id."""
    return column.removesuffix("_id")


def say(name: str, value: Any) -> str:
    """How an error of the reader proposes an option here."""
    if name == "columns":
        return " ".join(f"--{option(new)} {shlex.quote(old)}" for old, new in value.items())
    return f"--input {value}"


def slices(files: list[pl.DataFrame], by: str) -> pl.DataFrame:
    """The value of the column `by` for each query."""
    having = [file.select("query_id", by) for file in files if by in file.columns and by != "query_id"]
    if not having:
        there = dict.fromkeys(name for file in files for name in file.columns if name != "query_id")
        raise MissingColumn(f"no column {by!r} for --by; there is {', '.join(there)}")
    pairs = pl.concat(having, how="vertical_relaxed").drop_nulls().unique(maintain_order=True)
    several = pairs.filter(pl.col("query_id").is_duplicated())
    if not several.is_empty():
        query = several["query_id"][0]
        values = several.filter(query_id=query)[by].cast(pl.String).head(3)
        raise InvalidData(
            f"--by {by}: query {query!r} has the values {', '.join(values)}. "
            "Take a column that is the same in all rows of a query"
        )
    return pairs


def means(scores: pl.DataFrame, by: str | None) -> pl.DataFrame:
    """One row per metric, or one per value of `by`."""
    values = pl.exclude("query_id", *([by] if by else []))
    if by:
        return scores.group_by(by).agg(pl.len().alias("queries"), values.mean()).sort(by, nulls_last=True)
    return pl.DataFrame(
        {
            "metric": scores.columns[1:],
            "mean": scores.select(values.mean()).row(0),
            "queries": scores.select(values.count()).row(0),
        },
        schema={"metric": pl.String, "mean": pl.Float64, "queries": pl.Int64},
    )


def formatted(frame: pl.DataFrame, format: str) -> str:
    """The table as text: four decimals for people, all digits for programs."""
    if format == "csv":
        return frame.write_csv().removesuffix("\n")
    if format == "json":
        return frame.write_json()
    with pl.Config(
        tbl_formatting="MARKDOWN" if format == "markdown" else "NOTHING",
        tbl_hide_column_data_types=True,
        tbl_hide_dataframe_shape=True,
        tbl_cell_numeric_alignment="RIGHT",
        tbl_rows=-1,
        tbl_cols=-1,
        tbl_width_chars=65_535,
        fmt_str_lengths=100_000,
        float_precision=4,
    ):
        lines = str(frame).splitlines()
    return "\n".join(lines if format == "markdown" else (line[1:].rstrip() for line in lines))


# demo

SCORERS = ("score", "score_pca", "score_forest")
DEMO_METRICS = ("ndcg@10", "map", "precision@10", "recall@50")

CODE = """\
import polars as pl
import rankframe as rf

df = rf.load_example()
metrics = ["ndcg@10", "map", "precision@10", "recall@50"]
per_query = df.rank.evaluate(*metrics)                             # one row per query
per_query.drop("query_id").mean()                                  # the means of `score`
df.rank.on(score="score_pca").evaluate("ndcg@10")                  # another scorer
worst = per_query.bottom_k(3, by="ndcg@10")                        # the worst queries
df.join(worst, on="query_id", how="semi").rank.explain("ndcg@10")  # what each document contributed\
"""


def demo(arguments: argparse.Namespace) -> tuple[str, int]:
    """The example table, evaluated: the means, the worst queries, and what cost them."""
    df = rf.load_example()
    per_query = rf.rank(df).evaluate(*DEMO_METRICS)
    worst = per_query.bottom_k(3, by="ndcg@10").sort("ndcg@10")
    costs = (
        rf.rank(df.join(worst, on="query_id", how="semi"))
        .explain("ndcg@10")
        .join(df.select("query_id", "doc_id", "digit", "doc_digit"), on=["query_id", "doc_id"])
    )
    table = pl.DataFrame({"metric": DEMO_METRICS}).with_columns(
        pl.Series(name, rf.rank(df).on(score=name).evaluate(*DEMO_METRICS).drop("query_id").mean().row(0))
        for name in SCORERS
    )
    lines = [
        textwrap.fill(
            f"{len(per_query)} images of handwritten digits, each a query for images of the same digit. "
            "Three scorers searched: the cosine of the pixels, a distance in six principal components, "
            f"and a random forest. {len(df):,} rows, {df['label'].count():,} of them judged: label 2 is "
            "the same digit, 1 the digit that looks most like it, 0 another one.",
            width=90,
        ),
        "",
        "Means over the queries",
        "",
        *indented(formatted(table, "table")),
        "",
        "The worst queries by ndcg@10 of `score`, and what cost them",
        *(line for row in worst.rows(named=True) for line in story(row, costs)),
        "",
        "The same in Python",
        "",
        *indented(CODE),
        "",
        "Your own files: python -m rankframe evaluate --help",
    ]
    return "\n".join(lines), 0


def story(row: dict[str, Any], costs: pl.DataFrame) -> list[str]:
    """What a query got at first, and where what it should have got went."""
    found = costs.filter(query_id=row["query_id"]).sort("rank", "doc_id", nulls_last=True)
    digit, top = found["digit"][0], found.filter(pl.col("rank") <= 10)
    same = found.filter(pl.col("label") == 2)
    wrong = top.filter(pl.col("label") < 2).select(pl.format("#{} {} (label {})", "rank", "doc_id", "label"))
    low = same.filter(pl.col("rank") > 10).select(pl.format("#{} {}", "rank", "doc_id"))
    lost = same.filter(pl.col("rank").is_null()).select("doc_id")
    return [
        "",
        f"  {row['query_id']}, a handwritten {digit}: ndcg@10 = {row['ndcg@10']:.4f}",
        f"    first ten        {' '.join(map(str, top['doc_digit']))}",
        f"    ranked too high  {some(wrong)}",
        f"    ranked too low   {some(low)}",
        f"    never returned   {some(lost)}",
    ]


def some(frame: pl.DataFrame, n: int = 3) -> str:
    """The first few of a column, and how many more there are."""
    values = frame.to_series()
    more = [f"{len(values) - n} more"] if len(values) > n else []
    return ", ".join([*values.head(n), *more]) or "none"


def indented(text: str) -> list[str]:
    """The lines of a text, moved to the right."""
    return [f"  {line}".rstrip() for line in text.splitlines()]


# metrics


def metrics(arguments: argparse.Namespace) -> tuple[str, int]:
    """One line per metric: its name, its other names, and what it is."""
    table = pl.DataFrame(
        {
            "metric": list(rf.METRICS),
            "other names": [", ".join(metric.aliases) for metric in rf.METRICS.values()],
            "what it is": [metric.doc.partition("\n")[0] for metric in rf.METRICS.values()],
        }
    )
    usage = "A metric takes a cutoff and options: ndcg@10, 'ndcg(gain=exponential)@5', 'rbp(p=0.95)'."
    return f"{formatted(table, 'table')}\n\n{usage}", 0


if __name__ == "__main__":
    sys.exit(main())
