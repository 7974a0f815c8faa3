"""The outputs of a run: predictions, decisions and the result."""

from __future__ import annotations

import errno
import json
import os
import stat
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Any, Protocol

import pyarrow as pa
import pyarrow.parquet as pq

from chacha.drivers.records import Chunk, ServedPredictions
from chacha.errors import ConfigError
from chacha.rules.decisions import Decision
from chacha.sources.many_files import expand

__all__ = ["JsonResult", "RunOutputs", "TextOutput", "check_distinct", "check_folder"]

ROW_GROUP = 65536
END = (
    *("examples", "loss", "mean_loss", "r2", "config", "vw_args", "promotions"),
    *("same_as", "label_shift", "label_scale", "label_low", "label_unit"),
)
"""What the last line of the decisions holds of the result."""


class TextOutput:
    """A text file, or stdout for `-`; errors name the file."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._file: IO[str] = sys.stdout
        if path != "-":
            self._file = Path(path).open("w", encoding="utf-8")  # noqa: SIM115

    def write(self, text: str) -> None:
        """Write some text."""
        with self._named():
            self._file.write(text)

    def close(self) -> None:
        """Flush and close the file; stdout stays open."""
        with self._named():
            self._file.flush()
            if self._file is not sys.stdout:
                self._file.close()

    @contextmanager
    def _named(self) -> Iterator[None]:
        try:
            yield
        except BrokenPipeError:
            raise
        except OSError as error:
            raise OSError(error.errno, error.strerror, self.path) from error


class JsonResult:
    """One JSON object at the end of a run; its file is opened before the run begins."""

    def __init__(self, path: str | None) -> None:
        self._out = None if path is None else TextOutput(path)

    def write(self, data: Mapping[str, Any]) -> None:
        """Write the object and close the file."""
        if self._out is not None:
            self._out.write(json.dumps(data, indent=2) + "\n")
            self._out.close()


def check_distinct(sources: Sequence[str], **outputs: str | None) -> None:
    """Raise an error if two outputs go to one place, or one goes over a source.

    >>> check_distinct(["a.vw"], json="out.json", predictions="out.json")
    Traceback (most recent call last):
    chacha.errors.ConfigError: --predictions out.json: --json writes there too; give another file
    """
    taken: dict[Any, str] = {}
    for source in sources:
        for file in ["-"] if source == "-" else expand(source):
            taken[_identity(file, reading=True)] = "it is read from"
    for flag, path in outputs.items():
        if path is None:
            continue
        place = _identity(path)
        name = f"--{flag.replace('_', '-')}"
        if place in taken and not path.startswith("/dev/"):
            raise ConfigError(f"{name} {path}: {taken[place]} too; give another file")
        taken[place] = f"{name} writes there"


def check_folder(path: str | None) -> None:
    """Raise an error, before the run, if the folder of an output that is written last is missing.

    >>> check_folder("nowhere/champion.model")
    Traceback (most recent call last):
    FileNotFoundError: [Errno 2] No such file or directory: 'nowhere/champion.model'
    """
    if path is not None and not Path(path).absolute().parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)


def _identity(path: str, reading: bool = False) -> Any:
    """Return what a name refers to; all names and links of one file give the same."""
    try:
        if path == "-":
            status = os.fstat(0 if reading else 1)
        else:
            status = os.stat(path.removeprefix("file://"))
    except OSError:
        return os.path.realpath(path)
    if path == "-" and not stat.S_ISREG(status.st_mode):
        return path if not reading else "standard input"
    return status.st_dev, status.st_ino


class PredictionWriter(Protocol):
    """A writer of the predictions that a run served."""

    def write(self, first: int, served: ServedPredictions) -> None:
        """Write one line for every example; `first` is the number of the first example."""

    def close(self) -> None:
        """Finish the file."""


class NoPredictions:
    """A writer that discards the predictions."""

    def write(self, first: int, served: ServedPredictions) -> None:
        """Do nothing."""

    def close(self) -> None:
        """Do nothing."""


class TextPredictions:
    """Text in VW's form, `prediction tag`; with `as_json`, one object a line."""

    def __init__(self, path: str, as_json: bool) -> None:
        self._out = TextOutput(path)
        self._json = as_json

    def write(self, first: int, served: ServedPredictions) -> None:
        """Write one line for every example."""
        predictions = map(float, served.predictions)
        lines: list[str] = []
        if self._json:
            rows = zip(predictions, map(float, served.labels), served.served_by, strict=True)
            for i, (prediction, label, config) in enumerate(rows, start=first):
                row = {"i": i, "prediction": prediction, "label": label, "served_by": str(config)}
                lines.append(json.dumps(row))
        elif any(served.tags):
            pairs = zip(predictions, served.tags, strict=True)
            lines = [f"{prediction!r} {tag}".rstrip() for prediction, tag in pairs]
        else:
            lines = [repr(prediction) for prediction in predictions]
        self._out.write("\n".join(lines) + "\n")

    def close(self) -> None:
        """Flush and close the file."""
        self._out.close()


class ParquetPredictions:
    """The columns of the JSON form in Parquet, a row group at a time."""

    SCHEMA = pa.schema(
        {
            "i": pa.int64(),
            "prediction": pa.float64(),
            "label": pa.float64(),
            "served_by": pa.string(),
        }
    )

    def __init__(self, path: str) -> None:
        self._writer = pq.ParquetWriter(path, self.SCHEMA)
        self._columns: tuple[list[Any], ...] = ([], [], [], [])

    def write(self, first: int, served: ServedPredictions) -> None:
        """Write one row for every example."""
        numbers, predictions, labels, names = self._columns
        numbers += range(first, first + len(served.predictions))
        predictions += map(float, served.predictions)
        labels += map(float, served.labels)
        names += map(str, served.served_by)
        if len(numbers) >= ROW_GROUP:
            self._flush()

    def _flush(self) -> None:
        self._writer.write_table(pa.table(list(self._columns), self.SCHEMA))
        for column in self._columns:
            column.clear()

    def close(self) -> None:
        """Write the last row group and close the file."""
        self._flush()
        self._writer.close()


def open_predictions(path: str | None) -> PredictionWriter:
    """Return the writer for the suffix of `path`."""
    if path is None:
        return NoPredictions()
    suffix = ".txt" if path == "-" else Path(path).suffix
    if suffix == ".parquet":
        return ParquetPredictions(path)
    if suffix not in (".jsonl", ".txt"):
        raise ConfigError(f"--predictions {path}: choose .jsonl, .parquet, .txt or -")
    return TextPredictions(path, as_json=suffix == ".jsonl")


class DecisionLog:
    """The decisions of a run, one JSON object a line, after a line that describes the run."""

    def __init__(self, path: str | None, run: Mapping[str, Any]) -> None:
        self._out = None if path is None else TextOutput(path)
        self._write({"kind": "Run", **run})

    def _write(self, record: Mapping[str, Any]) -> None:
        if self._out is not None:
            self._out.write(json.dumps(record) + "\n")

    def write(self, decisions: Iterable[Decision]) -> None:
        """Write decisions, one line each."""
        for decision in decisions:
            self._write(decision.to_json())

    def close(self, end: Mapping[str, Any]) -> None:
        """Write the last line, which says how the run ended, and close the file."""
        self._write({"kind": "End", **end})
        if self._out is not None:
            self._out.close()


class RunOutputs:
    """Everything a run writes: predictions and decisions as they arise, the result at the end."""

    def __init__(
        self,
        predictions: str | None,
        save_decisions: str | None,
        json: str | None,
        about: Mapping[str, Any],
    ) -> None:
        self._predictions = open_predictions(predictions)
        self._result = JsonResult(json)
        self._decisions = DecisionLog(save_decisions, about)
        self._next = 0
        self._at_end: list[Callable[[bool], None]] = []

    def at_end(self, write: Callable[[bool], None]) -> None:
        """Register a function that writes another output; it is told whether the run failed."""
        self._at_end.append(write)

    def write_chunk(self, chunk: Chunk) -> None:
        """Write the predictions and decisions of one chunk."""
        if chunk.served is not None and chunk.examples:
            self._predictions.write(self._next, chunk.served)
        self._decisions.write(chunk.decisions)
        self._next += chunk.examples

    def finish(self, result: Mapping[str, Any], failed: bool) -> None:
        """Write the end of every output, even if one of them fails."""
        end = {key: result[key] for key in END}
        with ExitStack() as stack:
            stack.callback(self._predictions.close)
            stack.callback(self._decisions.close, end)
            stack.callback(self._result.write, result)
            for write in self._at_end:
                stack.callback(write, failed)
