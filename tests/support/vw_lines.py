"""Random lines of VW text for pools, the labels of each loss, and products to learn."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from typing import Any

from chacha import _native as engine
from tests.support.vw_text_strategy import GROUPS

KERNELS = engine.kernels()

LABELS: dict[str, Sequence[str]] = {
    "squared": ("-2.5", "0", "1", "3.25", "0.125", "100"),
    "logistic": ("-1", "1"),
    "hinge": ("-1", "1"),
    "poisson": ("0", "1", "2", "7"),
    "quantile": ("-2.5", "0", "1", "3.25", "12"),
}

PRODUCTS: list[list[Any]] = [
    [],
    ["ab"],
    ["ab", "ac", "bc", "abc"],
    ["aa", "ab"],
    ["aab", "aabb"],
    ["abc", ("a", "b", "c", "user")],
    [("user", "item"), ("usher", "item"), ("user", "usher"), ("user", "user")],
    [("ab", "a"), ("-d", "7"), (" ", "é")],
]


def rich_line(rng: random.Random, labels: Sequence[str]) -> str:
    """A line with importance weights, initial predictions, tags, scaled and repeated groups."""
    weight = rng.choice(["", "", "", "2", "0.3", "0", "1 0.25", "2 -0.5"])
    words = [rng.choice(labels), weight, rng.choice(["", "", "'t"])]
    line = " ".join(word for word in words if word) + " "
    chosen = rng.sample(GROUPS, rng.randint(3, len(GROUPS)))
    for group in chosen + rng.choices(chosen, k=rng.choice([0, 0, 1, 2])):
        line += f"|{group}{rng.choice(['', '', '', ':0.5', ':-3']) if group else ''}"
        for i in range(rng.randint(0, 3)):
            value = rng.choice([f"{rng.uniform(-2, 2):.4f}", repr(rng.gauss(0, 5)), "0", "1e-3"])
            forms = [
                f"f{i}:{value}",
                f"{i}:{value}",
                f"w{i}",
                f"c:{rng.choice('xyz')}",
                f":{value}",
            ]
            line += " " + rng.choice(forms)
        line += " "
    return line


# user and usher share their letter
SIMPLE_GROUPS = ["a", "b", "c", "user", "usher", "item", "", "-d"]


def simple_line(rng: random.Random) -> str:
    """A line that all pools read alike: weights, initial predictions, tags, scaled groups."""
    weight = rng.choice(["", "", "2", "0.5", "0", "1 0.25", "2 -0.5"])  # with an initial, too
    words = [f"{rng.uniform(-3, 3):.5f}", weight, rng.choice(["", "'t"])]
    line = " ".join(word for word in words if word) + " "
    for group in rng.sample(SIMPLE_GROUPS, rng.randint(3, len(SIMPLE_GROUPS))):
        line += f"|{group}{rng.choice(['', '', ':0.5']) if group else ''}"
        for i in range(rng.randint(1, 3)):
            kind = rng.randrange(6)
            value = rng.choice([f"{rng.uniform(-2, 2):.4f}", repr(rng.uniform(-9, 9)), "0", "1e-3"])
            features = [
                f"f{i}:{value}",
                f"{i}:{value}",
                f"w{i}",
                f"c:{rng.choice('xyz')}",
                f":{value}",
            ]
            line += " " + features[min(kind, 4)]
        line += " "
    return line


def without_repeats(line: str) -> str:
    """Return a line without repeated groups, which the reference adds up in another order."""
    head, *groups = line.split("|")
    first = {re.split("[ :]", group)[0]: group for group in reversed(groups)}
    return "|".join([head, *(group for group in groups if group in first.values())])
