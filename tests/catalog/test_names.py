"""A name means one metric, in upper and lower case; one that tools have for several is refused."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

import polars as pl
import pytest

import rankframe as rf
from rankframe._catalog.ambiguous_names import UNCLEAR, WITHOUT_CUTOFF
from rankframe._catalog.call import Call
from rankframe._catalog.fusions import fusion_of
from rankframe._catalog.registry import Metric
from rankframe._table.trec_eval import MEASURES, OF_THE_RUN, SETS


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


@pytest.mark.parametrize("text", ["accuracy", "Accuracy", "ACCURACY", "accuracy@10", "Accuracy(k=3)", "accuracy_10"])
def test_a_name_of_two_metrics_is_refused_and_both_are_named(text: str) -> None:
    with pytest.raises(
        rf.UnknownMetric, match=r"hit_rate in sentence-transformers .* pairwise_accuracy in ir_measures"
    ):
        rf.parse(text)


@pytest.mark.parametrize("text", ["arp", "ARP", "arp@10", "arp_10", "arp(k=10)"])
def test_arp_is_refused_and_the_metrics_that_tools_call_so_are_named_as_they_are_written(text: str) -> None:
    with pytest.raises(rf.UnknownMetric, match="in TF-Ranking and mean_popularity in RecTools and RecBole") as caught:
        rf.parse(text)
    named = str(caught.value).rpartition("; write ")[2].replace("'", "").split(" or ")
    at = "@10" if "10" in text else ""
    assert [call.text for x in named for call in rf.parse(x)] == ["average_relevance_position", f"mean_popularity{at}"]


@pytest.mark.parametrize("at", ["@5", "_5", "(k=5)", "(divisor=k)@5"])
def test_a_spelling_that_another_tool_has_for_another_metric_is_refused_as_it_is_written_there(at: str) -> None:
    with pytest.raises(
        rf.UnknownMetric, match="'Novelty' is novelty in Evidently and unseen in RePlay; write"
    ) as caught:
        rf.parse(f"Novelty{at}")
    named = str(caught.value).rpartition("; write ")[2].replace("'", "").split(" or ")
    assert [call.metric.name for x in named for call in rf.parse(x)] == ["novelty", "unseen"]
    assert [call.text for x in named for call in rf.parse(x)] == [text.replace("(k=5)", "@5") for text in named]
    assert rf.parse(f"novelty{at}")[0].metric.name == rf.parse(f"NOVELTY{at}")[0].metric.name == "novelty"


def test_the_gain_of_a_session_is_not_taken_for_that_of_one_ranking() -> None:
    with pytest.raises(rf.UnknownMetric, match=r"which is no metric here, in TREC's session tracks; write 'sdcg@10'$"):
        rf.parse("sDCG@10")
    assert [call.text for text in ("sdcg@10", "SDCG@10") for call in rf.parse(text)] == ["sdcg@10"] * 2


def test_a_name_of_several_meanings_says_which_of_its_metrics_take_no_cutoff() -> None:
    meant = {metric for of_tools in UNCLEAR.values() for metric in of_tools.values() if metric}
    assert {metric for metric in meant if "k" not in rf.METRICS[metric].parameters} == WITHOUT_CUTOFF


@pytest.mark.parametrize(
    "name", ["Accuracy", "accuracy", "Novelty", "NDCG", "ndcg", "Mrr", "NDCG_Burges", "relative_p"]
)
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


@pytest.mark.parametrize("name", [name for name in MEASURES if name not in OF_THE_RUN])
def test_every_measure_of_trec_eval_is_read_as_its_metric(name: str) -> None:
    assert {call.metric.name for call in rf.parse(name)} == {MEASURES[name].metric}


@pytest.mark.parametrize("name", SETS)
def test_a_name_of_many_measures_is_refused_with_the_command_that_takes_it(name: str) -> None:
    with pytest.raises(rf.UnknownMetric, match=f"rankframe trec_eval -m {name}"):
        rf.parse(name)


@pytest.mark.parametrize(
    ("text", "meant"),
    [("hr@10", "hit_rate@10"), ("HR@10", "hit_rate@10"), ("hitrate@5", "hit_rate@5"), ("hit_ratio@5", "hit_rate@5")],
)
def test_recommenders_names_of_the_hit_rate_are_read(text: str, meant: str) -> None:
    assert [call.text for call in rf.parse(text)] == [meant]


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("ndcg10", "'ndcg@10'"),
        ("ndcg_at_10", "'ndcg@10'"),
        ("mrr10", "'mrr@10'"),
        ("ndgc10", "'ndcg@10'"),
        ("bpref5", "'bpref'"),
    ],
)
def test_a_name_with_its_cutoff_in_it_is_answered_by_the_text_that_is_meant(text: str, hint: str) -> None:
    with pytest.raises(rf.UnknownMetric) as caught:
        rf.parse(text)
    assert str(caught.value).endswith(f"Did you mean {hint}?")


@pytest.mark.parametrize(
    "name", ["coverage", "item_coverage", "Catalog-Coverage", "personalization", "gini", "item_entropy"]
)
def test_a_metric_of_all_queries_at_once_gets_no_hint_at_another(name: str) -> None:
    with pytest.raises(rf.UnknownMetric, match="is no metric here") as caught:
        rf.parse(name)
    assert "Did you mean" not in str(caught.value)


@pytest.mark.parametrize(
    "text",
    [name for name in rf.CATALOG_METRICS if name not in {"bias_disparity"}] + ["PopRSP@10", "bias_disparity(group=x)"],
)
def test_a_metric_of_the_whole_table_among_metrics_is_answered_by_catalog(text: str) -> None:
    with pytest.raises(rf.UnknownMetric, match=r"df\.rank\.items\.catalog\(") as caught:
        rf.parse(text)
    assert "Did you mean" not in str(caught.value)


@pytest.mark.parametrize("text", ["category_entropy@10", "ndcg", "novelty"])
def test_a_metric_of_one_ranking_among_those_of_a_catalog_is_answered_by_evaluate(text: str) -> None:
    df = pl.DataFrame({"query_id": [1], "doc_id": ["a"], "score": [1.0]})
    with pytest.raises(rf.UnknownMetric, match=re.escape(f"; write df.rank.evaluate({text!r})")):
        df.rank.items.catalog(text, items=4)


def test_a_metric_of_the_whole_table_as_a_method_is_answered_by_catalog() -> None:
    df = pl.DataFrame({"query_id": [1], "doc_id": ["a"], "score": [1.0]})
    with pytest.raises(
        AttributeError,
        match=r"rsp is a metric of the whole table; write df\.rank\.items\.catalog\('rsp', items=catalog\)",
    ):
        _ = df.rank.rsp


@pytest.mark.parametrize(
    ("text", "among", "meant"),
    [
        ("kendal", rf.AGREEMENTS, "kendall_tau"),
        ("spearmnr", rf.AGREEMENTS, "spearman"),
        ("normalised_dgc", rf.METRICS, "ndcg"),
        ("recip_rnk", rf.METRICS, "rr"),
        ("recip_rnk_10", rf.METRICS, "rr@10"),
        ("herfindal", rf.CATALOG_METRICS, "hhi"),
        ("reciprocal_rank_fuson", rf.FUSIONS, "rrf"),
        ("avergae_precision", rf.METRICS, "average_precision"),
    ],
)
def test_a_misspelt_alias_is_answered_by_the_metrics_main_name(
    text: str, among: Mapping[str, Metric], meant: str
) -> None:
    with pytest.raises(rf.RankframeError) as caught:
        fusion_of(text) if among is rf.FUSIONS else rf.parse(text, among)
    assert str(caught.value).endswith(f"Did you mean {meant!r}?")


@pytest.mark.parametrize(
    ("text", "among", "said"),
    [
        (
            "kendal",
            rf.METRICS,
            "kendall_tau compares two columns of scores; write df.rank.agreement('other_score', 'kendall_tau')",
        ),
        (
            "herfindal@5",
            rf.METRICS,
            "hhi is a metric of the whole table; write df.rank.items.catalog('hhi@5', items=catalog)",
        ),
        ("ndgc@10", rf.AGREEMENTS, "ndcg is a metric of one ranking; write df.rank.evaluate('ndcg@10')"),
    ],
)
def test_a_misspelt_metric_of_another_method_is_answered_by_that_method(
    text: str, among: Mapping[str, Metric], said: str
) -> None:
    with pytest.raises(rf.UnknownMetric, match=rf"unknown metric '\w+'.*\. {re.escape(said)}$"):
        rf.parse(text, among)


@pytest.mark.parametrize(
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


@pytest.mark.parametrize("name", ["METRICS", "AGREEMENTS", "CATALOG_METRICS", "FUSIONS", "TRAINED_FUSIONS"])
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


@pytest.mark.parametrize(
    ("topic", "name", "meant"),
    [
        ("fusion", "overlp", "overlap"),
        ("items", "catalg", "catalog"),
        ("plot", "catalg", "catalog"),
        ("", "agrement", "agreement"),
    ],
)
def test_a_misspelt_verb_is_answered_by_the_verb(topic: str, name: str, meant: str) -> None:
    df = pl.DataFrame({"query_id": [1], "doc_id": ["a"], "score": [1.0]})
    with pytest.raises(AttributeError, match=rf"\. Did you mean '{meant}'\?$"):
        getattr(getattr(df.rank, topic) if topic else df.rank, name)


def test_a_word_that_shares_three_of_five_letters_with_a_name_gets_no_proposal() -> None:
    with pytest.raises(
        rf.UnknownMetric, match=r"unknown metric 'nope'\. Known metrics: ndcg, "
    ):  # popreo has p, o and e
        rf.parse("nope")
    with pytest.raises(rf.InvalidOption, match=r"'trec_eval'\.$"):  # worst has three letters of first
        pl.DataFrame({"query_id": [1]}).rank.on(ties="first")


@pytest.mark.parametrize("text", ["diversity", "Diversity@10"])
def test_diversity_is_refused_and_the_metrics_that_tools_call_so_are_named(text: str) -> None:
    at = "@10" if "@" in text else ""
    with pytest.raises(rf.UnknownMetric, match=f"write 'ild{at}' or 'category_diversity{at}' or 'alpha_ndcg{at}'$"):
        rf.parse(text)
