"""The layout of the package: imports between folders run one way, and formulas see nothing but a ranking."""

from __future__ import annotations

import ast
import inspect
import re
import subprocess
import sys
import typing
from collections.abc import Iterator
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import rankframe
from scripts.sentences import of_code
from tests.support.each import each

PACKAGE = Path(rankframe.__file__).parent

# The rooms of `_verbs`, bottom up.
ROOMS = ("call", "sample", "measure", "decide", "groups", "fuse", "items", "collections", "audit")

# The folders of the package and its public modules, bottom up: each imports nothing but itself and those before it.
FLOORS = [
    *("errors", "_support", "_statistics", "stats"),
    "_table",
    *("_words", "_catalog", "metrics", "fusions"),
    *("_results", "report"),
    "_plan",
    *(f"_verbs/{name}" for name in ROOMS),
    *("_pictures", "plot", "results"),
    *("_lift", "hook", "spark", "dask"),
    "_sql",
    *("_shapes", "_files", "io", "evaluation", "fusion"),
    "_trainers",
    *("__init__", "_command", "__main__"),
]  # fmt: skip
PATHS = sorted(PACKAGE.rglob("*.py"))
MODULES = {path.relative_to(PACKAGE).with_suffix("").parts: path for path in PATHS}
PRIVATE = {folder.split("/")[0] for folder in FLOORS if folder.startswith("_") and not folder.startswith("__")}


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def imports(module: tuple[str, ...]) -> list[tuple[str, ...]]:
    """The modules of the package that a module imports, wherever in its file."""
    return [*_imports(module)]


def _imports(module: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    for node in ast.walk(tree(MODULES[module])):
        if isinstance(node, ast.Import):
            names = [tuple(alias.name.split(".")) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            above = ("rankframe", *module)[: -node.level] if node.level else ()
            parent = (*above, *(node.module or "").split(".")) if node.module else above
            names = [(*parent, alias.name) for alias in node.names]
        else:
            continue
        for package, *name in names:
            if package == "rankframe":
                possible = [found for part in (name, name[:-1]) for found in ((*part,), (*part, "__init__"))]
                yield next(found for found in possible if found in MODULES)


def room(module: tuple[str, ...]) -> str:
    """The folder of a module, with the room in `_verbs`, or the public module itself."""
    return "/".join(module[:2]) if module[0] == "_verbs" else module[0]


def test_every_folder_and_public_module_has_its_floor() -> None:
    assert sorted(FLOORS) == sorted({room(module) for module in MODULES} - {"_verbs/__init__"})


def test_no_folder_holds_more_than_15_percent_of_the_packages_tokens() -> None:
    folders = {path.parent for path in PATHS}
    tokens = {folder: sum(of_code(path).tokens for path in folder.glob("*.py")) for folder in folders}
    assert [folder for folder, count in tokens.items() if count > 0.15 * sum(tokens.values())] == []


def test_imports_between_folders_run_one_way() -> None:
    floor = {folder: place for place, folder in enumerate(FLOORS)}
    pairs = ((module, other) for module in MODULES for other in imports(module))
    assert [pair for pair in pairs if floor[room(pair[1])] > floor[room(pair[0])]] == []


def test_imports_run_in_no_circle() -> None:
    TopologicalSorter({module: set(imports(module)) - {module} for module in MODULES}).prepare()


@each("folder", sorted({path.parent for path in PATHS} - {PACKAGE}), ids=lambda folder: folder.name)
def test_a_folder_says_who_lives_there(folder: Path) -> None:
    assert ast.get_docstring(tree(folder / "__init__.py"))


LISTS = (rankframe.METRICS, rankframe.AGREEMENTS, rankframe.CATALOG_METRICS)
FORMULAS = [metric.formula for among in LISTS for metric in among.values()]


def seen(formula: object) -> str:
    """The module of what a formula sees: the class of its first parameter."""
    return next(iter(typing.get_type_hints(formula).values())).__module__


@each("module", [module for module in MODULES if room(module) == "metrics"], ids="/".join)
def test_formulas_import_polars_what_they_see_and_each_other(module: tuple[str, ...]) -> None:
    named = {
        alias.name for node in ast.walk(tree(MODULES[module])) if isinstance(node, ast.Import) for alias in node.names
    }
    assert named <= {"polars", "math"}
    declarations = {rankframe.metric.__module__, rankframe.catalog_metric.__module__}
    of_polars = "rankframe._support.polars_versions"
    at_hand = {*map(seen, FORMULAS), *declarations, rankframe.errors.__name__, of_polars}
    others = {".".join(("rankframe", *other)) for other in imports(module) if room(other) != "metrics"}
    assert others <= at_hand


# Names of `typing` that Python 3.10 lacks.
NEWER = {
    "LiteralString", "Never", "NotRequired", "ReadOnly", "Required", "Self", "TypeAliasType", "TypeIs", "TypeVarTuple", "Unpack",
    "assert_never", "assert_type", "dataclass_transform", "get_overloads", "override", "reveal_type",
}  # fmt: skip


def test_modules_import_no_name_that_the_oldest_python_lacks() -> None:
    nodes = ((path, node) for path in PATHS for node in tree(path).body)
    imported = ((path, node) for path, node in nodes if isinstance(node, ast.ImportFrom) and node.module == "typing")
    assert [(path, alias.name) for path, node in imported for alias in node.names if alias.name in NEWER] == []


def test_private_modules_have_no_list_of_their_names() -> None:
    """Nothing reads it: a name is imported from the module that defines it."""
    assert [
        path for module, path in MODULES.items() if module[0] in PRIVATE and "__all__" in path.read_text("utf-8")
    ] == []


def test_the_methods_of_rankers_stand_by_family_in_the_order_of_the_page_of_metrics() -> None:
    source = inspect.getsource(next(kind for kind in type(rankframe.expr).__mro__ if "ndcg" in vars(kind)))
    source = source[source.index("    # counts") :]
    families = [re.findall(r"= formula\(metrics\.(\w+)\)", part) for part in re.split(r"(?m)^    # .*$", source)[1:]]
    formulas = [x.formula for x in rankframe.METRICS.values() if x.formula.__module__.startswith("rankframe.metrics.")]
    modules = dict.fromkeys(formula.__module__ for formula in formulas)
    assert families == [[x.__name__ for x in formulas if x.__module__ == module] for module in modules]


def test_one_import_brings_neither_the_optional_libraries_nor_the_command_line() -> None:
    code = "import sys, rankframe; print(sorted({'scipy', 'sklearn', 'matplotlib', 'pyspark', 'argparse'} & set(sys.modules)))"
    plain = "import sys, polars; print(sorted({'scipy', 'sklearn', 'matplotlib', 'pyspark', 'argparse'} & set(sys.modules)))"
    ours, theirs = (subprocess.check_output([sys.executable, "-c", c], text=True) for c in (code, plain))
    assert ours == theirs


def test_the_map_of_folders_names_what_is_there() -> None:
    guide = (PACKAGE.parent / "CONTRIBUTING.md").read_text(encoding="utf-8")
    section = guide[guide.index("## Where things are") :]
    entries = re.findall(r"^([\w/]+)/ +(.*(?:\n {14}.*)*)", section, re.MULTILINE)
    floors = [name for name in FLOORS if (PACKAGE / name).is_dir()]
    assert sorted(folder for folder, _ in entries) == sorted(floors)
    public = [f"{'/'.join(module)}.py" for module in MODULES if len(module) == 1]
    for folder, text in entries:
        modules = re.findall(r"`(\w+\.py)`", text)
        assert [x for x in modules if not (PACKAGE / folder / x).is_file() and x not in public] == [], folder
    tests = section[section.index("`tests` has") :]
    folders = {path.name for path in (PACKAGE.parent / "tests").iterdir() if path.is_dir() and path.name[0] != "_"}
    assert {*re.findall(r"`(\w+)`", tests)} - {"tests", *PRIVATE} == folders
