"""Records: kinds of fields, and records read together or alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from chacha import TableSpec
from chacha.errors import ConfigError
from chacha.sources import Kind
from tests.support.sources import shown, write


def test_a_field_of_another_kind_is_refused() -> None:
    rows = [{"a": "u", "y": 1}, {"a": 2, "y": 1}, {"a": True, "y": 1}, {"a": [1], "y": 1}]
    found = shown(rows, TableSpec(target="y"))
    assert found[0] == "1.0 |a a=u"
    assert all("but the column holds words" in text for text in found[1:])
    free = TableSpec(target="y", kinds={"a": Kind.CATEGORY})
    assert shown(rows[:3], free) == ["1.0 |a a=u", "1.0 |a a=2", "1.0 |a a=true"]


@pytest.mark.parametrize(
    "odd",
    [
        {1: 0.5, "x": 2, "y": 1},
        {"x": 10**400, "y": 1},
        {"x": 1, "y": 2**53 + 1},
        {"x": 1, "y": {"z": 1}},
        {"x": 1, "y": {}},
        {"c\ud800": 1, "y": 1},
        {"x": None, "y": 1},
    ],
)
def test_odd_records_together_are_odd_records_alone(odd: dict[Any, Any]) -> None:
    start = [{"x": 2, "y": 1}, {"x": 3, "y": 2}]
    spec = TableSpec(target="y")
    assert shown([*start, *[odd] * 12], spec) == shown(iter([*start, *[odd] * 12]), spec)


def test_misspelt_fields_of_records_are_reported(tmp_path: Path) -> None:
    path = write(tmp_path / "t.jsonl", '{"a": 1, "w": 5, "y": 2}\n' * 3)
    for spec in (
        TableSpec(weight="W"),
        TableSpec(ignore=("z",)),
        TableSpec(kinds={"z": Kind.TEXT}),
    ):
        with pytest.raises(ConfigError, match="no record has a field"):
            shown(path, spec)
    assert shown(path, TableSpec(weight="w"))[0] == "2.0 5.0 |a a"
