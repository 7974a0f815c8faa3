"""Runs on the native pool decide, serve and report as on VW, and as the Python driver does."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import chacha
from chacha import (
    ChaCha,
    Interactions,
    LogUniform,
    NativePool,
    ReferencePool,
    SampleComplexity,
    open_pool,
)
from chacha.drivers.native import NativeDriver
from chacha.drivers.python import PythonDriver
from tests.support.native_runs import WAYS, PlainEvidence, lines_for_loss, lines_of, tracked
from tests.support.vw_text_strategy import good_lines

NI = {"interactions": Interactions()}
NI_LR = {**NI, "learning_rate": LogUniform(2e-10, 1.0)}
PRESETS: Mapping[str, Callable[..., ChaCha]] = {"paper": ChaCha.paper, "flaml": ChaCha.flaml}


def model(preset: str = "paper", **settings: Any) -> ChaCha:
    arguments: dict[str, Any] = {
        "keep_decisions": 10**6,
        "seed": 1,
        "pool": NativePool(),
        **settings,
    }
    return PRESETS[preset](**arguments)


NARROW = SampleComplexity(scale=0.01)
AUTHORS = SampleComplexity(scale=0.01, log_base=10.0, count_challengers=False, burn_in=100)
RUNS = [
    ("paper", "interactions", NI, 2300, {}),
    ("flaml", "interactions", NI, 900, {"baseline": True}),
    ("flaml", "fried", NI, 1500, {"evidence": AUTHORS}),
    ("paper", "fried", NI_LR, 600, {"evidence": NARROW, "baseline": True}),
    ("paper", "mv", NI, 600, {"evidence": NARROW, "budget": 12}),
    ("flaml", "mv", NI_LR, 1500, {"evidence": AUTHORS, "init": {"learning_rate": 0.01}}),
    ("paper", "sparse", NI, 400, {"evidence": SampleComplexity(scale=0.002), "baseline": True}),
]


@pytest.mark.parametrize(("preset", "stream", "space", "n", "more"), RUNS)
def test_runs_on_vw_and_natively_are_the_same(
    preset: str, stream: str, space: Any, n: int, more: dict[str, Any]
) -> None:
    """Decisions, predictions example by example, summary; and a promotion happens."""
    lines = lines_of(stream, n)
    vw = model(preset, space=space, pool=open_pool("vw"), **more)
    native = model(preset, space=space, **more)
    assert isinstance(native._driver, NativeDriver)
    assert isinstance(vw._driver, PythonDriver)
    assert tracked(native, lines, "whole") == tracked(vw, lines)
    assert native.promotions > 0


QUICK = SampleComplexity(scale=0.005)  # narrow bounds: promotions within a few hundred examples


@pytest.mark.parametrize("baseline", [False, True])
@pytest.mark.parametrize("space", [NI, NI_LR], ids=["NI", "NI+LR"])
def test_the_reference_learner_agrees(space: Any, baseline: bool) -> None:
    lines = lines_of("interactions", 220)
    settings: dict[str, Any] = {
        "space": space,
        "evidence": QUICK,
        "lease_factor": 1,
        "baseline": baseline,
    }
    native, reference = model(**settings), model(**settings, pool=ReferencePool())
    assert tracked(native, lines, "whole") == tracked(reference, lines)
    assert native.promotions > 0


LOSSES: dict[str, chacha.losses.Loss] = {
    "logistic": chacha.Logistic(),
    "floor": chacha.Logistic(floor=0.01),
    "hinge": chacha.Hinge(),
    "poisson": chacha.Poisson(),
    "quantile": chacha.Quantile(0.8),
    "squared": chacha.Squared(),
}


@pytest.mark.parametrize("loss", LOSSES)
def test_every_loss_and_importance_weights(loss: str) -> None:
    """On VW and natively; examples of weight 0 are predicted and are not evidence."""
    lines = lines_for_loss("logistic" if loss == "floor" else loss, 600)
    settings: dict[str, Any] = {
        "loss": LOSSES[loss],
        "evidence": QUICK,
        "baseline": True,
        "budget": 7,
    }
    native, vw = model(**settings), model(**settings, pool=open_pool("vw"))
    assert tracked(native, lines, "whole") == tracked(vw, lines)
    assert native.promotions > 0


def messy(n: int, late: int, seed: int = 0) -> list[str]:
    """Rows without a label, rows that cannot be read, tabs, words; a group that comes late."""
    rng = random.Random(seed)
    bad = ["", "|a x:1", "1 |a x:inf", "nan |a x", "no bar here", "1 |a 1:", "1 -1 |a x", " \t"]
    lines = []
    for i, line in enumerate(lines_of("interactions", n, seed=5)):
        while rng.random() < 0.1:
            lines.append(rng.choice(bad))
        line = f"ignored\t{line}" if rng.random() < 0.02 else line
        line += rng.choice(["", "", "", " |a 0:0.5", " |e w=\u00e9 ", " |"])
        lines.append(line + (f" |late {i % 3}:{rng.uniform(-1, 1)}" if i >= late else ""))
    return [*lines, *bad]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("seed", range(2))
def test_every_way_of_passing_over_a_stream_is_the_same(way: str, seed: int) -> None:
    """Blocks, pieces, cuts, drops, single lines: decisions, predictions, bounds, sums, metrics."""
    lines = messy(700, late=400, seed=seed)
    settings: dict[str, Any] = {"budget": 6, "baseline": bool(seed), "lease_factor": 1 + seed}
    python = model(**settings, evidence=PlainEvidence(scale=0.005))
    native = model(**settings, evidence=QUICK)
    assert isinstance(python._driver, PythonDriver)
    expected, end = tracked(python, lines)
    found, found_end = tracked(native, lines, way, seed)
    assert found == expected or way == "run"
    assert found_end == end
    assert native.promotions > 0
    assert native.summary().skipped
    assert "late" in native.observed.groups


evidences = st.one_of(
    st.fixed_dictionaries(
        {"scale": st.sampled_from([0.001, 0.01, 0.05]), "delta": st.sampled_from([0.1, 0.5])},
        optional={
            "log_base": st.just(10.0),
            "count_challengers": st.booleans(),
            "burn_in": st.integers(0, 20),
        },
    ),
    st.fixed_dictionaries(
        {"scale": st.just(0.002), "log_in_root": st.just(False), "p": st.floats(0.1, 0.9)},
        optional={"comp": st.sampled_from([0.001, 0.1]), "burn_in": st.integers(0, 5)},
    ),
)
rules = st.fixed_dictionaries(
    {"budget": st.integers(1, 12), "lease_factor": st.integers(1, 3), "seed": st.integers(0, 9)},
    optional={"baseline": st.booleans(), "space": st.sampled_from([NI, NI_LR])},
)
small = st.one_of(
    st.lists(good_lines(), min_size=1, max_size=60),
    st.builds(
        lambda n, seed: lines_of("interactions", n, seed), st.integers(1, 80), st.integers(0, 99)
    ),
)


@settings(max_examples=60)
@given(small, evidences, rules, st.sampled_from(sorted(WAYS)), st.integers(0, 999))
def test_the_native_driver_is_the_python_one(
    lines: Sequence[str], evidence: Any, rules: Any, way: str, seed: int
) -> None:
    """Any small stream, any rules, any way: the same to the last bit."""
    python = model(**rules, evidence=PlainEvidence(**evidence))
    native = model(**rules, evidence=SampleComplexity(**evidence))
    expected, end = tracked(python, lines)
    found, found_end = tracked(native, lines, way, seed)
    assert found == expected or way == "run"
    assert found_end == end


@pytest.mark.parametrize("zeros", [0.0, 0.6])
@pytest.mark.parametrize("columns", [4, 23])
def test_a_table_gives_what_its_text_gives(zeros: float, columns: int) -> None:
    """Columns with zeros and empty cells, in groups of one or several, words among them."""
    rng = np.random.default_rng(columns)
    x = np.where(rng.random((1200, columns)) < zeros, 0.0, rng.normal(size=(1200, columns)))
    y = x[:, 0] * x[:, -1] * 3 + x[:, 1]
    table = pa.table({f"f{i:02}": pa.array(x[:, i], mask=x[:, i] > 2.5) for i in range(columns)})
    python = table.append_column("y", pa.array(y))
    words = pa.array(rng.choice(["red", "green", "blue"], 1200)).dictionary_encode()
    for whole in (python, python.add_column(1, "word", words)):
        settings: dict[str, Any] = {"evidence": SampleComplexity(scale=0.001), "space": NI}
        native, vw = model(**settings), model(**settings, pool=open_pool("vw"))
        assert native.run(whole, target="y") == vw.run(whole, target="y")
        assert [str(d) for d in native.decisions] == [str(d) for d in vw.decisions]
        pieces = model(**settings)
        for start in range(0, 1200, 173):
            pieces.run(whole.slice(start, 173), target="y")
        assert pieces.summary() == native.summary()
        assert native.promotions > 0


@pytest.mark.parametrize("stream", ["fried", "2dplanes", "mv", "interactions", "drift", "sparse"])
def test_a_built_in_stream_in_blocks_is_the_stream_row_by_row(stream: str) -> None:
    limit = 300 if stream == "sparse" else 2200
    source = chacha.open_source(f"synth:{stream},n={limit + 100},seed=4")
    runs = []
    for in_blocks in (True, False):
        m = model(evidence=NARROW)
        served: list[float] = []
        if in_blocks:
            for chunk in m.chunks(source, limit=limit, record=True):
                assert chunk.served is not None
                served += chunk.served.predictions
        else:
            served = [step.prediction for step in m.steps(source, limit=limit)]
        runs.append((m.decisions, served, m.served, m.live))
    assert runs[0] == runs[1]


def test_two_passes_over_one_model_record_separately() -> None:
    """A pass that wants no predictions does not keep another one from getting them."""
    model = ChaCha()
    passes = [
        model.chunks(chacha.open_source(f"synth:fried,n=2000,seed={seed}"), record=seed == 1)
        for seed in (1, 2)
    ]
    recorded = dict.fromkeys((0, 1), 0)
    for pair in zip(*passes, strict=False):
        for i, chunk in enumerate(pair):
            assert (chunk.served is not None) == (i == 0)
            recorded[i] += chunk.examples if chunk.served is None else len(chunk.served.labels)
    assert min(recorded.values()) > 0
