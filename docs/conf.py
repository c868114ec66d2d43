"""How the documentation is built: python -m sphinx -W --keep-going docs build/docs."""

from __future__ import annotations

import re
from importlib.metadata import version as version_of
from typing import Any

project = "rankframe"
author = "The rankframe developers"
copyright = "The rankframe developers"  # noqa: A001 - Sphinx calls it so
release = version = version_of("rankframe")

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
exclude_patterns = ["_build"]

myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 3

default_role = "code"
add_module_names = False
toc_object_entries_show_parents = "hide"
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_preserve_defaults = True
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 100
napoleon_google_docstring = False
napoleon_custom_sections = ["Returns"]  # prose, not a type and its description

html_theme = "pydata_sphinx_theme"
html_title = "rankframe"
html_static_path = ["_static"]
html_css_files = ["rankframe.css"]
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


def setup(app: Any) -> None:
    """Called by Sphinx."""
    app.connect("source-read", without_last_line)
    app.connect("autodoc-process-signature", signature)
