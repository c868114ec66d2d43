"""Signs that a number is not what its user means, each with its advice: `check` lists them, and the
number's call warns.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_DOWN, Context
from functools import partial
from typing import Any, NamedTuple, TypeAlias

import polars as pl

from ..errors import Code, Text, judge, on, option
from .background import Interactions
from .figures import NEARLY_ALL, in_past, like
from .roles import DISTANCES, RANKS
from .run_and_judgments import UNMATCHED
from .setup import JOINED, Roles, Setup

ENOUGH = 20
"""The fewest rows that show more than chance."""

ENOUGH_QUERIES = 10
"""The fewest queries, or documents, that show more than chance."""

LEAST_AUC = 0.4
STANDARD_ERRORS = 4
"""A mean AUC that is lower, and by so many standard errors below 1/2, is no chance:
tests/rankers/test_suspicions.py simulates."""


A_TENTH = 0.1
"""The least share of documents that changes means by more than a rounding."""

LEAST_SEEN = 0.02
"""The least share of recommended items that the users had before that is no accident."""

A_DIFFERENCE = 0.02
"""The least difference of means that changes what people conclude."""

LEAST_RATING = 5
"""The least label at the top of a scale of ratings, which starts at 1; the scale of relevance ends
below, and starts at 0."""

CLICKS = ("click", "clicks", "clicked", "is_click", "is_clicked")
"""Usual names of labels that are clicks."""

Found: TypeAlias = Mapping[str, Any]
"""The figures of a table by their names; NaN for the least and the greatest of nothing."""

Sign: TypeAlias = Callable[[Setup, Found], bool]


class Reading(NamedTuple):
    """Rows and the setup under which they are read."""

    rows: pl.DataFrame
    setup: Setup


@dataclass(frozen=True)
class Finding:
    """A sign that a number is not what its user means.

    Attributes
    ----------
    name
        Its problem in a check.
    rows
        The figure that a check gives as its number of rows.
    holds
        The sign, from the setup and the figures.
    says
        The sentence, from the setup and the figures; of a number's own call, also from ``metric``,
        ``low``, ``high`` and ``among``: the metric that it concerns, its means under the two
        readings of `differs`, and of which queries.
    warns
        A stronger sign, with which the call of a number warns; ``None`` if only a check lists it.
    stops
        Whether a gate raises an error, as nothing was measured.
    reads
        The columns that show it, of those of scores and of labels.
    labels
        Whether it changes only metrics that read labels of documents, not of subtopics.
    role
        The role of a column that metrics must read for it to change them.
    differs
        Two readings of a table, from the present one and the figures: it changes only metrics that
        have different values under them. ``None``: it changes all.
    by
        How much the means must differ; 0 for any difference of any query.
    nothing
        Whether it matters only to metrics that have the value of a query without relevant documents
        everywhere.
    """

    name: str
    rows: str
    holds: Sign
    says: Callable[[Setup, Found], tuple[Text, ...]]
    warns: Sign | None = lambda *_: True
    stops: bool = False
    reads: tuple[str, ...] = ("score", "label")
    labels: bool = True
    role: str | None = None
    differs: Callable[[Reading, Found], tuple[Reading, Reading] | None] = lambda *_: None
    by: float = 0
    nothing: bool = False

    def warns_of(self, setup: Setup, found: Found) -> bool:
        """Whether the call of a number warns, if it changes a metric."""
        return self.warns is not None and self.holds(setup, found) and self.warns(setup, found)


def findings_of(setup: Setup) -> Sequence[Finding]:
    """The findings about tables with the setup's columns."""
    roles = setup.roles
    return [x for x in FINDINGS if x.role is None or getattr(roles, x.role) is not None]


def _share(part: float, of: float) -> str:
    """A share in percent, as text."""
    return f"{100 * part / of:.3g}%"


# -------------------------------------------------------------------------------------------------
# the direction of scores


def _rank_like(setup: Setup) -> str | None:
    """``rank`` or ``distance`` if the score's column is called like one, and nobody set which end
    is the best.
    """
    return (
        None if setup.policies.ascending or "ascending" in setup.given else like(setup.roles.score)
    )


def _called_rank_like(setup: Setup, found: Found) -> bool:
    kind, name = _rank_like(setup), setup.roles.score.lower()
    least = 1 if name not in (*RANKS, *DISTANCES) and kind == "rank" else 0
    return kind is not None and bool(found["least score"] >= least and found["most score"] > 0)


def _are_ranks(setup: Setup, found: Found) -> bool:
    if "ascending" in setup.given or found["least score"] != 1 or found["several"] == 0:
        return False
    return bool(found["ranks"] == found["retrieving"])


def _are_ranks_downward(setup: Setup, found: Found) -> bool:
    """Whether scores are 1, 2 and so on, and neither another name nor labels that rise with them
    show that they are points.
    """
    return _are_ranks(setup, found) and (_called_rank_like(setup, found) or not found["mean"] > 0.5)


def _falling(setup: Setup, found: Found) -> bool:
    clearly = (
        found["mean"] < LEAST_AUC
        and found["mean"] + STANDARD_ERRORS * found["standard error"] < 0.5
    )
    return (
        found["ordered"] >= ENOUGH_QUERIES and bool(clearly) and not _called_rank_like(setup, found)
    )


def _turned(setup: Setup) -> dict[str, object]:
    """The options that turn the ranking round."""
    if setup.policies.ascending:
        return {"ascending": False}
    if _rank_like(setup) == "rank":
        return {"rank": setup.roles.score}
    return {
        **({} if setup.roles.score == Roles.score else {"score": setup.roles.score}),
        "ascending": True,
    }


def _under(**policies: Any) -> Callable[[Reading, Found], tuple[Reading, Reading]]:
    """The present reading, and that under other policies."""
    return lambda x, _: (x, Reading(x.rows, x.setup.changed(**policies)))


def _both_ways(x: Reading, _: Found) -> tuple[Reading, Reading]:
    return x, Reading(x.rows, x.setup.changed(ascending=not x.setup.policies.ascending))


# --------------------------------------------------------------------------------------------------
# ----------- equal scores


def _decided_by_chance(setup: Setup, found: Found) -> bool:
    """Whether some scores are equal, and a rule for ties that nobody named decides by ids or by the
    order of the rows.
    """
    if not found["apart"] or found["apart"] < A_TENTH * found["retrieved"]:
        return False
    enough = found["retrieved"] >= ENOUGH and found["retrieving"] >= ENOUGH_QUERIES
    if not enough or "ties" in setup.given or setup.convention is not None:
        return False
    return setup.policies.tie_rule.by_row(documents=False) and bool(
        found["least score"] < found["most score"]
    )


def _is_filled(setup: Setup, found: Found) -> bool:
    """Whether 0, or the worst score, stands for null: many documents of most queries have it, and
    others are not tied.
    """
    worst = found["most score" if setup.policies.ascending else "least score"]
    if not _decided_by_chance(setup, found) or found["the value"] not in (0, worst):
        return False
    n, filled = found["retrieved"], found["of the value"]
    others = found["tied"] - filled
    return bool(
        found["queries of the value"] * 2 > found["retrieving"] and others <= A_TENTH * (n - filled)
    )


def _without_filled(x: Reading, found: Found) -> tuple[Reading, Reading]:
    score = pl.col(x.setup.roles.score)
    return x, Reading(
        x.rows.with_columns(pl.when(score != found["the value"]).then(score)), x.setup
    )


def _best_and_worst(x: Reading, _: Found) -> tuple[Reading, Reading]:
    return Reading(x.rows, x.setup.changed(ties="worst")), Reading(
        x.rows, x.setup.changed(ties="best")
    )


def _of_ties(setup: Setup, found: Found) -> tuple[Text, ...]:
    tied = (
        f"{_share(found['apart'], found['retrieved'])} of documents are tied with one of another "
        "label"
    )
    advice: tuple[Text, ...] = "; the mean over all orders is that of ", on(ties="expected")
    if setup.policies.depth is not None:  # which cuts off some orders
        advice = "; say how they stand, as ", on(ties="worst")
    if "metric" not in found:
        return f"{tied}, and {setup.policies.tie_rule.says}", *advice
    low, high = found["low"], found["high"]
    between = (
        f"{found['metric']}{found['among']} is between {low:.2f} and {high:.2f} by their order"
    )
    return f"{tied}: {between}", *advice


# --------------------------------------------------------------------------------------------------
# ----------------- labels


def _threshold_leaves_out(setup: Setup, found: Found) -> bool:
    """Whether most labels above 0 are between 0 and 1, below a threshold that nobody named, and 1/2
    would be a threshold.
    """
    most = found["between"] * 2 > found["positive"] and found["most label"] >= 0.5
    return setup.policies.relevant == 1 and "relevant" not in setup.given and bool(most)


def _none_relevant(setup: Setup, found: Found) -> bool:
    """Whether no label reaches the threshold; a few rows may well have low labels alone."""
    none = found["relevant"] == 0 and found["labelled"] > 0
    return none and found["rows"] >= ENOUGH and not _threshold_leaves_out(setup, found)


def _below_threshold(setup: Setup, found: Found) -> tuple[Text, ...]:
    none, most = "no document of any query is relevant: ", found["most label"]
    if not most > 0:
        return (f"{none}no label is above 0",)
    labels = f"{none}labels go from {found['least label']:.3g} to {most:.3g} and "
    say = "; say the least label that is relevant, as "
    # of shares, the greatest alone would be relevant; the half of it is what 0.5 is of labels up to
    # 1
    least = _reached(most / 2 if most < 1 else most)
    return labels, option(relevant=setup.policies.relevant), say, on(relevant=least)


def _reached(label: float) -> float:
    """A short number of at most this label, as a threshold that some labels reach."""
    short = float(Context(prec=2, rounding=ROUND_DOWN).create_decimal(repr(float(label))))
    return int(short) if short.is_integer() else short


def _of_ratings(setup: Setup, found: Found) -> bool:
    """Whether all judged documents are relevant, of which the labels may be ratings."""
    if setup.policies.relevant <= 0:
        return bool(found["judged"] > 0)
    rated = found["most label"] >= LEAST_RATING and found["most label"] > found["least label"]
    return "relevant" not in setup.given and bool(
        rated and found["least label"] >= setup.policies.relevant
    )


def _missed_are_lost(setup: Setup, found: Found) -> bool:
    """Whether documents without a label are there and none without a score, as after a left join,
    or a cut after a join.
    """
    n = found["rows"]
    if n < ENOUGH or found["retrieved"] < n or found["with judged"] < ENOUGH_QUERIES:
        return False
    beside = found["beside judged"] >= A_TENTH * found["of judged"]
    if found["relevant"] == 0 or not beside or _is_filled(setup, found):
        return False
    if setup.roles.stratum is not None or setup.roles.inclusion is not None:
        return False  # labels are a sample
    # a run is as long for most queries; a fusion of several is not, and may well have missed
    # nothing
    of_a_run = found["longest"] * 2 > found["queries"]
    # of judgments that list only what is relevant, a join loses all of some queries
    lost = found["judged"] > found["relevant"] or found["hopeless"] >= A_TENTH * found["queries"]
    return bool(of_a_run and lost)


def _with_missed(x: Reading, found: Found) -> tuple[Reading, Reading]:
    """The table, and with another relevant document of each query that was not retrieved."""
    roles = x.setup.roles
    missed = x.rows.unique(list(roles.query), keep="first", maintain_order=True)
    changed = {
        roles.score: None,
        roles.label: found["most label"],
        **({} if roles.doc_name is None else {roles.doc_name: None}),
    }
    changed = {
        name: pl.lit(value).cast(x.rows.schema[name])
        for name, value in changed.items()
        if name in x.rows.columns
    }
    return x, Reading(pl.concat([x.rows, missed.with_columns(**changed)]), x.setup)


def _all_relevant(setup: Setup, found: Found) -> bool:
    """Whether every row has a score and a label that counts as relevant, as after an inner join
    with the positives.
    """
    n = found["rows"]
    return setup.policies.relevant > 0 and n >= ENOUGH and found["both"] == found["relevant"] == n


def _of_grades(x: Reading, found: Found) -> tuple[Reading, Reading] | None:
    """Graded labels, as of ratings, leave metrics of gain as they are."""
    same = found["least label"] == found["most label"]
    return None if same else _under(relevant=found["most label"])(x, found)


def _of_threshold(setup: Setup, found: Found) -> tuple[Text, ...]:
    relevant, say = (
        option(relevant=setup.policies.relevant),
        "; say the least label that is relevant, as ",
    )
    if setup.policies.relevant <= 0:
        return (
            relevant,
            f": every judged document counts as relevant, whatever its label{say}",
            on(relevant=1),
        )
    labels = f"labels go from {found['least label']} to {found['most label']}, so that "
    return labels, relevant, f" counts every judged document{say}", on(relevant=found["most label"])


def _of_every_row(setup: Setup, found: Found) -> tuple[Text, ...]:
    relevant = setup.policies.relevant
    says = (
        f"every row has a score and a label of {relevant:g} or more, so that no document can be "
        "wrong"
    )
    if LEAST_RATING <= found["most label"] > found["least label"]:
        return f"{says}; if labels are ratings, say the least that is relevant, as ", on(
            relevant=_reached(found["most label"])
        )
    return f"{says}, as after an inner join; ", judge(), " keeps the other documents"


def _leave_out(setup: Setup, found: Found) -> bool:
    """Whether ranks, of which nobody said how they count, leave numbers out."""
    unsaid = "rank" in setup.given and "ranks" not in setup.given and setup.convention is None
    return unsaid and found["gaps"] > 0


def _called_clicks(setup: Setup) -> bool:
    return setup.roles.label.lower() in CLICKS


def _clicks_as_shown(setup: Setup, found: Found) -> bool:
    """Whether labels may be clicks: 0 or 1 in all rows, falling with the rank in a column of ranks,
    whatever the score is.
    """
    if setup.roles.propensity is not None or found["labelled"] != found["rows"]:
        return False
    shown = found["most exact rank"]
    if found["between"] or (found["least label"], found["most label"]) != (0, 1) or shown == "":
        return False
    if shown == setup.roles.score and not _called_clicks(setup):
        return False  # as good ranks with judgments are
    clearly = found["shown mean"] - STANDARD_ERRORS * found["shown standard error"] > 0.5
    return bool(clearly and found["shown ordered"] >= ENOUGH_QUERIES)


# --------------------------------------------------------------------------------------------------
# --- runs, users and items


def _stacked(setup: Setup, found: Found) -> bool:
    """Whether the queries of a column of runs are enough to tell of."""
    return bool(found["most stacked"] != "" and found["queries"] >= ENOUGH_QUERIES)


def _already_had(setup: Setup, found: Found) -> bool:
    """Whether users get items that they had, and none of these is relevant, as where people buy or
    listen again.
    """
    enough = (
        found["retrieved"] >= ENOUGH
        and found["retrieving"] >= ENOUGH_QUERIES
        and found["relevant"] > 0
    )
    return bool(
        enough and found["seen"] >= LEAST_SEEN * found["retrieved"] and found["seen relevant"] == 0
    )


def _without_seen(x: Reading, _: Found) -> tuple[Reading, Reading]:
    """The present reading, and that without the items that users had."""
    roles = x.setup.roles
    past = x.setup.background.interactions
    if not isinstance(past, Interactions) or roles.doc_name is None:
        return x, x
    seen = in_past(x.rows, past.named(roles.query, roles.doc_name))
    return x, Reading(x.rows.filter(~pl.Series(seen)), x.setup)


def _swapped(x: Reading, _: Found) -> tuple[Reading, Reading]:
    roles = x.setup.roles
    return x, Reading(x.rows, x.setup.changed(query=(str(roles.doc_name),), doc=roles.query[0]))


def _of_separator(role: str) -> Finding:
    name = f"{role} separator"

    def says(setup: Setup, found: Found) -> tuple[Text, ...]:
        column, mark = getattr(setup.roles, role), found[name]
        values = f"most values of column {column!r} hold {mark!r}, and each counts as one {role}"
        return (f"{values}; make lists of them, as .str.split({mark!r}) does",)

    problem, there = f"{role} with separators", lambda _, x: x[name] != ""
    return Finding(problem, "rows", there, says, reads=(), labels=False, role=role)


upside_down = partial(Finding, labels=False, differs=_both_ways)

FINDINGS = (
    Finding(
        "nobody judged a document", "rows", lambda _, found: found["rows"] > 0 and found["labelled"] == 0,
        lambda x, found: (
            f"nobody judged a document: column {x.roles.label!r} is null in all " f"{found['rows']:,} rows; join the judgments, ",
            judge(),
        ),
        warns=lambda x, _: x.policies.no_relevant != "null", stops=True, nothing=True,
    ),
    upside_down(
        "scores like ranks", "retrieved", _are_ranks_downward,
        lambda x, _: (
            "the scores of each query are 1, 2 and so on, and the largest comes first; if " "they are ranks, say ",
            on(rank=x.roles.score),
        ),
        warns=_called_rank_like, reads=("score",),
    ),
    upside_down(
        "scores like distances", "retrieved",
        lambda x, found: _called_rank_like(x, found) and not _are_ranks(x, found),
        lambda x, _: (
            f"by its name, low values of column {x.roles.score!r} are the best, and high ones " "are ranked first; if low ones "
            "are the best, say ", on(**_turned(x)), ", else ", on(ascending=False),
        ),
        reads=("score",),
    ),
    upside_down(
        "labels fall as scores rise", "retrieved", _falling,
        lambda x, found: (
            f"documents with higher labels stand lower (mean AUC {found['mean']:.2f} of " f"{found['ordered']:,} queries); if "
            f"{'high' if x.policies.ascending else 'low'} scores are the best, say ", on(**_turned(x)),
        ),
    ),
    Finding(
        "all scores equal", "retrieved",
        lambda _, found: (
            found["retrieved"] >= ENOUGH and found["several"] > 0 and found["least score"] == found["most score"]
        ),
        lambda x, _: (
            f"all values of column {x.roles.score!r} are equal, and " f"{x.policies.tie_rule.says}; name the column of "
            "the scores, or count the mean over all orders, ", on(ties="expected"),
        ),
        # without ids, the order of the rows may be the ranking
        warns=lambda x, _: (
            x.roles.doc is not None and x.policies.tie_rule.by_document and x.policies.tie_rule.by_row(documents=False)
        ),
        differs=_best_and_worst, reads=("score",),
    ),
    Finding(
        "one score for many", "of the value", _is_filled,
        lambda x, found: (
            f"{_share(found['of the value'], found['retrieved'])} of values of column " f"{x.roles.score!r} are "
            f"{found['the value']:g}: null means not retrieved; if these documents were " "retrieved, count the mean over all "
            "their orders, ", on(ties="expected"),
        ),
        differs=_without_filled, by=A_DIFFERENCE,
    ),
    Finding(
        "tied scores", "apart", lambda x, found: _decided_by_chance(x, found) and not _is_filled(x, found), _of_ties,
        differs=_best_and_worst, by=A_DIFFERENCE,
    ),
    Finding(
        "query and document swapped", "rows",
        lambda x, found: (
            len(x.roles.query) == 1 and found["queries"] >= NEARLY_ALL * found["rows"]
            and found["alike"] * 2 >= found["docs"] >= ENOUGH
        ),
        lambda x, _: (
            f"nearly every value of the query column {x.roles.query[0]!r} has one row, and " f"those of {x.roles.doc_name!r} have "
            "several; if they are swapped, say ", on(query=x.roles.doc_name, doc=x.roles.query[0]),
        ),
        labels=False, reads=("score",),
        differs=_swapped,
    ),
    Finding(
        "no relevant document", "rows", _none_relevant, _below_threshold,
        warns=lambda x, _: x.policies.no_relevant != "null", stops=True, reads=("label",), nothing=True,
    ),
    Finding(
        "every judged document relevant", "judged", _of_ratings, _of_threshold,
        warns=None, reads=("label",),  # as judgments have it that list what is relevant
    ),
    Finding(
        "every row relevant", "rows", _all_relevant,
        _of_every_row,
        differs=_of_grades,
    ),
    Finding(
        "labels between 0 and 1", "between", _threshold_leaves_out,
        lambda x, _: (
            "labels between 0 and 1 are not relevant under ", option(relevant=x.policies.relevant),
            "; say the least label that is relevant, as ", on(relevant=0.5),
        ),
        differs=_under(relevant=0.5), reads=("label",),
    ),
    Finding(
        "no retrieved document judged", "retrieved",
        lambda _, found: found["both"] == 0 and found["retrieved"] > 0 and found["judged"] > 0,
        lambda *_: (UNMATCHED,), warns=None,  # `judge` warns
    ),
    Finding(
        "missed documents lost", "rows", _missed_are_lost,
        lambda _, found: (
            f"{_share(found['beside judged'], found['of judged'])} of labels are null and no " "row lacks a score, as after a left "
            "join or a later cut: recall is 1 by construction; cut the run first, and join " "by ", judge(),
        ),
        # where nothing was missed, as of judgments of this run alone, a join by rankframe or the
        # policy says so
        warns=lambda x, _: x.given.isdisjoint({JOINED, "unretrieved"}) and x.policies.unretrieved != "drop",
        differs=_with_missed,
    ),
    Finding(
        "clicks on the order shown", "rows", _clicks_as_shown,
        lambda _, found: (
            f"labels are 0 and 1, fall with the rank, and column {found['most exact rank']!r} " "is the order: clicks on it favour "
            "rankings like it; say how often users see each rank, ", on(propensity=...),
        ),
        # a good ranking with binary judgments looks the same, but for their name
        warns=lambda x, _: _called_clicks(x),
    ),
    Finding(
        "gaps in ranks", "gaps", _leave_out,
        lambda x, _: (
            f"ranks of column {x.roles.score!r} leave numbers out, and only their order " "counts; if each counts as it is "
            "given, say ", on(rank=x.roles.score, ranks="as_given"),
        ),
        differs=_under(ranks="as_given"), reads=("score",),
    ),
    Finding(
        "runs stacked", "rows", _stacked,
        lambda x, found: (
            f"column {found['most stacked']!r} holds {found['most runs']:,} runs of every " "query, which are ranked as one; say ",
            option(run=found["most stacked"]), " where runs are compared, else ",
            on(query=[found["most stacked"], *x.roles.query]),
        ),
        labels=False, reads=("score",),
    ),
    Finding(
        "items seen before", "seen", _already_had,
        lambda x, found: (
            f"{_share(found['seen'], found['retrieved'])} of recommended items are in the " "user's past, and none of them is "
            "relevant; leave them out",
            # functions of `rf` have no frame to call it on
            Code("df.rank.items.without(train)", phrase=", {}", function=""),
        ),
        differs=_without_seen,
    ),
    _of_separator("category"),
    _of_separator("subtopic"),
)  # fmt: skip
"""All findings on whole tables; of a rank that is upside down, and of equal scores, one holds."""
