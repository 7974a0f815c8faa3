"""What users hand in, as examples: dicts, lines of VW text, labels, their own functions."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from chacha.config.config import Config
from chacha.config.derived_groups import Features as Policy
from chacha.config.derived_groups import derived
from chacha.data.example import DEFAULT_GROUP, Example, finite, parse_line
from chacha.data.vw_text import escape, unescape
from chacha.errors import BadExample, ConfigError
from chacha.losses import Loss
from chacha.sources import DictReader

__all__ = ["Features", "Intake", "Own", "example_of", "labelled"]

Features = Mapping[Any, Any] | str | Example
"""What can be predicted: a dict, a line of VW text, an example."""


class Intake:
    """Makes examples of whatever is handed in, for a loss and for what may be derived.

    >>> from chacha.losses import Squared
    >>> policy = Policy(own={"area": lambda x: {"m2": x["a"] * x["b"]}}, more=["lag(label,2)"])
    >>> intake = Intake(Squared(), policy)
    >>> intake.example({"a": 2.0, "b": 3.0, "c": None}).line
    '|a a:2.0 |b b:3.0 |c |missing(c) c |own(area) m2:6.0'
    >>> intake.past
    ['lag(label,2)']
    """

    def __init__(
        self, loss: Loss, policy: Policy | None = None, initial: Config | None = None
    ) -> None:
        self.loss = loss
        self.own = Own(policy.own if policy else {})
        asked = [*(policy.more if policy else ()), *(initial.features if initial else ())]
        wanted = {name: made for name in asked if (made := derived(name)) is not None}
        self.past = [name for name, made in wanted.items() if made.keeps_past]
        """What tells of earlier examples: a ticket keeps it as it was."""
        offers = policy is not None and "missing" in set(policy.kinds) - set(policy.without)
        offers = offers or any(made.kind == "missing" for made in wanted.values())
        self.reader = DictReader(loss.label, offers, keep_rows=bool(self.own.functions))

    @property
    def in_blocks(self) -> bool:
        """Whether rows may be learned many at a time."""
        return not self.own.functions

    def example(self, x: Features) -> Example:
        """The example of `x`."""
        return self.own(example_of(x, self.reader))

    def labelled(
        self, example: Example, y: float | None = None, weight: float | None = None
    ) -> Example:
        """The example with its label; refuses what cannot be learned."""
        return labelled(example, self.loss, y, weight)

    def prepare(self, example: Example) -> Example:
        """A row of a source, as it is learned."""
        return self.own(labelled(example, self.loss))


def example_of(x: Features, reader: DictReader) -> Example:
    """The example of `x`; `reader` knows what was decided about dicts.

    >>> example_of({"age": 3}, DictReader()).line
    '|age age:3.0'
    """
    if isinstance(x, Example):
        return x
    if not isinstance(x, (str, Mapping)):
        raise ConfigError(f"x must be a dict or a line of VW text, got {type(x).__name__}")
    try:
        return parse_line(x) if isinstance(x, str) else reader.example(x)
    except UnicodeEncodeError as error:
        raise BadExample(f"the example is not UTF-8 text: {error}", "not UTF-8") from error


def labelled(
    example: Example, loss: Loss, y: float | None = None, weight: float | None = None
) -> Example:
    """The example with the label as the learner takes it; refuses what it cannot.

    >>> from chacha.losses import Logistic
    >>> labelled(parse_line("0 |a x"), Logistic()).line
    '-1.0 |a x'
    """
    from_text = y is None
    if y is None:
        if example.label is None:
            raise BadExample("the example has no label; learning needs one", "no label")
        y = example.label
    label = loss.label(finite(y, "label"))
    if from_text and label == y and weight is None:
        return example
    return example.with_label(label, weight)


class TextRow(Mapping[str, Any]):
    """The features of an example by name: for functions of one's own, where there is no row.

    Words are words, and what is 0 is not there. Where two groups have a name, it is the first
    one's; `group.name` tells them apart.

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
    """Names and values; the only `column=word` of a column is its word."""
    parts = {name: name.replace(":", "=").partition("=") for name in features}
    columns = [column for column, sign, _ in parts.values() if sign]
    for name, value in features.items():
        column, sign, word = parts[name]
        if column and sign and value == 1.0 and columns.count(column) == 1:
            yield unescape(column), unescape(word)
        else:
            yield unescape(name), value


class Own:
    """Functions of one's own: what they return is a group of the example.

    They are given what the example was made of, by column: numbers, words, dates, None where a
    cell is empty.

    >>> own = Own({"speed": lambda x: {"kmh": x["km"] / x["h"]}})
    >>> own(parse_line("|a km:3 h:2")).line
    '|a km:3 h:2 |own(speed) kmh:1.5'
    >>> own(parse_line("|a km:3"))
    Traceback (most recent call last):
    chacha.errors.BadExample: own(speed) failed: KeyError: 'h'
    """

    def __init__(self, functions: Mapping[str, Callable[[Any], Mapping[str, float]]]) -> None:
        self.functions = dict(functions)

    def __call__(self, example: Example) -> Example:
        """The example with the groups of all functions; a group that it has already stays."""
        more = {
            group: self.pairs(name, example)
            for name in self.functions
            if (group := f"own({name})") not in example.groups
        }
        return replace(example, row=None).with_groups(more) if more else example

    def pairs(self, name: str, example: Example) -> list[tuple[str, float]]:
        """What one function gives for an example: names, safe for VW text, and numbers."""
        group, row = f"own({name})", example.row
        try:
            found: Any = self.functions[name](TextRow(example) if row is None else _frozen(row))
        except Exception as error:
            told = f"{group} failed: {type(error).__name__}: {error!s:.200}"
            raise BadExample(told, f"{group} failed") from error
        if not isinstance(found, Mapping):
            raise _wrong(group, found, example)
        return [(_name(group, key, example), _number(group, key, found[key])) for key in found]


def _frozen(row: Mapping[str, Any]) -> Mapping[str, Any]:
    return MappingProxyType(dict(row))


def _wrong(group: str, got: Any, example: Example) -> ConfigError:
    place = f"{example.place}: " if example.place else ""
    return ConfigError(f"{place}{group} must return names with numbers, got {got!r:.60}")


def _name(group: str, key: Any, example: Example) -> str:
    if not isinstance(key, str) or not key:
        raise _wrong(group, {key: ...}, example)
    try:
        key.encode()
    except UnicodeEncodeError as error:
        told = f"{group} gave a name that is not UTF-8 text: {error}"
        raise BadExample(told, "not UTF-8") from error
    return escape(key)


def _number(group: str, key: str, value: Any) -> float:
    try:
        return finite(math.nan if isinstance(value, (str, bytes)) else value, "value")
    except BadExample as error:
        told = f"{group} gave {key!r:.60} = {value!r:.60}; values must be finite numbers"
        raise BadExample(told, f"{group} not finite") from error
