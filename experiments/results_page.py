"""The results as Markdown tables, put into the page that tells about them."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from statistics import fmean
from typing import NamedTuple

import reported
from chacha.compare import Row
from claims import Scores
from datasets import LISTED, REPORTED, DataSet
from reported import Score
from tasks import AUTHORS, PRINTED, Found

__all__ = ["Results", "fill", "scores_of", "tables"]

Cells = Sequence[str]
CONSTANTS = (PRINTED, AUTHORS)
METHODS = ("random", "exhaustive", "paper", "aggressive", "no-champion")
TITLES = {"random": "Random", "exhaustive": "Exhaustive", "paper": "ChaCha", "chacha": "ChaCha"}
TITLES |= {"aggressive": "Aggressive", "no-champion": "w/o Champion"}


class Results(NamedTuple):
    """All that was run: (task, constants) -> what came of it."""

    sets: Sequence[DataSet]
    found: Mapping[tuple[str, str], Found]
    large: Mapping[tuple[str, str], Found]
    numbers_first: Found
    restarted: Found

    def reported(self) -> list[DataSet]:
        """The sets that the paper has results on, in its order."""
        have = {data.reported: data for data in self.sets if data.reported}
        return [have[number] for number in REPORTED if number in have]

    def meaningful(self, task: str, constants: str) -> list[DataSet]:
        """The sets on which Exhaustive is better than Naive."""
        found = self.found[task, constants]
        return [data for data in self.sets if found.meaningful(data.name)]


def scores_of(found: Found, name: str) -> dict[str, Score]:
    """The scores of a data set's methods, by the names of the claims; ChaCha is `chacha`."""
    rows = found.rows(name)
    return {
        "chacha" if method == "paper" else method: Score(row.score, row.score_sd)
        for method, row in rows.items()
        if row.score is not None and row.score_sd is not None
    }


def table(head: Cells, rows: Iterable[Cells]) -> str:
    """A Markdown table."""
    lines = [f"| {' | '.join(cells)} |" for cells in (head, ["---"] * len(head), *rows)]
    return "\n".join(lines)


def claim_scores(results: Results) -> dict[str, dict[str, list[Scores]]]:
    """Constants -> task -> the scores of every meaningful set."""
    return {
        constants: {
            task: [
                scores_of(results.found[task, constants], data.name)
                for data in results.meaningful(task, constants)
            ]
            for task in ("NI", "NI+LR")
        }
        for constants in CONSTANTS
    }


def _beside(results: Results, task: str, methods: Sequence[str], variant: str = "") -> str:
    """The paper's scores next to ours; `variant` names one as the authors' code has it."""
    told = reported.NI if task == "NI" else reported.NI_LR
    changed = results.numbers_first if variant == "numbers first" else results.restarted
    hows = [PRINTED, AUTHORS, *([variant] if variant else [])]
    heads = [[f"{TITLES[m]}: paper", *(f"ours, {how}" for how in hows)] for m in methods]
    rows: list[Cells] = []
    for data in results.reported():
        cells = [data.title]
        for method in methods:
            cells.append(str(told[data.reported or 0][method]))
            for constants in CONSTANTS:
                cells.append(_score(results.found[task, constants], data.name, method))
            if variant:
                cells.append(_score(changed, data.name, f"{method}, {variant}"))
        rows.append(cells)
    return table(["data set", *(head for some in heads for head in some)], rows)


def _score(found: Found, name: str, method: str) -> str:
    if name not in found.outcomes or not found.meaningful(name):
        return "not meaningful"
    return str(scores_of(found, name).get(method, "-"))


def _set_rows(results: Results) -> Iterator[Cells]:
    for data in results.sets:
        cells = [data.title]
        here = results.found["NI", PRINTED].outcomes.get(data.name)
        if here is None:
            yield [*cells, "could not be read", *[""] * 5]
            continue
        naive = here["naive"][0]
        cells += [str(naive.examples), f"{naive.loss:.4g}"]
        for task in ("NI", "NI+LR"):
            for constants in CONSTANTS:
                found = results.found[task, constants]
                if data.name not in found.outcomes:
                    cells.append("-")
                    continue
                relative = found.rows(data.name)["exhaustive"].relative or math.nan
                shown = f"{relative:.4f}" if abs(relative - 1.0) < 0.01 else f"{relative:.3f}"
                cells.append(f"**{shown}**" if found.meaningful(data.name) else shown)
        yield cells


def _relative_rows(results: Results, task: str, methods: Sequence[str]) -> Iterator[Cells]:
    """Loss ÷ naive's of every set, and the geometric mean at the end."""
    columns = [(m, c) for m in methods for c in CONSTANTS]
    logs: dict[tuple[str, str], list[float]] = {column: [] for column in columns}
    for data in results.sets:
        cells = [data.title]
        for method, constants in columns:
            found = results.found[task, constants]
            row: Row | None = None
            if data.name in found.outcomes:
                row = found.rows(data.name).get(method)
            if row is None or row.relative is None or row.relative_sd is None:
                cells.append("-")
                continue
            logs[method, constants].append(math.log(row.relative))
            cells.append(f"{row.relative:.3f} ± {row.relative_sd:.3f}")
        yield cells
    means = [f"**{math.exp(fmean(found)):.3f}**" if found else "-" for found in logs.values()]
    yield ["**geometric mean**", *means]


def _large_rows(results: Results) -> Iterator[Cells]:
    for data in results.sets:
        first = results.large["NI", PRINTED].outcomes.get(data.name)
        if first is None:
            continue
        cells = [data.title, str(first["naive"][0].examples)]
        for task in ("NI", "NI+LR"):
            for method in ("random", "chacha"):
                for constants in CONSTANTS:
                    small = _score(results.found[task, constants], data.name, method)
                    large = _score(results.large[task, constants], data.name, method)
                    cells.append(f"{small} → {large}" if small != large else small)
        yield cells


def tables(results: Results) -> dict[str, str]:
    """Every table of the page, by its name."""
    pair = [f"{t}, {c}" for t in ("NI", "NI+LR") for c in CONSTANTS]

    def relative(task: str, methods: Sequence[str]) -> str:
        heads = [f"{TITLES[m]}, {c}" for m in methods for c in CONSTANTS]
        return table(["data set", *heads], _relative_rows(results, task, methods))

    large_heads = [
        f"{TITLES[m]}: {t}, {c}"
        for t in ("NI", "NI+LR")
        for m in ("random", "chacha")
        for c in CONSTANTS
    ]
    missing = [n for n in dict.fromkeys((*REPORTED, *LISTED)) if n not in _numbers(results)]
    return {
        "sets": table(["data set", "examples", "Naive, MSE", *pair], _set_rows(results)),
        "ni": _beside(results, "NI", ("random", "chacha")),
        "ablations": _beside(results, "NI", ("no-champion", "aggressive"), "restarted"),
        "ni_lr": _beside(results, "NI+LR", ("random", "chacha"), "numbers first"),
        "relative_ni": relative("NI", METHODS),
        "relative_ni_lr": relative("NI+LR", METHODS[:3]),
        "large": table(["data set", "examples", *large_heads], _large_rows(results)),
        "missing_reported": _listed(n for n in missing if n in REPORTED),
        "missing_others": _listed(n for n in missing if n not in REPORTED),
        "counts": _counts(results),
    }


def _numbers(results: Results) -> set[int | None]:
    ran = results.found["NI", PRINTED].outcomes
    return {data.number for data in results.sets if data.name in ran}


def _listed(numbers: Iterable[int]) -> str:
    return ", ".join(map(str, numbers)) or "none"


def _counts(results: Results) -> str:
    ran = len(results.found["NI", PRINTED].outcomes)
    cells = [
        f"{task}, {constants} constants: {len(results.meaningful(task, constants))} of {ran}"
        for task in ("NI", "NI+LR")
        for constants in CONSTANTS
    ]
    return "; ".join(cells)


def fill(template: str, values: Mapping[str, str]) -> str:
    """The page: every {{name}} of the template replaced; a name that is not known is an error."""
    return re.sub(r"\{\{(\w+)\}\}", lambda match: values[match.group(1)], template)
