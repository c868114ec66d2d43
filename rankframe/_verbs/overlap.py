"""The overlap of the rankings of several runs, and the documents that only one of them finds."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any, TypeVar, cast

import polars as pl

from .._catalog.call import call_of
from .._catalog.registry import AGREEMENTS
from .._results.grid import Cell, Grid, Record, left_out, named, numbers, queries_of, records
from .._results.result import MOST_ROWS, Result
from .._results.sentences import IN_TEXT, Quotes, quoted
from .._support.option_kinds import Column
from .._table.policies import Cutoff
from .._table.roles import require_number
from .._table.runs import Runs, TheRuns
from .._table.setup import Roles, Setup
from .._table.table import Table, in_memory
from ..errors import InvalidOption
from .compare import settings_of
from .declaration import call_of_verb, verb
from .entries import Entries, entries_of
from .evaluate import agreement
from .paired_values import Design

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from .._support.floats import Floats

R = TypeVar("R")

R_co = TypeVar("R_co", covariant=True)

PAIRS = {
    "run": pl.String, "other": pl.String, "overlap": pl.Float64, "jaccard": pl.Float64, "rbo": pl.Float64,
    "n_queries": pl.UInt32,
}  # fmt: skip
OF_RUNS = {"run": pl.String, **dict.fromkeys(["retrieved", "only", "relevant", "only_relevant"], pl.UInt32)}


@dataclass(frozen=True, repr=False)
class Overlap(Result[R_co]):
    """The overlap of several runs.

    Attributes
    ----------
    table
        A row per pair of runs: ``run``, ``other``; ``overlap`` (the number of documents in the top k of both, over k),
        ``jaccard`` (that number over the number of documents in the top k of either) and ``rbo`` (rank-biased overlap of
        the whole rankings, with a persistence of 0.9), all Float64 from 0 to 1: the means over the queries for which
        either run retrieves a document; and the number of these, ``n_queries`` (UInt32).
    runs
        A row per run: ``run``; how many documents its top k hold over all queries, ``retrieved``, and how many of them no
        other run has in its top k, ``only``; the same of relevant documents, ``relevant`` and ``only_relevant``, which
        are null if the table has no labels; all UInt32.
    settings
        How it was computed: the cutoff, the runs, the policies, the versions.
    """

    table: R_co
    runs: R_co
    settings: Mapping[str, Any]

    def sentences(self, quotes: Quotes = IN_TEXT) -> list[str]:
        """The pairs of runs with the largest and the least overlap, and the documents of each run alone."""
        pairs = [row for row in records(self.table) if row["jaccard"] is not None]
        if not pairs:
            return ["No run has a document"]
        most, least = (how(pairs, key=lambda row: float(row["jaccard"])) for how in (max, min))
        share = f"of the documents{self._top} of either"
        common = f"{_both(most, quotes)} have {_share(most)} {share} in common"
        if len(pairs) > 1:
            common = f"{_both(most, quotes)} have most in common, {_share(most)} {share}, and {_both(least, quotes)} least, {_share(least)}"
        runs = records(self.runs)
        judged = all(row["relevant"] is not None for row in runs)
        kind, counted = ("Relevant documents", "only_relevant") if judged else ("Documents", "only")
        alone = ", ".join(f"{quoted(row['run'], quotes)} {row[counted]:,}" for row in runs)
        return [common, f"{kind}{self._top} of one run only: {alone}"]

    def grids(self, most: int | None = MOST_ROWS) -> list[Grid]:
        """The figures of pairs of runs and of single runs."""
        pairs, runs, k = records(self.table), records(self.runs), self.settings["k"]
        figures = ("overlap", "jaccard", "rbo")
        body = [(*named(row, "run", "other"), *numbers(row, *figures)) for row in pairs[:most]]
        over = "the length of the longer ranking" if k is None else k
        note = f"Means over {queries_of(pairs)}. overlap: common documents over {over}; jaccard: over those of either run; rbo: rank-biased overlap of the whole rankings."
        names = ("retrieved", "only", "relevant", "only_relevant")
        counts = [name for name in names if any(row[name] is not None for row in runs)]
        of_runs = [(*named(row, "run"), *(Cell(f"{row[name]:,}", row[name]) for name in counts)) for row in runs]
        own = f"Documents{self._top} over all queries; only: those that no other run has there."
        return [
            Grid(("run", "other"), figures, body, (note,)),
            Grid(
                ("run",), tuple(name.replace("_", " ") for name in counts), of_runs, (own, *left_out(self, pairs, most))
            ),
        ]

    @property
    def _top(self) -> str:
        k = self.settings["k"]
        return "" if k is None else f" in the top {k}"


@verb(gives="whole", labels=True)
def overlap(
    table: Table[R], *, runs: TheRuns | None = None, run: Column | None = None, k: Cutoff | None = 10
) -> Overlap[R]:
    """The overlap of the rankings of every two runs, and the documents that each run finds alone.

    Parameters
    ----------
    runs, run
        The runs, as for :meth:`fuse`.
    k
        How many documents of each ranking count, except for rank-biased overlap; ``None`` counts all.

    Returns
    -------
    An object that shows the result in two sentences and two tables, which are frames of the caller's kind. A LazyFrame
    is collected first.

    - ``table`` has a row per pair of runs: ``run``, ``other``; ``overlap`` (the number of documents in the top k of both,
      over k), ``jaccard`` (over the number in the top k of either) and ``rbo`` (rank-biased overlap of the whole rankings
      with a persistence of 0.9), all Float64 from 0 to 1, the means over the queries for which either run retrieves a
      document, null if there is none; and the number of these queries, ``n_queries`` (UInt32).
    - ``runs`` has a row per run: ``run``; how many documents its top k hold over all queries, ``retrieved``, and how many
      of these no other run has in its top k, ``only``; the same of relevant documents, ``relevant`` and
      ``only_relevant``, null if the table has no labels; all UInt32.
    - ``settings`` is a dictionary of how it was computed.

    Ranks follow the tie rule.

    Raises
    ------
    InvalidOption
        If there are fewer than two runs, or `k` is no whole number from 1 on.
    MissingColumn, InvalidData
        As for :meth:`fuse`.

    References
    ----------
    Webber, Moffat, Zobel, A similarity measure for indefinite rankings, ACM TOIS 28(4), 2010.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame({"query_id": [1, 1, 1], "doc_id": list("abc"), "bm25": [3, 2, 1], "dense": [None, 2, 1], "label": [1, 0, 0]})
    >>> found = df.rank.fusion.overlap(runs=["bm25", "dense"], k=2)             # a and b; b and c
    >>> found.table["overlap"].item(), found.table["jaccard"].item()
    (0.5, 0.3333333333333333)
    >>> found.runs["run"].to_list(), found.runs["only"].to_list(), found.runs["only_relevant"].to_list()
    (['bm25', 'dense'], [1, 1], [1, 0])
    """
    eager, setup, chosen = table.rows, table.setup, Design(Runs.of(runs, run), None, (), None, "error").runs
    names = chosen.names(eager)
    if len(names) < 2:
        raise InvalidOption(
            f"there is one run to compare, {', '.join(map(repr, names)) or 'and no row'}; give two or more"
        )
    entries = entries_of(eager, setup, chosen, names, depth=setup.policies.depth, absent=False)
    ranks = _ranks(entries)
    top = ranks < (math.inf if k is None else k + 1)
    pairs = combinations(range(len(names)), 2)
    rows = [(names[a], names[b], *_in_common(entries.query, ranks, top, (a, b), k)) for a, b in pairs]
    of_runs = _of_runs(entries, top, names, setup)
    settings = {"k": k, "runs": names, "run": chosen.column, **settings_of(setup, eager)}
    return Overlap(table.give(pl.DataFrame(rows, schema=PAIRS, orient="row")), table.give(of_runs), settings)


def _ranks(entries: Entries) -> Floats:
    """The rank of each document in each run; infinite in a run that lacks it."""
    import numpy as np

    ranks = np.full((entries.documents.height, entries.n_runs), math.inf)
    rows = entries.rows.select("#document", "#run", "#rank").collect(engine="in-memory")
    ranks[rows["#document"].to_numpy(), rows["#run"].to_numpy()] = rows["#rank"].to_numpy()
    return ranks


def _in_common(
    query: NDArray[np.int64], ranks: Floats, top: NDArray[np.bool_], pair: tuple[int, int], k: int | None
) -> tuple[float | None, float | None, float | None, int]:
    """Of two runs, the means over queries: overlap, Jaccard index and rank-biased overlap; and the number of queries."""
    import numpy as np

    one, other = pair
    scores = {name: pl.Series(-ranks[:, run]) for name, run in zip(("one", "other"), pair, strict=True)}
    rows = pl.DataFrame({"query": query, "document": np.arange(len(query)), **scores})
    rows = rows.with_columns(pl.when(pl.col(name).is_finite()).then(name).alias(name) for name in scores)
    rows = rows.filter(pl.any_horizontal(pl.col(*scores).is_not_null()))
    calls = call_of(AGREEMENTS["overlap"], (), {"k": k}), call_of(AGREEMENTS["rbo"], (), {})
    of_rows = Setup(Roles(query=("query",), doc="document", score="one"))
    values = call_of_verb(agreement, "other", *calls).on(in_memory(rows, of_rows))
    common, either = (np.bincount(query[x]) for x in (top[:, one] & top[:, other], top[:, one] | top[:, other]))
    shared = np.pad(common, (0, len(either) - len(common)))[either > 0] / either[either > 0]
    jaccard = float(shared.mean()) if len(shared) else None
    overlap, rbo = (cast("float | None", values[call.text].mean()) for call in calls)
    return overlap, jaccard, rbo, values.height


def _of_runs(entries: Entries, top: NDArray[np.bool_], names: Sequence[str], setup: Setup) -> pl.DataFrame:
    """A row per run: how many documents it retrieves, and how many only it retrieves."""
    counts = [names, *_counts(top)]
    label = setup.roles.label
    if label in entries.documents.columns:
        require_number(entries.documents.schema, label, "label")
        relevant = pl.col(label).cast(pl.Float64) >= setup.policies.relevant
        counts += _counts(top[entries.documents.select(relevant.fill_null(False)).to_series().to_numpy()])
    else:
        counts += [[None] * len(names)] * 2
    return pl.DataFrame(dict(zip(OF_RUNS, counts, strict=True)), schema=OF_RUNS)


def _counts(top: NDArray[np.bool_]) -> tuple[list[int], list[int]]:
    """The number of documents of each run, and of documents that no other run has."""
    alone = top & (top.sum(axis=1, keepdims=True) == 1)
    return top.sum(axis=0).tolist(), alone.sum(axis=0).tolist()


def _both(row: Record, quotes: tuple[str, str]) -> str:
    return " and ".join(quoted(row[name], quotes) for name in ("run", "other"))


def _share(row: Record) -> str:
    share = 100 * row["jaccard"]
    return f"{share:.{int(0 < share < 10)}f}%"
