"""One place for a loss: its name is in few files, and Python and C++ have the same losses."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from chacha.losses import LOSSES, VW_DEFAULT, loss_options

ROOT = Path(__file__).parents[2]
ALLOWED = {"native/src/vw/losses.hpp", "src/chacha/__init__.py", "src/chacha/losses.py"}
"""The source files that a new loss touches."""


def python_words(path: Path) -> Iterator[str]:
    """Yield the names of a file and the words in its strings, without those of docstrings.

    Of strings, only words in lower case: `Logistic()` in a message is an example.
    """
    tree = ast.parse(path.read_text())
    documentation = {id(n.value) for n in ast.walk(tree) if isinstance(n, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            if id(node) not in documentation:
                yield from re.findall(r"\b[a-z_]+\b", node.value)
            continue
        for name in ("id", "attr", "name", "arg"):
            word = getattr(node, name, None)
            if isinstance(word, str):
                yield word


def native_words(path: Path) -> Iterator[str]:
    """Yield the words of a C++ file without its comments, as parts: kPoisson is k and Poisson."""
    code = re.sub(r"//[^\n]*|/\*.*?\*/", "", path.read_text(), flags=re.DOTALL)
    yield from re.findall(r"\w+", code)
    yield from re.findall(r"[A-Z]?[a-z]+", code)


def test_the_name_of_a_loss_is_in_few_files() -> None:
    assert len(ALLOWED) <= 5
    others = {kind: loss for kind, loss in LOSSES.items() if kind != VW_DEFAULT}
    names = {*others, *(loss.__name__ for loss in others.values()), *loss_options()}
    files = {}
    for path in sorted(ROOT.glob("src/chacha/**/*.py")):
        files[path] = names & {*python_words(path)}
    for path in sorted(ROOT.glob("native/src/**/*.?pp")):
        files[path] = names & {*native_words(path)}
    where = {str(path.relative_to(ROOT)): words for path, words in files.items() if words}
    assert where.keys() == ALLOWED, where


def test_every_loss_is_a_class_and_a_struct_of_the_same_name() -> None:
    code = (ROOT / "native/src/vw/losses.hpp").read_text()
    structs = re.findall(r"^struct (\w+) : (\w+)<\1> \{\n.*kName = \"(\w+)\";", code, re.MULTILINE)
    classes = [(c.__name__, c.__bases__[0].__name__, kind) for kind, c in LOSSES.items()]
    assert structs == classes
