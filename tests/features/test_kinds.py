"""One place for a kind of derived groups: the same table in both languages, named nowhere else."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import chacha._native as engine
from chacha import ChaCha, Config, DerivedFeatures, ReferencePool
from chacha.config.derived_groups import DEFAULT_KINDS, derived
from chacha.config.derived_kinds import KINDS, ColumnProfile, DerivedKind, GroupProfile
from chacha.features import formulas
from chacha.features.column_stats import ColumnStats
from chacha.features.formulas import FORMULAS, PastFormula, ValueFormula
from chacha.rules.contest.feature_moves import FeatureMoves
from chacha.rules.feature_counts import distinct_features, mean_features_of

ROOT = Path(__file__).parents[2]
ENGLISH = {"log", "missing", "own"}  # also words: only as the name of a kind, or before (
PLACES = {
    "src/chacha/config/derived_kinds.py",
    "src/chacha/features/formulas.py",
    "native/src/features/derived_kinds.cpp",
}
USERS: dict[str, set[str]] = {
    "bins": {"src/chacha/compare/fixed_configs.py", "src/chacha/compare/methods.py"},  # a baseline
    "onehot": {"src/chacha/checks.py"},  # a stream to check pools with
    "log": {  # and the target of models
        "src/chacha/checks.py",
        "src/chacha/config/config.py",
    },
    "lag": {"src/chacha/cli/flags.py", "src/chacha/cli/parse.py"},  # an example in messages
    "missing": {  # sources make these groups
        "src/chacha/config/derived_groups.py",
        "src/chacha/intake.py",
        "src/chacha/sources/spec.py",
    },
    "own": {  # user functions make these groups
        "src/chacha/config/derived_groups.py",
        "src/chacha/export/transform.py",
        "src/chacha/features/own_functions.py",
    },
}
MOST_FILES = 6


def example_of(kind: DerivedKind) -> str:
    """Return the name of a group of the kind: its form, with a source."""
    return re.sub("GROUP|NAME", "a", kind.form)


def python_words(text: str) -> Iterator[str]:
    """Yield the identifiers and the strings of a module without comments and docstrings."""
    documentation = {
        (node.body[i].lineno, node.body[i].col_offset)
        for node in ast.walk(ast.parse(text))
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef))
        for i in range(len(node.body))
        if isinstance(node.body[i], ast.Expr)
    }
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        named = token.type in (tokenize.NAME, tokenize.STRING)
        if named and token.start not in documentation:
            yield token.string


def native_words(text: str) -> Iterator[str]:
    """Yield the identifiers and the strings of a C++ file without comments."""
    text = re.sub(r"//[^\n]*|/\*.*?\*/", " ", text, flags=re.DOTALL)
    yield from re.findall(r'"(?:\\.|[^"\\])*"|\w+', text)


def names_kind(word: str, kind: str) -> bool:
    """Return whether an identifier or a string is about a kind."""
    string = word.endswith(('"', "'"))
    if kind in ENGLISH:
        return string and re.search(rf"\b{kind}\(|^['\"]{kind}['\"]$", word) is not None
    if string:
        return re.search(rf"\b{kind}\b", word) is not None
    parts = re.findall(r"[A-Z]?[a-z]+", word)  # of snake_case, CamelCase and kConstants
    joined = "".join(parts).lower()
    return kind in (part.lower() for part in parts) or joined.removeprefix("k") == kind


def files_naming(kind: str) -> set[str]:
    """Return the source files whose code is about a kind."""
    native = [p for p in (ROOT / "native/src").rglob("*") if p.suffix in (".cpp", ".hpp")]
    python = sorted((ROOT / "src").rglob("*.py"))
    words = [(path, native_words) for path in native] + [(path, python_words) for path in python]
    return {
        path.relative_to(ROOT).as_posix()
        for path, words_of in words
        if any(names_kind(word, kind) for word in words_of(path.read_text()))
    }


def test_words_of_code_are_recognised() -> None:
    for word in ("bins", "kBins", "Bins", "make_bins", '"bins(a,16)"', "'bins'", "BinsFormula"):
        assert names_kind(word, "bins"), word
    for word in ("onehot", "OneHot", "kOneHot", '"onehot("'):
        assert names_kind(word, "onehot"), word
    for word in ("cabins", '"robins"', "log", '"the log of"', "onehotter"):
        assert not any(names_kind(word, kind) for kind in ("bins", "onehot", "log")), word
    assert names_kind('"log"', "log")
    assert names_kind('f"log({name})"', "log")
    code = '"""bins"""\nx = 1  # bins\ndef f():\n    """bins"""\n    return "lag"\n'
    assert list(python_words(code)) == ["x", "def", "f", "return", '"lag"']
    assert list(native_words('a("b"); // bins')) == ["a", '"b"']


@pytest.mark.parametrize("kind", KINDS)
def test_a_kind_is_named_in_few_files(kind: str) -> None:
    """A new kind needs its three places; other files name one only for a reason given here."""
    files = files_naming(kind)
    assert files >= PLACES
    assert files - PLACES == USERS.get(kind, set())
    assert len(files) <= MOST_FILES


def test_both_languages_have_the_same_kinds_and_limits() -> None:
    table = []
    for kind in KINDS.values():
        least, most, whole = kind.limits or (0.0, 0.0, False)
        table.append((kind.name, least, most, whole, kind.keeps_past, kind.given))
    assert engine.derived_kinds() == table


def test_every_kind_has_a_formula_of_its_sort() -> None:
    assert list(FORMULAS) == list(KINDS)
    for name, kind in KINDS.items():
        formula = FORMULAS[name]
        assert isinstance(formula, PastFormula) == kind.keeps_past
        assert isinstance(formula, ValueFormula) == (not kind.keeps_past and not kind.given)
        assert type(formula).__name__ == type(kind).__name__
        assert getattr(formulas, type(kind).__name__) is type(formula)


@pytest.mark.parametrize("kind", KINDS.values(), ids=lambda kind: kind.name)
def test_a_form_is_the_name_of_a_group(kind: DerivedKind) -> None:
    group = derived(example_of(kind))
    assert group is not None
    assert group.kind == kind.name
    assert (kind.limits is not None) == (group.parameter > 0)
    sizes = {"a": 3}
    assert distinct_features(str(group), sizes) == 3 * kind.distinct_features(group.parameter)
    assert mean_features_of(str(group), {"a": 1.5}) == 1.5 * kind.features(group.parameter)
    text = (ROOT / "docs" / "features.md").read_text()
    assert f"| `{kind.name}(" in text, "the documentation has a row for every kind"
    if kind.by_profile:
        assert f"`{kind.name}`" in (ROOT / "docs" / "cli.md").read_text()


def test_widths_are_those_of_before() -> None:
    """Products, screens and decisions depend on these numbers."""
    widths = {
        "bins(a,16)": (48.0, 4.0),
        "onehot(a)": (195.0, 2.0),
        "cyclic(a,24)": (6.0, 4.0),
        "log(a)": (3.0, 2.0),
        "missing(a)": (3.0, 2.0),
        "lag(a,5)": (15.0, 10.0),
        "ewma(a,0.1)": (3.0, 2.0),
        "own(a)": (3.0, 2.0),
    }
    for name, width in widths.items():
        assert (distinct_features(name, {"a": 3}), mean_features_of(name, {"a": 2.0})) == width


@pytest.mark.parametrize("kind", KINDS.values(), ids=lambda kind: kind.name)
def test_a_saved_basis_is_checked(kind: DerivedKind) -> None:
    """What a formula makes is valid; numbers where none belong are not."""
    group = derived(example_of(kind))
    assert group is not None
    formula = FORMULAS[kind.name]
    stats = ColumnStats(first=24)
    for hour in range(24):
        stats.observe(float(hour))
    bases = [formulas.Basis("x", [2.0, 1.0]), formulas.Basis("x", [1.0], [1.0])]
    if isinstance(formula, ValueFormula):
        basis = formula.basis(group.parameter, "x", stats)
        assert basis is not None
        assert formula.is_valid(group.parameter, basis)
        assert formula.basis(group.parameter, "x", ColumnStats(first=24)) is None
        bases[0] = formulas.Basis("x", [1.0, 1.0])
    elif isinstance(formula, PastFormula):
        basis = formula.basis(group.parameter, "x")
        assert formula.is_valid(group.parameter, basis)
        assert not list(formula.features(basis, 0)), "no example, no past"
    assert not any(formula.is_valid(group.parameter, basis) for basis in bases)


@pytest.mark.parametrize("name", ["bins(a,nan)", "bins(a,inf)", "lag(a,2.5)", "ewma(a,0)"])
def test_a_parameter_outside_the_limits_is_no_derived_group(name: str) -> None:
    assert derived(name) is None


class Squares(DerivedKind):
    """A kind that only this test has."""

    name = "squares"
    form = "squares(GROUP)"
    covers_columns = True

    def features(self, parameter: float) -> float:
        return 3.0

    def offers(self, profile: GroupProfile, knots: int) -> Any:
        if profile.columns:
            yield 0.0, "there are numbers"

    def finer(self, parameter: float, distinct: int, knots: int) -> float | None:
        return None


class SquaresFormula(ValueFormula):
    """x², in Python."""

    def basis(self, parameter: float, name: str, stats: ColumnStats) -> formulas.Basis | None:
        return formulas.Basis(name) if stats.numeric else None

    def features(self, parameter: float, basis: formulas.Basis, x: float) -> list[Any]:
        return [(basis.name, x * x)]


def test_a_new_kind_is_two_classes_in_python(monkeypatch: pytest.MonkeyPatch) -> None:
    """An entry in each table is enough to name, offer, try, derive and learn from it."""
    kinds = {**KINDS, "squares": Squares()}
    for module in (
        "config.derived_groups",
        "rules.feature_counts",
        "rules.contest.feature_moves",
    ):
        monkeypatch.setattr(f"chacha.{module}.KINDS", kinds)
    monkeypatch.setattr(
        "chacha.config.derived_groups._RANKED", sorted(kinds.values(), key=lambda k: k.rank)
    )
    monkeypatch.setattr("chacha.config.derived_groups.DEFAULT_KINDS", (*DEFAULT_KINDS, "squares"))
    monkeypatch.setattr(
        "chacha.features.derivation.FORMULAS", {**FORMULAS, "squares": SquaresFormula()}
    )
    derived.cache_clear()
    try:
        column = ColumnProfile("a", "x", 200, False, 0, -3.0, 3.0, 0.1)
        policy = DerivedFeatures(kinds=["squares"])
        assert policy.offers([column]) == [("squares(a)", "there are numbers")]
        assert FeatureMoves(policy).names(Config(), [column]) == ["squares(a)"]
        assert mean_features_of("squares(a)", {"a": 2.0}) == 6.0
        losses: list[float] = []
        for features in ([], ["squares(a)"]):
            model = ChaCha(budget=1, init={"features": features}, pool=ReferencePool())
            for i in range(400):
                x = (i * 37 % 100) / 50.0 - 1.0
                model.learn_one(f"{x * x:.4f} |a x:{x or 0.001}")
            losses.append(model.loss or 0.0)
        assert losses[1] < losses[0]
    finally:
        derived.cache_clear()
