"""Pages of reports with a line in place of each plot, which takes longer to draw than all the rest."""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

from rankframe._pictures import report_page
from rankframe._pictures.report_page import Picture

__all__ = ["undrawn"]


def undrawn() -> Any:
    """A context in which reports draw nothing."""
    return patch.object(report_page, "picture", lambda name, *_, **__: Picture(name, "not drawn"))
