"""One model in several threads, and signals in the middle of its steps."""

from __future__ import annotations

import gc
import math
import random
import signal
import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import combinations, cycle
from typing import Any

import pytest

import chacha
from chacha import ChaCha, Config, NativePool, ReferencePool
from chacha.drivers.native import NativeDriver, Status
from chacha.rules.contest import ContestState
from chacha.tickets import Ticket
from tests.support.fast_rules import EAGER, KEEN
from tests.support.models import contest_model
from tests.support.native_runs import lines_of

SPACE = {"interactions": chacha.Interactions(), "learning_rate": chacha.LogUniform(0.01, 10.0)}


def rows(n: int, seed: int = 0) -> list[tuple[dict[str, float], float]]:
    """Dicts of four columns, of which two make a product."""
    rng = random.Random(seed)
    found = []
    for _ in range(n):
        x = {name: rng.uniform(-1, 1) for name in "abcd"}
        found.append((x, 4 * x["a"] * x["b"] + x["c"] + rng.gauss(0, 0.1)))
    return found


def check(model: ChaCha) -> None:
    """Read everything, and raise an error if a value is torn."""
    live, state, served, summary = model.live, model.state, model.served, model.summary()
    assert [each.champion for each in live] == [True] + [False] * (len(live) - 1)
    assert len({each.config for each in live}) == len(live) <= model.budget
    assert served.n == round(served.weight) <= model.examples
    assert model.loss is None or math.isfinite(model.loss)
    assert summary.decisions >= summary.promotions
    assert summary.loss is None or summary.loss > 0
    assert isinstance(state, ContestState)
    assert state.champion not in state.challengers
    assert state.serving.other is None or state.serving.other in state.challengers
    assert all(each.pairing.n <= state.t for each in state.challengers.values())
    assert all(each.pairing.odds > 0 for each in state.challengers.values())
    assert model.settings["budget"] == model.budget
    assert model.champion is not None
    assert len(model.challengers) < model.budget


@contextmanager
def threads(count: int, work: Callable[[], Any]) -> Iterator[list[BaseException]]:
    """Call `work` again and again in so many threads; yields what they raised."""
    stop, errors = threading.Event(), list[BaseException]()

    def repeat() -> None:
        try:
            while not stop.wait(0.001):
                work()
        except BaseException as error:
            errors.append(error)

    running = [threading.Thread(target=repeat) for _ in range(count)]
    for thread in running:
        thread.start()
    try:
        yield errors
    finally:
        stop.set()
        for thread in running:
            thread.join()


def learn_half_a_million(model: ChaCha) -> None:
    for x, y in rows(20_000):
        model.learn_one(x, y)
    model.run("synth:interactions,n=480000,seed=3")


def test_readers_change_nothing_and_see_whole_values() -> None:
    """One writer, four readers, half a million examples."""
    alone, read = ChaCha(), ChaCha()
    learn_half_a_million(alone)
    reads = 0

    def look() -> None:
        nonlocal reads
        check(read)
        reads += 1

    with threads(4, look) as errors:
        learn_half_a_million(read)
    assert errors == []
    assert reads > 50
    assert read.examples == alone.examples == 500_000
    assert read.decisions == alone.decisions
    assert read.served == alone.served
    assert read.live == alone.live


def test_predictions_of_other_threads_are_those_between_two_examples() -> None:
    stream, x = rows(15_000), {"a": 0.5, "b": -0.5, "c": 0.25, "d": 0.1}
    alone, model = (contest_model(evidence=KEEN, blending=EAGER, first_lease=50) for _ in range(2))
    expected = {alone.predict_one(x)}
    for row in stream:
        alone.learn_one(*row)
        expected.add(alone.predict_one(x))
    seen = []
    with threads(3, lambda: seen.append(model.predict_one(x))) as errors:
        for row in stream:
            model.learn_one(*row)
    assert errors == []
    assert len(seen) > 5
    assert set(seen) <= expected
    assert model.decisions == alone.decisions


def test_nobody_predicts_between_an_example_and_its_decision() -> None:
    """The engine lets other threads in between, and sends them to the model's lock."""
    model = contest_model(evidence=KEEN, first_lease=50)
    lines = iter(lines_of("interactions", 500))
    for _ in range(20):
        line = next(lines)
        model.learn_one(line)
    engine = model.pool.engine  # type: ignore[attr-defined]
    assert engine.serve_line(line) == model.predict_one(line)
    while engine.learn_line(next(lines), None, None) != Status.DECIDE:
        assert engine.serve_line(line) is not None
    assert engine.serve_line(line) is None
    assert engine.ask_line(line) is None
    decided = model.decisions
    prediction = model.predict_one(line)  # makes the overdue decision first
    assert len(model.decisions) > len(decided)
    assert engine.serve_line(line) == prediction == model.ask(line).prediction
    alone = contest_model(evidence=KEEN, first_lease=50)
    for each in lines_of("interactions", model.examples):
        alone.learn_one(each)
    assert alone.decisions == model.decisions
    assert alone.predict_one(line) == prediction


def at_once(count: int, work: Callable[[int], None]) -> None:
    """Call `work` in several threads that begin together."""
    barrier, errors = threading.Barrier(count), list[BaseException]()

    def begin(number: int) -> None:
        barrier.wait()
        try:
            work(number)
        except BaseException as error:
            errors.append(error)

    running = [threading.Thread(target=begin, args=(number,)) for number in range(count)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    assert errors == []


@pytest.mark.parametrize("pool", [NativePool, ReferencePool])
def test_many_threads_learn_and_nothing_is_lost(pool: Callable[[], Any]) -> None:
    n = 1500 if pool is NativePool else 60
    model = contest_model(pool=pool(), evidence=KEEN, first_lease=40, space=SPACE)

    def work(number: int) -> None:
        for x, y in rows(n, seed=number):
            if number % 2:
                model.learn_one(x, y)
            else:
                line = f"{y} " + " ".join(f"|{name} {name}:{value}" for name, value in x.items())
                model.learn_one(line)

    at_once(4, work)
    assert model.examples == model.served.n == 4 * n
    check(model)
    assert set(model.pool.live) == {each.config for each in model.live}


def test_a_reader_of_the_screen_changes_no_decision() -> None:
    """Gains are read anew for each decision, whenever somebody else has read them."""
    stream = rows(4000)
    alone, read = (contest_model(evidence=KEEN, first_lease=50) for _ in range(2))
    for row in stream:
        alone.learn_one(*row)
        read.learn_one(*row)
        read.observed.screen.gains()
        assert read.observed.columns is not None
    assert read.decisions == alone.decisions


@pytest.mark.parametrize("pool", [NativePool, ReferencePool])
def test_many_threads_ask_and_every_ticket_is_unique(pool: Callable[[], Any]) -> None:
    n = 500 if pool is NativePool else 40
    model = contest_model(pool=pool(), evidence=KEEN, first_lease=40, space=SPACE)
    issued: list[Ticket] = []

    def work(number: int) -> None:
        waiting = []
        for x, y in rows(n, seed=number):
            ticket = model.ask(x)
            issued.append(ticket)
            waiting.append((ticket, y))
            if len(waiting) == 5:
                model.tell(*waiting.pop(number % 5))
        for ticket, y in waiting:
            model.tell(ticket, y)

    at_once(4, work)
    assert len({ticket.number for ticket in issued}) == len(issued) == 4 * n
    assert (model.examples, model.pending) == (4 * n, 0)
    check(model)


class TimeUp(Exception):
    """Raised by the handler of an alarm."""


@contextmanager
def alarms(handler: Callable[[], object], interval: float = 0.0) -> Iterator[None]:
    """Alarms call a function: at an interval, or when a timer is set."""
    before = signal.signal(signal.SIGALRM, lambda number, frame: handler())
    try:
        signal.setitimer(signal.ITIMER_REAL, interval, interval)
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


# In a callback of the garbage collector, such as Hypothesis's, an exception is only reported.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("kind", ["native", "paper", "reference", "custom test"])
def test_an_exception_of_a_signal_handler_leaves_a_working_model(kind: str) -> None:
    """The alarm may come anywhere: in a step, in a decision, in a slow path, between two."""

    class Odd(chacha.PairedBetting):
        def bet(self, mean: float, variance: float) -> float:
            return super().bet(mean, variance)

    keen = {"evidence": KEEN, "first_lease": 10, "space": SPACE}
    rounds = 150 if kind != "reference" else 40
    rng = random.Random(3)
    stream = cycle(rows(20_000))  # learned as fast as the machine can until the alarm
    makers: dict[str, Callable[[], ChaCha]] = {
        "native": lambda: contest_model(**keen),
        "paper": lambda: ChaCha.paper(evidence=chacha.SampleComplexity(scale=0.001)),
        "reference": lambda: contest_model(pool=ReferencePool(), **keen),
        "custom test": lambda: contest_model(**{**keen, "evidence": Odd(block=2, patience=30)}),
    }
    model = makers[kind]()
    count = 0

    def time_up() -> None:
        nonlocal count
        count += 1
        raise TimeUp

    with alarms(time_up):
        for _ in range(rounds):
            earlier = count
            with suppress(TimeUp):
                signal.setitimer(signal.ITIMER_REAL, rng.uniform(1e-4, 4e-3))
                while count == earlier:
                    model.learn_one(*next(stream))
        signal.setitimer(signal.ITIMER_REAL, 0)
    assert count == rounds
    before = model.examples
    for _ in range(200):
        model.learn_one(*next(stream))
    assert model.examples == before + 200 == model.served.n
    pool = model._driver.pool  # a model that was started anew may live beside the given pool
    assert set(pool.live) == {each.config for each in model.live}
    assert math.isfinite(model.predict_one(next(stream)[0]))


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("pool", [NativePool, ReferencePool])
def test_an_exception_of_a_signal_handler_loses_no_label(pool: Callable[[], Any]) -> None:
    """Whatever the alarm interrupts: a ticket waits until its label is learned, once."""
    armed = False

    def time_up() -> None:
        nonlocal armed
        if armed:
            armed = False
            raise TimeUp

    rng, model = random.Random(5), contest_model(pool=pool(), evidence=KEEN, first_lease=50)
    stream = cycle(rows(2000))
    model.learn_one(*next(stream))
    again = 0
    with alarms(time_up):
        for _ in range(400):
            ticket = model.ask(next(stream)[0])
            with suppress(TimeUp):
                armed = True
                signal.setitimer(signal.ITIMER_REAL, rng.uniform(1e-6, 3e-5))
                model.tell(ticket, 1.0)
                armed = False
            with suppress(chacha.errors.TicketError):  # it was learned before the alarm
                model.tell(ticket, 1.0)
                again += 1
    assert model.examples == model.served.n == 401
    assert model.pending == 0
    if pool is NativePool:  # the other one learns in more time than the alarm leaves
        assert 0 < again < 400


@pytest.mark.parametrize("pool", [NativePool, ReferencePool])
def test_a_label_that_a_signal_handler_tells_counts_once(
    pool: Callable[[], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The handler comes after the ticket was found, and before its label is learned."""
    model = contest_model(pool=pool(), first_lease=50)
    for row in rows(20):
        model.learn_one(*row)
    ticket, find = model.ask(rows(1)[0][0]), model._tickets.find

    def find_and_interrupt(ticket: Ticket | int) -> Any:
        found = find(ticket)
        monkeypatch.setattr(model._tickets, "find", find)
        model.tell(ticket, 1.0)
        return found

    monkeypatch.setattr(model._tickets, "find", find_and_interrupt)
    with pytest.raises(chacha.errors.TicketError, match="already has its label"):
        model.tell(ticket, 2.0)
    assert (model.examples, model.pending) == (21, 0)


def test_no_exception_of_a_handler_is_taken_for_one_of_the_lock() -> None:
    class Late(RuntimeError):
        """Raised by a handler that runs just after the lock was released."""

    model = contest_model()
    release = model._release

    def release_and_interrupt() -> None:
        release()
        raise Late

    x, y = rows(1)[0]
    ticket = model.ask(x)
    model._release = release_and_interrupt
    with pytest.raises(Late):
        model.learn_one(x, y)
    with pytest.raises(Late):
        model.ask(x)
    with pytest.raises(Late):
        model.tell(ticket, y)
    assert model.examples == 2


def test_challengers_start_even_if_the_first_attempt_is_interrupted() -> None:
    """An example with a second group makes the oracle useful; its learning is interrupted."""
    model = ChaCha.paper(budget=3)
    driver = model._driver
    assert isinstance(driver, NativeDriver)
    for i in range(3):
        model.learn_one(f"{i % 2} |a x{i}")
    after, interrupted = driver._after, list[int]()

    def interrupt(status: int, *arguments: Any) -> Any:
        if status == Status.BEGIN and not interrupted:
            interrupted.append(status)
            raise TimeUp
        return after(status, *arguments)

    driver._after = interrupt  # type: ignore[assignment, method-assign]
    with pytest.raises(TimeUp):
        model.learn_one("1 |a x |b y")
    assert not model.live_challengers
    model.learn_one("1 |a x |b y")
    assert model.live_challengers


def test_a_signal_while_the_first_ask_begins_changes_nothing() -> None:
    def decisions(signals: bool) -> list[str]:
        calls: list[Any] = []

        def oracle(champion: Config, groups: Sequence[str]) -> list[Config]:
            if signals and not calls:
                signal.raise_signal(signal.SIGALRM)
            calls.append(groups)
            return [champion.with_product(pair) for pair in combinations(groups, 2)]

        model = ChaCha.paper(oracle=oracle, budget=3)
        with suppress(TimeUp):
            model.ask("|a x |b y")
        for i in range(100):
            model.learn_one(f"{i % 2} |a x |b y |c z{i % 3}")
        return [str(decision) for decision in model.decisions] + [str(calls)]

    def time_up() -> None:
        raise TimeUp

    with alarms(time_up):
        assert decisions(signals=True) == decisions(signals=False)


def test_a_handler_may_use_the_model() -> None:
    """It runs between steps, never in the middle of one."""
    model, predictions = contest_model(evidence=KEEN, first_lease=10), list[float]()
    x = rows(1)[0][0]
    with alarms(lambda: predictions.append(model.predict_one(x)), 5e-4):
        for row in rows(6000):
            model.learn_one(*row)
    alone = contest_model(evidence=KEEN, first_lease=10)
    for row in rows(6000):
        alone.learn_one(*row)
    assert len(predictions) > 5
    assert all(map(math.isfinite, predictions))
    assert model.decisions == alone.decisions


def test_a_handler_may_use_a_model_with_a_custom_test() -> None:
    """The test is called by the engine during a step, and handlers wait for the whole step."""

    class Odd(chacha.PairedBetting):
        def bet(self, mean: float, variance: float) -> float:
            return super().bet(mean, variance)

    model, seen = contest_model(evidence=Odd(block=2), first_lease=50), list[float | None]()
    with alarms(lambda: seen.append(model.loss), 3e-4):
        for row in rows(6000):
            model.learn_one(*row)
    assert len(seen) > 5


@pytest.mark.parametrize("use", ["loss", "predict", "learn"])
def test_a_custom_test_that_uses_its_own_model_is_an_error_and_no_deadlock(use: str) -> None:
    class Curious(chacha.PairedBetting):
        def bet(self, mean: float, variance: float) -> float:
            uses: dict[str, Callable[[], object]] = {
                "loss": lambda: model.loss,
                "predict": lambda: model.predict_one("|a x"),
                "learn": lambda: model.learn_one("1 |a x"),
            }
            uses[use]()
            return super().bet(mean, variance)

    model = contest_model(evidence=Curious(block=2), first_lease=50)
    errors = 0
    for row in rows(200):
        try:
            model.learn_one(*row)
        except RuntimeError as error:
            errors += "a custom test cannot use the model that it tests" in str(error)
    assert errors > 10
    assert model.examples == 200


def test_an_oracle_that_refers_to_its_model_is_collected() -> None:
    def make() -> weakref.ref[Any]:
        models = list[ChaCha]()

        def oracle(champion: Config, groups: Sequence[str]) -> list[Config]:
            assert models
            return [champion.with_product(groups[:2])]

        models.append(ChaCha.paper(oracle=oracle))
        models[0].learn_one("1 |a x |b y")
        return weakref.ref(models[0])

    reference = make()
    gc.collect()
    assert reference() is None


def test_a_custom_test_that_refers_to_its_model_is_collected() -> None:
    @dataclass(frozen=True)
    class Friend(chacha.PairedBetting):
        models: Any = field(default_factory=list, compare=False)

    def make() -> weakref.ref[Any]:
        evidence = Friend()
        model = ChaCha(rules=chacha.ContestRules(evidence=evidence))
        evidence.models.append(model)
        model.learn_one({"a": 1.0, "b": 2.0}, 1.0)
        return weakref.ref(model)

    reference = make()
    gc.collect()
    assert reference() is None
