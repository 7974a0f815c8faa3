"""The features of a product of groups, in VW's order and with VW's hash."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeVar

import numpy as np

__all__ = ["expand_product"]

FNV_PRIME = 16777619

Number = TypeVar("Number", float, np.float32)


def expand_product(
    names: Sequence[str], groups: Sequence[Sequence[tuple[Number, int]]]
) -> Iterator[tuple[Number, int]]:
    """Yield the value and the hash of each feature of a product.

    `groups` holds the values and hashes of the features of each group in `names`. Values are
    multiplied from left to right in their type. A group that occurs more than once, in adjacent
    positions, gives combinations with repetition.

    >>> list(expand_product(["a", "b"], [[(2.0, 1)], [(3.0, 5), (0.5, 7)]]))
    [(6.0, 16777622), (1.0, 16777620)]
    >>> [value for value, _ in expand_product(["a", "a"], [[(2.0, 1), (3.0, 5)]] * 2)]
    [4.0, 6.0, 9.0]
    """
    last = len(groups) - 1

    def expand(depth: int, start: int, value: Number, half: int) -> Iterator[tuple[Number, int]]:
        group = groups[depth]
        for i in range(start, len(group)):
            number, hashed = group[i]
            x = value * number if depth else number
            if depth == last:
                yield x, half ^ hashed
            else:
                begin = i if names[depth + 1] == names[depth] else 0
                yield from expand(depth + 1, begin, x, FNV_PRIME * (half ^ hashed) & 0xFFFFFFFF)

    if all(groups):
        yield from expand(0, 0, groups[0][0][0], 0)
