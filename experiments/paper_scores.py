"""The scores that the paper reports: normalised, mean and sd (appendix, tables 1 and 2)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

__all__ = ["NI", "NI_LR", "Score"]


class Score(NamedTuple):
    """Mean and standard deviation over the five seeds."""

    mean: float
    sd: float

    def __str__(self) -> str:
        return f"{self.mean:.2f} ± {self.sd:.2f}"


def _table(text: str, *methods: str) -> Mapping[int, Mapping[str, Score]]:
    scores: dict[int, dict[str, Score]] = {}
    for line in text.strip().splitlines():
        number, *cells = line.split()
        values = [float(cell) for cell in cells]
        pairs = zip(values[::2], values[1::2], strict=True)
        scores[int(number)] = {m: Score(*pair) for m, pair in zip(methods, pairs, strict=True)}
    return scores


NI = _table(
    """
    1191  0.59 0.35  0.64 0.22  -335.79 44.34  0.00 0.00
    1199  0.72 0.53  0.10 0.10  -39.37 0.33    0.00 0.00
    1203  0.40 0.35  0.38 0.46  -0.35 0.01     0.00 0.01
    1206  0.98 0.03  1.02 0.09  -2.38 0.04     0.00 0.00
    1575  0.15 0.06  0.13 0.08  1.02 0.05      1.00 0.08
    201   0.12 0.15  0.11 0.13  -6.15 0.02     -0.00 0.00
    215   0.38 0.37  0.41 0.34  -0.30 0.04     0.01 0.02
    23515 0.17 0.15  2.94 0.27  -17.33 0.03    1.04 0.01
    344   0.34 0.25  0.34 0.30  -7.18 1.26     0.00 0.00
    41506 0.71 0.18  0.80 0.18  -6.53 0.73     0.10 0.09
    42183 0.11 0.21  2.04 0.08  0.16 0.05      0.05 0.01
    42496 0.19 0.41  -0.04 0.02 -28.09 2.68    0.00 0.00
    42729 0.46 0.31  0.43 0.25  -54.10 0.04    -0.00 0.00
    5648  0.97 0.05  1.09 0.04  -0.01 0.19     1.06 0.04
    564   0.19 0.21  0.74 0.41  -213.08 14.48  0.00 0.00
    """,
    *("random", "chacha", "no-champion", "aggressive"),
)
"""Scores for namespace interactions, by OpenML number."""
NI_LR = _table(
    """
    1191  1.00 0.00  1.00 0.00
    1199  1.00 0.00  1.01 0.03
    1203  0.11 0.22  -0.00 0.01
    1206  0.95 0.06  1.25 0.03
    1575  0.62 0.00  2.08 0.54
    201   1.00 0.00  1.00 0.00
    215   0.09 0.19  0.29 0.39
    23515 1.00 0.00  1.06 0.17
    344   1.00 0.00  1.15 0.08
    41506 0.86 0.00  0.95 0.10
    42183 0.08 0.00  1.86 0.40
    42496 0.24 0.00  0.39 0.30
    42729 0.27 0.10  0.27 0.10
    5648  0.56 0.31  1.11 0.03
    564   1.00 0.00  1.00 0.00
    """,
    *("random", "chacha"),
)
"""Scores for namespace interactions and the learning rate, by OpenML number."""
