"""Surprise: the champion's losses are suddenly unlike what they used to be.

Then the stream may have changed, and a challenger that starts anew, without what was learned
before, is worth a slot.

Twin: native/src/rules/surprise.hpp
"""

from __future__ import annotations

from chacha.rules.contest.state import ContestState

__all__ = ["LEAST", "NEVER", "SETTLES", "add_loss", "forget_losses", "is_confirmed", "is_surprised"]

LONG, SHORT = 2000.0, 32.0  # examples that the usual and the recent losses are averaged over
CUT = 8.0  # usual losses; a larger one counts as that
LARGE, SMALL = 3.0, 1.0 / 16.0  # usual losses beyond which the recent ones are a surprise
LEAST = 200  # examples before there is something to compare with
SETTLES = 12  # examples after which a surprise must still be one
EXPIRES = 64  # examples after which it does not count any more
NEVER = 1 << 62
"""The example until which a contest is calm that cannot have a challenger."""


def add_loss(state: ContestState, loss: float) -> None:
    """Add a loss of the champion, which is finite; `state.charged` counts it already."""
    cut = min(loss, CUT * state.usual) if state.usual > 0.0 else loss
    share = 1.0 / state.charged
    state.usual += max(share, 1.0 / LONG) * (cut - state.usual)
    state.recent += max(share, 1.0 / SHORT) * (cut - state.recent)


def is_surprised(state: ContestState) -> bool:
    """Return whether the recent losses are far above or below the usual ones."""
    if state.charged < LEAST or state.t < state.calm or not state.usual > 0.0:
        return False
    return state.recent > LARGE * state.usual or state.recent < SMALL * state.usual


def is_confirmed(state: ContestState) -> bool:
    """Return whether a surprise was noticed some examples ago; if not, it is noticed now.

    What is started anew learns on the scale of the last labels. After the pause they are all of the
    stream as it is now, and a few wild ones are over.
    """
    if state.t <= state.noticed + EXPIRES:
        return True
    state.noticed, state.calm = state.t, state.t + SETTLES
    return False


def forget_losses(state: ContestState, loss: float) -> None:
    """Begin anew with the usual loss of a new champion."""
    state.usual = state.recent = loss
