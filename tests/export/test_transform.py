"""Export: VW on transformed text predicts what the champion predicts.

To the last bit if labels are learned as they are, up to the rounding of float32 if not.
"""

from __future__ import annotations

import csv
import json
import math
import random
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import vowpalwabbit

import chacha
from chacha import ChaCha, Config, ContestRules, Interactions, Transform
from chacha.config.derived_groups import DerivedFeatures, derived
from chacha.config.space import RATES
from chacha.data.label_map import LabelMap
from chacha.errors import BadExample, ConfigError, PoolError
from chacha.export.feature_file import FeatureFile, features_path
from chacha.features.derivation import Recipe
from chacha.features.formulas import Basis
from chacha.rules.contest import Scaling
from chacha.vw.relabel import raw_label_options
from tests.support.command_line import cli

SPACE: Any = {"interactions": Interactions(), "learning_rate": RATES, "features": DerivedFeatures()}
SCALED, AS_READ = ContestRules(), ContestRules(scaling=None)
EACH = pytest.mark.parametrize("rules", [SCALED, AS_READ], ids=["scaled", "as read"])


def workspace(*words: str) -> Any:
    return vowpalwabbit.Workspace(arg_list=["--quiet", "--no_stdin", *words])


def rides(path: Path, rows: int, seed: int, wide: float = 1.0) -> Path:
    """Curves, codes, words, empty cells; a product of a curve and a code."""
    rng = random.Random(seed)
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["temp", "hour", "income", "bar", "color", "y"])
        for i in range(rows):
            temp, hour = wide * rng.gauss(15, 8), rng.randrange(24)
            income, bar = math.exp(rng.gauss(3, wide)), rng.random()
            color = rng.choice(["red", "blue", "green"] if wide == 1.0 else ["red", "pink"])
            y = 2 * math.sin(temp / 4) + 2 * (7 < hour < 10) + math.log1p(income) + bar
            y += 3 * (temp > 20) * (hour % 6 == 0) + rng.gauss(0, 0.1)
            cells = [round(temp, 2) if i % 11 else "", hour, round(income, 3), bar, color]
            writer.writerow([*cells, round(y, 4)])
    return path


@pytest.fixture(scope="module", params=[SCALED, AS_READ], ids=["scaled", "as read"])
def tuned(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[ChaCha, Path]:
    """A model that found derived groups, and the folder with its stream and its file."""
    folder = tmp_path_factory.mktemp("tuned")
    model = ChaCha(space=SPACE, rules=request.param)
    model.run(str(rides(folder / "rides.csv", 6000, seed=1)))
    model.to_vw(folder / "m.vw")
    return model, folder


def champion_says(model: ChaCha, example: chacha.Example) -> float:
    """What the champion predicts; what is served may be a blend."""
    return model._driver.predict(example).raw[model.champion]


def rounding(model: ChaCha) -> float:
    """How far VW's prediction may be from the champion's.

    A sum of a hundred features, each of about a scale, is rounded at each of them to 24 bits.
    """
    label_map = model._driver.label_map()
    if label_map is None:
        return 0.0
    return 100 * 2.0**-24 * (abs(label_map.shift) + 4 * label_map.scale)


def test_the_champion_has_bins_and_its_summary_says_so(tuned: tuple[ChaCha, Path]) -> None:
    model, _ = tuned
    assert "bins(temp,16)" in model.champion.derived
    line = str(model.summary()).splitlines()[1]
    args = model.summary().vw_args
    assert line.startswith(f"same as: vw {args}  # on the stream of chacha transform, with ")
    scaled = model._driver.label_map() is not None
    assert ("--constant" in str(args)) == scaled
    assert (args == model.champion.vw_args()) == (not scaled)
    assert "bins(temp,16)" in line.partition("#")[2]


@pytest.mark.parametrize("which", ["the same rows", "beyond the knots"])
def test_vw_predicts_what_the_champion_predicts(
    tuned: tuple[ChaCha, Path], tmp_path: Path, which: str
) -> None:
    model, folder = tuned
    source = folder / "rides.csv"
    if which == "beyond the knots":
        source = rides(tmp_path / "new.csv", 500, seed=2, wide=4.0)
    out = tmp_path / "out.vw"
    done = cli("transform", str(source), "--model", str(folder / "m.vw"), "-o", str(out))
    vw = workspace("-t", "-i", str(folder / "m.vw"))
    found = [vw.predict(line) for line in out.read_text().splitlines()]
    vw.finish()
    expected = [champion_says(model, row) for row in model.open(str(source))]  # type: ignore[arg-type]
    assert found == pytest.approx(expected, rel=0, abs=rounding(model))
    assert len(set(expected)) > 100
    printed = [line for line in done.stderr.splitlines() if line.startswith("to predict: vw ")]
    words = shlex.split(printed[0].removeprefix("to predict: vw "))
    words[words.index("predictions.txt")] = str(tmp_path / "p.txt")
    workspace(*words).finish()
    predictions = [float(line) for line in (tmp_path / "p.txt").read_text().split()]
    assert predictions == pytest.approx(expected, abs=1e-5 + rounding(model))


def test_vw_learns_from_scratch_on_the_text(tuned: tuple[ChaCha, Path], tmp_path: Path) -> None:
    """The printed arguments, on the text, are the native learner on the same text.

    Where labels are scaled, tests/vw/test_relabel.py compares the arguments with those that are
    not.
    """
    model, folder = tuned
    config = model.champion.with_product(("bins(temp,16)", "hour"))
    out = tmp_path / "out.vw"
    words = ("transform", str(folder / "rides.csv"), "-m", str(folder / "m.vw"), "--limit", "1500")
    done = cli(*words, "-o", str(out))
    printed = next(
        line for line in done.stderr.splitlines() if line.startswith("to learn from scratch: ")
    )
    command, _, comment = printed.removeprefix("to learn from scratch: vw -d ").partition("  # ")
    assert command == f"{shlex.quote(str(out))} {model.summary().vw_args}"
    assert comment.split(", ")[: len(model.champion.derived)] == list(model.champion.derived)
    init = {"interactions": config.interactions, **config.values}
    native = ChaCha(budget=1, space={}, init=init, rules=AS_READ)
    vw = workspace(*config.vw_arg_list())
    for line in out.read_text().splitlines():
        assert native.predict_one(line) == vw.predict(line)
        native.learn_one(line)
        vw.learn(line)
    vw.finish()


RAW = ["temp", "bar", "hour", "inc", "words", "lab", "x"]
BROUGHT = ["missing(temp)", "onehot(hour)", "missing(bar)"]
FEATURES = ["bins(temp,5)", "bins(bar,3)", "onehot(hour)", "cyclic(hour,24)", "log(inc)"]
FEATURES += ["lag(bar,2)", "ewma(temp,0.1)", "lag(label,3)", "missing(temp)", "ewma(words,0.3)"]
FEATURES += ["log(lab)", "bins(x,4)", "lag(words,2)"]
WORDS = ["color:red", "color:red:b", "w", "v=3", ":2", "größe:1.5"]


def odd_line(rng: random.Random, labelled: bool) -> str:
    """Groups in any order, empty, twice, weighted; words, positions, tabs; derived ones too."""
    names = rng.sample(RAW, rng.randint(1, len(RAW)))
    if rng.random() < 0.4:
        names += rng.choices([*RAW, *BROUGHT], k=2)
        rng.shuffle(names)
    parts: list[str] = []
    for name in names:
        features = [f"{c}:{rng.gauss(5, 10):.4f}" for c in "uv" if rng.random() < 0.7]
        if name == "hour":
            features = [f"hour:{rng.randrange(24)}"]
        elif name == "inc":
            features = [f"inc:{math.exp(rng.gauss(3, 2)):.5f}"]
        elif name == "words":
            features = rng.choices(WORDS, k=rng.randint(0, 3))
        elif name == "x":
            features = [f":{rng.randint(0, 9)}", f"{rng.randint(1, 20)}:{rng.random():.3f}"]
        weight = f":{rng.choice([2, 0.5])}" if rng.random() < 0.1 else ""
        blank = rng.choice([" ", " ", "  ", "\t"])
        parts.append(f"|{name}{weight}" + "".join(blank + f for f in features) + " ")
    head = f"{rng.gauss(0, 3):.3f} " + rng.choice(["", "0.5 ", "'tag"]) if labelled else ""
    return head + "".join(parts)


@pytest.mark.parametrize("seed", range(12))
def test_all_kinds_in_all_company(tmp_path: Path, seed: int) -> None:
    """First letters that collide, products of both sorts, groups that the stream brings."""
    rng = random.Random(seed)
    features = rng.sample(FEATURES, rng.randint(2, 7))
    groups = [*features, *RAW]
    products = [tuple(rng.choices(groups, k=rng.choice([2, 2, 3]))) for _ in range(4)]
    init = {"features": features, "interactions": products, "noconstant": seed % 4 == 0}
    space: Any = {"features": DerivedFeatures(first=8 + seed)}
    model = ChaCha(budget=1, init=init, space=space, rules=SCALED if seed % 2 else AS_READ)
    for _ in range(150):
        model.learn_one(odd_line(rng, labelled=True))
    model.to_vw(tmp_path / "m.vw")
    saved, here = Transform.load(tmp_path / "m.vw"), Transform.of(model)
    vw = workspace("-t", "-i", str(tmp_path / "m.vw"))
    derived = 0
    for _ in range(60):
        line = odd_line(rng, labelled=False)
        text = saved.line(line)
        assert text == here.line(line)
        expected = pytest.approx(model.predict_one(line), rel=0, abs=rounding(model))
        assert vw.predict(text) == expected, text
        assert [*chacha.data.parse_line(text).groups] == [
            *saved.example(chacha.data.parse_line(line)).groups
        ]
        derived += sum(f"|{name}" in text for name in features)
    vw.finish()
    assert derived > 60


@EACH
@pytest.mark.parametrize("loss", [chacha.Squared(), chacha.Logistic()], ids=["squared", "logistic"])
def test_groups_of_earlier_rows_continue(
    tmp_path: Path, loss: chacha.losses.Loss, rules: ContestRules
) -> None:
    """VW learns on, from the saved model, on text whose lags begin in the saved past."""
    rng = random.Random(3)

    def line() -> str:
        label = f"{rng.gauss(0, 2):.3f}" if loss.name == "squared" else rng.choice("01")
        return f"{label} |a x:{rng.random():.3f} y:{rng.randint(1, 4)} |lab z:{rng.random():.2f}"

    features = ["lag(a,3)", "lag(label,2)", "ewma(label,0.2)", "ewma(lab,0.05)", "lag(lab,1)"]
    init = {"features": features, "interactions": [("lag(a,3)", "lab"), ("lag(label,2)", "a")]}
    model = ChaCha(budget=1, space={}, init=init, loss=loss, rules=rules)
    for _ in range(301):
        model.learn_one(line())
    model.to_vw(tmp_path / "m.vw")
    transform = Transform.load(tmp_path / "m.vw")
    vw = workspace("-i", str(tmp_path / "m.vw"))
    for i in range(300):
        text = line()
        if i % 7 == 0:  # a row without a label is predicted and changes nothing
            text = text[text.index("|") :]
        transformed = transform.line(text)
        expected = champion_says(model, chacha.data.parse_line(text))
        assert vw.predict(transformed) == pytest.approx(expected, rel=0, abs=rounding(model))
        if i % 7:
            model.learn_one(text)
            vw.learn(transformed)
    vw.finish()
    assert not transform.changed


def test_the_text_is_what_a_person_would_write() -> None:
    """Lags of the label are beyond 31.5, the median of its first 64."""
    model = ChaCha(
        budget=1, space={}, init={"features": ["bins(t,3)", "onehot(h)", "lag(label,1)"]}
    )
    for i in range(300):
        model.learn_one(f"{i} |t c:{i % 50 + 1} |h h:{i % 24}")
    transform = Transform.of(model)
    assert transform.groups == ("bins(t,3)", "lag(label,1)", "onehot(h)")
    assert transform.line("2 |t c:13 |h h:7") == (
        "2 |t c:13 |h h:7 |bins(t,3) c@1:0.5 c@25:0.5 |lag(label,1) label.1:267.5 |onehot(h) h=7"
    )
    assert transform.line("|t c:1000") == "|t c:1000 |bins(t,3) c@50 |lag(label,1) label.1:-29.5"
    assert (
        transform.line("|h h:99 |u v") == "|h h:99 |u v |lag(label,1) label.1:-29.5 |onehot(h) h=99"
    )
    assert (
        transform.line("|bins(t,3) mine |t c:1 ")
        == "|t c:1 |bins(t,3) mine |lag(label,1) label.1:-29.5"
    )
    assert transform.line("|bins(t,3) mine") == "|bins(t,3) mine |lag(label,1) label.1:-29.5"


def test_lags_of_the_label_are_not_those_of_its_logarithm() -> None:
    """The text of a champion of logarithms has these as labels."""
    name = "lag(label,1)"
    group = derived(name)
    assert group is not None
    recipes = {name: Recipe(group, {0: Basis("label", past=[0.0])})}
    logarithm = LabelMap(scale=1.0, logarithm=True)
    config = Config(derived=[name])
    transform = Transform(config, recipes, label_map=logarithm, label_origin=10.0)
    assert transform.line("100 |a x").startswith("4.6151")
    assert transform.line("|a x") == "|a x |lag(label,1) label.1:90.0"


def test_a_group_that_the_champion_does_not_have_is_left_out(tmp_path: Path) -> None:
    """Flags of missing cells that the stream brings are for models that have them."""
    for features, flag in ((["lag(b,1)"], ""), (["lag(b,1)", "missing(a)"], " |missing(a) a")):
        model = ChaCha(budget=1, space=SPACE, init={"features": features})
        for i in range(50):
            model.learn_one(f"{i} |b y |missing(a) a" if i % 3 else f"{i} |b y |a a:{i}")
        path = tmp_path / f"m{len(features)}.vw"
        model.to_vw(path)
        transform = Transform.load(path)
        assert transform.line("|b y |missing(a) a |c x") == f"|b y |c x |lag(b,1) y.1{flag}"
        if not flag:
            assert transform.line("|missing(b) b") == "|lag(b,1) y.1"


@pytest.mark.parametrize("pool", ["native", "vw", "in Python"])
def test_empty_cells_of_a_table_wherever_they_are_derived(tmp_path: Path, pool: str) -> None:
    """The file is the same whether the engine derives, or Python does."""
    source, path, out = rides(tmp_path / "s.csv", 400, 1), tmp_path / "m.vw", tmp_path / "o.vw"
    features = ["missing(temp)", "bins(temp,5)", "onehot(hour)", "lag(label,2)", "ewma(bar,0.5)"]
    init = {"features": features, "interactions": [("missing(temp)", "onehot(hour)")]}
    opened = chacha.open_pool("vw") if pool == "vw" else chacha.NativePool()
    loss = OwnLoss() if pool == "in Python" else None
    model = ChaCha(budget=1, space={}, init=init, pool=opened, loss=loss)
    model.run(str(source))
    model.to_vw(path)
    rows = [row for row in model.open(str(source)) if isinstance(row, chacha.Example)]
    cli("transform", str(source), "-m", str(path), "-o", str(out))
    transform = Transform.of(model)
    assert [transform.example(row).line for row in rows] == out.read_text().splitlines()
    assert "|missing(temp) temp" in out.read_text()
    vw = workspace("-t", "-i", str(path))
    fixed = Transform.load(path)
    for row in rows:
        unlabelled = replace(row, label=None, head="")
        expected = champion_says(model, unlabelled)
        found = vw.predict(fixed.example(unlabelled).line)
        assert found == pytest.approx(expected, rel=0, abs=rounding(model))
    vw.finish()
    data = FeatureFile.read(features_path(path))
    native = ChaCha(budget=1, space={}, init=init)
    native.run(str(source))
    assert data.recipes == Transform.of(native)._derivation.recipes
    assert data.centres == Transform.of(native).centres
    assert data.label_map == Transform.of(native).label_map


ODD_NAMES = ["year", "a b", "x:y|z", "größe", "3", "flag", "when", "often 0", "city", "sparse"]


def places(path: Path, rows: int, seed: int, labels: Sequence[float] = ()) -> Path:
    """Columns far from 0, with names that VW text cannot hold, dates, words, 0 and empty cells."""
    rng = random.Random(seed)
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([*ODD_NAMES, "y"])
        for i in range(rows):
            year, size = rng.randint(1990, 2020), rng.gauss(170, 8)
            empty = "" if i % 7 == 3 else round(rng.expovariate(0.01), 2)
            cells = [year, 1e9 + rng.random(), empty, round(size, 3), rng.randint(0, 4)]
            cells += [rng.choice(["true", "false"]), f"2021-0{rng.randint(1, 9)}-11"]
            cells += [rng.choice([0, 0, 0, 5]), rng.choice(["Rome", "Oslo"])]
            cells += [7 if i % 50 == 49 else ""]
            y = (year - 2000) / 5 + (size - 170) / 9 + rng.gauss(0, 0.1)
            writer.writerow([*cells, labels[i] if i < len(labels) else round(4 * y, 2)])
    return path


@pytest.mark.parametrize("pool", ["native", "vw", "in Python"])
@pytest.mark.parametrize("rows", [7, 500])
def test_centred_columns(tmp_path: Path, pool: str, rows: int) -> None:
    """The text has the numbers that the champion learns; 7 rows do not show the scale for good."""
    source, path, out = places(tmp_path / "s.csv", rows, 1), tmp_path / "m.vw", tmp_path / "o.vw"
    opened = chacha.open_pool("vw") if pool == "vw" else chacha.NativePool()
    loss = OwnLoss() if pool == "in Python" else None
    init = {"interactions": [("year", "city")]}
    model = ChaCha(budget=1, space={}, init=init, pool=opened, loss=loss)
    model.run(str(source))
    assert "  # on the stream of chacha transform" in str(model.summary())
    model.to_vw(path)
    later = places(tmp_path / "later.csv", 200, 2)
    cli("transform", str(later), "-m", str(path), "-o", str(out))
    text = out.read_text()
    transform = Transform.load(path)
    assert transform.centres == Transform.of(model).centres
    assert len(transform.centres) >= 6
    assert not transform.empty
    assert not transform.groups
    examples = [row for row in model.open(str(later)) if isinstance(row, chacha.Example)]
    assert [transform.example(row).line for row in examples] == text.splitlines()
    still = workspace("-t", "-i", str(path))
    for line, row in zip(text.splitlines(), examples, strict=True):
        assert "|a%20b a%20b:" in line
        expected = champion_says(model, row)
        assert still.predict(line) == pytest.approx(expected, rel=0, abs=rounding(model))
    still.finish()
    plain = tmp_path / "plain.vw"
    cli("convert", str(later), "-o", str(plain))
    year = next(csv.DictReader(later.read_text().splitlines()))["year"]
    assert f"|year year:{year}" in plain.read_text().splitlines()[0], "values as they are read"


def test_centred_columns_exactly(tmp_path: Path) -> None:
    """Labels without a shift and in a scale that is a power of two; two rows show both."""
    source, path, out = tmp_path / "s.csv", tmp_path / "m.vw", tmp_path / "o.vw"
    places(source, 400, 1, labels=[-4.0, 4.0])
    model = ChaCha(rules=ContestRules(scaling=Scaling(rows=2)), seed=1)
    model.run(str(source))
    label_map = model._driver.label_map()
    assert label_map is not None
    assert label_map[:3] == (0.0, 4.0, False)
    model.to_vw(path)
    cli("transform", str(source), "-m", str(path), "-o", str(out))
    still = workspace("-t", "-i", str(path))
    rows = [row for row in model.open(str(source)) if isinstance(row, chacha.Example)]
    for line, row in zip(out.read_text().splitlines(), rows, strict=True):
        assert still.predict(line) == champion_says(model, row)
    still.finish()


def test_dicts_are_centred_with_the_reader_of_the_transform(tmp_path: Path) -> None:
    path, rng = tmp_path / "m.vw", random.Random(1)
    functions = {"decade": lambda row: {"d": row["year"] // 10}}
    policy = DerivedFeatures(kinds=(), functions=functions)
    init = {"features": ["own(decade)", "lag(year,1)", "bins(year,4)"]}
    model = ChaCha(budget=1, space={"features": policy}, init=init)

    def row() -> dict[str, Any]:
        return {"year": rng.randint(1990, 2020), "n": rng.choice([0, 0, 0, 3]), "w": "a b"}

    for x in (row() for _ in range(400)):
        model.learn_one(x, 50 + x["year"] % 7)
    model.to_vw(path)
    transform = Transform.load(path, functions)
    assert {group for group, _ in transform.centres} == {"year", "n"}
    still = workspace("-t", "-i", str(path))
    for x in (row() for _ in range(50)):
        line = transform.example(transform.reader.example(x)).line
        expected = champion_says(model, model._intake.example(x))
        assert still.predict(line) == pytest.approx(expected, rel=0, abs=rounding(model))
        assert f"|own(decade) d:{x['year'] // 10}." in line, "user functions get what was read"
    still.finish()


def test_vw_text_is_not_centred(tmp_path: Path) -> None:
    path = tmp_path / "m.vw"
    model = ChaCha(budget=1, space={})
    for i in range(100):
        model.learn_one({"x": 1000 + i % 7}, 50 + i % 7)
    model.to_vw(path)
    line = "|x x:3"
    assert Transform.load(path).line(line) == line
    still = workspace("-t", "-i", str(path))
    assert still.predict(line) == pytest.approx(model.predict_one(line), abs=rounding(model))
    still.finish()


class OwnLoss(chacha.Squared):
    """A loss that the engine does not know: all is done in Python."""


def test_the_command_line_from_end_to_end(tmp_path: Path) -> None:
    """Features are tuned by default in tables."""
    source, path, out = rides(tmp_path / "s.csv", 3000, 1), tmp_path / "m.vw", tmp_path / "o.vw"
    done = cli("run", str(source), "--to-vw", str(path), "--json", str(tmp_path / "r.json"))
    result = json.loads((tmp_path / "r.json").read_text())
    assert result["config"]["features"]
    assert "#" not in result["vw_args"]
    names = ", ".join(result["config"]["features"])
    assert f"# on the stream of chacha transform, with {names}" in done.stderr
    done = cli("transform", str(source), "-m", str(path), "-o", str(out))
    assert f"# {names}" in done.stderr
    vw = workspace("-t", "-i", str(path))
    lines = out.read_text().splitlines()
    assert len({vw.predict(line) for line in lines}) > 100
    vw.finish()


def small(
    path: Path,
    features: Sequence[str] = ("bins(t,3)",),
    rules: ContestRules = SCALED,
    **init: Any,
) -> ChaCha:
    model = ChaCha(budget=1, space={}, init={"features": features, **init}, rules=rules)
    for i in range(300):
        model.learn_one(f"{i % 7} |t c:{i % 50 + 1 + i / 1000} |h h:{i % 24}")
    model.to_vw(path)
    return model


def test_numbers_are_read_back_exactly(tmp_path: Path) -> None:
    path = tmp_path / "m.vw"
    features = ["bins(t,16)", "onehot(h)", "cyclic(h,24)", "log(t)", "lag(t,7)", "ewma(label,0.01)"]
    known = small(path, features).pool.recipes()  # type: ignore[attr-defined]
    read = FeatureFile.read(features_path(path))
    assert read.recipes == known
    assert all(np.float32(x) == x for x in known["ewma(label,0.01)"].bases[0].past)
    assert json.loads(Path(features_path(path)).read_text())["version"] == 3


def test_files_without_centres_and_labels_are_read(tmp_path: Path) -> None:
    """Those of version 1, when labels and columns were learned as they are."""
    path = tmp_path / "m.vw"
    small(path, rules=AS_READ)
    beside = Path(features_path(path))
    data = json.loads(beside.read_text())
    assert data.pop("centres") == []
    assert data.pop("labels") is None
    line = Transform.load(path).line("1 |t c:3")
    beside.write_text(json.dumps({**data, "version": 1}))
    assert Transform.load(path).line("1 |t c:3") == line
    beside.write_text(json.dumps({**data, "version": 3}))
    with pytest.raises(PoolError, match="it is damaged: 'centres' is missing"):
        Transform.load(path)


def test_a_file_of_an_old_model_is_removed(tmp_path: Path) -> None:
    path = tmp_path / "m.vw"
    small(path)
    assert (tmp_path / "m.vw.features.json").exists()
    small(path, features=())
    assert [p.name for p in tmp_path.iterdir()] == ["m.vw"]
    assert Transform.load(path).empty
    (tmp_path / "m.vw.features.json").mkdir()
    with pytest.raises(
        PoolError, match=r"features\.json: belongs to another model and cannot be re"
    ):
        small(path)


def test_a_file_that_cannot_be_written_is_reported(tmp_path: Path) -> None:
    (tmp_path / "m.vw.features.json.writing").mkdir()
    with pytest.raises(PoolError, match=r"m\.vw\.features\.json: cannot be written: Is a dir"):
        small(tmp_path / "m.vw")
    with pytest.raises(PoolError, match="nowhere"):
        small(tmp_path / "nowhere" / "m.vw")


def test_a_lost_file(tmp_path: Path) -> None:
    path = tmp_path / "m.vw"
    small(path, interactions=[("bins(t,3)", "h")])
    Path(features_path(path)).unlink()
    with pytest.raises(PoolError, match=r"its products have derived groups \(bins\(t,3\)\), but"):
        Transform.load(path)
    done = cli("transform", "-", "-m", str(path), "-o", "-", stdin="1 |t c:3\n", rc=1)
    assert done.stdout == ""
    assert "put it next to the model, or write both again" in done.stderr
    small(path, features=())
    done = cli("transform", "-", "-m", str(path), "-o", "-", stdin="1 |t c:3\n")
    assert done.stdout == "1 |t c:3\n"
    assert "there is nothing to derive, the text is plain" in done.stderr
    assert f"to predict: vw -t -i {path} -p predictions.txt" in done.stderr


def test_a_damaged_file_is_refused_wherever_it_is_cut(tmp_path: Path) -> None:
    path = tmp_path / "m.vw"
    small(path, ["bins(t,3)", "lag(label,2)"])
    beside = Path(features_path(path))
    whole = beside.read_bytes()
    for size in [*range(0, len(whole) - 2, 17), len(whole) - 2]:
        beside.write_bytes(whole[:size])
        with pytest.raises(
            PoolError, match=r"m\.vw\.features\.json: it is no JSON, cut or damaged"
        ):
            Transform.load(path)
    beside.write_bytes(b"\xff" + whole)
    with pytest.raises(PoolError, match="cut or damaged"):
        Transform.load(path)
    assert "cut or damaged" in cli("transform", "-", "-m", str(path), "-o", "-", rc=1).stderr
    beside.unlink()
    beside.mkdir()
    with pytest.raises(PoolError, match="cannot be read: Is a directory"):
        Transform.load(path)


def _places(data: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path of every value in a JSON object."""
    for key in data if isinstance(data, dict) else range(len(data)):
        yield (*at, key)
        if isinstance(data[key], (dict, list)):
            yield from _places(data[key], (*at, key))


CENTRE = {"group": "t", "hash": 5, "centre": 1.5, "inverse": 0.5}
ODD: list[Any] = [None, -1, 1.5, "word", [], {}, [None], 1e39, True, 2**40]


def test_a_column_that_was_constant_has_no_scale_in_the_file(tmp_path: Path) -> None:
    """JSON has no infinite numbers; another number counts as 1 or -1, as in the model."""
    path, rng = tmp_path / "m.vw", random.Random(1)
    model = ChaCha(budget=1, space={})
    for _ in range(70):
        a = rng.gauss(0, 1)
        model.learn_one({"a": a, "b": 5.0}, a)
    model.to_vw(path)
    content = json.loads(Path(features_path(path)).read_text(), parse_constant=pytest.fail)
    assert {"group": "b", "centre": 5.0, "inverse": None}.items() <= content["centres"][1].items()
    transform = Transform.load(path)
    assert transform.centres == Transform.of(model).centres
    texts = [transform.example(transform.reader.example({"a": 0.0, "b": b})) for b in (5.0, -9e9)]
    assert [text.line.partition("|b")[2] for text in texts] == ["", " b:-1.0"]


def test_any_content_of_the_file_is_accepted_or_refused(tmp_path: Path) -> None:
    """Every value in it is replaced in many ways; only a PoolError may be raised."""
    path = tmp_path / "m.vw"
    features = ["bins(t,3)", "lag(label,2)", "onehot(h)", "log(t)", "ewma(h,0.5)"]
    small(path, features)
    beside = Path(features_path(path))
    content = json.loads(beside.read_text())
    assert content["labels"]["scale"] > 0
    content["centres"] = [{"group": "t", "hash": 5, "centre": 1 / 3, "inverse": 0.25}]
    whole = json.dumps(content)
    beside.write_text(whole)
    assert FeatureFile.read(str(beside)).centres == {("t", 5): (1 / 3, 0.25)}
    refused: list[str] = []
    for place in _places(json.loads(whole)):
        for odd in [*ODD, ...]:
            data = json.loads(whole)
            inner = data
            for key in place[:-1]:
                inner = inner[key]
            if odd is ...:
                del inner[place[-1]]
            else:
                inner[place[-1]] = odd
            beside.write_text(json.dumps(data))
            try:
                Transform.load(path).line("1 |t c:3 |h h:5")
            except PoolError as error:
                refused.append(str(error))
    assert len(refused) > 300
    assert all(message.startswith(f"{beside}: ") for message in refused)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"chacha": "notes"}, "chacha did not write it"),
        (
            {"version": 4},
            "it has version 4, but only 1 to 3 are read here; read it with the chacha version",
        ),
        ({"groups": {}}, r"it is damaged: bins\(t,3\) is missing"),
        ({"groups": {"bin(t,3)": {}}}, r"it is damaged: 'bin\(t,3\)' is not a derived group"),
        ({"config": {"values": {}}}, "it is damaged: not a configuration"),
        ({"labels": {"shift": 1.0, "scale": -1.0}}, "it is damaged: the scale of the labels must"),
        ({"labels": {"shift": 1.0, "scale": 1e-9}}, r"float32 cannot hold labels so far from 0"),
        ({"centres": [{"group": "t", "hash": 5, "centre": 1, "inverse": -0.5}]}, "it is damaged: "),
        ({"centres": [CENTRE, CENTRE]}, "it is damaged: the hash 5 of t is too large, or occurs"),
        ({"centres": [{**CENTRE, "centre": math.nan}]}, "it is damaged: a centre is nan, not a f"),
    ],
)
def test_a_foreign_file_is_refused(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    path = tmp_path / "m.vw"
    small(path)
    beside = Path(features_path(path))
    beside.write_text(json.dumps({**json.loads(beside.read_text()), **change}))
    with pytest.raises(PoolError, match=rf"m\.vw\.features\.json: {message}"):
        Transform.load(path)
    beside.write_text("[1, 2]")
    with pytest.raises(PoolError, match="chacha did not write it"):
        Transform.load(path)


@pytest.mark.parametrize(
    ("init", "message"),
    [
        ({"interactions": [("h", "t")]}, r"its products are h\*t|its products are ht, those of"),
        ({"learning_rate": 0.1}, "learning_rate is 0.1 in it and 0.5 in the model"),
        ({"bit_precision": 10}, "bit_precision is 10 in it and 18 in the model"),
        ({"noconstant": True}, "only one of them has noconstant"),
        ({"loss_function": "quantile"}, "loss_function is quantile in it and squared in the model"),
    ],
)
def test_the_features_of_another_model_are_refused(
    tmp_path: Path, init: dict[str, Any], message: str
) -> None:
    path, other = tmp_path / "m.vw", tmp_path / "other.vw"
    small(path, rules=AS_READ, learning_rate=0.5, loss_function="squared")
    small(other, rules=AS_READ, **init)
    Path(features_path(other)).replace(features_path(path))
    with pytest.raises(PoolError, match=f"it belongs to another model than .*{message}"):
        Transform.load(path)


def test_vw_may_go_on_with_the_model(tmp_path: Path) -> None:
    path = tmp_path / "m.vw"
    model = small(path, interactions=[("bins(t,3)", "h")], learning_rate=0.25, l2=1e-6)
    vw = workspace("-i", str(path))
    vw.learn(Transform.of(model).line("1 |t c:3 |h h:5"))
    vw.save(str(path))
    vw.finish()
    assert Transform.load(path).changed
    done = cli("transform", "-", "-m", str(path), "-o", "-", stdin="1 |t c:25.025 |h h:5\n")
    assert f"note: {path} is not the file that" in done.stderr
    assert "|bins(t,3) c@" in done.stdout


def test_user_functions(tmp_path: Path) -> None:
    path = tmp_path / "m.vw"
    functions = {"size": lambda row: {"n": len(row), "a b": row["x"]}}
    space: Any = {"features": DerivedFeatures(kinds=(), functions=functions)}
    model = ChaCha(budget=1, space=space, init={"features": ["own(size)"]}, rules=AS_READ)
    for i in range(50):
        model.learn_one(f"{i} |a x:{i + 1} |b y")
    model.to_vw(path)
    with pytest.raises(
        PoolError, match=r"own\(size\) is a function of yours, which a file cannot contain"
    ):
        Transform.load(path)
    stderr = cli("transform", "-", "-m", str(path), "-o", "-", stdin="1 |a x\n", rc=1).stderr
    assert "transform in Python: chacha.Transform.load(" in stderr
    vw = workspace("-t", "-i", str(path))
    for transform in (Transform.load(path, functions), Transform.of(model)):
        text = transform.line("|a x:3 |b y")
        assert text == "|a x:3 |b y |own(size) n:2.0 a%20b:3.0"
        assert vw.predict(text) == model.predict_one("|a x:3 |b y")
        assert transform.line("|a x |own(size) mine") == "|a x |own(size) mine"
    vw.finish()
    failing = Transform.load(path, {"size": lambda row: {"n": math.nan}})
    with pytest.raises(BadExample, match="values must be finite"):
        failing.line("|a x")


def test_a_model_of_vw_goes_on_with_the_text(tmp_path: Path) -> None:
    path = tmp_path / "m.vw"
    model = small(path, interactions=[("bins(t,3)", "h")], learning_rate=0.25)
    again = ChaCha.from_vw(path, budget=1, space={})
    label_map = model._driver.label_map()
    assert label_map is not None
    config = Config(model.champion.interactions, model.champion.values)
    assert again.champion == raw_label_options("", config, label_map)
    for line in ("|t c:3 |h h:5", "|t c:77.5 |h h:2"):
        expected = pytest.approx(model.predict_one(line), rel=0, abs=rounding(model))
        assert again.predict_one(Transform.load(path).line(line)) == expected
    with pytest.raises(ConfigError, match=r"continues with the text of chacha transform"):
        ChaCha.from_vw(path, space=SPACE)


def test_labels_are_those_that_the_learner_takes(tmp_path: Path) -> None:
    path = tmp_path / "m.vw"
    init = {"features": ["lag(label,1)"]}
    model = ChaCha(budget=1, space={}, init=init, loss=chacha.Logistic())
    for i in range(20):
        model.learn_one(f"{i % 2} |a x:{i}")
    model.to_vw(path)
    stdin = "0 |a x:3\n7 |a x:2\n|a x:2\n"
    words = ("transform", "-", "-m", str(path), "-o", "-")
    done = cli(*words, stdin=stdin)
    assert done.stdout == ("-1.0 |a x:3 |lag(label,1) label.1\n|a x:2 |lag(label,1) label.1:-1.0\n")
    assert "skipped: 1 label refused; first: -:2: the label is 7.0" in done.stderr
    assert "2 examples written" in done.stderr
    assert "to learn from scratch: vw --loss_function logistic  # lag(label,1)" in done.stderr
    assert "the label is 7.0" in cli(*words, "--on-bad", "error", stdin=stdin, rc=1).stderr


def test_the_command_line_and_its_errors(tmp_path: Path) -> None:
    path, source = tmp_path / "m.vw", tmp_path / "s.vw"
    small(path)
    source.write_text("1 |t c:3 |h h:5\n" * 3)
    words = ("transform", str(source), "-m", str(path))
    for name, expected in (("o.vw.gz", " -d "), ("o.vw.zst", "zstd -dc "), ("o.vw", " -d ")):
        done = cli(*words, "-o", str(tmp_path / name))
        assert f"{expected}{tmp_path / name}" in done.stderr
        assert sum("|bins(t,3) c@" in row.line for row in chacha.open_source(tmp_path / name)) == 3  # type: ignore[union-attr]
    for taken in (source, path, Path(features_path(path))):
        before = taken.read_bytes()
        assert "it is read from" in cli(*words, "-o", str(taken), rc=2).stderr
        assert taken.read_bytes() == before
    assert "VW does not read Parquet" in cli(*words, "-o", "o.parquet", rc=2).stderr
    assert "choose .vw" in cli(*words, "-o", "o.xls", rc=2).stderr
    cli("transform", str(source), "-o", "-", rc=2)
    cli(*words, rc=2)
    nowhere = cli("transform", str(source), "-m", "nowhere.vw", "-o", "-", rc=1).stderr
    assert "nowhere.vw: cannot be read: No such file" in nowhere
    stderr = cli("transform", str(source), "-m", str(source), "-o", "-", rc=1).stderr
    assert "is not a VW model" in stderr
    assert "no such file" in cli("transform", "no.csv", "-m", str(path), "-o", "-", rc=1).stderr


def test_run_does_not_write_over_its_own_features(tmp_path: Path) -> None:
    out = str(tmp_path / "m.vw")
    words = ("run", "synth:fried,n=9", "-q", "--to-vw", out)
    stderr = cli(*words, "--json", features_path(out), rc=2).stderr
    assert "--json writes there too" in stderr
    cli(*words)
    assert [p.name for p in tmp_path.iterdir()] == ["m.vw"]
