"""How the documentation is built: python -m sphinx -W --keep-going docs build/docs."""

from __future__ import annotations

import os
import re
import sys
from importlib.metadata import version as version_of
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx import addnodes
from sphinx.domains.python import PyClasslike, PyMethod
from sphinx.transforms import SphinxTransform

import rankframe as rf
from rankframe._lift import ranker

sys.path.append(str(Path(__file__).parents[1]))

from scripts import build_metrics_page

build_metrics_page.main()

project = "rankframe"
author = "The rankframe developers"
copyright = "The rankframe developers"  # noqa: A001 - Sphinx calls it so
release = version = version_of("rankframe")

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx_copybutton"]
exclude_patterns = ["_build"]

myst_enable_extensions = ["colon_fence", "dollarmath"]
myst_heading_anchors = 3

default_role = "code"
add_module_names = False
toc_object_entries_show_parents = "hide"
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 100
html_math_renderer = "mathml"  # drawn by the browser itself: no script, no font, no net
napoleon_google_docstring = False
napoleon_custom_sections = ["Returns"]  # prose, not a type and its description

copybutton_prompt_text = r">>> ?|\.\.\. ?|\$ "
copybutton_prompt_is_regexp = True
copybutton_only_copy_prompt_lines = True  # without what they print
copybutton_remove_prompts = True
copybutton_copy_empty_lines = False

SEARCHED = {
    "choosing": ["recommender", "recommender system", "recommendation", "which metric"],
    "decisions": [
        "compare two models",
        "compare models",
        "compare runs",
        "a/b test",
        "unpaired",
        "two groups",
        "p-value",
        "non-inferiority",
        "power analysis",
        "regression test",
        "confidence interval per country",
    ],
    "logs": [
        *(
            "clicks",
            "click log",
            "position bias",
            "propensity",
            "inverse propensity",
            "ips",
            "snips",
            "off-policy",
        ),
        *("counterfactual evaluation", "implicit feedback", "unbiased"),
    ],
    "collections": [
        *(
            "pooling",
            "test collection",
            "reusability",
            "query performance prediction",
            "nqc",
            "wig",
            "xinfap",
            "statap",
        ),
    ],
    "recipes/slices": ["per country", "by country", "confidence interval per country", "segments"],
    "scale": [
        "multiprocessing hang",
        "multiprocessing",
        "large data",
        "big data",
        "larger than memory",
        "out of memory",
    ],
    "ab_test": [
        "A/B",
        "A/B test",
        "AB test",
        "A/B testing",
        "unpaired",
        "unpaired test",
        "two arms",
        "two-sample",
        "two-sample test",
    ],
    "tests_and_intervals": [
        *(
            "significance test",
            "statistical significance",
            "confidence interval",
            "bootstrap",
            "t-test",
            "wilcoxon",
        ),
        *("multiple comparisons", "multiple testing", "bonferroni"),
    ],
    "semantics": ["duplicate documents", "duplicates"],
    "migrating": ["trec_eval"],
    "reports": ["plot", "png", "svg", "export html report", "html report"],
    "about": ["license", "licence", "citation", "cite"],
    "pandas": ["pandas ndcg", "ndcg pandas", "ndcg@10 pandas"],
    "recipes/days": ["by day", "per day", "daily", "partition"],
    "recipes/runs": ["many runs", "several runs", "multiple runs"],
    "start": [
        "install",
        "pip install",
        "distance",
        "distances",
        "distance lower is better",
        "lower is better",
        "cosine similarity",
    ],
}
"""Search terms that a page does not contain, by the page that should be found first."""
CUTOFFS = (5, 10, 20)
"""Cutoffs that people search for with a metric's name."""

html_theme = "pydata_sphinx_theme"
html_title = "rankframe"
html_static_path = ["_static"]
html_css_files = ["rankframe.css"]
html_search_scorer = str(Path(__file__).parent / "_static" / "scorer.js")
html_sidebars = {"start": [], "migrating": []}
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "logo": {"text": "rankframe"},
    "navbar_align": "left",
    "header_links_before_dropdown": 8,
    "navigation_with_keys": True,
    "show_toc_level": 2,
    "show_prev_next": True,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
}


ANNOTATED = re.compile(
    r"[~\w.]*Annotated\[((?:[^][]|\[(?:[^][]|\[[^][]*\])*\])*), [~\w.]*(?:\([^()]*\))?\]"
)
"""A type that the package annotates for itself."""


def signature(
    app: Any,
    what: str,
    name: str,
    obj: Any,
    options: Any,
    arguments: str | None,
    returns: str | None,
) -> tuple[str | None, str | None] | None:
    """Rankers come from `.rank`, so they are made by nobody.

    What an annotation says beside a type, such as the range of a number, is told in the text.
    """
    while arguments and arguments != (plain := ANNOTATED.sub(r"\1", arguments)):
        arguments = plain
    returns = returns and returns.replace("~R", "R")
    if what == "class" and not name.endswith("Error"):
        arguments, returns = "", None
    owner, _, of_class = name.removeprefix("rankframe._lift.ranker.").partition(".")
    shown = (
        called(owner, of_class) if name.startswith("rankframe._lift.ranker.") and of_class else name
    )
    shown = re.sub(r"^rankframe\._[\w.]*\.", "", shown)
    docstrings(app)[app.env.docname, name] = (
        f"## `{shown}{re.sub(r'~[a-zA-Z_.]*[.]', '', arguments or '')}`"
    )
    return arguments, returns


def without_last_line(app: Any, page: str, source: list[str]) -> None:
    """Blocks of examples end in an empty line, which ends the output for doctest and is nothing to
    look at.
    """
    source[0] = source[0].replace("\n\n```\n", "\n```\n")


def called(owner: str, name: str) -> str:
    """A method of a ranker as users write it."""
    topic = getattr(getattr(ranker, owner), "_name", "")
    if owner == "AllMetrics" and not hasattr(ranker.Ranker, name):
        topic = ranker.FrameMetrics._name
    return ".".join(filter(None, ["df.rank", topic, name]))


class Method(PyMethod):
    """A method of the ranker has the name by which it is called; its class is nobody's business."""

    def add_target_and_index(self, name_cls: tuple[str, str], sig: str, signode: Any) -> None:
        """Make the anchor and the entry of the index."""
        name, prefix = name_cls
        if self.options.get("module", "").startswith("rankframe._lift."):
            owner, _, method = name.rpartition(".")
            self.options["module"], name = "", called(owner.rpartition(".")[2], method)
        super().add_target_and_index((name, prefix), sig, signode)


class Classlike(PyClasslike):
    """A class of a private module stands without it."""

    def add_target_and_index(self, name_cls: tuple[str, str], sig: str, signode: Any) -> None:
        """Make the anchor and the entry of the index."""
        if self.options.get("module", "").startswith("rankframe._"):
            self.options["module"] = ""
        super().add_target_and_index(name_cls, sig, signode)


def add_synonyms(app: Any, document: nodes.document) -> None:
    """Let the search find pages by what people look for, and each metric by all its names."""
    found = [(text, "") for text in SEARCHED.get(app.env.docname, ())]
    for metric in (
        [*rf.METRICS.values(), *rf.AGREEMENTS.values()]
        if app.env.docname.startswith("metrics/")
        else ()
    ):
        if nodes.make_id(metric.name) not in document.ids:
            continue
        names = {metric.name, *metric.aliases, *metric.spellings, metric.formula.__name__}
        names |= {re.sub("[_-]", " ", name) for name in names}
        cutoffs = CUTOFFS if "k" in metric.parameters else ()
        names |= {f"{name}@{k}" for name in names for k in cutoffs}
        found += [(name, nodes.make_id(metric.name)) for name in sorted(names)]
    document.append(
        addnodes.index(entries=[("single", text, target, "main", None) for text, target in found])
    )


def keep_anchors(app: Any, document: nodes.document, page: str) -> None:
    """Let a link to a metric on the page of all metrics, where each once had its section, lead to
    its name there.
    """
    for link in document.findall(nodes.reference) if page == "metrics" else ():
        link["ids"] += filter(None, [link.get("refuri", "").partition("#")[2]])


def docstrings(app: Any) -> dict[tuple[str, str], str]:
    """What pages of the reference say of objects, which the environment keeps from one build to the
    next.
    """
    return vars(app.env).setdefault("rankframe_docstrings", {})


def note_docstring(
    app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]
) -> None:
    """Keep what a page of the reference says of an object, for the page in Markdown."""
    of_page = (app.env.docname, name)
    heading = docstrings(app).get(of_page, f"## `{name}`").partition("\n")[0]
    docstrings(app)[of_page] = "\n".join([heading, "", *lines])


def name_markdown(
    app: Any, page: str, template: str, context: dict[str, Any], document: Any
) -> None:
    """Say in the head of a page where it is as Markdown."""
    if document:
        file = f"{page.rpartition('/')[2]}.md"
        context["metatags"] += f'<link rel="alternate" type="text/markdown" href="{file}">'


def in_markdown(app: Any, page: str) -> str:
    """A page as Markdown: its source, with what its directives bring in."""
    brought = "\n\n".join(text for (at, _), text in docstrings(app).items() if at == page)
    text = re.sub(
        r"```{eval-rst}.*?```",
        lambda _: brought,
        Path(app.env.doc2path(page)).read_text("utf-8"),
        flags=re.S,
    )
    text = re.sub(
        r"```{include} (\S+)\n.*?```",
        lambda found: (Path(app.srcdir) / found[1]).read_text("utf-8"),
        text,
        flags=re.S,
    ).replace("](docs/", "](")
    text = re.sub(
        r"\]\([./]*pictures/", f"]({os.path.relpath('_images', os.path.dirname(page))}/", text
    )
    text = re.sub(r"^:::.*\n", "", text, flags=re.M)
    pages = [
        f"- [{app.env.titles[below].astext()}]({relative(below, page)})"
        for below in app.env.toctree_includes.get(page, ())
    ]
    return re.sub(r"```{toctree}.*?```", "\n".join(pages), text, flags=re.S)


def relative(page: str, of: str) -> str:
    """The Markdown of a page, as a link from another page."""
    return os.path.relpath(f"{page}.md", os.path.dirname(of))


def below(app: Any, page: str) -> list[str]:
    """A page and the pages of its contents, in their order."""
    return [
        page,
        *(each for part in app.env.toctree_includes.get(page, ()) for each in below(app, part)),
    ]


def write_for_machines(app: Any, error: Exception | None) -> None:
    """Write every page as Markdown, a list of all pages (llms.txt, as llmstxt.org describes it),
    and all in one file.
    """
    if error or app.builder.name != "html":
        return
    index = in_markdown(app, "index")
    parts = [f"# {project}\n\n> {paragraph(app, 'index')}"]
    full = [index]
    for part in app.env.toctree_includes["index"]:
        pages = below(app, part)
        lines = [
            f"- [{app.env.titles[page].astext()}]({page}.md): {paragraph(app, page)}"
            for page in pages
        ]
        parts.append(f"## {app.env.titles[part].astext()}\n\n" + "\n".join(lines))
        full += [in_markdown(app, page) for page in pages]
    for page in app.env.found_docs:
        (Path(app.outdir) / f"{page}.md").write_text(in_markdown(app, page), encoding="utf-8")
    for name, texts in (("llms.txt", parts), ("llms-full.txt", full)):
        (Path(app.outdir) / name).write_text("\n\n".join(texts) + "\n", encoding="utf-8")


def paragraph(app: Any, page: str) -> str:
    """The first sentence of a page."""
    first = next(app.env.get_doctree(page).findall(nodes.paragraph))
    return re.sub(":$", ".", re.split(r"(?<=[.?]) ", " ".join(first.astext().split()))[0])


class TwoInks(SphinxTransform):
    """A picture that was drawn for light and for dark pages is shown as the page is."""

    default_priority = 200  # before images are collected

    def apply(self, **options: Any) -> None:
        """Put the dark picture beside the light one."""
        folder = Path(self.env.doc2path(self.env.docname)).parent
        for image in list(self.document.findall(nodes.image)):
            dark = image["uri"].replace(".svg", "_dark.svg")
            if not (folder / dark).exists():
                image["classes"].append("dark-light")
            elif dark != image["uri"]:
                other = image.deepcopy()
                image["classes"].append("only-light")
                other["uri"], other["classes"] = dark, [*other["classes"], "only-dark"]
                image.parent.insert(image.parent.index(image) + 1, other)


def visit_math(writer: Any, node: nodes.math | nodes.math_block) -> None:
    """Write a formula as MathML."""
    block = isinstance(node, nodes.math_block)
    writer.body.append(tex2mathml(node.astext(), as_block=block))
    raise nodes.SkipNode


def setup(app: Any) -> None:
    """Called by Sphinx."""
    app.connect("source-read", without_last_line)
    app.connect("autodoc-process-signature", signature)
    app.connect("doctree-read", add_synonyms)
    app.connect("doctree-resolved", keep_anchors)
    app.connect(
        "autodoc-process-docstring", note_docstring, priority=1
    )  # before napoleon rewrites it
    app.connect("html-page-context", name_markdown)
    app.connect("build-finished", write_for_machines)
    app.add_transform(TwoInks)
    app.add_html_math_renderer("mathml", (visit_math, None), (visit_math, None))
    app.add_directive_to_domain("py", "method", Method, override=True)
    for kind in ("class", "exception"):
        app.add_directive_to_domain("py", kind, Classlike, override=True)
