"""C/W/L: Moffat, Bailey, Scholer and Thomas 2017; Azzopardi, Thomas and Moffat 2019."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tests.metrics.oracles.cascade import top_label
from tests.metrics.oracles.gain import gain_of
from tests.metrics.oracles.query import Query, is_judged, ratio

# A reader at rank i goes on with probability C(i). From that follow the chance V(i) to see rank i, the
# chance L(i) to stop there, and what the reader is expected to gain and to spend; every document costs 1.

REPORTS = ("EU", "ETU", "EC", "ETC", "ED")


Continuation = Callable[[Sequence[float]], list[float]]


def gains_of(q: Query, depth: int, max_label: float | str | None, gain: Mapping[float, float] | None) -> list[Any]:
    """The gain of each rank down to `depth`, from 0 to 1; None if unjudged, or if nothing was retrieved."""
    top = top_label(q, max_label)
    worth = []
    for row in q.ranking[:depth]:
        if not is_judged(row):
            worth.append(None)
        elif gain is None:
            worth.append(ratio(row[2], top))
        else:
            worth.append(gain_of(row, gain))
    return worth + [None] * (depth - len(worth))


def browse(gains: Sequence[float], goes_on: Continuation) -> dict[str, float]:
    c = goes_on(gains)
    sees = [1.0]
    for probability in c[:-1]:
        sees.append(sees[-1] * probability)
    stops = [v * (1 - c) for v, c in zip(sees, c, strict=True)]
    items = math.fsum(sees)
    total_gain, gained = 0.0, 0.0
    for rank, gain in enumerate(gains):
        gained += gain
        total_gain += stops[rank] * gained
    return {
        "EU": math.fsum(v * g for v, g in zip(sees, gains, strict=True)) / items,
        "ETU": total_gain,
        "EC": math.fsum(sees) / items,
        "ETC": math.fsum(stop * rank for rank, stop in enumerate(stops, 1)),
        "ED": items,
    }


def figure(
    q: Query,
    figures: Callable[[list[float]], dict[str, float]],
    depth: int,
    report: str,
    residual: bool,
    max_label: float | str | None,
    gain: Mapping[float, float] | None,
) -> float:
    """The figure if unjudged documents have gain 0; `residual`: how much more if they have gain 1."""
    gains = gains_of(q, depth, max_label, gain)
    worst = figures([0.0 if g is None else g for g in gains])[report]
    if not residual:
        return worst
    return figures([1.0 if g is None else g for g in gains])[report] - worst


def model(continuation: Callable[..., Continuation], *, cutoff: bool) -> Callable[..., float]:
    """An oracle of the reader that `continuation` describes; with `cutoff` its first option is the last rank."""

    def oracle(
        q: Query,
        k: int | None = None,
        *,
        depth: int = 1000,
        report: str = "EU",
        residual: bool = False,
        max_label: float | str | None = None,
        gain: Mapping[float, float] | None = None,
        **options: float,
    ) -> float:
        goes_on = continuation(k, **options) if cutoff else continuation(**options)
        last = min(int(k), depth) if cutoff and k is not None else depth  # nobody reads on
        return figure(q, lambda gains: browse(gains, goes_on), last, report, residual, max_label, gain)

    return oracle


def cut(c: Callable[[int, float], float], k: int | None) -> Continuation:
    """C(i) from the rank and the gain there; nobody reads past rank `k`."""
    return lambda gains: [c(i, g) if k is None or i < k else 0.0 for i, g in enumerate(gains, 1)]


def precision_reader(k: int) -> Continuation:
    return cut(lambda i, g: 1.0, k)


def rbp_reader(p: float = 0.8) -> Continuation:
    """Moffat and Zobel 2008."""
    return cut(lambda i, g: p, None)


def sdcg_reader(k: int) -> Continuation:
    """Järvelin and Kekäläinen's discount as the chance to see a rank."""
    return cut(lambda i, g: math.log2(i + 1) / math.log2(i + 2), k)


def insq_reader(target: float = 1.0) -> Continuation:
    """Moffat, Scholer and Thomas 2012."""
    return cut(lambda i, g: ((i + 2 * target - 1) / (i + 2 * target)) ** 2, None)


def inst_reader(target: float = 1.0) -> Continuation:
    """Bailey, Moffat, Scholer and Thomas 2015: as INSQ, by the gain that is still wanted."""

    def goes_on(gains: Sequence[float]) -> list[float]:
        c, wanted = [], target
        for i, gain in enumerate(gains, 1):
            wanted -= gain
            c.append(((i + target + wanted - 1) / (i + target + wanted)) ** 2)
        return c

    return goes_on


def bpm_reader(k: int, target: float = 1.0) -> Continuation:
    """Zhang et al. 2017, static: reads until the gain or the number of documents is enough."""

    def goes_on(gains: Sequence[float]) -> list[float]:
        c, gained = [], 0.0
        for i, gain in enumerate(gains, 1):
            gained += gain
            c.append(float(gained < target - 1e-9 and i < k))  # six times 1/6 are 1, not a little less
        return c

    return goes_on


def nerr8_reader(k: int) -> Continuation:
    """Azzopardi, Mackenzie and Moffat 2021, equation 8; the next three likewise."""
    return cut(lambda i, g: 1 - g, k)


def nerr9_reader(k: int) -> Continuation:
    return cut(lambda i, g: i / (i + 1) * (1 - g), k)


def nerr10_reader(p: float = 0.9) -> Continuation:
    return cut(lambda i, g: p * (1 - g), None)


def nerr11_reader(target: float = 1.0) -> Continuation:
    return cut(lambda i, g: ((i + 2 * target - 1) / (i + 2 * target)) ** 2 * (1 - g), None)


CWL: dict[str, Callable[..., float]] = {
    "graded_precision": model(precision_reader, cutoff=True),
    "cwl_rbp": model(rbp_reader, cutoff=False),
    "sdcg": model(sdcg_reader, cutoff=True),
    "bpm": model(bpm_reader, cutoff=True),
    "insq": model(insq_reader, cutoff=False),
    "inst": model(inst_reader, cutoff=False),
    "nerr8": model(nerr8_reader, cutoff=True),
    "nerr9": model(nerr9_reader, cutoff=True),
    "nerr10": model(nerr10_reader, cutoff=False),
    "nerr11": model(nerr11_reader, cutoff=False),
}


def rbp_residual(q: Query, k: int | None = None, *, p: float = 0.8) -> float:
    """Moffat and Zobel 2008: the most that unjudged documents, and all ranks below the last, could add to RBP."""
    shown = q.ranking[:k]
    unjudged = sum(p**i for i, row in enumerate(shown) if not is_judged(row))
    return (1 - p) * unjudged + p ** len(shown)


# Metrics that tools have, and the library has under other names or not at all.
OF_TOOLS = ("graded_precision", "cwl_rbp")
ORACLES: dict[str, Callable[..., float]] = {
    **{name: oracle for name, oracle in CWL.items() if name not in OF_TOOLS},
    "rbp_residual": rbp_residual,
}
