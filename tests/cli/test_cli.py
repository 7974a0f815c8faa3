"""The command line as people use it: files, pipes, wrong flags, Ctrl-C."""

from __future__ import annotations

import contextlib
import fcntl
import json
import math
import os
import pty
import random
import re
import shlex
import signal
import struct
import subprocess
import sys
import termios
import time
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
import vowpalwabbit

import chacha
from chacha import ChaCha, Config
from chacha.cli.explain import read_decisions
from chacha.export.feature_file import features_path
from tests.support.command_line import cli
from tests.support.sources import lines

ON_VW = ["run", "synth:fried,n=9", "--pool", "vw"]


@pytest.fixture
def stream(tmp_path: Path) -> Path:
    path = tmp_path / "s.vw"
    path.write_text("\n".join(lines(2500)) + "\n")
    return path


def test_run_writes_everything_and_shows_a_promotion(stream: Path, tmp_path: Path) -> None:
    out = {name: tmp_path / name for name in ("r.json", "d.jsonl", "p.jsonl")}
    done = cli(
        *("run", str(stream), "--rules", "paper", "--seed", "1", "--baseline"),
        *("--json", str(out["r.json"]), "--save-decisions", str(out["d.jsonl"])),
        *("--predictions", str(out["p.jsonl"])),
    )
    assert done.stdout == "", "messages go to stderr"
    assert "champion: interactions ab" in done.stderr
    assert "same as: vw --experimental_full_name_interactions 'a|b'" in done.stderr
    result = json.loads(out["r.json"].read_text())
    here = ChaCha.paper(seed=1, keep_decisions=10**6, baseline=True)
    steps = list(here.steps(chacha.open_source(stream)))
    assert result["loss"] == here.loss
    assert result["baseline_loss"] == here.summary().baseline_loss
    assert result["examples"] == 2500
    assert result["promotions"] == here.promotions == 1
    assert result["decisions"] == here.summary().decisions
    about, decisions, end = read_decisions(str(out["d.jsonl"]))
    assert decisions == list(here.decisions)
    assert about["settings"] == result["settings"]
    assert end is not None
    assert end["examples"] == 2500
    rows = [json.loads(line) for line in out["p.jsonl"].read_text().splitlines()]
    assert rows == [
        {
            "i": i,
            "prediction": step.prediction,
            "label": step.example.label,
            "served_by": str(step.served_by),
        }
        for i, step in enumerate(steps)
    ]


KEYS = (
    "source examples skipped loss loss_name mean_loss r2 metrics champion config vw_args "
    "label_shift label_scale decisions promotions seconds cpu_seconds peak_rss_mb settings version"
)


def test_json_has_every_key_of_the_contract(stream: Path) -> None:
    done = cli("run", str(stream), "--limit", "40", "--json", "-", "--quiet")
    result: dict[str, Any] = json.loads(done.stdout)
    assert set(KEYS.split()) <= set(result)
    assert done.stderr == ""
    assert result["metrics"]["mse"] == result["loss"]
    labels = [float(line.split()[0]) for line in stream.read_text().splitlines()[:40]]
    first, n = labels[0] ** 2, len(labels)  # the first prediction is 0 for model and mean
    served, constant = (n * result[key] - first for key in ("loss", "mean_loss"))
    assert result["r2"] == pytest.approx(1 - served / constant)
    assert result["label_scale"] > 0
    assert result["label_shift"] != 0
    assert Config.from_json(result["config"]) == Config(values={"learning_rate": 0.5})
    assert result["settings"]["evidence"]["alpha"] == 0.05
    assert result["settings"]["rules"] == "chacha"
    done = cli("run", str(stream), "--limit", "40", "--rules", "paper", "--json", "-", "--quiet")
    assert json.loads(done.stdout)["settings"]["evidence"]["delta"] == 0.1
    assert json.loads(done.stdout)["config"] == Config().to_json()
    assert json.loads(done.stdout)["label_scale"] is None
    done = cli("run", str(stream), "--limit", "40", "--loss", "quantile", "--json", "-", "--quiet")
    assert [json.loads(done.stdout)[key] for key in ("mean_loss", "r2")] == [None, None]
    assert result["version"] == chacha.__version__


def test_the_printed_command_line_is_the_champion(stream: Path) -> None:
    """VW with the printed arguments predicts like that configuration."""
    rules = ("--rules", "paper", "--seed", "1")
    done = cli("run", str(stream), *rules, "--json", "-", "--quiet", "--init", "l2=1e-6")
    words = shlex.split(json.loads(done.stdout)["vw_args"])
    champion = Config(["ab"], {"l2": 1e-6})
    assert words == champion.vw_arg_list()
    pool = chacha.open_pool("vw")
    pool.start(champion)
    vw = vowpalwabbit.Workspace(arg_list=["--quiet", *words])
    for line in lines(200):
        example = chacha.data.parse_line(line)
        assert pool.learn(example)[champion] == vw.predict(example.body)
        vw.learn(line)


def test_predictions_read_back_exactly(stream: Path, tmp_path: Path) -> None:
    here = [step.prediction for step in ChaCha().steps(chacha.open_source(stream), limit=50)]
    words = ("run", str(stream), "--limit", "50", "--quiet", "--predictions")
    cli(*words, str(tmp_path / "p.parquet"))
    assert pq.read_table(tmp_path / "p.parquet")["prediction"].to_pylist() == here
    cli(*words, str(tmp_path / "p.txt"))
    assert [float(line) for line in (tmp_path / "p.txt").read_text().split()] == here
    assert [float(line) for line in cli(*words, "-").stdout.split()] == here


def test_stdin_is_sniffed() -> None:
    text = "\n".join(lines(30)) + "\n"
    assert json.loads(cli("run", "-", "-q", "--json", "-", stdin=text).stdout)["examples"] == 30
    table = "a,b,y\n" + "".join(f"{i},{i % 3},{i % 5}\n" for i in range(20))
    assert json.loads(cli("run", "-", "-q", "--json", "-", stdin=table).stdout)["examples"] == 20


def test_stdin_skips_and_counts_files_stop(tmp_path: Path) -> None:
    text = "1 |a x\nnan |a x\n\n2 |a y\n"
    result = json.loads(cli("run", "-", "-q", "--json", "-", stdin=text).stdout)
    assert (result["examples"], result["skipped"]) == (2, 2)
    path = tmp_path / "s.vw"
    path.write_text(text)
    done = cli("run", str(path), "-q", rc=1)
    assert f"{path}:2: the label is 'nan'" in done.stderr
    messages = cli("run", str(path), "--on-bad", "skip").stderr
    assert f"  1 label not finite; first: {path}:2: the label is 'nan'" in messages
    assert f"  1 empty line; first: {path}:3: the line is empty" in messages


def test_tables_and_their_flags(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    rows = [f"{i % 7},{i % 3},{'rg'[i % 2]},{i % 5}" for i in range(40)]
    path.write_text("u,v,w,y\n" + "\n".join(rows) + "\n")
    words = ("run", str(path), "-q", "--json", "-", "--init", "interactions=g*rest")
    done = cli(*words, "--tune", "interactions", "--group", "g=u,v", "--target", "y")
    assert json.loads(done.stdout)["champion"] == "interactions g*rest"
    for flags in (["--group-by", "column"], ["--namespaces", "2"], ["--categories", "code"]):
        assert (
            json.loads(cli("run", str(path), "-q", "--json", "-", *flags).stdout)["examples"] == 40
        )


def test_a_row_that_the_loss_refuses_changes_nothing(tmp_path: Path) -> None:
    rows = [f"{i % 5},{'abc'[i % 3]},{i % 2}" for i in range(40)]
    losses = []
    for text in (rows, ["1,zzz,7", *rows]):
        (tmp_path / "t.csv").write_text("x,c,y\n" + "\n".join(text) + "\n")
        words = ("--loss", "logistic", "--categories", "code", "--on-bad", "skip", "-q")
        done = cli("run", str(tmp_path / "t.csv"), *words, "--json", "-")
        losses.append(json.loads(done.stdout)["loss"])
    assert losses[0] == losses[1]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["run"], "Missing argument"),
        (["dance"], "No such command"),
        (["run", "x.vw", "--bogus"], "No such option"),
        (["run", "synth:fried", "--limit", "0"], "--limit"),
        (["run", "synth:fried,n=9", "--budget", "0"], "budget must be a whole number"),
        (["run", "synth:fried"], "never ends"),
        (["run", "synth:nothing,n=9"], "choose from fried"),
        (["run", "synth:fried,n=9", "--tune", "luck"], "choose from interactions"),
        (["run", "synth:fried,n=9", "--loss", "luck"], "choose from squared"),
        (["run", "synth:fried,n=9", "--pool", "luck"], "choose from native"),
        (["run", "synth:fried,n=9", "--rules", "luck"], "luck"),
        (["run", "synth:fried,n=9", "--init", "l2"], "KEY=VALUE"),
        (["run", "synth:fried,n=9", "--init", "nonsense=1"], "no option 'nonsense'"),
        (["run", "synth:fried,n=9", "--init", "bit_precision=40"], "from 1 to 31"),
        (["run", "synth:fried,n=9", "--init", "l1=-1"], "at least 0"),
        ([*ON_VW, "--init", "nonsense=1"], "VW has no option --nonsense"),
        ([*ON_VW, "--init", "active=on"], "cannot be used"),
        ([*ON_VW, "--init", "link=logistic"], "cannot be used"),
        (["run", "synth:fried,n=9,seed=-1"], "options are|seed"),
        (["run", "synth:fried,n=9", "-P", "0.5"], "-P takes"),
        (["run", "synth:fried,n=9", "-P", "1e-9"], "-P takes"),
        (["run", "synth:fried,n=9", "--json", "-", "--predictions", "-"], "writes there too"),
        (["run", "synth:fried,n=9", "--json", "x", "--save-decisions", "./x"], "writes there too"),
        (["run", "synth:fried,n=9", "--predictions", "p.doc"], "choose .jsonl"),
        (["run", "synth:fried,n=9", "--group", "g"], "NAME=COLUMN"),
    ],
)
def test_a_wrong_command_line_exits_with_2(words: list[str], message: str) -> None:
    assert re.search(message, cli(*words, rc=2).stderr)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["run", "nowhere.vw"], "nowhere.vw: no such file"),
        (["run", "."], "is a directory"),
        (["run", "synth:fried,n=9", "--json", "no/where.json"], "No such file"),
        (["explain", "nowhere.jsonl"], "no such file"),
    ],
)
def test_a_failure_exits_with_1(words: list[str], message: str) -> None:
    assert message in cli(*words, rc=1).stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_a_full_disk_is_reported_and_the_other_outputs_are_written(tmp_path: Path) -> None:
    full, result = tmp_path / "full.txt", tmp_path / "r.json"
    full.symlink_to("/dev/full")
    words = ("run", "synth:fried,n=900", "-q", "--json", str(result))
    for flag in ("--save-decisions", "--predictions"):
        done = cli(*words, flag, str(full), rc=1)
        assert f"{full}: No space left" in done.stderr
        assert json.loads(result.read_text())["examples"] > 0


def test_the_source_is_not_overwritten(stream: Path) -> None:
    before = stream.read_text()
    for flag in ("--predictions", "--json", "--save-decisions"):
        assert "give another file" in cli("run", str(stream), flag, str(stream), rc=2).stderr
    assert stream.read_text() == before


def test_stdin_without_usable_examples_is_a_failure() -> None:
    done = cli("run", "-", stdin="x |a\ny |b\n", rc=1)
    assert "no examples in it; skipped: 2 label not finite" in done.stderr


def test_a_reader_that_leaves_early_causes_no_traceback(stream: Path) -> None:
    command = f"{sys.executable} -m chacha run {stream} -q --predictions - | head -n 1"
    done = subprocess.run(command, shell=True, capture_output=True, text=True)
    assert done.stderr == ""
    assert len(done.stdout.splitlines()) == 1


def test_ctrl_c_writes_the_results_so_far(tmp_path: Path) -> None:
    result = tmp_path / "r.json"
    words = ["run", "synth:fried", "--limit", "100000000", "--json", str(result), "-P", "200"]
    with subprocess.Popen(
        [sys.executable, "-m", "chacha", *words], stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr is not None
        for _ in range(3):
            process.stderr.readline()
        process.send_signal(signal.SIGINT)
        began = time.monotonic()
        rest = process.stderr.read()
    assert process.returncode == 1
    assert time.monotonic() - began < 10
    assert "interrupted after" in rest
    assert "Traceback" not in rest
    assert json.loads(result.read_text())["examples"] > 0


def test_ctrl_c_works_while_a_table_on_stdin_waits(tmp_path: Path) -> None:
    result = tmp_path / "r.json"
    rows = "".join(f"{i},{i % 3},{i % 7}\n" for i in range(300))
    with subprocess.Popen(
        [sys.executable, "-m", "chacha", "run", "-", "-P", "50", "--json", str(result)],
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdin is not None
        assert process.stderr is not None
        process.stdin.write("a,b,y\n" + rows)
        process.stdin.flush()
        for _ in range(3):
            process.stderr.readline()
        process.send_signal(signal.SIGINT)
        began = time.monotonic()
        assert "interrupted after" in process.stderr.read()
    assert time.monotonic() - began < 10
    assert process.returncode == 1
    assert json.loads(result.read_text())["examples"] > 0


def test_explain_reads_incomplete_runs(tmp_path: Path) -> None:
    """A run that failed at its first row, one that was killed, unusual names, stdin."""
    path, source = tmp_path / "d.jsonl", tmp_path / "s.vw"
    source.write_text("x |a b\n")
    cli("run", str(source), "--save-decisions", str(path), "-q", rc=1)
    assert "end: served loss none" in cli("explain", str(path)).stdout
    source.write_text("".join(f"{i % 2} |a\u2028b x:1 |c\u0085 y:1\n" for i in range(30)))
    cli("run", str(source), "--save-decisions", str(path), "-q")
    assert "went live" in cli("explain", "--all", str(path)).stdout
    text = path.read_text()
    assert cli("explain", "-", stdin=text).stdout == cli("explain", str(path)).stdout
    path.write_text(text[:-20])
    assert "did not reach its end" in cli("explain", str(path)).stdout
    for wrong in (text + text, '{"kind": "Run"}\n', text.replace('"config": {', '"config": [{', 1)):
        path.write_text(wrong)
        assert "chacha: " in cli("explain", str(path), rc=1).stderr


def test_explain_prints_the_story(stream: Path, tmp_path: Path) -> None:
    path = tmp_path / "d.jsonl"
    cli("run", str(stream), "--rules", "paper", "--seed", "1", "-q", "--save-decisions", str(path))
    story = cli("explain", str(path)).stdout
    assert "rules paper, b = 5, seed 1" in story
    assert "+ab is the new champion" in story
    assert "champion: interactions ab" in story
    everything = cli("explain", str(path), "--all").stdout
    assert "went live for 75 examples" in everything
    assert "made room after 75 examples" in everything
    path.write_text(path.read_text() + "nonsense\n")
    assert "d.jsonl:" in cli("explain", str(path), rc=1).stderr
    (tmp_path / "other.jsonl").write_text("")
    assert (
        "not the decisions of a run" in cli("explain", str(tmp_path / "other.jsonl"), rc=1).stderr
    )


def test_explain_compares_with_the_best_constant(stream: Path, tmp_path: Path) -> None:
    """As the summary does; files of earlier versions have no such numbers."""
    path = tmp_path / "d.jsonl"
    done = cli("run", str(stream), "--save-decisions", str(path))
    r2 = re.search(r"served squared loss \S+ (\(R² 0\.\d{3}\)) over 2500", done.stderr)
    scale = re.search(r"^label scale: .* \(learning rates are .*\)$", done.stderr, re.MULTILINE)
    assert r2 is not None
    assert scale is not None
    story = cli("explain", str(path)).stdout
    assert re.search(rf"end: served loss \S+ {re.escape(r2[1])}, champion: ", story)
    assert f"           {scale[0]}\n" in story
    *lines_before, end = path.read_text().splitlines()
    new = ("mean_loss", "r2", "label_shift", "label_scale")
    old = {key: value for key, value in json.loads(end).items() if key not in new}
    path.write_text("\n".join([*lines_before, json.dumps(old)]) + "\n")
    before = story.replace(f" {r2[1]}", "").replace(f"           {scale[0]}\n", "")
    assert cli("explain", str(path)).stdout == before
    cli("run", str(stream), "--rules", "paper", "-q", "--save-decisions", str(path))
    assert "label scale" not in cli("explain", str(path)).stdout


def test_explain_prints_odds(stream: Path, tmp_path: Path) -> None:
    """The recommended rules: evidence in words and numbers."""
    path = tmp_path / "d.jsonl"
    cli("run", str(stream), "-q", "--save-decisions", str(path))
    story = cli("explain", str(path)).stdout
    assert "rules chacha, b = 5, seed 0" in story
    sentence = (
        r"is the new champion after \d+ examples: \d+ : 1 for it, promotes at \d+ : 1; its loss"
    )
    assert re.search(sentence, story)
    assert "made room" not in story
    everything = cli("explain", str(path), "--all").stdout
    assert "went live for 1000 examples" in everything
    assert re.search(r"made room after \d+ examples: .+ for it, promotes at", everything)
    assert re.search(r"is out after \d+ examples: .+ : 1 that it is worse", everything)


def test_the_recommended_rules_are_the_default(stream: Path, tmp_path: Path) -> None:
    """The command line and Python do the same; blended predictions name their experts."""
    path = tmp_path / "p.jsonl"
    done = cli("run", str(stream), "-q", "--json", "-", "--predictions", str(path))
    here = ChaCha(keep_decisions=10**6)
    steps = list(here.steps(chacha.open_source(stream)))
    result = json.loads(done.stdout)
    assert result["loss"] == here.loss
    assert result["promotions"] == here.promotions > 0
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    assert [row["prediction"] for row in rows] == [step.prediction for step in steps]
    assert [row["served_by"] for row in rows] == [str(step.served_by) for step in steps]
    assert any(re.match(r"0\.\d+ of .+, 0\.\d+ of ", row["served_by"]) for row in rows)


def test_progress_rows_follow_vw(stream: Path) -> None:
    rows = cli("run", str(stream), "--limit", "100", "-P", "25").stderr.splitlines()
    assert [line.split()[0] for line in rows[:6]] == [
        "examples",
        "25",
        "50",
        "75",
        "100",
        "champion:",
    ]
    assert [
        line.split()[0] for line in cli("run", str(stream), "--limit", "8").stderr.splitlines()
    ][:5] == ["examples", "1", "2", "4", "8"]


def on_a_terminal(*words: str) -> str:
    """Return what the program prints on a pseudo-terminal of 60 columns."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 60, 0, 0))
    env = {key: value for key, value in os.environ.items() if key not in ("COLUMNS", "LINES")}
    env["TERM"] = "xterm"
    command = [sys.executable, "-m", "chacha", *words]
    with subprocess.Popen(command, stderr=theirs, stdout=subprocess.DEVNULL, env=env) as process:
        os.close(theirs)
        output = b""
        with contextlib.suppress(OSError):  # a terminal raises it when the other side is gone
            while data := os.read(ours, 65536):
                output += data
    os.close(ours)
    assert process.returncode == 0
    return re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", output.decode())


def test_a_terminal_gets_a_status_line_and_rows_that_fit() -> None:
    """A log (every other test) gets complete rows."""
    words = ("run", "synth:fried", "--limit", "400000", "--init", "interactions=ab,cd,ef,gh")
    text = on_a_terminal(*words)
    assert re.search(r"\d+ examples, [\d,]+/s, champion \S", text)
    assert "served squared loss" in text
    rows = [line for line in re.split(r"[\r\n]+", text) if re.match(r" +\d+  ", line)]
    assert rows
    assert all(len(row) <= 60 for row in rows)


def test_a_terminal_gets_a_bar_with_the_time_left(tmp_path: Path) -> None:
    words = ("compare", "synth:fried,n=60000", "--seeds", "2", "--cache", str(tmp_path))
    text = on_a_terminal(*words)
    assert re.search(r"running .* \d+% 0:00:\d\d left 0:00:\d\d", text), text


def test_version_and_help() -> None:
    assert cli("--version").stdout.strip() == chacha.__version__
    assert "--budget" in cli("run", "--help").stdout


def test_a_written_champion_of_logarithms_is_said_to_be_one(tmp_path: Path) -> None:
    rng, lines = random.Random(1), []
    for _ in range(6000):
        a, b = rng.gauss(0, 1), rng.gauss(0, 1)
        lines.append(f"{math.exp(0.5 * (a + b) + rng.gauss(0, 0.05))!r} |a a:{a!r} |b b:{b!r}\n")
    source, model = tmp_path / "heavy.vw", tmp_path / "champion.vw"
    source.write_text("".join(lines))
    log, result = str(tmp_path / "d.jsonl"), tmp_path / "r.json"
    words = ("--to-vw", str(model), "--save-decisions", log, "--json", str(result))
    done = cli("run", str(source), *words, "--tune", "learning_rate")
    assert "target log" in done.stderr
    assert f"{model} predicts ln(1 + (label - " in done.stderr
    found = json.loads(result.read_text())
    formula = f"ln(1 + (label - {found['label_low']:g})/{found['label_unit']:g})"
    story = cli("explain", log).stdout
    for text in (done.stderr, story):
        assert f"same as: {found['same_as']}\n" in text
        assert f"  # of {formula}\n" in text
        assert re.search(rf"label scale: \S+ around \S+ of {re.escape(formula)} \(", text)
    done = cli("run", str(source), "--as-read", "--to-vw", str(model))
    assert "predicts ln" not in done.stderr


def test_a_run_that_learns_nothing_leaves_an_older_champion(tmp_path: Path) -> None:
    source, model = tmp_path / "a.csv", tmp_path / "champion.vw"
    beside = Path(features_path(model))
    source.write_text("x,y\n" + "".join(f"{i % 7},{i % 7 * 3}\n" for i in range(200)))
    cli("run", str(source), "--to-vw", str(model), "-q")
    before = model.read_bytes(), beside.read_bytes()
    for words in (["--target", "nope"], ["--loss", "logistic"]):
        done = cli("run", str(source), "--to-vw", str(model), *words, rc=1)
        assert f"{model} stays as it was: the run failed" in done.stderr
        assert (model.read_bytes(), beside.read_bytes()) == before
    source.write_text("x,y\n")
    cli("run", str(source), "--to-vw", str(model), rc=1)
    assert (model.read_bytes(), beside.read_bytes()) == before


def test_a_champion_cannot_go_where_there_is_no_folder(stream: Path, tmp_path: Path) -> None:
    """That is said before the run, not after it."""
    path = tmp_path / "nowhere" / "champion.vw"
    done = cli("run", str(stream), "--to-vw", str(path), rc=1)
    assert f"{path}: No such file or directory" in done.stderr
    assert "examples" not in done.stderr


def test_the_baseline_is_compared_from_the_second_label_on(tmp_path: Path) -> None:
    """The first prediction is 0, whoever makes it, and labels may be far from 0."""
    rng, rows = random.Random(2), []
    for _ in range(1500):
        a, b = rng.gauss(0, 1), rng.gauss(0, 1)
        rows.append(f"{a:.4f},{b:.4f},{1000 + 3 * a * b + rng.gauss(0, 0.1):.4f}\n")
    source, result = tmp_path / "a.csv", tmp_path / "r.json"
    source.write_text("a,b,y\n" + "".join(rows))
    done = cli("run", str(source), "--baseline", "--json", str(result))
    found = json.loads(result.read_text())
    assert found["loss"] / found["baseline_loss"] > 0.9, "1000² in the first row"
    below = 1.0 - (1.0 - found["r2"]) / (1.0 - found["baseline_r2"])
    assert below > 0.5
    line = f"the initial configuration alone: {found['baseline_loss']:.6g} (R² "
    line += f"{found['baseline_r2']:.3f}); what was served is {below:.1%} below\n"
    assert line in done.stderr
    done = cli("run", str(source), "--baseline", "--loss", "quantile:0.5")
    assert re.search(r"alone: \S+; what was served is \S+% below\n", done.stderr)


def test_a_champion_with_l2_goes_on_without_it(stream: Path, tmp_path: Path) -> None:
    model = str(tmp_path / "champion.vw")
    done = cli("run", str(stream), "--init", "l2=1e-6", "--to-vw", model, "--tune", "interactions")
    assert f"{model} goes on learning without l2" in done.stderr
    done = cli("run", str(stream), "--init", "l2=1e-6", "--to-vw", model, "--as-read")
    assert "without l2" not in done.stderr
