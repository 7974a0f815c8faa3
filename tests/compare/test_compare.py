"""Methods side by side: scores, what is kept, what fails, interruptions, figures."""

from __future__ import annotations

import gzip
import json
import os
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import chacha
from chacha import ChaCha
from chacha.compare import METHODS, CommonSettings, Method, Stream, Study, normalised, rows_of
from chacha.compare.result_cache import Kept, Outcome, Point
from chacha.compare.scores import to_json
from chacha.compare.workers import Task, Tell, Workers
from chacha.errors import ConfigError
from tests.support.command_line import cli
from tests.support.comparing import cli_without

STREAM = "synth:interactions,n=900,seed=4"
FAST = ["naive", "random", "exhaustive", "paper"]


def study(home: Path, streams: Any = (STREAM,), methods: Any = FAST, **settings: Any) -> Study:
    opened = [Stream(name) if isinstance(name, str) else name for name in streams]
    return Study(opened, methods, 3, home=home, **{"workers": 0, **settings})


def test_the_score_is_0_for_naive_and_1_for_exhaustive(tmp_path: Path) -> None:
    found = study(tmp_path, methods=[m for m in METHODS if m != "offline"]).finish()
    assert not found.failures
    rows = rows_of(found.outcomes[STREAM])
    assert (rows["naive"].score, rows["exhaustive"].score) == (0.0, 1.0)
    assert rows["naive"].relative == 1.0
    assert rows["naive"].loss == [rows["naive"].loss[0]] * 3
    assert rows["random"].score_sd > 0  # type: ignore[operator]
    assert rows["no-champion"].score < rows["paper"].score  # type: ignore[operator]


@given(st.floats(0.1, 9), st.floats(0.1, 9), st.floats(-5, 5))
def test_the_score_by_construction(naive: float, exhaustive: float, share: float) -> None:
    if abs(naive - exhaustive) < 1e-3:
        return
    loss = naive + share * (exhaustive - naive)
    assert normalised(naive, naive, exhaustive) == 0.0
    assert normalised(exhaustive, naive, exhaustive) == 1.0
    assert normalised(loss, naive, exhaustive) == pytest.approx(share, abs=1e-9)


def test_without_naive_or_exhaustive_or_a_difference_there_is_no_score(tmp_path: Path) -> None:
    rows = rows_of(study(tmp_path, methods=["naive", "paper"]).finish().outcomes[STREAM])
    assert rows["paper"].score is None
    assert rows["paper"].relative is not None
    rows = rows_of(study(tmp_path, methods=["paper"]).finish().outcomes[STREAM])
    assert rows["paper"].relative is None
    alike = study(tmp_path, methods=FAST, settings=CommonSettings(space=chacha.Space.of({})))
    rows = rows_of(alike.finish().outcomes[STREAM])
    assert [row.score for row in rows.values()] == [None] * 4, "nothing is tuned: all are naive"


def test_every_method_does_what_the_library_does(tmp_path: Path) -> None:
    space = chacha.Space.of(
        {"interactions": chacha.Interactions(), "learning_rate": chacha.LogUniform(2e-10, 1)}
    )
    settings = CommonSettings(budget=4, space=space, init={"l2": 1e-6})
    made = study(tmp_path, methods=["paper", "flaml"], settings=settings, first_seed=7).finish()
    for method, preset in (("paper", ChaCha.paper), ("flaml", ChaCha.flaml)):
        for i, outcome in enumerate(made.outcomes[STREAM][method]):
            model = preset(budget=4, space=space, init={"l2": 1e-6}, seed=7 + i)
            summary = model.run(STREAM)
            assert outcome.loss == summary.loss
            assert outcome.promotions == summary.promotions
            assert outcome.champion == str(summary.champion)
            assert [point.n for point in outcome.curve][-1] == 900
            assert len(outcome.curve) == 200


def test_offline_is_frozen_after_a_fifth_and_compared_over_the_rest(tmp_path: Path) -> None:
    outcomes = study(tmp_path, methods=["naive", "offline", "exhaustive"]).finish().outcomes[STREAM]
    model = ChaCha(budget=1)
    examples = [e for e in chacha.open_source(STREAM) if isinstance(e, chacha.Example)]
    for example in examples[:180]:
        model.learn_one(example)
    losses = [(model.predict_one(e) - (e.label or 0.0)) ** 2 for e in examples[180:]]
    assert outcomes["offline"][0].loss == pytest.approx(sum(losses) / 720, rel=1e-12)
    alone = ChaCha(budget=1)
    late = [step.loss for step in alone.steps(chacha.open_source(STREAM))][180:]
    rows = rows_of(outcomes)
    assert rows["offline"].relative == pytest.approx(sum(losses) / sum(late))
    assert rows["naive"].relative == 1.0


def test_what_a_seed_cannot_change_is_run_once(tmp_path: Path) -> None:
    study(tmp_path, methods=["naive", "exhaustive", "random"]).finish()
    files = list(tmp_path.rglob("*.json"))
    assert len(files) == 1 + 1 + 1 + 3, "a look, naive, exhaustive, three seeds of random"


def without_time(result: dict[str, Any]) -> dict[str, Any]:
    for methods in result.values():
        for row in methods.values():
            del row["cpu_seconds"]
    return result


def test_an_interrupted_comparison_started_again_gives_the_same(tmp_path: Path) -> None:
    sources = ["synth:fried,n=4000", "synth:interactions,n=4000"]
    words = ["compare", *sources, "-m", "naive,random,paper", "--seeds", "3", "-q", "--json"]
    began = [sys.executable, "-m", "chacha", *words, str(tmp_path / "cut.json")]
    home = tmp_path / "cut"
    process = subprocess.Popen([*began, "--cache", str(home), "--jobs", "1"])
    while len(list(home.rglob("[0-9a-f]*.json"))) < 4:
        time.sleep(0.01)
        assert process.poll() is None, "it ended before it could be interrupted"
    process.send_signal(signal.SIGINT)
    assert process.wait(20) == 1
    kept = {path: path.stat().st_mtime_ns for path in home.rglob("[0-9a-f]*.json")}
    assert len(kept) < 2 + 14, "something is left to do"
    cli(*words, str(tmp_path / "again.json"), "--cache", str(home))
    cli(*words, str(tmp_path / "whole.json"), "--cache", str(tmp_path / "whole"))
    again, whole = (json.loads((tmp_path / f"{n}.json").read_text()) for n in ("again", "whole"))
    assert list(again) == sources, "the sources and nothing else"
    assert without_time(again) == without_time(whole)
    assert all(path.stat().st_mtime_ns == before for path, before in kept.items())


def alive(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


def test_an_interruption_is_told_and_leaves_no_process(tmp_path: Path) -> None:
    words = ["compare", "synth:fried,n=200000", "--cache", str(tmp_path), "--jobs", "2"]
    process = subprocess.Popen(
        [sys.executable, "-m", "chacha", *words],
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    time.sleep(2.5)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: the workers get it too
    _, told = process.communicate(timeout=20)
    assert process.returncode == 1
    assert "the same command goes on from there" in told
    assert "Traceback" not in told
    for _ in range(500):
        if not alive(process.pid):
            break
        time.sleep(0.01)
    assert not alive(process.pid)


def test_a_source_that_fails_is_told_and_the_others_finish(tmp_path: Path) -> None:
    bad = tmp_path / "bad.vw"
    bad.write_text("1 |a x\nnan |a x\n")
    cut = tmp_path / "cut.vw.gz"
    cut.write_bytes(gzip.compress(b"1 |a x |b y\n" * 5000)[:-30])
    words = ("nowhere.csv", str(bad), STREAM, str(cut), "openml:none", "synth:fried")
    done = cli(
        *("compare", *words, "--seeds", "2", "-m", "naive,paper", "--json", "-", "-q"),
        *("--cache", str(tmp_path / "kept")),
        rc=1,
    )
    assert "nowhere.csv: no such file" in done.stderr
    assert "bad.vw:2" in done.stderr
    assert "cut.vw.gz" in done.stderr
    assert "openml:none: give the number" in done.stderr
    assert "synth:fried,seed=0 never ends" in done.stderr
    result = json.loads(done.stdout)
    assert list(result) == list(words)
    assert [bool(methods) for methods in result.values()] == [False, False, True] + [False] * 3


def test_a_method_that_fails_is_told_and_the_others_finish(tmp_path: Path) -> None:
    """So many groups have more products than models can live at once."""
    line = "1 " + " ".join(f"|g{i} x" for i in range(40))
    path = tmp_path / "wide.vw"
    path.write_text(f"{line}\n" * 3)
    found = study(tmp_path / "kept", [str(path)]).finish()
    assert list(found.outcomes[str(path)]) == ["naive", "random", "paper"]
    assert [(f.stream, f.method) for f in found.failures] == [(str(path), "exhaustive")]
    assert "at most 256 can be live at once" in found.failures[0].message


def fall(tell: Tell) -> None:
    os._exit(7)


def double(x: int, tell: Tell) -> int:
    tell(0.5)
    return 2 * x


def test_a_worker_that_dies_fails_its_own_task_only() -> None:
    tasks: list[Task] = [partial(double, 1), fall, *(partial(double, i) for i in range(2, 6))]
    with Workers(2) as workers:
        reports = list(workers.do(tasks))
    ended = {report.task: report for report in reports if report.ended}
    assert len(ended) == 6
    assert "code 7" in ended[1].error
    assert [ended[i].result for i in (0, 2, 3, 4, 5)] == [2, 4, 6, 8, 10]
    assert sum(report.share == 0.5 for report in reports) == 5


def test_in_processes_as_in_this_one(tmp_path: Path) -> None:
    here = study(tmp_path / "a").finish()
    there = study(tmp_path / "b", workers=2)
    shares = [at.done / at.total for at in there.run() if at.doing == "running"]
    assert shares == sorted(shares)
    assert shares[-1] == pytest.approx(1.0)
    assert len(shares) > 100, "it tells how far it is within a run too"
    rows = [to_json(rows_of(found.outcomes[STREAM])) for found in (here, there.result)]
    assert without_time({"": rows[0]}) == without_time({"": rows[1]})


def test_the_same_bytes_in_another_format_are_another_stream(tmp_path: Path) -> None:
    home, told = tmp_path / "kept", []
    for ending in ("tsv", "csv"):
        path = tmp_path / f"t.{ending}"
        path.write_text("a,b\ty\n" + "1,2\t3\n" * 20)
        found = study(home, [str(path)], ["naive"]).finish()
        told.append(bool(found.outcomes[str(path)]))
    assert told == [True, False], "as CSV the target is no number"


def test_a_pattern_is_one_stream(tmp_path: Path) -> None:
    home = tmp_path / "kept"
    first, second = tmp_path / "1.vw", tmp_path / "2.vw"
    first.write_text("1 |a x\n")
    second.write_text("2 |a x\n")
    both = study(home, [str(tmp_path / "?.vw")], ["naive"]).finish()
    assert both.outcomes[str(tmp_path / "?.vw")]["naive"][0].examples == 2


def test_what_is_kept_depends_on_the_content(tmp_path: Path) -> None:
    path, home = tmp_path / "s.vw", tmp_path / "kept"
    path.write_text("1 |a x |b y\n" * 30)
    first = study(home, [str(path)]).finish()
    again = study(home, [str(path)]).finish()
    assert again.outcomes == first.outcomes, "CPU seconds and all"
    before = {file: file.stat().st_mtime_ns for file in home.rglob("*.json")}
    study(home, [str(path)], fresh=True).finish()
    assert all(file.stat().st_mtime_ns > at for file, at in before.items()), "all anew"
    moved = path.rename(tmp_path / "moved.vw")
    assert study(home, [str(moved)]).finish().outcomes[str(moved)]["naive"][0].examples == 30
    moved.write_text("2 |a x |b y\n" * 40)
    assert study(home, [str(moved)]).finish().outcomes[str(moved)]["naive"][0].examples == 40
    count = len(list(home.rglob("*.json")))
    for settings in (
        CommonSettings(budget=3),
        CommonSettings(loss=chacha.Quantile(0.2)),
        CommonSettings(init={"l2": 1}),
    ):
        study(home, [str(moved)], ["paper"], settings=settings).finish()
        after = len(list(home.rglob("*.json")))
        assert after >= count + 3
        count = after


@pytest.mark.parametrize("text", ["", '{"examples": 90', "{}", "[]", '{"curve": [1], "loss": 2}'])
def test_a_kept_file_that_is_broken_is_made_anew(tmp_path: Path, text: str) -> None:
    first = study(tmp_path).finish()
    for path in tmp_path.rglob("*.json"):
        path.write_text(text)
    again = study(tmp_path).finish()
    assert [o.loss for o in again.outcomes[STREAM]["paper"]] == [
        o.loss for o in first.outcomes[STREAM]["paper"]
    ]


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "kept").write_text("a file")
    done = cli("compare", STREAM, "-q", "--cache", str(tmp_path / "kept"), rc=1)
    assert str(tmp_path / "kept") in done.stderr


def test_a_limit_and_the_logarithm_go_through(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("a,b,y\n" + "".join(f"{i % 7},{i % 5},{(i % 9) * 100}\n" for i in range(500)))
    stream = Stream(str(path), limit=300, log_target=chacha.sources.LogTarget.AUTO)
    found = study(tmp_path / "kept", [stream]).finish()
    model = ChaCha.paper(seed=0)
    model.run(chacha.source_profile.with_log_target(chacha.open_source(path)), limit=300)
    assert found.outcomes[str(path)]["paper"][0].loss == model.loss
    assert found.outcomes[str(path)]["paper"][0].examples == 300


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["-m", "naive,clever"], "there is no method 'clever'; choose from naive, random"),
        (["-m", "river:LogisticRegression"], "is a classifier, and squared loss needs a regressor"),
        (["-m", "river:Clever"], "has no such class; "),
        (["-m", ","], "name at least one method"),
        (["-m", "naive,naive"], "the method naive is given twice"),
        ([STREAM], "is given twice"),
        (["-"], "-: a comparison reads its sources many times; save it to a file first"),
        (["--report", "r.txt"], "--report r.txt: choose one of .html"),
        (["--init", "depth=3"], "no option 'depth'"),
        (["--tune", "depth"], "--tune depth: choose from"),
    ],
)
def test_a_wrong_command_line_is_refused_before_anything_runs(words: list[str], told: str) -> None:
    done = cli("compare", STREAM, *words, rc=2)
    assert told in done.stderr


def test_a_report_that_cannot_be_written_is_told_before_anything_runs(tmp_path: Path) -> None:
    done = cli("compare", STREAM, "--report", "no/such/r.html", rc=1)
    assert "no/such/r.html: No such file or directory" in done.stderr
    (tmp_path / "r.html").mkdir()
    done = cli("compare", STREAM, "--report", str(tmp_path / "r.html"), rc=1)
    assert "Is a directory" in done.stderr


@pytest.mark.parametrize("ending", ["html", "svg"])
def test_if_all_fails_there_is_a_report_all_the_same(tmp_path: Path, ending: str) -> None:
    words = ("nowhere.csv", "none-??.vw", "--cache", str(tmp_path / "kept"), "--report")
    done = cli("compare", *words, str(tmp_path / f"r.{ending}"), rc=1)
    assert "nowhere.csv: no such file" in done.stderr
    assert "none-??.vw: no file matches" in done.stderr
    assert (tmp_path / f"r.{ending}").stat().st_size > 100
    cli("compare", *words, str(tmp_path / f"s.{ending}"), "-m", "clever", rc=2)
    assert not (tmp_path / f"s.{ending}").exists(), "a wrong command line leaves nothing"


@pytest.mark.parametrize("n", [1, 2, 3])
def test_a_stream_of_very_few_examples(tmp_path: Path, n: int) -> None:
    report = tmp_path / "r.html"
    done = cli(
        *("compare", f"synth:fried,n={n}", "-m", ",".join(METHODS), "--seeds", "1", "-q"),
        *("--report", str(report), "--cache", str(tmp_path / "kept"), "--json", "-"),
    )
    row = json.loads(done.stdout)[f"synth:fried,n={n}"]["offline"]
    assert (row["loss"] == [None]) == (n == 1), "of one example nothing is left for it"
    assert "<svg" in report.read_text()


def test_losses_without_bounds_are_null(tmp_path: Path) -> None:
    def lost(loss: float) -> list[Outcome]:
        return [Outcome(2, 0, "", 0.1, (Point(1, loss, 1.0), Point(2, loss, 2.0)))]

    outcomes = {"naive": lost(1.0), "paper": lost(float("inf")), "random": lost(float("nan"))}
    rows = to_json(rows_of(outcomes))
    assert rows["paper"]["loss"] == rows["random"]["loss"] == [None]
    assert json.loads(json.dumps(rows, allow_nan=False))
    figures().save(figures().curves_figure({"s": outcomes}), tmp_path / "f.png")


def test_what_cannot_be_read_twice_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.vw")
    with pytest.raises(ConfigError, match=r"pipe.vw: a comparison reads its sources many times"):
        study(tmp_path / "kept", [str(tmp_path / "pipe.vw")], ["naive"])


def test_the_table_is_data_and_goes_to_stdout(tmp_path: Path) -> None:
    words = ("compare", STREAM, "--seeds", "2", "--cache", str(tmp_path), "--limit", "200")
    done = cli(*words, "--methods", "naive,exhaustive,offline")
    assert f"{STREAM}: 200 examples" in done.stdout
    names = [line.split()[0] for line in done.stdout.splitlines()[2:]]
    assert names == ["method", "naive", "exhaustive", "offline"]
    assert "100% of all" in done.stderr
    done = cli(*words, "--json", "-", "-m", "paper")
    assert json.loads(done.stdout)[STREAM]["paper"]["relative"] is None
    assert "method" in done.stderr


@pytest.mark.parametrize("ending", ["html", "svg", "png", "pdf"])
def test_figures_are_rendered_and_not_empty(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"r.{ending}"
    cli(
        *("compare", STREAM, "synth:fried,n=500", "-q", "--seeds", "2", "--report", str(path)),
        *("--methods", ",".join(METHODS), "--cache", str(tmp_path / "kept")),
    )
    data = path.read_bytes()
    if ending in ("html", "svg"):
        text = data.decode()
        colours = [style["color"] for style in figures().STYLES.values()]
        for colour in colours:
            assert text.count(f"stroke: {colour}") >= 2 or text.count(f'stroke="{colour}"') >= 2
        assert text.count("<path") > 50
    if ending == "html":
        assert "<td>no-champion</td>" in text
        assert text.count("<svg") == 2
        assert "src=" not in text
        assert 'href="http' not in text.replace('href="http://www.w3.org', "")
    if ending == "png":
        image = pytest.importorskip("matplotlib.image").imread(path)
        assert image.shape[0] > 400
        assert image[..., :3].std() > 0.05
    if ending == "pdf":
        assert data.startswith(b"%PDF")
        assert len(data) > 10_000


def figures() -> Any:
    return pytest.importorskip("chacha.compare.figures")


def test_with_a_frozen_method_all_curves_begin_where_it_is_frozen(tmp_path: Path) -> None:
    found = study(tmp_path, methods=["naive", "offline"]).finish()
    for line in figures().curves_figure(found.outcomes).axes[0].get_lines():
        x, y = line.get_data()
        assert 180 < x[0] <= 185, line.get_label()
    assert y[-1] == pytest.approx(found.outcomes[STREAM]["offline"][0].loss)
    naive = found.outcomes[STREAM]["naive"][0]
    mean = figures().curve_of([naive], begin=180)[1]
    assert mean[-1] == pytest.approx(naive.loss_since(180))
    assert naive.loss_since(180) != naive.loss


def test_what_is_off_the_scale_is_told() -> None:
    def lost(loss: float) -> list[Outcome]:
        curve = tuple(Point(n, loss * n, float(n)) for n in range(1, 11))
        return [Outcome(10, 0, "", 0.1, curve)]

    made = figures().curves_figure({"s": {"naive": lost(1.0), "no-champion": lost(50.0)}})
    axes = made.axes[0]
    labels = [text.get_text() for text in axes.get_legend().get_texts()]
    assert labels == ["naive", "no-champion (off scale: 50)"]


def test_a_missing_matplotlib_is_told_before_anything_runs() -> None:
    told = cli_without("matplotlib", "compare", STREAM, "--report", "r.html")
    assert "pip install 'chacha-automl[report]'" in told


def test_results_are_written_whole_or_not_at_all(tmp_path: Path) -> None:
    kept = Kept(tmp_path)
    with pytest.raises(TypeError):
        kept.put("k", {"loss": object()})
    assert list(tmp_path.rglob("*")) == []
    assert kept.get("k") is None


def test_a_study_needs_streams_and_methods(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="name at least one source"):
        study(tmp_path, [])
    with pytest.raises(ConfigError, match="seeds must be a whole number"):
        Study([Stream(STREAM)], ["naive"], 0)


def halved(**settings: Any) -> ChaCha:
    return ChaCha.paper(**{**settings, "init": {"learning_rate": 0.25}})


def test_a_method_of_ones_own(tmp_path: Path) -> None:
    own = Method("halved", "half the rate", halved)
    found = study(tmp_path, methods=["naive", own], workers=2).finish()
    assert not found.failures
    model = ChaCha.paper(init={"learning_rate": 0.25}, seed=2)
    assert found.outcomes[STREAM]["halved"][2].loss == model.run(STREAM).loss


@pytest.mark.parametrize("ending", ["svg", "png", "pdf"])
def test_the_same_figure_gives_the_same_bytes(tmp_path: Path, ending: str) -> None:
    found = study(tmp_path / "kept").finish()
    paths = [tmp_path / f"{i}.{ending}" for i in range(2)]
    for path in paths:
        figures().save(figures().curves_figure(found.outcomes), path)
    assert paths[0].read_bytes() == paths[1].read_bytes()


def test_a_full_disk_names_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.replace", full)
    with pytest.raises(OSError, match="No space left") as told:
        Kept(tmp_path).put("k", {})
    assert told.value.filename == str(tmp_path)
