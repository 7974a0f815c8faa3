"""VW's JSON: one example per line, as `vw --json` reads it, written as VW text.

VW reads the same features from the text, in the same order and with the same bits. In short,
VW's JSON parser does this:

- An object is a group by its key, at any depth; the outermost is the group without a name.
- A number is a feature; a string is a feature named by its key followed by its value, with
  `_` for space, tab, `|` and `:` in the value; true is a feature, false and null are nothing.
- The numbers of an array are features by their position; objects in an array belong to the
  group that the array's key names.
- `_label`, `_label_weight`, `_tag` and `_text` have their meaning at any depth; other keys
  that begin with `_` are ignored.

A feature name that VW text cannot hold is written as the whole number that VW hashes it to.
This holds for VW's default hashing (`--hash strings`, no `--chain_hash`).
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NamedTuple

from chacha.data.example import Example, Feature, check_weight, finite
from chacha.data.vw_text import DEFAULT_GROUP, SHORT, hash_name, read_number, show_exactly
from chacha.errors import BadExample
from chacha.sources.base import Bad
from chacha.sources.formats.file_source import LineFile, read_line
from chacha.sources.values.cells import LARGEST_INTEGER
from chacha.sources.values.json_text import (
    MALFORMED,
    TOO_DEEP,
    TOO_LONG,
    decoder,
    read_double,
    read_object,
)

__all__ = ["VWJsonFile", "looks_like_vw_json", "vw_json_example"]

NOT_TEXT = "not in VW text"
NOT_SIMPLE = "not a simple label"

_MASK = 0xFFFFFFFF
_TRIMMED = "".join(map(chr, range(0x21)))  # what VW's hash strips from both ends of a name
_ENDS_NAME = re.compile(r"[ \t\r\n:|\x00]")  # characters that end a name in VW text
_ENDS_TAG = re.compile(r"[ \t\r\n|\x00]")
_UNDERSCORES = str.maketrans(" \t|:", "____")
_OTHER_LABELS = {"_multi", "_slots", "_slot_id", "_outcomes", "_a", "_p", "_inc", "_graph"}
_OTHER_LABELS |= {"_original_label_cost", "__aid"}
_PARTS = {"label": "label", "weight": "weight", "initial": "initial prediction"}


def looks_like_vw_json(first: Mapping[str, object]) -> bool:
    """Return whether an object is a line of VW's JSON rather than a record.

    >>> looks_like_vw_json({"_label": 1, "x": 2}), looks_like_vw_json({"label": 1, "x": 2})
    (True, False)
    """
    return any(key.startswith("_label") or key in ("_multi", "_slots") for key in first)


class VWJsonFile(LineFile):
    """A file of VW's JSON (`vw --json`).

    >>> VWJsonFile("clicks.json").description
    'VW JSON'
    """

    description = "VW JSON"
    tabular = False

    def rows(self, lines: Sequence[tuple[bytes, str]]) -> Iterator[Example | Bad]:
        """Yield the rows of some lines."""
        for line, place in lines:
            row = read_line(line, place, vw_json_example)
            if isinstance(row, Example) and row.label is None:
                message = "the line has no label; learning needs one ('_label')"
                row = Bad(place, "no label", message, unlabelled=row)
            yield row


def vw_json_example(line: str, place: str = "") -> Example:
    """Return the example of one line of VW's JSON, to VW the same bit for bit.

    >>> vw_json_example('{"_label": 1, "hour": 5, "user": {"city": "New York", "age": 0.5}}').line
    '1.0 |user cityNew_York age:0.5 | hour:5.0'
    >>> vw_json_example('{"_label": {"Label": 2, "Weight": 0.5}, "_tag": "t", "a": [3, 0, 4]}').line
    "2.0 0.5 't|a :3.0 :0 :4.0"
    """
    members = read_object(line, _DECODER)
    if "EventId" in members and isinstance(members.get("c"), dict):
        raise _not_simple("'EventId' and 'c' are of VW's dsjson")
    builder = _ExampleBuilder()
    try:
        builder.read(DEFAULT_GROUP, members)
        builder.tag.encode()
    except UnicodeEncodeError as error:
        message = f"half a surrogate pair, {error.object[error.start]!a}; it encodes no character"
        raise BadExample(message, MALFORMED) from error
    except RecursionError as error:
        raise BadExample(TOO_DEEP, MALFORMED) from error
    return builder.example(place)


_DECODER = decoder(parse_float=read_double)


def _not_simple(what: str) -> BadExample:
    return BadExample(f"{what}; chacha needs one number as the label: '_label': 1.5", NOT_SIMPLE)


def _check_exact(value: float, what: str) -> None:
    if isinstance(value, int) and not -LARGEST_INTEGER <= value <= LARGEST_INTEGER:
        rule = "whole numbers beyond 2^53 are not exact (give an identifier as a string)"
        raise BadExample(f"{what} is {value!r:.60}; {rule}", TOO_LONG)


class _Group(NamedTuple):
    """A group's name in VW text, its first byte, which is VW's index of it, and its hash."""

    name: str
    first: int
    seed: int


@lru_cache(maxsize=1 << 12)
def _group(name: str) -> _Group:
    """Return the group that a key names; refuse a name that VW text cannot hold.

    >>> _group("user ").name, _group("user").first, _group(" ").seed
    ('user', 117, 0)
    """
    bare = name[:1] + name[1:].rstrip(_TRIMMED)
    if bare != DEFAULT_GROUP and (not bare or _ENDS_NAME.search(bare)):
        raise BadExample(
            f"the group name {name!r:.60} cannot be written in VW text: it must not be empty nor "
            "hold space, tab, line break, ':' or '|'; rename the group",
            NOT_TEXT,
        )
    return _Group(bare, bare.encode()[0], hash_name(bare, 0))


@lru_cache(maxsize=1 << 16)
def _word(name: str, seed: int) -> tuple[str, int]:
    """Return a feature name as VW text can hold it, and its hash: the name, or its number.

    >>> _word("age", 5)[0], _word("trip distance", 0), _word("", 7)
    ('age', ('2406167751', 2406167751), ('0', 7))
    """
    if "\0" in name:
        raise BadExample(f"the name {name!r:.60} holds a NUL, where VW cuts it off", NOT_TEXT)
    hashed = hash_name(name, seed)
    bare = name.strip(_TRIMMED)
    if not bare or bare != bare.strip() or _ENDS_NAME.search(bare):
        return str((hashed - seed) & _MASK), hashed
    return bare, hashed


def _number(value: float, key: str, group: _Group) -> tuple[str, float]:
    """Return a value as text, and the float32 that VW reads."""
    if not -LARGEST_INTEGER <= value <= LARGEST_INTEGER:
        _check_exact(value, f"feature {key!r} of group {group.name!r}")
    text, read = show_exactly(value)
    if not math.isfinite(read):
        what = f"feature {key!r} of group {group.name!r} is {value!r}"
        raise BadExample(f"{what}; values must be finite numbers", "value not finite")
    return text, read


_entries: dict[
    tuple[str, float, int], tuple[str, Feature]
] = {}  # cached numbers, by key, value and group
MOST_ENTRIES = 1 << 14


def _entry(key: str, value: float, group: _Group) -> tuple[str, Feature] | None:
    """Return a number as text and as a feature; None for 0, which VW ignores."""
    text, read = _number(value, key, group)
    if not read:
        return None
    word, hashed = _word(key, group.seed)
    entry = word if read == 1.0 else f"{word}:{text}", Feature(word, read, hashed)
    if -MOST_ENTRIES < value < MOST_ENTRIES and value == int(value) and len(key) <= SHORT:
        if len(_entries) >= MOST_ENTRIES:  # only whole numbers are likely to recur
            _entries.clear()
        _entries[key, value, group.seed] = entry
    return entry


def _string(key: str, value: Any) -> str:
    if value is not None and not isinstance(value, str):
        raise BadExample(f"{key!r} is {value!r:.60}; it must be a string", MALFORMED)
    return value or ""


@dataclass(slots=True)
class _Label:
    """The label, the weight and the initial prediction read so far."""

    label: float | None = None
    weight: float = 1.0
    initial: float = 0.0

    def read(self, value: Any) -> None:
        """Read `_label`: a number, an object of parts, or a label as in VW text."""
        if isinstance(value, str):
            words = [word for word in value.split(" ") if word]
            if len(words) > 3:
                raise _not_simple(f"the label {value!r:.60} has {len(words)} words")
            for part, word in zip(_PARTS, words, strict=False):
                number = read_number(word)
                self.set_part(part, word if number is None or math.isnan(number) else number)
        elif isinstance(value, dict):
            self.label = None
            for part, number in value.items():
                self.set_part(part, number)
        else:
            self.set_part("label", value)

    def set_part(self, name: str, value: Any) -> None:
        """Set one part by its name, in any case; null changes nothing."""
        what = _PARTS.get(name.lower())
        if what is None:
            raise _not_simple(f"a label with {name!r} is of another type")
        if value is None:
            return
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            message = f"the {what} is {value!r:.60}; {what}s must be finite numbers"
            raise BadExample(message, f"{what} not finite")
        _check_exact(value, f"the {what}")
        number = check_weight(value) if what == "weight" else finite(value, what)
        setattr(self, name.lower(), number)


@dataclass(slots=True)
class _Run:
    """Consecutive features of one group in the text."""

    name: str
    words: list[str] = field(default_factory=list)
    features: list[Feature] = field(default_factory=list)
    anonymous: int = 0  # number of features named by position


class _ExampleBuilder:
    """Builds the example of one line, in the order of VW's JSON parser.

    VW indexes features by the first byte of their group's name, and visits these bytes in the
    order in which their first groups with features were closed.
    """

    def __init__(self) -> None:
        self.runs: dict[int, list[_Run]] = {}
        self.closed: dict[int, None] = {}
        self.label = _Label()
        self.tag = ""
        self.position = 0  # VW has one counter for all arrays of a line: a hash

    def run(self, group: _Group) -> _Run:
        """Return the run that the next feature of a group belongs to."""
        runs = self.runs.setdefault(group.first, [])
        if not runs or runs[-1].name != group.name:
            runs.append(_Run(group.name))
        return runs[-1]

    def read(self, name: str, members: dict[str, Any]) -> None:
        """Read an object: the features of the group `name`, and the groups inside."""
        group, has_features = _group(name), False
        seed, run = group.seed, None
        for key, value in members.items():
            kind = type(value)
            if (kind is int or kind is float) and key[:1] != "_":
                entry = _entries.get((key, value, seed)) or _entry(key, value, group)
                if entry is not None:
                    run = run or self.run(group)
                    run.words.append(entry[0])
                    run.features.append(entry[1])
                    has_features = True
            else:
                has_features |= self._read_other(group, key, value)
                run = None  # the member may have begun another run
        if has_features:
            self.closed.setdefault(group.first)

    def _read_other(self, group: _Group, key: str, value: Any) -> bool:
        """Read a member that is not a number; return whether it added features to `group`."""
        if key.startswith("_"):
            return self._read_special(group, key, value)
        if isinstance(value, dict):
            self.read(key, value)
        elif isinstance(value, list):
            self._read_array(key, value)
        elif isinstance(value, str):
            self._add(group, key + value.translate(_UNDERSCORES))
            return True
        elif value is True:
            self._add(group, key)
            return True
        return False

    def _add(self, group: _Group, name: str) -> None:
        word, hashed = _word(name, group.seed)
        run = self.run(group)
        run.words.append(word)
        run.features.append(Feature(word, 1.0, hashed))

    def _read_array(self, key: str, values: list[Any]) -> None:
        """Read an array: its numbers by position, its objects as parts of the same group."""
        group, has_features = _group(key), False
        self.position = group.seed
        for value in values:
            if isinstance(value, dict):
                self.read(key, value)
            elif isinstance(value, (int, float)) and not isinstance(value, bool):
                text, read = _number(value, key, group)
                if read:
                    self._add_by_position(group, text, read, len(values))
                    has_features = True
                self.position += 1
            elif value is not None:
                message = f"the array {key!r} holds {value!r:.60}; it may hold numbers and objects"
                raise BadExample(message, "not a value")
        if has_features:
            self.closed.setdefault(group.first)

    def _add_by_position(self, group: _Group, text: str, value: float, most: int) -> None:
        offset = (self.position - group.seed) & _MASK
        run = self.run(group)
        if offset > most + run.anonymous:  # after a nested array, VW continues its count
            run.words.append(f"{offset}:{text}")
            run.features.append(Feature(str(offset), value, self.position & _MASK))
            return
        if offset < run.anonymous:
            run = _Run(group.name)
            self.runs[group.first].append(run)
        run.words += [":0"] * (offset - run.anonymous)
        run.words.append(f":{text}")
        run.features.append(Feature(f":{offset}", value, self.position & _MASK))
        run.anonymous = offset + 1

    def _read_special(self, group: _Group, key: str, value: Any) -> bool:
        """Read a key that begins with `_`; return whether it added features."""
        if key == "_label":
            self.label.read(value)
        elif key.startswith("_label_"):
            self.label.set_part(key.removeprefix("_label_"), value)
        elif key.startswith("_label") or key in _OTHER_LABELS:
            raise _not_simple(f"the key {key!r} is of another type of label")
        elif key.lower() == "_tag":
            self.tag += _string(key, value)
        elif key == "_text":
            words = [word for word in re.split("[ \t]", _string(key, value)) if word]
            for word in words:
                self._add(group, word.translate(_UNDERSCORES))
            return bool(words)
        return False

    def example(self, place: str) -> Example:
        """Return the example of what was read."""
        if self.tag and (match := _ENDS_TAG.search(self.tag)):
            message = f"the tag {self.tag!r:.60} holds {match[0]!r}, which a tag in VW text cannot"
            raise BadExample(message, NOT_TEXT)
        parts: list[str] = []
        groups: dict[str, list[Feature]] = {}
        for first in self.closed:
            for run in self.runs[first]:
                name = "" if run.name == DEFAULT_GROUP else run.name
                parts.append(f"|{name} {' '.join(run.words)}")
                groups[run.name] = groups.get(run.name, []) + run.features
        label, weight, initial = self.label.label, self.label.weight, self.label.initial
        if label is None and (weight != 1.0 or initial != 0.0):
            raise BadExample("a weight or initial prediction without a label", "no label")
        head = f"'{self.tag}" if self.tag else ""
        body = " ".join(parts) or "|"
        groups = groups or {DEFAULT_GROUP: []}  # as VW reads a bare '|'
        example = Example(groups, body, None, weight, initial, self.tag, head, place)
        return example if label is None else example.with_label(label)
