"""`chacha run`: tune while passing over a stream."""

from __future__ import annotations

import math
import resource
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from os.path import exists
from typing import Annotated, Any

import typer

import chacha
from chacha.cli.dry_run import show_source
from chacha.cli.flags import (
    BudgetFlag,
    FeaturesFlag,
    FormatFlag,
    InitFlag,
    LimitFlag,
    LossFlag,
    OnBadFlag,
    PoolFlag,
    SourceArgument,
    TuneFlag,
    with_table_flags,
)
from chacha.cli.outputs import RunOutputs, check_distinct, check_folder
from chacha.cli.parse import RulebookName, parse_init, parse_space
from chacha.cli.terminal import RunDisplay
from chacha.config.describe import describe
from chacha.drivers.records import Chunk, logarithm_of
from chacha.errors import ConfigError, PoolError
from chacha.export.feature_file import features_path
from chacha.interrupts import Uninterrupted
from chacha.losses import loss_named
from chacha.model import ChaCha
from chacha.pools import open_pool
from chacha.progress import Spacing
from chacha.resources import cpu_seconds
from chacha.rules.contest import ContestRules, Scaling
from chacha.source_profile import with_log_target
from chacha.sources import (
    DictReader,
    Format,
    LogLabels,
    LogTarget,
    OnBad,
    Source,
    TableSpec,
    open_files,
)
from chacha.tasks import task_of

__all__ = ["run"]


def _preset(rules: RulebookName, scaling: Scaling | None) -> Callable[..., ChaCha]:
    """Return the function that makes a model with these rules."""
    presets: dict[RulebookName, Callable[..., ChaCha]] = {
        RulebookName.CHACHA: partial(ChaCha, rules=ContestRules(scaling=scaling)),
        RulebookName.PAPER: ChaCha.paper,
        RulebookName.FLAML: ChaCha.flaml,
    }
    return presets[rules]


@with_table_flags
def run(
    source: SourceArgument,
    table: TableSpec,
    log_target: LogTarget,
    scaling: Scaling | None,
    budget: BudgetFlag = 5,
    tune: TuneFlag = None,
    features: FeaturesFlag = None,
    init: InitFlag = None,
    rules: Annotated[RulebookName, typer.Option(help="The rules.")] = RulebookName.CHACHA,
    pool: PoolFlag = "native",
    loss: LossFlag = "squared",
    seed: Annotated[int, typer.Option(help="Seeds the rules.")] = 0,
    limit: LimitFlag = None,
    form: FormatFlag = None,
    on_bad: OnBadFlag = None,
    spacing: Annotated[
        str,
        typer.Option(
            "--progress",
            "-P",
            help="Rows of the table: every N examples, or at each growth by a factor X.Y.",
        ),
    ] = "2.0",
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print how the source is interpreted, and exit.")
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No table, no summary.")] = False,
    baseline: Annotated[
        bool, typer.Option("--baseline", help="Also run the initial configuration alone.")
    ] = False,
    predictions: Annotated[
        str | None, typer.Option(metavar="FILE", help=".jsonl, .parquet, .txt, or - for stdout.")
    ] = None,
    save_decisions: Annotated[
        str | None, typer.Option(metavar="FILE", help="Every decision, for `chacha explain`.")
    ] = None,
    to_vw: Annotated[
        str | None, typer.Option(metavar="FILE", help="The champion as a VW model, for `vw -i`.")
    ] = None,
    json: Annotated[
        str | None, typer.Option("--json", metavar="FILE", help="The result; - for stdout.")
    ] = None,
) -> None:
    """Tune while passing over a stream, and serve a prediction for every example."""
    paths = {"json": json, "predictions": predictions, "save_decisions": save_decisions}
    _check_outputs(source, to_vw, paths)
    task = task_of(loss_named(loss))
    if dry_run:
        show_source(open_files(source, table, DictReader(task.learner_label), form=form))
        return
    try:
        model = _preset(rules, scaling)(
            budget=budget,
            pool=(live_pool := open_pool(pool)),
            space=parse_space(tune, rules, live_pool, features),
            init=parse_init(init or []),
            loss=task.loss_function,
            seed=seed,
            baseline=baseline,
        )
    except PoolError as error:  # the initial configuration is part of the command line
        raise ConfigError(str(error)) from error
    settings = {
        **model.settings,
        "rules": rules.value,
        "limit": limit,
        "on_bad": on_bad and on_bad.value,
        "log_target": log_target.value,
        "baseline": baseline,
        "table": describe(table.explicit()),
    }
    display = RunDisplay(model, Spacing(spacing), quiet)
    stream = _open(model, source, table, form, log_target, on_bad)
    settings["log_shift"] = stream.shift if isinstance(stream, LogLabels) else None
    chunks = model.chunks(
        stream,
        limit=limit,
        on_bad=on_bad,
        until=display.table.next_row,
        record=predictions is not None,
    )
    about = {"source": stream.name, "version": chacha.__version__, "settings": settings}
    outputs = RunOutputs(predictions, save_decisions, json, about)
    if to_vw is not None:
        outputs.at_end(lambda failed: _write_vw(model, to_vw, display, failed))
    if not _follow(chunks, model, display, outputs, about):
        display.print_line(f"interrupted after {model.examples} examples")
        raise typer.Exit(1)


def _check_outputs(source: list[str], to_vw: str | None, paths: Mapping[str, str | None]) -> None:
    """Raise an error if outputs cannot be written, or would be written over something."""
    for place in (to_vw, to_vw and features_path(to_vw)):
        check_distinct(source, **paths, to_vw=place)
    check_folder(to_vw)


def _open(
    model: ChaCha,
    names: list[str],
    table: TableSpec,
    form: Format | None,
    log_target: LogTarget,
    on_bad: OnBad | None,
) -> Source:
    try:
        stream = open_files(names, table, model.reader, form=form)
        return with_log_target(stream, log_target, loss=model.loss_function, on_bad=on_bad)
    except KeyboardInterrupt:  # while waiting for the first line
        raise typer.Exit(1) from None


def _follow(
    chunks: Iterator[Chunk],
    model: ChaCha,
    display: RunDisplay,
    outputs: RunOutputs,
    about: dict[str, Any],
) -> bool:
    """Pass over the stream; return False if Ctrl-C ended it.

    After Ctrl-C or an error, the results so far are still shown and written.
    """
    began, cpu, failed = time.perf_counter(), cpu_seconds(), True
    try:
        with display:
            for chunk in chunks:
                with Uninterrupted():  # a chunk is written completely or not at all
                    outputs.write_chunk(chunk)
                    display.update()
        failed = False
    except KeyboardInterrupt:
        failed = False
        return False
    finally:
        display.finish()
        result = _result(model, about, time.perf_counter() - began, cpu_seconds() - cpu)
        outputs.finish(result, failed)
    return True


def _write_vw(model: ChaCha, path: str, display: RunDisplay, failed: bool) -> None:
    """Write the champion, and say in which respects the file is not the champion.

    A run that failed, or that has learned nothing, leaves an older file as it is.
    """
    if (failed or model.examples == 0) and exists(path):
        reason = "the run failed" if failed else "nothing was learned"
        display.print_line(f"{path} stays as it was: {reason}")
        return
    model.to_vw(path)
    label_map = model.summary().label_map
    if logarithm := logarithm_of(label_map):
        display.print_line(
            f"{path} predicts {logarithm}, as the champion learns it; chacha transform writes "
            "such labels"
        )
    if label_map is not None and label_map.shift and model.champion.values.get("l2"):
        display.print_line(
            f"{path} goes on learning without l2, which would pull its constant to 0, away from "
            f"the labels around {label_map.shift:g}"
        )


def _result(model: ChaCha, about: dict[str, Any], seconds: float, cpu: float) -> dict[str, Any]:
    """Return the object that --json writes."""
    summary = model.summary()
    rss = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    result = {
        "source": about["source"],
        "examples": summary.examples,
        "skipped": sum(summary.skipped.values()),
        "skipped_by_reason": summary.skipped,
        "first_skipped": summary.first_skipped,
        "loss": _finite(summary.loss),
        "loss_name": summary.loss_name,
        "mean_loss": _finite(summary.mean_loss),
        "r2": _finite(summary.r2),
        "metrics": {key: _finite(value) for key, value in summary.metrics.items()},
        "champion": str(summary.champion),
        "config": summary.champion.to_json(),
        "vw_args": summary.vw_args,
        "same_as": summary.same_as,
        "label_shift": summary.label_shift,
        "label_scale": summary.label_scale,
        "label_low": summary.label_low,
        "label_unit": summary.label_unit,
        "decisions": summary.decisions,
        "promotions": summary.promotions,
        "seconds": seconds,
        "cpu_seconds": cpu,
        "peak_rss_mb": rss / (1 << 20 if sys.platform == "darwin" else 1 << 10),
        "settings": about["settings"],
        "version": about["version"],
    }
    if summary.baseline_loss is not None:
        result["baseline_loss"] = _finite(summary.baseline_loss)
        result["baseline_r2"] = _finite(summary.baseline_r2)
    return result


def _finite(value: float | None) -> float | None:
    """Return None for values that JSON cannot hold."""
    return value if value is not None and math.isfinite(value) else None
