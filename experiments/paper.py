"""The paper's evaluation: tables, figures and claims, with the paper's numbers beside ours.

    make paper DATA=DIR               # data sets as files, with an INDEX.tsv
    make paper OPENML=1               # from openml.org by number (with DATA: sets not in DIR)

Writes OUT/results.md and OUT/figures. Finished runs are cached in out/paper and not repeated.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from matplotlib.figure import Figure

from authors_variants import NUMBERS_FIRST, RESTARTED
from chacha import ChaChaError
from chacha.compare import Outcome
from chacha.compare.figures import curves_figure, save
from chacha.compare.result_cache import ResultCache
from datasets import DataSet, find_sets
from derived_features import feature_values
from flaml_comparison import compare_with_flaml, comparison_lines
from paper_claims import claim_lines
from paper_figures import Bar, bars_figure, drift_figure
from recommended_rules import recommended_values
from results_page import Results, claim_scores, fill, scores_of, tables
from tuning_tasks import AUTHORS, PRINTED, TaskResults, TaskRunner, TuningTask

HERE = Path(__file__).parent
NI = ("naive", "random", "exhaustive", "paper", "aggressive", "no-champion")
NI_LR = NI[:4]
SMALL, LARGE = 100_000, 1_000_000
DEMONSTRATION = ("41506",)  # data sets by number or name; the first that exists is shown
SMALL_CURVES = ("41506",)
LARGE_CURVES = ("5648", "1201")
DRIFT = ("42183", "london_air_nox")
Figures = dict[str, Figure]


def main() -> None:
    """Run everything that is not cached, then write the page."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, help="a folder with an INDEX.tsv")
    parser.add_argument("--openml", action="store_true", help="fetch sets that the folder lacks")
    parser.add_argument(
        "--out", type=Path, default=Path("out/paper"), help="the folder to write to"
    )
    parser.add_argument(
        "--kept", dest="cache", type=Path, default=Path("out/paper/kept"), help="cached runs"
    )
    parser.add_argument(
        "--jobs", type=int, help="processes; one for each core by default, 0: only this one"
    )
    parser.add_argument("--no-flaml", action="store_true", help="do not run FLAML's AutoVW")
    parser.add_argument("--limit", type=int, default=SMALL, help="examples of the main study")
    parser.add_argument("--runs", type=int, default=400, help="runs of every calibration")
    options = parser.parse_args()
    try:
        sets = find_sets(options.data, options.openml)
        runner = TaskRunner(sets, options.cache, options.jobs)
        results = run_all(runner, options.limit)
        values = tables(results)
        figures = draw_all(runner, results, options.limit)
        values |= flaml_values(sets, options)
        nulls = options.cache.parent / "nulls"
        values |= recommended_values(runner, options.limit, options.runs, nulls)
        values |= feature_values(runner, options.data, options.limit)
    except ChaChaError as error:
        sys.exit(f"paper: {error}")
    values["claims"] = "\n".join(claim_lines(claim_scores(results)))
    values["failures"] = "\n".join(f"- {failure}" for failure in runner.failures) or "None."
    values["cpu"] = f"{cpu_of(results) / 60:.0f}"
    write(options.out, values, figures)


def run_all(runner: TaskRunner, limit: int) -> Results:
    """Run both tasks with both constants, up to `limit` and up to 1M examples."""
    sets = runner.sets
    small: dict[tuple[str, str], TaskResults] = {}
    large: dict[tuple[str, str], TaskResults] = {}
    for constants in (PRINTED, AUTHORS):
        for name, methods in (("NI", NI), ("NI+LR", NI_LR)):
            small[name, constants] = runner.run(TuningTask(name, limit, constants), methods, sets)
    first = small["NI", PRINTED].outcomes
    long = [d for d in sets if d.name in first and first[d.name]["naive"][0].examples >= limit]
    for constants in (PRINTED, AUTHORS):
        for name in ("NI", "NI+LR"):
            large[name, constants] = runner.run(TuningTask(name, LARGE, constants), NI_LR, long)
    baselines = ("naive", "exhaustive")
    numbers_first = runner.run(
        TuningTask("NI+LR", limit, AUTHORS), [*baselines, *NUMBERS_FIRST], sets
    )
    restarted = runner.run(TuningTask("NI", limit, AUTHORS), [*baselines, *RESTARTED], sets)
    return Results(sets, small, large, numbers_first, restarted)


def pick(results: Results, wanted: Sequence[str]) -> DataSet:
    """Return the first of some data sets that exists, else the largest."""
    outcomes = results.small["NI", PRINTED].outcomes
    sets = [data for data in results.sets if data.name in outcomes]
    for name in wanted:
        for data in sets:
            if name in (data.name, str(data.number)):
                return data
    return max(sets, key=lambda data: outcomes[data.name]["naive"][0].examples)


def draw_all(runner: TaskRunner, results: Results, limit: int) -> Figures:
    """Return every figure by its name."""
    figures: Figures = {}
    printed, authors = results.small["NI", PRINTED], results.small["NI", AUTHORS]
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
    figures["scores"] = bars_figure(
        {f"{task}, up to {limit} examples": groups(results, task) for task in ("NI", "NI+LR")}
    )
    figures["ablations"] = bars_figure(
        {f"NI, {c} constants": ablation_groups(results, c) for c in (PRINTED, AUTHORS)}
    )
    grown = results._replace(small=results.large)
    figures["scores-1m"] = bars_figure(
        {f"{task}, up to 1M examples": groups(grown, task) for task in ("NI", "NI+LR")}
    )
    data = pick(results, DRIFT)
    methods = ["naive", "random", "exhaustive", "paper", "flaml", "offline"]
    drifting = runner.run(TuningTask("NI", limit), methods, [data])
    figures["drift"] = drift_figure(drifting.outcomes[data.name], f"{data.title}: NI")
    return figures


def curve_runs(results: Results, data: DataSet, task: str) -> Mapping[str, Sequence[Outcome]]:
    """Return the runs of a figure of curves: ChaCha with both constants."""
    printed = results.small[task, PRINTED].outcomes[data.name]
    authors = results.small[task, AUTHORS].outcomes[data.name]
    shown = {method: printed[method] for method in ("naive", "random", "exhaustive", "paper")}
    return {**shown, "flaml": authors["paper"]}


def groups(results: Results, task: str) -> dict[str, list[Bar]]:
    """Return the bars of Random and ChaCha on every set that is meaningful as printed."""
    bars: dict[str, list[Bar]] = {}
    for data in results.meaningful(task, PRINTED):
        printed = scores_of(results.small[task, PRINTED], data.name)
        group = [Bar("Random", *printed["random"]), Bar("ChaCha, printed", *printed["chacha"])]
        if results.small[task, AUTHORS].is_meaningful(data.name):
            authors = scores_of(results.small[task, AUTHORS], data.name)
            group.append(Bar("ChaCha, authors'", *authors["chacha"]))
        bars[data.name] = group
    return bars


def ablation_groups(results: Results, constants: str) -> dict[str, list[Bar]]:
    """Return the bars of ChaCha and its two ablations on every meaningful set."""
    labels = {"chacha": f"ChaCha, {constants}", "aggressive": "Aggressive"}
    labels["no-champion"] = "w/o Champion"
    return {
        data.name: [Bar(label, *scores[key]) for key, label in labels.items()]
        for data in results.meaningful("NI", constants)
        for scores in [scores_of(results.small["NI", constants], data.name)]
    }


def flaml_values(sets: Sequence[DataSet], options: argparse.Namespace) -> dict[str, str]:
    """Return the table of FLAML's AutoVW beside our preset, if FLAML runs here."""
    if options.no_flaml:
        return {"flaml": "Not run (`FLAML=0`)."}
    cache = ResultCache(options.cache)
    comparisons, error = compare_with_flaml(sets, options.cache.parent / "text", cache)
    if error or not comparisons:
        return {"flaml": error or "None of the four data sets is there."}
    versions = comparisons[0].flaml[0]["versions"]
    numbers = ", ".join(f"{name} {version}" for name, version in versions.items())
    return {"flaml": "\n".join([*comparison_lines(comparisons), "", f"Versions: {numbers}."])}


def cpu_of(results: Results) -> float:
    """Return the CPU seconds of all runs."""
    tasks = [*results.small.values(), *results.large.values()]
    tasks += [results.numbers_first, results.restarted]
    return sum(
        outcome.cpu_seconds
        for task in tasks
        for methods in task.outcomes.values()
        for outcomes in methods.values()
        for outcome in {id(o): o for o in outcomes}.values()
    )


def write(out: Path, values: Mapping[str, str], figures: Figures) -> None:
    """Write the page and its figures."""
    (out / "figures").mkdir(parents=True, exist_ok=True)
    for name, figure in figures.items():
        for suffix in ("svg", "png"):
            save(figure, out / "figures" / f"{name}.{suffix}")
    page = fill((HERE / "results.md").read_text(encoding="utf-8"), values)
    (out / "results.md").write_text(page, encoding="utf-8")
    print(out / "results.md")


if __name__ == "__main__":
    main()
