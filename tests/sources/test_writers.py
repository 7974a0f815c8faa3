"""Writing examples: never over the source, never without an end."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.support.command_line import cli
from tests.support.sources import write


def test_the_source_is_never_written_over(tmp_path: Path) -> None:
    data = "1 |a x\n" * 3000
    source = write(tmp_path / "s.vw", data)
    os.link(source, tmp_path / "hard.vw")
    (tmp_path / "d" / "e").mkdir(parents=True)
    deep = write(tmp_path / "d" / "e" / "t.vw", data)
    for words, output in (
        ([source], str(tmp_path / "hard.vw")),
        ([Path(source).as_uri()], source),
        ([str(tmp_path / "d" / "**" / "*.vw")], deep),
    ):
        assert "it is read from" in cli("convert", *words, "-o", output, rc=2).stderr
    command = f"{sys.executable} -m chacha convert - -o {source} < {source}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True)
    assert done.returncode == 2
    assert Path(source).read_text() == Path(deep).read_text() == data


def test_converting_what_never_ends_is_refused(tmp_path: Path) -> None:
    assert "never ends" in cli("convert", "synth:fried", "-o", str(tmp_path / "x.vw"), rc=2).stderr
    for name in ("o.vw.xz", "o.vw.csv", "o.txt"):
        assert (
            "choose .vw"
            in cli("convert", "synth:fried,n=2", "-o", str(tmp_path / name), rc=2).stderr
        )
