"""Parts run in as many threads as Polars has, wherever the call comes from."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import rankframe as rf
from rankframe._plan import parts, plan
from rankframe._support import threads
from rankframe._support.threads import at_once
from tests.support.each import each


def test_results_are_in_the_order_of_their_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "threads", lambda: 3)

    def slow(i: int) -> int:
        time.sleep(0.001 * (7 * i % 5))
        return i

    assert at_once([lambda i=i: slow(i) for i in range(20)]) == list(range(20))  # type: ignore[misc]
    assert at_once([]) == []


def test_tasks_run_in_as_many_threads_as_polars_has_and_those_within_a_task_one_by_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("polars.thread_pool_size", lambda: 2)
    both = threading.Barrier(2, timeout=20)

    def outer() -> tuple[int, int, list[int]]:
        both.wait()  # passes only if another task runs at the same time
        return threads.threads(), threading.get_ident(), at_once([threading.get_ident] * 3)

    for own, thread, inner in at_once([outer, outer]):
        assert (own, {*inner}) == (1, {thread})
    assert threads.threads() == 2


def test_an_error_ends_the_tasks_and_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "threads", lambda: 2)
    done = []

    def task(i: int) -> None:
        if i == 3:
            raise KeyError(i)
        time.sleep(0.002)
        done.append(i)

    with pytest.raises(KeyError, match="3"):
        at_once([lambda i=i: task(i) for i in range(100)])  # type: ignore[misc]
    assert len(done) < 20


def test_an_interrupt_that_comes_while_the_call_waits_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(self: threading.Thread) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(threads, "threads", lambda: 2)
    monkeypatch.setattr(threading.Thread, "join", interrupted)
    with pytest.raises(KeyboardInterrupt):
        at_once([lambda: None] * 2)


N = 100_000
R = np.random.default_rng(5)
TABLE = pl.DataFrame(
    {
        "query_id": R.integers(0, 1_000, N),
        "doc_id": np.arange(N),
        "score": R.integers(0, 999, N),
        "label": R.integers(0, 3, N),
    }
)


def digits(table: pl.DataFrame, err: str = "err") -> int:
    """A number that changes with any bit of any value."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "err takes 2, the largest label of this table", rf.RankframeWarning)
        found = table.rank.evaluate("ndcg", "map", err, "bpref", "auc", "unj").sort("query_id")
    return int(found.hash_rows().sum())


def test_any_number_of_threads_gives_the_same_digits(monkeypatch: pytest.MonkeyPatch) -> None:
    found = set()
    for n in (1, 2, 3, 8):
        monkeypatch.setattr(threads, "threads", lambda n=n: n)
        monkeypatch.setattr(parts, "threads", lambda n=n: n)
        assert parts.may_be_cut(N) == (n > 1)
        found |= {digits(TABLE), digits(TABLE.sort("query_id", maintain_order=True))}
    assert len(found) == 1


def test_blocks_of_any_size_give_the_same_digits(monkeypatch: pytest.MonkeyPatch) -> None:
    some, blocks = TABLE.head(20_000), []
    of_part = plan.Part.blocks

    def counted(part: plan.Part, needed: Any) -> Any:
        found = of_part(part, needed)
        blocks.append(len(found))
        return found

    monkeypatch.setattr(plan.Part, "blocks", counted)
    found = set()
    for rows in (1, 100, 3_000, N):
        monkeypatch.setattr(plan, "ROWS_OF_BLOCK", rows)
        found.add(digits(some, err="err(max_label=2)"))
    assert len(found) == 1
    assert min(blocks) == 1
    assert max(blocks) == some["query_id"].n_unique()


PRINTED = """
import threading, time, polars as pl
from tests.plan.test_threads import TABLE, digits
def evaluate():
    time.sleep(0.2)
    print(pl.thread_pool_size(), digits(TABLE), flush=True)
"""


def printed(how: str, n: int) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", PRINTED + how],
        capture_output=True,
        text=True,
        timeout=100,
        cwd=Path(__file__).parents[2],
        env={**os.environ, "POLARS_MAX_THREADS": str(n)},
        check=False,
    )
    assert done.stderr == ""
    return done.stdout.split()


@pytest.mark.nightly
@each("n", [1, 2, 4, 8])
def test_any_pool_of_polars_gives_the_same_digits(n: int) -> None:
    assert printed("evaluate()", n) == [str(n), str(digits(TABLE))]


def test_a_thread_may_evaluate_a_large_table_once_the_main_thread_has_ended() -> None:
    assert printed("threading.Thread(target=evaluate).start()", 2) == ["2", str(digits(TABLE))]
