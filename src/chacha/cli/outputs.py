"""What a run writes: predictions and decisions, as they happen."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import IO, Any, Protocol

import pyarrow as pa
import pyarrow.parquet as pq

from chacha.decisions import Decision
from chacha.errors import ConfigError
from chacha.summary import Step

__all__ = ["DecisionLog", "JsonResult", "NoPredictions", "Predictions", "open_predictions"]


def open_text(path: str) -> IO[str]:
    """A text file to write, or stdout for `-`."""
    return sys.stdout if path == "-" else open(path, "w", encoding="utf-8")


def close(file: IO[str]) -> None:
    """Close a file of :func:`open_text`; stdout stays open."""
    file.flush()
    if file is not sys.stdout:
        file.close()


class JsonResult:
    """One JSON object at the end of a run; the file is opened before the run begins."""

    def __init__(self, path: str | None) -> None:
        self._file = None if path is None else open_text(path)

    def write(self, data: Mapping[str, Any]) -> None:
        """The object."""
        if self._file is not None:
            self._file.write(json.dumps(data, indent=2, ensure_ascii=False) + "\n")
            close(self._file)


class Predictions(Protocol):
    """Takes every step of a run."""

    def write(self, i: int, step: Step) -> None:
        """One line."""

    def close(self) -> None:
        """Nothing more comes."""


class NoPredictions:
    """Nobody asked for predictions."""

    def write(self, i: int, step: Step) -> None:
        """Nothing."""

    def close(self) -> None:
        """Nothing."""


class TextPredictions:
    """VW's form, `prediction tag`, or with `as_json` one object a line."""

    def __init__(self, path: str, as_json: bool) -> None:
        self._file = open_text(path)
        self._json = as_json

    def write(self, i: int, step: Step) -> None:
        """One line."""
        if self._json:
            row = {
                "i": i,
                "prediction": step.prediction,
                "label": step.example.label,
                "served_by": str(step.served_by),
            }
            self._file.write(json.dumps(row, ensure_ascii=False) + "\n")
        else:
            self._file.write(f"{step.prediction!r} {step.example.tag}".rstrip() + "\n")

    def close(self) -> None:
        """Flush."""
        close(self._file)


class ParquetPredictions:
    """The same columns in Parquet, a row group at a time."""

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
        self._rows: list[dict[str, Any]] = []

    def write(self, i: int, step: Step) -> None:
        """One row."""
        values = (i, step.prediction, step.example.label, str(step.served_by))
        self._rows.append(dict(zip(self.SCHEMA.names, values, strict=True)))
        if len(self._rows) >= 65536:
            self._flush()

    def _flush(self) -> None:
        self._writer.write_table(pa.Table.from_pylist(self._rows, self.SCHEMA))
        self._rows.clear()

    def close(self) -> None:
        """Write what is left."""
        self._flush()
        self._writer.close()


def open_predictions(path: str | None) -> Predictions:
    """The writer that the ending of `path` asks for."""
    if path is None:
        return NoPredictions()
    ending = ".txt" if path == "-" else Path(path).suffix
    if ending == ".parquet":
        return ParquetPredictions(path)
    if ending not in (".jsonl", ".txt"):
        raise ConfigError(f"--predictions {path}: choose .jsonl, .parquet, .txt or -")
    return TextPredictions(path, as_json=ending == ".jsonl")


class DecisionLog:
    """The decisions of a run, one JSON object a line, after one that describes the run."""

    def __init__(self, path: str | None, run: Mapping[str, Any]) -> None:
        self._file = None if path is None else open_text(path)
        self._write({"kind": "Run", **run})

    def _write(self, record: Mapping[str, Any]) -> None:
        if self._file is not None:
            self._file.write(json.dumps(record, ensure_ascii=False) + "\n")

    def write(self, decisions: Iterable[Decision]) -> None:
        """The decisions of one example."""
        for decision in decisions:
            self._write(decision.to_json())

    def close(self, end: Mapping[str, Any]) -> None:
        """The last line tells how the run ended."""
        self._write({"kind": "End", **end})
        if self._file is not None:
            close(self._file)
