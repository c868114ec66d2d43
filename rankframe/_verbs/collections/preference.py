"""Which of two interleaved runs users prefer, by their clicks."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import polars as pl

from ... import stats
from ..._plan.per_query import collect
from ..._plan.rank_order import numbered
from ..._results.columns import grid, schema
from ..._results.grid import (
    ALPHA,
    Cell,
    Grid,
    Record,
    decimals,
    interval,
    left_out,
    name_of,
    records,
    signed,
)
from ..._results.result import MOST_ROWS, R_co, Result
from ..._results.sentences import IN_TEXT, Quotes, correction_of, p_of, quoted
from ..._statistics.confidence_sequences import confidence_sequence
from ..._statistics.interleaving import NO_TEAM, Clicks, Method, clustered_mean, outcomes
from ..._statistics.sample import Limits
from ..._support.draws import seeds_of
from ..._support.floats import Floats, np
from ..._support.option_kinds import Column
from ..._support.progress import Progress
from ..._support.statistical_options import Correction, Interval
from ..._table.check import fault_in
from ..._table.roles import require_all, require_number
from ..._table.runs import names_of
from ..._table.shared_options import IntervalsOfSlices
from ..._table.table import R, Table, refuse_names
from ...errors import InvalidData, InvalidOption, option
from ..call.declaration import verb
from ..decide.compare import adjusted
from ..decide.power import Chance, Effect
from ..sample.resampling import Resampling
from ..sample.slices import by_query, in_slices, keys, table_of

if TYPE_CHECKING:
    from typing import Unpack

TABLE = schema(
    "baseline run delta ci_low ci_high interval p_value p_adjusted wins ties losses "
    "n_impressions n_users difference power impressions_needed"
)


CREDIT = ("credit", "team_rank", "other_rank")
"""The columns by which the methods credit clicks: of probabilistic lists the first, of balanced
ones the others."""


@dataclass(frozen=True, repr=False)
class Preference(Result[R_co]):
    """Which of two interleaved runs users prefer.

    Attributes
    ----------
    table
        A row per slice: the slice's columns; ``baseline`` and ``run``, the two teams; ``delta``,
        (wins + ties / 2) / impressions - 1/2, from -0.5 to 0.5, above 0 if users prefer the run;
        its interval from ``ci_low`` to ``ci_high`` and the kind of that ``interval`` (String);
        ``p_value`` and ``p_adjusted`` of the test; ``wins``, ``ties`` and ``losses`` of the run
        (UInt32), which add up to ``n_impressions``; ``n_users`` (UInt32, null if no column names
        them); ``difference``, the delta to detect, the ``power`` of these impressions to detect it,
        and ``impressions_needed`` (Int64). All other numbers are Float64. A figure is null where it
        is undefined.
    per_impression
        A row per impression: the query columns, its slice, and ``outcome`` (Float64): 1 if the run
        wins, -1 if the baseline wins, 0 for a tie; with probabilistic interleaving the expected
        value of that.
    settings
        How it was computed.
    """

    table: R_co
    per_impression: R_co
    settings: Mapping[str, Any]

    def sentences(self, quotes: Quotes = IN_TEXT) -> list[str]:
        """A sentence for each slice."""
        rows = records(self.table)
        return [self._sentence(row, len(rows) > 1, quotes) for row in rows]

    def _sentence(self, row: Record, several: bool, quotes: Quotes) -> str:
        run, base = (quoted(row[name], quotes) for name in ("run", "baseline"))
        of = ", ".join(f"{name} {name_of(row[name])}" for name in self.settings["by"])
        ends = interval(row["ci_low"], row["ci_high"], decimals(row["delta"]))
        users = "" if row["n_users"] is None else f" of {row['n_users']:,} users"
        counted = (
            f"{row['wins']:,} wins and {row['losses']:,} losses in {row['n_impressions']:,} "
            f"impressions{users}"
        )
        p, delta = row["p_adjusted"], row["delta"]
        found = f"No significant preference between {run} and {base}"
        if p < ALPHA and delta:
            found = f"Users prefer {run if delta > 0 else base} to {base if delta > 0 else run}"
        corrected = several and self.settings["correction"] is not None
        found += f" ({of})" if of else ""
        return (
            f"{found}: {run} has a delta of {signed(delta)}{ends}, {counted}; {p_of(p, corrected)}"
        )

    def grids(self, most: int | None = MOST_ROWS) -> list[Grid]:
        """A row per slice."""
        rows = records(self.table)
        names = (*self.settings["by"], "run", "baseline")
        x = self.settings
        test = "permutation" if x["test"] == "sign" and x["user"] is not None else x["test"]
        needed = (
            f"impressions with which a t-test detects a delta of {x['difference']:g} with a "
            f"probability of {x['power']:g}"
        )
        corrected = correction_of({**x, "metrics": ()}, len(rows))
        note = (
            f"p by the {test} test{f', after {corrected}' if corrected else ''}. needed: {needed}."
        )
        note += (
            " Interval and p hold at every look, whenever you stop." if test == "sequential" else ""
        )
        figures, notes = (
            "delta p_adjusted wins impressions_needed",
            (note, *left_out(self, rows, most)),
        )
        heads, cells = {"wins": "wins-ties-losses"}, {"wins": won}
        return [grid(self, rows, names, figures, notes, most, heads=heads, cells=cells)]


def won(row: Record, name: str) -> Cell:
    """How often the run wins, ties and loses."""
    return Cell("-".join(f"{row[x]:,}" for x in ("wins", "ties", "losses")), row[name])


MANY = 10_000
"""From so many users on, ``"auto"`` takes Student's interval: the bootstrap gives the same, and
takes long."""


@verb(gives="whole", scores=False, usual={"resamples": 10_000})
def preference(
    table: Table[R],
    *,
    team: Column = "team",
    user: Column | None = None,
    method: Method = "team_draft",
    baseline: str | None = None,
    credit: Sequence[Column] = CREDIT,
    difference: Effect = 0.01,
    power: Chance = 0.8,
    alpha: Chance = 0.05,
    correction: Correction | None = "holm",
    test: Literal["sign", "sequential"] = "sign",
    look: Column | None = None,
    interval: Interval = "auto",
    **options: Unpack[IntervalsOfSlices],
) -> Preference[R]:
    """Which of two interleaved runs users prefer, by their clicks on the lists that
    :meth:`interleave` made.

    The table has a row per document that was shown. Its query columns identify an impression: one
    list, shown once. A label of at least ``on(relevant=...)``, 1 by default, is a click; a smaller
    one or null is none.

    Parameters
    ----------
    team
        The column that names the run which each document counts for; null for neither.
    user
        The column of the users. The impressions of a user resemble each other: the interval
        resamples users, the test changes the signs of all outcomes of a user together, and the
        number of impressions needed becomes larger. An impression with null is that of another
        user. ``None`` takes all impressions as independent, which finds too many preferences if
        users return.
    method
        How the lists were made, since each method credits clicks in its own way. ``"team_draft"``:
        the team with more clicks wins the impression. ``"balanced"``: of the two rankings, down to
        the least rank that the lowest clicked document has in either, the one with more clicks
        wins. ``"probabilistic"``: each way to credit the clicks to teams counts by its probability,
        given the list.
    baseline
        The team that the other is compared with; default: the first of the two by name.
    credit
        The three columns of :meth:`interleave` of which ``"probabilistic"`` reads the first and
        ``"balanced"`` the others.
    by
        The columns whose values slice the impressions, as for :meth:`summarize`.
    difference, power, alpha
        The delta to detect, the probability to detect it, and the level of the two-sided t-test,
        for the number of impressions needed.
    correction
        The correction for several slices, as for :meth:`compare`.
    test
        ``"sign"``, for one look at the end. ``"sequential"``, for as many looks as you like while
        impressions come in: its interval (a confidence sequence, by empirical Bernstein) and its p
        hold at all of them at once. It takes each user once, by the mean outcome of the first look
        at which they came, and is about twice as wide.
    look
        For the sequential test: the column that says when an impression came, such as a day.
        Impressions of one look enter in an order derived from their ids. ``None``: they enter in
        the order of the table; append later ones to its end.
    ci, interval, resamples, seed, progress
        As for :meth:`summarize`; users, or impressions, are resampled. ``"auto"`` takes ``"t"`` for
        more than 10,000 of them.

    Returns
    -------
    A :class:`rankframe.results.Preference`, whose ``table`` and ``per_impression`` are frames of
    the caller's kind. A LazyFrame is collected first. An impression without a click, or with as
    many for both, is a tie. p is that of the exact sign test; with `user`, of the permutation test
    that flips the signs of all outcomes of a user together. Needs SciPy.

    Raises
    ------
    InvalidOption, InvalidData
        If the column does not name two teams, an impression has several users or repeats a
        document, or a credit is not from 0 to 1.

    References
    ----------
    O. Chapelle, T. Joachims, F. Radlinski, Y. Yue (2012), Large-scale validation and analysis of
    interleaved search evaluation, ACM TOIS 30. K. Hofmann, S. Whiteson, M. de Rijke (2011), A
    probabilistic method for inferring preferences from clicks, CIKM. I. Waudby-Smith, A. Ramdas
    (2024), Estimating means of bounded random variables by betting, JRSS B 86.

    Examples
    --------
    The new run wins three impressions of four, and one is a tie: (3 + 1/2) / 4 - 1/2.

    >>> import polars as pl, rankframe as rf
    >>> shown = pl.DataFrame({"query_id": [1, 1, 2, 2, 3, 3, 4, 4], "team": ["new", "old"] * 4, "label": [1, 0, 1, 0, 1, 0, 1, 1]})
    >>> found = shown.rank.clicks.preference(baseline="old").table
    >>> found["delta"].to_list(), found["wins"].to_list(), found["ties"].to_list(), found["p_value"].to_list()
    ([0.375], [3], [1], [0.25])
    """
    rows, setup, slices = table.rows, table.setup, names_of(options.get("by"))
    if test == "sequential" and correction == "bh":
        says = (
            " may not hold at a look that was chosen, as its p-values depend on each other; write "
        )
        raise InvalidOption(option(correction=correction), says, option(correction="by"))
    if test != "sequential" and look is not None:
        raise InvalidOption(option(look=look), " is for ", option(test="sequential"))
    if len(credit) != len(CREDIT):
        raise InvalidOption(
            option(credit=list(credit)), ": name three columns, as ", option(credit=list(CREDIT))
        )
    query, label, doc = [*setup.roles.query], setup.roles.label, setup.roles.doc_in(rows.columns)
    read = {"team_draft": (), "probabilistic": credit[:1], "balanced": credit[1:]}[method]
    reads = [
        *((x, "query") for x in query),
        (team, "team"),
        (label, "label"),
        *((x, "credit") for x in read),
    ]
    require_all(rows.schema, reads)
    for name in (label, *read):
        require_number(rows.schema, name, "label" if name == label else "credit")
    refuse_names([*TABLE, "outcome"], [*slices, *query], "by, or the query,")
    if doc is not None and rows.select(*query, doc).is_duplicated().any():
        raise fault_in(rows, setup, "repeated document")
    of_team = rows[team].cast(pl.String)
    names = sorted(of_team.drop_nulls().unique())
    if len(names) != 2:
        raise InvalidData(
            f"column {team!r} names {len(names)} teams; a preference is between two: "
            f"{', '.join(names)}"
        )
    if baseline not in (None, *names):
        raise InvalidOption(
            option(baseline=baseline), f" is none of the teams, which are {' and '.join(names)}"
        )
    names = names[::-1] if baseline == names[1] else names
    figures = {
        at: pl.col(x).cast(pl.Float64).fill_null(np.inf) if x in read else pl.lit(1.0)
        for at, x in zip(("credit", "rank", "other_rank"), credit, strict=True)
    }
    labels, impression = (
        rows[label].cast(pl.Float64),
        pl.Series(numbered(rows.select(query)).number, dtype=pl.Int64),
    )
    if not labels.is_finite().all():
        raise fault_in(rows, setup, "label not finite")
    of_teams = (of_team == names[1]).cast(pl.Int64).fill_null(NO_TEAM)
    clicked = rows.select(impression=impression, team=of_teams, **figures).filter(
        labels >= setup.policies.relevant
    )
    if not clicked.filter(pl.col("team") != NO_TEAM)["credit"].is_between(0, 1).all():
        raise InvalidData(
            f"column {credit[0]!r}: the credit of a click is a probability, from 0 to 1, and "
            "never null"
        )
    named_by = [*slices, *(x for x in (user, look) if x is not None)]
    impressions = collect(by_query(rows, query, named_by, None), rows, setup)
    outcome = outcomes(method, Clicks(*(x.to_numpy() for x in clicked)), impressions.height)
    came = (
        pl.int_range(pl.len())
        if look is None
        else pl.col(keys(named_by)[-1]).rank("dense").fill_null(2**32 - 1)
    )
    impressions = impressions.with_columns(outcome=outcome, **{"#came": came})
    unit = [pl.col(x) for x in query]
    if user is not None:
        of_user = pl.col(keys(named_by)[len(slices)])
        unit = [
            of_user,
            *(pl.when(of_user.is_null()).then(x).alias(x.meta.output_name()) for x in unit),
        ]
    resampling, found = Resampling.of(options, interval), []
    with Progress("resampling impressions", resampling.progress) as bar:
        for where, part in in_slices(impressions, keys(slices)).items():
            if (
                test == "sequential"
            ):  # a user who came back would change a value that was read before
                part = part.filter(pl.col("#came") == pl.col("#came").min().over(unit))
            units = part.group_by(unit).agg(
                pl.col("#came").min(), pl.col("outcome").sum(), pl.len().alias("#n")
            )
            units = units.sort(unit, nulls_last=True)
            total, n = (units[name].to_numpy().astype(float) for name in ("outcome", "#n"))
            total, n = (total / n, n**0) if test == "sequential" else (total, n)
            delta, error = clustered_mean(total / 2, n)
            wins, ties, losses = (
                int((part["outcome"].sign() == sign).sum()) for sign in (1, 0, -1)
            )
            if test == "sequential":
                order = np.lexsort(
                    (seeds_of(units, units.columns[: len(unit)], 0), units["#came"].to_numpy())
                )
                inferred = _at_any_look(total[order] / 2, resampling.ci or math.nan)
            else:
                how = (
                    replace(resampling, interval="t")
                    if interval == "auto" and len(n) > MANY
                    else resampling
                )
                low, high, kinds = how.intervals((total / n / 2)[:, None], n, WITHIN, bar)
                p = (
                    stats.sign_test(wins, losses)
                    if user is None
                    else _flipped(total, resampling, bar)
                )
                inferred = low.item(), high.item(), kinds[0], p
            effect = difference / (error * part.height**0.5) if error > 0 else None
            able = effect and (
                stats.power(effect, part.height, alpha),
                stats.queries_needed(effect, power, alpha),
            )
            counted = wins, ties, losses, part.height, None if user is None else len(n), difference
            found.append(
                (*where, *names, delta, *inferred, inferred[-1], *counted, *(able or (None, None)))
            )
    table_of_slices = adjusted(table_of(found, slices, impressions.schema, TABLE), correction, [])
    of_slices = [
        pl.col(at).alias(name)
        for name, at in zip(slices, keys(slices), strict=True)
        if name not in query
    ]
    per_impression = impressions.select(*query, *of_slices, "outcome")
    return Preference(table.give(table_of_slices), table.give(per_impression), {"runs": names})


WITHIN = Limits(np.array([-0.5]), np.array([0.5]), np.array([True]))
"""The bounds of delta."""


def _flipped(total: Floats, how: Resampling, step: Progress) -> float:
    """The p-value of the test that flips the signs of users' sums."""
    p, _ = stats.paired_test(
        total[:, None], np.ones(len(total)), "permutation", how.resamples, how.seed, step
    )
    return float(p.item())


def _at_any_look(deltas: Floats, ci: float | None) -> tuple[float, float, str | None, float]:
    """The interval, its kind and p, which hold at all looks at once, from the deltas of users in
    the order in which they came.
    """
    kind: Literal["empirical_bernstein"] = (
        "empirical_bernstein"  # shorter than betting for outcomes that spread so far
    )
    low, high, p = (
        x.item() for x in confidence_sequence(deltas[:, None], WITHIN[:2], ci or 0.95, kind)
    )
    if low > high:  # no delta is in all intervals so far: the preference changed between looks
        return math.nan, math.nan, kind, p
    return (low, high, kind, p) if ci else (math.nan, math.nan, None, p)
