"""Example: one row of a stream: named groups of features, and a label once it is known."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from chacha.data.vw_text import FLOAT32_MAX, hash_name, read_number, show_exactly
from chacha.errors import BadExample

__all__ = ["Example", "Feature", "make_example", "parse_line"]

DEFAULT_GROUP = " "
"""VW's name of the group without a name, as in `1 | x:2`."""


class Feature(NamedTuple):
    """A feature: its name, its value (a float32, the one VW reads), and VW's hash of it.

    >>> parse_line("1 |a x:0.5").groups["a"][0]
    Feature(name='x', value=0.5, hashed=3378043016)
    """

    name: str
    value: float
    hashed: int


@dataclass(frozen=True, slots=True)
class Example:
    """One row: groups of features in order of appearance, label, weight, tag.

    `body` is the row as VW text, from the first bar on; :attr:`line` is the whole line.
    `place` says where it was read, for messages. `derived` has groups that were made from the
    others (:mod:`chacha.config.derived_groups`); a model uses those that its configuration has. `row` has
    what it was made of, column by column, where somebody asked for it.
    Features of value 0 are left out, as VW does.

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

    @property
    def line(self) -> str:
        """The example as a line of VW text."""
        return self.head + self.body

    def with_label(self, label: float, weight: float | None = None) -> Example:
        """The example with another label (and weight).

        >>> parse_line("|a x").with_label(0.1).line
        '0.1 |a x'
        """
        weight = self.weight if weight is None else weight
        numbers = [finite(label, "label"), check_weight(weight), self.initial]
        while len(numbers) > 1 and numbers[-1] == (1.0 if len(numbers) == 2 else 0.0):
            numbers.pop()
        words, read = zip(*map(show_exactly, numbers), strict=True)
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
        )

    def behind(self, names: Iterable[str]) -> str:
        """Derived groups as VW text, to stand behind the line; also those without a feature.

        >>> made = {"log(a)": make_example({"log(a)": [("x", 0.5)]}).groups["log(a)"]}
        >>> replace(parse_line("|a x"), derived=made).behind(["bins(a,16)", "log(a)"])
        ' |bins(a,16) |log(a) x:0.5'
        """
        parts = []
        for name in names:
            words = [_as_text(feature) for feature in self.derived.get(name, ())]
            parts.append(" ".join([f" |{name}", *words]))
        return "".join(parts)

    def without(self, names: Collection[str]) -> Example:
        """The example without some of its groups; the others stand as they are.

        >>> parse_line("1 |a x |b:2 y |a z").without(["a"]).line
        '1 |b:2 y '
        """
        parts = self.body.split("|")[1:]
        kept = "|".join(part for part in parts if _group_of(part) not in names)
        groups = {name: own for name, own in self.groups.items() if name not in names}
        return replace(self, groups=groups, body=f"|{kept}")

    def with_groups(self, more: Mapping[str, Iterable[tuple[str, float]]]) -> Example:
        """The example with more groups behind its own; their names must be safe for VW text.

        >>> parse_line("1 |a x:2").with_groups({"missing(a)": [("y", 1.0)]}).line
        '1 |a x:2 |missing(a) y'
        """
        if not more:
            return self
        added = make_example(more)
        groups = {name: list(own) for name, own in self.groups.items()}
        for name, own in added.groups.items():
            groups.setdefault(name, []).extend(own)
        return replace(self, groups=groups, body=f"{self.body} {added.body}")


def _as_text(feature: Feature) -> str:
    """A feature as VW reads it back; one without a name has its number."""
    name, value, _ = feature
    if name.startswith(":") and name[1:].isdecimal():
        name = name[1:]
    return name if value == 1.0 else f"{name}:{show_exactly(value)[0]}"


def _group_of(part: str) -> str:
    """The name of a group, of what stands behind its bar."""
    return part.replace("\t", " ").partition(" ")[0].partition(":")[0] or DEFAULT_GROUP


def finite(value: float, what: str) -> float:
    """`value` if a float32 can hold it, else an error.

    >>> finite(float("inf"), "label")
    Traceback (most recent call last):
    chacha.errors.BadExample: the label is inf; labels must be finite numbers
    """
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not -FLOAT32_MAX <= number <= FLOAT32_MAX:
        raise _not_finite(what, value)
    return number


def _not_finite(what: str, value: object) -> BadExample:
    return BadExample(
        f"the {what} is {value!r:.60}; {what}s must be finite numbers", f"{what} not finite"
    )


def check_weight(weight: float) -> float:
    """`weight` if it can be an importance weight, else an error.

    >>> check_weight(-1)
    Traceback (most recent call last):
    chacha.errors.BadExample: the weight is -1.0; weights must not be negative
    """
    weight = finite(weight, "weight")
    if weight < 0:
        message = f"the weight is {weight}; weights must not be negative"
        raise BadExample(message, "weight negative")
    return weight


def _word(text: str, what: str) -> float:
    value = read_number(text)
    if value is None or not -FLOAT32_MAX <= value <= FLOAT32_MAX:
        raise _not_finite(what, text)
    return value


def parse_line(line: str, place: str = "") -> Example:
    """One line of VW text: `[label [weight [initial]]] ['tag]|group feature[:value] ...`.

    What VW would read as NaN or infinity, or would drop with a warning, is refused.

    >>> parse_line("1 |a:2 x:0.5 red color:blue").groups["a"][0].value
    1.0
    """
    line = line.rstrip("\r\n")
    if "\r" in line or "\n" in line:
        raise BadExample(f"a line break inside {_short(line)}; one example is one line")
    bar = line.find("|")
    if bar < 0:
        raise BadExample(f"no '|' in {_short(line)}; VW text reads 'label |group feature:value'")
    head, body = line[:bar], line[bar:]
    labels = head.partition("\t")[2] if "\t" in head else head
    words = [word for word in labels.split(" ") if word]
    tag = ""
    if words and (not labels.endswith(" ") or words[-1].startswith("'")):
        tag = words.pop().removeprefix("'")
    if len(words) > 3:
        raise BadExample(f"{len(words)} words before '|' in {_short(line)}; at most 3 and a tag")
    label = _word(words[0], "label") if words else None
    weight = check_weight(_word(words[1], "weight")) if len(words) > 1 else 1.0
    initial = _word(words[2], "initial prediction") if len(words) > 2 else 0.0
    groups: dict[str, list[Feature]] = {}
    parts = body.split("|")[1:]
    for i, part in enumerate(parts, start=1):
        _parse_group(part, groups, last=i == len(parts))
    return Example(groups, body, label, weight, initial, tag, head, place)


def _parse_group(part: str, groups: dict[str, list[Feature]], last: bool) -> None:
    tokens = part.replace("\t", " ").split(" ")
    scale, name = 1.0, DEFAULT_GROUP
    if tokens[0]:
        name, colon, weight = tokens[0].partition(":")
        if not name:
            raise BadExample(f"a group without a name before ':' in {_short('|' + part)}")
        if colon:
            scale = _word(weight, "group weight")
    seed = 0 if name == DEFAULT_GROUP else hash_name(name, 0)
    features = groups.setdefault(name, [])
    anonymous = 0
    for token in tokens[1:]:
        if not token:
            continue
        feature, colon, text = token.partition(":")
        value = 1.0
        if colon:
            if not text:
                raise BadExample(
                    f"feature {token!r:.60} of group {name!r:.60} has no value after ':'"
                )
            number = read_number(text)
            if number is None:  # a word: VW hashes it on top of the feature's name
                if token is tokens[-1] and not last:
                    raise BadExample(
                        f"{token!r:.60} touches the next '|', which VW takes as part of it"
                    )
                features.append(Feature(token, 1.0, hash_name(text, hash_name(feature, seed))))
                continue
            value = number
        if feature:
            hashed = hash_name(feature, seed)
        else:
            hashed = (seed + anonymous) & 0xFFFFFFFF
            feature, anonymous = f":{anonymous}", anonymous + 1
        if scale != 1.0:
            value = _float32_product(scale, value)
        if not -FLOAT32_MAX <= value <= FLOAT32_MAX:
            raise BadExample(
                f"feature {token!r:.60} of group {name!r:.60} has no finite value; "
                "values must be finite",
                "value not finite",
            )
        if value != 0.0:
            features.append(Feature(feature, value, hashed))


def _float32_product(a: float, b: float) -> float:
    with np.errstate(all="ignore"):
        return float(np.float32(a) * np.float32(b))


def make_example(
    groups: Mapping[str, Iterable[tuple[str, float]]],
    label: float | None = None,
    weight: float = 1.0,
    tag: str = "",
    place: str = "",
) -> Example:
    """An example from groups of (name, value); names must be safe for VW text.

    A value becomes the nearest float32, and is written so that VW reads exactly that one.

    >>> make_example({"a": [("x", 0.5), ("red", 1.0)]}, label=1.0).line
    '1.0 |a x:0.5 red'
    """
    parts: list[str] = []
    made: dict[str, list[Feature]] = {}
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
        made[group] = features
        parts.append(" ".join(words))
    example = Example(made, " ".join(parts), weight=check_weight(weight), tag=tag, place=place)
    return example if label is None else example.with_label(label)


def _short(text: str) -> str:
    return repr(text if len(text) <= 60 else text[:57] + "...")
