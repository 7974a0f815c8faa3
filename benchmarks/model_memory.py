"""The memory of one model more in a process.

    python benchmarks/model_memory.py [--models 300] [--examples 300] [--columns 5 20]

A fresh process for each number of columns makes models with b = 5 and the default rules, derived
features included. They learn dicts of floats with `learn_one`. The resident memory is measured
after the first models, which also load what all models share, and after all of them; the difference
is divided by the number of models. The engine's share is what it counts itself
(`NativePool.bytes`). The share of Python's objects is measured with tracemalloc, in another
process. The rest belongs to the bindings' objects and to what allocators round up.
"""

from __future__ import annotations

import argparse
import gc
import json
import random
import subprocess
import sys
import tracemalloc
from pathlib import Path

import chacha

BUDGET = 5
FIRST = 20  # models before the measurement begins
KIB = 1024


def rows(columns: int, examples: int) -> list[tuple[dict[str, float], float]]:
    """Return records of normal values with labels that depend on a product."""
    rng = random.Random(0)
    records = [{f"x{i}": rng.gauss(0.0, 1.0) for i in range(columns)} for _ in range(examples)]
    return [(x, x["x0"] * x["x1"] + x["x2"] + rng.gauss(0.0, 0.1)) for x in records]


def learned(stream: list[tuple[dict[str, float], float]]) -> chacha.ChaCha:
    """Return a model that has learned a stream; all have the same arguments, as keyed models do."""
    model = chacha.ChaCha(budget=BUDGET)
    for x, y in stream:
        model.learn_one(x, y)
    return model


def resident() -> int:
    """Return the bytes that this process holds in memory now."""
    status = Path("/proc/self/status").read_text()
    (line,) = (line for line in status.splitlines() if line.startswith("VmRSS"))
    return int(line.split()[1]) * KIB


def measure(columns: int, models: int, examples: int, traced: bool) -> dict[str, float]:
    """Return the KiB of one model more in this process; `traced`: those of Python's objects."""
    stream = rows(columns, examples)
    held = [learned(stream) for _ in range(FIRST)]
    gc.collect()
    if traced:
        tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0] if traced else resident()
    held += [learned(stream) for _ in range(models)]
    gc.collect()
    after = tracemalloc.get_traced_memory()[0] if traced else resident()
    each = (after - before) / models / KIB
    pools = [m.pool for m in held[FIRST:] if isinstance(m.pool, chacha.NativePool)]
    if traced:  # the engine itself lies within a Python object
        return {"python": each - sys.getsizeof(pools[0].engine) / KIB}
    return {"resident": each, "engine": sum(pool.bytes for pool in pools) / models / KIB}


def in_new_process(columns: int, models: int, examples: int, traced: bool) -> dict[str, float]:
    """Return what `measure` returns in a process of its own."""
    words = [sys.executable, __file__, "--columns", str(columns), "--models", str(models)]
    words += ["--examples", str(examples), "--in-this-process", "traced" if traced else "plain"]
    result: dict[str, float] = json.loads(subprocess.check_output(words))
    return result


def main() -> None:
    """Print a row for each number of columns."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", type=int, default=300)
    parser.add_argument("--examples", type=int, default=300)
    parser.add_argument("--columns", type=int, nargs="+", default=[5, 20])
    parser.add_argument("--in-this-process", choices=["plain", "traced"], help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.in_this_process:
        traced = options.in_this_process == "traced"
        (columns,) = options.columns
        print(json.dumps(measure(columns, options.models, options.examples, traced)))
        return
    print(f"KiB of one model more, b = {BUDGET}, after {options.examples} examples\n")
    print("| columns | resident memory | engine | Python objects | the rest |")
    print("|---|---|---|---|---|")
    for columns in options.columns:
        each: dict[str, float] = {}
        for traced in (False, True):
            each |= in_new_process(columns, options.models, options.examples, traced)
        rest = each["resident"] - each["engine"] - each["python"]
        figures = [each["resident"], each["engine"], each["python"], rest]
        print(f"| {columns} | " + " | ".join(f"{value:.1f}" for value in figures) + " |")


if __name__ == "__main__":
    main()
