"""Calibration: the false-promotion rate of a stream, and `chacha calibrate`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from chacha import PairedBetting
from chacha.cli import app
from chacha.compare import Calibration, CalibrationStudy, CommonSettings, Stream
from chacha.compare.calibration import clopper_pearson
from chacha.config.space import AUTHORS_RATES, Interactions, Space
from chacha.errors import ConfigError


def test_clopper_pearson() -> None:
    """Compare with the 3/n rule, symmetry, and the definition."""
    assert clopper_pearson(0, 400)[0] == 0.0
    assert clopper_pearson(400, 400)[1] == 1.0
    assert clopper_pearson(0, 400)[1] == pytest.approx(1 - 0.025 ** (1 / 400), abs=1e-8)
    low, high = clopper_pearson(20, 400)
    mirrored = clopper_pearson(380, 400)
    assert (1 - mirrored[1], 1 - mirrored[0]) == pytest.approx((low, high), abs=1e-8)
    assert (low, high) == pytest.approx((0.0308, 0.0762), abs=1e-4)


def test_a_calibration_counts_runs_that_promote() -> None:
    """α near 1 promotes often, the default hardly ever. Seeds make runs repeatable."""
    space = Space.of({"interactions": Interactions(), "learning_rate": AUTHORS_RATES})
    stream = Stream("synth:interactions,n=800")

    def rate(alpha: float, runs: int = 30) -> Calibration:
        study = CalibrationStudy(
            stream,
            settings=CommonSettings(space=space),
            evidence=PairedBetting(alpha=alpha),
            runs=runs,
            workers=0,
        )
        shares = list(study.run())
        assert shares[-1] == 1.0
        assert study.result is not None
        return study.result

    assert rate(0.05).false <= 2
    assert rate(0.999).false > rate(0.05).false
    assert rate(0.999) == rate(0.999)
    assert rate(0.05).examples == 800


def test_calibrate_on_the_command_line(tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    words = ["calibrate", "synth:fried,n=300", "--runs", "6", "--jobs", "1", "--json", str(out)]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    assert "of 6 runs promoted a challenger that was no better" in done.output
    result = json.loads(out.read_text())
    assert result["runs"] == 6
    assert result["alpha"] == 0.05
    assert result["low"] <= result["rate"] <= result["high"]


def test_a_wrong_number_of_runs_is_named() -> None:
    with pytest.raises(ConfigError, match="runs"):
        CalibrationStudy(Stream("synth:fried,n=5"), runs=0)
