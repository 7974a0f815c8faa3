"""Deriving groups in plain Python: what the native engine does in derived.cpp, to read.

What must be known of a column (its knots, its values, its past) comes from examples that were
learned before, never from the one at hand.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from chacha.config.derived_groups import (
    LABEL,
    ColumnProfile,
    DerivedGroup,
    derived,
    is_missing_group,
)
from chacha.data.example import Example, Feature
from chacha.data.vw_text import hash_name
from chacha.features.column_stats import MOST_VALUES, ColumnStats, short_text

__all__ = ["Derivation", "DerivedGroups", "column_name"]

MOST_COLUMNS = 256  # of a group
MOST_TRACKED = 4096  # of all groups
TURN = 6.283185307179586
TINY = float(np.float32(1e-7))  # the sine of π is not quite 0


def column_name(feature: Feature) -> str:
    """The name of the column of a feature: without a colon, which VW's text could not hold.

    >>> column_name(Feature("color:blue", 1.0, 0)), column_name(Feature(":3", 0.5, 0))
    ('color=blue', '3')
    """
    return feature.name.removeprefix(":").replace(":", "=")


def _f32(value: float) -> float:
    return float(np.float32(value))


@dataclass
class Basis:
    """What a column gives in a derived group: knots or values, or its past."""

    name: str
    at: Sequence[float] = ()
    past: list[float] = field(default_factory=list)


@dataclass
class Recipe:
    """A derived group, and what its columns give; examples that were learned with it."""

    made: DerivedGroup
    bases: dict[int, Basis] = field(default_factory=dict)  # by the hash of the column
    clock: int = 0

    @property
    def keeps_past(self) -> bool:
        """Whether it tells of earlier examples."""
        return self.made.keeps_past

    @property
    def of_label(self) -> bool:
        """Whether it tells of the label."""
        return self.made.of_label


class Tracked(NamedTuple):
    """A column: its name and what is known of it."""

    name: str
    stats: ColumnStats


class DerivedGroups(Mapping[str, Sequence[Feature]]):
    """The derived groups of one example, made when they are looked at."""

    def __init__(
        self, derivation: Derivation, example: Example, given: Mapping[str, Sequence[Feature]]
    ) -> None:
        self._derivation, self._example, self.given = derivation, example, given
        self._found: dict[str, Sequence[Feature]] = dict(given)

    def __getitem__(self, name: str) -> Sequence[Feature]:
        if name not in self._found:
            self._found[name] = self._derivation.make(name, self._example)
        return self._found[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._derivation.recipes)

    def __len__(self) -> int:
        return len(self._derivation.recipes)


class Derivation:
    """Makes derived groups of examples, and learns of examples what it needs for that.

    >>> from chacha.data.text_parser import parse_line
    >>> derivation = Derivation(first=10)
    >>> derivation.add(["bins(a,3)", "lag(label,2)"])
    >>> for i in range(10):
    ...     derivation.observe(derivation.derive(parse_line(f"{i} |a x:{i + 1}")))
    >>> derived = derivation.derive(parse_line("|a x:4")).derived
    >>> [(f.name, f.value) for f in derived["bins(a,3)"]]
    [('x@1', 0.25), ('x@5', 0.75)]
    >>> [(f.name, f.value) for f in derived["lag(label,2)"]]
    [('label.1', 9.0), ('label.2', 8.0)]
    """

    def __init__(self, first: int = 256, on: bool = True) -> None:
        self.first, self.on = first, on
        self.recipes: dict[str, Recipe] = {}
        self._columns: dict[str, dict[int, Tracked]] = {}  # by group and hash
        self._tracked = 0
        self._given: dict[str, None] = {}  # groups of missing cells that examples brought
        self._facts: list[ColumnProfile] | None = None

    def turn_on(self, first: int) -> None:
        """From now on columns are looked at."""
        self.first, self.on = first, True

    def add(self, names: Iterable[str]) -> None:
        """Make derived groups known; from the first of them on, columns are looked at."""
        for name in names:
            if name not in self.recipes and (made := derived(name)) is not None:
                self.on = True
                self.recipes[name] = recipe = Recipe(made)
                if recipe.of_label:
                    recipe.bases[0] = _past(recipe, LABEL)
                    continue
                for hashed, column in self._columns.get(made.source, {}).items():
                    _make_basis(recipe, hashed, column)

    @property
    def columns(self) -> Sequence[ColumnProfile]:
        """What is known of the columns."""
        if self._facts is None:
            found = [
                ColumnProfile(group, name, stats.distinct, stats.whole, *stats.range)
                for group, columns in self._columns.items()
                for name, stats in columns.values()
                if stats.ready
            ]
            found += [ColumnProfile(name, "", 1, True, 0.0, 1.0, 1.0) for name in self._given]
            self._facts = sorted(found)
        return self._facts

    def derive(self, example: Example) -> Example:
        """The example with its derived groups; those that it brought are set apart."""
        if not self.on:
            return example
        given = {name: own for name, own in example.groups.items() if self._is_given(name)}
        if given:
            example = example.without(given)
        return replace(example, derived=DerivedGroups(self, example, given))

    def _is_given(self, name: str) -> bool:
        """Whether a group of that name stands for a derived one; missing cells always do."""
        return name in self.recipes or is_missing_group(name)

    def make(self, name: str, example: Example) -> list[Feature]:
        """The features of a derived group."""
        recipe = self.recipes.get(name)
        if recipe is None:
            return []
        found: list[tuple[str, float]] = []
        if recipe.keeps_past:
            for basis in recipe.bases.values():
                found += _earlier(recipe, basis)
        else:
            for feature in example.groups.get(recipe.made.source, ()):
                if (own := recipe.bases.get(feature.hashed)) is not None:
                    found += _features(recipe.made, own, feature.value)
        seed = hash_name(name, 0)
        return [Feature(n, value, hash_name(n, seed)) for n, value in found if value != 0.0]

    def observe(self, example: Example) -> None:
        """Take in an example that was learned."""
        if not self.on:
            return
        if isinstance(example.derived, DerivedGroups):
            self._take_given(example.derived.given)
        for group, features in example.groups.items():
            for feature in features:
                self._notice(group, feature)
        self.remember(example)
        for group, features in example.groups.items():
            columns = self._columns.get(group, {})
            for feature in features:
                column = columns.get(feature.hashed)
                if column is not None and column.stats.observe(feature.value):
                    self._changed(group, feature.hashed, column)

    def _take_given(self, given: Mapping[str, Sequence[Feature]]) -> None:
        """Groups of missing cells that an example brought may be offered from now on."""
        for name, features in given.items():
            if features and is_missing_group(name) and name not in self._given:
                self._given[name], self._facts = None, None

    def _notice(self, group: str, feature: Feature) -> None:
        """A feature that is seen for the first time is a column."""
        columns = self._columns.setdefault(group, {})
        full = len(columns) >= MOST_COLUMNS or self._tracked >= MOST_TRACKED
        if feature.hashed in columns or full:
            return
        column = Tracked(column_name(feature), ColumnStats(self.first))
        columns[feature.hashed] = column
        self._tracked += 1
        self._changed(group, feature.hashed, column)

    def _changed(self, group: str, hashed: int, column: Tracked) -> None:
        self._facts = None
        for recipe in self.recipes.values():
            if recipe.made.source == group and not recipe.of_label:
                _make_basis(recipe, hashed, column)

    def remember(self, example: Example) -> None:
        """Take in an example for what tells of earlier ones, and leave the rest as it is."""
        for recipe in self.recipes.values():
            if recipe.keeps_past:
                self._remember(recipe, example)

    def _remember(self, recipe: Recipe, example: Example) -> None:
        """A column that an example does not have counts as 0, as everywhere."""
        source = recipe.made.source
        now = {f.hashed: f.value for f in example.groups.get(source, ())}
        for hashed, basis in recipe.bases.items():
            value = (example.label or 0.0) if recipe.of_label else now.get(hashed, 0.0)
            if recipe.made.kind == "lag":
                basis.past[recipe.clock % len(basis.past)] = value
            elif recipe.clock == 0:
                basis.past[0] = value
            else:
                before = basis.past[0]
                basis.past[0] = _f32(before + recipe.made.parameter * (value - before))
        recipe.clock += 1


def _make_basis(recipe: Recipe, hashed: int, column: Tracked) -> None:
    """What a column gives in a derived group, as far as it can be told by now."""
    made, (name, stats), bases = recipe.made, column, recipe.bases
    if recipe.keeps_past:
        bases.setdefault(hashed, _past(recipe, name))
    elif made.kind == "bins" and stats.numeric:
        bases[hashed] = Basis(name, stats.knots(int(made.parameter)))
    elif made.kind == "onehot" and stats.codes:
        bases[hashed] = Basis(name, list(stats.values))
    elif made.kind == "cyclic" and stats.codes and stats.range[0] >= 0:
        if stats.range[1] <= made.parameter:
            bases[hashed] = Basis(name)
    elif made.kind == "log" and stats.numeric:
        bases[hashed] = Basis(name)


def _past(recipe: Recipe, name: str) -> Basis:
    count = int(recipe.made.parameter) if recipe.made.kind == "lag" else 1
    return Basis(name, past=[0.0] * count)


def _earlier(recipe: Recipe, basis: Basis) -> Iterator[tuple[str, float]]:
    """What was learned, the last first."""
    n = len(basis.past)
    for k in range(1, min(n, recipe.clock) + 1):
        name = f"{basis.name}.{k}" if recipe.made.kind == "lag" else basis.name
        yield name, basis.past[(recipe.clock - k) % n]


def _features(made: DerivedGroup, basis: Basis, x: float) -> list[tuple[str, float]]:
    """What a value gives, by name; zeros are dropped later."""
    name = basis.name
    if made.kind == "bins":
        return _bins(name, basis.at, x)
    if made.kind == "onehot":
        known = x in basis.at or len(basis.at) < MOST_VALUES
        return [(f"{name}={short_text(x)}" if known else f"{name}=other", 1.0)]
    if made.kind == "cyclic":
        angle = TURN * x / made.parameter
        pairs = ((f"{name}.sin", math.sin(angle)), (f"{name}.cos", math.cos(angle)))
        return [(n, 0.0 if abs(_f32(v)) < TINY else _f32(v)) for n, v in pairs]
    return [(name, _f32(math.copysign(math.log1p(abs(x)), x)))]


def _bins(name: str, knots: Sequence[float], x: float) -> list[tuple[str, float]]:
    """A value between two knots is shared by them; one beyond the last counts as the last."""
    if x <= knots[0]:
        return [(f"{name}@{short_text(knots[0])}", 1.0)]
    if x >= knots[-1]:
        return [(f"{name}@{short_text(knots[-1])}", 1.0)]
    above = bisect_right(knots, x)
    left, right = knots[above - 1], knots[above]
    share = _f32((x - left) / (right - left))
    low = _f32(1.0 - share)
    return [(f"{name}@{short_text(left)}", low), (f"{name}@{short_text(right)}", share)]
