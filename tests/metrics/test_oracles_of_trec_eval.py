"""The oracles of trec_eval's measures against trec_eval: version 9 in this process, version 10 as recorded."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.metrics.oracles.trec_eval import BOGUS, MEASURES, Options, evaluate, ideal_gains, lines, trec_query
from tests.support.each import each
from tests.support.tables import Table, random_table
from tests.support.trec_eval_and_scipy import NAMED, trec_eval_9
from tests.support.untraced import untraced

RECORD = json.loads((Path(__file__).parents[1] / "data" / "trec_eval_10.json").read_text())
TABLE: Table = {query: [tuple(row) for row in rows] for query, rows in RECORD["table"].items()}
RUNS: list[dict[str, Any]] = RECORD["runs"]


def options(words: Sequence[str]) -> Options:
    """As they stand on the command line."""
    after = dict(itertools.pairwise(words))
    return Options(
        level=int(after.get("-l", 1)),
        judged_only="-J" in words,
        depth=int(after["-M"]) if "-M" in words else None,
        collection=int(after.get("-N", 0)),
        complete="-c" in words,
    )


def divides_zero_by_zero(query: str, name: str, given: Options) -> bool:
    """Where trec_eval prints -nan: no document left to rank, or no gain above 0 where ranks of gain are averaged."""
    if query == "all":
        return any(divides_zero_by_zero(q, name, given) for q in evaluate(TABLE, [], given) if q != "all")
    found = any(score is not None for _, score, _ in TABLE[query])
    q = trec_query(TABLE[query] if found else [*TABLE[query], BOGUS], given)
    if name.startswith("iprec_at_recall_"):
        wanted = float(name.removeprefix("iprec_at_recall_")) * q.R
        return q.n == 0 and wanted < 0.5
    if name.startswith("Rndcg_"):
        return q.R > 0 and not ideal_gains(q, {0: 1, 1: 3, 2: -2})
    return name.startswith("11pt_avg") and q.n == 0


@each("run", RUNS, ids=lambda run: f"{run['measures'][0]} {' '.join(run['options'])}")
def test_oracles_equal_trec_eval_10(run: dict[str, Any]) -> None:
    given = options(run["options"])
    found = evaluate(TABLE, run["measures"], given)
    assert list(found) == run["queries"]
    for name, column in run["values"].items():
        for query, expected in zip(run["queries"], column, strict=True):
            about = (name, query, run["options"], TABLE.get(query))
            assert (expected == "-nan") == divides_zero_by_zero(query, name, given), about
            if expected is None:
                assert name not in found[query], about
            elif isinstance(expected, float):
                assert math.isclose(found[query][name], expected, rel_tol=1e-12, abs_tol=1e-12), about
            elif expected != "-nan":
                assert f"'{found[query][name]}'" == expected, about
    assert {name for values in found.values() for name in values} == run["values"].keys()


def test_the_record_holds_every_measure_and_every_option() -> None:
    printed = {name for run in RUNS for name in run["values"]}
    assert {
        name for name in MEASURES if not any(text == name or text.startswith(f"{name}_") for text in printed)
    } == set()
    assert {word for run in RUNS for word in run["options"] if word[0] == "-"} == {"-l", "-J", "-M", "-N", "-c"}
    # Distinct numbers above all: not an empty table, nor one on which the options change nothing.
    assert len({json.dumps(run["values"]["map"]) for run in RUNS if "map" in run["values"]}) == 6
    assert (
        sum(value not in (None, 0, 1) for run in RUNS for column in run["values"].values() for value in column) > 5000
    )


def test_lines_are_what_trec_eval_10_prints() -> None:
    printed = RECORD["printed"]
    queries = {line.split("\t")[1] for line in printed["lines"]}
    table = {query: rows for query, rows in TABLE.items() if query in queries}
    assert any(all(score is None for _, score, _ in rows) for rows in table.values())
    found = evaluate(table, printed["measures"], options(printed["options"]))
    assert lines(found, "tag") == printed["lines"]


@each("depth", [None, 1, 5], sample=24)
@each("judged_only", [False, True])
@each("level", [1, 2, 3])
@each("seed", range(4))
@untraced
def test_oracles_agree_with_trec_eval_9(seed: int, level: int, judged_only: bool, depth: int | None) -> None:
    table = random_table(seed)
    given = Options(level, judged_only, depth)
    theirs = trec_eval_9(table, relevant=level, judged_only=judged_only, depth=depth)
    answered = {query: rows for query, rows in table.items() if query in theirs}
    compared = 0
    for query, values in evaluate(answered, NAMED, given).items():
        q = trec_query(table[query], given) if query in table else None
        for name, found in values.items():
            base = name.split("_0.5")[0] if name == "set_F_0.5" else name.split("_1,")[0]
            if base.startswith(("iprec", "11pt")) and (q is None or not q.n or rounds_unlike_version_10(base, q.R)):
                continue
            assert math.isclose(found, theirs[query][base], rel_tol=1e-12, abs_tol=1e-12), (
                name,
                query,
                table.get(query),
            )
            compared += 1
    assert compared > 60 * len(answered)


def rounds_unlike_version_10(name: str, relevant: int) -> bool:
    """Version 9 adds 0.9 and cuts; version 10 takes the nearest count of relevant documents."""
    tenths = range(11) if name == "11pt_avg" else [round(10 * float(name.rpartition("_")[2]))]
    return any(int(tenth / 10 * relevant + 0.9) != math.floor(tenth / 10 * relevant + 0.5) for tenth in tenths)


def test_what_versions_9_and_10_count_differently() -> None:
    """Three relevant documents, at ranks 1 and 3 of 5: 0.4 of them are 1.2 (9: two, 10: one), 0.8 are 2.4 (9: three)."""
    rows = [(str(i), 5.0 - i, label) for i, label in enumerate([1, 0, 1, 0, 0])] + [("x", None, 1)]
    measures = ["iprec_at_recall", "11pt_avg", "Rprec_mult"]
    found = evaluate({"q": rows}, measures)["q"]
    assert [found[f"iprec_at_recall_{r}"] for r in ("0.40", "0.50", "0.80", "0.90")] == pytest.approx(
        [1, 2 / 3, 2 / 3, 0]
    )
    assert found["11pt_avg"] == pytest.approx((5 * 1 + 4 * 2 / 3) / 11)
    assert [found[f"Rprec_mult_{x}"] for x in ("0.40", "0.80")] == pytest.approx([1 / 2, 2 / 3])


def test_hand_calculations() -> None:
    """Documents of labels 2, none, -1, 1 and a 1 that was not retrieved."""
    rows = [("a", 4.0, 2), ("b", 3.0, None), ("c", 2.0, -1), ("d", 1.0, 1), ("e", None, 1)]
    measures = [
        "yaap",
        "unj.2",
        "rbp.p=0.5",
        "rbp_resid.p=0.5",
        "relstring",
        "utility.1,-1,2,1",
        "infAP",
        "G",
        "gm_map",
    ]
    found = evaluate({"q": rows}, measures, Options(collection=10))
    expected = {
        "relstring": "2-.1",
        "infAP": (1 + 1 / 4 + 3 / 4 * 2 / 3 * (1 + 1e-5) / (1 + 2e-5)) / 3,
        # 2 relevant found, 2 others, 1 missed, of 10 documents 5 are neither found nor relevant.
        "utility_1,-1,2,1": 2 - 2 + 2 + 5,
        # Cost 2, 1, 1, 1 against gains 2, 0, 0, 1.
        "G": (2 / math.log2(2) + 1 / math.log2(2 + 5 - 3)) / 4,
        "yaap": math.log((1 + 1 + 2 / 4) / (1 + 3 - 1 - 2 / 4)),
        # Gains 1 and 1/2, as the query's largest label is 2.
        "rbp_p=0.5": 0.5 * (1 + 0.5 / 8),
        "rbp_resid_p=0.5": 0.5**4 + 0.5 * (1 / 2 + 1 / 4),
        "unj_2": 1 / 2,
    }
    assert found["q"] == pytest.approx(expected)
    assert found["all"] == pytest.approx({k: v for k, v in expected.items() if k != "relstring"} | {"gm_map": 1 / 2})
