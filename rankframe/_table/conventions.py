"""The conventions of other tools as data: the policies and options of each."""

from __future__ import annotations

import math
from collections.abc import Mapping

from ..errors import InvalidOption, nearest, option
from .convention import LIST_ONLY, Convention, Settings
from .conventions_of_recommenders import RECOMMENDERS
from .trec_eval import MEASURES

ABOVE_HALF = math.nextafter(0.5, 1)
"""The least number that is above one half."""

ANY_GAIN: Settings = {"relevant": math.nextafter(0, 1)}
"""The threshold of metrics that need any gain in a query, not a relevant document."""


OF_TREC_EVAL: Mapping[str, Settings] = {
    **{measure.metric: {} for measure in MEASURES.values() if measure.metric},
    "f1": {},  # set_F with its default beta
    "rbp": {"p": 0.9, "gain": "scaled"},
}
"""The metrics of trec_eval, with the options that differ from our defaults."""

SINCE_10 = {measure.metric for measure in MEASURES.values() if measure.since == 10}
"""The metrics that trec_eval 9 lacks."""

RANK_EVAL: Mapping[str, Settings] = {
    "precision": {"k": 10, "divisor": "min(k,n)"},
    "recall": {"k": 10},
    "rr": {"k": 10},
    "dcg": {"k": 10, "gain": "exponential"},
    "ndcg": {"k": 10, "gain": "exponential", "ideal": "as_many"},
    "err": {"k": 10},
}
"""The metrics of the request _rank_eval, with its defaults."""

TOOLS: Mapping[str, Convention] = {
    "trec_eval": Convention({"ties": "trec_eval"}, OF_TREC_EVAL, "labels are cut to whole numbers"),
    "trec_eval9": Convention(
        {"ties": "trec_eval", "scores": "float32"},
        {
            **{name: settings for name, settings in OF_TREC_EVAL.items() if name not in SINCE_10},
            "interpolated_precision": {"rounding": "up"},
            "eleven_point_average": {"rounding": "up"},
        },
        "labels are cut to whole numbers; pytrec_eval is this version",
        ("pytrec_eval", "pytrec_eval_terrier"),
    ),
    "ranx": Convention(
        {"ties": "order"},
        {
            **{
                name: {}
                for name in ("hits", "hit_rate", "precision", "recall", "f1", "r_precision", "rr", "map", "dcg", "ndcg")
            },
            "bpref": {},
            "rbp": {"gain": "linear"},
        },
        "ties beyond 15 documents are left to an unstable sort; bpref is NaN where nothing is judged non-relevant",
    ),
    "sklearn": Convention(
        LIST_ONLY,
        {
            "dcg": {"ties": "expected"},
            "ndcg": {"ties": "expected"},
            "map": {"ties": "error"},
            "auc": {"no_relevant": "null"},
        },
        "average precision takes tied documents at their last place, which no rule here does",
        ("scikit-learn",),
    ),
    "torchmetrics": Convention(
        {**LIST_ONLY, "ties": "order", "scores": "float32"},
        {
            "map": {"divisor": "hits"},
            **{name: {} for name in ("rr", "precision", "recall", "hit_rate", "r_precision")},
            "ndcg": {"ties": "expected"},
            "fall_out": {},
            "auc": {},
        },
        "a relevant document whose score is not above 0 counts in some metrics as not relevant; AUC is 0 where all are "
        "relevant; ties are left to an unstable sort",
    ),
    "lightgbm": Convention(
        {**LIST_ONLY, "ties": "order", "relevant": ABOVE_HALF, "no_relevant": "one"},
        {"ndcg": {**ANY_GAIN, "gain": "exponential"}, "map": {"divisor": "min(k,R)"}},
    ),
    "xgboost": Convention(
        {**LIST_ONLY, "ties": "order", "scores": "float32", "no_relevant": "one"},
        {
            "ndcg": {**ANY_GAIN, "k": 32, "gain": "exponential"},
            "map": {"k": 32, "divisor": "min(k,R)"},
            "precision": {"k": 32, "divisor": "min(k,n)", "no_relevant": "zero"},
        },
        "with a minus after the cutoff, a query without a relevant document counts 0, as it does where the policy no_relevant is zero",
    ),
    "catboost": Convention(
        {**LIST_ONLY, "ties": "worst", "relevant": ABOVE_HALF},
        {
            "dcg": {},
            "ndcg": {**ANY_GAIN, "no_relevant": "one"},
            "map": {"divisor": "min(k,R)"},
            "rr": {},
            "precision": {"divisor": "min(k,n)"},
            "recall": {"no_relevant": "one"},
            "err": {"gain": "linear", "max_label": 1},
            "pfound": {},
            "mean_label": {},
            "auc": {},
            "ordered_pair_accuracy": {"tied": 0.5},
        },
        "labels are rounded to 32-bit floats; AUC is 0 where all are relevant, and pair accuracy where all labels are "
        "the same",
    ),
    "spark": Convention(
        {"ties": "order"},
        {
            "precision": {},
            "map": {"divisor": "min(k,R)"},
            "ndcg": {"gain": "binary"},
            "recall": {},
        },
        "given labels beside the relevant documents, nDCG is ndcg(gain=exponential,min_label=1) instead",
        ("pyspark",),
    ),
    "tf_ranking": Convention(
        {**LIST_ONLY, "ties": "order", "scores": "float32"},
        {
            **{name: {} for name in ("rr", "hit_rate", "recall", "map", "bpref")},
            "precision": {"divisor": "min(k,n)"},
            "dcg": {"gain": "exponential"},
            "ndcg": {"gain": "exponential"},
            "average_relevance_position": {},
            "ordered_pair_accuracy": {},
        },
        "ties are drawn at random; rows with a negative label are left out: filter them; results are 32-bit floats; "
        "pair accuracy is 0 where all labels are the same",
        ("tensorflow_ranking",),
    ),
    "ptranking": Convention(
        {**LIST_ONLY, "ties": "order", "scores": "float32", "no_relevant": "null"},
        {
            "precision": {"no_relevant": "zero"},
            "map": {"divisor": "min(k,R)"},
            "ndcg": {**ANY_GAIN, "gain": "exponential"},
            "nerr": {**ANY_GAIN, "max_label": "query"},
        },
        "a cutoff past the end of the list counts 0; precision and average precision take labels from 0 to 1 as shares",
    ),
}
"""The conventions of libraries whose purpose is to rank or to evaluate."""

PRODUCTS: Mapping[str, Convention] = {
    "elasticsearch": Convention(
        {"ties": "order"},
        RANK_EVAL,
        "_rank_eval of version 8, read in its source, not run; ERR needs maximum_relevance, which is max_label here; "
        "unknown_doc_rating, which gives unjudged documents a label, and ignore_unlabeled are not repeated; queries "
        "that fail are left out",
    ),
    "opensearch": Convention(
        {"ties": "order"},
        RANK_EVAL,
        "_rank_eval of version 1, read in its source, not run, which counts as Elasticsearch does; the Search Relevance "
        "Workbench is opensearch_workbench",
    ),
    "opensearch_workbench": Convention(
        {"ties": "order"},
        {
            "precision": {"divisor": "min(k,n)"},
            "recall": {},
            "map": {},
            "rr": {},
            "dcg": {"gain": "exponential"},
            "ndcg": {"gain": "exponential"},
        },
        "version 3, read in its source, not run; rounds each query's value to two decimals; relevant is from the greater "
        "of half a query's largest label and its 90th percentile, which no setting repeats where labels go above 1",
    ),
    "quepid": Convention(
        {"ties": "order"},
        {
            "precision": {"k": 10, "divisor": "min(k,n)"},
            "map": {"k": 10, "no_relevant": "null"},
            "rr": {"k": 10},
            "cg": {"k": 10},
            "dcg": {"k": 10, "gain": "exponential"},
            "ndcg": {"k": 10, "gain": "exponential", "ideal": "all"},
            "err": {"k": 10},
        },
        "version 8.6, read in its source, not run; nDCG is that of the scorer nDCG@10, where nDCG_CUT@10 is "
        "ndcg(gain=exponential)@10; the top of ERR's scale is the scorer's, max_label here; AP of a query whose ratings "
        "are all 0 is NaN, and with it that of the case; queries without results or ratings are left out",
    ),
    "mlflow": Convention(
        {"ties": "order"},
        {
            "precision": {"k": 3, "divisor": "min(k,n)"},
            "recall": {"k": 3},
            "ndcg": {"k": 3, "gain": "binary", "ideal": "as_many"},
        },
        "version 3.18; a document that is retrieved twice counts twice in precision and nDCG; recall and nDCG are 1 where "
        "nothing is relevant and nothing was retrieved",
    ),
    "llamaindex": Convention(
        {"ties": "order", "no_relevant": "null"},
        {
            **{name: {} for name in ("hit_rate", "rr", "recall", "map")},
            "precision": {"divisor": "min(k,n)"},
            "ndcg": {"gain": "binary", "ideal": "all"},
        },
        "version 0.14; its lists are cut by the retriever's top_k, which is k here; raises ValueError where nothing is "
        "relevant or nothing was retrieved; a document that is expected twice counts twice in the ideal, and one that is "
        "retrieved twice counts twice in AP and nDCG, which go above 1",
        ("llama_index",),
    ),
    "haystack": Convention(
        {"ties": "order"},
        {
            "map": {},
            "rr": {},
            "recall": {},
            "hit_rate": {},
            "ndcg": {"ideal": "all"},
        },
        "version 3.4; recall is that of mode multi_hit, and that of the default, single_hit, is hit_rate; nDCG takes the "
        "scores of the documents of the ground truth as labels, 1 where they have none; documents with the same content "
        "are one; its lists are cut by the retriever's top_k, which is k here",
    ),
    "ragas": Convention(
        {"ties": "order"},
        {
            "map": {"divisor": "hits"},
            "precision": {"divisor": "min(k,n)"},
            "recall": {"no_relevant": "null"},
        },
        "version 0.4; context precision is map, where relevant is what a model or a distance says, over hits + 1e-10, so "
        "that it stays below 1; precision and recall are those by id; recall is NaN without a reference, and precision "
        "where nothing was retrieved",
    ),
}
"""The conventions of products that report metrics beside their main purpose."""

CONVENTIONS: Mapping[str, Convention] = {**TOOLS, **PRODUCTS, **RECOMMENDERS}
"""Every tool's convention by its name."""


def convention_of(name: object) -> Convention:
    """The convention of a tool, by the tool's name."""
    if not isinstance(name, str) or name not in CONVENTIONS:
        known = {called: tool for tool, convention in CONVENTIONS.items() for called in (tool, *convention.also)}
        near = nearest(name, known) if isinstance(name, str) else None
        hint = "" if near is None else f" Did you mean {known[near]!r}?"
        raise InvalidOption(option(convention=name), f": write one of {', '.join(map(repr, CONVENTIONS))}.{hint}")
    return CONVENTIONS[name]
