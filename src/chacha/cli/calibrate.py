"""`chacha calibrate`: the false-promotion rate on a given stream."""

from __future__ import annotations

import os
from typing import Annotated

import typer
from rich.progress import Progress

from chacha.cli.flags import (
    BudgetFlag,
    FeaturesFlag,
    FormatFlag,
    InitFlag,
    LimitFlag,
    LossFlag,
    OnBadFlag,
    PoolFlag,
    TuneFlag,
    with_table_flags,
)
from chacha.cli.outputs import JsonResult, check_distinct
from chacha.cli.parse import RulebookName, parse_init, parse_space
from chacha.cli.terminal import MessageConsole
from chacha.compare import CalibrationStudy, CommonSettings, Stream
from chacha.losses import loss_named
from chacha.pools import open_pool
from chacha.resources import cores
from chacha.rules.contest.betting import PairedBernstein, PairedBetting
from chacha.rules.contest.scaling import Scaling
from chacha.sources import LogTarget, TableSpec

__all__ = ["calibrate"]


@with_table_flags
def calibrate(
    source: Annotated[str, typer.Argument(metavar="SOURCE", help="As for run, but not stdin.")],
    table: TableSpec,
    log_target: LogTarget,
    scaling: Scaling | None,
    runs: Annotated[int, typer.Option(min=1, help="The number of runs.")] = 400,
    block: Annotated[int, typer.Option(min=1, help="Examples for each toss of the coin.")] = 10,
    alpha: Annotated[float, typer.Option(help="The error level of the rules.")] = 0.05,
    bernstein: Annotated[
        bool,
        typer.Option("--bernstein", help="Use the empirical Bernstein test instead of betting."),
    ] = False,
    seed: Annotated[int, typer.Option(min=0, help="The seed of the first coin.")] = 0,
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
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress.")] = False,
    json: Annotated[
        str | None, typer.Option("--json", metavar="FILE", help="The result; - for stdout.")
    ] = None,
) -> None:
    """Measure how often the rules promote a challenger that is no better, on SOURCE.

    Challengers run as usual, but a coin decides for every block of examples who is ahead. So no
    challenger is better, and every promotion is a mistake.
    """
    check_distinct([source] if os.path.exists(source) else [], json=json)
    space = parse_space(tune, RulebookName.CHACHA, open_pool(pool), features)
    first, reported = parse_init(init or []), loss_named(loss)
    study = CalibrationStudy(
        Stream(source, table, form, log_target, on_bad, limit),
        settings=CommonSettings(budget, space, first, reported, pool, scaling=scaling),
        evidence=(PairedBernstein if bernstein else PairedBetting)(alpha=alpha),
        runs=runs,
        block=block,
        seed=seed,
        workers=jobs or cores(),
    )
    result = JsonResult(json)
    console = MessageConsole(stderr=True, quiet=quiet)
    bar = Progress(console=console, disable=not console.is_terminal, transient=True)
    task = bar.add_task(f"{runs} runs", total=1.0)
    try:
        with bar:
            for share in study.run():
                bar.update(task, completed=share)
    except KeyboardInterrupt:
        console.print("interrupted; there is no rate, because not all runs ended")
        raise typer.Exit(1) from None
    calibration = study.result
    assert calibration is not None
    result.write({"source": source, **calibration.to_json()})
    if json != "-":
        print(f"{source}: {calibration.examples} examples, blocks of {block}")
        print(calibration)
