"""Derived features: derived groups beside raw ones, River, and the best in hindsight."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import Any

from chacha import ChaCha, DerivedFeatures, Logistic, Space, TableSpec
from chacha.compare import METHODS, CommonSettings, Method, MethodScores, Stream, method_scores
from chacha.sources import Categories, LogTarget
from datasets import DataSet, find_binary
from recommended_rules import LIMIT, MAIN, MORE
from results_page import table
from tuning_tasks import BUDGET, SPACES, TaskRunner

__all__ = ["feature_values"]

TREE = "river:HoeffdingTreeRegressor"
CLASSIFIERS = ("river:LogisticRegression", "river:HoeffdingTreeClassifier", "river:ARFClassifier")
SLOW = 20_000  # rows for slow learners
SPACE = replace(SPACES["NI+LR"], features=DerivedFeatures())
Scores = Mapping[str, Mapping[str, MethodScores]]  # by data set and method


def _raw(**settings: Any) -> ChaCha:
    """Return the recommended rules with raw groups and their products only."""
    space: Space = settings["space"].with_recommended_rates()
    settings.pop("evidence", None)
    return ChaCha(**{**settings, "space": replace(space, features=None)})


RAW = Method("chacha, raw groups", "the recommended rules, nothing derived", _raw)


def feature_values(runner: TaskRunner, folder: Path | None, limit: int) -> dict[str, str]:
    """Return the tables of the page's part on features."""
    sets = [data for data in runner.sets if data.name in (*MAIN, *MORE)] or list(runner.sets)
    scores = _run(runner, sets, ("naive", RAW, METHODS["chacha"], "best-fixed", TREE), limit)
    binary = find_binary(folder) if folder is not None else []
    return {
        "feature_sets": _losses(scores),
        "feature_summary": _summary(scores),
        "feature_binary": _binary(runner, binary, min(limit, SLOW)),
    }


def _stream(data: DataSet, limit: int, log_target: LogTarget) -> Stream:
    """Return the data set as `chacha run` reads it: an indicator for every word."""
    table = TableSpec(target=data.target, categories=Categories.INDICATOR)
    return Stream(data.source, table, log_target=log_target, limit=min(limit, LIMIT))


def _run(
    runner: TaskRunner,
    sets: Sequence[DataSet],
    methods: Sequence[str | Method],
    limit: int,
    log_target: LogTarget = LogTarget.AUTO,
    **settings: Any,
) -> Scores:
    streams = {data.name: _stream(data, limit, log_target) for data in sets}
    common = CommonSettings(budget=BUDGET, space=SPACE, **settings)
    title = f"features, {limit} examples"
    outcomes = runner.study(title, list(streams.values()), methods, common, 1)
    return {
        name: method_scores(by_method)
        for name, stream in streams.items()
        if len(by_method := outcomes.get(stream.name, {})) == len(methods)
    }


def _relative(scores: Scores, name: str, method: str) -> float:
    return scores[name][method].relative or math.nan


def _mean(scores: Scores, method: str) -> float:
    """Return the geometric mean over the main data sets; over all if none of these exists."""
    names = [name for name in scores if name in MAIN] or list(scores)
    logs = [math.log(_relative(scores, name, method)) for name in names]
    return math.exp(fmean(logs)) if logs else math.nan


def _losses(scores: Scores) -> str:
    """Return the relative loss of every set."""
    methods = (RAW.name, "chacha", "best-fixed", TREE)
    lines = [[name, *(f"{_relative(scores, name, m):.3f}" for m in methods)] for name in scores]
    means = (_mean(scores, method) for method in methods)
    lines.append(["geometric mean", *(f"**{mean:.3f}**" for mean in means)])
    return table(["data set", *methods], lines)


def _summary(scores: Scores) -> str:
    """Return losses and CPU times relative to the other methods."""
    if not scores:
        return "Nothing was run."
    main = [name for name in scores if name in MAIN] or list(scores)
    better = sum(_relative(scores, n, "chacha") < _relative(scores, n, TREE) for n in main)
    worst = max((_relative(scores, name, "chacha"), name) for name in scores)
    ours = _mean(scores, "chacha")

    def cpu(method: str) -> float:
        return sum(scores[name][method].cpu_seconds for name in main)

    lines = [
        ["loss ÷ best-fixed's", f"{ours / _mean(scores, 'best-fixed'):.2f}"],
        ["loss ÷ the Hoeffding tree's", f"{ours / _mean(scores, TREE):.2f}"],
        ["loss ÷ that with raw groups", f"{ours / _mean(scores, RAW.name):.2f}"],
        ["sets on which it beats the Hoeffding tree", f"{better} of {len(main)}"],
        ["worst loss ÷ naive's, of all", f"{worst[0]:.3f} ({worst[1]})"],
        ["CPU of the Hoeffding tree ÷ ours", f"{cpu(TREE) / cpu('chacha'):.0f}"],
        ["CPU ÷ that with raw groups", f"{cpu('chacha') / cpu(RAW.name):.2f}"],
    ]
    return table(["", "chacha"], lines)


def _binary(runner: TaskRunner, sets: Sequence[DataSet], limit: int) -> str:
    """Return log loss and accuracy on streams with two classes."""
    methods = ("naive", RAW, METHODS["chacha"], *CLASSIFIERS)
    if not sets:
        return "There were no streams with two classes."
    scores = _run(runner, sets, methods, limit, LogTarget.OFF, loss=Logistic())
    if not scores:
        return "There were no streams with two classes."
    names = [m if isinstance(m, str) else m.name for m in methods]
    lines = []
    for name, by_method in scores.items():
        each = [by_method[method] for method in names]
        cells = [f"{one.loss[0]:.4f}, {one.metrics['accuracy'][0]:.1%}" for one in each]
        lines.append([name, *cells])
    return table(["stream", *names], lines)
