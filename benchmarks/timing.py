"""CPU time, and rounds in which methods alternate."""

from __future__ import annotations

import gc
import resource
import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

__all__ = ["Method", "Times", "cpu", "interleave", "nanoseconds", "peak_megabytes"]


def cpu() -> float:
    """Return the CPU seconds of all threads and children, user and system."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def nanoseconds(work: Callable[[], object], examples: int, less: float = 0.0) -> float:
    """Return the CPU nanoseconds per example of `work`, without `less` seconds of start-up."""
    gc.collect()
    gc.freeze()  # so that the collector does not walk over the examples of this benchmark
    began = cpu()
    work()
    seconds = cpu() - began
    gc.unfreeze()
    return (seconds - less) / examples * 1e9


def peak_megabytes() -> float:
    """Return the peak memory of this process.

    On Linux `ru_maxrss` is inherited from the parent process; VmHWM is not.
    """
    status = Path("/proc/self/status")
    if status.exists():
        (line,) = (line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) / 1024
    unit = 1 << 20 if sys.platform == "darwin" else 1 << 10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit


@dataclass(frozen=True)
class Method:
    """A method of learning a stream: one call is one pass and returns nanoseconds per example.

    `once` marks a method that is too slow for every round.
    """

    name: str
    one_pass: Callable[[], float | None]
    once: bool = False


@dataclass
class Times:
    """The times of the methods on one stream by round; a method that cannot run is absent."""

    rounds: dict[str, list[float]] = field(default_factory=dict)

    def median(self, name: str) -> float | None:
        """Return the median nanoseconds per example."""
        return statistics.median(self.rounds[name]) if self.rounds.get(name) else None

    def ratio(self, over: str, under: str) -> float | None:
        """Return the median of the rounds' ratios, or the ratio of medians if rounds differ."""
        above, below = self.rounds.get(over), self.rounds.get(under)
        if not above or not below:
            return None
        if len(above) == len(below):
            return statistics.median(a / b for a, b in zip(above, below, strict=True))
        return statistics.median(above) / statistics.median(below)

    def medians(self) -> Mapping[str, float]:
        """Return the median nanoseconds per example of every method that ran."""
        return {name: statistics.median(times) for name, times in self.rounds.items() if times}


def interleave(methods: Sequence[Method], rounds: int, about: str) -> Times:
    """Run every method once a round, in alternating order; report each on stderr."""
    times = Times()
    for turn in range(rounds):
        for method in methods[:: -1 if turn % 2 else 1]:
            if turn and method.once:
                continue
            elapsed = method.one_pass()
            if elapsed is not None:
                times.rounds.setdefault(method.name, []).append(elapsed)
                line = f"{about}, round {turn + 1}: {method.name}: {elapsed:.0f} ns"
                print(line, file=sys.stderr, flush=True)
    return times
