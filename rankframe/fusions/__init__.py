"""The methods of fusion as functions of several rankings, and the normalisations of one ranking's scores."""

from . import normalizations
from .ranks import borda, condorcet, isr, log_isr, logn_isr, rbc, rrf
from .scores import comb_anz, comb_gmnz, comb_max, comb_med, comb_min, comb_mnz, comb_sum, mixed, wmnz, wsum
from .search_engines import (
    elasticsearch_linear,
    elasticsearch_rrf,
    haystack,
    langchain,
    llamaindex,
    opensearch_hybrid,
    opensearch_rrf,
    qdrant_dbsf,
    qdrant_rrf,
)
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
    "condorcet",
    "elasticsearch_linear",
    "elasticsearch_rrf",
    "haystack",
    "isr",
    "langchain",
    "llamaindex",
    "log_isr",
    "logn_isr",
    "mapfuse",
    "mixed",
    "normalizations",
    "opensearch_hybrid",
    "opensearch_rrf",
    "posfuse",
    "probfuse",
    "qdrant_dbsf",
    "qdrant_rrf",
    "rbc",
    "rrf",
    "segfuse",
    "slidefuse",
    "wmnz",
    "wsum",
]
