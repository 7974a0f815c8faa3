"""A champion's stream for Vowpal Wabbit: numbers centred, derived groups written out as text."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from copy import deepcopy
from dataclasses import replace
from typing import Any

from chacha.config.config import Config
from chacha.config.derived_groups import DerivedFeatures
from chacha.config.derived_kinds import is_missing_group
from chacha.data.example import Example, Feature
from chacha.data.label_map import LabelMap
from chacha.data.text_parser import parse_line
from chacha.data.vw_text import BREAKS_NAMES, group_of, hash_name, show_exactly
from chacha.errors import fail
from chacha.export.feature_file import FeatureFile, belongs_to, derived_in, digest, features_path
from chacha.features.centring import Centre, Centring, ColumnKey
from chacha.features.derivation import Derivation, Recipe
from chacha.intake import Intake
from chacha.losses import loss_of
from chacha.tasks import task_of
from chacha.vw.model_file import read_vw_model
from chacha.vw.relabel import fresh_options

__all__ = ["Transform"]

Functions = Mapping[str, Callable[[Any], Mapping[str, float]]]


class Transform:
    """Turns examples into those that a champion learns: centred, with derived groups as plain ones.

    What was learned about columns (centres, knots, distinct values) no longer changes. Groups made
    from earlier rows (`lag`, `ewma`) are updated with every row that has a label. On the resulting
    text, Vowpal Wabbit with the model file of :meth:`ChaCha.to_vw` predicts what the champion
    predicts: to the last bit, or up to rounding if labels are learned in units of their scale.

    >>> import chacha
    >>> init = {"features": ["bins(temp,3)"], "interactions": [("bins(temp,3)", "hour")]}
    >>> model = chacha.ChaCha(budget=1, init=init)
    >>> for i in range(300):
    ...     _ = model.learn_one(f"{i % 7} |temp c:{i % 50 + 1} |hour {i % 24}")
    >>> transform = chacha.Transform.of(model)
    >>> transform.line("1 |temp c:13 |hour 7")
    '1 |temp c:13 |hour 7 |bins(temp,3) c@1:0.5 c@25:0.5'

    Parameters
    ----------
    config
        The configuration of the champion.
    recipes
        Its derived groups, with what was learned about their columns.
    excluded
        Names of other derived groups, which are removed from examples that contain them.
    functions
        The user functions of groups such as `own(NAME)`, by NAME.
    centres
        The centres of numeric columns, by group and hash. Numbers of tables and dicts are
        centred; VW text has none.
    label_map
        How the champion learns labels; None: as they are. Labels are written as they are.
    label_origin
        Groups of the label are made of what labels are beyond it; None: of labels as they are.
    label_range
        Within which the champion predicts; None if that is not known.
    """

    def __init__(
        self,
        config: Config,
        recipes: Mapping[str, Recipe],
        excluded: Iterable[str] = (),
        functions: Functions | None = None,
        centres: Mapping[ColumnKey, Centre] | None = None,
        label_map: LabelMap | None = None,
        label_origin: float | None = None,
        label_range: tuple[float, float] | None = None,
    ) -> None:
        self.config, self.excluded, self.label_map = config, frozenset(excluded), label_map
        self.label_range = label_range
        self.centres = dict(centres or {})
        self.groups = tuple(sorted(recipes))
        self.changed = False  # whether the model file changed after the feature file was saved
        used = {name: f for name, f in (functions or {}).items() if f"own({name})" in recipes}
        policy = DerivedFeatures(kinds=(), functions=used)
        task, centred = task_of(loss_of(config.values)), bool(self.centres)
        self._intake = Intake(task, policy, config, with_numbers=centred)
        # Sources opened with it provide missing cells, rows, and numbers before they are rounded.
        self.reader = self._intake.reader
        self._centring = Centring()
        if centred:
            self._centring.set_centres(self.centres)
        self._seeds = {name: hash_name(name, 0) for name in self.groups}
        self._derivation = Derivation(centring=self._centring)
        self._derivation.label_origin = label_origin
        self._derivation.recipes.update(deepcopy(dict(recipes)))

    @classmethod
    def of(cls, model: Any) -> Transform:
        """Return a transform with the centres and derived groups of a champion, as they are now.

        >>> import chacha
        >>> chacha.Transform.of(chacha.ChaCha()).groups
        ()
        """
        config, policy = model.champion, model.space.features
        driver = model._driver
        recipes = driver.recipes()
        names = {*config.derived, *(g for p in config.interactions for g in p if g in recipes)}
        functions = None if policy is None else policy.functions
        used = {name: recipes[name] for name in names}
        excluded, centres = recipes.keys() - names, driver.centres()
        labels = driver.label_map(), driver.label_origin(), driver.label_range
        return cls(config, used, excluded, functions, centres, *labels)

    @classmethod
    def load(cls, path: str | os.PathLike[str], functions: Functions | None = None) -> Transform:
        """Return the transform that :meth:`ChaCha.to_vw` saved with a model file.

        A file cannot contain functions: pass those of groups such as `own(NAME)` as `functions`.

        >>> import chacha
        >>> chacha.Transform.load("nowhere.vw")
        Traceback (most recent call last):
        chacha.errors.PoolError: nowhere.vw: cannot be read: No such file or directory
        """
        name = os.fspath(path)
        beside = features_path(name)
        if not os.path.lexists(beside):
            config = read_vw_model(name).config
            if lost := derived_in(config):
                fail(
                    name,
                    f"its products have derived groups ({', '.join(lost)}), but {beside}, which "
                    "describes them, does not exist; put it next to the model, or write both again "
                    "(--to-vw, ChaCha.to_vw); a model that learned from transformed text needs no "
                    "such file: it continues with such text",
                )
            return cls(config, {})
        file = FeatureFile.read(beside)
        belongs_to(name, file, beside)
        functions = functions or {}
        needed = [r.group.source for r in file.recipes.values() if r.group.kind == "own"]
        if lacking := [function for function in needed if function not in functions]:
            problem = f"own({lacking[0]}) is a function of yours, which a file cannot contain"
            code = f"chacha.Transform.load({name!r}, functions={{{lacking[0]!r}: function}})"
            fail(beside, f"{problem}; transform in Python: {code}")
        parts = (file.config, file.recipes, file.excluded, functions)
        labels = file.label_map, file.label_origin, file.label_range
        transform = cls(*parts, file.centres, *labels)
        transform.changed = file.model != digest(name)
        return transform

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the file that :meth:`load` reads, next to the existing model file `path`."""
        recipes, excluded = dict(self._derivation.recipes), tuple(sorted(self.excluded))
        parts = (self.config, recipes, excluded, digest(path))
        origin = self._derivation.label_origin
        file = FeatureFile(*parts, self.centres, self.label_map, origin, self.label_range)
        file.write(features_path(path))

    @property
    def empty(self) -> bool:
        """Whether there is no derived group, centre or logarithm: examples stay as they are.

        >>> import chacha
        >>> chacha.Transform(chacha.Config(), {}).empty
        True
        """
        mapped = self.label_map is not None and self.label_map.logarithm
        return not self.groups and not self.centres and not mapped

    @property
    def vw_args(self) -> str | None:
        """VW's options for a new model on the text; None if VW has no such model.

        >>> import chacha
        >>> chacha.Transform(chacha.Config(["ab"]), {}).vw_args
        "--experimental_full_name_interactions 'a|b'"
        """
        options = fresh_options(self.config, self.label_map, self.label_range)
        return None if options is None else options.vw_args()

    def line(self, text: str) -> str:
        """Return a line of VW text with its derived groups, as :meth:`example` does."""
        return self.example(parse_line(text)).line

    def example(self, example: Example) -> Example:
        """Return the example with its derived groups after the others, sorted by name.

        Numbers of rows and dicts are centred; they must have been read with :attr:`reader`.
        The label is in the learner's form (-1 instead of 0 if there are two classes). Groups of
        these names that the example already contains are used as they are.
        """
        learned = example
        if example.label is not None:
            learned = example = self._intake.labelled(example)
            if self.label_map is not None and self.label_map.logarithm:
                example = example.with_label(self.label_map.mapped(example.target_or_label))
        if self.empty:
            return example
        example = self._centring.apply(self._intake.own_functions(example))
        texts: list[str] = []
        supplied: dict[str, list[str]] = {}  # the texts of derived groups in the example
        groups = dict(example.groups)
        if any(map(self._is_derived, groups)):
            groups = {name: fs for name, fs in groups.items() if not self._is_derived(name)}
            for text in example.body.split("|")[1:]:
                name = group_of(text)
                target = supplied.setdefault(name, []) if self._is_derived(name) else texts
                target.append(f"|{text.rstrip(' ')}")
        else:
            texts.append(example.body.rstrip(" "))
        raw = replace(example, groups=dict(groups))
        for name in self.groups:
            if name in supplied:
                groups[name] = example.groups[name]
                texts += supplied[name]
            elif features := self._derivation.features_of(name, raw):
                groups[name] = features
                texts.append(self._text(name, features))
        if example.label is not None:
            raw = replace(raw, label=learned.label, target=learned.target)  # not its logarithm
            self._derivation.observe_past(raw)
        return replace(example, groups=groups, body=" ".join(texts) or "|")

    def _is_derived(self, name: str) -> bool:
        """Return whether a group in an example is a derived one."""
        return is_missing_group(name) or name in self._seeds or name in self.excluded

    def _text(self, name: str, features: Iterable[Feature]) -> str:
        """Return a group as VW text. A name that the text cannot contain is written as its hash."""
        words, seed = [f"|{name}"], self._seeds[name]
        for feature, value, hashed in features:
            word = str((hashed - seed) & 0xFFFFFFFF) if BREAKS_NAMES.search(feature) else feature
            words.append(word if value == 1.0 else f"{word}:{show_exactly(value)[0]}")
        return " ".join(words)
