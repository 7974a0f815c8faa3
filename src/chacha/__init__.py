"""Online AutoML for data streams: tune an online learner while it serves.

An implementation of "ChaCha for Online AutoML" (Wu, Wang, Langford, Mineiro, Rossi,
ICML 2021). Start with :class:`ChaCha`.

This module has what most users need. The rest is in its packages: `chacha.rules` (with `paper` and
`contest`), `chacha.pools`, `chacha.sources`, `chacha.config`, `chacha.data`, `chacha.drivers`,
`chacha.errors`.
"""

from __future__ import annotations

from chacha import checks as checks
from chacha import source_profile as source_profile
from chacha.config import (
    Choice,
    Config,
    DerivedFeatures,
    Integer,
    Interactions,
    LogUniform,
    Space,
    Uniform,
)
from chacha.data import Example
from chacha.drivers import Summary
from chacha.errors import ChaChaError
from chacha.export import Transform
from chacha.losses import Hinge, Logistic, Poisson, Quantile, Squared
from chacha.model import ChaCha
from chacha.pools import NativePool, ReferencePool, SequentialPool, open_pool
from chacha.rules import (
    ConfigOracle,
    Decision,
    Eliminated,
    LeaseDoubled,
    Promoted,
    Retired,
    WentLive,
)
from chacha.rules.contest import ContestRules, PairedBetting
from chacha.rules.paper import PaperRules, SampleComplexity
from chacha.sources import OnBad, TableSpec, open_source
from chacha.tickets import Ticket

__version__ = "0.1.0"

__all__ = [
    "ChaCha",
    "ChaChaError",
    "Choice",
    "Config",
    "ConfigOracle",
    "ContestRules",
    "Decision",
    "DerivedFeatures",
    "Eliminated",
    "Example",
    "Hinge",
    "Integer",
    "Interactions",
    "LeaseDoubled",
    "LogUniform",
    "Logistic",
    "NativePool",
    "OnBad",
    "PairedBetting",
    "PaperRules",
    "Poisson",
    "Promoted",
    "Quantile",
    "ReferencePool",
    "Retired",
    "SampleComplexity",
    "SequentialPool",
    "Space",
    "Squared",
    "Summary",
    "TableSpec",
    "Ticket",
    "Transform",
    "Uniform",
    "WentLive",
    "checks",
    "open_pool",
    "open_source",
]
