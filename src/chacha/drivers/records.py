"""Records of a run: a live model, a step, a chunk, a summary."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from chacha.config.config import Config, show_product
from chacha.data.example import Example
from chacha.data.label_map import LabelMap
from chacha.losses import Squared
from chacha.rules.algorithm import Algorithm, RulesState
from chacha.rules.contest.betting import Pairing
from chacha.rules.contest.blending import Blend
from chacha.rules.contest.state import ContestState
from chacha.rules.decisions import Decision
from chacha.rules.paper.bounds import Bound
from chacha.rules.paper.champion import ChampionChallengers
from chacha.rules.paper.state import PaperState
from chacha.rules.progressive_loss import ProgressiveLoss
from chacha.rules.stream_facts import StreamFacts
from chacha.vw.relabel import fresh_options

__all__ = [
    "Chunk",
    "LiveModel",
    "ServedPredictions",
    "Step",
    "Summary",
    "beside_constant",
    "derived_names",
    "label_scale_line",
    "live_models",
    "logarithm_of",
    "r2_of",
]


class LiveModel(NamedTuple):
    """One live model: its configuration, its role, its examples, its lease and its bound.

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


def live_models(
    algorithm: Algorithm[Any], state: RulesState, facts: StreamFacts
) -> list[LiveModel]:
    """Return the live models of a state, the champion first."""
    if isinstance(state, ContestState):
        serving = {state.champion}
        if state.serving.other is not None:
            serving = {state.serving.other, *([state.champion] if state.serving.share < 1 else [])}
        c = state.champion
        return [LiveModel(c, True, c in serving, state.charged, None, None)] + [
            LiveModel(c, False, c in serving, each.pairing.n, each.lease, None, each.pairing)
            for c, each in state.challengers.items()
        ]
    assert isinstance(state, PaperState)
    assert isinstance(algorithm, ChampionChallengers)
    return [
        LiveModel(
            config=c,
            champion=c == state.champion,
            serving=c == state.incumbent,
            n=state.standing[c].n,
            lease=state.lease.get(c),
            bound=algorithm.bound(state, c, facts),
        )
        for c in algorithm.live(state)
    ]


class Step(NamedTuple):
    """One learned example: the served prediction, which model served it, and the decisions.

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
    """The served predictions of a chunk, with the label, the server and the tag of each example.

    >>> ServedPredictions([0.5], [1.0], [Config()], [""]).predictions
    [0.5]
    """

    predictions: Sequence[float]
    labels: Sequence[float]
    served_by: Sequence[Config | Blend]
    tags: Sequence[str]


class Chunk(NamedTuple):
    """Consecutive examples of a run, at most up to the next decision.

    `decisions` were made after the last of them. `served` is None unless recording was requested.

    >>> import chacha
    >>> model = chacha.ChaCha.paper()
    >>> [chunk.examples for chunk in model.chunks(chacha.open_source("synth:fried"), limit=1)]
    [1]
    """

    examples: int
    decisions: list[Decision]
    served: ServedPredictions | None


@dataclass(frozen=True)
class Summary:
    """The results of a run so far. `print` shows them as a few lines of text.

    `loss` is the mean progressive loss of the served predictions, unclipped. `mean_loss` is that
    of the best constant for the labels before each example: their weighted mean, or for two
    classes what follows from their rate. It is None for quantile loss, and for a custom loss that
    extends no built-in one. With late labels, the constant is that of the time of the prediction.
    `r2` is 1 - loss / loss of that constant, both from the second label on, because before the
    first one nothing is known of the labels; with squared loss this is R². 1 is perfect, 0 is as
    good as the best constant, and below 0 is worse. It is None without a constant, or if that lost
    nothing.

    `label_shift` and `label_scale` are how the champion learns labels: less the shift, in units of
    the scale. Its learning rate is relative to this scale. They are None if labels are learned as
    they are; the scale is 0 until two labels differ. If the champion learns logarithms, shift
    and scale are those of ln(1 + (label - `label_low`)/`label_unit`).

    >>> import chacha
    >>> print(chacha.ChaCha.paper().run("synth:fried", limit=1))
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
    mean_loss: float | None = None
    r2: float | None = None
    baseline_r2: float | None = None  # the same for the initial configuration alone
    label_map: LabelMap | None = None  # how the champion learns labels; None: as they are
    label_range: tuple[float, float] | None = None  # within which it predicts, if known
    centred: bool = False  # whether numeric columns are learned less a centre
    is_vw: bool = field(default=True, compare=False)  # whether VW has the learner

    @property
    def label_shift(self) -> float | None:
        """The shift of the champion's labels; None if it learns them as they are."""
        return None if self.label_map is None else self.label_map.shift

    @property
    def label_scale(self) -> float | None:
        """The scale of the champion's labels; None if it learns them as they are."""
        return None if self.label_map is None else self.label_map.scale

    @property
    def label_low(self) -> float | None:
        """The low of the logarithm that the champion learns; None if it learns none."""
        return self.label_map.low if self.label_map and self.label_map.logarithm else None

    @property
    def label_unit(self) -> float | None:
        """The unit of the logarithm that the champion learns; None if it learns none."""
        return self.label_map.unit if self.label_map and self.label_map.logarithm else None

    @property
    def same_as(self) -> str | None:
        """VW's command line for a new model, and on what data; None if VW has no such model."""
        if (args := self.vw_args) is None:
            return None
        names = derived_names(self.champion)
        comment = "  # on the stream of chacha transform" if names or self.centred else ""
        comment += f", with {', '.join(names)}" if names else ""
        if logarithm := logarithm_of(self.label_map):
            comment += f"  # of {logarithm}"
        return f"vw {args}".rstrip() + comment

    @property
    def vw_args(self) -> str | None:
        """VW's options for a new model of the labels as they are; None if VW has no such model."""
        if not self.is_vw:
            return None
        options = fresh_options(self.champion, self.label_map, self.label_range)
        return None if options is None else options.vw_args()

    def __str__(self) -> str:
        loss = "none yet" if self.loss is None else f"{self.loss:.6g}"
        loss += beside_constant(self.loss_name, self.r2)
        lines = [f"champion: {self.champion}"]
        if self.same_as is not None:
            lines.append(f"same as: {self.same_as}")
        if line := label_scale_line(self.champion, self.label_map):
            lines.append(line)
        lines.append(
            f"served {self.loss_name} loss {loss} over {_count(self.examples, 'example')}, "
            f"{_count(self.promotions, 'promotion')}, {_count(self.challengers, 'challenger')}"
        )
        if self.baseline_loss is not None and self.loss is not None:
            lines.append(self._baseline(self.loss, self.baseline_loss))
        if self.skipped:
            lines.append(f"skipped {_count(sum(self.skipped.values()), 'row')}:")
            for reason, count in self.skipped.items():
                first = self.first_skipped.get(reason)
                lines.append(f"  {count} {reason}" + (f"; first: {first}" if first else ""))
        lines += self.notes
        if self.expired:
            lines.append(f"{_count(self.expired, 'ticket')} expired without a label")
        return "\n".join(lines)

    def _baseline(self, loss: float, alone: float) -> str:
        """Return the line that compares what was served with the initial configuration."""
        line = f"the initial configuration alone: {alone:.6g}"
        line += beside_constant(self.loss_name, self.baseline_r2)
        if self.r2 is not None and self.baseline_r2 is not None:  # both from the second label on
            loss, alone = 1.0 - self.r2, 1.0 - self.baseline_r2
        if not alone > 0.0:
            return line
        change = loss / alone - 1.0
        return f"{line}; what was served is {abs(change):.1%} {'above' if change > 0 else 'below'}"


def r2_of(served: ProgressiveLoss, constant: ProgressiveLoss) -> float | None:
    """Return 1 - loss / loss of the best constant; None if that lost nothing.

    >>> r2_of(ProgressiveLoss(2, 1.0, 2.0), ProgressiveLoss(2, 4.0, 2.0))
    0.75
    """
    return 1.0 - served.mean / constant.mean if 0.0 < constant.mean < math.inf else None


def beside_constant(loss_name: str, r2: float | None) -> str:
    """Return how a loss compares with that of the best constant, as words to follow it.

    >>> beside_constant("squared", 0.98321), beside_constant("logistic", 0.42)
    (' (R² 0.983)', ' (42.0% below the best constant)')
    >>> beside_constant("squared", -0.5), beside_constant("hinge", -0.5)
    (' (R² -0.500)', ' (50.0% above the best constant)')
    """
    if r2 is None:
        return ""
    if loss_name == Squared.kind:
        return f" (R² {r2:.3f})"
    return f" ({abs(r2):.1%} {'above' if r2 < 0 else 'below'} the best constant)"


def label_scale_line(champion: Config, label_map: LabelMap | None) -> str | None:
    """Return what a champion's learning rate is relative to; None if it is shown as VW has it.

    >>> rate, celsius = Config(values={"learning_rate": 0.5}), LabelMap(32.0, 1.8)
    >>> label_scale_line(rate, celsius)
    'label scale: 1.8 around 32 (learning rates are relative to it)'
    >>> label_scale_line(rate, LabelMap(0.7, 0.5, logarithm=True, low=5.0, unit=2.0))
    'label scale: 0.5 around 0.7 of ln(1 + (label - 5)/2) (learning rates are relative to it)'
    >>> print(label_scale_line(Config(), celsius))
    None
    """
    if label_map is None or not label_map.scale or "learning_rate" not in champion.values:
        return None
    around = f"{label_map.scale:.4g} around {label_map.shift:.4g}"
    if logarithm := logarithm_of(label_map):
        around += f" of {logarithm}"
    return f"label scale: {around} (learning rates are relative to it)"


def logarithm_of(label_map: LabelMap | None) -> str | None:
    """Return the logarithm that a model learns, as a formula; None if it learns none.

    >>> logarithm_of(LabelMap(0.7, 0.5, logarithm=True, low=5.0, unit=2.0))
    'ln(1 + (label - 5)/2)'
    """
    if label_map is None or not label_map.logarithm:
        return None
    return f"ln(1 + (label - {label_map.low:g})/{label_map.unit:g})"


def derived_names(config: Config) -> list[str]:
    """Return the derived groups of a configuration and their products, as readable names.

    >>> derived_names(Config([("bins(a,16)", "hour"), "ab"], derived=["bins(a,16)"]))
    ['bins(a,16)', 'bins(a,16)*hour']
    """
    products = [p for p in config.interactions if not set(p).isdisjoint(config.derived)]
    return [*config.derived, *map(show_product, products)]


def _count(n: int, noun: str) -> str:
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"
