"""Signs that a number is not what its user means, each with its advice; `check` lists them, and the number's call warns."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any, TypeAlias

from ..errors import Text, judge, on, option
from .figures import NEARLY_ALL
from .roles import DISTANCES, RANKS
from .run_and_judgments import UNMATCHED
from .setup import Roles, Setup

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
        A stronger sign, with which the call of a number warns.
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
    warns: Sign = lambda *_: True
    reads: tuple[str, ...] = ("score", "label")
    labels: bool = True
    role: str | None = None
    differs: Callable[[Setup, Found], tuple[Setup, Setup] | None] = lambda *_: None
    zero: bool = False


def suspicions_of(setup: Setup) -> Iterator[Suspicion]:
    """The suspicions about tables with the setup's columns."""
    return (each for each in SUSPICIONS if each.role is None or getattr(setup.roles, each.role) is not None)


# ------------------------------------------------------------------------------------------------------- the suspicions


@lru_cache  # several signs ask
def _like(name: str) -> str | None:
    word = name.lower().replace(" ", "_").rpartition("_")[2]
    return "rank" if word in RANKS else "distance" if word in DISTANCES else None


def _rank_like(setup: Setup) -> str | None:
    """``rank`` or ``distance`` if the score's column is called like one, and nobody set which end is the best."""
    return None if setup.policies.ascending or "ascending" in setup.given else _like(setup.roles.score)


def _called_rank_like(setup: Setup, found: Found) -> bool:
    like, name = _rank_like(setup), setup.roles.score.lower()
    least = 1 if name not in (*RANKS, *DISTANCES) and like == "rank" else 0
    return like is not None and bool(found["least score"] >= least and found["most score"] > 0)


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


def _of_separator(role: str) -> Suspicion:
    name = f"{role} separator"

    def says(setup: Setup, found: Found) -> tuple[Text, ...]:
        column, mark = getattr(setup.roles, role), found[name]
        values = f"most values of column {column!r} hold {mark!r}, and each counts as one {role}"
        return (f"{values}; make lists of them, as .str.split({mark!r}) does",)

    return Suspicion(
        f"{role} with separators", "rows", lambda _, x: x[name] != "", says, reads=(), labels=False, role=role
    )


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
        warns=lambda *_: False, reads=("label",),  # as judgments have it that list what is relevant
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
        lambda *_: (UNMATCHED,),
        warns=lambda *_: False,  # `judge` warns
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
        warns=lambda *_: False,  # as a table for learning to rank has it
    ),
    _of_separator("category"),
    _of_separator("subtopic"),
)  # fmt: skip
"""All suspicions; of a rank that is upside down, one holds."""
