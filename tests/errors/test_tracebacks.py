"""Tracebacks: an error of the user's shows the user's line and one of the package; a bug shows all lines."""

from __future__ import annotations

import io
import re
import subprocess
import sys
import traceback
import warnings
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import rankframe as rf
from rankframe._verbs.measure import evaluate as verbs
from tests.support.each import each

PACKAGE = str(Path(rf.__file__).parent)
SETUP = """\
import io, polars as pl, rankframe as rf
df = pl.DataFrame({"query_id": [1, 1], "doc_id": ["a", "b"], "score": [2.0, 1.0], "label": [0, 1], "note": ["x", "y"]})
lf, pdf = df.lazy(), df.to_pandas()
twice = pl.concat([df, df])

"""
MISTAKES = {
    "unknown metric": "df.rank.evaluate('ndgc@10')",
    "unknown metric, lazy": "lf.rank.evaluate('ndgc@10')",
    "unknown metric, pandas": "pdf.rank.evaluate('ndgc@10')",
    "option of a metric": "df.rank.ndcg(gain='exp')",
    "option of an expression": "rf.expr.ndcg(gain='exp')",
    "unknown option of a metric": "df.rank.ndcg(gane='exp')",
    "unknown option of a verb": "df.rank.judge(df, runs=1)",
    "an argument that is lacking": "df.rank.gate()",
    "an argument that is lacking, pandas": "pdf.rank.power('rr', runs=['score', 'label'])",
    "one argument too many": "df.rank.check(None, 'rr')",
    "a slice that is lacking, of a plot": "df.rank.plot.slices('rr')",
    "an unknown option of a plot": "pdf.rank.plot.slices('rr', by='note', colour='red')",
    "several axes": "pdf.rank.plot.curve('rr', ax=[[1], [2]])",
    "a plot without a method": "df.rank.plot('rr')",
    "an unknown plot": "df.rank.plot.bar",
    "column of an expression": "df.rank.evaluate(pl.col('labl').sum())",
    "column of an expression, pandas": "pdf.rank.with_metrics(pl.col('labl').sum())",
    "value of a policy": "df.rank.on(ties='sometimes')",
    "value of a policy, pandas": "pdf.rank.on(ties='sometimes')",
    "missing column": "df.drop('score').rank.ndcg(k=10)",
    "missing column, lazy": "lf.drop('score').rank.ndcg(k=10)",
    "missing column, pandas": "pdf.drop(columns='score').rank.ndcg(k=10)",
    "text for labels": "df.rank.on(label='note').ndcg(k=10)",
    "text for labels, pandas": "pdf.rank.on(label='note').ndcg(k=10)",
    "repeated document": "twice.rank.ndcg(k=10)",
    "repeated document, lazy": "twice.lazy().rank.ndcg(k=10).collect()",
    "repeated document, pandas": "twice.to_pandas().rank.ndcg(k=10)",
    "objects of several types, pandas": "pdf.assign(doc_id=[['a', 1], ['b', 2]]).rank.on(subtopic='doc_id', doc=None).alpha_ndcg()",
    "one run": "df.rank.compare('rr', runs=['score'])",
    "no margin": "df.rank.gate('rr', margin=-1, runs=['score', 'label'])",
    "repeated document, several runs": "twice.rank.compare('rr', runs=['score', 'label'])",
    "repeated document, plot": "twice.rank.plot.curve('ndcg', runs=['score', 'label'])",
    "column of an expression as a role": "df.rank.on(score=-pl.col('score'))",
    "unknown option of a function": "rf.from_lists(df, docs='x')",
    "no path": "df.rank.report(3, 'rr')",
    "plot": "df.rank.plot.curve('ndcg@10')",
    "no frame": "rf.rank(3)",
    "text of a metric": "rf.parse('ndgc@10')",
    "declared metric": "rf.metric(3)(len)",
    "metric of the library": "rf.unregister('ndcg')",
    "kernel": "rf.arrow_kernel('ndgc')",
    "unknown metric of the user's": "rf.unregister('nothing')",
    "name that is taken": "rf.metric('ndcg')(lambda r: r.total(r.relevant))",
    "table of a report": "rf.report.markdown(3)",
    "a file that is not there": "rf.read_run('nothing.csv')",
    "file": "rf.read_run(io.BytesIO(b'1 2'))",
    "unknown method": "df.rank.ndgc",
    "unknown method, pandas": "pdf.rank.ndgc",
}


LAST = "the mistake that ends the script"


def frames(printed: str) -> list[str]:
    """The files that a printed traceback names, those of the package by their path within it."""
    return re.findall(r'(?m)^  File "(.*?)", line', printed)


@pytest.fixture(scope="module")
def printed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What Python prints of each mistake in a script, which the last one ends."""
    script = tmp_path_factory.mktemp("script") / "script.py"
    each = "\n".join(
        f"try:\n    {code}\nexcept Exception:\n    traceback.print_exc(file=sys.stdout)\nprint('#end')"
        for code in MISTAKES.values()
    )
    script.write_text(f"import sys, traceback\n{SETUP}{each}\ndf.rank.evaluate('ndgc@10')\n")
    done = subprocess.run([sys.executable, "-W", "error", str(script)], capture_output=True, text=True, check=False)
    return dict(zip(MISTAKES, done.stdout.split("#end\n"), strict=False)) | {LAST: done.stderr}


@each("mistake", MISTAKES)
def test_a_mistake_shows_the_users_line_and_one_of_the_package(mistake: str, printed: dict[str, str]) -> None:
    files = frames(printed[mistake])
    assert files, printed[mistake]
    assert files[0].endswith("script.py")
    assert len([file for file in files if file.startswith(PACKAGE)]) == 1, printed[mistake]
    if ".collect(" not in MISTAKES[mistake]:  # there, Polars calls the package
        assert len(files) == 2, printed[mistake]
    assert "During handling of the above" not in printed[mistake]


def test_a_script_that_ends_in_a_mistake_prints_three_lines_and_the_message(printed: dict[str, str]) -> None:
    assert len(frames(printed[LAST])) == 2
    assert printed[LAST].splitlines()[-1] == (
        "rankframe.errors.UnknownMetric: unknown metric 'ndgc' in 'ndgc@10'. Did you mean 'ndcg'?"
    )


def test_a_cause_is_told_without_lines_of_the_package() -> None:
    with pytest.raises(rf.InvalidData, match="Parquet") as caught:
        rf.read_run(io.BytesIO(b"not parquet"), format="parquet")
    cause = caught.value.__cause__
    assert isinstance(cause, pl.exceptions.PolarsError)
    assert [x.filename for x in traceback.extract_tb(cause.__traceback__) if x.filename.startswith(PACKAGE)] == []


def test_the_lines_of_a_users_formula_stay(tmp_path: Path) -> None:
    def wrong(r: rf.Ranking) -> pl.Expr:
        return r.total(r.gain("exp"))  # type: ignore[arg-type]

    rf.metric(wrong)
    try:
        with pytest.raises(rf.InvalidOption) as caught:
            pl.DataFrame({"query_id": [1], "score": [1], "label": [1]}).rank.wrong()
    finally:
        rf.unregister("wrong")
    lines = [x.name for x in traceback.extract_tb(caught.value.__traceback__)]
    assert lines[-1] == "wrong"
    assert len(lines) == 3


def test_a_bug_keeps_all_its_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    def measure(*args: Any, **options: Any) -> None:
        raise KeyError("a bug")

    monkeypatch.setattr(verbs, "measure", measure)
    with pytest.raises(KeyError) as caught:
        pl.DataFrame({"query_id": [1], "score": [1], "label": [1]}).rank.evaluate("rr")
    names = [x.name for x in traceback.extract_tb(caught.value.__traceback__)]
    assert names[-2:] == ["_per_query", "measure"]
    assert len(names) > 4


@each("library", ["polars", "pandas"])
def test_a_warning_points_to_the_users_line(library: str) -> None:
    run: Any = pl.DataFrame({"query_id": [1, 2], "doc_id": ["a", "b"], "score": [2.0, 1.0]})
    qrels: Any = pl.DataFrame({"query_id": [1], "doc_id": ["a"], "label": [1]})
    if library == "pandas":
        run, qrels = run.to_pandas(), qrels.to_pandas()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        run.rank.judge(qrels)
    assert [(type(x.message), x.filename) for x in caught] == [(rf.RankframeWarning, __file__)]


def test_code_without_a_name_of_its_module_is_warned_too() -> None:
    run = pl.DataFrame({"query_id": [1], "doc_id": ["a"], "score": [2.0]})
    qrels = pl.DataFrame({"query_id": [1], "doc_id": ["b"], "label": [1]})
    with pytest.warns(rf.RankframeWarning, match="no retrieved document is judged"):
        exec("run.rank.judge(qrels)", {"run": run, "qrels": qrels})
