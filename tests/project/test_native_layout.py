"""The folders of the native engine: which may include which; twins of Python modules."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SRC = ROOT / "native" / "src"
FOLDERS: dict[str, tuple[str, ...]] = {
    "base": (),
    "vw": ("base",),
    "data": ("base", "vw"),
    "learner": ("base", "vw", "data"),
    "features": ("base", "vw", "data"),
    "rules": ("base", "vw", "data", "learner", "features"),
    "engine": ("base", "vw", "data", "learner", "features", "rules"),
    "bindings": ("base", "vw", "data", "learner", "features", "rules", "engine"),
}
FILES = sorted(path for path in SRC.rglob("*") if path.suffix in (".hpp", ".cpp"))
INCLUDE = re.compile(r'^\s*#\s*include\s*(["<])([^">]+)[">]', re.MULTILINE)


def test_every_file_lies_in_a_folder() -> None:
    assert {path.parent.relative_to(SRC).as_posix() for path in FILES} == set(FOLDERS)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(SRC).as_posix())
def test_a_file_includes_its_own_folder_and_those_below(path: Path) -> None:
    folder = path.parent.name
    for quote, name in INCLUDE.findall(path.read_text()):
        if quote == '"':
            assert (SRC / name).is_file(), f"{name} is named from native/src"
            assert name.partition("/")[0] in (folder, *FOLDERS[folder]), name
        elif folder != "bindings":
            assert not re.match(r"Python\.h|nanobind/", name), name


def twins(path: Path) -> set[Path]:
    """Return the files that a file names as its twins."""
    names = re.findall(r"^(?:// )?Twins?: (.*)$", path.read_text(), re.MULTILINE)
    return {ROOT / name for line in names for name in re.findall(r"[\w/]+\.(?:py|hpp)", line)}


def test_twins_name_each_other() -> None:
    native = {(path, twin) for path in FILES for twin in twins(path)}
    python = {(path, twin) for path in ROOT.glob("src/chacha/**/*.py") for twin in twins(path)}
    assert len(native) >= 12
    assert native == {(twin, path) for path, twin in python}


def test_twins_have_the_same_file_name() -> None:
    shared = {"vw_text.py"}  # in C++ by what they are used for
    for path in ROOT.glob("src/chacha/**/*.py"):
        assert path.name in shared or all(twin.stem == path.stem for twin in twins(path)), path
