"""A verb of a LazyFrame is one node of its plan, whose rows are spilled where they exceed the memory limit."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import cycle
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import rankframe as rf
from rankframe._plan import node, rows_on_disk
from rankframe._plan.rows_on_disk import PREFIX
from rankframe._support.polars_versions import WRAPS_ERRORS
from rankframe._verbs.measure import evaluate as verbs
from tests.support.calls import ALL, POLICIES, SOME, Options, spell
from tests.support.each import each
from tests.support.errors_of_plans import raised_by_plan
from tests.support.tables import BY_CHANCE, DOCS, frame, random_pairs, random_table

pytestmark = BY_CHANCE

DF = frame(random_table(71, queries=40))
TWELVE = DF.filter(pl.col("query_id").is_in([f"q{i}" for i in range(12)]))
TEXTS = [spell(*call) for call in SOME]
PAIRS = frame(random_pairs(72, queries=15), columns=("doc_id", "score", "other", "label"))
TWO_RANKERS = ("kendall_tau", "rbo", "overlap@3")


def assert_same(found: pl.DataFrame, wanted: pl.DataFrame) -> None:
    """Equal to 1e-12, in whatever order the rows come."""
    key = [name for name in ("metric", "query_id", "doc_id", "rank") if name in wanted.columns]
    assert_frame_equal(found.sort(key), wanted.sort(key), rel_tol=1e-12, abs_tol=1e-12)


def fails(rows: pl.DataFrame) -> pl.DataFrame:
    raise AssertionError("the plan ran")


# The node -------------------------------------------------------------------------------------------------------------

VERBS: dict[str, Callable[[Any], Any]] = {
    "evaluate": lambda ranker: ranker.evaluate("ndcg@10", "map", "err"),
    "curve": lambda ranker: ranker.curve("ndcg", "err"),
    "explain": lambda ranker: ranker.explain("ndcg", "map"),
    "agreement": lambda ranker: ranker.agreement("other", *TWO_RANKERS),
    "with_ranks": lambda ranker: ranker.with_ranks(),
}


@each("verb", VERBS)
def test_a_plan_shows_one_node_with_the_name_of_the_verb_and_knows_its_schema_before_it_runs(verb: str) -> None:
    unrun = PAIRS.lazy().map_batches(fails, schema=PAIRS.schema)
    lazy, eager = VERBS[verb](unrun.rank), VERBS[verb](PAIRS.rank)
    assert lazy.collect_schema() == eager.schema
    name = "" if WRAPS_ERRORS else f"[rankframe.{verb}]"  # Polars shows the name from 2.0 on
    assert lazy.explain().splitlines()[0].startswith(f"PYTHON{name} SCAN")
    with raised_by_plan(AssertionError, match="the plan ran"):
        lazy.collect()


@each("engine", ["in-memory", "streaming"])
@each("verb", VERBS)
def test_both_engines_give_the_eager_values(verb: str, engine: Any) -> None:
    assert_same(VERBS[verb](PAIRS.lazy().rank).collect(engine=engine), VERBS[verb](PAIRS.rank))


@each("verb", VERBS)
def test_a_column_that_nobody_selects_is_not_computed(verb: str) -> None:
    lazy, eager = VERBS[verb](PAIRS.lazy().rank), VERBS[verb](PAIRS.rank)
    for name in eager.columns:
        assert_frame_equal(lazy.select(name).collect().sort(name), eager.select(name).sort(name), rel_tol=1e-12)
    asked: list[str] = []
    measured = verbs.measure

    def seen(rows: pl.DataFrame, setup: Any, *calls: Any, **options: Any) -> pl.DataFrame:
        asked.extend(call.text for call in calls if rows.height)
        return measured(rows, setup, *calls, **options)

    with patch.object(verbs, "measure", seen):
        DF.lazy().rank.evaluate("ndcg", "map", "rr").select("query_id", "map").collect()
        assert asked == ["map"]
        DF.lazy().rank.evaluate("ndcg", "map", "rr").filter(pl.col("rr") > 0).select("map").collect()
        assert asked == ["map", "map", "rr"]


def test_the_queries_alone_can_be_selected_under_a_convention() -> None:
    found = DF.lazy().rank.on(convention="ranx").evaluate("map", "ndcg").select("query_id").collect()
    assert sorted(found["query_id"]) == sorted(DF["query_id"].unique())


def test_columns_that_no_metric_reads_are_not_read() -> None:
    costly = DF.lazy().with_columns(costly=pl.col("score").map_batches(fails, return_dtype=pl.Float64))  # type: ignore[arg-type]
    assert_same(costly.rank.evaluate("map").collect(), DF.rank.evaluate("map"))
    ranked, known = costly.rank.with_ranks(), DF.rank.with_ranks()
    assert ranked.select("rank", "doc_id").collect().equals(known.select("rank", "doc_id"))
    assert ranked.filter(pl.col("rank") == 1).drop("costly").collect().equals(known.filter(rank=1))
    with raised_by_plan(AssertionError, match="the plan ran"):
        ranked.filter(pl.col("costly") > 0).select("rank").collect()


@each("limit", [None, 3000])
def test_rows_with_their_ranks_keep_their_order_unless_they_exceed_the_memory_limit(limit: int | None) -> None:
    df = DF.sample(fraction=1, shuffle=True, seed=1).with_columns(rank=pl.int_range(pl.len()))
    found, wanted = df.lazy().rank.on(memory_limit=limit).with_ranks().collect(), df.rank.with_ranks()
    assert found.columns == wanted.columns == [*df.columns, "new_rank"]
    assert found.equals(wanted) == (limit is None)
    assert found.sort("rank").equals(wanted)
    by_query = DF.sort("query_id", maintain_order=True)
    grouped = by_query.lazy().rank.on(memory_limit=limit, grouped=True).with_ranks()
    assert grouped.collect().equals(by_query.rank.with_ranks())


@each("condition", [pl.col("query_id") == "q3", pl.col("query_id").is_in(["q3", "q9"])])
def test_a_filter_on_the_query_reaches_the_rows(condition: pl.Expr, tmp_path: Path) -> None:
    DF.write_parquet(tmp_path / "table.parquet")
    heights: list[int] = []
    run = node._collected

    def seen(rows: pl.LazyFrame, limit: int) -> pl.DataFrame | None:
        found = run(rows, limit)
        heights.append(0 if found is None else found.height)
        return found

    with patch.object(node, "_collected", seen):
        ranker = pl.scan_parquet(tmp_path / "table.parquet").rank
        assert_same(
            ranker.evaluate("ndcg", "map").filter(condition).collect(),
            DF.rank.evaluate("ndcg", "map").filter(condition),
        )
        assert ranker.with_ranks().filter(condition).collect().equals(DF.rank.with_ranks().filter(condition))
        assert heights == [DF.filter(condition).height] * 2


def test_a_filter_changes_no_value_that_depends_on_the_whole_table() -> None:
    df = frame({"p": [("a", 1.0, 1)], "q": [("a", 1.0, 3)]})
    (value,) = df.lazy().rank.evaluate("err").filter(pl.col("query_id") == "p").collect()["err"]
    assert value == (2**1 - 1) / 2**3


@each("column", ["map", "query_id"])
def test_a_filter_on_a_value_or_on_both_is_applied(column: str) -> None:
    condition = (pl.col("map") > 0.5) & (pl.col(column).is_not_null())
    found = DF.lazy().rank.evaluate("ndcg", "map").filter(condition).select("ndcg").collect()
    wanted = DF.rank.evaluate("ndcg", "map").filter(condition).select("ndcg")
    assert found.sort("ndcg").equals(wanted.sort("ndcg"))


@each("limit", [None, 1])
@each("n", [0, 1, 7, 1000])
def test_the_first_rows_are_as_many_as_asked_for(n: int, limit: int | None) -> None:
    ranker = DF.lazy().rank.on(memory_limit=limit)
    found = ranker.evaluate("map").head(n).collect()
    assert found.height == min(n, 40)
    assert_same(found, DF.rank.evaluate("map").filter(pl.col("query_id").is_in(found["query_id"].implode())))


def test_errors_of_the_data_are_our_own_and_show_the_rows() -> None:
    bad = pl.concat([DF, DF[:1]])
    with raised_by_plan(rf.InvalidData, match="holds the same 'doc_id' twice"):
        bad.lazy().rank.evaluate("map").collect()
    with raised_by_plan(pl.exceptions.InvalidOperationError, match="conversion"):
        bad.lazy().with_columns(pl.col("doc_id").cast(pl.Int64)).rank.evaluate("map").collect()


@pytest.mark.filterwarnings("ignore:every row has a score:rankframe.RankframeWarning")
def test_nodes_run_beside_each_other_in_one_query_and_in_each_other() -> None:
    map_, ndcg = (DF.lazy().rank.evaluate(text) for text in ("map", "ndcg"))
    wanted = DF.rank.evaluate("map", "ndcg")
    for engine in ("in-memory", "streaming"):
        assert_same(map_.join(ndcg, on="query_id").collect(engine=engine), wanted)  # type: ignore[call-overload]
        nested = map_.select("query_id", doc_id=pl.lit("a"), score="map", label=pl.lit(1)).rank.evaluate("rr")
        assert nested.collect(engine=engine)["rr"].to_list() == [1.0] * 40  # type: ignore[call-overload]
        for found in pl.collect_all([map_, ndcg] * 8, engine=engine):  # type: ignore[call-overload]
            assert found.height == 40
    whole = DF.lazy().map_batches(lambda df: df.lazy().rank.evaluate("map", "ndcg").collect(), schema=wanted.schema)
    assert_same(whole.collect(), wanted)


def test_threads_and_coroutines_may_collect() -> None:
    lazy, wanted = DF.lazy().rank.evaluate("map", "ndcg"), DF.rank.evaluate("map", "ndcg")
    with ThreadPoolExecutor(8) as pool:
        for found in pool.map(lambda _: lazy.collect(), range(24)):
            assert_same(found, wanted)

    async def both() -> list[pl.DataFrame]:
        return await asyncio.gather(lazy.collect_async(), lazy.collect_async())

    for found in asyncio.run(both()):
        assert_same(found, wanted)


ONE_THREAD = """
import polars as pl, rankframe
from rankframe._plan import node
assert pl.thread_pool_size() == 1
node.LEAST_ROOM = 0
df = pl.DataFrame({"query_id": [i // 3 for i in range(6_000)], "doc_id": range(6_000), "label": [0, 1, 2] * 2_000,
                   "score": [float(i % 7) for i in range(6_000)]})
for limit in (None, 100_000):
    for grouped in (False, True):
        lazy = [df.lazy().rank.on(memory_limit=limit, grouped=grouped).evaluate(text) for text in ("map", "ndcg", "rr")]
        for engine in ("in-memory", "streaming"):
            joined = lazy[0].join(lazy[1], on="query_id").join(lazy[2], on="query_id")
            assert joined.collect(engine=engine).height == 2_000
            assert [x.height for x in pl.collect_all(lazy, engine=engine)] == [2_000] * 3
"""


def test_nothing_waits_for_ever_where_polars_has_one_thread() -> None:
    subprocess.run(
        [sys.executable, "-c", ONE_THREAD], check=True, timeout=240, env={**os.environ, "POLARS_MAX_THREADS": "1"}
    )


# Larger than memory ---------------------------------------------------------------------------------------------------


@each("turn", range(9), sample=5)
@each("policies", POLICIES, ids=str)
def test_values_are_those_of_a_table_in_memory_where_all_rows_are_spilled_and_split(
    policies: Options, turn: int
) -> None:
    # a share of the metrics at a time, as queries are put aside before a metric is asked
    df, limit, texts = TWELVE, 2400, TEXTS[turn::9]
    levels: list[int] = []
    split = rows_on_disk._split

    def seen(rows: pl.LazyFrame, query: Any, limit: int, folder: Path, level: int) -> Any:
        levels.append(level)
        return split(rows, query, limit, folder, level)

    with patch.object(rows_on_disk, "_split", seen), patch.object(rows_on_disk, "BUCKETS", 3):
        found = df.lazy().rank.on(**policies, memory_limit=limit).evaluate(*texts).collect()
    assert max(levels) > 0
    assert_same(found, df.rank.on(**policies).evaluate(*texts))


@each("seed", range(8), sample=3)
def test_no_row_is_lost_or_read_twice_where_some_queries_are_far_larger_than_others(seed: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(seed)
    sizes = rng.permutation(np.concatenate([rng.integers(1, 20, 200), rng.integers(500, 4000, 3)]))
    rows = pl.DataFrame({"query_id": np.repeat(np.arange(len(sizes)), sizes)}).with_row_index("row")
    rooms = cycle(rng.integers(2_000, 40_000, 5).tolist())  # as after batches with large and with small results
    folder = tmp_path / "buckets"
    folder.mkdir()
    buckets = [x() for x in rows_on_disk.buckets_of(rows.lazy(), ["query_id"], lambda: next(rooms), folder)]
    assert sorted(row for bucket in buckets for row in bucket["row"]) == list(range(rows.height))
    assert sum(bucket["query_id"].n_unique() for bucket in buckets) == len(sizes)
    assert not list(folder.iterdir())


@each("limit", [1, 5000], sample=5)
@each("verb", VERBS)
def test_every_verb_spills(verb: str, limit: int) -> None:
    assert_same(VERBS[verb](PAIRS.lazy().rank.on(memory_limit=limit)).collect(), VERBS[verb](PAIRS.rank))


def test_verbs_made_of_the_values_of_queries_spill_too() -> None:
    ranker, wanted = TWELVE.lazy().rank.on(memory_limit=1), TWELVE.rank
    assert ranker.with_metrics("ndcg", "err").collect().equals(wanted.with_metrics("ndcg", "err"))
    assert_same(ranker.summarize("ndcg", "map", ci=None).collect(), wanted.summarize("ndcg", "map", ci=None))
    assert_same(
        ranker.evaluate("map", pl.len().alias("rows")).collect(), wanted.evaluate("map", pl.len().alias("rows"))
    )


IDS: dict[str, Callable[[int], Any]] = {
    "text": lambda i: f"q{i}",
    "null": lambda i: None if i % 3 == 0 else i,
    "float": lambda i: [0.0, -0.0, float("nan"), 1.5][i % 4] if i % 2 else float(i),
    "list": lambda i: [i, 1],
}


@each("kind", [*IDS, "categories", "several"])
def test_queries_are_kept_together_whatever_their_ids_are(kind: str) -> None:
    rows = [(i // 5, f"d{i}", float(i % 4), i % 3) for i in range(60)]
    df = pl.DataFrame(rows, schema=["query_id", "doc_id", "score", "label"], orient="row")
    query: str | list[str] = "query_id"
    if kind == "categories":
        df = df.with_columns(pl.col("query_id").cast(pl.String).cast(pl.Categorical))
    elif kind == "several":
        df, query = (
            df.with_columns(other=pl.col("query_id") % 3, query_id=pl.col("query_id") // 3),
            ["query_id", "other"],
        )
    else:
        df = df.with_columns(pl.Series("query_id", [IDS[kind](row[0]) for row in rows]))
    found = df.lazy().rank.on(query=query, memory_limit=1).evaluate("map", "ndcg").collect()
    key = [pl.col("query_id").cast(pl.String) if kind == "categories" else pl.col("query_id"), *found.columns[1:]]
    wanted = df.rank.on(query=query).evaluate("map", "ndcg")
    assert_frame_equal(found.sort(key), wanted.sort(key), rel_tol=1e-12)


@each("policies", [{"ties": "order"}, {"doc": None}])
def test_tied_rows_keep_their_order_through_the_disk(policies: Options) -> None:
    rows = [(i % 7, 1.0, i % 5) for i in range(2000)]
    df = pl.DataFrame(rows, schema=["query_id", "score", "label"], orient="row").with_row_index("doc_id")
    df = df.drop("doc_id") if "doc" in policies else df
    found = df.lazy().rank.on(memory_limit=2000, **policies).evaluate("rr", "ndcg", "map").collect()
    assert_same(found, df.rank.on(**policies).evaluate("rr", "ndcg", "map"))


def test_a_query_is_never_cut_and_small_ones_share_a_batch() -> None:
    table = {"large": [(str(i), float(i), i % 2) for i in range(500)]}
    table |= {f"q{i}": [(doc, float(j), j % 2) for j, doc in enumerate(DOCS[:4])] for i in range(50)}
    df, seen = frame(table), []
    with (
        patch.object(node, "_run", wraps=node._run),
        patch.object(verbs, "measure", wraps=verbs.measure) as run,
    ):
        df.lazy().rank.on(memory_limit=16_000).evaluate("map").collect()
        seen = [call.args[0] for call in run.call_args_list if call.args[0].height]
    assert sum(rows.height for rows in seen) == df.height
    assert sum(rows["query_id"].n_unique() for rows in seen) == 51
    assert 2 < len(seen) < 51
    assert all(rows["query_id"].n_unique() == 1 for rows in seen if "large" in rows["query_id"])


@each(("enough", "batches"), [(0, 32), (10**9, 4)])
def test_files_are_read_together_only_up_to_a_size_that_is_enough(enough: int, batches: int) -> None:
    rows = 200_000
    df = pl.DataFrame({"query_id": [i // 20 for i in range(rows)], "score": range(rows), "label": [0, 1] * 100_000})
    with (
        patch.object(rows_on_disk, "BYTES_AT_ONCE", enough),
        patch.object(node, "threads", lambda: 1),
        patch.object(verbs, "measure", wraps=verbs.measure) as run,
    ):
        df.lazy().rank.on(memory_limit=8_000_000).evaluate("map").collect()
    heights = [call.args[0].height for call in run.call_args_list if call.args[0].height]
    assert sum(heights) == rows
    assert len(heights) == (batches if enough == 0 else pytest.approx(batches, abs=1))


def test_files_go_away_when_a_bucket_fails_or_nobody_reads_on(temporary: Path) -> None:
    bad = DF.with_columns(pl.when(pl.col("query_id") == "q7").then(float("nan")).otherwise("score").alias("score"))
    with raised_by_plan(rf.InvalidData, match="NaN"):
        bad.lazy().rank.on(memory_limit=1).evaluate("map").collect()
    assert not list(temporary.iterdir())
    assert DF.lazy().rank.on(memory_limit=1).evaluate("map").head(1).collect().height == 1
    assert not list(temporary.iterdir())


SLOW = """
import sys, threading, time, polars as pl, rankframe as rf
from rankframe._verbs.measure import evaluate as verbs
from rankframe._plan import node
df = pl.DataFrame({"query_id": [i // 3 for i in range(3000)], "doc_id": range(3000), "score": [1.0] * 3000, "label": [1] * 3000})
lazy = df.lazy().rank.on(memory_limit=3000).evaluate("map")
eager, first = verbs.measure, threading.Lock()
def slow(rows, columns, *calls, **options):
    if rows.height and first.acquire(blocking=False):
        print("running", flush=True)
    time.sleep(0.05 if rows.height else 0)
    return eager(rows, columns, *calls, **options)
verbs.measure = slow
node.LEAST_ROOM = 0
lazy.collect()
"""


def started(folder: Path) -> subprocess.Popen[str]:
    """A process that spills to the folder, and is at work on a bucket."""
    process = subprocess.Popen(
        [sys.executable, "-c", SLOW], env={**os.environ, "TMPDIR": str(folder)}, stdout=subprocess.PIPE, text=True,
        stderr=subprocess.DEVNULL,
    )  # fmt: skip
    assert process.stdout is not None
    with process.stdout as output:
        assert output.readline() == "running\n"
    return process


def folders(temporary: Path) -> list[Path]:
    """Those of rankframe: some versions of Polars make one of their own."""
    return [*temporary.glob(f"{PREFIX}*")]


def ended(process: subprocess.Popen[str], how: signal.Signals) -> int:
    process.send_signal(how)
    return process.wait(timeout=60)


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_the_files_of_a_killed_process_go_with_the_next_one_which_leaves_nothing_where_it_is_interrupted(
    temporary: Path,
) -> None:
    ended(started(temporary), signal.SIGKILL)
    (abandoned,) = folders(temporary)
    living = started(temporary)
    try:
        assert not abandoned.exists()
        (used,) = folders(temporary)
        assert_same(TWELVE.lazy().rank.on(memory_limit=1).evaluate("map").collect(), TWELVE.rank.evaluate("map"))
        assert folders(temporary) == [used]  # of a process that lives
    finally:
        status = ended(living, signal.SIGINT)
    assert status != 0
    assert folders(temporary) == []


FULL = """
import resource, signal, polars as pl, rankframe as rf
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
from rankframe._plan import node
from rankframe._support.polars_versions import collected
node.LEAST_ROOM = 0
df = pl.DataFrame({"query_id": [i // 3 for i in range(9_000)], "doc_id": range(9_000), "score": [1.0] * 9_000,
                   "label": [1] * 9_000})
lazy = df.lazy().rank.on(memory_limit=100_000).evaluate("map")
resource.setrlimit(resource.RLIMIT_FSIZE, (2_000, 2_000))
try:
    collected(lazy)
except rf.RankframeError as error:
    print(type(error).__name__, isinstance(error, OSError), error)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="limits of POSIX")
def test_a_full_disk_is_an_error_that_says_what_to_do(temporary: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", FULL],
        env={**os.environ, "TMPDIR": str(temporary)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.startswith(
        f"OutOfSpace True the rows exceed the memory limit, and the temporary folder '{temporary}'"
    )
    assert "TMPDIR" in done.stdout
    assert "memory_limit=" in done.stdout


def test_other_errors_while_rows_are_spilled_stay_what_they_are() -> None:
    lazy = DF.lazy().with_columns(pl.col("doc_id").cast(pl.Int64))
    with pytest.raises(pl.exceptions.PolarsError, match="conversion"):
        lazy.rank.on(memory_limit=1).evaluate("map").collect()


# Query by query -------------------------------------------------------------------------------------------------------


@each("turn", range(12), sample=3)
@each("limit", [1, 3000, None])
def test_a_table_that_comes_query_by_query_needs_no_disk(limit: int | None, turn: int) -> None:
    by_query = DF.sort("query_id", maintain_order=True)
    with patch.object(node, "temporary_folder", side_effect=AssertionError):
        ranker = by_query.lazy().rank.on(grouped=True, memory_limit=limit)
        texts = [spell(*call) for call in ALL[turn::12]]
        assert_same(ranker.evaluate(*texts).collect(), DF.rank.evaluate(*texts))
        assert_same(ranker.curve("ndcg", "map").collect(), DF.rank.curve("ndcg", "map"))


@each("limit", [1, None])
@each("query", ["query_id", ["query_id", "day"]])
def test_a_query_that_comes_back_is_refused_by_name(query: str | list[str], limit: int | None) -> None:
    rows = DF.sort("query_id").with_columns(day=1)
    back = pl.concat([rows, rows.filter(pl.col("query_id") == "q11").with_columns(doc_id=pl.lit("new") + "doc_id")])
    names = "query_id 'q11'" if query == "query_id" else "query_id 'q11', day 1"
    with raised_by_plan(rf.InvalidData, match=f"the rows of {names} come back"):
        back.lazy().rank.on(grouped=True, memory_limit=limit, query=query).evaluate("map").collect()


BATCHES = pl.DataFrame(
    {"query_id": [i // 100 for i in range(100_000)], "score": range(100_000), "label": [0, 1] * 50_000}
)
"""1,000 queries, which a limit of 500,000 bytes reads in tens of batches."""


@each("dtype", [pl.Int64, pl.String, pl.Categorical], sample=3)
@each("again", [0, 500, 998])
def test_a_query_that_comes_back_many_batches_later_is_refused(again: int, dtype: Any, tmp_path: Path) -> None:
    rows = pl.concat([BATCHES, BATCHES.filter(query_id=again)])
    rows = rows.with_columns(pl.col("query_id").cast(pl.String).cast(dtype))
    rows.write_parquet(tmp_path / "table.parquet", row_group_size=1000)
    scan = pl.scan_parquet(tmp_path / "table.parquet").rank.on(grouped=True, memory_limit=500_000)
    name = again if dtype == pl.Int64 else str(again)
    with raised_by_plan(rf.InvalidData, match=f"the rows of query_id {name!r} come back"):
        scan.evaluate("map").collect()


def test_a_batch_is_not_compared_with_each_query_before_it(tmp_path: Path) -> None:
    BATCHES.write_parquet(tmp_path / "table.parquet", row_group_size=1000)
    scan = pl.scan_parquet(tmp_path / "table.parquet").rank.on(grouped=True, memory_limit=500_000)
    with patch.object(pl.DataFrame, "join", side_effect=AssertionError):
        found = scan.evaluate("num_ret").collect()
    assert found["num_retrieved"].to_list() == [100] * 1000


def test_batches_end_where_queries_end(tmp_path: Path) -> None:
    rows = pl.DataFrame(
        {"query_id": [i // 1000 for i in range(300_000)], "score": range(300_000), "label": [0, 1] * 150_000}
    )
    rows.write_parquet(tmp_path / "table.parquet", row_group_size=7777)
    with patch.object(verbs, "measure", wraps=verbs.measure) as run:
        scan = pl.scan_parquet(tmp_path / "table.parquet")
        found = scan.rank.on(grouped=True, memory_limit=4_000_000).evaluate("num_ret").collect()
        heights = [call.args[0].height for call in run.call_args_list if call.args[0].height]
    assert found["num_retrieved"].to_list() == [1000] * 300
    assert len(heights) > 2
    assert all(height % 1000 == 0 for height in heights)


@each("grouped", [True, False])
@each(("n_documents", "at_once"), [(2, 1), (200, 1), (200, 3)])
def test_rows_and_results_of_batches_have_room_in_the_limit_however_short_queries_are(
    n_documents: int, at_once: int, grouped: bool, tmp_path: Path
) -> None:
    rows, memory = 60_000, 2_000_000
    table = pl.DataFrame(
        {"query_id": [i // n_documents for i in range(rows)], "doc_id": range(rows), "score": range(rows)}
    )
    table.with_columns(label=pl.col("doc_id") % 3).write_parquet(tmp_path / "table.parquet", row_group_size=1000)
    scan, sizes = pl.scan_parquet(tmp_path / "table.parquet"), []

    def run(rows: pl.DataFrame, columns: Any, *calls: Any, **options: Any) -> pl.DataFrame:
        found = evaluate(rows, columns, *calls, **options)
        sizes.append((rows.estimated_size(), found.estimated_size()))
        return found

    evaluate, names = verbs.measure, [f"ndcg@{k}" for k in range(1, 11)]
    with patch.object(verbs, "measure", run), patch.object(node, "threads", lambda: at_once):
        found = scan.rank.on(grouped=grouped, memory_limit=memory).evaluate(*names).collect()
    assert found.height == rows / n_documents
    # ranking, and results on their way
    taken = [at_once * (3 * batch + 3 * result) for batch, result in sizes if batch]
    assert max(taken) < 1.25 * memory
    assert len(taken) < 1.5 * sum(taken) / memory + 4 * at_once  # and they are no smaller than they have to be


# How much memory ------------------------------------------------------------------------------------------------------


@each(
    ("given", "size"),
    [(1, 1), (2_000_000_000, 2 * 10**9), ("2GB", 2 * 10**9), ("500 mb", 5 * 10**8), ("1.5K", 1500), ("1KiB", 1024),
     ("2Gi", 2 * 2**30), ("7", 7), ("1TB", 10**12)],
)  # fmt: skip
def test_a_memory_limit_is_bytes_or_text(given: Any, size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    assert DF.rank.on(memory_limit=given)._setup.running.memory_limit == size
    monkeypatch.setenv("RANKFRAME_MEMORY_LIMIT", str(given))
    assert node.memory_limit(None) == size
    assert node.memory_limit(3) == 3


@each("given", [0, -1, True, 1.5, "", "much", "2 XB", "-1GB", "0.1", float("nan"), [1]])
def test_a_memory_limit_that_is_none_is_refused(given: Any) -> None:
    with pytest.raises(rf.InvalidOption, match=r"memory_limit=.*'2GB'"):
        DF.rank.on(memory_limit=given)


def test_the_environments_memory_limit_is_refused_by_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RANKFRAME_MEMORY_LIMIT", "much")
    with raised_by_plan(rf.InvalidOption, match="RANKFRAME_MEMORY_LIMIT='much'"):
        DF.lazy().rank.evaluate("map").collect()


def test_grouped_is_true_or_false() -> None:
    with pytest.raises(rf.InvalidOption, match="grouped='yes'"):
        DF.rank.on(grouped="yes")


def test_the_limit_is_a_share_of_the_machines_memory_or_the_containers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("RANKFRAME_MEMORY_LIMIT", raising=False)
    container = tmp_path / "memory.max"
    monkeypatch.setattr(node, "OF_CONTAINERS", [str(container)])
    of_machine = node.memory_limit(None)
    assert of_machine > 10**8
    container.write_text("max\n")
    assert node.memory_limit(None) == of_machine
    container.write_text("600000000\n")
    assert node.memory_limit(None) == 10**8
    container.unlink()
    monkeypatch.delattr(os, "sysconf")
    assert node.memory_limit(None) == node.BYTES_IF_UNKNOWN // 6


def test_texts_count_with_what_they_take() -> None:
    assert node.size_of(pl.DataFrame({"a": ["x"] * 10, "b": range(10)})) >= 10 * (16 + 8)


def test_a_plan_that_runs_tells_how_many_rows_are_done(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[object] = []

    class Shown:
        def __init__(self, what: str) -> None:
            told.append(what)

        def __enter__(self) -> Shown:
            return self

        def __exit__(self, *_: object) -> None:
            told.append("end")

        def __call__(self, done: int) -> None:
            told.append(done)

    monkeypatch.setattr(node, "Progress", Shown)
    df = pl.DataFrame({"query_id": [1, 1, 2], "doc_id": ["a", "b", "a"], "score": [2.0, 1, 1], "label": [0, 1, 1]})
    df.lazy().rank.evaluate("rr").collect()
    assert told == ["rankframe.evaluate", 3, "end"]
