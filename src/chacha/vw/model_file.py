"""VW's binary model files, written and read without VW.

What VW 9 saves in a file, and what it does not:

- The products, `--learning_rate`, `--power_t`, `--noconstant` and the switches of the update
  are options in the file; `--bit_precision` and `--initial_t` are fields of it.
- The loss and its parameters, `--l1`, `--l2` and the bounds of predictions are **not** in it
  (:data:`chacha.vw.options.UNSAVED`). To continue learning, repeat them on VW's command line.
  To predict (`-t`), nothing has to be repeated. A file written with `self_contained` holds
  these options too.

A weight has three numbers: the weight, the sum of squared gradients (adaptive) and the
largest absolute value so far (normalized). That is VW's default update; others are refused.
"""

from __future__ import annotations

import os
import re
import struct
from collections.abc import Iterable
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chacha.config.config import Config
from chacha.data.vw_text import murmur
from chacha.errors import fail
from chacha.losses import first_label_bound
from chacha.vw.options import (
    MOST_BITS,
    check_config,
    is_float32,
    option_words,
    options_text,
    read_options,
)

__all__ = [
    "VWModel",
    "VWState",
    "read_vw_model",
    "read_vw_options",
    "write_vw_model",
]

VERSION = b"9.11.0\0"  # the first of 9.11, so that none of them warns of a newer file
BITS = 18  # VW's default

# initial_t, sum_norm_x, t, 2 sums of loss, dump interval, label range, 3 weighted counts,
# 2 counts, total_weight, 1 weighted count, the pass, gravity, contraction
_STATE = struct.Struct("<f4d3f3d2Q2dQ2d")


@dataclass
class VWState:
    """VW's state besides the weights: its clock, its norms, the label range, l1 and l2.

    >>> from chacha.config.config import Config
    >>> VWState.start(Config(values={"loss_function": "logistic"})).high
    50.0
    """

    initial_t: float = 0.0
    sum_norm_x: float = 0.0
    total_weight: float = 0.0
    t: float = 0.0
    low: float = 0.0  # the smallest label so far: predictions are clipped to the range
    high: float = 0.0
    gravity: float = 0.0  # the accumulated effect of l1
    contraction: float = 1.0  # the accumulated factor of l2

    @classmethod
    def start(cls, config: Config) -> VWState:
        """Return the state of a model before its first example."""
        values = config.values
        keys = ("initial_t", "min_prediction", "max_prediction")
        t, low, high = (float(np.float32(values.get(key, 0))) for key in keys)
        bound = first_label_bound(values.get("loss_function"))
        if bound and not {"min_prediction", "max_prediction"} & values.keys():
            low, high = -bound, bound
        norm = max(t, 0.0)
        return cls(t, norm, norm, t, low, high)


@dataclass(eq=False)
class VWModel:
    """A model of VW's default learner: its configuration, its state, its weights.

    A weight whose index is not listed is untouched: 0, with `initial_t` as its adaptive
    number.

    >>> import numpy as np
    >>> from chacha.config.config import Config
    >>> config, number = Config(["ab"]), np.array([0.5], np.float32)
    >>> index = np.array([7], np.uint32)
    >>> model = VWModel(config, VWState.start(config), index, number, number, number)
    >>> model == VWModel(config, VWState(), index, number, number, number)
    True
    """

    config: Config
    state: VWState
    index: NDArray[np.uint32]
    weight: NDArray[np.float32]
    adaptive: NDArray[np.float32]
    normalized: NDArray[np.float32]

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, VWModel)
            and (self.config, self.state) == (other.config, other.state)
            and np.array_equal(self.index, other.index)
            and all(
                np.array_equal(mine, theirs, equal_nan=True)
                for mine, theirs in zip(self._columns(), other._columns(), strict=True)
            )
        )

    def _columns(self) -> tuple[NDArray[np.float32], ...]:
        return self.weight, self.adaptive, self.normalized


def write_vw_model(
    path: str | os.PathLike[str], model: VWModel, *, self_contained: bool = False
) -> None:
    """Write a model that VW 9.11 or later loads with `-i`.

    The bytes equal those VW writes, except for the version and for statistics (losses, counts of
    examples), which VW discards when it loads a file. With `initial_t` all 2^bits weights
    are written, because VW does not set the untouched ones when it loads.

    `self_contained` adds the options of :data:`chacha.vw.options.UNSAVED` to the file, so that
    `-i FILE` is enough to continue learning. VW accepts that, refuses other values of them on its
    command line, and leaves them out when it saves the model itself.

    >>> import tempfile
    >>> from chacha.config.config import Config
    >>> config, none = Config(["ab"], {"learning_rate": 0.1}), np.zeros(0, np.float32)
    >>> model = VWModel(config, VWState(), np.zeros(0, np.uint32), none, none, none)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_vw_model(f"{folder}/model.vw", model)
    ...     read_vw_model(f"{folder}/model.vw") == model
    True
    """
    name = os.fspath(path)
    check_config(name, model.config)
    state, bits = model.state, int(model.config.values.get("bit_precision", BITS))
    _check_initial_t(name, model)
    options = options_text(name, model.config, self_contained).encode()
    rows = _rows(name, model, bits)
    try:
        head = _header(state, bits, options)
        clock = (state.initial_t, state.sum_norm_x, state.t, 0, 0, 1, state.low, state.high)
        ends = (state.total_weight, 0, 0, state.gravity, state.contraction)
        body = b"\x01" + _STATE.pack(*clock, 0, 0, 0, 0, 0, *ends)
    except (OverflowError, struct.error) as error:
        fail(name, f"VW cannot hold a number of the state ({error}): {state}", error)
    aside = Path(f"{name}.writing")  # as VW does, so that the file is never half a model
    try:
        with aside.open("wb") as file:
            file.write(head + body)
            file.write(rows.data)
        aside.replace(name)
    except OSError as error:
        fail(name, f"cannot be written: {error.strerror}", error)


def read_vw_model(path: str | os.PathLike[str]) -> VWModel:
    """Read a model that VW 9 or :func:`write_vw_model` saved.

    Weights are in the order of the file; VW writes them by index. Options that VW did not save
    (:data:`chacha.vw.options.UNSAVED`) are not in the configuration, nor are an id, a random seed
    and a bit precision of 18. VW's products by letter (`-q ab`) apply to all groups that
    begin with the letter; here they become products of the groups named `a` and `b`.
    Sums over such products may be added up in another order, so the last bits may differ.

    Refused: other learners and updates, `--predict_only_model`, wildcards, damaged files.

    >>> read_vw_model("nowhere.vw")
    Traceback (most recent call last):
    chacha.errors.PoolError: nowhere.vw: cannot be read: No such file or directory
    """
    name = os.fspath(path)
    pieces = _Pieces(name, _bytes(name))
    span, bits, options = pieces.header()
    config = read_options(name, options, {} if bits == BITS else {"bit_precision": bits})
    state = pieces.state(span)
    if state.initial_t:
        config = config.with_values(initial_t=float(str(np.float32(state.initial_t))))
    return VWModel(config, state, *pieces.weights(bits, state.initial_t))


def read_vw_options(path: str | os.PathLike[str]) -> tuple[int, list[tuple[str, list[str]]]]:
    """Return the bits and options of a VW 9 model, even if :func:`read_vw_model` refuses it.

    >>> read_vw_options("nowhere.vw")
    Traceback (most recent call last):
    chacha.errors.PoolError: nowhere.vw: cannot be read: No such file or directory
    """
    name = os.fspath(path)
    _, bits, options = _Pieces(name, _bytes(name)).header()
    return bits, option_words(name, options)


def _bytes(name: str) -> bytes:
    try:
        return Path(name).read_bytes()
    except OSError as error:
        fail(name, f"cannot be read: {error.strerror}", error)


def _check_initial_t(name: str, model: VWModel) -> None:
    configured, actual = model.config.values.get("initial_t", 0), model.state.initial_t
    if not is_float32(actual) or np.float32(configured) != np.float32(actual):
        fail(name, f"initial_t is {configured} in the configuration and {actual} in the state")


def _row(bits: int) -> np.dtype[Any]:
    """Return the layout of one weight. Indices of 31 bits and more take eight bytes."""
    return np.dtype([("index", "<u8" if bits >= 31 else "<u4"), ("numbers", "<f4", (3,))])


def _rows(name: str, model: VWModel, bits: int) -> NDArray[Any]:
    """Return the weights in the layout of the file."""
    index, columns = np.asarray(model.index), [np.asarray(c) for c in model._columns()]
    if index.ndim != 1 or any(column.shape != index.shape for column in columns):
        shapes = [array.shape for array in (index, *columns)]
        fail(name, f"index, weight, adaptive and normalized differ in shape: {shapes}")
    if len(index) and (index.dtype.kind not in "ui" or index.min() < 0):
        fail(name, "the indices of weights must be whole numbers of at least 0")
    _check_index(name, index, bits)
    initial_t = model.state.initial_t
    listed = np.zeros(len(index), _row(bits))
    listed["index"] = index
    for place, column in enumerate(columns):
        listed["numbers"][:, place] = column
    if initial_t <= 0:
        return listed
    rows = np.zeros(1 << bits, _row(bits))
    rows["index"] = np.arange(1 << bits)
    rows["numbers"][:, 1] = initial_t
    rows[index] = listed
    return rows


def _check_index(name: str, index: NDArray[Any], bits: int) -> None:
    if len(index) and (most := int(index.max())) >= 1 << bits:
        fail(name, f"there is a weight with index {most}; with {bits} bits it is below {1 << bits}")
    if len(np.unique(index)) < len(index):
        fail(name, "two weights have the same index")


def _header(state: VWState, bits: int, options: bytes) -> bytes:
    """Return everything before the state."""
    sizes = [struct.pack("<I", len(text)) for text in (VERSION, b"\0", options + b"\0")]
    low, high = struct.pack("<f", state.low), struct.pack("<f", state.high)
    none = struct.pack("<I", 0)  # lda, ngrams, skips
    named = [sizes[1], b"\0", b"m", low, high, struct.pack("<I", bits), none, none, none]
    pieces = [*named, sizes[2], options + b"\0"]
    return sizes[0] + VERSION + b"".join(pieces) + struct.pack("<II", 4, _checksum(pieces))


def _checksum(pieces: Iterable[bytes]) -> int:
    """Return VW's checksum of the pieces it writes after the version."""
    return reduce(lambda seed, piece: murmur(piece, seed), pieces, 0)


class _Pieces:
    """A file, read piece by piece. No piece is larger than the rest of the file."""

    def __init__(self, name: str, data: bytes) -> None:
        self._name, self._data = name, data
        self._at, self._taken = 0, list[bytes]()

    def _take(self, size: int) -> bytes:
        piece = self._data[self._at : self._at + size]
        if len(piece) < size:
            fail(self._name, f"it ends too early, at byte {len(self._data)}: it is cut or damaged")
        self._at += size
        self._taken.append(piece)
        return piece

    def _whole(self) -> int:
        return int.from_bytes(self._take(4), "little")

    def _text(self) -> str:
        """Read a text with its length before it and a zero after it."""
        size = self._whole()
        try:
            text, _, rest = self._take(size).decode().partition("\0")
        except UnicodeDecodeError as error:
            fail(self._name, f"a text in it is not UTF-8: {error}", error)
        if rest:
            fail(self._name, "a text in it goes on after its end: the file is damaged")
        return text

    def header(self) -> tuple[bytes, int, str]:
        """Read the label range, the bits and the options."""
        if not re.match(rb"[\x02-\x20]\0\0\0[0-9]+\.[0-9]+\.[0-9]+(-\w+)?\0", self._data):
            fail(self._name, "is not a VW model: it does not begin with a version")
        if not (version := self._text()).startswith("9."):
            fail(self._name, f"VW {version} saved it, but only models of VW 9 are read here")
        self._taken.clear()
        self._text()  # the id
        if self._take(1) != b"m":
            fail(self._name, "is not a VW model: the mark 'm' is missing")
        span = self._take(4) + self._take(4)
        bits, *others = [self._whole() for _ in range(4)]
        for option, count in zip(("lda", "ngram", "skips"), others, strict=True):
            if count:
                what = f"it was trained with --{option}, which is not read here"
                fail(self._name, f"{what}; load it with VW itself")
        options, check = self._text(), _checksum(self._taken)
        if (self._whole(), self._whole()) != (4, check):
            fail(self._name, "the checksum of its header is wrong: it is damaged")
        if not 1 <= bits <= MOST_BITS:
            fail(self._name, f"it has {bits} bits; from 1 to {MOST_BITS} are read here")
        return span, bits, options

    def state(self, span: bytes) -> VWState:
        """Read the state; its label range must be the header's."""
        if (resume := self._take(1)) == b"\0":
            what = "it has weights only (--predict_only_model) and cannot go on learning"
            fail(self._name, f"{what}; save it without that option")
        raw = self._take(_STATE.size)
        fields = _STATE.unpack(raw)
        initial_t, norm, t, low, high, weight = (fields[i] for i in (0, 1, 2, 6, 7, 13))
        if resume != b"\x01" or raw[40:48] != span or not is_float32(initial_t):
            fail(self._name, "its state is damaged")
        return VWState(initial_t, norm, weight, t, low, high, *fields[16:])

    def weights(self, bits: int, initial_t: float) -> tuple[NDArray[Any], ...]:
        """Read indices, weights, adaptive and normalized numbers, without untouched weights."""
        row, left = _row(bits), len(self._data) - self._at
        if left % row.itemsize:
            fail(self._name, f"it ends within a weight, at byte {len(self._data)}: it is cut")
        rows = np.frombuffer(self._data, row, offset=self._at)
        _check_index(self._name, rows["index"], bits)
        numbers = rows["numbers"]
        if initial_t > 0:
            if len(rows) < 1 << bits:
                what = f"with initial_t {initial_t:g} all {1 << bits} weights must be in it"
                fail(self._name, f"{what}, got {len(rows)}: it is cut, or of --sparse_weights")
            touched = (numbers != np.array([0, initial_t, 0], np.float32)).any(axis=1)
            rows, numbers = rows[touched], numbers[touched]
        columns = (numbers[:, place].astype(np.float32) for place in range(3))
        return rows["index"].astype(np.uint32), *columns
