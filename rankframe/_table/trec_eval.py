"""trec_eval's measures as data: their names, our metrics for them, and their default parameters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

Parameter: TypeAlias = Literal["rank", "share"]

CUTOFFS = (5, 10, 15, 20, 30, 100, 200, 500, 1000)
"""trec_eval's default cutoffs."""

LEVELS = tuple(tenth / 10 for tenth in range(11))
"""The levels of recall of interpolated precision."""


@dataclass(frozen=True)
class Measure:
    """A measure of trec_eval's command line.

    Attributes
    ----------
    name
        Its name there.
    metric
        The canonical name of the metric; empty for facts about the run, which are no metric.
    defaults
        Its default parameters, each printed on a line of its own; empty if it prints one line.
    parameter
        The kind of its parameters: ranks, printed as they are, or shares, printed with two
        decimals.
    expands
        Whether the bare name stands for all default parameters in a metric's text; others, such as
        ``P``, mean one metric.
    since
        The first version of trec_eval, 9 or 10, that has the measure.
    """

    name: str
    metric: str = ""
    defaults: tuple[float, ...] = ()
    parameter: Parameter = "rank"
    expands: bool = False
    since: int = 9

    def shown(self, parameter: float) -> str:
        """A parameter as trec_eval prints it."""
        return f"{parameter:.2f}" if self.parameter == "share" else f"{parameter:g}"


NAMES = (
    "runid= num_q= num_ret=num_retrieved num_rel=num_relevant num_rel_ret=hits map=map "
    "gm_map=gm_map "
    "Rprec=r_precision bpref=bpref recip_rank=rr iprec_at_recall=interpolated_precision "
    "P=precision "
    "relstring=relstring recall=recall infAP=inferred_ap gm_bpref=gm_bpref "
    "Rprec_mult=r_precision_multiple "
    "utility=utility 11pt_avg=eleven_point_average binG=bin_g G=g dcg=dcg "
    "ideal_dcg=ideal_dcg ndcg=ndcg "
    "ndcg_rel=ndcg_rel Rndcg=rndcg ndcg_cut=ndcg map_cut=map relative_P=precision success=hit_rate "
    "set_P=precision set_relative_P=precision set_recall=recall "
    "set_map=set_average_precision set_F=f_beta "
    "num_nonrel_judged_ret=num_nonrel_judged_ret yaap=yaap rbp=rbp rbp_resid=rbp_resid unj=unj"
)
"""The measures, each with our metric for it, in the order in which trec_eval prints them."""

PARAMETERS: Mapping[str, Mapping[str, Any]] = {
    "iprec_at_recall": {"defaults": LEVELS, "parameter": "share", "expands": True},
    "Rprec_mult": {
        "defaults": tuple(x / 5 for x in range(1, 11)),
        "parameter": "share",
        "expands": True,
    },
    "ndcg_cut": {"defaults": CUTOFFS, "expands": True},
    "map_cut": {"defaults": CUTOFFS, "expands": True},
    **{name: {"defaults": CUTOFFS} for name in ("P", "recall", "relative_P")},
    "success": {"defaults": (1, 5, 10)},
    "unj": {"defaults": (5, 10, 20), "since": 10},
    **{name: {"since": 10} for name in ("rbp", "rbp_resid")},
}
"""What distinguishes some measures."""

PAIRS = (pair.split("=") for pair in NAMES.split())
MEASURES = {name: Measure(name, metric, **PARAMETERS.get(name, {})) for name, metric in PAIRS}
"""The measures by their names."""

DEFAULTS: Mapping[str, tuple[float, ...]] = {
    x.name: x.defaults for x in MEASURES.values() if x.expands
}
"""The names that stand for several measures in a metric's text, and their parameters."""

OF_TEXT = ("relstring",)
"""The measures whose values are texts."""

OF_THE_RUN = tuple(x.name for x in MEASURES.values() if not x.metric)
"""The names of facts about the run, which are no metric."""

PREFERENCES = tuple(
    f"prefs_{name}"
    for name in (
        *(
            "num_prefs_poss",
            "num_prefs_ful",
            "num_prefs_ful_ret",
            "simp",
            "pair",
            "avgjg",
            "avgjg_Rnonrel",
        ),
        *(
            "simp_ret",
            "pair_ret",
            "avgjg_ret",
            "avgjg_Rnonrel_ret",
            "simp_imp",
            "pair_imp",
            "avgjg_imp",
        ),
    )
)
"""The measures of preferences, in the order in which trec_eval prints them; the first three are
counts, which it adds up."""

OF_JUDGES: Mapping[str, str] = {
    "map_avgjg": "map",
    "P_avgjg": "P",
    "Rprec_mult_avgjg": "Rprec_mult",
}
"""The measures that are means over judgment groups, each with the measure of one group."""

SETS: Mapping[str, tuple[str, ...]] = {
    "official": tuple(MEASURES)[:12],
    "set": (
        *("runid", "num_q", "num_ret", "num_rel", "num_rel_ret"),
        *("utility", "set_P", "set_recall", "set_relative_P", "set_map", "set_F"),
    ),
    "all_trec": tuple(name for name in MEASURES if name not in ("dcg", "ideal_dcg", "yaap")),
}
OF_GROUPS: Mapping[str, tuple[str, ...]] = {"qrels_jg": ("runid", "num_q", *OF_JUDGES)}
OF_PREFERENCES: Mapping[str, tuple[str, ...]] = {
    "prefs": ("runid", "num_q", *PREFERENCES[:6]),
    "all_prefs": ("runid", "num_q", *PREFERENCES),
}
"""The names of several measures on trec_eval's command line."""
