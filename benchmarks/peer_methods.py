"""The peers' methods: VW from Python, VW's C++ driver, River, FLAML's AutoVW."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import vowpalwabbit

import flaml_env
from streams import TARGET, Stream
from timing import Method, cpu, nanoseconds

__all__ = ["Flaml", "methods", "versions"]

RATES = (0.0001, 0.0003, 0.001, 0.002, 0.003, 0.005, 0.01, 0.02, 0.03, 0.05)
LIVE = 3.5  # updates per example with which River's halving lasts for the whole pass


def learn_pass(lines: Sequence[str], predict: bool) -> float:
    """Return the time of one VW model: `learn(text)`, with `predict` after `predict(text)`."""
    model = vowpalwabbit.Workspace(arg_list=["--quiet", "--no_stdin"])

    def learn() -> None:
        for line in lines:
            model.learn(line)

    def predict_and_learn() -> None:
        for line in lines:
            model.predict(line)
            model.learn(line)

    elapsed = nanoseconds(predict_and_learn if predict else learn, len(lines))
    model.finish()
    return elapsed


def drive(path: Path, words: Sequence[str]) -> float:
    """Pass over a whole file with VW's driver; return the number of examples learned."""
    model = vowpalwabbit.Workspace(arg_list=["--quiet", "-d", str(path), *words])
    learned: float = model.get_weighted_examples()
    model.finish()
    return learned


class Driver:
    """VW's C++ driver on a file, without the cost of starting it."""

    def __init__(self, stream: Stream, path: Path) -> None:
        self.path, self.examples = path, len(stream.lines)
        self.one_line = stream.write(path.with_suffix(".one.vw"), rows=1)
        self.cache = path.with_suffix(".cache")

    def one_pass(self, *words: str) -> float:
        """Return the nanoseconds per example for the text, or for the cache that `words` name."""
        began = cpu()
        drive(self.one_line, [word for word in words if not word.startswith("--cache_file")])
        start_up = cpu() - began
        learned: list[float] = []

        def work() -> None:
            learned.append(drive(self.path, words))

        elapsed = nanoseconds(work, self.examples, start_up)
        assert learned == [self.examples], f"VW's driver learned {learned} of {self.examples}"
        return elapsed

    def cached_pass(self) -> float:
        """Return the same for a cache that an earlier pass wrote."""
        words = [f"--cache_file={self.cache}"]
        if not self.cache.exists():
            drive(self.path, [*words, "-k"])
        return self.one_pass(*words)


def products_of(stream: Stream) -> list[str]:
    """Return VW's arguments for the first four products of a stream."""
    words: list[str] = []
    for left, right in stream.products[:4]:
        short = len(left) == len(right) == 1
        words += ["-q", left + right] if short else [FULL_NAMES, f"{left}|{right}"]
    return words


FULL_NAMES = "--experimental_full_name_interactions"


def river_pass(stream: Stream, rows: int) -> float | None:
    """Return the time of successive halving of ten regressions; None without River."""
    try:
        linear_model, metrics, model_selection, optim, preprocessing = (
            import_module(f"river.{name}")
            for name in ("linear_model", "metrics", "model_selection", "optim", "preprocessing")
        )
    except ImportError:
        return None
    records = [number_words(record) for record in stream.table.slice(0, rows).to_pylist()]
    labels = [record.pop(TARGET) for record in records]
    models = [
        preprocessing.StandardScaler() | linear_model.LinearRegression(optim.SGD(rate))
        for rate in RATES
    ]
    model = model_selection.SuccessiveHalvingRegressor(
        models, metric=metrics.MAE(), budget=int(LIVE * len(records)), eta=2
    )

    def work() -> None:
        for x, y in zip(records, labels, strict=True):
            model.predict_one(x)
            model.learn_one(x, y)

    return nanoseconds(work, len(records))


def number_words(record: dict[str, Any]) -> dict[str, float]:
    """Return a row for River's scaler: words become indicators."""
    return {
        f"{key}={value}" if isinstance(value, str) else key: 1.0
        if isinstance(value, str)
        else value
        for key, value in record.items()
    }


class Flaml:
    """FLAML in a separate environment, created once; `error` says why it cannot run."""

    def __init__(self, folder: Path, rows: int) -> None:
        self.python, self.rows = folder / "bin" / "python", rows
        self.versions: dict[str, str] = {}
        self.error = flaml_env.create(folder)

    def one_pass(self, path: Path) -> float | None:
        """Return the nanoseconds per example over the first rows of a file."""
        if self.error:
            return None
        script = Path(__file__).with_name("flaml_peer.py")
        ran = subprocess.run(
            [str(self.python), str(script), str(path), str(self.rows)],
            stdin=subprocess.DEVNULL,  # as shipped, AutoVW lets VW read stdin
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,  # VW's progress, once for each model
            text=True,
        )
        if ran.returncode:
            self.error = f"FLAML's AutoVW failed on {path.name}"
            return None
        result = json.loads(ran.stdout.splitlines()[-1])
        elapsed: float = result["ns"]
        self.versions = result["versions"]
        return elapsed


def methods(stream: Stream, path: Path, calls: int, slow: int, flaml: Flaml | None) -> list[Method]:
    """Return the peers' methods; those with a call per row take `calls` rows, slow ones `slow`."""
    lines, driver = stream.lines[:calls], Driver(stream, path)
    passes = [
        Method("VW Python, learn", lambda: learn_pass(lines, predict=False)),
        Method("VW Python, predict + learn", lambda: learn_pass(lines, predict=True)),
        Method("VW C++ driver, text", driver.one_pass),
        Method("VW C++ driver, cache", driver.cached_pass),
        Method("VW C++ driver, four products, text", lambda: driver.one_pass(*products_of(stream))),
    ]
    if stream.name != "sparse":
        passes.append(Method("River, halving of 10", lambda: river_pass(stream, slow)))
        if flaml is not None:
            passes.append(Method("FLAML AutoVW b=5", lambda: flaml.one_pass(path), once=True))
    return passes


def versions(flaml: Flaml | None) -> dict[str, str]:
    """Return the versions of the peers."""
    numbers = {"vowpalwabbit": version("vowpalwabbit")}
    try:
        numbers["river"] = version("river")
    except PackageNotFoundError:
        numbers["river"] = "not installed"
    if flaml is not None:
        numbers["flaml"] = flaml.error or flaml.versions.get("flaml", "")
        others = {name: number for name, number in flaml.versions.items() if name != "flaml"}
        numbers |= {f"{name} (FLAML's)": number for name, number in others.items()}
    return numbers
