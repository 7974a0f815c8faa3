"""However the bytes arrive, and however many rows are read together: the same examples."""

from __future__ import annotations

import io
import json
import math
import random
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import chacha
from chacha import TableSpec, open_source
from chacha.sources import Categories, DictReader, Kind, Missing
from chacha.sources.formats.arff_file import ArffFile
from chacha.sources.formats.arrow_file import ArrowTable
from chacha.sources.formats.csv_file import CsvFile
from chacha.sources.formats.json_lines_file import JsonLines
from chacha.sources.formats.libsvm_file import LibsvmFile
from chacha.sources.formats.vw_file import VWFile
from chacha.sources.formats.vw_json_file import VWJsonFile
from chacha.sources.reading.byte_stream import ByteReader, RawFile
from chacha.sources.records.reader import RecordReader


class Pipe(io.BytesIO):
    """A pipe that delivers `size` bytes at a time."""

    def __init__(self, data: bytes, size: int) -> None:
        super().__init__(data)
        self.size = size

    def read1(self, size: int | None = -1) -> bytes:
        return super().read(self.size)


CELLS = st.one_of(
    st.integers(-99, 99).map(str),
    st.floats(-1e3, 1e3).map(repr),
    st.sampled_from(
        ["", "NA", "red", "'dark red'", "x:y", "2026-11-15", "true", "nan", "1e400", "é"]
    ),
)
ROWS = st.lists(st.lists(CELLS, min_size=2, max_size=4), min_size=1, max_size=130)


def _csv(rows: list[list[str]]) -> str:
    return "a,b,y\n" + "".join(",".join(row) + "\n" for row in rows)


def _continental(rows: list[list[str]]) -> str:
    return "a;b;y\n" + "".join(";".join(row).replace(".", ",") + "\n" for row in rows)


def _jsonl(rows: list[list[str]]) -> str:
    lines = []
    for row in rows:
        values = [json.loads(c) if c and c[-1].isdigit() and "-1" not in c else c for c in row]
        record = dict(zip("abyz", values, strict=False))
        lines.append(json.dumps(record)[: None if len(row) < 4 else -2] + "\n")
    return '{"a": 1, "b": 2, "y": 3}\n' + "".join(lines)


def _arff(rows: list[list[str]]) -> str:
    head = "@relation r\n@attribute a numeric\n@attribute b string\n@attribute y numeric\n@data\n"
    return head + "".join(",".join(cell or "?" for cell in row) + "\n" for row in rows)


def _libsvm(rows: list[list[str]]) -> str:
    words = (
        f"{row[0] or '#'} " + " ".join(f"{7 * i * len(row[0])}:{c}" for i, c in enumerate(row))
        for row in rows
    )
    return "".join(word + "\n\n" for word in words)


def _vw(rows: list[list[str]]) -> str:
    return "".join(f"{row[0]} |a {row[1]} |b x:{row[-1]}\n" for row in rows)


def _vw_json(rows: list[list[str]]) -> str:
    return "".join(f'{{"_label": {row[0]}, "a": {{"x": "{row[1]}"}}}}\n' for row in rows)


SPEC = TableSpec(target="y")
FORMATS: dict[str, tuple[Callable[[list[list[str]]], str], Callable[[ByteReader], Any]]] = {
    "csv": (_csv, lambda file: CsvFile("t", SPEC, file)),
    "continental": (_continental, lambda file: CsvFile("t", SPEC, file)),
    "jsonl": (_jsonl, lambda file: JsonLines("t", SPEC, file)),
    "arff": (_arff, lambda file: ArffFile("t", SPEC, file)),
    "libsvm": (_libsvm, lambda file: LibsvmFile("t", SPEC, file)),
    "vw": (_vw, lambda file: VWFile("t", file=file)),
    "vwjson": (_vw_json, lambda file: VWJsonFile("t", file=file)),
}


def rows_of(form: str, data: bytes, size: int) -> list[Any]:
    """The rows, by value; the last one may be what stopped it."""
    rows: list[Any] = []
    try:
        rows.extend(FORMATS[form][1](ByteReader(RawFile(Pipe(data, size), "t"), "t")))
    except chacha.ChaChaError as error:
        rows.append(str(error))
    return rows


@settings(max_examples=60)
@given(st.sampled_from(sorted(FORMATS)), ROWS, st.integers(1, 40))
def test_a_pipe_may_bring_any_number_of_bytes(form: str, rows: list[list[str]], size: int) -> None:
    data = FORMATS[form][0](rows).encode()
    assert rows_of(form, data, size) == rows_of(form, data, 1 << 20)


VALUES = st.one_of(
    st.floats(-1e3, 1e3),
    st.integers(-(2**54), 2**54),
    st.sampled_from([None, True, False, "red", "dark red", "2026-11-15", "x", math.nan, 1e39, [1]]),
)
NESTED = st.one_of(VALUES, st.dictionaries(st.sampled_from("uvw."), VALUES, max_size=2))
RECORDS = st.lists(
    st.dictionaries(st.sampled_from(["a", "b", "c d", "y"]), NESTED, max_size=4), max_size=12
)


@given(RECORDS, st.sampled_from(Missing), st.sampled_from(Categories))
def test_records_read_together_equal_records_read_alone(
    records: list[dict[str, Any]], missing: Missing, categories: Categories
) -> None:
    """The first ones are repeated so that whole runs of records look alike."""
    rows = [record for record in records for _ in range(9)]
    spec = TableSpec(target="y", missing=missing, categories=categories)
    together, alone = RecordReader(spec, "t"), RecordReader(spec, "t")
    places = [f"t:{i}" for i in range(len(rows))]
    made = list(together.rows(list(zip(rows, places, strict=True))))
    assert made == [alone.row(row, place) for row, place in zip(rows, places, strict=True)]
    assert together.reader.kinds == alone.reader.kinds
    assert together.reader.codes == alone.reader.codes


COLUMN = st.one_of(
    st.lists(st.one_of(st.none(), st.floats()), min_size=40, max_size=40),
    st.lists(st.one_of(st.none(), st.integers(-(2**60), 2**60)), min_size=40, max_size=40),
    st.lists(
        st.one_of(st.none(), st.sampled_from(["u", " v ", "w x", ""])), min_size=40, max_size=40
    ),
    st.lists(st.one_of(st.none(), st.booleans()), min_size=40, max_size=40),
    st.lists(st.one_of(st.none(), st.datetimes()), min_size=40, max_size=40),
    st.lists(
        st.one_of(st.none(), st.lists(st.floats(-9, 9), max_size=3)), min_size=40, max_size=40
    ),
)


@settings(max_examples=60)
@given(COLUMN, COLUMN, st.integers(1, 40), st.sampled_from(Missing), st.sampled_from(Categories))
def test_batches_may_have_any_size(
    a: list[Any], b: list[Any], size: int, missing: Missing, categories: Categories
) -> None:
    try:
        table = pa.table({"a": a, "b b": b, "y": [i % 5 for i in range(40)]})
    except pa.ArrowInvalid:
        return  # dates beyond the range of a timestamp
    spec = TableSpec(missing=missing, categories=categories)

    def read(rows: int) -> tuple[list[Any], Any]:
        reader = DictReader()
        batches = table.to_batches(max_chunksize=rows)
        source = ArrowTable("t", table.schema, lambda: batches, spec, reader)
        return list(source), (reader.kinds, reader.codes)

    assert read(size) == read(40)


def test_rows_beyond_a_limit_change_nothing() -> None:
    """Codes are given as rows are taken, not as they are read."""
    spec = TableSpec(categories=Categories.CODE)
    table = pa.table({"c": list("uvwxyz"), "y": range(6)})
    model = chacha.ChaCha.paper(pool=chacha.NativePool())
    model.run(table, table=spec, limit=2)
    assert model.reader.codes == {"c": {"u": 0, "v": 1}}
    records = chacha.ChaCha.paper(pool=chacha.NativePool())
    records.run(table.to_pylist(), table=TableSpec(target="y", categories=Categories.CODE), limit=2)
    assert records.reader.codes == {"c": {"u": 0, "v": 1}}
    assert len(list(open_source(table, spec))) == 6


@pytest.mark.parametrize("missing", [Missing.ZERO, Missing.INDICATOR, Missing.SKIP])
@pytest.mark.parametrize("seed", range(4))
def test_codes_in_blocks_are_those_row_by_row(seed: int, missing: Missing) -> None:
    """Bad cells, refused labels, empty cells, numbers as words, a limit in the middle."""
    rng = random.Random(seed)
    rows = 1500
    table = pa.table(
        {
            "c": [
                rng.choice(["u", "v", None, f"w{i // 90}", f"x{rng.random()}"]) for i in range(rows)
            ],
            "d": pa.array([rng.choice([1.5, 2.0, None, float(i % 7)]) for i in range(rows)]),
            "n": [
                rng.choice(["0.5", "2", "", "0"]) if i < 300 or i % 41 else "oops"
                for i in range(rows)
            ],
            "y": [rng.choice([1.0, -1.0]) if i % 37 else 3.0 for i in range(rows)],
        }
    )
    kinds = {"d": Kind.CATEGORY, "n": Kind.NUMBER}
    spec = TableSpec(categories=Categories.CODE, missing=missing, kinds=kinds)
    limit = rng.choice([10, 300, 700, 1100])
    runs = []
    for in_blocks in (True, False):
        model = chacha.ChaCha.paper(loss=chacha.Logistic(), budget=3)
        source = model.open(table, spec)
        passing = model.chunks if in_blocks else model.steps
        for _ in passing(source, limit=limit, on_bad=chacha.OnBad.SKIP):
            pass
        runs.append((model.reader.codes, model.served, dict(model.skipped), model.decisions))
    assert runs[0] == runs[1]
    assert limit == 10 or len(runs[0][2]) > 1, "there were bad rows of several kinds"


def test_more_categories_than_can_be_coded_are_reported_row_by_row(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for module in ("values.dict_reader", "tables.category_codes"):
        monkeypatch.setattr(f"chacha.sources.{module}.MOST_CATEGORIES", 500)
    table = pa.table({"c": [f"w{i}" for i in range(900)], "y": [1.0] * 900})
    model = chacha.ChaCha.paper()
    spec = TableSpec(categories=Categories.CODE)
    model.run(table, table=spec, on_bad=chacha.OnBad.SKIP)
    assert model.examples == 500
    assert model.skipped == {"too many categories": 400}
