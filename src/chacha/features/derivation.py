"""Derivation of groups in plain Python.

What a derived group must know of a column (its knots, its distinct values, its past) comes from
examples learned before, never from the current one.

Twin: native/src/features/derivation.hpp
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from chacha.config.derived_groups import LABEL, DerivedGroup, derived
from chacha.config.derived_kinds import ColumnProfile, is_missing_group
from chacha.data.example import Example, Feature
from chacha.data.vw_text import FLOAT32_MAX, hash_name
from chacha.features.centring import Centring
from chacha.features.column_stats import ColumnStats
from chacha.features.formulas import FORMULAS, Basis, Formula, PastFormula, ValueFormula

__all__ = ["Derivation", "DerivedGroups", "Recipe", "column_name"]

MOST_COLUMNS = 256  # of one group
MOST_TRACKED = 4096  # of all groups together


def column_name(feature: Feature) -> str:
    """Return the name of a feature's column: without a colon, which VW text cannot contain.

    >>> column_name(Feature("color:blue", 1.0, 0)), column_name(Feature(":3", 0.5, 0))
    ('color=blue', '3')
    """
    return feature.name.removeprefix(":").replace(":", "=")


@dataclass
class Recipe:
    """A derived group, the bases of its columns, and the number of examples learned with it."""

    group: DerivedGroup
    bases: dict[int, Basis] = field(default_factory=dict)  # by the hash of the column
    clock: int = 0

    @property
    def formula(self) -> Formula:
        """The formula of the group's features."""
        return FORMULAS[self.group.kind]

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

    def __init__(self, first: int = 256, on: bool = True, centring: Centring | None = None) -> None:
        self.first, self.on = first, on
        self._centring = Centring() if centring is None else centring
        self.label_origin: float | None = None
        """Groups of the label are made of what labels are beyond it; None: of labels as read."""
        self.recipes: dict[str, Recipe] = {}
        self._columns: dict[str, dict[int, TrackedColumn]] = {}  # by group and hash
        self._tracked = 0
        self._missing_groups: dict[str, None] = {}  # that examples have contained
        self._profiles: list[ColumnProfile] | None = None
        self._codes: dict[str, dict[int, int]] = {}  # by group, and the hash of a feature

    def turn_on(self, first: int) -> None:
        """Keep statistics of columns from now on; knots are placed from `first` values."""
        self.first, self.on = first, True

    def add(self, names: Iterable[str]) -> None:
        """Register derived groups. The first of them turns the derivation on."""
        for name in names:
            if name not in self.recipes and (group := derived(name)) is not None:
                self.on = True
                self.recipes[name] = recipe = Recipe(group)
                formula = recipe.formula
                if recipe.of_label and isinstance(formula, PastFormula):
                    recipe.bases[0] = formula.basis(group.parameter, LABEL)
                    continue
                for hashed, column in self._columns.get(group.source, {}).items():
                    _make_basis(recipe, hashed, column)

    @property
    def columns(self) -> Sequence[ColumnProfile]:
        """Profiles of the columns that have had enough values, and of groups of missing cells."""
        if self._profiles is None:
            profiles = [
                ColumnProfile(group, name, stats.distinct, stats.codes, stats.steps, *stats.range)
                for group, columns in self._columns.items()
                for name, stats in columns.values()
                if stats.ready
            ]
            profiles += [
                ColumnProfile(name, "", 1, False, 0, 0.0, 1.0, 1.0) for name in self._missing_groups
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
        formula, parameter = recipe.formula, recipe.group.parameter
        if isinstance(formula, PastFormula):
            for basis in recipe.bases.values():
                pairs += formula.features(basis, recipe.clock)
        elif isinstance(formula, ValueFormula):
            source = recipe.group.source
            features = example.groups.get(source, ())
            for feature, value in zip(features, example.as_read(source), strict=True):
                if feature.hashed in recipe.bases:
                    basis = recipe.bases[feature.hashed]
                    pairs += formula.features(parameter, basis, value)
        seed = hash_name(name, 0)
        return [Feature(n, value, hash_name(n, seed)) for n, value in pairs if value != 0.0]

    def code_of(self, name: str, hashed: int) -> int:
        """Return a number for a feature of a derived group that depends on its place.

        That is the place in its column, not the numbers in its name; the hash of a feature that has
        no place.
        """
        if name not in self.recipes:
            return hashed
        if name not in self._codes:
            self._codes[name] = _codes_by_hash(name, self.recipes[name])
        return self._codes[name].get(hashed, hashed)

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
        known = self._centring.knows_centres
        for group, features in example.groups.items():
            columns = self._columns.get(group, {})
            reads = example.reads.get(group) or [None] * len(features)
            values = example.as_read(group)
            for feature, read, value in zip(features, reads, values, strict=True):
                column = columns.get(feature.hashed)
                # Whether a number of the first row is the centre is not known.
                if column is None or (not known and read is not None):
                    continue
                if column.stats.observe(value):
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
        for name, recipe in self.recipes.items():
            if recipe.group.source == group and not recipe.of_label:
                _make_basis(recipe, hashed, column)
                self._codes.pop(name, None)

    def observe_past(self, example: Example) -> None:
        """Update only the groups made from earlier examples."""
        for recipe in self.recipes.values():
            formula = recipe.formula
            if isinstance(formula, PastFormula):
                self._store_example(recipe, formula, example)

    def move_label_origin(self, origin: float) -> None:
        """Set the origin of labels; what is remembered moves along."""
        before = self.label_origin
        for recipe in self.recipes.values() if before is not None else ():
            if recipe.of_label and before is not None:
                past = recipe.bases[0].past
                for i in range(min(len(past), recipe.clock)):
                    past[i] = _beyond(past[i] + before, origin)
        self.label_origin = origin

    def _store_example(self, recipe: Recipe, formula: PastFormula, example: Example) -> None:
        """Add an example to a recipe's past; a column that is not in it counts as its centre."""
        group = recipe.group
        hashes = [feature.hashed for feature in example.groups.get(group.source, ())]
        now = dict(zip(hashes, example.as_read(group.source), strict=True))
        for hashed, basis in recipe.bases.items():
            if recipe.of_label:
                value = example.label or 0.0
                if self.label_origin is not None:
                    value = _beyond(example.target_or_label, self.label_origin)
            else:
                value = now.get(hashed, self._centring.at_rest(group.source, hashed))
            formula.store(group.parameter, basis, recipe.clock, float(np.float32(value)))
        recipe.clock += 1


def _beyond(label: float, origin: float) -> float:
    """Return what a label is beyond the origin, within the range of single precision."""
    return float(np.float32(min(max(label - origin, -FLOAT32_MAX), FLOAT32_MAX)))


def _codes_by_hash(name: str, recipe: Recipe) -> dict[int, int]:
    """Return a number for each feature that a derived group can have: its column's plus its place.

    Of several with the same hash the first one counts.
    """
    seed, codes = hash_name(name, 0), dict[int, int]()
    for column, basis in recipe.bases.items():
        for place, each in enumerate(recipe.formula.names(basis)):
            codes.setdefault(hash_name(each, seed), (column + place) & 0xFFFFFFFF)
    return codes


def _make_basis(recipe: Recipe, hashed: int, column: TrackedColumn) -> None:
    """Set the basis of a column in a derived group, if the column suits it and is ready."""
    formula, parameter = recipe.formula, recipe.group.parameter
    if isinstance(formula, PastFormula):
        if hashed not in recipe.bases:
            recipe.bases[hashed] = formula.basis(parameter, column.name)
    elif isinstance(formula, ValueFormula):
        basis = formula.basis(parameter, column.name, column.stats)
        if basis is not None:
            recipe.bases[hashed] = basis
