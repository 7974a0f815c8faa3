"""Pools by name: arguments, refusals, names that other packages add."""

from __future__ import annotations

import os
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

from chacha import Config, NativePool, open_pool
from chacha import _native as engine
from chacha.checks import all_checks
from chacha.data import parse_line
from chacha.errors import ConfigError, PoolError
from chacha.pools import POOLS, pool_names
from chacha.pools.river import RiverPool
from tests.support.command_line import cli


@pytest.mark.parametrize("kernel", engine.kernels())
def test_the_argument_of_the_native_pool_is_its_kernel(kernel: str) -> None:
    pool = open_pool(f"native:{kernel}")
    assert isinstance(pool, NativePool)
    assert pool.kernel == kernel


def test_a_kernel_that_cannot_run_here_is_refused_with_those_that_can() -> None:
    kernels = ", ".join(engine.kernels())
    message = rf"this machine can run \({kernels}\), got 'nope'"
    with pytest.raises(PoolError, match=message):
        NativePool("nope")
    with pytest.raises(PoolError, match=message):
        open_pool("native:nope")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("abacus", "no pool 'abacus'; choose from native, vw, reference, river"),
        ("abacus:x", "no pool 'abacus'; choose from native, vw, reference, river"),
        ("", "no pool ''; choose from native"),
        ("reference:x", "'reference:x': reference takes no argument; leave ':x' out"),
        ("vw:--l2 1e-6", "'vw:--l2 1e-6': vw takes no argument; leave ':--l2 1e-6' out"),
        ("native:", "'native:': the argument is empty; leave the colon out"),
        ("river", "'river': river needs an argument, river:NAME"),
        ("river:", "'river:': river needs an argument, river:NAME"),
        ("river:Linear", "river:Linear: River .* has no such class; similar: LinearRegression"),
        ("river:StandardScaler", "neither a regressor nor a classifier"),
    ],
)
def test_a_wrong_name_or_argument_is_refused(name: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        open_pool(name)


def plugin(folder: Path, value: str = "fake_pools:Halves") -> None:
    """Install a package with a pool of the name `halves` in a folder."""
    (folder / "fake_pools.py").write_text(
        "from chacha.pools import ReferencePool\n"
        "class Halves(ReferencePool):\n"
        "    def __init__(self, by: str = '2') -> None:\n"
        "        super().__init__()\n"
        "        self.by = float(by)\n"
    )
    info = folder / "fake_pools-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: fake-pools\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        f"[chacha.pools]\nhalves = {value}\nnative = fake_pools:Halves\n"
    )


def test_a_package_adds_a_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It takes an argument if its class does; a name of chacha's cannot be replaced."""
    plugin(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "fake_pools", raising=False)
    assert version("fake-pools") == "1.0"
    assert pool_names() == [*POOLS, "halves"]
    assert [getattr(open_pool(name), "by", None) for name in ("halves", "halves:4")] == [2.0, 4.0]
    assert isinstance(open_pool("native"), NativePool)
    with pytest.raises(ConfigError, match="choose from native, vw, reference, river, halves"):
        open_pool("half")
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}{os.pathsep}{os.environ.get('PYTHONPATH', '')}")
    cli("run", "synth:interactions", "--limit", "20", "--pool", "halves:3")


@pytest.mark.parametrize("value", ["no_such_module:Pool", "fake_pools:Nothing"])
def test_a_package_whose_pool_cannot_be_imported_is_named(
    value: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plugin(tmp_path, value)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "fake_pools", raising=False)
    with pytest.raises(PoolError, match="pool 'halves' of fake-pools cannot be imported: "):
        open_pool("halves")


def test_the_command_line_takes_the_same_words() -> None:
    flags = ["run", "synth:interactions", "--limit", "50", "--pool"]
    cli(*flags, "native:plain")
    assert "interactions" in cli(*flags, "river:LinearRegression").stderr
    error = cli(*flags, "river:LinearRegression", "--features", "bins", rc=2).stderr
    assert "RiverPool cannot use derived groups" in error
    assert "reference takes no argument; leave ':x' out" in cli(*flags, "reference:x", rc=2).stderr


INITIAL = "check_weights_and_initial_predictions_are_taken"


@pytest.mark.parametrize("name", ["LinearRegression", "tree.HoeffdingTreeRegressor"])
def test_a_river_pool_keeps_the_contract_but_takes_no_initial_predictions(name: str) -> None:
    for check in all_checks():
        if check.__name__ == INITIAL:
            with pytest.raises(ConfigError, match="takes no initial predictions"):
                check(lambda: RiverPool(name))
        else:
            check(lambda: RiverPool(name))


def test_values_are_arguments_of_rivers_class() -> None:
    pool = RiverPool("LinearRegression")
    assert pool.default("l2") == 0.0
    assert pool.default("optimizer") is pool.default("learning_rate") is None
    plain, strict = Config(), Config(values={"l2": 0.5})
    pool.start(plain)
    pool.start(strict)
    for i in range(50):
        predictions = pool.learn(parse_line(f"{i % 5} |a x:{i % 5}"))
    assert predictions[plain] != predictions[strict]
    with pytest.raises(PoolError, match="river:LinearRegression has no option 'rate'; its options"):
        pool.start(Config(values={"rate": 1}))
    assert set(pool.live) == {plain, strict}


def test_the_loss_of_a_configuration_decides_what_a_river_model_predicts() -> None:
    pool = RiverPool("LogisticRegression")
    with pytest.raises(ConfigError, match="is a classifier, and squared loss needs a regressor"):
        pool.start(Config())
    config = Config(values={"loss_function": "logistic"})
    pool.start(config)
    for i in range(400):
        predictions = pool.learn(parse_line(f"{1 if i % 2 else -1} |a x:{1 if i % 2 else -1}"))
    assert predictions[config] > 0.5
    assert pool.predict(parse_line("|a x:-1"))[config] < -0.5
    river = RiverPool("AMFRegressor", seed=7)
    assert river.fresh()._seed == 7


def test_products_of_a_river_model_are_vws() -> None:
    """Values are multiplied and features of the same name added, as for any group."""
    pool = RiverPool("LinearRegression")
    config = Config(["ab", "aa"])
    pool.start(config)
    learner = pool._models[config]
    x = learner._features(parse_line("1 |a x:2 y:3 |b z:0.5"))  # type: ignore[attr-defined]
    assert sorted(x.values()) == sorted([2.0, 3.0, 0.5, 1.0, 1.5, 4.0, 6.0, 9.0])
    x = learner._features(parse_line("1 |b z:2"))  # type: ignore[attr-defined]
    assert sorted(x.values()) == [0.0] * 7 + [2.0]
