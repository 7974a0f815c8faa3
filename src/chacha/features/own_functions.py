"""User functions, which compute the derived group `own(NAME)` from a row."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from chacha.config.derived_groups import derived
from chacha.data.example import Example, finite
from chacha.data.vw_text import DEFAULT_GROUP, escape, unescape
from chacha.errors import BadExample, ConfigError

__all__ = ["OwnFunctions"]


class TextRow(Mapping[str, Any]):
    """The features of an example by name: the argument of user functions where there is no row.

    Words stay words. Features with the value 0 are absent. If two groups have a feature of the
    same name, the name means that of the first group; `group.name` distinguishes them.

    >>> from chacha.data.text_parser import parse_line
    >>> row = TextRow(parse_line("|a km:2 city=New%20York |b km:3"))
    >>> dict(row), row["b.km"], row.get("hour", 0.0)
    ({'km': 2.0, 'city': 'New York'}, 3.0, 0.0)
    """

    def __init__(self, example: Example) -> None:
        self._flat: dict[str, Any] = {}
        self._full: dict[str, Any] = {}
        for group, features in example.groups.items():
            if derived(group) is None:
                for name, value in _named({f.name: f.value for f in features}):
                    self._flat.setdefault(name, value)
                    if group != DEFAULT_GROUP:
                        self._full[f"{unescape(group)}.{name}"] = value

    def __getitem__(self, name: str) -> Any:
        return self._flat[name] if name in self._flat else self._full[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._flat)

    def __len__(self) -> int:
        return len(self._flat)


def _named(features: Mapping[str, float]) -> Iterator[tuple[str, Any]]:
    """Yield names and values; a column's only `column=word` becomes the word."""
    parts = {name: name.replace(":", "=").partition("=") for name in features}
    columns = [column for column, sign, _ in parts.values() if sign]
    for name, value in features.items():
        column, sign, word = parts[name]
        if column and sign and value == 1.0 and columns.count(column) == 1:
            yield unescape(column), unescape(word)
        else:
            yield unescape(name), value


class OwnFunctions:
    """User functions; the features they return become a group of the example.

    The argument of a function is the row that the example was made from, by column: numbers,
    words, dates, None where a cell is empty.

    >>> from chacha.data.text_parser import parse_line
    >>> own = OwnFunctions({"speed": lambda x: {"kmh": x["km"] / x["h"]}})
    >>> own(parse_line("|a km:3 h:2")).line
    '|a km:3 h:2 |own(speed) kmh:1.5'
    >>> own(parse_line("|a km:3"))
    Traceback (most recent call last):
    chacha.errors.BadExample: own(speed) failed: KeyError: 'h'
    """

    def __init__(self, functions: Mapping[str, Callable[[Any], Mapping[str, float]]]) -> None:
        self.functions = dict(functions)

    def __call__(self, example: Example) -> Example:
        """Return the example with the groups of all functions; groups it already has stay."""
        groups = {
            group: self.pairs(name, example)
            for name in self.functions
            if (group := f"own({name})") not in example.groups
        }
        return replace(example, row=None).with_groups(groups) if groups else example

    def pairs(self, name: str, example: Example) -> list[tuple[str, float]]:
        """Return what one function gives for an example: names, safe for VW text, and numbers."""
        group, row = f"own({name})", example.row
        try:
            result: Any = self.functions[name](TextRow(example) if row is None else _frozen(row))
        except Exception as error:
            message = f"{group} failed: {type(error).__name__}: {error!s:.200}"
            raise BadExample(message, f"{group} failed") from error
        if not isinstance(result, Mapping):
            raise _wrong_type(group, result, example)
        return [(_name(group, key, example), _number(group, key, result[key])) for key in result]


def _frozen(row: Mapping[str, Any]) -> Mapping[str, Any]:
    return MappingProxyType(dict(row))


def _wrong_type(group: str, result: Any, example: Example) -> ConfigError:
    place = f"{example.place}: " if example.place else ""
    return ConfigError(f"{place}{group} must return names with numbers, got {result!r:.60}")


def _name(group: str, key: Any, example: Example) -> str:
    if not isinstance(key, str) or not key:
        raise _wrong_type(group, {key: ...}, example)
    try:
        key.encode()
    except UnicodeEncodeError as error:
        message = f"{group} returned a name that is not UTF-8 text: {error}"
        raise BadExample(message, "not UTF-8") from error
    return escape(key)


def _number(group: str, key: str, value: Any) -> float:
    try:
        return finite(math.nan if isinstance(value, (str, bytes)) else value, "value")
    except BadExample as error:
        message = f"{group} returned {key!r:.60} = {value!r:.60}; values must be finite numbers"
        raise BadExample(message, f"{group} not finite") from error
