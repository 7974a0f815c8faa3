"""Groups of numbered columns, for LIBSVM files and sparse matrices."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from chacha.data.example import Example, Feature
from chacha.data.vw_text import DEFAULT_GROUP, escape, hash_name
from chacha.sources.spec import GroupBy, TableSpec, parts

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

    The first `fixed` groups are in every example.

    >>> groups = IndexGroups(TableSpec(most_groups=2), first=1, count=4)
    >>> groups.ids(np.array([1, 3, 9])).tolist(), groups.names
    ([0, 1, 1], ['a', 'b'])
    """

    def __init__(self, spec: TableSpec, first: int, count: int, prefix: str = "") -> None:
        self.spec, self._first, self._prefix = spec, first, prefix
        self.names: list[str] = []
        self._size = 0  # indices per group; 0: every index is looked up by its name
        if spec.groups or spec.group_by is not GroupBy.ORDER:
            if prefix:  # all columns exist: a group without any is a mistake
                spec.group_columns([f"{prefix}{i}" for i in range(count)])
            self.names = [escape(group) for group in spec.groups]
        elif prefix and count <= spec.most_groups:
            self._size, self.names = 1, [f"{prefix}{i}" for i in range(count)]
        else:
            self._size, self.names = parts(max(count, 1), spec.most_groups)
        self.fixed = len(self.names)

    def ids(self, indices: NDArray[Any]) -> NDArray[np.intp]:
        """Return the number of the group of each index."""
        if self._size:
            ranges: NDArray[np.intp] = ((indices - self._first) // self._size).astype(np.intp)
            return np.clip(ranges, 0, self.fixed - 1)
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

    def example(self, entries: list[Entry], text: str, label: float, place: str) -> Example:
        """Return the example of some entries; `text` is the label as VW text."""
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
        return Example(groups, body, label, head=f"{text} ", place=place)
