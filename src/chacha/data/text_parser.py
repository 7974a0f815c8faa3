"""Parse one line of VW text into an example.

Twin: native/src/data/text_parser.hpp
"""

from __future__ import annotations

import numpy as np

from chacha.data.example import Example, Feature, check_weight, not_finite
from chacha.data.vw_text import DEFAULT_GROUP, FLOAT32_MAX, hash_name, read_double, read_number
from chacha.errors import BadExample

__all__ = ["parse_line"]


def parse_line(line: str, place: str = "") -> Example:
    """Return the example of a line `[label [weight [initial]]] ['tag]|group feature[:value] ...`.

    What VW would read as NaN or infinity, or would drop with a warning, is refused.

    >>> parse_line("1 |a:2 x:0.5 red color:blue").groups["a"][0].value
    1.0
    """
    line = line.rstrip("\r\n")
    if "\r" in line or "\n" in line:
        raise BadExample(f"a line break inside {_short(line)}; one example is one line")
    bar = line.find("|")
    if bar < 0:
        raise BadExample(f"no '|' in {_short(line)}; VW text reads 'label |group feature:value'")
    head, body = line[:bar], line[bar:]
    labels = head.partition("\t")[2] if "\t" in head else head
    words = [word for word in labels.split(" ") if word]
    tag = ""
    if words and (not labels.endswith(" ") or words[-1].startswith("'")):
        tag = words.pop().removeprefix("'")
    if len(words) > 3:
        raise BadExample(f"{len(words)} words before '|' in {_short(line)}; at most 3 and a tag")
    label = _number(words[0], "label") if words else None
    weight = check_weight(_number(words[1], "weight")) if len(words) > 1 else 1.0
    initial = _number(words[2], "initial prediction") if len(words) > 2 else 0.0
    groups: dict[str, list[Feature]] = {}
    parts = body.split("|")[1:]
    for i, part in enumerate(parts, start=1):
        _parse_group(part, groups, last=i == len(parts))
    target = read_double(words[0]) if words else None
    return Example(groups, body, label, weight, initial, tag, head, place, target=target)


def _number(text: str, what: str) -> float:
    value = read_number(text)
    if value is None or not -FLOAT32_MAX <= value <= FLOAT32_MAX:
        raise not_finite(what, text)
    return value


def _parse_group(part: str, groups: dict[str, list[Feature]], last: bool) -> None:
    tokens = part.replace("\t", " ").split(" ")
    scale, name = 1.0, DEFAULT_GROUP
    if tokens[0]:
        name, colon, weight = tokens[0].partition(":")
        if not name:
            raise BadExample(f"a group without a name before ':' in {_short('|' + part)}")
        if colon:
            scale = _number(weight, "group weight")
    seed = 0 if name == DEFAULT_GROUP else hash_name(name, 0)
    features = groups.setdefault(name, [])
    anonymous = 0
    for token in tokens[1:]:
        if not token:
            continue
        feature, colon, text = token.partition(":")
        value = 1.0
        if colon:
            if not text:
                raise BadExample(
                    f"feature {token!r:.60} of group {name!r:.60} has no value after ':'"
                )
            number = read_number(text)
            if number is None:  # a word: VW hashes it on top of the feature's name
                if token is tokens[-1] and not last:
                    raise BadExample(
                        f"{token!r:.60} touches the next '|', which VW takes as part of it"
                    )
                features.append(Feature(token, 1.0, hash_name(text, hash_name(feature, seed))))
                continue
            value = number
        if feature:
            hashed = hash_name(feature, seed)
        else:
            hashed = (seed + anonymous) & 0xFFFFFFFF
            feature, anonymous = f":{anonymous}", anonymous + 1
        if scale != 1.0:
            value = _float32_product(scale, value)
        if not -FLOAT32_MAX <= value <= FLOAT32_MAX:
            raise BadExample(
                f"feature {token!r:.60} of group {name!r:.60} has no finite value; "
                "values must be finite",
                "value not finite",
            )
        if value != 0.0:
            features.append(Feature(feature, value, hashed))


def _float32_product(a: float, b: float) -> float:
    with np.errstate(all="ignore"):
        return float(np.float32(a) * np.float32(b))


def _short(text: str) -> str:
    return repr(text if len(text) <= 60 else text[:57] + "...")
