"""The results as Markdown tables, and the page that contains them."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from statistics import fmean
from typing import NamedTuple

import paper_scores
from chacha.compare import MethodScores
from datasets import LISTED, REPORTED, DataSet
from paper_claims import Scores
from paper_scores import Score
from tuning_tasks import AUTHORS, PRINTED, TaskResults

__all__ = ["Results", "claim_scores", "fill", "scores_of", "table", "tables"]

Cells = Sequence[str]
CONSTANTS = (PRINTED, AUTHORS)
METHODS = ("random", "exhaustive", "paper", "aggressive", "no-champion")
TITLES = {"random": "Random", "exhaustive": "Exhaustive", "paper": "ChaCha", "chacha": "ChaCha"}
TITLES |= {"aggressive": "Aggressive", "no-champion": "w/o Champion"}


class Results(NamedTuple):
    """All results: (task, constants) -> results, up to the limit and up to 1M examples."""

    sets: Sequence[DataSet]
    small: Mapping[tuple[str, str], TaskResults]
    large: Mapping[tuple[str, str], TaskResults]
    numbers_first: TaskResults
    restarted: TaskResults

    def reported(self) -> list[DataSet]:
        """Return the sets with results in the paper, in its order."""
        by_number = {data.reported: data for data in self.sets if data.reported}
        return [by_number[number] for number in REPORTED if number in by_number]

    def meaningful(self, task: str, constants: str) -> list[DataSet]:
        """Return the sets on which Exhaustive is better than Naive."""
        results = self.small[task, constants]
        return [data for data in self.sets if results.is_meaningful(data.name)]


def scores_of(results: TaskResults, name: str) -> dict[str, Score]:
    """Return the scores of a data set by the names of the claims; ChaCha is `chacha`."""
    return {
        "chacha" if method == "paper" else method: Score(one.score, one.score_sd)
        for method, one in results.scores(name).items()
        if one.score is not None and one.score_sd is not None
    }


def table(head: Cells, rows: Iterable[Cells]) -> str:
    """Return a Markdown table."""
    lines = [f"| {' | '.join(cells)} |" for cells in (head, ["---"] * len(head), *rows)]
    return "\n".join(lines)


def claim_scores(results: Results) -> dict[str, dict[str, list[Scores]]]:
    """Return constants -> task -> the scores of every meaningful set."""
    return {
        constants: {
            task: [
                scores_of(results.small[task, constants], data.name)
                for data in results.meaningful(task, constants)
            ]
            for task in ("NI", "NI+LR")
        }
        for constants in CONSTANTS
    }


def _paper_and_ours(results: Results, task: str, methods: Sequence[str], variant: str = "") -> str:
    """Return the paper's scores next to ours; `variant` names a variant of the authors' code."""
    reported = paper_scores.NI if task == "NI" else paper_scores.NI_LR
    of_variant = results.numbers_first if variant == "numbers first" else results.restarted
    columns = [PRINTED, AUTHORS, *([variant] if variant else [])]
    heads = [[f"{TITLES[m]}: paper", *(f"ours, {column}" for column in columns)] for m in methods]
    rows: list[Cells] = []
    for data in results.reported():
        cells = [data.title]
        for method in methods:
            cells.append(str(reported[data.reported or 0][method]))
            for constants in CONSTANTS:
                cells.append(_score(results.small[task, constants], data.name, method))
            if variant:
                cells.append(_score(of_variant, data.name, f"{method}, {variant}"))
        rows.append(cells)
    return table(["data set", *(head for group in heads for head in group)], rows)


def _score(results: TaskResults, name: str, method: str) -> str:
    if name not in results.outcomes or not results.is_meaningful(name):
        return "not meaningful"
    return str(scores_of(results, name).get(method, "-"))


def _set_rows(results: Results) -> Iterator[Cells]:
    for data in results.sets:
        cells = [data.title]
        methods = results.small["NI", PRINTED].outcomes.get(data.name)
        if methods is None:
            yield [*cells, "could not be read", *[""] * 5]
            continue
        naive = methods["naive"][0]
        cells += [str(naive.examples), f"{naive.loss:.4g}"]
        for task in ("NI", "NI+LR"):
            for constants in CONSTANTS:
                of_task = results.small[task, constants]
                if data.name not in of_task.outcomes:
                    cells.append("-")
                    continue
                relative = of_task.scores(data.name)["exhaustive"].relative or math.nan
                shown = f"{relative:.4f}" if abs(relative - 1.0) < 0.01 else f"{relative:.3f}"
                cells.append(f"**{shown}**" if of_task.is_meaningful(data.name) else shown)
        yield cells


def _relative_rows(results: Results, task: str, methods: Sequence[str]) -> Iterator[Cells]:
    """Yield the relative loss of every set, and the geometric mean at the end."""
    columns = [(m, c) for m in methods for c in CONSTANTS]
    logs: dict[tuple[str, str], list[float]] = {column: [] for column in columns}
    for data in results.sets:
        cells = [data.title]
        for method, constants in columns:
            of_task = results.small[task, constants]
            scores: MethodScores | None = None
            if data.name in of_task.outcomes:
                scores = of_task.scores(data.name).get(method)
            if scores is None or scores.relative is None or scores.relative_sd is None:
                cells.append("-")
                continue
            logs[method, constants].append(math.log(scores.relative))
            cells.append(f"{scores.relative:.3f} ± {scores.relative_sd:.3f}")
        yield cells
    means = [f"**{math.exp(fmean(each)):.3f}**" if each else "-" for each in logs.values()]
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
                    small = _score(results.small[task, constants], data.name, method)
                    large = _score(results.large[task, constants], data.name, method)
                    cells.append(f"{small} → {large}" if small != large else small)
        yield cells


def tables(results: Results) -> dict[str, str]:
    """Return every table of the page by its name."""
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
        "ni": _paper_and_ours(results, "NI", ("random", "chacha")),
        "ablations": _paper_and_ours(results, "NI", ("no-champion", "aggressive"), "restarted"),
        "ni_lr": _paper_and_ours(results, "NI+LR", ("random", "chacha"), "numbers first"),
        "relative_ni": relative("NI", METHODS),
        "relative_ni_lr": relative("NI+LR", METHODS[:3]),
        "large": table(["data set", "examples", *large_heads], _large_rows(results)),
        "missing_reported": _listed(n for n in missing if n in REPORTED),
        "missing_others": _listed(n for n in missing if n not in REPORTED),
        "counts": _counts(results),
    }


def _numbers(results: Results) -> set[int | None]:
    ran = results.small["NI", PRINTED].outcomes
    return {data.number for data in results.sets if data.name in ran}


def _listed(numbers: Iterable[int]) -> str:
    return ", ".join(map(str, numbers)) or "none"


def _counts(results: Results) -> str:
    ran = len(results.small["NI", PRINTED].outcomes)
    cells = [
        f"{task}, {constants} constants: {len(results.meaningful(task, constants))} of {ran}"
        for task in ("NI", "NI+LR")
        for constants in CONSTANTS
    ]
    return "; ".join(cells)


def fill(template: str, values: Mapping[str, str]) -> str:
    """Return the page, with every {{name}} of the template replaced; all names must exist."""
    return re.sub(r"\{\{(\w+)\}\}", lambda match: values[match.group(1)], template)
