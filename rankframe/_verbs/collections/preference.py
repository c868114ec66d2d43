"""Which of two interleaved runs users prefer, by their clicks."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

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
from ..decide.sequential import refuse_chosen_looks
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
        several = len(rows) > 1
        return [self._sentence(row, several, quotes) for row in rows]

    def _sentence(self, row: Record, several: bool, quotes: Quotes) -> str:
        run = quoted(row["run"], quotes)
        baseline = quoted(row["baseline"], quotes)
        delta = row["delta"]
        p = row["p_adjusted"]
        verdict = f"No significant preference between {run} and {baseline}"
        if p < ALPHA and delta:
            better, worse = (run, baseline) if delta > 0 else (baseline, run)
            verdict = f"Users prefer {better} to {worse}"
        slices = ", ".join(f"{name} {name_of(row[name])}" for name in self.settings["by"])
        where = f" ({slices})" if slices else ""
        ends = interval(row["ci_low"], row["ci_high"], decimals(delta))
        users = "" if row["n_users"] is None else f" of {row['n_users']:,} users"
        counts = (
            f"{row['wins']:,} wins and {row['losses']:,} losses in {row['n_impressions']:,} "
            f"impressions{users}"
        )
        corrected = several and self.settings["correction"] is not None
        figures = f"{run} has a delta of {signed(delta)}{ends}, {counts}"
        return f"{verdict}{where}: {figures}; {p_of(p, corrected)}"

    def grids(self, most: int | None = MOST_ROWS) -> list[Grid]:
        """A row per slice."""
        rows = records(self.table)
        settings = self.settings
        names = (*settings["by"], "run", "baseline")
        of_users = settings["test"] == "sign" and settings["user"] is not None
        test = "permutation" if of_users else settings["test"]
        correction = correction_of({**settings, "metrics": ()}, len(rows))
        after = f", after {correction}" if correction else ""
        note = (
            f"p by the {test} test{after}. needed: impressions with which a t-test detects a "
            f"delta of {settings['difference']:g} with a probability of {settings['power']:g}."
        )
        if test == "sequential":
            note += " Interval and p hold at every look, whenever you stop."
        notes = (note, *left_out(self, rows, most))
        figures = "delta p_adjusted wins impressions_needed"
        heads = {"wins": "wins-ties-losses"}
        return [grid(self, rows, names, figures, notes, most, heads=heads, cells={"wins": won})]


def won(row: Record, name: str) -> Cell:
    """How often the run wins, ties and loses."""
    counts = [f"{row[x]:,}" for x in ("wins", "ties", "losses")]
    return Cell("-".join(counts), row[name])


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
    >>> shown = pl.DataFrame({"query_id": [1, 1, 2, 2, 3, 3, 4, 4], "team": ["new", "old"] * 4,
    ...     "label": [1, 0, 1, 0, 1, 0, 1, 1]})
    >>> found = shown.rank.clicks.preference(baseline="old").table
    >>> found["delta"].item(), found["wins"].item(), found["ties"].item(), found["p_value"].item()
    (0.375, 3, 1, 0.25)
    """
    slices = names_of(options.get("by"))
    _refuse_unfit_options(test, look, correction, credit)
    credits_of = {"team_draft": (), "probabilistic": credit[:1], "balanced": credit[1:]}
    read = credits_of[method]
    _refuse_unfit_columns(table, team, read, slices)
    teams = _teams(table.rows, team, baseline)
    clicks = _clicks(table, team, teams[1], credit, read)
    facts = [*slices, *(name for name in (user, look) if name is not None)]
    query = [*table.setup.roles.query]
    of_impressions = by_query(table.rows, query, facts, None)
    impressions = collect(of_impressions, table.rows, table.setup)
    came = pl.int_range(pl.len())
    if look is not None:
        # Impressions without a look come last.
        look_of_impression = pl.col(keys(facts)[-1])
        came = look_of_impression.rank("dense").fill_null(2**32 - 1)
    outcome = outcomes(method, clicks, impressions.height)
    impressions = impressions.with_columns(came.alias("#came"), outcome=outcome)
    unit = _unit(query, None if user is None else keys(facts)[len(slices)])
    resampling = Resampling.of(options, interval)
    rows = []
    with Progress("resampling impressions", resampling.progress) as bar:
        for where, part in in_slices(impressions, keys(slices)).items():
            if test == "sequential":
                # A user who came back would change a value that was read before.
                first_look = pl.col("#came").min().over(unit)
                part = part.filter(pl.col("#came") == first_look)
            units = _by_unit(part, unit)
            if test == "sequential":
                key = units.columns[: len(unit)]
                inferred = _at_any_look(units, key, options.get("ci", 0.95))
            else:
                inferred = _at_one_look(units, user is not None, resampling, bar)
            n = part.height
            effect = difference / (inferred.error * n**0.5) if inferred.error > 0 else None
            chance = effect and stats.power(effect, n, alpha)
            needed = effect and stats.queries_needed(effect, power, alpha)
            n_users = None if user is None else units.height
            signs = part["outcome"].sign()
            outcomes_of_run = [int((signs == sign).sum()) for sign in (1, 0, -1)]
            figures = (*outcomes_of_run, n, n_users, difference, chance, needed)
            rows.append((*where, *teams, *inferred.figures, *figures))
    by_slice = adjusted(table_of(rows, slices, impressions.schema, TABLE), correction, [])
    named = zip(slices, keys(slices), strict=True)
    of_slices = [pl.col(at).alias(name) for name, at in named if name not in query]
    per_impression = impressions.select(*query, *of_slices, "outcome")
    return Preference(table.give(by_slice), table.give(per_impression), {"runs": teams})


def _refuse_unfit_options(
    test: str, look: str | None, correction: Correction | None, credit: Sequence[str]
) -> None:
    """Refuse options that do not go together."""
    if test == "sequential":
        refuse_chosen_looks(correction)
    elif look is not None:
        raise InvalidOption(option(look=look), " is for ", option(test="sequential"))
    if len(credit) != len(CREDIT):
        given = option(credit=list(credit))
        raise InvalidOption(given, ": name three columns, as ", option(credit=list(CREDIT)))


def _refuse_unfit_columns(
    table: Table[Any], team: str, read: Sequence[str], slices: Sequence[str]
) -> None:
    """Refuse a table that lacks a column, and one that has a document twice in an impression."""
    rows = table.rows
    roles = table.setup.roles
    require_all(
        rows.schema,
        [
            *((name, "query") for name in roles.query),
            (team, "team"),
            (roles.label, "label"),
            *((name, "credit") for name in read),
        ],
    )
    require_number(rows.schema, roles.label, "label")
    for name in read:
        require_number(rows.schema, name, "credit")
    refuse_names([*TABLE, "outcome"], [*slices, *roles.query], "by, or the query,")
    doc = roles.doc_in(rows.columns)
    if doc is not None and rows.select(*roles.query, doc).is_duplicated().any():
        raise fault_in(rows, table.setup, "repeated document")


def _teams(rows: pl.DataFrame, team: str, baseline: str | None) -> list[str]:
    """The baseline and the other team."""
    names = rows[team].cast(pl.String)
    teams = sorted(names.drop_nulls().unique())
    if len(teams) != 2:
        raise InvalidData(
            f"column {team!r} names {len(teams)} teams; a preference is between two: "
            f"{', '.join(teams)}"
        )
    if baseline not in (None, *teams):
        there = f" is none of the teams, which are {' and '.join(teams)}"
        raise InvalidOption(option(baseline=baseline), there)
    return teams[::-1] if baseline == teams[1] else teams


def _clicks(
    table: Table[Any], team: str, run: str, credit: Sequence[str], read: Sequence[str]
) -> Clicks:
    """The clicks, with the team and the credit of each; 1 for credits that are not read."""
    rows = table.rows
    label = rows[table.setup.roles.label].cast(pl.Float64)
    if not label.is_finite().all():
        raise fault_in(rows, table.setup, "label not finite")
    ids = rows.select(table.setup.roles.query)
    is_of_run = rows[team].cast(pl.String) == run
    columns: dict[str, Any] = {
        "impression": pl.Series(numbered(ids).number, dtype=pl.Int64),
        "team": is_of_run.cast(pl.Int64).fill_null(NO_TEAM),
    }
    credits_read = {name: pl.col(name).cast(pl.Float64).fill_null(np.inf) for name in read}
    for at, name in zip(("credit", "rank", "other_rank"), credit, strict=True):
        columns[at] = credits_read.get(name, pl.lit(1.0))
    is_click = label >= table.setup.policies.relevant
    clicked = rows.select(**columns).filter(is_click)
    of_teams = clicked.filter(pl.col("team") != NO_TEAM)
    if not of_teams["credit"].is_between(0, 1).all():
        raise InvalidData(
            f"column {credit[0]!r}: the credit of a click is a probability, from 0 to 1, and "
            "never null"
        )
    return Clicks(*(column.to_numpy() for column in clicked))


def _unit(query: Sequence[str], user: str | None) -> list[pl.Expr]:
    """What identifies a user; the impression itself if its user is unknown."""
    if user is None:
        return [pl.col(name) for name in query]
    unknown = pl.col(user).is_null()
    ids = [pl.when(unknown).then(name).alias(name) for name in query]
    return [pl.col(user), *ids]


WITHIN = Limits(np.array([-0.5]), np.array([0.5]), np.array([True]))
"""The bounds of delta."""


def _flipped(total: Floats, how: Resampling, step: Progress) -> float:
    """The p-value of the test that flips the signs of users' sums."""
    p, _ = stats.paired_test(
        total[:, None], np.ones(len(total)), "permutation", how.resamples, how.seed, step
    )
    return float(p.item())


def _by_unit(part: pl.DataFrame, unit: list[pl.Expr]) -> pl.DataFrame:
    """When each user came first, the sum of the outcomes and the number of impressions."""
    first = pl.col("#came").min()
    total = pl.col("outcome").sum()
    n = pl.len().cast(pl.Float64)
    units = part.group_by(unit).agg(first, total, n.alias("#n"))
    return units.sort(unit, nulls_last=True)


class Inferred(NamedTuple):
    """What is inferred of a delta: its standard error, its interval with the kind of it, and p."""

    delta: float
    error: float
    low: float
    high: float
    kind: str | None
    p: float

    @property
    def figures(self) -> tuple[object, ...]:
        """The columns of `TABLE` from the delta to the p-value that is still to be adjusted."""
        return self.delta, self.low, self.high, self.kind, self.p, self.p


def _at_one_look(
    units: pl.DataFrame, by_user: bool, resampling: Resampling, bar: Progress
) -> Inferred:
    """What one look at the end tells."""
    total = units["outcome"].to_numpy()
    n = units["#n"].to_numpy()
    delta, error = clustered_mean(total / 2, n)
    if resampling.interval == "auto" and len(n) > MANY:
        resampling = replace(resampling, interval="t")
    deltas = total / n / 2
    low, high, kinds = resampling.intervals(deltas[:, None], n, WITHIN, bar)
    if by_user:
        p = _flipped(total, resampling, bar)
    else:
        wins = int((total > 0).sum())
        losses = int((total < 0).sum())
        p = stats.sign_test(wins, losses)
    return Inferred(delta, error, low.item(), high.item(), kinds[0], p)


def _at_any_look(units: pl.DataFrame, unit: Sequence[str], ci: float) -> Inferred:
    """What holds at all looks at once; users enter in the order in which they came."""
    mean = units["outcome"] / units["#n"]
    deltas = mean.to_numpy() / 2
    once = np.ones(len(deltas))
    delta, error = clustered_mean(deltas, once)
    of_hash = seeds_of(units, unit, 0)
    came = units["#came"].to_numpy()
    order = np.lexsort((of_hash, came))
    # It is shorter than betting for outcomes that spread so far.
    kind: Literal["empirical_bernstein"] = "empirical_bernstein"
    low, high, p = confidence_sequence(deltas[order, None], WITHIN[:2], ci, kind)
    # Where no delta is in all intervals so far, the preference changed between looks.
    if low > high:
        return Inferred(delta, error, math.nan, math.nan, kind, p.item())
    return Inferred(delta, error, low.item(), high.item(), kind, p.item())
