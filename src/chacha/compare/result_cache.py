"""The result cache: results of runs in a folder, so that no run is repeated."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Mapping
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import chacha

__all__ = ["PRESENTATION", "ResultCache", "cache_key", "code_digest", "default_cache_dir"]

PRESENTATION = ("cli", "compare/figures.py", "compare/html_report.py", "compare/scores.py")
"""The files and folders of the package that show results and do not change them."""


class ResultCache:
    """Results in a folder, one JSON file each, by a key of everything they depend on.

    >>> folder = tempfile.TemporaryDirectory()
    >>> results = ResultCache(folder.name)
    >>> results.put("k", {"loss": 0.5})
    >>> results.get("k"), results.get("other")
    ({'loss': 0.5}, None)
    >>> folder.cleanup()
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)

    def get(self, key: str) -> dict[str, Any] | None:
        """Return the result of a key; None if its file is missing or cannot be read."""
        try:
            data = json.loads(self._path(key).read_text("utf-8"))
        except (OSError, ValueError):
            return None
        return data if isinstance(data, dict) else None

    def put(self, key: str, data: Mapping[str, Any]) -> None:
        """Store a result atomically: a concurrent reader gets all of it or none."""
        text, path = json.dumps(data), self._path(key)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.NamedTemporaryFile(
                "w", encoding="utf-8", dir=path.parent, prefix=".", delete=False
            ) as file:
                file.write(text)
            os.replace(file.name, path)
        except OSError as error:
            raise OSError(error.errno, error.strerror, str(self.folder)) from error

    def _path(self, key: str) -> Path:
        return self.folder / key[:2] / f"{key}.json"


def default_cache_dir() -> Path:
    """Return the folder of the cache unless another is named."""
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "chacha" / "compare"


def cache_key(**parts: Any) -> str:
    """Return a key of some values and of the code that computes a result from them.

    >>> cache_key(a=1) == cache_key(a=1), cache_key(a=1) == cache_key(a=2)
    (True, False)
    """
    text = json.dumps({**parts, "code": code_digest()}, sort_keys=True, default=str)
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


@cache
def code_digest() -> str:
    """Return a digest of the package, compiled module included, without :data:`PRESENTATION`."""
    package = Path(chacha.__file__).parent
    shown = [package / name for name in PRESENTATION]
    sources = [
        path
        for path in sorted(package.rglob("*.py"))
        if not any(path == part or part in path.parents for part in shown)
    ]
    engine = find_spec("chacha._native")
    assert engine is not None
    assert engine.origin is not None
    digest = hashlib.blake2b(digest_size=16)
    for path in [*sources, Path(engine.origin)]:
        digest.update(path.read_bytes())
    return digest.hexdigest()
