"""The screen: rank candidate products by how well they predict the champion's residual.

Every candidate has a small learner that sees only the candidate's features and predicts the
residual. The loss this would have saved ranks the candidates, at a fraction of a model's cost.
Pools other than the native one use this implementation; the native engine computes the same bits.

Twin: native/src/rules/screen.hpp
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from chacha.config.config import Config, Product
from chacha.config.derived_groups import derived
from chacha.data.example import Example, Feature
from chacha.data.products import expand_product
from chacha.rules.contest.screening import Screening
from chacha.rules.feature_counts import Widths, cells_for, mean_features, product_features

__all__ = ["CandidateLearner", "Screen"]


@dataclass(slots=True)
class CandidateLearner:
    """A small learner for one product: VW's adaptive, normalised updates on its features.

    >>> candidate = CandidateLearner(("a", "b"), mask=3)
    >>> for _ in range(50):
    ...     candidate.learn([1], [0.5], residual=1.0, low=-1.0, high=1.0, rate=0.5)
    >>> 0.9 < candidate.gain / candidate.looks < 1.0
    True
    """

    product: Product
    mask: int
    looks: int = 0
    gain: float = 0.0
    norms: float = 0.0
    learned: float = 0.0
    cells: dict[int, list[float]] = field(default_factory=dict)  # w, adaptive, norm, rate

    def learn(
        self,
        places: Sequence[int],
        values: Sequence[float],
        residual: float,
        low: float,
        high: float,
        rate: float,
    ) -> None:
        """Predict the residual, add the loss this would have saved, and learn."""
        cells = [self.cells.setdefault(place, [0.0, 0.0, 0.0, 0.0]) for place in places]
        guess = 0.0
        for cell, x in zip(cells, values, strict=True):
            guess += cell[0] * x
        guess = min(max(guess, low), high)
        self.looks += 1
        self.gain += guess * (2.0 * residual - guess)
        error = residual - guess
        square = 4.0 * error * error
        if not square > 0.0:
            return
        norms = per_update = 0.0
        for cell, x in zip(cells, values, strict=True):
            xx = x * x
            cell[1] += square * xx
            size = abs(x)
            if size > cell[2]:
                if cell[2] > 0.0:
                    cell[0] *= cell[2] / size
                cell[2] = size
            share = size / cell[2]
            norms += share * share
            slow = math.sqrt(cell[1]) * cell[2]
            cell[3] = 1.0 / slow if slow > 0.0 else 0.0
            per_update += xx * cell[3]
        self.norms += norms
        self.learned += 1.0
        if not self.norms > 0.0:
            return
        factor = math.sqrt(self.learned / self.norms)
        update = error * (2.0 * rate) * factor / (1.0 + 2.0 * rate * per_update * factor)
        for cell, x in zip(cells, values, strict=True):
            cell[0] += update * x * cell[3]


class Screen:
    """The candidates, which learn in turn as far as the budget of the policy allows.

    >>> from chacha.data.text_parser import parse_line
    >>> screen = Screen(Screening(share=1.0))
    >>> screen.set([("a", "b"), ("a", "c")], sizes={"a": 1, "b": 1, "c": 1})
    >>> example = parse_line("|a x:2 |b y:3 |c z:0.5")
    >>> for _ in range(30):
    ...     screen.learn(example, residual=1.0, live=5)
    >>> {p: gain > 0 for p, gain in screen.gains().items()}, screen.ready
    ({('a', 'b'): True, ('a', 'c'): True}, True)
    >>> screen.width(Config(["ab"]))  # three features, the constant and the product
    5.0

    A candidate of one group is a derived group that the champion lacks. It is computed when its
    turn comes. `derive` is called with the names of these groups. `code_of` gives the number for a
    feature of a derived group by which its cell is found: not its hash, because its name contains
    numbers in the unit of the column, and features share cells.
    """

    def __init__(
        self,
        policy: Screening,
        derive: Callable[[Iterable[str]], None] = lambda names: None,
        code_of: Callable[[str, int], int] = lambda name, hashed: hashed,
    ) -> None:
        self.policy, self.derive, self.code_of = policy, derive, code_of
        self.candidates: list[CandidateLearner] = []
        self.turn = self.rounds = self.kept = 0
        self.credit = 0.0
        self.low = self.high = 0.0
        self.examples = 0
        self.active: dict[str, int] = {}  # features by group, summed over all examples
        self._sizes: Mapping[str, int] = {}

    @property
    def products(self) -> Sequence[Product]:
        """The current candidates."""
        return [candidate.product for candidate in self.candidates]

    @property
    def ready(self) -> bool:
        """Whether every candidate has had its looks, or its chances to be looked at."""
        return self.rounds >= self.policy.looks

    def gains(self) -> Mapping[Product, float]:
        """Return the loss per look that candidates saved: all once ready, until then kept ones."""
        known = self.candidates if self.ready else self.candidates[: self.kept]
        gains = {c.product: c.gain / c.looks for c in known if c.looks}
        return {p: gain for p, gain in gains.items() if math.isfinite(gain)}

    def width(self, config: Config) -> float:
        """Return the approximate number of features of a configuration in an example."""
        return self._widths().of_config(config)

    def width_of(self, product: Product) -> float:
        """Return the approximate number of features of a product in an example."""
        return self._widths().of_product(product)

    def _widths(self) -> Widths:
        return Widths(mean_features(self.active, self.examples, self._sizes))

    def set(self, products: Sequence[Product], sizes: Mapping[str, int], keep: int = 0) -> None:
        """Replace the candidates, but for the learners of the first `keep`."""
        self.derive(p[0] for p in products if len(p) == 1)
        self._sizes = sizes
        current = {c.product: c for c in self.candidates}
        new = [CandidateLearner(p, cells_for(p, sizes) - 1) for p in products[keep:]]
        self.candidates = [*(current[p] for p in products[:keep]), *new]
        self.kept = keep
        self.turn = self.rounds = 0
        self.credit = 0.0

    def begin_again(self) -> None:
        """Start over with the same candidates, and keep no learner."""
        self.candidates = [CandidateLearner(c.product, c.mask) for c in self.candidates]
        self.turn = self.rounds = self.kept = self.examples = 0
        self.credit = self.low = self.high = 0.0
        self.active = {}

    def learn(self, example: Example, residual: float, live: int) -> None:
        """Learn from one example, the champion's residual and the number of live models."""
        active = 0
        for group, features in example.groups.items():
            count = sum(feature.value != 0.0 for feature in features)
            self.active[group] = self.active.get(group, 0) + count
            active += count
        self.examples += 1
        if self.policy.share > 0.0 and self.candidates and math.isfinite(residual):
            self._take_turns(example, residual, float(active) * live)
            self.low, self.high = min(self.low, residual), max(self.high, residual)

    def _codes(self, name: str, features: Iterable[Feature]) -> list[tuple[float, int]]:
        """Return the values of a group's features, and the numbers for their cells."""
        there = [f for f in features if f.value != 0.0]
        if derived(name) is None:
            return [(f.value, f.hashed) for f in there]
        return [(f.value, self.code_of(name, f.hashed)) for f in there]

    def _take_turns(self, example: Example, residual: float, least: float) -> None:
        """Let candidates learn in turn until the credit is used up."""
        self.credit = min(self.credit + self.policy.share * least, least)
        groups = {name: self._codes(name, features) for name, features in example.groups.items()}
        for _ in range(len(self.candidates)):
            candidate = self.candidates[self.turn]
            for name in candidate.product:
                if name not in groups:
                    groups[name] = self._codes(name, example.derived.get(name, ()))
            factors = [groups[name] for name in candidate.product]
            width = product_features(candidate.product, [float(len(f)) for f in factors])
            if 0.0 < width <= least:
                if width > self.credit:
                    return
                self.credit -= width
                features = expand_product(candidate.product, factors)
                pairs = [(hashed & candidate.mask, x) for x, hashed in features if x != 0.0]
                places, values = [place for place, _ in pairs], [x for _, x in pairs]
                rate = self.policy.rate
                candidate.learn(places, values, residual, self.low, self.high, rate)
            self.turn += 1
            if self.turn == len(self.candidates):
                self.turn, self.rounds = 0, self.rounds + 1
