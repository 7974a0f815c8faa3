"""The command line in a separate process."""

from __future__ import annotations

import subprocess
import sys

__all__ = ["cli"]


def cli(*words: str, stdin: str | None = None, rc: int = 0) -> subprocess.CompletedProcess[str]:
    """Run `chacha` with some words; it must end with `rc` and without a traceback."""
    done = subprocess.run(
        [sys.executable, "-m", "chacha", *words], input=stdin, capture_output=True, text=True
    )
    assert done.returncode == rc, done.stderr
    assert "Traceback" not in done.stderr
    return done
