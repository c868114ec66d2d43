"""Options of every verb and function: each is read by its annotation, and a wrong value gives an error of the library."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterator
from typing import Annotated, Any, Literal, TypeAlias

import numpy as np
import polars as pl
import pytest

import rankframe as rf
from rankframe._lift.ranker import Ranker
from rankframe._support.methods import Lifted, called_by_users
from rankframe._support.option_kinds import TWO_LINES, kinds_of
from rankframe._support.option_values import Range
from rankframe._table.setup import OPTIONS
from rankframe.plot import PLOTS, Plots
from tests.support.each import each
from tests.support.hostile import TABLE, TWO

READ_INSIDE = {"runs", "method", "fusion", "budgets", "path", "weight", "text", "sequential"}
"""Options that the verbs read themselves, with more to say of a wrong value."""

TYPES_OF_OTHERS = {
    "ax", "bounds", "beyond", "corpus", "dtype", "frame", "group", "label_dtype", "labels", "needs", "pool", "qrels", "queries",
    "query", "run", "scores", "source", "train",
}  # fmt: skip
"""Options that take arrays, tables or types of other libraries."""


def documented() -> Iterator[tuple[str, Callable[..., Any]]]:
    lifted = [(name, x.function) for name, x in vars(Ranker).items() if isinstance(x, Lifted)]
    yield from lifted
    for name in PLOTS:
        yield name, next(vars(kind)[name].function for kind in Plots.__mro__ if name in vars(kind))
    yield from ((f"rf.{name}", x) for name in rf.__all__ if inspect.isfunction(x := getattr(rf, name)))


def options_of(function: Callable[..., Any]) -> list[str]:
    several = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return [x.name for x in inspect.signature(function).parameters.values() if x.kind not in several]


def test_every_option_is_read_by_its_annotation() -> None:
    functions = dict(documented())
    assert len(functions) > 55
    for name, function in functions.items():
        kinds = kinds_of(function)[1]
        unread = {*options_of(inspect.unwrap(function))} - {"table", "self", *OPTIONS} - kinds.keys()
        assert unread <= READ_INSIDE | TYPES_OF_OTHERS, name


def test_resamples_have_an_upper_bound() -> None:
    with pytest.raises(
        rf.InvalidOption, match="resamples=18446744073709551616: write a whole number from 1 to 10,000,000"
    ):
        TABLE.rank.summarize("map", resamples=2**64)


@each(
    ("call", "says"),
    [
        (lambda r: r.compare("map", n_bootstrap=99, **TWO), "compare has no option 'n_bootstrap'; write resamples=99"),
        (lambda r: r.compare("map", bootstrap=True, **TWO), "compare has no option 'bootstrap'; write resamples=10000"),
        (lambda r: r.compare("map", alpha=0.1, **TWO), "compare has no option 'alpha'; write ci=0.9"),
        (lambda r: r.gate({"map": 0.1}, alpha=0.1, **TWO), "gate has no option 'alpha'; write confidence=0.9"),
        (lambda r: r.compare("map", method="t", **TWO), "compare has no option 'method'; write test='t'"),
        (lambda r: r.compare("map", method="wilcoxon", **TWO), "compare has no option 'method'; write test='auto'"),
        (lambda r: r.mean("map", group_by="side"), "mean has no option 'group_by'; write by='side'"),
        (lambda r: r.compare("map", systems=["a"]), "compare has no option 'systems'; write runs=['a']"),
        (
            lambda r: r.compare("map", alternative="greater", **TWO),
            "compare has no option 'alternative'; it is two-sided, and gate is one-sided: df.rank.gate(",
        ),
        (
            lambda r: r.gate({"map": 0.1}, alternative="greater", **TWO),
            "gate has no option 'alternative'; it is one-sided; leave this out",
        ),
        (
            lambda r: rf.compare({"a": {}, "b": {}}, {}, "map", alternative="greater"),
            "compare has no option 'alternative'; it is two-sided, and gate is one-sided: rf.gate(runs, qrels, ",
        ),
        (
            lambda r: r.evaluate("ndcg", k=[5, 10]),
            "evaluate has no option 'k'; the text of a metric names its cutoff: 'ndcg@5,10'",
        ),
        (
            lambda r: rf.evaluate("a.run", {}, "map", k=None),
            "evaluate has no option 'k'; the text of a metric names its cutoff: 'map@10'",
        ),
        (lambda r: r.ndcg(cutoff=5), "ndcg has no option 'cutoff'; write k=5"),
        (lambda r: r.mean(metrics=["map", "rr"]), "mean has no option 'metrics'; write 'map', 'rr' without a keyword"),
        (lambda r: r.mean(metric=None), "mean has no option 'metric'; write 'ndcg@10' without a keyword"),
        (
            lambda r: r.power("map", difference=0.1, method="t", **TWO),
            "power: got an unexpected keyword argument 'method'; its signature is",
        ),
        (lambda r: r.mean("map", run=["a", "b"]), "run=['a', 'b'] names several columns; "),
        (lambda r: r.evaluate("ndcg(gain=binary)@all"), "'all' in 'ndcg(gain=binary)@all' is no number, and a metric "),
    ],
)
def test_words_that_people_try_lead_to_what_to_write(call: Callable[[Any], object], says: str) -> None:
    with pytest.raises(rf.InvalidOption) as caught:
        call(TABLE.rank)
    assert str(caught.value).startswith(says)
    assert len(str(caught.value)) <= TWO_LINES


@each(
    ("given", "meant"),
    [("fdr_bh", "bh"), ("fdr_by", "by"), ("fdr", "bh"), ("BH", "bh"), ("BY", "by"), ("holm", "holm"), (None, None)],
)
def test_corrections_by_the_names_of_statsmodels_and_r_are_ours(given: Any, meant: Any) -> None:
    compared, wanted = (TABLE.rank.compare("map", correction=x, resamples=99, **TWO) for x in (given, meant))
    assert compared.settings == wanted.settings
    assert compared.table.equals(wanted.table)


@each("given", ["bonferroni", "sidak", "holm-sidak", "simes-hochberg", "hommel", "fdr_tsbh", "fdr_tsbky", "fdr_gbs"])
def test_other_corrections_of_statsmodels_are_answered_with_one_to_write(given: Any) -> None:
    instead = "bh" if given.startswith("fdr") else "holm"
    with pytest.raises(
        rf.InvalidOption, match=rf"^correction='{given}' is not computed: .*; write correction='{instead}'$"
    ):
        TABLE.rank.compare("map", correction=given, **TWO)


@each("given", [5, 0, float("nan"), True, object()])
def test_runs_are_a_list_or_a_mapping(given: Any) -> None:
    with pytest.raises(rf.InvalidOption, match=r"^runs=.*: write a list of columns' names, a mapping"):
        TABLE.rank.mean("map", runs=given)


def test_no_runs_in_a_list_or_a_mapping_are_no_runs() -> None:
    alone = TABLE.rank.mean("map")
    assert TABLE.rank.mean("map", runs=[]).equals(alone)
    assert TABLE.rank.mean("map", runs={}).equals(alone)


@each(
    ("call", "message"),
    [
        (lambda r: r.summarize("map", progress=3), "progress=3: write True or False"),
        (lambda r: r.power("map", difference=b"x", **TWO), "difference=b'x': write a finite number above 0 or a list"),
        (lambda r: r.mean("map", by={}), r"by=\{\}: write a list of columns' names, a column's name or None"),
        (lambda r: r.with_ranks(name=5), "name=5: write text or None"),
        (lambda r: r.agreement(5.5, "kendall_tau"), "no column '5.5'"),
        (lambda r: r.on(category=[]), r"^category=\[\] is no column name"),
        (lambda r: r.on(score=()), r"^score=\(\) is no column name"),
        (lambda r: r.on(label=("label", "score")), r"^label=\('label', 'score'\) is no column name"),
        (lambda r: r.on(features=[]), r"^features=\[\] names no column; name at least one, as features=\['x', 'y'\]"),
        (lambda r: r.on(weight="\ud800").dcg(), r"^no column '\\\\ud800' for weight"),
        (lambda r: r.clicks.preference(credit=[]), r"^credit=\[\]: name three columns, as credit=\['credit', "),
        (
            lambda r: r.collection.label_agreement("label", "s2", runs=TABLE),
            "^runs=a DataFrame: write a list of columns' names",
        ),
        (lambda r: r.collection.label_agreement("label", ["s2"]), "^labels=.*: write a list"),
        (lambda r: r.clicks.propensities(context=["side", "doc_id"]), "^context='doc_id' names the documents"),
        (lambda r: r.power("map", difference=[], **TWO), r"^difference=\[\] names no difference"),
        (lambda r: r.collection.reliability("map", difference=[], **TWO), r"^difference=\[\] names no difference"),
        (lambda r: r.power("map", difference=pl.Series([0.1]), **TWO), "^difference=a Series: write"),
        (
            lambda r: r.gate("dcg", margin=1e308, **TWO),
            "^a budget of 1e.308 allows any loss: no value of dcg is beyond",
        ),
        (lambda r: r.with_ranks(name=""), "^name='' is no name of a column"),
        (lambda r: r.mean("map", by=iter([])), "^by=.*: write a list of columns' names"),
        (lambda r: rf.write_run(TABLE, "\0x"), r"^'\\x00x' names no file: it holds a null byte"),
        (lambda r: rf.parse("ndcg_cut." + "5," * 20_000 + "5"), "has 20,001 numbers after the point; at most 1,000"),
        (lambda r: rf.from_arrays(scores=[0.5], query={}), r"^query=\{\}: write the queries' names in a list"),
        (lambda r: r.on(features="side").evaluate("ild@2"), "^column 'side' for features holds String, not numbers"),
    ],
)
def test_values_that_passed_or_broke_are_refused(call: Callable[[Any], object], message: str) -> None:
    with pytest.raises(rf.RankframeError, match=message):
        call(TABLE.rank)


def test_half_of_a_character_in_a_columns_name_is_spelled_out_where_there_is_no_table_yet() -> None:
    assert "\\ud800" in str(rf.expr.on(weight="\ud800").dcg())
    assert "\\ud800" in rf.sql("dcg", dialect="duckdb", table="t", weight="\ud800")


def test_a_column_that_is_named_twice_is_one() -> None:
    for front in (TABLE, TABLE.lazy()):
        twice, once = (front.rank.mean("map", by=by).lazy().collect() for by in (["side", "side"], "side"))
        assert twice.equals(once)


def test_a_pool_has_the_queries_in_the_order_of_the_table() -> None:
    rows = {"query_id": [2, 2, 1, 1], "doc_id": [*"abab"], "x": [None, None, 1.0, 2.0], "y": [1.0, 2.0, None, None]}
    found = pl.DataFrame(rows).rank.collection.pool(depth=1, runs=["x", "y"])
    assert found.rows() == [(2, "b", 1, 1), (1, "b", 1, 1)]
    assert pl.DataFrame(rows).rank.collection.pool(depth=1, runs=["x", "y"], size=2**64).equals(found)


def test_deep_json_of_a_trained_method_is_refused() -> None:
    with pytest.raises(rf.InvalidData, match="is no JSON of a trained"):
        rf.results.FittedFusion.from_json("[" * 100_000)


Confidence: TypeAlias = Annotated[float, Range(above=0, below=1)]


@called_by_users
def interval(
    *metrics: str,
    ci: Confidence | None = 0.95,
    method: Literal["bca", "percentile", "t"] = "bca",
    resamples: Annotated[int, Range(least=1, most=10_000_000)] = 1000,
    seed: Annotated[int, Range(least=0)] = 0,
) -> tuple[object, ...]:
    """A function with the options of statistics."""
    return metrics, ci, method, resamples, seed


@each(
    ("options", "message"),
    [
        *(({"ci": ci}, "ci=.*: write a number between 0 and 1 or None") for ci in (95, 0, 1, "0.95", True, math.nan)),
        *(
            ({"resamples": n}, "resamples=.*: write a whole number from 1 to 10,000,000")
            for n in (0, 1.5, True, None, 2**64, 10**400)
        ),
        *(({"seed": seed}, "seed=.*: write a whole number from 0 on") for seed in (-1, 0.5, False, None)),
        ({"method": "percentil"}, r"method='percentil': .* 'bca', 'percentile', 't'\. Did you mean 'percentile'\?"),
        (
            {"ties": "order"},
            r"interval: got an unexpected keyword argument 'ties'; its signature is interval\(\*metrics",
        ),
    ],
)
def test_an_option_of_statistics_is_read_by_its_annotation(options: dict[str, Any], message: str) -> None:
    with pytest.raises(rf.InvalidOption, match=f"^{message}"):
        interval("map", **options)


def test_numbers_of_other_libraries_are_pythons_own_once_read() -> None:
    found = interval("map", ci=np.float32(0.5), resamples=np.int64(7), seed=np.uint8(3))
    assert found == (("map",), 0.5, "bca", 7, 3)
    assert [type(x) for x in found[1:]] == [float, str, int, int]
