"""Every mistake gets an error at the call that leads out of it."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import rankframe as rf
from tests.support.each import each

OK = pl.DataFrame({"query_id": [1, 1, 2], "doc_id": ["a", "b", "c"], "score": [2.0, 1.0, 1.0], "label": [0, 1, 0]})
RUN, QRELS = OK.drop("label"), OK.drop("score")
OTHER = pl.DataFrame({"qid": [1], "docno": ["a"], "score": [1.0], "rel": [1]})

MISTAKES: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "a missing query column": (
        lambda: OTHER.rank.ndcg(),
        rf.MissingColumn,
        "no column 'query_id' for query, 'label' for label; the table has qid, docno, score, rel. "
        "Say df.rank.on(query='qid', label='rel', doc='docno')",
    ),
    "a missing query column of a lazy frame": (
        lambda: OTHER.lazy().rank.on(label="rel").ndcg(),
        rf.MissingColumn,
        "no column 'query_id' for query; the table has qid, docno, score, rel. Say df.rank.on(query='qid', doc='docno')",
    ),
    "columns of usual names with spaces": (
        lambda: OTHER.rename({"qid": "Query ID", "docno": "Doc ID"}).rank.on(label="rel").ndcg(),
        rf.MissingColumn,
        "Say df.rank.on(query='Query ID', doc='Doc ID')",
    ),
    "labels of two merged tables": (
        lambda: (
            OK.to_pandas()
            .merge(QRELS.to_pandas(), on=["query_id", "doc_id"], suffixes=("_run", "_qrels"))
            .rank.reciprocal_rank()
        ),
        rf.MissingColumn,
        "Say df.rank.on(label=...)",
    ),
    "scores and labels of two merged tables": (
        lambda: pd.merge(OK.to_pandas(), OK.to_pandas(), on=["query_id", "doc_id"]).rank.reciprocal_rank(),
        rf.MissingColumn,
        "Say df.rank.on(score=..., label=...)",
    ),
    "slices of two merged tables": (
        lambda: OK.with_columns(market_run=pl.lit("a"), market_qrels=pl.lit("b")).rank.mean("rr", by="market"),
        rf.MissingColumn,
        "no column 'market' for by; the table has query_id, doc_id, score, label, market_run, market_qrels. "
        "Name a column that is there",
    ),
    "columns of a click log": (
        lambda: pl.DataFrame({"user": [1], "sku": ["a"], "score": [1.0], "clicked": [True]}).rank.ndcg(),
        rf.MissingColumn,
        "Say df.rank.on(query='user', label='clicked', doc='sku')",
    ),
    "ids in named levels of the index": (
        lambda: OTHER.to_pandas().set_index(["qid", "docno"]).rank.on(label="rel").ndcg(),
        rf.MissingColumn,
        "Say df.rank.on(query=...). The index has qid, docno; a level is named like a column",
    ),
    "ids in an index without a name": (
        lambda: OTHER.to_pandas().set_index("docno").rename_axis(None).rank.on(query="topic", label="rel").ndcg(),
        rf.MissingColumn,
        "If the index holds the ids of queries, name it: df.rename_axis('query_id')",
    ),
    "a column as an option of an expression": (
        lambda: rf.expr.ndcg(k=10, label="clicked"),  # type: ignore[call-arg]
        rf.InvalidOption,
        "ndcg has no option 'label'; write rf.expr.on(label=...)",
    ),
    "a test by another name": (
        lambda: OK.rank.compare("rr", runs=["score", "label"], test="ttest"),  # type: ignore[arg-type]
        rf.InvalidOption,
        "test='ttest': write one of 'auto', 'permutation', 't', 'bootstrap', 'tukey'",
    ),
    "no correction as text": (
        lambda: OK.rank.compare("rr", runs=["score", "label"], correction="none"),  # type: ignore[arg-type]
        rf.InvalidOption,
        "correction='none': write 'holm', 'bh', 'by' or None",
    ),
    "a gate without budgets": (
        lambda: OK.rank.gate("rr", runs=["score", "label"]),
        rf.InvalidOption,
        "'rr' has no budget; give how much worse its mean may be, as df.rank.gate({'ndcg@10': 0.01}",
    ),
    "no method of fusion": (
        lambda: OK.rank.fuse(runs=["score", "label"]),  # type: ignore[call-arg]
        rf.InvalidOption,
        "fuse: missing a required argument: 'method'; its signature is fuse(method",
    ),
    "judgments as a Series": (
        lambda: RUN.to_pandas().rank.judge(pd.Series([1])),
        rf.InvalidData,
        "give a pandas DataFrame, as qrels.to_frame() makes, or",
    ),
    "queries in the place of sizes of groups": (
        lambda: rf.from_arrays(scores=[1.0, 2.0, 3.0], labels=[1, 0, 1], group=["a", "a", "b"]),
        rf.InvalidData,
        "whole numbers that add up to 3; query takes the query of each element",
    ),
    "lists without relevant ones": (
        lambda: rf.from_lists(pl.DataFrame({"query_id": ["q"], "retrieved": [["a"]]})),
        rf.MissingColumn,
        "say relevant=None if the judgments are in another table",
    ),
    "rows of lists as dictionaries": (
        lambda: rf.from_lists([{"query": 1, "retrieved": ["a"], "relevant": ["a"]}, {"query": 2, "retrieved": []}]),
        rf.InvalidData,
        "the dictionary at place 1 has no 'relevant', as the first one has; write 'relevant': [] if there is nothing",
    ),
    "slices by a Series": (
        lambda: OK.to_pandas().rank.mean("rr", by=OK.to_pandas()["label"]),  # type: ignore[arg-type]
        rf.InvalidOption,
        "by=a Series: write a list of columns' names, a column's name or None",
    ),
    "slices by a computed expression": (
        lambda: OK.rank.mean("rr", by=[pl.col("label") > 1]),  # type: ignore[list-item]
        rf.InvalidOption,
        "by=[an Expr]: write a list of columns' names, a column's name or None",
    ),
    "slices of a plot by an expression": (
        lambda: OK.rank.plot.slices("rr", by=pl.col("label")),
        rf.InvalidOption,
        "by=an Expr: write a column's name",
    ),
    "a run as an expression": (
        lambda: OK.rank.compare("rr", runs=["score", pl.col("label")]),  # type: ignore[list-item]
        rf.InvalidOption,
        "runs=['score', an Expr]: write a list of columns' names, a mapping",
    ),
    "missing columns that could be any": (
        lambda: OK.rename({"query_id": "a", "score": "b"}).rank.ndcg(),
        rf.MissingColumn,
        "no column 'query_id' for query, 'score' for score; the table has a, doc_id, b, label. "
        "Say df.rank.on(query=..., score=...)",
    ),
    "a document column named and missing": (
        lambda: OTHER.rank.on(query="qid", label="rel", doc="doc").ndcg(),
        rf.MissingColumn,
        "Say df.rank.on(doc='docno')",
    ),
    "a missing label": (lambda: RUN.rank.ndcg(), rf.MissingColumn, "df.rank.judge(qrels)"),
    "a table without columns": (lambda: pl.DataFrame().rank.ndcg(), rf.MissingColumn, "the table has no columns"),
    "a name that is spelt wrong": (
        lambda: OK.rename({"score": "scoer"}).rank.ndcg(),
        rf.MissingColumn,
        "Say df.rank.on(score='scoer')",
    ),
    "text as score": (
        lambda: OK.with_columns(score=pl.lit("1")).rank.ndcg(),
        rf.InvalidData,
        "column 'score' for score holds String, not numbers; cast it, as in df.with_columns(",
    ),
    "a metric unlike any": (
        lambda: OK.rank.evaluate("zzz"),
        rf.UnknownMetric,
        "unknown metric 'zzz'. Known names: precision",
    ),
    "a column of values for a metric": (
        lambda: OK.rank.evaluate("faithfulness"),
        rf.UnknownMetric,
        " more; 'value:faithfulness' is the value of a column, if this is one",
    ),
    "unreadable options": (lambda: OK.rank.evaluate("ndcg(1+)"), rf.InvalidOption, "cannot read the options"),
    "an unknown option": (
        lambda: OK.rank.evaluate("rbp(q=1)"),
        rf.InvalidOption,
        "rbp: got an unexpected keyword argument 'q'; its signature is rbp(k=None",
    ),
    "a broken cutoff": (
        lambda: OK.rank.ndcg(k=1.5),
        rf.InvalidOption,
        "ndcg(k=1.5): write a whole number from 1 on or None",
    ),
    "one query of an explanation": (
        lambda: OK.rank.explain("rr", query="q1"),
        rf.InvalidOption,
        "explain has no option 'query'; write df.rank.on(query=...)",
    ),
    "an unknown option of a function": (
        lambda: rf.from_arrays(scores=[1], labels=[1], groups=[1]),  # type: ignore[call-overload]
        rf.InvalidOption,
        "from_arrays has no option 'groups'. Did you mean 'group'?",
    ),
    "a file for judgments": (
        lambda: OK.drop("label").rank.judge("q.txt"),
        rf.InvalidOption,
        "'q.txt' is no Polars frame of judgments; give one",
    ),  # type: ignore[arg-type]
    "a file for judgments, pandas": (
        lambda: OK.drop("label").to_pandas().rank.judge("q.txt"),
        rf.InvalidData,
        "'q.txt' is no frame of judgments; give a pandas DataFrame, or read the judgments of a file by rf.read_qrels",
    ),
    "numbers and words, pandas": (
        lambda: OK.to_pandas().assign(label=[1, "x", *[0] * (len(OK) - 2)]).rank.rr(),
        rf.InvalidData,
        "holds objects of type int (1) and str ('x'); make text of all",
    ),
    "graded gains of RBP above 1": (
        lambda: OK.rank.rbp(gain={1: 2}),
        rf.InvalidOption,
        "rbp(gain={1: 2}): write a mapping (each key a number from 0 to 1e+280, each value a number from 0 to 1), a Polars expression, 'linear', 'scaled' or None",
    ),
    "a word as gain of RBP": (
        lambda: OK.rank.evaluate("rbp(gain=exponential)"),
        rf.InvalidOption,
        "rbp(gain='exponential'): write a mapping (each key a number from 0 to 1e+280, each value a number from 0 to 1), a Polars expression, 'linear', 'scaled' or None",
    ),
    "an unknown discount": (
        lambda: OK.rank.dcg(discount="log3"),
        rf.InvalidOption,
        "dcg(discount='log3'): write 'log2', 'original', 'rank', a finite number above 1 or a function. Did you mean 'log2'?",
    ),
    "gains that are no numbers": (
        lambda: OK.rank.ndcg(gain={"a": 1}),
        rf.InvalidOption,
        "ndcg(gain={'a': 1}): write 'linear', 'exponential', 'binary'",
    ),
    "a negative gain": (
        lambda: OK.rank.ndcg(gain={1: -1}),
        rf.InvalidOption,
        "each key a number from 0 to 1e+280, each value a number from 0 to 1e+280",
    ),
    "a threshold said twice": (
        lambda: rf.parse("map(relevant=1,rel=2)"),
        rf.InvalidOption,
        "'map(relevant=1,rel=2)' gives relevant twice",
    ),
    "a persistence said twice": (lambda: rf.parse("rbp(p=0.5).95"), rf.InvalidOption, "'rbp(p=0.5).95' gives p twice"),
    "a gain beside the name's own": (
        lambda: rf.parse("ndcg_burges(gain=linear)"),
        rf.InvalidOption,
        "'ndcg_burges(gain=linear)' gives gain twice",
    ),
    "a decimal as persistence": (
        lambda: OK.rank.rbp(p=Decimal("0.5")),
        rf.InvalidOption,
        "rbp(p=Decimal('0.5')): write a number between 0 and 1",
    ),
    "a decimal as threshold": (lambda: OK.rank.on(relevant=Decimal(1)), rf.InvalidOption, "write a number from 0"),
    "a top label whose gain is no float": (
        lambda: OK.rank.err(max_label=1024),
        rf.InvalidOption,
        "err(max_label=1024): write 'query', a number from 0 to below 1,024 or None",
    ),
    "a list of no items for a user": (
        lambda: OK.rank.items.catalog("user_coverage(least=0)@3"),
        rf.InvalidOption,
        "user_coverage(least=0): write a whole number from 1 on",
    ),
    "a label without a gain": (
        lambda: OK.with_columns(label=pl.Series([2, 7, 0])).rank.ndcg(gain={2: 1}),
        rf.InvalidData,
        "a label has no gain in {2.0: 1.0}; give every positive label its gain (found: label 7.0)",
    ),
    "a label above the top": (
        lambda: OK.rank.err(max_label=0.5),
        rf.InvalidData,
        "a label is above max_label=0.5; give the top of the label scale, as max_label=4",
    ),
    "a label above any power of 2": (
        lambda: OK.with_columns(label=1000).rank.ndcg(gain="exponential"),
        rf.InvalidData,
        "{label: gain} (found: label 1000.0)",
    ),
    "a recall above 1": (
        lambda: OK.rank.evaluate("iprec@3"),
        rf.InvalidOption,
        "interpolated_precision(recall=3): write a number from 0 to 1",
    ),
    "a recall left out": (
        lambda: OK.rank.evaluate("iprec"),
        rf.InvalidOption,
        "interpolated_precision: missing a required argument: 'recall'; its signature is interpolated_precision(recall",
    ),
    "a group that is no column": (lambda: OK.rank.on(group=1), rf.InvalidOption, "group=1 is no column name"),
    "a policy under another name, of a verb": (
        lambda: OK.rank.evaluate("map", relevance_level=2),
        rf.InvalidOption,
        "evaluate: got an unexpected keyword argument 'relevance_level'; its signature is evaluate(*metrics, runs=None, run=None)",
    ),
    "a word cut short": (
        lambda: OK.rank.evaluate("ndcg(gain=exp)@10"),
        rf.InvalidOption,
        "ndcg(gain='exp'): write 'linear', 'exponential', 'binary', a mapping (each key a number from 0 to 1e+280, each value a number from 0 to 1e+280) or a Polars expression. Did you mean 'exponential'?",
    ),
    "a metric cut short": (
        lambda: OK.rank.evaluate("prec@5"),
        rf.UnknownMetric,
        "unknown metric 'prec' in 'prec@5'. Did you mean 'precision' or 'precision_ia' or 'r_precision'?",
    ),
    "a plot without a name": (
        lambda: OK.rank.plot("ndcg"),
        rf.InvalidOption,
        "say which plot: curve, precision_recall, differences, distribution, slices, over, judged, contributions, overlap, "
        "propensities, sequential, exposure, long_tail, catalog or trade_off, as in df.rank.plot.curve('ndcg')",
    ),
    "a path after the metrics": (
        lambda: OK.rank.report("rr", path="report.html"),
        rf.InvalidOption,
        "report: multiple values for argument 'path'; its signature is report(path",
    ),
    "an option without a name": (
        lambda: OK.rank.on("q"),
        rf.InvalidOption,
        "on: too many positional arguments; its signature is on(*",
    ),
    "a lone surrogate as id": (
        lambda: OK.to_pandas().assign(doc_id=pd.Series(["a", "b", "\ud800"], dtype=object)).rank.ndcg(),
        rf.InvalidData,
        "column 'doc_id' holds '\\ud800' at df.iloc[2], with half of a character (a lone surrogate)",
    ),
    "a lone surrogate as category": (
        lambda: (
            OK.to_pandas().assign(query_id=pd.Categorical(pd.Series(["b", "\udfff", "b"], dtype=object))).rank.ndcg()
        ),
        rf.InvalidData,
        "column 'query_id' holds '\\udfff' at df.iloc[1]",
    ),
    "a lone surrogate as subtopic": (
        lambda: OK.to_pandas().assign(sub=[["a"], ["b", "\ud800"], []]).rank.on(subtopic="sub").alpha_ndcg(),
        rf.InvalidData,
        "column 'sub' holds ['b', '\\ud800'] at df.iloc[1], with half of a character",
    ),
    "a lone surrogate in a list of items": (
        lambda: OK.rank.items.catalog("coverage", items=["a", "\ud800"]),
        rf.InvalidOption,
        "a list of ids of one type",
    ),
    "a lone surrogate in a dictionary": (
        lambda: rf.from_dicts(run={"q": {"\ud800": 1.0}}),
        rf.InvalidData,
        "the documents of run hold half of a character",
    ),
    "an id of more than 64 bits in a dictionary": (
        lambda: rf.from_dicts(run={"q": {1: 1.0, 2**64: 1.0}}),
        rf.InvalidData,
        "or a number of over 64 bits; write all as text",
    ),
    "a lone surrogate in the judgments": (
        lambda: RUN.to_pandas().rank.judge(
            QRELS.to_pandas().assign(doc_id=pd.Series(["a", "\ud800", "c"], dtype=object))
        ),
        rf.InvalidData,
        "column 'doc_id' holds '\\ud800' at df.iloc[1]",
    ),
    "a lone surrogate in the index": (
        lambda: (
            OK.to_pandas().set_index(pd.Index(["\ud800", "b", "c"], dtype=object, name="doc")).rank.on(doc="doc").ndcg()
        ),
        rf.InvalidData,
        "column 'doc' holds '\\ud800' at df.iloc[0]",
    ),
    "a pattern as column": (lambda: OK.rank.on(score="^s.*$"), rf.InvalidOption, "as with df.rename({'^s.*$': ...})"),
    "a pattern as other score": (
        lambda: OK.rename({"label": "*"}).rank.agreement("*", "tau"),
        rf.InvalidOption,
        "'*' is a pattern of columns",
    ),
    "ties by a document that is not there": (
        lambda: OK.rank.on(doc=None, ties="doc_asc").ndcg(),
        rf.InvalidOption,
        "ties='order' to keep the order of the rows",
    ),
    "the usual document column, said and missing": (
        lambda: OK.drop("doc_id").rank.on(doc="doc_id").ndcg(),
        rf.MissingColumn,
        "no column 'doc_id' for doc",
    ),
    "a tie that is forbidden": (
        lambda: OK.with_columns(score=1.0).rank.on(ties="error").ndcg(),
        rf.InvalidData,
        "found in 2 rows: query_id=1, doc_id='a'; query_id=1, doc_id='b')",
    ),
    "a NaN score": (
        lambda: OK.with_columns(score=pl.Series([1.0, float("nan"), 2.0])).rank.ndcg(),
        rf.InvalidData,
        "holds NaN; write null for a document that was not retrieved, as "
        "df.fill_nan(None) does (found in 1 row: query_id=1, doc_id='b')",
    ),
    "an infinite label": (
        lambda: OK.with_columns(label=pl.Series([1.0, float("-inf"), 2.0])).rank.ndcg(),
        rf.InvalidData,
        "NaN or an infinite label, or one beyond 1e+280; write null for a document that nobody judged, and smaller numbers "
        "for the others (found in 1 row: query_id=1, doc_id='b')",
    ),
    "a repeated document": (
        lambda: OK.with_columns(doc_id=pl.lit("a")).rank.ndcg(),
        rf.InvalidData,
        "(found in 2 rows: query_id=1, doc_id='a')",
    ),
    "many repeated documents": (
        lambda: (
            pl.concat([OK.with_columns(query_id=i) for i in range(6)] * 2)
            .unique(maintain_order=True)
            .pipe(lambda df: pl.concat([df, df]))
            .rank.ndcg()
        ),
        rf.InvalidData,
        "and 15 more, all listed by df.rank.check()",
    ),
    "a metric named like a column": (
        lambda: OK.rename({"label": "map"}).rank.on(label="map").with_metrics("map"),
        rf.InvalidOption,
        "a second column 'map', which the table has",
    ),
    "a metric named like the query": (
        lambda: OK.rename({"query_id": "map"}).rank.on(query="map").evaluate("map"),
        rf.InvalidOption,
        "a second column 'map', which the query has",
    ),
    "a metric's method named like the query": (
        lambda: OK.rename({"query_id": "map"}).rank.on(query="map").average_precision(),
        rf.InvalidOption,
        "a second column 'map', which the query has",
    ),
    "an agreement named like the query": (
        lambda: OK.rename({"query_id": "spearman"}).rank.on(query="spearman").agreement("label", "spearman"),
        rf.InvalidOption,
        "a second column 'spearman', which the query has",
    ),
    "an expression named like a metric": (
        lambda: OK.rank.evaluate(pl.len().alias("map"), "map"),
        rf.InvalidOption,
        "the result would have a second column 'map'",
    ),
    "judgments of pandas, checked": (
        lambda: RUN.rank.check(QRELS.to_pandas()).rows,
        rf.InvalidOption,
        "pl.from_pandas",
    ),
    "an unknown way with missing queries": (
        lambda: RUN.rank.judge(QRELS, run_only="skip"),
        rf.InvalidOption,
        "'keep', 'drop', 'error'",
    ),
    "agreement with no column": (
        lambda: OK.rank.agreement("zzz", "tau"),
        rf.MissingColumn,
        "no column 'zzz' for agreement",
    ),
    "agreement with a column spelt wrong": (
        lambda: OK.rank.agreement("lable", "tau"),
        rf.MissingColumn,
        "mean 'label'?",
    ),
    "agreement with text": (
        lambda: OK.with_columns(x=pl.lit("a")).rank.agreement("x", "tau"),
        rf.InvalidData,
        "not numbers",
    ),
    "an unknown measure": (
        lambda: OK.rank.agreement("label", "kendal_tau"),
        rf.UnknownMetric,
        "Did you mean 'kendall_tau'?",
    ),
    "the table's largest label inside a group": (lambda: rf.expr.err(), rf.InvalidOption, "rf.expr.err(max_label=4)"),
}


@each("mistake", MISTAKES)
def test_the_error_says_what_is_wrong_and_what_to_write(mistake: str) -> None:
    call, kind, says = MISTAKES[mistake]
    with pytest.raises(kind) as caught:
        call()
    assert says in str(caught.value)
    assert isinstance(caught.value, rf.RankframeError)
    assert isinstance(caught.value, ValueError)


@each("ranker", [OK.rank, OK.lazy().rank, OK.to_pandas().rank, rf.expr], ids=["polars", "lazy", "pandas", "expr"])
@each(
    ("name", "says"),
    [
        ("mrrr", "has no attribute 'mrrr'. Did you mean 'rr'?"),
        ("nDCG", "has no attribute 'nDCG'. Did you mean 'ndcg'?"),
        ("precison", "has no attribute 'precison'. Did you mean 'precision'?"),
        ("zzz", "has no attribute 'zzz'"),
        ("_zzz", "has no attribute '_zzz'"),
    ],
)
def test_a_method_that_is_none_is_answered_with_the_one_that_is_meant(ranker: Any, name: str, says: str) -> None:
    with pytest.raises(AttributeError) as caught:
        getattr(ranker, name)
    assert str(caught.value).endswith(says)
    assert not hasattr(ranker, name)


USES: dict[str, Callable[[pl.LazyFrame], pl.LazyFrame]] = {
    "as it is": lambda table: table,
    "the number of rows": lambda table: table.select(pl.len()),
    "another column": lambda table: table.select("doc_id"),
    "a filter that drops the query": lambda table: table.filter(pl.col("query_id") == 1),
    "a filter on the score": lambda table: table.filter(pl.col("score") > 100).select("doc_id"),
    "groups": lambda table: table.group_by("query_id").len(),
}


@each("use", USES.values(), ids=USES)
@each("option", ["run_only", "judged_only"])
@each("engine", ["in-memory", "streaming"])
def test_a_refused_query_surfaces_whatever_is_made_of_a_lazy_join(option: str, engine: Any, use: Any) -> None:
    run, qrels = (RUN, QRELS.head(2)) if option == "run_only" else (RUN.head(2), QRELS)
    lazy = run.lazy().rank.judge(qrels.lazy(), **{option: "error"})
    with pytest.raises(pl.exceptions.InvalidOperationError, match=f"rankframe: a .*{option}="):
        use(lazy).collect(engine=engine)
    settled = run.lazy().rank.judge(qrels.lazy(), **{option: "keep"}).collect(engine=engine)
    assert settled.height == 3


def test_an_error_of_polars_own_passes_through() -> None:
    with pytest.raises(pl.exceptions.InvalidOperationError, match="conversion"):
        OK.rank.evaluate(pl.col("doc_id").cast(pl.Int64).sum())


def test_an_expression_refuses_to_compare_lists_as_text() -> None:
    frame = OK.with_columns(pl.concat_list("doc_id"))
    with pytest.raises(pl.exceptions.InvalidOperationError, match="make text of them, or say ties='doc_desc'"):
        frame.group_by("query_id").agg(rf.expr.on(ties="trec_eval").ndcg())


def test_an_expression_of_a_pattern_with_one_column_is_one_column() -> None:
    assert OK.rank.evaluate(pl.col("^sc.*$").max(), "rr").rows() == [(1, 2.0, 0.5), (2, 1.0, 0.0)]


def test_fractions_are_numbers() -> None:
    half = Fraction(1, 2)
    ranker = OK.rank.on(relevant=half)
    assert ranker.rbp(p=half).rows() == [(1, 0.25), (2, 0.0)]
    assert rf.parse(OK.rank.rbp(p=half).columns[1])[0].text == "rbp(p=0.5)"
    assert OK.select(rf.expr.on(relevant=half).rbp(p=half).over("query_id")).to_series().to_list() == [0.25, 0.25, 0.0]


def test_numbers_of_numpy_are_numbers() -> None:
    ranker = OK.rank.on(relevant=np.int64(1))
    assert ranker.precision(k=np.int64(1)).columns == ["query_id", "precision@1"]
    assert ranker.rbp(p=np.float32(0.5)).equals(OK.rank.rbp(p=0.5))


@each("column", ["score", "label"])
def test_an_expression_refuses_text_where_numbers_belong(column: str) -> None:
    text = OK.with_columns(pl.col(column).cast(pl.String))
    with pytest.raises(pl.exceptions.InvalidOperationError, match=f"column '{column}' holds no numbers"):
        text.group_by("query_id").agg(rf.expr.reciprocal_rank())


@each("policy", [{"ties": "best"}, {"ties": "worst"}, {"unjudged": "drop"}])
def test_ranks_that_go_by_labels_refuse_a_nan_label(policy: Any) -> None:
    frame = OK.with_columns(label=pl.Series([float("nan"), 1.0, 0.0]))
    with pytest.raises(rf.InvalidData, match="NaN or an infinite label"):
        frame.rank.on(**policy).with_ranks()


@each("ties", ["doc_asc", "trec_eval"])
def test_an_expression_whose_ties_go_by_document_wants_the_document_column(ties: Any) -> None:
    frame = OK.drop("doc_id")
    with pytest.raises(pl.exceptions.ColumnNotFoundError, match="doc_id"):
        frame.group_by("query_id").agg(rf.expr.on(ties=ties).ndcg())
    assert frame.group_by("query_id").agg(rf.expr.ndcg()).height == 2


NAN = float("nan")


@each(
    ("frame", "way_out"),
    [
        (OK.with_columns(score=pl.Series([NAN, 1.0, 1.0])), "write null for a document that was not retrieved, as df"),
        (OK.with_columns(label=pl.Series([NAN, 1.0, 1.0])), "write null for a document that nobody judged"),
        (
            OK.with_columns(doc_id=pl.lit("a")),
            "keep one row of each, or, if these are several rankings, name the column",
        ),
        (OK.with_columns(score=pl.lit(1.0)), "choose how ties stand: doc_desc"),
    ],
)
def test_an_expression_says_what_a_frame_says(frame: pl.DataFrame, way_out: str) -> None:
    with pytest.raises(rf.InvalidData, match=way_out):
        frame.rank.on(ties="error").ndcg()
    with pytest.raises(pl.exceptions.InvalidOperationError, match=way_out):
        frame.group_by("query_id").agg(rf.expr.on(ties="error").ndcg())


@each("column", ["rows", "advice", "problem", "severity"])
def test_a_fault_is_told_though_an_id_has_the_name_of_a_column_of_check(column: str) -> None:
    for role, old in (("query", "query_id"), ("doc", "doc_id")):
        frame = OK.with_columns(score=pl.Series([NAN, 1.0, 2.0])).rename({old: column})
        with pytest.raises(rf.InvalidData, match=rf"holds NaN.*found in 1 row: .*{column}="):
            frame.rank.on(**{role: column}).ndcg()
        with pytest.raises(rf.InvalidOption, match=rf"df.rename\({{'{column}'"):
            frame.rank.on(**{role: column}).check()


def test_ids_spelt_out_as_advised_are_ids() -> None:
    frame = OK.to_pandas().assign(doc_id=pd.Series(["a", "b", "\ud800"], dtype=object))
    spelt = frame["doc_id"].str.encode("utf-8", "backslashreplace").str.decode("utf-8")
    assert frame.assign(doc_id=spelt).rank.reciprocal_rank()["rr"].to_list() == [0.5, 0.0]


def test_a_column_named_by_a_lone_surrogate_hurts_nobody_and_can_be_named() -> None:
    frame = OK.to_pandas()
    frame.columns = pd.Index(["query_id", "\ud800", "score", "label"], dtype=object)
    assert frame.rank.reciprocal_rank()["rr"].to_list() == [0.5, 0.0]
    assert frame.rank.on(doc="\ud800").reciprocal_rank()["rr"].to_list() == [0.5, 0.0]
    assert list(frame.rank.on(doc="\ud800").with_metrics("rr").columns) == [
        "query_id",
        "\ud800",
        "score",
        "label",
        "rr",
    ]


def test_the_options_of_on_are_in_its_signature() -> None:
    assert list(inspect.signature(OK.rank.on).parameters)[:4] == ["query", "doc", "score", "label"]
    assert inspect.signature(OK.rank.on).parameters == inspect.signature(OK.to_pandas().rank.on).parameters


def test_a_plot_that_is_spelt_wrong_is_named() -> None:
    with pytest.raises(AttributeError, match=r"has no plot 'distributions'\. Did you mean 'distribution'\?"):
        OK.rank.plot.distributions  # noqa: B018
    with pytest.raises(AttributeError, match="It has curve, precision_recall, differences, "):
        OK.rank.plot.bar  # noqa: B018
