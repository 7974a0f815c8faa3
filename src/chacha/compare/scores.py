"""Scores: losses relative to naive, the paper's normalised score, and a table of them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean, pstdev
from typing import Any, NamedTuple

from chacha.compare.outcome import Outcome

__all__ = [
    "MethodScores",
    "has_accuracy",
    "method_scores",
    "normalised_score",
    "table_head",
    "table_lines",
    "to_json",
]


def normalised_score(loss: float, naive: float, exhaustive: float) -> float:
    """Return the paper's score: 0 for Naive, 1 for Exhaustive (section 5).

    >>> normalised_score(8.0, naive=10.0, exhaustive=6.0)
    0.5
    """
    return (naive - loss) / (naive - exhaustive) + 0.0  # + 0.0 turns -0.0 into 0.0


class MethodScores(NamedTuple):
    """The scores of one method on one stream, over the seeds.

    `relative` is the mean loss divided by naive's; it is None if naive did not run. `score` is
    None unless naive and exhaustive ran and differ. ± is the standard deviation over all seeds
    (divided by their number, as in the paper). `metrics` are the loss's other metrics, each with
    a value for every seed. `loss_from_100` is the loss without the first 100 examples.
    """

    loss: Sequence[float]
    relative: float | None
    relative_sd: float | None
    score: float | None
    score_sd: float | None
    promotions: float
    cpu_seconds: float
    metrics: Mapping[str, Sequence[float]] = {}
    loss_from_100: Sequence[float] = ()

    def cells(self, accuracy: bool = False) -> tuple[str, ...]:
        """Return the cells of a table: mean ± sd, promotions and CPU seconds.

        With `accuracy`, its cell follows the loss.

        >>> metrics = {"accuracy": [0.5, 0.75]}
        >>> scores = MethodScores([3.0, 5.0], 0.5, 0.125, None, None, 1.0, 0.25, metrics)
        >>> scores.cells()
        ('4 ± 1', '0.500 ± 0.125', '', '1.0', '0.25')
        >>> scores.cells(accuracy=True)[1]
        '0.6250 ± 0.1250'
        """
        shares = self.metrics.get("accuracy", ())
        share = _mean_sd(fmean(shares), _sd(shares), ".4f") if shares else ""
        return (
            f"{fmean(self.loss):.6g} ± {_sd(self.loss):.2g}",
            *([share] if accuracy else []),
            _mean_sd(self.relative, self.relative_sd, ".3f"),
            _mean_sd(self.score, self.score_sd, ".2f"),
            f"{self.promotions:.1f}",
            f"{self.cpu_seconds:.2f}",
        )


def _mean_sd(mean: float | None, sd: float | None, form: str) -> str:
    return "" if mean is None or sd is None else f"{mean:{form}} ± {sd:{form}}"


def _sd(values: Sequence[float]) -> float:
    return pstdev(values) if all(map(math.isfinite, values)) else math.nan


def method_scores(outcomes: Mapping[str, Sequence[Outcome]]) -> dict[str, MethodScores]:
    """Return the scores of every method of a stream.

    A method that is frozen after some examples (offline) is compared over the rest of the
    stream: for its scores, naive and exhaustive are charged for the rest only.

    >>> from chacha.compare.outcome import CurvePoint
    >>> def with_losses(*losses):
    ...     return [Outcome(1, 0, "", 0.5, (CurvePoint(1, loss, 1.0),)) for loss in losses]
    >>> outcomes = {"naive": with_losses(4, 4), "exhaustive": with_losses(2, 2)}
    >>> scores = method_scores({**outcomes, "paper": with_losses(4, 3)})
    >>> [method.score for method in scores.values()]
    [0.0, 1.0, 0.25]
    >>> scores["paper"].relative, scores["paper"].relative_sd
    (0.875, 0.125)
    """
    return {method: _scores(method, outcomes) for method in outcomes}


def _scores(method: str, outcomes: Mapping[str, Sequence[Outcome]]) -> MethodScores:
    seeds = outcomes[method]
    begin = seeds[0].frozen

    def mean_loss(other: str) -> float | None:
        if other not in outcomes:
            return None
        return fmean(outcome.loss_since(begin) for outcome in outcomes[other])

    losses = [outcome.loss for outcome in seeds]
    naive, exhaustive = mean_loss("naive"), mean_loss("exhaustive")
    mean, sd = fmean(losses), _sd(losses)
    relative = relative_sd = score = score_sd = None
    if naive:
        relative, relative_sd = mean / naive, sd / naive
    if naive is not None and exhaustive is not None and naive != exhaustive:
        score = normalised_score(mean, naive, exhaustive)
        score_sd = sd / abs(naive - exhaustive)
    promotions = fmean(outcome.promotions for outcome in seeds)
    cpu = fmean(outcome.cpu_seconds for outcome in seeds)
    metrics = {name: [outcome.metrics[name] for outcome in seeds] for name in seeds[0].metrics}
    late = [outcome.loss_from_100 for outcome in seeds]
    return MethodScores(
        losses, relative, relative_sd, score, score_sd, promotions, cpu, metrics, late
    )


def to_json(scores: Mapping[str, MethodScores]) -> dict[str, Any]:
    """Return the scores for JSON, which cannot hold infinity or NaN: they become null.

    >>> scores = MethodScores([math.inf], None, None, None, None, 1.0, 2.0)
    >>> to_json({"paper": scores})["paper"]["loss"]
    [None]
    """

    def plain(value: Any) -> Any:
        if isinstance(value, Mapping):
            return {name: plain(inner) for name, inner in value.items()}
        if isinstance(value, (list, tuple)):
            return [plain(inner) for inner in value]
        return value if not isinstance(value, float) or math.isfinite(value) else None

    return {
        method: {name: plain(value) for name, value in one._asdict().items()}
        for method, one in scores.items()
    }


HEAD = ("method", "loss", "/ naive", "score", "promotions", "CPU s")


def has_accuracy(scores: Mapping[str, MethodScores]) -> bool:
    """Return whether any method has an accuracy.

    >>> has_accuracy({"naive": MethodScores([1.0], None, None, None, None, 0.0, 0.5)})
    False
    """
    return any("accuracy" in method.metrics for method in scores.values())


def table_head(head: Sequence[str], accuracy: bool) -> list[str]:
    """Return the head of a table; with `accuracy`, it follows the loss.

    >>> table_head(HEAD, accuracy=True)[:4]
    ['method', 'loss', 'accuracy', '/ naive']
    """
    return [*head[:2], *(["accuracy"] if accuracy else []), *head[2:]]


def table_lines(scores: Mapping[str, MethodScores]) -> Iterator[str]:
    """Yield the lines of a table of text.

    >>> scores = MethodScores([4.0, 4.0], 1.0, 0.0, 0.0, 0.0, 0.0, 0.25)
    >>> for line in table_lines({"naive": scores}):
    ...     print(line)
    method   loss        / naive        score  promotions  CPU s
    naive   4 ± 0  1.000 ± 0.000  0.00 ± 0.00         0.0   0.25
    """
    accuracy = has_accuracy(scores)
    body = ((method, *one.cells(accuracy)) for method, one in scores.items())
    rows = [tuple(table_head(HEAD, accuracy)), *body]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for first, *rest in rows:
        cells = [cell.rjust(width) for cell, width in zip(rest, widths[1:], strict=True)]
        yield "  ".join([first.ljust(widths[0]), *cells]).rstrip()
