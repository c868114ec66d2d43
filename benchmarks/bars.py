"""The bars that rankframe's speed and memory are held to, each measured and judged.

    python benchmarks/bars.py            # every bar; ten minutes
    python benchmarks/bars.py --guard    # what needs no other tool, at 300,000 rows; a minute

A bar is a ratio of medians of interleaved rounds of one run, most of them to one bare `frame.sort("query_id", "score")`
of the same table. `--guard` takes the least of the rounds, which other work on the machine disturbs least, writes
`guard.json`, and fails only where a figure is beyond twice its bar, or twice what is known of a bar that is missed.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from competitors import COMPETITORS, matrices
from shapes import Shape, Table
from suite import machine
from timing import Seconds, interleaved, timed
from tool import LINEAR, TEN, check

import rankframe as rf


@dataclass(frozen=True)
class Bar:
    """A figure and its bar: at most that many times the unit, or at least.

    `known` is what was measured at the guard's size where the bar is missed (docs/performance.md has more): a guard is to
    see what gets worse, and not to be silenced.
    """

    name: str
    figure: float
    bar: float
    unit: str = "bare sorts"
    at_most: bool = True
    known: float | None = None

    @property
    def excess(self) -> float:
        """How many times beyond the bar, or beyond what is known where that is more; 1 is on it."""
        if self.at_most:
            return self.figure / max(self.bar, self.known or 0)
        return min(self.bar, self.known or self.bar) / self.figure

    @property
    def holds(self) -> bool:
        return self.figure <= self.bar if self.at_most else self.figure >= self.bar

    def line(self) -> str:
        verdict = "holds" if self.holds else "beyond twice" if self.excess > 2 else "does not hold"
        return f"{self.name:62}{self.figure:9.2f}{'  <=' if self.at_most else '  >='}{self.bar:6.2f} {self.unit:15}{verdict}"


NEEDED = {
    "pfound": "pfound(max_label=4)@10",
    "interpolated_precision": "interpolated_precision@0.5",
    "r_precision_multiple": "r_precision_multiple@0.5",
}
"""Metrics that have to be told something."""


def catalogue() -> list[str]:
    """Every metric that needs no subtopics, at 10 where it takes a cutoff, and three of them at other cutoffs as well."""
    of_documents = {name: metric for name, metric in rf.METRICS.items() if metric.over == "documents"}
    names = [
        NEEDED.get(name, f"{name}@10" if "k" in metric.parameters else name) for name, metric in of_documents.items()
    ]
    return [*names, *(f"{name}@{k}" for name in ("ndcg", "precision", "recall") for k in (5, 100))]


Take = Callable[[Seconds], float]
"""Which of the rounds counts."""


class Bench:
    """The tables, and calls of them timed together."""

    def __init__(self, queries: int, rounds: int, take: Take) -> None:
        self.queries, self.rounds, self.take = queries, rounds, take

    def table(self, per_query: int = 100, **kind: Any) -> Table:
        return Shape(self.queries * 100 // per_query, per_query, **kind).table()

    def seconds(self, calls: Mapping[str, Callable[[], Any]], rounds: int | None = None) -> dict[str, float]:
        found = interleaved(rounds or self.rounds, calls)
        return {name: self.take(seconds) for name, seconds in found.items()}


def of_ten_metrics(bench: Bench) -> Iterator[Bar]:
    """Ten metrics, and what else is measured by the same table's sort."""
    for ids, text in (("integer", False), ("text", True)):
        dense, sparse = bench.table(text=text), bench.table(text=text, relevant=0.001)
        frame, few, pandas = dense.frame, sparse.frame, dense.pandas
        t = bench.seconds(
            {
                "sort": lambda frame=frame: frame.sort("query_id", "score"),
                "ten": lambda frame=frame: frame.rank.evaluate(*TEN),
                "pandas": lambda pandas=pandas: rf.rank(pandas).evaluate(*TEN),
                "expected": lambda frame=frame: frame.rank.on(ties="expected").evaluate(*TEN),
                "curve": lambda frame=frame: frame.rank.curve("ndcg"),
                "with_metrics": lambda frame=frame: frame.rank.with_metrics(*TEN),
                "sort, 0.1%": lambda few=few: few.sort("query_id", "score"),
                "ten, 0.1%": lambda few=few: few.rank.evaluate(*TEN),
            }
        )
        yield Bar(f"ten metrics, {ids} ids, 40% relevant", t["ten"] / t["sort"], 1.0)
        yield Bar(f"ten metrics, {ids} ids, 0.1% relevant", t["ten, 0.1%"] / t["sort, 0.1%"], 0.6)
        yield Bar(f"ten metrics, pandas, {ids} ids", t["pandas"] / t["ten"], 1.3, "times Polars")
        yield Bar(f"ten metrics, ties='expected', {ids} ids", t["expected"] / t["ten"], 2.0, "times doc_desc")
        yield Bar(f"curve of nDCG, {ids} ids", t["curve"] / t["sort"], 1.5)
        yield Bar(f"with_metrics of ten, {ids} ids", t["with_metrics"] / t["sort"], 2.0)


def of_catalogue(bench: Bench) -> Iterator[Bar]:
    frame, asked = bench.table().frame, catalogue()
    calls = {"sort": lambda: frame.sort("query_id", "score"), "all": lambda: frame.rank.evaluate(*asked)}
    t = bench.seconds(calls, min(bench.rounds, 3))
    yield Bar(f"the catalogue at once, {len(asked)} columns", t["all"] / t["sort"], 4.0, known=5.5)


def of_one_metric(bench: Bench) -> Iterator[Bar]:
    """nDCG@10 of the long table, and of a matrix that scikit-learn finds ready."""
    from sklearn.metrics import ndcg_score

    for ids, text in (("integer", False), ("text", True)):
        table = bench.table(text=text)
        frame, (_, labels, scores) = table.frame, matrices(table)
        t = bench.seconds(
            {
                "rankframe": lambda frame=frame: frame.rank.evaluate(LINEAR),
                "scikit-learn": lambda labels=labels, scores=scores: ndcg_score(labels, scores, k=10, ignore_ties=True),
            }
        )
        yield Bar(f"nDCG@10, {ids} ids", t["rankframe"] / t["scikit-learn"], 1.0, "of sklearn", known=3.5)


def best(x: pl.Expr) -> pl.Expr:
    """The DCG of the ten largest labels."""
    return (x.sort(descending=True).head(10) / (pl.int_range(2, pl.len().clip(0, 10) + 2)).log(2)).sum()


def by_hand(scan: pl.LazyFrame) -> pl.LazyFrame:
    """nDCG@10 by one `group_by` of sorted labels, as people write it; it checks nothing."""
    label = pl.col("label").cast(pl.Float64)
    found = label.sort_by("score", "doc_id", descending=True).head(10) / pl.int_range(2, pl.len().clip(0, 10) + 2).log(
        2
    )
    return scan.group_by("query_id").agg((found.sum() / best(label)).fill_nan(0.0).alias("ndcg@10"))


def by_windows(scan: pl.LazyFrame) -> pl.LazyFrame:
    """nDCG@10 by two windows, as people write it; it checks nothing."""
    label, place = pl.col("label").cast(pl.Float64), pl.int_range(1, pl.len() + 1)
    rows = scan.with_columns(
        rank=place.over("query_id", order_by=["score", "doc_id"], descending=True),
        best=place.over("query_id", order_by="label", descending=True),
    )

    def gain(rank: str) -> pl.Expr:
        return pl.when(pl.col(rank) <= 10).then(label / (pl.col(rank) + 1).log(2)).otherwise(0.0).sum()

    return rows.group_by("query_id").agg((gain("rank") / gain("best")).fill_nan(0.0).alias("ndcg@10"))


def of_lazy(bench: Bench) -> Iterator[Bar]:
    """LazyFrames that scan Parquet: against reading the file and an eager call, and against Polars written by hand."""
    for ids, text in (("integer", False), ("text", True)):
        frame = bench.table(text=text).frame
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "table.parquet"
            frame.write_parquet(path)
            scan = pl.scan_parquet(path)
            limit = int(frame.estimated_size()) // 2  # rows may take a quarter of it: an eighth of the table at a time
            wanted = frame.rank.evaluate(LINEAR).sort("query_id").to_series(1)
            for way in (by_hand, by_windows):
                if (way(scan).sort("query_id").collect().to_series(1) - wanted).abs().max() > 1e-12:  # type: ignore[operator]
                    raise ValueError(f"{way.__name__} gives other values")
            t = bench.seconds(
                {
                    "eager": lambda path=path: pl.read_parquet(path).rank.evaluate(*TEN),
                    "lazy": lambda scan=scan: scan.rank.evaluate(*TEN).collect(),
                    "spilled": lambda scan=scan, limit=limit: scan.rank.on(memory_limit=limit).evaluate(*TEN).collect(),
                    "one": lambda scan=scan: scan.rank.evaluate(LINEAR).collect(),
                    "by hand": lambda scan=scan: by_hand(scan).collect(),
                    "by windows": lambda scan=scan: by_windows(scan).collect(),
                }
            )
        yield Bar(f"ten metrics, lazy, {ids} ids", t["lazy"] / t["eager"], 1.2, "of read and eager")
        yield Bar(f"ten metrics, spilled, {ids} ids", t["spilled"] / t["eager"], 2.0, "of read and eager", known=3.8)
        yield Bar(f"nDCG@10 alone, {ids} ids", t["one"] / t["lazy"], 0.6, "of ten metrics")
        yield Bar(f"nDCG@10, lazy, {ids} ids, against group_by", t["one"] / t["by hand"], 1.0, "by hand")
        yield Bar(f"nDCG@10, lazy, {ids} ids, against windows", t["one"] / t["by windows"], 1.0, "by hand")


def of_a_small_table(bench: Bench) -> Iterator[Bar]:
    frame = Shape(10, 100, text=True).table().frame
    t = bench.seconds({"ten": lambda: frame.rank.evaluate(*TEN)}, 21)
    yield Bar("ten metrics of 1,000 rows", t["ten"] * 1e3, 3.0, "ms")


IMPORT = "import time; start = time.perf_counter(); import {module}; print(time.perf_counter() - start)"


def of_import(bench: Bench) -> Iterator[Bar]:
    """Inside processes of their own, the start of Python left out."""

    def imported(module: str) -> float:
        command = [sys.executable, "-c", IMPORT.format(module=module)]
        return float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)

    found: dict[str, list[float]] = {"polars": [], "rankframe": []}
    for _ in range(10):
        for module, seconds in found.items():
            seconds.append(imported(module))
    t = {module: bench.take(Seconds(tuple(seconds[1:]))) for module, seconds in found.items()}
    yield Bar("import rankframe", t["rankframe"] / t["polars"], 1.15, "import polars")


MEMORY = """
import re, sys
sys.path.insert(0, {folder!r})
import polars as pl
from shapes import Shape
from tool import TEN
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
    """How many bytes a column takes: of a text 16, and its characters where they are more than fit into 12 of them."""
    if column.dtype != pl.String:
        return int(column.estimated_size())
    return 16 * column.len() + int(column.filter(column.str.len_bytes() > 12).estimated_size())


def of_memory(bench: Bench) -> Iterator[Bar]:
    """The most that a process of its own holds while it evaluates, the columns among it; Linux only."""
    if not Path("/proc/self/clear_refs").exists():
        print("memory is measured on Linux only")
        return
    for ids, text in (("integer", False), ("text", True)):
        with tempfile.TemporaryDirectory() as folder:
            path = str(Path(folder) / "table.arrow")
            frame = Shape(max(bench.queries, 50_000), 100, text=text).table().frame  # beyond what is fixed
            frame.write_ipc(path)
            size = sum(map(size_of, frame))
            code = MEMORY.format(folder=str(Path(__file__).parent), text=text, path=path, size=size)
            done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        yield Bar(f"memory at the peak, 5,000,000 rows, {ids} ids", float(done.stdout), 3.0, "times columns")


SIZES = (100_000, 300_000, 1_000_000, 3_000_000, 10_000_000, 30_000_000)


def of_growth(bench: Bench, sizes: Sequence[int] = SIZES) -> Iterator[Bar]:
    """The slope of the logarithm of the time over that of the rows: 1 is linear, and a sort's own is above it."""
    seconds = []
    for rows in sizes:
        frame = Shape(rows // 100, 100).table().frame
        rounds = 5 if rows <= 3_000_000 else 2
        seconds.append(bench.seconds({"ten": lambda frame=frame: frame.rank.evaluate(*TEN)}, rounds)["ten"])
        print(f"  {rows:>11,} rows: {seconds[-1] * 1e3:9.1f} ms, {rows / seconds[-1] / 1e6:5.1f} million rows a second")
    slope = float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])
    yield Bar(f"growth from {sizes[0]:,} to {sizes[-1]:,} rows", slope, 1.1, "as exponent")


SPEEDS = {
    "ranx": (3, 20),
    "ranx, Numba lists": (3, None),
    "pytrec_eval": (5, 20),
    "DuckDB SQL": (3, None),
    "DuckDB SQL, own table": (3, None),
}
"""How many times longer than rankframe others are to take: to evaluate what is ready, and from the data frame."""


def of_others(bench: Bench) -> Iterator[Bar]:
    """The metrics that the other tool has, of text ids."""
    table = bench.table(text=True)
    for tool in COMPETITORS:
        if tool.name not in SPEEDS:
            continue
        if tool.missing:
            print(f"{tool.name}: {tool.missing} is not installed")
            continue
        check(tool, table)
        alone, whole = SPEEDS[tool.name]
        prepare, ready = timed(lambda tool=tool: tool.ready(table))
        t = bench.seconds(
            {
                "theirs": lambda tool=tool, ready=ready: tool.evaluate(ready),
                "ours": lambda tool=tool: table.frame.rank.evaluate(*tool.metrics),
            }
        )
        yield Bar(f"{tool.name}, evaluate", t["theirs"] / t["ours"], alone, "times ours", at_most=False)
        if whole is not None:
            all_of_it = (prepare + t["theirs"]) / t["ours"]
            yield Bar(f"{tool.name}, from the data frame", all_of_it, whole, "times ours", at_most=False)


GUARDED = (of_ten_metrics, of_lazy, of_catalogue, of_one_metric, of_import, of_memory)
"""Ratios that need no tool that the tests do not have anyway."""
ALL = (*GUARDED, of_a_small_table, of_others, of_growth)


def judged(groups: Sequence[Callable[[Bench], Iterator[Bar]]], bench: Bench) -> list[Bar]:
    """The bars of some groups, printed as they come."""
    bars = []
    for group in groups:
        for bar in group(bench):
            print(bar.line(), flush=True)
            bars.append(bar)
    return bars


def main(arguments: Sequence[str] | None = None) -> int:
    """Print and write the figures; 1 where the guard finds one beyond twice its bar."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--guard", action="store_true", help="a small size, and fail beyond twice a bar")
    parser.add_argument("--only", nargs="*", default=[], help="parts of the names of groups, as: memory growth")
    parser.add_argument("--queries", type=int, help="of 100 rows each; 10,000, or 3,000 for the guard")
    parser.add_argument("--rounds", type=int, help="7, or 5 for the guard")
    parser.add_argument("--out", type=Path, default=Path("build/benchmarks"))
    options = parser.parse_args(arguments)
    queries, rounds = (3_000, 5) if options.guard else (10_000, 7)
    take: Take = (lambda seconds: seconds.least) if options.guard else (lambda seconds: seconds.median)
    bench = Bench(options.queries or queries, options.rounds or rounds, take)
    groups = [
        g for g in (GUARDED if options.guard else ALL) if not options.only or any(w in g.__name__ for w in options.only)
    ]
    print(
        f"{bench.queries * 100:,} rows, {bench.rounds} rounds, Polars {pl.__version__}, {pl.thread_pool_size()} threads"
    )
    bars = judged(groups, bench)
    options.out.mkdir(parents=True, exist_ok=True)
    path = options.out / ("guard.json" if options.guard else "bars.json")
    rows = [{**asdict(bar), "holds": bar.holds} for bar in bars]
    path.write_text(
        json.dumps({**machine(), "rows": bench.queries * 100, "bars": rows}, indent=1) + "\n", encoding="utf-8"
    )
    beyond = [bar for bar in bars if bar.excess > 2]
    print(
        f"{sum(bar.holds for bar in bars)} of {len(bars)} hold, {len(beyond)} are beyond twice the bar; written: {path}"
    )
    return 1 if options.guard and beyond else 0


if __name__ == "__main__":
    sys.exit(main())
