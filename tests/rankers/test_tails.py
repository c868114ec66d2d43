"""A frame is its columns: every verb gives the same for it and for a copy that keeps its rows, however the copy is made."""

from __future__ import annotations

import io
import pickle
import random
from collections.abc import Callable, Iterator, Mapping
from functools import reduce
from operator import attrgetter
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pytest

import rankframe as rf
from rankframe._lift.ranker import TOPICS, Ranker, Topic
from rankframe._support.methods import Lifted
from tests.support.each import each

RUN = pl.DataFrame(
    {
        "query_id": [q for q in range(1, 9) for _ in range(4)],
        "doc_id": [*"abcd"] * 8,
        "score": [float(1 + (3 * q + d) % 4) for q in range(8) for d in range(4)],
        "new": [float(1 + (q + 3 * d) % 4) for q in range(8) for d in range(4)],
        "side": ["x" if q < 4 else "y" for q in range(8) for _ in range(4)],
        "llm": [(q + d) % 2 for q in range(8) for d in range(4)],
    }
)
QRELS = RUN.select("query_id", "doc_id", label=1 + pl.int_range(pl.len()) % 3).filter(pl.col("doc_id") != "d")
MISSED = pl.DataFrame({"query_id": [1, 5], "doc_id": ["e", "e"], "label": [2, 1]}, schema=QRELS.schema)
OTHER = RUN.select("query_id", "doc_id").head(3)
LISTS = pl.DataFrame({"query_id": [1, 2], "retrieved": [["a", "b"], ["c"]], "relevant": [["b"], ["c", "d"]]})

Frame = Any
Ops = Mapping[str, Callable[[Frame], Frame]]


def in_a_file(df: pl.DataFrame) -> pl.DataFrame:
    df.write_parquet(file := io.BytesIO())
    return pl.read_parquet(file.getvalue())


def in_a_file_of_pandas(df: pd.DataFrame) -> pd.DataFrame:
    return pd.read_parquet(io.BytesIO(df.to_parquet()))


EAGER: Ops = {
    "clone": pl.DataFrame.clone,
    "sort": lambda df: df.with_row_index("#").reverse().sort("#").drop("#"),
    "lazy and collect": lambda df: df.lazy().collect(engine="in-memory"),
    "filter": lambda df: df.filter(pl.lit(True)),
    "Parquet and back": in_a_file,
    "pickle": lambda df: pickle.loads(pickle.dumps(df)),
    "pandas and back": lambda df: pl.from_pandas(df.to_pandas(use_pyarrow_extension_array=True)),
    "two parts": lambda df: pl.concat([df.head(5), df.slice(5)]),
    "select": lambda df: df.select(pl.all()),
}
LAZY: Ops = {
    "filter": lambda df: df.filter(pl.lit(True)),
    "collect and lazy": lambda df: df.collect(engine="in-memory").lazy(),
    "select": lambda df: df.select(pl.all()),
    "clone": pl.LazyFrame.clone,
}
PANDAS: Ops = {
    "copy": pd.DataFrame.copy,
    "sort": lambda df: df[::-1].sort_index(),
    "query": lambda df: df.query("query_id == query_id"),
    "Parquet and back": in_a_file_of_pandas,
    "pickle": lambda df: pickle.loads(pickle.dumps(df)),
    "two parts": lambda df: pd.concat([df.head(5), df.iloc[5:]]),
    "assign": lambda df: df.assign(),
}
OPS = {pl.DataFrame: EAGER, pl.LazyFrame: LAZY, pd.DataFrame: PANDAS}

RULES: dict[str, Any] = {"relevant": 2, "ties": "worst", "no_relevant": "one", "unretrieved": "drop"}
"""The options of the ranker that makes a frame, which none of the frame's own verbs may follow."""


def of_files(folder: Path) -> pl.DataFrame:
    rf.write_run(RUN, folder / "a.run")
    rf.write_qrels(pl.concat([QRELS, MISSED]), folder / "qrels.txt")
    return rf.read_run(folder / "a.run").rank.on(**RULES).judge(rf.read_qrels(folder / "qrels.txt"))  # type: ignore[attr-defined, no-any-return]


def of_dicts(_: Path) -> pl.DataFrame:
    scores = {str(q[0]): dict(zip(df["doc_id"], df["score"], strict=True)) for q, df in RUN.group_by("query_id")}
    return rf.from_dicts(run=scores, qrels={q: {"a": 2, "c": 1} for q in scores})


def judged(kind: Callable[[pl.DataFrame], Frame]) -> Callable[[Path], Frame]:
    return lambda _: kind(RUN).rank.on(**RULES).judge(kind(pl.concat([QRELS, MISSED])))


SOURCES: dict[str, Callable[[Path], Frame]] = {
    "judge": judged(lambda df: df),
    "judge, lazy": judged(lambda df: df.lazy()),
    "judge, pandas": judged(lambda df: df.to_pandas()),
    "files": of_files,
    "from_dicts": of_dicts,
    "from_lists": lambda _: rf.from_lists(LISTS),
    "from_arrays": lambda _: rf.from_arrays(scores=[[3.0, 2.0, 1.0]] * 3, labels=[[0, 2, 1]] * 3),
    "with_metrics": lambda _: judged(lambda df: df)(_).rank.on(**RULES).with_metrics("rr"),
    "fuse": lambda _: judged(lambda df: df)(_).rank.on(**RULES).fuse("rrf", runs=["score", "new"]),
}  # fmt: skip

QUICK: dict[str, Any] = {"resamples": 99, "progress": False}
TWO: dict[str, Any] = {"runs": ["score", "new"]}
SIMPLE: dict[str, tuple[tuple[Any, ...], dict[str, Any]]] = {
    "evaluate": (("rr", "map", "ndcg@2"), {}),
    "with_metrics": (("recall",), {}),
    "with_ranks": ((), {}),
    "curve": (("ndcg",), {}),
    "explain": (("ndcg@2",), {}),
    "check": ((), {}),
    "mean": (("rr", "map"), {}),
    "summarize": (("rr",), QUICK),
    "conventions": (("ndcg@3",), {}),
    "items.exposure": ((), {}),
    "items.catalog": (("coverage@2",), {"items": 9, **QUICK}),
    "items.counts": (("coverage@2",), {"items": 9}),
}
"""Verbs of any frame with labels."""
VERBS = {
    **SIMPLE,
    "agreement": (("new", "kendall_tau"), {}),
    "compare": (("rr",), TWO | QUICK),
    "power": (("rr",), {**TWO, "difference": 0.1}),
    "gate": (({"rr": 0.1},), TWO | QUICK),
    "collection.label_agreement": (("label", "llm"), {**TWO, **QUICK}),
    "collection.reproduces": (("rr",), {"original": {"new": "score"}}),
    "collection.reliability": (("rr",), TWO | {"seed": 1}),
    "collection.pool": ((), {"depth": 2, **TWO}),
    "collection.leave_one_run_out": (("rr",), TWO),
    "collection.difficulty": (("wig@2",), {"of": "rr"}),
    "clicks.interleave": ((), TWO),
    "fuse": (("wsum",), TWO),
    "tune": (("wsum",), TWO | QUICK | {"step": 0.5, "folds": 2}),
    "items.expected_exposure": ((), TWO),
    "compare_groups": (("rr",), {"by": "side", **QUICK}),
    "fusion.explain": (("rrf",), TWO),
    "fusion.overlap": ((), TWO),
    "fusion.oracle": (("rr",), TWO | QUICK),
    "fusion.fit": (("posfuse",), TWO),
    "items.compare": (("coverage@2",), TWO | QUICK | {"items": 9}),
    "items.without": ((OTHER,), {}),
}  # fmt: skip
"""Verbs of the judged frame, which has two runs."""
BESIDE = {
    "judge",
    "report",
    "clicks.propensities",
    "clicks.preference",
    "preferences.evaluate",
    "preferences.bradley_terry",
}
"""Verbs that make such a frame, write a file, or read a table of clicks or preferences."""


def named(verb: str, found: object) -> Iterator[tuple[str, Frame]]:
    """The frames of a result, each with its name."""
    if isinstance(found, (pl.DataFrame, pl.LazyFrame, pd.DataFrame)):
        yield verb, found
    elif hasattr(found, "__dataclass_fields__"):
        for name, x in vars(found).items():
            yield from named(f"{verb}.{name}", x)


def rows_of(frame: Frame) -> object:
    """The rows as texts; those of a plan have no order, and sums that differ in the last digits."""
    if isinstance(frame, pd.DataFrame):
        return frame.reset_index().astype(str).to_dict("list")
    if isinstance(frame, pl.DataFrame):
        return frame.to_dict(as_series=False).__repr__()
    found = frame.collect()
    rows = found.with_columns(pl.selectors.float().round(9)).rows()
    return found.columns, sorted(map(repr, rows))


def result_of(frame: Frame, verb: str) -> dict[str, Any]:
    """The frames of the verb's result; or the error, for verbs that this frame does not have."""
    args, options = VERBS[verb]
    try:
        found = attrgetter(verb)(rf.rank(frame))(*args, **options)
        frames = dict(named(verb, found))
        assert frames, f"{verb} gives no frame"
        for x in frames.values():
            bare = type(x)({"a": [1]})
            assert vars(x).keys() <= vars(bare).keys(), verb
            assert getattr(x, "attrs", {}) == {}, verb
        return {name: rows_of(x) for name, x in frames.items()}
    except (rf.RankframeError, pl.exceptions.PolarsError) as error:
        return {"error": str(error).splitlines()[0]}


def verbs_of(kind: type) -> list[str]:
    """The verbs that a class of rankers, or of their topics, has itself."""
    lifted = {name: x.function for name, x in vars(kind).items() if isinstance(x, Lifted)}
    return [name for name, function in lifted.items() if not hasattr(function, "formula")]


def test_the_law_has_a_call_of_every_verb() -> None:
    kinds: dict[str, type] = {
        "": Ranker,
        **{f"{x._name}.": x for x in Topic.__subclasses__() if x._name in TOPICS},
    }
    lifted = {topic + name for topic, kind in kinds.items() for name in verbs_of(kind)}
    missing = {name for name in lifted if not {name, name.removeprefix("fusion.")} & VERBS.keys()}
    assert missing == BESIDE


def assert_same_for_a_copy(source: str, verb: str, folder: Path) -> None:
    """A copy through one to three operations, drawn by the case, gives what the frame gives."""
    draw = random.Random(f"{source} {verb}")
    frame = SOURCES[source](folder)
    ops = OPS[type(frame)]
    tail = draw.choices([*ops], k=draw.randint(1, 3))
    copied = reduce(lambda df, name: ops[name](df), tail, frame)
    assert result_of(copied, verb) == result_of(frame, verb), tail


JUDGED = [source for source in SOURCES if source.startswith("judge")]


@pytest.mark.filterwarnings("ignore::rankframe.RankframeWarning", "ignore::FutureWarning")
@each("source", JUDGED, sample=len(VERBS))
@each("verb", VERBS)
def test_every_verb_gives_the_same_for_a_judged_frame_and_for_a_copy_through_a_tail_of_operations(
    source: str, verb: str, tmp_path: Path
) -> None:
    assert_same_for_a_copy(source, verb, tmp_path)


@pytest.mark.filterwarnings("ignore::rankframe.RankframeWarning", "ignore::FutureWarning")
@each("source", [source for source in SOURCES if source not in JUDGED], sample=len(SIMPLE))
@each("verb", SIMPLE)
def test_a_verb_gives_the_same_for_a_frame_of_any_source_and_for_a_copy_through_a_tail_of_operations(
    source: str, verb: str, tmp_path: Path
) -> None:
    assert_same_for_a_copy(source, verb, tmp_path)


@pytest.mark.filterwarnings("ignore::rankframe.RankframeWarning")
def test_every_verb_of_the_law_has_a_result() -> None:
    frame = SOURCES["judge"](Path())
    assert {verb: found["error"] for verb in VERBS if "error" in (found := result_of(frame, verb))} == {}
