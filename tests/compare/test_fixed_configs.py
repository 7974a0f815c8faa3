"""Fixed configurations: all pairs, and the best of a grid."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import combinations, count, pairwise
from pathlib import Path
from random import Random
from typing import Any

import pytest

import chacha
from chacha import ChaCha, Config
from chacha.compare import METHODS, CommonSettings, CurvePoint, Method, Outcome, Stream
from chacha.compare.fixed_configs import MOST_PAIRS, RATES, all_pairs, rate_grid
from chacha.compare.jobs import Job, ProfileJob
from chacha.compare.result_cache import ResultCache
from chacha.errors import ConfigError
from chacha.source_profile import SourceProfile, profile_source
from chacha.sources import DictReader
from tests.support.command_line import cli
from tests.support.comparisons import compare, outcome

FRIED = "synth:fried,n=2000"
STREAM = "synth:interactions,n=800,seed=4"
FIXED = ["all-pairs", "best-fixed"]


def groups_of(name: str) -> tuple[str, ...]:
    return profile_source(chacha.open_source(name)).names


def run_alone(name: str, init: Mapping[str, Any], **settings: Any) -> ChaCha:
    model = ChaCha.paper(**{"budget": 1, "init": init, **settings})
    model.run(name)
    return model


def grid_losses(name: str, init: Mapping[str, Any]) -> dict[str, float]:
    """Return the loss of every configuration of the grid, each run alone."""
    initial = list(init.get("interactions", ()))
    losses = {}
    for products in (initial, initial + list(combinations(groups_of(name), 2))):
        for rate in (0.1, 0.2, 0.5, 1, 2, 5, 10):
            model = run_alone(
                name, {**init, "interactions": products, "learning_rate": float(rate)}
            )
            assert model.loss is not None
            losses[str(model.champion)] = model.loss
    assert len(losses) == 14
    return losses


@pytest.mark.parametrize("name", [FRIED, STREAM])
@pytest.mark.parametrize("init", [{}, {"learning_rate": 0.3, "l2": 1e-6}])
def test_all_pairs_is_one_model_with_every_pair(
    tmp_path: Path, name: str, init: dict[str, Any]
) -> None:
    result = outcome(
        compare(tmp_path, name, FIXED[:1], settings=CommonSettings(init=init)), "all-pairs"
    )
    pairs = list(combinations(groups_of(name), 2))
    model = run_alone(name, {**init, "interactions": pairs})
    assert result.loss == model.loss
    assert result.champion == str(model.champion) == str(Config(pairs, init))
    assert result.promotions == 0
    assert len(result.curve) == 200


@pytest.mark.parametrize("name", [FRIED, STREAM])
def test_best_fixed_is_the_least_of_the_grid(tmp_path: Path, name: str) -> None:
    settings = CommonSettings(init={"learning_rate": 0.3, "interactions": [("a", "a")]})
    methods = ["naive", *FIXED]
    comparison = compare(tmp_path, name, methods, settings=settings)
    losses = grid_losses(name, settings.init)
    best = outcome(comparison, "best-fixed")
    assert best.loss == min(losses.values())
    assert best.champion == min(losses, key=losses.__getitem__), "the champion is the best one"
    assert "aa" in best.champion, "the initial products stay"
    assert best.curve[-1].total / best.curve[-1].weight == best.loss
    assert "learning_rate 0.3" in outcome(comparison, "all-pairs").champion


def test_cpu_seconds_are_those_of_the_whole_grid(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = count()
    monkeypatch.setattr("chacha.compare.jobs.cpu_seconds", lambda: float(next(clock)))
    comparison = compare(tmp_path, STREAM, ["naive", *FIXED])
    assert outcome(comparison, "naive").cpu_seconds == 1.0
    assert outcome(comparison, "all-pairs").cpu_seconds == 1.0
    assert outcome(comparison, "best-fixed").cpu_seconds == 14.0


def test_a_loss_that_is_nan_is_not_the_best(monkeypatch: pytest.MonkeyPatch) -> None:
    losses = iter([float("nan"), 3.0, float("inf"), 2.0, float("nan")] + [4.0] * 9)

    def fake_pass(*_: object) -> Outcome:
        return Outcome(1, 0, "", 0.1, (CurvePoint(1, next(losses), 1.0),))

    monkeypatch.setattr(Job, "_pass", fake_pass)
    profile = SourceProfile(1, 0.0, 1.0, 2, ("a", "b"))
    assert (
        Job(Stream(STREAM), CommonSettings(), METHODS["best-fixed"], 0, profile)(print).loss == 2.0
    )


def test_the_grid_is_documented() -> None:
    assert "0.1, 0.2, 0.5, 1, 2, 5, 10" in METHODS["best-fixed"].about
    assert len(rate_grid(Config(), "abc")) == 2 * len(RATES)
    page = (Path(__file__).parents[2] / "docs" / "cli.md").read_text()
    assert "0.1, 0.2, 0.5, 1, 2, 5, 10" in page
    assert f"more than {MOST_PAIRS} pairs" in page


def test_the_space_does_not_matter(tmp_path: Path) -> None:
    """A fixed configuration may have a rate that is not in the space."""
    space = chacha.Space.of({"learning_rate": chacha.Choice(0.3, 0.5)})
    plain = compare(tmp_path, STREAM, FIXED)
    tuned = compare(tmp_path, STREAM, FIXED, settings=CommonSettings(space=space, budget=3))
    for method in FIXED:
        assert outcome(tuned, method).curve == outcome(plain, method).curve
    assert "learning_rate 0.5" in outcome(tuned, "all-pairs").champion, "the initial value"


def test_another_loss(tmp_path: Path) -> None:
    name = "synth:interactions,n=400,seed=4"
    loss = chacha.Quantile(0.2)
    comparison = compare(tmp_path, name, FIXED, settings=CommonSettings(loss=loss))
    pairs = list(combinations(groups_of(name), 2))
    assert (
        outcome(comparison, "all-pairs").loss
        == run_alone(name, {"interactions": pairs}, loss=loss).loss
    )
    rates = {
        run_alone(name, {"interactions": products, "learning_rate": rate}, loss=loss).loss
        for products in ([], pairs)
        for rate in RATES
    }
    assert outcome(comparison, "best-fixed").loss == min(loss for loss in rates if loss is not None)


def write_late_group(path: Path, first: int, last: int) -> Path:
    """Write lines of the groups a and b; the last of them also have c."""
    random = Random(3)
    with path.open("w") as file:
        for i in range(first + last):
            x, y, z = (random.choice("uvw") for _ in range(3))
            label = float(x == y) + (x == z) * (i >= first)
            file.write(f"{label} |a {x} |b {y}{f' |c {z}' if i >= first else ''}\n")
    return path


def test_a_group_that_starts_late(tmp_path: Path) -> None:
    name = str(write_late_group(tmp_path / "late.vw", 300, 300))
    comparison = compare(tmp_path / "cache", name, FIXED)
    best, pairs = outcome(comparison, "best-fixed"), outcome(comparison, "all-pairs")
    assert pairs.champion == "interactions ab, ac, bc"
    assert pairs.loss == run_alone(name, {"interactions": ["ab", "ac", "bc"]}).loss
    assert best.loss == min(grid_losses(name, {}).values())
    before = run_alone(
        str(write_late_group(tmp_path / "before.vw", 300, 0)), {"interactions": ["ab"]}
    ).served
    half = next(point for point in pairs.curve if point.n == 300)
    assert half.total == before.total, "before it starts, its products are empty"


def test_a_limit_and_one_group(tmp_path: Path) -> None:
    """Examples after the limit do not count; one group has no pair."""
    path = tmp_path / "one.vw"
    path.write_text("1 |a x\n" * 20 + "1 |a x |b y\n")
    comparison = compare(tmp_path / "cache", Stream(str(path), limit=20), ["naive", *FIXED])
    assert outcome(comparison, "all-pairs").champion == "no interactions"
    assert outcome(comparison, "all-pairs").curve == outcome(comparison, "naive").curve
    assert outcome(comparison, "best-fixed").champion.startswith("no interactions; learning_rate ")


def test_too_many_groups_are_refused_by_name(tmp_path: Path) -> None:
    assert len(all_pairs(Config(), [f"g{i}" for i in range(64)])[0].interactions) == 2016
    path = tmp_path / "wide.vw"
    path.write_text(("1 " + " ".join(f"|g{i} x" for i in range(65)) + "\n") * 3)
    stream = Stream(str(path))
    comparison = compare(tmp_path / "cache", stream, ["naive", *FIXED])
    assert list(comparison.outcomes[str(path)]) == ["naive"], "the others finish"
    assert [failure.method for failure in comparison.failures] == FIXED
    for failure in comparison.failures:
        assert "65 groups have 2080 pairs, more than 2016; put columns together" in str(failure)
        assert str(failure).count(str(path)) == 1
    content = ProfileJob(stream, chacha.Squared(), ResultCache(tmp_path / "cache"))(print)
    with pytest.raises(ConfigError, match=r"wide.vw: 65 groups have 2080 pairs.*leave all-pairs"):
        Job(stream, CommonSettings(), METHODS["all-pairs"], 0, content.profile)(print)


def test_seeds_do_not_matter(tmp_path: Path) -> None:
    comparison = compare(tmp_path / "a", STREAM, FIXED, seeds=3)
    assert len(list((tmp_path / "a").rglob("*.json"))) == 3, "a profile, and one run of each method"
    other = compare(tmp_path / "b", STREAM, FIXED, first_seed=17)
    for method in FIXED:
        assert len(comparison.outcomes[STREAM][method]) == 3
        assert outcome(comparison, method).curve == outcome(other, method).curve
    again = compare(tmp_path / "a", STREAM, FIXED, first_seed=5)
    assert outcome(again, "best-fixed") == outcome(comparison, "best-fixed"), (
        "cached, CPU seconds included"
    )


def test_a_cached_profile_has_the_names(tmp_path: Path) -> None:
    cache, stream = ResultCache(tmp_path), Stream(FRIED)
    task = ProfileJob(stream, chacha.Squared(), cache)
    first, again = task(print).profile, task(print).profile
    read = profile_source(stream.open(DictReader(), None))
    assert first.names == again.names == read.names == tuple("abcdefghij")
    assert first.groups == len(first.names)
    assert SourceProfile(1, 0.0, 1.0, 5).names == (), "they may be unknown"
    for path in tmp_path.rglob("*.json"):
        data = json.loads(path.read_text())
        del data["names"]
        path.write_text(json.dumps(data))
    assert task(print).profile.names == first.names, "it is profiled again"


def first_configs(initial: Config, groups: Sequence[str], most: int) -> list[Config]:
    return [initial, *(initial.with_product(pair) for pair in combinations(groups, 2))][:most]


def test_custom_fixed_configurations(tmp_path: Path) -> None:
    custom = Method("custom", "", METHODS["naive"].make, fixed=partial(first_configs, most=4))
    none = Method("none", "", METHODS["naive"].make, fixed=partial(first_configs, most=0))
    comparison = compare(tmp_path, STREAM, ["naive", custom, none], workers=1)
    assert [str(failure) for failure in comparison.failures] == [
        f"{STREAM}: none: the method none gives no configuration"
    ]
    losses = [run_alone(STREAM, {"interactions": [p]}).loss for p in ("ab", "ac", "ad")]
    least = min(loss for loss in losses if loss is not None)
    best = comparison.outcomes[STREAM]["custom"][0]
    assert best.loss == min(least, comparison.outcomes[STREAM]["naive"][0].loss)


def test_the_grid_reports_its_progress() -> None:
    shares: list[float] = []
    profile = profile_source(chacha.open_source(STREAM))
    Job(Stream(STREAM), CommonSettings(), METHODS["best-fixed"], 0, profile)(shares.append)
    assert shares == sorted(shares)
    assert shares[-1] == 1.0
    assert max(b - a for a, b in pairwise(shares)) < 0.01


def test_on_the_command_line(tmp_path: Path) -> None:
    words = ("compare", FRIED, "--methods", "naive,all-pairs,best-fixed", "--seeds", "2")
    done = cli(*words, "--cache", str(tmp_path / "cache"), "--json", str(tmp_path / "r.json"))
    names = [line.split()[0] for line in done.stdout.splitlines()[2:]]
    assert names == ["method", "mean", "naive", "all-pairs", "best-fixed"]
    rows = json.loads((tmp_path / "r.json").read_text())[FRIED]
    least = min(grid_losses(FRIED, {}).values())
    assert rows["best-fixed"]["loss"] == [least, least]
    assert rows["best-fixed"]["relative"] == least / rows["naive"]["loss"][0]
    assert rows["all-pairs"]["promotions"] == 0


def test_the_report_names_the_best_and_not_all_its_products(tmp_path: Path) -> None:
    report = pytest.importorskip("chacha.compare.html_report")
    name = str(write_late_group(tmp_path / "late.vw", 0, 400))
    pairs = CommonSettings(init={"interactions": [("a", "b", "c")]})
    comparison = compare(tmp_path / "cache", name, FIXED, settings=pairs)
    report.write_report(str(tmp_path / "r.html"), comparison, {"seeds": 1, "version": ""})
    text = (tmp_path / "r.html").read_text()
    assert "<td>interactions ab, ac, bc, abc</td>" in text
    assert f"<td>{outcome(comparison, 'best-fixed').champion}</td>" in text
    many = compare(tmp_path / "cache", "synth:fried,n=50", FIXED[:1])
    report.write_report(str(tmp_path / "m.html"), many, {"seeds": 1, "version": ""})
    assert "ai and 37 more</td>" in (tmp_path / "m.html").read_text()
