"""What the speed benchmark wants to see, and tables of what it saw."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from timing import Times

__all__ = ["Target", "absolute_table", "target_table", "targets"]


@dataclass(frozen=True)
class Target:
    """A figure per stream, what it must be, and what it should be.

    `at_least` says which way is good; `must_on` are exceptions by stream. Without `must` the
    figure is only shown.
    """

    what: str
    must: float | None
    aim: float | None
    values: Mapping[str, float | None]
    at_least: bool = True
    unit: str = "x"
    must_on: Mapping[str, float] = field(default_factory=dict)

    def verdict(self, stream: str) -> str:
        """✓✓ the aim is met, ✓ the must is met, ✗ neither."""
        value, must = self.values[stream], self.must_on.get(stream, self.must)
        if value is None or must is None or self.aim is None:
            return ""
        for mark, bound in (("✓✓", self.aim), ("✓", must)):
            if (value >= bound) if self.at_least else (value <= bound):
                return mark
        return "✗"

    def wanted(self, bound: float | None) -> str:
        """A bound in words."""
        sign = "≥" if self.at_least else "≤"
        return "" if bound is None else f"{sign} {bound:g}{self.unit}"

    def must_text(self) -> str:
        """The must, with its exceptions."""
        others = "".join(f", {name} {self.wanted(bound)}" for name, bound in self.must_on.items())
        return self.wanted(self.must) + others

    def cell(self, stream: str) -> str:
        """A figure and its verdict."""
        value = self.values.get(stream)
        if value is None:
            return "not run" if stream in self.values else ""
        digits = 0 if value >= 100 else 1 if value >= 10 else 2
        return f"{value:.{digits}f}{self.unit} {self.verdict(stream)}".strip()

    def to_json(self) -> dict[str, Any]:
        """For the file."""
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


def targets(
    times: Mapping[str, Times], age: float | None, memory: float | None, crowd: float | None
) -> list[Target]:
    """All figures that have a target; a stream that was not run has no value."""
    dense = [name for name in times if name != "sparse"]

    def per_stream(over: str, under: str) -> dict[str, float | None]:
        return {name: times[name].ratio(over, under) for name in dense}

    all_four = "VW C++ driver, four products, text"
    crossed = times["sparse"].ratio(B5, all_four) if "sparse" in times else None
    both = "VW Python, predict + learn"
    one_by_one = "one call per example, b=5, {} against VW Python predict + learn"
    return [
        Target(
            "b=5 against VW Python learn, one model",
            10,
            20,
            per_stream("VW Python, learn", B5),
            must_on={"pol": 5},
        ),
        Target("b=5 against VW C++ driver, one model", 2, 4, per_stream("VW C++ driver, text", B5)),
        Target("b=5 against FLAML AutoVW b=5", 1000, 5000, per_stream("FLAML AutoVW b=5", B5)),
        Target("b=5 costs b=1 times", 2, 1.3, per_stream(B5, B1), False),
        Target("b=10 costs b=1 times", 3, 2, per_stream(B10, B1), False),
        Target("Arrow against text, b=5", 1.5, 3, per_stream(B5, "chacha b=5, Arrow")),
        Target(one_by_one.format("line"), 4, 10, per_stream(both, LINE)),
        Target(one_by_one.format("dict"), 4, 10, per_stream(both, DICT)),
        Target(
            "b=5, four with a product each, costs one VW model (C++ driver) of all four times",
            1,
            0.5,
            {"sparse": crossed},
            False,
        ),
        Target("last tenth costs first tenth times", 1.1, 1.0, {"fried": age}, False),
        Target(
            "peak memory above importing, b=5, 18 bits", 60, 30, {"fried": memory}, False, " MB"
        ),
        Target("1000 challengers cost 45 times, b=5", None, None, {"fried": crowd}, False),
        Target(
            "b=5 against VW C++ driver from its cache",
            None,
            None,
            per_stream("VW C++ driver, cache", B5),
        ),
        Target("b=5 against River", None, None, per_stream("River, halving of 10", B5)),
    ]


def target_table(found: Sequence[Target], streams: Sequence[str]) -> str:
    """The figures beside their targets, as Markdown."""
    rows = [
        "| | must | aim | " + " | ".join(streams) + " |",
        "|---|---|---|" + "---|" * len(streams),
    ]
    for target in found:
        cells = [target.what, target.must_text(), target.wanted(target.aim)]
        rows.append("| " + " | ".join([*cells, *map(target.cell, streams)]) + " |")
    return "\n".join(rows)


def absolute_table(times: Mapping[str, Times]) -> str:
    """CPU nanoseconds an example of every method on every stream, as Markdown."""
    names = dict.fromkeys(name for found in times.values() for name in found.rounds)
    rows = ["| ns an example | " + " | ".join(times) + " |", "|---|" + "---|" * len(times)]
    for name in names:
        medians = (found.median(name) for found in times.values())
        cells = ["" if median is None else f"{median:.0f}" for median in medians]
        rows.append("| " + " | ".join([name, *cells]) + " |")
    return "\n".join(rows)
