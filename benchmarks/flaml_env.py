"""An environment for FLAML's AutoVW, made once: it wants other packages than chacha does.

    python flaml_env.py FOLDER

Exits with 1 and one line on stderr if it could not be made.
"""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

__all__ = ["make"]


def make(home: Path) -> str:
    """Make the environment, unless it is there; returns why that was not possible."""
    ready = home / ".ready"
    if ready.exists():
        return ""
    learner = f"vowpalwabbit=={version('vowpalwabbit')}"  # flaml[vw] wants a VW before 9
    python = str(home / "bin" / "python")
    pip = [python, "-m", "pip", "install", "--quiet", "flaml>=2.3", learner, "scikit-learn"]
    for words in ([sys.executable, "-m", "venv", str(home)], pip):
        made = subprocess.run(words, capture_output=True, text=True)
        if made.returncode:
            last = (made.stderr.strip() or made.stdout.strip()).splitlines()[-1:]
            return f"FLAML could not be installed: {' '.join(last)}"
    ready.touch()
    return ""


if __name__ == "__main__":
    if told := make(Path(sys.argv[1])):
        sys.exit(told)
