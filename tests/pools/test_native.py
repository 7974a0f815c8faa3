"""The native pool beside real VW: the same bits, on every code path."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest
import vowpalwabbit
from hypothesis import given, settings
from hypothesis import strategies as st

import chacha
from chacha import Config, NativePool, open_pool
from chacha import _native as engine
from chacha.checks import all_checks
from chacha.config.derived_groups import derived
from chacha.config.derived_kinds import KINDS
from chacha.data import parse_line
from chacha.errors import PoolError
from chacha.pools import LivePool
from tests.support.vw_lines import KERNELS, LABELS, PRODUCTS, rich_line
from tests.support.vw_text_strategy import good_lines


def test_the_engine_is_of_this_version() -> None:
    """A stale build would be tested for nothing."""
    assert engine.__version__ == chacha.__version__


def test_every_code_path_is_named_and_an_unknown_one_is_refused() -> None:
    """`plain` runs everywhere, and the best is the default."""
    assert KERNELS[0] == "plain"
    assert NativePool().kernel == KERNELS[-1]
    for kernel in KERNELS:
        assert NativePool(kernel).fresh().kernel == kernel
    with pytest.raises(PoolError, match="abacus"):
        NativePool("abacus")


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("check", all_checks(), ids=lambda check: check.__name__)
def test_contract(kernel: str, check: Callable[..., None]) -> None:
    """What every pool promises."""
    check(lambda: NativePool(kernel))


@pytest.mark.parametrize("name", ["native", "reference"])
@pytest.mark.parametrize("power_t", [0.5, 0.4])
def test_a_prediction_below_0_is_raised_to_plain_0(name: str, power_t: float) -> None:
    """VW's smallest label is 0 at first, and not -0."""
    config = Config(values={"power_t": power_t} if name == "native" else {})
    pools = [open_pool(name), open_pool("vw")]
    for pool in pools:
        pool.start(config)
    for line in ("1 |a x:1", "1 |a x:-50"):
        example = parse_line(line)
        raw = [(pool.predict(example)[config], pool.learn(example)[config]) for pool in pools]
        assert str(raw[0]) == str(raw[1]) == "(0.0, 0.0)"


@pytest.mark.parametrize("kind", sorted(name for name in KINDS if KINDS[name].limits))
def test_the_limits_of_derived_groups_are_those_of_their_names(kind: str) -> None:
    """The engine takes a parameter exactly if a name may have it."""
    limits = KINDS[kind].limits
    assert limits is not None
    least, most = limits.least, limits.most
    native = engine.Engine(18)
    for parameter in (least, most, least - 0.5, least + 0.5, 2 * most, 0.0, -least):
        name = f"{kind}(a,{parameter:g})"
        if (group := derived(name)) is not None:
            assert parameter == group.parameter
            native.add_derived(name, kind, "a", parameter)
        else:
            with pytest.raises(ValueError, match="no such number"):
                native.add_derived(name, kind, "a", parameter)
    assert derived(f"{kind}(a,{most:g})") is not None
    assert (derived(f"{kind}(a,{least:g})") is not None) == (least > 0)


def random_values(rng: random.Random, loss: str) -> dict[str, Any]:
    """Options of the native learner, alone and together."""
    choices: dict[str, Sequence[Any]] = {
        "learning_rate": [0.5, 0.01, 0.1, 1.0, 5.0, 1e-4],
        "power_t": [0.5, 0.5, 0.0, 0.3, 1.0, 0.9],
        "initial_t": [0.0, 0.0, 1.0, 10.0],
        "l1": [0.0, 0.0, 1e-6, 1e-3, 0.1],
        "l2": [0.0, 0.0, 1e-6, 1e-3, 0.5],
        "noconstant": [False, False, True],
        "bit_precision": [18, 18, 8, 12, 22],
    }
    keys = rng.sample(sorted(choices), rng.randint(0, 4))
    values = {key: rng.choice(choices[key]) for key in keys}
    if loss == "quantile":
        values["quantile_tau"] = rng.choice([0.5, 0.1, 0.8, 0.99])
    return {**values, "loss_function": loss}


def separate(config: Config) -> Any:
    """A workspace of VW itself."""
    return vowpalwabbit.Workspace(arg_list=["--quiet", "--no_stdin", *config.vw_arg_list()])


def predict_then_learn(workspace: Any, line: str) -> float:
    """Return VW's prediction without the label, then learn the line."""
    parsed = workspace.parse(line)
    workspace.predict(parsed)
    prediction = float(parsed.get_simplelabel_prediction())
    workspace.learn(parsed)
    workspace.finish_example(parsed)
    return prediction


@pytest.mark.parametrize("loss", LABELS)
def test_every_option_gives_vws_bits(loss: str) -> None:
    """Many models in one engine beside as many workspaces; before and after each lesson."""
    rng = random.Random(f"options {loss}")
    configs = {Config(rng.choice(PRODUCTS), random_values(rng, loss)) for _ in range(28)}
    pools = [NativePool(kernel) for kernel in KERNELS]
    alone = {config: separate(config) for config in sorted(configs, key=str)}
    for pool, config in itertools.product(pools, alone):
        pool.start(config)
    for _ in range(300):
        line = rich_line(rng, LABELS[loss])
        example = parse_line(line)
        expected = {
            config: predict_then_learn(workspace, line) for config, workspace in alone.items()
        }
        for pool in pools:
            assert dict(pool.predict(example)) == expected
            assert dict(pool.learn(example)) == expected
    for workspace in alone.values():
        workspace.finish()


@pytest.mark.parametrize("products", PRODUCTS, ids=str)
def test_products_alone_give_vws_bits(products: list[Any]) -> None:
    """A product that one model has for itself, then one that several share."""
    rng = random.Random(str(products))
    pools: list[LivePool] = [open_pool("vw"), *(NativePool(kernel) for kernel in KERNELS)]
    late = Config(products, {"learning_rate": 0.1})
    for pool in pools:
        pool.start(Config(products))
    for i in range(150):
        if i in (50, 100):
            for pool in pools:
                (pool.start if i == 50 else pool.stop)(late)
        example = parse_line(rich_line(rng, LABELS["squared"]))
        before = [dict(pool.predict(example)) for pool in pools]
        learned = [dict(pool.learn(example)) for pool in pools]
        after = [dict(pool.predict(example)) for pool in pools]
        for found in (before, learned, after):
            assert all(one == found[0] for one in found)


streams = st.lists(good_lines(), min_size=1, max_size=25)
few = st.lists(
    st.builds(
        Config,
        st.sampled_from(PRODUCTS),
        st.fixed_dictionaries(
            {},
            optional={
                "learning_rate": st.sampled_from([0.01, 0.5, 3.0]),
                "power_t": st.sampled_from([0.0, 0.3, 0.5, 1.0]),
                "bit_precision": st.sampled_from([8, 18, 22]),
                "l1": st.sampled_from([1e-4, 0.1]),
                "l2": st.sampled_from([1e-4, 0.1]),
                "noconstant": st.booleans(),
            },
        ),
    ),
    min_size=1,
    max_size=6,
    unique=True,
)


@settings(max_examples=60)
@given(streams, few, st.sampled_from(KERNELS))
def test_any_stream_any_models(lines: list[str], configs: list[Config], kernel: str) -> None:
    """Generated text, few lines, shrunk to the smallest that differs."""
    pools: list[LivePool] = [open_pool("vw"), NativePool(kernel)]
    for pool, config in itertools.product(pools, configs):
        pool.start(config)
    for line in lines:
        example = parse_line(line)
        vw, native = (dict(pool.learn(example)) for pool in pools)
        assert native == vw
    vw, native = (dict(pool.predict(parse_line(lines[0]))) for pool in pools)
    assert native == vw


@pytest.mark.parametrize("kernel", KERNELS)
def test_models_come_and_go(kernel: str) -> None:
    """Started late, stopped and restarted, up to more than any vector has lanes."""
    rng = random.Random(f"come and go {kernel}")
    values = [{"learning_rate": rate} for rate in (0.05, 0.5, 2.0)] + [{"bit_precision": 10}]
    configs = [Config(products, v) for products in PRODUCTS for v in values]
    pool, vw = NativePool(kernel), open_pool("vw")
    most = 0
    for i in range(400):
        wanted = 0.5 + 0.45 * (-1) ** (i // 100)  # many, few, many, few
        for config in rng.sample(configs, 2):
            if (config in pool.live) == (rng.random() > wanted):
                for each in (pool, vw):
                    (each.stop if config in each.live else each.start)(config)
        most = max(most, len(pool.live))
        example = parse_line(rich_line(rng, LABELS["squared"]))
        assert dict(pool.learn(example)) == dict(vw.learn(example))
    assert most > 16


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("values", [{}, {"l1": 1e-3, "l2": 1e-2}, {"power_t": 0.3}], ids=str)
def test_a_copy_goes_on_as_its_source_would(kernel: str, values: Mapping[str, Any]) -> None:
    """The copy of a model is the model; what its source does afterwards is another story."""
    rng = random.Random(7)
    source = Config(["ab", "aa"], values)
    twin = Config(["aa", "ab"], {**values, "initial_t": 0.0, "noconstant": False})
    pool, alone = NativePool(kernel), NativePool(kernel)
    for each in (pool, alone):
        each.start(source)
    for _ in range(60):
        example = parse_line(rich_line(rng, LABELS["squared"]))
        pool.learn(example)
        alone.learn(example)
    pool.copy(source, twin)
    for i in range(80):
        example = parse_line(rich_line(rng, LABELS["squared"]))
        if i == 40:
            pool.stop(source)
            pool.start(Config(["ab"]))
        assert pool.learn(example)[twin] == alone.learn(example)[source]


def test_a_ruined_model_is_vws_in_company_too() -> None:
    """With l2 * rate * weight = 1 VW divides by 0 and serves 0 from then on, as alone."""
    ruined = Config([], {"l2": 0.5, "learning_rate": 1.0, "loss_function": "hinge"})
    company = Config([], {"l1": 0.1, "loss_function": "hinge"})
    pool, workspace = NativePool(), separate(ruined)
    for config in (ruined, company):
        pool.start(config)
    for line in ("1 2 |a ", "-1 2 |a y", "1 2 -0.5 |a x"):
        assert pool.learn(parse_line(line))[ruined] == predict_then_learn(workspace, line)


def test_what_the_native_learner_does_not_have_is_refused_in_words() -> None:
    """The message names the option and what is possible; nothing is started."""
    cases: list[tuple[dict[str, Any], str]] = [
        ({"sgd": True}, "no option 'sgd'"),
        ({"bit_precision": 40}, "from 1 to 31"),
        ({"bit_precision": 18.5}, "whole number"),
        ({"loss_function": "expectile"}, "one of squared"),
        ({"noconstant": "yes"}, "noconstant must be true or false"),
        ({"l1": -1.0}, "at least 0"),
        ({"learning_rate": "fast"}, "number"),
    ]
    pool = NativePool()
    for values, message in cases:
        with pytest.raises(PoolError, match=message):
            pool.start(Config(values=values))
    assert not pool.live
    pool.start(Config())
    with pytest.raises(PoolError, match="as many bits"):
        pool.copy(Config(), Config(values={"bit_precision": 10}))
    with pytest.raises(PoolError, match="not live"):
        pool.copy(Config(["ab"]), Config(["ac"]))
    assert set(pool.live) == {Config()}


@pytest.mark.parametrize("bits", [10, 13, 18])
@pytest.mark.parametrize("values", [{}, {"l1": 1e-3, "power_t": 0.4}, {"initial_t": 2.0}])
def test_products_of_many_features_are_kept_apart_and_come_together(
    bits: int, values: Mapping[str, Any]
) -> None:
    """Large products of one model have places of their own; collisions and company stay VW's."""
    rng = random.Random(bits)
    options = {"bit_precision": bits, **values}
    configs = [Config(p, options) for p in ([], ["ab"], ["bc"], ["aab", "cd"], ["ab", "cd"])]
    pool, vw = NativePool(rng.choice(engine.kernels())), open_pool("vw")
    for config in configs[:4]:
        pool.start(config)
        vw.start(config)
    for i in range(90):
        if i == 50:  # ab is shared from now on, bc is gone
            for some in (pool, vw):
                some.start(configs[4])
                some.stop(configs[2])
        if i == 70:
            pool.copy(configs[1], configs[2])
            pool.stop(configs[2])
        groups = [
            f"|{name} "
            + " ".join(f"{name}{rng.randrange(60)}:{rng.choice((1, 2, 0.5))}" for _ in range(n))
            for name, n in (("a", 9), ("b", 11), ("c", 12), ("d", rng.randrange(5)))
        ]
        example = parse_line(f"{rng.gauss(0, 2):.3f} " + " ".join(groups))
        if i % 3 == 0:
            assert dict(pool.predict(example)) == dict(vw.predict(example))
        assert dict(pool.learn(example)) == dict(vw.learn(example))
