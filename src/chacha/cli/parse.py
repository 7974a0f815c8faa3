"""Words of the command line, and the objects they mean. Nowhere else are there such words."""

from __future__ import annotations

import re
from dataclasses import replace
from enum import Enum
from typing import Any

from chacha.config.config import Value
from chacha.config.derived_groups import DEFAULT_KINDS, DerivedFeatures, derived
from chacha.config.space import AUTHORS_RATES, Domain, Interactions, LogUniform, Space, Uniform
from chacha.errors import ConfigError
from chacha.losses import LOSSES, Loss, Quantile

__all__ = ["Rules", "features_named", "init_values", "loss_named", "space_of", "tuned"]


class Rules(Enum):
    """The rulebooks.

    >>> Rules("paper")
    <Rules.PAPER: 'paper'>
    """

    CHACHA = "chacha"
    PAPER = "paper"
    FLAML = "flaml"


TUNABLE: dict[str, Interactions | DerivedFeatures | Domain] = {
    "interactions": Interactions(),
    "learning_rate": AUTHORS_RATES,
    "power_t": Uniform(0.0, 1.0),
    "l1": LogUniform(1e-10, 1e-2),
    "l2": LogUniform(1e-10, 1e-2),
    "features": DerivedFeatures(),
}
"""What --tune offers, with the ranges it searches."""


def tuned(words: str) -> dict[str, Interactions | DerivedFeatures | Domain]:
    """The space of a comma list of what to tune; `none` tunes nothing.

    >>> sorted(tuned("learning_rate,interactions"))
    ['interactions', 'learning_rate']
    """
    names = [word.strip() for word in words.split(",") if word.strip()]
    if names == ["none"]:
        return {}
    for name in names:
        if name not in TUNABLE:
            raise ConfigError(f"--tune {name}: choose from {', '.join(TUNABLE)}")
    if not names:
        raise ConfigError(f"--tune needs a comma list of {', '.join(TUNABLE)}")
    return {name: TUNABLE[name] for name in names}


def words_of(text: str) -> list[str]:
    """The words of a comma list; commas in brackets do not part them.

    >>> words_of("bins, lag(label,3),-cyclic")
    ['bins', 'lag(label,3)', '-cyclic']
    """
    return [word.strip() for word in re.split(r",(?![^(]*\))", text) if word.strip()]


def features_named(told: str | None, **settings: Any) -> DerivedFeatures:
    """Which derived groups --features means.

    Kinds: only those. Derived groups: those too. With a minus before it: never that.

    >>> print(features_named("bins,log"), features_named("lag(label,3),-cyclic,-id"))
    DerivedFeatures(bins, log) DerivedFeatures(bins, onehot, cyclic, log, missing, lag(label,3), -cyclic, -id)
    """
    words = words_of(told or "")
    without = [word[1:] for word in words if word.startswith("-")]
    more = [word for word in words if derived(word) is not None]
    kinds = [word for word in words if word in DEFAULT_KINDS]
    for word in words:
        if word not in (*more, *kinds) and not word.startswith("-"):
            forms = f"kinds ({', '.join(DEFAULT_KINDS)}), groups such as 'lag(label,3)', or -WHAT"
            raise ConfigError(f"--features {word}: give {forms}")
    return DerivedFeatures(kinds=kinds or DEFAULT_KINDS, more=more, without=without, **settings)


def space_of(words: str | None, rules: Rules, features: str | None = None) -> Space:
    """What is tuned: by default what the rules are made for, on ranges that fit them.

    >>> space_of(None, Rules.PAPER).to_json()
    {'interactions': 'Interactions(max_order=None)'}
    >>> sorted(space_of(None, Rules.CHACHA).to_json())
    ['features', 'interactions', 'learning_rate']
    """
    recommended = rules is Rules.CHACHA
    default = "interactions,learning_rate,features" if recommended else "interactions"
    space = Space.of(tuned(default if words is None else words))
    if features is not None and space.features is None:
        raise ConfigError("--features is for the recommended rules, and for --tune with features")
    if space.features is not None:
        if not recommended:
            raise ConfigError("--tune features: is for the recommended rules (--rules chacha)")
        asked = words is not None or features is not None
        space = replace(space, features=features_named(features, text=asked))
    return space.with_recommended_rates() if recommended else space


def loss_named(name: str) -> Loss:
    """The loss that a word on the command line means.

    >>> loss_named("quantile:0.9")
    Quantile(tau=0.9)
    """
    word, colon, argument = name.partition(":")
    if word == "quantile":
        try:
            return Quantile(float(argument) if colon else 0.5)
        except ValueError as error:
            raise ConfigError(f"quantile:TAU needs a number between 0 and 1, got {name}") from error
    if name not in LOSSES:
        choices = ", ".join(LOSSES).replace("quantile", "quantile:TAU")
        raise ConfigError(f"there is no loss {name!r}; choose from {choices}")
    return LOSSES[name]()


def _value(text: str) -> Value:
    if text in ("true", "on", "false", "off"):
        return text in ("true", "on")
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def init_values(settings: list[str]) -> dict[str, Any]:
    """Initial values from KEY=VALUE words; products as `interactions=ab,user*item`.

    Derived groups as `features=bins(temp,16),log(x)`.

    >>> init_values(["learning_rate=0.1", "interactions=ab,user*item"])
    {'learning_rate': 0.1, 'interactions': [('a', 'b'), ('user', 'item')]}
    """
    values: dict[str, Any] = {}
    for setting in settings:
        key, equals, text = setting.partition("=")
        if not equals or not key or not text:
            raise ConfigError(f"--init needs KEY=VALUE, got {setting!r}")
        if key == "features":
            values[key] = words_of(text)
        elif key == "interactions":
            words = words_of(text)
            values[key] = [tuple(w.split("*")) if "*" in w else tuple(w) for w in words]
        else:
            values[key] = _value(text)
    return values
