"""The state of Algorithm 1: everything that changes while the paper's rules run."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, field, replace
from random import Random

from chacha.config.config import Config
from chacha.rules.oracle import ConfigOracle
from chacha.rules.progressive_loss import ProgressiveLoss

__all__ = ["PaperState"]


@dataclass(slots=True)
class PaperState:
    """C, S, B, the leases, and the progressive validation loss of every live model.

    >>> PaperState(Config(), Config(), oracle=lambda champion, groups: [], rng=Random(0)).B
    []
    """

    champion: Config
    incumbent: Config
    oracle: ConfigOracle
    rng: Random
    t: int = 0
    S: dict[Config, None] = field(default_factory=dict)  # an ordered set
    B: list[Config] = field(default_factory=list)
    lease: dict[Config, int] = field(default_factory=dict)
    proposed: set[Config] = field(default_factory=set)
    standing: dict[Config, ProgressiveLoss] = field(default_factory=dict)
    decide_anyway: bool = False  # fill free slots even if nothing else is decided

    def copy(self) -> PaperState:
        """Return a copy that further steps do not change; it shares the oracle and the rng."""
        standing = {c: copy(standing) for c, standing in self.standing.items()}
        return self.after(self.t, self.incumbent, standing)

    def after(
        self, t: int, incumbent: Config, standing: dict[Config, ProgressiveLoss]
    ) -> PaperState:
        """Return a copy after further examples, which change nothing else."""
        return replace(
            self,
            t=t,
            incumbent=incumbent,
            standing=standing,
            S=dict(self.S),
            B=list(self.B),
            lease=dict(self.lease),
            proposed=set(self.proposed),
        )
