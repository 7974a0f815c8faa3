"""FLAML's AutoVW really run, beside our `flaml` preset, on the same lines of VW text.

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
from chacha.compare.result_cache import Kept
from chacha.resources import cores
from chacha.source_profile import SourceProfile
from chacha.sources import LogTarget
from datasets import DataSet

__all__ = ["Beside", "beside_lines", "run_beside"]

NAMES = ("fried", "mv", "2dplanes", "pol")
ROWS = 20_000
SEEDS = 3
MANY = 30  # seeds of ours, to see how far the order of challengers alone carries
GROUPS = "abcdefghij"
WIDER = 1.4  # what ε is with AutoVW on pol, which counts columns that are always 0
BENCHMARKS = Path(__file__).parent.parent / "benchmarks"


Runs = Mapping[str, Sequence[Outcome]]


@dataclass(frozen=True)
class Beside:
    """What both came to on one data set."""

    name: str
    flaml: Sequence[Mapping[str, Any]]
    ours: Mapping[str, Sequence[Outcome]]
    wider: Sequence[Outcome]


def write_text(data: DataSet, path: Path) -> None:
    """The first rows as the authors write them; the whole file decides on the logarithm."""
    opened = gzip.open if data.source.endswith(".gz") else open
    with opened(data.source, "rt", newline="", encoding="utf-8") as file:
        header, *cells = csv.reader(file)
    target = header.index(data.target) if data.target else len(header) - 1
    labels = [float(row.pop(target)) for row in cells]
    shift = SourceProfile(len(labels), min(labels), max(labels)).shift(LogTarget.AUTO)
    size = math.ceil((len(header) - 1) / len(GROUPS))
    codes: dict[int, dict[str, int]] = {}
    with path.open("w") as out:
        for row, label in zip(cells[:ROWS], labels, strict=False):
            y = label if shift is None else math.log(label + shift)
            out.write(f"{y!r} {''.join(_words(row, size, codes))}\n")


def _words(row: Sequence[str], size: int, codes: dict[int, dict[str, int]]) -> Iterator[str]:
    for i, cell in enumerate(row):
        try:
            float(cell)
        except ValueError:
            known = codes.setdefault(i, {})
            cell = str(known.setdefault(cell, len(known)))
        bar = f"|{GROUPS[i // size]}" if i % size == 0 else ""
        yield f"{bar} {i}:{cell}"


def run_beside(sets: Sequence[DataSet], out: Path, kept: Kept) -> tuple[list[Beside], str]:
    """Both on every one of the four data sets that is there; and why FLAML could not be run."""
    out.mkdir(parents=True, exist_ok=True)
    texts: dict[str, Path] = {}
    for data in sets:
        if data.name in NAMES and ".csv" in data.source:
            texts[data.name] = out / f"{data.name}.vw"
            write_text(data, texts[data.name])
    flaml, why_not = _flaml(texts, out.parent.parent / "flaml-env", kept)
    found = []
    authors = SampleComplexity.authors()
    for name, path in texts.items():
        stream = Stream(str(path))

        def study(evidence: SampleComplexity, *methods: str, at: Stream = stream) -> Runs:
            settings = CommonSettings(evidence=evidence)
            made = Study([at], methods, MANY, settings=settings, home=kept.home)
            return made.finish().outcomes[at.name]

        ours = study(authors, "naive", "exhaustive", "paper")
        wider = study(replace(authors, scale=WIDER * authors.scale), "paper")["paper"]
        found.append(Beside(name, flaml.get(name, []), ours, wider))
    return found, why_not


def _flaml(
    texts: Mapping[str, Path], home: Path, kept: Kept
) -> tuple[dict[str, list[dict[str, Any]]], str]:
    script = BENCHMARKS / "flaml_peer.py"

    def one(path: Path, seed: int) -> dict[str, Any]:
        digest = hashlib.blake2b(path.read_bytes() + script.read_bytes(), digest_size=16)
        digest.update(str(seed).encode())
        known = kept.get(digest.hexdigest())
        if known is not None:
            return known
        python, words = str(home / "bin" / "python"), [str(script), str(path), str(ROWS), str(seed)]
        ran = subprocess.run([python, *words], stdin=subprocess.DEVNULL, capture_output=True)
        told: dict[str, Any] = json.loads(ran.stdout.splitlines()[-1])
        kept.put(digest.hexdigest(), told)
        return told

    made = subprocess.run(
        [sys.executable, str(BENCHMARKS / "flaml_env.py"), str(home)],
        capture_output=True,
        text=True,
    )
    if made.returncode:
        return {}, made.stderr.strip()
    with ThreadPoolExecutor(cores()) as pool:
        runs = {
            name: [pool.submit(one, path, s) for s in range(SEEDS)] for name, path in texts.items()
        }
        return {name: [run.result() for run in found] for name, found in runs.items()}, ""


def beside_lines(found: Sequence[Beside]) -> Iterator[str]:
    """A Markdown table."""
    heads = ["data set", "Naive", "Exhaustive"]
    for who in ("AutoVW", "ours"):
        heads += [f"{who}, seeds 0-{SEEDS - 1}", "promotions"]
    heads.append(f"ours, {MANY} seeds: mean ± sd, range")
    heads.append(f"the same, ε {WIDER} times as wide")
    yield f"| {' | '.join(heads)} |"
    yield "|---" * len(heads) + "|"
    for beside in found:
        ours = beside.ours["paper"]
        losses = [outcome.loss for outcome in ours]
        cells = [
            beside.name,
            f"{beside.ours['naive'][0].loss:.4g}",
            f"{beside.ours['exhaustive'][0].loss:.4g}",
            ", ".join(f"{run['loss']:.4g}" for run in beside.flaml),
            ", ".join(str(run["promotions"]) for run in beside.flaml),
            ", ".join(f"{loss:.4g}" for loss in losses[:SEEDS]),
            ", ".join(str(outcome.promotions) for outcome in ours[:SEEDS]),
            _spread(ours),
            _spread(beside.wider),
        ]
        yield "| " + " | ".join(cells) + " |"


def _spread(outcomes: Sequence[Outcome]) -> str:
    losses = [outcome.loss for outcome in outcomes]
    return f"{fmean(losses):.4g} ± {pstdev(losses):.2g}, {min(losses):.4g} to {max(losses):.4g}"
