"""Rows of sources for tests: the good ones, the bad ones, and files to read them from."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from chacha import Example, TableSpec, open_source
from chacha.sources import Bad, Categories, Source

__all__ = ["CODE", "TEXT", "bad", "good", "lines", "shown", "write"]

CODE = TableSpec(categories=Categories.CODE)


def lines(n: int = 50, stream: str = "interactions") -> list[str]:
    """Return the lines of a built-in stream as VW text."""
    return [row.line for row in good(open_source(f"synth:{stream},n={n}"))]


def good(source: Source) -> list[Example]:
    """Return the examples of a source that must have no bad rows."""
    rows = list(source)
    assert not [row for row in rows if isinstance(row, Bad)]
    return [row for row in rows if isinstance(row, Example)]


def bad(source: Source) -> list[str]:
    """Return the messages of the bad rows of a source."""
    return [str(row) for row in source if isinstance(row, Bad)]


def write(path: Path, text: str | bytes) -> str:
    """Write a file; return its path."""
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return str(path)


def shown(what: Any, spec: TableSpec | None = None, **more: Any) -> list[str]:
    """Return the lines of examples, and the messages of the bad rows."""
    rows = open_source(what, spec, **more)
    return [row.line if isinstance(row, Example) else str(row) for row in rows]


TEXT = "\n".join(lines()) + "\n"
