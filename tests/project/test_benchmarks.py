"""The benchmarks: tools are told apart from wrong ones, bars are judged, and both scripts run on small tables."""

from __future__ import annotations

import gc
import json
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest

import rankframe as rf

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))

import bars
import suite
import timing
from shapes import SHAPES, Shape
from suite import draw
from tools import COMPETITORS, TEN, Disagreement, check, rankframe

from tests.support.each import each
from tests.support.tables import BY_CHANCE

pytestmark = BY_CHANCE

BY_NAME = {tool.name: tool for tool in (*COMPETITORS, *rankframe(*TEN))}
HERE = [  # with the libraries of the extra `test` alone
    "pytrec_eval",
    "ir_measures",
    "scikit-learn, looped",
    "scikit-learn, padded",
    "pandas groupby",
    "Polars group_by",
    "Polars group_by, lazy",
    "Polars windows",
    "Polars windows, lazy",
    "rankframe, Polars",
    "rankframe, Polars lazy",
    "rankframe, pandas",
]
KINDS = {
    "text": {"text": True},
    "integers": {},
    "hardly any relevant": {"relevant": 0.002},
    "grouped": {"order": "grouped"},
    "heavy ties": {"text": True, "levels": 3},
}


@pytest.fixture(autouse=True)
def _no_clearing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Clearing the memory before each call takes long in the process of all tests, and no time is believed here."""
    monkeypatch.setattr(timing, "gc", SimpleNamespace(collect=int, disable=gc.disable, enable=gc.enable))


@each("kind", KINDS)
@each("name", HERE)
def test_a_tool_gives_the_same_values(name: str, kind: str) -> None:
    table = Shape(30, 20, **KINDS[kind]).table(kind)
    tool = BY_NAME[name]
    assert tool.missing is None
    if table.ties and not tool.ties:
        with pytest.raises(Disagreement):
            check(tool, table)
    else:
        assert check(tool, table) <= 1e-9


def wrong(change: Any, name: str = "pandas groupby") -> Any:
    tool = BY_NAME[name]
    return replace(tool, values=lambda table, ready, given: change(tool.values(table, ready, given)))


@each(
    ("change", "said"),
    [
        (lambda f: f.with_columns(pl.col("map").add(1e-6)), r"map of query '\w+' is [\d.]+ by pandas groupby and"),
        (lambda f: f.with_columns(rr=pl.when(pl.col("query_id") != 7).then("rr")), r"rr of query '7' is None"),
        (
            lambda f: f.with_columns(rr=pl.when(pl.col("query_id") != 7).then("rr").otherwise(float("nan"))),
            "'7' is nan",
        ),
        (lambda f: f.filter(pl.col("query_id") != 7), r"query '7' is None"),
        (
            lambda f: f.vstack(f.head(1).with_columns(query_id=pl.lit(99).cast(f["query_id"].dtype))),
            "is 0.* by .* None",
        ),
    ],
)
def test_a_tool_that_is_wrong_is_not_timed(change: Any, said: str) -> None:
    with pytest.raises(Disagreement, match=said):
        suite.course(wrong(change), Shape(30, 20).table("small"), rounds=1, budget=10)


def test_ties_and_order_are_what_the_shape_says() -> None:
    for name, shape in SHAPES.items():
        frame = shape.smaller(1_000).table(name).frame
        tied = frame.select("query_id", "score").is_duplicated().any()
        assert tied == (shape.levels is not None), name
        assert frame["score"].cast(pl.Float32).cast(pl.Float64).equals(frame["score"]), name
        assert frame.select("query_id", "doc_id").is_unique().all(), name
    ranked = Shape(30, 20, order="ranked").table().frame
    assert ranked.rank.with_ranks()["rank"].to_list() == list(range(1, 21)) * 30
    assert Shape(30, 20, order="grouped").table().frame["query_id"].is_sorted()
    assert not Shape(30, 20).table().frame["query_id"].is_sorted()


def test_a_part_is_whole_queries() -> None:
    table = Shape(30, 20).table()
    assert table.part(100).frame.group_by("query_id").len()["len"].to_list() == [20] * 5
    assert Shape(1, 50).table().part(10).frame.height == 10


def test_a_slow_tool_is_timed_on_a_part_and_scaled() -> None:
    table = Shape(3_000, 10).table("slow")
    course = suite.course(BY_NAME["pandas groupby"], table, rounds=5, budget=0)
    assert (course.table.frame.height, course.rounds, course.scale) == (20_000, 1, 1.5)
    course.turn(0)
    figure = suite._figure(course, "slow", sort=1.0, ours=1.0)
    assert figure.evaluate == pytest.approx(1.5 * course.evaluated[0])
    assert figure.estimated


def test_the_suite_says_what_is_missing_and_what_took_no_part() -> None:
    tools = [BY_NAME["rankframe, Polars"], replace(BY_NAME["pytrec_eval"], needs=("no_such_module",))]
    table = Shape(20, 10, text=True, levels=2).table("tied")
    found = suite.measure(table, [*tools, BY_NAME["scikit-learn, padded"]], rounds=2, budget=10)
    assert [figure.note for figure in found] == [
        "",
        "no_such_module is not installed",
        "ties are not broken by document",
    ]
    assert "no_such_module is not installed" in found[1].line()
    assert found[0].rounds == 2


def test_the_suite_prints_and_writes(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: Any) -> None:
    monkeypatch.setattr(suite, "COMPETITORS", [BY_NAME["pytrec_eval"], BY_NAME["pandas groupby"]])
    figures = suite.main(["--quick", "--shapes", "10 x 100", "--out", str(tmp_path)])
    printed = capsys.readouterr().out
    for figure in figures:
        assert figure.line() in printed
        assert figure.evaluate is not None
    written = json.loads((tmp_path / "results.json").read_text(encoding="utf-8"))
    assert [figure["tool"] for figure in written["figures"]] == [figure.tool for figure in figures]
    chart = (tmp_path / "chart.svg").read_text(encoding="utf-8")
    assert all(figure.tool in chart for figure in figures)


def test_shapes_are_asked_for_by_parts_of_their_names() -> None:
    assert [name for name in SHAPES if "ties" in name] == list(suite.chosen(["ties"]))
    with pytest.raises(SystemExit, match="no shape is named like"):
        suite.chosen(["square"])


def test_a_bar_holds_or_does_not() -> None:
    at_most, at_least = bars.Bar("sort", 1.5, 1.0), bars.Bar("speed", 1.5, 3.0, at_most=False)
    assert (at_most.excess, at_most.holds, at_least.excess, at_least.holds) == (1.5, False, 2.0, False)
    assert bars.Bar("sort", 1.0, 1.0).holds
    assert bars.Bar("speed", 3.0, 3.0, at_most=False).holds
    assert at_most.line().endswith("does not hold")
    assert bars.Bar("sort", 2.1, 1.0).line().endswith("beyond twice")
    assert bars.Bar("sort", 0.9, 1.0).line().endswith("holds")


def test_what_is_known_of_a_missed_bar_is_no_news_and_no_pass() -> None:
    missed = bars.Bar("sort", 5.0, 1.0, known=4.0)
    assert (missed.excess, missed.holds) == (1.25, False)
    assert bars.Bar("sort", 9.0, 1.0, known=4.0).excess > 2
    assert bars.Bar("speed", 0.5, 5.0, at_most=False, known=1.0).excess == 2.0
    assert bars.Bar("sort", 3.0, 2.0, known=0.5).excess == 1.5  # the bar holds on where less is known


@each(("figure", "status"), [(0.9, 0), (1.9, 0), (2.1, 1)])
def test_the_guard_fails_only_beyond_twice_a_bar(figure: float, status: int, tmp_path: Path, monkeypatch: Any) -> None:
    def group(bench: bars.Bench) -> Iterator[bars.Bar]:
        yield bars.Bar("some figure", figure, 1.0)

    monkeypatch.setattr(bars, "GUARDED", (group,))
    assert bars.main(["--guard", "--out", str(tmp_path)]) == status
    written = json.loads((tmp_path / "guard.json").read_text(encoding="utf-8"))
    assert [(bar["figure"], bar["holds"]) for bar in written["bars"]] == [(figure, figure <= 1)]


class Once(bars.Bench):
    """Each call once, however many rounds its bar asks for."""

    def __init__(self) -> None:
        super().__init__(queries=10, rounds=1)

    def times(self, calls: Any, rounds: int | None = None) -> dict[str, bars.Took]:
        return super().times(calls, 1)


def test_every_bar_is_measured() -> None:
    bench = Once()
    counts = {
        bars.of_ten_metrics: 20,
        bars.of_kinds: 5,
        bars.of_lazy: 6,
        bars.of_hand: 8,
        bars.of_one_metric: 2,
        bars.of_a_small_table: 4,
        bars.of_judge: 2,
        bars.of_dictionaries: 2,
        bars.of_shapes: 14,
    }
    found = bars.judged([*counts], bench)
    assert len(found) == sum(counts.values())
    assert all(bar.processor is not None for bar in found)
    assert all(bar.figure > 0 for bar in found)


def test_the_bars_of_large_tables_are_measured() -> None:
    bench = bars.Bench(queries=10, rounds=1)
    found = [*bars.of_lazy_shapes(bench, {"one query": Shape(1, 50), "pairs": Shape(20, 2)})]
    found += bars.of_hand_at_ten_million(bench, queries=10)
    assert len(found) == 2 * 3 + 8
    assert all(bar.figure > 0 for bar in found)
    assert [shape.rows for shape in bars.FROM_PARQUET.values()] == [10_000_000, 10_000_000, 10_000_000, 5_000_000]


def test_nothing_is_timed_beside_polars_by_hand_that_gives_other_values(monkeypatch: Any) -> None:
    monkeypatch.setattr(bars, "BY_HAND", [wrong(lambda f: f.with_columns(pl.col("ndcg@10") + 1e-6), "Polars windows")])
    bench = bars.Bench(queries=10, rounds=1)
    with pytest.raises(Disagreement, match="by Polars windows"):
        [*bars.of_hand(bench)]


def test_large_tables_are_measured_only_where_they_are_asked_for(tmp_path: Path, monkeypatch: Any) -> None:
    def group(bench: bars.Bench) -> Iterator[bars.Bar]:
        yield bars.Bar("of three rounds", bench.rounds, 3.0)

    assert not {*bars.LARGE} & {*bars.ALL, *bars.GUARDED}
    monkeypatch.setattr(bars, "LARGE", (group,))
    assert bars.main(["--large", "--out", str(tmp_path)]) == 0
    written = json.loads((tmp_path / "large.json").read_text(encoding="utf-8"))
    assert [(bar["figure"], bar["holds"]) for bar in written["bars"]] == [(3, True)]


def test_the_suite_says_who_checks_nothing() -> None:
    table = Shape(20, 10).table("t")
    ours, theirs = suite.measure(table, [rankframe(*TEN)[0], BY_NAME["Polars group_by"]], rounds=1, budget=10)
    assert theirs.line().endswith("  checks nothing: scores that are NaN or null, repeated documents")
    assert "checks nothing" not in ours.line()
    assert "\n\nPolars group_by: checks nothing: scores that are NaN" in suite.markdown([ours, theirs], "t")


def test_the_parquet_file_of_a_table_has_its_rows_and_goes_away_with_it() -> None:
    table = Shape(20, 10).table("t")
    path = table.parquet
    assert path == table.parquet
    assert pl.read_parquet(path).equals(table.frame)
    del table
    gc.collect()
    assert not path.parent.exists()


def test_growth_is_the_slope_of_the_logarithms(monkeypatch: Any) -> None:
    bench = bars.Bench(queries=10, rounds=1)
    times = iter([0.1, 0.4, 1.6])
    monkeypatch.setattr(bars.Bench, "times", lambda *_: {"ten": bars.Took(next(times), 0.0)})
    (bar,) = bars.of_growth(bench, (1_000, 2_000, 4_000))
    assert bar.figure == pytest.approx(2)


def test_the_catalogue_has_every_metric_of_documents() -> None:
    columns = rf.rank(Shape(5, 20).table().frame).evaluate(*bars.catalogue()).columns[1:]
    names = {column.partition("(")[0].partition("@")[0] for column in columns}
    assert names == {name for name, metric in rf.METRICS.items() if metric.over == "documents" and not metric.needs}
    assert 55 <= len(columns) <= 100


def test_the_least_and_the_median_of_the_rounds() -> None:
    seconds = timing.Seconds((3.0, 1.0, 2.0, 9.0))
    assert (seconds.least, seconds.median, seconds.most) == (1.0, 2.5, 9.0)
    processor = timing.Seconds((3.0, 1.0), (0.5, 0.7))
    assert bars.least(processor) == timing.Seconds((1.0,), (0.5,))


def test_a_bar_of_two_times_has_the_ratio_by_the_clock_and_of_the_processor() -> None:
    bar = bars.ratio("sort", bars.Took(3.0, 8.0), bars.Took(2.0, 2.0), 1.6)
    assert (bar.figure, bar.processor, bar.holds) == (1.5, 4.0, True)


def test_tables_of_other_kinds_have_the_ids_scores_and_labels_of_their_names() -> None:
    frame = Shape(20, 10).table().frame
    tables = {name: other for name, (_, other) in bars.kinds(frame).items()}
    assert tables["five different scores"]["score"].n_unique() == 5
    assert (tables["fractional labels"]["label"] % 1 > 0).any()
    assert set(tables["ids of 36 letters"]["doc_id"].str.len_chars()) == {36}
    assert tables["wide whole ids"]["doc_id"].max() > 2**60
    for other in tables.values():
        assert other["query_id"].n_unique() == 20
        assert other.select("query_id", "doc_id").is_unique().all()


def test_a_chart_without_a_figure_of_ours_is_drawn_too(tmp_path: Path) -> None:
    figure = suite.Figure("table", "another tool", 3, 1.0, 0.5, 2.0, 3.0, 3.0, 3.0, 1)
    draw([figure, replace(figure, tool="missing", evaluate=None)], tmp_path)
    assert (tmp_path / "chart.png").stat().st_size > 0


def test_a_text_takes_sixteen_bytes_and_those_that_do_not_fit_into_them() -> None:
    assert bars.size_of(pl.Series(["a", "twelve bytes", None])) == 3 * 16
    assert bars.size_of(pl.Series(["a", "thirteen byte", "Ä" * 7])) == 3 * 16 + 13 + 14
    assert bars.size_of(pl.Series([1, 2, 3], dtype=pl.Int32)) == 3 * 4


def test_what_others_are_compared_with_is_timed_on_the_whole_table() -> None:
    table = Shape(3_000, 10).table("t")
    ours, other = suite.measure(table, [rankframe(*TEN)[0], BY_NAME["pandas groupby"]], rounds=2, budget=0)
    assert (ours.estimated, ours.rounds, other.estimated) == (False, 2, True)
    assert ours.rankframe == other.rankframe == ours.evaluate
