"""`chacha run --dry-run`: what a source was taken for."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

from chacha.data.example import DEFAULT_GROUP, Example
from chacha.sources import Bad, Files, Skipped, Source
from chacha.sources.tables.reader import TableReader

__all__ = ["show_source"]

ROWS = 1000  # that are looked at
EXAMPLES = 3
WIDEST = 60


def show_source(source: Source) -> None:
    """Print columns, types, groups and the first examples; learn nothing."""
    skipped = Skipped()
    examples: list[Example] = []
    for row in islice(source, ROWS):
        if isinstance(row, Bad):
            skipped.add(row)
        elif len(examples) < EXAMPLES:
            examples.append(row)
        elif source.endless:  # the next rows may be long in coming
            break
    for line in told(source, examples):
        print(line)
    for reason, count in skipped.items():
        print(f"among the first {ROWS} rows, {count} {reason}; first: {skipped.first[reason]}")


def told(source: Source, examples: list[Example]) -> Iterator[str]:
    """The lines that tell it."""
    inner = source.first if isinstance(source, Files) else source
    yield f"{source.name}: {getattr(inner, 'understood', 'examples')}"
    table = getattr(inner, "table", None)
    if isinstance(table, TableReader):
        yield from columns(table)
    elif examples:
        yield "group     features of the first example"
        for group, features in examples[0].groups.items():
            name = "(no name)" if group == DEFAULT_GROUP else group
            yield f"{name:<9} {_cut(', '.join(f.name for f in features))}".rstrip()
    if not examples:
        yield "no example among the first rows"
        return
    yield "the first examples as VW text:"
    for example in examples:
        yield f"  {example.line}"


def columns(table: TableReader) -> Iterator[str]:
    """What is known of a table's columns."""
    spec = table.spec
    yield f"target: {table.schema.target}" + (
        f" ({spec.positive!r} is 1, others are -1)" if spec.positive is not None else ""
    )
    for role, name in (("weight", spec.weight), ("tag", spec.tag)):
        if name is not None:
            yield f"{role}: {name}"
    rows = [("column", "type", "group", "first values")]
    for column, (group, _) in table.schema.slots.items():
        kind = table.kinds.get(column)
        shown = ", ".join(_shown(value) for value in table.samples.get(column, []))
        name = "(no name)" if group == DEFAULT_GROUP else group
        rows.append((column, kind.value if kind else "empty so far", name, _cut(shown)))
    widths = [min(30, max(len(row[i]) for row in rows)) for i in range(3)]
    for row in rows:
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=False)]
        yield "  ".join([*cells, row[3]]).rstrip()


def _shown(value: Any) -> str:
    return str(value)


def _cut(text: str) -> str:
    return text if len(text) <= WIDEST else text[: WIDEST - 3] + "..."
