"""Data sets of openml.org by number, through the openml package."""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module
from typing import Any

from chacha.errors import ConfigError, MissingExtra, SourceError
from chacha.sources.spec import TableSpec

__all__ = ["find_dataset"]


def find_dataset(number: str, spec: TableSpec) -> tuple[str, TableSpec]:
    """Return the file of a data set, which is downloaded once, and the spec to read it with.

    The target is its default target, and the columns that it marks as ignored are dropped.

    >>> find_dataset("fried", TableSpec())
    Traceback (most recent call last):
    chacha.errors.ConfigError: openml:fried: give the number of a data set, as in openml:564
    """
    if not number.isdecimal():
        raise ConfigError(f"openml:{number}: give the number of a data set, as in openml:564")
    try:
        openml = import_module("openml")
    except ImportError as error:
        raise MissingExtra.of("openml", "openml") from error
    try:
        dataset: Any = openml.datasets.get_dataset(
            int(number), download_data=True, download_qualities=False
        )
        path = dataset.data_file or dataset.parquet_file
    except Exception as error:  # the package raises what requests, minio and the server raise
        lines = str(error).strip().splitlines()
        raise SourceError(
            f"openml:{number}: could not be fetched, and is not in the cache "
            f"({openml.config.get_cache_directory()}): {(lines or [repr(error)])[0]:.200}"
        ) from error
    if not path:
        raise SourceError(f"openml:{number}: the data set has no file")
    ignored = [*_listed(dataset.ignore_attribute), *_listed(dataset.row_id_attribute)]
    target = spec.target or dataset.default_target_attribute
    if target is None or "," in target:
        raise ConfigError(f"openml:{number}: has no single target; choose one with --target")
    return str(path), replace(spec, target=target, drop=(*spec.drop, *ignored))


def _listed(names: Any) -> list[str]:
    if not names:
        return []
    return names.split(",") if isinstance(names, str) else list(names)
