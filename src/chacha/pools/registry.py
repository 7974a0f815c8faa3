"""Pools by name: those of chacha, and those that other packages add."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from inspect import Signature, signature
from typing import Any

from chacha.errors import ChaChaError, ConfigError, PoolError
from chacha.pools.base import LivePool

__all__ = ["POOLS", "default_pool", "open_pool", "pool_names"]

GROUP = "chacha.pools"
POOLS = {
    "native": "chacha.pools.native:NativePool",
    "vw": "chacha.pools.vw:VWPool",
    "reference": "chacha.pools.reference:ReferencePool",
    "river": "chacha.pools.river:RiverPool",
}
"""The names of chacha's pools, each with its module and class."""


def default_pool() -> LivePool:
    """Return the default pool: the native one.

    >>> type(default_pool()).__name__
    'NativePool'
    """
    return open_pool("native")


def pool_names() -> list[str]:
    """Return the names that :func:`open_pool` takes: chacha's, then those of other packages.

    >>> pool_names()[:4]
    ['native', 'vw', 'reference', 'river']
    """
    return [*POOLS, *sorted(_entry_points().keys() - POOLS.keys())]


def open_pool(name: str) -> LivePool:
    """Return a new pool by its name on the command line, `NAME` or `NAME:ARGUMENT`.

    | name | argument |
    |---|---|
    | `native` | the engine's kernel: `plain`, `avx2` or `avx512`; the fastest if left out |
    | `vw` | none; VW's options are values of the configurations |
    | `reference` | none |
    | `river` | a regressor or classifier of River: `linear_model.LinearRegression` |

    The library of a pool is imported only now. Another package adds a name with an entry point::

        [project.entry-points."chacha.pools"]
        mine = "my_package.pools:MyPool"

    `open_pool("mine")` then calls `MyPool()`, and `open_pool("mine:ARGUMENT")` calls
    `MyPool("ARGUMENT")`.

    >>> open_pool("reference").default("learning_rate")
    0.5
    >>> open_pool("native:plain").kernel
    'plain'
    >>> open_pool("abacus")
    Traceback (most recent call last):
    chacha.errors.ConfigError: there is no pool 'abacus'; choose from native, vw, reference, river
    >>> open_pool("reference:fast")
    Traceback (most recent call last):
    chacha.errors.ConfigError: pool 'reference:fast': reference takes no argument; leave ':fast' out
    """
    kind, colon, argument = name.partition(":")
    make = _maker(kind)
    parameters = signature(make)
    if colon and not _takes(parameters, argument):
        raise ConfigError(f"pool {name!r}: {kind} takes no argument; leave ':{argument}' out")
    if not (argument or _takes(parameters)):
        word = next(iter(parameters.parameters)).upper()
        raise ConfigError(f"pool {name!r}: {kind} needs an argument, {kind}:{word}")
    if colon and not argument:
        raise ConfigError(f"pool {name!r}: the argument is empty; leave the colon out")
    return make(argument) if colon else make()


def _takes(parameters: Signature, *arguments: str) -> bool:
    """Return whether a call with these arguments is possible."""
    try:
        parameters.bind(*arguments)
    except TypeError:
        return False
    return True


def _maker(name: str) -> Callable[..., LivePool]:
    """Return the class or function that makes the pools of a name."""
    if name in POOLS:
        module, _, attribute = POOLS[name].partition(":")
        return getattr(import_module(module), attribute)  # type: ignore[no-any-return]
    if (entry_point := _entry_points().get(name)) is None:
        raise ConfigError(f"there is no pool {name!r}; choose from {', '.join(pool_names())}")
    try:
        return entry_point.load()  # type: ignore[no-any-return]
    except ChaChaError:
        raise
    except Exception as error:
        package = entry_point.dist.name if entry_point.dist else entry_point.value
        raise PoolError(f"pool {name!r} of {package} cannot be imported: {error}") from error


def _entry_points() -> Mapping[str, Any]:
    """Return the entry points of other packages by name; `import chacha` does not need this."""
    metadata = import_module("importlib.metadata")
    return {point.name: point for point in metadata.entry_points(group=GROUP)}
