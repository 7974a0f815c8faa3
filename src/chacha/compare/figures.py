"""Figures of a comparison: progressive loss over the stream, mean and ± sd over the seeds."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from math import ceil
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chacha.compare.outcome import Outcome
from chacha.errors import MissingExtra

try:
    from matplotlib import rc_context
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
except ImportError as error:
    raise MissingExtra.of("matplotlib", "report") from error

__all__ = ["STYLES", "curve_of", "curves_figure", "draw_curves", "save", "svg_text"]

STYLES: dict[str, dict[str, Any]] = {
    "mean": {"color": "#aaaaaa"},
    "naive": {"color": "#333333", "linestyle": "--"},
    "random": {"color": "#cc79a7"},
    "exhaustive": {"color": "#0072b2", "linestyle": "-."},
    "paper": {"color": "#d55e00"},
    "flaml": {"color": "#009e73"},
    "aggressive": {"color": "#e69f00"},
    "no-champion": {"color": "#7f5539"},
    "offline": {"color": "#888888", "linestyle": ":"},
    "all-pairs": {"color": "#56b4e9", "linestyle": "--"},
    "best-fixed": {"color": "#6a3d9a", "linestyle": "--"},
}
"""One colour for each method in all figures; the colours are safe for colour-blind readers."""
WARM_UP = 0.1  # the share of the stream whose losses do not set the scale
OFF_SCALE = 2.0  # times naive's loss
Array = NDArray[np.float64]


def curve_of(outcomes: Sequence[Outcome], begin: int = 0) -> tuple[Array, Array, Array]:
    """Return the points of the curve, and the mean and sd of the progressive loss there.

    The first `begin` examples are left out.

    >>> from chacha.compare.outcome import CurvePoint
    >>> points = (CurvePoint(1, 4.0, 1.0), CurvePoint(2, 6.0, 2.0))
    >>> [part.tolist() for part in curve_of([Outcome(2, 0, "", 0.1, points)])]
    [[1.0, 2.0], [4.0, 3.0], [0.0, 0.0]]
    """
    n = np.array([point.n for point in outcomes[0].curve], float)
    total = np.array([[point.total for point in outcome.curve] for outcome in outcomes])
    weight = np.array([[point.weight for point in outcome.curve] for outcome in outcomes])
    lost = np.array([[point.lost for point in outcome.curve] for outcome in outcomes])
    if begin:
        at = int(np.searchsorted(n, begin))
        total = (total - total[:, [at]]) + (lost - lost[:, [at]])
        weight = weight - weight[:, [at]]
        n, total, weight = n[at + 1 :], total[:, at + 1 :], weight[:, at + 1 :]
    charged = (weight > 0).all(axis=0)
    with np.errstate(invalid="ignore"):  # a loss may be infinite
        losses = total[:, charged] / weight[:, charged]
        return n[charged], losses.mean(axis=0), losses.std(axis=0)


def draw_curves(
    axes: Axes, outcomes: Mapping[str, Sequence[Outcome]], off_scale: float = OFF_SCALE
) -> None:
    """Draw the curves of all methods, each with its band.

    A method that loses more than `off_scale` times as much as naive is off the scale, and the
    legend says so. If a method is frozen at some point, all curves begin there.
    """
    begin = max(seeds[0].frozen for seeds in outcomes.values())
    curves = {method: curve_of(seeds, begin) for method, seeds in outcomes.items()}
    last = {method: float(mean[-1]) for method, (_, mean, _) in curves.items() if len(mean)}
    if not last:
        return  # no example follows the frozen ones
    most = off_scale * last.get("naive", min(last.values()))
    low, high = np.inf, -np.inf
    for method, (n, mean, sd) in curves.items():
        if method not in last:
            continue
        fits = last[method] <= most
        label = method if fits else f"{method} (off scale: {last[method]:.3g})"
        style = STYLES.get(method, {})
        (line,) = axes.plot(n, mean, label=label, linewidth=1.6, **style)
        axes.fill_between(n, mean - sd, mean + sd, color=line.get_color(), alpha=0.15, lw=0)
        if fits:
            settled = n > begin + WARM_UP * (n[-1] - begin)
            low = min(low, float((mean - sd)[settled].min()))
            high = max(high, float((mean + sd)[settled].max()))
    if np.isfinite(high - low) and high > low:
        axes.set_ylim(low - 0.05 * (high - low), high + 0.05 * (high - low))
    axes.set_xlabel("examples")
    axes.set_ylabel("progressive validation loss")
    axes.grid(alpha=0.3)
    axes.legend(fontsize="small", frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5))


def curves_figure(streams: Mapping[str, Mapping[str, Sequence[Outcome]]]) -> Figure:
    """Return a figure with one panel for each stream."""
    columns = min(2, len(streams)) or 1
    rows = ceil(len(streams) / columns) or 1
    figure = Figure(figsize=(7.2 * columns, 4.2 * rows), layout="constrained")
    for i, (name, outcomes) in enumerate(streams.items(), start=1):
        axes = figure.add_subplot(rows, columns, i)
        axes.set_title(name, fontsize="medium")
        draw_curves(axes, outcomes)
    return figure


SVG: dict[Any, Any] = {
    "svg.hashsalt": "chacha",
    "svg.fonttype": "none",
}  # reproducible bytes; text stays text


def save(figure: Figure, path: str | PathLike[str]) -> None:
    """Write a figure in the format of the suffix of `path`; equal figures give equal bytes."""
    undated = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}
    with rc_context(SVG):
        figure.savefig(path, dpi=150, metadata=undated.get(Path(path).suffix))


def svg_text(figure: Figure) -> str:
    """Return a figure as an SVG element for an HTML page."""
    buffer = io.StringIO()
    with rc_context(SVG):
        figure.savefig(buffer, format="svg", metadata={"Date": None})
    text = buffer.getvalue()
    return text[text.index("<svg") :]
