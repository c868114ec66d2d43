"""The figures of a table's scores, labels and ids, which show whether a number is what its user
means.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, lru_cache, partial
from typing import Any, NamedTuple

import polars as pl

from .._support.floats import NDArray, np
from .._support.sorts import rising, sorted_in_groups
from ..errors import RankframeError
from .background import History, Interactions, Items, common_type
from .columns import Columns
from .roles import DISTANCES, RANKS, USUAL_NAMES, is_text
from .setup import Setup
from .subtopics import documents

SHORTEST_LIST = 10
"""The fewest rows of a query that is named as a document; popular documents have some rows, too."""

FEWEST_TEXTS = 3
"""The fewest different texts that show a habit."""

SEPARATORS = ("|", "; ", ";", ", ", ",")
"""Separators of several values in one text; of two that fit, the first is meant."""

NEARLY_ALL = 0.95
"""The least share of rows that are a query each, where queries and documents may be swapped."""

ABOVE = 1 + 1e-9
"""A gain this many times its query's mean is above it, whatever the mean's rounding."""

NO_TIES = {
    "tied": 0,
    "apart": 0,
    "the value": math.nan,
    "of the value": 0,
    "queries of the value": 0,
}
"""The figures of equal scores where there are none."""

OF_AUC = ("ordered", "auc", "squares", "variance")
"""The figures of AUCs that add up over queries."""

MANY_PAIRS = 100_000
"""The number of past interactions above which a join is worth a filter by user."""

NO_RUNS = {"most stacked": "", "most runs": 0}
"""The figures of runs one under the other where there are none."""

ANY_SEPARATOR = "|".join(map(re.escape, sorted({mark.strip() for mark in SEPARATORS})))


class Ranked(NamedTuple):
    """The retrieved rows of a table, query by query.

    Attributes
    ----------
    row
        The rows, those of each query by rising score.
    first
        Where queries begin among them.
    score
        Their scores, or numbers in the same order.
    n_queries
        The number of queries, also of those without a retrieved row.
    """

    row: NDArray[np.integer[Any]]
    first: NDArray[np.intp]
    score: NDArray[Any]
    n_queries: int


class Figures(dict[str, Any]):
    """The figures of a table, or of whole queries of it, which NumPy computes together when the
    first of them is read.

    Of a `sample`, any text with a separator shows one; of a table, most different texts. Rows that
    are `ranked` already are not sorted again.
    """

    def __init__(
        self,
        rows: pl.DataFrame,
        setup: Setup,
        *,
        sample: bool = False,
        ranked: Ranked | None = None,
    ) -> None:
        super().__init__()
        self.rows, self.setup, self.sample, self._ranked = rows, setup, sample, ranked

    def __missing__(self, name: str) -> Any:
        self.update(COMPUTED_BY[name](self))
        return self[name]

    @cached_property
    def docs(self) -> pl.DataFrame:
        """The rows, one for each document."""
        if self.setup.roles.subtopic is None:
            return self.rows
        return documents(
            self.rows.lazy(), Columns(self.setup, self.rows.schema), ordered=False, check=False
        ).collect()

    @cached_property
    def labels(self) -> NDArray[np.float64]:
        """The labels; NaN for none."""
        name, docs = self.setup.roles.label, self.docs
        labels = docs[name] if name in docs.columns else pl.repeat(None, docs.height, eager=True)
        return (labels if labels.dtype == pl.Float64 else labels.cast(pl.Float64)).to_numpy()

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
    def ranked(self) -> Ranked:
        """The retrieved rows, query by query."""
        if self._ranked is not None:
            return self._ranked
        score, query = self.score, numbered(self.docs, self.setup.roles.query)
        score = score if in_numpy(score.dtype) else score.rank("dense")
        values = (score.fill_null(0) if score.has_nulls() else score).to_numpy()
        order = sorted_in_groups(np.zeros(1, dtype=np.int64), rising(values))
        order = order[query[order].argsort(kind="stable")]
        begins = begins_of(query := query[order])
        n_queries = int(np.count_nonzero(begins))
        if self.retrieved is not None:
            there = self.retrieved[order]
            order, begins = order[there], begins_of(query[there])
        return Ranked(order, begins.nonzero()[0], values[order], n_queries)

    def _of_rows(self) -> dict[str, Any]:
        labels, threshold = self.labels, max(self.setup.policies.relevant, 0)
        positive, judged = labels > 0, labels >= 0
        n_judged, n_positive = np.count_nonzero(judged), np.count_nonzero(positive)
        known = labels if n_judged == len(labels) else labels[judged]
        most = known.max(initial=-math.inf)
        if most == math.inf:
            known = known[np.isfinite(known)]
            most = known.max(initial=-math.inf)
        return {
            "rows": len(labels),
            "labelled": n_judged
            if n_judged == len(labels)
            else len(labels) - np.count_nonzero(np.isnan(labels)),
            "judged": n_judged,
            "both": n_judged
            if self.retrieved is None
            else np.count_nonzero(self.retrieved & judged),
            "relevant": np.count_nonzero(labels >= threshold),
            "between": n_positive - np.count_nonzero(labels >= 1),
            "positive": n_positive,
            "least label": float(known.min()) if len(known) else math.nan,
            "most label": float(most) if len(known) else math.nan,
        }

    def _of_scores(self) -> dict[str, Any]:
        values, n = self.ranked.score, len(self.ranked.row)
        if not n:
            return {"retrieved": 0, "least score": math.nan, "most score": math.nan}
        if not in_numpy(self.score.dtype):
            score = (
                self.score
                if self.retrieved is None
                else self.score.filter(pl.Series(self.retrieved))
            )
            return {"retrieved": n, "least score": score.min(), "most score": score.max()}
        least, most = np.fmin.reduce(values).item(), np.fmax.reduce(values).item()
        return {"retrieved": n, "least score": least, "most score": most}

    def _of_queries(self) -> dict[str, Any]:
        """Counts of queries, and the sums of their AUCs; a check reads infinite labels, too."""
        with np.errstate(invalid="ignore"):
            return self._aucs()

    def _aucs(self) -> dict[str, Any]:
        order, first, _, n_queries = self.ranked
        n = _lengths(first, len(order))
        gain, place = np.fmax(self.labels[order], 0), np.arange(1.0, len(order) + 1)
        if self.tie_groups is not None:  # tied documents share their mean place
            tied, size = self.tie_groups
            place = np.repeat(place[tied] + (size - 1) / 2, size)
        counts = {"queries": n_queries, "retrieving": len(n), "several": np.count_nonzero(n > 1)}
        best = gain > (np.add.reduceat(gain, first) / n * ABOVE).repeat(n)
        above, n_best = (
            np.add.reduceat(best * place, first),
            np.add.reduceat(best, first, dtype=float),
        )
        pairs = n_best * (n - n_best)
        both = pairs > 0
        if not both.all():
            above, n_best, pairs, first, n = (x[both] for x in (above, n_best, pairs, first, n))
        auc = (above - n_best * (first + (n_best + 1) / 2)) / pairs
        auc = 1 - auc if self.setup.policies.ascending else auc
        counts["ordered"] = len(auc)
        variance = ((n + 1) / (12 * pairs)).sum()  # of the AUC of random orders
        return {
            **counts,
            "auc": float(auc.sum()),
            "squares": float(auc.dot(auc)),
            "variance": float(variance),
        }

    @cached_property
    def tie_groups(self) -> tuple[NDArray[np.intp], NDArray[np.intp]] | None:
        """Where the documents of one query and score begin among `ranked`, and their number; None
        if no scores are equal.
        """
        _, first, score, _ = self.ranked
        begins = begins_of(score)
        begins[first] = True
        if begins.all():
            return None
        tied = begins.nonzero()[0]
        return tied, _lengths(tied, len(score))

    def _of_ties(self) -> dict[str, Any]:
        """The documents with equal scores: all, those of several labels, and those of the value
        that most of them have.
        """
        if self.tie_groups is None:
            return NO_TIES
        (order, _, values, _), (tied, size) = self.ranked, self.tie_groups
        gain, several = np.fmax(self.labels[order], 0), size > 1
        apart = size[np.maximum.reduceat(gain, tied) > np.minimum.reduceat(gain, tied)]
        groups, docs = tied[several], size[several]
        different, number = np.unique(values[groups], return_inverse=True)
        of_values = np.bincount(number, weights=docs, minlength=len(different))
        of_value = number == of_values.argmax()
        value = self.score[int(order[groups[of_value.argmax()]])]
        return {
            "tied": int(docs.sum()),
            "apart": int(apart.sum()),
            "the value": math.nan if isinstance(value, bool) else value,
            "of the value": int(docs[of_value].sum()),
            "queries of the value": int(np.count_nonzero(of_value)),
        }

    def _of_judgments(self) -> dict[str, Any]:
        """Counts of rankings: those without a relevant document, as long as the longest, and with a
        judged document; and of documents of the last: the unjudged, and all.
        """
        order, first, _, _ = self.ranked
        labels, lengths = self.labels[order], _lengths(first, len(order))
        relevant = np.logical_or.reduceat(labels >= max(self.setup.policies.relevant, 0), first)
        unjudged = np.add.reduceat(np.isnan(labels), first, dtype=np.intp)
        some = unjudged < lengths
        return {
            "hopeless": len(first) - np.count_nonzero(relevant),
            "longest": np.count_nonzero(lengths == lengths.max(initial=0)),
            "with judged": np.count_nonzero(some),
            "beside judged": int(unjudged[some].sum()),
            "of judged": int(lengths[some].sum()),
        }

    def _of_ranks(self) -> dict[str, Any]:
        """The number of queries whose scores are 1, 2 and so on; of ranks, the documents of queries
        that leave numbers out.
        """
        order, first, _, _ = self.ranked
        if not len(order):
            return {"ranks": 0, "gaps": 0}
        values, lengths = self.score.cast(pl.Float64).to_numpy()[order], _lengths(first, len(order))
        if self.setup.policies.ascending:
            return {"ranks": 0, "gaps": _left_out(values, first, lengths)}
        wanted = np.arange(1.0, len(order) + 1) - first.repeat(lengths)
        return {
            "ranks": np.count_nonzero(np.logical_and.reduceat(values == wanted, first)),
            "gaps": 0,
        }

    def _of_shown(self) -> dict[str, Any]:
        """The name of a column of ranks that are 1, 2 and so on in each query, and the AUCs of its
        order; empty for none.

        The order shown is that column's own, whatever score is evaluated.
        """
        query, rank = [*self.setup.roles.query], pl.col("#rank")
        exact = (rank == pl.int_range(1, pl.len() + 1).over(query)).fill_null(False)
        for column in self.docs.select(name for name in self.docs.columns if like(name) == "rank"):
            if not column.dtype.is_numeric():
                continue
            ranks = self.docs[query].with_columns(column.cast(pl.Float64).alias("#rank"))
            if ranks.sort(*query, rank).select(exact.all()).item():
                by_rank = Figures(
                    self.docs, self.setup.changed(score=column.name, ascending=True, subtopic=None)
                )
                return {
                    "most exact rank": column.name,
                    **{f"shown {name}": by_rank[name] for name in OF_AUC},
                }
        return {"most exact rank": "", **{f"shown {name}": 0 for name in OF_AUC}}

    def _of_past(self) -> dict[str, Any]:
        """The retrieved items that their user already had, and the relevant ones."""
        past, roles = self.setup.background.interactions, self.setup.roles
        doc = roles.doc_in(self.docs.columns)
        none = {"seen": 0, "seen relevant": 0}
        if not isinstance(past, Interactions) or doc is None:
            return none
        try:
            history = past.named(roles.query, doc)
        except RankframeError:  # a metric that reads interactions refuses them
            return none
        seen = in_past(self.docs, history)
        there = seen if self.retrieved is None else seen & self.retrieved
        relevant = self.labels >= max(self.setup.policies.relevant, 0)
        return {"seen": np.count_nonzero(there), "seen relevant": np.count_nonzero(seen & relevant)}

    def _of_stacked(self) -> dict[str, Any]:
        """The column of runs that stand one under the other, and their number, in a table without
        documents.
        """
        return stacked_runs(self.rows, self.setup)

    def _of_documents(self) -> dict[str, Any]:
        """The number of documents, and of those that have as many rows as most do, if as many as a
        list.
        """
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
        return items.once(
            ("separator", name, self.sample), partial(_separator, items.frame[name], self.sample)
        )


def mean_by_score(found: Mapping[str, Any]) -> dict[str, float]:
    """The mean AUC of the queries by the score, with its standard error."""
    mean, error = _mean_and_error(*(found[name] for name in OF_AUC))
    return {"mean": mean, "standard error": error}


def mean_by_order_shown(found: Mapping[str, Any]) -> dict[str, float]:
    """The mean AUC of the queries by the order shown, with its standard error."""
    mean, error = _mean_and_error(*(found[f"shown {name}"] for name in OF_AUC))
    return {"shown mean": mean, "shown standard error": error}


def _mean_and_error(n: int, total: float, squares: float, variance: float) -> tuple[float, float]:
    """The mean of AUCs and its standard error, at least that of random orders."""
    mean = total / n if n else math.nan
    spread = max(squares - n * mean**2, 0) * n / (n - 1) if n > 1 else 0
    return mean, math.sqrt(max(spread, variance)) / max(n, 1)


def in_past(rows: pl.DataFrame, past: History) -> NDArray[np.bool_]:
    """Whether the user of each row already had its item; nobody did if only counts of items are
    known.
    """
    key = [*past.key, past.doc]
    types = {name: common_type(rows.schema[name], past.pairs.schema[name]) for name in key}
    alike = all(
        types[name] == common_type(past.pairs.schema[name], rows.schema[name]) for name in key
    )
    if not past.key or not alike:
        return np.zeros(rows.height, dtype=bool)
    pairs, ids = (_of_types(table.select(key), types) for table in (past.pairs, rows))
    if pairs.height > MANY_PAIRS and len(past.key) == 1:  # few of their users are in a sample
        user = pl.col(past.key[0])
        pairs = pairs.filter(user.is_in(ids[past.key[0]].unique().implode(), nulls_equal=True))
    row = ids.with_row_index("#row").join(pairs, on=key, how="semi", nulls_equal=True)["#row"]
    seen = np.zeros(rows.height, dtype=bool)
    seen[row.to_numpy()] = True
    return seen


def _of_types(ids: pl.DataFrame, types: Mapping[str, pl.DataType]) -> pl.DataFrame:
    """The ids in types in which those of another table are compared."""
    if all(ids.schema[name] == kind for name, kind in types.items()):
        return ids
    return ids.select(pl.col(name).cast(kind) for name, kind in types.items())


def stacked_runs(rows: pl.DataFrame, setup: Setup) -> dict[str, Any]:
    """The column with a usual name for runs that has every query in each of its values, and their
    number.
    """
    query = [*setup.roles.query]
    for name in usual_runs(rows.columns, setup):
        runs = rows[name].n_unique()
        if (
            runs > 1
            and rows.select(*query, name).n_unique() == runs * rows.select(query).n_unique()
        ):
            return {"most stacked": name, "most runs": runs}
    return NO_RUNS


def usual_runs(names: Sequence[str], setup: Setup) -> list[str]:
    """The columns with a usual name for runs, if no document tells the rows of a query apart."""
    if setup.roles.doc_in(names) is not None or setup.roles.subtopic is not None:
        return []
    named = {name for name, _ in setup.roles.named}
    return [name for name in names if name.lower() in USUAL_NAMES["run"] and name not in named]


TOGETHER: Mapping[tuple[str, ...], Callable[[Figures], dict[str, Any]]] = {
    ("rows", "labelled", "judged", "both", "relevant", "between", "positive", "least label", "most label"): Figures._of_rows,
    ("retrieved", "least score", "most score"): Figures._of_scores,
    ("queries", "retrieving", "several", "ordered", "auc", "squares", "variance"): Figures._of_queries,
    tuple(NO_TIES): Figures._of_ties,
    ("hopeless", "longest", "with judged", "beside judged", "of judged"): Figures._of_judgments,
    ("ranks", "gaps"): Figures._of_ranks,
    ("most exact rank", *(f"shown {name}" for name in OF_AUC)): Figures._of_shown,
    ("seen", "seen relevant"): Figures._of_past,
    tuple(NO_RUNS): Figures._of_stacked,
    ("docs", "alike"): Figures._of_documents,
    ("category separator", "subtopic separator"): Figures._of_texts,
    ("mean", "standard error"): mean_by_score,
    ("shown mean", "shown standard error"): mean_by_order_shown,
}  # fmt: skip
"""The figures that are computed together."""

COMPUTED_BY = {name: compute for names, compute in TOGETHER.items() for name in names}


def together(parts: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    """The figures of all parts of a table."""
    found: dict[str, Any] = {}
    for name in COMPUTED_BY:
        values = [part[name] for part in parts if part[name] == part[name]]
        if name.startswith("the "):  # unknown where parts differ
            found[name] = (
                values[0] if values and values.count(values[0]) == len(values) else math.nan
            )
            continue
        most = name.startswith("most ") or name.endswith(" separator")
        put = min if name.startswith("least ") else max if most else sum
        found[name] = put(values) if values else math.nan
    return found | mean_by_score(found) | mean_by_order_shown(found)


def as_json(figures: Mapping[str, Any]) -> str:
    """All figures of a part of a table as text, for `together` to read them back."""
    values = {name: figures[name] for name in COMPUTED_BY}
    return json.dumps(
        {name: x.item() if isinstance(x, np.generic) else x for name, x in values.items()},
        default=str,
    )


def numbered(rows: pl.DataFrame, names: Sequence[str]) -> NDArray[Any]:
    """A whole number for the values of each row in these columns, equal for equal values."""
    column = rows[names[0]]
    whole = column.dtype.is_integer() and in_numpy(column.dtype) and not column.has_nulls()
    if len(names) > 1 or not whole or not rows.height:
        return rows[list(names)].hash_rows().to_numpy()
    numbers = column.to_numpy()
    least = numbers.min()
    # NumPy sorts short numbers several times faster
    return (
        (numbers - least).astype(np.uint16) if int(numbers.max()) - int(least) < 2**16 else numbers
    )


def in_numpy(dtype: pl.DataType) -> bool:
    """Whether NumPy has numbers of this type."""
    return dtype.is_float() or (dtype.is_integer() and dtype not in (pl.Int128, pl.UInt128))


@lru_cache  # several signs ask
def like(name: str) -> str | None:
    """``rank`` or ``distance`` if the last word of a column's name is one of theirs."""
    word = name.lower().replace(" ", "_").rpartition("_")[2]
    return "rank" if word in RANKS else "distance" if word in DISTANCES else None


def _left_out(
    ranks: NDArray[np.float64], first: NDArray[np.intp], lengths: NDArray[np.intp]
) -> int:
    """The documents of queries whose ranks, which rise in each query, are whole numbers from 1 on,
    some left out.
    """
    whole = np.logical_and.reduceat((ranks == np.floor(ranks)) & (ranks >= 1), first)
    begins = np.ones(len(ranks), dtype=bool)
    np.greater(ranks[1:], ranks[:-1], out=begins[1:])
    begins[first] = True
    different = np.add.reduceat(begins, first, dtype=np.intp)
    gaps = whole & (ranks[first + lengths - 1] > different)
    return int(lengths[gaps].sum())


def _lengths(first: NDArray[np.intp], rows: int) -> NDArray[np.intp]:
    """The lengths of runs of rows that begin at these."""
    lengths = np.empty_like(first)
    np.subtract(first[1:], first[:-1], out=lengths[:-1])
    lengths[-1:] = rows - first[-1:]
    return lengths


def begins_of(sorted: NDArray[Any]) -> NDArray[np.bool_]:
    """Whether each value is the first of its kind."""
    begins = np.ones(len(sorted), dtype=bool)
    np.not_equal(sorted[1:], sorted[:-1], out=begins[1:])
    return begins


def _separator(texts: pl.Series, sample: bool) -> str:
    """The separator that most different texts share; of a sample, that some text holds; empty for
    none.
    """
    if not is_text(texts.dtype):
        return ""
    texts = texts.cast(pl.String)
    if sample:
        return SEPARATORS[0] if texts.str.contains(ANY_SEPARATOR).any() else ""
    texts = texts.drop_nulls().unique()
    shared = (
        x
        for x in SEPARATORS
        if texts.str.contains(x, literal=True).sum() * 2 > len(texts) >= FEWEST_TEXTS
    )
    return next(shared, "")
