"""Tables larger than memory on one machine: seconds and peak memory, beside DuckDB doing the same
in SQL, and their bars.

    python benchmarks/larger_than_memory.py --folder /data/big --rows 3e6 3e7 3e8 --verbs-at 3e7
    python benchmarks/larger_than_memory.py --folder /data/big --rows 1e9 --only "ten metrics, memory_limit=500MB"

Every measurement runs in a process of its own, from Parquet to Parquet, so that its peak memory is
its own, with that of processes that it starts. 300,000,000 rows take 6 GB of Parquet in the folder,
1,000,000,000 take 20 GB, and as much again while they are spilled. Tables are made of their row
numbers, in pieces; pieces that are there already are not made again. A row's query is a
permutation of its number, so that the rows of a query lie all over the table: the hardest order
there is. Seconds of the processor are those of all cores together; they hardly change where other
work has the cores half of the time.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl
from bar import Bar
from tools import LINEAR, NDCG_BY_AGGREGATES, NDCG_BY_WINDOWS, TEN, TEN_BY_WINDOWS

import rankframe  # noqa: F401 - registers .rank

PIECE = 5_000_000
"""The rows of a piece."""
# --------------------------------------------------------------------------------------------------
# -------- the tables


def mixed(x: np.ndarray) -> np.ndarray:
    """Whole numbers without order: the finalizer of SplitMix64."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def piece(start: int, stop: int, rows: int, per_query: int) -> pl.DataFrame:
    """The rows from one number to another of a table that has `rows`."""
    step = round(rows * 0.6180339887)
    while math.gcd(step, rows) > 1:
        step += 1
    place = np.arange(start, stop, dtype=np.uint64) * np.uint64(step) % np.uint64(rows)
    first = mixed(place + np.uint64(1))
    second = mixed(first)
    relevant = second % np.uint64(100) < 40
    return pl.DataFrame(
        {
            "query_id": (place // np.uint64(per_query)).astype(np.int32),
            "doc_id": (mixed(second) >> np.uint64(1)).astype(np.int64),
            "score": (first >> np.uint64(11)) * 2.0**-53,
            "label": np.where(relevant, 1 + (second >> np.uint64(40)) % np.uint64(4), 0).astype(
                np.int8
            ),
        }
    )


def table(folder: Path, rows: int, per_query: int) -> Path:
    """The folder of a table, whose missing pieces are made."""
    at = folder / f"{rows}_by_{per_query}"
    at.mkdir(parents=True, exist_ok=True)
    for number, start in enumerate(range(0, rows, PIECE)):
        path = at / f"{number:05}.parquet"
        if not path.exists():
            made = piece(start, min(rows, start + PIECE), rows, per_query)
            made.write_parquet(path.with_suffix(".part"), row_group_size=500_000)
            path.with_suffix(".part").rename(path)
    return at


# --------------------------------------------------------------------------------------------------
# ---- the measurements


def ours(
    verb: str, *metrics: str, limit: str | None = None, **options: Any
) -> Callable[[Path, Path, int], None]:
    """A verb of ours, from a folder of Parquet to a file."""

    def work(at: Path, out: Path, memory: int) -> None:
        ranker = pl.scan_parquet(at / "*.parquet").rank.on(memory_limit=limit)
        getattr(ranker, verb)(*metrics, **options).sink_parquet(out)

    return work


def in_memory(at: Path, out: Path, memory: int) -> None:
    """Ten metrics of a DataFrame that is read first."""
    pl.read_parquet(at / "*.parquet").rank.evaluate(*TEN).write_parquet(out)


def theirs(sql: str) -> Callable[[Path, Path, int], None]:
    """A query of DuckDB's, from a folder of Parquet to a file."""

    def work(at: Path, out: Path, memory: int) -> None:
        with duckdb.connect() as con:
            con.sql(f"SET memory_limit='{memory}MB'")
            con.sql(f"SET temp_directory='{out.parent / 'spill'}'")
            con.sql("SET preserve_insertion_order=false")
            con.sql(f"SET threads={os.cpu_count()}")
            con.read_parquet(str(at / "*.parquet")).create_view("judged")
            con.sql(f"COPY ({sql}) TO '{out}' (FORMAT parquet)")

    return work


LIMITED = ", memory_limit=1GB"
SMALL = "ten metrics, memory_limit=500MB"
"""Its node shows a progress bar on a terminal, since a billion rows take minutes."""
VERBS: dict[str, Callable[..., Callable[[Path, Path, int], None]]] = {
    "ten metrics": partial(ours, "evaluate", *TEN),
    "ndcg@10": partial(ours, "evaluate", LINEAR),
    "summarize": partial(ours, "summarize", *TEN, ci=None),
    "with_metrics": partial(ours, "with_metrics", *TEN),
    "curve": partial(ours, "curve", "ndcg", "map"),
}
DUCKDB = {
    "DuckDB, ndcg@10 by windows": (theirs(NDCG_BY_WINDOWS), LINEAR),
    "DuckDB, ndcg@10 by aggregates": (theirs(NDCG_BY_AGGREGATES), LINEAR),
    "DuckDB, ten metrics": (theirs(TEN_BY_WINDOWS), *TEN),
}
"""Its work, and the metrics that it gives."""
WORK: dict[str, Callable[[Path, Path, int], None]] = {
    **{name: verb() for name, verb in VERBS.items()},
    **{name + LIMITED: verb(limit="1GB") for name, verb in VERBS.items()},
    SMALL: partial(ours, "evaluate", *TEN)(limit="500MB"),
    "ten metrics of a DataFrame": in_memory,
    **{name: work for name, (work, *_) in DUCKDB.items()},
}
LARGE = ("ten metrics", "ten metrics" + LIMITED, SMALL, "ndcg@10", *DUCKDB)
"""What is measured at every size; all of our verbs at one."""
OF_VERBS = tuple(name for name in WORK if name not in DUCKDB and not name.startswith("ndcg"))


def measure(what: str, at: Path, out: Path, memory: int) -> dict[str, float]:
    """The seconds and the megabytes of a measurement, in a process of its own."""
    spill = out.parent / "spill"
    spill.mkdir(exist_ok=True)
    command = [sys.executable, __file__, "--work", what, str(at), str(out), str(memory)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    shutil.rmtree(spill, ignore_errors=True)
    if done.returncode != 0:
        return {"seconds": math.nan, "cpu": math.nan, "megabytes": math.nan}
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def work(what: str, at: str, out: str, memory: str) -> None:
    """What the process of a measurement does."""
    start = time.perf_counter()
    WORK[what](Path(at), Path(out), int(memory))
    seconds, used = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_SELF)
    print(
        json.dumps({"seconds": seconds, "cpu": used.ru_utime + used.ru_stime, "megabytes": peak()})
    )


def peak() -> float:
    """The most memory that this process ever had, in megabytes; files that are mapped into it
    count, and so do children."""
    unit = 1 if sys.platform == "darwin" else 2**10
    most, children = (
        resource.getrusage(who).ru_maxrss * unit
        for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    )
    status = Path("/proc/self/status")
    if status.exists():  # a forked process inherits its parent's `ru_maxrss`
        (line,) = [line for line in status.read_text().splitlines() if line.startswith("VmHWM")]
        most = int(line.split()[1]) * 1024
    return (most + children) / 1e6


def slope(rows: Sequence[int], seconds: Sequence[float]) -> float:
    """How the time grows: 1 means in proportion to the rows."""
    return float(np.polyfit(np.log(rows), np.log(seconds), 1)[0])


def check(at: Path, folder: Path, memory: int) -> int:
    """Compare the values of ours with those of DuckDB's; gives the number of queries."""

    def values(what: str) -> pl.DataFrame:
        out = folder / "check.parquet"
        WORK[what](at, out, memory)
        found = pl.read_parquet(out).sort("query_id")
        out.unlink()
        return found

    found = values("ten metrics")
    for name, (_, *metrics) in DUCKDB.items():
        other = values(name)
        if not found["query_id"].equals(other["query_id"]):
            raise ValueError(f"{name} gives other queries")
        for metric in metrics:
            if not (found[metric] - other[metric]).abs().max() <= 1e-9:  # type: ignore[operator]
                raise ValueError(f"{name} gives other values of {metric}")
    return len(found)


PEAKS = {"": 4.0, LIMITED: 1.5}
"""The gigabytes that a verb may have, of a machine with 24 GB whose default budget is a sixth of
it."""

PER_ROW = 224 / 300
"""The microseconds of processor that a row may take: 224 s for 300,000,000."""

Found = Mapping[tuple[str, int, int], Mapping[str, float]]
"""What was measured, by its name, the rows, and the rows of a query."""


def judged(found: Found) -> Iterator[Bar]:
    """The bars of what was measured; a run that failed has no figure, and holds none."""
    for (name, rows, per_query), figures in found.items():
        verb = name.removesuffix(LIMITED)
        table = f"{rows:,} rows" if per_query != 2 else f"{rows // 2:,} queries of 2"
        if verb in VERBS:
            yield Bar(
                f"peak of {name}, {table}",
                figures["megabytes"] / 1e3,
                PEAKS[name[len(verb) :]],
                "GB",
            )
    times = {
        rows: figures["cpu"]
        for (name, rows, per), figures in found.items()
        if (name, per) == ("ten metrics", 100)
    }
    most = max(times, default=0)
    if times:
        yield Bar(
            f"processor, ten metrics, {most:,} rows",
            times[most] / most * 1e6,
            PER_ROW,
            "microseconds a row",
        )
    if len(times) > 1:
        before = sorted(times)[-2]
        growth = slope((before, most), (times[before], times[most]))
        yield Bar(f"processor, from {before:,} to {most:,} rows", growth, 1.1, "as exponent")
    for name, (_, *metrics) in DUCKDB.items():
        theirs, mine = (
            found.get((name, most, 100)),
            found.get(("ten metrics" if metrics[1:] else LINEAR, most, 100)),
        )
        if theirs is not None and mine is not None:
            faster = theirs["cpu"] / mine["cpu"]
            yield Bar(f"{name}, {most:,} rows", faster, 1.0, "times ours", at_most=False)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--folder", type=Path, required=True, help="where tables, results and spilled data go"
    )
    parser.add_argument(
        "--rows",
        type=float,
        nargs="*",
        default=[3e6, 3e7, 3e8],
        help="sizes, of 100 rows per query",
    )
    parser.add_argument("--verbs-at", type=float, help="the size for all our verbs")
    parser.add_argument("--one-query", type=float, help="the rows of a table with a single query")
    parser.add_argument("--pairs", type=float, help="the queries of a table with two rows each")
    parser.add_argument("--memory", type=int, default=4000, help="MB after which DuckDB spills")
    parser.add_argument(
        "--only", nargs="*", choices=WORK, default=WORK, help="the measurements to be made"
    )
    parser.add_argument("--keep", action="store_true", help="keep the tables")
    given = parser.parse_args()

    sizes = [(int(rows), 100, LARGE) for rows in given.rows]
    if given.verbs_at:
        sizes.append((int(given.verbs_at), 100, OF_VERBS))
    if given.one_query:
        sizes.append((int(given.one_query), int(given.one_query), LARGE))
    if given.pairs:
        sizes.append((int(given.pairs) * 2, 2, LARGE))
    given.folder.mkdir(parents=True, exist_ok=True)
    if given.rows:
        smallest = table(given.folder, int(min(given.rows)), 100)
        print(
            f"DuckDB's values are ours: {check(smallest, given.folder, given.memory)} queries",
            flush=True,
        )

    print(
        f"{'':30}{'rows':>12}{'queries':>12}{'seconds':>9}{'CPU s':>9}{'rows/s':>11}{'peak MB':>9}",
        flush=True,
    )
    measured: dict[tuple[str, int, int], dict[str, float]] = {}
    for rows, per_query, names in sizes:
        at = table(given.folder, rows, per_query)
        for name in names:
            if name in given.only and (name, rows, per_query) not in measured:
                found = measured[name, rows, per_query] = measure(
                    name, at, given.folder / "result.parquet", given.memory
                )
                line = f"{name:30}{rows:12}{rows // per_query:12}{found['seconds']:9.1f}{found['cpu']:9.1f}"
                print(f"{line}{rows / found['seconds']:11.0f}{found['megabytes']:9.0f}", flush=True)
    for name in LARGE:
        times = {
            rows: x["seconds"]
            for (what, rows, per), x in measured.items()
            if (what, per) == (name, 100)
        }
        if len(times) > 1:
            print(
                f"{name}: seconds grow with rows to the power "
                f"{slope(list(times), list(times.values())):.2f}"
            )
    bars = list(judged(measured))
    print(*(bar.line() for bar in bars), sep="\n")
    print(f"{sum(bar.holds for bar in bars)} of {len(bars)} hold")
    if not given.keep:
        for rows, per_query, _ in sizes:
            shutil.rmtree(given.folder / f"{rows}_by_{per_query}", ignore_errors=True)
        (given.folder / "result.parquet").unlink(missing_ok=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--work"]:
        work(*sys.argv[2:])
    else:
        main()
