"""A name means one metric, in upper and lower case; one that tools have for several is refused."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

import polars as pl
import pytest
from sklearn.metrics import average_precision_score, dcg_score, ndcg_score, roc_auc_score

import rankframe as rf
from rankframe._catalog.call import Call
from rankframe._catalog.fusions import fusion_of
from rankframe._catalog.names import IN_TOOLS, ROWS, UNCLEAR
from rankframe._catalog.registry import Metric
from rankframe._table.conventions import CONVENTIONS
from rankframe._table.trec_eval import MEASURES, OF_PREFERENCES, OF_THE_RUN
from tests.support.each import each


def meanings() -> Iterator[tuple[str, tuple[str, str]]]:
    """Every name, alias and spelling in lower case, with the metric and the options that it means."""
    for entry in (*rf.METRICS.values(), *rf.AGREEMENTS.values()):
        for name in (entry.name, *entry.aliases):
            yield name.lower(), (entry.name, "")
        for name, options in entry.spellings.items():
            yield name.lower(), (entry.name, str(dict(options)))


OF_LABELS_OR_ANOTHER_RANKING = {
    "jaccard": "jaccard_index",
    "ndpm": "ndpm",
    "normalized_distance_based_performance_measure": "ndpm",
}
"""Names that papers give to one formula, here a metric of a ranking and its labels, and a measure of two rankings."""


def test_no_two_metrics_have_names_that_are_equal_but_for_case() -> None:
    meant: dict[str, set[tuple[str, str]]] = {}
    for name, meaning in meanings():
        if OF_LABELS_OR_ANOTHER_RANKING.get(name) != meaning[0]:
            meant.setdefault(name, set()).add(meaning)
    assert {name: found for name, found in meant.items() if len(found) > 1} == {}


@each("name", OF_LABELS_OR_ANOTHER_RANKING)
def test_a_measure_of_two_rankings_is_a_metric_of_labels_if_the_labels_are_the_other_ranking(name: str) -> None:
    df = pl.DataFrame({"query_id": 1, "doc_id": list("abcd"), "score": [4, 3, 2, 1], "label": [1, 0, 1, 0]})
    df = df.with_columns(known=pl.col("label").replace(0, None) if name == "jaccard" else "label")  # a list of a and c
    text = f"{name}@2" if name == "jaccard" else name
    by_labels, by_ranking = df.rank.evaluate(text), df.rank.on(score="known").agreement("score", text)
    assert by_labels.item(0, 1) == by_ranking.item(0, 1) == (1 / 3 if name == "jaccard" else 1 / 4)


def test_a_name_of_several_meanings_is_the_name_of_no_metric() -> None:
    assert UNCLEAR.keys().isdisjoint(name for name, _ in meanings())
    every = {"", *rf.METRICS, *rf.CATALOG_METRICS}
    assert {metric for meant in UNCLEAR.values() for metric in meant.values()} <= every


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


def test_every_name_of_a_tool_means_a_metric_with_the_options_of_the_tool() -> None:
    for tool, name, metric, given in ROWS:
        among = rf.METRICS if metric in rf.METRICS else rf.CATALOG_METRICS
        (call,) = rf.parse(f"{name}@3" if among[metric].first == "k" and name[-1] not in "-:" else name, among)
        convention = CONVENTIONS.get(tool.lower().replace("-", "_"))
        theirs = given or ({} if convention is None else convention.metrics.get(metric, {}))
        options, default = {x: y for x, y in theirs.items() if x != "k"}, call.metric.parameters
        wanted = {x: y for x, y in options.items() if x in default and y != default[x].default}
        assert call.metric is among[metric], (tool, name)
        assert {x: y for x, y in call.arguments.items() if x != "k"} == wanted, (tool, name)
    assert len(ROWS) > 80
    assert {tool for tool, *_ in ROWS} == {*IN_TOOLS}


def test_a_name_without_a_cutoff_counts_all_though_a_tool_has_a_default_one() -> None:
    assert [call.text for call in rf.parse("Hit")] == ["hit_rate"]  # of RecBole, whose default is 10, and of LensKit
    assert [call.text for call in rf.parse("GiniIndex", rf.CATALOG_METRICS)] == ["gini"]


@each(
    ("text", "meant"),
    [
        ("NDCG:top=10;type=Exp", "ndcg(gain=exponential)@10"),
        ("NDCG:type=Base;top=3;denominator=Position", "ndcg(discount=rank)@3"),
        ("DCG:denominator=LogPosition", "dcg"),
        ("PFound:top=5;decay=0.5", "pfound(decay=0.5)@5"),
        ("MAP:top=5", "map(divisor='min(k,R)')@5"),
        ("MRR:border=1", "rr(relevant=1.0000000000000002)"),
        ("ERR:top=5", "err(gain=linear,max_label=1)@5"),
        ("PrecisionAt:hints=skip_train~true;top=5", "precision(divisor='min(k,n)')@5"),
        ("QueryAUC:type=Classic", "auc(no_pairs=zero)"),
        ("QueryAUC:type=Ranking", "ordered_pair_accuracy(tied=0.5,no_pairs=zero)"),
        ("pre@5", "precision(divisor='min(k,n)')@5"),
        ("pre", "precision(divisor='min(k,n)')@32"),
        ("ndcg@5-", "ndcg(gain=exponential)@5"),
        ("ndcg-", "ndcg(gain=exponential)@32"),
        ("map@5-", "map(divisor='min(k,R)')@5"),
        ("precisionAt(5)", "precision@5"),
        ("ndcgAtK(k=5)", "ndcg(gain=binary)@5"),
        ("meanAveragePrecision", "map(divisor='min(k,R)')"),
        ("NDCGK_10", "ndcg(gain=binary)@10"),
        ("NDCGK(K=10)", "ndcg(gain=binary)@10"),
        ("RetrievalMAP(top_k=2)", "map(divisor=hits)@2"),
        ("RetrievalPrecision(top_k=3,adaptive_k=True)", "precision(divisor='min(k,n)')@3"),
        ("RetrievalPrecision(adaptive_k=False)@3", "precision(divisor=k)@3"),
        ("RBP(patience=0.9,n=10)", "rbp(p=0.9)@10"),
        ("AveragePrecision@5", "map(divisor='min(n,R)')@5"),
        ("MAPKMetric(k=5,min_rel_score=2)", "map(relevant=2)@5"),
        ("NDCGKMetric(k=5,min_rel_score=2)", "ndcg(gain=binary,relevant=2)@5"),
        ("PrecisionTopK@5", "precision(divisor='min(k,n)')@5"),
        ("nDCGRendle2020@5", "ndcg(gain=binary)@5"),
        ("mark", "map@10"),
        ("mark@5", "map@5"),
        ("mapk(k=5)", "map(divisor='min(k,R)')@5"),
        ("F1Beta(beta=2,k=5)", "f_beta(beta=2)@5"),
        ("ndcg_at_10", "ndcg@10"),
        ("mrr_at_10", "rr@10"),
        ("hit_rate_at_5", "hit_rate@5"),
        ("SetF(beta=4)", "f_beta(beta=2)"),
        ("set_F.4", "f_beta(beta=2)"),
        ("SDCG-k@10", "sdcg@10"),
        ("NERR-EQ8@k=20", "nerr8@20"),
    ],
)
def test_the_spelling_of_a_tool_with_its_options_is_read(text: str, meant: str) -> None:
    ((read,), (canonical,)) = rf.parse(text), rf.parse(meant)
    assert read == canonical


@each(
    ("tool", "none_relevant", "all_relevant"),
    [("sklearn", None, None), ("torchmetrics", 0, 0), ("catboost", 0, 0), ("replay", 0, 1)],
)
def test_auc_of_a_query_without_a_pair_is_what_each_tool_has(
    tool: str, none_relevant: object, all_relevant: object
) -> None:
    df = pl.DataFrame({"query_id": [1, 1, 2, 2], "doc_id": [*"abab"], "score": [2, 1, 2, 1], "label": [0, 0, 1, 1]})
    assert df.rank.on(convention=tool).auc()["auc"].to_list() == [none_relevant, all_relevant]


@each(
    ("text", "says"),
    [
        ("ItemCoverage@5", "is coverage in RecBole and aggregate_diversity in Elliot"),
        ("PrecisionAt@5", r"is precision in CatBoost, whose divisor is min\(k,n\) and precision in Spark"),
        ("SRecall@5", "is subtopic_recall in Elliot, which divides by the features of all items"),
        ("UserCoverage", "is user_coverage in Elliot, which prints the number of users"),
        ("ShannonEntropy@5", "is entropy in RecBole, which prints nats over the number of items shown"),
        ("intra_list_similarity", "is ild in LensKit and recmetrics, which print 1 less it"),
        ("FBetaTopKMetric@5", "is f_beta in Evidently, of the means of precision and recall"),
    ],
)
def test_a_name_of_a_tool_that_prints_another_number_is_refused_with_the_difference(text: str, says: str) -> None:
    with pytest.raises(rf.UnknownMetric, match=f"; '.*' {says}"):
        rf.parse(text, rf.CATALOG_METRICS if text == "ItemCoverage@5" else rf.METRICS)


def test_names_of_tools_give_the_numbers_of_their_formulas_by_hand() -> None:
    # three of four relevant documents, at ranks 2 and 3 of a list of three; one was not retrieved, one has label 2
    df = pl.DataFrame({"query_id": [1] * 4, "doc_id": [*"abcd"], "score": [3, 2, 1, None], "label": [0, 2, 1, 1]})
    x2, x3 = math.log(2) / math.log(3), 1 / 2
    by_hand = {
        "NDCGK_3": (x2 + x3) / (1 + x2 + x3),  # recpack: gains are 0 and 1
        "HitK_3": 2,
        "AveragePrecision@3": (1 / 2 + 2 / 3) / 3,  # LensKit: over the shorter of the list and the relevant ones
        "PrecisionTopKMetric@5": 2 / 3,  # Evidently: over the list where it is shorter
        "NDCG:top=2;type=Exp": 3 * x2 / (3 + x2),  # CatBoost
        "RetrievalMAP@3": (1 / 2 + 2 / 3) / 2,  # torchmetrics: over the two that were found
        "pre@2": 1 / 2,
        "DSC@3": 2 / 3,  # Elliot: of a precision and a recall of two thirds
    }
    found = df.rank.evaluate(*by_hand).drop("query_id").row(0)
    assert found == pytest.approx(tuple(by_hand.values()), abs=1e-12)


def test_an_option_that_a_metric_of_ones_own_has_is_not_translated() -> None:
    def mine(r: rf.Ranking, n: int = 1) -> pl.Expr:
        return r.total(r.relevant) * n

    rf.metric(mine)
    assert rf.parse("mine(n=3)")[0].text == "mine@3"
    rf.unregister(mine)


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


@each("name", OF_PREFERENCES)
def test_a_name_of_many_measures_of_preferences_is_the_name_of_no_metric(name: str) -> None:
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
        ("ndcg_at_k", "'ndcg'"),
        ("precision_at_k", "'precision'"),
        ("mrr10", "'rr'"),
        ("ndgc10", "'ndcg'"),
        ("ndkg@3", "'ndkl' or 'ndcg'"),
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
        "rf.power": "'df.rank.power'",
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
