"""Parquet files of examples, as `chacha convert` writes them."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from chacha import Example, open_source
from chacha.errors import SourceError
from chacha.sources import Bad
from chacha.sources.formats.example_parquet_file import EXAMPLE_SCHEMA
from tests.support.command_line import cli
from tests.support.sources import good, write


def test_features_without_a_name_keep_their_places(tmp_path: Path) -> None:
    text = ["1 |a :1 :0 :3", "1 |a :1 |a :5 :6", "1 |a x :4 | :2"]
    source = write(tmp_path / "s.vw", "\n".join(text) + "\n")
    cli("convert", source, "-o", str(tmp_path / "e.parquet"))
    expected = [row.groups for row in good(open_source(source))]
    assert [row.groups for row in good(open_source(tmp_path / "e.parquet"))] == expected


def test_damaged_parquet_of_examples(tmp_path: Path) -> None:
    source = write(tmp_path / "s.vw", "1 |a x:0.5\n" * 9000)
    path = tmp_path / "e.parquet"
    cli("convert", source, "-o", str(path))
    data = bytearray(path.read_bytes())
    data[200:260] = bytes(60)
    path.write_bytes(data)
    with pytest.raises(SourceError, match=r"e\.parquet: cannot be read after row \d+|not a whole"):
        list(open_source(path))


def test_names_in_parquet_of_examples_are_checked(tmp_path: Path) -> None:
    names = [
        ":abc",
        ":",
        ":\u00b2",
        ":30000000",
        ":-1",
        ": 3",
        ":1_0",
        "a b",
        "a|b",
        "a:1",
        "",
        "x",
    ]
    rows = [
        {"label": 1.0, "weight": 1.0, "initial": 0.0, "tag": None, "features": [("g", [(n, 1.0)])]}
        for n in names
    ]
    path = tmp_path / "e.parquet"
    pq.write_table(pa.Table.from_pylist(rows, EXAMPLE_SCHEMA), path)
    found = list(open_source(path))
    assert [isinstance(row, Example) for row in found] == [False] * 11 + [True]
    assert {row.reason for row in found if isinstance(row, Bad)} == {"malformed"}
