"""Fusion of tables that hurt, beside plain Python: ties, equal scores, lists of one and of none, judged documents."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any, TypeAlias

import polars as pl
import pytest

import rankframe as rf
from rankframe._catalog.fusions import NORMALIZATIONS, fusion_of
from tests.fusion import oracles
from tests.support.each import each
from tests.support.untraced import untraced

Key: TypeAlias = tuple[Any, ...]
Entry: TypeAlias = tuple[str, Key, Any, float | None]

RUNS = ["a", "b", "c"]
WEIGHTS = [0.5, 0.3, 0.2]
DOCS: list[list[Any]] = [["d9", "d10", "B", "b", "é", "雪", "", " "], [9, 10, 0, 3, 2**40, 7, 1, 2]]
KINDS = ["none", "one", "equal", "ties", "plain", "plain"]


def entries_of(seed: int) -> list[Entry]:
    """The rows of three runs in random order; the query has two columns, and labels are those of documents."""
    draw = random.Random(seed)
    rows: list[Entry] = []
    for query in range(12):
        key, docs = (query % 5, f"q{query}"), DOCS[seed % 2]
        for run in RUNS:
            kind = draw.choice(KINDS)
            size = {"none": 0, "one": 1}.get(kind, draw.randint(2, len(docs)))
            few = {"equal": [2.0], "ties": [0.0, 1.0, 2.0]}.get(kind, [draw.uniform(0, 9) for _ in docs])
            rows += [
                (run, key, doc, draw.choice(few) if len(few) < 4 else few.pop()) for doc in draw.sample(docs, size)
            ]
        rows.append(("a", key, "judged" if seed % 2 == 0 else 99, None))
    draw.shuffle(rows)
    return rows


def table_of(rows: Sequence[Entry]) -> pl.DataFrame:
    flat = [(run, *key, doc, score, len(str(doc)) % 3 or None) for run, key, doc, score in rows]
    return pl.DataFrame(flat, schema=["run", "market", "q", "doc_id", "score", "label"], orient="row")


def by_hand(
    rows: Sequence[Entry], method: str, ties: str, options: dict[str, Any]
) -> dict[tuple[Key, Any], float | None]:
    """The fused score of each document of each query; None for one that no ranking has."""
    own = dict(options)
    normalize, missing = own.pop("normalize", None), own.pop("missing", "skip")
    depth = own.pop("depth", own.pop("rank_window_size", 10 if method.startswith("elasticsearch") else None))
    found: dict[tuple[Key, Any], float | None] = dict.fromkeys((key, doc) for _, key, doc, _ in rows)
    for key in {key for _, key, _, _ in rows}:
        rankings = []
        for run in RUNS:
            listed = [(doc, x) for r, k, doc, x in rows if (r, k) == (run, key) and x is not None]
            if ties != "order":
                listed.sort(
                    key=lambda pair: pair[0].encode() if isinstance(pair[0], str) else pair[0],
                    reverse=ties != "doc_asc",
                )
            listed = sorted(listed, key=lambda pair: -pair[1])[:depth]
            rankings.append(oracles.Ranking([doc for doc, _ in listed], [x for _, x in listed], ties == "expected"))
        function = None if normalize is None else oracles.NORMALIZATIONS[normalize]
        fused = oracles.METHODS[method](oracles.Query(rankings, function, missing), **own)
        found.update({(key, doc): score for doc, score in fused.items()})
    return found


OWN: dict[str, list[dict[str, Any]]] = {
    "comb_gmnz": [{"gamma": 0.4}],
    "rrf": [{}, {"k": 3, "weights": WEIGHTS}],
    "logn_isr": [{"sigma": 0.3}],
    "rbc": [{"phi": 0.5}, {"weights": WEIGHTS}],
    "elasticsearch_rrf": [{}, {"rank_window_size": 2, "weights": WEIGHTS}],
    "elasticsearch_linear": [{"normalizer": name, "weights": WEIGHTS} for name in ("none", "minmax", "l2_norm")],
    "opensearch_hybrid": [
        *({"normalization": n, "combination": f"{c}_mean", "weights": w}
          for n in ("min_max", "l2") for c in ("arithmetic", "geometric", "harmonic") for w in (None, WEIGHTS)),
        {"normalization": "z_score"},
    ],
    "opensearch_rrf": [{"rank_constant": 3, "weights": WEIGHTS}],
    "qdrant_rrf": [{}, {"k": 5, "weights": [3, 1, 0]}],
    "langchain": [{}, {"c": 3, "weights": WEIGHTS}],
    "llamaindex": [{"mode": m, "weights": w} for m in ("simple", "reciprocal_rerank", "relative_score", "dist_based_score")
                   for w in (None, [5, 3, 2])],
    "haystack": [{"join_mode": m, "weights": w} for m in ("concatenate", "merge", "reciprocal_rank_fusion",
                 "distribution_based_rank_fusion") for w in (None, [5, 3, 2])],
    **{name: [{}, {"weights": WEIGHTS}] for name in ("borda", "condorcet")},
    **{name: [{"weights": WEIGHTS}, {}] for name in ("wsum", "mixed", "wmnz")},
}  # fmt: skip


def cases(name: str) -> list[dict[str, Any]]:
    of_two_types = [{"weights": [1, 0.5, 2]}] if "weights" in rf.FUSIONS[name].parameters else []
    return [*listed(name), *of_two_types]


def listed(name: str) -> list[dict[str, Any]]:
    own = OWN.get(name, [{}])
    if fusion_of(name, **own[0]).metric.of != "scores":  # type: ignore[attr-defined]
        return [*own, *({**x, "depth": 3} for x in own if rf.FUSIONS[name].depth[0] == "depth")]
    return own[1:] + [
        {**own[0], "normalize": normalize, "missing": missing, "depth": depth}
        for i, normalize in enumerate([None, *NORMALIZATIONS])
        for j, missing in enumerate(("skip", "zero", "min"))
        for depth in [(None, 4)[(i + j) % 2]]
    ]


TIES = ("doc_desc", "doc_asc", "order", "expected")


@each("name", rf.FUSIONS, sample=len(rf.FUSIONS))
@each("third", range(3))
@untraced
def test_a_method_gives_the_values_of_plain_python(name: str, third: int) -> None:
    """Of a method with many options, a third: each normalisation, and each rule for missing documents."""
    of_method = list(enumerate(cases(name)))
    for seed, options in [x for x in of_method if len(of_method) <= 15 or (x[0] + x[0] // 3) % 3 == third]:
        ties = TIES[(seed + len(name)) % 4]
        given = {key: value for key, value in options.items() if value is not None}
        rows = entries_of(seed)
        ranker = table_of(rows).rank.on(query=["market", "q"], ties=ties)
        weights = (
            dict(zip(RUNS, given["weights"], strict=True)) if "weights" in given else None
        )  # by name: rows are shuffled
        needs = {} if weights is None else {"weights": weights}
        rest = ",".join(f"{key}={value}" for key, value in given.items() if key != "weights")
        found = ranker.fuse(f"{name}({rest})", run="run", **needs)
        values = {((market, q), doc): score for market, q, doc, score in found.select(pl.exclude("label")).iter_rows()}
        expected = by_hand(rows, name, ties, given)
        assert values.keys() == expected.keys()
        for at, value in expected.items():
            assert values[at] == (None if value is None else pytest.approx(value, rel=1e-9, abs=1e-9)), (
                at,
                options,
                ties,
            )


def test_every_method_and_normalisation_has_an_oracle() -> None:
    assert oracles.METHODS.keys() == rf.FUSIONS.keys()
    assert oracles.NORMALIZATIONS.keys() == NORMALIZATIONS.keys()
