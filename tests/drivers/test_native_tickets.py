"""Tickets of the native driver: straight to the engine or through text, all is the same."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chacha import ChaCha, DerivedFeatures, SampleComplexity, Ticket
from chacha._native import DictPlan, Engine
from chacha.config.space import RATES, Interactions
from chacha.drivers.native_dicts import DictPlans, FastPath
from chacha.drivers.native_tickets import NativePendingExample
from chacha.errors import BadExample
from chacha.losses import Hinge, Logistic, Loss, Poisson, Quantile, Squared
from chacha.tickets import PendingExample
from tests.support.failing_oracles import failing_oracle, outcome, refused_oracle
from tests.support.fast_rules import EAGER, KEEN
from tests.support.models import contest_model
from tests.support.native_runs import state

FEATURES = DerivedFeatures(first=20, knots=5, text=False)
SPACE: dict[str, Any] = {
    "interactions": Interactions(),
    "learning_rate": RATES,
    "features": FEATURES,
}
CONTEST: dict[str, Any] = {"evidence": KEEN, "blending": EAGER, "first_lease": 30, "space": SPACE}
PAPER: dict[str, Any] = {"evidence": SampleComplexity(scale=0.001), "lease_factor": 1}
RULES: dict[str, dict[str, Any]] = {
    "contest": CONTEST,
    "contest with a baseline": {**CONTEST, "baseline": True, "budget": 3},
    "defaults": {},
    "paper": PAPER,
    "paper with a baseline": {**PAPER, "baseline": True, "budget": 2},
    "one model": {"budget": 1, "baseline": True},
}
LOSSES: list[Loss] = [Squared(), Quantile(0.3), Poisson(), Logistic(), Hinge()]

Shape = Callable[[random.Random], Any]


def pair(**rules: Any) -> tuple[ChaCha, ChaCha]:
    """A model whose tickets go straight to the engine, and one that keeps them as text."""
    fast, slow = (contest_model(keep_decisions=10**6, **rules) for _ in range(2))
    slow._fast_path._asked = None
    return fast, slow


def is_native(ticket: Ticket) -> bool:
    """Whether a ticket went straight to the engine."""
    assert isinstance(ticket._pending, (NativePendingExample, PendingExample))
    return isinstance(ticket._pending, NativePendingExample)


def everything(model: ChaCha) -> dict[str, Any]:
    """All that is visible of a model, with the names and the numbers of derived features."""
    recipes = model._driver.recipes()
    return {**state(model), "columns": list(model.observed.columns), "recipes": recipes}


def flat(rng: random.Random) -> Any:
    """Numbers, words and missing values; some dicts have another order, or one key more."""
    x: dict[str, Any] = {f"x{i}": rng.choice([rng.uniform(-2, 2), rng.randint(0, 4)]) for i in "ab"}
    x |= {"hour": rng.randrange(24), "colour": rng.choice(["red", "blue", "dark-blue", None])}
    x |= {"size": rng.choice([None, True, 0.0, 3.5])}
    if rng.random() < 0.1:
        x["late"] = rng.choice(["yes", "dark blue", 1.0])  # a space needs the slow path
    return dict(rng.sample(sorted(x.items()), len(x))) if rng.random() < 0.3 else x


def nested(rng: random.Random) -> Any:
    user = {"age": rng.randint(18, 80), "city": rng.choice(["rome", "oslo", None])}
    return {"user": user, "item": {"price": rng.random()}, "hour": rng.choice([None, 1, 2])}


def line(rng: random.Random) -> Any:
    """Lines with weights, initial predictions, tags, and names of derived groups."""
    head = rng.choice(["", "", "3 ", "0 2 ", "1 0.5 0.25 ", "1 1 'tag", "1\t"])
    groups = [f"|a x:{rng.random():.3f} y", f"|b z:{rng.randint(0, 5)}", "|c red", "|empty"]
    groups += ["|missing(a) x", f"|bins(a,5) x:{rng.random():.2f}", "|a again:2"]
    return head + " ".join(rng.sample(groups, rng.randint(2, len(groups))))


def mixed(rng: random.Random) -> Any:
    return rng.choice([flat, nested, line])(rng)


SHAPES: dict[str, Shape] = {"flat": flat, "nested": nested, "line": line, "mixed": mixed}


def run_both(fast: ChaCha, slow: ChaCha, shape: Shape, n: int, seed: int) -> int:
    """Ask both models the same, give labels late and in any order; return the native tickets."""
    rng = random.Random(seed)
    signs = isinstance(fast.loss_function, (Logistic, Hinge))
    waiting: list[tuple[Ticket, Ticket, float]] = []
    native = 0
    for i in range(n):
        x = shape(rng)
        y = float(rng.choice([0, 1])) if signs else abs(rng.gauss(1, 1)) + (i % 3)
        if rng.random() < 0.15:
            assert outcome(fast.learn_one, x, y) == outcome(slow.learn_one, x, y)
            continue
        expected = fast.predict_one(x)
        one, other = fast.ask(x), slow.ask(x)
        assert one.prediction == other.prediction == expected
        assert one.served_by == other.served_by
        if isinstance(x, dict):
            x.clear()  # a ticket keeps what was asked
        native += is_native(one)
        assert not is_native(other)
        waiting.append((one, other, y))
        while waiting and rng.random() < 0.52:
            one, other, y = waiting.pop(rng.randrange(len(waiting)))
            weight = rng.choice([None, None, 2.0, 0.0])
            assert outcome(fast.tell, one, y, weight) == outcome(slow.tell, other, y, weight)
        if i % 40 == 0:
            assert everything(fast) == everything(slow)
    assert everything(fast) == everything(slow)
    return native


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("rules", RULES)
def test_tickets_are_the_same_as_through_text(rules: str, shape: str) -> None:
    fast, slow = pair(**RULES[rules])
    assert run_both(fast, slow, SHAPES[shape], 300, seed=1) > 100
    if rules in ("contest", "paper"):
        assert any(d.kind == "Retired" for d in fast.decisions), "between ask and tell"


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.name)
@pytest.mark.parametrize("rules", ["contest", "paper"])
def test_every_loss(rules: str, loss: Loss) -> None:
    fast, slow = pair(loss=loss, **RULES[rules])
    assert run_both(fast, slow, mixed, 200, seed=2) > 50


@pytest.mark.parametrize("oracle", [lambda: failing_oracle([1, 2, 4]), lambda: refused_oracle])
def test_failures_are_raised_by_the_same_call(oracle: Callable[[], Any]) -> None:
    fast, slow = (
        contest_model(keep_decisions=10**6, oracle=oracle(), **{**PAPER, "budget": 3})
        for _ in range(2)
    )
    slow._fast_path._asked = None
    rng = random.Random(4)
    native = 0
    for _ in range(150):
        x, y = flat(rng), rng.gauss(0, 1)
        tickets = outcome(fast.ask, x), outcome(slow.ask, x)
        if not isinstance(tickets[0], Ticket):
            assert tickets[0] == tickets[1]
            continue
        native += is_native(tickets[0])
        assert outcome(fast.tell, tickets[0], y) == outcome(slow.tell, tickets[1], y)
        assert fast.pending == slow.pending == 0
    assert everything(fast) == everything(slow)
    assert native > 50


values = st.one_of(
    st.floats(),
    st.integers(-(2**54), 2**54),
    st.sampled_from([None, True, False, "", "red", "dark red", "é", "nan", "\ud800", 1e39, 1e-46]),
)
keys = st.sampled_from(["a", "b", "c d", "geo.lat", "é", "", "z"])
dicts = st.one_of(
    st.dictionaries(keys, values, max_size=4),
    st.dictionaries(keys, st.one_of(values, st.dictionaries(keys, values)), max_size=4),
)
labels = st.one_of(
    st.floats(), st.integers(-3, 3), st.sampled_from([10**400, 1e39, True, None, "1", 1e-60])
)
weights = st.sampled_from([None, None, 1, 0, 2.5, -1.0, 1e39, "2", True])


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(dicts, labels, weights), min_size=1, max_size=12), st.data())
def test_any_dict_label_and_weight(rows: list[tuple[Any, Any, Any]], data: st.DataObject) -> None:
    """The same prediction and decisions, or the same refusal, which leaves the ticket waiting."""
    fast, slow = pair(loss=data.draw(st.sampled_from(LOSSES)), budget=3, first_lease=3)
    waiting: list[tuple[Ticket, Ticket]] = []
    for x, y, weight in [*rows, *rows]:
        tickets = outcome(fast.ask, x), outcome(slow.ask, x)
        if isinstance(tickets[0], Ticket):
            assert tickets[0].prediction == tickets[1].prediction
            waiting.append(tickets)
        else:
            assert tickets[0] == tickets[1]
        now: bool = data.draw(st.booleans())
        if waiting and now:
            one, other = waiting.pop(data.draw(st.integers(0, len(waiting) - 1)))
            assert outcome(fast.tell, one, y, weight) == outcome(slow.tell, other, y, weight)
        assert fast.pending == slow.pending
    assert everything(fast) == everything(slow)


def test_a_refused_label_leaves_the_ticket_waiting() -> None:
    model = ChaCha(loss=Logistic())
    for i in range(5):
        model.learn_one({"a": 1.0, "b": float(i)}, 1)
    ticket = model.ask({"a": 1.0, "b": 2.0})
    assert is_native(ticket)
    for y, weight in ((float("nan"), None), (0.5, None), ("one", None), (1.0, -1.0)):
        with pytest.raises(BadExample):
            model.tell(ticket, y, weight)  # type: ignore[arg-type]
        assert (model.pending, model.examples) == (1, 5)
    with pytest.raises(BadExample, match="no label"):
        model.tell(ticket, None)  # type: ignore[arg-type]
    model.tell(ticket.number, True, 2)
    assert (model.pending, model.examples) == (0, 6)


def test_a_key_that_runs_code_takes_the_slow_path() -> None:
    """No Python code runs while the engine reads a dict: such code could call the model."""
    model = ChaCha(budget=2)

    class Key(str):
        __slots__ = ()

        def __eq__(self, other: object) -> bool:
            model.predict_one({"a": 1.0, "b": 2.0})
            return str(self) == other

        def __hash__(self) -> int:
            return hash(str(self))

    for _ in range(3):
        model.learn_one({"a": 1.0, "b": 2.0}, 1.0)
    x = {Key("a"): 1.0, Key("b"): 2.0}
    assert model.predict_one(x) == model.predict_one({"a": 1.0, "b": 2.0})
    ticket = model.ask(x)
    assert not is_native(ticket)
    model.tell(ticket, 1.0)
    assert model.examples == 4


def test_an_engine_refuses_what_another_was_asked() -> None:
    models = [ChaCha(budget=2) for _ in range(2)]
    for model in models:
        for _ in range(2):
            model.learn_one("1 |a x |b y")
    pending = models[0].ask("|a x |b y")._pending
    assert isinstance(pending, NativePendingExample)
    assert models[0].ask("|a x |b y").prediction == pending.asked.prediction
    engine: Engine = models[1]._driver.engine  # type: ignore[attr-defined]
    with pytest.raises(ValueError, match="another engine"):
        engine.tell(pending.asked, 1.0, None)


def sharing(plans: DictPlans, **rules: Any) -> ChaCha:
    """A model whose plans are shared."""
    model = contest_model(keep_decisions=10**6, **rules)
    model._fast_path = FastPath(model._driver, model.reader, plans)
    return model


def plans_of(model: ChaCha) -> list[DictPlan]:
    return model._fast_path._plans


def learn(model: ChaCha, shape: Shape, n: int, seed: int) -> list[float]:
    """Learn a stream, half of it by tickets; return the predictions."""
    rng = random.Random(seed)
    predictions = []
    for i in range(n):
        x, y = shape(rng), rng.gauss(0, 1)
        if i % 2:
            ticket = model.ask(x)
            predictions.append(ticket.prediction)
            model.tell(ticket, y)
        else:
            predictions.append(model.predict_one(x))
            model.learn_one(x, y)
    return predictions


def test_models_share_plans_that_agree() -> None:
    plans = DictPlans()
    models = [sharing(plans, **CONTEST) for _ in range(3)]
    separate = [contest_model(keep_decisions=10**6, **CONTEST) for _ in range(3)]
    first = {"xa": 1.0, "xb": 2.0, "hour": 3, "colour": "red", "size": None}
    for seed, (model, alone) in enumerate(zip(models, separate, strict=True)):
        assert model.learn_one(first, 1.0) == alone.learn_one(first, 1.0)
        assert learn(model, flat, 120, seed) == learn(alone, flat, 120, seed)
        assert everything(model) == everything(alone)
    assert {*map(id, plans_of(models[0]))} == {*map(id, plans_of(models[1]))}
    assert len(plans) == 2, "with and without the late key"


def test_models_whose_dicts_are_read_in_another_way_have_other_plans() -> None:
    """Equal keys, but another first dict, or no groups for missing values."""
    plans = DictPlans()
    x = {"a": 1.0, "b": None}
    first, other_groups, no_missing = (
        sharing(plans),
        sharing(plans),
        sharing(plans, space={"interactions": Interactions()}),
    )
    other_groups.learn_one({"q": 1.0, "r": 2.0}, 1.0)
    for model in (first, other_groups, no_missing):
        for _ in range(2):
            model.learn_one(x, 1.0)
    assert len({id(plans_of(model)[0]) for model in (first, other_groups, no_missing)}) == 3
    assert list(first.observed.groups) == ["a", "b"]
    assert list(other_groups.observed.groups) == ["q", "r"]
    alone = ChaCha()
    for _ in range(2):
        alone.learn_one(x, 1.0)
    assert everything(first) == everything(alone)


def test_plans_go_with_their_models() -> None:
    plans = DictPlans()
    model = sharing(plans)
    learn(model, flat, 10, seed=0)
    assert len(plans) > 0
    del model
    assert len(plans) == 0


def test_many_plans_in_one_model() -> None:
    """More shapes than a model has plans: each dict is read rightly all the same."""
    fast, slow = pair(**CONTEST)

    def any_shape(rng: random.Random) -> Any:
        names = [f"x{i}" for i in range(20) if rng.random() < 0.5] or ["x0"]
        return {name: rng.random() for name in rng.sample(names, len(names))}

    def few_shapes(rng: random.Random) -> Any:
        k = rng.randrange(12)
        return {f"x{(i + k) % 13}": rng.random() for i in range(5)}

    run_both(fast, slow, any_shape, 60, seed=0)
    assert run_both(fast, slow, few_shapes, 200, seed=0) > 50


def test_plans_shared_by_threads() -> None:
    """Six models in six threads share plans; each gives the results of a model that shares none."""
    plans, shape, n = DictPlans(), flat, 400
    models = [sharing(plans, budget=3, first_lease=50) for _ in range(6)]
    predictions: list[list[float]] = [[] for _ in models]

    def work(i: int) -> None:
        predictions[i] = learn(models[i], shape, n, seed=i)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(len(models))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for i, model in enumerate(models):
        alone = contest_model(budget=3, first_lease=50, keep_decisions=10**6)
        assert learn(alone, shape, n, seed=i) == predictions[i]
        assert everything(model) == everything(alone)


def test_a_plan_is_free_of_engines() -> None:
    """One plan, two engines that number their groups differently."""
    plans = DictPlans()
    models = [sharing(plans, budget=2) for _ in range(2)]
    models[0].learn_one("1 |z q |b q |a q")
    x = {"a": 1.0, "b": "red", "z": None}
    for model in models:
        for y in (1.0, 2.0, 3.0):
            model.tell(model.ask(x), y)
    assert plans_of(models[0])[0] is plans_of(models[1])[0]
    alone = ChaCha(budget=2, keep_decisions=10**6)
    for y in (1.0, 2.0, 3.0):
        alone.learn_one(x, y)
    assert models[1].served == alone.served
    assert models[1].predict_one(x) == alone.predict_one(x)
