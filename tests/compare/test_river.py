"""River's learners beside ours: the losses of a loop written by hand, and what is refused."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

import pytest

import chacha
from chacha import ChaCha, Example
from chacha.compare import CommonSettings, Method, rows_of
from chacha.compare.methods import method_named
from chacha.compare.river_methods import LEAST_RATE, RiverLearner, find_river
from chacha.compare.scores import table_lines, to_json
from chacha.errors import ConfigError
from chacha.losses import Hinge, Logistic, Loss, Poisson, Quantile, Squared
from tests.support.command_line import cli
from tests.support.comparing import cli_without, compared, outcome

river = pytest.importorskip("river")
FRIED = "synth:fried,n=250"


def made(path: str, **arguments: Any) -> Any:
    """StandardScaler | model, as a user of River writes it."""
    module, _, name = path.partition(".")
    model = getattr(import_module(f"river.{module}"), name)(**arguments)
    return import_module("river.preprocessing").StandardScaler() | model


def examples(name: str) -> Iterator[tuple[dict[str, float], float, float]]:
    """Dicts with a 0 for everything that was seen before, labels and weights."""
    seen: dict[str, float] = {}
    for example in chacha.open_source(name):
        assert isinstance(example, Example)
        assert example.label is not None
        x = {f"{g}^{f.name}": f.value for g, fs in example.groups.items() for f in fs}
        seen.update(dict.fromkeys(x, 0.0))
        yield {**seen, **x}, example.label, example.weight


def by_hand(model: Any, name: str, loss: Callable[[float, float], float], **more: Any) -> float:
    """The mean loss of a regressor."""
    total = 0.0
    rows = list(examples(name))
    for x, y, _ in rows:
        total += loss(model.predict_one(x) or 0.0, y)
        model.learn_one(x, y, **more)
    return total / len(rows)


def squared(p: float, y: float) -> float:
    return (p - y) ** 2


def lines(path: Path, count: int, label: Callable[[float, float], float], weight: str = "") -> str:
    """VW text with two numbers, one of them often 0, a word, and from the middle on a third."""
    random = Random(5)
    with path.open("w") as file:
        for i in range(count):
            a, b = round(random.uniform(-1, 1), 3), max(0.0, round(random.uniform(-1, 1), 3))
            late = f" |late c:{random.uniform(0, 1):.3f}" if 2 * i > count else ""
            word = random.choice(["red", "blue"])
            file.write(f"{label(a, b)} {weight}|x a:{a} b:{b} |word {word}{late}\n")
    return str(path)


def sign(a: float, b: float) -> float:
    return 1.0 if a + b > 0.2 else -1.0


@pytest.mark.parametrize(
    ("path", "arguments"),
    [
        ("tree.HoeffdingTreeRegressor", {}),
        ("linear_model.LinearRegression", {}),
        ("neighbors.KNNRegressor", {}),
        ("rules.AMRules", {}),
        ("forest.ARFRegressor", {"seed": 3}),
        ("forest.AMFRegressor", {"seed": 3}),  # its first prediction is None
    ],
)
def test_a_regressor_loses_what_a_loop_over_river_does(
    tmp_path: Path, path: str, arguments: dict[str, Any]
) -> None:
    method = f"river:{path.partition('.')[2]}"
    found = outcome(compared(tmp_path, FRIED, [method], first_seed=3), method)
    assert found.loss == by_hand(made(path, **arguments), FRIED, squared)
    assert found.metrics["mse"] == found.loss
    assert (found.examples, found.promotions, found.frozen) == (250, 0, 0)
    assert found.champion == f"StandardScaler | {path.partition('.')[2]}"
    assert found.cpu_seconds > 0
    assert len(found.curve) == 200
    assert found.curve[-1].n == 250


def test_what_an_example_lacks_is_zero_once_it_was_seen(tmp_path: Path) -> None:
    """Words, zeros that are left out, and a column that comes late."""
    name = lines(tmp_path / "late.vw", 200, lambda a, b: 3 * a + b)
    for path in ("tree.HoeffdingTreeRegressor", "linear_model.LinearRegression"):
        found = outcome(compared(tmp_path / "kept", name, [f"river:{path}"]), f"river:{path}")
        assert found.loss == by_hand(made(path), name, squared)


def test_names_are_told_apart_by_their_group_and_added_up_within(tmp_path: Path) -> None:
    path = tmp_path / "same.vw"
    path.write_text("1 |a x:2 x:0.5 |b x:3\n" * 3)
    learner = RiverLearner("river:LinearRegression", Squared(), 0)
    example = next(iter(chacha.open_source(str(path))))
    assert isinstance(example, Example)
    assert learner._features(example) == {"a^x": 2.5, "b^x": 3.0}
    assert learner._features(chacha.data.parse_line("|a x:0.5")) == {"a^x": 0.5, "b^x": 0.0}


@pytest.mark.parametrize(
    ("loss", "told"),
    [
        (Quantile(0.9), lambda p, y: 0.9 * (y - p) if y >= p else (1 - 0.9) * (p - y)),
        (Poisson(), lambda p, y: Poisson().loss(math.log(max(p, LEAST_RATE)), y)),
    ],
)
def test_other_losses_of_regressors(
    tmp_path: Path, loss: Loss, told: Callable[[float, float], float]
) -> None:
    name = lines(tmp_path / "c.vw", 150, lambda a, b: float(round(3 * b)))
    found = compared(tmp_path, name, ["river:LinearRegression"], settings=CommonSettings(loss=loss))
    expected = by_hand(made("linear_model.LinearRegression"), name, told)
    assert outcome(found, "river:LinearRegression").loss == expected


@pytest.mark.parametrize(
    ("path", "arguments"),
    [
        ("linear_model.LogisticRegression", {}),
        ("tree.HoeffdingTreeClassifier", {}),
        ("naive_bayes.GaussianNB", {}),
        ("forest.ARFClassifier", {"seed": 0}),
    ],
)
def test_a_classifier_has_log_loss_and_accuracy(
    tmp_path: Path, path: str, arguments: dict[str, Any]
) -> None:
    name = lines(tmp_path / "b.vw", 200, sign)
    method = f"river:{path}"
    found = outcome(
        compared(tmp_path / "kept", name, [method], settings=CommonSettings(loss=Logistic())),
        method,
    )
    model, floor = made(path, **arguments), Logistic().floor
    total, right = 0.0, 0
    for x, y, _ in examples(name):
        told = model.predict_proba_one(x)
        p = told.get(True, 0.0) if told else 0.5
        p = min(max(p, floor), 1 - floor)
        total -= math.log(p if y > 0 else 1 - p)
        right += (p > 0.5) == (y > 0)
        model.learn_one(x, y > 0)
    assert found.loss == pytest.approx(total / 200, rel=1e-9)
    assert found.metrics["log_loss"] == found.loss
    assert found.metrics["accuracy"] == right / 200
    assert right > 120


def test_hinge_takes_two_p_minus_one(tmp_path: Path) -> None:
    name, method = lines(tmp_path / "b.vw", 100, sign), "river:LogisticRegression"
    found = compared(tmp_path / "kept", name, [method], settings=CommonSettings(loss=Hinge()))
    model, total = made("linear_model.LogisticRegression"), 0.0
    for x, y, _ in examples(name):
        total += 1 - y * (2 * model.predict_proba_one(x)[True] - 1)
        model.learn_one(x, y > 0)
    assert outcome(found, method).loss == pytest.approx(total / 100, rel=1e-9)


def test_every_method_has_metrics(tmp_path: Path) -> None:
    name = lines(tmp_path / "b.vw", 150, sign)
    methods = ["naive", "chacha", "offline", "all-pairs", "river:LogisticRegression"]
    settings = CommonSettings(loss=Logistic())
    found = compared(tmp_path / "kept", name, methods, settings=settings, seeds=2)
    model = ChaCha.paper(budget=1, loss=Logistic())
    assert outcome(found, "naive").metrics == model.run(name).metrics
    rows = rows_of(found.outcomes[name])
    told = to_json(rows)
    assert [len(told[method]["metrics"]["accuracy"]) for method in methods] == [2] * 5
    frozen = outcome(found, "offline")
    assert frozen.metrics["log_loss"] == pytest.approx(frozen.loss), "over what is charged"
    head, *body = table_lines(rows)
    assert head.split()[:3] == ["method", "loss", "accuracy"]
    assert f" {frozen.metrics['accuracy']:.4f} ± 0.0000 " in body[2]
    again = compared(tmp_path / "kept", name, methods, settings=settings, seeds=2)
    assert again.outcomes == found.outcomes, "they are kept"


def test_without_classes_there_is_no_accuracy(tmp_path: Path) -> None:
    rows = rows_of(compared(tmp_path, FRIED, ["naive"]).outcomes[FRIED])
    assert "accuracy" not in next(table_lines(rows))
    assert sorted(to_json(rows)["naive"]["metrics"]) == ["mae", "mse"]


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("river:HoefdingTreeRegresor", r"near it: HoeffdingTreeRegressor, .*public modules are s"),
        ("river:hoeffdingtree", "near it: HoeffdingTree"),
        ("river:trees.HoeffdingTreeRegressor", "near it: HoeffdingTreeRegressor"),
        ("river:tree.LinearRegression", "has no such class; near it: LinearRegression"),
        ("river:", "has no such class; all its public modules"),
        ("river:StandardScaler", r"preprocessing.StandardScaler is neither a regressor nor a cl"),
        ("river:Regressor", "neither a regressor nor a classifier"),
        ("river:ISOUPTreeRegressor", "neither a regressor nor a classifier of one target"),
        ("river:BaggingRegressor", r"cannot be made without arguments \(model\)"),
        ("river:LogisticRegression", "is a classifier, and squared loss needs a regressor"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_runs(
    tmp_path: Path, name: str, told: str
) -> None:
    with pytest.raises(ConfigError, match=told):
        compared(tmp_path / "kept", FRIED, ["naive", name])
    assert not (tmp_path / "kept").exists()


def test_a_regressor_is_not_for_classes(tmp_path: Path) -> None:
    for loss in (Logistic(), Hinge()):
        with pytest.raises(ConfigError, match=f"is a regressor, and {loss.name} loss needs a cl"):
            compared(tmp_path, FRIED, ["river:AMRules"], settings=CommonSettings(loss=loss))


def test_a_missing_river_is_told_before_anything_runs() -> None:
    told = cli_without("river", "compare", FRIED, "-m", "naive,river:LinearRegression")
    assert "pip install 'chacha-automl[river]'" in told


def test_weights_are_learned_where_river_can(tmp_path: Path) -> None:
    name = lines(tmp_path / "w.vw", 120, lambda a, b: 2 * a + b, weight="2.5 ")
    methods = ["river:LinearRegression", "river:HoeffdingTreeRegressor"]
    found = compared(tmp_path / "kept", name, methods)
    linear = by_hand(made("linear_model.LinearRegression"), name, squared, w=2.5)
    tree = by_hand(made("tree.HoeffdingTreeRegressor"), name, squared, w=2.5)
    assert outcome(found, methods[0]).loss == pytest.approx(linear, rel=1e-12)
    assert outcome(found, methods[1]).loss == pytest.approx(tree, rel=1e-12)
    assert outcome(found, methods[0]).curve[-1].weight == 2.5 * 120
    assert linear != by_hand(made("linear_model.LinearRegression"), name, squared)


def test_weights_are_refused_where_river_cannot(tmp_path: Path) -> None:
    name = lines(tmp_path / "w.vw", 20, lambda a, b: 2 * a + b, weight="2.5 ")
    found = compared(tmp_path / "kept", name, ["naive", "river:KNNRegressor", "river:ARFRegressor"])
    assert list(found.outcomes[name]) == ["naive"], "the others finish"
    assert [str(failure) for failure in found.failures] == [
        f"{name}: {method}: {name}:1: {method} takes no importance weights, got weight 2.5; "
        "leave the method out"
        for method in ("river:KNNRegressor", "river:ARFRegressor")
    ]
    first = lines(tmp_path / "i.vw", 20, lambda a, b: 2 * a + b, weight="1 0.5 ")
    (failure,) = compared(tmp_path / "kept", first, ["river:LinearRegression"]).failures
    assert "takes no initial predictions, got 0.5" in failure.message


def test_what_has_no_weight_is_not_learned() -> None:
    learner = RiverLearner("river:LinearRegression", Squared(), 0)
    for _ in range(5):
        learner.learn(chacha.data.parse_line("9 0 |a x:2"))
    assert learner.predict(chacha.data.parse_line("|a x:2")) == 0.0
    assert len(learner._x) == 1


def mad(told: Any, classes: bool) -> type:
    """A model that always predicts the same, and needs no probabilities for that."""
    base = import_module("river.base")

    class Mad(base.Classifier if classes else base.Regressor):  # type: ignore[misc]
        def learn_one(self, x: Any, y: Any) -> None: ...

        def predict_one(self, x: Any) -> Any:
            return told

    return Mad


def alone(patch: pytest.MonkeyPatch, told: Any, loss: Loss) -> float:
    dummy = import_module("river.dummy")
    patch.setattr(dummy, "Mad", mad(told, isinstance(loss, (Logistic, Hinge))), raising=False)
    patch.setattr(dummy, "__all__", ["Mad"])
    return RiverLearner("river:dummy.Mad", loss, 0).predict(chacha.data.parse_line("1 |a x"))


@pytest.mark.parametrize("told", [math.nan, math.inf, -math.inf, None])
def test_what_is_not_finite_counts_as_zero(told: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    assert alone(monkeypatch, told, Squared()) == 0.0
    assert alone(monkeypatch, told, Poisson()) == math.log(LEAST_RATE)


def test_classes_without_probabilities(monkeypatch: pytest.MonkeyPatch) -> None:
    sure = math.log((1 - 1e-4) / 1e-4)
    assert alone(monkeypatch, True, Logistic()) == pytest.approx(sure, rel=1e-9)
    assert alone(monkeypatch, False, Logistic()) == pytest.approx(-sure, rel=1e-9)
    assert alone(monkeypatch, None, Logistic()) == 0.0
    assert [alone(monkeypatch, told, Hinge()) for told in (True, False, None)] == [1.0, -1.0, 0.0]


def test_a_model_that_cannot_be_made_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    dummy = import_module("river.dummy")

    class Broken(mad(0.0, classes=False)):  # type: ignore[misc]
        def __init__(self, depth: int = 3) -> None:
            raise RuntimeError("needs another Python")

    monkeypatch.setattr(dummy, "Broken", Broken, raising=False)
    monkeypatch.setattr(dummy, "__all__", ["Broken"])
    with pytest.raises(ConfigError, match="Broken cannot be made: needs another Python"):
        RiverLearner("river:Broken", Squared(), 0)


def test_seeds_matter_where_a_model_draws(tmp_path: Path) -> None:
    methods = ["river:HoeffdingTreeRegressor", "river:AMFRegressor"]
    found = compared(tmp_path, "synth:fried,n=60", methods, seeds=3)
    assert len(list(tmp_path.rglob("*.json"))) == 1 + 1 + 3, "a look, the tree, three forests"
    losses = [[o.loss for o in runs] for runs in found.outcomes["synth:fried,n=60"].values()]
    assert [len(set(each)) for each in losses] == [1, 3]


def test_what_is_kept_depends_on_the_version_of_river(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(river, "__version__", "0.0")
    assert find_river("river:LinearRegression").version == "0.0"
    compared(tmp_path, FRIED, ["river:LinearRegression"])
    monkeypatch.undo()
    compared(tmp_path, FRIED, ["river:LinearRegression"])
    assert len(list(tmp_path.rglob("*.json"))) == 1 + 2


class Last:
    """Predicts the label before."""

    def __init__(self, loss: Loss, seed: int) -> None:
        self.label = float(seed)

    def predict(self, example: Example) -> float:
        return self.label

    def learn(self, example: Example) -> None:
        self.label = example.label or 0.0

    def close(self) -> None: ...


def test_a_learner_of_ones_own_and_one_that_is_frozen(tmp_path: Path) -> None:
    make = method_named("naive").make
    own = Method("last", "", make, learner=Last)
    frozen = Method("first", "", make, learner=Last, learns=0.2)
    found = compared(tmp_path, FRIED, [own, frozen], first_seed=7)
    labels = [7.0, *(y for _, y, _ in examples(FRIED))]
    losses = [squared(p, y) for p, y in pairwise(labels)]
    assert outcome(found, "last").loss == sum(losses) / 250
    later = [squared(labels[50], y) for y in labels[51:]]
    assert outcome(found, "first").loss == pytest.approx(sum(later) / 200)


def test_on_the_command_line(tmp_path: Path) -> None:
    name = lines(tmp_path / "b.vw", 150, sign)
    methods = ["naive", "chacha", "river:LogisticRegression", "river:tree.HoeffdingTreeClassifier"]
    done = cli(
        *("compare", name, "--methods", ",".join(methods), "--seeds", "2", "--jobs", "1"),
        *("--cache", str(tmp_path / "kept"), "--json", str(tmp_path / "r.json")),
        *("--loss", "logistic", "--report", str(tmp_path / "r.html")),
    )
    head, *body = done.stdout.splitlines()[2:]
    assert head.split()[:3] == ["method", "loss", "accuracy"]
    assert [line.split()[0] for line in body] == methods
    rows = json.loads((tmp_path / "r.json").read_text())[name]
    assert list(rows) == methods
    assert all(len(row["metrics"]["accuracy"]) == 2 for row in rows.values())
    assert rows["river:LogisticRegression"]["promotions"] == 0
    page = (tmp_path / "r.html").read_text()
    assert "<th>accuracy</th>" in page
    assert "<td>StandardScaler | HoeffdingTreeClassifier</td>" in page
    assert "River&#x27;s LogisticRegression, its inputs scaled by" in page
