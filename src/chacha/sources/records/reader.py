"""Records: dicts that hold their own label, whose fields may differ from one to the next."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from chacha.data.example import Example, finite
from chacha.data.vw_text import escape
from chacha.errors import BadExample, ConfigError, SourceError
from chacha.sources.base import Bad
from chacha.sources.records.columns import RecordColumns, record_columns
from chacha.sources.spec import Categories, Kind, Missing, TableSpec, listed, names
from chacha.sources.tables.batch import ExpectedColumns
from chacha.sources.values.cells import (
    category_name,
    check_kind,
    class_name,
    is_missing,
    is_nan,
    kind_of_value,
    label_error,
    number,
)
from chacha.sources.values.dict_reader import DictReader, EmptyCell, flatten, is_grouped
from chacha.sources.values.json_text import MALFORMED

__all__ = ["RecordReader", "pop_path"]

MOST_KINDS = 100_000  # fields whose kinds are kept
CHECKED_RECORDS = 100  # records in which every field named in the settings must occur
NO_KIND = object()
_KINDS = {float: Kind.NUMBER, int: Kind.NUMBER, str: Kind.CATEGORY, bool: Kind.BOOLEAN}
FEWEST_ALIKE = 8  # records with the same fields that are converted column by column


class RecordReader:
    """Turns records into examples by a :class:`TableSpec`; nested objects are groups.

    The first value of a field decides its kind; a later one of another kind is refused.

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
        expected: ExpectedColumns | None = None,
    ) -> None:
        self.spec, self.name = spec, name
        self.reader = reader or DictReader()
        self.expected = expected or ExpectedColumns()
        self.target = spec.target or self.expected.target
        self._unmatched = {name for name in (spec.weight, spec.tag) if name is not None}
        self._unmatched |= {*spec.kinds, *spec.formats, *spec.ignore}  # no record has them yet
        self._records = 0

    def row(self, record: Mapping[str, Any], place: str) -> Example | Bad:
        """Return the example of one record, or why it is bad; a bad one changes nothing."""
        fields = {str(name): value for name, value in record.items()}
        self._check_settings(fields)
        target = self.target or self._last_field(fields)
        value = pop_path(fields, target)
        if is_missing(value):
            message = f"the record has no {target!r}, the target; learning needs it"
            return Bad(place, "no label", message)
        before = self.reader.spec
        new: dict[str, Kind] = {}
        try:
            self.reader.adopt(self.spec)
            label = self._label(target, value)
            weight = pop_path(fields, self.spec.weight) if self.spec.weight else None
            tag = pop_path(fields, self.spec.tag) if self.spec.tag else None
            x = _without(fields, self.spec) if self.spec.ignore or self.spec.drop else fields
            new = self._new_kinds(x)
            self.reader.kinds.update(new)
            example = self.reader.example(x, place)
            if tag is not None:
                example = replace(example, tag=escape(category_name(tag)))
            example = example.with_label(label, None if weight is None else number(weight))
            example.line.encode()
        except (BadExample, UnicodeEncodeError) as raised:
            self.reader.spec = before
            for path in new:
                del self.reader.kinds[path]
            error = _refusal(raised)
            skip = isinstance(error, EmptyCell) and self.spec.missing is Missing.SKIP
            return Bad(place, error.reason, str(error), harmless=skip)
        self.reader.fix_groups(x)
        self.target = self.expected.target = target
        return example

    def _check_settings(self, record: Mapping[str, Any]) -> None:
        """Refuse a setting for a field that the first records lack: it is likely misspelt."""
        if not self._unmatched:
            return
        self._records += 1
        paths = [path for path, _ in flatten(record)]
        self._unmatched -= {p for p in self._unmatched if any(names(p, path) for path in paths)}
        if self._records == CHECKED_RECORDS:
            self.finish()

    def finish(self) -> None:
        """Refuse a setting for a field that no record had; to be called after the last record."""
        if self._unmatched and self._records:
            field = min(self._unmatched)
            message = f"no record has a field {field!r}, which is named in the settings"
            raise ConfigError(f"{self.name}: {message}")

    def rows(self, records: Sequence[tuple[Mapping[str, Any], str]]) -> Iterator[Example | Bad]:
        """Yield what :meth:`row` returns for many records with their places.

        Records with the same fields are converted column by column where that is possible.
        """
        at = 0
        while at < len(records):
            alike = self._alike(records, at)
            try:
                cells = self._columns([r for r, _ in alike]) if len(alike) >= FEWEST_ALIKE else None
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
        """Return the records from `at` on that have the same fields in the same order."""
        if self.target is None:
            return records[at : at + 1]  # it decides the target and the groups
        first = list(records[at][0])
        end = at + 1
        while end < len(records) and list(records[end][0]) == first:
            end += 1
        return records[at:end]

    def _columns(self, records: Sequence[Mapping[str, Any]]) -> RecordColumns | None:
        """Return the records as columns of cells; None if one must be read by itself."""
        spec, reader, first = self.spec, self.reader, records[0]
        roles = spec.weight or spec.tag or spec.positive or spec.ignore or spec.drop
        if roles or self._unmatched or spec.categories is Categories.CODE or reader.spec != spec:
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
        return record_columns(labels, shape, columns, reader)

    def _last_field(self, fields: Mapping[str, Any]) -> str:
        """Return the last field of the first record, if it can be a target."""
        names = list(fields)
        if not names or isinstance(fields[names[-1]], (Mapping, list)):
            present = f"; the fields are: {listed(fields)}" if fields else ""
            raise SourceError(f"{self.name}: name the field to predict (--target){present}")
        return names[-1]

    def _label(self, target: str, value: Any) -> float:
        if self.spec.positive is not None:
            label = 1.0 if class_name(value) == class_name(self.spec.positive) else -1.0
        else:
            try:
                label = number(value)
            except BadExample as error:
                refusal = label_error(error)
                raise BadExample(f"column {target!r}: {refusal}", refusal.reason) from error
        self.reader.check(finite(label, "label"))
        return label

    def _new_kinds(self, x: Mapping[str, Any]) -> dict[str, Kind]:
        """Return the kinds of new fields by their first value; refuse a value of another kind."""
        kinds = self.reader.kinds
        new: dict[str, Kind] = {}
        for path, value in flatten(x):
            if kinds.get(path) is _KINDS.get(type(value), NO_KIND):
                continue  # a short cut for the most common case
            if is_missing(value) or ("nan" in self.spec.nulls and is_nan(value)):
                continue
            fixed = self.spec.kind_of(path)
            if path not in kinds:
                if len(kinds) + len(new) < MOST_KINDS and (kind := fixed or kind_of_value(value)):
                    new[path] = kind
            elif fixed is None and path not in self.reader.texts:
                try:
                    check_kind(kinds[path], value)
                except BadExample as error:
                    raise BadExample(f"column {path!r}: {error}", error.reason) from error
        return new


def pop_path(fields: dict[str, Any], path: str) -> Any:
    """Remove a field and return its value; a path leads into objects.

    >>> fields = {"a": {"b": 1, "c": 2}}
    >>> pop_path(fields, "a.b"), fields
    (1, {'a': {'c': 2}})
    """
    if path in fields:
        return fields.pop(path)
    top, dot, rest = path.partition(".")
    if not dot or not isinstance(fields.get(top), Mapping):
        return None
    inside = dict(fields[top])
    value = pop_path(inside, rest)
    fields[top] = inside
    return value


def _refusal(error: BadExample | UnicodeEncodeError) -> BadExample:
    if isinstance(error, BadExample):
        return error
    message = f"half a surrogate pair, {error.object[error.start]!a}; it encodes no character"
    return BadExample(message, MALFORMED)


def _without(fields: Mapping[str, Any], spec: TableSpec, above: str = "") -> dict[str, Any]:
    """Return the fields that are not ignored."""
    return {
        name: _without(value, spec, f"{above}{name}.") if isinstance(value, Mapping) else value
        for name, value in fields.items()
        if not spec.is_ignored(f"{above}{name}")
    }
