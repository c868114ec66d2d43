"""A name that an object lacks: the error says where it is, or what to write instead."""

from __future__ import annotations

import copy
import json
import pickle
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pytest

import rankframe as rf
from rankframe._support import extras

ROWS = {
    "query_id": [1, 1, 2, 2],
    "doc_id": list("abab"),
    "label": [1, 0, 1, 0],
    "old": [2, 1, 1, 2],
    "new": [2, 1, 2, 1],
}
EAGER = pl.DataFrame(ROWS)
RUNS = ["old", "new"]


def compared(df: Any) -> Any:
    return df.rank.compare("rr", runs=RUNS, resamples=99)


MISTAKES: dict[str, tuple[Any, str, str]] = {
    "a column of the table": (lambda: compared(EAGER), "p_value", "it is a column: .table['p_value']"),
    "a column of a lazy table": (lambda: compared(EAGER.lazy()), "p_value", "a column: .table.collect()['p_value']"),
    "a column of another table": (
        lambda: EAGER.rank.gate({"rr": 0.1}, runs=RUNS), "baseline_rank", "it is a column: .moved['baseline_rank']"
    ),
    "a method of frames of Polars": (lambda: compared(EAGER), "write_csv", "it is a method of its tables: .table.write_csv("),
    "a method of lazy frames": (lambda: compared(EAGER.lazy()), "to_pandas", ".table.collect().to_pandas("),
    "a method of lazy frames alone": (lambda: compared(EAGER.lazy()), "collect", "a method of its tables: .table.collect("),
    "a method of frames of pandas": (lambda: compared(pd.DataFrame(ROWS)), "to_csv", "it is a method of its tables: .table.to_csv("),
    "a misspelt attribute": (lambda: compared(EAGER), "tabel", "settings, table, to_dict, to_html, to_latex, to_markdown. Did you mean 'table'?"),
    "a plot of a comparison": (lambda: compared(EAGER), "plot", "write df.rank.plot.differences("),
    "an attribute of a verdict": (lambda: EAGER.rank.gate({"rr": 0.1}, runs=RUNS), "summary", "it has failures, lines, moved, passed"),
    "the weights of a tuned fusion": (
        lambda: EAGER.rank.tune("wsum", metric="rr", runs=RUNS, step=0.5, folds=2, resamples=99), "weights", "settings['weights']"
    ),
    "the prediction of a trained fusion": (lambda: EAGER.rank.fusion.fit("segfuse", runs=RUNS), "predict", "write .fuse(df)"),
    "a metric as a function": (lambda: rf, "ndcg", "df.rank.ndcg(...), or rf.expr.ndcg(...) as an expression"),
    "a verb as a function": (lambda: rf, "evaluate", "it is a method of tables: df.rank.evaluate(...)"),
    "a misspelt function": (lambda: rf, "read_runs", "Did you mean 'read_run'?"),
    "a function of other packages": (lambda: rf, "from_pandas", "write rf.rank(df)"),
    "a reader of tables": (lambda: rf, "read_csv", "write rf.read_run(path), or rf.read_qrels(path) for judgments"),
    "the list of metrics": (lambda: EAGER.rank, "list_metrics", "write rf.METRICS"),
    "a metric's name in text as a function": (lambda: rf, "mrr", "the method is reciprocal_rank"),
    "a metric at k": (lambda: EAGER.rank, "precision_at_k", "write df.rank.evaluate('precision@10')"),
    "groups of rows": (lambda: EAGER.rank, "group_by", "df.rank.summarize('ndcg@10', by='market')"),
}  # fmt: skip


@pytest.mark.parametrize("mistake", MISTAKES)
def test_the_error_for_a_missing_attribute_says_what_to_write(mistake: str) -> None:
    of, name, says = MISTAKES[mistake]
    found = of()
    with pytest.raises(AttributeError) as caught:
        getattr(found, name)
    assert f"has no attribute {name!r}" in str(caught.value)
    assert says in str(caught.value)


@pytest.mark.parametrize("of", [lambda: compared(EAGER), lambda: rf], ids=["a comparison", "the package"])
def test_tools_find_no_private_attribute(of: Any) -> None:
    assert not hasattr(of(), "__array__")
    assert not hasattr(of(), "_repr_png_")


def test_results_are_copied_and_pickled() -> None:
    found = compared(EAGER)
    assert copy.deepcopy(found).table.equals(found.table)
    assert pickle.loads(pickle.dumps(found)).table.equals(found.table)


def test_a_verdict_is_written_as_json() -> None:
    # By hand: old has the reciprocal ranks 1 and 1/2, new has 1 and 1.
    found = json.loads(json.dumps(EAGER.rank.gate({"rr": 0.1}, runs=RUNS).to_dict()))
    (row,) = found["table"]
    assert (row["run"], row["baseline_mean"], row["mean"], row["passed"]) == ("new", 0.75, 1.0, False)
    assert found["settings"]["budgets"] == {"rr": 0.1}


def test_a_text_of_a_table_has_no_place_for_a_path() -> None:
    with pytest.raises(
        rf.InvalidOption, match=r"to_latex has no place for 'table.tex'; its options are: digits, alpha"
    ):
        compared(EAGER).to_latex("table.tex")
    with pytest.raises(rf.InvalidOption, match=r"to_latex has no option 'names'; its options are: digits, alpha"):
        compared(EAGER).to_latex(names={"old": "BM25"})


def test_a_report_in_a_folder_that_is_not_there_is_refused_before_the_work(tmp_path: Path) -> None:
    wrong = EAGER.with_columns(old=float("nan"))  # which the work would refuse
    with pytest.raises(FileNotFoundError, match=r"there is no folder .*nowhere.*; make it, as with Path\("):
        wrong.rank.on(score="old").report(tmp_path / "nowhere" / "report.html", "rr")


def test_a_copy_that_was_not_installed_compares_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    def lacking(name: str) -> str:
        raise PackageNotFoundError(name)

    monkeypatch.setattr(extras, "version", lacking)
    assert compared(EAGER).settings["versions"]["rankframe"] == rf.__version__ == "0+unknown"
