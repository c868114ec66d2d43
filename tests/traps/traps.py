"""Habits that give a plausible wrong number: the table, the call, what rankframe says, and the call to write instead.

`scripts/build_traps_page.py` writes docs/traps.md from these declarations, and tests/traps/test_traps.py runs them.
"""

from __future__ import annotations

import ast
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import polars as pl

import rankframe as rf


@dataclass(frozen=True)
class Trap:
    """A habit, with the code that shows it.

    Attributes
    ----------
    title
        The habit in a few words.
    why
        Why the number is wrong.
    table
        The code that makes the tables.
    wrong, gives
        The call of the habit, and its printed value; no value if the call is refused.
    says
        Words of the warning or of the error; none where nothing in the tables can show the mistake.
    right, right_gives
        The call to write instead, and its printed value.
    group
        The heading under which the page has it.
    """

    title: str
    why: str
    table: str
    wrong: str
    gives: str
    says: str
    right: str
    right_gives: str
    group: str


def asked(trap: Trap, code: str) -> tuple[str, list[str]]:
    """What a call gives, and what rankframe says: its warnings, or the error that refuses the call."""
    names: dict[str, Any] = {"__name__": "trap", "np": np, "pl": pl, "rf": rf}
    exec(trap.table, names)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            gives = printed(result_of(code, names))
        except rf.errors.RankframeError as error:
            return "", [str(error)]
    return gives, [str(warning.message) for warning in caught]


def result_of(code: str, names: dict[str, Any]) -> Any:
    """The value of the last line of some code."""
    *first, last = ast.parse(code).body
    assert isinstance(last, ast.Expr)
    exec(compile(ast.Module(first, []), "<trap>", "exec"), names)
    return eval(compile(ast.Expression(last.value), "<trap>", "eval"), names)


def printed(value: Any) -> str:
    """A result as the page prints it."""
    if isinstance(value, pd.DataFrame):
        value = pl.from_pandas(value)
    if isinstance(value, pl.DataFrame):
        (row,) = value.rows(named=True)
        return ", ".join(f"{name} {number:.3f}" for name, number in row.items())
    return f"{value:.3f}" if isinstance(value, float) else str(value)


JOINS, SCORES, LABELS, RUNS, LOGS, JOBS = (
    "Joins and fills",
    "Scores and ties",
    "Labels and thresholds",
    "Two runs, two groups",
    "Clicks and recommendations",
    "Jobs that run every day",
)

EXAMPLE = """\
df = rf.load_example()
run = df.select("query_id", "doc_id", "score").drop_nulls()
qrels = df.select("query_id", "doc_id", "label").drop_nulls()
"""

TRAPS: tuple[Trap, ...] = (
    # ------------------------------------------------------------------------------------------------- joins and fills
    Trap(
        "A left join of the run with its judgments",
        "The join drops the judged documents that the run missed, so recall counts only what was found.",
        EXAMPLE,
        """\
both = run.join(qrels, on=["query_id", "doc_id"], how="left")
both.rank.mean("recall@50", "map")""",
        "recall@50 1.000, map 0.936",
        "recall is 1 by construction",
        'run.rank.judge(qrels).rank.mean("recall@50", "map")',
        "recall@50 0.679, map 0.644",
        JOINS,
    ),
    Trap(
        "The first rows after the join",
        "`head(40)` drops the relevant documents below rank 40, so each query seems to have no others. "
        "If all rows that are left are judged, as after `head(10)` here, the table shows no sign of it, and rankframe says nothing.",
        EXAMPLE,
        """\
best = df.sort("score", descending=True, nulls_last=True).group_by("query_id").head(40)
best.rank.mean("recall@40")""",
        "recall@40 1.000",
        "recall is 1 by construction",
        'df.rank.mean("recall@40")',
        "recall@40 0.613",
        JOINS,
    ),
    Trap(
        "`fillna(0)` on the labels of a left join",
        "The missed documents are lost and all others have a label, as in a table for learning to rank, so rankframe says nothing.",
        EXAMPLE,
        """\
both = run.join(qrels, on=["query_id", "doc_id"], how="left").with_columns(pl.col("label").fill_null(0))
both.rank.mean("recall@50")""",
        "recall@50 1.000",
        "",
        'run.rank.judge(qrels).rank.mean("recall@50")',
        "recall@50 0.679",
        JOINS,
    ),
    Trap(
        "Ids of which some are written in another way",
        "Documents whose ids are written otherwise count as not judged, and their judgments as missed.",
        EXAMPLE
        + """\
shown = pl.when(pl.col("score") > 0.9).then(pl.col("doc_id").str.to_uppercase()).otherwise("doc_id")
mixed = run.with_columns(doc_id=shown)
""",
        'mixed.rank.judge(qrels).rank.mean("recall@50")',
        "recall@50 0.280",
        "are judged in other letters alone",
        """\
same = mixed.with_columns(pl.col("doc_id").str.to_lowercase())
same.rank.judge(qrels).rank.mean("recall@50")""",
        "recall@50 0.679",
        JOINS,
    ),
    Trap(
        "An inner join with the relevant documents",
        "Every row is relevant then, and no document can be wrong.",
        EXAMPLE,
        """\
both = run.join(qrels.filter(pl.col("label") > 0), on=["query_id", "doc_id"])
both.rank.mean("map", "precision@5")""",
        "map 1.000, precision@5 1.000",
        "no document can be wrong",
        'run.rank.judge(qrels).rank.mean("map", "precision@5")',
        "map 0.644, precision@5 0.983",
        JOINS,
    ),
    Trap(
        "`fillna(0)` after an outer join",
        "A score of 0 says that the document was retrieved, so every missed document is retrieved after all.",
        EXAMPLE,
        """\
both = run.to_pandas().merge(qrels.to_pandas(), how="outer").fillna(0)
both.rank.mean("map")""",
        "map 0.869",
        "null means not retrieved",
        'run.rank.judge(qrels).rank.mean("map")',
        "map 0.644",
        JOINS,
    ),
    Trap(
        "Judgments of other queries",
        "A left join loses the relevant documents that were not retrieved, of the few queries that were judged, too.",
        EXAMPLE + 'some = qrels.filter(pl.col("query_id") < "image03")  # 19 of 120 queries\n',
        """\
both = run.join(some, on=["query_id", "doc_id"], how="left")
both.rank.mean("map")""",
        "map 0.917",
        "101 of 120 queries",
        'run.rank.judge(some, run_only="drop").rank.mean("map")',
        "map 0.585",
        JOINS,
    ),
    Trap(
        "Ids that are written in another way",
        "No document of the run is judged, and all metrics are 0.",
        """\
run = pl.DataFrame({"query_id": [1, 1, 2], "doc_id": ["7", "8", "7"], "score": [0.9, 0.4, 0.7]})
qrels = pl.DataFrame({"query_id": [1, 2], "doc_id": ["007", "007"], "label": [1, 1]})
""",
        'run.rank.judge(qrels).rank.mean("rr")',
        "rr 0.000",
        "no retrieved document is judged",
        """\
same = qrels.with_columns(pl.col("doc_id").str.strip_chars_start("0"))
run.rank.judge(same).rank.mean("rr")""",
        "rr 1.000",
        JOINS,
    ),
    # ------------------------------------------------------------------------------------------------- scores and ties
    Trap(
        "Classes in place of chances: `predict()` for `predict_proba()`",
        "Nearly all documents are tied, and their ids decide who wins.",
        """\
rng = np.random.default_rng(0)
label = np.tile(np.arange(50) == 0, 200).astype(int)  # one right document per query
chance = 1 / (1 + np.exp(1 - 2 * label - rng.normal(0, 1.5, 10_000)))
query, doc = np.repeat(np.arange(200), 50), np.tile(50 - np.arange(50), 200)
df = pl.DataFrame({"query_id": query, "doc_id": doc, "label": label, "score": (chance > 0.5).astype(int)})
""",
        'df.rank.mean("ndcg@10")',
        "ndcg@10 0.796",
        "of documents are tied",
        'df.rank.on(ties="expected").mean("ndcg@10")',
        "ndcg@10 0.278",
        SCORES,
    ),
    Trap(
        "A distance as a score",
        "The nearest document has the least distance and comes last.",
        EXAMPLE + 'far = run.with_columns(score=1 / pl.col("score"))\n',
        'far.rank.judge(qrels).rank.mean("ndcg@10")',
        "ndcg@10 0.335",
        "documents with higher labels stand lower",
        'far.rank.judge(qrels).rank.on(ascending=True).mean("ndcg@10")',
        "ndcg@10 0.962",
        SCORES,
    ),
    Trap(
        "A rank as a score",
        "Rank 1 is the least number and comes last.",
        EXAMPLE
        + 'ranked = run.with_columns(score=pl.col("score").rank("ordinal", descending=True).over("query_id"))\n',
        'ranked.rank.judge(qrels).rank.mean("ndcg@10")',
        "ndcg@10 0.335",
        "documents with higher labels stand lower",
        'ranked.rank.judge(qrels).rank.on(rank="score").mean("ndcg@10")',
        "ndcg@10 0.962",
        SCORES,
    ),
    Trap(
        "Ranks with gaps",
        "By default ranks give an order, so the only row of a query has rank 1 whatever its number is.",
        """\
df = pl.DataFrame({"query_id": [1, 2, 2], "doc_id": ["a", "a", "b"], "rank": [9, 2, 5], "label": [1, 0, 1]})
""",
        'df.rank.on(rank="rank").mean("rr")',
        "rr 0.750",
        "leave numbers out",
        'df.rank.on(rank="rank", ranks="as_given").mean("rr")',
        "rr 0.156",
        SCORES,
    ),
    # -------------------------------------------------------------------------------------------- labels and thresholds
    Trap(
        "Click-through rates as labels",
        "No rate reaches `relevant=1`, so nothing is relevant, and any two rankers are equal.",
        """\
rng = np.random.default_rng(1)
query, doc = np.repeat(np.arange(400), 30), np.tile(np.arange(30), 400)
df = pl.DataFrame({"query_id": query, "doc_id": doc, "label": rng.beta(1, 30, 12_000)})
df = df.with_columns(score=pl.col("label") + pl.Series(rng.normal(0, 0.05, 12_000)))
""",
        'df.rank.mean("map", "rr")',
        "map 0.000, rr 0.000",
        "no document of any query is relevant",
        'df.rank.mean("ndcg@10")',
        "ndcg@10 0.735",
        LABELS,
    ),
    Trap(
        "A gate on labels that a join lost",
        "Where all labels are 0, no run can be worse than another.",
        EXAMPLE + "lost = df.with_columns(label=pl.lit(0))\n",
        'lost.rank.gate({"ndcg@10": 0.05}, runs=["score", "score_pca"]).passed',
        "",
        "no document of any query is relevant",
        'df.rank.gate({"ndcg@10": 0.05}, runs=["score", "score_pca"]).passed',
        "False",
        LABELS,
    ),
    Trap(
        "Ratings of 1 to 5 with the default threshold",
        "Every rating reaches `relevant=1`, so one star is a success.",
        """\
rng = np.random.default_rng(0)
query, item = np.repeat(np.arange(50), 20), np.tile(np.arange(20), 50)
df = pl.DataFrame({"query_id": query, "doc_id": item, "label": rng.integers(1, 6, 1_000)})
df = df.with_columns(score=pl.Series(rng.normal(size=1_000)))
""",
        'df.rank.mean("precision@5")',
        "precision@5 1.000",
        "say the least that is relevant, as",
        'df.rank.on(relevant=4).mean("precision@5")',
        "precision@5 0.420",
        LABELS,
    ),
    Trap(
        "A rule before `judge`",
        "A frame is its columns, so no rule rides on the joined frame; nothing in the tables can show that one was meant.",
        """\
run = pl.DataFrame({"query_id": ["q"] * 3, "doc_id": ["a", "b", "c"], "score": [3.0, 2.0, 1.0]})
qrels = pl.DataFrame({"query_id": ["q", "q"], "doc_id": ["a", "c"], "label": [1, 2]})
""",
        'run.rank.on(relevant=2).judge(qrels).rank.mean("rr")',
        "rr 1.000",
        "",
        'rf.mean(run, qrels, "rr", relevant=2)',
        "rr 0.333",
        LABELS,
    ),
    # --------------------------------------------------------------------------------------------- two runs, two groups
    Trap(
        "Judgments of what one of two runs returned",
        "The other run is judged half as deep, and unjudged documents count as wrong.",
        """\
df = rf.load_example()
found_by_a = pl.col("score").rank(descending=True).over("query_id") <= 10
pooled = df.with_columns(label=pl.when(found_by_a).then(pl.col("label").fill_null(0)))
""",
        'pooled.rank.compare("ndcg@10", runs=["score", "score_pca"]).table["difference"].item()',
        "-0.449",
        "judged@10",
        'df.rank.compare("ndcg@10", runs=["score", "score_pca"]).table["difference"].item()',
        "-0.081",
        RUNS,
    ),
    Trap(
        "Two runs of unequal length",
        "A run of ten documents per query cannot have the recall of one of fifty.",
        """\
df = rf.load_example()
top = pl.col("score_pca").rank(descending=True).over("query_id") <= 10
df = df.with_columns(cut=pl.when(top).then("score_pca"))
""",
        'df.rank.compare("recall@50", runs=["score", "cut"]).table["difference"].item()',
        "-0.506",
        "documents per query",
        'df.rank.compare("recall@10", runs=["score", "cut"]).table["difference"].item()',
        "-0.014",
        RUNS,
    ),
    Trap(
        "Two groups of users as two runs",
        "No user saw both variants, so there is no pair to compare; to fill in zeros halves both means.",
        """\
rng = np.random.default_rng(0)
variant = rng.integers(0, 2, 4_000)
clicked = (rng.random(4_000) < 0.3 + 0.03 * variant).astype(int)
users = pl.DataFrame({"user": np.arange(4_000), "variant": variant, "clicked": clicked})
""",
        """\
clicks = rf.value("clicked", bounds=(0, 1))
users.rank.on(query="user").compare(clicks, run="variant", missing="zero")""",
        "",
        "compare_groups",
        """\
clicks = rf.value("clicked", bounds=(0, 1))
users.rank.on(query="user").compare_groups(clicks, by="variant").table["difference"][0]""",
        "0.037",
        RUNS,
    ),
    Trap(
        "Two runs below each other, without documents",
        "Each query holds both lists as if they were one.",
        """\
rng = np.random.default_rng(0)
query, label = np.repeat(np.arange(100), 10), rng.integers(0, 2, 1_000)
a = pl.DataFrame({"query_id": query, "label": label, "score": label + rng.normal(size=1_000), "model": "a"})
b = a.with_columns(score=pl.Series(rng.normal(size=1_000)), model=pl.lit("b"))
both = pl.concat([a, b])
""",
        'both.rank.mean("recall@10")',
        "recall@10 0.604",
        "holds 2 runs",
        'both.filter(model="a").rank.mean("recall@10")',
        "recall@10 1.000",
        RUNS,
    ),
    # -------------------------------------------------------------------------------------- clicks and recommendations
    Trap(
        "Clicks as labels",
        "Users click what stands on top, so the ranker that was shown looks better than any other.",
        """\
rng = np.random.default_rng(0)
position = np.tile(np.arange(1, 11), 300)
relevant = rng.random(3_000) < 0.2
label = (relevant & (rng.random(3_000) < 1 / position)).astype(int)
log = pl.DataFrame({"query_id": np.repeat(np.arange(300), 10), "position": position, "clicked": label})
log = log.with_columns(doc_id="position", score=pl.Series(relevant + rng.normal(size=3_000)))
""",
        'log.rank.on(label="clicked").mean("dcg@10")',
        "dcg@10 0.385",
        "clicks",
        """\
seen = log.with_columns(p=1 / pl.col("position"))
seen.rank.on(label="clicked", propensity="p").mean("dcg@10")""",
        "dcg@10 1.367",
        LOGS,
    ),
    Trap(
        "Items that the user already has",
        "They take places in the list and can never be in the test.",
        """\
users, items = np.repeat(np.arange(50), 10), np.tile(np.arange(10), 50)
recommended = pl.DataFrame({"user": users, "item": items, "score": np.tile(np.arange(10.0, 0.0, -1.0), 50)})
bought = pl.DataFrame({"user": users[items < 3], "item": items[items < 3]})
test = pl.DataFrame({"user": np.arange(50), "item": np.full(50, 5), "label": np.ones(50, int)})
like = {"query": "user", "doc": "item"}
""",
        """\
judged = recommended.rank.on(**like).judge(test)
judged.rank.on(**like, interactions=bought).mean("rr")""",
        "rr 0.167",
        "past",
        """\
new = recommended.rank.on(**like).items.without(bought)
new.rank.on(**like).judge(test).rank.on(**like, interactions=bought).mean("rr")""",
        "rr 0.333",
        LOGS,
    ),
    Trap(
        "Weights below 1 as ratings",
        "RecTools counts every row of its interactions; rankframe's `relevant=1` leaves out those of half a star, which only the "
        "tool's convention can know.",
        """\
recommended = pl.DataFrame({"user_id": [1] * 3 + [2] * 3, "item_id": [1, 2, 3] * 2, "rank": [1, 2, 3] * 2})
test = pl.DataFrame({"user_id": [1, 1, 2], "item_id": [1, 3, 2], "weight": [0.5, 3.0, 1.0]})
""",
        """\
judged = recommended.rank.on(names="rectools", rank="rank").judge(test)
judged.rank.on(names="rectools", rank="rank").mean("recall@2")""",
        "recall@2 0.500",
        "",
        """\
judged = recommended.rank.on(names="rectools", rank="rank").judge(test)
judged.rank.on(names="rectools", rank="rank", convention="rectools").mean("recall@2")""",
        "recall@2 0.750",
        LOGS,
    ),
    # ------------------------------------------------------------------------------------------- jobs that run every day
    Trap(
        "ERR of one day, then of two",
        "Without `max_label` the largest label of the table is the top grade, so Tuesday's rows change Monday's values.",
        """\
monday = pl.DataFrame({"query_id": ["q1", "q1"], "doc_id": ["a", "b"], "score": [2.0, 1.0], "label": [1, 0]})
tuesday = monday.with_columns(query_id=pl.lit("q2"), label=pl.Series([4, 0]))
""",
        'monday.rank.mean("err")',
        "err 0.500",
        "as the top grade",
        'pl.concat([monday, tuesday]).filter(query_id="q1").rank.mean("err(max_label=4)")',
        "err(max_label=4) 0.062",
        JOBS,
    ),
    Trap(
        "A day that a job wrote twice",
        "Sums of the same day add up twice, and intervals are too narrow.",
        """\
day = {"rr__n": [200.0], "rr__mean": [0.5], "rr__m2": [20.0], "rr__min": [0.0], "rr__max": [1.0]}
days = pl.DataFrame({"day": [1], **day})
""",
        'rf.partial_sums(pl.concat([days, days]), "rr").summarize(by="day", ci=None)["n_queries"].item()',
        "",
        "comes more than once",
        'rf.partial_sums(days, "rr").summarize(by="day", ci=None)["n_queries"].item()',
        "200",
        JOBS,
    ),
    Trap(
        "Sums of two runs as one",
        "Without `run=` the queries of both runs are added up.",
        """\
sums = {"rr__n": [200.0] * 2, "rr__mean": [0.5, 0.9], "rr__m2": [20.0, 8.0], "rr__min": [0.0] * 2, "rr__max": [1.0] * 2}
days = pl.DataFrame({"run": ["a", "b"], **sums})
""",
        'rf.partial_sums(days, "rr").summarize(ci=None)["mean"].item()',
        "0.700",
        "run",
        'rf.partial_sums(days, "rr", run="run").summarize(ci=None)["mean"].to_list()[0]',
        "0.500",
        JOBS,
    ),
)
