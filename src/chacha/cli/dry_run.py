"""`chacha run --dry-run`: how a source is interpreted."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from chacha.data.example import Example
from chacha.data.vw_text import DEFAULT_GROUP
from chacha.sources import Bad, Files, GroupBy, Skipped, Source, TableSpec
from chacha.sources.tables.reader import TableReader
from chacha.sources.values.dict_reader import DictReader

__all__ = ["show_source"]

ROWS = 1000  # rows that are read
EXAMPLES = 3
MOST_CHARACTERS = 60  # of the last column
HOW = {
    GroupBy.NAME: "by name",
    GroupBy.ORDER: "in order",
    GroupBy.COLUMN: "by column",
    GroupBy.PREFIX: "by prefix",
}


def show_source(source: Source) -> None:
    """Print columns, types, groups and the first examples."""
    skipped = Skipped()
    examples: list[Example] = []
    for row in islice(source, ROWS):
        if isinstance(row, Bad):
            skipped.add(row)
        elif len(examples) < EXAMPLES:
            examples.append(row)
        elif source.endless:  # the next rows may take long to arrive
            break
    for line in description_lines(source, examples):
        print(line)
    for reason, count in skipped.items():
        print(f"among the first {ROWS} rows, {count} {reason}; first: {skipped.first[reason]}")


def description_lines(source: Source, examples: list[Example]) -> Iterator[str]:
    """Yield the lines that describe a source and its first examples."""
    inner = source.first if isinstance(source, Files) else source
    yield f"{source.name}: {getattr(inner, 'description', 'examples')}"
    table = getattr(inner, "table", None)
    if isinstance(table, TableReader):
        yield from column_lines(table)
    elif examples:
        reader = getattr(inner, "reader", None)
        if isinstance(reader, DictReader) and reader.grouping is not None:  # flat records
            group_of = reader.grouping.groups
            yield groups_line(len(group_of), len({*group_of.values()}), how(reader.spec), "field")
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


def column_lines(table: TableReader) -> Iterator[str]:
    """Yield the lines that describe the columns of a table."""
    spec = table.spec
    yield f"target: {table.schema.target}" + (
        f" ({spec.positive!r} is 1, others are -1)" if spec.positive is not None else ""
    )
    for role, name in (("weight", spec.weight), ("tag", spec.tag)):
        if name is not None:
            yield f"{role}: {name}"
    schema = table.schema
    by = how(spec) if schema.grouping is not None else "by struct"
    yield groups_line(len(schema.features), len(schema.layout), by)
    rows = [("column", "type", "group", "first values")]
    for column, (group, _) in table.schema.slots.items():
        kind = table.kinds.get(column)
        values = ", ".join(map(str, table.samples.get(column, [])))
        name = "(no name)" if group == DEFAULT_GROUP else group
        rows.append((column, kind.value if kind else "empty so far", name, _cut(values)))
    widths = [min(30, max(len(row[i]) for row in rows)) for i in range(3)]
    for row in rows:
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=False)]
        yield "  ".join([*cells, row[3]]).rstrip()


def how(spec: TableSpec) -> str:
    """Return how a spec puts columns into groups, in words."""
    return "as given" if spec.groups else HOW[spec.grouped_by]


def groups_line(columns: int, groups: int, how: str, noun: str = "column") -> str:
    """Return the line that tells how columns formed groups.

    >>> groups_line(48, 48, "by name"), groups_line(120, 64, "by name")
    ('48 columns: one group each', '120 columns in 64 groups, by name')
    """
    counted = f"{columns} {noun}{'s' if columns != 1 else ''}"
    if columns == groups:
        return f"{counted}: one group each"
    return f"{counted} in {groups} group{'s' if groups != 1 else ''}, {how}"


def _cut(text: str) -> str:
    return text if len(text) <= MOST_CHARACTERS else text[: MOST_CHARACTERS - 3] + "..."
