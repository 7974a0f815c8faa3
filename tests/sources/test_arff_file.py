"""ARFF files: sparse rows, quotes, long cells."""

from __future__ import annotations

from pathlib import Path

from chacha import open_source
from tests.support.sources import good, shown, write


def test_sparse_arff_and_quotes(tmp_path: Path) -> None:
    head = "@relation r\n@attribute a numeric\n@attribute c {'a}b',' q ',z}\n@attribute s string\n"
    rows = "{1 'a}b', 3 2}\n{1 ' q ',3 1}\n{0 1,0 2}\n{3 3} junk\n1,' q ',17,3\n{0 2}, {5}\n"
    path = write(tmp_path / "a.arff", f"{head}@attribute y numeric\n@data\n{rows}")
    lines = shown(path)
    assert lines[0] == "2.0 |a |c c=a}b |s"
    assert lines[1] == "1.0 |a |c c=%20q%20 |s"
    assert "index 0 occurs twice" in lines[2]
    assert "'{' without '}'" in lines[3]
    assert lines[4] == "3.0 |a a |c c=%20q%20 |s s=17", "a string is not a number"
    assert lines[5] == "0.0 |a a:2.0 |c c=a}b |s"


def test_long_cells_and_rows_do_not_take_long(tmp_path: Path) -> None:
    head = "@relation r\n@attribute a string\n@attribute b string\n@attribute y numeric\n@data\n"
    path = write(tmp_path / "a.arff", f"{head}'x',a{' ' * 60_000}b,2\n")
    assert len(shown(path)) == 1
    wide = "@relation r\n" + "".join(f"@attribute a{i} numeric\n" for i in range(4000))
    row = ", ".join(f"{i} 2" for i in range(4000))
    path = write(tmp_path / "b.arff", f"{wide}@data\n{{{row}}}\n")
    assert len(good(open_source(path))) == 1
