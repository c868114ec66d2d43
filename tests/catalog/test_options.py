"""Every option takes what its annotation names, and refuses all else at the call, by text and by method."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
import pytest

import rankframe as rf
from rankframe._catalog.call import call_of
from rankframe._catalog.registry import Metric
from rankframe._support.option_values import Range
from tests.support.calls import CALLS, CANONICAL, close, expected, values
from tests.support.each import each
from tests.support.tables import frame, random_table

HUGE = 10**400

TABLE = pl.DataFrame(
    {
        "query_id": [1, 1, 1, 1, 2, 2, 3],
        "doc_id": list("abcdabb"),
        "score": [4.0, 3.0, 2.0, None, 2.0, 1.0, 1.0],
        "label": [0, 1, None, 1, 1, 0, 0],
        "other": [1.0, 2.0, 3.0, 4.0, 1.0, 2.0, 1.0],
        "nan": [1.0] * 7,
        "abc": [1.0] * 7,
        "subtopic": [["x"], ["x", "y"], [], ["y"], ["x"], [], []],
    }
)
ROLES: dict[str, Any] = {
    "interactions": TABLE.select("query_id", "doc_id"), "items": sorted({*TABLE["doc_id"]}), "category": "subtopic", "group": "doc_id", "features": "other",
    "base": "other", "stratum": "doc_id", "inclusion": "nan", "cost": "nan",
}  # fmt: skip

# As text, and as an argument.
HOSTILE: dict[str, Any] = {
    "nan": math.nan,
    "inf": math.inf,
    "-1": -1,
    "0": 0,
    "1e400": 1e400,
    str(HUGE): HUGE,
    "abc": "abc",
    "None": None,
    "True": True,
    "{1:2}": {1: 2},
    "[1]": [1],
}

# What of this an option takes, by its name, and where a metric differs by that and its own.
TAKES = {
    "k": {"None"},
    "divisor": set(),
    "ideal": set(),
    "rounding": set(),
    "no_pairs": set(),
    "report": set(),
    "residual": {"True"},
    "normalize": {"True"},
    "gain": {"{1:2}"},
    "discount": set(),
    "min_label": {"0", "None"},
    "max_label": {"0", "None"},
    "p": set(),
    "decay": {"0"},
    "alpha": {"0"},
    "beta": set(),
    "recall": {"0"},
    "tied": {"0"},
    "max_fpr": {"None"},
    "multiple": set(),
    "target": set(),
    "depth": set(),
    "relevant_retrieved": {"-1", "0"},
    "nonrelevant_retrieved": {"-1", "0"},
    "relevant_missed": {"-1", "0"},
    "nonrelevant_missed": {"-1", "0"},
    "unseen_items": set(),
    "head": {"0"},
    "tail": {"0", "None"},
    "relevance": {"True"},
    "distance": set(),
    "against": set(),
    "weight": set(),
    "unit": set(),
    "base": set(),
    "step": set(),
    "smoothing": {"0"},
    "absolute": {"True"},
    "first_rank": {"0"},
    "at": set(),
    "partial": {"0"},
    **{name: set() for name in ("half_life", "length", "goal_intercept", "rate_intercept")},
    **{name: {"0"} for name in ("goal_slope", "rate_slope")},
    "rate": {"None"},
    "thresholds": {"None"},
    "negatives": set(),
    "capped": {"True"},
    "group": {"-1", "0", "abc"},
    "itself": set(),
    "collection": {"None"},
    "terms": {"None"},
}
OF_READERS = {"k": set(), "max_label": {"None"}, "gain": {"None"}}
TAKES_OTHERWISE: dict[str, dict[str, set[str]]] = {
    "rbp": {"gain": {"None"}},
    **{name: {"beta": {"0"}} for name in ("f_beta", "q_measure")},
    **{name: {"gain": set()} for name in ("d_ndcg", "d_sharp_ndcg")},
    **{name: {"tied": set()} for name in ("rbo", "rbo_min", "rbo_residual")},
    "alpha_dcg": {"k": set()},
    "err_ia": {"k": set()},
    "relstring": {"k": set()},
    "calibration": {"alpha": set()},
    **{name: {"group": {"-1", "0", "abc", "None"}} for name in ("awrf", "ndkl")},
    **{name: {"gain": set()} for name in ("err", "nerr", "pfound")},
    **dict.fromkeys(("sdcg", "bpm", "insq", "inst", "nerr8", "nerr9", "nerr10", "nerr11"), OF_READERS),
    **dict.fromkeys(("time_biased_gain", "u_measure"), OF_READERS),
    "ift": {**OF_READERS, "target": {"None"}},
}
RANKERS: dict[str, Any] = {
    "polars": TABLE.rank, "lazy": TABLE.lazy().rank, "pandas": TABLE.to_pandas().rank, "expr": rf.expr,
}  # fmt: skip
METHODS: dict[str, Any] = {name: getattr(ranker, "metrics", ranker) for name, ranker in RANKERS.items()}
ALL = [*rf.METRICS.values(), *rf.AGREEMENTS.values()]
OPTIONS = [(metric, name) for metric in ALL for name in metric.parameters]


def evaluated(table: pl.DataFrame, metric: Metric, options: dict[str, Any], form: str) -> pl.DataFrame:
    """The values of a metric with options given as arguments."""
    if metric.name in rf.AGREEMENTS:
        return table.rank.agreement("other", call_of(metric, (), options).text)
    name = metric.formula.__name__
    alone = {**options, "max_label": options.get("max_label", 1)} if "max_label" in metric.parameters else options
    if form == "expr" and metric.over == "documents" and alone.get("max_label", 1) is not None:
        return table.group_by("query_id").agg(getattr(rf.expr.on(**roles(metric)), name)(**alone))
    if form == "pandas":
        of_pandas: Any = getattr(table.to_pandas().rank.on(**roles(metric)).metrics, name)(**options)
        return pl.from_pandas(of_pandas)
    ranker = (table if form == "polars" else table.lazy()).rank.on(**roles(metric)).metrics
    found: pl.DataFrame = getattr(ranker, name)(**options).lazy().collect()
    return found


def roles(metric: Metric) -> dict[str, Any]:
    """The options of `on` with which a metric can be evaluated."""
    if metric.name == "calibration":
        return {**ROLES, "items": TABLE.unique("doc_id").select("doc_id", "subtopic")}
    return ROLES if metric.needs else {"subtopic": "subtopic"} if metric.over == "subtopics" else {}


@each(
    ("text", "advised"),
    [("ndcg(gain=exp)", "exponential"), ("dcg(discount=lg2)", "log2"), ("map(divisor=hit)", "hits")],
)
def test_a_misspelt_word_is_answered_by_the_nearest_one(text: str, advised: str) -> None:
    with pytest.raises(rf.InvalidOption, match=rf"\. Did you mean '{advised}'\?$"):
        rf.parse(text)


def by_text(metric: Metric, text: str) -> Callable[[], Any]:
    if metric.name in rf.AGREEMENTS:
        return lambda: TABLE.rank.agreement("other", text)
    return lambda: TABLE.rank.on(**roles(metric)).evaluate(text)


def refused(run: Callable[[], Any], metric: Metric, name: str) -> None:
    with pytest.raises(rf.InvalidOption) as caught:
        run()
    message = str(caught.value)
    assert re.fullmatch(
        rf"{metric.name}\({name}=.+\): write (the group|{re.escape(str(metric.kinds[name]))}).*", message
    )
    assert len(message) < 500


def sane(table: pl.DataFrame, metric: Metric, options: dict[str, Any]) -> None:
    column = table.to_series(-1)
    if column.dtype != pl.Float64:
        return
    low, high = call_of(metric, (), options).bounds
    for value in column.drop_nulls():
        assert math.isfinite(value)
        assert low is None or value >= low - 1e-12
        assert high is None or value <= high + 1e-12


@pytest.mark.filterwarnings("ignore:.* takes .*, the largest label of this table:rankframe.RankframeWarning")
@each("form", METHODS, sample=len(OPTIONS) // 2)
@each(("metric", "name"), OPTIONS, ids=[f"{metric.name}-{name}" for metric, name in OPTIONS])
def test_an_option_takes_what_it_is_documented_to_take_and_refuses_the_rest(
    metric: Metric, name: str, form: str
) -> None:
    required = {
        n: {"k": 3, "recall": 0.5, "multiple": 0.5, "group": "a", "negatives": 2}[n]
        for n, x in metric.parameters.items()
        if x.default is x.empty
    }
    takes = TAKES_OTHERWISE.get(metric.name, {}).get(name, TAKES[name])
    for text, value in HOSTILE.items():
        if name == "group" and isinstance(value, float) and text != "1e400":
            continue  # a group may be called so in a text
        options = {**required, name: value}
        texts = ",".join(f"{n}={text if n == name else x}" for n, x in options.items())
        written = by_text(metric, f"{metric.name}({texts})")
        if text in takes:
            table = (
                TABLE if options.get("max_label") != 0 else TABLE.with_columns(pl.col("label") * 0)
            )  # none is above it
            if name == "group":  # which one row has
                first = pl.int_range(pl.len()) == 0
                of_group = pl.when(first).then(pl.lit(text)).otherwise(pl.col(ROLES["group"]).cast(pl.String))
                table = table.with_columns(of_group.alias(ROLES["group"]))
            sane(evaluated(table, metric, options, form), metric, options)
            continue
        refused(written, metric, name)
        several = name == metric.first and isinstance(value, list)  # a method gives a column for each cutoff
        if metric.name not in rf.AGREEMENTS and not several:
            refused(lambda o=options: getattr(METHODS[form], metric.formula.__name__)(**o), metric, name)


@each("text", [text for text in HOSTILE if text != "0"])
def test_a_threshold_is_a_finite_number_from_0_on(text: str) -> None:
    value = HOSTILE[text]
    if value is not None:
        for ranker in RANKERS.values():
            with pytest.raises(rf.InvalidOption, match=r"^relevant=.{1,110}: write a number from 0"):
                ranker.on(relevant=value)
        with pytest.raises(rf.InvalidOption, match=r"^relevant=.{1,110}: write a number from 0"):
            TABLE.rank.evaluate(f"map(relevant={text})")


@each(
    "text",
    [
        "utility(relevant_retrieved=nan)",
        "nerr10(depth=abc)",
        "nerr8(k=None)",
        "nerr8(k=3,max_label={1:2})",
        "nerr10(depth=-1)",
        "nerr11(depth=inf)",
        "insq(residual=abc)",
        "compatibility(normalize=abc)",
        "compatibility(normalize=-1)",
        "utility(relevant_retrieved=1e400)",
        "ndcg(discount=1e400)",
        f"precision(k={HUGE})",
        f"precision@{HUGE}",
        f"map(relevant={HUGE})",
        f"map-l{HUGE}",
        f"set_F.{HUGE}",
        f"Rprec_mult_{HUGE}",
        f"utility.{HUGE},0,0,0",
        f"ndcg-l{HUGE}",
        f"ndcg@{'9' * 5000}",
        f"ndcg(k={'9' * 5000})",
        "ndcg(gain={[1]:2})",
        "ndcg(gain={1:[2]})",
        f"ndcg(k={'-' * 20_000}1)",
        f"ndcg(k={'(' * 20_000}1{')' * 20_000})",
        "pfound(max_label=True)",
        "f_beta(beta=1e200)",
        "insq(target=1e300)",
        "sdcg@1000000000000",
        "nerr8@1000000000000",
        "nerr9@1000000000000",
        "err_ia@1000000000000",
        "alpha_dcg@1000000000000",
        "relstring@1000000000000",
        "ndcg(ideal=perfect)@1000000000000",
        "compatibility(p=0.9999999999)",
    ],
    ids=lambda text: text[:40],
)
def test_a_text_that_no_metric_can_follow_is_refused_at_once_and_in_short(text: str) -> None:
    ranker = TABLE.rank.on(subtopic="subtopic") if text.startswith(("alpha", "err_ia")) else TABLE.rank
    with pytest.raises(rf.RankframeError) as caught:
        ranker.evaluate(text)
    assert len(str(caught.value)) < 600


@each(
    "text",
    ["a" * 20_000, "a@" + "b" * 20_000, "ndcg@" + "b" * 20_000, "bpref@" + "1" * 20_000, "bpref." + "1" * 20_000,
     "ndcg(" + "b" * 20_000 + ")", "map(divisor=" + "b" * 20_000 + ")", "(" * 20_000, "set_F.-" + "1" * 200],
    ids=lambda text: text[:8],
)  # fmt: skip
def test_a_long_text_is_repeated_without_its_middle(text: str) -> None:
    with pytest.raises(rf.RankframeError) as caught:
        rf.parse(text)
    assert len(str(caught.value)) < 3000  # of which the most are the known metrics
    assert "letters)" in str(caught.value)


@each("policy", ["depth", "collection_size", "unjudged_labels"])
def test_a_policy_refuses_a_whole_number_that_no_column_holds(policy: str) -> None:
    with pytest.raises(
        rf.InvalidOption,
        match=r"=<a whole number of 401 digits; 38 are the most>: write a whole|unjudged_labels=\(0, 1000.*letters\): write a list",
    ):
        TABLE.rank.on(**{policy: (0, HUGE) if policy == "unjudged_labels" else HUGE})


@each("given", [pl.col("score"), np.array(["best", "worst"]), [1], 3])
@each("policy", ["ties", "convention"])
def test_a_policy_refuses_what_is_no_word(policy: str, given: Any) -> None:
    with pytest.raises(rf.InvalidOption, match=r"write one of '(doc_desc|trec_eval)'"):
        TABLE.rank.on(**{policy: given})


class Mute:
    """Something without a text."""

    def __repr__(self) -> str:
        raise RuntimeError


def test_what_has_no_text_is_refused_by_its_type() -> None:
    with pytest.raises(rf.InvalidOption, match=r"^rbp\(p=<Mute>\): write a number between 0 and 1\.$"):
        TABLE.rank.rbp(p=Mute())  # type: ignore[arg-type]


LARGE = [2**53 + 1, 2**63, 2**70, 10**38 - 1]


def test_cutoffs_keep_their_digits_in_the_name_and_in_the_text_that_is_read_back() -> None:
    near = [2**53, 2**53 + 1, 2**53 + 2, *LARGE]
    texts = [f"ndcg@{k}" for k in dict.fromkeys(near)]
    assert TABLE.rank.evaluate(*texts).columns[1:] == texts
    assert [call.text for text in texts for call in rf.parse(text)] == texts
    assert TABLE.rank.ndcg(k=np.int64(2**53 + 1)).columns[1] == f"ndcg@{2**53 + 1}"


WITH_CUTOFF = [  # who may read on without end, and does so by default
    name
    for name in CALLS
    if "k" in (parameters := rf.METRICS[CANONICAL[name]].parameters) and parameters["k"].default is None
]


@each("k", LARGE, sample=len(WITH_CUTOFF))
@each("name", WITH_CUTOFF)
def test_a_large_cutoff_counts_as_any_other(name: str, k: int) -> None:
    options = {"k": k, "max_label": 4} if "max_label" in rf.METRICS[CANONICAL[name]].parameters else {"k": k}
    rows = random_table(1, queries=8)
    table = frame(rows, seed=1)
    text = call_of(rf.METRICS[CANONICAL[name]], (), options).text
    found = [
        values(getattr(table.rank.metrics, name)(**options), text),
        values(getattr(table.lazy().rank.metrics, name)(**options).collect(), text),
        values(table.group_by("query_id").agg(getattr(rf.expr, name)(**options)), text),
    ]
    for query, value in expected(rows, name, options, {}).items():
        assert all(close(each[query], value) for each in found), (query, found, value)


# Of one relevant document at rank 2, of one at rank 1, and of none, by the definitions of the readers: the chance to
# go on from rank i is ((i + 1) / (i + 2))^2 for INSQ, so that rank i is seen with the chance (2 / (i + 1))^2.
SQUARES = math.pi**2 / 6 - 1  # 1/4 + 1/9 + 1/16 ...
READERS = {
    "bpm": (1 / 2, 1.0),
    "nerr10": (0.9 / 1.9, 1.0),
    "nerr11": (4 / 9 / (1 + 4 / 9), 1.0),
    "insq": (4 / 9 / (4 * SQUARES), 1 / (4 * SQUARES)),
    "inst": (4 / 9 / (1 + 16 / 9 * SQUARES), 1 / (1 + SQUARES)),
}


@each("k", LARGE, sample=8)
@each("name", READERS)
def test_a_reader_may_go_on_as_far_as_numbers_go(name: str, k: int) -> None:
    wanted = [*map(pytest.approx, READERS[name]), 0]
    found = [
        TABLE.rank.evaluate(f"{name}(max_label=1)@{k}"),
        TABLE.lazy().rank.evaluate(f"{name}(max_label=1)@{k}").collect().sort("query_id"),
        TABLE.group_by("query_id").agg(getattr(rf.expr, name)(k, max_label=1)).sort("query_id"),
    ]
    assert [table.to_series(-1).to_list() for table in found] == [wanted] * 3


def test_a_large_cutoff_counts_as_any_other_in_measures_of_agreement() -> None:
    names = ["kendall_distance", "rbo", "rbo_min", "rbo_residual"]
    whole = TABLE.rank.agreement("other", *names)
    for k in LARGE:
        found = TABLE.rank.agreement("other", *(f"{name}@{k}" for name in names), f"overlap@{k}")
        assert found.rows() == [(*row, found.item(i, -1)) for i, row in enumerate(whole.rows())]
        assert found.to_series(-1).to_list() == pytest.approx([3 / k, 2 / k, 1 / k], rel=1e-12)


def test_a_large_cutoff_counts_as_any_other_where_values_have_bounds_or_expectations() -> None:
    for ranker in (TABLE.rank.on(unjudged="bounds"), TABLE.rank.on(ties="expected")):
        for k in LARGE:
            assert ranker.evaluate(f"ndcg@{k}", f"hits@{k}").rows() == ranker.evaluate("ndcg", "hits").rows()


DECLARED = """
from __future__ import annotations
from typing import Annotated, Literal, Optional
import polars as pl
import rankframe as rf
from rankframe._support.option_kinds import Range

@rf.metric()
def declared(
    r, k: int | None = None, *, power: float = 2, times: int = 1, mode: Literal["up", "down"] = "up", flag: bool = False,
    share: Annotated[float, "a note", Range(least=0, most=1)] = 1, steps: Optional[int] = None, worth: dict[float, float] = {},
    name: str = "x", by: pl.Expr | None = None, free=None, unknown: Missing = None, odd: list[int] = None,
    words: dict[str, float] = None, loose=1, listed: [1, 2] = None,
) -> pl.Expr:
    return r.total(r.relevant * share, k)
"""


@pytest.fixture
def declared() -> Iterator[Metric]:
    names: dict[str, Any] = {"__name__": "declared"}
    exec(compile(DECLARED, "declared", "exec"), names)
    yield rf.METRICS["declared"]
    rf.unregister("declared")


GIVEN: dict[str, tuple[list[Any], list[Any]]] = {
    "k": ([None, 1, np.int8(3)], [0, -1, 1.5, True, "x", HUGE]),
    "power": ([1, 0.5, -3, Fraction(1, 2), np.float32(2)], [math.nan, math.inf, True, None, "x", HUGE, {1: 2}]),
    "times": ([3, -3, np.uint8(2)], [1.5, True, None, "x", HUGE, math.nan]),
    "mode": (["up", "down", np.str_("down")], ["left", 1, None, True]),
    "flag": ([True, False], [1, 0, "True", None]),
    "share": ([0, 1, 0.5], [1.01, -0.01, None]),
    "steps": ([None, 5], [0.5, "x"]),
    "worth": ([{}, {1: 2}, {0.5: -3}], [{1: math.nan}, {"a": 1}, {True: 1}, 3, None]),
    "name": (["x", "any text"], [1, None]),
    "by": ([None, pl.col("score")], ["score", 1]),
    "free": (["x", 1, None, True, {1: 2}], [[1], {"a": 1}]),
    "unknown": (["x", 1, None], [[1]]),
    "loose": ([1, 2, True, "x"], [[1]]),
    "listed": ([None, 1], [[1]]),
    "odd": ([None, 1], [[1]]),
    "words": ([None, {1: 2}], [{"a": 1}]),
}


@each("name", GIVEN)
def test_a_metric_of_ones_own_has_the_checks_of_its_annotations(declared: Metric, name: str) -> None:
    fit, unfit = GIVEN[name]
    for value in fit:
        call = call_of(declared, (), {name: value})
        assert call.arguments.get(name, declared.parameters[name].default) is not ...
        TABLE.rank.evaluate(declared.formula)
        TABLE.rank.declared(**{name: value})
    for value in unfit:
        with pytest.raises(rf.InvalidOption, match=r"declared|mapping"):
            TABLE.rank.declared(**{name: value})


def test_words_in_text_are_never_columns(declared: Metric) -> None:
    with pytest.raises(rf.InvalidOption, match=r"declared\(by='score'\): write a Polars expression or None\.$"):
        TABLE.rank.evaluate("declared(by=score)")
    with pytest.raises(rf.InvalidOption, match=r"ndcg\(gain='label'\): write"):
        TABLE.rank.evaluate("ndcg(gain=label)")
    with pytest.raises(rf.InvalidOption, match=r"discount=a function gives 'abc'; let it make an expression"):
        TABLE.rank.dcg(discount=lambda rank: "abc")


def test_a_discount_may_give_a_number() -> None:
    assert TABLE.rank.dcg(discount=lambda rank: 2).to_series(1).to_list() == [0.5, 0.5, 0.0]


@pytest.mark.usefixtures("declared")
def test_a_value_that_equals_the_default_is_the_default_but_a_truth_is_no_number() -> None:
    assert rf.parse("f_beta(beta=1)")[0].text == "f_beta"
    assert rf.parse("rbp(p=0.80)")[0].text == "rbp"
    assert rf.parse("declared(loose=True)")[0].text == "declared(loose=True)"
    for text in ("f_beta(beta=True)", "pfound(max_label=True)", "insq(residual=0)", "compatibility(normalize=1)"):
        with pytest.raises(rf.InvalidOption, match="write"):
            rf.parse(text)


@each(
    ("within", "text", "inside", "outside"),
    [
        (Range(), "", [0, -1e9], []),
        (Range(least=0), "from 0 on", [0, 1], [-1]),
        (Range(above=0), "above 0", [0.1], [0]),
        (Range(most=5), "up to 5", [5, -1], [6]),
        (Range(below=5), "below 5", [4, -1], [5]),
        (Range(least=0, most=1), "from 0 to 1", [0, 1], [1.1]),
        (Range(above=0, below=1), "between 0 and 1", [0.5], [0, 1]),
        (Range(least=1, most=1_000_000), "from 1 to 1,000,000", [1], [0]),
        (Range(above=0, below=0.5), "between 0 and 0.5", [0.25], [0, 0.5]),
        (Range(below=0), "below 0", [-1], [0]),
        (Range(least=20, below=30), "from 20 to below 30", [20], [30]),
    ],
)
def test_a_range_says_which_numbers_it_holds(
    within: Range, text: str, inside: list[float], outside: list[float]
) -> None:
    assert str(within) == text
    assert all(x in within for x in inside)
    assert not any(x in within for x in outside)
