"""Betting tests: a challenger against the champion, over the same examples.

A test bets on the difference of the two losses, example by example, and its wealth is the evidence.
If the challenger is no better, the odds ever exceed 1/α with a probability of at most α (Ville's
inequality). So the tests may be evaluated after every example.

Twin: native/src/rules/betting.hpp
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields

from chacha.config.arguments import LONGEST, check_numbers, check_part, whole_number
from chacha.errors import ConfigError

__all__ = ["Coin", "PairedBernstein", "PairedBetting", "Pairing"]

SPENT = 2.11  # above Σ 1/((k+1)·ln²(k+1)) over all k >= 1, which is 2.1097
LEAST_VARIANCE = 1e-4
NOTHING = 1e-200  # smaller odds count as 0


@dataclass(frozen=True)
class Coin:
    """Flip the sign of the differences, block by block, with a seeded coin.

    On such differences no challenger is better, so every promotion is a mistake.

    >>> coin = Coin(seed=1, block=10)
    >>> [coin.sign(k=1, n=n) for n in (0, 9, 10, 20, 30, 40)]
    [1.0, 1.0, 1.0, 1.0, 1.0, -1.0]
    """

    seed: int
    block: int = 10

    def __post_init__(self) -> None:
        whole_number("seed", self.seed, 0)
        whole_number("block", self.block, 1, most=LONGEST)

    def sign(self, k: int, n: int) -> float:
        """Return the sign, 1 or -1, for the n-th example of the k-th challenger."""
        x = (self.seed * 0x9E3779B97F4A7C15 + k * 0xBF58476D1CE4E5B9 + n // self.block) & MASK
        x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & MASK
        return 1.0 if (x ^ (x >> 31)) & 1 else -1.0


MASK = (1 << 64) - 1


@dataclass(slots=True)
class Pairing:
    """The evidence on one challenger: the odds that it is better, and that it is worse.

    `reserve` is the wealth not yet bet. Half of it is bet at the start and whenever a lease is
    doubled, so that a bad beginning or a change of the stream does not count forever.

    >>> rules, pairing = PairedBetting(), Pairing(number=1, needed=100.0)
    >>> pairing.restart()
    >>> for _ in range(60):
    ...     pairing.add(1.0, 0.7, 1.0, level=1.0, rules=rules)
    >>> pairing.n, round(pairing.odds), pairing.odds_against
    (60, 3, 1.0)
    """

    number: int
    needed: float  # the odds that promote
    n: int = 0
    reserve: float = 1.0
    wealth: float = 0.0  # at stake for "better"
    against: float = 0.0  # at stake for "worse"
    scale: float = 0.0  # of the differences; fixed until the next restart
    blocks: int = 0  # in all
    block_n: int = 0  # differences in the current block, and their sums
    block_gain: float = 0.0
    block_harm: float = 0.0
    blocks_since_restart: int = 0  # and the sums over them
    total: float = 0.0
    squares: float = 0.0
    clips: int = 0
    champion_loss: float = 0.0  # sums over the challenger's examples, unclipped
    loss: float = 0.0
    odds_before: float = 1.0  # the odds when the current lease began

    @property
    def odds(self) -> float:
        """The odds that the challenger is better."""
        return self.wealth + self.reserve

    @property
    def odds_against(self) -> float:
        """The odds that the challenger is worse."""
        return self.against + self.reserve

    @property
    def reached(self) -> float:
        """The odds as a share of those that promote."""
        return self.odds / self.needed

    def restart(self) -> None:
        """Bet half of the reserve on the examples from now on."""
        self.reserve *= 0.5
        self.wealth += self.reserve
        self.against += self.reserve
        self.scale = 0.0
        self.blocks += self.block_n > 0
        self.block_n, self.block_gain, self.block_harm = 0, 0.0, 0.0
        self.blocks_since_restart, self.total, self.squares = 0, 0.0, 0.0

    def add(
        self, champion: float, challenger: float, weight: float, level: float, rules: PairedBetting
    ) -> None:
        """Add the two losses on one example; `level` is the champion's usual loss before it."""
        self.n += 1
        self.champion_loss += weight * champion
        self.loss += weight * challenger
        if self.scale == 0.0:
            self.scale = rules.clip * level
        ahead = champion - challenger
        if ahead != ahead or not (self.scale > 0.0 or math.isinf(ahead)):
            return  # both losses are infinite, or the champion has lost nothing yet
        if rules.coin is not None:
            ahead *= rules.coin.sign(self.number, self.blocks * rules.block + self.block_n)
        gain, harm = ahead, -ahead
        if not math.isinf(ahead):
            gain = weight * (ahead - rules.margin * champion) / self.scale
            harm = weight * -ahead / self.scale
        self.clips += abs(gain) > 1.0
        self.block_gain += _clipped(gain)
        self.block_harm += _clipped(harm)
        self.block_n += 1
        if self.block_n == rules.block:
            self._bet(rules)

    def _bet(self, rules: PairedBetting) -> None:
        """Bet on the mean of a block that is full."""
        factor = rules.clip / (rules.block_clip * rules.block)
        gain, harm = _clipped(self.block_gain * factor), _clipped(self.block_harm * factor)
        self.blocks += 1
        self.block_n, self.block_gain, self.block_harm = 0, 0.0, 0.0
        blocks, total, squares = self.blocks_since_restart, self.total, self.squares
        self.blocks_since_restart += 1
        self.total += gain
        self.squares += gain * gain
        if blocks >= rules.warm_up:  # last, because a custom test may fail
            mean = total / blocks
            variance = squares / blocks - mean * mean + LEAST_VARIANCE
            bet = rules.bet(mean, variance)
            if mean > 0.0:
                payoff = number(rules.payoff(bet, gain, mean))
                self.wealth = _zero_if_tiny(self.wealth * payoff)
            elif mean < 0.0:
                payoff = number(rules.payoff(bet, harm, -mean))
                self.against = _zero_if_tiny(self.against * payoff)


def nan_to_inf(loss: float) -> float:
    """Return the loss; a loss that is not a number counts as infinite.

    >>> nan_to_inf(math.nan), nan_to_inf(0.5)
    (inf, 0.5)
    """
    return loss if loss == loss else math.inf


def number(value: float) -> float:
    """Return a number that a custom test gave as a float; other things raise an error.

    >>> number(True), number(2)
    (1.0, 2.0)
    """
    return float(value + 0.0)


def _clipped(value: float) -> float:
    return min(max(value, -1.0), 1.0)


def _zero_if_tiny(odds: float) -> float:
    return odds if odds > NOTHING else 0.0


@dataclass(frozen=True)
class PairedBetting:
    """A betting test: the odds grow by 1 + λ·g, where λ is the bet and g a scaled difference.

    The bet is the one that would have been best so far (Waudby-Smith and Ramdas 2021). The test
    only needs bounded differences, whatever their distribution. One bet is made on the mean
    difference of a block of examples: neighbours in a stream are often alike, so they count as one.

    Parameters
    ----------
    alpha
        The probability that a run ever promotes a challenger that is no better. The k-th
        challenger gets α/(2.11·(k+1)·ln²(k+1)).
    margin
        The share of the champion's loss by which a challenger must be better.
    block
        The number of examples for one bet.
    clip, block_clip
        A difference is clipped at `clip` times the champion's usual loss, the mean of a block at
        `block_clip` times it.
    most
        The largest bet, as a share of the wealth at stake.
    eliminates
        The odds for "worse" that eliminate a challenger.
    patience
        The number of examples before a challenger may be eliminated: a new model has to learn
        first.
    renews
        The factor by which the odds must have grown for a lease to be doubled.
    warm_up
        The number of blocks before the first bet.
    coin
        Flips the differences at random, to measure how often the test errs.

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
        check_numbers(self, PairedBetting)
        if self.coin is not None:
            check_part("coin", self.coin, Coin, "Coin() or None")
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
        """Return the odds that promote the k-th challenger of a run, counted from 1."""
        log = math.log(k + 1.0)
        return SPENT * (k + 1.0) * log * log / self.alpha

    def bet(self, mean: float, variance: float) -> float:
        """Return λ for the side of the mean."""
        return min(abs(mean) / (variance + mean * mean), self.most)

    def payoff(self, bet: float, g: float, mean: float) -> float:
        """Return the payoff of one unit at stake: a supermartingale if E[g] <= 0."""
        return 1.0 + bet * g

    def with_coin(self, coin: Coin) -> PairedBetting:
        """Return the same test on differences whose signs a coin flips.

        >>> PairedBetting().with_coin(Coin(seed=1)).coin
        Coin(seed=1, block=10)
        """
        values = {f.name: getattr(self, f.name) for f in fields(self)}
        return type(self)(**{**values, "coin": coin})


@dataclass(frozen=True)
class PairedBernstein(PairedBetting):
    """An empirical Bernstein test: the odds grow by exp(λ·g/2 - ψ(λ)·((g - mean)/2)²).

    With ψ(λ) = -ln(1 - λ) - λ and the mean so far (Howard et al. 2021; Waudby-Smith and Ramdas
    2021). Its logarithm is a sum, so solving for the mean difference gives a confidence sequence
    for it. It needs more examples than betting.

    >>> rules, pairing = PairedBernstein(), Pairing(number=1, needed=100.0)
    >>> pairing.restart()
    >>> for _ in range(60):
    ...     pairing.add(1.0, 0.7, 1.0, level=1.0, rules=rules)
    >>> round(pairing.odds)
    2
    """

    def bet(self, mean: float, variance: float) -> float:
        """Return λ; λ/(1 - λ) = 2·mean/variance is best for this payoff."""
        return min(2.0 * abs(mean) / (variance + 2.0 * abs(mean)), self.most)

    def payoff(self, bet: float, g: float, mean: float) -> float:
        """Return exp(λ·g/2 - ψ(λ)·((g - mean)/2)²): at most 1 in expectation if E[g] <= 0."""
        psi = -math.log1p(-bet) - bet
        half = (g - mean) * 0.5
        return math.exp(bet * g * 0.5 - psi * half * half)
