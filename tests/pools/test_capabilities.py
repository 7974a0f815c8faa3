"""What a pool declares that it can do, and what follows from it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import pytest

from chacha import (
    ChaCha,
    Config,
    DerivedFeatures,
    Example,
    NativePool,
    ReferencePool,
    SequentialPool,
    checks,
    open_pool,
)
from chacha.config.space import Interactions, Space
from chacha.data import parse_line
from chacha.errors import ConfigError, PoolError
from chacha.pools.base import Capabilities, LivePool, capabilities_of, copies, learn_many
from chacha.pools.native import runs_in_engine
from chacha.pools.reference import ReferenceLearner
from chacha.pools.vw import VWPool
from tests.support.fast_rules import PlainPool

ALL = Capabilities(copies=True, derives=True, exports=True, imports=True, engine=True)

HEAD_START_NOTE = "cannot copy a model: challengers start empty"


def sequential() -> SequentialPool:
    return SequentialPool(ReferenceLearner)


class SevenMethods:
    """A pool as it was before there were capabilities and batches."""

    def __init__(self) -> None:
        self._pool = ReferencePool()

    @property
    def live(self) -> Collection[Config]:
        return self._pool.live

    def fresh(self) -> SevenMethods:
        return SevenMethods()

    def default(self, key: str) -> Any:
        return self._pool.default(key)

    def start(self, config: Config) -> None:
        self._pool.start(config)

    def stop(self, config: Config) -> None:
        self._pool.stop(config)

    def predict(self, example: Example) -> Mapping[Config, float]:
        return self._pool.predict(example)

    def learn(self, example: Example) -> Mapping[Config, float]:
        return self._pool.learn(example)


class Undeclared(SevenMethods):
    """It can copy, and says so as pools did before there were capabilities."""

    derives = True

    def copy(self, source: Config, config: Config, damping: float = 0.0) -> None:
        self._pool.copy(source, config, damping)

    def undamp(self, config: Config) -> None:
        self._pool.undamp(config)


class Without(ReferencePool):
    """A reference pool that declares nothing, although it has the methods."""

    @property
    def capabilities(self) -> Capabilities:
        return Capabilities(copies=False, derives=False)

    def fresh(self) -> Without:
        return Without()


class Trusted(NativePool):
    """A subclass that changes no method, and says that the engine may run it."""

    @property
    def capabilities(self) -> Capabilities:
        return ALL

    def fresh(self) -> Trusted:
        return Trusted()


@pytest.mark.parametrize(
    ("pool", "capabilities"),
    [
        (NativePool, ALL),
        (PlainPool, Capabilities(copies=True, derives=True, exports=True, imports=True)),
        (VWPool, Capabilities(copies=True, derives=True, exports=True)),
        (ReferencePool, Capabilities(copies=True, derives=True)),
        (sequential, Capabilities()),
        (lambda: open_pool("river:LinearRegression"), Capabilities()),
        (SevenMethods, Capabilities()),
        (Undeclared, Capabilities()),
    ],
)
def test_what_each_pool_can_do(pool: Callable[[], LivePool], capabilities: Capabilities) -> None:
    assert capabilities_of(pool()) == capabilities
    assert copies(pool()) == capabilities.copies
    assert runs_in_engine(pool()) == capabilities.engine


def test_false_means_false() -> None:
    """Nothing is tuned, copied or written that a pool says it cannot do."""
    assert ChaCha(pool=ReferencePool()).space.features is not None
    model = ChaCha(pool=Without())
    assert model.space.features is None
    model.run("synth:interactions", limit=300)
    assert HEAD_START_NOTE in str(model.summary())
    with pytest.raises(ConfigError, match="Without cannot use derived groups"):
        ChaCha(pool=Without(), space=Space.of({"features": DerivedFeatures()}))


def test_copies_are_made_if_declared() -> None:
    """A pool with the methods makes no copies unless it declares that it does."""
    started: list[Config] = []

    class Counting(ReferencePool):
        def copy(self, source: Config, config: Config, damping: float = 0.0) -> None:
            started.append(config)
            super().copy(source, config, damping)

    class Silent(Counting):
        @property
        def capabilities(self) -> Capabilities:
            return Capabilities()

    for pool, declared in ((Counting(), True), (Silent(), False)):
        started.clear()
        ChaCha(pool=pool, space={"interactions": Interactions()}).run(
            "synth:interactions", limit=30
        )
        assert bool(started) == declared


def test_the_engine_runs_a_subclass_that_declares_it() -> None:
    """Any other subclass may change a method, so Python runs it; the results are the same."""
    models = [ChaCha(pool=pool) for pool in (NativePool(), Trusted(), PlainPool())]
    drivers = [type(model._driver).__name__ for model in models]
    assert drivers == ["NativeDriver", "NativeDriver", "PythonDriver"]
    losses = {model.run("synth:interactions", limit=2000).loss for model in models}
    assert len(losses) == 1


def test_a_champion_is_written_and_loaded_if_declared(tmp_path: Path) -> None:
    path = tmp_path / "champion.vw"
    model = ChaCha.paper(pool=open_pool("vw"))
    model.run("synth:interactions", limit=50)
    model.to_vw(path)
    pool: LivePool
    for pool in (ReferencePool(), sequential()):
        name = type(pool).__name__
        with pytest.raises(PoolError, match=f"{name} cannot write a VW model; the native pool"):
            ChaCha.paper(pool=pool).to_vw(path)
    for pool in (open_pool("vw"), ReferencePool()):
        name = type(pool).__name__
        with pytest.raises(PoolError, match=f"{name} cannot start from a VW model"):
            ChaCha.from_vw(path, pool=pool, rules=model.rules)
    loaded = ChaCha.from_vw(path, pool=PlainPool(), rules=model.rules)
    example = "|a 0:1 |b 0:1"
    assert loaded.predict_one(example) == model.pool.predict(parse_line(example))[model.champion]


def failures(make: Callable[[], Any]) -> dict[str, str]:
    """Return the message of every check that fails, by name."""
    messages: dict[str, str] = {}
    for check in checks.all_checks():
        try:
            check(make)
        except AssertionError as error:
            messages[check.__name__] = str(error)
    return messages


def test_a_pool_of_seven_methods_still_works() -> None:
    pool: Any = SevenMethods()
    assert not failures(SevenMethods)
    pool.start(Config())
    other = ReferencePool()
    other.start(Config())
    batch = [parse_line(line) for line in ("1 |a x", "0 |a y", "2 |b x")]
    assert learn_many(pool, batch) == [other.learn(example) for example in batch]
    model = ChaCha(pool=pool.fresh())
    reference = ChaCha(pool=Without())
    runs = [each.run("synth:interactions", limit=300).loss for each in (model, reference)]
    assert runs[0] == runs[1]
    assert HEAD_START_NOTE in str(model.summary())


@pytest.mark.parametrize("pool", [Trusted, PlainPool, Without])
def test_subclasses_keep_the_contract(pool: Callable[[], Any]) -> None:
    class Fresh(PlainPool):
        def fresh(self) -> Fresh:
            return Fresh()

    assert not failures(Fresh if pool is PlainPool else pool)


def declaring(**capabilities: bool) -> type[SevenMethods]:
    """Return a pool of seven methods that declares more than it has."""

    class Boasting(SevenMethods):
        @property
        def capabilities(self) -> Capabilities:
            return Capabilities(**capabilities)

        def fresh(self) -> Boasting:
            return Boasting()

    return Boasting


@pytest.mark.parametrize(
    ("pool", "message"),
    [
        (declaring(copies=True), "Boasting declares copies and has no copy and no undamp"),
        (declaring(exports=True), "Boasting declares exports and has no to_vw"),
        (declaring(imports=True), "Boasting declares imports and has no load_vw"),
        (declaring(engine=True), "Boasting declares engine and is no NativePool"),
        (Undeclared, "Undeclared has copy and undamp, which are not used: it has no capabilities"),
    ],
)
def test_the_checks_say_what_is_wrong_with_a_declaration(
    pool: Callable[[], Any], message: str
) -> None:
    with pytest.raises(AssertionError, match=message):
        checks.check_capabilities_are_those_declared(pool)


def test_the_checks_name_an_attribute_that_is_not_used() -> None:
    class Old(SevenMethods):
        derives = True

    with pytest.raises(AssertionError, match=r"Old\.derives is not used; add the property"):
        checks.check_capabilities_are_those_declared(lambda: Old())  # type: ignore[arg-type, return-value]


def test_a_declaration_that_is_no_value_is_refused() -> None:
    class Odd(SevenMethods):
        capabilities: ClassVar = {"copies": True}

    with pytest.raises(PoolError, match=r"Odd\.capabilities must be a value such as Capabilities"):
        ChaCha(pool=Odd())  # type: ignore[arg-type]


class Batching(ReferencePool):
    """A reference pool whose batches are wrong in one way."""

    fault = ""

    def fresh(self) -> Batching:
        return type(self)()

    def learn_many(self, examples: Sequence[Example]) -> list[Mapping[Config, float]]:
        if self.fault == "order":
            return super().learn_many(examples[::-1])[::-1]
        if self.fault == "all or nothing":
            for example in examples:
                self.fresh().learn(example)
        if self.fault == "late":
            predictions = [self.predict(example) for example in examples]
            super().learn_many(examples)
            return predictions
        if self.fault == "no position":
            return [self.learn(example) for example in examples]
        return super().learn_many(examples)


SAME, BAD = "check_a_batch_is_learned_as_single_examples_are", "check_a_batch_ends_at_a_bad_example"


@pytest.mark.parametrize(
    ("fault", "failing"),
    [
        ("", set()),
        ("order", {SAME, BAD}),
        ("late", {SAME}),
        ("all or nothing", {BAD}),
        ("no position", {BAD}),
    ],
)
def test_the_checks_catch_a_wrong_batch(fault: str, failing: set[str]) -> None:
    pool = type("Batching", (Batching,), {"fault": fault})
    assert failures(pool).keys() == failing


@pytest.mark.parametrize("name", ["native", "vw", "reference", "river:LinearRegression"])
def test_an_error_in_a_batch_names_the_example(name: str) -> None:
    pool = open_pool(name)
    pool.start(Config())
    batch = [parse_line("1 |a x"), parse_line("|a x"), parse_line("2 |a x")]
    with pytest.raises(ValueError, match="has no label") as raised:
        pool.learn_many(batch)
    note = "example 2 of a batch of 3; the ones before it are learned"
    assert raised.value.__notes__ == [note]
