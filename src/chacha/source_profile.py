"""The profile of a whole source: its examples, labels and groups."""

from __future__ import annotations

from dataclasses import dataclass, field

from chacha.errors import ConfigError
from chacha.losses import Loss
from chacha.model import ChaCha
from chacha.sources import LogLabels, LogTarget, OnBad, Source, is_table

__all__ = ["SourceProfile", "profile_source", "with_log_target"]


@dataclass(frozen=True)
class SourceProfile:
    """The number of examples, the label range and the groups of a whole source.

    `names` are the sorted names of the groups, where they are known. `table` is true if the
    examples are rows of a table.

    >>> import chacha
    >>> profile = profile_source(chacha.sources.Rows(["1 |a x", "100 |a x", "-2 |a x"]))
    >>> profile
    SourceProfile(examples=3, low=-2.0, high=100.0, groups=1)
    >>> profile.names
    ('a',)
    >>> profile.shift(LogTarget.AUTO), profile.shift(LogTarget.OFF)
    (3.0, None)
    """

    examples: int
    low: float
    high: float
    groups: int = 0
    names: tuple[str, ...] = field(default=(), repr=False, compare=False)
    table: bool = field(default=False, repr=False, compare=False)

    def shift(self, when: LogTarget) -> float | None:
        """Return what to add to a label before taking its logarithm; None if it is not taken.

        The authors' rule: take the logarithm if max(range, max) >= 100; if min <= 0, first add
        |min| + 1.
        """
        large = max(self.high - self.low, self.high) >= 100.0
        if when is LogTarget.OFF or (when is LogTarget.AUTO and not large):
            return None
        return abs(self.low) + 1.0 if self.low <= 0 else 0.0


def profile_source(
    source: Source,
    *,
    loss: Loss | None = None,
    limit: int | None = None,
    on_bad: OnBad | None = None,
) -> SourceProfile:
    """Profile a source by passing over it with one model, as a run does.

    Rows that a run would skip do not count.
    """
    model = ChaCha.paper(budget=1, space={}, loss=loss)
    for _ in model.chunks(source, limit=limit, on_bad=on_bad):
        pass
    facts = model.observed
    names = tuple(facts.groups)
    table = is_table(source)
    return SourceProfile(model.examples, facts.low, facts.high, len(names), names, table)


def with_log_target(
    source: Source,
    when: LogTarget = LogTarget.AUTO,
    *,
    loss: Loss | None = None,
    on_bad: OnBad | None = None,
) -> Source:
    """Return the source with the logarithm of its labels, if it is to be taken.

    The decision is made over the whole source, which is read an extra time for it.

    >>> from chacha.sources import Rows
    >>> small, large = Rows(["1 |a x", "2 |a x"]), Rows(["1 |a x", "1000 |a x"])
    >>> [example.label for example in with_log_target(small)]
    [1.0, 2.0]
    >>> [example.label for example in with_log_target(large)]
    [0.0, 6.907755374908447]
    """
    if not isinstance(when, LogTarget):
        raise ConfigError(f"when must be LogTarget.AUTO, ON or OFF, got {when!r}")
    if when is LogTarget.OFF:
        return source
    if source.endless:
        raise ConfigError(
            f"{source.name}: whether to take the logarithm of labels is decided over the whole "
            "source, but this one cannot be read twice; save it to a file first"
        )
    shift = profile_source(source, loss=loss, on_bad=on_bad).shift(when)
    return source if shift is None else LogLabels(source, shift)
