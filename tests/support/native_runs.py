"""Runs to compare: generated streams, every way to pass over one, the visible state after it."""

from __future__ import annotations

import io
import json
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import chacha
from chacha import ChaCha, Config, Example, OnBad, SampleComplexity
from chacha.drivers.native_screen import NativeScreen
from chacha.errors import BadExample
from chacha.rules import ProgressiveLoss
from chacha.rules.contest.blending import Blend
from chacha.rules.contest.state import ContestState
from chacha.rules.paper import Bound, PaperState
from chacha.sources.formats.vw_file import VWFile, vw_row
from chacha.sources.reading.byte_stream import ByteReader, RawFile

__all__ = ["WAYS", "PlainEvidence", "lines_for_loss", "lines_of", "state", "tracked", "vw_file"]


@dataclass(frozen=True)
class PlainEvidence(SampleComplexity):
    """The same bounds; the engine cannot know this, so the Python driver runs."""

    def bound(
        self, standing: ProgressiveLoss, d: float, challengers: int, loss_range: float
    ) -> Bound:
        return super().bound(standing, d, challengers, loss_range)


def lines_of(stream: str, n: int, seed: int = 0) -> list[str]:
    """Return the first lines of a built-in stream."""
    source = chacha.open_source(f"synth:{stream},n={n},seed={seed}")
    return [row.line for row in source if isinstance(row, Example)]


def lines_for_loss(loss: str, n: int) -> list[str]:
    """Return `synth:interactions` with labels for a loss, and some importance weights."""
    rng = random.Random(loss)
    lines = []
    for line in lines_of("interactions", n, seed=3):
        label, _, body = line.partition(" |")
        y = float(label)
        word = {
            "logistic": "1" if y > 0 else rng.choice(["-1", "0"]),
            "hinge": "1" if y > 0 else "-1",
            "poisson": str(max(0, round(2 * y + 1))),
        }.get(loss, label)
        weight = rng.choice(["", "", "", " 2", " 0.5", " 0"])
        lines.append(f"{word}{weight} |{body}")
    return lines


def state(model: ChaCha) -> dict[str, Any]:
    """Return everything visible of a model."""
    driver = model._driver
    return {
        "decisions": json.dumps([d.to_json() for d in model.decisions]),
        "live": model.live,
        "served": model.served,
        "baseline": driver.baseline,
        "constant": driver.constant,
        "metrics": dict(driver.metrics),
        "summary": replace(model.summary(), notes=()),  # a note tells the drivers apart
        "incumbent": driver.algorithm.served_by(model.state),
        "S": model.challengers,
        "groups": list(model.observed.groups),
        "range": (model.observed.low, model.observed.high),
        "features": model.observed.raw_features,
        **_rules(model),
    }


def _rules(model: ChaCha) -> dict[str, Any]:
    """Return the state of the rules."""
    rules, screen = model.state, model.observed.screen
    if not isinstance(rules, ContestState):
        assert isinstance(rules, PaperState)
        return {"lease": dict(rules.lease)}
    if isinstance(screen, NativeScreen):
        screen.invalidate()
    return {
        "challengers": dict(rules.challengers),
        "level": (rules.level, rules.charged, rules.challenged),
        "serving": rules.serving,
        "screen": (list(screen.products), screen.ready, dict(screen.gains())),
    }


def served_by_now(model: ChaCha) -> Config | Blend:
    """Return which model or blend serves the next example."""
    by: Config | Blend = model.specification.algorithm.served_by(model.state)
    return by


Track = list[tuple[float, str]]


class Drip(io.BytesIO):
    """A pipe that delivers a few bytes at a time, at random."""

    def __init__(self, data: bytes, seed: int) -> None:
        super().__init__(data)
        self.rng = random.Random(seed)

    def read1(self, size: int | None = -1) -> bytes:
        return super().read(self.rng.choice([1, 3, 50, 400, 5000]))


_folder = TemporaryDirectory()


def vw_file(data: bytes) -> VWFile:
    """Return a file of VW text as a source."""
    path = Path(_folder.name) / "t.vw"
    path.write_bytes(data)
    return VWFile(str(path))


def _file(lines: Sequence[str]) -> VWFile:
    return vw_file("\n".join(lines).encode())


def _pipe(file: io.BytesIO) -> VWFile:
    return VWFile("-", file=ByteReader(RawFile(file, "-"), "-"))


def _by_steps(model: ChaCha, lines: Sequence[str], seed: int) -> Track:
    steps = model.steps(_file(lines), on_bad=OnBad.SKIP)
    return [(step.prediction, str(step.served_by)) for step in steps]


def _in_chunks(model: ChaCha, source: VWFile, **settings: Any) -> Iterator[tuple[float, str]]:
    for chunk in model.chunks(source, on_bad=OnBad.SKIP, record=True, **settings):
        assert chunk.served is not None
        assert chunk.examples == len(chunk.served.predictions)
        yield from zip(chunk.served.predictions, map(str, chunk.served.served_by), strict=True)


def _whole(model: ChaCha, lines: Sequence[str], seed: int) -> Track:
    return list(_in_chunks(model, _file(lines)))


def _dripping(model: ChaCha, lines: Sequence[str], seed: int) -> Track:
    data = "\r\n".join(lines).encode() + b"\r\n"
    return list(_in_chunks(model, _pipe(Drip(data, seed))))


def _cut(model: ChaCha, lines: Sequence[str], seed: int) -> Track:
    rng = random.Random(seed)
    until = lambda: model.examples + rng.choice([1, 2, 17, 300])  # noqa: E731
    return list(_in_chunks(model, _file(lines), until=until))


def _in_pieces(model: ChaCha, lines: Sequence[str], seed: int) -> Track:
    """Start each pass where the one before reached its limit."""
    rng, track, start = random.Random(seed), Track(), 0
    good = [i for i, line in enumerate(lines) if _is_good(model, line)]
    while start < len(good):
        size = min(rng.choice([1, 5, 60, 500]), len(good) - start)
        first = good[start - 1] + 1 if start else 0
        track += _in_chunks(model, _file(lines[first:]), limit=size)
        start += size
    for line in lines[good[-1] + 1 :]:  # the lines after the last good one
        _skip_one(model, line)
    return track


def _is_good(model: ChaCha, line: str) -> bool:
    try:
        example = chacha.data.parse_line(line)
        return example.label is not None and bool(model._labelled(example))
    except BadExample:
        return False


def _skip_one(model: ChaCha, line: str) -> None:
    row = vw_row(line.encode(), "t")
    assert isinstance(row, chacha.sources.Bad)
    model.skipped.add(row)


def _one_by_one(model: ChaCha, lines: Sequence[str], seed: int) -> Track:
    track: Track = []
    for line in lines:
        if not _is_good(model, line):
            _skip_one(model, line)
            continue
        served_by = str(served_by_now(model))
        track.append((model.predict_one(line), served_by))
        model.learn_one(line)
    return track


def _run(model: ChaCha, lines: Sequence[str], seed: int) -> Track:
    """Run as the command line does; the predictions are not recorded."""
    model.run(_file(lines), on_bad=OnBad.SKIP)
    return []


WAYS: dict[str, Callable[[ChaCha, Sequence[str], int], Track]] = {
    "steps": _by_steps,
    "whole": _whole,
    "dripping": _dripping,
    "cut": _cut,
    "pieces": _in_pieces,
    "one by one": _one_by_one,
    "run": _run,
}


def tracked(
    model: ChaCha, lines: Sequence[str], way: str = "steps", seed: int = 0
) -> tuple[Track, dict[str, Any]]:
    """Return the served predictions and the visible state after the run; skipped rows by reason."""
    track = WAYS[way](model, lines, seed)
    end = state(model)
    end["summary"] = chacha.Summary(**{**vars(end["summary"]), "first_skipped": {}})
    return track, end
