"""JSON text: one object per line, and messages for lines that hold none."""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Callable
from typing import Any

from chacha.errors import BadExample
from chacha.sources.values.cells import LARGEST_INTEGER

__all__ = ["MALFORMED", "TOO_DEEP", "TOO_LONG", "decoder", "read_double", "read_object"]

MALFORMED = "malformed JSON"
TOO_DEEP = "the JSON is nested too deep to be read"
TOO_LONG = "integer beyond 2^53"
_DOUBLE, _BITS = struct.Struct("<d"), struct.Struct("<Q")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object; refuse a key that occurs twice."""
    members = dict(pairs)
    if len(members) != len(pairs):
        left = iter(members)  # the first occurrence of each key, in order
        twice = next(key for key, _ in pairs if key != next(left, None))
        raise BadExample(f"the key {twice!r:.60} occurs twice in one object", MALFORMED)
    return members


def decoder(parse_float: Callable[[str], float] | None = None) -> json.JSONDecoder:
    """Return a decoder that refuses objects in which a key occurs twice.

    >>> decoder().decode('{"a": 1}')
    {'a': 1}
    """
    return json.JSONDecoder(object_pairs_hook=_unique, parse_float=parse_float)


_DEFAULT_DECODER = decoder()


def read_object(line: str, reader: json.JSONDecoder = _DEFAULT_DECODER) -> dict[str, Any]:
    """Return the object that a line of JSON holds.

    >>> read_object('{"a": 1}')
    {'a': 1}
    >>> read_object('{"a": 1')
    Traceback (most recent call last):
    chacha.errors.BadExample: malformed JSON at character 8: expecting ',' delimiter; the line was \
cut off
    """
    try:
        value = reader.decode(line)
    except json.JSONDecodeError as error:
        what = error.msg[:1].lower() + error.msg[1:]
        if error.pos >= len(line.rstrip()) or what.startswith("unterminated"):
            what += "; the line was cut off"
            if line.strip() in ("[", "{"):
                what += ", or not JSON lines: write one object per line (jq -c '.[]' FILE)"
        message = f"malformed JSON at character {error.pos + 1}: {what}"
        raise BadExample(message, MALFORMED) from None
    except RecursionError as error:
        raise BadExample(TOO_DEEP, MALFORMED) from error
    except BadExample:
        raise
    except ValueError as error:  # Python does not read integers of thousands of digits
        raise BadExample(f"a number is too long: {error}", TOO_LONG) from error
    if not isinstance(value, dict):
        remedy = "; write one object per line (jq -c '.[]' FILE)" if isinstance(value, list) else ""
        raise BadExample(f"{value!r:.60} is not an object{remedy}", MALFORMED)
    return value


def read_double(text: str) -> float:
    """Return a number with a point or an exponent as VW's JSON parser reads it.

    The parser divides digits by a power of ten, which for long numbers is not the nearest
    double, and rounds to a float32.

    >>> read_double("0.1"), read_double("1.45315641164779663")
    (0.1, 1.4531564116477964)
    """
    nearest = float(text)
    if len(text) <= 16 and "e" not in text and "E" not in text:
        return nearest  # up to 15 digits over an exact power of ten: rounded once
    if len(text) < 40 and 1e-37 < abs(nearest) < 1e38:
        (bits,) = _BITS.unpack(_DOUBLE.pack(nearest))
        if abs((bits & 0x1FFFFFFF) - 0x10000000) > 1000:  # not halfway between two float32
            return nearest
    mantissa, _, exponent = text.lower().partition("e")
    whole, _, decimals = mantissa.lstrip("-").partition(".")
    most = (1 << 63) if text[0] == "-" else (1 << 64) - 1
    number, taken, used = int(whole[0]), 1, 0
    while taken < len(whole) and number * 10 + int(whole[taken]) <= most:
        number, taken = number * 10 + int(whole[taken]), taken + 1
    value, digits = float(number), taken - 1
    for digit in whole[taken:]:
        value = value * 10.0 + int(digit)
    if taken == len(whole):
        while used < len(decimals) and number < LARGEST_INTEGER:
            number, used = number * 10 + int(decimals[used]), used + 1
            digits += number != 0
        value = float(number)
    for digit in decimals[used:]:
        if digits < 17:
            value, used = value * 10.0 + int(digit), used + 1
            digits += value > 0.0
    power = int(exponent or 0) - used
    if power > 308:
        return math.inf
    if power < -308:
        value, power = value / 1e308, max(power + 308, -308)
    value = value * float(f"1e{power}") if power >= 0 else value / float(f"1e{-power}")
    return -value if text[0] == "-" else value
