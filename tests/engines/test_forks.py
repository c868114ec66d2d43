"""A process that was forked after an evaluation refuses the next one, which would wait for ever; others evaluate."""

from __future__ import annotations

import os
import subprocess
import sys

import polars as pl
import pytest

import rankframe as rf
from rankframe._support import threads as forks

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="a system without fork")

REFUSED = (
    'RankframeError write ProcessPoolExecutor(mp_context=multiprocessing.get_context("spawn")), or '
    'multiprocessing.get_context("spawn").Pool(): this process was forked after an evaluation or other work of Polars, '
    "without the threads that it needs"
)


def said_by(what: str) -> list[str]:
    command = [sys.executable, "-W", "ignore::DeprecationWarning", "-m", "tests.support.forks", what]
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=300).stdout.splitlines()


def test_a_pool_by_fork_begins_with_what_to_write_and_each_such_line_works() -> None:
    executor = 'ProcessPoolExecutor(mp_context=multiprocessing.get_context("spawn"))'
    pool = 'multiprocessing.get_context("spawn").Pool()'
    by_spawn = [f"{line} [0.75] [0.75]" for line in (executor, pool)]
    assert said_by("pools") == ["0.75 0.75", REFUSED, REFUSED, *by_spawn]


def test_every_way_to_evaluate_is_refused_after_a_fork() -> None:
    found = dict(line.split(": ") for line in said_by("after"))
    assert len(found) > 15
    assert {name: answer for name, answer in found.items() if answer != "refused"} == {}


def test_a_process_that_was_forked_before_any_work_of_polars_evaluates_whatever_it_did_itself() -> None:
    *works, used_by_others = said_by("before")
    assert works == [f"{name}: works" for name in ("polars", "pandas", "again", "used in the child")]
    if sys.platform == "linux":
        assert used_by_others == "used by others: refused"


FORKED_BEFORE_RANK_IS_USED = """
import os, signal, sys, polars as pl, rankframe as rf
df = pl.DataFrame({"query_id": [1, 1], "doc_id": [1, 2], "score": [1.0, 2.0], "label": [0, 1]}).sort("score")
if child := os.fork():
    sys.exit(os.waitpid(child, 0)[1])
signal.alarm(20)
try:
    df.rank.evaluate("map")
except rf.RankframeError:
    os._exit(0)
os._exit(1)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="a system that does not list threads")
def test_a_fork_after_work_of_polars_alone_is_refused_too() -> None:
    command = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", FORKED_BEFORE_RANK_IS_USED]
    assert subprocess.run(command, timeout=60).returncode == 0


def test_a_system_that_does_not_list_threads_refuses_only_what_surely_hangs(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(path: str) -> list[str]:
        raise FileNotFoundError(path)

    monkeypatch.setattr(os, "listdir", unknown)
    monkeypatch.setattr(forks, "_forked", True)
    monkeypatch.setattr(forks, "_used", False)
    forks.use_polars()
    forks._mark_child()
    with pytest.raises(rf.RankframeError, match="was forked after"):
        forks.use_polars()


def test_a_system_without_forks_needs_no_mark(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "register_at_fork")
    forks.watch_forks()


def test_threads_of_polars_are_found_beside_those_of_python(monkeypatch: pytest.MonkeyPatch) -> None:
    pl.select(pl.lit(1))
    assert not forks._lacks_threads()
    if sys.platform == "linux":
        monkeypatch.setattr(os, "listdir", lambda path: ["1"])
        assert forks._lacks_threads()
