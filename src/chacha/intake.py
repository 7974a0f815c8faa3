"""What users hand in, as examples: dicts, lines of VW text, labels, weights."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from chacha.errors import BadExample, ConfigError
from chacha.example import Example, finite, parse_line
from chacha.losses import Loss
from chacha.sources import DictReader

__all__ = ["Features", "example_of", "labelled"]

Features = Mapping[Any, Any] | str | Example
"""What can be predicted: a dict, a line of VW text, an example."""


def example_of(x: Features, reader: DictReader) -> Example:
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
