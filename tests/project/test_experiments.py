"""The paper's evaluation as a program, on generated data: from the index to page and figures."""

from __future__ import annotations

import gzip
import importlib
import math
import random
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import chacha
from chacha.cli import flags
from chacha.compare import METHODS, CommonSettings, Stream, Study

ROOT = Path(__file__).parents[2]
EXPERIMENTS = ROOT / "experiments"


@pytest.fixture
def module(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """Return the program of the experiments, imported as it imports its modules."""
    monkeypatch.syspath_prepend(EXPERIMENTS)
    return importlib.import_module("paper")


def write_set(folder: Path, name: str, rows: int, offset: float = 0.0) -> None:
    """Write a table with a word, a column that is mostly 0, and products that matter."""
    rng = random.Random(name)
    lines = ["a,b,c,w,y"]
    for _ in range(rows):
        a, b, c = (rng.uniform(-1, 1) for _ in range(3))
        word = rng.choice(["u", "v"])
        y = 3 * a * b + b * c + 0.5 * a + (word == "u") + rng.gauss(0, 0.1) + offset
        lines.append(f"{a:.6f},{b:.6f},{c if rng.random() < 0.3 else 0:.6f},{word},{y:.6f}")
    (folder / f"{name}.csv.gz").write_bytes(gzip.compress("\n".join(lines).encode() + b"\n"))


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    for name, rows, offset in (("fried", 500, 0.0), ("long", 900, 0.0), ("news", 300, 200.0)):
        write_set(folder, name, rows, offset)
    rng = random.Random(5)
    rows_ = [(rng.uniform(-1, 1), rng.uniform(-1, 1)) for _ in range(120)]
    clicks = "".join(f"{a:.4f},{b:.4f},{int(a > b)}\n" for a, b in rows_)
    (folder / "clicks.csv.gz").write_bytes(gzip.compress(f"a,b,y\n{clicks}".encode()))
    (folder / "INDEX.tsv").write_text(
        "name\topenml_id\ttask\ttarget\texact_or_relative\n"
        "long\t1201\tregression\ty\texact\n"
        "fried\t564\tregression\ty\tnear relative of 564\n"
        "clicks\t-\tbinary\ty\texact\n"
        "news\t-\tregression\ty\texact\n"
    )
    return folder


def test_the_whole_evaluation_on_generated_data(data: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    words = ["--data", str(data), "--out", str(out), "--kept", str(tmp_path / "kept")]
    words += ["--limit", "600", "--jobs", "0", "--no-flaml", "--runs", "2"]
    command = [sys.executable, str(EXPERIMENTS / "paper.py"), *words]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    page = (out / "results.md").read_text()
    assert "{{" not in page
    assert "| fried (564, a relative) | 500 |" in page
    assert "| long (1201) | 600 |" in page
    assert "1191, 1199, 1203" in page, "missing sets are listed"
    assert re.search(r"\| fried \(564, a relative\) \| 0\.19 ± 0\.21 \| -?\d+\.\d\d ± ", page)
    assert re.search(r"\| better than Random [^|]*\|[^|]*\| NI \| 8 of 15 \| \d of \d ", page)
    figures = re.findall(r"\((figures/[\w-]+\.svg)\)", page)
    assert len(figures) == 7
    colours = [
        s["color"] for s in importlib.import_module("chacha.compare.figures").STYLES.values()
    ]
    for figure in figures:
        drawn = (out / figure).read_text()
        assert sum(drawn.count(colour) > 1 for colour in colours) >= 2, figure
        image = importlib.import_module("matplotlib.image").imread(
            out / figure.replace("svg", "png")
        )
        assert image[..., :3].std() > 0.05, figure
    cached = {path: path.stat().st_mtime_ns for path in (tmp_path / "kept").rglob("*.json")}
    again = subprocess.run(command, capture_output=True, text=True)
    assert again.returncode == 0, again.stderr
    assert (out / "results.md").read_text() == page
    assert {p: p.stat().st_mtime_ns for p in (tmp_path / "kept").rglob("*.json")} == cached


def test_the_index_decides(module: ModuleType, data: Path, tmp_path: Path) -> None:
    sets = module.find_sets(data, openml=False)
    assert [s.name for s in sets] == ["fried", "long", "news"], "the paper's come first"
    assert [s.exact for s in sets] == [False, True, True]
    fetched = module.find_sets(data, openml=True)
    assert len(fetched) == 3 + 39
    assert fetched[1].source == "openml:1191"
    with pytest.raises(chacha.errors.ConfigError, match=r"INDEX.tsv: no such file"):
        module.find_sets(tmp_path, openml=False)
    with pytest.raises(chacha.errors.ConfigError, match="give DATA=DIR, or OPENML=1"):
        module.find_sets(None, openml=False)
    (tmp_path / "INDEX.tsv").write_text("name\topenml_id\ttask\nnowhere\t1\tregression\n")
    with pytest.raises(chacha.errors.ConfigError, match=r"INDEX.tsv:2: there is no file nowhere"):
        module.find_sets(tmp_path, openml=False)
    (tmp_path / "INDEX.tsv").write_text("name\ttask\nnowhere\tregression\n")
    with pytest.raises(
        chacha.errors.ConfigError, match=r"INDEX.tsv:2: there is no column 'openml_id'"
    ):
        module.find_sets(tmp_path, openml=False)


def test_the_protocol_is_that_of_the_command_line(module: ModuleType, data: Path) -> None:
    for data_set in module.find_sets(data, openml=False):
        stream = importlib.import_module("datasets").stream_of(data_set, 100)
        table = chacha.TableSpec(target="y")
        assert stream.table == flags.paper_protocol([data_set.source], table, None)
        assert flags.target_flags(paper_protocol=True)[0] is stream.log_target


def test_the_papers_tables_and_claims(module: ModuleType) -> None:
    scores = importlib.import_module("paper_scores")
    claims = importlib.import_module("paper_claims")
    assert len(scores.NI) == len(scores.NI_LR) == 15
    assert str(scores.NI[23515]["chacha"]) == "2.94 ± 0.27"
    assert str(scores.NI[1191]["no-champion"]) == "-335.79 ± 44.34"
    assert str(scores.NI_LR[1575]["chacha"]) == "2.08 ± 0.54"
    counts = [claims._count(claim, claims.reported_scores(claim.task)) for claim in claims.CLAIMS]
    assert counts[:2] == ["8 of 15", "10 of 15"], "better than Random on over half"
    assert counts[4:6] == ["4 of 15", "7 of 15"], "better than Exhaustive on almost half"
    assert counts[6:8] == ["15 of 15", "15 of 15"], "no degradation against Naive"
    assert counts[-2:] == ["13 of 15", "14 of 15"], "both ablations are worse"


def test_the_text_for_autovw(module: ModuleType, data: Path, tmp_path: Path) -> None:
    flaml_comparison = importlib.import_module("flaml_comparison")
    fried, _, news = module.find_sets(data, openml=False)
    path = tmp_path / "t.vw"
    flaml_comparison.write_authors_text(fried, path)
    line = path.read_text().splitlines()[0]
    assert re.fullmatch(r"\S+ \|a 0:\S+\|b 1:\S+\|c 2:\S+\|d 3:[01]", line)
    flaml_comparison.write_authors_text(news, path)
    assert abs(float(path.read_text().split()[0]) - math.log(200)) < 0.1, "the logarithm"
    model = chacha.ChaCha(budget=1)
    model.run(path)
    table = chacha.ChaCha(budget=1)
    spec = chacha.TableSpec(categories=chacha.sources.Categories.CODE)
    table.run(chacha.source_profile.with_log_target(table.open(news.source, spec)))
    assert model.loss == pytest.approx(table.loss, rel=1e-5)


def test_numbers_first_and_restarts(module: ModuleType, tmp_path: Path) -> None:
    variants = importlib.import_module("authors_variants")
    space = {"interactions": chacha.Interactions(), "learning_rate": chacha.LogUniform(2e-10, 1.0)}
    for method in variants.NUMBERS_FIRST:
        for seed in range(5):
            model = method.make(space=space, seed=seed)
            model.run("synth:interactions,n=3")
            rates = {float(live.config.values["learning_rate"]) for live in model.live}
            assert len(rates) == 3, "both other rates are live from the first example on"
    model = variants.RESTARTED[0].make(keep_decisions=10**6, lease_factor=1)
    model.run("synth:interactions,n=2000")
    ended = [d.config for d in model.decisions if isinstance(d, chacha.LeaseDoubled)]
    left = [d.config for d in model.decisions if isinstance(d, chacha.Retired) and not d.eliminated]
    assert ended == left
    streams = [Stream("synth:interactions,n=500")]
    methods = ["naive", *variants.NUMBERS_FIRST, *variants.RESTARTED]
    settings = CommonSettings(budget=4)
    study = Study(streams, methods, 2, settings=settings, cache_dir=tmp_path, workers=0)
    comparison = study.finish()
    assert not comparison.failures
    assert len(comparison.outcomes[streams[0].name]) == 5
    assert not {m.name for m in methods if not isinstance(m, str)} & METHODS.keys()


def test_intervals(module: ModuleType) -> None:
    figures = importlib.import_module("paper_figures")
    curve = tuple(chacha.compare.CurvePoint(n, float(n * n), float(n)) for n in range(10, 101, 10))
    outcome = chacha.compare.Outcome(100, 0, "", 0.1, curve)
    assert figures.interval_means(outcome, [20, 60, 100]) == [80.0, 160.0]


def test_make_paper_says_what_it_needs() -> None:
    done = subprocess.run(
        [sys.executable, str(EXPERIMENTS / "paper.py")], capture_output=True, text=True
    )
    assert done.returncode == 1
    assert (
        done.stderr.strip() == "paper: there are no data: give DATA=DIR, or OPENML=1 to fetch them"
    )


def test_the_published_results_have_the_words_of_the_template() -> None:
    published = (ROOT / "docs" / "results.md").read_text()
    for words in re.split(r"\{\{\w+\}\}", (EXPERIMENTS / "results.md").read_text()):
        assert words in published, "make paper DATA=DIR OUT=docs"
