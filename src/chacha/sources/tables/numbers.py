"""Numbers of Arrow columns: as a list, as an array, without a copy, or as VW text."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from chacha.data.vw_text import (
    FEW_DECIMALS,
    FLOAT32_MAX,
    INVERSE_POWERS,
    SHORT_NUMBER,
    SMALL_WHOLE,
    show_exactly,
    show_label,
)
from chacha.errors import BadExample
from chacha.sources.values.cells import LARGEST_INTEGER, number

__all__ = [
    "are_exact_numbers",
    "is_castable",
    "nan_as_null",
    "number_array",
    "numbers",
    "python_values",
    "show_all_exactly",
    "show_labels",
    "zero_copy_numbers",
]

FEW_NUMBERS = 64  # up to here one call of Python per number is cheaper than Arrow's calls
_ZERO = np.float32(0)  # -0 + 0 is 0


def numbers(column: pa.Array, decimal: str = ".") -> list[float | BadExample]:
    """Return values without nulls as numbers, or as errors where they are none.

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
    array: NDArray[np.float64] = values.to_numpy(zero_copy_only=False)
    if np.all(np.abs(array) < LARGEST_INTEGER):  # false for NaN too
        return array.tolist()  # type: ignore[no-any-return]
    return [_number(value, decimal) for value in python_values(column)]


def number_array(column: pa.Array, decimal: str = ".") -> NDArray[np.float64] | None:
    """Return numbers as an array, NaN for nulls; None if :func:`numbers` must look at a value.

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
    array: NDArray[np.float64] = column.to_numpy(zero_copy_only=False)
    if len(array) == 0 or column.null_count > 0:
        usable = np.count_nonzero(np.abs(array) <= most) == len(array) - column.null_count
    else:
        usable = bool(array.min() >= -most and array.max() <= most)  # false for NaN too
    return array if usable else None


def are_exact_numbers(column: pa.ChunkedArray) -> bool:
    """Return whether numbers that were text are exact: finite, and no large integers.

    >>> are_exact_numbers(pa.chunked_array([[1.5, None]]))
    True
    >>> are_exact_numbers(pa.chunked_array([[1e300]]))
    False
    """
    if column.null_count > 0:
        column = column.drop_null()
    array: NDArray[np.float64] = column.to_numpy()
    if len(array) == 0:
        return True
    return bool(array.min() > -LARGEST_INTEGER and array.max() < LARGEST_INTEGER)  # false for NaN


def nan_as_null(column: pa.Array) -> pa.Array:
    """Return floats with null in place of NaN.

    >>> nan_as_null(pa.array([1.5, float("nan")])).to_pylist()
    [1.5, None]
    """
    if column.null_count == 0 and (len(column) == 0 or not np.isnan(column.to_numpy().min())):
        return column
    return pc.if_else(pc.is_nan(column), pa.scalar(None, column.type), column)


ZERO_COPY = (pa.float64(), pa.float32(), pa.int64(), pa.int32())


def zero_copy_numbers(column: pa.Array) -> NDArray[Any] | None:
    """Return numbers as Arrow has them in memory; None if they cannot be used as they are.

    >>> zero_copy_numbers(pa.array([1, 2])).dtype, zero_copy_numbers(pa.array([1, None]))
    (dtype('int64'), None)
    """
    if column.type not in ZERO_COPY or column.null_count > 0 or len(column) == 0:
        return None
    array: NDArray[Any] = column.to_numpy(zero_copy_only=False)
    most = FLOAT32_MAX if pa.types.is_floating(column.type) else LARGEST_INTEGER - 1
    usable = array.min() >= -most and array.max() <= most  # false for NaN too
    return array if usable else None


def is_castable(column: pa.DataType) -> bool:
    """Return whether Arrow casts a type to numbers.

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
    """Return the values as Python objects, or errors where Python has no such value.

    >>> python_values(pa.array([10**7], pa.int32()).cast(pa.date32()))[0].reason
    'not a date'
    """
    try:
        return column.to_pylist()  # type: ignore[no-any-return]
    except (OverflowError, ValueError):
        values: list[Any] = []
        for value in column:
            try:
                values.append(value.as_py())
            except (OverflowError, ValueError):
                message = "the cell is beyond the years 1 to 9999, or too long a span of time"
                values.append(BadExample(message, "not a date"))
        return values


def show_all_exactly(values: NDArray[np.float64]) -> tuple[list[str], list[float]]:
    """Return many numbers as texts and float32 values, each as `vw_text.show_exactly` does.

    >>> show_all_exactly(np.array([0.1, -0.7860628962516785] * 50))[0][:2]
    ['0.1', '-0.7860629e+0']
    """
    if len(values) < FEW_NUMBERS or np.all(
        (np.abs(values) < SMALL_WHOLE) & (values == np.rint(values))
    ):
        pairs = [show_exactly(value) for value in values.tolist()]
        return [text for text, _ in pairs], [exact for _, exact in pairs]
    with np.errstate(all="ignore"):
        exact = values.astype(np.float32) + _ZERO
    texts = pc.cast(pa.array(exact), pa.string())  # the shortest that no other float32 has
    odd = (pc.find_substring(texts, "e").to_numpy() >= 0) | ~np.isfinite(exact)
    texts = _append(texts, ".0", (pc.find_substring(texts, ".").to_numpy() < 0) & ~odd)
    size = pc.binary_length(texts).to_numpy()
    decimals = size - 1 - pc.find_substring(texts, ".").to_numpy()
    tried = np.flatnonzero((size <= SHORT_NUMBER + (exact < 0)) & (decimals <= FEW_DECIMALS) & ~odd)
    missed = np.ones(len(texts), bool)
    missed[tried] = _read_short(texts.take(pa.array(tried)), decimals[tried]) != exact[tried]
    shown: list[str] = _append(texts, "e+0", missed).to_pylist()
    for i in np.flatnonzero(odd).tolist():
        shown[i] = show_exactly(values[i])[0]
    return shown, exact.tolist()


def show_labels(values: NDArray[np.float64]) -> tuple[list[str], list[float]]:
    """Return many labels as texts and float32 values, each as `vw_text.show_label` does.

    >>> show_labels(np.array([0.1, 1 / 3]))[0]
    ['0.1', '0.3333333333333333e+0']
    """
    texts, exact = show_all_exactly(values)
    for i, value in enumerate(values.tolist()):
        if float(texts[i]) != value:
            texts[i], exact[i] = show_label(value)
    return texts, exact


def _append(texts: pa.Array, end: str, where: NDArray[np.bool_]) -> pa.Array:
    if not where.any():
        return texts
    return pc.if_else(pa.array(where), pc.binary_join_element_wise(texts, end, ""), texts)


def _read_short(texts: pa.Array, decimals: NDArray[np.int32]) -> NDArray[np.float32]:
    """Return what VW's arithmetic reads from texts whose digits add up exactly."""
    digits = np.rint(pc.cast(texts, pa.float64()).to_numpy() * 10.0**decimals)
    read: NDArray[np.float32] = digits.astype(np.float32) * np.array(INVERSE_POWERS)[decimals]
    return read
