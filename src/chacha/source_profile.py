"""A look at a whole source before it is used: its examples, labels and groups."""

from __future__ import annotations

from dataclasses import dataclass, field

from chacha.errors import ConfigError
from chacha.losses import Loss
from chacha.model import ChaCha
from chacha.sources import LogLabels, LogTarget, OnBad, Source, is_table

__all__ = ["SourceProfile", "profile_source", "with_log_target"]


@dataclass(frozen=True)
class SourceProfile:
    """What a whole source holds; `names` are those of its groups, sorted, where they are known.

    `table`: whether its examples are rows of a table.

    >>> import chacha
    >>> found = profile_source(chacha.sources.Rows(["1 |a x", "100 |a x", "-2 |a x"]))
    >>> found
    SourceProfile(examples=3, low=-2.0, high=100.0, groups=1)
    >>> found.names
    ('a',)
    >>> found.shift(LogTarget.AUTO), found.shift(LogTarget.OFF)
    (3.0, None)
    """

    examples: int
    low: float
    high: float
    groups: int = 0
    names: tuple[str, ...] = field(default=(), repr=False, compare=False)
    table: bool = field(default=False, repr=False, compare=False)

    def shift(self, when: LogTarget) -> float | None:
        """What to add to a label before its logarithm is taken; None: it is not taken.

        The authors' rule: log if max(range, max) >= 100; if min <= 0, |min| + 1 is added.
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
    """Pass over a source with one model, as any run does; rows it would skip do not count."""
    model = ChaCha.paper(budget=1, space={}, loss=loss)
    for _ in model.chunks(source, limit=limit, on_bad=on_bad):
        pass
    seen = model.observed
    names = tuple(seen.groups)
    table = is_table(source)
    return SourceProfile(model.examples, seen.low, seen.high, len(names), names, table)


def with_log_target(
    source: Source,
    when: LogTarget = LogTarget.AUTO,
    *,
    loss: Loss | None = None,
    on_bad: OnBad | None = None,
) -> Source:
    """The source with the logarithm of its labels, where that is to be taken.

    What is decided is decided over the whole source, which is read once more for that.

    >>> import chacha
    >>> small, large = chacha.sources.Rows(["1 |a x", "2 |a x"]), chacha.sources.Rows(["1 |a x", "1000 |a x"])
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
            f"{source.name}: whether to take the logarithm is decided over the whole source, and "
            "this one cannot be read twice; save it to a file first"
        )
    shift = profile_source(source, loss=loss, on_bad=on_bad).shift(when)
    return source if shift is None else LogLabels(source, shift)
