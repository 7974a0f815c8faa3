"""One table of every kind of column, and what writes it in every file format."""

from __future__ import annotations

import datetime as dt
import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.feather as feather
import pyarrow.parquet as pq

__all__ = ["COLORS", "DAYS", "RNG", "ROWS", "TABLE", "VIP", "WRITERS", "X"]

ROWS = 300
RNG = np.random.default_rng(5)
X = RNG.normal(size=(ROWS, 3))
COLORS = [["red", "dark green", "blue:grey", "größe"][i] for i in RNG.integers(0, 4, ROWS)]
VIP = [bool(v) for v in RNG.integers(0, 2, ROWS)]
DAYS = [
    dt.datetime(2026, 1, 1, 5) + dt.timedelta(hours=int(h)) for h in RNG.integers(0, 9000, ROWS)
]
TABLE = pa.table(
    {
        "trip distance": X[:, 0],
        "n": pa.array([None if i % 7 == 0 else int(v) for i, v in enumerate(100 * X[:, 1])]),
        "color": COLORS,
        "vip": VIP,
        "when": DAYS,
        "y": X[:, 2],
    }
)


def _csv(path: Path) -> None:
    pacsv.write_csv(TABLE, path)


def _tsv(path: Path) -> None:
    pacsv.write_csv(TABLE, path, pacsv.WriteOptions(delimiter="\t"))


def _gz(path: Path) -> None:
    sink = pa.BufferOutputStream()
    pacsv.write_csv(TABLE, sink)
    path.write_bytes(gzip.compress(sink.getvalue().to_pybytes()))


def _parquet(path: Path) -> None:
    pq.write_table(TABLE, path, row_group_size=70)


def _arrow(path: Path) -> None:
    with pa.ipc.new_file(path, TABLE.schema) as file:
        file.write_table(TABLE, max_chunksize=90)


def _arrows(path: Path) -> None:
    with pa.ipc.new_stream(path, TABLE.schema) as file:
        file.write_table(TABLE, max_chunksize=90)


def _jsonl(path: Path) -> None:
    rows = TABLE.to_pylist()
    path.write_text("".join(json.dumps(r | {"when": r["when"].isoformat()}) + "\n" for r in rows))


def _arff(path: Path) -> None:
    header = """% a comment
@RELATION rides
@attribute 'trip distance' numeric
@attribute n INTEGER
@attribute color {red, 'dark green', "blue:grey", größe}
@attribute vip {true, false}
@attribute when date "yyyy-MM-dd'T'HH:mm:ss"
@attribute y real
@data
"""
    lines = []
    for row in TABLE.to_pylist():
        n = "?" if row["n"] is None else row["n"]
        cells = [repr(row["trip distance"]), n, f"'{row['color']}'", str(row["vip"]).lower()]
        lines.append(",".join(map(str, [*cells, row["when"].isoformat(), repr(row["y"])])))
    path.write_text(header + "\n".join(lines) + "\n")


WRITERS: dict[str, Callable[[Path], Any]] = {
    "t.csv": _csv,
    "t.tsv": _tsv,
    "t.csv.gz": _gz,
    "t.parquet": _parquet,
    "t.arrow": _arrow,
    "t.arrows": _arrows,
    "t.feather": lambda path: feather.write_feather(TABLE, str(path)),
    "t.jsonl": _jsonl,
    "t.arff": _arff,
}
