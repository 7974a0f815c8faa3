"""Sparse rows: LIBSVM files and SciPy matrices."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from itertools import pairwise
from operator import lt
from typing import Any, NamedTuple

import numpy as np

from chacha.errors import BadExample, SourceError
from chacha.example import Example, Feature, finite
from chacha.sources.base import Bad
from chacha.sources.bytestream import ByteReader, line_blocks, open_bytes
from chacha.sources.dicts import DictReader
from chacha.sources.spec import GroupBy, TableSpec, parts
from chacha.vwtext import FLOAT32_MAX, hash_name, read_numbers, show_number, show_numbers

__all__ = ["LibsvmFile", "SparseRows", "looks_like_libsvm"]

DECIDING = 100  # rows that decide how many columns there are
ROWS = 1024
_PLAIN = re.compile(r"\s*[^\s:|#]+(?:\s+\d+:-?\d+\.?\d*)*\s*")
_DECIMAL = re.compile(r"-?\d+\.?\d*")
_LIBSVM = re.compile(r"[+-]?[\d.]+(?:[eE][+-]?\d+)?(?:\s+(?:qid|\d+):\S+)+\s*(?:#.*)?")


def looks_like_libsvm(line: str) -> bool:
    """Whether a line may be one of a LIBSVM file.

    >>> looks_like_libsvm("-1 3:0.5 7:1"), looks_like_libsvm("1 |a 3:0.5")
    (True, False)
    """
    return _LIBSVM.fullmatch(line.strip()) is not None


class Line(NamedTuple):
    """A line of a LIBSVM file: its label, its indices, and its values as text."""

    place: str
    label: float
    indices: list[int]
    values: list[str]


def read_line(text: str, place: str) -> Line:
    """One line: `label [qid:N] index:value ... [# comment]`.

    >>> read_line("-1 3:0.50 7:1e-3 # a comment", "a.svm:1").values
    ['0.50', '0.001']
    >>> read_line("1 7:1 3:1", "a.svm:1")
    Traceback (most recent call last):
    chacha.errors.BadExample: index 3 stands after 7; indices must ascend
    """
    if _PLAIN.fullmatch(text):
        words = text.replace(":", " ").split()
        indices, values = [int(word) for word in words[1::2]], words[2::2]
        label = words[0]
    else:
        label, *tokens = text.partition("#")[0].split() or [""]
        indices, values = [], []
        for token in tokens:
            index, colon, value = token.partition(":")
            if index == "qid" and colon:
                continue
            if not index.isdecimal() or not value:
                raise BadExample(f"{token!r:.40} is not index:value", "malformed")
            indices.append(int(index))
            values.append(_value(token, value))
    try:
        number = finite(float(label), "label")
    except ValueError as error:
        raise BadExample(f"the label is {label!r:.40}; it must be a number", "malformed") from error
    if not all(map(lt, indices, indices[1:])):
        for before, after in pairwise(indices):
            if after == before:
                raise BadExample(f"index {after} stands twice", "index repeated")
            if after < before:
                message = f"index {after} stands after {before}; indices must ascend"
                raise BadExample(message, "index out of order")
    return Line(place, number, indices, values)


def _value(token: str, value: str) -> str:
    """A value as VW reads it: plain ones as they stand, others written anew."""
    if _DECIMAL.fullmatch(value):
        return value
    try:
        text, read = show_number(float(value))
    except ValueError as error:
        raise BadExample(f"{token!r:.40} has no number after ':'", "malformed") from error
    if not -FLOAT32_MAX <= read <= FLOAT32_MAX:
        raise BadExample(f"{token!r:.40} has no finite value", "value not finite")
    return text


class LibsvmFile:
    """A file in LIBSVM's (SVMlight's) format.

    The indices are the names of the features, as they are for VW. They are parted in order
    into at most `most_groups` groups by the largest one in the first 100 rows; larger ones
    that come later belong to the last group.

    >>> LibsvmFile("a.svm").name
    'a.svm'
    """

    understood = "LIBSVM"

    def __init__(
        self,
        path: str,
        spec: TableSpec | None = None,
        file: ByteReader | None = None,
        reader: DictReader | None = None,
    ) -> None:
        self.name = path
        self.endless = path == "-"
        self.spec = spec or TableSpec()
        self._file = file
        self._check = (reader or DictReader()).check
        self._ranges: Ranges | None = None

    def __iter__(self) -> Iterator[Example | Bad]:
        file, self._file = self._file or open_bytes(self.name), None
        self._ranges = None
        number = 0
        held: list[Line | Bad] = []
        with file:
            for lines in line_blocks(file):
                held += [self._line(line, number + i) for i, line in enumerate(lines, start=1)]
                number += len(lines)
                if self._ranges is None and len(held) < DECIDING:
                    continue
                yield from self._examples(held)
                held = []
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
            read = read_line(text, place)
            self._check(read.label)
        except UnicodeDecodeError as error:
            return Bad(place, "not UTF-8", f"the line is not UTF-8 text ({error.reason})")
        except BadExample as error:
            return Bad(place, error.reason, str(error))
        return read

    def _examples(self, rows: Sequence[Line | Bad]) -> Iterator[Example | Bad]:
        if self._ranges is None:
            indices = [i for row in rows[:DECIDING] if isinstance(row, Line) for i in row.indices]
            first = 1 if min(indices, default=1) else 0  # some files count from 0
            self._ranges = ranges(self.spec, first, max(indices, default=1) + 1 - first)
        group_of, known = self._ranges
        texts = [text for row in rows if isinstance(row, Line) for text in row.values]
        reads: list[float] = read_numbers(texts).tolist()
        at = 0
        for row in rows:
            if isinstance(row, Bad):
                yield row
                continue
            mine = slice(at, at + len(row.values))
            at = mine.stop
            names = [str(index) for index in row.indices]
            groups = [group_of(index) for index in row.indices]
            yield assemble(row.label, names, row.values, reads[mine], groups, row.place, known)


class Ranges(NamedTuple):
    """Which group an index belongs to, and the groups that are known from the start."""

    group_of: Callable[[int], str]
    known: Sequence[str] = ()


def ranges(spec: TableSpec, first: int, count: int, own_names: bool = False) -> Ranges:
    """Groups for `count` indices from `first` on: ranges of equal size, or as the spec says.

    >>> ranges(TableSpec(most_groups=2), first=1, count=4).group_of(3)
    'b'
    """
    prefix = "x" if own_names else ""
    if spec.groups or spec.group_by is not GroupBy.ORDER:
        if own_names:  # the columns are known: names that match none of them are mistakes
            spec.group_columns([f"x{i}" for i in range(count)])
        return Ranges(lru_cache(1 << 16)(lambda index: spec.late_group(f"{prefix}{index}") or ""))
    if own_names and count <= spec.most_groups:
        return Ranges(lambda index: f"x{index}", [f"x{i}" for i in range(count)])
    size, labels = parts(max(count, 1), spec.most_groups)
    last = len(labels) - 1
    return Ranges(lambda index: labels[min((index - first) // size, last)], labels)


def assemble(
    label: float,
    names: Sequence[str],
    texts: Sequence[str],
    values: Sequence[float],
    groups: Sequence[str],
    place: str,
    known: Sequence[str] = (),
) -> Example:
    """An example of features that come with their groups; `known` ones stand in every example.

    >>> assemble(1.0, ["3", "7"], ["0.5", "1"], [0.5, 1.0], ["a", "b"], "a.svm:1").line
    '1.0 |a 3:0.5 |b 7'
    """
    made: dict[str, list[Feature]] = {group: [] for group in known}
    words: dict[str, list[str]] = {group: [f"|{group}"] for group in known}
    seed, before = 0, ""
    for name, text, value, group in zip(names, texts, values, groups, strict=True):
        if group != before:
            seed, before = hash_name(group, 0), group
            if group not in made:
                made[group], words[group] = [], [f"|{group}"]
        if value:
            words[group].append(name if value == 1.0 else f"{name}:{text}")
            made[group].append(Feature(name, value, hash_name(name, seed)))
    body = " ".join(word for group in words.values() for word in group) or "|"
    return Example(made, body, place=place).with_label(label)


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
        self._matrix, self._labels = matrix.tocsr(), labels
        self._check = (reader or DictReader()).check
        self._matrix.sum_duplicates()

    def __iter__(self) -> Iterator[Example | Bad]:
        group_of, known = ranges(self.spec, 0, self._matrix.shape[1], own_names=True)
        for start in range(0, self._matrix.shape[0], ROWS):
            part = self._matrix[start : start + ROWS]
            texts, reads = show_numbers(part.data.astype(np.float64))
            indices, ends = part.indices.tolist(), part.indptr.tolist()
            for i in range(part.shape[0]):
                mine = slice(ends[i], ends[i + 1])
                place = f"{self.name}: row {start + i + 1}"
                try:
                    label = finite(self._labels[start + i], "label")
                    self._check(label)
                    names = [f"x{index}" for index in indices[mine]]
                    _all_finite(names, reads[mine])
                except BadExample as error:
                    yield Bad(place, error.reason, str(error))
                    continue
                groups = [group_of(index) for index in indices[mine]]
                yield assemble(label, names, texts[mine], reads[mine], groups, place, known)


def _all_finite(names: Sequence[str], values: Sequence[float]) -> None:
    for name, value in zip(names, values, strict=True):
        if not -FLOAT32_MAX <= value <= FLOAT32_MAX:
            message = f"column {name!r}: the cell is {value}; values must be finite"
            raise BadExample(message, "value not finite")
