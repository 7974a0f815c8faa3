"""Checks of arguments: a wrong one is refused by its name, with what would be right."""

from __future__ import annotations

from dataclasses import fields
from numbers import Real
from operator import index
from typing import Any

from chacha.errors import ConfigError

__all__ = ["LONGEST", "check_numbers", "check_part", "whole_number"]


LONGEST = 1 << 40
"""The longest first lease: about a million million examples."""


def whole_number(
    name: str, value: Any, least: int, about: str = "", most: int | None = None
) -> int:
    """Return the value as an int of at least `least`, or raise an error that names the setting.

    More than `most` is refused, too.

    >>> whole_number("budget", 0, 1)
    Traceback (most recent call last):
    chacha.errors.ConfigError: budget must be a whole number of at least 1, got 0
    """
    try:
        number = -1 if isinstance(value, bool) else index(value)
    except TypeError:
        number = least - 1
    if number < least:
        rule = f"a whole number of at least {least}{about}"
        raise ConfigError(f"{name} must be {rule}, got {value!r}")
    if most is not None and number > most:
        raise ConfigError(f"{name} must be a whole number of at most {most}, got {value!r}")
    return number


def check_part(name: str, part: object, kinds: type | tuple[type, ...], such_as: str) -> None:
    """Raise an error for a part of the wrong type, such as a name instead of an object.

    >>> check_part("loss", "logistic", float, "Squared() or Logistic()")
    Traceback (most recent call last):
    chacha.errors.ConfigError: loss must be an object such as Squared() or Logistic(), \
got 'logistic'
    """
    if isinstance(part, type) or not isinstance(part, kinds):
        raise ConfigError(f"{name} must be an object such as {such_as}, got {part!r}")


def check_numbers(part: Any, kind: type) -> None:
    """Raise an error for a field of a dataclass that is no number, by the annotations of `kind`.

    >>> from chacha.rules.contest import Screening
    >>> Screening(looks=2.5)
    Traceback (most recent call last):
    chacha.errors.ConfigError: looks must be a whole number, got 2.5
    """
    for field in fields(kind):
        value = getattr(part, field.name)
        match field.type:
            case "int":
                fits, rule = _is_whole(value), "a whole number"
            case "float":
                fits, rule = isinstance(value, Real), "a number"
            case "bool":
                fits, rule = isinstance(value, bool), "True or False"
            case _:
                continue
        if not fits or (isinstance(value, bool) and field.type != "bool"):
            raise ConfigError(f"{field.name} must be {rule}, got {value!r}")


def _is_whole(value: Any) -> bool:
    try:
        return abs(index(value)) <= LONGEST
    except TypeError:
        return False
