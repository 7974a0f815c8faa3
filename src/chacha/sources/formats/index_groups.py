"""Groups of numbered columns, for LIBSVM files and sparse matrices."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from chacha.data.example import Example, Feature
from chacha.data.vw_text import DEFAULT_GROUP, escape, hash_name
from chacha.sources.spec import MOST_GROUPS, GroupBy, TableSpec, group_labels, parts

__all__ = ["Entry", "IndexGroups", "entry"]


class Entry(NamedTuple):
    """One index:value of a row: its group by number, its VW text, and its feature; None for 0."""

    at: int
    group: int
    word: str
    feature: Feature | None


def entry(index: int, group: int, name: str, text: str, value: float, hashed: int) -> Entry:
    """Return an entry; VW ignores zeros, and the value 1 need not be written.

    >>> entry(3, 0, "x3", "1.0", 1.0, 7).word
    'x3'
    """
    if value == 0.0:
        return Entry(index, group, "", None)
    word = name if value == 1.0 else f"{name}:{text}"
    return Entry(index, group, word, Feature(name, value, hashed))


class IndexGroups:
    """The group of every column index: ranges of equal size, or as the spec says.

    With a `prefix` the columns have names, and are grouped by name as those of a table; this too
    gives ranges. The first `fixed` groups are in every example.

    >>> groups = IndexGroups(TableSpec(most_groups=2), first=1, count=4)
    >>> groups.ids(np.array([1, 3, 9])).tolist(), groups.names
    ([0, 1, 1], ['a', 'b'])
    """

    def __init__(self, spec: TableSpec, first: int, count: int, prefix: str = "") -> None:
        self.spec, self._first, self._prefix = spec, first, prefix
        self.names: list[str] = []
        self._share: tuple[int, int] | None = None  # groups per indices; None: looked up by name
        by_name = bool(prefix) and spec.grouped_by is GroupBy.NAME
        most = spec.group_limit if by_name else spec.most_groups or MOST_GROUPS
        if spec.groups or spec.grouped_by in (GroupBy.COLUMN, GroupBy.PREFIX):
            if prefix:  # all columns exist: a group without any is a mistake
                spec.group_columns([f"{prefix}{i}" for i in range(count)])
            self.names = [escape(group) for group in spec.groups]
        elif prefix and count <= most:
            self._share, self.names = (1, 1), [f"{prefix}{i}" for i in range(count)]
        elif by_name:
            self._share, self.names = (most, count), group_labels(most)
        else:
            size, self.names = parts(max(count, 1), most)
            self._share = (1, size)
        self.fixed = len(self.names)

    def ids(self, indices: NDArray[Any]) -> NDArray[np.intp]:
        """Return the number of the group of each index."""
        if self._share is not None:
            groups, size = self._share
            ranges = (indices.astype(np.int64) - self._first) * groups // size
            return np.clip(ranges, 0, self.fixed - 1).astype(np.intp)
        number = {name: i for i, name in enumerate(self.names)}
        ids: list[int] = []
        for index in indices.tolist():
            name = self.spec.late_group(f"{self._prefix}{index}") or ""
            ids.append(number.setdefault(name, len(number)))
        self.names = list(number)
        return np.array(ids, np.intp)

    def seeds(self) -> NDArray[np.int64]:
        """Return the hashes of the groups' names."""
        return np.array([hash_name(name, 0) for name in self.names] or [0], np.int64)

    def example(
        self, entries: list[Entry], text: str, label: float, target: float, place: str
    ) -> Example:
        """Return the example of some entries; `text` is the label as VW text, read as `label`."""
        runs: dict[int, tuple[list[str], list[Feature]]] = {}
        for group in range(self.fixed):
            runs[group] = ([f"|{self.names[group]}"], [])
        for _, group, word, feature in entries:
            if feature is not None:
                if group not in runs:
                    runs[group] = ([f"|{self.names[group]}"], [])
                words, features = runs[group]
                words.append(word)
                features.append(feature)
        body = " ".join(word for words, _ in runs.values() for word in words) or "|"
        groups = {self.names[group]: features for group, (_, features) in runs.items()}
        groups = groups or {DEFAULT_GROUP: []}  # as VW reads a bare '|'
        return Example(groups, body, label, head=f"{text} ", place=place, target=target)
