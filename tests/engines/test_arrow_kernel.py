"""The kernel on parts of a table: values of the oracles, types as they came, a schema known beforehand, refusals."""

from __future__ import annotations

import datetime as dt
import pickle
from typing import Any

import polars as pl
import pyarrow as pa
import pytest
from polars.testing import assert_frame_equal

import rankframe as rf
from tests.support.calls import ALL, POLICIES, SOME, assert_equal, close, expected, needs_table, spell
from tests.support.diversity import TEXTS, hostile_table, rows_of
from tests.support.each import each
from tests.support.recommenders import ROLES, TEXTS as OF_RECOMMENDERS
from tests.support.tables import BY_CHANCE, FRACTIONAL_LABELS, frame, max_label, random_table

pytestmark = BY_CHANCE

PART = pa.table({"query_id": [1, 1, 2], "doc_id": ["a", "b", "a"], "score": [2.0, 1.0, 1.0], "label": [0, 1, 2]})


def parts(df: pl.DataFrame, n: int = 2) -> list[pa.Table]:
    """The frame in parts of whole queries, chunked as engines send them; the first has small texts, others large ones."""
    split = df.with_columns(part=pl.col("query_id").rank("dense") % n).partition_by("part", include_key=False)
    tables = [part.to_arrow(compat_level=pl.CompatLevel.oldest()) for part in split]
    small = {field.name: pa.string() for field in tables[0].schema if pa.types.is_large_string(field.type)}
    tables[0] = tables[0].cast(pa.schema([(x.name, small.get(x.name, x.type)) for x in tables[0].schema]))
    return [pa.concat_tables([table.slice(0, 3), table.slice(3)]) for table in tables]


def run(kernel: Any, df: pl.DataFrame) -> pl.DataFrame:
    kernel = pickle.loads(pickle.dumps(kernel))
    return pl.concat([pl.DataFrame(kernel(part)) for part in parts(df)])


def test_parts_have_the_values_of_the_oracles_for_every_metric() -> None:
    table = random_table(5, queries=12, labels=FRACTIONAL_LABELS)
    found = run(rf.arrow_kernel(*(spell(*call) for call in ALL), largest_label=max_label(table)), frame(table))
    for name, options in ALL:
        values = dict(found.select("query_id", spell(name, options)).iter_rows())
        assert_equal(values, expected(table, name, options, {}), spell(name, options))


@each("policies", POLICIES, ids=str, sample=9)
def test_parts_have_the_values_of_the_oracles_under_every_policy(policies: dict[str, Any]) -> None:
    table = random_table(7, queries=20)
    calls = [call for call in SOME if not needs_table(*call)][::9]
    found = run(rf.arrow_kernel(*(spell(*call) for call in calls), **policies), frame(table, seed=None))
    for name, options in calls:
        values = dict(found.select("query_id", spell(name, options)).iter_rows())
        assert_equal(values, expected(table, name, options, policies), (spell(name, options), policies))


def test_metrics_of_subtopics_and_texts_are_those_of_the_whole_frame() -> None:
    df = rows_of(hostile_table(3))
    whole = df.rank.on(subtopic="subtopic").evaluate(*TEXTS, "relstring")
    found = run(rf.arrow_kernel(*TEXTS, "relstring", subtopic="subtopic"), df)
    assert_frame_equal(found, whole, check_row_order=False, rel_tol=1e-12, abs_tol=1e-12)
    lists = df.group_by("query_id", "doc_id", "score").agg(pl.col("subtopic").drop_nulls(), pl.col("label").max())
    whole = lists.rank.on(subtopic="subtopic").evaluate(*TEXTS)
    found = run(rf.arrow_kernel(*TEXTS, subtopic="subtopic"), lists)
    assert_frame_equal(found, whole, check_row_order=False, rel_tol=1e-12, abs_tol=1e-12)


OF_COLLECTIONS = ("xinf_ap", "stat_ap", "nqc@5", "wig@5", "sigma_max")


def test_metrics_of_samples_of_judgments_and_of_scores_are_those_of_the_whole_frame() -> None:
    df = frame(random_table(6, queries=12)).with_columns(
        stratum=pl.when(pl.col("label").is_not_null()).then(pl.lit("drawn")), inclusion=0.5
    )
    whole = df.rank.on(stratum="stratum", inclusion="inclusion").evaluate(*OF_COLLECTIONS)
    found = run(rf.arrow_kernel(*OF_COLLECTIONS, stratum="stratum", inclusion="inclusion"), df)
    assert_frame_equal(found, whole, check_row_order=False, rel_tol=1e-12, abs_tol=1e-12)


def test_these_are_all_metrics() -> None:
    named = {spell(*call) for call in ALL} | {*TEXTS, *OF_RECOMMENDERS, *OF_COLLECTIONS, "relstring"}
    assert {call.metric.name for text in named for call in rf.parse(text)} == {*rf.METRICS}


def test_the_kernel_has_the_values_of_metrics_that_read_other_tables() -> None:
    df = frame(random_table(5, queries=12))
    texts = OF_RECOMMENDERS[::4]
    whole = df.rank.on(**ROLES).evaluate(*texts)
    kernel = pickle.loads(pickle.dumps(rf.arrow_kernel(*texts, **ROLES)))
    assert_frame_equal(run(kernel, df), whole, check_row_order=False, rel_tol=1e-12, abs_tol=1e-12)
    reading = (
        "efd",
        "epc",
        "serendipity",
        "exposed_utility",
        "realized_utility",
        "time_biased",
        "u_measure",
        "ift",
        "p_mrr",
    )
    unread = [text for text in texts if not text.startswith(reading)]
    found = run(rf.arrow_kernel(*unread, **ROLES), df.drop("label"))
    assert_frame_equal(found, whole.select("query_id", *unread), check_row_order=False, rel_tol=1e-12, abs_tol=1e-12)


def test_bounds_take_the_labels_that_are_said() -> None:
    df = frame(random_table(2))
    found = run(rf.arrow_kernel("precision@3", "ndcg@3", unjudged="bounds", largest_label=4), df)
    whole = df.rank.on(unjudged="bounds", unjudged_labels=(0, 4)).evaluate("precision@3", "ndcg@3")
    assert_frame_equal(found, whole, check_row_order=False, rel_tol=1e-12, abs_tol=1e-12)


def test_the_schema_is_known_without_running() -> None:
    kernel = rf.arrow_kernel("ndcg@10", "map", pl.len().alias("rows"), relevant=2)
    assert kernel.schema(PART.schema) == kernel(PART).schema == kernel(PART.slice(0, 0)).schema
    assert kernel.schema(PART.schema).types == [pa.int64(), pa.float64(), pa.float64(), pa.uint32()]


@each(
    "ids",
    [
        pa.array(["a", "a", None]),
        pa.array(["a", "a", None], pa.large_string()),
        pa.array([b"a", b"a", None], pa.binary()),
        pa.array([1, 1, None], pa.int8()),
        pa.array([1, 1, 2**63], pa.uint64()),
        pa.array([1, 1, None], pa.decimal128(9, 2)),
        pa.array([True, True, None]),
        pa.array([dt.date(2020, 1, 1)] * 2 + [None]),
        pa.array([dt.datetime(2020, 1, 1)] * 2 + [None], pa.timestamp("us", "Europe/Berlin")),
        pa.array([dt.datetime(2020, 1, 1)] * 2 + [None], pa.timestamp("ms")),
    ],
    ids=lambda ids: str(ids.type),
)
def test_query_ids_keep_their_type_and_null_is_a_query(ids: pa.Array) -> None:
    table = PART.set_column(0, "query_id", ids)
    found = rf.arrow_kernel("rr")(table)
    assert found.schema.field("query_id").type == ids.type
    assert found["query_id"].to_pylist() == [ids[0].as_py(), ids[2].as_py()]
    assert found["rr"].to_pylist() == [0.5, 1.0]


def test_dictionaries_come_out_as_their_texts() -> None:
    table = PART.set_column(0, "query_id", pa.array(["x", "x", "y"]).dictionary_encode())
    table = table.set_column(1, "doc_id", pa.array(["b", "a", "a"]).dictionary_encode())
    found = rf.arrow_kernel("rr")(table)
    assert found.schema == rf.arrow_kernel("rr").schema(table.schema)
    assert found.schema.field("query_id").type == pa.string()
    assert found["rr"].to_pylist() == [0.5, 1.0]


def test_decimal_scores_rank_by_their_exact_value() -> None:
    scores = pa.array(["0.10000000000000000001", "0.10000000000000000002", "1"]).cast(pa.decimal128(30, 20))
    assert rf.arrow_kernel("rr")(PART.set_column(2, "score", scores))["rr"].to_pylist() == [1.0, 1.0]


def test_columns_that_no_metric_reads_may_be_of_any_kind() -> None:
    table = PART.append_column("other", pa.array([[("k", 1)]] * 3, pa.map_(pa.string(), pa.int64())))
    assert rf.arrow_kernel("rr")(table).num_rows == 2
    assert rf.arrow_kernel("rr").schema(table.schema).names == ["query_id", "rr"]


def test_a_metric_of_ones_own_goes_with_the_kernel() -> None:
    @rf.metric()
    def first_label(r: rf.Ranking) -> pl.Expr:
        return r.total(pl.when(r.rank == 1).then(r.label))

    try:
        kernels = rf.arrow_kernel("first_label"), rf.arrow_kernel(first_label)
    finally:
        rf.unregister(first_label)
    for kernel in kernels:  # which needs no name any more
        assert kernel(PART)["first_label"].to_pylist() == [0.0, 2.0]


def test_the_largest_label_of_a_part_is_not_taken_for_that_of_the_table() -> None:
    for kernel in (rf.arrow_kernel("map", "err"), rf.arrow_kernel("sdcg@3"), rf.arrow_kernel("map", unjudged="bounds")):
        with pytest.raises(rf.InvalidOption, match="largest label of the whole table, of which this is a part"):
            kernel(PART)
        with pytest.raises(rf.InvalidOption, match="pass it, as in arrow_kernel"):
            kernel.schema(PART.schema)
    said = rf.arrow_kernel("err", largest_label=4)(PART)["err"].to_pylist()  # (2^1 - 1) / 2^4 / 2, (2^2 - 1) / 2^4
    assert said == [1 / 32, 3 / 16]
    assert rf.arrow_kernel("err(max_label=4)")(PART)["err(max_label=4)"].to_pylist() == said
    assert rf.arrow_kernel("err(max_label=query)")(PART).num_rows == 2


@each("top", [-1, float("nan"), float("inf"), "4", True])
def test_a_largest_label_is_a_number_from_0_on(top: Any) -> None:
    with pytest.raises(rf.InvalidOption, match="write a finite number from 0 on or None"):
        rf.arrow_kernel("err", largest_label=top)


def test_mistakes_are_told_before_any_part_is_there() -> None:
    with pytest.raises(rf.UnknownMetric, match="Did you mean 'ndcg'"):
        rf.arrow_kernel("ndgc")
    with pytest.raises(rf.InvalidOption, match="name at least one"):
        rf.arrow_kernel()
    with pytest.raises(rf.InvalidOption, match="ties='doc'"):
        rf.arrow_kernel("ndcg", ties="doc")
    with pytest.raises(
        rf.MissingColumn, match=r"the table has qid, doc_id, score, label\. Say df\.rank\.on\(query='qid'\)"
    ):
        rf.arrow_kernel("ndcg").schema(PART.rename_columns(["qid", "doc_id", "score", "label"]).schema)
    with pytest.raises(rf.InvalidData, match="holds String, not numbers"):
        rf.arrow_kernel("ndcg").schema(PART.set_column(2, "score", pa.array(["1"] * 3)).schema)
    with pytest.raises(rf.InvalidData, match="2 columns are named 'score'"):
        rf.arrow_kernel("ndcg").schema(PART.append_column("score", PART["score"]).schema)


def test_what_is_wrong_with_the_rows_is_told_as_ever() -> None:
    with pytest.raises(rf.InvalidData, match="holds NaN"):
        rf.arrow_kernel("map")(PART.set_column(2, "score", pa.array([1.0, float("nan"), 1.0])))
    with pytest.raises(rf.InvalidData, match="the same 'doc_id' twice"):
        rf.arrow_kernel("map")(pa.concat_tables([PART, PART]))


def test_any_table_with_the_pycapsule_interface_can_be_ranked() -> None:
    for table in (PART, PART.to_reader(), PART.to_batches()[0]):
        found = rf.rank(table).evaluate("rr", "hits")
        assert isinstance(found, pl.DataFrame)
        assert found.rows() == [(1, 0.5, 1.0), (2, 1.0, 1.0)]


@each("other", [pl.Series([1]), pa.chunked_array([[1]]), [1]], ids=lambda x: type(x).__name__)
def test_a_single_column_is_no_frame(other: Any) -> None:
    with pytest.raises(rf.InvalidData, match=f"{type(other).__name__} is no frame;"):
        rf.rank(other)


def test_whatever_speaks_arrow_is_a_part() -> None:
    kernel = rf.arrow_kernel("rr")
    expected = kernel(PART).to_pylist()
    assert [row["rr"] for row in expected] == [0.5, 1.0]
    frame = pl.DataFrame(PART)
    for given in (frame, PART.to_pandas(), PART.to_reader(), PART.to_batches()[0], Speaker(frame)):
        found = kernel(given)
        assert isinstance(found, pa.Table)
        assert found.to_pylist() == expected


class Speaker:
    """What has nothing but the PyCapsule interface."""

    def __init__(self, frame: pl.DataFrame) -> None:
        self.frame = frame

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self.frame.to_arrow().__arrow_c_stream__(requested_schema)


@each("other", [None, [1], {"a": [1]}, pl.Series([1]), pa.chunked_array([[1]])], ids=str)
def test_what_is_no_arrow_table_is_refused(other: Any) -> None:
    kernel = rf.arrow_kernel("rr")
    with pytest.raises(rf.InvalidData, match=f"{type(other).__name__} is no Arrow table; give a pyarrow.Table"):
        kernel(other)
    with pytest.raises(rf.InvalidData, match="LazyFrame is no Arrow table; collect it"):
        kernel(pl.LazyFrame())


def test_an_unknown_option_is_answered_by_the_signature_with_that_of_on() -> None:
    import rankframe.spark

    spark: Any = rankframe.spark
    for caller, option, begins in (
        (rf.arrow_kernel, "foo", "arrow_kernel(*, largest_label=None, fusion=None, runs=None, run=None, query=None, "),
        (spark.evaluate, "foo", "evaluate(*, qrels=None, "),
        (spark.with_metrics, "qrels", "with_metrics(*, buckets="),
        (spark.summarize, "k", "summarize(*, "),
    ):
        table = () if caller is rf.arrow_kernel else (None,)
        with pytest.raises(rf.InvalidOption) as caught:
            caller(*table, "map", **{option: 1})
        says = f"{caller.__name__}: got an unexpected keyword argument {option!r}; its signature is {begins}"
        assert str(caught.value).startswith(says)
        assert str(caught.value).endswith(")")
        with pytest.raises(rf.InvalidOption, match=r"has no option 'tise'\. Did you mean 'ties'\?$"):
            caller(*table, "map", tise="order")
    with pytest.raises(rf.InvalidOption, match=r"^evaluate has no option 'bucket'\. Did you mean 'buckets'\?$"):
        spark.evaluate(None, "map", bucket=1)


def test_expressions_may_mean_any_column() -> None:
    import polars.selectors as cs

    table = PART.append_column("price", pa.array([1.0, 2.0, 4.0]))
    kernel = rf.arrow_kernel("rr", (cs.starts_with("pri")).sum())
    assert kernel(table).to_pylist() == [
        {"query_id": 1, "rr": 0.5, "price": 3.0},
        {"query_id": 2, "rr": 1.0, "price": 4.0},
    ]
    weighed = rf.arrow_kernel("rr", pl.col("price").max().alias("most"))
    assert weighed(table)["most"].to_pylist() == [2.0, 4.0]
    assert weighed.needed(["query_id", "z", "price"]) == ["query_id", "price"]
    assert close(weighed(table)["rr"][0].as_py(), 0.5)


TWO_RUNS = pl.DataFrame(
    {
        "query_id": [1, 1, 1],
        "doc_id": [7, 8, 9],
        "bm25": [9.0, 7.0, None],
        "dense": [None, 0.8, 0.6],
        "label": pl.Series([1, 0, 2], dtype=pl.Int8),
    }
)
ONE_BELOW_THE_OTHER = TWO_RUNS.unpivot(
    ["bm25", "dense"], index=["query_id", "doc_id", "label"], variable_name="system", value_name="score"
)


def test_a_kernel_fuses_runs_and_keeps_the_types_of_ids_and_labels() -> None:
    kernel = pickle.loads(pickle.dumps(rf.arrow_kernel(fusion="rrf(k=0)", runs=["bm25", "dense"])))
    table = TWO_RUNS.to_arrow()
    found = kernel(table)
    assert found.to_pydict() == {"query_id": [1] * 3, "doc_id": [7, 8, 9], "score": [1.0, 1.5, 0.5], "label": [1, 0, 2]}
    assert found.schema == kernel.schema(table.schema)
    assert found.schema.field("label").type == pa.int8()


def test_metrics_of_a_kernel_with_a_fusion_are_those_of_the_fused_run() -> None:
    kernel = rf.arrow_kernel("rr", fusion="rrf(k=0)", runs=["bm25", "dense"])
    # 8 stands first and is not relevant, 7 second
    assert kernel(TWO_RUNS.to_arrow()).to_pydict() == {"query_id": [1], "rr": [0.5]}
    assert kernel.schema(TWO_RUNS.to_arrow().schema).names == ["query_id", "rr"]


def test_a_kernel_counts_runs_of_the_whole_table_that_a_part_lacks() -> None:
    runs = ["bm25", "dense", "other"]
    kernel = rf.arrow_kernel(fusion="borda(weights=[0.7,0.3,1])", run="system", runs=runs)
    # of three candidates, bm25 gives 3 2 1, dense 1 3 2, and the run that lists none (3 + 1) / 2 to each
    found = kernel(ONE_BELOW_THE_OTHER.to_arrow()).to_pydict()
    assert found["score"] == pytest.approx([0.7 * 3 + 0.3 + 2, 0.7 * 2 + 0.3 * 3 + 2, 0.7 + 0.3 * 2 + 2], abs=1e-12)


def test_a_kernel_refuses_a_run_that_is_not_named() -> None:
    kernel = rf.arrow_kernel(fusion="rrf", run="system", runs=["bm25"])
    with pytest.raises(
        rf.InvalidData, match=r"run 'dense' of column 'system' is none of runs=\['bm25'\]; name it there"
    ):
        kernel(ONE_BELOW_THE_OTHER.to_arrow())


@each(
    ("metrics", "options", "said"),
    [
        ((), {"fusion": "rrf"}, "a fusion needs the runs of the whole table"),
        ((), {"fusion": "rrf", "run": "system"}, "a fusion needs the runs of the whole table"),
        (("rr",), {"runs": ["bm25"]}, r"say which, as in arrow_kernel\(fusion='rrf'\)"),
        (("rr",), {"run": "system"}, r"say which, as in arrow_kernel\(fusion='rrf'\)"),
        ((), {"fusion": "rff", "runs": ["bm25"]}, "unknown fusion method 'rff'"),
    ],
)
def test_a_kernel_refuses_a_fusion_or_runs_that_lack_the_other_before_it_runs(
    metrics: tuple[str, ...], options: dict[str, Any], said: str
) -> None:
    with pytest.raises(rf.InvalidOption, match=said):
        rf.arrow_kernel(*metrics, **options)
