"""The cost of custom parts of the rules, divided by the cost of the built-in parts.

    python benchmarks/custom_parts.py [--rows 4000] [--rounds 5] [--columns 8]

Every model learns the same rows: dicts of numbers with `learn_one`, and the same rows as VW text
with `run`. The models take turns. Figures are medians of CPU time per row, ratios are medians of
the rounds' ratios. The native engine cannot run the last two parts: they go through Python.
"""

from __future__ import annotations

import argparse
import tempfile
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from ask_tell import Rows, rows_of
from chacha import ChaCha, Config, ContestRules, PairedBetting, SampleComplexity
from chacha.drivers import SlowPathWarning
from chacha.rules import ProgressiveLoss
from chacha.rules.contest import Blending
from chacha.rules.contest.blending import BlendGain
from chacha.rules.paper import Bound
from timing import Method, interleave, nanoseconds


@dataclass(frozen=True)
class HalfBet(PairedBetting):
    """A test with half of the best bet."""

    def bet(self, mean: float, variance: float) -> float:
        """Return λ."""
        return 0.5 * super().bet(mean, variance)


@dataclass(frozen=True)
class LateBlending(Blending):
    """A blending that begins later."""

    def choose(
        self, gains: Iterable[tuple[Config, BlendGain]], charged: int
    ) -> tuple[Config | None, float]:
        """Return the challenger to blend in, and its share."""
        return super().choose(gains, charged) if charged > 200 else (None, 0.0)


@dataclass(frozen=True)
class WideBound(SampleComplexity):
    """A bound of twice the width."""

    def bound(
        self, standing: ProgressiveLoss, d: float, challengers: int, loss_range: float
    ) -> Bound:
        """Return L^PV and its ε."""
        mean, epsilon = super().bound(standing, d, challengers, loss_range)
        return Bound(mean, 2.0 * epsilon)


def all_pairs(champion: Config, groups: Sequence[str]) -> list[Config]:
    """Propose every product of two groups: an oracle."""
    pairs = [(a, b) for i, a in enumerate(groups) for b in groups[i + 1 :]]
    return [champion.with_product(pair) for pair in pairs]


RECOMMENDED, PAPER = "recommended rules", "paper's rules"
MODELS: dict[str, tuple[str, Callable[[], ChaCha]]] = {
    RECOMMENDED: (RECOMMENDED, ChaCha),
    "a custom test": (RECOMMENDED, lambda: ChaCha(rules=ContestRules(evidence=HalfBet()))),
    "a custom oracle": (RECOMMENDED, lambda: ChaCha(rules=ContestRules(oracle=all_pairs))),
    PAPER: (PAPER, ChaCha.paper),
    "paper's rules, a custom oracle": (PAPER, lambda: ChaCha.paper(oracle=all_pairs)),
    "a custom blending": (
        RECOMMENDED,
        lambda: ChaCha(rules=ContestRules(blending=LateBlending())),
    ),
    "paper's rules, a custom bound": (PAPER, lambda: ChaCha.paper(evidence=WideBound())),
}


def learn_dicts(model: ChaCha, rows: Rows) -> None:
    """Learn one dict after the other."""
    for x, y in rows:
        model.learn_one(x, y)


def text_file(rows: Rows, folder: str) -> str:
    """Write the rows as VW text, a group for each number, and return the path."""
    path = Path(folder, "rows.vw")
    with path.open("w") as file:
        for x, y in rows:
            file.write(f"{y} " + " ".join(f"|{k} {k}:{v}" for k, v in x.items()) + "\n")
    return str(path)


def measure(about: str, learn: Callable[[ChaCha], object], rows: int, rounds: int) -> None:
    """Print a row of Markdown for every model."""

    def method(name: str, make: Callable[[], ChaCha]) -> Method:
        def timed() -> float:
            model = make()
            return nanoseconds(lambda: learn(model), rows)

        return Method(name, timed)

    times = interleave([method(name, make) for name, (_, make) in MODELS.items()], rounds, about)
    for name, median in times.medians().items():
        ratio = times.ratio(name, MODELS[name][0]) or 0.0
        print(f"| {about}: {name} | {median / 1000:.1f} | {ratio:.2f} |", flush=True)


def main() -> None:
    """Print the times and the ratios as Markdown."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=4000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--columns", type=int, default=8)
    options = parser.parse_args()
    warnings.simplefilter("ignore", SlowPathWarning)
    rows = rows_of(options.rows, options.columns)
    print(f"| rows of {options.columns} numbers | µs a row | ratio |\n|---|---|---|")
    measure("dicts", lambda model: learn_dicts(model, rows), len(rows), options.rounds)
    with tempfile.TemporaryDirectory() as folder:
        path = text_file(rows, folder)
        measure("text", lambda model: model.run(path), len(rows), options.rounds)


if __name__ == "__main__":
    main()
