"""Change the package in one place at a time, and list the changes that no test notices.

    python scripts/mutate.py
        the mutations of scripts/mutations.txt; results in build/mutations.json
    python scripts/mutate.py --only compare_groups
        the mutations with a text in their line
    python scripts/mutate.py --draw
        draw the list anew, by the seed; explanations of unchanged lines stay

A line of the list is ``file | function | expression | mutated expression | which of equal ones``,
and ``# why`` for a mutation that changes no value. The tests of all areas run once, with the lines
that each one reaches. Then each mutation runs the tests of its area that reach its lines, the
smallest first, until one fails, in a copy of the repository. A mutation whose tests take longer
than the limit counts as noticed; one that was not run in time does not.
"""

from __future__ import annotations

import argparse
import ast
import copy
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from queue import SimpleQueue

from coverage import CoverageData

ROOT = Path(__file__).parents[1]
LIST, RESULTS = ROOT / "scripts" / "mutations.txt", ROOT / "build" / "mutations.json"
SEED = 29


@dataclass(frozen=True)
class Area:
    """Modules of one idea: how many mutations are drawn of them, and the tests that should
    notice."""

    count: int
    modules: tuple[str, ...]
    tests: tuple[str, ...]


def _verbs(room: str, *names: str) -> tuple[str, ...]:
    return tuple(f"_verbs/{room}/{name}.py" for name in names or ["*"])


AREAS = {
    "plan": Area(
        36, ("_plan/*.py", "_support/sorts.py"), ("tests/plan", "tests/lazy", "tests/metrics")
    ),
    "words": Area(
        30,
        ("_words/*.py",),
        ("tests/words", "tests/metrics", "tests/plan", "tests/fusion", "tests/items"),
    ),
    "metrics": Area(32, ("metrics/*.py",), ("tests/metrics", "tests/catalog", "tests/items")),
    "fusions": Area(
        21,
        (
            "fusions/*.py",
            *_verbs("fuse"),
            *_verbs("sample", "entries"),
            *_verbs("audit", "overlap"),
        ),
        ("tests/fusion", "tests/decisions", "tests/results"),
    ),
    "files": Area(15, ("_files/*.py",), ("tests/files", "tests/command", "tests/shapes")),
    "lift": Area(
        15, ("_lift/*.py",), ("tests/rankers", "tests/engines", "tests/verbs", "tests/lazy")
    ),
    "decisions": Area(
        30,
        (
            "stats.py",
            "_support/draws.py",
            *(
                f"_statistics/{name}.py"
                for name in ("estimate", "estimators", "sample", "tukey", "weighted_means")
            ),
            "_results/columns.py",
            "_results/compared_runs.py",
            *_verbs("decide", "compare", "estimation", "gate", "power", "slice_of_pairs"),
            *_verbs("groups"),
            *_verbs("measure", "paired_values", "summary"),
            *_verbs("sample", "resampling", "slices"),
        ),
        ("tests/decisions", "tests/items", "tests/results"),
    ),
    "items": Area(
        15,
        _verbs("items"),
        ("tests/items", "tests/metrics", "tests/fusion"),
    ),
    "sql": Area(12, ("_sql/*.py",), ("tests/sql",)),
    "statistics": Area(21, ("_statistics/*.py",), ("tests/decisions", "tests/logs")),
    "judges": Area(
        25,
        (
            *_verbs("collections"),
            *_verbs("sample", "judged"),
            *_verbs("measure", "judged_summary"),
            *_verbs("decide", "sequential"),
            *_verbs("audit", "reproduces"),
        ),
        ("tests/decisions", "tests/logs", "tests/collections"),
    ),
}

LEFT_OUT = ("_plan/rows_on_disk.py", "_lift/display.py")
"""Modules without mutations: one deletes folders, the other writes help."""

COMPARED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
}  # fmt: skip
COMPUTED: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult,
    ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd,
}  # fmt: skip
NAMED = {
    "all": "any", "any": "all", "ceil": "floor", "cum_max": "cum_min", "first": "last", "floor": "ceil", "last": "first",
    "max": "min", "maximum": "minimum", "min": "max", "minimum": "maximum",
}  # fmt: skip
DROPPED = {
    "abs",
    "clip",
    "cum_sum",
    "drop_nulls",
    "fill_nan",
    "fill_null",
    "reverse",
    "sort",
    "unique",
}
"""Methods whose call is left out."""


@dataclass(frozen=True)
class Mutation:
    """An expression of a function, another one in its place, and which of several equal expressions
    it is."""

    module: str
    function: str
    before: str
    after: str
    which: int
    why: str = ""

    def __str__(self) -> str:
        line = " | ".join((self.module, self.function, self.before, self.after, str(self.which)))
        return f"{line}  # {self.why}" if self.why else line

    @classmethod
    def read(cls, line: str) -> Mutation:
        """A line of the list."""
        text, _, why = line.partition("  # ")
        module, function, before, after, which = text.split(" | ")
        return cls(module, function, before, after, int(which), why)

    @property
    def area(self) -> str:
        """The area of its module."""
        return next(
            name
            for name, area in AREAS.items()
            if any(Path(self.module).match(x) for x in area.modules)
        )

    def place(self, source: str) -> Expression:
        """The expression in its module's source; ValueError if it is no longer there."""
        same = written(source).get((self.function, self.before), [])
        if self.which >= len(same):
            raise ValueError(f"no such expression: {self}")
        return same[self.which]

    def applied(self, source: str) -> str:
        """The module's source with the mutation."""
        node = self.place(source).node
        lines = source.encode().splitlines(keepends=True)
        start = sum(map(len, lines[: node.lineno - 1])) + node.col_offset
        end = sum(map(len, lines[: (node.end_lineno or 0) - 1])) + (node.end_col_offset or 0)
        whole = b"".join(lines)
        return (whole[:start] + f"({self.after})".encode() + whole[end:]).decode()


@dataclass(frozen=True)
class Expression:
    """An expression, the names of the functions around it, and the lines of its statement, without
    those below a colon."""

    node: ast.expr
    function: str
    lines: range


@cache
def expressions(source: str) -> tuple[Expression, ...]:
    """The expressions of functions that compute."""

    def inside(node: ast.AST, names: tuple[str, ...], lines: range) -> Iterator[Expression]:
        if isinstance(node, ast.stmt):
            body = getattr(node, "body", None)
            lines = range(
                node.lineno,
                max(body[0].lineno if body else (node.end_lineno or 0) + 1, node.lineno + 1),
            )
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names = (*names, node.name)
            children: Iterable[ast.AST] = node.body  # decorators, defaults and annotations declare
        elif isinstance(node, ast.Raise | ast.JoinedStr | ast.Assert):
            return
        elif isinstance(node, ast.AnnAssign):
            children = [node.value] if node.value else []
        else:
            children = ast.iter_child_nodes(node)
        if isinstance(node, ast.expr) and names:
            yield Expression(node, ".".join(names), lines)
        for child in children:
            yield from inside(child, names, lines)

    return tuple(inside(ast.parse(source), (), range(0)))


@cache
def written(source: str) -> dict[tuple[str, str], list[Expression]]:
    """The expressions by the names of their functions and their texts."""
    found: dict[tuple[str, str], list[Expression]] = {}
    for x in expressions(source):
        found.setdefault((x.function, ast.unparse(x.node)), []).append(x)
    return found


def mutated(node: ast.expr) -> Iterator[ast.expr]:
    """What an expression may be replaced by."""
    new = copy.deepcopy(node)
    match new:
        case ast.Compare(ops=[op]) if type(op) in COMPARED:
            new.ops = [COMPARED[type(op)]()]
            yield new
        case ast.BinOp(op=op) if type(op) in COMPUTED and not isinstance(new.left, ast.JoinedStr):
            new.op = COMPUTED[type(op)]()
            yield new
        case ast.BoolOp(op=op):
            new.op = ast.Or() if isinstance(op, ast.And) else ast.And()
            yield new
        case ast.UnaryOp(op=ast.Not() | ast.USub() | ast.Invert(), operand=operand):
            yield operand
        case ast.IfExp(body=body, orelse=orelse):
            new.body, new.orelse = orelse, body
            yield new
        case ast.Constant(value=bool(value)):
            yield ast.Constant(not value)
        case ast.Constant(value=int(value) | float(value)):
            yield ast.Constant(value + 1)
        case ast.Call(func=ast.Attribute(attr=name, value=of)) if name in DROPPED:
            yield of
        case ast.Call(func=ast.Attribute(attr=name) as function) if name in NAMED:
            function.attr = NAMED[name]
            yield new
        case ast.Call(func=ast.Name(id=name) as function) if name in NAMED:
            function.id = NAMED[name]
            yield new


def all_of(path: Path) -> list[Mutation]:
    """Every mutation of a module."""
    seen: Counter[tuple[str, str]] = Counter()
    found = []
    for x in expressions(path.read_text(encoding="utf-8")):
        function, before = x.function, ast.unparse(x.node)
        for new in mutated(x.node):
            after = ast.unparse(new)
            if "\n" not in before and " | " not in before + after and "  # " not in before + after:
                found.append(
                    Mutation(
                        str(path.relative_to(ROOT)), function, before, after, seen[function, before]
                    )
                )
        seen[function, before] += 1
    return found


def draw() -> list[Mutation]:
    """The list, drawn by the seed: an equal chance for every mutation of an area."""
    known = {replaced(x): x for x in read()} if LIST.exists() else {}
    rng, drawn = random.Random(SEED), []
    for area in AREAS.values():
        found = {path for pattern in area.modules for path in (ROOT / "rankframe").glob(pattern)}
        paths = sorted(path for path in found if not any(path.match(x) for x in LEFT_OUT))
        drawn += rng.sample([x for path in paths for x in all_of(path)], area.count)
    return [known.get(x, x) for x in drawn]


def replaced(x: Mutation) -> Mutation:
    return Mutation(x.module, x.function, x.before, x.after, x.which)


def read() -> list[Mutation]:
    return [Mutation.read(line) for line in LIST.read_text(encoding="utf-8").splitlines()]


PYTEST = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]


def environment(folder: Path) -> dict[str, str]:
    """The variables of a run of the tests in a folder; options for the run around it do not hold
    there."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTEST_ADDOPTS"}
    return {**kept, "PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}


def reaching(folder: Path, tests: Iterable[str], jobs: int) -> dict[str, dict[int, list[str]]]:
    """The tests that reach each line of each module, the smallest first; "" where a line runs when
    it is imported."""
    command = [
        *PYTEST,
        "-n",
        str(jobs),
        "--cov=rankframe",
        "--cov-context=test",
        "--cov-report=",
        "--cov-fail-under=0",
    ]
    if subprocess.run(
        [*command, *tests], cwd=folder, env=environment(folder), stdout=subprocess.DEVNULL
    ).returncode:
        raise SystemExit("the tests fail without a mutation")
    data = CoverageData(str(folder / ".coverage"))
    data.read()
    found: dict[str, dict[int, list[str]]] = {}
    size: Counter[str] = Counter()
    for path in data.measured_files():
        lines = found[str(Path(path).relative_to(folder))] = {}
        for line, contexts in data.contexts_by_lineno(path).items():
            lines[line] = sorted({context.rpartition("|")[0] for context in contexts})
            size.update(lines[line])
    for lines in found.values():
        for names in lines.values():
            names.sort(key=lambda name: size[name])
    return found


def tests_of(mutation: Mutation, source: str, found: dict[str, dict[int, list[str]]]) -> list[str]:
    """The tests of its area that reach the lines of a mutation; the area, if they run on import, or
    in a thread of Polars."""
    area = AREAS[mutation.area].tests
    lines = found.get(mutation.module, {})
    tests = dict.fromkeys(x for i in mutation.place(source).lines for x in lines.get(i, []))
    return (
        list(area)
        if "" in tests or not tests
        else [x for x in tests if x.startswith(tuple(f"{folder}/" for folder in area))]
    )


def tests_fail(folder: Path, tests: Iterable[str], seconds: float) -> str:
    """``noticed``, ``survived`` or ``endless``, after the tests in a copy of the repository."""
    (folder / "reaching.txt").write_text("\n".join(tests), encoding="utf-8")
    run = subprocess.Popen(
        [*PYTEST, "-x", "-n", "0", "@reaching.txt"],
        cwd=folder,
        env=environment(folder),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        return "noticed" if run.wait(seconds) else "survived"
    except subprocess.TimeoutExpired:
        return "endless"
    finally:
        if run.poll() is None:
            os.killpg(run.pid, signal.SIGKILL)
            run.wait()


def copied(to: Path) -> Path:
    """A copy of the files that Git knows."""
    names = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True
    ).stdout.decode()
    for name in filter(None, names.split("\0")):
        if (ROOT / name).is_file():
            (to / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, to / name)
    return to


def run(
    mutations: list[Mutation], jobs: int, seconds: float, minutes: float
) -> list[dict[str, object]]:
    """Run the tests of each mutation, and print what becomes of it."""
    end = time.monotonic() + 60 * minutes
    with tempfile.TemporaryDirectory(prefix="mutations-") as temporary:
        free: SimpleQueue[Path] = SimpleQueue()
        for i in range(jobs):
            free.put(copied(Path(temporary, str(i))))
        tests = dict.fromkeys(x for mutation in mutations for x in AREAS[mutation.area].tests)
        found = reaching(copied(Path(temporary, "unchanged")), tests, jobs)

        def outcome(mutation: Mutation) -> dict[str, object]:
            start = time.monotonic()
            if start > end:
                return {
                    **asdict(mutation),
                    "area": mutation.area,
                    "outcome": "not run",
                    "seconds": 0.0,
                }
            folder = free.get()
            path = folder / mutation.module
            source = path.read_text(encoding="utf-8")
            try:
                path.write_text(mutation.applied(source), encoding="utf-8")
                tests = tests_of(mutation, source, found)
                result = tests_fail(folder, tests, seconds)
            finally:
                path.write_text(source, encoding="utf-8")
                free.put(folder)
            print(f"{result:9} {mutation}", flush=True)
            return {
                **asdict(mutation),
                "area": mutation.area,
                "outcome": result,
                "seconds": time.monotonic() - start,
            }

        with ThreadPoolExecutor(jobs) as pool:
            return list(pool.map(outcome, mutations))


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--draw", action="store_true", help="draw the list anew")
    parser.add_argument(
        "--only",
        default=[""],
        nargs="+",
        metavar="TEXT",
        help="the mutations whose line contains a text",
    )
    parser.add_argument("--jobs", type=int, default=2, help="how many run at a time")
    parser.add_argument(
        "--seconds", type=float, default=180, help="the limit of one mutation's tests"
    )
    parser.add_argument(
        "--minutes", type=float, default=90, help="no mutation begins after this time"
    )
    given = parser.parse_args()
    if given.draw:
        LIST.write_text("".join(f"{x}\n" for x in draw()), encoding="utf-8")
        return 0
    found = run(
        [x for x in read() if any(text in str(x) for text in given.only)],
        given.jobs,
        given.seconds,
        given.minutes,
    )
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps(found, indent=1), encoding="utf-8")
    for area in AREAS:
        counted = Counter(str(x["outcome"]) for x in found if x["area"] == area)
        print(f"{area:10}", ", ".join(f"{n} {outcome}" for outcome, n in sorted(counted.items())))
    unexplained = [x for x in found if x["outcome"] == "survived" and not x["why"]]
    print(f"{len(unexplained)} survived without an explanation")
    return bool(unexplained)


if __name__ == "__main__":
    raise SystemExit(main())
