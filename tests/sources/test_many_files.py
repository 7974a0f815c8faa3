"""Several files as one stream: the first decides for all."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from chacha import ChaCha, Example, NativePool, OnBad, open_source
from chacha.errors import SourceError
from chacha.sources import Bad, open_files
from tests.support.command_line import cli
from tests.support.sources import CODE, good, write


def test_several_files_share_what_the_first_decides(tmp_path: Path) -> None:
    first = write(tmp_path / "1.csv", "a,y\nu,1\nv,2\n")
    second = write(tmp_path / "2.csv", "a,y\n5,1\nv,2\n")
    lines = [row.line for row in good(open_files([first, second]))]
    assert lines[2:] == ["1.0 |a a=5", "2.0 |a a=v"]
    coded = [row.line for row in good(open_files([first, second], CODE))]
    assert coded == ["1.0 |a", "2.0 |a a", "1.0 |a a:2.0", "2.0 |a a"]
    done = cli("convert", first, second, "-o", "-")
    assert done.stdout.splitlines() == lines
    svm = [write(tmp_path / "1.svm", "1 1:1 20:1\n" * 9), write(tmp_path / "2.svm", "1 5:1\n")]
    groups = [row.groups for row in good(open_files(svm))]
    assert [f.name for f in groups[-1]["c"]] == ["5"], "20 indices in ten groups, as in the first"
    with pytest.raises(SourceError, match=r"gone\.csv: no such file"):
        open_files([first, str(tmp_path / "gone.csv")])


def _what(row: Example | Bad) -> str:
    """A row without its place."""
    return row.line if isinstance(row, Example) else row.message


def _history(*parts: str, limits: tuple[int | None, ...] = (None, None)) -> tuple[Any, ...]:
    model = ChaCha.paper(pool=NativePool(), keep_decisions=10**6)
    predictions = [
        step.prediction
        for part, limit in zip(parts, limits, strict=False)
        for step in model.steps(model.open(part), limit=limit, on_bad=OnBad.SKIP)
    ]
    return predictions, [d.to_json() for d in model.decisions], model.reader.kinds


def test_a_stream_in_two_parts_is_one_stream(tmp_path: Path) -> None:
    svm = [f"{i % 3} 1:{i % 5} {20 if i < 100 else 20 + i}:1\n" for i in range(200)]
    csv = [f"{i},{'' if i < 150 else ['true', '5', 'x'][i % 3]},{i % 7}\n" for i in range(300)]
    for name, head, rows, cut in (("s.svm", "", svm, 120), ("s.csv", "a,l,y\n", csv, 132)):
        whole = write(tmp_path / name, head + "".join(rows))
        rest = write(tmp_path / f"rest-{name}", head + "".join(rows[cut:]))
        first = write(tmp_path / f"first-{name}", head + "".join(rows[:cut]))
        assert _history(whole) == _history(first, rest)
        assert _history(whole) == _history(whole, rest, limits=(cut, None))
        shared, alone = open_files([first, rest]), open_source(whole)
        assert [_what(row) for row in shared] == [_what(row) for row in alone]
