"""The methods of fusion as functions of several rankings, and the normalisations of one ranking's scores."""

from . import normalizations
from .ranks import borda, isr, log_isr, logn_isr, rbc, rrf
from .scores import comb_anz, comb_gmnz, comb_max, comb_med, comb_min, comb_mnz, comb_sum, mixed, wmnz, wsum

__all__ = [
    "borda",
    "comb_anz",
    "comb_gmnz",
    "comb_max",
    "comb_med",
    "comb_min",
    "comb_mnz",
    "comb_sum",
    "isr",
    "log_isr",
    "logn_isr",
    "mixed",
    "normalizations",
    "rbc",
    "rrf",
    "wmnz",
    "wsum",
]
