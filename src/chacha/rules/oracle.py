"""ConfigOracle: proposes configurations to try beside a champion.

An oracle is a callable of the champion and the names of the groups so far. The algorithm drops
configurations that were proposed before, so an oracle need not remember them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

from chacha.config.config import Config
from chacha.config.derived_groups import derived
from chacha.errors import ConfigError

__all__ = ["ConfigOracle", "proposals_of"]


class ConfigOracle(Protocol):
    """Proposes challengers. A custom oracle is one small function or class.

    >>> def halve_the_rate(champion: Config, groups: Sequence[str]) -> list[Config]:
    ...     return [champion.with_values(learning_rate=champion.values["learning_rate"] / 2)]
    >>> oracle: ConfigOracle = halve_the_rate
    """

    def __call__(self, champion: Config, groups: Sequence[str]) -> Iterable[Config]:
        """Return configurations to try beside `champion`."""


def proposals_of(oracle: ConfigOracle, champion: Config, groups: Sequence[str]) -> list[Config]:
    """Return the proposals of an oracle, or raise an error if they are not configurations.

    A derived group that occurs in a product is added to the configuration's derived groups.

    >>> (c,) = proposals_of(lambda c, groups: [Config([("a", "log(b)")])], Config(), "ab")
    >>> c.derived
    ('log(b)',)
    >>> proposals_of(lambda champion, groups: ["ab"], Config(), "ab")
    Traceback (most recent call last):
    chacha.errors.ConfigError: the oracle must propose configurations, got 'ab'
    """
    proposals = oracle(champion, groups)
    if not isinstance(proposals, Iterable):
        raise ConfigError(f"the oracle must return configurations, got {proposals!r:.60}")
    configs = list(proposals)
    for c in configs:
        if not isinstance(c, Config):
            raise ConfigError(f"the oracle must propose configurations, got {c!r:.60}")
    return [_with_derived_factors(c, groups) for c in configs]


def _with_derived_factors(config: Config, groups: Sequence[str]) -> Config:
    """Return the configuration with the derived groups of its products.

    A name of a raw group may have the form of a derived group; it is not derived.
    """
    names = {name for p in config.interactions for name in p if name.endswith(")")}
    if names:
        names = {n for n in names.difference(groups, config.derived) if derived(n) is not None}
    return config.with_derived(names) if names else config
