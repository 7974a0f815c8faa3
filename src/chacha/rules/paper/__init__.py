"""The paper's rules: Algorithms 1 to 3, their bounds, their oracle and their comparators."""

from __future__ import annotations

from chacha.rules.paper.bounds import Bound, Evidence, SampleComplexity, better_than, worse_than
from chacha.rules.paper.champion import ChampionChallengers, PaperRules
from chacha.rules.paper.comparators import (
    AggressiveScheduling,
    Exhaustive,
    RandomChallengers,
    WithoutChampion,
)
from chacha.rules.paper.default_oracle import DefaultOracle, second_order_products
from chacha.rules.paper.flow2 import Flow2
from chacha.rules.paper.scheduler import Scheduler
from chacha.rules.paper.state import PaperState

__all__ = [
    "AggressiveScheduling",
    "Bound",
    "ChampionChallengers",
    "DefaultOracle",
    "Evidence",
    "Exhaustive",
    "Flow2",
    "PaperRules",
    "PaperState",
    "RandomChallengers",
    "SampleComplexity",
    "Scheduler",
    "WithoutChampion",
    "better_than",
    "second_order_products",
    "worse_than",
]
