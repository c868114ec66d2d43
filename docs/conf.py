"""How the documentation is built: python -m sphinx -W --keep-going docs build/docs."""

from __future__ import annotations

import re
from importlib.metadata import version as version_of
from typing import Any

project = "rankframe"
author = "The rankframe developers"
copyright = "The rankframe developers"
release = version = version_of("rankframe")

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
exclude_patterns = ["_build"]

myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 3

default_role = "code"
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_preserve_defaults = True
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 100
napoleon_google_docstring = False
napoleon_use_rtype = False

html_theme = "pydata_sphinx_theme"
html_title = "rankframe"
html_static_path = ["_static"]
html_css_files = ["rankframe.css"]
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


def returned_in_words(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """A Returns section that is prose, as ours are, not a type and its description."""
    text = "\n".join(lines)
    lines[:] = re.sub(r"^Returns\n-+\n((?:(?!\w[\w ]*\n---).*\n?)*)", _field, text, flags=re.MULTILINE).split("\n")


def _field(section: re.Match[str]) -> str:
    words = section[1].strip("\n").split("\n")
    if len(words) > 1 and words[1].startswith(" "):  # a type, and its description below it
        return section[0]
    return ":returns: " + "\n    ".join(word.strip() for word in words) + "\n\n"


def setup(app: Any) -> None:
    """Called by Sphinx."""
    app.connect("autodoc-process-docstring", returned_in_words, priority=400)
