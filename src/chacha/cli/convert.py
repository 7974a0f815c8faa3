"""`chacha convert`: the examples that `run` would read, in a file."""

from __future__ import annotations

import sys
from collections.abc import Callable
from itertools import islice
from typing import Annotated

from chacha.cli.flags import (
    FormatFlag,
    LimitFlag,
    OnBadFlag,
    SourceArgument,
    output_option,
    with_table_flags,
)
from chacha.cli.outputs import check_distinct
from chacha.data.example import Example
from chacha.errors import SourceError
from chacha.source_profile import with_log_target
from chacha.sources import (
    LogTarget,
    OnBad,
    Skipped,
    Source,
    TableSpec,
    check_ends,
    good_examples,
    open_files,
)
from chacha.sources.writers import open_writer

__all__ = ["convert", "write_examples"]


@with_table_flags
def convert(
    source: SourceArgument,
    table: TableSpec,
    log_target: LogTarget,
    output: Annotated[str, output_option(".vw (also .vw.gz, ...), .parquet")],
    limit: LimitFlag = None,
    form: FormatFlag = None,
    on_bad: OnBadFlag = None,
) -> None:
    """Write the examples that `run` would read, as VW text or Parquet."""
    check_distinct(source, output=output)
    stream = with_log_target(open_files(source, table, form=form), log_target, on_bad=on_bad)
    write_examples(stream, output, limit, on_bad)


def write_examples(
    stream: Source,
    output: str,
    limit: int | None,
    on_bad: OnBad | None,
    prepare: Callable[[Example], Example] = lambda example: example,
) -> None:
    """Write the examples of a source, each after `prepare`, and print how many there were."""
    check_ends(stream, limit)
    if on_bad is None:
        on_bad = OnBad.SKIP if stream.endless else OnBad.ERROR
    skipped = Skipped()
    written = 0
    writer = open_writer(output)
    try:
        for example in islice(good_examples(stream, on_bad, skipped, prepare), limit):
            writer.write(example)
            written += 1
    finally:
        writer.close()
        print(f"{written} examples written", file=sys.stderr)
        for reason, count in skipped.items():
            print(f"skipped: {count} {reason}; first: {skipped.first[reason]}", file=sys.stderr)
    if not written:
        raise SourceError(f"{stream.name}: no examples in it")
