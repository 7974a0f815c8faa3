"""What the recommended rules reach on built-in streams, and what they never do."""

from __future__ import annotations

import pytest

from chacha import ChaCha, ContestRules, NativePool, SequentialPool
from chacha.data.example import Example
from chacha.rules.contest import ChampionServes

STREAMS = ("fried", "mv", "2dplanes", "interactions", "drift")


@pytest.mark.parametrize("stream", STREAMS)
def test_they_beat_the_initial_configuration_and_the_papers_rules(stream: str) -> None:
    """The initial configuration with labels as they are, and also on their scale."""
    source = f"synth:{stream},n=12000"
    ours, theirs = ChaCha(baseline=True), ChaCha.paper(baseline=True)
    summary, paper = ours.run(source), theirs.run(source)
    assert summary.loss is not None
    assert summary.baseline_loss is not None
    assert paper.loss is not None
    assert paper.baseline_loss is not None
    assert summary.loss < 0.8 * paper.baseline_loss
    assert summary.loss < 0.9 * summary.baseline_loss
    assert summary.loss < paper.loss


@pytest.mark.parametrize("stream", STREAMS)
def test_blending_changes_no_decision_and_is_never_much_worse(stream: str) -> None:
    """At most 1.01 times what the champion alone would have lost."""
    source = f"synth:{stream},n=12000"
    blended, alone = ChaCha(), ChaCha(rules=ContestRules(blending=ChampionServes()))
    blended.run(source)
    alone.run(source)
    assert blended.decisions == alone.decisions
    assert blended.loss is not None
    assert alone.loss is not None
    assert blended.loss <= 1.01 * alone.loss


def test_an_old_champion_is_beaten_after_the_world_has_changed() -> None:
    """The right products change half-way; the loss of the second half is near the first one's."""
    model, half = ChaCha(), 10_000
    source = model.open(f"synth:drift,n={2 * half},seed=1")
    before = 0.0
    until = [half]
    for _ in model.chunks(source, until=lambda: until[0]):
        if model.examples == half:
            before, until[0] = model.served.total, 2 * half
    assert before / half < 0.3
    assert (model.served.total - before) / half < 0.4, "the initial configuration alone: 2.25"


@pytest.mark.parametrize("seed", [1, 2])
def test_the_seed_changes_nothing_with_one_number(seed: int) -> None:
    first, other = ChaCha(seed=0), ChaCha(seed=seed)
    for model in (first, other):
        model.run("synth:mv,n=6000")
    assert first.decisions == other.decisions


def test_a_pool_that_cannot_copy_is_reported() -> None:
    class Mean:
        total = n = 0.0

        def predict(self, example: Example) -> float:
            return self.total / self.n if self.n else 0.0

        def learn(self, example: Example) -> None:
            self.total, self.n = self.total + (example.label or 0.0), self.n + 1

        def close(self) -> None:
            pass

    note = "SequentialPool cannot copy a model: challengers start empty"
    model = ChaCha(pool=SequentialPool(lambda config: Mean()), space={})
    assert note in str(model.run("synth:fried,n=20"))
    assert note not in str(ChaCha(pool=NativePool()).run("synth:fried,n=20"))
