"""LIBSVM files: numbers and indices."""

from __future__ import annotations

from pathlib import Path

import chacha
from chacha import Example, open_source
from tests.support.sources import bad, good, shown, write


def test_libsvm_numbers_and_indices(tmp_path: Path) -> None:
    text = f"1 1:1\n1 1:0.{'1' * 60}\n1 1:{'9' * 60}\n1 1:\u0663\n1_0 1:1\n1 1:1_0\n1 1:1e-5\n"
    found = shown(write(tmp_path / "a.svm", text))
    assert found[1] == "1.0 |a 1:0.11111111e+0"
    assert [":3: " in found[2], ":4: " in found[3], ":5: " in found[4], ":6: " in found[5]] == [
        True
    ] * 4
    last = list(open_source(tmp_path / "a.svm"))[-1]
    assert isinstance(last, Example)
    assert last.line == "1.0 |a 1:0.00001e+0"
    assert last.groups == chacha.data.parse_line(last.line).groups
    late = write(tmp_path / "b.svm", "1 1:1 20:3\n" * 110 + "1 0:7 20:3\n")
    example = good(open_source(late))[-1]
    assert example.groups == chacha.data.parse_line(example.line).groups
    many = write(tmp_path / "c.svm", "1 1:nan\n" * 5000 + "1 1:1\n")
    assert len(bad(open_source(many))) == 5000
