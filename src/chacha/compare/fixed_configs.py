"""Fixed configurations: what a user would run without tuning, given the stream's groups."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

from chacha.config.config import Config
from chacha.errors import ConfigError

__all__ = ["MOST_PAIRS", "RATES", "all_pairs", "bins_grid", "rate_grid"]

RATES = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
"""The learning rates of best-fixed, each with the initial interactions and with all pairs."""
MOST_PAIRS = 2016  # products of one model: the pairs of 64 groups, which tables have by default
KNOTS = 16


def all_pairs(initial: Config, groups: Sequence[str]) -> list[Config]:
    """Return the initial configuration with the product of every two different groups added.

    >>> [str(c) for c in all_pairs(Config(["aa"], {"l2": 0.1}), "abc")]
    ['interactions aa, ab, ac, bc; l2 0.1']
    """
    count = len(groups) * (len(groups) - 1) // 2
    if count > MOST_PAIRS:
        raise ConfigError(
            f"{len(groups)} groups have {count} pairs, more than {MOST_PAIRS}; put columns "
            "together in fewer groups (--group-by, --group, --namespaces), or leave all-pairs "
            "and best-fixed out"
        )
    products = [*initial.interactions, *combinations(groups, 2)]
    return [Config(products, initial.values, initial.derived)]


def rate_grid(initial: Config, groups: Sequence[str]) -> list[Config]:
    """Return the initial interactions and all pairs, each with every rate of :data:`RATES`.

    >>> grid = rate_grid(Config(values={"learning_rate": 0.3}), "ab")
    >>> len(grid), str(grid[0]), str(grid[-1])
    (14, 'no interactions; learning_rate 0.1', 'interactions ab; learning_rate 10')
    >>> len(rate_grid(Config(), "a"))  # there is no pair
    7
    """
    grid = (
        config.with_values(learning_rate=rate)
        for config in (initial, *all_pairs(initial, groups))
        for rate in RATES
    )
    return list(dict.fromkeys(grid))


def bins_grid(initial: Config, groups: Sequence[str]) -> list[Config]:
    """Return bins of all groups: alone, with all pairs, with all pairs of bins; at every rate.

    >>> grid = bins_grid(Config(), "ab")
    >>> len(grid), str(grid[-1])  # doctest: +NORMALIZE_WHITESPACE
    (21, 'features bins(a,16), bins(b,16); interactions bins(a,16)*bins(b,16); learning_rate 10')
    """
    bins = [f"bins({group},{KNOTS})" for group in groups]
    binned = initial.with_derived(bins)
    shapes = (binned, *all_pairs(binned, groups), *all_pairs(binned, bins))
    grid = (shape.with_values(learning_rate=rate) for shape in shapes for rate in RATES)
    return list(dict.fromkeys(grid))
