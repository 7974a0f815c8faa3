"""Paired evidence: a challenger against the champion, over the same examples.

The difference of their losses is bet on, example by example. Whoever keeps winning grows rich;
if the challenger were no better, the odds would exceed 1/α with a probability of at most α,
whenever one looks (Ville's inequality). So the tests may be looked at after every example.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields

from chacha.errors import ConfigError

__all__ = ["Coin", "PairedBernstein", "PairedBetting", "Pairing"]

SPENT = 2.11  # above Σ 1/((k+1)·ln²(k+1)) over all k >= 1, which is 2.1097
LEAST_VARIANCE = 1e-4
NOTHING = 1e-200  # odds below that count as none


@dataclass(frozen=True)
class Coin:
    """MoveRotation every difference, in blocks, by a seeded coin: then no challenger is better.

    >>> coin = Coin(seed=1, block=10)
    >>> [coin.sign(k=1, n=n) for n in (0, 9, 10, 20, 30, 40)]
    [1.0, 1.0, 1.0, 1.0, 1.0, -1.0]
    """

    seed: int
    block: int = 10

    def __post_init__(self) -> None:
        if self.block < 1 or self.seed < 0:
            raise ConfigError(f"a coin needs a block of at least 1 and a seed of 0 or more: {self}")

    def sign(self, k: int, n: int) -> float:
        """The side for the n-th example of the k-th challenger."""
        x = (self.seed * 0x9E3779B97F4A7C15 + k * 0xBF58476D1CE4E5B9 + n // self.block) & MASK
        x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & MASK
        return 1.0 if (x ^ (x >> 31)) & 1 else -1.0


MASK = (1 << 64) - 1


@dataclass(slots=True)
class Pairing:
    """What is known of one challenger: the odds that it is better, and that it is worse.

    `reserve` is what has not been bet yet. At the start, and whenever a lease is doubled, half
    of it is: a challenger that began badly, or a world that changed, does not weigh for ever.

    >>> rules, pairing = PairedBetting(), Pairing(number=1, needed=100.0)
    >>> pairing.restart()
    >>> for _ in range(60):
    ...     pairing.add(1.0, 0.7, 1.0, level=1.0, rules=rules)
    >>> pairing.n, round(pairing.odds), pairing.odds_against
    (60, 3, 1.0)
    """

    number: int
    needed: float  # odds that promote
    n: int = 0
    reserve: float = 1.0
    wealth: float = 0.0  # at stake for "better"
    against: float = 0.0  # at stake for "worse"
    scale: float = 0.0  # of the differences; frozen until the next restart
    blocks: int = 0  # so far
    parts: int = 0  # differences in the block at hand, and their sums
    part: float = 0.0
    part_harm: float = 0.0
    seen: int = 0  # blocks since the last restart, as are the sums
    total: float = 0.0
    squares: float = 0.0
    clips: int = 0
    champion_loss: float = 0.0  # sums over its examples, unclipped
    loss: float = 0.0
    odds_before: float = 1.0  # when the lease was last looked at

    @property
    def odds(self) -> float:
        """For "better"."""
        return self.wealth + self.reserve

    @property
    def odds_against(self) -> float:
        """For "worse"."""
        return self.against + self.reserve

    @property
    def reached(self) -> float:
        """What part of the odds that promote it has."""
        return self.odds / self.needed

    def restart(self) -> None:
        """Bet half of the reserve, on what is seen from now on."""
        self.reserve *= 0.5
        self.wealth += self.reserve
        self.against += self.reserve
        self.scale = 0.0
        self.blocks += self.parts > 0
        self.parts, self.part, self.part_harm = 0, 0.0, 0.0
        self.seen, self.total, self.squares = 0, 0.0, 0.0

    def add(
        self, champion: float, own: float, weight: float, level: float, rules: PairedBetting
    ) -> None:
        """Two losses on one example; `level` is the champion's usual loss, from before it."""
        self.n += 1
        self.champion_loss += weight * champion
        self.loss += weight * own
        if self.scale == 0.0:
            self.scale = rules.clip * level
        ahead = champion - own
        if ahead != ahead or not (self.scale > 0.0 or math.isinf(ahead)):
            return  # both losses are infinite, or the champion has lost nothing yet
        if rules.coin is not None:
            ahead *= rules.coin.sign(self.number, self.blocks * rules.block + self.parts)
        gain, harm = ahead, -ahead
        if not math.isinf(ahead):
            gain = weight * (ahead - rules.margin * champion) / self.scale
            harm = weight * -ahead / self.scale
        self.clips += abs(gain) > 1.0
        self.part += _clipped(gain)
        self.part_harm += _clipped(harm)
        self.parts += 1
        if self.parts == rules.block:
            self._bet(rules)

    def _bet(self, rules: PairedBetting) -> None:
        """A block is full: bet on its mean."""
        wider = rules.clip / (rules.block_clip * rules.block)
        gain, harm = _clipped(self.part * wider), _clipped(self.part_harm * wider)
        self.blocks += 1
        self.parts, self.part, self.part_harm = 0, 0.0, 0.0
        if self.seen >= rules.warm_up:
            mean = self.total / self.seen
            variance = self.squares / self.seen - mean * mean + LEAST_VARIANCE
            bet = rules.bet(mean, variance)
            if mean > 0.0:
                self.wealth = _kept(self.wealth * rules.payoff(bet, gain, mean))
            elif mean < 0.0:
                self.against = _kept(self.against * rules.payoff(bet, harm, -mean))
        self.seen += 1
        self.total += gain
        self.squares += gain * gain


def worst(loss: float) -> float:
    """A loss that is not a number counts as infinite.

    >>> worst(math.nan), worst(0.5)
    (inf, 0.5)
    """
    return loss if loss == loss else math.inf


def _clipped(value: float) -> float:
    return min(max(value, -1.0), 1.0)


def _kept(odds: float) -> float:
    return odds if odds > NOTHING else 0.0


@dataclass(frozen=True)
class PairedBetting:
    """A betting test: the odds grow by 1 + λ·g, where λ is the bet and g a scaled difference.

    The bet is what would have been best so far (Waudby-Smith and Ramdas 2021). It needs bounded
    differences only, whatever their distribution. One bet is made for a block of examples, on
    the mean difference: neighbours in a stream are often alike, and count as one then.

    Parameters
    ----------
    alpha
        The probability that a run ever promotes a challenger that is no better, over its whole
        life: the k-th challenger gets α/(2.11·(k+1)·ln²(k+1)).
    margin
        A challenger must be better by this share of the champion's loss.
    block
        Examples for one bet.
    clip, block_clip
        A difference is clipped at `clip` times the champion's usual loss, the mean of a block at
        `block_clip` times it.
    most
        The largest bet, a share of what is at stake.
    eliminates
        The odds for "worse" that end a challenger's life.
    patience
        Examples before that can happen: what is new learns at first.
    renews
        What the odds must have been multiplied by for a lease to be doubled.
    warm_up
        Blocks that are looked at before the first bet.
    coin
        MoveRotation the differences at random, to measure how often nothing is taken for something.

    Examples
    --------
    >>> round(PairedBetting().needed(1)), round(PairedBetting().needed(100))
    (41, 90782)
    """

    alpha: float = 0.05
    margin: float = 0.005
    block: int = 10
    clip: float = 3.0
    block_clip: float = 0.5
    most: float = 0.9
    eliminates: float = 20.0
    patience: int = 500
    renews: float = 2.0
    warm_up: int = 2
    coin: Coin | None = None

    def __post_init__(self) -> None:
        if not 0 < self.alpha < 1:
            raise ConfigError(f"alpha must lie between 0 and 1, got {self.alpha}")
        if not 0 <= self.margin < 1:
            raise ConfigError(f"margin must be at least 0 and below 1, got {self.margin}")
        if not 0 < self.most < 1:
            raise ConfigError(f"most must lie between 0 and 1, got {self.most}")
        least = {"clip": 0, "block_clip": 0, "eliminates": 1, "renews": 1}
        for name, above in least.items():
            if not getattr(self, name) > above:
                raise ConfigError(f"{name} must be above {above}, got {getattr(self, name)}")
        for name in ("block", "warm_up", "patience"):
            if getattr(self, name) < 1:
                raise ConfigError(f"{name} must be at least 1, got {getattr(self, name)}")

    def needed(self, k: int) -> float:
        """The odds that promote the k-th challenger of a run, from 1."""
        log = math.log(k + 1.0)
        return SPENT * (k + 1.0) * log * log / self.alpha

    def bet(self, mean: float, variance: float) -> float:
        """λ for the side that the mean is on."""
        return min(abs(mean) / (variance + mean * mean), self.most)

    def payoff(self, bet: float, g: float, mean: float) -> float:
        """What one unit at stake becomes. A supermartingale if E[g] <= 0."""
        return 1.0 + bet * g

    def with_coin(self, coin: Coin) -> PairedBetting:
        """The same test on differences that a coin turns.

        >>> PairedBetting().with_coin(Coin(seed=1)).coin
        Coin(seed=1, block=10)
        """
        values = {f.name: getattr(self, f.name) for f in fields(self)}
        return type(self)(**{**values, "coin": coin})


@dataclass(frozen=True)
class PairedBernstein(PairedBetting):
    """An empirical Bernstein test: the odds grow by exp(λ·g/2 - ψ(λ)·((g - mean)/2)²).

    With ψ(λ) = -ln(1 - λ) - λ and the mean so far (Howard et al. 2021; Waudby-Smith and Ramdas
    2021). Its logarithm is a sum, so a confidence sequence for the mean difference is had by
    solving for it. Slower than betting.

    >>> rules, pairing = PairedBernstein(), Pairing(number=1, needed=100.0)
    >>> pairing.restart()
    >>> for _ in range(60):
    ...     pairing.add(1.0, 0.7, 1.0, level=1.0, rules=rules)
    >>> round(pairing.odds)
    2
    """

    def bet(self, mean: float, variance: float) -> float:
        """λ/(1 - λ) = 2·mean/variance is best for this payoff."""
        return min(2.0 * abs(mean) / (variance + 2.0 * abs(mean)), self.most)

    def payoff(self, bet: float, g: float, mean: float) -> float:
        """exp(λ·g/2 - ψ(λ)·((g - mean)/2)²): at most 1 in expectation if E[g] <= 0."""
        psi = -math.log1p(-bet) - bet
        half = (g - mean) * 0.5
        return math.exp(bet * g * 0.5 - psi * half * half)
