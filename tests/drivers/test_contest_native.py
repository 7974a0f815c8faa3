"""The recommended rules in the engine, beside the same rules in Python over the same learner."""

from __future__ import annotations

import hashlib
import json
import os
import random
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import chacha
from chacha import ChaCha, Config, NativePool, ReferencePool
from chacha.drivers.native import NativeDriver
from chacha.drivers.python import PythonDriver
from chacha.losses import Hinge, Logistic, Loss, Poisson, Quantile, Squared
from chacha.rules.contest.betting import Coin, PairedBernstein, PairedBetting
from chacha.rules.contest.blending import Blend, Blending, ChampionServes
from chacha.rules.contest.screening import Screening
from chacha.rules.head_start import FromScratch, HeadStart
from chacha.rules.paper import second_order_products
from tests.support.failing_oracles import (
    failing_oracle,
    only_refused_oracle,
    outcome,
    refused_oracle,
)
from tests.support.fast_rules import EAGER, KEEN, PlainPool
from tests.support.models import contest_model
from tests.support.native_runs import WAYS, lines_of, state, tracked, vw_file
from tests.support.rough_text import rough_text
from tests.support.vw_lines import without_repeats


def pair(**given: Any) -> tuple[ChaCha, ChaCha]:
    """A model on the native driver, and one on the Python driver over the same learner."""
    oracle = given.pop("oracle", lambda: None)
    rules: dict[str, Any] = {"evidence": KEEN, "blending": EAGER, "first_lease": 20, **given}
    native, python = (
        contest_model(pool=pool, oracle=oracle(), keep_decisions=10**6, **rules) for pool in pools()
    )
    assert isinstance(native._driver, NativeDriver)
    assert isinstance(python._driver, PythonDriver)
    return native, python


def pools() -> tuple[NativePool, NativePool]:
    return NativePool(), PlainPool()


STREAMS = ["fried", "mv", "2dplanes", "interactions", "drift"]


@pytest.mark.parametrize("stream", STREAMS)
def test_streams_in_blocks_are_those_row_by_row(stream: str) -> None:
    """Columns for the engine, rows for the Python driver."""
    native, python = pair(baseline=True)
    for model in (native, python):
        model.run(f"synth:{stream},n=500,seed=1")
    assert state(native) == state(python)
    assert len(native.decisions) > 50


def test_a_coin_with_a_negative_seed_is_refused_in_words() -> None:
    with pytest.raises(chacha.errors.ConfigError, match="seed"):
        Coin(seed=-1)


def test_sparse_rows_are_the_same() -> None:
    native, python = pair(budget=3)
    for model in (native, python):
        model.run("synth:sparse,n=60,seed=1")
    assert state(native) == state(python)


LOSSES: dict[str, Loss] = {
    "squared": Squared(),
    "logistic": Logistic(),
    "quantile": Quantile(0.8),
    "poisson": Poisson(),
    "hinge": Hinge(),
}


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("baseline", [False, True], ids=["alone", "baseline"])
def test_every_loss_on_rough_text(loss: str, baseline: bool) -> None:
    """Zeros, weights, groups that come late or twice; what was served, example by example."""
    native, python = pair(loss=LOSSES[loss], baseline=baseline, first_lease=40)
    lines = rough_text(300, loss=loss)
    assert tracked(native, lines, "whole") == tracked(python, lines, "steps")
    assert len(native.decisions) > 20


RULES: dict[str, dict[str, Any]] = {
    "bernstein": {"evidence": PairedBernstein(alpha=0.9, block=1, patience=30, eliminates=3.0)},
    "blocks of one": {"evidence": replace(KEEN, block=1, warm_up=1)},
    "blocks of seven": {"evidence": replace(KEEN, block=7, clip=0.5, block_clip=0.1)},
    "coin": {"evidence": KEEN.with_coin(Coin(seed=3, block=7))},
    "a huge seed": {"evidence": KEEN.with_coin(Coin(seed=2**64 - 1, block=1))},
    "as recommended": {"evidence": PairedBetting(), "blending": Blending(), "first_lease": 1000},
    "champion serves": {"blending": ChampionServes()},
    "all is served": {
        "blending": Blending(burn_in=1, memory=20, standard_errors=0.0, tolerance=10.0, clip=9.0)
    },
    "nothing is wild": {"blending": Blending(burn_in=5, memory=50, standard_errors=0.0, clip=0.1)},
    "from scratch": {"starting": FromScratch()},
    "undamped": {"starting": HeadStart(damping=0.0)},
    "very damped": {"starting": HeadStart(damping=30.0)},
    "no screening": {"screening": Screening(share=0.0)},
    "all is screened": {"screening": Screening(share=1.0, looks=3, most=8, rate=3.0)},
    "leases of one": {"first_lease": 1},
    "longer leases": {"first_lease": 90},
    "only rates": {"space": {"learning_rate": chacha.LogUniform(0.01, 10.0)}},
    "other options": {
        "space": {
            "interactions": chacha.Interactions(max_order=2),
            "noconstant": chacha.Choice(False, True),
            "power_t": chacha.Uniform(0.0, 1.0),
            "loss_function": chacha.Choice("squared", "quantile"),
        }
    },
    "few bits": {"init": {"bit_precision": 6, "interactions": ["ab", "bb"]}},
}


@pytest.mark.parametrize("rules", RULES)
def test_every_rule(rules: str) -> None:
    native, python = pair(**RULES[rules])
    lines = rough_text(350, seed=1)
    assert tracked(native, lines, "whole") == tracked(python, lines, "steps")
    assert native.decisions


@pytest.mark.parametrize("budget", [1, 2, 3, 8])
def test_every_budget(budget: int) -> None:
    native, python = pair(budget=budget, first_lease=30)
    lines = rough_text(600, seed=5 if budget == 2 else 4)
    assert tracked(native, lines, "whole") == tracked(python, lines, "steps")
    assert len(native.live) == budget
    assert (native.promotions > 0) == (budget > 1)


@pytest.mark.parametrize("way", [way for way in WAYS if way != "steps"])
def test_however_a_stream_is_passed_over(way: str) -> None:
    """Whole, cut, dripping, in pieces, one by one: what is served and by whom is the same."""
    lines = rough_text(400, seed=5)
    for baseline in (False, True):
        native, python = pair(baseline=baseline, first_lease=30)
        track, end = tracked(native, lines, way, seed=2)
        expected, its_end = tracked(python, lines, "steps")
        assert end == its_end
        assert track == expected or way == "run"
    assert any(" of " in by for _, by in expected), "blends were served"


@settings(max_examples=15)
@given(st.lists(st.integers(1, 60), min_size=1, max_size=12), st.integers(0, 3))
def test_chunks_may_have_any_length(sizes: list[int], seed: int) -> None:
    lines = rough_text(150, seed=seed)
    cut, whole = (contest_model(evidence=KEEN, blending=EAGER, first_lease=15) for _ in range(2))
    ends = iter([sum(sizes[: i + 1]) for i in range(len(sizes))])
    source = vw_file("\n".join(lines).encode())
    for _ in cut.chunks(source, until=lambda: next(ends, 10**6), record=True):
        pass
    whole.run(chacha.sources.Rows(lines))
    assert state(cut) == state(whole)


@pytest.mark.parametrize("nested", [False, True], ids=["flat", "nested"])
def test_dicts_are_learned_as_their_text(nested: bool) -> None:
    """By learn_one and by a run over records."""
    rng, rows = random.Random(nested), []
    for i in range(250):
        u, v = rng.uniform(-1, 1), rng.choice([0.0, 1.0, -2.0])
        x: dict[str, Any] = {"u": u, "v": v, "w": rng.choice(["red", "blue"])}
        if i > 80 and nested:
            x["late"] = i % 3
        rows.append(({"g": {"u": u, "w": x.pop("w")}, **x} if nested else x, 3 * u * v))
    for way in ("one", "run"):
        native, python = pair(budget=4)
        for model in (native, python):
            if way == "run":
                model.run([{**x, "y": y} for x, y in rows], target="y")
                continue
            for x, y in rows:
                model.predict_one(x)
                model.learn_one(x, y)
        assert state(native) == state(python)
        assert native.decisions


@pytest.mark.parametrize("seed", range(4))
def test_labels_that_come_late_and_in_any_order(seed: int) -> None:
    """Asked now, labelled later, over promotions; with single examples in between."""
    rng = random.Random(seed)
    oracle = second_order_products if seed % 2 else None
    native, python = pair(
        budget=2 + seed, baseline=seed == 1, first_lease=90, oracle=lambda: oracle
    )
    waiting: list[tuple[chacha.Ticket, chacha.Ticket, float, int]] = []
    over: list[bool] = []
    for line in rough_text(600, seed=seed):
        row = chacha.data.parse_line(line)
        assert row.label is not None
        if rng.random() < 0.2:
            assert native.learn_one(row.line) == python.learn_one(row.line)
            continue
        tickets = native.ask(row.body), python.ask(row.body)
        assert tickets[0].prediction == tickets[1].prediction
        assert tickets[0].served_by == tickets[1].served_by
        waiting.append((*tickets, row.label, native.promotions))
        while waiting and rng.random() < 0.52:
            one, other, label, promotions = waiting.pop(rng.randrange(len(waiting)))
            over.append(promotions < native.promotions)
            weight = rng.choice([None, None, 2.0, 0.0])
            assert native.tell(one, label, weight) == python.tell(other, label, weight)
        assert state(native) == state(python)
    assert any(over) or oracle is None, "some were asked under another champion"


ORACLES: dict[str, Callable[[], Any]] = {
    "fails first": lambda: failing_oracle([0, 1]),
    "fails later": lambda: failing_oracle([1, 2, 4]),
    "proposes what is refused": lambda: refused_oracle,
    "proposes nothing else": lambda: only_refused_oracle,
}


@pytest.mark.parametrize("oracle", ORACLES)
@pytest.mark.parametrize("budget", [2, 5])
def test_an_oracle_that_fails_or_is_refused(oracle: str, budget: int) -> None:
    """The same errors at the same examples, and the same state after each."""
    native, python = pair(oracle=ORACLES[oracle], budget=budget, baseline=True, first_lease=25)
    for line in rough_text(200, seed=2):
        assert outcome(native.learn_one, line) == outcome(python.learn_one, line)
        assert state(native) == state(python)
    assert native.examples == 200
    assert set(native.pool.live) == {native.champion, *native.live_challengers}


@pytest.mark.parametrize("oracle", ORACLES)
def test_a_run_that_fails_goes_on_where_it_stood(oracle: str) -> None:
    """An error ends a run after the example that led to it; the next run takes the rest."""
    lines = rough_text(150, seed=3)
    native, python = pair(oracle=ORACLES[oracle], budget=4)
    for model in (native, python):
        while model.examples < len(lines):
            outcome(model.run, chacha.sources.Rows(lines[model.examples :]))
    assert state(native) == state(python)


def test_steps_and_records_name_the_model_that_served() -> None:
    lines = lines_of("interactions", 400, seed=4)
    stepped, _ = pair(first_lease=60)
    steps = [(s.prediction, s.served_by) for s in stepped.steps(chacha.sources.Rows(lines))]
    recorded, _ = pair(first_lease=60)
    records: list[tuple[float, Config | Blend]] = []
    for chunk in recorded.chunks(chacha.sources.Rows(lines), record=True):
        assert chunk.served is not None
        records += zip(chunk.served.predictions, chunk.served.served_by, strict=True)
    assert records == steps
    assert {type(by) for _, by in records} == {Config, Blend}


HASHED = """
from tests.support.fast_rules import EAGER, KEEN
from tests.support.rough_text import rough_text
import chacha, hashlib, json
rules = chacha.ContestRules(evidence=KEEN, blending=EAGER, first_lease=15)
model = chacha.ChaCha(rules=rules, keep_decisions=10**6)
model.run(chacha.sources.Rows(rough_text(200)))
decisions = json.dumps([d.to_json() for d in model.decisions])
print(hashlib.sha256(decisions.encode()).hexdigest(), model.served)
"""


def test_the_hash_seed_of_python_changes_nothing() -> None:
    runs = [
        subprocess.Popen(
            [sys.executable, "-c", HASHED],
            env={**os.environ, "PYTHONHASHSEED": str(seed)},
            stdout=subprocess.PIPE,
            text=True,
        )
        for seed in range(3)
    ]
    outputs = {run.communicate()[0] for run in runs}
    here = contest_model(evidence=KEEN, blending=EAGER, first_lease=15, keep_decisions=10**6)
    here.run(chacha.sources.Rows(rough_text(200)))
    decisions = json.dumps([d.to_json() for d in here.decisions])
    assert outputs == {f"{hashlib.sha256(decisions.encode()).hexdigest()} {here.served}\n"}


def decided(model: ChaCha, lines: Sequence[str]) -> Mapping[str, Any]:
    """All that can be seen after a run."""
    model.run(chacha.sources.Rows(lines))
    return state(model)


def test_the_reference_learner_gives_the_same_run() -> None:
    lines = [without_repeats(line) for line in rough_text(200, seed=7)]
    native, _ = pair(budget=4, baseline=True)
    rules: dict[str, Any] = {"evidence": KEEN, "blending": EAGER, "keep_decisions": 10**6}
    slow = contest_model(pool=ReferencePool(), budget=4, first_lease=20, baseline=True, **rules)
    assert decided(native, lines) == decided(slow, lines)
    assert len(native.decisions) > 30


def test_vowpal_wabbit_gives_the_same_run() -> None:
    """A copy of VW's is an undamped one."""
    pytest.importorskip("vowpalwabbit")
    lines = rough_text(150, seed=8)
    rules: dict[str, Any] = {"evidence": KEEN, "blending": EAGER, "keep_decisions": 10**6}
    rules |= {"starting": HeadStart(damping=0.0), "budget": 4, "first_lease": 25}
    native = contest_model(**rules)
    vw = contest_model(pool=chacha.open_pool("vw"), **rules)
    assert decided(native, lines) == decided(vw, lines)
    assert len(native.decisions) > 10
