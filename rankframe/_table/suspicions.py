"""Signs that a number is not what its user means, each with its advice; `check` lists them, and the number's call warns."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, TypeAlias

from ..errors import Advice, Code, Text, Verbatim, judge, on, option
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


Figures: TypeAlias = Mapping[str, Any]
"""The figures of a table by their names, or their columns; NaN for the least and the greatest of nothing."""

Sign: TypeAlias = Callable[[Setup, Figures], Any]
"""True if a figure's value shows it; of columns of figures an expression. So it is written with ``&``, ``|`` and ``^ True``."""


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
        The sign, from the setup and the figures of `figures.totals`.
    says
        The sentence; figures in braces are filled in.
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
    says: Callable[[Setup], tuple[Text, ...]]
    warns: Sign = lambda *_: True
    reads: frozenset[str] = frozenset(["score", "label"])
    labels: bool = True
    role: str | None = None
    differs: Callable[[Setup, Figures], tuple[Setup, Setup] | None] = lambda *_: None
    zero: bool = False


FIGURE = re.compile(r"\{(least label|most label|rows|ordered|mean auc|category separator|subtopic separator)\}")
"""A figure that a sentence names."""


def filled(text: Text, values: Mapping[str, object]) -> Text:
    """The text with its figures."""
    if isinstance(text, tuple):
        return tuple(filled(part, values) for part in text)
    if isinstance(text, Advice):
        options = {x: Verbatim(_filled(y, values)) if isinstance(y, Verbatim) else y for x, y in text.options.items()}
        return replace(text, options=options)
    if isinstance(text, Code):
        return replace(text, polars=_filled(text.polars, values), pandas=_filled(text.pandas or text.polars, values))
    return _filled(text, values)


def _filled(text: str, values: Mapping[str, object]) -> str:
    shown = {name: f"{value:,}" if isinstance(value, int) else str(value) for name, value in values.items()}
    return FIGURE.sub(lambda found: shown[found[1]], text)


def suspicions_of(setup: Setup) -> Iterator[Suspicion]:
    """The suspicions about tables with the setup's columns."""
    return (each for each in SUSPICIONS if each.role is None or getattr(setup.roles, each.role) is not None)


# ------------------------------------------------------------------------------------------------------- the suspicions


def _rank_like(setup: Setup) -> str | None:
    """``rank`` or ``distance`` if the score's column is called like one, and nobody set which end is the best."""
    if setup.policies.ascending or "ascending" in setup.given:
        return None
    return _like(setup.roles.score)


@lru_cache  # several signs ask
def _like(name: str) -> str | None:
    word = name.lower().replace(" ", "_").rpartition("_")[2]
    return "rank" if word in RANKS else "distance" if word in DISTANCES else None


def is_called_rank(setup: Setup) -> bool:
    """Whether the number of a table with these columns may warn that its scores are ranks."""
    return _rank_like(setup) is not None


def _called_rank_like(setup: Setup, found: Figures) -> Any:
    least = 1 if setup.roles.score.lower() not in (*RANKS, *DISTANCES) and _rank_like(setup) == "rank" else 0
    return is_called_rank(setup) & (found["least score"] >= least) & (found["most score"] > 0)


def _are_ranks(setup: Setup, found: Figures) -> Any:
    return ("ascending" not in setup.given) & (found["ranks"] == found["retrieving"]) & (found["several"] > 0)


def _falling(setup: Setup, found: Figures) -> Any:
    mean, enough = found["mean"], found["ordered"] >= ENOUGH_QUERIES
    clearly = (mean < LEAST_AUC) & (mean + STANDARD_ERRORS * found["standard error"] < 0.5)
    return enough & clearly & (_called_rank_like(setup, found) ^ True)


def _turned(setup: Setup) -> dict[str, object]:
    """The options that turn the ranking round."""
    if setup.policies.ascending:
        return {"ascending": False}
    if _rank_like(setup) == "rank":
        return {"rank": setup.roles.score}
    named: dict[str, object] = {} if setup.roles.score == Roles.score else {"score": setup.roles.score}
    return {**named, "ascending": True}


def _both_ways(setup: Setup, _: Figures) -> tuple[Setup, Setup]:
    return setup, setup.changed(ascending=not setup.policies.ascending)


def _all_relevant(setup: Setup, found: Figures) -> Any:
    """Whether every row has a score and a label that counts as relevant, as after an inner join with the positives."""
    n = found["rows"]
    return (setup.policies.relevant > 0) & (n >= ENOUGH) & (found["both"] == n) & (found["relevant"] == n)


def _of_grades(setup: Setup, found: Figures) -> tuple[Setup, Setup] | None:
    """Graded labels, as of ratings, leave metrics of gain as they are."""
    if found["least label"] == found["most label"]:
        return None
    return setup, setup.changed(relevant=found["most label"])


def _of_threshold(setup: Setup) -> tuple[Text, ...]:
    relevant = option(relevant=setup.policies.relevant)
    if setup.policies.relevant <= 0:
        return (
            relevant,
            ": every judged document counts as relevant, whatever its label; say the least label that is relevant, as ",
            on(relevant=1),
        )
    return (
        "labels go from {least label} to {most label}, so that ",
        relevant,
        " counts every judged document; say the least label that is relevant, as ",
        on(relevant=Verbatim("{most label}")),
    )


def _swapped(setup: Setup) -> Setup:
    return setup.changed(query=(str(setup.roles.doc_name),), doc=setup.roles.query[0])


def _of_separator(role: str) -> Suspicion:
    def says(setup: Setup) -> tuple[Text, ...]:
        name, mark = getattr(setup.roles, role), f"{{{role} separator}}"
        return (
            f"most values of column {name!r} hold {mark!r}, and each counts as one {role}; make lists of them, as "
            f".str.split({mark!r}) does",
        )

    return Suspicion(
        f"{role} with separators",
        "rows",
        lambda _, found: found[f"{role} separator"] != "",
        says,
        reads=frozenset(),
        labels=False,
        role=role,
    )


SUSPICIONS = (
    Suspicion(
        "nobody judged a document",
        "rows",
        lambda _, found: (found["rows"] > 0) & (found["labelled"] == 0),
        lambda x: (
            f"nobody judged a document: column {x.roles.label!r} is null in all {{rows}} rows. Join the judgments, ",
            judge(),
            ", name the column that holds them, ",
            on(label=...),
            ", or get null instead of 0, ",
            on(no_relevant="null"),
        ),
        warns=lambda x, _: x.policies.no_relevant != "null",
        zero=True,
    ),
    Suspicion(
        "scores like ranks",
        "retrieved",
        _are_ranks,
        lambda x: (
            "the scores of each query are 1, 2 and so on, and the largest comes first; if they are ranks, say ",
            on(rank=x.roles.score),
        ),
        warns=_called_rank_like,
        labels=False,
        differs=_both_ways,
        reads=frozenset(["score"]),
    ),
    Suspicion(
        "scores like distances",
        "retrieved",
        lambda x, found: _called_rank_like(x, found) & (_are_ranks(x, found) ^ True),
        lambda x: (
            f"by its name, low values of column {x.roles.score!r} are the best, and high ones are ranked first; if low ones "
            "are the best, say ",
            on(**_turned(x)),
            ", else ",
            on(ascending=False),
        ),
        labels=False,
        differs=_both_ways,
        reads=frozenset(["score"]),
    ),
    Suspicion(
        "labels fall as scores rise",
        "retrieved",
        _falling,
        lambda x: (
            "documents with higher labels stand lower (mean AUC {mean auc} of {ordered} queries); if "
            f"{'high' if x.policies.ascending else 'low'} scores are the best, say ",
            on(**_turned(x)),
        ),
        labels=False,
        differs=_both_ways,
    ),
    Suspicion(
        "all scores equal",
        "retrieved",
        lambda _, found: (
            (found["retrieved"] >= ENOUGH) & (found["several"] > 0) & (found["least score"] == found["most score"])
        ),
        lambda x: (
            f"all values of column {x.roles.score!r} are equal, and {x.policies.tie_rule.says}; name the column of "
            "the scores, ",
            on(score=...),
            ", or count the mean over all orders, ",
            on(ties="expected"),
        ),
        # without ids, the order of the rows may be the ranking
        warns=lambda x, _: (
            x.roles.doc is not None and x.policies.tie_rule.by_document and x.policies.tie_rule.by_row(documents=False)
        ),
        differs=lambda x, _: (x.changed(ties="best"), x.changed(ties="worst")),
        reads=frozenset(["score"]),
    ),
    Suspicion(
        "query and document swapped",
        "rows",
        lambda x, found: (
            (len(x.roles.query) == 1)
            & (found["queries"] >= NEARLY_ALL * found["rows"])
            & (found["docs"] >= ENOUGH_QUERIES)
            & (found["alike"] * 2 >= found["docs"])
        ),
        lambda x: (
            f"nearly every value of the query column {x.roles.query[0]!r} has one row, and those of {x.roles.doc_name!r} have "
            "several; if they are swapped, say ",
            on(query=x.roles.doc_name, doc=x.roles.query[0]),
        ),
        labels=False,
        differs=lambda x, _: (x, _swapped(x)),
        reads=frozenset(["score"]),
    ),
    Suspicion(
        "every judged document relevant",
        "judged",
        lambda x, found: (
            (x.policies.relevant <= 0) & (found["judged"] > 0)
            | (found["least label"] >= x.policies.relevant) & (found["most label"] > found["least label"])
        ),
        _of_threshold,
        warns=lambda *_: False,  # as judgments have it that list what is relevant
        reads=frozenset(["label"]),
    ),
    Suspicion(
        "every row relevant",
        "rows",
        _all_relevant,
        lambda x: (
            f"every row has a score and a label of {x.policies.relevant:g} or more, so that no document can be wrong; if an "
            "inner join made the table, it lost the other documents, which ",
            judge(),
            " keeps; if labels are grades, say the least that is relevant",
        ),
        differs=_of_grades,
    ),
    Suspicion(
        "labels between 0 and 1",
        "between",
        lambda x, found: (x.policies.relevant == 1) & (found["between"] > 0),
        lambda x: (
            "labels between 0 and 1 are not relevant under ",
            option(relevant=x.policies.relevant),
            "; say the least label that is relevant, as ",
            on(relevant=0.5),
        ),
        warns=lambda x, found: "relevant" not in x.given and found["between"] * 2 > found["positive"],
        differs=lambda x, _: (x, x.changed(relevant=0.5)),
        reads=frozenset(["label"]),
    ),
    Suspicion(
        "no retrieved document judged",
        "retrieved",
        lambda _, found: (found["both"] == 0) & (found["retrieved"] > 0) & (found["judged"] > 0),
        lambda _: (UNMATCHED,),
        warns=lambda *_: False,  # `judge` warns
    ),
    Suspicion(
        "nothing missed",
        "retrieved",
        lambda x, found: (
            (x.policies.unretrieved != "drop")
            & (found["both"] == found["rows"])
            & (found["both"] > 0)
            & (_all_relevant(x, found) ^ True)
        ),
        lambda _: (
            "every row has a score and a label; if an inner join made the table, it lost the judged documents that were not "
            "retrieved, which ",
            judge(),
            " keeps",
        ),
        warns=lambda *_: False,  # as a table for learning to rank has it
    ),
    _of_separator("category"),
    _of_separator("subtopic"),
)
"""All suspicions; of a rank that is upside down, one holds."""
