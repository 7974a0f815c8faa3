"""Failures, late labels and dicts: the native driver beside the Python driver."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import chacha
from chacha import ChaCha, Config, NativePool, ReferencePool, SampleComplexity
from chacha.drivers.native import NativeDriver
from chacha.drivers.python import PythonDriver
from chacha.errors import BadExample, PoolError
from tests.support.failing_oracles import (
    failing_oracle,
    only_refused_oracle,
    outcome,
    refused_oracle,
)
from tests.support.native_runs import PlainEvidence, lines_for_loss, lines_of, state


def pair(**settings: Any) -> tuple[ChaCha, ChaCha]:
    """A model on the native driver, and one on the Python driver over the same pool."""
    oracle = settings.pop("oracle", lambda: None)
    evidence = {"scale": 0.001, **settings.pop("evidence", {})}
    given: dict[str, Any] = {"keep_decisions": 10**6, "seed": 1, "lease_factor": 1, **settings}
    native = ChaCha.paper(**given, evidence=SampleComplexity(**evidence), oracle=oracle())
    python = ChaCha.paper(**given, evidence=PlainEvidence(**evidence), oracle=oracle())
    assert isinstance(native._driver, NativeDriver)
    assert isinstance(python._driver, PythonDriver)
    return native, python


ORACLES: dict[str, Callable[[], Any]] = {
    "fails first": lambda: failing_oracle([0]),
    "fails for long": lambda: failing_oracle(range(40)),
    "fails later": lambda: failing_oracle([1, 2, 4]),
    "proposes what is refused": lambda: refused_oracle,
    "proposes nothing else": lambda: only_refused_oracle,
}


@pytest.mark.parametrize("oracle", ORACLES)
@pytest.mark.parametrize("budget", [2, 5])
def test_an_oracle_that_fails_or_is_refused(oracle: str, budget: int) -> None:
    """The same errors at the same examples, free slots are filled at the next one."""
    evidence = {"scale": 0.001 if budget == 2 else 0.005}  # promotions soon
    native, python = pair(oracle=ORACLES[oracle], budget=budget, baseline=True, evidence=evidence)
    failures = 0
    for line in lines_of("interactions", 150, seed=2):
        assert native.predict_one(line) == python.predict_one(line)
        found, expected = outcome(native.learn_one, line), outcome(python.learn_one, line)
        assert found == expected
        assert state(native) == state(python)
        failures += isinstance(found, tuple)
    assert failures
    assert native.examples == 150


@pytest.mark.parametrize("oracle", ORACLES)
def test_a_run_that_fails_goes_on_where_it_stood(oracle: str) -> None:
    """An error ends a run after the example that led to it; the next run takes the rest."""
    lines = lines_of("interactions", 150, seed=2)
    native, python = pair(oracle=ORACLES[oracle], budget=4)
    for model in (native, python):
        while model.examples < len(lines):
            outcome(model.run, chacha.sources.Rows(lines[model.examples :]))
    assert state(native) == state(python)


@pytest.mark.parametrize("seed", range(3))
def test_labels_that_come_late_and_in_any_order(seed: int) -> None:
    """Asked now, labelled later or never, with single examples and tickets in between."""
    rng = random.Random(seed)
    evidence = {"scale": 0.001 * (1 + seed**2), "burn_in": 3 * seed}
    native, python = pair(budget=2 + 3 * seed, baseline=seed == 1, evidence=evidence)
    waiting: list[tuple[chacha.Ticket, chacha.Ticket, float]] = []
    lines = [line for line in lines_for_loss("squared", 400) if rng.random() < 0.9]
    for i, line in enumerate(lines):
        row = chacha.data.parse_line(line + (" |late x" if i > 200 else ""))
        assert row.label is not None
        if rng.random() < 0.2:
            assert native.learn_one(row.line) == python.learn_one(row.line)
            continue
        tickets = native.ask(row.body), python.ask(row.body)
        assert tickets[0].prediction == tickets[1].prediction
        assert tickets[0].served_by == tickets[1].served_by
        waiting.append((*tickets, row.label))
        while waiting and rng.random() < 0.5:
            one, other, label = waiting.pop(rng.randrange(len(waiting)))
            weight = rng.choice([None, None, 2.0, 0.0])
            assert native.tell(one, label, weight) == python.tell(other, label, weight)
        assert state(native) == state(python)
    assert native.promotions > 0


values = st.one_of(
    st.floats(-1e3, 1e3),
    st.floats(),
    st.integers(-(2**54), 2**54),
    st.integers(-5, 5),
    st.sampled_from([None, True, False, "", "red", "dark red", "x:y", "é", "1", "nan", "\ud800"]),
    st.sampled_from([10**400, -(2**53), 2**53 + 1, 1e39, 1e-46, -0.0, 1e16, 9999999999999998.0]),
    st.sampled_from([0.0001, 9.999999999999999e-05, 16777217.0, 0.1 + 0.2, [1.0], b"x"]),
)
keys = st.sampled_from(["a", "b", "c d", "geo.lat", "a.b", "é", "", "z"])
inner = st.dictionaries(keys, values, max_size=3)
nested = st.one_of(values, inner, st.dictionaries(st.just("geo"), inner, max_size=1))
dicts = st.one_of(
    st.dictionaries(keys, values, max_size=5),
    st.dictionaries(st.sampled_from(["user", "item", "a", "a.b"]), nested, max_size=4),
)
labels = st.one_of(
    st.floats(-10, 10), st.integers(-3, 3), st.sampled_from([10**400, 1e39, True, None, "1", 1e-60])
)


def same_dicts(native: ChaCha, python: ChaCha, x: Any, y: Any, weight: Any) -> None:
    """Predicted, learned, predicted and asked: the same, or the same refusal."""
    for do in (
        lambda model: model.predict_one(x),
        lambda model: model.learn_one(x, y, weight),
        lambda model: model.predict_one(x),
        lambda model: model.ask(x).prediction,
    ):
        assert outcome(do, native) == outcome(do, python)
    assert list(native.observed.groups) == list(python.observed.groups)
    assert native.observed.raw_features == python.observed.raw_features


@settings(max_examples=150)
@given(
    st.lists(st.tuples(dicts, labels, st.sampled_from([None, 1.0, 0.5, 0, 2, -1.0])), max_size=8),
    st.sampled_from([chacha.Squared(), chacha.Logistic(), chacha.Poisson()]),
)
@example([({"a": 1.0}, 1.0, None), ({}, 1.0, None), ({}, 1.0, None)], chacha.Squared())
@example([({"user": {"geo": {"lat": 1.0}, "geo.lat": 2.0}}, 1.0, None)] * 3, chacha.Squared())
@example([({"a": 1.0}, 1.0, None), ({"a": 1.0}, 1e-60, None)], chacha.Logistic())
@example([({"a": 0.5}, 1.0, None), ({"a": 0.5}, 10**400, None)], chacha.Squared())
def test_any_dicts_the_quick_way_and_the_long_way(
    rows: list[tuple[Any, Any, Any]], loss: chacha.losses.Loss
) -> None:
    """Each one twice: the first goes the long way, the second may go the quick one."""
    native, python = pair(loss=loss, budget=3)
    for x, y, weight in rows:
        for _ in range(2):
            same_dicts(native, python, x, y, weight)
    assert state(native) == state(python)


@pytest.mark.parametrize("nested", [False, True])
def test_a_stream_of_dicts_with_changing_keys(nested: bool) -> None:
    """Missing and extra keys, another order, words and numbers: as the reference learner has it."""
    rng = random.Random(nested)
    quick = ChaCha.paper(evidence=SampleComplexity(scale=0.005), lease_factor=1, budget=4)
    slow = ChaCha.paper(
        evidence=SampleComplexity(scale=0.005), lease_factor=1, budget=4, pool=ReferencePool()
    )
    for _ in range(150):
        u, v = rng.uniform(-1, 1), rng.uniform(-1, 1)
        x: dict[str, Any] = {"u": u, "v": v, "w": rng.choice(["red", "blue", "dark red", None])}
        x |= {"n": rng.randint(-5, 5), "flag": rng.random() < 0.5}
        for key in rng.sample(sorted(x), rng.choice([0, 0, 0, 1, 2])):
            del x[key]
        x |= rng.choice([{}, {}, {}, {"extra": 1}, {"s p": 0.3}])
        items = rng.sample(sorted(x.items()), len(x))
        x = {"g": dict(items[::2]), "h": dict(items[1::2]), "alone": u} if nested else dict(items)
        y = 3 * u * v + 0.1 * rng.random()
        assert quick.predict_one(x) == slow.predict_one(x)
        assert quick.learn_one(x, y) == slow.learn_one(x, y)
    assert quick.loss == slow.loss
    assert quick.promotions > 0


@pytest.mark.parametrize("text", ["|a \ud800", "1 |a x\n2 |b y", "1 |a x:inf", "no bar", ""])
def test_lines_that_are_refused_are_refused_in_the_same_words(text: str) -> None:
    native, python = pair()
    for do in (
        lambda model: model.predict_one(text),
        lambda model: model.learn_one(text),
        lambda model: model.learn_one(text, 1.0),
        lambda model: model.ask(text).prediction,
    ):
        assert outcome(do, native) == outcome(do, python)
    with pytest.raises(BadExample):
        native.learn_one(text)
    assert native.examples == python.examples


def test_a_line_may_end_with_a_line_break() -> None:
    """As lines do that come from a file."""
    with_end, without = ChaCha(), ChaCha()
    for line in lines_of("interactions", 50):
        assert with_end.predict_one(f"{line} |z\r\n") == without.predict_one(f"{line} |z")
        with_end.learn_one(f"{line} |z\r\n")
        without.learn_one(f"{line} |z")
    assert state(with_end) == state(without)
    assert list(with_end.observed.groups) == list("abcdez")


def test_the_pool_names_the_line_it_cannot_read() -> None:
    """A pool accepts what parse_line accepts: a tab in the head is not an error."""
    pool = NativePool()
    pool.start(Config())
    tabbed = chacha.data.parse_line("what ever\t2 |a x", place="t.vw:3")
    assert pool.learn(tabbed) == {Config(): 0.0}
    assert pool.predict(chacha.data.parse_line("what\t|a x"))[Config()] > 0
    with pytest.raises(PoolError, match=r"t\.vw:3"):
        pool.learn(chacha.Example({}, "no bar", 1.0, place="t.vw:3"))
