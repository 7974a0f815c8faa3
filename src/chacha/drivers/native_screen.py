"""The native engine's screen, as the rules read and set it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import lru_cache

from chacha.config.config import Config, Product
from chacha.pools.native import NativePool
from chacha.rules.feature_counts import Widths, cells_for, mean_features

__all__ = ["NativeScreen"]


class NativeScreen:
    """The engine's screen. Gains are read once for each decision, so they stay the same in it."""

    def __init__(self, pool: NativePool, looks: int) -> None:
        self.pool, self.engine, self.looks = pool, pool.engine, looks
        self._products: Sequence[Product] = ()
        self._sizes: Mapping[str, int] = {}
        self._gains: Mapping[Product, float] | None = None
        self._widths, self._stale = Widths({}), True

    @property
    def products(self) -> Sequence[Product]:
        """The candidates on the screen."""
        return self._products

    @property
    def ready(self) -> bool:
        """Whether every candidate was examined `looks` times, or had as many opportunities."""
        return self.engine.screen_rounds >= self.looks

    def gains(self) -> Mapping[Product, float]:
        """Return the loss per look that candidates saved: all once ready, until then kept ones."""
        if self._gains is None:
            every, gains = self.engine.screened
            known = len(gains) if self.ready else self.engine.screen_kept
            pairs = zip(self._products[:known], gains[:known], strict=True)
            self._gains = dict(pairs if every else filter(_is_examined, pairs))
        return self._gains

    def width(self, config: Config) -> float:
        """Return the approximate number of features of the configuration in an example."""
        return self._current_widths().of_config(config)

    def width_of(self, product: Product) -> float:
        """Return the approximate number of features of the product in an example."""
        return self._current_widths().of_product(product)

    def invalidate(self) -> None:
        """Drop cached gains and widths: examples were learned since."""
        self._gains, self._stale = None, True

    def _current_widths(self) -> Widths:
        if self._stale:
            examples, active = self.engine.active
            means = mean_features(dict(active), examples, self._sizes)
            if means != self._widths.means:
                self._widths = _shared_widths(tuple(means.items()))
            self._stale = False
        return self._widths

    def set(self, products: Sequence[Product], sizes: Mapping[str, int], keep: int = 0) -> None:
        """Replace the candidates, but for the learners of the first `keep`."""
        self.pool.derive(p[0] for p in products if len(p) == 1)
        self._sizes, cells = _shared_sizes(tuple(sizes.items()))
        for p in products:
            if p not in cells:
                cells[p] = cells_for(p, sizes)
        self.engine.set_screen([(p, cells[p]) for p in products], keep)
        self._products = products
        self.invalidate()


# Models with equal groups share these, so that thousands of models hold them once.


@lru_cache(maxsize=16)
def _shared_sizes(
    sizes: tuple[tuple[str, int], ...],
) -> tuple[Mapping[str, int], dict[Product, int]]:
    """Return the sizes of groups, and the numbers of cells of products, to be filled."""
    return dict(sizes), {}


@lru_cache(maxsize=16)
def _shared_widths(means: tuple[tuple[str, float], ...]) -> Widths:
    """Return the widths of groups with these means, to be filled."""
    return Widths(dict(means))


def _is_examined(pair: tuple[Product, float]) -> bool:
    return math.isfinite(pair[1])
