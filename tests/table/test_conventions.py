"""Under a tool's convention every value is the tool's.

`tests.tools.conventions` says what each tool does, in plain Python; tests/tools holds it against the tools themselves.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Iterator
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import rankframe as rf
from rankframe._table.conventions import CONVENTIONS
from tests.audit import test_conventions_of_recommenders as oracle_of_recommenders
from tests.support.each import each
from tests.support.tables import BY_CHANCE, INTEGER_LABELS, Table, frame, random_table
from tests.tools import conventions as oracle, formulas

pytestmark = BY_CHANCE

OURS = {
    "average_precision": "map", "reciprocal_rank": "rr", "mean_position": "average_relevance_position",
    "ordered_pairs": "ordered_pair_accuracy", "coverage_error": "last_rank", "label_ranking_loss": "ranking_loss", "relative_precision": "precision(divisor='min(k,R)')",
}  # fmt: skip
# AUC of the top alone is of one tool, and scikit-learn's average precision takes whole lists.
WITHOUT_CUTOFF = {
    ("sklearn", "auc"),
    ("catboost", "auc"),
    ("sklearn", "average_precision"),
    ("cornac", "average_precision"),
}
LABELS = [*INTEGER_LABELS, 0.5, 0.25, 2.75]
NAMES = {name for metric in rf.METRICS.values() for name in (metric.name, *metric.aliases)}
CASES = [  # of what the tools measure, the ranks of whole label lists and the means of labels have no counterpart here
    (tool, metric)
    for tool in oracle.CONVENTIONS
    for metric in oracle.CONVENTIONS[tool]["metrics"]
    if OURS.get(metric, metric).partition("(")[0] in NAMES
]


def table_for(tool: str, metric: str, seed: int) -> Table:
    """A random table of what the tool takes, and of what its convention can repeat."""
    chosen = oracle.choices(tool, metric)
    labels = [x for x in LABELS if oracle.takes(tool, metric, [x])]
    if chosen["negative"] != "unjudged":
        labels = [x for x in labels if x is None or x >= 0]
    if chosen["relevant"] == "share":
        labels = [0, 1]
    table = random_table(seed, queries=40, labels=labels, ties=chosen["ties"] != "undefined")
    if "relevant_scores" in chosen or "squashed" in chosen:
        table = {
            q: [(doc, None if s is None else (s + 60) / 128, x) for doc, s, x in rows] for q, rows in table.items()
        }
    table = {q: rows for q, given in table.items() if len(rows := oracle.seen(tool, given)) >= chosen["rows"]}
    return {q: rows for q, rows in table.items() if any(score is not None for _, score, _ in rows)}


def options_of(tool: str, metric: str) -> Iterator[dict[str, Any]]:
    """The cutoffs that both sides know, and none."""
    takes = inspect.signature(formulas.METRICS[metric]).parameters
    if metric == "interpolated_precision":
        yield from ({"recall": tenth / 10} for tenth in range(11))
    elif metric == "rbp":
        yield {"p": 0.95}
    else:
        if takes.get("k", inspect.Parameter("k", inspect.Parameter.KEYWORD_ONLY, default=None)).default is None:
            yield from [] if "needs_k" in oracle.choices(tool, metric) else [{}]
        if (
            (tool, metric) not in WITHOUT_CUTOFF
            and "k" in takes
            and "k" in rf.METRICS[OURS.get(metric, metric).partition("(")[0]].parameters
        ):
            yield from ({"k": k} for k in (1, 2, 5, 30))


def text_of(metric: str, options: dict[str, Any]) -> str:
    at = "".join(f"@{options[name]:g}" for name in ("k", "recall") if name in options)
    inside = f"(p={options['p']})" if "p" in options else ""
    return OURS.get(metric, metric) + inside + at


def all_relevant(rows: list[Any]) -> bool:
    """Whether nothing is judged non-relevant."""
    return not any(label is not None and label < 1 for _, _, label in rows)


@each("seed", [0, 1, 2], sample=len(CASES))
@each(("tool", "metric"), CASES, ids=["-".join(case) for case in CASES])
def test_values_are_the_tools(tool: str, metric: str, seed: int) -> None:
    chosen = oracle.choices(tool, metric)
    compared = 0
    table = table_for(tool, metric, seed)
    texts = {text_of(metric, options): options for options in options_of(tool, metric)}
    together = frame(table, seed=None).rank.on(convention=tool).evaluate(*texts)
    for text, options in texts.items():
        found = dict(together.select("query_id", text).iter_rows())
        for query, rows in table.items():
            wanted = formulas.value(tool, metric, rows, **options)
            if all(label is None for *_, label in rows):
                wanted = math.nan  # a query that is not in the judgments, which tools leave out
            if chosen["beyond"] is not None and options.get("k", 0) > len(rows):
                continue  # stated in the convention's note
            if metric == "bpref" and "no_nonrelevant" in chosen and found[query] != wanted and all_relevant(rows):
                continue  # stated in the convention's note
            if metric == "coverage_error" and found[query] is None and wanted == 0:
                continue  # stated in the convention's note
            value = math.nan if found[query] is None else found[query]
            same = math.isclose(value, wanted, rel_tol=1e-12, abs_tol=1e-12)
            assert same or (math.isnan(value) and math.isnan(wanted)), (text, value, wanted, rows)
            compared += 1
    assert compared > 10


def test_every_convention_is_of_known_metrics_and_every_tool_has_one() -> None:
    assert set(CONVENTIONS) == {*oracle.CONVENTIONS, *(tool for tool, _ in oracle_of_recommenders.PRINTED)}
    named = {name for tool in CONVENTIONS.values() for name in (*tool.metrics, *tool.otherwise)}
    assert named <= {*rf.METRICS, *rf.CATALOG_METRICS}


DF = frame(random_table(5, labels=[0, 0, 1, 2]), seed=None).filter(pl.col("score").is_not_null())


def test_what_is_said_beside_a_convention_stays() -> None:
    ours, theirs = DF.rank, DF.rank.on(convention="lightgbm")
    assert theirs.evaluate("ndcg(gain=linear)@3").equals(
        ours.on(ties="order", no_relevant="one", unretrieved="drop").evaluate("ndcg@3")
    )
    assert theirs.ndcg(k=3, gain="linear").equals(theirs.evaluate("ndcg(gain=linear)@3"))
    zero = DF.rank.on(convention="lightgbm", no_relevant="zero").evaluate("ndcg@3", "map@3")
    assert zero.equals(theirs.on(no_relevant="zero").evaluate("ndcg@3", "map@3"))
    assert zero["map@3"].min() == 0
    assert theirs.evaluate("map@3")["map@3"].null_count() == 0


def test_a_convention_keeps_the_columns() -> None:
    renamed = DF.rename({"query_id": "qid"})
    found = renamed.rank.on(query="qid").on(convention="spark").evaluate("map@3")
    assert found.rows() == DF.rank.on(convention="spark").evaluate("map@3").rows()


def test_metrics_of_several_policies_stand_side_by_side() -> None:
    asked = ["recall@3", "ndcg@3", "map@3", "precision@5"]
    together = DF.rank.on(convention="catboost").evaluate(*asked)
    assert together.columns == ["query_id", *asked]
    for text in asked:
        assert together.select("query_id", text).equals(DF.rank.on(convention="catboost").evaluate(text))
    lazy = DF.lazy().rank.on(convention="catboost").evaluate(*asked).collect()
    assert_frame_equal(lazy, together, check_row_order=False, abs_tol=1e-12)
    by_pandas = DF.to_pandas().rank.on(convention="catboost").evaluate(*asked)
    assert by_pandas.reset_index().to_dict("list") == together.to_dict(as_series=False)
    alone = DF.group_by("query_id", maintain_order=True).agg(rf.expr.on(convention="catboost").recall(k=3))
    assert_frame_equal(alone, together.select("query_id", "recall@3"), abs_tol=1e-12)
    assert DF.rank.on(convention="catboost").curve("recall").columns == ["query_id", "doc_id", "rank", "recall"]
    with pytest.raises(rf.InvalidOption, match="ask for one"):
        DF.rank.on(convention="catboost").explain("ndcg", "precision@5")


def test_label_ranking_average_precision_is_map_where_a_query_without_relevant_documents_counts_1() -> None:
    table = random_table(8, queries=60, labels=[0, 0, 0, 1], ties=False)
    table = {query: [row for row in rows if row[1] is not None] for query, rows in table.items()}
    table = {query: rows for query, rows in table.items() if rows}
    found = dict(frame(table, seed=None).rank.on(no_relevant="one").average_precision().iter_rows())
    wanted = {q: formulas.value("sklearn", "label_ranking_average_precision", rows) for q, rows in table.items()}
    assert found == pytest.approx(wanted, abs=1e-12)
    assert any(not any(label for *_, label in rows) for rows in table.values())


def test_scores_may_be_compared_as_short_floats() -> None:
    df = pl.DataFrame({"query_id": "q", "doc_id": ["a", "b"], "score": [1 + 1e-9, 1.0], "label": [1, 0]})
    assert df.rank.reciprocal_rank().item(0, 1) == 1
    assert df.rank.on(scores="float32").reciprocal_rank().item(0, 1) == 0.5
    assert df.group_by("query_id").agg(rf.expr.on(scores="float32").reciprocal_rank()).item(0, 1) == 0.5
    whole = df.with_columns(score=pl.Series([2**24 + 1, 2**24]))
    for ties, value in {"doc_desc": 0.5, "doc_asc": 1.0}.items():
        assert whole.rank.on(scores="float32", ties=ties).reciprocal_rank().item(0, 1) == value
        assert whole.lazy().rank.on(scores="float32", ties=ties).reciprocal_rank().collect().item(0, 1) == value


def test_an_unknown_tool_or_a_metric_that_the_tool_lacks_is_an_error() -> None:
    with pytest.raises(rf.InvalidOption, match=r"Did you mean 'lightgbm'\?"):
        DF.rank.on(convention="lightgmb")
    with pytest.raises(rf.InvalidOption, match="lightgbm has no bpref; it has ndcg, map"):
        DF.rank.on(convention="lightgbm").evaluate("ndcg@3", "bpref")
