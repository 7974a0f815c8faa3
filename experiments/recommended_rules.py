"""The recommended rules: their losses, ablations, calibration, CPU time, and drift."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

from chacha import ChaCha, Interactions, LogUniform, Space
from chacha.compare import METHODS, Calibration, CalibrationStudy, CommonSettings, Method, Stream
from chacha.compare.result_cache import ResultCache, cache_key
from chacha.resources import cores, cpu_seconds
from chacha.rules import FromScratch
from chacha.rules.contest import ChampionServes, ContestRules, Moves, PairedBernstein, Screening
from chacha.source_profile import with_log_target
from chacha.sources import DictReader
from datasets import DataSet, stream_of
from results_page import table
from tuning_tasks import SPACES, TaskResults, TaskRunner, TuningTask

__all__ = ["LIMIT", "MAIN", "MORE", "recommended_values"]

MAIN = (
    *("fried", "mv", "2dplanes", "pol", "houses", "house_8L", "NewFuelCar", "BNG_echoMonths"),
    *("BNG_lowbwt", "house_16H", "diamonds", "Bike_Sharing_Demand", "beijing_pm25"),
    "vic_elec_demand",
)
"""The data sets of the geometric means."""
MORE = (
    *("house_sales", "steel_energy", "gas_turbine_nox", "london_air_nox", "uk_grid_demand"),
    *("nyc_taxi_green_2022_2023", "BNG_breastTumor", "elevators"),
)
"""More data sets, for the worst case."""
SEEDS, LIMIT = 3, 60_000
METHOD_NAMES = ("naive", "paper", "flaml", "chacha", "all-pairs", "best-fixed")
CALIBRATED = ("fried", "beijing_pm25", "vic_elec_demand", "london_air_nox")


def _ablated(changes: Mapping[str, Any], moves: Mapping[str, Any], **settings: Any) -> ChaCha:
    """Return the recommended rules with some parts replaced."""
    space = settings["space"].with_recommended_rates()
    settings.pop("evidence", None)
    oracle = Moves(space, settings["seed"], **moves) if moves else None
    rules = ContestRules(oracle=oracle, **changes)
    return ChaCha(**{**settings, "rules": rules, "space": space})


def _ablation(name: str, moves: Mapping[str, Any] | None = None, **changes: Any) -> Method:
    return Method(name, name, partial(_ablated, changes, moves or {}), METHODS["chacha"].seed_use)


ABLATIONS = (
    _ablation("from scratch", starting=FromScratch()),
    _ablation("no screening", screening=Screening(share=0.0)),
    _ablation("no blending", blending=ChampionServes()),
    _ablation("Bernstein test", evidence=PairedBernstein()),
    _ablation("one product at a time", moves={"grow": 0.0, "free": 0}),
    _ablation("no squares", moves={"squares": False}),
    _ablation("pairs only", moves={"order": 2}),
    _ablation("first lease 250", first_lease=250),
    _ablation("first lease 4000", first_lease=4000),
)


class RulesResults(NamedTuple):
    """The results of both tasks on all data sets."""

    sets: Sequence[DataSet]
    tasks: Mapping[str, TaskResults]

    def relative(self, task: str, name: str, method: str) -> float:
        """Return a method's loss divided by naive's."""
        return self.tasks[task].scores(name)[method].relative or math.nan

    def main(self) -> list[DataSet]:
        """Return the data sets of the geometric mean; all sets if none of these exists."""
        return [data for data in self.sets if data.name in MAIN] or list(self.sets)

    def mean(self, task: str, method: str) -> float:
        """Return the geometric mean of the relative losses."""
        losses = [self.relative(task, data.name, method) for data in self.main()]
        return math.exp(fmean(map(math.log, losses)))

    def worst(self, task: str, method: str) -> tuple[float, str]:
        """Return the largest relative loss and its data set."""
        return max((self.relative(task, data.name, method), data.name) for data in self.sets)


def recommended_values(runner: TaskRunner, limit: int, runs: int, out: Path) -> dict[str, str]:
    """Return the tables of the page's part on the recommended rules."""
    sets = [data for data in runner.sets if data.name in (*MAIN, *MORE)] or list(runner.sets)
    limit = min(limit, LIMIT)
    methods: list[str | Method] = [*METHOD_NAMES, *ABLATIONS]
    tasks = {
        task: runner.run(TuningTask(task, limit), methods, sets, SEEDS) for task in ("NI", "NI+LR")
    }
    complete = [data for data in sets if all(data.name in r.outcomes for r in tasks.values())]
    results = RulesResults(complete, tasks)
    sources = [(data.name, data.source) for data in sets]
    cached = partial(_cached_text, ResultCache(runner.cache_dir), sources, limit)
    return {
        "recommended_sets": "\n\n".join(f"{task}:\n\n{_sets(results, task)}" for task in tasks),
        "recommended_summary": _summary(results),
        "recommended_ablations": _ablations(results),
        "recommended_serving": _serving(results),
        "recommended_nulls": cached(
            f"nulls of {runs} runs", partial(_nulls_table, sets, limit, runs, out)
        ),
        "recommended_cpu": cached("cpu", partial(_cpu, complete, limit)),
        "recommended_drift": _drift(min(limit, LIMIT)),
    }


def _cached_text(
    cache: ResultCache, about: object, limit: int, what: str, make: Callable[[], str]
) -> str:
    """Return a text that is computed once and cached."""
    key = cache_key(what=what, about=about, limit=limit)
    if (data := cache.get(key)) is None:
        data = {"text": make()}
        cache.put(key, data)
    return str(data["text"])


def _sets(results: RulesResults, task: str) -> str:
    """Return the relative loss of every set."""
    methods = METHOD_NAMES[1:]
    rows = [
        [data.title, *(f"{results.relative(task, data.name, m):.3f}" for m in methods)]
        for data in results.sets
    ]
    rows.append(["geometric mean", *(f"**{results.mean(task, m):.3f}**" for m in methods)])
    return table(["data set", *methods], rows)


def _summary(results: RulesResults) -> str:
    rows = []
    for method in METHOD_NAMES[1:]:
        cells = [method]
        for task in results.tasks:
            worst, where = results.worst(task, method)
            spread = [
                results.tasks[task].scores(d.name)[method].relative_sd or 0 for d in results.sets
            ]
            cells += [f"{results.mean(task, method):.3f}", f"{worst:.3f} ({where})"]
            cells.append(f"{fmean(spread):.4f}")
        rows.append(cells)
    head = ["method"]
    for task in results.tasks:
        head += [f"{task}: mean", "worst", "sd over seeds"]
    return table(head, rows)


def _ablations(results: RulesResults) -> str:
    rows = []
    for method in ("chacha", *(variant.name for variant in ABLATIONS)):
        cells = [method]
        for task in results.tasks:
            worst, where = results.worst(task, method)
            cells += [f"{results.mean(task, method):.3f}", f"{worst:.3f} ({where})"]
        rows.append(cells)
    return table(["rules", "NI: mean", "worst", "NI+LR: mean", "worst"], rows)


def _serving(results: RulesResults) -> str:
    """Return what blending changes; decisions stay, so the champion alone is an ablation."""
    rows = []
    for task in results.tasks:
        ratios = {
            data.name: results.relative(task, data.name, "chacha")
            / results.relative(task, data.name, "no blending")
            for data in results.sets
        }
        worst = max(ratios, key=ratios.__getitem__)
        mean = math.exp(fmean(map(math.log, ratios.values())))
        rows.append([task, f"{mean:.3f}", f"{ratios[worst]:.3f} ({worst})"])
    return table(["task", "served ÷ champion alone, mean", "worst"], rows)


def _nulls_table(sets: Sequence[DataSet], limit: int, runs: int, out: Path) -> str:
    head = ["stream", "examples", "runs with a promotion", "rate", "95% interval"]
    return table(head, _null_rows(sets, limit, runs, cores(), out))


def _null_rows(
    sets: Sequence[DataSet], limit: int, runs: int, jobs: int, out: Path
) -> Iterator[Sequence[str]]:
    """Yield the false promotions on generated streams and on real ones."""
    streams = [(name, Stream(str(path))) for name, path in _null_streams(out, min(limit, 5000))]
    chosen = [data for data in sets if data.name in CALIBRATED] or list(sets)[:1]
    streams += [(data.title, stream_of(data, min(limit, 10_000))) for data in chosen]
    for name, stream in streams:
        settings = CommonSettings(space=SPACES["NI+LR"])
        study = CalibrationStudy(stream, settings=settings, runs=runs, workers=jobs)
        for _ in study.run():
            pass
        result = study.result
        assert result is not None
        yield [name, str(result.examples), f"{result.false} of {result.runs}", *_rate(result)]


def _rate(calibration: Calibration) -> list[str]:
    low, high = calibration.interval
    return [f"{calibration.rate:.1%}", f"{low:.1%} to {high:.1%}"]


def _null_streams(out: Path, rows: int) -> Iterator[tuple[str, Path]]:
    """Write streams with several kinds of noise, in which no feature says anything."""
    rng = random.Random(0)
    walk = [0.0]
    for _ in range(rows):
        walk.append(walk[-1] + rng.gauss(0, 0.02))

    def student(t: int) -> float:
        return rng.gauss(0, 1) / math.sqrt(rng.gammavariate(1.0, 1.0))  # two degrees of freedom

    kinds: dict[str, Callable[[int], float]] = {
        "noise": lambda t: rng.gauss(0, 1),
        "heavy-tailed noise": student,
        "drifting noise": lambda t: walk[t] + math.exp(walk[t]) * rng.gauss(0, 1),
    }
    out.mkdir(parents=True, exist_ok=True)
    for name, draw in kinds.items():
        lines = (
            " ".join([f"{draw(t):.6f}", *(f"|{g} x:{rng.gauss(0, 1):.4f}" for g in "abcde")])
            for t in range(rows)
        )
        path = out / f"{name.replace(' ', '-')}.vw"
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        yield name, path


def _pass(make: Callable[[], ChaCha], data: DataSet, limit: int) -> tuple[ChaCha, float]:
    """Return a model after a pass, and the CPU seconds of the faster of two passes."""
    best = math.inf
    for _ in range(2):
        model = make()
        stream = stream_of(data, limit)
        source = with_log_target(stream.open(DictReader(), None), stream.log_target)
        began = cpu_seconds()
        for _chunk in model.chunks(source, limit=limit):
            pass
        best = min(best, cpu_seconds() - began)
    return model, best


def _cpu(sets: Iterable[DataSet], limit: int) -> str:
    """Return the CPU time relative to the paper's rules that begin with our last champion."""
    ratios: dict[str, float] = {}
    for data in sets:
        recommended = partial(ChaCha, space=SPACES["NI+LR"].with_recommended_rates())
        ours, seconds = _pass(recommended, data, limit)
        champion = ours.champion
        space = Space.of({"interactions": Interactions(), "learning_rate": LogUniform(2e-10, 512)})
        init = {"interactions": champion.interactions, **champion.values}
        _, theirs = _pass(partial(ChaCha.paper, space=space, init=init), data, limit)
        ratios[data.name] = seconds / theirs
    worst = max(ratios, key=ratios.__getitem__)
    mean = math.exp(fmean(map(math.log, ratios.values())))
    return f"geometric mean {mean:.2f}, at most {ratios[worst]:.2f} ({worst})"


def _drift(rows: int) -> str:
    """Return the losses before and after the right products of a stream change half-way."""
    lines: list[Sequence[str]] = []
    models: dict[str, Callable[[], ChaCha]] = {
        "naive": partial(ChaCha.paper, budget=1),
        "paper": ChaCha.paper,
        "flaml": ChaCha.flaml,
        "chacha": ChaCha,
    }
    half = rows // 2
    for name, make in models.items():
        model = make()
        source = model.open(f"synth:drift,n={rows},seed=1")
        before = 0.0
        ends = iter((half, rows))
        end = next(ends)
        for _ in model.chunks(source, until=lambda: end):  # noqa: B023
            if model.examples == half:
                before, end = model.served.total, next(ends)
        losses = before / half, (model.served.total - before) / (rows - half)
        lines.append([name, *(f"{loss:.4f}" for loss in losses), str(model.promotions)])
    return table(["method", "first half", "second half", "promotions"], lines)
