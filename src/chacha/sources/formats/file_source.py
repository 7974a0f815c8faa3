"""What all sources that read bytes have in common."""

from __future__ import annotations

from chacha.sources.reading.byte_stream import ByteReader, open_bytes
from chacha.sources.spec import TableSpec
from chacha.sources.tables.batch import Expected
from chacha.sources.values.dict_reader import DictReader

__all__ = ["FileSource"]


class FileSource:
    """A file, plain or compressed, an address, or standard input.

    `file` is what was opened already, to look at its first line; `reader` holds what was
    decided about columns before, `expected` what other files of the same stream have.

    >>> source = FileSource("-")
    >>> source.name, source.endless
    ('-', True)
    """

    understood = "a file"

    def __init__(
        self,
        path: str,
        spec: TableSpec | None = None,
        file: ByteReader | None = None,
        reader: DictReader | None = None,
        expected: Expected | None = None,
    ) -> None:
        self.name = self._path = path
        self.endless = path == "-"
        self.spec = spec or TableSpec()
        self.reader = reader or DictReader()
        self.expected = expected
        self._file = file

    def open(self) -> ByteReader:
        """The bytes, from the first on."""
        file, self._file = self._file or open_bytes(self._path), None
        return file
