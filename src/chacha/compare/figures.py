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

from chacha.compare.result_cache import Outcome
from chacha.errors import MissingExtra

try:
    from matplotlib import rc_context
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
except ImportError as error:
    raise MissingExtra.of("matplotlib", "report") from error

__all__ = ["STYLES", "curve_of", "curves_figure", "draw_curves", "save", "svg_text"]

STYLES: dict[str, dict[str, Any]] = {
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
"""One colour for each method, in all figures; they can be told apart by the colour-blind."""
WARM_UP = 0.1  # of the stream; what is lost there does not set the scale
OFF_SCALE = 2.0  # times naive's loss
Array = NDArray[np.float64]


def curve_of(outcomes: Sequence[Outcome], begin: int = 0) -> tuple[Array, Array, Array]:
    """Where the curve has points, and the mean and sd of the progressive loss there.

    `begin` examples are left out at first.

    >>> from chacha.compare.result_cache import Point
    >>> points = (Point(1, 4.0, 1.0), Point(2, 6.0, 2.0))
    >>> [part.tolist() for part in curve_of([Outcome(2, 0, "", 0.1, points)])]
    [[1.0, 2.0], [4.0, 3.0], [0.0, 0.0]]
    """
    n = np.array([point.n for point in outcomes[0].curve], float)
    total = np.array([[point.total for point in outcome.curve] for outcome in outcomes])
    weight = np.array([[point.weight for point in outcome.curve] for outcome in outcomes])
    if begin:
        at = int(np.searchsorted(n, begin))
        total, weight = total - total[:, [at]], weight - weight[:, [at]]
        n, total, weight = n[at + 1 :], total[:, at + 1 :], weight[:, at + 1 :]
    seen = (weight > 0).all(axis=0)
    with np.errstate(invalid="ignore"):  # a loss may have no bounds
        losses = total[:, seen] / weight[:, seen]
        return n[seen], losses.mean(axis=0), losses.std(axis=0)


def draw_curves(
    axes: Axes, outcomes: Mapping[str, Sequence[Outcome]], off_scale: float = OFF_SCALE
) -> None:
    """The curves of all methods, each with its band.

    What loses more than `off_scale` times what naive does is off the scale, and told in the
    legend. If a method is frozen at some point, all curves begin there.
    """
    begin = max(found[0].frozen for found in outcomes.values())
    curves = {method: curve_of(found, begin) for method, found in outcomes.items()}
    last = {method: float(mean[-1]) for method, (_, mean, _) in curves.items() if len(mean)}
    if not last:
        return  # nothing came after what is frozen
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
    """One panel for each stream."""
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
}  # the same bytes; text as text


def save(figure: Figure, path: str | PathLike[str]) -> None:
    """Write a figure as the ending of `path` says; the same figure gives the same bytes."""
    ending = Path(path).suffix
    dated = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}
    with rc_context(SVG):
        figure.savefig(path, dpi=150, metadata=dated.get(ending))


def svg_text(figure: Figure) -> str:
    """A figure as an SVG element, for a page."""
    buffer = io.StringIO()
    with rc_context(SVG):
        figure.savefig(buffer, format="svg", metadata={"Date": None})
    text = buffer.getvalue()
    return text[text.index("<svg") :]
