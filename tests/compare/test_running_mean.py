"""The method `mean`: the best constant for the labels so far, in every comparison."""

from __future__ import annotations

import json
import math
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from itertools import accumulate
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import chacha
from chacha import Example, TableSpec
from chacha.compare import METHODS, CommonSettings, Stream, method_scores
from chacha.compare.running_mean import MOST_LABELS, RunningQuantile, running_mean
from chacha.compare.runs import LabelsOnly
from chacha.losses import (
    LEAST_RATE,
    BinaryLoss,
    Hinge,
    Logistic,
    Loss,
    Poisson,
    Quantile,
    Squared,
)
from chacha.sources import Bad, Categories, LogLabels, LogTarget, OnBad, open_files
from chacha.tasks import task_of
from tests.support.command_line import cli
from tests.support.comparisons import compare, outcome

Labels = Sequence[tuple[float, float]]
LOSSES: list[Loss] = [Squared(), Poisson(), Logistic(), Hinge()]
LOSSES += [Quantile(0.2), Quantile(0.5), Quantile(0.9)]
WEIGHTS = st.one_of(st.just(1.0), st.integers(0, 40).map(lambda eighths: eighths / 8))
COUNTS = st.integers(0, 60).map(float)
NUMBERS = st.one_of(st.integers(-9, 9).map(float), st.floats(-1e6, 1e6, width=32))


def labels_for(loss: Loss) -> st.SearchStrategy[float]:
    if isinstance(loss, BinaryLoss):
        return st.sampled_from([-1.0, 1.0])
    return COUNTS if isinstance(loss, Poisson) else NUMBERS


def quantile(labels: Labels, tau: float) -> float:
    """Return the smallest label up to which there is enough weight."""
    ordered = sorted(each for each in labels if each[1] > 0)
    sums = list(accumulate(weight for _, weight in ordered))
    return ordered[bisect_left(sums, tau * sums[-1])][0] if ordered else 0.0


def expected(loss: Loss, labels: Labels) -> float:
    """Return the user's prediction after some labels, computed from all of them."""
    if isinstance(loss, BinaryLoss):
        ones = sum(weight for label, weight in labels if label > 0)
        rate = (ones + 0.5) / (sum(weight for _, weight in labels) + 1.0)
        return rate if isinstance(loss, Logistic) else math.copysign(rate != 0.5, rate - 0.5)
    if isinstance(loss, Quantile):
        return quantile(labels, loss.tau)
    weight = math.fsum(weight for _, weight in labels)
    mean = math.fsum(weight * label for label, weight in labels) / weight if weight else 0.0
    return max(mean, LEAST_RATE) if isinstance(loss, Poisson) else mean


def example(label: float, weight: float = 1.0) -> Example:
    return Example({}, "|", label, weight)


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.name)
@given(data=st.data())
def test_every_prediction_is_that_of_all_labels_before(loss: Loss, data: st.DataObject) -> None:
    labels = data.draw(st.lists(st.tuples(labels_for(loss), WEIGHTS), max_size=40))
    learner = running_mean(loss)
    for n in range(len(labels) + 1):
        served = loss.served(learner.predict(example(0.0)))
        assert served == pytest.approx(expected(loss, labels[:n]), rel=1e-9, abs=1e-9)
        if isinstance(loss, Quantile):
            assert served == expected(loss, labels[:n])
        if n < len(labels):
            learner.learn(example(*labels[n]))


def test_the_first_predictions() -> None:
    served = [loss.served(running_mean(loss).predict(example(0.0))) for loss in LOSSES]
    assert served == [0.0, pytest.approx(LEAST_RATE), 0.5, 0.0, 0.0, 0.0, 0.0]


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.name)
@given(data=st.data(), other=st.floats(-20, 20))
def test_no_constant_loses_less_on_the_labels_so_far(
    loss: Loss, data: st.DataObject, other: float
) -> None:
    """Of logistic loss up to the half example of each label that it begins with."""
    labels = data.draw(st.lists(labels_for(loss), min_size=1, max_size=30))
    if isinstance(loss, Poisson):
        labels = [1.0, *labels]
    learner = running_mean(loss)
    for label in labels:
        learner.learn(example(label))
    extra = [(-1.0, 0.5), (1.0, 0.5)] if isinstance(loss, Logistic) else []

    def total(raw: float) -> float:
        return sum(w * loss.loss(raw, y) for y, w in [*((y, 1.0) for y in labels), *extra])

    least = total(learner.predict(example(0.0)))
    assert least <= total(other) + 1e-9 * max(1.0, abs(least))


def test_a_rate_has_no_floor() -> None:
    learner = running_mean(Logistic())
    for _ in range(200_000):
        learner.learn(example(-1.0))
    assert Logistic().served(learner.predict(example(0.0))) == pytest.approx(0.5 / 200_001)
    learner.learn(example(1.0, 1e38))
    assert math.isfinite(learner.predict(example(0.0)))


def test_a_custom_loss_gets_the_mean() -> None:
    class Absolute(Squared):
        def loss(self, raw: float, y: float) -> float:
            return abs(raw - y)

    learner = running_mean(Absolute())
    learner.learn(example(3.0))
    assert learner.predict(example(0.0)) == 3.0


def rounded(label: float, bits: int) -> float:
    """Return a label with some significant bits, rounded towards 0."""
    if label == 0.0:
        return 0.0
    unit = 2.0 ** (math.floor(math.log2(abs(label))) + 1 - bits)
    return math.trunc(label / unit) * unit


@given(
    st.lists(st.tuples(st.integers(-120, 120).map(float), WEIGHTS), min_size=20, max_size=120),
    st.sampled_from([0.05, 0.5, 0.75]),
)
def test_with_many_labels_it_is_the_quantile_of_rounded_ones(labels: Labels, tau: float) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("chacha.compare.running_mean.MOST_LABELS", 16)
        learner = RunningQuantile(task_of(Quantile(tau)))  # type: ignore[arg-type]
        for n, (label, weight) in enumerate(labels, start=1):
            learner.learn(example(label, weight))
            short = [(rounded(y, learner.bits), w) for y, w in labels[:n]]
            assert learner.predict(example(0.0)) == quantile(short, tau)
            assert len({y for y, w in short if w > 0}) <= 16
    different = {label for label, weight in labels if weight > 0}
    assert (learner.bits < 53) == (len(different) > 16), "no label is rounded without need"


@pytest.mark.parametrize("tau", [0.1, 0.5, 0.9])
def test_thousands_of_labels_are_exact_and_more_of_them_nearly_so(tau: float) -> None:
    random = Random(3)
    learner, labels = running_mean(Quantile(tau)), list[float]()
    assert isinstance(learner, RunningQuantile)

    def learn_up_to(count: int) -> tuple[float, float]:
        while len(labels) < count:
            labels.append(random.gauss(0.0, 1.0))
            learner.learn(example(labels[-1]))
        weighted = [(label, 1.0) for label in labels]
        return learner.predict(example(0.0)), quantile(weighted, tau)

    predicted, exact = learn_up_to(MOST_LABELS)
    assert predicted == exact
    predicted, exact = learn_up_to(100_000)
    assert learner.bits == 9
    assert predicted == rounded(exact, 9)
    assert predicted == pytest.approx(exact, rel=1 / 256)
    loss = Quantile(tau).loss
    least = sum(loss(exact, label) for label in labels)
    assert sum(loss(predicted, label) for label in labels) < 1.00001 * least, "as documented"


def test_a_few_labels_are_exact_for_ever() -> None:
    learner = running_mean(Quantile(0.3))
    assert isinstance(learner, RunningQuantile)
    for i in range(20_000):
        learner.learn(example(0.1 * (i % 1000)))
    assert (learner.predict(example(0.0)), learner.bits) == (0.1 * 299, 53)


def write_lines(path: Path, labels: Labels) -> str:
    path.write_text("".join(f"{y} {w} |a x:{i % 7} |b y\n" for i, (y, w) in enumerate(labels)))
    return str(path)


def progressive_loss(loss: Loss, labels: Labels) -> float:
    """Return the mean loss of predicting from all labels before."""
    total = weights = 0.0
    for n, (label, weight) in enumerate(labels):
        charge = loss.loss(raw_of(loss, expected(loss, labels[:n])), label)
        total, weights = total + weight * charge, weights + weight
    return total / weights


def raw_of(loss: Loss, served: float) -> float:
    if isinstance(loss, Logistic):
        return math.log(served / (1 - served))
    return math.log(served) if isinstance(loss, Poisson) else served


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.name)
def test_the_loss_of_a_comparison(tmp_path: Path, loss: Loss) -> None:
    random, binary = Random(8), isinstance(loss, BinaryLoss)
    choices = [-1.0, 1.0, 1.0] if binary else [0.0, 1.0, 2.0, 3.0, 7.0]
    labels = [(random.choice(choices), random.choice([0.0, 0.5, 1.0, 2.0])) for _ in range(300)]
    name = write_lines(tmp_path / "w.vw", labels)
    result = outcome(
        compare(tmp_path / "cache", name, ["mean"], settings=CommonSettings(loss=loss)), "mean"
    )
    assert result.loss == pytest.approx(progressive_loss(loss, labels), rel=1e-9)
    assert (result.examples, result.promotions) == (300, 0)
    assert ("accuracy" in result.metrics) == binary
    champion = "share of label 1" if binary else "mean of the labels"
    champion = f"{loss.name} of the labels" if isinstance(loss, Quantile) else champion
    assert result.champion == champion


TABLE = "a,b,w,y\n" + "".join(
    f"{i % 7},{'rgb'[i % 3]},{1 + i % 2},{'' if i % 90 == 5 else i % 11}\n" for i in range(4000)
)


def pairs(rows: Iterable[Example | Bad]) -> list[Any]:
    return [str(row) if isinstance(row, Bad) else (row.label, row.weight) for row in rows]


@pytest.mark.parametrize("categories", list(Categories))
@pytest.mark.parametrize("shift", [None, 1.0])
def test_labels_only_are_those_of_the_rows(
    tmp_path: Path, categories: Categories, shift: float | None
) -> None:
    """With the same weights, the same bad rows, in the same places."""
    path, spec = tmp_path / "t.csv", TableSpec(weight="w", categories=categories)
    path.write_text(TABLE)
    text = tmp_path / "t.vw"
    text.write_text("1 |a x\n\nnan |a x\n2 0.5 |a x\n|a x\n")
    for name, table in ((path, spec), (text, TableSpec())):

        def opened() -> Any:
            source = open_files([name], table)  # noqa: B023
            return source if shift is None else LogLabels(source, shift)

        rows = pairs(opened())
        assert pairs(LabelsOnly(opened())) == rows
        assert any(isinstance(row, str) for row in rows)
        assert any(isinstance(row, tuple) and row[1] != 1.0 for row in rows)
    made = [e for e in LabelsOnly(open_files([path], spec)) if isinstance(e, Example)]
    assert sum(not e.groups for e in made) > 3000, "features are made of the first rows only"


def test_on_a_table_with_bad_rows_and_logarithms(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(TABLE.replace(",3\n", ",3000\n"))
    stream = Stream(
        *(str(path), TableSpec(weight="w"), None, LogTarget.AUTO, OnBad.SKIP), limit=2500
    )
    result = outcome(compare(tmp_path / "cache", stream, ["mean", "naive"]), "mean")
    rows = LogLabels(open_files([str(path)], TableSpec(weight="w")), 1.0)
    labels = [(e.label or 0.0, e.weight) for e in rows if isinstance(e, Example)][:2500]
    total = weights = mean = 0.0
    for label, weight in labels:
        total, weights = total + weight * (mean - label) ** 2, weights + weight
        mean += weight * (label - mean) / weights
    assert result.examples == 2500
    assert result.loss == pytest.approx(total / weights, rel=1e-9)


def test_initial_predictions_do_not_matter(tmp_path: Path) -> None:
    path = tmp_path / "i.vw"
    path.write_text("1 1 0.5 |a x\n3 1 0.25 |a x\n")
    assert outcome(compare(tmp_path / "cache", str(path), ["mean"]), "mean").loss == (1 + 4) / 2


def test_scores_of_the_others_are_what_they_are_without_it(tmp_path: Path) -> None:
    name = "synth:interactions,n=600,seed=4"
    methods = ["naive", "exhaustive", "paper", "offline"]
    plain = compare(tmp_path, name, methods, seeds=2).outcomes[name]
    more = compare(tmp_path, name, ["mean", *methods], seeds=2).outcomes[name]
    with_mean = method_scores(more)
    assert list(with_mean) == ["mean", *methods]
    assert {method: with_mean[method] for method in methods} == method_scores(plain)
    assert with_mean["mean"].relative == more["mean"][0].loss / more["naive"][0].loss


def test_it_is_in_every_comparison(tmp_path: Path) -> None:
    name = "synth:fried,n=300"
    report = tmp_path / "r.html"
    words = ("compare", name, "--seeds", "3", "--cache", str(tmp_path / "cache"), "--json")
    done = cli(*words, str(tmp_path / "r.json"), "-m", "naive", "--report", str(report))
    assert [line.split()[0] for line in done.stdout.splitlines()[2:]] == ["method", "mean", "naive"]
    rows = json.loads((tmp_path / "r.json").read_text())[name]
    labels = [(e.label or 0.0, 1.0) for e in chacha.open_source(name) if isinstance(e, Example)]
    assert rows["mean"]["loss"] == [pytest.approx(progressive_loss(Squared(), labels))] * 3
    page = report.read_text()
    assert "<td>mean</td>" in page
    assert "<td>mean of the labels</td>" in page
    assert "<dt>mean</dt><dd>the mean of the labels so far, without features" in page
    assert ">mean (off scale: " in page or ">mean</text>" in page, "in the legend"
    cached = {path: path.stat().st_mtime_ns for path in (tmp_path / "cache").rglob("*.json")}
    assert len(cached) == 3, "a profile, naive, and one run of mean for all seeds"
    again = json.loads(cli(*words, "-", "-m", "naive,mean").stdout)[name]
    assert list(again) == ["naive", "mean"], "where it is named, it stays"
    assert again["mean"] == rows["mean"], "cached, CPU seconds included"
    assert {path: path.stat().st_mtime_ns for path in cached} == cached
    alone = json.loads(cli(*words, "-", "-m", "mean", "-q").stdout)[name]
    assert alone["mean"]["loss"] == rows["mean"]["loss"]


def test_it_is_in_figures_with_a_style_of_its_own(tmp_path: Path) -> None:
    figures = pytest.importorskip("chacha.compare.figures")
    name = "synth:interactions,n=300"
    comparison = compare(tmp_path, name, ["mean", "naive"])
    axes = figures.curves_figure(comparison.outcomes).axes[0]
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["mean", "naive"]
    styles = [tuple(style.items()) for style in figures.STYLES.values()]
    assert len(set(styles)) == len(styles)


def test_the_methods_are_documented() -> None:
    page = (Path(__file__).parents[2] / "docs" / "cli.md").read_text()
    for method in METHODS:
        assert f"\n| `{method}` | " in page
    assert f"{MOST_LABELS} different labels" in page
