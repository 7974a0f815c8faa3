"""Dicts: their groups and values, also after a table."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from chacha import ChaCha, NativePool, TableSpec, open_source
from chacha.sources import Bad
from tests.support.sources import good, shown, write


def test_groups_stay_under_a_live_model() -> None:
    names = [f"z{i}" for i in range(6)] + [f"a{i}" for i in range(6)]
    frame = pd.DataFrame({**{name: [1.5, 2.5] for name in names}, "y": [1.0, 2.0]})
    model = ChaCha.paper(pool=NativePool())
    model.run(frame, target="y")
    other = frame[["y", *sorted(names)]]
    (a, b) = (good(model.open(f, TableSpec(target="y")))[0].groups for f in (frame, other))
    assert {g: sorted(fs) for g, fs in a.items()} == {g: sorted(fs) for g, fs in b.items()}
    row = dict.fromkeys(names, 1.5)
    example = model.reader.example(row)
    assert {g: sorted(fs) for g, fs in example.groups.items()} == {
        g: sorted(fs) for g, fs in a.items()
    }
    first = ChaCha.paper(pool=NativePool())
    first.learn_one(row, 1.0)
    a = good(first.open(frame, TableSpec(target="y")))[0].groups
    b = first.reader.example(row).groups
    assert {g: sorted(fs) for g, fs in a.items()} == {g: sorted(fs) for g, fs in b.items()}


def test_dicts_are_read_as_the_columns_of_the_table_before(tmp_path: Path) -> None:
    model = ChaCha.paper(pool=NativePool())
    model.run(write(tmp_path / "t.csv", "c,d,y\n Rome ,2026-11-15,1\nBonn,,2\n"))
    assert model.reader.example({"c": " Rome ", "d": ""}).line == "|c c=Rome |d"
    frame = pd.DataFrame({"x": [1.5, math.nan], "y": [1.0, 2.0]})
    other = ChaCha.paper(pool=NativePool())
    other.run(frame)
    assert other.reader.example(frame.iloc[1].drop("y").to_dict()).line == "|x"


def test_dict_values_of_other_libraries() -> None:
    rows = [({"a": np.array([1.5, 2.0])}, 1.0), ({"a": pd.NA}, 1.0), ({"a": pd.NaT}, 1.0)]
    assert shown(rows) == ["1.0 |a a.0:1.5 a.1:2.0", "1.0 |a", "1.0 |a"]
    loop: dict[str, Any] = {}
    loop["a"] = loop
    assert "nested too deep" in shown([(loop, 1.0)])[0]
    assert "not UTF-8" in next(
        r.reason for r in open_source([({"a": "\ud800"}, 1.0)]) if isinstance(r, Bad)
    )


def test_dicts_after_a_table_give_its_predictions_to_the_last_bit(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(rng.normal(size=(200, 5)), columns=list("zmaqb"))
    frame["y"] = frame["z"] * frame["q"] + frame["b"]
    model = ChaCha.paper(pool=NativePool())
    model.run(frame)
    rows = frame.drop(columns="y").to_dict("records")
    expected = [model.predict_one(row) for row in good(model.open(frame))]
    assert [model.predict_one(row) for row in rows] == expected
    other = ChaCha.paper(pool=NativePool())
    other.run(write(tmp_path / "t.csv", "a;b;y\n0,5;u;0,25\n1,5;v;1,5\n"))
    assert other.reader.example({"a": "1,5", "b": "u"}).line == "|a a:1.5 |b b=u"
