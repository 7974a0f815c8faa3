"""How Vowpal Wabbit reads text: its hash of names, its numbers, its forbidden characters.

These are properties of the format, not of one learner. The rules count distinct features by VW's
hash, so that the counts do not depend on the pool and memory stays bounded.

Twins: native/src/vw/hashing.hpp, native/src/vw/numbers.hpp
"""

from __future__ import annotations

import math
import re
import struct
from decimal import Decimal
from functools import lru_cache
from urllib.parse import unquote

import numpy as np

__all__ = [
    "BREAKS_NAMES",
    "CONSTANT",
    "DEFAULT_GROUP",
    "FEW_DECIMALS",
    "FLOAT32_MAX",
    "INVERSE_POWERS",
    "SHORT",
    "SHORT_NUMBER",
    "SMALL_WHOLE",
    "escape",
    "group_of",
    "hash_name",
    "murmur",
    "read_double",
    "read_number",
    "show_exactly",
    "show_label",
    "unescape",
]

FLOAT32_MAX = float(np.finfo(np.float32).max)
FLOAT32_LEAST = float(np.finfo(np.float32).tiny)  # the smallest normal number
DEFAULT_GROUP = " "
"""VW's name of the group without a name, as in `1 | x:2`."""
CONSTANT = 11650396
"""VW's hash of the constant feature."""
SHORT = 200
"""Longer names are not cached, so that memory is bounded."""
_MASK = 0xFFFFFFFF


def _rotl(x: int, r: int) -> int:
    return ((x << r) | (x >> (32 - r))) & _MASK


def group_of(part: str) -> str:
    """Return the name of the group whose text, without its bar, is `part`.

    >>> group_of("a:2 x:0.5 "), group_of(" x")
    ('a', ' ')
    """
    return part.replace("\t", " ").partition(" ")[0].partition(":")[0] or DEFAULT_GROUP


def murmur(data: bytes, seed: int) -> int:
    """Return the 32-bit MurmurHash3 that VW uses.

    >>> murmur(b"hello", 0)
    613153351
    """
    h, tail = seed & _MASK, len(data) & ~3
    for i in range(0, tail, 4):
        k = int.from_bytes(data[i : i + 4], "little") * 0xCC9E2D51 & _MASK
        h = (_rotl(h ^ (_rotl(k, 15) * 0x1B873593 & _MASK), 13) * 5 + 0xE6546B64) & _MASK
    if rest := data[tail:]:
        k = int.from_bytes(rest, "little") * 0xCC9E2D51 & _MASK
        h ^= _rotl(k, 15) * 0x1B873593 & _MASK
    h ^= len(data)
    h = (h ^ (h >> 16)) * 0x85EBCA6B & _MASK
    h = (h ^ (h >> 13)) * 0xC2B2AE35 & _MASK
    return h ^ (h >> 16)


def hash_name(name: str, seed: int) -> int:
    """Return VW's hash of a name; a whole number is its own hash, plus the seed.

    >>> hash_name("17", 5), hash_name("user", 0)
    (22, 2509520141)
    """
    return _hash_short(name, seed) if len(name) <= SHORT else _hash(name, seed)


def _hash(name: str, seed: int) -> int:
    data = name.encode().strip(bytes(range(0x21)))
    if all(48 <= byte <= 57 for byte in data):
        number = 0
        for start in range(0, len(data), 1000):  # Python limits the digits of one int()
            part = data[start : start + 1000]
            number = (number * pow(10, len(part), 1 << 32) + int(part)) & _MASK
        return (number + seed) & _MASK
    return murmur(data, seed)


_hash_short = lru_cache(maxsize=1 << 16)(_hash)

# Powers of ten as VW builds them: by repeated float32 multiplication and division.
_TEN = np.float32(10)
_POWERS = [np.float32(1)]
INVERSE_POWERS = [np.float32(1)]
with np.errstate(all="ignore"):
    for _ in range(38):
        _POWERS.append(_POWERS[-1] * _TEN)
        INVERSE_POWERS.append(INVERSE_POWERS[-1] / _TEN)
_INVERSE_DOUBLES = [float(inverse) for inverse in INVERSE_POWERS]

_EASY = re.compile(r"(-?)([0-9]*)(?:\.([0-9]*))?(?:[eE](-?)([0-9]*))?")
_STRTOF = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_WORDS = re.compile(r"[+-]?(?:inf|nan|0x)", re.IGNORECASE | re.ASCII)


_FLOAT32 = struct.Struct("f")
_FLOAT64 = struct.Struct("<d")
_BITS64 = struct.Struct("<Q")


def _nearest(value: float) -> float:
    """Return the nearest float32 of a number within the range of float32."""
    return float(_FLOAT32.unpack(_FLOAT32.pack(value))[0])


def _pow10(exponent: int) -> np.float32:
    exponent = (exponent + 128) % 256 - 128  # VW keeps the exponent in one byte
    if exponent > 38:
        return np.float32(math.inf)
    if exponent < -37:
        return np.float32(0)
    return _POWERS[exponent] if exponent >= 0 else INVERSE_POWERS[-exponent]


def _strtof(text: str) -> float:
    """Return the nearest float32 of a decimal text, rounded once, not by way of a float64."""
    value = float(text)
    bits = _BITS64.unpack(_FLOAT64.pack(value))[0]
    if FLOAT32_LEAST <= abs(value) <= FLOAT32_MAX and bits & 0x1FFFFFFF != 0x10000000:  # no tie
        return _nearest(value)
    with np.errstate(all="ignore"):
        near = np.float32(value)
        if math.isfinite(near) and float(near) != value:  # a tie in float64, exact or by rounding
            other = np.nextafter(near, np.float32(math.copysign(math.inf, value - float(near))))
            if float(near) + float(other) == 2 * value:
                exact = Decimal(text) - Decimal(value)
                if exact and (exact > 0) == (other > near):
                    near = other
    return float(near)


_EXACT = 7  # float32 adds up this many digits without rounding


def _accumulate(whole: str, decimals: str) -> np.float32:
    digits = whole + decimals
    acc = np.float32(int(digits[:_EXACT] or "0"))
    for digit in whole[_EXACT:]:  # the order of VW's expression: (10·acc + '7') − '0'
        acc = acc * _TEN + np.float32(ord(digit)) - np.float32(48)
    for digit in decimals[max(0, _EXACT - len(whole)) :]:
        acc = acc * _TEN + np.float32(int(digit))
    return acc


@lru_cache(maxsize=1 << 12)
def read_number(text: str) -> float | None:
    """Return the float32 that VW reads from `text`, or None if VW reads no number there.

    VW adds up digits in float32, so the last bits can differ from correct rounding.
    `nan`, `inf` and hexadecimal numbers give NaN, because they are not finite numbers.

    >>> read_number("0.25"), read_number("red"), read_number("-1e3")
    (0.25, None, -1000.0)
    >>> read_number("12ab") is not None and math.isnan(read_number("12ab"))
    True
    """
    if easy := _EASY.fullmatch(text):
        sign, whole, decimals, exponent_sign, exponent = easy.groups()
        decimals = (decimals or "")[:35]
        if exponent and len(exponent) > 9:
            return math.nan
        if not exponent and len(whole) + len(decimals) <= _EXACT:
            # No rounding until the product, which a double holds exactly.
            product = int(whole + decimals or "0") * _INVERSE_DOUBLES[len(decimals)]
            return _nearest(-product if sign else product)
        power = int(exponent or 0) * (-1 if exponent_sign else 1) - len(decimals)
        with np.errstate(all="ignore"):
            value = float(_accumulate(whole, decimals) * _pow10(power))
        return -value if sign else value
    if match := _STRTOF.match(text):
        if match.end() != len(text):
            return math.nan  # VW would read a number and lose the rest of the line
        return _strtof(text)
    return math.nan if _WORDS.match(text) else None


def read_double(text: str) -> float | None:
    """Return the number nearest to a text that VW reads as a number, before VW rounds it.

    >>> read_double("0.1"), read_number("0.1"), read_double("red")
    (0.1, 0.10000000149011612, None)
    """
    if _STRTOF.fullmatch(text) and abs(value := float(text)) <= FLOAT32_MAX:
        return value
    return read_number(text)


SHORT_NUMBER = _EXACT + 1  # letters, with the point and without a sign
FEW_DECIMALS = 3  # with more, VW's own arithmetic hits the nearest float32 in 3% of cases or fewer
_SIX = 7  # letters of up to six digits: they are also the shortest text of the nearest float32
SMALL_WHOLE = 1 << 11  # whole numbers below it are remembered
_ZERO = np.float32(0)  # -0 + 0 is 0


def show_exactly(value: float) -> tuple[str, float]:
    """Return a number as text, and the float32 VW reads from it, which is the nearest one.

    Where VW's own arithmetic would miss it, a trailing `e+0` makes VW call the C library instead.

    >>> show_exactly(0.1), show_exactly(-0.7860628962516785), show_exactly(-1e-200)
    (('0.1', 0.10000000149011612), ('-0.7860629e+0', -0.7860628962516785), ('0.0', 0.0))
    """
    if -SMALL_WHOLE < value < SMALL_WHOLE and not value % 1:
        return _show_whole(value)
    text = repr(float(value))
    if len(text) <= _SIX and "e" not in text and "n" not in text:
        exact = _nearest(value)
        return (text if _is_read_exactly(text, exact) else text + "e+0"), exact
    return _show(value)


def _show(value: float) -> tuple[str, float]:
    if not -FLOAT32_MAX <= value <= FLOAT32_MAX:
        with np.errstate(all="ignore"):
            exact = float(np.float32(value))
        if not math.isfinite(exact):
            return repr(float(value)), exact
    number = np.float32(value) + _ZERO
    exact = float(number)
    text = str(number)
    if "e" in text:
        text = np.format_float_positional(number, unique=True, trim="0")
    return (text if _is_read_exactly(text, exact) else text + "e+0"), exact


def show_label(value: float) -> tuple[str, float]:
    """Return a label as text that reads back exactly, and the float32 nearest to it, as VW reads.

    >>> show_label(0.1), show_label(1 / 3)
    (('0.1', 0.10000000149011612), ('0.3333333333333333e+0', 0.3333333432674408))
    """
    short, exact = show_exactly(value)
    if float(short) == value:
        return short, exact
    text = repr(float(value))
    if "e" in text:
        text = np.format_float_positional(value, unique=True, trim="0")
    text += "e+0"
    return (text if read_number(text) == exact else short), exact


_show_whole = lru_cache(maxsize=2 * SMALL_WHOLE)(_show)


def _is_read_exactly(text: str, exact: float) -> bool:
    """Return whether VW's arithmetic reads `text` as this float32; False where that is unlikely."""
    decimals = len(text) - 1 - text.index(".")
    if decimals > FEW_DECIMALS or len(text) > SHORT_NUMBER + (exact < 0):
        return False
    product = int(text.replace(".", "")) * _INVERSE_DOUBLES[decimals]
    return exact == _nearest(product)


BREAKS_NAMES = re.compile(r"[ \t\r\n:|]")
"""Characters that end a name in VW text."""
_ESCAPED = re.compile(r"[\s:|%\x00]")


def escape(name: str) -> str:
    """Return `name` with the characters VW text cannot hold as %XX; distinct names stay distinct.

    >>> escape("trip distance"), escape("a:b|c"), escape("größe")
    ('trip%20distance', 'a%3Ab%7Cc', 'größe')
    """
    return _escape_short(name) if len(name) <= SHORT else _escape(name)


def _escape(name: str) -> str:
    return _ESCAPED.sub(lambda m: "".join(f"%{byte:02X}" for byte in m[0].encode()), name)


def unescape(text: str) -> str:
    """Return the name that :func:`escape` turned into `text`.

    >>> unescape(escape("trip: 100%")), unescape("50%")
    ('trip: 100%', '50%')
    """
    return unquote(text) if "%" in text else text


_escape_short = lru_cache(maxsize=1 << 16)(_escape)
