"""Models of labels in units of their scale, as VW models of the labels as they are."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import vowpalwabbit
from hypothesis import given, settings
from hypothesis import strategies as st

from chacha.config.config import Config
from chacha.data.label_map import LabelMap
from chacha.data.vw_text import show_exactly
from chacha.errors import PoolError
from chacha.vw.model_file import VWModel, VWState, read_vw_model, write_vw_model
from chacha.vw.relabel import MOST_SHIFT, fresh_options, raw_label_options, with_raw_labels

STEP = 2.0**-24  # half the distance of two neighbours in float32, relative to them
LOSSES: list[dict[str, Any]] = [
    {},
    {"loss_function": "quantile", "quantile_tau": 0.2},
    {"loss_function": "quantile"},
    {"loss_function": "expectile", "expectile_q": 0.3},
    {"loss_function": "classic"},
]


def workspace(*words: str) -> Any:
    return vowpalwabbit.Workspace(arg_list=["--quiet", "--no_stdin", *words])


def rows(count: int, seed: int) -> Iterator[tuple[float, str]]:
    """Labels of scale 1, and features of many sizes."""
    rng = random.Random(seed)
    for _ in range(count):
        x, k, v = rng.gauss(0, 1), rng.randrange(8), rng.random() * 10 ** rng.randint(-2, 2)
        z = x + 0.5 * (k % 3) - v / 60 + rng.gauss(0, 0.3)
        yield float(np.float32(z)), f"|a x:{x:.5f} k{k} |b v:{v:.5f} w"


def line(label: float, text: str) -> str:
    """A line from which VW reads the float32 nearest to the label."""
    return f"{show_exactly(label)[0]} {text}"


def trained(config: Config, path: Path, count: int = 200) -> tuple[Any, VWModel]:
    """VW after labels of scale 1, and what it saved."""
    vw = workspace(*config.vw_arg_list())
    for z, text in rows(count, seed=1):
        vw.learn(line(z, text))
    vw.save(str(path))
    model = read_vw_model(path)
    model.config = config  # VW does not save all options
    return vw, model


def goes_on(one: Any, other: Any, label_map: LabelMap, count: int, seed: int) -> float:
    """Let both learn the same rows; return the largest difference of predictions, in scales."""
    largest = 0.0
    for z, text in rows(count, seed):
        y = label_map.shift + label_map.scale * z
        largest = max(largest, difference(one, other, label_map, text))
        one.learn(line(z, text))
        other.learn(line(y, text))
    return largest


def difference(one: Any, other: Any, label_map: LabelMap, text: str) -> float:
    predicted = (other.predict(text) - label_map.shift) / label_map.scale
    return float(abs(predicted - one.predict(text)))


def still(one: Any, path: Path, label_map: LabelMap) -> float:
    """The same for `vw -t`, which learns nothing."""
    test = workspace("-t", "-i", str(path))
    largest = max(difference(one, test, label_map, text) for _, text in rows(60, seed=2))
    test.finish()
    return largest


def moved(config: Config, label_map: LabelMap, path: Path) -> tuple[Any, Any]:
    """VW on labels of scale 1, and VW with the moved model, which is in `path`."""
    vw, model = trained(config, path)
    write_vw_model(path, with_raw_labels(str(path), model, label_map), self_contained=True)
    return vw, workspace("-i", str(path))


@pytest.mark.parametrize("loss", LOSSES, ids=str)
@pytest.mark.parametrize("scale", [2.0**-20, 0.5, 1024.0, 2.0**31])
@pytest.mark.parametrize("more", [{}, {"learning_rate": 0.1}, {"noconstant": True}], ids=str)
def test_powers_of_two_are_exact(
    loss: dict[str, Any], scale: float, more: dict[str, Any], tmp_path: Path
) -> None:
    label_map, path = LabelMap(0.0, scale), tmp_path / "m.vw"
    one, other = moved(Config(["ab"], {**loss, **more}), label_map, path)
    assert still(one, path, label_map) == 0.0
    assert goes_on(one, other, label_map, 150, seed=3) == 0.0


@settings(max_examples=60, deadline=None)
@given(
    loss=st.sampled_from(LOSSES),
    exponent=st.floats(-12, 12),
    away=st.sampled_from([0.0, 1.0, -3.0, 100.0, -5e3]),
    power_t=st.sampled_from([None, 0.0, 0.3, 0.45, 0.8]),
    rate=st.sampled_from([None, 0.02, 3.0]),
    more=st.sampled_from([{}, {"initial_t": 2.5}, {"bit_precision": 20}]),
)
def test_any_scale_and_shift(
    loss: dict[str, Any],
    exponent: float,
    away: float,
    power_t: float | None,
    rate: float | None,
    more: dict[str, Any],
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    """The differences are those of float32.

    A prediction of about 1 scale, `away` scales from 0, is rounded to (1 + |away|)·STEP scales at
    each of the 20 features or so. So are the label and the constant whenever they are learned,
    and what one row has left of it the next rows correct.
    """
    values = {**loss, **more, "power_t": power_t, "learning_rate": rate}
    if power_t == 0.0:  # then steps do not get smaller, and VW multiplies differences
        values["learning_rate"] = 0.02
    config = Config(["ab"], {key: value for key, value in values.items() if value is not None})
    scale = 10.0**exponent
    label_map = LabelMap(scale * away, scale)
    path = tmp_path_factory.mktemp("moved") / "m.vw"
    one, other = moved(config, label_map, path)
    assert still(one, path, label_map) <= 64 * (1 + abs(away)) * STEP
    assert goes_on(one, other, label_map, 100, seed=3) <= 512 * (1 + abs(away)) * STEP


@pytest.mark.parametrize("loss", LOSSES[:2], ids=["squared", "quantile"])
@pytest.mark.parametrize("scale", [0.3, 700.0])
@pytest.mark.parametrize(
    "values",
    [{"l1": 1e-4}, {"l2": 1e-3}, {"l1": 1e-4, "l2": 1e-3, "power_t": 0.3}],
    ids=["l1", "l2", "l1 l2 power_t"],
)
def test_regularisation_without_a_shift(
    loss: dict[str, Any], scale: float, values: dict[str, Any], tmp_path: Path
) -> None:
    label_map, path = LabelMap(0.0, scale), tmp_path / "m.vw"
    one, other = moved(Config(["ab"], {**loss, **values}), label_map, path)
    assert still(one, path, label_map) <= 64 * STEP
    assert goes_on(one, other, label_map, 150, seed=3) <= 512 * STEP


@pytest.mark.parametrize("values", [{"l1": 1e-3}, {"l2": 1e-3}, {"l1": 1e-3, "l2": 1e-3}], ids=str)
def test_regularisation_with_a_shift(values: dict[str, Any], tmp_path: Path) -> None:
    """Predictions are the same; VW goes on without l2, which would pull the constant to 0."""
    label_map, path, config = LabelMap(3e4, 300.0), tmp_path / "m.vw", Config(["ab"], values)
    one, other = moved(config, label_map, path)
    assert read_vw_model(path).config.values.keys() == {"learning_rate"} | values.keys() - {"l2"}
    assert still(one, path, label_map) <= 64 * 101 * STEP
    assert goes_on(one, other, label_map, 150, seed=3) < 0.3
    mean = np.mean([other.predict(text) for _, text in rows(50, seed=4)])
    assert abs(mean - 3e4) < 300
    assert fresh_options(config, label_map) is None or "l2" not in values


@pytest.mark.parametrize("loss", LOSSES, ids=str)
@pytest.mark.parametrize("power_t", [0.5, 0.3])
@pytest.mark.parametrize("label_map", [LabelMap(0.0, 37.0), LabelMap(50.0, 3.0), LabelMap(-3, 0.2)])
def test_a_new_model_of_vw_learns_alike(
    loss: dict[str, Any], power_t: float, label_map: LabelMap
) -> None:
    """From the third row on: VW's label range begins at 0, and that of the other at the shift."""
    config = Config(["ab"], {**loss, "power_t": power_t})
    fresh = fresh_options(config, label_map)
    assert fresh is not None
    assert fresh.values.get("constant", 0.0) == label_map.shift
    one, other = workspace(*config.vw_arg_list()), workspace(*fresh.vw_arg_list())
    away = abs(label_map.shift / label_map.scale)
    for z in (40.0, -40.0) if label_map.shift >= 0 else (-40.0, 40.0):
        one.learn(line(z, "|c first:0.1"))
        other.learn(line(label_map.shift + label_map.scale * z, "|c first:0.1"))
    assert goes_on(one, other, label_map, 300, seed=1) <= 512 * (40 + away) * STEP


def small(config: Config | None = None, **state: Any) -> VWModel:
    numbers = np.array([1, 2, 3], np.float32)
    index = np.array([5, 1, 9], np.uint32)
    return VWModel(config or Config(), VWState(**state), index, numbers, numbers, numbers)


def test_labels_as_they_are_stay_as_they_are() -> None:
    """The scale is not known, or it is 1: nothing changes, not even the options."""
    for label_map in (LabelMap(), LabelMap(0.0, 1.0)):
        for config in (Config(), Config((), {"ftrl": True})):
            model = small(config)
            assert with_raw_labels("m.vw", model, label_map) is model
        assert fresh_options(Config(["ab"], {"l2": 0.1}), label_map) == Config(["ab"], {"l2": 0.1})
    assert fresh_options(Config((), {"ftrl": True}), None) == Config((), {"ftrl": True})


def test_a_scale_that_is_not_known_counts_as_1(tmp_path: Path) -> None:
    none, path = np.zeros(0, np.float32), tmp_path / "m.vw"
    model = VWModel(Config(), VWState(), np.zeros(0, np.uint32), none, none, none)
    write_vw_model(path, with_raw_labels(str(path), model, LabelMap(16.0, 0.0)))
    assert read_vw_model(path).config == Config()
    vw = workspace("-i", str(path))
    assert vw.predict("|a x") == 16.0
    vw.learn("18 |a x")
    assert 16.5 < vw.predict("|a x") < 18.0
    vw.finish()


def test_the_constant_is_added_if_the_model_has_none() -> None:
    model = small(Config((), {"bit_precision": 10, "initial_t": 2.0}), initial_t=2.0)
    with_constant = with_raw_labels("m.vw", model, LabelMap(100.0, 2.0))
    assert with_constant.index.tolist() == [5, 1, 9, 11650396 % 1024]
    assert with_constant.weight.tolist() == [2.0, 4.0, 6.0, 100.0]
    assert with_constant.adaptive.tolist() == [4.0, 8.0, 12.0, 8.0]
    assert with_constant.normalized.tolist() == [1.0, 2.0, 3.0, 0.0]
    assert with_constant.state.initial_t == 8.0
    assert model == small(model.config, initial_t=2.0), "the model is not changed"


def test_the_label_range_may_be_given() -> None:
    model = small(low=-1.5, high=2.0)
    state = with_raw_labels("m.vw", model, LabelMap(10.0, 4.0)).state
    assert (state.low, state.high) == (4.0, 18.0)
    state = with_raw_labels("m.vw", model, LabelMap(0.0, 1.0), (-7.0, 7.0)).state
    assert (state.low, state.high) == (-8.5, 9.0)


def test_bounds_of_predictions_are_moved() -> None:
    config = Config((), {"min_prediction": -1.0, "max_prediction": 2})
    values = raw_label_options("m.vw", config, LabelMap(10.0, 4.0)).values
    assert values == {"learning_rate": 2.0, "min_prediction": 6.0, "max_prediction": 18.0}


@pytest.mark.parametrize(
    ("values", "label_map", "message"),
    [
        (
            {"noconstant": True},
            LabelMap(5.0, 1.0),
            "labels are learned less 5, .* noconstant; leave noconstant out, or learn labels as "
            r"they are: --as-read, ContestRules\(scaling=None\)",
        ),
        ({}, LabelMap(1.01 * MOST_SHIFT, 1.0), r"more than 2\^13 times 1; subtract 8273.92 from"),
        ({}, LabelMap(-2.0, 1e-5), r"-2 is more than 2\^13 times 1e-05"),
        ({}, LabelMap(0.0, 1e20), "a sum of squared gradients would be 1 times 1e\\+40; that is "),
        ({}, LabelMap(0.0, 1e-25), "a sum of squared gradients would be 1 times 1e-50"),
        ({"loss_function": "quantile"}, LabelMap(0.0, 3e38), "a weight would be 2 times 3e\\+38"),
        ({"power_t": 5.0}, LabelMap(0.0, 1e4), "learning_rate would be 5e\\+39 for the labels"),
        ({"power_t": 5.0}, LabelMap(0.0, 1e-5), "learning_rate would be 5e-51 for the labels"),
        ({"power_t": 200}, LabelMap(0.0, 1e9), "learning_rate would be inf for the labels"),
        ({"l2": 1e-30}, LabelMap(0.0, 1e19), "l2 would be 1e-49 for the labels"),
        ({"sparse_l2": 0.1}, LabelMap(0.0, 2.0), "with sparse_l2 cannot be converted"),
        ({"loss_function": "poisson"}, LabelMap(0.0, 2.0), "loss_function poisson cannot be conv"),
        (
            {"ftrl": True},
            LabelMap(0.0, 2.0),
            "with ftrl cannot be converted .*; leave ftrl out, or l",
        ),
        ({"adaptive": True}, LabelMap(0.0, 2.0), "got --adaptive; use VW itself"),
        ({"learning_rate": "much"}, LabelMap(0.0, 2.0), "'much' as the value of --learning_rate"),
    ],
)
def test_what_vw_cannot_hold_is_refused(
    values: dict[str, Any], label_map: LabelMap, message: str
) -> None:
    with pytest.raises(PoolError, match=f"^m.vw: .*({message})"):
        with_raw_labels("m.vw", small(Config((), values)), label_map)


def test_a_range_that_float32_cannot_hold_is_refused() -> None:
    model = small(Config((), {"loss_function": "quantile"}), high=2.0**30)
    model = replace(model, weight=np.zeros(3, np.float32))
    with pytest.raises(PoolError, match=r"the range of the labels, 0 to 3.22123e\+39, is beyond"):
        with_raw_labels("m.vw", model, LabelMap(0.0, 3e30))


@pytest.mark.parametrize(
    ("values", "label_map"),
    [
        ({"noconstant": True}, LabelMap(5.0, 1.0)),
        ({"l2": 0.1}, LabelMap(5.0, 1.0)),
        ({"initial_t": 0.1}, LabelMap(0.0, 2.0)),
        ({"ftrl": True}, LabelMap(0.0, 2.0)),
        ({}, LabelMap(1e9, 1.0)),
    ],
)
def test_there_may_be_no_such_new_model(values: dict[str, Any], label_map: LabelMap) -> None:
    assert fresh_options(Config((), values), label_map) is None


def test_a_new_model_predicts_within_the_labels() -> None:
    """The range is that of what is learned; limits of the configuration come first."""
    wide, logarithm = (90.0, 120.0), LabelMap(3.0, 0.5, True, low=100.0, unit=4.0)
    for label_map, values, bounds in [
        (LabelMap(100.0, 4.0), {}, wide),
        (LabelMap(0.0, 4.0), {}, (None, None)),
        (LabelMap(100.0, 4.0), {"min_prediction": -2.0}, (92.0, 120.0)),
        (logarithm, {}, (float(np.float32(-math.log(3.5))), float(np.float32(math.log(6.0))))),
    ]:
        fresh = fresh_options(Config((), values), label_map, wide)
        assert fresh is not None
        found = tuple(fresh.values.get(f"{end}_prediction") for end in ("min", "max"))
        assert found == (pytest.approx(bounds) if bounds[0] is not None else bounds)
    assert fresh_options(Config(), LabelMap(1.0, 1.0), (-1e300, 1e300)) == Config(
        (), {"constant": 1.0}
    )


def test_weights_that_diverged_are_no_error() -> None:
    weight = np.array([np.inf, np.nan, 0.0], np.float32)
    weights = with_raw_labels("m.vw", replace(small(), weight=weight), LabelMap(0.0, 3.0)).weight
    assert np.array_equal(weights, weight, equal_nan=True)
