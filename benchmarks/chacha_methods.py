"""chacha's methods: b models stay live for the whole pass, with statistics and tests.

An oracle proposes exactly b - 1 challengers of one product each. Bounds a billion times wider than
the paper's never decide, so no challenger is promoted, ruled out or replaced.
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

__all__ = ["check_all_live", "cost_over_time", "held", "methods", "waiting_pass"]

UNDECIDED = chacha.SampleComplexity(scale=1e9)


def proposing(products: Sequence[tuple[str, ...] | str], count: int) -> chacha.ConfigOracle:
    """Return an oracle with `count` challengers; the products repeat with other rates."""

    def oracle(champion: chacha.Config, groups: Sequence[str]) -> list[chacha.Config]:
        if len(champion.interactions):
            return []
        challengers = []
        for i, pair in enumerate(islice(cycle(products), count)):
            c = champion.with_product(pair)
            repeat = i // len(products)
            rate = 0.5 / (1 + repeat / 1000)
            challengers.append(c.with_values(learning_rate=rate) if repeat else c)
        return challengers

    return oracle


def held(budget: int, products: Sequence[tuple[str, ...] | str] = PRODUCTS) -> chacha.ChaCha:
    """Return a model whose `budget` configurations stay live; at b = 1 a challenger waits."""
    count = max(budget - 1, 1)
    return chacha.ChaCha.paper(budget=budget, oracle=proposing(products, count), evidence=UNDECIDED)


def check_all_live(model: chacha.ChaCha) -> None:
    """Check that b models were measured."""
    assert len(model.live) == model.budget, f"{len(model.live)} of {model.budget} are live"
    assert not model.promotions, "a challenger was promoted"


def text_pass(stream: Stream, path: Path, budget: int) -> float:
    """Return the nanoseconds per example of a pass over a file of VW text."""
    model = held(budget, stream.products)
    elapsed = nanoseconds(lambda: model.run(path), len(stream.lines))
    check_all_live(model)
    return elapsed


def rules_pass(stream: Stream, path: Path) -> float:
    """Return the time of a pass with the paper's rules, leases and promotions included."""
    model = chacha.ChaCha.paper(budget=5, seed=1)
    return nanoseconds(lambda: model.run(path), len(stream.lines))


def arrow_pass(stream: Stream, budget: int) -> float:
    """Return the time of a pass over the table."""
    model, table = held(budget, stream.products), stream.table
    elapsed = nanoseconds(lambda: model.run(table, table=stream.spec), len(table))
    check_all_live(model)
    return elapsed


def line_pass(stream: Stream, rows: int) -> float:
    """Return the time of one call to predict and one to learn for each line."""
    model, lines = held(5, stream.products), stream.lines[:rows]

    def work() -> None:
        for line in lines:
            model.predict_one(line)
            model.learn_one(line)

    elapsed = nanoseconds(work, len(lines))
    check_all_live(model)
    return elapsed


def dict_pass(stream: Stream, rows: int) -> float:
    """Return the time of one call to predict and one to learn for each dict."""
    model = held(5, stream.products)
    records: list[dict[str, Any]] = stream.table.slice(0, rows).to_pylist()
    labels = [record.pop(TARGET) for record in records]

    def work() -> None:
        for x, y in zip(records, labels, strict=True):
            model.predict_one(x)
            model.learn_one(x, y)

    elapsed = nanoseconds(work, len(records))
    check_all_live(model)
    return elapsed


def methods(stream: Stream, path: Path, calls: int) -> list[Method]:
    """Return chacha's methods for a stream; those with a call per row take `calls` rows."""
    passes = [
        Method("chacha b=1, text", lambda: text_pass(stream, path, 1)),
        Method("chacha b=5, text", lambda: text_pass(stream, path, 5)),
        Method("chacha b=5, Arrow", lambda: arrow_pass(stream, 5)),
    ]
    if stream.name != "sparse":
        passes += [
            Method("chacha b=10, text", lambda: text_pass(stream, path, 10)),
            Method("chacha b=5, paper's rules, text", lambda: rules_pass(stream, path)),
            Method("chacha b=5, predict_one + learn_one, line", lambda: line_pass(stream, calls)),
            Method("chacha b=5, predict_one + learn_one, dict", lambda: dict_pass(stream, calls)),
        ]
    return passes


def cost_over_time(examples: int, folder: Path) -> dict[str, float]:
    """Compare the cost of an example in the last tenth of a long stream with the first.

    A new model also learns the pieces of the last tenth, alternating with the old one, so that a
    change in the speed of the machine does not count as age.
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
            turns = (both + both[::-1]) * 3  # no model is always first
        for model, times in turns:
            times.append(nanoseconds(lambda model=model: model.run(path), piece))  # type: ignore[misc]
    check_all_live(old)
    pairs = zip(costs[90:], fresh, strict=True)
    return {
        "examples": old.examples,
        "first tenth, ns": statistics.median(costs[:10]),
        "last tenth, ns": statistics.median(costs[90:]),
        "a new model on the last tenth, ns": statistics.median(fresh),
        "old / new": statistics.median(a / b for a, b in pairs),
    }


def waiting_pass(stream: Stream, path: Path, count: int) -> float:
    """Return the time of a pass with `count` challengers, four of them on endless leases."""
    model = chacha.ChaCha.paper(
        budget=5, oracle=proposing(PRODUCTS, count), evidence=UNDECIDED, lease_factor=10**6
    )
    model.run(path, limit=100)  # by then the oracle has proposed all challengers
    elapsed = nanoseconds(lambda: model.run(path), len(stream.lines))
    assert len(model.challengers) == count
    check_all_live(model)
    return elapsed
