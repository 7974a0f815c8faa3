"""The speed and memory of chacha beside its peers: CPU time per example, in one process run.

    python benchmarks/speed.py [--data DIR] [--rows 100000] [--rounds 5] [--no-flaml] [--quick]

Streams: fried, mv, pol (from DIR/NAME.csv.gz, or generated alike) and sparse. The environment
variable DATA is the default of --data. Every method passes over the stream once a round, and the
methods alternate. Figures are medians, ratios are medians of the rounds' ratios. CPU time is user
and system time of all threads and children, from the first read to the last example; imports and
start-up are left out. FLAML runs in a separate environment in out/flaml-env. The result is printed
as Markdown and written to out/speed.json.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import chacha
import chacha_methods
import peer_methods
import streams
from speed_targets import Target, absolute_table, target_table, targets
from timing import Method, Times, interleave

OUT = Path(__file__).resolve().parent.parent / "out"
DENSE = ("fried", "mv", "pol")


def options_of(words: Sequence[str] | None = None) -> argparse.Namespace:
    """Return the options. `--quick` is a smoke run whose figures mean nothing."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=os.environ.get("DATA") or None)
    parser.add_argument(
        "--rows", type=int, default=100_000, help="rows of a pass over a file or table"
    )
    parser.add_argument("--calls", type=int, default=20_000, help="rows where each is a call")
    parser.add_argument("--slow", type=int, default=3_000, help="rows for FLAML and River")
    parser.add_argument("--sparse-rows", type=int, default=20_000)
    parser.add_argument("--age", type=int, default=2_000_000, help="examples of the long stream")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--no-flaml", action="store_true", help="do not install or run FLAML")
    parser.add_argument("--quick", action="store_true", help="few rows, one round")
    options = parser.parse_args(words)
    if options.quick:
        options.rows, options.calls, options.slow, options.rounds = 2000, 500, 200, 1
        options.sparse_rows, options.age = 50, 20_000
    if options.data is not None and not Path(options.data).is_dir():
        parser.error(f"--data: there is no folder {options.data}")
    return options


def machine(flaml: peer_methods.Flaml | None) -> dict[str, str]:
    """Return the machine and the versions."""
    info, model = Path("/proc/cpuinfo"), platform.processor()
    if info.exists():
        lines = [x for x in info.read_text().splitlines() if x.startswith("model name")]
        model = lines[0].partition(":")[2].strip() if lines else model
    return {
        "CPU": f"{model or platform.machine()}, {os.cpu_count()} cores",
        "Python": platform.python_version(),
        "chacha": f"{chacha.__version__}, {type(chacha.ChaCha().pool).__name__}",
        "pyarrow": pa.__version__,
        "numpy": np.__version__,
        **peer_methods.versions(flaml),
    }


def measure(
    options: argparse.Namespace, folder: Path, flaml: peer_methods.Flaml | None
) -> tuple[dict[str, Times], dict[str, str]]:
    """Return the times of all methods on all streams, and the origins of the streams."""
    times: dict[str, Times] = {}
    origins: dict[str, str] = {}
    data = Path(options.data) if options.data else None
    for name in (*DENSE, "sparse"):
        if name == "sparse":
            stream = streams.sparse(options.sparse_rows)
        else:
            stream = streams.dense(name, options.rows, data)
        path = stream.write(folder / f"{name}.vw")
        methods = chacha_methods.methods(stream, path, options.calls)
        methods += peer_methods.methods(stream, path, options.calls, options.slow, flaml)
        times[name] = interleave(methods, options.rounds, name)
        origins[name] = f"{len(stream.lines)} rows, {stream.origin}"
    return times, origins


def waiting_challengers(options: argparse.Namespace, folder: Path) -> Times:
    """Return the times of a pass with few and with many waiting challengers."""
    stream = streams.dense("fried", options.rows, None)
    path = stream.write(folder / "waiting.vw")
    methods = [
        Method(str(count), lambda count=count: chacha_methods.waiting_pass(stream, path, count))  # type: ignore[misc]
        for count in (45, 1000)
    ]
    return interleave(methods, options.rounds, "challengers")


def peak_memory(path: Path) -> dict[str, float]:
    """Return the megabytes of two new processes: importing, and learning a file at b = 5."""
    script = str(Path(__file__).with_name("peak_memory.py"))
    megabytes = {}
    for what, words in {"importing": [], "run": [str(path)]}.items():
        done = subprocess.run(
            [sys.executable, script, *words], stdout=subprocess.PIPE, text=True, check=True
        )
        megabytes[what] = float(done.stdout)
    return megabytes


def report(
    about: Mapping[str, str],
    origins: Mapping[str, str],
    figures: Sequence[Target],
    times: Mapping[str, Times],
    notes: Sequence[str],
) -> str:
    """Return the result as Markdown."""
    return "\n\n".join(
        [
            "; ".join(f"{what} {value}" for what, value in about.items()),
            "; ".join(f"{name}: {origin}" for name, origin in origins.items()),
            target_table(figures, list(times)),
            "✓✓ the aim is met, ✓ the must is met, ✗ neither",
            absolute_table(times),
            *notes,
        ]
    )


def main() -> None:
    """Measure, print the result, and write it."""
    options = options_of()
    OUT.mkdir(exist_ok=True)
    flaml = None if options.no_flaml else peer_methods.Flaml(OUT / "flaml-env", options.slow)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        times, origins = measure(options, folder, flaml)
        memory = peak_memory(folder / "fried.vw")
        waiting = waiting_challengers(options, folder)
        age = chacha_methods.cost_over_time(options.age, folder)
    above = memory["run"] - memory["importing"]
    figures = targets(times, age["old / new"], above, waiting.ratio("1000", "45"))
    about = machine(flaml)
    notes = ["; ".join(f"{what} {value:.0f}" for what, value in list(age.items())[:-1])]
    if flaml is not None and flaml.error:
        notes.append(flaml.error)
    print(report(about, origins, figures, times, notes))
    result: dict[str, Any] = {
        "machine": about,
        "streams": origins,
        "options": {key: str(value) for key, value in vars(options).items() if key != "data"},
        "targets": [target.to_json() for target in figures],
        "ns": {name: dict(one.medians()) for name, one in times.items()},
        "rounds": {name: one.rounds for name, one in times.items()},
        "age": age,
        "memory_mb": memory,
        "challengers": dict(waiting.medians()),
        "notes": notes,
    }
    (OUT / "speed.json").write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
