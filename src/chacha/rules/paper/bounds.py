"""The bounds on the progressive validation loss (Eq. 1), and the two tests (Eq. 2 and 3).

Twin: native/src/rules/bounds.hpp
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from chacha.config.arguments import check_numbers
from chacha.errors import ConfigError
from chacha.rules.progressive_loss import ProgressiveLoss

__all__ = ["Bound", "Evidence", "SampleComplexity", "better_than", "worse_than"]


class Bound(NamedTuple):
    """L^PV with its error bound: upper is L̄, lower is L̲ of the paper.

    >>> Bound(mean=1.0, epsilon=0.25).upper
    1.25
    """

    mean: float
    epsilon: float

    @property
    def upper(self) -> float:
        """L^PV + ε."""
        return self.mean + self.epsilon

    @property
    def lower(self) -> float:
        """L^PV - ε."""
        return self.mean - self.epsilon


def better_than(c: Bound, champion: Bound) -> bool:
    """Eq. 2: c's upper bound is below the champion's lower bound by more than the champion's ε.

    >>> better_than(Bound(1.0, 0.1), Bound(2.0, 0.4)), better_than(Bound(1.0, 0.1), Bound(2.0, 0.5))
    (True, False)
    """
    return c.upper < champion.lower - champion.epsilon


def worse_than(c: Bound, champion: Bound) -> bool:
    """Eq. 3: c's lower bound is above the champion's upper bound.

    >>> worse_than(Bound(2.0, 0.1), Bound(1.0, 0.5))
    True
    """
    return c.lower > champion.upper


class Evidence(Protocol):
    """The interface of a bound.

    >>> evidence: Evidence = SampleComplexity()
    """

    @property
    def burn_in(self) -> int:
        """The examples before a model is tested or served; the champion is always served."""

    def bound(
        self, standing: ProgressiveLoss, d: float, challengers: int, loss_range: float
    ) -> Bound:
        """Return the bound of a configuration of complexity d_c = `d`, |S| = `challengers`."""


@dataclass(frozen=True)
class SampleComplexity:
    """The paper's ε_{c,t}, by default in the appendix's form, in Eq. 1's with `log_in_root=False`.

    Appendix: ε = a·√(d_c·log(n·|S|/δ)/n) with a = `scale`·(loss range).
    Eq. 1: ε = comp·log(n·|S|/δ)·n^(p-1), where comp = a·√d_c unless `comp` is given.

    Parameters
    ----------
    scale
        a as a share of the range of the loss; 0.05 in the paper.
    delta
        δ, the probability that a bound may fail.
    log_in_root
        True for the appendix's form, False for Eq. 1's.
    p, comp
        Eq. 1's exponent and complexity term; only with `log_in_root=False`.
    log_base
        The base of the logarithm: e in the paper, 10 in the authors' code.
    count_challengers
        Whether |S| is inside the logarithm; the authors' code leaves it out.
    burn_in
        The examples before a model may be tested or served; 100 in the authors' code.

    Examples
    --------
    >>> s = ProgressiveLoss(n=1000, total=1000.0, weight=1000.0)
    >>> SampleComplexity().bound(s, d=25, challengers=10, loss_range=1.0).epsilon
    0.026824...
    >>> SampleComplexity.eq1(scale=1.0).bound(s, 25, 10, 1.0).epsilon
    1.8203...
    >>> SampleComplexity.authors().bound(s, 25, 10, 1.0).epsilon
    0.015811...
    """

    scale: float = 0.05
    delta: float = 0.1
    log_in_root: bool = True
    p: float = 0.5
    comp: float | None = None
    log_base: float = math.e
    count_challengers: bool = True
    burn_in: int = 0

    def __post_init__(self) -> None:
        check_numbers(self, SampleComplexity)
        if not self.scale > 0:
            raise ConfigError(f"scale must be positive, got {self.scale}")
        if not 0 < self.delta < 1:
            raise ConfigError(f"delta must lie between 0 and 1, got {self.delta}")
        if not 0 < self.p < 1:
            raise ConfigError(f"p must lie between 0 and 1, got {self.p}")
        if not self.log_base > 1:
            raise ConfigError(f"log_base must be above 1, got {self.log_base}")
        if self.burn_in < 0:
            raise ConfigError(f"burn_in must not be negative, got {self.burn_in}")
        if self.log_in_root and (self.p != 0.5 or self.comp is not None):
            raise ConfigError(
                f"p and comp belong to Eq. 1, got p={self.p}, comp={self.comp}; "
                "set log_in_root=False with them"
            )

    @classmethod
    def eq1(
        cls, scale: float = 0.05, p: float = 0.5, comp: float | None = None, delta: float = 0.1
    ) -> SampleComplexity:
        """Return Eq. 1's form: the logarithm outside the root.

        >>> SampleComplexity.eq1(p=0.6).log_in_root
        False
        """
        return cls(scale=scale, p=p, comp=comp, delta=delta, log_in_root=False)

    @classmethod
    def authors(cls) -> SampleComplexity:
        """Return the constants of the authors' code: log10, no |S|, 100 examples of burn-in.

        >>> SampleComplexity.authors().burn_in
        100
        """
        return cls(log_base=10.0, count_challengers=False, burn_in=100)

    def bound(
        self, standing: ProgressiveLoss, d: float, challengers: int, loss_range: float
    ) -> Bound:
        """Return L^PV and its ε; before the first example the bound is infinite."""
        n = standing.n
        if n == 0:
            return Bound(0.0, math.inf)
        S = max(challengers, 1) if self.count_challengers else 1
        log = math.log(n * S / self.delta)
        if self.log_base != math.e:
            log /= math.log(self.log_base)
        a = self.scale * loss_range
        if self.log_in_root:
            return Bound(standing.mean, a * math.sqrt(d * log / n))
        comp = a * math.sqrt(d) if self.comp is None else self.comp
        return Bound(standing.mean, comp * log * n ** (self.p - 1.0))
