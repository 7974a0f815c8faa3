"""The records of a contest's decisions: what is reported of a pairing."""

from __future__ import annotations

from chacha.config.config import Config
from chacha.rules.contest.betting import PairedBetting, Pairing
from chacha.rules.decisions import Eliminated, LeaseDoubled, Promoted, Retired

__all__ = ["doubled_record", "eliminated_record", "promoted_record", "retired_record"]


def promoted_record(
    t: int, c: Config, dethroned: Config, pairing: Pairing, rules: PairedBetting
) -> Promoted:
    """Return the record of a promotion.

    >>> won = Pairing(1, needed=40.0, n=10, wealth=50.0, champion_loss=20.0, loss=5.0)
    >>> decision = promoted_record(99, Config(["ab"]), Config(), won, PairedBetting())
    >>> decision.odds, decision.upper, decision.champion_lower
    (51.0, 0.5, 2.0)
    """
    n, margin = pairing.n, rules.margin * pairing.champion_loss / pairing.n
    losses = pairing.loss / n, pairing.champion_loss / n
    odds, needed = pairing.odds, pairing.needed
    return Promoted(t, c, dethroned, n, *losses, margin, odds=odds, needed=needed)


def eliminated_record(
    t: int, c: Config, champion: Config, pairing: Pairing, rules: PairedBetting
) -> Eliminated:
    """Return the record of an elimination.

    >>> lost = Pairing(1, needed=40.0, n=10, against=30.0, champion_loss=5.0, loss=20.0)
    >>> eliminated_record(99, Config(["ab"]), Config(), lost, PairedBetting()).odds
    31.0
    """
    n, odds = pairing.n, pairing.odds_against
    losses = pairing.loss / n, pairing.champion_loss / n
    return Eliminated(t, c, champion, n, *losses, odds=odds, needed=rules.eliminates)


def doubled_record(t: int, c: Config, lease: int, pairing: Pairing, odds: float) -> LeaseDoubled:
    """Return the record of a doubled lease.

    >>> doubled_record(99, Config(["ab"]), 2000, Pairing(1, needed=40.0, n=1000), odds=14.0).lease
    2000
    """
    return LeaseDoubled(t, c, lease, pairing.n, odds=odds, needed=pairing.needed)


def retired_record(t: int, c: Config, pairing: Pairing, eliminated: bool) -> Retired:
    """Return the record of a challenger that left its slot.

    >>> retired_record(99, Config(["ab"]), Pairing(1, needed=40.0, n=1000), eliminated=False).odds
    1.0
    """
    return Retired(t, c, pairing.n, eliminated, odds=pairing.odds, needed=pairing.needed)
