"""`chacha calibrate`: the false-promotion rate on one's own stream."""

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
    takes_table,
)
from chacha.cli.outputs import JsonResult, distinct
from chacha.cli.parse import Rules, init_values, loss_named, space_of
from chacha.cli.terminal import Messages
from chacha.compare import Calibrating, CommonSettings, Stream
from chacha.resources import cores
from chacha.rules.contest.betting import PairedBernstein, PairedBetting
from chacha.sources import LogTarget, TableSpec

__all__ = ["calibrate"]


@takes_table
def calibrate(
    source: Annotated[str, typer.Argument(metavar="SOURCE", help="As for run, but not stdin.")],
    table: TableSpec,
    log_target: LogTarget,
    runs: Annotated[int, typer.Option(min=1, help="How many.")] = 400,
    block: Annotated[int, typer.Option(min=1, help="Examples for each throw of the coin.")] = 10,
    alpha: Annotated[float, typer.Option(help="The error level of the rules.")] = 0.05,
    bernstein: Annotated[
        bool, typer.Option("--bernstein", help="The empirical Bernstein test, not betting.")
    ] = False,
    seed: Annotated[int, typer.Option(min=0, help="Of the first coin.")] = 0,
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
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress.")] = False,
    json: Annotated[
        str | None, typer.Option("--json", metavar="FILE", help="The result; - for stdout.")
    ] = None,
) -> None:
    """Measure how often the rules promote a challenger that is no better, on SOURCE.

    Challengers run as usual, but who is ahead is drawn anew by a coin for every block of
    examples: then nobody is better, and every promotion is a mistake.
    """
    distinct([source] if os.path.exists(source) else [], json=json)
    space = space_of(tune, Rules.CHACHA, features)
    calibrating = Calibrating(
        Stream(source, table, form, log_target, on_bad, limit),
        settings=CommonSettings(budget, space, init_values(init or []), loss_named(loss), pool),
        evidence=(PairedBernstein if bernstein else PairedBetting)(alpha=alpha),
        runs=runs,
        block=block,
        seed=seed,
        workers=jobs or cores(),
    )
    result = JsonResult(json)
    console = Messages(stderr=True, quiet=quiet)
    bar = Progress(console=console, disable=not console.is_terminal, transient=True)
    task = bar.add_task(f"{runs} runs", total=1.0)
    try:
        with bar:
            for share in calibrating.run():
                bar.update(task, completed=share)
    except KeyboardInterrupt:
        console.print("interrupted; a rate of some of the runs is not told")
        raise typer.Exit(1) from None
    found = calibrating.result
    assert found is not None
    result.write({"source": source, **found.to_json()})
    if json != "-":
        print(f"{source}: {found.examples} examples, blocks of {block}")
        print(found)
