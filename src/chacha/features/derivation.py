"""Derivation of groups in plain Python.

What a derived group must know of a column (its knots, its distinct values, its past) comes from
examples learned before, never from the current one.

Twin: native/src/features/derivation.hpp
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

__all__ = ["Basis", "Derivation", "DerivedGroups", "Recipe", "column_name"]

MOST_COLUMNS = 256  # of one group
MOST_TRACKED = 4096  # of all groups together
TWO_PI = 6.283185307179586
TINY = float(np.float32(1e-7))  # counts as 0: the computed sine of π is not exactly 0


def column_name(feature: Feature) -> str:
    """Return the name of a feature's column: without a colon, which VW text cannot contain.

    >>> column_name(Feature("color:blue", 1.0, 0)), column_name(Feature(":3", 0.5, 0))
    ('color=blue', '3')
    """
    return feature.name.removeprefix(":").replace(":", "=")


def _f32(value: float) -> float:
    return float(np.float32(value))


@dataclass
class Basis:
    """One column's basis in a derived group: the numbers from which its features are computed."""

    name: str
    at: Sequence[float] = ()  # the knots of bins, the distinct values of one-hot
    past: list[float] = field(default_factory=list)  # of lags a ring, of ewma the mean


@dataclass
class Recipe:
    """A derived group, the bases of its columns, and the number of examples learned with it."""

    group: DerivedGroup
    bases: dict[int, Basis] = field(default_factory=dict)  # by the hash of the column
    clock: int = 0

    @property
    def keeps_past(self) -> bool:
        """Whether the group is made from earlier examples."""
        return self.group.keeps_past

    @property
    def of_label(self) -> bool:
        """Whether the group is made from the label."""
        return self.group.of_label


class TrackedColumn(NamedTuple):
    """A column's name and statistics."""

    name: str
    stats: ColumnStats


class DerivedGroups(Mapping[str, Sequence[Feature]]):
    """The derived groups of one example, computed on first access.

    `supplied` has the groups that the example itself contains; they are used as they are.
    """

    def __init__(
        self, derivation: Derivation, example: Example, supplied: Mapping[str, Sequence[Feature]]
    ) -> None:
        self._derivation, self._example, self.supplied = derivation, example, supplied
        self._groups: dict[str, Sequence[Feature]] = dict(supplied)

    def __getitem__(self, name: str) -> Sequence[Feature]:
        if name not in self._groups:
            self._groups[name] = self._derivation.features_of(name, self._example)
        return self._groups[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._derivation.recipes)

    def __len__(self) -> int:
        return len(self._derivation.recipes)


class Derivation:
    """Derives groups from examples, and learns from examples what it needs for that.

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
        self._columns: dict[str, dict[int, TrackedColumn]] = {}  # by group and hash
        self._tracked = 0
        self._missing_groups: dict[str, None] = {}  # that examples have contained
        self._profiles: list[ColumnProfile] | None = None

    def turn_on(self, first: int) -> None:
        """Keep statistics of columns from now on; knots are placed from `first` values."""
        self.first, self.on = first, True

    def add(self, names: Iterable[str]) -> None:
        """Register derived groups. The first of them turns the derivation on."""
        for name in names:
            if name not in self.recipes and (group := derived(name)) is not None:
                self.on = True
                self.recipes[name] = recipe = Recipe(group)
                if recipe.of_label:
                    recipe.bases[0] = _past_basis(recipe, LABEL)
                    continue
                for hashed, column in self._columns.get(group.source, {}).items():
                    _make_basis(recipe, hashed, column)

    @property
    def columns(self) -> Sequence[ColumnProfile]:
        """Profiles of the columns that have had enough values, and of groups of missing cells."""
        if self._profiles is None:
            profiles = [
                ColumnProfile(group, name, stats.distinct, stats.whole, *stats.range)
                for group, columns in self._columns.items()
                for name, stats in columns.values()
                if stats.ready
            ]
            profiles += [
                ColumnProfile(name, "", 1, True, 0.0, 1.0, 1.0) for name in self._missing_groups
            ]
            self._profiles = sorted(profiles)
        return self._profiles

    def derive(self, example: Example) -> Example:
        """Return the example with its derived groups.

        Derived groups that the example contains are moved from its raw groups to these.
        """
        if not self.on:
            return example
        supplied = {name: fs for name, fs in example.groups.items() if self._is_derived(name)}
        if supplied:
            example = example.without(supplied)
        return replace(example, derived=DerivedGroups(self, example, supplied))

    def _is_derived(self, name: str) -> bool:
        """Return whether a group in an example is a derived one; missing cells always are."""
        return name in self.recipes or is_missing_group(name)

    def features_of(self, name: str, example: Example) -> list[Feature]:
        """Return the features of a derived group."""
        recipe = self.recipes.get(name)
        if recipe is None:
            return []
        pairs: list[tuple[str, float]] = []
        if recipe.keeps_past:
            for basis in recipe.bases.values():
                pairs += _past_features(recipe, basis)
        else:
            for feature in example.groups.get(recipe.group.source, ()):
                if feature.hashed in recipe.bases:
                    basis = recipe.bases[feature.hashed]
                    pairs += _features(recipe.group, basis, feature.value)
        seed = hash_name(name, 0)
        return [Feature(n, value, hash_name(n, seed)) for n, value in pairs if value != 0.0]

    def observe(self, example: Example) -> None:
        """Update the statistics with an example that was learned."""
        if not self.on:
            return
        if isinstance(example.derived, DerivedGroups):
            self._note_missing_groups(example.derived.supplied)
        for group, features in example.groups.items():
            for feature in features:
                self._track(group, feature)
        self.observe_past(example)
        for group, features in example.groups.items():
            columns = self._columns.get(group, {})
            for feature in features:
                column = columns.get(feature.hashed)
                if column is not None and column.stats.observe(feature.value):
                    self._update_bases(group, feature.hashed, column)

    def _note_missing_groups(self, supplied: Mapping[str, Sequence[Feature]]) -> None:
        """Offer the groups of missing cells that an example contains from now on."""
        for name, features in supplied.items():
            if features and is_missing_group(name) and name not in self._missing_groups:
                self._missing_groups[name], self._profiles = None, None

    def _track(self, group: str, feature: Feature) -> None:
        """Start the statistics of a column when its feature occurs for the first time."""
        columns = self._columns.setdefault(group, {})
        full = len(columns) >= MOST_COLUMNS or self._tracked >= MOST_TRACKED
        if feature.hashed in columns or full:
            return
        column = TrackedColumn(column_name(feature), ColumnStats(self.first))
        columns[feature.hashed] = column
        self._tracked += 1
        self._update_bases(group, feature.hashed, column)

    def _update_bases(self, group: str, hashed: int, column: TrackedColumn) -> None:
        self._profiles = None
        for recipe in self.recipes.values():
            if recipe.group.source == group and not recipe.of_label:
                _make_basis(recipe, hashed, column)

    def observe_past(self, example: Example) -> None:
        """Update only the groups made from earlier examples."""
        for recipe in self.recipes.values():
            if recipe.keeps_past:
                self._observe_past(recipe, example)

    def _observe_past(self, recipe: Recipe, example: Example) -> None:
        """Add an example to a recipe's past; a column that is not in it counts as 0."""
        source = recipe.group.source
        now = {f.hashed: f.value for f in example.groups.get(source, ())}
        for hashed, basis in recipe.bases.items():
            value = (example.label or 0.0) if recipe.of_label else now.get(hashed, 0.0)
            if recipe.group.kind == "lag":
                basis.past[recipe.clock % len(basis.past)] = value
            elif recipe.clock == 0:
                basis.past[0] = value
            else:
                before = basis.past[0]
                basis.past[0] = _f32(before + recipe.group.parameter * (value - before))
        recipe.clock += 1


def _make_basis(recipe: Recipe, hashed: int, column: TrackedColumn) -> None:
    """Set the basis of a column in a derived group, if the column suits it and is ready."""
    group, (name, stats), bases = recipe.group, column, recipe.bases
    if recipe.keeps_past:
        bases.setdefault(hashed, _past_basis(recipe, name))
    elif group.kind == "bins" and stats.numeric:
        bases[hashed] = Basis(name, stats.knots(int(group.parameter)))
    elif group.kind == "onehot" and stats.codes:
        bases[hashed] = Basis(name, list(stats.values))
    elif group.kind == "cyclic" and stats.codes and stats.range[0] >= 0:
        if stats.range[1] <= group.parameter:
            bases[hashed] = Basis(name)
    elif group.kind == "log" and stats.numeric:
        bases[hashed] = Basis(name)


def _past_basis(recipe: Recipe, name: str) -> Basis:
    count = int(recipe.group.parameter) if recipe.group.kind == "lag" else 1
    return Basis(name, past=[0.0] * count)


def _past_features(recipe: Recipe, basis: Basis) -> Iterator[tuple[str, float]]:
    """Yield the features of a column's past, the most recent first."""
    n = len(basis.past)
    for k in range(1, min(n, recipe.clock) + 1):
        name = f"{basis.name}.{k}" if recipe.group.kind == "lag" else basis.name
        yield name, basis.past[(recipe.clock - k) % n]


def _features(group: DerivedGroup, basis: Basis, x: float) -> list[tuple[str, float]]:
    """Return the features of a value, with names; zeros are dropped later."""
    name = basis.name
    if group.kind == "bins":
        return _bins(name, basis.at, x)
    if group.kind == "onehot":
        distinguished = x in basis.at or len(basis.at) < MOST_VALUES
        return [(f"{name}={short_text(x)}" if distinguished else f"{name}=other", 1.0)]
    if group.kind == "cyclic":
        angle = TWO_PI * x / group.parameter
        pairs = ((f"{name}.sin", math.sin(angle)), (f"{name}.cos", math.cos(angle)))
        return [(n, 0.0 if abs(_f32(v)) < TINY else _f32(v)) for n, v in pairs]
    return [(name, _f32(math.copysign(math.log1p(abs(x)), x)))]


def _bins(name: str, knots: Sequence[float], x: float) -> list[tuple[str, float]]:
    """Divide a value between its two neighbouring knots; beyond the ends, the last knot counts."""
    if x <= knots[0]:
        return [(f"{name}@{short_text(knots[0])}", 1.0)]
    if x >= knots[-1]:
        return [(f"{name}@{short_text(knots[-1])}", 1.0)]
    above = bisect_right(knots, x)
    left, right = knots[above - 1], knots[above]
    share = _f32((x - left) / (right - left))
    low = _f32(1.0 - share)
    return [(f"{name}@{short_text(left)}", low), (f"{name}@{short_text(right)}", share)]
