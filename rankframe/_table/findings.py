"""Signs that a number is not what its user means: `check` lists them, the number's call warns."""

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
from .ties import TieRule

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

FiguresByName: TypeAlias = Mapping[str, Any]
"""The figures of a table by their names; NaN for the least and the greatest of nothing."""

SAY_LEAST = "; say the least label that is relevant, as "

Sign: TypeAlias = Callable[[Setup, FiguresByName], bool]


class Reading(NamedTuple):
    """Rows and the setup under which they are read."""

    rows: pl.DataFrame
    setup: Setup

    def under(self, **values: Any) -> Reading:
        """The same rows under a changed setup."""
        return Reading(self.rows, self.setup.changed(**values))


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
    says: Callable[[Setup, FiguresByName], tuple[Text, ...]]
    warns: Sign | None = lambda *_: True
    stops: bool = False
    reads: tuple[str, ...] = ("score", "label")
    labels: bool = True
    role: str | None = None
    differs: Callable[[Reading, FiguresByName], tuple[Reading, Reading] | None] = lambda *_: None
    by: float = 0
    nothing: bool = False

    def warns_of(self, setup: Setup, figures: FiguresByName) -> bool:
        """Whether the call of a number warns, if it changes a metric."""
        return self.warns is not None and self.holds(setup, figures) and self.warns(setup, figures)


def findings_of(setup: Setup) -> Sequence[Finding]:
    """The findings about tables with the setup's columns."""
    roles = setup.roles
    return [x for x in FINDINGS if x.role is None or getattr(roles, x.role) is not None]


def _share(part: float, of: float) -> str:
    """A share in percent, as text."""
    return f"{100 * part / of:.3g}%"


# the direction of scores


def _rank_like(setup: Setup) -> str | None:
    """``rank`` or ``distance`` if the score's column is called so, and nobody set a direction."""
    if setup.policies.ascending or "ascending" in setup.given:
        return None
    return like(setup.roles.score)


def _called_rank_like(setup: Setup, figures: FiguresByName) -> bool:
    kind = _rank_like(setup)
    if kind is None:
        return False
    is_the_word = setup.roles.score.lower() in (*RANKS, *DISTANCES)
    least = 1 if kind == "rank" and not is_the_word else 0
    return bool(figures["least score"] >= least and figures["most score"] > 0)


def _are_ranks(setup: Setup, figures: FiguresByName) -> bool:
    if "ascending" in setup.given or figures["least score"] != 1 or figures["several"] == 0:
        return False
    return bool(figures["ranks"] == figures["retrieving"])


def _are_ranks_downward(setup: Setup, figures: FiguresByName) -> bool:
    """Whether scores are 1, 2 and so on, and nothing shows that they are points.

    Another name would show it, or labels that rise with them.
    """
    if not _are_ranks(setup, figures):
        return False
    return _called_rank_like(setup, figures) or not figures["mean"] > 0.5


def _falling(setup: Setup, figures: FiguresByName) -> bool:
    mean = figures["mean"]
    if not mean < LEAST_AUC or figures["ordered"] < ENOUGH_QUERIES:
        return False
    most = mean + STANDARD_ERRORS * figures["standard error"]
    return bool(most < 0.5) and not _called_rank_like(setup, figures)


def _turned(setup: Setup) -> dict[str, object]:
    """The options that turn the ranking round."""
    score = setup.roles.score
    if setup.policies.ascending:
        return {"ascending": False}
    if _rank_like(setup) == "rank":
        return {"rank": score}
    if score == Roles.score:
        return {"ascending": True}
    return {"score": score, "ascending": True}


def _under(**policies: Any) -> Callable[[Reading, FiguresByName], tuple[Reading, Reading]]:
    """The present reading, and that under other policies."""
    return lambda x, _: (x, x.under(**policies))


def _both_ways(x: Reading, _: FiguresByName) -> tuple[Reading, Reading]:
    return x, x.under(ascending=not x.setup.policies.ascending)


# equal scores


def _decided_by_chance(setup: Setup, figures: FiguresByName) -> bool:
    """Whether scores are equal, and a rule that nobody named decides by ids or the rows' order."""
    n_retrieved = figures["retrieved"]
    n_tied = figures["tied with other labels"]
    if not n_tied or n_tied < A_TENTH * n_retrieved:
        return False
    if n_retrieved < ENOUGH or figures["retrieving"] < ENOUGH_QUERIES:
        return False
    if "ties" in setup.given or setup.convention is not None:
        return False
    differ = bool(figures["least score"] < figures["most score"])
    return setup.policies.tie_rule.by_row(documents=False) and differ


def _is_filled(setup: Setup, figures: FiguresByName) -> bool:
    """Whether 0, or the worst score, stands for null.

    Many documents of most queries have it, and others are not tied.
    """
    worst = figures["most score" if setup.policies.ascending else "least score"]
    if not _decided_by_chance(setup, figures) or figures["the value"] not in (0, worst):
        return False
    n_filled = figures["of the value"]
    n_other_ties = figures["tied"] - n_filled
    n_others = figures["retrieved"] - n_filled
    in_most = figures["queries of the value"] * 2 > figures["retrieving"]
    return bool(in_most and n_other_ties <= A_TENTH * n_others)


def _without_filled(x: Reading, figures: FiguresByName) -> tuple[Reading, Reading]:
    score = pl.col(x.setup.roles.score)
    not_filled = pl.when(score != figures["the value"]).then(score)
    return x, Reading(x.rows.with_columns(not_filled), x.setup)


def _best_and_worst(x: Reading, _: FiguresByName) -> tuple[Reading, Reading]:
    return x.under(ties="worst"), x.under(ties="best")


def _all_equal(_: Setup, figures: FiguresByName) -> bool:
    if figures["retrieved"] < ENOUGH or figures["several"] == 0:
        return False
    return bool(figures["least score"] == figures["most score"])


def _by_id_or_row(rule: TieRule) -> bool:
    """Whether a rule orders by ids, and without them by the order of the rows."""
    return rule.by_document and rule.by_row(documents=False)


def _of_ties(setup: Setup, figures: FiguresByName) -> tuple[Text, ...]:
    share = _share(figures["tied with other labels"], figures["retrieved"])
    tied = f"{share} of documents are tied with one of another label"
    advice: tuple[Text, ...] = "; the mean over all orders is that of ", on(ties="expected")
    if setup.policies.depth is not None:  # which cuts off some orders
        advice = "; say how they stand, as ", on(ties="worst")
    if "metric" not in figures:
        return f"{tied}, and {setup.policies.tie_rule.says}", *advice
    low = figures["low"]
    high = figures["high"]
    metric = f"{figures['metric']}{figures['among']}"
    between = f"{metric} is between {low:.2f} and {high:.2f} by their order"
    return f"{tied}: {between}", *advice


# labels


def _threshold_leaves_out(setup: Setup, figures: FiguresByName) -> bool:
    """Whether most labels above 0 are below 1, a threshold that nobody named, and 1/2 would do."""
    if setup.policies.relevant != 1 or "relevant" in setup.given:
        return False
    most_are = figures["between 0 and 1"] * 2 > figures["positive"]
    return bool(most_are and figures["most label"] >= 0.5)


def _none_relevant(setup: Setup, figures: FiguresByName) -> bool:
    """Whether no label reaches the threshold; a few rows may well have low labels alone."""
    if figures["relevant"] > 0 or figures["labelled"] == 0:
        return False
    return figures["rows"] >= ENOUGH and not _threshold_leaves_out(setup, figures)


def _below_threshold(setup: Setup, figures: FiguresByName) -> tuple[Text, ...]:
    none = "no document of any query is relevant: "
    most = figures["most label"]
    if not most > 0:
        return (f"{none}no label is above 0",)
    labels = f"{none}labels go from {figures['least label']:.3g} to {most:.3g} and "
    # of shares, the greatest alone would be relevant; the half of it is what 0.5 is of labels up to
    # 1
    least = _reached(most / 2 if most < 1 else most)
    relevant = option(relevant=setup.policies.relevant)
    return labels, relevant, SAY_LEAST, on(relevant=least)


def _reached(label: float) -> float:
    """A short number of at most this label, as a threshold that some labels reach."""
    context = Context(prec=2, rounding=ROUND_DOWN)
    short = float(context.create_decimal(repr(float(label))))
    return int(short) if short.is_integer() else short


def _of_ratings(setup: Setup, figures: FiguresByName) -> bool:
    """Whether all judged documents are relevant, of which the labels may be ratings."""
    relevant = setup.policies.relevant
    if relevant <= 0:
        return bool(figures["judged"] > 0)
    if "relevant" in setup.given:
        return False
    least = figures["least label"]
    most = figures["most label"]
    return bool(most >= LEAST_RATING and most > least >= relevant)


def _missed_are_lost(setup: Setup, figures: FiguresByName) -> bool:
    """Whether documents lack a label and none a score, as after a left join, or a later cut."""
    n_rows = figures["rows"]
    n_relevant = figures["relevant"]
    if n_rows < ENOUGH or n_relevant == 0 or figures["retrieved"] < n_rows:
        return False
    if figures["judged lists"] < ENOUGH_QUERIES or _is_filled(setup, figures):
        return False
    if figures["unjudged of judged lists"] < A_TENTH * figures["docs of judged lists"]:
        return False
    if setup.roles.stratum is not None or setup.roles.inclusion is not None:
        return False  # labels are a sample
    # a run is as long for most queries; a fusion of several is not, and may well have missed
    # nothing
    n_queries = figures["queries"]
    of_a_run = figures["longest"] * 2 > n_queries
    # of judgments that list only what is relevant, a join loses all of some queries
    loses_queries = figures["lists without relevant"] >= A_TENTH * n_queries
    return bool(of_a_run and (figures["judged"] > n_relevant or loses_queries))


def _of_a_join(_: Setup, figures: FiguresByName) -> tuple[Text, ...]:
    share = _share(figures["unjudged of judged lists"], figures["docs of judged lists"])
    says = (
        f"{share} of labels are null and no row lacks a score, as after a left join or a later "
        "cut: recall is 1 by construction; cut the run first, and join by "
    )
    return says, judge()


def _with_missed(x: Reading, figures: FiguresByName) -> tuple[Reading, Reading]:
    """The table, and with another relevant document of each query that was not retrieved."""
    roles = x.setup.roles
    of_missed = {roles.score: None, roles.label: figures["most label"]}
    of_missed |= dict.fromkeys(roles.of("doc"))
    missed = x.rows.unique(list(roles.query), keep="first", maintain_order=True)
    for name, value in of_missed.items():
        if name in x.rows.columns:
            column = pl.lit(value).cast(x.rows.schema[name])
            missed = missed.with_columns(column.alias(name))
    return x, Reading(pl.concat([x.rows, missed]), x.setup)


def _all_relevant(setup: Setup, figures: FiguresByName) -> bool:
    """Whether every row has a score and a relevant label, as of an inner join with positives."""
    n_rows = figures["rows"]
    if setup.policies.relevant <= 0 or n_rows < ENOUGH:
        return False
    return bool(figures["both"] == figures["relevant"] == n_rows)


def _of_grades(x: Reading, figures: FiguresByName) -> tuple[Reading, Reading] | None:
    """Graded labels, as of ratings, leave metrics of gain as they are."""
    most = figures["most label"]
    return None if figures["least label"] == most else (x, x.under(relevant=most))


def _of_threshold(setup: Setup, figures: FiguresByName) -> tuple[Text, ...]:
    relevant = option(relevant=setup.policies.relevant)
    if setup.policies.relevant <= 0:
        says = ": every judged document counts as relevant, whatever its label"
        return relevant, f"{says}{SAY_LEAST}", on(relevant=1)
    most = figures["most label"]
    labels = f"labels go from {figures['least label']} to {most}, so that "
    return labels, relevant, f" counts every judged document{SAY_LEAST}", on(relevant=most)


def _of_every_row(setup: Setup, figures: FiguresByName) -> tuple[Text, ...]:
    relevant = f"{setup.policies.relevant:g}"
    most = figures["most label"]
    says = (
        f"every row has a score and a label of {relevant} or more, so that no document can be wrong"
    )
    if LEAST_RATING <= most > figures["least label"]:
        say = f"{says}; if labels are ratings, say the least that is relevant, as "
        return say, on(relevant=_reached(most))
    return f"{says}, as after an inner join; ", judge(), " keeps the other documents"


def _leave_out(setup: Setup, figures: FiguresByName) -> bool:
    """Whether ranks, of which nobody said how they count, leave numbers out."""
    if "rank" not in setup.given or "ranks" in setup.given or setup.convention is not None:
        return False
    return bool(figures["gaps"] > 0)


def _called_clicks(setup: Setup) -> bool:
    return setup.roles.label.lower() in CLICKS


def _clicks_as_shown(setup: Setup, figures: FiguresByName) -> bool:
    """Whether labels may be clicks: 0 or 1 in all rows, falling with the rank of some column.

    Whatever the score is.
    """
    if setup.roles.propensity is not None or figures["labelled"] != figures["rows"]:
        return False
    limits = (figures["least label"], figures["most label"])
    shown = figures["most exact rank"]
    if figures["between 0 and 1"] or limits != (0, 1) or shown == "":
        return False
    if shown == setup.roles.score and not _called_clicks(setup):
        return False  # as good ranks with judgments are
    least = figures["shown mean"] - STANDARD_ERRORS * figures["shown standard error"]
    return bool(least > 0.5 and figures["shown ordered"] >= ENOUGH_QUERIES)


# runs, users and items


def _stacked(_: Setup, figures: FiguresByName) -> bool:
    """Whether the queries of a column of runs are enough to tell of."""
    return bool(figures["most stacked"] != "" and figures["queries"] >= ENOUGH_QUERIES)


def _already_had(_: Setup, figures: FiguresByName) -> bool:
    """Whether users get items that they had, and none of these is relevant.

    Some are where people buy or listen again.
    """
    n_retrieved = figures["retrieved"]
    if n_retrieved < ENOUGH or figures["retrieving"] < ENOUGH_QUERIES:
        return False
    if figures["relevant"] == 0 or figures["seen relevant"] > 0:
        return False
    return bool(figures["seen"] >= LEAST_SEEN * n_retrieved)


def _without_seen(x: Reading, _: FiguresByName) -> tuple[Reading, Reading]:
    """The present reading, and that without the items that users had."""
    roles = x.setup.roles
    past = x.setup.background.interactions
    if not isinstance(past, Interactions) or roles.doc_name is None:
        return x, x
    is_seen = in_past(x.rows, past.named(roles.query, roles.doc_name))
    return x, Reading(x.rows.filter(pl.Series(~is_seen)), x.setup)


def _look_swapped(setup: Setup, figures: FiguresByName) -> bool:
    """Whether nearly every query has one row, and most documents have several, as queries do."""
    n_docs = figures["docs"]
    if len(setup.roles.query) > 1 or n_docs < ENOUGH:
        return False
    many_queries = figures["queries"] >= NEARLY_ALL * figures["rows"]
    return bool(many_queries and figures["alike"] * 2 >= n_docs)


def _swapped(x: Reading, _: FiguresByName) -> tuple[Reading, Reading]:
    roles = x.setup.roles
    return x, x.under(query=(str(roles.doc_name),), doc=roles.query[0])


def _of_separator(role: str) -> Finding:
    name = f"{role} separator"

    def says(setup: Setup, figures: FiguresByName) -> tuple[Text, ...]:
        column = getattr(setup.roles, role)
        mark = figures[name]
        values = f"most values of column {column!r} hold {mark!r}, and each counts as one {role}"
        return (f"{values}; make lists of them, as .str.split({mark!r}) does",)

    return Finding(
        f"{role} with separators",
        "rows",
        lambda _, figures: figures[name] != "",
        says,
        reads=(),
        labels=False,
        role=role,
    )


upside_down = partial(Finding, labels=False, differs=_both_ways)

FINDINGS = (
    Finding(
        "nobody judged a document", "rows",
        lambda _, figures: figures["rows"] > 0 and figures["labelled"] == 0,
        lambda x, figures: (
            f"nobody judged a document: column {x.roles.label!r} is null in all "
            f"{figures['rows']:,} rows; join the judgments, ",
            judge(),
        ),
        warns=lambda x, _: x.policies.no_relevant != "null", stops=True, nothing=True,
    ),
    upside_down(
        "scores like ranks", "retrieved", _are_ranks_downward,
        lambda x, _: (
            "the scores of each query are 1, 2 and so on, and the largest comes first; if they "
            "are ranks, say ",
            on(rank=x.roles.score),
        ),
        warns=_called_rank_like, reads=("score",),
    ),
    upside_down(
        "scores like distances", "retrieved",
        lambda x, figures: _called_rank_like(x, figures) and not _are_ranks(x, figures),
        lambda x, _: (
            f"by its name, low values of column {x.roles.score!r} are the best, and high ones are "
            "ranked first; if low ones are the best, say ",
            on(**_turned(x)), ", else ", on(ascending=False),
        ),
        reads=("score",),
    ),
    upside_down(
        "labels fall as scores rise", "retrieved", _falling,
        lambda x, figures: (
            f"documents with higher labels stand lower (mean AUC {figures['mean']:.2f} of "
            f"{figures['ordered']:,} queries); if {'high' if x.policies.ascending else 'low'} "
            "scores are the best, say ",
            on(**_turned(x)),
        ),
    ),
    Finding(
        "all scores equal", "retrieved", _all_equal,
        lambda x, _: (
            f"all values of column {x.roles.score!r} are equal, and {x.policies.tie_rule.says}; "
            "name the column of the scores, or count the mean over all orders, ",
            on(ties="expected"),
        ),
        # without ids, the order of the rows may be the ranking
        warns=lambda x, _: x.roles.doc is not None and _by_id_or_row(x.policies.tie_rule),
        differs=_best_and_worst, reads=("score",),
    ),
    Finding(
        "one score for many", "of the value", _is_filled,
        lambda x, figures: (
            f"{_share(figures['of the value'], figures['retrieved'])} of values of column "
            f"{x.roles.score!r} are {figures['the value']:g}: null means not retrieved; if these "
            "documents were retrieved, count the mean over all their orders, ",
            on(ties="expected"),
        ),
        differs=_without_filled, by=A_DIFFERENCE,
    ),
    Finding(
        "tied scores", "tied with other labels",
        lambda x, figures: _decided_by_chance(x, figures) and not _is_filled(x, figures), _of_ties,
        differs=_best_and_worst, by=A_DIFFERENCE,
    ),
    Finding(
        "query and document swapped", "rows", _look_swapped,
        lambda x, _: (
            f"nearly every value of the query column {x.roles.query[0]!r} has one row, and those "
            f"of {x.roles.doc_name!r} have several; if they are swapped, say ",
            on(query=x.roles.doc_name, doc=x.roles.query[0]),
        ),
        labels=False, reads=("score",), differs=_swapped,
    ),
    Finding(
        "no relevant document", "rows", _none_relevant, _below_threshold,
        warns=lambda x, _: x.policies.no_relevant != "null",
        stops=True, reads=("label",), nothing=True,
    ),
    Finding(
        "every judged document relevant", "judged", _of_ratings, _of_threshold,
        warns=None, reads=("label",),  # as judgments have it that list what is relevant
    ),
    Finding("every row relevant", "rows", _all_relevant, _of_every_row, differs=_of_grades),
    Finding(
        "labels between 0 and 1", "between 0 and 1", _threshold_leaves_out,
        lambda x, _: (
            "labels between 0 and 1 are not relevant under ",
            option(relevant=x.policies.relevant), SAY_LEAST, on(relevant=0.5),
        ),
        differs=_under(relevant=0.5), reads=("label",),
    ),
    Finding(
        "no retrieved document judged", "retrieved",
        lambda _, x: x["both"] == 0 and x["retrieved"] > 0 and x["judged"] > 0,
        lambda *_: (UNMATCHED,), warns=None,  # `judge` warns
    ),
    Finding(
        "missed documents lost", "rows", _missed_are_lost, _of_a_join,
        # rankframe's own join, or the policy, tells that no document was missed
        warns=lambda x, _: (
            x.given.isdisjoint({JOINED, "unretrieved"}) and x.policies.unretrieved != "drop"
        ),
        differs=_with_missed,
    ),
    Finding(
        "clicks on the order shown", "rows", _clicks_as_shown,
        lambda _, figures: (
            f"labels are 0 and 1, fall with the rank, and column {figures['most exact rank']!r} "
            "is the order: clicks on it favour rankings like it; say how often users see each "
            "rank, ",
            on(propensity=...),
        ),
        # a good ranking with binary judgments looks the same, but for their name
        warns=lambda x, _: _called_clicks(x),
    ),
    Finding(
        "gaps in ranks", "gaps", _leave_out,
        lambda x, _: (
            f"ranks of column {x.roles.score!r} leave numbers out, and only their order counts; "
            "if each counts as it is given, say ",
            on(rank=x.roles.score, ranks="as_given"),
        ),
        differs=_under(ranks="as_given"), reads=("score",),
    ),
    Finding(
        "runs stacked", "rows", _stacked,
        lambda x, figures: (
            f"column {figures['most stacked']!r} holds {figures['most runs']:,} runs of every "
            "query, which are ranked as one; say ",
            option(run=figures["most stacked"]), " where runs are compared, else ",
            on(query=[figures["most stacked"], *x.roles.query]),
        ),
        labels=False, reads=("score",),
    ),
    Finding(
        "items seen before", "seen", _already_had,
        lambda _, figures: (
            f"{_share(figures['seen'], figures['retrieved'])} of recommended items are in the "
            "user's past, and none of them is relevant; leave them out",
            # functions of `rf` have no frame to call it on
            Code("df.rank.items.without(train)", phrase=", {}", function=""),
        ),
        differs=_without_seen,
    ),
    _of_separator("category"),
    _of_separator("subtopic"),
)  # fmt: skip
"""All findings on whole tables; of a rank that is upside down, and of equal scores, one holds."""
