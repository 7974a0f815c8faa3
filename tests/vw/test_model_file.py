"""VW model files: VW reads them as if it had written them itself."""

from __future__ import annotations

import random
import struct
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import vowpalwabbit

from chacha.config.config import Config
from chacha.errors import PoolError
from chacha.vw.model_file import VWModel, VWState, read_vw_model, write_vw_model
from chacha.vw.options import UNSAVED

FULL = "--experimental_full_name_interactions"
PRODUCTS = [("item", "user"), ("item", "item"), ("ab", "ac"), ("a", "item", "user")]
SMALL = {"bit_precision": 6}

CONFIGS = {
    "default": Config(),
    "rate": Config((), {"learning_rate": 0.1}),
    "long rate": Config((), {"learning_rate": 0.123456789012}),
    "tiny rate": Config((), {"learning_rate": 1e-5}),
    "power_t": Config((), {"power_t": 0.3}),
    "power_t 0": Config((), {"power_t": 0, "learning_rate": 2}),
    "product": Config([("item", "user")]),
    "products": Config(PRODUCTS),
    "products of letters": Config(["ab", "aa"], {"l2": 1e-3}),
    "initial_t": Config([("ab", "ac")], {"initial_t": 2.5}),
    "initial_t power_t": Config((), {"initial_t": 0.1, "power_t": 0.4, "bit_precision": 10}),
    "l1": Config((), {"l1": 1e-4}),
    "l2": Config((), {"l2": 1e-3}),
    "l1 l2": Config(PRODUCTS[:2], {"l1": 1e-4, "l2": 1e-3, "learning_rate": 0.8}),
    "strong l2": Config((), {"l2": 0.5}),  # VW applies it to the weights now and then
    "sparse_l2": Config((), {"sparse_l2": 1e-3}),
    "noconstant": Config(PRODUCTS[:1], {"noconstant": True}),
    "20 bits": Config((), {"bit_precision": 20}),
    "few bits": Config(PRODUCTS, {"bit_precision": 3}),
    "one bit": Config((), {"bit_precision": 1}),
    "logistic": Config(PRODUCTS[:1], {"loss_function": "logistic"}),
    "logistic initial_t": Config((), {"loss_function": "logistic", "initial_t": 1, **SMALL}),
    "logistic l1": Config((), {"loss_function": "logistic", "l1": 1e-3}),
    "logistic range": Config(
        (), {"loss_function": "logistic", "logistic_min": -2, "logistic_max": 3}
    ),
    "quantile": Config((), {"loss_function": "quantile", "quantile_tau": 0.3}),
    "quantile half": Config((), {"loss_function": "quantile"}),
    "expectile": Config((), {"loss_function": "expectile", "expectile_q": 0.2}),
    "poisson": Config((), {"loss_function": "poisson"}),
    "hinge": Config(PRODUCTS, {"loss_function": "hinge", "l2": 1e-4}),
    "classic": Config((), {"loss_function": "classic"}),
    "bounds": Config((), {"min_prediction": -0.5, "max_prediction": 0.75}),
    "one bound": Config((), {"max_prediction": 0.75, "loss_function": "logistic"}),
    "update": Config((), {"adaptive": True, "normalized": True}),
    "whole update": Config((), {"adaptive": True, "normalized": True, "invariant": True}),
    "names": Config([("größe", "a\\x"), ("-x", "'q")], {"l1": 1e-7}),
    "all": Config(
        PRODUCTS,
        {"learning_rate": 0.3, "power_t": 0.45, "initial_t": 1.5, "l1": 1e-5, "l2": 1e-5}
        | {"loss_function": "quantile", "quantile_tau": 0.9, "noconstant": True}
        | {"bit_precision": 12},
    ),
}
EACH = pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS.keys())


def workspace(*words: str) -> Any:
    return vowpalwabbit.Workspace(arg_list=["--quiet", "--no_stdin", *words])


def unsaved_words(config: Config) -> list[str]:
    """The words that VW needs besides `-i FILE` to go on learning exactly as before."""
    return Config((), {k: v for k, v in config.values.items() if k in UNSAVED}).vw_arg_list()


def lines(config: Config, count: int, seed: int) -> Iterator[str]:
    """A stream with what the loss takes as labels; values of many sizes, weighted."""
    rng = random.Random(seed)
    loss = config.values.get("loss_function")
    for i in range(count):
        x, z = rng.gauss(0, 1 + i % 3), rng.random() * 10 ** rng.randint(-3, 2)
        label: float = 1 if x + rng.gauss(0, 0.3) > 0 else -1
        if loss == "poisson":
            label = rng.randint(0, 4)
        elif loss not in ("logistic", "hinge"):
            label = round(x - z / 50 + rng.gauss(0, 0.1), 4)
        weight = f" {rng.random():.3f}" if i % 7 == 0 else ""
        yield (
            f"{label}{weight} |user x:{x:.5f} u{i % 11} |item z:{z:.5f} i{rng.randint(0, 30)} w "
            f"|ab p{i % 3} q:{rng.random():.4f} |ac r{i % 4} |a s:{rng.random():.3f} |größe g|'q h"
        )


def trained(config: Config, count: int = 300) -> Any:
    model = workspace(*config.vw_arg_list())
    for line in lines(config, count, 1):
        model.learn(line)
    return model


def saved(config: Config, path: Path, count: int = 300) -> bytes:
    model = trained(config, count)
    model.save(str(path))
    model.finish()
    return path.read_bytes()


def goes_on(model: Any, config: Config, learn: bool = True) -> list[float]:
    """Predictions over a further stream, one before each lesson; the model is closed."""
    predictions = []
    for line in lines(config, 250, 2):
        predictions.append(model.predict(line))
        if learn:
            model.learn(line)
    model.finish()
    return predictions


def without_statistics(data: bytes) -> bytes:
    """A file without its version and without what VW forgets when it loads the file."""
    at = data.index(b"m", 11) + 25  # the length of the options
    at += 4 + struct.unpack_from("<I", data, at)[0] + 8 + 1
    state = data[at : at + 128]
    kept = state[:20] + state[40:48] + state[88:96] + state[112:]
    return data[11:at] + kept + data[at + 128 :]


@EACH
def test_vw_goes_on_exactly_from_a_file_that_was_read_and_written(
    config: Config, tmp_path: Path
) -> None:
    theirs, ours, whole = (tmp_path / name for name in ("theirs.vw", "ours.vw", "whole.vw"))
    original = trained(config)
    original.save(str(theirs))
    model = read_vw_model(theirs)
    write_vw_model(ours, model)
    model.config = config
    write_vw_model(whole, model, self_contained=True)
    args = unsaved_words(config)
    expected = goes_on(original, config)
    assert goes_on(workspace("-i", str(theirs), *args), config) == expected
    assert goes_on(workspace("-i", str(ours), *args), config) == expected
    assert goes_on(workspace("-i", str(ours), *config.vw_arg_list()), config) == expected
    assert goes_on(workspace("-i", str(whole)), config) == expected
    assert goes_on(workspace("-i", str(whole), *args), config) == expected


@EACH
def test_vw_tests_alike_with_their_file_and_with_ours(config: Config, tmp_path: Path) -> None:
    theirs, ours, whole = (tmp_path / name for name in ("theirs.vw", "ours.vw", "whole.vw"))
    saved(config, theirs)
    model = read_vw_model(theirs)
    write_vw_model(ours, model)
    model.config = config
    write_vw_model(whole, model, self_contained=True)
    still = goes_on(workspace("-t", "-i", str(theirs)), config, learn=False)
    assert goes_on(workspace("-t", "-i", str(ours)), config, learn=False) == still
    assert goes_on(workspace("-t", "-i", str(whole)), config, learn=False) == still
    plain = workspace("-i", str(theirs), *unsaved_words(config))
    live = workspace("-i", str(ours), *unsaved_words(config))
    predictions = goes_on(plain, config, learn=False)
    assert goes_on(live, config, learn=False) == predictions
    if not config.values.keys() & {"l1", "l2"}:  # with these, VW itself rounds otherwise with -t
        assert predictions == still


@EACH
def test_reading_gives_the_configuration_and_what_is_written_again_is_the_same(
    config: Config, tmp_path: Path
) -> None:
    theirs, ours, again = (tmp_path / name for name in ("theirs.vw", "ours.vw", "again.vw"))
    data = saved(config, theirs)
    model = read_vw_model(theirs)
    rate = {"learning_rate": 0.12345679} if "123" in str(config) else {}  # VW rounds it
    kept = {k: v for k, v in config.values.items() if k not in UNSAVED} | rate
    assert model.config == Config(config.interactions, kept)
    write_vw_model(ours, model)
    assert without_statistics(ours.read_bytes()) == without_statistics(data)
    assert read_vw_model(ours) == model
    model.config = config
    write_vw_model(again, model, self_contained=True)
    assert read_vw_model(again) == model


@EACH
def test_a_fresh_model_is_vws_fresh_model(config: Config, tmp_path: Path) -> None:
    theirs, ours = tmp_path / "theirs.vw", tmp_path / "ours.vw"
    data = saved(config, theirs, count=0)
    none = np.zeros(0, np.float32)
    model = VWModel(config, VWState.start(config), np.zeros(0, np.uint32), none, none, none)
    write_vw_model(ours, model)
    if config is not CONFIGS["long rate"]:  # VW writes fewer digits than there are
        assert without_statistics(ours.read_bytes()) == without_statistics(data)
    expected = goes_on(trained(config, 0), config)
    assert goes_on(workspace("-i", str(ours), *unsaved_words(config)), config) == expected


def test_vw_can_save_and_go_on_in_turns(tmp_path: Path) -> None:
    """Read and write between every two lessons."""
    path, config = tmp_path / "model.vw", CONFIGS["all"]
    alone = trained(config, 0)
    saved(config, path, count=0)
    for line in lines(config, 25, 3):
        write_vw_model(path, read_vw_model(path))
        turn = workspace("-i", str(path), *unsaved_words(config))
        assert turn.predict(line) == alone.predict(line)
        turn.learn(line)
        alone.learn(line)
        turn.save(str(path))
        turn.finish()
    alone.finish()


@pytest.mark.parametrize(
    ("words", "products"),
    [
        (["-q", "ab"], ["ab"]),
        (["-q", "ab", "-q", "aa", "-q", "bc"], ["ab", "aa", "bc"]),
        (["--cubic", "aba", "--interactions", "abcd"], ["aab", "abcd"]),
        (["-q", "ab", FULL, "user|item"], [("a", "b"), ("item", "user")]),
    ],
)
def test_products_by_letter_are_products_of_groups_of_that_name(
    words: list[str], products: list[Any], tmp_path: Path
) -> None:
    theirs, ours = str(tmp_path / "theirs.vw"), str(tmp_path / "ours.vw")
    model = workspace(*words, "--random_seed", "7", "--id", "mine")
    stream = [
        f"{i % 3} |a x:{i % 7} y |b z{i % 2}:2 u{i % 5} |c v |d w:3 |user k{i} |item l"
        for i in range(99)
    ]
    for line in stream:
        model.learn(line)
    model.save(theirs)
    read = read_vw_model(theirs)
    assert read.config == Config(products)
    write_vw_model(ours, read)
    again = workspace("-i", ours)
    for line in stream:
        assert again.predict(line) == pytest.approx(model.predict(line), rel=1e-5, abs=1e-6)
    assert len(set(read.index.tolist())) == len(read.index)
    again.finish()
    model.finish()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--ftrl"], "with --ftrl, which is not read here; load it with VW itself"),
        (["--sgd"], "with --sgd,"),
        (["--adaptive"], "must be VW's default or have --adaptive and --normalized"),
        (["--link", "logistic"], "with --link logistic,"),
        (["--ngram", "2"], "with --ngram,"),
        (["--ngram", "2", "--skips", "1"], "with --ngram,"),
        (["--nn", "2"], "with --nn 2,"),
        (["--boosting", "3"], "with --boosting 3,"),
        (["--keep", "u"], "with --keep u,"),
        (["--hash", "all"], "with --hash all,"),
        (["--coin"], "with --coin,"),
        (["-q", "::"], "is not made of plain letters"),
        (["-q", "a:"], "is not made of plain letters"),
        (["-q", "\\x61b"], "is not made of plain letters"),
        (["-q", "ba"], r"train with --experimental_full_name_interactions a\|b instead"),
        (["--cubic", "bca"], "hashed differently"),
        ([FULL, "a|:"], "wildcard"),
        (["--predict_only_model"], r"weights only \(--predict_only_model\)"),
        (["--sparse_weights", "--initial_t", "2"], "all 262144 weights must be in it"),
    ],
)
def test_other_learners_are_refused_by_name(words: list[str], message: str, tmp_path: Path) -> None:
    path = tmp_path / "model.vw"
    model = workspace(*words)
    model.learn("1 |user a b |item c")
    model.save(str(path))
    model.finish()
    with pytest.raises(PoolError, match=message) as caught:
        read_vw_model(path)
    assert str(caught.value).startswith(f"{path}: ")


def test_31_bits_and_weights_in_any_order(tmp_path: Path) -> None:
    theirs, ours = tmp_path / "theirs.vw", tmp_path / "ours.vw"
    sparse = ("--sparse_weights", "-b", "31")
    original = workspace(*sparse)
    for line in lines(Config(), 100, 1):
        original.learn(line)
    original.save(str(theirs))
    model = read_vw_model(theirs)
    assert model.config == Config((), {"bit_precision": 31})
    assert model.index.max() > 1 << 24
    write_vw_model(ours, model)
    assert without_statistics(ours.read_bytes()) == without_statistics(theirs.read_bytes())
    expected = goes_on(original, Config())
    assert goes_on(workspace("-i", str(ours), "--sparse_weights"), Config()) == expected


def small() -> VWModel:
    numbers = np.array([1, 2, 3], np.float32)
    return VWModel(Config(), VWState(), np.array([5, 1, 9], np.uint32), numbers, numbers, numbers)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"config": Config((), {"ftrl": True})}, "the option 'ftrl' cannot be written"),
        ({"config": Config((), {"adaptive": True})}, "got --adaptive; use VW itself"),
        ({"config": Config((), {"l1": "much"})}, "'much' as the value of --l1"),
        ({"config": Config((), {"l1": True})}, "True as the value of --l1"),
        ({"config": Config((), {"l1": 1e39})}, "1e\\+39 as the value of --l1"),
        ({"config": Config((), {"l1": 10**300})}, "as the value of --l1"),
        ({"config": Config((), {"loss_function": "a b"})}, "'a b' as the value"),
        ({"config": Config((), {"noconstant": 1})}, "1 as the value of --noconstant"),
        ({"config": Config((), {"bit_precision": 33})}, "33 as the value"),
        ({"config": Config((), {"bit_precision": 0})}, "0 as the value"),
        ({"config": Config((), {"bit_precision": 3})}, "index 9; with 3 bits it is below 8"),
        ({"config": Config((), {"initial_t": 1})}, "1 in the configuration and 0.0 in the state"),
        ({"config": Config([(" ", "a")])}, "the product ' |a'"),
        ({"config": Config([("--a", "b")])}, "leading dashes"),
        ({"config": Config([("a\v", "b")])}, "without blanks"),
        ({"state": VWState(initial_t=1)}, "0 in the configuration and 1 in the state"),
        ({"state": VWState(initial_t=1e99)}, "1e\\+99 in the state"),
        ({"state": VWState(low=-1e99)}, "VW cannot hold a number of the state"),
        ({"state": VWState(t="1")}, "VW cannot hold a number of the state"),  # type: ignore[arg-type]
        ({"index": np.array([1, 1, 2], np.uint32)}, "two weights have the same index"),
        ({"index": np.array([-1, 1, 2])}, "at least 0"),
        ({"index": np.array([0.5, 1, 2])}, "whole numbers"),
        ({"weight": np.zeros(2, np.float32)}, "differ in shape"),
    ],
)
def test_what_a_file_cannot_hold_is_refused(
    change: dict[str, Any], message: str, tmp_path: Path
) -> None:
    path = tmp_path / "model.vw"
    with pytest.raises(PoolError, match=message) as caught:
        write_vw_model(path, replace(small(), **change))
    assert str(caught.value).startswith(f"{path}: ")
    assert not list(tmp_path.iterdir())


def test_weights_keep_their_order_and_models_are_compared_by_value(tmp_path: Path) -> None:
    path, model = tmp_path / "model.vw", small()
    write_vw_model(path, model)
    assert read_vw_model(str(path)) == model
    assert model != replace(model, adaptive=np.array([1, 2, 4], np.float32))
    assert model != replace(model, index=np.array([5, 1], np.uint32))
    assert model != "a model"
    broken = replace(model, weight=np.array([np.nan, 0, -0.0], np.float32))
    write_vw_model(path, broken)
    assert read_vw_model(path) == broken


def test_files_that_cannot_be_opened(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "none" / "model.vw"):
        with pytest.raises(PoolError, match="cannot be read"):
            read_vw_model(path)
        with pytest.raises(PoolError, match="cannot be written"):
            write_vw_model(path, small())


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "is not a VW model"),
        (b"label,a,b\n1,2,3\n", "is not a VW model"),
        (b"\x1f\x8b" + bytes(100), "is not a VW model"),
        (b"\x07\0\0\x008.11.0\0" + bytes(200), "VW 8.11.0 saved it"),
        (b"\x07\0\0\x009.11.9\0\x01\0\0\0\0x" + bytes(200), "the mark 'm' is missing"),
        (b"\x07\0\0\x009.11.9\0\xff\xff\xff\xff" + bytes(200), "ends too early"),
    ],
)
def test_files_that_are_not_models(data: bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / "model.vw"
    path.write_bytes(data)
    with pytest.raises(PoolError, match=message):
        read_vw_model(path)


@pytest.fixture(params=["default", "product", "logistic initial_t", "all"])
def file(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    config = CONFIGS[request.param].with_values(bit_precision=3)
    path = tmp_path / "model.vw"
    saved(config, path, count=20)
    return path


def outcome(path: Path) -> VWModel | None:
    """The model, or nothing if it is refused with the file's name. No other error."""
    try:
        return read_vw_model(path)
    except PoolError as error:
        if not str(error).startswith(f"{path}: "):
            raise
        return None


def test_cut_files_are_refused(file: Path) -> None:
    data, whole = file.read_bytes(), read_vw_model(file)
    body = data.index(b"\x04\0\0\0", data.index(b"m", 11) + 30) + 8 + 1 + 128
    for end in range(len(data)):
        file.write_bytes(data[:end])
        model = outcome(file)
        if model is not None:  # cut between two weights, of a file that need not have all
            assert end >= body
            assert (end - body) % 16 == 0
            assert whole.state.initial_t == 0
            assert len(model.index) == (end - body) // 16


def test_damaged_headers_are_refused_and_damaged_weights_give_a_model_or_an_error(
    file: Path,
) -> None:
    data = file.read_bytes()
    header = data.index(b"\x04\0\0\0", data.index(b"m", 11) + 30) + 8
    for at in range(len(data)):
        for flip in (0x01, 0x80, 0xFF):
            damaged = bytearray(data)
            damaged[at] ^= flip
            file.write_bytes(damaged)
            model = outcome(file)
            if model is not None:
                assert not 11 <= at < header
                write_vw_model(file, model)
                assert read_vw_model(file) == model


def test_random_bytes_after_a_good_beginning(file: Path) -> None:
    data, rng = file.read_bytes(), random.Random(4)
    for _ in range(300):
        start = rng.randrange(len(data))
        file.write_bytes(data[:start] + rng.randbytes(rng.randrange(200)))
        outcome(file)


def test_many_weights_take_no_time(tmp_path: Path) -> None:
    path, rng = tmp_path / "model.vw", np.random.default_rng(1)
    index = rng.permutation(1 << 18)[:200_000].astype(np.uint32)
    columns = rng.random((3, len(index)), np.float32)
    model = VWModel(Config(), VWState(), index, *columns)
    seconds = []
    for _ in range(3):  # the machine may be busy with something else
        started = time.perf_counter()
        write_vw_model(path, model)
        assert read_vw_model(path) == model
        seconds.append(time.perf_counter() - started)
    assert min(seconds) < 1
