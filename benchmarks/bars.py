"""The bars that rankframe's speed and memory are held to, each measured and judged.

    python benchmarks/bars.py            # every bar of tables of 1,000,000 rows; ten minutes
    python benchmarks/bars.py --guard    # what needs no other tool, at 300,000 rows; a minute
    python benchmarks/bars.py --large    # from Parquet, 5,000,000 to 30,000,000 rows; half an hour

A bar is a ratio of medians of interleaved rounds of one run, most of them to one bare
`frame.sort("query_id", "score")` of the same table. `--guard` takes the least of the rounds, which
other work on the machine disturbs least, writes `guard.json`, and fails only where a figure is
beyond twice its bar, or twice what is known of a bar that is missed.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from bar import Bar
from by_hand import BY_HAND, DUCKDB
from competitors import COMPETITORS, matrices, rankframe
from shapes import Shape, Table
from suite import machine
from ten import LINEAR, TEN
from timing import Seconds, interleaved, timed
from tool import check

import rankframe as rf

NEEDED = {
    "pfound": "pfound(max_label=4)@10",
    "interpolated_precision": "interpolated_precision@0.5",
    "r_precision_multiple": "r_precision_multiple@0.5",
    "partial_auc": "partial_auc@10",
}
"""Metrics that have to be told something."""


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


IDS = (("integer", False), ("text", True))

FROM_PARQUET = {
    "10,000,000 rows, integer ids": Shape(100_000, 100),
    "10,000,000 rows, text ids": Shape(100_000, 100, text=True),
    "1,000,000 queries of 10": Shape(1_000_000, 10),
    "one query of 5,000,000": Shape(1, 5_000_000),
}
"""The large tables of lazy calls."""

Take = Callable[[Seconds], float]
"""Which of the rounds counts."""


class Bench:
    """The tables, and calls of them timed together."""

    def __init__(self, queries: int, rounds: int, take: Take) -> None:
        self.queries, self.rounds, self.take = queries, rounds, take

    def table(self, per_query: int = 100, **kind: Any) -> Table:
        return Shape(self.queries * 100 // per_query, per_query, **kind).table()

    def seconds(
        self, calls: Mapping[str, Callable[[], Any]], rounds: int | None = None
    ) -> dict[str, float]:
        found = interleaved(rounds or self.rounds, calls)
        return {name: self.take(seconds) for name, seconds in found.items()}


def of_ten_metrics(bench: Bench) -> Iterator[Bar]:
    """Ten metrics, and what else is measured by the same table's sort."""
    for ids, text in IDS:
        dense, sparse = bench.table(text=text), bench.table(text=text, relevant=0.001)
        frame, few, pandas = dense.frame, sparse.frame, dense.pandas
        t = bench.seconds(
            {
                "sort": lambda frame=frame: frame.sort("query_id", "score"),
                "ten": lambda frame=frame: frame.rank.evaluate(*TEN),
                "one": lambda frame=frame: frame.rank.evaluate(LINEAR),
                "pandas": lambda pandas=pandas: rf.rank(pandas).evaluate(*TEN),
                "expected": lambda frame=frame: frame.rank.on(ties="expected").evaluate(*TEN),
                "curve": lambda frame=frame: frame.rank.curve("ndcg"),
                "with_metrics": lambda frame=frame: frame.rank.with_metrics(*TEN),
                "sort, 0.1%": lambda few=few: few.sort("query_id", "score"),
                "ten, 0.1%": lambda few=few: few.rank.evaluate(*TEN),
            }
        )
        aim, known = (0.35, 0.8) if text else (0.5, 1.4)
        yield Bar(f"ten metrics, {ids} ids, 40% relevant", t["ten"] / t["sort"], aim, known=known)
        yield Bar(
            f"nDCG@10 alone, {ids} ids", t["one"] / t["ten"], 0.6, "of ten metrics", known=0.9
        )
        yield Bar(f"ten metrics, {ids} ids, 0.1% relevant", t["ten, 0.1%"] / t["sort, 0.1%"], 0.6)
        yield Bar(f"ten metrics, pandas, {ids} ids", t["pandas"] / t["ten"], 1.3, "times Polars")
        yield Bar(
            f"ten metrics, ties='expected', {ids} ids",
            t["expected"] / t["ten"],
            2.0,
            "times doc_desc",
        )
        yield Bar(f"curve of nDCG, {ids} ids", t["curve"] / t["sort"], 1.5)
        yield Bar(f"with_metrics of ten, {ids} ids", t["with_metrics"] / t["sort"], 2.0)


def of_few_rows_per_query(bench: Bench) -> Iterator[Bar]:
    """Ten metrics where what is done once for each query counts."""
    for rows, aim in ((10, 0.7), (2, 1.5), (1, 2.5)):
        frame = bench.table(rows).frame
        calls = {
            "sort": lambda frame=frame: frame.sort("query_id", "score"),
            "ten": lambda frame=frame: frame.rank.evaluate(*TEN),
        }
        t = bench.seconds(calls)
        yield Bar(f"ten metrics, {rows} rows per query", t["ten"] / t["sort"], aim)


def of_catalogue(bench: Bench) -> Iterator[Bar]:
    frame, asked = bench.table().frame, catalogue()
    calls = {
        "sort": lambda: frame.sort("query_id", "score"),
        "all": lambda: frame.rank.evaluate(*asked),
    }
    t = bench.seconds(calls, min(bench.rounds, 3))
    yield Bar(f"the catalogue at once, {len(asked)} columns", t["all"] / t["sort"], 4.0, known=5.5)


def of_one_metric(bench: Bench) -> Iterator[Bar]:
    """nDCG@10 of the long table, and of a matrix that scikit-learn finds ready."""
    from sklearn.metrics import ndcg_score

    for ids, text in IDS:
        table = bench.table(text=text)
        frame, (_, labels, scores) = table.frame, matrices(table)
        t = bench.seconds(
            {
                "rankframe": lambda frame=frame: frame.rank.evaluate(LINEAR),
                "scikit-learn": lambda labels=labels, scores=scores: ndcg_score(
                    labels, scores, k=10, ignore_ties=True
                ),
            }
        )
        yield Bar(
            f"nDCG@10, {ids} ids", t["rankframe"] / t["scikit-learn"], 1.0, "of sklearn", known=3.5
        )


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
    limit = (
        int(table.frame.estimated_size()) // 2
    )  # rows may take a third of it: a sixth of the table at a time
    t = bench.seconds(
        {
            "eager": lambda: pl.read_parquet(path).rank.evaluate(*TEN),
            "lazy": lambda: scan.rank.evaluate(*TEN).collect(),
            "spilled": lambda: scan.rank.on(memory_limit=limit).evaluate(*TEN).collect(),
            "one": lambda: scan.rank.evaluate(LINEAR).collect(),
        }
    )
    yield Bar(f"ten metrics, lazy, {name}", t["lazy"] / t["eager"], 1.2, "of read and eager")
    yield Bar(
        f"ten metrics, spilled, {name}",
        t["spilled"] / t["eager"],
        2.0,
        "of read and eager",
        known=3.8,
    )
    yield Bar(
        f"nDCG@10 alone, lazy, {name}", t["one"] / t["lazy"], 0.6, "of ten metrics", known=0.9
    )


def of_hand(bench: Bench) -> Iterator[Bar]:
    """nDCG@10, against Polars written by hand, which checks nothing: of the frame, and lazily from
    the same Parquet."""
    for ids, text in IDS:
        yield from _of_hand(bench, bench.table(text=text), f"{ids} ids")


def of_hand_at_ten_million(bench: Bench, queries: int = 100_000) -> Iterator[Bar]:
    """The same of ten times as many rows."""
    for ids, text in IDS:
        yield from _of_hand(
            bench, Shape(queries, 100, text=text).table(), f"{queries * 100:,} rows, {ids} ids"
        )


def _of_hand(bench: Bench, table: Table, name: str) -> Iterator[Bar]:
    eager, lazy, _ = rankframe(LINEAR)
    for tool in BY_HAND:
        check(tool, table)
    calls = {
        tool.name: partial(tool.evaluate, tool.ready(table)) for tool in (eager, lazy, *BY_HAND)
    }
    t = bench.seconds(calls)
    for tool in BY_HAND:
        ours = lazy if tool.name.endswith("lazy") else eager
        yield Bar(
            f"nDCG@10, {name}, {tool.name}", t[ours.name] / t[tool.name], 1.0, "by hand", known=1.7
        )


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
        t = bench.seconds(calls)
        one = min(t[tool.name] for tool in DUCKDB if tool.metrics == (LINEAR,))
        ten = min(t[tool.name] for tool in DUCKDB if tool.metrics == TEN)
        yield Bar(
            f"nDCG@10, {rows:,} rows, DuckDB", one / t["one"], 1.5, "times ours", at_most=False
        )
        yield Bar(
            f"ten metrics, {rows:,} rows, DuckDB", ten / t["ten"], 4.0, "times ours", at_most=False
        )


def of_a_small_table(bench: Bench) -> Iterator[Bar]:
    frame = Shape(10, 100, text=True).table().frame
    times = 20  # before a round memory is cleared, which empties the processor's caches, too

    def repeated(*metrics: str) -> list[pl.DataFrame]:
        return [frame.rank.evaluate(*metrics) for _ in range(times)]

    t = bench.seconds(
        {"ten metrics": lambda: repeated(*TEN), "one metric": lambda: repeated(LINEAR)}, 51
    )
    yield Bar("ten metrics of 1,000 rows", t["ten metrics"] / times * 1e3, 3.0, "ms")
    yield Bar("one metric of 1,000 rows", t["one metric"] / times * 1e3, 1.5, "ms")


IMPORT = (
    "import time; start = time.perf_counter(); import {module}; print(time.perf_counter() - start)"
)


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
from ten import TEN
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
            frame = (
                Shape(max(bench.queries, 50_000), 100, text=text).table().frame
            )  # beyond what is fixed
            frame.write_ipc(path)
            size = sum(map(size_of, frame))
            code = MEMORY.format(folder=str(Path(__file__).parent), text=text, path=path, size=size)
            done = subprocess.run(
                [sys.executable, "-c", code], capture_output=True, text=True, check=True
            )
        yield Bar(
            f"memory at the peak, 5,000,000 rows, {ids} ids",
            float(done.stdout),
            3.0,
            "times columns",
        )


SIZES = (100_000, 300_000, 1_000_000, 3_000_000, 10_000_000, 30_000_000)


def of_growth(bench: Bench, sizes: Sequence[int] = SIZES) -> Iterator[Bar]:
    """The slope of the logarithm of the time over that of the rows: 1 is linear, and a sort's own
    is above it."""
    seconds = []
    for rows in sizes:
        frame = Shape(rows // 100, 100).table().frame
        rounds = 5 if rows <= 3_000_000 else 2
        seconds.append(
            bench.seconds({"ten": lambda frame=frame: frame.rank.evaluate(*TEN)}, rounds)["ten"]
        )
        print(
            f"  {rows:>11,} rows: {seconds[-1] * 1e3:9.1f} ms, "
            f"{rows / seconds[-1] / 1e6:5.1f} million rows a second"
        )
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
        yield Bar(
            f"{tool.name}, evaluate", t["theirs"] / t["ours"], alone, "times ours", at_most=False
        )
        if whole is not None:
            all_of_it = (prepare + t["theirs"]) / t["ours"]
            yield Bar(
                f"{tool.name}, from the data frame", all_of_it, whole, "times ours", at_most=False
            )


GUARDED = (
    of_ten_metrics,
    of_few_rows_per_query,
    of_lazy,
    of_hand,
    of_catalogue,
    of_one_metric,
    of_import,
    of_memory,
)
"""Ratios that need no tool that the tests do not have anyway."""
ALL = (*GUARDED, of_a_small_table, of_others, of_growth)
LARGE = (of_lazy_shapes, of_hand_at_ten_million, of_duckdb)


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
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    size = parser.add_mutually_exclusive_group()
    size.add_argument(
        "--guard", action="store_true", help="a small size, and fail beyond twice a bar"
    )
    size.add_argument("--large", action="store_true", help="the bars of large tables alone")
    parser.add_argument(
        "--only", nargs="*", default=[], help="parts of the names of groups, as: memory growth"
    )
    parser.add_argument(
        "--queries", type=int, help="of 100 rows each; 10,000, or 3,000 for the guard"
    )
    parser.add_argument("--rounds", type=int, help="7, or 5 for the guard, and 3 for large tables")
    parser.add_argument("--out", type=Path, default=Path("build/benchmarks"))
    options = parser.parse_args(arguments)
    queries, rounds = (3_000, 5) if options.guard else (10_000, 3) if options.large else (10_000, 7)
    take: Take = (
        (lambda seconds: seconds.least) if options.guard else (lambda seconds: seconds.median)
    )
    bench = Bench(options.queries or queries, options.rounds or rounds, take)
    every = GUARDED if options.guard else LARGE if options.large else ALL
    groups = [
        group
        for group in every
        if not options.only or any(word in group.__name__ for word in options.only)
    ]
    rows = "large tables" if options.large else f"{bench.queries * 100:,} rows"
    print(
        f"{rows}, {bench.rounds} rounds, Polars {pl.__version__}, {pl.thread_pool_size()} threads"
    )
    bars = judged(groups, bench)
    options.out.mkdir(parents=True, exist_ok=True)
    path = options.out / (
        "guard.json" if options.guard else "large.json" if options.large else "bars.json"
    )
    written = {
        **machine(),
        "rows": rows,
        "bars": [{**asdict(bar), "holds": bar.holds} for bar in bars],
    }
    path.write_text(json.dumps(written, indent=1) + "\n", encoding="utf-8")
    beyond = [bar for bar in bars if bar.excess > 2]
    print(
        f"{sum(bar.holds for bar in bars)} of {len(bars)} hold, {len(beyond)} are beyond "
        f"twice the bar; written: {path}"
    )
    return 1 if options.guard and beyond else 0


if __name__ == "__main__":
    sys.exit(main())
