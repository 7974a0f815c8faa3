"""The report of a comparison: one self-contained HTML file, or the figure alone."""

from __future__ import annotations

import html
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from chacha.compare.figures import curves_figure, save, svg_text
from chacha.compare.methods import METHODS
from chacha.compare.outcome import Outcome
from chacha.compare.river_methods import PREFIX, describe_river
from chacha.compare.scores import has_accuracy, method_scores, table_head
from chacha.compare.study import Comparison
from chacha.losses import loss_named
from chacha.tasks import task_of

__all__ = ["write_report"]

STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem;
  color: #1b1b1b; background: #fff; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.15rem; margin-top: 2.5rem; overflow-wrap: anywhere; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { text-align: right; padding: .3rem .6rem; border-bottom: 1px solid #ddd; }
th:first-child, td:first-child { text-align: left; }
.wide { overflow-x: auto; }
svg { width: 100%; max-width: 48rem; height: auto; margin-top: 1rem; background: #fff; }
.failed { border-left: 4px solid #d55e00; padding-left: .8rem; }
dt { font-weight: 600; } dd { margin: 0 0 .4rem 1.2rem; } pre { overflow-x: auto; }
@media (prefers-color-scheme: dark) { body { color: #e6e6e6; background: #161616; }
  th, td { border-color: #3a3a3a; } }
"""
HEAD = ("method", "loss (mean ± sd)", "÷ naive", "score", "promotions", "CPU s", "champion")
FEW = 8  # the products of a champion that a cell shows


def write_report(path: str, comparison: Comparison, about: Mapping[str, Any]) -> None:
    """Write the report: all of it for .html, the curves for .svg, .png and .pdf."""
    streams = {name: outcomes for name, outcomes in comparison.outcomes.items() if outcomes}
    if Path(path).suffix != ".html":
        save(curves_figure(streams), path)
        return
    Path(path).write_text("".join(_page(streams, comparison, about)), encoding="utf-8")


def _page(
    streams: Mapping[str, Mapping[str, Sequence[Outcome]]],
    comparison: Comparison,
    about: Mapping[str, Any],
) -> Iterator[str]:
    yield "<!doctype html><html lang=en><meta charset=utf-8>"
    yield '<meta name=viewport content="width=device-width, initial-scale=1">'
    yield f"<title>chacha: methods side by side</title><style>{STYLE}</style>"
    yield "<h1>Methods side by side</h1>"
    count = "1 stream" if len(streams) == 1 else f"{len(streams)} streams"
    yield f"<p>{count}, seeds: {about['seeds']}, chacha {about['version']}.</p>"
    for failure in comparison.failures:
        yield f"<p class=failed>{html.escape(str(failure))}</p>"
    for name, outcomes in streams.items():
        n = next(iter(outcomes.values()))[0].examples
        yield f"<h2>{html.escape(name)}</h2><p>{n} examples</p>"
        yield from _table(outcomes)
        yield svg_text(curves_figure({name: outcomes}))
    yield "<h2>The methods</h2><dl>"
    for method in dict.fromkeys(m for outcomes in streams.values() for m in outcomes):
        yield f"<dt>{html.escape(method)}</dt><dd>{html.escape(_about(method))}</dd>"
    yield "</dl><p>score: 0 for naive, 1 for exhaustive. The band is ± one standard deviation "
    yield "over the seeds."
    if scaled := _scaled_methods(streams, about.get("settings", {})):
        yield f" Learning rates of {', '.join(scaled)} are relative to the scale of the labels."
    yield f"</p><details><summary>Settings</summary><pre>{_plain(about)}</pre></details></html>\n"


def _scaled_methods(streams: Mapping[str, Any], settings: Mapping[str, Any]) -> list[str]:
    """Return the methods that learn labels in units of their scale."""
    if settings.get("scaling") is None:
        return []
    if not task_of(loss_named(settings["loss"]["name"])).has_scale:
        return []
    methods = dict.fromkeys(method for outcomes in streams.values() for method in outcomes)
    return [method for method in methods if method in METHODS and METHODS[method].scales]


def _about(method: str) -> str:
    if method.startswith(PREFIX):
        return describe_river(method)
    return METHODS[method].about if method in METHODS else ""


def _plain(about: Mapping[str, Any]) -> str:
    return html.escape(json.dumps(about, indent=2))


def _short(champion: str) -> str:
    """Return a configuration for a cell: the first few of many products, and all values.

    >>> _short("interactions ab, ac, ad, bc, bd, cd, ae, be, ce, de; l2 0.1")
    'interactions ab, ac, ad, bc, bd, cd, ae, be and 2 more; l2 0.1'
    """
    products, semicolon, values = champion.partition("; ")
    first = products.split(", ")
    if len(first) > FEW:
        products = f"{', '.join(first[:FEW])} and {len(first) - FEW} more"
    return f"{products}{semicolon}{values}"


def _table(outcomes: Mapping[str, Sequence[Outcome]]) -> Iterator[str]:
    scores = method_scores(outcomes)
    accuracy = has_accuracy(scores)
    head = "".join(f"<th>{cell}</th>" for cell in table_head(HEAD, accuracy))
    yield f"<div class=wide><table><tr>{head}</tr>"
    for method, one in scores.items():
        champions = sorted({outcome.champion for outcome in outcomes[method]})
        shown = _short(champions[0]) if len(champions) == 1 else f"{len(champions)} different"
        cells = [method, *one.cells(accuracy), shown]
        yield "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in cells) + "</tr>"
    yield "</table></div>"
