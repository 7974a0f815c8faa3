"""Champions whose labels are scaled, as VW models of the labels as they are."""

from __future__ import annotations

import json
import random
import shlex
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import vowpalwabbit

import chacha
from chacha import ChaCha, Config, ContestRules, NativePool, Quantile, Squared
from chacha.data.label_map import LabelMap
from chacha.data.text_parser import parse_line
from chacha.data.vw_text import show_exactly
from chacha.errors import PoolError
from chacha.losses import Loss
from chacha.rules.contest import Scaling
from chacha.vw.model_file import read_vw_model
from tests.support.command_line import cli

STEP = 2.0**-24  # half the distance of two neighbours in float32, relative to them
AS_READ = ContestRules(scaling=None)


class OwnLoss(Squared):
    """A loss that the engine does not know: all is done in Python."""


MODELS: dict[str, Callable[..., ChaCha]] = {
    "engine": ChaCha,
    "engine, quantile": lambda **more: ChaCha(loss=Quantile(0.7), **more),
    "Python": lambda **more: ChaCha(loss=OwnLoss(), **more),
    "VW": lambda **more: ChaCha(pool=chacha.open_pool("vw"), **more),
    "VW, quantile": lambda **more: ChaCha(pool=chacha.open_pool("vw"), loss=Quantile(0.7), **more),
}
EACH = pytest.mark.parametrize("make", MODELS.values(), ids=MODELS.keys())
pytestmark = pytest.mark.filterwarnings("ignore::chacha.drivers.SlowPathWarning")


def workspace(*words: str) -> Any:
    return vowpalwabbit.Workspace(arg_list=["--quiet", "--no_stdin", *words])


def lines(count: int, seed: int, shift: float, scale: float, wide: bool = False) -> Iterator[str]:
    """A stream with a curve, a product and words; if `wide`, the first labels are far apart."""
    rng = random.Random(seed)
    for i in range(count):
        x, k = rng.gauss(0, 1), rng.randrange(5)
        z = x * (1 + 0.5 * (k == 2)) + 0.3 * k + rng.gauss(0, 0.3)
        if wide and i < 2:
            z, x = (14.0, 0.1) if (i == 0) == (shift >= 0) else (-14.0, 0.1)
        label = show_exactly(shift + scale * z)[0]
        weight = " 0.5" if i % 9 == 8 else ""
        yield f"{label}{weight} |a x:{x:.5f} |b k{k} |c u:{rng.random():.4f} w{rng.randrange(30)}"


def says(model: ChaCha, line: str) -> float:
    """What the champion predicts; what is served may be a blend."""
    return model._driver.predict(parse_line(line)).raw[model.champion]


def label_map(model: ChaCha) -> LabelMap:
    label_map = model._driver.label_map()
    assert label_map is not None
    return label_map


def near(model: ChaCha, line: str, roundings: float) -> Any:
    """What the champion predicts, give or take some roundings of numbers of that size."""
    known = label_map(model)
    size = abs(known.shift) + 2 * known.scale
    return pytest.approx(says(model, line), rel=0, abs=roundings * STEP * size)


@EACH
@pytest.mark.parametrize(
    ("shift", "scale"), [(0.0, 1.0), (5e5, 4e4), (-3e-7, 2e-8), (20.0, 1e6), (7e9, 1e7)]
)
def test_vw_predicts_and_goes_on(
    make: Callable[..., ChaCha], shift: float, scale: float, tmp_path: Path
) -> None:
    path = tmp_path / "m.vw"
    model = make(budget=1, space={}, init={"interactions": ["ab"], "learning_rate": 0.25})
    for line in lines(300, 1, shift, scale):
        model.learn_one(line)
    assert label_map(model).scale == pytest.approx(1.2 * scale, rel=0.5)
    model.to_vw(path)
    assert [p.name for p in tmp_path.iterdir()] == ["m.vw"]
    still, vw = workspace("-t", "-i", str(path)), workspace("-i", str(path))
    for line in lines(60, 2, shift, scale):
        body = line[line.index("|") :]
        assert still.predict(body) == near(model, body, 32)
    for line in lines(200, 3, shift, scale):
        body = line[line.index("|") :]
        assert vw.predict(body) == near(model, body, 512)
        model.learn_one(line)
        vw.learn(line)
    still.finish()
    vw.finish()


@EACH
def test_exactly_if_there_is_no_shift_and_the_scale_is_a_power_of_two(
    make: Callable[..., ChaCha], tmp_path: Path
) -> None:
    """Two labels show the scale: they are as far from 0 on either side."""
    path = tmp_path / "m.vw"
    rules = ContestRules(scaling=Scaling(rows=2))
    model = make(budget=1, space={}, init={"interactions": ["ab"]}, rules=rules)
    for line in ["-4 |a x", "4 |a x", *lines(300, 1, 0.0, 4.0)]:
        model.learn_one(line)
    assert label_map(model) == LabelMap(0.0, 4.0)
    model.to_vw(path)
    again = ChaCha.from_vw(path, budget=1, space={})
    assert again.champion == model.champion.with_values(learning_rate=2.0)
    vw = workspace("-i", str(path))
    for line in lines(200, 3, 0.0, 4.0):
        body = line[line.index("|") :]
        assert vw.predict(body) == again.predict_one(body) == says(model, body)
        for each in (model.learn_one, again.learn_one, vw.learn):
            each(line)
    vw.finish()


def test_a_champion_that_was_found(tmp_path: Path) -> None:
    """Copies have the map of their source; the champion is not the model that began."""
    path = tmp_path / "m.vw"
    model = ChaCha(seed=1)
    for line in lines(6000, 1, 1e5, 500.0):
        model.learn_one(line)
    assert model.promotions > 0
    model.to_vw(path)
    vw, again = workspace("-i", str(path)), ChaCha.from_vw(path)
    assert again.rules.scaling is None  # type: ignore[union-attr]
    for line in lines(100, 3, 1e5, 500.0):
        body = line[line.index("|") :]
        assert vw.predict(body) == near(model, body, 64)
        assert vw.predict(body) == says(again, body)
    for line in lines(100, 4, 1e5, 500.0):
        assert vw.predict(line) == says(again, line)
        vw.learn(line)
        again.learn_one(line)
    vw.finish()


@EACH
@pytest.mark.parametrize(("shift", "scale"), [(100.0, 5.0), (-3.0, 0.2)])
def test_the_command_line_is_the_champion_from_scratch(
    make: Callable[..., ChaCha], shift: float, scale: float
) -> None:
    """Once the label ranges are the same; VW's is that of all labels from the first row on."""
    model = make(budget=1, space={}, init={"interactions": ["ab"], "power_t": 0.4})
    stream = list(lines(400, 1, shift, scale, wide=True))
    for line in stream[:100]:
        model.learn_one(line)
    args = model.summary().vw_args
    assert args is not None
    assert f"same as: vw {args}" in str(model.summary()).splitlines()
    assert f"--constant {shift:g}" not in args, "it is the median of labels"
    vw = workspace(*shlex.split(args))
    for line in stream[:100]:
        vw.learn(line)
    for line in stream[100:]:
        body = line[line.index("|") :]
        known = label_map(model)
        size = abs(known.shift) + 14 * known.scale  # of the first two labels
        assert vw.predict(body) == pytest.approx(says(model, body), rel=0, abs=512 * STEP * size)
        vw.learn(line)
        model.learn_one(line)
    vw.finish()


@EACH
def test_the_command_line_predicts_within_the_labels(make: Callable[..., ChaCha]) -> None:
    """Labels are far from 0, where VW's own range begins, and a line leads below all of them."""
    rng = random.Random(1)
    features = [rng.expovariate(1) for _ in range(400)]
    labels = [1000 + 3 * min(1 / (x + 0.1), 3) + rng.gauss(0, 0.1) for x in features]
    model = make(budget=1, space={})
    for x, y in zip(features, labels, strict=True):
        model.learn_one(f"{y!r} |a x:{x!r}")
    args = model.summary().vw_args
    assert args is not None
    vw, scale = workspace(*shlex.split(args)), label_map(model).scale
    for x, y in zip(features, labels, strict=True):
        vw.learn(f"{y!r} |a x:{x!r}")
    for x in (0.01, 0.1, 1.0, 3.0, 6.0, 10.0, 20.0):
        line = f"|a x:{x}"
        assert vw.predict(line) == pytest.approx(says(model, line), abs=0.1 * scale)
    assert vw.predict("|a x:20") == pytest.approx(min(labels), abs=1e-3 * scale)
    vw.finish()


@pytest.mark.parametrize("make", [MODELS["engine"], MODELS["Python"]], ids=["engine", "Python"])
def test_initial_predictions(make: Callable[..., ChaCha], tmp_path: Path) -> None:
    """VW clips the sum with the initial prediction, the champion what it adds to it."""
    rng, path = random.Random(1), tmp_path / "m.vw"

    def line(label: bool = True) -> str:
        base, x = rng.choice([1000, 3000]), rng.random()
        head = f"{base + 5 * x:.4f} 1 {base}" if label else f"0 1 {base}"
        return f"{head} |a x:{x:.4f}"

    model = make(budget=1, space={})
    for _ in range(300):
        model.learn_one(line())
    model.to_vw(path)
    state = read_vw_model(path).state
    assert state.low <= 1001
    assert state.high >= 3004
    still = workspace("-t", "-i", str(path))
    for _ in range(50):
        text = line(label=False)
        assert still.predict(text) == pytest.approx(says(model, text), abs=1e-2)
    still.finish()


@pytest.mark.parametrize("rules", [AS_READ, chacha.PaperRules()], ids=["as read", "paper"])
def test_labels_that_are_not_scaled_are_written_as_ever(
    rules: ContestRules | chacha.PaperRules, tmp_path: Path
) -> None:
    init = {"interactions": ["ab"], "l1": 1e-6, "l2": 1e-6, "noconstant": True}
    model, pool = ChaCha(budget=1, space={}, init=init, rules=rules), NativePool()
    pool.start(model.champion)
    for line in lines(200, 1, 50.0, 3.0):
        model.learn_one(line)
        pool.learn(parse_line(line))
    model.to_vw(tmp_path / "m.vw")
    pool.to_vw(model.champion, tmp_path / "other.vw")
    assert (tmp_path / "m.vw").read_bytes() == (tmp_path / "other.vw").read_bytes()
    assert read_vw_model(tmp_path / "m.vw").config == model.champion
    assert model.summary().vw_args == model.champion.vw_args()


@EACH
def test_models_that_have_learned_nothing(make: Callable[..., ChaCha], tmp_path: Path) -> None:
    path = tmp_path / "m.vw"
    model = make(budget=1, space={})
    model.to_vw(path)
    assert len(read_vw_model(path).index) == 0
    assert "--constant" not in str(model.summary())
    for _ in range(100):  # the scale is not known
        model.learn_one("12.5 |a x")
    model.to_vw(path)
    still = workspace("-t", "-i", str(path))
    assert still.predict("|a x") == still.predict("|b y:7") == 12.5
    still.finish()
    assert "--learning_rate" not in str(model.summary())
    assert "--constant 12.5" in str(model.summary())


@EACH
def test_a_model_without_a_constant_is_refused(make: Callable[..., ChaCha], tmp_path: Path) -> None:
    path = tmp_path / "m.vw"
    model = make(budget=1, space={}, init={"noconstant": True})
    for line in lines(100, 1, 50.0, 3.0):
        model.learn_one(line)
    with pytest.raises(PoolError, match=r"m\.vw: labels are learned less .*leave noconstant out"):
        model.to_vw(path)
    assert not list(tmp_path.iterdir())
    assert "same as" not in str(model.summary())
    assert model.summary().vw_args is None
    as_read = make(budget=1, space={}, init={"noconstant": True}, rules=AS_READ)
    as_read.to_vw(path)
    assert path.exists()


def test_labels_far_from_0_are_refused(tmp_path: Path) -> None:
    """The model has them in doubles; float32 has no step of 1 there."""
    model = ChaCha(budget=1, space={})
    for i in range(100):
        model.learn_one({"x": i % 7}, 1e9 + i % 7)
    assert model.predict_one({"x": 3}) == pytest.approx(1e9 + 3, abs=1)
    with pytest.raises(PoolError, match=r"cannot hold labels so far from 0.*2\^13 times 2"):
        model.to_vw(tmp_path / "m.vw")
    assert not list(tmp_path.iterdir())


def test_other_learners_of_vw(tmp_path: Path) -> None:
    """What VW saves for them cannot be moved; as read it is VW's own file."""
    path = tmp_path / "m.vw"
    for rules in (ContestRules(), AS_READ):
        model = ChaCha(pool=chacha.open_pool("vw"), space={}, init={"ftrl": True}, rules=rules)
        for line in lines(100, 1, 50.0, 3.0):
            model.learn_one(line)
        if rules is AS_READ:
            model.to_vw(path)
            assert "same as: vw --ftrl" in str(model.summary())
        else:
            with pytest.raises(PoolError, match=r"m\.vw: the options of a model with ftrl "):
                model.to_vw(path)
            assert "same as" not in str(model.summary())
    still = workspace("-t", "-i", str(path))
    line = next(lines(1, 2, 50.0, 3.0))
    assert still.predict(line) == says(model, line)
    still.finish()


def test_pools_without_vw_models_name_no_command_line(tmp_path: Path) -> None:
    model = ChaCha(pool=chacha.ReferencePool(), budget=1, space={})
    model.learn_one("1 |a x")
    assert "same as" not in str(model.summary())
    with pytest.raises(PoolError, match="ReferencePool cannot write a VW model"):
        model.to_vw(tmp_path / "m.vw")
    out = str(tmp_path / "r.json")
    done = cli("run", "synth:fried,n=99", "--pool", "reference", "--json", out)
    assert "same as" not in done.stderr
    assert json.loads(Path(out).read_text())["vw_args"] is None


def test_the_command_line_in_all_outputs(tmp_path: Path) -> None:
    source, log = tmp_path / "s.vw", str(tmp_path / "log.jsonl")
    source.write_text("\n".join(lines(500, 1, 1e4, 70.0)) + "\n")
    words = ("run", str(source), "--save-decisions", log, "--json", str(tmp_path / "r.json"))
    done = cli(*words)
    result = json.loads((tmp_path / "r.json").read_text())
    args = result["vw_args"]
    assert "--constant 10" in args
    assert f"same as: vw {args}\n" in done.stderr
    assert result["champion"] != Config.from_json(result["config"]).vw_args()
    assert f"same as: vw {args}\n" in cli("explain", log).stdout
    older = [line for line in Path(log).read_text().splitlines() if '"End"' not in line]
    end = {"kind": "End", "examples": 500, "loss": 1.0}
    Path(log).write_text("\n".join([*older, json.dumps(end)]) + "\n")
    config = Config.from_json(result["config"])
    assert f"same as: vw {config.vw_args()}" in cli("explain", log).stdout


def test_regularised_models_keep_their_predictions(tmp_path: Path) -> None:
    path = tmp_path / "m.vw"
    model = ChaCha(budget=1, space={}, init={"l1": 1e-4, "l2": 1e-3})
    for line in lines(300, 1, 500.0, 3.0):
        model.learn_one(line)
    model.to_vw(path)
    still = workspace("-t", "-i", str(path))
    for line in lines(60, 2, 500.0, 3.0):
        body = line[line.index("|") :]
        assert still.predict(body) == near(model, body, 32)
    still.finish()
    assert model.summary().vw_args is None
    assert "l2" not in read_vw_model(path).config.values


def test_loss_of_the_pool_is_the_loss_of_the_file(tmp_path: Path) -> None:
    """VW does not save the loss; the moved file holds it."""
    loss: Loss = Quantile(0.7)
    model = ChaCha(pool=chacha.open_pool("vw"), budget=1, space={}, loss=loss)
    for line in lines(100, 1, 50.0, 3.0):
        model.learn_one(line)
    model.to_vw(tmp_path / "m.vw")
    values = read_vw_model(tmp_path / "m.vw").config.values
    assert (values["loss_function"], values["quantile_tau"]) == ("quantile", 0.7)
    assert ChaCha.from_vw(tmp_path / "m.vw").loss_function == loss
