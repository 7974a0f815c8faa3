"""What users hand in, as examples: dicts, lines of VW text, labels, their own functions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from chacha.config.config import Config
from chacha.config.derived_groups import DerivedFeatures, derived
from chacha.data.example import Example, finite
from chacha.data.text_parser import parse_line
from chacha.errors import BadExample, ConfigError
from chacha.features.own_functions import OwnFunctions
from chacha.losses import Loss
from chacha.sources import DictReader

__all__ = ["ExampleLike", "Intake", "example_of", "labelled"]

ExampleLike = Mapping[Any, Any] | str | Example
"""What can be predicted: a dict, a line of VW text, an example."""


class Intake:
    """Makes examples of whatever is handed in, for a loss and for what may be derived.

    >>> from chacha.losses import Squared
    >>> policy = DerivedFeatures(functions={"area": lambda x: {"m2": x["a"] * x["b"]}}, more=["lag(label,2)"])
    >>> intake = Intake(Squared(), policy)
    >>> intake.example({"a": 2.0, "b": 3.0, "c": None}).line
    '|a a:2.0 |b b:3.0 |c |missing(c) c |own(area) m2:6.0'
    >>> intake.past
    ['lag(label,2)']
    """

    def __init__(
        self, loss: Loss, policy: DerivedFeatures | None = None, initial: Config | None = None
    ) -> None:
        self.loss = loss
        self.own = OwnFunctions(policy.functions if policy else {})
        asked = [*(policy.more if policy else ()), *(initial.derived if initial else ())]
        wanted = {name: made for name in asked if (made := derived(name)) is not None}
        self.past = [name for name, made in wanted.items() if made.keeps_past]
        """What tells of earlier examples: a ticket keeps it as it was."""
        offers = policy is not None and "missing" in set(policy.kinds) - set(policy.without)
        offers = offers or any(made.kind == "missing" for made in wanted.values())
        self.reader = DictReader(loss.label, offers, keep_rows=bool(self.own.functions))

    @property
    def in_blocks(self) -> bool:
        """Whether rows may be learned many at a time."""
        return not self.own.functions

    def example(self, x: ExampleLike) -> Example:
        """The example of `x`."""
        return self.own(example_of(x, self.reader))

    def labelled(
        self, example: Example, y: float | None = None, weight: float | None = None
    ) -> Example:
        """The example with its label; refuses what cannot be learned."""
        return labelled(example, self.loss, y, weight)

    def prepare(self, example: Example) -> Example:
        """A row of a source, as it is learned."""
        return self.own(labelled(example, self.loss))


def example_of(x: ExampleLike, reader: DictReader) -> Example:
    """The example of `x`; `reader` knows what was decided about dicts.

    >>> example_of({"age": 3}, DictReader()).line
    '|age age:3.0'
    """
    if isinstance(x, Example):
        return x
    if not isinstance(x, (str, Mapping)):
        raise ConfigError(f"x must be a dict or a line of VW text, got {type(x).__name__}")
    try:
        return parse_line(x) if isinstance(x, str) else reader.example(x)
    except UnicodeEncodeError as error:
        raise BadExample(f"the example is not UTF-8 text: {error}", "not UTF-8") from error


def labelled(
    example: Example, loss: Loss, y: float | None = None, weight: float | None = None
) -> Example:
    """The example with the label as the learner takes it; refuses what it cannot.

    >>> from chacha.losses import Logistic
    >>> labelled(parse_line("0 |a x"), Logistic()).line
    '-1.0 |a x'
    """
    from_text = y is None
    if y is None:
        if example.label is None:
            raise BadExample("the example has no label; learning needs one", "no label")
        y = example.label
    label = loss.label(finite(y, "label"))
    if from_text and label == y and weight is None:
        return example
    return example.with_label(label, weight)
