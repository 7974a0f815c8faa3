"""`chacha transform`: a stream as text on which VW predicts like the champion of a run."""

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
    with_table_flags,
)
from chacha.cli.outputs import check_distinct
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


@with_table_flags
def transform(
    source: SourceArgument,
    table: TableSpec,
    log_target: LogTarget,
    model: Annotated[
        str, typer.Option("--model", "-m", metavar="FILE", help="A model that `run --to-vw` wrote.")
    ],
    output: Annotated[str, output_option(".vw (also .vw.gz, ...)")],
    limit: LimitFlag = None,
    form: FormatFlag = None,
    on_bad: OnBadFlag = None,
) -> None:
    """Write the stream as VW text, as the champion learns it, for VW itself."""
    check_distinct([*source, model, features_path(model)], output=output)
    if output.lower().endswith(".parquet"):
        raise ConfigError(f"{output}: VW does not read Parquet; choose .vw (also .gz, ...) or -")
    groups = Transform.load(model)
    loss = loss_of(groups.config.values)
    stream = open_files(source, table, groups.reader, form=form)
    stream = with_log_target(stream, log_target, loss=loss, on_bad=OnBad.SKIP)
    write_examples(Unlabelled(stream), output, limit, on_bad, groups.example)
    for line in _instructions(groups, model, output):
        print(line, file=sys.stderr)


def _instructions(groups: Transform, model: str, output: str) -> list[str]:
    """Return the VW commands for the text, after notes about the model."""
    lines: list[str] = []
    if groups.empty:
        reason = f"no derived group in its products, no {features_path(model)} beside it"
        lines.append(f"{model}: {reason}: there is nothing to derive, the text is plain")
    if groups.changed:
        state = f"{model} is not the file that {features_path(model)} was written with"
        lines.append(f"note: {state}; that is fine if VW has learned more with it")
    command, data = "vw", f" -d {shlex.quote(output)}"
    if output == "-":
        data = ""
    elif unpack := UNPACK.get(Path(output).suffix.lower()):
        command, data = f"{unpack} {shlex.quote(output)} | vw", ""
    names = derived_names(groups.config)
    lines.append(f"to predict: {command} -t -i {shlex.quote(model)}{data} -p predictions.txt")
    if (args := groups.vw_args) is not None:
        comment = f"  # {', '.join(names)}" if names else ""
        lines.append(f"to learn from scratch: {command}{data} {args}".rstrip() + comment)
    return lines
