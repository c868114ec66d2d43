"""What an error advises works: the code in its message is run, and what was asked is asked again."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from types import ModuleType
from typing import Any

import pandas as pd
import polars as pl
import pytest

import rankframe as rf
from rankframe._catalog import call, fusions, parse, registry, requests, values as values_module
from rankframe._plan import values as values_of_rows
from rankframe._statistics import estimate
from rankframe._support import option_kinds
from rankframe._table import (
    background,
    columns as columns_module,
    conventions,
    name_presets,
    policies,
    roles,
    run_and_judgments,
    setup,
)
from rankframe._table.table import Table, Whole
from rankframe._verbs.audit import reproduces
from rankframe._verbs.call import running
from rankframe._verbs.collections import label_agreement
from rankframe._verbs.decide import estimation
from rankframe._verbs.fuse import fuse
from rankframe._verbs.groups import compare_groups as items_compare_groups
from rankframe._verbs.items import catalog as items_catalog, item_exposure as items_exposure, item_tables, recount
from rankframe._verbs.items.recount import resamples_of
from rankframe._verbs.measure import evaluate as verbs
from rankframe._verbs.sample import entries, judged
from rankframe._verbs.sample.resampling import Resampling
from rankframe._words import exposure as exposure_words, rankings
from rankframe.fusions import search_engines
from tests.support.each import each

OK = pl.DataFrame({"query_id": [1, 1, 2], "doc_id": ["a", "b", "c"], "score": [2.0, 1.0, 1.0], "label": [0, 1, 0]})
OTHER = pl.DataFrame({"qid": [1, 1], "docno": ["a", "b"], "sim": [1.0, 2.0], "rel": [1, 0]})
RUN, QRELS = OK.drop("label"), OK.drop("score")
SUB = OK.with_columns(subtopic=pl.Series(["x", "y", "x"]))
LISTS = OK.with_columns(subtopic=pl.Series([["x"], ["y", "x"], []], dtype=pl.List(pl.String)))
RANKS = RUN.drop("score").with_columns(rank=pl.Series([1, 2, 1], dtype=pl.UInt32))
LISTED = pl.DataFrame({"query_id": [1, 2], "retrieved": [["a", "b"], ["c"]], "relevant": [["b"], ["c"]]})
TUNED = "tuned := df.rank.tune('wsum', metric='rr', runs=['score', 'new'], folds=2, resamples=99)"
LOG = OK.with_columns(p=pl.Series([0.5, 0.25, 1.0]))
TWO = OK.with_columns(new=pl.Series([1.0, 2.0, 1.0]))
VALUES = pl.DataFrame({"query_id": [1, 1, 2], "faithfulness": [0.5, 1.0, 1.0]})
STACK = pl.concat([OK.with_columns(run=pl.lit("a")), OK.with_columns(run=pl.lit("b"))])
PART_OF_RUNS = Table[pl.DataFrame](STACK, setup.Setup(), Whole(runs=frozenset("ab")))
MODELLED = pl.DataFrame(
    [(q, d, 3.0 - i, (i + q) % 3 / 1.0, q >> i & 1, q >> i & 1, q % 5) for q in range(80) for i, d in enumerate("abc")],
    ["query_id", "doc_id", "score", "new", "label", "llm", "known"], orient="row",
)  # fmt: skip
"""Queries that a model judged, and people, too."""
JUDGED = MODELLED.with_columns(label=pl.when(pl.col("query_id") < 40).then("label"))
SHOWN = pl.DataFrame(
    {"query_id": [1, 1, 2, 2], "doc_id": ["a", "b"] * 2, "team": ["a", "b"] * 2, "label": [1, 0, 0, 1]}
)
PAIRS = pl.DataFrame({"query_id": 1, "doc_a": ["a", "b"], "doc_b": ["b", "a"], "winner": ["a", "a"]})
PREFERRED = pl.DataFrame(
    {
        "query_id": 1,
        "doc_id": ["a", "b"] * 2,
        "score": [2, 1] * 2,
        "label": [1, 2, 1, 2],
        "group": 1,
        "part": [1, 1, 2, 2],
    }
)
OF_TWO = "runs=['score', 'new']"
NAN, INF = float("nan"), float("inf")

CODE = r"\b(?:df|qrels|pl|pd)\."
"""Where code stands in a message."""


@dataclass(frozen=True)
class Case:
    """A question that is refused, and how it is asked again with what the error advises.

    `finds` is a pattern of the advice: code from the match on, or the texts of its group. It takes the place of ADVICE in
    `again`; where the advice is words alone, `again` is what a reader writes. What the error leaves open as `...` is `fill`.
    """

    df: str
    asks: str
    again: str | None
    finds: str = CODE
    fill: str = ""
    polars_only: bool = False  # pandas has no such table, or the question is one of Polars alone


CASES = {
    # the table
    "NaN score": Case("OK.with_columns(score=pl.Series([1.0, NAN, 2]))", "df.rank.rr()", "ADVICE.rank.rr()", polars_only=True),
    "label not finite": Case(
        "OK.with_columns(label=pl.Series([1.0, INF, 2]))", "df.rank.rr()",
        "rf.rank(table(label=[1, None, 2])).rr()",
    ),
    "repeated document": Case("STACK", "df.rank.rr()", "ADVICE.rr()", r"df\.rank\.on\(", fill="'run'"),
    "repeated document, lazy": Case(
        "STACK.lazy()", "df.rank.rr().collect()", "ADVICE.rr().collect()", r"df\.rank\.on\(", fill="'run'", polars_only=True
    ),
    "repeated subtopic": Case(
        "pl.concat([SUB, SUB])", "df.rank.on(subtopic='subtopic').alpha_ndcg()",
        "ADVICE.rank.on(subtopic='subtopic').alpha_ndcg()",
    ),
    "subtopic listed twice": Case(
        "LISTS.with_columns(subtopic=pl.Series([['x', 'x'], [], []], dtype=pl.List(pl.String)))",
        "df.rank.on(subtopic='subtopic').alpha_ndcg()",
        "rf.rank(table(subtopic=[['x'], [], []])).on(subtopic='subtopic').alpha_ndcg()",
    ),
    "subtopic weight": Case(
        "SUB.with_columns(w=pl.Series([1.0, None, 1.0]))", "df.rank.on(subtopic='subtopic', subtopic_weight='w').alpha_ndcg()",
        "ADVICE.rank.on(subtopic='subtopic', subtopic_weight='w').alpha_ndcg()",
    ),
    "two weights": Case(
        "pl.concat([SUB, SUB.with_columns(doc_id=pl.col('doc_id') + 'z')]).with_columns(w=pl.int_range(6))",
        "df.rank.on(subtopic='subtopic', subtopic_weight='w').alpha_ndcg()",
        "df.assign(w=1).rank.on(subtopic='subtopic', subtopic_weight='w').alpha_ndcg() if hasattr(df, 'assign') else "
        "df.with_columns(w=1).rank.on(subtopic='subtopic', subtopic_weight='w').alpha_ndcg()",
    ),
    "weights of lists of subtopics": Case(
        "LISTS.with_columns(w=1)", "df.rank.on(subtopic='subtopic', subtopic_weight='w').alpha_ndcg()", None),
    "two scores": Case(
        "pl.concat([SUB, SUB.with_columns(score=7.0, subtopic=pl.lit('z'))])",
        "df.rank.on(subtopic='subtopic').alpha_ndcg()",
        "df.assign(score=1.0).rank.on(subtopic='subtopic').alpha_ndcg() if hasattr(df, 'assign') else "
        "df.with_columns(score=1.0).rank.on(subtopic='subtopic').alpha_ndcg()",
    ),
    "forbidden tie": Case(
        "OK.with_columns(score=1.0)", "df.rank.on(ties='error').rr()", "df.rank.on(ties='ADVICE').rr()",
        r"how ties stand: (.*) \(found",
    ),
    "nested document": Case(
        "OK.with_columns(pl.concat_list('doc_id'))", "df.rank.on(ties='trec_eval').rr()", "df.rank.on(ADVICE).rr()",
        r"or say (\S+)", polars_only=True,
    ),
    "weight": Case(
        "OK.with_columns(w=pl.Series([1, None, 2]))", "df.rank.on(weight='w').dcg()", "ADVICE.rank.on(weight='w').dcg()"
    ),
    "label is no click": Case(
        "LOG.with_columns(label=pl.Series([0, 2, 0]))", "df.rank.on(propensity='p').dcg()",
        "df.assign(label=1).rank.on(propensity='p').dcg() if hasattr(df, 'assign') else "
        "df.with_columns(label=1).rank.on(propensity='p').dcg()",
    ),
    "propensity": Case(
        "LOG.with_columns(p=pl.Series([1, 0, 1]))", "df.rank.on(propensity='p').dcg()",
        "df.assign(p=0.5).rank.on(propensity='p').dcg() if hasattr(df, 'assign') else "
        "df.with_columns(p=0.5).rank.on(propensity='p').dcg()",
    ),
    "an estimate without propensities": Case(
        "LOG", "df.rank.on(estimate='snips').dcg()", "ADVICE.on(estimate='snips').dcg()",
    ),
    "a policy beside clicks": Case("LOG", "df.rank.on(propensity='p', ties='best').dcg()", "df.rank.on(propensity='p').dcg()"),
    "a metric without an estimate": Case(
        "LOG", "df.rank.on(propensity='p').evaluate('ndcg@10')", "df.rank.on(propensity='p').evaluate(ADVICE)", r"as ('.*')"
    ),
    "no rank": Case(
        "RANKS.with_columns(rank=pl.Series([0, 2, 1]), label=1)", "df.rank.on(rank='rank', ranks='as_given').rr()", "ADVICE.rr()",
        r"df\.rank\.on",
    ),
    "shared rank": Case(
        "RANKS.with_columns(rank=pl.Series([2, 2, 1]), label=1)", "df.rank.on(rank='rank', ranks='as_given').rr()", "ADVICE.rr()",
        r"df\.rank\.on",
    ),
    "ranks as given without a column of ranks": Case(
        "RANKS.with_columns(label=1)", "df.rank.on(ranks='as_given').rr()", "ADVICE.rr()", r"df\.rank\.on",
    ),
    "ranks as given that are numbered anew": Case(
        "RANKS.with_columns(label=1)", "df.rank.on(rank='rank', ranks='as_given', unjudged='drop').rr()",
        "df.rank.on(rank='rank', unjudged='drop', ADVICE).rr()", r"or say (.*)$",
    ),
    "ranks as given and a metric along the list": Case(
        "RANKS.with_columns(label=1)", "df.rank.on(rank='rank', ranks='as_given').evaluate('q_measure')",
        "ADVICE.evaluate('q_measure')", r"df\.rank\.on",
    ),
    "a ratio over all queries": Case(
        "LOG", "df.rank.on(propensity='p').compare_groups('recall', by='query_id')",
        "df.rank.on(propensity='p').summarize('recall', by='query_id', ci=None)",
    ),
    "ratios beside sums": Case(
        "TWO.with_columns(p=0.5)", "df.rank.on(propensity='p').compare('recall', 'dcg', runs=['score', 'new'])",
        "df.rank.on(propensity='p', ADVICE).compare('recall', 'dcg', runs=['score', 'new']).table", r"or say (.*)$",
    ),
    "no document, named": Case(
        "OK.rename({'doc_id': 'd'})", "df.rank.on(ties='doc_asc').rr()", "ADVICE.on(ties='doc_asc').rr()", fill="'d'"
    ),
    "no document, ties by row": Case(
        "OK.drop('doc_id')", "df.rank.on(ties='doc_asc').rr()", "df.rank.on(ADVICE).rr()", r"or (ties='order')"
    ),
    "no document, in an expression": Case(
        "OK.drop('doc_id')", "df.group_by('query_id').agg(rf.expr.on(doc=None, ties='doc_asc').rr())",
        "df.group_by('query_id').agg(rf.expr.on(ADVICE).rr())", r"or (ties='order')", polars_only=True,
    ),
    "objects as ids": Case(
        "OK.with_columns(query_id=pl.Series([1, 1, 2], dtype=pl.Object))", "df.rank.rr()", "ADVICE.rank.rr()",
        polars_only=True,
    ),
    # values that are no ranking's
    "several rows of a query": Case(
        "VALUES", "df.rank.mean(rf.value('faithfulness'))", "df.rank.mean(ADVICE)", r"as (pl\.col.*)$",
        polars_only=True,
    ),
    "several values of a query's documents": Case(
        "OK", "df.rank.mean('rr', rf.value('label'))", "df.rank.mean('rr', ADVICE)", r"as (pl\.col.*)$",
        polars_only=True,
    ),
    "a value of a row by an expression": Case(
        "VALUES", "df.rank.mean((pl.col('faithfulness') / 2).alias('half'))", "df.rank.mean((pl.col('faithfulness') / 2).mean())"
    ),
    "a value that is infinite": Case("VALUES", "df.rank.mean(pl.lit(INF))", "df.rank.mean(pl.lit(None, pl.Float64))", polars_only=True),
    "a value beyond its bounds": Case(
        "VALUES", "df.rank.mean(rf.value(pl.col('faithfulness').sum(), bounds=(0, 1)))",
        "df.rank.mean(rf.value(pl.col('faithfulness').sum(), bounds=(0, 2)))",
    ),
    "a value that is text": Case("OK", "df.rank.mean(pl.col('doc_id').first())", "df.rank.mean(pl.col('doc_id').len())"),
    "an expression with several columns": Case(
        "OK", "df.rank.mean(pl.col('label', 'score').mean())", "df.rank.mean(*(pl.col(name).mean() for name in ('label', 'score')))"
    ),
    "several columns under one name": Case(
        "OK", "df.rank.mean(pl.selectors.numeric().mean().alias('x'))",
        "df.rank.mean(*(pl.col(name).mean() for name in ('score', 'label')))", polars_only=True,
    ),
    # SQL
    "a table without an order": Case(
        "OK", "rf.sql('rr', dialect='duckdb', table='t', ties='order')", "rf.sql('rr', dialect='duckdb', table='t', ADVICE)",
        r"say (ties='\w+') or",
    ),
    "a convention of ranked lists": Case(
        "OK", "rf.sql('rr', dialect='duckdb', table='t', convention='ranx')",
        "rf.sql('rr', dialect='duckdb', table='t', convention='ranx', ADVICE)", r"has ranks, (rank='\w+')$",
    ),
    "no documents to order by": Case(
        "OK", "rf.sql('rr', dialect='duckdb', table='t', doc=None, ties='doc_asc')",
        "rf.sql('rr', dialect='duckdb', table='t', ADVICE)", r"documents: (doc='\w+')$",
    ),
    "files as a table": Case(
        "OK", "rf.sql('rr', dialect='duckdb', table='pq/*.parquet')", "rf.sql('rr', dialect='duckdb', ADVICE)", r"write (table=.*)$",
    ),
    "an empty name": Case(
        "OK", "rf.sql('rr', dialect='duckdb', table='t', names={'rr': ''})", "rf.sql('rr', dialect='duckdb', table='t', ADVICE)",
        r"as (names=.*)$",
    ),
    "bounds in falling order": Case(
        "VALUES", "rf.value('faithfulness', bounds=(1, 0))", "rf.value('faithfulness', bounds=ADVICE)", r"as (\(0, 1\)),"),
    "more cutoffs than are read": Case("OK", "rf.parse('ndcg_cut.' + '5,' * 1_000 + '5')", "rf.parse('ndcg_cut.5')"),
    "a rank without a name": Case("OK", "df.rank.with_ranks(name='')", "df.rank.with_ranks(ADVICE)", r"as (name=.*)$"),
    "a value without its column": Case("OK", "df.rank.mean('value:')", "'ADVICE'", "write '(.*)'"),
    "a value where a ranking is compared": Case("OK", "df.rank.conventions('value:label')", "ADVICE", r"df\.rank\.conventions"),
    "runs that are columns of scores": Case(
        "TWO.with_columns(run=pl.lit('a'), cost=1.0)", "df.rank.mean(rf.value('cost'), runs=['score', 'new'])",
        "df.rank.mean(rf.value('cost'), run='run')",
    ),
    "a gate without bounds": Case(
        "STACK.with_columns(latency=1.0)", "df.rank.gate({rf.value('latency'): 0.1}, run='run', baseline='a')",
        "df.rank.gate({ADVICE: 0.1}, run='run', baseline='a')", r"as (rf\.value\(.*?\)\))",
    ),
    # arguments
    'a budget that is lacking': Case('TWO', "df.rank.gate(runs=['score', 'new'])", "df.rank.gate({'rr': 0.1}, runs=['score', 'new']).table"),
    'a slice without its name': Case('TWO', "df.rank.plot.slices('rr', 'query_id')", "df.rank.plot.slices('rr', by='query_id')"),
    'another column by its name': Case('TWO', "df.rank.agreement('kendall_tau', other='new')", "df.rank.agreement('new', 'kendall_tau')"),
    "judgments that are given twice": Case("RUN", "df.rank.judge(qrels, qrels=qrels)", "df.rank.judge(qrels)"),
    'an option of a fusion': Case('TWO', "df.rank.fuse('rrf', k=20, runs=['score', 'new'])", "df.rank.fuse('rrf(k=20)', runs=['score', 'new'])"),
    "no option of metrics of the whole table": Case(
        "OK", "df.rank.items.catalog('coverage@1', catalog=9)", "df.rank.items.catalog('coverage@1', items=9)"
    ),
    'a policy beside runs': Case("TWO.rename({'label': 'rel'})", "df.rank.compare('rr', runs=['score', 'new'], label='rel', resamples=99)", "ADVICE.compare('rr', runs=['score', 'new'], resamples=99).table", r"write (df\.rank\..*)", fill="'rel'"),
    "a policy beside runs in tables": Case(
        "OK", "df.rank.compare('rr', runs={'a': df, 'b': df}, relevant=1, resamples=99)",
        "df.rank.on(relevant=1).compare('rr', runs={'a': df, 'b': df}, resamples=99).table",
    ),
    "a baseline that is not among the runs": Case(
        "TWO.with_columns(old=1.0)", "df.rank.compare('rr', runs=['score', 'new'], baseline='old')",
        "df.rank.compare('rr', ADVICE, baseline='old').table", r"list it with them: (runs=\[.*?\])",
    ),
    "one argument too many": Case("OK", "df.rank.check(None, 'rr')", "df.rank.check(None)"),
    "an argument without its name": Case("OK", "df.rank.plot.judged('rr', 'white')", "df.rank.plot.judged('rr', background='white')"),
    "an option that a plot lacks": Case("OK", "df.rank.plot.judged('rr', colour='red')", "df.rank.plot.judged('rr')"),
    "a title that is no text": Case("OK", "df.rank.plot.judged('rr', title=1)", "df.rank.plot.judged('rr', title='nDCG by cutoff')"),
    'an agreement among metrics': Case("TWO.rename({'new': 'other_score'})", "df.rank.evaluate('kendall_distance@10')", "df.rank.agreement('other_score', ADVICE)", r"mean ('\w+') \(of agreement\)"),
    "a group that no row has": Case(
        "OK.with_columns(by=pl.Series(['x', 'y', 'x']))", "df.rank.on(group='by').group_exposure(group='typo')",
        "df.rank.on(group='by').group_exposure(group=ADVICE)", r"for group: ('\w+')",
    ),
    'a metric of the whole table among metrics': Case('OK', "df.rank.evaluate('aggregate_diversity@2')", 'df.rank.items.catalog(ADVICE, items=3)', r"mean ('\w+') \(of catalog\)"),
    'a metric of one ranking among those of a catalog': Case('OK', "df.rank.items.catalog('ndcg', items=3)", 'df.rank.evaluate(ADVICE)', r"mean ('\w+') \(of evaluate\)"),
    # columns by their roles
    "a column under another name": Case("OTHER.rename({'rel': 'label', 'sim': 'score'})", "df.rank.rr()", "ADVICE.rr()"),
    "columns under other names": Case("OTHER", "df.rank.rr()", "ADVICE.rr()"),
    "a column of any name": Case("OK.rename({'score': 'x'})", "df.rank.rr()", "ADVICE.rr()", fill="'x'"),
    "no labels, but judgments": Case("RUN", "df.rank.rr()", "ADVICE.rank.rr()", r"df\.rank\.judge\("),
    "ranks and no scores": Case("RANKS", "df.rank.judge(qrels)", "ADVICE.judge(qrels)"),
    "whole ranks and no scores": Case(
        "RANKS.with_columns(pl.col('rank').cast(pl.Int64))", "df.rank.judge(qrels)", "ADVICE.judge(qrels)"
    ),
    "ranks turned round in a name": Case(
        "RANKS", "df.rank.on(score='-rank').judge(qrels)", "ADVICE.judge(qrels)"
    ),
    "ranks, and other names": Case(
        "RANKS.rename({'query_id': 'qid'}).join(QRELS.rename({'query_id': 'qid'}), on=['qid', 'doc_id'])",
        "df.rank.on(score='-rank').rr()", "ADVICE.rr()",
    ),
    "distances": Case("RUN.rename({'score': 'distance'})", "df.rank.judge(qrels)", "ADVICE.judge(qrels)"),
    "an unknown preset of names": Case("OK.rename({'query_id': 'qid'})", "df.rank.on(names='piterrier').rr()", "df.rank.on(names='ADVICE', doc='doc_id').rr()", r"Did you mean '(.*)'\?"),
    "ranks and scores": Case("OK", "df.rank.on(rank='score', score='score').rr()", "df.rank.on(rank='score').rr()"),
    "ranks of which the highest is the best": Case(
        "OK", "df.rank.on(rank='score', ascending=False).rr()", "df.rank.on(rank='score').rr()"
    ),
    "lists of documents with scores and labels": Case(
        "pl.DataFrame({'query_id': [1, 2], 'docs': [['a', 'b'], ['c']], 'scores': [[2, 1], [1]], 'labels': [[0, 1], [1]]})",
        "df.rank.rr()", "ADVICE.rank.rr()", r"rf\.from_lists\(",
    ),
    "lists of documents with scores, named": Case(
        "pl.DataFrame({'query_id': [1, 2], 'docs': [['a', 'b'], ['c']], 'scores': [[2, 1], [1]], 'labels': [[0, 1], [1]]})",
        "df.rank.on(score='scores', label='labels').rr()", "ADVICE.rank.rr()", r"rf\.from_lists\(",
    ),
    "lists of scores and labels alone": Case(
        "pl.DataFrame({'query_id': [1, 2], 'scores': [[2, 1], [1]], 'labels': [[0, 1], [1]]})",
        "df.rank.rr()", "ADVICE.rank.rr()", r"rf\.from_lists\(",
    ),
    "lists of documents": Case("LISTED", "df.rank.rr()", "ADVICE.rank.rr()", r"rf\.from_lists\("),
    "judgments under other names": Case(
        "RUN", "(qrels := OTHER_QUERY) is None or df.rank.judge(qrels)", "df.rank.judge(ADVICE)"
    ),
    "judgments all of whose columns have other names": Case(
        "RUN", "(qrels := OTHER_NAMES) is None or df.rank.judge(qrels)", "df.rank.judge(ADVICE)"
    ),
    "a column that an expression names": Case("TWO", "df.rank.evaluate(pl.col('neww').max())", "df.rank.evaluate(pl.col('new').max())"),
    "judgments whose labels have another name": Case(
        "RUN", "df.rank.judge(OTHER_LABEL)", "ADVICE.judge(OTHER_LABEL)", r"df\.rank\.on\("
    ),
    "judgments without labels, of a column": Case(
        "RUN", "df.rank.judge(WITHOUT)", "ADVICE.judge(WITHOUT)", r"df\.rank\.on\("
    ),
    "judgments without labels, all relevant": Case(
        "RUN", "(qrels := WITHOUT) is None or df.rank.judge(qrels)",
        "df.rank.judge(qrels.assign(label=1) if hasattr(qrels, 'assign') else qrels.with_columns(label=1))",
    ),
    "judgments without labels, below the threshold": Case(
        "RUN", "(qrels := UNLABELLED) is None or df.rank.on(relevant=2).judge(qrels)",
        "df.rank.on(relevant=2).judge(ADVICE)", r"qrels\.",
    ),
    "judgments without labels, twice": Case(
        "RUN", "(qrels := UNLABELLED_TWICE) is None or df.rank.judge(qrels)", "df.rank.judge(ADVICE)", r"with (qrels.*?\]\))",
    ),
    "a run that is nearly named": Case(
        "TWO", "df.rank.compare('rr', runs=['score', 'nwe'], resamples=99)",
        "df.rank.compare('rr', runs=['score', ADVICE], resamples=99)", r"Did you mean (.*)\?",
    ),
    'no cutoff after its sign': Case('OK', "df.rank.evaluate('ndcg@')", "df.rank.evaluate('ndcg@10')"),
    'a metric in words': Case('OK', "df.rank.evaluate('hit rate@5')", "df.rank.evaluate('hit_rate@5')"),
    'a word misspelt, of a gain': Case('OK', "df.rank.ndcg(gain='exp')", 'df.rank.ndcg(gain=ADVICE)', r"mean ('\w+')"),
    "several runs as one text": Case(
        "OK.with_columns(new=pl.Series([1.0, 2.0, 1.0]))", "df.rank.compare('rr', runs='score, new', resamples=99)",
        "df.rank.compare('rr', runs=['score', 'new'], resamples=99)",
    ),
    'a metric as a method of fusion': Case('TWO', "df.rank.tune('ndcg@10', runs=['score', 'new'], folds=2)", "df.rank.tune('rrf', metric='ndcg@10', runs=['score', 'new'], folds=2, resamples=99)"),
    'a plot as a method': Case('OK', "df.rank.distribution('rr')", "df.rank.ADVICE('rr')", r"mean '(plot\.\w+)'"),
    "runs as one text": Case(
        "TWO", "df.rank.compare('rr', runs='score')", "df.rank.compare('rr', runs=['score', 'new'], resamples=99)"
    ),
    "tables as runs": Case(
        "OK", "df_a.rank.compare('rr', runs=[df_a, df_b])", "df_a.rank.compare('rr', runs={'a': df_a, 'b': df_b}, resamples=99)"
    ),
    "text that is numbers": Case("OK.with_columns(pl.col('label').cast(pl.String))", "df.rank.rr()", "ADVICE.rank.rr()"),
    "categories that are numbers": Case(
        "OK.with_columns(pl.col('label').cast(pl.String).cast(pl.Categorical))", "df.rank.rr()", "ADVICE.rank.rr()"
    ),
    "an enum of numbers": Case(
        "OK.with_columns(pl.col('label').cast(pl.String).cast(pl.Enum(['0', '1'])))", "df.rank.rr()", "ADVICE.rank.rr()"
    ),
    "words": Case("OK.with_columns(label=pl.Series(['bad', 'good', None]))", "df.rank.rr()", None),
    "numbers as categories": Case(
        "OK.with_columns(label=pl.Series(['1', '0.5', '0'], dtype=pl.Categorical))", "df.rank.rr()", "ADVICE.rank.rr()"
    ),
    "numbers as text, lazy": Case(
        "OK.with_columns(pl.col('label').cast(pl.String)).lazy()", "df.rank.rr().collect()",
        "ADVICE.rank.rr().collect()", polars_only=True,
    ),
    "dates as scores": Case(
        "OK.with_columns(score=pl.date(2020, 1, 'label'.__len__()))", "df.rank.rr()", "ADVICE.rank.rr()", polars_only=True
    ),
    "lists as scores": Case(
        "OK.with_columns(pl.concat_list('score'), x=1)", "df.rank.rr()", "ADVICE.rr()", fill="'x'", polars_only=True
    ),
    "scores as the names of runs": Case(
        "OK.with_columns(new=pl.Series([0.5, 0.25, 1.0]))", "df.rank.compare('rr', run='new', resamples=99)",
        "df.rank.compare('rr', ADVICE, resamples=99)", r"named by (runs=\[.*\])",
    ),
    "words as weights of queries": Case(
        "OK.with_columns(w=pl.Series(['lo', 'lo', 'hi']))", "df.rank.summarize('rr', weights='w', resamples=99)", None
    ),
    "a weight that each run has another number of": Case(
        "TWO.with_columns(new=pl.Series([1.0, None, 1.0]))",
        "df.rank.compare('rr', runs=['score', 'new'], weights='num_ret', resamples=99)",
        "df.rank.compare('rr', runs=['score', 'new'], ADVICE, resamples=99)", r"such as (weights='.*')",
    ),
    "clusters in a Bayesian test": Case(
        "TWO.with_columns(user=1)", "df.rank.compare('rr', runs=['score', 'new'], test='bayes', cluster='user')",
        "df.rank.compare('rr', runs=['score', 'new'], test='bayes', resamples=99)",
    ),
    "subtopics of rows without documents": Case(
        "SUB.rename({'doc_id': 'd'})", "df.rank.on(subtopic='subtopic').alpha_ndcg()",
        "ADVICE.on(subtopic='subtopic').alpha_ndcg()", fill="'d'",
    ),
    "subtopics that are objects": Case(
        "OK.with_columns(subtopic=pl.Series([1, 1, 2], dtype=pl.Object))",
        "df.rank.on(subtopic='subtopic').alpha_ndcg()", "SUB.rank.on(subtopic='subtopic').alpha_ndcg()", polars_only=True,
    ),
    "a dictionary": Case(
        "{'q1': {'a': 2.0, 'b': 1.0}}", "rf.rank(run)", "rf.ADVICE(run=run).rank.judge(QRELS_Q, judged_only='keep')", r"rf\.(from_dicts)", polars_only=True
    ),
    # policies
    "a Series as column": Case("OK", "df.rank.on(query=df['query_id']).rr()", None),
    "an expression as column": Case("OK", "df.rank.on(score=-pl.col('score')).rr()", None),
    "a number as column": Case("OK", "df.rank.on(query=3).rr()", "df.rank.on(query='query_id').rr()", polars_only=True),
    "a pattern as column": Case(
        "OK.rename({'score': '*'})", "df.rank.on(score='*').rr()", "ADVICE.rank.on(score='x').rr()", fill="'x'"
    ),
    "no query column": Case("OK", "df.rank.on(query=[]).rr()", "df.rank.on(ADVICE).rr()", r"as (query='query_id')"),
    "columns of a role with one": Case("OK", "df.rank.on(doc=('doc_id',)).rr()", "df.rank.on(doc='doc_id').rr()"),
    "a column of two roles": Case("OK", "df.rank.on(query='doc_id').rr()", "df.rank.on(query='doc_id', doc=None).rr()"),
    "a word near to one": Case(
        "OK", "df.rank.on(ties='doc_dsc').rr()", "df.rank.on(ties=ADVICE).rr()", r"Did you mean (.*)\?"
    ),
    'a word of the list': Case('OK', 'df.rank.on(no_relevant=0).rr()', 'df.rank.on(no_relevant=ADVICE).rr()', r"write one of (.*)\.$"),
    "a depth of 0": Case("OK", "df.rank.on(depth=0).rr()", "df.rank.on(depth=ADVICE).rr()", r"from (\d+) on"),
    "labels of the unjudged": Case(
        "OK", "df.rank.on(unjudged='bounds', unjudged_labels=(3, 0)).rr()",
        "df.rank.on(unjudged='bounds', unjudged_labels=ADVICE).rr()", r"as (\(0, 3\))",
    ),
    "bounds and ties that share a rank": Case(
        "OK", "df.rank.on(unjudged='bounds', ties='last').rr()", "ADVICE.on(unjudged='bounds').rr()"),
    "an order of ties that share a rank": Case(
        "TWO", "df.rank.on(ties='last').agreement('new', 'overlap')", "ADVICE.agreement('new', 'overlap')"),
    "documents one by one that share a rank": Case("OK", "df.rank.on(ties='last').err(max_label=1)", "ADVICE.err(max_label=1)"),
    "bounds and ties by label": Case("OK", "df.rank.on(unjudged='bounds', ties='best').rr()", "ADVICE.on(unjudged='bounds').rr()"),
    "bounds and weights": Case("OK", "df.rank.on(unjudged='bounds', weight='label').dcg()", "ADVICE.on(weight='label').dcg()"),
    "depth and expected ties": Case(
        "OK", "df.rank.on(depth=3, ties='expected').ndcg()", "df.rank.on(ties='expected').evaluate('ADVICE')", r"cutoff: (\S+)"
    ),
    "a threshold below 0": Case("OK", "df.rank.on(relevant=-1).rr()", "df.rank.on(relevant=0).rr()"),
    "a tool by another name": Case(
        "OK", "df.rank.on(convention='pytrec_eval').evaluate('map')", "df.rank.on(convention=ADVICE).evaluate('map')",
        r"Did you mean (.*)\?",
    ),
    "a choice that a tool makes otherwise": Case("OK", "df.rank.on(depth=1).on(convention='ranx').rr()", "ADVICE.rr()"),
    "a metric that a tool lacks": Case(
        "OK", "df.rank.on(convention='spark').evaluate('rbp')", "df.rank.evaluate(ADVICE)", r"evaluate (\S+) without"
    ),
    "a metric that a tool has otherwise": Case(
        "OK", "df.rank.on(convention='rectools').items.catalog('coverage@1', items=3)", "df.rank.ADVICE", r"(conventions\(\S+\)) shows"
    ),
    'an option of on under another name': Case('OK', "df.rank.on(qid='query_id').rr()", "df.rank.on(query='query_id').rr()"),
    # tables beside the ranker's own
    "no interactions": Case("OK", "df.rank.metrics.novelty()", "ADVICE.metrics.novelty()"),
    "interactions that are no frame": Case("OK", "df.rank.on(interactions=3)", "df.rank.on(interactions=train).metrics.novelty()"),
    "interactions without the items": Case(
        "OK", "df.rank.on(interactions=TRAIN_X).metrics.novelty()",
        "(lambda interactions: df.rank.on(interactions=ADVICE).metrics.novelty())(TRAIN_X)", r"interactions\.rename",
    ),
    "interactions with nulls": Case(
        "OK", "df.rank.on(interactions=TRAIN_NULL).metrics.novelty()",
        "(lambda interactions: df.rank.on(interactions=ADVICE).metrics.novelty())(TRAIN_NULL)", r"interactions\.drop",
    ),
    "interactions without rows": Case(
        "OK", "df.rank.on(interactions=TRAIN_NONE).metrics.novelty()", "df.rank.on(interactions=train).metrics.novelty()"
    ),
    "interactions of other ids": Case(
        "OK", "df.rank.on(interactions=TRAIN_INT).metrics.novelty()",
        "(lambda interactions: df.rank.on(interactions=ADVICE).metrics.novelty())(TRAIN_INT)", r"interactions\.(?:with|as)",
    ),
    "counts without numbers": Case(
        "OK", "df.rank.on(interactions=COUNTS_TEXT).mean_popularity()", "df.rank.on(interactions=COUNTS).mean_popularity()"
    ),
    "counts of an item twice": Case(
        "OK", "df.rank.on(interactions=COUNTS_TWICE).mean_popularity()", "df.rank.on(interactions=COUNTS).mean_popularity()"
    ),
    "counts where users count": Case("OK", "df.rank.on(interactions=COUNTS).metrics.unseen()", "ADVICE.metrics.unseen()"),
    "items without their ids": Case(
        "OK", "df.rank.on(interactions=train, items=ITEMS_X).serendipity()",
        "(lambda items: df.rank.on(interactions=train, items=ADVICE).serendipity())(ITEMS_X)", r"items\.rename",
    ),
    "an item twice in the catalog": Case(
        "OK", "df.rank.on(category='genre', items=ITEMS_TWICE).metrics.category_diversity()",
        "df.rank.on(category='genre', items=catalog).metrics.category_diversity()",
    ),
    'a share of no group': Case("SUB.with_columns(subtopic=pl.Series(['M', 'F', 'M']))", "df.rank.on(group='subtopic').metrics.ndkl(target=0.25)", "df.rank.on(group='subtopic').evaluate('ndkl(group=M,target=0.25)')"),
    # verbs
    "one name twice": Case(
        "OK", "df.rank.evaluate(pl.col('score').sum(), pl.col('score').mean())",
        "df.rank.evaluate(pl.col('score').sum(), pl.col('score').mean().alias('x'))",
    ),
    "several columns of one expression": Case(
        "TWO", "df.rank.evaluate(pl.col('score', 'new').mean())",
        "(lambda names: df.rank.evaluate(ADVICE))(['score', 'new'])", r"as (\*\(.*\))$", polars_only=True,
    ),
    "no metric": Case("OK", "df.rank.evaluate()", "ADVICE"),
    "an expression as shape": Case("OK", "df.rank.explain(rf.expr.rr())", "ADVICE", r"as in (.*\))$"),
    "ranks in all orders": Case(
        "OK", "df.rank.on(ties='expected').with_ranks()", "df.rank.on(ADVICE).with_ranks()", r"as with (\S+)$"
    ),
    "a curve with a cutoff": Case("OK", "df.rank.curve('ndcg@10')", "df.rank.curve('ndcg')"),
    "a curve of a metric without one": Case("OK", "df.rank.curve('sdcg(max_label=1)@10')", "df.rank.evaluate('sdcg(max_label=1)@10')"),
    "a mean of texts": Case("OK", "df.rank.summarize('relstring')", "df.rank.evaluate('relstring')"),
    "a curve of what is no sum": Case("OK", "df.rank.curve('gm_map')", "df.rank.evaluate('gm_map')"),
    "contributions of what is no sum": Case("OK", "df.rank.explain('auc')", "df.rank.evaluate('auc')"),
    "an expression where a kernel reads metrics": Case("OK", "requests.calls_of(rf.expr.rr())", "ADVICE", r"as in (.*\))$"),
    "a mean of bounds": Case("OK", "df.rank.on(unjudged='bounds').conventions('rr')", "ADVICE.conventions('rr')"),
    "contributions of bounds": Case("OK", "df.rank.on(unjudged='bounds').explain('rr')", "ADVICE.explain('rr')"),
    "two policies in one plot of ranks": Case(
        "OK", "df.rank.on(convention='xgboost').explain('map', 'precision')", "df.rank.on(convention='xgboost').explain('map')"
    ),
    "judging without documents": Case(
        "RUN.rename({'doc_id': 'd'})", "df.rank.on(doc=None).judge(QRELS_D)", "ADVICE.judge(QRELS_D)", fill="'d'"
    ),
    "labels named as scores": Case(
        "RUN", "(qrels := df) is None or df.rank.on(label='score').judge(qrels)", "df.rank.judge(ADVICE)", r"qrels\."
    ),
    "judging what is judged": Case("OK", "df.rank.judge(qrels)", "df.rank.rr()"),
    "judging with a column of both": Case(
        "RUN", "df.rank.judge(BOTH)", "df.rank.judge(BOTH[['query_id', 'doc_id', 'label']])"
    ),
    "ids of another type, text in the judgments": Case("RUN", "df.rank.judge(QRELS_TEXT)", "ADVICE.rank.judge(QRELS_TEXT)"),
    "ids of another type, text in the run": Case(
        "RUN.with_columns(pl.col('query_id').cast(pl.String))", "df.rank.judge(qrels)", "df.rank.judge(ADVICE)"
    ),
    "ids of a wider type": Case(
        "RUN.with_columns(pl.col('query_id').cast(pl.Int8))", "df.rank.judge(qrels.tail(1))", "ADVICE.rank.judge(qrels)"
    ),
    "ids of categories": Case(
        "RUN.with_columns(pl.col('doc_id').cast(pl.Categorical))", "df.rank.judge(qrels)", "ADVICE.rank.judge(qrels)",
        polars_only=True,
    ),
    "ids that are lists": Case(
        "RUN.with_columns(pl.concat_list('doc_id'))", "df.rank.judge(qrels)", None, polars_only=True
    ),
    "no query in common": Case(
        "RUN.with_columns(pl.col('query_id').cast(pl.String))", "df.rank.judge(QRELS_Q)", "df.rank.judge(QRELS_TEXT)"
    ),
    "judgments that repeat": Case(
        "RUN", "(qrels := QRELS_TWICE) is None or df.rank.judge(qrels)", "df.rank.judge(ADVICE)", r"qrels\.sort"
    ),
    "judgments of subtopics": Case(
        "RUN", "df.rank.judge(QRELS_TWICE)", "df.rank.on(subtopic='note').judge(QRELS_TWICE)"
    ),
    "several runs": Case(
        "STACK.drop('label').with_columns(system=pl.col('run'))", "df.rank.judge(qrels)", "ADVICE", r"df\.rank\.judge\(",
        fill="'run'",
    ),
    "runs by more than one column": Case(
        "pl.concat([STACK, STACK]).with_columns(fold=pl.Series([1] * 6 + [2] * 6)).drop('label')",
        "df.rank.judge(qrels, run='run')", "ADVICE.judge(qrels)", r"df\.rank\.on\(", fill="'fold'",
    ),
    "a run without a name": Case(
        "STACK.drop('label').with_columns(run=pl.Series(['a'] * 3 + [None] * 3))", "df.rank.judge(qrels, run='run')",
        "ADVICE.rank.judge(qrels, run='run')", r"df\.(?:with_columns|fillna)",
    ),
    "queries that nobody judged": Case(
        "RUN", "df.rank.judge(qrels.head(2), run_only='error')", "df.rank.judge(qrels.head(2), ADVICE)",
        r"(run_only='drop')",
    ),
    "queries of the judgments alone": Case(
        "RUN.head(2)", "df.rank.judge(qrels, judged_only='error')", "df.rank.judge(qrels, ADVICE)",
        r"(judged_only='keep')",
    ),
    "judgments of pandas": Case("RUN", "df.rank.judge(QRELS.to_pandas())", "df.rank.judge(pl.from_pandas(QRELS.to_pandas()))",
                                polars_only=True),
    # options of verbs
    'an option spelt wrong': Case('TWO', "df.rank.compare('rr', runs=['score', 'new'], basline='new', resamples=99)", "df.rank.compare('rr', runs=['score', 'new'], baseline='new', resamples=99).table"),
    "a rank under a name that is taken": Case("OK", "df.rank.with_ranks('label')", "ADVICE", r"as with (.*)$"),
    # what all users are shown
    "a catalog of unknown size": Case("OK", "df.rank.items.catalog('coverage@10')", "df.rank.items.catalog('coverage@10', ADVICE)", r"(items=1000)"),
    "groups without a catalog": Case(
        "OK", "df.rank.items.catalog('group_exposure_ratio')",
        "(lambda catalog: ADVICE.items.catalog('group_exposure_ratio', ci=None))(PROVIDERS)", r"as (df\.rank\.on\(.*\))",
    ),
    "groups by popularity of a number of items": Case(
        "OK", "df.rank.on(interactions=train).items.catalog('rsp(head=0.5)', items=9)",
        "(lambda catalog: ADVICE.on(interactions=train).items.catalog('rsp(head=0.5)', ci=None))(ITEMS)", r"as (df\.rank\.on\(.*\))",
    ),
    "a group of no item": Case(
        "OK", "df.rank.on(group='genre', items=catalog, interactions=train).items.catalog('bias_disparity(group=xx)')",
        "df.rank.on(group='genre', items=catalog, interactions=train).items.catalog('bias_disparity(group=ADVICE)')",
        r"write one of '(\w)'",
    ),
    "labels that a declaration does not tell of": Case("OK", "refuse_labels(df)", "df.rank.items.catalog('hhi')"),
    "relevance of distances": Case(
        "OK", "df.rank.on(ascending=True).items.catalog('attention_relevance_gap(across=items,relevance=score)')",
        "df.rank.on(ascending=True).items.catalog('attention_relevance_gap(across=items,ADVICE)')", r"write (relevance=label)",
    ),
    "relevance of ranks": Case(
        "OK.with_columns(rank=pl.Series([1, 2, 1]))",
        "df.rank.on(rank='rank').items.catalog('attention_relevance_gap(across=items,relevance=score)')",
        "ADVICE.items.catalog('attention_relevance_gap(across=items,relevance=score)')", r": (df\.rank\.on\(.*\))$", fill="'score'",
    ),
    "relevance of scores below 0": Case(
        "OK.with_columns(score=-pl.col('score'))", "df.rank.items.catalog('attention_relevance_gap(across=items,relevance=score)')",
        "OK.rank.items.catalog('attention_relevance_gap(across=items,relevance=score)')",
    ),
    "popularity without a past": Case(
        "OK", "df.rank.items.catalog('popularity_lift')", "(lambda train: df.rank.items.catalog('popularity_lift', ADVICE))(qrels)",
        r"(interactions=train)",
    ),
    "a catalog of no item": Case("OK", "df.rank.items.catalog('coverage', items=0)", "df.rank.items.catalog('coverage', items=9)"),
    "a catalog without rows": Case("OK", "df.rank.items.catalog('coverage', items=[])", "df.rank.items.catalog('coverage', items=9)"),
    "a catalog smaller than what is shown": Case(
        "OK", "df.rank.items.catalog('coverage', items=2)", "df.rank.items.catalog('coverage', items=3)"
    ),
    "items that the catalog lacks": Case(
        "OK", "df.rank.items.catalog('coverage', items=['a'])", "df.rank.items.catalog('coverage', items=['a'], ADVICE)",
        r"(unknown_items='drop')",
    ),
    "a catalog that is a word": Case("OK", "df.rank.items.catalog('coverage', items='abc')", "df.rank.items.catalog('coverage', items=list('abc'))"),
    "a catalog of several types": Case(
        "OK", "df.rank.items.catalog('coverage', items=['a', 1])", "df.rank.items.catalog('coverage', items=['a', 'b', 'c'])"
    ),
    "a list of numbers for texts": Case(
        "OK.with_columns(doc_id=pl.Series(['1', '2', '3']))", "(items := [1, 2, 3]) and df.rank.items.catalog('coverage', items=items)",
        "df.rank.items.catalog('coverage', items=['1', '2', '3'])",
    ),
    "a frame of numbers for texts": Case(
        "OK.with_columns(doc_id=pl.Series(['0', '1', '2']))", "(items := WITHOUT_NAMES) is None or df.rank.items.catalog('coverage', items=items)",
        "df.rank.items.catalog('coverage', items=ADVICE)", r"as in (items.*)$",
    ),
    "a catalog under another name": Case(
        "OK", "(items := OTHER_NAMES) is None or df.rank.items.catalog('coverage', items=items)",
        "df.rank.items.catalog('coverage', items=ADVICE)", r"(items\.rename\(.*\))$",
    ),
    "a train of another type": Case("RUN", "(train := QRELS_TEXT) is None or df.rank.items.without(train)", "ADVICE.rank.items.without(QRELS_TEXT)"),
    "what is no ranker": Case("OK", "df.rank.on(like=df).rr()", "df.rank.on(like=df.rank).rr()"),
    "a train that is no frame": Case("RUN", "df.rank.items.without(3)", "df.rank.items.without(qrels)"),
    "a null among the items": Case(
        "OK.with_columns(doc_id=pl.Series(['a', None, 'c']))", "df.rank.items.exposure()", "ADVICE.rank.items.exposure()"
    ),
    "features of several lengths": Case(
        "OK", "df.rank.on(interactions=train, items=ITEMS.with_columns(x=pl.Series([[1.0], [1.0, 2.0], [1.0]])), features='x')"
        ".serendipity(against='features')", None, polars_only=True,
    ),
    "features that are null": Case(
        "OK", "df.rank.on(interactions=train, items=ITEMS.with_columns(x=pl.Series([1.0, None, 2.0])), features='x')"
        ".serendipity(against='features')", None, polars_only=True,
    ),
    "items without a column": Case(
        "OK.rename({'doc_id': 'd'})", "df.rank.items.exposure()", "ADVICE.items.exposure()", r"df\.rank\.on\(", fill="'d'"
    ),
    "an unknown weight": Case("OK", "df.rank.items.exposure(weight='lg2')", "df.rank.items.exposure(weight=ADVICE)", r"Did you mean (.*)\?"),
    "labels of a catalog metric": Case("OK", "df.rank.items.catalog('hhi(relevant=2)')", "df.rank.items.catalog('hhi')"),
    "an interval in parts": Case(
        "OK", "items_catalog.Parts.of(setup.Setup(), None, 'hhi', ci=0.95)",
        "df.rank.items.catalog('hhi', ADVICE)", r"say (ci=None)$",
    ),
    "counts of other metrics": Case(
        "OK", "df.rank.items.counts('hhi').merge(df.rank.items.counts('entropy'))",
        "df.rank.items.counts('hhi').merge(df.rank.items.counts('hhi'))",
    ),
    "a value for each item": Case("OK", "refuse_per_item(df)", "df.rank.items.catalog('hhi')"),
    "a catalog metric with a name that is no text": Case("OK", "rf.catalog_metric(3)(OWN)", None),
    "one run by catalog metrics": Case(
        "STACK.filter(pl.col('run') == 'a')", "df.rank.items.compare('hhi', run='run')",
        "STACK.rank.items.compare('hhi', run='run', resamples=99)",
    ),
    "gaps between no groups": Case("OK.with_columns(age=pl.Series([1, 1, 2]))", "df.rank.compare_groups('rr', by=[])", "df.rank.compare_groups('rr', ADVICE, resamples=99)", r"as (by='age')$"),
    "a baseline that is no group": Case(
        "OK", "df.rank.compare_groups('rr', by='query_id', baseline='3')", "df.rank.compare_groups('rr', by='query_id', baseline='2')"
    ),
    "a cluster in two groups": Case(
        "OK.with_columns(g='query_id', c=pl.lit('u'))", "df.rank.compare_groups('rr', by='g', cluster='c')",
        "df.rank.compare_groups('rr', by='g', cluster='query_id')",
    ),
    "a gap of one group": Case(
        "OK.with_columns(one=pl.lit(1))", "df.rank.compare_groups('rr', by='one')", "df.rank.compare_groups('rr', by='query_id', resamples=99)"
    ),
    # methods
    'a method that is a text': Case('OK', 'df.rank.mrrr', 'df.rank.evaluate(ADVICE)', r"mean ('\w+')"),
    "a method spelt wrong": Case("OK", "df.rank.precison", "df.rank.ADVICE()", r"Did you mean '(.*)'\?"),
    'a name that another tool has for another number': Case('OK', "df.rank.evaluate('sDCG@1')", "df.rank.evaluate('ADVICE(max_label=1)@1')", r"is (\w+) in cwl"),
    'a method of two meanings': Case('OK', 'df.rank.accuracy', "df.rank.evaluate('ADVICE')", r"is (\w+) in"),
    # texts
    'a method as a metric': Case('OK', 'df.rank.evaluate(df.rank.ndcg)', "df.rank.evaluate('ndcg')"),
    'options behind the cutoff': Case('OK', "df.rank.evaluate('ndcg@10(gain=binary)')", "df.rank.evaluate('ndcg(gain=binary)@10')"),
    "a text spelt wrong": Case("OK", "df.rank.evaluate('ndgc@10')", "df.rank.evaluate(ADVICE)", r"Did you mean (.*)\?"),
    "a text that may be two": Case("OK", "df.rank.evaluate('rec@3')", "df.rank.evaluate(ADVICE)", r"Did you mean (.*)\?"),
    "a cutoff without its @": Case("OK", "df.rank.evaluate('ndcg10')", "df.rank.evaluate(ADVICE)", r"Did you mean (.*)\?"),
    "a cutoff at": Case("OK", "df.rank.evaluate('ndcg_at_k')", "df.rank.evaluate(ADVICE)", r"Did you mean (.*)\?"),
    "a cutoff of the whole list": Case("OK", "df.rank.evaluate('ndcg@all')", "df.rank.evaluate(ADVICE)", r"write (.*)$"),
    "a cutoff as a keyword": Case("OK", "df.rank.evaluate('ndcg', k=1)", "df.rank.evaluate(ADVICE)", r"cutoff: (.*)$"),
    "resamples by another word": Case(
        "TWO", "df.rank.compare('rr', n_bootstrap=99, runs=['score', 'new'])", "df.rank.compare('rr', ADVICE, runs=['score', 'new'])",
        r"write (.*)$",
    ),
    "the chance of error in place of the confidence": Case(
        "OK", "df.rank.summarize('rr', alpha=0.1)", "df.rank.summarize('rr', ADVICE)", r"write (.*)$"
    ),
    "a correction that is not computed": Case(
        "TWO", "df.rank.compare('rr', correction='bonferroni', runs=['score', 'new'], resamples=99)",
        "df.rank.compare('rr', ADVICE, runs=['score', 'new'], resamples=99)", r"write (.*)$",
    ),
    "columns of scores as the column of runs": Case(
        "TWO", "df.rank.mean('rr', run=['score', 'new'])", "df.rank.mean('rr', ADVICE)", r"(runs=.*)$"
    ),
    'two cutoffs': Case('OK', "rf.parse('ndcg@5,10')", "df.rank.evaluate('ndcg@5,10')"),
    "a comma too many": Case("OK", "df.rank.evaluate('ndcg@10,')", "df.rank.evaluate(ADVICE)", r"write (.*)$"),
    "a list of cutoffs": Case(
        "OK", "rf.expr.ndcg(k=[5, 10])", "df.group_by('query_id').agg(ADVICE)", r"as in (.*)$", polars_only=True
    ),
    'no cutoff in a list': Case('OK', 'df.rank.ndcg(k=[])', 'df.rank.ndcg(k=[5])'),
    'a list of cutoffs in a text': Case('OK', "df.rank.evaluate('ndcg(k=[5,10])')", "df.rank.evaluate('ndcg@5,10')"),
    'a method at a cutoff': Case('OK', 'df.rank.ndcg_at_10', 'df.rank.evaluate(ADVICE)', r"mean ('\w+')"),
    'a cutoff of 0': Case('OK', 'df.rank.ndcg(k=0)', 'df.rank.ndcg(k=1)'),
    'a cutoff that is a word': Case('OK', "df.rank.evaluate('ndcg@ten')", "df.rank.evaluate('ndcg@10')"),
    "a text that is too long": Case("OK", "df.rank.evaluate('rbp(p=0.' + '9' * 100_000 + ')')", "df.rank.rbp()"),
    "a number as a metric": Case("OK", "df.rank.evaluate([3])", "df.rank.evaluate(ADVICE)", r"as ('ndcg@10')"),
    "an unreadable text": Case("OK", "df.rank.evaluate('rbp(')", "df.rank.evaluate(ADVICE)", r"as in (.*)$"),
    "unreadable options": Case("OK", "df.rank.evaluate('err(4, 3)')", "df.rank.evaluate(ADVICE)", r"as in (.*)$"),
    "an option twice": Case("OK", "rf.parse('rbp(p=0.5,p=0.8)')", "rf.parse('rbp(p=0.5)')"),
    "a cutoff twice": Case("OK", "rf.parse('ndcg(k=3)@10')", "rf.parse('ndcg@10')"),
    'a cutoff where there is none': Case('OK', "df.rank.evaluate('bpref@10')", "df.rank.evaluate('bpref')"),
    'a parameter where there is none': Case('OK', "df.rank.evaluate('bpref.5')", "df.rank.evaluate('bpref')"),
    "the gain twice": Case("OK", "rf.parse(\"nDCG(gains={1:1},dcg='exp-log2')\")", "rf.parse('nDCG(gains={1:1})')"),
    "a policy in a text": Case("OK", "df.rank.evaluate('nDCG(judged_only=True)@10')", "ADVICE.evaluate('nDCG@10')"),
    "a least label in a text": Case("OK", "rf.parse('nDCG(min_rel=1)')", "rf.parse('nDCG(gain={1: 0, 2: 1})')"),
    "too few numbers after a dot": Case("OK", "rf.parse('utility.1,2')", "rf.parse('utility.1,2,0,0')"),
    "a square below 0": Case("OK", "rf.parse('set_F.-1')", "rf.parse('set_F.1')"),
    "an unknown option of a metric": Case("OK", "df.rank.evaluate('rbp(q=1)')", "df.rank.evaluate('rbp@1')"),
    "a policy as an option of a metric": Case("OK", "df.rank.ndcg(ties='order')", "ADVICE.ndcg()", fill="'order'"),
    "a policy with a wrong letter as an option of a metric": Case("OK", "df.rank.ndcg(relevent=2)", "ADVICE.ndcg()", fill="2"),
    'an option of another type': Case('OK', 'df.rank.ndcg(gain=[1])', 'df.rank.ndcg(gain={1: 3})'),
    'an option of any type': Case('OK', "call.call_of(registry.Metric('any', ANY), (), {'x': [1]})", "call.call_of(registry.Metric('any', ANY), (), {'x': 1})"),
    'a mapping of words for an option of any type': Case('OK', "call.call_of(registry.Metric('any', ANY), (), {'x': {'a': 1}})", "call.call_of(registry.Metric('any', ANY), (), {'x': {1: 2}})"),
    "weights that a metric lacks": Case("OK", "df.rank.on(weight='label').rr()", "df.rank.rr()"),
    "ties that a metric has no mean for": Case("OK", "df.rank.on(ties='expected').bpref()", None),
    # the list of metrics
    "a function that is no metric": Case("OK", "df.rank.evaluate(len)", None),
    "a metric of one's own that is no function": Case("OK", "rf.metric(int)", None),
    "a metric of one's own under a name of two meanings": Case("OK", "rf.metric('Accuracy')(OWN)", None),
    "a metric of one's own under a name that is taken": Case("OK", "rf.metric('NDCG')(OWN)", None),
    "a metric of one's own with two meanings": Case("OK", "rf.metric('x', spellings={'X': {'k': 3}})(OWN)", None),
    "a metric of one's own that cannot stand in text": Case(
        "OK", "rf.metric(text='a b')(OWN)", "rf.unregister(rf.metric(text=ADVICE)(OWN))", r"as (\S+)$"
    ),
    "a metric of one's own with another name that is no text": Case(
        "OK", "rf.metric(3)(OWN)", "rf.unregister(ADVICE(OWN))", r"as @(.*)$"
    ),
    "the library's own, taken out": Case("OK", "rf.unregister('ndcg')", None),
    # what a gate refuses to measure
    "no relevant document": Case(
        "pl.DataFrame({name: range(30) for name in ('query_id', 'doc_id', 'score', 'new')}).with_columns(label=pl.col('doc_id') % 2 / 4)",
        "df.rank.gate({'rr': 0.2}, runs=['score', 'new'])", "ADVICE.gate({'rr': 0.2}, runs=['score', 'new'])",
        r"as (df\.rank\.on\([^)]*\))",
    ),
    # what a check advises
    "documents not named": Case("OK.rename({'doc_id': 'docno'})", "df.rank.check()", "ADVICE.check()"),
    "scores like ranks": Case("OK", "df.rank.check()", "ADVICE.check()", r"df\.rank\.on\("),
    "no labels": Case(
        "RUN.head(2).with_columns(pl.col('score') / 2)", "df.rank.check()", "ADVICE, judged_only='keep').rank.check()",
        r"(df\.rank\.judge\(qrels)\)",
    ),
    "documents without an id": Case("OK.with_columns(doc_id=pl.lit(None, pl.String))", "df.rank.rr()", None),
    "repeated documents, in a check": Case("STACK", "df.rank.check()", "ADVICE.check()", r"df\.rank\.on\(", fill="'run'"),
    "weights, in a check": Case(
        "OK.with_columns(w=pl.Series([1, None, 2]))", "df.rank.on(weight='w').check()", "ADVICE.rank.on(weight='w').check()"
    ),
    # fusion
    "no method of fusion": Case("TWO", "df.rank.fuse('rrf(', runs=['score', 'new'])",
        "df.rank.fuse(ADVICE, runs=['score', 'new'])", r"as in ('.*?')"),
    'a tuned fusion as a method': Case("TWO", f"df.rank.fuse({TUNED})", f"({TUNED}).fuse(df)"),
    "a plot of contributions of no runs": Case("OK.rename({'score': 'bm25'}).with_columns(ltr=pl.lit(1.0))",
        "df.rank.plot.contributions('rrf')", "df.rank.plot.contributions('rrf', ADVICE)", r"runs: (runs=\[.*?\])"),
    "unknown method of fusion": Case("TWO", "df.rank.fuse('rff', runs=['score', 'new'])",
        "df.rank.fuse(ADVICE, runs=['score', 'new'])", r"Did you mean ('.*?')\?"),
    "fusion, an option twice": Case("TWO", "df.rank.fuse('rrf(depth=1)', runs=['score', 'new'], depth=2)",
        "df.rank.fuse('rrf(depth=1)', runs=['score', 'new'])"),
    'fusion by ranks, normalised': Case('TWO', "df.rank.fuse('rrf', runs=['score', 'new'], normalize='max')", "df.rank.fuse('sum', runs=['score', 'new'], normalize='max')"),
    "fusion, weights of runs without an order": Case(
        "STACK", "fuse.fuse(PART_OF_RUNS, 'rrf', run='run', weights=[1, 2])",
        "df.rank.fuse('rrf', run='run', weights={'a': 1, 'b': 2})",
    ),
    "fusion of no runs": Case("OK.rename({'score': 'bm25'}).with_columns(ltr=pl.lit(1.0))", "df.rank.fuse('rrf')",
        "df.rank.fuse('rrf', ADVICE)", r"runs: (runs=\[.*?\])"),
    "fusion and bounds": Case("TWO", "df.rank.on(unjudged='bounds').fuse('rrf', runs=['score', 'new'])",
        "ADVICE.fuse('rrf', runs=['score', 'new'])"),
    "fusion without documents": Case("STACK.rename({'doc_id': 'docno'})", "df.rank.fuse('rrf', run='run')",
        "ADVICE.fuse('rrf', run='run')", fill="'docno'"),
    "fusion of different labels": Case("STACK.with_columns(label=pl.int_range(pl.len()))", "df.rank.fuse('rrf', run='run')",
        "df.with_columns(label=pl.lit(1)).rank.fuse('rrf', run='run')", polars_only=True),
    "fusion, weights of other runs": Case("TWO", "df.rank.fuse('wsum', runs=['score', 'new'], weights={'score': 1, 'x': 2})",
        "df.rank.fuse('wsum', runs=['score', 'new'], weights={'score': 1, 'new': 2})"),
    "fusion, too few weights": Case("TWO", "df.rank.fuse('wsum(weights=[1])', runs=['score', 'new'])",
        "df.rank.fuse('wsum(weights=[1,1])', runs=['score', 'new'])"),
    "fusion, no weight above 0": Case("TWO", "df.rank.fuse('haystack(weights=[0,0])', runs=['score', 'new'])",
        "df.rank.fuse('haystack(weights=[0,1])', runs=['score', 'new'])"),
    "fusion of infinite scores": Case("TWO.with_columns(new=pl.Series([INF, 1, 2]))", "df.rank.fuse('sum', runs=['score', 'new'])",
        "df.with_columns(new=pl.Series([9.0, 1, 2])).rank.fuse('sum', runs=['score', 'new'])", polars_only=True),
    "fusion of scores too large": Case("TWO.with_columns(new=pl.Series([1e200, 1, 2]))", "df.rank.fuse('sum', runs=['score', 'new'])",
        "df.rank.fuse(ADVICE, runs=['score', 'new'])", r"as with ('.*?')"),
    "fusion of scores too near": Case("TWO.with_columns(new=pl.Series([1e-200, 2e-200, 1e-200]))",
        "df.rank.fuse('sum(normalize=zmuv)', runs=['score', 'new'])",
        "df.with_columns(new=pl.col('new') * 1e200).rank.fuse('sum(normalize=zmuv)', runs=['score', 'new'])", polars_only=True),
    "fusion to infinite scores": Case("TWO", "df.rank.fuse('gmnz(gamma=2000)', runs=['score', 'new'])",
        "df.rank.fuse('gmnz(gamma=2)', runs=['score', 'new'])"),
    "fusion of negative scores": Case("TWO.with_columns(new=pl.Series([-1.0, 1, 2]))",
        "df.rank.fuse('sum', runs=['score', 'new'], normalize='max')",
        "df.rank.fuse('sum', runs=['score', 'new'], normalize=ADVICE)", r"write ('.*?')"),
    "fusion, an option of the training": Case("TWO",
        "df.rank.fuse(df.rank.fusion.fit('mapfuse', runs=['score', 'new']), runs=['score', 'new'], depth=2)",
        "df.rank.fuse(df.rank.fusion.fit('mapfuse(depth=2)', runs=['score', 'new']), runs=['score', 'new'])"),
    "fusion, no method to train": Case("TWO", "df.rank.fusion.fit('rrf', runs=['score', 'new'])",
        "df.rank.fuse('rrf', runs=['score', 'new'])"),
    "fusion, a method that is trained": Case("TWO", "df.rank.fuse('mapfuse', runs=['score', 'new'])",
        "df.rank.fuse(df.rank.fusion.fit('mapfuse', runs=['score', 'new']), runs=['score', 'new'])"),
    "OpenSearch's z-scores": Case("TWO",
        "df.rank.fuse('opensearch_hybrid(normalization=z_score,combination=geometric_mean)', runs=['score', 'new'])",
        "df.rank.fuse('opensearch_hybrid(normalization=min_max,combination=geometric_mean)', runs=['score', 'new'])"),
    "two groups in place of runs": Case(
        "OK.with_columns(arm=pl.Series(['a', 'a', 'b']))", "df.rank.compare('rr', run='arm')", "ADVICE.table", fill="'rr'",
    ),
    # labels of people and of a model, and columns known before
    "queries that people judged in part": Case(
        "JUDGED.with_columns(label=pl.when((pl.col('query_id') != 3) | (pl.col('doc_id') != 'b')).then('label'))",
        "df.rank.summarize('map', model_labels='llm')", "ADVICE.rank.summarize('map', model_labels='llm')",
    ),
    "a document that the model lacks": Case(
        "JUDGED.with_columns(llm=pl.when(pl.col('doc_id') != 'b').then('llm'))", "df.rank.summarize('map', model_labels='llm')",
        "rf.rank(df.fillna({'llm': 0}) if hasattr(df, 'fillna') else df.with_columns(pl.col('llm').fill_null(0))).summarize('map', model_labels='llm')",
    ),
    "few judged queries": Case(
        "JUDGED.with_columns(label=pl.when(pl.col('query_id') < 29).then('label'))", "df.rank.summarize('map', model_labels='llm')",
        "ADVICE.summarize('map')",
    ),
    "a geometric mean with a model": Case(
        "JUDGED", "df.rank.summarize('gm_map', model_labels='llm')", "df.rank.summarize('ADVICE', model_labels='llm')", r"ask for (\w+)$"
    ),
    "the largest label with a model": Case(
        "JUDGED", "df.rank.summarize('err', model_labels='llm')", "df.rank.summarize('ADVICE', model_labels='llm')", r"as (err\(.*\))$"
    ),
    "a query without a value with a model": Case(
        "JUDGED", "df.rank.on(no_relevant='null').summarize('map', model_labels='llm')", "ADVICE.summarize('map', model_labels='llm')",
        r"df\.rank\.on\(",
    ),
    "clicks beside a model": Case(
        "JUDGED.with_columns(p=0.5)", "df.rank.on(propensity='p').summarize('dcg@2', model_labels='llm')",
        "df.rank.summarize('dcg@2', model_labels='llm')",
    ),
    "an interval of another estimator than the test's": Case(
        "TWO", "df.rank.compare('rr', runs=['score', 'new'], test='permutation', interval='bounded', resamples=99)",
        "df.rank.compare('rr', runs=['score', 'new'], test='permutation', resamples=99).table",
    ),
    "an interval beside a test with its own": Case(
        "TWO", "df.rank.compare('rr', runs=['score', 'new'], test='tukey', interval='bounded', resamples=99)",
        "df.rank.compare('rr', runs=['score', 'new'], test='tukey', resamples=99).table",
    ),
    "an interval beside a model": Case(
        "JUDGED", "df.rank.summarize('map', model_labels='llm', interval='bca')", "df.rank.summarize('map', model_labels='llm')"
    ),
    "a column that saves nothing": Case(
        "MODELLED", f"df.rank.compare('map', adjust='known', {OF_TWO})",
        f"df.rank.compare('map', adjust='known', ADVICE, {OF_TWO}).table", r"(adjust_mean=\.\.\.)", fill="2.0",
    ),
    "a mean of no column": Case(
        "MODELLED", f"df.rank.compare('map', adjust_mean=2.0, {OF_TWO})",
        f"df.rank.compare('map', ADVICE, adjust_mean=2.0, {OF_TWO}).table", r"(adjust=\.\.\.)", fill="'known'",
    ),
    "a mean of all queries beside slices": Case(
        "MODELLED.with_columns(g=1)", f"df.rank.compare('map', adjust='known', adjust_mean=2.0, by='g', {OF_TWO})",
        f"df.rank.compare('map', ADVICE, adjust_mean=2.0, {OF_TWO}).table", r"(adjust=\.\.\.)", fill="'known'",
    ),
    "an option of another test": Case(
        "TWO", f"df.rank.compare('rr', rope=0.1, {OF_TWO})", f"df.rank.compare('rr', rope=0.1, ADVICE, {OF_TWO}, resamples=99).table",
        r"is for (test=.*)$",
    ),
    "a sequential test without an interval": Case(
        "TWO", f"df.rank.compare('rr', test='sequential', ci=None, {OF_TWO})",
        f"df.rank.compare('rr', test='sequential', ADVICE, {OF_TWO}, resamples=99).table", r"write (ci=.*)$",
    ),
    "a model and a column": Case(
        "JUDGED", f"df.rank.compare('map', model_labels='llm', adjust='known', {OF_TWO})",
        f"df.rank.compare('map', adjust='known', {OF_TWO}).table",
    ),
    "a column with nulls": Case(
        "JUDGED.with_columns(known=pl.when(pl.col('query_id') != 3).then('known'))",
        f"df.rank.compare('map', adjust='known', {OF_TWO})", f"rf.rank(JUDGED).compare('map', adjust='known', {OF_TWO}).table",
    ),
    "a metric that reads labels": Case(
        "JUDGED", f"df.rank.compare('map', adjust='rr', {OF_TWO})", f"df.rank.compare('map', adjust='known', {OF_TWO}).table"
    ),
    "judges without columns": Case(
        "MODELLED.with_columns(label_llm='llm')", "df.rank.collection.label_agreement()", "ADVICE.table", r"df\.rank\.collection\.label_agreement\("
    ),
    "judges of two kinds": Case("MODELLED", "df.rank.collection.label_agreement(judge='llm', run='new')", "df.rank.collection.label_agreement('label', 'llm').table"),
    "labels that are infinite": Case(
        "MODELLED.with_columns(llm=INF)", "df.rank.collection.label_agreement('label', 'llm')", "rf.rank(MODELLED).collection.label_agreement('label', 'llm').table"
    ),
    "two labels of a document": Case(
        "pl.concat([MODELLED, MODELLED.with_columns(pl.col('llm') + 1)])", "df.rank.collection.label_agreement('label', 'llm')",
        "rf.rank(MODELLED).collection.label_agreement('label', 'llm').table",
    ),
    "labels that are no grades": Case(
        "MODELLED.with_columns(llm=pl.col('query_id') / 7)", "df.rank.collection.label_agreement('label', 'llm')",
        "df.round(0).rank.collection.label_agreement('label', 'llm').table if hasattr(df, 'iloc') else "
        "df.with_columns(pl.col('llm').round()).rank.collection.label_agreement('label', 'llm').table",
    ),
    "a run as its own original": Case(
        "MODELLED", "df.rank.collection.reproduces('map', original={'new': 'new', 'score': 'new'})",
        "df.rank.collection.reproduces('map', original={'new': 'score'}).table",
    ),
    "no document to reproduce": Case(
        "MODELLED.rename({'doc_id': 'd'})", "df.rank.collection.reproduces('map', original={'new': 'score'})",
        "ADVICE.collection.reproduces('map', original={'new': 'score'}).table", r"df\.rank\.on\(", fill="'d'",
    ),
    "a pair in a test of single values": Case(
        "TWO", f"df.rank.compare('rpp', {OF_TWO}, test='tukey')", f"df.rank.compare('rpp', {OF_TWO}, resamples=99).table"
    ),
    "three runs in one list": Case(
        "TWO", "df.rank.clicks.interleave(runs=['score', 'new', 'label'])", f"df.rank.clicks.interleave({OF_TWO})"
    ),
    "lists of tied documents": Case(
        "TWO", f"df.rank.on(ties='expected').clicks.interleave({OF_TWO})", f"df.rank.on(ADVICE).clicks.interleave({OF_TWO})", r"as with (.*)$"
    ),
    "a correction at a chosen look": Case(
        "SHOWN", "df.rank.clicks.preference(test='sequential', correction='bh')",
        "df.rank.clicks.preference(test='sequential', ADVICE).table", r"write (.*)$",
    ),
    "a look of one look": Case(
        "SHOWN.with_columns(day=1)", "df.rank.clicks.preference(look='day')", "df.rank.clicks.preference(look='day', ADVICE).table", r"is for (.*)$"
    ),
    "one team": Case("SHOWN.filter(team='a')", "df.rank.clicks.preference()", "rf.rank(SHOWN).clicks.preference().table"),
    "a baseline that is no team": Case("SHOWN", "df.rank.clicks.preference(baseline='c')", "df.rank.clicks.preference(baseline='b').table"),
    "a document shown twice": Case(
        "pl.concat([SHOWN, SHOWN])", "df.rank.clicks.preference()", "rf.rank(SHOWN).clicks.preference().table"
    ),
    "a click that is infinite": Case(
        "SHOWN.with_columns(label=pl.Series([1.0, INF, 0, 1]))", "df.rank.clicks.preference()", "rf.rank(SHOWN).clicks.preference().table"
    ),
    "a user with two names": Case(
        "SHOWN.with_columns(user=pl.Series(['x', 'y', 'x', 'x']))", "df.rank.clicks.preference(user='user')",
        "rf.rank(SHOWN.with_columns(user=pl.lit('x'))).clicks.preference(user='user').table",
    ),
    "a winner that did not take part": Case(
        "PAIRS.with_columns(winner=pl.lit('c'))", "df.rank.preferences.bradley_terry()",
        "rf.rank(PAIRS.with_columns(winner=pl.lit('tie'))).preferences.bradley_terry()",
    ),
    "a group that contradicts itself": Case(
        "PREFERRED.with_columns(label=pl.Series([1, 2, 2, 1]))", "df.rank.preferences.evaluate(group='group', subgroup='part')",
        "rf.rank(PREFERRED).preferences.evaluate(group='group', subgroup='part')",
    ),
    "a group that judges twice": Case(
        "PREFERRED.with_columns(part=1)", "df.rank.preferences.evaluate(group='group', subgroup='part')",
        "rf.rank(PREFERRED[:2]).preferences.evaluate(group='group', subgroup='part')",
    ),
}  # fmt: skip


def table(**columns: Any) -> pl.DataFrame:
    return OK.with_columns(**{name: pl.Series(values, strict=False) for name, values in columns.items()})


WITH_INTERVALS = Resampling(0.95, "percentile", 1000, 0, progress=False)


def refuse_labels(df: Any) -> None:
    """Ask for a metric of the whole table that reads labels, but is not declared so."""

    @rf.catalog_metric
    def of_labels(e: rf.Exposure) -> pl.Expr:
        return e.summed(e.label).sum()

    try:
        df.rank.items.catalog("of_labels")
    finally:
        rf.unregister("of_labels")


def refuse_per_item(df: Any) -> None:
    """Measure a catalog metric that gives a value for each item."""

    @rf.catalog_metric
    def per_item(e: rf.Exposure) -> pl.Expr:
        return e.shown()

    try:
        df.rank.items.catalog("per_item")
    finally:
        rf.unregister("per_item")


def own(r: Any, k: int | None = None) -> pl.Expr:
    """How many documents were retrieved."""
    return r.total(r.retrieved, k)


TRAIN = pl.DataFrame({"query_id": [1, 2, 2], "doc_id": ["a", "a", "b"]})
ITEMS = pl.DataFrame({"doc_id": ["a", "b", "c"], "genre": ["x", "y", "x"]})
FRAMES = {
    "train": TRAIN,
    "TRAIN_X": TRAIN.rename({"doc_id": "docid"}),
    "TRAIN_NULL": pl.concat([TRAIN, pl.DataFrame({"query_id": [3], "doc_id": [None]}, schema=TRAIN.schema)]),
    "TRAIN_NONE": TRAIN.clear(),
    "TRAIN_INT": TRAIN.with_columns(doc_id=pl.Series([1, 2, 3])),
    "COUNTS": pl.DataFrame({"doc_id": ["a", "b"], "n": [2, 1]}),
    "COUNTS_TEXT": pl.DataFrame({"doc_id": ["a", "b"], "n": ["2", "1"]}),
    "COUNTS_TWICE": pl.DataFrame({"doc_id": ["a", "a"], "n": [2, 1]}),
    "catalog": ITEMS,
    "ITEMS_X": ITEMS.rename({"doc_id": "docid"}),
    "ITEMS_TWICE": pl.concat([ITEMS, ITEMS]),
    "qrels": QRELS,
    "QRELS_D": QRELS.rename({"doc_id": "d"}),
    "QRELS_TEXT": QRELS.with_columns(pl.col("query_id").cast(pl.String)),
    "QRELS_Q": QRELS.with_columns(pl.format("q{}", "query_id").alias("query_id")),
    "OTHER_QUERY": QRELS.rename({"query_id": "qid"}),
    "PROVIDERS": pl.DataFrame({"doc_id": ["a", "b", "c"], "provider": ["x", "y", "x"]}),
    "OTHER_NAMES": QRELS.rename({"query_id": "qid", "doc_id": "docno", "label": "rel"}),
    "OTHER_LABEL": QRELS.rename({"label": "rel"}),
    "QRELS_TWICE": pl.concat([QRELS, QRELS]).with_columns(note=pl.int_range(6)),
    "BOTH": OK,
    "UNLABELLED": QRELS.select("query_id", "doc_id"),
    "UNLABELLED_TWICE": pl.concat([QRELS, QRELS]).select("query_id", "doc_id"),
    "WITHOUT_NAMES": pl.DataFrame({"doc_id": [0, 1, 2]}),
    "WITHOUT": QRELS.select("query_id", "doc_id", note=pl.lit(1)),
    "df_a": OK,
    "df_b": OK,
}


@cache
def in_pandas() -> dict[str, pd.DataFrame]:
    return {name: frame.to_pandas() for name, frame in FRAMES.items()}


@pytest.fixture
def few_resamples(monkeypatch: pytest.MonkeyPatch) -> None:
    """Intervals of catalog metrics from few resamples: tests/items has the intervals themselves."""

    def few(recount: Any, resampling: Resampling, progress: Any) -> Any:
        return resamples_of(recount, replace(resampling, resamples=resampling.least), progress)

    monkeypatch.setattr(items_catalog, "resamples_of", few)


def names(case: Case, library: str) -> dict[str, Any]:
    """What a reader of the message has at hand."""
    made = {**globals(), "pd": pd, "nan": NAN, "inf": INF, "OWN": own, "ANY": lambda r, x: r.total(r.retrieved)}
    df = eval(case.df, made)
    if library == "pandas":
        frames: dict[str, Any] = in_pandas() | {"df": df.to_pandas()}
    else:
        frames = FRAMES | {"df": df}
    return {**made, **frames, "run": frames["df"]}


def refused(question: str, at_hand: dict[str, Any]) -> Exception | None:
    """The error of a question; None for a check, which answers."""
    try:
        result = eval(question, at_hand)
    except (
        rf.RankframeError,
        AttributeError,
        pl.exceptions.InvalidOperationError,
    ) as error:  # the last, of a lazy frame
        return error
    assert isinstance(result, rf.results.Findings), f"{question} was answered"
    return None


def message_of(question: str, at_hand: dict[str, Any]) -> str:
    """What is said against a question: the error, or the advice of a check."""
    error = refused(question, at_hand)
    if error is None:
        return "\n".join(eval(question, at_hand).table["advice"])
    inside = re.search(r'\["rankframe: (.*?)"[],]', str(error))
    return str(error) if inside is None else inside[1]


def advised(message: str, finds: str) -> Iterator[str]:
    """The code from a match on, as far as Python can read it; or the texts of the pattern's group."""
    match = re.search(finds, message, re.MULTILINE)
    assert match is not None, message
    if match.re.groups:
        several = finds.startswith(("write", "Did", "how ties"))  # of which any will do
        yield from re.split(r", | or ", match[1]) if several else [match[1]]
        return
    for end in range(len(message), match.start(), -1):
        try:
            parsed = ast.parse(message[match.start() : end], mode="eval").body
        except SyntaxError:
            continue
        if isinstance(parsed, ast.Call):
            yield message[match.start() : end].rstrip()
            return
    raise AssertionError(f"no code in {message!r}")


@pytest.mark.usefixtures("few_resamples")
@each("library", ["polars", "pandas"], sample=len(CASES))
@each("name", CASES)
def test_what_was_asked_is_answered_once_the_advice_is_followed(name: str, library: str) -> None:
    case = CASES[name]
    if case.polars_only and library == "pandas":
        library = "polars"
    at_hand = names(case, library)
    message = message_of(case.asks, at_hand)
    if library == "pandas":
        assert not re.search(r"\bpl\.|with_columns|replace_strict|\.unique\(", message), message
    if case.again is None:
        return
    for advice in advised(message, case.finds) if "ADVICE" in case.again else [""]:
        question = case.again.replace("ADVICE", advice.replace("...", case.fill) if case.fill else advice)
        try:
            result = eval(question, at_hand)
        except Exception as error:
            raise AssertionError(f"{message!r} advises {advice!r}, but {question}: {error}") from error
        if "check()" in case.asks:
            assert not any(advice in text for text in result.table["advice"])


MODULES: list[ModuleType] = [
    entries,
    estimate,
    estimation,
    fuse,
    fusions,
    background,
    call,
    conventions,
    name_presets,
    option_kinds,
    parse,
    running,
    policies,
    rankings,
    registry,
    requests,
    roles,
    values_module,
    values_of_rows,
    columns_module,
    run_and_judgments,
    search_engines,
    setup,
    verbs,
    exposure_words,
    items_catalog,
    items_exposure,
    items_compare_groups,
    item_tables,
    judged,
    label_agreement,
    recount,
    reproduces,
]
"""Where the errors of a table, its policies, its metrics and its options are raised."""


def lines_of(error: BaseException | None) -> Iterator[tuple[str, int]]:
    """The lines that an error came through, and those of the errors that it was made of."""
    while error is not None:
        at = error.__traceback__
        while at is not None:
            yield at.tb_frame.f_code.co_filename, at.tb_lineno
            at = at.tb_next
        error = error.__context__


def is_ours(node: ast.AST) -> bool:
    """Whether a line raises an error of the library's own, with a message."""
    return (
        isinstance(node, ast.Raise)
        and isinstance(node.exc, ast.Call)
        and ast.unparse(node.exc.func) in rf.errors.__all__
    )


def test_every_error_of_a_table_and_a_metric_is_among_the_cases(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rf.errors, "_others", lambda traceback: traceback)  # which keeps the lines of the package
    reached: set[tuple[str, int]] = set()
    kinds: set[str | None] = set()
    for case in CASES.values():
        error = refused(case.asks, names(case, "polars"))
        reached.update(lines_of(error))
        kinds.add(getattr(error, "kind", None))
    for module in MODULES:
        file = inspect.getfile(module)
        for raised in filter(is_ours, ast.walk(ast.parse(inspect.getsource(module)))):
            lines = {(file, line) for line in range(raised.lineno, (raised.end_lineno or raised.lineno) + 1)}
            assert lines & reached, f"{file}:{raised.lineno} has no case: {ast.unparse(raised)}"
    assert kinds - {None} == columns_module.TEXTS.keys()


def test_ranks_are_kept_by_the_advice() -> None:
    at_hand = names(CASES["ranks and no scores"], "polars")
    (code,) = advised(message_of("df.rank.judge(qrels)", at_hand), CODE)
    ranked = eval(code, at_hand).with_ranks("again")
    assert ranked["again"].to_list() == ranked["rank"].to_list()


@each("library", ["polars", "pandas"])
def test_a_series_is_named_by_its_type_and_not_printed(library: str) -> None:
    at_hand = names(CASES["a Series as column"], library)
    assert message_of("df.rank.on(query=df['query_id'])", at_hand).startswith("query=a Series is no column name;")
