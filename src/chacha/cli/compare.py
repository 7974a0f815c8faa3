"""`chacha compare`: methods side by side."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.progress import (
    BarColumn,
    Progress,
    TaskProgressColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

import chacha
from chacha.cli.flags import (
    BudgetFlag,
    FeaturesFlag,
    FormatFlag,
    InitFlag,
    LimitFlag,
    LossFlag,
    OnBadFlag,
    PoolFlag,
    StreamsArgument,
    TuneFlag,
    takes_table,
)
from chacha.cli.outputs import JsonResult, distinct
from chacha.cli.parse import features_named, init_values, loss_named, tuned
from chacha.cli.terminal import Messages
from chacha.compare import METHODS, CommonSettings, Comparison, Stream, Study, rows_of
from chacha.compare.result_cache import default_home
from chacha.compare.scores import table_lines, to_json
from chacha.config.describe import describe
from chacha.config.space import Space
from chacha.errors import ConfigError, PoolError
from chacha.resources import cores
from chacha.sources import LogTarget, TableSpec

__all__ = ["compare"]

DEFAULT = "naive,chacha,paper,all-pairs,best-fixed"
TUNED = "interactions,learning_rate,features"
REPORTS = (".html", ".svg", ".png", ".pdf")


@takes_table
def compare(
    source: StreamsArgument,
    table: TableSpec,
    log_target: LogTarget,
    methods: Annotated[
        str,
        typer.Option("--methods", "-m", help=f"Comma list of {', '.join(METHODS)}, river:NAME."),
    ] = DEFAULT,
    seeds: Annotated[int, typer.Option(min=1, help="How many seeds.")] = 5,
    seed: Annotated[int, typer.Option(min=0, help="The first of them.")] = 0,
    budget: BudgetFlag = 5,
    tune: TuneFlag = None,
    features: FeaturesFlag = None,
    init: InitFlag = None,
    pool: PoolFlag = "native",
    loss: LossFlag = "squared",
    limit: LimitFlag = None,
    form: FormatFlag = None,
    on_bad: OnBadFlag = None,
    jobs: Annotated[
        int | None, typer.Option(min=1, help="Processes side by side.", show_default="the cores")
    ] = None,
    cache: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Where results are kept.", show_default="a user's cache"),
    ] = None,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Run all anew, whatever was kept.")
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress, no tables.")] = False,
    report: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Tables and loss curves: .html; curves: .svg .png .pdf."),
    ] = None,
    json: Annotated[
        str | None, typer.Option("--json", metavar="FILE", help="The result; - for stdout.")
    ] = None,
) -> None:
    """Run methods side by side on every SOURCE, and tell what each lost.

    What was run is kept: started again, the same command goes on.
    """
    distinct([name for name in source if os.path.exists(name)], report=report, json=json)
    write_report = _reporter(report)
    try:
        settings = CommonSettings(
            budget, _space(tune, features), init_values(init or []), loss_named(loss), pool
        )
        study = Study(
            [Stream(name, table, form, log_target, on_bad, limit) for name in source],
            [word.strip() for word in methods.split(",") if word.strip()],
            seeds,
            first_seed=seed,
            settings=settings,
            home=cache or default_home(),
            workers=jobs or cores(),
            fresh=fresh,
        )
    except PoolError as error:  # the initial configuration is part of the command line
        raise ConfigError(str(error)) from error
    result = JsonResult(json)
    if report is not None:
        Path(report).open("ab").close()  # a place that cannot be written is told now
    console = Messages(stderr=True, quiet=quiet)
    _follow(study, console)
    found = study.result
    result.write({name: to_json(rows_of(found.outcomes[name])) for name in source})
    if write_report is not None:
        told = {"seeds": seeds, "first_seed": seed, "settings": settings.to_json()}
        about = {**told, "table": describe(table), "limit": limit, "version": chacha.__version__}
        write_report(report, found, {**about, "log_target": log_target.value})
    if not quiet:
        _print(found, sys.stderr if json == "-" else sys.stdout)
    for failure in found.failures:
        print(f"chacha: {failure}", file=sys.stderr)
    if found.failures:
        raise typer.Exit(1)


def _space(tune: str | None, features: str | None) -> Space:
    """What is tuned, with the authors' range of rates; by `chacha` with its own."""
    space = Space.of(tuned(tune or TUNED))
    if space.features is None:
        if features is not None:
            raise ConfigError("--features needs --tune with features")
        return space
    asked = tune is not None or features is not None
    return replace(space, features=features_named(features, text=asked))


def _reporter(path: str | None) -> Any:
    """What writes the report; that it is missing is told before all begins."""
    if path is None:
        return None
    if Path(path).suffix not in REPORTS:
        raise ConfigError(f"--report {path}: choose one of {', '.join(REPORTS)}")
    return import_module("chacha.compare.html_report").write_report


def _follow(study: Study, console: Messages) -> None:
    """Run the study behind a bar with the time that is left; a log gets a line for each stream."""
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        console=console,
        disable=not console.is_terminal,
        transient=True,
        speed_estimate_period=120,
    )
    task = bar.add_task("reading", total=1)
    try:
        with bar:
            for at in study.run():
                bar.update(task, description=at.doing, completed=at.done, total=at.total)
                if at.stream and not console.is_terminal:
                    share = at.done / at.total
                    console.print(f"{at.stream}: done ({share:.0%} of all)", highlight=False)
    except KeyboardInterrupt:
        console.print("interrupted; what was run is kept, the same command goes on from there")
        raise typer.Exit(1) from None


def _print(found: Comparison, file: Any) -> None:
    for name, outcomes in found.outcomes.items():
        if outcomes:
            examples = next(iter(outcomes.values()))[0].examples
            print(f"\n{name}: {examples} examples", file=file)
            for line in table_lines(rows_of(outcomes)):
                print(f"  {line}", file=file)
