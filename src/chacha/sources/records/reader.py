"""Records: dicts that hold their own label, and the files of JSON lines they come in."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from chacha.data.example import Example, finite
from chacha.data.vw_text import escape
from chacha.errors import BadExample, ConfigError, SourceError
from chacha.sources.base import Bad
from chacha.sources.formats.vw_file import LineFile, read_line
from chacha.sources.reading.byte_stream import BLOCK
from chacha.sources.records.columns import Columns, make_columns
from chacha.sources.spec import Categories, Kind, Missing, TableSpec, listed, names
from chacha.sources.tables.batch import Expected
from chacha.sources.values.cells import (
    check_kind,
    class_name,
    is_missing,
    is_nan,
    kind_of_value,
    label_trouble,
    number,
    word,
)
from chacha.sources.values.dict_reader import DictReader, EmptyCell, flatten, is_grouped
from chacha.sources.values.json_text import MALFORMED, read_object

__all__ = ["JsonLines", "RecordReader"]

MOST_KINDS = 100_000  # fields that are remembered
WATCHED = 100  # records in which every field that is named in the settings must have appeared
NOTHING = object()
_KINDS = {float: Kind.NUMBER, int: Kind.NUMBER, str: Kind.CATEGORY, bool: Kind.BOOLEAN}
LEAST = 8  # records that are worth to be turned into columns


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
        self.expected = expected or Expected()
        self.target = spec.target or self.expected.target
        self._unseen = {name for name in (spec.weight, spec.tag) if name is not None}
        self._unseen |= {*spec.kinds, *spec.formats, *spec.ignore}
        self._seen = 0

    def row(self, record: Mapping[str, Any], place: str) -> Example | Bad:
        """The example of one record, or what is wrong with it. A bad one leaves no trace."""
        fields = {str(name): value for name, value in record.items()}
        self._watch(fields)
        target = self.target or self._last(fields)
        value = take(fields, target)
        if is_missing(value):
            message = f"the record has no {target!r}, the target; learning needs it"
            return Bad(place, "no label", message)
        before = self.reader.spec
        new: dict[str, Kind] = {}
        try:
            self.reader.adopt(self.spec)
            label = self._label(target, value)
            weight = take(fields, self.spec.weight) if self.spec.weight else None
            tag = take(fields, self.spec.tag) if self.spec.tag else None
            x = _without(fields, self.spec) if self.spec.ignore or self.spec.drop else fields
            new = self._new_kinds(x)
            self.reader.kinds.update(new)
            example = self.reader.example(x, place)
            if tag is not None:
                example = replace(example, tag=escape(word(tag)))
            example = example.with_label(label, None if weight is None else number(weight))
            example.line.encode()
        except (BadExample, UnicodeEncodeError) as found:
            self.reader.spec = before
            for path in new:
                del self.reader.kinds[path]
            error = _refusal(found)
            skip = isinstance(error, EmptyCell) and self.spec.missing is Missing.SKIP
            return Bad(place, error.reason, str(error), harmless=skip)
        self.reader.settle(x)
        self.target = self.expected.target = target
        return example

    def _watch(self, record: Mapping[str, Any]) -> None:
        """Refuse a setting for a field that the first records do not have: it is misspelt."""
        if not self._unseen:
            return
        self._seen += 1
        paths = [path for path, _ in flatten(record)]
        self._unseen -= {p for p in self._unseen if any(names(p, path) for path in paths)}
        if self._seen == WATCHED:
            self.finish()

    def finish(self) -> None:
        """To be called when the records have come to their end."""
        if self._unseen and self._seen:
            told = f"no record has a field {min(self._unseen)!r}, which is named in the settings"
            raise ConfigError(f"{self.name}: {told}")

    def rows(self, records: Sequence[tuple[Mapping[str, Any], str]]) -> Iterator[Example | Bad]:
        """As :meth:`row`, for many records with their places.

        Those that look alike and hold nothing odd are turned into examples column by column.
        """
        at = 0
        while at < len(records):
            alike = self._alike(records, at)
            try:
                cells = self._together([r for r, _ in alike]) if len(alike) >= LEAST else None
            except UnicodeEncodeError:
                cells = None
            if cells is None:
                for record, place in alike:
                    yield self.row(record, place)
            else:
                yield from cells.examples([place for _, place in alike])
            at += len(alike)

    def _alike(
        self, records: Sequence[tuple[Mapping[str, Any], str]], at: int
    ) -> Sequence[tuple[Mapping[str, Any], str]]:
        """The records from `at` on that have the fields of the first of them, in its order."""
        if self.target is None:
            return records[at : at + 1]  # it tells the target and the groups
        first = list(records[at][0])
        end = at + 1
        while end < len(records) and list(records[end][0]) == first:
            end += 1
        return records[at:end]

    def _together(self, records: Sequence[Mapping[str, Any]]) -> Columns | None:
        """The records as columns of cells; None if one of them has to be looked at by itself."""
        spec, reader, first = self.spec, self.reader, records[0]
        odd = spec.weight or spec.tag or spec.positive or spec.ignore or spec.drop or self._unseen
        if odd or spec.categories is Categories.CODE or reader.spec != spec:
            return None
        target = self.target
        if target is None or target not in first or not all(type(n) is str for n in first):
            return None
        if reader.grouping is None and not is_grouped(first):
            return None  # the first flat record decides the groups
        labels = [record[target] for record in records]
        rows = [{n: v for n, v in record.items() if n != target} for record in records]
        leaves = [reader.leaves(row) for row in rows] if is_grouped(rows[0]) else None
        if leaves is None:
            shape = reader.leaves(rows[0])
            columns = [[row[leaf.path] for row in rows] for leaf in shape]
        else:
            shape = leaves[0]
            alike = [leaf[:3] for leaf in shape]
            if any([leaf[:3] for leaf in row] != alike for row in leaves):
                return None
            columns = [[leaf.value for leaf in column] for column in zip(*leaves, strict=True)]
        return make_columns(labels, shape, columns, reader)

    def _last(self, fields: Mapping[str, Any]) -> str:
        """The last field of the first record, if it can be a target."""
        names = list(fields)
        if not names or isinstance(fields[names[-1]], (Mapping, list)):
            told = f"; the fields are: {listed(fields)}" if fields else ""
            raise SourceError(f"{self.name}: name the field to predict (--target){told}")
        return names[-1]

    def _label(self, target: str, value: Any) -> float:
        if self.spec.positive is not None:
            label = 1.0 if class_name(value) == class_name(self.spec.positive) else -1.0
        else:
            try:
                label = number(value)
            except BadExample as error:
                told = label_trouble(error)
                raise BadExample(f"column {target!r}: {told}", told.reason) from error
        self.reader.check(finite(label, "label"))
        return label

    def _new_kinds(self, x: Mapping[str, Any]) -> dict[str, Kind]:
        """What the fields hold that are new, by their first value; refuses another kind later."""
        known = self.reader.kinds
        new: dict[str, Kind] = {}
        for path, value in flatten(x):
            if known.get(path) is _KINDS.get(type(value), NOTHING):
                continue  # as below, for what is most common
            if is_missing(value) or ("nan" in self.spec.nulls and is_nan(value)):
                continue
            told = self.spec.kind_of(path)
            if path not in known:
                if len(known) + len(new) < MOST_KINDS and (kind := told or kind_of_value(value)):
                    new[path] = kind
            elif told is None and path not in self.reader.texts:
                try:
                    check_kind(known[path], value)
                except BadExample as error:
                    raise BadExample(f"column {path!r}: {error}", error.reason) from error
        return new


def take(fields: dict[str, Any], path: str) -> Any:
    """The value of a field, which is taken out; a path leads into objects.

    >>> fields = {"a": {"b": 1, "c": 2}}
    >>> take(fields, "a.b"), fields
    (1, {'a': {'c': 2}})
    """
    if path in fields:
        return fields.pop(path)
    top, dot, rest = path.partition(".")
    if not dot or not isinstance(fields.get(top), Mapping):
        return None
    inside = dict(fields[top])
    value = take(inside, rest)
    fields[top] = inside
    return value


def _refusal(error: BadExample | UnicodeEncodeError) -> BadExample:
    if isinstance(error, BadExample):
        return error
    message = f"half a surrogate pair, {error.object[error.start]!a}; it stands for no letter"
    return BadExample(message, MALFORMED)


def _without(fields: Mapping[str, Any], spec: TableSpec, above: str = "") -> dict[str, Any]:
    """The fields that are not ignored."""
    return {
        name: _without(value, spec, f"{above}{name}.") if isinstance(value, Mapping) else value
        for name, value in fields.items()
        if not spec.is_ignored(f"{above}{name}")
    }


class JsonLines(LineFile):
    """A file of JSON lines, plain or compressed, or from standard input.

    >>> JsonLines("clicks.jsonl").name
    'clicks.jsonl'
    """

    understood = "JSON lines"
    block = BLOCK

    def __iter__(self) -> Iterator[Example | Bad]:
        self._records = RecordReader(self.spec, self.name, self.reader, self.expected)
        yield from super().__iter__()
        self._records.finish()

    def rows(self, lines: Sequence[tuple[bytes, str]]) -> Iterator[Example | Bad]:
        """The examples of some lines."""
        found: list[tuple[Mapping[str, Any], str]] = []
        for line, place in lines:
            read = read_line(line, place, lambda text, _: read_object(text))
            if isinstance(read, Bad):
                yield from self._records.rows(found)
                found = []
                yield read
            else:
                found.append((read, place))
        yield from self._records.rows(found)
