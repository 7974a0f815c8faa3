"""Broken on purpose: every way a file can be wrong, with the place in the message."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import os
import random
import resource
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import chacha
from chacha import ChaCha, NativePool, OnBad, TableSpec, open_source
from chacha.errors import BadExample, SourceError
from chacha.sources.reading import byte_stream
from chacha.sources.reading import lines as cutting
from chacha.sources.reading.prefetch import Prefetch
from tests.support.sources import bad, good, lines

NUMBERS = "".join(f"{i % 7},{i % 5}\n" for i in range(200))
SVM = "1 1:0.5 3:1\n"
ARFF = "@relation r\n@attribute c {u,v}\n@attribute x numeric\n@attribute y numeric\n@data\n"

ROWS: dict[str, tuple[str, str, str, str]] = {
    "ragged row": ("a.csv", "x,z,y\n1,2,3\n1,2\n4,5,6\n", "a.csv: row 2: the row has 2 cells", ""),
    "mixed types half-way": (
        "a.csv",
        f"x,y\n{NUMBERS}red,1\n2,3\n",
        "a.csv: row 201, column 'x': the cell is 'red', but the column holds numbers",
        "not a number",
    ),
    "mixed types half-way in JSON": (
        "a.jsonl",
        '{"x": 1, "y": 2}\n{"x": "red", "y": 2}\n',
        "a.jsonl:2: column 'x': the cell is 'red', but the column holds numbers",
        "not a number",
    ),
    "an integer beyond 2^53": (
        "a.csv",
        "id,y\n1,1\n9007199254740993,2\n",
        "a.csv: row 2, column 'id': the cell is 9007199254740993; whole numbers beyond 2^53",
        "integer beyond 2^53",
    ),
    "an integer beyond 2^53 in JSON": (
        "a.jsonl",
        '{"id": 1, "y": 2}\n{"id": 9007199254740993, "y": 2}\n',
        "a.jsonl:2: column 'id': the cell is 9007199254740993",
        "integer beyond 2^53",
    ),
    "a date that does not parse": (
        "a.csv",
        "d,y\n2026-11-15,1\n2026-13-45,2\n2026-11-16,2\n",
        "a.csv: row 2, column 'd': the cell is '2026-13-45', but the column holds dates",
        "not a date",
    ),
    "a category that ARFF does not declare": (
        "a.arff",
        f"{ARFF}u,1,1\nw,2,2\n",
        "a.arff:7, column 'c': 'w' is none of the declared categories: u, v",
        "undeclared category",
    ),
    "a ragged row of ARFF": (
        "a.arff",
        f"{ARFF}u,1,1\nu,2\n",
        "a.arff:7: the row has 2 cells, expected 3",
        "ragged row",
    ),
    "an open quote in ARFF": ("a.arff", f"{ARFF}u,1,1\n'u,2,3\n", "a.arff:7: ", ""),
    "a sparse ARFF row cut off": (
        "a.arff",
        f"{ARFF}u,1,1\n{{1 2\n",
        "a.arff:7: the row has '{'",
        "",
    ),
    "LIBSVM indices out of order": (
        "a.svm",
        f"{SVM}1 3:1 2:1\n",
        "a.svm:2: index 2 follows 3; indices must ascend",
        "index out of order",
    ),
    "LIBSVM indices repeated": (
        "a.svm",
        f"{SVM}1 3:1 3:2\n",
        "a.svm:2: index 3 occurs twice",
        "index repeated",
    ),
    "LIBSVM without a value": ("a.svm", f"{SVM}1 3: 4:1\n", "a.svm:2: '3:' is not index:value", ""),
    "LIBSVM with infinity": ("a.svm", f"{SVM}1 3:1e99\n", "a.svm:2: '3:1e99' has no finite", ""),
    "LIBSVM with a word as label": ("a.svm", f"{SVM}x 3:1\n", "a.svm:2: the label is 'x'", ""),
    "JSON cut in the middle": (
        "a.jsonl",
        '{"x": 1, "y": 2}\n{"x": 1, "y"',
        "a.jsonl:2: malformed JSON at character 13: expecting ':' delimiter; the line was cut",
        "malformed JSON",
    ),
    "JSON that is none": (
        "a.jsonl",
        '{"x": 1, "y": 2}\n{x: 1}\n',
        "a.jsonl:2: malformed JSON at character 2",
        "",
    ),
    "JSON that is a list": ("a.jsonl", '{"x": 1, "y": 2}\n[1]\n', "jq -c", ""),
    "a key twice": ("a.jsonl", '{"x": 1, "y": 2}\n{"x": 1, "x": 2, "y": 2}\n', "occurs twice", ""),
    "half a letter": (
        "a.jsonl",
        '{"x": 1, "y": 2}\n{"x\\ud800": 1, "y": 2}\n',
        "half a surrogate",
        "",
    ),
    "NaN in JSON": ("a.jsonl", '{"x": 1, "y": 2}\n{"x": NaN, "y": 2}\n', "a.jsonl:2: ", ""),
    "no target in JSON": (
        "a.jsonl",
        '{"x": 1, "y": 2}\n{"x": 3}\n',
        "a.jsonl:2: the record has no 'y', the target",
        "no label",
    ),
    "VW JSON cut in the middle": ("a.json", '{"_label": 1, "a": 1}\n{"_lab', "a.json:2: ", ""),
    "wrong encoding": (
        "a.csv",
        "c,y\nx,1\n\udce9,2\n",
        "a.csv: row 2, column 'c': the cell is",
        "",
    ),
}


def write(path: Path, text: str) -> Path:
    path.write_bytes(text.encode(errors="surrogateescape"))
    return path


@pytest.mark.parametrize("name", ROWS)
def test_a_bad_row_stops_with_its_place_or_is_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    file, text, message, reason = ROWS[name]
    write(Path(file), text)
    model = ChaCha.paper(pool=NativePool())
    with pytest.raises(BadExample) as error:
        model.run(file)
    assert message in str(error.value)
    assert str(error.value).startswith(file)
    assert reason in ("", error.value.reason)
    skipping = ChaCha.paper(pool=NativePool())
    summary = skipping.run(file, on_bad=OnBad.SKIP)
    assert sum(summary.skipped.values()) == 1
    assert summary.examples >= 1
    (first,) = summary.first_skipped.values()
    assert message in first
    assert first in str(summary)


FILES: dict[str, tuple[str, bytes, str]] = {
    "a quote never closed": (
        "a.csv",
        b'x,t,y\n4,z,9\n5,"a,1\n6,b,2\n',
        "a.csv: row 2: a quote is opened",
    ),
    "no @data": ("a.arff", b"@relation r\n@attribute x numeric\n", "a.arff: there is no @data"),
    "an unknown ARFF type": (
        "a.arff",
        b"@relation r\n@attribute x relational\n@data\n",
        "a.arff:2: attribute 'x' has the unknown type 'relational'",
    ),
    "words before @data": ("a.arff", b"@relation r\nhello\n@data\n", "a.arff:2: 'hello' does not"),
    "a JSON array": ("a.json", b"[\n{}\n]\n", "a.json:1: malformed JSON"),
    "no Parquet": ("a.parquet", b"PAR1 and nothing more", "a.parquet: is not a whole Parquet file"),
    "no Arrow": ("a.arrow", b"ARROW1 and no more", "a.arrow: is not a whole Arrow IPC"),
    "Feather 1": ("a.feather", b"FEA1 old", "a.feather: is Feather version 1"),
    "an empty file": ("a.csv", b"", "a.csv: is empty"),
    "an empty LIBSVM file": ("a.svm", b"", "a.svm: is empty"),
    "a JSON file without target": ("a.jsonl", b'{"x": {"a": 1}}\n', "name the field to predict"),
    "one column": ("a.csv", b"x\n1\n", "a.csv: one column only"),
}


@pytest.mark.parametrize("name", FILES)
def test_a_file_that_cannot_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    file, data, message = FILES[name]
    Path(file).write_bytes(data)
    with pytest.raises(chacha.errors.DataError) as error:
        ChaCha.paper(pool=NativePool()).run(file)
    assert message in str(error.value)


@pytest.mark.parametrize("suffix", ["gz", "bz2", "xz", "zst"])
def test_a_cut_off_file_is_reported_after_its_rows(tmp_path: Path, suffix: str) -> None:
    rng = random.Random(1)
    text = "".join(f"{rng.random()} |a x:{rng.random()}\n" for _ in range(30_000)).encode()
    squeeze: dict[str, Any] = {"gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress}
    data = squeeze[suffix](text) if suffix in squeeze else pa.compress(text, "zstd", asbytes=True)
    path = tmp_path / f"cut.vw.{suffix}"
    path.write_bytes(data[: len(data) * 4 // 5])
    source = open_source(path)
    rows: list[object] = []
    with pytest.raises(SourceError, match=r"cut\.vw\.\w+: cannot be read: .*cut off.*after line"):
        rows.extend(source)
    assert len(rows) > 2_000


def test_a_column_that_vanishes_in_the_second_file(tmp_path: Path) -> None:
    write(tmp_path / "a-1.csv", "x,z,y\n1,2,3\n4,5,6\n")
    write(tmp_path / "a-2.csv", "y,x\n1,2\n")
    write(tmp_path / "a-3.csv", "late,y,z,x\nred,9,8,7\n")
    files = str(tmp_path / "a-*.csv")
    with pytest.raises(BadExample, match=r"a-2\.csv: the file is left out: there is no column 'z'"):
        ChaCha.paper(pool=NativePool()).run(files)
    model = ChaCha.paper(pool=NativePool())
    summary = model.run(files, on_bad=OnBad.SKIP)
    assert summary.skipped == {"column missing": 1}
    assert "a-2.csv" in str(summary)
    assert summary.examples == 3
    rows = [row for row in open_source(files) if isinstance(row, chacha.Example)]
    assert rows[-1].label == 9.0, "the target goes by the name it had in the first file"
    late = rows[-1].groups
    assert sorted(f.name for f in late["x"] + late["z"]) == ["late=red", "x", "z"]


def test_several_files_are_one_stream(tmp_path: Path) -> None:
    text = lines(60)
    write(tmp_path / "s-1.vw", "\n".join(text[:20]) + "\n")
    (tmp_path / "s-2.vw.gz").write_bytes(gzip.compress("\n".join(text[20:40]).encode()))
    write(tmp_path / "s-3.vw", "\n".join(text[40:]))
    source = open_source(str(tmp_path / "s-*"))
    assert [row.line for row in good(source)] == text
    assert [row.line for row in good(source)] == text, "twice"
    assert source.name.endswith("s-1.vw and 2 more")
    paths = [tmp_path / "s-3.vw", tmp_path / "s-1.vw"]
    assert [row.line for row in good(chacha.sources.open_files(paths))] == text[40:] + text[:20]
    write(tmp_path / "s-4.vw", "1 |a x\nnan |a x\n")
    assert [
        text.partition(str(tmp_path))[2] for text in bad(open_source(str(tmp_path / "s-*")))
    ] == ["/s-4.vw:2: the label is 'nan'; labels must be finite numbers"]
    with pytest.raises(SourceError, match="no file matches"):
        open_source(str(tmp_path / "t-*"))
    with pytest.raises(chacha.errors.ConfigError, match="cannot be one of several"):
        chacha.sources.open_files(["-", "a.vw"])


def test_an_unknown_category_later_is_learned(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "c,y\n" + "u,1\nv,2\n" * 100 + "w,3\n")
    assert good(open_source(path))[-1].line == "3.0 |c c=w"


@pytest.mark.parametrize("squeeze", [gzip.compress, bz2.compress, lzma.compress])
def test_a_bomb_is_defused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, squeeze: object
) -> None:
    monkeypatch.setattr(byte_stream, "LEAST_BOMB", 1 << 20)
    assert callable(squeeze)
    path = tmp_path / "bomb.vw.gz"
    path.write_bytes(squeeze(b"1 |a x\n" + (b" " * 999 + b"\n") * (1 << 15)))
    with pytest.raises(SourceError, match=r"bomb.*more than 500 times longer.*decompress it first"):
        list(open_source(path))


def test_a_line_without_end_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cutting, "LONGEST_LINE", 1 << 20)
    path = tmp_path / "long.vw"
    path.write_bytes(b"1 |a x\n1 |a " + b"x " * (1 << 20))
    source = iter(open_source(path))
    assert isinstance(next(source), chacha.Example)
    with pytest.raises(SourceError, match=r"long\.vw: a line is longer than 1048576 bytes \(after"):
        next(source)


@contextmanager
def without_root() -> Iterator[None]:
    """Drop root's rights for a while, because root may read everything."""
    before = os.geteuid()
    if before == 0:
        os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(before)


def test_permission_denied(tmp_path: Path) -> None:
    for name in ("a.csv", "a.parquet", "a.arrow"):
        path = write(tmp_path / name, "x,y\n1,2\n")
        path.chmod(0)
        with without_root(), pytest.raises(SourceError, match=f"{name}: permission denied"):
            open_source(path)


def test_a_stream_larger_than_the_address_space(tmp_path: Path) -> None:
    """1.2 GB through a pipe into a process that may have 0.9 GB."""
    limit = 9 * 2**30 // 10
    words = [sys.executable, "-m", "chacha", "run", "-", "-q", "--tune", "none", "--json", "-"]
    run = subprocess.Popen(
        [*words, "--ignore", "note"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)),
    )
    assert run.stdin is not None
    assert run.stdout is not None
    block = b"".join(b"%d,%b,%d\n" % (i % 7, b"lorem " * 4000, i % 5) for i in range(35))
    run.stdin.write(b"x,note,y\n")
    for _ in range(1450):
        run.stdin.write(block)
    run.stdin.close()
    with run.stdout:
        result = json.loads(run.stdout.read())
    assert run.wait() == 0
    assert result["examples"] == 1450 * 35


def test_a_file_that_grows_is_read_to_its_old_end(tmp_path: Path) -> None:
    for name, row in (("a.vw", "1 |a x:5\n"), ("a.csv", "5,1\n"), ("a.jsonl", '{"x":5,"y":1}\n')):
        path = tmp_path / name
        head = "x,y\n" if name == "a.csv" else ""
        path.write_text(head + row * 30 + row[:3])  # a writer is in the middle of a line
        source = iter(open_source(path))
        with path.open("a") as file:
            file.write(row[3:] + row * 1000)
        rows = list(source)
        assert len([r for r in rows if isinstance(r, chacha.Example)]) == 30, name
        (last,) = (r for r in rows if isinstance(r, chacha.sources.Bad))
        assert (last.reason, last.harmless) == ("unfinished line", True)
        assert "grew while it was read" in str(last)
        assert "tail" in str(last)


def test_a_file_that_shrinks_is_reported(tmp_path: Path) -> None:
    for name, row in (("a.vw", "1 |a x:5\n"), ("a.csv", "5,1\n")):
        path = tmp_path / name
        path.write_text(("x,y\n" if name == "a.csv" else "") + row * 1_000_000)
        source = iter(open_source(path))
        assert isinstance(next(source), chacha.Example)
        os.truncate(path, 100)
        with pytest.raises(SourceError, match=rf"{name}: the file shrank while it was read.*after"):
            for _ in source:
                pass
    table = pa.table({"x": list(range(100_000)), "y": [random.random() for _ in range(100_000)]})
    path = tmp_path / "a.parquet"
    pq.write_table(table, path, row_group_size=5_000)
    source = iter(open_source(path))
    assert isinstance(next(source), chacha.Example)
    os.truncate(path, 100)
    with pytest.raises(SourceError, match=r"a\.parquet: cannot be read after row \d+"):
        for _ in source:
            pass


def test_integers_beyond_are_found_in_typed_columns_too(tmp_path: Path) -> None:
    table = pa.table({"id": [1, 2**53, -(2**53) - 1], "y": [1, 2, 3]})
    path = tmp_path / "a.parquet"
    pq.write_table(table, path)
    for what in (table, path, table.to_pandas()):
        (text,) = bad(open_source(what))
        assert "row 3, column 'id': the cell is -9007199254740993; whole numbers" in text
    kept = open_source(table, TableSpec(kinds={"id": chacha.sources.Kind.CATEGORY}))
    assert good(kept)[2].line == "3.0 |id id=-9007199254740993"
    floats = pa.table({"x": [1e20], "y": [1.0]})
    assert good(open_source(floats))[0].line.startswith("1.0 |x x:1")


def test_reading_keeps_ahead_and_no_further(tmp_path: Path) -> None:
    taken: list[int] = []

    def items() -> Iterator[int]:
        for i in range(100):
            taken.append(i)
            yield i

    reader = Prefetch(items(), most=3)
    assert next(reader) == 0
    deadline = time.monotonic() + 5
    while len(taken) < 5 and time.monotonic() < deadline:
        time.sleep(0.01)
    time.sleep(0.05)
    assert len(taken) == 5, "one taken, three waiting, one in hand"
    assert list(reader) == list(range(1, 100))


def test_the_background_reader_ends_with_the_run(tmp_path: Path) -> None:
    path = write(tmp_path / "a.vw", "1 |a x\n" * 500_000)
    before = threading.active_count()
    model = ChaCha.paper(pool=NativePool())
    model.run(path, limit=10)
    for _ in range(3):
        open_source(path)  # opened and forgotten
    deadline = time.monotonic() + 5
    while threading.active_count() > before and time.monotonic() < deadline:
        time.sleep(0.01)
    assert threading.active_count() == before


LEAVE_WHILE_READING = """
import atexit, sys, threading, time
# Handlers run last in, first out: this one comes after those of the modules imported below.
atexit.register(lambda: print(threading.active_count()))
from chacha.sources.reading.prefetch import Prefetch

def items():
    while True:
        time.sleep(0.001)
        yield 1

readers = [Prefetch(items()) for _ in range(3)]
print(next(readers[0]), threading.active_count())
sys.exit(3)
"""


def test_no_thread_reads_while_the_interpreter_ends() -> None:
    command = [sys.executable, "-c", LEAVE_WHILE_READING]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (ended.returncode, ended.stdout.split()) == (3, ["1", "4", "1"]), ended.stderr


def test_what_fails_in_the_background_is_raised_in_its_place() -> None:
    def items() -> Iterator[int]:
        yield 1
        raise OSError("the disk is gone")

    reader = Prefetch(items())
    assert next(reader) == 1
    with pytest.raises(OSError, match="the disk is gone"):
        next(reader)


def test_vw_json_files(tmp_path: Path) -> None:
    rows = [{"_label": 1, "a": {"x": 0.5}}, {"a": {"x": 1}}]
    path = write(tmp_path / "a.json", "".join(json.dumps(row) + "\n" for row in rows))
    first, second = open_source(path)
    assert isinstance(first, chacha.Example)
    assert first.line == "1.0 |a x:0.5"
    assert str(second) == f"{path}:2: the line has no label; learning needs one ('_label')"
