"""The bars that rankframe's speed and memory are held to, each measured and judged.

    python benchmarks/bars.py            # every bar of tables of 1,000,000 rows; ten minutes
    python benchmarks/bars.py --guard    # what needs no other tool, at 300,000 rows; a minute
    python benchmarks/bars.py --large    # from Parquet, 5,000,000 to 30,000,000 rows; half an hour

A bar is a ratio of medians of interleaved rounds of one run, many of them to one bare
`frame.sort("query_id", "score")` of the same table: first by the clock, which is judged, then of
processor times. `--guard` takes the least of the rounds, which other work on the machine disturbs
least, writes `guard.json`, and fails only where a figure is beyond twice its bar, or twice what is
known of a bar that is missed.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from bar import Bar
from shapes import Shape, Table
from suite import machine
from timing import Seconds, interleaved, timed
from tools import (
    BY_HAND,
    COMPETITORS,
    DUCKDB,
    LINEAR,
    TEN,
    check,
    dictionaries,
    matrices,
    rankframe,
)

import rankframe as rf

HERE = str(Path(__file__).parent)

NEEDED = {
    "pfound": "pfound(max_label=4)@10",
    "interpolated_precision": "interpolated_precision@0.5",
    "r_precision_multiple": "r_precision_multiple@0.5",
    "partial_auc": "partial_auc@10",
}
"""Metrics with an option that has no default."""

IDS = (("integer", False), ("text", True))

FROM_PARQUET = {
    "10,000,000 rows, integer ids": Shape(100_000, 100),
    "10,000,000 rows, text ids": Shape(100_000, 100, text=True),
    "1,000,000 queries of 10": Shape(1_000_000, 10),
    "one query of 5,000,000": Shape(1, 5_000_000),
}
"""The large tables of lazy calls."""

Take = Callable[[Seconds], Seconds]
"""Which of the rounds counts: its own, or one that stands for all."""


def least(seconds: Seconds) -> Seconds:
    """The least of the rounds."""
    return Seconds((seconds.least,), (min(seconds.processor, default=0.0),))


class Took(NamedTuple):
    """The seconds of a call by the clock and of the processor."""

    clock: float
    processor: float


class Bench:
    """The tables, and calls of them timed together."""

    def __init__(self, queries: int, rounds: int, take: Take = lambda seconds: seconds) -> None:
        self.queries, self.rounds, self.take = queries, rounds, take

    def table(self, per_query: int = 100, **kind: Any) -> Table:
        return Shape(self.queries * 100 // per_query, per_query, **kind).table()

    def times(
        self, calls: Mapping[str, Callable[[], Any]], rounds: int | None = None
    ) -> dict[str, Took]:
        """The times of calls, interleaved."""
        measured = interleaved(rounds or self.rounds, calls)
        counted = {name: self.take(seconds) for name, seconds in measured.items()}
        return {
            name: Took(seconds.median, float(np.median(seconds.processor)))
            for name, seconds in counted.items()
        }


def ratio(
    name: str, above: Took, below: Took, bar: float, unit: str = "bare sorts", **more: Any
) -> Bar:
    """A bar of two times."""
    processor = above.processor / below.processor
    return Bar(name, above.clock / below.clock, bar, unit, processor=processor, **more)


def by_sort(frame: pl.DataFrame) -> Callable[[], pl.DataFrame]:
    """The unit: one bare sort."""
    return lambda: frame.sort("query_id", "score")


def of(frame: pl.DataFrame, *metrics: str) -> Callable[[], pl.DataFrame]:
    """Metrics of a frame."""
    return lambda: frame.rank.evaluate(*metrics)


def of_ten_metrics(bench: Bench) -> Iterator[Bar]:
    """Ten metrics, and what else is measured by the same table's sort."""
    for ids, text in IDS:
        dense, sparse = bench.table(text=text), bench.table(text=text, relevant=0.001)
        grouped = bench.table(text=text, order="grouped").frame
        frame, few, pandas = dense.frame, sparse.frame, dense.pandas
        t = bench.times(
            {
                "sort": by_sort(frame),
                "ten": of(frame, *TEN),
                "one": of(frame, LINEAR),
                "pandas": lambda pandas=pandas: rf.rank(pandas).evaluate(*TEN),
                "expected": lambda frame=frame: frame.rank.on(ties="expected").evaluate(*TEN),
                "curve": lambda frame=frame: frame.rank.curve("ndcg"),
                "with_metrics": lambda frame=frame: frame.rank.with_metrics(*TEN),
                "explain": lambda frame=frame: frame.rank.explain(LINEAR),
                "kendall": lambda frame=frame: kendall(frame),
                "sort, 0.1%": by_sort(few),
                "ten, 0.1%": of(few, *TEN),
                "sort, together": by_sort(grouped),
                "ten, together": of(grouped, *TEN),
            }
        )
        sort, ten, one = t["sort"], t["ten"], t["one"]
        yield ratio(f"ten metrics, {ids} ids", ten, sort, 0.35 if text else 0.5, known=0.8)
        yield ratio(
            f"ten metrics, {ids} ids, queries together",
            t["ten, together"],
            t["sort, together"],
            0.6,
            known=0.9,
        )
        yield ratio(f"nDCG@10 alone, {ids} ids", one, ten, 0.6, "of ten metrics", known=0.9)
        yield ratio(f"ten metrics, {ids} ids, 0.1% relevant", t["ten, 0.1%"], t["sort, 0.1%"], 0.6)
        yield ratio(f"ten metrics, pandas, {ids} ids", t["pandas"], ten, 1.3, "times Polars")
        yield ratio(
            f"ten metrics, ties='expected', {ids} ids", t["expected"], ten, 2.0, "times doc_desc"
        )
        yield ratio(f"curve of nDCG, {ids} ids", t["curve"], sort, 1.5)
        yield ratio(f"with_metrics of ten, {ids} ids", t["with_metrics"], sort, 2.0)
        yield ratio(f"explain nDCG@10, {ids} ids", t["explain"], sort, 2.0)
        yield ratio(f"Kendall's tau of two scores, {ids} ids", t["kendall"], one, 4.0, "nDCG@10")


def kendall(frame: pl.DataFrame) -> pl.DataFrame:
    """The agreement of the ranking with that by labels and scores."""
    both = frame.with_columns(other=pl.col("label") + pl.col("score"))
    return both.rank.agreement("other", "kendall_tau")


def of_few_rows_per_query(bench: Bench) -> Iterator[Bar]:
    """Ten metrics where what is done once for each query counts."""
    for rows, aim in ((10, 0.7), (2, 1.5), (1, 2.5)):
        frame = bench.table(rows).frame
        t = bench.times({"sort": by_sort(frame), "ten": of(frame, *TEN)})
        yield ratio(f"ten metrics, {rows} rows per query", t["ten"], t["sort"], aim, known=4.5)


def kinds(frame: pl.DataFrame) -> dict[str, tuple[float, pl.DataFrame]]:
    """A table with other scores, labels and ids, each with the bar of its time over the plain
    table's."""
    wide = pl.col("query_id", "doc_id").cast(pl.UInt64) * pl.lit(0x9E3779B97F4A7C15, pl.UInt64)
    letters = [
        pl.format("{}-0000-4000-8000-00000000", pl.col(name).cast(pl.String).str.zfill(12)).alias(
            name
        )
        for name in ("query_id", "doc_id")
    ]
    market = frame.with_columns(market=pl.col("query_id") % 7)
    by_chance = (pl.col("score") * 1e7 % 8).floor()
    return {
        "five different scores": (1.3, frame.with_columns(score=by_chance % 5)),
        "fractional labels": (
            1.5,
            frame.with_columns(label=(pl.col("label") * (1 + by_chance / 80)).clip(upper_bound=4)),
        ),
        "ids of 36 letters": (1.5, frame.with_columns(letters)),
        "two query columns": (1.5, market),
        "wide whole ids": (1.2, frame.with_columns(wide)),
    }


def of_kinds(bench: Bench) -> Iterator[Bar]:
    """Ten metrics of tables whose columns are of other kinds."""
    frame = bench.table().frame
    every = kinds(frame)
    rankers = {name: rf.rank(other) for name, (_, other) in every.items()}
    rankers["two query columns"] = rankers["two query columns"].on(query=["query_id", "market"])
    calls: dict[str, Callable[[], Any]] = {"plain": of(frame, *TEN)}
    for name, ranker in rankers.items():
        calls[name] = partial(ranker.evaluate, *TEN)
    t = bench.times(calls)
    for name, (most, _) in every.items():
        yield ratio(f"ten metrics, {name}", t[name], t["plain"], most, "plain tables", known=3.0)


def catalogue() -> list[str]:
    """Every metric of scores and labels, at 10 where it takes a cutoff, and three of them at other
    cutoffs as well."""
    of_documents = {
        name: metric
        for name, metric in rf.METRICS.items()
        if metric.over == "documents" and not metric.needs
    }
    names = [
        NEEDED.get(name, f"{name}@10" if "k" in metric.parameters else name)
        for name, metric in of_documents.items()
    ]
    return [*names, *(f"{name}@{k}" for name in ("ndcg", "precision", "recall") for k in (5, 100))]


def of_catalogue(bench: Bench) -> Iterator[Bar]:
    """All metrics of documents in one call."""
    frame, asked = bench.table().frame, catalogue()
    t = bench.times({"sort": by_sort(frame), "all": of(frame, *asked)}, min(bench.rounds, 3))
    yield ratio(f"the catalogue at once, {len(asked)} columns", t["all"], t["sort"], 4.0, known=5.5)


def of_one_metric(bench: Bench) -> Iterator[Bar]:
    """nDCG@10 of the long table, and of a matrix that scikit-learn finds ready."""
    from sklearn.metrics import ndcg_score

    for ids, text in IDS:
        table = bench.table(text=text)
        _, labels, scores = matrices(table)
        t = bench.times(
            {
                "ours": of(table.frame, LINEAR),
                "theirs": partial(ndcg_score, labels, scores, k=10, ignore_ties=True),
            }
        )
        yield ratio(f"nDCG@10, {ids} ids", t["ours"], t["theirs"], 1.0, "of sklearn", known=3.5)


def of_lazy(bench: Bench) -> Iterator[Bar]:
    """LazyFrames that scan Parquet, against reading the file and an eager call."""
    for ids, text in IDS:
        yield from _of_parquet(bench, bench.table(text=text), f"{ids} ids")


def of_lazy_shapes(bench: Bench, shapes: Mapping[str, Shape] = FROM_PARQUET) -> Iterator[Bar]:
    """The same of larger tables."""
    for name, shape in shapes.items():
        yield from _of_parquet(bench, shape.table(), name)


def _of_parquet(bench: Bench, table: Table, name: str) -> Iterator[Bar]:
    path, scan = table.parquet, pl.scan_parquet(table.parquet)
    # rows may take a third of the limit, which is a sixth of the table at a time
    limit = int(table.frame.estimated_size()) // 2
    t = bench.times(
        {
            "eager": lambda: pl.read_parquet(path).rank.evaluate(*TEN),
            "lazy": lambda: scan.rank.evaluate(*TEN).collect(),
            "spilled": lambda: scan.rank.on(memory_limit=limit).evaluate(*TEN).collect(),
            "one": lambda: scan.rank.evaluate(LINEAR).collect(),
        }
    )
    eager, lazy, unit = t["eager"], t["lazy"], "of read and eager"
    yield ratio(f"ten metrics, lazy, {name}", lazy, eager, 1.1, unit)
    yield ratio(f"ten metrics, spilled, {name}", t["spilled"], eager, 2.0, unit, known=3.8)
    yield ratio(f"nDCG@10 alone, lazy, {name}", t["one"], lazy, 0.6, "of ten metrics", known=0.9)


def of_hand(bench: Bench) -> Iterator[Bar]:
    """nDCG@10, against Polars written by hand, which checks nothing: of the frame, and lazily from
    the same Parquet."""
    for ids, text in IDS:
        yield from _of_hand(bench, bench.table(text=text), f"{ids} ids")


def of_hand_at_ten_million(bench: Bench, queries: int = 100_000) -> Iterator[Bar]:
    """The same of ten times as many rows."""
    for ids, text in IDS:
        table = Shape(queries, 100, text=text).table()
        yield from _of_hand(bench, table, f"{queries * 100:,} rows, {ids} ids")


def _of_hand(bench: Bench, table: Table, name: str) -> Iterator[Bar]:
    eager, lazy, _ = rankframe(LINEAR)
    for tool in BY_HAND:
        check(tool, table)
    calls = {
        tool.name: partial(tool.evaluate, tool.ready(table)) for tool in (eager, lazy, *BY_HAND)
    }
    t = bench.times(calls)
    for tool in BY_HAND:
        is_lazy = tool.name.endswith("lazy")
        ours = t[lazy.name] if is_lazy else t[eager.name]
        bar = 1.0 if is_lazy else 0.6
        yield ratio(f"nDCG@10, {name}, {tool.name}", ours, t[tool.name], bar, "by hand", known=1.2)


def of_duckdb(bench: Bench, sizes: Sequence[int] = (10_000_000, 30_000_000)) -> Iterator[Bar]:
    """DuckDB on as many threads, from the same Parquet file; of its two ways to nDCG@10 the faster
    one counts."""
    for rows in sizes:
        table = Shape(rows // 100, 100).table()
        scan = pl.scan_parquet(table.parquet)
        for tool in DUCKDB:
            check(tool, table)
        calls = {tool.name: partial(tool.evaluate, tool.ready(table)) for tool in DUCKDB}
        calls["one"] = lambda scan=scan: scan.rank.evaluate(LINEAR).collect()
        calls["ten"] = lambda scan=scan: scan.rank.evaluate(*TEN).collect()
        t = bench.times(calls)
        one = min(t[tool.name] for tool in DUCKDB if tool.metrics == (LINEAR,))
        ten = min(t[tool.name] for tool in DUCKDB if tool.metrics == TEN)
        yield ratio(f"nDCG@10, {rows:,} rows", t["one"], one, 0.3, "DuckDB")
        yield ratio(f"ten metrics, {rows:,} rows", t["ten"], ten, 0.25, "DuckDB", known=0.5)


def of_a_small_table(bench: Bench) -> Iterator[Bar]:
    """1,000 rows, against nDCG@10 of the same rows by hand: of ten queries, and of 950, which is
    what the first rows of a shuffled table have."""
    tables = {
        "10 queries": (Shape(10, 100, text=True).table(), 1.2, 0.8),
        "950 queries": (Table("", Shape(10_000, 100).table().frame.head(1_000)), 0.8, 0.5),
    }
    for name, (table, most_of_ten, most_of_one) in tables.items():
        by_hand = next(tool for tool in BY_HAND if not tool.name.endswith("lazy"))
        calls = {
            "by hand": partial(by_hand.evaluate, by_hand.ready(table)),
            "ten": of(table.frame, *TEN),
            "one": of(table.frame, LINEAR),
        }
        t = bench.times({name: repeated(call) for name, call in calls.items()}, 21)
        size = f"of 1,000 rows, {name}"
        yield ratio(f"ten metrics {size}", t["ten"], t["by hand"], most_of_ten, "by hand", known=6)
        yield ratio(f"nDCG@10 {size}", t["one"], t["by hand"], most_of_one, "by hand", known=4)


def repeated(call: Callable[[], Any], times: int = 20) -> Callable[[], Any]:
    """A short call many times, since memory is cleared before each measurement, which empties the
    processor's caches, too."""
    return lambda: [call() for _ in range(times)]


def of_judge(bench: Bench) -> Iterator[Bar]:
    """`judge`, over a full join of the same tables."""
    for ids, text in IDS:
        frame = bench.table(text=text).frame
        run, qrels = frame.drop("label"), frame.drop("score").filter(pl.col("label") > 0)
        on = ["query_id", "doc_id"]
        t = bench.times(
            {
                "judge": partial(rf.rank(run).judge, qrels),
                "join": lambda run=run, qrels=qrels, on=on: run.join(
                    qrels, on=on, how="full", coalesce=True
                ),
            }
        )
        yield ratio(f"judge, {ids} ids", t["judge"], t["join"], 1.3, "full joins", known=2.5)


def of_dictionaries(bench: Bench) -> Iterator[Bar]:
    """From dictionaries, over pytrec_eval from the same: seven metrics."""
    tool = next(tool for tool in COMPETITORS if tool.name == "pytrec_eval")
    if tool.missing:
        print(f"{tool.name}: {tool.missing} is not installed")
        return
    import pytrec_eval
    from tools import PYTREC_EVAL

    for table, most in ((bench.table(text=True), 1.0), (Shape(10, 100, text=True).table(), 3.0)):
        qrels, run = dictionaries(table)
        calls: dict[str, Callable[[], Any]] = {
            "ours": partial(from_dictionaries, run, qrels, tool.metrics),
            "theirs": lambda qrels=qrels, run=run: pytrec_eval.RelevanceEvaluator(
                qrels, set(PYTREC_EVAL)
            ).evaluate(run),
        }
        if table.frame.height < 10_000:
            calls = {name: repeated(call) for name, call in calls.items()}
        t = bench.times(calls)
        name = f"dictionaries of {table.frame.height:,} rows, seven metrics"
        yield ratio(name, t["ours"], t["theirs"], most, "pytrec_eval", known=20)


def from_dictionaries(run: Any, qrels: Any, metrics: Sequence[str]) -> pl.DataFrame:
    """Metrics of a run and judgments that are dictionaries."""
    return rf.evaluate(run, qrels, *metrics)


def of_recommendations(bench: Bench) -> Iterator[Bar]:
    """RecTools' own frames, pandas with ids as Python's texts, over RecTools."""
    if find_spec("rectools") is None:
        print("RecTools: rectools is not installed")
        return
    from rectools import Columns
    from rectools.metrics import MAP, NDCG, Precision, Recall, calc_metrics

    objects = bench.table(text=True).objects
    relevant = objects[objects["label"] > 0][["query_id", "doc_id"]]
    names = {"query_id": Columns.User, "doc_id": Columns.Item}
    ranks = objects.groupby("query_id")["score"].rank(method="first", ascending=False)
    reco = objects.assign(**{Columns.Rank: ranks.astype(int)}).rename(columns=names)
    past = relevant.rename(columns=names)
    theirs = {"map": MAP(10), "ndcg": NDCG(10), "p": Precision(10), "r": Recall(10)}
    asked = ("map@10", "ndcg@10", "precision@10", "recall@10")
    ours = partial(rf.mean, reco, past, *asked, convention="rectools", names="rectools")
    t = bench.times(
        {
            "theirs": lambda: calc_metrics(theirs, reco=reco, interactions=past),
            "ours": ours,
        }
    )
    yield ratio("RecTools' own frames, four metrics", t["ours"], t["theirs"], 1.0, "RecTools")


def of_shapes(bench: Bench) -> Iterator[Bar]:
    """The adapters of other shapes, in sorts of the long table."""
    for ids, text in IDS:
        frame = bench.table(text=text, order="ranked").frame
        shuffled = frame.sample(fraction=1, shuffle=True, seed=0)
        t = bench.times({"sort": by_sort(shuffled), **adapters(frame)})
        for name, took in t.items():
            if name != "sort":
                yield ratio(f"{name}, {ids} ids", took, t["sort"], 3.0)


def adapters(frame: pl.DataFrame) -> dict[str, Callable[[], Any]]:
    """The call of each adapter, on the shape that it takes, of the same rows."""
    by_query = frame.group_by("query_id", maintain_order=True)
    is_relevant = pl.col("label") > 0
    lists = by_query.agg(
        retrieved="doc_id",
        relevant=pl.col("doc_id").filter(is_relevant),
        scores="score",
        labels="label",
    )
    judged = lists.with_columns(relevant="retrieved")
    of_ids = lists.drop("scores", "labels")
    structs = by_query.agg(pl.struct(id="doc_id", score="score"))["id"]
    of_structs = lists.select("query_id", "relevant", retrieved=structs)
    scores = frame["score"].to_numpy().astype(float)
    labels = frame["label"].to_numpy().astype(float)
    per_query = len(scores) // len(lists)
    sizes = np.full(len(lists), per_query)
    matrix_of_scores = scores.reshape(-1, per_query)
    matrix_of_labels = labels.reshape(-1, per_query)
    query = frame["query_id"].to_numpy()
    return {
        "lists": partial(rf.from_lists, of_ids),
        "lists with scores and labels": partial(
            rf.from_lists, judged, scores="scores", labels="labels"
        ),
        "lists of structs": partial(rf.from_lists, of_structs),
        "lists, lazy": lambda: rf.from_lists(of_ids.lazy()).collect(),
        "matrices": partial(rf.from_arrays, scores=matrix_of_scores, labels=matrix_of_labels),
        "arrays with groups": partial(rf.from_arrays, scores=scores, labels=labels, group=sizes),
        "arrays with queries": partial(rf.from_arrays, scores=scores, labels=labels, query=query),
    }


FIRST_CALL = """
import time
start = time.process_time()
import numpy, polars
libraries = time.process_time() - start
import rankframe
frame = polars.DataFrame({"query_id": [1, 1], "doc_id": ["a", "b"], "score": [2.0, 1.0], "label": [0, 1]})
start = time.process_time()
frame.rank.evaluate("ndcg@10")
print((time.process_time() - start) / libraries)
"""

FIRST_COMMAND = """
import resource, subprocess, sys
def processor(*command):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *command], check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
ours = processor("-m", "rankframe", "evaluate", {path!r}, "-m", "ndcg@10")
print(ours / processor("-c", "import numpy, polars"))
"""


def printed(code: str, **environment: str) -> float:
    """The number that a process of its own prints."""
    command = [sys.executable, "-c", code]
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(HERE).parent,
        env={**os.environ, **environment},
    )
    return float(done.stdout)


def of_the_first_call(bench: Bench) -> Iterator[Bar]:
    """Of a process, and of the command line, in processor times of importing Polars and NumPy."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "two.csv"
        path.write_text("query_id,doc_id,score,label\n1,a,2,0\n1,b,1,1\n")
        for name, code, most in (
            ("the first evaluate of a process", FIRST_CALL, 0.5),
            ("rankframe evaluate of two lines", FIRST_COMMAND.format(path=str(path)), 1.8),
        ):
            figures = [printed(code) for _ in range(min(bench.rounds, 5))]
            figure = float(np.median(figures))
            yield Bar(name, figure, most, "imports", known=3.0, processor=figure)


IMPORT = (
    "import time; start = time.perf_counter(); import {module}; print(time.perf_counter() - start)"
)


def of_import(bench: Bench) -> Iterator[Bar]:
    """Inside processes of their own, the start of Python left out."""
    seconds: dict[str, list[float]] = {"polars": [], "rankframe": []}
    for _ in range(10):
        for module, found in seconds.items():
            found.append(printed(IMPORT.format(module=module)))
    t = {module: bench.take(Seconds(tuple(found[1:]))) for module, found in seconds.items()}
    figure = t["rankframe"].median / t["polars"].median
    yield Bar("import rankframe", figure, 1.15, "import polars")


MEMORY = """
import re, sys
sys.path.insert(0, {folder!r})
import polars as pl
from shapes import Shape
from tools import TEN
import rankframe as rf
def memory(field):
    return int(re.search(field + r":\\s+(\\d+)", open("/proc/self/status").read())[1]) * 1024
Shape(50, 100, text={text}).table().frame.rank.evaluate(*TEN)
before = memory("VmRSS")
frame = pl.read_ipc({path!r})
open("/proc/self/clear_refs", "w").write("5")
frame.rank.evaluate(*TEN)
print((memory("VmHWM") - before) / {size})
"""


def size_of(column: pl.Series) -> int:
    """How many bytes a column takes: of a text 16, and its characters where they are more than fit
    into 12 of them."""
    if column.dtype != pl.String:
        return int(column.estimated_size())
    return 16 * column.len() + int(column.filter(column.str.len_bytes() > 12).estimated_size())


def of_memory(bench: Bench) -> Iterator[Bar]:
    """The most that a process of its own holds while it evaluates, the columns among it; Linux
    only."""
    if not Path("/proc/self/clear_refs").exists():
        print("memory is measured on Linux only")
        return
    for ids, text in IDS:
        with tempfile.TemporaryDirectory() as folder:
            path = str(Path(folder) / "table.arrow")
            # as many rows as make what is fixed small
            frame = Shape(max(bench.queries, 50_000), 100, text=text).table().frame
            frame.write_ipc(path)
            size = sum(map(size_of, frame))
            figure = printed(MEMORY.format(folder=HERE, text=text, path=path, size=size))
        name = f"memory at the peak, 5,000,000 rows, {ids} ids"
        yield Bar(name, figure, 3.0, "times columns")


THREADS = """
import sys, time
sys.path.insert(0, {folder!r})
import polars as pl
from tools import LINEAR, TEN
import rankframe as rf
frame = pl.read_ipc({path!r})
metrics = {metrics!r}
frame.rank.evaluate(*metrics)
seconds = []
for _ in range({rounds}):
    start = time.perf_counter()
    frame.rank.evaluate(*metrics)
    seconds.append(time.perf_counter() - start)
print(sorted(seconds)[len(seconds) // 2])
"""


def of_threads(bench: Bench) -> Iterator[Bar]:
    """Two threads of one process, over two processes at once with a thread and a table each."""
    for ids, text in IDS:
        for order in ("shuffled", "grouped"):
            frame = Shape(bench.queries * 3, 100, text=text, order=order).table().frame
            with tempfile.TemporaryDirectory() as folder:
                path = str(Path(folder) / "table.arrow")
                frame.write_ipc(path)
                code = THREADS.format(folder=HERE, path=path, metrics=TEN, rounds=bench.rounds)
                of_two_threads = printed(code, POLARS_MAX_THREADS="2")
                of_two_processes = _at_once(code, 2) / 2
            name = f"two processes, over two threads, ten, {ids} ids, {order}"
            yield Bar(name, of_two_processes / of_two_threads, 0.92, "of the time", at_most=False)


def _at_once(code: str, processes: int) -> float:
    """The mean of the numbers that processes with a thread each print, which run at once."""
    environment = {**os.environ, "POLARS_MAX_THREADS": "1"}
    command = [sys.executable, "-c", code]
    running = [
        subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
        for _ in range(processes)
    ]
    return float(np.mean([float(process.communicate()[0]) for process in running]))


SIZES = (100_000, 300_000, 1_000_000, 3_000_000, 10_000_000, 30_000_000)


def of_growth(bench: Bench, sizes: Sequence[int] = SIZES) -> Iterator[Bar]:
    """The slope of the logarithm of the time over that of the rows: 1 is linear, and a sort's own
    is above it."""
    seconds = []
    for rows in sizes:
        frame = Shape(rows // 100, 100).table().frame
        rounds = 5 if rows <= 3_000_000 else 2
        took = bench.times({"ten": of(frame, *TEN)}, rounds)["ten"].clock
        seconds.append(took)
        speed = rows / took / 1e6
        print(f"  {rows:>11,} rows: {took * 1e3:9.1f} ms, {speed:5.1f} million rows a second")
    slope = float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])
    yield Bar(f"growth from {sizes[0]:,} to {sizes[-1]:,} rows", slope, 1.1, "as exponent")


SPEEDS = {
    "ranx": (3, 20),
    "ranx, Numba lists": (3, None),
    "pytrec_eval": (5, 20),
    "DuckDB SQL": (3, None),
    "DuckDB SQL, own table": (3, None),
}
"""How many times longer than rankframe others are to take: to evaluate what is ready, and from the
data frame."""


def of_others(bench: Bench) -> Iterator[Bar]:
    """The metrics that the other tool has, of text ids."""
    table = bench.table(text=True)
    unit = "times ours"
    for tool in COMPETITORS:
        if tool.name not in SPEEDS:
            continue
        if tool.missing:
            print(f"{tool.name}: {tool.missing} is not installed")
            continue
        check(tool, table)
        alone, whole = SPEEDS[tool.name]
        prepare, ready = timed(partial(tool.ready, table))
        calls = {"theirs": partial(tool.evaluate, ready), "ours": of(table.frame, *tool.metrics)}
        t = bench.times(calls)
        theirs, ours = t["theirs"], t["ours"]
        yield ratio(f"{tool.name}, evaluate", theirs, ours, alone, unit, at_most=False)
        if whole is not None:
            all_of_it = (prepare + theirs.clock) / ours.clock
            yield Bar(f"{tool.name}, from the data frame", all_of_it, whole, unit, at_most=False)


GUARDED = (
    of_ten_metrics,
    of_few_rows_per_query,
    of_kinds,
    of_lazy,
    of_hand,
    of_catalogue,
    of_one_metric,
    of_judge,
    of_shapes,
    of_the_first_call,
    of_import,
    of_memory,
)
"""Ratios that need no tool that the tests do not have anyway."""
ALL = (
    *GUARDED,
    of_a_small_table,
    of_dictionaries,
    of_recommendations,
    of_others,
    of_threads,
    of_growth,
)
LARGE = (of_lazy_shapes, of_hand_at_ten_million, of_duckdb)

Group = Callable[[Bench], Iterator[Bar]]


def judged(groups: Sequence[Group], bench: Bench) -> list[Bar]:
    """The bars of some groups, printed as they come."""
    bars = []
    for group in groups:
        for bar in group(bench):
            print(bar.line(), flush=True)
            bars.append(bar)
    return bars


def options_of(arguments: Sequence[str] | None) -> argparse.Namespace:
    """The options of the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    size = parser.add_mutually_exclusive_group()
    size.add_argument(
        "--guard", action="store_true", help="a small size, and fail beyond twice a bar"
    )
    size.add_argument("--large", action="store_true", help="the bars of large tables alone")
    only = "parts of the names of groups, as: memory growth"
    parser.add_argument("--only", nargs="*", default=[], help=only)
    queries = "of 100 rows each; 10,000, or 3,000 for the guard"
    parser.add_argument("--queries", type=int, help=queries)
    parser.add_argument("--rounds", type=int, help="7, or 5 for the guard, and 3 for large tables")
    parser.add_argument("--out", type=Path, default=Path("build/benchmarks"))
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print and write the figures; 1 where the guard finds one beyond twice its bar."""
    options = options_of(arguments)
    if options.guard:
        queries, rounds, groups, file = 3_000, 5, GUARDED, "guard.json"
    elif options.large:
        queries, rounds, groups, file = 10_000, 3, LARGE, "large.json"
    else:
        queries, rounds, groups, file = 10_000, 7, ALL, "bars.json"
    # tables of few scores have ties that move values, which is not measured here
    warnings.simplefilter("ignore", rf.RankframeWarning)
    take: Take = least if options.guard else lambda seconds: seconds
    bench = Bench(options.queries or queries, options.rounds or rounds, take)
    words = options.only
    asked = [x for x in groups if not words or any(word in x.__name__ for word in words)]
    rows = "large tables" if options.large else f"{bench.queries * 100:,} rows"
    threads = pl.thread_pool_size()
    print(f"{rows}, {bench.rounds} rounds, Polars {pl.__version__}, {threads} threads")
    bars = judged(asked, bench)
    options.out.mkdir(parents=True, exist_ok=True)
    path = options.out / file
    every = [{**asdict(bar), "holds": bar.holds} for bar in bars]
    path.write_text(json.dumps({**machine(), "rows": rows, "bars": every}, indent=1) + "\n")
    beyond = [bar for bar in bars if bar.excess > 2]
    hold = sum(bar.holds for bar in bars)
    print(f"{hold} of {len(bars)} hold, {len(beyond)} are beyond twice the bar; written: {path}")
    return 1 if options.guard and beyond else 0


if __name__ == "__main__":
    sys.exit(main())
