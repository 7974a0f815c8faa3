"""Custom parts of the rules: those that the engine runs, and those that it cannot."""

from __future__ import annotations

import random
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import pytest

import chacha
from chacha import (
    ChaCha,
    Config,
    ContestRules,
    PairedBetting,
    PaperRules,
    SampleComplexity,
    _native,
)
from chacha.drivers import SlowPathWarning
from chacha.drivers.native import NativeDriver
from chacha.drivers.python import PythonDriver
from chacha.errors import ConfigError
from chacha.losses import Squared
from chacha.rules.contest.betting import Coin, PairedBernstein, Pairing
from chacha.rules.contest.blending import BlendGain, Blending, Serving
from chacha.rules.contest.surprise import Surprise
from chacha.rules.paper import ChampionChallengers, Scheduler
from tests.support.fast_rules import EAGER, KEEN, PlainPool
from tests.support.models import contest_model
from tests.support.native_runs import PlainEvidence, lines_of, state

QUICK: dict[str, Any] = {"blending": EAGER, "first_lease": 20, "keep_decisions": 10**6}


@dataclass(frozen=True)
class HalfKelly(PairedBetting):
    """Half of the best bet, and other odds to reach."""

    def bet(self, mean: float, variance: float) -> float:
        return 0.5 * super().bet(mean, variance)

    def needed(self, k: int) -> float:
        return 2.0 + k / 10.0


@dataclass(frozen=True)
class Logged(PairedBernstein):
    """Another payoff."""

    def payoff(self, bet: float, g: float, mean: float) -> float:
        return max(0.5, super().payoff(bet, g, mean))


@dataclass(frozen=True)
class Same(PairedBetting):
    """The built-in test by another name."""


TESTS: dict[str, PairedBetting] = {
    "half kelly": HalfKelly(block=2, patience=30, eliminates=3.0, renews=1.05),
    "bernstein": Logged(alpha=0.9, block=3, patience=20, renews=1.05),
    "same": Same(alpha=0.9, block=2, patience=30, eliminates=3.0, renews=1.05),
}


def learned(pool: chacha.NativePool, lines: Sequence[str], **rules: Any) -> ChaCha:
    model = contest_model(pool=pool, **{**QUICK, **rules})
    model.run(chacha.sources.Rows(lines))
    return model


@pytest.mark.parametrize("name", TESTS)
@pytest.mark.parametrize("stream", ["interactions", "drift"])
def test_a_custom_test_gives_the_same_run_in_the_engine_and_in_python(
    name: str, stream: str
) -> None:
    lines = lines_of(stream, 700, seed=2)
    native = learned(chacha.NativePool(), lines, evidence=TESTS[name])
    python = learned(PlainPool(), lines, evidence=TESTS[name])
    assert isinstance(native._driver, NativeDriver)
    assert isinstance(python._driver, PythonDriver)
    assert state(native) == state(python)
    assert native.promotions


def test_the_built_in_test_by_another_name_is_the_built_in_test() -> None:
    lines = lines_of("interactions", 700)
    runs = [learned(chacha.NativePool(), lines, evidence=e) for e in (KEEN, TESTS["same"])]
    assert state(runs[0]) == state(runs[1])


def failures_of(
    model: chacha.ChaCha, kinds: type[Exception] | tuple[type[Exception], ...], examples: int
) -> int:
    """Return how many examples raised an exception; all are learned nevertheless."""
    errors = 0
    for line in lines_of("interactions", examples):
        try:
            model.learn_one(line)
        except kinds:
            errors += 1
    assert model.examples == examples
    return errors


@pytest.mark.parametrize("pool", [chacha.NativePool, PlainPool])
def test_a_test_that_fails_is_reported_and_bets_nothing(pool: Callable[[], Any]) -> None:
    @dataclass(frozen=True)
    class Moody(PairedBetting):
        def bet(self, mean: float, variance: float) -> float:
            if mean > 0.0 and int(1e6 * mean) % 3 == 0:
                raise ArithmeticError("not today")
            return super().bet(mean, variance)

    model = contest_model(pool=pool(), evidence=Moody(block=2, patience=30), **QUICK)
    errors = failures_of(model, ArithmeticError, 500)
    assert errors > 5
    results = model.served, errors, model.promotions
    assert REPORTED.setdefault("first", results) == results, "the same in both drivers"


REPORTED: dict[str, Any] = {}


@pytest.mark.parametrize("wrong", ["0.5", None, complex(1, 1)])
def test_a_payoff_that_is_no_number_is_reported(wrong: Any) -> None:
    @dataclass(frozen=True)
    class Wordy(PairedBetting):
        def payoff(self, bet: float, g: float, mean: float) -> float:
            return wrong if wrong != "0.5" else "half"  # type: ignore[return-value]

    model = contest_model(evidence=Wordy(block=2), **QUICK)
    with pytest.raises((TypeError, ValueError)):
        model.run(chacha.sources.Rows(lines_of("interactions", 300)))
    model.predict_one("|a x")


@dataclass(frozen=True)
class Cautious(Blending):
    """Serves the champion until much later."""

    def choose(
        self, gains: Iterable[tuple[Config, BlendGain]], charged: int
    ) -> tuple[Config | None, float]:
        return super().choose(gains, charged) if charged > 10**6 else (None, 0.0)


class Doubled(Squared):
    """Twice the squared error."""

    def loss(self, raw: float, y: float) -> float:
        return 2.0 * super().loss(raw, y)


class Charged(ChampionChallengers):
    """Charges in its own way."""

    def charge(self, *given: Any) -> Any:
        return super().charge(*given)


SLOW: dict[str, tuple[Callable[[], dict[str, Any]], str]] = {
    "blending": (
        lambda: {"rules": ContestRules(blending=Cautious())},
        "the blending Cautious.choose",
    ),
    "loss": (lambda: {"loss": Doubled()}, "the loss Doubled is not built in"),
    "evidence": (
        lambda: {"rules": PaperRules(PlainEvidence())},
        "the evidence PlainEvidence.bound",
    ),
    "algorithm": (
        lambda: {"rules": PaperRules(algorithm=Charged)},
        "the algorithm Charged.charge",
    ),
    "pool": (lambda: {"pool": PlainPool()}, "the pool PlainPool is not built in"),
}


@pytest.mark.parametrize("part", SLOW)
def test_what_the_engine_cannot_run_is_said_with_the_reason_and_the_cost(part: str) -> None:
    settings, reason = SLOW[part]
    with pytest.warns(SlowPathWarning, match=reason) as caught:
        model = ChaCha(**settings())
    assert caught[0].filename == __file__, "the line that made the model"
    assert isinstance(model._driver, PythonDriver)
    (note,) = model.summary().notes
    assert reason in note
    assert "15 to 100 times slower than the engine" in note
    assert note in str(model.summary())


class Eager(Scheduler):
    """Retires challengers before their leases end."""

    def schedule(self, *given: Any, **more: Any) -> Any:
        return super().schedule(*given, **more)


class Scheduled(ChampionChallengers):
    """With another scheduler."""

    scheduling = Eager


@dataclass(frozen=True)
class Loaded(Coin):
    """Always the same side."""

    def sign(self, k: int, n: int) -> float:
        return 1.0


def test_other_parts_that_the_engine_would_ignore_are_said_too() -> None:
    coin = PairedBetting().with_coin(Loaded(seed=1))
    for rules, reason in (
        (PaperRules(algorithm=Scheduled), "the scheduler Eager.schedule"),
        (ContestRules(evidence=coin), "the coin Loaded is not built in"),
    ):
        with pytest.warns(SlowPathWarning, match=reason):
            ChaCha(rules=rules)


@pytest.mark.parametrize("pool", [chacha.NativePool, PlainPool])
@pytest.mark.parametrize("needed", [0.0, -1.0, float("nan"), None, "many"])
def test_odds_that_are_no_number_above_0_are_reported(needed: Any, pool: Callable[[], Any]) -> None:
    @dataclass(frozen=True)
    class Wrong(PairedBetting):
        def needed(self, k: int) -> float:
            return 2.0 if k < 3 else needed

    model = contest_model(pool=pool(), evidence=Wrong(block=2, patience=20), **QUICK)
    assert failures_of(model, (ConfigError, TypeError), 300) > 10
    assert set(model.pool.live) == {each.config for each in model.live}


@pytest.mark.parametrize("kind", [float, int, np.float32, np.float64, bool])
def test_payoffs_may_be_numbers_of_any_type(kind: Callable[[float], Any]) -> None:
    @dataclass(frozen=True)
    class Typed(PairedBetting):
        def payoff(self, bet: float, g: float, mean: float) -> float:
            return kind(super().payoff(bet, g, mean))  # type: ignore[no-any-return]

    lines = lines_of("interactions", 400)
    evidence = Typed(alpha=0.9, block=2, patience=30, eliminates=3.0, renews=1.05)
    native = learned(chacha.NativePool(), lines, evidence=evidence)
    python = learned(PlainPool(), lines, evidence=evidence)
    assert state(native) == state(python)


class Narrow(SampleComplexity):
    """Other constants are no other bound."""


def test_what_the_engine_can_run_is_run_by_it_without_a_word() -> None:
    def oracle(champion: Config, groups: Sequence[str]) -> list[Config]:
        return [champion.with_product(groups[:2])]

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        models = [
            ChaCha(rules=ContestRules(evidence=HalfKelly())),
            ChaCha(rules=ContestRules(oracle=oracle)),
            ChaCha(rules=PaperRules(Narrow(scale=0.01), oracle=oracle)),
            ChaCha(pool=chacha.ReferencePool()),  # another learner: nothing to be said
        ]
    assert [type(model._driver) for model in models] == [NativeDriver] * 3 + [PythonDriver]
    assert all(model.summary().notes == () for model in models)


def test_fields_that_cross_the_border_are_those_of_the_twins() -> None:
    twins = {"Pairing": Pairing, "BlendGain": BlendGain, "Serving": Serving, "Surprise": Surprise}
    names = {name: [field.name for field in fields(twin)] for name, twin in twins.items()}
    assert _native.fields() == names


def test_a_state_goes_to_the_engine_and_comes_back() -> None:
    model = contest_model(evidence=KEEN, **QUICK)
    model.run(chacha.sources.Rows(lines_of("interactions", 400)))
    driver = model._driver
    assert isinstance(driver, NativeDriver)
    before = model.state
    driver._write(before)
    after = model.state
    assert after == before
    rng = random.Random(0)
    for c, challenger in before.challengers.items():  # type: ignore[attr-defined]
        values = {f.name: rng.randint(1, 9) for f in fields(Pairing)}
        pairing = replace(challenger.pairing, **values)
        before.challengers[c] = replace(challenger, pairing=pairing)  # type: ignore[attr-defined]
    driver._write(before)
    assert model.state == before
