"""``rankframe trec_eval`` against what trec_eval 10 printed of the same files."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from rankframe._command import main
from tests.support.each import each

RECORD = json.loads((Path(__file__).parents[1] / "data" / "trec_eval_10.json").read_text(encoding="utf-8"))
PRINTED = RECORD["printed"]


def write(folder: Path, queries: Sequence[str]) -> tuple[str, str]:
    rows = [(query, *row) for query in queries for row in RECORD["table"][query]]
    run, qrels = folder / "a.run", folder / "a.qrels"
    run.write_text("".join(f"{q} Q0 {doc} 0 {score!r} tag\n" for q, doc, score, _ in rows if score is not None))
    qrels.write_text("".join(f"{q} 0 {doc} {label}\n" for q, doc, _, label in rows if label is not None))
    return str(qrels), str(run)


def lines(run: dict[str, Any], wanted: Sequence[str]) -> list[str]:
    """The lines of a record that has all digits."""
    found = []
    for i, query in enumerate(run["queries"]):
        found += [f"{'runid':<22}\tall\ttag"] if query == "all" and "runid" in wanted else []
        for name, values in run["values"].items():
            value = values[i] if len(values) > 1 else values[0] if query == "all" else None
            if value is None or not any(name == measure or name.startswith(f"{measure}_") for measure in wanted):
                continue
            count = name.startswith("num_")
            shown = value if isinstance(value, str) else f"{value:.0f}" if count else f"{value:6.4f}"
            found.append(f"{name:<22}\t{query}\t{shown}")
    return found


def known(measure: str) -> bool:
    """Whether we have it: gains of documents that nobody judged, and levels of rbp, we have not."""
    return "-1=" not in measure and not measure.startswith("rbp.1=") and "1=-2" not in measure


FORGOTTEN = ("rbp_resid.", "relstring.", "utility.")
RUNS = [run for run in RECORD["runs"] if any(map(known, run["measures"]))]


@each("run", RUNS, ids=lambda run: " ".join([*run["options"], run["measures"][0]]))
def test_the_output_is_trec_evals_to_the_byte(
    run: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    measures = [measure for measure in run["measures"] if known(measure)]
    names = [measure.partition(".")[0] for measure in measures]
    if "all_trec" in names:
        names = ["runid", *run["values"]]
    if "-c" in run["options"]:  # where a document is made up, trec_eval forgets to take it out of these again
        measures = [measure for measure in measures if not measure.startswith(FORGOTTEN)]
        names = [name for name in names if f"{name}." not in FORGOTTEN or "all_trec" in run["measures"]]
    files = write(tmp_path, [query for query in run["queries"] if query != "all"])
    asked = [text for measure in measures for text in ("-m", measure)]
    assert main(["trec_eval", "-q", *run["options"], *asked, *files]) == 0
    found = capsys.readouterr().out.splitlines()
    wanted = lines(run, names)
    assert len(wanted) > 100
    names = {line[:22] for line in wanted if "nan" in line}  # 0 here
    found, wanted = ([line for line in these if line[:22] not in names] for these in (found, wanted))
    per_query, summary = ([line for line in found if ("\tall\t" in line) == end] for end in (False, True))
    assert per_query == [line for line in wanted if "\tall\t" not in line]
    assert sorted(summary) == sorted(line for line in wanted if "\tall\t" in line)  # the order is seen below


PREFERENCES = json.loads((Path(__file__).parents[1] / "data" / "trec_eval_prefs.json").read_text(encoding="utf-8"))


@each("record", PREFERENCES["files"], ids=lambda record: " ".join(record["options"]))
def test_the_output_for_preferences_is_trec_evals_to_the_byte(
    record: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("judgments", "run"):
        (tmp_path / name).write_text(record[name], encoding="utf-8")
    options = [*record["options"], str(tmp_path / "judgments"), str(tmp_path / "run")]
    assert main(["trec_eval", "-q", "-m", "all_prefs", *options]) == 0
    assert capsys.readouterr().out == record["printed"]
    assert main(["trec_eval", "-m", "num_q", "-m", "prefs_avgjg", "-m", "prefs_num_prefs_ful", *options]) == 0
    wanted = [
        line
        for line in record["printed"].splitlines()
        if re.match(r"(num_q|prefs_avgjg|prefs_num_prefs_ful) +\tall", line)
    ]
    assert capsys.readouterr().out.splitlines() == wanted
    assert main(["trec_eval", "-n", "-m", "prefs", *options]) == 0
    assert capsys.readouterr().out == ""


# test/prefs.test of trec_eval's own repository has, among others, these two queries; out.test.prefs what it prints of them.
OF_ITS_TEST = """\
1.EC.AB  F:Ret,C:Not   F:RnkdLst2digits  FR940303-1-00022        1
1.EC.AB  F:Ret,C:Not   F:RnkdLst2digits  FBIS4-39881             0
3.EC.B	  0	       0		 CR93E-10505 		 1
3.EC.B	  0	       0		 FR940303-1-00022 	 0
"""


def test_preferences_with_one_document_retrieved_print_what_trec_evals_own_test_expects(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "prefs").write_text(OF_ITS_TEST)
    retrieved = "".join(f"{q} Q0 {doc} 0 {score} x\n" for q in ("1.EC.AB", "3.EC.B") for doc, score in DOCUMENTS)
    (tmp_path / "run").write_text(retrieved)
    assert (
        main(["trec_eval", "-q", "-m", "all_prefs", "-R", "prefs", str(tmp_path / "prefs"), str(tmp_path / "run")]) == 0
    )
    found = [line.split("\t")[1:] for line in capsys.readouterr().out.splitlines() if line.split("\t")[1] != "all"]
    assert [value for query, value in found if query == "1.EC.AB"] == ["1", "1", "1", *["1.0000"] * 11]
    assert [value for query, value in found if query == "3.EC.B"] == ["1", "0", "0", *["0.0000"] * 11]


DOCUMENTS = [("FR940303-1-00022", 2.9), ("FBIS4-39881", 1.3)]


def test_a_run_that_lacks_queries_is_printed_as_trec_eval_prints_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    queries = sorted({line.split("\t")[1] for line in PRINTED["lines"]} - {"all"})
    asked = [text for measure in PRINTED["measures"] for text in ("-m", measure)]
    assert main(["trec_eval", "-q", "-c", *asked, *write(tmp_path, queries)]) == 0
    assert capsys.readouterr().out.splitlines() == PRINTED["lines"]


def test_gains_of_levels_and_a_run_from_standard_input(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    qrels, run = tmp_path / "qrels", tmp_path / "run"
    qrels.write_text("1 0 a 2\n1 0 b 1\n2 0 c 1\n")
    run.write_text("1 Q0 b 1 2.0 x\n1 Q0 a 2 1.0 x\n3 Q0 d 1 1.0 last\n")
    with run.open() as file:
        monkeypatch.setattr("sys.stdin", file)
        assert main(["trec_eval", "-m", "dcg.2=5", "-m", "runid", "-m", "num_q", str(qrels), "-"]) == 0
    # 1 + 5 / log2(3)
    assert capsys.readouterr().out == (
        f"{'runid':<22}\tall\tlast\n{'num_q':<22}\tall\t1\n{'dcg_2=5':<22}\tall\t4.1546\n"
    )
    assert main(["trec_eval", "-n", str(qrels), str(run)]) == 0
    assert capsys.readouterr().out == ""


@each(
    ("arguments", "message"),
    [
        (["-m", "ndgc", "qrels", "run"], "unknown measure 'ndgc'. Did you mean 'ndcg'?"),
        (["-m", "ndcg_cut_10", "qrels", "run"], "unknown measure 'ndcg_cut_10'. Did you mean 'ndcg_cut'?"),
        (["-m", "map,ndcg", "qrels", "run"], "unknown measure 'map,ndcg'."),
        (["-m", "prefs_simp", "qrels", "run"], "-m prefs_simp takes preferences; say -R prefs, or -R qrels_prefs"),
        (["-R", "qrels_prefs", "qrels", "run"], "-m official is no measure of preferences. -m prefs has six of them"),
        (
            ["-R", "qrels_prefs", "-m", "prefs_smp", "qrels", "run"],
            "-m prefs_smp is no measure of preferences. Did you mean 'prefs_simp'?",
        ),
        (["-R", "qrels_prefs", "-m", "prefs", "qrels", "other"], "no query of the run is judged"),
        (
            ["-R", "prefs", "-m", "prefs", "qrels", "run"],
            "qrels, line 1: 4 fields instead of 5 in '1 0 a 2'. Write 'query_id judgment_group",
        ),
        (["-R", "prefs", "-m", "prefs", "conflict", "run"], "conflict: judgment group 'u' contradicts itself"),
        (["-R", "prefs", "-m", "prefs", "twice", "run"], "twice, line 2: "),
        (["-m", "ndcg.-1=2", "qrels", "run"], "ndcg.-1=2: a document of label -1 is not judged"),
        (["-m", "P.ten", "qrels", "run"], "-m P.ten: 'ten' is no list of numbers; write them as in ndcg_cut.5,10"),
        (["-m", "ndcg.1=", "qrels", "run"], "-m ndcg.1=: '1=' is no list of numbers"),
        (["-m", "map_avgjg", "qrels", "run"], "-m map_avgjg takes judgment groups; say -R qrels_jg"),
        (["-R", "qrels_jg", "qrels", "run"], "unknown measure 'official'. -m qrels_jg has all measures of judgment"),
        (["-R", "qrels_jg", "-m", "map", "qrels", "run"], "unknown measure 'map'. Did you mean 'map_avgjg'?"),
        (["-R", "qrels_jg", "-m", "map_avgjg", "qrels", "other"], "other: no query of the run is judged"),
        (["-m", "P.3,3.5", "qrels", "run"], "-m P.3,3.5 has a cutoff twice; write it once"),
        (["-Z", "qrels", "qrels", "run"], "qrels, line 1: '1 0 a 2' is no query, measure, mean and standard"),
        (["-Z", "nix", "qrels", "run"], "nix: No such file or directory"),
        (["qrels", "nix"], "nix: No such file or directory"),
        (["qrels", "t.csv"], "no column 'query_id' in t.csv; it has qid, doc_id, score\n"),
        (["-c", "qrels", "other"], "other: no query of the run is judged"),  # exit 7 of trec_eval, with -c or without
    ],
)
def test_what_cannot_be_answered_says_why(
    arguments: list[str],
    message: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("qrels").write_text("1 0 a 2\n")
    Path("run").write_text("1 Q0 b 1 2.0 x\n")
    Path("other").write_text("2 Q0 b 1 2.0 x\n")
    Path("conflict").write_text("1 u 1 a 2\n1 u 1 b 1\n1 u 2 b 2\n1 u 2 a 1\n")
    Path("twice").write_text("1 u 1 a 2\n1 u 1 a 2\n")
    Path("empty").write_text("")
    Path("t.csv").write_text("qid,doc_id,score\n1,b,2\n")
    assert main(["trec_eval", *arguments]) == 2
    assert message in capsys.readouterr().err


@each("option", ["-M0", "-l-1", "-Nten"])
def test_numbers_that_mean_nothing_are_refused(option: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["trec_eval", option, "qrels", "run"])
    assert caught.value.code == 2
    assert "is no whole number from" in capsys.readouterr().err


def test_lines_that_start_with_a_hash_are_comments_in_all_files(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run, qrels, prefs = tmp_path / "a.run", tmp_path / "a.qrels", tmp_path / "a.prefs"
    run.write_text("# a comment\nq#1 Q0 #a 0 2 tag\nq#1 Q0 b 0 1 tag\n")
    qrels.write_text("# one\n# and one more\nq#1 0 b 1\nq#1 0 #a 0\n")
    prefs.write_text("q#1 u s b 1\n# not a line\nq#1 u s #a 0\n")
    assert main(["trec_eval", "-q", "-m", "recip_rank", "-m", "num_q", str(qrels), str(run)]) == 0
    found = [line.split("\t")[1:] for line in capsys.readouterr().out.splitlines()]
    assert found == [["q#1", "0.5000"], ["all", "1"], ["all", "0.5000"]]
    assert main(["trec_eval", "-m", "prefs_num_prefs_poss", "-R", "prefs", str(prefs), str(run)]) == 0
    assert capsys.readouterr().out.split() == ["prefs_num_prefs_poss", "all", "1"]


OTHERS = json.loads((Path(__file__).parents[1] / "data" / "trec_eval_files.json").read_text(encoding="utf-8"))


@each("record", OTHERS["calls"], ids=lambda record: " ".join(record["options"]))
def test_judgment_groups_z_scores_and_odd_files_print_what_trec_eval_prints(
    record: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, text in OTHERS["files"].items():
        Path(name).write_text(text, encoding="utf-8")
    assert main(["trec_eval", *record["options"]]) == 0
    assert capsys.readouterr().out == record["printed"]


def test_a_level_of_recall_that_is_asked_for_twice_in_other_digits_is_printed_twice(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # relevant, not, relevant: precision 1 to a recall of 1/2, and 2/3 beyond
    (tmp_path / "a.run").write_text("1 Q0 a 1 3 x\n1 Q0 b 2 2 x\n1 Q0 c 3 1 x\n")
    (tmp_path / "qrels").write_text("1 0 a 1\n1 0 b 0\n1 0 c 1\n")
    measures = ["-m", "iprec_at_recall.0.20", "-m", "11pt_avg.0.2,0.8"]
    assert main(["trec_eval", "-q", *measures, str(tmp_path / "qrels"), str(tmp_path / "a.run")]) == 0
    of_one = ["1.0000", f"{(1 + 2 / 3) / 2:.4f}"]
    assert [line.split()[-1] for line in capsys.readouterr().out.splitlines()] == of_one * 2
