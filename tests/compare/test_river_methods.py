"""River's learners as methods: the losses of a loop written by hand, and what is refused."""

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
from chacha.compare import CommonSettings, Method, method_scores
from chacha.compare.methods import method_named
from chacha.compare.scores import table_lines, to_json
from chacha.errors import ConfigError
from chacha.losses import Hinge, Logistic, Loss, Poisson, Quantile
from tests.support.command_line import cli
from tests.support.comparisons import LastLabel, cli_without, compare, outcome

pytest.importorskip("river")
FRIED = "synth:fried,n=250"


def pipeline(path: str, **arguments: Any) -> Any:
    """Return StandardScaler | model, as a user of River writes it."""
    module, _, name = path.partition(".")
    model = getattr(import_module(f"river.{module}"), name)(**arguments)
    return import_module("river.preprocessing").StandardScaler() | model


def examples(name: str) -> Iterator[tuple[dict[str, float], float, float]]:
    """Yield dicts with a 0 for every earlier feature, labels and weights."""
    zeros: dict[str, float] = {}
    for example in chacha.open_source(name):
        assert isinstance(example, Example)
        assert example.label is not None
        x = {f"{g}^{f.name}": f.value for g, fs in example.groups.items() for f in fs}
        zeros.update(dict.fromkeys(x, 0.0))
        yield {**zeros, **x}, example.label, example.weight


def mean_loss(model: Any, name: str, loss: Callable[[float, float], float], **more: Any) -> float:
    """Return the mean loss of a regressor."""
    total = 0.0
    rows = list(examples(name))
    for x, y, _ in rows:
        total += loss(model.predict_one(x) or 0.0, y)
        model.learn_one(x, y, **more)
    return total / len(rows)


def squared(p: float, y: float) -> float:
    return (p - y) ** 2


def lines(path: Path, count: int, label: Callable[[float, float], float], weight: str = "") -> str:
    """Write VW text: two numbers, one often 0, a word, and in the second half a third number."""
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
    result = outcome(compare(tmp_path, FRIED, [method], first_seed=3), method)
    assert result.loss == mean_loss(pipeline(path, **arguments), FRIED, squared)
    assert result.metrics["mse"] == result.loss
    assert (result.examples, result.promotions, result.frozen) == (250, 0, 0)
    assert result.champion == f"StandardScaler | {path.partition('.')[2]}"
    assert result.cpu_seconds > 0
    assert len(result.curve) == 200
    assert result.curve[-1].n == 250


def test_an_absent_feature_is_0_after_its_first_occurrence(tmp_path: Path) -> None:
    """Words, zeros that are left out, and a column that starts late."""
    name = lines(tmp_path / "late.vw", 200, lambda a, b: 3 * a + b)
    for path in ("tree.HoeffdingTreeRegressor", "linear_model.LinearRegression"):
        result = outcome(compare(tmp_path / "cache", name, [f"river:{path}"]), f"river:{path}")
        assert result.loss == mean_loss(pipeline(path), name, squared)


@pytest.mark.parametrize(
    ("loss", "charge"),
    [
        (Quantile(0.9), lambda p, y: 0.9 * (y - p) if y >= p else (1 - 0.9) * (p - y)),
        (Poisson(), lambda p, y: Poisson().loss(math.log(max(p, 1e-4)), y)),
    ],
)
def test_other_losses_of_regressors(
    tmp_path: Path, loss: Loss, charge: Callable[[float, float], float]
) -> None:
    name = lines(tmp_path / "c.vw", 150, lambda a, b: float(round(3 * b)))
    comparison = compare(
        tmp_path, name, ["river:LinearRegression"], settings=CommonSettings(loss=loss)
    )
    expected = mean_loss(pipeline("linear_model.LinearRegression"), name, charge)
    assert outcome(comparison, "river:LinearRegression").loss == expected


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
    result = outcome(
        compare(tmp_path / "cache", name, [method], settings=CommonSettings(loss=Logistic())),
        method,
    )
    model, floor = pipeline(path, **arguments), Logistic().floor
    total, right = 0.0, 0
    for x, y, _ in examples(name):
        probabilities = model.predict_proba_one(x)
        p = probabilities.get(True, 0.0) if probabilities else 0.5
        p = min(max(p, floor), 1 - floor)
        total -= math.log(p if y > 0 else 1 - p)
        right += (p > 0.5) == (y > 0)
        model.learn_one(x, y > 0)
    assert result.loss == pytest.approx(total / 200, rel=1e-9)
    assert result.metrics["log_loss"] == result.loss
    assert result.metrics["accuracy"] == right / 200
    assert right > 120


def test_hinge_takes_two_p_minus_one(tmp_path: Path) -> None:
    name, method = lines(tmp_path / "b.vw", 100, sign), "river:LogisticRegression"
    comparison = compare(tmp_path / "cache", name, [method], settings=CommonSettings(loss=Hinge()))
    model, total = pipeline("linear_model.LogisticRegression"), 0.0
    for x, y, _ in examples(name):
        total += 1 - y * (2 * model.predict_proba_one(x)[True] - 1)
        model.learn_one(x, y > 0)
    assert outcome(comparison, method).loss == pytest.approx(total / 100, rel=1e-9)


def test_every_method_has_metrics(tmp_path: Path) -> None:
    name = lines(tmp_path / "b.vw", 150, sign)
    methods = ["naive", "chacha", "offline", "all-pairs", "river:LogisticRegression"]
    settings = CommonSettings(loss=Logistic())
    comparison = compare(tmp_path / "cache", name, methods, settings=settings, seeds=2)
    model = ChaCha.paper(budget=1, loss=Logistic())
    assert outcome(comparison, "naive").metrics == model.run(name).metrics
    scores = method_scores(comparison.outcomes[name])
    data = to_json(scores)
    assert [len(data[method]["metrics"]["accuracy"]) for method in methods] == [2] * 5
    frozen = outcome(comparison, "offline")
    assert frozen.metrics["log_loss"] == pytest.approx(frozen.loss), "over the charged examples"
    head, *body = table_lines(scores)
    assert head.split()[:3] == ["method", "loss", "accuracy"]
    assert f" {frozen.metrics['accuracy']:.4f} ± 0.0000 " in body[2]
    again = compare(tmp_path / "cache", name, methods, settings=settings, seeds=2)
    assert again.outcomes == comparison.outcomes, "they are cached"


def test_without_classes_there_is_no_accuracy(tmp_path: Path) -> None:
    scores = method_scores(compare(tmp_path, FRIED, ["naive"]).outcomes[FRIED])
    assert "accuracy" not in next(table_lines(scores))
    assert sorted(to_json(scores)["naive"]["metrics"]) == ["mae", "mse"]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("river:HoefdingTreeRegresor", r"similar: HoeffdingTreeRegressor, .*public modules are s"),
        ("river:hoeffdingtree", "similar: HoeffdingTree"),
        ("river:trees.HoeffdingTreeRegressor", "similar: HoeffdingTreeRegressor"),
        ("river:tree.LinearRegression", "has no such class; similar: LinearRegression"),
        ("river:", "has no such class; all its public modules"),
        ("river:StandardScaler", r"preprocessing.StandardScaler is neither a regressor nor a cl"),
        ("river:Regressor", "neither a regressor nor a classifier"),
        ("river:ISOUPTreeRegressor", "neither a regressor nor a classifier of one target"),
        ("river:BaggingRegressor", r"cannot be made without arguments \(model\)"),
        ("river:LogisticRegression", "is a classifier, and squared loss needs a regressor"),
    ],
)
def test_an_unusable_class_is_refused_before_anything_runs(
    tmp_path: Path, name: str, message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        compare(tmp_path / "cache", FRIED, ["naive", name])
    assert not (tmp_path / "cache").exists()


def test_a_regressor_is_not_for_classes(tmp_path: Path) -> None:
    for loss in (Logistic(), Hinge()):
        with pytest.raises(ConfigError, match=f"is a regressor, and {loss.name} loss needs a cl"):
            compare(tmp_path, FRIED, ["river:AMRules"], settings=CommonSettings(loss=loss))


def test_a_missing_river_is_reported_before_anything_runs() -> None:
    error = cli_without("river", "compare", FRIED, "-m", "naive,river:LinearRegression")
    assert "pip install 'chacha-automl[river]'" in error


def test_weights_are_learned_where_river_can(tmp_path: Path) -> None:
    name = lines(tmp_path / "w.vw", 120, lambda a, b: 2 * a + b, weight="2.5 ")
    methods = ["river:LinearRegression", "river:HoeffdingTreeRegressor"]
    comparison = compare(tmp_path / "cache", name, methods)
    linear = mean_loss(pipeline("linear_model.LinearRegression"), name, squared, w=2.5)
    tree = mean_loss(pipeline("tree.HoeffdingTreeRegressor"), name, squared, w=2.5)
    assert outcome(comparison, methods[0]).loss == pytest.approx(linear, rel=1e-12)
    assert outcome(comparison, methods[1]).loss == pytest.approx(tree, rel=1e-12)
    assert outcome(comparison, methods[0]).curve[-1].weight == 2.5 * 120
    assert linear != mean_loss(pipeline("linear_model.LinearRegression"), name, squared)


def test_weights_are_refused_where_river_cannot(tmp_path: Path) -> None:
    name = lines(tmp_path / "w.vw", 20, lambda a, b: 2 * a + b, weight="2.5 ")
    comparison = compare(
        tmp_path / "cache", name, ["naive", "river:KNNRegressor", "river:ARFRegressor"]
    )
    assert list(comparison.outcomes[name]) == ["naive"], "the others finish"
    assert [str(failure) for failure in comparison.failures] == [
        f"{name}: {method}: {name}:1: {method} takes no importance weights, got weight 2.5; "
        "choose another learner"
        for method in ("river:KNNRegressor", "river:ARFRegressor")
    ]
    first = lines(tmp_path / "i.vw", 20, lambda a, b: 2 * a + b, weight="1 0.5 ")
    (failure,) = compare(tmp_path / "cache", first, ["river:LinearRegression"]).failures
    assert "takes no initial predictions, got 0.5" in failure.message


def test_seeds_matter_where_a_model_draws(tmp_path: Path) -> None:
    methods = ["river:HoeffdingTreeRegressor", "river:AMFRegressor"]
    comparison = compare(tmp_path, "synth:fried,n=60", methods, seeds=3)
    assert len(list(tmp_path.rglob("*.json"))) == 1 + 1 + 3, "a profile, the tree, three forests"
    losses = [[o.loss for o in runs] for runs in comparison.outcomes["synth:fried,n=60"].values()]
    assert [len(set(each)) for each in losses] == [1, 3]


def test_the_cache_key_depends_on_the_version_of_river(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("chacha.pools.river.VERSION", "0.0")
    assert method_named("river:LinearRegression").version == "river 0.0"
    compare(tmp_path, FRIED, ["river:LinearRegression"])
    monkeypatch.undo()
    compare(tmp_path, FRIED, ["river:LinearRegression"])
    assert len(list(tmp_path.rglob("*.json"))) == 1 + 2


def test_a_custom_learner_and_one_that_is_frozen(tmp_path: Path) -> None:
    make = method_named("naive").make
    custom = Method("last", "", make, learner=LastLabel)
    frozen = Method("first", "", make, learner=LastLabel, train_share=0.2)
    comparison = compare(tmp_path, FRIED, [custom, frozen], first_seed=7)
    labels = [7.0, *(y for _, y, _ in examples(FRIED))]
    losses = [squared(p, y) for p, y in pairwise(labels)]
    assert outcome(comparison, "last").loss == sum(losses) / 250
    later = [squared(labels[50], y) for y in labels[51:]]
    assert outcome(comparison, "first").loss == pytest.approx(sum(later) / 200)


def test_on_the_command_line(tmp_path: Path) -> None:
    name = lines(tmp_path / "b.vw", 150, sign)
    methods = ["naive", "chacha", "river:LogisticRegression", "river:tree.HoeffdingTreeClassifier"]
    done = cli(
        *("compare", name, "--methods", ",".join(methods), "--seeds", "2", "--jobs", "1"),
        *("--cache", str(tmp_path / "cache"), "--json", str(tmp_path / "r.json")),
        *("--loss", "logistic", "--report", str(tmp_path / "r.html")),
    )
    head, *body = done.stdout.splitlines()[2:]
    assert head.split()[:3] == ["method", "loss", "accuracy"]
    assert [line.split()[0] for line in body] == ["mean", *methods]
    rows = json.loads((tmp_path / "r.json").read_text())[name]
    assert list(rows) == ["mean", *methods]
    assert all(len(row["metrics"]["accuracy"]) == 2 for row in rows.values())
    assert rows["river:LogisticRegression"]["promotions"] == 0
    page = (tmp_path / "r.html").read_text()
    assert "<th>accuracy</th>" in page
    assert "<td>StandardScaler | HoeffdingTreeClassifier</td>" in page
    assert "River&#x27;s LogisticRegression, its inputs scaled by" in page
