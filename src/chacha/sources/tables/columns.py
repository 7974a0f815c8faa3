"""Arrow columns turned into cells: every distinct value of a column is made once."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from chacha.data.example import Feature
from chacha.data.vw_text import FLOAT32_MAX, hash_name, show_exactly
from chacha.errors import BadExample, SourceError
from chacha.sources.spec import Kind
from chacha.sources.tables.numbers import is_castable, numbers, python_values, show_all_exactly
from chacha.sources.values.cells import NUMERIC, Pairs, number, pairs

__all__ = [
    "EMPTY",
    "Cell",
    "DistinctCells",
    "decode_column",
    "flat_columns",
    "is_text",
    "kind_of_type",
    "make_cells",
    "missing_number",
    "null_words",
    "pairs_cell",
    "simple_type",
    "texts_or_nulls",
]


class Cell(NamedTuple):
    """A cell as VW text, and its features.

    A cell of a column of numbers has its `numbers` too, by the names of their features: also
    those that are 0 or missing (NaN), which are no features.
    """

    text: str
    features: tuple[Feature, ...]
    numbers: tuple[tuple[str, float], ...] = ()


EMPTY = Cell("", ())
_STRINGS = (pa.string(), pa.large_string(), pa.string_view())
_BYTES = (pa.binary(), pa.large_binary(), pa.binary_view())
_TEXTS = {column.id for column in (*_STRINGS, *_BYTES)}
FEW_ROWS = 16  # below it, one call of Python per row is cheaper than Arrow's calls


class DistinctCells(NamedTuple):
    """The distinct values of a column as cells or as errors, and which one each row has."""

    cells: list[Cell | BadExample]
    cell_of: NDArray[np.int32]  # -1 where the cell is empty

    @property
    def bad(self) -> bool:
        """Whether a value is an error."""
        return any(isinstance(cell, BadExample) for cell in self.cells)

    def by_row(self, empty: Cell) -> list[Cell | BadExample]:
        """Return one cell or error for each row."""
        cells = [*self.cells, empty]  # -1 is the last
        return [cells[i] for i in self.cell_of.tolist()]


def flat_columns(batch: pa.RecordBatch | pa.Table) -> dict[str, pa.Array]:
    """Return the columns by name; those inside a struct by their path.

    >>> table = pa.table({"user": [{"id": 7, "age": 31}], "hour": [5]})
    >>> sorted(flat_columns(table))
    ['hour', 'user.age', 'user.id']
    """
    columns: dict[str, pa.Array] = {}

    def add(name: str, column: pa.Array) -> None:
        if pa.types.is_struct(column.type):
            for field, inside in zip(column.type, column.flatten(), strict=True):
                add(f"{name}.{field.name}", inside)
        else:
            columns[name] = column

    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        if isinstance(column, pa.ChunkedArray):
            column = column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
        add(name, column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column)
    return columns


def kind_of_type(name: str, column: pa.DataType) -> Kind | None:
    """Return the kind of a column of an Arrow type; None if its cells decide.

    >>> kind_of_type("x", pa.int64()), kind_of_type("x", pa.string())
    (<Kind.NUMBER: 'number'>, None)
    """
    types = pa.types
    if types.is_null(column) or is_text(column):
        return None
    if types.is_dictionary(column):
        return Kind.CATEGORY
    if types.is_boolean(column):
        return Kind.BOOLEAN
    if types.is_duration(column) or types.is_decimal(column) or types.is_floating(column):
        return Kind.NUMBER
    if types.is_integer(column):
        return Kind.NUMBER
    if types.is_temporal(column):
        return Kind.DATETIME
    if is_vector(column):
        return Kind.VECTOR
    raise SourceError(
        f"column {name!r} holds {column}, which cannot become features (leave it out with --ignore)"
    )


def is_text(column: pa.DataType) -> bool:
    """Return whether a type holds text.

    >>> is_text(pa.large_string()), is_text(pa.int8())
    (True, False)
    """
    return column.id in _TEXTS


def is_vector(column: pa.DataType) -> bool:
    """Return whether a type holds lists of numbers.

    >>> is_vector(pa.list_(pa.float32())), is_vector(pa.list_(pa.string()))
    (True, False)
    """
    types = pa.types
    tests = (types.is_list, types.is_large_list, types.is_fixed_size_list)
    if not any(test(column) for test in tests):
        return False
    return is_castable(column.value_type) or types.is_null(column.value_type)


def decode_column(column: pa.Array) -> tuple[pa.Array, list[int]]:
    """Return the column as :func:`simple_type` does, and the rows whose bytes are not UTF-8.

    >>> decode_column(pa.array([b"a", bytes([255])]))[1]
    [1]
    """
    try:
        return simple_type(column), []
    except pa.ArrowInvalid:
        values = column.to_pylist()
        texts = ["" if raw is None else raw.decode(errors="replace") for raw in values]
        damaged = [i for i, raw in enumerate(values) if raw and texts[i].encode() != raw]
        nulls = [raw is None for raw in values]
        return pa.array(texts, pa.string(), mask=np.array(nulls, bool)), damaged


def simple_type(column: pa.Array) -> pa.Array:
    """Return a column in a type that Arrow computes with and that becomes Python values."""
    types = pa.types
    if types.is_dictionary(column.type):
        values = simple_type(column.dictionary)  # first: not all types can be cast afterwards
        column = pa.DictionaryArray.from_arrays(column.indices, values).dictionary_decode()
    if is_text(column.type) and not types.is_string(column.type):
        return column.cast(pa.string())
    if types.is_timestamp(column.type) and column.type.unit == "ns":  # Python has microseconds
        return column.cast(pa.timestamp("us", column.type.tz), safe=False)
    if types.is_time64(column.type):
        return column.cast(pa.time64("us"), safe=False)
    if column.type == pa.duration("ns"):
        return column.cast(pa.duration("us"), safe=False)
    if types.is_float16(column.type):
        return column.cast(pa.float64())
    return column


def number_cells(name: str, seed: int, values: Sequence[float]) -> list[Cell | BadExample]:
    """Return numbers as cells, each the nearest float32; 0 is an empty one.

    >>> [cell.text for cell in number_cells("x", 0, [0.5, 1.0, 0.0])]
    ['x:0.5', 'x', '']
    """
    hashed = hash_name(name, seed)
    texts, reads = show_all_exactly(np.array(values, np.float64))
    cells: list[Cell | BadExample] = []
    new = tuple.__new__  # makes a named tuple without a call of Python
    for value, text, read in zip(values, texts, reads, strict=True):
        if read == 0.0:
            cells.append(new(Cell, ("", (), ((name, value),))))
        elif -FLOAT32_MAX <= read <= FLOAT32_MAX:
            word = name if read == 1.0 else f"{name}:{text}"
            features = (new(Feature, (name, read, hashed)),)
            cells.append(new(Cell, (word, features, ((name, value),))))
        else:
            cells.append(_beyond_float32(value))
    return cells


def _beyond_float32(value: float) -> BadExample:
    return BadExample(f"the cell is {value}; a float32 cannot hold it", "value not finite")


def pairs_cell(named_values: Pairs, seed: int, kind: Kind = Kind.CATEGORY) -> Cell:
    """Return names and numbers as a cell of a column of a kind.

    >>> pairs_cell([("a", 1.0), ("b", 0.5), ("c", 0.0)], 0).text
    'a b:0.5'
    """
    words: list[str] = []
    features: list[Feature] = []
    for name, value in named_values:
        text, read = ("", 1.0) if value == 1.0 else show_exactly(value)
        if not math.isfinite(read):
            raise _beyond_float32(value)
        if read != 0.0:
            words.append(name if read == 1.0 else f"{name}:{text}")
            features.append(Feature(name, read, hash_name(name, seed)))
    numbers = tuple(named_values) if kind in NUMERIC else ()
    return Cell(" ".join(words), tuple(features), numbers)


def missing_number(cell: Cell, feature: str, kind: Kind | None) -> Cell:
    """Return an empty cell with a missing number, if its column holds one number a row.

    >>> missing_number(EMPTY, "x", Kind.NUMBER).numbers
    (('x', nan),)
    """
    single = kind in (Kind.NUMBER, Kind.BOOLEAN)
    return cell._replace(numbers=((feature, math.nan),)) if single else cell


def make_cells(
    column: pa.Array, kind: Kind, name: str, seed: int, form: str | None, decimal: str
) -> DistinctCells:
    """Return a column as cells; each distinct value is made once.

    >>> distinct_cells = make_cells(pa.array(["red", None] * 20), Kind.CATEGORY, "c", 0, None, ".")
    >>> [cell.text for cell in distinct_cells.cells], distinct_cells.cell_of[:2].tolist()
    (['c=red'], [0, -1])
    """
    if len(column) < FEW_ROWS:
        return _few_cells(python_values(column), kind, name, seed, form, decimal)
    cell_of, values = distinct(column)
    cells: list[Cell | BadExample] = []
    if kind is Kind.NUMBER:
        parsed = numbers(values, decimal)
        bad = {i: value for i, value in enumerate(parsed) if isinstance(value, BadExample)}
        good = [0.0 if isinstance(value, BadExample) else value for value in parsed]
        cells = number_cells(name, seed, good)
        for i, error in bad.items():
            cells[i] = error
    else:
        for value in python_values(values):
            try:
                cells.append(pairs_cell(pairs(kind, name, value, form), seed, kind))
            except BadExample as error:
                cells.append(error)
    return DistinctCells(cells, cell_of)


def _few_cells(
    values: list[Any], kind: Kind, name: str, seed: int, form: str | None, decimal: str
) -> DistinctCells:
    """Return the cells of few values, made one by one."""
    cells: list[Cell | BadExample] = []
    rows: list[int] = []
    for value in values:
        rows.append(-1 if value is None else len(cells))
        if value is None:
            continue
        if isinstance(value, BadExample):
            cells.append(value)
            continue
        try:
            if kind is Kind.NUMBER:
                features = [(name, number(value, decimal))]
            else:
                features = pairs(kind, name, value, form)
            cells.append(pairs_cell(features, seed, kind))
        except BadExample as error:
            cells.append(error)
    return DistinctCells(cells, np.array(rows, np.int32))


def null_words(nulls: Sequence[str]) -> list[str]:
    """Return the words for an empty cell, NaN in all its spellings.

    >>> null_words(["", "nan"])
    ['', 'nan', 'NaN', 'NAN', 'Nan']
    """
    return [*nulls, "NaN", "NAN", "Nan"] if "nan" in nulls else list(nulls)


def texts_or_nulls(column: pa.Array, nulls: Sequence[str]) -> pa.Array:
    """Return texts without white space around them, null where they mean an empty cell.

    >>> texts_or_nulls(pa.array([" a ", "NA"]), ["", "NA"]).to_pylist()
    ['a', None]
    """
    nulls = null_words(nulls)
    if len(column) < FEW_ROWS:
        texts = [None if text is None else text.strip() for text in column.to_pylist()]
        return pa.array([None if text in nulls else text for text in texts], pa.string())
    column = pc.utf8_trim_whitespace(column)
    empty = pc.is_in(column, pa.array(nulls, pa.string()))
    return pc.if_else(empty, pa.scalar(None, pa.string()), column)


def distinct(column: pa.Array) -> tuple[NDArray[np.int32], pa.Array]:
    """Return which distinct value each row has (-1: none), and the values.

    >>> distinct(pa.array([3, 3, None, 5]))[0].tolist()
    [0, 0, -1, 1]
    """
    if is_vector(column.type):
        present = pc.is_valid(column)
        numbered = np.where(present.to_numpy(zero_copy_only=False), 1, 0)
        rows = np.where(numbered == 1, np.cumsum(numbered) - 1, -1)
        return rows.astype(np.int32), column.filter(present)
    encoded = column.dictionary_encode()
    value_of: NDArray[np.int32] = pc.fill_null(encoded.indices, -1).to_numpy(zero_copy_only=False)
    return value_of.astype(np.int32, copy=False), encoded.dictionary
