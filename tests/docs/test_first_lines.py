"""Each page of the docs begins with what its reader types. Examples with prompts run as doctests; the others run here."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import get_args

import polars as pl
import pytest

import rankframe as rf
from rankframe._lift import ranker
from rankframe._table.ties import Ties
from tests.support.pages import EVERY
from tests.support.undrawn import undrawn

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
README = (ROOT / "README.md").read_text(encoding="utf-8")
PAGES = {page.relative_to(DOCS).as_posix(): text for page, text in EVERY.items()}
HALF_A_SCREEN = 900
"""Characters of text before the first code, about eight lines of the site."""


def code_of(text: str) -> list[str]:
    """The blocks of Python without prompts, which no doctest runs."""
    return [code for code in re.findall(r"```python\n(.*?)```", text, re.DOTALL) if ">>>" not in code]


def test_each_page_has_the_line_to_type_in_its_first_half_screen() -> None:
    late = []
    for name, text in PAGES.items():
        shown = re.search(r"```(?:python|shell|console|text|diff|\{(?:eval-rst|toctree|include)\})|^:::", text, re.M)
        if shown is None or shown.start() > HALF_A_SCREEN:
            late.append(name)
    assert late == []


def test_the_first_code_of_each_page_has_lines_of_at_most_80_letters() -> None:
    wide = []
    for name, text in PAGES.items():
        block = re.search(r"```(?:python|shell)\n(.*?)```", text, re.DOTALL)
        lines = block[1].splitlines() if block else []
        prompted = [line for line in lines if line.startswith((">>>", "..."))]
        wide += [(name, line) for line in prompted or lines if len(line) > 80]
    assert wide == []


def test_the_lines_at_the_top_of_plots_and_reports_write_the_files_they_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    with undrawn():  # docs/reports.md has an example that draws
        exec(code_of(PAGES["reports.md"])[0], names)
    assert "</html>" in Path("report.html").read_text(encoding="utf-8")
    assert "</svg>" in Path("curve.svg").read_text(encoding="utf-8")
    assert "score\\_pca" in str(names["table"])


def test_the_calls_at_the_top_of_the_pages_of_metrics_and_names_work() -> None:
    known = {"df": rf.load_example()}
    (names,) = code_of(PAGES["names.md"])
    assert names.startswith("# columns ndcg@10, hit_rate@5, rr, map(relevant=2)\n")
    assert eval(names, known).columns[1:] == ["ndcg@10", "hit_rate@5", "rr", "map(relevant=2)"]
    _, metrics, _, methods = code_of(PAGES["metrics.md"])[0].splitlines()
    assert eval(metrics, known).columns[1:] == ["ndcg@10", "map", "rr(relevant=2)"]
    assert eval(methods, known).columns[1:] == ["rbp(p=0.95)@20"]


def test_start_here_ends_with_one_line_for_each_verb() -> None:
    table = PAGES["start.md"].partition("\n## Which verb\n")[2]
    named = {*vars(ranker.Ranker)} - {
        *vars(ranker.AllMetrics),
        *ranker.TOPICS,
        "metrics",
        "plot",
    } | {"plot.curve"}
    named |= {f"fusion.{name}" for name in {*vars(ranker.FusionVerbs)} - {"fuse", "tune"}}
    named |= {f"items.{name}" for name in vars(ranker.ItemVerbs)}
    named |= {f"preferences.{name}" for name in vars(ranker.PreferenceVerbs)}
    named |= {f"collection.{name}" for name in vars(ranker.CollectionVerbs)}
    named |= {f"clicks.{name}" for name in vars(ranker.ClickVerbs)}
    assert (
        sorted(
            name for name in named if "_" not in (name[0], name.partition(".")[2][:1]) and f".rank.{name}" not in table
        )
        == []
    )
    assert len(table.splitlines()) < 44


def test_the_first_page_says_how_to_install_and_for_whom_and_shows_cards() -> None:
    head, _, rest = PAGES["index.md"].partition("```python\n")
    assert "for people who" in head
    assert "```shell\npython -m pip install -e .\n```" in head
    cards = re.findall(r"^- \*\*\[", re.findall(r"^:::\{container\} cards\n(.*?)^:::$", rest, re.M | re.S)[0], re.M)
    assert len(cards) == 12


def test_the_recipe_of_slices_and_the_notebook_compare_by_slice_and_show_what_it_prints() -> None:
    notebook = json.loads((ROOT / "examples" / "decide.ipynb").read_text(encoding="utf-8"))
    code = ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]
    for texts in (code, re.findall(r"^>>> (.*)", PAGES["recipes/slices.md"], re.M)):
        assert any(re.fullmatch(r'df\.rank\.compare\(.*by="digit"\)', text) for text in texts)
        assert [text for text in texts if ".table" in text] == []


def test_the_readme_has_the_two_lines_that_the_checks_run_and_says_that_users_need_the_first() -> None:
    lines = re.findall(r"^```shell\n(.*)\n```\n\n([^`]*)", README, re.MULTILINE)
    assert [line for line, _ in lines] == [
        "python -m pip install -e . && python -m rankframe demo",
        'python -m pip install -e ".[test]" && python -m pytest',
    ]
    assert re.search(r"all that\s+users need", lines[0][1])
    assert "minutes" not in lines[1][1]  # they differ from machine to machine


def test_the_readme_has_at_most_150_lines_and_begins_with_one_call_a_picture_a_comparison_and_a_gate() -> None:
    lines = README.splitlines()
    assert len(lines) <= 150
    first = "\n".join(lines[: lines.index("## What else there is")])
    steps = ["pip install", ".rank.evaluate(", "<picture>", "rf.compare(", "rf.gate("]
    assert sorted(steps, key=first.index) == steps


def test_every_link_of_the_readme_leads_to_a_file() -> None:
    links = re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)|(?:src|srcset)=\"([^\"]+)\"", README)
    assert [link for pair in links for link in pair if link and not (ROOT / link).exists()] == []


def test_the_pages_count_what_there_is() -> None:
    pages = [ROOT / name for name in ("README.md", "skills/rankframe/SKILL.md", "CHANGELOG.md")]
    text = "\n".join(page.read_text(encoding="utf-8") for page in pages)
    metrics = re.findall(r"(\d+) metrics(?: of one ranking| on Polars|\]\(docs/choosing| \|)", text)
    assert metrics == [str(len(rf.METRICS))]
    assert (
        re.findall(r"(\w+) rules\b[^|]*\]?\(docs/semantics|\((\w+) rules\)", text) == [("nine", ""), ("", "nine")][::-1]
    )
    assert len(get_args(Ties)) == 9
    assert {*re.findall(r"by (\d+) methods", text)} == {str(len(rf.FUSIONS))}


def test_the_skill_names_what_is_there() -> None:
    skill = (ROOT / "skills" / "rankframe" / "SKILL.md").read_text(encoding="utf-8")
    assert re.match(r"---\nname: rankframe\ndescription: [^\n]{40,1024}\n---\n\n# rankframe\n", skill)
    assert 60 <= len(skill.splitlines()) <= 90
    assert len(re.findall(r"# \d\. ", skill)) == 6
    assert len(re.findall(r"^\d\. ", skill, re.M)) == 5
    df = pl.DataFrame({"query_id": [1], "score": [1.0], "label": [1]})
    for path in re.findall(r"df\.rank\.([\w.]+)\(", skill):
        owner = df.rank
        for name in path.split("."):
            owner = getattr(owner, name)
        assert callable(owner)
