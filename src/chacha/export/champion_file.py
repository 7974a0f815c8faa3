"""The champion as a Vowpal Wabbit model file, and a model file as the first champion."""

from __future__ import annotations

from dataclasses import replace
from os import PathLike, fspath
from os.path import exists
from pathlib import Path
from typing import Any

from chacha.errors import ConfigError, PoolError, fail
from chacha.export.feature_file import derived_in, features_path
from chacha.export.transform import Transform
from chacha.losses import loss_of
from chacha.pools.base import capabilities_of
from chacha.rules.contest.contest import ContestRules
from chacha.specification import Settings
from chacha.vw.model_file import VWModel, read_vw_model

__all__ = ["load_champion", "save_champion", "settings_of"]


def save_champion(model: Any, path: str | PathLike[str]) -> None:
    """Write the champion of a model as a VW model file, with a file of its centres and groups.

    A file of that kind from another model in the same place is removed, because it would not match.
    """
    pool = model._driver.pool  # model.pool, or one around it where labels are scaled
    if not capabilities_of(pool).exports:
        kind = type(model.pool).__name__
        raise PoolError(f"{kind} cannot write a VW model; the native pool and the VW pool can")
    transform = Transform.of(model)
    pool.to_vw(model.champion, path)
    beside = features_path(path)
    try:
        Path(beside).unlink(missing_ok=True)
    except OSError as error:
        fail(beside, f"belongs to another model and cannot be removed: {error.strerror}", error)
    if not transform.empty:
        transform.save(path)


def settings_of(path: str | PathLike[str], settings: Settings) -> tuple[VWModel, Settings]:
    """Return the model in a file, and the settings to continue with.

    The configuration in the file becomes the initial one. The loss is that of the file too, unless
    the settings name another.
    """
    vw_model = read_vw_model(path)
    config = vw_model.config
    init: dict[str, Any] = {"interactions": config.interactions, **config.values}
    for key, value in (settings.get("init") or {}).items():
        if key in init and init[key] != value:
            raise ConfigError(
                f"{key} is {init[key]!r} in {fspath(path)} and {value!r} in init; leave it out "
                "of init"
            )
        init[key] = value
    settings = {**settings, "init": init}
    settings.setdefault("loss", loss_of(config.values))
    rules = settings.get("rules") or ContestRules()
    if isinstance(rules, ContestRules):  # the model has learned labels and columns as they are
        settings["rules"] = replace(rules, scaling=None)
    return vw_model, settings


def load_champion(model: Any, vw_model: VWModel, path: str | PathLike[str]) -> None:
    """Give the champion of a model the weights of a VW model file.

    Derived groups in the file are those of transformed text: to the model they are plain groups.
    """
    if not capabilities_of(model.pool).imports:
        kind = type(model.pool).__name__
        raise PoolError(f"{kind} cannot start from a VW model; leave pool out: the native pool can")
    derives = bool(derived_in(vw_model.config)) or exists(features_path(path))
    features = model.space.features
    if derives and features is not None and features.text:
        raise ConfigError(
            f"{fspath(path)} is from a champion with derived groups, and continues with the text "
            "of chacha transform, in which they are plain groups; leave features out of the space"
        )
    model.pool.load_vw(model.champion, vw_model)
