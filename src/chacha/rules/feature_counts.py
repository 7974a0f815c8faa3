"""How many features groups, products and configurations have, in all and in one example."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

from chacha.config.config import Config, Product
from chacha.config.derived_groups import derived
from chacha.config.derived_kinds import KINDS

__all__ = [
    "Widths",
    "cells_for",
    "complexity",
    "distinct_features",
    "mean_features",
    "mean_features_of",
    "product_features",
]

MOST_CELLS = 4096
MOST_WIDTHS = 10_000  # widths that are cached


def product_features(names: Product, counts: Sequence[float]) -> float:
    """Return the number of features of a product whose groups have `counts` features.

    A group that occurs k times gives its combinations with repetition. The number is a float,
    because products of large groups have more features than an integer type holds.

    >>> product_features(("a", "a", "b"), [3.0, 3.0, 2.0])  # 3·4/2 · 2
    12.0
    """
    if len(names) == 1 or (len(names) == 2 and names[0] != names[1]):  # the common cases
        return max(counts[0], 0.0) * (max(counts[1], 0.0) if len(names) == 2 else 1.0)
    features = 1.0
    at = 0
    for _, same in groupby(names):
        for times, _ in enumerate(same):
            features = features * (counts[at] + times if counts[at] > 0 else 0.0) / (times + 1.0)
            at += 1
    return features


def complexity(config: Config, sizes: Mapping[str, int], raw_features: int) -> float:
    """Return d_c: Σ|g| over the groups plus, for each product, the features it induces.

    >>> complexity(Config([("a", "a"), ("a", "b")]), {"a": 3, "b": 2}, 5)  # 5 + 3·4/2 + 3·2
    17.0
    """
    d = float(raw_features)
    for names in config.interactions:
        d += product_features(names, [float(sizes.get(group, 0)) for group in names])
    return d


def distinct_features(name: str, sizes: Mapping[str, int]) -> float:
    """Return the number of distinct features of a group, raw or derived.

    >>> distinct_features("temp", {"temp": 3}), distinct_features("bins(temp,16)", {"temp": 3})
    (3.0, 48.0)
    """
    group = None if name in sizes else derived(name)
    if group is None:
        return float(sizes.get(name, 0))
    per_feature = KINDS[group.kind].distinct_features(group.parameter)
    return float(sizes.get(group.source, 1)) * per_feature


def mean_features_of(name: str, means: Mapping[str, float]) -> float:
    """Return the approximate number of features a group contributes to an example.

    >>> mean_features_of("temp", {"temp": 1.5}), mean_features_of("bins(temp,16)", {"temp": 1.5})
    (1.5, 3.0)
    """
    group = None if name in means else derived(name)
    if group is None:
        return means.get(name, 0.0)
    return means.get(group.source, 1.0) * KINDS[group.kind].features(group.parameter)


def mean_features(
    active: Mapping[str, int], examples: int, sizes: Mapping[str, int]
) -> Mapping[str, float]:
    """Return the mean number of features of each raw group in an example.

    Before the first example, the distinct features stand in for the mean.

    >>> mean_features({"a": 3}, 2, {}), mean_features({}, 0, {"a": 3})
    ({'a': 1.5}, {'a': 3.0})
    """
    totals = active if examples else sizes
    raw = {group: n for group, n in totals.items() if n and derived(group) is None}
    return {group: total / max(examples, 1) for group, total in raw.items()}


def cells_for(product: Product, sizes: Mapping[str, int]) -> int:
    """Return the table size for a product's features: a power of two, at most 4096.

    The table holds twice as many cells as the product has features, unless that is too many.

    >>> cells_for(("a", "b"), {"a": 1, "b": 1}), cells_for(("a", "b"), {"a": 3, "b": 3})
    (4, 32)
    """
    size = product_features(product, [distinct_features(name, sizes) for name in product])
    cells = 4
    while cells < 2 * size and cells < MOST_CELLS:
        cells *= 2
    return cells


class Widths:
    """Approximate numbers of features that groups, products and configurations give an example.

    Numbers are kept, because a decision needs the same ones many times. Models and their threads
    may share an object.

    >>> widths = Widths({"a": 2.0, "b": 3.0})
    >>> widths.of_product(("a", "b")), widths.of_config(Config(["ab"]))
    (6.0, 12.0)
    """

    def __init__(self, means: Mapping[str, float]) -> None:
        self.means = means
        self._groups: dict[str, float] = {}
        self._products: dict[Product, float] = {}
        self._configs: dict[Config, float] = {}

    def of_group(self, name: str) -> float:
        """Return a group's features in an example."""
        width = self._groups.get(name)
        if width is None:
            width = mean_features_of(name, self.means)
            _keep(self._groups, name, width)
        return width

    def of_product(self, product: Product) -> float:
        """Return a product's features in an example."""
        width = self._products.get(product)
        if width is None:
            width = product_features(product, [*map(self.of_group, product)])
            _keep(self._products, product, width)
        return width

    def of_config(self, config: Config) -> float:
        """Return the features of a configuration: constant, raw and derived groups, products."""
        width = self._configs.get(config)
        if width is None:
            derived_features = sum(map(self.of_group, config.derived))
            products = sum(map(self.of_product, config.interactions))
            width = 1.0 + sum(self.means.values()) + derived_features + products
            _keep(self._configs, config, width)
        return width


def _keep(widths: dict[Any, float], key: Any, width: float) -> None:
    """Keep a width; many are dropped first."""
    if len(widths) >= MOST_WIDTHS:
        widths.clear()
    widths[key] = width
