"""Runs with derived groups: every driver and learner gives the same decisions and predictions.

Compared are the engine by itself, the Python driver over the native learner, the reference and
Vowpal Wabbit; one by one and in chunks; as text, as dicts and as tables.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import chacha
from chacha import ChaCha, Config, NativePool, ReferencePool
from chacha._native import kernels
from chacha.config.config import Product
from chacha.config.derived_groups import DerivedFeatures
from chacha.config.space import Interactions
from chacha.data.text_parser import parse_line
from chacha.drivers.native import NativeDriver
from chacha.drivers.python import PythonDriver
from chacha.features.derivation import Derivation
from chacha.losses import Hinge, Logistic, Loss, Poisson, Quantile
from chacha.pools.base import LivePool
from chacha.rules.contest.scaling import Scaling
from chacha.rules.contest.screening import Screening
from chacha.rules.head_start import FromScratch, HeadStart
from chacha.sources import DictReader
from tests.support.derived_runs import (
    POLICY,
    Row,
    Table,
    arrow_of,
    fast_model,
    features_in,
    space,
)
from tests.support.fast_rules import PlainPool
from tests.support.native_runs import WAYS, served_by_now, state, tracked, vw_file
from tests.support.vw_lines import without_repeats

LABELS_ONLY = Scaling(columns=False)
"""For runs that compare text with tables: the columns of text are not centred."""


def curved(n: int, seed: int = 0) -> Table:
    """A sine, hours that matter, a skewed price, a product of bins."""
    rng, table = random.Random(f"curved {seed}"), Table()
    for _ in range(n):
        temp, hour = rng.uniform(-3, 3), rng.randrange(24)
        price, kind = math.exp(rng.gauss(0, 2)), rng.choice(["red", "blue", "green"])
        y = 6 * math.sin(2 * temp) + 4 * (hour in (7, 8, 17)) + 0.3 * math.log1p(price)
        y += (2 if kind == "red" else -1) * (abs(temp) > 1.5)
        row = {"temp": temp, "hour": hour, "bprice": price, "kind": kind}
        table.append((row, y + rng.gauss(0, 0.1)))
    return table


def steps(n: int, seed: int = 0) -> Table:
    """Labels that hang on the last one, often 0; columns that drift, stay, come late, are empty."""
    rng, table, y = random.Random(f"steps {seed}"), Table(), 0.0
    for i in range(n):
        row: Row = {"drift": 0.1 * i + rng.random(), "same": 7.0, "code": rng.randrange(1, 80)}
        row["late"] = rng.gauss(0, 1) if i > n // 4 else None
        row["hour"] = rng.choice([0, 6, 12, 18, None])
        y = 0.0 if rng.random() < 0.1 else round(0.9 * y) + rng.choice([0.0, 1.0, 2.0])
        table.append((row, y))
    return table


STREAMS: dict[str, Callable[[int, int], Table]] = {"curved": curved, "steps": steps}


def text_of(table: Table) -> list[str]:
    """The rows as VW text, as dicts are read."""
    reader = DictReader(offer_missing=True)
    return [reader.example(x).with_label(y).line for x, y in table]


def rough(n: int, seed: int = 0) -> list[str]:
    """Several features a group, zeros, weights, words, groups that come late or stand twice.

    Groups share their letters with derived ones; some examples bring such groups themselves.
    """
    rng, lines = random.Random(f"rough {seed}"), list[str]()
    for i in range(n):
        x = {name: rng.choice([0.0, 1.0, -2.0, rng.uniform(-2, 2), 1e30]) for name in "xyz"}
        y = 2 * (abs(x["x"]) > 1) + 3 * (x["y"] == 1.0) + rng.gauss(0, 0.1)
        words = ["|a " + " ".join(f"{name}:{value!r}" for name, value in x.items())]
        words += [f"|b {i % 5}:{i % 5} q{rng.randrange(3)}", f"|bins h:{rng.randrange(24)}"]
        words += [f"|a w:{rng.randrange(9)}", "|bi"] if rng.random() < 0.2 else []
        words += [f"|missing(a) {rng.choice('xyz')}"] if rng.random() < 0.3 else []
        words += [f"|own(me) m:{rng.random()!r}"] if i > n // 3 else []
        words += [f"|log(o) l:{rng.random()!r} | r:{rng.gauss(0, 1)!r} :{i % 3}"]
        rng.shuffle(words)
        weight = rng.choice(["", "", "", " 2", " 0.5", " 0", " 1 0.25"])
        lines.append(f"{y!r}{weight} {' '.join(words)}")
    return lines


ROUGH = DerivedFeatures(first=25, knots=5, more=["own(me)", "lag(a,2)", "ewma(label,0.3)"])


@pytest.mark.parametrize("stream", STREAMS)
@pytest.mark.parametrize("baseline", [False, True], ids=["alone", "baseline"])
def test_every_driver_and_learner_gives_the_same_run(stream: str, baseline: bool) -> None:
    lines = text_of(STREAMS[stream](400, 0))
    native = fast_model(NativePool(), baseline=baseline)
    assert isinstance(native._driver, NativeDriver)
    track = tracked(native, lines, "whole")
    for pool in (PlainPool(), ReferencePool()):
        python = fast_model(pool, baseline=baseline)
        assert isinstance(python._driver, PythonDriver)
        assert tracked(python, lines, "steps") == track
        assert python.observed.columns == native.observed.columns
    assert len(features_in(native)) > 3
    assert stream != "curved" or features_in(native, "Promoted")


@pytest.mark.parametrize("stream", STREAMS)
def test_vowpal_wabbit_gives_the_same_run(stream: str) -> None:
    """A copy of VW's is an undamped one."""
    pytest.importorskip("vowpalwabbit")
    lines = text_of(STREAMS[stream](300, 1))
    undamped: dict[str, Any] = {"starting": HeadStart(damping=0.0)}
    native, vw = (
        fast_model(NativePool(), **undamped),
        fast_model(chacha.open_pool("vw"), **undamped),
    )
    assert tracked(native, lines, "whole") == tracked(vw, lines, "steps")
    assert len(features_in(native)) > 3


@pytest.mark.parametrize("seed", range(3))
def test_rough_text_gives_the_same_run(seed: int) -> None:
    """VW and the reference too, as far as they take it."""
    lines, rules = rough(260, seed), {"space": space(ROUGH), "budget": 5}
    found = tracked(fast_model(NativePool(), **rules), lines, "whole")
    assert tracked(fast_model(PlainPool(), **rules), lines, "steps") == found
    single = [without_repeats(line) for line in lines]
    slow = tracked(fast_model(ReferencePool(), **rules), single, "steps")
    assert tracked(fast_model(NativePool(), **rules), single, "whole") == slow
    rules["starting"] = FromScratch()
    if seed == 0:
        pytest.importorskip("vowpalwabbit")
        vw = tracked(fast_model(chacha.open_pool("vw"), **rules), lines, "steps")
        assert tracked(fast_model(NativePool(), **rules), lines, "whole") == vw


LOSSES: dict[str, tuple[Loss, Callable[[float], float]]] = {
    "logistic": (Logistic(), lambda y: 1.0 if y > 1 else -1.0),
    "hinge": (Hinge(), lambda y: 1.0 if y > 1 else -1.0),
    "quantile": (Quantile(0.8), lambda y: y),
    "poisson": (Poisson(), lambda y: float(max(0, round(y)))),
}


@pytest.mark.parametrize("loss", LOSSES)
def test_every_loss(loss: str) -> None:
    served, label = LOSSES[loss]
    lines = text_of([(x, label(y)) for x, y in curved(300, 2)])
    native, python = (fast_model(pool, loss=served) for pool in (NativePool(), PlainPool()))
    assert tracked(native, lines, "whole") == tracked(python, lines, "steps")
    assert native.decisions


RULES: dict[str, dict[str, Any]] = {
    "few bits": {"init": {"bit_precision": 5}},
    "no constant": {"init": {"noconstant": True}},
    "from scratch": {"starting": FromScratch()},
    "very damped": {"starting": HeadStart(damping=30.0)},
    "all is screened": {"screening": Screening(share=1.0, looks=3, most=8, rate=3.0)},
    "no screening": {"screening": Screening(share=0.0)},
    "a single model": {"budget": 1},
    "two models": {"budget": 2},
    "only features": {"space": {"features": POLICY}},
    "coarse and fine": {"space": space(DerivedFeatures(first=12, knots=2))},
    "given at once": {"init": {"features": ["bins(temp,4)", "log(bprice)"]}},
    "given, and nothing is offered": {
        "init": {"features": ["bins(temp,8)", "lag(label,1)"]},
        "space": space(None),
    },
    "a product of derived groups": {
        "init": {
            "interactions": [("bins(temp,8)", "kind"), ("bins(temp,8)", "onehot(hour)", "temp")],
            "features": ["bins(temp,8)", "onehot(hour)"],
        }
    },
    "a product alone": {"init": {"interactions": [("bins(temp,8)", "kind")]}},
    "paper, given": {
        "rules": chacha.PaperRules(),
        "init": {"features": ["bins(temp,8)", "onehot(hour)"]},
        "space": {"interactions": Interactions()},
    },
}


@pytest.mark.parametrize("rules", RULES)
def test_every_rule(rules: str) -> None:
    lines = text_of(curved(250, 3))
    native, python, slow = (
        fast_model(pool, **RULES[rules]) for pool in (NativePool(), PlainPool(), ReferencePool())
    )
    found = tracked(native, lines, "whole")
    assert tracked(python, lines, "steps") == found
    assert tracked(slow, lines, "steps") == found


@pytest.mark.parametrize("values", [{"l1": 1e-3}, {"l2": 1e-3}, {"power_t": 0.3}])
def test_other_options_as_vowpal_wabbit_has_them(values: dict[str, float]) -> None:
    pytest.importorskip("vowpalwabbit")
    lines = text_of(curved(200, 4))
    rules: dict[str, Any] = {
        "init": {**values, "features": ["bins(temp,4)", "onehot(hour)"]},
        "starting": FromScratch(),
    }
    found = tracked(fast_model(NativePool(), **rules), lines, "whole")
    assert tracked(fast_model(chacha.open_pool("vw"), **rules), lines, "steps") == found


@pytest.mark.parametrize("kernel", kernels())
def test_every_kernel(kernel: str) -> None:
    lines = text_of(curved(200, 5)) + text_of(steps(200, 5))
    found = tracked(fast_model(NativePool(kernel)), lines, "whole")
    assert tracked(fast_model(NativePool()), lines, "whole") == found


@pytest.mark.parametrize("way", [way for way in WAYS if way != "steps"])
@pytest.mark.parametrize("stream", STREAMS)
def test_however_a_stream_is_passed_over(way: str, stream: str) -> None:
    """Whole, cut, dripping, in pieces, one by one: what is served and by whom is the same."""
    lines = text_of(STREAMS[stream](250, 6))
    track, end = tracked(fast_model(NativePool()), lines, way, seed=2)
    expected, its_end = tracked(fast_model(PlainPool()), lines, "steps")
    assert end == its_end
    assert track == expected or way == "run"


@settings(max_examples=12, deadline=None)
@given(st.lists(st.integers(1, 60), min_size=1, max_size=12), st.sampled_from(list(STREAMS)))
def test_chunks_may_have_any_length(sizes: list[int], stream: str) -> None:
    lines = text_of(STREAMS[stream](150, 7))
    cut, whole = fast_model(NativePool()), fast_model(NativePool())
    ends = iter([sum(sizes[: i + 1]) for i in range(len(sizes))])
    for _ in cut.chunks(
        vw_file("\n".join(lines).encode()), until=lambda: next(ends, 10**6), record=True
    ):
        pass
    whole.run(chacha.sources.Rows(lines))
    assert state(cut) == state(whole)


def served(model: ChaCha, source: Any) -> list[tuple[float, str]]:
    track: list[tuple[float, str]] = []
    for chunk in model.chunks(model.open(source, chacha.TableSpec(target="y")), record=True):
        assert chunk.served is not None
        track += zip(chunk.served.predictions, map(str, chunk.served.served_by), strict=True)
    return track


def one_by_one(model: ChaCha, table: Table) -> list[tuple[float, str]]:
    track: list[tuple[float, str]] = []
    for x, y in table:
        track.append((model.predict_one(x), str(served_by_now(model))))
        model.learn_one(x, y)
    return track


def dated(n: int, seed: int = 0) -> Table:
    """Times and texts: cells of several features."""
    rng, table = random.Random(f"dated {seed}"), Table()
    start = np.datetime64("2024-01-01T00:00:00")
    for i in range(n):
        when = (start + np.timedelta64(i * 5417, "s")).astype("datetime64[us]").item()
        words = " ".join(rng.choice(["a", "b", "c", "d"]) for _ in range(5))
        y = 2.0 * (8 <= when.hour < 18) + words.count("a") + rng.gauss(0, 0.1)
        table.append(({"when": when, "words": words, "x": rng.random()}, y))
    return table


def holes(n: int, seed: int = 0) -> Table:
    """Zeros and empty cells everywhere; groups of one letter together and apart."""
    rng, table = random.Random(f"holes {seed}"), Table()
    for _ in range(n):
        row: Row = {f"x{k}": rng.choice([0.0, 0.0, 1.5, rng.uniform(-2, 2)]) for k in range(4)}
        row |= {"lot": rng.choice([0, 3]), "age": rng.choice([0.0, rng.uniform(1, 9)])}
        row |= {"look": rng.choice(["red", "blue", None]), "bonus": rng.choice([0, 0, 7, None])}
        y = 3 * (row["x1"] > 1) + row["x2"] * row["lot"] + (row["look"] == "red") + row["age"]
        table.append((row, y + rng.gauss(0, 0.1)))
    return table


TABLES = {**STREAMS, "dated": dated, "holes": holes}


@pytest.mark.parametrize("stream", TABLES)
def test_text_dicts_and_tables_give_the_same_run(stream: str) -> None:
    table = TABLES[stream](260, 8)
    policy = DerivedFeatures(
        first=30, knots=6, more=["lag(label,1)", *(f"lag({g},1)" for g in table[0][0])]
    )
    kinds = chacha.TableSpec(target="y")

    def fresh(pool: LivePool | None = None) -> ChaCha:
        return fast_model(NativePool() if pool is None else pool, space=space(policy))

    native = fresh()
    expected = served(native, arrow_of(table))
    assert len(features_in(native)) > 3
    end = state(native)
    for way in ("plain", "rows", "dicts", "chunks"):
        if (way, stream) == ("dicts", "dated"):  # a first text by itself may be a category
            continue
        other = fresh(PlainPool() if way == "plain" else None)
        if way == "plain":
            steps = other.steps(other.open(arrow_of(table), kinds))
            track = [(step.prediction, str(step.served_by)) for step in steps]
        elif way == "rows":
            track = served(other, [{**x, "y": y} for x, y in table])
        elif way == "dicts":
            track = one_by_one(other, table)
        else:
            whole = arrow_of(table)
            parts = [whole.slice(start, 37) for start in range(0, len(table), 37)]
            track = served(other, pa.concat_tables(parts))
        assert track == expected, way
        assert state(other) == end, way


@pytest.mark.parametrize("stream", STREAMS)
def test_text_is_derived_as_the_table_it_was_written_from(stream: str) -> None:
    table = STREAMS[stream](250, 9)
    native, text = (fast_model(NativePool(), scaling=LABELS_ONLY) for _ in range(2))
    assert served(native, arrow_of(table)) == tracked(text, text_of(table), "whole")[0]
    assert state(native) == state(text)


@pytest.mark.parametrize("features", [["lag(label,1)"], ["ewma(label,1)", "lag(u,1)"]])
def test_rows_without_a_derived_feature_between_those_with_some(features: list[str]) -> None:
    """Only the last label is derived, and it is often 0: a label of 0 gives no feature."""
    rng = random.Random(15)
    table: Table = [
        ({"u": rng.uniform(1, 2), "v": rng.uniform(1, 2)}, float(i % 3)) for i in range(200)
    ]

    def models(scaling: Scaling) -> list[ChaCha]:
        rules: dict[str, Any] = {"init": {"features": features}, "budget": 1, "scaling": scaling}
        return [fast_model(p, **rules) for p in (NativePool(), NativePool(), PlainPool())]

    native, text, python = models(LABELS_ONLY)
    track = served(native, arrow_of(table))
    assert tracked(text, text_of(table), "whole")[0] == track
    assert tracked(python, text_of(table), "steps")[0] == track
    assert state(native) == state(text) == state(python)
    native, rows, python = models(Scaling())
    track = served(native, arrow_of(table))
    assert one_by_one(rows, table) == track
    assert one_by_one(python, table) == track
    assert state(native) == state(rows) == state(python)


@pytest.mark.parametrize("stream", TABLES)
@settings(max_examples=6, deadline=None)
@given(st.integers(20, 200), st.integers(1, 9))
def test_what_comes_later_changes_nothing_before(stream: str, cut: int, seed: int) -> None:
    """Knots, values and lags come from the past alone: another future, or none."""
    past, future = TABLES[stream](cut, 10), TABLES[stream](60, 10 + seed)
    whole = served(fast_model(NativePool()), arrow_of([*past, *future]))
    assert served(fast_model(NativePool()), arrow_of(past)) == whole[:cut]
    far = [({**x}, -50.0 * y) for x, y in future]
    assert served(fast_model(NativePool()), arrow_of([*past, *far]))[:cut] == whole[:cut]


@pytest.mark.parametrize("pool", [NativePool, PlainPool, ReferencePool])
def test_predicting_changes_nothing(pool: Callable[[], LivePool]) -> None:
    quiet, asked = (fast_model(pool(), space=space(ROUGH)) for _ in range(2))
    lines = [without_repeats(line) for line in rough(120, 5)]
    for i, line in enumerate(lines):
        asked.predict_one(lines[-i])
        asked.predict_one(f"|a x:{i * 1e6} new{i} |missing(z{i}) q |own(me) r")
        assert asked.predict_one(line) == quiet.predict_one(line)
        assert asked.learn_one(line) == quiet.learn_one(line)
    assert state(quiet) == state(asked)
    assert quiet.observed.columns == asked.observed.columns


@pytest.mark.parametrize("seed", range(3))
def test_labels_that_come_late_and_in_any_order(seed: int) -> None:
    """An example is derived again when its label comes."""
    rng = random.Random(seed)
    native, python = (fast_model(pool, budget=2 + seed) for pool in (NativePool(), PlainPool()))
    waiting: list[tuple[chacha.Ticket, chacha.Ticket, float]] = []
    for line in text_of(curved(200, seed)):
        row = parse_line(line)
        assert row.label is not None
        tickets = native.ask(row.body), python.ask(row.body)
        assert tickets[0].prediction == tickets[1].prediction
        waiting.append((*tickets, row.label))
        while waiting and rng.random() < 0.52:
            one, other, label = waiting.pop(rng.randrange(len(waiting)))
            assert native.tell(one, label) == python.tell(other, label)
    assert state(native) == state(python)


def offering(*offers: Sequence[str]) -> Callable[[Config, Sequence[str]], list[Config]]:
    """An oracle that proposes derived groups by itself; some cannot be learned."""

    def oracle(champion: Config, groups: Sequence[str]) -> list[Config]:
        proposals = [champion.with_derived(names) for names in offers]
        return [*proposals, champion.with_values(no_such_option=1), champion.with_products([AB])]

    return oracle


AB: Product = ("hour", "temp")


def test_an_oracle_may_propose_derived_groups_where_nothing_is_said_of_features() -> None:
    """Columns are tracked from then on. What the learner refuses changes nothing."""
    lines = text_of(curved(200, 11))
    runs = []
    for pool in (NativePool(), PlainPool(), ReferencePool()):
        oracle = offering(["bins(temp,8)"], ["lag(label,2)", "onehot(hour)"])
        model = fast_model(pool, oracle=oracle, space=space(None))
        errors = 0
        for line in lines:
            try:
                model.learn_one(line)
            except chacha.errors.PoolError:
                errors += 1
        runs.append((state(model), errors, [len(c) for c in model.observed.columns]))
    assert runs[0] == runs[1] == runs[2]
    assert runs[0][1] > 0


def test_a_derived_group_of_an_oracles_product_is_a_feature_too() -> None:
    lines = text_of(curved(300, 12))
    wanted = Config([("bins(temp,8)", "hour")], {"learning_rate": 0.5})
    runs = []
    for pool in (NativePool(), PlainPool(), ReferencePool()):
        model = fast_model(pool, oracle=lambda champion, groups: [wanted], space=space(None))
        runs.append(tracked(model, lines, "steps"))
        assert features_in(model) == {"bins(temp,8)"}
    assert runs[0] == runs[1] == runs[2]


def test_a_baseline_changes_no_decision() -> None:
    lines = text_of(curved(300, 12))
    init = {"features": ["bins(temp,4)", "onehot(hour)", "lag(label,1)"]}
    with_it, without = (fast_model(NativePool(), init=init, baseline=b) for b in (True, False))
    assert tracked(with_it, lines, "whole")[0] == tracked(without, lines, "whole")[0]
    assert with_it.decisions == without.decisions


def test_groups_of_the_stream_that_are_named_like_derived_ones_stay_what_they_are() -> None:
    rng = random.Random(13)
    lines = []
    for _ in range(250):
        b = math.exp(rng.gauss(0, 2))
        lines.append(f"{3 * math.log1p(b)!r} |b b:{b!r} |log(b) l:{math.log1p(b)!r} |c c:{b % 3!r}")
    for features in (None, POLICY):
        models = [fast_model(pool, space=space(features)) for pool in (NativePool(), PlainPool())]
        tracks = [tracked(each, lines, "steps") for each in models]
        assert tracks[0] == tracks[1]
        assert "log(b)" in models[0].observed.groups
        assert all("log(b)" not in d.config.derived for d in models[0].decisions)


COPIES = [
    Config(),
    Config(derived=["bins(a,4)"]),
    Config([("b", "bins(a,4)")], {}, ["bins(a,4)", "lag(label,2)"]),
    Config([("b", "onehot(b)"), ("a", "b")], {"learning_rate": 2.0}, ["log(a)", "onehot(b)"]),
]


@pytest.mark.parametrize("damping", [0.0, 0.1, 5.0])
def test_a_copy_is_made_while_knots_are_half_learned(damping: float) -> None:
    """Columns become ready after it: what is new then is damped in all pools alike."""
    rng = random.Random(14)
    alone, given, slow = NativePool(), NativePool(), ReferencePool()
    pools: list[Any] = [given, slow]
    if damping == 0.0:
        pools.append(chacha.open_pool("vw"))
    derivation = Derivation(20)
    alone.turn_on_derivation(20)
    for pool in (alone, *pools):
        pool.start(COPIES[0])
    for i in range(70):
        if i in (10, 14, 30):  # before the columns are ready, and after
            config = COPIES[{10: 1, 14: 2, 30: 3}[i]]
            derivation.add(config.derived)
            for pool in (alone, *pools):
                pool.copy(COPIES[0], config, damping)
        if i == 45:
            for pool in (alone, *pools):
                pool.undamp(COPIES[1])
        x, b = rng.gauss(0, 1), rng.randrange(1, 5)
        row = parse_line(f"{math.sin(3 * x)!r} |a x:{x!r} |b b:{b} |bins z:0.5")
        whole = derivation.derive(row)
        expected = alone.learn(row)
        for pool in pools:
            assert pool.predict(whole) == expected
            assert pool.learn(whole) == expected
        derivation.observe(whole)
        if 10 <= i < 14:
            assert expected[COPIES[0]] == expected[COPIES[1]], "nothing is derived yet"
    assert len(set(expected.values())) == 4
