"""The methods of fusion as functions of several rankings, and the normalisations of one ranking's scores."""

from . import normalizations
from .ranks import borda, isr, log_isr, logn_isr, rbc, rrf
from .scores import comb_anz, comb_gmnz, comb_max, comb_med, comb_min, comb_mnz, comb_sum, mixed, wmnz, wsum
from .trained import bayesfuse, mapfuse, posfuse, probfuse, segfuse, slidefuse

__all__ = [
    "bayesfuse",
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
    "mapfuse",
    "mixed",
    "normalizations",
    "posfuse",
    "probfuse",
    "rbc",
    "rrf",
    "segfuse",
    "slidefuse",
    "wmnz",
    "wsum",
]
