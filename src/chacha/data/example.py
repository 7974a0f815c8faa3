"""One row of a stream: named groups of features, and a label once it is known."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from chacha.data.vw_text import (
    DEFAULT_GROUP,
    FLOAT32_MAX,
    group_of,
    hash_name,
    show_exactly,
    show_label,
)
from chacha.errors import BadExample

__all__ = [
    "Example",
    "Feature",
    "NumberCell",
    "check_weight",
    "finite",
    "make_example",
    "not_finite",
]


class Feature(NamedTuple):
    """A feature: its name, its value (the float32 that VW reads), and VW's hash of the name.

    >>> from chacha.data.text_parser import parse_line
    >>> parse_line("1 |a x:0.5").groups["a"][0]
    Feature(name='x', value=0.5, hashed=3378043016)
    """

    name: str
    value: float
    hashed: int


class NumberCell(NamedTuple):
    """A number of a table or a dict, before it is rounded and centred.

    `position` counts the features of its group, including numbers that are 0 or missing (NaN),
    which the text of the example does not have.
    """

    group: str
    position: int
    name: str
    value: float


@dataclass(frozen=True, slots=True)
class Example:
    """One row: groups of features in order of appearance, label, weight, tag.

    `body` is the row as VW text from the first bar on; :attr:`line` is the whole line. `place`
    names the origin of the row in messages. `derived` holds groups computed from the others
    (:mod:`chacha.config.derived_groups`); a model uses those that its configuration has. `row`
    holds the original cells, column by column, if a user's function needs them. `label` is the
    float32 that VW reads, and `target` the label before it was rounded. `numbers` holds the
    numbers of a table or a dict; once they are centred, `reads` has what the features of each group
    were, None if they are words.
    Features of value 0 are left out, as in VW.

    >>> from chacha.data.text_parser import parse_line
    >>> example = parse_line("1 0.5 'tag|user age:0.5 |item red")
    >>> example.label, example.weight, example.tag, list(example.groups)
    (1.0, 0.5, 'tag', ['user', 'item'])
    >>> example.with_label(2.0).line
    "2.0 0.5 'tag|user age:0.5 |item red"
    """

    groups: Mapping[str, list[Feature]]
    body: str
    label: float | None = None
    weight: float = 1.0
    initial: float = 0.0
    tag: str = ""
    head: str = ""
    place: str = ""
    derived: Mapping[str, Sequence[Feature]] = field(default_factory=dict)
    row: Mapping[str, Any] | None = field(default=None, compare=False, repr=False)
    target: float | None = field(default=None, compare=False, repr=False)
    numbers: Sequence[NumberCell] = field(default=(), compare=False, repr=False)
    reads: Mapping[str, Sequence[float | None]] = field(
        default_factory=dict, compare=False, repr=False
    )

    @property
    def target_or_label(self) -> float:
        """The label as it was given, where VW reads a rounded one; the example must have one."""
        assert self.label is not None
        return self.label if self.target is None else self.target

    def as_read(self, group: str) -> list[float]:
        """Return the values of the features of a group before they were centred; -0 is 0."""
        features = self.groups.get(group, ())
        reads = self.reads.get(group) or [None] * len(features)
        pairs = zip(features, reads, strict=True)
        return [feature.value if read is None else read + 0.0 for feature, read in pairs]

    @property
    def line(self) -> str:
        """The example as one line of VW text."""
        return self.head + self.body

    def with_label(self, label: float, weight: float | None = None) -> Example:
        """Return the example with another label and, if given, another weight.

        >>> from chacha.data.text_parser import parse_line
        >>> parse_line("|a x").with_label(0.1).line
        '0.1 |a x'
        """
        weight = self.weight if weight is None else weight
        numbers = [finite(label, "label"), check_weight(weight), self.initial]
        while len(numbers) > 1 and numbers[-1] == (1.0 if len(numbers) == 2 else 0.0):
            numbers.pop()
        words, read = zip(show_label(numbers[0]), *map(show_exactly, numbers[1:]), strict=True)
        head = " ".join(words) + (f" '{self.tag}" if self.tag else " ")
        return Example(
            self.groups,
            self.body,
            label=read[0],
            weight=read[1] if len(read) > 1 else 1.0,
            initial=read[2] if len(read) > 2 else 0.0,
            tag=self.tag,
            head=head,
            place=self.place,
            derived=self.derived,
            row=self.row,
            target=numbers[0],
            numbers=self.numbers,
            reads=self.reads,
        )

    def derived_text(self, names: Iterable[str]) -> str:
        """Return derived groups as VW text to append to the line, including empty ones.

        >>> from chacha.data.text_parser import parse_line
        >>> derived = {"log(a)": make_example({"log(a)": [("x", 0.5)]}).groups["log(a)"]}
        >>> replace(parse_line("|a x"), derived=derived).derived_text(["bins(a,16)", "log(a)"])
        ' |bins(a,16) |log(a) x:0.5'
        """
        parts = []
        for name in names:
            words = [_as_text(feature) for feature in self.derived.get(name, ())]
            parts.append(" ".join([f" |{name}", *words]))
        return "".join(parts)

    def plain(self, names: Iterable[str]) -> Example:
        """Return the example with these derived groups as plain values, and without the row.

        The result does not refer to what the groups are derived with, so it can be sent to another
        process.

        >>> from chacha.data.text_parser import parse_line
        >>> groups = parse_line("|log(a) x:0.5").groups
        >>> replace(parse_line("|a x"), derived=groups).plain(["bins(a,16)", "log(a)"]).derived
        {'bins(a,16)': (), 'log(a)': (Feature(name='x', value=0.5, hashed=...),)}
        """
        derived = {name: tuple(self.derived.get(name, ())) for name in names}
        plain = type(self.derived) is dict and not self.derived and not derived
        if plain and self.row is None and not self.numbers and not self.reads:
            return self
        return replace(self, derived=derived, row=None, numbers=(), reads={})

    def without(self, names: Collection[str]) -> Example:
        """Return the example without some of its groups; the text of the others is unchanged.

        >>> from chacha.data.text_parser import parse_line
        >>> parse_line("1 |a x |b:2 y |a z").without(["a"]).line
        '1 |b:2 y '
        """
        parts = self.body.split("|")[1:]
        body = "|" + "|".join(part for part in parts if group_of(part) not in names)
        groups = {name: features for name, features in self.groups.items() if name not in names}
        numbers = tuple(cell for cell in self.numbers if cell.group not in names)
        return replace(self, groups=groups, body=body, numbers=numbers)

    def with_features(self, groups: Mapping[str, list[Feature]]) -> Example:
        """Return the example with other features, and text that VW reads as these.

        >>> from chacha.data.text_parser import parse_line
        >>> parse_line("1 |a x:2").with_features({"a": [Feature("x", 0.5, 7)]}).line
        '1 |a x:0.5'
        """
        parts = [
            " ".join([f"|{name.strip()}", *map(_as_text, features)])
            for name, features in groups.items()
        ]
        return replace(self, groups=groups, body=" ".join(parts))

    def with_groups(self, more: Mapping[str, Iterable[tuple[str, float]]]) -> Example:
        """Return the example with more groups appended; their names must be safe for VW text.

        >>> from chacha.data.text_parser import parse_line
        >>> parse_line("1 |a x:2").with_groups({"missing(a)": [("y", 1.0)]}).line
        '1 |a x:2 |missing(a) y'
        """
        if not more:
            return self
        added = make_example(more)
        groups = {name: list(features) for name, features in self.groups.items()}
        for name, features in added.groups.items():
            groups.setdefault(name, []).extend(features)
        return replace(self, groups=groups, body=f"{self.body} {added.body}")


def _as_text(feature: Feature) -> str:
    """Return a feature as VW reads it back; an anonymous feature is written as its number."""
    name, value, _ = feature
    if name.startswith(":") and name[1:].isdecimal():
        name = name[1:]
    return name if value == 1.0 else f"{name}:{show_exactly(value)[0]}"


def finite(value: float, what: str) -> float:
    """Return `value` as a float, or raise an error if a float32 cannot hold it.

    >>> finite(float("inf"), "label")
    Traceback (most recent call last):
    chacha.errors.BadExample: the label is inf; labels must be finite numbers
    """
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not -FLOAT32_MAX <= number <= FLOAT32_MAX:
        raise not_finite(what, value)
    return number


def not_finite(what: str, value: object) -> BadExample:
    """Return the error for a number that is not finite.

    >>> not_finite("label", "nan").reason
    'label not finite'
    """
    return BadExample(
        f"the {what} is {value!r:.60}; {what}s must be finite numbers", f"{what} not finite"
    )


def check_weight(weight: float) -> float:
    """Return `weight` as a float, or raise an error if it is not an importance weight.

    >>> check_weight(-1)
    Traceback (most recent call last):
    chacha.errors.BadExample: the weight is -1.0; weights must not be negative
    """
    weight = finite(weight, "weight")
    if weight < 0:
        message = f"the weight is {weight}; weights must not be negative"
        raise BadExample(message, "weight negative")
    return weight


def make_example(
    groups: Mapping[str, Iterable[tuple[str, float]]],
    label: float | None = None,
    weight: float = 1.0,
    tag: str = "",
    place: str = "",
) -> Example:
    """Return an example made of groups of (name, value); names must be safe for VW text.

    A value becomes the nearest float32 and is written so that VW reads exactly that number.

    >>> make_example({"a": [("x", 0.5), ("red", 1.0)]}, label=1.0).line
    '1.0 |a x:0.5 red'
    """
    parts: list[str] = []
    features_of: dict[str, list[Feature]] = {}
    for group, pairs in (groups or {DEFAULT_GROUP: ()}).items():
        if not group:
            raise BadExample("a group has no name")
        seed = 0 if group == DEFAULT_GROUP else hash_name(group, 0)
        features: list[Feature] = []
        words = [f"|{group.strip()}"]
        for name, value in pairs:
            if not name:
                raise BadExample(f"a feature of group {group!r} has no name")
            if value == 1.0:
                words.append(name)
                features.append(Feature(name, 1.0, hash_name(name, seed)))
                continue
            text, read = show_exactly(value)
            if not -FLOAT32_MAX <= read <= FLOAT32_MAX:
                raise BadExample(
                    f"feature {name!r} of group {group!r} is {value!r}; values must be finite",
                    "value not finite",
                )
            if read != 0.0:
                words.append(name if read == 1.0 else f"{name}:{text}")
                features.append(Feature(name, read, hash_name(name, seed)))
        features_of[group] = features
        parts.append(" ".join(words))
    body = " ".join(parts)
    example = Example(features_of, body, weight=check_weight(weight), tag=tag, place=place)
    return example if label is None else example.with_label(label)
