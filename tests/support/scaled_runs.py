"""Rows of dicts with labels, and every way to learn them: for tests of scales and centres."""

from __future__ import annotations

import datetime as dt
import math
import random
from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa

from chacha import ChaCha, NativePool, OnBad, TableSpec
from chacha.pools.base import LivePool
from tests.support.derived_runs import Row, Table, fast_model

__all__ = [
    *("TARGET", "WAYS", "Decided", "as_arrow", "as_text", "chunks", "keen_model", "learned"),
    *("mean_loss", "mixed", "ordinary"),
]

TARGET = TableSpec(target="y")

Decided = list[tuple[str, int, str]]


def ordinary(n: int, seed: int = 0) -> Table:
    """Numbers far from 0, a share, words, empty cells; labels with a product in them."""
    rng, table = random.Random(f"ordinary {seed}"), Table()
    for _ in range(n):
        x: Row = {"a": rng.gauss(50, 9), "b": rng.random(), "c": rng.choice("xyz")}
        x["d"] = None if rng.random() < 0.2 else rng.gauss(0, 1)
        y = (x["a"] - 50) * (x["b"] - 0.5) + 3 * (x["c"] == "x") + (x["d"] or 0.0)
        table.append((x, y + rng.gauss(0, 0.3)))
    return table


def mixed(n: int, seed: int = 0) -> Table:
    """Every kind of column that has numbers: far from 0, mostly one value, empty, dates, lists."""
    rng, table = random.Random(f"mixed {seed}"), Table()
    start = dt.datetime(2026, 1, 1)
    for i in range(n):
        x: Row = {
            "time": 1_700_000_000 + 60 * i + rng.randrange(9),
            "mostly": 5.0 if rng.random() < 0.8 else rng.gauss(5, 2),
            "zeros": rng.choice([0.0, 0.0, rng.gauss(0, 1)]),
            "flag": rng.choice([True, False, None]),
            "holes": None if rng.random() < 0.3 else rng.gauss(-300, 20),
            "never": None,
            "same": 7.25,
            "when": start + dt.timedelta(minutes=rng.randrange(500_000)),
            "pair": [rng.gauss(0, 1), float(rng.randrange(3))],
            "color": rng.choice(["red", "dark green", None]),
        }
        y = 1000 + x["mostly"] + 0.1 * (x["holes"] or -300.0) + 2 * (x["color"] == "red")
        table.append((x, y + rng.gauss(0, 0.2)))
    return table


def as_arrow(table: Table) -> pa.Table:
    names = table[0][0]
    return pa.table({**{n: [x[n] for x, _ in table] for n in names}, "y": [y for _, y in table]})


def as_text(table: Table) -> list[str]:
    """VW text, a group for each column; lists and dates are left out."""
    lines = []
    for x, y in table:
        words = []
        for name, value in x.items():
            if isinstance(value, str):
                words.append(f"|{name} {value.replace(' ', '_')}")
            elif isinstance(value, (bool, int, float)):
                words.append(f"|{name} {name}:{float(value)!r}")
        lines.append(f"{y!r} {' '.join(words)}")
    return lines


def keen_model(pool: LivePool | None = None, **settings: Any) -> ChaCha:
    """A model that decides soon, on products and learning rates alone."""
    return fast_model(NativePool() if pool is None else pool, **{"space": None, **settings})


def _one_by_one(model: ChaCha, table: Table) -> list[float]:
    track = []
    for x, y in table:
        track.append(model.predict_one(x))
        model.learn_one(x, y)
    return track


def _asked(model: ChaCha, table: Table) -> list[float]:
    track = []
    for x, y in table:
        ticket = model.ask(x)
        track.append(ticket.prediction)
        model.tell(ticket, y)
    return track


def chunks(
    model: ChaCha, source: Any, spec: TableSpec | None = None, **settings: Any
) -> list[float]:
    """Learn a source in chunks; return the served predictions."""
    track: list[float] = []
    opened = model.open(source, spec)
    for chunk in model.chunks(opened, record=True, on_bad=OnBad.SKIP, **settings):
        assert chunk.served is not None
        track += chunk.served.predictions
    return track


def _lines(model: ChaCha, table: Table) -> list[float]:
    track = []
    for line in as_text(table):
        track.append(model.predict_one(line.partition(" ")[2]))
        model.learn_one(line)
    return track


WAYS: dict[str, Callable[[ChaCha, Table], list[float]]] = {
    "dicts": _one_by_one,
    "tickets": _asked,
    "a table": lambda model, table: chunks(model, as_arrow(table), TARGET),
    "text": lambda model, table: chunks(model, as_text(table)),
    "lines": _lines,
}
"""Learn dicts with labels in some form; return the prediction for each row before its label."""


def learned(model: ChaCha, table: Table, way: str = "dicts") -> tuple[list[float], Decided]:
    """Return the predictions, and what was decided and when."""
    track = WAYS[way](model, table)
    return track, [(d.kind, d.t, str(d.config)) for d in model.decisions]


def mean_loss(track: Sequence[float], table: Table, first: int = 0) -> float:
    """Return the mean squared loss of the rows from `first` on."""
    pairs = list(zip(track, table, strict=True))[first:]
    return math.fsum((p - y) ** 2 for p, (_, y) in pairs) / len(pairs)
