"""CPU time, and rounds in which the methods alternate."""

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
    """CPU seconds of all threads and children, user and system."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def nanoseconds(work: Callable[[], object], examples: int, less: float = 0.0) -> float:
    """CPU nanoseconds an example of `work`; `less` are seconds of start-up to take off."""
    gc.collect()
    gc.freeze()  # the examples of this benchmark are nobody's to walk over
    began = cpu()
    work()
    seconds = cpu() - began
    gc.unfreeze()
    return (seconds - less) / examples * 1e9


def peak_megabytes() -> float:
    """The most memory that this process held so far.

    Linux hands `ru_maxrss` down from the process that started this one; VmHWM is our own.
    """
    status = Path("/proc/self/status")
    if status.exists():
        (line,) = (line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) / 1024
    unit = 1 << 20 if sys.platform == "darwin" else 1 << 10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit


@dataclass(frozen=True)
class Method:
    """A way to learn a stream: one call is one pass, in nanoseconds an example.

    `once` marks what is too slow to be measured in every round.
    """

    name: str
    one_pass: Callable[[], float | None]
    once: bool = False


@dataclass
class Times:
    """What the methods took on one stream, round by round; absent if it could not be run."""

    rounds: dict[str, list[float]] = field(default_factory=dict)

    def median(self, name: str) -> float | None:
        """Nanoseconds an example."""
        return statistics.median(self.rounds[name]) if self.rounds.get(name) else None

    def ratio(self, over: str, under: str) -> float | None:
        """The median of the rounds' ratios; of the medians where the rounds are not alike."""
        above, below = self.rounds.get(over), self.rounds.get(under)
        if not above or not below:
            return None
        if len(above) == len(below):
            return statistics.median(a / b for a, b in zip(above, below, strict=True))
        return statistics.median(above) / statistics.median(below)

    def medians(self) -> Mapping[str, float]:
        """Nanoseconds an example of every method that ran."""
        return {name: statistics.median(times) for name, times in self.rounds.items() if times}


def interleave(methods: Sequence[Method], rounds: int, about: str) -> Times:
    """Every method once a round, there and back; a word on stderr for each."""
    times = Times()
    for turn in range(rounds):
        for method in methods[:: -1 if turn % 2 else 1]:
            if turn and method.once:
                continue
            found = method.one_pass()
            if found is not None:
                times.rounds.setdefault(method.name, []).append(found)
                words = f"{about}, round {turn + 1}: {method.name}: {found:.0f} ns"
                print(words, file=sys.stderr, flush=True)
    return times
