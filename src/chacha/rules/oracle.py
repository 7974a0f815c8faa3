"""ConfigOracle: what to try next to this champion.

An oracle is a function, or any object that can be called, of the champion and the names
of the groups seen so far. Configurations it has proposed before are dropped by the
algorithm, so an oracle need not remember.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

from chacha.config.config import Config
from chacha.config.derived_groups import derived
from chacha.errors import ConfigError

__all__ = ["ConfigOracle", "proposals_of"]


class ConfigOracle(Protocol):
    """Proposes challengers. A user's own oracle is one small function or class.

    >>> def halve_the_rate(champion: Config, groups: Sequence[str]) -> list[Config]:
    ...     return [champion.with_values(learning_rate=champion.values["learning_rate"] / 2)]
    >>> oracle: ConfigOracle = halve_the_rate
    """

    def __call__(self, champion: Config, groups: Sequence[str]) -> Iterable[Config]:
        """Configurations to try next to `champion`."""


def proposals_of(oracle: ConfigOracle, champion: Config, groups: Sequence[str]) -> list[Config]:
    """What an oracle proposes, or an error that names it if that is not configurations.

    A derived group of a product is one of the features too, whether the oracle says so or not.

    >>> (found,) = proposals_of(lambda c, groups: [Config([("a", "log(b)")])], Config(), "ab")
    >>> found.derived
    ('log(b)',)
    >>> proposals_of(lambda champion, groups: ["ab"], Config(), "ab")
    Traceback (most recent call last):
    chacha.errors.ConfigError: the oracle must propose configurations, got 'ab'
    """
    proposals = oracle(champion, groups)
    if not isinstance(proposals, Iterable):
        raise ConfigError(f"the oracle must return configurations, got {proposals!r:.60}")
    found = list(proposals)
    for c in found:
        if not isinstance(c, Config):
            raise ConfigError(f"the oracle must propose configurations, got {c!r:.60}")
    return [_with_its_features(c, groups) for c in found]


def _with_its_features(config: Config, groups: Sequence[str]) -> Config:
    """With the derived groups of its products; a raw group may have a name like theirs."""
    names = {name for p in config.interactions for name in p if name.endswith(")")}
    if names:
        names = {n for n in names.difference(groups, config.derived) if derived(n) is not None}
    return config.with_derived(names) if names else config
