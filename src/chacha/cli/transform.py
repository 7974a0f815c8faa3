"""`chacha transform`: a stream as text on which VW is the champion of a run."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer

from chacha.cli.convert import write_examples
from chacha.cli.flags import (
    FormatFlag,
    LimitFlag,
    OnBadFlag,
    SourceArgument,
    output_option,
    takes_table,
)
from chacha.cli.outputs import distinct
from chacha.drivers.records import derived_names
from chacha.errors import ConfigError
from chacha.export.feature_file import features_path
from chacha.export.transform import Transform
from chacha.losses import loss_of
from chacha.source_profile import with_log_target
from chacha.sources import LogTarget, OnBad, TableSpec, open_files
from chacha.sources.base import Unlabelled

__all__ = ["transform"]

UNPACK = {".zst": "zstd -dc", ".bz2": "bzip2 -dc", ".lz4": "lz4 -dc"}  # VW reads .gz by itself


@takes_table
def transform(
    source: SourceArgument,
    table: TableSpec,
    log_target: LogTarget,
    model: Annotated[
        str, typer.Option("--model", "-m", metavar="FILE", help="What `run --to-vw` wrote.")
    ],
    output: Annotated[str, output_option(".vw (also .vw.gz, ...)")],
    limit: LimitFlag = None,
    form: FormatFlag = None,
    on_bad: OnBadFlag = None,
) -> None:
    """Write the stream as VW text with the champion's derived groups, for VW itself."""
    distinct([*source, model, features_path(model)], output=output)
    if output.lower().endswith(".parquet"):
        raise ConfigError(f"{output}: VW does not read Parquet; choose .vw (also .gz, ...) or -")
    made = Transform.load(model)
    loss = loss_of(made.config.values)
    stream = open_files(source, table, made.reader, form=form)
    stream = with_log_target(stream, log_target, loss=loss, on_bad=OnBad.SKIP)
    write_examples(Unlabelled(stream), output, limit, on_bad, made.example)
    for line in _told(made, model, output):
        print(line, file=sys.stderr)


def _told(made: Transform, model: str, output: str) -> list[str]:
    """What to do with the text."""
    lines: list[str] = []
    if made.empty:
        told = f"{model}: no derived group in its products, no {features_path(model)} beside it"
        lines.append(f"{told}: there is nothing to derive, the text is plain")
    if made.changed:
        told = f"{model} is not the file that {features_path(model)} was written with"
        lines.append(f"note: {told}; that is fine if VW has gone on with it")
    command, data = "vw", f" -d {shlex.quote(output)}"
    if output == "-":
        data = ""
    elif unpack := UNPACK.get(Path(output).suffix.lower()):
        command, data = f"{unpack} {shlex.quote(output)} | vw", ""
    names = derived_names(made.config)
    args = f" {made.config.vw_args()}".rstrip()
    comment = f"  # {', '.join(names)}" if names else ""
    return [
        *lines,
        f"to predict: {command} -t -i {shlex.quote(model)}{data} -p predictions.txt",
        f"to learn anew: {command}{data}{args}{comment}",
    ]
