"""The layout of the package: imports run one way, and formulas see nothing but a ranking."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

import rankframe

PACKAGE = Path(rankframe.__file__).parent

# Each module may import those of the levels above its own, and of its own level nothing but what is named with it.
LEVELS = [
    ["errors", "_text", "_in_pandas", "_greedy", "_by_score", "_threads"],
    ["_extras", "_options", "_draws"],
    ["_policies", "_roles", "_progress", "_unreadable", "_crossing", "stats", "_memory", "_spill"],
    ["_ranking", "_source"],
    ["_registry", "_call", "_table", "_wanted", "_pair", "_topics"],
    ["metrics", "_parse", "_rows", "_expected", "_conventions", "_sort"],
    ["io", "_frame", "_order", "_asking"],
    ["_plan", "_group", "_bounds_gain"],
    ["_bounds", "_diversity"],
    ["_two_tables"],
    ["_check"],
    ["_measure"],
    ["_verbs"],
    ["_resampling"],
    ["_tools", "_summary", "_marks", "_grid"],
    ["_runs", "_figures", "_render"],
    ["_paint", "report"],
    ["_compare"],
    ["plot", "_page", "_gate", "_power"],
    ["_showing"],
    ["_ranker"],
    ["_deciding_ranker"],
    ["_frame_ranker"],
    ["_polars", "hook", "_pandas"],
    ["_kernel", "_combine"],
    ["_buckets"],
    ["spark", "dask"],
    ["_namespace"],
    ["__init__"],
    ["_command"],
    ["__main__"],
]
SIDEWAYS = {
    ("_call", "_registry"),
    ("_wanted", "_table"),
    ("_pair", "_wanted"),
    ("_topics", "_wanted"),
    ("hook", "_pandas"),
    ("_pandas", "_polars"),
}
# The same of the modules of the command line.
OF_THE_COMMAND_LINE = [
    ["command", "words"],
    ["options", "output"],
    ["reading"],
    ["evaluate", "curve", "check", "conventions", "listing", "demo", "trec_eval"],
    ["decide"],
    ["report"],
    ["__init__"],
]
LEVEL = {name: i for i, names in enumerate(LEVELS) for name in names}


def imports(path: Path) -> set[str]:
    """The modules of the package that a file imports, wherever in the file."""
    found = set()
    depth = len(path.relative_to(PACKAGE).parts) - 1
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.level > depth:
            found |= {node.module.split(".")[0]} if node.module else {alias.name for alias in node.names}
        elif isinstance(node, ast.Import) and any(alias.name == "rankframe" for alias in node.names):
            found.add("__init__")
    return found


@pytest.mark.parametrize("path", sorted(PACKAGE.rglob("*.py")), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_run_one_way(path: Path) -> None:
    own = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
    for other in imports(path) - {own}:
        assert LEVEL[other] < LEVEL[own] or (own, other) in SIDEWAYS, f"{own} imports {other}"


def test_imports_of_the_command_line_run_one_way() -> None:
    level = {name: i for i, names in enumerate(OF_THE_COMMAND_LINE) for name in names}
    paths = sorted((PACKAGE / "_command").glob("*.py"))
    assert level.keys() == {path.stem for path in paths}
    for path in paths:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and node.level == 1:
                for other in [node.module] if node.module else [alias.name for alias in node.names]:
                    assert level[other] < level[path.stem], f"{path.stem} imports {other}"


@pytest.mark.parametrize("path", sorted((PACKAGE / "metrics").glob("*.py")), ids=lambda path: path.name)
def test_formulas_import_polars_the_words_of_rankings_and_each_other(path: Path) -> None:
    tree = ast.parse(path.read_text())
    named = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    assert named <= {"polars", "math"}
    assert imports(path) <= {"_ranking", "_registry", "_pair", "_topics", "errors"}


@pytest.mark.parametrize("path", sorted(PACKAGE.rglob("*.py")), ids=lambda path: path.name)
def test_modules_stay_short(path: Path) -> None:
    assert len(path.read_text().splitlines()) <= 400


def test_the_methods_of_rankers_stand_by_family_in_the_order_of_the_page_of_metrics() -> None:
    source = (PACKAGE / "_ranker.py").read_text()
    source = source[source.index("    # counts") : source.index("class ExprRanker")]
    families = [re.findall(r"= method\(metrics\.(\w+)\)", part) for part in re.split(r"(?m)^    # .*$", source)[1:]]
    formulas = [x.formula for x in rankframe.METRICS.values() if x.formula.__module__.startswith("rankframe.metrics.")]
    modules = dict.fromkeys(formula.__module__ for formula in formulas)
    assert families == [[x.__name__ for x in formulas if x.__module__ == module] for module in modules]


def test_one_import_brings_neither_the_optional_libraries_nor_the_command_line() -> None:
    code = "import sys, rankframe; print(sorted({'scipy', 'sklearn', 'matplotlib', 'pyspark', 'argparse'} & set(sys.modules)))"
    plain = "import sys, polars; print(sorted({'scipy', 'sklearn', 'matplotlib', 'pyspark', 'argparse'} & set(sys.modules)))"
    ours, theirs = (subprocess.check_output([sys.executable, "-c", c], text=True) for c in (code, plain))
    assert ours == theirs
