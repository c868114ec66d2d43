"""Preferences between documents: how many a ranking fulfils, and who wins comparisons."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import polars as pl

from ..._plan.rank_order import numbered
from ..._results.columns import schema
from ..._statistics.preferences import fulfilled, preferred, strengths
from ..._support.floats import Integers, np
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
    >>> df = pl.DataFrame({"query_id": [1] * 3, "doc_id": ["a", "b", "c"],
    ...     "score": [2.0, 3.0, 1.0], "label": [2, 1, 0]})
    >>> found = df.rank.preferences.evaluate("prefs_simp", "prefs_num_prefs_poss")
    >>> round(found["prefs_simp"].item(), 3), found["prefs_num_prefs_poss"].item()
    (0.667, 3.0)
    """
    names = check("measures", measures, Sequence[str]) or tuple(PREFERENCES)
    _refuse_unknown(names)
    judged = _judgments(table, group, subgroup, names)
    query = [*table.setup.roles.query]
    queries = numbered(table.rows.select(query))
    judged = judged.with_columns(pl.Series("#query", queries.number))
    judged = judged.drop_nulls("#level")
    _refuse_unfit_levels(table, judged)
    values = np.zeros((len(queries.first), len(names)))
    judged = judged.sort("#query", "#rank", "#doc", nulls_last=True)
    by_query = judged.partition_by("#query", as_dict=True, include_key=False)
    for (number,), of_query in by_query.items():
        measured = _measured(of_query)
        values[number] = [measured[name] for name in names]
    first = pl.Series(queries.first)
    ids = table.rows[first].select(query)
    schema_of_values = dict.fromkeys(names, pl.Float64)
    measures_of = pl.DataFrame(values, schema=schema_of_values)
    return ids.hstack(measures_of)


def _refuse_unknown(measures: Sequence[str]) -> None:
    """Refuse a name that is none of trec_eval's measures of preferences."""
    for name in measures:
        if name not in PREFERENCES:
            raise UnknownMetric(f"unknown measure {name!r}.{did_you_mean(name, PREFERENCES)}")


def _judgments(
    table: Table[Any], group: str | None, subgroup: str | None, names: Sequence[str]
) -> pl.DataFrame:
    """The rank, document, group, subgroup and level of each row.

    Refused are a table without these columns, and a query column with a measure's name.
    """
    roles = table.setup.roles
    schema = table.rows.schema
    doc = str(roles.doc_name)
    required = [(roles.label, "label"), (doc, "doc")]
    required += [(name, "group") for name in (group, subgroup) if name is not None]
    for name, role in required:
        require(schema, name, role)
    require_number(schema, roles.label, "label")
    refuse_names(names, roles.query, "the query")
    rank = pl.col("#rank")
    depth = table.setup.policies.depth
    if depth is not None:
        rank = pl.when(rank <= depth).then(rank)
    return _ranked(table, [*roles.query, doc]).select(
        rank.alias("#rank"),
        pl.col(doc).cast(pl.String).alias("#doc"),
        _group(group).alias("#group"),
        _group(subgroup).alias("#subgroup"),
        pl.col(roles.label).cast(pl.Float64).alias("#level"),
    )


def _ranked(table: Table[Any], key: list[str]) -> pl.DataFrame:
    """The rows with the rank of their document, of which `key` has the columns."""
    rows = table.rows
    documents = rows.unique([*key, table.setup.roles.score], maintain_order=True)
    # A label below 0 is a judgment here, so that its document has a rank.
    all_ranked = table.setup.changed(unjudged="nonrelevant")
    # A document with two scores is refused here.
    ranks = ranks_of(documents, all_ranked, "#rank")
    rank_of = documents.select(key).hstack(ranks)
    return rows.join(rank_of, on=key, how="left", nulls_equal=True, maintain_order="left")


def _group(name: str | None) -> pl.Expr:
    """The names of groups as text; rows without a name are a group of their own."""
    if name is None:
        return pl.lit("")
    return pl.col(name).cast(pl.String).fill_null("")


def _refuse_unfit_levels(table: Table[Any], judged: pl.DataFrame) -> None:
    """Refuse a label that is not finite, and two judgments of a document in a subgroup."""
    is_finite = judged["#level"].is_finite()
    if not is_finite.all():
        raise fault_in(table.rows, table.setup, "label not finite")
    if judged.select("#query", "#doc", "#group", "#subgroup").is_duplicated().any():
        raise InvalidData("a group judges a document twice in a subgroup; keep one of the rows")


def _measured(judged: pl.DataFrame) -> dict[str, float]:
    """The measures of a query, whose judgments are in rank order."""
    place = pl.struct("#rank", "#doc").rle_id().alias("#place")
    rows = judged.with_columns(place)
    rows = rows.sort("#group", "#subgroup", maintain_order=True)
    n_places = rows["#place"].n_unique()
    groups = []
    relations = []
    for of_group in rows.partition_by("#group", maintain_order=True):
        subgroup = of_group["#subgroup"].rle_id().to_numpy()
        place_of = of_group["#place"].to_numpy()
        n_subgroups = subgroup[-1] + 1
        levels = np.full((n_subgroups, n_places), np.nan)
        levels[subgroup, place_of] = of_group["#level"].to_numpy()
        is_preferred = preferred(levels)
        if is_preferred is None:
            name = of_group["#group"][0]
            why = "it prefers two documents to each other, or judges one 0 and more"
            raise InvalidData(f"judgment group {name!r} contradicts itself; {why}")
        groups.append(levels)
        relations.append(is_preferred)
    retrieved = judged.drop_nulls("#rank")
    n_retrieved = retrieved["#doc"].n_unique()
    return fulfilled(groups, relations, n_retrieved)


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
    >>> pairs = pl.DataFrame({"query_id": 1, "doc_a": ["x"] * 4, "doc_b": ["y"] * 4,
    ...     "winner": ["x", "x", "y", "x"]})
    >>> found = pairs.rank.preferences.bradley_terry()
    >>> found["doc_id"].to_list(), found["win_rate"].to_list(), found["strength"].round(3).to_list()
    (['x', 'y'], [0.75, 0.25], [0.549, -0.549])
    """
    rows = table.rows
    query = [*table.setup.roles.query]
    doc = str(table.setup.roles.doc_name)
    required = [(name, "query") for name in query]
    required += [(first, "first"), (second, "second"), (winner, "winner")]
    for name, role in required:
        require(rows.schema, name, role)
    key = [] if pooled else query
    refuse_names([doc, *STRENGTHS], key, "the query")
    outcomes = _outcomes(rows, first, second, winner)
    ids = _ids(rows, [first, second]).rename(doc)
    number_of = {name: i for i, name in enumerate(_texts(ids))}
    queries = numbered(rows.select(query))
    compared = pl.DataFrame(
        {
            "#query": pl.Series(queries.number, dtype=pl.Int64),
            "#a": _numbers(rows[first], number_of),
            "#b": _numbers(rows[second], number_of),
            "#outcome": outcomes,
        }
    )
    dtypes: dict[str, Any] = {"#query": pl.Int64, "#id": pl.Int64, **STRENGTHS}
    tables = [pl.DataFrame(schema=dtypes)]
    if rows.height:
        by_model = in_slices(compared, [] if pooled else ["#query"])
        tables += [_strengths(part, pooled, prior, ci) for part in by_model.values()]
    order = ["#query", "strength", "win_rate", "#id"]
    strongest_first = pl.concat(tables).sort(
        order, descending=[False, True, True, False], nulls_last=True
    )
    first_rows = pl.Series(queries.first)[strongest_first["#query"]]
    in_order = ids[strongest_first["#id"]]
    named = rows[first_rows].select(*key, in_order)
    return named.hstack(strongest_first.select(*STRENGTHS))


def _outcomes(rows: pl.DataFrame, first: str, second: str, winner: str) -> Integers:
    """Who won each comparison: 0 for the first, 1 for neither, 2 for the second."""
    a = _texts(rows[first])
    b = _texts(rows[second])
    won = _texts(rows[winner])
    names_one = (won == a) | (won == b)
    says_tie = (won == "tie") & ~names_one
    tied = won.is_null() | says_tie
    of_two = a.ne_missing(b) & a.is_not_null() & b.is_not_null()
    fits = of_two & (tied | names_one)
    wrong = ~fits.fill_null(False)
    if wrong.any():
        one, other, given = rows.select(first, second, winner).filter(wrong).row(0)
        raise InvalidData(
            f"{one!r} against {other!r}, won by {given!r}: a comparison is of two, and column "
            f"{winner!r} names one of them, or "
            "is null or 'tie' where neither won"
        )
    of_winner = np.where(won == a, 0, 2)
    return np.where(tied, 1, of_winner)


def _ids(rows: pl.DataFrame, sides: Sequence[str]) -> pl.Series:
    """The different ids in order, in the type of both columns, or as text where types differ."""
    dtypes = {rows.schema[name] for name in sides}
    of_numbers = all(dtype.is_numeric() for dtype in dtypes)
    as_given = of_numbers or len(dtypes) == 1
    columns = [rows[name] if as_given else _texts(rows[name]) for name in sides]
    frames = [column.alias("id").to_frame() for column in columns]
    both = pl.concat(frames, how="vertical_relaxed")["id"]
    return both.unique().sort()


def _numbers(ids: pl.Series, number_of: Mapping[str, int]) -> pl.Series:
    """The number of each id."""
    numbers = [number_of[name] for name in _texts(ids)]
    return pl.Series(numbers, dtype=pl.Int64)


def _strengths(compared: pl.DataFrame, pooled: bool, prior: float, ci: float) -> pl.DataFrame:
    """The strengths of one model, a row per id."""
    sides = compared.select("#a", "#b").to_numpy()
    ids, number = np.unique(sides, return_inverse=True)
    one, other = number.reshape(-1, 2).T
    outcome = compared["#outcome"].to_numpy()
    query = compared["#query"].to_numpy()
    clusters = np.unique(query, return_inverse=True)[1] if pooled else None
    n = len(ids)
    model = strengths(one, other, outcome, n, prior=prior, clusters=clusters, ci=ci)
    rate_low, rate_high = model.rate_ends
    ci_low, ci_high = model.ends
    table = pl.DataFrame(
        {
            "#query": query[:1].repeat(n),
            "#id": ids,
            "wins": model.wins,
            "ties": model.ties,
            "losses": model.losses,
            "win_rate": model.rate,
            "rate_low": rate_low,
            "rate_high": rate_high,
            "strength": model.strength,
            "ci_low": ci_low,
            "ci_high": ci_high,
            "tie_rate": np.full(n, model.tie),
        }
    )
    return table.fill_nan(None).cast(pl.Schema(STRENGTHS))


def _texts(ids: pl.Series) -> pl.Series:
    """The ids as text, in which whole numbers are the same as integers and as floats.

    pandas stores whole numbers as floats where some are missing.
    """
    texts = ids.cast(pl.String)
    return texts.str.strip_suffix(".0") if ids.dtype.is_float() else texts
