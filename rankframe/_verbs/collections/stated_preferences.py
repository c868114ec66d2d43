"""Preferences that people stated between documents: how many of them a ranking fulfils, and who
wins comparisons.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import polars as pl

from ..._plan.rank_order import numbered
from ..._results.columns import schema
from ..._statistics.preferences import fulfilled, preferred, strengths
from ..._support.floats import np
from ..._support.option_kinds import Column, check
from ..._support.option_values import Range
from ..._support.statistical_options import Confidence
from ..._table.check import fault_in
from ..._table.roles import require, require_number
from ..._table.table import Table, refuse_names
from ..._table.trec_eval import PREFERENCES
from ...errors import InvalidData, UnknownMetric, did_you_mean
from ..call.declaration import verb
from ..measure.evaluate import ranks_of
from ..sample.slices import in_slices


@verb(gives="query", labels=lambda _: True)
def evaluate(
    table: Table[Any], *measures: str, group: Column | None = None, subgroup: Column | None = None
) -> pl.DataFrame:
    """How many of the stated preferences a ranking fulfils, as trec_eval's ``prefs_`` measures
    count: one row per query.

    The table has a row for each document that a group judged, with its score, null if it was not
    retrieved. Within a group, a document is preferred to those with a lower label. A ranking
    fulfils a preference if it has the preferred document, and the other one not before it.

    Parameters
    ----------
    *measures
        The names, of all 14 if none is given: ``"prefs_simp"`` is the share of preferences that are
        fulfilled, ``"prefs_pair"`` the mean over pairs of documents, ``"prefs_avgjg"`` the mean
        over groups of each one's share, and ``"prefs_avgjg_Rnonrel"`` that with as many nonrelevant
        as relevant documents (label 0, and above 0) in each. ``_ret`` counts only preferences
        between two retrieved documents, and ``_imp`` none between two that were not retrieved.
        ``"prefs_num_prefs_poss"``, ``"prefs_num_prefs_ful"`` and ``"prefs_num_prefs_ful_ret"`` are
        counts.
    group
        The column of the judgment groups, such as people; ``None`` if all judgments of a query are
        one group.
    subgroup
        The column of subgroups, within which alone labels are compared; a group's preferences then
        also hold by way of others: of a to b and b to c, a to c follows. ``None`` if each group
        compares all of its documents.

    Returns
    -------
    A frame with the query columns and a Float64 column per measure, 0 where it would divide by 0.
    Rows without a label are documents that nobody judged; a label below 0 is a lower level here.
    trec_eval orders tied scores of these measures by rising id, which is ``on(ties="doc_asc")``.

    Raises
    ------
    InvalidData
        If a group prefers two documents to each other, judges a document twice in a subgroup, or
        once with 0 and once above.

    References
    ----------
    trec_eval, ``-m all_prefs``; B. Carterette, P. N. Bennett, D. M. Chickering, S. T. Dumais
    (2008), Here or there: preference judgments for relevance, ECIR.

    Examples
    --------
    Of the preferences a over b, a over c and b over c the ranking b, a, c fulfils the last two.

    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame({"query_id": [1] * 3, "doc_id": ["a", "b", "c"], "score": [2.0, 3.0, 1.0], "label": [2, 1, 0]})
    >>> found = df.rank.preferences.evaluate("prefs_simp", "prefs_num_prefs_poss")
    >>> round(found["prefs_simp"].item(), 3), found["prefs_num_prefs_poss"].item()
    (0.667, 3.0)
    """
    rows, setup = table.rows, table.setup
    names = check("measures", measures, Sequence[str]) or tuple(PREFERENCES)
    for name in names:
        if name not in PREFERENCES:
            raise UnknownMetric(f"unknown measure {name!r}.{did_you_mean(name, PREFERENCES)}")
    labels, doc = setup.roles.label, str(setup.roles.doc_name)
    for name, role in [
        (labels, "label"),
        (doc, "doc"),
        *((x, "group") for x in (group, subgroup) if x is not None),
    ]:
        require(rows.schema, name, role)
    require_number(rows.schema, labels, "label")
    refuse_names(names, setup.roles.query, "the query")
    key = [*setup.roles.query, doc]
    docs = rows.unique([*key, setup.roles.score], maintain_order=True)
    all_ranked = setup.changed(unjudged="nonrelevant")  # a label below 0 is a judgment here
    ranks = docs.select(key).with_columns(
        ranks_of(docs, all_ranked, "#rank")
    )  # refuses a document with two scores
    ranked = rows.join(ranks, on=key, how="left", nulls_equal=True, maintain_order="left")
    queries, depth = numbered(rows.select(setup.roles.query)), setup.policies.depth
    named = {"#group": group, "#subgroup": subgroup}
    judged = ranked.select(
        pl.Series("#query", queries.number),
        pl.when(pl.col("#rank") <= (2**32 if depth is None else depth))
        .then("#rank")
        .alias("#rank"),
        pl.col(doc).cast(pl.String).alias("#doc"),
        *(
            (pl.lit("") if x is None else pl.col(x).cast(pl.String).fill_null("")).alias(at)
            for at, x in named.items()
        ),
        pl.col(labels).cast(pl.Float64).alias("#level"),
    ).filter(pl.col("#level").is_not_null())
    if not judged["#level"].is_finite().all():
        raise fault_in(rows, setup, "label not finite")
    if judged.select("#query", "#doc", *named).is_duplicated().any():
        raise InvalidData("a group judges a document twice in a subgroup; keep one of the rows")
    values = np.zeros((len(queries.first), len(names)))
    ordered = judged.sort("#query", "#rank", "#doc", nulls_last=True)
    for (number,), part in ordered.partition_by("#query", as_dict=True, include_key=False).items():
        of_query = _measured(part)
        values[number] = [of_query[name] for name in names]
    result = rows[pl.Series(queries.first)].select(setup.roles.query)
    return result.hstack(pl.DataFrame(values, schema=dict.fromkeys(names, pl.Float64)))


def _measured(judged: pl.DataFrame) -> dict[str, float]:
    """The measures of a query, whose judgments are in rank order."""
    place = pl.struct("#rank", "#doc").rle_id().alias("#place")
    rows = judged.with_columns(place).sort("#group", "#subgroup", maintain_order=True)
    n = rows["#place"].n_unique()
    groups, relations = [], []
    for part in rows.partition_by("#group", maintain_order=True):
        subgroup = part["#subgroup"].rle_id().to_numpy()
        levels = np.full((subgroup[-1] + 1, n), np.nan)
        levels[subgroup, part["#place"].to_numpy()] = part["#level"].to_numpy()
        over = preferred(levels)
        if over is None:
            why = "it prefers two documents to each other, or judges one 0 and more"
            raise InvalidData(f"judgment group {part['#group'][0]!r} contradicts itself; {why}")
        groups.append(levels)
        relations.append(over)
    return fulfilled(
        groups, relations, judged.filter(pl.col("#rank").is_not_null())["#doc"].n_unique()
    )


STRENGTHS = schema("wins ties losses win_rate rate_low rate_high strength ci_low ci_high tie_rate")


@verb(gives="whole", labels=False, scores=False)
def bradley_terry(
    table: Table[Any],
    *,
    first: Column = "doc_a",
    second: Column = "doc_b",
    winner: Column = "winner",
    pooled: bool = False,
    prior: Annotated[float, Range(least=0, most=10**9)] = 0.0,
    ci: Confidence = 0.95,
) -> pl.DataFrame:
    """Win rates of documents that were compared two at a time, and strengths by the model of
    Bradley and Terry with ties.

    The table has a row for each comparison. Of two documents with strengths s and t, the first wins
    with odds exp(s), the second with odds exp(t), and they tie with odds nu exp((s + t) / 2)
    (Davidson, 1970). The likelihood is largest at these strengths.

    Parameters
    ----------
    first, second
        The columns of the two that are compared: documents, or systems.
    winner
        The column of the one that won; null or ``"tie"`` for neither.
    pooled
        False fits a model to each query, as for documents. True fits one to all queries, as for
        systems that answer them; the comparisons of a query may then resemble each other, and
        intervals take this into account.
    prior
        A number of wins, of losses and, if any comparison ties, of ties that each one is given
        against an imagined one of mean strength. With 0, a document that never loses has no finite
        strength, and all strengths of its query are null; 0.5 gives them one.
    ci
        The confidence of the intervals: Wilson's of the win rate, the normal one of the strength.

    Returns
    -------
    A frame of the caller's kind, the strongest first, query by query: the query columns (unless
    `pooled`), the document, under the table's name of this column, ``wins``, ``ties``, ``losses``
    (UInt32), ``win_rate`` (ties by half) from ``rate_low`` to ``rate_high``, ``strength`` (the mean
    of a query is 0; a difference of 1.1 means odds of 3 to 1) from ``ci_low`` to ``ci_high``, and
    ``tie_rate``, the probability that two of equal strength tie, all Float64. A LazyFrame is
    collected first. `pooled` needs SciPy.

    Raises
    ------
    InvalidData
        If a document is compared with itself, or a winner is neither of the two.

    References
    ----------
    R. A. Bradley, M. E. Terry (1952), Rank analysis of incomplete block designs, Biometrika 39. R.
    R. Davidson (1970), On extending the Bradley-Terry model to accommodate ties in paired
    comparison experiments, JASA 65.

    Examples
    --------
    Of four comparisons x wins three: the odds are 3 to 1, and log 3 is the difference of the
    strengths.

    >>> import polars as pl, rankframe as rf
    >>> pairs = pl.DataFrame({"query_id": 1, "doc_a": ["x"] * 4, "doc_b": ["y"] * 4, "winner": ["x", "x", "y", "x"]})
    >>> found = pairs.rank.preferences.bradley_terry()
    >>> found["doc_id"].to_list(), found["win_rate"].to_list(), found["strength"].round(3).to_list()
    (['x', 'y'], [0.75, 0.25], [0.549, -0.549])
    """
    rows, query, doc = table.rows, [*table.setup.roles.query], str(table.setup.roles.doc_name)
    for name, role in [
        *((x, "query") for x in query),
        (first, "first"),
        (second, "second"),
        (winner, "winner"),
    ]:
        require(rows.schema, name, role)
    own = [] if pooled else query
    refuse_names([doc, *STRENGTHS], own, "the query")
    a, b, won = (_texts(rows[name]) for name in (first, second, winner))
    tied = won.is_null() | ((won == "tie") & (won != a) & (won != b))
    wrong = (
        a.eq_missing(b) | a.is_null() | b.is_null() | ~(tied | (won == a) | (won == b))
    ).fill_null(True)
    if wrong.any():
        one, other, given = rows.select(first, second, winner).filter(wrong).row(0)
        raise InvalidData(
            f"{one!r} against {other!r}, won by {given!r}: a comparison is of two, and column "
            f"{winner!r} names one of them, or "
            "is null or 'tie' where neither won"
        )
    of_numbers = all(rows.schema[name].is_numeric() for name in (first, second))
    alike = of_numbers or rows.schema[first] == rows.schema[second]
    sides = [(rows[x] if alike else _texts(rows[x])).alias(doc).to_frame() for x in (first, second)]
    ids = pl.concat(sides, how="vertical_relaxed")[doc].unique().sort()
    number = {name: i for i, name in enumerate(_texts(ids))}
    queries = numbered(rows.select(query))
    compared = rows.select(
        pl.Series("#query", queries.number, dtype=pl.Int64),
        *(
            pl.Series(at, [number[name] for name in x], dtype=pl.Int64)
            for at, x in (("#a", a), ("#b", b))
        ),
        pl.Series("#outcome", np.where(tied, 1, np.where(won == a, 0, 2))),
    )
    found = [pl.DataFrame(schema={"#query": pl.Int64, "#id": pl.Int64, **STRENGTHS})]
    for part in in_slices(compared, [] if pooled else ["#query"]).values() if rows.height else ():
        names, at = np.unique(part.select("#a", "#b").to_numpy(), return_inverse=True)
        of_query = part["#query"].to_numpy()
        clusters = np.unique(of_query, return_inverse=True)[1] if pooled else None
        outcome = part["#outcome"].to_numpy()
        one, two = at.reshape(-1, 2).T
        x = strengths(one, two, outcome, len(names), prior=prior, clusters=clusters, ci=ci)
        figures = (
            x.wins,
            x.ties,
            x.losses,
            x.rate,
            *x.rate_ends,
            x.strength,
            *x.ends,
            np.full(len(names), x.tie),
        )
        columns = dict(
            zip(found[0].columns, (of_query[:1].repeat(len(names)), names, *figures), strict=True)
        )
        found.append(pl.DataFrame(columns).fill_nan(None).cast(pl.Schema(STRENGTHS)))
    order, falling = ["#query", "strength", "win_rate", "#id"], [False, True, True, False]
    best = pl.concat(found).sort(order, descending=falling, nulls_last=True)
    named = rows[pl.Series(queries.first)[best["#query"]]].select(*own, ids[best["#id"]])
    return named.hstack(best.select(*STRENGTHS))


def _texts(ids: pl.Series) -> pl.Series:
    """The ids as text, the same for a whole number of any type: pandas stores whole numbers with
    missing ones as floats.
    """
    return (
        ids.cast(pl.String).str.strip_suffix(".0") if ids.dtype.is_float() else ids.cast(pl.String)
    )
