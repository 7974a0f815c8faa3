"""The fast path of `predict_one` and `learn_one`: single examples straight to the engine.

A line of VW text is parsed natively. A dict whose keys were seen before is read by a plan, which
says where each key goes. Everything else takes the slow path, through
:class:`~chacha.data.example.Example`. Both paths give the same results.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from chacha._native import DictPlan
from chacha.data.vw_text import escape
from chacha.drivers.base import Driver
from chacha.drivers.native import NativeDriver
from chacha.rules.decisions import Decision
from chacha.sources import DictReader, TableSpec
from chacha.sources.spec import missing_group
from chacha.sources.values.dict_reader import is_grouped

__all__ = ["FastPath"]

MOST_PLANS = 8
EXACT = 1 << 53  # above it, not every integer is a float


class FastPath:
    """The fast path, where driver and input allow it; None means that the slow path is needed."""

    def __init__(self, driver: Driver, reader: DictReader) -> None:
        usable = isinstance(driver, NativeDriver) and not reader.keep_rows
        self._driver = driver if usable and isinstance(driver, NativeDriver) else None
        self._reader = reader
        self._plans: list[DictPlan] = []

    def predict(self, x: Any) -> float | None:
        """Return the served prediction."""
        driver = self._driver
        if driver is None:
            return None
        if type(x) is str:
            return driver.serve_line(x)
        if type(x) is dict and not self._reader.kinds:
            for plan in self._plans:
                if (served := driver.serve_dict(plan, x)) is not None:
                    return served
        return None

    def learn(self, x: Any, y: Any, weight: Any) -> list[Decision] | None:
        """Learn `x`, and return the decisions that followed."""
        driver = self._driver
        if driver is None:
            return None
        if type(y) is int and abs(y) <= EXACT:
            y = float(y)
        if type(x) is str:
            return driver.learn_line(x, y, weight)
        if type(x) is dict and not self._reader.kinds and not driver.derivation_pending:
            for plan in self._plans:
                if (decisions := driver.learn_dict(plan, x, y, weight)) is not None:
                    return decisions
        return None

    def add_plan(self, x: Any) -> None:
        """Plan for dicts with the keys of `x`, which was read successfully on the slow path."""
        reader = self._reader
        if self._driver is None or type(x) is not dict or reader.kinds:
            return
        if reader.spec == TableSpec() and (plan := _plan(x, reader)) is not None:
            self._plans = [plan, *self._plans][:MOST_PLANS]


def _plan(x: Mapping[Any, Any], reader: DictReader) -> DictPlan | None:
    """Return how to read dicts with the keys of `x`; None if a plan cannot express it."""
    grouped = is_grouped(x)
    if not x or (not grouped and reader.grouping is None):
        return None
    if not all(type(key) is str for key in x):
        return None
    inner = [value for value in x.values() if isinstance(value, Mapping)]
    if any(isinstance(value, Mapping) for group in inner for value in group.values()):
        return None
    entries: list[tuple[Any, Any, str, str, str]] = []
    for leaf in reader.leaves(x):
        outer = leaf.path.removesuffix(f".{leaf.name}") if leaf.name != leaf.path else None
        if outer is not None and not (type(x.get(outer)) is dict and leaf.name in x[outer]):
            return None
        if not leaf.name or (outer is None and leaf.name not in x):
            return None
        keys = (leaf.name, None) if outer is None else (outer, leaf.name)
        missing = missing_group(leaf.group) if reader.offer_missing else ""
        entries.append((*keys, leaf.group, escape(leaf.name), missing))
    inner_sizes = [(key, len(value)) for key, value in x.items() if isinstance(value, Mapping)]
    if any(not value for value in x.values() if isinstance(value, Mapping)):
        return None
    if len(entries) != len(x) - len(inner_sizes) + sum(size for _, size in inner_sizes):
        return None
    return DictPlan(entries, len(x), inner_sizes)
