"""Rules that decide and blend after few examples, and a pool that the Python driver runs."""

from __future__ import annotations

from chacha import NativePool
from chacha.rules.contest.betting import PairedBetting
from chacha.rules.contest.blending import Blending

KEEN = PairedBetting(alpha=0.9, block=2, patience=30, eliminates=3.0, renews=1.05)
"""Decides soon."""

EAGER = Blending(burn_in=10, memory=100, standard_errors=0.0)  # blends soon


class PlainPool(NativePool):
    """The native learner; for a subclass the Python driver runs."""
