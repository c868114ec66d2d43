"""Means over days, versions and numbers: their values by plain Python, their order, gaps and words."""

from __future__ import annotations

import datetime
import io
import itertools
import random
from collections import defaultdict
from typing import Any

import matplotlib as mpl
import polars as pl
import pytest

import rankframe as rf
from rankframe._pictures import plots
from rankframe._pictures.figure import Figure
from rankframe._table.setup import Setup
from rankframe._table.table import in_memory

mpl.use("Agg")
from matplotlib import pyplot

RUNS = ["old", "new"]


def day(n: int) -> datetime.date:
    return datetime.date(2024, 2, 27) + datetime.timedelta(days=n)


def of_days(days: list[Any], seed: int = 0, docs: int = 3) -> pl.DataFrame:
    """A query for each day, with one relevant document at some rank of either run."""
    draw, rows = random.Random(seed), []
    for query, at in enumerate(days):
        old, new = (draw.sample(range(docs), docs) for _ in RUNS)
        rows += [(query, old[i], new[i], int(i == 0), at) for i in range(docs)]
    return pl.DataFrame(rows, ["query_id", "old", "new", "label", "day"], orient="row")


def reciprocal_ranks(df: pl.DataFrame, run: str) -> dict[Any, list[float]]:
    """The reciprocal rank of each query, by its day: by counting the documents above the relevant one."""
    of_day: dict[Any, list[float]] = defaultdict(list)
    for rows in df.partition_by("query_id"):
        scores = rows[run].to_list()
        relevant = scores[rows["label"].to_list().index(1)]
        of_day[rows["day"][0]].append(1 / sum(score >= relevant for score in scores))
    return of_day


def drawn(df: pl.DataFrame, **options: Any) -> Figure:
    return plots.over(in_memory(df, Setup()), "rr", by="day", **{"runs": RUNS, **options})


def rows_of(figure: Figure, kind: str) -> pl.DataFrame:
    (found,) = (mark.rows for mark in figure.marks if mark.kind == kind)
    return found


def labels(figure: Figure) -> list[str]:
    return [text for _, text in figure.x.ticks or ()]


def test_a_mean_stands_at_each_day_of_each_run_with_its_number_of_queries() -> None:
    df = of_days([day(n) for n in [0, 0, 3, 3, 3, 1, 1, 40, 40]])
    line = rows_of(drawn(df), "line")
    for run in RUNS:
        values = reciprocal_ranks(df, run)
        wanted = [(day(n), sum(values[day(n)]) / len(values[day(n)]), len(values[day(n)])) for n in (0, 1, 3, 40)]
        found = line.filter(series=run).select("x", "y", "queries", "slice").rows()
        assert found == [
            ((at - datetime.date(1970, 1, 1)).days, pytest.approx(mean), n, at.isoformat()) for at, mean, n in wanted
        ]


def test_its_bands_are_the_intervals_of_summarize() -> None:
    df = of_days([day(n // 60) for n in range(180)] + [day(9)] * 5)
    for options, of in (({}, {}), ({"ci": 0.8}, {"ci": 0.8})):
        summary = df.rank.summarize("rr", by="day", runs=RUNS, resamples=1_000, **of)
        assert {*summary["interval"]} >= {"bounded"}
        band = rows_of(drawn(df, **options), "band")
        for run in RUNS:
            wanted = summary.filter(run=run).sort("day").select("ci_low", "ci_high").rows()
            assert band.filter(series=run).select("y", "y2").rows() == wanted


def test_a_column_of_runs_draws_the_same_as_score_columns() -> None:
    df = of_days([day(n % 4) for n in range(16)])
    long = pl.concat([df.select("query_id", "label", "day", score=run, system=pl.lit(run)) for run in RUNS])
    assert rows_of(drawn(long, runs=None, run="system"), "line").rows() == rows_of(drawn(df), "line").rows()


def test_a_mean_of_one_query_leaves_a_gap_and_an_interval_between_gaps_is_upright() -> None:
    df = of_days([day(n) for n in [0, 0, 1, 1, 2, 3, 3, 4, 5, 5, 6, 6]])
    found = drawn(df, runs=["old"])
    band, lone = rows_of(found, "band"), rows_of(found, "interval")
    assert [low is None for low in band["y"]] == [False, False, True, False, True, False, False]
    start = rows_of(found, "line")["x"][0]
    assert lone["x"].to_list() == [start + 3]
    assert lone.select("y", "y2").rows() == band.select("y", "y2").rows()[3:4]
    (area,) = [x for x in df.to_pandas().rank.plot.over("rr", by="day", runs=["old"]).collections if x.get_paths()][:1]
    assert not any(path.contains_point((start + 2, 0.5)) for path in area.get_paths())
    pyplot.close("all")


@pytest.mark.parametrize(
    ("values", "wanted"),
    [
        (["v10", "v9", "v1.10", "v1.9"], ["v1.9", "v1.10", "v9", "v10"]),
        (["2024-03-01", "2023-12-31"], ["2023-12-31", "2024-03-01"]),
        ([True, False], ["false", "true"]),
        (pl.Series(["we", "mo"], dtype=pl.Enum(["mo", "tu", "we"])), ["mo", "we"]),
        (pl.Series(["b", "a"], dtype=pl.Categorical), ["a", "b"]),
    ],
    ids=["versions", "dates as text", "bool", "enum", "categorical"],
)
def test_texts_and_categories_stand_one_by_one_in_their_order(values: Any, wanted: list[str]) -> None:
    df = of_days([0] * len(values)).with_columns(
        pl.Series("day", values).gather([i // 3 for i in range(3 * len(values))])
    )
    found = drawn(df)
    assert (found.x.ticks, labels(found)) == (tuple(enumerate(map(str, wanted))), wanted)
    assert rows_of(found, "line").filter(series="old")["slice"].to_list() == wanted


def test_numbers_stand_at_their_distances() -> None:
    df = of_days([2.0, 2.0, 0.5, 10.0])
    found = drawn(df)
    assert rows_of(found, "line").filter(series="new")["x"].to_list() == [0.5, 2, 10]
    assert labels(found) == ["0.5", "2.0", "10.0"]
    whole = drawn(df.with_columns(pl.col("day").cast(pl.Int16)))
    assert whole.x.ticks == ((0.0, "0"), (2.0, "2"), (10.0, "10"))


@pytest.mark.parametrize("unit", ["ms", "us", "ns"])
def test_times_are_written_as_precisely_as_they_differ(unit: Any) -> None:
    dates = of_days([datetime.datetime(2024, 3, n) for n in (1, 9, 9)]).cast({"day": pl.Datetime(unit)})
    assert labels(drawn(dates)) == ["2024-03-01", "2024-03-09"]
    hours = dates.with_columns(pl.col("day") + pl.duration(hours=pl.col("query_id")))
    assert labels(drawn(hours)) == ["2024-03-01 00:00", "2024-03-09 01:00"]
    local = hours.with_columns(pl.col("day").dt.replace_time_zone("Asia/Tokyo"))
    assert labels(drawn(local)) == labels(drawn(hours))
    seconds = dates.with_columns(pl.col("day") + pl.duration(seconds=pl.col("query_id")))
    assert labels(drawn(seconds))[0] == "2024-03-01 00:00:00"


def test_labels_leave_room_for_each_other() -> None:
    found = drawn(of_days([day(n) for n in range(100)]))
    places = [place for place, _ in found.x.ticks or ()]
    assert 3 <= len(places) <= 6
    assert min(b - a for a, b in itertools.pairwise(places)) * 56 / 99 >= len("2024-02-27")


def test_queries_without_a_value_are_left_out_and_counted() -> None:
    df = of_days([day(0), day(0), None, day(1), None])
    found = drawn(df)
    assert found.subtitle == "Mean over 3 queries, with 95% intervals (bounded); left out: 2 queries where day is null"
    assert len(rows_of(found, "line")) == 4
    odd = drawn(of_days([1.0, float("nan"), float("inf"), None, 2.0]))
    assert rows_of(odd, "line").filter(series="old")["x"].to_list() == [1, 2]
    assert odd.subtitle.endswith("left out: 3 queries where day is null")
    nothing = drawn(of_days([None, None]).cast({"day": pl.String}))
    assert (len(rows_of(nothing, "line")), nothing.x.ticks) == (0, ())


def test_missed_documents_without_a_day_belong_to_their_query() -> None:
    df = of_days([day(0), day(1)]).with_columns(score="old", doc_id=pl.int_range(pl.len()))
    missed = pl.DataFrame({"query_id": [0], "doc_id": [99], "label": [1]})
    found = drawn(pl.concat([df, missed], how="diagonal_relaxed"), runs=["old"])
    assert rows_of(found, "line")["queries"].to_list() == [1, 1]


def test_a_day_may_be_part_of_the_query() -> None:
    daily = pl.concat(of_days([day(n)] * 3, seed=n) for n in range(2))
    found = plots.over(in_memory(daily, Setup().on(query=["day", "query_id"], score="old")), "rr", by="day")
    wanted = [
        sum(values) / 3 for n in range(2) for values in reciprocal_ranks(of_days([day(n)] * 3, n), "old").values()
    ]
    assert rows_of(found, "line").select("y", "queries").rows() == [(pytest.approx(mean), 3) for mean in wanted]


def test_more_values_than_a_picture_can_show_are_refused_and_a_column_that_is_missing_is_named() -> None:
    df = of_days(list(range(401)), docs=1)
    with pytest.raises(
        rf.InvalidOption, match="401 values of day in one picture can't be told apart; plot 400 at most"
    ):
        df.rank.plot.over("rr", by="day", runs=RUNS)
    with pytest.raises(rf.MissingColumn, match="no column 'dya'"):
        df.rank.plot.over("rr", by="dya", runs=RUNS)


def test_altair_and_matplotlib_draw_the_same_means_and_labels() -> None:
    df = of_days([n // 3 for n in range(18)])
    chart = df.rank.plot.over("rr", by="day", runs=RUNS).to_dict()
    ax = df.to_pandas().rank.plot.over("rr", by="day", runs=RUNS)
    (line,) = (layer for layer in chart["layer"] if layer["mark"]["type"] == "line")
    rows = sorted(chart["datasets"][line["data"]["name"]], key=lambda row: RUNS.index(row["series"]))
    assert [tuple(xy) for of_run in ax.lines for xy in of_run.get_xydata()] == [(row["x"], row["y"]) for row in rows]
    assert [tip["field"] for tip in line["encoding"]["tooltip"]] == ["queries", "slice", "mean"]
    dates = df.with_columns(day=pl.date(2024, 2, 27) + pl.duration(days=pl.col("day")))
    named = [text.get_text() for text in dates.to_pandas().rank.plot.over("rr", by="day", runs=RUNS).get_xticklabels()]
    axis = dates.rank.plot.over("rr", by="day", runs=RUNS).to_dict()["layer"][-1]["encoding"]["x"]["axis"]
    assert all(f'"{name}"' in axis["labelExpr"] for name in named)
    assert named == ["2024-02-27", "2024-02-29", "2024-03-02"]
    ax.figure.savefig(io.BytesIO())
    pyplot.close("all")
