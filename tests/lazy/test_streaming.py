"""Scanned files go through every verb to a file, also where they exceed the memory limit."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import rankframe as rf
from tests.support.calls import ALL, CANONICAL, SOME, adds_up, spell
from tests.support.each import each
from tests.support.tables import BY_CHANCE, frame, random_table

pytestmark = BY_CHANCE

PAGE = Path(__file__).parents[2] / "docs" / "scale.md"
DF = frame(random_table(51, queries=15)).with_columns(
    market=pl.col("query_id").str.slice(-1), asked=pl.col("query_id").str.len_chars()
)
MEANS = [spell(*call) for call in SOME if rf.METRICS[CANONICAL[call[0]]].dtype == pl.Float64]


@cache
def curves() -> list[str]:
    """The calls that have a curve: a sum of what each rank contributes, without a cutoff."""
    found = [text for text in TEXTS if adds_up(text) and "k" not in dict(rf.parse(text)[0].options)]
    assert len(found) > 50
    return found


TEXTS = [spell(*call) for call in SOME]
VERBS: dict[str, Callable[[Any, int], Any]] = {
    "evaluate": lambda ranker, turn: ranker.evaluate(*[spell(*call) for call in ALL[turn::6]]),
    "evaluate, with an expression": lambda ranker, _: ranker.evaluate("map", pl.len().alias("rows")),
    "with_metrics": lambda ranker, turn: ranker.with_metrics(*TEXTS[turn::6]),
    "curve": lambda ranker, turn: ranker.curve(*curves()[turn::6]),
    "explain": lambda ranker, turn: ranker.explain(*curves()[turn::6]),
    "summarize": lambda ranker, turn: ranker.summarize(*MEANS[turn::6], ci=None),
    "summarize by": lambda ranker, _: ranker.summarize("ndcg@10", "gm_map", by=["market", "asked"], ci=None),
    "summarize, weighed": lambda ranker, _: ranker.summarize("ndcg@10", "err", by="market", weights="asked", ci=None),
}


@pytest.fixture(scope="module")
def scan(tmp_path_factory: pytest.TempPathFactory) -> pl.LazyFrame:
    path = tmp_path_factory.mktemp("scan") / "table.parquet"
    DF.write_parquet(path, row_group_size=50)
    return pl.scan_parquet(path)


@each("turn", range(6), sample=5)
@each("verb", VERBS)
def test_a_scan_goes_to_a_file(verb: str, turn: int, scan: pl.LazyFrame, tmp_path: Path) -> None:
    limit = 20_000 if turn else None
    VERBS[verb](scan.rank.on(memory_limit=limit), turn).sink_parquet(tmp_path / "found.parquet")
    found, wanted = pl.read_parquet(tmp_path / "found.parquet"), VERBS[verb](DF.rank, turn)
    assert_frame_equal(found, wanted, check_row_order=False, rel_tol=1e-12, abs_tol=1e-12)


def test_what_the_page_writes_for_one_machine_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (section,) = [x for x in re.split(r"^## ", PAGE.read_text(), flags=re.MULTILINE) if x.startswith("One machine\n")]
    code = re.findall(r"```python\n(.*?)```", section, re.DOTALL)[0]
    monkeypatch.chdir(tmp_path)
    DF.gather_every(2).write_parquet("judged/a.parquet", mkdir=True)
    DF.gather_every(2, 1).write_parquet("judged/b.parquet")
    exec(code, {"pl": pl})
    found = pl.read_parquet("metrics.parquet")
    assert_frame_equal(found, DF.rank.evaluate("ndcg@10", "map"), check_row_order=False, rel_tol=1e-12, abs_tol=1e-12)
