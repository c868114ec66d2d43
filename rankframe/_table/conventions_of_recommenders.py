"""The conventions of tools for recommenders, as data."""

from __future__ import annotations

import math
from collections.abc import Mapping

from .convention import LIST_ONLY, Convention, Otherwise

COUNT = Otherwise(
    "it is the number of different items that are shown, aggregate_diversity here",
    lambda values: values.of("aggregate_diversity"),
)
OF_PAST_ITEMS = Otherwise(
    "it divides the number of items that are shown and are in the interactions by the number of items there",
    lambda values: values.of("coverage", values.past_items),
)
NOT_BY_FEATURES = "it compares items by the users they share, not by their features"

RECOMMENDERS: Mapping[str, Convention] = {
    "replay": Convention(
        {"no_relevant": "null"},
        {
            **{name: {} for name in ("precision", "recall", "hit_rate", "rr")},
            "map": {"divisor": "min(k,R)"},
            "ndcg": {"gain": "binary"},
            "auc": {**LIST_ONLY, "no_relevant": "zero"},
            "surprisal": {"divisor": "k"},
            "unseen": {},
            "unexpectedness": {"divisor": "k"},
            "category_diversity": {"divisor": "k"},
        },
        "version 0.22; k is always given; tied items stand by falling item in frames, as given in dictionaries; an item "
        "that is recommended twice counts twice in MAP and nDCG, which go above 1; users without a relevant item are left "
        "out, and count 0 if a dictionary has an empty list for them; AUC, RocAuc there, goes by rank, and is 1 where all "
        "of the list are relevant; users without recommendations count 1 in Novelty, which is unseen, and 0 elsewhere",
        ("replay_rec",),
        {
            "coverage": OF_PAST_ITEMS,
            "novelty": Otherwise(
                "it is the share of items that the user did not have before, unseen here",
                lambda values: values.of("unseen"),
            ),
        },
    ),
    "rectools": Convention(
        {"ties": "order", "no_relevant": "null"},
        {
            **{name: {} for name in ("precision", "recall", "f1", "f_beta", "hit_rate", "rr", "map")},
            "ndcg": {"gain": "binary", "ideal": "perfect"},
            **{name: {} for name in ("mean_popularity", "novelty", "aggregate_diversity")},
            "serendipity": {"no_relevant": "zero"},
            "ild": {"distance": "hamming"},
            "user_coverage": {},
        },
        "version 0.19; k is always given; divide_by_achievable=True is ideal=judged, divide_by_k=True is divisor=k, and "
        "r_precision=True is divisor='min(k,R)'; an item that is recommended or was seen twice counts twice; users "
        "without interactions are left out; the distance of IntraListDiversity is always given; a list of one item has "
        "diversity 0",
        (),
        {"coverage": Otherwise(f"{COUNT.says}; its option normalize makes it coverage", COUNT.value)},
    ),
    "recbole": Convention(
        {"ties": "order", "no_relevant": "null"},
        {
            **{name: {"k": 10} for name in ("precision", "recall", "hit_rate", "rr")},
            "map": {"k": 10, "divisor": "min(k,R)"},
            "ndcg": {"k": 10, "gain": "binary"},
            "mean_popularity": {"k": 10, "divisor": "k"},
            "tail_share": {"k": 10, "tail": 0.1, "unseen_items": "zero", "divisor": "k"},
            **{name: {"k": 10} for name in ("coverage", "gini")},
        },
        "version 1.2; rounds the mean to four decimals; tied items are left to an unstable sort; users without an item to "
        "find are left out; every item is scored, so that lists are never short; GAUC, a mean weighted by the number of "
        "relevant items, is not repeated; of equally popular items those of the smallest ids are in the tail",
        (),
        {
            "entropy": Otherwise(
                "it is the entropy in nats, divided by the number of different items that are shown",
                lambda values: values.of("entropy") * math.log(2) / values.of("aggregate_diversity"),
            )
        },
    ),
    "microsoft_recommenders": Convention(
        {"ties": "order", "no_relevant": "null"},
        {
            "precision": {"k": 10},
            "recall": {"k": 10},
            "map": {"k": 10, "divisor": "min(k,R)"},
            "ndcg": {"k": 10, "gain": "binary"},
            "novelty": {"base": "interactions", "unseen_items": "zero"},
            "serendipity": {"against": "co_occurrence", "relevance": False},
            "entropy": {},
        },
        "version 1.2; every rated item is relevant, whatever its rating; map is map_at_k, while its function map divides "
        "by R; score_type='raw' and 'exp' are gain=linear and gain=exponential; users without recommendations count 0 in "
        "nDCG and are left out elsewhere; an item that is recommended twice counts twice in recall and MAP, which go above "
        "1; r_precision_at_k, which leaves out users without a hit, is not repeated; novelty is the mean over all "
        "recommendations, not over users, which differs where lists differ in length; its beyond-accuracy metrics take "
        "whole lists",
        ("recommenders",),
        {
            "coverage": Otherwise(
                "it divides the number of different items that are shown, in the interactions or not, by the number of "
                "items in the interactions, and so goes above 1",
                lambda values: values.of("aggregate_diversity") / len(values.past_items),
            ),
            "ild": Otherwise(f"{NOT_BY_FEATURES}, unless item_sim_measure='item_feature_vector', which is ild"),
        },
    ),
    "recmetrics": Convention(
        {"ties": "order"},
        {"novelty": {"unseen_items": "error", "divisor": "k"}, "personalization": {}},
        "version 0.1.5; its lists are cut beforehand; novelty divides by the length that it is given; an item that was "
        "never interacted with is a KeyError; personalization needs lists of one length; catalog_coverage is that of "
        "users drawn at random, which is not repeated",
        (),
        {
            "coverage": Otherwise(
                "prediction_coverage is in per cent, rounded to two decimals",
                lambda values: round(100 * values.of("coverage"), 2),
            ),
            "ild": Otherwise(
                "intra_list_similarity is 1 less the diversity: the mean cosine of the pairs of items",
                lambda values: 1 - values.of("ild(distance=cosine)"),
            ),
        },
    ),
    "elliot": Convention(
        {"ties": "order"},
        {
            "mean_popularity": {"unseen_items": "error"},
            "tail_share": {"unseen_items": "zero"},
            **{name: {} for name in ("efd", "epc", "entropy", "aggregate_diversity", "rsp", "reo", "bias_disparity")},
        },
        "of December 2025, read in its source, not run; ItemCoverage and UserCoverage are counts; the cutoff is always "
        "given; entropy, SEntropy there, equals this one where all lists have one length; ACLT counts the items in the "
        "tail, of which tail_share, APLT there, is the share; PopRSP and PopREO are rsp and reo with head=0.8 and the items of "
        "the interactions for the catalog, one of several equally popular items closing the head; RSP and REO have no value "
        "where a group has no candidate; the past of BiasDisparityBD is that of all users",
        (),
        {
            "coverage": COUNT,
            "user_coverage": Otherwise(
                "it is the number of users with a recommendation",
                lambda values: values.of("user_coverage") * values.n_queries,
            ),
            "gini": Otherwise(
                "it is 1 less the normalized Gini index, so that high is equal",
                lambda values: 1 - values.of("gini(normalized=True)"),
            ),
        },
    ),
    "evidently": Convention(
        {"ties": "order"},
        {
            **{name: {"unseen_items": "skip"} for name in ("mean_popularity", "novelty")},
            "ild": {"divisor": "list"},
            "serendipity": {"against": "features", "no_relevant": "null"},
            "personalization": {},
        },
        "version 0.7; k is always given; tied items share their mean rank; normalize_arp divides by the popularity of the "
        "most popular item; personalization takes all lists for lists of k items; serendipity "
        "leaves out users without a relevant recommendation, also those with a relevant item that was not recommended",
        (),
        {
            "coverage": OF_PAST_ITEMS,
            "gini": Otherwise(
                "it is the normalized Gini index of the items that are shown, without those that nobody is shown",
                lambda values: values.of("gini(normalized=True)", int(values.of("aggregate_diversity"))),
            ),
        },
    ),
    "lenskit": Convention(
        {"ties": "order"},
        {
            "popularity_percentile": {},
            "gini": {},
            "exposure_gini": {"weight": "rbp", "p": 0.85},
            "least_item_promoted": {"k": 10, "first_rank": 0},
        },
        "version 2025.8; exposures are 32-bit floats; the least item promoted of an empty list is 0",
        (),
        {"category_entropy": Otherwise("it adds 0.000001 to the weight of each category there is")},
    ),
}
"""The conventions of tools for recommenders."""
