"""Groups of columns by their order, and of their empty cells."""

from __future__ import annotations

import math
import string

from chacha.data.vw_text import DEFAULT_GROUP, escape

__all__ = ["MOST_GROUPS", "missing_group", "parts", "sequential_groups"]

MOST_GROUPS = 10


def sequential_groups(names: list[str], most: int = MOST_GROUPS) -> dict[str, str]:
    """Name -> group: at most `most` groups of equal size, in order.

    A group of one goes by its own name, larger ones by letters.

    >>> sequential_groups(["hour", "age"])
    {'hour': 'hour', 'age': 'age'}
    >>> sequential_groups(["u", "v", "w"], most=2)
    {'u': 'a', 'v': 'a', 'w': 'b'}
    """
    if len(names) <= most:
        return {name: escape(name) for name in names}
    size, labels = parts(len(names), most)
    return {name: labels[i // size] for i, name in enumerate(names)}


def parts(count: int, most: int) -> tuple[int, list[str]]:
    """How many of `count` things go into each of at most `most` groups, and the groups' names.

    >>> parts(25, 10)
    (3, ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i'])
    """
    size = max(1, math.ceil(count / most))
    groups = math.ceil(count / size)
    letters = string.ascii_letters
    return size, [letters[i] if groups <= len(letters) else f"g{i}" for i in range(groups)]


def missing_group(group: str) -> str:
    """The group that tells of a group's empty cells.

    >>> missing_group("a"), missing_group(" ")
    ('missing(a)', 'missing(%20)')
    """
    return f"missing({escape(group) if group == DEFAULT_GROUP else group})"
