"""Decisions: what the algorithm did, as records. Everything that shows a run reads these."""

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
    """One decision, taken at the end of example `t`, about configuration `config`.

    With paired evidence, `odds` are the odds that led to it, and `needed` those that promote (or,
    for an elimination, eliminate); then `upper`, `lower` and the like are mean losses over the
    same examples.

    >>> decision_from_json(WentLive(0, Config(["ab"]), lease=75).to_json())
    WentLive(t=0, config=Config(interactions=(('a', 'b'),), values=mappingproxy({})), lease=75, \
why=None)
    """

    t: int
    config: Config

    kind: ClassVar[str] = "Decision"

    def __init_subclass__(cls) -> None:
        cls.kind = cls.__name__
        _KINDS[cls.__name__] = cls

    def to_json(self) -> dict[str, Any]:
        """A JSON object that :func:`decision_from_json` reads back exactly."""
        values = {f.name: getattr(self, f.name) for f in fields(self)}
        for name in ("odds", "needed", "why"):  # where there is something to tell
            if values.get(name, 0) is None:
                del values[name]
        plain = {k: v.to_json() if isinstance(v, Config) else v for k, v in values.items()}
        return {"kind": self.kind, **plain}


@dataclass(frozen=True, slots=True)
class WentLive(Decision):
    """A challenger got a slot and an empty model (Algorithm 2, lines 11-13).

    `why` tells why it was proposed, if there is something to tell.

    >>> WentLive(0, Config(["ab"]), lease=75).kind
    'WentLive'
    """

    lease: int
    why: str | None = None


@dataclass(frozen=True, slots=True)
class LeaseDoubled(Decision):
    """A live challenger used up its lease of n examples (Algorithm 2, line 7).

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

    `eliminated` tells the two apart: True for line 4 (it is no longer in S).

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
    """A challenger is better than the champion and takes its place (Algorithm 1, line 13).

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
    """The decision that :meth:`Decision.to_json` wrote.

    >>> decision_from_json({"kind": "Danced"})
    Traceback (most recent call last):
    chacha.errors.DataError: not a decision: {'kind': 'Danced'}
    """
    values = dict(data)
    kind = _KINDS.get(cast("str", values.pop("kind", "")))
    known = {} if kind is None else {f.name: f.default is MISSING for f in fields(kind)}
    needed = {name for name, must in known.items() if must}
    if kind is None or not needed <= set(values) <= set(known):
        raise DataError(f"not a decision: {data!r}")
    for name in ("config", "champion", "dethroned"):
        if not isinstance(values.get(name, {}), Mapping):
            raise DataError(f"not a decision: {data!r}")
    plain: dict[str, Any] = {
        k: Config.from_json(v) if isinstance(v, Mapping) else v for k, v in values.items()
    }
    return kind(**plain)
