"""The examples in the help of every command run, and the page on the command line shows what it prints."""

from __future__ import annotations

import gzip
import io
import re
import shlex
import sys
from pathlib import Path

import polars as pl
import pytest

import rankframe as rf
from rankframe._command import COMMANDS, main, parser
from rankframe._command.command import COLUMN_OPTIONS
from rankframe._table.roles import ROLES
from tests.support.each import each

PAGE = (Path(__file__).parents[2] / "docs" / "command_line.md").read_text(encoding="utf-8")


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The files that the examples name, of the example table: two scorers as runs, and the judgments."""
    monkeypatch.chdir(tmp_path)
    df = rf.load_example().filter(pl.col("query_id").is_in(rf.load_example()["query_id"].unique().sort().head(8)))
    for name, score in {
        "bm25": "score",
        "dense": "score_pca",
        "old": "score",
        "new": "score_forest",
        "ltr": "score_forest",
    }.items():
        rows = df.drop_nulls(score).select("query_id", "doc_id", score).rows()
        text = "".join(f"{query} Q0 {doc} 0 {value} {name}\n" for query, doc, value in rows)
        Path(f"{name}.run").write_text(text)
    Path("bm25.run.gz").write_bytes(gzip.compress(Path("bm25.run").read_bytes()))
    judged = df.drop_nulls("label")
    rows = judged.select("query_id", "doc_digit", "doc_id", "label").rows()
    Path("qrels.txt").write_text("".join(f"{query} 0 {doc} {label}\n" for query, _, doc, label in rows))
    Path("people.txt").write_text(Path("qrels.txt").read_text())
    Path("llm.txt").write_text(Path("qrels.txt").read_text())
    Path("diversity.txt").write_text("".join(f"{query} {digit} {doc} {label}\n" for query, digit, doc, label in rows))
    table = df.rename({"score": "bm25", "score_pca": "ltr"}).with_columns(
        market=pl.when(pl.col("digit") < 5).then(pl.lit("low")).otherwise(pl.lit("high")),
        language=pl.lit("en"),
        title=pl.col("doc_id"),
        score="bm25",
        label_llm="label",
        new_bm25="score_forest",
        new_ltr="bm25",
        label_expert=pl.col("label").clip(upper_bound=1),
    )
    table.write_parquet("table.parquet")
    of_runs = [table.drop("score").rename({run: "score"}).with_columns(system=pl.lit(run)) for run in ("bm25", "ltr")]
    columns = ["system", "query_id", "doc_id", "score", "label", "market"]
    runs = pl.concat(run.select(columns) for run in of_runs)
    runs.write_csv("runs.csv")
    runs.write_parquet("runs.parquet")
    clicks = judged.select(pl.col("query_id").alias("session"), pl.col("doc_id").alias("item"), "score", clicks="label")
    clicks.write_csv("clicks.csv")
    table.select("doc_id").unique().write_csv("catalog.csv")
    shown = [  # by two rankers, in orders that differ; users click at the first rank, and every other time at the second
        {"query": "q", "query_id": f"q{i}", "session": f"{run}{i}", "ranker": run, "item": doc, "doc_id": doc}
        | {"position": rank, "clicked": int(rank == 1 or (rank == 2 and i % 2)), "p": 1 / rank, "user": i % 8}
        | {"score": -rank}
        for run, docs in (("a", "xyz"), ("b", "yxz"))
        for i in range(40)
        for rank, doc in enumerate(docs, 1)
    ]
    pl.DataFrame(shown).with_columns(query_id="session").write_csv("log.csv")
    pl.DataFrame(shown).write_parquet("log.parquet")
    judged.select("query_id", "doc_id").head(99).write_csv("train.csv")
    judged.select("query_id", "doc_id", "label", market="digit").write_parquet("market.parquet")
    two = df.rename({"score": "old", "score_pca": "new"}).rank
    lists = two.clicks.interleave(runs=["old", "new"], method="balanced", k=5).with_columns(
        impression="query_id", clicked=pl.col("label") // 2, label=pl.col("label") // 2, market=pl.lit("low")
    )
    lists.with_columns(user_id=pl.col("query_id").rank("dense") // 2).write_csv("impressions.csv")
    lists.write_parquet("impressions.parquet")
    battles = pl.DataFrame(
        {"query_id": "q", "model_a": ["a", "b", "c"], "model_b": ["b", "c", "a"], "winner": ["a", None, "c"]}
    )
    battles.write_csv("battles.csv")
    battles.rename({"model_a": "doc_a", "model_b": "doc_b"}).write_csv("pairs.csv")
    Path("prefs.txt").write_text("".join(f"{query} 0 0 {doc} {label}\n" for query, _, doc, label in rows))


def run(line: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    """The exit code and the output of a line; of a shell it knows zcat, cat and >."""
    words = shlex.split(line)
    if "|" in words:
        (command, name), words = words[: words.index("|")], words[words.index("|") + 1 :]
        content = Path(name).read_bytes()
        content = gzip.decompress(content) if command == "zcat" else content
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
    target = words[words.index(">") + 1] if ">" in words else None
    assert words[0] == "rankframe"
    code = main(words[1:] if target is None else words[1 : words.index(">")])
    printed = capsys.readouterr().out
    if target is not None:
        Path(target).write_text(printed, encoding="utf-8")
        return code, ""
    return code, printed


@pytest.mark.usefixtures("files")
@each("line", [line for command in COMMANDS for line in command.examples], sample=8)
def test_an_example_runs(line: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    code, printed = run(line, monkeypatch, capsys)
    fails = " gate " in line or " check " in line
    assert code in ((0, 1) if fails else (0,))
    written = re.search(r"(?:>|-o) (\S+)", line)
    if written is not None:
        assert Path(written[1]).stat().st_size > 20
    else:
        assert len(printed) > (2 if " check " in line else 20)  # nothing may be wrong


@each("command", COMMANDS, ids=lambda command: command.name)
def test_help_shows_examples_and_exit_codes(command: object, capsys: pytest.CaptureFixture[str]) -> None:
    name, examples = command.name, command.examples  # type: ignore[attr-defined]
    with pytest.raises(SystemExit) as caught:
        main([name, "--help"])
    assert caught.value.code == 0
    said = capsys.readouterr().out
    assert said.startswith(f"usage: rankframe {name}")
    assert all(f"\n  {example}\n" in said for example in examples)
    assert "\n  2  an error, described in one line on standard error" in said


def test_the_first_help_names_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--help"])
    said = capsys.readouterr().out
    assert all(re.search(rf"^    {command.name}\b", said, re.MULTILINE) for command in COMMANDS)
    with pytest.raises(SystemExit):
        main(["--version"])
    assert capsys.readouterr().out == f"rankframe {rf.__version__}\n"


@each("name", [command.name for command in COMMANDS])
def test_help_is_plain_text_that_fits_the_terminal(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for width in (80, 120):
        monkeypatch.setenv("COLUMNS", str(width))
        with pytest.raises(SystemExit):
            main([name, "--help"])
        said = capsys.readouterr().out.partition("\nexamples:")[0]
        assert ":`" not in said
        assert ":meth:" not in said
        assert [line for line in said.splitlines() if len(line) > width] == []
        wrapped = " ".join(said.split())
        command = next(command for command in COMMANDS if command.name == name)
        about = re.split(r"\n\n(?=-|[A-Z]+  |\$ )", command.about)[0]
        assert " ".join(about.split()) in wrapped


def test_help_names_a_method_where_a_method_is_taken(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["report", "--help"])
    assert "--fusion METHOD" in capsys.readouterr().out


@each("words", [["help"], ["help", "fuse"]])
def test_the_word_help_is_the_option(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    said = []
    for line in (words, [*words[1:], "--help"]):
        with pytest.raises(SystemExit) as caught:
            main(line)
        assert caught.value.code == 0
        said.append(capsys.readouterr().out)
    assert said[0] == said[1]
    assert said[0].startswith("usage: rankframe")


def test_the_list_of_metrics_has_no_links_of_the_documentation(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "1000")
    assert main(["metrics"]) == 0
    said = capsys.readouterr().out
    assert ":func:" not in said
    assert "NERR by equation 9: as `nerr8`, but a reader not satisfied" in said
    assert "goes on as in `insq`." in said


SHOWN = re.findall(r"^```console\n(.*?)^```$", PAGE, flags=re.MULTILINE | re.DOTALL)


def test_the_page_shows_what_is_printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    for name, content in re.findall(r"^```text\n# (\S+)\n(.*?)^```$", PAGE, flags=re.MULTILINE | re.DOTALL):
        Path(name).write_text(content)
    for name in ("bm25.run",):
        Path(f"{name}.gz").write_bytes(gzip.compress(Path(name).read_bytes()))
    assert len(SHOWN) > 8
    code = 0
    for block in SHOWN:
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            line, _, wanted = part.partition("\n")
            if line == "echo $?":
                assert f"{code}\n" == wanted
            else:
                code, printed = run(line, monkeypatch, capsys)
                assert printed == wanted, line


def test_every_role_of_a_column_has_an_option() -> None:
    assert {*ROLES} <= {*COLUMN_OPTIONS}
    given = parser(["evaluate"]).parse_args(["evaluate", "x", "--features", "a,b", "--query", "a,b", "--weight", "w"])
    assert (given.features, given.query, given.weight) == (["a", "b"], "a,b", "w")


def test_the_page_names_every_command() -> None:
    assert [command.name for command in COMMANDS if f"rankframe {command.name}" not in PAGE] == []
