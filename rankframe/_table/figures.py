"""Figures of a table that show whether its numbers are what is meant, from its scores, labels and ids."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import polars as pl

from .background import Items
from .columns import Columns
from .roles import is_text
from .setup import Setup
from .subtopics import documents

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

NEARLY_ALL = 0.95
"""The least share of rows that are a query each, where queries and documents may be swapped."""

ANY_SEPARATOR = "|".join(map(re.escape, sorted({mark.strip() for mark in SEPARATORS})))


class Figures(dict[str, Any]):
    """The figures of a table, or of whole queries of it, which NumPy computes together when the first of them is read.

    Of a `sample`, any text with a separator shows one; of a table, most different texts.
    """

    def __init__(self, rows: pl.DataFrame, setup: Setup, *, sample: bool = False) -> None:
        super().__init__()
        self.rows, self.setup, self.sample = rows, setup, sample

    def __missing__(self, name: str) -> Any:
        import numpy as np  # imported late, to keep other calls fast

        with np.errstate(all="ignore"):  # a check reads infinite labels, too
            self.update(COMPUTED_BY[name](self))
        return self[name]

    @cached_property
    def docs(self) -> pl.DataFrame:
        """The rows, one for each document."""
        if self.setup.roles.subtopic is None:
            return self.rows
        return documents(self.rows.lazy(), Columns(self.setup, self.rows.schema), ordered=False, check=False).collect()

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

    @cached_property
    def rankings(self) -> tuple[NDArray[Any], NDArray[np.intp], NDArray[np.bool_], NDArray[Any], int]:
        """The retrieved rows by query and rising score, their scores, where queries and ties begin, and the number of queries."""
        import numpy as np

        score, query = self.score, numbered(self.docs, self.setup.roles.query)
        score = score if _in_numpy(score.dtype) else score.rank("dense")
        values = (score.fill_null(0) if score.has_nulls() else score).to_numpy()
        order = values.argsort()
        order = order[query[order].argsort(kind="stable")]
        query = query[order]
        n_queries = int(np.count_nonzero(_begins(query)))
        if self.retrieved is not None:
            there = self.retrieved[order]
            order, query = order[there], query[there]
        return order, (begins := _begins(query)).nonzero()[0], begins, values[order], n_queries

    def _of_rows(self) -> dict[str, Any]:
        import numpy as np

        labels, positive = self.labels, self.labels > 0
        judged = labels >= 0
        known = labels[judged & np.isfinite(labels)]
        return {
            "rows": len(labels),
            "labelled": len(labels) - np.count_nonzero(np.isnan(labels)),
            "judged": np.count_nonzero(judged),
            "both": np.count_nonzero(judged if self.retrieved is None else self.retrieved & judged),
            "relevant": np.count_nonzero(labels >= max(self.setup.policies.relevant, 0)),
            "between": np.count_nonzero(positive & (labels < 1)),
            "positive": np.count_nonzero(positive),
            "least label": float(known.min()) if len(known) else math.nan,
            "most label": float(known.max()) if len(known) else math.nan,
        }

    def _of_scores(self) -> dict[str, Any]:
        score = self.score if not self.setup.policies.drops_first else self.score.filter(pl.Series(self.retrieved))
        ends = {"least score": score.min(), "most score": score.max()}
        there = {name: math.nan if end is None else end for name, end in ends.items()}
        return {"retrieved": len(score) - score.null_count(), **there}

    def _of_queries(self) -> dict[str, Any]:
        import numpy as np

        order, first, begins, values, n_queries = self.rankings
        n = np.diff(first, append=len(order))
        gain, place, ties = np.fmax(self.labels[order], 0), np.arange(1.0, len(order) + 1), begins.copy()
        ties[1:] |= values[1:] != values[:-1]
        if not ties.all():  # tied documents share their mean place
            tied = ties.nonzero()[0]
            size = np.diff(tied, append=len(order))
            place = np.repeat(place[tied] + (size - 1) / 2, size)
        best = gain > np.repeat(np.add.reduceat(gain, first) / n * ABOVE, n)
        above, n_best = np.add.reduceat(best * place, first), np.add.reduceat(best, first, dtype=float)
        pairs = n_best * (n - n_best)
        above, n_best, pairs, before, length = [x[pairs > 0] for x in (above, n_best, pairs, first, n)]
        auc = (above - n_best * (before + (n_best + 1) / 2)) / pairs
        auc = 1 - auc if self.setup.policies.ascending else auc
        return {
            "queries": n_queries,
            "retrieving": len(n),
            "several": np.count_nonzero(n > 1),
            "ordered": len(auc),
            "auc": auc.sum(),
            "squares": (auc**2).sum(),
            "variance": ((length + 1) / (12 * pairs)).sum(),  # of the AUC of random orders
        }

    def _of_ranks(self) -> dict[str, Any]:
        """The number of queries whose scores are 1, 2 and so on."""
        import numpy as np

        order, first, _, _, _ = self.rankings
        wanted = np.arange(1.0, len(order) + 1) - np.repeat(first, np.diff(first, append=len(order)))
        as_ranks = self.score.cast(pl.Float64).to_numpy()[order] == wanted
        ranked = len(order) and not self.setup.policies.ascending
        return {"ranks": np.count_nonzero(np.logical_and.reduceat(as_ranks, first)) if ranked else 0}

    def _of_documents(self) -> dict[str, Any]:
        """The number of documents, and of those that have as many rows as most do, if as many as a list."""
        import numpy as np

        doc = self.setup.roles.doc_name
        if doc is None or self["queries"] < NEARLY_ALL * self["rows"]:  # false of few tables
            return {"docs": 0, "alike": 0}
        _, sizes = np.unique(numbered(self.docs, [doc]), return_counts=True)
        _, usual = np.unique(sizes[sizes >= SHORTEST_LIST], return_counts=True)
        return {"docs": len(sizes), "alike": usual.max(initial=0)}

    def _of_texts(self) -> dict[str, Any]:
        roles = {"category": self.setup.roles.category, "subtopic": self.setup.roles.subtopic}
        return {f"{role} separator": self._separator(name) for role, name in roles.items()}

    def _separator(self, name: str | None) -> str:
        items = self.setup.background.items
        if name is None or not isinstance(items, Items) or not self.setup.background.has(name):
            return "" if name is None else _separator(self.rows[name], self.sample)
        return items.once(("separator", name, self.sample), partial(_separator, items.frame[name], self.sample))


def means(found: Mapping[str, Any]) -> dict[str, float]:
    """The mean AUC of the queries, and its standard error, at least that of random orders."""
    n = found["ordered"]
    mean = found["auc"] / n if n else math.nan
    spread = max(found["squares"] - n * mean**2, 0) * n / (n - 1) if n > 1 else 0
    error = math.sqrt(max(spread, found["variance"])) / max(n, 1)
    return {"mean": mean, "mean auc": round(mean, 2), "standard error": error}


TOGETHER: Mapping[tuple[str, ...], Callable[[Figures], dict[str, Any]]] = {
    ("rows", "labelled", "judged", "both", "relevant", "between", "positive", "least label", "most label"): Figures._of_rows,
    ("retrieved", "least score", "most score"): Figures._of_scores,
    ("queries", "retrieving", "several", "ordered", "auc", "squares", "variance"): Figures._of_queries,
    ("ranks",): Figures._of_ranks,
    ("docs", "alike"): Figures._of_documents,
    ("category separator", "subtopic separator"): Figures._of_texts,
    ("mean", "mean auc", "standard error"): means,
}  # fmt: skip
"""The figures that are computed together."""

COMPUTED_BY = {name: compute for names, compute in TOGETHER.items() for name in names}


def together(parts: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    """The figures of all parts of a table."""
    found: dict[str, Any] = {}
    for name in (name for names in TOGETHER for name in names):
        values = [part[name] for part in parts if part[name] == part[name]]
        most = name.startswith("most ") or name.endswith(" separator")
        put = min if name.startswith("least ") else max if most else sum
        found[name] = put(values) if values else math.nan
    return found | means(found)


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


def _in_numpy(dtype: pl.DataType) -> bool:
    """Whether NumPy has numbers of this type."""
    return dtype.is_float() or (dtype.is_integer() and dtype not in (pl.Int128, pl.UInt128))


def _begins(sorted: NDArray[Any]) -> NDArray[np.bool_]:
    """Whether each value is the first of its kind."""
    import numpy as np  # imported late, to keep other calls fast

    begins = np.ones(len(sorted), dtype=bool)
    np.not_equal(sorted[1:], sorted[:-1], out=begins[1:])
    return begins


def _separator(texts: pl.Series, sample: bool) -> str:
    """The separator that most different texts share; of a sample, that some text holds; empty for none."""
    if not is_text(texts.dtype):
        return ""
    texts = texts.cast(pl.String)
    if sample:
        return SEPARATORS[0] if texts.str.contains(ANY_SEPARATOR).any() else ""
    texts = texts.drop_nulls().unique()
    shared = (x for x in SEPARATORS if texts.str.contains(x, literal=True).sum() * 2 > len(texts) >= FEWEST_TEXTS)
    return next(shared, "")
