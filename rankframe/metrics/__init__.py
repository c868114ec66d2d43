"""The formulas, one module per family; importing them fills METRICS in the documentation's order."""

from .agreement import kendall_distance, kendall_tau, overlap, rbo, rbo_min, rbo_residual, spearman, tau_ap
from .binary import f1, hit_rate, hits, precision, r_precision, recall
from .cascade import err, nerr, rbp
from .gain import cg, dcg, ndcg
from .order import auc, average_precision, bpref, eleven_point_average, interpolated_precision, reciprocal_rank

__all__ = [
    "auc",
    "average_precision",
    "bpref",
    "cg",
    "dcg",
    "eleven_point_average",
    "err",
    "f1",
    "hit_rate",
    "hits",
    "interpolated_precision",
    "kendall_distance",
    "kendall_tau",
    "ndcg",
    "nerr",
    "overlap",
    "precision",
    "r_precision",
    "rbo",
    "rbo_min",
    "rbo_residual",
    "rbp",
    "recall",
    "reciprocal_rank",
    "spearman",
    "tau_ap",
]
