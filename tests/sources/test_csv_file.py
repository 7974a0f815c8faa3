"""CSV files: encodings and ragged rows."""

from __future__ import annotations

from pathlib import Path

import pytest

from chacha import TableSpec, open_source
from chacha.errors import SourceError
from chacha.sources import Bad, CsvDialect
from tests.support.sources import shown, write


def test_encodings_to_the_last_byte(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", "a,y\n1,31\n".encode("utf-16-le")[:-1])
    with pytest.raises(SourceError, match="is not utf-16-le text"):
        shown(path, TableSpec(csv=CsvDialect(encoding="utf-16-le")))
    path = write(tmp_path / "u.csv", b"a,y\n1,31\n")
    with pytest.raises(SourceError, match="does not start with BOM"):
        shown(path, TableSpec(csv=CsvDialect(encoding="utf-16")))
    path = write(tmp_path / "w.csv", b"a,y\n" + b"1,2\n" * 9 + b"\x81,2\n")
    rows: list[object] = []
    with pytest.raises(SourceError, match="is not cp1252 text"):
        rows.extend(open_source(path, TableSpec(csv=CsvDialect(encoding="cp1252"))))
    assert len(rows) == 9, "what came before is read"


def test_ragged_rows_of_an_endless_stream_are_reported_at_once(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", "a,y\n" + "1,2,\n" * 250_000)
    source = iter(open_source(path))
    assert isinstance(next(source), Bad)
