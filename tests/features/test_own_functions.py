"""User functions: groups `own(NAME)`, from rows, dicts and text."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import chacha
from chacha import OnBad
from chacha.config.derived_groups import DerivedFeatures
from chacha.errors import BadExample, ConfigError
from chacha.rules.contest import Scaling
from tests.support.derived_runs import TARGET, early_model, results


def remembering(found: list[dict[str, Any]]) -> DerivedFeatures:
    def ratio(x: Mapping[str, Any]) -> dict[str, float]:
        found.append(dict(x))
        km, h = x["km"], x["h"]
        return {"km h": km / h if km is not None and h else 0.0, f"is:{x['c']}": 1.0}

    return DerivedFeatures(kinds=[], functions={"ratio": ratio})


TRIPS = [
    {"c": c, "day": day, "h": h, "km": km, "y": y}
    for c, day, h, km, y in (
        ("red", "2026-11-15T10:00", 2.0, 3.0, 1.5),
        (None, "2026-11-16T11:30", 0.0, 1.0, 0.0),
        ("dark red", "2026-11-17T12:00", 4.0, None, 0.0),
    )
]

DERIVED = [
    "|own(ratio) km%20h:1.5 is%3Ared",
    "|own(ratio) is%3ANone",
    "|own(ratio) is%3Adark%20red",
]


def _trips_csv(folder: Path) -> str:
    text = "\n".join(",".join("" if v is None else str(v) for v in t.values()) for t in TRIPS)
    (folder / "t.csv").write_text(f"c,day,h,km,y\n{text}\n")
    return str(folder / "t.csv")


def _trips_parquet(folder: Path) -> str:
    table = pa.Table.from_pylist(TRIPS)
    days = pa.array([datetime.fromisoformat(str(trip["day"])) for trip in TRIPS])
    pq.write_table(table.set_column(1, "day", days), folder / "t.parquet")
    return str(folder / "t.parquet")


def _trips_jsonl(folder: Path) -> str:
    (folder / "t.jsonl").write_text("".join(json.dumps(trip) + "\n" for trip in TRIPS))
    return str(folder / "t.jsonl")


@pytest.mark.parametrize("write", [_trips_csv, _trips_parquet, _trips_jsonl])
def test_a_function_is_given_the_row_as_it_is(write: Callable[[Path], str], tmp_path: Path) -> None:
    found: list[dict[str, Any]] = []
    model = early_model(remembering(found))
    steps = list(model.steps(model.open(write(tmp_path), TARGET)))
    assert found == [
        {"c": t["c"], "day": datetime.fromisoformat(str(t["day"])), "h": t["h"], "km": t["km"]}
        for t in TRIPS
    ]
    assert [
        step.example.body[-len(text) :] for step, text in zip(steps, DERIVED, strict=True)
    ] == DERIVED
    assert all(step.example.row is None for step in steps), "the row is dropped"
    whole = early_model(remembering([]))
    whole.run(write(tmp_path), table=TARGET)
    assert results(whole) == results(model)


def test_predict_learn_ask_and_run_call_functions_alike() -> None:
    rng = random.Random(3)
    rows = [{"h": rng.uniform(1, 3), "km": rng.uniform(0, 9), "c": "x"} for _ in range(300)]
    labels = [row["km"] / row["h"] + 0.01 * rng.gauss(0, 1) for row in rows]  # type: ignore[operator]
    init = {"features": ["own(ratio)"]}
    one, asked, whole = (early_model(remembering([]), init=init) for _ in range(3))
    labels_only = Scaling(columns=False)  # the columns of text are not centred
    dicts, plain = (early_model(remembering([]), init=init, scaling=labels_only) for _ in range(2))
    for x, y in zip(rows, labels, strict=True):
        served = one.predict_one(x)
        one.learn_one(x, y)
        ticket = asked.ask(x)
        asked.tell(ticket, y)
        assert served == ticket.prediction
        text = one.reader.example(x).line + f" |own(ratio) km%20h:{x['km'] / x['h']!r} is%3Ax"  # type: ignore[operator]
        plain.learn_one(text, y)
    for model in (whole, dicts):
        model.run(list(zip(rows, labels, strict=True)))
    assert results(one) == results(asked) == results(whole)
    close = pytest.approx(dicts.served.mean, rel=1e-4)
    assert plain.served.mean == close, "a group that the text has is not derived again"
    without = early_model(DerivedFeatures(kinds=[]))
    without.run(list(zip(rows, labels, strict=True)))
    assert one.served.mean < without.served.mean


def test_functions_read_vw_text_by_name() -> None:
    rows: list[dict[str, Any]] = []
    model = early_model(remembering(rows))
    model.learn_one("1 |a km:3 h:2 c=dark%20red |missing(b) z |b km:5", None)
    model.learn_one("2 |a km:3 h:2 c:blue", None)
    model.learn_one(chacha.data.parse_line("2 |a km:3 h:2 c=a c=b c"))
    assert rows[0] == {"km": 3.0, "h": 2.0, "c": "dark red"}
    assert rows[1] == {"km": 3.0, "h": 2.0, "c": "blue"}
    assert rows[2] == {"km": 3.0, "h": 2.0, "c": 1.0, "c=a": 1.0, "c=b": 1.0}


def failing(x: Mapping[str, Any]) -> Any:
    """Fails in as many ways as there are."""
    match x["how"]:
        case "raises":
            raise KeyError("z")
        case "zero":
            return {"a": 1.0 / (x["v"] - 1.0)}
        case "inf":
            return {"a": float("inf")}
        case "far":
            return {"a": 1e39}
        case "word":
            return {"a": "1.5"}
        case "none":
            return {"a": None}
        case "surrogate":
            return {"\ud800": 1.0}
        case "nothing":
            return None
        case "number":
            return 3.0
        case "key":
            return {7: 1.0}
        case "no name":
            return {"": 1.0}
        case _:
            return {"a": x["v"], "b": True, "c": np.float32(2), "d": 0}


BAD = {
    "raises": "own(f) failed: KeyError: 'z'",
    "zero": "own(f) failed: ZeroDivisionError: float division by zero",
    "inf": "own(f) returned 'a' = inf; values must be finite numbers",
    "far": "own(f) returned 'a' = 1e+39; values must be finite numbers",
    "word": "own(f) returned 'a' = '1.5'; values must be finite numbers",
    "none": "own(f) returned 'a' = None; values must be finite numbers",
    "surrogate": "own(f) returned a name that is not UTF-8 text",
}

WRONG = {
    "nothing": "own(f) must return names with numbers, got None",
    "number": "own(f) must return names with numbers, got 3.0",
    "key": "own(f) must return names with numbers, got {7: Ellipsis}",
    "no name": "own(f) must return names with numbers, got {'': Ellipsis}",
}


@pytest.mark.parametrize("how", [*BAD, *WRONG])
def test_a_wrong_function_is_reported_and_changes_nothing(how: str) -> None:
    policy = DerivedFeatures(kinds=[], functions={"f": failing})
    model, clean = early_model(policy), early_model(policy)
    good = [({"how": "well", "v": float(i)}, float(i % 3)) for i in range(30)]
    for x, y in good[:10]:
        model.learn_one(x, y)
        clean.learn_one(x, y)
    error, message = (BadExample, BAD[how]) if how in BAD else (ConfigError, WRONG[how])
    bad = {"how": how, "v": 1.0}
    for call in (model.predict_one, model.ask, lambda x: model.learn_one(x, 1.0)):
        with pytest.raises(error) as raised:
            call(bad)
        assert str(raised.value).startswith(message)
    rows = [*good[10:20], (bad, 1.0), *good[20:]]
    if how in BAD:
        assert model.run(rows, on_bad=OnBad.SKIP).examples == 30
        (place,) = model.summary().first_skipped.values()
        assert place.startswith(f"rows: row 11: {message}")
    else:
        with pytest.raises(ConfigError, match=r"^rows: row 11: "):
            model.run(rows, on_bad=OnBad.SKIP)
        model.run(good[20:])
    clean.run(good[10:])
    assert results(model) == results(clean)
    assert model.pending == 0


def test_functions_are_checked_before_they_are_called() -> None:
    with pytest.raises(ConfigError, match="must be a function, got 3"):
        DerivedFeatures(functions={"f": 3})  # type: ignore[dict-item]
    with pytest.raises(ConfigError, match="is not a derived group"):
        DerivedFeatures(functions={"a b": failing})
    row = {"a": 2.0}
    with pytest.raises(BadExample, match="no attribute 'pop'"):
        early_model(DerivedFeatures(functions={"f": lambda x: x.pop("a")})).learn_one(row, 1.0)
    assert row == {"a": 2.0}
