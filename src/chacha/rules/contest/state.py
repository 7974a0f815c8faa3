"""The state of a contest: everything that changes while the recommended rules run.

The engine holds the part that changes with every example (native/src/rules/contest.hpp).
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass, field, replace

from chacha.config.config import Config
from chacha.rules.contest.betting import Pairing
from chacha.rules.contest.blending import BlendGain, Serving
from chacha.rules.contest.rotation import Move, MoveSource
from chacha.rules.contest.screening import CandidateWindow
from chacha.rules.contest.surprise import Surprise

__all__ = ["Challenger", "ContestState"]

MEMORY = 2000.0  # examples that the champion's usual loss is averaged over


@dataclass(slots=True)
class Challenger:
    """A live challenger: its evidence, the gain of blending it in, its lease and its move."""

    pairing: Pairing
    blend_gain: BlendGain
    lease: int
    move: Move

    def copy(self) -> Challenger:
        """Return a copy that further examples do not change."""
        return Challenger(copy(self.pairing), copy(self.blend_gain), self.lease, self.move)

    def begin_again(self) -> None:
        """Forget all examples; lease and move stay."""
        self.pairing = Pairing(self.pairing.number, self.pairing.needed)
        self.pairing.restart()
        self.blend_gain = BlendGain()


@dataclass(slots=True)
class ContestState:
    """The champion, the live challengers, who serves, and what is tried next.

    >>> from chacha.rules.contest.rotation import OracleMoves
    >>> from chacha.rules.contest.screening import Screening
    >>> moves = OracleMoves(lambda champion, groups: [])
    >>> ContestState(Config(), moves, CandidateWindow(Screening())).B
    []
    """

    champion: Config
    moves: MoveSource
    window: CandidateWindow
    t: int = 0  # examples
    charged: int = 0  # examples that the champion was charged for
    level: float = 0.0  # the champion's usual loss
    challenged: int = 0  # challengers so far, for α
    decide_anyway: bool = False  # fill free slots even if nothing else is decided
    challengers: dict[Config, Challenger] = field(default_factory=dict)
    serving: Serving = field(default_factory=Serving)
    surprise: Surprise = field(default_factory=Surprise)

    @property
    def B(self) -> list[Config]:
        """The live challengers, in the order in which they went live."""
        return list(self.challengers)

    @property
    def S(self) -> Mapping[Config, Challenger]:
        """The challengers: only the live ones, as others are proposed when a slot is free."""
        return self.challengers

    def charge_champion(self, loss: float) -> None:
        """Count a weighted loss of the champion, which is finite."""
        self.charged += 1
        share = max(1.0 / self.charged, 1.0 / MEMORY)
        self.level += share * (loss - self.level)

    def begin_again(self) -> None:
        """Forget all that was charged, as if no model had seen an example."""
        self.charged, self.level, self.serving = 0, 0.0, Serving()
        self.surprise.begin_again()
        for challenger in self.challengers.values():
            challenger.begin_again()

    def copy(self) -> ContestState:
        """Return a copy that further steps do not change; it shares the moves."""
        challengers = {c: challenger.copy() for c, challenger in self.challengers.items()}
        serving, surprise = copy(self.serving), copy(self.surprise)
        return replace(self, challengers=challengers, serving=serving, surprise=surprise)
