"""Records: dicts that hold their own label, and the files of JSON lines they come in."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from chacha.errors import BadExample, SourceError
from chacha.example import Example, finite
from chacha.sources.base import Bad
from chacha.sources.batch import Expected
from chacha.sources.bytestream import BLOCK
from chacha.sources.cells import kind_of_value, number, word
from chacha.sources.dicts import DictReader, EmptyCell, flatten
from chacha.sources.jsontext import MALFORMED, read_object
from chacha.sources.recordcolumns import Columns, make_columns
from chacha.sources.spec import Categories, Kind, Missing, TableSpec, listed
from chacha.sources.vw import LineFile, read_line
from chacha.vwtext import escape

__all__ = ["JsonLines", "RecordReader"]

MOST_KINDS = 100_000  # fields that are remembered
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
        except (BadExample, UnicodeEncodeError) as found:
            for path in new:
                del self.reader.kinds[path]
            error = _refusal(found)
            skip = isinstance(error, EmptyCell) and self.spec.missing is Missing.SKIP
            return Bad(place, error.reason, str(error), harmless=skip)
        self.reader.settle(x)
        self.target = self.expected.target = target
        return example

    def rows(self, records: Sequence[tuple[Mapping[str, Any], str]]) -> Iterator[Example | Bad]:
        """As :meth:`row`, for many records with their places.

        Those that look alike and hold nothing odd are turned into examples column by column.
        """
        at = 0
        while at < len(records):
            alike = self._alike(records, at)
            cells = self._columns([record for record, _ in alike]) if len(alike) >= LEAST else None
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

    def _columns(self, records: Sequence[Mapping[str, Any]]) -> Columns | None:
        """The records as columns of cells; None if one of them has to be looked at by itself."""
        spec = self.spec
        plain = not (spec.weight or spec.tag or spec.positive or spec.ignore)
        if not plain or spec.categories is Categories.CODE or self.target is None:
            return None
        nested = any(isinstance(value, Mapping) for value in records[0].values())
        if nested:
            flat = [dict(flatten(record)) for record in records]
            paths = list(flat[0])
            if any(list(record) != paths for record in flat):
                return None
            columns = {path: [record[path] for record in flat] for path in paths}
        else:
            columns = {path: [record[path] for record in records] for path in records[0]}
        if self.target not in columns:
            return None
        labels = columns.pop(self.target)
        x = {name: value for name, value in records[0].items() if name != self.target}
        layout = self.reader.layout(x, columns)
        return make_columns(labels, columns, layout, self.reader)

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
        return super().__iter__()

    def row(self, text: str, place: str) -> Example | Bad:
        """The example of one line."""
        return self._records.row(read_object(text), place)

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
