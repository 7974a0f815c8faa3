"""Copies of models: a challenger starts with the weights of its source; new products are damped."""

from __future__ import annotations

import itertools
import math
import random
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chacha import Config, Example, NativePool, ReferencePool, SequentialPool
from chacha.data import parse_line
from chacha.drivers.native_columns import native_block
from chacha.errors import PoolError
from chacha.pools.base import LivePool, copies
from chacha.pools.reference import ReferenceLearner
from chacha.pools.vw import VWPool
from chacha.sources.tables.blocks import NumberColumn, TableBlock
from tests.support.vw_lines import (
    KERNELS,
    LABELS,
    PRODUCTS,
    rich_line,
    simple_line,
    without_repeats,
)
from tests.support.vw_text_strategy import good_lines

POOLS = [NativePool, ReferencePool, VWPool]
BENT = Config(["ab", "bc"], {"power_t": 0.3})  # with it, models learn one by one between the passes
Predictions = dict[Config, float]


def learned(pool: LivePool, example: Example) -> Predictions:
    """What the models predicted, without the one that the reference does not have."""
    return {config: p for config, p in pool.learn(example).items() if config != BENT}


def parted(rng: random.Random, names: str, features: int, different: int) -> str:
    """A line with `features` features in every group, out of `different` names."""
    groups = [
        f"|{name} "
        + " ".join(
            f"{name}{rng.randrange(different)}:{rng.choice((1, 2, 0.5, -0.3))}"
            for _ in range(features)
        )
        for name in names
    ]
    return f"{rng.gauss(0, 2):.3f} " + " ".join(groups)


def weights(pool: NativePool, config: Config) -> dict[int, tuple[float, float, float]]:
    """The touched weights of a model: w, adaptive sum, norm, by index."""
    rows = zip(*(column.tolist() for column in pool.engine.dump(pool.models[config])), strict=True)
    return {index: (w, adaptive, norm) for index, w, adaptive, norm in rows if norm > 0}


def slots(pool: ReferencePool, config: Config) -> dict[int, tuple[float, float, float]]:
    """The same of the reference."""
    found = pool._learner(config).slots
    every = {i: (float(s.w), float(s.adaptive), float(s.norm)) for i, s in found.items()}
    return {index: slot for index, slot in every.items() if slot[2] > 0}


def shaken(rng: random.Random, pools: Sequence[Any], configs: Sequence[Config]) -> None:
    """Perhaps a model comes, goes, is copied or undamped; in all pools alike."""
    live = [config for config in pools[0].live if config != BENT]
    config, damping = rng.choice(configs), rng.choice([0.0, 0.01, 0.3, 1.0, 20.0])
    alike = [c for c in live if c.values.get("bit_precision") == config.values.get("bit_precision")]
    event = rng.choice(["copy", "copy", "start", "stop", "undamp"])
    source = rng.choice(alike) if alike else None
    for pool in pools:
        if event == "undamp" and config in live:
            pool.undamp(config)
        elif event == "stop" and config in live and len(live) > 3:
            pool.stop(config)
        elif event == "copy" and config not in live and source is not None:
            pool.copy(source, config, damping)
        elif event == "start" and config not in live and len(live) < 8:
            pool.start(config)


@pytest.mark.parametrize("bent", [False, True], ids=["plain", "bent"])
def test_copies_give_the_bits_of_the_reference(bent: bool) -> None:
    """On every code path, alone and beside other models, which start and stop later."""
    rng = random.Random(f"copies {bent}")
    values: list[dict[str, Any]] = [{}, {"learning_rate": 0.1}, {"noconstant": True}]
    values += [{"bit_precision": 8}, {"bit_precision": 8, "noconstant": True}]
    configs = [Config(products, v) for products in PRODUCTS for v in values]
    natives, reference = [NativePool(kernel) for kernel in KERNELS], ReferencePool()
    for native in natives:
        if bent:
            native.start(BENT)
    most = 0
    for _ in range(400):
        if rng.random() < 0.3:
            shaken(rng, [*natives, reference], configs)
        damped = [any(reference._learner(config).product_seeds) for config in reference.live]
        most = max(most, sum(damped))
        example = parse_line(simple_line(rng))
        expected = learned(reference, example)
        for native in natives:
            assert learned(native, example) == expected
    assert most > 2
    for config in reference.live:
        assert weights(natives[-1], config) == slots(reference, config)


@settings(max_examples=40)
@given(
    st.lists(good_lines().map(without_repeats), min_size=4, max_size=16),
    st.sampled_from(PRODUCTS),
    st.sampled_from(PRODUCTS),
    st.floats(0, 100, width=32),
    st.booleans(),
    st.sampled_from(KERNELS),
)
def test_any_stream_any_copy(
    lines: list[str], old: Any, new: Any, damping: float, noconstant: bool, kernel: str
) -> None:
    """Generated text; a copy, and a copy of the copy."""
    source = Config(old, {"noconstant": noconstant})
    first, second = (
        Config(new, {"learning_rate": 0.3}),
        Config([*old, *new], {"learning_rate": 2.0}),
    )
    pools: list[Any] = [NativePool(kernel), ReferencePool()]
    for pool in pools:
        pool.start(source)
    for i, line in enumerate(lines):
        for pool in pools:
            if i == 2:
                pool.copy(source, first, damping)
            if i == len(lines) // 2 + 1:
                pool.copy(first, second, damping)
        native, reference = (learned(pool, parse_line(line)) for pool in pools)
        assert native == reference


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("bits", [7, 18])
@pytest.mark.parametrize("bent", [False, True], ids=["plain", "bent"])
def test_large_products_of_one_copy(kernel: str, bits: int, bent: bool) -> None:
    """They are kept narrow, then shared, then narrow again; with collisions and without."""
    rng = random.Random(f"large {bits}")
    options = {"bit_precision": bits}
    source, copy = Config(["bc"], options), Config(["ab", "bc"], options)
    late = Config(["ab", "ac"], {**options, "learning_rate": 0.1})
    pools: list[Any] = [NativePool(kernel), ReferencePool()]
    for pool in pools:
        pool.start(source)
    if bent:
        pools[0].start(Config(["bc"], {**options, "power_t": 0.3}))
    for i in range(30):
        for pool in pools:
            if i == 5:
                pool.copy(source, copy, 0.5)
            if i == 15:
                pool.copy(source, late, 2.0)
            if i == 20:
                pool.stop(copy)
            if i == 25:
                pool.undamp(late)
        example = parse_line(parted(rng, "abc", 7, 40))
        native, reference = (pool.learn(example) for pool in pools)
        assert {config: native[config] for config in reference} == dict(reference)
    for config in pools[1].live:
        assert weights(pools[0], config) == slots(pools[1], config)


@pytest.mark.parametrize("values", [{"power_t": 0.3}, {"l1": 1e-4, "power_t": 0.7}, {"l2": 1e-3}])
def test_narrow_and_wide_are_the_same_to_other_options(values: Mapping[str, Any]) -> None:
    """A product that a copy has alone, and the same one in company, on every code path."""
    rng = random.Random(str(values))
    source, copy = Config(["bc"], values), Config(["ab"], values)
    company = Config(["ab"], {**values, "learning_rate": 0.1})
    pools = [NativePool(kernel) for kernel in KERNELS for _ in range(2)]
    for pool in pools:
        pool.start(source)
    for i in range(20):
        example = parse_line(parted(rng, "abc", 7, 30))
        if i == 8:
            for k, pool in enumerate(pools):
                pool.copy(source, copy, 0.5)
                if k % 2:
                    pool.start(company)
        found = [pool.learn(example) for pool in pools]
        assert len({f[source] for f in found}) == len({f.get(copy) for f in found}) == 1
    assert all(weights(pool, copy) == weights(pools[0], copy) for pool in pools)


def table(rng: random.Random, rows: int) -> tuple[TableBlock, list[str]]:
    """A table of numbers, some missing, and the same rows as text."""
    names = ["a0", "a1", "b0", "b1", "b2", "c0"]
    holes = [[math.nan if rng.random() < 0.1 else 1.0 for _ in names] for _ in range(rows)]
    numbers = np.array([[rng.choice((1.0, 2.0, 0.5, -3.0)) for _ in names] for _ in range(rows)])
    numbers *= holes
    labels = np.array([rng.randrange(-20, 20) / 4 for _ in range(rows)])
    groups: dict[str, list[NumberColumn]] = {}
    for i, name in enumerate(names):
        groups.setdefault(name[0], []).append(NumberColumn(name, numbers[:, i].copy()))
    lines = []
    for y, row in zip(labels.tolist(), numbers.tolist(), strict=True):
        cells = {name: x for name, x in zip(names, row, strict=True) if not math.isnan(x)}
        words = {g: " ".join(f"{n}:{x}" for n, x in cells.items() if n[0] == g) for g in groups}
        lines.append(f"{y!r} " + " ".join(f"|{g} {w}" for g, w in words.items() if w))
    return TableBlock(dict(groups), labels, place=str), lines


def passed(pool: NativePool, block: TableBlock | None, lines: Sequence[str]) -> None:
    """The engine passes over rows by itself."""
    model = next(iter(pool.models.values()))
    pool.engine.set_contenders([(model, False, 10**9)], model, 0, False)
    if block is not None:
        status, _, examples = pool.engine.advance_columns(
            native_block(block), 0, len(lines), len(lines)
        )
    else:
        text = "".join(f"{line}\n" for line in lines).encode()
        status, _, examples = pool.engine.advance_text(text, 0, len(text), len(lines))
    assert (status, examples) == (0, len(lines))


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("columns", [False, True], ids=["text", "columns"])
@pytest.mark.parametrize("products", [["ab", "ac"], ["ab", "abc", "bb"]], ids=str)
def test_blocks(kernel: str, columns: bool, products: list[str]) -> None:
    """Text and tables that the engine reads by itself; products of two groups are laid out."""
    rng = random.Random(f"blocks {products}")
    source, copy = Config(["bc"]), Config(["bc", *products], {"learning_rate": 0.2})
    native, reference = NativePool(kernel), ReferencePool()
    for i in range(4):
        for pool in (native, reference):
            if i == 0:
                pool.start(source)
            if i == 1:
                pool.copy(source, copy, 0.7)
            if i == 3:
                pool.undamp(copy)
        block, lines = table(rng, 12)
        passed(native, block if columns else None, lines)
        for line in lines:
            reference.learn(parse_line(line))
        for config in reference.live:
            assert weights(native, config) == slots(reference, config)


FREE: list[tuple[Any, dict[str, Any], Any, dict[str, Any]]] = [
    ([], {}, ["ab", "aab"], {}),
    (["ab", "ac"], {}, [], {"learning_rate": 0.1}),
    (["ab", "ac"], {"learning_rate": 0.1}, ["ac", "bc"], {}),
    ([(" ", "a"), ("-d", "7")], {}, [("user", "item"), ("-d", "a")], {"learning_rate": 3.0}),
    (["ab"], {"power_t": 0.3, "l1": 1e-3}, ["ac"], {"l2": 1e-3}),
    (["ab"], {"noconstant": True}, ["ab"], {}),
    (["ab"], {}, ["ac"], {"noconstant": True, "power_t": 0.2, "l1": 1e-4}),
    (["ab"], {"initial_t": 2.0}, ["ac"], {"initial_t": 2.0}),
    (["ab"], {"bit_precision": 10}, ["bc"], {"bit_precision": 10}),
    (["ab"], {}, ["ac"], {"loss_function": "quantile", "quantile_tau": 0.8}),
]


@pytest.mark.parametrize(("old", "before", "new", "after"), FREE)
def test_undamped_copies_are_vws(
    old: Any, before: dict[str, Any], new: Any, after: dict[str, Any]
) -> None:
    """VW loads what it saved with other options: products come and go, the rate changes."""
    rng = random.Random(f"{old} {new}")
    source, copy = Config(old, before), Config(new, after)
    pools: list[Any] = [VWPool(), NativePool()]
    folder, twin = Path(tempfile.gettempdir()), Config(new, {**after, "learning_rate": 0.7})
    for pool in pools:
        pool.start(source)
    for i in range(60):
        if i in (20, 40):
            for pool in pools:
                pool.copy(*((source, copy) if i == 20 else (copy, twin)))
                pool.undamp(copy)
        example = parse_line(rich_line(rng, LABELS["squared"]))
        vw, native = (dict(pool.learn(example)) for pool in pools)
        assert native == vw
    assert not list(folder.glob("chacha-*/model.vw"))


def test_what_vw_cannot_copy_is_refused_in_words() -> None:
    """The source goes on, and nothing is started."""
    cases: list[tuple[dict[str, Any], dict[str, Any], str]] = [
        ({}, {"bit_precision": 12}, "cannot change --bit_precision of a copy, from 18 to 12"),
        ({}, {"initial_t": 1.0}, "cannot change --initial_t"),
        ({"sgd": True}, {}, "cannot change --sgd"),
        ({}, {"ftrl": True}, "cannot change --ftrl"),
        ({"nn": 3}, {"nn": 3, "learning_rate": 0.1}, "does not save all of a model with --nn"),
        ({}, {"learning_rate": "fast"}, "VW refused a copy"),
        ({}, {"nonsense": 1}, "no option --nonsense"),
    ]
    for before, after, message in cases:
        pool = VWPool()
        pool.start(Config(["ab"], before))
        with pytest.raises(PoolError, match=message):
            pool.copy(Config(["ab"], before), Config(["ac"], after))
        assert set(pool.live) == set(pool.learn(parse_line("1 |a x"))) == {Config(["ab"], before)}


@pytest.mark.parametrize("values", [{"sgd": True}, {"ftrl": True}, {"coin": True}, {"ignore": "b"}])
def test_copies_of_vws_other_learners_go_on(values: dict[str, Any]) -> None:
    """What VW saves in full is copied in full."""
    rng = random.Random(str(values))
    source, twin = Config(["ab"], values), Config(["ab"], {**values, "noconstant": False})
    pool = VWPool()
    pool.start(source)
    for i in range(40):
        if i == 20:
            pool.copy(source, twin)
        found = pool.learn(parse_line(rich_line(rng, LABELS["squared"])))
        assert i < 20 or found[twin] == found[source]


def some(pool: Any, lines: int = 30) -> Config:
    """A model without products that has learned a little."""
    rng = random.Random(lines)
    pool.start(Config())
    for _ in range(lines):
        pool.learn(parse_line(parted(rng, "ab", 2, 3)))
    return Config()


@pytest.mark.parametrize("make", [NativePool, ReferencePool])
def test_damping_makes_first_steps_small(make: Any) -> None:
    """The more damping, the smaller the first step on the new product; 0 is a plain copy."""
    moves = []
    for damping in (0.0, 0.01, 1.0, 100.0):
        pool = make()
        copy = Config([("p", "q")])
        pool.copy(some(pool), copy, damping)
        example = parse_line("30 |p x |q y")
        before = pool.learn(example)[copy]
        moves.append(abs(pool.predict(example)[copy] - before))
    assert moves == sorted(moves, reverse=True)
    assert moves[0] > 1.2 * moves[-1] > 0


@pytest.mark.parametrize("values", [{}, {"power_t": 0.3}, {"noconstant": True}], ids=str)
def test_a_seed_is_a_share_of_the_squared_gradients(values: dict[str, Any]) -> None:
    """The sum that a new weight starts with, in single precision, before its first gradient."""
    rng, pool, plain = random.Random(2), NativePool(), NativePool()
    source, copy = Config([], values), Config(["pq"], values)
    for each in (pool, plain):
        each.start(source)
    for _ in range(30):
        line = parted(rng, "ab", 2, 3)
        for each in (pool, plain):
            each.learn(parse_line(line))
    known = weights(pool, source)
    means = [adaptive / (norm * norm) for _, (_, adaptive, norm) in sorted(known.items())]
    share = (
        math.fsum(means) / len(means) if values.get("noconstant") else known[11650396 % 2**18][1]
    )
    for each, damping in ((pool, 0.25), (plain, 0.0)):
        each.copy(source, copy, damping)
        each.learn(parse_line("30 |p x |q y"))
    damped, free = weights(pool, copy), weights(plain, copy)
    assert damped.keys() == free.keys()
    changed = [index for index in damped if damped[index][1] != free[index][1]]
    assert len(changed) == 1  # |p x and |q y are new too, but no products
    seed = np.float32(0.25) * np.float32(share)
    assert damped[changed[0]][1] == pytest.approx(float(seed) + free[changed[0]][1], rel=1e-6)


@pytest.mark.parametrize("make", [NativePool, ReferencePool])
def test_a_settled_copy_is_an_undamped_one(make: Any) -> None:
    """From then on; undamping a model that is not a copy changes nothing."""
    rng = random.Random(4)
    damped, plain = make(), make()
    copy, other = Config(["ab"]), Config(["aab"])
    for pool, damping in ((damped, 5.0), (plain, 0.0)):
        some(pool)
        pool.copy(Config(), copy, damping)
        pool.copy(Config(), other, 5.0)
    for config in (copy, Config()):
        damped.undamp(config)
    for _ in range(20):
        example = parse_line(parted(rng, "ab", 3, 9))
        assert dict(damped.learn(example)) == dict(plain.learn(example))
    with pytest.raises(PoolError, match="not live"):
        damped.undamp(Config(["bb"]))


@pytest.mark.parametrize("kernel", KERNELS)
def test_models_that_are_not_copies_are_unaffected(kernel: str) -> None:
    """Lanes beside damped ones keep their bits, also for products that they share."""
    rng = random.Random(9)
    crowd, quiet = NativePool(kernel), NativePool(kernel)
    originals = [Config(), Config(["ab"]), Config(["ab", "bc"], {"learning_rate": 0.1})]
    for pool, config in itertools.product((crowd, quiet), originals):
        pool.start(config)
    for i in range(60):
        if i % 12 == 5:
            crowd.copy(Config(), Config(["ab", "bc"], {"learning_rate": 1.0 + i}), float(i))
        example = parse_line(parted(rng, "abc", rng.choice((2, 7)), 20))
        predictions, expected = crowd.learn(example), quiet.learn(example)
        assert {config: predictions[config] for config in originals} == dict(expected)


@pytest.mark.parametrize("make", POOLS)
def test_a_copy_that_cannot_be_is_refused(make: Any) -> None:
    """Nothing is started then."""
    pool = make()
    assert all(copies(each) for each in (pool, pool.fresh()))
    source = some(pool)
    for damping in (-1.0, math.nan, math.inf, 1e39):
        with pytest.raises(PoolError, match="damping"):
            pool.copy(source, Config(["ab"]), damping)
    with pytest.raises(PoolError, match="is live already"):
        pool.copy(source, source)
    with pytest.raises(PoolError, match="not live"):
        pool.copy(Config(["ab"]), Config(["bb"]))
    with pytest.raises(PoolError, match="bit"):
        pool.copy(source, Config(values={"bit_precision": 10}))
    assert set(pool.live) == {source}
    assert not copies(SequentialPool(lambda config: ReferenceLearner(config)))
