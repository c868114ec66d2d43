"""The verb that shows the rankings of two runs as one list."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import polars as pl

from ..._plan.parts import in_parts
from ..._results.columns import schema
from ..._statistics.interleaving import NO_TEAM, Method, Pick, interleaved
from ..._support.draws import seeds_of, uniforms
from ..._support.floats import np
from ..._support.statistical_options import Seed
from ..._table.policies import Cutoff
from ..._table.roles import ROW, require
from ..._table.runs import Runs
from ..._table.setup import Setup
from ..._table.shared_options import OfRuns, runs_of
from ..._table.table import Table, refuse_names
from ...errors import InvalidOption, option
from ..call.declaration import verb
from ..measure.evaluate import refuse_averages
from ..sample.entries import entries_of

if TYPE_CHECKING:
    from typing import Unpack

SHOWN = schema("rank team credit team_rank other_rank")
"""The columns between the document and the label."""


@verb(gives="list")
def interleave(
    table: Table[Any],
    *,
    method: Method = "team_draft",
    k: Cutoff | None = 10,
    seed: Seed = 0,
    **options: Unpack[OfRuns],
) -> pl.DataFrame:
    """The rankings of two runs as one list for each query, with the run that each document counts
    for.

    Show the list to users, record their clicks, and :meth:`preference` computes which run they
    prefer.

    Parameters
    ----------
    runs, run
        The two runs, as for :meth:`compare`.
    method
        How the list is made. ``"team_draft"``: in rounds; in each round a coin says which run picks
        first, and each run picks its best document that is not in the list yet. ``"balanced"``: one
        coin says which run is first; the runs take turns down their rankings, and documents that
        are in the list are skipped. ``"probabilistic"``: for each rank a coin says which run draws
        one of its documents that are not in the list yet, with chances that fall with their ranks
        as 1 / rank^3.
    k
        The length of the list; ``None`` for all documents.
    seed
        The seed of the draws. Those of a query depend on its id and the seed alone: neither on
        other queries nor on the order of the rows. If a query is asked several times, name a column
        of the occasion, too, as in ``on(query=["query_id", "session_id"])``, so that the draws
        differ.

    Returns
    -------
    A frame of the caller's kind with a row per document of a list, query by query from the top;
    lazy frames have no defined order of queries: the query columns, the document, and

    - ``rank`` (UInt32), its place in the list;
    - ``team`` (String), the name of the run that picked it. Below the end of the shorter ranking,
      documents follow that have no team (null), so that the run with more documents has no
      advantage;
    - ``credit`` (Float64), the probability that it comes from its team, given the list: 1, but for
      ``"probabilistic"``;
    - ``team_rank`` and ``other_rank`` (UInt32), its rank in the run of its team, and in the other;
      null if that one lacks it;
    - the label, if the table has one.

    Raises
    ------
    InvalidOption
        If there are not two runs, or ``ties="expected"`` leaves their order open.
    MissingColumn, InvalidData
        As for :meth:`fuse`.

    References
    ----------
    F. Radlinski, M. Kurup, T. Joachims (2008), How does clickthrough data reflect retrieval
    quality?, CIKM (team draft). T. Joachims (2003), Evaluating retrieval performance using
    clickthrough data (balanced). K. Hofmann, S. Whiteson, M. de Rijke (2011), A probabilistic
    method for inferring preferences from clicks, CIKM.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame({"query_id": 1, "doc_id": ["x", "y", "z"],
    ...     "old": [3, 2, None], "new": [None, 2, 3]})
    >>> lists = df.rank.clicks.interleave(runs=["old", "new"], method="balanced", k=2)
    >>> lists["doc_id"].to_list(), lists["team"].to_list()
    (['x', 'z'], ['old', 'new'])
    """
    chosen = runs_of(options).required()
    setup = chosen.queries(table.setup)
    doc = str(table.setup.roles.doc_name)
    refuse_averages(setup, "interleave")
    require(table.rows.schema, doc, "doc")
    refuse_names([*SHOWN], [*setup.roles.query, doc, setup.roles.label], "the table")
    known = None if table.whole is None else table.whole.runs
    names = [*(chosen.names(table.rows) if known is None else known)]
    if chosen.key:
        # The order of the rows must not say which run is first.
        names.sort()
    if len(names) != 2 and (table.rows.height or not chosen.key):
        given = option(run=chosen.column) if chosen.key else option(runs=names)
        says = f" names {len(names)} runs, and two are interleaved; leave the others out"
        raise InvalidOption(given, says)
    work = partial(_lists, setup=setup, runs=chosen, names=names, method=method, k=k, seed=seed)
    return in_parts(table.rows, setup, chosen.columns, work)


def _lists(
    frame: pl.DataFrame,
    setup: Setup,
    runs: Runs,
    names: list[str],
    method: Method,
    k: int | None,
    seed: int,
) -> pl.DataFrame:
    """The lists of a part's queries, in the order in which these first appear."""
    entries = entries_of(frame, setup, runs, names, depth=setup.policies.depth, absent=False)
    documents = entries.documents
    rows = entries.rows.select("#list", "#document", "#run", "#rank").collect(engine="in-memory")
    of_list = rows.group_by("#list").agg("#document")
    ranked = dict(of_list.iter_rows())
    first = np.unique(entries.query, return_index=True)[1]
    picks: list[Pick] = []
    lengths = np.zeros(len(first), dtype=np.int64)
    for number, stream in enumerate(seeds_of(documents[first], setup.roles.query, seed)):
        of_runs = [ranked.get(2 * number + team, []) for team in (0, 1)]
        n_documents = len({*of_runs[0], *of_runs[1]})
        n = n_documents if k is None else min(n_documents, k)
        lengths[number] = n
        if n:
            coins = uniforms(stream, 2 * n)[:, 0]
            picks += interleaved(method, of_runs, coins)
    document = np.array([pick[0] for pick in picks], dtype=np.int64)
    team = np.array([pick[1] for pick in picks], dtype=np.int64)
    ends = np.cumsum(lengths)
    start = np.repeat(ends - lengths, lengths)
    ranks = np.full((documents.height, 2), np.nan)
    row = rows["#document"].to_numpy()
    column = rows["#run"].to_numpy()
    ranks[row, column] = rows["#rank"].to_numpy()
    has_team = team != NO_TEAM
    other_team = (team == 0).astype(np.int64)
    columns = {
        "rank": np.arange(1, len(picks) + 1) - start,
        "team": [None if x == NO_TEAM else names[x] for x in team],
        "credit": np.array([pick[2] for pick in picks], dtype=np.float64),
        "team_rank": np.where(has_team, ranks[document, team], np.nan),
        "other_rank": np.where(has_team, ranks[document, other_team], np.nan),
    }
    shown = pl.DataFrame(columns).fill_nan(None).cast(pl.Schema(SHOWN))
    lists = documents[document].with_columns(shown)
    last = [name for name in (setup.roles.label, ROW) if name in documents.columns]
    if ROW in documents.columns:
        query = first.repeat(lengths)
        lists = lists.with_columns(documents[ROW][query])
    doc = str(setup.roles.doc_name)
    return lists.select(*setup.roles.query, doc, *SHOWN, *last)
