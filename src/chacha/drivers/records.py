"""Records that tell where a model stands: a live model, a step, a summary."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from chacha.config.config import Config, show_product
from chacha.data.example import Example
from chacha.rules.contest.betting import Pairing
from chacha.rules.contest.blending import Blend
from chacha.rules.decisions import Decision
from chacha.rules.paper.bounds import Bound

__all__ = ["LiveModel", "ServedPredictions", "Step", "Chunk", "Summary", "derived_names"]


class LiveModel(NamedTuple):
    """One live model: its configuration, role, examples, lease and bound.

    >>> import chacha
    >>> chacha.ChaCha.paper(pool=chacha.ReferencePool()).live[0].champion
    True
    """

    config: Config
    champion: bool
    serving: bool
    n: int
    lease: int | None
    bound: Bound | None  # with the paper's evidence
    pairing: Pairing | None = None  # with paired evidence, of a challenger


class Step(NamedTuple):
    """One example of a run: what was served, by whom, and what was decided after it.

    >>> import chacha
    >>> model = chacha.ChaCha.paper(pool=chacha.ReferencePool())
    >>> step = next(model.steps(chacha.open_source("synth:fried"), limit=1))
    >>> step.prediction, str(step.served_by)
    (0.0, 'no interactions')
    """

    example: Example
    prediction: float
    served_by: Config | Blend
    loss: float
    decisions: list[Decision]


class ServedPredictions(NamedTuple):
    """What was served, example by example.

    >>> ServedPredictions([0.5], [1.0], [Config()], [""]).predictions
    [0.5]
    """

    predictions: Sequence[float]
    labels: Sequence[float]
    served_by: Sequence[Config | Blend]
    tags: Sequence[str]


class Chunk(NamedTuple):
    """Some examples of a run, at most up to the next decision.

    `decisions` were made after the last of them; `served` is there if it was asked for.

    >>> import chacha
    >>> model = chacha.ChaCha.paper()
    >>> [s.examples for s in model.chunks(chacha.open_source("synth:fried"), limit=1)]
    [1]
    """

    examples: int
    decisions: list[Decision]
    served: ServedPredictions | None


@dataclass(frozen=True)
class Summary:
    """Where a model stands. Prints as a few lines for people.

    `loss` is the mean progressive loss of the served predictions, unclipped.

    >>> import chacha
    >>> print(chacha.ChaCha.paper(pool=chacha.ReferencePool()).run("synth:fried", limit=1))
    champion: no interactions
    same as: vw
    served squared loss 200.435 over 1 example, 0 promotions, 45 challengers
    """

    examples: int
    skipped: Mapping[str, int]
    loss: float | None
    loss_name: str
    metrics: Mapping[str, float]
    baseline_loss: float | None
    champion: Config
    promotions: int
    decisions: int
    challengers: int
    expired: int = 0
    first_skipped: Mapping[str, str] = field(default_factory=dict)
    notes: Sequence[str] = ()

    def __str__(self) -> str:
        loss = "none yet" if self.loss is None else f"{self.loss:.6g}"
        lines = [
            f"champion: {self.champion}",
            f"same as: vw {self.champion.vw_args()}".rstrip() + _told_derived(self.champion),
            f"served {self.loss_name} loss {loss} over {_count(self.examples, 'example')}, "
            f"{_count(self.promotions, 'promotion')}, {_count(self.challengers, 'challenger')}",
        ]
        if self.baseline_loss is not None and self.loss is not None:
            change = self.loss / self.baseline_loss - 1 if self.baseline_loss else 0.0
            alone = f"{self.baseline_loss:.6g} ({change:+.1%})"
            lines.append(f"the initial configuration alone: {alone}")
        if self.skipped:
            lines.append(f"skipped {_count(sum(self.skipped.values()), 'row')}:")
            for reason, count in self.skipped.items():
                first = self.first_skipped.get(reason)
                lines.append(f"  {count} {reason}" + (f"; first: {first}" if first else ""))
        lines += self.notes
        if self.expired:
            lines.append(f"{_count(self.expired, 'ticket')} expired without a label")
        return "\n".join(lines)


def derived_names(config: Config) -> list[str]:
    """The derived groups of a configuration and their products, as people read them.

    >>> derived_names(Config([("bins(a,16)", "hour"), "ab"], derived=["bins(a,16)"]))
    ['bins(a,16)', 'bins(a,16)*hour']
    """
    products = [p for p in config.interactions if not set(p).isdisjoint(config.derived)]
    return [*config.derived, *map(show_product, products)]


def _told_derived(champion: Config) -> str:
    """What a reader of VW's command line must know of derived groups."""
    names = derived_names(champion)
    return f"  # on the stream of chacha transform, with {', '.join(names)}" if names else ""


def _count(n: int, noun: str) -> str:
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"
