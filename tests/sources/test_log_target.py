"""The logarithm of the target, and the paper's protocol: alike for every source and every way."""

from __future__ import annotations

import json
import math
import random
from pathlib import Path

import numpy as np
import pytest

import chacha
from chacha import OnBad, TableSpec
from chacha.errors import ConfigError
from chacha.source_profile import SourceProfile, profile_source, with_log_target
from chacha.sources import LogTarget, Rows
from tests.support.command_line import cli


@pytest.mark.parametrize(
    ("low", "high", "shift"),
    [(1, 99.9, None), (1, 100, 0), (-1, 99, 2), (-1, 98.9, None), (0, 100, 1), (-3, 120, 4)],
)
def test_the_authors_rule(low: float, high: float, shift: float | None) -> None:
    found = SourceProfile(2, low, high)
    assert found.shift(LogTarget.AUTO) == shift
    assert found.shift(LogTarget.OFF) is None
    assert found.shift(LogTarget.ON) == (abs(low) + 1 if low <= 0 else 0)


def rows(n: int = 700) -> list[tuple[int, int, str]]:
    """Whole numbers, which VW's text parser reads exactly."""
    rng = random.Random(1)
    return [(rng.randrange(9), rng.randrange(1, 50_000), rng.choice("uvw")) for _ in range(n)]


def csv(path: Path) -> Path:
    lines = [f"{x!r},{c},{y!r}" for x, y, c in rows()]
    path.write_text("\n".join(["x,c,y", *lines]) + "\n")
    return path


def text(path: Path) -> Path:
    codes: dict[str, int] = {}
    lines = [f"{y!r} |x x:{x!r} |c c:{codes.setdefault(c, len(codes))}\n" for x, y, c in rows()]
    path.write_text("".join(lines))
    return path


def test_all_sources_and_all_ways_give_the_same(tmp_path: Path) -> None:
    spec = TableSpec(categories=chacha.sources.Categories.CODE)
    losses = set()
    for path in (csv(tmp_path / "t.csv"), text(tmp_path / "t.vw")):
        for in_blocks in (True, False):
            model = chacha.ChaCha.paper(budget=3)
            table = spec if path.suffix == ".csv" else None
            source = with_log_target(model.open(str(path), table))
            for _ in (model.chunks if in_blocks else model.steps)(source):
                pass
            losses.add(model.loss)
            assert model.examples == 700
            smallest = min(y for _, y, _ in rows())
            assert model.observed.low == np.float32(math.log(np.float32(smallest)))
    assert len(losses) == 1


def test_a_label_without_a_logarithm_is_a_bad_row(tmp_path: Path) -> None:
    """The source has changed since it was surveyed."""
    path = csv(tmp_path / "t.csv")
    logged = with_log_target(chacha.open_source(path), LogTarget.ON)
    path.write_text(path.read_text() + "0.5,u,-7\n")
    model = chacha.ChaCha.paper()
    with pytest.raises(
        chacha.errors.BadExample, match=r"t.csv: row 701, column 'y': the logarithm of"
    ):
        model.run(logged)
    model = chacha.ChaCha.paper()
    assert model.run(logged, on_bad=OnBad.SKIP).skipped == {"no logarithm": 1}
    alone = with_log_target(Rows(["1 |a x", "200 |a x"]))
    assert isinstance(alone, chacha.sources.LogLabels)
    alone.source = Rows(["0 |a x"])
    assert [type(row).__name__ for row in alone] == ["Bad"]


def test_bad_rows_do_not_decide(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("x,y\n1,2\n2,nan\n3,4\noops,5000\n" + "1,3\n" * 200)
    found = profile_source(chacha.open_source(path), on_bad=OnBad.SKIP)
    assert found == SourceProfile(202, 2.0, 4.0, groups=1)


def test_what_cannot_be_read_twice_is_refused(tmp_path: Path) -> None:
    done = cli("run", "-", "--log-target", "auto", stdin="1 |a x\n", rc=2)
    assert "cannot be read twice" in done.stderr


def test_the_protocol_on_the_command_line(tmp_path: Path) -> None:
    path = csv(tmp_path / "t.csv")
    words = ("run", str(path), "-q", "--json", "-")
    by_name = json.loads(cli(*words, "--paper-protocol").stdout)
    flags = ("--namespaces", "10", "--categories", "code", "--log-target", "auto", "--as-read")
    by_hand = json.loads(cli(*words, *flags).stdout)
    assert by_name["settings"]["log_shift"] == 0.0
    for volatile in ("seconds", "cpu_seconds", "peak_rss_mb"):
        del by_name[volatile], by_hand[volatile]
    assert by_name == by_hand
    done = cli("run", str(path), "--paper-protocol", "--group-by", "column", rc=2)
    assert "leave --namespaces, --group and --group-by out" in done.stderr
    converted = cli("convert", str(path), "--paper-protocol", "-o", "-").stdout
    plain = tmp_path / "converted.vw"
    plain.write_text(converted)
    again = json.loads(cli("run", str(plain), "-q", "--json", "-", "--as-read").stdout)
    assert again["loss"] == by_name["loss"]
    already = cli("run", str(text(tmp_path / "t.vw")), "-q", "--json", "-", "--paper-protocol")
    assert json.loads(already.stdout)["loss"] == by_name["loss"]


def test_words_instead_of_objects_are_refused() -> None:
    with pytest.raises(ConfigError, match="LogTarget"):
        with_log_target(Rows(["1 |a x"]), "auto")  # type: ignore[arg-type]
