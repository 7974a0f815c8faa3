"""A champion as a file of Vowpal Wabbit, and a file of Vowpal Wabbit as a champion."""

from __future__ import annotations

from collections.abc import Callable
from os import PathLike, fspath
from os.path import exists
from pathlib import Path
from typing import Any, cast

from chacha.config.config import Config
from chacha.errors import ConfigError, PoolError, fail
from chacha.export.feature_file import derived_in, features_path
from chacha.export.transform import Transform
from chacha.losses import loss_of
from chacha.pools.native import NativePool
from chacha.rulebook import Settings
from chacha.vw.model_file import VWModel, read_vw_model

__all__ = ["load_champion", "save_champion", "settings_of"]


def save_champion(model: Any, path: str | PathLike[str]) -> None:
    """Write the champion of a model as a VW model file, with its derived groups beside it.

    What stood there of another model is removed, so that it misleads nobody.
    """
    save = cast("Callable[[Config, Any], None] | None", getattr(model.pool, "to_vw", None))
    if save is None:
        kind = type(model.pool).__name__
        raise PoolError(f"{kind} cannot write a VW model; the native pool and the VW pool can")
    transform = Transform.of(model)
    save(model.champion, path)
    beside = features_path(path)
    try:
        Path(beside).unlink(missing_ok=True)
    except OSError as error:
        fail(beside, f"it is of another model and cannot be removed: {error.strerror}", error)
    if not transform.empty:
        transform.save(path)


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
    made.setdefault("loss", loss_of(found.config.values))
    return found, made


def load_champion(model: Any, found: VWModel, path: str | PathLike[str]) -> None:
    """Give the champion of a model the weights of a file.

    Derived groups in the file are those of transformed text: plain groups, which go on as such.
    """
    if not isinstance(model.pool, NativePool):
        raise PoolError("only the native pool starts from a VW model; leave pool out")
    derives = bool(derived_in(found.config)) or exists(features_path(path))
    features = model.space.features
    if derives and features is not None and features.text:
        told = f"{fspath(path)} is of a champion with derived groups, and goes on with the text of"
        remedy = "leave features out of what is tuned"
        raise ConfigError(f"{told} chacha transform, where they are plain groups; {remedy}")
    model.pool.load_vw(model.champion, found)
