"""Tables go to standard output or into a file, in the format that the file's name or --format says."""

from __future__ import annotations

import errno
import gzip
import io
import json
import os
import re
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import TypeAlias

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from rankframe._command import COMMANDS, main, parser
from tests.support.each import each

Out: TypeAlias = Callable[..., str]

# Three queries: bm25 finds the one relevant document second, second and first, dense always first.
BM25 = "".join(
    f"q{q} Q0 {d} 0 {s} t\n"
    for q, order in ((1, "ba"), (2, "ba"), (3, "ab"))
    for d, s in zip(order, (2, 1), strict=True)
)
DENSE = "".join(f"q{q} Q0 {d} 0 {s} t\n" for q in (1, 2, 3) for d, s in zip("ab", (2, 1), strict=True))
TABLES = {
    "evaluate": "evaluate bm25.run --qrels qrels.txt -m rr",
    "compare": "compare bm25.run dense.run --qrels qrels.txt -m rr -m precision@1 --resamples 99",
    "gate": "gate bm25.run dense.run --qrels qrels.txt --budget rr=0.01",
    "power": "power bm25.run dense.run --qrels qrels.txt -m rr --difference 0.1",
    "reliability": "reliability bm25.run dense.run --qrels qrels.txt -m rr --resamples 99",
    "curve": "curve bm25.run --qrels qrels.txt -m recall --to 2",
    "interleave": "interleave bm25.run dense.run",
    "preference": "preference shown.csv --resamples 99",
    "strengths": "strengths pairs.csv",
    "fuse": "fuse bm25.run dense.run",
    "tune": "tune bm25.run dense.run --qrels qrels.txt --method rrf -m rr --folds 2 --resamples 99",
    "catalog": "catalog bm25.run --items 5 --resamples 99",
    "compare_groups": "compare_groups market.csv -m rr --by market --resamples 99",
    "summarize": "summarize bm25.run --qrels qrels.txt -m rr --resamples 99",
    "pool": "pool bm25.run dense.run --depth 2",
    "propensities": "propensities clicks.csv --run ranker --k 2 --resamples 99",
    "label_agreement": "label_agreement judged.csv --labels label,llm --resamples 99",
    "reproduces": "reproduces bm25.run dense.run --qrels qrels.txt -m rr --original dense=bm25",
    "check": "check tied.run",
    "conventions": "conventions bm25.run --qrels qrels.txt -m rr",
    "convert": "convert bm25.run --qrels qrels.txt",
    "metrics": "metrics",
}
"""A line of every command that prints a table."""


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("bm25.run").write_text(BM25)
    Path("dense.run").write_text(DENSE)
    Path("tied.run").write_text("q1 Q0 <a> 0 1 t\nq1 Q0 b&_é 0 1 t\n")
    Path("qrels.txt").write_text("q1 0 a 1\nq2 0 a 1\nq3 0 a 1\n")
    lists = "1,a,2,1,{x}\n1,b,1,0,{x}\n2,b,2,1,{x}\n2,a,1,1,{x}\n"
    Path("clicks.csv").write_text(
        f"query_id,doc_id,score,label,ranker\n{lists.format(x='one')}1,b,2,1,two\n1,a,1,1,two\n"
    )
    Path("judged.csv").write_text("query_id,doc_id,score,label,llm\n1,a,2,1,1\n2,a,2,0,1\n2,b,1,1,1\n3,a,2,1,0\n")
    Path("shown.csv").write_text("query_id,team,label\n1,a,1\n1,b,0\n2,a,0\n2,b,1\n")
    Path("pairs.csv").write_text("query_id,doc_a,doc_b,winner\n1,a,b,a\n1,a,b,b\n1,a,b,\n")
    Path("market.csv").write_text("query_id,doc_id,score,label,market\n1,a,2,1,x\n2,a,2,0,y\n2,b,1,1,y\n3,a,2,1,y\n")


@pytest.fixture
def out(capsys: pytest.CaptureFixture[str]) -> Out:
    def run(line: str) -> str:
        assert main(line.split()) in (0, 1)
        return capsys.readouterr().out

    return run


class Cells(HTMLParser):
    """The cells of a page's tables, row by row."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: object) -> None:
        if tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_data(self, data: str) -> None:
        if self.rows and self.rows[-1] and self.get_starttag_text() and not data.isspace():
            self.rows[-1][-1] += data


def test_these_are_all_commands_that_print_a_table() -> None:
    (commands,) = (x.choices for x in parser()._actions if isinstance(x.choices, dict))
    assert commands.keys() == {command.name for command in COMMANDS}
    with_table = {name for name, sub in commands.items() if sub.get_default("endings") is not None}
    assert with_table == TABLES.keys()


@each("ending", ["csv", "json", "md", "tex", "html"], sample=8)
@each("line", TABLES.values(), ids=TABLES)
def test_a_file_has_the_format_of_its_name(line: str, ending: str, out: Out) -> None:
    kind = {"md": "markdown", "tex": "latex"}.get(ending, ending)
    printed = out(f"{line} --format {kind}")
    target = f"-o t.{ending} --format {kind}" if line.startswith("curve") and ending == "html" else f"-o t.{ending}"
    assert out(f"{line} {target}") == ""
    assert Path(f"t.{ending}").read_bytes() == printed.encode()
    Path(f"t.{ending}").unlink()
    given = {
        "bm25.run",
        "clicks.csv",
        "dense.run",
        "judged.csv",
        "market.csv",
        "pairs.csv",
        "qrels.txt",
        "shown.csv",
        "tied.run",
    }
    assert {path.name for path in Path().iterdir()} == given


@each("line", TABLES.values(), ids=TABLES, sample=5)
def test_parquet_has_all_digits_and_types(line: str, out: Out) -> None:
    out(f"{line} --output t.parquet")
    rows = json.loads(out(f"{line} --format json"))
    assert pl.read_parquet("t.parquet").rows(named=True) == rows
    assert rows


@each("line", TABLES.values(), ids=TABLES, sample=5)
def test_latex_is_a_table_of_as_many_cells_in_each_row(line: str, out: Out) -> None:
    found = out(f"{line} --format latex")
    assert found.startswith("\\begin{table}\n")
    assert found.endswith("\\end{table}\n")
    columns = re.search(r"\\begin\{tabular\}\{([lr]+)\}", found)
    assert columns is not None
    rows = [line for line in found.splitlines() if line.endswith(r" \\")]
    assert {len(re.split(r"(?<!\\)&", row)) for row in rows} == {len(columns[1])}


def test_latex_of_means_has_their_names_and_four_decimals(out: Out) -> None:
    # rr: 1/2, 1/2 and 1; precision@1: 0, 0 and 1
    rows = out("evaluate bm25.run --qrels qrels.txt -m rr,precision@1 --format latex").splitlines()
    assert rows[2:8] == [
        r"\begin{tabular}{lrr}",
        r"\toprule",
        r"metric & mean & queries \\",
        r"\midrule",
        r"rr & 0.6667 & 3 \\",
        r"precision@1 & 0.3333 & 3 \\",
    ]


def test_html_has_the_cells_of_the_table_escaped_and_in_ascii(out: Out) -> None:
    assert Cells(out("evaluate bm25.run --qrels qrels.txt -m rr --format html")).rows == [
        ["metric", "mean", "queries"],
        ["rr", "0.6667", "3"],
    ]
    Path("tied.run").write_text("q1 Q0 é<b> 0 1 t\nq1 Q0 é<b> 0 1 t\n")
    found = out("check tied.run --format html")
    assert found.isascii()
    assert "<b>" not in found
    assert any("é<b>" in cell for row in Cells(found).rows for cell in row)


def test_latex_of_a_comparison_is_that_of_papers_and_html_that_of_notebooks(out: Out) -> None:
    latex = out(f"{TABLES['compare']} --format latex")
    assert r"a & bm25 & 0.667 & 0.333 \\" in latex
    assert r"b & dense & \textbf{1.000} & \textbf{1.000} \\" in latex
    assert "after Holm's correction for 2 comparisons of all metrics together." in latex
    rows = Cells(out(f"{TABLES['compare']} --format html")).rows
    assert rows[0][:5] == ["metric", "run", "baseline", "baseline mean", "mean"]
    assert [row[:5] for row in rows[1:3]] == [
        ["rr", "dense", "bm25", "0.667", "1.000"],
        ["precision@1", "dense", "bm25", "0.333", "1.000"],
    ]


@each(("format", "said"), [("table", ", after "), ("markdown", ", after ")])
def test_a_comparison_says_which_p_values_were_corrected_together(format: str, said: str, out: Out) -> None:
    last = f"{said}Holm's correction for 2 comparisons of all metrics together"
    assert last in " ".join(out(f"{TABLES['compare']} --format {format}").splitlines()[-2:])
    by_metric = out(f"{TABLES['compare']} --family metric --format {format}")
    assert said not in by_metric  # one comparison of each metric
    three = f"compare bm25.run dense.run tied.run --qrels qrels.txt -m rr,map --missing zero --resamples 99 --format {format}"
    Path("tied.run").write_text(BM25)
    by_metric = out(f"{three} --family metric --correction bh")
    last = f"{said}Benjamini and Hochberg's correction for 3 comparisons of each metric"
    assert last in " ".join(by_metric.splitlines()[-2:])
    assert said not in out(f"{three} --correction none")
    assert said not in out(f"{three} --test tukey")


def test_a_comparison_prints_its_sentences_and_figures_as_in_python(out: Out) -> None:
    # By hand: two differences of 1/2 and one of 0 have the mean 1/3 and the standard error 1/6, so that the half of Student's
    # interval is 4.302653 / 6 = 0.717109; t is 2 with 2 degrees of freedom: p = 1 - 2 / sqrt(2 + 2^2) = 0.1835.
    assert (
        out(TABLES["compare"].replace("-m precision@1", "").replace("--resamples", "--interval t --resamples"))
        == """\
No significant difference of `dense` from `bm25` on rr: +0.333 [-0.384, 1.050], p = 0.18, better on 2 and worse on 0 of 3 queries

metric  run    baseline  baseline mean   mean  difference [95% interval]     p  wins-ties-losses
rr      dense  bm25              0.667  1.000     +0.333 [-0.384, 1.050]  0.18             2-1-0
p by the paired t-test, over 3 queries. Difference: mean less baseline mean. Interval: Student's t.
"""
    )


def test_a_comparison_of_many_runs_prints_all_rows_in_a_terminals_width(out: Out) -> None:
    names = [f"system{i:02}" for i in range(9)]  # 36 pairs
    for name in names:
        Path(f"{name}.run").write_text(BM25)
    files = " ".join(f"{name}.run" for name in names)
    lines = out(f"compare {files} --qrels qrels.txt -m rr --resamples 39").splitlines()
    assert lines[:3] == [
        "9 of 9 runs are tied for the top on rr",
        "0 of 36 differences are significant (p < 0.05)",
        "9 runs have the best mean of rr, 0.667",
    ]
    assert [line.split()[0] for line in lines[5:14]] == names
    pairs = lines.index(next(line for line in lines if line.startswith("metric")))
    assert [line.split()[1:3] for line in lines[pairs + 1 : -2]] == [
        [b, a] for i, a in enumerate(names) for b in names[i + 1 :]
    ]
    assert max(map(len, lines)) <= 120


def test_the_format_that_is_said_wins_over_the_name(out: Out) -> None:
    out(f"{TABLES['evaluate']} -o t.md --format csv")
    assert Path("t.md").read_text().splitlines()[0] == "metric,mean,queries"
    out(f"{TABLES['evaluate']} -o t --format trec --per-query")
    assert Path("t").read_text().splitlines()[-1] == "rr                    \tall\t0.6667"
    out(f"{TABLES['evaluate']} -o t --format parquet")
    assert pl.read_parquet(Path("t")).columns == ["metric", "mean", "queries"]
    assert "nothing found" not in out("check bm25.run --qrels qrels.txt -o t.csv")


@each("ending", ["csv", "tsv", "json", "ndjson", "md", "tex", "txt"])
def test_text_in_a_file_with_the_ending_of_gzip_is_compressed(ending: str, out: Out) -> None:
    out(f"{TABLES['evaluate']} -o t.{ending}")
    out(f"{TABLES['evaluate']} -o t.{ending}.gz")
    assert gzip.decompress(Path(f"t.{ending}.gz").read_bytes()) == Path(f"t.{ending}").read_bytes()


def test_a_fused_table_that_is_compressed_is_the_table_of_its_inner_ending(out: Out) -> None:
    out(f"{TABLES['fuse']} -o t.csv.gz")
    assert gzip.decompress(Path("t.csv.gz").read_bytes()).startswith(b"query_id,doc_id,score\n")
    out(f"{TABLES['fuse']} -o t.run.gz")
    assert gzip.decompress(Path("t.run.gz").read_bytes()).startswith(b"q1 Q0 ")


@each(
    ("ending", "text"),
    [
        ("tsv", "metric\tmean\tqueries\nrr\t0.6666666666666666\t3\n"),
        ("jsonl", '{"metric":"rr","mean":0.6666666666666666,"queries":3}\n'),
        ("txt", "metric    mean  queries\nrr      0.6667        3\n"),
    ],
)
def test_a_table_has_the_formats_that_are_read(ending: str, text: str, out: Out) -> None:
    out(f"{TABLES['evaluate']} -o t.{ending}")
    assert Path(f"t.{ending}").read_text() == text
    out(f"{TABLES['evaluate']} -o t.feather")
    assert pl.read_ipc("t.feather").rows() == [("rr", 2 / 3, 3)]


@each("line", [f"{TABLES['evaluate']} -o", f"{TABLES['fuse']} -o", "evaluate market.csv -o"])
def test_a_file_that_is_read_is_not_written_over(line: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("link.csv").unlink(missing_ok=True)
    Path("link.csv").symlink_to(line.split()[1])
    before = Path(line.split()[1]).read_bytes()
    assert main([*line.split(), "link.csv"]) == 2
    assert capsys.readouterr().err == "rankframe: error: -o link.csv: the command reads this file; write another one\n"
    assert Path(line.split()[1]).read_bytes() == before


def test_a_file_is_replaced_whole_or_stays_as_it_is(
    out: Out, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("t.csv").write_text("older")
    Path("t.csv").chmod(0o640)
    assert main(["evaluate", "bm25.run", "--qrels", "qrels.txt", "-m", "nothing", "-o", "t.csv"]) == 2
    assert Path("t.csv").read_text() == "older"

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", full)
        capsys.readouterr()
        assert main(f"{TABLES['evaluate']} -o t.csv".split()) == 2
    assert capsys.readouterr().err == "rankframe: error: t.csv: No space left on device\n"
    assert Path("t.csv").read_text() == "older"
    assert [path.name for path in Path().iterdir() if path.name.startswith(".")] == []
    Path("link.csv").symlink_to("t.csv")
    out(f"{TABLES['evaluate']} -o link.csv")
    assert Path("link.csv").is_symlink()
    assert Path("t.csv").read_text().startswith("metric,mean,queries")
    assert Path("t.csv").stat().st_mode & 0o777 == 0o640


@pytest.mark.skipif(not Path("/dev/fd").exists(), reason="Windows has no such files")
def test_a_device_is_written_to(out: Out) -> None:
    read, write = os.pipe()
    try:
        assert out(f"{TABLES['evaluate']} -o /dev/fd/{write} --format csv") == ""
        assert os.read(read, 1000).startswith(b"metric,mean,queries\n")
    finally:
        os.close(read)
        os.close(write)


@each(
    ("given", "wanted"),
    [
        ("ndcg@10,map", ["ndcg@10", "map"]),
        ("ndcg@5,10,map", ["ndcg@5", "ndcg@10", "map"]),
        ("ndcg(gain=exponential)@5,10", ["ndcg(gain=exponential)@5", "ndcg(gain=exponential)@10"]),
        ("ndcg(gain={0:0,1:5},discount=rank)@5,rr", ["ndcg(gain={0:0,1:5},discount=rank)@5", "rr"]),
        ("rr,ndcg_cut.5,10,map", ["rr", "ndcg@5", "ndcg@10", "map"]),
        ("map,11pt_avg", ["map", "11pt_avg"]),
        ("P_5,10,map", ["P_5", "P_10", "map"]),
        ("ndcg_cut_5,10", ["ndcg_cut_5", "ndcg_cut_10"]),
        ("iprec_at_recall_0.10,0.50", ["iprec_at_recall_0.10", "iprec_at_recall_0.50"]),
    ],
)
def test_metrics_may_be_told_apart_by_commas(given: str, wanted: list[str], out: Out) -> None:
    line = "evaluate bm25.run --qrels qrels.txt --format csv"
    apart = out(" ".join([line, *(f"-m {text}" for text in wanted)]))
    assert out(f"{line} -m {given}") == apart
    assert len(apart.splitlines()) == 1 + len(wanted)


def test_columns_of_metrics_may_have_names_for_sql(out: Out) -> None:
    pl.DataFrame({"qid": ["q"], "docno": ["a"], "score": [1], "label": [1], "lang": ["de"]}).write_csv("t.csv")
    line = "evaluate t.csv --names pyterrier --names flat -m ndcg@5,10 --format csv"
    assert out(f"{line} --per-query").splitlines() == ["query_id,ndcg_at_5,ndcg_at_10", "q,1.0,1.0"]
    assert out(f"{line} --by lang").splitlines() == ["lang,queries,ndcg_at_5,ndcg_at_10", "de,1,1.0,1.0"]
    assert out(line).splitlines()[1:] == ["ndcg_at_5,1.0,1", "ndcg_at_10,1.0,1"]
    curves = out("curve t.csv --names pyterrier --names flat -m rbp(p=0.5) --to 1 --format csv")
    assert curves.splitlines() == ["rank,rbp_p_0_5", "1,0.5"]


def test_a_command_without_columns_of_metrics_refuses_such_names(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "bm25.run", "--names", "flat"]) == 2
    assert "--names flat names columns of metrics, which this command does not print" in capsys.readouterr().err


def test_without_a_command_the_first_three_are_shown(out: Out) -> None:
    lines = out("").splitlines()
    commands = [line.split()[1] for line in lines if line.startswith("rankframe ")]
    assert commands == ["evaluate", "compare", "check"]
    assert {line for line in lines if line.startswith("rankframe ")} <= {x for c in COMMANDS for x in c.examples}
    assert lines[-1] == "'rankframe --help' lists all commands, 'rankframe COMMAND --help' its options."


def test_a_table_of_bounds_and_nulls_has_every_row_in_latex(out: Out) -> None:
    pl.DataFrame({"query_id": ["q", "r"], "doc_id": ["a", "a"], "score": [1, 1], "label": [0, 1]}).write_csv("t.csv")
    rows = out("evaluate t.csv -m rr --no-relevant null --per-query --format latex").splitlines()
    assert rows[6:8] == [r"q &  \\", r"r & 1.0000 \\"]
    assert_frame_equal(
        pl.read_csv(io.StringIO(out("evaluate t.csv -m rr --no-relevant null --per-query --format csv"))),
        pl.DataFrame({"query_id": ["q", "r"], "rr": [None, 1.0]}),
    )


def test_a_comparison_in_markdown_says_what_its_table_says_in_html(out: Out) -> None:
    said = out(f"{TABLES['compare']} --format markdown")
    assert said.startswith("**")
    head = next(line for line in said.splitlines() if line.startswith("| "))
    names = [name.strip() for name in head.strip("| ").split(" | ")]
    shown = re.findall("<th(?: [^>]*)?>(.*?)</th>", out(f"{TABLES['compare']} --format html"))
    assert [name.replace("\\", "") for name in names] == shown[: len(names)]
    assert "baseline\\_mean" not in said


def test_groups_of_items_are_compared_on_the_command_line(out: Out) -> None:
    Path("items.csv").write_text("doc_id,maker\na,x\nb,y\n")
    Path("train.csv").write_text("query_id,doc_id\nq9,a\n")
    words = "-m reo@1,attention_relevance_gap@1 --items items.csv --group maker --interactions train.csv --resamples 99"
    rows = json.loads(out(f"catalog bm25.run --qrels qrels.txt {words} --format json"))
    values = {row["metric"]: row["value"] for row in rows}
    # a, of x, is relevant to all and first for one of three: attention 1/3, relevance 1; nothing of y is relevant
    assert values == {"reo@1": 0.0, "attention_relevance_gap@1": pytest.approx(4 / 3)}


def test_power_prints_its_answer_first(out: Out) -> None:
    # differences 1/2, 1/2 and 0: their standard deviation is 1 / sqrt(12) = 0.288675
    first, blank, head, row = out(f"{TABLES['power']}").splitlines()
    needed, chance = (row.split()[i] for i in (-1, -2))
    assert (blank, head.split()[0], row.split()[3]) == ("", "metric", "0.2887")
    assert first == (
        f"Detecting a difference of 0.1 between `bm25` and `dense` on rr with a probability of 0.8 takes {needed} queries "
        f"(t-test at level 0.05); the 3 here detect it with a probability of {float(chance):.2g}"
    )
    several = out(f"{TABLES['power']} --difference 0.2 --difference 0.3 --difference 1.5").splitlines()
    numbers = [int(line.split()[-1]) for line in several[3:]]
    assert several[0] == (
        f"Detecting these 4 differences with a probability of 0.8 takes {min(numbers)} to {max(numbers)} queries (t-test at "
        f"level 0.05); 3 queries are there, enough for {sum(n <= 3 for n in numbers)} of them"
    )
    assert out(f"{TABLES['power']} --difference 0.2,0.3,1.5").splitlines() == several
    assert out(f"{TABLES['power']} --format markdown").startswith("**Detecting a difference of 0.1 between ")


def test_power_of_equal_runs_says_that_there_is_no_answer(out: Out) -> None:
    Path("same.run").write_text(BM25)
    line = "power bm25.run same.run --qrels qrels.txt -m rr"
    none = "No number of queries can be computed"
    said = out(f"{line} --difference 0.1").splitlines()[0]
    assert said == f"{none} for a difference of 0.1 between `bm25` and `same` on rr: their differences are all equal"
    several = " --difference ".join([line, "0.1", "0.2", "0.3", "0.4"])
    assert out(several).splitlines()[0] == f"{none}; 4 differences have no spread to go by"
    Path("one.txt").write_text("q1 0 a 1\n")
    alone = out("power bm25.run dense.run --qrels one.txt -m rr --difference 0.1").splitlines()[0]
    assert alone == f"{none} for a difference of 0.1 between `bm25` and `dense` on rr: 1 query has no spread"
    mixed = "power bm25.run same.run dense.run --qrels qrels.txt -m rr --difference 0.1 --difference 0.2"
    assert out(mixed).splitlines()[0].endswith("enough for 0 of them; 2 differences have no spread to go by")


def test_groups_print_their_answer_first(out: Out) -> None:
    # markets: x has the value 1; y 0, 1 and 1, of which the second user has the relevant document second: (0.5 + 1) / 2
    lines = out(TABLES["compare_groups"]).splitlines()
    assert lines[0].startswith("No significant difference of rr of market y from x: -0.250, ")
    assert (lines[1], lines[2].split()[:3]) == ("", ["metric", "baseline", "group"])


GATE = "gate bm25.run dense.run --qrels qrels.txt --resamples 99"
FORMATS_OF_GATE = ("text", "github", "table", "csv", "tsv", "json", "ndjson", "markdown", "latex", "html", "safe-csv")


@each(("budget", "code"), [("rr=0.99", 0), ("rr=0.01", 1)], sample=len(FORMATS_OF_GATE))
@each("format", FORMATS_OF_GATE)
def test_a_gate_has_one_exit_code_in_every_format(
    format: str, budget: str, code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*GATE.split(), "--budget", budget, "--format", format]) == code
    printed = capsys.readouterr().out
    assert "dense" in printed


@each(("budget", "code"), [("rr=0.99", 0), ("rr=0.01", 1)])
def test_a_gate_that_is_written_to_a_file_has_its_exit_code_too(
    budget: str, code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*GATE.split(), "--budget", budget, "-o", "t", "--format", "text"]) == code
    assert capsys.readouterr().out == ""
    assert "dense" in Path("t").read_text()


def test_a_gate_tells_people_the_verdict_and_programs_its_table(out: Out) -> None:
    line = f"{GATE} --budget rr=0.99"
    assert out(line) == out(f"{line} --format text")
    (row,) = json.loads(out(f"{line} --format json"))
    assert (row["metric"], row["run"], row["baseline"]) == ("rr", "dense", "bm25")
    assert (row["verdict"], row["passed"], row["n_queries"]) == ("passed", True, 3)
    assert row["difference"] == pytest.approx(1 / 3)
    lines = out(f"{line} --format table").splitlines()
    assert lines[:2] == ["passed: 1 of 1 within the budget", ""]
    assert lines[3].split()[:7] == ["passed", "rr", "dense", "bm25", "0.6667", "1.0000", "+0.3333"]
    assert out(f"{line} --format markdown").startswith("**passed: 1 of 1 within the budget**\n\n| verdict ")
    assert Cells(out(f"{line} --format html")).rows[1][:4] == ["passed", "rr", "dense", "bm25"]
    assert r"passed & rr & dense & bm25 & 0.6667 & 1.0000 & +0.3333" in out(f"{line} --format latex")
    out(f"{line} -o verdict.txt")
    assert Path("verdict.txt").read_text() == out(line)


def test_names_of_groups_are_escaped_in_the_sentences_of_markdown(out: Out) -> None:
    Path("odd.csv").write_text("query_id,doc_id,score,label,a|b<i>\n1,a,2,1,x\n2,a,2,0,y\n")
    said = out("compare_groups odd.csv -m rr --by a|b<i> --resamples 99 --format markdown").splitlines()[0]
    assert r"a\|b&lt;i>" in said
