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
    with_table_flags,
)
from chacha.cli.outputs import JsonResult, check_distinct
from chacha.cli.parse import default_tune, parse_features, parse_init, parse_tune
from chacha.cli.terminal import MessageConsole
from chacha.compare import METHODS, CommonSettings, Comparison, Stream, Study, method_scores
from chacha.compare.methods import FLOOR
from chacha.compare.result_cache import default_cache_dir
from chacha.compare.scores import table_lines, to_json
from chacha.config.describe import describe
from chacha.config.space import Space
from chacha.errors import ConfigError, PoolError
from chacha.losses import loss_named
from chacha.pools import LivePool, open_pool
from chacha.resources import cores
from chacha.rules.contest.scaling import Scaling
from chacha.sources import LogTarget, TableSpec

__all__ = ["compare"]

DEFAULT = "naive,chacha,paper,all-pairs,best-fixed"
REPORTS = (".html", ".svg", ".png", ".pdf")


@with_table_flags
def compare(
    source: StreamsArgument,
    table: TableSpec,
    log_target: LogTarget,
    scaling: Scaling | None,
    methods: Annotated[
        str,
        typer.Option(
            "--methods",
            "-m",
            help=f"Comma list of {', '.join(METHODS)}, river:NAME; {FLOOR} is always run.",
        ),
    ] = DEFAULT,
    seeds: Annotated[int, typer.Option(min=1, help="The number of seeds.")] = 5,
    seed: Annotated[int, typer.Option(min=0, help="The first seed.")] = 0,
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
        int | None, typer.Option(min=1, help="Parallel processes.", show_default="the cores")
    ] = None,
    cache: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="The cache of results.", show_default="the user's cache"),
    ] = None,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Repeat all runs; do not read the cache.")
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
    """Run methods side by side on every SOURCE, and report the loss of each.

    Results are cached: after an interruption, the same command continues.
    """
    check_distinct([name for name in source if os.path.exists(name)], report=report, json=json)
    write_report = _reporter(report)
    try:
        space = _space(tune, features, open_pool(pool))
        first, reported = parse_init(init or []), loss_named(loss)
        settings = CommonSettings(budget, space, first, reported, pool, scaling=scaling)
        study = Study(
            [Stream(name, table, form, log_target, on_bad, limit) for name in source],
            _method_names(methods),
            seeds,
            first_seed=seed,
            settings=settings,
            cache_dir=cache or default_cache_dir(),
            workers=jobs or cores(),
            fresh=fresh,
        )
    except PoolError as error:  # the initial configuration is part of the command line
        raise ConfigError(str(error)) from error
    result = JsonResult(json)
    if report is not None:
        Path(report).open("ab").close()  # an unwritable path fails before anything runs
    console = MessageConsole(stderr=True, quiet=quiet)
    _follow(study, console)
    comparison = study.result
    result.write({name: to_json(method_scores(comparison.outcomes[name])) for name in source})
    if write_report is not None:
        about = {
            "seeds": seeds,
            "first_seed": seed,
            "settings": settings.to_json(),
            "table": describe(table),
            "limit": limit,
            "version": chacha.__version__,
            "log_target": log_target.value,
        }
        write_report(report, comparison, about)
    if not quiet:
        _print(comparison, sys.stderr if json == "-" else sys.stdout)
    for failure in comparison.failures:
        print(f"chacha: {failure}", file=sys.stderr)
    if comparison.failures:
        raise typer.Exit(1)


def _method_names(text: str) -> list[str]:
    """Return the methods of a comma list; the floor comes first where it is not named."""
    names = [word.strip() for word in text.split(",") if word.strip()]
    return [FLOOR, *names] if names and FLOOR not in names else names


def _space(tune: str | None, features: str | None, pool: LivePool) -> Space:
    """Return the space, with the authors' range of rates; the method `chacha` widens it."""
    space = Space.of(parse_tune(tune or default_tune(pool, features)))
    if space.features is None:
        if features is not None:
            raise ConfigError("--features needs --tune with features")
        return space
    on_request = tune is not None or features is not None
    return replace(space, features=parse_features(features, text=on_request))


def _reporter(path: str | None) -> Any:
    """Return the function that writes the report; raise MissingExtra before anything runs."""
    if path is None:
        return None
    if Path(path).suffix not in REPORTS:
        raise ConfigError(f"--report {path}: choose one of {', '.join(REPORTS)}")
    return import_module("chacha.compare.html_report").write_report


def _follow(study: Study, console: MessageConsole) -> None:
    """Run the study with a bar and the time left; a log gets a line for each stream."""
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
                bar.update(task, description=at.phase, completed=at.done, total=at.total)
                if at.finished_stream and not console.is_terminal:
                    line = f"{at.finished_stream}: done ({at.done / at.total:.0%} of all)"
                    console.print(line, highlight=False)
    except KeyboardInterrupt:
        console.print("interrupted; finished runs are cached, the same command goes on from there")
        raise typer.Exit(1) from None


def _print(comparison: Comparison, file: Any) -> None:
    for name, outcomes in comparison.outcomes.items():
        if outcomes:
            examples = next(iter(outcomes.values()))[0].examples
            print(f"\n{name}: {examples} examples", file=file)
            for line in table_lines(method_scores(outcomes)):
                print(f"  {line}", file=file)
