"""Figures of a table that show whether its numbers are what is meant, from one pass over scores, labels and ids."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from .background import Items
from .roles import is_text
from .subtopics import documents
from .table import Table

__all__ = ["figures", "totals"]

SHORTEST_LIST = 10
"""The fewest rows of a query that is named as a document; popular documents have some rows, too."""

FEWEST_TEXTS = 3
"""The fewest different texts that show a habit."""

SEPARATORS = ("|", "; ", ";", ", ", ",")
"""Separators of several values in one text; of two that fit, the first is meant."""

SUMS = (
    "rows", "retrieved", "judged", "both", "labelled", "relevant", "between", "positive", "queries", "retrieving",
    "several", "ranks", "ordered", "auc", "squares", "variance", "docs", "alike",
)  # fmt: skip
"""Figures that parts of a table add up."""


def figures(
    rows: pl.LazyFrame, table: Table, *, label: bool = True, documented: bool = True, ranked: bool = True
) -> pl.LazyFrame:
    """One row of figures of the table, or of whole queries of it, for `totals`.

    Without `label`, nobody judged a document. Without `documented`, documents are not counted, and without `ranked`, no query
    counts as one whose scores are ranks: both take a third of the time.
    """
    texts = _of_texts(rows, table)
    rows = documents(rows, table, ordered=False, check=False)
    grade = table.label if label else pl.lit(None, pl.Float64)
    gain = grade.fill_null(0).clip(0)
    plain = rows.select(*table.query, table.score.alias("#score"), grade.alias("#label"), gain.alias("#gain"))
    score, grade = pl.col("#score"), pl.col("#label")
    there, judged = score.is_not_null(), grade >= 0
    known = grade.filter(judged & grade.is_finite())
    found = plain.select(
        rows=pl.len(),
        retrieved=score.count(),
        judged=judged.sum(),
        both=(there & judged).sum(),
        labelled=grade.count(),
        relevant=(grade >= max(table.setup.policies.relevant, 0)).sum(),
        between=((grade > 0) & (grade < 1)).sum(),
        positive=(grade > 0).sum(),
        queries=(pl.struct(table.key) if len(table.key) > 1 else pl.col(table.key)).n_unique(),
        **{"least label": known.min(), "most label": known.max()},
        **{"least score": score.min(), "most score": score.max()},  # of all digits
    )
    gain = pl.col("#gain")
    of_ranks = {
        "whole": (score == score.cast(pl.Float64).floor()).all(),
        "least": score.min(),
        "most": score.max(),
        "different": score.n_unique(),
    }
    per_query = (
        plain.filter(there)
        .group_by(table.key)
        .agg(
            n=pl.len().cast(pl.Float64),
            best=(gain > gain.mean()).sum().cast(pl.Float64),
            above=score.rank().filter(gain > gain.mean()).sum(),
            **(of_ranks if ranked else {}),
        )
    )
    n, best, pairs = pl.col("n"), pl.col("best"), pl.col("best") * (pl.col("n") - pl.col("best"))
    ranks = pl.col("whole") & (pl.col("least") == 1) & (pl.col("most") == n) & (pl.col("different") == n)
    ranks = ranks if ranked else pl.lit(False)
    auc = ((pl.col("above") - best * (best + 1) / 2) / pairs).filter(pairs > 0)
    of_queries = per_query.select(
        several=(n > 1).sum(),
        ranks=ranks.sum(),
        retrieving=pl.len(),
        ordered=auc.len(),
        auc=auc.sum(),
        squares=(auc**2).sum(),
        variance=((n + 1) / (12 * pairs)).filter(pairs > 0).sum(),  # of the AUC of random orders
    )
    return pl.concat([found, of_queries, _of_documents(rows, table, documented), *texts], how="horizontal")


def _of_documents(rows: pl.LazyFrame, table: Table, counted: bool) -> pl.LazyFrame:
    """The number of documents, and of those that have as many rows as most do, if as many as a list."""
    doc = table.setup.roles.doc_name
    if doc is None or not counted:
        return pl.LazyFrame({"docs": [0], "alike": [0]}, schema={"docs": pl.UInt32, "alike": pl.UInt32})
    counts = rows.group_by(pl.col(doc).alias("#doc")).agg(pl.len().alias("#n"))
    sizes = counts.group_by("#n").agg(pl.len().alias("#of"))
    usual = pl.col("#of").filter(pl.col("#n") >= SHORTEST_LIST).max().fill_null(0)
    return sizes.select(docs=pl.col("#of").sum(), alike=usual)


def _of_texts(rows: pl.LazyFrame, table: Table) -> Iterator[pl.LazyFrame]:
    """The separator that most different texts share, of the category and of the subtopic; empty for none."""
    for role in ("category", "subtopic"):
        name, column = getattr(table.setup.roles, role), f"{role} separator"
        items = table.setup.background.items
        of_item = name is not None and isinstance(items, Items) and table.setup.background.has(name)
        of = items.frame.lazy() if of_item and isinstance(items, Items) else rows
        if name is None or not is_text(of.collect_schema()[name]):
            yield pl.LazyFrame({column: [""]}, schema={column: pl.String})
            continue
        texts = pl.col(name).cast(pl.String).drop_nulls().unique()
        shared = [
            pl.when(texts.len() >= FEWEST_TEXTS, texts.str.contains(mark, literal=True).sum() * 2 > texts.len()).then(
                pl.lit(mark)
            )
            for mark in SEPARATORS
        ]
        yield of.select(pl.coalesce(*shared, pl.lit("")).alias(column))


def totals(found: pl.LazyFrame) -> pl.LazyFrame:
    """One row of figures, from those of all parts of a table."""
    added = found.select(
        pl.col(*SUMS).sum(),
        pl.col("^least .*$").min(),
        pl.col("^most .*$").max(),
        pl.col("^.* separator$").max(),
    )
    n, mean = pl.col("ordered").cast(pl.Float64), pl.col("auc") / pl.col("ordered")
    spread = (pl.col("squares") - n * mean**2).clip(0) * n / (n - 1)
    error = pl.max_horizontal(spread, "variance").sqrt() / n
    return added.with_columns(mean.alias("mean"), mean.round(2).alias("mean auc"), error.alias("standard error"))
