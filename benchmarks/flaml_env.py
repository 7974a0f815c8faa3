"""An environment for FLAML's AutoVW, created once: it needs other packages than chacha.

    python flaml_env.py FOLDER

Exits with 1 and one line on stderr if the environment cannot be created.
"""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

__all__ = ["create"]


def create(folder: Path) -> str:
    """Create the environment unless it exists; return the error, or an empty string."""
    ready = folder / ".ready"
    if ready.exists():
        return ""
    learner = f"vowpalwabbit=={version('vowpalwabbit')}"  # flaml[vw] asks for a VW before 9
    python = str(folder / "bin" / "python")
    pip = [python, "-m", "pip", "install", "--quiet", "flaml>=2.3", learner, "scikit-learn"]
    for words in ([sys.executable, "-m", "venv", str(folder)], pip):
        done = subprocess.run(words, capture_output=True, text=True)
        if done.returncode:
            last = (done.stderr.strip() or done.stdout.strip()).splitlines()[-1:]
            return f"FLAML could not be installed: {' '.join(last)}"
    ready.touch()
    return ""


if __name__ == "__main__":
    if error := create(Path(sys.argv[1])):
        sys.exit(error)
