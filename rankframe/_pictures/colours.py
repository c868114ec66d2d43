"""The colours of series, and of text, which must be legible on any background."""

from __future__ import annotations

import re

from ..errors import InvalidOption, option

PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
"""Okabe and Ito's colours, without the two that would be invisible on white or on black."""
DASHES = ((), (6, 3))
GREY = "#7f7f7f"
"""The colour of text without a background of its own; a page replaces it by the colour of its text."""
FAINT = 0.25
"""The opacity of bands, grids and rules."""
INKS = ("#000000", "#ffffff")
NAMED = {"white": "#ffffff", "black": "#000000"}


def background_of(colour: str) -> str:
    """The colour as ``#rrggbb``."""
    digits = NAMED.get(colour.lower(), colour)
    if re.fullmatch("#[0-9a-fA-F]{6}", digits):
        return digits.lower()
    raise InvalidOption(
        option(background=colour),
        " is no colour that is known here; write white, black or six hexadecimal digits, as ",
        option(background="#1e1e1e"),
    )


def ink_on(background: str) -> str:
    """The colour of text: black or white, whichever contrasts more. At least 4.58 : 1, whatever the background."""
    return max(INKS, key=lambda ink: contrast(ink, background))


def contrast(a: str, b: str) -> float:
    """WCAG's contrast ratio of two colours, from 1 to 21; small text needs 4.5."""
    darker, lighter = sorted((_luminance(a), _luminance(b)))
    return (lighter + 0.05) / (darker + 0.05)


def _luminance(colour: str) -> float:
    """The relative luminance of sRGB, from 0 to 1."""
    parts = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
    red, green, blue = (x / 12.92 if x <= 0.04045 else ((x + 0.055) / 1.055) ** 2.4 for x in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
