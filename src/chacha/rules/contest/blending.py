"""Serving: the champion, or a blend of it with the live challenger that helps it most.

A newcomer is not served before it is known, and never by a prediction that is wild for it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from chacha.config.config import Config
from chacha.errors import ConfigError
from chacha.losses import Loss

__all__ = ["Blend", "BlendGain", "Blending", "ChampionServes"]

SHARES = (0.25, 0.5, 0.75, 1.0)


@dataclass(frozen=True, slots=True)
class Blend:
    """A prediction of two models: the champion's, and `share` of the way to another's.

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
    """What blending in one challenger would have brought: decayed sums over its examples.

    `whole`, `half` and `none` are the losses of its predictions, of the mean of them and the
    champion's, and of the champion's. The loss at any other share lies on the parabola through
    the three: for squared loss exactly.

    >>> helping = BlendGain()
    >>> for _ in range(200):
    ...     helping.add(none=1.0, half=0.25, whole=0.5, apart=1.0, decay=0.999)
    >>> [share for share in SHARES if helping.gain(share, noise=0.5) > 0]
    [0.25, 0.5, 0.75, 1.0]
    """

    n: int = 0
    none: float = 0.0
    half: float = 0.0
    whole: float = 0.0
    noise: float = 0.0  # of the gain at a half: the sum of its squares
    apart: float = 0.0  # the mean square of how far its predictions are from the champion's

    def add(self, none: float, half: float, whole: float, apart: float, decay: float) -> None:
        """The losses of one example, and how far the two predictions were apart."""
        square = apart * apart
        if not math.isfinite(none + half + whole + square):
            return
        self.n += 1
        self.none = self.none * decay + none
        self.half = self.half * decay + half
        self.whole = self.whole * decay + whole
        gain = none - half
        self.noise = self.noise * (decay * decay) + gain * gain
        self.apart += max(1.0 / self.n, 1.0 - decay) * (square - self.apart)

    def gain(self, share: float, noise: float) -> float:
        """What that share of it would have saved, less `noise` standard errors."""
        bend = 2.0 * (self.whole - 2.0 * self.half + self.none)
        slope = 4.0 * self.half - 3.0 * self.none - self.whole
        error = 2.0 * share * math.sqrt(self.noise)
        return -(slope * share + bend * share * share) - noise * error


@dataclass(frozen=True)
class Blending:
    """Serve the blend that would have been best of late, while blending does no harm.

    Parameters
    ----------
    burn_in
        Examples before a challenger may be served.
    early
        The same as long as the champion has no more than `burn_in` itself: in the beginning
        nobody is known better than another, and a poor start costs most.
    memory
        About how many examples count.
    noise
        Standard errors by which a blend must have helped.
    wild
        A challenger's prediction counts up to this many times its usual distance from the
        champion's.
    harm
        If what was served lost this much more than the champion, of late, the champion serves.

    Examples
    --------
    >>> Blending().decay
    0.999
    """

    burn_in: int = 100
    early: int = 2
    memory: float = 1000.0
    noise: float = 0.5
    wild: float = 3.0
    harm: float = 0.005

    def __post_init__(self) -> None:
        if not (min(self.burn_in, self.early) >= 1 and self.memory > 1 and self.wild > 0):
            told = "burn_in and early must be at least 1, memory above 1, wild above 0"
            raise ConfigError(f"{told}: {self}")
        if not (self.noise >= 0 and self.harm >= 0):
            raise ConfigError(f"noise and harm must not be negative: {self}")

    @property
    def decay(self) -> float:
        """What a loss counts after one more example."""
        return 1.0 - 1.0 / self.memory

    def choose(
        self, helping: Iterable[tuple[Config, BlendGain]], charged: int
    ) -> tuple[Config | None, float]:
        """The challenger to blend in, and its share; None if nobody helps.

        `charged` counts the examples of the champion.
        """
        best, other, chosen = 0.0, None, 0.0
        least = self.early if charged < self.burn_in else self.burn_in
        for c, help_ in helping:
            if help_.n < least:
                continue
            for share in SHARES:
                gain = help_.gain(share, self.noise)
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
        self, helping: Iterable[tuple[Config, BlendGain]], charged: int
    ) -> tuple[Config | None, float]:
        """Nobody else."""
        return None, 0.0


class Serving:
    """Who serves, and how well that went: the state of a :class:`Blending`.

    >>> serving = Serving(Blending(), Config())
    >>> serving.served({Config(): 1.5})
    1.5
    """

    def __init__(self, policy: Blending, champion: Config) -> None:
        self.policy, self.champion = policy, champion
        self.helping: dict[Config, BlendGain] = {}
        self.other: Config | None = None
        self.share = 0.0
        self.most = 0.0  # how far the other's prediction may count
        self.lost = 0.0  # decayed: what was served, and what the champion would have lost
        self.champion_lost = 0.0

    @property
    def by(self) -> Config | Blend:
        """Who serves the next example."""
        if self.other is None:
            return self.champion
        if self.share == 1.0:
            return self.other
        return Blend(self.champion, self.other, self.share)

    def served(self, raw: Mapping[Config, float]) -> float:
        """The prediction that is served, of those that all live models made."""
        champion = raw[self.champion]
        if self.other is None:
            return champion
        apart = raw[self.other] - champion
        if apart != apart:  # not a number
            return champion
        return champion + self.share * min(max(apart, -self.most), self.most)

    def add(
        self, raw: Mapping[Config, float], served: float, y: float, weight: float, loss: Loss
    ) -> None:
        """The predictions of one example, and the one that was served."""
        champion, decay = raw[self.champion], self.policy.decay
        none = weight * loss.loss(champion, y)
        lost = weight * loss.loss(served, y)
        if math.isfinite(none + lost):
            self.lost = self.lost * decay + lost
            self.champion_lost = self.champion_lost * decay + none
        for c, helping in self.helping.items():
            if c in raw:
                apart = raw[c] - champion
                half = weight * loss.loss(champion + 0.5 * apart, y)
                helping.add(none, half, weight * loss.loss(raw[c], y), apart, decay)

    def choose(self, champion: Config, live: Iterable[Config], charged: int) -> None:
        """Who serves next, of the champion and the live challengers."""
        self.champion = champion
        self.helping = {c: self.helping.get(c) or BlendGain() for c in live}
        self.other, self.share = self.policy.choose(self.helping.items(), charged)
        if self.lost > self.champion_lost * (1.0 + self.policy.harm):
            self.other, self.share = None, 0.0
        known = 0.0 if self.other is None else self.helping[self.other].apart
        self.most = self.policy.wild * math.sqrt(known)
