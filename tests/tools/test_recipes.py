"""The trainings of docs/recipes/training.md, which stop by the metrics of the long table."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import rankframe as rf  # noqa: F401 - puts .rank on frames

PAGE = (Path(__file__).parents[2] / "docs" / "recipes" / "training.md").read_text(encoding="utf-8")

pytestmark = [pytest.mark.tools, pytest.mark.filterwarnings("ignore")]


def run(tool: str, **names: Any) -> dict[str, Any]:
    """What a section's training leaves, run after the page's first examples."""
    first = re.findall(r"^(?:>>>|\.\.\.) ?(.*)$", PAGE[: PAGE.index("\n## ")], re.MULTILINE)
    section = PAGE[PAGE.index(f"\n## {tool}\n") :]
    training = re.search(r"```python\n((?!>>>).*?)```", section, re.DOTALL)
    assert training is not None
    exec("\n".join([*first, training[1]]), names)
    return names


def ndcg(valid: pl.DataFrame, scores: Any) -> Any:
    return valid.with_columns(score=pl.Series(scores)).rank.on(no_relevant="null").ndcg(k=10)["ndcg@10"].mean()


def test_that_of_xgboost() -> None:
    names = run("XGBoost")
    booster, values = names["booster"], names["history"]["valid"]["ndcg@10_rankframe"]
    assert 10 < booster.best_iteration < 499
    scores = booster.predict(names["matrix"](names["valid"]), iteration_range=(0, booster.best_iteration + 1))
    assert (
        max(values) == values[booster.best_iteration] == pytest.approx(ndcg(names["valid"], scores), abs=6e-7)
    )  # it rounds


def test_that_of_catboost() -> None:
    names = run("CatBoost")
    callback, model = names["callback"], names["model"]
    assert 10 < callback.best_iteration == model.best_iteration_ < 499
    found = callback.history["ndcg@10"][callback.best_iteration]
    assert found == pytest.approx(ndcg(names["valid"], model.predict(names["of_valid"])), abs=1e-12)


def test_that_of_sentence_transformers_which_is_neural(tmp_path: Path) -> None:
    names = run("sentence-transformers", folder=str(tmp_path))
    logged = [x["eval_ndcg@10"] for x in names["trainer"].state.log_history if "eval_ndcg@10" in x]
    assert len(logged) == 3
    assert names["evaluator"].summary["mean"][0] == pytest.approx(logged[-1], abs=1e-12)
    assert len(names["worst"]) == 3
