"""How a challenger's model starts: empty, or as a copy of the champion's."""

from __future__ import annotations

from dataclasses import dataclass

from chacha.config.arguments import check_numbers
from chacha.data.vw_text import FLOAT32_MAX
from chacha.errors import ConfigError

__all__ = ["FromScratch", "HeadStart", "Starting"]


@dataclass(frozen=True)
class FromScratch:
    """Start with an empty model, as in the paper (Algorithm 2, line 13).

    >>> FromScratch()
    FromScratch()
    """


@dataclass(frozen=True)
class HeadStart:
    """Start with a copy of the champion's model, or empty where the pool cannot copy it.

    `damping` limits the first steps of new coordinates: they begin as if they had already
    accumulated that share of the champion's squared gradients.

    >>> HeadStart().damping
    0.1
    """

    damping: float = 0.1

    def __post_init__(self) -> None:
        check_numbers(self, HeadStart)
        if not 0 <= self.damping <= FLOAT32_MAX:
            raise ConfigError(
                f"damping must be a number of at least 0 in single precision, got {self.damping}"
            )


Starting = FromScratch | HeadStart
