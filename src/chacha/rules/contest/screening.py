"""Screening: how much it may cost, what it finds, and how wide products are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Protocol

from chacha.config.config import Config, Product
from chacha.config.derived_groups import derived, larger, wider
from chacha.errors import ConfigError

__all__ = [
    "Gains",
    "Screening",
    "Widths",
    "cells_for",
    "combinations",
    "mean_features",
]

MOST_CELLS = 4096
MOST_COUNTED = 10_000  # widths that are kept


@dataclass(frozen=True)
class Screening:
    """How much screening may cost.

    Parameters
    ----------
    share
        Of the features that the live models work on at least (the raw ones, once for each
        model), this share is worked on for screening. No step costs more than all of them.
        0: the order is the oracle's.
    most
        Candidates that are screened at once; if there are more, they take turns.
    looks
        A candidate counts as known after so many looks.
    rate
        The learning rate of the tiny learners.

    Examples
    --------
    >>> Screening().share
    0.1
    """

    share: float = 0.1
    most: int = 512
    looks: int = 20
    rate: float = 0.5

    def __post_init__(self) -> None:
        if not (0 <= self.share <= 1 and self.most >= 2 and self.looks >= 1 and self.rate > 0):
            raise ConfigError(
                "share must lie in [0, 1], most be at least 2, looks at least 1, rate above 0; "
                f"got {self}"
            )


class Gains(Protocol):
    """What a screen has found, wherever it is kept."""

    @property
    def products(self) -> Sequence[Product]:
        """The candidates at hand."""

    @property
    def known(self) -> bool:
        """Whether every candidate had its looks."""

    def gains(self) -> Mapping[Product, float]:
        """What each candidate saved, per look; only of those that were looked at."""

    def width(self, config: Config) -> float:
        """Features that the configuration gives an example, about."""

    def width_of(self, product: Product) -> float:
        """Features that the product gives an example, about."""

    def set(self, products: Sequence[Product], sizes: Mapping[str, int]) -> None:
        """Begin anew with these candidates; `sizes` has the distinct features of the groups."""


def cells_for(product: Product, sizes: Mapping[str, int]) -> int:
    """Room for a product's features: a power of two, twice as many, 4096 at most.

    >>> cells_for(("a", "b"), {"a": 1, "b": 1}), cells_for(("a", "b"), {"a": 3, "b": 3})
    (4, 32)
    """
    size = combinations(product, [larger(name, sizes) for name in product])
    cells = 4
    while cells < 2 * size and cells < MOST_CELLS:
        cells *= 2
    return cells


def combinations(names: Product, counts: Sequence[float]) -> float:
    """How many features a product has; a group that stands twice gives combinations.

    >>> combinations(("a", "a", "b"), [3.0, 3.0, 2.0])
    12.0
    """
    if len(names) == 1 or (len(names) == 2 and names[0] != names[1]):  # most are
        return max(counts[0], 0.0) * (max(counts[1], 0.0) if len(names) == 2 else 1.0)
    width = 1.0
    at = 0
    for _, same in groupby(names):
        for times, _ in enumerate(same):
            width = width * (counts[at] + times if counts[at] > 0 else 0.0) / (times + 1.0)
            at += 1
    return width


def mean_features(
    active: Mapping[str, int], examples: int, sizes: Mapping[str, int]
) -> Mapping[str, float]:
    """Features of the groups in an example; before the first, all there are.

    >>> mean_features({"a": 3}, 2, {}), mean_features({}, 0, {"a": 3})
    ({'a': 1.5}, {'a': 3.0})
    """
    found = active if examples else sizes
    raw = {group: n for group, n in found.items() if n and derived(group) is None}
    return {group: total / max(examples, 1) for group, total in raw.items()}


class Widths:
    """How many features groups, products and configurations give an example, about.

    Each is counted once: a decision asks for the same ones again and again.

    >>> widths = Widths({"a": 2.0, "b": 3.0})
    >>> widths.of_product(("a", "b")), widths.of_config(Config(["ab"]))
    (6.0, 12.0)
    """

    def __init__(self, means: Mapping[str, float]) -> None:
        self.means = means
        self._groups = dict(means)
        self._products: dict[Product, float] = {}
        self._configs: dict[Config, float] = {}

    @property
    def full(self) -> bool:
        """Whether so many were counted that it is time to forget them."""
        return len(self._products) + len(self._configs) > MOST_COUNTED

    def of_group(self, name: str) -> float:
        """A group's features in an example."""
        if name not in self._groups:
            self._groups[name] = wider(name, self.means)
        return self._groups[name]

    def of_product(self, product: Product) -> float:
        """A product's features in an example."""
        if product not in self._products:
            counts = [*map(self.of_group, product)]
            self._products[product] = combinations(product, counts)
        return self._products[product]

    def of_config(self, config: Config) -> float:
        """The constant, the single features, those of derived groups and of products."""
        if config not in self._configs:
            own = sum(map(self.of_group, config.features))
            products = sum(map(self.of_product, config.interactions))
            self._configs[config] = 1.0 + sum(self.means.values()) + own + products
        return self._configs[config]
