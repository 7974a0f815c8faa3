"""The rules make decisions from values alone, without a learner, a file or a clock.

`paper` holds the algorithms of the paper, `contest` the recommended rules.
"""

from __future__ import annotations

from chacha.rules.decisions import (
    Decision,
    Eliminated,
    LeaseDoubled,
    Promoted,
    Retired,
    WentLive,
    decision_from_json,
)
from chacha.rules.head_start import FromScratch, HeadStart
from chacha.rules.oracle import ConfigOracle
from chacha.rules.progressive_loss import ProgressiveLoss, RunningLoss
from chacha.rules.stream_facts import ObservedStream, ScoredExample, StreamFacts

__all__ = [
    "ConfigOracle",
    "Decision",
    "Eliminated",
    "FromScratch",
    "HeadStart",
    "LeaseDoubled",
    "ObservedStream",
    "ProgressiveLoss",
    "Promoted",
    "Retired",
    "RunningLoss",
    "ScoredExample",
    "StreamFacts",
    "WentLive",
    "decision_from_json",
]
