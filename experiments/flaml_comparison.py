"""FLAML's AutoVW itself beside our `flaml` preset, on the same lines of VW text.

The text is that of the authors: one letter for a group, no space before a bar, zeros written.
"""

from __future__ import annotations

import csv
import gzip
import hashlib
import json
import math
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean, pstdev
from typing import Any

from chacha import SampleComplexity
from chacha.compare import CommonSettings, Outcome, Stream, Study
from chacha.compare.result_cache import ResultCache
from chacha.resources import cores
from chacha.source_profile import SourceProfile
from chacha.sources import LogTarget
from datasets import DataSet

__all__ = ["FlamlComparison", "compare_with_flaml", "comparison_lines", "write_authors_text"]

NAMES = ("fried", "mv", "2dplanes", "pol")
ROWS = 20_000
SEEDS = 3
MANY_SEEDS = 30  # of our preset: the spread that the order of challengers alone causes
GROUPS = "abcdefghij"
WIDER = 1.4  # AutoVW's ε on pol relative to ours: it counts columns that are always 0
BENCHMARKS = Path(__file__).parent.parent / "benchmarks"


@dataclass(frozen=True)
class FlamlComparison:
    """The runs of AutoVW and of our preset on one data set; `wider` has the wider ε."""

    name: str
    flaml: Sequence[Mapping[str, Any]]
    ours: Mapping[str, Sequence[Outcome]]
    wider: Sequence[Outcome]


def write_authors_text(data: DataSet, path: Path) -> None:
    """Write the first rows as the authors do; the whole file decides on the logarithm."""
    open_text = gzip.open if data.source.endswith(".gz") else open
    with open_text(data.source, "rt", newline="", encoding="utf-8") as file:
        header, *cells = csv.reader(file)
    target = header.index(data.target) if data.target else len(header) - 1
    labels = [float(row.pop(target)) for row in cells]
    shift = SourceProfile(len(labels), min(labels), max(labels)).shift(LogTarget.AUTO)
    size = math.ceil((len(header) - 1) / len(GROUPS))
    codes: dict[int, dict[str, int]] = {}
    with path.open("w") as out:
        for row, label in zip(cells[:ROWS], labels, strict=False):
            y = label if shift is None else math.log(label + shift)
            out.write(f"{y!r} {''.join(_features(row, size, codes))}\n")


def _features(row: Sequence[str], size: int, codes: dict[int, dict[str, int]]) -> Iterator[str]:
    for i, cell in enumerate(row):
        try:
            float(cell)
        except ValueError:
            column_codes = codes.setdefault(i, {})
            cell = str(column_codes.setdefault(cell, len(column_codes)))
        bar = f"|{GROUPS[i // size]}" if i % size == 0 else ""
        yield f"{bar} {i}:{cell}"


def compare_with_flaml(
    sets: Sequence[DataSet], out: Path, cache: ResultCache
) -> tuple[list[FlamlComparison], str]:
    """Return the comparison on each of the four data sets that exists, and FLAML's error."""
    out.mkdir(parents=True, exist_ok=True)
    texts: dict[str, Path] = {}
    for data in sets:
        if data.name in NAMES and ".csv" in data.source:
            texts[data.name] = out / f"{data.name}.vw"
            write_authors_text(data, texts[data.name])
    flaml, error = _run_flaml(texts, out.parent.parent / "flaml-env", cache)
    authors = SampleComplexity.authors()
    wide = replace(authors, scale=WIDER * authors.scale)
    comparisons = []
    for name, path in texts.items():
        ours = _run_preset(path, authors, ["naive", "exhaustive", "paper"], cache)
        wider = _run_preset(path, wide, ["paper"], cache)["paper"]
        comparisons.append(FlamlComparison(name, flaml.get(name, []), ours, wider))
    return comparisons, error


def _run_preset(
    path: Path, evidence: SampleComplexity, methods: Sequence[str], cache: ResultCache
) -> Mapping[str, Sequence[Outcome]]:
    settings = CommonSettings(evidence=evidence)
    stream = Stream(str(path))
    study = Study([stream], methods, MANY_SEEDS, settings=settings, cache_dir=cache.folder)
    return study.finish().outcomes[stream.name]


def _run_flaml(
    texts: Mapping[str, Path], environment: Path, cache: ResultCache
) -> tuple[dict[str, list[dict[str, Any]]], str]:
    """Return AutoVW's runs by data set, and why FLAML could not be installed."""
    script = BENCHMARKS / "flaml_peer.py"

    def run_once(path: Path, seed: int) -> dict[str, Any]:
        digest = hashlib.blake2b(path.read_bytes() + script.read_bytes(), digest_size=16)
        digest.update(str(seed).encode())
        cached = cache.get(digest.hexdigest())
        if cached is not None:
            return cached
        python = str(environment / "bin" / "python")
        words = [python, str(script), str(path), str(ROWS), str(seed)]
        done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True)
        result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
        cache.put(digest.hexdigest(), result)
        return result

    installed = subprocess.run(
        [sys.executable, str(BENCHMARKS / "flaml_env.py"), str(environment)],
        capture_output=True,
        text=True,
    )
    if installed.returncode:
        return {}, installed.stderr.strip()
    with ThreadPoolExecutor(cores()) as pool:
        futures = {
            name: [pool.submit(run_once, path, seed) for seed in range(SEEDS)]
            for name, path in texts.items()
        }
        return {name: [run.result() for run in runs] for name, runs in futures.items()}, ""


def comparison_lines(comparisons: Sequence[FlamlComparison]) -> Iterator[str]:
    """Yield the lines of a Markdown table."""
    heads = ["data set", "Naive", "Exhaustive"]
    for who in ("AutoVW", "ours"):
        heads += [f"{who}, seeds 0-{SEEDS - 1}", "promotions"]
    heads.append(f"ours, {MANY_SEEDS} seeds: mean ± sd, range")
    heads.append(f"the same, ε {WIDER} times as wide")
    yield f"| {' | '.join(heads)} |"
    yield "|---" * len(heads) + "|"
    for one in comparisons:
        ours = one.ours["paper"]
        losses = [outcome.loss for outcome in ours]
        cells = [
            one.name,
            f"{one.ours['naive'][0].loss:.4g}",
            f"{one.ours['exhaustive'][0].loss:.4g}",
            ", ".join(f"{run['loss']:.4g}" for run in one.flaml),
            ", ".join(str(run["promotions"]) for run in one.flaml),
            ", ".join(f"{loss:.4g}" for loss in losses[:SEEDS]),
            ", ".join(str(outcome.promotions) for outcome in ours[:SEEDS]),
            _spread(ours),
            _spread(one.wider),
        ]
        yield "| " + " | ".join(cells) + " |"


def _spread(outcomes: Sequence[Outcome]) -> str:
    losses = [outcome.loss for outcome in outcomes]
    return f"{fmean(losses):.4g} ± {pstdev(losses):.2g}, {min(losses):.4g} to {max(losses):.4g}"
