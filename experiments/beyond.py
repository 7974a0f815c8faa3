"""Past the paper: what the recommended rules reach, what each part gives, how often they err."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

from chacha import ChaCha, Interactions, LogUniform, Space
from chacha.compare import METHODS, Calibrating, Calibration, CommonSettings, Method, Stream
from chacha.compare.result_cache import Kept, key_of
from chacha.resources import cores, cpu_seconds
from chacha.rules import FromScratch
from chacha.rules.contest import ChampionServes, Moves, PairedBernstein, Screening
from chacha.source_profile import with_log_target
from chacha.sources import DictReader
from datasets import DataSet, stream_of
from results_page import table
from tasks import SPACES, Found, Lab, Task

__all__ = ["beyond_values"]

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
"""More, for the worst case."""
SEEDS, LIMIT = 3, 60_000
BESIDE = ("naive", "paper", "flaml", "chacha", "all-pairs", "best-fixed")
TIMED = ("fried", "beijing_pm25", "vic_elec_demand", "london_air_nox")  # calibrated on


def _changed(changes: Mapping[str, Any], moves: Mapping[str, Any], **settings: Any) -> ChaCha:
    """The recommended rules with some parts replaced."""
    space = settings["space"].with_recommended_rates()
    if moves:
        settings["oracle"] = Moves(space, settings["seed"], **moves)
    settings.pop("evidence", None)
    return ChaCha(**{**settings, **changes, "space": space})


def _variant(name: str, moves: Mapping[str, Any] | None = None, **changes: Any) -> Method:
    return Method(name, name, partial(_changed, changes, moves or {}), METHODS["chacha"].draws)


ABLATIONS = (
    _variant("from scratch", starting=FromScratch()),
    _variant("no screening", screening=Screening(share=0.0)),
    _variant("no blending", blending=ChampionServes()),
    _variant("Bernstein test", evidence=PairedBernstein()),
    _variant("one product at a time", moves={"grow": 0.0, "free": 0}),
    _variant("no squares", moves={"squares": False}),
    _variant("pairs only", moves={"order": 2}),
    _variant("first lease 250", first_lease=250),
    _variant("first lease 4000", first_lease=4000),
)


class Parts(NamedTuple):
    """What was run."""

    sets: Sequence[DataSet]
    found: Mapping[str, Found]  # by task

    def relative(self, task: str, name: str, method: str) -> float:
        """A method's loss divided by naive's."""
        return self.found[task].rows(name)[method].relative or math.nan

    def main(self) -> list[DataSet]:
        """Those of the geometric mean; all, if none of them is there."""
        return [data for data in self.sets if data.name in MAIN] or list(self.sets)

    def mean(self, task: str, method: str) -> float:
        """The geometric mean of loss ÷ naive's."""
        every = [self.relative(task, data.name, method) for data in self.main()]
        return math.exp(fmean(map(math.log, every)))

    def worst(self, task: str, method: str) -> tuple[float, str]:
        """The largest loss ÷ naive's, and where."""
        return max((self.relative(task, data.name, method), data.name) for data in self.sets)


def beyond_values(lab: Lab, limit: int, runs: int, out: Path) -> dict[str, str]:
    """The tables of the page's last part."""
    sets = [data for data in lab.sets if data.name in (*MAIN, *MORE)] or list(lab.sets)
    limit = min(limit, LIMIT)
    methods: list[str | Method] = [*BESIDE, *ABLATIONS]
    found = {task: lab.run(Task(task, limit), methods, sets, SEEDS) for task in ("NI", "NI+LR")}
    ran = [data for data in sets if all(data.name in f.outcomes for f in found.values())]
    parts = Parts(ran, found)
    keep = partial(_once, Kept(lab.home), [(data.name, data.source) for data in sets], limit)
    return {
        "beyond_sets": "\n\n".join(f"{task}:\n\n{_sets(parts, task)}" for task in found),
        "beyond_summary": _summary(parts),
        "beyond_ablations": _ablations(parts),
        "beyond_serving": _serving(parts),
        "beyond_nulls": keep(
            f"nulls of {runs} runs", partial(_nulls_table, sets, limit, runs, out)
        ),
        "beyond_cpu": keep("cpu", partial(_cpu, ran, limit)),
        "beyond_drift": _drift(min(limit, LIMIT)),
    }


def _once(kept: Kept, about: object, limit: int, what: str, make: Callable[[], str]) -> str:
    """A text that is made once, and kept."""
    key = key_of(what=what, about=about, limit=limit)
    if (found := kept.get(key)) is None:
        found = {"told": make()}
        kept.put(key, found)
    return str(found["told"])


def _sets(parts: Parts, task: str) -> str:
    """Loss ÷ naive's of every set."""
    methods = BESIDE[1:]
    rows = [
        [data.title, *(f"{parts.relative(task, data.name, m):.3f}" for m in methods)]
        for data in parts.sets
    ]
    rows.append(["geometric mean", *(f"**{parts.mean(task, m):.3f}**" for m in methods)])
    return table(["data set", *methods], rows)


def _summary(parts: Parts) -> str:
    rows = []
    for method in BESIDE[1:]:
        cells = [method]
        for task in parts.found:
            worst, where = parts.worst(task, method)
            spread = [parts.found[task].rows(d.name)[method].relative_sd or 0 for d in parts.sets]
            cells += [f"{parts.mean(task, method):.3f}", f"{worst:.3f} ({where})"]
            cells.append(f"{fmean(spread):.4f}")
        rows.append(cells)
    head = ["method"]
    for task in parts.found:
        head += [f"{task}: mean", "worst", "sd over seeds"]
    return table(head, rows)


def _ablations(parts: Parts) -> str:
    rows = []
    for method in ("chacha", *(variant.name for variant in ABLATIONS)):
        cells = [method]
        for task in parts.found:
            worst, where = parts.worst(task, method)
            cells += [f"{parts.mean(task, method):.3f}", f"{worst:.3f} ({where})"]
        rows.append(cells)
    return table(["rules", "NI: mean", "worst", "NI+LR: mean", "worst"], rows)


def _serving(parts: Parts) -> str:
    """What blending changes: decisions are the same, so the champion alone is an ablation."""
    rows = []
    for task in parts.found:
        ratios = {
            data.name: parts.relative(task, data.name, "chacha")
            / parts.relative(task, data.name, "no blending")
            for data in parts.sets
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
    """False promotions on made streams and on real ones."""
    streams = [(name, Stream(str(path))) for name, path in _nulls(out, min(limit, 5000))]
    chosen = [data for data in sets if data.name in TIMED] or list(sets)[:1]
    streams += [(data.title, stream_of(data, min(limit, 10_000))) for data in chosen]
    for name, stream in streams:
        calibrating = Calibrating(stream, settings=_both(), runs=runs, workers=jobs)
        for _ in calibrating.run():
            pass
        found = calibrating.result
        assert found is not None
        yield [name, str(found.examples), f"{found.false} of {found.runs}", *_rate(found)]


def _both() -> CommonSettings:
    return CommonSettings(space=SPACES["NI+LR"])


def _rate(found: Calibration) -> list[str]:
    low, high = found.interval
    return [f"{found.rate:.1%}", f"{low:.1%} to {high:.1%}"]


def _nulls(out: Path, rows: int) -> Iterator[tuple[str, Path]]:
    """Streams of noise: its kind is what differs. Nothing can be learned from the features."""
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
    """A model after a pass, and the CPU seconds of the faster of two."""
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
    """CPU time beside a run of the paper's rules that begins with our last champion."""
    ratios: dict[str, float] = {}
    for data in sets:
        raw = partial(ChaCha, space=SPACES["NI+LR"].with_recommended_rates())
        ours, seconds = _pass(raw, data, limit)
        champion = ours.champion
        space = Space.of({"interactions": Interactions(), "learning_rate": LogUniform(2e-10, 512)})
        init = {"interactions": champion.interactions, **champion.values}
        _, theirs = _pass(partial(ChaCha.paper, space=space, init=init), data, limit)
        ratios[data.name] = seconds / theirs
    worst = max(ratios, key=ratios.__getitem__)
    mean = math.exp(fmean(map(math.log, ratios.values())))
    told = f"geometric mean {mean:.2f}, at most {ratios[worst]:.2f} ({worst})"
    return f"CPU time ÷ that of the paper's rules with our last champion as their first: {told}."


def _drift(rows: int) -> str:
    """A stream whose right products change half-way: the loss before and after."""
    made: list[Sequence[str]] = []
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
        made.append([name, *(f"{loss:.4f}" for loss in losses), str(model.promotions)])
    return table(["method", "first half", "second half", "promotions"], made)
