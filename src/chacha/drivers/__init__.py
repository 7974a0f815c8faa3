"""Drivers: how rules and models are run, in Python and in the native engine."""

from __future__ import annotations

from chacha.drivers.records import Chunk, LiveModel, ServedPredictions, Step, Summary

__all__ = ["Chunk", "LiveModel", "ServedPredictions", "Step", "Summary"]
