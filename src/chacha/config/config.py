"""Config: one configuration of the learner, immutable and hashable, with a canonical form."""

from __future__ import annotations

import math
import shlex
from bisect import bisect_left
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any
from weakref import WeakValueDictionary

from chacha.config.derived_groups import sorted_derived_names
from chacha.data.vw_text import BREAKS_NAMES, escape
from chacha.errors import ConfigError

__all__ = ["LOG", "Config", "Product", "Value", "canonical", "product", "show", "show_product"]

Product = tuple[str, ...]
"""A product of groups: their names, sorted. ('a', 'b') is VW's `-q ab`."""

Value = float | int | str | bool


def product(names: Iterable[str]) -> Product:
    """Return the canonical form of a product of groups; single letters may be one word.

    >>> product("ba"), product(["user", "item"])
    (('a', 'b'), ('item', 'user'))
    """
    groups = tuple(names) if isinstance(names, Iterable) else ()
    if len(groups) < 2 or not all(isinstance(name, str) and name for name in groups):
        raise ConfigError(f"a product needs at least two group names, got {names!r}")
    for name in groups:
        if BREAKS_NAMES.search(name) and name != " ":
            raise ConfigError(
                f"a group's name has no white space, ':' or '|', got {name!r}; "
                f"a column of that name is the group {escape(name)!r}"
            )
    return tuple(sorted(groups))


def canonical(key: str, value: Any) -> Value:
    """Return a value in canonical form: floats have 12 significant digits.

    >>> canonical("learning_rate", 0.5000000000000027)
    0.5
    """
    if isinstance(value, (bool, str)):
        return value
    if isinstance(value, (int, float)) or hasattr(value, "__float__"):
        number = value if isinstance(value, int) else float(f"{float(value):.12g}") + 0.0
        if not math.isfinite(number):
            raise ConfigError(f"{key} must be finite, got {value!r}")
        return number
    raise ConfigError(f"{key} must be a number, a word or a bool, got {value!r}")


def show(value: Value) -> str:
    """Return a value as text for people and for VW.

    >>> show(0.5), show(2e-10), show("squared"), show(True)
    ('0.5', '2e-10', 'squared', 'on')
    """
    if isinstance(value, bool):
        return "on" if value else "off"
    return f"{value:.12g}" if isinstance(value, float) else str(value)


def show_product(names: Product) -> str:
    """Return a product as text: single letters run together, names joined by `*`.

    >>> show_product(("a", "b")), show_product(("item", "user"))
    ('ab', 'item*user')
    """
    if all(len(name) == 1 and not name.isspace() for name in names):
        return "".join(names)
    return "*".join(f"'{name}'" if name.isspace() else name for name in names)


def _order(p: Product) -> tuple[int, Product]:
    return len(p), p


_SLOTS = ("interactions", "values", "derived", "target", "started", "_key", "_hash")
LOG = "log"
"""The target of models that learn the logarithm of the label."""


_KNOWN: WeakValueDictionary[tuple[Any, ...], Config] = WeakValueDictionary()


@dataclass(frozen=True, slots=True, repr=False, weakref_slot=True)
class Config:
    """A configuration (c in the paper): products of groups, values of options, derived groups.

    Products are a set: order and repetition do not matter. Two configurations with the same
    meaning are equal and print alike. A derived group (:mod:`chacha.config.derived_groups`) in a
    product is also in `derived`; a name that is only in products means a raw group. `target` says
    whether models learn the label or its logarithm, and `started` after how many examples the
    first of them started empty; models with other values of these cannot be copies of each other.

    >>> c = Config(["ba", "cd", "ab"], {"learning_rate": 0.25})
    >>> print(c)
    interactions ab, cd; learning_rate 0.25
    >>> c == Config(["dc", "ab"], {"learning_rate": 0.250000000000003})
    True
    >>> print(c.vw_args())  # doctest: +NORMALIZE_WHITESPACE
    --experimental_full_name_interactions 'a|b'
    --experimental_full_name_interactions 'c|d' --learning_rate 0.25
    >>> print(Config(values={"l2": 0.1}, derived=["bins(a,16)"]))
    features bins(a,16); no interactions; l2 0.1
    """

    interactions: tuple[Product, ...] = ()
    values: Mapping[str, Value] = field(default_factory=dict)
    derived: tuple[str, ...] = ()
    target: str = ""
    started: int = 0
    _key: tuple[Any, ...] = field(init=False, repr=False, compare=False)
    _hash: int = field(init=False, repr=False, compare=False)

    def __init__(
        self,
        interactions: Iterable[Iterable[str]] = (),
        values: Mapping[str, Any] | None = None,
        derived: Iterable[str] = (),
        target: str = "",
        started: int = 0,
    ) -> None:
        if target not in ("", LOG):
            raise ConfigError(f"target must be '' or 'log', got {target!r}")
        if isinstance(interactions, str) or not isinstance(interactions, Iterable):
            raise ConfigError(f"interactions must be a list of products, got {interactions!r}")
        pairs = {key: canonical(key, value) for key, value in sorted((values or {}).items())}
        products = sorted({product(p) for p in interactions}, key=_order)
        self._set(products, pairs, sorted_derived_names(derived), target, started)

    def _set(
        self,
        products: Iterable[Product],
        values: Mapping[str, Value],
        derived: tuple[str, ...],
        target: str,
        started: int,
    ) -> None:
        items = tuple((k, isinstance(v, bool), v) for k, v in values.items())
        key = tuple(products), items, derived, target, started
        fields = key[0], MappingProxyType(values), derived, target, started, key, hash(key)
        for name, value in zip(_SLOTS, fields, strict=True):
            object.__setattr__(self, name, value)

    def _with(
        self,
        products: Iterable[Product] | None = None,
        values: Mapping[str, Value] | None = None,
        derived: tuple[str, ...] | None = None,
        target: str | None = None,
        started: int | None = None,
    ) -> Config:
        """Return this configuration with other parts, which are canonical already.

        Equal ones are the same object, because many models try the same configurations.
        """
        config = object.__new__(Config)
        values = self.values if values is None else values
        config._set(
            self.interactions if products is None else products,
            dict(values),
            self.derived if derived is None else derived,
            self.target if target is None else target,
            self.started if started is None else started,
        )
        types = tuple(map(type, values.values()))  # 1 equals 1.0, and is another value
        return _KNOWN.setdefault((config._key, types), config)

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Config) and self._key == other._key

    def __repr__(self) -> str:
        words = [f"interactions={self.interactions!r}", f"values={self.values!r}"]
        words += [f"derived={self.derived!r}"] * bool(self.derived)
        words += [f"target={self.target!r}"] * bool(self.target)
        words += [f"started={self.started}"] * bool(self.started)
        return f"Config({', '.join(words)})"

    def __reduce__(self) -> tuple[Any, ...]:
        parts = self.interactions, dict(self.values), self.derived, self.target, self.started
        return Config, parts

    def __str__(self) -> str:
        products = ", ".join(map(show_product, self.interactions))
        parts = [f"features {', '.join(self.derived)}"] if self.derived else []
        parts += [f"interactions {products}" if products else "no interactions"]
        parts += [f"{key} {show(value)}" for key, value in self.values.items()]
        parts += [f"target {self.target}"] * bool(self.target)
        return "; ".join(parts + [f"started after {self.started}"] * bool(self.started))

    def with_product(self, names: Iterable[str]) -> Config:
        """Return this configuration with one more product.

        >>> print(Config().with_product("ab"))
        interactions ab
        """
        return self.with_products([product(names)])

    def with_products(self, products: Iterable[Product]) -> Config:
        """Return this configuration with more products, given in canonical form.

        >>> print(Config(["ab"]).with_products([("a", "c"), ("a", "b")]))
        interactions ab, ac
        """
        merged = list(self.interactions)
        for p in products:
            at = bisect_left(merged, _order(p), key=_order)
            if at == len(merged) or merged[at] != p:
                merged.insert(at, p)
        return self._with(merged)

    def without_product(self, product: Product) -> Config:
        """Return this configuration with one product less.

        >>> print(Config(["ab", "cd"]).without_product(("a", "b")))
        interactions cd
        """
        return self._with([p for p in self.interactions if p != product])

    def with_derived(self, names: Iterable[str]) -> Config:
        """Return this configuration with more derived groups.

        >>> print(Config().with_derived(["bins(temp,16)"]))
        features bins(temp,16); no interactions
        """
        return self._with(derived=sorted_derived_names([*self.derived, *names]))

    def without_derived(self, name: str) -> Config:
        """Return this configuration with one derived group less, and without its products.

        >>> full = Config([("a", "log(b)"), "ab"], {}, ["log(b)"])
        >>> print(full.without_derived("log(b)"))
        interactions ab
        """
        products = [p for p in self.interactions if name not in p]
        derived = tuple(other for other in self.derived if other != name)
        return self._with(products, derived=derived)

    def with_values(self, **values: Value) -> Config:
        """Return this configuration with some values replaced.

        >>> print(Config().with_values(learning_rate=0.1))
        no interactions; learning_rate 0.1
        """
        changed = {key: canonical(key, value) for key, value in values.items()}
        merged = dict(sorted({**self.values, **changed}.items()))
        return self._with(values=merged)

    def with_target(self, target: str, started: int) -> Config:
        """Return this configuration for a model that starts empty after so many examples.

        >>> print(Config(["ab"]).with_target("log", 5000))
        interactions ab; target log; started after 5000
        """
        return self._with(target=target, started=started)

    def as_started(self, other: Config) -> Config:
        """Return this configuration for a model that goes on from one of `other`.

        >>> print(Config(["ab"]).as_started(Config().with_target("", 5000)))
        interactions ab; started after 5000
        """
        return self._with(target=other.target, started=other.started)

    def starts_empty(self, champion: Config) -> bool:
        """Return whether a model of this configuration cannot go on from one of `champion`.

        >>> late = Config().with_target("", 9)
        >>> Config(["ab"]).starts_empty(Config()), late.starts_empty(Config())
        (False, True)
        """
        return (self.target, self.started) != (champion.target, champion.started)

    def since(self, other: Config) -> str:
        """Return the differences from `other` as short text.

        >>> Config(["ab"], {"l2": 0.1}).since(Config(["cd"], {"l2": 0.2}))
        '+ab -cd l2 0.1'
        >>> Config().since(Config())
        '='
        """
        return " ".join(self.changes(other)) or "="

    def changes(self, other: Config) -> list[str]:
        """Return the differences from `other`: groups and products, then values.

        >>> Config(["ab"], {"l2": 0.1}).changes(Config(["cd"], {"l2": 0.2}))
        ['+ab', '-cd', 'l2 0.1']
        """
        words = [f"+{name}" for name in self.derived if name not in other.derived]
        words += [f"-{name}" for name in other.derived if name not in self.derived]
        mine, theirs = set(self.interactions), set(other.interactions)
        words += [f"+{show_product(p)}" for p in self.interactions if p not in theirs]
        words += [f"-{show_product(p)}" for p in other.interactions if p not in mine]
        words += [f"{k} {show(v)}" for k, v in self.values.items() if other.values.get(k) != v]
        if self.target != other.target:
            words.append(f"target {self.target or 'label'}")
        elif self.started != other.started:
            words.append("anew")
        return words

    def vw_arg_list(self) -> list[str]:
        """Return the words of VW's command line. A switch is included if it is True.

        Products are written with full names, so that groups may share a first letter.

        >>> Config([("user", "item")], {"noconstant": True}).vw_arg_list()
        ['--experimental_full_name_interactions', 'item|user', '--noconstant']
        """
        words: list[str] = []
        for names in self.interactions:
            words += _option("experimental_full_name_interactions", "|".join(names))
        for key, value in self.values.items():
            if isinstance(value, bool):
                words += [f"--{key}"] * value
            else:
                words += _option(key, show(value))
        return words

    def vw_args(self) -> str:
        """Return VW's command line, quoted for a shell.

        >>> Config([("user", "item")]).vw_args()
        "--experimental_full_name_interactions 'item|user'"
        """
        return shlex.join(self.vw_arg_list())

    def to_json(self) -> dict[str, Any]:
        """Return a JSON object that :meth:`from_json` reads back exactly.

        >>> Config.from_json(Config(["ab"], {"l2": 0.1}).to_json()) == Config(["ab"], {"l2": 0.1})
        True
        """
        return {
            "interactions": [list(p) for p in self.interactions],
            "values": dict(self.values),
            "features": list(self.derived),
            **({"target": self.target} if self.target else {}),
            **({"started": self.started} if self.started else {}),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Config:
        """Return the configuration that :meth:`to_json` wrote.

        >>> print(Config.from_json({"interactions": [["b", "a"]], "values": {}}))
        interactions ab
        """
        try:
            more = data.get("features", ()), data.get("target", ""), data.get("started", 0)
            return cls(data["interactions"], data["values"], *more)
        except (KeyError, TypeError) as error:
            raise ConfigError(f"not a configuration: {data!r}") from error


def _option(key: str, text: str) -> list[str]:
    """Return the words of an option; VW would read a value with a leading dash as an option."""
    return [f"--{key}={text}"] if text.startswith("-") else [f"--{key}", text]
