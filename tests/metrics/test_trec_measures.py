"""Every measure of trec_eval by its own name, against what trec_eval 10 printed with all its digits."""

from __future__ import annotations

import json
import math
import random
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import rankframe as rf
from rankframe._table.trec_eval import OF_THE_RUN
from tests.support.each import each
from tests.support.tables import BY_CHANCE, frame, random_table

pytestmark = BY_CHANCE

RECORD = json.loads((Path(__file__).parents[1] / "data" / "trec_eval_10.json").read_text(encoding="utf-8"))
TABLE = {query: [tuple(row) for row in rows] for query, rows in RECORD["table"].items()}
ONE_VALUE = ("set_F", "utility", "rbp_resid", "rbp", "relstring", "11pt_avg")


def text_of(name: str) -> str | None:
    """A printed name as text: parameters of measures with one value stand after a dot."""
    if name in ONE_VALUE:
        return name
    for base in ONE_VALUE:
        if name.startswith(f"{base}_"):
            parameters = name.removeprefix(f"{base}_")
            of_levels = "=" in parameters and not parameters.startswith("p=")
            return (
                None
                if of_levels or ("," in parameters.replace("1,-1", "") and base == "11pt_avg")
                else f"{base}.{parameters}"
            )
    return None if "=" in name else name


def policies_of(options: list[str]) -> dict[str, Any]:
    given = dict(zip(options, [*options[1:], ""], strict=False))
    policies: dict[str, Any] = {"unjudged": "drop"} if "-J" in given else {}
    names = {"-l": "relevant", "-M": "depth", "-N": "collection_size"}
    return policies | {names[flag]: int(value) for flag, value in given.items() if flag in names}


# The gains of unjudged documents that the others give to levels have no counterpart.
RUNS = [run for run in RECORD["runs"] if any(text_of(name) not in (None, *OF_THE_RUN) for name in run["values"])]


@each("run", RUNS, ids=lambda run: " ".join([*run["options"], run["measures"][0]]))
def test_values_are_those_of_trec_eval_10(run: dict[str, Any]) -> None:
    ranker = frame(TABLE).rank.on(convention="trec_eval", **policies_of(run["options"]))
    texts = {name: text for name in run["values"] if (text := text_of(name)) is not None and name not in OF_THE_RUN}
    table = ranker.evaluate(*texts.values())
    compared = set()
    for name, column in zip(texts, table.columns[1:], strict=True):
        values, found = run["values"][name], dict(table.select("query_id", column).iter_rows())
        queries = run["queries"][-1:] if len(values) == 1 else run["queries"]  # gm_map has no values of queries
        for query, theirs in zip(queries, values, strict=not name.startswith("relstring")):  # which has none of `all`
            here = [row for row in TABLE.get(query, ()) if row[1] is not None]
            if query == "all" or theirs in (None, "-nan") or not here or "-M 0" in " ".join(run["options"]):
                continue  # a missing query has a document that trec_eval makes up
            if isinstance(theirs, str):
                assert found[query] == theirs.strip("'"), (name, query)
            else:
                assert math.isclose(found[query], theirs, rel_tol=1e-12, abs_tol=1e-12), (
                    name,
                    query,
                    found[query],
                    theirs,
                )
            compared.add(name)
    assert compared


@pytest.mark.filterwarnings("ignore:the interval of .* is Student's t:rankframe.RankframeWarning")
def test_the_summary_is_that_of_trec_eval_10() -> None:
    run = next(run for run in RECORD["runs"] if not run["options"])
    answered = [query for query in run["queries"] if query != "all"]
    df = frame({query: TABLE[query] for query in answered})
    texts = {name: text_of(name) for name in run["values"] if name not in OF_THE_RUN}
    numbers = {
        text: values[-1] for name, text in texts.items() if text and not isinstance(values := run["values"][name], str)
    }
    wanted = {text: theirs for text, theirs in numbers.items() if isinstance(theirs, (int, float))}
    found = df.rank.on(convention="trec_eval").summarize(*wanted)
    assert found.height == len(wanted) > 60
    for row, (text, theirs) in zip(found.iter_rows(named=True), wanted.items(), strict=True):
        figure = "total" if rf.parse(text)[0].metric.summary == "sum" else "mean"
        assert row[figure] == pytest.approx(theirs, rel=1e-12, abs=1e-12), text


def test_relstring_has_the_same_letters_in_every_form() -> None:
    df = frame(random_table(31, labels=[None, -1, 0, 3, 12]))
    wanted = df.rank.metrics.relstring(k=4)
    assert wanted.schema["relstring@4"] == pl.String
    assert_frame_equal(df.lazy().rank.metrics.relstring(k=4).collect(), wanted, check_row_order=False)
    alone = df.group_by("query_id", maintain_order=True).agg(rf.expr.relstring(k=4))
    assert_frame_equal(alone, wanted)
    with pytest.raises(rf.InvalidOption, match="no mean"):
        df.rank.summarize("relstring")


@each("k", [1, 13, 14, 27, 60])
def test_relstring_spells_every_rank_however_many_there_are(k: int) -> None:
    r = random.Random(k)
    labels = [r.choice([None, -1, 9, 10, 12, *range(9)]) for _ in range(41)]
    rows = [(i, -i, label) for i, label in enumerate(labels)]
    r.shuffle(rows)
    df = pl.DataFrame(rows, schema={"doc_id": pl.Int64, "score": pl.Int64, "label": pl.Int64}, orient="row")
    df = df.select(pl.lit(1).alias("query_id"), pl.all())
    letters = ["-" if x is None else "." if x < 0 else ">" if x > 9 else str(x) for x in labels]
    wanted = "".join(letters[:k])
    text = f"relstring@{k}"
    assert df.rank.evaluate(text)[text].item() == wanted
    assert df.lazy().rank.evaluate(text).collect()[text].item() == wanted
    assert df.group_by("query_id").agg(rf.expr.relstring(k=k)).item(0, 1) == wanted
