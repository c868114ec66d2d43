"""docs/migrating.md: what it says that another tool returns is what the tool returns, and what we return."""

from __future__ import annotations

import re
import runpy
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import rankframe  # noqa: F401 - puts .rank on frames
from tests.support.each import each
from tests.tools.page_values import PRODUCTS

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "migrating.md").read_text(encoding="utf-8")
RUN = {"1": {"d1": 0.9, "d2": 0.7, "d3": 0.4}, "2": {"d1": 0.8, "d4": 0.3}}
QRELS = {"1": {"d2": 2, "d3": 1, "d5": 1}, "2": {"d1": 1, "d4": 0}}
SCORES = np.array([[0.9, 0.7, 0.4], [0.8, 0.5, 0.3]])
LABELS = np.array([[0, 2, 1], [1, 0, 0]])


def long(of: dict[str, dict[str, Any]], value: str) -> pl.DataFrame:
    rows = [(query, doc, x) for query, docs in of.items() for doc, x in docs.items()]
    return pl.DataFrame(rows, schema=["query_id", "doc_id", value], orient="row")


JUDGED = long(RUN, "score").rank.judge(long(QRELS, "label"))
LISTS = pl.DataFrame(
    {"query_id": [1] * 3 + [2] * 3, "doc_id": list("abcabc"), "score": SCORES.ravel(), "label": LABELS.ravel()}
)


def rows(tool: str) -> Iterator[tuple[str, str, float]]:
    """The rows of a tool's table that have a value: its text, ours, and the value."""
    section = PAGE[PAGE.index(f"\n## {tool}\n") :]
    section = section[: section.find("\n## ", 4)] if "\n## " in section[4:] else section
    for theirs, ours, value in re.findall(r"^\| (.*?) \| (.*?) \| ([\d.]+) \|$", section, re.MULTILINE):
        found = re.search(r"`\"(.*?)\"`", ours)
        assert found is not None, ours
        yield theirs, found[1], float(value)


def code(theirs: str) -> str:
    found = re.search(r"`(.*?)`", theirs)
    assert found is not None, theirs
    return found[1]


def ranx(theirs: str) -> float:
    import ranx

    return float(ranx.evaluate(ranx.Qrels(QRELS), ranx.Run(RUN), code(theirs).strip('"')))


def pytrec_eval(theirs: str) -> float:
    import pytrec_eval

    name = code(theirs).strip('"')
    return float(pytrec_eval.RelevanceEvaluator(QRELS, {name}).evaluate(RUN)["1"][name.replace(".", "_")])


def ir_measures(theirs: str) -> float:
    import ir_measures

    measure = ir_measures.parse_measure(code(theirs))
    return float(ir_measures.calc_aggregate([measure], QRELS, RUN)[measure])


def sklearn(theirs: str) -> float:
    from sklearn import metrics

    names = {name: getattr(metrics, name) for name in dir(metrics) if name.endswith("_score")}
    if not theirs.startswith("mean"):
        return float(eval(code(theirs), names, {"labels": LABELS, "scores": SCORES}))
    each = [eval(code(theirs), names, {"l": row, "s": s}) for row, s in zip(LABELS, SCORES, strict=True)]
    return float(np.mean(each))


def torchmetrics(theirs: str) -> float:
    import torch
    from torchmetrics import retrieval

    scores, labels = torch.tensor(SCORES.ravel()), torch.tensor(LABELS.ravel())
    metric = eval(code(theirs), vars(retrieval))
    graded = "Normalized" in theirs
    return float(metric(scores, labels if graded else labels > 0, indexes=torch.tensor([0, 0, 0, 1, 1, 1])))


def mean_of_judged(text: str) -> float:
    return JUDGED.rank.evaluate(text).to_series(-1).mean()


def product(name: str) -> Callable[[str], float]:
    return lambda theirs: PRODUCTS[name](code(theirs), ROWS)


ROWS = {q: [(doc, RUN[q].get(doc), QRELS[q].get(doc)) for doc in {**RUN[q], **QRELS[q]}] for q in RUN}
READ = ("Elasticsearch", "Quepid")  # which no test can run; tests/catalog/test_products.py works their values by hand
TOOLS: dict[str, tuple[Callable[[str], float], Callable[[str], float]]] = {
    "ranx": (ranx, mean_of_judged),
    "pytrec_eval": (pytrec_eval, lambda text: JUDGED.rank.evaluate(text).to_series(-1)[0]),
    "ir_measures": (ir_measures, mean_of_judged),
    "scikit-learn": (sklearn, lambda text: LISTS.rank.evaluate(text).to_series(-1).mean()),
    "torchmetrics": (torchmetrics, lambda text: LISTS.rank.evaluate(text).to_series(-1).mean()),
    **{name: (product(name), mean_of_judged) for name in PRODUCTS},
}
HEAVY = ("ranx", "torchmetrics", *PRODUCTS)
PERL = ("nDCG(dcg=", "ERR@")  # ir_measures has these from gdeval, a script in Perl


@each("tool", [*TOOLS, *READ])
def test_our_values_are_those_of_the_page(tool: str) -> None:
    of_tool = list(rows(tool))
    assert len(of_tool) >= (3 if tool in PRODUCTS else 6)
    for _, ours, value in of_tool:
        assert (mean_of_judged if tool in READ else TOOLS[tool][1])(ours) == pytest.approx(value, abs=5.01e-5), ours


@pytest.mark.filterwarnings("ignore:unsafe cast")  # Numba's, of ranx' code
@pytest.mark.filterwarnings("ignore::ResourceWarning")  # of a file that Ragas leaves open
@pytest.mark.parametrize("tool", [pytest.param(x, marks=pytest.mark.tools) if x in HEAVY else x for x in TOOLS])
def test_the_other_tools_values_are_those_of_the_page(tool: str) -> None:
    for theirs, _, value in rows(tool):
        if not any(name in theirs for name in PERL):
            assert TOOLS[tool][0](theirs) == pytest.approx(value, abs=5.01e-5), theirs


@pytest.mark.tools
def test_what_ir_measures_has_from_gdeval_is_that_of_the_page() -> None:
    of_gdeval = [row for row in rows("ir_measures") if any(name in row[0] for name in PERL)]
    assert len(of_gdeval) == len(PERL)
    for theirs, _, value in of_gdeval:
        assert ir_measures(theirs) == pytest.approx(value, abs=5.01e-5), theirs


@pytest.mark.tools
def test_the_training_loop_of_lightgbm_runs_and_stops_early(tmp_path: Path) -> None:
    """The page's examples and its loop, as one script."""
    page = (DOCS / "recipes" / "lightgbm.md").read_text(encoding="utf-8")
    examples = [line[4:] for line in page.splitlines() if re.match(r">>> |\.\.\. ?", line)]
    loop = re.search(r"```python\n(import lightgbm.*?)```", page, re.DOTALL)
    assert loop is not None
    script = tmp_path / "recipe.py"
    script.write_text("\n".join([*examples, loop[1]]))
    names = runpy.run_path(str(script))
    booster, valid, missed = names["booster"], names["valid"], names["missed"]
    assert 1 < booster.best_iteration < 500
    scores = pl.Series(booster.predict(valid[names["features"]].to_numpy()))
    scored = pl.concat([valid.with_columns(score=scores), missed], how="diagonal")
    value = scored.rank.on(no_relevant="null").ndcg(k=10)["ndcg@10"].mean()
    assert value == pytest.approx(booster.best_score["valid"]["ndcg@10_rankframe"], abs=1e-12)
