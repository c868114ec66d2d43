"""How the documentation is built: python -m sphinx -W --keep-going docs build/docs."""

from __future__ import annotations

import re
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
        "p-value",
        "non-inferiority",
        "power analysis",
        "regression test",
    ],
    "tests_and_intervals": [
        *("significance test", "statistical significance", "confidence interval", "bootstrap", "t-test", "wilcoxon"),
        *("multiple comparisons", "multiple testing", "bonferroni"),
    ],
    "semantics": ["duplicate documents", "duplicates"],
    "migrating": ["trec_eval"],
    "reports": ["plot", "png", "svg"],
    "about": ["license", "licence", "citation", "cite"],
    "pandas": ["pandas ndcg", "ndcg pandas", "ndcg@10 pandas"],
    "recipes/days": ["by day", "per day", "daily", "partition"],
    "recipes/runs": ["many runs", "several runs", "multiple runs"],
    "start": ["install", "pip install", "distance", "distances"],
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


def signature(
    app: Any, what: str, name: str, obj: Any, options: Any, arguments: str | None, returns: str | None
) -> tuple[str | None, str | None] | None:
    """Rankers come from `.rank`, so they are made by nobody.

    The range of a number, which stands beside its type, is told in the text.
    """
    arguments = arguments and re.sub(r"[~\w.]*Annotated\[([~\w.]+), [~\w.]*Range\([^()]*\)\]", r"\1", arguments)
    if what == "class" and not name.endswith("Error"):
        return "", None
    return arguments, returns and returns.replace("~R", "R")


def without_last_line(app: Any, page: str, source: list[str]) -> None:
    """Blocks of examples end in an empty line, which ends the output for doctest and is nothing to look at."""
    source[0] = source[0].replace("\n\n```\n", "\n```\n")


def called(owner: str, name: str) -> str:
    """A method of a ranker as users write it."""
    topic = getattr(getattr(ranker, owner), "_name", "")
    if owner == "AllMetrics" and not hasattr(ranker.FrameRanker, name):
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
    for metric in [*rf.METRICS.values(), *rf.AGREEMENTS.values()] if app.env.docname == "metrics" else ():
        names = {metric.name, *metric.aliases, *metric.spellings, metric.formula.__name__}
        names |= {re.sub("[_-]", " ", name) for name in names}
        cutoffs = CUTOFFS if "k" in metric.parameters else ()
        names |= {f"{name}@{k}" for name in names for k in cutoffs}
        found += [(name, nodes.make_id(metric.name)) for name in sorted(names)]
    document.append(addnodes.index(entries=[("single", text, target, "main", None) for text, target in found]))


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
    app.add_transform(TwoInks)
    app.add_html_math_renderer("mathml", (visit_math, None), (visit_math, None))
    app.add_directive_to_domain("py", "method", Method, override=True)
    for kind in ("class", "exception"):
        app.add_directive_to_domain("py", kind, Classlike, override=True)
