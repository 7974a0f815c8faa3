"""Models that learned labels in units of their scale, as VW models of the labels as they are.

A model of z = (y - shift)/scale becomes one of y. With r = scale^(2·power_t) for squared loss and
r = scale for quantile loss:

- Weights are multiplied by the scale, and the constant's weight is moved by the shift.
- Sums of squared gradients are multiplied by scale² for squared loss, and stay for quantile loss,
  whose gradient has no unit. Norms, counts and l2's contraction stay.
- The learning rate is multiplied by r, l2 is divided by r, and l1, whose gravity is in units of
  weights, is multiplied by scale/r.
- The label range [low, high] becomes shift + scale·[low, high].

Then VW predicts and learns y as the model did z, up to the rounding of float32; exactly if the
shift is 0, the scale a power of two and power_t 0.5.

VW's l2 would pull the constant towards 0, where the model pulled it towards the shift. So if there
is a shift, VW goes on without l2; what it has done so far is in the weights. l1 pulls the constant
towards 0 too, but by no more than any other weight. Two limits of VW have no unit and stay as they
are: it does not regularise after steps below 1e-8, and cuts weights for good as soon as the gravity
of l1 exceeds 1000.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chacha.config.config import Config, Value
from chacha.data.label_map import LabelMap
from chacha.data.vw_text import CONSTANT
from chacha.errors import PoolError, fail
from chacha.losses import gradient_power
from chacha.vw.model_file import BITS, VWModel
from chacha.vw.options import SUPPORTED, check_config, is_float32

__all__ = ["changes_labels", "fresh_options", "raw_label_options", "with_raw_labels"]

MOST_SHIFT = 2.0**13
"""Scales; nearer to 0, the steps of float32 are a thousandth of the scale at most, so VW goes on
learning as the champion would."""
SUM = "sum of squared gradients"
LEAST_SUM, MOST_SUM = 2.0**-126, 2.0**118
"""Subnormal numbers have fewer digits, and sums go on growing."""
RATE, POWER_T = 0.5, 0.5  # VW's defaults
AS_READ = "learn labels as they are: --as-read, ContestRules(scaling=None)"


def changes_labels(label_map: LabelMap) -> bool:
    """Return whether a model with this map learns other numbers than the labels.

    >>> changes_labels(LabelMap(shift=0.0, scale=1.0)), changes_labels(LabelMap(shift=1.0))
    (False, True)
    """
    return label_map.shift != 0.0 or label_map.scale not in (0.0, 1.0)


def with_raw_labels(
    name: str,
    model: VWModel,
    label_map: LabelMap,
    label_range: tuple[float, float] | None = None,
) -> VWModel:
    """Return a model of labels in units of their scale as a model of the labels as they are.

    `name` is the file that errors are about. `label_range` is that of the labels, to be given if
    examples brought initial predictions. Then the range in the model is that of what is added to
    them, and VW, which clips the sum, gets a range in which there is room for both.

    A scale that is not known yet counts as 1; such a model has learned nothing.

    >>> from chacha.vw.model_file import VWState
    >>> numbers = np.array([0.5, 2.0], np.float32)
    >>> model = VWModel(Config(), VWState(), np.array([7, 116060]), numbers, numbers, numbers)
    >>> moved = with_raw_labels("model.vw", model, LabelMap(shift=100.0, scale=4.0))
    >>> moved.weight.tolist(), moved.adaptive.tolist(), moved.config.values["learning_rate"]
    ([2.0, 108.0], [8.0, 32.0], 2.0)
    """
    if not changes_labels(label_map) and label_range is None:
        return model
    shift, scale = label_map.shift, label_map.scale or 1.0
    config = raw_label_options(name, model.config, label_map)
    model = _without_contraction(model) if shift else model
    state = model.state
    squares = _power(scale, 2 * (gradient_power(config.values.get("loss_function")) or 0))
    low, high = shift + scale * state.low, shift + scale * state.high
    if label_range is not None:
        low, high = label_range[0] + min(low, 0.0), label_range[1] + max(high, 0.0)
    if not (is_float32(low) and is_float32(high)):
        fail(name, f"the range of the labels, {low:g} to {high:g}, is beyond float32; {AS_READ}")
    state = replace(
        state,
        initial_t=float(np.float32(config.values.get("initial_t", 0.0))),
        low=float(np.float32(low)),
        high=float(np.float32(high)),
        gravity=scale * state.gravity,
    )
    moved = VWModel(
        config,
        state,
        model.index,
        _times(name, "weight", model.weight, scale),
        _sums(name, model.adaptive, squares),
        model.normalized,
    )
    return _with_constant(moved, shift) if shift else moved


def raw_label_options(name: str, config: Config, label_map: LabelMap) -> Config:
    """Return the options with which VW goes on learning the labels as they are.

    Without l2 if there is a shift.

    >>> celsius = LabelMap(shift=32.0, scale=1.8)
    >>> print(raw_label_options("model.vw", Config(values={"learning_rate": 0.25}), celsius))
    no interactions; learning_rate 0.45
    >>> raw_label_options("model.vw", Config(values={"noconstant": True}), celsius)
    Traceback (most recent call last):
    chacha.errors.PoolError: model.vw: labels are learned less 32, which is in the weight of the \
constant, and the model has noconstant; leave noconstant out, or learn labels as they are: \
--as-read, ContestRules(scaling=None)
    """
    shift, scale = label_map.shift, label_map.scale or 1.0
    values: dict[str, Any] = dict(config.values)
    loss = values.get("loss_function")
    gradient, others = gradient_power(loss), sorted(values.keys() - (SUPPORTED - {"sparse_l2"}))
    if gradient is None or others:
        what = f"loss_function {loss}" if gradient is None else others[0]
        rule = f"the options of a model with {what} cannot be converted to the labels as they are"
        fail(name, f"{rule}; leave {what} out, or {AS_READ}")
    check_config(name, config)
    if shift and values.get("noconstant"):
        rule = f"labels are learned less {shift:g}, which is in the weight of the constant"
        fail(name, f"{rule}, and the model has noconstant; leave noconstant out, or {AS_READ}")
    if label_map.scale and abs(shift) > MOST_SHIFT * scale:
        rule = "float32 cannot hold labels so far from 0 in steps of their scale"
        remedy = f"subtract {shift:g} from the labels, or {AS_READ}"
        fail(name, f"{rule}: {shift:g} is more than 2^13 times {scale:g}; {remedy}")
    rate = 1 - gradient + 2 * gradient * float(values.get("power_t", POWER_T))
    if shift:
        values.pop("l2", None)
    powers = {"learning_rate": rate, "l2": -rate, "l1": 1 - rate}
    powers["initial_t"] = 2 * gradient  # the sum of squared gradients that weights start with
    if _power(scale, rate) != 1.0:
        values.setdefault("learning_rate", RATE)
    for key, power in powers.items():
        if values.get(key) and (factor := _power(scale, power)) != 1.0:
            values[key] = _float32(name, key, float(np.float32(values[key])) * factor)
    for key in values.keys() & {"min_prediction", "max_prediction"}:
        values[key] = _float32(name, key, shift + scale * values[key])
    return Config(config.interactions, values, config.derived)


def fresh_options(
    config: Config,
    label_map: LabelMap | None,
    label_range: tuple[float, float] | None = None,
) -> Config | None:
    """Return the options with which a new VW model learns the labels as `config` does.

    VW's constant starts at the shift. If there is one, VW keeps its predictions in `label_range`,
    that of the labels, where it is known: VW's own range always holds 0.

    None if there are no such options: where :func:`raw_label_options` refuses or leaves out some,
    and with a scaled `initial_t`, which in VW is both the first sum of squared gradients and a
    first count of examples.

    >>> celsius = LabelMap(shift=32.0, scale=1.8)
    >>> print(fresh_options(Config(["ab"]), celsius, label_range=(14.0, 86.0)))
    interactions ab; constant 32; learning_rate 0.9; max_prediction 86; min_prediction 14
    """
    if label_map is None or not changes_labels(label_map):
        return config
    try:
        options = raw_label_options("vw", config, label_map)
        constant = _float32("vw", "constant", label_map.shift)
    except PoolError:
        return None
    without_l2 = config.values.get("l2") and "l2" not in options.values
    if without_l2 or options.values.get("initial_t") != config.values.get("initial_t"):
        return None
    if not label_map.shift:
        return options
    values: dict[str, Value] = {"constant": constant}
    if label_range is not None:
        low, high = (label_map.mapped(y) for y in label_range)
        if is_float32(low) and is_float32(high):
            values["min_prediction"] = float(str(np.float32(low)))
            values["max_prediction"] = float(str(np.float32(high)))
    return options.with_values(**{**values, **options.values})


def _power(scale: float, exponent: float) -> float:
    """Return a power of the scale; infinite or 0 if it is beyond the range of floats."""
    with np.errstate(all="ignore"):
        return float(np.float64(scale) ** exponent)


def _float32(name: str, key: str, value: float) -> float:
    """Return the shortest number that is the same float32."""
    if not is_float32(value) or (value and not np.float32(value)):
        fail(name, f"{key} would be {value:g} for the labels as they are; {_beyond()}")
    return float(str(np.float32(value)))


def _times(
    name: str, what: str, numbers: NDArray[np.float32], factor: float
) -> NDArray[np.float32]:
    """Return numbers times a factor; an error if one is lost."""
    if factor == 1.0:
        return numbers
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        products = (numbers.astype(np.float64) * factor).astype(np.float32)
    lost = np.isfinite(numbers) & (~np.isfinite(products) | ((products == 0) & (numbers != 0)))
    if lost.any():
        number = float(numbers[lost][0])
        fail(name, f"a {what} would be {number:g} times {factor:g}; {_beyond()}")
    return products


def _sums(name: str, sums: NDArray[np.float32], factor: float) -> NDArray[np.float32]:
    """Return sums of squared gradients times a factor; an error if VW cannot go on adding."""
    moved = _times(name, SUM, sums, factor)
    if factor != 1.0:
        normal = (moved >= LEAST_SUM) & (moved <= MOST_SUM)
        if (bad := np.isfinite(sums) & (sums != 0) & ~normal).any():
            what = f"a {SUM} would be {float(sums[bad][0]):g} times {factor:g}"
            fail(name, f"{what}, where VW cannot add to it; {_beyond()}")
    return moved


def _beyond() -> str:
    return f"that is beyond the range of float32; use larger or smaller units, or {AS_READ}"


def _without_contraction(model: VWModel) -> VWModel:
    """Return the model with the contraction that l2 has accumulated applied to its weights."""
    state, contraction = model.state, model.state.contraction
    state = replace(state, gravity=contraction * state.gravity, contraction=1.0)
    weight = (model.weight.astype(np.float64) * contraction).astype(np.float32)
    return replace(model, state=state, weight=weight)


def _with_constant(model: VWModel, shift: float) -> VWModel:
    """Return the model with the shift added to what its constant predicts."""
    at = CONSTANT & ((1 << int(model.config.values.get("bit_precision", BITS))) - 1)
    index, columns = model.index, [model.weight, model.adaptive, model.normalized]
    if not (index == at).any():
        index = np.append(index, np.array([at], index.dtype))
        first = zip(columns, (0.0, max(model.state.initial_t, 0.0), 0.0), strict=True)
        columns = [np.append(column, np.float32(number)) for column, number in first]
    weight = columns[0].copy()
    # With l1, VW predicts with weights that are nearer to 0 by the gravity.
    gravity = model.state.gravity if model.config.values.get("l1") else 0.0
    own = float(weight[index == at][0])
    wanted = math.copysign(max(abs(own) - gravity, 0.0), own) + shift
    weight[index == at] = wanted + math.copysign(gravity, wanted)
    return VWModel(model.config, model.state, index, weight, *columns[1:])
