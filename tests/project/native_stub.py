"""The stub of the compiled module; `make stub` writes it to src/chacha/_native.pyi."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parents[2]
STUB = ROOT / "src" / "chacha" / "_native.pyi"
# Shape and order of an array are checked at run time; in every signature they hide its type.
ANNOTATED_ARRAY = re.compile(r"Annotated\[(NDArray\[[\w.]+\]), dict\(.*?\)\]")


def run_module(*command: str, text: str = "") -> str:
    """Return what a module of Python prints, run in the root of the project."""
    done = subprocess.run(
        [sys.executable, "-m", *command], input=text, cwd=ROOT, capture_output=True, text=True
    )
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)} failed:\n{done.stderr}")
    return done.stdout


def generate_stub() -> str:
    """Return the stub of the compiled module, formatted as the rest of the code."""
    with TemporaryDirectory() as folder:
        path = Path(folder, STUB.name)
        run_module(
            *("nanobind.stubgen", "--quiet", "--module", "chacha._native"),
            *("--pattern-file", "native/stub_patterns.nb", "--output-file", str(path)),
        )
        text = ANNOTATED_ARRAY.sub(r"\1", path.read_text())
    # ruff removes the import of Annotated and sorts the others.
    ruff = ("--quiet", "--stdin-filename", str(STUB), "-")
    text = run_module("ruff", "check", "--fix-only", *ruff, text=text)
    return run_module("ruff", "format", *ruff, text=text)


if __name__ == "__main__":
    STUB.write_text(generate_stub())
