"""The paper's evaluation again: tables, figures and claims, with its numbers beside ours.

    make paper DATA=DIR               # data sets as files, with an INDEX.tsv
    make paper OPENML=1               # or fetched from openml.org by number (both: what DIR lacks)

Writes OUT/results.md and OUT/figures. What was run is kept in out/paper, and not run again.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from matplotlib.figure import Figure

from beside_flaml import beside_lines, run_beside
from beyond import beyond_values
from chacha import ChaChaError
from chacha.compare import Outcome
from chacha.compare.figures import curves_figure, save
from chacha.compare.result_cache import Kept
from claims import claim_lines
from datasets import DataSet, find_sets
from drawings import Bar, bars, drift
from featurised import feature_values
from results_page import Results, claim_scores, fill, scores_of, tables
from tasks import AUTHORS, PRINTED, Found, Lab, Task
from variants import NUMBERS_FIRST, RESTARTED

HERE = Path(__file__).parent
NI = ("naive", "random", "exhaustive", "paper", "aggressive", "no-champion")
NI_LR = NI[:4]
SMALL, LARGE = 100_000, 1_000_000
DEMONSTRATION = ("41506",)  # data sets by number or name, the first that is there
SMALL_CURVES = ("41506",)
LARGE_CURVES = ("5648", "1201")
DRIFT = ("42183", "london_air_nox")
Figures = dict[str, Figure]


def main() -> None:
    """Run what has not been run, then write the page."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, help="a folder with an INDEX.tsv")
    parser.add_argument("--openml", action="store_true", help="fetch what is not in the folder")
    parser.add_argument("--out", type=Path, default=Path("out/paper"), help="where to write")
    parser.add_argument("--kept", type=Path, default=Path("out/paper/kept"), help="what was run")
    parser.add_argument("--jobs", type=int, help="processes; all cores by default, 0: this one")
    parser.add_argument("--no-flaml", action="store_true", help="do not run FLAML's AutoVW")
    parser.add_argument("--limit", type=int, default=SMALL, help="examples of the main study")
    parser.add_argument("--runs", type=int, default=400, help="of every calibration")
    given = parser.parse_args()
    try:
        sets = find_sets(given.data, given.openml)
        lab = Lab(sets, given.kept, given.jobs)
        results = run_all(lab, given.limit)
        values = tables(results)
        figures = draw_all(lab, results, given.limit)
        values |= beside(sets, given)
        values |= beyond_values(lab, given.limit, given.runs, given.kept.parent / "nulls")
        values |= feature_values(lab, given.data, given.limit)
    except ChaChaError as error:
        sys.exit(f"paper: {error}")
    values["claims"] = "\n".join(claim_lines(claim_scores(results)))
    values["failures"] = "\n".join(f"- {failure}" for failure in lab.failures) or "Nothing."
    values["cpu"] = f"{cpu_of(results) / 60:.0f}"
    write(given.out, values, figures)


def run_all(lab: Lab, limit: int) -> Results:
    """Both tasks with both constants, up to `limit` and up to 1M examples."""
    found: dict[tuple[str, str], Found] = {}
    large: dict[tuple[str, str], Found] = {}
    for constants in (PRINTED, AUTHORS):
        for task, methods in (("NI", NI), ("NI+LR", NI_LR)):
            found[task, constants] = lab.run(Task(task, limit, constants), methods, lab.sets)
    first = found["NI", PRINTED].outcomes
    long = [d for d in lab.sets if d.name in first and first[d.name]["naive"][0].examples >= limit]
    for constants in (PRINTED, AUTHORS):
        for task in ("NI", "NI+LR"):
            large[task, constants] = lab.run(Task(task, LARGE, constants), NI_LR, long)
    ordered = lab.run(
        Task("NI+LR", limit, AUTHORS), ["naive", "exhaustive", *NUMBERS_FIRST], lab.sets
    )
    restarted = lab.run(Task("NI", limit, AUTHORS), ["naive", "exhaustive", *RESTARTED], lab.sets)
    return Results(lab.sets, found, large, ordered, restarted)


def pick(results: Results, wanted: Sequence[str]) -> DataSet:
    """The first of some data sets that is there, else the largest."""
    ran = results.found["NI", PRINTED].outcomes
    sets = [data for data in results.sets if data.name in ran]
    for name in wanted:
        for data in sets:
            if name in (data.name, str(data.number)):
                return data
    return max(sets, key=lambda data: ran[data.name]["naive"][0].examples)


def draw_all(lab: Lab, results: Results, limit: int) -> Figures:
    """Every figure, by its name."""
    figures: Figures = {}
    printed, authors = results.found["NI", PRINTED], results.found["NI", AUTHORS]
    demo = pick(results, DEMONSTRATION)
    runs = {
        "naive": printed.outcomes[demo.name]["naive"],
        "paper": printed.outcomes[demo.name]["paper"],
        "flaml": authors.outcomes[demo.name]["paper"],
    }
    figures["demonstration"] = curves_figure({demo.title: runs})
    for name, wanted in (("small", SMALL_CURVES), ("large", LARGE_CURVES)):
        data = pick(results, wanted)
        figures[f"curves-{name}"] = curves_figure(
            {f"{data.title}: {t}": curve_runs(results, data, t) for t in ("NI", "NI+LR")}
        )
    figures["scores"] = bars(
        {f"{task}, up to {limit} examples": groups(results, task) for task in ("NI", "NI+LR")}
    )
    figures["ablations"] = bars(
        {f"NI, {c} constants": ablation_groups(results, c) for c in (PRINTED, AUTHORS)}
    )
    grown = results._replace(found=results.large)
    figures["scores-1m"] = bars(
        {f"{task}, up to 1M examples": groups(grown, task) for task in ("NI", "NI+LR")}
    )
    data = pick(results, DRIFT)
    methods = ["naive", "random", "exhaustive", "paper", "flaml", "offline"]
    drifted = lab.run(Task("NI", limit), methods, [data])
    figures["drift"] = drift(drifted.outcomes[data.name], f"{data.title}: NI")
    return figures


def curve_runs(results: Results, data: DataSet, task: str) -> Mapping[str, Sequence[Outcome]]:
    """The runs of a figure of curves: ChaCha with both constants."""
    here = results.found[task, PRINTED].outcomes[data.name]
    authors = results.found[task, AUTHORS].outcomes[data.name]
    shown = {method: here[method] for method in ("naive", "random", "exhaustive", "paper")}
    return {**shown, "flaml": authors["paper"]}


def groups(results: Results, task: str) -> dict[str, list[Bar]]:
    """Random and ChaCha on every set that is meaningful with the printed constants."""
    found: dict[str, list[Bar]] = {}
    for data in results.meaningful(task, PRINTED):
        here = scores_of(results.found[task, PRINTED], data.name)
        made = [Bar("Random", *here["random"]), Bar("ChaCha, printed", *here["chacha"])]
        if results.found[task, AUTHORS].meaningful(data.name):
            there = scores_of(results.found[task, AUTHORS], data.name)
            made.append(Bar("ChaCha, authors'", *there["chacha"]))
        found[data.name] = made
    return found


def ablation_groups(results: Results, constants: str) -> dict[str, list[Bar]]:
    """ChaCha and its two ablations on every meaningful set."""
    labels = {"chacha": f"ChaCha, {constants}", "aggressive": "Aggressive"}
    labels["no-champion"] = "w/o Champion"
    return {
        data.name: [Bar(label, *scores[key]) for key, label in labels.items()]
        for data in results.meaningful("NI", constants)
        for scores in [scores_of(results.found["NI", constants], data.name)]
    }


def beside(sets: Sequence[DataSet], given: argparse.Namespace) -> dict[str, str]:
    """FLAML's AutoVW beside ours, if it can be run here."""
    if given.no_flaml:
        return {"flaml": "Not run (`FLAML=0`)."}
    found, why_not = run_beside(sets, given.kept.parent / "text", Kept(given.kept))
    if why_not or not found:
        return {"flaml": why_not or "None of the four data sets is there."}
    versions = found[0].flaml[0]["versions"]
    told = ", ".join(f"{name} {version}" for name, version in versions.items())
    return {"flaml": "\n".join([*beside_lines(found), "", f"Versions: {told}."])}


def cpu_of(results: Results) -> float:
    """What all runs took."""
    every = [*results.found.values(), *results.large.values()]
    every += [results.numbers_first, results.restarted]
    return sum(
        outcome.cpu_seconds
        for found in every
        for methods in found.outcomes.values()
        for outcomes in methods.values()
        for outcome in {id(o): o for o in outcomes}.values()
    )


def write(out: Path, values: Mapping[str, str], figures: Figures) -> None:
    """The page and its figures."""
    (out / "figures").mkdir(parents=True, exist_ok=True)
    for name, figure in figures.items():
        for ending in ("svg", "png"):
            save(figure, out / "figures" / f"{name}.{ending}")
    page = fill((HERE / "results.md").read_text(encoding="utf-8"), values)
    (out / "results.md").write_text(page, encoding="utf-8")
    print(out / "results.md")


if __name__ == "__main__":
    main()
