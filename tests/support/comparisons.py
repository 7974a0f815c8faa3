"""Comparisons for tests: one stream, one seed, in this process."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from chacha import Example
from chacha.compare import Comparison, Outcome, Stream, Study
from chacha.losses import Loss


def compare(
    cache_dir: Path, stream: str | Stream, methods: Sequence[Any], **settings: Any
) -> Comparison:
    opened = Stream(stream) if isinstance(stream, str) else stream
    defaults = {"seeds": 1, "cache_dir": cache_dir, "workers": 0}
    return Study([opened], methods, **{**defaults, **settings}).finish()


def outcome(comparison: Comparison, method: str) -> Outcome:
    assert not comparison.failures
    (methods,) = comparison.outcomes.values()
    return methods[method][0]


class LastLabel:
    """A learner that predicts the previous label, and the seed at first."""

    def __init__(self, loss: Loss, seed: int) -> None:
        self.label = float(seed)

    def predict(self, example: Example) -> float:
        return self.label

    def learn(self, example: Example) -> None:
        self.label = example.label or 0.0

    def close(self) -> None: ...


def cli_without(module: str, *arguments: str) -> str:
    """Return the error that the command line prints if a module is not installed."""
    code = (
        f"import sys; sys.modules[{module!r}] = None\n"
        "from chacha.cli import main\n"
        f"sys.argv = ['chacha', *{arguments!r}]\n"
        "main()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    return done.stderr
