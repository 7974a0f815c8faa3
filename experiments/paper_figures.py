"""The paper's figures with our numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from chacha.compare import Outcome
from chacha.compare.figures import STYLES, draw_curves

__all__ = ["Bar", "bars_figure", "drift_figure", "interval_means"]

CROPPED = (-1.0, 2.5)  # the range of bars; the paper crops its bars too
INTERVALS = 8  # after the first 20%, each a tenth of the stream
Runs = Mapping[str, Sequence[Outcome]]


class Bar(NamedTuple):
    """A bar of a group, with its label, height and error."""

    label: str
    mean: float
    sd: float


COLOURS = {
    "Random": STYLES["random"]["color"],
    "ChaCha, printed": STYLES["paper"]["color"],
    "ChaCha, authors'": STYLES["flaml"]["color"],
    "Aggressive": STYLES["aggressive"]["color"],
    "w/o Champion": STYLES["no-champion"]["color"],
}


def bars_figure(panels: Mapping[str, Mapping[str, Sequence[Bar]]]) -> Figure:
    """Return normalised scores: in each panel a group of bars for each data set.

    A cropped bar has its height written at its end.
    """
    most = max(len(groups) for groups in panels.values())
    figure = Figure(figsize=(4 + 0.32 * most, 3.6 * len(panels)), layout="constrained")
    for i, (title, groups) in enumerate(panels.items(), start=1):
        axes = figure.add_subplot(len(panels), 1, i)
        _draw_bars(axes, groups)
        axes.set_title(title, fontsize="medium", loc="left")
        axes.set_ylabel("normalised score")
    return figure


def _draw_bars(axes: Axes, groups: Mapping[str, Sequence[Bar]]) -> None:
    if not groups:
        axes.text(0.5, 0.5, "no data set is meaningful", ha="center", transform=axes.transAxes)
        return
    labels = list(dict.fromkeys(bar.label for group in groups.values() for bar in group))
    width = 0.8 / max(1, len(labels))
    low, high = CROPPED
    for at, label in enumerate(labels):
        for x, group in enumerate(groups.values()):
            for bar in (bar for bar in group if bar.label == label):
                place = x + (at - (len(labels) - 1) / 2) * width
                height = min(max(bar.mean, low), high)
                legend = label if x == 0 else None
                axes.bar(place, height, width, color=COLOURS[label], label=legend)
                if height == bar.mean:
                    axes.errorbar(place, height, bar.sd, color="#333333", lw=0.8, capsize=1.5)
                else:
                    down = bar.mean < low
                    axes.text(
                        place,
                        low + 0.04 if down else high - 0.04,
                        f"{bar.mean:.3g}",
                        rotation=90,
                        fontsize=5,
                        color="white",
                        ha="center",
                        va="bottom" if down else "top",
                    )
    for height, name in ((0, "naive"), (1, "exhaustive")):
        axes.axhline(height, lw=0.9, label=name.capitalize(), **STYLES[name])
    axes.set_ylim(low, high)
    axes.set_xlim(-0.6, len(groups) - 0.4)
    axes.set_xticks(range(len(groups)), list(groups), rotation=35, ha="right", fontsize="x-small")
    axes.legend(fontsize="x-small", frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5))


def drift_figure(runs: Runs, title: str) -> Figure:
    """Return the loss since 20% of the stream, and its mean over each interval after that."""
    figure = Figure(figsize=(13.0, 4.2), layout="constrained")
    left, right = figure.add_subplot(1, 2, 1), figure.add_subplot(1, 2, 2)
    draw_curves(left, runs, off_scale=np.inf)  # so that the frozen model is on the scale
    figure.suptitle(title, fontsize="medium")
    n = next(iter(runs.values()))[0].examples
    edges = np.linspace(0.2 * n, n, INTERVALS + 1)
    for method, outcomes in runs.items():
        means = np.array([interval_means(outcome, edges) for outcome in outcomes])
        mean, sd = means.mean(axis=0), means.std(axis=0)
        middle, style = (edges[:-1] + edges[1:]) / 2, STYLES.get(method, {})
        right.plot(middle, mean, marker="o", markersize=3.5, label=method, **style)
        right.fill_between(middle, mean - sd, mean + sd, color=style.get("color"), alpha=0.15, lw=0)
    for edge in edges:
        right.axvline(float(edge), color="#bbbbbb", lw=0.6)
    for axes in (left, right):
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter("{x:.3g}")
        axes.yaxis.set_minor_formatter("{x:.3g}")
        axes.tick_params(axis="y", which="both", labelsize="small")
    right.set_xlabel("examples")
    right.set_ylabel("mean loss in the interval (log scale)")
    right.legend(fontsize="small", frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5))
    return figure


def interval_means(outcome: Outcome, edges: Sequence[float] | np.ndarray) -> list[float]:
    """Return the mean loss of each interval, from the curve's points nearest to its edges."""
    n = np.array([point.n for point in outcome.curve])
    at = [int(np.abs(n - edge).argmin()) for edge in edges]
    means = []
    for begin, end in pairwise(at):
        first, last = outcome.curve[begin], outcome.curve[end]
        weight = last.weight - first.weight
        means.append((last.total - first.total) / weight if weight else np.nan)
    return means
