"""Roles, policies and settings: declared once, and read from there by all that offers, checks and lists them."""

from __future__ import annotations

import inspect
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Collection
from dataclasses import fields
from pathlib import Path
from typing import Any, get_type_hints

import polars as pl
import pytest

import rankframe as rf
from rankframe._table.conventions import CONVENTIONS
from rankframe._table.name_presets import PRESETS
from rankframe._table.policies import Policies, declared
from rankframe._table.roles import ROLES
from rankframe._table.setup import OPTIONS, Roles, Running, Setup
from tests.support.each import each

PACKAGE = Path(rf.__file__).parent
ROOT = Path(__file__).parents[2]
ON = type(pl.DataFrame().rank).on
DF = pl.DataFrame({"query_id": 1, "doc_id": ["a", "b"], "score": [2.0, 1.0], "label": [1, 2]})


# the signature and the text of `on`, which readers and type checkers see


def test_on_has_an_option_for_every_role_policy_and_setting() -> None:
    _, *options = inspect.signature(ON).parameters
    assert tuple(options) == OPTIONS


@each("name", declared(Policies))
def test_on_takes_the_values_that_a_policy_declares(name: str) -> None:
    assert get_type_hints(ON)[name] == get_type_hints(Policies)[name] | None


def test_the_text_of_on_tells_each_option_and_each_word() -> None:
    about = (inspect.getdoc(ON) or "").split("\nReturns\n")[0]
    told = dict(re.findall(r"^(\w+)\n((?: {4}.*\n?)+)", about, flags=re.MULTILINE))
    assert tuple(told) == OPTIONS
    for name, option in declared(Policies).items():
        assert [word for word in option.words if f'``"{word}"``' not in told[name]] == [], name


@each(("name", "words"), [("convention", CONVENTIONS), ("names", PRESETS)])
def test_the_text_of_on_names_each_convention_and_preset(name: str, words: Collection[str]) -> None:
    text = re.search(rf"^{name}\n((?: {{4}}.*\n)+)", inspect.getdoc(ON) or "", flags=re.MULTILINE)
    assert text is not None
    assert set(re.findall(r'``"(\w+)"``', text[1])) >= {*words}


@each("name", declared(Policies))
def test_the_pages_tell_each_policy(name: str) -> None:
    assert f"`--{name.replace('_', '-')}`" in (ROOT / "docs" / "command_line.md").read_text(encoding="utf-8")
    assert re.search(rf"on\([^)]*\b{name}=", (ROOT / "docs" / "semantics.md").read_text(encoding="utf-8"))


def test_each_role_is_a_row_and_a_field_which_may_be_none_beyond_those_of_every_table() -> None:
    assert [field.name for field in fields(Roles)] == [*ROLES]
    assert [name for name in ROLES if getattr(Roles(), name) is not None] == ["query", "doc", "score", "label"]


@each("part", [Roles, Policies, Running])
def test_no_option_stands_in_two_parts(part: type) -> None:
    assert [name for name in get_type_hints(part) if OPTIONS.count(name) != 1] == []


# binding


def test_a_setting_of_how_to_run_outlives_a_convention() -> None:
    setup = Setup().on(memory_limit="2GB", grouped=True).on(convention="ranx")
    assert (setup.running.memory_limit, setup.running.grouped) == (2 * 10**9, True)
    assert setup.policies == Policies(ties="order")


def test_what_a_metric_does_otherwise_is_resolved_for_its_call() -> None:
    (call,) = rf.parse("map")
    setup = Setup().on(convention="sklearn")
    resolved, meant = setup.resolve(call)
    assert (setup.policies.ties, resolved.policies.ties, resolved.convention, meant) == (
        "doc_desc",
        "last",
        None,
        call,
    )
    kept, _ = setup.on(ties="doc_asc").resolve(call)
    assert kept.policies.ties == "doc_asc"


def test_a_setup_without_a_convention_is_resolved() -> None:
    (call,) = rf.parse("map")
    assert Setup().resolve(call) == (Setup(), call)


@each("name", ["given", "largest_label", "roles", "policies", "running", "key"])
def test_what_is_no_option_of_on_is_not_advised_as_one(name: str) -> None:
    with pytest.raises(rf.InvalidOption) as error:
        DF.rank.ndcg(**{name: 1})
    assert "df.rank.on(" not in str(error.value)
    with pytest.raises(rf.InvalidOption) as error:
        DF.rank.evaluate("ndcg", **{name: 1})  # type: ignore[call-arg]
    assert f"df.rank.on({name}=" not in str(error.value)


# a new policy: a field, and the place where it acts

FIELD = """
    at_threshold: Annotated[
        Literal["in", "out"], "whether a label that is just the threshold is relevant"
    ] = "in"
"""
ACTS = """
        if setup.policies.at_threshold == "out":
            self.threshold += 1e-9
"""
PROGRAM = """
import contextlib, importlib.util, io, json, sys
import polars as pl
import rankframe as rf
from rankframe._command import main
from rankframe._command.output import in_options
from rankframe.errors import on

df = pl.DataFrame({"query_id": 1, "doc_id": ["a", "b"], "score": [2.0, 1.0], "label": [1, 2]})


def refused(call):
    try:
        call()
    except rf.InvalidOption as error:
        return str(error)


def printed(line):
    with contextlib.redirect_stdout(io.StringIO()) as found, contextlib.suppress(SystemExit):
        main(line.split())
    return found.getvalue()


df.write_csv("table.csv")
spec = importlib.util.spec_from_file_location("pages", sys.argv[1])
pages = importlib.util.module_from_spec(spec)
spec.loader.exec_module(pages)
out = df.rank.on(at_threshold="out")
both = df.with_columns(new=-pl.col("score")).rank.on(at_threshold="out")
advice = refused(lambda: df.rank.ndcg(at_threshold="out"))
print(json.dumps({
    "file": rf.__file__,
    "values": [ranker.reciprocal_rank()["rr"].item() for ranker in (df.rank, out, df.lazy().collect().to_pandas().rank.on(at_threshold="out"))],
    "expression": df.select(rf.expr.on(at_threshold="out").reciprocal_rank())["rr"].item(),
    "kernel": rf.arrow_kernel("rr", at_threshold="out")(df.to_arrow()).to_pylist()[0]["rr"],
    "refused": refused(lambda: df.rank.on(at_threshold="no")),
    "near": refused(lambda: df.rank.on(at_treshold="in")),
    "advice": advice,
    "in options": in_options(("say ", on(at_threshold="out"))),
    "differs by": dict(out.conventions("rr").table.select("tool", "differs_by").rows())["trec_eval"],
    "settings": both.compare("rr", runs=["score", "new"], resamples=100).settings["policies"]["at_threshold"],
    "help": " ".join(printed("evaluate --help").split()),
    "on the command line": json.loads(printed("evaluate table.csv -m rr --format json --at-threshold out"))[0]["mean"],
    "page": [line for line in pages.names_page().splitlines() if "at_threshold" in line],
}))
"""


@pytest.fixture(scope="module")
def with_new_policy(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What `PROGRAM` finds in a copy of the package in which a policy was added: one field, and the place where it acts."""
    folder = tmp_path_factory.mktemp("copy")
    shutil.copytree(PACKAGE, folder / "rankframe", ignore=shutil.ignore_patterns("__pycache__"))
    added = {
        "_table/policies.py": (r"\n    scores: Annotated\[.*\n", FIELD),
        "_words/ranking.py": (r"\n        self\.threshold = .*\n", ACTS),
    }
    for path, (after, lines) in added.items():
        file = folder / "rankframe" / path
        text, n = re.subn(
            after, lambda found, lines=lines: found[0] + lines.lstrip("\n"), file.read_text(encoding="utf-8")
        )
        assert n == 1
        file.write_text(text, encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": str(folder), "COLUMNS": "200"}
    command = [sys.executable, "-c", PROGRAM, str(ROOT / "scripts" / "build_metrics_page.py")]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    assert Path(found["file"]).parent == folder / "rankframe"
    return found


def test_a_policy_is_one_field_and_the_place_where_it_acts(with_new_policy: dict[str, Any]) -> None:
    found = with_new_policy
    # by hand: the first document's label is the threshold, 1; the second one's is 2
    assert found["values"] == [1.0, 0.5, 0.5]
    assert (found["expression"], found["kernel"]) == (0.5, 0.5)
    assert found["refused"] == "at_threshold='no': write one of 'in', 'out'."
    assert "unexpected keyword argument 'at_treshold'" in found["near"]
    assert found["advice"].endswith("df.rank.on(at_threshold=...)")
    assert found["in options"] == "say --at-threshold out"
    assert found["differs by"] == "at_threshold=in"
    assert found["settings"] == "out"
    assert found["page"] == [
        "| `at_threshold` | whether a label that is just the threshold is relevant | `in`, `out` | `in` |"
    ]


def test_a_new_policy_is_an_option_of_the_command_line(with_new_policy: dict[str, Any]) -> None:
    told = "--at-threshold RULE whether a label that is just the threshold is relevant: in, out; default: in"
    assert told in with_new_policy["help"]
    assert with_new_policy["on the command line"] == 0.5
