"""What a ranker shows of itself, as text and in a notebook."""

from __future__ import annotations

import inspect
import re
from html.parser import HTMLParser
from typing import Any

import pandas as pd
import polars as pl

import rankframe as rf
from tests.support.each import each

FRAME = pl.DataFrame(
    {"query_id": [1, 1], "doc_id": ["a", "b"], "score": [2.0, 1.0], "score_pca": [1.0, 2.0], "label": [0, 1]}
)


def facts(ranker: object) -> dict[str, str]:
    """The facts in the text of a ranker, by name."""
    return dict(re.findall(r"(?m)^  (\S+(?: \S+)*)  +(.*)$", repr(ranker)))


class Cells(HTMLParser):
    """The cells of a table, as a browser reads them."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.cells: list[str] = []
        self.tags: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.tags.append(tag)
        self.cells += [""] * (tag in ("th", "td"))

    def handle_data(self, data: str) -> None:
        if self.tags and self.tags[-1] in ("th", "td") and self.cells:
            self.cells[-1] += data

    def handle_endtag(self, tag: str) -> None:
        self.tags.append(f"/{tag}")


def test_a_ranker_shows_the_size_of_its_table_and_the_role_of_each_column() -> None:
    assert repr(FRAME.rank).startswith(".rank of a DataFrame: 2 rows, 5 columns\n")
    assert facts(FRAME.rank) == {
        "query": "query_id",
        "doc": "doc_id",
        "score": "score",
        "label": "label",
        "other columns": "score_pca",
        "policies": "the defaults",
        "verbs": (
            "evaluate, with_metrics, with_ranks, curve, explain, judge, check, agreement, conventions, mean, summarize, compare, "
            "compare_groups, power, gate, fuse, tune, report, fusion, items, collection, clicks, preferences, metrics, plot, on"
        ),
        "metrics": f"ndcg, average_precision, reciprocal_rank and {len(rf.METRICS) - 3} more",
        "such as": ".rank.evaluate('ndcg@10', 'map')",
    }


def test_levels_of_an_index_are_shown_apart_from_columns() -> None:
    df = FRAME.to_pandas().rename_axis("row").set_index("query_id", append=True)
    found = facts(df.rank)
    assert (found["query"], found["other columns"], found["other levels"]) == ("query_id", "score_pca", "row")
    assert "other levels" not in facts(FRAME.to_pandas().rank)


def test_a_ranker_shows_the_policies_that_differ_from_the_defaults() -> None:
    found = facts(FRAME.rank.on(score="score_pca", relevant=2, ties="doc_desc"))
    assert (found["score"], found["other columns"], found["policies"]) == ("score_pca", "score", "relevant=2")
    assert facts(FRAME.rank.on(convention="trec_eval"))["policies"] == "ties='trec_eval', convention='trec_eval'"


def test_a_ranker_says_which_columns_are_not_in_the_table() -> None:
    found = facts(FRAME.drop("doc_id").rank.on(query=["run", "query_id"], label="rel", subtopic="topic"))
    assert found["query"] == "run, query_id (not in the table: run)"
    assert found["doc"] == "none"
    assert found["label"] == "rel (not in the table)"
    assert found["subtopic"] == "topic (not in the table)"


def test_a_ranker_of_a_lazy_frame_shows_columns_and_runs_nothing() -> None:
    def run(_: pl.DataFrame) -> pl.DataFrame:
        raise AssertionError("the plan ran")

    lazy = FRAME.lazy().map_batches(run, schema=FRAME.schema)
    assert repr(lazy.rank).startswith(".rank of a LazyFrame: 5 columns\n  query          query_id\n")
    assert "5 columns" in lazy.rank._repr_html_()


def test_a_lazy_frame_whose_plan_cannot_run_is_shown_without_columns() -> None:
    broken = FRAME.lazy().select("nothing").rank
    assert repr(broken).startswith(".rank of a LazyFrame: its columns are not known\n")
    assert facts(broken)["score"] == "score"


def test_a_pandas_ranker_counts_levels_of_the_index_as_columns() -> None:
    frame = FRAME.to_pandas().set_index("query_id")
    assert repr(rf.rank(frame)).startswith(
        ".rank of a pandas DataFrame: 2 rows, 4 columns\n  query          query_id\n"
    )


def test_what_pandas_own_method_shows_leads_to_the_rankers_and_it_stays_pandas_own() -> None:
    frame = FRAME.to_pandas()
    assert repr(frame.rank) == (
        f"{rf.rank(frame)!r}\n  a call         .rank(...) is pandas' own method, which ranks values"
    )
    assert ".rank.evaluate(&#x27;ndcg@10&#x27;, &#x27;map&#x27;)" in frame.rank._repr_html_()
    assert inspect.signature(frame.rank) == inspect.signature(pd.DataFrame().rank)
    assert list(inspect.signature(frame.rank).parameters)[:2] == ["axis", "method"]
    assert frame[["score"]].rank()["score"].tolist() == [2.0, 1.0]


def test_expressions_show_columns_policies_and_an_example_that_runs() -> None:
    assert repr(rf.expr.on(query="qid", ties="order", doc=None)) == (
        "rf.expr: metrics as Polars expressions\n"
        "  query     qid\n"
        "  doc       none\n"
        "  score     score\n"
        "  label     label\n"
        "  policies  ties='order'\n"
        "  such as   df.group_by('query_id').agg(rf.expr.ndcg(k=10))"
    )


def test_many_columns_are_counted() -> None:
    wide = FRAME.with_columns(pl.lit(0).alias(f"x{i}") for i in range(20))
    assert facts(wide.rank)["other columns"].endswith(", x9, x10 and 9 more")


@each("ranker", [FRAME.rank, FRAME.lazy().rank, FRAME.to_pandas().rank, rf.expr], ids=lambda x: type(x).__name__)
def test_the_html_has_the_facts_of_the_text_and_no_colour_of_its_own(ranker: Any) -> None:
    cells = Cells(ranker._repr_html_()).cells
    assert dict(zip(cells[::2], cells[1::2], strict=True)) == facts(ranker)
    assert "color" not in ranker._repr_html_().replace("background: none", "")


def test_text_of_the_users_is_escaped() -> None:
    bad = "<script>alert('x')</script>\x1b[31m\n"
    ranker = FRAME.rename({"score_pca": bad}).rank.on(label=bad)
    shown = ranker._repr_html_()
    assert "<script" not in shown
    assert "script" not in {tag.strip("/") for tag in Cells(shown).tags}
    for text in (shown, repr(ranker), repr(ranker.ndcg)):
        assert "\x1b" not in text
    assert facts(ranker)["label"] == r"<script>alert('x')</script>\x1b[31m\n"
