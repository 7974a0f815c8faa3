"""Verdicts: what was decided of a challenger, as records with the odds that led to it."""

from __future__ import annotations

from chacha.config.config import Config
from chacha.rules.contest.betting import PairedBetting, Pairing
from chacha.rules.decisions import Eliminated, LeaseDoubled, Promoted, Retired

__all__ = ["doubled", "eliminated", "promoted", "retired"]


def promoted(
    t: int, c: Config, dethroned: Config, pairing: Pairing, rules: PairedBetting
) -> Promoted:
    """It is better.

    >>> won = Pairing(1, needed=40.0, n=10, wealth=50.0, champion_loss=20.0, loss=5.0)
    >>> made = promoted(99, Config(["ab"]), Config(), won, PairedBetting())
    >>> made.odds, made.upper, made.champion_lower
    (51.0, 0.5, 2.0)
    """
    n, margin = pairing.n, rules.margin * pairing.champion_loss / pairing.n
    losses = pairing.loss / n, pairing.champion_loss / n
    odds, needed = pairing.odds, pairing.needed
    return Promoted(t, c, dethroned, n, *losses, margin, odds=odds, needed=needed)


def eliminated(
    t: int, c: Config, champion: Config, pairing: Pairing, rules: PairedBetting
) -> Eliminated:
    """It is worse.

    >>> lost = Pairing(1, needed=40.0, n=10, against=30.0, champion_loss=5.0, loss=20.0)
    >>> eliminated(99, Config(["ab"]), Config(), lost, PairedBetting()).odds
    31.0
    """
    n, odds = pairing.n, pairing.odds_against
    losses = pairing.loss / n, pairing.champion_loss / n
    return Eliminated(t, c, champion, n, *losses, odds=odds, needed=rules.eliminates)


def doubled(t: int, c: Config, lease: int, pairing: Pairing, odds: float) -> LeaseDoubled:
    """It may go on.

    >>> doubled(99, Config(["ab"]), 2000, Pairing(1, needed=40.0, n=1000), odds=14.0).lease
    2000
    """
    return LeaseDoubled(t, c, lease, pairing.n, odds=odds, needed=pairing.needed)


def retired(t: int, c: Config, pairing: Pairing, out: bool) -> Retired:
    """It left its slot.

    >>> retired(99, Config(["ab"]), Pairing(1, needed=40.0, n=1000), out=False).odds
    1.0
    """
    return Retired(t, c, pairing.n, out, odds=pairing.odds, needed=pairing.needed)
