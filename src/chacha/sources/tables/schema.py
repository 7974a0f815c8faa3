"""The schema of a table: its target, its features, and the group of each feature."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from chacha.data.vw_text import DEFAULT_GROUP, escape, hash_name
from chacha.errors import SourceError
from chacha.sources.spec import Kind, TableSpec, listed
from chacha.sources.tables.batch import ExpectedColumns
from chacha.sources.values.dict_reader import DictReader, Grouping, place_in_dicts

__all__ = ["Schema"]


class Schema:
    """The target and the features of a table, with the group and the name of each feature.

    `kinds` and `categories` are what a file declares; `reader` has what earlier tables decided.
    The columns of a struct are a group; then `grouping` is None. Features are in the order of the
    example, which depends on the order of `columns` only if the spec groups them in order.

    >>> schema = Schema(TableSpec(), "t.csv", ["b", "a", "y"], DictReader())
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
        wanted = [c for c in columns if c in roles or not spec.is_ignored(c)]
        self.wanted = dict.fromkeys(spec.in_order(wanted))
        features = [c for c in wanted if c not in roles]
        if not features:
            present = f"the columns are: {listed(columns)}"
            raise SourceError(f"{name}: no column is left to be a feature; {present}")
        self.slots = self._slots(features, structs, expected)
        self.features = list(self.slots)
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
        self._reader.adopt(self.spec, self.grouping)
        self._reader.kinds.update(self.kinds)
        for column in self.features:
            for category in self._categories.get(column, ()):
                self._reader.code(column, category)

    def _slots(
        self, features: Sequence[str], structs: Collection[str], expected: ExpectedColumns
    ) -> dict[str, tuple[str, str]]:
        """Return the group and the name of every feature, in the order of the example."""
        spec, reader = self.spec, self._reader
        self.grouping: Grouping | None = None
        if structs and not spec.groups:
            slots = {column: self._in_struct(column, structs) for column in features}
            if spec.sorts_columns:
                features = sorted(slots, key=lambda name: place_in_dicts(slots[name][0], name))
            return {column: slots[column] for column in features}
        if expected.groups is None:
            same = reader.grouping is not None and spec.groups_as(reader.spec)
            expected.groups = reader.grouping if same else Grouping(features, spec, in_order=True)
        grouping = self.grouping = expected.groups
        assert grouping is not None
        if spec.sorts_columns:
            features = grouping.sorted_names(features)
        return {column: (grouping.group_of(column), escape(column)) for column in features}

    def _in_struct(self, column: str, structs: Collection[str]) -> tuple[str, str]:
        for top in structs:
            if column.startswith(f"{top}."):
                return escape(top), escape(column[len(top) + 1 :])
        return DEFAULT_GROUP, escape(column)
