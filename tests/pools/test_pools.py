"""Pools: the shipped checks, and parity with VW bit for bit."""

from __future__ import annotations

import gc
import math
import random
import weakref
from collections.abc import Callable

import pytest
import vowpalwabbit
from hypothesis import given, settings
from hypothesis import strategies as st

from chacha import Config, ReferencePool, SequentialPool
from chacha.checks import all_checks
from chacha.data import parse_line
from chacha.data.vw_text import hash_name, read_number
from chacha.errors import PoolError
from chacha.pools import LivePool
from chacha.pools.vw import SHARED, VWPool, vw_options
from tests.support.vw_lines import simple_line

POOLS: dict[str, Callable[[], LivePool]] = {"vw": VWPool, "reference": ReferencePool}


@pytest.mark.parametrize("check", all_checks(), ids=lambda check: check.__name__)
@pytest.mark.parametrize("pool", POOLS.values(), ids=POOLS.keys())
def test_contract(pool: Callable[[], LivePool], check: Callable[..., None]) -> None:
    check(pool)


def test_the_checks_catch_a_pool_that_learns_when_asked() -> None:
    """A check that cannot fail is worth nothing: a leaky pool fails the right ones."""

    class Leaky:
        def __init__(self, config: Config) -> None:
            self.asked = 0

        def predict(self, example: object) -> float:
            self.asked += 1
            return float(self.asked)

        def learn(self, example: object) -> None:
            pass

        def close(self) -> None:
            pass

    failing = set()
    for check in all_checks():
        try:
            check(lambda: SequentialPool(Leaky))
        except AssertionError:
            failing.add(check.__name__)
    assert {
        "check_predict_is_pure",
        "check_label_is_not_seen_by_predict",
        "check_learns",
    } <= failing


CONFIGS = [
    Config(),
    Config(["ab"]),
    Config(["ab", "ac", "abc"]),
    Config([("user", "item"), ("usher", "item"), ("user", "usher")]),
    Config([("a", "user", "item")], {"learning_rate": 0.1}),
    Config([("a", "a"), ("b", "b", "c")]),
    Config([(" ", "a")], {"noconstant": True}),
    Config([("-d", "a")], {"bit_precision": 12}),
]


def separate(config: Config) -> vowpalwabbit.Workspace:
    return vowpalwabbit.Workspace(arg_list=["--quiet", *config.vw_arg_list()])


@pytest.mark.parametrize("seed", range(3))
def test_vw_pool_equals_separate_workspaces_through_start_stop_and_restart(seed: int) -> None:
    """The same text gives the same bits; it is parsed once, and no model disturbs another."""
    rng = random.Random(seed)
    pool = VWPool()
    alone: dict[Config, vowpalwabbit.Workspace] = {}
    starts = 0
    for _ in range(600):
        if rng.random() < 0.05 or not alone:
            config = rng.choice(CONFIGS)
            if config in alone:
                pool.stop(config)
                alone.pop(config).finish()
            else:
                pool.start(config)
                alone[config] = separate(config)
                starts += 1
        line = simple_line(rng)
        example = parse_line(line)
        expected = {}
        for config, workspace in alone.items():
            expected[config] = workspace.predict(line)
            workspace.learn(line)
        assert dict(pool.predict(example)) == expected
        assert dict(pool.learn(example)) == expected
    assert starts > 12


OPTIONS: list[dict[str, object]] = [
    {"sgd": True, "learning_rate": 0.05},
    {"sgd": True, "power_t": 0.3},
    {"l1": 1e-4, "l2": 1e-3},
    {"power_t": 0.2, "initial_t": 10.0},
    {"loss_function": "quantile", "quantile_tau": 0.8},
    {"ftrl": True},
    {"coin": True},
    {"nn": 3},
    {"ngram": "a2"},
    {"ignore": "b"},
    {"hash": "all"},
    {"bit_precision": 24},
    {"boosting": 3},
    {"noconstant": True, "min_prediction": -1.0, "max_prediction": 1.0},
    {"ftrl": True, "ftrl_alpha": 0.1},
    {"adaptive": True, "sparse_l2": 1e-4},
    {"baseline": True},
    {"spelling": "a"},
    {"interactions": "bc"},
]


def test_any_option_of_vw_shares_the_parse_or_parses_for_itself() -> None:
    """VW's clock (read by --sgd) ticks in every model; ngrams and friends parse alone."""
    rng = random.Random(5)
    configs = [Config(["ab"], options) for options in OPTIONS]
    pool = VWPool()
    for config in configs:
        pool.start(config)
    alone = {config: separate(config) for config in configs}
    assert {c for c in configs if c.values.keys() - SHARED} == set(pool._separate)
    assert 6 <= len(pool._separate) < len(configs)
    for _ in range(300):
        line = simple_line(rng)
        example = parse_line(line)
        asked = dict(pool.predict(example))
        expected = {}
        for config, workspace in alone.items():  # predict(line) would make VW's clock tick
            parsed = workspace.parse(line)
            workspace.predict(parsed)
            expected[config] = parsed.get_simplelabel_prediction()
            workspace.learn(parsed)
            workspace.finish_example(parsed)
        assert asked == expected
        assert dict(pool.learn(example)) == expected


@pytest.mark.parametrize("seed", range(2))
def test_reference_learner_equals_vw(seed: int) -> None:
    """VW's default update in plain Python, bit for bit."""
    rng = random.Random(100 + seed)
    vw, reference = VWPool(), ReferencePool()
    for config in CONFIGS:
        vw.start(config)
        reference.start(config)
    for _ in range(400):
        example = parse_line(simple_line(rng))
        assert dict(reference.predict(example)) == dict(vw.predict(example))
        assert dict(reference.learn(example)) == dict(vw.learn(example))


numbers = st.one_of(
    st.floats(-1e6, 1e6).map(repr),
    st.floats(-1e6, 1e6).map(lambda x: f"{x:.4f}"),
    st.integers(-(10**12), 10**12).map(str),
    st.from_regex(r"-?[0-9]{0,12}(\.[0-9]{0,12})?(e-?[0-9]{1,2})?", fullmatch=True),
    st.from_regex(r"[+-]?[0-9]{1,5}(\.[0-9]{1,5})?(e[+-]?[0-9]{1,2})?", fullmatch=True),
)
_parser = vowpalwabbit.Workspace(arg_list=["--quiet", "--noconstant"])


@settings(max_examples=400)
@given(numbers)
def test_numbers_are_read_as_vw_reads_them(text: str) -> None:
    if not text:
        return
    (example,) = _parser._parse(f"1 |a x:{text}")
    vw_values = [
        example.feature_weight(ord("a"), i) for i in range(example.num_features_in(ord("a")))
    ]
    _parser._finish_example(example)
    value = read_number(text)
    assert value is not None
    if math.isnan(value):  # 0 times infinity: VW takes it as 0 and warns, we refuse it
        assert vw_values == []
    else:
        assert vw_values == ([value] if value else [])


@settings(max_examples=300)
@given(st.text(st.characters(exclude_categories=["C", "Z"], exclude_characters=":|"), min_size=1))
def test_names_are_hashed_as_vw_hashes_them(name: str) -> None:
    workspace = _parser
    assert hash_name(name, 0) == workspace.hash_space(name)
    assert hash_name(name, 17) % 2**18 == workspace.hash_feature(name, 17) % 2**18


def test_no_model_outlives_its_retirement() -> None:
    pool = VWPool()
    example = parse_line("1 |a x |b y")
    ghosts = []
    for k in range(20):
        config = Config(["ab"], {"learning_rate": 0.1 + k / 100})
        pool.start(config)
        pool.learn(example)
        ghosts.append(weakref.ref(pool._models[config]))
        pool.stop(config)
    gc.collect()
    assert [ghost() for ghost in ghosts] == [None] * 20


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"nonsense": 1}, "no option --nonsense"),
        ({"learning_rate": "fast"}, "VW refused"),
        ({"oaa": 3}, "one number per line"),
        ({"cb": 2}, "one number per line"),
        ({"lda": 2}, "one number per line"),
        ({"link": "logistic"}, "the loss turns margins"),
        ({"active": True}, "does not learn from every example"),
        ({"final_regressor": "m"}, "reads and writes files itself"),
        ({"lrq": "ab2"}, "predict changes the model"),
        ({"bootstrap": 3}, "predict changes the model"),
        ({"extra_metrics": "m"}, "reads and writes files itself"),
    ],
)
def test_vw_pool_refuses_in_words(values: dict[str, object], message: str) -> None:
    pool = VWPool()
    with pytest.raises(PoolError, match=message):
        pool.start(Config(values=values))
    assert not list(pool.live)


def test_an_empty_interactions_list_swallows_nothing() -> None:
    """VW 9.11 reads `--interactions --learning_rate 2` as an interaction and no rate."""
    pool = VWPool()
    slow, fast = Config([], {"learning_rate": 0.01}), Config([], {"learning_rate": 5.0})
    pool.start(slow)
    pool.start(fast)
    for _ in range(5):
        predictions = pool.learn(parse_line("1 |a x"))
    assert predictions[slow] < 0.2 < 0.9 < predictions[fast]


def test_defaults_are_vws_own() -> None:
    wanted = {"learning_rate": 0.5, "power_t": 0.5, "l1": 0.0, "l2": 0.0, "bit_precision": 18}
    assert {key: vw_options()[key] for key in wanted} == wanted
    assert VWPool().default("nonsense") is None
