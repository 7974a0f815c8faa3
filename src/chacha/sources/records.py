"""Records: dicts that hold their own label, and the files of JSON lines they come in."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from chacha.errors import BadExample, SourceError
from chacha.example import Example, finite
from chacha.sources.base import Bad
from chacha.sources.batch import Expected
from chacha.sources.bytestream import ByteReader
from chacha.sources.cells import kind_of_value, number, word
from chacha.sources.dicts import DictReader, EmptyCell, flatten
from chacha.sources.spec import Kind, Missing, TableSpec, listed
from chacha.sources.vw import LineFile
from chacha.vwtext import escape

__all__ = ["JsonLines", "RecordReader", "read_object"]

MOST_KINDS = 100_000  # fields that are remembered


class RecordReader:
    """Turns records into examples by a :class:`TableSpec`; nested objects are groups.

    What a field holds is told by its first value; a later one of another kind is refused.

    >>> records = RecordReader(TableSpec(target="y"), "x.jsonl")
    >>> records.row({"user": {"age": 31}, "day": "2026-11-15", "y": 1}, "x.jsonl:1").line
    '1.0 | day.year:2026.0 day.month:11.0 day.day:15.0 day.weekday:6.0 |user age:31.0'
    >>> print(records.row({"user": {"age": "old"}, "y": 1}, "x.jsonl:2"))
    x.jsonl:2: column 'user.age': the cell is 'old', but the column holds numbers
    """

    def __init__(
        self,
        spec: TableSpec,
        name: str,
        reader: DictReader | None = None,
        expected: Expected | None = None,
    ) -> None:
        self.spec, self.name = spec, name
        self.reader = reader or DictReader()
        self.reader.adopt(spec)
        self.expected = expected or Expected()
        self.target = spec.target or self.expected.target

    def row(self, record: Mapping[str, Any], place: str) -> Example | Bad:
        """The example of one record, or what is wrong with it. A bad one leaves no trace."""
        fields = {str(name): value for name, value in record.items()}
        target = self.target or self._last(fields)
        if fields.get(target) is None:
            message = f"the record has no {target!r}, the target; learning needs it"
            return Bad(place, "no label", message)
        new: dict[str, Kind] = {}
        try:
            label = self._label(target, fields.pop(target))
            weight = fields.pop(self.spec.weight, None) if self.spec.weight else None
            tag = fields.pop(self.spec.tag, None) if self.spec.tag else None
            x = _without(fields, self.spec) if self.spec.ignore else fields
            new = self._new_kinds(x)
            self.reader.kinds.update(new)
            example = self.reader.example(x, place)
            if tag is not None:
                example = replace(example, tag=escape(word(tag)))
            example = example.with_label(label, None if weight is None else number(weight))
        except BadExample as error:
            for path in new:
                del self.reader.kinds[path]
            skip = isinstance(error, EmptyCell) and self.spec.missing is Missing.SKIP
            return Bad(place, error.reason, str(error), harmless=skip)
        self.reader.settle(x)
        self.target = self.expected.target = target
        return example

    def _last(self, fields: Mapping[str, Any]) -> str:
        """The last field of the first record, if it can be a target."""
        names = list(fields)
        if not names or isinstance(fields[names[-1]], (Mapping, list)):
            told = f"; the fields are: {listed(fields)}" if fields else ""
            raise SourceError(f"{self.name}: name the field to predict (--target){told}")
        return names[-1]

    def _label(self, target: str, value: Any) -> float:
        if self.spec.positive is not None:
            label = 1.0 if word(value) == self.spec.positive else -1.0
        else:
            try:
                label = number(value)
            except BadExample as error:
                told = str(error).replace(
                    ", but the column holds numbers",
                    "; the target must be numbers (or name one of two classes: --positive)",
                )
                raise BadExample(f"column {target!r}: {told}", error.reason) from error
        self.reader.check(finite(label, "label"))
        return label

    def _new_kinds(self, x: Mapping[str, Any]) -> dict[str, Kind]:
        """What the fields hold that are new, by their first value."""
        known = self.reader.kinds
        new: dict[str, Kind] = {}
        for path, value in flatten(x):
            if path not in known and len(known) + len(new) < MOST_KINDS:
                kind = self.spec.kind_of(path) or kind_of_value(value)
                if kind is not None:
                    new[path] = kind
        return new


def _without(fields: Mapping[str, Any], spec: TableSpec, above: str = "") -> dict[str, Any]:
    """The fields that are not ignored."""
    return {
        name: _without(value, spec, f"{above}{name}.") if isinstance(value, Mapping) else value
        for name, value in fields.items()
        if not spec.is_ignored(f"{above}{name}")
    }


def _unique(entries: list[tuple[str, Any]]) -> dict[str, Any]:
    """The object of these entries; JSON lets a key stand twice, we do not."""
    found = dict(entries)
    if len(found) < len(entries):
        names = [name for name, _ in entries]
        twice = next(name for name in names if names.count(name) > 1)
        raise BadExample(f"the key {twice!r} stands twice in one object", "malformed JSON")
    return found


def read_object(text: str) -> dict[str, Any]:
    """One line of JSON that holds one object.

    >>> read_object('{"a": 1}')
    {'a': 1}
    >>> read_object('{"a": 1')
    Traceback (most recent call last):
    chacha.errors.BadExample: the line ends in the middle of its JSON: it was cut off
    """
    try:
        found = json.loads(text, object_pairs_hook=_unique)
    except json.JSONDecodeError as error:
        if error.pos >= len(text.rstrip()) or "Unterminated" in error.msg:
            message = "the line ends in the middle of its JSON: it was cut off"
        else:
            message = f"the line is not JSON: {error.msg} (character {error.pos + 1})"
        raise BadExample(message, "malformed JSON") from error
    except RecursionError as error:
        raise BadExample("the JSON is nested too deeply", "malformed JSON") from error
    except ValueError as error:  # whole numbers of thousands of digits
        raise BadExample(f"the line cannot be read: {error}", "malformed JSON") from error
    if not isinstance(found, dict):
        message = f"the line is no JSON object but {text.strip()[:40]!r}"
        if isinstance(found, list) or text.strip() == "[":
            message += "; write one object a line (jq -c '.[]' FILE)"
        raise BadExample(message, "malformed JSON")
    return found


class JsonLines(LineFile):
    """A file of JSON lines, plain or compressed, or from standard input.

    >>> JsonLines("clicks.jsonl").name
    'clicks.jsonl'
    """

    understood = "JSON lines"

    def __init__(
        self,
        path: str,
        spec: TableSpec | None = None,
        file: ByteReader | None = None,
        reader: DictReader | None = None,
        expected: Expected | None = None,
    ) -> None:
        super().__init__(path, file)
        self.spec = spec or TableSpec()
        self.records = RecordReader(self.spec, path, reader, expected)

    def row(self, text: str, place: str) -> Example | Bad:
        """The example of one line."""
        return self.records.row(read_object(text), place)
