"""Surprise: losses are suddenly unlike what they used to be.

Then the stream may have changed, and a challenger that starts anew, without what was learned
before, is worth a slot.

Twin: native/src/rules/surprise.hpp
"""

from __future__ import annotations

import math
from dataclasses import dataclass

__all__ = ["EXPIRES", "LARGE", "LASTS", "NEVER", "Surprise"]

LONG, SHORT = 2000.0, 32.0  # examples that the usual and the recent losses are averaged over
CUT = 8.0  # usual losses; a larger one counts as that
LARGE = {2: 3.0, 1: 2.0}  # usual losses, by the power of the error that a loss grows with,
SMALL = 1.0 / 16.0  # and below which, the recent ones are a surprise
LEAST = 200  # examples before there is something to compare with
LASTS = 12  # examples after which a surprise must still be one
SETTLED = 700  # examples that suffice to find the level after a change
EXPIRES = 64  # examples after which all of the last labels are from after it
FEW_STEPS = 8  # that do not show yet what is usual
CHECKED = 128  # examples after which the scale of labels is looked at; then after twice as many
NEVER = 1 << 62
"""The example until which a contest is calm that cannot have a challenger."""


@dataclass(slots=True)
class Surprise:
    """Two series of losses, each with its usual and its recent mean.

    The champion's losses grow when the stream changes. They may take long to shrink, so if labels
    become smaller, those of the simplest predictor show it: it predicts the label before.

    >>> surprise = Surprise()
    >>> for n in range(1, 1001):
    ...     surprise.add(1.0, 2.0, charged=n, t=n)
    >>> for n in range(1001, 1101):
    ...     surprise.add(1.0, 0.01, charged=n, t=n)
    >>> surprise.is_surprised(charged=1100, t=1100)
    True
    """

    usual: float = 0.0  # losses of the champion
    recent: float = 0.0
    usual_step: float = 0.0  # of predicting the label before,
    recent_step: float = 0.0
    steps: int = 0  # where it was not the same
    since: int = 0  # examples since a change was noticed, or the level was last found;
    total: float = 0.0  # the champion's losses on them,
    largest: float = 0.0  # and the largest one
    steps_since: int = 0  # and likewise
    total_step: float = 0.0
    largest_step: float = 0.0
    calm: int = 0  # the example until which no change is looked for,
    stays: int = 0  # and until which the usual losses stay
    settles: int = NEVER  # the example after which the level is found again,
    again: int = NEVER  # and that after which a second model is started anew
    noticed: int = -1000  # the example after which one was last noticed
    changes: int = 0  # how often one was suspected since the last that was confirmed
    anew: int = 0  # the example after which a model was last started anew
    checks: int = CHECKED  # that after which the scale of labels is looked at again
    large: float = LARGE[2]  # usual losses above which the recent ones are a surprise

    def add(self, loss: float, step: float, charged: int, t: int) -> None:
        """Add the champion's loss on an example, and that of the label before as the prediction.

        The first is finite; the second is not a number if there is none. `charged` and `t` count
        the example already. After a surprise the usual losses stay until the next one may be
        noticed: then a change in between is.
        """
        stays = t < self.stays
        self.usual, self.recent = _added(loss, charged, stays, self.usual, self.recent)
        if math.isfinite(step) and step > 0.0:
            self.steps += 1
            both = _added(step, self.steps, stays, self.usual_step, self.recent_step)
            self.usual_step, self.recent_step = both
            self.steps_since += 1
            self.total_step += step
            self.largest_step = max(self.largest_step, step)
        self.since += 1
        self.total += loss
        self.largest = max(self.largest, loss)

    def is_surprised(self, charged: int, t: int) -> bool:
        """Return whether recent losses are far from the usual ones."""
        if charged < LEAST or t < self.calm:
            return False
        larger = self.usual > 0.0 and self.recent > self.large * self.usual
        return larger or (self.usual_step > 0.0 and self.recent_step < SMALL * self.usual_step)

    def is_confirmed(self, t: int) -> bool:
        """Return whether a surprise was noticed some examples ago; if not, it is noticed now.

        What is started anew learns on the scale of the last labels. After the pause they are all
        of the stream as it is now, and a few wild ones are over.
        """
        if self.labels_are_mixed(t):
            return True
        self.noticed, self.calm = t, t + LASTS
        self._forget_total()
        return False

    def labels_are_mixed(self, t: int) -> bool:
        """Return whether some of the last labels may come from before a change."""
        return t < self.noticed + EXPIRES

    def heed(self, t: int, calm: int) -> None:
        """Begin anew with what is usual since a change; no other is looked for until `calm`."""
        step = self._step_level() if self.steps_since > 1 else self.largest_step  # of one or none
        if step > 0.0:
            self.recent_step = step
        self.usual_step = self.recent_step
        self.calm = self.stays = calm
        self.again = self.noticed + EXPIRES
        self.changes += 1
        level = self._level()
        self.usual = self.recent = level if math.isfinite(level) else self.recent
        self._settle_later(t)

    def settle(self, t: int) -> float:
        """Find the level again and return it: the recent mean loss, without the largest one.

        After a change it takes the champion a while to lose what it then usually loses. So this
        is repeated after twice as many examples, up to a thousand or so. If it loses much more
        instead, or labels differ much less, the stream has changed again, and that is looked for at
        once.
        """
        level, step = self._level(), self._step_level()
        if self.usual > 0.0 and level > self.large * self.usual:
            self.calm = min(self.calm, t)
        elif math.isfinite(level):
            self.usual = self.recent = level
        if self.steps_since >= FEW_STEPS:
            if step < SMALL * self.usual_step:
                self.calm = min(self.calm, t)
            elif math.isfinite(step):
                self.usual_step = self.recent_step = step
        self._settle_later(t)
        return level if math.isfinite(level) else self.usual

    def _level(self) -> float:
        return _mean_without(self.largest, self.total, self.since)

    def _step_level(self) -> float:
        return _mean_without(self.largest_step, self.total_step, self.steps_since)

    def _settle_later(self, t: int) -> None:
        self.settles = t + 2 * self.since if 0 < self.since < SETTLED else NEVER
        self._forget_total()

    def crown(self, t: int, loss: float, change: bool) -> None:
        """Begin anew with the usual loss of a new champion; `change`: that has proved a change."""
        if math.isfinite(loss):
            self.usual = self.recent = loss
        if change:
            self.changes = 0
        self.calm, self.stays, self.anew = t + LEAST, t, t
        if self.settles < NEVER:
            self.settles = t + LASTS
            self._forget_total()

    def _forget_total(self) -> None:
        self.since, self.total, self.largest = 0, 0.0, 0.0
        self.steps_since, self.total_step, self.largest_step = 0, 0.0, 0.0

    def begin_again(self) -> None:
        """Forget the champion's losses, as if no model had seen an example."""
        self.usual = self.recent = 0.0
        self._forget_total()


def _mean_without(largest: float, total: float, n: int) -> float:
    """Return the mean of n numbers but the largest; infinite if there is none."""
    return (total - largest) / (n - 1) if n > 1 else math.inf


def _added(loss: float, n: int, stays: bool, usual: float, recent: float) -> tuple[float, float]:
    """Return the two means with a loss more, the n-th."""
    share, cut = 1.0 / n, min(loss, CUT * usual) if usual > 0.0 else loss
    if not stays:
        usual += max(share, 1.0 / LONG) * (cut - usual)
    recent += max(share, 1.0 / SHORT) * (cut - recent)
    return usual, recent
