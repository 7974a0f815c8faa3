"""Results: what a run came to, and where that is kept, so that nothing is run twice."""

from __future__ import annotations

import hashlib
import json
import math
import os
import tempfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import chacha
from chacha import _native
from chacha.errors import DataError

__all__ = ["Kept", "Outcome", "Point", "code_digest", "default_home", "key_of"]


class Point(NamedTuple):
    """Where a curve stands after `n` examples: the sum of losses and of weights."""

    n: int
    total: float
    weight: float


@dataclass(frozen=True)
class Outcome:
    """What one method came to on one stream with one seed.

    The first `frozen` examples were learned and not charged; nothing was learned after them.
    `metrics` are the means of what else the loss reports, as accuracy for logistic loss.

    >>> Outcome(4, 2, "+ab", 0.1, (Point(2, 1.0, 2.0), Point(4, 4.0, 4.0))).loss
    1.0
    """

    examples: int
    promotions: int
    champion: str
    cpu_seconds: float
    curve: tuple[Point, ...]
    frozen: int = 0
    metrics: Mapping[str, float] = field(default_factory=dict)

    @property
    def loss(self) -> float:
        """The mean progressive loss of what was served."""
        return self.loss_since(0)

    def loss_since(self, n: int) -> float:
        """The mean loss after the first `n` examples.

        >>> Outcome(4, 2, "", 0.1, (Point(2, 1.0, 2.0), Point(4, 4.0, 4.0))).loss_since(2)
        1.5
        """
        before = next((p for p in reversed(self.curve) if p.n <= n), Point(0, 0.0, 0.0))
        last = self.curve[-1]
        weight = last.weight - before.weight
        return (last.total - before.total) / weight if weight > 0 else math.nan

    def to_json(self) -> dict[str, Any]:
        """What :meth:`from_json` reads back."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Outcome:
        """The outcome that was written.

        >>> made = Outcome(2, 0, "", 0.1, (Point(2, 1.0, 2.0),))
        >>> Outcome.from_json(json.loads(json.dumps(made.to_json()))) == made
        True
        """
        try:
            curve = tuple(Point(*point) for point in data["curve"])
            return cls(**{**data, "curve": curve})
        except (KeyError, TypeError) as error:
            raise DataError(f"not an outcome: {data!r:.60}") from error


class Kept:
    """Results in a folder, one JSON file each, by a key of all that they depend on.

    >>> home = tempfile.TemporaryDirectory()
    >>> kept = Kept(home.name)
    >>> kept.put("k", {"loss": 0.5})
    >>> kept.get("k"), kept.get("other")
    ({'loss': 0.5}, None)
    >>> home.cleanup()
    """

    def __init__(self, home: str | os.PathLike[str]) -> None:
        self.home = Path(home)

    def get(self, key: str) -> dict[str, Any] | None:
        """What is kept under a key; a file that cannot be read counts as none."""
        try:
            found = json.loads(self._path(key).read_text("utf-8"))
        except (OSError, ValueError):
            return None
        return found if isinstance(found, dict) else None

    def put(self, key: str, data: Mapping[str, Any]) -> None:
        """Keep something; whoever reads meanwhile sees it as a whole or not at all."""
        text, path = json.dumps(data), self._path(key)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.NamedTemporaryFile(
                "w", encoding="utf-8", dir=path.parent, prefix=".", delete=False
            ) as file:
                file.write(text)
            os.replace(file.name, path)
        except OSError as error:
            raise OSError(error.errno, error.strerror, str(self.home)) from error

    def _path(self, key: str) -> Path:
        return self.home / key[:2] / f"{key}.json"


def default_home() -> Path:
    """Where results are kept unless another folder is named."""
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "chacha" / "compare"


def key_of(**parts: Any) -> str:
    """A key of some values and of the code that makes a result of them.

    >>> key_of(a=1) == key_of(a=1), key_of(a=1) == key_of(a=2)
    (True, False)
    """
    text = json.dumps({**parts, "code": code_digest()}, sort_keys=True, default=str)
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


@cache
def code_digest() -> str:
    """A digest of the code that makes results, which is all but what shows them."""
    home = Path(chacha.__file__).parent
    shows = {"cli", "figures.py", "page.py", "scores.py"}
    files = sorted(path for path in home.rglob("*.py") if not shows & {path.name, path.parent.name})
    digest = hashlib.blake2b(digest_size=16)
    for path in [*files, Path(_native.__file__)]:
        digest.update(path.read_bytes())
    return digest.hexdigest()
