"""The recommended rules: paired betting tests, screened moves, blended predictions."""

from __future__ import annotations

from chacha.rules.contest.betting import Coin, PairedBernstein, PairedBetting, Pairing
from chacha.rules.contest.blending import Blend, Blending, ChampionServes
from chacha.rules.contest.contest import Contest, ContestRules
from chacha.rules.contest.moves import Moves
from chacha.rules.contest.scaling import Scaling
from chacha.rules.contest.screening import Screening
from chacha.rules.contest.state import ContestState

__all__ = [
    "Blend",
    "Blending",
    "ChampionServes",
    "Coin",
    "Contest",
    "ContestRules",
    "ContestState",
    "Moves",
    "PairedBernstein",
    "PairedBetting",
    "Pairing",
    "Scaling",
    "Screening",
]
