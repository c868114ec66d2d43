"""Fuse several rankings into one, and explain what each run contributes to a score."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import polars as pl

from ... import fusions  # noqa: F401 - fills the registry
from ..._catalog.call import Call
from ..._catalog.fusions import NORMALIZATIONS, Fusion, fusion_of
from ..._plan.parts import in_parts
from ..._plan.rank_order import in_rank_order
from ..._results.columns import schema
from ..._support.floats import Floats, Integers, np
from ..._table.columns import Columns
from ..._table.policies import Cutoff
from ..._table.roles import ROW
from ..._table.runs import RUN_OF_TABLE, Runs, TheRuns
from ..._table.setup import Setup, refuse_bounds
from ..._table.shared_options import OfRuns
from ..._table.table import Table, refuse_names
from ..._words.rankings import How, Missing, Rankings
from ..._words.sorted_rows import Needed
from ...errors import InvalidData, InvalidOption, option
from ..call.declaration import verb, with_options_of
from ..sample.entries import Entries, entries_of
from .fitted import FittedFusion, FusionMethod, runs_for

if TYPE_CHECKING:
    from typing import Unpack

Names: TypeAlias = Sequence[str] | frozenset[str]
"""The names of the runs of a whole table; in a set if they have no order."""

SCORE = "score"
"""The column of the fused score."""

LISTED = "#listed"
"""Whether any ranking has the document."""

FIRST_BITS = ~((1 << 29) - 1)
"""The bits of a 64-bit number that hold its sign, its exponent and the first 24 of its 53
digits."""


def method_of(method: str | Call | FittedFusion[object], **options: object) -> Call:
    """The call of a method that a caller names, or has trained."""
    if isinstance(method, Call):
        return method
    if not isinstance(method, FittedFusion):
        return fusion_of(method, **options)
    given = {name: value for name, value in options.items() if value is not None}
    if given:
        says = f" belongs to the training of {method.method}; train it so, and leave it out"
        raise InvalidOption(option(**given), says)
    return method.call


def with_weights(
    weights: Sequence[float] | Mapping[str, float] | None, names: Sequence[str]
) -> Sequence[float] | None:
    """The weights in the order of the runs."""
    if not isinstance(weights, Mapping):
        return weights
    # An empty table names no runs.
    if not names:
        return list(weights.values())
    weight_of = {str(name): weight for name, weight in weights.items()}
    if weight_of.keys() != {*names}:
        says = f" name other runs than the table, which has {', '.join(names)}; give one for each"
        raise InvalidOption(option(weights=dict(weights)), says)
    return [weight_of[name] for name in names]


def formulated(
    call: Call, entries: Entries, *, expected: bool, shared: Rankings | None = None
) -> tuple[Rankings, pl.Expr]:
    """The columns that a method needs, and its value for each document.

    The columns of `shared` are among them.
    """
    method = cast("Fusion", call.metric)
    options = call.arguments
    options.pop(method.depth[0], None)
    missing = options.pop("missing", "skip")
    normalize = options.pop("normalize", None)
    formula_of_scores = None if normalize is None else NORMALIZATIONS[normalize]
    needed = Needed(["#list"]) if shared is None else shared.needed
    rankings = Rankings(needed, entries.n_runs, formula_of_scores, missing, expected)
    if shared is not None:
        rankings.of_documents = shared.of_documents
    return rankings, method.formula(rankings, **options)


def needs(call: Call, setup: Setup) -> tuple[int | None, bool]:
    """The depth at which a method cuts rankings, and whether it counts absent documents."""
    method = cast("Fusion", call.metric)
    options = call.arguments
    name, default = method.depth
    depth = options.get(name, setup.policies.depth or default)
    absent = method.absent or options.get("missing", "skip") != "skip"
    return depth, absent


def fused(
    frame: pl.DataFrame, setup: Setup, call: Call, runs: Runs, names: Sequence[str]
) -> pl.DataFrame:
    """A row per document of a query, with its fused score; null for one that no ranking has."""
    depth, absent = needs(call, setup)
    entries = entries_of(frame, setup, runs, names, depth=depth, absent=absent)
    expected = setup.policies.tie_rule.averages
    documents = scored(entries, [call], expected=expected)
    label = [name for name in documents.columns if name == setup.roles.label]
    return documents.select(pl.exclude("#0", *label), pl.col("#0").alias(SCORE), *label)


def scored(entries: Entries, calls: Sequence[Call], *, expected: bool) -> pl.DataFrame:
    """The documents with their fused scores by each method, as ``#0``, ``#1`` and so on.

    The methods share their columns.
    """
    is_listed = pl.col(LISTED)
    rankings = None
    values = []
    for i, call in enumerate(calls):
        rankings, value = formulated(call, entries, expected=expected, shared=rankings)
        score = pl.when(is_listed).then(value)
        values.append(score.cast(pl.Float64).alias(f"#{i}"))
    if rankings is None:
        return entries.documents
    faults = rankings.needed.refused.values()
    parts = rankings.of_documents
    columns = {name: term for name, (_, term) in parts.items()}
    columns |= {fault.column: fault.rows for fault in faults}
    rows = rankings.needed.compute(entries.rows)
    terms = rows.select("#document", **columns).collect(engine="in-memory")
    for fault in faults:
        if terms[fault.column].any():
            raise InvalidData(fault.message)
    by_document = per_document(terms, parts, entries.documents.height)
    scores = by_document.select(values)
    for call, column in zip(calls, scores, strict=True):
        if not column.is_finite().all():
            says = f"{call.text} gives a document a score that is NaN or infinite"
            raise InvalidData(f"{says}; give smaller scores, weights or exponents")
    return entries.documents.with_columns(scores)


def per_document(
    rows: pl.DataFrame, parts: Mapping[str, tuple[How, pl.Expr]], height: int
) -> pl.DataFrame:
    """A row per document, with the aggregates `parts` of its rows."""
    document = rows["#document"].to_numpy()
    n_rows = np.bincount(document, minlength=height)
    columns = {LISTED: pl.Series(n_rows > 0)}
    how_of = {name: how for name, (how, _) in parts.items() if how != "sum"}
    if how_of:
        aggregates = {name: getattr(pl.col(name), how)() for name, how in how_of.items()}
        listed = rows.group_by("#document").agg(**aggregates)
        every = pl.DataFrame({"#document": np.arange(height)})
        every = every.join(listed, "#document", "left", maintain_order="left")
        columns.update({name: every[name] for name in how_of})
    for name in parts.keys() - how_of.keys():
        terms = rows[name].fill_null(0).cast(pl.Float64).to_numpy()
        sums = _sums(document, terms, height)
        columns[name] = pl.Series(sums)
    return pl.DataFrame(columns)


def _sums(document: Integers, terms: Floats, height: int) -> Floats:
    """The sum of each document's terms, the same in any order of rows, so that equal sums are ties.

    The first 24 bits of the terms and the other bits add up without rounding, if the terms are of
    similar size.
    """
    bits = terms.view(np.int64) & FIRST_BITS
    first_bits = bits.view(np.float64)
    # Terms may be infinite here; the fused score is refused later.
    with np.errstate(invalid="ignore"):
        other_bits = terms - first_bits
    sums = np.bincount(document, first_bits, minlength=height)
    sums = sums + np.bincount(document, other_bits, minlength=height)
    return np.asarray(sums, dtype=np.float64)


def over_runs(
    work: Callable[..., pl.DataFrame],
    table: Table[Any],
    method: str | FittedFusion[object],
    runs: Runs,
    options: Mapping[str, Any],
    new: Iterable[str],
) -> pl.DataFrame:
    """Run `work`, a function such as `fused`, on whole queries of the table.

    `new` are the columns that it adds.
    """
    rows = table.rows
    setup = table.setup
    label = setup.roles.label
    runs.required()
    if isinstance(method, FittedFusion):
        runs = method.in_order(runs)
    of_query = runs.queries(setup)
    doc = setup.roles.doc_in(rows.schema)
    taken = [*of_query.roles.query, doc, label]
    refuse_names([*new], [name for name in taken if name is not None], "the table")
    refuse_bounds(setup)
    of_whole = None if table.whole is None else table.whole.runs
    given = runs.names(rows) if of_whole is None else of_whole
    has_order = not isinstance(given, frozenset)
    names: Sequence[str] = sorted(given) if isinstance(given, frozenset) else given
    if isinstance(method, FittedFusion) and names:
        names = method.matched(names)
    weights = options.get("weights")
    in_order = with_weights(weights, names)
    call = method_of(method, **{**options, "weights": in_order})
    has_weights = call.arguments.get("weights") is not None
    if has_weights and not has_order and not isinstance(weights, Mapping):
        says = (
            "weights are given in the order of the runs, and the rows of this table have no "
            f"order, so that the runs of column {runs.column!r} have none; name the run of each "
            "weight: "
        )
        raise InvalidOption(says, option(weights={"bm25": 0.7, "dense": 0.3}))

    def of_part(part: pl.DataFrame) -> pl.DataFrame:
        return work(part, of_query, call, runs, names)

    return in_parts(rows, of_query, [*runs.columns, label], of_part)


@verb(gives="list", runs=runs_for)
def fuse(
    table: Table[Any],
    method: FusionMethod,
    *,
    normalize: str | None = None,
    weights: Sequence[float] | Mapping[str, float] | None = None,
    missing: Missing | None = None,
    depth: Cutoff | None = None,
    **chosen: Unpack[OfRuns],
) -> pl.DataFrame:
    """Merge the rankings of several runs into one, with one fused score per document.

    Parameters
    ----------
    method
        A method with its options, as ``"rrf"``, ``"rrf(k=10)"``, ``"comb_mnz(normalize=min_max)"``
        or ``"wsum(weights=[0.7,0.3])"``; ``rf.FUSIONS`` lists them all. The options below may stand
        in the text instead. Or the result of ``df.rank.fusion.fit``, without options; its runs are
        by default those of its training.
    runs
        The columns of the runs' scores, in a table with a row per document; null where a run does
        not retrieve it. Or a table for each run, including the table of `.rank`: ``{"bm25": df_a,
        "dense": df_b}``.
    run
        The column that names the run of each row, in a table with a row per run and document;
        instead of `runs`.
    normalize
        The normalisation that brings the scores of each ranking to one scale before they are added
        up: ``"min_max"``, ``"max"``, ``"sum"``, ``"zmuv"``, ``"rank"``, ``"l2"``, ``"dbsf"`` or
        ``"min_max_inverted"``. ``None`` leaves them as they are.
    weights
        A weight for each run: in the order of `runs`, or of first appearance in the column; or a
        mapping by the runs' names.
    missing
        The score of a document in a ranking that lacks it: ``"skip"``, the default, gives none;
        ``"zero"`` gives 0; ``"min"`` gives the least normalised score of the ranking.
    depth
        How many documents of each ranking count; default: those of ``on(depth=...)``, or else all.

    Returns
    -------
    A frame of the caller's kind with a row per document of a query, in the order of first
    appearance: the query columns, the document, the fused score as ``score`` (Float64), and the
    label if the table has one. The score is null for a document that no ranking has, such as a
    judged one, so that metrics count it as missed. Lazy frames have no defined order.

    The tie rule orders equal scores in a ranking; with ``on(ties="expected")`` each gets the mean
    contribution of their ranks. The tie rule also decides which of equal scores at the depth stay;
    with ``"expected"``, those with the larger ids.

    Raises
    ------
    InvalidOption
        If the method is unknown, an option is out of its range, or no runs are named.
    MissingColumn, InvalidData
        If a column is missing or holds no numbers; if a score is NaN, or, where scores are added
        up, infinite or beyond 1e150, or negative where a normalisation is not defined for it; if a
        document appears twice in a ranking, or has different labels in different runs; if a fused
        score would be no number.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame({"query_id": [1, 1, 1], "doc_id": ["a", "b", "c"],
    ...     "bm25": [9.0, 7, None], "dense": [None, 0.8, 0.6]})
    >>> fused = df.rank.fuse("rrf(k=60)", runs=["bm25", "dense"])
    >>> [round(score, 6) for score in fused["score"].to_list()]    # 1/61, 1/62 + 1/61, 1/62
    [0.016393, 0.032522, 0.016129]
    """
    options = {"normalize": normalize, "weights": weights, "missing": missing, "depth": depth}
    runs = runs_for(method, **chosen)
    return over_runs(fused, table, method, runs, options, [SCORE])


FIGURES = schema("run rank score normalized contribution fused fused_rank")
"""The columns between the document and the label."""


@verb(gives="list", runs=runs_for)
@with_options_of(fuse)
def explain(
    table: Table[Any],
    method: FusionMethod,
    runs: TheRuns | None = None,
    run: str | None = None,
    **options: Any,
) -> pl.DataFrame:
    """The contribution of each run to the fused score of each document.

    Parameters
    ----------
    method, runs, run, normalize, weights, missing, depth
        As for :meth:`fuse`.

    Returns
    -------
    A frame of the caller's kind with a row per document of a query and run that has it:

    - the query columns, the document, and ``run`` (String);
    - ``rank`` (UInt32) and ``score`` (Float64), of the document in the run;
    - ``normalized`` (Float64), the score after `normalize`; null for methods that go by ranks
      alone;
    - ``contribution`` (Float64): the term of the run in the sum, times the factor of the document
      if the method has one, as the number of runs in ``comb_mnz``. Contributions of a document add
      up to its fused score. Null for methods that are no sum, as ``comb_min``, ``comb_max``,
      ``comb_med`` and ``condorcet``;
    - ``fused`` (Float64) and ``fused_rank`` (UInt32), the same in all rows of a document;
    - the label, if the table has one.

    If the method counts absent documents (``borda``, and ``missing="zero"`` or ``"min"``), a run
    that lacks a document has a row, too, whose rank and score are null. Eager frames come query by
    query, by fused rank, and of each document in the order of the runs; lazy frames have no defined
    order. Documents that no run has are left out.

    Raises
    ------
    InvalidOption, MissingColumn, InvalidData
        As for :meth:`fuse`.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame({"query_id": [1, 1], "doc_id": ["a", "b"],
    ...     "bm25": [9.0, 7], "dense": [None, 0.8]})
    >>> found = df.rank.fusion.explain("rrf(k=1)", runs=["bm25", "dense"])
    >>> found["doc_id"].to_list(), found["run"].to_list(), found["rank"].to_list()
    (['b', 'b', 'a'], ['bm25', 'dense', 'bm25'], [2, 1, 1])
    >>> found["contribution"].to_list(), found["fused_rank"].to_list()
    ([0.3333333333333333, 0.5, 0.5], [1, 1, 2])
    """
    chosen = runs_for(method, runs, run)
    return over_runs(_explained, table, method, chosen, options, [*FIGURES])


def _explained(
    frame: pl.DataFrame, setup: Setup, call: Call, runs: Runs, names: Sequence[str]
) -> pl.DataFrame:
    """The rows, query by query: by fused rank, and of each document by run."""
    depth, absent = needs(call, setup)
    expected = setup.policies.tie_rule.averages
    entries = entries_of(frame, setup, runs, names, depth=depth, absent=absent)
    documents = scored(entries, [call], expected=expected).rename({"#0": "#fused"})
    documents = _in_order(documents, setup)
    rankings, value = formulated(call, entries, expected=expected)
    normalized = rankings.score if "normalize" in call.metric.parameters else pl.lit(None)
    columns = {name: x for name, (_, x) in rankings.of_documents.items()}
    computed = rankings.needed.compute(entries.rows)
    normalized = normalized.alias("#normalized")
    rows = computed.with_columns(normalized, **columns).collect()
    totals = per_document(rows, rankings.of_documents, entries.documents.height)
    totals = totals.with_row_index("#document").cast({"#document": pl.Int64})
    # The column of each row stands for the total of which it is a term.
    term = _term(rankings, value)
    of_document = [name for name in columns if name != term]
    others = totals.select("#document", *of_document)
    terms = rows.drop(of_document).lazy()
    terms = terms.join(others.lazy(), on="#document")
    figures = {
        RUN_OF_TABLE: pl.lit(pl.Series(names, dtype=pl.String)).gather(pl.col("#run")),
        "rank": rankings.rank,
        SCORE: pl.col("#score"),
        "normalized": pl.col("#normalized"),
        "contribution": pl.lit(None) if term is None else value.fill_null(0.0),
        "fused": pl.col("#fused"),
        "fused_rank": pl.col("#fused rank"),
    }
    wanted = [figure.cast(FIGURES[name]).alias(name) for name, figure in figures.items()]
    label = [name for name in documents.columns if name == setup.roles.label]
    ids = [name for name in documents.columns if name not in (*label, *OWN)]
    ordered = terms.join(documents.lazy(), on="#document").sort("#order", "#run")
    return ordered.select(*ids, *wanted, *label).collect(engine="in-memory")


OWN = ("#document", "#order", "#fused", "#fused rank")


def _in_order(fused: pl.DataFrame, setup: Setup) -> pl.DataFrame:
    """The documents that a ranking has, with their numbers, by query and fused rank."""
    of_fused = setup.changed(score="#fused", ascending=False)
    order = in_rank_order(fused, Columns.of(of_fused, fused.schema, label=False))
    rank = order.rows().select("#query", "#row", pl.col("#position").alias("#fused rank"))
    row = rank["#row"]
    documents = fused[row].with_columns(
        pl.Series("#document", row, pl.Int64),
        pl.int_range(rank.height, eager=True).alias("#order"),
        rank["#fused rank"],
    )
    if ROW in fused.columns:
        row_of_query = fused[ROW][order.first]
        documents = documents.with_columns(row_of_query[rank["#query"]])
    return documents.drop_nulls("#fused")


def _term(rankings: Rankings, value: pl.Expr) -> str | None:
    """The column of the first total to which the value is proportional, or None.

    The factor may depend on the document's other columns; the value of a single term of the total
    is its contribution.
    """
    for name in rankings.totals:
        others = {other: 3.0 for other in rankings.of_documents if other != name}
        trial = pl.DataFrame({name: [0.0, 1.0, 2.0]}).with_columns(**others)
        none, one, two = trial.select(value).to_series()
        if none == 0 and two == 2 * one:
            return name
    return None
