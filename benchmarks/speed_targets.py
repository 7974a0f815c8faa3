"""The targets of the speed benchmark, and tables of its figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from timing import Times

__all__ = ["Target", "absolute_table", "target_table", "targets"]


@dataclass(frozen=True)
class Target:
    """A figure for each stream, its required value and its desired value.

    `at_least` says which direction is good; `must_on` are exceptions by stream. Without `must`,
    the figure is only shown.
    """

    what: str
    must: float | None
    aim: float | None
    values: Mapping[str, float | None]
    at_least: bool = True
    unit: str = "x"
    must_on: Mapping[str, float] = field(default_factory=dict)

    def verdict(self, stream: str) -> str:
        """Return ✓✓ if the aim is met, ✓ if the must is met, else ✗."""
        value, must = self.values[stream], self.must_on.get(stream, self.must)
        if value is None or must is None or self.aim is None:
            return ""
        for mark, bound in (("✓✓", self.aim), ("✓", must)):
            if (value >= bound) if self.at_least else (value <= bound):
                return mark
        return "✗"

    def wanted(self, bound: float | None) -> str:
        """Return a bound in words."""
        sign = "≥" if self.at_least else "≤"
        return "" if bound is None else f"{sign} {bound:g}{self.unit}"

    def must_text(self) -> str:
        """Return the must with its exceptions."""
        others = "".join(f", {name} {self.wanted(bound)}" for name, bound in self.must_on.items())
        return self.wanted(self.must) + others

    def cell(self, stream: str) -> str:
        """Return a figure with its verdict."""
        value = self.values.get(stream)
        if value is None:
            return "not run" if stream in self.values else ""
        digits = 0 if value >= 100 else 1 if value >= 10 else 2
        return f"{value:.{digits}f}{self.unit} {self.verdict(stream)}".strip()

    def to_json(self) -> dict[str, Any]:
        """Return the object for out/speed.json."""
        return {
            "what": self.what,
            "must": self.must,
            "must_on": dict(self.must_on),
            "aim": self.aim,
            "at_least": self.at_least,
            "unit": self.unit,
            "values": dict(self.values),
            "verdicts": {stream: self.verdict(stream) for stream in self.values},
        }


B1, B5, B10 = (f"chacha b={b}, text" for b in (1, 5, 10))
LINE, DICT = (f"chacha b=5, predict_one + learn_one, {x}" for x in ("line", "dict"))


BOTH, ALL_FOUR = "VW Python, predict + learn", "VW C++ driver, four products, text"


def targets(
    times: Mapping[str, Times], age: float | None, memory: float | None, waiting: float | None
) -> list[Target]:
    """Return the figures with a target, then some without; None where a method did not run."""

    def dense(over: str, under: str) -> dict[str, float | None]:
        return {name: t.ratio(over, under) for name, t in times.items() if name != "sparse"}

    learn = dense("VW Python, learn", B5)
    crossed = {"sparse": times["sparse"].ratio(B5, ALL_FOUR)}
    calls = "one call per example, b=5, {} against VW Python predict + learn"
    private = "b=5, four with a product each, costs one VW model (C++ driver) of all four times"
    cached, river = dense("VW C++ driver, cache", B5), dense("River, halving of 10", B5)
    more = [
        Target("b=5 against VW Python learn, one model", 10, 20, learn, must_on={"pol": 5}),
        Target("b=5 against VW C++ driver, one model", 2, 4, dense("VW C++ driver, text", B5)),
        Target("b=5 against FLAML AutoVW b=5", 1000, 5000, dense("FLAML AutoVW b=5", B5)),
        Target("Arrow against text, b=5", 1.5, 3, dense(B5, "chacha b=5, Arrow")),
        Target(calls.format("line"), 4, 10, dense(BOTH, LINE)),
        Target(calls.format("dict"), 4, 10, dense(BOTH, DICT)),
    ]
    less = [
        Target("b=5 costs b=1 times", 2, 1.3, dense(B5, B1), False),
        Target("b=10 costs b=1 times", 3, 2, dense(B10, B1), False),
        Target(private, 1, 0.5, crossed, False),
        Target("last tenth costs first tenth times", 1.1, 1.0, {"fried": age}, False),
        Target("peak memory above importing, b=5", 60, 30, {"fried": memory}, False, " MB"),
    ]
    words = {"sparse": times["sparse"].ratio(B5, "chacha b=5, Arrow")}
    shown = [
        Target("Arrow, columns of texts, against text of their words, b=5", None, None, words),
        Target("1000 challengers cost 45 times, b=5", None, None, {"fried": waiting}, False),
        Target("b=5 against VW C++ driver from its cache", None, None, cached),
        Target("b=5 against River", None, None, river),
    ]
    return [*more, *less, *shown]


def target_table(figures: Sequence[Target], streams: Sequence[str]) -> str:
    """Return the figures beside their targets as Markdown."""
    rows = [
        "| | must | aim | " + " | ".join(streams) + " |",
        "|---|---|---|" + "---|" * len(streams),
    ]
    for target in figures:
        cells = [target.what, target.must_text(), target.wanted(target.aim)]
        rows.append("| " + " | ".join([*cells, *map(target.cell, streams)]) + " |")
    return "\n".join(rows)


def absolute_table(times: Mapping[str, Times]) -> str:
    """Return the CPU nanoseconds per example of every method on every stream as Markdown."""
    names = dict.fromkeys(name for one in times.values() for name in one.rounds)
    rows = ["| ns per example | " + " | ".join(times) + " |", "|---|" + "---|" * len(times)]
    for name in names:
        medians = (one.median(name) for one in times.values())
        cells = ["" if median is None else f"{median:.0f}" for median in medians]
        rows.append("| " + " | ".join([name, *cells]) + " |")
    return "\n".join(rows)
