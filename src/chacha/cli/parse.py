"""Words of the command line, parsed into the objects they mean."""

from __future__ import annotations

import re
from dataclasses import replace
from enum import Enum
from typing import Any

from chacha.config.config import Value
from chacha.config.derived_groups import DEFAULT_KINDS, DerivedFeatures, derived
from chacha.config.space import AUTHORS_RATES, Domain, Interactions, LogUniform, Space, Uniform
from chacha.errors import ConfigError
from chacha.pools.base import LivePool, capabilities_of

__all__ = [
    "RulebookName",
    "default_tune",
    "parse_features",
    "parse_init",
    "parse_space",
    "parse_tune",
]


class RulebookName(Enum):
    """The sets of rules that --rules names.

    >>> RulebookName("paper")
    <RulebookName.PAPER: 'paper'>
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
"""The choices of --tune, with the ranges that are searched."""


def parse_tune(words: str) -> dict[str, Interactions | DerivedFeatures | Domain]:
    """Return the space of a comma list of what to tune; `none` tunes nothing.

    >>> sorted(parse_tune("learning_rate,interactions"))
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


def split_words(text: str) -> list[str]:
    """Return the words of a comma list; commas in parentheses do not separate words.

    >>> split_words("bins, lag(label,3),-cyclic")
    ['bins', 'lag(label,3)', '-cyclic']
    """
    return [word.strip() for word in re.split(r",(?![^(]*\))", text) if word.strip()]


def parse_features(words: str | None, **settings: Any) -> DerivedFeatures:
    """Return the policy that --features describes.

    Kinds restrict it to these kinds. Derived groups are added. A word after a minus is excluded.

    >>> print(parse_features("bins,log"), parse_features("lag(label,3),-cyclic,-id"), sep="\\n")
    DerivedFeatures(bins, log)
    DerivedFeatures(bins, onehot, cyclic, log, missing, lag(label,3), -cyclic, -id)
    """
    parts = split_words(words or "")
    without = [word[1:] for word in parts if word.startswith("-")]
    more = [word for word in parts if derived(word) is not None]
    kinds = [word for word in parts if word in DEFAULT_KINDS]
    for word in parts:
        if word not in (*more, *kinds) and not word.startswith("-"):
            forms = f"kinds ({', '.join(DEFAULT_KINDS)}), groups such as 'lag(label,3)', or -WHAT"
            raise ConfigError(f"--features {word}: give {forms}")
    return DerivedFeatures(kinds=kinds or DEFAULT_KINDS, more=more, without=without, **settings)


def default_tune(pool: LivePool, features: str | None = None) -> str:
    """Return what the recommended rules tune with a pool if there is no --tune.

    If there is --features, derived features are tuned; a pool that cannot use them is refused
    later.

    >>> from chacha import ReferencePool, SequentialPool
    >>> default_tune(ReferencePool())
    'interactions,learning_rate,features'
    >>> default_tune(SequentialPool(lambda config: None))
    'interactions'
    """
    words = ["interactions"]
    words += ["learning_rate"] * (pool.default("learning_rate") is not None)
    words += ["features"] * (features is not None or capabilities_of(pool).derives)
    return ",".join(words)


def parse_space(
    words: str | None, rulebook: RulebookName, pool: LivePool, features: str | None = None
) -> Space:
    """Return the space of --tune and --features, on ranges that fit the rules.

    Without --tune, the rules and the pool decide what is tuned.

    >>> from chacha import NativePool
    >>> parse_space(None, RulebookName.PAPER, NativePool()).to_json()
    {'interactions': 'Interactions(max_order=None)'}
    >>> sorted(parse_space(None, RulebookName.CHACHA, NativePool()).to_json())
    ['features', 'interactions', 'learning_rate']
    """
    recommended = rulebook is RulebookName.CHACHA
    default = default_tune(pool, features) if recommended else "interactions"
    space = Space.of(parse_tune(default if words is None else words))
    if features is not None and space.features is None:
        raise ConfigError("--features is for the recommended rules, and for --tune with features")
    if space.features is not None:
        if not recommended:
            raise ConfigError("--tune features: is for the recommended rules (--rules chacha)")
        on_request = words is not None or features is not None
        space = replace(space, features=parse_features(features, text=on_request))
    return space.with_recommended_rates() if recommended else space


def _value(text: str) -> Value:
    if text in ("true", "on", "false", "off"):
        return text in ("true", "on")
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def parse_init(settings: list[str]) -> dict[str, Any]:
    """Return the initial values of KEY=VALUE words.

    Products are `interactions=ab,user*item`, derived groups `features=bins(temp,16),log(x)`.

    >>> parse_init(["learning_rate=0.1", "interactions=ab,user*item"])
    {'learning_rate': 0.1, 'interactions': [('a', 'b'), ('user', 'item')]}
    """
    values: dict[str, Any] = {}
    for setting in settings:
        key, equals, text = setting.partition("=")
        if not equals or not key or not text:
            raise ConfigError(f"--init needs KEY=VALUE, got {setting!r}")
        if key == "features":
            values[key] = split_words(text)
        elif key == "interactions":
            words = split_words(text)
            values[key] = [tuple(w.split("*")) if "*" in w else tuple(w) for w in words]
        else:
            values[key] = _value(text)
    return values
