"""CPU time and cores of this process."""

from __future__ import annotations

import os
import time

__all__ = ["cores", "cpu_seconds"]


def cpu_seconds() -> float:
    """Return the CPU seconds used by all threads of this process and by its children.

    >>> cpu_seconds() > 0
    True
    """
    children = os.times()
    return time.process_time() + children.children_user + children.children_system


def cores() -> int:
    """Return the number of cores this process may use.

    >>> cores() >= 1
    True
    """
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
