"""chacha, measured: b models held live for the whole pass, with statistics and tests.

An oracle proposes exactly b - 1 challengers of one product each, and bounds a milliard times
wider than the paper's never decide, so that nobody is promoted, ruled out or replaced.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import numpy as np

import chacha
from streams import PRODUCTS, TARGET, Stream, fried_text
from timing import Method, nanoseconds

__all__ = ["ageing", "held", "methods", "waiting"]

NEVER = chacha.SampleComplexity(scale=1e9)


def proposing(products: Sequence[tuple[str, ...] | str], count: int) -> chacha.ConfigOracle:
    """An oracle that knows `count` challengers; the products repeat with other rates."""

    def oracle(champion: chacha.Config, groups: Sequence[str]) -> list[chacha.Config]:
        if len(champion.interactions):
            return []
        found = []
        for i, pair in enumerate(islice(cycle(products), count)):
            c = champion.with_product(pair)
            again = i // len(products)
            found.append(c.with_values(learning_rate=0.5 / (1 + again / 1000)) if again else c)
        return found

    return oracle


def held(budget: int, products: Sequence[tuple[str, ...] | str] = PRODUCTS) -> chacha.ChaCha:
    """A model of which `budget` configurations stay live. At b = 1 a challenger waits in vain."""
    count = max(budget - 1, 1)
    return chacha.ChaCha.paper(budget=budget, oracle=proposing(products, count), evidence=NEVER)


def all_live(model: chacha.ChaCha) -> None:
    """Make sure that what was measured are b models."""
    assert len(model.live) == model.budget, f"{len(model.live)} of {model.budget} are live"
    assert not model.promotions, "a challenger was promoted"


def text_pass(stream: Stream, path: Path, budget: int) -> float:
    """One pass over a file of VW text."""
    model = held(budget, stream.products)
    took = nanoseconds(lambda: model.run(path), len(stream.lines))
    all_live(model)
    return took


def rules_pass(stream: Stream, path: Path) -> float:
    """One pass with the paper's oracle and bounds: leases, restarts, promotions and all."""
    model = chacha.ChaCha.paper(budget=5, seed=1)
    return nanoseconds(lambda: model.run(path), len(stream.lines))


def arrow_pass(stream: Stream, budget: int) -> float:
    """One pass over the table."""
    model, table = held(budget, stream.products), stream.table
    took = nanoseconds(lambda: model.run(table, table=stream.spec), len(table))
    all_live(model)
    return took


def line_pass(stream: Stream, rows: int) -> float:
    """A call to predict and a call to learn, per line."""
    model, lines = held(5, stream.products), stream.lines[:rows]

    def work() -> None:
        for line in lines:
            model.predict_one(line)
            model.learn_one(line)

    took = nanoseconds(work, len(lines))
    all_live(model)
    return took


def dict_pass(stream: Stream, rows: int) -> float:
    """A call to predict and a call to learn, per dict."""
    model = held(5, stream.products)
    records: list[dict[str, Any]] = stream.table.slice(0, rows).to_pylist()
    labels = [record.pop(TARGET) for record in records]

    def work() -> None:
        for x, y in zip(records, labels, strict=True):
            model.predict_one(x)
            model.learn_one(x, y)

    took = nanoseconds(work, len(records))
    all_live(model)
    return took


def methods(stream: Stream, path: Path, calls: int) -> list[Method]:
    """chacha's ways over a stream; `calls` rows where every row is a call."""
    ways = [
        Method("chacha b=1, text", lambda: text_pass(stream, path, 1)),
        Method("chacha b=5, text", lambda: text_pass(stream, path, 5)),
        Method("chacha b=5, Arrow", lambda: arrow_pass(stream, 5)),
    ]
    if stream.name != "sparse":
        ways += [
            Method("chacha b=10, text", lambda: text_pass(stream, path, 10)),
            Method("chacha b=5, paper's rules, text", lambda: rules_pass(stream, path)),
            Method("chacha b=5, predict_one + learn_one, line", lambda: line_pass(stream, calls)),
            Method("chacha b=5, predict_one + learn_one, dict", lambda: dict_pass(stream, calls)),
        ]
    return ways


def ageing(examples: int, folder: Path) -> dict[str, float]:
    """What an example costs after many: the last tenth of the stream against the first.

    The pieces of the last tenth are also learned by a new model, in turn with the old one, so
    that a machine that changes its speed meanwhile does not count as age.
    """
    rng, path = np.random.default_rng(1), folder / "piece.vw"
    piece = max(1, examples // 100)
    old, young = held(5), held(5)
    costs: list[float] = []
    fresh: list[float] = []
    for turn in range(100):
        path.write_text(fried_text(rng, piece))
        turns = [(old, costs)]
        if turn >= 90:
            both = [(old, costs), (young, fresh)]
            turns = (both + both[::-1]) * 3  # nobody is always first
        for model, found in turns:
            found.append(nanoseconds(lambda model=model: model.run(path), piece))  # type: ignore[misc]
    all_live(old)
    pairs = zip(costs[90:], fresh, strict=True)
    return {
        "examples": old.examples,
        "first tenth, ns": statistics.median(costs[:10]),
        "last tenth, ns": statistics.median(costs[90:]),
        "a new model on the last tenth, ns": statistics.median(fresh),
        "old / new": statistics.median(a / b for a, b in pairs),
    }


def waiting(stream: Stream, path: Path, count: int) -> float:
    """One pass with `count` challengers, four of them live on leases that do not end."""
    model = chacha.ChaCha.paper(
        budget=5, oracle=proposing(PRODUCTS, count), evidence=NEVER, lease_factor=10**6
    )
    model.run(path, limit=100)  # the oracle has proposed them all
    took = nanoseconds(lambda: model.run(path), len(stream.lines))
    assert len(model.challengers) == count
    all_live(model)
    return took
