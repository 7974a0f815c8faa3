"""A number of a table, a dict or a record is the nearest float32, and VW reads that very one."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest
import vowpalwabbit
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

import chacha
from chacha import Example, TableSpec, open_source
from chacha.data.vw_text import FLOAT32_MAX, read_number, show_exactly
from chacha.sources.base import Bad
from chacha.sources.tables.numbers import show_all_exactly
from chacha.sources.writers import open_writer
from tests.support.sources import good


def _doubles(count: int) -> list[float]:
    """Doubles of every size that a float32 can hold, short and long, and some that become 0."""
    rng = np.random.default_rng(7)
    sizes = 10.0 ** rng.uniform(-46, 38, count)
    parts: list[Iterable[float]] = [
        rng.normal(size=count),
        rng.normal(size=count).round(3),
        rng.integers(-(10**8), 10**8, count) / 100,
        rng.choice([-1.0, 1.0], count) * sizes,
        rng.uniform(-1e-38, 1e-38, count),  # where float32 has fewer bits
        [0.0, -0.0, 1.0, -1.0, 1 + 1e-9, 0.1, 1e-45, 7e-46, 1e-300, -1e-60, 16777217.0],
        [FLOAT32_MAX, -FLOAT32_MAX, 3.40282356e38, 2.0**100, 1 + 2.0**-24, 1 + 3 * 2.0**-24],
    ]
    return [float(x) for part in parts for x in part]


DOUBLES = _doubles(60)
PAIRS = [{"x": value, "y": 1.0} for value in DOUBLES]
TABLE = pa.table({"x": DOUBLES, "y": [1.0] * len(DOUBLES)})
TARGET = TableSpec(target="y")


def _file(name: str, write: Callable[[Path], Any]) -> Callable[[Path], chacha.sources.Source]:
    def open_it(folder: Path) -> chacha.sources.Source:
        write(folder / name)
        return open_source(folder / name)

    return open_it


def _lines(lines: Iterable[str]) -> Callable[[Path], Any]:
    return lambda path: path.write_text("".join(f"{line}\n" for line in lines))


def _written(path: Path) -> None:
    writer = open_writer(str(path))
    for example in good(open_source(TABLE)):
        writer.write(example)
    writer.close()


def _matrix() -> sparse.csr_array:
    """The doubles in one column, zeros stored too."""
    count = len(DOUBLES)
    return sparse.csr_array((DOUBLES, [0] * count, range(count + 1)), shape=(count, 1))


ARFF_HEAD = ["@relation r", "@attribute x numeric", "@attribute y numeric", "@data"]
YS = [1.0] * len(DOUBLES)
SOURCES: dict[str, Callable[[Path], Iterable[Any]]] = {
    "csv": _file("t.csv", _lines(["x,y", *(f"{x!r},1" for x in DOUBLES)])),
    "a decimal comma": _file(
        "t.csv", _lines(["x;y", *(f"{x!r};1".replace(".", ",") for x in DOUBLES)])
    ),
    "parquet": _file("t.parquet", lambda path: pq.write_table(TABLE, path)),
    "parquet of examples": _file("t.parquet", _written),
    "feather": _file("t.feather", lambda path: feather.write_feather(TABLE, str(path))),
    "jsonl": _file("t.jsonl", _lines(map(json.dumps, PAIRS))),
    "arff": _file("t.arff", _lines([*ARFF_HEAD, *(f"{x!r},1" for x in DOUBLES)])),
    "sparse arff": _file("t.arff", _lines([*ARFF_HEAD, *(f"{{0 {x!r},1 1}}" for x in DOUBLES)])),
    "libsvm": _file("t.svm", _lines(f"1 1:{x!r}" for x in DOUBLES)),
    "arrow": lambda _: open_source(TABLE),
    "a row at a time": lambda _: open_source(TABLE.to_reader(max_chunksize=1)),
    "pandas": lambda _: open_source(TABLE.to_pandas()),
    "objects of pandas": lambda _: open_source(
        pd.DataFrame({"x": pd.Series(DOUBLES, dtype=object), "y": YS})
    ),
    "a dict of columns": lambda _: open_source({"x": DOUBLES, "y": YS}),
    "vectors": lambda _: open_source(pa.table({"x": [[x] for x in DOUBLES], "y": YS})),
    "numpy": lambda _: open_source(np.array(DOUBLES).reshape(-1, 1), y=YS),
    "scipy": lambda _: open_source(_matrix(), y=YS),
    "a list of records": lambda _: open_source(PAIRS, TARGET),
    "an iterator of records": lambda _: open_source(iter(PAIRS), TARGET),
    "pairs of dict and label": lambda _: open_source([({"x": x}, 1.0) for x in DOUBLES]),
    "groups": lambda _: open_source([({"g": {"x": x}}, 1.0) for x in DOUBLES]),
    "make_example": lambda _: [chacha.data.make_example({"g": [("x", x)]}, 1.0) for x in DOUBLES],
}


@pytest.mark.parametrize("kind", SOURCES)
def test_a_number_is_the_nearest_float32(tmp_path: Path, kind: str) -> None:
    examples = list(SOURCES[kind](tmp_path))
    assert len(examples) == len(DOUBLES)
    for example, double in zip(examples, DOUBLES, strict=True):
        assert isinstance(example, Example), example
        values = [f.value for features in example.groups.values() for f in features]
        nearest = float(np.float32(double))
        assert values == ([nearest] if nearest else [])  # 0 is left out
        assert _read(example.body) == values
        assert chacha.data.parse_line(example.line).groups.keys() == example.groups.keys()


def _read(body: str) -> list[float | None]:
    """What VW's reading of the text gives."""
    words = [word for word in body.split(" ") if not word.startswith("|") and word]
    return [read_number(text) if colon else 1.0 for _, colon, text in map(_parted, words)]


def _parted(word: str) -> tuple[str, str, str]:
    return word.partition(":")


def test_vw_reads_the_value_of_the_feature() -> None:
    vw = vowpalwabbit.Workspace(arg_list=["--quiet", "--noconstant"])
    for double in DOUBLES:
        example = chacha.data.make_example({"g": [("x", double)]}, label=min(double, FLOAT32_MAX))
        (parsed,) = vw._parse(example.line)
        count = parsed.num_features_in(ord("g"))
        vw_values = [parsed.feature_weight(ord("g"), i) for i in range(count)]
        label = parsed.get_simplelabel_label()
        vw._finish_example(parsed)
        assert vw_values == [feature.value for feature in example.groups["g"]]
        assert label == example.label == float(np.float32(double))
    vw.finish()


@given(st.lists(st.floats(), max_size=20))
def test_many_at_once_are_written_as_one_by_one(values: list[float]) -> None:
    values = [*values, *DOUBLES]
    texts, reads = show_all_exactly(np.array(values, np.float64))
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(reads, np.array(values).astype(np.float32))
    assert texts == [show_exactly(value)[0] for value in values]
    finite = [i for i, read in enumerate(reads) if math.isfinite(read)]
    assert [read_number(texts[i]) for i in finite] == [reads[i] for i in finite]


@pytest.mark.parametrize("value", ["3.5e38", "-1e39", "1e300"])
def test_what_a_float32_cannot_hold_is_refused(tmp_path: Path, value: str) -> None:
    number = float(value)
    svm = tmp_path / "t.svm"
    svm.write_text(f"1 1:{value}\n")
    csv = tmp_path / "t.csv"
    csv.write_text(f"x,y\n{value},1\n" + "0.5,1\n" * 20)
    sources = [
        svm,
        csv,
        pa.table({"x": [number], "y": [1.0]}),
        pa.table({"x": [number] * 20, "y": [1.0] * 20}),
        [{"x": number, "y": 1.0}],
    ]
    for source in sources:
        spec = None if isinstance(source, Path) else TARGET
        rows = [row for row in open_source(source, spec) if isinstance(row, Bad)]
        assert {row.reason for row in rows} == {"value not finite"}
    with pytest.raises(chacha.errors.BadExample, match="finite"):
        chacha.data.make_example({"g": [("x", number)]})
