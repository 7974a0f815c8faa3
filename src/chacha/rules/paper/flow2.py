"""FLOW²: a randomised local search over numbers and words (Wu, Wang, Huang, AAAI 2021).

One state serves a whole run: it moves with the champion, shrinks its step when nothing
improves and grows it again when something does. FLOW² only uses the order of losses, so the
outcome of the champion's test is all it needs.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from random import Random

from chacha.config.config import Value
from chacha.config.space import Choice, Domain

__all__ = ["Flow2"]

STEP = 0.1  # the first step per √d, and what a plateau adds to the step
FLOOR = 1e-4  # s_min where no domain is discrete
MOST_IN_VAIN = 9  # a step shrinks after 2^min(d, 9) proposals in vain


class Flow2:
    """The search around one incumbent point in the unit cube.

    `propose` returns the point one step along a random direction; the next call returns the
    opposite point, and the call after that draws a new direction. `incumbent` sets the champion's
    point.

    >>> from chacha.config.space import LogUniform
    >>> search = Flow2({"learning_rate": LogUniform(2e-10, 1)}, {"learning_rate": 0.5}, seed=1)
    >>> search.propose(), search.propose()
    ({'learning_rate': 0.0535886731268}, {'learning_rate': 1.0})
    """

    def __init__(
        self, domains: Mapping[str, Domain], start: Mapping[str, Value], seed: int
    ) -> None:
        self.domains = dict(domains)
        self.rng = Random(f"flow2:{seed}")
        self.s_max = math.sqrt(len(self.domains))
        self.restarts = 0
        self._begin({key: start[key] for key in self.domains})

    def _begin(self, x: dict[str, Value]) -> None:
        self.x = x
        s_min = self._floor()
        s = STEP * self.s_max * (1 + self.restarts)
        self.s = min(2 * s_min if s < s_min else s, self.s_max)
        self.proposals = 0
        self.in_vain = 0  # proposals since the last incumbent
        self.incumbent_at = 1  # the number of the proposal that became the incumbent
        self.K = self.K_old = 0  # when the step was last reduced; 0: never
        self.ahead_stayed = False  # whether +u rounded to the incumbent itself
        self.back: list[float] | None = None  # -u, until it is proposed
        self.steps: dict[tuple[Value, ...], tuple[float, int]] = {}  # of the proposals

    def _floor(self) -> float:
        """Return s_min, the step below which no value can change."""
        floors = [domain.step_floor(self.x[key]) for key, domain in self.domains.items()]
        discrete = [floor for floor in floors if floor > 0]
        return math.sqrt(len(self.domains)) * min(discrete) if discrete else FLOOR

    def incumbent(self, values: Mapping[str, Value]) -> None:
        """Set the champion's values.

        If they are new, a proposal has won: the search moves there and undoes one reduction of
        the step. If not, the champion changed in something else: point and step stay, and the
        proposals so far do not count as in vain, because they may still win.
        """
        self.in_vain = 0
        values = {key: values[key] for key in self.domains}
        if values == self.x:
            return
        self.s, self.incumbent_at = self.steps.get(
            tuple(values.values()), (self.s, self.incumbent_at)
        )
        self.x = values
        if self.K:
            self.s *= math.sqrt(self.K / self.K_old)
        self.s = min(self.s, self.s_max)
        self.back, self.steps = None, {}

    def propose(self) -> dict[str, Value]:
        """Return the next point; never the incumbent itself if a larger step can leave it."""
        for _ in range(100):
            values = self._move()
            if values != self.x:
                break
            if self.back is None and self.ahead_stayed:  # a plateau both ways
                self.s = min(self.s + STEP, self.s_max)
            self.ahead_stayed = self.back is not None
        self.ahead_stayed = False
        self.proposals += 1
        self.in_vain += 1
        self.steps[tuple(values.values())] = (self.s, self.proposals)
        if self.in_vain >= 2 ** min(len(self.domains), MOST_IN_VAIN):
            self._shrink()
        return values

    def _move(self) -> dict[str, Value]:
        if self.back is None:
            z = [self.rng.gauss(0.0, 1.0) for _ in self.domains]
            length = math.sqrt(sum(value * value for value in z)) or 1.0
            step = [self.s * value / length for value in z]
            self.back = [-value for value in step]
        else:
            step, self.back = self.back, None
        return {
            key: self._at(key, self.domains[key].to_unit(self.x[key]) + move)
            for key, move in zip(self.domains, step, strict=True)
        }

    def _at(self, key: str, u: float) -> Value:
        domain, at = self.domains[key], self.x[key]
        u = min(max(u, 0.0), 1.0)
        if isinstance(domain, Choice) and not domain.ordered:
            if domain.cell(u) == domain.options.index(at):
                return at
            others = [option for option in domain.options if option != at]
            return others[int(self.rng.random() * len(others))]
        return domain.from_unit(u, at)

    def _shrink(self) -> None:
        """Reduce the step after many proposals in vain; below s_min restart with a larger one."""
        self.in_vain -= 2
        self.K_old, self.K = self.K or self.incumbent_at, self.proposals + 1
        self.s *= math.sqrt(self.K_old / self.K)
        if self.s < self._floor():
            self.restarts += 1
            self._begin(self.x)
