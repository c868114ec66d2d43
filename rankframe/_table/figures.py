"""Figures of a table that show whether its numbers are what is meant, from one pass over scores, labels and ids."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import polars as pl

from .background import Items
from .roles import is_text
from .setup import Setup
from .subtopics import documents
from .table import Table

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

SHORTEST_LIST = 10
"""The fewest rows of a query that is named as a document; popular documents have some rows, too."""

FEWEST_TEXTS = 3
"""The fewest different texts that show a habit."""

SEPARATORS = ("|", "; ", ";", ", ", ",")
"""Separators of several values in one text; of two that fit, the first is meant."""

ABOVE = 1 + 1e-9
"""A gain this many times its query's mean is above it, whatever the mean's rounding."""

ROUNDING = 1e-9
"""More than the rounding of a mean AUC."""

NEARLY_ALL = 0.95
"""The least share of rows that are a query each, where queries and documents may be swapped."""

ANY_SEPARATOR = "|".join(map(re.escape, sorted({mark.strip() for mark in SEPARATORS})))

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
            best=(gain > gain.mean() * ABOVE).sum().cast(pl.Float64),
            above=score.rank().filter(gain > gain.mean() * ABOVE).sum(),
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
        items = _items_with(name, table.setup)
        of = rows if items is None else items.frame.lazy()
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


def _items_with(name: str | None, setup: Setup) -> Items | None:
    """The items that have a property of documents; None if the ranker's own table has it."""
    items = setup.background.items
    return items if isinstance(items, Items) and name is not None and setup.background.has(name) else None


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


# ----------------------------------------------------------------------------------------------------- of few rows, quickly


def numbered(rows: pl.DataFrame, names: Sequence[str]) -> NDArray[Any]:
    """A whole number for the values of each row in these columns, equal for equal values."""
    import numpy as np  # imported late, to keep other calls fast

    column = rows[names[0]]
    whole = column.dtype.is_integer() and _in_numpy(column.dtype) and not column.has_nulls()
    if len(names) > 1 or not whole or not rows.height:
        return rows[list(names)].hash_rows().to_numpy()
    numbers = column.to_numpy()
    least = numbers.min()
    # NumPy sorts short numbers several times faster
    return (numbers - least).astype(np.uint16) if int(numbers.max()) - int(least) < 2**16 else numbers


class QuickFigures(dict[str, Any]):
    """The figures of few rows in memory, which NumPy computes when they are read, at a tenth of the cost of `figures`.

    They are those with which a number may warn. Rounding makes them more suspicious than those of `totals`, never less.
    """

    def __init__(self, rows: pl.DataFrame, setup: Setup, *, ranked: bool) -> None:
        super().__init__()
        self.docs, self.rows, self.setup, self.ranked = rows, rows, setup, ranked
        if setup.roles.subtopic is not None:
            self.docs = documents(rows.lazy(), Table(setup, rows.schema), ordered=False, check=False).collect()

    def __missing__(self, name: str) -> Any:
        if name.endswith(" separator"):
            self[name] = self._separator(getattr(self.setup.roles, name.removesuffix(" separator")))
        else:
            self.update(next(compute for names, compute in OF_ROWS.items() if name in names)(self))
        return self[name]

    @cached_property
    def labels(self) -> NDArray[np.float64]:
        """The labels; NaN for none."""
        name, n = self.setup.roles.label, self.docs.height
        labels = self.docs[name] if name in self.docs.columns else pl.repeat(None, n, eager=True)
        return labels.cast(pl.Float64).to_numpy()

    @cached_property
    def score(self) -> pl.Series:
        """The scores in the type in which they are compared, in the caller's direction."""
        score = self.docs[self.setup.roles.score]
        return score.cast(pl.Float32) if self.setup.policies.scores == "float32" else score

    @cached_property
    def retrieved(self) -> NDArray[np.bool_] | None:
        """Whether each document is retrieved; None if all are."""
        there = self.score.is_not_null().to_numpy() if self.score.has_nulls() else None
        if not self.setup.policies.drops_first:
            return there
        judged: NDArray[np.bool_] = self.labels >= 0
        return judged if there is None else there & judged

    def _of_rows(self) -> dict[str, Any]:
        import numpy as np  # imported late, to keep other calls fast

        labels, positive = self.labels, self.labels > 0
        both = labels >= 0 if self.retrieved is None else self.retrieved & (labels >= 0)
        return {
            "rows": len(labels),
            "labelled": len(labels) - np.count_nonzero(np.isnan(labels)),
            "both": np.count_nonzero(both),
            "relevant": np.count_nonzero(labels >= max(self.setup.policies.relevant, 0)),
            "between": np.count_nonzero(positive & (labels < 1)),
            "positive": np.count_nonzero(positive),
        }

    def _of_scores(self) -> dict[str, Any]:
        score = self.score if not self.setup.policies.drops_first else self.score.filter(pl.Series(self.retrieved))
        return {
            "retrieved": len(score) - score.null_count(),
            "least score": math.nan if (least := score.min()) is None else least,
            "most score": math.nan if (most := score.max()) is None else most,
        }

    def _of_queries(self) -> dict[str, Any]:
        import numpy as np  # imported late, to keep other calls fast

        score, query = self.score, numbered(self.docs, self.setup.roles.query)
        score = score if _in_numpy(score.dtype) else score.rank("dense")
        values = (score.fill_null(0) if score.has_nulls() else score).to_numpy()
        order = values.argsort()
        order = order[query[order].argsort(kind="stable")]  # by query, then by rising score
        query = query[order]
        first, n = _runs(begins := _begins(query))
        found: dict[str, Any] = {"ranks": 0, "queries": len(first)}
        if self.retrieved is not None:
            there = self.retrieved[order]
            order, query = order[there], query[there]
            first, n = _runs(begins := _begins(query))
        found |= {"retrieving": len(n), "several": np.count_nonzero(n > 1)}
        values, gain = values[order], np.fmax(self.labels[order], 0)
        place = np.arange(1.0, len(order) + 1)
        if self.ranked:
            as_ranks = self.score.cast(pl.Float64).to_numpy()[order] == place - np.repeat(first, n)
            found["ranks"] = np.count_nonzero(np.logical_and.reduceat(as_ranks, first)) if len(n) else 0
        begins[1:] |= values[1:] != values[:-1]
        if not begins.all():  # tied documents share their mean place
            tied, size = _runs(begins)
            place = np.repeat(place[tied] + (size - 1) / 2, size)
        best = gain > np.repeat(np.add.reduceat(gain, first) / n * ABOVE, n)
        above, n_best = np.add.reduceat(best * place, first), np.add.reduceat(best, first, dtype=float)
        pairs = n_best * (n - n_best)
        some = pairs > 0
        above, n_best, pairs, before, n = (x[some] for x in (above, n_best, pairs, first, n))
        auc = (above - n_best * (before + (n_best + 1) / 2)) / pairs
        auc = 1 - auc if self.setup.policies.ascending else auc
        ordered, mean = len(auc), auc.sum() / len(auc) if len(auc) else math.nan
        spread = ((auc - mean) ** 2).sum() * ordered / (ordered - 1) if ordered > 1 else 0
        error = math.sqrt(max(spread, ((n + 1) / (12 * pairs)).sum())) / max(ordered, 1)
        return found | {
            "ordered": ordered,
            "mean": mean - ROUNDING,
            "standard error": error - ROUNDING,
        }

    def _of_documents(self) -> dict[str, Any]:
        import numpy as np  # imported late, to keep other calls fast

        doc = self.setup.roles.doc_name
        if doc is None or self["queries"] < NEARLY_ALL * self["rows"]:  # false of few tables
            return {"docs": 0, "alike": 0}
        _, sizes = np.unique(numbered(self.docs, [doc]), return_counts=True)
        _, usual = np.unique(sizes[sizes >= SHORTEST_LIST], return_counts=True)
        return {"docs": len(sizes), "alike": usual.max(initial=0)}

    def _separator(self, name: str | None) -> str:
        """A separator that a text of the column holds, whether or not most texts share it."""
        items = _items_with(name, self.setup)
        if items is None:
            return _some_separator(self.rows, name)
        return items.once(("separator", name), lambda: _some_separator(items.frame, name))


def _in_numpy(dtype: pl.DataType) -> bool:
    """Whether NumPy has numbers of this type."""
    return dtype.is_float() or (dtype.is_integer() and dtype not in (pl.Int128, pl.UInt128))


def _begins(sorted: NDArray[Any]) -> NDArray[np.bool_]:
    """Whether each value is the first of its kind."""
    import numpy as np  # imported late, to keep other calls fast

    begins = np.ones(len(sorted), dtype=bool)
    np.not_equal(sorted[1:], sorted[:-1], out=begins[1:])
    return begins


def _runs(begins: NDArray[np.bool_]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Where each run of rows begins, and its number of rows."""
    first = begins.nonzero()[0]
    n = first.copy()
    n[:-1] = first[1:]
    n[-1:] = len(begins)
    n -= first
    return first, n


def _some_separator(rows: pl.DataFrame, name: str | None) -> str:
    if name is None or not is_text(rows.schema[name]):
        return ""
    found = rows[name].cast(pl.String).str.contains(ANY_SEPARATOR).any()
    return SEPARATORS[0] if found else ""


OF_ROWS: Mapping[tuple[str, ...], Callable[[QuickFigures], dict[str, Any]]] = {
    ("rows", "labelled", "both", "relevant", "between", "positive"): QuickFigures._of_rows,
    ("retrieved", "least score", "most score"): QuickFigures._of_scores,
    ("queries", "retrieving", "several", "ranks", "ordered", "mean", "standard error"): QuickFigures._of_queries,
    ("docs", "alike"): QuickFigures._of_documents,
}
"""The figures that `QuickFigures` computes together."""
