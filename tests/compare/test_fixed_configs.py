"""What a user gets without tuning: all pairs, and the best of a grid of fixed configurations."""

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
from chacha.compare import METHODS, CommonSettings, Method, Outcome, Point, Stream
from chacha.compare.fixed_configs import MOST_PAIRS, RATES, all_pairs, rate_grid
from chacha.compare.jobs import Job, LookAt
from chacha.compare.result_cache import Kept
from chacha.errors import ConfigError
from chacha.source_profile import SourceProfile, profile_source
from chacha.sources import DictReader
from tests.support.command_line import cli
from tests.support.comparing import compared, outcome

FRIED = "synth:fried,n=2000"
STREAM = "synth:interactions,n=800,seed=4"
FIXED = ["all-pairs", "best-fixed"]


def groups_of(name: str) -> tuple[str, ...]:
    return profile_source(chacha.open_source(name)).names


def alone(name: str, init: Mapping[str, Any], **more: Any) -> ChaCha:
    model = ChaCha.paper(**{"budget": 1, "init": init, **more})
    model.run(name)
    return model


def grid_by_hand(name: str, init: Mapping[str, Any]) -> dict[str, float]:
    """The loss of every configuration of the grid, each run alone."""
    given = list(init.get("interactions", ()))
    losses = {}
    for products in (given, given + list(combinations(groups_of(name), 2))):
        for rate in (0.1, 0.2, 0.5, 1, 2, 5, 10):
            model = alone(name, {**init, "interactions": products, "learning_rate": float(rate)})
            assert model.loss is not None
            losses[str(model.champion)] = model.loss
    assert len(losses) == 14
    return losses


@pytest.mark.parametrize("name", [FRIED, STREAM])
@pytest.mark.parametrize("init", [{}, {"learning_rate": 0.3, "l2": 1e-6}])
def test_all_pairs_is_one_model_with_every_pair(
    tmp_path: Path, name: str, init: dict[str, Any]
) -> None:
    found = outcome(
        compared(tmp_path, name, FIXED[:1], settings=CommonSettings(init=init)), "all-pairs"
    )
    pairs = list(combinations(groups_of(name), 2))
    model = alone(name, {**init, "interactions": pairs})
    assert found.loss == model.loss
    assert found.champion == str(model.champion) == str(Config(pairs, init))
    assert found.promotions == 0
    assert len(found.curve) == 200


@pytest.mark.parametrize("name", [FRIED, STREAM])
def test_best_fixed_is_the_least_of_the_grid(tmp_path: Path, name: str) -> None:
    settings = CommonSettings(init={"learning_rate": 0.3, "interactions": [("a", "a")]})
    methods = ["naive", *FIXED]
    found = compared(tmp_path, name, methods, settings=settings)
    losses = grid_by_hand(name, settings.init)
    best = outcome(found, "best-fixed")
    assert best.loss == min(losses.values())
    assert best.champion == min(losses, key=losses.__getitem__), "it names the one that won"
    assert "aa" in best.champion, "what the user gave stays"
    assert best.curve[-1].total / best.curve[-1].weight == best.loss
    assert "learning_rate 0.3" in outcome(found, "all-pairs").champion


def test_its_cpu_seconds_are_those_of_the_whole_grid(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = count()
    monkeypatch.setattr("chacha.compare.jobs.cpu_seconds", lambda: float(next(clock)))
    found = compared(tmp_path, STREAM, ["naive", *FIXED])
    assert outcome(found, "naive").cpu_seconds == 1.0
    assert outcome(found, "all-pairs").cpu_seconds == 1.0
    assert outcome(found, "best-fixed").cpu_seconds == 14.0


def test_what_is_no_number_is_not_the_best(monkeypatch: pytest.MonkeyPatch) -> None:
    losses = iter([float("nan"), 3.0, float("inf"), 2.0, float("nan")] + [4.0] * 9)

    def passed(*_: object) -> Outcome:
        return Outcome(1, 0, "", 0.1, (Point(1, next(losses), 1.0),))

    monkeypatch.setattr(Job, "_pass", passed)
    looked = SourceProfile(1, 0.0, 1.0, 2, ("a", "b"))
    assert (
        Job(Stream(STREAM), CommonSettings(), METHODS["best-fixed"], 0, looked)(print).loss == 2.0
    )


def test_the_grid_is_told() -> None:
    assert "0.1, 0.2, 0.5, 1, 2, 5, 10" in METHODS["best-fixed"].about
    assert len(rate_grid(Config(), "abc")) == 2 * len(RATES)
    page = (Path(__file__).parents[2] / "docs" / "cli.md").read_text()
    assert "0.1, 0.2, 0.5, 1, 2, 5, 10" in page
    assert f"more than {MOST_PAIRS} pairs" in page


def test_what_is_tuned_does_not_matter(tmp_path: Path) -> None:
    """Nothing is tuned in a fixed configuration; rates that the space does not offer are fine."""
    space = chacha.Space.of({"learning_rate": chacha.Choice(0.3, 0.5)})
    plain = compared(tmp_path, STREAM, FIXED)
    tuned = compared(tmp_path, STREAM, FIXED, settings=CommonSettings(space=space, budget=3))
    for method in FIXED:
        assert outcome(tuned, method).curve == outcome(plain, method).curve
    assert "learning_rate 0.5" in outcome(tuned, "all-pairs").champion, "the initial value"


def test_another_loss(tmp_path: Path) -> None:
    name = "synth:interactions,n=400,seed=4"
    loss = chacha.Quantile(0.2)
    found = compared(tmp_path, name, FIXED, settings=CommonSettings(loss=loss))
    pairs = list(combinations(groups_of(name), 2))
    assert outcome(found, "all-pairs").loss == alone(name, {"interactions": pairs}, loss=loss).loss
    rates = {
        alone(name, {"interactions": products, "learning_rate": rate}, loss=loss).loss
        for products in ([], pairs)
        for rate in RATES
    }
    assert outcome(found, "best-fixed").loss == min(loss for loss in rates if loss is not None)


def late(path: Path, first: int, last: int) -> Path:
    """Lines of the groups a and b; of c too in the last of them."""
    random = Random(3)
    with path.open("w") as file:
        for i in range(first + last):
            x, y, z = (random.choice("uvw") for _ in range(3))
            label = float(x == y) + (x == z) * (i >= first)
            file.write(f"{label} |a {x} |b {y}{f' |c {z}' if i >= first else ''}\n")
    return path


def test_a_group_that_comes_late(tmp_path: Path) -> None:
    name = str(late(tmp_path / "late.vw", 300, 300))
    found = compared(tmp_path / "kept", name, FIXED)
    best, pairs = outcome(found, "best-fixed"), outcome(found, "all-pairs")
    assert pairs.champion == "interactions ab, ac, bc"
    assert pairs.loss == alone(name, {"interactions": ["ab", "ac", "bc"]}).loss
    assert best.loss == min(grid_by_hand(name, {}).values())
    before = alone(str(late(tmp_path / "before.vw", 300, 0)), {"interactions": ["ab"]}).served
    half = next(point for point in pairs.curve if point.n == 300)
    assert half.total == before.total, "until it comes its products are empty"


def test_a_limit_and_one_group(tmp_path: Path) -> None:
    """What comes after the limit has no say; of one group there is no pair."""
    path = tmp_path / "one.vw"
    path.write_text("1 |a x\n" * 20 + "1 |a x |b y\n")
    found = compared(tmp_path / "kept", Stream(str(path), limit=20), ["naive", *FIXED])
    assert outcome(found, "all-pairs").champion == "no interactions"
    assert outcome(found, "all-pairs").curve == outcome(found, "naive").curve
    assert outcome(found, "best-fixed").champion.startswith("no interactions; learning_rate ")


def test_too_many_groups_are_refused_by_name(tmp_path: Path) -> None:
    assert len(all_pairs(Config(), [f"g{i}" for i in range(63)])[0].interactions) == 1953
    path = tmp_path / "wide.vw"
    path.write_text(("1 " + " ".join(f"|g{i} x" for i in range(64)) + "\n") * 3)
    stream = Stream(str(path))
    found = compared(tmp_path / "kept", stream, ["naive", *FIXED])
    assert list(found.outcomes[str(path)]) == ["naive"], "the others finish"
    assert [failure.method for failure in found.failures] == FIXED
    for failure in found.failures:
        assert "64 groups have 2016 pairs, more than 2000; put columns together" in str(failure)
        assert str(failure).count(str(path)) == 1
    look = LookAt(stream, chacha.Squared(), Kept(tmp_path / "kept"))(print)
    with pytest.raises(ConfigError, match=r"wide.vw: 64 groups have 2016 pairs.*leave all-pairs"):
        Job(stream, CommonSettings(), METHODS["all-pairs"], 0, look.profile)(print)


def test_seeds_do_not_matter(tmp_path: Path) -> None:
    found = compared(tmp_path / "a", STREAM, FIXED, seeds=3)
    assert len(list((tmp_path / "a").rglob("*.json"))) == 3, "a look, and one run of each method"
    other = compared(tmp_path / "b", STREAM, FIXED, first_seed=17)
    for method in FIXED:
        assert len(found.outcomes[STREAM][method]) == 3
        assert outcome(found, method).curve == outcome(other, method).curve
    again = compared(tmp_path / "a", STREAM, FIXED, first_seed=5)
    assert outcome(again, "best-fixed") == outcome(found, "best-fixed"), "kept, CPU seconds and all"


def test_a_look_keeps_the_names(tmp_path: Path) -> None:
    kept, stream = Kept(tmp_path), Stream(FRIED)
    task = LookAt(stream, chacha.Squared(), kept)
    first, again = task(print).profile, task(print).profile
    read = profile_source(stream.open(DictReader(), None))
    assert first.names == again.names == read.names == tuple("abcdefghij")
    assert first.groups == len(first.names)
    assert SourceProfile(1, 0.0, 1.0, 5).names == (), "they need not be known"
    for path in tmp_path.rglob("*.json"):
        data = json.loads(path.read_text())
        del data["names"]
        path.write_text(json.dumps(data))
    assert task(print).profile.names == first.names, "it looks anew"


def only_first(initial: Config, groups: Sequence[str], most: int) -> list[Config]:
    return [initial, *(initial.with_product(pair) for pair in combinations(groups, 2))][:most]


def test_fixed_configurations_of_ones_own(tmp_path: Path) -> None:
    own = Method("own", "", METHODS["naive"].make, fixed=partial(only_first, most=4))
    none = Method("none", "", METHODS["naive"].make, fixed=partial(only_first, most=0))
    found = compared(tmp_path, STREAM, ["naive", own, none], workers=1)
    assert [str(failure) for failure in found.failures] == [
        f"{STREAM}: none: the method none gives no configuration"
    ]
    losses = [alone(STREAM, {"interactions": [p]}).loss for p in ("ab", "ac", "ad")]
    least = min(loss for loss in losses if loss is not None)
    mine = found.outcomes[STREAM]["own"][0]
    assert mine.loss == min(least, found.outcomes[STREAM]["naive"][0].loss)


def test_it_tells_how_far_the_grid_is() -> None:
    shares: list[float] = []
    looked = profile_source(chacha.open_source(STREAM))
    Job(Stream(STREAM), CommonSettings(), METHODS["best-fixed"], 0, looked)(shares.append)
    assert shares == sorted(shares)
    assert shares[-1] == 1.0
    assert max(b - a for a, b in pairwise(shares)) < 0.01


def test_on_the_command_line(tmp_path: Path) -> None:
    words = ("compare", FRIED, "--methods", "naive,all-pairs,best-fixed", "--seeds", "2")
    done = cli(*words, "--cache", str(tmp_path / "kept"), "--json", str(tmp_path / "r.json"))
    names = [line.split()[0] for line in done.stdout.splitlines()[2:]]
    assert names == ["method", "naive", "all-pairs", "best-fixed"]
    rows = json.loads((tmp_path / "r.json").read_text())[FRIED]
    least = min(grid_by_hand(FRIED, {}).values())
    assert rows["best-fixed"]["loss"] == [least, least]
    assert rows["best-fixed"]["relative"] == least / rows["naive"]["loss"][0]
    assert rows["all-pairs"]["promotions"] == 0


def test_the_page_names_the_best_and_not_all_its_products(tmp_path: Path) -> None:
    page = pytest.importorskip("chacha.compare.html_report")
    name = str(late(tmp_path / "late.vw", 0, 400))
    pairs = CommonSettings(init={"interactions": [("a", "b", "c")]})
    found = compared(tmp_path / "kept", name, FIXED, settings=pairs)
    page.write_report(str(tmp_path / "r.html"), found, {"seeds": 1, "version": ""})
    text = (tmp_path / "r.html").read_text()
    assert "<td>interactions ab, ac, bc, abc</td>" in text
    assert f"<td>{outcome(found, 'best-fixed').champion}</td>" in text
    many = compared(tmp_path / "kept", "synth:fried,n=50", FIXED[:1])
    page.write_report(str(tmp_path / "m.html"), many, {"seeds": 1, "version": ""})
    assert "ai and 37 more</td>" in (tmp_path / "m.html").read_text()
