"""The pool on Vowpal Wabbit itself: any of its options may be fixed or tuned.

An example is parsed once and learned by all live models. VW ties a parsed example to the workspace
that set it up: to its interactions, the stride of its weights, its constant. The example is
therefore unset in one workspace and set up for the next. Every workspace that learned it also
finishes it, because this advances VW's clock, which `--sgd` reads.
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
except ImportError as error:  # pragma: no cover - run in a separate process
    from chacha.errors import MissingExtra

    instead = " (without it: ReferencePool(), --pool reference)"
    raise MissingExtra.of("vowpalwabbit", "vw", instead) from error

from chacha.config.config import Config, Value
from chacha.data.example import Example
from chacha.data.vw_text import murmur
from chacha.errors import PoolError
from chacha.losses import loss_options
from chacha.pools.base import (
    Capabilities,
    learn_in_order,
    refuse_damping,
    refuse_idle,
    refuse_live,
    refuse_unlabelled,
)

__all__ = ["VWPool"]

Workspace = Any  # vowpalwabbit ships no types
native = pyvw.pylibvw.vw

SHARED = frozenset(
    {"adaptive", "bit_precision", "boosting", "coin", "ftrl", "ftrl_alpha", "ftrl_beta"}
    | {"initial_t", "initial_weight", "invariant", "l1", "l2", "learning_rate", "loss_function"}
    | {"max_prediction", "min_prediction", "nn", "noconstant", "normalized", "power_t"}
    | {"sgd", "sparse_l2", *loss_options()}
)
"""Options with which models can share one parsed example, bit for bit (this is tested).

A model with any other option parses its own: the option may change what an example contains.
"""

FREE = frozenset(
    {"ftrl_alpha", "ftrl_beta", "l1", "l2", "learning_rate", "loss_function", "noconstant"}
    | {"power_t", *loss_options()}
)
"""Options in which a copy may differ from its source: VW saves nothing that depends on them."""

UNSAVED = frozenset({"OjaNewton", "autolink", "boosting", "ngram", "nn", "skips", "sparse_l2"})
"""Options of models that do not continue exactly after VW has saved and loaded them."""

REFUSED = {
    "chacha reads and writes files itself": (
        "audit audit_regressor cache cache_file daemon data dsjson extra_metrics "
        "final_regressor foreground help invert_hash json span_server version "
        "kill_cache output_feature_regularizer_binary output_feature_regularizer_text passes "
        "pid_file port port_file predictions raw_predictions readable_model save_per_pass stdin"
    ),
    "a model that does not learn from every example cannot be compared": "active noop testonly",
    "with it VW's predict changes the model": "bootstrap lrq lrqfa new_mf rank",
    "the loss turns margins into predictions": "link",
}
"""Options that cannot be used, by reason."""


def _open(words: list[str], what: str) -> Workspace:
    try:
        return vowpalwabbit.Workspace(arg_list=["--quiet", "--no_stdin", *words])
    except Exception as error:
        raise PoolError(f"VW refused {what}: {str(error).strip()}") from error


@lru_cache(maxsize=1)
def vw_options() -> Mapping[str, Value | None]:
    """Return every option of the installed VW with its default; None where it has none."""
    workspace = _open([], "its own defaults")
    defaults: dict[str, Value | None] = {"bit_precision": 18, "initial_t": 0.0}
    for groups in workspace.get_config(False).values():
        for _, options in groups:
            for option in options:
                value = option.default_value if option.default_value_supplied else None
                plain = isinstance(value, (bool, int, float, str))
                defaults.setdefault(option.name, value if plain else None)
    workspace.finish()
    return defaults


class VWPool:
    """A pool whose live models are Vowpal Wabbit workspaces.

    >>> from chacha.data.text_parser import parse_line
    >>> pool = VWPool()
    >>> pool.start(Config(["ab"], {"learning_rate": 0.25}))
    >>> for _ in range(3):
    ...     predictions = pool.learn(parse_line("1 |a x |b y"))
    >>> {str(c): round(p, 3) for c, p in predictions.items()}
    {'interactions ab; learning_rate 0.25': 0.604}
    """

    def __init__(self) -> None:
        self._models: dict[Config, Workspace] = {}
        self._separate: dict[Config, None] = {}  # models that parse their own examples
        self._parser: Workspace | None = None

    @property
    def capabilities(self) -> Capabilities:
        """VW copies models, uses derived groups, and writes model files."""
        return Capabilities(copies=True, derives=True, exports=True)

    @property
    def live(self) -> Collection[Config]:
        """The configurations that have a model now."""
        return self._models.keys()

    def fresh(self) -> VWPool:
        """Return an empty pool."""
        return VWPool()

    def default(self, key: str) -> Value | None:
        """Return VW's default for an option; None if it has no such option."""
        return vw_options().get(key)

    def start(self, config: Config) -> None:
        """Open a workspace for `config`; it must predict one number per line."""
        refuse_live(config, self._models)
        _check(config)
        self._adopt(config, _open(config.vw_arg_list(), str(config)))

    def copy(self, source: Config, config: Config, damping: float = 0.0) -> None:
        """Give `config` a model with the weights and the state of `source`, through a file.

        VW cannot damp first steps, so `damping` has no effect here.

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
        """Do nothing but check that `config` is live: copies in VW are never damped."""
        refuse_idle(config, self._models)

    def _adopt(self, config: Config, workspace: Workspace) -> None:
        if _types(workspace) != ("SIMPLE", "SCALAR"):
            workspace.finish()
            raise PoolError(f"{config}: chacha needs VW options that predict one number per line")
        self._models[config] = workspace
        if config.values.keys() - SHARED:
            self._separate[config] = None

    def stop(self, config: Config) -> None:
        """Close the workspace of `config`."""
        refuse_idle(config, self._models)
        self._separate.pop(config, None)
        self._models.pop(config).finish()

    def to_vw(self, config: Config, path: str | PathLike[str]) -> None:
        """Let VW write the model of `config`; VW does not save the loss, l1 and l2."""
        refuse_idle(config, self._models)
        try:
            self._models[config].save(fspath(path))
        except Exception as error:
            raise PoolError(f"{fspath(path)}: VW cannot write it: {error}") from error

    def predict(self, example: Example) -> Mapping[Config, float]:
        """Return the prediction of every live model. Nothing changes."""
        line = example.line if example.initial else example.body  # the label is not used
        return self._visit(line, example, learn=False)

    def learn(self, example: Example) -> Mapping[Config, float]:
        """Let every live model predict, then learn; return the predictions."""
        refuse_unlabelled(example)
        return self._visit(example.line, example, learn=True)

    def learn_many(self, examples: Sequence[Example]) -> list[Mapping[Config, float]]:
        """Learn a batch, one example after the other; return the predictions for each."""
        return learn_in_order(self.learn, examples)

    def _visit(self, line: str, example: Example, learn: bool) -> Mapping[Config, float]:
        """Pass the line to each model, with the derived groups that its configuration names."""
        predictions: dict[Config, float] = {}
        sharing: dict[tuple[str, ...], list[Config]] = {}
        for config, workspace in self._models.items():
            if config not in self._separate:
                sharing.setdefault(config.derived, []).append(config)
                continue
            with self._parsed(workspace, line + example.derived_text(config.derived)) as parsed:
                predictions[config] = _predict_and_learn(workspace, parsed, learn)
        for features, configs in sharing.items():
            predictions |= self._share(line + example.derived_text(features), configs, learn)
        return {config: predictions[config] for config in self._models}

    def _share(self, line: str, configs: Sequence[Config], learn: bool) -> dict[Config, float]:
        """Parse a line once, and pass it from model to model."""
        predictions: dict[Config, float] = {}
        if self._parser is None:  # it hashes to 31 bits; models with fewer drop the upper ones
            self._parser = _open(["--bit_precision=31", "--sparse_weights"], "a parser")
        with self._parsed(self._parser, line) as example:
            owner = self._parser
            for config in configs:
                workspace = self._models[config]
                native.unsetup_example(owner, example)
                native.setup_example(workspace, example)
                owner = workspace
                predictions[config] = _predict_and_learn(workspace, example, learn)
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
    """Raise an error for options that VW does not have or that cannot be used here."""
    for key in config.values:
        if key not in vw_options():
            raise PoolError(f"VW has no option --{key} (from {config})")
        for reason, keys in REFUSED.items():
            if key in keys.split():
                raise PoolError(f"--{key} cannot be used: {reason}")


def _check_copy(source: Config, config: Config) -> None:
    """Raise an error if VW cannot copy the model of `source` exactly."""
    for key in sorted((source.values.keys() | config.values.keys()) - FREE):
        old, new = (each.values.get(key, vw_options()[key]) for each in (source, config))
        if old != new:
            raise PoolError(f"VW cannot change --{key} of a copy, from {old!r} to {new!r}")
        if old and key in UNSAVED:
            raise PoolError(f"VW does not save all of a model with --{key}: it cannot be copied")


def _without_options(data: bytes) -> bytes:
    """Return a model that VW saved without its options, which VW would add to those of a copy.

    The seed of VW's random numbers stays. The header consists of the version, the id, `m`, the
    label range, four integers (bits, lda, ngrams, skips), the options, and a checksum of these.
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
    if data[at : at + 8] != _checksum(pieces):
        raise PoolError("the model cannot be copied: VW saved it in an unknown file format")
    seed = b"".join(re.findall(rb" --random_seed \d+", options)) + b"\0"
    pieces[-2:] = [struct.pack("<I", len(seed)), seed]
    return head + b"".join(pieces) + _checksum(pieces) + data[at + 8 :]


def _checksum(pieces: list[bytes]) -> bytes:
    """Return the checksum of a header's pieces, as VW writes it after them."""
    return struct.pack("<II", 4, reduce(lambda seed, piece: murmur(piece, seed), pieces, 0))


def _types(workspace: Workspace) -> tuple[str, str]:
    """Return the names of the label and prediction types; empty if VW's Python has none."""
    try:
        return workspace.get_label_type().name, workspace.get_prediction_type().name
    except Exception:
        return "", ""


def _predict_and_learn(workspace: Workspace, example: Any, learn: bool) -> float:
    """Return one model's prediction for a parsed example, and let it learn if `learn` is set."""
    native.predict(workspace, example)
    prediction = float(example.get_simplelabel_prediction())
    if learn:
        native.learn(workspace, example)
    return prediction
