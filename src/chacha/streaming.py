"""StreamPass over a source: example by example, or in chunks up to the next decision."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from itertools import islice
from typing import TypeVar

from chacha.data.example import Example
from chacha.drivers.base import Driver
from chacha.drivers.native import BlockProgress, NativeDriver, Status
from chacha.drivers.native_columns import native_block
from chacha.drivers.records import Chunk, ServedPredictions, Step
from chacha.errors import BadExample, ConfigError, PoolError, SourceError
from chacha.intake import Intake
from chacha.rulebook import whole_number
from chacha.sources import Bad, OnBad, Skipped, Source, check_ends, good_examples, is_table
from chacha.sources.base import good_example
from chacha.sources.formats.vw_file import vw_row
from chacha.sources.tables.blocks import TableBlock, TextBlock, blocks_of

__all__ = ["StreamPass"]

FAR = 1 << 62
T = TypeVar("T")


class StreamPass:
    """One pass over a source: what is bad is counted or an error, the rest is learned.

    `intake` makes of an example what the learner takes, or refuses it. `limit` counts the
    examples of this pass. A stretch never goes beyond the count of examples that `until` gives.
    """

    def __init__(
        self,
        driver: Driver,
        source: Source,
        skipped: Skipped,
        intake: Intake,
        on_bad: OnBad | None = None,
        limit: int | None = None,
        until: Callable[[], int] = lambda: FAR,
    ) -> None:
        check_ends(source, limit)
        if on_bad is None:
            on_bad = OnBad.SKIP if source.endless else OnBad.ERROR
        if not isinstance(on_bad, OnBad):
            raise ConfigError(f"on_bad must be OnBad.ERROR or OnBad.SKIP, got {on_bad!r}")
        self.driver, self.source = driver, source
        self.on_bad, self.skipped, self.prepare = on_bad, skipped, intake.prepare
        self.in_blocks, self.until = intake.in_blocks, until
        self._left = FAR if limit is None else whole_number("limit", limit, 0)

    def steps(self) -> Iterator[Step]:
        """One step for every example."""
        yield from self._with_end(self._steps())

    def chunks(self, record: bool = False) -> Iterator[Chunk]:
        """Many examples at a time where pool and source can; with `record`, what was served."""
        if isinstance(self.driver, NativeDriver) and self.in_blocks:
            yield from self._with_end(self._blocks(self.driver, record))
        else:
            yield from self._with_end(_stretch(step, record) for step in self._steps())

    def _with_end(self, items: Iterator[T]) -> Iterator[T]:
        """The items; an error if there was nothing to learn from."""
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
        for example in islice(usable, None if self._left == FAR else self._left):
            self._look()
            yield self.driver.learn(example)

    def _look(self) -> None:
        """Rows of tables have columns that something may be derived from."""
        if is_table(self.source):
            self.driver.derive_from_here()

    def _blocks(self, driver: NativeDriver, record: bool) -> Iterator[Chunk]:
        driver.record(record)
        if self._left <= 0:
            return
        for item in blocks_of(self.source):
            self._look()
            if isinstance(item, TextBlock):
                yield from self._text(driver, item, record)
            elif isinstance(item, TableBlock):
                yield from self._columns(driver, item, record)
            else:
                yield from self._row(item, record)
            if self._left <= 0:
                return

    def _room(self, driver: NativeDriver) -> int:
        """How many examples may be learned at once."""
        return max(1, min(self._left, self.until() - driver.engine.t))

    def _took(self, driver: NativeDriver, advance: BlockProgress) -> Iterator[Chunk]:
        """Tell what was learned; then raise what has waited for that."""
        self._left -= advance.examples
        if advance.examples or advance.decisions:
            yield Chunk(advance.examples, advance.decisions, advance.served)
        driver.raise_failures()
        if advance.interrupted:
            raise KeyboardInterrupt

    def _row(self, row: Example | Bad, record: bool) -> Iterator[Chunk]:
        """A row that comes by itself."""
        example = good_example(row, self.source.name, self.on_bad, self.skipped, self.prepare)
        if example is not None:
            self._left -= 1
            yield _stretch(self.driver.learn(example), record)

    def _text(self, driver: NativeDriver, block: TextBlock, record: bool) -> Iterator[Chunk]:
        at = block.begin
        while at < block.end and self._left > 0:
            try:
                advance = driver.advance_text(block.data, at, block.end, self._room(driver))
            except ValueError:  # too large; learned by itself, it tells where it stands
                advance = BlockProgress(Status.BAD, at, 0, [], None, False)
            at = advance.at
            block.lines += advance.examples
            yield from self._took(driver, advance)
            if advance.status is Status.BAD and self._left > 0:
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
                advance = driver.advance_columns(native, row, stop, self._room(driver))
            except ValueError as error:
                raise PoolError(f"{block.place(row)}: {error}") from error
            row = advance.at
            block.on_taken(row, True)
            if advance.served is not None and block.tags is not None:
                advance = advance._replace(
                    served=advance.served._replace(tags=block.tags[before:row])
                )
            yield from self._took(driver, advance)
            if advance.status is Status.BAD and self._left > 0:
                block.on_taken(row + 1, False)
                yield from self._row(_bad_label(block, row, self.prepare), record)
                row += 1


def _bad_label(block: TableBlock, row: int, prepare: Callable[[Example], Example]) -> Bad:
    """Why the label of a row was refused."""
    label = float(block.labels[row])
    try:
        prepare(Example({}, "|", label, head=f"{label} "))
    except BadExample as error:
        return Bad(block.label_place(row), error.reason, str(error))
    return Bad(block.label_place(row), "label refused", f"the label {label} was refused")


def _stretch(step: Step, record: bool) -> Chunk:
    served = None
    if record:
        label = step.example.label or 0.0
        served = ServedPredictions([step.prediction], [label], [step.served_by], [step.example.tag])
    return Chunk(1, step.decisions, served)
