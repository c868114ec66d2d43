"""The pages of the documentation: those under `docs`, and those that the site's build writes from the metrics."""

from __future__ import annotations

from pathlib import Path

from scripts.build_metrics_page import pages

DOCS = Path(__file__).parents[2] / "docs"

WRITTEN: dict[Path, str] = pages()
"""The index of metrics, a page for each family, and the names in other tools."""

OF_FAMILIES = {path: text for path, text in WRITTEN.items() if path.parent.name == "metrics"}

EVERY: dict[Path, str] = {
    **{path: path.read_text(encoding="utf-8") for path in sorted(DOCS.rglob("*.md"))},
    **WRITTEN,
}
"""Every page of the site; of those that are written, the text of today, whatever an earlier build left."""
