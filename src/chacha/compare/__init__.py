"""Compare: the paper's methods side by side on any stream."""

from __future__ import annotations

from chacha.compare.calibration import Calibrating, Calibration
from chacha.compare.jobs import CommonSettings, Stream
from chacha.compare.methods import METHODS, Method
from chacha.compare.result_cache import Outcome, Point
from chacha.compare.scores import Row, normalised, rows_of
from chacha.compare.study import Comparison, Failure, Progress, Study

__all__ = [
    "METHODS",
    "Calibrating",
    "Calibration",
    "CommonSettings",
    "Comparison",
    "Failure",
    "Method",
    "Outcome",
    "Point",
    "Progress",
    "Row",
    "Stream",
    "Study",
    "normalised",
    "rows_of",
]
