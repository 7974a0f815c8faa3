"""Parquet files that hold examples: features by group, as `chacha convert` writes them."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any

import pyarrow as pa

from chacha.data.example import Example, finite
from chacha.data.text_parser import parse_line
from chacha.data.vw_text import DEFAULT_GROUP, read_number, show_exactly
from chacha.errors import BadExample, SourceError
from chacha.sources.base import Bad

__all__ = ["EXAMPLE_SCHEMA", "ExampleParquet", "holds_examples"]

EXAMPLE_SCHEMA = pa.schema(
    [
        ("label", pa.float32()),
        ("weight", pa.float32()),
        ("initial", pa.float32()),
        ("tag", pa.string()),
        ("features", pa.map_(pa.string(), pa.map_(pa.string(), pa.float32()))),
    ],
    metadata={"chacha": "examples 1"},
)
"""One row per example: group -> name -> value. The metadata marks such a file."""

_SPACE_OR_BAR = re.compile(r"[\s|]")
_POSITION = re.compile(r":[0-9]{1,6}", re.ASCII)


def holds_examples(schema: pa.Schema) -> bool:
    """Return whether a Parquet file holds examples rather than a table.

    >>> holds_examples(EXAMPLE_SCHEMA), holds_examples(pa.schema([("x", pa.int8())]))
    (True, False)
    """
    marked = (schema.metadata or {}).get(b"chacha") == b"examples 1"
    return marked and schema.equals(EXAMPLE_SCHEMA)


class ExampleParquet:
    """A Parquet file of examples; `batches` opens it and returns its record batches.

    >>> ExampleParquet("clicks.parquet", lambda: []).description
    'Parquet of examples'
    """

    endless = False
    description = "Parquet of examples"
    tabular = False

    def __init__(self, name: str, batches: Callable[[], Iterable[pa.RecordBatch]]) -> None:
        self.name = name
        self._batches = batches

    def __iter__(self) -> Iterator[Example | Bad]:
        number = 0
        try:
            for batch in self._batches():
                for row in batch.to_pylist():
                    number += 1
                    place = f"{self.name}: row {number}"
                    try:
                        yield _example(row, place)
                    except BadExample as error:
                        yield Bad(place, error.reason, str(error))
        except (pa.ArrowException, OSError) as error:
            cause = str(error).splitlines()[0]
            raise SourceError(f"{self.name}: cannot be read after row {number}: {cause}") from error


def _example(row: dict[str, Any], place: str) -> Example:
    """Return the example of a row: it is written as VW text and parsed."""
    words: list[str] = []
    for group, features in row["features"] or []:
        if group != DEFAULT_GROUP and (not group or _SPACE_OR_BAR.search(group) or ":" in group):
            raise BadExample(f"the group {group!r:.40} cannot be written in VW text", "malformed")
        bar = f"|{'' if group == DEFAULT_GROUP else group}"
        words.append(bar)
        position = 0  # of the next feature without a name
        for name, value in features or []:
            text = _number(name, value)
            if not name.startswith(":"):
                _check_name(name, value)
                words.append(name if value == 1.0 else f"{name}:{text}")
                continue
            if not _POSITION.fullmatch(name):
                raise BadExample(f"{name!r:.40} is not a position", "malformed")
            at = int(name[1:])
            if at < position:  # it belongs to another part of the group
                words.append(bar)
                position = 0
            words += [":0"] * (at - position)
            words.append(f":{text}")
            position = at + 1
    if row["label"] is None:
        raise BadExample("the example has no label; learning needs one", "no label")
    if _SPACE_OR_BAR.search(tag := row["tag"] or ""):
        raise BadExample(f"the tag {tag!r:.40} holds white space or a bar", "malformed")
    body = parse_line(" ".join(words) or "|", place)
    head = replace(body, initial=finite(row["initial"] or 0.0, "initial prediction"), tag=tag)
    return head.with_label(row["label"], 1.0 if row["weight"] is None else row["weight"])


def _check_name(name: str, value: float) -> None:
    """Refuse a name that VW text cannot hold; `color:red` is a name with the value 1."""
    _, colon, word = name.partition(":")
    bad_word = colon and (value != 1.0 or not word or read_number(word) is not None)
    if not name or _SPACE_OR_BAR.search(name) or bad_word:
        raise BadExample(f"the feature {name!r:.40} cannot be written in VW text", "malformed")


def _number(name: str, value: float | None) -> str:
    text, exact = show_exactly(math.nan if value is None else value)
    if not math.isfinite(exact):
        raise BadExample(f"feature {name!r} is {value}; values must be finite", "value not finite")
    return text
