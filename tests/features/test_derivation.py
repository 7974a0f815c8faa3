"""Derived groups: what they hold, by an independent account in NumPy, in Python and in the engine.

The engine's numbers and the reference's are the same to the last bit, whatever the text.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from chacha import Config, NativePool
from chacha.config.derived_groups import ColumnProfile
from chacha.data.example import Example, make_example
from chacha.data.text_parser import parse_line
from chacha.data.vw_text import hash_name
from chacha.features.column_stats import short_text
from chacha.features.derivation import Derivation

Derived = dict[str, list[tuple[int, float]]]  # by group: hashes and values, in order
Values = NDArray[np.float64]


class Both:
    """The reference and the engine, over the same lines."""

    def __init__(self, names: Sequence[str], first: int) -> None:
        self.names = list(names)
        self.derivation = Derivation(first)
        self.pool = NativePool()
        self.pool.turn_on_derivation(first)
        self.pool.start(Config())
        self.add(names)

    def add(self, names: Sequence[str]) -> None:
        self.derivation.add(names)
        self.pool.derive(names)

    def python(self, line: str) -> Derived:
        made = self.derivation.derive(parse_line(line)).derived
        return {name: [(f.hashed, f.value) for f in made[name]] for name in self.names}

    def native(self, line: str) -> Derived:
        groups = self.pool.engine.derived(line, self.names)
        assert groups is not None
        return {
            name: [(hash_name(feature, hash_name(name, 0)), value) for feature, value in features]
            for name, features in zip(self.names, groups, strict=True)
        }

    def learn(self, line: str) -> None:
        """In the engine by itself: a line has nothing derived."""
        row = parse_line(line)
        self.pool.learn(row)
        self.derivation.observe(self.derivation.derive(row))

    @property
    def profile(self) -> list[ColumnProfile]:
        return sorted(ColumnProfile(*facts) for facts in self.pool.engine.profile)


def compared(lines: Iterable[str], names: Sequence[str], first: int = 8) -> Both:
    """Every line is derived by both, before it is learned; what is known of columns is the same."""
    both = Both(names, first)
    for line in lines:
        assert both.native(line) == both.python(line), line
        both.learn(line)
        assert both.profile == both.derivation.columns
    return both


# What a value gives, in NumPy: computed from the whole past every time.


def spaced(count: int, k: int) -> list[int]:
    """The places of k of so many sorted values, the same from both ends."""
    half = [j * (count - 1) // (k - 1) for j in range(k // 2)]
    middle = [count - 1 - (k // 2) * (count - 1) // (k - 1)] if k % 2 else []
    return half + middle + [count - 1 - j for j in reversed(half)]


def knots_of(past: Values, first: int, k: int) -> list[float] | None:
    """Quantiles of the first values, and what was added beyond them; None: nothing is known yet."""
    if len(past) < first or len(np.unique(past[:first])) < 3:
        return None
    head = np.sort(past[:first])
    few = len(np.unique(head)) <= k
    knots = set(head if few else head[spaced(first, k)])
    low, high, at, stride = head[0], head[-1], first, 1
    for _ in range(16):
        rest = past[at:]
        outside = np.flatnonzero((rest < low) | (rest > high))
        while len(outside) > 63 * stride and (63 * stride + 1) * 20 < outside[63 * stride] + 1:
            at += outside[63 * stride] + 1  # too few of them: they are forgotten
            rest = past[at:]
            outside = np.flatnonzero((rest < low) | (rest > high))
        if len(outside) <= 63 * stride:
            break
        found = np.sort(rest[outside[: 63 * stride + 1 : stride]])
        for some in (found[found < low], found[found > high]):
            if len(some) >= 16:
                knots |= set(some[spaced(len(some), 4)])
        low, high = min(low, *knots), max(high, *knots)
        at, stride = at + outside[63 * stride] + 1, 2 * stride
    return sorted(map(float, knots))


def hats(knots: Sequence[float], x: float) -> dict[str, float]:
    """The hat functions of the knots: 1 at their own, 0 at all others, lines between."""
    shares = [np.interp(x, knots, unit) for unit in np.eye(len(knots))]
    return {
        f"x@{short_text(knot)}": float(np.float32(share))
        for knot, share in zip(knots, shares, strict=True)
        if share != 0.0
    }


Shape = Callable[[random.Random, int], float]
SHAPES: dict[str, Shape] = {
    "uniform": lambda rng, i: rng.uniform(-3, 3),
    "skewed": lambda rng, i: math.exp(rng.gauss(0, 3)),
    "codes": lambda rng, i: float(rng.randrange(1, 12)),
    "drifting": lambda rng, i: 0.05 * i + rng.random(),
    "wild": lambda rng, i: rng.gauss(0, 1) * 10.0 ** min(i / 30, 30),
    "both ends": lambda rng, i: rng.choice([-1.0, 1.0]) * (1 + i / 10) * rng.random(),
    "rarely beyond": lambda rng, i: rng.choice([rng.random()] * 40 + [5 + rng.random()]),
    "whole, then not": lambda rng, i: float(rng.randrange(1, 5)) if i < 30 else rng.random(),
    "two values": lambda rng, i: float(rng.randrange(1, 3)),
    "constant": lambda rng, i: 2.5,
}


def stream(shape: str, n: int = 700, seed: int = 0) -> Values:
    rng = random.Random(f"{shape} {seed}")
    return np.array([float(np.float32(SHAPES[shape](rng, i) or 1.0)) for i in range(n)])


def line_of(x: float) -> str:
    return make_example({"a": [("x", float(x))]}, label=1.0).line


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("k", [4, 16])
def test_bins_are_hat_functions_on_the_quantiles_of_the_first_values(shape: str, k: int) -> None:
    name, first = f"bins(a,{k})", 40
    values = stream(shape)
    both = Both([name], first)
    for i, x in enumerate(values):
        row = parse_line(line_of(x))
        assert row.groups["a"][0].value == x
        if i % 7 == 0:
            knots = knots_of(values[:i], first, k)
            expected = {} if knots is None else hats(knots, x)
            made = both.derivation.derive(row).derived[name]
            assert {f.name: f.value for f in made} == pytest.approx(expected, abs=1e-6)
            assert both.native(row.line) == both.python(row.line)
        both.learn(row.line)
    assert (knots_of(values, first, k) is None) == (shape in ("two values", "constant"))


def test_shares_add_up_to_one() -> None:
    both = compared([line_of(x) for x in stream("skewed", 60)], ["bins(a,5)"], first=20)
    for x in stream("uniform", 200, seed=1):
        made = [value for _, value in both.native(line_of(x))["bins(a,5)"]]
        assert sum(made) == pytest.approx(1.0, abs=1e-6)
        assert 1 <= len(made) <= 2


def test_logs_turns_and_values_are_what_their_names_say() -> None:
    names = ["log(a)", "cyclic(a,24)", "onehot(a)"]
    lines = [line_of(float(x)) for x in np.random.default_rng(1).integers(1, 24, 200)]
    both = compared(lines, names, first=50)
    for x in (1.0, 6.0, 12.0, 23.0, 7.5, -3.0, 1e30):
        made = both.derivation.derive(parse_line(line_of(x))).derived
        values = {name: {f.name: f.value for f in made[name]} for name in names}
        assert values["log(a)"] == pytest.approx({"x": math.copysign(math.log1p(abs(x)), x)})
        if x < 1e6:
            angle = math.tau * (x - 12.0) / 24  # 12 is in the middle of the first values
            turn = {"x.sin": math.sin(angle), "x.cos": math.cos(angle)}
            shown = {key: value for key, value in turn.items() if abs(value) > 1e-7}
            assert values["cyclic(a,24)"] == pytest.approx(shown, abs=1e-6)
        assert values["onehot(a)"] == {f"x={short_text(float(np.float32(x)))}": 1.0}
        assert both.native(line_of(x)) == both.python(line_of(x))


@pytest.mark.parametrize("count", [64, 65, 200])
def test_codes_beyond_the_distinguished_ones_are_others(count: int) -> None:
    """Whether there are too many is decided by the first values; later ones fill up the rest."""
    rng = random.Random(count)
    early = [line_of(float(rng.randrange(1, 21))) for _ in range(100)]
    late = [line_of(float(rng.randrange(1, count + 1))) for _ in range(600)]
    both = compared([*early, *late], ["onehot(a)"], first=100)
    made = both.derivation.derive(parse_line("|a x:100000")).derived["onehot(a)"]
    assert [f.name for f in made] == ["x=other" if count >= 64 else "x=100000"]
    many = compared([line_of(float(i)) for i in range(1, 101)], ["onehot(a)"], first=100)
    assert many.native("|a x:3") == {"onehot(a)": []}


@pytest.mark.parametrize("count", [1, 3, 7])
def test_lags_and_means_are_those_of_the_examples_learned(count: int) -> None:
    """Of a column that an example does not have, the value is 0."""
    rng = random.Random(count)
    names = [f"lag(label,{count})", f"lag(a,{count})", "ewma(label,0.25)", "ewma(a,0.1)"]
    both, labels, values = Both(names, 8), list[float](), list[float]()
    for i in range(80):
        x, y = rng.choice([0.0, 1.5, rng.gauss(0, 1)]), rng.choice([0.0, float(i), rng.random()])
        y = float(np.float32(y))
        row = parse_line(f"{y!r}e+0 |a x:{x!r}e+0")
        groups = both.derivation.derive(row).derived
        lags = {f"label.{k}": labels[-k] for k in range(1, min(count, i) + 1) if labels[-k]}
        assert {f.name: f.value for f in groups[names[0]]} == lags
        lags = {f"x.{k}": values[-k] for k in range(1, min(count, i) + 1) if values[-k]}
        assert {f.name: f.value for f in groups[names[1]]} == lags
        for name, past, share in ((names[2], labels, 0.25), (names[3], values, 0.1)):
            shares = np.array([share * (1 - share) ** k for k in range(i)][::-1])
            shares[:1] = (1 - share) ** max(i - 1, 0)  # the first counts for all before it
            assert sum(f.value for f in groups[name]) == pytest.approx(
                float(np.dot(shares, past)), abs=1e-4
            )
        assert both.native(row.line) == both.python(row.line)
        both.learn(row.line)
        assert row.label is not None
        labels.append(row.label)
        values.append(sum(f.value for f in row.groups["a"]))


def test_a_lag_begins_with_the_example_after_it_became_known() -> None:
    both = Both(["lag(label,3)"], 8)
    for i in range(5):
        both.learn(f"{i + 1} |a x")
    both.names += ["lag(a,2)", "ewma(label,0.5)"]
    both.add(both.names)
    for i in range(5, 12):
        line = f"{i + 1} |a x:{i}"
        assert both.native(line) == both.python(line)
        both.learn(line)
    made = both.derivation.derive(parse_line("|a x")).derived
    assert [f.value for f in made["lag(a,2)"]] == [11.0, 10.0]
    assert [f.value for f in made["lag(label,3)"]] == [12.0, 11.0, 10.0]


# Any text gives the same features in the engine and in the reference.

NAMES = [
    *("bins(a,3)", "bins(a,16)", "onehot(a)", "cyclic(a,7)", "log(a)", "lag(a,2)", "ewma(a,0.5)"),
    *("bins(b,2)", "onehot(b)", "bins(bins,4)", "log(bi)", "onehot(c)", "lag(label,2)"),
    *("ewma(label,0.1)", "missing(a)", "own(me)", "bins(7,4)", "lag(é,1)"),
]
GROUPS = ["a", "a", "a", "b", "bi", "bins", "bins(a", "c", "7", "é", "", "missing(a)", "own(me)"]
numbers = st.sampled_from(
    [
        *("0", "1", "2", "3", "4", "5", "-1", "-2.5", "0.5", "1e38", "-1e38", "3.4028235e38"),
        *("1e-38", "1e-45", "-1e-45", "1.17549435e-38", "1e-7", "16777217", "0.1", "1e+0", "7"),
    ]
)
features = st.one_of(
    st.builds("{}:{}".format, st.sampled_from(["x", "x", "x", "y", "0", "1", "00", "é"]), numbers),
    st.builds(":{}".format, numbers),
    st.sampled_from(["x", "y", "w", "1", "x:red", "y:blue", ":red", "x:red:blue", "=", "x=1", "@"]),
)
groups = st.builds(
    lambda name, scale, own: f"|{name}{scale if name else ''} {' '.join(own)}",
    st.sampled_from(GROUPS),
    st.sampled_from(["", "", "", ":0.5", ":-0.5", ":0"]),
    st.lists(features, max_size=3),
)
rough_lines = st.builds(
    lambda label, own: f"{label} {' '.join(own)}",
    st.sampled_from(["1", "0", "-2.5", "1e30", "0.1"]),
    st.lists(groups, min_size=1, max_size=5),
)


@settings(max_examples=60, deadline=None)
@given(st.lists(rough_lines, min_size=1, max_size=40), st.integers(2, 9))
@example(["1 |a 0:0 00:5", "1 |a 0:1"], 2)
@example(["1 |a 5:2 7:1"] * 3, 2)
@example(["1 |a :red :1 :2 x:red:blue"] * 3, 2)
@example(["1 |a x:1 x:2 x:3", "1 |a x:4", "1 |missing(a) x |missing(a) y:3"] * 3, 2)
def test_rough_text_gives_the_same_in_python_and_in_the_engine(
    lines: list[str], first: int
) -> None:
    both = compared(lines, NAMES, first)
    for line in lines:  # and once more, with all that is known now
        assert both.native(line) == both.python(line)


@settings(max_examples=40, deadline=None)
@given(
    st.lists(
        st.lists(st.floats(width=32, allow_nan=False, allow_infinity=False), max_size=3),
        min_size=12,
        max_size=40,
    )
)
def test_any_numbers_give_the_same(rows: list[list[float]]) -> None:
    """Huge, tiny, denormal, negative ones; as exact text."""
    lines = [
        "1 |a " + " ".join(f"x{i}:{np.format_float_positional(np.float32(x))}e+0" for i, x in row)
        for row in (list(enumerate(row)) for row in rows)
    ]
    compared(lines, ["bins(a,4)", "bins(a,64)", "onehot(a)", "cyclic(a,24)", "log(a)"], first=8)


@settings(max_examples=40, deadline=None)
@given(st.lists(rough_lines, min_size=10, max_size=30))
def test_derived_features_are_read_back_from_text_exactly(lines: list[str]) -> None:
    """What a pool that takes text is given is what was made: VW-safe names, the same float32."""
    derivation = Derivation(4)
    derivation.add(NAMES)
    for line in lines:
        example = derivation.derive(parse_line(line))
        read = parse_line(example.derived_text(NAMES)).groups
        for name in NAMES:
            expected = [(f.value, f.hashed) for f in example.derived[name]]
            assert [(f.value, f.hashed) for f in read[name]] == expected
        rest = parse_line(example.line)
        assert rest.groups == {n: example.groups[n] for n in example.groups} or not example.groups
        assert not {"missing(a)", "own(me)"} & rest.groups.keys()
        derivation.observe(example)


def test_many_columns_are_tracked_up_to_a_bound() -> None:
    """The first 256 of a group, the first 4096 in all."""
    rng = random.Random(3)

    def lines() -> Iterable[str]:
        for _ in range(12):
            picked = sorted(rng.sample(range(600), 120))
            yield "1 |wide " + " ".join(f"f{i}:{rng.randrange(1, 4)}" for i in picked)
        for g in range(40):
            yield f"1 |g{g} " + " ".join(f"f{i}:{rng.randrange(1, 4)}" for i in range(130))
        for _ in range(10):
            for g in (0, 38, 39):
                yield f"1 |g{g} " + " ".join(f"f{i}:{rng.randrange(1, 4)}" for i in range(130))

    names = ["bins(wide,4)", "onehot(wide)", "lag(wide,1)", "onehot(g0)", "onehot(g39)"]
    both = compared(lines(), names, first=3)
    assert len(both.pool.engine.bases("lag(wide,1)")[0]) == 256
    assert both.native("1 |g0 f0:1")["onehot(g0)"]
    assert both.native("1 |g39 f0:1")["onehot(g39)"] == []


def test_columns_that_come_late_get_their_own_knots() -> None:
    rng = random.Random(4)
    lines = []
    for i in range(150):
        late = f" z:{rng.gauss(5, 2)!r}e+0" if i > 60 else ""
        group = f" |late q:{rng.random()!r}e+0" if i > 90 else ""
        lines.append(f"1 |a x:{rng.random()!r}e+0{late}{group}")
    names = ["bins(a,4)", "bins(late,4)", "log(a)", "lag(late,2)", "lag(a,1)"]
    both = compared(lines, names, first=40)
    assert {(c.group, c.name) for c in both.profile} == {("a", "x"), ("a", "z"), ("late", "q")}


def test_deriving_is_a_pure_read() -> None:
    """Deriving, predicting and showing change nothing, however often."""
    rng = random.Random(5)
    quiet, asked = Both(NAMES, 8), Both(NAMES, 8)
    for i in range(60):
        line = f"{i} |a x:{rng.randrange(1, 9)} y{i % 3}:{rng.random()!r} |missing(a) m |b z"
        other = f"|a x:{rng.gauss(0, 99)!r} new{i} |missing(b{i}) m |fresh{i} z |own(me) q"
        for _ in range(2):
            asked.native(other)
            asked.python(other)
            asked.pool.predict(parse_line(other))
        assert asked.native(line) == quiet.native(line) == quiet.python(line) == asked.python(line)
        for both in (quiet, asked):
            both.learn(line)
        assert quiet.profile == asked.profile
    assert asked.profile == asked.derivation.columns
    assert {c.group for c in asked.profile} == {"a", "b", "missing(a)"}


def test_groups_that_examples_bring_are_set_apart() -> None:
    derivation = Derivation(8)
    derivation.add(["own(me)"])
    row = parse_line("1 0.5 'tag|a:2 x:3 :4|missing(a) x |b y |own(me) z:0.5")
    example = derivation.derive(row)
    assert example.line == "1 0.5 'tag|a:2 x:3 :4|b y "
    assert list(example.groups) == ["a", "b"]
    assert [f.name for f in example.derived["missing(a)"]] == ["x"]
    assert [(f.name, f.value) for f in example.derived["own(me)"]] == [("z", 0.5)]
    assert replace(example, derived={}) == row.without(["missing(a)", "own(me)"])
    off = Derivation(on=False)
    assert off.derive(row) is row
    off.observe(row)
    assert off.columns == []


def test_a_copy_of_text_keeps_groups_as_they_are() -> None:
    row: Example = parse_line("1 |a x |b|a:3 :1 y:red |\tq |b z")
    assert row.without(["b"]).body == "|a x |a:3 :1 y:red |\tq "
    assert row.without(["a", " "]).body == "|b|b z"
    assert row.without(["a", "b", " "]).body == "|"
    assert parse_line(row.without(["b"]).body).groups == row.without(["b"]).groups
