"""A node is read like any LazyFrame: by every operation of Polars, to its end or not, and until the process ends."""

from __future__ import annotations

import asyncio
import os
import random
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from itertools import cycle, islice
from pathlib import Path
from typing import Any
from unittest.mock import patch

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from rankframe._plan import node, rows_on_disk
from tests.support.each import each
from tests.support.tables import BY_CHANCE, frame, random_table

pytestmark = BY_CHANCE

DF = frame(random_table(9, queries=12)).sort("query_id", maintain_order=True)

KINDS: dict[str, dict[str, Any]] = {
    "in memory": {},
    "spilled": {"memory_limit": 1},
    "grouped": {"grouped": True, "memory_limit": 1000},
}
VERBS: dict[str, Callable[[Any], Any]] = {
    "evaluate": lambda ranker: ranker.evaluate("map", "rr"),
    "curve": lambda ranker: ranker.curve("map"),
}
ENGINES = ("in-memory", "streaming")

Plan = pl.LazyFrame
FEW = pl.LazyFrame({"z": [1, 2]})


def in_order(lf: Plan) -> Plan:
    """The rows in an order that two plans have in common: a node promises none."""
    return lf.sort(pl.exclude("map", "rr"))


KEEPING: dict[str, Callable[[Plan], Plan]] = {
    "filter of queries": lambda lf: lf.filter(pl.col("query_id") > "q3"),
    "filter of values": lambda lf: lf.filter(pl.col("map") > 0.3),
    "filter of both": lambda lf: lf.filter((pl.col("map") > 0.3) | (pl.col("query_id") == "q1")),
    "filter of all": lambda lf: lf.filter(pl.lit(False)),
    "sort and head": lambda lf: in_order(lf).head(5),
    "sort and tail": lambda lf: in_order(lf).tail(5),
    "sort and slice": lambda lf: in_order(lf).slice(2, 4),
    "sort and gather": lambda lf: in_order(lf).gather_every(2, 1),
    "sort and reverse": lambda lf: in_order(lf).reverse(),
    "unique": lambda lf: lf.unique(),
    "concat": lambda lf: pl.concat([lf, lf]),
    "cache": lambda lf: lf.cache(),
    "semi join": lambda lf: lf.join(lf.filter(pl.col("map") > 0.2), on="query_id", how="semi"),
    "anti join": lambda lf: lf.join(lf.filter(pl.col("map") > 0.6), on="query_id", how="anti"),
    "left join": lambda lf: lf.join(lf.select("query_id").unique(), on="query_id", how="left"),
    "with_columns": lambda lf: lf.with_columns(map=pl.col("map") / 2),
    "map_batches": lambda lf: lf.map_batches(lambda df: df),
    "collect and go on": lambda lf: lf.collect().lazy(),
    "top_k": lambda lf: lf.top_k(4, by=[pl.exclude("map", "rr")]),
}
"""Operations that keep the columns."""

ENDING: dict[str, Callable[[Plan], Plan]] = {
    "nothing": lambda lf: lf,
    "no columns": lambda lf: lf.select([]),
    "one column": lambda lf: lf.select("map"),
    "columns reversed": lambda lf: lf.select(reversed(lf.collect_schema().names())),
    "drop": lambda lf: lf.drop("query_id"),
    "rename": lambda lf: lf.rename({"query_id": "map", "map": "query_id"}),
    "index alone": lambda lf: lf.with_row_index().select("index"),
    "index": lambda lf: in_order(lf).with_row_index(),
    "cross join": lambda lf: lf.join(FEW, how="cross"),
    "cross join, other side": lambda lf: lf.join(FEW, how="cross").select("z"),
    "cross join, itself": lambda lf: lf.join(lf, how="cross").select(pl.len()),
    "inner join": lambda lf: lf.join(lf, on="query_id"),
    "full join": lambda lf: lf.join(lf.filter(pl.col("map") > 0.4), on="query_id", how="full"),
    "join asof": lambda lf: (
        in_order(lf)
        .sort("map", maintain_order=True)
        .join_asof(FEW.sort("z"), left_on="map", right_on=pl.col("z").cast(pl.Float64))
    ),
    "len": lambda lf: lf.select(pl.len()),
    "len as number": lambda lf: lf.select(pl.int_range(pl.len())),
    "repeat": lambda lf: lf.select(pl.repeat(1, pl.len())),
    "literal": lambda lf: lf.with_columns(one=pl.lit(1)).select("one"),
    "head": lambda lf: lf.head(3).select(pl.len()),
    "head, index": lambda lf: lf.head(3).with_row_index().select("index"),
    "tail": lambda lf: lf.tail(3).select(pl.len()),
    "slice": lambda lf: lf.slice(2, 3).select(pl.len()),
    "count": lambda lf: lf.count(),
    "null_count": lambda lf: lf.null_count(),
    "mean": lambda lf: lf.select(pl.col("map").mean(), pl.len()),
    "group_by": lambda lf: lf.group_by("query_id").len(),
    "group_by with values": lambda lf: lf.group_by(pl.col("query_id").str.slice(1, 1)).agg(pl.col("map").max()),
    "over": lambda lf: lf.select("query_id", pl.len().over("query_id"), pl.col("map").rank().over("query_id")),
    "value_counts": lambda lf: lf.select(pl.col("query_id").value_counts()).unnest("query_id"),
    "unpivot": lambda lf: lf.unpivot(on="map", index="query_id"),
    "explode": lambda lf: lf.select("query_id", x=pl.concat_list("map", "map")).explode("x"),
    "struct": lambda lf: lf.select(x=pl.struct("query_id", "map")).unnest("x"),
    "concat, diagonal": lambda lf: pl.concat([lf, FEW], how="diagonal"),
    "concat, horizontal": lambda lf: pl.concat([in_order(lf), in_order(lf).select(other="map")], how="horizontal"),
    "merge_sorted": lambda lf: in_order(lf).merge_sorted(in_order(lf), key="query_id"),
    "shift": lambda lf: in_order(lf).with_columns(pl.col("map").shift(1)),
    "first and last": lambda lf: in_order(lf).select(first=pl.col("map").first(), last=pl.col("map").last()),
}
"""Operations at the end of a tail."""


def collected(lf: Plan, engine: Any, _: Path) -> pl.DataFrame:
    return lf.collect(engine=engine)


def collected_with_another(lf: Plan, engine: Any, _: Path) -> pl.DataFrame:
    one, other = pl.collect_all([lf, lf], engine=engine)
    assert one.shape == other.shape
    return one


def awaited(lf: Plan, engine: Any, _: Path) -> pl.DataFrame:
    async def collect() -> pl.DataFrame:
        return await lf.collect_async(engine=engine)

    return asyncio.run(collect())


def read_in_batches(lf: Plan, engine: Any, _: Path) -> pl.DataFrame:
    return pl.concat([lf.collect_schema().to_frame(), *lf.collect_batches(chunk_size=3, engine=engine)])


def sunk_to_a_function(lf: Plan, engine: Any, _: Path) -> pl.DataFrame:
    batches = [lf.collect_schema().to_frame()]
    lf.sink_batches(batches.append, engine=engine)  # type: ignore[arg-type]
    return pl.concat(batches)


def sunk_to_a_file(lf: Plan, engine: Any, folder: Path) -> pl.DataFrame:
    lf.sink_ipc(folder / "sunk.ipc", engine=engine)
    return pl.read_ipc(folder / "sunk.ipc")


READING = [collected, collected_with_another, awaited, read_in_batches, sunk_to_a_function, sunk_to_a_file]


def in_any_order(df: pl.DataFrame) -> pl.DataFrame:
    return df.sort(pl.all()) if df.columns else df


PLANS = 3 * len(ENDING)
PLANS_OF_A_TEST = 40


@each("first", range(0, PLANS, PLANS_OF_A_TEST), sample=1)
def test_a_node_equals_the_eager_result_under_any_operations_and_however_it_is_read(first: int, tmp_path: Path) -> None:
    assert len(KEEPING) + len(ENDING) > 50
    rng, kinds, endings, differing = random.Random(first), cycle(KINDS), cycle(ENDING), []
    for kind, name in islice(zip(kinds, endings, strict=False), first, first + PLANS_OF_A_TEST):
        verb, keeping, engine = rng.choice([*VERBS]), rng.sample([*KEEPING], rng.randrange(3)), rng.choice(ENGINES)
        read = rng.choice(READING if name != "no columns" else READING[:3])  # batches and files need a column
        plans = [VERBS[verb](DF.lazy().rank.on(**KINDS[kind])), VERBS[verb](DF.rank).lazy()]
        for step in (*map(KEEPING.__getitem__, keeping), ENDING[name]):
            plans = [step(plan) for plan in plans]
        wanted = plans[1].collect()
        try:
            with patch.object(rows_on_disk, "BUCKETS", 3):
                found = read(plans[0], engine, tmp_path)
            assert found.shape == wanted.shape
            assert_frame_equal(in_any_order(found), in_any_order(wanted), rel_tol=1e-12)
        except Exception as error:
            differing.append(f"{kind}, {verb}: {', '.join(keeping)}, {name}; {engine}, {read.__name__}: {error}")
    assert differing == []


NO_COLUMN: dict[str, tuple[Callable[[Plan], Plan], int]] = {
    "the number of each row": (lambda lf: lf.with_row_index().select("index"), 12),
    "the columns of another table": (lambda lf: lf.join(FEW, how="cross").select("z"), 24),
    "as many numbers": (lambda lf: lf.select(pl.int_range(pl.len())), 12),
    "as many ones": (lambda lf: lf.select(pl.repeat(1, pl.len())), 12),
    "the first rows' numbers": (lambda lf: lf.head(5).with_row_index().select("index"), 5),
}


@each("engine", ENGINES)
@each("kind", KINDS)
def test_a_plan_that_needs_no_column_of_the_node_keeps_its_rows(kind: str, engine: Any) -> None:
    lf = DF.lazy().rank.on(**KINDS[kind]).evaluate("map")
    found = {name: plan(lf).collect(engine=engine).height for name, (plan, _) in NO_COLUMN.items()}
    assert found == {name: height for name, (_, height) in NO_COLUMN.items()}


def work(give: node.Give) -> None:
    while not give(DF):
        pass


def test_a_reader_that_stops_ends_the_work() -> None:
    with node._Aside(work) as results:
        assert next(iter(results)).equals(DF)
    assert not results.thread.is_alive()


def test_a_reader_that_python_drops_in_the_thread_of_the_work_ends_it_without_a_word(
    capsys: pytest.CaptureFixture[str],
) -> None:
    asides: list[node._Aside] = []

    def read() -> Iterator[pl.DataFrame]:
        with node._Aside(drop) as results:
            asides.append(results)
            yield from results

    def drop(give: node.Give) -> None:
        give(DF)
        started.wait()
        readers.clear()
        work(give)

    started, readers = threading.Event(), [read()]
    next(readers[0])
    started.set()
    asides[0].thread.join(10)
    assert not readers
    assert not asides[0].thread.is_alive()
    assert capsys.readouterr().err == ""


def test_work_that_is_read_when_the_interpreter_ends_stops_and_gives_no_part_of_a_result(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(node, "SECONDS_OF_LEAVING", 0.01)
    asides: list[node._Aside] = []

    def wait(give: node.Give) -> None:
        while not asides or not asides[0].closed.is_set():
            time.sleep(0.01)

    with node._Aside(wait) as results:
        asides.append(results)
        threading.Timer(2 * node.SECONDS_OF_WAIT, node._end).start()
        with pytest.raises(RuntimeError, match="the interpreter ends"):
            next(iter(results))
    node._end()
    assert not results.thread.is_alive()


LEFT_EARLY = """
import sys, threading, polars as pl, rankframe as rf
n = 4_000 if sys.argv[2] == "late" else 40_000
t = pl.DataFrame({"query_id": [i // 4 for i in range(n)], "doc_id": [i % 4 for i in range(n)],
                  "score": [i * 7919 % 1000 / 1000 for i in range(n)], "label": [i % 3 for i in range(n)]})
lazy = t.lazy().rank.on(**eval(sys.argv[1])).evaluate("map")

def late():
    threading.main_thread().join()
    assert lazy.collect().height == n / 4  # a plan that runs while the main thread is through is read to its end
    print("whole")

if sys.argv[2] == "late":
    threading.Thread(target=late).start()
    raise SystemExit(3)
batches = lazy.collect_batches(chunk_size=10)
if sys.argv[2] == "kept":
    next(iter(batches))
    raise SystemExit(3)
for batch in lazy.collect_batches(chunk_size=10):
    raise SystemExit(3)
"""


@each("how", ["dropped", "kept", "late"], sample=3)
@each("kind", [{}, {"memory_limit": 100_000}, {"grouped": True, "memory_limit": 100_000}], ids=str)
def test_a_process_that_leaves_a_result_early_ends_as_it_says_and_leaves_nothing(
    kind: dict[str, Any], how: str, temporary: Path
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", LEFT_EARLY, repr(kind), how], env={**os.environ, "TMPDIR": str(temporary)},
        capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (3, "")
    assert done.stdout == ("whole\n" if how == "late" else "")
    assert not list(temporary.iterdir())
