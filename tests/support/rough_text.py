"""VW text with zeros, weights, late and repeated groups."""

from __future__ import annotations

import random


def _features(rng: random.Random, names: str) -> dict[str, float]:
    """The features of a group, one at least; some are zero."""
    chosen = [name for name in names if rng.random() < 0.7] or [names[0]]
    return {name: rng.choice([0.0, -1.0, 0.5, 1.0, 2.0, rng.uniform(-1, 1)]) for name in chosen}


def rough_text(n: int, seed: int = 0, loss: str = "squared") -> list[str]:
    """Several features a group, zeros, weights, late groups, groups twice: text for a loss."""
    rng = random.Random(f"{seed} {loss}")
    lines = []
    for i in range(n):
        groups = {group: _features(rng, "xyz") for group in "abc"}
        y = 3 * groups["a"].get("x", 1.0) * groups["b"].get("x", 1.0) + rng.gauss(0, 0.2)
        words = [f"|{g} " + " ".join(f"{k}:{v!r}" for k, v in f.items()) for g, f in groups.items()]
        if i > n // 3:
            words.append(f"|late w{rng.randrange(3)}")
        if rng.random() < 0.2:
            words.append(f"|a y:{rng.uniform(-1, 1)!r} u")
        weight = rng.choice(["", "", "", " 2", " 0.5", " 0"])
        lines.append(f"{_label(y, loss)}{weight} {' '.join(words)}")
    return lines


def _label(y: float, loss: str) -> str:
    if loss in ("logistic", "hinge"):
        return "1" if y > 0 else "-1"
    return str(max(0, round(y + 1))) if loss == "poisson" else repr(y)
