"""The picture of one table's figures."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from suite import Figure

OURS, THEIRS, TEXT = "#0072B2", "#E69F00", "#333333"
"""Of the palette of Okabe and Ito, which colour-blind readers tell apart."""


def _short(ratio: float) -> str:
    return f"{ratio:.0f}" if ratio >= 10 else f"{ratio:.1f}"


def draw(figures: Sequence[Figure], folder: Path) -> None:
    """Writes chart.svg and chart.png: a bar per tool, what it prepares in a lighter shade."""
    import matplotlib

    matplotlib.use("agg")
    from matplotlib import pyplot as plt
    from matplotlib.patches import Patch
    from matplotlib.ticker import FuncFormatter

    shown = sorted(
        (f for f in figures if f.evaluate), key=lambda f: f.from_frame or 0, reverse=True
    )
    fig, ax = plt.subplots(figsize=(9, 0.42 * len(shown) + 2.1), layout="constrained")
    floor = 0.1
    for place, f in enumerate(shown):
        colour = OURS if f.tool.startswith("rankframe") else THEIRS
        evaluate, whole = (f.evaluate or 0) / f.sort, (f.from_frame or 0) / f.sort
        ax.barh(
            place,
            whole - floor,
            left=floor,
            height=0.66,
            color=colour,
            alpha=0.35 if f.prepare else 1,
        )
        if f.prepare:
            ax.barh(place, evaluate - floor, left=floor, height=0.66, color=colour)
        about = "about " if f.estimated else ""
        alone = f" ({_short(evaluate)} without)" if f.prepare and whole > 1.1 * evaluate else ""
        clear = {
            "facecolor": "white",
            "edgecolor": "none",
            "pad": 1,
        }  # of the line at one bare sort
        ax.text(
            whole * 1.08,
            place,
            f"{about}{_short(whole)}{alone}",
            va="center",
            fontsize=9,
            color=TEXT,
            bbox=clear,
        )
        if colour == THEIRS:
            ax.plot(
                f.rankframe / f.sort,
                place,
                "D",
                color=OURS,
                markeredgecolor="white",
                markersize=6.5,
            )
    names = [f.tool if f.metrics == 10 else f"{f.tool} ({f.metrics} of ten)" for f in shown]
    ax.set_yticks(range(len(shown)), names, fontsize=10)
    for label, f in zip(ax.get_yticklabels(), shown, strict=True):
        label.set_fontweight("bold" if f.tool.startswith("rankframe") else "normal")
    ax.axvline(1, color=TEXT, linewidth=1, linestyle=(0, (4, 3)), zorder=0)
    ax.set_xscale("log")
    ax.set_ylim(-0.7, len(shown) - 0.3)
    ax.set_xlim(floor, max(f.from_frame or 0 for f in shown) / shown[0].sort * 6)
    ax.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}"))
    ax.set_xlabel("time, in bare sorts of the same table (log scale)", color=TEXT)
    fig.suptitle(
        f"Ten ranking metrics of every query: {shown[0].table}", fontsize=12, x=0.01, ha="left"
    )
    handles = [
        Patch(color=OURS, label="rankframe, from the data frame"),
        Patch(color=THEIRS, label="others: evaluate"),
        Patch(color=THEIRS, alpha=0.35, label="others: turn the data frame into what they take"),
        plt.Line2D(
            [],
            [],
            marker="D",
            color=OURS,
            linestyle="",
            label="rankframe, the same metrics as the bar",
        ),
        plt.Line2D([], [], color=TEXT, linestyle=(0, (4, 3)), linewidth=1, label="one bare sort"),
    ]
    fig.legend(handles=handles, loc="outside lower center", ncols=3, fontsize=8.5, frameon=False)
    ax.spines[["top", "right"]].set_visible(False)
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": "chart"}):
        fig.savefig(folder / "chart.svg", metadata={"Date": None})
    fig.savefig(folder / "chart.png", dpi=130)
    plt.close(fig)
