"""A pool whose models learn labels in units of their scale, around any other pool."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from os import PathLike, fspath
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import cast

from chacha.config.config import Config, Value
from chacha.data.example import Example
from chacha.data.label_map import LabelMap, MeanCorrection
from chacha.errors import PoolError
from chacha.pools.base import (
    Capabilities,
    CopyingPool,
    ExportingPool,
    LivePool,
    capabilities_of,
    learn_in_order,
    refuse_idle,
    refuse_live,
    refuse_unlabelled,
)
from chacha.vw.model_file import read_vw_model, write_vw_model
from chacha.vw.relabel import changes_labels, raw_label_options, with_raw_labels

__all__ = ["ScaledPool"]


class ScaledPool:
    """The models of a pool, with predictions and labels in the units of the stream.

    A model keeps the map it was started with, and a copy has that of its source. Models with
    different maps live in different pools, because the models of a pool learn the same label.
    With `corrects`, models that learn logarithms predict the mean of the label.

    >>> from chacha import ReferencePool
    >>> from chacha.data.text_parser import parse_line
    >>> pool = ScaledPool(ReferencePool())
    >>> pool.map = LabelMap(shift=1000.0, scale=50.0)
    >>> pool.start(Config())
    >>> for _ in range(20):
    ...     _ = pool.learn(parse_line("1100 |a x"))
    >>> round(pool.predict(parse_line("|a x"))[Config()])
    1099
    """

    def __init__(self, pool: LivePool, corrects: bool = False) -> None:
        self.corrects = corrects
        self.map = LabelMap()
        """How models that start empty learn labels."""
        self._first = pool
        self._pools: dict[LabelMap, LivePool] = {self.map: pool}
        self._maps: dict[Config, LabelMap] = {}
        self._corrections: dict[Config, MeanCorrection] = {}
        self._range: tuple[float, float] | None = None  # of the labels
        self.has_bases = False
        """Whether an example that was learned brought an initial prediction."""

    @property
    def given(self) -> LivePool:
        """The pool that it was made of."""
        return self._first

    @property
    def capabilities(self) -> Capabilities:
        """Those of the pool; the engine does not run its models."""
        return replace(capabilities_of(self._first), engine=False)

    @property
    def live(self) -> Collection[Config]:
        """The configurations that have a model now."""
        return self._maps.keys()

    def fresh(self) -> ScaledPool:
        """Return an empty pool with the same settings, and no map yet."""
        return ScaledPool(self._first.fresh(), self.corrects)

    def default(self, key: str) -> Value | None:
        """Return the learner's default for an option; None if it has no such option."""
        return self._first.default(key)

    def map_of(self, config: Config) -> LabelMap:
        """Return how a live model learns labels."""
        return self._maps[config]

    def pool_of(self, config: Config) -> LivePool:
        """Return the pool that a live model is in."""
        refuse_idle(config, self._maps)
        return self._pools[self._maps[config]]

    def start(self, config: Config) -> None:
        """Give `config` an empty model, which learns labels by :attr:`map`."""
        refuse_live(config, self._maps)
        self._pool_for(self.map).start(config)
        self._maps[config] = self.map
        if self.map.logarithm and self.corrects:
            self._corrections[config] = MeanCorrection()

    def _pool_for(self, label_map: LabelMap) -> LivePool:
        if label_map not in self._pools:
            idle = [key for key, pool in self._pools.items() if not pool.live]
            self._pools[label_map] = self._pools.pop(idle[0]) if idle else self._first.fresh()
        return self._pools[label_map]

    def stop(self, config: Config) -> None:
        """Drop the model of `config`."""
        self.pool_of(config).stop(config)
        del self._maps[config]
        self._corrections.pop(config, None)

    def copy(self, source: Config, config: Config, damping: float = 0.0) -> None:
        """Give `config` a copy of the model of `source`, which learns labels as it does."""
        pool = cast("CopyingPool", self.pool_of(source))
        pool.copy(source, config, damping)
        self._maps[config] = self._maps[source]
        if (correction := self._corrections.get(source)) is not None:
            self._corrections[config] = replace(correction)

    def undamp(self, config: Config) -> None:
        """Let `config` learn from now on as if it had never been a copy."""
        cast("CopyingPool", self.pool_of(config)).undamp(config)

    def begin_again(self, label_map: LabelMap) -> None:
        """Make all models empty; from now on they learn labels by `label_map`."""
        self.map, live = label_map, list(self._maps)
        for config in live:
            self.stop(config)
        for config in live:
            self.start(config)

    def find_scale(self, y: float) -> None:
        """Let a label show the scale of maps that have none, if it is the first that differs.

        No model has learned anything by these maps.
        """
        if all(each.scale > 0.0 for each in (self.map, *self._pools)):
            return
        found = {each: each.found(y) for each in (self.map, *self._pools)}
        self._pools = {found[each]: pool for each, pool in self._pools.items()}
        self._maps = {config: found[each] for config, each in self._maps.items()}
        self.map = found[self.map]

    def to_vw(self, config: Config, path: str | PathLike[str]) -> None:
        """Write the model of `config` as a VW model file for the labels as they are."""
        pool, label_map = cast("ExportingPool", self.pool_of(config)), self._maps[config]
        labels = self._range if self.has_bases else None
        if not changes_labels(label_map) and labels is None:
            pool.to_vw(config, path)
            return
        raw_label_options(fspath(path), config, label_map)  # before other learners are refused
        try:
            with TemporaryDirectory(prefix="chacha-") as folder:
                aside = Path(folder, "model.vw")
                pool.to_vw(config, aside)
                model = read_vw_model(aside)
        except OSError as error:
            raise PoolError(f"{fspath(path)}: a model is moved through a file: {error}") from error
        model.config = config  # VW does not save all of it
        model = with_raw_labels(fspath(path), model, label_map, labels)
        write_vw_model(path, model, self_contained=True)

    def predict(self, example: Example) -> Mapping[Config, float]:
        """Return the prediction of every live model, in the units of the labels."""
        bare, raw = _without_initial(example), {}
        for label_map, pool in self._pools.items():
            for config, prediction in pool.predict(bare).items():
                raw[config] = self._to_user(config, label_map, prediction, example.initial)
        return {config: raw[config] for config in self._maps}

    def _to_user(self, config: Config, label_map: LabelMap, raw: float, base: float) -> float:
        correction = self._corrections.get(config)
        return label_map.to_user(raw, base, 1.0 if correction is None else correction.factor)

    def learn(self, example: Example) -> Mapping[Config, float]:
        """Let every live model learn the example; return what `predict` would have returned."""
        refuse_unlabelled(example)
        bare, raw = _without_initial(example), {}
        self._observe_label(example)
        for label_map, pool in self._pools.items():
            y, base = example.target_or_label, example.initial
            label = label_map.to_learner(y, base)
            for config, prediction in pool.learn(bare.with_label(label)).items():
                raw[config] = self._to_user(config, label_map, prediction, base)
                if example.weight > 0 and (correction := self._corrections.get(config)) is not None:
                    correction.observe(label_map, prediction, y, base)
        return {config: raw[config] for config in self._maps}

    def _observe_label(self, example: Example) -> None:
        y = example.target_or_label
        low, high = self._range or (y, y)
        self._range = min(low, y), max(high, y)
        self.has_bases = self.has_bases or example.initial != 0.0

    def learn_many(self, examples: Sequence[Example]) -> list[Mapping[Config, float]]:
        """Learn a batch, one example after the other; return the predictions for each."""
        return learn_in_order(self.learn, examples)


def _without_initial(example: Example) -> Example:
    """Return the example without an initial prediction, to which models add theirs."""
    if example.initial == 0.0:
        return example
    bare = replace(example, initial=0.0, head="")
    return bare if example.label is None else bare.with_label(example.label)
