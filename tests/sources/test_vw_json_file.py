"""Files of VW's JSON."""

from __future__ import annotations

from pathlib import Path

import chacha
from chacha import open_source
from tests.support.sources import good, write


def test_a_line_without_features_reads_back_as_it_is(tmp_path: Path) -> None:
    path = write(tmp_path / "a.json", '{"_label": 0.5}\n{"_label": 1, "a": {"x": 1}}\n')
    for example in good(open_source(path)):
        assert chacha.data.parse_line(example.line).groups == example.groups
