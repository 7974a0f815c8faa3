"""Features the stream decides: derived groups beside raw ones, River, and the best in hindsight."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import Any

from beyond import LIMIT, MAIN, MORE
from chacha import ChaCha, DerivedFeatures, Logistic, Space, TableSpec
from chacha.compare import METHODS, CommonSettings, Method, Row, Stream, rows_of
from chacha.sources import Categories, LogTarget
from datasets import DataSet, find_binary
from results_page import table
from tasks import BUDGET, SPACES, Lab

__all__ = ["feature_values"]

TREE = "river:HoeffdingTreeRegressor"
CLASSIFIERS = ("river:LogisticRegression", "river:HoeffdingTreeClassifier", "river:ARFClassifier")
SLOW = 20_000  # rows for learners that take their time
SPACE = replace(SPACES["NI+LR"], features=DerivedFeatures())
Rows = Mapping[str, Mapping[str, Row]]  # by data set and method


def _raw(**settings: Any) -> ChaCha:
    """The recommended rules with raw groups and their products only."""
    space: Space = settings["space"].with_recommended_rates()
    settings.pop("evidence", None)
    return ChaCha(**{**settings, "space": replace(space, features=None)})


RAW = Method("chacha, raw groups", "the recommended rules, nothing derived", _raw)


def feature_values(lab: Lab, folder: Path | None, limit: int) -> dict[str, str]:
    """The tables of the page's part on features."""
    sets = [data for data in lab.sets if data.name in (*MAIN, *MORE)] or list(lab.sets)
    rows = _run(lab, sets, ("naive", RAW, METHODS["chacha"], "best-fixed", TREE), limit)
    binary = find_binary(folder) if folder is not None else []
    return {
        "feature_sets": _losses(rows),
        "feature_summary": _summary(rows),
        "feature_binary": _binary(lab, binary, min(limit, SLOW)),
    }


def _stream(data: DataSet, limit: int, log_target: LogTarget) -> Stream:
    """The data set as `chacha run` takes it: an indicator for every word."""
    table = TableSpec(target=data.target, categories=Categories.INDICATOR)
    return Stream(data.source, table, log_target=log_target, limit=min(limit, LIMIT))


def _run(
    lab: Lab,
    sets: Sequence[DataSet],
    methods: Sequence[str | Method],
    limit: int,
    log_target: LogTarget = LogTarget.AUTO,
    **settings: Any,
) -> Rows:
    streams = {data.name: _stream(data, limit, log_target) for data in sets}
    made = CommonSettings(budget=BUDGET, space=SPACE, **settings)
    outcomes = lab.study(f"features, {limit} examples", list(streams.values()), methods, made, 1)
    return {
        name: rows_of(found)
        for name, stream in streams.items()
        if len(found := outcomes.get(stream.name, {})) == len(methods)
    }


def _relative(rows: Rows, name: str, method: str) -> float:
    return rows[name][method].relative or math.nan


def _mean(rows: Rows, of: Callable[[str], float]) -> float:
    """A geometric mean over the main data sets; over all, if none of them is there."""
    names = [name for name in rows if name in MAIN] or list(rows)
    return math.exp(fmean(math.log(of(name)) for name in names)) if names else math.nan


def _losses(rows: Rows) -> str:
    """Loss ÷ naive's of every set."""
    methods = (RAW.name, "chacha", "best-fixed", TREE)
    lines = [[name, *(f"{_relative(rows, name, m):.3f}" for m in methods)] for name in rows]
    means = (_mean(rows, partial(_of, rows, method)) for method in methods)
    lines.append(["geometric mean", *(f"**{mean:.3f}**" for mean in means)])
    return table(["data set", *methods], lines)


def _of(rows: Rows, method: str, name: str) -> float:
    return _relative(rows, name, method)


def _cpu(rows: Rows, name: str, method: str) -> float:
    return rows[name][method].cpu_seconds


def _summary(rows: Rows) -> str:
    """What the features must reach, and what they do."""
    if not rows:
        return "Nothing was run."
    main = [name for name in rows if name in MAIN] or list(rows)
    better = sum(_of(rows, "chacha", n) < _of(rows, TREE, n) for n in main)
    worst = max((_of(rows, "chacha", name), name) for name in rows)
    ours = _mean(rows, partial(_of, rows, "chacha"))

    def cpu(method: str) -> float:
        return sum(_cpu(rows, name, method) for name in main)

    lines = [
        ["loss ÷ best-fixed's", f"{ours / _mean(rows, partial(_of, rows, 'best-fixed')):.2f}"],
        ["loss ÷ the Hoeffding tree's", f"{ours / _mean(rows, partial(_of, rows, TREE)):.2f}"],
        ["loss ÷ that with raw groups", f"{ours / _mean(rows, partial(_of, rows, RAW.name)):.2f}"],
        ["sets on which it beats the Hoeffding tree", f"{better} of {len(main)}"],
        ["worst loss ÷ naive's, of all", f"{worst[0]:.3f} ({worst[1]})"],
        ["CPU of the Hoeffding tree ÷ ours", f"{cpu(TREE) / cpu('chacha'):.0f}"],
        ["CPU ÷ that with raw groups", f"{cpu('chacha') / cpu(RAW.name):.2f}"],
    ]
    return table(["", "chacha"], lines)


def _binary(lab: Lab, sets: Sequence[DataSet], limit: int) -> str:
    """Log loss and accuracy on streams with two classes."""
    methods = ("naive", RAW, METHODS["chacha"], *CLASSIFIERS)
    rows = _run(lab, sets, methods, limit, LogTarget.OFF, loss=Logistic()) if sets else {}
    if not rows:
        return "There were no streams with two classes."
    names = [m if isinstance(m, str) else m.name for m in methods]
    lines = []
    for name in rows:
        cells = [f"{rows[name][m].loss[0]:.4f}, {_accuracy(rows[name][m]):.1%}" for m in names]
        lines.append([name, *cells])
    return table(["stream", *names], lines)


def _accuracy(row: Row) -> float:
    return row.metrics["accuracy"][0]
