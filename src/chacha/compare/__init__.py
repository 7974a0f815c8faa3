"""Comparisons: the paper's methods side by side on any stream."""

from __future__ import annotations

from chacha.compare.calibration import Calibration, CalibrationStudy
from chacha.compare.jobs import CommonSettings, Stream
from chacha.compare.methods import METHODS, Method, SeedUse
from chacha.compare.outcome import CurvePoint, Outcome
from chacha.compare.scores import MethodScores, method_scores, normalised_score
from chacha.compare.study import Comparison, Failure, Study, StudyProgress

__all__ = [
    "METHODS",
    "Calibration",
    "CalibrationStudy",
    "CommonSettings",
    "Comparison",
    "CurvePoint",
    "Failure",
    "Method",
    "MethodScores",
    "Outcome",
    "SeedUse",
    "Stream",
    "Study",
    "StudyProgress",
    "method_scores",
    "normalised_score",
]
