"""The outcome of one run: one method on one stream with one seed."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple

from chacha.errors import DataError

__all__ = ["EARLY", "CurvePoint", "Outcome"]

EARLY = 100
"""The number of first examples that `loss_from_100` leaves out; every curve has a point there."""


class CurvePoint(NamedTuple):
    """A point of a loss curve: the sums of losses and of weights after `n` examples.

    `lost` is what rounding has taken from the sum of losses.
    """

    n: int
    total: float
    weight: float
    lost: float = 0.0


@dataclass(frozen=True)
class Outcome:
    """The losses, promotions and CPU seconds of one run.

    The first `frozen` examples were learned and not charged; nothing was learned after them.
    `metrics` are the means of the loss's other metrics, such as accuracy for logistic loss.

    >>> Outcome(4, 2, "+ab", 0.1, (CurvePoint(2, 1.0, 2.0), CurvePoint(4, 4.0, 4.0))).loss
    1.0
    """

    examples: int
    promotions: int
    champion: str
    cpu_seconds: float
    curve: tuple[CurvePoint, ...]
    frozen: int = 0
    metrics: Mapping[str, float] = field(default_factory=dict)

    @property
    def loss(self) -> float:
        """The mean progressive loss of the served predictions."""
        return self.loss_since(0)

    @property
    def loss_from_100(self) -> float:
        """The mean progressive loss from the 101st example on; NaN if there is no such example."""
        return self.loss_since(EARLY)

    def loss_since(self, n: int) -> float:
        """Return the mean loss after the first `n` examples; NaN if none is charged after them.

        It begins at the last point of the curve up to `n`.

        >>> curve = (CurvePoint(2, 1.0, 2.0), CurvePoint(4, 4.0, 4.0))
        >>> Outcome(4, 2, "", 0.1, curve).loss_since(2)
        1.5
        """
        before = next((p for p in reversed(self.curve) if p.n <= n), CurvePoint(0, 0.0, 0.0))
        last = self.curve[-1]
        weight = last.weight - before.weight
        total = last.total
        if before.n > 0:  # the whole sum is that of `run`
            total = (total - before.total) + (last.lost - before.lost)
        return total / weight if weight > 0 else math.nan

    def to_json(self) -> dict[str, Any]:
        """Return the object that :meth:`from_json` reads."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Outcome:
        """Return the outcome of an object that :meth:`to_json` returned.

        >>> import json
        >>> outcome = Outcome(2, 0, "", 0.1, (CurvePoint(2, 1.0, 2.0),))
        >>> Outcome.from_json(json.loads(json.dumps(outcome.to_json()))) == outcome
        True
        """
        try:
            curve = tuple(CurvePoint(*point) for point in data["curve"])
            return cls(**{**data, "curve": curve})
        except (KeyError, TypeError) as error:
            raise DataError(f"not an outcome: {data!r:.60}") from error
