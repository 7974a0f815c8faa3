"""The order of columns, fields and keys does not matter, unless columns are grouped in order."""

from __future__ import annotations

import datetime as dt
import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy import sparse

from chacha import ChaCha, NativePool, TableSpec, open_source
from chacha.cli import flags
from chacha.compare.fixed_configs import MOST_PAIRS
from chacha.errors import ConfigError
from chacha.sources import Categories, DictReader, GroupBy, Missing, open_files, spec
from chacha.sources.spec import MOST_NAMED_GROUPS, named_groups, natural_order
from chacha.sources.tables.blocks import CellColumn, NumberColumn, TableBlock, blocks_of
from chacha.sources.tables.schema import Schema
from tests.support.command_line import cli
from tests.support.derived_runs import fast_model
from tests.support.sources import good, shown, write

NAMES = st.text(st.sampled_from("abxAé019_.: |"), min_size=1, max_size=5)
SPECS = (
    TableSpec(target="y"),
    TableSpec(target="y", group_by=GroupBy.NAME, most_groups=3),
    TableSpec(target="y", group_by=GroupBy.COLUMN),
    TableSpec(target="y", group_by=GroupBy.PREFIX),
    TableSpec(target="y", groups={"z": ("a*", "x*"), "b": ("b*",)}),
    TableSpec(target="y", categories=Categories.CODE, missing=Missing.INDICATOR),
    TableSpec(target="y", missing=Missing.OFFER),
)
ROWS = 150
WIDE = MOST_NAMED_GROUPS + 6  # columns that are more than groups


def shuffled(names: Sequence[str], seed: int) -> list[str]:
    return random.Random(seed).sample(list(names), len(names))


def table(numbers: int, rows: int = ROWS, seed: int = 1) -> pa.Table:
    """A table of numbers, words, dates, texts and empty cells, the target last."""
    rng = np.random.default_rng(seed)
    columns: dict[str, Any] = {f"x{i}": rng.normal(size=rows).round(4) for i in range(numbers)}
    columns["color"] = [("red", "green", "blue", None)[i] for i in rng.integers(0, 4, rows)]
    columns["holes"] = [None if v < 0.2 else round(float(v), 4) for v in rng.random(rows)]
    hours = rng.integers(0, 9000, rows)
    columns["day"] = [dt.datetime(2026, 1, 1) + dt.timedelta(hours=int(h)) for h in hours]
    words = np.array(["the", "quick", "brown", "fox", "jumps", "far"])
    columns["note"] = [" ".join(words[rng.integers(0, 6, 7)]) for _ in range(rows)]
    y = columns["x0"] * columns["x1"] + (np.array(columns["color"]) == "red") + columns["x2"]
    return pa.table({**columns, "y": y.round(4)})


def reordered(whole: pa.Table, seed: int) -> pa.Table:
    """The same table with its features in another order."""
    return whole.select([*shuffled(whole.column_names[:-1], seed), whole.column_names[-1]])


def contents(block: TableBlock) -> list[Any]:
    """A block by value, in the order of its groups and columns."""

    def column(one: Any) -> Any:
        if isinstance(one, NumberColumn):
            return one.name, one.values.tolist(), one.missing
        if isinstance(one, CellColumn):
            return [one.features(row) for row in range(len(one.cell_of))]
        return one.name, one.texts.to_pylist(), one.seed, one.missing

    groups = [(name, [column(one) for one in columns]) for name, columns in block.groups.items()]
    return [str([groups, block.labels.tolist(), dict(block.bad)])]


def rows_and_blocks(what: Any, settings: TableSpec, offer: bool = False) -> list[Any]:
    lines = shown(what, settings, reader=DictReader(offer_missing=offer))
    blocks = blocks_of(open_source(what, settings, DictReader(offer_missing=offer)))
    return [lines, [contents(b) if isinstance(b, TableBlock) else str(b) for b in blocks]]


@given(st.lists(NAMES, unique=True, max_size=9), st.integers())
def test_natural_order_is_total(names: list[str], seed: int) -> None:
    ordered = sorted(names, key=natural_order)
    assert sorted(shuffled(names, seed), key=natural_order) == ordered
    assert len({natural_order(name) for name in names}) == len(names)


def test_numbers_in_names_are_sorted_by_value() -> None:
    names = ["10", "9", "x1", "x01", "x2", "x10", f"x{'9' * 5000}", "x2b10", "x2b9", "X3", ""]
    in_order = ["", "9", "10", "X3", "x01", "x1", "x2", "x2b9", "x2b10", "x10", names[6]]
    assert sorted(names, key=natural_order) == in_order


@given(st.integers(1, 300), st.integers(1, 80))
def test_groups_by_name_have_nearly_equal_sizes(columns: int, most: int) -> None:
    names = [f"x{i}" for i in range(columns)]
    groups = named_groups(shuffled(names, columns), most)
    assert list(groups) == names, "sorted by name"
    sizes = [list(groups.values()).count(group) for group in dict.fromkeys(groups.values())]
    assert len(sizes) == min(columns, most)
    assert max(sizes) - min(sizes) <= 1
    assert columns > most or list(groups.values()) == names


@given(st.lists(NAMES, unique=True, min_size=1, max_size=9), st.sampled_from(SPECS), st.integers())
def test_the_layout_depends_on_the_set_of_names(
    names: list[str], settings: TableSpec, seed: int
) -> None:
    if settings.groups:
        names = list(dict.fromkeys([*names, "a", "b", "x"]))
    names = [name for name in names if name != "y"] or ["x"]

    def layout(columns: list[str]) -> str:
        schema = Schema(settings, "t", [*columns, "y"], DictReader())
        return str((schema.layout, schema.slots, schema.features, schema.wanted))

    assert layout(names) == layout(shuffled(names, seed))
    schema, reader = Schema(settings, "t", [*names, "y"], DictReader()), DictReader()
    reader.adopt(settings)
    leaves = reader.leaves(dict.fromkeys(shuffled(names, seed), 1.0))
    expected = [name for columns in schema.layout.values() for name in columns]
    assert [leaf.path for leaf in leaves] == expected, "the layout of a dict is that of a table"
    assert [leaf.group for leaf in leaves] == [schema.slots[name][0] for name in expected]


CELLS = st.one_of(
    st.lists(st.one_of(st.none(), st.floats(-9, 9, width=16)), min_size=20, max_size=20),
    st.lists(st.sampled_from([None, "red", "dark blue", "2026-11-15"]), min_size=20, max_size=20),
    st.lists(st.sampled_from([dt.datetime(2026, 11, 15, 10), None]), min_size=20, max_size=20),
    st.lists(st.sampled_from([[1.0, 2.5], None]), min_size=20, max_size=20),
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.dictionaries(NAMES.filter(lambda name: name != "y"), CELLS, min_size=1, max_size=7),
    st.sampled_from([one for one in SPECS if not one.groups]),
    st.integers(),
)
def test_rows_and_blocks_are_the_same_for_any_order(
    columns: dict[str, list[Any]], settings: TableSpec, seed: int
) -> None:
    whole = pa.table({**columns, "y": np.arange(20.0)})
    assert rows_and_blocks(reordered(whole, seed), settings) == rows_and_blocks(whole, settings)


GIVEN = TableSpec(target="y", groups={"z": ("x*",), "b": ("*o*",)})


def shuffled_keys(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The same records, each with its keys in another order."""
    return [{k: r[k] for k in shuffled([*r], i)} for i, r in enumerate(records)]


@pytest.mark.parametrize("settings", [*(one for one in SPECS if not one.groups), GIVEN])
@pytest.mark.parametrize("numbers", [3, WIDE])
def test_every_source_has_the_same_examples_in_any_order(
    tmp_path: Path, settings: TableSpec, numbers: int
) -> None:
    """Tables, records and files; also with more columns than groups."""
    whole = table(numbers, rows=40)
    expected = rows_and_blocks(whole, settings, offer=True)
    for seed in range(2):
        other = reordered(whole, seed)
        assert rows_and_blocks(other, settings, offer=True) == expected
        pq.write_table(other, tmp_path / "t.parquet")
        pacsv.write_csv(other, tmp_path / "t.csv")
        for what in (
            *(other.to_pandas(), pl.from_arrow(other), tmp_path / "t.parquet"),
            *(tmp_path / "t.csv", other.to_pylist(), shuffled_keys(other.to_pylist())),
        ):
            assert shown(what, settings, reader=DictReader(offer_missing=True)) == expected[0]


def test_structs_and_dicts_of_dicts_are_sorted_too() -> None:
    rows = [
        {"user": {"x10": 1.5, "x9": "u"}, "b": 2.0, "item": {"z": i, "a": None}, "a": 3.0, "y": i}
        for i in range(20)
    ]
    settings = TableSpec(target="y", missing=Missing.OFFER)
    line = "1.0 | a:3.0 b:2.0 |item z |user x9=u x10:1.5 |missing(item) a"
    whole = pa.Table.from_pylist(rows)
    whole = whole.set_column(2, "item", pa.array([{"z": i, "a": None} for i in range(20)]))
    other = whole.select(["a", "item", "b", "user", "y"])
    other = other.set_column(3, "user", pa.array([{"x9": "u", "x10": 1.5}] * 20))
    for what in (rows, shuffled_keys(rows), whole, other):
        assert shown(what, settings)[1] == line
        assert (
            rows_and_blocks(what, settings) == rows_and_blocks(rows, settings) or what is not rows
        )
    assert rows_and_blocks(whole, settings) == rows_and_blocks(other, settings)


def test_later_files_and_dicts_keep_the_order(tmp_path: Path) -> None:
    """A new column has its place among the others of its group, in a table as in a dict."""
    first = write(tmp_path / "a.csv", "x10,x9,b,y\n1.5,2.5,3.5,1\n")
    write(tmp_path / "b.csv", "b,new,x9,x10,y\n3.5,7.5,2.5,1.5,2\n")
    write(tmp_path / "c.csv", "x9,x10,new,b,y\n2.5,1.5,7.5,3.5,2\n")
    late = "2.0 |b b:3.5 new:7.5 |x9 x9:2.5 |x10 x10:1.5"
    for name in ("b.csv", "c.csv"):
        reader = DictReader()
        rows = good(open_files([first, tmp_path / name], reader=reader))
        assert [row.line for row in rows] == ["1.0 |b b:3.5 |x9 x9:2.5 |x10 x10:1.5", late]
        row = {"new": 7.5, "x10": 1.5, "b": 3.5, "x9": 2.5}
        assert reader.example(row).with_label(2.0).line == late


def history(model: ChaCha) -> list[Any]:
    return [decision.to_json() for decision in model.decisions]


@pytest.mark.parametrize("numbers", [6, WIDE])
def test_models_predict_and_decide_the_same_to_the_bit(numbers: int) -> None:
    """Tables and records in memory, and dicts one by one, whatever the order of their columns."""
    whole = table(numbers, rows=600 if numbers < WIDE else 400)

    def fresh() -> ChaCha:
        return fast_model(NativePool(), seed=1, space=None)

    def run(what: Any) -> Any:
        model = fresh()
        steps = model.chunks(model.open(what, TableSpec(target="y")), record=True)
        served = [p for chunk in steps if chunk.served for p in chunk.served.predictions]
        return served, history(model)

    expected = run(whole)
    promotions = [decision for decision in expected[1] if decision["kind"] == "Promoted"]
    assert promotions or numbers == WIDE, "else it proves little"
    other = reordered(whole, 5)
    assert run(other) == run(other.to_pandas()) == run(pl.from_arrow(other)) == expected
    assert run(shuffled_keys(other.to_pylist())) == run(whole.to_pylist())
    one, two = fresh(), fresh()
    floats = [{n: v for n, v in r.items() if n not in ("day", "note")} for r in whole.to_pylist()]
    for straight, mixed in zip(floats, shuffled_keys(floats), strict=True):
        y = straight.pop("y")
        del mixed["y"]
        assert one.predict_one(straight) == two.predict_one(mixed)
        assert one.learn_one(straight, y) == two.learn_one(mixed, y)


@pytest.mark.parametrize(
    ("form", "numbers"), [("csv", 5), ("csv", WIDE), ("parquet", 5), ("jsonl", 5), ("arff", 5)]
)
@pytest.mark.parametrize("words", [[], ["--group", "g=x*,day", "--group", "f=*o*"]], ids=str)
def test_runs_write_the_same_bytes_for_any_order(
    tmp_path: Path, form: str, numbers: int, words: list[str]
) -> None:
    """Predictions, decisions, and why rows are bad."""
    whole = table(numbers, rows=300).drop_columns(["note"])
    if form == "csv":  # one row is bad for two reasons, in two columns
        texts = ["oops", *map(str, whole["x0"].to_pylist()[1:])]
        whole = whole.set_column(0, "x0", pa.array(texts))
        at = whole.column_names.index("holes")
        whole = whole.set_column(at, "holes", pa.array([9007199254740993, *range(299)]))
    seen = set()
    for seed in range(3):
        path, outputs = tmp_path / f"t.{form}", [tmp_path / "p.txt", tmp_path / "d.jsonl"]
        path.write_bytes(as_file(reordered(whole, seed), form))
        done = cli(
            *("run", str(path), "-q", "--target", "y", "--on-bad", "skip", "--json", "-", *words),
            *("--predictions", str(outputs[0]), "--save-decisions", str(outputs[1])),
        )
        result = json.loads(done.stdout)
        for volatile in ("seconds", "cpu_seconds", "peak_rss_mb"):
            del result[volatile]
        seen.add((*(output.read_bytes() for output in outputs), json.dumps(result)))
        assert result["examples"] == 300 - (form == "csv")
    assert len(seen) == 1


def as_file(whole: pa.Table, form: str) -> bytes:
    """A table in a file format."""
    sink = pa.BufferOutputStream()
    if form == "parquet":
        pq.write_table(whole, sink)
    elif form == "csv":
        pacsv.write_csv(whole, sink)
    elif form == "jsonl":
        rows = (json.dumps(row | {"day": str(row["day"])}) for row in whole.to_pylist())
        return "\n".join(rows).encode()
    else:
        kinds = {"color": "{red,green,blue}", "day": 'date "yyyy-MM-dd HH:mm:ss"'}
        head = [f"@attribute {name} {kinds.get(name, 'real')}" for name in whole.column_names]
        cells = (
            ",".join("?" if v is None else f"'{v}'" for v in row.values())
            for row in whole.to_pylist()
        )
        return "\n".join(["@relation t", *head, "@data", *cells]).encode()
    return bytes(sink.getvalue())


IN_ORDER = "x10,color,x9,x8,b,x7,x6,a,x5,x4,x3,holes,x2,x1,y"
IN_ORDER_ROWS = ["1,red,2,3,4,5,6,7,8,9,10,,12,13,0.5", "2,blue,1,2,3,4,5,6,7,8,9,10,11,12,1.5"]


def test_groups_in_order_are_those_of_the_paper(tmp_path: Path) -> None:
    """What --namespaces, --group-by order and --paper-protocol gave before columns were sorted."""
    path = write(tmp_path / "t.csv", "\n".join([IN_ORDER, *IN_ORDER_ROWS]) + "\n")
    ten = [
        "0.5 |a x10 color=red |b x9:2.0 x8:3.0 |c b:4.0 x7:5.0 |d x6:6.0 a:7.0 "
        "|e x5:8.0 x4:9.0 |f x3:10.0 |g x2:12.0 x1:13.0",
        "1.5 |a x10:2.0 color=blue |b x9 x8:2.0 |c b:3.0 x7:4.0 |d x6:5.0 a:6.0 "
        "|e x5:7.0 x4:8.0 |f x3:9.0 holes:10.0 |g x2:11.0 x1:12.0",
    ]
    for words in (["--namespaces", "10"], ["--group-by", "order"]):
        assert cli("convert", path, "-o", "-", *words).stdout.splitlines() == ten
    three = [
        "0.5 |a x10 color=red x9:2.0 x8:3.0 b:4.0 |b x7:5.0 x6:6.0 a:7.0 x5:8.0 x4:9.0 "
        "|c x3:10.0 x2:12.0 x1:13.0",
        "1.5 |a x10:2.0 color=blue x9 x8:2.0 b:3.0 |b x7:4.0 x6:5.0 a:6.0 x5:7.0 x4:8.0 "
        "|c x3:9.0 holes:10.0 x2:11.0 x1:12.0",
    ]
    assert shown(path, TableSpec(most_groups=3)) == three
    coded = [line.replace("color=red", "").replace("color=blue", "color") for line in ten]
    paper = cli("convert", path, "-o", "-", "--paper-protocol", "--log-target", "off").stdout
    assert [" ".join(line.split()) for line in coded] == paper.splitlines()
    few = write(tmp_path / "few.csv", "x,c,b,y\n1.5,u,2.5,1\n")
    assert shown(few, TableSpec(most_groups=10)) == ["1.0 |x x:1.5 |c c=u |b b:2.5"]
    assert shown(few) == ["1.0 |b b:2.5 |c c=u |x x:1.5"]


def test_records_in_order_are_divided_by_sorted_name() -> None:
    """As before; natural order is for groups by name."""
    row = dict.fromkeys(shuffled(IN_ORDER.split(",")[:-1], 1), 1.5) | {"y": 1}
    (line,) = shown([row], TableSpec(target="y", most_groups=10))
    assert line == (
        "1.0 |a a:1.5 b:1.5 |b color:1.5 holes:1.5 |c x1:1.5 x10:1.5 |d x2:1.5 x3:1.5 "
        "|e x4:1.5 x5:1.5 |f x6:1.5 x7:1.5 |g x8:1.5 x9:1.5"
    )


def test_what_is_not_given_follows_from_what_is() -> None:
    for one, how, most in (
        (TableSpec(), GroupBy.NAME, MOST_NAMED_GROUPS),
        (TableSpec(most_groups=7), GroupBy.ORDER, 7),
        (TableSpec(group_by=GroupBy.ORDER), GroupBy.ORDER, 10),
        (TableSpec(group_by=GroupBy.NAME, most_groups=7), GroupBy.NAME, 7),
    ):
        assert (one.grouped_by, one.group_limit) == (how, most)
        assert one.explicit().groups_as(one)
    assert TableSpec().groups_as(TableSpec(group_by=GroupBy.NAME))
    assert not TableSpec().groups_as(TableSpec(most_groups=MOST_NAMED_GROUPS)), "these are in order"
    assert MOST_NAMED_GROUPS * (MOST_NAMED_GROUPS - 1) // 2 <= MOST_PAIRS
    with pytest.raises(ConfigError, match="most_groups must be at least 1"):
        TableSpec(most_groups=0)


def test_the_protocol_refuses_other_groups() -> None:
    same: list[dict[str, Any]] = [{}, {"namespaces": 10}, {"group_by": GroupBy.ORDER}]
    for words in same:
        protocol = flags.paper_protocol(["t.csv"], flags.table_spec(**words), None)
        assert (protocol.group_by, protocol.most_groups) == (GroupBy.ORDER, 10)
    others: list[dict[str, Any]] = [
        {"namespaces": 9},
        {"group_by": GroupBy.NAME},
        {"group": ["g=x"]},
        {"group": ["g=x"], "namespaces": 10},
    ]
    for words in others:
        with pytest.raises(ConfigError, match="leave --namespaces, --group and --group-by out"):
            flags.paper_protocol(["t.csv"], flags.table_spec(**words), None)


def test_a_dry_run_tells_how_columns_formed_groups(tmp_path: Path) -> None:
    names = [f"x{i}" for i in range(WIDE)]
    row = dict.fromkeys([*names, "y"], 1.5)
    csv = write(tmp_path / "t.csv", f"{','.join(row)}\n{','.join(map(str, row.values()))}\n")
    lines = write(tmp_path / "t.jsonl", json.dumps(row) + "\n")
    nested = write(tmp_path / "n.jsonl", '{"a": {"x": 1}, "y": 1}\n')
    pq.write_table(pa.table({"a": [{"x": 1, "z": 2}], "b": [1], "y": [1]}), tmp_path / "s.parquet")
    for path, words, line in (
        (csv, [], f"{WIDE} columns in {MOST_NAMED_GROUPS} groups, by name"),
        (csv, ["--ignore", "x1*"], f"{WIDE - 11} columns: one group each"),
        (csv, ["--namespaces", "10"], f"{WIDE} columns in 10 groups, in order"),
        (
            csv,
            ["--group-by", "name", "--namespaces", "10"],
            f"{WIDE} columns in 10 groups, by name",
        ),
        (csv, ["--group", "g=x1*"], f"{WIDE} columns in 2 groups, as given"),
        (csv, ["--group-by", "column"], f"{WIDE} columns: one group each"),
        (csv, ["--group-by", "prefix", "--tag", "x1"], f"{WIDE - 1} columns: one group each"),
        (lines, [], f"{WIDE} fields in {MOST_NAMED_GROUPS} groups, by name"),
        (str(tmp_path / "s.parquet"), [], "3 columns in 2 groups, by struct"),
    ):
        assert f"\n{line}\n" in cli("run", path, "--dry-run", *words).stdout
    assert "one group each" not in cli("run", nested, "--dry-run").stdout


def test_the_number_of_groups_is_one_constant(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spec, "MOST_NAMED_GROUPS", 3)
    row = {"d": 1.5, "a": 1.5, "c": 1.5, "b": 1.5}
    expected = "1.0 |a a:1.5 b:1.5 |b c:1.5 |c d:1.5"
    frame = pd.DataFrame([row | {"y": 1.0}])
    for what in (frame, [row | {"y": 1.0}], [(row, 1.0)]):
        target = None if isinstance(what, list) and isinstance(what[0], tuple) else "y"
        assert shown(what, TableSpec(target=target)) == [expected]
    matrix = np.full((1, 4), 1.5)
    by_index = ["1.0 |a x0:1.5 x1:1.5 |b x2:1.5 |c x3:1.5"]
    assert shown(matrix, y=[1.0]) == shown(sparse.csr_array(matrix), y=[1.0]) == by_index
