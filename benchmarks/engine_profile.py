"""Where the time of the native engine goes: one model, four more models, reading and Python.

Every pass does what the one before does and one thing more. The difference is the cost of that
thing. The first pass parses the text, counts features and keeps the statistics of one model.

    python benchmarks/engine_profile.py [--data DIR] [--rows 100000] [--rounds 5]
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from chacha.drivers.native import NativeDriver
from chacha_methods import held
from streams import Stream, dense

NAMES = ("fried", "mv", "pol")
PARTS = ("one model", "four more models", "reading and Python")


def cpu(work: Callable[[], object]) -> float:
    """Return the CPU seconds of some work."""
    began = time.process_time()
    work()
    return time.process_time() - began


def advance(driver: NativeDriver, data: bytes) -> None:
    """Learn all lines from memory, with the statistics."""
    at = 0
    while at < len(data):
        at = driver.advance_text(data, at, len(data), 1 << 30).at


def passes(stream: Stream, path: Path) -> list[float]:
    """Return the CPU seconds of passes that do more and more, at b = 5."""
    data = path.read_bytes()
    seconds = []
    for budget in (1, 5):
        in_memory = held(budget, stream.products)
        in_memory.run(path, limit=1)
        driver = in_memory._driver
        assert isinstance(driver, NativeDriver)
        seconds.append(cpu(partial(advance, driver, data)))
    from_file = held(5, stream.products)
    seconds.append(cpu(lambda: from_file.run(path)))
    return seconds


def main() -> None:
    """Print a table of nanoseconds per example, the best of the rounds."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    data = os.environ.get("DATA")
    parser.add_argument("--data", type=Path, default=Path(data) if data else None)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    print(f"| b = 5, ns per example | {' | '.join(PARTS)} | all |")
    print("|---" * (len(PARTS) + 2) + "|")
    with tempfile.TemporaryDirectory() as folder:
        for name in NAMES:
            stream = dense(name, options.rows, options.data)
            path = stream.write(Path(folder) / f"{name}.vw")
            rounds = [passes(stream, path) for _ in range(options.rounds)]
            best = [min(column) * 1e9 / len(stream.lines) for column in zip(*rounds, strict=True)]
            parts = [after - before for before, after in zip([0.0, *best], best, strict=False)]
            cells = " | ".join(f"{part:.0f}" for part in parts)
            print(f"| {name} | {cells} | {best[-1]:.0f} |")


if __name__ == "__main__":
    main()
