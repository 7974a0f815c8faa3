"""Several files as one stream."""

from __future__ import annotations

import glob
import os
from collections.abc import Callable, Iterator, Sequence
from typing import cast

from chacha.data.example import Example
from chacha.errors import BadExample, SourceError
from chacha.sources.base import Bad, Source, is_table
from chacha.sources.tables.batch import ExpectedColumns
from chacha.sources.tables.blocks import Block, blocks_of

__all__ = ["Files", "expand", "renamed"]


def expand(pattern: str) -> list[str]:
    """Return the files that a name or a pattern means, sorted by name.

    >>> expand("clicks.vw")
    ['clicks.vw']
    >>> expand("no-such-*.vw")
    Traceback (most recent call last):
    chacha.errors.SourceError: no-such-*.vw: no file matches
    """
    if "://" in pattern or os.path.exists(pattern) or not glob.has_magic(pattern):
        return [pattern]
    files = sorted(path for path in glob.glob(pattern, recursive=True) if not os.path.isdir(path))
    if not files:
        raise SourceError(f"{pattern}: no file matches")
    return files


def renamed(source: Source, name: str) -> Source:
    """Return the source under the name that the user gave it.

    >>> from chacha.sources.formats.vw_file import VWFile
    >>> renamed(VWFile("cache/7.vw"), "openml:7").name
    'openml:7'
    """
    source.name = name  # type: ignore[misc]
    return source


class Files:
    """Files of any formats, one after the other, as one stream.

    What the first file decides (groups, target, kinds of columns) holds for all. A table that
    lacks a column of the first is skipped as one bad row.

    >>> Files(["a.vw", "b.vw"], lambda path, expected: ...)
    Traceback (most recent call last):
    chacha.errors.SourceError: a.vw: no such file
    """

    endless = False

    def __init__(
        self, paths: Sequence[str], open_one: Callable[[str, ExpectedColumns], Source]
    ) -> None:
        self.paths = list(paths)
        self.name = self.paths[0] + (f" and {len(paths) - 1} more" if len(paths) > 1 else "")
        self.first: Source | None = None  # asked for its description by a dry run
        self._open = open_one

        for path in self.paths:
            if "://" not in path and not os.path.exists(path):
                raise SourceError(f"{path}: no such file")

    @property
    def tabular(self) -> bool:
        """Whether the first file is a table."""
        return self.first is not None and is_table(self.first)

    def __iter__(self) -> Iterator[Example | Bad]:
        return cast("Iterator[Example | Bad]", self._items(iter))

    def blocks(self) -> Iterator[Block | Example | Bad]:
        """Yield the rows in blocks, of files that have them."""
        return self._items(blocks_of)

    def _items(
        self, items: Callable[[Source], Iterator[Block | Example | Bad]]
    ) -> Iterator[Block | Example | Bad]:
        expected = ExpectedColumns()
        self.first = None
        for path in self.paths:
            source = self._open(path, expected)
            self.first = self.first or source
            try:
                yield from items(source)
            except BadExample as error:
                if error.reason != "column missing":
                    raise
                yield Bad(path, error.reason, f"the file is left out: {error}")
