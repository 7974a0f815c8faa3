"""Scores: losses relative to naive, the paper's normalised score, and a table of them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean, pstdev
from typing import Any, NamedTuple

from chacha.compare.result_cache import Outcome

__all__ = ["Row", "head_of", "normalised", "rows_of", "table_lines", "to_json", "with_accuracy"]


def normalised(loss: float, naive: float, exhaustive: float) -> float:
    """The paper's score: 0 for Naive, 1 for Exhaustive (section 5).

    >>> normalised(8.0, naive=10.0, exhaustive=6.0)
    0.5
    """
    return (naive - loss) / (naive - exhaustive) + 0.0  # no minus zero


class Row(NamedTuple):
    """What one method came to on one stream, over the seeds.

    `relative` is the mean loss divided by naive's, None if naive did not run; `score` is None
    unless naive and exhaustive ran and differ. ± is the standard deviation over the seeds (of
    all of them: divided by their number, as in the paper). `metrics` are what else the loss
    reports, each for every seed.
    """

    loss: Sequence[float]
    relative: float | None
    relative_sd: float | None
    score: float | None
    score_sd: float | None
    promotions: float
    cpu_seconds: float
    metrics: Mapping[str, Sequence[float]] = {}

    def shown(self, accuracy: bool = False) -> tuple[str, ...]:
        """The numbers for people: mean ± sd, promotions and CPU seconds; accuracy if asked for.

        >>> row = Row([3.0, 5.0], 0.5, 0.125, None, None, 1.0, 0.25, {"accuracy": [0.5, 0.75]})
        >>> row.shown()
        ('4 ± 1', '0.500 ± 0.125', '', '1.0', '0.25')
        >>> row.shown(accuracy=True)[1]
        '0.6250 ± 0.1250'
        """
        shares = self.metrics.get("accuracy", ())
        share = _pair(fmean(shares), _sd(shares), ".4f") if shares else ""
        return (
            f"{fmean(self.loss):.6g} ± {_sd(self.loss):.2g}",
            *([share] if accuracy else []),
            _pair(self.relative, self.relative_sd, ".3f"),
            _pair(self.score, self.score_sd, ".2f"),
            f"{self.promotions:.1f}",
            f"{self.cpu_seconds:.2f}",
        )


def _pair(mean: float | None, sd: float | None, form: str) -> str:
    return "" if mean is None or sd is None else f"{mean:{form}} ± {sd:{form}}"


def _sd(values: Sequence[float]) -> float:
    return pstdev(values) if all(map(math.isfinite, values)) else math.nan


def rows_of(outcomes: Mapping[str, Sequence[Outcome]]) -> dict[str, Row]:
    """The row of every method.

    A method that is frozen (offline) is compared over what comes after that: so are naive and
    exhaustive for its row.

    >>> from chacha.compare.result_cache import Point
    >>> def lost(*losses):
    ...     return [Outcome(1, 0, "", 0.5, (Point(1, loss, 1.0),)) for loss in losses]
    >>> rows = rows_of({"naive": lost(4, 4), "exhaustive": lost(2, 2), "paper": lost(4, 3)})
    >>> [row.score for row in rows.values()]
    [0.0, 1.0, 0.25]
    >>> rows["paper"].relative, rows["paper"].relative_sd
    (0.875, 0.125)
    """
    return {method: _row(method, outcomes) for method in outcomes}


def _row(method: str, outcomes: Mapping[str, Sequence[Outcome]]) -> Row:
    mine = outcomes[method]
    begin = mine[0].frozen

    def mean_of(other: str) -> float | None:
        if other not in outcomes:
            return None
        return fmean(outcome.loss_since(begin) for outcome in outcomes[other])

    losses = [outcome.loss for outcome in mine]
    naive, exhaustive = mean_of("naive"), mean_of("exhaustive")
    mean, sd = fmean(losses), _sd(losses)
    relative = relative_sd = score = score_sd = None
    if naive:
        relative, relative_sd = mean / naive, sd / naive
    if naive is not None and exhaustive is not None and naive != exhaustive:
        score = normalised(mean, naive, exhaustive)
        score_sd = sd / abs(naive - exhaustive)
    promotions = fmean(outcome.promotions for outcome in mine)
    cpu = fmean(outcome.cpu_seconds for outcome in mine)
    metrics = {name: [outcome.metrics[name] for outcome in mine] for name in mine[0].metrics}
    return Row(losses, relative, relative_sd, score, score_sd, promotions, cpu, metrics)


def to_json(rows: Mapping[str, Row]) -> dict[str, Any]:
    """The rows as JSON can hold them; it has no word for infinity.

    >>> to_json({"paper": Row([math.inf], None, None, None, None, 1.0, 2.0)})["paper"]["loss"]
    [None]
    """

    def plain(value: Any) -> Any:
        if isinstance(value, Mapping):
            return {name: plain(inner) for name, inner in value.items()}
        if isinstance(value, (list, tuple)):
            return [plain(inner) for inner in value]
        return value if not isinstance(value, float) or math.isfinite(value) else None

    return {
        method: {name: plain(value) for name, value in row._asdict().items()}
        for method, row in rows.items()
    }


HEAD = ("method", "loss", "/ naive", "score", "promotions", "CPU s")


def with_accuracy(rows: Mapping[str, Row]) -> bool:
    """Whether there is an accuracy to show.

    >>> with_accuracy({"naive": Row([1.0], None, None, None, None, 0.0, 0.5)})
    False
    """
    return any("accuracy" in row.metrics for row in rows.values())


def head_of(head: Sequence[str], accuracy: bool) -> list[str]:
    """The head of a table, with accuracy after the loss if it is shown.

    >>> head_of(HEAD, accuracy=True)[:4]
    ['method', 'loss', 'accuracy', '/ naive']
    """
    return [*head[:2], *(["accuracy"] if accuracy else []), *head[2:]]


def table_lines(rows: Mapping[str, Row]) -> Iterator[str]:
    """The rows as a table of text.

    >>> for line in table_lines({"naive": Row([4.0, 4.0], 1.0, 0.0, 0.0, 0.0, 0.0, 0.25)}):
    ...     print(line)
    method   loss        / naive        score  promotions  CPU s
    naive   4 ± 0  1.000 ± 0.000  0.00 ± 0.00         0.0   0.25
    """
    accuracy = with_accuracy(rows)
    body = ((method, *row.shown(accuracy)) for method, row in rows.items())
    shown = [tuple(head_of(HEAD, accuracy)), *body]
    widths = [max(map(len, column)) for column in zip(*shown, strict=True)]
    for first, *rest in shown:
        cells = [cell.rjust(width) for cell, width in zip(rest, widths[1:], strict=True)]
        yield "  ".join([first.ljust(widths[0]), *cells]).rstrip()
