"""What a process has used of its machine."""

from __future__ import annotations

import os
import time

__all__ = ["cores", "cpu_seconds"]


def cpu_seconds() -> float:
    """CPU time of this process, all threads, and of its children.

    >>> cpu_seconds() > 0
    True
    """
    children = os.times()
    return time.process_time() + children.children_user + children.children_system


def cores() -> int:
    """How many cores this process may use.

    >>> cores() >= 1
    True
    """
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
