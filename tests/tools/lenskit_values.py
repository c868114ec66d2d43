"""The values that LensKit prints for every query of a table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from lenskit.data import ItemList
from lenskit.metrics import ranking

from tests.tools.lists import ANY, every, lists

NAMES = {
    "hit_rate": ranking.Hit, "reciprocal_rank": ranking.RecipRank, "precision": ranking.Precision,
    "recall": ranking.Recall, "average_precision": ranking.AveragePrecision, "dcg": ranking.DCG,
    "ndcg": ranking.NDCG, "rbp": ranking.RBP,
}  # fmt: skip
CALLS = [*every([name for name in NAMES if name != "rbp"]), ("rbp", {"p": 0.85}), ("rbp", {"p": 0.95})]


def values(
    table: dict[Any, list[Any]], calls: Sequence[Any] = CALLS
) -> Iterator[tuple[Any, str, dict[str, Any], float]]:
    """Average precision and recall of a user without a relevant item divide by 0, and precision of an empty list."""
    for query, rows in table.items():
        retrieved, relevant = lists(rows, least=ANY)
        if not retrieved:
            continue
        found, wanted = ItemList(item_ids=retrieved, ordered=True), ItemList(item_ids=relevant or None)
        for name, options in calls:
            if relevant or name not in ("average_precision", "recall"):
                metric = NAMES[name](options.get("k"), **({"patience": options["p"]} if "p" in options else {}))
                yield query, name, options, float(metric.measure_list(found, wanted))
