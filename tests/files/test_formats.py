"""Runs and judgments in the files of other tools: each is recognised by its look, and read as a long table."""

from __future__ import annotations

import gzip
import io
import json
import math
import zlib
from pathlib import Path
from typing import Any, get_args

import pandas as pd
import polars as pl
import pytest

import rankframe as rf
from rankframe._files import json_rows
from rankframe._files.formats import FORMATS, FormatName
from rankframe._files.json_rows import JsonText
from rankframe._files.write import QrelsFormat
from rankframe.errors import InvalidData, InvalidOption, MissingColumn, RankframeWarning
from tests.support.each import each

N = None

# BEIR: corpus.jsonl, queries.jsonl and qrels/<split>.tsv, a table with tabs and the header query-id, corpus-id, score

BEIR = 'query-id\tcorpus-id\tscore\n007\td1\t2\n007\t"d\t2"\t0\n12\td1\t1\n'
BEIR_ROWS = [("007", "d1", 2), ("007", "d\t2", 0), ("12", "d1", 1)]


def beir(folder: Path, splits: dict[str, str], queries: str | None = None) -> Path:
    (folder / "qrels").mkdir()
    for split, text in splits.items():
        (folder / "qrels" / f"{split}.tsv").write_text(text)
    (folder / "corpus.jsonl").write_text("what is here is not read")
    if queries is not None:
        (folder / "queries.jsonl").write_text(queries)
    return folder


@each("name", ["test.tsv", "test.txt", "qrels", "test.tsv.gz"])
def test_judgments_of_beir_are_recognised_by_their_header(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_bytes(gzip.compress(BEIR.encode()) if name.endswith("gz") else BEIR.encode())
    for frame in (rf.read_qrels(path), rf.scan_qrels(path).collect(), rf.read_qrels(path, format="beir")):
        assert frame.rows() == BEIR_ROWS
        assert frame.schema == {"query_id": pl.String, "doc_id": pl.String, "label": pl.Int64}
    assert rf.read_qrels(io.StringIO(BEIR)).rows() == BEIR_ROWS


def test_judgments_of_beir_may_be_stored_as_another_table(tmp_path: Path) -> None:
    table = pl.DataFrame(BEIR_ROWS, schema=["query-id", "corpus-id", "score"], orient="row")
    table.write_parquet(tmp_path / "q.parquet")
    table.write_ndjson(tmp_path / "q.jsonl")
    for path in (tmp_path / "q.parquet", tmp_path / "q.jsonl"):
        assert rf.read_qrels(path).rows() == rf.read_qrels(path, format="beir").rows() == BEIR_ROWS


def test_a_folder_of_beir_gives_the_judgments_of_its_only_split_or_of_test(tmp_path: Path) -> None:
    folder = beir(tmp_path, {"dev": BEIR.replace("d1", "x")})
    assert rf.read_qrels(folder).rows()[0] == ("007", "x", 2, N)
    (folder / "qrels" / "test.tsv").write_text(BEIR)
    assert rf.read_qrels(folder)["doc_id"].to_list() == ["d1", "d\t2", "d1"]
    assert rf.read_qrels(folder / "qrels" / "dev.tsv")["doc_id"][0] == "x"


def test_a_folder_of_beir_gives_the_texts_of_its_queries(tmp_path: Path) -> None:
    queries = '{"_id": "12", "text": "twelve", "metadata": {"a": [1]}}\n{"_id": "007", "text": "bond"}\n{"_id": "9", "text": "x"}\n'
    folder = beir(tmp_path, {"test": BEIR}, queries)
    expected = [("007", "d1", 2, "bond"), ("007", "d\t2", 0, "bond"), ("12", "d1", 1, "twelve")]
    for source in (folder, str(folder)):
        assert rf.read_qrels(source).rows() == rf.scan_qrels(source).collect().rows() == expected
    assert rf.read_qrels(folder, format="beir").columns == ["query_id", "doc_id", "label", "query_text"]


@each(
    ("splits", "queries", "says"),
    [
        ({"dev": BEIR, "train": BEIR}, None, "qrels has dev, train, and no test.tsv; name one of its files"),
        ({}, None, "qrels has no split, and no test.tsv"),
        (
            {"test": BEIR},
            '{"_id": "007", "text": "a"}\n{"_id": "007", "text": "b"}',
            "several queries have the _id '007'",
        ),
        ({"test": BEIR}, '{"_id": "007", "te', "queries.jsonl, line 1: .* is no JSON object"),
        ({"test": BEIR + "12\td1\thigh\n"}, None, r"test.tsv, row 4: label 'high' is not a whole number"),
    ],
)
def test_a_folder_of_beir_that_cannot_be_read_is_named(
    splits: Any, queries: str | None, says: str, tmp_path: Path
) -> None:
    with pytest.raises((InvalidData, InvalidOption), match=says):
        rf.read_qrels(beir(tmp_path, splits, queries))


def test_a_folder_of_beir_is_no_run_and_a_folder_without_judgments_none_of_beir(tmp_path: Path) -> None:
    with pytest.raises(InvalidOption, match="is a folder, and none of BEIR's judgments; name a file in it"):
        rf.read_qrels(tmp_path, format="beir")
    with pytest.raises(InvalidOption, match="is a folder, and none of BEIR's judgments"):
        rf.read_run(beir(tmp_path, {"test": BEIR}))
    with pytest.raises(MissingColumn, match="a table of beir, has no score"):
        rf.read_run(io.StringIO(BEIR), format="beir")


# _rank_eval of Elasticsearch and OpenSearch

REQUEST = {
    "templates": [{"id": "t", "template": {"source": {}}}],
    "requests": [
        {
            "id": "berlin",
            "request": {"query": {"match": {"title": "berlin"}}},
            "ratings": [
                {"_index": "cities", "_id": "d1", "rating": 3},
                {"_index": "towns", "_id": "007", "rating": 0},
            ],
        },
        {"id": "rome", "template_id": "t", "params": {}, "ratings": []},
    ],
    "metric": {"precision": {"k": 10}},
}


def hit(doc: str, score: float | None, rating: float | None, index: str = "cities") -> dict[str, Any]:
    return {"hit": {"_index": index, "_id": doc, "_score": score}, "rating": rating}


RESPONSE: dict[str, Any] = {
    "metric_score": 0.4,
    "details": {
        "berlin": {
            "metric_score": 0.6,
            "unrated_docs": [{"_index": "cities", "_id": "d3"}, {"_index": "towns", "_id": "d9"}],
            "hits": [hit("d1", 2.5, 3), hit("d3", 2.5, None), hit("007", 1, 0, "towns")],
            "metric_details": {"precision": {"relevant_docs_retrieved": 1, "docs_retrieved": 3}},
        },
        "rome": {"metric_score": 0.0, "unrated_docs": [], "hits": [], "metric_details": {}},
        "by price": {
            "hits": [hit("a", None, None), hit("b", None, 1)],
            "unrated_docs": [{"_index": "cities", "_id": "a"}],
        },
        "by date": {"hits": [hit("a", 1, 1), hit("b", 2, 0), hit("c", 1.5, 0)]},
    },
    "failures": {},
}
RESPONSE_ROWS = [
    ("berlin", "d1", 2.5, 3, 1, "cities"),
    ("berlin", "d3", 2.5, N, 2, "cities"),
    ("berlin", "007", 1.0, 0, 3, "towns"),
    ("berlin", "d9", N, N, N, "towns"),
    ("rome", N, N, N, N, N),
    ("by price", "a", 1.0, N, 1, "cities"),
    ("by price", "b", 0.5, 1, 2, "cities"),
    ("by date", "a", 1.0, 1, 1, "cities"),
    ("by date", "b", 0.5, 0, 2, "cities"),
    ("by date", "c", 1 / 3, 0, 3, "cities"),
]
IN_FILES = [pytest.param({}, id="in one line"), pytest.param({"indent": 2}, id="in many lines")]


def packed(data: bytes, name: str) -> bytes:
    """The data in the compression of a name."""
    if name.endswith("gz"):
        return gzip.compress(data)
    return zlib.compress(data) if name.endswith("zlib") else data


@each("style", IN_FILES)
@each("name", ["r.json", "response", "r.json.gz", "r.json.zlib"])
def test_a_response_of_rank_eval_gives_hits_ratings_and_unrated_documents(
    name: str, style: Any, tmp_path: Path
) -> None:
    path, data = tmp_path / name, json.dumps(RESPONSE, **style).encode()
    path.write_bytes(packed(data, name))
    for frame in (rf.read_run(path), rf.scan_run(path).collect(), rf.read_run(path, format="rank_eval")):
        assert frame.rows() == RESPONSE_ROWS
        assert frame.schema == {
            "query_id": pl.String,
            "doc_id": pl.String,
            "score": pl.Float64,
            "label": pl.Int64,
            "rank": pl.Int64,
            "index": pl.String,
        }
    ratings = [(query, doc, label, index) for query, doc, _, label, _, index in RESPONSE_ROWS]
    assert rf.read_qrels(path).rows() == rf.scan_qrels(path).collect().rows() == ratings


def test_a_judged_response_is_evaluated_as_elasticsearch_counts() -> None:
    table = rf.read_run(io.StringIO(json.dumps(RESPONSE)))
    with pytest.warns(RankframeWarning, match="1 of 4 queries have no judgments: they have no value"):
        assert rf.rank(table).on(rank="rank").evaluate("rr")["rr"].to_list() == [1.0, None, 0.5, 1.0]
    # precision of Elasticsearch: ratings of at least 1 over the documents that were found; nothing found is 0
    counted = table.with_columns(pl.col("label").fill_null(-1))
    found = rf.rank(counted).on(rank="rank").evaluate("precision(divisor='min(k,n)')@3", "rr")
    assert found["rr"].to_list() == [1.0, 0.0, 0.5, 1.0]
    assert found.to_series(1).to_list() == pytest.approx([1 / 3, 0, 1 / 2, 1 / 3])


@each("style", IN_FILES)
def test_a_request_of_rank_eval_gives_its_ratings(style: Any, tmp_path: Path) -> None:
    path = tmp_path / "request.json"
    path.write_text(json.dumps(REQUEST, **style))
    expected = [("berlin", "d1", 3, "cities"), ("berlin", "007", 0, "towns"), ("rome", N, N, N)]
    for frame in (rf.read_qrels(path), rf.scan_qrels(path).collect(), rf.read_qrels(path, format="rank_eval")):
        assert frame.rows() == expected
        assert frame.columns == ["query_id", "doc_id", "label", "index"]
    with pytest.raises(
        InvalidData, match=r"request.json: a request of _rank_eval holds ratings; read it by read_qrels"
    ):
        rf.read_run(path)


def test_requests_that_failed_are_told() -> None:
    text = json.dumps({**RESPONSE, "failures": {"oslo": {"error": {"type": "parsing_exception"}}}})
    with pytest.warns(RankframeWarning, match="the input: 1 requests failed, and their queries are left out: 'oslo'"):
        assert rf.read_run(io.StringIO(text)).rows() == RESPONSE_ROWS


DOCUMENTS = "the documents of query 'q' must be objects with the texts '_id' and '_index', and numbers as"
WRONG_JSON = [
    ('{"details": {"q": {"hits": [{"hit": {"_id": 1}}]}}}', DOCUMENTS),
    ('{"details": {"q": {"hits": [{"_id": "d"}]}}}', DOCUMENTS),
    ('{"details": {"q": {"hits": [{"hit": {"_id": "d", "_index": [1]}}]}}}', DOCUMENTS),
    ('{"details": {"q": {"hits": 1, "unrated_docs": []}}}', DOCUMENTS),
    ('{"details": {"q": {"hits": [{"hit": {"_id": "d", "_score": "1"}}]}}}', DOCUMENTS),
    ('{"requests": [{"id": "q", "ratings": [{"_index": "i", "rating": 1}]}]}', DOCUMENTS),
    (
        '{"details": {"q": {"hits": [{"hit": {"_id": "d"}, "rating": 1.5}]}}}',
        r"label '1.5' is not a whole number that Int64 holds exactly \(label_dtype=pl.Float64 reads others\): document 'd' of query 'q'",
    ),
    (
        '{"details": {"q": {"hits": [{"hit": {"_id": "d", "_score": 2}}, {"hit": {"_id": "e", "_score": NaN}}]}}}',
        "score 'NaN' is not a number: document 'e' of query 'q'",
    ),
    ('{"details": {"q": {"hits": []}}\n "failures": {}}', "',' delimiter: line 2 column 2 .*; is the file whole"),
    ('{"details": {"q": {"hits": []}, "q": {"hits": []}}}', "an object has 'q' twice; keep one of them"),
    ('{"requests": [{"id": 7}]}', "a request has the 'id' None; each needs a text of its own"),
    ('{"requests": [{"id": "a"}, {"id": "a"}]}', "a request has the 'id' 'a'; each needs a text of its own"),
    ('{"details": {"q": {"hits": [], "hits": []}}}', "has 'hits' twice"),
    ('{"q1": {"d1": 1}, "q2": {"d1": true}}', "q2 / d1 holds True, where a query holds a number for each document"),
    ('{"q1": {"d1": 1}, "q2": {"d1": 1, "d2": {"d3": 2}}}', "q2 holds {'d2': range"),
    ('{"q1": {"d1": "a"}}', "q1 / d1 holds 'a', where a query"),
    ('{"q1": {"d1": 1, "d1": 2}}', "has 'd1' twice"),
    ('{"q1": {"d1": 1}, "q1": {"d2": 2}}', "has 'q1' twice"),
    ('{"q1": {"d1": 1}} x', "Extra data: line 1 column 19"),
    ('{"q0": {"d1": 1}, "q1":\n[]}', r"q1 holds \[\], where a query"),
    ('{"a": {"b": {"q": {"d": {"e": 1}}}}}', "a / b / q holds {'d': range"),
    ('{"a": {"q": {"d": 1}}, "b": {"c": {"q": {"d": 1}}}}', "holds queries at several depths"),
    ('{"a": {"d": ' + "[" * 100_000 + "}}", "recursion .*; is the file whole"),
]


@each(("text", "says"), WRONG_JSON, ids=[says[:60] for _, says in WRONG_JSON])
def test_json_that_is_wrong_is_refused_with_its_file(text: str, says: str, tmp_path: Path) -> None:
    path = tmp_path / "wrong.json"
    path.write_text(text)
    for read in (rf.read_qrels, rf.scan_qrels) if "requests" in text else (rf.read_run, rf.scan_run):
        with pytest.raises(InvalidData, match=says) as caught:
            read(path)
        assert str(caught.value).startswith(str(path))


def test_a_list_of_rows_in_json_is_read(tmp_path: Path) -> None:
    path = tmp_path / "rows.json"
    table = pl.DataFrame({"query_id": ["q", "r"], "doc_id": ["d", "\u00e9"], "score": [1.0, None]})
    table.write_json(path)
    assert rf.read_run(path).equals(table)
    assert rf.scan_run(path).collect().equals(table)
    table.to_pandas().to_json(path, orient="records", indent=2)
    assert rf.read_run(path).equals(table)
    path.write_text('[{"query_id": "q", "doc_id": "d", "score": 1}, 3]')
    with pytest.raises(InvalidData, match=r"rows\.json: error deserializing value .* as struct"):
        rf.read_run(path)
    path.write_text("3")
    with pytest.raises(InvalidData, match=r"rows\.json: can only deserialize json objects"):
        rf.read_run(path)
    path.write_text("[]")
    assert rf.read_run(path).schema == {"query_id": pl.String, "doc_id": pl.String, "score": pl.Float64}


@each("orient", ["columns", "index", "split", "table"])
def test_a_table_that_pandas_writes_by_column_is_refused_with_what_to_write(orient: Any, tmp_path: Path) -> None:
    path, lines = tmp_path / "rows.json", tmp_path / "rows.jsonl"
    table = pl.DataFrame({"query_id": ["q"], "doc_id": ["d"], "score": [1.5]}).to_pandas()
    table.to_json(path, orient=orient)
    if orient == "index":  # {"0": {"query_id": "q", ...}}, as of a query 0
        says = "0 holds {'query_id': 'q', .*, where a query holds a number for each document"
    else:
        says = "this JSON object has a member for each column; write one for each row"
    with pytest.raises(InvalidData, match=says):
        rf.read_run(path)
    table.to_json(lines, orient="records", lines=True)
    assert rf.read_run(lines).rows() == [("q", "d", 1.5)]


@each("ending", ["feather", "arrow", "ipc"])
def test_a_file_of_arrow_is_read_as_a_parquet_file_is(ending: str, tmp_path: Path) -> None:
    table = pl.DataFrame({"query_id": [7, 7], "doc_id": ["a", "b"], "score": [1.5, None], "label": [1, 0]})
    path = tmp_path / f"run.{ending}"
    table.write_ipc(path)
    for read in (rf.read_run(path), rf.scan_run(path).collect(), rf.read_qrels(path)):
        assert read.equals(table)
    table.to_pandas().to_feather(path)
    assert rf.read_run(path).equals(table)
    assert rf.read_run(io.BytesIO(path.read_bytes()), format="ipc").equals(table)
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(InvalidData, match=rf"run\.{ending}: "):
        rf.read_run(path)


def test_a_file_of_a_format_that_is_not_read_is_refused_unless_its_format_is_given(tmp_path: Path) -> None:
    path = tmp_path / "run.pkl"
    pd.DataFrame({"query_id": ["q"], "doc_id": ["d"], "score": [1.5]}).to_pickle(path)
    with pytest.raises(InvalidData, match=r"run\.pkl, line 1: .* is no UTF-8"):
        rf.read_run(path)
    path.write_text("q Q0 d 1 1.5 t")
    assert rf.read_run(path, format="trec")["score"].to_list() == [1.5]


def test_another_object_is_not_one_of_rank_eval() -> None:
    with pytest.raises(InvalidData, match="the input: this JSON has neither 'requests' nor 'details'"):
        rf.read_run(io.StringIO('{"q": {"d": 1}}'), format="rank_eval")


@each("query", ["details", "requests", "failures"])
def test_a_dictionary_may_have_queries_named_as_the_parts_of_rank_eval(query: str) -> None:
    assert rf.read_run(io.StringIO(json.dumps({query: {"d": 1}, "q": {}}))).rows() == [(query, "d", 1.0), ("q", N, N)]


# Quepid's exports: columns and line ends as its export services write them

BASIC = 'query,docid,rating\nstar wars,11,3\nstar wars,1895,0\n"war, star",11,\n -1 degree,a,1.0\nno ratings,,'
BASIC_ROWS = [
    ("star wars", "11", 3),
    ("star wars", "1895", 0),
    ("war, star", "11", N),
    ("-1 degree", "a", 1),
    ("no ratings", N, N),
]
DETAILED = (
    "Team Name,Case Name,Case ID,Query Text,Doc ID,Doc Position,Title,Rating,year\r\n"
    'Team,Films,8,star wars,11,1,"A, title",3,1977\r\n'
    "Team,Films,8,star wars,007,2,Empire,,1980\r\n"
    "Team,Films,8,nothing\r\n"
)
DETAILED_ROWS = [
    ("Team", "Films", 8, "star wars", "11", 1, "A, title", 3, 1977, 1.0),
    ("Team", "Films", 8, "star wars", "007", 2, "Empire", N, 1980, 0.5),
    ("Team", "Films", 8, "nothing", N, N, N, N, N, N),
]
SNAPSHOT = (
    "Snapshot Name,Snapshot Time,Case ID,Query Text,Doc ID,Doc Position,title\r\n"
    "2024,2024-01-02,8,star wars,11,1,A title\r\n"
    "2024,2024-01-02,8,star wars,12,2,\r\n"
)
GENERAL = (
    "Team Name,Case Name,Case ID,Query Text,Score,Date Last Scored,Count,Information Need,Notes,Options\r\n"
    "Team,Films,8,star wars,0.5,2024-01-02,10,,,\r\n"
)


@each("name", ["basic.csv", "basic"])
def test_quepids_ratings_are_judgments_of_the_text_of_queries(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(BASIC)
    for frame in (rf.read_qrels(tmp_path / name), rf.scan_qrels(tmp_path / name).collect()):
        assert frame.rows() == BASIC_ROWS
    assert rf.read_qrels(io.StringIO("\n" + BASIC), format="quepid").rows() == BASIC_ROWS
    assert rf.read_qrels(io.StringIO(BASIC.replace("docid", "doc_id"))).rows() == BASIC_ROWS


def test_quepids_detailed_export_is_a_judged_run(tmp_path: Path) -> None:
    path = tmp_path / "detailed.csv"
    path.write_bytes(DETAILED.encode())
    for frame in (rf.read_run(path), rf.scan_run(path).collect(), rf.read_run(path, format="quepid")):
        assert frame.rows() == DETAILED_ROWS
        names = ["query_id", "doc_id", "rank", "Title", "label", "year", "score"]
        assert frame.columns == ["Team Name", "Case Name", "Case ID", *names]
    assert rf.read_qrels(path).select("query_id", "doc_id", "label").rows() == [
        (r[3], r[4], r[7]) for r in DETAILED_ROWS
    ]
    with pytest.warns(RankframeWarning, match="1 of 2 queries have no judgments: they have no value"):
        assert rf.rank(rf.read_run(path)).evaluate("rr").rows() == [("star wars", 1.0), ("nothing", None)]
    counted = rf.read_run(path).with_columns(pl.col("label").fill_null(-1))
    assert rf.rank(counted).evaluate("rr").rows() == [("star wars", 1.0), ("nothing", 0.0)]


def test_a_displayed_score_of_quepid_is_the_score() -> None:
    text = "Query Text,Doc ID,Doc Position,Rating,score\nq,a,1,1,7.5\nq,b,2,0,7\n"
    assert rf.read_run(io.StringIO(text)).select("doc_id", "score", "rank").rows() == [("a", 7.5, 1), ("b", 7.0, 2)]


def test_quepids_snapshot_is_a_run_with_its_name() -> None:
    frame = rf.read_run(io.StringIO(SNAPSHOT))
    rows = [("star wars", "11", 1, 1.0, "2024"), ("star wars", "12", 2, 0.5, "2024")]
    assert frame.select("query_id", "doc_id", "rank", "score", "run").rows() == rows


@each(
    ("read", "text", "says"),
    [
        (rf.read_run, BASIC, "the input, a table of quepid, has no score"),
        (rf.read_qrels, SNAPSHOT, "the input, a table of quepid, has no label"),
        (rf.read_run, GENERAL, "the input, a table of quepid, has no doc_id"),
        (rf.read_qrels, GENERAL, "the input, a table of quepid, has no doc_id and no label"),
    ],
)
def test_an_export_of_quepid_that_holds_something_else_is_refused(read: Any, text: str, says: str) -> None:
    for options in ({}, {"format": "quepid"}):
        with pytest.raises(MissingColumn) as caught:
            read(io.StringIO(text), **options)
        assert says in str(caught.value)


def test_a_position_of_quepid_that_is_no_number_is_refused_with_its_row() -> None:
    with pytest.raises(InvalidData, match=r"the input, row 2: rank 'x' is not a whole number$"):
        rf.read_run(io.StringIO(SNAPSHOT.replace(",2,\r", ",x,\r")))


def test_a_header_that_is_none_of_quepid_is_refused_where_that_is_said() -> None:
    with pytest.raises(MissingColumn, match=r"no column 'query_id', 'doc_id', 'score' in the input; it has a, b"):
        rf.read_run(io.StringIO("a,b\n"), format="quepid")


def test_a_table_of_our_own_may_have_columns_named_as_quepids(tmp_path: Path) -> None:
    path = tmp_path / "own.csv"
    path.write_text("query_id,doc_id,score,label,query,docid,rating\nq,d,1,2,a,5,4.5\n")
    assert rf.read_run(path).row(0) == ("q", "d", 1.0, 2, "a", 5, 4.5)


# mteb's predictions and other dictionaries

PREDICTIONS = {"q1": {"d1": 0.5, "007": 1}, "q2": {}, "q3": {"d1": -1e-3}}
PREDICTED = [("q1", "d1", 0.5), ("q1", "007", 1.0), ("q2", N, N), ("q3", "d1", -0.001)]


@each("style", IN_FILES)
def test_predictions_are_a_run(style: Any, tmp_path: Path) -> None:
    path = tmp_path / "predictions.json"
    path.write_text(json.dumps(PREDICTIONS, **style))
    for frame in (rf.read_run(path), rf.scan_run(path).collect(), rf.read_run(path, format="mteb")):
        assert frame.rows() == PREDICTED
        assert frame.schema == {"query_id": pl.String, "doc_id": pl.String, "score": pl.Float64}


@each("style", IN_FILES)
def test_predictions_of_mteb_have_subsets_splits_and_the_model(style: Any) -> None:
    meta = {"mteb_model_meta": {"model_name": "intfloat/e5", "revision": "abc"}}
    text = json.dumps({**meta, "en": {"test": PREDICTIONS}, "de": {"test": {"q1": {"d": 1}}}}, **style)
    expected = [(*row, "en", "test", "intfloat/e5") for row in PREDICTED] + [
        ("q1", "d", 1.0, "de", "test", "intfloat/e5")
    ]
    frame = rf.read_run(io.StringIO(text))
    assert frame.rows() == expected
    assert frame.columns == ["query_id", "doc_id", "score", "subset", "split", "run"]
    assert len(rf.rank(frame.with_columns(label=1)).on(query=["subset", "query_id"]).evaluate("rr")) == 4


def test_predictions_by_split_alone_are_read() -> None:
    frame = rf.read_run(io.StringIO(json.dumps({"test": PREDICTIONS})))
    assert frame.rows() == [(*row, "test") for row in PREDICTED]
    assert frame.columns[-1] == "split"


def test_a_dictionary_of_judgments_is_read() -> None:
    source = json.dumps({"q1": {"a": 2, "b": -1, "c": 1.0}, "q2": {}})
    assert rf.read_qrels(io.StringIO(source)).rows() == [("q1", "a", 2), ("q1", "b", -1), ("q1", "c", 1), ("q2", N, N)]
    as_text = rf.read_qrels(io.StringIO('{"q": {"a": 2, "b": 1.5}}'), label_dtype=pl.String)
    assert as_text["label"].to_list() == ["2", "1.5"]
    floats = rf.read_qrels(io.StringIO('{"q": {"a": 2, "b": 1.5}}'), label_dtype=pl.Float64)
    assert floats["label"].to_list() == [2.0, 1.5]


@each(
    ("label", "kind"),
    [("300", "whole number that UInt8 holds"), ("-1", "whole number that UInt8"), ("1e999", "whole"), ("NaN", "whole")],
)
def test_a_label_that_its_type_does_not_hold_is_refused(label: str, kind: str) -> None:
    with pytest.raises(InvalidData, match=f"label '{label}' is not a {kind} .*: document 'd' of query 'q'"):
        rf.read_qrels(io.StringIO(f'{{"q": {{"d": {label}}}}}'), label_dtype=pl.UInt8)


def test_labels_of_json_are_as_exact_as_those_of_text() -> None:
    for label in ("9007199254740993", "-9223372036854775808", "2.0", "2e3"):
        source, text = f'{{"q": {{"d": {label}}}}}', f"q 0 d {label}"
        for dtype in (pl.Int64, pl.Float64, pl.String):
            found = rf.read_qrels(io.StringIO(source), label_dtype=dtype)["label"]
            assert found.equals(rf.read_qrels(io.StringIO(text), label_dtype=dtype)["label"])
    assert found.item() == "2e3"
    with pytest.raises(InvalidData, match="label '9223372036854775808' is not a whole number that Int64 holds exactly"):
        rf.read_qrels(io.StringIO('{"q": {"d": 9223372036854775808}}'))


def test_an_object_without_queries_is_an_empty_table() -> None:
    for read, name in ((rf.read_run, "score"), (rf.read_qrels, "label")):
        assert read(io.StringIO("{}")).columns == ["query_id", "doc_id", name]
        assert read(io.StringIO("{}")).is_empty()


def test_a_number_of_json_that_is_none_is_refused_with_its_line() -> None:
    with pytest.raises(InvalidData, match=r"the input: score 'NaN' is not a number: document 'e' of query 'q'"):
        rf.read_run(io.StringIO('{"q": {"d": 1, "e": NaN}}'))
    for number in ("1e999", "1" + "0" * 5000, "Infinity"):  # as in TREC text
        assert rf.read_run(io.StringIO(f'{{"q": {{"d": {number}}}}}'))["score"][0] == math.inf
    for label, kind in (("NaN", "finite number"), ("1e999", "finite number"), ("-Infinity", "finite number")):
        with pytest.raises(InvalidData, match=f"label '{label}' is not a {kind}: document 'e' of query 'q'"):
            rf.read_qrels(io.StringIO(f'{{"q": {{"d": 1, "e": {label}}}}}'), label_dtype=pl.Float64)


def test_many_queries_are_read_in_their_order() -> None:
    given = {f"q{i}": {f"d{j}": i + j / 8 for j in range(50)} for i in range(5000)}
    frame = rf.read_run(io.StringIO(json.dumps(given)))
    assert frame.rows() == [(q, d, x) for q, docs in given.items() for d, x in docs.items()]


def test_columns_of_json_are_renamed_on_request() -> None:
    frame = rf.read_run(io.StringIO(json.dumps(RESPONSE)), columns={"index": "subtopic", "rank": "score"})
    assert frame.columns == ["query_id", "doc_id", "label", "score", "subtopic"]
    assert frame["score"][0] == 1


# rows with lists

LISTS = [
    {"query_id": "q1", "lang": "en", "retrieved": ["a", "b"], "relevant": ["b", "c"]},
    {"query_id": "q2", "lang": "de", "retrieved": [], "relevant": ["b"]},
]


@each("name", ["l.jsonl", "l.json", "l.parquet"])
def test_rows_with_lists_are_judged_runs(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    frame = pl.DataFrame(LISTS)
    frame.write_parquet(path) if name.endswith("parquet") else path.write_text(frame.write_ndjson())
    expected = [("q1", "en", "a", 1.0, N), ("q1", "en", "b", 0.5, 1), ("q1", "en", "c", N, 1), ("q2", "de", "b", N, 1)]
    assert rf.read_run(path).rows() == rf.scan_run(path).collect().rows() == expected
    judged = [("q1", "en", "b", 1), ("q1", "en", "c", 1), ("q2", "de", "b", 1)]
    assert rf.read_qrels(path).rows() == rf.scan_qrels(path).collect().rows() == judged


def test_rows_with_lists_may_have_scores_and_labels_of_their_documents(tmp_path: Path) -> None:
    path = tmp_path / "l.jsonl"
    path.write_text('{"qid": "q", "hits": ["a", "b"], "scores": [9.5, 9], "labels": [0, 2]}\n')
    frame = rf.read_run(path, columns={"qid": "query_id", "hits": "retrieved"})
    assert frame.rows() == [("q", "a", 9.5, 0), ("q", "b", 9.0, 2)]


def test_a_fault_in_lists_is_named_with_the_file(tmp_path: Path) -> None:
    path = tmp_path / "l.jsonl"
    path.write_text('{"query_id": "q", "retrieved": ["a", "a"]}\n')
    with pytest.raises(InvalidData, match=r"l\.jsonl: the list in column 'retrieved' of query 'q' holds a twice"):
        rf.read_run(path)
    path.write_text('{"query_id": "q", "retrieved": [1], "relevant": ["a"]}\n')
    with pytest.raises(InvalidData, match=r"l\.jsonl: column 'retrieved' holds lists of Int64"):
        rf.read_run(path)
    path.write_text('{"query_id": "q", "contexts": ["a"]}\n')
    with pytest.raises(MissingColumn, match=r"no column 'doc_id', 'score' in"):
        rf.read_run(path)


# recognition


def test_a_single_row_of_json_lines_is_known_from_a_dictionary() -> None:
    assert rf.read_run(io.StringIO('{"query_id": "q", "doc_id": "d", "score": 1}')).rows() == [("q", "d", 1)]
    assert rf.read_run(io.StringIO('{"query_id": {"d": 1}}')).rows() == [("query_id", "d", 1.0)]


def test_a_dictionary_becomes_columns_while_it_is_read_whatever_its_depth(monkeypatch: pytest.MonkeyPatch) -> None:
    held: list[int] = []
    read = JsonText._object

    def counted(self: JsonText, pairs: list[tuple[str, Any]]) -> Any:
        found = read(self, pairs)
        held.append(len(self.docs))
        return found

    monkeypatch.setattr(JsonText, "_object", counted)
    monkeypatch.setattr(json_rows, "BATCH", 20)
    of_query = {f"d{i}": i for i in range(10)}
    text = json.dumps({"en": {"test": {f"q{i}": of_query for i in range(100)}}})
    assert rf.read_run(io.StringIO(text))["query_id"].unique(maintain_order=True).to_list() == [
        f"q{i}" for i in range(100)
    ]
    assert {*held} == {0, 10}  # of 1,000 rows


def test_a_run_whose_first_query_starts_with_a_brace_is_trec_text() -> None:
    assert rf.read_run(io.StringIO("{q1} Q0 d 1 2 t\n")).rows() == [("{q1}", "d", 2.0, "t")]


def test_the_formats_are_declared_once() -> None:
    assert {*FORMATS} == {
        *get_args(FormatName),
        "json",
    }  # which users do not name: the start of the file tells what it holds
    assert {name for name, row in FORMATS.items() if row.write is not None} == {*get_args(QrelsFormat)}
    for row in FORMATS.values():
        assert all(f"``{suffix}``" in str(rf.read_run.__doc__) for suffix in row.suffixes)
        assert row.name == "json" or f'``"{row.name}"``' in str(rf.read_run.__doc__)
        assert row.write is None or f'``"{row.name}"``' in str(rf.write_qrels.__doc__)
    with pytest.raises(InvalidOption, match=f"write {', '.join(map(repr, get_args(FormatName)))} or None"):
        rf.read_run(io.StringIO(""), format="xml")  # type: ignore[arg-type]


def test_preferences_of_trec_eval_are_read_if_their_format_is_named(tmp_path: Path) -> None:
    text = "# a comment\nq1  u\t1 d1 2\nq1 u 1 d2 0\n\nq2 v x d1 1.0\n"
    path = tmp_path / "prefs.txt"
    path.write_text(text)
    rows = [("q1", "u", "1", "d1", 2), ("q1", "u", "1", "d2", 0), ("q2", "v", "x", "d1", 1)]
    columns = ["query_id", "judgment_group", "judgment_subgroup", "doc_id", "label"]
    for found in (rf.read_qrels(path, format="prefs"), rf.scan_qrels(path, format="prefs").collect()):
        assert (found.rows(), found.columns) == (rows, columns)
    with pytest.raises(InvalidData, match=r"line 2: 5 fields instead of 4 in 'q1  u"):
        rf.read_qrels(path)
    with pytest.raises(
        InvalidData, match=r"line 1: 4 fields instead of 5 in 'q1 0 d1 2'. Write 'query_id judgment_group"
    ):
        rf.read_qrels(io.StringIO("q1 0 d1 2\n"), format="prefs")
    with pytest.raises(InvalidData, match=r"label '0.5' is not a whole number"):
        rf.read_qrels(io.StringIO("q1 u 1 d1 0.5\n"), format="prefs")
    with pytest.raises(InvalidOption, match="files of the format prefs hold judgments, and no run"):
        rf.read_run(path, format="prefs")


@each(
    ("format", "text"),
    [
        ("beir", "query-id\tcorpus-id\tscore\ncaf\u00e9\td\t1\n"),
        ("quepid", "query,docid,rating\ncaf\u00e9,d,1\n"),
        ("rank_eval", '{"requests": [\n"caf\u00e9"]}'),
        ("mteb", '{"q":\n{"caf\u00e9": 1}}'),
    ],
)
def test_bytes_that_are_not_utf_8_are_refused_in_every_format(format: FormatName, text: str, tmp_path: Path) -> None:
    path = tmp_path / "x.data"
    path.write_bytes(text.encode("latin-1"))
    for options in ({}, {"format": format}):
        with pytest.raises(InvalidData, match=r"x\.data, line 2: .* is no UTF-8"):
            rf.read_qrels(path, **options)  # type: ignore[arg-type]


def test_compressed_json_that_ends_early_is_named(tmp_path: Path) -> None:
    path = tmp_path / "x.json.gz"
    path.write_bytes(gzip.compress(json.dumps(RESPONSE).encode())[:-9])
    for kind in (None, "rank_eval"):
        with pytest.raises(InvalidData, match=r"x\.json\.gz: the compressed file is damaged or ends early"):
            rf.read_run(path, format=kind)  # type: ignore[arg-type]


def test_json_in_zstandard_is_read(tmp_path: Path) -> None:
    path = tmp_path / "x.json.zst"
    pl.DataFrame({"x": [json.dumps({"q": {"d": 1}})]}).write_csv(
        path, include_header=False, quote_style="never", compression="zstd"
    )
    assert rf.read_run(path).rows() == [("q", "d", 1.0)]


def test_scores_of_hits_in_another_order_are_one_over_their_ranks() -> None:
    assert json_rows.in_order([b"1.5", b"3.0", b"2.0"]) == [repr(1 / rank).encode() for rank in (1, 2, 3)]
    assert json_rows.in_order([None, None]) == [b"1.0", b"0.5"]
    assert json_rows.in_order([b"3.0", b"2.0"]) == [b"3.0", b"2.0"]


def test_a_line_of_thousands_of_objects_in_objects_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text(
        '{"query_id": "1", "doc_id": "a", "label": 1, "x": ' + '{"a":' * 50_000 + "1" + "}" * 50_000 + "}\n"
    )
    with pytest.raises(InvalidData, match=r"line 1: .* is no JSON object"):
        rf.read_qrels(path)
