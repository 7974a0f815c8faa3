"""Comparisons for tests: one stream, one seed, in this process."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from chacha.compare import Comparison, Outcome, Stream, Study


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
