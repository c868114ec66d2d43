"""The formulas, one module per family; importing them fills METRICS in the documentation's order."""

from .agreement import kendall_distance, kendall_tau, overlap, rbo, rbo_min, rbo_residual, spearman, tau_ap
from .binary import f1, fall_out, hit_rate, hits, precision, r_precision, recall
from .cascade import err, nerr, pfound, rbp
from .diversity import (
    alpha_dcg,
    alpha_ndcg,
    average_precision_ia,
    err_ia,
    nerr_ia,
    nnrbp,
    nrbp,
    precision_ia,
    subtopic_recall,
)
from .gain import average_relevance_position, cg, dcg, mean_label, ndcg
from .order import (
    auc,
    average_precision,
    bpref,
    eleven_point_average,
    interpolated_precision,
    ordered_pair_accuracy,
    reciprocal_rank,
)

__all__ = [
    "alpha_dcg",
    "alpha_ndcg",
    "auc",
    "average_precision",
    "average_precision_ia",
    "average_relevance_position",
    "bpref",
    "cg",
    "dcg",
    "eleven_point_average",
    "err",
    "err_ia",
    "f1",
    "fall_out",
    "hit_rate",
    "hits",
    "interpolated_precision",
    "kendall_distance",
    "kendall_tau",
    "mean_label",
    "ndcg",
    "nerr",
    "nerr_ia",
    "nnrbp",
    "nrbp",
    "ordered_pair_accuracy",
    "overlap",
    "pfound",
    "precision",
    "precision_ia",
    "r_precision",
    "rbo",
    "rbo_min",
    "rbo_residual",
    "rbp",
    "recall",
    "reciprocal_rank",
    "spearman",
    "subtopic_recall",
    "tau_ap",
]
