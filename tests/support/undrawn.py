"""Pages of reports without their plots, which take longer to draw than all the rest."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

from rankframe._pictures import report_page
from rankframe._pictures.report_page import Picture

__all__ = ["undrawn", "unpainted"]


def undrawn() -> Any:
    """A context in which reports have a line in place of each plot."""
    return patch.object(report_page, "picture", lambda name, *_, **__: Picture(name, "not drawn"))


def unpainted() -> Any:
    """A context in which reports work out each plot, with its title, and leave its frame empty."""
    painter = SimpleNamespace(vegalite_to_svg=lambda chart: "<svg></svg>")
    load = report_page.load
    return patch.multiple(
        report_page,
        altair=lambda figure: SimpleNamespace(to_dict=lambda **_: {"title": ""}),
        load=lambda name, extra: painter if name == "vl_convert" else load(name, extra),
    )
