"""The list of mutations: each still changes an expression of the package, and what becomes of one is told right."""

from __future__ import annotations

import ast
import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

from tests.support.each import each

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def mutate() -> ModuleType:
    spec = importlib.util.spec_from_file_location("mutate", ROOT / "scripts" / "mutate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look for it
    spec.loader.exec_module(module)
    return module


def test_each_mutation_of_the_list_changes_an_expression_of_the_package(mutate: ModuleType) -> None:
    listed = mutate.read()
    assert len(listed) == len(set(listed)) == sum(area.count for area in mutate.AREAS.values()) >= 150
    sources = {name: (ROOT / name).read_text(encoding="utf-8") for name in {x.module for x in listed}}
    for mutation in listed:
        assert mutation.area in mutate.AREAS
        assert mutation.applied(sources[mutation.module]) != sources[mutation.module], mutation
        assert ast.dump(ast.parse(mutation.after)) != ast.dump(ast.parse(mutation.before)), mutation
    for mutation in {x.module: x for x in listed}.values():
        ast.parse(mutation.applied(sources[mutation.module]))


def test_only_expressions_that_compute_are_mutated(
    mutate: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mutate, "ROOT", tmp_path)
    module = tmp_path / "module.py"
    module.write_text(
        "LIMIT: int = 1\n"
        "@cached(2)\n"
        "def f(x: int = 3) -> int:\n"
        '    """Text with é."""\n'
        "    if x < 4 and not x:\n"
        '        raise ValueError(f"{x + 5}")\n'
        "    return max(x, 4) if x else 4\n",
        encoding="utf-8",
    )
    found = mutate.all_of(module)
    assert [(x.before, x.after, x.which) for x in found] == [
        ("x < 4 and (not x)", "x < 4 or not x", 0),
        ("x < 4", "x <= 4", 0),
        ("4", "5", 0),
        ("not x", "x", 0),
        ("max(x, 4) if x else 4", "4 if x else max(x, 4)", 0),
        ("max(x, 4)", "min(x, 4)", 0),
        ("4", "5", 1),
        ("4", "5", 2),
    ]
    source = module.read_text(encoding="utf-8")
    assert found[-1].applied(source).endswith("else (5)\n")
    assert mutate.Mutation.read(str(found[1])) == found[1]
    with pytest.raises(ValueError, match="no such expression"):
        found[1].applied("")


@pytest.mark.nightly
@each(
    ("test", "outcome"),
    [("assert f(3)", "survived"), ("assert not f(4)", "noticed"), ("__import__('time').sleep(60)", "endless")],
)
def test_what_the_tests_say_of_a_mutation(mutate: ModuleType, tmp_path: Path, test: str, outcome: str) -> None:
    (tmp_path / "pytest.ini").write_text("[pytest]\naddopts = --disable-plugin-autoload -p xdist\n")
    (tmp_path / "test_f.py").write_text(f"def f(x):\n    return x <= 4\n\n\ndef test_f():\n    {test}\n")
    assert mutate.tests_fail(tmp_path, ["test_f.py"], 0.3 if outcome == "endless" else 60) == outcome


@pytest.mark.nightly
def test_a_mutation_runs_the_tests_that_reach_it_the_smallest_first(
    mutate: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "rankframe" / "metrics"
    package.mkdir(parents=True)
    for folder in (package, package.parent):
        (folder / "__init__.py").touch()
    source = (
        "def f(x):\n    return (\n        1 if x\n        else 2\n    )\n\ndef g(x):\n    return x + 1\n\nONE = g(0)\n"
    )
    (package / "a.py").write_text(source, encoding="utf-8")
    (tmp_path / "tests" / "metrics").mkdir(parents=True)
    (tmp_path / "tests" / "metrics" / "test_a.py").write_text(
        "from rankframe.metrics.a import f, g\n\n"
        "def test_both():\n    assert (f(g(0)), f(0)) == (1, 2)\n\ndef test_f():\n    assert f(0) == 2\n",
        encoding="utf-8",
    )
    (tmp_path / "pytest.ini").write_text("[pytest]\naddopts = --disable-plugin-autoload -p xdist -p pytest_cov\n")
    found = mutate.reaching(tmp_path, ["tests/metrics"], 1)
    of_f, of_g = (
        mutate.Mutation("rankframe/metrics/a.py", "f", "2", "3", 0),
        mutate.Mutation("rankframe/metrics/a.py", "g", "1", "2", 0),
    )
    name = "tests/metrics/test_a.py::test_"
    assert mutate.tests_of(of_f, source, found) == [f"{name}f", f"{name}both"]
    assert mutate.tests_of(of_g, source, found) == ["tests/metrics", "tests/catalog", "tests/items"]
    (tmp_path / "tests" / "metrics" / "test_a.py").write_text("def test_no():\n    assert False\n")
    with pytest.raises(SystemExit, match="fail without a mutation"):
        mutate.reaching(tmp_path, ["tests/metrics"], 1)
