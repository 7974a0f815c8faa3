"""Losses and tasks: what a class declares, the command line's names, labels, what rules see."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import pytest

import chacha
from chacha.config import Config
from chacha.config.config import Value
from chacha.errors import BadExample, ConfigError
from chacha.losses import (
    LOSSES,
    Hinge,
    Logistic,
    Loss,
    Poisson,
    Quantile,
    Squared,
    check_loss,
    engine_loss,
    loss_forms,
    loss_named,
    loss_of,
    loss_options,
)
from chacha.tasks import Binary, Regression, task_of

ALL: list[Loss] = [
    *(Squared(), Logistic(), Logistic(floor=0.01), Quantile(), Quantile(0.9), Poisson(), Hinge())
]


@dataclass
class Absolute:
    """A custom loss, which knows nothing of the built-in classes."""

    name = "absolute"
    options: Mapping[str, Value]

    def label(self, y: float) -> float:
        return y

    def served(self, raw: float) -> float:
        return raw

    def loss(self, raw: float, y: float) -> float:
        return abs(raw - y)

    def residual(self, raw: float, y: float) -> float:
        return math.copysign(1.0, y - raw)

    def proxy(self, raw: float, y: float, low: float, high: float) -> float:
        return abs(min(max(low, raw), high) - y)

    def proxy_range(self, low: float, high: float) -> float:
        return high - low

    def metrics(self, raw: float, y: float) -> dict[str, float]:
        return {"bias": raw - y}


@pytest.mark.parametrize("loss", ALL, ids=lambda loss: repr(loss))
def test_a_loss_is_found_again_by_its_name_and_by_its_options(loss: Loss) -> None:
    plain = type(loss)() if isinstance(loss, Logistic) else loss  # the floor is not VW's
    assert loss_named(loss.name) == plain
    assert loss_of(loss.options) == plain
    assert engine_loss(loss) is not None


def test_what_the_classes_declare() -> None:
    assert [*LOSSES] == [loss.kind for loss in LOSSES.values()]
    assert loss_forms() == ["squared", "logistic", "quantile:TAU", "poisson", "hinge"]
    assert loss_options() == {"quantile_tau": 0.5}
    assert Quantile(0.9).options == {"loss_function": "quantile", "quantile_tau": 0.9}
    assert Squared().options == {}
    assert engine_loss(Logistic(0.01)) == ("logistic", [("floor", 0.01)])
    assert engine_loss(Squared()) == ("squared", [])
    for loss in ALL:
        built_in = LOSSES[loss.name.partition(":")[0]]
        assert tuple(loss.metrics(0.5, 1.0)) == built_in.metric_names


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("absolute", "there is no loss 'absolute'; choose from squared, logistic, quantile:TAU"),
        ("squared:2", "there is no loss 'squared:2'"),
        ("", "there is no loss ''"),
        ("quantile:", "quantile:TAU needs a number between 0 and 1, got quantile:"),
        ("quantile:x", "quantile:TAU needs a number between 0 and 1, got quantile:x"),
        ("quantile:1", "quantile:TAU needs a number between 0 and 1, got quantile:1"),
        ("quantile:0.5:0.5", "quantile:TAU needs a number between 0 and 1"),
    ],
)
def test_a_wrong_name_is_explained(text: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message.replace("(", "\\(")):
        loss_named(text)


@pytest.mark.parametrize("wrong", [Squared, "logistic", None, 3, Absolute])
def test_only_an_object_is_a_loss(wrong: Any) -> None:
    with pytest.raises(ConfigError, match=r"loss must be an object such as Squared\(\) or Log"):
        check_loss(wrong)


def test_objects_with_the_methods_of_a_loss_are_losses() -> None:
    for loss in (*ALL, Absolute({})):
        check_loss(loss)


def test_the_engine_does_not_know_a_subclass_nor_a_custom_loss() -> None:
    class Doubled(Squared):
        def loss(self, raw: float, y: float) -> float:
            return 2.0 * super().loss(raw, y)

    assert engine_loss(Doubled()) is None
    assert engine_loss(Absolute({})) is None
    assert Doubled().name == "squared"


def test_the_engine_refuses_what_it_does_not_know() -> None:
    engine = chacha.NativePool().engine
    names = ("scale", "delta", "p", "log_of_base")
    switches = ("log_in_root", "natural", "count_challengers")
    rules: Any = {**dict.fromkeys(names, 1.0), **dict.fromkeys(switches, True)}
    set_rules = partial(engine.set_rules, comp=None, burn_in=0, **rules)
    set_rules(loss=("quantile", [("tau", 0.9)]))
    with pytest.raises(ValueError, match="no loss of that name"):
        set_rules(loss=("absolute", []))
    with pytest.raises(ValueError, match="no loss has a parameter alpha"):
        set_rules(loss=("quantile", [("alpha", 0.9)]))


def test_tasks_of_losses() -> None:
    assert [task_of(loss()).name for loss in LOSSES.values()] == [
        *("regression", "binary", "regression", "regression", "binary")
    ]
    assert task_of(Absolute({})).name == "regression"
    assert task_of(Quantile(0.9)) == Regression(Quantile(0.9)) != Regression(Quantile())
    assert len({task_of(loss) for loss in (*ALL, *ALL)}) == len(ALL)


@pytest.mark.parametrize(
    ("loss", "y", "label"),
    [
        (Squared(), True, 1.0),
        (Squared(), "2.5", 2.5),
        (Logistic(), 0, -1.0),
        (Hinge(), "1", 1.0),
        (Poisson(), 3, 3.0),
    ],
)
def test_labels(loss: Loss, y: Any, label: float) -> None:
    parsed = task_of(loss).label(y)
    assert parsed == label
    assert type(parsed) is float


@pytest.mark.parametrize(
    ("loss", "y", "reason"),
    [
        (Squared(), "red", "label not finite"),
        (Squared(), None, "label not finite"),
        (Squared(), float("nan"), "label not finite"),
        (Squared(), 1e39, "label not finite"),
        (Logistic(), 2.0, "label refused"),
        (Hinge(), float("inf"), "label not finite"),
        (Poisson(), -1, "label refused"),
    ],
)
def test_labels_are_refused_with_a_reason(loss: Loss, y: Any, reason: str) -> None:
    with pytest.raises(BadExample) as refusal:
        task_of(loss).label(y)
    assert refusal.value.reason == reason


@pytest.mark.parametrize("loss", [*ALL, Absolute({})], ids=lambda loss: repr(loss))
def test_a_task_answers_as_its_loss(loss: Loss) -> None:
    task = task_of(loss)
    for raw in (-2.0, 0.0, 0.7, float("inf")):
        assert task.prediction(raw) == loss.served(raw)
        assert task.loss(raw, 1.0) == loss.loss(raw, 1.0)
        assert task.proxy(raw, 1.0, -1.0, 2.0) == loss.proxy(raw, 1.0, -1.0, 2.0)
        assert task.residual(raw, 1.0) == loss.residual(raw, 1.0)
        assert task.metrics(raw, 1.0) == loss.metrics(raw, 1.0)
    assert task.proxy_range(-1.0, 2.0) == loss.proxy_range(-1.0, 2.0)


@pytest.mark.parametrize("loss", ALL, ids=lambda loss: repr(loss))
def test_raw_is_the_inverse_of_the_prediction(loss: Loss) -> None:
    task = task_of(loss)
    for estimate in (0.2, 0.5, 0.9):
        expected = 2.0 * estimate - 1.0 if isinstance(loss, Hinge) else estimate
        assert task.prediction(task.raw(estimate)) == pytest.approx(expected)


def test_raw_stays_finite() -> None:
    assert task_of(Poisson()).raw(0.0) == math.log(1e-4)
    assert task_of(Logistic(floor=0.01)).raw(1.0) == pytest.approx(math.log(99))
    assert Binary(Hinge()).raw(0.0) == -1.0
    assert task_of(Absolute({})).raw(3.0) == 3.0


@pytest.mark.parametrize("loss", ALL, ids=lambda loss: repr(loss))
def test_the_losses_that_the_rules_see(loss: Loss) -> None:
    champion, challenger, y = Config(), Config(["ab"]), 1.0
    raw = {champion: 0.1, challenger: 0.7}
    task = task_of(loss)
    scored = task.score(raw, champion, served=0.3, y=y, weight=2.0)
    assert scored.losses == {c: loss.loss(p, y) for c, p in raw.items()}
    distance = raw[challenger] - raw[champion]
    assert scored.distances == {challenger: distance}
    assert scored.halves == {challenger: loss.loss(raw[champion] + 0.5 * distance, y)}
    assert (scored.served_loss, scored.weight) == (loss.loss(0.3, y), 2.0)
    bounded = task.score_bounded(raw, y, 2.0, low=0.0, high=1.0).bounded
    assert bounded == {c: loss.proxy(p, y, 0.0, 1.0) for c, p in raw.items()}
    assert task.residual(raw[champion], y) == loss.residual(raw[champion], y)


def test_a_custom_loss_runs() -> None:
    model = chacha.ChaCha(loss=Absolute({"loss_function": "quantile"}), seed=1)
    summary = model.run("synth:interactions,n=300")
    assert summary.examples == 300
    assert set(summary.metrics) == {"bias"}
    assert model.specification.task.name == "regression"
