"""The reference learner: VW's default update in plain Python. Readable, exact, slow.

Squared loss; adaptive, normalised and invariant updates; single precision in VW's order
of operations, so that its predictions equal VW's to the last bit.
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
from chacha.data.vw_text import DEFAULT_GROUP, FLOAT32_MAX, hash_name
from chacha.errors import PoolError
from chacha.pools.base import SequentialPool, refuse_damping, refuse_idle, refuse_live

__all__ = ["ReferenceLearner", "ReferencePool"]

CONSTANT = 11650396
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
    """The C library's exp in single precision, the one VW calls."""
    try:
        expf = ctypes.CDLL(None).expf
    except (OSError, AttributeError):
        return math.exp
    expf.argtypes, expf.restype = [ctypes.c_float], ctypes.c_float
    return expf


exp32 = _expf()


class Slot:
    """One weight: w, the sum of squared gradients, the largest |x|, and its rate."""

    __slots__ = ("adaptive", "norm", "rate", "w")

    def __init__(self) -> None:
        self.w = self.adaptive = self.norm = self.rate = ZERO

    def twin(self) -> Slot:
        """Another weight with the same numbers."""
        made = Slot()
        made.w, made.adaptive, made.norm, made.rate = self.w, self.adaptive, self.norm, self.rate
        return made


class ReferenceLearner:
    """A linear model over the groups and their products, learned as VW does by default.

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
                f"the reference learner knows squared loss only, got {options['loss_function']!r}; "
                "the VW pool has the others"
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

    def take(self, source: ReferenceLearner, damping: float = 0.0) -> None:
        """Go on with the weights and the state of another model; what is new is damped.

        >>> old, new = ReferenceLearner(Config()), ReferenceLearner(Config(["ab"]))
        >>> new.take(old, damping=1.0)
        >>> new.seeds == [old.squared_gradients()] == [0]
        True
        """
        if self.mask != source.mask:
            raise PoolError("a copy has as many bits as its source")
        self.slots = {index: slot.twin() for index, slot in source.slots.items()}
        self.low, self.high = source.low, source.high
        self.sum_norm_x, self.total_weight = source.sum_norm_x, source.total_weight
        with np.errstate(all="ignore"):
            seed = f32(damping) * source.squared_gradients() if damping > 0 else ZERO
        if not np.isfinite(seed):  # sums that have left the range of numbers damp nothing
            seed = ZERO
        self.seeds = [ZERO if p in source.products else seed for p in self.products]
        self.own_seeds = [ZERO if name in source.derived else seed for name in self.derived]

    def squared_gradients(self) -> np.float32:
        """The sum of the squared gradients so far: what the constant holds.

        Without a constant, what the weights hold on average, as if all values had been 1.
        """
        if self.constant:
            slot = self.slots.get(CONSTANT & self.mask)
            return slot.adaptive if slot and slot.norm > 0 else ZERO
        touched = [slot for _, slot in sorted(self.slots.items()) if slot.norm > 0]
        total = 0.0
        for slot in touched:  # one after the other, as in C++: not with sum(), which compensates
            total += float(slot.adaptive) / (float(slot.norm) * float(slot.norm))
        return f32(total / len(touched)) if touched else ZERO

    def undamp(self) -> None:
        """Damp nothing any more."""
        self.seeds = [ZERO] * len(self.products)
        self.own_seeds = [ZERO] * len(self.derived)  # of derived groups

    def predict(self, example: Example) -> float:
        """The prediction, within the labels seen so far."""
        with np.errstate(all="ignore"):
            raw = f32(example.initial)
            for x, index, _ in self._features(example):
                slot = self.slots.get(index)
                raw += (slot.w if slot else ZERO) * x  # 0 times an infinite product is no number
            return float(self._clip(raw))

    def _clip(self, raw: np.float32) -> np.float32:
        return ZERO if np.isnan(raw) else min(max(raw, self.low), self.high)

    def learn(self, example: Example) -> None:
        """One update: predict, find every weight's rate, move the weights."""
        y, weight = f32(example.label), f32(example.weight)
        if weight <= 0:  # VW takes note of the label all the same
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
        """How far to move: the invariant update of squared loss."""
        gradient2 = weight * (FOUR * (p - y) * (p - y))
        per_update = ONE
        multiplier = ONE
        if gradient2 != 0:
            norm_x = per_update = ZERO
            for x, slot, seed in features:
                x2 = x * x
                if x2 < X2_MIN:
                    x, x2 = (X_MIN if x > 0 else -X_MIN), X2_MIN
                if seed > 0 and abs(x) > slot.norm == 0:  # as if it had seen some gradients
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
        """Values, indices, seeds in VW's order: groups by first letter, constant, products."""
        letters: dict[int, list[tuple[Feature, np.float32]]] = {}
        every: dict[str, Sequence[Feature]] = dict(example.groups)
        for name in self.derived:  # derived groups come last
            every[name] = example.derived.get(name, ())
        seeds = dict(zip(self.derived, self.own_seeds, strict=True))
        for name, features in every.items():
            if features:
                own = [(feature, seeds.get(name, ZERO)) for feature in features]
                letters.setdefault(name.encode()[0], []).extend(own)
        for found in letters.values():
            for feature, seed in found:
                yield f32(feature.value), feature.hashed & self.mask, seed
        if self.constant:
            yield ONE, CONSTANT & self.mask, ZERO
        for product, seed in zip(self.products, self.seeds, strict=True):
            groups = [every.get(name, ()) for _, _, name in product]
            if all(groups):
                names = [name for _, _, name in product]
                numbers = [[(f32(value), hashed) for _, value, hashed in group] for group in groups]
                for x, hashed in expand_product(names, numbers):
                    yield x, hashed & self.mask, seed


def _seed(group: str) -> int:
    return 0 if group == DEFAULT_GROUP else hash_name(group, 0)


class ReferencePool(SequentialPool):
    """A pool of :class:`ReferenceLearner`: needs no other library, for tests and for reading.

    >>> ReferencePool().default("learning_rate")
    0.5
    """

    derives = True

    def __init__(self) -> None:
        super().__init__(ReferenceLearner, DEFAULTS)

    def fresh(self) -> ReferencePool:
        """An empty pool."""
        return ReferencePool()

    def copy(self, source: Config, config: Config, damping: float = 0.0) -> None:
        """Give `config` a model with the weights and the state of `source`'s.

        A weight that it meets first in a product or a derived group which `source` does not have
        is damped.

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
        learner.take(self._learner(source), damping)
        self._models[config] = learner

    def undamp(self, config: Config) -> None:
        """From now on `config` learns as if it had never been a copy."""
        refuse_idle(config, self._models)
        self._learner(config).undamp()

    def _learner(self, config: Config) -> ReferenceLearner:
        return cast("ReferenceLearner", self._models[config])
