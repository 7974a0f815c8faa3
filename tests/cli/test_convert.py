"""`chacha convert` and `chacha run --dry-run`: how a source is interpreted."""

from __future__ import annotations

import gzip
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import chacha
from chacha import ChaCha, Example, TableSpec, open_source
from chacha.sources.writers import open_writer
from tests.support.command_line import cli
from tests.support.sources import good, lines
from tests.support.table_files import ROWS, TABLE, WRITERS


def run_history(path: Path | str, table: TableSpec | None = None) -> tuple[list[float], list[Any]]:
    model = ChaCha.paper(seed=3, keep_decisions=10**6)
    steps = model.steps(model.open(str(path), table))
    return [step.prediction for step in steps], [d.to_json() for d in model.decisions]


@pytest.mark.parametrize("name", ["out.vw", "out.vw.gz", "out.vw.zst", "out.parquet"])
def test_a_round_trip_gives_identical_results(tmp_path: Path, name: str) -> None:
    """Words, dates, booleans, empty cells and unusual names, all through a file."""
    source = tmp_path / "t.csv"
    WRITERS["t.csv"](source)
    flags = ["--missing", "indicator", "--tag", "color", "--namespaces", "3"]
    done = cli("convert", str(source), "-o", str(tmp_path / name), *flags)
    assert f"{ROWS} examples written" in done.stderr
    spec = TableSpec(missing=chacha.sources.Missing.INDICATOR, tag="color", most_groups=3)
    expected, history = run_history(source, spec)
    assert run_history(tmp_path / name) == (expected, history)
    assert len({round(p, 3) for p in expected}) > 20, (
        "a model that predicts one value proves nothing"
    )


def test_a_round_trip_of_a_long_stream(tmp_path: Path) -> None:
    """A stream with promotions."""
    path = tmp_path / "s.vw"
    path.write_text("\n".join(lines(3000)) + "\n")
    expected = run_history(path)
    assert any(decision["kind"] == "Promoted" for decision in expected[1])
    for name in ("o.parquet", "o.vw"):
        cli("convert", str(path), "-o", str(tmp_path / name))
        assert run_history(tmp_path / name) == expected


NAMES = st.text(st.sampled_from("ab1:=é|' "), min_size=1, max_size=4)
VALUES = st.one_of(st.floats(-1e6, 1e6, width=32), st.sampled_from([0.0, 1.0, -1.0, 0.1, 1e-20]))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.dictionaries(NAMES, st.dictionaries(NAMES, VALUES, max_size=3), min_size=1, max_size=3),
        min_size=1,
        max_size=5,
    )
)
def test_parquet_of_examples_holds_every_feature(tmp_path: Path, rows: list[Any]) -> None:
    examples = good(open_source([(row, 0.5) for row in rows]))
    path = str(tmp_path / "e.parquet")
    writer = open_writer(path)
    for example in examples:
        writer.write(example)
    writer.close()
    read = good(open_source(path))
    assert [e.groups for e in read] == [e.groups for e in examples]
    assert [chacha.data.parse_line(e.line).groups for e in read] == [e.groups for e in examples]


def test_parquet_of_examples_holds_everything_that_vw_text_can(tmp_path: Path) -> None:
    text = ["1 2 0.5 'tag|a:2 x:0.1 color:red :3 :4 |b y | z:7", "-1 |a x"]
    source = tmp_path / "s.vw"
    source.write_text("\n".join(text) + "\n")
    cli("convert", str(source), "-o", str(tmp_path / "e.parquet"))
    rows, read = good(open_source(source)), good(open_source(tmp_path / "e.parquet"))
    for a, b in zip(rows, read, strict=True):
        assert (a.groups, a.label, a.weight, a.initial, a.tag) == (
            b.groups,
            b.label,
            b.weight,
            b.initial,
            b.tag,
        )
    table = pq.read_table(tmp_path / "e.parquet")
    assert table.column_names == ["label", "weight", "initial", "tag", "features"]


def test_convert_to_stdout_and_its_limits(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("x,y\n2,1\nred,2\n3,3\n4,4\n")
    assert f"{path}: row 2, column 'x'" in cli("convert", str(path), "-o", "-", rc=1).stderr
    done = cli("convert", str(path), "-o", "-", "--on-bad", "skip", "--limit", "2")
    assert done.stdout == "1.0 |x x:2.0\n3.0 |x x:3.0\n"
    assert f"skipped: 1 not a number; first: {path}: row 2, column 'x'" in done.stderr
    assert "it is read from" in cli("convert", str(path), "-o", str(path), rc=2).stderr
    assert "choose .vw" in cli("convert", str(path), "-o", "out.xls", rc=2).stderr
    assert (
        "no examples" in cli("convert", "-", "-o", "-", "--format", "vw", stdin="\n\n", rc=1).stderr
    )
    assert not (tmp_path / "out.xls").exists()


def test_a_reader_of_convert_that_leaves_causes_no_traceback(tmp_path: Path) -> None:
    command = f"{sys.executable} -m chacha convert synth:fried,n=20000 -o - | head -n 2"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True)
    assert len(done.stdout.splitlines()) == 2
    assert "Traceback" not in done.stderr


def test_a_reader_of_the_messages_that_leaves_does_not_end_the_run(tmp_path: Path) -> None:
    path = tmp_path / "s.vw"
    path.write_text("\n".join(lines(3000)) + "\n")
    result = tmp_path / "r.json"
    read, write = os.pipe()
    os.close(read)
    words = [sys.executable, "-m", "chacha", "run", str(path), "-P", "10", "--json", str(result)]
    subprocess.run(words, stderr=write, check=True)
    os.close(write)
    assert json.loads(result.read_text())["examples"] == 3000


def test_dry_run_prints_how_a_source_is_interpreted(tmp_path: Path) -> None:
    path = tmp_path / "rides.csv"
    path.write_text(
        "when;km;zone;tip\n2026-11-15 08:00;1,5;Bronx;2\n2026-11-15 09:30;2,25;Queens;x\n"
        "2026-11-16 07:00;3,0;;4\n"
    )
    assert cli("run", str(path), "--dry-run").stdout == (
        f"{path}: CSV, delimiter ';', line 1 names the columns, decimal ','\n"
        "target: tip\n"
        "3 columns: one group each\n"
        "column  type      group  first values\n"
        "km      number    km     1,5, 3,0\n"
        "when    datetime  when   2026-11-15 08:00, 2026-11-16 07:00\n"
        "zone    category  zone   Bronx\n"
        "the first examples as VW text:\n"
        "  2.0 |km km:1.5 |when when.year:2026.0 when.month:11.0 when.day:15.0 when.weekday:6.0 "
        "when.hour:8.0 |zone zone=Bronx\n"
        "  4.0 |km km:3.0 |when when.year:2026.0 when.month:11.0 when.day:16.0 when.hour:7.0 "
        "|zone\n"
        "among the first 1000 rows, 1 not a number; first: "
        f"{path}: row 2, column 'tip': the cell is 'x'; the target must be numbers (or name one of "
        "two classes: --positive)\n"
    )


@pytest.mark.parametrize("name", [*WRITERS, "s.vw", "s.svm"])
def test_dry_run_knows_every_format(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    if name in WRITERS:
        WRITERS[name](path)
    else:
        path.write_text("\n".join(lines(9) if name == "s.vw" else ["1 1:2 3:4"] * 9) + "\n")
    output = cli("run", str(path), "--dry-run").stdout
    assert "the first examples as VW text:" in output
    assert str(path) in output
    if name in WRITERS and not name.endswith(".jsonl"):
        assert re.search(r"\nwhen +datetime  when +2026-", output)
        assert re.search(r"\ncolor +category  color +", output)


STDIN = {
    "csv": "x,c,y\n1.5,u,1\n2.5,v,2\n",
    "tsv": "x\tc\ty\n1.5\tu\t1\n2.5\tv\t2\n",
    "jsonl": '{"x": 1.5, "c": "u", "y": 1}\n{"x": 2.5, "c": "v", "y": 2}\n',
    "arff": "@relation r\n@attribute x real\n@attribute c {u,v}\n@attribute y real\n@data\n"
    "1.5,u,1\n2.5,v,2\n",
    "vw": "1.0 |x x:1.5 |c c=u\n2.0 |x x:2.5 |c c=v\n",
    "vwjson": '{"_label": 1, "x": {"x": 1.5}, "c": {"c=u": 1}}\n'
    '{"_label": 2, "x": {"x": 2.5}, "c": {"c=v": 1}}\n',
}


@pytest.mark.parametrize("form", STDIN)
def test_every_line_format_from_stdin(form: str) -> None:
    expected = [chacha.data.parse_line(line).groups for line in STDIN["vw"].splitlines()]
    for flags in ([], ["--format", form]):
        done = cli("convert", "-", "-o", "-", *flags, stdin=STDIN[form])
        assert [
            chacha.data.parse_line(line).groups for line in done.stdout.splitlines()
        ] == expected
    done_bytes = subprocess.run(
        [sys.executable, "-m", "chacha", "convert", "-", "-o", "-"],
        input=gzip.compress(STDIN[form].encode()),
        capture_output=True,
        check=True,
    )
    assert len(done_bytes.stdout.splitlines()) == 2, "also compressed"


def test_libsvm_from_stdin() -> None:
    for flags in ([], ["--format", "libsvm"]):
        done = cli("convert", "-", "-o", "-", *flags, stdin="1 1:1.5 2:2\n-1 2:3\n")
        assert done.stdout == "1.0 |a 1:1.5 |b 2:2.0\n-1.0 |a |b 2:3.0\n"


def test_arrow_from_stdin_and_parquet_that_needs_a_file(tmp_path: Path) -> None:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, TABLE.schema) as file:
        file.write_table(TABLE)
    words = [sys.executable, "-m", "chacha", "convert", "-", "-o", "-", "--format", "arrow"]
    done = subprocess.run(
        words, input=sink.getvalue().to_pybytes(), capture_output=True, check=True
    )
    assert len(done.stdout.splitlines()) == ROWS
    error = cli("run", "-", "--format", "parquet", stdin="PAR1", rc=1).stderr
    assert "needs a file" in error


def test_flags_that_describe_a_table(tmp_path: Path) -> None:
    path = tmp_path / "t.txt"
    path.write_text(
        "id|day|user_zip|user_age|noise|w|class\n"
        "a|15/11/2026|10115|31|x|2|yes\nb|16/11/2026|10117|n.a.|y|1|no\n"
    )
    done = cli(
        "convert", str(path), "-o", "-", "--format", "csv", "--tag", "id", "--weight", "w",
        "--positive", "yes", "--type", "day=datetime:%d/%m/%Y", "--type", "*zip=category",
        "--ignore", "noise", "--group-by", "prefix", "--null", "n.a.", "--missing", "indicator",
    )  # fmt: skip
    assert done.stdout.splitlines() == [
        "1.0 2.0 'a|day day.year:2026.0 day.month:11.0 day.day:15.0 day.weekday:6.0 "
        "|user user_age:31.0 user_zip=10115",
        "-1.0 'b|day day.year:2026.0 day.month:11.0 day.day:16.0 "
        "|user user_age=missing user_zip=10117",
    ]
    for flags, message in (
        (["--type", "day=week"], "--type needs COLUMN=TYPE"),
        (["--type", "day"], "--type needs COLUMN=TYPE"),
        (["--type", "user_age=number:%d"], "--type needs COLUMN=TYPE"),
        (["--group", "x"], "--group needs NAME=COLUMN"),
        (["--group", "x=day", "--group-by", "prefix"], "exclude each other"),
        (["--delimiter", "ab"], "must be one character"),
        (["--encoding", "klingon"], "there is no encoding"),
        (["--target", "w", "--weight", "w"], "cannot be target, weight and tag at once"),
        (["--ignore", "nose"], "--ignore names column 'nose', which is not there"),
    ):
        error = cli("run", str(path), "--format", "csv", "--delimiter", "|", *flags, rc=2).stderr
        assert message in error


def test_several_sources_on_the_command_line(tmp_path: Path) -> None:
    text = lines(40)
    for i in range(2):
        (tmp_path / f"s{i}.vw").write_text("\n".join(text[20 * i : 20 * i + 20]) + "\n")
    paths = [str(tmp_path / f"s{i}.vw") for i in range(2)]
    for words in (paths, [str(tmp_path / "s*.vw")]):
        assert cli("convert", *words, "-o", "-").stdout.splitlines() == text
    result = json.loads(cli("run", *paths, "-q", "--json", "-").stdout)
    assert (result["source"], result["examples"]) == (f"{paths[0]} and 1 more", 40)
    pattern = str(tmp_path / "s*.vw")
    assert "it is read from" in cli("run", pattern, "--json", paths[1], rc=2).stderr


def test_the_first_of_each_reason_is_in_the_result(tmp_path: Path) -> None:
    path = tmp_path / "s.vw"
    path.write_text("1 |a x\nnan |a x\n2 |a x\nnan |a y\n|a z\n")
    done = cli("run", str(path), "--on-bad", "skip", "--json", "-")
    result = json.loads(done.stdout)
    assert result["skipped_by_reason"] == {"label not finite": 2, "no label": 1}
    assert result["first_skipped"]["label not finite"].startswith(f"{path}:2: ")
    assert result["first_skipped"]["no label"].startswith(f"{path}:5: ")
    assert f"  2 label not finite; first: {path}:2: " in done.stderr


def test_dry_run_needs_no_learner(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("x,y\n1,2\n")
    code = (
        "import sys; sys.modules['vowpalwabbit'] = None\n"
        f"sys.argv = ['chacha', 'run', {str(path)!r}, '--dry-run']\n"
        "from chacha.cli import main; main()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "target: y" in done.stdout


def test_examples_of_a_file_are_examples() -> None:
    assert all(isinstance(row, Example) for row in open_source(TABLE))
