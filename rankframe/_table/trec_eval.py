"""trec_eval's measures as data: their names, our metrics for them, and their default parameters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

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
        The kind of its parameters: ranks, printed as they are, or shares, printed with two decimals.
    expands
        Whether the bare name stands for all default parameters in a metric's text; others, such as ``P``, mean one metric.
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


MEASURES: Mapping[str, Measure] = {
    measure.name: measure
    for measure in (
        Measure("runid"),
        Measure("num_q"),
        Measure("num_ret", "num_retrieved"),
        Measure("num_rel", "num_relevant"),
        Measure("num_rel_ret", "hits"),
        Measure("map", "map"),
        Measure("gm_map", "gm_map"),
        Measure("Rprec", "r_precision"),
        Measure("bpref", "bpref"),
        Measure("recip_rank", "rr"),
        Measure("iprec_at_recall", "interpolated_precision", LEVELS, "share", expands=True),
        Measure("P", "precision", CUTOFFS),
        Measure("relstring", "relstring"),
        Measure("recall", "recall", CUTOFFS),
        Measure("infAP", "inferred_ap"),
        Measure("gm_bpref", "gm_bpref"),
        Measure(
            "Rprec_mult",
            "r_precision_multiple",
            tuple(fifth / 5 for fifth in range(1, 11)),
            "share",
            expands=True,
        ),
        Measure("utility", "utility"),
        Measure("11pt_avg", "eleven_point_average"),
        Measure("binG", "bin_g"),
        Measure("G", "g"),
        Measure("dcg", "dcg"),
        Measure("ideal_dcg", "ideal_dcg"),
        Measure("ndcg", "ndcg"),
        Measure("ndcg_rel", "ndcg_rel"),
        Measure("Rndcg", "rndcg"),
        Measure("ndcg_cut", "ndcg", CUTOFFS, expands=True),
        Measure("map_cut", "map", CUTOFFS, expands=True),
        Measure("relative_P", "precision", CUTOFFS),
        Measure("success", "hit_rate", (1, 5, 10)),
        Measure("set_P", "precision"),
        Measure("set_relative_P", "precision"),
        Measure("set_recall", "recall"),
        Measure("set_map", "set_average_precision"),
        Measure("set_F", "f_beta"),
        Measure("num_nonrel_judged_ret", "num_nonrel_judged_ret"),
        Measure("yaap", "yaap"),
        Measure("rbp", "rbp", since=10),
        Measure("rbp_resid", "rbp_resid", since=10),
        Measure("unj", "unj", (5, 10, 20), since=10),
    )
}
"""The measures by their names, in the order in which trec_eval prints them."""

DEFAULTS: Mapping[str, tuple[float, ...]] = {x.name: x.defaults for x in MEASURES.values() if x.expands}
"""The names that stand for several measures in a metric's text, and their parameters."""

OF_THE_RUN = tuple(x.name for x in MEASURES.values() if not x.metric)
"""The names of facts about the run, which are no metric."""

SETS: Mapping[str, tuple[str, ...]] = {
    "official": tuple(MEASURES)[:12],
    "set": (
        *("runid", "num_q", "num_ret", "num_rel", "num_rel_ret"),
        *("utility", "set_P", "set_recall", "set_relative_P", "set_map", "set_F"),
    ),
    "all_trec": tuple(name for name in MEASURES if name not in ("dcg", "ideal_dcg", "yaap")),
}
"""The names of several measures on trec_eval's command line."""
