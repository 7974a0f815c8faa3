"""Names and values, as configurations hold them and people read them."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from typing import Any

from chacha.data.vw_text import escape
from chacha.errors import ConfigError

__all__ = ["Product", "Value", "canonical", "product", "show", "show_product"]

Product = tuple[str, ...]
"""A product of groups: their names, sorted. ('a', 'b') is VW's `-q ab`."""

Value = float | int | str | bool

UNSAFE = re.compile(r"[ \t\r\n:|]")


def product(names: Iterable[str]) -> Product:
    """The canonical form of a product of groups; letters may be given as one word.

    >>> product("ba"), product(["user", "item"])
    (('a', 'b'), ('item', 'user'))
    """
    found = tuple(names) if isinstance(names, Iterable) else ()
    if len(found) < 2 or not all(isinstance(name, str) and name for name in found):
        raise ConfigError(f"a product needs at least two group names, got {names!r}")
    for name in found:
        if UNSAFE.search(name) and name != " ":
            raise ConfigError(
                f"a group's name has no white space, ':' or '|', got {name!r}; "
                f"a column of that name is the group {escape(name)!r}"
            )
    return tuple(sorted(found))


def canonical(key: str, value: Any) -> Value:
    """A value as configurations hold it: floats at 12 significant digits.

    >>> canonical("learning_rate", 0.5000000000000027)
    0.5
    """
    if isinstance(value, (bool, str)):
        return value
    if isinstance(value, (int, float)) or hasattr(value, "__float__"):
        number = value if isinstance(value, int) else float(f"{float(value):.12g}") + 0.0
        if not math.isfinite(number):
            raise ConfigError(f"{key} must be finite, got {value!r}")
        return number
    raise ConfigError(f"{key} must be a number, a word or a bool, got {value!r}")


def show(value: Value) -> str:
    """A value as people and VW read it.

    >>> show(0.5), show(2e-10), show("squared"), show(True)
    ('0.5', '2e-10', 'squared', 'on')
    """
    if isinstance(value, bool):
        return "on" if value else "off"
    return f"{value:.12g}" if isinstance(value, float) else str(value)


def show_product(names: Product) -> str:
    """A product as people read it: letters run together, names joined by `*`.

    >>> show_product(("a", "b")), show_product(("item", "user"))
    ('ab', 'item*user')
    """
    if all(len(name) == 1 and not name.isspace() for name in names):
        return "".join(names)
    return "*".join(f"'{name}'" if name.isspace() else name for name in names)
