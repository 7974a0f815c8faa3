"""Sparse rows: LIBSVM files and SciPy matrices."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from math import isfinite
from operator import lt
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from chacha.data.example import Example, Feature, finite
from chacha.data.vw_text import (
    DEFAULT_GROUP,
    FLOAT32_MAX,
    escape,
    hash_name,
    show_all_exactly,
    show_exactly,
)
from chacha.errors import BadExample, SourceError
from chacha.sources.base import Bad
from chacha.sources.formats.file_source import FileSource
from chacha.sources.grouping import parts
from chacha.sources.reading.byte_stream import BLOCK
from chacha.sources.reading.lines import line_blocks
from chacha.sources.spec import GroupBy, TableSpec
from chacha.sources.values.cells import (
    LARGEST_INTEGER,
    class_name,
    label_trouble,
    number,
    too_large,
)
from chacha.sources.values.dict_reader import DictReader

__all__ = ["LibsvmFile", "SparseRows", "looks_like_libsvm"]

NOT_FINITE = "value not finite"
DECIDING = 100  # rows that decide how many columns there are
ROWS = 1024
MOST_KNOWN = 1 << 16
MOST_HELD = 100_000  # rows that are waited for at most
_NUMBER = re.compile(
    r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|[+-]?(?:[iI][nN][fF]|[nN][aA][nN])"
)
_LIBSVM = re.compile(r"[+-]?[\d.]+(?:[eE][+-]?\d+)?(?:\s+(?:qid|\d+):\S+)+\s*(?:#.*)?")


def looks_like_libsvm(line: str) -> bool:
    """Whether a line may be one of a LIBSVM file.

    >>> looks_like_libsvm("-1 3:0.5 7:1"), looks_like_libsvm("1 |a 3:0.5")
    (True, False)
    """
    return _LIBSVM.fullmatch(line.strip()) is not None


class Line(NamedTuple):
    """A line: its label, its words `index:value`, and where it stands."""

    label: float
    words: list[str]
    place: str


class Entry(NamedTuple):
    """One index:value of a row: its group by number, and what it becomes; nothing if it is 0."""

    at: int
    group: int
    word: str
    feature: Feature | None


def split_line(text: str) -> tuple[float, list[str]]:
    """The label of a line and its words `index:value`, without `qid` and comment.

    >>> split_line("-1 qid:7 3:0.50 # a comment")
    (-1.0, ['3:0.50'])
    """
    label, *words = text.partition("#")[0].split() or [""]
    if words and words[0].startswith("qid:"):
        del words[0]
    if not _NUMBER.fullmatch(label):
        raise BadExample(f"the label is {label!r:.40}; it must be a number", "malformed")
    return finite(float(label), "label"), words


def disorder(entries: Sequence[Entry]) -> BadExample | None:
    """What is wrong with the order of the indices: they must ascend.

    >>> disorder([Entry(7, 0, "", None), Entry(3, 0, "", None)]).reason
    'index out of order'
    """
    indices = [entry.at for entry in entries]
    if all(map(lt, indices, indices[1:])):
        return None
    before, after = next((a, b) for a, b in pairwise(indices) if b <= a)
    if after == before:
        return BadExample(f"index {after} stands twice", "index repeated")
    message = f"index {after} stands after {before}; indices must ascend"
    return BadExample(message, "index out of order")


def _is_good(row: Line) -> bool:
    """Whether nothing is wrong with a row."""
    try:
        indices = [index_and_value(word)[0] for word in row.words]
    except BadExample:
        return False
    return all(map(lt, indices, indices[1:]))


def index_and_value(word: str) -> tuple[int, float]:
    """The index and the number, if a float32 can hold it.

    >>> index_and_value("3:0.50"), index_and_value("3:5e-1")
    ((3, 0.5), (3, 0.5))
    """
    index, _, value = word.partition(":")
    if not index.isdecimal() or not index.isascii() or not value:
        raise BadExample(f"{word!r:.40} is not index:value", "malformed")
    if len(index) > 18:
        raise BadExample(f"{word!r:.40} has an index beyond 10^18", "malformed")
    if not _NUMBER.fullmatch(value):
        raise BadExample(f"{word!r:.40} has no number after ':'", "malformed")
    number = float(value)
    if not -FLOAT32_MAX <= number <= FLOAT32_MAX and not isfinite(show_exactly(number)[1]):
        raise BadExample(f"{word!r:.40} has no finite value", NOT_FINITE)
    return int(index), number


class LibsvmFile(FileSource):
    """A file in LIBSVM's (SVMlight's) format.

    The indices are the names of the features, as they are for VW. They are parted in order
    into at most `most_groups` groups by the largest one in the first 100 rows; larger ones
    that come later belong to the last group.

    >>> LibsvmFile("a.svm").name
    'a.svm'
    """

    understood = "LIBSVM"

    def __iter__(self) -> Iterator[Example | Bad]:
        self._groups: Ranges | None = None
        self._known: dict[str, Entry | BadExample] = {}  # words that were seen
        number = 0
        held: list[Line | Bad] = []
        good: list[Line] = []  # the first rows, by which the groups are decided
        with self.open() as file:
            for lines in line_blocks(file, BLOCK):
                read = [self._line(line, number + i) for i, line in enumerate(lines, start=1)]
                held += read
                number += len(lines)
                if self._groups is None:
                    good += [row for row in read if isinstance(row, Line) and _is_good(row)]
                    if len(good) < DECIDING and len(held) < MOST_HELD:
                        continue
                    self._decide(good)
                yield from self._examples(held)
                held = []
            self._decide(good)
            yield from self._examples(held)
            yield from file.end(f"after line {number}")
        if not number:
            raise SourceError(f"{self.name}: is empty; there is nothing to learn from")

    def _line(self, line: bytes, number: int) -> Line | Bad:
        place = f"{self.name}:{number}"
        try:
            text = line.decode().strip("\ufeff \r\n")
            if not text or text.startswith("#"):
                return Bad(place, "empty line", "the line is empty", harmless=True)
            label, words = split_line(text)
            self.reader.check(label)
        except UnicodeDecodeError as error:
            return Bad(place, "not UTF-8", f"the line is not UTF-8 text ({error.reason})")
        except BadExample as error:
            return Bad(place, error.reason, str(error))
        return Line(label, words, place)

    def _examples(self, rows: Sequence[Line | Bad]) -> Iterator[Example | Bad]:
        assert self._groups is not None
        good = [row for row in rows if isinstance(row, Line)]
        groups, known = self._groups, self._known
        if len(known) > MOST_KNOWN:
            known.clear()
        self._learn({word for row in good for word in row.words}.difference(known))
        labels = iter(zip(*show_all_exactly(np.array([row.label for row in good])), strict=True))
        for row in rows:
            if isinstance(row, Bad):
                yield row
                continue
            text, label = next(labels)
            entries = [known[word] for word in row.words]
            bad = next((entry for entry in entries if isinstance(entry, BadExample)), None)
            good_ones = [entry for entry in entries if isinstance(entry, Entry)]
            bad = bad or disorder(good_ones)
            if bad is None:
                yield groups.example(good_ones, text, label, row.place)
            else:
                yield Bad(row.place, bad.reason, str(bad))

    def _decide(self, rows: Sequence[Line]) -> None:
        """The groups, by the largest index of the first good rows, or as the file before has."""
        known = self.reader.ranges
        if self._groups is None and known is not None and known.spec.groups_as(self.spec):
            self._groups = known
        if self._groups is None:
            few = [index_and_value(word)[0] for row in rows[:DECIDING] for word in row.words]
            first = 1 if min(few, default=1) else 0  # some files count from 0
            self._groups = Ranges(self.spec, first, max(few, default=1) + 1 - first)
        if rows:
            self.reader.ranges = self._groups

    def _learn(self, new: set[str]) -> None:
        """What words become that are new: each distinct one is looked at once."""
        assert self._groups is not None
        words: list[str] = []
        read: list[tuple[int, float]] = []
        for word in new:
            try:
                read.append(index_and_value(word))
                words.append(word)
            except BadExample as error:
                self._known[word] = error
        indices = np.array([index for index, _ in read], np.int64)
        ids = self._groups.ids(indices)
        hashes = (indices + self._groups.seeds()[ids]) & 0xFFFFFFFF  # a number stands for itself
        texts, values = show_all_exactly(np.array([number for _, number in read], np.float64))
        made = zip(
            words, indices.tolist(), ids.tolist(), texts, values, hashes.tolist(), strict=True
        )
        for word, index, group, text, value, hashed in made:
            self._known[word] = entry(index, group, str(index), text, value, hashed)


def entry(index: int, group: int, name: str, text: str, value: float, hashed: int) -> Entry:
    """An entry; VW leaves zeros out, and 1 need not be written.

    >>> entry(3, 0, "x3", "1.0", 1.0, 7).word
    'x3'
    """
    if value == 0.0:
        return Entry(index, group, "", None)
    word = name if value == 1.0 else f"{name}:{text}"
    return Entry(index, group, word, Feature(name, value, hashed))


class Ranges:
    """Which group an index belongs to: ranges of equal size, or as the spec says.

    The first `known` groups stand in every example.

    >>> groups = Ranges(TableSpec(most_groups=2), first=1, count=4)
    >>> groups.ids(np.array([1, 3, 9])).tolist(), groups.names
    ([0, 1, 1], ['a', 'b'])
    """

    def __init__(self, spec: TableSpec, first: int, count: int, prefix: str = "") -> None:
        self.spec, self._first, self._prefix = spec, first, prefix
        self.names: list[str] = []
        self._size = 0  # 0: every index is asked about
        if spec.groups or spec.group_by is not GroupBy.ORDER:
            if prefix:  # the columns are known: a group that matches none of them is a mistake
                spec.group_columns([f"{prefix}{i}" for i in range(count)])
            self.names = [escape(group) for group in spec.groups]
        elif prefix and count <= spec.most_groups:
            self._size, self.names = 1, [f"{prefix}{i}" for i in range(count)]
        else:
            self._size, self.names = parts(max(count, 1), spec.most_groups)
        self.known = len(self.names)

    def ids(self, indices: NDArray[Any]) -> NDArray[np.intp]:
        """The number of the group of each index."""
        if self._size:
            ranges: NDArray[np.intp] = ((indices - self._first) // self._size).astype(np.intp)
            return np.clip(ranges, 0, self.known - 1)
        number = {name: i for i, name in enumerate(self.names)}
        found: list[int] = []
        for index in indices.tolist():
            name = self.spec.late_group(f"{self._prefix}{index}") or ""
            found.append(number.setdefault(name, len(number)))
        self.names = list(number)
        return np.array(found, np.intp)

    def seeds(self) -> NDArray[np.int64]:
        """The hashes of the groups' names."""
        return np.array([hash_name(name, 0) for name in self.names] or [0], np.int64)

    def example(self, entries: list[Entry], text: str, label: float, place: str) -> Example:
        """The example of some entries; `text` is the label as it is written."""
        made: dict[int, tuple[list[str], list[Feature]]] = {}
        for group in range(self.known):
            made[group] = ([f"|{self.names[group]}"], [])
        for _, group, word, feature in entries:
            if feature is not None:
                if group not in made:
                    made[group] = ([f"|{self.names[group]}"], [])
                words, features = made[group]
                words.append(word)
                features.append(feature)
        body = " ".join(word for words, _ in made.values() for word in words) or "|"
        groups = {self.names[group]: features for group, (_, features) in made.items()}
        groups = groups or {DEFAULT_GROUP: []}  # as VW reads a bare '|'
        return Example(groups, body, label, head=f"{text} ", place=place)


class SparseRows:
    """The rows of a SciPy sparse matrix, with their labels.

    The columns are named x0, x1, ... as those of a NumPy array are.

    >>> from scipy.sparse import csr_array
    >>> [e.line for e in SparseRows(csr_array([[0.0, 2.5]]), [1.0])]
    ['1.0 |x0 |x1 x1:2.5']
    """

    endless = False
    understood = "SciPy sparse matrix"

    def __init__(
        self,
        matrix: Any,
        labels: Sequence[float] | Any,
        spec: TableSpec | None = None,
        reader: DictReader | None = None,
        name: str = "matrix",
    ) -> None:
        self.name = name
        self.spec = spec or TableSpec()
        self._matrix, self._labels = matrix.tocsr(copy=True), labels
        self._check = (reader or DictReader()).check
        self._matrix.sum_duplicates()

    def __iter__(self) -> Iterator[Example | Bad]:
        groups = Ranges(self.spec, 0, self._matrix.shape[1], prefix="x")
        for start in range(0, self._matrix.shape[0], ROWS):
            part = self._matrix[start : start + ROWS]
            entries = _entries(part, groups)
            places = [f"{self.name}: row {start + i + 1}" for i in range(part.shape[0])]
            labels = [self._label(start + i) for i in range(part.shape[0])]
            known = [0.0 if isinstance(label, BadExample) else label for label in labels]
            texts, reads = show_all_exactly(np.array(known, np.float64))
            for i, (first, last) in enumerate(pairwise(part.indptr.tolist())):
                mine = entries[first:last]
                trouble = next((e for e in (labels[i], *mine) if isinstance(e, BadExample)), None)
                if trouble is None:
                    good = cast("list[Entry]", mine)
                    yield groups.example(good, texts[i], reads[i], places[i])
                else:
                    yield Bad(places[i], trouble.reason, str(trouble))

    def _label(self, row: int) -> float | BadExample:
        value, positive = self._labels[row], self.spec.positive
        if value is None:
            return BadExample("the row has no label; learning needs one", "no label")
        try:
            if positive is not None:
                label = 1.0 if class_name(value) == class_name(positive) else -1.0
            else:
                label = finite(number(value), "label")
            self._check(label)
        except BadExample as error:
            return label_trouble(error)
        return label


def _entries(part: Any, groups: Ranges) -> list[Entry | BadExample]:
    """The entries of some rows of a matrix, one after the other."""
    columns, which = np.unique(part.indices, return_inverse=True)
    ids = groups.ids(columns)
    seeds: list[int] = groups.seeds()[ids].tolist()
    names = [f"x{index}" for index in columns.tolist()]
    hashes = [hash_name(name, seed) for name, seed in zip(names, seeds, strict=True)]
    numbers: list[int] = ids.tolist()
    values, value_of = np.unique(part.data.astype(np.float64), return_inverse=True)
    texts, reads = show_all_exactly(values)
    pairs, pair_of = np.unique(which * len(values) + value_of, return_inverse=True)
    found: list[Entry | BadExample] = []  # each distinct pair of column and value once
    for pair in pairs.tolist():
        j, v = divmod(pair, len(values))
        if part.dtype.kind in "iu" and abs(values[v]) > LARGEST_INTEGER:
            error = too_large(int(values[v]))
            found.append(BadExample(f"column {names[j]!r}: {error}", error.reason))
        elif -FLOAT32_MAX <= reads[v] <= FLOAT32_MAX:
            found.append(entry(j, numbers[j], names[j], texts[v], reads[v], hashes[j]))
        else:
            message = f"column {names[j]!r}: the cell is {reads[v]}; values must be finite"
            found.append(BadExample(message, "value not finite"))
    return [found[i] for i in pair_of.tolist()]
