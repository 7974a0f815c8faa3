"""Online AutoML for data streams: tune an online learner while it serves.

An implementation of "ChaCha for Online AutoML" (Wu, Wang, Langford, Mineiro, Rossi,
ICML 2021). Start with :class:`ChaCha`.
"""

from __future__ import annotations

from chacha import checks
from chacha.config.config import Config
from chacha.config.derived_groups import Features
from chacha.config.space import Choice, Integer, Interactions, LogUniform, Space, Uniform
from chacha.data.example import Example, Feature, make_example, parse_line
from chacha.drivers.records import LiveModel, Served, Step, Stretch, Summary
from chacha.errors import (
    BadExample,
    ChaChaError,
    ConfigError,
    DataError,
    MissingExtra,
    PoolError,
    SourceError,
    TicketError,
)
from chacha.export.transform import Transform
from chacha.losses import Hinge, Logistic, Loss, Poisson, Quantile, Squared
from chacha.model import ChaCha
from chacha.pools import open_pool
from chacha.pools.base import Copies, Derives, Learner, LivePool, SequentialPool
from chacha.pools.native import NativePool
from chacha.pools.reference import ReferenceLearner, ReferencePool
from chacha.rules.contest.betting import Coin, PairedBernstein, PairedBetting, Pairing
from chacha.rules.contest.blending import Blend, Blending, ChampionServes
from chacha.rules.contest.contest import Contest
from chacha.rules.contest.moves import Moves
from chacha.rules.contest.screening import Screening
from chacha.rules.decisions import (
    Decision,
    Eliminated,
    LeaseDoubled,
    Promoted,
    Retired,
    WentLive,
    decision_from_json,
)
from chacha.rules.oracle import ConfigOracle, DefaultOracle, second_order_products
from chacha.rules.paper.bounds import (
    Bound,
    Evidence,
    SampleComplexity,
    Standing,
    better_than,
    worse_than,
)
from chacha.rules.paper.champion import ChampionChallengers
from chacha.rules.paper.comparators import (
    AggressiveScheduling,
    Exhaustive,
    RandomChallengers,
    WithoutChampion,
)
from chacha.rules.paper.flow2 import Flow2
from chacha.rules.paper.scheduler import Scheduler
from chacha.rules.starting import FromScratch, HeadStart
from chacha.rules.stream_facts import Observed
from chacha.source_profile import with_log_target
from chacha.sources import (
    Bad,
    Categories,
    CsvDialect,
    Format,
    GroupBy,
    Kind,
    LogTarget,
    Missing,
    OnBad,
    Rows,
    Source,
    TableSpec,
    open_files,
    open_source,
)
from chacha.tickets import Ticket

__version__ = "0.1.0"

__all__ = [
    "AggressiveScheduling",
    "Bad",
    "BadExample",
    "Blend",
    "Blending",
    "Bound",
    "Categories",
    "ChaCha",
    "ChaChaError",
    "ChampionChallengers",
    "ChampionServes",
    "Choice",
    "Coin",
    "Config",
    "ConfigError",
    "ConfigOracle",
    "Contest",
    "Copies",
    "CsvDialect",
    "DataError",
    "Decision",
    "DefaultOracle",
    "Derives",
    "Eliminated",
    "Evidence",
    "Example",
    "Exhaustive",
    "Feature",
    "Features",
    "Flow2",
    "Format",
    "FromScratch",
    "GroupBy",
    "HeadStart",
    "Hinge",
    "Integer",
    "Interactions",
    "Kind",
    "Learner",
    "LeaseDoubled",
    "LiveModel",
    "LivePool",
    "LogTarget",
    "LogUniform",
    "Logistic",
    "Loss",
    "Missing",
    "MissingExtra",
    "Moves",
    "NativePool",
    "Observed",
    "OnBad",
    "PairedBernstein",
    "PairedBetting",
    "Pairing",
    "Poisson",
    "PoolError",
    "Promoted",
    "Quantile",
    "RandomChallengers",
    "ReferenceLearner",
    "ReferencePool",
    "Retired",
    "Rows",
    "SampleComplexity",
    "Scheduler",
    "Screening",
    "SequentialPool",
    "Served",
    "Source",
    "SourceError",
    "Space",
    "Squared",
    "Standing",
    "Step",
    "Stretch",
    "Summary",
    "TableSpec",
    "Ticket",
    "TicketError",
    "Transform",
    "Uniform",
    "WentLive",
    "WithoutChampion",
    "better_than",
    "checks",
    "decision_from_json",
    "make_example",
    "open_files",
    "open_pool",
    "open_source",
    "parse_line",
    "second_order_products",
    "with_log_target",
    "worse_than",
]
