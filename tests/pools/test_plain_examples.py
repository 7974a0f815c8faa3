"""What a pool gets: examples of plain values, whatever they were derived with."""

from __future__ import annotations

import pickle
from collections.abc import Mapping
from typing import Any

from chacha import Config, Example, ReferencePool
from chacha.data import parse_line
from chacha.data.example import Feature
from chacha.features.derivation import Derivation
from tests.support.derived_runs import early_model, fast_model


class Recording(ReferencePool):
    """Keeps what it gets, with the derived groups that its models named then."""

    def __init__(self) -> None:
        super().__init__()
        self.received: list[tuple[Example, set[str]]] = []
        self.pools = [self]

    def fresh(self) -> Recording:
        fresh = Recording()
        self.pools.append(fresh)
        return fresh

    def _record(self, example: Example) -> None:
        names = {name for config in self.live for name in config.derived}
        self.received.append((example, names))

    def predict(self, example: Example) -> Mapping[Config, float]:
        self._record(example)
        return super().predict(example)

    def learn(self, example: Example) -> Mapping[Config, float]:
        self._record(example)
        return super().learn(example)


def rows(n: int) -> list[tuple[dict[str, Any], float]]:
    return [
        ({"temp": 10.0 + i * 7 % 23, "hour": i % 24, "city": f"c{i % 4}"}, float(i * 5 % 17))
        for i in range(n)
    ]


def received(n: int) -> tuple[Recording, Recording]:
    """Return the pool and the baseline's after a run with derived groups."""
    pool = Recording()
    model = fast_model(pool, baseline=True, init={"features": ["log(temp)"]})
    for i, (x, y) in enumerate(rows(n)):
        if i % 3:
            model.learn_one(x, y)
        else:
            model.tell(model.ask(x), y)
    baseline = pool.pools[1]
    return pool, baseline


def test_a_pool_gets_plain_values_of_the_groups_that_live_models_name() -> None:
    pool, baseline = received(400)
    assert len({frozenset(names) for _, names in pool.received}) > 3, "the groups have changed"
    for example, names in pool.received + baseline.received:
        assert type(example.derived) is dict
        assert example.derived.keys() == names
        assert all(type(features) is tuple for features in example.derived.values())
        assert example.row is None
    assert all(names == {"log(temp)"} for _, names in baseline.received)
    assert any(any(example.derived.values()) for example, _ in pool.received)


def test_what_a_pool_gets_is_pickled_without_the_derivation() -> None:
    """The size does not grow with the stream, and the copy is equal and predicts the same."""
    pool, _ = received(400)
    sizes = []
    for example, names in pool.received:
        data = pickle.dumps(example)
        copy = pickle.loads(data)
        assert copy == example
        assert copy.line == example.line
        assert copy.derived_text(names) == example.derived_text(names)
        sizes.append(len(data) - sum(len(pickle.dumps(f)) for f in example.derived.values()))
    assert max(sizes) < 1.5 * min(sizes[10:60]), "numbers of the first rows are at the centre"
    example, _ = pool.received[-1]
    last = pickle.loads(pickle.dumps(example))
    assert ReferencePool.predict(pool, last) == ReferencePool.predict(pool, example)


def test_the_values_are_those_of_the_time() -> None:
    """What is learned later does not change an example that a pool got."""
    derivation = Derivation(first=5)
    derivation.add(["lag(label,1)", "log(a)"])
    lazy = derivation.derive(parse_line("1 |a x:2"))
    plain = lazy.plain(["lag(label,1)", "bins(a,4)"])
    assert plain.derived == {"lag(label,1)": (), "bins(a,4)": ()}
    derivation.observe(derivation.derive(parse_line("7 |a x:3")))
    assert plain.derived["lag(label,1)"] == ()
    late = derivation.derive(parse_line("1 |a x:2")).plain(["lag(label,1)"])
    assert [feature.value for feature in late.derived["lag(label,1)"]] == [7.0]
    assert all(type(f) is Feature for f in late.derived["lag(label,1)"])


def test_an_example_without_derived_groups_is_not_copied() -> None:
    example = parse_line("1 |a x")
    assert example.plain([]) is example


def test_missing_cells_and_functions_cross_as_plain_values() -> None:
    """The row, which a user's function needs, stays outside."""
    pool = Recording()
    model = early_model(pool=pool, init={"features": ["missing(temp)"]})
    for i, (x, y) in enumerate(rows(60)):
        model.learn_one({**x, "temp": None if i % 5 == 0 else x["temp"]}, y)
    groups = [example.derived["missing(temp)"] for example, _ in pool.received]
    assert {len(features) for features in groups} == {0, 1}
    assert pickle.loads(pickle.dumps(pool.received[5][0])) == pool.received[5][0]
