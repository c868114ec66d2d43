"""Scanned files go through Polars' streaming engine from end to end: to a file, and past a small memory."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from calls import ALL, CANONICAL, SOME, spell
from plans import assert_native, assert_streams, graph_of, in_memory
from polars.testing import assert_frame_equal
from tables import frame, random_table

import rankframe as rf

PAGE = Path(__file__).parents[1] / "docs" / "scale.md"
DF = frame(random_table(51, queries=30)).with_columns(
    market=pl.col("query_id").str.slice(-1), asked=pl.col("query_id").str.len_chars()
)
MEANS = [spell(*call) for call in SOME if rf.METRICS[CANONICAL[call[0]]].dtype == pl.Float64]


def has_curve(text: str) -> bool:
    try:
        DF.lazy().rank.curve(text)
    except rf.InvalidOption:
        return False
    return True


CURVES = [text for text in (spell(*call) for call in SOME) if has_curve(text)]
assert len(CURVES) > 50

VERBS: dict[str, Callable[[Any], Any]] = {
    "evaluate": lambda ranker: ranker.evaluate(*(spell(*call) for call in ALL)),
    "evaluate, with an expression": lambda ranker: ranker.evaluate("map", pl.len().alias("rows")),
    "with_metrics": lambda ranker: ranker.with_metrics(*(spell(*call) for call in SOME)),
    "curve": lambda ranker: ranker.curve(*CURVES),
    "explain": lambda ranker: ranker.explain(*CURVES),
    "summarize": lambda ranker: ranker.summarize(*MEANS, ci=None),
    "summarize by": lambda ranker: ranker.summarize("ndcg@10", "gm_map", by=["market", "asked"], ci=None),
    "summarize, weighed": lambda ranker: ranker.summarize("ndcg@10", "err", by="market", weights="asked", ci=None),
}


@pytest.fixture(scope="module")
def scan(tmp_path_factory: pytest.TempPathFactory) -> pl.LazyFrame:
    path = tmp_path_factory.mktemp("scan") / "table.parquet"
    DF.write_parquet(path, row_group_size=50)
    return pl.scan_parquet(path)


@pytest.mark.parametrize("verb", VERBS)
def test_a_scan_goes_to_a_file_without_being_gathered(verb: str, scan: pl.LazyFrame, tmp_path: Path) -> None:
    planned = VERBS[verb](scan.rank)
    assert_native(planned)
    sink = planned.sink_parquet(tmp_path / "found.parquet", lazy=True)
    assert_streams(sink)
    sink.collect()
    found, wanted = pl.read_parquet(tmp_path / "found.parquet"), VERBS[verb](DF.rank)
    assert_frame_equal(found, wanted, check_row_order=False, rel_tol=1e-12, abs_tol=1e-12)


def test_a_summary_ranks_the_table_once(scan: pl.LazyFrame) -> None:
    graph = graph_of(scan.rank.summarize("ndcg", "map", "rr", ci=None))
    assert graph.count('label="multi-scan') == 1


def test_intervals_gather_the_values_of_the_queries_and_no_rows(scan: pl.LazyFrame) -> None:
    (gathered,) = in_memory(scan.rank.summarize("ndcg", "map", by="market"))
    assert "in-memory-map" in gathered
    assert_streams(scan.rank.evaluate("ndcg", "map"))


@pytest.mark.parametrize("metric", ["alpha_ndcg@3", "nerr_ia@3", "nnrbp"])
def test_greedy_rankings_are_made_in_memory_and_nothing_else_of_subtopics(metric: str, scan: pl.LazyFrame) -> None:
    ranker = scan.with_columns(subtopic=pl.lit("s")).rank.on(subtopic="subtopic")
    assert in_memory(ranker.evaluate(metric))
    others = ("alpha_dcg@3", "err_ia@3", "nrbp", "precision_ia@3", "average_precision_ia", "subtopic_recall@3")
    assert_streams(ranker.evaluate(*others, "ndcg@3", "relstring"))


SPILL = """
import sys
import polars as pl
import rankframe
pl.scan_parquet(sys.argv[1]).rank.evaluate("ndcg", "map", "err").sink_parquet(sys.argv[2])
"""


def test_what_does_not_fit_into_memory_is_spilled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    df = frame(random_table(52, queries=300))
    df.write_parquet(tmp_path / "table.parquet", row_group_size=500)
    for name, value in {"MEMORY_BUDGET_MB": "1", "SPILL_MIN_BYTES": "1", "LOG_METRICS": "1"}.items():
        monkeypatch.setenv(f"POLARS_OOC_{name}", value)
    monkeypatch.setenv("POLARS_OOC_SPILL_DIR", str(tmp_path / "spill"))
    paths = [str(tmp_path / name) for name in ("table.parquet", "found.parquet")]
    done = subprocess.run([sys.executable, "-c", SPILL, *paths], capture_output=True, text=True, check=True)
    assert re.search(r"spill_stats\(window\).* n=[1-9]", done.stderr), done.stderr
    found, wanted = pl.read_parquet(paths[1]), df.rank.evaluate("ndcg", "map", "err")
    assert_frame_equal(found, wanted, check_row_order=False, rel_tol=1e-12, abs_tol=1e-12)


@pytest.mark.parametrize("heading", ["One machine", "One machine, in buckets"])
def test_what_the_page_writes_for_one_machine_runs(
    heading: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (section,) = [x for x in re.split(r"^## ", PAGE.read_text(), flags=re.MULTILINE) if x.startswith(heading + "\n")]
    (code,) = re.findall(r"```python\n(.*?)```", section, re.DOTALL)
    monkeypatch.chdir(tmp_path)
    DF.gather_every(2).write_parquet("judged/a.parquet", mkdir=True)
    DF.gather_every(2, 1).write_parquet("judged/b.parquet")
    exec(code, {"pl": pl})
    wanted = DF.rank.evaluate("ndcg@10", "map")
    found = pl.read_parquet("metrics.parquet" if heading == "One machine" else "metrics/*.parquet")
    assert_frame_equal(found, wanted, check_row_order=False, rel_tol=1e-12, abs_tol=1e-12)
