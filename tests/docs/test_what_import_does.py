"""What stays behind in a process: the page names all of it that is in the package, and nothing else."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import rankframe as rf
from tests.support.each import each

PACKAGE = Path(rf.__file__).parent
PAGE = (Path(__file__).parents[2] / "docs" / "what_import_does.md").read_text(encoding="utf-8")

# Names by which a module gets at something that outlives a call, or that others see too.
OUTLIVING = {
    "Config", "ContextVar", "Lock", "ProcessPoolExecutor", "RLock", "TemporaryDirectory", "Thread", "ThreadPoolExecutor",
    "Timer", "atexit", "cache", "dup2", "environ", "excepthook", "filterwarnings", "getenv", "local", "lru_cache",
    "meta_path", "mkdtemp", "mkstemp", "path_hooks", "putenv", "rcParams", "reconfigure", "register_at_fork",
    "register_dataframe_accessor", "register_dataframe_namespace", "register_lazyframe_namespace", "set_option", "setattr", "simplefilter",
}  # fmt: skip
OF_OTHERS = ("sys", "frame", "loader", "globals()")
"""What a module changes that is not its own: Python's, pandas' class, the loader of pandas, the package's names."""
CHANGES = {
    "add", "append", "clear", "discard", "extend", "insert", "pop", "popitem", "put", "remove", "setdefault", "update",
}  # fmt: skip


def state_of(module: str, code: str) -> Iterator[str]:
    """The names at the top of a module that hold state, or reach for some that is not the module's own."""
    tree = ast.parse(code)
    own = {name for node in tree.body for name in bound(node)}
    for node in tree.body:
        holder = next(bound(node), "import")
        if (
            isinstance(node, ast.AnnAssign)
            and isinstance(node.value, ast.Call)
            and name_of(node.value.func) == "Registry"
        ):
            yield f"{module}.{holder}"
        for part in ast.walk(node):
            if isinstance(part, ast.Global):
                yield from (f"{module}.{name}" for name in part.names)
            changed = list(changes(part))
            if name_of(part) in OUTLIVING or not {*OF_OTHERS}.isdisjoint(changed):
                yield f"{module}.{holder}"
            if isinstance(node, ast.FunctionDef | ast.ClassDef):  # what a module does as it is loaded is no change
                yield from (f"{module}.{name}" for name in changed if name in own)


def bound(node: ast.stmt) -> Iterator[str]:
    """The names that a statement at the top of a module defines."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        yield node.name
    elif isinstance(node, ast.Assign | ast.AnnAssign):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        yield from (target.id for target in targets if isinstance(target, ast.Name))


def name_of(node: ast.AST) -> str | None:
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else None


def changes(node: ast.AST) -> Iterator[str]:
    """What a piece of code changes in place: of whom an item or an attribute is set, or which list is added to."""
    for target in node.targets if isinstance(node, ast.Assign | ast.Delete) else ():
        for part in ast.walk(target):
            if isinstance(part, ast.Subscript | ast.Attribute) and not isinstance(part.ctx, ast.Load):
                yield ast.unparse(part.value)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in CHANGES:
        yield ast.unparse(node.func.value)


def test_the_page_names_all_state_of_the_package_and_nothing_else() -> None:
    found = {
        name
        for path in PACKAGE.rglob("*.py")
        for name in state_of(".".join(path.relative_to(PACKAGE).with_suffix("").parts), path.read_text("utf-8"))
    }
    modules = "|".join({re.escape(name.partition(".")[0]) for name in found})
    assert set(re.findall(rf"`((?:{modules})\.[\w.]+)`", PAGE)) == found


@each(
    ("code", "found"),
    [
        ("KEPT = {}\ndef keep(x):\n    KEPT[x] = 1", {"m.KEPT"}),
        ("SEEN = []\ndef see(x):\n    SEEN.append(x)", {"m.SEEN"}),
        ("TABLE = {}\nTABLE['a'] = 1", set()),
        ("def f():\n    kept = {}\n    kept['a'] = 1", set()),
        ("from functools import lru_cache\n@lru_cache\ndef f(): ...", {"m.f"}),
        ("import functools\nkept = functools.lru_cache(maxsize=1)(len)", {"m.kept"}),
        ("import os\ndef limit():\n    return os.environ.get('X')", {"m.limit"}),
        ("import sys\ndef quiet():\n    sys.stderr = None", {"m.quiet"}),
        ("N = 0\ndef count():\n    global N\n    N += 1", {"m.N"}),
        ("import atexit\natexit.register(print)", {"m.import"}),
    ],
)
def test_the_search_for_state_finds_it(code: str, found: set[str]) -> None:
    assert set(state_of("m", code)) == found


LOOK = """
import atexit, json, os, signal, sys, threading, warnings
import polars

def seen():
    return {
        "finders": [str(type(x)) for x in sys.meta_path], "variables": dict(os.environ), "threads": threading.active_count(),
        "filters": [str(x) for x in warnings.filters], "signals": str([signal.getsignal(x) for x in signal.valid_signals()]),
        "path": [sys.path, [str(x) for x in sys.path_hooks]], "hooks": str([sys.excepthook, sys.displayhook]),
        "exits": atexit._ncallbacks(), "modules": sorted(sys.modules),
    }

before = seen()
import rankframe
after = seen()
print(json.dumps([before, after]))
"""


def test_the_import_adds_a_finder_and_modules_and_changes_nothing_else() -> None:
    done = subprocess.run([sys.executable, "-c", LOOK], capture_output=True, text=True, check=True)
    before, after = json.loads(done.stdout)
    assert after.pop("finders") == ["<class 'rankframe.hook.Finder'>", *before.pop("finders")]
    brought = {name.partition(".")[0] for name in set(after.pop("modules")) - set(before.pop("modules"))}
    assert brought <= {"rankframe", *sys.stdlib_module_names}
    assert after == before
