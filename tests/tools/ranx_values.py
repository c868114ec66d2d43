"""The values that ranx prints for every query of a table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ranx import Qrels, Run, evaluate

NAMES = {
    "hits": "hits",
    "hit_rate": "hit_rate",
    "precision": "precision",
    "recall": "recall",
    "f1": "f1",
    "reciprocal_rank": "mrr",
    "average_precision": "map",
    "dcg": "dcg",
    "ndcg": "ndcg",
}
LEVELS: list[dict[str, Any]] = [{}, {"relevant": (">=", 2)}]
BURGES = "exponential of the relevant"
CALLS: list[tuple[str, dict[str, Any]]] = [
    *((name, level) for name in ("r_precision", "bpref") for level in LEVELS),
    *(("rbp", {"p": p, **level}) for p in (0.5, 0.8, 0.95) for level in LEVELS),
    *((name, {**cut, **level}) for name in NAMES for cut in ({}, *({"k": k} for k in (1, 2, 5, 30))) for level in LEVELS),
    *((name, {"gain": BURGES, **cut}) for name in ("dcg", "ndcg") for cut in ({}, {"k": 1}, {"k": 3}, {"k": 30})),
]  # fmt: skip


def spell(name: str, options: dict[str, Any]) -> str:
    text = {"r_precision": "r-precision", "bpref": "bpref", "rbp": "rbp"}.get(name) or NAMES[name]
    text += "_burges" if "gain" in options else ""
    text += f".{options['p']:.2f}".replace("0.", "") if "p" in options else ""
    text += f"@{options['k']}" if "k" in options else ""
    return text + (f"-l{options['relevant'][1]}" if "relevant" in options else "")


def values(
    table: dict[Any, list[Any]], calls: Sequence[Any] = CALLS
) -> Iterator[tuple[Any, str, dict[str, Any], float]]:
    """Queries without a run or a judgment stay out, as ranx refuses them."""
    whole = {
        query: rows
        for query, rows in sorted(table.items())
        if any(row[1] is not None for row in rows) and any(row[2] is not None for row in rows)
    }
    # One query at a time where one that has no relevant document would make 0 of those after it.
    alone = [call for call in calls if call[0] == "bpref"]
    for part, asked in [
        (whole, [call for call in calls if call not in alone]),
        *(({query: rows}, alone) for query, rows in whole.items()),
    ]:
        if asked:
            yield from evaluated(part, asked)


def evaluated(table: dict[Any, list[Any]], calls: Sequence[Any]) -> Iterator[Any]:
    """The values come back in the order of the query ids."""
    qrels = Qrels({q: {doc: label for doc, _, label in rows if label is not None} for q, rows in table.items()})
    run = Run({q: {doc: score for doc, score, _ in rows if score is not None} for q, rows in table.items()})
    texts = list(dict.fromkeys(spell(*call) for call in calls))
    found = evaluate(qrels, run, texts, return_mean=False)
    for name, options in calls:
        of_call = found if len(texts) == 1 else found[spell(name, options)]
        for query, value in zip(table, of_call, strict=True):
            yield query, name, options, float(value)
