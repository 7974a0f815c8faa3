"""The folders of the native engine: which may include which."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

SRC = Path(__file__).parents[2] / "native" / "src"
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
