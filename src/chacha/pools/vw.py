"""The pool on Vowpal Wabbit itself: any of its options may be fixed or tuned.

An example is parsed once and learned by all live models. VW ties a parsed example to
the workspace that set it up: its interactions, its weights' stride, its constant. So it
is unset from one workspace and set up for the next, and every workspace that learned it
also finishes it, because VW's clock (which `--sgd` reads) ticks there.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache, reduce
from os import PathLike, fspath
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

try:
    import vowpalwabbit
    from vowpalwabbit import pyvw
except ImportError as error:  # pragma: no cover - exercised in a process of its own
    from chacha.errors import MissingExtra

    instead = " (without it: ReferencePool(), --pool reference)"
    raise MissingExtra.of("vowpalwabbit", "vw", instead) from error

from chacha.config.config import Config, Value
from chacha.data.example import Example
from chacha.data.vw_text import murmur
from chacha.errors import PoolError
from chacha.pools.base import refuse_damping, refuse_idle, refuse_live, refuse_unlabelled

__all__ = ["VWPool"]

Workspace = Any  # vowpalwabbit ships no types
native = pyvw.pylibvw.vw

SHARED = frozenset(
    {"adaptive", "bit_precision", "boosting", "coin", "ftrl", "ftrl_alpha", "ftrl_beta"}
    | {"initial_t", "initial_weight", "invariant", "l1", "l2", "learning_rate", "loss_function"}
    | {"max_prediction", "min_prediction", "nn", "noconstant", "normalized", "power_t"}
    | {"quantile_tau", "sgd", "sparse_l2"}
)
"""Options with which models may share one parsed example, bit for bit (a test says so).

A model with any other option parses for itself: it may change what an example holds.
"""

FREE = frozenset(
    {"ftrl_alpha", "ftrl_beta", "l1", "l2", "learning_rate", "loss_function", "noconstant"}
    | {"power_t", "quantile_tau"}
)
"""Options in which a copy may differ from its source: VW saves nothing that hangs on them."""

UNSAVED = frozenset({"OjaNewton", "autolink", "boosting", "ngram", "nn", "skips", "sparse_l2"})
"""Options of models that do not go on as before when VW has saved and loaded them."""

REFUSED = {
    "chacha reads and writes by itself": (
        "audit audit_regressor cache cache_file daemon data dsjson extra_metrics "
        "final_regressor foreground help invert_hash json span_server version "
        "kill_cache output_feature_regularizer_binary output_feature_regularizer_text passes "
        "pid_file port port_file predictions raw_predictions readable_model save_per_pass stdin"
    ),
    "a model that does not learn from every example cannot be compared": "active noop testonly",
    "with it VW's predict changes the model": "bootstrap lrq lrqfa new_mf rank",
    "the loss turns margins into predictions": "link",
}
"""Why some options cannot be used, and which."""


def _open(words: list[str], what: str) -> Workspace:
    try:
        return vowpalwabbit.Workspace(arg_list=["--quiet", "--no_stdin", *words])
    except Exception as error:
        raise PoolError(f"VW refused {what}: {str(error).strip()}") from error


@lru_cache(maxsize=1)
def vw_options() -> Mapping[str, Value | None]:
    """Every option of the installed VW with its default; None where it has none."""
    workspace = _open([], "its own defaults")
    found: dict[str, Value | None] = {"bit_precision": 18, "initial_t": 0.0}
    for groups in workspace.get_config(False).values():
        for _, options in groups:
            for option in options:
                value = option.default_value if option.default_value_supplied else None
                plain = isinstance(value, (bool, int, float, str))
                found.setdefault(option.name, value if plain else None)
    workspace.finish()
    return found


class VWPool:
    """Live models that are Vowpal Wabbit workspaces.

    >>> from chacha.data.text_parser import parse_line
    >>> pool = VWPool()
    >>> pool.start(Config(["ab"], {"learning_rate": 0.25}))
    >>> for _ in range(3):
    ...     predictions = pool.learn(parse_line("1 |a x |b y"))
    >>> {str(c): round(p, 3) for c, p in predictions.items()}
    {'interactions ab; learning_rate 0.25': 0.604}
    """

    derives = True

    def __init__(self) -> None:
        self._models: dict[Config, Workspace] = {}
        self._alone: dict[Config, None] = {}  # those that parse for themselves
        self._parser: Workspace | None = None

    @property
    def live(self) -> Collection[Config]:
        """The configurations that have a model now."""
        return self._models.keys()

    def fresh(self) -> VWPool:
        """An empty pool."""
        return VWPool()

    def default(self, key: str) -> Value | None:
        """VW's own default of an option."""
        return vw_options().get(key)

    def start(self, config: Config) -> None:
        """Open a workspace for `config`; it must predict one number per line."""
        refuse_live(config, self._models)
        _check(config)
        self._adopt(config, _open(config.vw_arg_list(), str(config)))

    def copy(self, source: Config, config: Config, damping: float = 0.0) -> None:
        """Give `config` a model with the weights and the state of `source`'s, through a file.

        VW cannot damp its first steps: `damping` has no effect here.

        >>> from chacha.data.text_parser import parse_line
        >>> pool = VWPool()
        >>> pool.start(Config())
        >>> _ = pool.learn(parse_line("1 |a x |b y"))
        >>> pool.copy(Config(), Config(["ab"], {"learning_rate": 0.1}))
        >>> len(set(pool.predict(parse_line("|a x |b y")).values()))
        1
        """
        refuse_idle(source, self._models)
        refuse_live(config, self._models)
        refuse_damping(damping)
        _check(config)
        _check_copy(source, config)
        try:
            with TemporaryDirectory(prefix="chacha-") as folder:
                path = Path(folder, "model.vw")
                self.to_vw(source, path)
                path.write_bytes(_without_options(path.read_bytes()))
                words = ["--initial_regressor", str(path), *config.vw_arg_list()]
                workspace = _open(words, f"a copy: {config}")
        except OSError as error:
            raise PoolError(f"VW copies a model through a file: {error}") from error
        self._adopt(config, workspace)

    def undamp(self, config: Config) -> None:
        """From now on `config` learns as if it had never been a copy: as it does anyway."""
        refuse_idle(config, self._models)

    def _adopt(self, config: Config, workspace: Workspace) -> None:
        if _kind(workspace) != ("SIMPLE", "SCALAR"):
            workspace.finish()
            raise PoolError(f"{config}: chacha needs VW options that predict one number per line")
        self._models[config] = workspace
        if config.values.keys() - SHARED:
            self._alone[config] = None

    def stop(self, config: Config) -> None:
        """Close the workspace of `config`."""
        refuse_idle(config, self._models)
        self._alone.pop(config, None)
        self._models.pop(config).finish()

    def to_vw(self, config: Config, path: str | PathLike[str]) -> None:
        """Write the model of `config` as VW does; VW forgets the loss and l1, l2 on the way."""
        refuse_idle(config, self._models)
        try:
            self._models[config].save(fspath(path))
        except Exception as error:
            raise PoolError(f"{fspath(path)}: VW cannot write it: {error}") from error

    def predict(self, example: Example) -> Mapping[Config, float]:
        """What every live model predicts."""
        line = example.line if example.initial else example.body  # the label is not looked at
        return self._visit(line, example, learn=False)

    def learn(self, example: Example) -> Mapping[Config, float]:
        """Every live model predicts, then learns."""
        refuse_unlabelled(example)
        return self._visit(example.line, example, learn=True)

    def _visit(self, line: str, given: Example, learn: bool) -> Mapping[Config, float]:
        """Each model gets the line with the derived groups that it has."""
        predictions: dict[Config, float] = {}
        together: dict[tuple[str, ...], list[Config]] = {}
        for config, workspace in self._models.items():
            if config not in self._alone:
                together.setdefault(config.derived, []).append(config)
                continue
            with self._parsed(workspace, line + given.derived_text(config.derived)) as example:
                predictions[config] = _turn(workspace, example, learn)
        for features, configs in together.items():
            predictions |= self._share(line + given.derived_text(features), configs, learn)
        return {config: predictions[config] for config in self._models}

    def _share(self, line: str, configs: Sequence[Config], learn: bool) -> dict[Config, float]:
        """Hand one parsed line from model to model."""
        predictions: dict[Config, float] = {}
        if self._parser is None:  # hashes to 31 bits; narrower models drop the upper ones
            self._parser = _open(["--bit_precision=31", "--sparse_weights"], "a parser")
        with self._parsed(self._parser, line) as example:
            owner = self._parser
            for config in configs:
                workspace = self._models[config]
                native.unsetup_example(owner, example)
                native.setup_example(workspace, example)
                owner = workspace
                predictions[config] = _turn(workspace, example, learn)
                if learn:
                    native._finish_example(workspace, example)
        return predictions

    @contextmanager
    def _parsed(self, workspace: Workspace, line: str) -> Iterator[Any]:
        (example,) = workspace._parse(line)
        try:
            yield example
        finally:
            native._finish_example(workspace, example)  # back into the workspace's pool


def _check(config: Config) -> None:
    """Refuse what VW does not have, and what cannot be used here."""
    for key in config.values:
        if key not in vw_options():
            raise PoolError(f"VW has no option --{key} (from {config})")
        for reason, keys in REFUSED.items():
            if key in keys.split():
                raise PoolError(f"--{key} cannot be used: {reason}")


def _check_copy(source: Config, config: Config) -> None:
    """Refuse a copy that would not be one."""
    for key in sorted((source.values.keys() | config.values.keys()) - FREE):
        was, now = (each.values.get(key, vw_options()[key]) for each in (source, config))
        if was != now:
            raise PoolError(f"VW cannot change --{key} of a copy, from {was!r} to {now!r}")
        if was and key in UNSAVED:
            raise PoolError(f"VW does not save all of a model with --{key}: it cannot be copied")


def _without_options(data: bytes) -> bytes:
    """A model that VW saved, without the options in it: VW would add them to those of a copy.

    The seed of VW's random numbers stays. The header is: the version, the id, `m`, the labels'
    range, four whole numbers (bits, lda, ngrams, skips), the options, a checksum of the pieces.
    """
    pieces, at = list[bytes](), 4 + int.from_bytes(data[:4], "little")
    head = data[:at]

    def take(size: int) -> bytes:
        nonlocal at
        pieces.append(data[at : at + size])
        at += size
        return pieces[-1]

    def number() -> int:
        return int.from_bytes(take(4), "little")

    take(number())
    for size in (1, 4, 4, 4, 4, 4, 4):
        take(size)
    options = take(number())
    if data[at : at + 8] != _sealed(pieces):
        raise PoolError("VW's file of this model is not understood: it cannot be copied")
    kept = b"".join(re.findall(rb" --random_seed \d+", options)) + b"\0"
    pieces[-2:] = [struct.pack("<I", len(kept)), kept]
    return head + b"".join(pieces) + _sealed(pieces) + data[at + 8 :]


def _sealed(pieces: list[bytes]) -> bytes:
    """The checksum of pieces of a file, as it stands behind them."""
    return struct.pack("<II", 4, reduce(lambda seed, piece: murmur(piece, seed), pieces, 0))


def _kind(workspace: Workspace) -> tuple[str, str]:
    """The types of label and prediction, by name; empty where VW's Python does not know them."""
    try:
        return workspace.get_label_type().name, workspace.get_prediction_type().name
    except Exception:
        return "", ""


def _turn(workspace: Workspace, example: Any, learn: bool) -> float:
    """One model's turn at a parsed example: its prediction, then its lesson."""
    native.predict(workspace, example)
    prediction = float(example.get_simplelabel_prediction())
    if learn:
        native.learn(workspace, example)
    return prediction
