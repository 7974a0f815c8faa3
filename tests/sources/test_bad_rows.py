"""Bad input is normal: an error with place and remedy, or a counted policy, and no harm."""

from __future__ import annotations

import gzip
import math
import random
from pathlib import Path
from typing import Any

import pytest

import chacha
from chacha import ChaCha, Example, NativePool, OnBad, TableSpec
from chacha.errors import BadExample, SourceError
from chacha.sources import Categories, Rows
from tests.support.sources import lines

CLEAN = lines(1300)
AT = 250

BAD_LINES = {
    "NaN label": ("nan |a 0:1", "label not finite"),
    "infinite label": ("inf |a 0:1", "label not finite"),
    "label beyond float32": ("1e39 |a 0:1", "label not finite"),
    "NaN value": ("1 |a 0:nan", "value not finite"),
    "infinite value": ("1 |a 0:-inf", "value not finite"),
    "value beyond float32": ("1 |a 0:1e39", "value not finite"),
    "NaN group weight": ("1 |a:nan 0:1", "group weight not finite"),
    "missing label": ("|a 0:1", "no label"),
    "missing label with tag": ("'tag |a 0:1", "no label"),
    "empty line": ("", "empty line"),
    "blanks": ("   ", "empty line"),
    "no bar": ("1 a b c", "malformed"),
    "a word for a label": ("high |a 0:1", "label not finite"),
    "too many words": ("1 1 0 9 'tag |a 0:1", "malformed"),
    "negative weight": ("1 -1 |a 0:1", "weight negative"),
    "number with a tail": ("1 |a 0:1.5x", "value not finite"),
    "nothing after the colon": ("1 |a 0: 1:2", "malformed"),
    "a word that touches the bar": ("1 |a c:red|b 0:1", "malformed"),
    "carriage return inside": ("1 |a 0:1 \r |b 0:1", "malformed"),
}


def run_with(model: ChaCha, rows: list[Any], **settings: Any) -> list[float]:
    source = Rows(rows, "clicks.vw")
    return [step.prediction for step in model.steps(source, **settings)]


@pytest.fixture(scope="module")
def clean() -> tuple[list[float], list[dict[str, Any]]]:
    model = ChaCha.paper(keep_decisions=10**6)
    return run_with(model, CLEAN), [d.to_json() for d in model.decisions]


@pytest.mark.parametrize("name", BAD_LINES)
def test_a_bad_line_is_an_error_that_names_its_place(name: str) -> None:
    line, reason = BAD_LINES[name]
    rows = [*CLEAN[:20], line, *CLEAN[20:40]]
    model = ChaCha.paper(pool=NativePool())
    if reason == "empty line":
        run_with(model, rows)
        assert model.skipped == {"empty line": 1}
        assert model.examples == 40
        return
    with pytest.raises(BadExample) as error:
        run_with(model, rows)
    assert str(error.value).startswith("clicks.vw: row 21: ")
    assert "--on-bad skip" in str(error.value)
    assert model.examples == 20


@pytest.mark.parametrize("name", BAD_LINES)
def test_a_skipped_line_is_counted_and_does_no_harm(
    name: str, clean: tuple[list[float], list[dict[str, Any]]]
) -> None:
    """The next 1000 predictions and all decisions equal a run without the bad line."""
    line, reason = BAD_LINES[name]
    model = ChaCha.paper(keep_decisions=10**6)
    predictions = run_with(model, [*CLEAN[:AT], line, *CLEAN[AT:]], on_bad=OnBad.SKIP)
    assert model.skipped == {reason: 1}
    assert predictions == clean[0]
    assert [d.to_json() for d in model.decisions] == clean[1]


BAD_CELLS = {
    "ragged": ("1,2", "ragged row"),
    "a word": ("0.5,oops,u,1", "not a number"),
    "nan": ("nan,1,u,1", "value not finite"),
    "no target": ("1,1,zzz,", "no label"),
    "nan target": ("1,1,zzz,nan", "label not finite"),
    "infinite target": ("1,1,zzz,-inf", "label not finite"),
    "beyond float32": ("1,1e39,zzz,1", "value not finite"),
}


@pytest.mark.parametrize("name", BAD_CELLS)
@pytest.mark.parametrize("categories", list(Categories), ids=lambda c: c.value)
def test_a_bad_row_of_a_table_does_no_harm(
    tmp_path: Path, name: str, categories: Categories
) -> None:
    """The next 1000 predictions equal a run without the row; also when it comes early."""
    line, reason = BAD_CELLS[name]
    rng = random.Random(1)
    rows = [
        f"{rng.random()},{rng.random()},{rng.choice('uvw')},{rng.random()}" for _ in range(1050)
    ]
    spec = TableSpec(categories=categories)
    path = tmp_path / "t.csv"

    def predictions(lines: list[str]) -> list[float]:
        path.write_text("a,b,c,y\n" + "\n".join(lines) + "\n")
        model = ChaCha.paper(budget=3)
        source = chacha.open_source(path, spec)
        made = [step.prediction for step in model.steps(source, on_bad=OnBad.SKIP)]
        assert model.skipped == ({} if len(lines) == len(rows) else {reason: 1})
        return made

    clean = predictions(rows)
    for at in (0, 50):
        assert predictions([*rows[:at], line, *rows[at:]]) == clean


def test_a_row_that_the_loss_refuses_decides_no_groups() -> None:
    rows: list[Any] = [({f"f{i:02}": 1.0 for i in range(12)}, 7.0)]
    rows += [({"p": 1.0, "q": i % 3}, i % 2) for i in range(5)]
    model = ChaCha.paper(loss=chacha.Logistic())
    model.run(rows, on_bad=OnBad.SKIP)
    assert model.skipped == {"label refused": 1}
    assert list(model.observed.groups) == ["p", "q"]


def test_a_row_that_the_loss_refuses_takes_no_code(tmp_path: Path) -> None:
    rows = [f"{i % 5},{'abc'[i % 3]},{i % 2}" for i in range(50)]
    runs = []
    for text in (rows, ["1,zzz,7", *rows]):
        path = tmp_path / "t.csv"
        path.write_text("x,c,y\n" + "\n".join(text) + "\n")
        model = ChaCha.paper(loss=chacha.Logistic(), budget=1)
        table = TableSpec(categories=Categories.CODE)
        model.run(path, table=table, on_bad=OnBad.SKIP)
        runs.append((model.loss, model.examples))
    assert runs[0] == runs[1]
    assert model.skipped == {"label refused": 1}


def test_a_stream_without_a_usable_row_is_an_error() -> None:
    for rows in (["x |a", "y |b"], [({"a": 1.0}, None)], [b"1 |a x"]):
        with pytest.raises(SourceError, match=r"no examples in it; skipped: [12] "):
            ChaCha.paper(pool=NativePool()).run(iter(rows))


BAD_ROWS: dict[str, tuple[Any, Any]] = {
    "NaN label": ({"a": 1.0, "b": 2.0}, math.nan),
    "infinite label": ({"a": 1.0}, math.inf),
    "no label": ({"a": 1.0}, None),
    "NaN value": ({"a": math.nan, "b": 1.0}, 1.0),
    "infinite value": ({"a": -math.inf}, 1.0),
    "a set for a value": ({"a": {1, 2}}, 1.0),
    "no name": ({"": 1.0, "b": 2.0}, 1.0),
    "a group without a name": ({"": {"x": 1.0}, "b": {"y": 1.0}}, 1.0),
}


@pytest.mark.parametrize("name", BAD_ROWS)
@pytest.mark.parametrize("first", [True, False])
def test_learn_one_refuses_and_goes_on_as_if_nothing_was(name: str, first: bool) -> None:
    """Even when the bad row would have been the first one, which decides the groups."""
    x, y = BAD_ROWS[name]
    rows = [({"p": i % 3 + 1.0, "q": i % 7 / 7, "r": "xy"[i % 2]}, i % 5 / 5) for i in range(60)]
    disturbed, quiet = (ChaCha.paper(pool=NativePool()) for _ in range(2))
    for i, (good, label) in enumerate(rows):
        if i == (0 if first else 30):
            with pytest.raises(BadExample):
                disturbed.learn_one(x, y)
        assert disturbed.predict_one(good) == quiet.predict_one(good)
        assert disturbed.learn_one(good, label) == quiet.learn_one(good, label)
    assert disturbed.loss == quiet.loss
    assert list(disturbed.observed.groups) == list(quiet.observed.groups) == ["p", "q", "r"]


def test_predict_one_refuses_what_is_not_finite() -> None:
    model = ChaCha.paper(pool=NativePool())
    with pytest.raises(BadExample, match="'a' is nan"):
        model.predict_one({"a": math.nan})
    with pytest.raises(BadExample, match="finite"):
        model.predict_one("|a x:inf")


def test_a_namespace_never_seen_before_is_learned() -> None:
    model = ChaCha.paper(budget=3)
    for line in CLEAN[:100]:
        model.learn_one(line)
    before = model.observed.raw_features
    model.learn_one("1 |brandnew x:1 |a 0:1")
    assert "brandnew" in model.observed.groups
    assert model.observed.raw_features == before + 1
    assert math.isfinite(model.predict_one("|brandnew x:1"))


def test_namespaces_in_another_order_are_the_same_features() -> None:
    """Only the order of summation differs, by less than single precision."""
    straight, turned = ChaCha.paper(budget=3), ChaCha.paper(budget=3)
    for line in CLEAN[:300]:
        head, *groups = line.split("|")
        other = head + "".join(f"|{group.strip()} " for group in reversed(groups))
        a, b = straight.predict_one(line[line.index("|") :]), turned.predict_one(other[len(head) :])
        assert a == pytest.approx(b, abs=1e-4)
        straight.learn_one(line)
        turned.learn_one(other)
    assert straight.observed.sizes == turned.observed.sizes


def test_missing_namespaces_are_not_an_error() -> None:
    """FLAML's AutoVW raises KeyError here."""
    model = ChaCha.paper()
    for i, line in enumerate(CLEAN[:400]):
        groups = line.split("|")
        model.learn_one("|".join(groups[: 2 + i % 4]))
    assert model.examples == 400


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("empty.vw", b"", "empty.vw: is empty; there is nothing to learn from"),
        ("empty.csv", b"", "empty.csv: is empty; there is nothing to learn from"),
        ("blank.vw", b"", "is empty"),
        ("header.csv", b"a,b,y\n", "header.csv: no examples in it"),
        (
            "cut.vw.gz",
            gzip.compress("\n".join(CLEAN).encode())[:-2000],
            r"cut.vw.gz: cannot be read: .*cut off.*after line \d+",
        ),
        (
            "cut.csv.gz",
            gzip.compress(("a,b,y\n" + "1.5,2,3\n" * 99_999).encode())[:-300],
            r"cut.csv.gz: cannot be read: .*cut off.*after row \d+",
        ),
        ("a.zip", b"PK\x03\x04rest", "a.zip: is a zip archive; unzip -p"),
        ("words.dat", b"hello world\n", "words.dat: neither VW text"),
    ],
)
def test_files_that_cannot_be_read(tmp_path: Path, name: str, data: bytes, message: str) -> None:
    path = tmp_path / name
    path.write_bytes(data)
    with pytest.raises(SourceError, match=message):
        ChaCha.paper(pool=NativePool()).run(path)


def test_what_came_before_the_cut_is_learned(tmp_path: Path) -> None:
    path = tmp_path / "cut.vw.gz"
    path.write_bytes(gzip.compress("\n".join(CLEAN).encode())[:-2000])
    model = ChaCha.paper(pool=NativePool())
    with pytest.raises(SourceError, match=r"after line (\d+)"):
        model.run(path)
    assert model.examples > 100


def test_a_directory_and_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="is a directory; name its files"):
        chacha.open_source(tmp_path)
    with pytest.raises(SourceError, match="no such file"):
        chacha.open_source(tmp_path / "no.vw")


def test_a_column_that_does_not_exist(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("a,b,y\n1,2,3\n")
    message = "there is no column 'tip'; the columns are: a, b, y"
    with pytest.raises(SourceError, match=message):
        ChaCha.paper(pool=NativePool()).run(path, target="tip")


def test_a_constant_target_is_learned_and_nothing_is_promoted() -> None:
    model = ChaCha.paper()
    for line in CLEAN[:500]:
        model.learn_one("7 " + line[line.index("|") :])
    assert model.promotions == 0
    assert model.predict_one(CLEAN[0]) == pytest.approx(7.0, abs=0.5)
    for line in CLEAN[:50]:
        model.learn_one(line)
    assert model.loss is not None
    assert math.isfinite(model.loss)


def test_one_row() -> None:
    model = ChaCha.paper()
    summary = model.run(["3 |a x |b y"])
    assert summary.examples == 1
    assert summary.loss == 9.0
    assert str(summary)


def test_a_label_the_loss_refuses_is_bad_input_with_a_place() -> None:
    rows = ["1 |a x", "-1 |a y", "5 |a x", "0 |a y"]
    model = ChaCha.paper(loss=chacha.Logistic())
    with pytest.raises(BadExample, match=r"clicks\.vw: row 3: the label is 5\.0"):
        run_with(model, rows)
    model = ChaCha.paper(loss=chacha.Logistic())
    run_with(model, rows, on_bad=OnBad.SKIP)
    assert model.skipped == {"label refused": 1}
    assert model.examples == 3


def test_a_wide_line_is_fine() -> None:
    """A hundred thousand features in one example."""
    model = ChaCha.paper(budget=1)
    line = "1 |a " + " ".join(f"f{i}" for i in range(100_000))
    model.learn_one(line)
    assert model.observed.raw_features > 80_000
    assert isinstance(chacha.data.parse_line(line), Example)
