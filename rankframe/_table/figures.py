"""The figures of a table's scores, labels and ids, which show whether a number is as meant."""

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
    "tied with other labels": 0,
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
    """The figures of a table, or of whole queries of it, computed with NumPy at the first reading.

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
        self.rows = rows
        self.setup = setup
        self.sample = sample
        self._ranked = ranked

    def __missing__(self, name: str) -> Any:
        compute = COMPUTED_BY[name]
        self.update(compute(self))
        return self[name]

    @cached_property
    def docs(self) -> pl.DataFrame:
        """The rows, one for each document."""
        if self.setup.roles.subtopic is None:
            return self.rows
        columns = Columns(self.setup, self.rows.schema)
        docs = documents(self.rows.lazy(), columns, ordered=False, check=False)
        return docs.collect()

    @cached_property
    def labels(self) -> NDArray[np.float64]:
        """The labels; NaN for none."""
        name = self.setup.roles.label
        if name not in self.docs.columns:
            return np.full(self.docs.height, math.nan)
        labels = self.docs[name]
        if labels.dtype != pl.Float64:
            labels = labels.cast(pl.Float64)
        return labels.to_numpy()

    @property
    def threshold(self) -> float:
        """The least label that is relevant, of judged documents."""
        return max(self.setup.policies.relevant, 0)

    @cached_property
    def score(self) -> pl.Series:
        """The scores in the type in which they are compared, in the caller's direction."""
        score = self.docs[self.setup.roles.score]
        if self.setup.policies.scores == "float32":
            return score.cast(pl.Float32)
        return score

    @cached_property
    def retrieved(self) -> NDArray[np.bool_] | None:
        """Whether each document is retrieved; None if all are."""
        has_score = self.score.is_not_null().to_numpy() if self.score.has_nulls() else None
        if not self.setup.policies.drops_first:
            return has_score
        is_judged: NDArray[np.bool_] = self.labels >= 0
        return is_judged if has_score is None else has_score & is_judged

    @cached_property
    def ranked(self) -> Ranked:
        """The retrieved rows, query by query."""
        if self._ranked is not None:
            return self._ranked
        score = self.score
        if not in_numpy(score.dtype):
            score = score.rank("dense")
        if score.has_nulls():
            score = score.fill_null(0)
        values = score.to_numpy()
        query = numbered(self.docs, self.setup.roles.query)
        one_group = np.zeros(1, dtype=np.int64)
        order = sorted_in_groups(one_group, rising(values))
        order = order[query[order].argsort(kind="stable")]
        query = query[order]
        begins = begins_of(query)
        n_queries = int(np.count_nonzero(begins))
        if self.retrieved is not None:
            is_retrieved = self.retrieved[order]
            order = order[is_retrieved]
            begins = begins_of(query[is_retrieved])
        first = begins.nonzero()[0]
        return Ranked(order, first, values[order], n_queries)

    def _of_rows(self) -> dict[str, Any]:
        labels = self.labels
        n_rows = len(labels)
        is_judged = labels >= 0
        n_judged = np.count_nonzero(is_judged)
        known = labels
        n_labelled = n_judged
        if n_judged < n_rows:
            known = labels[is_judged]
            n_labelled = n_rows - np.count_nonzero(np.isnan(labels))
        n_both = n_judged
        if self.retrieved is not None:
            n_both = np.count_nonzero(self.retrieved & is_judged)
        least, most = _finite_limits(known)
        n_positive = np.count_nonzero(labels > 0)
        return {
            "rows": n_rows,
            "labelled": n_labelled,
            "judged": n_judged,
            "both": n_both,
            "relevant": np.count_nonzero(labels >= self.threshold),
            "between 0 and 1": n_positive - np.count_nonzero(labels >= 1),
            "positive": n_positive,
            "least label": least,
            "most label": most,
        }

    def _of_scores(self) -> dict[str, Any]:
        n = len(self.ranked.row)
        least: Any = math.nan
        most: Any = math.nan
        if n and in_numpy(self.score.dtype):
            values = self.ranked.score
            least = np.fmin.reduce(values).item()
            most = np.fmax.reduce(values).item()
        elif n:
            score = self.score
            if self.retrieved is not None:
                score = score.filter(pl.Series(self.retrieved))
            least = score.min()
            most = score.max()
        return {"retrieved": n, "least score": least, "most score": most}

    def _of_queries(self) -> dict[str, Any]:
        """Counts of queries, and the sums of their AUCs; a check reads infinite labels, too."""
        order, first, _, n_queries = self.ranked
        lengths = _lengths(first, len(order))
        with np.errstate(invalid="ignore"):
            sums = self._aucs(first, lengths)
        return {
            "queries": n_queries,
            "retrieving": len(lengths),
            "several": np.count_nonzero(lengths > 1),
            **sums,
        }

    def _aucs(self, first: NDArray[np.intp], n: NDArray[np.intp]) -> dict[str, Any]:
        """Sums over the queries that have documents above and not above their mean gain."""
        order = self.ranked.row
        gain = np.fmax(self.labels[order], 0)
        place = np.arange(1.0, len(order) + 1)
        if self.tie_groups is not None:  # tied documents share their mean place
            tied, size = self.tie_groups
            mean_place = place[tied] + (size - 1) / 2
            place = np.repeat(mean_place, size)
        mean_gain = np.add.reduceat(gain, first) / n
        is_best = gain > (mean_gain * ABOVE).repeat(n)
        places = np.add.reduceat(is_best * place, first)
        n_best = np.add.reduceat(is_best, first, dtype=float)
        pairs = n_best * (n - n_best)
        both = pairs > 0
        if not both.all():
            places = places[both]
            n_best = n_best[both]
            pairs = pairs[both]
            first = first[both]
            n = n[both]
        least_places = n_best * (first + (n_best + 1) / 2)
        auc = (places - least_places) / pairs
        if self.setup.policies.ascending:
            auc = 1 - auc
        variance = (n + 1) / (12 * pairs)  # of the AUC of random orders
        return {
            "ordered": len(auc),
            "auc": float(auc.sum()),
            "squares": float(auc.dot(auc)),
            "variance": float(variance.sum()),
        }

    @cached_property
    def tie_groups(self) -> tuple[NDArray[np.intp], NDArray[np.intp]] | None:
        """Where documents of one query and score begin among `ranked`, and their number.

        None if no scores are equal.
        """
        _, first, score, _ = self.ranked
        begins = begins_of(score)
        begins[first] = True
        if begins.all():
            return None
        tied = begins.nonzero()[0]
        return tied, _lengths(tied, len(score))

    def _of_ties(self) -> dict[str, Any]:
        """The documents with equal scores.

        All, those of several labels, and those of the value that most of them have.
        """
        if self.tie_groups is None:
            return NO_TIES
        order, _, values, _ = self.ranked
        tied, size = self.tie_groups
        gain = np.fmax(self.labels[order], 0)
        differ = np.maximum.reduceat(gain, tied) > np.minimum.reduceat(gain, tied)
        several = size > 1
        groups = tied[several]
        n_docs = size[several]
        distinct, number = np.unique(values[groups], return_inverse=True)
        docs_of_value = np.bincount(number, weights=n_docs, minlength=len(distinct))
        has_value = number == docs_of_value.argmax()
        example = order[groups[has_value.argmax()]]
        value = self.score[int(example)]
        return {
            "tied": int(n_docs.sum()),
            "tied with other labels": int(size[differ].sum()),
            "the value": math.nan if isinstance(value, bool) else value,
            "of the value": int(n_docs[has_value].sum()),
            "queries of the value": int(np.count_nonzero(has_value)),
        }

    def _of_judgments(self) -> dict[str, Any]:
        """Counts of rankings, and of documents of those with a judged one: the unjudged, and all.

        The rankings are those without a relevant document, as long as the longest, and with a
        judged document.
        """
        order, first, _, _ = self.ranked
        labels = self.labels[order]
        lengths = _lengths(first, len(order))
        has_relevant = np.logical_or.reduceat(labels >= self.threshold, first)
        unjudged = np.add.reduceat(np.isnan(labels), first, dtype=np.intp)
        has_judged = unjudged < lengths
        longest = lengths.max(initial=0)
        return {
            "lists without relevant": len(first) - np.count_nonzero(has_relevant),
            "longest": np.count_nonzero(lengths == longest),
            "judged lists": np.count_nonzero(has_judged),
            "unjudged of judged lists": int(unjudged[has_judged].sum()),
            "docs of judged lists": int(lengths[has_judged].sum()),
        }

    def _of_ranks(self) -> dict[str, Any]:
        """The number of queries whose scores are 1, 2 and so on.

        Of ranks, the documents of queries that leave numbers out.
        """
        order, first, _, _ = self.ranked
        if not len(order):
            return {"ranks": 0, "gaps": 0}
        values = self.score.cast(pl.Float64).to_numpy()[order]
        lengths = _lengths(first, len(order))
        if self.setup.policies.ascending:
            return {"ranks": 0, "gaps": _left_out(values, first, lengths)}
        before = first.repeat(lengths)
        ranks = np.arange(1.0, len(order) + 1) - before
        are_ranks = np.logical_and.reduceat(values == ranks, first)
        return {"ranks": np.count_nonzero(are_ranks), "gaps": 0}

    def _of_shown(self) -> dict[str, Any]:
        """The name of a column of ranks that are 1, 2 and so on in each query; empty for none.

        With it the AUCs of its order. The order shown is that column's own, whatever score is
        evaluated.
        """
        names = [name for name in self.docs.columns if like(name) == "rank"]
        for name in names:
            if self._are_exact_ranks(self.docs[name]):
                setup = self.setup.changed(score=name, ascending=True, subtopic=None)
                by_rank = Figures(self.docs, setup)
                sums = {f"shown {figure}": by_rank[figure] for figure in OF_AUC}
                return {"most exact rank": name, **sums}
        return {"most exact rank": "", **{f"shown {figure}": 0 for figure in OF_AUC}}

    def _are_exact_ranks(self, column: pl.Series) -> bool:
        if not column.dtype.is_numeric():
            return False
        query = [*self.setup.roles.query]
        rank = pl.col("#rank")
        values = column.cast(pl.Float64).alias("#rank")
        ranks = self.docs[query].with_columns(values).sort(*query, rank)
        place = pl.int_range(1, pl.len() + 1).over(query)
        are_exact: bool = ranks.select((rank == place).fill_null(False).all()).item()
        return are_exact

    def _of_past(self) -> dict[str, Any]:
        """The retrieved items that their user already had, and the relevant ones."""
        past = self.setup.background.interactions
        roles = self.setup.roles
        doc = roles.doc_in(self.docs.columns)
        none = {"seen": 0, "seen relevant": 0}
        if not isinstance(past, Interactions) or doc is None:
            return none
        try:
            history = past.named(roles.query, doc)
        except RankframeError:  # a metric that reads interactions refuses them
            return none
        is_seen = in_past(self.docs, history)
        is_relevant = self.labels >= self.threshold
        n_relevant = np.count_nonzero(is_seen & is_relevant)
        if self.retrieved is not None:
            is_seen = is_seen & self.retrieved
        return {"seen": np.count_nonzero(is_seen), "seen relevant": n_relevant}

    def _of_stacked(self) -> dict[str, Any]:
        return stacked_runs(self.rows, self.setup)

    def _of_documents(self) -> dict[str, Any]:
        """The number of documents, and of those with as many rows as most, if as many as a list."""
        doc = self.setup.roles.doc_name
        if doc is None or self["queries"] < NEARLY_ALL * self["rows"]:  # false of few tables
            return {"docs": 0, "alike": 0}
        _, sizes = np.unique(numbered(self.docs, [doc]), return_counts=True)
        long = sizes[sizes >= SHORTEST_LIST]
        _, n_alike = np.unique(long, return_counts=True)
        return {"docs": len(sizes), "alike": n_alike.max(initial=0)}

    def _of_texts(self) -> dict[str, Any]:
        roles = self.setup.roles
        return {
            "category separator": self._separator(roles.category),
            "subtopic separator": self._separator(roles.subtopic),
        }

    def _separator(self, name: str | None) -> str:
        if name is None:
            return ""
        background = self.setup.background
        items = background.items
        if not isinstance(items, Items) or not background.has(name):
            return _separator(self.rows[name], self.sample)
        compute = partial(_separator, items.frame[name], self.sample)
        return items.once(("separator", name, self.sample), compute)


def _finite_limits(labels: NDArray[np.float64]) -> tuple[float, float]:
    """The least and the largest label that is finite; NaN where there is none."""
    largest = labels.max(initial=-math.inf)
    if largest == math.inf:
        labels = labels[np.isfinite(labels)]
        largest = labels.max(initial=-math.inf)
    if not len(labels):
        return math.nan, math.nan
    return float(labels.min()), float(largest)


def mean_by_score(figures: Mapping[str, Any]) -> dict[str, float]:
    """The mean AUC of the queries by the score, with its standard error."""
    mean, error = _mean_and_error(*[figures[name] for name in OF_AUC])
    return {"mean": mean, "standard error": error}


def mean_by_order_shown(figures: Mapping[str, Any]) -> dict[str, float]:
    """The mean AUC of the queries by the order shown, with its standard error."""
    mean, error = _mean_and_error(*[figures[f"shown {name}"] for name in OF_AUC])
    return {"shown mean": mean, "shown standard error": error}


def _mean_and_error(n: int, total: float, squares: float, variance: float) -> tuple[float, float]:
    """The mean of AUCs and its standard error, at least that of random orders."""
    mean = total / n if n else math.nan
    if n > 1:
        deviations = max(squares - n * mean**2, 0)
        variance = max(deviations * n / (n - 1), variance)
    return mean, math.sqrt(max(0, variance)) / max(n, 1)


def in_past(rows: pl.DataFrame, past: History) -> NDArray[np.bool_]:
    """Whether the user of each row already had its item.

    Nobody did if only counts of items are known.
    """
    is_seen = np.zeros(rows.height, dtype=bool)
    key = [*past.key, past.doc]
    types = _types_in_common(rows.schema, past.pairs.schema, key)
    if types is None or not past.key:
        return is_seen
    pairs = _of_types(past.pairs.select(key), types)
    ids = _of_types(rows.select(key), types)
    if pairs.height > MANY_PAIRS and len(past.key) == 1:  # few of their users are in a sample
        user = past.key[0]
        users = ids[user].unique().implode()
        pairs = pairs.filter(pl.col(user).is_in(users, nulls_equal=True))
    numbered_ids = ids.with_row_index("#row")
    seen = numbered_ids.join(pairs, on=key, how="semi", nulls_equal=True)
    is_seen[seen["#row"].to_numpy()] = True
    return is_seen


def _types_in_common(
    one: pl.Schema, other: pl.Schema, key: Sequence[str]
) -> dict[str, pl.DataType] | None:
    """The types in which the columns of two tables are compared; None if they cannot be equal."""
    types = {}
    for name in key:
        types[name] = common_type(one[name], other[name])
        if types[name] != common_type(other[name], one[name]):
            return None
    return types


def _of_types(ids: pl.DataFrame, types: Mapping[str, pl.DataType]) -> pl.DataFrame:
    """The ids in types in which those of another table are compared."""
    if all(ids.schema[name] == kind for name, kind in types.items()):
        return ids
    return ids.select(pl.col(name).cast(kind) for name, kind in types.items())


def stacked_runs(rows: pl.DataFrame, setup: Setup) -> dict[str, Any]:
    """The column with a usual name for runs that has every query in each run, and their number."""
    query = [*setup.roles.query]
    for name in usual_runs(rows.columns, setup):
        n_runs = rows[name].n_unique()
        if n_runs < 2:
            continue
        n_queries = rows.select(query).n_unique()
        n_pairs = rows.select(*query, name).n_unique()
        if n_pairs == n_runs * n_queries:
            return {"most stacked": name, "most runs": n_runs}
    return NO_RUNS


def usual_runs(names: Sequence[str], setup: Setup) -> list[str]:
    """The columns with a usual name for runs, if no document tells the rows of a query apart."""
    roles = setup.roles
    if roles.doc_in(names) is not None or roles.subtopic is not None:
        return []
    usual = USUAL_NAMES["run"]
    with_role = roles.names
    return [name for name in names if name.lower() in usual and name not in with_role]


TOGETHER: Mapping[tuple[str, ...], Callable[[Figures], dict[str, Any]]] = {
    (
        "rows", "labelled", "judged", "both", "relevant", "between 0 and 1", "positive",
        "least label", "most label",
    ): Figures._of_rows,
    ("retrieved", "least score", "most score"): Figures._of_scores,
    ("queries", "retrieving", "several", *OF_AUC): Figures._of_queries,
    tuple(NO_TIES): Figures._of_ties,
    (
        "lists without relevant", "longest", "judged lists", "unjudged of judged lists",
        "docs of judged lists",
    ): Figures._of_judgments,
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
    figures: dict[str, Any] = {}
    for name in COMPUTED_BY:
        known = [part[name] for part in parts if part[name] == part[name]]
        figures[name] = _of_parts(name, known) if known else math.nan
    return figures | mean_by_score(figures) | mean_by_order_shown(figures)


def _of_parts(name: str, values: Sequence[Any]) -> Any:
    """A figure of a table from those of its parts, as its name says."""
    if name.startswith("the "):  # unknown where parts differ
        return values[0] if values.count(values[0]) == len(values) else math.nan
    if name.startswith("least "):
        return min(values)
    if name.startswith("most ") or name.endswith(" separator"):
        return max(values)
    return sum(values)


def as_json(figures: Mapping[str, Any]) -> str:
    """All figures of a part of a table as text, for `together` to read them back."""
    values = {name: _plain(figures[name]) for name in COMPUTED_BY}
    return json.dumps(values, default=str)


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def numbered(rows: pl.DataFrame, names: Sequence[str]) -> NDArray[Any]:
    """A whole number for the values of each row in these columns, equal for equal values."""
    column = rows[names[0]]
    is_whole = column.dtype.is_integer() and in_numpy(column.dtype)
    if len(names) > 1 or not is_whole or column.has_nulls() or not rows.height:
        return rows[list(names)].hash_rows().to_numpy()
    numbers = column.to_numpy()
    least = numbers.min()
    spread = int(numbers.max()) - int(least)
    if spread >= 2**16:
        return numbers
    # NumPy sorts short numbers several times faster
    short: NDArray[np.uint16] = (numbers - least).astype(np.uint16)
    return short


def in_numpy(dtype: pl.DataType) -> bool:
    """Whether NumPy has numbers of this type."""
    return dtype.is_float() or (dtype.is_integer() and dtype not in (pl.Int128, pl.UInt128))


@lru_cache  # several signs ask
def like(name: str) -> str | None:
    """``rank`` or ``distance`` if the last word of a column's name is one of theirs."""
    words = name.lower().replace(" ", "_")
    last = words.rpartition("_")[2]
    if last in RANKS:
        return "rank"
    return "distance" if last in DISTANCES else None


def _left_out(
    ranks: NDArray[np.float64], first: NDArray[np.intp], lengths: NDArray[np.intp]
) -> int:
    """The documents of queries whose ranks are whole numbers from 1 on, some left out.

    Ranks rise in each query.
    """
    is_whole = (ranks == np.floor(ranks)) & (ranks >= 1)
    all_whole = np.logical_and.reduceat(is_whole, first)
    begins = np.ones(len(ranks), dtype=bool)
    np.greater(ranks[1:], ranks[:-1], out=begins[1:])
    begins[first] = True
    n_different = np.add.reduceat(begins, first, dtype=np.intp)
    last = ranks[first + lengths - 1]
    has_gaps = all_whole & (last > n_different)
    return int(lengths[has_gaps].sum())


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
    """The separator that most different texts share; of a sample, that some text holds.

    Empty for none.
    """
    if not is_text(texts.dtype):
        return ""
    texts = texts.cast(pl.String)
    if sample:
        has_separator = texts.str.contains(ANY_SEPARATOR)
        return SEPARATORS[0] if has_separator.any() else ""
    texts = texts.drop_nulls().unique()
    if len(texts) < FEWEST_TEXTS:
        return ""
    for separator in SEPARATORS:
        n_with = texts.str.contains(separator, literal=True).sum()
        if n_with * 2 > len(texts):
            return separator
    return ""
