"""How a challenger's model starts: empty, or as a copy of the champion's."""

from __future__ import annotations

from dataclasses import dataclass

from chacha.config.config import Config
from chacha.errors import ConfigError, PoolError
from chacha.pools.base import Copies, LivePool

__all__ = ["FromScratch", "HeadStart"]


@dataclass(frozen=True)
class FromScratch:
    """An empty model, as in the paper.

    >>> from chacha import ReferencePool
    >>> pool = ReferencePool()
    >>> FromScratch().start(pool, Config(), Config(["ab"]))
    >>> [str(c) for c in pool.live]
    ['interactions ab']
    """

    def start(self, pool: LivePool, champion: Config, config: Config) -> None:
        """Give `config` a model."""
        pool.start(config)


@dataclass(frozen=True)
class HeadStart:
    """A copy of the champion's model, where the pool can make one; else an empty model.

    `damping` tames the first steps of what is new: its coordinates begin as if they had seen
    that share of the champion's squared gradients.

    >>> from chacha import ReferencePool
    >>> from chacha.data.example import parse_line
    >>> pool = ReferencePool()
    >>> pool.start(Config())
    >>> _ = pool.learn(parse_line("1 |a x |b y"))
    >>> HeadStart().start(pool, Config(), Config(["ab"]))
    >>> len(set(pool.predict(parse_line("|a x |b y")).values()))
    1
    """

    damping: float = 0.1

    def __post_init__(self) -> None:
        if not self.damping >= 0:
            raise ConfigError(f"damping must not be negative, got {self.damping}")

    def start(self, pool: LivePool, champion: Config, config: Config) -> None:
        """Give `config` a model."""
        if not isinstance(pool, Copies):
            pool.start(config)
            return
        try:
            pool.copy(champion, config, self.damping)
        except PoolError:  # not every option can differ from a copy's source
            pool.start(config)
