"""Configurations: canonical, hashable, printable, and VW's command line."""

from __future__ import annotations

import copy
import json
import pickle
import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chacha import Config
from chacha.errors import ConfigError
from chacha.rules import decision_from_json
from chacha.rules.decisions import Eliminated, LeaseDoubled, Promoted, Retired, WentLive

names = st.text(
    st.characters(exclude_characters="|: \t\r\n%", exclude_categories=["C", "Z"]),
    min_size=1,
    max_size=5,
)
products = st.lists(st.lists(names, min_size=2, max_size=4), max_size=4)
values = st.dictionaries(
    st.from_regex(r"[a-z_]{1,8}", fullmatch=True),
    st.one_of(
        st.floats(allow_nan=False, allow_infinity=False),
        st.integers(-(10**9), 10**9),
        st.booleans(),
        names,
    ),
    max_size=3,
)


@given(products, values, st.randoms())
def test_equal_means_equal(
    products: list[list[str]], values: dict[str, object], rng: object
) -> None:
    shuffled = [list(reversed(p)) for p in reversed(products)] + products[:1]
    a, b = Config(products, values), Config(shuffled, dict(reversed(values.items())))
    assert a == b
    assert hash(a) == hash(b)
    assert str(a) == str(b)
    assert Config.from_json(json.loads(json.dumps(a.to_json()))) == a
    assert pickle.loads(pickle.dumps(a)) == a
    assert copy.deepcopy(a) == a
    assert shlex.split(a.vw_args()) == a.vw_arg_list()


def test_floats_are_kept_at_12_digits() -> None:
    assert Config(values={"l": 0.5000000000000027}) == Config(values={"l": 0.5})
    assert Config(values={"l": 0.1234567890123}).values["l"] == 0.123456789012
    assert Config(values={"l": 1}) == Config(values={"l": 1.0})
    assert Config(values={"l": True}) != Config(values={"l": 1})


def test_it_cannot_be_changed() -> None:
    c = Config(["ab"], {"l2": 0.1})
    with pytest.raises(AttributeError):
        c.interactions = ()  # type: ignore[misc]
    with pytest.raises(TypeError):
        c.values["l2"] = 0.2  # type: ignore[index]


@pytest.mark.parametrize("bad", [["a"], [[]], [["a", ""]], "ab"])
def test_an_invalid_product_is_refused(bad: object) -> None:
    with pytest.raises(ConfigError):
        Config(bad)  # type: ignore[arg-type]


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), None, [1]])
def test_an_invalid_value_is_refused(bad: object) -> None:
    with pytest.raises(ConfigError, match="l2"):
        Config(values={"l2": bad})


def test_the_command_line_is_quoted_for_a_shell() -> None:
    c = Config([("user", "item")], {"loss_function": "logistic", "sgd": True, "l1": 1e-7})
    assert c.vw_args() == (
        "--experimental_full_name_interactions 'item|user' "
        "--l1 1e-07 --loss_function logistic --sgd"
    )
    assert Config(values={"sgd": False}).vw_args() == ""


AB = Config(["ab"], {"learning_rate": 0.3})


@pytest.mark.parametrize(
    "decision",
    [
        WentLive(3, AB, lease=75),
        LeaseDoubled(75, AB, lease=150, n=75),
        Retired(75, AB, n=75, eliminated=False),
        Eliminated(9, AB, Config(), n=9, lower=0.1 + 0.2, champion_upper=1e-17),
        Promoted(9, AB, Config(), n=9, upper=1 / 3, champion_lower=2.5, margin=0.7),
    ],
)
def test_decisions_survive_json(decision: WentLive) -> None:
    assert decision_from_json(json.loads(json.dumps(decision.to_json()))) == decision
