"""Robustness of the native engine: threads, Ctrl-C, bad text, huge rows, many models."""

from __future__ import annotations

import gc
import itertools
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import chacha
from chacha import ChaCha, ChaChaError, Config, LogUniform, NativePool, OnBad, SampleComplexity
from chacha.drivers.native import NativeDriver
from chacha.errors import PoolError
from tests.support.native_runs import lines_of, state, vw_file

EVIDENCE = SampleComplexity(scale=0.005)


def model(**settings: Any) -> ChaCha:
    return ChaCha.paper(
        **{"evidence": EVIDENCE, "lease_factor": 1, "keep_decisions": 10**6, **settings}
    )


@pytest.fixture(scope="module")
def stream(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file that takes a good part of a second, in which much is decided."""
    path = tmp_path_factory.mktemp("native") / "stream.vw"
    lines = lines_of("interactions", 4000, seed=4)
    path.write_text("".join(f"{line}\n" for line in itertools.chain(lines, lines, lines)))
    return path


def together(*jobs: Callable[[], Any]) -> list[BaseException]:
    """Run the jobs in threads of their own; what they raised."""
    errors: list[BaseException] = []

    def guarded(job: Callable[[], Any]) -> None:
        try:
            job()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=guarded, args=(job,)) for job in jobs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return errors


def test_two_models_in_two_threads_do_not_disturb_each_other(stream: Path) -> None:
    alone = [model(budget=b) for b in (3, 6)]
    for each in alone:
        each.run(stream)
    pair = [model(budget=b) for b in (3, 6)]
    assert not together(*(lambda each=each: each.run(stream) for each in pair))
    assert [state(each) for each in pair] == [state(each) for each in alone]


def test_other_threads_go_on_during_a_run(stream: Path) -> None:
    """The engine gives Python's lock away while it works."""
    ticks: list[float] = []
    done = threading.Event()

    def tick() -> None:
        while not done.is_set():
            ticks.append(time.perf_counter())
            time.sleep(0.001)

    each = model(budget=40, evidence=SampleComplexity(scale=50.0), lease_factor=10**6)
    each.run(stream, limit=10)  # the models are live, and nothing more is decided

    def run() -> None:
        try:
            each.run(stream)
        finally:
            done.set()

    begin = time.perf_counter()
    assert not together(tick, run)
    whole = time.perf_counter() - begin
    longest = max(later - before for before, later in itertools.pairwise(ticks))
    assert longest < 0.5 * whole, f"no other thread ran for {longest:.3f} of {whole:.3f} seconds"


def test_one_model_in_two_threads_never_crashes(stream: Path) -> None:
    """The results are undefined, but the process survives and the model still works."""
    each = model(budget=5)
    lines = lines_of("interactions", 300, seed=9)
    x = {"a": 1.0, "b": 2.0, "c": "red"}

    def learn() -> None:
        for line in lines:
            each.learn_one(line)
            each.learn_one(x, 1.0)

    def look() -> None:
        for line in lines:
            each.predict_one(line)
            each.predict_one(x)
            _ = each.live, each.summary(), NativePool().bytes
            each.tell(each.ask(line), 1.0)

    for error in together(learn, look, learn, lambda: each.run(stream, limit=3000)):
        assert isinstance(error, (ChaChaError, KeyError, ValueError, RuntimeError)), error
    assert isinstance(each.predict_one(lines[0]), float)


def interrupted(each: ChaCha, path: Path, after: float) -> None:
    """A run that is interrupted after `after` seconds, or at its end."""
    timer = threading.Timer(after, signal.raise_signal, [signal.SIGINT])
    timer.start()
    each.run(path)
    timer.join()
    time.sleep(0.01)


@pytest.mark.parametrize("after", [0.0, 0.01, 0.03, 0.08])
def test_ctrl_c_in_the_middle_of_a_run_leaves_the_model_whole(stream: Path, after: float) -> None:
    """It goes on with the rest of the stream as if nothing had happened."""
    whole, cut = model(budget=6), model(budget=6)
    whole.run(stream)
    lines = stream.read_text().splitlines(keepends=True)
    rest = stream.with_suffix(".rest.vw")
    interrupts = 0
    while cut.examples < len(lines):
        rest.write_text("".join(lines[cut.examples :]))
        if interrupts == 4:
            cut.run(rest)
            break
        with pytest.raises(KeyboardInterrupt):
            interrupted(cut, rest, after)
        interrupts += 1
    assert interrupts
    assert state(cut) == state(whole)


@pytest.mark.parametrize("way", ["one by one", "rows", "file"])
def test_ctrl_c_between_an_example_and_its_decision(
    way: str, stream: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was to be decided is decided before the next example is learned."""
    whole, cut = model(budget=6), model(budget=6)
    lines = stream.read_text().splitlines()[:800]
    whole.run(chacha.sources.Rows(lines))
    decide, calls = NativeDriver._decide_now, itertools.count()

    def interrupted_decide(driver: NativeDriver) -> list[chacha.Decision]:
        if next(calls) % 3 == 0 and cut.examples < 700:
            raise KeyboardInterrupt
        return decide(driver)

    monkeypatch.setattr(NativeDriver, "_decide_now", interrupted_decide)
    while cut.examples < len(lines):
        rest = lines[cut.examples :]
        with suppress(KeyboardInterrupt):
            if way == "one by one":
                cut.learn_one(rest[0])
            else:
                cut.run(
                    chacha.sources.Rows(rest)
                    if way == "rows"
                    else vw_file("\n".join(rest).encode())
                )
    assert next(calls) > 30
    assert state(cut) == state(whole)


ENDLESS = """
import sys, chacha
model = chacha.ChaCha(budget=5)
def rows():
    print("started", flush=True)
    while True:
        yield from lines
words = [" ".join(f"{letter}{i}" for i in range(300)) for letter in "fg"]
lines = ["1 |a {} |b {}".format(*words)]
source = sys.argv[1] if len(sys.argv) > 1 else chacha.sources.Rows(rows())
if len(sys.argv) > 1:
    print("started", flush=True)
try:
    while True:
        model.run(source, limit=10**9)
except KeyboardInterrupt:
    print("stopped", model.examples > 0, flush=True)
"""


@pytest.mark.parametrize("from_file", [False, True], ids=["rows", "file"])
def test_ctrl_c_is_answered_within_a_second(from_file: bool, tmp_path: Path) -> None:
    """Also where single rows are large, and the engine is busy with many of them at once."""
    words = []
    if from_file:
        line = "1 |a " + " ".join(f"f{i}" for i in range(300))
        line += " |b " + " ".join(f"g{i}" for i in range(300)) + "\n"
        (tmp_path / "large.vw").write_text(line * 5000)
        words = [str(tmp_path / "large.vw")]
    process = subprocess.Popen(
        [sys.executable, "-c", ENDLESS, *words], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "started\n"
    time.sleep(0.4)
    begin = time.perf_counter()
    process.send_signal(signal.SIGINT)
    assert process.stdout.read() == "stopped True\n"
    answered = time.perf_counter() - begin
    process.wait()
    process.stdout.close()
    assert answered < 1.0


@settings(max_examples=80)
@given(st.lists(st.one_of(st.binary(max_size=40), st.just(b"1 |a x |b y:2")), max_size=30))
def test_random_bytes_never_crash(rows: list[bytes]) -> None:
    """What cannot be read is counted; the rest is learned, as by steps."""
    data = b"1 |a x\n" + b"\n".join(rows)
    whole, steps = model(budget=3), model(budget=3)
    whole.run(vw_file(data), on_bad=OnBad.SKIP)
    for _ in steps.steps(vw_file(data), on_bad=OnBad.SKIP):
        pass
    assert state(whole) == state(steps)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"1 |a x:1e9999999999", "values must be finite"),
        (b"1 |a x:nan", "values must be finite"),
        (b"x |a x", "labels must be finite"),
        (b"|a x", "no label"),
        (b"1 |a \xff", "not UTF-8"),
        (b"1 |a x\ry", "line break"),
        (b"1 -1 |a x", "must not be negative"),
        (b"1|a x", "tag"),
    ],
)
def test_a_bad_line_is_reported_with_its_place(line: bytes, reason: str, tmp_path: Path) -> None:
    """Lines before it count, also those that end with CR LF, and the first of all."""
    path = tmp_path / "bad.vw"
    for good in (0, 1, 500):
        path.write_bytes(b"1 |a x |b y\r\n" * good + line + b"\n1 |a x")
        each = model()
        with pytest.raises(chacha.errors.BadExample, match=reason) as caught:
            each.run(path)
        assert str(caught.value).startswith(f"{path}:{good + 1}: ")
        assert each.examples == good


def test_nul_bytes_crlf_and_no_last_line_break(tmp_path: Path) -> None:
    path = tmp_path / "odd.vw"
    path.write_bytes(b"\xef\xbb\xbf1 |a x\x00y \x00 |b z:2\r\n2 'tag\x00|a \x00:1\r\n3 |a x")
    plain, native = model(pool=chacha.ReferencePool()), model()
    for each in (plain, native):
        assert each.run(path).examples == 3
    assert native.loss == plain.loss
    assert native.observed.raw_features == plain.observed.raw_features


def test_a_line_of_megabytes() -> None:
    """Long names, long numbers, many features, many bars."""
    each = model(budget=1)
    for line in (
        "1 |a " + "x" * 3_000_000,
        "1 |a x:" + "1" * 3_000_000,
        "1 |a x:0." + "1" * 3_000_000,
        "1 |a " + " ".join(map(str, range(200_000))),
        "1 " + "|" * 300_000,
        "1 |a " + " " * 3_000_000 + "x",
    ):
        message = ""
        try:
            each.learn_one(line)
        except ChaChaError as error:
            message = str(error)
        assert len(message) < 1000
    assert each.examples >= 4


def test_a_hundred_thousand_groups() -> None:
    """Names of groups are kept for good, and found again. (Products of them are another story.)"""
    each = model(budget=3, space={"learning_rate": LogUniform(0.01, 1.0)})
    line = "1 " + " ".join(f"|g{i} x" for i in range(100_000))
    begin = time.perf_counter()
    for _ in range(3):
        each.learn_one(line)
    assert len(each.observed.groups) == each.observed.raw_features == 100_000
    assert time.perf_counter() - begin < 5


@pytest.mark.parametrize("bits", [18, 28])
def test_a_product_of_two_huge_groups_is_refused_at_once(bits: int, tmp_path: Path) -> None:
    """With the place, before memory is taken; the model has not learned it and goes on."""
    huge = " ".join(f"f{i}" for i in range(20_000))
    good = "1 |a x |b y"
    path = tmp_path / "huge.vw"
    path.write_text(f"{good}\n" * 10 + f"1 |a {huge} |b {huge}\n{good}\n")
    each = model(init={"bit_precision": bits})
    begin = time.perf_counter()
    with pytest.raises(PoolError, match=rf"{path}:11: .*too many features"):
        each.run(path)
    for do in (each.predict_one, each.learn_one, each.ask):
        with pytest.raises(PoolError, match="too many features"):
            do(f"1 |a {huge} |b {huge}")
    assert time.perf_counter() - begin < 5
    assert each.examples == 10
    each.learn_one(good)
    undisturbed = model(init={"bit_precision": bits})
    undisturbed.run(chacha.sources.Rows([good] * 11))
    assert each.loss == undisturbed.loss
    assert each.pool.bytes < 50e6  # type: ignore[attr-defined]


def resident() -> int:
    """Bytes of memory that this process has in use."""
    pages = Path("/proc/self/statm").read_text().split()[1]
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs /proc")
def test_an_idle_model_costs_kilobytes() -> None:
    """Five hundred models with a few examples each, and nothing is left when they are dropped."""
    lines = lines_of("interactions", 5)

    def some(count: int) -> list[ChaCha]:
        models = [ChaCha() for _ in range(count)]
        for each in models:
            for line in lines:
                each.learn_one(line)
        return models

    some(20)
    gc.collect()
    before = resident()
    models = some(500)
    assert (resident() - before) / 500 < 100_000
    assert all(each.pool.bytes < 60_000 for each in models)  # type: ignore[attr-defined]
    del models
    gc.collect()
    middle = resident()
    for _ in range(3):
        some(500)
        gc.collect()
    assert resident() - middle < 15e6


def test_stopped_models_give_their_memory_back() -> None:
    """The bytes that a pool reports are those of its live models."""
    pool = NativePool()
    rng = random.Random(3)
    pool.start(Config())
    least = pool.bytes
    for k in range(12):
        config = Config(["ab"], {"bit_precision": 16 + k % 3, "learning_rate": 0.1 + k})
        pool.start(config)
        for _ in range(30):
            words = " ".join(f"f{rng.randrange(2000)}" for _ in range(40))
            pool.learn(chacha.data.parse_line(f"1 |a {words} |b {words}"))
        most = pool.bytes
        pool.stop(config)
        assert pool.bytes < most
    assert pool.bytes < least + 3e6
