"""`chacha run`: tune while passing over a stream."""

from __future__ import annotations

import os
import resource
import sys
import time
from typing import Annotated, Any

import typer

import chacha
from chacha.cli.names import Rules, init_values, table_spec, tuned
from chacha.cli.outputs import DecisionLog, JsonResult, open_predictions
from chacha.cli.show import Screen
from chacha.losses import loss_named
from chacha.model import ChaCha
from chacha.pools import open_pool
from chacha.progress import Spacing
from chacha.sources import Categories, Missing, OnBad, open_source

__all__ = ["run"]

PRESETS = {Rules.PAPER: ChaCha.paper, Rules.FLAML: ChaCha.flaml}


def cpu_seconds() -> float:
    """CPU time of this process, all threads, and of its children."""
    return sum(os.times()[:4])


def run(
    source: Annotated[
        str,
        typer.Argument(help="A .vw, .csv or .tsv file (also .gz, .zst), - for stdin, synth:NAME."),
    ],
    target: Annotated[
        str | None, typer.Option(help="Tables: the column to predict.", show_default="the last")
    ] = None,
    budget: Annotated[
        int, typer.Option("--budget", "-b", help="Live models, the champion included.")
    ] = 5,
    tune: Annotated[
        str, typer.Option(help="Comma list: interactions, learning_rate, power_t, l1, l2; none.")
    ] = "interactions",
    init: Annotated[
        list[str] | None,
        typer.Option(metavar="KEY=VALUE", help="An initial or fixed value; any option of VW."),
    ] = None,
    rules: Annotated[Rules, typer.Option(help="The rulebook.")] = Rules.PAPER,
    pool: Annotated[str, typer.Option(help="Where the models live: vw, reference.")] = "vw",
    loss: Annotated[
        str, typer.Option(help="squared, logistic, quantile:TAU, poisson or hinge.")
    ] = "squared",
    seed: Annotated[int, typer.Option(help="Seeds the rules.")] = 0,
    limit: Annotated[
        int | None, typer.Option(min=1, help="Stop after so many examples.", show_default="all")
    ] = None,
    namespaces: Annotated[
        int, typer.Option(min=1, help="Tables: at most so many groups of columns, in order.")
    ] = 10,
    group: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=COL,COL", help="Tables: a group of columns; repeat it."),
    ] = None,
    group_by: Annotated[
        str | None, typer.Option(help="Tables: `column` makes each column a group.")
    ] = None,
    categories: Annotated[
        Categories, typer.Option(help="Tables: words as indicators or as codes.")
    ] = Categories.INDICATOR,
    missing: Annotated[
        Missing, typer.Option(help="Tables: what an empty cell means.")
    ] = Missing.ZERO,
    on_bad: Annotated[
        OnBad | None,
        typer.Option(help="Rows that cannot be used.", show_default="error; skip for stdin"),
    ] = None,
    spacing: Annotated[
        str, typer.Option("--progress", "-P", help="Rows of the table: every N, or times X.Y.")
    ] = "2.0",
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
    json: Annotated[
        str | None, typer.Option("--json", metavar="FILE", help="The result; - for stdout.")
    ] = None,
) -> None:
    """Tune while passing over a stream, and serve a prediction for every example."""
    table = table_spec(target, namespaces, group or [], group_by, categories, missing)
    model = PRESETS[rules](
        budget=budget,
        space=tuned(tune),
        init=init_values(init or []),
        loss=loss_named(loss),
        pool=open_pool(pool),
        seed=seed,
        baseline=baseline,
    )
    screen = Screen(model, Spacing(spacing), quiet)
    stream = open_source(source, table)
    steps = model.steps(stream, limit=limit, on_bad=on_bad)
    writer = open_predictions(predictions)
    final = JsonResult(json)
    about = {"source": stream.name, "version": chacha.__version__, "settings": model.settings}
    log = DecisionLog(save_decisions, {**about, "rules": rules.value})
    began, cpu = time.perf_counter(), cpu_seconds()
    interrupted = False
    try:
        with screen:
            for i, step in enumerate(steps):
                writer.write(i, step)
                log.write(step.decisions)
                screen.see(step)
    except KeyboardInterrupt:
        interrupted = True
    finally:  # what was learned until an error or Ctrl-C is told all the same
        result = _result(model, about, time.perf_counter() - began, cpu_seconds() - cpu)
        writer.close()
        log.close({key: result[key] for key in ("examples", "loss", "config", "promotions")})
        final.write(result)
        screen.finish()
    if interrupted:
        screen.tell(f"interrupted after {model.examples} examples")
        raise typer.Exit(1)


def _result(model: ChaCha, about: dict[str, Any], seconds: float, cpu: float) -> dict[str, Any]:
    """What --json writes."""
    summary = model.summary()
    rss = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    result = {
        "source": about["source"],
        "examples": summary.examples,
        "skipped": sum(summary.skipped.values()),
        "skipped_by_reason": summary.skipped,
        "loss": summary.loss,
        "loss_name": summary.loss_name,
        "metrics": summary.metrics,
        "champion": str(summary.champion),
        "config": summary.champion.to_json(),
        "vw_args": summary.champion.vw_args(),
        "decisions": summary.decisions,
        "promotions": summary.promotions,
        "seconds": seconds,
        "cpu_seconds": cpu,
        "peak_rss_mb": rss / (1 << 20 if sys.platform == "darwin" else 1 << 10),
        "settings": about["settings"],
        "version": about["version"],
    }
    if summary.baseline_loss is not None:
        result["baseline_loss"] = summary.baseline_loss
    return result
