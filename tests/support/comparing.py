"""Comparisons for tests: one stream, one seed, in this process."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from chacha.compare import Comparison, Stream, Study
from chacha.compare.result_cache import Outcome


def compared(home: Path, stream: str | Stream, methods: Sequence[Any], **more: Any) -> Comparison:
    opened = Stream(stream) if isinstance(stream, str) else stream
    return Study([opened], methods, **{"seeds": 1, "home": home, "workers": 0, **more}).finish()


def outcome(found: Comparison, method: str) -> Outcome:
    assert not found.failures
    (methods,) = found.outcomes.values()
    return methods[method][0]


def cli_without(module: str, *arguments: str) -> str:
    """What the command line tells where a module is not installed: an error, and no traceback."""
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
