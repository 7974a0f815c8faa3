"""ChaCha, as users work with it: determinism, single examples and runs, late labels, presets."""

from __future__ import annotations

import inspect
import itertools
import json
import random
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, get_type_hints

import numpy as np
import pytest
import vowpalwabbit
from hypothesis import given, settings
from hypothesis import strategies as st

import chacha
from chacha import ChaCha, Config, Decision, Example, Interactions, LogUniform, ReferencePool
from chacha.config.space import Domain
from chacha.drivers.native import NativeDriver
from chacha.drivers.python import PythonDriver
from chacha.pools.vw import VWPool
from chacha.rules import ProgressiveLoss
from chacha.rules.paper import PaperState
from chacha.specification import Settings

SPACE = {"interactions": Interactions(), "learning_rate": LogUniform(2e-10, 1.0)}
POOLS: dict[str, Callable[[], chacha.pools.LivePool]] = {"vw": VWPool, "reference": ReferencePool}


def standing(model: ChaCha) -> dict[Config, ProgressiveLoss]:
    """What the models lost, by the paper's rules."""
    state = model.state
    assert isinstance(state, PaperState)
    return state.standing


def examples(n: int, stream: str = "interactions", seed: int = 0) -> list[Example]:
    source = chacha.open_source(f"synth:{stream},n={n},seed={seed}")
    return [row for row in source if isinstance(row, Example)]


def model(**settings: Any) -> ChaCha:
    return ChaCha.paper(**{"keep_decisions": 10**6, "seed": 1, **settings})


def as_json(decisions: Iterator[Decision] | Any) -> str:
    return json.dumps([d.to_json() for d in decisions])


def test_same_seed_same_decisions_in_another_process_too() -> None:
    """Also under another hash seed: no order may hang on Python's hashes."""
    code = (
        "import json, chacha\n"
        "m = chacha.ChaCha.paper(keep_decisions=10**6, seed=1)\n"
        "m.run('synth:interactions,n=2500')\n"
        "print(json.dumps([d.to_json() for d in m.decisions]), m.loss)"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={"PYTHONHASHSEED": seed, "PATH": ""},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "77")
    }
    here = model()
    here.run("synth:interactions,n=2500")
    assert outputs == {f"{as_json(here.decisions)} {here.loss}\n"}
    assert here.promotions >= 1


@pytest.mark.parametrize("pool", POOLS.values(), ids=POOLS.keys())
def test_one_by_one_equals_run(pool: Callable[[], chacha.pools.LivePool]) -> None:
    n = 2300 if pool is VWPool else 700
    whole, single, parts = (model(pool=pool()) for _ in range(3))
    steps = list(whole.steps(chacha.open_source(f"synth:interactions,n={n}")))
    predictions = []
    for example in examples(n):
        predictions.append(single.predict_one(example.body))
        single.learn_one(example.line)
    assert predictions == [step.prediction for step in steps]
    assert list(single.decisions) == list(whole.decisions)
    assert single.loss == whole.loss
    rows = examples(n)
    for start in range(0, n, 97):
        parts.run(chacha.sources.Rows([row.line for row in rows[start : start + 97]]))
    assert list(parts.decisions) == list(whole.decisions)
    assert parts.loss == whole.loss
    if pool is VWPool:
        assert whole.promotions >= 1


def test_one_by_one_equals_run_for_dicts_and_tables(tmp_path: Path) -> None:
    rng = random.Random(4)
    rows = [
        ({f"x{i}": rng.uniform(-1, 1) for i in range(4)} | {"c": rng.choice("uvw")}, rng.random())
        for _ in range(150)
    ]
    single, whole = model(pool=ReferencePool()), model(pool=ReferencePool())
    predictions = []
    for x, y in rows:
        predictions.append(single.predict_one(x))
        single.learn_one(x, y)
    assert [step.prediction for step in whole.steps(chacha.sources.Rows(rows))] == predictions
    assert whole.decisions == single.decisions
    names = list(rows[0][0])
    path = tmp_path / "t.csv"
    lines = [",".join([*(str(x[name]) for name in names), repr(y)]) for x, y in rows]
    path.write_text(",".join([*names, "y"]) + "\n" + "\n".join(lines) + "\n")
    table = model(pool=ReferencePool())
    table.run(path)
    columns = {name: name for name in names}
    assert table.reader.grouping is not None
    assert table.reader.grouping.groups == columns, "dicts that follow go to the table's groups"
    by_line = model(pool=ReferencePool())
    for row in chacha.open_source(path):
        assert isinstance(row, Example)
        by_line.learn_one(row.body, row.label)
    assert by_line.decisions == table.decisions
    assert by_line.loss == table.loss


def test_pool_and_core_agree_at_every_step() -> None:
    m = model(pool=ReferencePool(), lease_factor=1, evidence=chacha.SampleComplexity(scale=0.001))
    for row in examples(600):
        m.learn_one(row)
        live = {m.champion, *m.live_challengers}
        assert isinstance(m._driver, PythonDriver)
        assert set(m.pool.live) == live == set(m._driver._incarnations)
    assert m.promotions > 3


def test_predicting_never_or_often_changes_nothing() -> None:
    quiet, asked = model(), model()
    rows = examples(600)
    for row in rows:
        quiet.learn_one(row.line)
        for _ in range(3):
            asked.predict_one(random.Random(1).choice(rows).body)
        asked.learn_one(row.line)
    assert list(asked.decisions) == list(quiet.decisions)
    assert asked.loss == quiet.loss


def test_b_1_is_vowpal_wabbit() -> None:
    m = ChaCha.paper(budget=1)
    vw = vowpalwabbit.Workspace(arg_list=["--quiet"])
    for row in examples(500, "mv"):
        assert m.predict_one(row.body) == vw.predict(row.body)
        m.learn_one(row.line)
        vw.learn(row.line)
    assert m.promotions == 0
    assert len(m.live) == 1


def test_served_is_the_incumbents_prediction_unclipped() -> None:
    m = model()
    for row in examples(300):
        raw = m.pool.predict(row)
        serving = [live.config for live in m.live if live.serving]
        assert m.predict_one(row.body) == raw[serving[0]]
        m.learn_one(row.line)


def test_dicts_lines_and_order() -> None:
    """A flat dict, the same in another order, and groups by name."""
    rng = random.Random(0)
    one, other = model(pool=ReferencePool()), model(pool=ReferencePool())
    for _ in range(80):
        x = {f"x{i}": rng.random() for i in range(14)} | {"color": rng.choice(["red", "blue"])}
        y = sum(v for v in x.values() if isinstance(v, float))
        mixed = list(x.items())
        rng.shuffle(mixed)
        assert one.predict_one(x) == other.predict_one(dict(mixed))
        assert one.learn_one(x, y) == other.learn_one(dict(mixed), y)
    assert len(one.observed.groups) == 15, "one group each"
    grouped = model(pool=ReferencePool())
    grouped.learn_one({"user": {"age": 3.0, "id": "u1"}, "item": {"id": "i9"}}, 1.0)
    assert list(grouped.observed.groups) == ["item", "user"]


def test_names_that_come_later_go_to_the_known_groups() -> None:
    m = model(pool=ReferencePool())
    m.learn_one({"a": 1.0, "b": 2.0}, 1.0)
    m.learn_one({"late": 1.0, "b": 2.0}, 1.0)
    assert list(m.observed.groups) == ["a", "b"]


def test_a_late_namespace_joins_at_the_next_promotion() -> None:
    m = ChaCha.paper(keep_decisions=10**6)
    rows = examples(6000)
    for i, row in enumerate(rows):
        late = f"{row.line} |late x:{i % 7}" if i > 50 else row.line
        m.learn_one(late)
        groups = {name for c in m.challengers for p in c.interactions for name in p}
        if m.promotions:
            break
        assert "late" not in groups
    assert m.promotions == 1
    assert "late" in groups


def test_labels_may_come_late_and_in_any_order() -> None:
    m = model(pool=ReferencePool())
    rows = examples(60)
    tickets = [m.ask(row.body) for row in rows]
    assert m.pending == 60
    assert m.examples == 0
    order = list(range(60))
    random.Random(3).shuffle(order)
    for i in order:
        m.tell(tickets[i], rows[i].label or 0.0)
    assert m.pending == 0
    assert m.examples == 60


def test_a_label_that_comes_at_once_is_learn_one() -> None:
    asked, taught = model(), model()
    for row in examples(1500):
        ticket = asked.ask(row.body)
        assert ticket.prediction == taught.predict_one(row.body)
        taught.learn_one(row.body, row.label)
        asked.tell(ticket, row.label or 0.0)
    assert list(asked.decisions) == list(taught.decisions)
    assert asked.loss == taught.loss


def test_a_late_label_is_charged_to_what_was_predicted_then() -> None:
    m = model(pool=ReferencePool(), budget=1)
    ticket = m.ask("|a x")
    for _ in range(50):
        m.learn_one("5 |a x")
    assert ticket.prediction == 0.0
    before = m._driver.served.total
    m.tell(ticket, 5.0)
    assert m._driver.served.total - before == 25.0


@pytest.mark.parametrize("pool", [chacha.NativePool, ReferencePool])
def test_a_model_that_restarted_since_is_not_charged(
    pool: Callable[[], chacha.pools.LivePool],
) -> None:
    m = model(budget=3, space={"interactions": Interactions()}, pool=pool())
    m.learn_one("1 |a x |b y |c z")
    ticket = m.ask("|a x |b y |c z")
    challenger = m.live_challengers[0]
    if isinstance(m._driver, NativeDriver):
        numbers = dict(m._driver.native.models)
        m.pool.stop(challenger)
        m.pool.start(challenger)
        assert m._driver.native.models == numbers, "the new model has the number of the old one"
        m._driver._write(m._driver._state)
    else:
        assert isinstance(m._driver, PythonDriver)
        m._driver._incarnations[challenger] = 999  # it was retired and restarted
    n = standing(m)[challenger].n
    m.tell(ticket, 1.0)
    assert standing(m)[challenger].n == n
    assert standing(m)[m.champion].n == 2


def test_the_decisions_of_an_ask_come_with_the_next_step() -> None:
    m = model(pool=ReferencePool())
    ticket = m.ask(examples(1)[0])
    assert [d.kind for d in m.decisions] == ["WentLive"] * 4
    assert m.tell(ticket, 1.0) == list(m.decisions)


def test_the_baseline_is_charged_as_everyone_is() -> None:
    """With b = 1 it is the same model, also when labels come late."""
    m = model(pool=ReferencePool(), budget=1, baseline=True)
    waiting = []
    for row in examples(120):
        waiting.append((m.ask(row.body), row.label or 0.0))
        if len(waiting) > 40:
            m.tell(*waiting.pop(0))
    assert m.loss == m.summary().baseline_loss


@pytest.mark.parametrize(
    "first", ["1 |", "1 |a x", "1 |a 0:0 |b", {}, {"a": None}, {"a": {"x": 1.0}}]
)
def test_a_poor_first_example_does_not_end_tuning(first: Any) -> None:
    """The oracle is asked again until there is something to propose."""
    m = model(pool=ReferencePool())
    m.learn_one(first, 1.0)
    for row in examples(3):
        m.learn_one(row)
    assert len(m.live_challengers) >= 1
    assert len(m.challengers) >= 1


def test_an_oracle_that_fails_is_asked_again() -> None:
    calls = 0

    def moody(champion: Config, groups: Any) -> list[Config]:
        nonlocal calls
        calls += 1
        if calls == 1:
            raise RuntimeError("not today")
        return [champion.with_product("ab")]

    m = model(pool=ReferencePool(), oracle=moody)
    rows = examples(3)
    with pytest.raises(RuntimeError, match="not today"):
        m.learn_one(rows[0])
    assert (m.examples, m.live_challengers) == (1, ())
    m.learn_one(rows[1])
    assert [str(c) for c in m.live_challengers] == ["interactions ab"]


def test_a_failure_is_raised_once_by_the_call_that_failed() -> None:
    """Every challenger is refused: one error for each step in which one was."""

    class Picky(ReferencePool):
        def start(self, config: Config) -> None:
            if config.interactions:
                raise RuntimeError("too complicated")
            super().start(config)

    m = model(pool=Picky())
    failed = 0
    for row in examples(20):
        try:
            m.learn_one(row)
        except RuntimeError:
            failed += 1
    assert m.examples == 20
    assert failed == 2, "8 of 10 before and after the first example, 2 after the second"
    assert m.challengers == m.live_challengers == ()


@pytest.mark.parametrize("pool", [chacha.NativePool, ReferencePool])
def test_the_label_on_an_asked_line_is_ignored(pool: Callable[[], chacha.pools.LivePool]) -> None:
    m = model(pool=pool())
    ticket = m.ask("100 |a x |b y")
    m.tell(ticket, 1.0)
    m.tell(m.ask("100 |a x |b y"), 2.0)
    assert (m.observed.low, m.observed.high) == (1.0, 2.0)


def test_an_oracle_that_fails_at_a_promotion_leaves_all_consistent() -> None:
    def once(champion: Config, groups: Any) -> list[Config]:
        if champion.interactions:
            raise RuntimeError("no more ideas")
        return [champion.with_product("ab"), champion.with_product("de")]

    m = model(oracle=once, evidence=chacha.SampleComplexity(scale=0.01))
    with pytest.raises(RuntimeError, match="no more ideas"):
        m.run("synth:interactions,n=500")
    assert m.promotions == 1
    assert m.decisions[-1].kind == "Promoted"
    for row in examples(50):
        m.learn_one(row)
        assert set(m.pool.live) == {m.champion, *m.live_challengers}


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda m, t: m.tell(t[0], 1.0), "already has its label"),
        (lambda m, t: m.tell(0, 1.0), "already has its label"),
        (lambda m, t: m.tell(99, 1.0), "never issued"),
        (lambda m, t: m.tell(-1, 1.0), "never issued"),
        (lambda m, t: m.tell("7", 1.0), "never issued"),
        (lambda m, t: m.tell(t[1], 1.0), "expired"),
        (
            lambda m, t: m.tell(model(pool=ReferencePool()).ask("|q z"), 1.0),
            "belongs to another model",
        ),
    ],
)
def test_a_wrong_ticket_is_a_clear_error(wrong: Any, message: str) -> None:
    m = model(pool=ReferencePool(), max_pending=3)
    tickets = [m.ask(f"|a x:{i}") for i in range(3)]
    m.tell(tickets[0], 1.0)
    tickets += [m.ask(f"|a x:{i}") for i in range(2)]
    before = m.examples, m.pending, m.loss
    with pytest.raises(chacha.errors.TicketError, match=message):
        wrong(m, tickets)
    assert (m.examples, m.pending, m.loss) == before


def test_a_ticket_of_another_model_is_refused() -> None:
    here, there = model(pool=ReferencePool()), model(pool=ReferencePool())
    here.ask("|a x")
    with pytest.raises(chacha.errors.TicketError, match="another model"):
        here.tell(there.ask("|b other"), 1.0)


def test_tickets_expire_by_age() -> None:
    m = model(pool=ReferencePool(), ticket_life=10)
    old = m.ask("|a x")
    for _ in range(10):
        m.ask("|a x")
    with pytest.raises(chacha.errors.TicketError, match="expired"):
        m.tell(old, 1.0)
    assert m.pending == 10
    assert "1 ticket expired without a label" in str(m.summary())


def test_a_bad_label_leaves_the_ticket_waiting() -> None:
    m = model(pool=ReferencePool())
    ticket = m.ask("|a x")
    with pytest.raises(chacha.errors.BadExample, match="label"):
        m.tell(ticket, float("nan"))
    m.tell(ticket, 1.0)
    assert m.examples == 1


def test_presets() -> None:
    paper = ChaCha.paper(pool=ReferencePool()).rules.evidence
    assert paper == chacha.SampleComplexity(
        scale=0.05, delta=0.1, log_in_root=True, count_challengers=True, burn_in=0
    )
    flaml = ChaCha.flaml(pool=ReferencePool()).rules.evidence
    assert flaml == chacha.SampleComplexity(log_base=10.0, count_challengers=False, burn_in=100)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"budget": 0}, "budget"),
        ({"budget": 2.5}, "budget"),
        ({"budget": True}, "budget"),
        ({"lease_factor": 0}, "lease_factor"),
        ({"max_pending": 0}, "max_pending"),
        ({"max_pending": 1.5}, "max_pending must be a whole number of at least 1, got 1.5"),
        ({"ticket_life": 1.5}, "ticket_life must be a whole number of at least 1, got 1.5"),
        ({"ticket_life": True}, "ticket_life"),
        ({"keep_decisions": -1}, "keep_decisions"),
        ({"seed": None}, "seed"),
        ({"pool": "vw"}, "pool must be an object"),
        ({"loss": "logistic"}, "loss must be an object"),
        ({"oracle": 5}, "oracle must be an object"),
        ({"space": 5}, "space must map"),
        ({"init": {"loss_function": "logistic"}}, "VW predicts a margin"),
        ({"init": {"interactions": ["ab", 5]}}, "a product needs"),
        ({"init": {"interactions": [("a b", "c")]}}, "no white space"),
    ],
)
def test_wrong_settings_are_named(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(chacha.errors.ConfigError, match=message):
        ChaCha.paper(**{"pool": ReferencePool(), **settings})


def test_whole_numbers_of_numpy_are_whole_numbers() -> None:
    m = ChaCha.paper(pool=ReferencePool(), budget=np.int64(3), seed=np.int32(1))  # type: ignore[arg-type]
    m.ask("|a x")
    m.tell(np.int64(0), np.float32(1.5))  # type: ignore[arg-type]
    assert m.examples == 1


def test_wrong_calls_are_named() -> None:
    m: Any = ChaCha.paper(pool=ReferencePool())
    for call, message in [
        (lambda: m.run(5), "a source is a path"),
        (lambda: m.run("synth:fried,n=3", limit=-1), "limit"),
        (lambda: m.run("synth:fried,n=3", on_bad="skip"), "on_bad must be"),
        (lambda: m.learn_one(5, 1.0), "x must be a dict"),
    ]:
        with pytest.raises(chacha.errors.ConfigError, match=message):
            call()  # type: ignore[no-untyped-call]
    assert m.examples == 0


def test_a_misspelt_setting_is_an_error() -> None:
    with pytest.raises(TypeError, match="budgt"):
        ChaCha.paper(budgt=5)  # type: ignore[call-arg]


def test_the_type_of_the_settings_is_the_constructor() -> None:
    parameters = inspect.signature(ChaCha).parameters
    assert set(get_type_hints(Settings)) == set(parameters)
    hints = get_type_hints(Settings)
    assert hints == {k: v for k, v in get_type_hints(ChaCha.__init__).items() if k != "return"}


def test_a_challenger_that_the_learner_refuses_is_withdrawn_and_reported() -> None:
    def oracle(champion: Config, groups: Any) -> list[Config]:
        return [Config(values={"nonsense": 1}), champion.with_product("ab")]

    m = model(oracle=oracle, budget=3)
    rows = examples(30)
    with pytest.raises(chacha.errors.PoolError, match="no option 'nonsense'"):
        m.learn_one(rows[0])
    assert m.examples == 1, "the example has been learned"
    for row in rows[1:]:
        m.learn_one(row)
    assert [str(d.config) for d in m.decisions if d.kind == "WentLive"] == ["interactions ab"]
    assert [str(live.config) for live in m.live] == ["no interactions", "interactions ab"]
    assert set(m.pool.live) == {live.config for live in m.live}


def test_memory_does_not_grow_with_the_stream() -> None:
    """What a model holds after 500 examples is what it holds after 3000."""
    m = ChaCha.paper(keep_decisions=10, max_pending=5)
    sizes = []
    for i, row in enumerate(examples(3000, "fried")):
        ticket = m.ask(row.body)
        if i % 2:
            m.tell(ticket, row.label or 0.0)
        else:
            m.learn_one(row.line)
        if i in (501, 2999):
            seen = (m.observed.raw_features, m.pool.bytes)  # type: ignore[attr-defined]
            sizes.append(
                (len(m.decisions), m.pending, len(m._tickets._answered or ()), seen, len(m.live))
            )
    assert sizes[0] == sizes[1]


@pytest.mark.parametrize("keep", [0, 1, 3])
def test_the_last_decisions_are_kept(keep: int) -> None:
    kept, every = model(keep_decisions=keep), model()
    for row in examples(600, "fried"):
        kept.learn_one(row.line)
        every.learn_one(row.line)
    assert len(every.decisions) > 3
    assert kept.decisions == every.decisions[len(every.decisions) - keep :]
    assert kept.summary().decisions == len(every.decisions)


def test_distinct_features_are_counted_in_bounded_memory() -> None:
    m = ChaCha.paper(pool=ReferencePool(), init={"bit_precision": 8}, budget=1)
    for i in range(2000):
        m.learn_one(f"1 |a user{i}")
    assert m.observed.raw_features == 256


def test_complexity_and_first_lease_follow_the_contract() -> None:
    m = ChaCha.paper(pool=ReferencePool(), keep_decisions=100)
    m.learn_one("1 |a x y |b u v w |c z")
    assert {d.lease for d in m.decisions if isinstance(d, chacha.WentLive)} == {5 * 6}
    assert m.observed.complexity(Config(["ab"])) == 6 + 6
    m.learn_one("1 |a x q")
    assert m.observed.complexity(Config(["ab", "abc"])) == 7 + 9 + 9


def test_one_label_range_serves_all_models() -> None:
    m = model(pool=ReferencePool(), budget=2)
    for y in (3.0, -2.0, 7.0):
        m.learn_one("|a x |b y", y)
    assert (m.observed.low, m.observed.high) == (-2.0, 7.0)
    assert m._driver.observed.loss_range == 9.0


@pytest.mark.parametrize(
    ("loss", "label"),
    [
        (chacha.Logistic(), lambda p: 1.0 if p > 0.5 else 0.0),
        (chacha.Hinge(), lambda p: 1.0 if p > 0.5 else -1.0),
        (chacha.Poisson(), lambda p: float(int(5 * p))),
        (chacha.Quantile(0.9), lambda p: p),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_other_losses_run_on_vw_and_get_better(loss: chacha.losses.Loss, label: Any) -> None:
    m = ChaCha.paper(loss=loss, budget=3)
    rng = random.Random(2)
    losses = []
    for _ in range(800):
        a, b = rng.random(), rng.random()
        y = label(a)
        served = m.predict_one({"g": {"a": a}, "h": {"b": b}})
        if isinstance(loss, (chacha.Logistic, chacha.Poisson)):
            assert served >= 0.0, "a probability or a rate"
        before = m._driver.served.total
        m.learn_one({"g": {"a": a}, "h": {"b": b}}, y)
        losses.append(m._driver.served.total - before)
    assert sum(losses[-200:]) < 0.8 * sum(losses[:200])
    vw_args = m.champion.vw_args()
    assert f"--loss_function {loss.name.partition(':')[0]}" in vw_args


def test_any_option_may_be_tuned() -> None:
    """Words, switches and numbers of VW, in one space."""
    space: dict[str, Domain] = {
        "loss_function": chacha.Choice("squared", "quantile"),
        "sgd": chacha.Choice(False, True),
        "l2": LogUniform(1e-9, 1e-3),
        "bit_precision": chacha.Integer(10, 18),
    }
    pool = chacha.open_pool("vw")
    m = ChaCha.paper(space=space, init={"l2": 1e-6}, pool=pool, budget=3, lease_factor=1)
    assert str(m.champion) == (
        "no interactions; bit_precision 18; l2 1e-06; loss_function squared; sgd off"
    )
    m.run("synth:fried,n=300")
    tried = {d.config for d in m.decisions if d.kind == "WentLive"}
    assert len(tried) == 2
    for config in tried:
        assert set(config.values) == set(space)


def test_labels_a_loss_cannot_mean_are_refused() -> None:
    m = ChaCha.paper(loss=chacha.Logistic())
    with pytest.raises(chacha.errors.BadExample, match="-1 and 1"):
        m.learn_one("3 |a x")
    assert m.examples == 0
    with pytest.raises(chacha.errors.BadExample, match="at least 0"):
        ChaCha.paper(loss=chacha.Poisson()).learn_one("-3 |a x")


def test_importance_weights_count_in_learner_and_loss() -> None:
    twice, double = model(budget=1), model(budget=1)
    for row in examples(50):
        twice.learn_one(row.body, row.label, weight=2.0)
        double.learn_one(f"{row.with_label(row.label or 0.0).head} 2 {row.body}")
    assert twice.loss == double.loss
    m = model(budget=1)
    first = m.predict_one("|a x")
    m.learn_one("1 3 |a x")
    second = m.predict_one("|b y")
    m.learn_one("3 1 |b y")
    assert m.loss == pytest.approx((3 * (first - 1) ** 2 + (second - 3) ** 2) / 4)
    proxy = 3 * 0 + 1 * abs(max(second, 1.0) - 3)  # clipped to the labels seen: [1, 3]
    assert standing(m)[m.champion].mean == pytest.approx(proxy / 4)


def test_weight_zero_is_served_but_is_not_evidence() -> None:
    m = model(pool=ReferencePool())
    m.learn_one("1 |a x |b y")
    n = {live.config: live.n for live in m.live}
    m.learn_one("9 0 |a x |b y")
    assert {live.config: live.n for live in m.live} == n
    assert m.examples == 2


def test_baseline_is_the_initial_configuration_alone() -> None:
    m = ChaCha.paper(baseline=True)
    summary = m.run("synth:interactions,n=1500,seed=1")
    alone = ChaCha.paper(budget=1).run("synth:interactions,n=1500,seed=1")
    assert summary.baseline_loss == alone.loss
    assert "the initial configuration alone" in str(summary)


@settings(max_examples=15)
@given(st.integers(0, 2**31), st.integers(2, 6), st.lists(st.integers(1, 40), min_size=1))
def test_any_chunking_any_budget_same_decisions(seed: int, budget: int, cuts: list[int]) -> None:
    rows = examples(120, "2dplanes", seed % 50)
    settings = {"budget": budget, "seed": seed, "lease_factor": 1, "space": SPACE}
    whole = model(pool=ReferencePool(), **settings)
    for row in rows:
        whole.learn_one(row)
    chunked = model(pool=ReferencePool(), **settings)
    left = iter(rows)
    for cut in itertools.cycle(cuts):
        chunk = list(itertools.islice(left, cut))
        if not chunk:
            break
        chunked.run(chacha.sources.Rows([row.line for row in chunk]))
    assert list(chunked.decisions) == list(whole.decisions)
    assert chunked.loss == whole.loss
