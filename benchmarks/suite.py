"""rankframe beside what else people use: same tables, same metrics, equal results, then times.

    python -m pip install -e . -r benchmarks/requirements.txt
    python benchmarks/suite.py                     # half an hour; with --quick a few minutes

prints one table and writes `results.json`, `results.md` and `chart.svg` into the folder of `--out`.
The unit is one bare `frame.sort("query_id", "score")` of the same table, timed in the same rounds:
figures are ratios, because machines differ. Every tool's values are compared with rankframe's,
query by query: of 20,000 rows before anything is timed, and of all rows in the first round. A tool
that differs ends the run. `python benchmarks/bars.py` says which of the bars hold.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from importlib.metadata import distributions, version
from pathlib import Path
from typing import Any

import polars as pl
from shapes import USUAL, Table, chosen
from timing import timed, warm
from tools import COMPETITORS, TEN, Tool, check, compare, rankframe

OURS = rankframe()[0].name
"""What the others are compared with, always on the whole table."""

LIBRARIES = (
    "rankframe", "polars", "pandas", "numpy", "ranx", "numba", "pytrec-eval-terrier", "ir-measures", "scikit-learn",
    "torch", "torchmetrics", "polars-ds", "duckdb",
)  # fmt: skip


@dataclass(frozen=True)
class Figure:
    """What a tool took for a table; seconds are medians, and None where nothing was prepared or
    measured."""

    table: str
    tool: str
    metrics: int
    sort: float
    rankframe: float
    prepare: float | None
    evaluate: float | None
    least: float | None = None
    most: float | None = None
    rounds: int = 0
    difference: float | None = None
    estimated: bool = False
    note: str = ""

    @property
    def from_frame(self) -> float | None:
        return None if self.evaluate is None else self.evaluate + (self.prepare or 0)

    def line(self) -> str:
        """The row of the printed table."""
        if (
            self.evaluate is None
            or self.from_frame is None
            or self.least is None
            or self.most is None
        ):
            return f"  {self.tool:24}{self.note}"
        about = "~" if self.estimated else ""
        prepare = "" if self.prepare is None else f"{about}{self.prepare / self.sort:.2f}"
        slower = ("", "") if self.tool.startswith("rankframe") else (
            f"{about}{self.evaluate / self.rankframe:.1f}", f"{about}{self.from_frame / self.rankframe:.1f}"
        )  # fmt: skip
        cells = (
            self.metrics, prepare, f"{about}{self.evaluate / self.sort:.2f}",
            f"{self.least / self.sort:.2f}-{self.most / self.sort:.2f}", f"{self.rankframe / self.sort:.2f}", *slower,
            self.rounds, f"{self.difference or 0:.0e}",
        )  # fmt: skip
        line = "".join(f"{cell:>{width}}" for cell, width in zip(cells, WIDTHS, strict=True))
        return f"  {self.tool:24}{line}{self.note and '  ' + self.note}"


HEADINGS = (
    "metrics",
    "prepare",
    "evaluate",
    "least-most",
    "rankframe",
    "x evaluate",
    "x all",
    "rounds",
    "difference",
)
WIDTHS = (8, 9, 10, 17, 10, 11, 9, 8, 11)
LEGEND = f"""
metrics: how many of the ten it computes ({", ".join(TEN)})
prepare, evaluate: medians, in bare sorts; prepare is what turns the frame into what the tool takes
rankframe: the same metrics by rankframe (Polars, eager), in bare sorts
x evaluate, x all: how many times longer than rankframe, without and with its preparation
~: of a part of the table, scaled up by its rows, because the whole would take longer than --budget
difference: the largest from rankframe's values, query by query
rankframe, Polars lazy and tools that are lazy read a Parquet file of the table, and their time has the reading in it
"""


@dataclass(eq=False)
class Course:
    """A tool on its way through the rounds; a slow one leaves early."""

    tool: Tool
    table: Table
    rounds: int
    difference: float = 0.0
    scale: float = 1.0
    ready: Any = None
    prepared: list[float] = field(default_factory=list)
    evaluated: list[float] = field(default_factory=list)

    def turn(self, number: int) -> None:
        """One round, if the tool still takes part in it."""
        if number >= _rounds(self.evaluated, self.rounds):
            self.ready = None
            return
        if number < _rounds(self.prepared, self.rounds):
            self.ready = None
            seconds, self.ready = timed(lambda: self.tool.ready(self.table))
            self.prepared.append(seconds)
        seconds, given = warm(lambda: self.tool.evaluate(self.ready))
        self.evaluated.append(seconds)
        if number == 0:
            self.difference = max(
                self.difference, compare(self.tool, self.table, self.ready, given)
            )


def _rounds(seconds: Sequence[float], rounds: int) -> int:
    """How many rounds something takes part in that took so long at first."""
    if not seconds or seconds[0] < 1.5:
        return rounds
    return min(rounds, 3 if seconds[0] < 4 else 1)


def course(tool: Tool, table: Table, rounds: int, budget: float) -> Course:
    """Checks the tool's values for a part of the table, and says on what table it is timed."""
    part = table.part(20_000)
    difference = check(tool, part)
    prepare, ready = timed(lambda: tool.ready(part))
    evaluate, _ = timed(lambda: tool.evaluate(ready))
    scale = table.frame.height / part.frame.height
    if (prepare + evaluate) * scale > budget:
        return Course(tool, part, 1, difference, scale)
    return Course(tool, table, rounds, difference)


def measure(table: Table, tools: Sequence[Tool], rounds: int, budget: float) -> list[Figure]:
    """A figure for each tool; the first is the one that the others are compared with."""
    taking_part, notes = [], {}
    for tool in tools:
        if tool.missing:
            notes[tool.name] = f"{tool.missing} is not installed"
        elif table.ties and not tool.ties:
            notes[tool.name] = "ties are not broken by document"
        else:
            taking_part.append(
                course(tool, table, rounds, math.inf if tool.name == OURS else budget)
            )
    asked = dict.fromkeys(c.tool.metrics for c in taking_part)
    reference = {c.tool.metrics: c for c in taking_part if c.tool.name == OURS}
    ours = {
        metrics: reference.get(metrics) or Course(rankframe(*metrics)[0], table, rounds)
        for metrics in asked
    }
    everyone = [*taking_part, *(c for c in ours.values() if c not in taking_part)]
    sorts = []
    for number in range(rounds):
        sorts.append(warm(lambda: table.frame.sort("query_id", "score"))[0])
        for each in everyone:
            each.turn(number)
    sort = statistics.median(sorts)
    found = {
        c.tool.name: _figure(c, table.name, sort, statistics.median(ours[c.tool.metrics].evaluated))
        for c in taking_part
    }
    absent = {
        name: Figure(table.name, name, 0, sort, 0, None, None, note=note)
        for name, note in notes.items()
    }
    return [{**found, **absent}[tool.name] for tool in tools]


def _figure(c: Course, table: str, sort: float, ours: float) -> Figure:
    return Figure(
        table,
        c.tool.name,
        len(c.tool.metrics),
        sort,
        ours,
        None if c.tool.prepare is None else statistics.median(c.prepared) * c.scale,
        statistics.median(c.evaluated) * c.scale,
        min(c.evaluated) * c.scale,
        max(c.evaluated) * c.scale,
        len(c.evaluated),
        c.difference,
        c.scale > 1,
        c.tool.note,
    )


COLD = """
import sys, time, warnings
warnings.simplefilter("ignore")
sys.path.insert(0, {folder!r})
start = time.perf_counter()
from shapes import Shape
from tools import COMPETITORS
table = Shape(100, 100).table()
ranx = COMPETITORS[0]
start = time.perf_counter()
ranx.evaluate(ranx.ready(table))
print(time.perf_counter() - start)
"""


def cold() -> float | None:
    """The seconds of ranx' first evaluation, of 10,000 rows, in a fresh process that has nothing
    compiled yet."""
    if COMPETITORS[0].missing:
        return None
    with tempfile.TemporaryDirectory() as cache:
        done = subprocess.run(
            [sys.executable, "-c", COLD.format(folder=str(Path(__file__).parent))],
            env={**os.environ, "NUMBA_CACHE_DIR": cache},
            capture_output=True,
            text=True,
            check=True,
        )
    return float(done.stdout.split()[-1])


def machine() -> dict[str, Any]:
    """What the figures were measured with."""
    installed = {distribution.name.replace("_", "-") for distribution in distributions()}
    libraries = {
        name: version(name) if name in installed else "not installed" for name in LIBRARIES
    }
    return {
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "threads": pl.thread_pool_size(),
        "libraries": libraries,
    }


def main(arguments: Sequence[str] | None = None) -> list[Figure]:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--shapes",
        nargs="*",
        default=[],
        help="parts of the names of shapes; all where none is given",
    )
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument(
        "--budget", type=float, default=15, help="seconds that one call of a tool may take"
    )
    parser.add_argument(
        "--quick", action="store_true", help="tables of a twentieth of the rows, in three rounds"
    )
    parser.add_argument("--out", type=Path, default=Path("build/benchmarks"))
    options = parser.parse_args(arguments)
    shapes = chosen(options.shapes)
    rounds, budget = (3, 1.5) if options.quick else (options.rounds, options.budget)
    options.out.mkdir(parents=True, exist_ok=True)
    about = machine()
    print(
        ", ".join(f"{name} {value}" for name, value in about["libraries"].items()),
        f"{about['threads']} threads",
    )
    print(
        f"\n{'':26}"
        + "".join(f"{text:>{width}}" for text, width in zip(HEADINGS, WIDTHS, strict=True))
    )
    figures: list[Figure] = []
    for name, shape in shapes.items():
        table = (shape.smaller(20) if options.quick else shape).table(name)
        measured = measure(table, [*rankframe(*TEN), *COMPETITORS], rounds, budget)
        rows = f" (here {table.frame.height:,} rows)" if options.quick else ""
        print(f"{name}{rows}; one bare sort: {measured[0].sort * 1e3:.1f} ms")
        for figure in measured:
            print(figure.line(), flush=True)
        figures += measured
        _write(options.out, figures, about)
    if not options.quick and (seconds := cold()) is not None:
        about["ranx, first evaluation in a fresh process, nothing compiled"] = seconds
        print(
            f"ranx, first evaluation in a fresh process with nothing compiled: {seconds:.1f} "
            "s for 10,000 rows"
        )
    _write(options.out, figures, about)
    print(LEGEND)
    shown = USUAL if USUAL in shapes else next(iter(shapes))
    (options.out / "results.md").write_text(markdown(figures, shown) + "\n", encoding="utf-8")
    draw([figure for figure in figures if figure.table == shown], options.out)
    print(f"written: results.json, results.md, chart.svg and chart.png in {options.out}")
    return figures


def markdown(figures: Sequence[Figure], shown: str) -> str:
    """Two tables for a page: of one shape all that was measured, and of all shapes the times in
    bare sorts."""

    def number(seconds: float | None, unit: float, about: bool) -> str:
        return (
            ""
            if seconds is None
            else f"{'~' if about else ''}{seconds / unit:.{0 if seconds > 20 * unit else 1}f}"
        )

    one = [
        [
            "tool",
            "metrics",
            "prepare",
            "evaluate",
            "rankframe, the same",
            "evaluate, times ours",
            "all, times ours",
        ]
    ]
    for f in figures:
        if f.table == shown and f.evaluate is not None:
            theirs = [number(x, f.rankframe, f.estimated) for x in (f.evaluate, f.from_frame)]
            ours = f.tool.startswith("rankframe")
            times = [number(x, f.sort, f.estimated) for x in (f.prepare, f.evaluate)]
            one.append(
                [
                    f.tool,
                    str(f.metrics),
                    *times,
                    number(f.rankframe, f.sort, False),
                    *(["", ""] if ours else theirs),
                ]
            )
    found = {(f.table, f.tool): number(f.from_frame, f.sort, f.estimated) for f in figures}
    tables, tools = (list(dict.fromkeys(key[i] for key in found)) for i in (0, 1))
    every = [
        ["table", *tools],
        *([table, *(found[table, tool] for tool in tools)] for table in tables),
    ]
    notes: dict[str, list[str]] = {}
    for f in figures:
        if f.table == shown and f.evaluate is not None and f.note:
            notes.setdefault(f.note, []).append(f.tool)
    said = [f"{', '.join(tools)}: {note}." for note, tools in notes.items()]
    return "\n".join(
        [
            f"{shown}, in bare sorts:",
            "",
            *_lines(one),
            "",
            *said,
            "",
            "From the data frame, in bare sorts:",
            "",
            *_lines(every),
        ]
    )


def _lines(rows: Sequence[Sequence[str]]) -> list[str]:
    return [
        "| " + " | ".join(row) + " |"
        for row in (rows[0], ["---", *["---:"] * (len(rows[0]) - 1)], *rows[1:])
    ]


# the picture of one table's figures

OUR_BARS, THEIR_BARS, TEXT = "#0072B2", "#E69F00", "#333333"
"""Of the palette of Okabe and Ito, which colour-blind readers tell apart."""


def _short(ratio: float) -> str:
    return f"{ratio:.0f}" if ratio >= 10 else f"{ratio:.1f}"


def draw(figures: Sequence[Figure], folder: Path) -> None:
    """Writes chart.svg and chart.png: a bar per tool, what it prepares in a lighter shade."""
    import matplotlib

    matplotlib.use("agg")
    from matplotlib import pyplot as plt
    from matplotlib.patches import Patch
    from matplotlib.ticker import FuncFormatter

    shown = sorted(
        (f for f in figures if f.evaluate), key=lambda f: f.from_frame or 0, reverse=True
    )
    fig, ax = plt.subplots(figsize=(9, 0.42 * len(shown) + 2.1), layout="constrained")
    floor = 0.1
    for place, f in enumerate(shown):
        colour = OUR_BARS if f.tool.startswith("rankframe") else THEIR_BARS
        evaluate, whole = (f.evaluate or 0) / f.sort, (f.from_frame or 0) / f.sort
        ax.barh(
            place,
            whole - floor,
            left=floor,
            height=0.66,
            color=colour,
            alpha=0.35 if f.prepare else 1,
        )
        if f.prepare:
            ax.barh(place, evaluate - floor, left=floor, height=0.66, color=colour)
        about = "about " if f.estimated else ""
        alone = f" ({_short(evaluate)} without)" if f.prepare and whole > 1.1 * evaluate else ""
        clear = {
            "facecolor": "white",
            "edgecolor": "none",
            "pad": 1,
        }  # of the line at one bare sort
        ax.text(
            whole * 1.08,
            place,
            f"{about}{_short(whole)}{alone}",
            va="center",
            fontsize=9,
            color=TEXT,
            bbox=clear,
        )
        if colour == THEIR_BARS:
            ax.plot(
                f.rankframe / f.sort,
                place,
                "D",
                color=OUR_BARS,
                markeredgecolor="white",
                markersize=6.5,
            )
    names = [f.tool if f.metrics == 10 else f"{f.tool} ({f.metrics} of ten)" for f in shown]
    ax.set_yticks(range(len(shown)), names, fontsize=10)
    for label, f in zip(ax.get_yticklabels(), shown, strict=True):
        label.set_fontweight("bold" if f.tool.startswith("rankframe") else "normal")
    ax.axvline(1, color=TEXT, linewidth=1, linestyle=(0, (4, 3)), zorder=0)
    ax.set_xscale("log")
    ax.set_ylim(-0.7, len(shown) - 0.3)
    ax.set_xlim(floor, max(f.from_frame or 0 for f in shown) / shown[0].sort * 6)
    ax.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}"))
    ax.set_xlabel("time, in bare sorts of the same table (log scale)", color=TEXT)
    fig.suptitle(
        f"Ten ranking metrics of every query: {shown[0].table}", fontsize=12, x=0.01, ha="left"
    )
    handles = [
        Patch(color=OUR_BARS, label="rankframe, from the data frame"),
        Patch(color=THEIR_BARS, label="others: evaluate"),
        Patch(
            color=THEIR_BARS, alpha=0.35, label="others: turn the data frame into what they take"
        ),
        plt.Line2D(
            [],
            [],
            marker="D",
            color=OUR_BARS,
            linestyle="",
            label="rankframe, the same metrics as the bar",
        ),
        plt.Line2D([], [], color=TEXT, linestyle=(0, (4, 3)), linewidth=1, label="one bare sort"),
    ]
    fig.legend(handles=handles, loc="outside lower center", ncols=3, fontsize=8.5, frameon=False)
    ax.spines[["top", "right"]].set_visible(False)
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": "chart"}):
        fig.savefig(folder / "chart.svg", metadata={"Date": None})
    fig.savefig(folder / "chart.png", dpi=130)
    plt.close(fig)


def _write(folder: Path, figures: Sequence[Figure], about: dict[str, Any]) -> None:
    """The figures so far, so that a run that is broken off leaves what it has."""
    results = {**about, "figures": [asdict(figure) for figure in figures]}
    (folder / "results.json").write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
