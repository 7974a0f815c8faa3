"""Blending: serve the champion, or a blend of it with the live challenger that helps it most.

A new challenger is not blended in before its first examples, and a prediction that is unusually far
from the champion's counts only in part.

Twin: native/src/rules/blending.hpp
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from chacha.config.arguments import check_numbers
from chacha.config.config import Config
from chacha.errors import ConfigError

__all__ = ["Blend", "BlendGain", "Blending", "ChampionServes", "Serving"]

SHARES = (0.25, 0.5, 0.75, 1.0)


@dataclass(frozen=True, slots=True)
class Blend:
    """A blend of two models: the champion's prediction, moved by `share` towards the other's.

    >>> print(Blend(Config(), Config(["ab"]), 0.25))
    0.75 of no interactions, 0.25 of interactions ab
    """

    champion: Config
    other: Config
    share: float

    def __str__(self) -> str:
        return f"{1 - self.share:g} of {self.champion}, {self.share:g} of {self.other}"


@dataclass(slots=True)
class BlendGain:
    """The gain of blending in one challenger: decayed sums over its examples.

    `whole`, `half` and `none` are the losses of the challenger's predictions, of the mean of both
    models' predictions, and of the champion's. The loss at any other share is taken from the
    parabola through the three, which is exact for squared loss.

    >>> blend_gain = BlendGain()
    >>> for _ in range(200):
    ...     blend_gain.add(none=1.0, half=0.25, whole=0.5, distance=1.0, decay=0.999)
    >>> [share for share in SHARES if blend_gain.gain(share, standard_errors=0.5) > 0]
    [0.25, 0.5, 0.75, 1.0]
    """

    n: int = 0
    none: float = 0.0
    half: float = 0.0
    whole: float = 0.0
    squares: float = 0.0  # of the gains at a half; decayed by the square, for a standard error
    square_distance: float = 0.0  # the mean square of its predictions' distance to the champion's

    def add(self, none: float, half: float, whole: float, distance: float, decay: float) -> None:
        """Add the losses on one example, and the distance between the two predictions."""
        square = distance * distance
        if not math.isfinite(none + half + whole + square):
            return
        self.n += 1
        self.none = self.none * decay + none
        self.half = self.half * decay + half
        self.whole = self.whole * decay + whole
        gain = none - half
        self.squares = self.squares * (decay * decay) + gain * gain
        self.square_distance += max(1.0 / self.n, 1.0 - decay) * (square - self.square_distance)

    def gain(self, share: float, standard_errors: float) -> float:
        """Return the loss that this share would have saved, less `standard_errors` of it."""
        bend = 2.0 * (self.whole - 2.0 * self.half + self.none)
        slope = 4.0 * self.half - 3.0 * self.none - self.whole
        error = 2.0 * share * math.sqrt(self.squares)
        return -(slope * share + bend * share * share) - standard_errors * error


@dataclass(frozen=True)
class Blending:
    """Serve the blend that would have been best recently, as long as blending does no harm.

    Parameters
    ----------
    burn_in
        The number of examples before a challenger may be blended in.
    early
        The same while the champion itself has fewer than `burn_in` examples: at the beginning no
        model is known to be better, and a poor start costs most.
    memory
        The number of recent examples that count, about.
    standard_errors
        The number of standard errors by which a blend must have helped.
    clip
        A challenger's prediction is clipped at this many times its usual distance from the
        champion's.
    tolerance
        The champion alone serves while the served predictions have recently lost more than the
        champion's by this share.

    Examples
    --------
    >>> Blending().decay
    0.999
    """

    burn_in: int = 100
    early: int = 2
    memory: float = 1000.0
    standard_errors: float = 0.5
    clip: float = 3.0
    tolerance: float = 0.005

    def __post_init__(self) -> None:
        check_numbers(self, Blending)
        if not (min(self.burn_in, self.early) >= 1 and self.memory > 1 and self.clip > 0):
            rule = "burn_in and early must be at least 1, memory above 1, clip above 0"
            raise ConfigError(f"{rule}, got {self}")
        if not (self.standard_errors >= 0 and self.tolerance >= 0):
            raise ConfigError(f"standard_errors and tolerance must not be negative, got {self}")

    @property
    def decay(self) -> float:
        """The factor by which the weight of an example shrinks with each further one."""
        return 1.0 - 1.0 / self.memory

    def choose(
        self, gains: Iterable[tuple[Config, BlendGain]], charged: int
    ) -> tuple[Config | None, float]:
        """Return the challenger to blend in, or None if none helps, and its share.

        `charged` is the number of the champion's examples.
        """
        best, other, chosen = 0.0, None, 0.0
        least = self.early if charged < self.burn_in else self.burn_in
        for c, blend_gain in gains:
            if blend_gain.n < least:
                continue
            for share in SHARES:
                gain = blend_gain.gain(share, self.standard_errors)
                if gain > best:
                    best, other, chosen = gain, c, share
        return other, chosen


@dataclass(frozen=True)
class ChampionServes(Blending):
    """Only the champion serves.

    >>> ChampionServes().choose([(Config(["ab"]), BlendGain(n=1000, none=2.0))], charged=1000)
    (None, 0.0)
    """

    def choose(
        self, gains: Iterable[tuple[Config, BlendGain]], charged: int
    ) -> tuple[Config | None, float]:
        """Return no challenger."""
        return None, 0.0


@dataclass(slots=True)
class Serving:
    """Who serves beside the champion, and the recent losses: the state of a :class:`Blending`.

    >>> Serving().served(Config(), {Config(): 1.5})
    1.5
    """

    other: Config | None = None
    share: float = 0.0
    max_distance: float = 0.0  # at which the other's prediction is clipped
    served_loss: float = 0.0  # decayed sums: of the served predictions, and of the champion's
    champion_loss: float = 0.0

    def by(self, champion: Config) -> Config | Blend:
        """Return the model or blend that serves the next example."""
        if self.other is None:
            return champion
        if self.share == 1.0:
            return self.other
        return Blend(champion, self.other, self.share)

    def served(self, champion: Config, raw: Mapping[Config, float]) -> float:
        """Return the prediction to serve, given the predictions of all live models."""
        if self.other is None:
            return raw[champion]
        distance = raw[self.other] - raw[champion]
        if distance != distance:  # not a number
            return raw[champion]
        distance = min(max(distance, -self.max_distance), self.max_distance)
        return raw[champion] + self.share * distance

    def add(self, served_loss: float, champion_loss: float, decay: float) -> None:
        """Add the losses of the served prediction and of the champion's on one example."""
        if math.isfinite(champion_loss + served_loss):
            self.served_loss = self.served_loss * decay + served_loss
            self.champion_loss = self.champion_loss * decay + champion_loss

    def choose(self, policy: Blending, gains: Mapping[Config, BlendGain], charged: int) -> None:
        """Choose who serves next, among the champion and the live challengers."""
        self.other, self.share = policy.choose(gains.items(), charged)
        if self.served_loss > self.champion_loss * (1.0 + policy.tolerance):
            self.other, self.share = None, 0.0
        square = 0.0 if self.other is None else gains[self.other].square_distance
        self.max_distance = policy.clip * math.sqrt(square)
