"""The conventions of other tools: policies and options of each, written as in a metric's text."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any, NamedTuple, TypeAlias

from ..errors import InvalidOption, nearest, option
from .trec_eval import MEASURES

Settings: TypeAlias = Mapping[str, Any]


class Otherwise(NamedTuple):
    """A number that a tool prints under a metric's name, and that no option of our metric gives.

    Attributes
    ----------
    says
        Its definition, as a clause.
    value
        Computes it from other metrics, which `_verbs.audit.tool_comparison` evaluates; ``None`` if
        they do not determine it.
    """

    says: str
    value: Callable[[Any], float] | None = None


@dataclass(frozen=True)
class Convention:
    """The convention of a tool: its policies, and the options and policies of each of its metrics.

    Attributes
    ----------
    policies
        The policies that :meth:`on` sets for all of the tool's metrics.
    metrics
        The tool's metrics by canonical name, each with options and policies of its own.
    note
        Behaviour of the tool that no setting reproduces.
    also
        Other tools that count the same, and other names of the tool, for the hint in an error.
    otherwise
        The tool's numbers that no option gives, by our metrics' names.
    """

    policies: Settings
    metrics: Mapping[str, Settings]
    note: str = ""
    also: tuple[str, ...] = ()
    otherwise: Mapping[str, Otherwise] = field(default_factory=dict)


def settings_in(text: str) -> Settings:
    """The options in ``gain=binary,divisor=min(k,n)``, as numbers, truth values and words."""
    settings: dict[str, Any] = dict(re.findall(r"(\w+)=((?:\(.*?\)|[^,(])+)", text))
    for name, value in settings.items():
        with suppress(ValueError):
            settings[name] = ast.literal_eval(value)
    return settings


def metrics_in(text: str) -> dict[str, Settings]:
    """The options of each metric in ``map ndcg(gain=binary)@10``."""
    metrics: dict[str, Settings] = {}
    for name, options, k in re.findall(r"(\w+)(?:\((\S*)\))?(?:@(\d+))?", text):
        cutoff = {"k": int(k)} if k else {}
        metrics[name] = {**cutoff, **settings_in(options)}
    return metrics


def _of(text: str, note: str = "", also: str = "", **otherwise: Otherwise) -> Convention:
    """The convention in ``policies: metrics``."""
    of_all, _, of_each = text.partition(": ")
    policies = settings_in(of_all)
    metrics = metrics_in(of_each)
    return Convention(policies, metrics, note, tuple(also.split()), otherwise)


ABOVE_HALF = f"relevant={math.nextafter(0.5, 1)}"
"""The threshold of tools to which a label above one half is relevant."""

ANY_GAIN = f"relevant={math.nextafter(0, 1)}"
"""The threshold of metrics that need any gain in a query, not a relevant document."""

OF_TREC_EVAL: Mapping[str, Settings] = {
    **{measure.metric: {} for measure in MEASURES.values() if measure.metric},
    **metrics_in("f1 rbp(p=0.9,gain=scaled)"),  # set_F with its default beta
}
"""The metrics of trec_eval, with the options that differ from our defaults."""

SINCE_10 = {measure.metric for measure in MEASURES.values() if measure.since == 10}
"""The metrics that trec_eval 9 lacks."""

RANK_EVAL = (
    "precision(divisor=min(k,n))@10 recall@10 rr@10 dcg(gain=exponential)@10 "
    "ndcg(gain=exponential,ideal=as_many)@10 err@10"
)
"""The metrics of the request _rank_eval, with its defaults."""

COUNT = Otherwise(
    "it is the number of different items that are shown, aggregate_diversity here",
    lambda values: values.of("aggregate_diversity"),
)


def _mean_precision(values: Any) -> float:
    """The mean of precision@1 to precision@k.

    A hit at a rank counts in the precisions from there on.
    """
    k = values.call.arguments.get("k")
    if k is None:
        return math.nan
    # of the last ranks, each 1 / n
    sums = [0.0, *accumulate(1 / n for n in range(k, 0, -1))]
    discount = {rank: k / sums[k + 1 - rank] for rank in range(1, k + 1)}

    def discounted(rank: Any) -> Any:
        return rank.replace_strict(discount, default=math.inf)

    mean: float = values.of("dcg(gain=binary)", discount=discounted)
    return mean


def _f_of_means(values: Any) -> float:
    """F-beta of the mean precision and the mean recall."""
    precision = values.of("precision(divisor='min(k,n)')")
    recall = values.of("recall")
    if not precision or not recall:
        return math.nan
    beta = values.call.arguments.get("beta", 1.0)
    weight = beta**2
    f: float = (1 + weight) * precision * recall / (weight * precision + recall)
    return f


F_OF_MEANS = Otherwise("it is that of the mean precision and the mean recall", _f_of_means)
OF_PAST_ITEMS = Otherwise(
    "it divides the number of items that are shown and are in the interactions by the number "
    "of items there",
    lambda values: values.of("coverage", values.past_items),
)

CONVENTIONS: Mapping[str, Convention] = {
    # libraries whose purpose is to rank or to evaluate
    "trec_eval": Convention({"ties": "trec_eval"}, OF_TREC_EVAL, "labels are cut to whole numbers"),
    "trec_eval9": Convention(
        {"ties": "trec_eval", "scores": "float32"},
        {name: settings for name, settings in OF_TREC_EVAL.items() if name not in SINCE_10}
        | metrics_in("interpolated_precision(rounding=up) eleven_point_average(rounding=up)"),
        "labels are cut to whole numbers; pytrec_eval is this version",
        ("pytrec_eval", "pytrec_eval_terrier"),
    ),
    "ranx": _of(
        "ties=order: hits hit_rate precision recall f1 r_precision rr map dcg ndcg bpref "
        "rbp(gain=linear)",
        "ties beyond 15 documents are left to an unstable sort; bpref is NaN where nothing "
        "is judged non-relevant",
    ),
    "sklearn": _of(
        "unretrieved=drop: dcg(ties=expected) ndcg(ties=expected) map(ties=last) "
        "auc(no_relevant=null) "
        "last_rank(ties=last) ranking_loss(no_pairs=zero)",
        "coverage error, last_rank here, is 0 where this is null",
        also="scikit-learn",
    ),
    "torchmetrics": _of(
        "unretrieved=drop,ties=order,scores=float32: map(divisor=hits) rr precision recall "
        "hit_rate r_precision "
        "ndcg(ties=expected) fall_out auc(no_pairs=zero)",
        "a relevant document whose score is not above 0 counts in some metrics as not "
        "relevant; ties are left to an "
        "unstable sort",
    ),
    "lightgbm": _of(
        f"unretrieved=drop,ties=order,{ABOVE_HALF},no_relevant=one: "
        f"ndcg({ANY_GAIN},gain=exponential) "
        "map(divisor=min(k,R))"
    ),
    "xgboost": _of(
        "unretrieved=drop,ties=order,scores=float32,no_relevant=one: "
        f"ndcg({ANY_GAIN},gain=exponential)@32 "
        "map(divisor=min(k,R))@32 precision(divisor=min(k,n),no_relevant=zero)@32",
        "with a minus after the cutoff, a query without a relevant document counts 0, as it "
        "does where the policy "
        "no_relevant is zero",
    ),
    "catboost": _of(
        f"unretrieved=drop,ties=worst,{ABOVE_HALF}: dcg ndcg({ANY_GAIN},no_relevant=one) "
        "map(divisor=min(k,R)) rr "
        "precision(divisor=min(k,n)) recall(no_relevant=one) err(gain=linear,max_label=1) "
        "pfound mean_label "
        "auc(no_pairs=zero) ordered_pair_accuracy(tied=0.5,no_pairs=zero)",
        "labels are rounded to 32-bit floats",
    ),
    "spark": _of(
        "ties=order: precision map(divisor=min(k,R)) ndcg(gain=binary) recall",
        "given labels beside the relevant documents, nDCG is "
        "ndcg(gain=exponential,min_label=1) instead",
        also="pyspark",
    ),
    "tf_ranking": _of(
        "unretrieved=drop,ties=order,scores=float32: rr hit_rate recall map bpref "
        "precision(divisor=min(k,n)) "
        "dcg(gain=exponential) ndcg(gain=exponential) average_relevance_position "
        "ordered_pair_accuracy(no_pairs=zero)",
        "ties are drawn at random; rows with a negative label are left out: filter them; "
        "results are 32-bit floats",
        also="tensorflow_ranking",
    ),
    "ptranking": _of(
        "unretrieved=drop,ties=order,scores=float32,no_relevant=null: precision(no_relevant=zero) "
        f"map(divisor=min(k,R)) ndcg({ANY_GAIN},gain=exponential) nerr({ANY_GAIN},max_label=query)",
        "a cutoff past the end of the list counts 0; precision and average precision take "
        "labels from 0 to 1 as shares",
    ),
    # products that report metrics beside their main purpose
    "elasticsearch": _of(
        f"ties=order: {RANK_EVAL}",
        "_rank_eval of version 8, read in its source, not run; ERR needs maximum_relevance, "
        "which is max_label here; "
        "unknown_doc_rating, which gives unjudged documents a label, and ignore_unlabeled "
        "are not repeated; queries "
        "that fail are left out",
    ),
    "opensearch": _of(
        f"ties=order: {RANK_EVAL}",
        "_rank_eval of version 1, read in its source, not run, which counts as Elasticsearch "
        "does; the Search "
        "Relevance Workbench is opensearch_workbench",
    ),
    "opensearch_workbench": _of(
        "ties=order: precision(divisor=min(k,n)) recall map rr dcg(gain=exponential) "
        "ndcg(gain=exponential)",
        "version 3, read in its source, not run; rounds each query's value to two decimals; "
        "relevant is from the "
        "greater of half a query's largest label and its 90th percentile, which no setting "
        "repeats where labels go "
        "above 1",
    ),
    "quepid": _of(
        "ties=order: precision(divisor=min(k,n))@10 map(no_relevant=null)@10 rr@10 cg@10 "
        "dcg(gain=exponential)@10 "
        "ndcg(gain=exponential,ideal=all)@10 err@10",
        "version 8.6, read in its source, not run; nDCG is that of the scorer nDCG@10, where "
        "nDCG_CUT@10 is "
        "ndcg(gain=exponential)@10; the top of ERR's scale is the scorer's, max_label here; "
        "AP of a query whose "
        "ratings are all 0 is NaN, and with it that of the case; queries without results or "
        "ratings are left out",
    ),
    "mlflow": _of(
        "ties=order: precision(divisor=min(k,n))@3 recall@3 ndcg(gain=binary,ideal=as_many)@3",
        "version 3.18; a document that is retrieved twice counts twice in precision and "
        "nDCG; recall and nDCG are 1 "
        "where nothing is relevant and nothing was retrieved",
    ),
    "llamaindex": _of(
        "ties=order,no_relevant=null: hit_rate rr recall map precision(divisor=min(k,n)) "
        "ndcg(gain=binary,ideal=all)",
        "version 0.14; its lists are cut by the retriever's top_k, which is k here; raises "
        "ValueError where nothing is "
        "relevant or nothing was retrieved; a document that is expected twice counts twice "
        "in the ideal, and one that "
        "is retrieved twice counts twice in AP and nDCG, which go above 1",
        also="llama_index",
    ),
    "haystack": _of(
        "ties=order: map rr recall hit_rate ndcg(ideal=all)",
        "version 3.4; recall is that of mode multi_hit, and that of the default, single_hit, "
        "is hit_rate; nDCG takes "
        "the scores of the documents of the ground truth as labels, 1 where they have none; "
        "documents with the same "
        "content are one; its lists are cut by the retriever's top_k, which is k here",
    ),
    "ragas": _of(
        "ties=order: map(divisor=hits) precision(divisor=min(k,n)) recall(no_relevant=null)",
        "version 0.4; context precision is map, where relevant is what a model or a distance "
        "says, over hits + 1e-10, "
        "so that it stays below 1; precision and recall are those by id; recall is NaN "
        "without a reference, and "
        "precision where nothing was retrieved",
    ),
    # tools for recommenders
    "replay": _of(
        f"no_relevant=null,{ANY_GAIN}: precision recall hit_rate rr map(divisor=min(k,R)) "
        "ndcg(gain=binary) "
        "auc(unretrieved=drop,no_relevant=zero,no_pairs=one) surprisal(divisor=k) unseen "
        "unexpectedness(divisor=k) "
        "category_diversity(divisor=k)",
        "version 0.22; every row of the ground truth is relevant, whatever its rating, here "
        "if this is above 0; k is always "
        "given; tied items stand by falling item in frames, as given in dictionaries; an "
        "item that is recommended twice counts twice in MAP and nDCG, which go above 1; "
        "users without a relevant item "
        "are left out, and count 0 if a dictionary has an empty list for them; AUC, RocAuc "
        "there, goes by rank; users "
        "without recommendations count 1 in Novelty, which is unseen, and 0 elsewhere",
        also="replay_rec",
        coverage=OF_PAST_ITEMS,
        novelty=Otherwise(
            "it is the share of items that the user did not have before, unseen here",
            lambda values: values.of("unseen"),
        ),
    ),
    "rectools": _of(
        f"ties=order,no_relevant=null,ranks=as_given,{ANY_GAIN}: precision recall f1 f_beta "
        "hit_rate rr map mcc(shown=k) "
        "partial_auc ndcg(gain=binary,ideal=perfect) mean_popularity novelty aggregate_diversity "
        "serendipity(no_relevant=zero) ild(distance=hamming,no_pairs=zero) user_coverage",
        "version 0.19; every interaction is relevant, whatever its weight, here if this is "
        "above 0; k is always given; divide_by_achievable=True is ideal=judged, "
        "divide_by_k=True is divisor=k, "
        "and r_precision=True is divisor='min(k,R)'; an item that is recommended or was seen "
        "twice counts twice; users "
        "without interactions are left out; the distance of IntraListDiversity is always given; "
        "the number of items of MCC's catalog is collection_size here; users with lists too "
        "short are kept in "
        "PartialAUC and PAP, as insufficient_handling='ignore' does; popularity counts "
        "repeated interactions, and here users, "
        "unless interactions has the numbers as n",
        coverage=COUNT._replace(says=f"{COUNT.says}; its option normalize makes it coverage"),
    ),
    "recbole": _of(
        f"ties=order,no_relevant=null,{ANY_GAIN}: precision@10 recall@10 hit_rate@10 rr@10 "
        "map(divisor=min(k,R))@10 "
        "ndcg(gain=binary)@10 mean_popularity(divisor=k)@10 "
        "tail_share(tail=0.1,unseen_items=zero,divisor=k)@10 "
        "coverage@10 gini@10",
        "version 1.2; every row of the test is relevant, whatever its rating, here if this "
        "is above 0; rounds the mean to four "
        "decimals; tied items are left to an unstable sort; users without an item "
        "to find are left out; every item is scored, so that lists are never short; GAUC is "
        "mean('auc', "
        "weights='num_rel'); of equally popular items those of the smallest ids are in the tail",
        entropy=Otherwise(
            "it is the entropy in nats, divided by the number of different items that are shown",
            lambda values: values.of("entropy") * math.log(2) / values.of("aggregate_diversity"),
        ),
    ),
    "microsoft_recommenders": _of(
        f"ties=order,no_relevant=null,{ANY_GAIN}: precision(nothing_retrieved=null)@10 "
        "recall(nothing_retrieved=null)@10 "
        "map(divisor=min(k,R),nothing_retrieved=null)@10 ndcg(gain=binary)@10 "
        "novelty(base=interactions,unseen_items=zero) "
        "serendipity(against=co_occurrence,relevance=False) entropy",
        "version 1.2; every rated item is relevant, whatever its rating, here if this is "
        "above 0; map is map_at_k, while its function map "
        "divides by R; score_type='raw' and 'exp' are gain=linear and gain=exponential; "
        "users without recommendations "
        "count 0 in nDCG and are left out elsewhere; an item that is recommended twice "
        "counts twice in recall and MAP, "
        "which go above 1; novelty is the mean over all recommendations, not over users, "
        "which differs where lists differ in length; its "
        "beyond-accuracy metrics take whole lists",
        also="recommenders",
        r_precision=Otherwise(
            "its mean is over the users with a relevant item in their first min(k, R)"
        ),
        coverage=Otherwise(
            "it divides the number of different items that are shown, in the interactions or "
            "not, by the number of "
            "items in the interactions, and so goes above 1",
            lambda values: values.of("aggregate_diversity") / len(values.past_items),
        ),
        ild=Otherwise(
            "it compares items by the users they share, not by their features, unless "
            "item_sim_measure='item_feature_vector', which is ild"
        ),
    ),
    "recmetrics": _of(
        "ties=order: precision(divisor=min(k,n)) recall map@10 "
        "novelty(unseen_items=error,divisor=k) personalization",
        "version 0.1.5; its lists are cut beforehand, but for mark, which is map; precision "
        "and recall of each user are "
        "rounded to four decimals; recall divides by 0 where nothing is relevant, and "
        "precision where nothing was "
        "recommended; an item that is recommended twice counts twice in precision and "
        "recall; novelty divides by the length that it is given; an item that was "
        "never interacted with is a KeyError; personalization needs lists of one length; "
        "catalog_coverage is that of "
        "users drawn at random, which is not repeated",
        coverage=Otherwise(
            "prediction_coverage is in per cent, rounded to two decimals",
            lambda values: round(100 * values.of("coverage"), 2),
        ),
        ild=Otherwise(
            "intra_list_similarity is 1 less the diversity: the mean cosine of the pairs of items",
            lambda values: 1 - values.of("ild(distance=cosine)"),
        ),
    ),
    "recpack": _of(
        "no_relevant=null: precision recall rr hits dcg(gain=binary) ndcg(gain=binary) coverage",
        "version 0.3; K is always given; tied items are left to an unstable sort; items with "
        "a score of 0 are not "
        "recommended; coverage is that of users with a relevant item",
    ),
    "cornac": _of(
        "ties=order,no_relevant=null: precision recall f1 hit_rate rr "
        "map(ties=last,unretrieved=drop) "
        "ndcg(gain=binary)",
        "version 3.0; every item is scored, so that lists are never short; RR of a user "
        "without a hit is refused; NCRR "
        "is ndcg(gain=binary,discount=rank,ideal=as_many); AUC counts a tied pair 0",
    ),
    "elliot": _of(
        "ties=order,no_relevant=null: precision recall f1 f_beta hit_rate rr average_recall "
        "ndcg(gain=exponential,min_label=1) "
        "mean_popularity(unseen_items=error) tail_share(unseen_items=zero) efd epc entropy "
        "aggregate_diversity rsp reo "
        "bias_disparity",
        "of December 2025, whose accuracy metrics were run from the source, the others read "
        "in it; ItemCoverage and UserCoverage are counts; the cutoff is always "
        "given; relevance_threshold, 0 by default, is relevant here; nDCG subtracts it from "
        "the ratings and adds 1, and "
        "is ndcg here where it is 1; nDCGRendle2020 is ndcg(gain=binary); F1 and DSC are f1 "
        "and f_beta; AUC, GAUC and "
        "LAUC count items outside the list, and are not repeated; entropy, SEntropy there, "
        "equals this one where all lists have one length; ACLT counts the items in the "
        "tail, of which tail_share, APLT there, is the share; PopRSP and PopREO are rsp and "
        "reo with head=0.8 and the "
        "items of the interactions for the catalog, one of several equally popular items "
        "closing the head; RSP and REO "
        "have no value where a group has no candidate; the past of BiasDisparityBD is that "
        "of all users",
        map=Otherwise(
            "it is the mean of precision at each rank down to the cutoff", _mean_precision
        ),
        coverage=COUNT,
        user_coverage=Otherwise(
            "it is the number of users with a recommendation",
            lambda values: values.of("user_coverage") * values.n_queries,
        ),
        gini=Otherwise(
            "it is 1 less the normalized Gini index, so that high is equal",
            lambda values: 1 - values.of("gini(normalized=True)"),
        ),
    ),
    "evidently": _of(
        f"ties=order,{ANY_GAIN},no_relevant=null,unretrieved=drop: "
        "precision(divisor=min(k,n)) recall hit_rate rr map "
        "average_recall(at=relevant) ndcg mean_popularity(unseen_items=skip) "
        "novelty(unseen_items=skip) ild(divisor=list) "
        "serendipity(against=features) personalization",
        "version 0.7; k is always given, and is at most the length of the longest list; tied "
        "items share their mean "
        "rank; min_rel_score is relevant here, and makes the gains of nDCG binary; "
        "no_feedback_users=True is "
        "no_relevant=zero; MAP and MAR are right only of rows in the order of the ranks, and "
        "a relevant item at the end of a list "
        "counts again at each rank below it, so that MAP of lists shorter than k goes above "
        "1; normalize_arp divides by the popularity of "
        "the most popular item; personalization takes all lists for lists of k items; "
        "serendipity leaves out users "
        "without a relevant recommendation, also those with a relevant item that was not "
        "recommended",
        f1=F_OF_MEANS,
        f_beta=F_OF_MEANS,
        coverage=OF_PAST_ITEMS,
        gini=Otherwise(
            "it is the normalized Gini index of the items that are shown, without those that "
            "nobody is shown",
            lambda values: values.of(
                "gini(normalized=True)", int(values.of("aggregate_diversity"))
            ),
        ),
    ),
    "lenskit": _of(
        f"ties=order,no_relevant=null,{ANY_GAIN}: "
        "precision(divisor=min(k,n),no_relevant=zero) recall(divisor=min(k,R)) hit_rate "
        "rr map(divisor=min(n,R)) dcg(gain=binary,discount=original,no_relevant=zero) "
        "ndcg(gain=binary,discount=original) rbp(p=0.85) popularity_percentile gini "
        "exposure_gini(weight=rbp,p=0.85) least_item_promoted(first_rank=0)@10",
        "version 2025.8; every test item is relevant, whatever its rating, here if this is "
        "above 0; gain='rating' is gain=linear; precision and AP of an empty list are NaN; "
        "the summary of a run "
        "counts NaN, also that of users without test items, as 0; exposures are 32-bit "
        "floats; the least item promoted of an empty list is 0",
        category_entropy=Otherwise("it adds 0.000001 to the weight of each category there is"),
    ),
}
"""Every tool's convention by its name."""


def convention_of(name: object) -> Convention:
    """The convention of a tool, by the tool's name."""
    if isinstance(name, str) and name in CONVENTIONS:
        return CONVENTIONS[name]
    hint = ""
    if isinstance(name, str):
        tools = {tool: tool for tool in CONVENTIONS}
        for tool, convention in CONVENTIONS.items():
            tools |= dict.fromkeys(convention.also, tool)
        near = nearest(name, tools)
        hint = "" if near is None else f" Did you mean {tools[near]!r}?"
    names = ", ".join(map(repr, CONVENTIONS))
    raise InvalidOption(option(convention=name), f": write one of {names}.{hint}")
