"""Policies as JSON values, for reports."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any

__all__ = ["describe"]


def describe(value: Any) -> Any:
    """Return a policy as a JSON value: its class name and every constant.

    >>> from chacha.config.space import Uniform
    >>> describe(Uniform(0, 1))
    {'is': 'Uniform', 'low': 0, 'high': 1}
    """
    if hasattr(value, "to_json"):
        return value.to_json()
    if is_dataclass(value) and not isinstance(value, type):
        constants = {f.name: _plain(getattr(value, f.name)) for f in fields(value)}
        return {"is": type(value).__name__, **constants}
    return getattr(value, "__name__", type(value).__name__)


def _plain(value: Any) -> Any:
    """Return a constant as a JSON value."""
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Mapping):
        return {str(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(inner) for inner in value]
    return describe(value) if is_dataclass(value) else value
