"""Methods side by side: scores, the cache, failures, interruptions, figures."""

from __future__ import annotations

import contextlib
import gzip
import json
import os
import signal
import subprocess
import sys
import threading
import time
from functools import partial
from itertools import pairwise
from multiprocessing import active_children
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import chacha
from chacha import ChaCha, ContestRules
from chacha.compare import (
    METHODS,
    CommonSettings,
    Method,
    Stream,
    Study,
    method_scores,
    normalised_score,
)
from chacha.compare.outcome import CurvePoint, Outcome
from chacha.compare.result_cache import PRESENTATION, ResultCache
from chacha.compare.scores import to_json
from chacha.compare.workers import OnShare, Task, Workers
from chacha.errors import ConfigError
from tests.support.command_line import cli
from tests.support.comparisons import LastLabel, cli_without

AS_READ = ContestRules(scaling=None)
"""As the methods that are compared: labels are not scaled."""
STREAM = "synth:interactions,n=900,seed=4"
FAST = ["naive", "random", "exhaustive", "paper"]


def study(cache_dir: Path, streams: Any = (STREAM,), methods: Any = FAST, **settings: Any) -> Study:
    opened = [Stream(name) if isinstance(name, str) else name for name in streams]
    return Study(opened, methods, 3, cache_dir=cache_dir, **{"workers": 0, **settings})


def test_the_score_is_0_for_naive_and_1_for_exhaustive(tmp_path: Path) -> None:
    comparison = study(tmp_path, methods=[m for m in METHODS if m != "offline"]).finish()
    assert not comparison.failures
    rows = method_scores(comparison.outcomes[STREAM])
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
    assert normalised_score(naive, naive, exhaustive) == 0.0
    assert normalised_score(exhaustive, naive, exhaustive) == 1.0
    assert normalised_score(loss, naive, exhaustive) == pytest.approx(share, abs=1e-9)


def test_without_naive_or_exhaustive_or_a_difference_there_is_no_score(tmp_path: Path) -> None:
    rows = method_scores(study(tmp_path, methods=["naive", "paper"]).finish().outcomes[STREAM])
    assert rows["paper"].score is None
    assert rows["paper"].relative is not None
    rows = method_scores(study(tmp_path, methods=["paper"]).finish().outcomes[STREAM])
    assert rows["paper"].relative is None
    alike = study(tmp_path, methods=FAST, settings=CommonSettings(space=chacha.Space.of({})))
    rows = method_scores(alike.finish().outcomes[STREAM])
    assert [row.score for row in rows.values()] == [None] * 4, "nothing is tuned: all are naive"


def test_every_method_does_what_the_library_does(tmp_path: Path) -> None:
    space = chacha.Space.of(
        {"interactions": chacha.Interactions(), "learning_rate": chacha.LogUniform(2e-10, 1)}
    )
    settings = CommonSettings(budget=4, space=space, init={"l2": 1e-6})
    comparison = study(
        tmp_path, methods=["paper", "flaml"], settings=settings, first_seed=7
    ).finish()
    for method, preset in (("paper", ChaCha.paper), ("flaml", ChaCha.flaml)):
        for i, outcome in enumerate(comparison.outcomes[STREAM][method]):
            model = preset(budget=4, space=space, init={"l2": 1e-6}, seed=7 + i)
            summary = model.run(STREAM)
            assert outcome.loss == summary.loss
            assert outcome.promotions == summary.promotions
            assert outcome.champion == str(summary.champion)
            assert [point.n for point in outcome.curve][-1] == 900
            assert len(outcome.curve) == 200 + 1, "and a point after 100 examples"


def test_offline_is_frozen_after_a_fifth_and_compared_over_the_rest(tmp_path: Path) -> None:
    outcomes = study(tmp_path, methods=["naive", "offline", "exhaustive"]).finish().outcomes[STREAM]
    model = ChaCha(budget=1, rules=AS_READ)
    examples = [e for e in chacha.open_source(STREAM) if isinstance(e, chacha.Example)]
    for example in examples[:180]:
        model.learn_one(example)
    losses = [(model.predict_one(e) - (e.label or 0.0)) ** 2 for e in examples[180:]]
    assert outcomes["offline"][0].loss == pytest.approx(sum(losses) / 720, rel=1e-12)
    alone = ChaCha(budget=1, rules=AS_READ)
    late = [step.loss for step in alone.steps(chacha.open_source(STREAM))][180:]
    rows = method_scores(outcomes)
    assert rows["offline"].relative == pytest.approx(sum(losses) / sum(late))
    assert rows["naive"].relative == 1.0


def test_a_run_that_no_seed_changes_is_not_repeated(tmp_path: Path) -> None:
    study(tmp_path, methods=["naive", "exhaustive", "random"]).finish()
    files = list(tmp_path.rglob("*.json"))
    assert len(files) == 1 + 1 + 1 + 3, "a profile, naive, exhaustive, three seeds of random"


def weighted_stream(path: Path, count: int) -> str:
    """Write lines of weights 0.5, 1 and 2, whose labels are products of their numbers."""
    random = Random(6)
    with path.open("w") as file:
        for i in range(count):
            a, b = random.uniform(-1, 1), random.uniform(-1, 1)
            file.write(f"{a * b + 0.5 * a:.4f} {(0.5, 1, 2)[i % 3]} |a x:{a:.4f} |b y:{b:.4f}\n")
    return str(path)


def charges(
    method: Method, settings: CommonSettings, name: str, seed: int
) -> list[tuple[float, float]]:
    """Return what a method is charged for each example, and its weight; 0 if it is not charged."""
    examples = [e for e in chacha.open_source(name) if isinstance(e, chacha.Example)]
    labels, weights = [e.label or 0.0 for e in examples], [e.weight for e in examples]
    if method.name == "all-pairs":
        settings = settings.with_fixed(chacha.Config(["ab"]))
    model = settings.make_model(method, seed)
    if method.name == "last":
        losses = [(p - y) ** 2 for p, y in pairwise([float(seed), *labels])]
    elif method.name == "offline":
        frozen = -(-len(examples) // 5)
        for example in examples[:frozen]:
            model.learn_one(example)
        losses = [(model.predict_one(e) - y) ** 2 for e, y in zip(examples, labels, strict=True)]
        weights[:frozen] = [0.0] * frozen
    else:
        losses = [step.loss for step in model.steps(chacha.open_source(name))]
    return list(zip(losses, weights, strict=True))


@pytest.mark.parametrize("count", [1, 100, 101, 130, 1000])
def test_the_loss_without_the_first_100_examples(tmp_path: Path, count: int) -> None:
    name = weighted_stream(tmp_path / "w.vw", count)
    methods = [METHODS[each] for each in ("naive", "chacha", "paper", "offline", "all-pairs")]
    methods.append(Method("last", "", METHODS["naive"].make, learner=LastLabel))
    settings = CommonSettings()
    first = study(tmp_path / "cache", [name], methods, settings=settings).finish()
    assert not first.failures
    rows = to_json(method_scores(first.outcomes[name]))
    for method in methods:
        found = rows[method.name]["loss_from_100"]
        assert len(found) == 3, "one for each seed"
        for seed, loss in enumerate(found):
            late = charges(method, settings, name, seed)[100:]
            total, weight = sum(w * charge for charge, w in late), sum(w for _, w in late)
            expected = pytest.approx(total / weight, rel=1e-9) if late else None
            assert loss == expected, (method.name, seed)
    again = study(tmp_path / "cache", [name], methods, settings=settings).finish()
    assert to_json(method_scores(again.outcomes[name])) == rows, "it is cached"


def without_time(result: dict[str, Any]) -> dict[str, Any]:
    for methods in result.values():
        for row in methods.values():
            del row["cpu_seconds"]
    return result


def test_an_interrupted_comparison_gives_the_same_when_repeated(tmp_path: Path) -> None:
    sources = ["synth:fried,n=4000", "synth:interactions,n=4000"]
    words = ["compare", *sources, "-m", "naive,random,paper", "--seeds", "3", "-q", "--json"]
    began = [sys.executable, "-m", "chacha", *words, str(tmp_path / "cut.json")]
    cache_dir = tmp_path / "cut"
    process = subprocess.Popen([*began, "--cache", str(cache_dir), "--jobs", "1"])
    while len(list(cache_dir.rglob("[0-9a-f]*.json"))) < 4:
        time.sleep(0.01)
        assert process.poll() is None, "it ended before it could be interrupted"
    process.send_signal(signal.SIGINT)
    assert process.wait(20) == 1
    cached = {path: path.stat().st_mtime_ns for path in cache_dir.rglob("[0-9a-f]*.json")}
    assert len(cached) < 2 + 16, "something is left to do"
    cli(*words, str(tmp_path / "again.json"), "--cache", str(cache_dir))
    cli(*words, str(tmp_path / "whole.json"), "--cache", str(tmp_path / "whole"))
    again, whole = (json.loads((tmp_path / f"{n}.json").read_text()) for n in ("again", "whole"))
    assert list(again) == sources, "the sources and nothing else"
    assert without_time(again) == without_time(whole)
    assert all(path.stat().st_mtime_ns == before for path, before in cached.items())


def is_alive(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


def group_size(group: int) -> int:
    """How many processes the group has."""
    size = 0
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):  # it ended meanwhile
            size += int(path.read_text().rpartition(")")[2].split()[2]) == group
    return size


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")
@pytest.mark.parametrize("after", [0.0, 0.1, 1.0])
def test_an_interruption_is_reported_and_leaves_no_process(after: float, tmp_path: Path) -> None:
    """Also while the workers are being started, `after` seconds after the first one exists."""
    words = ["compare", "synth:fried,n=200000", "--cache", str(tmp_path), "--jobs", "2"]
    process = subprocess.Popen(
        [sys.executable, "-m", "chacha", *words],
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    while group_size(process.pid) < 3:  # one cleans up after the others
        time.sleep(0.001)
    time.sleep(after)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: the workers get it too
    _, messages = process.communicate(timeout=20)
    assert process.returncode == 1
    assert "the same command goes on from there" in messages
    assert "Traceback" not in messages
    for _ in range(500):
        if not is_alive(process.pid):
            break
        time.sleep(0.01)
    assert not is_alive(process.pid)


def test_a_source_that_fails_is_named_and_the_others_finish(tmp_path: Path) -> None:
    bad = tmp_path / "bad.vw"
    bad.write_text("1 |a x\nnan |a x\n")
    cut = tmp_path / "cut.vw.gz"
    cut.write_bytes(gzip.compress(b"1 |a x |b y\n" * 5000)[:-30])
    words = ("nowhere.csv", str(bad), STREAM, str(cut), "openml:none", "synth:fried")
    done = cli(
        *("compare", *words, "--seeds", "2", "-m", "naive,paper", "--json", "-", "-q"),
        *("--cache", str(tmp_path / "cache")),
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


def test_a_method_that_fails_is_named_and_the_others_finish(tmp_path: Path) -> None:
    """40 groups have more products than models can be live at once."""
    line = "1 " + " ".join(f"|g{i} x" for i in range(40))
    path = tmp_path / "wide.vw"
    path.write_text(f"{line}\n" * 3)
    comparison = study(tmp_path / "cache", [str(path)]).finish()
    assert list(comparison.outcomes[str(path)]) == ["naive", "random", "paper"]
    assert [(f.stream, f.method) for f in comparison.failures] == [(str(path), "exhaustive")]
    assert "at most 256 can be live at once" in comparison.failures[0].message


def fail(on_share: OnShare) -> None:
    os._exit(7)


def double(x: int, on_share: OnShare) -> int:
    on_share(0.5)
    return 2 * x


def test_a_worker_that_dies_fails_its_own_task_only() -> None:
    tasks: list[Task] = [partial(double, 1), fail, *(partial(double, i) for i in range(2, 6))]
    with Workers(2) as workers:
        reports = list(workers.do(tasks))
    ended = {report.task: report for report in reports if report.ended}
    assert len(ended) == 6
    assert "code 7" in ended[1].error
    assert [ended[i].result for i in (0, 2, 3, 4, 5)] == [2, 4, 6, 8, 10]
    assert sum(report.share == 0.5 for report in reports) == 5


def test_workers_never_get_ctrl_c() -> None:
    """Not even while they are being started: only the process that started them answers it."""
    ended = threading.Event()

    def interrupt_the_workers() -> None:
        while not ended.wait(0.002):
            for pid in filter(None, [child.pid for child in active_children()]):
                with contextlib.suppress(OSError):
                    os.kill(pid, signal.SIGINT)

    thread = threading.Thread(target=interrupt_the_workers)
    thread.start()
    try:
        with Workers(2) as workers:
            reports = list(workers.do([partial(double, i) for i in range(6)]))
    finally:
        ended.set()
        thread.join()
    assert [report.error for report in reports] == [""] * 12


def test_in_processes_as_in_this_one(tmp_path: Path) -> None:
    here = study(tmp_path / "a").finish()
    there = study(tmp_path / "b", workers=2)
    shares = [at.done / at.total for at in there.run() if at.phase == "running"]
    assert shares == sorted(shares)
    assert shares[-1] == pytest.approx(1.0)
    assert len(shares) > 100, "progress is reported within a run too"
    rows = [to_json(method_scores(one.outcomes[STREAM])) for one in (here, there.result)]
    assert without_time({"": rows[0]}) == without_time({"": rows[1]})


def test_the_same_bytes_in_another_format_are_another_stream(tmp_path: Path) -> None:
    cache_dir, outcomes = tmp_path / "cache", []
    for ending in ("tsv", "csv"):
        path = tmp_path / f"t.{ending}"
        path.write_text("a,b\ty\n" + "1,2\t3\n" * 20)
        comparison = study(cache_dir, [str(path)], ["naive"]).finish()
        outcomes.append(bool(comparison.outcomes[str(path)]))
    assert outcomes == [True, False], "as CSV the target is not a number"


def test_a_pattern_is_one_stream(tmp_path: Path) -> None:
    cache_dir = tmp_path / "cache"
    first, second = tmp_path / "1.vw", tmp_path / "2.vw"
    first.write_text("1 |a x\n")
    second.write_text("2 |a x\n")
    both = study(cache_dir, [str(tmp_path / "?.vw")], ["naive"]).finish()
    assert both.outcomes[str(tmp_path / "?.vw")]["naive"][0].examples == 2


def test_the_cache_key_depends_on_the_content(tmp_path: Path) -> None:
    path, cache_dir = tmp_path / "s.vw", tmp_path / "cache"
    path.write_text("1 |a x |b y\n" * 30)
    first = study(cache_dir, [str(path)]).finish()
    again = study(cache_dir, [str(path)]).finish()
    assert again.outcomes == first.outcomes, "CPU seconds included"
    before = {file: file.stat().st_mtime_ns for file in cache_dir.rglob("*.json")}
    study(cache_dir, [str(path)], fresh=True).finish()
    assert all(file.stat().st_mtime_ns > at for file, at in before.items()), "everything runs again"
    moved = path.rename(tmp_path / "moved.vw")
    assert study(cache_dir, [str(moved)]).finish().outcomes[str(moved)]["naive"][0].examples == 30
    moved.write_text("2 |a x |b y\n" * 40)
    assert study(cache_dir, [str(moved)]).finish().outcomes[str(moved)]["naive"][0].examples == 40
    count = len(list(cache_dir.rglob("*.json")))
    for settings in (
        CommonSettings(budget=3),
        CommonSettings(loss=chacha.Quantile(0.2)),
        CommonSettings(init={"l2": 1}),
    ):
        study(cache_dir, [str(moved)], ["paper"], settings=settings).finish()
        after = len(list(cache_dir.rglob("*.json")))
        assert after >= count + 3
        count = after


@pytest.mark.parametrize("text", ["", '{"examples": 90', "{}", "[]", '{"curve": [1], "loss": 2}'])
def test_a_broken_cache_file_is_replaced(tmp_path: Path, text: str) -> None:
    first = study(tmp_path).finish()
    for path in tmp_path.rglob("*.json"):
        path.write_text(text)
    again = study(tmp_path).finish()
    assert [o.loss for o in again.outcomes[STREAM]["paper"]] == [
        o.loss for o in first.outcomes[STREAM]["paper"]
    ]


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file")
    done = cli("compare", STREAM, "-q", "--cache", str(tmp_path / "cache"), rc=1)
    assert str(tmp_path / "cache") in done.stderr


def test_a_limit_and_the_logarithm_are_applied(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("a,b,y\n" + "".join(f"{i % 7},{i % 5},{(i % 9) * 100}\n" for i in range(500)))
    stream = Stream(str(path), limit=300, log_target=chacha.sources.LogTarget.AUTO)
    comparison = study(tmp_path / "cache", [stream]).finish()
    model = ChaCha.paper(seed=0)
    model.run(chacha.source_profile.with_log_target(chacha.open_source(path)), limit=300)
    assert comparison.outcomes[str(path)]["paper"][0].loss == model.loss
    assert comparison.outcomes[str(path)]["paper"][0].examples == 300


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["-m", "naive,clever"], "there is no method 'clever'; choose from mean, naive, random"),
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
def test_a_wrong_command_line_is_refused_before_anything_runs(
    words: list[str], message: str
) -> None:
    done = cli("compare", STREAM, *words, rc=2)
    assert message in done.stderr


def test_an_unwritable_report_is_refused_before_anything_runs(tmp_path: Path) -> None:
    done = cli("compare", STREAM, "--report", "no/such/r.html", rc=1)
    assert "no/such/r.html: No such file or directory" in done.stderr
    (tmp_path / "r.html").mkdir()
    done = cli("compare", STREAM, "--report", str(tmp_path / "r.html"), rc=1)
    assert "Is a directory" in done.stderr


@pytest.mark.parametrize("ending", ["html", "svg"])
def test_there_is_a_report_even_if_everything_fails(tmp_path: Path, ending: str) -> None:
    words = ("nowhere.csv", "none-??.vw", "--cache", str(tmp_path / "cache"), "--report")
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
        *("--report", str(report), "--cache", str(tmp_path / "cache"), "--json", "-"),
    )
    row = json.loads(done.stdout)[f"synth:fried,n={n}"]["offline"]
    assert (row["loss"] == [None]) == (n == 1), "one example leaves none to charge"
    assert "<svg" in report.read_text()


def test_losses_that_are_not_finite_are_null(tmp_path: Path) -> None:
    def with_loss(loss: float) -> list[Outcome]:
        return [Outcome(2, 0, "", 0.1, (CurvePoint(1, loss, 1.0), CurvePoint(2, loss, 2.0)))]

    outcomes = {
        "naive": with_loss(1.0),
        "paper": with_loss(float("inf")),
        "random": with_loss(float("nan")),
    }
    rows = to_json(method_scores(outcomes))
    assert rows["paper"]["loss"] == rows["random"]["loss"] == [None]
    assert json.loads(json.dumps(rows, allow_nan=False))
    figures().save(figures().curves_figure({"s": outcomes}), tmp_path / "f.png")


def test_a_source_that_cannot_be_read_twice_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.vw")
    with pytest.raises(ConfigError, match=r"pipe.vw: a comparison reads its sources many times"):
        study(tmp_path / "cache", [str(tmp_path / "pipe.vw")], ["naive"])


def test_the_table_is_data_and_goes_to_stdout(tmp_path: Path) -> None:
    words = ("compare", STREAM, "--seeds", "2", "--cache", str(tmp_path), "--limit", "200")
    done = cli(*words, "--methods", "naive,exhaustive,offline")
    assert f"{STREAM}: 200 examples" in done.stdout
    names = [line.split()[0] for line in done.stdout.splitlines()[2:]]
    assert names == ["method", "mean", "naive", "exhaustive", "offline"]
    assert "100% of all" in done.stderr
    done = cli(*words, "--json", "-", "-m", "paper")
    assert json.loads(done.stdout)[STREAM]["paper"]["relative"] is None
    assert "method" in done.stderr


@pytest.mark.parametrize("ending", ["html", "svg", "png", "pdf"])
def test_figures_are_rendered_and_not_empty(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"r.{ending}"
    cli(
        *("compare", STREAM, "synth:fried,n=500", "-q", "--seeds", "2", "--report", str(path)),
        *("--methods", ",".join(METHODS), "--cache", str(tmp_path / "cache")),
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
        assert "Learning rates of chacha are relative to the scale of the labels." in text
        assert "src=" not in text
        assert 'href="http' not in text.replace('href="http://www.w3.org', "")
    if ending == "png":
        image = pytest.importorskip("matplotlib.image").imread(path)
        assert image.shape[0] > 400
        assert image[..., :3].std() > 0.05
    if ending == "pdf":
        assert data.startswith(b"%PDF")
        assert len(data) > 10_000


@pytest.mark.parametrize("flag", ["--as-read", "--loss=logistic", "--methods=naive"])
def test_learning_rates_are_vws_where_labels_are_not_scaled(tmp_path: Path, flag: str) -> None:
    stream, path = tmp_path / "s.vw", tmp_path / "r.html"
    stream.write_text("".join(f"{i % 2} |a x:{i % 3}\n" for i in range(40)))
    words = ("--methods=chacha", "--seeds=1", "--cache", str(tmp_path / "cache"), flag)
    cli("compare", str(stream), "-q", "--report", str(path), *words)
    assert "relative to the scale" not in path.read_text()


def figures() -> Any:
    return pytest.importorskip("chacha.compare.figures")


def test_with_a_frozen_method_all_curves_begin_where_it_is_frozen(tmp_path: Path) -> None:
    comparison = study(tmp_path, methods=["naive", "offline"]).finish()
    for line in figures().curves_figure(comparison.outcomes).axes[0].get_lines():
        x, y = line.get_data()
        assert 180 < x[0] <= 185, line.get_label()
    assert y[-1] == pytest.approx(comparison.outcomes[STREAM]["offline"][0].loss)
    naive = comparison.outcomes[STREAM]["naive"][0]
    mean = figures().curve_of([naive], begin=180)[1]
    assert mean[-1] == pytest.approx(naive.loss_since(180))
    assert naive.loss_since(180) != naive.loss


def test_a_curve_off_the_scale_is_in_the_legend() -> None:
    def with_loss(loss: float) -> list[Outcome]:
        curve = tuple(CurvePoint(n, loss * n, float(n)) for n in range(1, 11))
        return [Outcome(10, 0, "", 0.1, curve)]

    outcomes = {"naive": with_loss(1.0), "no-champion": with_loss(50.0)}
    axes = figures().curves_figure({"s": outcomes}).axes[0]
    labels = [text.get_text() for text in axes.get_legend().get_texts()]
    assert labels == ["naive", "no-champion (off scale: 50)"]


def test_a_missing_matplotlib_is_reported_before_anything_runs() -> None:
    error = cli_without("matplotlib", "compare", STREAM, "--report", "r.html")
    assert "pip install 'chacha-automl[report]'" in error


def test_results_are_written_whole_or_not_at_all(tmp_path: Path) -> None:
    cache = ResultCache(tmp_path)
    with pytest.raises(TypeError):
        cache.put("k", {"loss": object()})
    assert list(tmp_path.rglob("*")) == []
    assert cache.get("k") is None


def test_a_study_needs_streams_and_methods(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="name at least one source"):
        study(tmp_path, [])
    with pytest.raises(ConfigError, match="seeds must be a whole number"):
        Study([Stream(STREAM)], ["naive"], 0)


def half_rate(**settings: Any) -> ChaCha:
    return ChaCha.paper(**{**settings, "init": {"learning_rate": 0.25}})


def test_a_custom_method(tmp_path: Path) -> None:
    custom = Method("halved", "half the rate", half_rate)
    comparison = study(tmp_path, methods=["naive", custom], workers=2).finish()
    assert not comparison.failures
    model = ChaCha.paper(init={"learning_rate": 0.25}, seed=2)
    assert comparison.outcomes[STREAM]["halved"][2].loss == model.run(STREAM).loss


@pytest.mark.parametrize("ending", ["svg", "png", "pdf"])
def test_the_same_figure_gives_the_same_bytes(tmp_path: Path, ending: str) -> None:
    comparison = study(tmp_path / "cache").finish()
    paths = [tmp_path / f"{i}.{ending}" for i in range(2)]
    for path in paths:
        figures().save(figures().curves_figure(comparison.outcomes), path)
    assert paths[0].read_bytes() == paths[1].read_bytes()


def test_a_full_disk_names_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.replace", full)
    with pytest.raises(OSError, match="No space left") as raised:
        ResultCache(tmp_path).put("k", {})
    assert raised.value.filename == str(tmp_path)


def test_the_cache_key_does_not_depend_on_the_code_that_shows_results() -> None:
    package = Path(chacha.__file__).parent
    for name in PRESENTATION:
        assert (package / name).exists(), f"{name} was moved or renamed"
