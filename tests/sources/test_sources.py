"""Sources: files, tables, dicts, generators; the same examples whatever the wrapping."""

from __future__ import annotations

import bz2
import gzip
import io
import itertools
import lzma
import math
import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import chacha
from chacha import ChaCha, Example, ReferencePool, TableSpec, open_source
from chacha.data.vw_text import FLOAT32_MAX, escape, read_number, show_exactly
from chacha.errors import BadExample, SourceError
from chacha.sources import Bad, Categories, CsvFile, DictReader, Kind, Missing
from chacha.sources.reading.byte_stream import TABLE_BYTES, ByteReader, RawFile
from chacha.sources.tables.batch import Batch
from chacha.sources.tables.reader import TableReader
from chacha.sources.tables.schema import Schema
from tests.support.sources import TEXT, bad, good, lines


def _lz4(data: bytes) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, "lz4") as file:
        file.write(data)
    return sink.getvalue().to_pybytes()  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("s.vw", TEXT.encode()),
        ("s.vw.gz", gzip.compress(TEXT.encode())),
        ("s.vw.gz", gzip.compress(TEXT[:700].encode()) + gzip.compress(TEXT[700:].encode())),
        ("s.vw.bz2", bz2.compress(TEXT.encode())),
        ("s.vw.bz2", bz2.compress(TEXT[:700].encode()) + bz2.compress(TEXT[700:].encode())),
        ("s.vw.xz", lzma.compress(TEXT.encode())),
        ("s.vw.xz", lzma.compress(TEXT[:700].encode()) + lzma.compress(TEXT[700:].encode())),
        ("s.vw.lz4", _lz4(TEXT.encode())),
        ("s.vw.zst", pa.compress(TEXT.encode(), "zstd", asbytes=True)),
        ("s", TEXT.encode()),
        ("s.txt", TEXT.rstrip("\n").encode()),
        ("s.vw", TEXT.replace("\n", "\r\n").encode()),
        ("s.vw", b"\xef\xbb\xbf" + TEXT.encode()),
    ],
)
def test_vw_text_in_any_wrapping(tmp_path: Path, name: str, data: bytes) -> None:
    path = tmp_path / name
    path.write_bytes(data)
    assert [row.line for row in good(open_source(path))] == lines()
    assert [row.label for row in good(open_source(str(path)))] == [
        chacha.data.parse_line(line).label for line in lines()
    ]


def test_lines_across_blocks(tmp_path: Path) -> None:
    path = tmp_path / "long.vw"
    path.write_text("".join(f"{i} |a x{i}:1 {'y' * (TABLE_BYTES // 3)}\n" for i in range(8)))
    assert [row.label for row in good(open_source(path))] == list(range(8))


def table(path: Path, text: str) -> str:
    path.write_text(text)
    return str(path)


def test_a_table_becomes_examples(tmp_path: Path) -> None:
    path = table(tmp_path / "t.csv", "hour,city,tip\n8,Rome,1.5\n 9 ,New York,2\n,Rome,0\n")
    assert [row.line for row in good(open_source(path))] == [
        "1.5 |city city=Rome |hour hour:8.0",
        "2.0 |city city=New%20York |hour hour:9.0",
        "0.0 |city city=Rome |hour",
    ]


@pytest.mark.parametrize(
    ("name", "mark"), [("t.tsv", "\t"), ("t.csv", ";"), ("t.csv.gz", ","), ("plain", ",")]
)
def test_delimiters_and_compression(tmp_path: Path, name: str, mark: str) -> None:
    text = "a,b,y\n1,2,3\n4,5,6\n".replace(",", mark)
    path = tmp_path / name
    path.write_bytes(gzip.compress(text.encode()) if name.endswith("gz") else text.encode())
    rows = good(open_source(path))
    assert [row.label for row in rows] == [3.0, 6.0]
    assert rows[0].line == "3.0 |a a |b b:2.0".replace("|a a", "|a a")


def test_target_groups_categories_missing(tmp_path: Path) -> None:
    path = table(tmp_path / "t.csv", "y,a,b,c\n1,2,red,\n2,3,blue,7\n")
    spec = TableSpec(
        target="y",
        groups={"g": ("a", "c")},
        categories=Categories.CODE,
        missing=Missing.INDICATOR,
    )
    assert [row.line for row in good(CsvFile(path, spec))] == [
        "1.0 |g a:2.0 c=missing |rest",
        "2.0 |g a:3.0 c:7.0 |rest b",
    ]
    assert [row.line for row in good(CsvFile(path, TableSpec(target="y", most_groups=2)))] == [
        "1.0 |a a:2.0 b=red |b",
        "2.0 |a a:3.0 b=blue |b c:7.0",
    ]


def test_missing_skip_is_counted_and_missing_error_names_the_cell(tmp_path: Path) -> None:
    path = table(tmp_path / "t.csv", "a,y\n1,2\n,3\n4,5\n")
    model = ChaCha.paper(pool=ReferencePool())
    summary = model.run(path, table=TableSpec(missing=Missing.SKIP))
    assert summary.examples == 2
    assert summary.skipped == {"empty cell": 1}
    with pytest.raises(BadExample, match=r"t\.csv: row 2, column 'a': the cell is empty"):
        ChaCha.paper(pool=ReferencePool()).run(path, table=TableSpec(missing=Missing.ERROR))


def test_a_column_that_is_empty_at_first_may_hold_numbers_later(tmp_path: Path) -> None:
    rows = [f",{i}" for i in range(1, 40_000)] + [f"{i}.5,{i}" for i in range(1, 5)]
    path = table(tmp_path / "t.csv", "x,y\n" + "\n".join(rows) + "\n")
    assert good(open_source(path))[-1].line == "4.0 |x x:4.5"


def test_bad_cells_and_ragged_rows_are_placed_by_row_and_column(tmp_path: Path) -> None:
    rows = ["1,2,3"] * 9
    rows[1], rows[3], rows[4], rows[6] = "1,2", "1,x,3", "1,2,nan", "1,-inf,3"
    path = table(tmp_path / "t.csv", "a,b,y\n" + "\n".join([*rows, "1,2,3,4", "1,2,"]) + "\n")
    assert [text.removeprefix(f"{path}: ") for text in bad(open_source(path))] == [
        "row 2: the row has 2 cells, expected 3",
        "row 4, column 'b': the cell is 'x', but the column holds numbers",
        "row 5, column 'y': the cell is nan; values must be finite (leave it empty if missing)",
        "row 7, column 'b': the cell is -inf; values must be finite (leave it empty if missing)",
        "row 10: the row has 4 cells, expected 3",
        "row 11, column 'y': the target is missing; learning needs it",
    ]
    assert len([row for row in open_source(path) if isinstance(row, Example)]) == 5


class Drip(io.BytesIO):
    """A pipe that brings a few bytes at a time."""

    def read1(self, size: int | None = -1) -> bytes:
        return super().read(7)


def test_a_pipe_that_drips_gives_the_same_examples(tmp_path: Path) -> None:
    """Types are decided by rows, not by what the first read happened to bring."""
    rows = [f"{'x' if i < 3 else i},{'' if i < 5 else 'w'},{i}" for i in range(400)]
    text = "a,b,y\n" + "\n".join(rows) + "\n"
    path = table(tmp_path / "t.csv", text)
    dripped = CsvFile(path, file=ByteReader(RawFile(Drip(text.encode()), path), path))
    assert [str(row) for row in dripped] == [str(row) for row in CsvFile(path)]
    assert len([row for row in CsvFile(path) if isinstance(row, Bad)]) == 3


def test_types_wait_for_labelled_rows_however_they_arrive(tmp_path: Path) -> None:
    rows = [f"{i}," for i in range(100)] + ["5,1", "6,2", "7,1"]
    rows += [f"w{i},{i % 3}" for i in range(400)]
    text = "x,y\n" + "\n".join(rows) + "\n"
    path = table(tmp_path / "t.csv", text)
    dripped = CsvFile(path, file=ByteReader(RawFile(Drip(text.encode()), path), path))
    for source in (dripped, CsvFile(path)):
        assert len([row for row in source if isinstance(row, Example)]) == 403


def test_a_quote_inside_a_cell_is_a_letter(tmp_path: Path) -> None:
    """5" disc: only a quote where a cell begins opens a quoted cell."""
    rows = '1,5" disc,2\n' + "".join(f'{i % 9},"a\nb{i % 5}",{i % 4}\n' for i in range(40_000))
    path = table(tmp_path / "t.csv", "x,t,y\n" + rows)
    assert len(good(open_source(path))) == 40_001
    path = table(tmp_path / "u.csv", 'x,t,y\n1,5" disc,2\n' + "1,a,2\n" * 100_000)
    few = list(itertools.islice(open_source(path), 150))
    assert next(row.line for row in few if isinstance(row, Example)) == '2.0 |t t=5"%20disc |x x'


def test_a_quote_that_never_closes_is_named(tmp_path: Path) -> None:
    path = table(tmp_path / "t.csv", 'x,t,y\n4,z,9\n5,"a,1\n6,b,2\n7,c,3\n')
    source = iter(open_source(path))
    assert isinstance(next(source), Example)
    with pytest.raises(SourceError, match="row 2: a quote is opened and never closed"):
        next(source)


def test_what_a_table_decided_holds_for_the_tables_that_follow(tmp_path: Path) -> None:
    jan = table(tmp_path / "jan.csv", "c,d,y\nred,7,1\nblue,8,2\ngreen,9,3\n")
    feb = table(tmp_path / "feb.csv", "c,d,y\nblue,u,1\ngreen,8,2\nred,9,3\n")
    model = ChaCha.paper(pool=ReferencePool())
    spec = TableSpec(categories=Categories.CODE)
    model.run(jan, table=spec)
    reader = model.reader
    model.run(feb, table=spec, on_bad=chacha.OnBad.SKIP)
    assert reader.codes == {"c": {"red": 0, "blue": 1, "green": 2}}
    assert model.skipped == {"not a number": 1}


def test_a_column_that_stays_empty_is_decided_late_also_after_another_table() -> None:
    memory = DictReader()
    memory.kinds["other"] = Kind.NUMBER
    reader = TableReader(Schema(TableSpec(), "t.csv", ["c", "y"], memory), memory)
    empty = pa.table({"c": ["", ""] * 60, "y": ["1", "2"] * 60})
    assert len(list(reader.read(Batch(empty, text={"c", "y"})))) == 120
    table = pa.table({"c": ["", "red", "7"], "y": ["1", "2", "3"]})
    late = reader.read(Batch(table, text={"c", "y"}))
    assert [row.line for row in late if isinstance(row, Example)] == [
        "1.0 |c",
        "2.0 |c c=red",
        "3.0 |c c=7",
    ]


def test_padded_empty_cells_are_empty(tmp_path: Path) -> None:
    path = table(tmp_path / "t.csv", "x,t,y\n5,a,1\n3, NA,2\n NA ,c,3\n")
    assert [row.line for row in good(open_source(path))] == [
        "1.0 |t t=a |x x:5.0",
        "2.0 |t |x x:3.0",
        "3.0 |t t=c |x",
    ]


def test_a_named_pipe_is_a_source(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_text, args=(TEXT,))
    writer.start()
    assert [row.line for row in good(open_source(pipe))] == lines()
    writer.join()


def test_rows_that_cannot_be_used_do_not_vote_on_types(tmp_path: Path) -> None:
    path = table(tmp_path / "t.csv", "c,y\nred,\nred,x\nblue,nan\n1,1\n2,2\n")
    assert [row.line for row in open_source(path) if isinstance(row, Example)] == [
        "1.0 |c c",
        "2.0 |c c:2.0",
    ]


def test_a_row_that_is_refused_takes_no_code(tmp_path: Path) -> None:
    path = table(tmp_path / "t.csv", "c,n,y\nred,1,1\nblue,,2\nzzz,1e39,1\ngreen,3,3\n")
    spec = TableSpec(categories=Categories.CODE, missing=Missing.SKIP)
    codes = [row.line for row in CsvFile(path, spec) if isinstance(row, Example)]
    assert codes == ["1.0 |c |n n", "3.0 |c c |n n:3.0"]


def test_quotes_delimiters_and_long_rows(tmp_path: Path) -> None:
    path = table(tmp_path / "q.csv", '"a,b";"c\t,d";y\n1;"x;\ny";3\n')
    assert good(open_source(path))[0].line == "3.0 |a,b a,b |c%09,d c%09,d=x;%0Ay"
    wide = ",".join(f"c{i}" for i in range(40_000))
    row = ",".join(["1.23456789"] * 40_000)
    path = table(tmp_path / "w.csv", f"{wide},y\n{row},1\n{row},2\n{row},3\n")
    assert [example.label for example in good(open_source(path))] == [1.0, 2.0, 3.0]


def test_cells_that_are_not_utf8_are_bad_rows(tmp_path: Path) -> None:
    path = tmp_path / "latin.csv"
    path.write_bytes(b"a,b,y\n1,x,2\n3,caf\xe9,5\n3,x,5\n")
    (text,) = bad(open_source(path))
    message = "the cell is not UTF-8 text (name another encoding with --encoding)"
    assert text == f"{path}: row 2, column 'b': {message}"


def test_row_numbers_hold_across_batches(tmp_path: Path) -> None:
    rows = [f"{i},{i}" for i in range(60_000)]
    rows[40_000], rows[50_000] = "ragged", "oops,1"
    path = table(tmp_path / "t.csv", "x,y\n" + "\n".join(rows) + "\n")
    assert [text.split(": ")[1] for text in bad(open_source(path))] == [
        "row 40001",
        "row 50001, column 'x'",
    ]


def test_dicts_flat_and_grouped() -> None:
    pairs: list[Any] = [({"b": 2, "a": "x y"}, 1), ({"a": None, "b": True}, 2.5)]
    assert [row.line for row in good(open_source(pairs))] == [
        "1.0 |a a=x%20y |b b:2.0",
        "2.5 |a |b b",
    ]
    grouped = [({"user": {"age": 3}, "item": {"id": "i 1"}}, 0)]
    assert [row.line for row in good(open_source(grouped))] == ["0.0 |item id=i%201 |user age:3.0"]


@pytest.mark.parametrize(
    ("pair", "message"),
    [
        (({"a": math.nan}, 1), "feature 'a' is nan"),
        (({"a": math.inf}, 1), "feature 'a' is inf"),
        (({"a": {1}}, 1), "a value is a number"),
        (({"g": {"a": 1e39}}, 1), "finite"),
        (({"a": 1}, math.nan), "the label is nan"),
        (({"a": 1}, None), "no label"),
        (({"": 1}, 1), "no name"),
        (({"a": 10**400}, 1), "a value is a number"),
        (({"a": 1}, "high"), "the label is 'high'"),
        (("a", 1), "a row is a pair"),
        (7, "a row is a pair"),
    ],
)
def test_bad_dicts_are_placed(pair: object, message: str) -> None:
    rows: list[Any] = [({"z": 1.0}, 0.0), pair]
    (text,) = bad(open_source(rows))
    assert text.startswith("rows: row 2: ")
    assert message in text


@pytest.mark.parametrize("name", ["fried", "2dplanes", "mv", "interactions", "drift", "sparse"])
def test_generators(name: str) -> None:
    """Seeded, the same from the start however many are taken, endless without n."""
    first = [row.line for row in good(open_source(f"synth:{name},n=1500,seed=3"))]
    endless = open_source(f"synth:{name},seed=3")
    if name != "drift":  # its half-way point depends on n
        taken = [r.line for r in itertools.islice(endless, 1500) if isinstance(r, Example)]
        assert taken == first
    assert endless.endless
    assert first != [row.line for row in good(open_source(f"synth:{name},n=1500,seed=4"))]
    labels = [chacha.data.parse_line(line).label or 0.0 for line in first]
    assert np.std(labels) > 0.5


def test_the_sparse_stream_is_like_hashed_text() -> None:
    rows = good(open_source("synth:sparse,n=3000,seed=1"))
    sizes = [sum(map(len, row.groups.values())) for row in rows]
    assert min(sizes) >= 100
    assert max(sizes) <= 1500
    assert 450 < np.mean(sizes) < 550
    assert {tuple(row.groups) for row in rows} == {("u", "d", "i", "q", "t", "s")}
    assert all(1 <= len(row.groups[small]) <= 10 for row in rows for small in "udiq")
    pairs = [(g, f) for row in rows for g, features in row.groups.items() for f in features]
    names = [(g, f.name) for g, f in pairs]
    assert 10_000 < len(set(names)) < 100_000
    assert all(
        len(set(row.groups[large])) == len(row.groups[large]) for row in rows for large in "ts"
    )
    assert all(math.isfinite(f.value) and f.value > 0 for _, f in pairs)
    assert 0.8 < np.mean([f.value == 1 for _, f in pairs]) < 0.95
    assert all(row.label is not None and abs(row.label) < 2 for row in rows)
    assert chacha.data.parse_line(rows[0].line).groups == rows[0].groups


def test_a_product_of_small_groups_explains_the_sparse_stream() -> None:
    rows = good(open_source("synth:sparse,n=1000"))

    def sign(row: Example, group: str) -> float:  # odd names vote +, even ones -
        votes = [2 * (int(f.name[1:]) % 2) - 1 for f in row.groups[group]]
        return float(np.sign(sum(votes)))

    y = np.array([row.label for row in rows], np.float64)
    for first, second in itertools.product("ud", "iq"):
        left, right = (np.array([sign(row, g) for row in rows]) for g in (first, second))
        assert np.corrcoef(left * right, y)[0, 1] > 0.9
        assert abs(np.corrcoef(left, y)[0, 1]) < 0.15


def _fit(rows: list[Example], pairs: list[str]) -> float:
    """R² of least squares on first features, with products."""
    x = {
        g: np.array([{f.name: f.value for f in r.groups[g]}.get("0", 0) for r in rows])
        for g in "abcde"
    }
    y = np.array([r.label for r in rows])
    columns = [x[p[0]] * x[p[1]] for p in pairs]
    design = np.column_stack([np.ones(len(y)), *x.values(), *columns])
    residual = y - design @ np.linalg.lstsq(design, y, rcond=None)[0]
    return float(1 - residual.var() / y.var())


def test_interactions_and_drift_hold_the_products_they_say() -> None:
    rows = good(open_source("synth:interactions,n=3000"))
    assert _fit(rows, ["ab", "ac", "cd"]) > 0.97 > 0.2 > _fit(rows, [])
    rows = good(open_source("synth:drift,n=4000"))
    early, late = rows[:2000], rows[2000:]
    assert _fit(early, ["ab", "cd"]) > 0.97 > 0.2 > _fit(early, ["ac", "de"])
    assert _fit(late, ["ac", "de"]) > 0.97 > 0.2 > _fit(late, ["ab", "cd"])


@given(st.text(min_size=1), st.text(min_size=1))
def test_escaped_names_are_safe_and_distinct(a: str, b: str) -> None:
    assert not set(escape(a)) & set(" \t\r\n:|\x00")
    assert (escape(a) == escape(b)) == (a == b)


safe = st.text(
    st.characters(exclude_characters="|: \t\r\n\x00'", exclude_categories=["C", "Z"]), min_size=1
)
values = st.floats(-1e6, 1e6).filter(lambda x: x == 0 or abs(x) > 1e-30)


@given(
    st.dictionaries(safe, st.lists(st.tuples(safe, values), max_size=3), max_size=3),
    st.floats(-1e6, 1e6),
)
def test_an_example_made_is_the_example_read(
    groups: dict[str, list[tuple[str, float]]], label: float
) -> None:
    """The text says exactly what the object holds."""
    made = chacha.data.make_example(groups, label)
    read = chacha.data.parse_line(made.line)
    assert read.label == made.label
    assert _filled(read) == _filled(made)


def _filled(example: Example) -> dict[str, list[chacha.data.Feature]]:
    return {group: features for group, features in example.groups.items() if features}


@given(st.floats(-FLOAT32_MAX, FLOAT32_MAX))
def test_numbers_we_write_are_read_as_the_nearest_float32(value: float) -> None:
    text, exact = show_exactly(value)
    assert exact == float(np.float32(value))
    assert read_number(text) == exact


@given(st.floats(-1e6, 1e6), st.floats(0, 1e6), st.floats(-10, 10))
def test_labels_and_weights_survive_a_rewrite(label: float, weight: float, initial: float) -> None:
    words = [show_exactly(number)[0] for number in (label, weight, initial)]
    first = chacha.data.parse_line(" ".join(words) + " |a x").with_label(label, weight)
    again = first.with_label(first.label or 0.0)
    assert (again.label, again.weight, again.initial) == (first.label, first.weight, first.initial)
    assert chacha.data.parse_line(again.line).label == first.label


@given(st.text())
def test_any_line_is_an_example_or_a_bad_example(line: str) -> None:
    try:
        example = chacha.data.parse_line(line)
    except BadExample:
        return
    for features in example.groups.values():
        assert all(math.isfinite(f.value) for f in features)


def test_streams_need_not_fit_in_memory() -> None:
    """A source is read as it is consumed, not ahead of it."""
    taken = 0

    def endless() -> Iterator[str]:
        nonlocal taken
        for i in itertools.count():
            taken += 1
            yield f"{i % 3} |a x:{i % 5}"

    model = ChaCha.paper(pool=ReferencePool())
    model.run(endless(), limit=40)
    assert model.examples == 40
    assert taken <= 41


def test_digits_and_surrogates_do_not_crash() -> None:
    assert chacha.data.parse_line("1 |a " + "7" * 5000).groups["a"][0].value == 1.0
    with pytest.raises(BadExample):
        chacha.data.parse_line("1 |a x:1e" + "9" * 5000)
    model = ChaCha.paper(pool=ReferencePool())
    for x in ("1 |a \ud800", {"a": "\ud800"}):
        with pytest.raises(BadExample, match="UTF-8"):
            model.learn_one(x, 1.0)


def test_compressed_bytes_without_the_ending_are_recognised(tmp_path: Path) -> None:
    path = tmp_path / "stream"
    for data in (gzip.compress(TEXT.encode()), lzma.compress(TEXT.encode()), TEXT.encode()):
        path.write_bytes(data)
        assert [row.line for row in good(open_source(path))] == lines()
    named = tmp_path / "not-really.vw.gz"
    named.write_text(TEXT)
    assert [row.line for row in good(open_source(named))] == lines()
    path.write_bytes(b"a\0b")
    with pytest.raises(SourceError, match="is neither text nor"):
        open_source(path)


def test_wrong_sources_are_refused_in_words() -> None:
    for what, message in [
        ("synth:nothing", "there is no stream"),
        ("synth:fried,m=3", "options are n=NUMBER"),
        ("synth:fried,n=0", "n >= 1"),
    ]:
        with pytest.raises(chacha.errors.ConfigError, match=message):
            open_source(what)
    with pytest.raises(chacha.errors.ConfigError, match="never ends"):
        ChaCha.paper(pool=ReferencePool()).run("synth:fried")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,b,b\n1,2,3\n", "column 'b' occurs twice"),
        ("a,,y\n1,2,3\n", "a column has no name"),
        ("a\n1\n", "one column only"),
        ("a,b,y\r1,2,3\r", "CR alone"),
        ("\na,b,y\n1,2,3\n", "line 1 is empty"),
        ('x,"t\nu",y\n1,2,3\n', "line break"),
        (f"{'n' * 140_000},y\n1,2\n", "line 1 cannot be read"),
    ],
)
def test_wrong_headers_are_refused(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(SourceError, match=message):
        list(CsvFile(table(tmp_path / "t.csv", text)))


def test_groups_of_a_table_must_exist_and_exclude_each_other() -> None:
    with pytest.raises(chacha.errors.ConfigError, match="column 'z', which is not there"):
        TableSpec(groups={"g": ("z",)}).group_columns(["a"])
    with pytest.raises(chacha.errors.ConfigError, match="two groups"):
        TableSpec(groups={"g": ("a",), "h": ("a",)}).group_columns(["a"])
