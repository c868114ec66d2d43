"""Names of metrics in other tools: those read as a metric here, and those that are ambiguous."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from .._table.conventions import CONVENTIONS, Settings, metrics_in

IN_TOOLS: Mapping[str, str] = {
    "RecTools": "F1Beta=f_beta CatalogCoverage=aggregate_diversity",
    "RePlay": "RocAuc=auc",
    "LensKit": "Hit=hit_rate RecipRank=rr AveragePrecision=map ListLength=num_retrieved "
    "TestItemCount=num_relevant",
    "RecBole": "Hit=hit_rate itemcoverage=coverage GiniIndex=gini",
    "Cornac": "HitRatio=hit_rate FMeasure=f1",
    "Elliot": "nDCGRendle2020=ndcg(gain=binary) DSC=f_beta NumRetrieved=num_retrieved",
    "recpack": (
        "NDCGK=ndcg DCGK=dcg DiscountedGainK=dcg PrecisionK=precision RecallK=recall "
        "ReciprocalRankK=rr HitK=hits "
        "CoverageK=coverage"
    ),
    "torchmetrics": (
        "RetrievalMAP=map RetrievalMRR=rr RetrievalPrecision=precision "
        "RetrievalRecall=recall RetrievalAUROC=auc retrieval_auroc=auc "
        "RetrievalHitRate=hit_rate RetrievalRPrecision=r_precision RetrievalFallOut=fall_out "
        "RetrievalNormalizedDCG=ndcg"
    ),
    "Spark": (
        "precisionAt=precision precisionAtK=precision recallAt=recall recallAtK=recall "
        "ndcgAt=ndcg ndcgAtK=ndcg "
        "meanAveragePrecision=map meanAveragePrecisionAt=map meanAveragePrecisionAtK=map"
    ),
    "TF-Ranking": (
        "NDCGMetric=ndcg DCGMetric=dcg MRRMetric=rr MeanAveragePrecisionMetric=map "
        "PrecisionMetric=precision "
        "RecallMetric=recall HitsMetric=hit_rate BPrefMetric=bpref OPAMetric=ordered_pair_accuracy "
        "ARPMetric=average_relevance_position"
    ),
    "XGBoost": (
        "pre=precision(divisor=min(k,n))@32 pre-=precision(divisor=min(k,n))@32 "
        "ndcg-=ndcg(gain=exponential)@32 "
        "map-=map(divisor=min(k,R))@32"
    ),
    "CatBoost": (
        "NDCG:=ndcg DCG:=dcg MAP:=map MRR:=rr ERR:=err PFound:=pfound PrecisionAt:=precision "
        "RecallAt=recall RecallAt:=recall AverageGain=mean_label AverageGain:=mean_label "
        "QueryAverage=mean_label "
        "QueryAverage:=mean_label QueryAUC=auc QueryAUC:=auc "
        "QueryAUC:type=Ranking=ordered_pair_accuracy "
        "PairAccuracy=ordered_pair_accuracy"
    ),
    "Haystack": "DocumentMRREvaluator=rr DocumentMAPEvaluator=map DocumentNDCGEvaluator=ndcg",
    "Ragas": "IDBasedContextPrecision=precision IDBasedContextRecall=recall",
    "recmetrics": (
        "recommender_precision=precision recommender_recall=recall mark=map@10 "
        "mapk=map(divisor=min(k,R))@10"
    ),
    "Evidently": (
        "PrecisionTopK=precision PrecisionTopKMetric=precision RecallTopK=recall "
        "RecallTopKMetric=recall MAPKMetric=map "
        "MARKMetric=average_recall MRRKMetric=rr NDCGKMetric=ndcg HitRateKMetric=hit_rate"
    ),
    "cwl-eval": "SDCG-k=sdcg NDCG-k=sdcg NERR-EQ8=nerr8 NERRAt8=nerr8 NERR-EQ9=nerr9 NERRAt9=nerr9",
}
"""Each tool's names of metrics, with the metrics here; without options, a name implies those of the
tool's convention.

A cutoff here is the one that the tool takes where none is given. CatBoost's names with a colon have
options behind it.
"""

UNCLEAR: Mapping[str, Mapping[str, str]] = {
    "accuracy": {"sentence-transformers": "hit_rate", "ir_measures": "pairwise_accuracy"},
    "arp": {"TF-Ranking": "average_relevance_position", "RecTools and RecBole": "mean_popularity"},
    "context_recall": {"Ragas, which counts claims of a reference in place of documents": "recall"},
    "FBetaTopK": {"Evidently, of the means of precision and recall": "f_beta"},
    "FBetaTopKMetric": {"Evidently, of the means of precision and recall": "f_beta"},
    "ILS": {"LensKit, which prints 1 less it": "ild"},
    "ItemCoverage": {"RecBole": "coverage", "Elliot": "aggregate_diversity"},
    "PopularityBias": {"Evidently, which also prints coverage and gini": "mean_popularity"},
    "PrecisionAt": {"CatBoost, whose divisor is min(k,n)": "precision", "Spark": "precision"},
    "SRecall": {"Elliot, which divides by the features of all items": "subtopic_recall"},
    "UserCoverage": {"Elliot, which prints the number of users": "user_coverage"},
    "diversity": {
        "Evidently": "ild",
        "RePlay": "category_diversity",
        "TREC's diversity tasks": "alpha_ndcg",
    },
    "intra_list_similarity": {"LensKit and recmetrics, which print 1 less it": "ild"},
    "gauc": {
        "online advertising, whose mean weighs a user by the number of candidates, num_ret": "auc",
        "RecBole, whose mean weighs a user by the number of relevant items, num_rel": "auc",
    },
    "label_ranking_average_precision_score": {
        "scikit-learn, which gives a query without relevant documents 1": "map"
    },
    "mar": {
        "recmetrics and rexmex": "map",
        "Elliot": "average_recall",
        "Evidently, with at=relevant": "average_recall",
    },
    "Novelty": {"Evidently": "novelty", "RePlay": "unseen"},
    "sDCG": {"cwl-eval": "sdcg", "TREC's session tracks": ""},
    "shannonentropy": {"RecBole, which prints nats over the number of items shown": "entropy"},
    "top_k_accuracy": {"scikit-learn and Keras, which cut lists at 2 and at 5": "hit_rate"},
    "top_k_accuracy_score": {"scikit-learn, which cuts lists at 2": "hit_rate"},
}
"""Names that are refused: the tools that use each, with the metric here that is it or is nearest,
if there is one.

A name with capitals is refused as it is written there: in small letters it is the name of one
metric here.
"""

ENDING = re.compile(r"(?:_at)?_?(?:\d+|(?<=_)k)$")
"""The end of a name with a cutoff, as of ``ndcg_at_10``, ``ndcg10`` and ``ndcg_at_k``."""


def unclear(name: str) -> str | None:
    """What tools mean by a name of `UNCLEAR`; None for any other name."""
    meant = UNCLEAR.get(name) or UNCLEAR.get(name.lower())
    if meant is None:
        return None
    nothing = "another gain, which is no metric here,"
    tools = " and ".join(f"{metric or nothing} in {tool}" for tool, metric in meant.items())
    return f"{name!r} is {tools}".rstrip(",")


ROWS: Sequence[tuple[str, str, str, Settings]] = [
    (tool, name, *next(iter(metrics_in(meant).items())))
    for tool, names in IN_TOOLS.items()
    for name, meant in re.findall(r"(\S+?)=(\w+(?:\(\S*\))?(?:@\d+)?)(?:\s|$)", names)
]
"""The rows of `IN_TOOLS`: the tool, its name, the metric here, and the options of the row."""


ROWS_OF: dict[str, list[tuple[str, str, Settings]]] = {}
"""The rows by their metrics: the tool, its name, and the options of the row."""

for _tool, _name, _metric, _options in ROWS:
    ROWS_OF.setdefault(_metric, []).append((_tool, _name, _options))


def spellings_of(metric: str, takes: Callable[[str], bool]) -> dict[str, Settings]:
    """The names of a metric in tools, with the options that each implies; `takes` says whether the
    metric has an option.
    """
    spellings = {}
    for tool, name, options in ROWS_OF.get(metric, ()):
        convention = CONVENTIONS.get(tool.lower().replace("-", "_"))
        theirs = {} if convention is None else convention.metrics.get(metric, {})
        spellings[name] = options or {x: y for x, y in theirs.items() if x != "k" and takes(x)}
    return spellings
