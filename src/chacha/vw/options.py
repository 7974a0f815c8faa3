"""The options that VW writes into a model file, and the configuration they stand for."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence

import numpy as np

from chacha.config.config import Config, Value
from chacha.data.vw_text import FLOAT32_MAX
from chacha.errors import ConfigError, fail
from chacha.losses import LOSSES, loss_options

__all__ = [
    "MOST_BITS",
    "UNSAVED",
    "check_config",
    "is_float32",
    "option_words",
    "options_text",
    "read_options",
]

MOST_BITS = 32
LOSS_FUNCTIONS = frozenset({"classic", "expectile", *LOSSES})
"""All loss functions of VW 9."""
SWITCHES = frozenset({"adaptive", "invariant", "noconstant", "normalized"})
SAVED = SWITCHES | {"learning_rate", "power_t"}
UNSAVED = frozenset(
    {"expectile_q", "l1", "l2", "logistic_max", "logistic_min", "loss_function"}
    | {"max_prediction", "min_prediction", "sparse_l2", *loss_options()}
)
"""Options that affect learning but that VW does not save in its files."""

SUPPORTED = SAVED | UNSAVED | {"bit_precision", "initial_t"}  # these two are fields of the file
PRODUCTS = "experimental_full_name_interactions"
LETTERS = {"cubic": 3, "interactions": 0, "quadratic": 2}  # groups by letter, and how many
IDLE = frozenset({"random_seed"})  # saved by VW, without effect on this learner


def is_float32(value: object) -> bool:
    """Return whether a value is a finite number within the range of float32.

    >>> is_float32(1), is_float32(1e39), is_float32(True), is_float32("1")
    (True, False, False, False)
    """
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return number and -FLOAT32_MAX <= value <= FLOAT32_MAX  # type: ignore[operator]


def check_config(name: str, config: Config) -> None:
    """Raise an error if a file cannot hold `config`, or if VW would use another learner for it.

    >>> check_config("model.vw", Config(values={"ftrl": True}))
    Traceback (most recent call last):
    chacha.errors.PoolError: model.vw: the option 'ftrl' cannot be written; those that can: \
adaptive, bit_precision, expectile_q, initial_t, invariant, l1, l2, learning_rate, ...
    """
    for key, value in config.values.items():
        if key not in SUPPORTED:
            supported = ", ".join(sorted(SUPPORTED))
            fail(name, f"the option {key!r} cannot be written; those that can: {supported}")
        if key in SWITCHES:
            valid = isinstance(value, bool)
        elif key == "loss_function":
            valid = value in LOSS_FUNCTIONS
        elif key == "bit_precision":
            valid = type(value) is int and 1 <= value <= MOST_BITS
        else:
            valid = is_float32(value)
        if not valid:
            fail(name, f"VW does not accept {value!r} as the value of --{key}")
    _check_update(name, config.values)


def _check_update(name: str, values: Mapping[str, Value]) -> None:
    switches = {key for key in ("adaptive", "invariant", "normalized") if values.get(key)}
    if switches and not {"adaptive", "normalized"} <= switches:
        update = " ".join(f"--{key}" for key in sorted(switches))
        rule = "the update must be VW's default or have --adaptive and --normalized"
        fail(name, f"{rule}, got {update}; use VW itself for this model")


def options_text(name: str, config: Config, self_contained: bool) -> str:
    """Return the options of a file as VW writes them: sorted by name, each after one blank.

    >>> options_text("model.vw", Config(["ab"], {"power_t": 0.1, "l1": 0.5}), False)
    ' --experimental_full_name_interactions a|b --power_t 0.100000001490116'
    """
    pairs: list[tuple[str, str]] = []
    for names in config.interactions:
        text = "|".join(names)
        if text.startswith("--") or re.search(r"[\s\0]", text, re.ASCII):
            remedy = "give the groups names without blanks and without leading dashes"
            fail(name, f"VW cannot load a model with the product {text!r}; {remedy}")
        pairs.append((PRODUCTS, f" {text}"))
    written = SAVED | UNSAVED if self_contained else SAVED
    for key, value in config.values.items():
        if key in written and value is not False:
            text = value if isinstance(value, str) else _show(value)
            pairs.append((key, "" if value is True else f" {text}"))
    return "".join(f" --{key}{text}" for key, text in sorted(pairs, key=lambda pair: pair[0]))


def _show(value: float) -> str:
    """Return a number as VW writes it, 15 digits of the float32, or in full if that loses digits.

    >>> _show(0.1), _show(0.123456789012)
    ('0.100000001490116', '0.123456789012')
    """
    exact = np.float32(value)
    return f"{float(exact):.15g}" if float(str(exact)) == value else f"{value:.12g}"


def _number(name: str, key: str, text: str) -> float:
    """Return the number of an option: for VW's own digits the shortest with the same meaning.

    >>> _number("model.vw", "power_t", "0.100000001490116")
    0.1
    """
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not is_float32(value):
        fail(name, f"--{key} {text} is not a number that VW can hold")
    short = float(str(np.float32(value)))
    return short if _show(short) == text else value


def option_words(name: str, text: str) -> list[tuple[str, list[str]]]:
    """Return the options of a file in order: their names and words.

    >>> option_words("model.vw", " --power_t 0.1 --noconstant")
    [('power_t', ['0.1']), ('noconstant', [])]
    """
    first, *options = re.split(r"(?:^|\s)--(?=\S)", text, flags=re.ASCII)
    if first.strip():
        fail(name, f"the options in it begin with {first.strip()!r}, which is not an option")
    split = [re.findall(r"\S+", option, re.ASCII) for option in options]
    return [(key, words) for key, *words in split]


def read_options(name: str, text: str, fields: Mapping[str, Value]) -> Config:
    """Return the configuration of a file: its options and the values of its other fields.

    >>> print(read_options("model.vw", " --quadratic ab --noconstant", {"bit_precision": 20}))
    interactions ab; bit_precision 20; noconstant on
    """
    values, products = dict(fields), list[Sequence[str]]()
    for key, words in option_words(name, text):
        number = len(words) == 1 and key in SAVED | UNSAVED and key not in SWITCHES
        if words and key == PRODUCTS:
            products += [_by_name(name, word) for word in words]
        elif words and key in LETTERS:
            products += [_by_letter(name, key, word) for word in words]
        elif key in SWITCHES and not words:
            values[key] = True
        elif number and (key != "loss_function" or words[0] in LOSS_FUNCTIONS):
            values[key] = words[0] if words[0] in LOSS_FUNCTIONS else _number(name, key, words[0])
        elif key not in IDLE:
            supported = ", ".join(sorted({*SAVED, *UNSAVED, PRODUCTS, *LETTERS}))
            what = f"it was trained with {' '.join([f'--{key}', *words])}, which is not read here"
            fail(name, f"{what}; load it with VW itself. What is read: {supported}")
    _check_update(name, values)
    try:
        return Config(products, values)
    except ConfigError as error:
        fail(name, f"the options in it are wrong: {error}", error)


def _by_name(name: str, text: str) -> list[str]:
    """Return a product of groups given by full name."""
    if ":" in text:
        fail(name, f"the product {text} has a wildcard; train with the groups' names instead")
    return text.split("|")


def _by_letter(name: str, key: str, text: str) -> list[str]:
    """Return a product of groups given by letter.

    VW hashes `ba` differently from `ab`, but `aba` as `aab`.
    """
    option, letters = f"--{key} {text}", list(text)
    remedy = f"train with --{PRODUCTS} {'|'.join(sorted(letters))} instead"
    if not re.fullmatch(r"[!-9;-\[\]-{}~]{2,}", text):  # not ':', a wildcard, nor '\' and '|'
        fail(name, f"{option} is not made of plain letters; train with --{PRODUCTS} instead")
    if LETTERS[key] not in (0, len(letters)):
        fail(name, f"{option} has the wrong number of letters")
    if letters != sorted(letters) and len(set(letters)) == len(letters):
        fail(name, f"{option} is hashed differently from its letters in sorted order; {remedy}")
    return letters
