"""User input to examples: dicts, lines of VW text, labels, user functions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from chacha.config.config import Config
from chacha.config.derived_groups import DerivedFeatures, derived
from chacha.data.example import Example
from chacha.data.text_parser import parse_line
from chacha.errors import BadExample, ConfigError
from chacha.features.own_functions import OwnFunctions
from chacha.sources import DictReader
from chacha.tasks import Task

__all__ = ["ExampleLike", "Intake", "example_of", "labelled"]

ExampleLike = Mapping[Any, Any] | str | Example
"""The types that `predict_one` accepts: a dict, a line of VW text, an example."""


class Intake:
    """Turns user input into examples, for a task and a policy on derived features.

    >>> from chacha.losses import Squared
    >>> from chacha.tasks import task_of
    >>> area = lambda x: {"m2": x["a"] * x["b"]}
    >>> policy = DerivedFeatures(functions={"area": area}, more=["lag(label,2)"])
    >>> intake = Intake(task_of(Squared()), policy)
    >>> intake.example({"a": 2.0, "b": 3.0, "c": None}).line
    '|a a:2.0 |b b:3.0 |c |missing(c) c |own(area) m2:6.0'
    >>> intake.past_groups
    ['lag(label,2)']
    """

    def __init__(
        self,
        task: Task,
        policy: DerivedFeatures | None = None,
        initial: Config | None = None,
        with_numbers: bool = False,
    ) -> None:
        self.task = task
        self.own_functions = OwnFunctions(policy.functions if policy else {})
        names = [*(policy.more if policy else ()), *(initial.derived if initial else ())]
        requested = {name: group for name in names if (group := derived(name)) is not None}
        self.past_groups = [name for name, group in requested.items() if group.keeps_past]
        """Groups made from earlier examples: a ticket keeps them as they were."""
        offers = policy is not None and "missing" in set(policy.kinds) - set(policy.without)
        offers = offers or any(group.kind == "missing" for group in requested.values())
        self.reader = DictReader(
            task.learner_label,
            offers,
            keep_rows=bool(self.own_functions.functions),
            with_numbers=with_numbers,
        )

    @property
    def in_blocks(self) -> bool:
        """Whether rows may be learned many at a time."""
        return not self.own_functions.functions

    def example(self, x: ExampleLike) -> Example:
        """Return the example for `x`, with the groups of user functions."""
        return self.own_functions(example_of(x, self.reader))

    def labelled(
        self, example: Example, y: float | None = None, weight: float | None = None
    ) -> Example:
        """Return the example with its label, or raise an error if it cannot be learned."""
        return labelled(example, self.task, y, weight)

    def prepare(self, example: Example) -> Example:
        """Return a row of a source in the form in which it is learned."""
        return self.own_functions(labelled(example, self.task))


def example_of(x: ExampleLike, reader: DictReader) -> Example:
    """Return the example for `x`; `reader` knows what was decided about the groups of dicts.

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
    example: Example, task: Task, y: float | None = None, weight: float | None = None
) -> Example:
    """Return the example with its label in the learner's form, or raise an error.

    >>> from chacha.losses import Logistic
    >>> from chacha.tasks import task_of
    >>> labelled(parse_line("0 |a x"), task_of(Logistic())).line
    '-1.0 |a x'
    """
    from_text = y is None
    if y is None:
        if example.label is None:
            raise BadExample("the example has no label; learning needs one", "no label")
        y = example.label
    label = task.label(y)
    if from_text and label == y and weight is None:
        return example
    return example.with_label(label, weight)
