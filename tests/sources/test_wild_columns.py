"""Columns of a table that are constant, always empty, infinite now and then, or drift wildly."""

from __future__ import annotations

import math
import random
from typing import Any

import pytest

import chacha
from chacha import ChaCha, NativePool, OnBad, TableSpec
from chacha.config.derived_groups import derived
from chacha.pools.base import LivePool
from tests.support.derived_runs import Row, Table, arrow_of, fast_model, features_in
from tests.support.fast_rules import PlainPool
from tests.support.native_runs import state


def rough(n: int, seed: int = 0) -> Table:
    rng, table = random.Random(f"rough columns {seed}"), Table()
    for i in range(n):
        row: Row = {"good": rng.uniform(-3, 3), "same": 7.0, "never": None}
        row["wild"] = rng.gauss(0, 1) * 10.0 ** (i / 10)  # up to 1e30
        row["odd"] = rng.choice([math.inf, -math.inf]) if i % 17 == 5 else rng.uniform(0, 9)
        table.append((row, 5 * math.sin(2 * row["good"]) + rng.gauss(0, 0.1)))
    return table


def passed(pool: LivePool, table: Table, **settings: Any) -> tuple[ChaCha, list[float], int]:
    model = fast_model(pool, **settings)
    source = model.open(arrow_of(table), TableSpec(target="y"))
    track: list[float] = []
    for chunk in model.chunks(source, on_bad=OnBad.SKIP, record=True):
        assert chunk.served is not None
        track += chunk.served.predictions
    return model, track, sum(model.summary().skipped.values())


@pytest.mark.parametrize("pool", [NativePool, PlainPool])
def test_rows_with_infinite_cells_change_nothing(pool: type[NativePool]) -> None:
    """They are refused and counted; knots, decisions and predictions are as without them."""
    table = rough(300)
    finite = [(x, y) for x, y in table if math.isfinite(x["odd"])]
    model, track, skipped = passed(pool(), table)
    clean, expected, none = passed(pool(), finite)
    assert (skipped, none) == (len(table) - len(finite), 0)
    assert track == expected
    uncompared = {"summary": None}  # it counts the skipped rows
    assert state(model) | uncompared == state(clean) | uncompared
    assert model.observed.columns == clean.observed.columns


def test_every_prediction_is_finite_and_empty_columns_have_no_bins() -> None:
    native, track, _ = passed(NativePool(), rough(300))
    plain, same, _ = passed(PlainPool(), rough(300))
    assert track == same
    assert state(native) == state(plain)
    assert all(map(math.isfinite, track))
    tried = [group for name in features_in(native) if (group := derived(name)) is not None]
    assert {group.source for group in tried if group.kind == "bins"} == {"good", "odd", "wild"}
    assert {group.kind for group in tried if group.source == "never"} <= {"missing", "lag"}
    distinct = {column.group: column.distinct for column in native.observed.columns}
    assert "same" not in distinct, "all its cells are at the centre"
    assert "never" not in distinct
    as_read, _, _ = passed(NativePool(), rough(300), scaling=None)
    distinct = {column.group: column.distinct for column in as_read.observed.columns}
    assert distinct["same"] == 1
    assert "never" not in distinct
    assert chacha.Transform.of(native).groups == native.champion.derived
