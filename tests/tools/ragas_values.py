"""The values that Ragas prints for every query of a table, by ids and by texts that are the same."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from typing import Any

from ragas.dataset_schema import SingleTurnSample
from ragas.metrics import ExactMatch, IDBasedContextPrecision, IDBasedContextRecall, NonLLMContextPrecisionWithReference

from tests.tools.lists import every, lists

NAMES = {
    "average_precision": NonLLMContextPrecisionWithReference(distance_measure=ExactMatch()),
    "precision": IDBasedContextPrecision(),
    "recall": IDBasedContextRecall(),
}
CALLS = every([*NAMES])


def values(
    table: dict[Any, list[Any]], calls: Sequence[Any] = CALLS
) -> Iterator[tuple[Any, str, dict[str, Any], float]]:
    """Without a reference average precision is an error; precision of an empty list is NaN."""

    async def found() -> list[tuple[Any, str, dict[str, Any], float]]:
        rows_of = []
        for query, rows in table.items():
            for name, options in calls:
                retrieved, relevant = lists(rows, options.get("k"))
                if retrieved and (relevant or name != "average_precision"):
                    kind = "contexts" if name == "average_precision" else "context_ids"
                    sample = SingleTurnSample(**{f"retrieved_{kind}": retrieved, f"reference_{kind}": relevant})
                    rows_of.append((query, name, options, float(await NAMES[name].single_turn_ascore(sample))))
        return rows_of

    yield from asyncio.run(found())
