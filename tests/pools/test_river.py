"""River's learners: features, weights, predictions that are not numbers."""

from __future__ import annotations

import math
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import chacha
from chacha import Example
from chacha.errors import ConfigError
from chacha.losses import LEAST_RATE, Hinge, Logistic, Loss, Poisson, Squared
from chacha.pools.river import RiverLearner


def test_features_are_keyed_by_group_and_added_within(tmp_path: Path) -> None:
    path = tmp_path / "same.vw"
    path.write_text("1 |a x:2 x:0.5 |b x:3\n" * 3)
    learner = RiverLearner("LinearRegression", Squared(), 0)
    example = next(iter(chacha.open_source(str(path))))
    assert isinstance(example, Example)
    assert learner._features(example) == {"a^x": 2.5, "b^x": 3.0}
    assert learner._features(chacha.data.parse_line("|a x:0.5")) == {"a^x": 0.5, "b^x": 0.0}


def test_an_example_of_weight_0_is_not_learned() -> None:
    learner = RiverLearner("LinearRegression", Squared(), 0)
    for _ in range(5):
        learner.learn(chacha.data.parse_line("9 0 |a x:2"))
    assert learner.predict(chacha.data.parse_line("|a x:2")) == 0.0
    assert len(learner._x) == 1


def constant_model(prediction: Any, classifier: bool) -> type:
    """Return a model that always predicts the same, without probabilities."""
    base = import_module("river.base")

    class Constant(base.Classifier if classifier else base.Regressor):  # type: ignore[misc]
        def learn_one(self, x: Any, y: Any) -> None: ...

        def predict_one(self, x: Any) -> Any:
            return prediction

    return Constant


def learner_prediction(patch: pytest.MonkeyPatch, prediction: Any, loss: Loss) -> float:
    """Return what a learner makes of a model's prediction."""
    dummy = import_module("river.dummy")
    model = constant_model(prediction, isinstance(loss, (Logistic, Hinge)))
    patch.setattr(dummy, "Constant", model, raising=False)
    patch.setattr(dummy, "__all__", ["Constant"])
    learner = RiverLearner("dummy.Constant", loss, 0)
    return learner.predict(chacha.data.parse_line("1 |a x"))


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, None])
def test_a_prediction_that_is_not_finite_counts_as_0(
    value: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert learner_prediction(monkeypatch, value, Squared()) == 0.0
    assert learner_prediction(monkeypatch, value, Poisson()) == math.log(LEAST_RATE)


def test_classes_without_probabilities(monkeypatch: pytest.MonkeyPatch) -> None:
    sure = math.log((1 - 1e-4) / 1e-4)
    assert learner_prediction(monkeypatch, True, Logistic()) == pytest.approx(sure, rel=1e-9)
    assert learner_prediction(monkeypatch, False, Logistic()) == pytest.approx(-sure, rel=1e-9)
    assert learner_prediction(monkeypatch, None, Logistic()) == 0.0
    margins = [learner_prediction(monkeypatch, label, Hinge()) for label in (True, False, None)]
    assert margins == [1.0, -1.0, 0.0]


def test_a_model_that_cannot_be_made_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    dummy = import_module("river.dummy")

    class Broken(constant_model(0.0, classifier=False)):  # type: ignore[misc]
        def __init__(self, depth: int = 3) -> None:
            raise RuntimeError("needs another Python")

    monkeypatch.setattr(dummy, "Broken", Broken, raising=False)
    monkeypatch.setattr(dummy, "__all__", ["Broken"])
    with pytest.raises(ConfigError, match="Broken cannot be made: needs another Python"):
        RiverLearner("Broken", Squared(), 0)
