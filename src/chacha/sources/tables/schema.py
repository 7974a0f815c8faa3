"""The schema of a table: its target, its features, and the group of each feature."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from chacha.data.vw_text import DEFAULT_GROUP, escape, hash_name
from chacha.errors import SourceError
from chacha.sources.spec import Kind, TableSpec, listed
from chacha.sources.tables.batch import ExpectedColumns
from chacha.sources.values.dict_reader import DictReader, Grouping

__all__ = ["Schema"]


class Schema:
    """The target and the features of a table, with the group and the name of each feature.

    `kinds` and `categories` are what a file declares; `reader` has what earlier tables decided.
    The columns of a struct are a group.

    >>> schema = Schema(TableSpec(), "t.csv", ["a", "b", "y"], DictReader())
    >>> schema.target, schema.slots
    ('y', {'a': ('a', 'a'), 'b': ('b', 'b')})
    """

    def __init__(
        self,
        spec: TableSpec,
        name: str,
        columns: Sequence[str],
        reader: DictReader,
        *,
        structs: Collection[str] = (),
        kinds: Mapping[str, Kind] | None = None,
        categories: Mapping[str, Sequence[str]] | None = None,
        expected: ExpectedColumns | None = None,
    ) -> None:
        self.spec, self.name, self._reader = spec, name, reader
        expected = expected or ExpectedColumns()
        expected.check(name, columns)
        usable = [column for column in columns if not spec.is_ignored(column)]
        self.target = spec.target or expected.target or (usable or columns)[-1]
        for role in (self.target, spec.weight, spec.tag):
            if role is not None and role not in columns:
                present = f"the columns are: {listed(columns)}"
                raise SourceError(f"{name}: there is no column {role!r}; {present}")
        expected.target = self.target
        spec.check_patterns(name, columns)
        roles = {self.target, spec.weight, spec.tag}
        self.features = [c for c in columns if c not in roles and not spec.is_ignored(c)]
        if not self.features:
            present = f"the columns are: {listed(columns)}"
            raise SourceError(f"{name}: no column is left to be a feature; {present}")
        self.wanted = {*self.features, *roles}
        self.slots = self._slots(structs, expected)
        self.layout: dict[str, list[str]] = {}
        for column, (group, _) in self.slots.items():
            self.layout.setdefault(group, []).append(column)
        self.seeds = {g: 0 if g == DEFAULT_GROUP else hash_name(g, 0) for g in self.layout}
        self.kinds: dict[str, Kind] = {}
        for column in self.features:
            kind = spec.kind_of(column) or (kinds or {}).get(column) or reader.kinds.get(column)
            if kind is not None:
                self.kinds[column] = kind
        self._categories = categories or {}

    def adopt(self) -> None:
        """Hand what is known of the columns to the reader: the table has a good row."""
        self._reader.adopt(self.spec, self._groups)
        self._reader.kinds.update(self.kinds)
        for column in self.features:
            for category in self._categories.get(column, ()):
                self._reader.code(column, category)

    def _slots(
        self, structs: Collection[str], expected: ExpectedColumns
    ) -> dict[str, tuple[str, str]]:
        spec, reader = self.spec, self._reader
        self._groups: dict[str, str] | None = None
        if structs and not spec.groups:
            return {column: self._in_struct(column, structs) for column in self.features}
        if expected.groups is None:
            if reader.grouping is not None and spec.groups_as(reader.spec):
                expected.groups = reader.grouping
            else:
                self._groups = spec.group_columns(self.features)
                expected.groups = Grouping(self.features, spec, self._groups)
        group_of = expected.groups.group_of
        return {column: (group_of(column), escape(column)) for column in self.features}

    def _in_struct(self, column: str, structs: Collection[str]) -> tuple[str, str]:
        for top in structs:
            if column.startswith(f"{top}."):
                return escape(top), escape(column[len(top) + 1 :])
        return DEFAULT_GROUP, escape(column)
