"""One pass over a source: example by example, or in chunks up to the next decision."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from itertools import islice
from typing import TypeVar

from chacha.config.arguments import whole_number
from chacha.data.example import Example
from chacha.drivers.base import Driver
from chacha.drivers.native import BlockProgress, NativeDriver, Status
from chacha.drivers.native_columns import native_block
from chacha.drivers.records import Chunk, ServedPredictions, Step
from chacha.errors import BadExample, ConfigError, PoolError, SourceError
from chacha.intake import Intake
from chacha.sources import Bad, OnBad, Skipped, Source, check_ends, good_examples, is_table
from chacha.sources.base import good_example
from chacha.sources.formats.vw_file import vw_row
from chacha.sources.tables.blocks import TableBlock, TextBlock, blocks_of

__all__ = ["NO_LIMIT", "StreamPass"]

NO_LIMIT = 1 << 62
T = TypeVar("T")


class StreamPass:
    """One pass over a source: good examples are learned, bad ones are counted or an error.

    `intake` prepares examples for the learner, or refuses them. `limit` counts the examples of
    this pass. A chunk never extends beyond the total count of examples that `until` returns.
    """

    def __init__(
        self,
        driver: Driver,
        source: Source,
        skipped: Skipped,
        intake: Intake,
        on_bad: OnBad | None = None,
        limit: int | None = None,
        until: Callable[[], int] = lambda: NO_LIMIT,
    ) -> None:
        check_ends(source, limit)
        if on_bad is None:
            on_bad = OnBad.SKIP if source.endless else OnBad.ERROR
        if not isinstance(on_bad, OnBad):
            raise ConfigError(f"on_bad must be OnBad.ERROR or OnBad.SKIP, got {on_bad!r}")
        self.driver, self.source = driver, source
        self.on_bad, self.skipped, self.prepare = on_bad, skipped, intake.prepare
        self.in_blocks, self.until = intake.in_blocks, until
        self._left = NO_LIMIT if limit is None else whole_number("limit", limit, 0)

    def steps(self) -> Iterator[Step]:
        """Learn the source, and yield a step for each example."""
        yield from self._not_empty(self._steps())

    def chunks(self, record: bool = False) -> Iterator[Chunk]:
        """Learn the source, many examples at a time where pool and source allow it.

        With `record`, the chunks hold the served predictions.
        """
        if isinstance(self.driver, NativeDriver) and self.in_blocks:
            yield from self._not_empty(self._blocks(self.driver, record))
        else:
            yield from self._not_empty(_chunk(step, record) for step in self._steps())

    def _not_empty(self, items: Iterator[T]) -> Iterator[T]:
        """Yield the items; raise an error if the source had nothing to learn from."""
        before, wanted, learned = Counter(self.skipped), self._left, False
        for item in items:
            learned = True
            yield item
        if not learned and wanted > 0:
            skipped = (Counter(self.skipped) - before).items()
            reasons = ", ".join(f"{count} {reason}" for reason, count in skipped)
            rest = f"skipped: {reasons}" if reasons else "there is nothing to learn from"
            raise SourceError(f"{self.source.name}: no examples in it; {rest}")

    def _steps(self) -> Iterator[Step]:
        usable = good_examples(self.source, self.on_bad, self.skipped, self.prepare)
        for example in islice(usable, None if self._left == NO_LIMIT else self._left):
            with self.driver.lock:
                self._start_columns()
                step = self.driver.learn(example)
            yield step

    def _start_columns(self) -> None:
        """Rows of tables have columns that groups can be derived from."""
        if is_table(self.source):
            self.driver.start_columns()

    def _blocks(self, driver: NativeDriver, record: bool) -> Iterator[Chunk]:
        if self._left <= 0:
            return
        for item in blocks_of(self.source):
            with driver.lock:
                self._start_columns()
            if isinstance(item, TextBlock):
                yield from self._text(driver, item, record)
            elif isinstance(item, TableBlock):
                yield from self._columns(driver, item, record)
            else:
                yield from self._row(item, record)
            if self._left <= 0:
                return

    def _room(self, driver: NativeDriver) -> int:
        """Return how many examples may be learned in one call."""
        return max(1, min(self._left, self.until() - driver.engine.t))

    def _report(self, driver: NativeDriver, progress: BlockProgress) -> Iterator[Chunk]:
        """Yield what was learned; then raise pending failures and interrupts."""
        self._left -= progress.examples
        try:
            if progress.examples or progress.decisions:
                yield Chunk(progress.examples, progress.decisions, progress.served)
            driver.raise_failures()
        finally:  # also if nobody wants the rest of the stream
            if progress.signals is not None:
                progress.signals.deliver()

    def _row(self, row: Example | Bad, record: bool) -> Iterator[Chunk]:
        """Learn a single row."""
        example = good_example(row, self.source.name, self.on_bad, self.skipped, self.prepare)
        if example is not None:
            self._left -= 1
            with self.driver.lock:
                step = self.driver.learn(example)
            yield _chunk(step, record)

    def _text(self, driver: NativeDriver, block: TextBlock, record: bool) -> Iterator[Chunk]:
        at = block.begin
        while at < block.end and self._left > 0:
            try:
                with driver.lock:
                    driver.record(record)  # another pass may not want it
                    progress = driver.advance_text(block.data, at, block.end, self._room(driver))
            except ValueError:  # too large; as a single row, its error names the place
                progress = BlockProgress(Status.BAD, at, 0, [], None)
            at = progress.at
            block.lines += progress.examples
            yield from self._report(driver, progress)
            if progress.status is Status.BAD and self._left > 0:
                line, at = block.line(at)
                row = vw_row(line, block.place)
                block.lines += 1
                yield from self._row(row, record)

    def _columns(self, driver: NativeDriver, block: TableBlock, record: bool) -> Iterator[Chunk]:
        native = native_block(block)
        row, rows = 0, len(block.labels)
        stops = iter([*sorted(block.bad), rows])
        stop = next(stops)
        while row < rows and self._left > 0:
            if row == stop:
                block.on_taken(row + 1, False)
                yield from self._row(block.bad[row], record)
                row, stop = row + 1, next(stops)
                continue
            before = row
            block.on_taken(row, True)
            try:
                with driver.lock:
                    driver.record(record)  # another pass may not want it
                    progress = driver.advance_columns(native, row, stop, self._room(driver))
            except ValueError as error:
                raise PoolError(f"{block.place(row)}: {error}") from error
            row = progress.at
            block.on_taken(row, True)
            if progress.served is not None and block.tags is not None:
                progress = progress._replace(
                    served=progress.served._replace(tags=block.tags[before:row])
                )
            yield from self._report(driver, progress)
            if progress.status is Status.BAD and self._left > 0:
                block.on_taken(row + 1, False)
                yield from self._row(_bad_label(block, row, self.prepare), record)
                row += 1


def _bad_label(block: TableBlock, row: int, prepare: Callable[[Example], Example]) -> Bad:
    """Return why the label of a row was refused."""
    label = float(block.labels[row])
    try:
        prepare(Example({}, "|", label, head=f"{label} "))
    except BadExample as error:
        return Bad(block.label_place(row), error.reason, str(error))
    return Bad(block.label_place(row), "label refused", f"the label {label} was refused")


def _chunk(step: Step, record: bool) -> Chunk:
    served = None
    if record:
        label = step.example.label or 0.0
        served = ServedPredictions([step.prediction], [label], [step.served_by], [step.example.tag])
    return Chunk(1, step.decisions, served)
