"""What a call was: metrics and options, policies in effect, and versions of the libraries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..._catalog.call import Call
from ..._support.extras import versions
from ..._table.table import Table


def settings_of(
    table: Table[Any], calls: Sequence[Call] = (), *options: Mapping[str, object], **others: object
) -> dict[str, object]:
    """The metrics and options of a call, the policies in effect, and the libraries' versions."""
    settings: dict[str, object] = {"metrics": [call.text for call in calls]} if calls else {}
    for given in (*options, others):
        settings |= given
    settings["policies"] = table.setup.followed(table.rows.columns)
    return {**settings, "versions": versions()}
