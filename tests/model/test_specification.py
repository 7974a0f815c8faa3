"""What models with equal constructor arguments share, and that sharing changes nothing."""

from __future__ import annotations

import gc
import tracemalloc
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

import chacha
from chacha import ChaCha, Config, ContestRules, PaperRules, ReferencePool
from chacha.errors import ConfigError
from chacha.rules.contest import Blending, Moves, Screening
from chacha.rules.head_start import HeadStart
from chacha.specification import Specification
from tests.support.fast_rules import KEEN
from tests.support.native_runs import lines_of, state

SPACE = {"interactions": chacha.Interactions(), "learning_rate": chacha.LogUniform(0.01, 1.0)}


def oracle(champion: Config, groups: Sequence[str]) -> list[Config]:
    return [champion.with_product(groups[:2])]


SETTINGS: dict[str, dict[str, Any]] = {
    "defaults": {},
    "budget": {"budget": 3},
    "seed": {"seed": 1},
    "rules": {"rules": ContestRules(evidence=KEEN, blending=Blending(burn_in=10))},
    "oracle": {"rules": ContestRules(oracle=oracle)},
    "paper": {"rules": PaperRules()},
    "authors": {"rules": PaperRules.authors()},
    "loss": {"loss": chacha.Quantile(0.9)},
    "space": {"space": dict(SPACE)},
    "init": {"init": {"learning_rate": 0.25, "interactions": [("a", "b")]}},
    "features": {"space": {**SPACE, "features": chacha.DerivedFeatures(knots=8)}},
}


@pytest.mark.parametrize("name", SETTINGS)
def test_equal_arguments_give_the_same_specification(name: str) -> None:
    one, two = ChaCha(**SETTINGS[name]), ChaCha(**SETTINGS[name])
    assert one.specification is two.specification
    assert one.specification.algorithm is two.specification.algorithm
    others = [ChaCha(**settings) for key, settings in SETTINGS.items() if key != name]
    assert all(other.specification is not one.specification for other in others)


def test_values_of_other_types_are_other_arguments() -> None:
    rates = [ChaCha(init={"learning_rate": value}) for value in (1, 1.0)]
    assert rates[0].specification is not rates[1].specification
    words = [ChaCha(init={"noconstant": value}).specification for value in (True, False, True)]
    assert words[0] is words[2] is not words[1]


def test_order_does_not_matter_and_later_changes_of_arguments_do_not_either() -> None:
    init: dict[str, Any] = {"l1": 1e-6, "learning_rate": 0.25}
    one = ChaCha(init=init)
    two = ChaCha(init=dict(reversed(init.items())))
    assert one.specification is two.specification
    init["l1"] = 5.0
    assert ChaCha(init=init).specification is not one.specification
    assert one.initial.values["l1"] == 1e-6


def test_other_pools_are_other_specifications() -> None:
    pool = ReferencePool()
    native, reference = ChaCha(), ChaCha(pool=pool)
    assert native.specification is not reference.specification
    assert ChaCha(pool=ReferencePool()).specification is not reference.specification


def test_arguments_without_a_hash_are_not_shared() -> None:
    class Listed(list[Any]):
        __hash__ = None

        def __call__(self, champion: Config, groups: Sequence[str]) -> list[Config]:
            return []

    proposals = Listed()
    rules = ContestRules(oracle=proposals)
    assert ChaCha(rules=rules).examples == ChaCha(rules=rules).examples == 0


def test_a_specification_goes_with_its_last_model() -> None:
    models = [ChaCha(seed=987_654) for _ in range(3)]
    specification = weakref.ref(models[0].specification)
    models.pop()
    assert specification() is not None
    models.clear()
    gc.collect()
    assert specification() is None


def test_models_that_share_a_specification_do_not_influence_each_other() -> None:
    """They decide as if each were alone, whatever the others learn."""
    streams = [lines_of(name, 400, seed) for seed, name in enumerate(("interactions", "fried"))]
    alone = []
    for lines in streams:
        model = ChaCha(rules=ContestRules(evidence=KEEN, first_lease=20), seed=7)
        model.run(chacha.sources.Rows(lines))
        alone.append(state(model))
        del model
    together = [ChaCha(rules=ContestRules(evidence=KEEN, first_lease=20), seed=7) for _ in streams]
    assert together[0].specification is together[1].specification
    for pair in zip(*streams, strict=True):
        for model, line in zip(together, pair, strict=True):
            model.learn_one(line)
    assert [state(model) for model in together] == alone


@pytest.mark.parametrize("rules", [ContestRules, PaperRules])
def test_custom_parts_that_may_change_are_not_shared(rules: Any) -> None:
    @dataclass
    class Counting:
        calls: int = 0

        def __call__(self, champion: Config, groups: Sequence[str]) -> list[Config]:
            self.calls += 1
            return [champion.with_product(groups[:2])]

    @dataclass(frozen=True)
    class Logging:
        seen: list[Any] = field(default_factory=list)

        def __call__(self, champion: Config, groups: Sequence[str]) -> list[Config]:
            self.seen.append(champion)
            return [champion.with_product(groups[:2])]

    @dataclass(frozen=True)
    class Constant:
        order: int = 2
        names: tuple[str, ...] = ("a", "b")

        def __call__(self, champion: Config, groups: Sequence[str]) -> list[Config]:
            return [champion.with_product(self.names[: self.order])]

    for kind in (Counting, Logging):
        models = [ChaCha(rules=rules(oracle=kind())) for _ in range(2)]
        for model in models:
            model.learn_one("1 |a x |b y")
        first, second = (model.rules.oracle for model in models)
        assert first is not second
        assert first == second, "each was called as often"
    one, other = (ChaCha(rules=rules(oracle=Constant())) for _ in range(2))
    assert one.specification is other.specification


def test_one_model_more_is_small() -> None:
    """What models of one kind have in common is held once: names, lists of products, widths."""
    values = [[((7 * i + 3 * j) % 11) / 11 for j in range(5)] for i in range(300)]
    stream = [({f"x{j}": v for j, v in enumerate(x)}, x[0] - x[1]) for x in values]

    def learned() -> ChaCha:
        model = ChaCha()
        for x, y in stream:
            model.learn_one(x, y)
        return model

    models = [learned() for _ in range(3)]
    gc.collect()
    tracemalloc.start()
    try:
        models += [learned() for _ in range(10)]
        gc.collect()
        traced = tracemalloc.get_traced_memory()[0] / 10 / 1024
    finally:
        tracemalloc.stop()
    assert traced < 19  # KiB: Python's objects, and the engine's without what it points to
    assert models[-1].pool.bytes < 29 * 1024  # type: ignore[attr-defined]


def test_several_numbers_are_drawn_by_each_model_alone() -> None:
    space: dict[str, Any] = {**SPACE, "power_t": chacha.Uniform(0.1, 0.9)}
    one, two = (
        ChaCha(rules=ContestRules(evidence=KEEN, first_lease=20), space=space) for _ in range(2)
    )
    lines = lines_of("interactions", 400)
    one.run(chacha.sources.Rows(lines))
    two.run(chacha.sources.Rows(lines))
    assert one.decisions == two.decisions


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        ("paper", "rules must be an object such as ContestRules"),
        (ContestRules, "rules must be an object such as ContestRules"),
        (5, "rules must be an object such as ContestRules"),
    ],
)
def test_wrong_rules_are_refused(rules: Any, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        ChaCha(rules=rules)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"evidence": chacha.SampleComplexity()}, "evidence must be an object such as Paired"),
        ({"evidence": chacha.PairedBetting}, "evidence must be an object such as Paired"),
        ({"blending": "none"}, "blending must be an object such as Blending"),
        ({"screening": 0.1}, "screening must be an object such as Screening"),
        ({"starting": "empty"}, "starting must be an object such as HeadStart"),
        ({"oracle": 5}, "oracle must be an object such as a function"),
        ({"first_lease": 0}, "first_lease must be a whole number of at least 1"),
        ({"first_lease": 1.5}, "first_lease must be a whole number of at least 1"),
    ],
)
def test_wrong_parts_of_the_recommended_rules_are_refused(
    settings: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        ContestRules(**settings)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"evidence": chacha.PairedBetting()}, "evidence must be an object such as Sample"),
        ({"algorithm": "exhaustive"}, "algorithm must be a class such as Exhaustive"),
        ({"algorithm": ChaCha}, "algorithm must be a class such as Exhaustive"),
        ({"oracle": Moves(chacha.Space(None, {}))}, "oracle must be an object such as a function"),
        ({"lease_factor": 0}, "lease_factor must be a whole number of at least 1"),
    ],
)
def test_wrong_parts_of_the_papers_rules_are_refused(
    settings: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        PaperRules(**settings)


@pytest.mark.parametrize(
    ("kind", "settings", "message"),
    [
        (chacha.PairedBetting, {"alpha": "x"}, "alpha must be a number, got 'x'"),
        (chacha.PairedBetting, {"block": 1.5}, "block must be a whole number, got 1.5"),
        (chacha.PairedBetting, {"block": 2**70}, "block must be a whole number"),
        (chacha.PairedBetting, {"patience": float("inf")}, "patience must be a whole number"),
        (chacha.PairedBetting, {"warm_up": True}, "warm_up must be a whole number, got True"),
        (chacha.PairedBetting, {"coin": 1}, "coin must be an object such as Coin"),
        (Blending, {"burn_in": 1.5}, "burn_in must be a whole number"),
        (Blending, {"memory": None}, "memory must be a number, got None"),
        (Screening, {"share": "half"}, "share must be a number, got 'half'"),
        (HeadStart, {"damping": "x"}, "damping must be a number"),
        (chacha.SampleComplexity, {"burn_in": 1.5}, "burn_in must be a whole number"),
        (chacha.SampleComplexity, {"log_in_root": "x"}, "log_in_root must be True or False"),
        (chacha.DerivedFeatures, {"knots": "many"}, "knots must be a whole number"),
        (chacha.DerivedFeatures, {"kinds": None}, "kinds must be an object such as a list"),
        (chacha.DerivedFeatures, {"functions": None}, "functions must be an object such as a dict"),
        (ChaCha, {"init": {1: 2}}, "init must map options to values"),
        (ChaCha, {"init": {"interactions": 5}}, "interactions must be a list of products, got 5"),
    ],
)
def test_wrong_fields_of_parts_are_named(
    kind: Callable[..., Any], settings: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        kind(**settings)


def test_numbers_of_numpy_are_numbers() -> None:
    numbers: dict[str, Any] = {"block": np.int64(5), "clip": np.float32(2.0)}
    model = ChaCha(rules=ContestRules(evidence=chacha.PairedBetting(**numbers)))
    for line in lines_of("interactions", 50):
        model.learn_one(line)
    assert model.examples == 50


def test_the_papers_rules_have_no_derived_features() -> None:
    space: dict[str, Any] = {**SPACE, "features": chacha.DerivedFeatures()}
    with pytest.raises(ConfigError, match="features are for the recommended rules"):
        ChaCha(rules=PaperRules(), space=space)


def test_a_pool_that_cannot_derive_groups_gets_none() -> None:
    pool = chacha.SequentialPool(lambda config: None)  # type: ignore[arg-type, return-value]
    for settings in (
        {"init": {"features": ["bins(a,16)"]}},
        {"space": {**SPACE, "features": chacha.DerivedFeatures()}, "init": {"learning_rate": 1.0}},
    ):
        with pytest.raises(ConfigError, match="SequentialPool cannot use derived groups"):
            ChaCha(pool=pool, **settings)


def test_moves_that_remember_another_model_are_refused() -> None:
    rules = ContestRules(oracle=Moves(chacha.Space(chacha.Interactions(), {})))
    ChaCha(rules=rules)
    with pytest.raises(ConfigError, match="this Moves remembers what another model has tried"):
        ChaCha(rules=rules)


def test_parts_with_state_beside_their_fields_are_not_shared() -> None:
    class Scaled(chacha.Squared):
        def __init__(self, k: float) -> None:
            object.__setattr__(self, "k", k)

        def loss(self, raw: float, y: float) -> float:
            return float(self.k * super().loss(raw, y))  # type: ignore[attr-defined]

    models = [ChaCha(loss=Scaled(k)) for k in (2.0, 30.0)]
    for model in models:
        model.learn_one("1 |a x")
    assert [model.loss for model in models] == [2.0, 30.0]


def test_equal_configurations_of_other_types_stay_apart() -> None:
    one = Config().with_values(bit_precision=18.0)
    two = Config().with_values(bit_precision=18)
    assert one == two
    assert [type(c.values["bit_precision"]) for c in (one, two)] == [float, int]
    assert Config().with_values(bit_precision=18) is two


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"init": "x"}, "init must map options to values"),
        ({"init": [1]}, "init must map options to values"),
        ({"baseline": "no"}, "baseline must be an object such as True, got 'no'"),
        ({"rules": None, "budget": 2**0 - 1}, "budget must be a whole number"),
    ],
)
def test_wrong_arguments_are_named(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        ChaCha(**settings)


def test_presets_are_sugar() -> None:
    rules = PaperRules(chacha.SampleComplexity(scale=0.1), lease_factor=2)
    sugar = ChaCha.paper(evidence=chacha.SampleComplexity(scale=0.1), lease_factor=2, budget=3)
    assert sugar.specification is ChaCha(rules=rules, budget=3).specification
    assert ChaCha.flaml().specification is ChaCha(rules=PaperRules.authors()).specification
    assert Specification.of(chacha.NativePool()) is ChaCha().specification
