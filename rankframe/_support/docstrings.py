"""The sections of a NumPy docstring, and the entries of its parameters."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator


def sections(doc: str) -> tuple[str, dict[str, str]]:
    """What stands before the first section, and the sections by their titles."""
    before, *others = re.split(r"^(\w[\w ]*)\n-+\n", doc, flags=re.MULTILINE)
    texts = [text.strip() for text in others[1::2]]
    return before.strip(), dict(zip(others[::2], texts, strict=True))


def summary(doc: str | None) -> str:
    """The first paragraph of a docstring, in one line."""
    paragraph, _, _ = (doc or "").partition("\n\n")
    return " ".join(paragraph.split())


def entries(section: str) -> Iterator[tuple[str, str]]:
    """The names on top of each entry of a section, and the text below them."""
    for names, body in re.findall(r"^(\S.*)\n((?:[ ]+.*\n?|\n)+)", section, flags=re.MULTILINE):
        yield names, textwrap.dedent(body)
