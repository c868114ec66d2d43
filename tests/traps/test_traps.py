"""Each trap of docs/traps.md gives the wrong number and the words of its warning; the call to write instead is silent and right."""

from __future__ import annotations

import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import pytrec_eval

import rankframe as rf
from tests.support.each import each

from .traps import TRAPS, Trap, asked

ROOT = Path(__file__).parents[2]


@each("trap", TRAPS, ids=lambda trap: trap.title)
def test_the_habit_gives_the_wrong_number_and_rankframe_says_so(trap: Trap) -> None:
    gives, said = asked(trap, trap.wrong)
    assert gives == trap.gives != trap.right_gives
    assert any(trap.says in text for text in said) if trap.says else not said, said
    assert all(len(text) <= 200 for text in said), said  # two lines


@each("trap", TRAPS, ids=lambda trap: trap.title)
def test_the_call_to_write_instead_gives_the_right_number_in_silence(trap: Trap) -> None:
    assert asked(trap, trap.right) == (trap.right_gives, [])


def test_the_page_of_traps_is_written_from_them() -> None:
    code = "import scripts.build_traps_page as build; print(build.page(), end='')"
    written = subprocess.check_output([sys.executable, "-c", code], text=True, cwd=ROOT, encoding="utf-8")
    assert (ROOT / "docs" / "traps.md").read_text(encoding="utf-8") == written


def test_the_right_numbers_of_the_example_are_those_of_trec_eval() -> None:
    df = rf.load_example()
    run: dict[str, dict[str, float]] = {}
    qrels: dict[str, dict[str, int]] = {}
    for query, doc, score, label in df.select("query_id", "doc_id", "score", "label").iter_rows():
        if score is not None:
            run.setdefault(query, {})[doc] = score
        if label is not None:
            qrels.setdefault(query, {})[doc] = label

    def mean(measure: str, judged: dict[str, dict[str, int]]) -> str:
        values = pytrec_eval.RelevanceEvaluator(judged, {measure.replace("recall_", "recall.")}).evaluate(run).values()
        return f"{np.mean([value[measure] for value in values]):.3f}"

    wanted = {"map": "0.644", "recall_50": "0.679", "recall_40": "0.613", "P_5": "0.983", "ndcg_cut_10": "0.962"}
    assert {measure: mean(measure, qrels) for measure in wanted} == wanted
    some = {query: labels for query, labels in qrels.items() if query < "image03"}
    assert (len(some), mean("map", some)) == (19, "0.585")


def test_the_expected_value_of_tied_classes_is_the_mean_over_orders() -> None:
    (trap,) = (trap for trap in TRAPS if "predict()" in trap.title)
    names: dict[str, Any] = {"np": np, "pl": pl, "rf": rf}
    exec(trap.table, names)
    values = []
    for _, query in names["df"].group_by("query_id"):
        (right,) = query.filter(label=1)["score"]
        above, among = query.filter(pl.col("score") > right).height, query.filter(score=right).height
        ranks = range(above + 1, min(above + among, 10) + 1)
        values.append(sum(1 / math.log2(rank + 1) for rank in ranks) / among)
    assert f"ndcg@10 {np.mean(values):.3f}" == trap.right_gives


def test_the_example_of_ranks_with_gaps_is_right_by_hand() -> None:
    assert pytest.approx((1 / 9 + 1 / 5) / 2, abs=5e-4) == 0.156
