"""Files in LIBSVM's (SVMlight's) format: sparse rows, one per line."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from math import isfinite
from operator import lt
from typing import NamedTuple

import numpy as np

from chacha.data.example import Example, finite
from chacha.data.vw_text import FLOAT32_MAX, show_exactly
from chacha.errors import BadExample, SourceError
from chacha.sources.base import Bad
from chacha.sources.formats.file_source import FileSource
from chacha.sources.formats.index_groups import Entry, IndexGroups, entry
from chacha.sources.reading.byte_stream import TABLE_BYTES
from chacha.sources.reading.lines import line_blocks
from chacha.sources.tables.column_kinds import DECIDING_ROWS, MOST_HELD_ROWS
from chacha.sources.tables.numbers import show_all_exactly, show_labels

__all__ = ["LibsvmFile", "looks_like_libsvm"]

NOT_FINITE = "value not finite"
MOST_CACHED = 1 << 16  # words index:value whose entries are kept
_NUMBER = re.compile(
    r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|[+-]?(?:[iI][nN][fF]|[nN][aA][nN])"
)
_LIBSVM = re.compile(r"[+-]?[\d.]+(?:[eE][+-]?\d+)?(?:\s+(?:qid|\d+):\S+)+\s*(?:#.*)?")


def looks_like_libsvm(line: str) -> bool:
    """Return whether a line may be one of a LIBSVM file.

    >>> looks_like_libsvm("-1 3:0.5 7:1"), looks_like_libsvm("1 |a 3:0.5")
    (True, False)
    """
    return _LIBSVM.fullmatch(line.strip()) is not None


class Line(NamedTuple):
    """A line: its label, its words `index:value`, and its place."""

    label: float
    words: list[str]
    place: str


def split_line(text: str) -> tuple[float, list[str]]:
    """Return the label of a line and its words `index:value`, without `qid` and comment.

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
    """Return what is wrong with the order of the indices, which must ascend; None if nothing.

    >>> disorder([Entry(7, 0, "", None), Entry(3, 0, "", None)]).reason
    'index out of order'
    """
    indices = [entry.at for entry in entries]
    if all(map(lt, indices, indices[1:])):
        return None
    before, after = next((a, b) for a, b in pairwise(indices) if b <= a)
    if after == before:
        return BadExample(f"index {after} occurs twice", "index repeated")
    message = f"index {after} follows {before}; indices must ascend"
    return BadExample(message, "index out of order")


def _is_good(row: Line) -> bool:
    """Return whether a row can become an example."""
    try:
        indices = [index_and_value(word)[0] for word in row.words]
    except BadExample:
        return False
    return all(map(lt, indices, indices[1:]))


def index_and_value(word: str) -> tuple[int, float]:
    """Return the index and the number of a word; refuse a number that is not a float32.

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

    The indices are the names of the features, as in VW. They are divided in order into at most
    `most_groups` groups of equal size, by the largest index of the first 100 good rows; larger
    indices that come later belong to the last group.

    >>> LibsvmFile("a.svm").name
    'a.svm'
    """

    description = "LIBSVM"

    def __iter__(self) -> Iterator[Example | Bad]:
        self._groups: IndexGroups | None = None
        self._entries: dict[str, Entry | BadExample] = {}  # by their words
        number = 0
        held: list[Line | Bad] = []
        good: list[Line] = []  # the first good rows, which decide the groups
        with self.open() as file:
            for lines in line_blocks(file, TABLE_BYTES):
                read = [self._line(line, number + i) for i, line in enumerate(lines, start=1)]
                held += read
                number += len(lines)
                if self._groups is None:
                    good += [row for row in read if isinstance(row, Line) and _is_good(row)]
                    if len(good) < DECIDING_ROWS and len(held) < MOST_HELD_ROWS:
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
        groups, cache = self._groups, self._entries
        if len(cache) > MOST_CACHED:
            cache.clear()
        self._add_entries({word for row in good for word in row.words}.difference(cache))
        labels = iter(zip(*show_labels(np.array([row.label for row in good])), strict=True))
        for row in rows:
            if isinstance(row, Bad):
                yield row
                continue
            text, label = next(labels)
            entries = [cache[word] for word in row.words]
            bad = next((entry for entry in entries if isinstance(entry, BadExample)), None)
            good_ones = [entry for entry in entries if isinstance(entry, Entry)]
            bad = bad or disorder(good_ones)
            if bad is None:
                yield groups.example(good_ones, text, label, row.label, row.place)
            else:
                yield Bad(row.place, bad.reason, str(bad))

    def _decide(self, rows: Sequence[Line]) -> None:
        """Fix the groups: those of the file before, or by the largest index of the first rows."""
        earlier = self.reader.index_groups
        if self._groups is None and earlier is not None and earlier.spec.groups_as(self.spec):
            self._groups = earlier
        if self._groups is None:
            words = (word for row in rows[:DECIDING_ROWS] for word in row.words)
            indices = [index_and_value(word)[0] for word in words]
            first = 1 if min(indices, default=1) else 0  # some files count from 0
            self._groups = IndexGroups(self.spec, first, max(indices, default=1) + 1 - first)
        if rows:
            self.reader.index_groups = self._groups

    def _add_entries(self, new: set[str]) -> None:
        """Add the entries of new words; each distinct word is parsed once."""
        assert self._groups is not None
        words: list[str] = []
        read: list[tuple[int, float]] = []
        for word in new:
            try:
                read.append(index_and_value(word))
                words.append(word)
            except BadExample as error:
                self._entries[word] = error
        indices = np.array([index for index, _ in read], np.int64)
        ids = self._groups.ids(indices)
        hashes = (indices + self._groups.seeds()[ids]) & 0xFFFFFFFF  # VW hashes a number to itself
        texts, values = show_all_exactly(np.array([number for _, number in read], np.float64))
        columns = (words, indices.tolist(), ids.tolist(), texts, values, hashes.tolist())
        for word, index, group, text, value, hashed in zip(*columns, strict=True):
            self._entries[word] = entry(index, group, str(index), text, value, hashed)
