"""The reference learner: VW's default update in plain Python. Readable, exact, slow.

It has squared loss with adaptive, normalised and invariant updates. It computes in single
precision in VW's order of operations, so that its predictions equal VW's to the last bit.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable, Iterator, Sequence
from typing import cast

import numpy as np

from chacha.config.config import Config, Value
from chacha.data.example import Example, Feature
from chacha.data.products import expand_product
from chacha.data.vw_text import CONSTANT, DEFAULT_GROUP, FLOAT32_MAX, hash_name
from chacha.errors import PoolError
from chacha.pools.base import (
    Capabilities,
    SequentialPool,
    refuse_damping,
    refuse_idle,
    refuse_live,
)

__all__ = ["ReferenceLearner", "ReferencePool"]

DEFAULTS: dict[str, Value] = {
    "bit_precision": 18,
    "learning_rate": 0.5,
    "loss_function": "squared",
    "noconstant": False,
}

f32 = np.float32
X_MIN = f32(1.084202e-19)
X2_MIN = X_MIN * X_MIN
ZERO, ONE, TWO, FOUR = f32(0), f32(1), f32(2), f32(4)


def _expf() -> Callable[[float], float]:
    """Return the C library's exp in single precision, the one that VW calls."""
    try:
        expf = ctypes.CDLL(None).expf
    except (OSError, AttributeError):
        return math.exp
    expf.argtypes, expf.restype = [ctypes.c_float], ctypes.c_float
    return expf


exp32 = _expf()


class Slot:
    """One weight: w, the sum of its squared gradients, the largest |x|, and its rate."""

    __slots__ = ("adaptive", "norm", "rate", "w")

    def __init__(self) -> None:
        self.w = self.adaptive = self.norm = self.rate = ZERO

    def copy(self) -> Slot:
        """Return another weight with the same numbers."""
        slot = Slot()
        slot.w, slot.adaptive, slot.norm, slot.rate = self.w, self.adaptive, self.norm, self.rate
        return slot


class ReferenceLearner:
    """A linear model over the groups and their products, with VW's default update.

    >>> from chacha.data.text_parser import parse_line
    >>> model = ReferenceLearner(Config(["ab"]))
    >>> for _ in range(3):
    ...     model.learn(parse_line("1 |a x |b y"))
    >>> round(model.predict(parse_line("|a x |b y")), 4)
    0.9432
    """

    def __init__(self, config: Config) -> None:
        options = {**DEFAULTS, **config.values}
        for key in options:
            if key not in DEFAULTS:
                known = ", ".join(DEFAULTS)
                raise PoolError(f"the reference learner has no option {key!r}; it knows: {known}")
        if options["loss_function"] != "squared":
            raise PoolError(
                f"loss_function of the reference learner must be 'squared', got "
                f"{options['loss_function']!r}; the VW pool has the others"
            )
        self.rate = f32(options["learning_rate"])
        self.constant = not options["noconstant"]
        self.mask = (1 << int(options["bit_precision"])) - 1
        self.products = sorted(
            sorted((name.encode()[0], _seed(name), name) for name in product)
            for product in config.interactions
        )
        self.derived = config.derived
        self.undamp()
        self.slots: dict[int, Slot] = {}
        self.low = self.high = ZERO  # VW's label range starts at [0, 0]
        self.sum_norm_x = 0.0
        self.total_weight = 0.0

    def close(self) -> None:
        """Free the weights."""
        self.slots.clear()

    def copy_from(self, source: ReferenceLearner, damping: float = 0.0) -> None:
        """Continue with the weights and the state of another model; new coordinates are damped.

        >>> old, new = ReferenceLearner(Config()), ReferenceLearner(Config(["ab"]))
        >>> new.copy_from(old, damping=1.0)
        >>> new.product_seeds == [old.squared_gradients()] == [0]
        True
        """
        if self.mask != source.mask:
            raise PoolError("a copy must have the same bit_precision as its source")
        self.slots = {index: slot.copy() for index, slot in source.slots.items()}
        self.low, self.high = source.low, source.high
        self.sum_norm_x, self.total_weight = source.sum_norm_x, source.total_weight
        with np.errstate(all="ignore"):
            seed = f32(damping) * source.squared_gradients() if damping > 0 else ZERO
        if not np.isfinite(seed):  # sums that have overflowed damp nothing
            seed = ZERO
        self.product_seeds = [ZERO if p in source.products else seed for p in self.products]
        self.derived_seeds = [ZERO if name in source.derived else seed for name in self.derived]

    def squared_gradients(self) -> np.float32:
        """Return the sum of the squared gradients so far, which the constant's weight holds.

        Without a constant, it is the mean over the weights, scaled as if all values had been 1.
        """
        if self.constant:
            slot = self.slots.get(CONSTANT & self.mask)
            return slot.adaptive if slot and slot.norm > 0 else ZERO
        touched = [slot for _, slot in sorted(self.slots.items()) if slot.norm > 0]
        total = 0.0
        for slot in touched:  # in order, as in C++; sum() would compensate rounding errors
            total += float(slot.adaptive) / (float(slot.norm) * float(slot.norm))
        return f32(total / len(touched)) if touched else ZERO

    def undamp(self) -> None:
        """Stop damping."""
        self.product_seeds = [ZERO] * len(self.products)
        self.derived_seeds = [ZERO] * len(self.derived)

    def predict(self, example: Example) -> float:
        """Return the prediction, clipped to the range of the labels so far."""
        with np.errstate(all="ignore"):
            raw = f32(example.initial)
            for x, index, _ in self._features(example):
                slot = self.slots.get(index)
                raw += (slot.w if slot else ZERO) * x  # 0 times an infinite product is NaN
            return float(self._clip(raw))

    def _clip(self, raw: np.float32) -> np.float32:
        return ZERO if np.isnan(raw) else min(max(raw, self.low), self.high)

    def learn(self, example: Example) -> None:
        """Update the model: predict, compute the rate of every weight, change the weights."""
        y, weight = f32(example.label), f32(example.weight)
        if weight <= 0:  # VW extends its label range nevertheless
            self.low, self.high = min(self.low, y), max(self.high, y)
            return
        with np.errstate(all="ignore"):
            features = [
                (x, self.slots.setdefault(index, Slot()), seed)
                for x, index, seed in self._features(example)
            ]
            raw = f32(example.initial)
            for x, slot, _ in features:
                raw += slot.w * x
            self.low, self.high = min(self.low, y), max(self.high, y)
            p = self._clip(raw)
            if (p - y) * (p - y) > 0:
                update = self._update(features, p, y, weight)
                if update != 0 and not np.isnan(update):
                    for x, slot, _ in features:
                        if abs(x) < FLOAT32_MAX:
                            slot.w += update * (x * slot.rate)

    def _update(
        self,
        features: list[tuple[np.float32, Slot, np.float32]],
        p: np.float32,
        y: np.float32,
        weight: np.float32,
    ) -> np.float32:
        """Return the size of the update: the invariant update of squared loss."""
        gradient2 = weight * (FOUR * (p - y) * (p - y))
        per_update = ONE
        multiplier = ONE
        if gradient2 != 0:
            norm_x = per_update = ZERO
            for x, slot, seed in features:
                x2 = x * x
                if x2 < X2_MIN:
                    x, x2 = (X_MIN if x > 0 else -X_MIN), X2_MIN
                if seed > 0 and abs(x) > slot.norm == 0:  # as if it had seen gradients before
                    slot.adaptive += seed * x2
                slot.adaptive += gradient2 * x2
                if abs(x) > slot.norm:  # a new scale: as if it had been the scale all along
                    if slot.norm > 0:
                        slot.w *= slot.norm / abs(x)
                    slot.norm = abs(x)
                norm_x += ONE if x2 > FLOAT32_MAX else x2 / (slot.norm * slot.norm)
                slot.rate = (ONE / np.sqrt(slot.adaptive)) * (ONE / slot.norm)
                per_update += x2 * slot.rate
            self.sum_norm_x += float(weight) * float(norm_x)
            self.total_weight += float(weight)
            multiplier = np.sqrt(f32(self.total_weight) / f32(self.sum_norm_x))
            per_update *= multiplier
        scale = self.rate * weight
        if float(scale * per_update) < 1e-6:
            update = TWO * (y - p) * scale
        else:
            decay = f32(exp32(float(-TWO * scale * per_update)))
            update = (y - p) * (ONE - decay) / per_update
        return update * multiplier

    def _features(self, example: Example) -> Iterator[tuple[np.float32, int, np.float32]]:
        """Yield values, indices and seeds in VW's order: groups by letter, constant, products."""
        letters: dict[int, list[tuple[Feature, np.float32]]] = {}
        groups: dict[str, Sequence[Feature]] = dict(example.groups)
        for name in self.derived:  # derived groups come last
            groups[name] = example.derived.get(name, ())
        seeds = dict(zip(self.derived, self.derived_seeds, strict=True))
        for name, features in groups.items():
            if features:
                seeded = [(feature, seeds.get(name, ZERO)) for feature in features]
                letters.setdefault(name.encode()[0], []).extend(seeded)
        for seeded in letters.values():
            for feature, seed in seeded:
                yield f32(feature.value), feature.hashed & self.mask, seed
        if self.constant:
            yield ONE, CONSTANT & self.mask, ZERO
        for product, seed in zip(self.products, self.product_seeds, strict=True):
            factors = [groups.get(name, ()) for _, _, name in product]
            if all(factors):
                names = [name for _, _, name in product]
                numbers = [[(f32(x), hashed) for _, x, hashed in group] for group in factors]
                for x, hashed in expand_product(names, numbers):
                    yield x, hashed & self.mask, seed


def _seed(group: str) -> int:
    return 0 if group == DEFAULT_GROUP else hash_name(group, 0)


class ReferencePool(SequentialPool):
    """A pool of :class:`ReferenceLearner`, for tests and for reading. It needs no other library.

    >>> ReferencePool().default("learning_rate")
    0.5
    """

    def __init__(self) -> None:
        super().__init__(ReferenceLearner, DEFAULTS)

    @property
    def capabilities(self) -> Capabilities:
        """The pool copies models, and they use derived groups."""
        return Capabilities(copies=True, derives=True)

    def fresh(self) -> ReferencePool:
        """Return an empty pool."""
        return ReferencePool()

    def copy(self, source: Config, config: Config, damping: float = 0.0) -> None:
        """Give `config` a model with the weights and the state of the model of `source`.

        Weights that first occur in a product or derived group which `source` does not have are
        damped.

        >>> from chacha.data.text_parser import parse_line
        >>> pool = ReferencePool()
        >>> pool.start(Config())
        >>> _ = pool.learn(parse_line("1 |a x |b y"))
        >>> pool.copy(Config(), Config(["ab"]), damping=0.5)
        >>> len(set(pool.predict(parse_line("|a x |b y")).values()))
        1
        """
        refuse_idle(source, self._models)
        refuse_live(config, self._models)
        refuse_damping(damping)
        learner = ReferenceLearner(config)
        learner.copy_from(self._learner(source), damping)
        self._models[config] = learner

    def undamp(self, config: Config) -> None:
        """Let `config` learn from now on as if it had never been a copy."""
        refuse_idle(config, self._models)
        self._learner(config).undamp()

    def _learner(self, config: Config) -> ReferenceLearner:
        return cast("ReferenceLearner", self._models[config])
