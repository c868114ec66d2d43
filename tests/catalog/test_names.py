"""A name means one metric, in upper and lower case; one that tools have for several is refused."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import polars as pl
import pytest
from sklearn.metrics import average_precision_score, dcg_score, ndcg_score, roc_auc_score

import rankframe as rf
from rankframe._catalog.call import Call
from rankframe._catalog.fusions import fusion_of
from rankframe._catalog.names import UNCLEAR
from rankframe._catalog.registry import Metric
from rankframe._table.conventions import CONVENTIONS
from rankframe._table.trec_eval import MEASURES, OF_THE_RUN, SETS
from tests.support.each import each


def meanings() -> Iterator[tuple[str, tuple[str, str]]]:
    """Every name, alias and spelling in lower case, with the metric and the options that it means."""
    for entry in (*rf.METRICS.values(), *rf.AGREEMENTS.values()):
        for name in (entry.name, *entry.aliases):
            yield name.lower(), (entry.name, "")
        for name, options in entry.spellings.items():
            yield name.lower(), (entry.name, str(dict(options)))


def test_no_two_metrics_have_names_that_are_equal_but_for_case() -> None:
    meant: dict[str, set[tuple[str, str]]] = {}
    for name, meaning in meanings():
        meant.setdefault(name, set()).add(meaning)
    assert {name: found for name, found in meant.items() if len(found) > 1} == {}


def test_a_name_of_several_meanings_is_the_name_of_no_metric() -> None:
    assert UNCLEAR.keys().isdisjoint(name for name, _ in meanings())
    assert all(not metric or metric in rf.METRICS for meant in UNCLEAR.values() for metric in meant.values())


@each("text", ["accuracy", "Accuracy", "ACCURACY", "accuracy@10", "Accuracy(k=3)", "accuracy_10", "accuracy_at_k"])
def test_a_name_of_two_metrics_is_refused_and_both_are_named(text: str) -> None:
    with pytest.raises(
        rf.UnknownMetric, match=r"hit_rate in sentence-transformers and pairwise_accuracy in ir_measures$"
    ):
        rf.parse(text)


@each("at", ["@5", "_5", "(k=5)", "(divisor=k)@5"])
def test_a_spelling_that_another_tool_has_for_another_metric_is_refused_as_it_is_written_there(at: str) -> None:
    with pytest.raises(rf.UnknownMetric, match=r"'Novelty' is novelty in Evidently and unseen in RePlay$"):
        rf.parse(f"Novelty{at}")
    assert rf.parse(f"novelty{at}")[0].metric.name == rf.parse(f"NOVELTY{at}")[0].metric.name == "novelty"


def test_the_gain_of_a_session_is_not_taken_for_that_of_one_ranking() -> None:
    with pytest.raises(rf.UnknownMetric, match=r"which is no metric here, in TREC's session tracks$"):
        rf.parse("sDCG@10")
    assert [call.text for text in ("sdcg@10", "SDCG@10") for call in rf.parse(text)] == ["sdcg@10"] * 2


@each(("name", "near"), [("GAUC", "auc"), ("context_recall", "recall"), ("top_k_accuracy", "hit_rate")])
def test_a_name_whose_number_is_another_one_is_refused_and_the_nearest_metric_is_named(name: str, near: str) -> None:
    for text in (name, f"{name}@3"):
        with pytest.raises(rf.UnknownMetric, match=f"; '{name}' is {near} in "):
            rf.parse(text)


SCORES, LABELS = [0.9, 0.1, 0.5, 0.7, 0.3], [1, 2, 0, 0, 1]


@each(
    ("name", "theirs"),
    [
        ("ndcg_score", ndcg_score([LABELS], [SCORES])),
        ("ndcg_score@3", ndcg_score([LABELS], [SCORES], k=3)),
        ("dcg_score@2", dcg_score([LABELS], [SCORES], k=2)),
        ("average_precision_score", average_precision_score([x > 0 for x in LABELS], SCORES)),
        ("roc_auc_score", roc_auc_score([x > 0 for x in LABELS], SCORES)),
        ("context_precision", (1 + 2 / 4 + 3 / 5) / 3),  # Ragas' formula, by hand: hits at the ranks 1, 4 and 5
    ],
)
def test_the_name_of_a_function_of_another_tool_gives_the_number_of_that_tool(name: str, theirs: float) -> None:
    df = pl.DataFrame({"query_id": [1] * 5, "doc_id": [*"abcde"], "score": SCORES, "label": LABELS})
    assert df.rank.evaluate(name).to_series(1).item() == pytest.approx(theirs, abs=1e-12)


def test_the_precision_of_a_context_divides_by_the_relevant_documents_that_it_holds() -> None:
    df = pl.DataFrame({"query_id": [1] * 3, "doc_id": [*"abc"], "score": [3, 2, None], "label": [0, 1, 1]})
    assert df.rank.evaluate("context_precision").to_series(1).item() == 0.5  # 1/2 over one found, not over two


@each(
    ("tool", "name"),
    [
        ("ragas", "context_precision"),
        ("torchmetrics", "retrieval_average_precision"),
        ("torchmetrics", "retrieval_reciprocal_rank"),
        ("torchmetrics", "retrieval_normalized_dcg"),
        ("torchmetrics", "retrieval_precision"),
        ("torchmetrics", "retrieval_recall"),
        ("torchmetrics", "retrieval_hit_rate"),
        ("torchmetrics", "retrieval_r_precision"),
        ("torchmetrics", "retrieval_fall_out"),
        ("torchmetrics", "retrieval_auroc"),
    ],
)
def test_the_name_of_a_tool_implies_the_options_of_its_convention(tool: str, name: str) -> None:
    (call,) = rf.parse(name)
    settings = CONVENTIONS[tool].metrics[call.metric.name]
    assert call.arguments == {option: x for option, x in settings.items() if option in call.metric.parameters}


@each("name", ["Accuracy", "accuracy", "Novelty", "NDCG", "ndcg", "Mrr", "NDCG_Burges", "relative_p"])
def test_a_metric_of_ones_own_takes_no_name_that_is_taken_but_for_case(name: str) -> None:
    def mine(r: rf.Ranking, k: int | None = None) -> pl.Expr:
        return r.total(r.relevant, k)

    for how in ({"text": name}, {"spellings": {name: {"k": 3}}}):
        with pytest.raises(rf.InvalidOption, match="choose"):
            rf.metric(**how)(mine)  # type: ignore[arg-type]
    with pytest.raises(rf.InvalidOption, match="choose"):
        rf.metric(name)(mine)
    assert "mine" not in rf.METRICS


def test_a_metric_of_ones_own_means_one_thing_by_each_name() -> None:
    def mine(r: rf.Ranking, k: int | None = None) -> pl.Expr:
        return r.total(r.relevant, k)

    with pytest.raises(rf.InvalidOption, match="names 'mine' twice, with other options"):
        rf.metric(spellings={"Mine": {"k": 3}})(mine)
    rf.metric("MINE")(mine)  # which says the same twice
    assert rf.parse("Mine@3")[0].text == "mine@3"
    rf.unregister(mine)


@each("name", [name for name in MEASURES if name not in OF_THE_RUN])
def test_every_measure_of_trec_eval_is_read_as_its_metric(name: str) -> None:
    assert {call.metric.name for call in rf.parse(name)} == {MEASURES[name].metric}


@each("name", SETS)
def test_a_name_of_many_measures_is_the_name_of_no_metric(name: str) -> None:
    with pytest.raises(rf.UnknownMetric, match=f"unknown metric '{name}'"):
        rf.parse(name)


@each(
    ("text", "meant"),
    [("hr@10", "hit_rate@10"), ("HR@10", "hit_rate@10"), ("hitrate@5", "hit_rate@5"), ("hit_ratio@5", "hit_rate@5")],
)
def test_recommenders_names_of_the_hit_rate_are_read(text: str, meant: str) -> None:
    assert [call.text for call in rf.parse(text)] == [meant]


@each(
    ("text", "hint"),
    [
        ("ndcg10", "'ndcg'"),
        ("ndcg_at_10", "'ndcg'"),
        ("precision_at_k", "'precision'"),
        ("mrr10", "'rr'"),
        ("ndgc10", "'ndcg'"),
        ("hit@3", "'hits' or 'hit_rate'"),
    ],
)
def test_an_unknown_name_is_answered_by_the_nearest_ones_without_its_cutoff(text: str, hint: str) -> None:
    with pytest.raises(rf.UnknownMetric) as caught:
        rf.parse(text)
    assert str(caught.value).endswith(f"Did you mean {hint}?")


@each("name", rf.CATALOG_METRICS)
def test_a_metric_of_the_whole_table_among_metrics_is_answered_by_the_verb_that_takes_it(name: str) -> None:
    with pytest.raises(rf.UnknownMetric) as caught:
        rf.parse(f"{name}@10")
    assert str(caught.value) == f"unknown metric '{name}' in '{name}@10'. Did you mean '{name}' (of catalog)?"


def test_one_list_of_names_answers_texts_methods_functions_plots_and_keys() -> None:
    df = pl.DataFrame({"query_id": [1], "doc_id": ["a"], "score": [1.0]})
    for ask, hint in {
        "df.rank.items.catalog('novelty', items=4)": "'novelty' (of evaluate)",
        "df.rank.rsp": "'rsp' (of catalog)",
        "df.rank.kendalltau": "'kendall_tau' (of agreement)",
        "df.rank.average_precision_scor": "'map'",
        "df.rank.overlp": "'fusion.overlap'",
        "df.rank.fusion.overlp": "'overlap'",
        "df.rank.items.catalg": "'catalog'",
        "df.rank.distribution": "'plot.distribution'",
        "df.rank.plot.distributon": "'distribution'",
        "rf.evaluate": "'df.rank.evaluate'",
        "rf.read_run_": "'read_run'",
        "rf.METRICS['herfindal']": "'hhi' (of catalog)",
        "df.rank.fuse('ndcg', runs=['score', 'label'])": "'ndcg' (of evaluate)",
        "df.rank.fuse('compare', runs=['score', 'label'])": "'compare' (of .rank)",
        "df.rank.evaluate('fuse')": "'fuse' (of .rank)",
        "df.rank.evaluate('sumarize')": "'summarize' (of .rank)",
        "df.rank.evaluate('mean')": "'mean' (of .rank)",  # the verb, not Anserini's method of fusion
        "df.rank.evaluate('rrf')": "'rrf' (of fuse)",
        "df.rank.comb_sum": "'comb_sum' (of fuse)",
        "rf.bordafuse": "'borda' (of fuse)",
        "rf.expr.compare": "'compare' (of .rank)",
    }.items():
        with pytest.raises((AttributeError, KeyError, rf.RankframeError)) as caught:
            eval(ask, {"df": df, "rf": rf})
        assert f". Did you mean {hint}" in str(caught.value), ask


@each(
    ("text", "among", "meant"),
    [
        ("kendal", rf.AGREEMENTS, "kendall_tau"),
        ("spearmnr", rf.AGREEMENTS, "spearman"),
        ("normalised_dgc", rf.METRICS, "ndcg"),
        ("recip_rnk", rf.METRICS, "rr"),
        ("recip_rnk_10", rf.METRICS, "rr"),
        ("herfindal", rf.CATALOG_METRICS, "hhi"),
        ("reciprocal_rank_fuson", rf.FUSIONS, "rrf"),
        ("avergae_precision", rf.METRICS, "map"),
    ],
)
def test_a_misspelt_alias_is_answered_by_the_metrics_main_name_first(
    text: str, among: Mapping[str, Metric], meant: str
) -> None:
    with pytest.raises(rf.RankframeError, match=rf"\. Did you mean '{meant}'"):
        fusion_of(text) if among is rf.FUSIONS else rf.parse(text, among)


@each(
    ("call", "code"),
    [
        (rf.parse("nDCG(dcg='exp-log2')@10")[0], "rf.parse('ndcg(gain=exponential)@10')[0]"),
        (rf.parse("tau", rf.AGREEMENTS)[0], "rf.parse('kendall_tau', rf.AGREEMENTS)[0]"),
        (rf.parse("coverage@5", rf.CATALOG_METRICS)[0], "rf.parse('coverage@5', rf.CATALOG_METRICS)[0]"),
        (fusion_of("wsum(weights=[0.7,0.3])"), "rf.parse('wsum(weights=[0.7,0.3])', rf.FUSIONS)[0]"),
    ],
)
def test_a_calls_repr_is_the_code_that_gives_it(call: Call, code: str) -> None:
    assert repr(call) == code
    assert eval(code) == call
    assert not hasattr(call, "_repr_html_")  # so that a notebook shows the repr


@each("name", ["METRICS", "AGREEMENTS", "CATALOG_METRICS", "FUSIONS", "TRAINED_FUSIONS"])
def test_a_metrics_repr_is_the_code_that_gives_it(name: str) -> None:
    for entry in getattr(rf, name).values():
        assert repr(entry) == f"rf.{name}[{entry.name!r}]"
        assert eval(repr(entry)) is entry


def test_the_repr_of_a_metric_that_no_list_has_is_its_name() -> None:
    @rf.metric
    def gone(r: rf.Ranking) -> pl.Expr:
        return r.hits

    (call,) = rf.parse("gone")
    rf.unregister("gone")
    assert (repr(call), repr(call.metric)) == ("Call('gone')", "Metric('gone')")


def test_a_word_that_shares_three_of_five_letters_with_a_name_gets_no_proposal() -> None:
    with pytest.raises(
        rf.UnknownMetric, match=r"unknown metric 'nope'\. Known names: precision, "
    ):  # popreo has p, o and e
        rf.parse("nope")
    with pytest.raises(rf.InvalidOption, match=r"'trec_eval'\.$"):  # worst has three letters of first
        pl.DataFrame({"query_id": [1]}).rank.on(ties="first")
