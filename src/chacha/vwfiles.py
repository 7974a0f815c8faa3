"""A champion as a file of Vowpal Wabbit, and a file of Vowpal Wabbit as a champion."""

from __future__ import annotations

from collections.abc import Callable
from os import PathLike, fspath
from typing import Any, cast

from chacha.config import Config
from chacha.errors import ConfigError, PoolError
from chacha.losses import Hinge, Logistic, Loss, Poisson, Quantile, Squared
from chacha.pool import LivePool
from chacha.pools.native import NativePool
from chacha.settings import Settings
from chacha.vwmodel import VWModel, read_vw_model

__all__ = ["load_champion", "save_champion", "settings_of"]


def save_champion(pool: LivePool, champion: Config, path: str | PathLike[str]) -> None:
    """Write the champion's model as a VW model file."""
    save = cast("Callable[[Config, Any], None] | None", getattr(pool, "to_vw", None))
    if save is None:
        kind = type(pool).__name__
        raise PoolError(f"{kind} cannot write a VW model; the native pool and the VW pool can")
    save(champion, path)


def settings_of(path: str | PathLike[str], settings: Settings) -> tuple[VWModel, Settings]:
    """The model in a file, and the settings with which it goes on.

    What the file holds about the configuration is the initial one; the loss is the file's too,
    unless another is given.
    """
    found = read_vw_model(path)
    init: dict[str, Any] = {"interactions": found.config.interactions, **found.config.values}
    for key, value in (settings.get("init") or {}).items():
        if key in init and init[key] != value:
            told = f"{key} is {init[key]!r} in {fspath(path)} and {value!r} in init"
            raise ConfigError(f"{told}; leave it out of init")
        init[key] = value
    made: Settings = {**settings, "init": init}
    made.setdefault("loss", _loss(found.config))
    return found, made


def _loss(config: Config) -> Loss:
    named: dict[str, Loss] = {"logistic": Logistic(), "poisson": Poisson(), "hinge": Hinge()}
    name = str(config.values.get("loss_function", "squared"))
    if name == "quantile":
        return Quantile(float(config.values.get("quantile_tau", 0.5)))
    return named.get(name, Squared())


def load_champion(pool: LivePool, champion: Config, found: VWModel) -> None:
    """Give the champion the weights of a file."""
    if not isinstance(pool, NativePool):
        raise PoolError("only the native pool starts from a VW model; leave pool out")
    pool.load_vw(champion, found)
