"""ARFF files (Weka, OpenML), with dense and sparse rows."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import cast

import pyarrow as pa

from chacha.data.example import Example
from chacha.errors import BadExample, SourceError
from chacha.sources.base import Bad
from chacha.sources.formats.file_source import FileSource
from chacha.sources.reading.byte_stream import TABLE_BYTES
from chacha.sources.reading.lines import line_blocks
from chacha.sources.spec import Kind, listed
from chacha.sources.tables.batch import Batch
from chacha.sources.tables.reader import TableItem, TableReader
from chacha.sources.tables.schema import Schema

__all__ = ["ArffFile", "looks_like_arff"]

_QUOTED = r"""'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)\""""
_ATTRIBUTE = re.compile(rf"@attribute\s+(?:{_QUOTED}|([^\s{{]+))\s*(.*)", re.IGNORECASE)
_QUOTED_CELL = re.compile(_QUOTED)
_SPACES = re.compile(r"[ \t]*")
_INDEX = re.compile(r"\s*([0-9]{1,9})\s+")
_WEIGHT = re.compile(r",?\s*\{\s*[0-9.]+\s*\}\s*$")  # Weka writes it after the row
_ESCAPED = re.compile(r"\\(.)")
_JAVA = {"yyyy": "%Y", "yy": "%y", "MM": "%m", "dd": "%d", "HH": "%H", "mm": "%M", "ss": "%S"}


def looks_like_arff(line: str) -> bool:
    """Return whether a line may be the first of an ARFF file.

    >>> looks_like_arff("@RELATION iris"), looks_like_arff("% a comment"), looks_like_arff("x,y")
    (True, True, False)
    """
    return line.startswith("%") or line.lower().startswith(("@relation", "@attribute"))


@dataclass(frozen=True)
class Attribute:
    """A column as the header declares it."""

    name: str
    kind: Kind | None
    categories: tuple[str, ...] = ()
    form: str | None = None

    @property
    def sparse_default(self) -> str | None:
        """The value of a sparse row that does not name the attribute."""
        if self.categories:
            return self.categories[0]
        return "0" if self.kind is Kind.NUMBER else None


def take_cell(line: str, at: int) -> tuple[str | None, int]:
    """Return the cell that begins at `at`, and where the next one begins; a bare ? is empty.

    >>> take_cell("'dark red', 5", 0), take_cell("?,5", 0)
    (('dark red', 11), (None, 2))
    """
    at = _SPACES.match(line, at).end()  # type: ignore[union-attr]
    if line[at : at + 1] not in ("'", '"'):
        end = line.find(",", at)
        end = len(line) if end < 0 else end
        bare = line[at:end].strip()
        return None if bare == "?" else bare, end + 1
    quoted = _QUOTED_CELL.match(line, at)
    end = _SPACES.match(line, quoted.end()).end() if quoted else at  # type: ignore[union-attr]
    if quoted is None or line[end : end + 1] not in ("", ","):
        raise BadExample(f"a quote is not closed or touches {line[at : at + 20]!r}", "malformed")
    return _unquoted(quoted.groups()), end + 1


def _unquoted(groups: Sequence[str | None]) -> str:
    single, double = groups
    quoted = single if single is not None else double or ""
    return _ESCAPED.sub(r"\1", quoted) if "\\" in quoted else quoted


def read_attribute(line: str) -> Attribute:
    """Return the attribute that a line of the header declares.

    >>> read_attribute("@attribute 'the color' {red, 'dark green'}").categories
    ('red', 'dark green')
    >>> read_attribute("@ATTRIBUTE day date 'dd/MM/yyyy'").form
    '%d/%m/%Y'
    """
    match_ = _ATTRIBUTE.fullmatch(line.strip())
    if match_ is None:
        raise SourceError(f"{line.strip()!r:.60} is not '@attribute name type'")
    name, declared = match_[3] or _unquoted(match_.groups()[:2]), match_[4].strip()
    word, _, rest = declared.partition(" ")
    match word.lower():
        case "numeric" | "real" | "integer":
            return Attribute(name, Kind.NUMBER)
        case "string":
            return Attribute(name, None)
        case "date":
            return Attribute(name, Kind.DATETIME, form=_form(rest.strip().strip("'\"")))
    if declared.startswith("{") and declared.endswith("}"):
        cells = split_cells(declared[1:-1])
        return Attribute(name, Kind.CATEGORY, tuple(cell or "?" for cell in cells))
    raise SourceError(f"attribute {name!r} has the unknown type {declared!r:.40}")


def _form(java: str) -> str | None:
    """Return a Java date format as one for `strptime`; None for ISO 8601."""
    if not java or java.replace("'", "").startswith("yyyy-MM-ddT"):
        return None
    form = re.sub("yyyy|yy|MM|dd|HH|mm|ss", lambda m: _JAVA[m[0]], java.replace("'", ""))
    if re.search(r"(?<!%)[A-Za-z]", form.replace("T", "")):
        raise SourceError(f"dates written as {java!r} are not supported; declare them as string")
    return form


def split_cells(line: str) -> list[str | None]:
    """Return the cells of a dense row.

    >>> split_cells("1, 'dark red', ?, \\"it\\\\'s\\"")
    ['1', 'dark red', None, "it's"]
    """
    if "'" not in line and '"' not in line:
        parts = [part.strip() for part in line.split(",")]
        return [None if part == "?" else part for part in parts]
    cells: list[str | None] = []
    at = 0
    while at <= len(line):
        cell, at = take_cell(line, at)
        cells.append(cell)
    return cells


class ArffFile(FileSource):
    """An ARFF file, plain or compressed, or from standard input.

    >>> ArffFile("iris.arff").name
    'iris.arff'
    """

    description = "ARFF"
    table: TableReader | None = None  # set by the first pass

    def __iter__(self) -> Iterator[Example | Bad]:
        return cast("Iterator[Example | Bad]", self._items(in_blocks=False))

    def blocks(self) -> Iterator[TableItem]:
        """Yield the rows as blocks of columns where that is possible."""
        return self._items(in_blocks=True)

    def _items(self, in_blocks: bool) -> Iterator[TableItem]:
        attributes: list[Attribute] = []
        table: TableReader | None = None
        number = 0
        with self.open() as file:
            for lines in line_blocks(file, least=TABLE_BYTES):
                start = number + 1
                number += len(lines)
                if table is None:
                    used = self._header(lines, start, attributes)
                    if used is None:
                        continue
                    lines, start = lines[used:], start + used
                    table = self.table = self._open(attributes, in_blocks)
                yield from table.read(_batch(lines, start, attributes))
            if table is not None:
                yield from table.finish()
            yield from file.end(f"after line {number}")
        if table is None:
            raise SourceError(f"{self.name}: there is no @data line; an ARFF file needs one")

    def _header(
        self, lines: Sequence[bytes], start: int, attributes: list[Attribute]
    ) -> int | None:
        """Read declarations; return the number of lines up to @data, or None before it."""
        for i, raw in enumerate(lines):
            try:
                line = raw.decode().strip("\ufeff \t\r")
                word = line[:10].lower()
                if word.startswith("@data"):
                    return i + 1
                if word.startswith("@attribute"):
                    attributes.append(read_attribute(line))
                elif line and not line.startswith("%") and not word.startswith("@relation"):
                    raise SourceError(f"{line!r:.60} does not belong before @data")
            except UnicodeDecodeError as error:
                raise SourceError(f"{self.name}:{start + i}: is not UTF-8 text") from error
            except (SourceError, BadExample) as error:
                raise SourceError(f"{self.name}:{start + i}: {error}") from error
        return None

    def _open(self, attributes: list[Attribute], in_blocks: bool) -> TableReader:
        names = [attribute.name for attribute in attributes]
        for name, times in Counter(names).items():
            if times > 1:
                raise SourceError(f"{self.name}: attribute {name!r} is declared twice")
        if len(names) < 2:
            raise SourceError(f"{self.name}: {len(names)} attributes; a table needs two")
        forms = {a.name: a.form for a in attributes if a.form is not None}
        nulls = tuple(null for null in self.spec.nulls if null == "nan")  # take_cell reads ?
        spec = replace(self.spec, nulls=nulls, formats={**forms, **self.spec.formats})
        schema = Schema(
            spec,
            self.name,
            names,
            self.reader,
            kinds={a.name: a.kind for a in attributes if a.kind is not None},
            categories={a.name: a.categories for a in attributes},
            expected=self.expected,
        )
        return TableReader(schema, self.reader, in_blocks=in_blocks)


def _row(line: str, attributes: Sequence[Attribute]) -> list[str | None]:
    """Return the cells of a row, dense or sparse."""
    if not line.startswith("{"):
        cells = split_cells(line.replace("\t", ",") if "," not in line else line)
        if len(cells) == len(attributes) + 1 and (cells[-1] or "").startswith("{"):
            cells.pop()  # the weight that Weka writes after the row
        if len(cells) != len(attributes):
            message = f"the row has {len(cells)} cells, expected {len(attributes)}"
            raise BadExample(message, "ragged row")
        return cells
    return _sparse_row(line, attributes)


def _sparse_row(line: str, attributes: Sequence[Attribute]) -> list[str | None]:
    """Return the cells of a sparse row; an omitted one is 0, or the first declared category."""
    cells: list[str | None] = [a.sparse_default for a in attributes]
    inside = _WEIGHT.sub("", line)
    if not inside.endswith("}"):
        raise BadExample("the row has '{' without '}' at its end", "malformed")
    inside = inside[1:-1].strip()
    at, indices = 0, set()
    while at < len(inside):
        index = _INDEX.match(inside, at)
        if index is None or int(index[1]) >= len(attributes):
            raise BadExample(f"{inside[at : at + 20]!r} is not 'index value'", "malformed")
        number = int(index[1])
        if number in indices:
            raise BadExample(f"index {number} occurs twice", "index repeated")
        indices.add(number)
        cells[number], at = take_cell(inside, index.end())
    return cells


def _batch(lines: Sequence[bytes], start: int, attributes: Sequence[Attribute]) -> Batch:
    """Return the rows of some lines as columns of text; a bad line is a row of empty cells."""
    rows: list[list[str | None]] = []
    numbers: list[int] = []
    bad: dict[int, tuple[str, BadExample]] = {}
    declared = {i: frozenset(a.categories) for i, a in enumerate(attributes) if a.categories}
    for number, raw in enumerate(lines, start=start):
        try:
            line = raw.decode().strip()
            if not line or line.startswith("%"):
                continue
            row = _row(line, attributes)
            for i, categories in declared.items():
                if row[i] is not None and row[i] not in categories:
                    bad[len(rows)] = (attributes[i].name, _undeclared(row[i], attributes[i]))
                    break
        except UnicodeDecodeError:
            bad[len(rows)] = ("", BadExample("the line is not UTF-8 text", "not UTF-8"))
            row = [None] * len(attributes)
        except BadExample as error:
            bad[len(rows)] = ("", error)
            row = [None] * len(attributes)
        rows.append(row)
        numbers.append(number)
    columns = {
        a.name: pa.array([row[i] for row in rows], pa.string()) for i, a in enumerate(attributes)
    }
    return Batch(
        pa.table(columns),
        lines=numbers,
        bad=bad,
        text={a.name for a in attributes if a.kind is not None},
    )


def _undeclared(got: str | None, attribute: Attribute) -> BadExample:
    message = f"{got!r:.40} is none of the declared categories: {listed(attribute.categories)}"
    return BadExample(message, "undeclared category")
