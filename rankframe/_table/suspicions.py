"""Signs that a number is not what its user means, each with its advice; `check` lists them, and the number's call warns.

They are signs of the figures of a table, from its scores, labels and ids, which come first.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from typing import Any, TypeAlias

import polars as pl

from .._support.floats import NDArray, np
from ..errors import Code, Text, judge, on, option
from .background import Items
from .columns import Columns
from .roles import DISTANCES, RANKS, is_text
from .run_and_judgments import UNMATCHED
from .setup import Roles, Setup
from .subtopics import documents

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
        score, query = self.score, numbered(self.docs, self.setup.roles.query)
        score = score if _in_numpy(score.dtype) else score.rank("dense")
        values = (score.fill_null(0) if score.has_nulls() else score).to_numpy()
        order = values.argsort()
        order = order[query[order].argsort(kind="stable")]
        begins = _begins(query := query[order])
        n_queries = int(np.count_nonzero(begins))
        if self.retrieved is not None:
            there = self.retrieved[order]
            order, begins = order[there], _begins(query[there])
        return order, begins.nonzero()[0], begins, values[order], n_queries

    def _of_rows(self) -> dict[str, Any]:
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
        n, least, most = len(score) - score.null_count(), score.min(), score.max()
        return {"retrieved": n, "least score": least if n else math.nan, "most score": most if n else math.nan}

    def _of_queries(self) -> dict[str, Any]:
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
        counts = {"queries": n_queries, "retrieving": len(n), "several": np.count_nonzero(n > 1), "ordered": len(auc)}
        variance = ((length + 1) / (12 * pairs)).sum()  # of the AUC of random orders
        return {**counts, "auc": auc.sum(), "squares": (auc**2).sum(), "variance": variance}

    def _of_ranks(self) -> dict[str, Any]:
        """The number of queries whose scores are 1, 2 and so on."""
        order, first, _, _, _ = self.rankings
        wanted = np.arange(1.0, len(order) + 1) - np.repeat(first, np.diff(first, append=len(order)))
        as_ranks = self.score.cast(pl.Float64).to_numpy()[order] == wanted
        ranked = len(order) and not self.setup.policies.ascending
        return {"ranks": np.count_nonzero(np.logical_and.reduceat(as_ranks, first)) if ranked else 0}

    def _of_exact_rank(self) -> dict[str, Any]:
        """The name of a column of ranks that are 1, 2 and so on in the order of each query; empty for none."""
        query, score, rank = [*self.setup.roles.query], pl.col("#score"), pl.col("#rank")
        step = score.diff().over(query).fill_null(0.0) * (-1 if self.setup.policies.ascending else 1)
        exact = (rank == pl.int_range(1, pl.len() + 1).over(query)).fill_null(False) & (step <= 0)
        there = True if self.retrieved is None else pl.Series(self.retrieved)
        for column in self.docs.select(name for name in self.docs.columns if like(name) == "rank"):
            if column.dtype.is_numeric():
                both = [self.score.cast(pl.Float64).alias("#score"), column.cast(pl.Float64).alias("#rank")]
                if self.docs[query].with_columns(both).filter(there).sort(*query, rank).select(exact.all()).item():
                    return {"most exact rank": column.name}
        return {"most exact rank": ""}

    def _of_documents(self) -> dict[str, Any]:
        """The number of documents, and of those that have as many rows as most do, if as many as a list."""
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
    ("most exact rank",): Figures._of_exact_rank,
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


ENOUGH = 20
"""The fewest rows that show more than chance."""

ENOUGH_QUERIES = 10
"""The fewest queries, or documents, that show more than chance."""

LEAST_AUC = 0.4
STANDARD_ERRORS = 4
"""A mean AUC that is lower, and by so many standard errors below 1/2, is no chance: tests/table/test_suspicions.py simulates."""


Found: TypeAlias = Mapping[str, Any]
"""The figures of a table by their names; NaN for the least and the greatest of nothing."""

Sign: TypeAlias = Callable[[Setup, Found], bool]


@dataclass(frozen=True)
class Suspicion:
    """A sign that a number is not what its user means.

    Attributes
    ----------
    problem
        Its name in a check.
    rows
        The figure that a check gives as its number of rows.
    holds
        The sign, from the setup and the figures.
    says
        The sentence, from the setup and the figures.
    warns
        A stronger sign, with which the call of a number warns; ``None`` if only a check lists it.
    reads
        The columns that show it, of those of scores and of labels.
    labels
        Whether it changes only metrics that read labels of documents, not of subtopics.
    role
        The role of a column that metrics must read for it to change them.
    differs
        Two setups, from the present one and the figures: it changes only metrics that have different values under them.
        ``None``: it changes all.
    zero
        Whether it matters only to metrics whose values are all 0.
    """

    problem: str
    rows: str
    holds: Sign
    says: Callable[[Setup, Found], tuple[Text, ...]]
    warns: Sign | None = lambda *_: True
    reads: tuple[str, ...] = ("score", "label")
    labels: bool = True
    role: str | None = None
    differs: Callable[[Setup, Found], tuple[Setup, Setup] | None] = lambda *_: None
    zero: bool = False


def suspicions_of(setup: Setup) -> Sequence[Suspicion]:
    """The suspicions about tables with the setup's columns."""
    return [each for each in SUSPICIONS if each.role is None or getattr(setup.roles, each.role) is not None]


# ------------------------------------------------------------------------------------------------------- the suspicions


@lru_cache  # several signs ask
def like(name: str) -> str | None:
    """``rank`` or ``distance`` if the last word of a column's name is one of theirs."""
    word = name.lower().replace(" ", "_").rpartition("_")[2]
    return "rank" if word in RANKS else "distance" if word in DISTANCES else None


def _rank_like(setup: Setup) -> str | None:
    """``rank`` or ``distance`` if the score's column is called like one, and nobody set which end is the best."""
    return None if setup.policies.ascending or "ascending" in setup.given else like(setup.roles.score)


def _called_rank_like(setup: Setup, found: Found) -> bool:
    kind, name = _rank_like(setup), setup.roles.score.lower()
    least = 1 if name not in (*RANKS, *DISTANCES) and kind == "rank" else 0
    return kind is not None and bool(found["least score"] >= least and found["most score"] > 0)


def _are_ranks(setup: Setup, found: Found) -> bool:
    return "ascending" not in setup.given and found["several"] > 0 and bool(found["ranks"] == found["retrieving"])


def _falling(setup: Setup, found: Found) -> bool:
    clearly = found["mean"] < LEAST_AUC and found["mean"] + STANDARD_ERRORS * found["standard error"] < 0.5
    return found["ordered"] >= ENOUGH_QUERIES and bool(clearly) and not _called_rank_like(setup, found)


def _turned(setup: Setup) -> dict[str, object]:
    """The options that turn the ranking round."""
    if setup.policies.ascending:
        return {"ascending": False}
    if _rank_like(setup) == "rank":
        return {"rank": setup.roles.score}
    return {**({} if setup.roles.score == Roles.score else {"score": setup.roles.score}), "ascending": True}


def _both_ways(setup: Setup, _: Found) -> tuple[Setup, Setup]:
    return setup, setup.changed(ascending=not setup.policies.ascending)


def _all_relevant(setup: Setup, found: Found) -> bool:
    """Whether every row has a score and a label that counts as relevant, as after an inner join with the positives."""
    n = found["rows"]
    return setup.policies.relevant > 0 and n >= ENOUGH and found["both"] == found["relevant"] == n


def _of_grades(setup: Setup, found: Found) -> tuple[Setup, Setup] | None:
    """Graded labels, as of ratings, leave metrics of gain as they are."""
    same = found["least label"] == found["most label"]
    return None if same else (setup, setup.changed(relevant=found["most label"]))


def _of_threshold(setup: Setup, found: Found) -> tuple[Text, ...]:
    relevant, say = option(relevant=setup.policies.relevant), "; say the least label that is relevant, as "
    if setup.policies.relevant <= 0:
        return relevant, f": every judged document counts as relevant, whatever its label{say}", on(relevant=1)
    labels = f"labels go from {found['least label']} to {found['most label']}, so that "
    return labels, relevant, f" counts every judged document{say}", on(relevant=found["most label"])


def _clicks_as_shown(setup: Setup, found: Found) -> bool:
    """Whether labels may be clicks: 0 or 1 for all that was retrieved, falling with the rank in a column of ranks."""
    if setup.roles.propensity is not None or not found["both"] == found["labelled"] == found["rows"]:
        return False
    if found["between"] or (found["least label"], found["most label"]) != (0, 1):
        return False
    clearly = found["mean"] - STANDARD_ERRORS * found["standard error"] > 0.5
    return found["ordered"] >= ENOUGH_QUERIES and bool(clearly) and found["most exact rank"] != ""


def _of_separator(role: str) -> Suspicion:
    name = f"{role} separator"

    def says(setup: Setup, found: Found) -> tuple[Text, ...]:
        column, mark = getattr(setup.roles, role), found[name]
        values = f"most values of column {column!r} hold {mark!r}, and each counts as one {role}"
        return (f"{values}; make lists of them, as .str.split({mark!r}) does",)

    problem, there = f"{role} with separators", lambda _, x: x[name] != ""
    return Suspicion(problem, "rows", there, says, reads=(), labels=False, role=role)


upside_down = partial(Suspicion, labels=False, differs=_both_ways)

SUSPICIONS = (
    Suspicion(
        "nobody judged a document", "rows", lambda _, found: found["rows"] > 0 and found["labelled"] == 0,
        lambda x, found: (
            f"nobody judged a document: column {x.roles.label!r} is null in all {found['rows']:,} rows; join the judgments, ",
            judge(),
        ),
        warns=lambda x, _: x.policies.no_relevant != "null", zero=True,
    ),
    upside_down(
        "scores like ranks", "retrieved", _are_ranks,
        lambda x, _: (
            "the scores of each query are 1, 2 and so on, and the largest comes first; if they are ranks, say ",
            on(rank=x.roles.score),
        ),
        warns=_called_rank_like, reads=("score",),
    ),
    upside_down(
        "scores like distances", "retrieved",
        lambda x, found: _called_rank_like(x, found) and not _are_ranks(x, found),
        lambda x, _: (
            f"by its name, low values of column {x.roles.score!r} are the best, and high ones are ranked first; if low ones "
            "are the best, say ", on(**_turned(x)), ", else ", on(ascending=False),
        ),
        reads=("score",),
    ),
    upside_down(
        "labels fall as scores rise", "retrieved", _falling,
        lambda x, found: (
            f"documents with higher labels stand lower (mean AUC {found['mean auc']} of {found['ordered']:,} queries); if "
            f"{'high' if x.policies.ascending else 'low'} scores are the best, say ", on(**_turned(x)),
        ),
    ),
    Suspicion(
        "all scores equal", "retrieved",
        lambda _, found: (
            found["retrieved"] >= ENOUGH and found["several"] > 0 and found["least score"] == found["most score"]
        ),
        lambda x, _: (
            f"all values of column {x.roles.score!r} are equal, and {x.policies.tie_rule.says}; name the column of "
            "the scores, or count the mean over all orders, ", on(ties="expected"),
        ),
        # without ids, the order of the rows may be the ranking
        warns=lambda x, _: (
            x.roles.doc is not None and x.policies.tie_rule.by_document and x.policies.tie_rule.by_row(documents=False)
        ),
        differs=lambda x, _: (x.changed(ties="best"), x.changed(ties="worst")), reads=("score",),
    ),
    Suspicion(
        "query and document swapped", "rows",
        lambda x, found: (
            len(x.roles.query) == 1 and found["queries"] >= NEARLY_ALL * found["rows"]
            and found["alike"] * 2 >= found["docs"] >= ENOUGH_QUERIES
        ),
        lambda x, _: (
            f"nearly every value of the query column {x.roles.query[0]!r} has one row, and those of {x.roles.doc_name!r} have "
            "several; if they are swapped, say ", on(query=x.roles.doc_name, doc=x.roles.query[0]),
        ),
        labels=False, reads=("score",),
        differs=lambda x, _: (x, x.changed(query=(str(x.roles.doc_name),), doc=x.roles.query[0])),
    ),
    Suspicion(
        "every judged document relevant", "judged",
        lambda x, found: (
            (x.policies.relevant <= 0 and found["judged"] > 0)
            or found["most label"] > found["least label"] >= x.policies.relevant
        ),
        _of_threshold,
        warns=None, reads=("label",),  # as judgments have it that list what is relevant
    ),
    Suspicion(
        "every row relevant", "rows", _all_relevant,
        lambda x, _: (
            f"every row has a score and a label of {x.policies.relevant:g} or more, so that no document can be wrong; if an "
            "inner join made the table, it lost the other documents, which ", judge(), " keeps; if labels are grades, say the "
            "least that is relevant",
        ),
        differs=_of_grades,
    ),
    Suspicion(
        "labels between 0 and 1", "between", lambda x, found: x.policies.relevant == 1 and found["between"] > 0,
        lambda x, _: (
            "labels between 0 and 1 are not relevant under ", option(relevant=x.policies.relevant),
            "; say the least label that is relevant, as ", on(relevant=0.5),
        ),
        warns=lambda x, found: "relevant" not in x.given and found["between"] * 2 > found["positive"],
        differs=lambda x, _: (x, x.changed(relevant=0.5)), reads=("label",),
    ),
    Suspicion(
        "no retrieved document judged", "retrieved",
        lambda _, found: found["both"] == 0 and found["retrieved"] > 0 and found["judged"] > 0,
        lambda *_: (UNMATCHED,), warns=None,  # `judge` warns
    ),
    Suspicion(
        "nothing missed", "retrieved",
        lambda x, found: (
            x.policies.unretrieved != "drop" and found["both"] == found["rows"] > 0 and not _all_relevant(x, found)
        ),
        lambda *_: (
            "every row has a score and a label; if an inner join made the table, it lost the judged documents that were not "
            "retrieved, which ", judge(), " keeps",
        ),
        warns=None,  # as a table for learning to rank has it
    ),
    Suspicion(
        "clicks on the order shown", "rows", _clicks_as_shown,
        lambda _, found: (
            f"labels are 0 and 1, fall with the rank, and column {found['most exact rank']!r} is the order. If they are clicks on "
            "that order, they follow it, and favour rankings like it; estimate how often users see each rank",
            Code("df.rank.propensities(run=...)", phrase=", by {}", command="by rankframe propensities"), ", and say ",
            on(propensity=...),
        ),
        warns=lambda *_: False,  # as a good ranking with binary judgments has it
    ),
    _of_separator("category"),
    _of_separator("subtopic"),
)  # fmt: skip
"""All suspicions; of a rank that is upside down, one holds."""
