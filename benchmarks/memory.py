"""Memory over a stream that is larger than the memory limit.

    python benchmarks/memory.py [--gigabytes 4] [--limit-gigabytes 1]

A generator writes rows of 4 KB into a pipe; `chacha run -` learns from them with five live
models under a limit on its address space. Its resident memory is measured after each tenth.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

NOTE = "lorem ipsum " * 335
GIGA = 1 << 30


def csv_rows() -> Iterator[str]:
    """Yield a table with a long column that is left out."""
    yield "a,b,c,note,y\n"
    i = 0
    while True:
        i += 1
        yield f"{i % 97},{i % 89}.5,{'rgb'[i % 3]},{NOTE},{i % 7}\n"


def json_rows() -> Iterator[str]:
    """Yield the same rows as JSON lines."""
    i = 0
    while True:
        i += 1
        row = {"a": i % 97, "b": i % 89 + 0.5, "c": "rgb"[i % 3], "note": NOTE, "y": i % 7}
        yield json.dumps(row) + "\n"


def vw_rows() -> Iterator[str]:
    """Yield the same rows as VW text; the long part is the tag."""
    tag = NOTE.replace(" ", "_")
    i = 0
    while True:
        i += 1
        yield f"{i % 7} '{tag}|a a:{i % 97} |b b:{i % 89}.5 |c {'rgb'[i % 3]}\n"


STREAMS = {"csv": csv_rows, "jsonl": json_rows, "vw": vw_rows}


def resident(pid: int) -> float:
    """Return the megabytes that a process holds in memory now."""
    status = Path(f"/proc/{pid}/status").read_text()
    (line,) = (line for line in status.splitlines() if line.startswith("VmRSS"))
    return int(line.split()[1]) / 1024


def feed(form: str, size: int, limit: int) -> dict[str, float]:
    """Write `size` bytes into a run; return its memory after each tenth of them."""
    flags = [] if form == "vw" else ["--ignore", "note"]
    words = [sys.executable, "-m", "chacha", "run", "-", "--format", form, "-q", "--json", "-"]
    run = subprocess.Popen(
        [*words, *flags],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)),
    )
    assert run.stdin is not None
    assert run.stdout is not None
    tenths: list[float] = []
    written, began = 0, time.perf_counter()
    for row in STREAMS[form]():
        data = row.encode()
        run.stdin.write(data)
        written += len(data)
        if written >= size * (len(tenths) + 1) / 10:
            tenths.append(resident(run.pid))
            if len(tenths) == 10:
                break
    run.stdin.close()
    result = json.loads(run.stdout.read())
    if run.wait():
        sys.exit(f"{form}: the run failed")
    return {
        "examples": result["examples"],
        "first tenth": tenths[0],
        "half": tenths[4],
        "end": tenths[-1],
        "peak": result["peak_rss_mb"],
        "seconds": time.perf_counter() - began,
    }


def main() -> None:
    """Print a row for each format."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gigabytes", type=float, default=4.0)
    parser.add_argument("--limit-gigabytes", type=float, default=1.0)
    options = parser.parse_args()
    size, limit = int(options.gigabytes * GIGA), int(options.limit_gigabytes * GIGA)
    print(f"{options.gigabytes} GB through a pipe, {options.limit_gigabytes} GB of address space\n")
    print("| format | examples | MB after a tenth | half | end | peak | seconds |")
    print("|---|---|---|---|---|---|---|")
    for form in STREAMS:
        figures = feed(form, size, limit)
        print(f"| {form} | " + " | ".join(f"{value:.0f}" for value in figures.values()) + " |")


if __name__ == "__main__":
    main()
