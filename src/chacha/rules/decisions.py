"""Decisions of the rules, as records. Everything that reports a run reads these."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields
from typing import Any, ClassVar, cast

from chacha.config.config import Config
from chacha.errors import DataError

__all__ = [
    "Decision",
    "Eliminated",
    "LeaseDoubled",
    "Promoted",
    "Retired",
    "WentLive",
    "decision_from_json",
]

_KINDS: dict[str, type[Decision]] = {}


@dataclass(frozen=True, slots=True)
class Decision:
    """One decision about configuration `config`, taken at the end of example `t`.

    The recommended rules set `odds` and `needed`: the odds that led to the decision, and those
    needed for a promotion or, in :class:`Eliminated`, for an elimination. Their `upper`, `lower`,
    `champion_upper` and `champion_lower` are mean losses over the challenger's examples. The
    paper's rules leave `odds` and `needed` None.

    >>> decision_from_json(WentLive(0, Config(["ab"]), lease=75).to_json())
    WentLive(t=0, config=Config(interactions=(('a', 'b'),), values=mappingproxy({})), lease=75, \
why=None, labels=None)
    """

    t: int
    config: Config

    kind: ClassVar[str] = "Decision"

    def __init_subclass__(cls) -> None:
        cls.kind = cls.__name__
        _KINDS[cls.__name__] = cls

    def to_json(self) -> dict[str, Any]:
        """Return a JSON object that :func:`decision_from_json` reads back exactly."""
        values = {f.name: getattr(self, f.name) for f in fields(self)}
        for name in ("odds", "needed", "why", "labels"):  # left out if None
            if values.get(name, 0) is None:
                del values[name]
        plain = {k: v.to_json() if isinstance(v, Config) else v for k, v in values.items()}
        return {"kind": self.kind, **plain}


@dataclass(frozen=True, slots=True)
class WentLive(Decision):
    """A challenger got a slot, a model and a lease (Algorithm 2, lines 11-13).

    The model is empty under the paper's rules, and by default a copy of the champion's under the
    recommended rules (:mod:`chacha.rules.head_start`). `why` gives the reason for the proposal, if
    there is one to report. If a model starts empty beside an older champion, `labels` is the
    number of last labels that show their scale.

    >>> WentLive(0, Config(["ab"]), lease=75).kind
    'WentLive'
    """

    lease: int
    why: str | None = None
    labels: int | None = None


@dataclass(frozen=True, slots=True)
class LeaseDoubled(Decision):
    """The lease of a live challenger was doubled after n examples (Algorithm 2, line 7).

    Under the paper's rules every lease that ends is doubled, and the challenger may retire at the
    same time. Under the recommended rules a lease is doubled only if the odds have grown enough;
    otherwise the challenger retires.

    >>> LeaseDoubled(75, Config(["ab"]), lease=150, n=75).lease
    150
    """

    lease: int
    n: int
    odds: float | None = None
    needed: float | None = None


@dataclass(frozen=True, slots=True)
class Retired(Decision):
    """A challenger left its slot and lost its model (Algorithm 2, lines 4 and 9).

    `eliminated` is True for line 4, when the challenger is no longer in S. Under the recommended
    rules the other challengers also retire when one is promoted.

    >>> Retired(75, Config(["ab"]), n=75, eliminated=False).n
    75
    """

    n: int
    eliminated: bool
    odds: float | None = None
    needed: float | None = None


@dataclass(frozen=True, slots=True)
class Eliminated(Decision):
    """A challenger is worse than the champion (Algorithm 1, line 15).

    >>> Eliminated(9, Config(["ab"]), Config(), n=9, lower=2.0, champion_upper=1.0).lower
    2.0
    """

    champion: Config
    n: int
    lower: float
    champion_upper: float
    odds: float | None = None
    needed: float | None = None


@dataclass(frozen=True, slots=True)
class Promoted(Decision):
    """A challenger is better than the champion and replaces it (Algorithm 1, line 13).

    The dethroned champion stays live as a challenger.

    >>> p = Promoted(9, Config(["ab"]), Config(), n=9, upper=1.0, champion_lower=2.0, margin=0.5)
    >>> p.dethroned == Config()
    True
    """

    dethroned: Config
    n: int
    upper: float
    champion_lower: float
    margin: float
    odds: float | None = None
    needed: float | None = None


def decision_from_json(data: Mapping[str, Any]) -> Decision:
    """Return the decision that :meth:`Decision.to_json` wrote.

    >>> decision_from_json({"kind": "Danced"})
    Traceback (most recent call last):
    chacha.errors.DataError: not a decision: {'kind': 'Danced'}
    """
    values = dict(data)
    kind = _KINDS.get(cast("str", values.pop("kind", "")))
    required_by_name = {} if kind is None else {f.name: f.default is MISSING for f in fields(kind)}
    required = {name for name, must in required_by_name.items() if must}
    if kind is None or not required <= set(values) <= set(required_by_name):
        raise DataError(f"not a decision: {data!r}")
    for name in ("config", "champion", "dethroned"):
        if not isinstance(values.get(name, {}), Mapping):
            raise DataError(f"not a decision: {data!r}")
    plain: dict[str, Any] = {
        k: Config.from_json(v) if isinstance(v, Mapping) else v for k, v in values.items()
    }
    return kind(**plain)
