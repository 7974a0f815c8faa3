"""Cells: the kind of one value of a column, and the features it becomes."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

import numpy as np

from chacha.data.example import NumberCell
from chacha.data.vw_text import escape
from chacha.errors import BadExample
from chacha.sources.spec import Kind

__all__ = [
    "BOOLEANS",
    "LARGEST_INTEGER",
    "NUMERIC",
    "NumberCells",
    "Pairs",
    "category_name",
    "check_kind",
    "class_name",
    "integer_too_large",
    "is_missing",
    "is_nan",
    "is_number",
    "is_numeric",
    "kind_of_texts",
    "kind_of_value",
    "label_error",
    "number",
    "pairs",
    "pairs_by_type",
    "python_value",
]

Pairs = list[tuple[str, float]]
"""Names, safe for VW text, and numbers: the features of a value."""

LARGEST_INTEGER = 1 << 53  # beyond it a float skips whole numbers
TEXT_WORDS = 5  # least average number of words per cell of a column of text
_NUMBERS = {
    point: re.compile(
        rf"[+-]?(\d+{mark}?\d*|{mark}\d+)([eE][+-]?\d+)?|[+-]?(inf|infinity|nan)", re.IGNORECASE
    )
    for point, mark in ((".", r"\."), (",", ","))
}
_DATE = re.compile(r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d.*)?|\d{4}-W\d\d(-\d)?")
_WORD = re.compile(r"\w+")
BOOLEANS = {"true": 1.0, "false": 0.0}
DATE_PARTS = ("year", "month", "day", "weekday", "hour", "minute", "second")


def is_number(text: str, decimal: str = ".") -> bool:
    """Return whether a text of a table is a number.

    >>> is_number("-1.5e3"), is_number("1,5", decimal=","), is_number("0x1f")
    (True, True, False)
    """
    return _NUMBERS[decimal].fullmatch(text) is not None


def kind_of_texts(texts: Sequence[str], decimal: str | None = ".") -> Kind | None:
    """Return the kind of a column of texts by its first cells; None if there are none.

    `decimal` is None where numbers are not written as text (Parquet, JSON).

    >>> kind_of_texts(["1", "2.5", "x"]), kind_of_texts(["1", "2"], decimal=None)
    (<Kind.NUMBER: 'number'>, <Kind.CATEGORY: 'category'>)
    >>> kind_of_texts(["2026-11-15", "2026-11-16T10:00"]), kind_of_texts(["true", "False"])
    (<Kind.DATETIME: 'datetime'>, <Kind.BOOLEAN: 'boolean'>)
    """
    if not texts:
        return None
    half = len(texts) / 2
    if decimal is not None and sum(is_number(text, decimal) for text in texts) >= half:
        return Kind.NUMBER
    if all(text.lower() in BOOLEANS for text in texts):
        return Kind.BOOLEAN
    if sum(_DATE.fullmatch(text) is not None for text in texts) >= half:
        return Kind.DATETIME
    words = sum(len(text.split()) for text in texts)
    return Kind.TEXT if words >= TEXT_WORDS * len(texts) else Kind.CATEGORY


def kind_of_value(value: Any) -> Kind | None:
    """Return the kind of a field of a record by one value; None for None.

    >>> kind_of_value(True), kind_of_value("red"), kind_of_value([1, 2])
    (<Kind.BOOLEAN: 'boolean'>, <Kind.CATEGORY: 'category'>, <Kind.VECTOR: 'vector'>)
    """
    if value is None:
        return None
    if isinstance(value, str):
        return kind_of_texts([value], decimal=None)
    if isinstance(value, bool):
        return Kind.BOOLEAN
    if isinstance(value, (date, time)):
        return Kind.DATETIME
    return Kind.VECTOR if isinstance(value, (list, tuple, np.ndarray)) else Kind.NUMBER


def number(value: Any, decimal: str = ".") -> float:
    """Return a value as a finite number; refuse others, and integers that would be rounded.

    >>> number("1.5"), number(True), number(timedelta(minutes=1))
    (1.5, 1.0, 60.0)
    >>> number(2**53 + 1)
    Traceback (most recent call last):
    chacha.errors.BadExample: the cell is 9007199254740993; whole numbers beyond 2^53 cannot be \
held exactly: is it a name? (--type COLUMN=category)
    """
    if isinstance(value, timedelta):
        value = value.total_seconds()
    if isinstance(value, Decimal) and value.is_finite() and value == value.to_integral_value():
        value = int(value)
    if isinstance(value, np.integer):
        value = int(value)
    if isinstance(value, str) and is_number(value, decimal):
        digits = value.lstrip("+-")
        value = int(value) if digits.isdigit() and len(digits) < 40 else value
    try:
        if isinstance(value, str) and not is_number(value, decimal):
            raise ValueError
        as_float = float(value.replace(",", ".") if isinstance(value, str) else value)
    except (TypeError, ValueError, OverflowError, AttributeError) as error:
        message = f"the cell is {_short(value)}, but the column holds numbers"
        raise BadExample(message, "not a number") from error
    if not math.isfinite(as_float):
        message = f"the cell is {as_float}; values must be finite (leave it empty if missing)"
        raise BadExample(message, "value not finite")
    if abs(as_float) >= LARGEST_INTEGER and isinstance(value, int) and abs(value) > LARGEST_INTEGER:
        raise integer_too_large(value)
    return as_float


def label_error(error: BadExample) -> BadExample:
    """Return the refusal of a number in words for the target."""
    if error.reason == "value not finite":
        return BadExample(str(error), "label not finite")
    if error.reason != "not a number":
        return error
    cell = str(error).partition(", but")[0]
    rule = "the target must be numbers (or name one of two classes: --positive)"
    return BadExample(f"{cell}; {rule}", error.reason)


def integer_too_large(value: int) -> BadExample:
    """Return the refusal of a whole number that a float cannot hold."""
    return BadExample(
        f"the cell is {value}; whole numbers beyond 2^53 cannot be held exactly: "
        "is it a name? (--type COLUMN=category)",
        "integer beyond 2^53",
    )


def _category(name: str, value: Any) -> Pairs:
    return [(f"{name}={escape(category_name(value))}", 1.0)]


def category_name(value: Any) -> str:
    """Return a value as the name of a category: 3.0 is 3.

    >>> category_name(3.0), category_name("red"), category_name(True)
    ('3', 'red', 'true')
    """
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Decimal) and value.is_finite():
        whole = value == value.to_integral_value()
        return f"{value.to_integral_value() if whole else value:f}"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def class_name(value: Any) -> str:
    """Return a value of the target as the name of a class: 1, 1.0 and the text 1.00 are one.

    >>> class_name("1.00"), class_name(1), class_name(True), class_name("Yes")
    ('1', '1', 'true', 'Yes')
    """
    if isinstance(value, str):
        value = value.strip()
        if value.lower() in BOOLEANS:
            return str(value.lower())
        if is_number(value) and math.isfinite(float(value)):
            return category_name(float(value))
    return category_name(value)


NUMERIC = frozenset({Kind.NUMBER, Kind.BOOLEAN, Kind.DATETIME, Kind.VECTOR})
"""The kinds of columns whose features are numbers, not words."""


def is_numeric(kind: Kind | None, value: Any) -> bool:
    """Return whether the features of a value are numbers, by its column's kind or by its type.

    >>> is_numeric(Kind.CATEGORY, 3), is_numeric(None, 3), is_numeric(None, "red")
    (False, True, False)
    """
    return not isinstance(value, str) if kind is None else kind in NUMERIC


class NumberCells:
    """The numbers of a row, and where they are among the features of their groups.

    >>> numbers = NumberCells()
    >>> numbers.add("a", 1, [])
    >>> numbers.add("a", 1, [("x", 0.0)])
    >>> numbers.cells
    [NumberCell(group='a', position=1, name='x', value=0.0)]
    """

    def __init__(self) -> None:
        self.cells: list[NumberCell] = []
        self._positions: dict[str, int] = {}

    def add(self, group: str, features: int, numbers: Iterable[tuple[str, float]]) -> None:
        """Add a cell with so many features: its numbers, unless they are missing, and others."""
        position = self._positions.get(group, 0)
        present = 0
        for name, value in numbers:
            self.cells.append(NumberCell(group, position, name, value))
            position += 1
            present += value == value
        self._positions[group] = position + features - present


def check_kind(kind: Kind, value: Any) -> None:
    """Refuse a value that is not of its field's kind.

    >>> check_kind(Kind.CATEGORY, 2)
    Traceback (most recent call last):
    chacha.errors.BadExample: the cell is 2, but the column holds words
    """
    actual = kind_of_value(value)
    texts = (Kind.CATEGORY, Kind.TEXT, Kind.DATETIME)
    if actual is None or actual is kind or (actual in texts and kind in texts):
        return
    holds = {Kind.NUMBER: "numbers", Kind.BOOLEAN: "true and false", Kind.VECTOR: "lists"}
    reason = f"not a {kind.value}" if kind is not Kind.DATETIME else "not a date"
    message = f"the cell is {_short(value)}, but the column holds {holds.get(kind, 'words')}"
    raise BadExample(message, reason)


def is_missing(value: Any) -> bool:
    """Return whether a value of a dict is missing: None, pandas' NA and NaT.

    >>> is_missing(None), is_missing(0.0)
    (True, False)
    """
    return value is None or type(value).__name__ in ("NAType", "NaTType")


def is_nan(value: Any) -> bool:
    """Return whether a value is NaN.

    >>> is_nan(float("nan")), is_nan("nan")
    (True, False)
    """
    return isinstance(value, (float, np.floating)) and bool(value != value)


def _boolean(name: str, value: Any) -> Pairs:
    if isinstance(value, str) and value.lower() in BOOLEANS:
        return [(name, BOOLEANS[value.lower()])]
    if isinstance(value, str) or value not in (0, 1):
        message = f"the cell is {_short(value)}, but the column holds true and false"
        raise BadExample(message, "not a boolean")
    return [(name, float(value))]


def moment(value: Any, form: str | None = None) -> datetime | date | time:
    """Return a value as a point in time: ISO 8601, or written as `form` says.

    >>> moment("2026-11-15T10:42:00Z").hour, moment("15/11/2026", "%d/%m/%Y").month
    (10, 11)
    >>> moment(1.5, "s").year
    1970
    """
    if isinstance(value, (date, time)):
        return value
    try:
        if form in ("s", "ms"):
            seconds = float(value) / (1000 if form == "ms" else 1)
            return datetime.fromtimestamp(seconds, UTC)
        if form is not None:
            return datetime.strptime(value, form)
        if isinstance(value, str):
            return datetime.fromisoformat(value)
    except (TypeError, ValueError, OverflowError, OSError, re.error):
        pass
    rule = f"a date written as {form}" if form else "an ISO 8601 date (2026-11-15T10:42)"
    message = (
        f"the cell is {_short(value)}, but the column holds dates; it is not {rule} "
        "(name its format: --type COLUMN=datetime:FORMAT, or take words: --type COLUMN=category)"
    )
    raise BadExample(message, "not a date")


def _datetime(name: str, value: Any, form: str | None) -> Pairs:
    at = moment(value, form)
    parts: Pairs = []
    for part in DATE_PARTS:
        value = getattr(at, part, None)
        if value is not None:
            parts.append((f"{name}.{part}", float(value() if callable(value) else value)))
    return parts


def _text(name: str, value: Any) -> Pairs:
    counts = Counter(_WORD.findall(str(value).lower()))
    return [(f"{name}={word}", float(count)) for word, count in counts.items()]


def _vector(name: str, value: Any) -> Pairs:
    if isinstance(value, np.ndarray) and value.ndim == 1:
        value = value.tolist()
    if not isinstance(value, (list, tuple)):
        message = f"the cell is {_short(value)}, but the column holds lists of numbers"
        raise BadExample(message, "not a vector")
    return [(f"{name}.{i}", number(part)) for i, part in enumerate(value) if part is not None]


def pairs(kind: Kind, name: str, value: Any, form: str | None = None) -> Pairs:
    """Return the features of one value of a column of a kind.

    >>> pairs(Kind.CATEGORY, "color", "dark red")
    [('color=dark%20red', 1.0)]
    >>> pairs(Kind.TEXT, "title", "To be or not to be")
    [('title=to', 2.0), ('title=be', 2.0), ('title=or', 1.0), ('title=not', 1.0)]
    >>> pairs(Kind.DATETIME, "day", "2026-11-15")[:4]
    [('day.year', 2026.0), ('day.month', 11.0), ('day.day', 15.0), ('day.weekday', 6.0)]
    """
    if isinstance(value, BadExample):  # Python has no such value
        raise value
    if kind is Kind.NUMBER:
        return [(name, number(value))]
    if kind is Kind.DATETIME:
        return _datetime(name, value, form)
    return _MAKERS[kind](name, value)


def python_value(kind: Kind, value: Any, form: str | None = None, decimal: str = ".") -> Any:
    """Return a value as a Python object by its column's kind; refuse one of another kind.

    >>> python_value(Kind.NUMBER, "1.5"), python_value(Kind.DATETIME, "2026-11-15T10:42").hour
    (1.5, 10)
    >>> python_value(Kind.BOOLEAN, "True"), python_value(Kind.CATEGORY, 3.0)
    (True, '3')
    """
    if isinstance(value, BadExample):
        raise value
    if kind is Kind.NUMBER:
        return number(value, decimal)
    if kind is Kind.DATETIME:
        return moment(value, form)
    if kind is Kind.BOOLEAN:
        return bool(_boolean("", value)[0][1])
    if kind is Kind.VECTOR:
        return [None if part is None else number(part) for part in value]
    return category_name(value)


_MAKERS: dict[Kind, Callable[[str, Any], Pairs]] = {
    Kind.CATEGORY: _category,
    Kind.BOOLEAN: _boolean,
    Kind.TEXT: _text,
    Kind.VECTOR: _vector,
}
_KINDS = {str: Kind.CATEGORY, float: Kind.NUMBER, int: Kind.NUMBER}  # a date in a str is a word


def pairs_by_type(name: str, value: Any) -> Pairs:
    """Return the features of a value by its Python type, where its column has no kind.

    :func:`pairs` does so for columns with a kind. The name need not be safe for VW text.

    >>> pairs_by_type("age", 3), pairs_by_type("color", "red"), pairs_by_type("x", None)
    ([('age', 3.0)], [('color=red', 1.0)], [])
    """
    if not name:
        raise BadExample("a feature has no name; every feature needs one")
    if type(value) is float and math.isfinite(value):
        return [(escape(name), value)]
    if is_missing(value):
        return []
    kind = _KINDS.get(type(value)) or kind_of_value(value)
    if kind in (Kind.CATEGORY, Kind.DATETIME, Kind.VECTOR):
        return pairs(kind, escape(name), value)
    try:
        as_float = float(value)
    except (TypeError, ValueError, OverflowError) as error:
        raise BadExample(
            f"feature {name!r} is {value!r:.60}; a value is a number, a word, a bool or None",
            "not a value",
        ) from error
    if not math.isfinite(as_float):
        message = f"feature {name!r} is {value!r}; values must be finite (None: missing)"
        raise BadExample(message, "value not finite")
    if isinstance(value, (int, np.integer)) and abs(int(value)) > LARGEST_INTEGER:
        raise integer_too_large(int(value))
    return [(escape(name), as_float)]


def _short(value: Any) -> str:
    shown = repr(value)
    return shown if len(shown) <= 40 else shown[:37] + "..."
