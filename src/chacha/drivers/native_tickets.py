"""What a ticket of the native driver keeps: the example in the engine's form."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from chacha._native import Asked
from chacha.config.config import Config
from chacha.data.example import Example
from chacha.drivers.native_state import served_by
from chacha.rules.contest.blending import Blend

__all__ = ["NativePendingExample"]


class NativePendingExample:
    """An example that the engine has read and predicted, and that waits for its label.

    `configs` are the configurations by model number, as they were when it was predicted.
    """

    __slots__ = ("asked", "configs")
    example: ClassVar = Example({}, "|")
    """Takes the place of the example where a label and a weight are checked."""

    def __init__(self, asked: Asked, configs: Mapping[int, Config]) -> None:
        self.asked, self.configs = asked, configs

    @property
    def served_by(self) -> Config | Blend:
        """The configuration whose model made the prediction, or a blend of two."""
        return served_by(self.asked.serving, self.configs)
