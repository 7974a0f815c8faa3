"""Leaving: a champion's derived groups for Vowpal Wabbit, frozen in a file and made as text."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from copy import deepcopy
from dataclasses import replace
from typing import Any

from chacha.config.config import Config
from chacha.config.derived_groups import DerivedFeatures, is_missing_group
from chacha.data.example import Example, Feature
from chacha.data.text_parser import parse_line
from chacha.data.vw_text import BREAKS_NAMES, group_of, hash_name, show_exactly
from chacha.errors import fail
from chacha.export.feature_file import FeatureFile, belongs_to, derived_in, digest, features_path
from chacha.features.derivation import Derivation, Recipe
from chacha.intake import Intake
from chacha.losses import loss_of
from chacha.vw.model_file import read_vw_model

__all__ = ["Transform"]

Functions = Mapping[str, Callable[[Any], Mapping[str, float]]]


class Transform:
    """Puts the derived groups of a champion behind the groups of examples, as plain groups.

    What was learned about columns (knots, values) stays as it is. What tells of earlier rows
    (`lag`, `ewma`) goes on with every row that has a label. On such text Vowpal Wabbit, with the
    model file of :meth:`ChaCha.to_vw`, predicts what the champion predicts, to the last bit.

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
    apart
        Other derived groups, which examples lose if they bring them.
    functions
        The functions of groups such as `own(NAME)`, by NAME.
    """

    def __init__(
        self,
        config: Config,
        recipes: Mapping[str, Recipe],
        apart: Iterable[str] = (),
        functions: Functions | None = None,
    ) -> None:
        self.config, self.apart = config, frozenset(apart)
        self.groups = tuple(sorted(recipes))
        self.changed = False  # whether the model file is another than the features were saved for
        used = {name: f for name, f in (functions or {}).items() if f"own({name})" in recipes}
        policy = DerivedFeatures(kinds=(), functions=used)
        self._intake = Intake(loss_of(config.values), policy, config)
        self.reader = self._intake.reader  # sources that are opened with it have what is needed
        self._seeds = {name: hash_name(name, 0) for name in self.groups}
        self._derivation = Derivation()
        self._derivation.recipes.update(deepcopy(dict(recipes)))

    @classmethod
    def of(cls, model: Any) -> Transform:
        """The derived groups of a model's champion, as they are now.

        >>> import chacha
        >>> chacha.Transform.of(chacha.ChaCha()).groups
        ()
        """
        config, policy = model.champion, model.space.features
        known = model._driver.recipes()
        names = {*config.derived, *(g for p in config.interactions for g in p if g in known)}
        functions = None if policy is None else policy.functions
        return cls(config, {name: known[name] for name in names}, known.keys() - names, functions)

    @classmethod
    def load(cls, path: str | os.PathLike[str], functions: Functions | None = None) -> Transform:
        """The derived groups that :meth:`ChaCha.to_vw` saved with a model file.

        A file cannot hold functions; those of groups such as `own(NAME)` are given as `functions`.

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
                told = f"its products have derived groups ({', '.join(lost)}), but {beside}"
                remedy = "put it beside the model, or write both anew (--to-vw, ChaCha.to_vw)"
                already = "a model that learned from transformed text goes on with such text"
                fail(
                    name, f"{told}, which tells how to make them, is not there; {remedy}; {already}"
                )
            return cls(config, {})
        found = FeatureFile.read(beside)
        belongs_to(name, found, beside)
        functions = functions or {}
        needed = [r.made.source for r in found.recipes.values() if r.made.kind == "own"]
        if lacking := [function for function in needed if function not in functions]:
            told = f"own({lacking[0]}) is a function of your own, which a file cannot hold"
            code = f"chacha.Transform.load({name!r}, functions={{{lacking[0]!r}: function}})"
            fail(beside, f"{told}; transform in Python: {code}")
        made = cls(found.config, found.recipes, found.apart, functions)
        made.changed = found.model != digest(name)
        return made

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write what :meth:`load` reads beside the model file `path`, which must be there."""
        recipes = self._derivation.recipes
        file = FeatureFile(self.config, dict(recipes), tuple(sorted(self.apart)), digest(path))
        file.write(features_path(path))

    @property
    def empty(self) -> bool:
        """Whether examples stay as they are.

        >>> import chacha
        >>> chacha.Transform(chacha.Config(), {}).empty
        True
        """
        return not self.groups

    def line(self, text: str) -> str:
        """As :meth:`example`, for a line of VW text."""
        return self.example(parse_line(text)).line

    def example(self, example: Example) -> Example:
        """The example with its derived groups behind the others, sorted by name.

        The label is the one that the learner takes (-1 for 0 where there are two classes).
        Groups that the example brings by those names are used as they are.
        """
        if example.label is not None:
            example = self._intake.labelled(example)
        if self.empty:
            return example
        example = self._intake.own(example)
        texts: list[str] = []
        given: dict[str, list[str]] = {}
        groups = dict(example.groups)
        if any(map(self._is_apart, groups)):
            groups = {name: own for name, own in groups.items() if not self._is_apart(name)}
            for text in example.body.split("|")[1:]:
                name = group_of(text)
                own_texts = given.setdefault(name, []) if self._is_apart(name) else texts
                own_texts.append(f"|{text.rstrip(' ')}")
        else:
            texts.append(example.body.rstrip(" "))
        raw = replace(example, groups=dict(groups))
        for name in self.groups:
            if name in given:
                groups[name] = example.groups[name]
                texts += given[name]
            elif features := self._derivation.make(name, raw):
                groups[name] = features
                texts.append(self._text(name, features))
        if example.label is not None:
            self._derivation.remember(raw)
        return replace(example, groups=groups, body=" ".join(texts) or "|")

    def _is_apart(self, name: str) -> bool:
        """Whether a group that an example brings is a derived one."""
        return is_missing_group(name) or name in self._seeds or name in self.apart

    def _text(self, name: str, features: Iterable[Feature]) -> str:
        """The group as VW text. A name that the text cannot hold is written as its hash."""
        words, seed = [f"|{name}"], self._seeds[name]
        for feature, value, hashed in features:
            word = str((hashed - seed) & 0xFFFFFFFF) if BREAKS_NAMES.search(feature) else feature
            words.append(word if value == 1.0 else f"{word}:{show_exactly(value)[0]}")
        return " ".join(words)
