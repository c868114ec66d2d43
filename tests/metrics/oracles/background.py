"""Past interactions, and a catalog with the properties of its items, for the oracles of recommenders' metrics.

Some users of the tables have no past, some items are in no interaction or not in the catalog, or lack a property.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

# Upper and lower case, numbers that sort otherwise as text, one accent coded twice, an astral character, no text.
ITEMS = [
    "a",
    "B",
    "b",
    "A",
    "aa",
    "9",
    "10",
    "d9",
    "d10",
    "é",
    "e\u0301",
    "z",
    "Ω",
    "雪",
    "\U0001f600",
    "\uffee",
    "-1",
    " ",
    "",
    "0",
]
USERS = ["q", "Q", "1", *(f"q{i}" for i in range(0, 60, 2)), "stranger"]

TRAIN: dict[str, list[str]] = {
    user: [item for place, item in enumerate(ITEMS[:16]) if (place * place + 3 * number) % (place + 2) < 2]
    for number, user in enumerate(USERS)
}
"""The items of each user; the last items of all are in no interaction."""

POPULARITY = Counter(item for items in TRAIN.values() for item in items)
N_USERS = sum(bool(items) for items in TRAIN.values())
N_INTERACTIONS = sum(POPULARITY.values())

GENRES: list[list[str] | None] = [["x"], ["x", "y"], ["y"], [], None, ["z", "x", "z"], ["w"]]
CATALOG: dict[str, dict[str, Any]] = {
    item: {
        "genre": GENRES[place % len(GENRES)],
        "provider": [*"MFMX", None][place % 5],
        "features": [float(place % 3), float(place % 2), float(place % 4 == 1)] if place % 6 else [0.0, 0.0, 0.0],
        "minutes": (place % 4 + 1) / 2,
        "sold": None if place % 4 == 3 else float(place * 7 % 5),
    }
    for place, item in enumerate(ITEMS)
}
"""The properties of each item."""
