"""Rules for the code itself: layers, imports, sizes, documentation, changelog."""

from __future__ import annotations

import ast
import inspect
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import typer

import chacha
from chacha.cli import app

command: Any = typer.main.get_command(app)
ROOT = Path(__file__).parents[2]
SOURCES = sorted((ROOT / "src").rglob("*.py"))
OPTIONAL = "vowpalwabbit pylibvw river sklearn ray fastapi uvicorn mlflow openml matplotlib pandas"
PACKAGES = (
    *("chacha", "chacha.config", "chacha.data", "chacha.drivers", "chacha.export", "chacha.pools"),
    *("chacha.rules", "chacha.rules.contest", "chacha.rules.paper", "chacha.sources"),
)
PUBLIC = sorted(
    {
        (package, name)
        for package in PACKAGES
        for name in import_module(package).__all__
        if inspect.isclass(getattr(import_module(package), name))
        or inspect.isfunction(getattr(import_module(package), name))
    }
)
CORE = [
    *(ROOT / "src" / "chacha" / "rules").rglob("*.py"),
    *(ROOT / "src" / "chacha" / "config").rglob("*.py"),
]


def test_import_chacha_loads_no_optional_dependency() -> None:
    code = "import sys, chacha; print(*sorted({m.partition('.')[0] for m in sys.modules}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert "chacha" in loaded
    assert not loaded & set(OPTIONAL.split())
    assert not loaded & {"typer", "rich", "click"}, "the command line is not the library"


def test_a_missing_extra_is_named() -> None:
    code = (
        "import sys; sys.modules['vowpalwabbit'] = None\n"
        "import chacha\n"
        "try:\n    chacha.open_pool('vw')\n"
        "except ImportError as error:\n    print(type(error).__name__, error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "MissingExtra" in done.stdout
    assert "pip install 'chacha-automl[vw]'" in done.stdout


def test_layers_hold() -> None:
    done = subprocess.run(
        [sys.executable, "-c", "from importlinter.cli import lint_imports_command as c; c()"],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout


def code_lines(path: Path) -> int:
    """Lines of a file without those of its docstrings."""
    text = path.read_text()
    documented = sum(
        len((ast.get_docstring(node, clean=False) or "").splitlines())
        for node in ast.walk(ast.parse(text))
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef))
    )
    return len(text.splitlines()) - documented


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT / "src")))
def test_files_are_small_and_imports_are_at_the_top(path: Path) -> None:
    assert code_lines(path) <= 400
    tree = ast.parse(path.read_text())
    assert ast.get_docstring(tree), "a file says what it is"
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            body = (node.end_lineno or 0) - node.body[0].lineno + 1
            documented = len((ast.get_docstring(node) or "").splitlines())
            assert body - documented <= 45, f"{node.name} is long"
            for inner in ast.walk(node):
                assert not isinstance(inner, (ast.Import, ast.ImportFrom)), f"import in {node.name}"


@pytest.mark.parametrize("path", CORE, ids=lambda path: str(path.relative_to(ROOT / "src")))
def test_a_core_file_fits_a_screen_or_three(path: Path) -> None:
    assert code_lines(path) <= 260


@pytest.mark.parametrize(("package", "name"), PUBLIC)
def test_every_public_name_has_a_sentence_and_an_executed_example(package: str, name: str) -> None:
    documentation = inspect.getdoc(getattr(import_module(package), name)) or ""
    assert documentation.split("\n")[0].rstrip().endswith((".", ":")), "one sentence"
    assert ">>>" in documentation, "one example"


def test_the_root_has_what_most_users_need_and_no_more() -> None:
    """Other names are imported from their packages."""
    assert len(chacha.__all__) <= 40
    assert len(list((ROOT / "src" / "chacha").glob("*.py"))) <= 18


def test_no_module_imports_the_root_and_few_import_the_engine() -> None:
    allowed = re.compile(r"pools/native|drivers/native")
    above = re.compile(r"chacha/(cli|compare)/")
    for path in SOURCES:
        if path == ROOT / "src" / "chacha" / "__init__.py":
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
            module = node.module if isinstance(node, ast.ImportFrom) else None
            if not above.search(str(path)):
                assert "chacha" not in names, path
                assert module != "chacha", path
            imported = [a.name for a in node.names] if isinstance(node, ast.ImportFrom) else names
            if module == "chacha._native" or {"_native", "chacha._native"} & {*imported}:
                assert allowed.search(str(path.relative_to(ROOT))), path


def test_the_core_has_no_clock_no_file_no_global_random() -> None:
    forbidden = {"time", "datetime", "os", "pathlib", "logging", "io", "sys"}
    for path in CORE:
        tree = ast.parse(path.read_text())
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                assert not {alias.name for alias in node.names} & (forbidden | {"random"})
            if isinstance(node, ast.ImportFrom):
                assert node.module not in forbidden
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                assert node.func.id not in ("print", "open"), path


def test_the_changelog_names_this_version() -> None:
    assert f"## {chacha.__version__}" in (ROOT / "CHANGELOG.md").read_text()


@pytest.mark.parametrize("verb", ["run", "convert", "transform", "explain", "compare", "calibrate"])
def test_every_flag_is_documented(verb: str) -> None:
    text = (ROOT / "docs" / "cli.md").read_text()
    for parameter in command.commands[verb].params:
        for flag in parameter.opts if parameter.param_type_name == "option" else []:
            if flag != "--help":
                assert f"`{flag}" in text, f"{flag} is missing in docs/cli.md"


def test_the_readme_names_the_two_commands_and_links_what_exists() -> None:
    text = (ROOT / "README.md").read_text()
    assert "make run" in text
    assert "make test" in text
    for path in [ROOT / "README.md", *(ROOT / "docs").glob("*.md"), ROOT / "CONTRIBUTING.md"]:
        for link in re.findall(r"\]\(([^)#:]+)\)", path.read_text()):
            assert (path.parent / link).exists(), f"{path.name} links to {link}"
