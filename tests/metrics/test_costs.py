"""Costs of documents: every C/W/L metric in every report against cwl-eval, and what is no cost."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
import pytest

import rankframe as rf
from tests.support.each import each
from tests.support.ir_measures_and_ndeval import REPORTS
from tests.support.untraced import untraced

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # their docstrings hold escapes that Python does not know
    from cwl.ruler import cwl_ruler
    from cwl.ruler.ranking import Ranking

IFT = "goal_intercept=0.3,goal_slope=2,rate_intercept=2,rate_slope=1"
# Our text, cwl-eval's reader, and the ranks that cwl-eval leaves out at the end.
READERS: dict[str, tuple[Callable[[], Any], int]] = {
    "tbg(half_life=30,{})": (lambda: cwl_ruler.TBGCWLMetric(30), 0),
    "u_measure(length=100,{})": (lambda: cwl_ruler.UMeasureCWLMetric(100), 1),
    "u_measure(length=5000,{})": (lambda: cwl_ruler.UMeasureCWLMetric(5000), 1),
    "ift(rate=None,{})": (lambda: cwl_ruler.IFTGoalCWLMetric(2.0, 0.9, 10.0), 0),
    "ift(target=None,{})": (lambda: cwl_ruler.IFTRateCWLMetric(0.2, 0.9, 10.0), 0),
    "ift({})": (lambda: cwl_ruler.IFTGoalRateCWLMetric(2.0, 0.9, 10.0, 0.2, 0.9, 10.0), 0),
    f"ift(target=1,rate=0.5,{IFT},{{}})": (lambda: cwl_ruler.IFTGoalRateCWLMetric(1.0, 0.3, 2.0, 0.5, 2.0, 1.0), 0),
    "insq({})": (lambda: cwl_ruler.INSQCWLMetric(1.0), 0),
    "inst({})": (lambda: cwl_ruler.INSTCWLMetric(1.0), 0),
    "nerr10({})": (lambda: cwl_ruler.NERReq10CWLMetric(0.9), 0),
    "nerr11({})": (lambda: cwl_ruler.NERReq11CWLMetric(1.0), 0),
    "sdcg({})@5": (lambda: cwl_ruler.NDCGCWLMetric(5), 0),
    "nerr8({})@5": (lambda: cwl_ruler.NERReq8CWLMetric(5), 0),
    "nerr9({})@5": (lambda: cwl_ruler.NERReq9CWLMetric(5), 0),
}
ASKED = [(report, residual) for report in REPORTS for residual in (False, True)]


def text_of(reader: str, depth: int, report: str, residual: bool) -> str:
    at = "" if "@" in reader else f"@{depth}"
    return reader.format(f"max_label=4,report={report}" + ",residual=True" * residual) + at


@each("depth", [12, 1000], sample=1)
@untraced
def test_every_report_is_that_of_cwl_eval_for_documents_with_costs(depth: int) -> None:
    rng = np.random.default_rng(depth)
    rows: list[tuple[Any, ...]] = []
    wanted: dict[int, list[float]] = {}
    for query in range(10):
        n = int(rng.integers(0, 30))
        labels = [None if rng.random() < 0.2 else int(x) for x in rng.integers(0, 5, n) * (rng.random(n) < 0.4)]
        costs = (rng.integers(1, 20, n) / 2).tolist()
        rows += [(query, i, -float(i), label, cost) for i, (label, cost) in enumerate(zip(labels, costs, strict=True))]
        rows.append((query, n, None, 1, None))  # not retrieved, so that it needs no cost
        gains = np.array([np.nan if label is None else label / 4 for label in labels])
        wanted[query] = []
        for make, left_out in READERS.values():
            reader = make()
            reader.residuals = True
            reader.measure(Ranking("q", gains, np.array(costs), max_n=depth + left_out))
            of_report = [("residual_" * residual) + REPORTS[report] for report, residual in ASKED]
            wanted[query] += [float(getattr(reader, name)) for name in of_report]
    schema = {"query_id": pl.Int64, "doc_id": pl.Int64, "score": pl.Float64, "label": pl.Int64, "seconds": pl.Float64}
    df = pl.DataFrame(rows, schema=schema, orient="row")
    texts = [text_of(reader, depth, *asked) for reader in READERS for asked in ASKED]
    found = df.rank.on(cost="seconds").evaluate(*texts)
    for query, *values in found.iter_rows():
        for text, value, theirs in zip(texts, values, wanted[query], strict=True):
            # cwl-eval ends a rank later where a list is as long, so that its last one may have a document
            if "u_measure" in text and df.filter(query_id=query).height > depth:
                continue
            assert value == pytest.approx(theirs, rel=1e-10, abs=1e-10), (text, query)


def test_without_costs_every_document_costs_1() -> None:
    df = pl.DataFrame({"query_id": 1, "doc_id": list("abc"), "score": [3, 2, 1], "label": [0, 1, 0], "one": 1})
    readers = {"insq": "EC", "inst": "ETC", "sdcg@2": "ETC", "nerr8@3": "EC", "bpm@2": "EC"}
    parts = [(*reader.partition("@"), report) for reader, report in readers.items()]
    texts = [f"{name}(max_label=1,report={report}){at}{k}" for name, at, k, report in parts]
    plain, costly = df.rank.evaluate(*texts).row(0), df.rank.on(cost="one").evaluate(*texts).row(0)
    assert plain == pytest.approx(costly)
    assert [plain[i] for i in (1, 4, 5)] == [1.0, 1.0, 1.0]


def test_a_reader_who_stops_pays_for_what_is_read() -> None:
    """BPM stops at b, with a gain of 1: 2 + 3 of two documents."""
    df = pl.DataFrame({"query_id": 1, "doc_id": list("abc"), "score": [3, 2, 1], "label": [0, 1, 0], "cost": [2, 3, 9]})
    found = df.rank.on(cost="cost").evaluate(*(f"bpm(max_label=1,report={x})@3" for x in ("ETC", "EC", "ED"))).row(0)
    assert found == (1, 5.0, 2.5, 2.0)


@each("cost", [None, 0.0, -1.0, float("nan"), float("inf")])
def test_a_retrieved_document_has_a_cost_above_0(cost: float | None) -> None:
    df = pl.DataFrame({"query_id": 1, "doc_id": ["a", "b"], "score": [2, 1], "label": 1, "cost": [1.0, cost]})
    for form in (df, df.lazy()):
        with pytest.raises(rf.InvalidData, match="a retrieved document has a cost that is null"):
            form.rank.on(cost="cost").evaluate("tbg").lazy().collect()
    assert df.rank.on(cost="cost").evaluate("map").item(0, 1) == 1  # which reads no costs


def test_readers_of_costs_need_them_and_a_wish() -> None:
    df = pl.DataFrame({"query_id": 1, "doc_id": ["a"], "score": [1], "label": [1]})
    with pytest.raises(rf.InvalidOption, match=r"it needs the column of the documents' costs.*on\(cost='seconds'\)"):
        df.rank.evaluate("tbg")
    with pytest.raises(rf.InvalidOption, match="has a target, a rate or both"):
        df.with_columns(c=1).rank.on(cost="c").evaluate("ift(target=None,rate=None)")


def test_costs_may_come_with_the_items() -> None:
    df = pl.DataFrame({"query_id": 1, "doc_id": ["a", "b"], "score": [2, 1], "label": 1})
    times = pl.DataFrame({"doc_id": ["b", "a"], "seconds": [10, 30]})
    found = df.rank.on(cost="seconds", items=times).evaluate("tbg(half_life=30,max_label=1)")
    assert found.item(0, 1) == pytest.approx(1.5)
    parts = df.rank.on(cost="seconds", items=times).explain("tbg(half_life=30,max_label=1)")
    assert parts.select("doc_id", parts.columns[-1]).rows() == [("a", 1.0), ("b", pytest.approx(0.5))]
