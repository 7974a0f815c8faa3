"""The fast path of single examples: straight to the engine.

A line of VW text is parsed natively. A dict whose keys were seen before is read by a plan, which
says where each key goes. Everything else is read in Python, as an
:class:`~chacha.data.example.Example`. Both ways give the same results.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from weakref import WeakValueDictionary

from chacha._native import DictPlan
from chacha.data.example import Example
from chacha.data.vw_text import escape
from chacha.drivers.base import Driver
from chacha.drivers.native import NativeDriver
from chacha.drivers.native_tickets import NativePendingExample
from chacha.rules.decisions import Decision
from chacha.sources import DictReader
from chacha.sources.spec import DEFAULT_TABLE, missing_group
from chacha.sources.values.dict_reader import is_grouped

__all__ = ["DictPlans", "FastPath"]

MOST_PLANS = 8
EXACT = 1 << 53  # above it, not every integer is a float
Entry = tuple[str, str | None, str, str, str]  # see DictPlan
PlanKey = tuple[tuple[Entry, ...], int, tuple[tuple[str, int], ...]]


class DictPlans:
    """Plans that models share: equal plans are one object, which lives as long as a model uses it.

    A plan is found by all that it depends on. Models with other groups for the same keys, or with
    other groups for missing values, therefore get other plans.

    >>> plans, reader = DictPlans(), DictReader()
    >>> reader.fix_groups({"age": 3, "hour": 5})
    >>> plan = plans.plan({"age": 3, "hour": 5}, reader)
    >>> plan is plans.plan({"hour": 1, "age": 4}, reader), len(plans)
    (True, 1)
    """

    def __init__(self) -> None:
        self._plans: WeakValueDictionary[PlanKey, DictPlan] = WeakValueDictionary()

    def __len__(self) -> int:
        return len(self._plans)

    def plan(self, x: Mapping[Any, Any], reader: DictReader) -> DictPlan | None:
        """Return how to read dicts with the keys of `x`; None if a plan cannot express it."""
        key = _plan_key(x, reader)
        if key is None:
            return None
        plan = self._plans.get(key)
        if plan is None:
            plan = self._plans.setdefault(key, DictPlan(*key))
        return plan


class FastPath:
    """The fast path, where driver and input allow it; None means that Python must read the input.

    With `keeps_past`, tickets keep groups made from earlier examples, which needs an example that
    was read in Python.
    """

    def __init__(
        self, driver: Driver, reader: DictReader, plans: DictPlans, keeps_past: bool = False
    ) -> None:
        usable = isinstance(driver, NativeDriver) and not reader.keep_rows
        self._driver = driver if usable and isinstance(driver, NativeDriver) else None
        self._engine = None if self._driver is None else self._driver.engine
        self._asked = None if keeps_past else self._driver
        self._reader = reader
        self._shared = plans
        self._plans: list[DictPlan] = []  # of this model, the latest first

    def predict(self, x: Any) -> float | None:
        """Return the served prediction."""
        engine = self._engine
        if engine is None:
            return None
        try:
            if type(x) is str:
                return engine.serve_line(x)
            if type(x) is dict and not self._reader.kinds:
                for plan in self._plans:
                    if (served := engine.serve_dict(plan, x)) is not None:
                        return served
        except ValueError:  # too large; reading it in Python raises an error that names the place
            pass
        return None

    def learn(self, x: Any, y: Any, weight: Any) -> list[Decision] | None:
        """Learn `x`, and return the decisions that followed."""
        driver = self._driver
        if driver is None:
            return None
        if type(y) is int and abs(y) <= EXACT:
            y = float(y)
        if type(x) is str:
            return driver.step(driver.engine.learn_line, x, y, weight)
        if type(x) is dict and not self._reader.kinds and not driver.columns_pending:
            learn = driver.engine.learn_dict
            for plan in self._plans:
                if (decisions := driver.step(learn, plan, x, y, weight)) is not None:
                    return decisions
        return None

    def ask(self, x: Any) -> NativePendingExample | None:
        """Predict `x`, whose label comes late."""
        driver = self._asked
        if driver is None or not driver.begun:
            return None
        engine, asked = driver.engine, None
        try:
            if type(x) is str:
                asked = engine.ask_line(x)
            elif type(x) is dict and not self._reader.kinds and not driver.columns_pending:
                for plan in self._plans:
                    if (asked := engine.ask_dict(plan, x)) is not None:
                        break
        except ValueError:  # as for predict()
            pass
        return None if asked is None else NativePendingExample(asked, driver.configs)

    def tell(self, pending: NativePendingExample, y: Any, weight: Any) -> list[Decision] | None:
        """Learn the label of an asked example, and return the decisions that followed.

        The models that are still the same are charged for what they predicted then.
        """
        driver = self._driver
        assert driver is not None
        if type(y) is int and abs(y) <= EXACT:
            y = float(y)
        return driver.step(driver.engine.tell, pending.asked, y, weight)

    def tell_checked(
        self, pending: NativePendingExample, checked: Example, same_weight: bool
    ) -> list[Decision]:
        """Learn an asked example with the label of `checked`, and its weight if it is another.

        For labels and weights for which :meth:`tell` returns None, such as NumPy's numbers.
        """
        assert self._driver is not None
        weight = None if same_weight else checked.weight
        y = checked.label if self._driver.scaling is None else checked.target_or_label
        decisions = self.tell(pending, y, weight)
        if decisions is None:
            raise self._driver.refused()
        return decisions

    def add_plan(self, x: Any) -> None:
        """Plan for dicts with the keys of `x`, which Python has read successfully."""
        reader = self._reader
        if self._driver is None or type(x) is not dict or reader.kinds:
            return
        if reader.spec == DEFAULT_TABLE and (plan := self._shared.plan(x, reader)) is not None:
            others = [other for other in self._plans if other is not plan]
            self._plans = [plan, *others][:MOST_PLANS]


def _plan_key(x: Mapping[Any, Any], reader: DictReader) -> PlanKey | None:
    """Return the arguments of the plan for dicts with the keys of `x`; None if there is none."""
    grouped = is_grouped(x)
    if not x or (not grouped and reader.grouping is None):
        return None
    if not all(type(key) is str for key in x):
        return None
    inner = [value for value in x.values() if isinstance(value, Mapping)]
    if any(isinstance(value, Mapping) for group in inner for value in group.values()):
        return None
    entries: list[Entry] = []
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
    return tuple(entries), len(x), tuple(sorted(inner_sizes))
