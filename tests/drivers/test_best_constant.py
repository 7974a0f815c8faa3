"""The best constant beside the served predictions: the same in both drivers, and as defined."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import chacha
from chacha import ChaCha, Config, ContestRules, NativePool, Summary
from chacha.compare import CommonSettings
from chacha.data import parse_line
from chacha.data.label_map import LabelMap
from chacha.drivers.native import NativeDriver
from chacha.drivers.python import PythonDriver
from chacha.drivers.records import r2_of
from chacha.losses import Hinge, Logistic, Loss, Poisson, Quantile, Squared
from chacha.rules import ProgressiveLoss
from chacha.rules.best_constant import BestConstant
from tests.support.comparisons import compare, outcome
from tests.support.fast_rules import PlainPool
from tests.support.native_runs import WAYS, vw_file
from tests.support.rough_text import rough_text

LOSSES: list[Loss] = [Squared(), Poisson(), Logistic(), Hinge()]
RULES: dict[str, Any] = {
    "recommended": ContestRules(),
    "as read": ContestRules(scaling=None),
    "paper": chacha.PaperRules(),
}
POOLS: list[type[NativePool]] = [NativePool, PlainPool]
for_losses = pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.name)
for_rules = pytest.mark.parametrize("rules", RULES)


def made(pool: type[NativePool], rules: str, loss: Loss, **settings: Any) -> ChaCha:
    model = ChaCha(pool=pool(), rules=RULES[rules], loss=loss, budget=2, **settings)
    assert isinstance(model._driver, NativeDriver if pool is NativePool else PythonDriver)
    return model


def text_for(loss: Loss, n: int = 200) -> list[str]:
    """Lines with weights, some of them 0; labels have more digits than a float32 has."""
    return rough_text(n, loss=loss.name)


def naive(loss: Loss, labels: Sequence[tuple[float, float]], first: int = 0) -> ProgressiveLoss:
    """Return the losses of the best constant, each from all labels before."""
    standing = ProgressiveLoss()
    for n, (y, weight) in enumerate(labels):
        before = labels[:n]
        total = sum(w for _, w in before)
        if isinstance(loss, (Logistic, Hinge)):
            ones = sum(w for label, w in before if label > 0)
            raw = loss.constant(ones + 0.5, total - ones + 0.5)
        else:
            assert isinstance(loss, (Squared, Poisson))
            raw = loss.raw(sum(w * label for label, w in before) / total if total > 0 else 0.0)
        if n >= first:
            standing.add(loss.loss(raw, y), weight)
    return standing


@for_rules
@for_losses
def test_both_drivers_charge_the_constant_of_all_labels_before(loss: Loss, rules: str) -> None:
    lines = text_for(loss)
    models = [made(pool, rules, loss) for pool in POOLS]
    for model, way in zip(models, ("whole", "steps"), strict=True):
        WAYS[way](model, lines, 0)
    native, python = (model._driver.constant for model in models)
    assert native == python, "the same bits"
    assert native.n == len(lines)
    scaled = models[0]._driver.scaling is not None
    examples = [parse_line(line) for line in lines]
    labels = [((e.target_or_label if scaled else e.label) or 0.0, e.weight) for e in examples]
    expected = naive(loss, labels)
    assert native.mean == pytest.approx(expected.mean, rel=1e-12)
    assert native.weight == expected.weight < len(lines)
    assert any(weight == 0.0 for _, weight in labels)
    first, second = (replace(model.summary(), notes=()) for model in models)
    assert first == second
    assert first.mean_loss == native.mean
    (served, constant, alone), (_, *same) = (model._driver.beside_constant for model in models)
    assert [constant, alone] == same
    assert first.r2 == 1.0 - served.mean / constant.mean
    known = next(i for i, (_, weight) in enumerate(labels) if weight > 0) + 1
    assert served.n == constant.n == len(lines) - known, "from the second label on"
    later = naive(loss, labels, known)
    assert constant.mean == pytest.approx(later.mean, rel=1e-12)
    assert served.weight == constant.weight == later.weight


def test_labels_far_from_0_do_not_hide_how_good_a_model_is() -> None:
    """The first prediction is 0, for the model as for the mean."""
    rng = random.Random(1)
    near, far = (
        made(NativePool, "recommended", Squared()),
        made(NativePool, "recommended", Squared()),
    )
    for _ in range(300):
        x = rng.gauss(0, 1)
        y = 2 * x + rng.gauss(0, 0.2)
        near.learn_one({"x": x}, y)
        far.learn_one({"x": x}, y + 1e6)
    r2 = near.summary().r2
    assert r2 is not None
    assert r2 > 0.9
    assert far.summary().r2 == pytest.approx(r2, rel=1e-6)


@for_losses
def test_it_is_the_method_mean_of_a_comparison(tmp_path: Path, loss: Loss) -> None:
    """Bit for bit where labels are learned as they are read."""
    lines = text_for(loss, 300)
    (tmp_path / "s.vw").write_text("\n".join(lines) + "\n")
    settings = CommonSettings(loss=loss)
    comparison = compare(tmp_path / "cache", str(tmp_path / "s.vw"), ["mean"], settings=settings)
    mean_loss = outcome(comparison, "mean").loss
    model = made(NativePool, "as read", loss)
    assert model.run(str(tmp_path / "s.vw")).mean_loss == mean_loss
    scaled = made(NativePool, "recommended", loss)
    assert scaled.run(str(tmp_path / "s.vw")).mean_loss == pytest.approx(mean_loss, rel=1e-6)


def tell_late(model: ChaCha, loss: Loss) -> ProgressiveLoss:
    """Learn examples whose labels come late; return the losses of the constants when asked."""
    rng, constant, expected = random.Random(3), BestConstant(loss), ProgressiveLoss()
    waiting: list[tuple[chacha.Ticket, chacha.Example, float]] = []
    for line in text_for(loss, 150):
        example = parse_line(line)
        waiting.append((model.ask(example.line), example, constant.raw))
        while waiting and rng.random() < 0.6:
            ticket, known, raw = waiting.pop(rng.randrange(len(waiting)))
            y = known.label if model._driver.scaling is None else known.target_or_label
            assert y is not None
            model.tell(ticket, y, known.weight)
            expected.add(loss.loss(raw, y), known.weight)
            constant.add(y, known.weight)
    return expected


@for_rules
@for_losses
def test_with_late_labels_it_is_the_constant_of_the_time_of_the_prediction(
    loss: Loss, rules: str
) -> None:
    """In the engine, in the engine with tickets that Python keeps, and in Python."""
    native, slow = (made(NativePool, rules, loss) for _ in range(2))
    slow._fast_path._asked = None
    python = made(PlainPool, rules, loss)
    for model in (native, slow, python):
        assert tell_late(model, loss) == model._driver.constant
    at_once = made(NativePool, rules, loss)
    WAYS["whole"](at_once, text_for(loss, 150), 0)
    assert at_once._driver.constant.mean != native._driver.constant.mean


class Own:
    """A loss that is not built in, and says nothing of constants."""

    name = "own"
    label = staticmethod(float)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(Squared(), name)


@pytest.mark.parametrize("loss", [Quantile(0.3), Own()], ids=["quantile", "own"])
def test_some_losses_have_none(loss: Any) -> None:
    for pool in POOLS:
        model = ChaCha(pool=pool(), loss=loss)
        ticket = model.ask("|a x")
        model.tell(ticket, 1.0)
        summary = model.run(vw_file("\n".join(rough_text(20)).encode()))
        assert model._driver.constant == ProgressiveLoss()
        assert model._driver.beside_constant == (ProgressiveLoss(),) * 3
        assert (summary.mean_loss, summary.r2) == (None, None)
        assert "best constant" not in str(summary)
        assert "R²" not in str(summary)


def summary(loss_name: str, loss: float | None, mean_loss: float | None, **more: Any) -> Summary:
    given: dict[str, Any] = {"metrics": {}, "baseline_loss": None, "champion": Config()}
    counts = {"examples": 7, "skipped": {}, "promotions": 0, "decisions": 0, "challengers": 0}
    given |= {**counts, "loss": loss, "loss_name": loss_name, "mean_loss": mean_loss, **more}
    if loss is not None and mean_loss is not None:
        given["r2"] = r2_of(ProgressiveLoss(6, loss, 1.0), ProgressiveLoss(6, mean_loss, 1.0))
    return Summary(**given)


@pytest.mark.parametrize(
    ("loss_name", "loss", "mean_loss", "text"),
    [
        ("squared", 0.04, 2.0, "served squared loss 0.04 (R² 0.980) over 7 examples, "),
        ("squared", 3.0, 2.0, "served squared loss 3 (R² -0.500) over 7 examples, "),
        ("logistic", 0.3, 0.6, "logistic loss 0.3 (50.0% below the best constant) over"),
        ("poisson", 0.9, 0.6, "poisson loss 0.9 (50.0% above the best constant) over"),
        ("hinge", 0.6, 0.6, "hinge loss 0.6 (0.0% below the best constant) over"),
        ("quantile:0.9", 0.6, None, "served quantile:0.9 loss 0.6 over 7 examples"),
        ("squared", 0.0, 0.0, "served squared loss 0 over"),
        ("squared", 1.0, float("inf"), "served squared loss 1 over"),
        ("squared", float("nan"), 2.0, "served squared loss nan (R² nan) over"),
        ("squared", None, None, "served squared loss none yet over"),
    ],
)
def test_what_is_printed(
    loss_name: str, loss: float | None, mean_loss: float | None, text: str
) -> None:
    assert text in str(summary(loss_name, loss, mean_loss))


def test_the_scale_of_the_labels_is_printed_beside_a_learning_rate() -> None:
    rate, shown = Config(values={"learning_rate": 0.5}), "label scale: 12.7 around 3.4 ("
    known: dict[str, Any] = {"label_map": LabelMap(3.4, 12.7)}
    text = str(summary("squared", 1.0, 2.0, champion=rate, **known)).splitlines()
    assert text[0] == "champion: no interactions; learning_rate 0.5"
    assert text[2] == shown + "learning rates are relative to it)"
    for other in (
        summary("squared", 1.0, 2.0, **known),
        summary("squared", 1.0, 2.0, champion=rate),
        summary("squared", 1.0, 2.0, champion=rate, label_map=LabelMap(3.4)),
    ):
        assert "label scale" not in str(other)


@pytest.mark.parametrize("pool", POOLS)
def test_the_label_map_is_that_of_the_champion(pool: type[NativePool]) -> None:
    model = made(pool, "recommended", Squared(), baseline=True)
    assert (model.summary().label_shift, model.summary().label_scale) == (0.0, 0.0)
    source = "synth:interactions,n=700"
    model.run(source)
    labels = [e.label or 0.0 for e in chacha.open_source(source) if isinstance(e, chacha.Example)]
    shift, scale = model.summary().label_shift, model.summary().label_scale
    assert shift is not None
    assert scale is not None
    assert min(labels) < shift < max(labels)
    assert 0.1 < scale / max(map(abs, labels)) < 1.0
    assert f"label scale: {scale:.4g} around {shift:.4g} (" in str(model.summary())
    for unscaled in (made(pool, "as read", Squared()), made(pool, "recommended", Logistic())):
        assert unscaled.summary().label_shift is None
        assert unscaled.summary().label_scale is None


def test_a_champion_without_a_model_has_no_label_map() -> None:
    algorithm = chacha.rules.paper.comparators.WithoutChampion
    summary = ChaCha.paper(algorithm=algorithm, budget=2).run("synth:fried,n=300")
    assert summary.label_scale is None
