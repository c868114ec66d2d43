"""``rankframe demo``: the example table, evaluated."""

from __future__ import annotations

import argparse
import textwrap
from typing import Any

import polars as pl

import rankframe as rf

from .command import Command, Outcome
from .output import OutputTable, formatted

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


def demo(arguments: argparse.Namespace) -> Outcome:
    """Evaluate the example table: print the means, the worst queries, and the documents that cost them."""
    df = rf.load_example()
    per_query = rf.rank(df).evaluate(*DEMO_METRICS)
    worst = per_query.bottom_k(3, by="ndcg@10").sort("ndcg@10")
    costs = rf.rank(df.join(worst, on="query_id", how="semi")).explain("ndcg@10")
    costs = costs.join(df.select("query_id", "doc_id", "digit", "doc_digit"), on=["query_id", "doc_id"])
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
        *indented(formatted(OutputTable(table), "table")),
        "",
        "The worst queries by ndcg@10 of `score`, and what cost them",
        *(line for row in worst.rows(named=True) for line in story(row, costs)),
        "",
        "The same in Python",
        "",
        *indented(CODE),
        "",
        "Your own files: rankframe evaluate --help",
    ]
    return Outcome("\n".join(lines))


def story(row: dict[str, Any], costs: pl.DataFrame) -> list[str]:
    """The first documents of a query, the documents ranked too high, and relevant ones ranked too low or not returned."""
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
    """The first few values of a column, and the number of further ones."""
    values = frame.to_series()
    more = [f"{len(values) - n} more"] if len(values) > n else []
    return ", ".join([*values.head(n), *more]) or "none"


def indented(text: str) -> list[str]:
    """The lines of a text, indented."""
    return [f"  {line}".rstrip() for line in text.splitlines()]


COMMAND = Command(
    demo, "evaluate a small real table and show what cost the worst queries", ("rankframe demo",), formats=None
)
