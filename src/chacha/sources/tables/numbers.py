"""Numbers of a column: as a list, as an array, or as they lie in memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from chacha.data.vw_text import FLOAT32_MAX
from chacha.errors import BadExample
from chacha.sources.values.cells import LARGEST_INTEGER, number

__all__ = [
    "is_castable",
    "nan_as_null",
    "number_array",
    "numbers",
    "plain_numbers",
    "python_values",
    "quick_numbers",
]


def numbers(column: pa.Array, decimal: str = ".") -> list[float | BadExample]:
    """Values without nulls as numbers; in the place of a bad one what is wrong with it.

    >>> numbers(pa.array(["1.5", "2"]))
    [1.5, 2.0]
    """
    if pa.types.is_decimal(column.type):  # Arrow's cast is not exact
        return [_number(value, decimal) for value in python_values(column)]
    if pa.types.is_string(column.type) or not is_castable(column.type):
        texts = column
        if decimal == "," and pa.types.is_string(column.type):
            dotted = pc.any(pc.match_substring(column, ".")).as_py()
            texts = column if dotted else pc.replace_substring(column, ",", ".")
        try:
            if decimal == "," and texts is column:
                raise pa.ArrowInvalid
            values = pc.cast(texts, pa.float64())
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            return [_number(value, decimal) for value in python_values(column)]
    else:
        values = pc.cast(column, pa.float64(), safe=False)
    found: NDArray[np.float64] = values.to_numpy(zero_copy_only=False)
    if np.all(np.abs(found) < LARGEST_INTEGER):  # false for NaN too
        return found.tolist()  # type: ignore[no-any-return]
    return [_number(value, decimal) for value in python_values(column)]


def number_array(column: pa.Array, decimal: str = ".") -> NDArray[np.float64] | None:
    """As :func:`numbers`, as an array with NaN for nulls; None if a value needs a second look.

    >>> number_array(pa.array([1.5, None])).tolist(), number_array(pa.array(["1", "red"]))
    ([1.5, nan], None)
    """
    types = pa.types
    most = FLOAT32_MAX if types.is_floating(column.type) else LARGEST_INTEGER - 1.0
    if types.is_string(column.type):
        if decimal != ".":
            return None
        try:
            column = pc.cast(column, pa.float64())
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            return None
    elif not is_castable(column.type):
        return None
    elif column.type != pa.float64():
        column = pc.cast(column, pa.float64(), safe=False)
    found: NDArray[np.float64] = column.to_numpy(zero_copy_only=False)
    if len(found) == 0 or column.null_count > 0:
        usable = np.count_nonzero(np.abs(found) <= most) == len(found) - column.null_count
    else:
        usable = bool(found.min() >= -most and found.max() <= most)  # false for NaN too
    return found if usable else None


def plain_numbers(column: pa.ChunkedArray) -> bool:
    """Whether numbers that were text are what their text says: finite, and no large integers.

    >>> plain_numbers(pa.chunked_array([[1.5, None]])), plain_numbers(pa.chunked_array([[1e300]]))
    (True, False)
    """
    if column.null_count > 0:
        column = column.drop_null()
    found: NDArray[np.float64] = column.to_numpy()
    if len(found) == 0:
        return True
    return bool(found.min() > -LARGEST_INTEGER and found.max() < LARGEST_INTEGER)  # false for NaN


def nan_as_null(column: pa.Array) -> pa.Array:
    """Floats with null in the place of NaN.

    >>> nan_as_null(pa.array([1.5, float("nan")])).to_pylist()
    [1.5, None]
    """
    if column.null_count == 0 and (len(column) == 0 or not np.isnan(column.to_numpy().min())):
        return column
    return pc.if_else(pc.is_nan(column), pa.scalar(None, column.type), column)


NATIVE = (pa.float64(), pa.float32(), pa.int64(), pa.int32())


def quick_numbers(column: pa.Array) -> NDArray[Any] | None:
    """Numbers that are taken as they lie in memory; None if they must be looked at.

    >>> quick_numbers(pa.array([1, 2])).dtype, quick_numbers(pa.array([1, None]))
    (dtype('int64'), None)
    """
    if column.type not in NATIVE or column.null_count > 0 or len(column) == 0:
        return None
    found: NDArray[Any] = column.to_numpy(zero_copy_only=False)
    most = FLOAT32_MAX if pa.types.is_floating(column.type) else LARGEST_INTEGER - 1
    usable = found.min() >= -most and found.max() <= most  # false for NaN too
    return found if usable else None


def is_castable(column: pa.DataType) -> bool:
    """Whether Arrow turns a type into numbers by itself.

    >>> is_castable(pa.int8()), is_castable(pa.duration("s"))
    (True, False)
    """
    types = pa.types
    tests = (types.is_integer, types.is_floating, types.is_boolean)
    return any(test(column) for test in tests)


def _number(value: Any, decimal: str) -> float | BadExample:
    if isinstance(value, BadExample):
        return value
    try:
        return number(value, decimal)
    except BadExample as error:
        return error


def python_values(column: pa.Array) -> list[Any]:
    """The values as Python has them; in the place of one that it has not, what is wrong.

    >>> python_values(pa.array([10**7], pa.int32()).cast(pa.date32()))[0].reason
    'not a date'
    """
    try:
        return column.to_pylist()  # type: ignore[no-any-return]
    except (OverflowError, ValueError):
        found: list[Any] = []
        for value in column:
            try:
                found.append(value.as_py())
            except (OverflowError, ValueError):
                message = "the cell is beyond the years 1 to 9999, or a span of time too long"
                found.append(BadExample(message, "not a date"))
        return found
